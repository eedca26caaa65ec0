import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.power import detectable, expected_range, power_of


@given(st.floats(1, 5000), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.sampled_from([0.01, 0.05]))
def test_the_detectable_difference_is_found_with_the_power_asked_for(df, power, alpha):
    noncentral = float(detectable(df, power=power, alpha=alpha))
    critical = stats.t.ppf(1 - alpha / 2, df)
    assert stats.nct.sf(critical, df, noncentral) == pytest.approx(power, abs=2e-5)


def test_with_many_degrees_of_freedom_it_is_the_normal_one():
    assert float(detectable(np.inf, power=0.8, alpha=0.05)) == pytest.approx(
        stats.norm.ppf(0.975) + stats.norm.ppf(0.8), abs=1e-12
    )


def test_cohens_table_of_the_t_test_is_reproduced():
    # Cohen (1988), table 2.3.5: two groups of n, d, alpha .05 two-sided; power in percent.
    for n, d, percent in [(20, 0.5, 33), (64, 0.5, 80), (26, 0.8, 81), (10, 1.0, 56), (100, 0.2, 29)]:
        found = float(power_of(d, np.sqrt(2 / n), 2 * n - 2, alpha=0.05))
        assert 100 * found == pytest.approx(percent, abs=1.0)


@given(st.floats(0, 20), st.floats(0.01, 5), st.floats(1, 1e5))
def test_power_lies_between_the_level_and_one(difference, error, df):
    found = float(power_of(difference, error, df, alpha=0.05))
    assert 0.05 <= found <= 1


def test_power_grows_with_the_difference_and_never_becomes_undefined():
    for df in (1, 1.5, 2, 3, 5, 14.38, 100, 1e4, 1e9, np.inf):
        found = power_of(np.linspace(0, 50, 200), 1.0, df, alpha=0.05)
        assert not np.isnan(found).any()
        assert (np.diff(found) >= -1e-6).all(), df


@pytest.mark.parametrize(("df", "alpha"), [(1, 0.01), (1, 0.001), (1.5, 0.01), (2, 0.001), (3, 0.0001)])
def test_power_goes_on_growing_with_few_degrees_of_freedom(df, alpha):
    critical = stats.t.ppf(1 - alpha / 2, df)
    for noncentral in (20, 29.9, 30.1, 35, 100, 1000):
        # T > t where S < (δ + Z) / t: the normal part integrated, S² a chi-squared over its degrees of freedom.
        z = np.linspace(-8, 8, 4001)
        within = stats.chi2.cdf(df * (np.maximum(noncentral + z, 0) / critical) ** 2, df)
        expected = np.trapezoid(within * stats.norm.pdf(z), z)
        assert float(power_of(noncentral, 1.0, df, alpha=alpha)) == pytest.approx(max(expected, alpha), rel=1e-5)


def test_the_range_of_so_many_is_that_of_drawn_ones():
    drawn = np.random.default_rng(3).normal(size=(20_000, 12))
    assert expected_range(12) == pytest.approx(np.ptp(drawn, axis=1).mean(), rel=5e-3)
    # Tippett's d2 of two is 2 / sqrt(pi); of one there is no range.
    assert expected_range(2) == pytest.approx(2 / np.sqrt(np.pi), rel=1e-9)
    assert expected_range(1) == pytest.approx(0, abs=1e-12)
