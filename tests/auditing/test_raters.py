import numpy as np
import pytest
from scipy import stats

from measurand.auditing import raters
from measurand.data import Scale, read_ratings


def of(result, statistic, rater):
    (row,) = result.select("raters", statistic, {"rater": rater})
    return row


def test_items_are_what_the_mean_of_a_rater_rests_on_not_cells(tables):
    # Systems of one item are rated alike: ten items, not forty ratings.
    rng = np.random.default_rng(1)
    item = rng.normal(0, 1, 10)
    cube = np.repeat(np.repeat(item[:, None, None], 4, axis=1), 2, axis=2)
    row = of(raters(tables.long(cube)), "mean", "R1")
    t = stats.t.interval(0.95, 9, item.mean(), item.std(ddof=1) / np.sqrt(10))
    assert (row.low, row.high) == pytest.approx(t)
    assert (row.n_items, row.unit) == (10, "item")


def test_a_rater_of_one_item_has_a_mean_without_an_interval(tables):
    cube = np.array([[[2.0, 4], [3, np.nan]], [[1, np.nan], [5, np.nan]]])
    result = raters(tables.long(cube))
    row = of(result, "mean", "R2")
    assert (row.estimate, row.low, row.high) == (4, None, None)
    assert "one item" in row.note
    assert of(result, "sd", "R2").undefined == "one rating"
    assert of(result, "n_ratings", "R2").estimate == 1
    assert of(result, "sd", "R1").estimate == pytest.approx(np.std([2, 3, 1, 5], ddof=1))


def test_ends_of_the_scale_are_the_declared_ones(tables):
    table = tables.flat([[1.0, 2], [5, 2], [1, 3], [3, 4]])
    declared = raters(read_ratings(table, scale=Scale(1, 5, step=1)))
    shares = [(of(declared, f"share_{end}", rater).estimate) for end in ("lowest", "highest") for rater in ("R1", "R2")]
    assert shares == [0.5, 0.0, 0.25, 0.0]
    assert of(declared, "levels_used", "R1").estimate == 3
    assert "of 5" in of(declared, "levels_used", "R1").note
    undeclared = raters(table)
    assert "no scale declared" in of(undeclared, "share_lowest", "R1").undefined
    assert not undeclared.select("raters", "levels_used")


def test_names_have_no_mean_but_are_counted(tables):
    table = tables.flat([[0.0, 1], [1, 1], [2, 0]])
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    result = raters(read_ratings(table, level="nominal"))
    assert "no mean" in of(result, "mean", "R1").undefined
    assert of(result, "n_ratings", "R1").estimate == 3


def test_two_labels_have_the_share_of_the_upper_one_as_mean(tables):
    table = tables.flat([[0.0, 1], [1, 1], [0, 0], [0, 1]])
    table["rating"] = table["rating"].map({0: "no", 1: "yes"})
    result = raters(read_ratings(table, level="nominal", labels=["no", "yes"]))
    assert [of(result, "mean", rater).estimate for rater in ("R1", "R2")] == [0.25, 0.75]
