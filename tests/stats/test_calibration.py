import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from measurand.stats.calibration import TIES, Ordered, Places, Target, calibrate, ordered, places, steps

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=150)

LEVELS = np.array([0.0, 1.0, 2.0, 5.0])


def level_at(place, n, counts, levels=LEVELS):
    """The level at a place 0 < place <= n, in exact fractions."""
    asked, below = Fraction(int(sum(counts))), Fraction(0)
    for level, count in zip(levels, counts, strict=True):
        below += n * Fraction(int(count)) / asked
        if place <= below:
            return Fraction(level)
    raise AssertionError("a place beyond the last level")


def mean_between(low, high, n, counts, levels=LEVELS):
    """The mean of the level over the places (low, high], in exact fractions."""
    asked, below, total = Fraction(int(sum(counts))), Fraction(0), Fraction(0)
    for level, count in zip(levels, counts, strict=True):
        above = below + n * Fraction(int(count)) / asked
        total += max(Fraction(0), min(above, high) - max(below, low)) * Fraction(level)
        below = above
    return total / (high - low)


def by_copies(answers, counts, rule):
    """Calibrated answers by the definition: every copy in its place, one block of equal answers after the other."""
    n, out = len(answers), []
    for answer in answers:
        low, high = int((answers < answer).sum()), int((answers <= answer).sum())
        if rule == "block":
            out.append(float(mean_between(low, high, n, counts)))
        else:
            out.append(float(level_at(Fraction(low + high, 2), n, counts)))
    return np.array(out)


def on_answers(answers, weights, counts, ties, levels=LEVELS):
    """What the library gives each answer in each row of weights, (n_rows, n_answers)."""
    found = ordered(answers).apart() if ties == "index" else ordered(answers)
    target = Target(levels, np.tile(np.asarray(counts, dtype=float), (len(weights), 1)))
    given_ = calibrate(found.by_block(weights[:, found.order]), target, ties=ties)
    level, square = np.empty(weights.shape), np.empty(weights.shape)
    level[:, found.order], square[:, found.order] = given_.level[:, found.block], given_.square[:, found.block]
    return level, square


@st.composite
def cases(draw):
    """Answers with ties, whole-number weights of two replicates, and a target with levels that may be missing."""
    n = draw(st.integers(1, 12))
    answers = draw(st.lists(st.integers(-3, 4), min_size=n, max_size=n))
    weights = draw(st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=2, max_size=2))
    counts = draw(st.lists(st.integers(0, 6), min_size=4, max_size=4))
    assume(sum(counts) > 0)
    return np.array(answers, dtype=float), np.array(weights, dtype=float), np.array(counts)


# --- Order and ties ---------------------------------------------------------------------------------------------------


def test_equal_answers_are_one_block_and_positions_break_no_tie():
    found = ordered(np.array([0.3, 0.1, 0.3, 0.2]))
    assert found.order.tolist() == [1, 3, 0, 2]
    assert found.block.tolist() == [0, 1, 2, 2]
    assert found.has_ties
    assert not found.apart().has_ties
    assert found.by_block(np.array([[1.0, 2, 3, 4]])).tolist() == [[1, 2, 7]]


def test_some_of_the_answers_keep_their_order_and_ties():
    found = ordered(np.array([2.0, 1, 2, 1, 3])).only(np.array([0, 2, 3]))
    assert (found.order.tolist(), found.start.tolist()) == ([1, 0, 2], [0, 1])
    assert Ordered.only(found, np.zeros(0, dtype=np.int64)).start.tolist() == []


# --- Brute force ------------------------------------------------------------------------------------------------------


@often
@given(cases(), st.sampled_from(["block", "midrank"]))
def test_a_replicate_is_the_plain_calibration_of_the_repeated_answers(case, ties):
    """P39: intervals described another statistic than the point; here a weight is a copy, and copies are tied."""
    answers, weights, counts = case
    found, _ = on_answers(answers, weights, counts, ties)
    for row, times in zip(found, weights.astype(int), strict=True):
        if times.sum() == 0:
            assert np.isnan(row).all()
            continue
        expected = by_copies(np.repeat(answers, times), counts, ties)
        np.testing.assert_allclose(np.repeat(row, times), expected, atol=CLOSED, rtol=0)


@often
@given(cases())
def test_index_gives_each_answer_the_level_of_its_own_place(case):
    answers, _, counts = case
    n = len(answers)
    found, _ = on_answers(answers, np.ones((1, n)), counts, "index")
    place = np.argsort(np.argsort(answers, kind="stable"))
    expected = [float(mean_between(int(k), int(k) + 1, n, counts)) for k in place]
    np.testing.assert_allclose(found[0], expected, atol=CLOSED, rtol=0)


@often
@given(cases())
def test_random_gives_the_mean_level_and_mean_square_of_a_block(case):
    answers, weights, counts = case
    level, square = on_answers(answers, weights, counts, "random")
    block, _ = on_answers(answers, weights, counts, "block")
    np.testing.assert_allclose(level, block, atol=CLOSED, rtol=0)
    for row, times in zip(square, weights.astype(int), strict=True):
        copies = np.repeat(answers, times)
        for copy, got in zip(copies, np.repeat(row, times), strict=True):
            low, high = int((copies < copy).sum()), int((copies <= copy).sum())
            expected = mean_between(low, high, len(copies), counts, LEVELS) if high == low else None
            asked, below, expected = Fraction(int(counts.sum())), Fraction(0), Fraction(0)
            for one, count in zip(LEVELS, counts, strict=True):
                above = below + len(copies) * Fraction(int(count)) / asked
                expected += max(Fraction(0), min(above, high) - max(below, low)) * Fraction(one) ** 2
                below = above
            assert got == pytest.approx(float(expected / (high - low)), abs=1e-11)


def test_random_is_the_mean_over_all_orders_of_the_tied():
    answers, counts = np.array([1.0, 0, 1, 1, 2]), [2, 2, 1, 0]
    level, square = on_answers(answers, np.ones((1, 5)), counts, "random")
    firsts, seconds = [], []
    for order in itertools.permutations(range(5)):
        one, _ = on_answers(answers[list(order)], np.ones((1, 5)), counts, "index")
        back = one[0][np.argsort(order)]
        firsts.append(back)
        seconds.append(back**2)
    np.testing.assert_allclose(level[0], np.mean(firsts, axis=0), atol=CLOSED)
    np.testing.assert_allclose(square[0], np.mean(seconds, axis=0), atol=CLOSED)


@often
@given(cases(), st.sampled_from(["block", "midrank", "random"]), st.data())
def test_places_among_other_answers_equal_a_plain_search(case, ties, data):
    """Held-out calibration: the blocks that get a level are not those that the places count."""
    fitted, _, counts = case
    new = np.unique(data.draw(st.lists(st.sampled_from([-9.0, -2.5, 0, 1, 1.5, 9]), min_size=1, max_size=6)))
    low = np.array([(fitted < one).sum() for one in new], dtype=float)
    high = np.array([(fitted <= one).sum() for one in new], dtype=float)
    n = len(fitted)
    found = steps(
        Places(low[None], high[None], np.array([float(n)])), Target(LEVELS, counts[None].astype(float)), ties=ties
    )
    there = LEVELS[counts > 0]
    for got, below, upto in zip(found.level[0], low.astype(int), high.astype(int), strict=True):
        if upto > below and ties != "midrank":
            expected = float(mean_between(below, upto, n, counts))
        elif ties == "midrank":
            middle = Fraction(below + upto, 2)
            expected = there[0] if middle == 0 else float(level_at(middle, n, counts))
        elif below in (0, n):
            expected = there[0] if below == 0 else there[-1]
        else:
            before, behind = level_at(Fraction(below), n, counts), level_at(below + Fraction(1, 10**6), n, counts)
            expected = float(before + behind) / 2
        assert got == pytest.approx(expected, abs=CLOSED)


def test_an_answer_below_all_fitted_ones_never_gets_a_level_that_the_target_lacks():
    target = Target(np.array([0.0, 1, 2, 3]), np.array([[0.0, 3, 3, 0]]))
    at = Places(np.array([[0.0, 0, 3, 6]]), np.array([[0.0, 3, 6, 6]]), np.array([6.0]))
    for ties in TIES:
        assert steps(at, target, ties=ties).level.tolist() == [[1, 1, 2, 2]], ties


def test_an_edge_that_is_a_whole_number_is_not_missed_by_rounding_dust():
    """49 ratings of each item: 49 * (60 / (49 * 60)) is below 1, and the middle of a pair is exactly 1."""
    n = 60
    target = Target(np.array([0.0, 1]), np.array([[49.0, 49 * (n - 1)]]))
    weights = np.r_[2.0, np.ones(n - 2)][None]
    assert calibrate(weights, target, ties="midrank").level[0, 0] == 0


@often
@given(cases(), st.sampled_from(TIES), st.integers(0, 50))
def test_rows_of_one_call_do_not_touch_each_other(case, ties, before):
    """All rows are searched at once; what lies before a row must not change it but for the last digits."""
    answers, weights, counts = case
    found = ordered(answers)
    rows = found.by_block(weights[:, found.order])
    stacked = np.concatenate([np.full((before, rows.shape[1]), 7.0), rows])
    targets = np.tile(counts.astype(float), (len(stacked), 1))
    alone = calibrate(rows, Target(LEVELS, targets[: len(rows)]), ties=ties)
    among = calibrate(stacked, Target(LEVELS, targets), ties=ties)
    np.testing.assert_allclose(among.level[before:], alone.level, atol=1e-11, rtol=0)
    np.testing.assert_allclose(among.square[before:], alone.square, atol=1e-11, rtol=0)


@often
@given(cases(), st.sampled_from(TIES), st.data())
def test_sums_over_steps_are_sums_over_answers(case, ties, data):
    answers, weights, counts = case
    found = ordered(answers)
    at = places(found.by_block(weights[:, found.order]))
    made = steps(at, Target(LEVELS, np.tile(counts.astype(float), (2, 1))), ties=ties)
    amount = data.draw(st.integers(1, 5)) * found.by_block(weights[:, found.order])
    drawn = weights.sum(axis=1) > 0
    level, square = made.sums(amount)
    np.testing.assert_allclose(level[drawn], (amount * made.level).sum(axis=1)[drawn], atol=1e-10)
    np.testing.assert_allclose(square[drawn], (amount * made.square).sum(axis=1)[drawn], atol=1e-10)


# --- What calibration must do -----------------------------------------------------------------------------------------


@often
@given(cases(), st.sampled_from(["block", "midrank"]))
def test_a_constant_answer_gets_one_level(case, ties):
    answers, _, counts = case
    level, square = on_answers(np.zeros(len(answers)), np.ones((1, len(answers))), counts, ties)
    assert len(set(level[0])) == 1
    np.testing.assert_allclose(square, level**2, atol=CLOSED)
    if ties == "block":
        assert level[0, 0] == pytest.approx((LEVELS * counts).sum() / counts.sum(), abs=CLOSED)


@often
@given(cases(), st.sampled_from(TIES))
def test_a_rising_transform_of_answers_changes_nothing(case, ties):
    answers, weights, counts = case
    expected = on_answers(answers, weights, counts, ties)
    for transformed in (np.exp(answers), 3 * answers - 100, answers**3 + answers):
        for got, wanted in zip(on_answers(transformed, weights, counts, ties), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


@often
@given(cases(), st.sampled_from(["block", "midrank", "random"]), st.randoms(use_true_random=False))
def test_the_order_of_items_changes_nothing_unless_it_breaks_ties(case, ties, random):
    answers, weights, counts = case
    place = list(range(len(answers)))
    random.shuffle(place)
    before, _ = on_answers(answers, weights, counts, ties)
    after, _ = on_answers(answers[place], weights[:, place], counts, ties)
    np.testing.assert_allclose(after, before[:, place], atol=CLOSED)


@often
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4), st.sampled_from(TIES), st.integers(0, 99))
def test_untied_answers_are_distributed_exactly_as_the_target_says(counts, ties, seed):
    n = sum(counts)
    assume(n > 0)
    answers = np.random.default_rng(seed).permutation(n).astype(float)
    level, _ = on_answers(answers, np.ones((1, n)), counts, ties)
    assert [int((level == one).sum()) for one in LEVELS] == counts
    assert (np.diff(level[0][np.argsort(answers)]) >= 0).all()


@often
@given(cases(), st.integers(2, 5))
def test_only_shares_of_the_target_count(case, times):
    answers, weights, counts = case
    once, _ = on_answers(answers, weights, counts, "midrank")
    again, _ = on_answers(answers, weights, counts * times, "midrank")
    np.testing.assert_array_equal(once, again)


def test_an_empty_target_or_fit_set_is_undefined_and_its_neighbours_are_not():
    weights = np.array([[1.0, 1, 1], [0, 0, 0], [1, 1, 1]])
    counts = np.array([[1.0, 1, 1], [1, 1, 1], [0, 0, 0]])
    for ties in TIES:
        found = calibrate(weights, Target(np.arange(3.0), counts), ties=ties).level
        assert found[0].tolist() == [0, 1, 2]
        assert np.isnan(found[1:]).all()


def test_a_target_of_one_level_gives_that_level_whatever_was_answered():
    for ties in TIES:
        assert calibrate(np.ones((1, 4)), Target(np.array([3.0]), np.array([[9.0]])), ties=ties).level.tolist() == [
            [3.0] * 4
        ]
