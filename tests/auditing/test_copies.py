import math

import numpy as np
import pytest

from measurand.auditing import copies


def honest(rng, *, raters, items, accuracy, values=5):
    """Independent raters who hit the item's own value with the given probability."""
    own = rng.integers(1, values + 1, (items, 1))
    guess = rng.integers(1, values + 1, (items, raters))
    return np.where(rng.random((items, raters)) < accuracy, own, guess).astype(float)


def share(table, tables):
    (row,) = copies(tables.flat(table)).select("copies", "share_copied")
    return row.estimate


@pytest.mark.parametrize(
    ("raters", "items", "accuracy", "values"),
    [(3, 15, 0.97, 5), (4, 12, 0.95, 2), (5, 20, 0.97, 5), (8, 12, 0.9, 2), (3, 60, 0.99, 3)],
)
def test_independent_raters_who_agree_a_lot_are_no_copies(raters, items, accuracy, values, tables):
    accused, identical = 0, 0
    for seed in range(60):
        table = honest(np.random.default_rng(seed), raters=raters, items=items, accuracy=accuracy, values=values)
        found = copies(tables.flat(table)).rows[0]
        accused += found.estimate > 0
        identical += len(np.unique(table, axis=1).T) < raters
    assert identical > 0  # some did give identical ratings
    assert accused <= 3


@pytest.mark.parametrize("items", [30, 300])
def test_a_copy_among_independent_raters_is_found(items, tables):
    for seed in range(20):
        table = honest(np.random.default_rng(seed), raters=4, items=items, accuracy=0.6)
        table[:, 2] = table[:, 0]
        result = copies(tables.flat(table))
        assert result.value("copies", "share_copied") == 0.5
        (pair,) = result.select("copies", "n_identical")
        assert (pair.keys["rater_a"], pair.keys["rater_b"], pair.estimate) == ("R1", "R3", items)


def test_a_copy_with_holes_is_found_on_the_common_cells(tables):
    rng = np.random.default_rng(4)
    table = honest(rng, raters=4, items=60, accuracy=0.5)
    table[:, 1] = table[:, 0]
    table[rng.random(table.shape) < 0.2] = np.nan
    result = copies(tables.flat(table))
    common = (~np.isnan(table[:, :2])).all(axis=1).sum()
    assert result.value("copies", "n_identical") == common
    assert result.value("copies", "share_copied") == pytest.approx(
        (~np.isnan(table[:, :2])).sum() / (~np.isnan(table)).sum()
    )


def test_three_copies_make_three_pairs(tables):
    table = honest(np.random.default_rng(5), raters=5, items=40, accuracy=0.5)
    table[:, 1] = table[:, 2] = table[:, 0]
    result = copies(tables.flat(table))
    assert result.value("copies", "share_copied") == pytest.approx(0.6)
    assert len(result.select("copies", "n_identical")) == 3


def test_a_copy_with_a_single_difference_is_none(tables):
    table = honest(np.random.default_rng(6), raters=4, items=40, accuracy=0.5)
    table[:, 1] = table[:, 0]
    table[0, 1] = 6 - table[0, 1] if table[0, 1] != 3 else 4
    assert share(table, tables) == 0


@pytest.mark.parametrize(("items", "expected"), [(9, math.nan), (10, 0.5)])
def test_fewer_than_ten_common_cells_say_nothing(items, expected, tables):
    table = np.tile([[1, 1, 2, 3], [2, 2, 3, 1]], (5, 1))[:items].astype(float)
    assert share(table, tables) == pytest.approx(expected, nan_ok=True)


def test_raters_who_give_one_value_only_are_no_copies(tables):
    table = honest(np.random.default_rng(7), raters=4, items=40, accuracy=0.5)
    table[:, :2] = 3
    assert share(table, tables) == 0


def test_where_everybody_agrees_nobody_can_be_told_to_have_copied(tables):
    table = np.repeat(np.random.default_rng(8).integers(1, 6, (30, 1)), 3, axis=1)
    (row,) = copies(tables.flat(table)).rows
    assert np.isnan(row.estimate)
    assert "no other pair" in row.undefined


def test_one_rater_has_nobody_to_copy(tables):
    (row,) = copies(tables.flat(np.arange(12.0)[:, None])).rows
    assert "one rater" in row.undefined
