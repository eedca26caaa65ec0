import numpy as np
import pytest

from measurand.auditing import components, decision, generalizability
from measurand.data import read_ratings
from measurand.simulate import simulate_panel

SQUARES = {
    "item": 6.0,
    "system": 40.0,
    "rater": 30.0,
    "item:system": 1.2,
    "item:rater": 2.0,
    "system:rater": 4.0,
    "residual": 1.0,
}


def exact(**changed):
    return simulate_panel(mean_squares=SQUARES | changed, n_items=20, n_systems=4, n_raters=5).ratings


def component(result, name, estimator="anova", statistic="variance"):
    (row,) = result.select("components", statistic, {"component": name, "estimator": estimator})
    return row


def test_components_are_the_differences_of_mean_squares():
    result = components(exact(), draws=1000)
    expected = {
        "item": (6 - 1.2 - 2 + 1) / 20, "system": 0.358, "rater": (30 - 2 - 4 + 1) / 80, "item:system": 0.04,
        "item:rater": 0.25, "system:rater": 0.15, "residual": 1.0,
    }  # fmt: skip
    for name, variance in expected.items():
        row = component(result, name)
        assert row.estimate == pytest.approx(variance)
        assert row.low < row.estimate < row.high
        assert component(result, name, statistic="share").estimate == pytest.approx(variance / sum(expected.values()))
        # While all are positive, restricted likelihood gives the same.
        assert component(result, name, "reml").estimate == pytest.approx(variance, abs=1e-6)


def test_a_negative_component_keeps_its_sign_and_says_what_it_means():
    result = components(exact(system=3.0), draws=1000)
    row = component(result, "system")
    assert row.estimate == pytest.approx((3 - 4 - 1.2 + 1) / 100)
    assert row.note.startswith("negative: the unbiased estimate is kept")
    assert component(result, "system", statistic="share").estimate == 0


def test_a_component_on_the_boundary_says_so_beside_the_unbiased_one():
    row = component(components(exact(system=3.0), draws=1000), "system", "reml")
    assert row.estimate == 0
    assert row.note == "estimated at 0 (boundary); the unbiased estimate is -0.012"


def test_shares_lie_in_their_intervals_or_say_why_not(tables):
    cube = np.zeros((10, 3, 3))
    cube[0, 0, 0] = 1
    for row in components(tables.long(cube), draws=1000):
        if row.low is not None and not row.low <= row.estimate <= row.high:
            assert row.note, (dict(row.keys), row.statistic)


def test_effects_that_the_layout_cannot_tell_apart_are_named(tables):
    cube = np.full((12, 3, 3), np.nan)
    for k in range(3):
        cube[:, k, k] = np.random.default_rng(k).integers(1, 6, 12)  # a rater for each system
    result = components(tables.long(cube), draws=1000)
    confounded = result.settings["components"]["confounded"][""]
    assert confounded["rater"] == "system"
    assert "item:system" in confounded
    for row in generalizability(tables.long(cube), draws=1000):
        assert "cannot be told from" in row.undefined or "incomplete" in row.undefined


def test_names_have_no_components(tables):
    table = tables.long(np.random.default_rng(1).integers(0, 3, (5, 3, 3)))
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    ratings = read_ratings(table, level="nominal")
    for analysis in (components, generalizability, decision):
        rows = analysis(ratings, draws=1000).rows
        assert rows
        assert all("no mean" in row.undefined for row in rows)


def test_fixed_systems_leave_the_errors_of_the_exact_panel_as_they_are():
    result = components(exact(), draws=1000)
    for name, variance in (("system:rater", 0.15), ("item:system", 0.04), ("residual", 1.0)):
        assert component(result, name, "reml_fixed_system").estimate == pytest.approx(variance, abs=1e-6)
    assert not result.select("components", "variance", {"component": "system", "estimator": "reml_fixed_system"})
