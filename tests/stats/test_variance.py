import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from measurand.simulate import two_emojis_panel
from measurand.stats.inference import f_p, percentile_interval, stream
from measurand.stats.variance import (
    Anova,
    anova,
    component_matrix,
    components,
    expectation_matrix,
    f_test,
    null_mean_squares,
    pivots,
    quasi_f_test,
)

CLOSED = 1e-12
FACETS = ["item", "system", "rater"]
often = settings(derandomize=True, deadline=None, max_examples=60)

# Brennan (2001), Generalizability Theory, synthetic data set 1: ten persons by twelve items.
ONE = [
    "101000000000",
    "111001000000",
    "111110000000",
    "110110010000",
    "111110100000",
    "111011100000",
    "111111100000",
    "111101111100",
    "111111111110",
    "111111111111",
]
BRENNAN_1 = np.array([[float(x) for x in row] for row in ONE])
# Synthetic data set 3: ten persons by four items by two occasions; digits run over persons.
THREE = (
    ("2455442306", "6559346458", "7648546447", "5766675556"),
    ("2655462656", "5747547658", "5557677658", "5756485436"),
)
BRENNAN_3 = np.array([[[float(x) for x in row] for row in o] for o in THREE]).transpose(2, 1, 0)


def table_of(sizes, components_):
    """The analysis of variance that a panel with exactly these expected mean squares would have."""
    facets = tuple(FACETS[: len(sizes)])
    empty = anova(np.random.default_rng(0).normal(size=sizes), facets)
    expected = expectation_matrix(empty) @ np.array([components_.get(source, 0.0) for source in empty.sources])
    ss = {source: ms * empty.df[source] for source, ms in zip(empty.sources, expected, strict=True)}
    return Anova(facets, tuple(sizes), ss, empty.df)


cubes = hnp.arrays(
    float,
    st.tuples(st.integers(2, 5), st.integers(2, 4), st.integers(2, 4)),
    elements=st.floats(-10, 10).map(lambda x: round(x, 2)),
)


# --- Published values -------------------------------------------------------------------------------------------------


def test_anova_of_brennans_first_data():
    table = anova(BRENNAN_1, ["p", "i"])
    assert {s: round(ss, 4) for s, ss in table.ss.items()} == {"p": 7.3417, "i": 9.6917, "residual": 12.5583}
    assert table.df == {"p": 9, "i": 11, "residual": 99}
    found = {s: round(v, 4) for s, v in components(table).items()}
    assert found == {"p": 0.0574, "i": 0.0754, "residual": 0.1269}


def test_anova_of_brennans_third_data():
    table = anova(BRENNAN_3, ["p", "i", "o"])
    ss = {"p": 62.2, "i": 37.45, "o": 3.2, "p:i": 56.3, "p:o": 12.05, "i:o": 7.5, "residual": 25.25}
    df = {"p": 9, "i": 3, "o": 1, "p:i": 27, "p:o": 9, "i:o": 3, "residual": 27}
    assert table.df == df
    for source, value in ss.items():
        assert table.ss[source] == pytest.approx(value, rel=CLOSED)
        assert table.ms[source] == pytest.approx(value / df[source], rel=CLOSED)
    found = {s: round(v, 4) for s, v in components(table).items()}
    published = {"p": 0.5528, "i": 0.4417, "o": 0.0074, "p:i": 0.575, "p:o": 0.1009, "i:o": 0.1565, "residual": 0.9352}
    assert found == published


# Mean squares that the printed F ratios and shares of "Two Emojis of Difference" imply.
EMOJIS = {
    "item": (7.904, 289),
    "system": (11.85, 7),
    "rater": (1341.6, 2),
    "item:system": (0.908, 2023),
    "item:rater": (4.212, 578),
    "system:rater": (20.25, 14),
    "residual": (0.6364, 4046),
}


@pytest.fixture(scope="module")
def emojis():
    cube = two_emojis_panel().ratings["rating"].to_numpy().reshape(290, 8, 3)
    return anova(cube, FACETS)


def test_mean_squares_of_two_emojis_are_the_implied_ones(emojis):
    for source, (ms, df) in EMOJIS.items():
        assert emojis.df[source] == df
        assert emojis.ms[source] == pytest.approx(ms, rel=1e-11)


def test_f_tests_of_two_emojis(emojis):
    against_residual = f_test(emojis, "system", "residual")
    assert against_residual[:3] == (pytest.approx(11.85 / 0.6364, rel=1e-11), 7, 4046)
    assert round(against_residual.statistic, 2) == 18.62
    assert against_residual.p == pytest.approx(1.379e-24, rel=1e-3)
    against_raters = f_test(emojis, "system", "system:rater")
    assert against_raters[:3] == (pytest.approx(11.85 / 20.25, rel=1e-11), 7, 14)
    assert against_raters.p == pytest.approx(0.757459, abs=5e-7)
    assert round(f_test(emojis, "system:rater", "residual").statistic, 2) == 31.82


def test_quasi_f_of_two_emojis(emojis):
    found = quasi_f_test(emojis, "system", "system:rater", "item:system", "residual")
    above, below = 11.85 + 0.6364, 20.25 + 0.908
    assert found.statistic == pytest.approx(above / below, rel=1e-11)
    assert found.df1 == pytest.approx(above**2 / (11.85**2 / 7 + 0.6364**2 / 4046), rel=1e-11)
    assert found.df2 == pytest.approx(below**2 / (20.25**2 / 14 + 0.908**2 / 2023), rel=1e-11)
    assert (round(found.df1, 2), round(found.df2, 2), round(found.p, 3)) == (7.77, 15.28, 0.768)


def test_components_of_two_emojis(emojis):
    found = components(emojis)
    published = {"rater": 0.5680, "item:rater": 0.4470, "residual": 0.6364, "item": 0.1425}
    published |= {"system:rater": 0.0676, "item:system": 0.0905, "system": -0.00997}
    for source, value in published.items():
        assert found[source] == pytest.approx(value, abs=6e-5)
    assert found["system"] == pytest.approx((11.85 - 20.25 - 0.908 + 0.6364) / 870, rel=1e-9)


def test_pivots_of_two_emojis(emojis):
    found = pivots(emojis, n_draws=100_000, rng=stream(1, "pivots"))
    system, rater = (percentile_interval(found[s], confidence=0.95) for s in ("system", "system:rater"))
    assert np.median(found["system"]) == pytest.approx(-0.009, abs=1e-3)
    assert system[:2] == (pytest.approx(-0.044, abs=1.5e-3), pytest.approx(0.032, abs=1.5e-3))
    assert rater[:2] == (pytest.approx(0.035, abs=1e-3), pytest.approx(0.172, abs=3e-3))


# --- Oracle -----------------------------------------------------------------------------------------------------------


def test_anova_against_statsmodels(oracle):
    given_, expected = oracle.read("three_way_anova")
    shape = tuple(given_[facet].nunique() for facet in FACETS)
    table = anova(given_["rating"].to_numpy().reshape(shape), FACETS)
    rows = []
    for source in table.sources:
        test = f_test(table, source, "residual") if source != "residual" else None
        rows.append((source, table.ss[source], table.df[source], *((test[0], test.p) if test else (np.nan,) * 2)))
    test = f_test(table, "system", "system:rater")
    rows.append(("system/system:rater", np.nan, test.df1, test.statistic, test.p))
    got = pd.DataFrame(rows, columns=["source", "ss", "df", "f", "p"])
    oracle.compare(got, expected, keys=["source"], rtol=1e-11)


def test_pivots_are_mean_squares_over_chi_square(oracle):
    _, expected = oracle.read("distributions")
    expected = expected[expected["function"] == "chi_square_quantile"]
    table = Anova(("item", "rater"), (8, 3), {"item": 21.0, "rater": 9.0, "residual": 7.0}, {})
    n = 40_000
    for df in (7, 14, 289):
        quantiles = expected[expected["a"] == df].set_index("x")["value"]
        sized = Anova(table.facets, table.sizes, table.ss, {"item": 3, "rater": 2, "residual": df})
        drawn = 7.0 / pivots(sized, n_draws=n, rng=stream(2, str(df)))["residual"]
        for probability, quantile in quantiles.items():
            assert (drawn <= quantile).mean() == pytest.approx(probability, abs=5 * np.sqrt(0.25 / n))


# --- Analysis of variance ---------------------------------------------------------------------------------------------


@often
@given(cubes)
def test_sums_of_squares_add_up_to_the_total(cube):
    table = anova(cube, FACETS)
    assert sum(table.ss.values()) == pytest.approx(((cube - cube.mean()) ** 2).sum(), rel=1e-11, abs=1e-11)
    assert sum(table.df.values()) == cube.size - 1
    assert all(ss >= 0 for ss in table.ss.values())


@often
@given(cubes)
def test_sums_of_squares_by_inclusion_and_exclusion_of_raw_sums(cube):
    # T_a = sum over levels of a of (sum of their ratings)² / their number; SS_a = sum over b within a of ± T_b.
    table = anova(cube, FACETS)

    def raw(axes):
        rest = tuple(axis for axis in range(3) if axis not in axes)
        sums = cube.sum(axis=rest)
        return float((sums**2).sum() / (cube.size / np.size(sums)))

    for order in (1, 2, 3):
        for axes in itertools.combinations(range(3), order):
            within = [c for size in range(order + 1) for c in itertools.combinations(axes, size)]
            expected = sum((-1) ** (order - len(c)) * raw(c) for c in within)
            source = ":".join(FACETS[axis] for axis in axes) if order < 3 else "residual"
            assert table.ss[source] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@often
@given(cubes, st.permutations([0, 1, 2]))
def test_order_of_axes_changes_names_only(cube, order):
    table = anova(cube, FACETS)
    turned = anova(cube.transpose(order), [FACETS[axis] for axis in order])
    for source in turned.sources:
        name = source
        if ":" in source:
            name = ":".join(sorted(source.split(":"), key=FACETS.index))
        assert turned.ss[source] == pytest.approx(table.ss[name], rel=1e-10, abs=1e-10)
        assert turned.df[source] == table.df[name]


@often
@given(cubes, st.randoms(use_true_random=False))
def test_order_of_levels_changes_nothing(cube, random):
    shuffled = cube
    for axis, size in enumerate(cube.shape):
        order = list(range(size))
        random.shuffle(order)
        shuffled = np.take(shuffled, order, axis=axis)
    expected, got = anova(cube, FACETS).ss, anova(shuffled, FACETS).ss
    np.testing.assert_allclose(list(got.values()), list(expected.values()), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("axes", [a for n in (1, 2, 3) for a in itertools.combinations(range(3), n)])
def test_sources_are_orthogonal(axes):
    # A pure effect of one source, swept of all lower ones, moves that source's sum of squares alone.
    rng = np.random.default_rng(1)
    cube = rng.normal(size=(6, 4, 3))
    effect = rng.normal(size=tuple(n if axis in axes else 1 for axis, n in enumerate(cube.shape)))
    for axis in axes:
        effect = effect - effect.mean(axis=axis, keepdims=True)
    before, after = anova(cube, FACETS).ss, anova(cube + 5 * effect, FACETS).ss
    source = ":".join(FACETS[axis] for axis in axes) if len(axes) < 3 else "residual"
    assert after[source] > before[source] + 10
    for other in before:
        if other != source:
            assert after[other] == pytest.approx(before[other], rel=1e-10)


@often
@given(cubes, st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_constants_and_factors(cube, shift, factor):
    expected = anova(cube, FACETS).ss
    got = anova(factor * cube + shift, FACETS).ss
    scale = max(1.0, factor**2 * max(expected.values()), shift**2 * 1e-4)
    for source, ss in expected.items():
        assert got[source] == pytest.approx(factor**2 * ss, rel=1e-9, abs=1e-10 * scale)


def test_axes_of_length_one_take_no_part():
    cube = np.random.default_rng(2).normal(size=(7, 1, 4))
    three, two = anova(cube, FACETS), anova(cube[:, 0, :], ["item", "rater"])
    assert three == two
    assert three.facets == ("item", "rater")
    with pytest.raises(ValueError, match="two facets"):
        anova(np.ones((5, 1, 1)), FACETS)


def test_effects_that_are_not_there_are_exactly_0():
    for item in (0.1, 1 / 3, 1e6 + 0.1):
        table = anova(item * np.arange(1, 6)[:, None, None] + np.zeros((5, 3, 4)), FACETS)
        assert table.ss["item"] > 0
        assert all(table.ss[source] == 0 for source in table.sources if source != "item")
        assert f_test(table, "item", "residual").undefined == "the error term residual does not vary"


# --- Components -------------------------------------------------------------------------------------------------------


@often
@given(st.lists(st.integers(2, 400), min_size=2, max_size=4))
def test_components_invert_expectations(sizes):
    facets = tuple("abcd"[: len(sizes)])
    sets = [c for n in range(1, len(sizes) + 1) for c in itertools.combinations(facets, n)]
    names = [":".join(c) if len(c) < len(sizes) else "residual" for c in sets]
    table = Anova(facets, tuple(sizes), dict.fromkeys(names, 1.0), dict.fromkeys(names, 1))
    both = component_matrix(table) @ expectation_matrix(table)
    np.testing.assert_allclose(both, np.eye(len(names)), atol=1e-9)


def test_expectations_of_the_three_way_design():
    p, s, r = 10, 4, 3
    table = table_of((p, s, r), {"residual": 1.0})
    want = {
        "item": {"item": s * r, "item:system": r, "item:rater": s, "residual": 1},
        "system": {"system": p * r, "item:system": r, "system:rater": p, "residual": 1},
        "rater": {"rater": p * s, "item:rater": s, "system:rater": p, "residual": 1},
        "item:system": {"item:system": r, "residual": 1},
        "item:rater": {"item:rater": s, "residual": 1},
        "system:rater": {"system:rater": p, "residual": 1},
        "residual": {"residual": 1},
    }
    matrix = expectation_matrix(table)
    for row, source in enumerate(table.sources):
        got = {b: matrix[row, column] for column, b in enumerate(table.sources) if matrix[row, column]}
        assert got == want[source]


def test_components_are_unbiased():
    truth = {"item": 0.5, "system": 0.3, "rater": 0.8, "item:system": 0.2, "item:rater": 0.1, "system:rater": 0.4}
    truth |= {"residual": 1.0}
    rng = np.random.default_rng(3)
    found = []
    for _ in range(1500):
        cube = np.zeros((6, 5, 4))
        for source, value in truth.items():
            names = FACETS if source == "residual" else source.split(":")
            shape = tuple(n if facet in names else 1 for facet, n in zip(FACETS, cube.shape, strict=True))
            cube = cube + np.sqrt(value) * rng.normal(size=shape)
        found.append(components(anova(cube, FACETS)))
    for source, value in truth.items():
        draws = np.array([one[source] for one in found])
        assert draws.mean() == pytest.approx(value, abs=4.5 * draws.std() / np.sqrt(1500))


def test_a_negative_component_keeps_its_sign_and_cancellation_leaves_0():
    table = Anova(
        ("item", "rater"), (4, 3), {"item": 3.0, "rater": 8.0, "residual": 12.0}, {"item": 3, "rater": 2, "residual": 6}
    )
    assert components(table) == {"item": pytest.approx(-1 / 3), "rater": pytest.approx(0.5), "residual": 2.0}
    equal = Anova(table.facets, table.sizes, {"item": 0.3, "rater": 0.2, "residual": 0.6}, table.df)
    assert components(equal)["item"] == 0.0


# --- Tests ------------------------------------------------------------------------------------------------------------


def test_quasi_f_is_the_f_test_where_one_interaction_and_the_residual_vanish():
    table = table_of((10, 4, 3), {"system": 1.0, "system:rater": 0.5})
    quasi = quasi_f_test(table, "system", "system:rater", "item:system", "residual")
    plain = f_test(table, "system", "system:rater")
    assert quasi == (pytest.approx(plain.statistic), pytest.approx(plain.df1), pytest.approx(plain.df2), plain.p, "")


def test_f_and_quasi_f_without_variation_say_so():
    nothing = table_of((5, 3, 3), {})
    assert "does not vary" in f_test(nothing, "system", "residual").undefined
    assert "neither" in quasi_f_test(nothing, "system", "system:rater", "item:system", "residual").undefined
    table = table_of((5, 3, 3), {"residual": 1.0})
    flat = Anova(table.facets, table.sizes, {**table.ss, "system": 0.0, "residual": 0.0}, table.df)
    found = quasi_f_test(flat, "system", "system:rater", "item:system", "residual")
    assert found.undefined == "the effect does not vary"
    assert f_test(flat, "system", "system:rater")[:4] == (0.0, 2, 4, 1.0)


@pytest.mark.parametrize(("raters", "items"), [(0.0, 0.0), (0.5, 0.0), (0.4, 0.4)])
def test_quasi_f_keeps_its_level_and_the_residual_does_not(raters, items):
    rng = stream(4, "quasi f", str(raters), str(items))
    quasi = plain = 0
    n = 400
    for _ in range(n):
        cube = rng.normal(size=(12, 5, 4)) + np.sqrt(raters) * rng.normal(size=(1, 5, 4))
        table = anova(cube + np.sqrt(items) * rng.normal(size=(12, 5, 1)), FACETS)
        quasi += quasi_f_test(table, "system", "system:rater", "item:system", "residual").p < 0.05
        plain += f_test(table, "system", "residual").p < 0.05
    assert 0.01 <= quasi / n <= 0.085
    assert plain / n > 0.5 if raters else plain / n < 0.09


# --- Pivots and null --------------------------------------------------------------------------------------------------

TRUTH = {
    "item": 0.4,
    "system": 0.3,
    "rater": 0.2,
    "item:system": 0.2,
    "item:rater": 0.3,
    "system:rater": 0.15,
    "residual": 1.0,
}


def test_medians_of_pivots_lie_near_the_estimates():
    # With many degrees of freedom the median of chi square is nearly its mean.
    table = table_of((80, 60, 50), TRUTH)
    found = pivots(table, n_draws=4000, rng=stream(5, "medians"))
    assert set(found) == set(table.sources)
    for source, value in TRUTH.items():
        assert np.median(found[source]) == pytest.approx(value, rel=0.05)


def test_pivots_are_repeatable_and_may_be_negative():
    table = table_of((20, 4, 3), {"residual": 1.0})
    first, again = (pivots(table, n_draws=500, rng=stream(6, "repeat")) for _ in range(2))
    for source, draws in first.items():
        np.testing.assert_array_equal(draws, again[source])
        assert draws.shape == (500,)
    assert (first["system"] < 0).any()
    assert (first["residual"] > 0).all()


def test_null_mean_squares_have_no_system_component():
    table = table_of((40, 6, 3), TRUTH)
    found = null_mean_squares(table, "system", n_draws=20_000, rng=stream(7, "null"))
    drawn = component_matrix(table) @ np.vstack([found[source] for source in table.sources])
    for source, values in zip(table.sources, drawn, strict=True):
        wanted = 0.0 if source == "system" else TRUTH[source]
        assert values.mean() == pytest.approx(wanted, abs=5 * values.std() / np.sqrt(20_000))
    for source in table.sources:
        ms = found[source]
        assert ms.var() == pytest.approx(2 * ms.mean() ** 2 / table.df[source], rel=0.15)


def test_null_mean_squares_take_negative_components_as_0():
    table = table_of((40, 6, 3), {"residual": 1.0})
    low = Anova(table.facets, table.sizes, {**table.ss, "item:rater": 0.5 * table.ss["item:rater"]}, table.df)
    assert components(low)["item:rater"] < 0
    found = null_mean_squares(low, "system", n_draws=20_000, rng=stream(8, "null"))
    assert found["item:rater"].mean() == pytest.approx(1.0, abs=0.02)


# --- Coverage ---------------------------------------------------------------------------------------------------------


def test_pivots_cover_the_system_variance_with_all_facets_redrawn():
    rng = stream(9, "coverage of components")
    covered, below = 0, 0
    for panel in range(300):
        cube = np.zeros((60, 6, 3))
        for source, value in TRUTH.items():
            names = FACETS if source == "residual" else source.split(":")
            shape = tuple(n if facet in names else 1 for facet, n in zip(FACETS, cube.shape, strict=True))
            cube = cube + np.sqrt(value) * rng.normal(size=shape)
        drawn = pivots(anova(cube, FACETS), n_draws=1000, rng=stream(panel, "pivots"))["system"]
        interval = percentile_interval(drawn, confidence=0.95)
        covered += interval.low <= TRUTH["system"] <= interval.high
        below += interval.high < TRUTH["system"]
    # Generalised intervals err on the careful side; with 5 degrees of freedom a normal one covers some 80 %.
    assert 0.92 <= covered / 300 <= 1.0
    assert below < 15


def test_p_of_f_is_uniform_without_an_effect():
    rng = stream(10, "uniform")
    p = [f_test(anova(rng.normal(size=(8, 4)), ["item", "rater"]), "item", "residual").p for _ in range(400)]
    assert np.abs(np.sort(p) - (np.arange(400) + 0.5) / 400).max() < 1.63 / np.sqrt(400)
    assert f_p(0.0, 3, 7) == 1.0
