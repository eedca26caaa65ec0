import re

import pytest
from rich.cells import cell_len

from measurand.reporting import render_markdown, render_summary


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
    assert len(lines) <= (48 if width < 80 else 42)
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
    assert re.search(r"^a +systems differ +. 40 \w+$", text, re.MULTILINE)


def test_colour_changes_nothing_but_colour(complete, forty):
    for result in (complete, forty):
        coloured = render_summary(result, width=80, color=True)
        assert "\x1b[" in coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render_summary(result, width=80, color=False)
