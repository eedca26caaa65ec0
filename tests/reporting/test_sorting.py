"""Tables that sort: with a script, by what they show; without it they are what they were."""

import base64
import hashlib
import re
from importlib import resources

import pytest

from html_page import Page
from measurand.reporting.blocks import Cell, Column, Document, Section, Table, name_cell
from measurand.reporting.page import html_of
from measurand.result import show_number
from measurand.result.digits import show_p
from reporting.browser import Seen, look, needs_chromium

NOTES = ["A note that stays below."]


def page(table):
    return html_of(Document("Sorted", "A design.", [], [], [Section("one", "One", [table])]))


def column(cells, *, is_number=True):
    """A table with the cells in its second column."""
    rows = [[name_cell(f"S{n}"), cell] for n, cell in enumerate(cells, start=1)]
    return Table("Sorted", [Column("System"), Column("Of", is_number=is_number)], rows, NOTES)


CLICKS = """
const body = () => [...doc.querySelector("tbody").rows].map(r => r.cells[0].textContent.slice(1)).join(" ");
const head = doc.querySelectorAll("thead th")[AT], button = head.querySelector("button");
if (!button) return null;
const said = [];
for (let n = 0; n < 3; n++) { button.click(); said.push([body(), head.getAttribute("aria-sort")]); }
return said;
"""
NUMBERS = [0.5, -12.25, 1234.5678e3, 3e-05, -4e-06, float("inf"), float("nan"), 0.0]
CASES = {
    "numbers": (column([Cell(show_number(value)) for value in NUMBERS]), "2 5 8 4 1 3 6 7", "6 3 1 4 8 5 2 7"),
    "intervals": (column([Cell("[1,234, 2]"), Cell("[−0.5, 9]"), Cell("[0.25, 1]")]), "2 3 1", "1 3 2"),
    "estimates": (
        column([Cell("0.3", "[9, 9]"), Cell("+0.2", "[1, 1]"), Cell("45 %"), Cell("–")]),
        "2 1 3 4",
        "3 1 2 4",
    ),
    "p": (column([Cell(show_p(p)) for p in (0.2, 1e-9, 0.0001, None, 1.0)]), "2 3 1 5 4", "5 1 3 2 4"),
    "counts": (column([Cell("no number"), Cell("14"), Cell("9 of 20")]), "3 2 1", "1 2 3"),
    "ties": (column([Cell("1"), Cell("2"), Cell("1"), Cell("2")]), "1 3 2 4", "2 4 1 3"),
    "words": (column([Cell("S10"), Cell("s9"), Cell(""), Cell("S2")], is_number=False), "4 2 1 3", "1 2 4 3"),
    "verdicts": (
        column([Cell(f"{mark} {word}") for mark, word in (("✓", "pass"), ("✗", "fail"), ("–", "n/a"), ("!", "warn"))]),
        "2 4 1 3",
        "3 1 4 2",
    ),
    "words among numbers": (column([Cell("refused"), Cell("3"), Cell("–"), Cell("1")]), "4 2 1 3", "2 4 1 3"),
}


@needs_chromium
def test_heads_sort_by_what_cells_show_and_put_back(tmp_path):
    told, console = look([Seen(page(case[0])) for case in CASES.values()], CLICKS.replace("AT", "1"), tmp_path)
    assert console == []
    for (table, up, down), said in zip(CASES.values(), told, strict=True):
        as_made = " ".join(str(n + 1) for n in range(len(table.rows)))
        assert said == [[up, "ascending"], [down, "descending"], [as_made, None]]


@needs_chromium
def test_without_scripts_the_page_is_the_same_and_has_no_buttons(tmp_path):
    text = page(CASES["numbers"][0])
    script = """
const told = {buttons: doc.querySelectorAll("button").length,
  notes: doc.querySelector(".note:not(.printed)").textContent,
  heads: [...doc.querySelectorAll("thead th")].map(c => [c.textContent, c.scope])};
doc.querySelectorAll("thead button").forEach(b => b.click());
told.after = doc.querySelector(".note:not(.printed)").textContent;
told.focus = [...doc.querySelectorAll("thead button")].map(b => b.tabIndex + b.type);
return told;
"""
    [off, on], console = look([Seen(text, scripts=False), Seen(text)], script, tmp_path)
    assert off["buttons"] == 0
    assert on["focus"] == ["0button", "0button"]
    assert off["notes"] == on["notes"] == on["after"] == NOTES[0]
    assert off["heads"] == on["heads"] == [["System", "col"], ["Of", "col"]]
    assert all("sandboxed" in line or "script" in line for line in console)


@needs_chromium
def test_one_column_at_a_time_is_sorted_and_a_nameless_one_is_not(tmp_path):
    rows = [[Cell(f"S{n}"), Cell(f"{-n}"), Cell("this panel")] for n in range(1, 4)]
    table = Table("Three", [Column("System"), Column("Of", is_number=True), Column("")], rows)
    script = """
const heads = [...doc.querySelector("thead tr").cells];
heads[0].querySelector("button").click();
heads[1].querySelector("button").click();
return heads.map(h => [h.tagName, h.getAttribute("aria-sort"), h.querySelectorAll("button").length]);
"""
    [told], _ = look([Seen(page(table))], script, tmp_path)
    assert told == [["TH", None, 1], ["TH", "ascending", 1], ["TD", None, 0]]


@pytest.mark.parametrize(("n_rows", "sorts"), [(2, False), (3, True)])
def test_a_table_of_two_rows_has_nothing_to_sort(n_rows, sorts):
    text = page(column([Cell("1")] * n_rows))
    assert any("data-sort" in attrs for _, attrs in Page(text).elements) is sorts


def test_the_policy_lets_one_script_run_by_its_hash():
    text = page(column([Cell("1")]))
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert script == resources.files("measurand.reporting").joinpath("report.js").read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")
    # It can neither fetch nor write markup.
    assert not re.search(
        r"fetch|XMLHttp|innerHTML|outerHTML|insertAdjacent|document\.write|eval|import|https?:", script
    )
