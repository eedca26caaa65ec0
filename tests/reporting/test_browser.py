"""The page in a real browser: with scripts and without, on a phone, on a desk, on paper, in both colour schemes."""

import shutil
import subprocess

import pytest

from measurand.reporting import render_html, report
from measurand.reporting.blocks import Cell, Column, Document, Fold, Section, Table, Terms, Text
from measurand.reporting.page import html_of
from reporting.browser import CHROMIUM, DESKTOP, PHONE, SHEET, Seen, browse, look, needs_chromium

__all__ = ["CHROMIUM", "browse"]

pytestmark = needs_chromium

MEASURE = """
doc.querySelectorAll("details").forEach(d => d.open = true);
const root = doc.documentElement, style = win.getComputedStyle(doc.body);
return {over: root.scrollWidth - root.clientWidth, scripts: doc.scripts.length, images: doc.images.length,
  headings: doc.querySelectorAll("h1").length, title: doc.title, ground: style.backgroundColor,
  ran: doc.querySelectorAll("thead button").length > 0};
"""


@pytest.mark.parametrize("name", ["hostile", "forty"])
def test_page_in_a_browser(name, request, tmp_path):
    title = "<script>alert(3)</script>"
    text = report(request.getfixturevalue(name), title=title, reproduce={"seed": "0"})
    pages = [Seen(text, width, scripts) for width in (PHONE, DESKTOP) for scripts in (False, True)]
    told, console = look(pages, MEASURE, tmp_path)
    assert [one for one in console if "scripting is disabled" not in one and "sandboxed" not in one] == []
    assert [one["ran"] for one in told] == [False, True, False, True]
    for one in told:
        assert one["over"] <= 0
        assert (one["scripts"], one["headings"], one["images"], one["title"]) == (1, 1, 0, title)


def test_both_colour_schemes_and_paper_which_is_white(hostile, tmp_path):
    text = render_html(hostile, title="Schemes", reproduce={})
    grounds = []
    for dark in (False, True):
        told, _ = look([Seen(text), Seen(text, SHEET, printed=True)], MEASURE, tmp_path, dark=dark)
        grounds.append([one["ground"] for one in told])
    assert grounds == [["rgb(255, 255, 255)", "rgb(255, 255, 255)"], ["rgb(22, 24, 29)", "rgb(255, 255, 255)"]]


def wide_page(n_columns, *, rows=4):
    columns = [Column("System"), *(Column(f"Column number {n}", is_number=True) for n in range(1, n_columns))]
    cells = [
        [Cell(f"vendor/model-{row}"), *[Cell("−0.123", "[−0.234, 0.345]")] * (n_columns - 1)] for row in range(rows)
    ]
    table = Table("A wide table", columns, cells)
    blocks = [
        Text("Before."),
        table,
        Fold("Closed", [table], id="closed"),
        Fold("Open", [table], is_open=True),
        Fold("Words", [Terms([("item", "what is shown")])]),
    ]
    return html_of(Document("Wide", "A design.", [], [], [Section("wide", "Wide", blocks)]))


def test_nothing_is_wider_than_the_sheet(hostile, forty, tmp_path):
    texts = [render_html(one, title="Print", reproduce={}) for one in (hostile, forty)]
    script = """
doc.querySelectorAll("details").forEach(d => d.open = true);
const edge = doc.querySelector(".page").getBoundingClientRect().right;
const parts = [...doc.querySelectorAll("table, svg.plot, .card")];
return parts.filter(p => p.getBoundingClientRect().right > edge + 1).map(p => p.textContent.slice(0, 60));
"""
    pages = [Seen(text, SHEET, printed=True) for text in [*texts, wide_page(10), wide_page(15)]]
    told, _ = look(pages, script, tmp_path)
    assert told == [[], [], [], []]


def test_paper_shows_what_the_screen_shows_and_says_what_is_folded(tmp_path):
    script = """
return [...doc.querySelectorAll("details")].map(d => [
  d.firstElementChild.textContent, win.getComputedStyle(d.firstElementChild, "::after").content,
  d.lastElementChild.checkVisibility({contentVisibilityAuto: true})]);
"""
    [told, screen], _ = look([Seen(wide_page(3), SHEET, printed=True), Seen(wide_page(3))], script, tmp_path)
    assert told == [
        ["Closed", '" (folded: 1 table of 4 rows)"', False],
        ["Open", "none", True],
        ["Words", "none", True],
    ]
    assert [one[1:] for one in screen] == [["none", False], ["none", True], ["none", False]]


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="no pdftotext to read the printed page with")
def test_the_printed_table_has_its_heads_on_every_sheet(tmp_path):
    page, printed = tmp_path / "page.html", tmp_path / "page.pdf"
    page.write_text(wide_page(8, rows=90), encoding="utf-8")
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--no-pdf-header-footer", f"--print-to-pdf={printed}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    done = subprocess.run(["pdftotext", "-layout", printed, "-"], capture_output=True, text=True, check=True)
    sheets = [sheet for sheet in done.stdout.split("\f") if "vendor/model-" in sheet]
    assert len(sheets) >= 4
    assert all("System" in sheet for sheet in sheets)


def test_a_link_opens_the_fold_that_it_leads_to(tmp_path):
    script = 'return [...doc.querySelectorAll("details")].map(d => d.open);'
    pages = [Seen(wide_page(3), fragment="#closed"), Seen(wide_page(3))]
    told, _ = look(pages, script, tmp_path)
    assert told == [[True, True, False], [False, True, False]]


def test_one_button_opens_and_closes_all_folds(tmp_path):
    script = """
const button = doc.querySelector("nav button"), said = [];
for (let n = 0; n < 3; n++) {
  said.push([button.textContent, [...doc.querySelectorAll("details.fold")].filter(d => d.open).length]);
  button.click();
}
return said;
"""
    [told], _ = look([Seen(wide_page(3))], script, tmp_path)
    assert told == [["Open all folds", 1], ["Close all folds", 3], ["Open all folds", 0]]
