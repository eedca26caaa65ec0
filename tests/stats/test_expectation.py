import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import expit

from measurand.stats.expectation import expected_value, log_odds_bounds, share_bounds

probabilities = st.floats(0, 1).map(lambda x: round(x, 4)) | st.sampled_from([0.0, 1e-300, 1e-17, 1e-9])


@st.composite
def boxes(draw, *, most=6):
    """Draw distinct values with bounds of their probabilities, and probabilities inside."""
    n = draw(st.integers(1, most))
    values = np.array(draw(st.lists(st.integers(-5, 9), min_size=n, max_size=n, unique=True)), dtype=float)
    pairs = [sorted(draw(st.tuples(probabilities, probabilities))) for _ in range(n)]
    low, high = np.array(pairs).T
    inside = low + np.array([draw(st.floats(0, 1)) for _ in range(n)]) * (high - low)
    return values, low, high, np.clip(inside, low, high)


def vertices(low, high):
    """Give every corner of the box that has any probability."""
    for corner in itertools.product(*zip(low, high, strict=True)):
        p = np.array(corner)
        if p.sum() > 0:
            yield p


# Expected value


def test_an_expected_rating_worked_by_hand():
    """Ratings 1 to 3 with .1, .3, .1 and half of the mass elsewhere: (.1 + .6 + .3) / .5 = 2."""
    p = np.array([0.1, 0.3, 0.1])
    assert expected_value(np.array([1.0, 2.0, 3.0]), p, p) == pytest.approx((2, 2, 2), abs=1e-15)


@given(boxes())
def test_the_expected_value_is_inside_its_bounds(drawn):
    """X9."""
    values, low, high, p = drawn
    assume(p.sum() > 0)
    found = expected_value(values, low, high)
    true = math.fsum(values * p) / math.fsum(p)
    assert found.low - 1e-12 <= true <= found.high + 1e-12
    assert found.low <= found.value <= found.high


@given(boxes())
def test_the_bounds_of_an_expected_value_are_attained(drawn):
    """Brute force over all corners of the box: the extremes of a ratio of sums lie at corners."""
    values, low, high, _ = drawn
    corners = [math.fsum(values * p) / math.fsum(p) for p in vertices(low, high)]
    found = expected_value(values, low, high)
    if not corners:
        assert math.isnan(found.value)
    else:
        assert found[1:] == pytest.approx((min(corners), max(corners)), abs=1e-12)


@given(boxes())
def test_an_expected_value_never_leaves_the_scale(drawn):
    """All probability on the highest rating is that rating, and not a rounding error above it."""
    values, low, high, p = drawn
    for found in (expected_value(values, low, high), expected_value(values, p, p)):
        if not math.isnan(found.value):
            assert values.min() <= found.low <= found.value <= found.high <= values.max()


@pytest.mark.parametrize("p", [0.1, 0.3, 0.7, 0.95])
def test_all_probability_on_one_rating_is_that_rating(p):
    found = expected_value(np.array([0.0, 7.0]), np.array([0.0, p]), np.array([0.0, p]))
    assert found == (7.0, 7.0, 7.0)


@given(boxes(), st.randoms(use_true_random=False))
def test_the_order_of_the_values_makes_no_difference(drawn, random):
    values, low, high, _ = drawn
    order = list(range(len(values)))
    random.shuffle(order)
    found = expected_value(values[order], low[order], high[order])
    assert found == pytest.approx(expected_value(values, low, high), abs=1e-12, nan_ok=True)


def test_no_probability_at_all_has_no_expected_value():
    nothing = np.zeros(3)
    assert all(math.isnan(one) for one in expected_value(np.arange(3.0), nothing, nothing))


def test_nothing_seen_leaves_the_whole_scale():
    found = expected_value(np.arange(4.0), np.zeros(4), np.full(4, 0.01))
    assert found[1:] == (0.0, 3.0)


# Log-odds


@given(st.tuples(*[st.floats(1e-12, 1)] * 4), st.floats(0, 1), st.floats(0, 1))
def test_log_odds_are_inside_their_bounds_and_attain_them(ends, a, b):
    """X9."""
    (l0, h0), (l1, h1) = sorted(map(math.log, ends[:2])), sorted(map(math.log, ends[2:]))
    found = log_odds_bounds((l0, l1), (h0, h1))
    true = (l0 + a * (h0 - l0)) - (l1 + b * (h1 - l1))
    assert found.low - 1e-12 <= true <= found.high + 1e-12
    assert (found.low, found.high) == pytest.approx((l0 - h1, h0 - l1), abs=1e-12)
    assert found.low <= found.value <= found.high


@given(st.floats(1e-12, 1), st.floats(1e-12, 1))
def test_exact_log_odds_are_the_logit_of_the_share(yes, no):
    found = log_odds_bounds((math.log(yes), math.log(no)), (math.log(yes), math.log(no)))
    assert found.value == found.low == found.high
    assert expit(found.value) == pytest.approx(yes / (yes + no), abs=1e-12)


def test_what_was_not_seen_bounds_but_never_decides_the_log_odds():
    """X6: a no that nobody saw is neither 0 nor 1 - P(yes)."""
    found = log_odds_bounds((-0.1, -math.inf), (-0.05, -4.0))
    assert math.isnan(found.value)
    assert (found.low, found.high) == (-0.1 + 4.0, math.inf)


@pytest.mark.parametrize("high", [(-math.inf, -math.inf), (-math.inf, -1.0), (-1.0, -math.inf)])
def test_an_impossible_answer_beside_an_unseen_one_has_no_log_odds(high):
    """X6: nothing was seen, and what is impossible does not make the other one certain."""
    assert all(math.isnan(one) for one in log_odds_bounds((-math.inf, -math.inf), high))


def test_an_impossible_answer_makes_the_odds_infinite():
    assert log_odds_bounds((-1.0, -math.inf), (-1.0, -math.inf)) == (math.inf,) * 3
    assert log_odds_bounds((-math.inf, -1.0), (-math.inf, -1.0)) == (-math.inf,) * 3


def test_two_answers_swapped_turn_the_bounds_round():
    found = log_odds_bounds((-2.0, -1.5), (-1.0, -0.5))
    back = log_odds_bounds((-1.5, -2.0), (-0.5, -1.0))
    assert back == pytest.approx((-found.value, -found.high, -found.low), abs=1e-15)


# Shares


@given(boxes())
@example((np.arange(2.0), np.array([0.1, 0.0]), np.array([0.7, 0.0]), np.array([0.1, 0.0])))
def test_shares_are_inside_their_bounds_and_between_0_and_1(drawn):
    """X9."""
    _, low, high, p = drawn
    assume(p.sum() > 0)
    least, most = share_bounds(low, high)
    true = p / math.fsum(p)
    there = ~np.isnan(least)
    assert np.all(least[there] - 1e-12 <= true[there])
    assert np.all(true[~np.isnan(most)] <= most[~np.isnan(most)] + 1e-12)
    assert np.all(least[there] >= 0)
    assert np.all(most[~np.isnan(most)] <= 1)


@given(boxes())
def test_the_bounds_of_shares_are_attained(drawn):
    _, low, high, _ = drawn
    corners = [p / math.fsum(p) for p in vertices(low, high)]
    least, most = share_bounds(low, high)
    for i in range(len(low)):
        if not math.isnan(least[i]) and corners:
            assert least[i] == pytest.approx(min(one[i] for one in corners), abs=1e-12)
        if not math.isnan(most[i]) and corners:
            assert most[i] == pytest.approx(max(one[i] for one in corners), abs=1e-12)


def test_exact_shares_add_up_to_one():
    p = np.array([0.5, 0.25, 0.05])
    least, most = share_bounds(p, p)
    assert least == pytest.approx(p / 0.8, abs=1e-15)
    assert np.array_equal(least, most)
    assert least.sum() == pytest.approx(1.0, abs=1e-15)


def test_no_probability_at_all_has_no_shares():
    least, most = share_bounds(np.zeros(2), np.zeros(2))
    assert np.isnan(least).all()
    assert np.isnan(most).all()
