"""Isotonic fits, squared error taken apart, bins that keep ties together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from measurand.stats.isotonic import decomposed, isotonic, quantile_bins
from measurand.stats.linearised import interval

PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 7)), min_size=2, max_size=40)


@given(PAIRS)
def test_the_fit_is_that_of_scikit_learn_ties_and_all(pairs):
    x, y = np.array(pairs, dtype=float).T
    expected = IsotonicRegression().fit(x, y).predict(x)
    assert isotonic(x, y) == pytest.approx(expected, abs=1e-9)


@given(PAIRS)
def test_parts_add_up_and_none_is_negative(pairs):
    x, y = np.array(pairs, dtype=float).T
    error, miscalibration, discrimination, uncertainty, _ = decomposed(x / 8, y / 7, np.arange(len(x)))
    total = miscalibration.value - discrimination.value + uncertainty.value
    assert error.value == pytest.approx(total, abs=1e-12)
    assert error.value == pytest.approx(np.mean((x / 8 - y / 7) ** 2), abs=1e-12)
    assert uncertainty.value == pytest.approx(np.var(y / 7), abs=1e-12)
    assert miscalibration.value >= -1e-12
    assert discrimination.value >= -1e-12


def test_an_increasing_map_of_the_answers_changes_miscalibration_alone():
    rng = np.random.default_rng(0)
    x = rng.random(60)
    y = np.clip(x + rng.normal(0, 0.2, 60), 0, 1)
    plain, mapped = (decomposed(answers, y, np.arange(60)) for answers in (x, x**3))
    assert mapped.discrimination.value == pytest.approx(plain.discrimination.value)
    assert mapped.uncertainty.value == pytest.approx(plain.uncertainty.value)
    assert mapped.miscalibration.value > plain.miscalibration.value + 0.01


def test_answers_that_are_their_own_fit_have_no_miscalibration():
    x = np.repeat([0.25, 0.75], 4)
    y = np.array([0.0, 0, 0, 1, 0, 1, 1, 1])
    found = decomposed(x, y, np.arange(8))
    assert found.miscalibration.value == 0
    assert found.discrimination.value == pytest.approx(1 / 16)
    # Two steps: s² = (8 * 3 / 16) / (8 - 2), and twice that over eight.
    assert found.optimism == pytest.approx(2 * (8 * 3 / 16 / 6) / 8)


def test_influences_say_how_errors_change_with_the_weights():
    """Against the bootstrap of a smooth case: few distinct answers, so that the fit has few steps."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 400) / 3
    y = np.clip(0.2 + 0.5 * x + rng.normal(0, 0.2, 400), 0, 1)
    found = decomposed(x, y, np.arange(400))
    draws = []
    for _ in range(400):
        chosen = rng.integers(0, 400, 400)
        draws.append([part.value for part in decomposed(x[chosen], y[chosen], np.arange(400))[:4]])
    errors = np.std(draws, axis=0)
    for part, error in zip(found[:4], errors, strict=True):
        assert part.standard_error == pytest.approx(error, rel=0.15)


def test_intervals_with_the_optimism_hold_the_miscalibration_of_calibrated_answers():
    rng = np.random.default_rng(2)
    held = plain = 0
    for _ in range(200):
        x = rng.random(100)
        y = (rng.random(100) < x).astype(float)  # calibrated: no miscalibration at all
        found = decomposed(x, y, np.arange(100))
        low = interval(found.miscalibration, confidence=0.95).low
        plain += low <= 0
        held += low - found.optimism <= 0
    assert held >= 180 > 20 > plain


def test_clusters_that_repeat_make_intervals_wider():
    rng = np.random.default_rng(3)
    x = np.repeat(rng.random(40), 5)
    y = np.clip(x + np.repeat(rng.normal(0, 0.2, 40), 5), 0, 1)
    alone, together = (
        decomposed(x, y, cluster).squared_error for cluster in (np.arange(200), np.repeat(np.arange(40), 5))
    )
    assert together.standard_error > 2 * alone.standard_error


def test_nothing_has_no_parts():
    found = decomposed(np.zeros(0), np.zeros(0), np.zeros(0, dtype=int))
    assert all(np.isnan(part.value) for part in found[:4])
    assert len(isotonic(np.zeros(0), np.zeros(0))) == 0


@given(st.lists(st.integers(0, 12), min_size=1, max_size=60), st.integers(1, 10))
def test_bins_keep_ties_together_and_rise_with_the_answers(values, most):
    x = np.array(values, dtype=float)
    bins = quantile_bins(x, most)
    assert set(bins) == set(range(bins.max() + 1))
    assert bins.max() < most
    for value in set(values):
        assert len(set(bins[x == value])) == 1
    order = np.argsort(x, kind="stable")
    assert (np.diff(bins[order]) >= 0).all()


def test_distinct_answers_fill_bins_equally():
    assert np.bincount(quantile_bins(np.random.default_rng(4).random(100), 10)).tolist() == [10] * 10
