import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from measurand.stats.expectation import share_bounds
from measurand.stats.top_k import bounds

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=120)


def by_hand(y, n, r, p_min, a, b):
    """The six formulas for yes and no, one by one: low and high of both, of the mass, of the share of yes."""
    yes_high, no_high = y + min(r, a * p_min), n + min(r, b * p_min)
    return {
        "yes": (y, yes_high),
        "no": (n, no_high),
        "mass": (y + n, y + n + min(r, (a + b) * p_min)),
        "share": (y / (y + n + min(r, b * p_min)), yes_high / (yes_high + n)),
    }


@st.composite
def distributions(draw):
    """A distribution over 30 tokens of which some are yes, some no, some only begin an answer; ties are common."""
    weights = draw(st.lists(st.sampled_from([0.0, 1.0, 1.0, 2.0, 5.0, 40.0]) | st.floats(1e-6, 50), min_size=8,
                            max_size=30))  # fmt: skip
    assume(sum(weights) > 0)
    p = np.array(weights) / sum(weights)
    kind = np.array(draw(st.lists(st.sampled_from(["yes", "no", "begins", "other"]), min_size=len(p), max_size=len(p))))
    # What follows a token that begins an answer decides how much of it is an answer, and which.
    turns_yes = np.array(draw(st.lists(st.floats(0, 1), min_size=len(p), max_size=len(p))))
    turns_no = (1 - turns_yes) * draw(st.floats(0, 1))
    order = np.argsort(-p, kind="stable")
    return p[order], kind[order], turns_yes, turns_no, draw(st.integers(1, len(p)))


def truth(p, kind, turns_yes, turns_no):
    begins = kind == "begins"
    return np.array([
        p[kind == "yes"].sum() + (p * turns_yes)[begins].sum(),
        p[kind == "no"].sum() + (p * turns_no)[begins].sum(),
    ])  # fmt: skip


def arrays(kind):
    """Which tokens are certainly, and which perhaps, yes and no."""
    return np.array([kind == "yes", kind == "no"]), np.array([kind == "begins"] * 2)


def unseen(kind, is_shown, extra=0):
    hidden = kind[~is_shown]
    return np.array([np.isin(hidden, [name, "begins"]).sum() + extra for name in ("yes", "no")])


def assert_inside(found, true, slack=CLOSED):
    assert (found.low <= true + slack).all()
    assert (true <= found.high + slack).all()
    assert found.mass_low - slack <= true.sum() <= found.mass_high + slack
    if true.sum() > 0:
        least, most = share_bounds(found.low, found.high, mass_high=found.mass_high)
        share = true / true.sum()
        assert (least <= share + slack).all()
        assert (share <= most + slack).all()


# --- Values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 1), (0, 4), (50, 50)])
def test_bounds_of_yes_and_no_are_those_of_the_formulas(a, b):
    """X9: the intervals of yes, no, mass and share, computed one by one."""
    shown = np.array([0.5, 0.2, 0.15, 0.05, 0.02])
    kind = np.array(["yes", "no", "other", "yes", "other"])
    whole, part = arrays(kind)
    found = bounds(shown, whole, part, np.array([a, b]))
    expected = by_hand(0.55, 0.2, 1 - shown.sum(), 0.02, a, b)
    for label, name in enumerate(("yes", "no")):
        assert (found.low[label], found.high[label]) == pytest.approx(expected[name], abs=CLOSED)
    assert (found.mass_low, found.mass_high) == pytest.approx(expected["mass"], abs=CLOSED)
    least, most = share_bounds(found.low, found.high)
    assert (least[0], most[0]) == pytest.approx(expected["share"], abs=CLOSED)


def test_an_unseen_yes_is_never_one_minus_no_nor_zero():
    """X6: where no yes was seen its bounds reach from 0 to what one hidden token can have, whatever no has."""
    whole, part = arrays(np.array(["no", "other", "other"]))
    found = bounds(np.array([0.9, 0.05, 0.02]), whole, part, np.array([2, 2]))
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(0.03, abs=CLOSED)  # r = 0.03, below 2 x 0.02
    assert found.high[0] < 1 - 0.9


def test_shares_are_anything_where_no_label_was_seen_at_all():
    """X6, T12: of two answers that nobody saw the ratio is not known; the mass is still bounded."""
    whole, part = arrays(np.array(["other", "other"]))
    found = bounds(np.array([0.7, 0.2]), whole, part, np.array([1, 1]))
    least, most = share_bounds(found.low, found.high, mass_high=found.mass_high)
    assert least.tolist() == [0.0, 0.0]
    assert most.tolist() == [1.0, 1.0]
    assert found.mass_high == pytest.approx(0.1, abs=CLOSED)


def test_a_token_that_begins_two_answers_counts_to_neither_lower_and_to_both_upper_bounds():
    """1 and 10 on one scale: the token 1 may be either."""
    whole = np.array([[False, False], [False, True]])  # tokens: "1", "10"; labels: 1, 10
    part = np.array([[True, False], [True, False]])
    found = bounds(np.array([0.6, 0.4]), whole, part, np.array([0, 0]))
    assert found.low.tolist() == pytest.approx([0.0, 0.4])
    assert found.high.tolist() == pytest.approx([0.6, 1.0])
    assert found.mass_high == pytest.approx(1.0)  # the token counts once, though it may be two answers
    certain = bounds(np.array([0.6, 0.4]), np.eye(2, dtype=bool), ~np.ones((2, 2), dtype=bool), np.array([0, 0]))
    assert certain.low.tolist() == pytest.approx([0.6, 0.4])


def test_a_token_shown_because_it_was_drawn_bounds_nothing():
    """A drawn token far down the list is no sign that the hidden ones are as unlikely."""
    whole, part = arrays(np.array(["yes", "other", "no"]))
    shown = np.array([0.6, 0.2, 1e-6])
    naive = bounds(shown, whole, part, np.array([1, 1]))
    found = bounds(shown, whole, part, np.array([1, 1]), n_top=2)
    assert naive.high[0] - 0.6 < 1e-5
    assert found.high[0] == pytest.approx(0.8, abs=1e-5)


def test_lost_tokens_may_have_all_that_is_left():
    """T02, T03: a list keyed by text keeps one of two tokens of the same text, and perhaps the smaller one."""
    whole, part = arrays(np.array(["yes", "no", "other"]))
    p = np.array([0.3, 0.25, 0.05])  # a second token "yes" with 0.4 was overwritten
    kept = bounds(p, whole, part, np.array([1, 1]))
    assert kept.high[0] < 0.7
    found = bounds(p, whole, part, np.array([1, 1]), lost=np.array([True, False]))
    assert found.high.tolist() == pytest.approx([0.7, 0.3])
    assert found.mass_high == pytest.approx(0.95)


# --- Properties -------------------------------------------------------------------------------------------------------


@often
@given(distributions())
def test_the_truth_is_always_inside(case):
    """X9: whatever the distribution, ties at the last place included, and however few of its tokens are shown."""
    p, kind, turns_yes, turns_no, k = case
    is_shown = np.arange(len(p)) < k
    whole, part = arrays(kind[:k])
    found = bounds(p[:k], whole, part, unseen(kind, is_shown))
    assert_inside(found, truth(p, kind, turns_yes, turns_no))


@often
@given(distributions(), st.integers(0, 5))
def test_counting_too_many_unseen_tokens_only_widens(case, extra):
    """X9: the number of unseen spellings is an upper bound, and any larger one holds the truth, too."""
    p, kind, turns_yes, turns_no, k = case
    is_shown = np.arange(len(p)) < k
    whole, part = arrays(kind[:k])
    narrow = bounds(p[:k], whole, part, unseen(kind, is_shown))
    wide = bounds(p[:k], whole, part, unseen(kind, is_shown, extra))
    assert (wide.high >= narrow.high).all()
    assert wide.mass_high >= narrow.mass_high
    assert_inside(wide, truth(p, kind, turns_yes, turns_no))


@often
@given(distributions(), st.integers(1, 4))
def test_the_truth_is_inside_with_rounded_log_probabilities(case, places):
    """X9: shown log-probabilities are rounded to so many decimals; their bounds allow for it."""
    p, kind, turns_yes, turns_no, k = case
    positive = p > 0
    p, kind, turns_yes, turns_no = (values[positive] for values in (p, kind, turns_yes, turns_no))
    k = min(k, len(p))
    rounded = np.exp(np.round(np.log(p[:k]), places))
    is_shown = np.arange(len(p)) < k
    whole, part = arrays(kind[:k])
    found = bounds(rounded, whole, part, unseen(kind, is_shown), rounding=0.5 * 10.0**-places)
    assert_inside(found, truth(p, kind, turns_yes, turns_no))


def test_without_the_allowance_rounding_leaves_the_truth_outside():
    """X9: the twin of the property above, which shows that it can fail."""
    p = np.array([0.52, 0.48])
    shown = np.exp(np.round(np.log(p), 1))
    whole, part = arrays(np.array(["yes", "no"]))
    assert bounds(shown, whole, part, np.array([0, 0])).high[0] < p[0]
    allowed = bounds(shown, whole, part, np.array([0, 0]), rounding=0.05)
    assert allowed.low[0] <= p[0] <= allowed.high[0]
    assert allowed.low[1] <= p[1] <= allowed.high[1]


@often
@given(distributions(), st.data())
def test_the_truth_is_inside_where_a_list_keyed_by_text_lost_tokens(case, data):
    """T02, T03, X9: of the tokens of one text one survives, whichever; fewer than asked come."""
    p, kind, turns_yes, turns_no, k = case
    answers = [i for i in range(k) if kind[i] in ("yes", "no")]
    assume(answers)
    survivor = data.draw(st.sampled_from(answers))
    twins = [i for i in answers if kind[i] == kind[survivor] and i != survivor]
    gone = data.draw(st.lists(st.sampled_from(twins), unique=True)) if twins else []
    is_shown = (np.arange(len(p)) < k) & ~np.isin(np.arange(len(p)), gone)
    whole, part = arrays(kind[is_shown])
    lost = (whole | part).any(axis=1)
    found = bounds(p[is_shown], whole, part, unseen(kind, is_shown), lost=lost)
    assert_inside(found, truth(p, kind, turns_yes, turns_no))


@often
@given(distributions())
def test_labels_in_another_order_have_the_same_bounds(case):
    p, kind, _, _, k = case
    is_shown = np.arange(len(p)) < k
    whole, part = arrays(kind[:k])
    one = bounds(p[:k], whole, part, unseen(kind, is_shown))
    other = bounds(p[:k][::-1], whole[::-1, ::-1], part[::-1, ::-1], unseen(kind, is_shown)[::-1])
    np.testing.assert_allclose(one.low, other.low[::-1], atol=CLOSED)
    np.testing.assert_allclose(one.high, other.high[::-1], atol=CLOSED)
    assert one.mass_high == pytest.approx(other.mass_high, abs=CLOSED)


@often
@given(st.lists(st.tuples(st.floats(0, 0.2), st.floats(0, 0.1)), min_size=2, max_size=5), st.floats(0, 1))
def test_shares_hold_the_share_of_every_corner(ends, mass_high):
    """Every corner of the box of probabilities, as far as the mass permits it, has its share inside."""
    low = np.array([start for start, _ in ends])
    high = np.array([start + width for start, width in ends])
    mass_high = max(mass_high, low.sum())
    assume(low.sum() > 1e-9)
    least, most = share_bounds(low, high, mass_high=mass_high)
    for corner in itertools.product(*zip(low, high, strict=True)):
        p = np.array(corner)
        if 0 < p.sum() <= mass_high:
            assert (least <= p / p.sum() + CLOSED).all()
            assert (p / p.sum() <= most + CLOSED).all()
