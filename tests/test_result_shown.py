"""What notebooks and terminals show of a result: the order, everybody's text, the bounds."""

import math
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from html_page import Page
from measurand.result import VERDICTS, Finding, Result, Row
from measurand.result.notebook import MOST_BYTES
from measurand.result.shown import first_rows

HOSTILE = '<script>alert("x")</script>&'


def row(estimate=1.0, rater="R1", **fields):
    return Row("raters", {"criterion": "", "rater": rater}, "mean", estimate, **fields)


def one_of_each(criterion=""):
    return [
        Finding(f"is-{verdict}", f"Is it {verdict}?", verdict, f"It is {verdict}.", "Mend it.", criterion)
        for verdict in reversed(VERDICTS)
    ]


def in_order(text, *parts):
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_findings_stand_worst_first_with_question_statement_and_remedy():
    page = Page(Result([row()], {}, one_of_each())._repr_html_())
    assert page.faults == []
    assert in_order(page.text, *(f"Is it {verdict}?" for verdict in VERDICTS))
    assert "Is it fail? It is fail. → Mend it." in page.text
    assert "✗ 1 fail ! 1 warn ? 1 undetermined ✓ 1 pass – 1 n/a" in page.text


def test_what_passes_is_one_line_that_unfolds():
    found = [Finding(f"q{n}", f"Question {n}?", "pass", f"Statement {n}.") for n in range(5)]
    page = Result([], {}, found)._repr_html_()
    ((summary, rest),) = re.findall(r"<summary>(.*?)</summary>(.*)", page)
    assert "q0, q1, q2, q3, q4" in summary
    assert "Statement" not in summary
    assert "<strong>Question 4?</strong> Statement 4." in rest


def test_a_question_of_several_criteria_stands_once_with_all_their_answers():
    found = [Finding("alpha", "Do they agree?", "fail", f"Alpha = 0.0{n}.", criterion=f"c{n}") for n in range(7)]
    page = Page(Result([], {}, found)._repr_html_())
    assert page.text.count("Do they agree?") == 1
    assert "(c0, c1, c2, c3 and 3 more) c0: Alpha = 0.00. 6 more c1: Alpha = 0.01." in page.text
    said = str(Result([], {}, found))
    assert "alpha (c0, c1, c2, c3 and 3 more): of c0: Alpha = 0.00." in said
    assert said.count("Alpha") == 1


def test_the_heading_says_what_it_is_and_of_what_size():
    size = [Row("design", {}, name, n) for name, n in (("n_items", 290), ("n_systems", 8), ("n_ratings", 6960))]
    assert str(Result(size)).startswith("Design: 8 systems, 290 items, 6,960 ratings\n")
    assert str(Result([*size, row()])).startswith("Audit of ratings: 8 systems,")
    assert str(Result([row(), Row("ranks", {}, "rank", 1.0)])).startswith("2 analyses\n")
    assert str(Result([Row("plan", {}, "g", 0.5, n_items=30)], {}, one_of_each())).startswith(
        "Plan of a panel: 30 items"
    )
    assert str(Result([])) == "An empty result"
    assert "An empty result" in Result([])._repr_html_()


def test_html_escapes_everybodys_text():
    made = [Row("raters", {"rater": HOSTILE}, HOSTILE, math.nan, undefined=HOSTILE), row(note=HOSTILE, method=HOSTILE)]
    found = [Finding(HOSTILE, HOSTILE, verdict, HOSTILE, HOSTILE, HOSTILE) for verdict in VERDICTS]
    page = Result(made, {}, found)._repr_html_()
    assert "<script" not in page
    assert Page(page).faults == []


def test_no_formula_is_made_of_a_name_and_no_style_reaches_the_rest_of_the_page():
    page = Page(Result([row(rater="$x^2$")], {}, one_of_each())._repr_html_())
    assert {"tex2jax_ignore", "mathjax_ignore"} <= set(page.all("class")[0].split())
    assert not {tag for tag, _ in page.elements} & {"style", "script", "link"}


def test_nothing_is_said_by_style_alone():
    plain = re.sub(r' style="[^"]*"', "", Result([row(low=0.5, high=1.5)], {}, one_of_each())._repr_html_())
    for verdict, mark in zip(VERDICTS, "✗!?✓–", strict=True):
        word = {"not_applicable": "n/a"}.get(verdict, verdict)
        assert f"{mark} {word}" in plain
    assert "<th" in plain


def test_a_table_has_head_cells_and_says_how_much_is_left_out():
    page = Result([row(rater=f"R{n}") for n in range(60)])._repr_html_()
    assert page.count("<tr>") == 31
    assert "Raters: 60 numbers, the first 30 here" in page
    assert re.search(r'<th scope="col" style="[^"]*">rater</th>', page)
    assert "<details" in page
    assert " open>" in page


def test_numbers_stand_to_the_right_and_have_the_digits_of_their_intervals():
    page = Result([row(0.123456, low=0.1, high=0.3), row(2.0, rater="R2")])._repr_html_()
    assert re.search(r'<td style="text-align:right[^"]*">0.12</td>', page)
    assert "[0.10,&nbsp;0.30]" in page
    assert re.search(r'<td style="text-align:left[^"]*">R2</td>', page)


def test_why_a_number_is_missing_stands_below_the_table_once():
    made = [row(math.nan, rater=f"R{n}", undefined="one rating") for n in range(3)]
    made.append(row(1.0, rater="R3", note="of few"))
    shown = first_rows("raters", made, 9)
    assert list(shown.notes) == ["no number: one rating", "of few"]
    assert [cells[-1] for cells in shown.rows] == ["1", "1", "1", "2"]
    assert [cells[2] for cells in shown.rows] == ["–", "–", "–", "1"]
    page = Page(Result(made)._repr_html_())
    assert page.text.count("one rating") == 1
    assert "1: no number: one rating 2: of few" in page.text


def test_what_all_rows_share_stands_once():
    made = [
        Row("ranks", {"criterion": "tone", "system": f"S{n}", "unit": "item"}, "rank", 1.0, 1.0, 2.0, 0.9, "bootstrap")
        for n in range(3)
    ]
    shown = first_rows("ranks", made, 2)
    assert shown.same == "criterion tone, unit item, 90 % intervals (bootstrap)"
    assert list(shown.columns) == ["system", "statistic", "estimate", "interval"]
    assert shown.n == 3


def test_text_shows_findings_in_sentences_or_the_first_rows():
    said = str(Result([row()], {}, one_of_each("fluency")))
    lines = said.splitlines()
    assert lines[1] == "✗ 1 fail, ! 1 warn, ? 1 undetermined, ✓ 1 pass, – 1 n/a"
    assert lines[3] == "✗ fail         is-fail (fluency): It is fail."
    assert lines[4] == "               → Mend it."
    assert in_order(said, "is-fail", "is-warn", "is-undetermined", "is-pass", "is-not_applicable", "1 number: raters 1")
    assert "It is pass." not in said
    alone = str(Result([row(low=0.5, high=1.5), row(rater="R2")]))
    assert "R1     mean            1.0  [0.5, 1.5]" in alone
    assert "5 more" in str(Result([row(rater=f"R{n}") for n in range(25)]))


def test_a_percentage_and_a_hyphened_name_stay_on_one_line(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    found = [Finding("a-name", "?", "fail", " ".join(["of 95 % and-so-on"] * 30))]
    said = str(Result([], {}, found))
    assert max(map(len, said.splitlines())) <= 60
    assert not re.search(r"\d\n|^ *%|-\n", said, flags=re.M)
    assert "\u00a0" not in said


def test_control_characters_and_turned_text_reach_no_terminal():
    bad = "a\x1b[31m\u202eb\nc"
    said = str(Result([row(rater=bad, note=bad), row(rater="R2")])) + str(
        Result([], {}, [Finding(bad, bad, "fail", bad, bad, bad)])
    )
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "c" in said


def test_the_data_frame_to_begin_with_is_a_useful_one_and_not_the_longest():
    blocks = [Row("leave_one_block_out", {"left_out": f"block {n}"}, "rank", 1.0) for n in range(9)]
    keys = {"system_a": "S1", "system_b": "S2", "unit": "item"}
    assert 'result.to_frame("pairs")' in str(Result([*blocks, Row("pairs", keys, "difference", 1.0)]))
    two = [row(), *(Row("ranks", {"system": f"S{n}"}, "rank", 1.0) for n in range(3))]
    assert 'result.to_frame("ranks")' in str(Result(two))


def test_what_to_call_next_fits_what_is_there():
    two = [Row("components", {"criterion": name, "component": "item"}, "variance", 1.0) for name in ("tone", "it's")]
    assert "measurand.plot(result, criterion='tone')" in str(Result(two))
    assert "measurand.audit(ratings)" in str(Result(two))
    assert "measurand.plot" not in str(Result([Row("design", {}, "n_items", 3)]))
    assert "measurand.audit" not in str(Result(two, {}, one_of_each()))
    assert 'measurand.report(result, out="report.html")' in Page(Result(two, {}, one_of_each())._repr_html_()).text


names = st.text(st.characters(codec="utf-8"), max_size=400)


@settings(max_examples=20)
@given(names, names.filter(bool))
def test_a_large_result_stays_small_whatever_its_names(name, word):
    made = [
        Row(analysis, {}, f"{word}{n}", math.nan, undefined=f"{word} {n}", note=name)
        for analysis in ("agreement", "components", "copies", "ranks", "pairs", "scores", "spread", "gates", "cost")
        for n in range(12)
    ]
    found = [
        Finding(f"{word}{n}", name, VERDICTS[n % 5], f"{word} " * 9, name * 3, criterion=f"{name}{n}")
        for n in range(90)
    ]
    result = Result(made, {}, found)
    page = result._repr_html_()
    assert len(page.encode()) <= MOST_BYTES
    assert Page(page).faults == []
    # Ninety findings and nine analyses; names in which a line can't be broken fill lines of their own.
    assert len(str(result).splitlines()) < 700


@pytest.mark.parametrize("n", [1, 40])
def test_many_criteria_make_no_longer_text(n):
    found = [one for k in range(n) for one in one_of_each(f"criterion {k}")]
    assert len(str(Result([row()], {}, found)).splitlines()) < 25
