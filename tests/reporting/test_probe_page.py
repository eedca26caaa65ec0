"""Pages, Markdown and screens of probes: one result with everything in it, and those that lack a part."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from html_page import Page
from measurand.data import Scale, read_ratings
from measurand.data.vectors import Vectors
from measurand.probing import probe
from measurand.reporting import default_title, render_html, render_markdown, render_summary
from measurand.reporting.probe_cells import digits, mean, number, percent, shared, three
from measurand.reporting.probe_verdict import headline, lead
from measurand.reporting.probe_view import Probe, is_main
from measurand.result import Finding, Result, Row
from measurand.simulate import simulate_outputs

HOSTILE = ["<script>alert(1)</script>", "n" * 300, "$x^2$ | `a`", "نموذج عربي", "two\nlines\tand", "{{ 7 * 7 }}\x07"]
CHAPTERS = ["outputs", "decodability", "leakage", "geometry", "cost"]
FAST = {"n_seeds": 1, "replicates": 100, "refits": 2, "repeats": 2}


def encoders(frame, names):
    """Vectors that know the label and the language, each set further from the origin than the one before."""
    rng = np.random.default_rng(0)
    items = frame.drop_duplicates("item")
    label, language = (pd.factorize(items[name])[0] for name in ("label", "language"))
    text = pd.factorize(items["parallel"])[0]
    of_text, of_label, of_language = (rng.normal(size=(200, 12)) for _ in range(3))
    out = []
    for place, name in enumerate(names):
        values = of_text[text] + of_label[label] + place * (of_language[language] + 1.0)
        out.append(Vectors(name, tuple(items["item"].astype(str)), values + 0.3 * rng.normal(size=values.shape)))
    return out


@pytest.fixture(scope="module")
def made():
    simulated = simulate_outputs(n_items=80, labels=("fear", "joy", "love"), truth_draws=0, n_raters=2)
    outputs = simulated.outputs.assign(
        parallel=simulated.outputs.groupby("language")["item"].transform(lambda one: pd.factorize(one)[0])
    )
    return outputs, simulated.ratings


@pytest.fixture(scope="module")
def everything(made):
    outputs, ratings = made
    rated = read_ratings(ratings, scale=Scale.parse("1:5:1"), level="ordinal")
    vectors = encoders(outputs, ["near", "far", "furthest"])
    return probe(outputs, vectors=vectors, ratings=rated, asked=(1, 3), **FAST)


def renamed(result, systems, languages=None):
    """The same probe under other names."""
    names = {"system": systems, "against": systems, "language": languages or {}, "train": languages or {}}
    names["test"] = names["language"]

    def changed(keys):
        return {key: names.get(key, {}).get(value, value) for key, value in keys.items()}

    rows = [replace(row, keys=changed(row.keys)) for row in result.rows]
    findings = [replace(one, rows=[changed(ref) for ref in one.rows]) for one in result.findings]
    return Result(rows, result.settings, findings)


@pytest.fixture(scope="module")
def page(everything):
    return page_of(everything)


@pytest.fixture(scope="module")
def hostile(everything):
    systems = dict(zip(["S1", "S2", "S3", "S4", "S-long", "S-same"], HOSTILE, strict=True))
    return renamed(everything, systems, {"English": HOSTILE[0], "Bangla": HOSTILE[3]})


def page_of(result):
    page = Page(render_html(result, title="A probe", reproduce={"seed": "0"}))
    assert page.faults == []
    return page


def test_every_part_of_a_probe_has_its_chapter_in_order(everything, page):
    ids = page.ids()
    places = [ids.index(name) for name in ["findings", *CHAPTERS, "undefined", "words", "methods", "reproduce"]]
    assert places == sorted(places)
    assert len(ids) == len(set(ids))
    assert {"lengths", "learning", "transfer", "decodability-ratings", "alignment", "parity", "template"} <= set(ids)
    assert "resolution" in ids
    assert default_title(everything) == "What outputs say"


def test_every_number_of_the_board_is_on_the_page_with_its_interval(everything, page):
    shown = [row for row in everything.select("decodability", "macro_f1") if is_main(row) and row.keys["system"]]
    assert len(shown) == 12
    for row in shown:
        cell = number(row)
        assert f"{cell.text} {cell.small}" in page.text


def test_a_difference_stands_with_the_better_system_first(everything):
    view = Probe(everything)
    scores = {
        row.keys["system"]: row.estimate
        for row in view.defined("decodability", "macro_f1", {"language": "English", "control": "", "n_train": ""})
        if row.keys.get("seed", "") == "" and row.keys.get("train", "") == ""
    }
    tables = render_markdown(everything, title="A probe", reproduce={}).split("**Paired differences of macro-F1**")
    lines = [line.split("|")[1:3] for line in tables[2].split("\n\n")[1].splitlines()[2:]]
    pairs = [(one.strip(), other.strip()) for one, other in lines]
    assert len(pairs) == 15
    assert all(scores[one] >= scores[other] for one, other in pairs)


def test_counterparts_are_told_apart_by_how_vectors_were_centred(page):
    assert "As they are Centred Centred by language As they are, CSLS" in page.text


def test_both_intervals_of_the_correlation_with_ratings_stand_in_one_row(page):
    assert "Other systems Other items, these systems" in page.text
    table = page.text.split("Decodability and mean ratings, over systems")[1].split("Rater by rater")[0]
    assert [table.count(f"rating {language}") for language in ("English", "Bangla")] == [1, 1]


def test_mean_ratings_stand_beside_decodability_with_a_figure(everything, page):
    assert "Decodability and ratings." in page.text
    table = page.text.split("Mean rating and decodability, best rated first")[1]
    rows = everything.select("decodability_ratings", "mean_rating")
    assert len(rows) == 6
    for row in rows:
        shown = table.index(f"{row.keys['system']} {number(row).text} {number(row).small}")
        for language in ("English", "Bangla"):
            score = next(
                one
                for one in everything.select("decodability", "macro_f1", {"system": row.keys["system"]})
                if is_main(one) and one.keys["language"] == language
            )
            assert number(score).text in table[shown : shown + 120]
    assert "other raters would move it" in rows[0].note
    assert "others would move them, too (measurand audit)" in page.text


def test_costs_that_are_divided_by_the_length_are_no_part_of_the_smallest_p(everything):
    quality = [row for row in everything if row.analysis == "cost" and row.statistic.endswith("_spearman")]
    assert {row.keys.get("per", "") for row in quality} >= {"output", "emitted_unit"}
    lowered = [
        replace(row, p_adjusted=1e-9) if row in quality and row.keys.get("per", "") == "emitted_unit" else row
        for row in everything
    ]
    text = page_of(Result(lowered, everything.settings, everything.findings)).text
    told = text.split("The smallest p after Holm, which adjusts within each column, is ")[1]
    assert not told.startswith("< .0001")
    assert "costs per emoji left out" in told
    assert "divided by length" in text


def test_names_that_differ_late_differ_on_the_page(everything):
    long = {name: f"a-vendor-with-a-name/model-{name}-instruct-of-june" for name in ("S1", "S2", "S3", "S4")}
    page = page_of(renamed(everything, long)).text
    for name in long.values():
        assert name in page


def test_hostile_names_are_only_text(hostile):
    page = page_of(hostile)
    tags = [tag for tag, _ in page.elements]
    assert "img" not in tags
    assert tags.count("script") == [tag for tag, _ in page_of(Result([])).elements].count("script")
    assert HOSTILE[0] in page.text
    assert "\x07" not in page.text
    assert "\x07" not in render_summary(hostile, width=100, color=False)


@pytest.mark.parametrize("width", [40, 100])
def test_a_screen_holds_its_lines(everything, hostile, width):
    for result in (everything, hostile):
        lines = render_summary(result, width=width, color=False).splitlines()
        assert max(map(cell_len, lines)) <= width
        if width == 100:
            assert len(lines) <= 45
    assert "macro-F1 Bangla" in render_summary(everything, width=100, color=False)


def test_the_verdict_has_three_sentences_of_what_matters(everything):
    said = lead(Probe(everything))
    assert len(said) == 3
    assert said[0].startswith("The outputs of some systems tell the labels") or said[0].startswith("The outputs")
    assert "macro-F1" in said[0]
    assert "in English" in said[0]
    assert "depends on the unit" in said[1]
    assert said[2].startswith(f"Of {len(everything.findings)} questions")
    assert headline(Probe(everything)).startswith("80 items, 6 systems, 2 languages")


def test_the_verdict_says_what_fails_before_what_warns():
    rows = [
        Row("leakage", {"ratio": 0.8}, "optimism", 0.05, 0.02, 0.08, p=0.001, p_adjusted=0.001),
        Row("units", {"unit_of_length": "emoji"}, "share_outside", 0.2),
        Row("units", {"unit_of_length": "emoji"}, "mean", 2.0),
    ]
    findings = [Finding("asked-range", "?", "warn", "."), Finding("row-split-leaks", "?", "fail", ".")]
    said = lead(Probe(Result(rows, {"units": {"unit": "emoji"}}, findings)))
    assert said[0] == (
        "Splitting row by row puts items on both sides and adds 0.050 [0.020, 0.080] to macro-F1; 20 % of the outputs "
        "are not as long as was asked for."
    )


@pytest.mark.parametrize(("beyond_chance", "is_told"), [(0, False), (1, True)])
def test_the_verdict_speaks_of_reversals_as_the_finding_does(beyond_chance, is_told):
    """Other units may order the systems in another way; what is told is of the code points that inflate."""
    of = {"unit_of_length": "emoji"}
    rows = [
        Row("units", of, "mean", 2.0),
        Row("units", of | {"against": "non_ascii_character"}, "inflation", 0.23, 0.22, 0.24),
        Row("units", of | {"against": "character"}, "n_reversed", 2),
        Row("units", of | {"against": "character"}, "n_reversed_beyond_chance", 2),
        Row("units", of | {"against": "non_ascii_character"}, "n_reversed", 1),
        Row("units", of | {"against": "non_ascii_character"}, "n_reversed_beyond_chance", beyond_chance),
    ]
    result = Result(rows, {"units": {"unit": "emoji"}}, [Finding("counting-unit", "?", "warn", "Said.")])
    told = " ".join(lead(Probe(result)))
    assert "adds 23 % to lengths" in told
    assert ("changes the order of systems" in told) == is_told


def test_a_number_without_an_interval_has_no_empty_brackets():
    rows = [Row("leakage", {"ratio": 0.8}, "optimism", 0.05), Row("units", {"unit_of_length": "emoji"}, "mean", 2.0)]
    said = lead(Probe(Result(rows, {}, [Finding("row-split-leaks", "?", "warn", ".")])))
    assert "a gain of macro-F1 is not shown (0.05)." in said[0]


def test_two_languages_have_ranks_on_the_screen():
    keys = {"token_unit": "emoji", "split": "row"}
    rows = []
    for place, language in enumerate(("English", "Bangla")):
        for system in ("A", "B"):
            of = keys | {"language": language, "system": system}
            rows.append(Row("decodability", of, "macro_f1", 0.4, 0.3, 0.5))
            rows.append(Row("decodability", of, "rank", 1.0, 1.0, 2.0 - place))
    lines = render_summary(Result(rows), width=100, color=False).splitlines()
    (line,) = [line for line in lines if line.startswith("A ")]
    assert re.search(r"\] +1 to 2 .*\] +1$", line)


@pytest.mark.parametrize(
    ("columns", "chapters"),
    [
        (["item", "system", "text"], ["outputs", "leakage"]),
        (["item", "system", "length"], ["outputs", "leakage"]),
        (["item", "system", "text", "label"], ["outputs", "decodability", "leakage", "cost"]),
    ],
)
def test_a_table_that_lacks_columns_has_no_empty_chapters(made, columns, chapters):
    outputs = made[0].assign(length=made[0]["text"].str.len())[columns]
    result = probe(outputs, **FAST)
    page = page_of(result)
    assert [name for name in CHAPTERS if name in page.ids()] == chapters
    assert 2 <= len(lead(Probe(result))) <= 3
    assert "nan" not in page.text.lower().split()


def test_one_system_has_no_order_and_no_pairs(made):
    outputs = made[0][(made[0]["system"] == "S1") & (made[0]["language"] == "English")]
    result = probe(outputs, **FAST)
    page = page_of(result)
    assert "Paired differences" not in page.text
    assert "(S1)" in lead(Probe(result))[0]
    assert "S1" in render_summary(result, width=100, color=False)


def test_vectors_alone_have_a_page_and_a_screen(everything):
    result = everything["geometry"]
    page = page_of(result)
    assert [name for name in CHAPTERS if name in page.ids()] == ["geometry"]
    screen = render_summary(result, width=100, color=False)
    assert "anisotropy" in screen
    assert "furthest" in screen


def test_a_page_of_many_systems_and_languages_stays_small(everything):
    """Twenty systems in three languages, the rows of six systems under other names."""
    of_systems = [row for row in everything.rows if row.keys.get("system", "") not in ("", "S-same", "S-long")]
    rows = list(everything.rows)
    for place in range(4):
        names = {name: f"vendor/model-{name}-{place}-instruct" for name in ("S1", "S2", "S3", "S4")}
        for row in of_systems:
            keys = {name: names.get(value, value) for name, value in row.keys.items()}
            rows.append(replace(row, keys=keys))
    rows += [
        replace(row, keys=row.keys | {"language": "Hindi"}) for row in rows if row.keys.get("language", "") == "English"
    ]
    page = render_html(Result(rows, everything.settings, everything.findings), title="A probe", reproduce={})
    assert len(page.encode()) < 1_000_000
    assert "Hindi" in page


def test_a_notebook_shows_the_findings_and_the_numbers(everything):
    shown = everything._repr_html_()
    assert Page(shown).faults == []
    assert everything.findings[0].statement[:30] in Page(shown).text
    assert "Decodability: " in Page(shown).text


def test_cells_have_the_digits_that_they_deserve():
    row = Row("units", {"unit_of_length": "emoji"}, "mean", 0.1234, 0.1, 0.15)
    assert (percent(row).text, percent(row).small) == ("12.3", "[10.0, 15.0]")
    assert three(row).text == "0.123"
    assert mean(replace(row, estimate=0.0012)).text == "< 0.01"
    assert digits(replace(row, estimate=2.50612)).text == "2.51"
    assert shared(replace(row, estimate=0.99999)).text == "> 99.9"
    assert shared(replace(row, estimate=1.0)).text == "100.0"
    dust = Row("units", {"unit_of_length": "emoji"}, "mean", 0.0, -4.9e-16, 3.2e-16)
    assert (number(dust).text, number(dust).small) == ("0", "")
