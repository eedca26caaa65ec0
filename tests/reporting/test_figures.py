import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import matplotlib as mpl
import pytest

from measurand.reporting import plot
from measurand.result import MeasurandError, Result, Row

FIGURES = ["decision", "ranks", "rank_sets", "components"]
SVG = "{http://www.w3.org/2000/svg}"


def parse(svg):
    return ET.fromstring(svg)  # noqa: S314 - made by this library


def texts(svg):
    return ["".join(node.itertext()) for node in parse(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_described_themed_and_the_same_twice(complete, figure):
    first, second = (plot(complete, figure=figure) for _ in range(2))
    assert first == second
    root = parse(first.svg)
    assert root.get("role") == "img"
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert set(root.get("aria-labelledby").split()) <= ids
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    assert re.search(r"var\(--m-(blue|muted), ", first.svg)
    assert "currentColor" in first.svg
    assert "<style" not in first.svg
    assert "<metadata" not in first.svg
    assert first.caption


def test_ids_do_not_meet_on_one_page(two_criteria):
    criteria = list(two_criteria.settings["design"]["criteria"])
    svgs = [plot(two_criteria, figure=f, criterion=c).svg for f in FIGURES for c in criteria]
    ids = [set(re.findall(r' id="([^"]+)"', svg)) for svg in svgs]
    assert sum(map(len, ids)) == len(set.union(*ids))
    for svg, own in zip(svgs, ids, strict=True):
        assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg)) <= own


def test_hostile_names_stay_text(hostile):
    svg = plot(hostile, figure="ranks").svg
    root = parse(svg)
    assert not [node for node in root.iter() if node.tag in (f"{SVG}script", f"{SVG}image", f"{SVG}foreignObject")]
    shown = " ".join(texts(svg))
    assert "$x^2$" in shown
    assert "نموذج" in shown
    assert "👩" in shown
    assert "n" * 300 in shown  # as the title of the shortened name


def test_the_settings_of_the_user_do_not_matter(complete):
    usual = plot(complete, figure="decision").svg
    before = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9, "axes.facecolor": "red"}):
        assert plot(complete, figure="decision").svg == usual
    assert dict(mpl.rcParams) == before


def test_saved_figures_have_fixed_colours(complete, tmp_path):
    path = tmp_path / "figure.svg"
    plot(complete, figure="components").save(path)
    text = path.read_text(encoding="utf-8")
    assert "var(" not in text
    assert "currentColor" not in text
    parse(text.encode())
    assert [one.name for one in tmp_path.iterdir()] == ["figure.svg"]


@pytest.mark.parametrize("name", ["front.png", "front", "front.svg.pdf"])
def test_a_figure_is_saved_under_no_name_that_says_another_kind(complete, tmp_path, name):
    with pytest.raises(MeasurandError, match=r"a figure is SVG, its name ends in \.svg; save front"):
        plot(complete, figure="components").save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_figure_for_a_folder_that_is_not_there_is_refused_by_the_name_of_the_folder(complete, tmp_path):
    with pytest.raises(MeasurandError) as refused:
        plot(complete, figure="components").save(tmp_path / "none" / "f.svg")
    assert f"there is no folder {tmp_path / 'none'}; make it first" in str(refused.value)
    assert ".part" not in str(refused.value)


def test_first_figure_that_can_be_drawn(complete):
    assert plot(complete) == plot(complete, figure="decision")
    assert plot(complete["components"]) == plot(complete["components"], figure="components")


def test_refusals_say_what_there_is(complete, without_systems, two_criteria):
    with pytest.raises(MeasurandError, match=r"no systems.*can give components"):
        plot(without_systems, figure="decision")
    with pytest.raises(MeasurandError, match=r"no figure 'pie'; this result can give decision, .*; of others there"):
        plot(complete, figure="pie")
    with pytest.raises(MeasurandError, match="several criteria, and none is named"):
        plot(two_criteria)
    with pytest.raises(MeasurandError, match="no criterion 'grammar'"):
        plot(two_criteria, criterion="grammar")
    with pytest.raises(MeasurandError, match="numbers of no figure"):
        plot(complete["agreement"])


def test_a_negative_component_is_seen_and_a_wide_interval_cut():
    rows = [
        Row("components", {"estimator": "anova", "component": "system"}, "variance", -0.01, -0.04, 0.03),
        Row("components", {"estimator": "anova", "component": "rater"}, "variance", 0.5, 0.1, 900.0),
    ]
    drawn = plot(Result(rows), figure="components")
    assert "negative" in drawn.caption
    assert "arrow" in drawn.caption
    assert "−0.0100 [−0.0400, 0.0300]" in texts(drawn.svg)
    assert "0.500 [0.100, 900]" in texts(drawn.svg)


def test_components_draw_the_unbiased_and_reml_alone(complete, incomplete):
    for result, estimator in ((complete, "anova"), (incomplete, "henderson")):
        rows = [row for row in result.select("components", "variance", {"estimator": estimator}) if not row.undefined]
        drawn = plot(result, figure="components")
        shown = texts(drawn.svg)
        assert [text for text in shown if ":" in text or text in ("item", "system", "rater", "residual")] == [
            row.keys["component"] for row in rows
        ]
        assert "REML" in shown
        assert not [text for text in shown if "henderson" in text or "reml" in text]
    assert "Henderson's method" in plot(incomplete, figure="components").caption


def test_the_decision_curves_of_an_incomplete_panel_have_no_plugin(incomplete):
    shown = texts(plot(incomplete, figure="decision").svg)
    assert "unbiased (Henderson), 95 % interval shaded" in shown
    assert not [text for text in shown if "plug-in" in text]


def test_rank_sets_have_a_panel_for_each_view_and_names_that_differ(many_systems):
    drawn = plot(many_systems, figure="rank_sets")
    shown = texts(drawn.svg)
    assert {"items random,", "raters random,", "items and raters random"} <= set(shown)
    names = [text for text in shown if "vendor" in text]
    assert len(set(names)) == 24
    first = many_systems.select("ranks", "in_top_set", {"unit": "item+rater"})
    assert f"{int(sum(row.estimate for row in first))} may be first" in drawn.svg


def test_rank_sets_of_systems_with_one_possible_rank():
    rows = [Row("ranks", {"system": name, "unit": "item"}, "rank", n, n, n) for n, name in enumerate("ab", start=1)]
    drawn = plot(Result(rows))
    assert "No panel takes both items and raters as samples." in drawn.caption


def test_the_decision_curves_show_targets_limits_and_null(complete):
    drawn = plot(complete, figure="decision")
    shown = texts(drawn.svg)
    assert shown.count("∞") == 2
    assert "target: G 0.8 and 0.9" in shown
    assert "here: 3" in shown
    assert "plug-in if no system differed, central range" in shown


def test_lines_that_look_alike_are_one_path_and_nothing_unseen_is_kept():
    rows = [
        Row("elicitation", {"system": f"S{n}", "readout": "verification", "phrasing": "", "variant": ""}, name, value)
        for n in range(12)
        for name, value in (("n_asked", 9.0), ("mass_median", 0.9), ("mass_p01", 0.2 + n / 20))
    ]
    svg = plot(Result(rows), figure="mass").svg
    root = parse(svg)
    assert "<g>" not in svg
    assert not [node for node in root.iter(f"{SVG}path") if node.get("style") == "fill:none"]
    grid = [
        node
        for node in root.iter(f"{SVG}path")
        if "--m-grid" in node.get("style", "") and "stroke-width:0.4" in node.get("style")
    ]
    assert [node.get("d").count("M") for node in grid if node.get("clip-path")] == [12]


@pytest.mark.parametrize("n_systems", [2, 24, 90])
def test_labels_of_ranks_do_not_overlap(n_systems):
    rows = []
    for left in ["", *(f"R{n}" for n in range(30))]:
        for n in range(n_systems):
            # Every two systems tie.
            keys = {"left_out": left, "system": f"a system with quite a long name {n:03d}"}
            rows.append(Row("leave_one_rater_out", keys, "rank", 1.5 + 2 * (n // 2)))
    drawn = plot(Result(rows))
    labels = [node for node in parse(drawn.svg).iter(f"{SVG}text") if "·" in (node.text or "")]
    shown = min(n_systems, 40)
    assert len(labels) == 2 * shown
    for side in ("end", "start"):
        heights = sorted(
            float(re.search(r"([\d.]+)\)?\s*$", node.get("y") or node.get("transform")).group(1))
            for node in labels
            if f"text-anchor:{side}" in node.get("style")
        )
        assert len(heights) == shown
        assert all(b - a > 10 for a, b in pairwise(heights))
    assert "of 30 boards" in drawn.caption
