"""Correlation over few things: row by row, with its interval, and what permutations say of it."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.inference import average_ranks, stream
from measurand.stats.rank_correlation import correlation, row_pearson, row_ranks, row_spearman, spearman_test

few = st.lists(st.integers(0, 4), min_size=3, max_size=6)


def test_the_published_orders_have_the_published_correlations(shared):
    published = json.loads((shared / "golden" / "two_emojis.json").read_text())["table3"]
    mos, emoji, _, matched = (column[None, :] for column in np.array(list(published.values())).T)
    assert row_spearman(mos, emoji)[0] == pytest.approx(0.905, abs=0.001)
    assert row_spearman(mos, matched)[0] == pytest.approx(0.119, abs=0.001)


@given(few)
def test_ranks_are_average_ranks(values):
    assert row_ranks(np.array([values], dtype=float))[0].tolist() == average_ranks(values).tolist()


@given(st.integers(0, 10_000), st.integers(3, 9))
def test_each_row_is_scipys(seed, n):
    x, y = np.random.default_rng(seed).integers(0, 5, (2, 4, n)).astype(float)
    for row, pearson, spearman in zip(zip(x, y, strict=True), row_pearson(x, y), row_spearman(x, y), strict=True):
        if np.ptp(row[0]) == 0 or np.ptp(row[1]) == 0:
            assert np.isnan(pearson)
            assert np.isnan(spearman)
        else:
            assert pearson == pytest.approx(stats.pearsonr(*row).statistic, abs=1e-12)
            assert spearman == pytest.approx(stats.spearmanr(*row).statistic, abs=1e-12)


def test_a_row_with_a_hole_has_no_correlation():
    x = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, 3.0]])
    found = row_spearman(x, np.array([[1.0, 2.0, 3.0]] * 2))
    assert np.isnan(found[0])
    assert found[1] == 1


@given(few, st.randoms(use_true_random=False))
def test_p_is_the_share_of_all_orders(values, random):
    x = np.array([random.randint(0, 4) for _ in values], dtype=float)
    y = np.array(values, dtype=float)
    found = spearman_test(x, y, n_draws=9, rng=stream(0))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert found.undefined == "all tied on one side"
        return
    orders = np.array([list(order) for order in itertools.permutations(y)])
    rhos = np.abs(row_spearman(np.broadcast_to(x, orders.shape), orders))
    own = abs(row_spearman(x[None, :], y[None, :])[0])
    assert found.p == pytest.approx((rhos >= own - 1e-9).mean())
    assert found.attainable_p == pytest.approx((rhos >= rhos.max() - 1e-9).mean())
    assert found.p >= found.attainable_p


def test_eight_systems_in_the_same_order_reach_two_in_all_orders():
    found = spearman_test(np.arange(8.0), np.arange(8.0), n_draws=9, rng=stream(0))
    assert found.p == found.attainable_p == pytest.approx(2 / 40320)


def test_many_things_are_drawn_and_never_have_p_0():
    rng = np.random.default_rng(1)
    same = spearman_test(np.arange(12.0), np.arange(12.0), n_draws=999, rng=stream(1))
    assert same.p == same.attainable_p == 0.001
    free = spearman_test(rng.normal(size=12), rng.normal(size=12), n_draws=999, rng=stream(1))
    assert 0.001 < free.p <= 1


@given(st.integers(0, 10_000), st.integers(3, 7), st.integers(1, 4), st.integers(1, 4))
def test_the_smallest_share_is_counted_as_enumeration_counts_it(seed, n, levels_x, levels_y):
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, levels + 1, n).astype(float) for levels in (levels_x, levels_y))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return
    orders = np.array(list(itertools.permutations(y)))
    rhos = np.abs(row_spearman(np.broadcast_to(x, orders.shape), orders))
    found = spearman_test(x, y, n_draws=9, rng=stream(0))
    assert found.attainable_p == pytest.approx((rhos >= rhos.max() - 1e-9).mean(), abs=1e-15)


@pytest.mark.parametrize(("n", "n_first"), [(9, 1), (10, 3), (12, 6)])
def test_ties_of_more_than_eight_things_limit_what_p_can_be(n, n_first):
    x, y = np.arange(float(n)), np.repeat([1.0, 0.0], [n_first, n - n_first])
    found = spearman_test(x, y, n_draws=999, rng=stream(0))
    assert found.attainable_p == pytest.approx(2 / math.comb(n, n_first))
    assert found.p >= found.attainable_p


def test_the_sequence_of_the_things_does_not_move_p():
    x, y = np.random.default_rng(2).normal(size=(2, 11))
    order = np.random.default_rng(3).permutation(11)
    one = spearman_test(x, y, n_draws=99, rng=stream(4))
    assert spearman_test(x[order], y[order], n_draws=99, rng=stream(4)) == one


def test_two_things_are_too_few():
    assert "fewer than three" in spearman_test(np.arange(2.0), np.arange(2.0), n_draws=9, rng=stream(0)).undefined


def test_a_correlation_has_scipys_value_and_t_and_fishers_interval():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 9))
    pearson, spearman = (correlation(x, y, confidence=0.9, is_rank=is_rank) for is_rank in (False, True))
    expected = stats.pearsonr(x, y)
    assert (pearson.value, pearson.p, pearson.df) == pytest.approx((expected.statistic, expected.pvalue, 7))
    assert (pearson.low, pearson.high) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    expected = stats.spearmanr(x, y)
    assert (spearman.value, spearman.p) == pytest.approx((expected.statistic, expected.pvalue))
    half = stats.norm.ppf(0.95) * np.sqrt((1 + spearman.value**2 / 2) / 6)
    assert (spearman.low, spearman.high) == pytest.approx(np.tanh(np.arctanh(spearman.value) + np.array([-half, half])))
    assert np.isnan(spearman.attainable_p)


def test_with_random_numbers_the_p_of_a_rank_correlation_is_that_of_all_orders():
    x, y = np.arange(6.0), np.array([1.0, 0, 3, 2, 5, 4])
    found = correlation(x, y, confidence=0.95, is_rank=True, n_draws=9, rng=np.random.default_rng(0))
    test = spearman_test(x, y, n_draws=9, rng=np.random.default_rng(0))
    assert (found.p, found.attainable_p) == (test.p, test.attainable_p)
    assert np.isnan(found.df)


@pytest.mark.parametrize("is_rank", [False, True])
def test_a_correlation_says_why_it_or_its_interval_is_missing(is_rank):
    x = np.arange(5.0)
    assert "fewer than three" in correlation(x[:2], x[:2], confidence=0.95, is_rank=is_rank).undefined
    assert "does not vary" in correlation(x, np.ones(5), confidence=0.95, is_rank=is_rank).undefined
    whole = correlation(x, -x, confidence=0.95, is_rank=is_rank)
    assert (whole.value, whole.p, np.isnan(whole.low)) == (-1, 0, True)
    assert whole.no_interval == ("the orders are the same, or opposite" if is_rank else "the points lie on a line")
    assert "fewer than four" in correlation(x[:3], x[:3] ** 2 % 3, confidence=0.95, is_rank=is_rank).no_interval
