import csv
import json

import numpy as np
import pandas as pd
import pytest

import measurand
from eliciting.studies import (
    EVERY,
    FEEL,
    NEGATED,
    OPTIONS,
    RATE,
    VERIFY,
    WHICH,
    answers_in,
    ask,
    asked_of,
    everything,
    items,
    reading,
    replies,
    reply,
    study,
    tables,
)
from measurand.data import Scale, read_answers
from measurand.data.outputs import read_outputs
from measurand.eliciting.declared import (
    Choice,
    Design,
    Generative,
    Item,
    RatingsRule,
    Retry,
    ScaleReading,
    Text,
    Verification,
)
from measurand.eliciting.engine import Failure
from measurand.eliciting.system import System
from measurand.eliciting.tables import COLUMNS
from measurand.result import MeasurandError
from measurand.scoring import gates, score

HOSTILE = (
    "a\nb",
    'q"uo,te',
    "=cmd()",
    "@SUM(1)",
    "-1",
    "{criterion}",
    "{text}",
    "👩‍👩‍👧",
    "שלום עולם",
    "NA",
    "none",
    "01",
    "1.0",
    "tab\tx",
    "x\u2028y",
    "'quoted'",
)


# The answers table


def test_the_columns_are_the_same_whatever_was_asked(tmp_path):
    elicited, _ = ask(everything(), tmp_path / "store")
    tables(elicited, tmp_path / "tables")
    with (tmp_path / "tables" / "answers.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == list(COLUMNS)


def test_every_row_says_how_its_answer_was_obtained(tmp_path):
    """T15, T36, T38: system, protocol, identity, hash of the prompt, address of the record; a status in every row."""
    rows = asked_of(everything(), tmp_path)
    for row in rows:
        assert all(row[name] for name in ("system", "item", "criterion", "readout", "phrasing", "status", "protocol"))
        assert len(row["identity"]) == 12
        assert len(row["prompt"]) == 16
        assert len(row["key"]) == 64
        assert (row["status"] in ("ok", "repaired")) == bool(row["answer"])
        assert bool(row["problem"]) >= (row["status"] not in ("ok", "repaired"))


def test_rows_stand_in_the_order_of_the_study(tmp_path):
    rows = asked_of(study(n_items=2, systems=[System("B", "fake"), System("A", "fake")]), tmp_path)
    assert [(row["system"], row["item"], row["criterion"]) for row in rows] == [
        (system, item, criterion) for system in "BA" for item in ("i1", "i2") for criterion in ("joy", "fear")
    ]


def test_one_estimand_for_each_readout(tmp_path):
    """T11: what a probability, a rating and a share are never stand under one name."""
    rows = asked_of(everything(derived=("binarized", "double_centred")), tmp_path)
    protocols = {}
    for row in rows:
        protocols.setdefault(row["protocol"], set()).add((row["readout"], row["phrasing"], row["prefill"]))
    assert all(len(named) == 1 for named in protocols.values())
    within = {"verification": (0, 1), "choice": (0, 1), "scale": (0, 4), "generative": (0, 4), "binarized": (0, 1)}
    for name, (low, high) in within.items():
        values = [float(row["answer"]) for row in rows if row["readout"] == name and row["answer"]]
        assert values
        assert all(low <= value <= high for value in values)


def test_options_make_a_row_each_and_share_one_record(tmp_path):
    rows = asked_of(study(Choice(OPTIONS, [WHICH]), n_items=1), tmp_path)
    assert [row["criterion"] for row in rows] == ["joy", "fear", "awe"]
    assert len({row["key"] for row in rows}) == 1
    assert sum(float(row["answer"]) for row in rows) == pytest.approx(1, abs=1e-12)


def test_repeats_are_rows_of_their_own_and_readers_say_which_counts(tmp_path):
    """T76: the noise floor is in the table; nothing averages it away unasked."""
    rows = asked_of(study(repeats=2), tmp_path)
    assert [row["repeat"] for row in rows[:4]] == ["0", "1"] * 2
    assert len({row["key"] for row in rows}) == len(rows)
    file = tmp_path / "tables" / "answers.csv"
    with pytest.raises(MeasurandError, match="answered twice"):
        read_answers(file)
    assert len(read_answers(file, repeats="first")) == 6


def test_failed_requests_stay_rows(tmp_path):
    """T30, T33, T38: coverage is told by rows without an answer, never by rows that are missing."""
    design = everything()
    whole = asked_of(design, tmp_path / "twin")
    elicited, _ = ask(design, tmp_path / "store", read=lambda *_: Failure("no"), generate=lambda *_: Failure("no"))
    _, rows, said, outputs = tables(elicited, tmp_path / "tables")
    assert len(rows) == len(whole)
    assert {row["status"] for row in rows} == {"not_returned"}
    assert said == []
    assert [one["status"] for one in outputs] == ["not_returned"] * 3
    assert [one["text"] for one in outputs] == [""] * 3


def test_tables_that_would_be_empty_are_not_written(tmp_path):
    elicited, _ = ask(study(), tmp_path / "store")
    tables(elicited, tmp_path / "tables")
    assert [path.name for path in (tmp_path / "tables").iterdir()] == ["answers.csv"]


# Hostile names and replies


@pytest.mark.parametrize("text", HOSTILE)
def test_items_and_criteria_of_any_name_come_back_as_they_were(tmp_path, text):
    design = study(
        Verification([VERIFY]),
        Generative([EVERY]),
        Text([FEEL]),
        items=[Item(text, text), Item("other", "x")],
        criteria=[text, "joy"],
        systems=[System(text, "fake")],
    )
    elicited, _ = ask(design, tmp_path / "store")
    _, rows, said, _ = tables(elicited, tmp_path / "tables")
    assert {(row["system"], row["item"], row["criterion"]) for row in rows} == {
        (text, item, criterion) for item in (text, "other") for criterion in (text, "joy")
    }
    assert {one["item"] for one in said} == {text, "other"}
    frame = read_answers(tmp_path / "tables" / "answers.csv").frame
    assert len(frame) == len(rows)
    assert set(frame["criterion"]) == {text, "joy"}
    assert set(read_outputs(tmp_path / "tables" / "outputs.jsonl").frame["item"]) == {text, "other"}


@pytest.mark.parametrize("text", [*HOSTILE, "a\r\nb\rc", "nul\0", "\ud83d", '"}\n{"item": "i1"}', "\u202eabc"])
def test_replies_of_any_text_are_kept_as_they_were(tmp_path, text):
    """T31, T36: one line for each reply, whatever is in it; no column of the answers carries a raw one."""
    design = study(Generative([EVERY]), Text([FEEL]), n_items=2)
    elicited, _ = ask(design, tmp_path / "store", generate=lambda *_: reply(text, reasoning=text))
    _, rows, said, outputs = tables(elicited, tmp_path / "tables")
    assert [(one["reply"], one["reasoning"]) for one in said] == [(text, text)] * 4
    assert len(rows) == 4
    assert [one["text"] for one in outputs] == [text.strip().replace("\ud83d", "\ufffd")] * 2
    assert len(read_answers(tmp_path / "tables" / "answers.csv")) == 4
    assert len(read_outputs(tmp_path / "tables" / "outputs.jsonl")) == 2


@pytest.mark.parametrize("text", [*HOSTILE, "a\rb", "\ud83d", "nul"])
def test_tokens_of_any_text_go_in_as_json_that_no_spreadsheet_runs(tmp_path, text):
    told = reading(0.4, 0.1, top=text, others=[(text, 0.2), (text, 0.1)])
    elicited, _ = ask(study(criteria=["joy"], n_items=1), tmp_path / "store", read=lambda *_: told)
    arms, (row,), _, _ = tables(elicited, tmp_path / "tables")
    assert json.loads(row["top"]) == text
    assert json.loads(row["others"]) == [[text, 0.2], [text, 0.1]]
    assert row["top"][0] == '"'
    assert next(iter(arms.of.values())).outside[text] == pytest.approx(0.3)


@pytest.mark.parametrize("name", ["a\rb", "nul\0", "\ud83d"])
@pytest.mark.parametrize("what", ["items", "criteria"])
def test_names_that_no_table_could_hold_are_refused_before_anything_is_asked(name, what):
    with pytest.raises(MeasurandError, match="carriage return"):
        study(**{what: [Item(name, "x")] if what == "items" else [name]})


@pytest.mark.parametrize("name", ["binarized", "verification"])
def test_a_readout_called_like_another_or_like_a_derived_one_is_refused(name):
    with pytest.raises(MeasurandError, match=f"two readouts are called '{name}'"):
        study(Verification([VERIFY]), Verification([VERIFY], name=name), derived=("binarized",))


@pytest.mark.parametrize("key", ["=cmd()", "+1", "@x", "-2"])
def test_no_cell_that_a_reply_makes_is_a_formula(tmp_path, key):
    said = [json.dumps({key: 1}), json.dumps({"joy": key}), json.dumps(key), key, json.dumps({"joy": 1, "fear": -9})]
    design = study(Generative([EVERY]), n_items=5)
    elicited, _ = ask(design, tmp_path / "store", generate=replies(*said))
    rows = tables(elicited, tmp_path / "tables")[1]
    assert {row["status"] for row in rows} == {"invalid"}
    assert not [cell for row in rows for cell in row.values() if cell[:1] in "=+@\t" and cell]


def test_a_prefill_that_is_there_twice_is_refused():
    with pytest.raises(MeasurandError, match="prefill 'A' twice"):
        study(Verification([VERIFY], prefills=("A", "", "A")))


def test_names_that_differ_by_outer_space_are_refused():
    with pytest.raises(MeasurandError, match="two criterions are called 'joy'"):
        study(criteria=["joy", "joy "])


# The other tools take them


@pytest.fixture(scope="module")
def elicited_study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    criteria = ["joy", "fear", "awe"]
    design = Design(
        [Item(f"i{k}", f"text {k} of {k * 7}") for k in range(8)],
        criteria,
        [System("A", "fake", "a"), System("B", "fake", "b", template_options={"bad_share": 0.4})],
        [Verification([VERIFY, NEGATED]), Generative([EVERY], retry=Retry(2)), ScaleReading([RATE])],
        scale={"": Scale(0, 4, step=1)},
        controls=("swapped",),
        derived=("binarized", "double_centred"),
    )
    elicited, _ = ask(design, folder / "store")
    arms = tables(elicited, folder / "tables")[0]
    rng = np.random.default_rng(3)
    ratings = pd.DataFrame(
        [
            (f"i{k}", f"R{r}", criterion, int(rng.integers(0, 5)))
            for k in range(8)
            for r in range(3)
            for criterion in criteria
        ],
        columns=["item", "rater", "criterion", "rating"],
    )
    return folder / "tables" / "answers.csv", measurand.read_ratings(ratings, scale=Scale(0, 4, step=1)), arms


def test_the_gates_take_an_elicited_table_as_it_is(elicited_study):
    answers, ratings, arms = elicited_study
    result = gates(answers, ratings=ratings, replicates=100, permutations=99)
    found = {finding.id: finding for finding in result.findings}
    assert found["answer-mass"].verdict == "pass"
    assert found["coverage"].verdict in ("warn", "fail")
    assert found["control-health"].verdict != "not_applicable"
    called = {tuple(row.keys[name] for name in ("system", "readout", "phrasing", "variant")) for row in result.rows}
    assert called >= {tuple(name.keys.values()) for name in arms.of}


def test_scores_of_an_elicited_table_need_no_hand_work(elicited_study):
    answers, ratings, _ = elicited_study
    result = score(
        answers, ratings, replicates=100, gates=False, calibrate=("none",), anchors=("pairwise",), baselines=(), folds=2
    )
    scored = {row.keys["readout"] for row in result.rows if "readout" in row.keys and row.analysis == "scores"}
    assert scored >= {"verification", "generative", "scale"}


def test_answers_read_back_are_the_numbers_that_were_read(elicited_study):
    answers, _, _ = elicited_study
    frame = read_answers(answers).frame
    written = answers_in(answers.parent)
    assert len(frame) == len(written)
    told = [float(row["answer"]) if row["answer"] else np.nan for row in written]
    assert np.array_equal(frame["answer"].to_numpy(), told, equal_nan=True)


def test_an_example_gives_rows_that_coverage_counts_as_not_asked(tmp_path):
    phrasing = EVERY.__class__("pairs", EVERY.question + "\n{example}")
    design = study(Generative([phrasing], RatingsRule(example=["joy"])), n_items=3)
    elicited, _ = ask(design, tmp_path / "store", generate=replies('{"joy": 3}'))
    tables(elicited, tmp_path / "tables")
    frame = read_answers(tmp_path / "tables" / "answers.csv").frame
    assert frame["status"].value_counts().to_dict() == {"ok": 3, "not_asked": 3}


def test_outputs_of_one_readout_are_an_outputs_table(tmp_path):
    elicited, _ = ask(study(Text([FEEL]), items=items(3)), tmp_path / "store")
    tables(elicited, tmp_path / "tables")
    frame = read_outputs(tmp_path / "tables" / "outputs.jsonl").frame
    assert frame[["item", "system"]].to_numpy().tolist() == [["i1", "S"], ["i2", "S"], ["i3", "S"]]
