"""Figures of readouts, spread, instruments, orders, raters and reliability curves."""

import re
import xml.etree.ElementTree as ET

import pytest

from measurand.reporting import plot
from measurand.reporting.figures_hasse import _layers
from measurand.reporting.figures_readouts import pairings
from measurand.reporting.figures_spread import instruments
from measurand.reporting.scores_view import Scores
from measurand.reporting.view import View
from measurand.result import MeasurandError, Result, Row

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "<script>$x^2$</script>"
ARABIC = "نموذج عربي"
PATH = {"calibration": "none", "aggregate": "pooled"}
SCOPE = {"set": "all"}
OF_SCORES = ["readouts", "binarized", "spread", "reliability"]
OF_PANELS = ["hasse", "resolution", "rater_style", "decodability_ratings"]


def texts(svg):
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314 - made here


def difference(system, a, b, value, p, width=0.05, **arm):
    keys = {"contrast": "readout", "of": "kappa_quadratic", "system": system, **arm, "a": a, "b": b, **SCOPE, **PATH}
    ends = (value - width, value + width, 0.95, "bootstrap", "item")
    return Row("contrasts", keys, "difference", value, *ends, p=p, p_adjusted=p)


def a_run(systems=("A", "B", ARABIC), gain=0.2, wordings=("",)):
    """Scores under verification, its cut and asking; the last system gains nothing."""
    rows = []
    for place, system in enumerate(systems):
        own = gain if place < len(systems) - 1 else 0.0
        for wording in wordings:
            arm = {"phrasing": wording}
            of = {"generative": 0.4 - 0.01 * place, "verification": 0.4 + own - 0.01 * place, "binarized": 0.3}
            for readout, value in of.items():
                keys = {"system": system, "readout": readout, **arm, **SCOPE, **PATH}
                rows.append(Row("scores", keys, "kappa_quadratic", value, value - 0.05, value + 0.05, unit="item"))
            rows.append(difference(system, "verification", "generative", own, 0.01 if own else 0.9, **arm))
            rows.append(difference(system, "verification", "binarized", of["verification"] - 0.3, 0.01, **arm))
        keys = {"system": system, "readout": "verification", "phrasing": wordings[0]}
        for number in range(1, 6):
            at = {**keys, "bin": number}
            rating = 0.1 * number
            rows.append(Row("reliability_curve", at, "mean_answer", 0.2 * number - 0.1))
            rows.append(Row("reliability_curve", at, "mean_rating", rating, rating - 0.05, rating + 0.05, unit="item"))
        rows.append(Row("reliability_curve", keys, "miscalibration", 0.012))
        rows.append(Row("reliability_curve", keys, "discrimination", 0.034))
    for readout, spread, width in (("verification", 0.03, 0.05), ("generative", 0.08, 0.06)):
        keys = {"of": readout, "set": "all", **PATH}
        rows.append(Row("spread", keys, "sd_between_systems", spread, spread - 0.01, spread + 0.01, unit="item"))
        rows.append(Row("spread", keys, "median_interval_width", width))
        rows.append(Row("spread", keys, "reliability_of_scores", 0.9))
    for name, value in (("pairwise", 0.45), ("leave_one_out", 0.5)):
        keys = {"anchor": name, **SCOPE, **PATH}
        rows.append(Row("anchors", keys, "kappa_quadratic", value, value - 0.02, value + 0.02, unit="item"))
    return Result(rows, {"scores": {"over": ["item"], "statistics": ["kappa_quadratic"]}})


def a_panel(
    systems=("S1", "S2", "S3", ARABIC), raters=("R1", ARABIC), edges=None, languages=("",), criterion="fluency"
):
    rows, of = [], {"criterion": criterion}
    for place, system in enumerate(systems):
        rows.append(Row("leave_one_rater_out", {**of, "left_out": "", "system": system}, "mean", 4 - 0.1 * place))
        for unit in ("item+rater", "item"):
            keys = {**of, "system": system, "unit": unit}
            rows.append(Row("ranks", keys, "rank", place + 1, 1, len(systems), 0.95))
        for language in languages:
            keys = {"system": system, "language": language}
            value = 0.5 + 0.02 * place
            rows.append(Row("decodability", keys, "macro_f1", value, value - 0.01, value + 0.01, unit="item"))
    for i, a in enumerate(systems[:6]):
        for j, b in enumerate(systems[:6]):
            if j > i:
                value = 0.1 * (j - i)
                keys = {**of, "system_a": a, "system_b": b}
                for unit, half in (("item", 0.05), ("rater", 0.9)):
                    ends = (value - half, value + half, 0.95, "t", unit)
                    rows.append(Row("pairs", {**keys, "unit": unit}, "difference", value, *ends))
                for language in languages:
                    keys = {"system": a, "against": b, "language": language}
                    ends = (value / 5 - 0.005, value / 5 + 0.005, 0.95, "bootstrap", "item")
                    rows.append(Row("decodability", keys, "difference", value / 5, *ends))
    for place, rater in enumerate(raters):
        keys = {**of, "rater": rater}
        mean = 3 + 0.01 * place
        rows.append(Row("raters", keys, "mean", mean, mean - 0.1, mean + 0.1, 0.95, "t", "item"))
        rows.append(Row("raters", keys, "sd", 1.0))
        rows.append(Row("style", keys, "share_modal", 0.4))
        rows.append(Row("style", keys, "drift", 0.3, 0.1, 0.5, 0.95, "t", "item", p=0.01, p_adjusted=0.02))
    keys = {**of, "rater": "", "language": languages[0]}
    rows.append(Row("decodability_ratings", keys, "spearman", -0.4, -0.9, 0.6, p=0.3))
    found = [[systems[0], systems[1]], [systems[1], systems[2]]] if edges is None else edges
    about = {"criteria": {criterion: {}}}
    return Result(rows, {"ranks": {"hasse": {criterion: {"item": found, "item+rater": []}}}, "design": about})


@pytest.mark.parametrize("figure", [*OF_SCORES, *OF_PANELS])
def test_figures_are_described_themed_and_the_same_twice(figure):
    result = a_run(("A", HOSTILE, ARABIC)) if figure in OF_SCORES else a_panel(("S1", HOSTILE, ARABIC))
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
    assert "<script" not in first.svg
    assert "@" not in " ".join(texts(first.svg))
    assert figure in ("spread", "resolution") or ARABIC in " ".join(texts(first.svg))
    assert first.caption.endswith(".")


@pytest.mark.parametrize("figure", [*OF_SCORES, *OF_PANELS])
@pytest.mark.parametrize("n", [2, 200])
def test_two_and_two_hundred_systems_are_drawn_and_what_is_cut_is_said(figure, n):
    names = [f"vendor/model-{k:03d}-instruct" for k in range(n)]
    result = a_run(names) if figure in OF_SCORES else a_panel(names, raters=names, edges=[names[:2]])
    drawn = plot(result, figure=figure)
    height = float(ET.fromstring(drawn.svg).get("height"))  # noqa: S314 - made here
    assert height < 1100
    assert len(drawn.svg) < 200_000
    cut = {"readouts": 40, "binarized": 40, "reliability": 12, "hasse": 30, "rater_style": 40}
    if figure in cut and n == 200:
        assert f"the first {cut[figure]} of 200" in drawn.caption
    else:
        assert "Shown are" not in drawn.caption


def test_the_slope_chart_says_who_rises_and_by_how_much():
    drawn = plot(a_run(), figure="readouts")
    shown = texts(drawn.svg)
    assert {"+0.20 · A", "+0.20 · B", f"0.00 · {ARABIC}"} <= set(shown)
    assert "of 3 systems 2 higher, 0 lower, 1 not told apart" in drawn.caption
    assert {"people: one rater 0.450", "people: mean of the others 0.500"} <= set(shown)
    # The lower readout stands at the left, though the contrast names it second.
    assert shown.index("generative") < shown.index("verification")


def test_a_readout_that_loses_stands_at_the_left_whichever_is_named_first():
    (pair,) = pairings(Scores(a_run(gain=-0.2)), is_binarized=False)
    assert (pair.before, pair.after) == ("verification", "generative")
    rising = next(one for one in pair.changes if one.system == "A")
    assert rising.difference == pytest.approx(0.2)
    assert rising.side == "above"
    assert (rising.low, rising.high) == (pytest.approx(0.15), pytest.approx(0.25))
    assert rising.after.estimate - rising.before.estimate == pytest.approx(rising.difference)


def test_what_the_cut_loses_is_told_and_the_wording_is_named():
    drawn = plot(a_run(wordings=("plain", "does")), figure="binarized")
    assert "Of 3 systems, 3 score lower once their answers are cut at one half." in drawn.caption
    assert "Wording: plain; the others are in the table." in drawn.caption
    assert "under generative" in drawn.caption
    (pair,) = pairings(Scores(a_run()), is_binarized=True)
    assert pair.after == "binarized"
    assert [one.difference for one in pair.changes if one.system == "A"] == [pytest.approx(-0.3)]


def test_readouts_that_share_no_wording_are_joined_by_the_first_of_each():
    rows = [
        row
        for row in a_run().rows
        if row.analysis != "contrasts" and not (row.analysis == "scores" and row.keys["readout"] == "binarized")
    ]
    moved = []
    for row in rows:
        if row.analysis == "scores":
            phrasing = "does" if row.keys["readout"] == "verification" else "every"
            row = Row("scores", {**row.keys, "phrasing": phrasing}, row.statistic, row.estimate, row.low, row.high,
                      unit="item")  # fmt: skip
        moved.append(row)
    contrasts = [difference(name, "verification", "generative", 0.2, 0.01) for name in ("A", "B", ARABIC)]
    result = Result([*moved, *contrasts], a_run().settings)
    shown = texts(plot(result, figure="readouts").svg)
    assert {"does", "every"} <= set(shown)


def test_spread_inside_the_width_of_an_interval_is_counted():
    drawn = plot(a_run(), figure="spread")
    assert "Under 1 of 2 protocols systems lie closer together than an interval is wide." in drawn.caption
    assert texts(drawn.svg).count("0.90") == 2


def test_resolution_is_the_width_over_the_widest_difference():
    found = {one.words: one for one in instruments(View(a_panel()), "fluency")}
    # Four systems: the widest difference is 0.3, an interval over items 0.1 wide, over raters 1.8.
    assert found["Ratings: items random, these raters"].median == pytest.approx(1 / 3)
    assert found["Ratings: raters random, these items"].median == pytest.approx(6)
    assert found["Ratings: raters random, these items"].apart == 0
    assert found["Decodability"].median == pytest.approx(0.01 / 0.06)
    drawn = plot(a_panel(), figure="resolution")
    assert "Finest: decodability, with a median width of 0.17 ranges." in drawn.caption


def test_decodability_and_ratings_share_a_panel_for_every_language():
    drawn = plot(a_panel(languages=("bn", "en", "hi", "de")), figure="decodability_ratings")
    shown = texts(drawn.svg)
    assert {"bn", "en", "hi"} <= set(shown)
    assert "the first 3 of 4 languages" in drawn.caption
    assert "Spearman's rho −0.40, p = 0.3" in shown
    assert "(line: interval, items redrawn)" in drawn.caption


def test_mean_ratings_of_a_probe_have_intervals_of_their_own_and_stand_before_those_of_an_audit():
    audited = a_panel()
    rated = [
        Row("decodability_ratings", {"criterion": "fluency", "system": name}, "mean_rating", x, x - 0.1, x + 0.1)
        for name, x in (("S1", 20.0), ("S2", 21.0), ("S3", 22.0))
    ]
    decoded = [row for row in audited.rows if row.analysis == "decodability"]
    alone = plot(Result([*decoded, *rated]), figure="decodability_ratings", criterion="fluency")
    assert "(lines: intervals, items redrawn, these raters)" in alone.caption
    assert {"20", "21", "22"} <= {text.removesuffix(".0") for text in texts(alone.svg)}
    assert ARABIC not in texts(alone.svg)
    both = plot(Result([*audited.rows, *rated], audited.settings), figure="decodability_ratings")
    assert {"20", "21", "22"} <= {text.removesuffix(".0") for text in texts(both.svg)}


def test_layers_are_longest_paths_and_hold_out_against_a_circle():
    assert _layers([("a", "b"), ("b", "c"), ("a", "d")]) == {"a": 0, "b": 1, "c": 2, "d": 1}
    assert _layers([("a", "b"), ("b", "a")]) == {}


def test_an_order_without_a_line_is_not_drawn_and_says_why():
    with pytest.raises(MeasurandError, match="no system is shown to be better than another"):
        plot(a_panel(edges=[]), figure="hasse")
    drawn = plot(a_panel(), figure="hasse")
    assert "With items and raters random, no system is shown to be better than another." in drawn.caption
    assert {"layer 1", "layer 2", "layer 3"} <= set(texts(drawn.svg))


def test_raters_stand_from_lenient_to_severe_and_continuous_ratings_have_no_mode():
    drawn = plot(a_panel(raters=("severe", "lenient")), figure="rater_style")
    shown = [text for text in texts(drawn.svg) if text in ("severe", "lenient")]
    assert shown == ["lenient", "severe"]
    assert "Drift" in drawn.caption
    rows = [row for row in a_panel().rows if row.analysis == "raters"]
    rows.append(Row("style", {"criterion": "fluency", "rater": "R1"}, "share_modal", 0.004))
    assert not [text for text in texts(plot(Result(rows), figure="rater_style").svg) if "frequent" in text]


def test_reliability_curves_tell_the_parts_of_the_error():
    shown = texts(plot(a_run(), figure="reliability").svg)
    assert shown.count("miscalibration 0.012, discrim. 0.034") == 3


def test_figures_that_cannot_be_drawn_say_why():
    keys = {"system": "A", **SCOPE, **PATH}
    alone = Result([Row("scores", keys, "kappa_quadratic", 0.5, 0.4, 0.6, unit="item")])
    for figure, why in (
        ("readouts", "no system was scored under two readouts"),
        ("binarized", "no probabilities of yes"),
        ("spread", "needs two systems"),
        ("reliability", "needs answers that are probabilities"),
    ):
        with pytest.raises(MeasurandError, match=why):
            plot(alone, figure=figure)
    empty = Result([Row("agreement", {"criterion": ""}, "alpha_ordinal", 0.5)])
    for figure in OF_PANELS:
        with pytest.raises(MeasurandError, match="no figure"):
            plot(empty, figure=figure)
