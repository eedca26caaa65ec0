import importlib
import itertools

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from measurand.auditing import pairs
from measurand.data import read_ratings
from measurand.stats.inference import holm


def panel(seed=0, *, items=12, systems=3, raters=4, quality=(0.0, 0.5, 1.0)):
    rng = np.random.default_rng(seed)
    effect = np.array(quality[:systems])[None, :, None]
    severity = rng.normal(0, 1, (1, 1, raters))
    return (
        3 + effect + severity + rng.normal(0, 0.5, (items, systems, 1)) + rng.normal(0, 0.7, (items, systems, raters))
    )


def found(result, unit, a="S1", b="S2", statistic="difference"):
    rows = result.select("pairs", statistic, {"unit": unit, "system_a": a, "system_b": b})
    assert len(rows) == 1
    return rows[0]


def test_over_items_it_is_the_paired_t_test_of_panel_means(tables):
    cube = panel()
    row = found(pairs(tables.long(cube)), "item")
    means = cube.mean(axis=2)
    t = stats.ttest_rel(means[:, 0], means[:, 1])
    assert row.estimate == pytest.approx(means[:, 0].mean() - means[:, 1].mean())
    assert row.p == pytest.approx(t.pvalue)
    interval = t.confidence_interval(0.95)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))
    assert (row.df1, row.df2) == (1, 11)


def test_over_raters_it_is_the_one_sample_t_test_of_their_differences(tables):
    cube = panel()
    row = found(pairs(tables.long(cube)), "rater")
    differences = (cube[:, 0] - cube[:, 1]).mean(axis=0)
    t = stats.ttest_1samp(differences, 0)
    assert row.p == pytest.approx(t.pvalue)
    assert (row.low, row.high) == pytest.approx(tuple(t.confidence_interval(0.95)))
    assert row.df2 == 3
    assert "4 raters" in row.note


def test_a_harsh_rater_who_saw_one_system_only_does_not_make_it_worse(tables):
    rng = np.random.default_rng(1)
    cube = 4 + rng.normal(0, 0.3, (30, 1, 4)) + rng.normal(0, 0.3, (30, 2, 4))
    cube[:, :, 3] -= 3
    cube[:, 1, 3] = np.nan  # the harsh one saw the first system alone
    result = pairs(tables.long(cube))
    naive = np.nanmean(cube[:, 0]) - np.nanmean(cube[:, 1])
    assert naive < -0.6
    for unit in ("item", "rater", "item+rater"):
        row = found(result, unit)
        assert abs(row.estimate) < 0.1, unit
        assert row.p > 0.01
    assert found(result, "rater").n_raters == 3


@pytest.mark.parametrize(
    ("by_rater", "same"),
    [((1, 1, 1), True), ((-1, -2, -1), True), ((1, 1, -1), False), ((1, 1, 0), False), ((0, 0, 0), False)],
)
def test_whether_every_rater_agrees_on_the_direction(by_rater, same, tables):
    cube = np.zeros((3, 2, 3))
    cube[:, 0] = np.array(by_rater) + np.array([[-0.1], [0.0], [0.1]])
    row = found(pairs(tables.long(cube)), "item")
    assert row.extra["same_sign_all_raters"] is same
    assert not found(pairs(tables.long(cube)), "rater").extra


def test_a_direction_that_rounding_makes_is_none(tables):
    cube = np.zeros((3, 2, 2))
    cube[:, 0], cube[:, 1] = [[0.1, 1], [0.2, 1], [0.3, 2]], [[0.3, 0], [0.2, 0], [0.1, 0]]
    row = found(pairs(tables.long(cube)), "item")
    assert row.extra["same_sign_all_raters"] is False


@pytest.mark.parametrize("raters", [2, 3, 6])
def test_exact_tests_say_how_small_their_p_could_be(raters, tables):
    cube = np.random.default_rng(2).normal(0, 0.1, (6, 2, raters)) + np.array([9.0, 0.0])[None, :, None]
    result = pairs(tables.long(cube))
    for statistic in ("p_sign", "p_permutation"):
        row = found(result, "rater", statistic=statistic)
        assert row.attainable_p == row.estimate == row.p == 2.0 ** (1 - raters)


def test_permutation_over_many_items_cannot_go_below_its_draws(tables):
    cube = np.random.default_rng(2).normal(0, 0.1, (40, 2, 2)) + np.array([9.0, 0.0])[None, :, None]
    row = found(pairs(tables.long(cube)), "item", statistic="p_permutation")
    assert row.p == row.attainable_p == 1e-4
    sign = found(pairs(tables.long(cube)), "item", statistic="p_sign")
    assert sign.attainable_p == 2.0**-39


@pytest.mark.parametrize("statistic", ["difference", "p_sign", "p_permutation"])
@pytest.mark.parametrize("unit", ["item", "rater", "item+rater"])
def test_p_values_are_adjusted_within_criterion_unit_and_test(statistic, unit, tables):
    first, second = (tables.long(panel(seed)).assign(criterion=name) for seed, name in ((0, "a"), (1, "b")))
    import pandas as pd

    result = pairs(pd.concat([first, second]))
    checked = 0
    for criterion in ("a", "b"):
        rows = result.select("pairs", statistic, {"unit": unit, "criterion": criterion})
        if rows:
            expected = holm(np.array([row.p for row in rows]))
            assert [row.p_adjusted for row in rows] == pytest.approx(list(expected))
            checked += 1
    assert checked == (0 if unit == "item+rater" and statistic != "difference" else 2)


def test_over_items_and_raters_of_complete_panels_the_error_is_pooled(tables):
    cube = panel(3) + np.random.default_rng(3).normal(0, 0.5, (1, 3, 4))
    n, s, r = cube.shape
    result = pairs(tables.long(cube))
    system = cube.mean(axis=(0, 2), keepdims=True)
    item, rater, grand = cube.mean(axis=(1, 2), keepdims=True), cube.mean(axis=(0, 1), keepdims=True), cube.mean()
    by_item, by_rater = cube.mean(axis=2, keepdims=True), cube.mean(axis=0, keepdims=True)
    ms_item = r * ((by_item - item - system + grand) ** 2).sum() / ((n - 1) * (s - 1))
    ms_rater = n * ((by_rater - rater - system + grand) ** 2).sum() / ((r - 1) * (s - 1))
    both = cube - by_item - by_rater - cube.mean(axis=1, keepdims=True) + item + system + rater - grand
    ms = (both**2).sum() / ((n - 1) * (s - 1) * (r - 1))
    assert ms_item > ms
    assert ms_rater > ms
    error = ms_item + ms_rater - ms
    df = error**2 / (
        ms_item**2 / ((n - 1) * (s - 1)) + ms_rater**2 / ((r - 1) * (s - 1)) + ms**2 / ((n - 1) * (s - 1) * (r - 1))
    )
    row = found(result, "item+rater")
    assert row.df2 == pytest.approx(df)
    t = row.estimate / np.sqrt(2 * error / (n * r))
    assert row.p == pytest.approx(2 * stats.t.sf(abs(t), df))
    assert "pooled" in row.method


def test_over_items_and_raters_of_incomplete_panels_the_mixed_model_serves(tables):
    cube = panel(4, items=30)
    whole = found(pairs(tables.long(cube)), "item+rater")
    cube[0, 0, 0] = np.nan
    row = found(pairs(tables.long(cube)), "item+rater")
    assert "mixed model" in row.method
    # One hole in 360 ratings moves little.
    assert row.estimate == pytest.approx(whole.estimate, abs=0.03)
    assert row.high - row.low == pytest.approx(whole.high - whole.low, rel=0.1)
    assert row.low < row.estimate < row.high


def test_with_holes_each_unit_counts_its_own_units_alike_over_the_cells_that_both_systems_share(tables):
    cube = panel(3)
    cube[0, :, 1:] = np.nan
    cube[5, 0, 2] = cube[7, 1, 0] = np.nan
    result = pairs(tables.long(cube))
    shared = cube[:, 0] - cube[:, 1]
    by_item, by_rater = np.nanmean(shared, axis=1).mean(), np.nanmean(shared, axis=0).mean()
    assert found(result, "item").estimate == pytest.approx(by_item)
    assert found(result, "rater").estimate == pytest.approx(by_rater)
    assert len({round(found(result, unit).estimate, 9) for unit in ("item", "rater", "item+rater")}) == 3


def test_over_items_and_raters_of_empty_systems_the_error_rate_holds(tables, monkeypatch):
    monkeypatch.setattr(importlib.import_module("measurand.auditing.pairs"), "FLIPS", 99)
    # Raters differ about systems, systems do not differ: over items it is significant all the time, over both not.
    rejected = {"item": 0, "item+rater": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        cube = rng.normal(0, 1, (1, 2, 4)) + rng.normal(0, 1, (12, 1, 4)) + rng.normal(0, 1, (12, 2, 4))
        cube[rng.random(cube.shape) < 0.1] = np.nan
        with threadpool_limits(limits=1, user_api="blas"):  # as in a whole audit
            result = pairs(tables.long(cube))
        for unit in rejected:
            rejected[unit] += found(result, unit).p < 0.05
    assert rejected["item"] > 10
    assert rejected["item+rater"] <= 6


@pytest.mark.parametrize(("raters", "warned"), [(3, True), (19, True), (20, False)])
def test_the_pigeonhole_bootstrap_warns_below_twenty_raters(raters, warned, tables):
    result = pairs(tables.long(panel(5, raters=raters)), pigeonhole=200)
    rows = [row for row in result.select("pairs", "difference") if row.method == "pigeonhole bootstrap"]
    assert len(rows) == 3
    for row in rows:
        assert row.unit == "item+rater"
        assert row.low <= row.estimate <= row.high
        assert (f"with {raters} raters" in row.note) == warned


def test_the_pigeonhole_bootstrap_is_left_out_unless_asked_for(tables):
    methods = {row.method for row in pairs(tables.long(panel()))}
    assert "pigeonhole bootstrap" not in methods


def test_differences_are_antisymmetric_and_add_up(tables):
    result = pairs(tables.long(panel(6)))
    d = {ab: found(result, "item", *ab).estimate for ab in itertools.combinations(("S1", "S2", "S3"), 2)}
    assert d["S1", "S2"] + d["S2", "S3"] == pytest.approx(d["S1", "S3"])


def test_systems_that_nobody_saw_side_by_side_have_no_difference(tables):
    cube = np.full((6, 2, 2), np.nan)
    cube[:, 0, 0] = cube[:, 1, 1] = range(6)
    row = found(pairs(tables.long(cube)), "item")
    assert np.isnan(row.estimate)
    assert "no rater rated both" in row.undefined


def test_differences_that_do_not_vary_have_no_test(tables):
    cube = np.zeros((5, 2, 3))
    cube[:, 1] = 1
    row = found(pairs(tables.long(cube)), "item")
    assert row.estimate == -1
    assert row.p is row.low is row.p_adjusted is None
    assert "do not vary" in row.note


def test_names_have_no_differences_and_labels_of_two_have(tables):
    table = tables.long(np.random.default_rng(1).integers(0, 3, (5, 3, 2)))
    three = table.assign(rating=table["rating"].map({0: "red", 1: "green", 2: "blue"}))
    (row,) = pairs(read_ratings(three, level="nominal")).rows
    assert "no mean" in row.undefined
    two = table.assign(rating=table["rating"].map({0: "no", 1: "yes", 2: "yes"}))
    result = pairs(read_ratings(two, level="nominal", labels=["no", "yes"]))
    shares = (table["rating"] > 0).groupby(table["system"]).mean()
    assert found(result, "item").estimate == pytest.approx(shares["S1"] - shares["S2"])


def test_an_interval_over_both_that_is_narrower_than_over_items_says_so(tables):
    # Two systems vary much from item to item, two hardly: the shared error lies in between.
    rng = np.random.default_rng(5)
    spread = np.array([1.5, 1.5, 0.1, 0.1])[None, :, None]
    cube = rng.normal(0, 1, (30, 4, 1)) * spread + rng.normal(0, 0.5, (30, 4, 5))
    result = pairs(tables.long(cube))
    width = {unit: (lambda row: row.high - row.low)(found(result, unit)) for unit in ("item", "item+rater")}
    assert width["item+rater"] < width["item"]
    assert "narrower than over items" in found(result, "item+rater").note
    assert "read the wider" in found(result, "item+rater").note
    assert "narrower" not in found(result, "item+rater", "S3", "S4").note
    holes = cube.copy()
    holes[0, 0, 0] = np.nan
    assert "narrower than over items" in found(pairs(tables.long(holes)), "item+rater").note
