import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from measurand.stats.alternative import (
    alternative_annotator_test,
    benjamini_yekutieli,
    equivalence,
    non_inferiority,
)
from measurand.stats.inference import stream

CLOSED = 1e-12
NAN = np.nan
often = settings(derandomize=True, deadline=None, max_examples=60)


def panel(n, k, seed, *, noise=1.0, holes=0.3, levels=True):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    values = 3 + truth[:, None] + noise * rng.normal(size=(n, k))
    answers = 3 + truth + 0.5 * rng.normal(size=n)
    if levels:
        values, answers = np.clip(np.rint(values), 1, 5), np.clip(np.rint(answers), 1, 5)
    values[rng.random((n, k)) < holes] = NAN
    return answers, values


def aligned(one, others, alignment):
    if alignment == "accuracy":
        return round(float(np.mean([one == other for other in others])), 12)
    return -round(float(np.sqrt(np.mean([(one - other) ** 2 for other in others]))), 12)


def wins_by_loop(answers, ratings, alignment, j):
    """W of the system and of rater j on the items that j and somebody else rated."""
    system, rater = [], []
    for answer, row in zip(answers, ratings, strict=True):
        others = [y for k, y in enumerate(row) if k != j and not np.isnan(y)]
        if np.isnan(answer) or np.isnan(row[j]) or not others:
            continue
        f, h = aligned(answer, others, alignment), aligned(row[j], others, alignment)
        system.append(int(f >= h))
        rater.append(int(h >= f))
    return np.array(system, dtype=float), np.array(rater, dtype=float)


def signed_rank_by_enumeration(x):
    x = x[x != 0]
    ranks = stats.rankdata(np.abs(x))
    observed = ranks[x > 0].sum()
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(x))
    ]
    return observed, float(np.mean(np.array(sums) <= observed + 1e-9))


# --- The alternative annotator test against loops and scipy -----------------------------------------------------------


@pytest.mark.parametrize("alignment", ["rmse", "accuracy"])
@pytest.mark.parametrize("levels", [True, False])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_t_tests_of_many_items_are_scipys_of_a_plain_loop(alignment, levels, seed):
    answers, ratings = panel(150, 4, seed, levels=levels)
    answers[::17] = NAN
    found = alternative_annotator_test(answers, ratings, epsilon=0.15, alignment=alignment)
    p = []
    for j in range(4):
        system, rater = wins_by_loop(answers, ratings, alignment, j)
        assert found.n_items[j] == found.n_replicates[j] == len(system)
        assert found.rho_system[j] == pytest.approx(system.mean(), abs=CLOSED)
        assert found.rho_rater[j] == pytest.approx(rater.mean(), abs=CLOSED)
        d = rater - system
        if np.ptp(d) == 0:
            assert found.method[j] == "constant"
            p.append(found.p[j])
            continue
        expected = stats.ttest_1samp(d, 0.15, alternative="less")
        assert found.method[j] == "t"
        assert found.statistic[j] == pytest.approx(expected.statistic, rel=CLOSED)
        assert found.df[j] == len(d) - 1
        assert found.p[j] == pytest.approx(expected.pvalue, rel=1e-9)
        p.append(expected.pvalue)
    np.testing.assert_allclose(found.p_adjusted, stats.false_discovery_control(p, method="by"), rtol=1e-9)
    assert found.rejected.tolist() == (found.p_adjusted <= 0.05).tolist()
    assert found.omega == found.rejected.mean()
    assert found.rho == pytest.approx(found.rho_system.mean(), abs=CLOSED)
    assert found.passed == (found.omega >= 0.5)
    assert set(found.undefined) == {""}


@pytest.mark.parametrize("alignment", ["rmse", "accuracy"])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.2])
def test_below_thirty_items_the_signed_rank_test_decides(alignment, epsilon):
    answers, ratings = panel(12, 3, 4, holes=0.0)
    found = alternative_annotator_test(answers, ratings, epsilon=epsilon, alignment=alignment)
    assert found.method == ("signed_rank",) * 3
    assert np.isnan(found.df).all()
    for j in range(3):
        system, rater = wins_by_loop(answers, ratings, alignment, j)
        statistic, p = signed_rank_by_enumeration(rater - system - epsilon)
        assert found.statistic[j] == pytest.approx(statistic, abs=CLOSED)
        assert found.p[j] == pytest.approx(p, abs=CLOSED)


@often
@given(st.integers(3, 14), st.integers(0, 999))
def test_signed_ranks_of_clusters_without_ties_are_scipys_exact_test(n_clusters, seed):
    rng = np.random.default_rng(seed)
    # Clusters of different sizes, in which the system wins a different share each: cluster means without ties.
    sizes = rng.permutation(np.arange(7, 7 + n_clusters) * 2 + 1)
    cluster = np.repeat(np.arange(n_clusters), sizes)
    ratings = np.zeros((len(cluster), 2))
    ratings[:, 0] = np.where(rng.random(len(cluster)) < 0.5, 2.0, 0.0)
    answers = np.ones(len(cluster))
    answers[rng.random(len(cluster)) < 0.1] = 0.0
    found = alternative_annotator_test(answers, ratings, epsilon=0.2, alignment="rmse", cluster=cluster)
    system, rater = wins_by_loop(answers, ratings, "rmse", 0)
    d = np.array([(rater - system)[cluster == c].mean() for c in range(n_clusters)]) - 0.2
    assert found.n_replicates.tolist() == [n_clusters] * 2
    assert found.n_items.tolist() == [len(cluster)] * 2
    if len(np.unique(np.round(np.abs(d), 12))) < n_clusters:
        assert found.p[0] == pytest.approx(signed_rank_by_enumeration(np.round(d, 12))[1], abs=CLOSED)
    else:
        expected = stats.wilcoxon(d, alternative="less", method="exact")
        assert found.p[0] == pytest.approx(expected.pvalue, abs=CLOSED)


def test_five_clear_wins_have_the_smallest_p_of_the_signed_rank_table():
    ratings = np.column_stack([np.full(5, 5.0), np.ones(5)])
    found = alternative_annotator_test(np.ones(5), ratings, epsilon=0.2, alignment="rmse")
    assert found.p.tolist() == [1 / 32, 1 / 32]
    assert found.rho_system.tolist() == [1.0, 1.0]
    assert found.rho_rater.tolist() == [0.0, 1.0]


# --- Properties -------------------------------------------------------------------------------------------------------


@often
@given(st.integers(2, 6), st.integers(0, 999), st.booleans())
def test_the_mean_of_all_raters_always_has_the_advantage_by_squared_error(k, seed, levels):
    """The publication proves that the mean of all ratings beats every rater: an advantage probability of 1."""
    _, ratings = panel(40, k, seed, holes=0.0, levels=levels)
    found = alternative_annotator_test(ratings.mean(axis=1), ratings, epsilon=0.1, alignment="rmse")
    assert found.rho_system.tolist() == [1.0] * k
    assert found.rho == 1.0


@often
@given(st.integers(2, 6), st.integers(0, 999))
def test_the_most_frequent_rating_always_has_the_advantage_by_accuracy(k, seed):
    _, ratings = panel(40, k, seed, holes=0.0)
    most = np.array([max(set(row), key=row.tolist().count) for row in ratings])
    found = alternative_annotator_test(most, ratings, epsilon=0.1, alignment="accuracy")
    assert found.rho == 1.0


@often
@given(st.integers(0, 999), st.sampled_from(["rmse", "accuracy"]))
def test_the_order_of_raters_and_items_and_the_place_of_the_scale_change_nothing(seed, alignment):
    answers, ratings = panel(45, 4, seed)
    rng = np.random.default_rng(seed)
    items, raters = rng.permutation(45), rng.permutation(4)
    before = alternative_annotator_test(answers, ratings, epsilon=0.1, alignment=alignment)
    moved = 2 * ratings[np.ix_(items, raters)] - 9
    after = alternative_annotator_test(2 * answers[items] - 9, moved, epsilon=0.1, alignment=alignment)
    np.testing.assert_allclose(after.p, before.p[raters], rtol=1e-9)
    np.testing.assert_allclose(after.rho_system, before.rho_system[raters], atol=CLOSED)
    assert after.omega == before.omega


def test_equal_distances_tie_however_they_are_computed():
    """0.1 above and 0.1 below the others are equally far, though 3.1 - 3 and 3 - 2.9 differ in their last digits."""
    ratings = np.column_stack([np.full(40, 2.9), np.full(40, 3.0), np.full(40, 3.0)])
    found = alternative_annotator_test(np.full(40, 3.1), ratings, epsilon=0.2, alignment="rmse")
    assert found.rho_system[0] == found.rho_rater[0] == 1.0
    assert found.rho_system.tolist() == [1.0, 0.0, 0.0]


def test_single_items_as_clusters_change_nothing_and_copies_bring_no_evidence():
    answers, ratings = panel(60, 3, 7)
    alone = alternative_annotator_test(answers, ratings, epsilon=0.15, alignment="rmse")
    named = alternative_annotator_test(answers, ratings, epsilon=0.15, alignment="rmse", cluster=np.arange(60)[::-1])
    np.testing.assert_allclose(named.p, alone.p, rtol=1e-9)
    twice = (np.repeat(answers, 2), np.repeat(ratings, 2, axis=0))
    copied = alternative_annotator_test(*twice, epsilon=0.15, alignment="rmse", cluster=np.repeat(np.arange(60), 2))
    np.testing.assert_allclose(copied.p, alone.p, rtol=1e-9)
    assert copied.n_replicates.tolist() == alone.n_replicates.tolist()
    assert (copied.n_items == 2 * alone.n_items).all()
    assert (alternative_annotator_test(*twice, epsilon=0.15, alignment="rmse").n_replicates == 2 * alone.n_items).all()


def test_a_rater_among_the_raters_as_good_as_the_others_passes_about_as_often_as_epsilon_lets_it():
    """At the edge of the null hypothesis a single t test rejects in about 5 % of samples."""
    rng = stream(3, "edge of the null")
    hits = 0
    for _ in range(400):
        # Two raters; the first ties with the system, wins or loses with probabilities .5, .3 and .2: E d = .1.
        kind = rng.choice(3, p=[0.5, 0.3, 0.2], size=200)
        ratings = np.column_stack([np.where(kind == 1, 0.0, np.where(kind == 2, 2.0, 1.0)), np.zeros(200)])
        found = alternative_annotator_test(np.ones(200), ratings, epsilon=0.1, alignment="rmse")
        hits += found.p[0] <= 0.05
    assert 8 <= hits <= 34


# --- Where there is nothing to test -----------------------------------------------------------------------------------


def test_differences_that_are_all_equal_are_decided_by_their_sign():
    far, near = np.full((35, 1), 5.0), np.full((35, 1), 1.0)
    ratings = np.hstack([far, near, near])
    found = alternative_annotator_test(np.ones(35), ratings, epsilon=0.2, alignment="rmse")
    # Against the first rater d = -1 throughout; beside the others the system ties or wins: d = 0 throughout.
    assert found.method == ("constant",) * 3
    assert found.p.tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(found.statistic).all()
    assert found.omega == 1.0
    assert found.passed
    worse = alternative_annotator_test(np.full(35, 9.0), ratings, epsilon=0.2, alignment="rmse")
    assert worse.p.tolist() == [1.0, 1.0, 1.0]
    assert worse.omega == 0.0
    assert not worse.passed
    edge = alternative_annotator_test(np.ones(35), ratings[:, 1:], epsilon=0.0, alignment="rmse")
    assert edge.p.tolist() == [1.0, 1.0]


def test_a_rater_who_shares_no_item_has_no_test_and_does_not_count():
    answers, ratings = panel(80, 3, 9, holes=0.0)
    alone = np.full((80, 1), NAN)
    ratings[:5] = NAN
    alone[:5] = 3.0
    found = alternative_annotator_test(answers, np.hstack([ratings, alone]), epsilon=0.2, alignment="rmse")
    without = alternative_annotator_test(answers, ratings, epsilon=0.2, alignment="rmse")
    assert found.undefined == ("", "", "", "no item that this rater and another rated")
    assert found.n_items.tolist() == [75, 75, 75, 0]
    assert np.isnan([found.p[3], found.p_adjusted[3], found.rho_system[3]]).all()
    assert not found.rejected[3]
    assert (found.omega, found.rho) == (without.omega, without.rho)
    np.testing.assert_array_equal(found.p_adjusted[:3], without.p_adjusted)


@pytest.mark.parametrize(
    ("answers", "ratings"),
    [
        (np.ones(4), np.ones((4, 1))),
        (np.ones(4), np.full((4, 3), NAN)),
        (np.full(4, NAN), np.ones((4, 3))),
        (np.ones(0), np.ones((0, 3))),
        (np.ones(4), np.ones((4, 0))),
    ],
)
def test_without_two_raters_of_an_answered_item_the_winning_rate_is_undefined(answers, ratings):
    found = alternative_annotator_test(answers, ratings, epsilon=0.2, alignment="rmse")
    assert np.isnan(found.omega)
    assert np.isnan(found.rho)
    assert not found.passed
    assert "two raters" in found.why
    assert all(found.undefined)
    assert len(found.undefined) == len(found.p) == ratings.shape[1]


def test_settings_that_cannot_be_are_refused():
    answers, ratings = panel(10, 3, 1)
    with pytest.raises(ValueError, match="'mae'; it is one of rmse, accuracy"):
        alternative_annotator_test(answers, ratings, epsilon=0.2, alignment="mae")
    with pytest.raises(ValueError, match="epsilon is 20; it is a probability"):
        alternative_annotator_test(answers, ratings, epsilon=20, alignment="rmse")
    with pytest.raises(ValueError, match="q is nan"):
        alternative_annotator_test(answers, ratings, epsilon=0.2, alignment="rmse", q=NAN)


# --- False discoveries ------------------------------------------------------------------------------------------------


def test_benjamini_yekutieli_by_hand():
    """Four p values, c = 25/12: factors 25/3, 25/6, 25/9 and 25/12, then the running minimum from the largest."""
    adjusted = benjamini_yekutieli(np.array([0.04, 0.005, 0.03, 0.01]))
    np.testing.assert_allclose(adjusted, [0.25 / 3, 0.125 / 3, 0.25 / 3, 0.125 / 3], atol=CLOSED)


def test_benjamini_yekutieli_against_statsmodels(oracle):
    given_, expected = oracle.read("false_discovery")
    adjusted = given_.groupby("family")["p"].transform(lambda p: benjamini_yekutieli(p.to_numpy()))
    oracle.compare(given_.assign(p_adjusted=adjusted), expected, keys=["family", "test"], rtol=CLOSED)


@often
@given(st.lists(st.one_of(st.floats(0, 1), st.just(NAN)), max_size=12), st.integers(0, 99))
def test_adjusted_p_keep_their_order_and_missing_tests_do_not_count(values, seed):
    p = np.array(values, dtype=float)
    found = benjamini_yekutieli(p)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(p))
    there = ~np.isnan(p)
    np.testing.assert_array_equal(found[there], benjamini_yekutieli(p[there]))
    assert (found[there] >= np.minimum(p[there], 1) * (1 - CLOSED)).all()
    assert (np.diff(found[there][np.argsort(p[there])]) >= 0).all()
    place = np.random.default_rng(seed).permutation(len(p))
    np.testing.assert_allclose(benjamini_yekutieli(p[place]), found[place], atol=CLOSED)


# --- Equivalence and non-inferiority ----------------------------------------------------------------------------------


def test_two_one_sided_tests_agree_with_t_tests_on_many_draws():
    """The bootstrap of a mean of many values meets the classical two one-sided t tests."""
    rng = stream(11, "equivalence")
    values = rng.normal(0.02, 0.5, size=400)
    weights = rng.multinomial(400, np.full(400, 1 / 400), size=20_000)
    draws = weights @ values / 400
    found = equivalence(values.mean(), draws, margin=0.08)
    upper = stats.ttest_1samp(values, 0.08, alternative="less").pvalue
    lower = stats.ttest_1samp(values, -0.08, alternative="greater").pvalue
    assert found.p == pytest.approx(max(upper, lower), abs=0.006)
    assert (found.low, found.high) == pytest.approx(stats.ttest_1samp(values, 0).confidence_interval(0.9)[:], abs=0.003)
    one_sided = non_inferiority(values.mean(), draws, margin=0.08)
    assert one_sided.p == pytest.approx(lower, abs=0.006)
    assert (one_sided.low, one_sided.high) == (found.low, found.high)


def test_p_counts_the_draws_beyond_the_margin_and_is_never_0():
    draws = np.r_[np.full(3, -0.2), np.full(94, 0.0), np.full(2, 0.2)]
    found = equivalence(0.0, draws, margin=0.1)
    assert found.p == (1 + 3) / 100
    assert found.holds
    assert non_inferiority(0.0, draws, margin=0.1).p == 0.04
    assert non_inferiority(0.0, -draws, margin=0.1).p == 0.03
    assert equivalence(0.0, np.zeros(99), margin=0.1).p == 0.01


@often
@given(st.integers(0, 999), st.floats(0.01, 0.5), st.floats(-0.4, 0.4))
def test_equivalence_is_non_inferiority_both_ways(seed, margin, shift):
    draws = np.random.default_rng(seed).normal(shift, 0.1, size=299)
    both = equivalence(shift, draws, margin=margin)
    ways = non_inferiority(shift, draws, margin=margin), non_inferiority(-shift, -draws, margin=margin)
    assert both.p == max(way.p for way in ways)
    assert both.holds == all(way.holds for way in ways)
    assert not both.holds or both.p <= 0.06
    wider = equivalence(shift, draws, margin=2 * margin)
    assert wider.p <= both.p
    assert wider.holds or not both.holds


def test_a_draw_at_the_margin_is_not_within_it():
    assert not equivalence(0.0, np.full(99, 0.1), margin=0.1).holds
    assert equivalence(0.0, np.full(99, 0.1), margin=0.1).p == 1.0
    assert not non_inferiority(0.0, np.full(99, -0.1), margin=0.1).holds


def test_without_a_difference_there_is_no_decision_and_undefined_draws_are_told():
    for estimate, draws, why in (
        (NAN, np.zeros(9), "the difference is undefined"),
        (0.0, np.full(9, NAN), "in every replicate"),
        (0.0, np.zeros(0), "in every replicate"),
    ):
        for decide in (equivalence, non_inferiority):
            found = decide(estimate, draws, margin=0.1)
            assert np.isnan(found.p)
            assert not found.holds
            assert why in found.undefined
    some = equivalence(0.0, np.r_[np.zeros(30), np.full(10, NAN)], margin=0.1)
    assert some.undefined_share == 0.25
    assert some.p == 1 / 31


@pytest.mark.parametrize("decide", [equivalence, non_inferiority])
def test_margins_and_levels_that_cannot_be_are_refused(decide):
    with pytest.raises(ValueError, match="the margin is 0; it is larger than 0"):
        decide(0.0, np.zeros(9), margin=0)
    with pytest.raises(ValueError, match="the margin is nan"):
        decide(0.0, np.zeros(9), margin=NAN)
    with pytest.raises(ValueError, match=r"alpha is 0\.5"):
        decide(0.0, np.zeros(9), margin=0.1, alpha=0.5)
