"""Do the slopes of several groups differ?"""

import numpy as np
import pytest
from scipy import stats

from measurand.stats.clustered import clustered_slope
from measurand.stats.slopes import slopes_differ, variance_interval


def made(seed, n_clusters=60, n_groups=3, slopes=(0.2, 0.2, 0.2), size=3):
    rng = np.random.default_rng(seed)
    cluster, group, _ = (i.ravel() for i in np.indices((n_clusters, n_groups, size)))
    x = rng.normal(size=len(cluster)) + rng.normal(size=n_clusters)[cluster]
    y = np.array(slopes)[group] * x + rng.normal(size=n_clusters)[cluster] + rng.normal(size=len(cluster))
    return x, y, group, cluster


def test_two_groups_in_clusters_of_their_own_are_a_t_test_of_two_slopes():
    x, y, group, cluster = made(1, n_groups=2, slopes=(0.2, 0.5))
    cluster = cluster + 1000 * group
    found = slopes_differ(x, y, group, cluster)
    each = [clustered_slope(x[group == g], y[group == g], cluster[group == g]) for g in (0, 1)]
    # Standard errors of the slopes carry G/(G-2) of their own clusters, the joint covariance G/(G-1) of all.
    n = 60
    variance = sum(s.standard_error**2 for s in each) * (n - 2) / n * (2 * n) / (2 * n - 1)
    assert found.statistic == pytest.approx((each[0].slope - each[1].slope) ** 2 / variance, rel=1e-10)
    assert (found.df1, found.df2) == (1, 119)


def test_the_order_and_the_names_of_groups_do_not_matter():
    x, y, group, cluster = made(2, slopes=(0.1, 0.3, 0.4))
    one = slopes_differ(x, y, group, cluster)
    other = slopes_differ(x, y, 10 - 3 * group, cluster[::-1][::-1])
    assert other.statistic == pytest.approx(one.statistic, rel=1e-9)
    assert slopes_differ(1000 * x + 5, y - 7, group, cluster).statistic == pytest.approx(one.statistic, rel=1e-6)


def test_it_keeps_its_level_and_finds_what_is_there():
    equal = [slopes_differ(*made(seed)).p < 0.05 for seed in range(400)]
    assert 0.02 < np.mean(equal) < 0.085
    assert np.mean([slopes_differ(*made(seed, slopes=(0.0, 0.2, 0.4))).p < 0.05 for seed in range(40)]) > 0.8


def test_without_what_it_needs_it_says_so():
    x, y, group, cluster = made(3)
    assert "fewer than two slopes" in slopes_differ(x, y, np.zeros_like(group), cluster).undefined
    assert "needs 6" in slopes_differ(x, y, group, cluster % 5).undefined
    assert "no error" in slopes_differ(x, 2 * x, group, cluster).undefined
    assert "more than 500" in slopes_differ(x[:501], y[:501], np.arange(501), cluster[:501]).undefined
    only_two = np.where(group == 2, 1.0, x)
    assert slopes_differ(only_two, y, group, cluster).df1 == 1


def test_the_interval_of_a_variance_is_that_of_chi_square():
    low, high, _ = variance_interval(2.5, 7.5, confidence=0.9)
    assert (7.5 * 2.5 / low, 7.5 * 2.5 / high) == pytest.approx(tuple(stats.chi2.ppf([0.95, 0.05], 7.5)))


def test_next_to_no_degrees_of_freedom_give_no_interval_and_an_interval_holds_its_estimate():
    for df in (0.0, 0.001, 0.03, 0.999, np.nan):
        assert np.isnan(variance_interval(2.5, df, confidence=0.95).low)
    for df in (1.0, 1.3, 2.0, 40.0):
        for confidence in (0.1, 0.5, 0.95):
            low, high, _ = variance_interval(2.5, df, confidence=confidence)
            assert low <= 2.5 <= high < np.inf
