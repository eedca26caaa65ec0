import numpy as np
import pytest

from measurand.auditing import leave_one_block_out, leave_one_rater_out
from measurand.data import read_ratings


def board(result, left_out="", statistic="rank", analysis="leave_one_rater_out"):
    return {row.keys["system"]: row.estimate for row in result.select(analysis, statistic, {"left_out": left_out})}


def test_one_rater_makes_the_winner():
    import pandas as pd

    table = pd.DataFrame(
        [
            ("a", s, r, v)
            for r, vs in {"R1": (5, 1, 3), "R2": (2, 3, 1), "R3": (2, 3, 1)}.items()
            for s, v in zip("xyz", vs, strict=True)
        ],
        columns=["item", "system", "rater", "rating"],
    )
    result = leave_one_rater_out(table)
    assert board(result) == {"x": 1, "y": 2, "z": 3}
    assert board(result, "R1") == {"x": 2, "y": 1, "z": 3}
    assert board(result, "R1", "mean") == {"x": 2, "y": 3, "z": 1}
    tau = {r.keys["left_out"]: r.estimate for r in result.select("leave_one_rater_out", "kendall_tau_b")}
    assert tau["R1"] == pytest.approx(1 / 3)


def test_ties_share_the_mean_rank(tables):
    cube = np.zeros((2, 3, 2))
    cube[:, 0] = [[1, 2], [2, 1]]
    cube[:, 1] = [[2, 1], [1, 2]]
    cube[:, 2] = 0
    result = leave_one_rater_out(tables.long(cube))
    for left_out in ("", "R1", "R2"):
        assert board(result, left_out) == {"S1": 1.5, "S2": 1.5, "S3": 3}
    assert [row.estimate for row in result.select("leave_one_rater_out", "kendall_tau_b")] == pytest.approx([1, 1])


def test_means_that_differ_by_rounding_alone_tie(tables):
    # .1 + .2 + .3 is not .3 + .2 + .1 to the last bit.
    cube = np.array([[[0.1], [0.3]], [[0.2], [0.2]], [[0.3], [0.1]]])
    cube = np.repeat(cube, 2, axis=2)
    assert set(board(leave_one_rater_out(tables.long(cube))).values()) == {1.5}


def test_a_board_without_order_has_no_tau(tables):
    result = leave_one_rater_out(tables.long(np.ones((3, 3, 2))))
    for row in result.select("leave_one_rater_out", "kendall_tau_b"):
        assert np.isnan(row.estimate)
        assert row.undefined


def test_a_system_that_one_rater_alone_rated_has_no_mean_without_them(tables):
    cube = np.random.default_rng(1).integers(1, 6, (5, 3, 3)).astype(float)
    cube[:, 2, 1:] = np.nan
    result = leave_one_rater_out(tables.long(cube))
    (gone,) = result.select("leave_one_rater_out", "rank", {"left_out": "R1", "system": "S3"})
    assert np.isnan(gone.estimate)
    assert "without R1" in gone.undefined
    assert sorted(v for v in board(result, "R1").values() if v == v) in ([1, 2], [1.5, 1.5])
    (tau,) = result.select("leave_one_rater_out", "kendall_tau_b", {"left_out": "R1"})
    assert "without R1" in tau.undefined


def test_boards_of_incomplete_panels_say_that_severity_is_in_them(tables):
    cube = np.random.default_rng(1).integers(1, 6, (5, 3, 3)).astype(float)
    assert "descriptive" in leave_one_rater_out(tables.long(cube)).rows[0].note
    cube[0, 0, 0] = np.nan
    assert "whoever gave them" in leave_one_rater_out(tables.long(cube)).rows[0].note


def test_a_single_rater_leaves_only_the_whole_board(tables):
    result = leave_one_rater_out(tables.long(np.random.default_rng(1).integers(1, 6, (5, 3, 1))))
    assert {row.keys["left_out"] for row in result} == {""}


def test_names_have_no_board(tables):
    table = tables.long(np.random.default_rng(1).integers(0, 3, (5, 3, 2)))
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    for analysis in (leave_one_rater_out, leave_one_block_out):
        (row,) = analysis(read_ratings(table, level="nominal")).rows
        assert "no mean" in row.undefined


@pytest.mark.parametrize(("n_items", "n_blocks"), [(35, 10), (10, 10), (4, 4)])
def test_blocks_part_the_items_evenly_and_each_is_left_out_once(n_items, n_blocks, tables):
    cube = np.random.default_rng(2).integers(1, 6, (n_items, 3, 2)).astype(float)
    result = leave_one_block_out(tables.long(cube), seed=1)
    kept = {
        row.keys["left_out"]: row.n_items
        for row in result.select("leave_one_block_out", "mean")
        if row.keys["left_out"]
    }
    assert list(kept) == [f"block {k + 1}" for k in range(n_blocks)]
    sizes = [n_items - n for n in kept.values()]
    assert sum(sizes) == n_items
    assert max(sizes) - min(sizes) <= 1
    whole = np.array(list(board(result, "", "mean", "leave_one_block_out").values()))
    without = np.array([list(board(result, name, "mean", "leave_one_block_out").values()) for name in kept])
    np.testing.assert_allclose(np.array([n_items - s for s in sizes]) @ without / (n_items * (n_blocks - 1)), whole)


def test_blocks_depend_on_the_seed_and_on_nothing_else(tables):
    table = tables.long(np.random.default_rng(2).integers(1, 6, (30, 3, 2)))
    again = leave_one_block_out(table.sample(frac=1, random_state=3), seed=1)
    assert again == leave_one_block_out(table, seed=1)
    assert again != leave_one_block_out(table, seed=2)


def test_blocks_of_one_item_are_none(tables):
    result = leave_one_block_out(tables.long(np.random.default_rng(2).integers(1, 6, (1, 3, 2))))
    assert {row.keys["left_out"] for row in result} == {""}


def test_an_outlying_item_changes_the_board_of_its_block_alone(tables):
    cube = np.tile(np.array([[1.0], [2.0]]), (20, 1, 2))
    cube[7, 0] = 100
    result = leave_one_block_out(tables.long(cube))
    first = {
        row.keys["left_out"]
        for row in result.select("leave_one_block_out", "rank", {"system": "S1"})
        if row.estimate == 1
    }
    assert len(first) == 10  # the whole board and the nine that keep the item
