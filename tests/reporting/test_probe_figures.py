"""Figures of probes: which there are, the same every time, names that are only text, what is left out is said."""

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from measurand.reporting import plot
from measurand.reporting.figures_lines import spread
from measurand.result import MeasurandError, Result, Row

SVG = "{http://www.w3.org/2000/svg}"
BASE = {"token_unit": "emoji", "split": "row"}
HOSTILE = "<script>$x^2$</script>"
FIGURES = ["decodability", "learning", "leakage", "anisotropy", "parity"]


def texts(svg):
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - made here


def row(analysis, keys, statistic, value, width=0.05, **more):
    return Row(analysis, keys, statistic, value, value - width, value + width, 0.95, "bootstrap", "item", **more)


def a_probe(systems=("A", HOSTILE, "C"), languages=("English", "Bangla")):
    rows = []
    for language in languages:
        of = BASE | {"language": language}
        rows.append(row("decodability", of | {"control": "majority"}, "macro_f1", 0.1))
        rows.append(row("decodability", of | {"control": "union"}, "macro_f1", 0.7))
        for place, system in enumerate(systems):
            keys = of | {"system": system}
            value = 0.6 - 0.4 * place / len(systems)
            rows.append(row("decodability", keys, "macro_f1", value))
            rows.append(row("decodability", keys | {"control": "permuted"}, "macro_f1", 0.15))
            rows += [row("decodability", keys | {"n_train": n}, "macro_f1", value - 5 / n) for n in (50, 100, 200)]
        for ratio in (0.5, 0.8, 0.9):
            keys = {"language": language, "token_unit": "emoji", "views": 3, "ratio": ratio}
            rows.append(row("leakage", keys, "macro_f1_row", 0.5, 1.5))
            rows.append(row("leakage", keys, "macro_f1_grouped", 0.4))
    for place, system in enumerate(systems):
        for centred, value in (("no", 0.1 + place / len(systems) / 2), ("yes", -0.01)):
            rows.append(row("geometry", {"vectors": system, "centred": centred}, "anisotropy", value, 0.01))
    for language in languages[1:]:
        for per, value in (("byte", 0.6), ("character", 1.7), ("word", 1.6)):
            keys = {"language": language, "per": per, "net_of_template": "no", "against": languages[0]}
            rows.append(row("cost", keys, "prompt_tokens_parity", value, 0.1))
    return Result(rows)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_is_the_same_every_time_and_its_names_are_text(figure):
    result = a_probe(languages=("English", HOSTILE))
    drawn = plot(result, figure=figure)
    assert drawn.svg == plot(result, figure=figure).svg
    assert "<script" not in drawn.svg
    assert HOSTILE[:10] in " ".join(texts(drawn.svg))
    assert drawn.caption


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_without_its_numbers_says_what_it_needs(figure):
    with pytest.raises(MeasurandError, match="it needs the analysis"):
        plot(Result([Row("outputs", {}, "n_items", 3.0)]), figure=figure)


def test_a_probe_draws_decodability_if_none_is_named():
    assert plot(a_probe()).title == "What survives of the labels"


def test_systems_and_languages_that_are_not_drawn_are_counted():
    result = a_probe([f"S{n:02d}" for n in range(30)], [f"L{n}" for n in range(7)])
    board, curves = plot(result, figure="decodability"), plot(result, figure="learning")
    assert "The first 24 of 30 systems." in board.caption
    assert "The first 6 of 7 languages." in board.caption
    assert "The first 10 of 30 curves" in curves.caption
    assert "The first 4 of 7 languages." in plot(result, figure="leakage").caption
    assert len([text for text in texts(board.svg) if text == "S00"]) == 6


def test_curves_of_names_that_differ_late_can_be_told_apart():
    result = a_probe([f"a-vendor/model-{n}-instruct-of-june" for n in range(4)])
    shown = [text for text in texts(plot(result, figure="learning").svg) if "vendor" in text]
    assert len(set(shown)) == 4


def test_the_legend_names_the_union_where_there_is_one():
    result = a_probe()
    assert texts(plot(result, figure="decodability").svg).count("all systems together") == 3
    alone = Result([one for one in result.rows if one.keys.get("control") != "union"])
    assert "all systems together" not in texts(plot(alone, figure="decodability").svg)


@pytest.mark.parametrize("length", [1, 8, 20, 36, 80])
@pytest.mark.parametrize("languages", [["English"], ["English", "Bangla"]])
def test_all_words_of_the_figure_of_decodability_stand_inside_it(length, languages):
    result = a_probe([f"{n}".zfill(length) for n in range(3)], languages)
    svg = plot(result, figure="decodability").svg
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg).group(1))
    root = ET.fromstring(svg)  # noqa: S314 - made here
    found = 0
    for node in root.iter(f"{SVG}text"):
        at = re.search(r"translate\(([-\d.]+)", node.get("transform", "")) or re.search(r"([-\d.]+)", node.get("x", ""))
        text = "".join(t for t in [node.text or ""])
        wide = 0.6 * 8.5 * len(text)
        start = {"end": -wide, "middle": -wide / 2}.get(_anchor(node), 0.0) + float(at.group(1))
        assert start >= -1, (text, start)
        assert start + wide <= width + 1, (text, start)
        found += 1
    assert found > 8


def _anchor(node):
    return (re.search(r"text-anchor: ?(\w+)", node.get("style", "")) or [None, "start"])[1]


def test_the_axis_of_splits_ends_where_macro_f1_does():
    ticks = [text for text in texts(plot(a_probe(), figure="leakage").svg) if text.replace(".", "").isdigit()]
    assert all(0 <= float(text) <= 1 for text in ticks)


def test_labels_that_want_one_place_move_apart_around_it():
    found = spread([1.0, 1.0, 1.0, 9.0], 0.5)
    assert found == [0.5, 1.0, 1.5, 9.0]
    assert all(b - a >= 0.5 - 1e-9 for a, b in pairwise(sorted(spread([0, 0.1, 0.2, 0.3, 0.31], 0.5))))
