import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from measurand.stats import agreement, inference
from measurand.stats.agreement import METRICS, alpha, alphas, patterns
from measurand.stats.association import kappa_quadratic, kendall_tau_b, pearson, spearman
from measurand.stats.inference import bootstrap, clusters, percentile_interval, stream

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=60)
NAN = np.nan

# Krippendorff (2011), "Computing Krippendorff's alpha-reliability", data sets A, B and C, units by raters.
DATA_A = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], dtype=float).T
DATA_B = np.array([["abcde".index(c) for c in row] for row in ("aabbdcccedda", "babbbccceddd")], dtype=float).T
DATA_C = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


def distances(level, values, pooled):
    """The squared differences of all pairs of values, from their definition."""
    c, k = values[:, None], values[None, :]
    if level == "nominal":
        return (c != k).astype(float)
    if level == "interval":
        return (c - k) ** 2
    if level == "ratio":
        return np.divide(c - k, c + k, out=np.zeros((len(values),) * 2), where=c + k != 0) ** 2
    count = np.array([(pooled == value).sum() for value in values])
    out = np.zeros((len(values),) * 2)
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            out[i, j] = out[j, i] = (count[i : j + 1].sum() - (count[i] + count[j]) / 2) ** 2
    return out


def alpha_by_definition(table, level):
    """Alpha as pairs within units over pairs of all: no coincidence matrix, no collapse, no closed form."""
    units = [row[~np.isnan(row)] for row in np.asarray(table, dtype=float)]
    units = [unit for unit in units if len(unit) >= 2]
    pooled = np.concatenate(units)
    values = np.unique(pooled)
    squares = distances(level, values, pooled)
    within = 0.0
    for unit in units:
        at = np.searchsorted(values, unit)
        within += squares[np.ix_(at, at)].sum() / (len(unit) - 1)
    at = np.searchsorted(values, pooled)
    return 1 - (len(pooled) - 1) * within / squares[np.ix_(at, at)].sum()


FIVE = st.integers(1, 5)


@st.composite
def ragged(draw, values=FIVE):
    """A table of ratings with holes and with two different pairable values."""
    shape = (draw(st.integers(2, 8)), draw(st.integers(2, 5)))
    table = draw(hnp.arrays(float, shape, elements=values.map(float)))
    holes = draw(hnp.arrays(bool, shape, elements=st.sampled_from([True, False, False])))
    table = np.where(holes, np.nan, table)
    pairable = table[(~np.isnan(table)).sum(axis=1) >= 2]
    assume(len(np.unique(pairable[~np.isnan(pairable)])) > 1)
    return table


def collapsed(table):
    unit, rater = np.nonzero(~np.isnan(table))
    return patterns(unit, table[unit, rater]), patterns(unit, table[unit, rater], rater)


def of_sample(found, level):
    weights = np.bincount(found.of_unit, minlength=found.n_patterns)[None, :].astype(float)
    return alphas(found, weights, [level])[level][0]


# --- Published values -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "level", "published"),
    [
        (DATA_A, "nominal", 0.095),
        (DATA_B, "nominal", 0.692),
        (DATA_C, "nominal", 0.743),
        (DATA_C, "ordinal", 0.815),
        (DATA_C, "interval", 0.849),
        (DATA_C, "ratio", 0.797),
    ],
)
def test_alpha_of_krippendorff_2011(data, level, published):
    assert alpha(data, level=level).value == pytest.approx(published, abs=5e-4)


def test_alpha_of_krippendorff_2011_is_exact():
    # His coincidence matrices give these fractions.
    assert alpha(DATA_A, level="nominal").value == pytest.approx(2 / 21, abs=CLOSED)
    assert alpha(DATA_B, level="nominal").value == pytest.approx(155 / 224, abs=CLOSED)
    assert alpha(DATA_C, level="nominal").value == pytest.approx(113 / 152, abs=CLOSED)
    for level in METRICS:
        assert alpha(DATA_C, level=level).value == pytest.approx(alpha_by_definition(DATA_C, level), abs=CLOSED)


def test_interval_alpha_of_shrout_and_fleiss():
    table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    assert alpha(table, level="interval").value == pytest.approx(0.147, abs=5e-4)


# --- Oracles ----------------------------------------------------------------------------------------------------------


def test_alpha_against_krippendorff_and_evalica(oracle):
    given_, expected = oracle.read("krippendorff_alpha")
    rows = []
    for name, part in given_.groupby("panel"):
        table = part.pivot(index="unit", columns="rater", values="rating").to_numpy()
        rows += [(name, level, alpha(table, level=level).value) for level in METRICS]
    got = pd.DataFrame(rows, columns=["panel", "level", "alpha"])
    assert len(got) == 28
    oracle.compare(got, expected, keys=["panel", "level"], rtol=0, atol=CLOSED)


def test_pairs_against_scipy_and_scikit_learn(oracle):
    given_, expected = oracle.read("rater_pairs")
    rows = []
    for name, part in given_.groupby("panel"):
        x, y, one = part["x"].to_numpy(float), part["y"].to_numpy(float), np.ones((1, len(part)))
        found = [float(f(x, y, one)[0]) for f in (pearson, spearman, kappa_quadratic)]
        rows.append((name, *found, kendall_tau_b(x, y).value))
    got = pd.DataFrame(rows, columns=["panel", "pearson", "spearman", "kappa_quadratic", "kendall_tau_b"])
    oracle.compare(got, expected, keys=["panel"], rtol=0, atol=CLOSED)


def test_a_corrupted_oracle_is_noticed(oracle):
    keys = {
        "clustered": ["panel"],
        "decoding": ["sample", "row"],
        "distributions": [],
        "false_discovery": ["family", "test"],
        "forced_choice": ["sample"],
        "holm": ["family", "test"],
        "intraclass": ["panel", "form"],
        "krippendorff_alpha": ["panel", "level"],
        "mixed_models": ["panel", "model", "quantity", "program"],
        "quadratic_kappa": ["sample"],
        "ranking_measures": ["sample"],
        "random_slopes": ["panel", "model", "quantity"],
        "rater_pairs": ["panel"],
        "sign_flip": ["sample"],
        "three_way_anova": ["source"],
    }
    assert oracle.names == sorted(keys)
    for name, key in keys.items():
        _, right = oracle.read(name)
        oracle.compare(right, right, keys=key, rtol=0)
        for column in right.columns.difference([*key, "function"]):
            middle = len(right) // 2
            wrong = right.astype({column: float})
            value = wrong.loc[middle, column]
            wrong.loc[middle, column] = 1.0 if np.isnan(value) else value + 1e-9 + 1e-9 * abs(value)
            with pytest.raises(AssertionError):
                oracle.compare(right, wrong, keys=key, rtol=CLOSED)
            with pytest.raises(AssertionError, match="not computed"):
                oracle.compare(right.drop(columns=column), right, keys=key, rtol=CLOSED)
        with pytest.raises(AssertionError):
            oracle.compare(right.iloc[1:], right, keys=key, rtol=CLOSED)


# --- Properties of alpha ----------------------------------------------------------------------------------------------


@often
@given(ragged(), st.sampled_from(METRICS))
def test_alpha_is_its_definition(table, level):
    assert alpha(table, level=level).value == pytest.approx(alpha_by_definition(table, level), abs=CLOSED)


@often
@given(ragged(st.floats(0, 1e4)), st.sampled_from(METRICS))
def test_alpha_of_any_numbers_is_its_definition(table, level):
    found = table[~np.isnan(table)]
    assume(np.diff(np.unique(found)).min() > 1e-3)
    assert alpha(table, level=level).value == pytest.approx(alpha_by_definition(table, level), rel=1e-9, abs=1e-9)


@often
@given(ragged(), st.sampled_from(METRICS), st.randoms(use_true_random=False))
def test_order_of_units_and_raters_changes_nothing(table, level, random):
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    expected = alpha(table, level=level).value
    assert alpha(table[rows], level=level).value == pytest.approx(expected, abs=CLOSED)
    assert alpha(table[:, columns], level=level).value == pytest.approx(expected, abs=CLOSED)


@often
@given(ragged(), st.floats(0.01, 100), st.floats(-100, 100))
def test_interval_alpha_ignores_shift_and_factor(table, factor, shift):
    expected = alpha(table, level="interval").value
    assert alpha(factor * table + shift, level="interval").value == pytest.approx(expected, abs=1e-10)
    assert alpha(-factor * table + shift, level="interval").value == pytest.approx(expected, abs=1e-10)


@often
@given(ragged(), st.lists(st.floats(0.01, 50), min_size=5, max_size=5))
def test_ordinal_alpha_ignores_monotone_maps(table, steps):
    place = np.cumsum(steps)
    mapped = np.where(np.isnan(table), np.nan, place[np.nan_to_num(table, nan=1).astype(int) - 1])
    expected = alpha(table, level="ordinal").value
    assert alpha(mapped, level="ordinal").value == pytest.approx(expected, abs=CLOSED)
    assert alpha(-mapped, level="ordinal").value == pytest.approx(expected, abs=CLOSED)


@often
@given(ragged(st.integers(0, 5)), st.floats(1e-3, 1e3))
def test_ratio_alpha_ignores_factors(table, factor):
    expected = alpha(table, level="ratio").value
    assert alpha(factor * table, level="ratio").value == pytest.approx(expected, abs=CLOSED)


def test_ratio_alpha_does_not_ignore_shifts():
    assert alpha(DATA_C + 10, level="ratio").value != pytest.approx(alpha(DATA_C, level="ratio").value, abs=1e-3)


@often
@given(ragged(), st.permutations([1.0, 2.0, 3.0, 4.0, 5.0]))
def test_nominal_alpha_ignores_relabelling(table, names):
    mapped = np.where(np.isnan(table), np.nan, np.array(names)[np.nan_to_num(table, nan=1).astype(int) - 1])
    assert alpha(mapped, level="nominal").value == pytest.approx(alpha(table, level="nominal").value, abs=CLOSED)


def test_ordinal_alpha_is_not_blind_to_order():
    swapped = np.where(DATA_C == 1, 5, np.where(DATA_C == 5, 1, DATA_C))
    assert alpha(swapped, level="ordinal").value != pytest.approx(alpha(DATA_C, level="ordinal").value, abs=1e-3)


@often
@given(ragged(st.integers(0, 1)))
def test_all_levels_coincide_on_two_values(table):
    expected = alpha(table, level="nominal").value
    for level in METRICS:
        assert alpha(table, level=level).value == pytest.approx(expected, abs=CLOSED)


@often
@given(ragged(), st.integers(2, 5), st.sampled_from(METRICS))
def test_repeating_every_unit_changes_only_the_small_sample_factor(table, times, level):
    def ratio(x):
        """Observed over expected disagreement without the factor (n - 1) / n."""
        pairable = (~np.isnan(x)).sum(axis=1)
        n = pairable[pairable >= 2].sum()
        return (1 - alpha(x, level=level).value) * n / (n - 1)

    assert ratio(np.repeat(table, times, axis=0)) == pytest.approx(ratio(table), abs=1e-11)


@often
@given(ragged(), st.sampled_from(METRICS))
def test_units_with_one_rating_take_no_part(table, level):
    alone = np.full((3, table.shape[1]), np.nan)
    alone[:, 0] = [1, 3, 99]
    assert alpha(np.vstack([alone, table]), level=level).value == alpha(table, level=level).value


@often
@given(hnp.arrays(float, st.tuples(st.integers(2, 30), st.just(2)), elements=st.integers(1, 7).map(float)))
def test_interval_alpha_of_two_complete_raters_from_kappa(table):
    # The pooled, symmetric kappa 1 - D_o / D_e and alpha differ by the factor (n - 1) / n of 2 x units ratings.
    assume(len(np.unique(table)) > 1)
    x, y = np.r_[table[:, 0], table[:, 1]], np.r_[table[:, 1], table[:, 0]]
    pooled = float(kappa_quadratic(x, y, np.ones((1, len(x))))[0])
    n = 2 * len(table)
    assert alpha(table, level="interval").value == pytest.approx(1 - (1 - pooled) * (n - 1) / n, abs=CLOSED)


@pytest.mark.parametrize("n_raters", [2, 3, 4, 5, 7, 11])
@pytest.mark.parametrize("level", METRICS)
def test_full_agreement_is_exactly_one(n_raters, level):
    # The exact bound at full agreement is taken where alpha equals 1: rounding must not hide it, nor exceed 1.
    rng = np.random.default_rng(1)
    for draw in range(60):
        values = rng.random(20) * 5 if draw % 2 else rng.choice([0.1, 0.2, 0.3, 0.7], 20)
        assert alpha(np.repeat(values[:, None], n_raters, axis=1), level=level).value == 1.0


def test_full_agreement_with_holes_is_exactly_one():
    rng = np.random.default_rng(2)
    for _ in range(60):
        table = np.repeat(rng.random((20, 1)), 6, axis=1)
        table[rng.random(table.shape) < 0.3] = np.nan
        for level in METRICS:
            assert alpha(table, level=level).value == 1.0, level


def test_interval_alpha_keeps_its_digits_far_from_zero():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 8, (40, 3)).astype(float)
    assert alpha(table + 2.0**30, level="interval").value == pytest.approx(
        alpha(table, level="interval").value, abs=1e-12
    )


# --- Patterns and weights ---------------------------------------------------------------------------------------------


@often
@given(ragged(), st.sampled_from(METRICS))
def test_patterns_with_and_without_raters_agree(table, level):
    multisets, vectors = collapsed(table)
    assert multisets.n_patterns <= vectors.n_patterns <= vectors.n_units
    assert of_sample(vectors, level) == pytest.approx(of_sample(multisets, level), abs=CLOSED)


@pytest.mark.parametrize("with_raters", [False, True])
def test_no_collapse_where_no_integer_holds_a_pattern(with_raters):
    # 20 raters on 100 levels: 20 log2(101) > 62 bits.
    rng = np.random.default_rng(4)
    table = rng.integers(0, 101, (30, 20)).astype(float)
    table[20:] = table[:10]
    table[rng.random(table.shape) < 0.3] = np.nan
    table[25] = table[5]
    unit, rater = np.nonzero(~np.isnan(table))
    found = patterns(unit, table[unit, rater], rater if with_raters else None)
    assert found.n_patterns == found.n_units == 30
    for level in METRICS:
        assert of_sample(found, level) == pytest.approx(alpha_by_definition(table, level), abs=1e-11)


def test_units_of_one_pattern_are_collapsed():
    table = np.array([[1, 2], [2, 1], [1, 2], [1, 1], [NAN, 2]])
    multisets, vectors = collapsed(table)
    assert (multisets.n_units, multisets.n_patterns, vectors.n_patterns) == (4, 2, 3)
    np.testing.assert_array_equal(multisets.unit, [0, 1, 2, 3])
    for found in (multisets, vectors):
        shown = found.counts.toarray()[found.of_unit]
        np.testing.assert_array_equal(shown, [[1, 1], [1, 1], [1, 1], [2, 0]])


@often
@given(ragged(), st.sampled_from(METRICS), st.data())
def test_weights_say_the_same_as_repeating_units(table, level, data):
    multisets, _ = collapsed(table)
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(table), max_size=len(table))))
    weights = np.bincount(multisets.of_unit, times[multisets.unit], minlength=multisets.n_patterns)[None, :]
    found = alphas(multisets, weights, [level])
    expanded = np.repeat(table, times, axis=0)
    expected = alpha(expanded, level=level) if len(expanded) else None
    if expected is None or expected.undefined:
        assert np.isnan(found[level][0])
    else:
        assert found[level][0] == pytest.approx(expected.value, abs=CLOSED)


def test_rows_of_weights_do_not_touch_each_other():
    rng = np.random.default_rng(5)
    table = rng.integers(1, 6, (15, 4)).astype(float)
    multisets, _ = collapsed(table)
    weights = rng.integers(0, 4, (7, multisets.n_patterns)).astype(float)
    together = alphas(multisets, weights)
    for row in range(7):
        alone = alphas(multisets, weights[row : row + 1])
        for name, values in together.items():
            np.testing.assert_allclose(values[row], alone[name][0], rtol=CLOSED, err_msg=name)


@often
@given(ragged())
def test_observed_agreement_is_the_share_of_agreeing_pairs(table):
    multisets, _ = collapsed(table)
    weights = np.bincount(multisets.of_unit, minlength=multisets.n_patterns)[None, :].astype(float)
    units = [row[~np.isnan(row)] for row in table]
    units = [u for u in units if len(u) > 1]
    agreeing = sum(((u[:, None] == u).sum() - len(u)) / (len(u) - 1) for u in units)
    got = alphas(multisets, weights, [])["observed"][0]
    assert got == pytest.approx(agreeing / sum(map(len, units)), abs=CLOSED)


# --- The ratio level's integral ---------------------------------------------------------------------------------------


def ratio_pairwise(weights, values):
    total = values[:, None] + values
    squares = np.divide(values[:, None] - values, total, out=np.zeros_like(total), where=total > 0) ** 2
    return np.einsum("rc,ck,rk->r", weights, squares, weights)


@pytest.mark.parametrize("zeros", [False, True])
def test_integral_of_the_ratio_level_equals_the_double_sum(zeros):
    rng = np.random.default_rng(6)
    values = np.sort(10 ** rng.uniform(-3, 6, 700))
    if zeros:
        values[0] = 0.0
    weights = rng.integers(0, 5, (3, 700)).astype(float)
    weights[:, 0] = 7
    got = agreement._ratio_expected(weights, values)
    np.testing.assert_allclose(got, ratio_pairwise(weights, values), rtol=CLOSED)


def test_both_paths_of_the_ratio_level_are_used_and_agree(monkeypatch):
    rng = np.random.default_rng(7)
    table = np.round(rng.gamma(2.0, 10.0, (100, 3)), 4)
    assert len(np.unique(table)) > 256
    by_integral = alpha(table, level="ratio").value
    monkeypatch.setattr(agreement, "_DIRECT_RATIO", 10**6)
    assert alpha(table, level="ratio").value == pytest.approx(by_integral, rel=CLOSED)
    assert by_integral == pytest.approx(alpha_by_definition(table, "ratio"), rel=1e-11)


@pytest.mark.parametrize(("low", "high"), [(1, 2), (100, 101), (1000, 1001), (1e6, 1e6 + 1)])
def test_integral_of_the_ratio_level_keeps_its_digits_on_a_narrow_range(low, high):
    # n² minus the integral cancels where all values are nearly alike: times, temperatures, ratings around 1500.
    values = np.sort(np.random.default_rng(8).uniform(low, high, 400))
    weights = np.ones((1, 400))
    np.testing.assert_allclose(agreement._ratio_expected(weights, values), ratio_pairwise(weights, values), rtol=1e-9)


# --- Memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", METRICS)
def test_alpha_of_continuous_ratings_needs_memory_by_rating(level):
    n = 200_000
    truth = np.random.default_rng(9).random((n // 2, 1))
    table = truth + 0.1 * np.random.default_rng(10).random((n // 2, 2))
    assert len(np.unique(table)) > 0.99 * n
    tracemalloc.start()
    value = alpha(table, level=level).value
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert -1 < value < 1
    assert peak < 800 * n  # values by values would be 1.6 million bytes a rating


# --- Two raters -------------------------------------------------------------------------------------------------------

points = st.integers(2, 12).flatmap(
    lambda n: st.tuples(*(hnp.arrays(float, n, elements=st.integers(0, 7).map(float)) for _ in range(2)))
)


@often
@given(points)
def test_quadratic_kappa_is_cohens_table_and_lins_concordance(xy):
    x, y = xy
    assume(len(np.unique(np.r_[x, y])) > 1)
    got = float(kappa_quadratic(x, y, np.ones((1, len(x))))[0])
    levels = np.arange(8)
    observed = (x[:, None, None] == levels[:, None]) & (y[:, None, None] == levels)
    observed = observed.mean(axis=0)
    chance = observed.sum(axis=1)[:, None] * observed.sum(axis=0)
    off = (levels[:, None] - levels) ** 2
    assert got == pytest.approx(1 - (off * observed).sum() / (off * chance).sum(), abs=CLOSED)
    lin = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert got == pytest.approx(lin, abs=CLOSED)


@often
@given(points)
def test_quadratic_kappa_is_symmetric_and_at_most_the_correlation(xy):
    x, y = xy
    one = np.ones((1, len(x)))
    assume(len(np.unique(x)) > 1)
    assume(len(np.unique(y)) > 1)
    kappa = float(kappa_quadratic(x, y, one)[0])
    assert kappa == pytest.approx(float(kappa_quadratic(y, x, one)[0]), abs=CLOSED)
    assert abs(kappa) <= abs(float(pearson(x, y, one)[0])) + CLOSED


def test_quadratic_kappa_equals_the_correlation_where_means_and_spreads_are_equal():
    x = np.array([1.0, 2, 3, 4, 5])
    y = np.array([2.0, 1, 4, 5, 3])
    one = np.ones((1, 5))
    assert float(kappa_quadratic(x, y, one)[0]) == pytest.approx(float(pearson(x, y, one)[0]), abs=CLOSED)
    assert float(kappa_quadratic(x, y + 1, one)[0]) < float(pearson(x, y + 1, one)[0]) - 0.1


@pytest.mark.parametrize("constant", [0.1, 2.0, 3.3, 1e6])
def test_a_constant_rater_has_kappa_0_and_no_correlation(constant):
    y = constant + np.array([-1.0, 0, 1, 2, 0.3, 0.7, 0.1])
    x = np.full(7, constant)
    weights = np.vstack([np.ones(7), [3, 1, 4, 1, 5, 9, 2]])
    assert kappa_quadratic(x, y, weights).tolist() == [0.0, 0.0]
    assert np.isnan(pearson(x, y, weights)).all()
    assert np.isnan(spearman(x, y, weights)).all()
    assert np.isnan(kappa_quadratic(x, x, weights)).all()
    assert kappa_quadratic(x, x + 1, weights).tolist() == [0.0, 0.0]


@often
@given(points, st.data())
def test_weighted_points_say_the_same_as_repeated_points(xy, data):
    x, y = xy
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(x), max_size=len(x))))
    assume(times.sum() >= 2)
    a, b = np.repeat(x, times), np.repeat(y, times)
    one = np.ones((1, len(a)))
    for statistic in (pearson, spearman, kappa_quadratic):
        got, expected = statistic(x, y, times[None, :].astype(float))[0], statistic(a, b, one)[0]
        np.testing.assert_allclose(got, expected, atol=1e-11, err_msg=statistic.__name__)


def test_correlation_does_not_call_a_distant_rater_constant():
    # The points are centred on the first rater alone: a second one far away must keep its variance.
    x = np.array([0.0, 0.1, 0.2, 0.3])
    y = 1e7 + np.array([0.0, 0.25, 0.5, 0.75])
    assert float(pearson(x, y, np.ones((1, 4)))[0]) == pytest.approx(1.0, abs=1e-6)


@often
@given(points)
def test_tau_b_is_its_definition_and_antisymmetric(xy):
    x, y = xy
    got = kendall_tau_b(x, y)
    if len(np.unique(x)) == 1 or len(np.unique(y)) == 1:
        assert np.isnan(got.value)
        assert got.undefined
        return
    assert -1 - CLOSED <= got.value <= 1 + CLOSED
    assert kendall_tau_b(x, -y).value == pytest.approx(-got.value, abs=CLOSED)
    assert kendall_tau_b(y, x).value == pytest.approx(got.value, abs=CLOSED)
    assert kendall_tau_b(x, x).value == pytest.approx(1.0, abs=CLOSED)


# --- Situations to settle ---------------------------------------------------------------------------------------------

SIX = {
    "all ratings identical": ([[3, 3, 3]] * 6, "ordinal", "no variation"),
    "one rater constant": ([[1, 3, 2], [2, 3, 2], [4, 3, 4], [5, 3, 5], [1, 3, 1], [2, 3, 3]], "ordinal", 0.440388),
    "no unit rated twice": ([[1, NAN, NAN], [NAN, 2, NAN], [NAN, NAN, 4], [5, NAN, NAN]], "ordinal", "no unit"),
    "only one unit rated twice": ([[1, 2, NAN], [NAN, 2, NAN], [NAN, NAN, 4], [5, NAN, NAN]], "ordinal", 0.0),
    "unused middle levels": ([[1, 1, 2], [2, 5, 5], [5, 5, 5], [1, 2, 1], [2, 2, 2], [5, 2, 5]], "ordinal", 0.64653),
    "missing 30 %": (
        [[1, 1, NAN], [2, NAN, 5], [5, 5, 5], [NAN, 2, 1], [2, 2, 2], [5, NAN, NAN]],
        "ordinal",
        0.736276,
    ),
    "labels in their declared order": ([[0, 0, 1], [0, 1, 0], [1, 1, 1], [2, 2, 2]], "ordinal", 0.705357),
    "labels without an order": ([[0, 0, 1], [0, 1, 0], [1, 1, 1], [2, 2, 2]], "nominal", 0.531915),
    "one rater": ([[1], [2], [3]], "nominal", "one rater"),
    "one rater of two columns": ([[1, NAN], [2, NAN]], "interval", "one rater"),
    "nobody": (np.full((3, 2), np.nan), "interval", "one rater"),
    "negative ratings on a ratio level": ([[-1, 1], [2, 2]], "ratio", "0 or more"),
    "constant once single ratings are dropped": ([[3, 3], [3, 3], [1, NAN]], "nominal", "no variation"),
    "the same 0 with and without a sign": ([[0.0, -0.0], [-0.0, 0.0]], "ratio", "no variation"),
}


@pytest.mark.parametrize("situation", SIX)
def test_alpha_in_awkward_situations(situation):
    table, level, expected = SIX[situation]
    got = alpha(table, level=level)
    if isinstance(expected, str):
        assert np.isnan(got.value)
        assert expected in got.undefined
    else:
        assert got.undefined == ""
        assert got.value == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([0, 7, 0, 7, 3, 0], [0, 7, 7, 7, 0, 3], 0.472441),  # levels 1, 2, 4, 5, 6 of 0..7 unused
        ([8, 9, 10, 10, 9, 8, 10, 8], [8, 9, 10, 9, 10, 8, 10, 9], 0.727273),  # labels whose texts sort otherwise
        ([0, 1, 2, 2, 0], [1, 1, 2, 1, 0], 0.666667),  # low < mid < high
        ([2] * 5, [3] * 5, 0.0),
        ([2] * 5, [1, 2, 3, 2, 1], 0.0),
        ([2] * 5, [2] * 5, np.nan),
    ],
)
def test_kappa_in_awkward_situations(x, y, expected):
    got = float(kappa_quadratic(np.array(x, float), np.array(y, float), np.ones((1, len(x))))[0])
    np.testing.assert_allclose(got, expected, atol=5e-7)


# --- Coverage ---------------------------------------------------------------------------------------------------------


def five_point(rng, n):
    truth = rng.normal(size=(n, 1))
    return np.clip(np.rint(3 + truth + rng.normal(size=(n, 3))), 1, 5)


def test_unit_bootstrap_of_alpha_covers_the_truth_of_independent_units():
    rng = stream(11, "coverage of alpha")
    truth = alpha(five_point(rng, 200_000), level="ordinal").value
    covered, widths = 0, []
    for panel in range(300):
        multisets, _ = collapsed(five_point(rng, 60))
        drawn = clusters(multisets.unit, multisets.of_unit, multisets.n_patterns)
        draws = bootstrap(
            lambda w, m=multisets: alphas(m, w, ["ordinal"])["ordinal"],
            drawn,
            n_replicates=300,
            rng=inference.stream(panel, "replicates"),
        )
        interval = percentile_interval(draws, confidence=0.95)
        covered += interval.low <= truth <= interval.high
        widths.append(interval.high - interval.low)
    # An interval that is 30 % too narrow covers some 83 %.
    assert 0.90 <= covered / 300 <= 0.985
    assert 0.2 < np.mean(widths) < 0.45
