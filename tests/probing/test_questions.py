"""A finding over several answers: the worst verdict or the shared one, what is told first, where it rests."""

import pytest

from measurand.probing.questions import MOST, SEVERITY, Answer, Question, Rows, by_system, sentence, why
from measurand.result import Result, Row

ASKED = Question("residue", "Do the outputs hold anything but emoji?", "a paper")


def row(statistic="macro_f1", estimate=0.5, **keys):
    undefined = "no items" if estimate != estimate else ""
    return Row("decodability", keys, statistic, estimate, undefined=undefined)


def answers(*verdicts):
    return [Answer(one, f"It is {one}.", f"Mend {one}.", [row(system=f"s{k}")]) for k, one in enumerate(verdicts)]


def test_rows_are_found_by_statistic_and_keys_and_a_key_that_is_not_there_is_blank():
    nan = float("nan")
    result = Result(
        [row(system="a", language="en"), row(system="b", estimate=nan), row("n_items", 4), Row("cost", {}, "x", 1)]
    )
    rows = Rows.of(result, "decodability")
    assert len(list(rows)) == 3
    assert [one.keys["system"] for one in rows.all("macro_f1")] == ["a", "b"]
    assert [one.keys["system"] for one in rows.all("macro_f1", {"language": ""})] == ["b"]
    assert [one.keys["system"] for one in rows.defined("macro_f1")] == ["a"]
    assert rows.first("macro_f1", {"system": "b"}).undefined == "no items"
    assert rows.first_defined("macro_f1", {"system": "b"}) is None
    assert rows.first("f1") is None
    assert why(rows.first_undefined("n_items", "macro_f1")) == "no items"
    assert why(rows.first_undefined("n_items")) == "the numbers that it needs are missing"
    assert rows.values("language") == ["en", ""]
    assert list(by_system(rows.all("macro_f1"))) == ["a", "b"]
    assert rows
    assert not Rows.of(result, "leakage")


def test_the_worst_answer_decides_and_is_told_first():
    found = ASKED.over(answers("pass", "warn", "fail", "warn"))
    assert found.verdict == "fail"
    assert found.statement == "It is fail. It is warn. It is warn. It is pass."
    assert found.remedy == "Mend fail."
    assert [one["system"] for one in found.rows] == ["s2", "s1", "s3", "s0"]
    assert (found.id, found.question, found.source) == ("residue", ASKED.text, "a paper")


def test_a_shared_verdict_is_the_one_that_all_have_and_else_a_warning():
    assert ASKED.over(answers("fail", "fail"), is_shared=True).verdict == "fail"
    mixed = ASKED.over(answers("pass", "fail"), is_shared=True, remedies={"warn": "Look."})
    assert (mixed.verdict, mixed.statement, mixed.remedy) == ("warn", "It is pass. It is fail.", "Look.")
    assert ASKED.over(answers("pass", "fail", "warn"), is_shared=True).statement.startswith("It is warn.")


def test_answers_are_told_by_what_they_are_about_unless_they_say_the_same():
    differing = [Answer("pass", "None.", about="bn"), Answer("pass", "Few.", about="en")]
    assert ASKED.over(differing).statement == "bn: None. en: Few."
    assert ASKED.over([Answer("pass", "None.", about=name) for name in ("bn", "en")]).statement == "None."
    assert ASKED.over([Answer("pass", "None.", about="bn")]).statement == "None."


def test_of_many_answers_the_first_are_told_and_referred_to_and_the_others_counted():
    many = [Answer("warn", f"{k}.", "Mend.", [row(system=f"s{k}")]) for k in range(MOST + 3)]
    found = ASKED.over(many, more="And {} more.")
    assert found.statement == "0. 1. 2. 3. And 3 more."
    assert len(found.rows) == MOST
    assert found.remedy == "Mend."


def test_a_row_is_referred_to_once_and_one_that_is_not_there_not_at_all():
    found = ASKED.answer("pass", "None.", where=[row(), None, row(), row(system="a")], criterion="aptness")
    assert len(found.rows) == 2
    assert found.criterion == "aptness"
    assert ASKED.undetermined(None, "Ask.").statement == "Not determined: the numbers that it needs are missing."


@pytest.mark.parametrize(("text", "told"), [("over all", "Over all"), ("", ""), ("ähnlich", "Ähnlich")])
def test_a_sentence_begins_with_a_capital(text, told):
    assert sentence(text) == told


def test_every_verdict_has_its_place():
    assert len(set(SEVERITY)) == len(SEVERITY) == 5


def test_what_answers_have_in_common_is_told_once():
    asked = Question("q", "Is it?")
    three = [
        Answer("warn", f"{one}.", about=name, common="All share.") for one, name in (("A", "x"), ("B", "y"), ("C", "z"))
    ]
    assert asked.over(three).statement == "All share. x: A. y: B. z: C."
    assert asked.over(three[:1]).statement == "All share. A."
    differs = [three[0], Answer("warn", "B.", about="y", common="Other.")]
    assert asked.over(differs).statement == "x: All share. A. y: Other. B."
    lacks = [three[0], Answer("not_applicable", "None.", about="y")]
    assert asked.over(lacks).statement == "All share. x: A. y: None."
