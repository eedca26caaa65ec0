"""Figures of scoring runs and forced choices."""

import re
import xml.etree.ElementTree as ET

import pytest

from measurand.reporting import plot
from measurand.result import MeasurandError, Result, Row

SVG = "{http://www.w3.org/2000/svg}"
ARM = {"readout": "verification"}
PATH = {"calibration": "none", "aggregate": "pooled"}
HOSTILE = "<script>$x^2$</script>"


def texts(svg):
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - made here


def score_row(system, value, criterion, readout="verification", width=0.05):
    keys = {"system": system, "readout": readout, "criterion": criterion, **PATH}
    return Row("scores", keys, "kappa_quadratic", value, value - width, value + width, 0.95, "bootstrap", "item")


def a_run(systems=("A", "B", "C"), criteria=("c1", "c2")):
    rows = []
    for place, system in enumerate(systems):
        for at, criterion in enumerate(criteria):
            rows.append(score_row(system, 0.6 - 0.01 * place - 0.1 * at, criterion))
            rows.append(score_row(system, 0.4 - 0.01 * place - 0.1 * at, criterion, "generative"))
        for readout, value in (("verification", 0.6), ("generative", 0.4)):
            keys = {"system": system, "readout": readout, "set": "all", **PATH}
            value -= 0.01 * place
            rows.append(Row("scores", keys, "kappa_quadratic", value, value - 0.05, value + 0.05, unit="item"))
    for name, value in (("pairwise", 0.45), ("leave_one_out", 0.46), ("noise_ceiling", 0.67)):
        for unit, width in (("item", 0.02), ("item+rater", 0.06)):
            for scope in ({"set": "all"}, *({"criterion": criterion} for criterion in criteria)):
                keys = {"anchor": name, **scope, **PATH}
                rows.append(Row("anchors", keys, "kappa_quadratic", value, value - width, value + width, unit=unit))
    for at, criterion in enumerate(criteria):
        keys = {"criterion": criterion}
        rows.append(Row("criteria", keys, "alpha_interval", 0.5 - 0.3 * at, 0.4 - 0.3 * at, 0.6 - 0.3 * at))
    for i, a in enumerate(systems):
        for j, b in enumerate(systems[i + 1 :], start=i + 1):
            keys = {"contrast": "system", "of": "kappa_quadratic", **ARM, "a": a, "b": b, "set": "all", **PATH}
            p = 0.01 if j == i + 2 else 0.3
            for unit in ("item", "item+rater"):
                adjusted = p if unit == "item" else 0.6
                rows.append(Row("contrasts", keys, "difference", 0.01, p=p, p_adjusted=adjusted, unit=unit))
    return Result(rows, {"scores": {"over": ["item", "item+rater"], "statistics": ["kappa_quadratic"]}})


def accuracies(chances=(0.25,)):
    rows = []
    for place, system in enumerate(["A", HOSTILE, "B"]):
        keys = {"system": system, "variant": "control=blank" if system == "B" else ""}
        value = 0.8 - 0.2 * place
        rows.append(Row("forced_choice", keys, "accuracy", value, value - 0.1, value + 0.1, unit="group"))
        rows.append(Row("forced_choice", keys, "chance", chances[place % len(chances)]))
    return Result(rows, {"forced_choice": {"over": "group"}})


@pytest.mark.parametrize("figure", ["scores", "criteria", "order", "accuracy"])
def test_figures_are_described_themed_and_the_same_twice(figure):
    result = accuracies() if figure == "accuracy" else a_run()
    first, second = (plot(result, figure=figure) for _ in range(2))
    assert first == second
    root = ET.fromstring(first.svg)  # noqa: S314 - made here
    assert root.get("role") == "img"
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert set(root.get("aria-labelledby").split()) <= ids
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    assert re.search(r"var\(--m-(blue|muted|grid), ", first.svg)
    assert "<style" not in first.svg
    assert first.caption


def test_systems_stand_from_best_to_worst_beside_their_anchors():
    drawn = plot(a_run(("B", "A", "C")), figure="scores")
    shown = texts(drawn.svg)
    assert [text for text in shown if text in "ABC"] == ["B", "A", "C"]
    assert {"one rater 0.450", "mean of the others 0.460", "noise ceiling 0.670"} <= set(shown)
    assert {"verification", "generative"} <= set(shown)
    assert "items and raters redrawn" in drawn.caption


def test_labels_of_close_anchors_stand_in_different_rows():
    svg = plot(a_run(), figure="scores").svg
    heights = {}
    for node in ET.fromstring(svg).iter(f"{SVG}text"):  # noqa: S314 - made here
        if any(word in (node.text or "") for word in ("one rater 0", "mean of the others 0")):
            place = re.search(r"([\d.]+)\)?\s*$", node.get("y") or node.get("transform"))
            heights[node.text] = float(place.group(1))
    first, second = heights.values()
    assert abs(first - second) > 8


def test_criteria_stand_from_most_to_least_agreement():
    result = a_run(criteria=("low", "lower", HOSTILE))
    shown = [text for text in texts(plot(result, figure="criteria").svg) if text in ("low", "lower")]
    assert shown == ["low", "lower"]
    assert "<script" not in plot(result, figure="criteria").svg


def test_the_matrix_counts_the_pairs_that_differ():
    drawn = plot(a_run(("A", "B", "C", "D")), figure="order")
    assert "Of 6 pairs shown 2 differ (items redrawn)." in drawn.svg
    assert "below it with raters redrawn, too" in drawn.caption


def test_chance_is_a_line_and_controls_are_told_apart():
    drawn = plot(accuracies((0.25, 0.5)))
    shown = texts(drawn.svg)
    assert {"chance 0.25", "chance 0.5"} <= set(shown)
    assert "<script>" not in drawn.svg
    assert "controls, which did not see the item" in drawn.caption


def test_many_systems_and_criteria_are_cut_and_said():
    systems = [f"vendor/model-{n:02d}-instruct" for n in range(45)]
    result = a_run(systems, [f"c{n}" for n in range(65)])
    assert "the first 40 of 45 systems" in plot(result, figure="scores").caption
    assert "the first 60 of 65 criteria" in plot(result, figure="criteria").caption
    assert "the first 24 of 45 systems" in plot(result, figure="order").caption
    names = [text for text in texts(plot(result, figure="scores").svg) if "vendor" in text]
    assert len(set(names)) == 40


def test_the_first_figure_is_that_of_systems():
    assert plot(a_run()) == plot(a_run(), figure="scores")


def test_figures_that_cannot_be_drawn_say_why():
    with pytest.raises(MeasurandError, match="needs the analysis scores"):
        plot(accuracies(), figure="scores")
    with pytest.raises(MeasurandError, match="needs the analysis forced_choice"):
        plot(a_run(), figure="accuracy")
    with pytest.raises(MeasurandError, match="there is one criterion"):
        plot(a_run(criteria=("c1",)), figure="criteria")
    with pytest.raises(MeasurandError, match="one system with a score"):
        plot(a_run(("A",)), figure="order")
    empty = Result([Row("scores", {"system": "S"}, "kappa_quadratic", float("nan"), undefined="no answers")])
    with pytest.raises(MeasurandError, match="with a defined score"):
        plot(empty, figure="scores")


@pytest.mark.parametrize("names", [("A", "B", "C"), ("vendor/a-model-of-a-very-long-name-1", "two", "3")])
def test_names_at_the_right_of_two_readouts_are_not_cut(names):
    result = a_run(names)
    rows = list(result.rows)
    for place, system in enumerate(names):
        keys = {
            "contrast": "readout",
            "of": "kappa_quadratic",
            "system": system,
            "a": "verification",
            "b": "generative",
        }
        keys |= {"set": "all", **PATH}
        rows.append(Row("contrasts", keys, "difference", 0.138 + place / 100, 0.1, 0.18, unit="item", p=0.01))
    drawn = plot(Result(rows, result.settings), figure="readouts").svg
    root = ET.fromstring(drawn)  # noqa: S314 - made here
    width = float(root.get("viewBox").split()[2])
    ends = [
        float(node.get("x")) + 0.6 * 8.5 * len(node.text)
        for node in root.iter(f"{SVG}text")
        if "·" in (node.text or "")
    ]
    assert len(ends) == 3
    assert max(ends) <= width
