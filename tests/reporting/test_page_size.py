"""Pages of large scoring runs: at most a megabyte, the same every time, and where it would be more they say so."""

import re
from xml.etree import ElementTree as ET

import pytest

from enlarged_run import enlarged
from html_page import Page
from measurand.data import Scale, read_answers, read_ratings
from measurand.reporting import render_html
from measurand.reporting.blocks import Cell, Column, Fold, Section, Table, Text
from measurand.reporting.budget import fitted, size
from measurand.reporting.slim import path, slim, styled_once
from measurand.scoring.score import score
from measurand.simulate.benchmark import simulate_benchmark

MOST = 1_000_000
PLOT = re.compile(r'<svg [^<>]*class="plot".*?</svg>', re.DOTALL)


@pytest.fixture(scope="module")
def small():
    study = simulate_benchmark(
        seed=3,
        n_items=30,
        n_criteria=3,
        truth_items=0,
        validities=(0.95, 0.8, 0.4),
        readouts=("verification", "generative"),
        missing_answers=0.03,
    )
    ratings = read_ratings(study.ratings, scale=Scale(0, 7, step=1))
    return score(read_answers(study.answers), ratings, replicates=100, over=("item", "item+rater"))


def page(result):
    return render_html(result, title="Scores", reproduce={"seed": "0"})


def test_forty_criteria_and_twenty_systems_make_a_page_below_a_megabyte_the_same_twice(small):
    result = enlarged(small, 40, 20)
    text = page(result)
    assert 400_000 < len(text.encode()) <= MOST
    assert text == page(result)
    # All of it is there: of every protocol, criterion by criterion, and nothing is cut.
    for protocol in ("verification", "generative", "binarized"):
        assert f"Scores by criterion, {protocol} (19 to 20 of 20)" in text
    assert "all are in tables/" not in text


def test_larger_runs_summarise_and_point_to_the_tables(small):
    text = page(enlarged(small, 100, 20))
    assert 700_000 < len(text.encode()) <= MOST
    assert re.search(r"The first \d+ of 100 rows; all are in tables/scores\.csv\.", text)
    # What is not in the tables of the page is in the sentences: they are about every system.
    assert "of 20 systems" in Page(text).text


def chapters(n_tables, n_rows):
    rows = [[Cell(f"row {n}"), Cell("0.5", "[0.4, 0.6]")] for n in range(n_rows)]
    table = Table("A table", [Column("Name"), Column("Number", is_number=True)], rows)
    return [Section("contrasts", "Contrasts", [Fold("all", [table] * n_tables)])]


def test_what_fits_is_left_as_it_is():
    first, last = chapters(3, 40), [Section("words", "Words", [Text("word")])]
    assert fitted(first, last) == (first, last)


@pytest.mark.parametrize("n_tables", [20, 80])
def test_what_does_not_fit_has_tables_cut_alike_that_name_their_file(n_tables):
    first, _ = fitted(chapters(n_tables, 400), [], budget=200_000)
    tables = first[0].blocks[0].blocks
    assert size(first[0].blocks) <= 200_000
    assert len({len(table.rows) for table in tables}) == 1
    assert tables[0].notes == [f"The first {len(tables[0].rows)} of 400 rows; all are in tables/contrasts.csv."]
    # No more is cut than needed.
    assert size(first[0].blocks) > 150_000


def strokes(drawn):
    """Where a path goes, as places: an interpreter of its own."""
    places, at, start, letter = [], [0.0, 0.0], [0.0, 0.0], ""
    tokens = re.findall(r"[A-Za-z]|-?(?:\d+\.?\d*|\.\d+)", drawn)
    while tokens:
        if tokens[0].isalpha():
            letter = tokens.pop(0)
        if letter in "zZ":
            at = list(start)
            places.append(("z", *at))
            continue
        takes = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4}[letter.upper()]
        values = [float(tokens.pop(0)) for _ in range(takes)]
        if letter in "hH":
            values = [values[0] + (at[0] if letter == "h" else 0), at[1]]
        elif letter in "vV":
            values = [at[0], values[0] + (at[1] if letter == "v" else 0)]
        elif letter.islower():
            values = [value + at[n % 2] for n, value in enumerate(values)]
        at = values[-2:]
        name = "L" if letter.upper() in "HVL" else letter.upper()
        places.append((name, *values))
        if letter in "mM":
            start, letter = list(at), "L" if letter == "M" else "l"
    return places


@pytest.mark.parametrize(
    "drawn",
    [
        "M 82.94 63.28 L 508.03 63.28 M 82.94 102.74 L 508.03 102.74",
        "M 0 3 C 0.7956 3 1.5587 2.6839 2.1213 2.1213 C 2.6839 1.5587 3 0.7956 3 0 z M -1 -1 L -1 4 L 2 4 z",
        "M 0 0 Q 1 2 3 0.04 Q -5 -0.06 7 8 L 7 8 L 7 8",
        "M 5 5 L 0.02 -0.04 L 0 0",
    ],
)
def test_shorter_paths_go_the_same_way(drawn):
    short = path(drawn)
    assert len(short) < len(drawn)
    for (name, *wanted), (found, *places) in zip(strokes(drawn), strokes(short), strict=True):
        assert name == found
        assert places == pytest.approx(wanted, abs=0.0501)


def test_figures_keep_every_mark_and_word_on_the_page(small):
    from measurand.reporting import plot

    drawn = plot(small, figure="scores").svg
    shown = next(svg for svg in PLOT.findall(page(small)) if "Systems and people</title>" in svg)
    one, other = (ET.fromstring(svg.replace("xlink:href", "href")) for svg in (drawn, shown))  # noqa: S314 - made here
    svg = "{http://www.w3.org/2000/svg}"
    assert [node.text for node in one.iter(f"{svg}text")] == [node.text for node in other.iter(f"{svg}text")]
    assert len(list(one.iter(f"{svg}use"))) == len(list(other.iter(f"{svg}use")))
    before, after = (sum(node.get("d").upper().count("M") for node in tree.iter(f"{svg}path")) for tree in (one, other))
    assert before == after
    assert len(shown) < 0.7 * len(drawn)


def test_everything_that_figures_refer_to_is_on_the_page_once(small):
    text = page(small)
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    for drawn in PLOT.findall(text):
        own = set(re.findall(r' id="([^"]+)"', drawn))
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn)) <= own
        assert set(re.search(r'aria-labelledby="([^"]+)"', drawn).group(1).split()) <= own


def test_every_class_of_a_figure_has_its_rule(small):
    head, body = page(small).split("</style>", 1)
    used = {name for drawn in PLOT.findall(body) for name in re.findall(r'class="(p\d+)"', drawn)}
    assert len(used) > 5
    assert all(f".{name}{{" in head for name in used)


def test_marks_in_one_frame_are_clipped_together():
    marks = "".join(
        f'<path d="M 0 {n} L 5 {n}" clip-path="url(#a)" style="stroke:red"/>\n'
        f'<g clip-path="url(#a)"><use xlink:href="#m" x="1" y="{n}" style="fill:red"/></g>\n'
        for n in range(3)
    )
    assert slim(marks).count("clip-path") == 1
    assert slim(marks).count("<use ") == slim(marks).count("<path ") == 3


def test_words_of_a_page_that_look_like_a_figure_are_left_alone():
    text = '<style></style><p>&lt;svg class=&#34;plot&#34; style=&#34;x&#34;&gt; style="kept"</p>'
    assert styled_once(text) == text


@pytest.fixture(scope="module")
def single():
    study = simulate_benchmark(seed=1, n_items=20, n_criteria=1, truth_items=0, validities=(0.9, 0.3))
    ratings = read_ratings(study.ratings, scale=Scale(0, 7, step=1))
    return score(read_answers(study.answers), ratings, replicates=100, over=("item",))


@pytest.mark.parametrize(("n_criteria", "n_systems"), [(1, 2), (1, 40), (40, 3)])
def test_few_and_many_fit_their_figures(small, single, n_criteria, n_systems):
    result = enlarged(single if n_criteria == 1 else small, n_criteria, n_systems)
    text = page(result)
    assert len(text.encode()) < MOST
    for drawn in PLOT.findall(text):
        width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn).groups())
        for x, y in re.findall(r'<text [^<>]*x="(-?[\d.]+)" y="(-?[\d.]+)"', drawn):
            assert 0 <= float(x) <= width
            assert 0 <= float(y) <= height
