import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.stats.classes import (
    TIES,
    accuracy,
    choose,
    confusion,
    f1_by_class,
    macro_f1,
    recall_by_class,
    single_answer_gap,
    unweighted_average_recall,
)

CLOSED = 1e-12
NAN = np.nan
often = settings(derandomize=True, deadline=None, max_examples=100)


@st.composite
def choices(draw):
    """Scores with ties, labels and whole-number weights of a few items and classes."""
    n, k = draw(st.integers(1, 8)), draw(st.integers(2, 4))
    values = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    scores = draw(st.lists(st.lists(values, min_size=k, max_size=k), min_size=n, max_size=n))
    label = draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n))
    weight = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return np.array(scores), np.array(label), np.array(weight, dtype=float)


def of(scores, label, weight, *, ties="split"):
    return confusion(choose(scores, ties=ties).membership, label, weight[None])


def one_hot(chosen, n_classes):
    return np.eye(n_classes)[chosen]


# --- Published values and other programs ------------------------------------------------------------------------------


def test_a_system_that_always_answers_neutral():
    """A grey rectangle: every answer neutral on six balanced classes, accuracy 1/6 and macro-F1 .048."""
    label = np.repeat(np.arange(6), 342)
    counts = confusion(one_hot(np.full(len(label), 3), 6), label, np.ones((1, len(label))))
    assert accuracy(counts)[0] == pytest.approx(1 / 6, abs=CLOSED)
    found = macro_f1(counts)
    assert found.value[0] == pytest.approx(2 / 7 / 6, abs=CLOSED)
    assert f"{found.value[0]:.3f}" == "0.048"
    assert found.n_left_out[0] == 0
    assert unweighted_average_recall(counts).value[0] == pytest.approx(1 / 6, abs=CLOSED)


def test_forced_choice_against_scikit_learn(oracle):
    given_, expected = oracle.read("forced_choice")
    rows = []
    for name, part in given_.groupby("sample"):
        chosen, label = part["chosen"].to_numpy(), part["label"].to_numpy()
        times = part["times"].to_numpy(float)[None]
        counts = confusion(one_hot(chosen, part["n_classes"].iloc[0]), label, times)
        recall = unweighted_average_recall(counts).value[0]
        rows.append((name, accuracy(counts)[0], macro_f1(counts).value[0], recall))
    got = pd.DataFrame(rows, columns=["sample", "accuracy", "macro_f1", "unweighted_average_recall"])
    oracle.compare(got, expected, keys=["sample"], rtol=0, atol=CLOSED)


@often
@given(choices(), st.sampled_from(TIES))
def test_statistics_of_a_row_are_those_of_a_loop_over_the_repeated_items(choice, ties):
    scores, label, weight = choice
    membership = choose(scores, ties=ties).membership
    counts = confusion(membership, label, weight[None])
    k = scores.shape[1]
    right, true, chosen = np.zeros(k), np.zeros(k), np.zeros(k)
    for i, times in enumerate(weight.astype(int)):
        for _ in range(times):
            right[label[i]] += membership[i, label[i]]
            true[label[i]] += 1
            chosen += membership[i]
    f1 = [2 * a / (b + c) if b + c else NAN for a, b, c in zip(right, true, chosen, strict=True)]
    recall = [a / b if b else NAN for a, b in zip(right, true, strict=True)]
    np.testing.assert_allclose(f1_by_class(counts)[0], f1, atol=CLOSED)
    np.testing.assert_allclose(recall_by_class(counts)[0], recall, atol=CLOSED)
    np.testing.assert_allclose(accuracy(counts)[0], right.sum() / true.sum() if true.sum() else NAN, atol=CLOSED)
    for found, values in ((macro_f1(counts), f1), (unweighted_average_recall(counts), recall)):
        defined = [v for v in values if not np.isnan(v)]
        np.testing.assert_allclose(found.value[0], np.mean(defined) if defined else NAN, atol=CLOSED)
        assert found.n_left_out[0] == k - len(defined)


# --- Ties -------------------------------------------------------------------------------------------------------------


@often
@given(choices(), st.sampled_from(["split", "undecided"]), st.integers(0, 99), st.sampled_from([0.0, 0.25]))
def test_the_order_of_classes_never_decides(choice, ties, seed, margin):
    """T75: argmax took the first class on ties, and the order of the classes made the accuracy."""
    scores, label, weight = choice
    place = np.random.default_rng(seed).permutation(scores.shape[1])
    before, after = (choose(s, ties=ties, margin=margin) for s in (scores, scores[:, place]))
    np.testing.assert_array_equal(after.membership, before.membership[:, place])
    np.testing.assert_array_equal(after.is_tied, before.is_tied)
    moved = np.argsort(place)[label]
    pair = [confusion(c.membership, y, weight[None]) for c, y in ((before, label), (after, moved))]
    for statistic in (accuracy, lambda c: macro_f1(c).value, lambda c: unweighted_average_recall(c).value):
        np.testing.assert_allclose(statistic(pair[0]), statistic(pair[1]), atol=CLOSED)


def test_a_system_that_never_distinguishes_is_at_chance_and_perfect_only_by_option_order():
    """T75: all scores equal after rounding and the true class always first gave an accuracy of 100 %."""
    scores, label, once = np.full((30, 5), 0.5), np.zeros(30, dtype=int), np.ones((1, 30))
    found = {ties: choose(scores, ties=ties) for ties in TIES}
    assert all(choice.is_tied.all() for choice in found.values())
    by_rule = {ties: accuracy(confusion(choice.membership, label, once))[0] for ties, choice in found.items()}
    assert by_rule == {"split": pytest.approx(0.2, abs=CLOSED), "undecided": 0.0, "first": 1.0}
    assert choose(scores).membership.tolist() == found["split"].membership.tolist()


def test_splitting_is_the_mean_over_random_choices():
    scores, label = np.array([[0.4, 0.4, 0.1], [0.2, 0.2, 0.2], [0.1, 0.0, 0.3]]), np.array([0, 1, 2])
    split = accuracy(of(scores, label, np.ones(3)))[0]
    assert split == pytest.approx(np.mean([1 / 2, 1 / 3, 1]), abs=CLOSED)


def test_differences_within_numerical_noise_are_no_choice():
    """T75: scores that differ by less than the noise of bf16 batches, 3.1e-2, are tied once that margin is given."""
    scores = np.array([[0.50, 0.52, 0.10], [0.50, 0.60, 0.10], [0.50, 0.52, 0.53]])
    assert choose(scores).is_tied.tolist() == [False, False, False]
    found = choose(scores, margin=3.1e-2)
    assert found.is_tied.tolist() == [True, False, True]
    np.testing.assert_allclose(found.membership, [[0.5, 0.5, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]], atol=CLOSED)
    undecided = choose(scores, ties="undecided", margin=3.1e-2).membership
    assert undecided.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert choose(scores, ties="first", margin=3.1e-2).membership.tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_infinite_log_odds_are_scores_and_a_missing_score_leaves_no_choice():
    scores = np.array([[np.inf, 3.0, -np.inf], [np.inf, np.inf, 0.0], [-np.inf] * 3, [0.9, NAN, 0.1]])
    found = choose(scores, margin=0.1)
    np.testing.assert_allclose(found.membership, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3, [0, 0, 0]], atol=CLOSED)
    assert found.is_tied.tolist() == [False, True, True, False]


def test_items_that_chose_nothing_stay_in_the_denominator():
    membership, label = np.array([[1.0, 0], [0, 0], [0, 1], [0, 0]]), np.array([0, 0, 1, 1])
    counts = confusion(membership, label, np.ones((1, 4)))
    assert counts.tolist() == [[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]]
    assert accuracy(counts).tolist() == [0.5]
    assert recall_by_class(counts).tolist() == [[0.5, 0.5]]
    np.testing.assert_allclose(f1_by_class(counts), [[2 / 3, 2 / 3]], atol=CLOSED)


def test_shares_of_many_classes_leave_no_rounding_in_the_column_of_nothing():
    for k in range(2, 50):
        counts = confusion(choose(np.zeros((3, k))).membership, np.zeros(3, dtype=int), np.ones((1, 3)))
        assert (counts[:, :, -1] == 0).all()


# --- Fixed classes ----------------------------------------------------------------------------------------------------


def test_macro_f1_keeps_its_classes_when_a_replicate_misses_one():
    """P40: macro-F1 changed its set of classes with the fold or resample."""
    chosen, label = np.array([0, 0, 1, 1, 2, 0]), np.array([0, 0, 1, 1, 2, 2])
    weights = np.array([[1.0, 1, 1, 1, 1, 1], [2.0, 1, 2, 1, 0, 0], [2.0, 2, 1, 0, 1, 0]])
    counts = confusion(one_hot(chosen, 3), label, weights)
    assert counts.shape == (3, 3, 4)
    # The second row draws no item of class 2 and nothing chooses it: undefined, left out and told.
    np.testing.assert_allclose(f1_by_class(counts)[1], [1, 1, NAN], atol=CLOSED)
    found = macro_f1(counts)
    assert found.n_left_out.tolist() == [0, 1, 0]
    np.testing.assert_allclose(found.value, [(0.8 + 1 + 2 / 3) / 3, 1, 1], atol=CLOSED)


def test_a_class_without_items_that_was_chosen_has_f1_0_and_no_recall():
    """P40: what a missing class does is fixed: chosen wrongly it costs, neither drawn nor chosen it is left out."""
    counts = confusion(one_hot(np.array([0, 1, 2, 0]), 4), np.array([0, 1, 0, 1]), np.ones((1, 4)))
    np.testing.assert_allclose(f1_by_class(counts), [[0.5, 2 / 3, 0, NAN]], atol=CLOSED)
    np.testing.assert_allclose(recall_by_class(counts), [[0.5, 0.5, NAN, NAN]], atol=CLOSED)
    assert macro_f1(counts).n_left_out.tolist() == [1]
    assert unweighted_average_recall(counts).n_left_out.tolist() == [2]
    assert macro_f1(counts).value[0] == pytest.approx((0.5 + 2 / 3) / 3, abs=CLOSED)
    assert unweighted_average_recall(counts).value[0] == pytest.approx(0.5, abs=CLOSED)


@often
@given(choices(), st.integers(0, 99))
def test_relabelling_the_classes_and_moving_the_items_changes_nothing(choice, seed):
    scores, label, weight = choice
    rng = np.random.default_rng(seed)
    place, items = rng.permutation(scores.shape[1]), rng.permutation(len(scores))
    before = of(scores, label, weight)
    after = of(scores[np.ix_(items, place)], np.argsort(place)[label][items], weight[items])
    for statistic in (accuracy, lambda c: macro_f1(c).value, lambda c: unweighted_average_recall(c).value):
        np.testing.assert_allclose(statistic(before), statistic(after), atol=CLOSED)


def test_nothing_drawn_is_undefined():
    counts = confusion(np.eye(2), np.array([0, 1]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    for values in (accuracy(counts), macro_f1(counts).value, unweighted_average_recall(counts).value):
        np.testing.assert_array_equal(values, [NAN, 1.0])
    assert macro_f1(counts).n_left_out.tolist() == [2, 0]
    assert np.isnan(accuracy(confusion(np.zeros((0, 2)), np.zeros(0, dtype=int), np.ones((1, 0))))).all()


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"margin is -0\.1"):
        choose(np.zeros((1, 2)), margin=-0.1)
    with pytest.raises(ValueError, match="margin is nan"):
        choose(np.zeros((1, 2)), margin=NAN)
    with pytest.raises(ValueError, match="'random'; it is one of split, undecided, first"):
        choose(np.zeros((1, 2)), ties="random")
    with pytest.raises(ValueError, match="label 2 of item 1 is none of the 2 classes"):
        confusion(np.eye(2), np.array([0, 2]), np.ones((1, 2)))
    with pytest.raises(ValueError, match="label -1 of item 0"):
        confusion(np.eye(2), np.array([-1, 0]), np.ones((1, 2)))


# --- Single-answer gap ------------------------------------------------------------------------------------------------


def replies(*groups):
    """Repeat (n_mentions, n_right, n_wrong)."""
    mentions = np.concatenate([np.full(right + wrong, k) for k, right, wrong in groups])
    correct = np.concatenate([np.r_[np.ones(right), np.zeros(wrong)] for _, right, wrong in groups])
    return mentions, correct.astype(bool)


def test_single_answer_gap_of_a_published_system():
    """Of 2,052 replies 64.2 % name several options: accuracy .6438 over all, .8174 over single answers, gap .1737."""
    mentions, correct = replies((0, 0, 1), (1, 600, 134), (3, 721, 596))
    found = single_answer_gap(mentions, correct, np.ones((1, 2052)))
    assert [f"{v[0]:.4f}" for v in (found.accuracy, found.accuracy_single, found.gap)] == ["0.6438", "0.8174", "0.1737"]
    assert f"{found.share[0, 2]:.3f}" == "0.642"
    np.testing.assert_allclose(found.accuracy_by[0], [0, 600 / 734, 721 / 1317], atol=CLOSED)


@often
@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12),
)
def test_accuracy_is_the_sum_over_kinds_of_replies(rows):
    mentions, correct, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = single_answer_gap(mentions, correct, weight[None].astype(float))
    if weight.sum() == 0:
        assert np.isnan(found.accuracy).all()
        assert np.isnan(found.gap).all()
        return
    repeated = [(m, c) for m, c, w in zip(mentions, correct, weight, strict=True) for _ in range(w)]
    overall = np.mean([c for _, c in repeated])
    np.testing.assert_allclose(found.accuracy, [overall], atol=CLOSED)
    single = [c for m, c in repeated if m == 1]
    np.testing.assert_allclose(found.gap, [np.mean(single) - overall if single else NAN], atol=CLOSED)
    parts = np.where(found.share > 0, found.share * np.nan_to_num(found.accuracy_by), 0)
    np.testing.assert_allclose(parts.sum(axis=1), found.accuracy, atol=CLOSED)
    np.testing.assert_allclose(found.share.sum(axis=1), 1, atol=CLOSED)


def test_without_a_single_answer_the_gap_is_undefined_and_not_clean():
    found = single_answer_gap(np.array([2, 0, 3]), np.array([True, False, True]), np.ones((1, 3)))
    assert np.isnan(found.gap).all()
    assert np.isnan(found.accuracy_single).all()
    assert found.accuracy[0] == pytest.approx(2 / 3, abs=CLOSED)
    assert found.accuracy_by[0, 2] == 1.0


def test_replies_that_all_mention_one_option_have_no_gap():
    found = single_answer_gap(np.ones(5, dtype=int), np.arange(5) < 3, np.ones((1, 5)))
    assert found.gap.tolist() == [0.0]
    assert np.isnan(found.accuracy_by[0, [0, 2]]).all()
