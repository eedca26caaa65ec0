import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.power import detectable, power_of


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
