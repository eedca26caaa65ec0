import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from measurand.stats.acquiescence import double_centred, share_intervals, shares
from measurand.stats.variance import anova

numbers = st.floats(-30, 30, allow_nan=False).map(lambda x: round(x, 6))
tables = hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7), elements=numbers)


@st.composite
def gapped(draw):
    """Draw a table of which any cells may be missing, so that it may fall into parts that nothing connects."""
    x = draw(tables)
    return np.where(draw(hnp.arrays(bool, x.shape)), x, np.nan)


def brute_residual(x):
    """Return what least squares with a dummy for each item and each question leaves of the cells that are there.

    A cell without which the dummies lose a rank fixes an effect by itself, and what is left of it says nothing.
    """
    items, questions = np.nonzero(~np.isnan(x))
    out = np.full(x.shape, np.nan)
    if len(items):
        dummies = np.hstack([np.eye(x.shape[0])[items], np.eye(x.shape[1])[questions]])
        y = x[items, questions]
        out[items, questions] = y - dummies @ np.linalg.lstsq(dummies, y, rcond=None)[0]
        rank = np.linalg.matrix_rank(dummies)
        for k in range(len(y)):
            if len(y) == 1 or np.linalg.matrix_rank(np.delete(dummies, k, axis=0)) < rank:
                out[items[k], questions[k]] = np.nan
    return out


def brute_shares(x):
    """Return the shares by loops over cells, as the formula says it."""
    n, q = x.shape
    grand = sum(x[i, j] for i in range(n) for j in range(q)) / (n * q)
    of_item = [sum(x[i, j] for j in range(q)) / q for i in range(n)]
    of_question = [sum(x[i, j] for i in range(n)) / n for j in range(q)]
    total = sum((x[i, j] - grand) ** 2 for i in range(n) for j in range(q))
    rest = sum((x[i, j] - of_item[i] - of_question[j] + grand) ** 2 for i in range(n) for j in range(q))
    item = q * sum((one - grand) ** 2 for one in of_item)
    question = n * sum((one - grand) ** 2 for one in of_question)
    return np.array([item, question, rest]) / total


def varies(x):
    return float(np.ptp(x)) > 1e-3


# Shares


def test_shares_of_a_table_worked_by_hand():
    """Rows 1 2 and 3 8: total 29, items 16, questions 9, rest 4."""
    assert shares(np.array([[1.0, 2.0], [3.0, 8.0]]))[0] == pytest.approx([16 / 29, 9 / 29, 4 / 29], abs=1e-15)


@given(tables.filter(varies))
def test_shares_are_those_of_an_analysis_of_variance(x):
    table = anova(x, ["item", "question"])
    expected = np.array([table.ss["item"], table.ss["question"], table.ss["residual"]])
    assert shares(x)[0] == pytest.approx(expected / expected.sum(), abs=1e-12)


@given(tables.filter(varies))
def test_shares_are_those_of_loops_over_the_cells(x):
    assert shares(x)[0] == pytest.approx(brute_shares(x), abs=1e-12)


@given(tables.filter(varies))
@example(np.array([[10, 1.755809], [10, 1.755809]]))
def test_shares_add_up_to_one_and_lie_between_0_and_1(x):
    found = shares(x)[0]
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(found >= 0)
    assert np.all(found <= 1)


@given(tables.filter(varies), st.randoms(use_true_random=False))
def test_the_order_of_items_and_questions_changes_no_share(x, random):
    rows, columns = list(range(x.shape[0])), list(range(x.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert shares(x[rows][:, columns]) == pytest.approx(shares(x), abs=1e-12)


@given(tables.filter(varies))
def test_questions_in_the_place_of_items_change_their_shares_places(x):
    item, question, rest = shares(x)[0]
    assert shares(x.T)[0] == pytest.approx([question, item, rest], abs=1e-12)


@given(tables.filter(varies), st.integers(0, 2**32 - 1))
def test_weights_count_items_as_often_as_if_they_were_there_so_often(x, seed):
    rng = np.random.default_rng(seed)
    weight = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), size=4)
    found = shares(x, weight.astype(float))
    for row, counts in zip(found, weight, strict=True):
        redrawn = np.repeat(x, counts, axis=0)
        if varies(redrawn):
            assert row == pytest.approx(brute_shares(redrawn), abs=1e-9)


def test_log_odds_that_are_all_the_same_have_no_shares():
    assert np.isnan(shares(np.full((3, 4), 0.1))).all()


def test_pure_acquiescence_is_all_item_and_pure_difficulty_all_question():
    lean = np.array([-1.0, 0.5, 2.0])
    assert shares(np.tile(lean[:, None], 4))[0] == pytest.approx([1, 0, 0], abs=1e-15)
    assert shares(np.tile(lean, (4, 1)))[0] == pytest.approx([0, 1, 0], abs=1e-15)


# Intervals of shares


def brute_intervals(x, confidence):
    """Return the jackknife's intervals with each item really left out."""
    n = len(x)
    logits = [[np.log(s / (1 - s)) for s in brute_shares(np.delete(x, i, axis=0))] for i in range(n)]
    whole = np.log(brute_shares(x) / (1 - brute_shares(x)))
    pseudo = n * whole - (n - 1) * np.array(logits)
    out = []
    for k in range(3):
        ends = stats.t.interval(confidence, n - 1, pseudo[:, k].mean(), stats.sem(pseudo[:, k]))
        found = brute_shares(x)[k]
        low, high = (1 / (1 + np.exp(-end)) for end in ends)
        out.append((min(low, found), max(high, found)))
    return out


@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(2, 6))
def test_intervals_are_those_of_leaving_items_out_one_by_one(seed, n_items, n_questions):
    x = np.random.default_rng(seed).normal(size=(n_items, n_questions))
    for found, expected in zip(share_intervals(x, confidence=0.9), brute_intervals(x, 0.9), strict=True):
        assert found[:2] == pytest.approx(expected, abs=1e-9)


def test_intervals_hold_the_share_also_where_few_items_bias_it():
    """Twenty items and forty questions without any effect: the question's share is nearly all bias."""
    x = np.random.default_rng(3).normal(size=(20, 40))
    for share, interval in zip(shares(x)[0], share_intervals(x, confidence=0.95), strict=True):
        assert interval.low <= share <= interval.high


def test_intervals_hold_the_shares_of_the_population_about_as_often_as_they_say():
    """Percentiles of redrawn items hold the item's share in 85 of 100 tables of this kind."""
    rng = np.random.default_rng(11)
    question = np.linspace(-1, 1, 6)
    truth = 6 * 0.5 / (6 * 0.5 + (question**2).sum() + 5 * 0.2)
    held = []
    for _ in range(400):
        rest = rng.normal(0, np.sqrt(0.2), (20, 6))
        x = rng.normal(0, np.sqrt(0.5), (20, 1)) + question + rest - rest.mean(axis=1, keepdims=True)
        low, high, _ = share_intervals(x, confidence=0.95)[0]
        held.append(low <= truth <= high)
    assert 0.92 <= np.mean(held) <= 0.98


@pytest.mark.parametrize(
    "x",
    [
        np.array([[1.0, 2.0], [3.0, 8.0]]),
        np.tile([[-1.0], [0.5], [2.0]], 4),
        np.full((5, 3), 0.1),
    ],
)
def test_without_variation_or_items_there_is_no_interval(x):
    assert all(np.isnan(interval.low) for interval in share_intervals(x, confidence=0.95))


# Double-centred log-odds


@given(tables)
def test_without_gaps_it_is_the_formula(x):
    expected = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    assert double_centred(x) == pytest.approx(expected, abs=1e-12)


@given(tables.filter(varies))
def test_its_sum_of_squares_is_the_residual_of_the_analysis_of_variance(x):
    residual = anova(x, ["item", "question"]).ss["residual"]
    assert (double_centred(x) ** 2).sum() == pytest.approx(residual, rel=1e-9, abs=1e-10)


@given(gapped())
def test_with_gaps_it_is_the_residual_of_least_squares(x):
    """Also where the table falls into parts, or an item or a question has no answer at all."""
    assert double_centred(x) == pytest.approx(brute_residual(x), abs=1e-9, nan_ok=True)


def test_means_of_what_is_there_would_be_wrong_with_gaps():
    """The twin: subtracting means instead of solving leaves main effects in a table that has nothing else."""
    x = np.add.outer([0.0, 1.0, 5.0], [0.0, 2.0, -1.0])
    x[0, 1] = x[2, 0] = np.nan
    by_means = x - np.nanmean(x, axis=1, keepdims=True) - np.nanmean(x, axis=0) + np.nanmean(x)
    there = ~np.isnan(x)
    assert double_centred(x)[there] == pytest.approx(0, abs=1e-12)
    assert np.abs(by_means[there]).max() > 0.5


@given(gapped(), st.integers(0, 2**32 - 1))
def test_what_an_item_or_a_question_gets_everywhere_makes_no_difference(x, seed):
    rng = np.random.default_rng(seed)
    shifted = x + rng.normal(0, 10, (x.shape[0], 1)) + rng.normal(0, 10, x.shape[1])
    assert double_centred(shifted) == pytest.approx(double_centred(x), abs=1e-9, nan_ok=True)


@given(gapped(), st.randoms(use_true_random=False))
def test_the_order_of_items_and_questions_changes_nothing(x, random):
    rows, columns = list(range(x.shape[0])), list(range(x.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    assert double_centred(x[rows][:, columns]) == pytest.approx(
        double_centred(x)[rows][:, columns], abs=1e-9, nan_ok=True
    )


@given(gapped())
def test_gaps_stay_gaps(x):
    assert np.isnan(double_centred(x))[np.isnan(x)].all()


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (1, 1)])
def test_one_item_or_one_question_leaves_nothing_and_not_zero(shape):
    assert np.isnan(double_centred(np.ones(shape))).all()


def test_the_only_answer_about_an_item_is_undetermined_and_not_zero():
    """The twin: with a second answer the item's effect is told from the question's."""
    x = np.array([[1.0, 2.0, 4.0], [3.0, 8.0, 1.0], [5.0, np.nan, np.nan]])
    found = double_centred(x)
    assert np.isnan(found[2]).all()
    assert found[:2] == pytest.approx(double_centred(x[:2]), abs=1e-12)
    x[2, 1] = 0.0
    assert np.isfinite(double_centred(x)[2, :2]).all()


def test_the_only_bridge_between_two_parts_is_undetermined():
    part = np.array([[1.0, 2.0], [3.0, 8.0]])
    x = np.full((4, 4), np.nan)
    x[:2, :2], x[2:, 2:], x[0, 2] = part, part, 7.0
    found = double_centred(x)
    assert np.isnan(found[0, 2])
    assert found[:2, :2] == pytest.approx(double_centred(part), abs=1e-12)


def test_two_parts_that_nothing_connects_are_centred_apart():
    part = np.array([[1.0, 2.0], [3.0, 8.0]])
    x = np.full((4, 4), np.nan)
    x[:2, :2], x[2:, 2:] = part, part + 100
    found = double_centred(x)
    assert found[:2, :2] == pytest.approx(double_centred(part), abs=1e-12)
    assert found[2:, 2:] == pytest.approx(double_centred(part), abs=1e-10)
