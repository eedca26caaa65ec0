import math

import numpy as np
import pytest

from measurand.auditing import decision, generalizability
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
SIZE = {"n_items": 20, "n_systems": 4, "n_raters": 5}
HERE = {"at_items": 20, "at_raters": 5}


def exact(**changed):
    return simulate_panel(mean_squares=SQUARES | changed, **SIZE).ratings


def g_of(system, rater, item, residual, n_items, n_raters):
    positive = [max(part, 0.0) for part in (system, rater, item, residual)]
    error = positive[1] / n_raters + positive[2] / n_items + positive[3] / (n_items * n_raters)
    return positive[0] / (positive[0] + error)


#: What the mean squares give: (MS_s - MS_sr - MS_ps + MS_psr) / 100, and so on.
PARTS = {"system": 0.358, "rater": 0.15, "item": 0.04, "residual": 1.0}


def value(result, estimator="anova", statistic="g", **keys):
    return result.value("generalizability", statistic, HERE | {"estimator": estimator} | keys)


def test_g_is_the_share_of_the_systems_in_what_is_observed():
    result = generalizability(exact(), draws=1000)
    assert value(result) == pytest.approx(g_of(**PARTS, n_items=20, n_raters=5))
    for n in (1, 10, 100):
        assert value(result, at_raters=n) == pytest.approx(g_of(**PARTS, n_items=20, n_raters=n))
    for n in (10, 50, 1000):
        assert value(result, at_items=n) == pytest.approx(g_of(**PARTS, n_items=n, n_raters=5))


def test_with_infinitely_many_items_raters_are_what_is_left():
    result = generalizability(exact(), draws=1000)
    assert value(result, at_items=math.inf) == pytest.approx(0.358 / (0.358 + 0.15 / 5))
    assert value(result, at_raters=math.inf) == pytest.approx(0.358 / (0.358 + 0.04 / 20))


def test_the_plug_in_takes_the_observed_spread_for_the_true_one():
    plugin = PARTS | {"system": 40.0 * 3 / (4 * 100)}
    result = generalizability(exact(), draws=1000)
    assert value(result, "plugin") == pytest.approx(g_of(**plugin, n_items=20, n_raters=5))
    (row,) = result.select("generalizability", "g", HERE | {"estimator": "plugin"})
    assert row.low is None
    assert "error and all" in row.note


def test_phi_is_never_above_g():
    result = generalizability(exact(), draws=1000)
    for estimator in ("anova", "plugin", "reml"):
        assert value(result, estimator, "phi") < value(result, estimator)


def test_a_negative_system_variance_makes_g_0_and_is_named():
    result = generalizability(exact(system=3.0), draws=1000)
    (row,) = result.select("generalizability", "g", HERE | {"estimator": "anova"})
    assert (row.estimate, row.low) == (0, 0)
    assert row.high > 0
    assert "count as 0: system" in row.note


def test_a_negative_error_component_counts_as_0_in_g():
    parts = PARTS | {"system": (40.0 - 4.0 - 0.5 + 1.0) / 100, "item": (0.5 - 1.0) / 5}
    result = generalizability(exact(**{"item:system": 0.5}), draws=1000)
    assert value(result) == pytest.approx(g_of(**parts, n_items=20, n_raters=5))


def test_the_null_of_g_is_what_the_estimator_says_where_no_system_differs():
    # The panel's own systems differ, and the null does not depend on them.
    nulls = [
        [value(generalizability(exact(system=s), draws=1000), name, "g_null") for name in ("anova", "plugin")]
        for s in (3.0, 400.0)
    ]
    np.testing.assert_allclose(nulls[0], nulls[1], atol=1e-12)
    rng = np.random.default_rng(1)
    drawn = {"anova": [], "plugin": []}
    for _ in range(4000):
        ms = {
            "system:rater": 4.0 * rng.chisquare(12) / 12,
            "item:system": 1.2 * rng.chisquare(57) / 57,
            "residual": 1.0 * rng.chisquare(228) / 228,
            "system": 4.2 * rng.chisquare(3) / 3,
        }
        parts = {
            "rater": (ms["system:rater"] - ms["residual"]) / 20,
            "item": (ms["item:system"] - ms["residual"]) / 5,
            "residual": ms["residual"],
        }
        free = (ms["system"] - ms["system:rater"] - ms["item:system"] + ms["residual"]) / 100
        drawn["anova"].append(g_of(free, **parts, n_items=20, n_raters=5))
        drawn["plugin"].append(g_of(ms["system"] * 3 / 400, **parts, n_items=20, n_raters=5))
    for estimator, mine in zip(("anova", "plugin"), nulls[0], strict=True):
        assert mine == pytest.approx(np.mean(drawn[estimator]), abs=0.02)


def needed(result, what, estimator="anova", target=0.8):
    (row,) = result.select("decision", f"{what}_needed", {"estimator": estimator, "target": target})
    return row


@pytest.mark.parametrize("target", [0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("what", ["raters", "items"])
def test_the_number_needed_is_the_smallest_whole_one_that_suffices(what, target):
    row = needed(decision(exact(), targets=[target], draws=1000), what, target=target)
    size = {"n_items": 20, "n_raters": 5}
    if math.isinf(row.estimate):
        assert g_of(**PARTS, **size | {f"n_{what}": 10**9}) < target
        return
    assert row.estimate == int(row.estimate) >= 1
    assert g_of(**PARTS, **size | {f"n_{what}": row.estimate}) >= target
    if row.estimate > 1:
        assert g_of(**PARTS, **size | {f"n_{what}": row.estimate - 1}) < target


def test_a_number_that_suffices_exactly_is_enough():
    # system .25, raters .1 and no other error: G is .8 with 1.6 raters at any items; with .25 and 1, exactly 16.
    squares = {"item": 1.0, "system": 145.0, "rater": 20.0, "item:system": 0.5, "item:rater": 1.0, "system:rater": 20.5, "residual": 0.5}  # fmt: skip  # noqa: E501
    table = simulate_panel(mean_squares=squares, **SIZE).ratings
    system, rater = (145.0 - 20.5 - 0.5 + 0.5) / 100, (20.5 - 0.5) / 20
    exactly = g_of(system, rater, 0.0, 0.5, 20, 7)
    assert needed(decision(table, targets=[exactly - 1e-9], draws=1000), "raters", target=exactly - 1e-9).estimate == 7


def test_where_no_number_suffices_it_is_infinite_and_says_how_often():
    row = needed(decision(exact(system=3.0), draws=1000), "raters")
    assert row.estimate == row.high == math.inf
    assert "no number of raters suffices in" in row.note
    share = int(row.note.split("suffices in ")[1].split(" %")[0])
    assert 50 < share < 100


def test_more_ambitious_targets_take_more():
    result = decision(exact(), targets=[0.5, 0.8, 0.9], draws=1000)
    values = [needed(result, "raters", target=target).estimate for target in (0.5, 0.8, 0.9)]
    assert values == sorted(values)


def test_incomplete_panels_get_unbiased_components_and_reml_beside_them():
    truth = {"item": 0.3, "system": 0.4, "rater": 0.3, "system:rater": 0.1, "residual": 0.5}
    table = simulate_panel(components=truth, missing=0.1, n_items=40, n_systems=5, n_raters=5, seed=2).ratings
    result = generalizability(table, draws=1000)
    here = {"at_items": 40, "at_raters": 5}
    for estimator in ("anova", "plugin"):
        (row,) = result.select("generalizability", "g", here | {"estimator": estimator})
        assert "incomplete" in row.undefined
    values = [result.value("generalizability", "g", here | {"estimator": name}) for name in ("henderson", "reml")]
    assert values[0] == pytest.approx(values[1], abs=0.05)
    assert all(0.5 < one <= 1 for one in values)


@pytest.mark.parametrize(
    ("shape", "reason"), [((1, 3, 4), "one item"), ((6, 3, 1), "one rater"), ((6, 1, 4), "one sys")]
)
def test_what_has_one_level_cannot_be_projected(shape, reason, tables):
    cube = np.random.default_rng(1).integers(1, 6, shape)
    for analysis in (generalizability, decision):
        # What holds the items fixed has a file of its own: one item is enough for it.
        rows = [r for r in analysis(tables.long(cube), draws=1000).rows if not r.statistic.endswith("_these_items")]
        assert rows
        assert all(reason in row.undefined for row in rows)
