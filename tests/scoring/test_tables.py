import itertools
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measurand.data import Scale
from measurand.result import MeasurandError
from measurand.scoring.answered import Answered
from measurand.scoring.coverage import POLICIES, coverage_rows
from measurand.scoring.decisions import decision_rows
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, kappa
from measurand.scoring.replicates import ALPHA
from measurand.scoring.run import Scope
from measurand.scoring.spread import spread_rows
from measurand.scoring.statistics import Measure, measured
from measurand.scoring.tables import (
    THRESHOLDS,
    anchor_rows,
    baseline_rows,
    criterion_rows,
    score_rows,
    sensitivity_points,
    sensitivity_rows,
)
from measurand.stats.calibration import TIES

CLOSED = 1e-12


def one_of(rows, statistic, **keys):
    (row,) = [
        row for row in rows if row.statistic == statistic and all(row.keys.get(k, "") == v for k, v in keys.items())
    ]
    return row


# --- Scores -----------------------------------------------------------------------------------------------------------


def test_a_score_is_row_0_of_its_series_and_its_interval_the_rest(runs):
    """P39: the interval described another statistic than the point."""
    run = runs.computed(*runs.benchmark(), calibrate=("rank", "none"), confidence=0.9)
    for path, position in itertools.product(run.paths, (0, 1)):
        series = run.arm(position, path)
        for place, name in enumerate(("c0", "c1")):
            keys = {"system": "AB"[position], "criterion": name, "fit": path.fit, "calibration": path.calibration}
            row = one_of(score_rows(run), "kappa_quadratic", **keys)
            low, high = np.quantile(series[1:, place], [0.05, 0.95])
            assert (row.estimate, row.low, row.high) == pytest.approx((series[0, place], low, high), abs=CLOSED)
            opponents = Opponents(run.field.criteria[place], np.ones((1, run.field.n_items)))
            again = kappa(run.contenders[position].answered[place], opponents, path, run.folds)[0]
            assert row.estimate == pytest.approx(again, abs=CLOSED)
            assert (row.confidence, row.unit, row.method) == (0.9, "item", "percentile bootstrap, refitted")


def test_a_set_is_the_mean_of_its_criteria_and_chosen_anew_in_every_replicate(runs):
    answers, ratings = runs.benchmark(n_criteria=4)
    run = runs.computed(answers, ratings, reliable=0.45)
    alpha, series = run.store[ALPHA], run.arm(0)
    is_in = alpha >= 0.45
    assert len(set(map(tuple, is_in))) > 1
    for name, mask in (("all", np.ones_like(is_in)), ("reliable", is_in), ("unreliable", ~is_in)):
        expected = np.array(
            [row[chosen].mean() if chosen.any() else np.nan for row, chosen in zip(series, mask, strict=True)]
        )
        row = one_of(score_rows(run), "kappa_quadratic", system="A", set=name, fit="held_out")
        low, high = np.nanquantile(expected[1:], [0.025, 0.975])
        assert (row.estimate, row.low, row.high) == pytest.approx((expected[0], low, high), abs=CLOSED)
        undefined = np.isnan(expected[1:]).mean()
        assert ("are undefined and left out" in row.note) == (undefined > 0)


def test_answers_that_are_no_values_of_the_scale_have_no_uncalibrated_score(runs):
    answers, ratings = runs.benchmark()
    answers.loc[(answers["criterion"] == "c1") & (answers["item"] == "i004"), "answer"] = 40.0
    run = runs.computed(answers, ratings, calibrate=("rank", "none"))
    rows = score_rows(run)
    for keys in ({"criterion": "c1"}, {"set": "all"}):
        row = one_of(rows, "kappa_quadratic", system="A", calibration="none", **keys)
        assert np.isnan(row.estimate)
        assert "answers such as 40 are outside the scale" in row.undefined
    assert not np.isnan(one_of(rows, "kappa_quadratic", system="A", calibration="none", criterion="c0").estimate)
    assert not np.isnan(one_of(rows, "kappa_quadratic", system="A", set="all", fit="oracle").estimate)


def test_replicates_that_are_undefined_are_left_out_and_their_share_is_told(runs, make):
    """P18: of ten items one differs, and a third of the replicates miss it."""
    ratings = np.full((10, 2), 2.0)
    ratings[0] = 5
    answers = make.answers(ratings[:, 0])
    run = runs.computed(answers, make.long(ratings), calibrate=("none",), replicates=400)
    row = one_of(score_rows(run), "kappa_quadratic")
    share = np.isnan(run.arm(0)[1:]).mean()
    assert 0.25 < share < 0.45
    told = re.match(r"([\d.]+) % of the replicates are undefined and left out", row.note)
    assert float(told.group(1)) == pytest.approx(100 * share, abs=0.5)
    assert (row.estimate, row.low, row.high) == pytest.approx((1, 1, 1))


def test_what_is_constant_on_both_sides_is_undefined_with_a_reason(runs, make):
    """P18: kappa of two equal constants."""
    run = runs.computed(
        make.answers(np.full(8, 2.0)), make.long(np.full((8, 3), 2.0)), calibrate=("none",), anchors=("pairwise",)
    )
    for row in (*score_rows(run), *anchor_rows(run), *criterion_rows(run)):
        assert np.isnan(row.estimate)
        assert row.undefined
        assert row.unit == "item"
    assert one_of(score_rows(run), "kappa_quadratic").undefined == "neither the answers nor the ratings vary"


def test_every_statistic_equals_its_plain_loop_on_every_pair(runs):
    answers, ratings = runs.benchmark(systems=("A",), n_criteria=1, missing=0.4)
    answers["answer"] = answers["answer"].round()
    names = ("kappa_quadratic", "kappa_linear", "kappa_unweighted", "spearman", "mean_absolute_error", "auroc")
    run = runs.computed(answers, ratings, calibrate=("none",), statistics=names, positive="majority")
    pairs = ratings.merge(answers, on="item")
    x, y = pairs["answer"].to_numpy(), pairs["rating"].to_numpy()
    mean = ratings.groupby("item")["rating"].mean()
    positive = ratings.assign(above=ratings["rating"] > 0).groupby("item")["above"].mean() > 0.5
    score = answers.set_index("item")["answer"].reindex(mean.index)
    above = score[positive].to_numpy()[:, None] - score[~positive].to_numpy()[None, :]
    expected = {
        "kappa_linear": 1 - np.abs(x - y).mean() / np.abs(x[:, None] - y[None, :]).mean(),
        "kappa_unweighted": 1 - (x != y).mean() / (x[:, None] != y[None, :]).mean(),
        "spearman": stats.spearmanr(score, mean)[0],
        "mean_absolute_error": np.abs(x - y).mean(),
        "auroc": ((above > 0) + 0.5 * (above == 0)).mean() if above.size else np.nan,
    }
    for name, value in expected.items():
        assert one_of(score_rows(run), name).estimate == pytest.approx(value, abs=CLOSED, nan_ok=True)


def test_unweighted_kappa_of_answers_between_levels_is_refused(runs):
    run = runs.computed(*runs.benchmark(n_criteria=1))
    opponents = Opponents(run.field.criteria[0], np.ones((1, run.field.n_items)))
    for ties in ("block", "random"):
        with pytest.raises(MeasurandError, match=f"ties={ties} gives answers between levels; choose --ties midrank"):
            measured(Measure("kappa_unweighted"), run.contenders[0].answered[0], opponents, Path(ties=ties), run.folds)


# --- Choices that are shown, baselines, anchors, criteria -------------------------------------------------------------


def test_all_tie_rules_and_targets_are_shown_beside_the_headline(runs):
    run = runs.computed(*runs.benchmark())
    points = sensitivity_points(run)
    assert {(path.ties, path.target) for _, _, path in points} == set(itertools.product(TIES, ("ratings", "consensus")))
    rows = sensitivity_rows(run, points)
    assert all(row.low is None and (row.keys["ties"], row.keys["target"]) != ("block", "ratings") for row in rows)
    path = Path("rank", "held_out", "consensus", "midrank")
    opponents = Opponents(run.field.criteria[1], np.ones((1, run.field.n_items)))
    expected = kappa(run.contenders[1].answered[1], opponents, path, run.folds)[0]
    row = one_of(rows, "kappa_quadratic", system="B", criterion="c1", target="consensus", ties="midrank")
    assert row.estimate == pytest.approx(expected, abs=CLOSED)


def test_trivial_baselines_score_about_0_on_the_path_of_the_systems(runs):
    names = ("all_low", "all_high", "criterion_mean", "uniform_random", "marginal", "shuffled")
    run = runs.computed(*runs.benchmark(n_items=150), baselines=names, fit="oracle")
    rows = [row for row in baseline_rows(run) if row.keys.get("criterion")]
    for row in rows:
        bound = 1e-12 if row.keys["baseline"] in names[:3] else 0.25
        assert abs(row.estimate) < bound, row.keys
    assert {row.keys["system"] for row in rows if row.keys["baseline"] == "shuffled"} == {"A", "B"}


def test_anchors_carry_the_path_only_where_they_are_calibrated(runs):
    names = ("pairwise", "leave_one_out", "noise_ceiling", "rater_calibrated", "leave_one_out_calibrated")
    run = runs.computed(*runs.benchmark(), anchors=names, over=("item", "item+rater"))
    rows = anchor_rows(run)
    for name in names:
        row = one_of([row for row in rows if row.unit == "item"], "kappa_quadratic", anchor=name, criterion="c0")
        assert row.keys["calibration"] == ("rank" if "calibrated" in name else "none")
        assert row.estimate == pytest.approx(run.anchor(name)[0, 0], abs=CLOSED)
    over = one_of(
        [row for row in rows if row.unit == "item+rater"],
        "kappa_quadratic",
        anchor="leave_one_out_calibrated",
        criterion="c0",
    )
    assert over.low < over.estimate < over.high
    wide = one_of([r for r in rows if r.unit == "item+rater"], "kappa_quadratic", anchor="pairwise", criterion="c0")
    assert "with 4 raters the variance that raters make comes out 75 % as large" in wide.note


def test_how_sure_a_criterion_is_in_the_set_is_the_share_of_replicates(runs):
    run = runs.computed(*runs.benchmark(n_criteria=4), anchors=("pairwise",), reliable=0.45)
    alpha, rows = run.store[ALPHA], criterion_rows(run)
    for place, name in enumerate(run.field.names):
        row = one_of(rows, "inclusion_share", criterion=name)
        assert row.estimate == pytest.approx((alpha[1:, place] >= 0.45).mean(), abs=CLOSED)
        assert one_of(rows, "alpha_interval", criterion=name).estimate == pytest.approx(alpha[0, place], abs=CLOSED)
    for threshold in THRESHOLDS:
        mask = alpha[0] >= threshold
        assert one_of(rows, "n_criteria", threshold=threshold).estimate == mask.sum()
        if mask.any():
            row = one_of(rows, "pairwise", threshold=threshold)
            assert row.estimate == pytest.approx(run.anchor("pairwise")[0, mask].mean(), abs=CLOSED)
            above = sum(run.arm(i)[0, mask].mean() > run.anchor("pairwise")[0, mask].mean() for i in (0, 1))
            assert one_of(rows, "n_above_pairwise", threshold=threshold).estimate == above


# --- Coverage and decisions -------------------------------------------------------------------------------------------


def test_every_policy_for_missing_answers_is_shown_and_none_is_the_score_of_a_0(runs):
    """T38: how ambiguous answers were counted was not said."""
    answers, ratings = runs.benchmark(n_criteria=1)
    answers.loc[(answers["system"] == "A") & answers["item"].isin(["i001", "i007"]), "answer"] = np.nan
    run = runs.computed(answers, ratings, calibrate=("none",))
    rows = coverage_rows(run)
    assert one_of(rows, "coverage", system="A").estimate == pytest.approx(22 / 24)
    assert one_of(rows, "coverage", system="B").estimate == 1
    values = answers[answers["system"] == "A"].set_index("item")["answer"].reindex(run.field.items).to_numpy()
    of = run.field.criteria[0]

    def under(fill):
        given = values.copy()
        given[np.isnan(values)] = fill
        return kappa(Answered(given - of.shift), Opponents(of, np.ones((1, 24))), run.path, run.folds)[0]

    found = {
        policy: one_of(rows, "kappa_quadratic", system="A", policy=policy, criterion="c0").estimate
        for policy in POLICIES
    }
    assert found["exclude"] == pytest.approx(under([np.nan, np.nan]), abs=CLOSED)
    assert found["lowest"] == pytest.approx(under([0, 0]), abs=CLOSED)
    every = [under(fill) for fill in itertools.product(np.linspace(0, 7, 71), repeat=2)]
    assert min(every) - 1e-3 < found["wrong"] <= min(every) + 1e-9
    assert max(every) - 1e-9 <= found["right"] < max(every) + 1e-3
    assert not [row for row in rows if row.keys["system"] == "B" and row.keys["policy"]]


def test_decisions_name_each_rater_and_need_a_margin_for_equivalence(runs):
    answers, ratings = runs.benchmark(n_items=60)
    run = runs.computed(answers, ratings, anchors=("pairwise",), margin=0.2)
    rows = decision_rows(run)
    for name in ("c0", "c1"):
        keys = {"system": "A", "criterion": name, "decision": "alternative_annotator_test"}
        of_raters = [
            row for row in rows if row.keys.get("rater") and all(row.keys.get(k, "") == v for k, v in keys.items())
        ]
        assert [row.keys["rater"] for row in of_raters] == ["R0", "R1", "R2", "R3"]
        omega = one_of(rows, "winning_rate", **keys).estimate
        assert omega == pytest.approx(np.mean([row.p_adjusted < 0.05 for row in of_raters]))
    row = one_of(rows, "difference", decision="equivalence", system="A", set="all")
    a, b = run.columns([run.arm(0), run.anchor("pairwise")], Scope(set="all"), run.store)
    low, high = np.quantile((a - b)[1:], [0.05, 0.95])
    assert (row.low, row.high, row.confidence) == pytest.approx((low, high, 0.9), abs=CLOSED)
    holds = max(-low, high) < 0.2
    assert ("holds" in row.note) == holds
    assert not [r for r in decision_rows(runs.computed(answers, ratings)) if r.statistic == "difference"]


# --- Spread -----------------------------------------------------------------------------------------------------------


def test_leaving_out_what_failed_a_gate_moves_the_mean_as_it_says(runs):
    """A failed system stays visible, and which way leaving it out moves the result is said."""
    answers, ratings = runs.benchmark(systems=("A", "B", "C"))
    run = runs.computed(answers, ratings, excluded={("C", "", "", ""): ["constant-answers"]})
    rows = spread_rows(run, None)
    each = [run.columns([run.arm(i)], Scope(set="all"), run.store)[0] for i in range(3)]
    everyone, passing = np.mean(each, axis=0), np.mean(each[:2], axis=0)
    found = [
        one_of(rows, name, set="all") for name in ("mean_of_systems", "mean_without_failed", "effect_of_leaving_out")
    ]
    for row, values in zip(found, (everyone, passing, passing - everyone), strict=True):
        low, high = np.quantile(values[1:], [0.025, 0.975])
        assert (row.estimate, row.low, row.high) == pytest.approx((values[0], low, high), abs=CLOSED)
    assert found[2].note == "without C"
    assert not [r for r in spread_rows(runs.computed(answers, ratings), None) if r.statistic == "mean_of_systems"]


def test_separated_pairs_are_counted_by_overlap_and_by_paired_difference(runs):
    run = runs.computed(*runs.benchmark(systems=("A", "B", "C", "D"), n_items=40))
    rows = spread_rows(run, None)
    table = np.column_stack([run.columns([run.arm(i)], Scope(set="all"), run.store)[0] for i in range(4)])
    low, high = np.quantile(table[1:], [0.025, 0.975], axis=0)
    marginal, paired = 0, 0
    for i, j in itertools.combinations(range(4), 2):
        marginal += low[i] > high[j] or low[j] > high[i]
        a, b = np.quantile(table[1:, i] - table[1:, j], [0.025, 0.975])
        paired += a > 0 or b < 0
    assert one_of(rows, "n_pairs", set="all").estimate == 6
    assert one_of(rows, "pairs_separated_marginal", set="all").estimate == marginal
    assert one_of(rows, "pairs_separated_paired", set="all").estimate == paired
    assert one_of(rows, "sd_between_systems", set="all").estimate == pytest.approx(table[0].std(ddof=1), abs=CLOSED)
    width = one_of(rows, "median_interval_width", set="all").estimate
    assert width == pytest.approx(np.median(high - low), abs=CLOSED)


def test_shares_of_readout_and_system_add_up_and_the_best_phrasing_is_disclosed(runs):
    answers, ratings = runs.benchmark(n_criteria=1)
    rng = np.random.default_rng(1)
    parts = [
        answers.assign(readout=r, phrasing=p, answer=answers["answer"] + rng.normal(0, 1, len(answers)))
        for r, p in itertools.product(("v", "g"), ("p1", "p2"))
    ]
    run = runs.computed(pd.concat(parts), ratings)
    rows = spread_rows(run, None)
    shares = [row.estimate for row in rows if row.statistic == "share"]
    assert sum(shares) == pytest.approx(1)
    assert all(share >= 0 for share in shares)
    best = one_of(rows, "best_of_phrasings", system="A", of="v")
    corrected = one_of(rows, "best_of_phrasings_corrected", system="A", of="v")
    scores = [
        run.arm(i)[0, 0] for i, x in enumerate(run.contenders) if (x.keys["system"], x.keys["readout"]) == ("A", "v")
    ]
    assert best.estimate == pytest.approx(max(scores), abs=CLOSED)
    assert best.estimate - 0.2 < corrected.estimate <= best.estimate
    spread = one_of(rows, "range_over_phrasings", system="A", of="v").estimate
    assert spread == pytest.approx(max(scores) - min(scores), abs=CLOSED)


def test_size_against_score_is_scipys_rank_correlation(runs):
    run = runs.computed(*runs.benchmark(systems=tuple("ABCDE"), n_criteria=1))
    systems = pd.DataFrame({"system": list("ABCDE"), "parameters": [3e9, 1e9, 9e9, 2e9, 5e9]})
    row = one_of(spread_rows(run, systems), "spearman", source="parameters")
    expected = stats.spearmanr(systems["parameters"], [run.arm(i)[0, 0] for i in range(5)])[0]
    assert row.estimate == pytest.approx(expected, abs=CLOSED)
    assert 0 < row.attainable_p <= row.p <= 1
    few = one_of(spread_rows(run, systems.iloc[:3]), "spearman", source="parameters")
    assert "3 systems with known parameters" in few.undefined


def test_a_wider_scale_changes_no_calibrated_score_of_a_run(runs):
    """P20, P21: an unused level."""
    answers, ratings = runs.benchmark()
    found = [runs.computed(answers, ratings, scale=Scale(0, high, step=1)).arm(0) for high in (7, 20)]
    np.testing.assert_allclose(*found, atol=CLOSED)
