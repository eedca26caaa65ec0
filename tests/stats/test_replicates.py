"""What replicates test: p values against loops over replicates, simultaneous intervals against those of one pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.stats.replicates import bootstrap_p, max_t, simultaneous_low

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=100)
REAL = st.floats(-3, 3).map(lambda x: round(x, 3))


@often
@given(REAL, st.lists(REAL, min_size=1, max_size=20))
def test_p_counts_replicates_that_stray_as_far_as_the_difference_itself(point, draws):
    hits = sum(abs(draw - point) >= abs(point) - 1e-9 for draw in draws)
    found = bootstrap_p(point, np.array(draws))
    assert found.p == pytest.approx((1 + hits) / (1 + len(draws)), abs=CLOSED)
    assert 0 < found.attainable_p == 1 / (1 + len(draws)) <= found.p <= 1


def test_p_is_never_0_and_undefined_replicates_are_left_out():
    assert bootstrap_p(5.0, np.full(99, 5.0))[:2] == pytest.approx((0.01, 0.01))
    assert bootstrap_p(5.0, np.r_[np.full(9, 5.0), np.full(50, np.nan)])[:2] == pytest.approx((0.1, 0.1))
    assert bootstrap_p(0.2, np.array([0.1, 0.3, 0.2, 0.45, np.nan]))[:2] == (2 / 5, 1 / 5)
    assert bootstrap_p(0.0, np.zeros(9))[:2] == (1, 0.1)


@pytest.mark.parametrize(("point", "draw"), [(np.nan, 1.0), (1.0, np.nan)])
def test_p_without_a_difference_or_without_replicates_is_undefined_and_says_so(point, draw):
    found = bootstrap_p(point, np.array([draw]))
    assert np.isnan(found.p)
    assert np.isnan(found.attainable_p)
    assert found.undefined


@often
@given(st.lists(st.lists(REAL, min_size=3, max_size=3), min_size=3, max_size=12))
def test_max_t_is_the_loop_over_replicates(values):
    table = np.array(values)
    found = max_t(table[0], table[1:])
    errors = table[1:].std(axis=0)
    used = [k for k in range(3) if errors[k] > CLOSED]
    for k in range(3):
        if k not in used:
            assert np.isnan(found[k])
            continue
        hits = 0
        for draw in table[1:]:
            largest = max(abs(draw[j] - table[0, j]) / errors[j] for j in used)
            hits += largest >= abs(table[0, k]) / errors[k] * (1 - 1e-10)
        assert found[k] == pytest.approx((1 + hits) / len(table), abs=CLOSED)


def test_max_t_has_no_p_where_nothing_is_defined_or_nothing_varies():
    draws = np.array([[1.5, np.nan, 0], [0.5, np.nan, 0], [1.2, np.nan, 0]])
    assert np.isnan(max_t(np.array([1.0, np.nan, 0.0]), draws)).tolist() == [False, True, True]
    assert np.isnan(max_t(np.array([1.0]), np.full((1, 1), 2.0))).all()  # one replicate does not vary
    assert np.isnan(max_t(np.array([0.3]), 0.3 + 1e-16 * np.arange(9)[:, None])).all()  # and neither does dust


def test_simultaneous_intervals_are_wider_than_those_of_one_pair_and_antisymmetric():
    rng = np.random.default_rng(1)
    points = np.array([0.5, 0.4, 0.3])
    draws = points + 0.02 * rng.standard_normal((2000, 3))
    low = simultaneous_low(points, draws, confidence=0.95)
    half = 0.1 - low[0, 1]
    assert half == pytest.approx(low[1, 0] * -1 - 0.1)
    assert 1.96 * 0.02 * np.sqrt(2) < half < 2.6 * 0.02 * np.sqrt(2)
    wider = simultaneous_low(points, draws, confidence=0.95, errors=np.full(3, 0.1))
    assert (wider[~np.eye(3, dtype=bool)] < low[~np.eye(3, dtype=bool)]).all()


def test_simultaneous_intervals_and_max_t_reject_the_same_pair_where_there_is_one():
    rng = np.random.default_rng(2)
    for shift in np.linspace(0.02, 0.08, 13):
        points = np.array([0.5 + shift, 0.5])
        draws = points + 0.02 * rng.standard_normal((999, 2))
        p = max_t(points[:1] - points[1:], draws[:, :1] - draws[:, 1:])[0]
        low = simultaneous_low(points, draws, confidence=0.95)[0, 1]
        assert (low > 0) == (p < 0.05) or abs(p - 0.05) < 0.002


def test_systems_that_do_not_differ_in_any_replicate_have_no_simultaneous_interval():
    assert np.isnan(simultaneous_low(np.array([0.4]), np.ones((9, 1)), confidence=0.95)).all()
    points = np.array([0.5, 0.5, 0.4])
    draws = np.column_stack([points[0] + np.arange(9) / 9, points[0] + np.arange(9) / 9, np.zeros(9)])
    low = simultaneous_low(points, draws, confidence=0.95)
    assert np.isnan(low[0, 1])
    assert not np.isnan(low[0, 2])
