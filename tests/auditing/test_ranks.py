import itertools

import numpy as np
import pytest

from measurand.auditing import leave_one_rater_out, ranks
from measurand.data import read_ratings


def panel(seed=0, *, items=20, systems=4, raters=4, apart=1.0, interaction=0.0):
    rng = np.random.default_rng(seed)
    quality = -apart * np.arange(systems)[None, :, None]
    value = quality + rng.normal(0, 1, (1, 1, raters)) + rng.normal(0, interaction, (1, systems, raters))
    return value + rng.normal(0, 0.5, (items, systems, raters))


def ranked(result, unit, statistic="rank"):
    return {row.keys["system"]: row for row in result.select("ranks", statistic, {"unit": unit})}


@pytest.mark.parametrize("unit", ["item", "item+rater"])
def test_shares_of_draws_over_ranks_sum_to_one(unit, tables):
    for apart in (0.0, 0.1, 3.0):
        result = ranks(tables.long(panel(apart=apart)), replicates=200)
        rows = result.select("ranks", "p_rank", {"unit": unit})
        assert len(rows) == 16
        sums = np.zeros((4, 4))
        for row in rows:
            sums[int(row.keys["system"][1:]) - 1, int(row.keys["at_rank"]) - 1] = row.estimate
        np.testing.assert_allclose(sums.sum(axis=1), 1)
        np.testing.assert_allclose(sums.sum(axis=0), 1, atol=1e-12)


def test_shares_sum_to_one_where_boards_are_too_long_to_list_all(tables):
    result = ranks(tables.long(panel(systems=22, items=8, apart=0.3)), replicates=200)
    rows = result.select("ranks", "p_rank", {"unit": "item", "system": "S1"})
    assert len(rows) < 22
    assert sum(row.estimate for row in rows) == pytest.approx(1)


def test_systems_far_apart_have_one_rank_each(tables):
    result = ranks(tables.long(panel(apart=5.0)), replicates=200)
    for unit in ("item", "rater", "item+rater"):
        for k, (_, row) in enumerate(ranked(result, unit).items()):
            assert (row.estimate, row.low, row.high) == (k + 1, k + 1, k + 1)
        assert [row.estimate for row in ranked(result, unit, "tier").values()] == [1, 2, 3, 4]
        assert [row.estimate for row in ranked(result, unit, "in_top_set").values()] == [1, 0, 0, 0]
        assert result.settings["ranks"]["hasse"][""][unit] == [["S1", "S2"], ["S2", "S3"], ["S3", "S4"]]


def test_raters_who_differ_about_systems_leave_every_rank_open(tables):
    cube = panel(3, apart=0.1, interaction=1.0, raters=3, items=100)
    result = ranks(tables.long(cube), replicates=200)
    assert any(row.high - row.low < 3 for row in ranked(result, "item").values())
    for unit in ("rater", "item+rater"):
        for row in ranked(result, unit).values():
            assert (row.low, row.high) == (1, 4)


def test_sets_of_ranks_hold_the_truth_for_all_systems_at_once(tables):
    truth = np.array([1, 2, 3, 4])
    held = {"item": 0, "item+rater": 0}
    for seed in range(80):
        result = ranks(tables.long(panel(seed, apart=0.15, items=25)), replicates=200)
        for unit in held:
            rows = list(ranked(result, unit).values())
            held[unit] += all(row.low <= t <= row.high for row, t in zip(rows, truth, strict=True))
    assert held["item"] >= 70
    assert held["item+rater"] >= 70


def test_letters_are_shared_by_those_who_do_not_differ(tables):
    result = ranks(tables.long(panel(4, apart=0.3)), replicates=500)
    for unit in ("item", "rater", "item+rater"):
        rank = ranked(result, unit)
        letters = {
            name: set(row.note.rpartition(": ")[2].split()) for name, row in ranked(result, unit, "tier_letter").items()
        }
        for name in rank:
            apart = sum(not letters[name] & letters[other] for other in rank)
            assert apart == (rank[name].low - 1) + (4 - rank[name].high)


def test_one_tie_is_one_rank(tables):
    cube = np.repeat(np.array([[[1.0], [1], [0]], [[2], [2], [1]], [[3], [3], [1]]]), 2, axis=2)
    cube[0, 0, 0], cube[0, 1, 1] = 2, 2
    assert [row.estimate for row in ranked(ranks(tables.long(cube), replicates=100), "rater").values()] == [1.5, 1.5, 3]


def test_ranks_and_boards_tie_alike_whatever_the_size_of_the_ratings(tables):
    # Equal means of scores in the thousands differ by rounding; both analyses must call them equal.
    rng = np.random.default_rng(1)
    for _ in range(60):
        first = 1e3 + 0.1 * rng.integers(0, 10, (6, 3))
        cube = np.stack([first, rng.permutation(first.ravel()).reshape(6, 3)], axis=1)
        table = tables.long(cube)
        board = [row.estimate for row in leave_one_rater_out(table).select("leave_one_rater_out", "rank", {"left_out": ""})]  # fmt: skip  # noqa: E501
        rank = ranked(ranks(table, replicates=100), "rater")
        assert [row.estimate for row in rank.values()] == board == [1.5, 1.5]


def test_ranks_of_incomplete_panels_are_free_of_severity(tables):
    rng = np.random.default_rng(5)
    cube = panel(5, apart=0.5)
    cube[:, :, 3] -= 9
    cube[:, 1:, 3] = np.where(rng.random((20, 3)) < 0.7, np.nan, cube[:, 1:, 3])  # the harsh one rates S1 most
    result = ranks(tables.long(cube), replicates=200)
    board = leave_one_rater_out(tables.long(cube)).select("leave_one_rater_out", "rank", {"left_out": ""})
    assert board[0].estimate > 2  # by plain means the best system comes near the end
    for unit in ("item", "rater", "item+rater"):
        assert ranked(result, unit)["S1"].estimate == 1


def test_what_cannot_be_ranked_says_why_truly(tables):
    # Each system has items and a rater of its own: there are twelve items, not one.
    cube = np.full((12, 4, 4), np.nan)
    for s in range(4):
        cube[3 * s : 3 * s + 3, s, s] = [1, 2, 4]
    for row in ranks(tables.long(cube), replicates=100).select("ranks", "rank", {"unit": "item"}):
        assert np.isnan(row.estimate)
        assert "one item" not in row.undefined


def test_names_have_no_ranks(tables):
    table = tables.long(np.random.default_rng(1).integers(0, 3, (5, 3, 2)))
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    (row,) = ranks(read_ratings(table, level="nominal"), replicates=100).rows
    assert "no mean" in row.undefined


def test_the_hasse_order_has_no_edge_that_others_imply(tables):
    result = ranks(tables.long(panel(7, apart=0.4)), replicates=300)
    for edges in result.settings["ranks"]["hasse"][""].values():
        pairs = {tuple(edge) for edge in edges}
        for (a, b), (c, d) in itertools.product(pairs, pairs):
            assert not (b == c and (a, d) in pairs)
