"""What a few points say of the share of variance that a line explains in their population."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from measurand.stats.inference import Interval
from measurand.stats.r_squared import _below, _terms, fisher_interval, line, r_squared_interval, squared


def below_by_density(r_squared, rho, n):
    """P(R² ≤ r²) from Hotelling's density of the correlation of n normal pairs."""

    def density(r):
        log = np.log(n - 2) + special.gammaln(n - 1) - special.gammaln(n - 0.5) - 0.5 * np.log(2 * np.pi)
        log += (n - 1) / 2 * np.log1p(-rho * rho) + (n - 4) / 2 * np.log1p(-r * r) - (n - 1.5) * np.log1p(-rho * r)
        return np.exp(log) * special.hyp2f1(0.5, 0.5, n - 0.5, (1 + rho * r) / 2)

    edge = np.sqrt(r_squared)
    return integrate.quad(density, -edge, edge, limit=200)[0]


@pytest.mark.parametrize(("r_squared", "rho", "n"), [(0.3, 0.5, 8), (0.786, 0.9, 8), (0.1, 0.3, 30), (0.9, 0.98, 6)])
def test_the_distribution_of_r_squared_is_that_of_the_squared_correlation(r_squared, rho, n):
    assert _below(r_squared, rho**2, n - 1, 1) == pytest.approx(below_by_density(r_squared, rho, n), rel=1e-7)


def test_several_regressors_have_the_distribution_that_samples_have():
    rng = np.random.default_rng(11)
    n, p, rho_squared, draws = 12, 3, 0.5, 20_000
    x, e = rng.normal(size=(draws, n, p)), rng.normal(size=(draws, n))
    y = np.sqrt(rho_squared / p) * x.sum(axis=2) + np.sqrt(1 - rho_squared) * e
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    fitted = np.linalg.solve(x.swapaxes(1, 2) @ x, x.swapaxes(1, 2) @ y[..., None])
    r_squared = ((x @ fitted)[..., 0] ** 2).sum(axis=1) / (y**2).sum(axis=1)
    for bar in (0.4, 0.6, 0.8):
        assert _below(bar, rho_squared, n - 1, p) == pytest.approx((r_squared <= bar).mean(), abs=0.012)


def test_with_nothing_to_explain_it_is_the_beta_of_the_f_test():
    assert _below(0.4, 0.0, 9, 2) == pytest.approx(stats.f.cdf((0.4 / 2) / (0.6 / 7), 2, 7), rel=1e-12)


def test_each_end_is_where_a_tail_has_its_share():
    low, high, _ = r_squared_interval(0.787, 8, confidence=0.95)
    assert 1 - _below(0.787, low, 7, 1) == pytest.approx(0.025, abs=1e-9)
    assert _below(0.787, high, 7, 1) == pytest.approx(0.025, abs=1e-9)


@settings(max_examples=30)
@given(st.floats(0, 0.999), st.integers(3, 60))
def test_the_interval_lies_in_0_to_1_and_narrows_with_points(r_squared, n):
    low, high, _ = r_squared_interval(r_squared, n, confidence=0.95)
    assert 0 <= low <= high <= 1
    wider = r_squared_interval(r_squared, n, confidence=0.99)
    assert wider.low <= low + 1e-9
    assert high <= wider.high + 1e-9


@pytest.mark.parametrize("left", [1e-4, 1e-6, 1e-9, 1e-11])
def test_close_to_a_line_the_interval_scales_with_what_is_left(left):
    # As both go to 1, (1 - R²) / (1 - ρ²) has a distribution of its own: the ends keep their ratio to what is left.
    ends = np.array(r_squared_interval(1 - left, 8, confidence=0.95)[:2])
    limit = np.array(r_squared_interval(1 - 1e-5, 8, confidence=0.95)[:2])
    assert (1 - ends) / left == pytest.approx((1 - limit) / 1e-5, rel=2e-3 if left > 1e-10 else 1e-2)


def test_the_integral_goes_on_where_the_sum_ends():
    for n, p in ((7, 1), (40, 2)):
        rho_squared = 1 - 3e-5
        one_by_one = _terms(np.arange(2_000_000.0), 1 - 5e-5, rho_squared, n, p).sum()
        assert _below(1 - 5e-5, rho_squared, n, p) == pytest.approx(one_by_one, rel=1e-7)


def test_too_few_points_or_a_perfect_line_have_none():
    for found in (r_squared_interval(0.5, 2, confidence=0.95), r_squared_interval(1.0, 8, confidence=0.95)):
        assert np.isnan(found.low)
    assert np.isnan(fisher_interval(0.5, 3, confidence=0.95).low)
    assert np.isnan(fisher_interval(-1.0, 8, confidence=0.95).low)


def test_the_published_r_squared_of_eight_systems_says_very_little(shared):
    published = json.loads((shared / "golden" / "two_emojis.json").read_text())
    mos, emoji, _, _ = np.array(list(published["table3"].values())).T
    fitted = line(emoji, mos)
    r = np.corrcoef(emoji, mos)[0, 1]
    assert r**2 == pytest.approx(published["length"]["R2"], abs=0.002)
    low, high, _ = squared(fisher_interval(r, 8, confidence=0.95))
    assert (round(low, 2), round(high, 2)) == (0.23, 0.96) or (round(low, 2), round(high, 2)) == (0.24, 0.96)
    exact = r_squared_interval(r**2, 8, confidence=0.95)
    assert exact[:2] == pytest.approx((low, high), abs=0.04)
    assert fitted.df == 6


@given(st.floats(-0.99, 0.99), st.integers(4, 100))
def test_fishers_interval_holds_its_correlation_and_mirrors(r, n):
    one, other = (fisher_interval(sign * r, n, confidence=0.95, rank=True) for sign in (1, -1))
    assert one.low < r < one.high
    assert one.low == pytest.approx(-other.high)


def test_fishers_interval_of_a_correlation_is_scipys():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 14))
    expected = stats.pearsonr(x, y)
    ends = expected.confidence_interval(0.9)
    assert fisher_interval(expected.statistic, 14, confidence=0.9)[:2] == pytest.approx((ends.low, ends.high))


def test_a_square_begins_at_0_where_the_sign_is_open():
    assert squared(Interval(-0.5, 0.2))[:2] == (0.0, 0.25)
    assert squared(Interval(-0.5, -0.2))[:2] == pytest.approx((0.04, 0.25))


def test_a_line_is_scipys():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 7))
    expected = stats.linregress(x, y)
    found = line(x, y)
    assert (found.slope, found.standard_error) == pytest.approx((expected.slope, expected.stderr))
    assert found.p == pytest.approx(expected.pvalue)


def test_a_line_without_spread_or_error_says_so():
    assert "does not vary" in line(np.full(4, 1e6), np.arange(4.0)).undefined
    assert "no error" in line(np.arange(4.0), 2 * np.arange(4.0) + 1).undefined
    assert "fewer than three" in line(np.arange(2.0), np.arange(2.0)).undefined


@pytest.mark.parametrize("r_squared", [0.0, 1e-12, 0.00006, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("confidence", [0.5, 0.95])
def test_the_exact_interval_holds_its_estimate(r_squared, confidence):
    low, high, _ = r_squared_interval(r_squared, 8, confidence=confidence)
    assert 0 <= low <= r_squared <= high <= 1
