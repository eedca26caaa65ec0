import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from measurand.simulate import two_emojis_panel
from measurand.stats.inference import percentile_interval, stream
from measurand.stats.reliability import (
    ICC_FORMS,
    absolute_error,
    coefficient,
    icc,
    icc_forms,
    icc_intervals,
    items_needed,
    raters_needed,
    relative_error,
    two_way,
)
from measurand.stats.variance import anova, component_matrix, components, null_mean_squares, pivots

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=60)

# Shrout & Fleiss (1979), table 2: six targets by four judges.
SHROUT_FLEISS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float
)


def squares(table):
    table = np.asarray(table, dtype=float)
    return two_way(table, np.ones((1, len(table))))


tables = hnp.arrays(float, st.tuples(st.integers(2, 8), st.integers(2, 5)), elements=st.integers(1, 5).map(float))


# --- Intraclass correlation: published values -------------------------------------------------------------------------


def test_mean_squares_of_shrout_and_fleiss():
    ms = squares(SHROUT_FLEISS)
    assert [round(float(x[0]), 2) for x in ms[:4]] == [11.24, 32.49, 1.02, 6.26]


def test_six_forms_of_shrout_and_fleiss():
    published = [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    exact = [
        0.165741768405476,
        0.289763779527559,
        0.714840714840715,
        0.442797133679269,
        0.620050547598989,
        0.909315542377069,
    ]
    for form, rounded, value in zip(ICC_FORMS, published, exact, strict=True):
        found = icc(SHROUT_FLEISS, form=form)
        assert found.undefined == ""
        assert found.value == pytest.approx(value, abs=CLOSED)
        assert round(found.value, 2) == rounded


def test_f_intervals_of_shrout_and_fleiss():
    # The six intervals that psych gives of these data.
    expected = [
        (-0.132932324874751, 0.722560062328121),
        (0.018786513374712, 0.761084369648953),
        (0.342464765033925, 0.94585825995536),
        (-0.884442155238119, 0.912415420340776),
        (0.0711368153025035, 0.927232040167722),
        (0.675674713816305, 0.985891678169062),
    ]
    for form, got, (low, high) in zip(
        ICC_FORMS, icc_intervals(squares(SHROUT_FLEISS), confidence=0.95), expected, strict=True
    ):
        assert got[:2] == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9)), form


# --- Oracle -----------------------------------------------------------------------------------------------------------


def test_forms_and_intervals_against_psych(oracle):
    given_, expected = oracle.read("intraclass")
    rows = []
    for name, part in given_.groupby("panel"):
        table = part.pivot(index="unit", columns="rater", values="rating").to_numpy()
        intervals = icc_intervals(squares(table), confidence=0.95)
        rows += [(name, f, icc(table, form=f).value, *i[:2]) for f, i in zip(ICC_FORMS, intervals, strict=True)]
    got = pd.DataFrame(rows, columns=["panel", "form", "icc", "low", "high"])
    assert len(got) == 30
    # The interval of form 2 has a root that is found by iteration.
    oracle.compare(got, expected, keys=["panel", "form"], rtol=0, atol=1e-9)
    oracle.compare(got, expected[["panel", "form", "icc"]], keys=["panel", "form"], rtol=0, atol=1e-11)


# --- Intraclass correlation: properties -------------------------------------------------------------------------------


@often
@given(tables, st.randoms(use_true_random=False), st.floats(0.01, 100), st.floats(-100, 100))
def test_forms_ignore_order_shift_and_factor(table, random, factor, shift):
    rows, columns = list(range(table.shape[0])), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    expected, got = (icc_forms(squares(x))[0] for x in (table, factor * table[rows][:, columns] + shift))
    np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


@often
@given(tables)
def test_forms_are_related_as_they_should_be(table):
    forms = dict(zip(ICC_FORMS, icc_forms(squares(table))[0], strict=True))
    k = table.shape[1]
    for one, many in (("icc_1_1", "icc_1_k"), ("icc_2_1", "icc_2_k"), ("icc_3_1", "icc_3_k")):
        if not np.isnan(forms[one]) and not np.isnan(forms[many]) and 1 + (k - 1) * forms[one] > 1e-9:
            assert forms[many] == pytest.approx(k * forms[one] / (1 + (k - 1) * forms[one]), rel=1e-9, abs=1e-9)
    assert np.nanmax([*forms.values(), -9]) <= 1 + CLOSED


def test_severity_lowers_agreement_and_leaves_consistency():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(40, 1)) + 0.5 * rng.normal(size=(40, 4))
    severe = table + np.array([0, 1, 2, 3])
    assert icc(severe, form="icc_3_1").value == pytest.approx(icc(table, form="icc_3_1").value, abs=CLOSED)
    assert icc(severe, form="icc_2_1").value < icc(table, form="icc_2_1").value - 0.3


@often
@given(tables, st.data())
def test_weighted_rows_say_the_same_as_repeated_rows(table, data):
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(table), max_size=len(table))))
    assume(times.sum() >= 2)
    weighted = two_way(table, times[None, :].astype(float))
    repeated = squares(np.repeat(table, times, axis=0))
    for name in ("units", "raters", "residual", "within", "n"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-9, err_msg=name)


@often
@given(tables)
def test_mean_squares_are_those_of_the_analysis_of_variance(table):
    ms, expected = squares(table), anova(table, ["unit", "rater"]).ms
    got = [float(ms.units[0]), float(ms.raters[0]), float(ms.residual[0])]
    np.testing.assert_allclose(got, [expected[s] for s in ("unit", "rater", "residual")], atol=1e-11)


@settings(derandomize=True, deadline=None, max_examples=400)
@given(hnp.arrays(float, st.tuples(st.integers(2, 5), st.integers(2, 4)), elements=st.integers(1, 3).map(float)))
def test_f_intervals_hold_their_estimates(table):
    ms = squares(table)
    forms = icc_forms(ms)[0]
    for form, value, interval in zip(ICC_FORMS, forms, icc_intervals(ms, confidence=0.95), strict=True):
        if not np.isnan(interval.low) and not np.isnan(value):
            assert interval.low - 1e-9 <= value <= interval.high + 1e-9, form
            assert interval.high <= 1 + 1e-9


@pytest.mark.parametrize(
    "table",
    [
        [[1, 2, 3], [2, 3, 1], [3, 1, 2]],
        [[3, 1], [2, 2], [1, 3]],
        [[1, 3], [3, 1]],
        [[2, 3, 1], [2, 1, 3]],
        [[1, 1, 1], [1, 1, 1]],
        [[1, 2, 3], [1, 2, 3]],
        [[1, 1], [2, 2], [4, 4]],
        [[1, 2], [2, 3], [4, 5]],
    ],
)
def test_intervals_where_a_mean_square_is_0(table):
    # Latin squares have no variation of units and none of raters: nothing may be divided by that.
    ms = squares(table)
    for value, interval in zip(icc_forms(ms)[0], icc_intervals(ms, confidence=0.95), strict=True):
        if not np.isnan(interval.low) and not np.isnan(value):
            assert interval.low <= value <= interval.high


def test_a_denominator_that_cancels_to_0_leaves_the_form_undefined():
    # Units + (raters - residual) / n is 1/3 + (0 - ...) / 3 = 0 here: rounding must not make -1e16 of it.
    for table in ([[1, 1], [2, 1], [1, 2]], [[3, 3], [1, 3], [3, 1]], [[0.1, 0.1], [0.2, 0.1], [0.1, 0.2]]):
        found = icc(table, form="icc_2_k")
        assert found.undefined or abs(found.value) < 1e6, found


def test_narrower_confidence_gives_narrower_intervals():
    wide, narrow = (icc_intervals(squares(SHROUT_FLEISS), confidence=c) for c in (0.99, 0.8))
    for w, n in zip(wide, narrow, strict=True):
        assert w.low < n.low < n.high < w.high


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ([[3, 3, 3]] * 4, [np.nan] * 6),  # no variance
        ([[1, 2, 3]] * 4, [-0.5, 0, np.nan, np.nan, 0, np.nan]),  # units identical, raters differ
        ([[1, 1, 1], [2, 2, 2], [5, 5, 5]], [1] * 6),  # full agreement
        ([[0.1, 1.1, 3.1], [0.3, 1.3, 3.3], [0.7, 1.7, 3.7]], [None, None, 1, None, None, 1]),  # consistency alone
    ],
)
def test_forms_in_awkward_situations(table, expected):
    for form, value in zip(ICC_FORMS, expected, strict=True):
        found = icc(table, form=form)
        if value is None:
            assert found.value < 1
        elif np.isnan(value):
            assert np.isnan(found.value)
            assert "no variation" in found.undefined
        else:
            assert found.value == pytest.approx(value, abs=CLOSED)


def test_forms_of_incomplete_and_of_small_tables():
    complete = [[1, 2, 3], [2, 2, 3], [4, 2, 3]]
    assert icc([*complete, [5, 4, np.nan]], form="icc_2_1") == icc(complete, form="icc_2_1")
    assert icc([[1], [2]], form="icc_2_1").undefined == "one rater: agreement needs two"
    assert "1 unit rated by all 3" in icc([[1, 2, 3], [np.nan, 1, 2]], form="icc_2_1").undefined
    assert "'icc_4_1' is none of" in icc(complete, form="icc_4_1").undefined


# --- G and Phi: published values --------------------------------------------------------------------------------------

from_brennan_1 = {"system": 0.0573996, "item": 0.0753788, "item:system": 0.1268519}
BRENNAN_3 = {
    "system": np.array(0.5527777777777778),
    "item": np.array(0.4416666666666667),
    "rater": np.array(0.0074074074074074),
    "item:system": np.array(0.575),
    "system:rater": np.array(0.1009259259259259),
    "item:rater": np.array(0.1564814814814815),
    "residual": np.array(0.9351851851851852),
}


def g_and_phi(parts, n_items, n_raters):
    system = np.maximum(parts["system"], 0)
    return tuple(
        float(coefficient(system, error(parts, n_items, n_raters))) for error in (relative_error, absolute_error)
    )


@pytest.mark.parametrize(
    ("n_items", "g", "phi"),
    [(5, 0.693, 0.586), (10, 0.819, 0.740), (12, 0.844, 0.773), (15, 0.871, 0.810), (20, 0.901, 0.850)],
)
def test_decision_study_of_brennans_first_data(n_items, g, phi):
    # Persons by items: persons are the objects, and there are no raters.
    parts = dict.fromkeys(BRENNAN_3, np.array(0.0)) | {k: np.array(v) for k, v in from_brennan_1.items()}
    # Printed from rounded components: the third digit may be off by one.
    assert g_and_phi(parts, n_items, np.inf) == (pytest.approx(g, abs=1.1e-3), pytest.approx(phi, abs=1.1e-3))


@pytest.mark.parametrize(
    ("n_items", "n_occasions", "g", "phi"),
    [
        (4, 2, 0.6399, 0.5541),
        (4, 1, 0.536, 0.465),
        (8, 1, 0.656, 0.598),
        (8, 2, 0.754, 0.689),
        (16, 1, 0.739, 0.697),
    ],
)
def test_decision_study_of_brennans_third_data(n_items, n_occasions, g, phi):
    tolerance = 6e-5 if (n_items, n_occasions) == (4, 2) else 5.1e-4
    found = g_and_phi(BRENNAN_3, n_items, n_occasions)
    assert found == (pytest.approx(g, abs=tolerance), pytest.approx(phi, abs=tolerance))


@pytest.fixture(scope="module")
def emojis():
    cube = two_emojis_panel().ratings["rating"].to_numpy().reshape(290, 8, 3)
    table = anova(cube, ["item", "system", "rater"])
    parts = {source: np.array(value) for source, value in components(table).items()}
    return table, parts, np.array(table.ms["system"] * 7 / (8 * 870))


def test_plugin_g_and_raters_of_two_emojis(emojis):
    _, parts, plugin = emojis
    published = {"system": plugin, **{name: value for name, value in parts.items() if name != "system"}}
    g, phi = g_and_phi(published, 290, 3)
    assert (g, phi) == (pytest.approx(0.335663, abs=5e-7), pytest.approx(0.0528, abs=5e-5))
    assert float(raters_needed(plugin, parts, target=0.8, n_items=290)) == 27
    assert float(raters_needed(plugin, parts, target=0.9, n_items=290)) == 69
    assert g_and_phi(published, np.inf, 3)[0] == pytest.approx(0.345828, abs=5e-7)
    by_items = {10: 0.184, 25: 0.256, 50: 0.294, 100: 0.318, 200: 0.331, 500: 0.340, 1000: 0.343}
    for n, value in by_items.items():
        assert g_and_phi(published, n, 3)[0] == pytest.approx(value, abs=5.1e-4)


def test_unbiased_g_of_two_emojis_is_0_and_never_reached(emojis):
    table, parts, _ = emojis
    assert g_and_phi(parts, 290, 3) == (0.0, 0.0)
    assert raters_needed(parts["system"], parts, target=0.8, n_items=290) == np.inf
    drawn = pivots(table, n_draws=100_000, rng=stream(1, "pivots"))
    g = percentile_interval(coefficient(drawn["system"], relative_error(drawn, 290, 3)), confidence=0.95)
    assert g[:2] == (0.0, pytest.approx(0.62, abs=0.015))
    needed = raters_needed(drawn["system"], drawn, target=0.8, n_items=290)
    assert np.isinf(needed).mean() == pytest.approx(0.79, abs=0.01)
    assert percentile_interval(needed, confidence=0.95)[:2] == (pytest.approx(8, abs=1), np.inf)


def test_null_of_the_plugin_g_of_two_emojis(emojis):
    # Without any system difference the plug-in says .454 on average, and .16 to .75 in 95 % of the panels.
    table, _, _ = emojis
    ms = null_mean_squares(table, "system", n_draws=100_000, rng=stream(2, "null"))
    drawn = component_matrix(table) @ np.vstack([ms[source] for source in table.sources])
    parts = dict(zip(table.sources, drawn, strict=True))
    g = coefficient(ms["system"] * 7 / (8 * 870), relative_error(parts, 290, 3))
    assert g.mean() == pytest.approx(0.454, abs=3e-3)
    assert np.quantile(g, [0.025, 0.975]) == pytest.approx([0.16, 0.75], abs=6e-3)
    assert (coefficient(parts["system"], relative_error(parts, 290, 3)) == 0).mean() == pytest.approx(0.53, abs=0.01)


# --- G and Phi: properties --------------------------------------------------------------------------------------------

positive = st.floats(1e-3, 10)
parts_of = st.fixed_dictionaries(dict.fromkeys(BRENNAN_3, positive)).map(
    lambda d: {name: np.array(value) for name, value in d.items()}
)


@often
@given(parts_of, st.integers(1, 500), st.integers(1, 50))
def test_g_grows_with_sizes_and_phi_is_no_larger(parts, n_items, n_raters):
    g, phi = g_and_phi(parts, n_items, n_raters)
    assert 0 < phi <= g < 1
    for more in ((n_items + 1, n_raters), (n_items, n_raters + 1)):
        larger = g_and_phi(parts, *more)
        assert larger[0] > g
        assert larger[1] > phi
    limits = g_and_phi(parts, np.inf, n_raters)[0], g_and_phi(parts, n_items, np.inf)[0]
    s, sr, ps = float(parts["system"]), float(parts["system:rater"]), float(parts["item:system"])
    assert limits == (pytest.approx(s / (s + sr / n_raters)), pytest.approx(s / (s + ps / n_items)))
    assert min(limits) > g
    assert g_and_phi(parts, np.inf, np.inf) == (1.0, 1.0)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(parts_of, st.sampled_from([0.5, 0.7, 0.8, 0.9, 0.95]), st.integers(1, 300))
def test_number_needed_is_the_smallest_that_reaches_the_target(parts, target, n):
    for needed, g in (
        (raters_needed, lambda m: g_and_phi(parts, n, m)[0]),
        (items_needed, lambda m: g_and_phi(parts, m, n)[0]),
    ):
        size = {"n_items": n} if needed is raters_needed else {"n_raters": n}
        found = float(needed(parts["system"], parts, target=target, **size))
        if np.isinf(found):
            assert g(np.inf) <= target + 1e-12
        else:
            assert found == int(found) >= 1
            assert g(found) >= target - 1e-9
            assert found == 1 or g(found - 1) < target


def test_a_number_that_is_reached_exactly_is_not_raised():
    # σ²_s 1, σ²_sr 3: for G .75 it takes exactly 9 raters; .1-steps bring rounding.
    parts = {"system:rater": np.array(0.3), "item:system": np.array(0.0), "residual": np.array(0.0)}
    assert float(raters_needed(np.array(0.1), parts, target=0.75, n_items=np.inf)) == 9
    assert float(raters_needed(np.array(0.1), parts, target=0.9, n_items=np.inf)) == 27
    assert float(raters_needed(np.array(0.0), parts, target=0.5, n_items=np.inf)) == np.inf
    assert float(raters_needed(np.array(-1.0), parts, target=0.5, n_items=np.inf)) == np.inf


def test_one_rater_suffices_where_there_is_no_error():
    nothing = dict.fromkeys(BRENNAN_3, np.array(0.0))
    assert float(raters_needed(np.array(1.0), nothing, target=0.99, n_items=1)) == 1
    assert float(coefficient(np.array(1.0), relative_error(nothing, 1, 1))) == 1.0
    assert np.isnan(coefficient(np.array(0.0), relative_error(nothing, 1, 1)))


def test_negative_components_count_as_0():
    negative = {name: -value for name, value in BRENNAN_3.items()}
    assert float(absolute_error(negative, 3, 3)) == 0.0
    assert float(coefficient(np.array(-0.5), np.array(1.0))) == 0.0


# --- Coverage ---------------------------------------------------------------------------------------------------------


def test_f_interval_of_form_2_covers_with_units_and_raters_redrawn():
    rng = stream(3, "coverage of icc")
    truth = 1.0 / (1.0 + 0.3 + 0.7)
    covered = consistency = 0
    for _ in range(300):
        table = (
            rng.normal(size=(25, 1)) + np.sqrt(0.3) * rng.normal(size=(1, 5)) + np.sqrt(0.7) * rng.normal(size=(25, 5))
        )
        intervals = icc_intervals(squares(table), confidence=0.95)
        covered += intervals[1].low <= truth <= intervals[1].high
        consistency += intervals[2].low <= truth <= intervals[2].high
    assert 0.905 <= covered / 300 <= 0.985
    assert consistency / 300 < 0.85  # the interval of form 3 answers another question


def test_pivots_cover_g_with_all_facets_redrawn():
    truth = {"item": 0.4, "system": 0.3, "rater": 0.2, "item:system": 0.2, "item:rater": 0.3, "system:rater": 0.15}
    truth |= {"residual": 1.0}
    facets = ["item", "system", "rater"]
    wanted = g_and_phi({name: np.array(value) for name, value in truth.items()}, 60, 3)[0]
    rng = stream(4, "coverage of g")
    covered, missed_above = 0, 0
    for panel in range(300):
        cube = np.zeros((60, 6, 3))
        for source, value in truth.items():
            names = facets if source == "residual" else source.split(":")
            shape = tuple(n if facet in names else 1 for facet, n in zip(facets, cube.shape, strict=True))
            cube = cube + np.sqrt(value) * rng.normal(size=shape)
        drawn = pivots(anova(cube, facets), n_draws=1000, rng=stream(panel, "pivots"))
        values = coefficient(drawn["system"], relative_error(drawn, 60, 3))
        interval = percentile_interval(values, confidence=0.95)
        covered += interval.low <= wanted <= interval.high
        missed_above += interval.high < wanted
    assert 0.92 <= covered / 300 <= 0.995
    assert missed_above <= 15
