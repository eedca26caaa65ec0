"""Faults that users of other tools have reported; each must not occur here."""

import inspect
import tracemalloc

import numpy as np
import pytest

from measurand.auditing import agreement, agreement_pairs, anova, copies, missingness, pairs
from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError
from measurand.stats import inference
from measurand.stats import variance as formulas
from measurand.stats.agreement import METRICS, alpha, patterns
from measurand.stats.association import kappa_quadratic
from measurand.stats.inference import clopper_pearson_upper
from measurand.stats.reliability import ICC_FORMS, icc, icc_intervals, two_way

NAN = np.nan
ALPHAS = [f"alpha_{level}" for level in METRICS]


def five_point(n, k, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, 1))
    return np.clip(np.rint(3 + truth + noise * rng.normal(size=(n, k))), 1, 5)


def rows_of(table, statistic, **settings):
    return agreement(table, **{"replicates": 300, **settings}).select("agreement", statistic)


def peak_of(call):
    tracemalloc.start()
    try:
        value = call()
        return value, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_interval_alpha_of_continuous_values_needs_no_matrix_of_values():
    """P01: 32 GB for the interval level on continuous scores."""
    table = np.random.default_rng(1).normal(size=(20_000, 3))
    value, peak = peak_of(lambda: alpha(table, level="interval"))
    assert abs(value.value) < 0.05
    assert peak < 800 * table.size


def test_ordinal_alpha_reproduces_krippendorff():
    """P02: ordinal .789 in place of the published .815."""
    units = ["111", "2232", "3333", "3333", "2222", "1234", "4444", "1121", "2222", "555", "11", "3"]
    table = np.full((12, 4), NAN)
    for unit, ratings in enumerate(units):
        table[unit, : len(ratings)] = [float(x) for x in ratings]
    published = {"nominal": 0.743, "ordinal": 0.815, "interval": 0.849, "ratio": 0.797}
    assert {level: round(alpha(table, level=level).value, 3) for level in METRICS} == published


def test_alpha_0_at_one_disagreement_comes_with_the_raw_agreement_and_an_explanation(tables):
    """P03: alpha near 0 with a single disagreement reads as a bug."""
    table = np.ones((50, 2))
    table[0, 1] = 2
    (row,) = rows_of(tables.long(table), "alpha_nominal")
    assert row.estimate == pytest.approx(0.0, abs=1e-12)
    assert "98 % of the pairs agree, but nearly all ratings are the same value" in row.note
    (observed,) = rows_of(tables.long(table), "observed_agreement")
    assert observed.estimate == pytest.approx(0.98, abs=1e-12)


@pytest.mark.parametrize("table", [[[1], [2], [3]], [[1, NAN], [NAN, NAN], [3, NAN]]])
def test_one_rater_is_refused_by_name(table, tables):
    """P04: one rater gave nan with a RuntimeWarning."""
    for level in METRICS:
        assert alpha(table, level=level).undefined == "one rater: agreement needs two"
    for name in (*ALPHAS, "observed_agreement", *ICC_FORMS):
        (row,) = rows_of(tables.long(table), name)
        assert np.isnan(row.estimate)
        assert row.undefined == "one rater: agreement needs two"


def test_negative_alpha_is_given_and_explained(tables):
    """P06: -0.5 surprises the user."""
    table = np.array([[1, 5], [5, 1], [1, 5], [5, 1]] * 3, dtype=float)
    for name in ALPHAS:
        row = rows_of(tables.long(table), name)[0]
        assert row.estimate < -0.5
        assert "disagree more than chance" in row.note


def test_identical_ratings_are_undefined_neither_1_nor_0(tables):
    """P07: all ratings identical gave nan, 1 or 0."""
    table = tables.long(np.full((6, 3), 3.0))
    for name in ALPHAS:
        (row,) = rows_of(table, name)
        assert np.isnan(row.estimate)
        assert row.undefined == "no variation: all 18 pairable ratings are 3"
    for form in ICC_FORMS:
        (row,) = rows_of(table, form)
        assert np.isnan(row.estimate)
        assert "no variation" in row.undefined


def test_raw_agreement_stands_beside_an_undefined_alpha(tables):
    """P08: one case flipped from 0 to 1 between versions; raw agreement tells what is the case."""
    rows = rows_of(tables.long(np.full((6, 3), 3.0)), "observed_agreement")
    assert [row.estimate for row in rows] == [1.0]
    assert rows[0].low == pytest.approx(1 - clopper_pearson_upper(0, 6, confidence=0.95))


def test_variation_is_looked_for_after_single_ratings_are_dropped(tables):
    """P10: a division by zero after single-rated items were dropped."""
    table = np.array([[2, 2, NAN], [2, 2, 2], [NAN, 5, NAN], [1, NAN, NAN]])
    for level in METRICS:
        assert alpha(table, level=level).undefined == "no variation: all 5 pairable ratings are 2"
    (row,) = rows_of(tables.long(table), "alpha_ordinal")
    assert "no variation" in row.undefined


def test_kappa_of_perfect_agreement_divides_by_nothing(tables):
    """P11: a division by zero on perfect agreement."""
    scale = Scale(1, 5, step=1)
    constant = agreement_pairs(read_ratings(tables.long(np.full((8, 2), 4.0)), scale=scale), replicates=100)
    (row,) = constant.select("agreement_pairs", "kappa_quadratic")
    assert np.isnan(row.estimate)
    assert row.undefined == "no variation: both gave the same rating throughout"
    varied = tables.long(np.repeat([[1.0], [2.0], [4.0]], 2, axis=1))
    (row,) = agreement_pairs(read_ratings(varied, scale=scale), replicates=100).select(
        "agreement_pairs", "kappa_quadratic"
    )
    assert row.estimate == 1.0
    assert row.low == pytest.approx(1 - clopper_pearson_upper(0, 3, confidence=0.95))


def test_point_and_interval_come_from_the_same_ratings(tables):
    """P13: the interval ignored the orientation, and alpha lay outside it."""
    for seed in range(4):
        table = five_point(40, 3, seed)
        table[np.random.default_rng(seed).random(table.shape) < 0.2] = NAN
        for name in (*ALPHAS, "observed_agreement"):
            for row in rows_of(tables.long(table), name):
                assert row.low < row.estimate < row.high, name


def test_interval_shrinks_with_the_number_of_units(tables):
    """P14: the interval did not shrink with the number of units."""
    widths = []
    for n in (60, 240, 960):
        (row,) = rows_of(tables.long(five_point(n, 3, 7)), "alpha_ordinal", replicates=600)
        widths.append(row.high - row.low)
    assert widths[0] / widths[1] == pytest.approx(2, abs=0.5)
    assert widths[1] / widths[2] == pytest.approx(2, abs=0.5)


def test_expected_disagreement_of_many_ratings_is_no_double_loop():
    """P15: an expected disagreement over all pairs of ratings hangs."""
    table = five_point(25_000, 2, 8)
    found = {level: peak_of(lambda level=level: alpha(table, level=level)) for level in METRICS}
    for value, peak in found.values():
        assert 0 < value.value < 1
        assert peak < 400 * table.size


def test_the_level_is_required_and_an_unknown_one_refused(tables):
    """P16: the interval level fell through to nominal, and the table was mislabelled."""
    assert inspect.signature(alpha).parameters["level"].default is inspect.Parameter.empty
    with pytest.raises(TypeError, match="level"):
        alpha([[1, 2], [2, 3]])
    assert "'Interval' is none of nominal, ordinal, interval, ratio" in alpha([[1, 2]], level="Interval").undefined
    with pytest.raises(MeasurandError, match="intervall"):
        Scale(1, 5, level="intervall")
    table = read_ratings(tables.long(five_point(20, 3, 9)), scale=Scale(1, 5, step=1, level="ordinal"))
    result = agreement(table, replicates=100)
    assert result.settings["agreement"]["level"] == {"": "ordinal"}
    values = [result.value("agreement", name) for name in ALPHAS]
    assert len(set(values)) == 4


def test_ordinal_is_not_interval():
    """P17: an ordinal level that is the squared difference."""
    table = five_point(60, 4, 10)
    table = np.where(table == 5, 40, table)
    assert abs(alpha(table, level="ordinal").value - alpha(table, level="interval").value) > 0.01


def test_replicates_without_variation_are_left_out_and_their_share_is_told(tables):
    """P18: kappa is nan where both are constant; in a bootstrap that must be counted."""
    table = np.full((10, 2), 2.0)
    table[0] = [1, 1]
    table[1] = [1, 2]
    result = agreement(tables.long(table), replicates=1000)
    (row,) = result.select("agreement", "alpha_nominal")
    expected = 100 * 0.8**10
    share = float(row.note.split("% of the replicates had no variation")[0].split()[-1])
    assert share == pytest.approx(expected, abs=4)
    assert row.low <= row.estimate <= row.high
    found = agreement_pairs(read_ratings(tables.long(table), scale=Scale(1, 2, step=1)), replicates=1000)
    (row,) = found.select("agreement_pairs", "kappa_quadratic")
    assert "% of the replicates had no variation and are left out" in row.note


def test_quadratic_kappa_of_levels_with_gaps():
    """P19: quadratic kappa crashes on levels that do not follow each other."""
    x, y = np.array([0.0, 7, 0, 7, 3, 0]), np.array([0.0, 7, 7, 7, 0, 3])
    assert float(kappa_quadratic(x, y, np.ones((1, 6)))[0]) == pytest.approx(0.472441, abs=5e-7)
    assert float(kappa_quadratic(100 * x - 5, 100 * y - 5, np.ones((1, 6)))[0]) == pytest.approx(0.472441, abs=5e-7)


def test_units_with_unequal_numbers_of_raters_are_the_normal_case(tables):
    """P22: Fleiss' kappa refuses unequal numbers of raters."""
    table = five_point(40, 5, 11, noise=0.5)
    rng = np.random.default_rng(11)
    for unit in range(40):
        table[unit, rng.permutation(5)[: rng.integers(0, 4)]] = NAN
    sizes = (~np.isnan(table)).sum(axis=1)
    assert set(sizes) == {2, 3, 4, 5}
    for name in (*ALPHAS, "observed_agreement"):
        row = next(one for one in rows_of(tables.long(table), name) if one.method == "percentile bootstrap")
        assert 0 < row.low < row.estimate < row.high < 1
        assert row.n_items == 40


def test_intraclass_correlation_of_many_units_needs_mean_squares_only():
    """P23: an intraclass correlation of 60,000 units takes 40 seconds."""
    rng = np.random.default_rng(12)
    table = rng.normal(size=(60_000, 1)) + rng.normal(size=(60_000, 2))
    value, peak = peak_of(lambda: icc(table, form="icc_2_1"))
    assert value.value == pytest.approx(0.5, abs=0.02)
    assert peak < 20 * table.nbytes


def test_each_intraclass_correlation_says_which_it_is(tables):
    """P25: which intraclass correlation is which."""
    result = agreement(tables.long(five_point(30, 3, 13)), replicates=100)
    names = {
        "icc_1_1": ("ICC(1,1) = ICC(1)", "absolute agreement"),
        "icc_2_1": ("ICC(2,1) = ICC(A,1)", "absolute agreement"),
        "icc_3_1": ("ICC(3,1) = ICC(C,1)", "consistency"),
        "icc_1_k": ("ICC(1,k) = ICC(k)", "mean of the panel"),
        "icc_2_k": ("ICC(2,k) = ICC(A,k)", "mean of the panel"),
        "icc_3_k": ("ICC(3,k) = ICC(C,k)", "consistency"),
    }
    for form, words in names.items():
        rows = result.select("agreement", form)
        over_raters = {"generalised pivotal quantities"} if form == "icc_2_1" else set()
        assert {row.method for row in rows} == {"percentile bootstrap", "F (McGraw & Wong 1996)"} | over_raters
        for row in rows:
            assert all(word in row.note for word in words)
            assert row.keys["missing"] == "listwise"


def test_without_replicates_the_highest_interaction_is_the_error_and_it_is_said(tables):
    """P26: an unreplicated two-way analysis had 0 residual degrees of freedom and no p."""
    result = anova(tables.long(five_point(12, 4, 14)))
    (row,) = result.select("anova", "ss", {"source": "residual"})
    assert "highest interaction" in row.note
    assert result.value("anova", "df", {"source": "residual"}) == 33
    table = formulas.anova(five_point(12, 4, 14), ["item", "rater"])
    test = formulas.f_test(table, "item", "residual")
    assert (test.df1, test.df2) == (11, 33)
    assert 0 < test.p < 1


def test_a_three_way_analysis_needs_memory_by_cell():
    """P28: 400 x 200 x 48 cells need 18 GiB of design matrix."""
    cube = np.random.default_rng(15).normal(size=(200, 100, 24))
    table, peak = peak_of(lambda: formulas.anova(cube, ["item", "system", "rater"]))
    assert table.df["residual"] == 199 * 99 * 23
    assert table.ms["residual"] == pytest.approx(1.0, abs=0.02)
    assert peak < 6 * cube.nbytes


@pytest.mark.parametrize("n_raters", [2, 3, 5])
@pytest.mark.parametrize("step", [1.0, 0.1])
def test_full_agreement_has_an_exact_bound(n_raters, step, tables):
    """P37: the bootstrap of a constant gave an error or [1, 1]."""
    values = step * np.random.default_rng(16).integers(1, 8, 30)
    bound = 1 - clopper_pearson_upper(0, 30, confidence=0.95)
    result = agreement(tables.long(np.repeat(values[:, None], n_raters, axis=1)), replicates=100)
    for name in ("observed_agreement", *ALPHAS, "icc_1_1", "icc_2_1"):
        row = result.select("agreement", name)[0]
        assert row.estimate == 1.0, name
        assert row.method == "exact binomial bound: no unit disagrees (Clopper-Pearson)", name
        assert row.low == pytest.approx(bound)
        assert row.high == 1.0


def test_the_exact_bound_counts_the_cells_that_the_statistic_rests_on(tables):
    """P37: eight cells that all raters rated can not bound anything as a hundred would."""
    table = np.full((100, 3), NAN)
    table[:, 0] = table[:, 1] = np.random.default_rng(17).integers(1, 6, 100)
    table[:8, 2] = table[:8, 0]
    row = agreement(tables.long(table), replicates=100).select("agreement", "icc_2_1")[0]
    assert (row.estimate, row.n_items) == (1.0, 8)
    assert row.low == pytest.approx(1 - clopper_pearson_upper(0, 8, confidence=0.95))


def test_dependent_cells_are_redrawn_with_their_item(tables):
    """P38: naive standard errors are up to three times too small with grouped questions."""
    base = five_point(40, 3, 18)
    cube = np.repeat(base[:, None, :], 9, axis=1)  # nine systems that answer alike
    result = agreement(tables.long3(cube), replicates=400)
    for name in ("alpha_ordinal", "icc_3_1", "observed_agreement"):
        rows = {row.unit: row for row in result.select("agreement", name, {"system": ""}) if "boot" in row.method}
        assert set(rows) == {"item", "item_cell"}
        widths = {unit: row.high - row.low for unit, row in rows.items()}
        assert widths["item"] / widths["item_cell"] == pytest.approx(3, abs=0.6)
        assert rows["item"].n_items == 40
    exact = agreement(tables.long3(np.repeat(cube[:, :, :1], 3, axis=2)), replicates=100)
    bounds = {row.unit: row.low for row in exact.select("agreement", "alpha_ordinal", {"system": ""})}
    assert bounds["item"] == pytest.approx(1 - clopper_pearson_upper(0, 40, confidence=0.95))
    assert bounds["item_cell"] == pytest.approx(1 - clopper_pearson_upper(0, 360, confidence=0.95))


def test_an_item_cluster_is_redrawn_whole():
    """P38: clusters are drawn, not their cells."""
    table = five_point(30, 2, 19)
    unit, rater = np.nonzero(~np.isnan(table))
    found = patterns(unit, table[unit, rater])
    drawn = inference.clusters(np.repeat(np.arange(10), 3), found.of_unit, found.n_patterns)
    for weights in drawn.replicates(50, inference.stream(0, "whole")):
        assert (weights.sum(axis=1) == 30).all()
    assert drawn.n == 10


def test_a_replicate_that_repeats_the_sample_gives_the_point_estimate(tables, monkeypatch):
    """P39: the interval described another statistic than the point."""

    def same_sample(multiplicity, rows, _):
        return np.repeat(multiplicity[None, :].astype(float), rows, axis=0)

    monkeypatch.setattr(inference, "_draw_types", same_sample)
    cube = np.stack([five_point(15, 3, seed) for seed in range(4)], axis=1)
    cube[0, 0, 0] = NAN
    table = read_ratings(tables.long3(cube), scale=Scale(1, 5, step=1))
    checked = 0
    for result in (agreement(table, replicates=100), agreement_pairs(table, replicates=100)):
        for row in result:
            if row.method == "percentile bootstrap":
                checked += 1
                assert row.low == pytest.approx(row.estimate, abs=1e-12)
                assert row.high == pytest.approx(row.estimate, abs=1e-12)
    assert checked > 50


# --- What the goldens leave to settle, seen from the table ------------------------------------------------------------


def test_text_labels_without_an_order_have_nominal_agreement_alone(tables):
    """String labels: the order is declared or there is none."""
    words = {0.0: "low", 1.0: "mid", 2.0: "high"}
    table = tables.long([[0, 0, 1], [0, 1, 0], [1, 1, 1], [2, 2, 2]])
    table["rating"] = table["rating"].map(words)
    declared = read_ratings(table, labels=["low", "mid", "high"], level="ordinal")
    found = agreement(declared, replicates=100)
    assert found.value("agreement", "alpha_ordinal") == pytest.approx(0.705357, abs=5e-7)
    nominal = agreement(read_ratings(table, level="nominal"), replicates=100)
    assert nominal.value("agreement", "alpha_nominal") == pytest.approx(0.531915, abs=5e-7)
    (row,) = nominal.select("agreement", "alpha_ordinal")
    assert row.undefined == "nominal ratings of more than two categories have no order"


def test_a_unit_rated_once_has_no_part_in_alpha_nor_in_kappa(tables):
    """A missing rating is no category: kappa of {1, 2, -, 3} and {1, 2, 2, 3} is 1 over three cells."""
    table = read_ratings(tables.long([[1, 1], [2, 2], [NAN, 2], [3, 3]]), scale=Scale(1, 3, step=1))
    (row,) = agreement_pairs(table, replicates=100).select("agreement_pairs", "kappa_quadratic")
    assert (row.estimate, row.n_items) == (1.0, 3)


# --- Doubts about the formulas as the audit uses them -----------------------------------------------------------------


@pytest.mark.parametrize(("table", "lowest"), [([[1, 2, 3], [2, 3, 1], [3, 1, 2]], -1), ([[3, 1], [2, 2], [1, 3]], -3)])
def test_a_latin_square_of_ratings_is_audited(table, lowest, tables):
    """Units and raters without any variation of their means divided 0 by 0 in the interval of form 2."""
    assert rows_of(tables.long(table), "icc_2_1")[0].estimate == pytest.approx(lowest)


@pytest.mark.parametrize("units", [[[1, 1], [2, 1], [1, 2]], [[1, 5, 1], [2, 1, 5], [1, 2, 1], [5, 1, 2]]])
def test_f_intervals_below_the_pole_of_spearman_and_brown_stay_ordered(units):
    """The lower end of form (2,k) jumps above the upper one where that of (2,1) is below -1 / (k - 1)."""
    table = np.array(units, dtype=float)
    for interval in icc_intervals(two_way(table, np.ones((1, len(table)))), confidence=0.95):
        assert np.isnan(interval.low) or interval.low <= interval.high


def test_ratings_that_are_all_the_same_tenth_are_no_informative_absence(tables):
    """Means of .1 over 20 and over 30 cells differ in the last bit; that is not "missing by rating, p < 1e-6"."""
    table = np.full((50, 3), 0.1)
    table[:20, 2] = NAN
    for row in missingness(tables.long(table)).select("missingness", "difference", {"rater": "R2"}):
        assert np.isnan(row.estimate)
        assert row.undefined == "the other ratings do not vary"


def test_perfect_separation_has_no_interval_of_width_0(tables):
    """A rater present exactly where the others say 2: p is that of a permutation, and t has no interval."""
    table = np.ones((40, 2))
    table[:20, 0] = 2
    table[:20, 1] = NAN
    (row,) = missingness(tables.long(table)).select("missingness", "difference", {"rater": "R1"})
    assert row.estimate == -1.0
    assert row.p < 1e-9
    assert row.low is None or row.low < row.high


def test_differences_that_cancel_but_for_rounding_are_zeros_of_the_sign_test(tables):
    """.4 - .3 and .2 - .3 add up to 3e-17: six such items gave p = .03 for equal systems."""
    cube = np.empty((6, 2, 2))
    cube[:, 0], cube[:, 1] = [0.4, 0.2], [0.3, 0.3]
    result = pairs(tables.long3(cube))
    for statistic in ("p_sign", "p_permutation"):
        (row,) = result.select("pairs", statistic, {"unit": "item"})
        assert row.undefined == "every difference is zero"


def test_sign_flips_of_sixteen_raters_and_many_systems_are_taken_in_blocks():
    """All 65,536 patterns times all pairs of 60 systems at once would be gigabytes."""
    table = np.random.default_rng(20).normal(size=(16, 60 * 59 // 2))
    found, peak = peak_of(lambda: inference.sign_flip_tests(table, n_draws=99, rng=inference.stream(0)))
    assert len(found) == 1770
    assert peak < 400e6


@pytest.mark.parametrize("n_raters", [2, 3])
def test_raters_who_all_agree_on_an_easy_task_are_no_copies(n_raters, tables):
    """With no other pair to tell the usual rate of agreement, identical vectors are no evidence of copying."""
    table = tables.long(np.repeat([[0.0], [1.0]] * 6, n_raters, axis=1))
    (row,) = copies(table).select("copies", "share_copied")
    assert row.undefined or row.estimate == 0 or "no other pair" in row.note


def test_item_and_rater_test_does_not_take_less_than_the_residual_for_error(tables):
    """Raters exactly parallel: MS_sr + MS_ps - MS_psr may fall below MS_psr, the least that the error can be."""
    rng = np.random.default_rng(21)
    noise = rng.normal(size=(10, 4, 3))
    noise -= noise.mean(axis=0, keepdims=True)  # no system x rater interaction, no system or rater effect
    cube = noise + np.array([0.0, 1.0, 2.0, 3.0])[None, :, None]
    table = formulas.anova(cube, ["item", "system", "rater"])
    assert table.ms["system:rater"] < 1e-20
    residual = table.ms["residual"]
    for row in pairs(tables.long3(cube)).select("pairs", "difference", {"unit": "item+rater"}):
        assert row.low is not None, row.note
        half = (row.high - row.low) / 2
        assert half >= 1.9 * np.sqrt(2 * residual / 30)


def test_rating_rows_in_another_order_give_the_same_numbers(tables):
    cube = np.stack([five_point(12, 3, seed) for seed in range(3)], axis=1)
    table = tables.long3(cube)
    shuffled = table.sample(frac=1, random_state=1)
    assert not shuffled.index.equals(table.index)
    assert agreement(table, replicates=100) == agreement(shuffled, replicates=100)
