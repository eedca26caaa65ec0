import numpy as np
import pandas as pd
import pytest

from measurand.auditing import agreement, agreement_pairs
from measurand.data import Scale, read_ratings

FEW = {"replicates": 300, "draws": 1000}


def of(result, statistic, *, unit=None, **keys):
    rows = [row for row in result.select("agreement", statistic, keys) if unit in (None, row.unit)]
    assert len(rows) == 1, [(row.unit, dict(row.keys)) for row in rows]
    return rows[0]


def panel(seed=0, *, items=40, systems=4, raters=3, item=1.0, cell=0.3, noise=0.5):
    rng = np.random.default_rng(seed)
    value = 3 + rng.normal(0, item, (items, 1, 1)) + rng.normal(0, cell, (items, systems, 1))
    return np.clip(np.rint(value + rng.normal(0, noise, (items, systems, raters))), 1, 5)


def test_items_redrawn_with_all_their_cells_give_the_wider_interval(tables):
    # Four systems of one item share what makes the item hard: redrawing cells takes them for four items.
    result = agreement(tables.long(panel()), **FEW)
    for statistic in ("alpha_ordinal", "alpha_interval"):
        item, cell = (of(result, statistic, unit=unit, system="", missing="") for unit in ("item", "item_cell"))
        assert item.estimate == cell.estimate
        assert item.high - item.low > 1.2 * (cell.high - cell.low)
        assert item.n_items == cell.n_items == 40


def test_without_systems_a_cell_is_an_item(tables):
    result = agreement(tables.flat(panel(systems=1)[:, 0]), **FEW)
    assert {row.unit for row in result.select("agreement", "alpha_ordinal")} == {"item"}


def test_intervals_over_raters_are_wider_where_raters_differ(tables):
    cube = panel(1, raters=4) + np.array([-1.5, 0, 0, 1.5])
    result = agreement(tables.long(cube), **FEW)
    these, others = (
        of(result, "alpha_interval", unit=unit, system="", missing="") for unit in ("item", "item+system+rater")
    )
    assert these.estimate == others.estimate
    assert others.high - others.low > 1.5 * (these.high - these.low)
    assert "of this kind" in others.note


def test_each_system_has_its_own_agreement(tables):
    cube = panel(2)
    cube[:, 0] = cube[:, 0, :1]
    result = agreement(tables.long(cube), **FEW)
    assert of(result, "alpha_ordinal", system="S1").estimate == 1
    assert all(of(result, "alpha_ordinal", system=f"S{k}").estimate < 1 for k in (2, 3, 4))


def test_full_agreement_has_an_exact_bound_not_a_point(tables):
    table = np.repeat(np.arange(30)[:, None] % 5 + 1.0, 3, axis=1)
    row = of(agreement(tables.flat(table), **FEW), "alpha_ordinal", unit="item")
    assert (row.estimate, row.high) == (1, 1)
    assert row.low == pytest.approx(0.025 ** (1 / 30))
    assert "binomial" in row.method


def test_few_redrawn_items_carry_what_simulation_said(tables):
    few, many = (agreement(tables.flat(panel(3, items=n, systems=1)[:, 0]), **FEW) for n in (8, 40))
    assert "8 redrawn; in simulation" in of(few, "alpha_ordinal", unit="item").note
    assert "5 items" not in of(many, "alpha_ordinal", unit="item").note


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (np.full((6, 3), 2.0), "no variation"),
        (np.arange(6.0)[:, None], "one rater"),
        (np.where(np.eye(3)[np.arange(6) % 3] == 1, 2.0, np.nan), "one rater per cell"),
    ],
)
def test_agreement_that_cannot_be_known_is_neither_0_nor_1(table, reason, tables):
    result = agreement(tables.flat(table), **FEW)
    for row in result:
        if row.statistic.startswith(("alpha", "icc")):
            assert np.isnan(row.estimate)
    assert reason in of(result, "alpha_ordinal").undefined


def test_names_give_only_what_has_no_order(tables):
    table = tables.flat(np.random.default_rng(4).integers(0, 3, (30, 3)))
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    ratings = read_ratings(table, level="nominal")
    result = agreement(ratings, **FEW)
    given = {row.statistic for row in result if not row.undefined}
    assert given == {"observed_agreement", "alpha_nominal"}
    assert {row.statistic for row in agreement_pairs(ratings, replicates=100) if not row.undefined} == {
        "observed_agreement"
    }


def test_two_labels_have_one_alpha_at_every_level(tables):
    table = tables.flat(np.random.default_rng(4).integers(0, 2, (30, 3)))
    table["rating"] = table["rating"].map({0: "no", 1: "yes"})
    result = agreement(read_ratings(table, level="nominal", labels=["no", "yes"]), **FEW)
    values = [of(result, f"alpha_{level}", unit="item").estimate for level in ("nominal", "ordinal")]
    values += [row.estimate for row in result.select("agreement", "alpha_interval", {"missing": ""})[:1]]
    assert values == pytest.approx([values[0]] * 3)
    assert all(not row.undefined for row in result.select("agreement", "icc_2_1", {"missing": "listwise"}))


def test_incomplete_cells_are_left_out_listwise_and_kept_by_reml(tables):
    cube = panel(5)
    cube[0, 0, 0] = cube[3, 2, 1] = np.nan
    result = agreement(tables.long(cube), **FEW)
    reml = of(result, "icc_2_1", missing="reml")
    assert "all 160 cells" in reml.note
    listwise = result.select("agreement", "icc_2_1", {"missing": "listwise"})[0]
    assert reml.estimate == pytest.approx(listwise.estimate, abs=0.02)
    assert not agreement(tables.long(panel(5)), **FEW).select("agreement", "icc_2_1", {"missing": "reml"})


def test_all_but_one_value_the_same_is_explained(tables):
    table = np.zeros((60, 2))
    table[0, 0] = 1
    row = of(agreement(tables.flat(table), **FEW), "alpha_nominal", unit="item")
    assert row.estimate == pytest.approx(0, abs=0.01)
    assert "nearly all ratings are the same value" in row.note or "below 0" in row.note


# --- Pairs of raters --------------------------------------------------------------------------------------------------


def test_severity_is_seen_by_agreement_and_not_by_correlation(tables):
    rng = np.random.default_rng(6)
    own = rng.integers(1, 4, 50)
    result = agreement_pairs(tables.flat(np.column_stack([own, own + 2])), replicates=100)
    assert result.value("agreement_pairs", "pearson") == pytest.approx(1)
    assert result.value("agreement_pairs", "spearman") == pytest.approx(1)
    assert result.value("agreement_pairs", "alpha_ordinal") < 0.3
    assert result.value("agreement_pairs", "observed_agreement") == 0


def test_weighted_kappa_needs_a_declared_scale(tables):
    table = tables.flat(np.random.default_rng(7).integers(1, 6, (30, 2)))
    (row,) = agreement_pairs(table, replicates=100).select("agreement_pairs", "kappa_quadratic")
    assert "no scale declared" in row.undefined
    declared = read_ratings(table, scale=Scale(1, 5, step=1))
    assert not np.isnan(agreement_pairs(declared, replicates=100).value("agreement_pairs", "kappa_quadratic"))


def test_raters_without_a_common_cell_have_no_agreement(tables):
    table = np.full((10, 3), np.nan)
    table[:5, 0], table[5:, 1], table[:, 2] = range(5), range(5), range(10)
    rows = agreement_pairs(tables.flat(table), replicates=100).select(
        "agreement_pairs", "pearson", {"rater_a": "R1", "rater_b": "R2"}
    )
    assert [row.undefined for row in rows] == ["they rated no cell in common"]


def test_a_rater_who_gives_one_value_has_no_correlation_but_an_alpha(tables):
    table = np.column_stack([np.full(12, 3.0), np.arange(12) % 4])
    result = agreement_pairs(tables.flat(table), replicates=100)
    (row,) = result.select("agreement_pairs", "pearson")
    assert "one rating only" in row.undefined
    assert result.value("agreement_pairs", "alpha_ordinal") < 0.1


def test_boards_of_two_raters_are_compared_over_the_cells_that_both_rated(tables):
    cube = np.zeros((4, 3, 2))
    cube[:, :, 0], cube[:, :, 1] = [3, 2, 1], [3, 2, 1]
    cube[0, 2, 1], cube[0, 2, 0] = 50, np.nan  # rated by the second alone
    result = agreement_pairs(tables.long(cube), replicates=100)
    assert result.value("agreement_pairs", "kendall_tau_b") == pytest.approx(1)
    cube[1:, 2, 0] = np.nan
    (row,) = agreement_pairs(tables.long(cube), replicates=100).select("agreement_pairs", "kendall_tau_b")
    assert "no cell that both rated" in row.undefined


def test_a_criterion_does_not_change_another_ones_numbers(tables):
    first = tables.long(panel(8)).assign(criterion="a")
    second = tables.long(panel(9)).assign(criterion="b")
    alone, beside = agreement(first, **FEW), agreement(pd.concat([first, second]), **FEW)
    assert [row for row in beside if row.keys["criterion"] == "a"] == list(alone)


def test_redrawing_says_nothing_of_equal_values_on_a_continuous_scale(tables):
    # All values are distinct: only units that are drawn twice would make chance agree.
    rng = np.random.default_rng(3)
    table = tables.flat(rng.normal(size=(40, 3)))
    found = agreement(table, **FEW)
    nominal = found.select("agreement", "alpha_nominal", {"system": ""})
    assert [row.estimate for row in nominal] == [0.0]
    assert nominal[0].low is None
    assert nominal[0].high is None
    assert "no interval: more than half of the ratings are distinct values" in nominal[0].note
    # One pair that agrees by chance does not change that.
    table.loc[1, "rating"] = table.loc[0, "rating"]
    assert agreement(table, **FEW).select("agreement", "alpha_nominal", {"system": ""})[0].low is None
    # That nobody ever agrees is no certainty: the upper end is Clopper and Pearson's of 0 in 40.
    observed = found.select("agreement", "observed_agreement")
    assert [(row.low, row.estimate) for row in observed] == [(0.0, 0.0)]
    assert observed[0].high == pytest.approx(1 - 0.025 ** (1 / 40))
    assert all(row.low is not None for row in found.select("agreement", "alpha_interval"))


def test_raters_who_never_agree_on_few_values_keep_their_interval_of_nominal_alpha(tables):
    table = tables.flat(np.array([[0, 1], [1, 2], [2, 0]] * 8, dtype=float))
    found = agreement(table, **FEW).select("agreement", "alpha_nominal")
    assert found[0].low is not None
    assert found[0].estimate < 0
