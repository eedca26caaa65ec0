import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from measurand.stats import association, ranking
from measurand.stats.inference import stream
from measurand.stats.ranking import auroc, average_precision, mean_absolute_error, prevalence, spearman

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=100)


@st.composite
def samples(draw):
    """Scores with ties, positive items and whole-number weights, some of them 0."""
    n = draw(st.integers(1, 9))
    several = {"min_size": n, "max_size": n}
    score = draw(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 2.0]), **several))
    positive = draw(st.lists(st.booleans(), **several))
    weight = draw(st.lists(st.integers(0, 3), **several))
    return np.array(score), np.array(positive), np.array(weight, dtype=float)


def one(values):
    assert values.shape == (1,)
    return float(values[0])


def repeated(weight, *arrays):
    return tuple(np.repeat(x, weight.astype(int)) for x in arrays)


def precision_by_loop(score, positive):
    """Average precision by its definition: one threshold after the other, over all items each time."""
    total, recall_before = 0.0, 0.0
    for threshold in sorted(set(score), reverse=True):
        taken = score >= threshold
        recall = positive[taken].sum() / positive.sum()
        total += (recall - recall_before) * positive[taken].mean()
        recall_before = recall
    return total


def area_by_loop(score, positive):
    pairs = [(a > b) + 0.5 * (a == b) for a in score[positive] for b in score[~positive]]
    return float(np.mean(pairs))


# --- Known values and other programs ----------------------------------------------------------------------------------


def test_average_precision_of_four_items_by_hand():
    """Positives at ranks 1 and 3 of 4: recall .5 at precision 1, then recall 1 at precision 2/3."""
    score, positive = np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False])
    assert one(average_precision(score, positive, np.ones((1, 4)))) == pytest.approx(5 / 6, abs=CLOSED)
    assert one(auroc(score, positive, np.ones((1, 4)))) == pytest.approx(3 / 4, abs=CLOSED)


def test_ranking_against_scikit_learn_and_scipy(oracle):
    given_, expected = oracle.read("ranking_measures")
    rows = []
    for name, part in given_.groupby("sample"):
        score, rating = part["score"].to_numpy(float), part["rating"].to_numpy(float)
        positive, weights = part["positive"].to_numpy(bool), part["times"].to_numpy(float)[None]
        found = (
            average_precision(score, positive, weights),
            auroc(score, positive, weights),
            prevalence(positive, weights),
            spearman(score, rating, weights),
            mean_absolute_error(score, rating[:, None], weights),
        )
        rows.append((name, *map(one, found)))
    columns = ["sample", "average_precision", "auroc", "prevalence", "spearman", "mean_absolute_error"]
    oracle.compare(pd.DataFrame(rows, columns=columns), expected, keys=["sample"], rtol=0, atol=CLOSED)


@often
@given(samples())
def test_a_weighted_row_is_the_repeated_sample(sample):
    score, positive, weight = sample
    s, p = repeated(weight, score, positive)
    assume(0 < p.sum() < len(p))
    assert one(average_precision(score, positive, weight[None])) == pytest.approx(precision_by_loop(s, p), abs=CLOSED)
    assert one(auroc(score, positive, weight[None])) == pytest.approx(area_by_loop(s, p), abs=CLOSED)
    assert one(prevalence(positive, weight[None])) == pytest.approx(p.mean(), abs=CLOSED)


@often
@given(samples(), st.integers(0, 99))
def test_spearman_of_a_weighted_row_is_scipys_of_the_repeated_sample(sample, seed):
    x, _, weight = sample
    y = np.random.default_rng(seed).integers(0, 4, size=len(x)).astype(float)
    a, b = repeated(weight, x, y)
    found = one(spearman(x, y, weight[None]))
    if len(set(a)) < 2 or len(set(b)) < 2:
        assert np.isnan(found)
    else:
        assert found == pytest.approx(stats.spearmanr(a, b)[0], abs=CLOSED)


def test_auroc_is_the_mann_whitney_statistic_of_scipy():
    rng = np.random.default_rng(3)
    score, positive = rng.integers(0, 6, size=70).astype(float), rng.random(70) < 0.4
    u = stats.mannwhitneyu(score[positive], score[~positive]).statistic
    found = one(auroc(score, positive, np.ones((1, 70))))
    assert found == pytest.approx(u / (positive.sum() * (~positive).sum()), abs=CLOSED)


# --- Ties -------------------------------------------------------------------------------------------------------------


def test_ties_get_half_credit_and_are_never_counted_as_correct():
    """T74: a system that answers the same throughout looked perfect because ties counted as correct."""
    constant, positive = np.zeros(10), np.arange(10) < 3
    assert one(auroc(constant, positive, np.ones((1, 10)))) == 0.5
    assert one(auroc(constant, ~positive, np.ones((1, 10)))) == 0.5
    assert one(average_precision(constant, positive, np.ones((1, 10)))) == pytest.approx(0.3, abs=CLOSED)
    tied = np.array([1.0, 1.0, 0.0])
    assert one(auroc(tied, np.array([True, False, False]), np.ones((1, 3)))) == 0.75


@often
@given(samples(), st.integers(0, 99))
def test_ranking_does_not_depend_on_the_order_of_tied_items(sample, seed):
    """T74: with ties the order of the table decided."""
    score, positive, weight = sample
    place = np.random.default_rng(seed).permutation(len(score))
    for statistic in (average_precision, auroc):
        before = statistic(score, positive, weight[None])
        np.testing.assert_allclose(statistic(score[place], positive[place], weight[None, place]), before, atol=CLOSED)


def test_half_credit_is_the_mean_over_all_orders_of_the_tied():
    score, positive = np.array([2.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, True])
    broken = []
    for order in itertools.permutations([0.1, 0.0, -0.1]):
        apart = score.copy()
        apart[1:4] += order
        broken.append(one(auroc(apart, positive, np.ones((1, 5)))))
    assert one(auroc(score, positive, np.ones((1, 5)))) == pytest.approx(np.mean(broken), abs=CLOSED)


# --- Properties -------------------------------------------------------------------------------------------------------


@often
@given(samples())
def test_only_the_order_of_scores_counts(sample):
    score, positive, weight = sample
    for statistic in (average_precision, auroc):
        before = statistic(score, positive, weight[None])
        np.testing.assert_array_equal(statistic(np.exp(3 * score) - 7, positive, weight[None]), before)


@often
@given(samples())
def test_turning_the_score_round_turns_auroc_round(sample):
    score, positive, weight = sample
    turned = auroc(-score, positive, weight[None])
    np.testing.assert_allclose(turned, 1 - auroc(score, positive, weight[None]), atol=CLOSED)
    np.testing.assert_allclose(turned, auroc(score, ~positive, weight[None]), atol=CLOSED)


@often
@given(samples())
def test_items_of_weight_0_do_not_count(sample):
    score, positive, weight = sample
    kept = weight > 0
    for statistic in (average_precision, auroc):
        less = statistic(score[kept], positive[kept], weight[None, kept])
        np.testing.assert_array_equal(statistic(score, positive, weight[None]), less)


def test_infinite_log_odds_are_scores_that_tie_with_each_other():
    score, positive = np.array([np.inf, np.inf, 0.0, -np.inf, -np.inf]), np.array([True, False, True, False, True])
    for statistic in (average_precision, auroc):
        found = statistic(score, positive, np.ones((1, 5)))
        np.testing.assert_array_equal(found, statistic(np.array([2.0, 2, 1, 0, 0]), positive, np.ones((1, 5))))


def test_a_perfect_order_scores_1_and_the_worst_order_its_floor():
    positive = np.arange(8) >= 5
    assert one(average_precision(np.arange(8.0), positive, np.ones((1, 8)))) == pytest.approx(1.0, abs=CLOSED)
    assert one(auroc(np.arange(8.0), positive, np.ones((1, 8)))) == 1.0
    assert one(auroc(-np.arange(8.0), positive, np.ones((1, 8)))) == 0.0
    worst = np.mean([1 / 6, 2 / 7, 3 / 8])
    assert one(average_precision(-np.arange(8.0), positive, np.ones((1, 8)))) == pytest.approx(worst, abs=CLOSED)


def test_a_score_without_information_gets_the_prevalence_on_average():
    rng = stream(5, "random scores")
    positive = np.arange(400) < 80
    found = [one(average_precision(rng.random(400), positive, np.ones((1, 400)))) for _ in range(400)]
    # In a finite sample the expectation lies slightly above the prevalence.
    assert np.mean(found) == pytest.approx(one(prevalence(positive, np.ones((1, 400)))), abs=0.012)


def test_without_a_drawn_positive_or_negative_nothing_is_defined():
    score, positive = np.array([1.0, 2.0, 3.0]), np.array([True, False, False])
    weights = np.array([[0.0, 1, 2], [2.0, 0, 0], [0.0, 0, 0], [1.0, 1, 0]])
    for statistic in (average_precision, auroc):
        assert np.isnan(statistic(score, positive, weights)).tolist() == [True, True, True, False]
    np.testing.assert_array_equal(prevalence(positive, weights), [0.0, 1.0, np.nan, 0.5])
    assert np.isnan(spearman(score, score, weights)).tolist() == [False, True, True, False]


def test_without_items_nothing_is_defined():
    none, no_weights = np.zeros(0), np.ones((3, 0))
    assert np.isnan(average_precision(none, none > 0, no_weights)).all()
    assert np.isnan(auroc(none, none > 0, no_weights)).all()
    assert np.isnan(prevalence(none > 0, no_weights)).all()
    assert np.isnan(spearman(none, none, no_weights)).all()
    assert np.isnan(mean_absolute_error(none, np.zeros((0, 2)), no_weights)).all()


@often
@given(samples(), st.integers(0, 99))
def test_every_single_rating_counts_the_same_in_absolute_error(sample, seed):
    x, _, weight = sample
    rng = np.random.default_rng(seed)
    ratings = rng.integers(0, 5, size=(len(x), 3)).astype(float)
    ratings[rng.random(ratings.shape) < 0.3] = np.nan
    distances = [
        abs(x[i] - y) for i in range(len(x)) for _ in range(int(weight[i])) for y in ratings[i] if not np.isnan(y)
    ]
    found = one(mean_absolute_error(x, ratings, weight[None]))
    assert np.isnan(found) if not distances else found == pytest.approx(np.mean(distances), abs=CLOSED)


# --- Blocks -----------------------------------------------------------------------------------------------------------


def test_many_rows_are_taken_in_blocks_without_changing_a_number(monkeypatch):
    rng = np.random.default_rng(11)
    x, y, positive = rng.random(30), rng.integers(0, 4, 30).astype(float), rng.random(30) < 0.4
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=25).astype(float)
    calls = (
        lambda: spearman(x, y, weights),
        lambda: average_precision(y, positive, weights),
        lambda: auroc(y, positive, weights),
    )
    whole = [call() for call in calls]
    np.testing.assert_array_equal(whole[0], association.spearman(x, y, weights))
    for size in (1, 100):  # fewer values than one row, and blocks of three rows
        monkeypatch.setattr(ranking, "_BLOCK", size)
        for call, expected in zip(calls, whole, strict=True):
            np.testing.assert_array_equal(call(), expected)


def test_memory_does_not_grow_with_the_number_of_rows():
    rng = np.random.default_rng(12)
    n, rows = 1_000, 1_500
    x, positive = rng.random(n), rng.random(n) < 0.2
    weights = rng.multinomial(n, np.full(n, 1 / n), size=rows).astype(float)
    for call in (lambda: spearman(x, x**2, weights), lambda: auroc(x, positive, weights)):
        tracemalloc.start()
        try:
            call()
            assert tracemalloc.get_traced_memory()[1] < weights.nbytes
        finally:
            tracemalloc.stop()
    tracemalloc.start()
    try:
        average_precision(x, positive, weights)
        assert tracemalloc.get_traced_memory()[1] < 1.2 * weights.nbytes
    finally:
        tracemalloc.stop()
