import re

import pytest
from rich.cells import cell_len

from measurand.reporting import render_markdown, render_summary
from measurand.reporting.summary import _cut
from measurand.result import Finding, Result, Row


def markdown(result, **changes):
    return render_markdown(result, **({"title": "Audit", "reproduce": {"seed": "0"}} | changes))


def cells(line):
    return len(re.findall(r"(?<!\\)\|", line))


@pytest.mark.parametrize("name", ["complete", "incomplete", "two_criteria", "hostile", "forty"])
def test_markdown_tables_hold_together(name, request):
    text = markdown(request.getfixturevalue(name))
    assert text == markdown(request.getfixturevalue(name))
    width = 0
    for line in text.splitlines():
        if line.startswith("|"):
            width = width or cells(line)
            assert cells(line) == width
        else:
            width = 0
    assert "<" not in text


def test_markdown_says_every_finding(complete):
    text = markdown(complete).replace("\\", "")
    for finding in complete.findings:
        assert finding.statement.replace("<", "&lt;") in text
        assert f"({finding.id})" in text


def test_markdown_escapes_names(hostile):
    text = markdown(hostile, title="a`b", reproduce={"command": "echo `date` | tee"})
    assert text.startswith("# a\\`b\n")
    assert "``echo `date` | tee``" in text
    assert "two lines and \\| \\`pipe\\`" in text
    assert "\\$x^2\\$" in text


@pytest.mark.parametrize("name", ["complete", "incomplete", "two_criteria", "hostile", "forty"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_summary_fits_one_screen(name, width, request):
    text = render_summary(request.getfixturevalue(name), width=width, color=False)
    assert "\x1b" not in text
    lines = text.splitlines()
    assert len(lines) <= (48 if width < 80 else 45)
    # Emoji have more characters than columns, wide letters more columns than characters.
    assert max(min(len(line), cell_len(line)) for line in lines) <= width


def test_summary_says_every_answer_with_mark_and_word(complete):
    text = render_summary(complete, width=100, color=False)
    assert "12 items × 4 systems × 3 raters" in text
    for finding in complete.findings:
        if finding.verdict != "not_applicable":
            assert finding.statement[:30] in text
    assert re.search(r"^✓ pass ", text, re.MULTILINE)
    assert re.search(r"^– n/a ", text, re.MULTILINE)


def test_summary_of_many_criteria_is_a_table_with_counts(forty):
    text = render_summary(forty, width=80, color=False)
    assert "and 25 more criteria" in text
    assert re.search(r"^a +systems-differ +. 40 \w+$", text, re.MULTILINE)


def a_finding(number, verdict, *, sentences=3):
    statement = "The number comes first: 0.123. " + " ".join(
        f"Sentence {n} of finding {number} says at some length how it was reckoned and what it rests on."
        for n in range(sentences)
    )
    return Finding(f"finding-{number}", "?", verdict, statement, f"Do this about {number}. Then do all of that.")


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("n_of_each", [1, 3, 5])
def test_what_fails_has_its_remedy_below_it_and_no_first_sentence_is_cut_while_there_is_room(width, n_of_each):
    verdicts = [verdict for verdict in ("fail", "warn", "pass") for _ in range(n_of_each)]
    found = [a_finding(number, verdict) for number, verdict in enumerate(verdicts)]
    rows = [Row("design", {}, "n_items", 3.0)]
    lines = render_summary(Result(rows, {"design": {}}, found), width=width, color=False).splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    for one in found:
        remedy = f"→ {one.remedy.split('.')[0]}."
        assert (remedy in text) == (one.verdict == "fail")
        assert f"{one.id}: The number comes first: 0.123." in text or one.verdict == "pass"
    if n_of_each == 1:
        assert "…" not in text


def test_a_cut_text_ends_where_a_sentence_does_if_that_fills_the_line():
    text = "A first sentence of some length. And a second one that has no room on this line."
    assert _cut(text, 50, 1) == ["A first sentence of some length. …"]
    assert _cut("Yes. " + text[:-1] + " at all, whatever is done.", 60, 1) == [
        "Yes. A first sentence of some length. …",
    ]
    assert _cut("Yes. There is no end to this sentence before the line ends, or is there?", 50, 1) == [
        "Yes. There is no end to this sentence before the …"
    ]


def test_remedies_of_several_criteria_stand_once_below_the_matrix():
    found = [
        Finding("agreement", "?", "fail", f"Alpha = 0.{n}.", "Train the raters.", criterion=name)
        for n, name in enumerate(("a", "b"))
    ]
    rows = [Row("design", {"criterion": name}, "n_items", 3.0) for name in ("a", "b")]
    lines = render_summary(Result(rows, {"design": {}}, found), width=80, color=False).splitlines()
    assert lines[-1] == "→ agreement, 2 criteria: Train the raters."


def test_colour_changes_nothing_but_colour(complete, forty):
    for result in (complete, forty):
        coloured = render_summary(result, width=80, color=True)
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render_summary(result, width=80, color=False)


def test_a_cut_text_does_not_end_in_its_claim():
    said = "exceeds-people: 1 of 2 for these raters and for others of their kind, none for the mean of the others."
    assert _cut(said, 80, 1) == ["exceeds-people: 1 of 2 for these raters and for others of their kind …"]
    # A parenthesis that would stay open is left out, and a name alone says nothing.
    said = "panel-size: Only by a t test (2 degrees of freedom, that is, few), which leans on normality."
    assert _cut(said, 60, 1) == ["panel-size: Only by a t test …"]
    assert _cut("Yes: without a clause that has room on the line, nothing else helps.", 30, 1) == [
        "Yes: without a clause that …"
    ]


def test_findings_have_one_name_wherever_they_are_read(complete):
    text = render_summary(complete, width=100, color=False)
    page = render_markdown(complete, title="A panel", reproduce={})
    for one in complete.findings:
        assert one.id in text
        assert one.id in page
    told = {name for one in complete.findings for name in re.findall(r"see ([a-z]+-[a-z]+)", one.remedy)}
    assert told <= {one.id for one in complete.findings}
