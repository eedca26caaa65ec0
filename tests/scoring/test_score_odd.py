"""Scoring of odd tables: what a number must not depend on, and what must not be said without grounds."""

from math import factorial

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from measurand.data import Scale, read_ratings
from measurand.scoring.contrasts import contrast_rows
from measurand.scoring.coverage import coverage_rows
from measurand.scoring.decisions import decision_rows
from measurand.scoring.score import score
from measurand.scoring.spread import spread_rows
from measurand.scoring.tables import anchor_rows, score_rows

FEW = {"replicates": 100, "gates": False, "seed": 1}


def people(n=60, raters=4, criteria=("c",), *, noise=0.8, seed=0):
    """Ratings of 0 to 4, shape (n, raters, criteria), and what the raters saw with noise, (n, criteria)."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, len(criteria)))
    noisy = 2 + truth[:, None, :] + noise * rng.normal(size=(n, raters, len(criteria)))
    return np.clip(np.rint(noisy), 0, 4), truth


def long(ratings, criteria=("c",)):
    rows = [(f"i{i}", f"R{r}", criteria[k], value) for (i, r, k), value in np.ndenumerate(ratings)]
    return pd.DataFrame(rows, columns=["item", "rater", "criterion", "rating"]).dropna()


def table(ratings, criteria=("c",)):
    return read_ratings(long(ratings, criteria), scale=Scale(0, 4, step=1))


def said(systems, criteria=("c",), **columns):
    rows = [
        (system, f"i{i}", criteria[k], value)
        for system, values in systems.items()
        for (i, k), value in np.ndenumerate(np.asarray(values))
    ]
    return pd.DataFrame(rows, columns=["system", "item", "criterion", "answer"]).assign(**columns)


def one(result, name):
    (finding,) = [finding for finding in result.findings if finding.id == name]
    return finding


def test_probabilities_far_below_rounding_are_ordered_as_their_logarithms_are():
    """Ratings are summed less a shift near their mean: less it, probabilities below 1e-16 would all be equal."""
    ratings, truth = people()
    answers = said({"log": truth, "small": np.exp(8 * truth - 60)})
    found = score(answers, table(ratings), over=("item",), calibrate=("rank",), **FEW)
    by = {
        name: [
            row.estimate
            for row in (*found["scores"], *found["baselines"])
            if row.keys.get("system") == name and row.keys.get("baseline", "") in ("", "shuffled")
        ]
        for name in ("log", "small")
    }
    shuffled = {"log": by["log"].pop(), "small": by["small"].pop()}
    assert by["small"] == by["log"]
    assert by["log"][0] > 0.5
    assert abs(shuffled["small"]) < 0.5
    assert shuffled["small"] != 0


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_what_no_other_answers_surpass(runs, seed):
    """The item's mean, and the far end, in place of missing answers are no extremes of kappa: a search finds beyond."""
    rng = np.random.default_rng(seed)
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1, n_items=14, missing=0.3 * (seed % 2), seed=seed)
    answers["answer"] = 2 + 0.3 * answers["answer"] + rng.normal(0, 0.5, len(answers))
    lost = rng.permutation(14)[:4]
    answers.loc[lost, "answer"] = np.nan
    run = runs.computed(answers, ratings, calibrate=("none",))
    rows = {row.keys["policy"]: row.estimate for row in coverage_rows(run)}
    criterion = run.field.criteria[0]
    item, rater = np.nonzero(~np.isnan(criterion.ratings))
    y = criterion.ratings[item, rater]

    def kappa(filled):
        x = run.contenders[0].answered[0].values.copy()
        x[np.isnan(x)] = np.asarray(filled) - criterion.shift
        x = x[item]
        apart = x.var() + y.var() + (x.mean() - y.mean()) ** 2
        return 2 * ((x - x.mean()) * (y - y.mean())).mean() / apart

    starts = rng.uniform(0, 7, (12, 4))
    best = max(-minimize(lambda v: -kappa(v), start, bounds=[(0, 7)] * 4).fun for start in starts)
    worst = min(minimize(kappa, start, bounds=[(0, 7)] * 4).fun for start in starts)
    assert rows["right"] == pytest.approx(best, abs=1e-5)
    assert rows["wrong"] == pytest.approx(worst, abs=1e-5)
    assert rows["right"] >= best - 1e-9
    assert rows["wrong"] <= worst + 1e-9
    assert rows["wrong"] < rows["lowest"] < rows["right"]


def test_a_criterion_without_any_answer_counts_in_the_bounds(runs):
    answers, ratings = runs.benchmark(systems=("A",))
    answers.loc[answers["criterion"] == "c1", "answer"] = np.nan
    run = runs.computed(answers, ratings)
    rows = {(row.keys["policy"], row.keys.get("set", "")): row.estimate for row in coverage_rows(run)}
    score_of_c0 = next(row.estimate for row in score_rows(run) if row.keys["criterion"] == "c0")
    assert rows["exclude", "all"] == score_of_c0
    # Of the other criterion every answer is then the lowest level, and a constant has kappa 0.
    assert rows["lowest", "all"] == pytest.approx(score_of_c0 / 2, abs=0.01)
    assert rows["wrong", "all"] < rows["lowest", "all"] < rows["right", "all"]


def test_what_was_never_asked_is_not_filled_in(runs):
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1)
    answers = answers.iloc[:20]
    answers.loc[3, "answer"] = np.nan
    rows = {row.keys["policy"]: row for row in coverage_rows(runs.computed(answers, ratings, calibrate=("none",)))}
    assert rows[""].estimate == pytest.approx(19 / 20)
    assert rows["right"].estimate - rows["wrong"].estimate < 0.4
    assert rows["exclude"].estimate == pytest.approx(rows["right"].estimate, abs=0.1)


@pytest.mark.parametrize("ties", ["block", "midrank", "index", "random"])
def test_to_exclude_what_is_missing_is_what_the_score_does(runs, ties):
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1)
    answers["answer"] = answers["answer"].round()
    answers.loc[::4, "answer"] = np.nan
    run = runs.computed(answers, ratings, ties=ties)
    (excluded,) = [row.estimate for row in coverage_rows(run) if row.keys["policy"] == "exclude"]
    assert excluded == score_rows(run)[0].estimate


def test_contrasts_go_the_same_way_round_whatever_the_order_of_rows():
    ratings, truth = people()
    rng = np.random.default_rng(1)
    worse = truth + 2 * rng.normal(size=truth.shape)
    parts = [
        said({"S": truth}, readout="a"),
        said({"S": worse}, readout="b"),
        said({"T": worse}, readout="b"),
        said({"T": truth}, readout="a"),
        said({"S": worse, "T": worse}, readout="a", control="blank"),
    ]
    found = score(pd.concat([part.assign(control=part.get("control", "")) for part in parts]), table(ratings), **FEW)
    rows = found.select("contrasts", "difference", {"contrast": "readout"})
    assert [(row.keys["system"], row.keys["a"], row.keys["b"]) for row in rows] == [("S", "a", "b"), ("T", "a", "b")]
    assert rows[0].estimate == pytest.approx(rows[1].estimate, abs=1e-12)
    assert {row.p_adjusted for row in rows} == {2 * rows[0].p}
    assert "2 of 2 systems higher" in one(found, "readout-decides").statement
    rows = found.select("contrasts", "difference", {"contrast": "control"})
    assert {(row.keys["a"], row.keys["b"]) for row in rows} == {("plain", "blank")}


def test_the_yes_or_no_of_probabilities_decides_nothing_about_readouts_and_makes_no_variation_of_scores():
    ratings, truth = people()
    rng = np.random.default_rng(2)
    answers = said({name: 1 / (1 + np.exp(-truth - 0.3 * rng.normal(size=truth.shape))) for name in "ST"})
    found = score(answers.assign(readout="verification"), table(ratings), **FEW)
    assert found.select("contrasts", "difference", {"contrast": "readout", "b": "binarized"})
    assert one(found, "readout-decides").verdict == "not_applicable"
    assert not [row for row in found["spread"] if row.statistic == "share"]


def test_two_raters_are_no_sample_of_raters_of_their_kind():
    ratings, truth = people(n=120, raters=2, noise=1.5)
    found = score(said({"S": truth}), table(ratings), **FEW)
    finding = one(found, "exceeds-people")
    assert "raters of this kind" not in finding.statement
    assert "2 raters are too few to speak of raters of their kind" in finding.statement
    assert finding.verdict == "warn"
    notes = [row.note for row in found["anchors"] if row.unit == "item+rater" and not row.undefined]
    assert all("one pair, which cannot be redrawn" in note for note in notes)


def test_arms_without_a_score_neither_exceed_people_nor_fail_to():
    ratings, truth = people()
    found = score(said({"S": 50 + truth}), table(ratings), calibrate=("none",), **FEW)
    assert one(found, "exceeds-people").verdict == "undetermined"


def test_a_difference_from_raters_that_is_negative_does_not_say_that_it_exceeds_them(runs):
    answers, ratings = runs.benchmark(systems=("A",))
    answers["answer"] = 7 - answers["answer"]
    run = runs.computed(answers, ratings, anchors=("pairwise",), over=("item+rater",), margin=0.1)
    found = [row for row in contrast_rows(run, {}) if row.keys["contrast"] == "anchor" and not row.undefined]
    rows = [row for row in found if row.statistic == "difference"]
    assert rows
    assert all(row.estimate < 0 for row in rows)
    assert not any("exceeds" in row.note for row in rows)
    margins = [row for row in decision_rows(run) if row.statistic == "difference" and not row.undefined]
    assert margins
    assert all(row.note.endswith("for raters of this kind") for row in margins)


def test_the_smallest_p_counts_the_replicates_that_are_defined():
    """An anchor of three items that two raters share is undefined in many replicates."""
    ratings, truth = people(n=8, raters=2)
    ratings[3:, 1] = np.nan
    found = score(said({"S": truth}), table(ratings), over=("item",), folds=2, anchors=("pairwise",), **FEW)
    (row,) = found.select("contrasts", "difference", {"contrast": "anchor"})
    assert "undefined and left out" in row.note
    assert row.attainable_p > 1 / 101
    assert row.p >= row.attainable_p


def test_four_systems_have_too_few_orders_for_a_small_p(runs):
    answers, ratings = runs.benchmark(systems=tuple("ABCD"), n_criteria=1)
    sizes = pd.DataFrame({"system": list("ABCD"), "parameters": [1e9, 2e9, 4e9, 8e9]})
    (row,) = [row for row in spread_rows(runs.computed(answers, ratings), sizes) if row.keys["source"] == "parameters"]
    assert row.attainable_p == 2 / factorial(4)
    assert row.p >= 0.9 * row.attainable_p


def test_an_anchor_says_over_how_many_criteria_it_is_a_mean(runs):
    """Raters who agree less than by chance have no noise ceiling: the mean over the others is not that of all."""
    names = tuple(f"c{k}" for k in range(6))
    rng = np.random.default_rng(3)
    ratings = rng.integers(0, 5, (20, 3, 6)).astype(float)
    run = runs.computed(
        said({"S": rng.normal(size=(20, 6))}, names), long(ratings, names), anchors=("pairwise", "noise_ceiling")
    )
    rows = {row.keys["anchor"]: row for row in anchor_rows(run) if row.keys["set"] == "all"}
    single = [row for row in anchor_rows(run) if row.keys["anchor"] == "noise_ceiling" and not row.keys["set"]]
    n = sum(not row.undefined for row in single)
    assert 0 < n < 6
    assert "mean of 6 criteria" in rows["pairwise"].note
    assert f"mean of {n} criteria; {6 - n} have none" in rows["noise_ceiling"].note


def test_one_item_cannot_be_calibrated_by_other_folds_and_that_is_the_reason_told():
    ratings, truth = people(criteria=("c", "d"))
    ratings[1:, :, 1] = np.nan
    found = score(said({"S": truth}, ("c", "d")), table(ratings, ("c", "d")), **FEW)
    rows = found.select("scores", "kappa_quadratic", {"criterion": "d", "fit": "held_out", "ties": "block"})
    assert rows
    assert all("one fold" in row.undefined for row in rows if row.keys["target"] == "ratings" and row.n_items)


def test_criteria_on_which_no_rater_can_be_tested_are_not_failed(runs):
    names = ("c", "d")
    ratings, truth = people(criteria=names)
    ratings[:, 1:, 1] = np.nan
    run = runs.computed(said({"S": truth}, names), long(ratings, names))
    (share,) = [row for row in decision_rows(run) if row.statistic == "share_passed"]
    assert share.estimate == 1
    assert "of 1 criteria" in share.note


def odd_tables():
    ratings, truth = people(n=24)
    rng = np.random.default_rng(4)
    two, both = people(n=24, criteria=("c", "d"))
    constant = ratings.copy()
    constant[:, 0] = 2
    apart = ratings[:, :2].copy()
    apart[:12, 0], apart[12:, 1] = np.nan, np.nan
    once = ratings.copy()
    once[1:, 3] = np.nan
    unrated = two.copy()
    unrated[:, :, 1] = np.nan
    half = said({"S": both}, ("c", "d"))
    half.loc[half["criterion"] == "d", "answer"] = np.nan
    many, wide = people(n=6, criteria=tuple("abcdefghij"))
    noise = rng.integers(0, 5, (24, 3, 10)).astype(float)
    names = tuple("abcdefghij")
    return {
        "a constant rater": (said({"S": truth}), table(constant)),
        "constant raters": (said({"S": truth}), table(np.full((24, 3, 1), 2.0))),
        "constant systems": (said({"S": 0 * truth, "T": 0 * truth + 4, "U": truth}), table(ratings)),
        "raters who never meet": (said({"S": truth}), table(apart)),
        "a rater of one rating": (said({"S": truth}), table(once)),
        "a criterion without ratings": (said({"S": both}, ("c", "d")), table(unrated, ("c", "d"))),
        "a criterion without answers": (half, table(two, ("c", "d"))),
        "no common criterion": (
            pd.concat([said({"S": both[:, :1]}, ("c",)), said({"T": both[:, 1:]}, ("d",))]),
            table(two, ("c", "d")),
        ),
        "two raters, twins": (said({"S": truth, "T": truth}), table(ratings[:, :2])),
        "more criteria than items": (said({"S": wide, "T": -wide}, names), table(many, names)),
        "no reliable criterion": (said({"S": rng.normal(size=(24, 10))}, names), table(noise, names)),
    }


@pytest.mark.parametrize("name", odd_tables())
def test_odd_tables_give_numbers_or_reasons_under_keys_of_their_own(name):
    answers, ratings = odd_tables()[name]
    found = score(answers, ratings, calibrate=("rank", "none"), **FEW)
    keys = [(row.analysis, tuple(sorted(row.keys.items())), row.statistic, row.unit) for row in found.rows]
    assert len(set(keys)) == len(keys)
    for row in found.rows:
        assert not np.isnan(row.estimate) or row.undefined
        assert row.low is not None or row.note or row.undefined, row
        assert row.p is None or 0 < row.p <= 1 or row.method == "constant"


def test_without_a_replicate_that_all_share_p_is_adjusted_all_the_same():
    """Twenty arms of one answer each: in no replicate have all of them a score, so that there is no max-T."""
    ratings, truth = people(n=40)
    rng = np.random.default_rng(5)
    answers = said({f"S{k}": truth + rng.normal(size=truth.shape) for k in range(22)})
    number, item = (answers[name].str[1:].astype(int) for name in ("system", "item"))
    few = answers[(number >= 20) | (item == number)]
    found = score(few, table(ratings), over=("item",), fit="oracle", calibrate=("rank",), **FEW)
    rows = [
        row
        for row in found.select("contrasts", "difference", {"contrast": "anchor", "b": "pairwise"})
        if row.p is not None
    ]
    assert len(rows) > 10
    assert not found.select("contrasts", "p_max_t", {"contrast": "anchor", "b": "pairwise"})
    smallest = min(rows, key=lambda row: row.p)
    assert smallest.p_adjusted == pytest.approx(min(1.0, len(rows) * smallest.p), abs=1e-12)
    assert all(row.p_adjusted >= smallest.p_adjusted for row in rows)


def test_of_many_baselines_that_deal_at_random_none_fails_by_chance():
    """Twenty systems have twenty shufflings, and one in forty intervals lies above 0 by chance."""
    failed = 0
    for seed in range(4):
        ratings, truth = people(n=80, seed=seed)
        rng = np.random.default_rng(seed)
        answers = said({f"S{k}": truth + rng.normal(size=truth.shape) for k in range(20)})
        found = score(answers, table(ratings), over=("item",), calibrate=("rank",), anchors=(), **FEW | {"seed": seed})
        rows = [row for row in found["baselines"] if row.low is not None]
        failed += any(row.low > 0.02 for row in rows)
        assert one(found, "baselines-near-zero").verdict == "pass"
    assert failed
