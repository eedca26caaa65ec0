import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from measurand.stats import inference
from measurand.stats.clustered import clustered_difference, clustered_mean
from measurand.stats.inference import (
    Clusters,
    average_ranks,
    bootstrap,
    clopper_pearson_upper,
    clusters,
    f_p,
    f_quantile,
    holm,
    longest_run,
    percentile_interval,
    run_test,
    sign_flip_tests,
    sign_test,
    stream,
    t_p,
    t_quantile,
    t_test,
)

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=60)

# Darwin's maize, crossed minus self-fertilised in eighths of an inch (Fisher 1935, The Design of Experiments, ch. 3).
DARWIN = np.array([49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48], dtype=float)
# Student (1908), additional hours of sleep.
SLEEP = np.array([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])


# --- Published values -------------------------------------------------------------------------------------------------


def test_sign_flips_of_darwins_maize():
    # Fisher: of 32,768 sign patterns 863 have a sum of at least 314; two-sided 1,726.
    found = sign_flip_tests(DARWIN[:, None], n_draws=99, rng=stream(0))[0]
    assert found.p == pytest.approx(1726 / 32768, abs=CLOSED)
    assert found.attainable_p == 2 / 32768


def test_t_of_darwins_maize_and_of_students_sleep():
    assert t_test(DARWIN)[:3] == (pytest.approx(2.148, abs=5e-4), 1, 14)
    assert t_test(DARWIN).p == pytest.approx(0.0497, abs=5e-5)
    assert t_test(SLEEP)[:3] == (pytest.approx(4.0621, abs=5e-5), 1, 9)
    assert t_test(SLEEP).p == pytest.approx(0.002833, abs=5e-7)


def test_sign_test_of_eight_in_ten():
    assert sign_test(np.array([1.0] * 8 + [-1.0] * 2)).p == pytest.approx(112 / 1024, abs=CLOSED)
    assert sign_test(np.array([1.0] * 8 + [-1.0] * 2 + [0.0] * 5)).p == pytest.approx(112 / 1024, abs=CLOSED)


def test_holm_of_the_textbook():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02], atol=CLOSED)


def test_upper_bound_of_no_hit():
    assert clopper_pearson_upper(0, 10, confidence=0.95) == pytest.approx(1 - 0.025**0.1, abs=CLOSED)
    assert clopper_pearson_upper(10, 10, confidence=0.95) == 1.0


# --- Oracles ----------------------------------------------------------------------------------------------------------


def test_holm_against_statsmodels(oracle):
    given_, expected = oracle.read("holm")
    got = given_.assign(p_adjusted=given_.groupby("family")["p"].transform(lambda p: holm(p.to_numpy())))
    oracle.compare(got, expected, keys=["family", "test"], rtol=CLOSED)


def test_exact_tests_against_scipy(oracle):
    given_, expected = oracle.read("sign_flip")
    rows = []
    for name, part in given_.groupby("sample"):
        values = part["difference"].to_numpy()
        t = t_test(values)
        flips = sign_flip_tests(values[:, None], n_draws=99, rng=stream(0))[0]
        rows.append((name, flips.p, sign_test(values).p, t.statistic, t.p))
    got = pd.DataFrame(rows, columns=["sample", "p_permutation", "p_sign", "t", "p_t"])
    oracle.compare(got, expected, keys=["sample"], rtol=1e-11)


def test_clustered_statistics_against_statsmodels(oracle):
    given_, expected = oracle.read("clustered")
    rows = []
    for name, part in given_.groupby("panel"):
        values, cluster, n = part["value"].to_numpy(), part["cluster"].to_numpy(), len(part)
        mean = clustered_mean(values, cluster, confidence=0.95)
        difference = clustered_difference(values, part["is_in"].to_numpy() == 1, cluster)
        # statsmodels multiplies by (n - 1) / (n - k) too, which is 1 for a mean.
        error = difference.standard_error * np.sqrt((n - 1) / (n - 2))
        rows.append((name, n, mean.mean, mean.low, mean.high, difference.difference, error))
    oracle.compare(pd.DataFrame(rows, columns=list(expected.columns)), expected, keys=["panel"], rtol=1e-11)


def test_distributions_against_r(oracle):
    given_, expected = oracle.read("distributions")
    functions = {
        "f_upper_tail": f_p,
        "f_quantile": f_quantile,
        "t_two_sided": lambda x, a, _: t_p(x, a),
        "t_factor": lambda x, a, _: t_quantile(a, x),
        "clopper_pearson_upper": lambda x, a, b: clopper_pearson_upper(int(a), int(b), confidence=x),
    }
    # Quantiles of F are roots that are found by iteration; all else is a closed form.
    for function, rtol in (dict.fromkeys(functions, CLOSED) | {"f_quantile": 1e-9}).items():
        kept = (given_["function"] == function).to_numpy()
        assert kept.sum() >= 10
        values = [functions[function](x, a, b) for _, x, a, b in given_[kept].itertuples(index=False)]
        oracle.compare(given_[kept].assign(value=values), expected[kept], keys=[], rtol=rtol)


# --- Streams ----------------------------------------------------------------------------------------------------------


def test_streams_are_named_and_repeatable():
    first = stream(3, "agreement", "fluency").random(5)
    np.testing.assert_array_equal(first, stream(3, "agreement", "fluency").random(5))
    for other in (stream(4, "agreement", "fluency"), stream(3, "fluency", "agreement"), stream(3, "agreement")):
        assert not np.array_equal(first, other.random(5))


# --- Bootstrap --------------------------------------------------------------------------------------------------------


def routes(case):
    """Clusters that take each way of drawing: by type, by number, by number then type."""
    rng = np.random.default_rng(1)
    if case == "multinomial":
        return clusters(np.arange(400), rng.integers(0, 5, 400), 5)
    if case == "repeated":
        return clusters(np.arange(20), rng.integers(0, 5, 20), 5)
    return clusters(rng.integers(0, 30, 200), rng.integers(0, 5, 200), 5)


@pytest.mark.parametrize("case", ["multinomial", "repeated", "clusters"])
def test_weights_of_a_sample_and_of_replicates_add_up(case):
    drawn = routes(case)
    sample = drawn.weights()
    assert sample.shape == (1, 5)
    assert sample.sum() == {"multinomial": 400, "repeated": 20, "clusters": 200}[case]
    replicates = np.concatenate(list(drawn.replicates(50, stream(1))))
    assert replicates.shape == (50, 5)
    if case != "clusters":
        np.testing.assert_array_equal(replicates.sum(axis=1), sample.sum())


@pytest.mark.parametrize("case", ["multinomial", "repeated", "clusters"])
def test_same_seed_same_draws_whatever_the_block(case, monkeypatch):
    def draws(seed):
        drawn = routes(case)
        return bootstrap(lambda w: w @ np.arange(5.0), drawn, n_replicates=101, rng=stream(seed, "draws"))

    first = draws(1)
    np.testing.assert_array_equal(first, draws(1))
    assert not np.array_equal(first, draws(2))
    for block in (1, 77, 1000):
        monkeypatch.setattr(inference, "_BLOCK", block)
        np.testing.assert_array_equal(first, draws(1))


@pytest.mark.parametrize("n_units", [17, 18, 19, 20, 21])
def test_sign_flips_do_not_depend_on_the_block(n_units, monkeypatch):
    values = np.random.default_rng(2).normal(0.3, 1, (n_units, 2))
    first = sign_flip_tests(values, n_draws=999, rng=stream(1))
    for block in (1, n_units, 7 * n_units):
        monkeypatch.setattr(inference, "_BLOCK", block)
        assert sign_flip_tests(values, n_draws=999, rng=stream(1)) == first


def test_drawing_types_and_drawing_clusters_agree_in_distribution():
    counts = np.array([40, 24, 12, 4])
    by_type = Clusters(counts, sparse.eye_array(4, format="csr"))
    members = sparse.csr_array((np.ones(80), (np.arange(80), np.repeat(np.arange(4), counts))), shape=(80, 4))
    by_cluster = Clusters(np.ones(80, dtype=np.int64), members)
    n = 20_000
    share = counts / 80
    covariance = 80 * (np.diag(share) - np.outer(share, share))
    for drawn in (by_type, by_cluster):
        found = np.concatenate(list(drawn.replicates(n, stream(5, "distribution"))))
        # Five standard errors of a mean and of a variance.
        assert (np.abs(found.mean(axis=0) - counts) < 5 * np.sqrt(np.diag(covariance) / n)).all()
        np.testing.assert_allclose(np.cov(found.T), covariance, atol=5 * np.sqrt(2 / n) * covariance.max())


def test_middle_route_draws_as_many_of_each_type_as_expected():
    drawn = Clusters(np.array([9, 6, 3]), sparse.eye_array(3, format="csr"))  # 3 types x 8 > 18 clusters
    found = np.concatenate(list(drawn.replicates(20_000, stream(6, "middle"))))
    np.testing.assert_allclose(found.mean(axis=0), [9, 6, 3], atol=5 * np.sqrt(4.5 / 20_000))
    np.testing.assert_allclose(found.var(axis=0), [4.5, 4.0, 2.5], rtol=0.05)


def test_a_cluster_brings_all_its_patterns():
    # Item 0 has patterns 0, 0, 1; item 1 has pattern 2.
    drawn = clusters(np.array([0, 0, 0, 7]), np.array([0, 0, 1, 2]), 3)
    assert drawn.n == 2
    np.testing.assert_array_equal(drawn.weights(), [[2, 1, 1]])
    found = np.concatenate(list(drawn.replicates(200, stream(7))))
    assert {tuple(row) for row in found} == {(4, 2, 0), (2, 1, 1), (0, 0, 2)}


def test_bootstrap_of_several_statistics_keeps_undefined_ones():
    drawn = clusters(np.arange(6), np.array([0, 0, 0, 0, 0, 1]), 2)

    def statistic(weights):
        return np.column_stack([weights[:, 1], np.where(weights[:, 1] > 0, 1.0, np.nan)])

    found = bootstrap(statistic, drawn, n_replicates=4000, rng=stream(8))
    assert found.shape == (4000, 2)
    assert np.isnan(found[:, 1]).mean() == pytest.approx((5 / 6) ** 6, abs=0.04)
    share = percentile_interval(found[:, 1], confidence=0.95).undefined_share
    assert share == pytest.approx(np.isnan(found[:, 1]).mean(), abs=CLOSED)


# --- Percentile interval ----------------------------------------------------------------------------------------------


def test_percentile_interval_of_infinite_replicates():
    inf = np.inf
    # Of 101 replicates the .025 and .975 order statistics, inverted distribution.
    values = np.r_[np.arange(1.0, 99.0), inf, inf, inf]
    found = percentile_interval(values, confidence=0.95)
    assert (found.low, found.high) == (3.0, inf)
    found = percentile_interval(values, confidence=0.9)
    assert (found.low, found.high) == (6.0, 96.0)
    assert percentile_interval(np.array([inf, inf]), confidence=0.95)[:2] == (inf, inf)
    assert percentile_interval(np.array([-inf, 1.0, inf]), confidence=0.95)[:2] == (-inf, inf)


def test_percentile_interval_without_a_defined_replicate():
    found = percentile_interval(np.full(5, np.nan), confidence=0.95)
    assert np.isnan(found.low)
    assert np.isnan(found.high)
    assert found.undefined_share == 1.0


@often
@given(hnp.arrays(float, st.integers(1, 50), elements=st.floats(-1e6, 1e6)), st.floats(0.5, 0.99))
def test_percentile_interval_is_ordered_and_nested(draws, confidence):
    wide, narrow = percentile_interval(draws, confidence=0.995), percentile_interval(draws, confidence=confidence)
    assert draws.min() <= wide.low <= narrow.low <= narrow.high <= wide.high <= draws.max()
    assert narrow.undefined_share == 0


# --- Holm -------------------------------------------------------------------------------------------------------------

p_values = hnp.arrays(float, st.integers(1, 30), elements=st.floats(0, 1))


@often
@given(p_values, st.randoms(use_true_random=False))
def test_holm_is_monotone_between_raw_and_bonferroni_and_blind_to_order(p, random):
    adjusted = holm(p)
    assert (adjusted >= p).all()
    assert (adjusted <= np.minimum(len(p) * p, 1)).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)
    np.testing.assert_array_equal(holm(p[shuffled]), adjusted[shuffled])


@often
@given(p_values, st.integers(0, 30))
def test_holm_leaves_undefined_tests_out(p, at):
    with_hole = np.insert(p, min(at, len(p)), np.nan)
    found = holm(with_hole)
    assert np.isnan(found[np.isnan(with_hole)]).all()
    np.testing.assert_array_equal(found[~np.isnan(with_hole)], holm(p))


def test_holm_of_nothing():
    assert len(holm(np.zeros(0))) == 0
    assert np.isnan(holm(np.full(3, np.nan))).all()


def test_holm_rejects_as_the_step_down_procedure_does():
    rng = np.random.default_rng(3)
    for _ in range(200):
        p = rng.random(12) ** 3
        order, rejected = np.argsort(p), np.zeros(12, dtype=bool)
        for step, test in enumerate(order):
            if p[test] > 0.05 / (12 - step):
                break
            rejected[test] = True
        np.testing.assert_array_equal(holm(p) <= 0.05, rejected)


# --- Exact tests ------------------------------------------------------------------------------------------------------

differences = hnp.arrays(float, st.integers(1, 10), elements=st.integers(-4, 4).map(float))


@often
@given(differences)
def test_sign_flips_are_the_enumeration(values):
    found = sign_flip_tests(values[:, None], n_draws=99, rng=stream(0))[0]
    if not values.any():
        assert np.isnan(found.p)
        assert found.undefined == "every difference is zero"
        return
    signs = np.array(np.meshgrid(*[[1, -1]] * len(values))).reshape(len(values), -1)
    expected = (np.abs(values @ signs) >= abs(values.sum())).mean()
    assert found.p == pytest.approx(expected, abs=CLOSED)


@often
@given(differences)
def test_no_test_goes_below_what_it_calls_attainable(values):
    for found in (sign_flip_tests(values[:, None], n_draws=99, rng=stream(0))[0], sign_test(values)):
        if not found.undefined:
            assert found.p >= found.attainable_p - CLOSED


@often
@given(differences)
def test_the_attainable_p_is_attained_where_all_signs_agree(values):
    # Differences of zero have no sign to flip: they bring no further patterns.
    same = np.abs(values)
    for found in (sign_flip_tests(same[:, None], n_draws=99, rng=stream(0))[0], sign_test(same)):
        if not found.undefined:
            assert found.p == pytest.approx(found.attainable_p, abs=CLOSED)


@often
@given(differences, st.sampled_from([1e-8, 0.1, 0.7, 1e8]))
def test_sign_flips_ignore_direction_and_units_of_measurement(values, factor):
    def p(x):
        return sign_flip_tests(x[:, None], n_draws=99, rng=stream(0))[0].p

    np.testing.assert_allclose(p(-values), p(values), atol=CLOSED)
    np.testing.assert_allclose(p(values * factor), p(values), atol=CLOSED)


def test_sign_flips_leave_units_without_a_difference_out():
    table = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [1.5, np.nan]])
    both = sign_flip_tests(table, n_draws=99, rng=stream(0))
    assert both[0] == (1 / 8, 1 / 8, "")
    assert both[1] == (1 / 2, 1 / 2, "")
    nothing = sign_flip_tests(np.full((3, 1), np.nan), n_draws=99, rng=stream(0))[0]
    assert nothing.undefined == "no difference"


def test_drawn_sign_flips_come_near_the_enumeration_and_are_never_0():
    rng = np.random.default_rng(4)
    values = rng.normal(0.35, 1, (16, 1))
    exact = sign_flip_tests(values, n_draws=99, rng=stream(0))[0].p
    # A seventeenth unit without a difference changes nothing but the way: now patterns are drawn.
    drawn = sign_flip_tests(np.vstack([values, [[0.0]]]), n_draws=20_000, rng=stream(1))[0].p
    assert drawn == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 20_000))
    clear = sign_flip_tests(np.full((40, 1), 1.0), n_draws=999, rng=stream(2))[0]
    assert clear.p == clear.attainable_p == 1 / 1000


def test_drawn_sign_flips_of_few_units_do_not_fall_below_the_attainable_p():
    # Three raters of twenty rated both systems: eight sign patterns, p is 1/4 and nothing less.
    table = np.full((20, 1), np.nan)
    table[:3] = 1.0
    for seed in range(5):
        found = sign_flip_tests(table, n_draws=9999, rng=stream(seed))[0]
        assert found.p >= found.attainable_p


def test_t_test_without_variation_or_replicates_says_so():
    assert "needs two" in t_test(np.array([1.0])).undefined
    assert "needs two" in t_test(np.zeros(0)).undefined
    for same in (np.full(7, 0.1), np.zeros(4), np.full(3, 1e-9)):
        assert t_test(same).undefined == "the differences do not vary"


@often
@given(hnp.arrays(float, st.integers(2, 20), elements=st.floats(-100, 100).map(lambda x: round(x, 3))))
def test_t_test_is_odd_and_blind_to_units(values):
    found, mirrored, scaled = t_test(values), t_test(-values), t_test(1000 * values)
    np.testing.assert_allclose(mirrored.statistic, -found.statistic, rtol=1e-9)
    np.testing.assert_allclose([mirrored.p, scaled.p], found.p, rtol=1e-6)


# --- Clustered means and differences ----------------------------------------------------------------------------------


def test_clusters_of_one_give_the_plain_t_interval():
    found = clustered_mean(SLEEP, np.arange(10), confidence=0.95)
    half = t_quantile(9, 0.95) * SLEEP.std(ddof=1) / np.sqrt(10)
    assert found == (
        pytest.approx(1.58),
        pytest.approx(1.58 - half, abs=CLOSED),
        pytest.approx(1.58 + half, abs=CLOSED),
        10,
    )


@often
@given(st.integers(2, 6))
def test_repeating_each_cluster_s_value_leaves_the_interval_alone(times):
    once = clustered_mean(SLEEP, np.arange(10), confidence=0.95)
    repeated = clustered_mean(np.repeat(SLEEP, times), np.repeat(np.arange(10), times), confidence=0.95)
    np.testing.assert_allclose(repeated, once, rtol=1e-10)


def test_one_cluster_has_no_interval():
    found = clustered_mean(SLEEP, np.zeros(10, dtype=int), confidence=0.95)
    assert found.n_clusters == 1
    assert np.isnan([found.low, found.high]).all()


def test_clustered_difference_by_hand():
    found = clustered_difference(np.array([1.0, 3, 2, 6, 4]), np.array([True, True, False, False, False]), np.arange(5))
    assert found.difference == -2.0
    # Influences: (-1, 1) / 2 and (-2, 2, 0) / 3; factor 5 / 4.
    assert found.standard_error == pytest.approx(np.sqrt(5 / 4 * (0.5 + 8 / 9)), abs=CLOSED)
    assert found.df == 1
    assert found.standardised == pytest.approx(-2 / np.sqrt((2 + 8) / 3), abs=CLOSED)
    assert found.p == pytest.approx(t_p(found.difference / found.standard_error, 1), abs=CLOSED)


@often
@given(st.sampled_from([0.1, 0.3, 1 / 3, 2.0, 1e6 + 0.1]), st.integers(2, 28))
def test_equal_values_differ_by_nothing(value, n_in):
    # Means of the same number over 7 and over 23 terms differ in the last bit: that is no difference.
    found = clustered_difference(np.full(30, value), np.arange(30) < n_in, np.arange(30))
    assert np.isnan(found.p)
    assert found.undefined == "the other ratings do not vary"


def test_perfect_separation_has_the_p_of_the_permutation_test():
    # Of C(10, 3) = 120 choices of three clusters one has this difference, and one might have its mirror image.
    found = clustered_difference(np.r_[np.ones(3), np.zeros(7)], np.arange(10) < 3, np.arange(10))
    assert found.p == pytest.approx(2 / 120, abs=CLOSED)
    assert found.standardised == np.inf
    assert found.difference == 1.0
    turned = clustered_difference(np.r_[np.zeros(3), np.ones(7)], np.arange(10) < 3, np.arange(10))
    assert turned.p == pytest.approx(2 / 120, abs=CLOSED)
    assert turned.standardised == -np.inf


@pytest.mark.parametrize(("mean_in", "mean_out"), [(0.0, 0.0), (1.0, 0.0)])
def test_influences_that_cancel_within_clusters_do_not_divide_by_zero(mean_in, mean_out):
    # Each item has an observation above and one below its group's mean: every cluster's influence is 0.
    values = np.array([1.0, -1.0] * 8) + np.repeat([mean_in, mean_out], 8)
    found = clustered_difference(values, np.arange(16) < 8, np.repeat(np.arange(8), 2))
    assert found.difference == mean_in - mean_out
    assert found.standard_error == 0.0
    assert np.isnan(found.p) or 0 < found.p <= 1
    assert np.isnan(found.p) == bool(found.undefined)


def test_fewer_than_two_clusters_on_a_side_have_no_test():
    found = clustered_difference(np.arange(5.0), np.arange(5) < 2, np.array([0, 0, 1, 2, 3]))
    assert found.undefined == "fewer than two items on one side"


# --- Ranks ------------------------------------------------------------------------------------------------------------


@often
@given(hnp.arrays(float, st.integers(1, 12), elements=st.integers(0, 5).map(float)))
def test_average_ranks_add_up_and_follow_the_order(values):
    ranks = average_ranks(values)
    n = len(values)
    assert ranks.sum() == n * (n + 1) / 2
    np.testing.assert_array_equal(np.sign(ranks[:, None] - ranks), np.sign(values - values[:, None]))


# --- Coverage ---------------------------------------------------------------------------------------------------------


def test_t_interval_of_a_clustered_mean_covers_and_the_naive_one_does_not():
    rng = stream(12, "coverage of means")
    covered = naive = 0
    for _ in range(400):
        size = rng.integers(1, 8, 25)
        cluster = np.repeat(np.arange(25), size)
        values = rng.normal(size=25)[cluster] + rng.normal(size=len(cluster))
        found = clustered_mean(values, cluster, confidence=0.95)
        covered += found.low <= 0 <= found.high
        naive += abs(values.mean()) <= 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    assert 0.905 <= covered / 400 <= 0.985
    assert naive / 400 < 0.86


def test_the_test_of_a_clustered_difference_keeps_its_level():
    rng = stream(13, "level")
    rejected = 0
    for _ in range(400):
        cluster = np.repeat(np.arange(30), 4)
        values = rng.normal(size=30)[cluster] + rng.normal(size=120)
        rejected += clustered_difference(values, cluster < 10, cluster).p < 0.05
    assert 0.01 <= rejected / 400 <= 0.09


@often
@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.sampled_from([0.0, 1.0, 2.0, np.nan])))
def test_shuffled_runs_are_counted_as_one_shuffle_after_the_other_would(values):
    rng = stream(3, "runs")
    observed = longest_run(values)
    hits = sum(longest_run(rng.permutation(values)) >= observed for _ in range(60))
    assert run_test(values, n_draws=60, rng=stream(3, "runs")) == (1 + hits) / 61
