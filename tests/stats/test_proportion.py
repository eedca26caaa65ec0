"""Intervals of a share: Wilson's, for clusters, and from clusters' sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.clustered import clustered_mean
from measurand.stats.proportion import clustered_share, share_interval, unanimous_share, wilson


def test_the_published_interval_of_a_win_rate_of_603_is_that_of_240_comparisons():
    low, high, _ = wilson(0.603 * 240, 240, confidence=0.95)
    assert (round(low, 3), round(high, 3)) == (0.540, 0.663)


@given(st.integers(1, 400), st.floats(0, 1), st.sampled_from([0.8, 0.95, 0.99]))
def test_whole_numbers_of_successes_give_what_scipy_gives(n, share, confidence):
    k = round(share * n)
    expected = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    found = wilson(k, n, confidence=confidence)
    assert found[:2] == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(0, 100), st.integers(1, 100), st.booleans())
def test_swapping_successes_and_failures_mirrors_the_interval(a, b, swap):
    a, b = (b / 2, a / 2) if swap else (a / 2, b / 2)
    one, other = wilson(a, a + b, confidence=0.9), wilson((a + b) - a, a + b, confidence=0.9)
    assert 0 <= one.low <= a / (a + b) + 1e-12
    assert a / (a + b) - 1e-12 <= one.high <= 1
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)


def test_no_trials_have_no_interval_and_wrong_counts_are_refused():
    assert np.isnan(wilson(0, 0, confidence=0.95).low)
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2, confidence=0.95)


def test_clusters_sums_give_what_their_single_trials_give():
    rng = np.random.default_rng(3)
    cluster, won = rng.integers(0, 7, 200), rng.random(200) < 0.6
    mean = clustered_mean(won.astype(float), cluster, confidence=0.95)
    sums = np.bincount(cluster, weights=won), np.bincount(cluster).astype(float)
    assert clustered_share(*sums, confidence=0.95)[:2] == pytest.approx((mean.low, mean.high), abs=1e-12)


def test_the_ends_of_a_share_stay_between_0_and_1_and_need_two_clusters():
    found = clustered_share(np.array([10.0, 4.0]), np.array([10.0, 10.0]), confidence=0.95)
    assert (found.low, found.high) == (0.0, 1.0)
    assert np.isnan(clustered_share(np.array([3.0, 0.0]), np.array([4.0, 0.0]), confidence=0.95).low)


def test_shares_of_independent_hits_have_wilsons_interval():
    hits = np.array([1.0] * 30 + [0.0] * 10)
    found = share_interval(hits, np.arange(40), confidence=0.95)
    assert found == wilson(30, 40, confidence=0.95)
    none = share_interval(np.zeros(40), np.arange(40), confidence=0.95)
    assert none.low == 0
    assert 0.05 < none.high < 0.12
    assert np.isnan(share_interval(hits, np.zeros(40, dtype=int), confidence=0.95).low)


def test_copies_within_clusters_do_not_narrow_the_interval():
    hits, cluster = np.array([1.0, 0, 1, 1, 0, 1, 1, 0]), np.arange(8)
    single = share_interval(hits, cluster, confidence=0.95)
    copied = share_interval(np.repeat(hits, 50), np.repeat(cluster, 50), confidence=0.95)
    assert copied.low < single.low
    assert copied.high > single.high
    assert copied[:2] == pytest.approx(single[:2], abs=0.08)  # what copies share has to be found out
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        chance = np.repeat(rng.beta(2, 1, size=40), 10)
        low, high, _ = share_interval((rng.random(400) < chance).astype(float), np.arange(400) // 10, confidence=0.95)
        held += low <= 2 / 3 <= high
    assert 0.92 <= held / 300 <= 0.98


def test_clusters_that_agree_tell_what_their_number_can():
    all_won = share_interval(np.ones(30), np.arange(30) // 3, confidence=0.95)
    assert unanimous_share(1.0, 10, confidence=0.95)[:2] == pytest.approx(all_won[:2])
    low, high, _ = unanimous_share(0.75, 3, confidence=0.95)
    assert low < 0.2 < 0.75 < 0.95 < high
    many = unanimous_share(0.5, 100_000, confidence=0.95)
    assert many[:2] == pytest.approx(wilson(50_000, 100_000, confidence=0.95)[:2], abs=1e-5)
    assert np.isnan(unanimous_share(1.0, 1, confidence=0.95).low)
