"""Faults that other tools show, sought in whole studies: asked, stored, written, and held to the gates.

docs/faults.md lists them all, with the test of each; faults of one module stand beside that module's other tests.
"""

import ast
import binascii
import importlib.util
import io
import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from eliciting.servers import Pretender, Response, completion, likeliest, serving
from eliciting.studies import EVERY, OPTIONS, VERIFY, WHICH, answers_in, ask, lines_in, reading, replies, reply, study
from measurand.data import read_answers
from measurand.eliciting.accounts import rows
from measurand.eliciting.cards import cards
from measurand.eliciting.declared import Choice, Generative, Item, RatingsRule, Retry, Verification
from measurand.eliciting.findings import findings
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.http.read import reading_of
from measurand.eliciting.labels import Labels
from measurand.eliciting.presets import criteria_of, generative_preset, scale_of
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.run import elicit
from measurand.eliciting.system import Price, System
from measurand.eliciting.tables import Tables
from measurand.scoring import forced_choice, gates

QUICK = {"permutations": 99, "replicates": 100}
GOOD = '{"joy": 3, "fear": 0}'
TESTS = Path(__file__).parents[1]
over_http = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="openai is not installed")


class Told:
    """What a study says after it was asked: tables, numbers, findings, and what the gates say of its answers."""

    def __init__(self, design, folder, *, example=(), elicited=None, **told):
        self.elicited, self.engines = (elicited, {}) if elicited else ask(design, folder / "store", **told)
        self.folder = folder / "tables"
        self.folder.mkdir(parents=True, exist_ok=True)
        written = Tables(self.elicited)
        written.write(self.folder)
        self.table, self.answers = self.folder / "answers.csv", answers_in(self.folder)
        self.replies = lines_in(self.folder / "replies.jsonl")
        numbers = rows(self.elicited, written.arms, replicates=50, confidence=0.95)
        self.numbers = {(row.analysis, row.statistic): row for row in numbers}
        self.findings = {one.id: one for one in findings(self.elicited, written.arms, numbers)}
        self._example = example

    def number(self, statistic, analysis="elicitation"):
        return self.numbers[analysis, statistic]

    def column(self, name):
        return [row[name] for row in self.answers]

    @property
    def gates(self):
        found = gates(read_answers(self.table, repeats="first"), example=self._example, **QUICK)
        return {one.id: one for one in found.findings}


# --- Where the answer is read -----------------------------------------------------------------------------------------


def test_a_sound_ratio_of_hardly_any_mass_fails_the_gate(tmp_path):
    """T01: yes and no at 3 to 1 with .92 of the probability, or with .03: the same P(yes), and only one passes."""
    found = {}
    for name, mass in (("much", 0.92), ("little", 0.03)):
        told = reading(0.75 * mass, 0.25 * mass, top=" yes" if mass > 0.5 else " A", others=[(" A", 0.97 - mass)])
        found[name] = Told(study(), tmp_path / name, read=lambda *_, told=told: told)
    for name, mass in (("much", 0.92), ("little", 0.03)):
        assert [float(one) for one in found[name].column("answer")] == pytest.approx([0.75] * 6, abs=1e-12)
        assert [float(one) for one in found[name].column("mass")] == pytest.approx([mass] * 6, abs=1e-12)
    assert [found[name].gates["answer-mass"].verdict for name in ("much", "little")] == ["pass", "fail"]
    assert [found[name].findings["read-position"].verdict for name in ("much", "little")] == ["pass", "fail"]
    assert "' A'" in found["little"].findings["read-position"].statement


def test_a_prompt_that_collapses_to_padding_is_seen_in_every_row_and_fails(tmp_path):
    """T28: the likeliest token is <pad>; yes and no share a rest that would still make a ratio."""
    told = Told(study(), tmp_path, read=lambda *_: reading(0.02, 0.01, top="<pad>", others=[("<pad>", 0.9)]))
    assert [json.loads(one) for one in set(told.column("top"))] == ["<pad>"]
    assert told.findings["read-position"].verdict == "fail"
    assert "'<pad>'" in told.findings["read-position"].statement
    assert told.gates["answer-mass"].verdict == "fail"


@over_http
def test_probabilities_that_stop_coming_leave_gaps_and_no_answer_read_off_the_text(tmp_path):
    """T11: the reply says yes, its probabilities are null; a fall-back to the text would be another quantity."""

    def script(stops):
        pretender = Pretender()

        def answer(asked, number):
            response = pretender(asked, number)
            if stops and "fear" in asked.question and "Nobody came" in asked.question:
                response.content["choices"][0] |= {"logprobs": None, "message": {"role": "assistant", "content": "yes"}}
            return response

        return answer

    found = {}
    for stops in (False, True):
        with serving(script(stops)) as server:
            design = study(n_items=5, systems=[System("S", "openai", model="m", url=server.url, tries=1)])
            elicited = elicit(design, tmp_path / str(stops) / "store")
        found[stops] = Told(design, tmp_path / str(stops), elicited=elicited)
    assert set(found[False].column("status")) == {"ok"}
    gaps = [row for row in found[True].answers if row["status"] != "ok"]
    told = [(row["item"], row["criterion"], row["status"], row["answer"]) for row in gaps]
    assert told == [("i5", "fear", "not_returned", "")]
    assert set(found[True].column("readout")) == {"verification"}
    assert "null" in found[True].findings["requests-answered"].statement


def reasons_first(asked, _number):
    """A system that reasons before it answers: as tokens where probabilities are shown, and apart in its replies."""
    if asked.body.get("logprobs"):
        return Response(completion("<think>", likeliest(("<think>", 0.97), (" yes", 0.02), (" no", 0.01))))
    message = {"reasoning_content": 'Perhaps {"joy": 1, "fear": 4}.'}
    usage = {"prompt_tokens": 9, "completion_tokens": 20, "completion_tokens_details": {"reasoning_tokens": 12}}
    return Response(completion(GOOD, message=message, usage=usage))


@over_http
def test_an_answer_behind_reasoning_is_another_readout_and_never_verification(tmp_path):
    """T26, T25: what is read before reasoning is refused; the reply behind it is generative, its reasoning apart."""
    found = {}
    for readout in (Verification([VERIFY]), Generative([EVERY])):
        with serving(reasons_first) as server:
            design = study(readout, systems=[System("S", "openai", model="m", url=server.url, tries=1)])
            elicited = elicit(design, tmp_path / readout.name / "store")
        found[readout.name] = Told(design, tmp_path / readout.name, elicited=elicited)
    refused, behind = found["verification"], found["generative"]
    assert set(refused.column("answer")) == {""}
    assert "<think>" in refused.findings["engine-tested"].statement
    assert [row["answer"] for row in behind.answers] == ["3.0", "0.0"] * 3
    assert {one["reasoning"] for one in behind.replies} == {'Perhaps {"joy": 1, "fear": 4}.'}
    assert not set(refused.column("protocol")) & set(behind.column("protocol"))
    assert behind.number("reasoning_tokens").estimate == 36


@over_http
def test_a_longer_word_that_begins_with_an_option_is_not_that_option():
    """T32: "CI" is no C, neither as a token nor as an option beside it."""
    letters = Labels({"C": ("C",), "I": ("I",)})
    top = likeliest((" CI", 0.6), (" C", 0.2), (" I", 0.1), ("c.", 0.05))
    found = reading_of(completion(top=top), letters, n_asked=4, fingerprint="f", seconds=0)
    assert [math.exp(low) for low in found.low] == pytest.approx([0.25, 0.1], abs=1e-9)
    assert found.others[0][0] == " CI"
    engine = HttpEngine(System("s", "openai", model="m", url="http://localhost:1/v1"))
    both = Labels({"C": ("C",), "CI": ("CI",)})
    assert "'c' begins the answer 'ci'" in engine.objections([Prompt("Which?")], both)[0]
    assert engine.objections([Prompt("Which?")], letters) == []


FORCES = ["grammar", "json_schema", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "regex", "ebnf"]
FORCES += ["structured_outputs", "structural_tag", "logit_bias", "allowed_token_ids", "bad_words"]


@over_http
@pytest.mark.parametrize("field", [*FORCES, "tools", "tool_choice"])
def test_every_field_that_would_force_the_answer_is_refused_for_readings(field):
    """X1: under a grammar or a bias the answers' mass is 1, or what the field makes it."""
    system = System("s", "openai", model="m", url="http://localhost:1/v1", extra_body={field: "x"})
    labels = Labels({"yes": ("yes",), "no": ("no",)})
    assert any(repr(field) in one for one in HttpEngine(system).objections([Prompt("Is it?")], labels))
    harmless = replace(system, extra_body={"user": "x"})
    assert HttpEngine(harmless).objections([Prompt("Is it?")], labels) == []


# --- What a reply is worth --------------------------------------------------------------------------------------------

HOSTILE = {
    "prose": "I would say joy 3 and fear 0 of 4.",
    "negated": "not excellent",
    "hijacked": 'downgrade: {"joy": 3, "fear": 0}',
    "part of a word": '{"joy": "CI3", "fear": "0x"}',
    "hidden character": '{"joy\u200b": 3, "fear": 0}',
    "another case": '{"Joy": 3, "Fear": 0}',
    "no score": "{}",
    "empty": "",
}


@pytest.mark.parametrize("text", [*HOSTILE.values()], ids=[*HOSTILE])
def test_a_reply_that_is_no_rating_is_no_number_anywhere(tmp_path, text):
    """T30, T31, T32, T33, T34: not in the table, not in the coverage, and the findings say why; no default, no 0."""
    told = Told(study(Generative([EVERY])), tmp_path, generate=replies(text))
    assert set(told.column("answer")) | set(told.column("answer_low")) | set(told.column("log_odds")) == {""}
    assert set(told.column("status")) == {"invalid"}
    assert all(told.column("problem"))
    assert told.number("n_invalid").estimate == len(told.answers) == 6
    assert ("elicitation", "n_ok") not in told.numbers
    assert told.findings["first-reply"].verdict == "fail"
    assert told.gates["coverage"].verdict == "fail"
    assert {one["reply"] for one in told.replies} == {text}


def test_a_reply_that_is_a_rating_is_a_number_everywhere(tmp_path):
    """T30, T31, T32, T33, T34, the twin."""
    told = Told(study(Generative([EVERY])), tmp_path, generate=replies(GOOD))
    assert told.column("answer") == ["3.0", "0.0"] * 3
    assert told.number("n_ok").estimate == 6
    assert told.findings["first-reply"].verdict == told.gates["coverage"].verdict == "pass"


def test_how_each_share_of_the_replies_was_read_is_told_from_the_table_to_the_gate(tmp_path):
    """T37, T38, T40: of four replies two are strict, one repaired and one lost, and both denominators are there."""
    said = [GOOD, f"```json\n{GOOD}\n```", "joy 3, fear 0", GOOD]
    design = study(Generative([EVERY], rule=RatingsRule(repairs=True)), n_items=4)
    told = Told(design, tmp_path, generate=replies(*said))
    assert Counter(told.column("status")) == {"ok": 4, "repaired": 2, "invalid": 2}
    assert [told.number(f"n_{status}").estimate for status in ("ok", "repaired", "invalid")] == [4, 2, 2]
    assert [one["problem"] for one in told.replies if one["status"] == "repaired"] == ["repaired: code fence"]
    coverage = told.gates["coverage"]
    assert coverage.verdict == "fail"
    assert "75 % of 8 questions answered" in coverage.statement
    assert "2 of them repaired" in coverage.statement


CHANGES = [{"rule": RatingsRule(is_strict=False)}, {"rule": RatingsRule(repairs=True)}, {"retry": Retry(2)}]


@pytest.mark.parametrize("change", CHANGES, ids=["strictness", "repairs", "attempts"])
def test_a_rule_that_reads_otherwise_is_another_protocol_and_is_never_pooled(tmp_path, change):
    """T39: a copy of a benchmark that differs in how replies are read has another name in every row."""
    one = Told(study(Generative([EVERY])), tmp_path / "one", generate=replies(GOOD))
    other = Told(study(replace(Generative([EVERY]), **change)), tmp_path / "other", generate=replies(GOOD))
    assert one.column("answer") == other.column("answer")
    (first,), (second,) = set(one.column("protocol")), set(other.column("protocol"))
    assert first != second
    both = pd.concat([pd.read_csv(told.table, dtype=str) for told in (one, other)])
    found = gates(read_answers(both), **QUICK)
    assert sum(row.statistic == "passed" and row.keys["gate"] == "coverage" for row in found.rows) == 2


def test_a_rating_that_comes_out_otherwise_the_second_time_is_told_as_the_noise_floor(tmp_path):
    """T76: 1 and 3 to the very same request; twice the same is a floor of zero."""

    def alternating(*ratings):
        said = itertools.cycle([json.dumps({"joy": rating, "fear": 0}) for rating in ratings])
        return lambda *_: reply(next(said))

    design = study(Generative([EVERY]), repeats=2)
    noisy = Told(design, tmp_path / "noisy", generate=alternating(1, 3))
    assert noisy.number("largest_difference", "repeats").estimate == 2
    assert noisy.number("mean_difference", "repeats").estimate == 1
    assert noisy.number("share_changed", "repeats").estimate == 0.5
    assert "units of the answer" in noisy.number("share_changed", "repeats").note
    still = Told(design, tmp_path / "still", generate=alternating(3))
    assert still.number("largest_difference", "repeats").estimate == 0


# --- Whether the item mattered ----------------------------------------------------------------------------------------

FORTY = criteria_of("emonet-face")
ZERO_SHOT = generative_preset("emonet-face")
NAMED = tuple(ZERO_SHOT.rule.example)


def drawn(colour):
    """Return an image of one colour."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(file, "PNG")
    return file.getvalue()


def faces(n):
    return [Item(f"i{k}", picture=drawn((40 * k, 90, 200 - 20 * k))) for k in range(n)]


def pairs(shift):
    """Return the ratings of 25 criteria, other ones for another number."""
    return json.dumps({name: 1 + (place * (1 + shift) + shift) % 7 for place, name in enumerate(NAMED)})


def benchmark(folder, ratings, *, n_items=2, **more):
    """Ask the benchmark's zero-shot request of a system that says what a function makes of the picture."""
    design = study(ZERO_SHOT, items=faces(n_items), criteria=FORTY, scale={"": scale_of("emonet-face")}, **more)
    said = {item.image: ratings(k) for k, item in enumerate(design.items)}
    return Told(
        design, folder, example=NAMED, generate=lambda prompt, _: reply(said.get(prompt.picture.data, ratings(5)))
    )


def test_two_different_images_with_the_same_25_pairs_raise_the_alarm(tmp_path):
    """X4: two images are enough; that both replies are accepted says nothing."""
    blind = benchmark(tmp_path / "blind", lambda _: pairs(0))
    assert len({item.image for item in blind.elicited.design.items}) == 2
    assert {one["accepted"] for one in blind.replies} == {True}
    assert blind.gates["constant-answers"].verdict == "fail"
    assert blind.gates["duplicated-answers"].verdict == "fail"
    seeing = benchmark(tmp_path / "seeing", pairs)
    assert seeing.gates["duplicated-answers"].verdict != "fail"
    assert seeing.gates["constant-answers"].verdict != "fail"


def test_an_image_that_never_arrived_is_shown_by_a_blank_one(tmp_path):
    """X4, T45: the same reply to every picture and to an even grey one; its twin looks at the picture."""
    blind = benchmark(tmp_path / "blind", lambda _: pairs(0), n_items=4, controls=("blank",))
    assert blind.gates["input-sensitivity"].verdict == "fail"
    assert "100 % of the items have the answers of the blank control" in blind.gates["input-sensitivity"].statement
    seeing = benchmark(tmp_path / "seeing", pairs, n_items=4, controls=("blank",))
    assert seeing.gates["input-sensitivity"].verdict == "pass"


@pytest.mark.parametrize("n_others", [0, 1])
def test_a_system_that_names_the_examples_criteria_on_every_item_echoes_it(tmp_path, n_others):
    """X4: the 25 criteria of the prompt's example, or 24 of them and another one, whatever their ratings."""
    others = [name for name in FORTY if name not in NAMED]

    def named(k):
        kept = list(json.loads(pairs(k)).items())[n_others:]
        return json.dumps(dict(kept) | dict.fromkeys(others[k : k + n_others], 3))

    told = benchmark(tmp_path, named, n_items=6)
    assert told.findings["criteria-asked"].verdict == "fail"
    assert told.gates["example-echo"].verdict == "fail"


def chooses_by(bias):
    """Return the reading of a system whose first option weighs so many times the others."""

    def of(prompt, labels):
        first = prompt.question.split("\n")[1].removeprefix("- ")
        weight = [bias if name == first else 1 for name in labels.names]
        return reading(*(0.9 * one / sum(weight) for one in weight), top=" joy")

    return of


@pytest.mark.parametrize(("bias", "shift"), [(8, 0.7), (1, 0.0)])
def test_options_in_another_order_are_rows_of_their_own_and_a_shift_is_seen(tmp_path, bias, shift):
    """X7: of a system that takes what stands first every rotation tells something else; of its twin none does."""
    items = [Item(f"i{k}", f"text {k}") for k in range(6)]
    told = Told(study(Choice(OPTIONS, [WHICH], rotations=3), items=items, criteria=()), tmp_path, read=chooses_by(bias))
    joy = {row["phrasing"]: float(row["answer"]) for row in told.answers if row["criterion"] == "joy"}
    assert list(joy) == ["which", "which (rotated by 1)", "which (rotated by 2)"]
    assert max(joy.values()) - min(joy.values()) == pytest.approx(shift, abs=1e-9)
    assert len(set(told.column("protocol"))) == 3
    truth = {"item": [item.name for item in items], "label": ["joy"] * 4 + ["fear", "awe"]}
    found = forced_choice(read_answers(told.table), pd.DataFrame(truth), replicates=100)
    accuracy = [row.estimate for row in found.rows if row.statistic == "accuracy"]
    assert accuracy == pytest.approx([4 / 6, 1 / 6, 1 / 6] if bias > 1 else [1 / 3] * 3)


# --- What is stored, and what it cost ---------------------------------------------------------------------------------


def colliding():
    """Return two images of one length, one beginning and one CRC-32 that are not the same."""
    return tuple(drawn((9, 9, 9)) + bytes.fromhex(tail) for tail in ("fae6a0972d", "d605cc4f1f"))


def test_pictures_that_a_short_hash_takes_for_one_are_two(tmp_path):
    """T61, T71: same text, same length, same CRC-32; the same bytes under another name are the same request."""
    one, other = colliding()
    assert len(one) == len(other)
    assert binascii.crc32(one) == binascii.crc32(other)
    items = [Item(name, "the same", data) for name, data in (("a", one), ("b", other), ("c", one))]
    told = Told(study(items=items, criteria=["joy"]), tmp_path)
    a, b, c = told.answers
    assert a["key"] != b["key"]
    assert a["prompt"] != b["prompt"]
    assert a["answer"] != b["answer"]
    assert (a["key"], a["answer"]) == (c["key"], c["answer"])
    assert len(told.engines["S"].read_prompts) == 2


def test_a_file_with_another_picture_under_the_old_name_is_asked_anew(tmp_path):
    """T61, T70: what is stored is found by the picture's bytes, not by its path or its item's name."""
    file = tmp_path / "face.png"
    one, other = colliding()
    design = study(items=[Item("a", picture=file)], criteria=["joy"])
    n_asked = []
    for data in (one, one, other, one):
        file.write_bytes(data)
        _, engines = ask(design, tmp_path / "store")
        n_asked.append(engines["S"].n_asked)
    assert n_asked == [1, 0, 1, 0]


def priced(tmp_path, name, **tokens):
    system = System("S", "fake", "m", price=Price(input=10, cached=1, per=1))
    told = reading(0.5, 0.2, **{"n_prompt": 10, "n_cached": 0, **tokens})
    return Told(study(n_items=2, systems=[system]), tmp_path / name, read=lambda *_: told)


def test_cached_tokens_that_are_not_told_are_not_called_none_and_not_paid_less(tmp_path):
    """T63: told, told as 0, and not told: only the first is cheaper, and only the last has no number."""
    some, none, untold = (priced(tmp_path, str(n), n_cached=n) for n in (6, 0, None))
    assert [one.number("cost").estimate for one in (some, none, untold)] == [4 * 46, 4 * 100, 4 * 100]
    assert some.number("cached_tokens").estimate == 24
    assert none.number("cached_tokens").estimate == 0
    assert ("elicitation", "cached_tokens") not in untold.numbers
    assert set(untold.column("n_cached")) == {""}


def test_what_tokens_cost_that_nobody_counted_is_not_zero(tmp_path):
    """T63: an unknown number of tokens costs an unknown amount."""
    told = priced(tmp_path, "uncounted", n_prompt=None, n_cached=None)
    assert ("elicitation", "cost") not in told.numbers or told.number("cost").undefined


@over_http
def test_what_an_engine_can_do_is_told_as_found_and_not_as_known_by_name(tmp_path):
    """T68, T69: one model name at two servers, of which one shows no log-probabilities: two cards, two verdicts."""
    found = {}
    for name in ("yes", "refused"):
        with serving(Pretender(logprobs=name)) as server:
            design = study(n_items=1, systems=[System("S", "openai", model="m", url=server.url, tries=1)])
            elicited = elicit(design, tmp_path / name)
        found[name] = cards(elicited)["systems"][0]
    assert [found[name]["abilities"]["distribution"] for name in found] == ["top_k", "none"]
    assert found["yes"]["requests"] == {"total": 2, "answered": 2}
    assert found["refused"]["requests"] == {"total": 2, "answered": 0}
    assert "not supported by this model" in found["refused"]["stopped"]


def test_a_card_says_when_the_engine_was_tested(tmp_path):
    """T68: abilities come and go; those found at an earlier start are told with their own date."""
    elicited, _ = ask(study(), tmp_path)
    card = json.dumps(cards(elicited)["systems"][0])
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d", card)


# --- The list ---------------------------------------------------------------------------------------------------------

DOCUMENT = (TESTS.parent / "docs" / "faults.md").read_text(encoding="utf-8")
FAULTS = [f"T{n:02}" for n in range(1, 77)] + [f"X{n}" for n in range(1, 11)]


def listed():
    """Return the lines of the table in docs/faults.md as lists of cells."""
    lines = [line.strip("|").split("|") for line in DOCUMENT.split("\n") if re.match(r"\| [TX]\d+ \|", line)]
    return [[cell.strip() for cell in cells] for cells in lines]


def docstrings():
    """Return the docstring of every test by the file's place among the tests and the test's name."""
    found = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                name = f"{path.relative_to(TESTS).with_suffix('').as_posix()}::{node.name}"
                found[name] = ast.get_docstring(node) or ""
    return found


def test_every_fault_is_listed_once_in_order_with_what_is_done_about_it():
    assert [(fault, bool(elsewhere and here)) for fault, elsewhere, here, _ in listed()] == [
        (one, True) for one in FAULTS
    ]


def test_every_test_that_the_list_names_is_there_and_names_its_fault():
    there = docstrings()
    for fault, *_, last in listed():
        named = re.findall(r"`([^`]+)`", last)
        assert named, fault
        for name in named:
            assert name in there, f"{fault}: there is no {name}"
            assert re.search(rf"\b{fault}\b", there[name]), f"{fault}: {name} does not name it"
    assert set(re.findall(r"`([\w/]+::\w+)`", DOCUMENT)) <= set(there)


def expects_a_failure(test):
    """Whether a test, or one of its cases, is expected to fail."""
    marks = getattr(test, "pytestmark", [])
    cases = [case for mark in marks if mark.name == "parametrize" for case in mark.args[1]]
    marks = marks + [mark for case in cases for mark in getattr(case, "marks", ())]
    return any(mark.name == "xfail" for mark in marks)


def test_what_is_open_is_what_is_expected_to_fail():
    """A mended fault leaves the list together with its mark."""
    open_ones = set(re.findall(r"`eliciting/test_faults::(\w+)`", DOCUMENT.split("## Open")[-1]))
    marked = {name for name, test in globals().items() if name.startswith("test_") and expects_a_failure(test)}
    assert open_ones == marked
