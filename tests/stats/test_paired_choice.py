"""Win rates with unequal opponents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.stats.paired_choice import adjusted_win_rates, connected, win_rates


def made(seed, n):
    rng = np.random.default_rng(seed)
    counts = np.triu(rng.integers(1, 9, (n, n)), 1).astype(float)
    counts += counts.T
    wins = np.triu(rng.random((n, n)), 1) * counts
    return wins + np.tril(counts - wins.T, -1), counts


@given(st.integers(0, 1000), st.integers(2, 7))
def test_adjusted_rates_are_least_squares_of_single_comparisons(seed, n):
    wins, counts = made(seed, n)
    # One row for each pair, weighted by its number of comparisons: effects with the sum 0.
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    design, outcome = np.zeros((len(pairs), n)), np.zeros(len(pairs))
    for row, (i, j) in enumerate(pairs):
        weight = np.sqrt(counts[i, j])
        design[row, i], design[row, j] = weight, -weight
        outcome[row] = weight * (wins[i, j] / counts[i, j] - 0.5)
    theta = np.linalg.lstsq(design, outcome, rcond=None)[0]
    theta -= theta.mean()
    others = [theta[i] - np.delete(theta, i).mean() for i in range(n)]
    np.testing.assert_allclose(adjusted_win_rates(wins, counts), 0.5 + np.array(others), atol=1e-10)


@given(st.integers(0, 1000), st.integers(2, 6))
def test_with_equal_opponents_nothing_is_adjusted(seed, n):
    rng = np.random.default_rng(seed)
    share = np.triu(rng.random((n, n)), 1)
    counts = np.full((n, n), 10.0) - 10 * np.eye(n)
    wins = 10 * (share + np.tril(1 - share.T, -1))
    np.testing.assert_allclose(adjusted_win_rates(wins, counts), win_rates(wins, counts), atol=1e-12)


@given(st.integers(0, 1000), st.integers(2, 6))
def test_renaming_things_renames_their_rates(seed, n):
    wins, counts = made(seed, n)
    order = np.random.default_rng(seed).permutation(n)
    moved = adjusted_win_rates(wins[np.ix_(order, order)], counts[np.ix_(order, order)])
    np.testing.assert_allclose(moved, adjusted_win_rates(wins, counts)[order], atol=1e-10)
    assert adjusted_win_rates(wins, counts).mean() == pytest.approx(0.5)


def test_weak_opponents_are_adjusted_for():
    # The first met only the third, the weakest; the second beat it, too, and met the first never.
    wins = np.array([[0, 2.0, 9], [8, 0, 9], [1, 1, 0]])
    counts = wins + wins.T
    plain, adjusted = win_rates(wins, counts), adjusted_win_rates(wins, counts)
    assert plain[1] > plain[0] > plain[2]
    counts[0, 2] = counts[2, 0] = 100
    wins[0, 2], wins[2, 0] = 90, 10
    plain, adjusted = win_rates(wins, counts), adjusted_win_rates(wins, counts)
    assert plain[0] > plain[1] - 0.05
    assert adjusted[1] > adjusted[0] + 0.2


def test_what_is_not_connected_has_no_adjusted_rates():
    counts = np.zeros((4, 4))
    counts[0, 1] = counts[1, 0] = counts[2, 3] = counts[3, 2] = 5
    chain = counts.copy()
    chain[1, 2] = chain[2, 1] = 1
    assert connected(np.stack([counts, chain])).tolist() == [False, True]
    both = adjusted_win_rates(np.stack([counts, chain]) / 2, np.stack([counts, chain]))
    assert np.isnan(both[0]).all()
    np.testing.assert_allclose(both[1], 0.5)
    assert np.isnan(win_rates(np.zeros((2, 2)), np.zeros((2, 2)))).all()
    assert np.isnan(adjusted_win_rates(np.zeros((1, 1)), np.zeros((1, 1)))).all()
    assert connected(np.zeros((5, 5))).item() is False
