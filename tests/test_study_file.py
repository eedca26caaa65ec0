"""The study file: what it may say, what it becomes, and what is refused before anything is asked."""

import base64
import copy
import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from measurand.data.scale import Scale
from measurand.eliciting.declared import (
    Choice,
    Generative,
    RatingsRule,
    Retry,
    ScaleReading,
    Text,
    TextRule,
    Verification,
)
from measurand.eliciting.engine import Decoding
from measurand.eliciting.system import Price, System
from measurand.eliciting.wordings import fill
from measurand.result import MeasurandError
from measurand.scoring.anchors import ANCHORS
from measurand.scoring.arms import Trained
from measurand.scoring.contenders import BASELINES
from measurand.scoring.paths import CHOICES
from measurand.scoring.prepare import OVER
from measurand.scoring.score import PRESETS
from measurand.scoring.statistics import STATISTICS
from measurand.study_file import read_study
from measurand.study_file.errors import StudyFileError, path_in, problems_of
from measurand.study_file.readouts import ratings_schema
from measurand.study_file.refusals import marker_in, ranges_in
from measurand.study_file.steps import Anchor, Baseline, CalibrateTable, Drawn, ScoreTable, Statistic
from measurand.study_file.tables import (
    OF_CONTROLS,
    DecodingTable,
    PriceTable,
    RatingsRuleTable,
    RetryTable,
    StudyTables,
    SystemTable,
    TextRuleTable,
)
from measurand.study_scoring import Held
from measurand.study_steps import asked_from

DOCS = Path(__file__).parents[1] / "docs" / "study-file.md"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SECRET = "sk-0123456789abcdef"  # noqa: S105 (no secret: it looks like one)

STUDY = '[study]\nname = "small"\n'
DATA = '[data]\nitems = "items.csv"\ncriteria = ["joy", "fear"]\n'
SCALE = "[scale]\nlow = 0\nhigh = 7\nstep = 1\n"
FAKE = '[[system]]\nname = "F"\nengine = "fake"\n'
ASKED = '[elicit]\nreadouts = ["verification"]\n'
ITEMS = "item,text\n000,What a day!\n001,Never again.\n"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a study file, its parts replaced by name, and returns its path."""

    def written(*, study=STUDY, data=DATA, scale="", system=FAKE, elicit=ASKED, items=ITEMS, more=""):
        (tmp_path / "items.csv").write_text(items, encoding="utf-8")
        path = tmp_path / "study.toml"
        path.write_text("\n".join((study, data, scale, system, elicit, more)), encoding="utf-8")
        return path

    return written


def refused(path):
    with pytest.raises(MeasurandError) as caught:
        read_study(path)
    return str(caught.value)


def problems(path):
    with pytest.raises(StudyFileError) as caught:
        read_study(path)
    return caught.value.problems


def example():
    (block,) = re.findall(r"^```toml\n(.*?)^```", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return block


FOUR = '[elicit]\nreadouts = ["verification", "generative", "scale", "text"]\n'


# What it becomes


def test_the_example_of_the_documentation_is_read_and_becomes_a_design(tmp_path):
    (tmp_path / "study.toml").write_text(example(), encoding="utf-8")
    (tmp_path / "items.csv").write_text("image_id,file\n00000,a.png\n00001,a.png\n", encoding="utf-8")
    (tmp_path / "a.png").write_bytes(PNG)
    study = read_study(tmp_path / "study.toml")
    assert (study.name, study.seed, study.out) == ("emotion-readout", 20261130, tmp_path / "runs" / "emotion-readout")
    design = study.design()
    assert [(item.name, item.image) for item in design.items] == [("00000", PNG), ("00001", PNG)]
    assert [type(one) for one in design.readouts] == [Verification, Generative, ScaleReading, Generative]
    assert [one.name for one in design.readouts] == ["verification", "generative", "scale", "sampled"]
    verification, generative, scale, sampled = design.readouts
    assert [(one.name, one.negated) for one in verification.phrasings] == [
        ("does", False), ("present", False), ("would", False), ("lacks", True),
    ]  # fmt: skip
    assert "this face" in verification.phrasings[0].question
    assert verification.prefills == scale.prefills == ("Answer:", "")
    assert generative.retry == Retry(3, "Reply with the JSON object and nothing else.")
    assert generative.decoding.json_schema["properties"]["fear"] == {"type": "integer", "minimum": 0, "maximum": 7}
    assert sampled.decoding == Decoding(max_tokens=400, temperature=None)
    assert sampled.rule == RatingsRule(keys="any", repairs=True)
    assert design.derived == ("binarized", "double_centred")
    assert design.controls == ("blank", "swapped")
    assert design.scale == {"": Scale(0, 7, 1, "ordinal")}
    http, local, fake = design.systems
    assert http == System(
        "qwen3-vl-8b", "openai", "Qwen/Qwen3-VL-8B-Instruct", url="http://localhost:8000/v1",
        api_key_env="OPENAI_API_KEY", requests_per_minute=300, price=Price(0.2, 0.6, 0.05),
    )  # fmt: skip
    assert (local.engine, local.model) == ("transformers", "HuggingFaceTB/SmolVLM-256M-Instruct")
    assert fake.template_options == {"bad_share": 0.1}


def test_the_example_of_the_specification_is_read_too(shared, tmp_path):
    text = (shared / "style.md").read_text(encoding="utf-8")
    block = re.search(r"### C\.4.*?```toml\n(.*?)```", text, re.DOTALL)[1]
    # What it says of later steps has other names since.
    (tmp_path / "study.toml").write_text(block.split("[score]")[0], encoding="utf-8")
    (tmp_path / "items.jsonl").write_text('{"image_id": "00000", "text": "a"}\n{"image_id": "00001", "text": "b"}\n')
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "emotion.md").write_text("Look at the face.\n")
    ratings = {"image_id": ["00000"], "annotator": ["R"], "emotion": ["joy"], "score": [3]}
    pd.DataFrame(ratings).to_parquet(tmp_path / "ratings.parquet")
    study = read_study(tmp_path / "study.toml")
    assert study.criteria == ["joy"]
    assert study.readouts[0].instructions == "Look at the face."
    assert {path.name for path in study.sources} == {"study.toml", "items.jsonl", "ratings.parquet", "emotion.md"}


def test_defaults_are_those_of_the_declarations(write):
    """A default stands in the declaration and in the file's model; they may not part."""
    for table, declared in (
        (SystemTable, System),
        (PriceTable, Price),
        (DecodingTable, Decoding),
        (RetryTable, Retry),
        (RatingsRuleTable, RatingsRule),
        (TextRuleTable, TextRule),
    ):
        of = {field.name: field for field in dataclasses.fields(declared)}
        for name, field in table.model_fields.items():
            if name in ("name", "engine", "temperature", *OF_CONTROLS) and table is SystemTable:
                continue
            known = of["is_strict" if name == "strict" else name]
            default = known.default_factory() if known.default is dataclasses.MISSING else known.default
            ours = field.get_default(call_default_factory=True)
            if isinstance(ours, BaseModel):
                ours = Price(**ours.model_dump())
            # TOML has no None and no tuples: what is blank there is what is blank here.
            assert ours == default or (not ours and not default), (table, name)
    study = read_study(
        write(scale=SCALE, elicit='[elicit]\nreadouts = ["verification", "generative", "scale", "text"]')
    )
    assert study.systems == [System("F", "fake")]
    verification, generative, scale, text = study.readouts
    assert dataclasses.replace(verification, phrasings=()) == Verification(())
    assert [one.name for one in verification.phrasings] == ["does", "present", "would", "absent"]
    assert dataclasses.replace(generative, phrasings=()) == Generative(())
    assert [one.name for one in generative.phrasings] == ["every"]
    assert dataclasses.replace(scale, phrasings=()) == ScaleReading(())
    assert dataclasses.replace(text, phrasings=()) == Text(())
    design = study.design()
    assert (design.repeats, design.controls, design.control_items, design.seed) == (1, (), 50, 0)


def models_in(model, seen=None):
    seen = seen if seen is not None else {}
    for field in model.model_fields.values():
        pending = [field.annotation]
        while pending:
            one = pending.pop()
            if isinstance(one, type) and issubclass(one, BaseModel) and one not in seen:
                seen[one] = None
                models_in(one, seen)
            pending += getattr(one, "__args__", ())
    return seen


def test_the_documentation_names_every_key():
    text = DOCS.read_text(encoding="utf-8")
    words = {word for code in re.findall(r"`([^`]*)`", text) for word in re.findall(r"[a-z_]+", code)}
    keys = {key for model in models_in(StudyTables) for key in model.model_fields}
    assert len(keys) > 60
    assert keys - words == set()


def test_what_can_be_chosen_in_the_file_is_what_the_steps_know():
    """The file's models name the choices, so that reading it loads no statistics."""
    assert get_args(Statistic) == tuple(STATISTICS)
    assert get_args(Anchor) == tuple(ANCHORS)
    assert get_args(Baseline) == tuple(BASELINES)
    assert get_args(Drawn) == OVER
    for field, name in (("fit", "fit"), ("target", "target"), ("ties", "ties")):
        given = get_args(get_args(CalibrateTable.model_fields[field].annotation)[0])
        assert sorted(given) == sorted(CHOICES[name])
    assert set(get_args(get_args(ScoreTable.model_fields["preset"].annotation)[0])) == set(PRESETS)


def test_paths_start_from_the_files_folder_whatever_the_current_one_is(write, tmp_path, monkeypatch):
    (tmp_path / "data" / "faces").mkdir(parents=True)
    (tmp_path / "data" / "faces" / "a.png").write_bytes(PNG)
    (tmp_path / "data" / "items.csv").write_text("item,image\n7,faces/a.png\n8,faces/a.png\n", encoding="utf-8")
    (tmp_path / "model").mkdir()
    (tmp_path / "criteria.txt").write_text("joy\n\nfear of heights\n", encoding="utf-8")
    (tmp_path / "ask.md").write_text("Look closely.\n", encoding="utf-8")
    path = write(
        data='[data]\nitems = "data/items.csv"\ncriteria = { file = "criteria.txt" }\n',
        system='[[system]]\nname = "L"\nengine = "transformers"\nmodel = "model"\n',
        elicit='[elicit]\nprompt = "ask.md"\nreadouts = ["verification"]\n',
    )
    for folder, named in ((tmp_path, Path("study.toml")), (Path("/"), path)):
        monkeypatch.chdir(folder)
        study = read_study(named)
        assert study.criteria == ["joy", "fear of heights"]
        assert study.design().items[1].image == PNG
        assert Path(study.systems[0].model).resolve() == tmp_path / "model"
        assert study.readouts[0].instructions == "Look closely."
        assert study.out.resolve() == tmp_path / "runs" / "small"
        assert [one.name for one in study.sources] == ["study.toml", "items.csv", "criteria.txt", "ask.md"]


def test_all_settings_go_to_the_manifest_as_json_values(write):
    path = write(scale=SCALE, elicit='[elicit]\nreadouts = ["generative", "verification", "binarized"]\n')
    found = read_study(path).resolved()
    assert found == json.loads(json.dumps(found, allow_nan=False))
    assert found["seed"] == found["study"]["seed"] == 0
    assert found["system"][0]["top_logprobs"] == 20
    assert found["elicit"]["readouts"][0]["decoding"]["max_tokens"] == 512
    assert "{criterion}" in found["elicit"]["readouts"][1]["phrasings"][0]["question"]
    assert found["elicit"]["derived"] == ["binarized"]
    assert found == read_study(path).resolved()


def test_later_steps_settings_are_kept(write):
    more = '[score]\nstatistic = "kappa_quadratic"\n[audit]\ntarget = 0.8\n[report]\ntitle = "Faces"\n'
    found = read_study(write(more=more)).resolved()
    assert (found["score"]["statistic"], found["audit"]["target"], found["report"]["title"]) == (
        "kappa_quadratic", 0.8, "Faces",
    )  # fmt: skip
    assert "audit" not in read_study(write()).resolved()


def test_importing_and_help_do_not_load_the_models_of_the_file():
    code = """
import sys
import measurand
from measurand.cli import main
sys.argv = ["measurand", "--help"]
try:
    main()
except SystemExit:
    pass
sys.exit(sorted({"pydantic", "torch", "openai", "numpy", "pandas"} & set(sys.modules)) or None)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


# Keys and types


def places(value, at=()):
    """Give every key of a document with its place."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield (*at, key)
            yield from places(one, (*at, key))
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from places(one, (*at, i))


def spelled_by_us():
    """Give the places of the example whose keys are ours: not words, options or criteria of the user's."""
    for place in places(tomllib.loads(example())):
        if place != ("scale", "labels") and not {"template_options", "labels"} & set(place[:-1]):
            yield place


@pytest.mark.parametrize("place", list(spelled_by_us()), ids=str)
def test_a_misspelt_key_is_refused_wherever_it_stands(place):
    document = copy.deepcopy(tomllib.loads(example()))
    table = document
    for part in place[:-1]:
        table = table[part]
    wrong = str(place[-1])[:-1] + "x"
    table[wrong] = table.pop(place[-1])
    with pytest.raises(ValidationError) as caught:
        StudyTables.model_validate(document)
    found = problems_of(caught.value, document, StudyTables)
    where = path_in(document, (*place[:-1], wrong))
    said = "elicit.readout[1] has no kind" if place[-1] == "kind" else f"{where} is no key"
    assert any(one.startswith(said) for one in found), found


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ({"system": FAKE + "temprature = 0\n"},
         "system[1].temprature is no key of this table; did you mean 'temperature'?"),
        ({"system": FAKE + '[[system]]\nname = "G"\nengin = "fake"\n'}, "system[2].engin is no key"),
        ({"system": FAKE + "max_tokens = 5\n"}, "system[1].max_tokens is no key of this table; it belongs to [elicit."),
        ({"elicit": ASKED + "[elicit.verification]\nprefil = ''\n"}, "elicit.verification.prefil is no key"),
        ({"elicit": ASKED + "repeats = 0\n"}, "elicit.repeats is 0; expected a number of at least 1"),
        ({"elicit": ASKED + "repeats = '2'\n"}, "elicit.repeats is '2'; expected a whole number"),
        ({"elicit": ASKED + "repeats = 2.0\n"}, "elicit.repeats is 2.0; expected a whole number"),
        ({"elicit": ASKED + "[elicit.generative]\ndecoding = { max_tokens = 'x' }\n"}, "max_tokens is 'x'; expected"),
        ({"elicit": ASKED + "[elicit.generative]\nrule = { keys = 'some' }\n"}, "keys is 'some'; expected 'all' or"),
        ({"elicit": ASKED + "repeats = true\n"}, "elicit.repeats is true; expected a whole number"),
        ({"elicit": '[elicit]\nreadouts = ["verificaton"]'},
         "'scale', 'text', 'binarized' or 'double_centred'; did you mean 'verification'?"),
        ({"elicit": '[elicit]\nreadouts = "verification"'}, "elicit.readouts is 'verification'; expected a list"),
        ({"elicit": ASKED + 'controls = ["blnk"]\n'}, "elicit.controls[1] is 'blnk'; expected 'blank', 'swapped'"),
        ({"elicit": ASKED + 'controls = ["blank", "blank"]\n'}, "'blank' twice in controls"),
        ({"elicit": ASKED + "[[elicit.readout]]\nkind = 'genrative'\n"}, "elicit.readout[1] has kind 'genrative'"),
        ({"elicit": ASKED + "[[elicit.readout]]\nname = 'x'\n"}, "elicit.readout[1] has no kind"),
        ({"elicit": ASKED + "prefill = ''\nprefills = ['']\n"}, "elicit has prefill and prefills"),
        ({"scale": "[scale]\nlow = nan\nhigh = 7\n"}, "scale.low is nan; expected a finite number"),
        ({"scale": "[scale.joy]\nlow = 'a'\n"}, "scale.joy.low is 'a'; expected a number"),
        ({"scale": "[scale]\nlow = 7\nhigh = 0\n"}, "scale: bounds 7:0; the low one must be below"),
        ({"study": "[study]\nseed = -1\n"}, "study.seed is -1; expected a number of at least 0"),
        ({"study": "[study]\nseed = 1\n"}, "study.name is missing"),
        ({"study": '[study]\nname = "a/b"\n'}, "study.name holds a slash"),
        ({"study": '[study]\nname = " "\n'}, "study.name is blank"),
        ({"data": "[data]\nitems = 5\n"}, "data.items is 5; expected a text"),
        ({"data": DATA.replace('["joy", "fear"]', '{ fle = "c.txt" }')}, "data.criteria.fle is no key"),
        ({"data": DATA.replace('["joy", "fear"]', '{ file = "c", column = "d" }')}, "data.criteria names several"),
        ({"system": FAKE + "price = { input = -1 }\n"}, "system[1].price.input is -1; expected a number of at least 0"),
        ({"system": FAKE + "price = { currency = 'dollar' }\n"}, "system[1].price.currency is 'dollar'"),
        ({"system": FAKE + "template_options = { at = 2026-01-01 }\n"}, "holds a date, which JSON has not"),
        ({"system": ""}, "system is missing; begin it with [[system]]"),
        ({"elicit": ""}, "elicit is missing; begin it with [elicit]"),
        ({"system": FAKE.replace("[[system]]", "[system]")}, "system is a table; expected tables that begin with [["),
        ({"elicit": ASKED + "phrasing = 2\n"},
         "elicit.phrasing is 2; expected tables that begin with [[elicit.phrasing]]; did you mean 'phrasings'?"),
        ({"elicit": '[elicit]\nreadout = ["scale"]\n'},
         "elicit.readout[1] is 'scale'; expected tables that begin with [[elicit.readout]]; did you mean 'readouts'?"),
        ({"elicit": ASKED + "verification = 1\n"}, "elicit.verification is 1; expected a table"),
        ({"more": "[bogus]\na = 1\n"}, "bogus is no key of this table; allowed are audit, data, elicit"),
        ({"more": "[score]\nstatistc = 'x'\n"}, "score.statistc is no key of this table; did you mean 'statistic'?"),
        ({"more": "[score]\nstatistic = 'spearmann'\n"},
         "score.statistic is 'spearmann'; expected 'kappa_quadratic', 'kappa_linear', 'kappa_unweighted', 'spearman', "
         "'mean_absolute_error', 'average_precision' or 'auroc' or a list; did you mean 'spearman'?"),
        ({"more": "[score]\nanchors = ['pairwise', 'loo']\n"}, "score.anchors[2] is 'loo'; expected 'pairwise'"),
        ({"more": "[score]\nbaselines = ['all_low', 'all_low']\n"}, "score has 'all_low' twice in baselines"),
        ({"more": "[score]\ncalibrate = { map = 'rank', fold = 3 }\n"},
         "score.calibrate.fold is no key of this table; did you mean 'folds'?"),
        ({"more": "[score]\nresample = { n = 50 }\n"}, "score.resample.n is 50; expected a number of at least 100"),
        ({"more": "[score]\nequivalence = 0\n"}, "score.equivalence is 0; expected a number of more than 0"),
        ({"more": "[audit]\nobject = 'agreements'\n"},
         "audit.object is 'agreements'; expected 'ratings' or 'agreement' or a list; did you mean 'agreement'?"),
        ({"more": "[audit]\nraters = ['A']\n"}, "audit has raters, which choose whose agreement is audited: add obj"),
        ({"more": "[audit]\ntarget = [0.8, 1.2]\n"}, "audit.target[2] is 1.2; expected a number of less than 1"),
        ({"more": "[report]\nexamples = -1\n"}, "report.examples is -1; expected a number of at least 0"),
        ({"more": '[report]\ntitle = "a\\nb"\n'}, "report.title has several lines; a heading is one"),
    ],
)  # fmt: skip
def test_what_the_file_may_not_say_is_told_with_its_place(write, part, said):
    found = problems(write(**part))
    assert any(said in one for one in found), found
    read_study(write())


def test_all_problems_are_told_at_once_and_ten_are_listed(write):
    keys = "".join(f"wrong{i} = {i}\n" for i in range(14))
    with pytest.raises(StudyFileError) as caught:
        read_study(write(study=STUDY + keys))
    lines = str(caught.value).splitlines()
    assert len(caught.value.problems) == 14
    assert lines[0].endswith("study.toml: 14 things are wrong")
    assert len(lines) == 12
    assert lines[-1] == "  and 4 more"
    # What only follows from another problem is none of its own.
    assert problems(write(scale="[scale]\nlow = 7\nhigh = 0\n", elicit=GENERATIVE)) == (
        "scale: bounds 7:0; the low one must be below the high one",
    )
    few = problems(write(system=FAKE + FAKE, elicit='[elicit]\nreadouts = ["choice", "binarized"]\n'))
    assert len(few) == 3


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[study\nname = "x"\n', "line 1, column 7"),
        (b'[study]\nname = "a"\nname = "b"\n', "line 3"),
        (b"[study]\n[data.columns]\n[data.columns]\n", r"declare \[data\.columns\] twice \(at line 3"),
        (b'[study]\nname = "\xff"\n', "line 2 is not UTF-8"),
        (b"a = " + b"[" * 5000, "TOML|nested too deeply"),
    ],
)
def test_what_is_no_toml_is_told_with_its_line(tmp_path, content, said):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    assert re.search(said, refused(path))


def test_a_file_that_cannot_be_read_is_told_and_a_byte_order_mark_is_none_of_its_content(write, tmp_path):
    assert "no such file" in refused(tmp_path / "absent.toml")
    assert "is a folder" in refused(tmp_path)
    path = write()
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_study(path).name == "small"


HTTP = '[[system]]\nname = "H"\nmodel = "m"\nurl = "http://h/v1"\n'


@pytest.mark.parametrize(
    "system",
    [
        HTTP + f'api_key_env = "{SECRET}"\n',
        HTTP + f'api_key = "{SECRET}"\n',
        HTTP + f'extra_body = {{ api_key = "{SECRET}" }}\n',
        HTTP + f'extra_body = {{ deep = {{ other = "{SECRET}" }} }}\n',
        HTTP + f'extra_body = {{ headers = {{ Authorization = "x {SECRET}" }} }}\n',
        HTTP.replace("http://h", f"https://me:{SECRET}@h"),
        HTTP.replace("/v1", f"/v1?api_key={SECRET}"),
        HTTP.replace("http://h/v1", f"{SECRET}"),
        HTTP + f'api_key_env = ["{SECRET}"]\n',
        HTTP + f'tries = "{SECRET}"\n',
        HTTP + f'thinking = "{SECRET}"\n',
    ],
)
def test_a_secret_is_refused_and_never_shown(write, system):
    """A key in a file that is shared, hashed and copied into a manifest is a key that is lost."""
    assert SECRET not in refused(write(system=system))
    study = read_study(
        write(system=HTTP + 'api_key_env = "MY_KEY_2"\nextra_body = { max_tokens = 5, stop = "</s>" }\n')
    )
    assert study.systems[0].api_key_env == "MY_KEY_2"


# Systems

TUNED = FAKE + '[[system]]\nname = "tuned"\nengine = "fake"\n'
CONTROL = '[[system]]\nname = "permuted"\nengine = "fake"\ncontrol_of = "tuned"\n'


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ('[[system]]\nname = "S"\nmodel = "m"\n', "neither url nor engine"),
        ('[[system]]\nname = "S"\nengine = "openai"\nmodel = "m"\n', "has no url"),
        ('[[system]]\nname = "S"\nurl = "http://h/v1"\n', "has no model"),
        ('[[system]]\nname = "S"\nurl = "h:8000/v1"\nmodel = "m"\n', "is no address"),
        (HTTP + 'device = "cuda"\n', "has device, which the engine 'openai' does not know"),
        (FAKE + "timeout_s = 3\n", "timeout_s is for openai"),
        ('[[system]]\nname = "S"\nengine = "transformers"\nmodel = "a/b"\ndtype = "bfloat16"\n', "no tolerance"),
        ('[[system]]\nname = "S"\nengine = "transformers"\nmodel = "./none"\n', "no folder"),
        ('[[system]]\nname = "S"\nengine = "transformers"\nmodel = "a/b"\ngguf = "m.gguf"\n', "in the model's folder"),
        (FAKE + FAKE, "two systems are called 'F' (numbers 1 and 2)"),
        (FAKE + 'template_options = { distribution = "none" }\n', "shows no probabilities of tokens"),
        (
            TUNED + CONTROL.replace('"tuned"', '"tunde"'),
            "no system of this study; it has F, tuned; did you mean 'tuned'",
        ),
        (TUNED + CONTROL + 'base = "f"\n', "system[3] 'permuted' has base = 'f', which is no system of this study"),
        (TUNED + CONTROL.replace('"tuned"', '"permuted"'), "has itself as control_of"),
        (TUNED + CONTROL + 'base = "permuted"\n', "has itself as base"),
        (TUNED + CONTROL + 'base = "tuned"\n', "has 'tuned' as control_of and as base"),
        (TUNED + 'base = "F"\n', "system[2] 'tuned' has base and no control_of"),
        (TUNED + 'control_of = "F"\n' + CONTROL, "has control_of = 'tuned', which is a control itself"),
    ],
)
def test_a_system_that_cannot_be_asked_is_refused(write, system, said):
    assert said in refused(write(system=system))


def test_what_a_system_is_a_control_of_is_kept_and_is_nothing_of_how_it_is_asked(write):
    plain = read_study(write(system=TUNED + CONTROL.replace('control_of = "tuned"\n', "")))
    study = read_study(write(system=TUNED + CONTROL + 'base = "F"\n'))
    assert Held(study).controls == {"permuted": Trained("tuned", "F")}
    assert study.systems == plain.systems
    assert asked_from(study) == asked_from(plain)
    assert study.resolved()["system"][2] == plain.resolved()["system"][2] | {"control_of": "tuned", "base": "F"}


def test_what_a_system_lacks_is_no_matter_where_nobody_needs_it(write):
    """The same systems pass where the study does not ask what they can't do, or says what was missing."""
    blind = FAKE + 'template_options = { distribution = "none" }\n'
    assert read_study(write(system=blind, elicit='[elicit]\nreadouts = ["text"]\n'))
    local = '[[system]]\nname = "S"\nengine = "transformers"\nmodel = "a/b"\ndtype = "bfloat16"\ntolerance = 0.1\n'
    assert read_study(write(system=local)).systems[0].tolerance == 0.1


def test_a_systems_temperature_is_that_of_replies_and_all_agree(write):
    elicit = '[elicit]\nreadouts = ["text"]\n'
    warm = FAKE + "temperature = 0.7\n"
    assert read_study(write(system=warm, elicit=elicit)).readouts[0].decoding.temperature == 0.7
    other = warm + '[[system]]\nname = "G"\nengine = "fake"\ntemperature = 0\n'
    assert "temperatures 0 and 0.7" in refused(write(system=other, elicit=elicit))
    twice = elicit + "[elicit.text]\ndecoding = { temperature = 0.0 }\n"
    assert "say it once" in refused(write(system=warm, elicit=twice))


# Items and criteria


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ("item,image\n1,a.png\n2,gone.png\n3,lost.png\n", ["data row 2", "gone.png", "2 of 3 pictures"]),
        ("item,image,text\n1,,\n", ["data row 1", '"1"', "neither text nor image"]),
        ("item,words\n1,hello\n", ["neither text nor image", "columns"]),
        ("id,text\n1,hello\n", ["items.csv: no column 'item'", "'id', 'text'", "[data] columns = { item ="]),
        ("item,text\n1,a\n1,b\n", ['"1" occurs twice']),
        ("item,text\n", ["no rows"]),
    ],
)
def test_items_that_cannot_be_shown_are_told_with_their_row(write, tmp_path, items, said):
    (tmp_path / "a.png").write_bytes(PNG)
    message = refused(write(items=items))
    for text in said:
        assert text in message


def test_columns_have_names_of_their_own_and_a_wrong_one_is_told(write, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    data = DATA + 'columns = { item = "id", text = "words", image = "face" }\n'
    items = "id,words,face\n01,hello,a.png\n02,,a.png\n03,alone,\n"
    design = read_study(write(data=data, items=items)).design()
    assert [(one.name, one.text, one.image) for one in design.items] == [
        ("01", "hello", PNG), ("02", "", PNG), ("03", "alone", None),
    ]  # fmt: skip
    wrong = refused(write(data=data.replace("words", "wrds"), items=items))
    assert "no column 'wrds' for text" in wrong
    assert "did you mean 'words'?" in wrong


def test_pictures_are_read_when_the_design_is_made_and_must_be_pictures(write, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    study = read_study(write(items="item,image\n1,a.png\n"))
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(MeasurandError, match=r"data row 1: .*a\.png: no picture"):
        study.design()
    (tmp_path / "a.png").unlink()
    with pytest.raises(MeasurandError, match=r"data row 1: .*a\.png cannot be read"):
        study.design()


def test_criteria_come_from_a_list_a_file_a_column_or_what_people_rated(write, tmp_path):
    (tmp_path / "r.csv").write_text(
        "item,rater,criterion,rating,q\n000,A,fear,1,x10\n000,A,awe,2,x9\n", encoding="utf-8"
    )
    of = {
        'criteria = ["b", "a"]': ["b", "a"],
        'ratings = "r.csv"': ["awe", "fear"],
        'ratings = "r.csv"\ncriteria = { column = "q" }': ["x9", "x10"],
        'ratings = "r.csv"\ncolumns = { criterion = "q" }': ["x9", "x10"],
    }
    for line, criteria in of.items():
        assert read_study(write(data=f'[data]\nitems = "items.csv"\n{line}\n')).criteria == criteria
    for line, said in {
        'criteria = ["a", "a"]': "'a' occurs twice",
        'criteria = { column = "q" }': "[data] has no ratings",
        'ratings = "r.csv"\ncriteria = { column = "qq" }': "no column 'qq'",
        'criteria = { file = "none.txt" }': "cannot be read",
        'criteria = { preset = "emonet" }': "did you mean",
        'criteria = { preset = "two-emojis" }': "asks for texts and has none",
        "criteria = []": "there are none",
        "": "there are none",
    }.items():
        assert said in refused(write(data=f'[data]\nitems = "items.csv"\n{line}\n'))


# Wordings


OWN = '[[elicit.phrasing]]\nname = "mine"\nquestion = "Is it {criterion}?"\n'


@pytest.mark.parametrize(
    ("elicit", "names"),
    [
        (ASKED, ["does", "present", "would", "absent"]),
        (ASKED + "phrasings = 2\n", ["does", "present"]),
        (ASKED + 'phrasings = ["absent", "does"]\n', ["absent", "does"]),
        (ASKED + OWN, ["mine"]),
        (ASKED + "phrasings = 1\n" + OWN, ["does", "mine"]),
        (ASKED + 'phrasings = ["mine", "would"]\n' + OWN, ["mine", "would"]),
        (ASKED + "[elicit.verification]\nphrasings = 3\n", ["does", "present", "would"]),
    ],
)
def test_wordings_are_ours_the_users_or_both(write, elicit, names):
    assert [one.name for one in read_study(write(elicit=elicit)).readouts[0].phrasings] == names


def test_a_wording_goes_to_the_readout_that_it_names(write):
    elicit = ASKED + OWN + 'readout = "second"\n[[elicit.readout]]\nkind = "verification"\nname = "second"\n'
    first, second = read_study(write(elicit=elicit)).readouts
    assert [one.name for one in first.phrasings] == ["does", "present", "would", "absent"]
    assert [one.name for one in second.phrasings] == ["mine"]


@pytest.mark.parametrize(
    ("elicit", "said"),
    [
        (ASKED + "phrasings = 9\n", "elicit.phrasings is 9; no readout has more than 4"),
        (ASKED + "[elicit.verification]\nphrasings = 9\n", "phrasings is 9; there are 4"),
        (ASKED + 'phrasings = ["dose"]\n', "'dose'"),
        (ASKED + '[elicit.verification]\nphrasings = ["dose"]\n', "did you mean 'does'?"),
        (ASKED + "phrasings = 1\n" + OWN.replace("mine", "does"), "two phrasings are called 'does'"),
        (ASKED + OWN + 'readout = "verify"\n', "elicit.phrasing[1].readout is 'verify'"),
        (ASKED + OWN.replace("{criterion}", "there"), "does not say {criterion}"),
        (ASKED + OWN.replace("{criterion}", "{criterion} {foo}"), "nothing stands for {foo}"),
        (ASKED + OWN + "negated = true\n", "negated phrasings alone"),
    ],
)
def test_a_wording_that_cannot_be_asked_is_refused(write, elicit, said):
    wrong = refused(write(elicit=elicit))
    assert said in wrong
    assert wrong.count("readout") <= 1 + ("phrasing[1].readout" in wrong)


def test_what_values_mean_stands_behind_the_scale_in_prompts(write):
    elicit = '[elicit]\nreadouts = ["generative", "scale", "verification"]\n'
    words = SCALE + 'labels = { 0 = "not at all", 7 = "extremely" }\n'
    study = read_study(write(scale=words, elicit=elicit))
    question = fill(study.readouts[0].phrasings[0], criteria=["joy"], scale=study.scale[""])
    assert "0 to 7 (0 = not at all, 7 = extremely)" in question
    assert study.scale[""] == Scale(0, 7, 1)
    assert "labels names 9" in refused(write(scale=words.replace("7 =", "9 ="), elicit=elicit))
    assert "is no number" in refused(write(scale=words.replace("7 =", "top ="), elicit=elicit))
    assert "braces" in refused(write(scale=words.replace("extremely", "{text}"), elicit=elicit))


# What can't work

GENERATIVE = '[elicit]\nreadouts = ["generative"]\n'
RATED = GENERATIVE + "[elicit.generative]\n"
SCALED = '[elicit]\nreadouts = ["scale"]\n'
RATES = (
    '[[elicit.phrasing]]\nreadout = "generative"\nname = "r"\nquestion = "Rate {criteria} as {scale}, from 1 to 7."\n'
)


@pytest.mark.parametrize(
    ("part", "said", "mended"),
    [
        ({"elicit": GENERATIVE}, "needs a scale", {"scale": SCALE}),
        ({"elicit": SCALED}, "needs a scale", {"scale": SCALE}),
        ({"elicit": GENERATIVE, "scale": "[scale]\nlabels = ['low', 'high']\n"}, "takes numbers", {"scale": SCALE}),
        ({"elicit": SCALED, "scale": "[scale]\nlow = 0\nhigh = 1\n"}, "whole numbers", {"scale": SCALE}),
        ({"elicit": SCALED, "scale": "[scale]\nlow = 0\nhigh = 1\nstep = 0.5\n"}, "whole numbers", {"scale": SCALE}),
        ({"elicit": SCALED, "scale": "[scale]\nlow = 0\nhigh = 100\nstep = 1\n"}, "are 101; at most 20",
         {"scale": "[scale]\nlow = 0\nhigh = 100\nstep = 10\n"}),
        ({"elicit": GENERATIVE + RATES, "scale": "[scale]\nlow = 0\nhigh = 100\n"}, "asks for 1 to 7",
         {"scale": "[scale]\nlow = 1\nhigh = 7\nstep = 1\n"}),
        ({"scale": "[scale.awe]\nlow = 0\nhigh = 7\n"}, "scale.awe is about no criterion",
         {"scale": "[scale.joy]\nlow = 0\nhigh = 7\n"}),
        ({"elicit": RATED + "rule = { n_pairs = 3 }\n", "scale": SCALE}, "3 ratings of 2",
         {"elicit": RATED + "rule = { n_pairs = 2 }\n"}),
        ({"elicit": RATED + "rule = { example = ['awe'] }\n", "scale": SCALE}, "'awe', which",
         {"elicit": RATED + "rule = { example = ['joy'] }\n"}),
        ({"elicit": RATED + "retry = { attempts = 3 }\n", "scale": SCALE}, "same reply",
         {"elicit": RATED + "retry = { attempts = 3, note = 'Again.' }\n"}),
        ({"elicit": RATED + "retry = { attempts = 3 }\n", "scale": SCALE}, "same reply",
         {"elicit": RATED + "retry = { attempts = 3 }\ndecoding = { temperature = 0.7 }\n"}),
        ({"elicit": '[elicit]\nreadouts = ["choice"]\n'}, "no options to choose from",
         {"elicit": '[elicit]\nreadouts = ["choice"]\n[elicit.choice]\noptions = ["a", "b"]\n'}),
        ({"elicit": '[elicit]\nreadouts = ["choice"]\n[elicit.choice]\noptions = ["a", "A"]\n'}, "needs one meaning",
         {"elicit": '[elicit]\nreadouts = ["choice"]\n[elicit.choice]\noptions = ["a", "b"]\n'}),
        ({"elicit": ASKED + '[elicit.verification]\nyes = ["y"]\nno = ["Y."]\n'}, "needs one meaning",
         {"elicit": ASKED}),
        ({"elicit": '[elicit]\nreadouts = ["text", "binarized"]\n'}, "made from verification", {"elicit": ASKED}),
        ({"elicit": "[elicit]\n"}, "asks nothing", {"elicit": ASKED}),
        ({"elicit": ASKED + "[elicit.text]\n"}, "does not name it",
         {"elicit": "[elicit]\n[elicit.text]\n"}),
        ({"elicit": ASKED + "[[elicit.readout]]\nkind = 'verification'\n"}, "two readouts are called 'verification'",
         {"elicit": ASKED + "[[elicit.readout]]\nkind = 'verification'\nname = 'v'\n"}),
        ({"elicit": ASKED + "controls = ['swapped']\n", "items": "item,text\n1,a\n"}, "nothing to swap",
         {"items": ITEMS}),
        ({"elicit": ASKED + "subject = 'image'\n"}, "data row 1 of", {"elicit": ASKED + "subject = 'text'\n"}),
    ],
)  # fmt: skip
def test_a_study_that_cannot_work_is_refused_and_passes_once_mended(write, part, said, mended):
    assert said in refused(write(**part))
    assert read_study(write(**(part | mended)))


def test_criteria_of_different_scales_are_asked_in_one_prompt_that_says_each(write):
    study = read_study(write(elicit=GENERATIVE, scale=SCALE + "[scale.fear]\nlow = 1\nhigh = 5\nstep = 1\n"))
    question = fill(study.readouts[0].phrasings[0], criteria=study.criteria, scale=study.design().scale)
    assert "the whole numbers from 0 to 7" in question
    assert "fear: the whole numbers from 1 to 5" in question


def test_shuffling_needs_texts(write, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    elicit = ASKED + 'controls = ["shuffled"]\n'
    assert "has no text to shuffle" in refused(write(elicit=elicit, items="item,image\n1,a.png\n2,a.png\n"))
    assert read_study(write(elicit=elicit))


@pytest.mark.parametrize(
    "marker", ["<image>", "<|image_pad|>", "<|im_end|>", "[INST]", "</s>", "<start_of_turn>", "[IMG]"]
)
def test_a_placeholder_or_chat_marker_in_a_criterion_is_refused(write, marker):
    """T41: templates read it as a picture or as the end of a turn."""
    message = refused(write(data=f'[data]\nitems = "items.csv"\ncriteria = ["joy", "fear {marker}"]\n'))
    assert marker in message
    assert "criterion" in message
    assert "phrasing 'mine'" in refused(write(elicit=ASKED + OWN.replace("Is it", f"{marker} Is it")))


@given(st.text(alphabet=st.characters(exclude_characters="<>[]")))
def test_text_without_brackets_holds_no_marker(text):
    assert marker_in(text) == ""


@given(st.integers(0, 9), st.integers(10, 99), st.sampled_from([" to ", "-", "–", " and "]))
def test_a_range_of_answers_is_seen_and_other_numbers_are_not(low, high, between):
    assert ranges_in(f"Give a number from {low}{between}{high}.") == [(low, high)]
    assert ranges_in(f"On a scale of {low}{between}{high}, how?") == [(low, high)]
    assert ranges_in(f"Are these people aged {low}{between}{high} happy?") == []


def test_what_a_reader_should_know_is_noted(write):
    notes = read_study(write(elicit=ASKED + "repeats = 2\nphrasings = 3\n")).notes
    assert any("noise of the engine" in note for note in notes)
    assert any("no phrasing is negated" in note for note in notes)
    assert read_study(write()).notes == []


# Presets


EMONET = GENERATIVE + '[elicit.generative]\npreset = "emonet-face"\n'


def test_a_preset_brings_criteria_scale_and_rules_and_each_key_replaces_one(write):
    data = '[data]\nitems = "items.csv"\n'
    study = read_study(write(data=data, elicit=EMONET))
    (readout,) = study.readouts
    assert (readout.name, readout.retry.attempts, readout.rule.n_pairs) == ("emonet-face", 20, 25)
    assert readout.decoding.temperature is None
    assert len(study.criteria) == 40
    assert study.scale[""].describe() == "0 to 7 in steps of 1"
    other = (
        EMONET
        + 'name = "short"\nretry = { attempts = 2 }\ndecoding = { temperature = 0.5 }\nrule = { repairs = true }\n'
    )
    (changed,) = read_study(write(data=data, elicit=other)).readouts
    assert changed == dataclasses.replace(
        readout,
        name="short",
        retry=dataclasses.replace(readout.retry, attempts=2),
        decoding=dataclasses.replace(readout.decoding, temperature=0.5),
        rule=dataclasses.replace(readout.rule, repairs=True),
    )


def test_a_preset_under_another_scale_is_refused(write):
    """The prompt says 1 to 7, the study 0 to 100: what is read would mean neither."""
    data = '[data]\nitems = "items.csv"\n'
    scale = "[scale]\nlow = 0\nhigh = 100\nstep = 1\n"
    assert "whose ratings are 0 to 7" in refused(write(data=data, elicit=EMONET, scale=scale))
    assert read_study(write(data=data, elicit=EMONET, scale=SCALE))
    assert "there is no preset" in refused(write(data=data, elicit=EMONET.replace("emonet-face", "emonet")))


def test_the_second_papers_request_rules_are_a_preset(write):
    elicit = '[elicit]\nreadouts = ["text"]\nrepeats = 3\n[elicit.text]\npreset = "two-emojis"\n'
    study = read_study(write(data='[data]\nitems = "items.csv"\n', elicit=elicit))
    (readout,) = study.readouts
    assert isinstance(readout, Text)
    assert (readout.decoding.temperature, readout.retry.attempts, readout.rule.beyond_ascii) == (0.7, 3, True)
    assert study.notes == []


# Choice and schema


def test_options_are_a_list_or_a_table_of_words(write):
    elicit = '[elicit]\nreadouts = ["choice"]\n[elicit.choice]\nrotations = 2\noptions = '
    (listed,) = read_study(write(elicit=elicit + '["anger", "fear"]\n')).readouts
    assert isinstance(listed, Choice)
    assert dict(listed.options) == {"anger": ("anger",), "fear": ("fear",)}
    (named,) = read_study(write(elicit=elicit + '{ anger = ["anger", "rage"], fear = ["fear"] }\n')).readouts
    assert named.options["anger"] == ("anger", "rage")
    assert "2 orders" in refused(write(elicit=elicit.replace("rotations = 2", "rotations = 3") + '["anger", "fear"]\n'))


def permits(schema, reply):
    """Hold a flat object against a schema of `ratings_schema`."""
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    if set(reply) - set(schema["properties"]) or set(schema["required"]) - set(reply):
        return False
    for name, value in reply.items():
        one = schema["properties"][name]
        if "enum" in one:
            if value not in one["enum"]:
                return False
        elif not one["minimum"] <= value <= one["maximum"] or (
            one["type"] == "integer" and not float(value).is_integer()
        ):
            return False
    return True


@pytest.mark.parametrize("scale", [Scale(0, 7, 1), Scale(0, 1), Scale(0, 1, 0.5), Scale(labels=["1", "3", "9"])])
def test_a_schema_permits_what_the_scale_permits(scale):
    schema = ratings_schema(["joy", "fear"], {"": scale}, RatingsRule())
    for value in (-1, 0, 0.25, 0.5, 1, 1.5, 3, 7, 8, 9):
        assert permits(schema, {"joy": value, "fear": value}) == scale.permits(value), value
    low = scale.bounds[0]
    assert not permits(schema, {"joy": low})
    assert permits(ratings_schema(["joy", "fear"], {"": scale}, RatingsRule(keys="any")), {"joy": low})
    assert not permits(schema, {"joy": low, "fear": low, "awe": low})


def test_a_grammar_is_for_replies_and_never_for_readings(write):
    """X1: a forced answer has probability 1 whatever the system believes."""
    for kind in ("verification", "scale", "choice"):
        elicit = f"[elicit]\n[elicit.{kind}]\njson_schema = true\n"
        assert f"elicit.{kind}.json_schema is no key of this table" in refused(write(elicit=elicit, scale=SCALE))
    elicit = GENERATIVE + "[elicit.generative]\njson_schema = true\n"
    assert read_study(write(elicit=elicit, scale=SCALE)).readouts[0].decoding.json_schema


def test_a_schema_of_the_users_own_goes_through_as_it_is(write):
    elicit = GENERATIVE + '[elicit.generative]\njson_schema = { type = "object" }\n'
    assert read_study(write(elicit=elicit, scale=SCALE)).readouts[0].decoding.json_schema == {"type": "object"}
    wild = elicit.replace("json_schema = { ", "decoding = { json_schema = 1, ")
    assert "decoding" in refused(write(elicit=wild, scale=SCALE))
