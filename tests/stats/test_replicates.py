"""What replicates test: p values against loops over replicates, simultaneous intervals against those of one pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.stats.replicates import bootstrap_p, max_t

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
