"""Ratios of sums and lines with cluster-robust errors: matrix algebra, the bootstrap and simulated coverage agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.clustered import clustered_mean, clustered_slope
from measurand.stats.inference import bootstrap, clusters, stream
from measurand.stats.linearised import combined, interval, line, mean_of, quotient, ratio_of_sums


def drawn(n=60, seed=0, n_clusters=None):
    rng = np.random.default_rng(seed)
    x = np.rint(np.exp(4 + 0.5 * rng.standard_normal(n)))
    y = np.rint(40 + 0.3 * x * (1 + 0.1 * rng.standard_normal(n)))
    return x, y, np.arange(n) % (n_clusters or n)


def test_a_mean_is_the_clustered_mean_with_its_t_interval():
    _, y, cluster = drawn(n_clusters=17)
    ours = ratio_of_sums(y, np.ones(len(y)), cluster)
    theirs = clustered_mean(y, cluster, confidence=0.9)
    assert ours.value == pytest.approx(theirs.mean, rel=1e-14)
    assert interval(ours, confidence=0.9)[:2] == pytest.approx((theirs.low, theirs.high), rel=1e-12)


def test_a_slope_is_the_clustered_slope_and_its_jackknife_error_is_a_little_larger():
    x, y, cluster = drawn(n=400, n_clusters=200)
    ours, theirs = line(x, y, cluster).slope, clustered_slope(x, y, cluster)
    assert ours.value == pytest.approx(theirs.slope, rel=1e-12)
    assert theirs.standard_error < ours.standard_error < 1.1 * theirs.standard_error
    assert ours.df == theirs.df


def test_intercept_and_slope_have_the_errors_of_lines_fitted_without_each_cluster():
    x, y, cluster = drawn(n_clusters=20)
    design = np.column_stack([np.ones(len(x)), x])
    whole = np.linalg.lstsq(design, y, rcond=None)[0]
    without = np.array([np.linalg.lstsq(design[cluster != g], y[cluster != g], rcond=None)[0] for g in range(20)])
    errors = np.sqrt(19 / 20 * ((without - whole) ** 2).sum(axis=0))
    found = line(x, y, cluster)
    assert [found.intercept.value, found.slope.value] == pytest.approx(whole.tolist(), rel=1e-10)
    assert [found.intercept.standard_error, found.slope.standard_error] == pytest.approx(errors.tolist(), rel=1e-8)
    assert found.r_squared == pytest.approx(stats.pearsonr(x, y).statistic ** 2, rel=1e-10)


def test_the_error_of_a_ratio_is_that_of_the_bootstrap_over_clusters():
    x, y, cluster = drawn(n=600, n_clusters=200)
    units = clusters(cluster, np.arange(600), 600)
    replicates = bootstrap(lambda w: (w @ y) / (w @ x), units, n_replicates=4000, rng=stream(1, "test"))
    assert ratio_of_sums(y, x, cluster).standard_error == pytest.approx(replicates.std(), rel=0.05)


def test_a_template_share_has_the_error_of_the_bootstrap():
    x, y, cluster = drawn(n=400)
    found = quotient(line(x, y, cluster).intercept, ratio_of_sums(y, np.ones(400), cluster))

    def share(weights):
        n = weights.sum(axis=1)
        mean_x, mean_y = weights @ x / n, weights @ y / n
        slope = (weights @ (x * y) / n - mean_x * mean_y) / (weights @ (x * x) / n - mean_x**2)
        return (mean_y - slope * mean_x) / mean_y

    units = clusters(cluster, np.arange(400), 400)
    replicates = bootstrap(share, units, n_replicates=4000, rng=stream(2, "test"))
    assert found.standard_error == pytest.approx(replicates.std(), rel=0.07)


def test_shared_clusters_cancel_in_the_quotient_of_a_number_with_itself():
    x, y, cluster = drawn()
    rate = ratio_of_sums(y, x, cluster)
    alike = quotient(rate, rate)
    assert alike.value == 1
    assert alike.standard_error == pytest.approx(0, abs=1e-15)
    assert mean_of([rate, rate]).standard_error == pytest.approx(rate.standard_error, rel=1e-12)


def test_of_disjoint_clusters_variances_add_and_the_smaller_degrees_of_freedom_count():
    x, y, cluster = drawn(n=30)
    a, b = ratio_of_sums(y[:10], x[:10], cluster[:10]), ratio_of_sums(y[10:], x[10:], cluster[10:])
    difference = combined(a.value - b.value, [(1.0, a), (-1.0, b)])
    assert difference.standard_error == pytest.approx(np.hypot(a.standard_error, b.standard_error), rel=1e-12)
    assert difference.df == 9


@given(factor=st.floats(0.01, 100), shift=st.floats(-50, 50))
def test_units_of_tokens_and_sizes_change_nothing_but_themselves(factor, shift):
    x, y, cluster = drawn(n=25)
    plain, scaled = line(x, y, cluster), line(factor * x, y + shift, cluster)
    assert scaled.slope.value * factor == pytest.approx(plain.slope.value, rel=1e-9)
    assert scaled.intercept.value - shift == pytest.approx(plain.intercept.value, rel=1e-9, abs=1e-9)
    assert scaled.intercept.standard_error == pytest.approx(plain.intercept.standard_error, rel=1e-8)


def test_what_cannot_be_estimated_says_why():
    nothing = np.empty(0)
    assert ratio_of_sums(nothing, nothing, np.empty(0, dtype=np.int64)).undefined == "no observation"
    assert "denominator is 0" in ratio_of_sums(np.ones(2), np.zeros(2), np.arange(2)).undefined
    assert "needs three" in line(np.arange(2.0), np.arange(2.0), np.arange(2)).slope.undefined
    assert "do not vary" in line(np.full(4, 7.0), np.arange(4.0), np.arange(4)).intercept.undefined
    assert "but one item" in line(np.array([7.0, 7, 7, 9]), np.arange(4.0), np.arange(4)).intercept.undefined
    one = ratio_of_sums(np.ones(3), np.ones(3), np.zeros(3, dtype=np.int64))
    assert np.isnan(interval(one, confidence=0.95).low)


def test_an_interval_on_the_logarithm_has_factors_and_never_reaches_zero():
    x, y, cluster = drawn()
    rate = ratio_of_sums(y, x, cluster)
    low, high, _ = interval(rate, confidence=0.95, is_ratio=True)
    assert low * high == pytest.approx(rate.value**2, rel=1e-12)
    wild = rate._replace(influence=rate.influence * 1e6)
    low, high, _ = interval(wild, confidence=0.95, is_ratio=True)
    assert low >= 0
    assert high == np.inf


def test_intervals_hold_their_level_on_skewed_sources():
    rng = np.random.default_rng(5)
    hits = np.zeros(3)
    tries = 1000
    for _ in range(tries):
        x = np.exp(4 + 0.5 * rng.standard_normal(120))
        y = 40 + 0.3 * x * (1 + 0.1 * rng.standard_normal(120))
        fitted = line(x, y, np.arange(120))
        rate = ratio_of_sums(y, x, np.arange(120))
        truths = (40.0, 0.3, 0.3 + 40 / np.exp(4 + 0.125))
        for at, (one, truth) in enumerate(zip((fitted.intercept, fitted.slope, rate), truths, strict=True)):
            low, high, _ = interval(one, confidence=0.95)
            hits[at] += low <= truth <= high
    assert (hits / tries > 0.91).all(), hits / tries
    assert (hits / tries < 0.98).all(), hits / tries
