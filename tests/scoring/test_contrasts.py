import itertools

import numpy as np
import pandas as pd
import pytest

from measurand.scoring.contrasts import (
    anchor_contrasts,
    contrast_rows,
    protocol_contrasts,
    system_contrasts,
)
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import kappa
from measurand.scoring.run import Scope
from measurand.scoring.tables import sensitivity_points
from measurand.stats.calibration import TIES
from measurand.stats.replicates import max_t

CLOSED = 1e-12


def holm_by_loop(p):
    """The smallest p times how many are left, never falling."""
    out, before = np.empty(len(p)), 0.0
    for place, k in enumerate(np.argsort(p, kind="stable")):
        before = max(before, min(1.0, p[k] * (len(p) - place)))
        out[k] = before
    return out


def differences(found):
    return [one for one in found if one.row.statistic == "difference"]


def rows_of(run, contrast, statistic="difference", **keys):
    wanted = {"contrast": contrast, **keys}
    return [
        row
        for row in contrast_rows(run, sensitivity_points(run))
        if row.statistic == statistic and all(row.keys.get(k, "") == v for k, v in wanted.items())
    ]


# --- Systems ----------------------------------------------------------------------------------------------------------


def test_a_difference_is_paired_draw_by_draw(runs):
    run = runs.computed(*runs.benchmark(systems=("A", "B", "C")))
    for over in run.stores:
        found = {
            (one.row.keys["a"], one.row.keys["b"], one.row.keys["set"]): one
            for one in differences(system_contrasts(run, over))
        }
        a, b = run.columns([run.arm(0), run.arm(2)], Scope(set="all"), run.store)
        one = found["A", "C", "all"]
        np.testing.assert_array_equal(one.draws, a - b)
        low, high = np.quantile((a - b)[1:], [0.025, 0.975])
        assert (one.row.estimate, one.row.low, one.row.high) == pytest.approx((a[0] - b[0], low, high), abs=CLOSED)
        assert high - low < np.ptp(np.quantile(a[1:], [0.025, 0.975])) + np.ptp(np.quantile(b[1:], [0.025, 0.975]))


def test_p_values_are_adjusted_by_holm_and_max_t_within_a_family(runs):
    run = runs.computed(*runs.benchmark(systems=("A", "B", "C")))
    for scope in run.headlines:
        family = rows_of(run, "system", **scope.keys)
        family = [row for row in family if row.p is not None]
        if not family:
            continue
        assert len(family) == 3
        np.testing.assert_allclose(
            [row.p_adjusted for row in family], holm_by_loop(np.array([row.p for row in family])), atol=CLOSED
        )
        series = [one.draws for one in system_contrasts(run, "item") if one.row in family]
        table = np.column_stack(series)
        expected = max_t(table[0], table[1:])
        found = [row.estimate for row in rows_of(run, "system", "p_max_t", **scope.keys)]
        np.testing.assert_allclose(found, expected, atol=CLOSED)
        for row in family:
            assert row.attainable_p == pytest.approx(1 / 101)
            assert row.attainable_p <= row.p <= row.p_adjusted


def test_systems_are_contrasted_under_one_protocol_only(runs):
    """T39: numbers of two protocols were compared as if they were one."""
    answers, ratings = runs.benchmark(systems=("A", "B"), n_criteria=1)
    both = pd.concat([answers.assign(readout="v"), answers.assign(readout="g", answer=answers["answer"].round())])
    run = runs.computed(both, ratings)
    found = [(row.keys["readout"], row.keys["a"], row.keys["b"]) for row in rows_of(run, "system")]
    assert sorted(found) == [("g", "A", "B"), ("v", "A", "B")]
    readouts = [(row.keys["system"], row.keys["a"], row.keys["b"]) for row in rows_of(run, "readout")]
    assert readouts == [("A", "v", "g"), ("B", "v", "g")]
    assert all(row.p_adjusted == row.p for row in rows_of(run, "system"))


def test_two_identical_systems_differ_by_exactly_0_with_p_1(runs):
    answers, ratings = runs.benchmark(systems=("A",))
    run = runs.computed(pd.concat([answers, answers.assign(system="B", answer=np.exp(answers["answer"]))]), ratings)
    rows = [row for row in rows_of(run, "system") if not row.undefined]
    assert len(rows) >= 3
    for row in rows:
        assert (row.estimate, row.low, row.high, row.p, row.p_adjusted) == (0, 0, 0, 1, 1)
    assert rows_of(run, "system", "p_max_t") == []


def test_answers_that_are_no_values_of_the_scale_are_contrasted_with_nothing(runs):
    """Their score is undefined, and so is every difference from it."""
    answers, ratings = runs.benchmark()
    answers.loc[(answers["system"] == "A") & (answers["item"] == "i003"), "answer"] = 40.0
    run = runs.computed(answers, ratings, calibrate=("none",), anchors=("pairwise",))
    rows = [*rows_of(run, "system"), *rows_of(run, "anchor", a="A")]
    assert rows
    assert all(np.isnan(row.estimate) and row.undefined for row in rows)


# --- Anchors ----------------------------------------------------------------------------------------------------------


def test_exceeding_these_raters_and_raters_of_this_kind_are_kept_apart(runs):
    answers, ratings = runs.benchmark()
    names = ("pairwise", "leave_one_out_calibrated")
    run = runs.computed(answers, ratings, anchors=names, over=("item", "item+rater"))
    said = {
        (one.row.unit, one.row.keys["b"]): one.row.note
        for over in run.stores
        for one in differences(anchor_contrasts(run, over))
    }
    assert set(said) == {(over, name) for over in ("item", "item+rater") for name in names}
    assert "for these raters" in said["item", "pairwise"]
    assert "raters are too few to speak of raters of their kind" in said["item+rater", "pairwise"]
    many = runs.computed(*runs.benchmark(n_raters=6), anchors=names, over=("item", "item+rater"))
    assert all("for raters of this kind" in one.row.note for one in differences(anchor_contrasts(many, "item+rater")))
    store = run.stores["item+rater"]
    a, b = run.columns([run.arm(0, store=store), run.anchor("pairwise", store=store)], Scope(criterion="c0"), store)
    one = next(one for one in differences(anchor_contrasts(run, "item+rater")) if one.row.keys["criterion"] == "c0")
    np.testing.assert_array_equal(one.draws, a - b)


# --- Protocols --------------------------------------------------------------------------------------------------------


def test_contrasts_of_one_thing_say_under_which_other_protocol(runs):
    """Two prefills under two protocols made two rows of the same name."""
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1)
    rng = np.random.default_rng(0)
    parts = [
        answers.assign(protocol=p, prefill=x, answer=answers["answer"] + rng.normal(size=len(answers)))
        for p, x in itertools.product(("p1", "p2"), ("", "Answer:"))
    ]
    run = runs.computed(pd.concat(parts), ratings)
    found = [
        (row.keys["contrast"], row.keys["variant"], row.keys["a"], row.keys["b"])
        for row in (one.row for one in differences(protocol_contrasts(run)))
    ]
    assert sorted(found) == [
        ("prefill", "protocol=p1", "plain", "Answer:"),
        ("prefill", "protocol=p2", "plain", "Answer:"),
        ("protocol", "", "p1", "p2"),
        ("protocol", "prefill=Answer:", "p1", "p2"),
    ]


def test_first_and_last_attempts_are_contrasted_and_not_pooled(runs):
    """T36: a retry is another arm."""
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1)
    again = answers.iloc[:8].assign(answer=0.0, attempt=2)
    run = runs.computed(pd.concat([answers.assign(attempt=1), again]), ratings)
    (row,) = rows_of(run, "attempt")
    assert (row.keys["a"], row.keys["b"]) == ("first", "last")
    assert row.estimate == pytest.approx(run.arm(0)[0, 0] - run.arm(1)[0, 0], abs=CLOSED)


def test_matched_coverage_scores_both_arms_on_the_items_that_both_answered(runs):
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=2)
    other = answers.assign(readout="g", answer=(answers["answer"] * 1.7) % 7)
    other.loc[[0, 3, 30], "answer"] = np.nan
    run = runs.computed(pd.concat([answers.assign(readout="v"), other]), ratings)
    for position, name in enumerate(("c0", "c1")):
        (row,) = rows_of(run, "readout_matched", criterion=name)
        a, b = (one.answered[position] for one in run.contenders)
        both = ~np.isnan(a.values) & ~np.isnan(b.values)
        opponents = Opponents(run.field.criteria[position], np.ones((1, run.field.n_items)))
        first, second = (kappa(one.only(both), opponents, run.path, run.folds)[0] for one in (a, b))
        assert row.estimate == pytest.approx(first - second, abs=CLOSED)
        (unmatched,) = rows_of(run, "readout", criterion=name)
        assert abs(row.estimate - unmatched.estimate) > 1e-6
    assert (
        rows_of(runs.computed(pd.concat([answers.assign(readout=x) for x in "vg"]), ratings), "readout_matched") == []
    )


def test_a_difference_over_part_of_a_set_says_over_how_many_of_its_criteria(runs):
    """What one readout was never asked leaves the mean of both, and the difference is of the rest alone."""
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=3)
    other = answers.assign(readout="g", answer=(answers["answer"] * 1.7) % 7)
    run = runs.computed(pd.concat([answers.assign(readout="v"), other[other["criterion"] != "c1"]]), ratings)
    (row,) = rows_of(run, "readout", set="all")
    each = [rows_of(run, "readout", criterion=name)[0].estimate for name in ("c0", "c2")]
    assert row.estimate == pytest.approx(np.mean(each), abs=CLOSED)
    assert "over 2 of the set's 3 criteria" in row.note
    whole = runs.computed(pd.concat([answers.assign(readout="v"), other]), ratings)
    assert all("of the set's" not in one.note for one in rows_of(whole, "readout"))


# --- Leakage and ranges of choices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", ["oracle", "held_out"])
def test_leakage_is_oracle_minus_held_out_paired_whichever_is_the_headline(runs, fit):
    run = runs.computed(*runs.benchmark(), fit=fit)
    oracle, held_out = sorted(run.paths, key=lambda path: path.fit, reverse=True)
    assert (oracle.fit, held_out.fit) == ("oracle", "held_out")
    for position, name in enumerate("AB"):
        (row,) = rows_of(run, "fit", system=name, criterion="c0")
        values = (run.arm(position, oracle) - run.arm(position, held_out))[:, 0]
        assert (row.keys["a"], row.keys["b"], row.keys["fit"]) == ("oracle", "held_out", "")
        moved = values[1:] - values[1:].mean() + values[0]
        low, high = np.quantile(moved, [0.025, 0.975])
        assert (row.estimate, row.low, row.high) == pytest.approx((values[0], low, high), abs=CLOSED)
        hits = (np.abs(moved - values[0]) >= abs(values[0]) - CLOSED).sum()
        assert row.p == pytest.approx((1 + hits) / len(values), abs=CLOSED)
        assert "centred on the difference" in row.method
        assert "fewer different items" in row.note


def test_the_interval_of_a_leak_holds_the_leak_and_does_not_contradict_its_test(runs):
    """Percentiles of replicates that leak more than the sample excluded 0, and the estimate, where p was near 1."""
    answers, ratings = runs.benchmark(systems=("A", "B", "C"))
    found = [row for row in rows_of(runs.computed(answers, ratings, replicates=199), "fit") if not row.undefined]
    assert found
    for row in found:
        assert row.low < row.estimate < row.high
        assert (row.low > 0 or row.high < 0) == (row.p < 0.05) or 0.02 < row.p < 0.1


def test_the_range_over_tie_rules_and_targets_is_the_highest_less_the_lowest(runs):
    answers, ratings = runs.benchmark()
    answers["answer"] = np.floor(answers["answer"] / 2)
    run = runs.computed(answers, ratings)
    points = sensitivity_points(run)
    for what, levels in (("ties", TIES), ("target", ("ratings", "consensus"))):
        (row,) = rows_of(run, what, system="A", criterion="c0")
        here = {
            getattr(path, what): value
            for (arm, scope, path), value in points.items()
            if arm[0] == "A"
            and scope == Scope(criterion="c0")
            and all(getattr(path, name) == getattr(run.path, name) for name in ("ties", "target") if name != what)
        }
        assert set(here) == set(levels)
        assert row.estimate == pytest.approx(max(here.values()) - min(here.values()), abs=CLOSED)
        assert here[row.keys["a"]] == max(here.values())
        assert here[row.keys["b"]] == min(here.values())
        assert row.low is None
