"""The findings of a scoring run: each verdict under its rule, on tables made to have it."""

import re

import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers, read_ratings
from measurand.reporting.scores_verdict import lead
from measurand.reporting.scores_view import Scores
from measurand.scoring.score import score

FEW = {"replicates": 200, "gates": False, "seed": 1}


def people(n=150, *, raters=4, noise=0.8, seed=0, criteria=("c",), latent=None):
    """Ratings of 0 to 4 by raters who see a latent value with noise; and the latent values."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, len(criteria))) if latent is None else latent
    rows = [
        (f"i{i}", f"R{r}", name, float(np.clip(np.rint(2 + truth[i, k] + noise * rng.normal()), 0, 4)))
        for i in range(n)
        for r in range(raters)
        for k, name in enumerate(criteria)
    ]
    table = pd.DataFrame(rows, columns=["item", "rater", "criterion", "rating"])
    return read_ratings(table, scale=Scale(0, 4, step=1)), truth


def answers_of(systems, criteria=("c",), **columns):
    """One answer for each item and criterion: systems is a mapping of name to values (n_items, n_criteria)."""
    rows = [
        (system, f"i{i}", name, value)
        for system, values in systems.items()
        for i, of_item in enumerate(values)
        for name, value in zip(criteria, of_item, strict=True)
    ]
    table = pd.DataFrame(rows, columns=["system", "item", "criterion", "answer"]).assign(**columns)
    return read_answers(table)


def found(result, name):
    (one,) = [finding for finding in result.findings if finding.id == name]
    return one


def statement(result, name):
    return found(result, name).statement


def test_a_system_that_knows_the_truth_exceeds_raters_of_this_kind_and_a_blind_one_exceeds_nobody():
    ratings, truth = people(n=500, raters=10, noise=2.0)
    rng = np.random.default_rng(1)
    good = score(answers_of({"S": truth}), ratings, **FEW)
    assert found(good, "exceeds-people").verdict == "pass"
    blind = score(answers_of({"S": rng.normal(size=truth.shape)}), ratings, **FEW)
    finding = found(blind, "exceeds-people")
    assert finding.verdict == "fail"
    assert "0 of 1 for these raters" in finding.statement
    assert "raters of this kind" in finding.statement


def test_exceeding_the_pairwise_anchor_alone_is_a_warning():
    """A predictor of the consensus beats two raters' agreement by construction: that is no victory over people."""
    ratings, truth = people(n=800, raters=6, noise=1.0)
    rng = np.random.default_rng(2)
    result = score(answers_of({"S": truth + 0.6 * rng.normal(size=truth.shape)}), ratings, **FEW)
    above = {
        (row.keys["b"], row.unit): row.low > 0
        for row in result["contrasts"]
        if row.keys["contrast"] == "anchor" and row.statistic == "difference"
    }
    assert above["pairwise", "item"]
    assert not above["leave_one_out", "item"]
    assert found(result, "exceeds-people").verdict == "warn"


def test_without_redrawn_raters_nothing_is_said_of_raters_of_this_kind():
    ratings, truth = people(raters=6)
    finding = found(score(answers_of({"S": truth}), ratings, over=("item",), **FEW), "exceeds-people")
    assert "raters of this kind" not in finding.statement
    assert finding.verdict == "warn"
    assert "--over item+rater" in finding.remedy


def test_of_five_raters_nothing_is_said_beyond_these_and_the_statement_says_why():
    ratings, truth = people(raters=5)
    finding = found(score(answers_of({"S": truth}), ratings, **FEW), "exceeds-people")
    assert "raters of this kind" not in finding.statement
    assert finding.statement.endswith("5 raters are too few to speak of raters of their kind.")
    assert finding.verdict == "warn"
    assert "six or more" in finding.remedy
    six = found(score(answers_of({"S": people(raters=6)[1]}), people(raters=6)[0], **FEW), "exceeds-people")
    assert "for raters of this kind" in six.statement


def test_order_is_real_only_where_neighbours_differ():
    ratings, truth = people(n=300)
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(3, *truth.shape))
    apart = {f"S{k}": truth + size * noise[k] for k, size in enumerate((0.1, 1.0, 4.0))}
    assert found(score(answers_of(apart), ratings, over=("item",), **FEW), "order-real").verdict == "pass"
    alike = {f"S{k}": truth + noise[k] for k in range(3)}
    finding = found(score(answers_of(alike), ratings, over=("item",), **FEW), "order-real")
    assert finding.verdict == "fail"
    assert "0 of 3 pairs differ" in finding.statement
    read = [("a", apart), ("b", alike), ("c", apart), ("d", apart), ("e", apart)]
    several = pd.concat([answers_of(one).frame.assign(readout=name) for name, one in read])
    finding = found(score(read_answers(several), ratings, over=("item",), **FEW), "order-real")
    assert finding.verdict == "fail"
    assert finding.statement.startswith("b: 0 of 3 pairs differ")
    assert finding.statement.count("pairs differ") == 3
    assert "2 more protocols, none of them worse" in finding.statement
    one = found(score(answers_of({"S": truth}), ratings, over=("item",), **FEW), "order-real")
    assert one.verdict == "not_applicable"


def test_a_readout_that_moves_scores_more_than_systems_do_fails():
    ratings, truth = people(n=300)
    rng = np.random.default_rng(4)
    graded = pd.concat(
        [
            answers_of({f"S{k}": truth + (0.3 + 0.02 * k) * rng.normal(size=truth.shape)}).frame.assign(
                readout="graded"
            )
            for k in range(3)
        ]
        + [
            answers_of({f"S{k}": truth + 3 * rng.normal(size=truth.shape)}).frame.assign(readout="generated")
            for k in range(3)
        ]
    )
    result = score(
        read_answers(graded.astype({"system": str, "item": str, "criterion": str})), ratings, over=("item",), **FEW
    )
    finding = found(result, "readout-decides")
    assert finding.verdict == "fail"
    assert "3 of 3 systems higher" in finding.statement
    assert ", more than the standard deviation between systems under one readout (" in finding.statement
    shares = {row.keys["source"]: row.estimate for row in result["spread"] if row.statistic == "share"}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-12)
    assert shares["readout"] > 0.9


def test_the_yes_or_no_of_probabilities_is_scored_beside_them_and_loses():
    """The first paper's control: the same answers, the gradation thrown away."""
    ratings, truth = people(n=300)
    probability = 1 / (1 + np.exp(-2 * truth))
    result = score(answers_of({"S": probability}, readout="verification"), ratings, over=("item",), **FEW)
    contrast = next(
        row for row in result["contrasts"] if row.keys["contrast"] == "readout" and row.statistic == "difference"
    )
    assert (contrast.keys["a"], contrast.keys["b"]) == ("verification", "binarized")
    assert contrast.low > 0
    ties = {
        row.keys["readout"]: row.estimate
        for row in result["contrasts"]
        if row.keys["contrast"] == "ties" and row.statistic == "difference"
    }
    assert ties["binarized"] > ties["verification"]


def test_ties_decide_where_answers_have_two_values():
    ratings, truth = people(n=300)
    result = score(answers_of({"S": (truth > 0).astype(float)}), ratings, over=("item",), **FEW)
    assert found(result, "ties-decide").verdict == "fail"
    assert re.search(
        r"moves by at most 0\.\d+ \(S: highest under \w+, lowest under \w+\)", statement(result, "ties-decide")
    )
    graded = score(answers_of({"S": truth}), ratings, over=("item",), **FEW)
    assert found(graded, "ties-decide").verdict == "pass"


def test_missing_answers_fail_only_if_their_bounds_reach_across_the_anchor():
    ratings, truth = people(n=300)
    clear = truth.copy()
    clear[:3] = np.nan
    finding = found(score(answers_of({"S": clear}), ratings, over=("item",), **FEW), "coverage-decides")
    assert finding.verdict == "warn"
    assert "99.0 %" in finding.statement
    assert (
        "At neither bound does an arm change its side of the agreement of one rater with another." in finding.statement
    )
    lost = truth.copy()
    lost[:120] = np.nan
    crossing = found(score(answers_of({"S": lost}), ratings, over=("item",), **FEW), "coverage-decides")
    assert crossing.verdict == "fail"
    assert "S lies on either side of the agreement of one rater with another." in crossing.statement
    whole = found(score(answers_of({"S": truth}), ratings, over=("item",), **FEW), "coverage-decides")
    assert whole.verdict == "pass"


def test_a_criterion_at_the_edge_is_told_and_one_criterion_is_nothing_to_choose():
    names = ("clear", "edge", "noise")
    rng = np.random.default_rng(5)
    latent = rng.normal(size=(150, 3)) * np.array([1.5, 0.72, 0.0])
    ratings, _ = people(n=150, criteria=names, latent=latent, noise=1.0)
    result = score(
        answers_of({"S": latent + 0.1 * rng.normal(size=latent.shape)}, names), ratings, over=("item",), **FEW
    )
    alpha = {row.keys["criterion"]: row.estimate for row in result["criteria"] if row.statistic == "alpha_interval"}
    shares = {row.keys["criterion"]: row.estimate for row in result["criteria"] if row.statistic == "inclusion_share"}
    assert alpha["noise"] < 0.1 < 0.5 < alpha["clear"]
    assert shares["clear"] == 1
    assert shares["noise"] == 0
    assert 0.05 < shares["edge"] < 0.95
    finding = found(result, "set-choice")
    assert finding.verdict in ("warn", "fail")
    assert "edge" in finding.statement
    single, truth = people()
    assert (
        found(score(answers_of({"S": truth}), single, over=("item",), **FEW), "set-choice").verdict == "not_applicable"
    )


def test_phrasings_that_differ_by_more_than_an_interval_fail_and_the_best_is_corrected():
    ratings, truth = people(n=200)
    rng = np.random.default_rng(6)
    tables = [
        answers_of({"S": truth + size * rng.normal(size=truth.shape)}).frame.assign(phrasing=f"v{k}")
        for k, size in enumerate((0.2, 3.0))
    ]
    frame = pd.concat(tables).astype({"system": str, "item": str, "criterion": str})
    result = score(read_answers(frame), ratings, over=("item",), **FEW)
    assert found(result, "phrasing-decides").verdict == "fail"
    same = [answers_of({"S": truth + rng.normal(size=truth.shape)}).frame.assign(phrasing=f"v{k}") for k in range(4)]
    frame = pd.concat(same).astype({"system": str, "item": str, "criterion": str})
    alike = score(read_answers(frame), ratings, over=("item",), **FEW)
    assert found(alike, "phrasing-decides").verdict == "pass"
    best, corrected = (
        next(row.estimate for row in alike["spread"] if row.statistic == name)
        for name in ("best_of_phrasings", "best_of_phrasings_corrected")
    )
    scores = [
        row.estimate
        for row in alike["scores"]
        if row.keys["calibration"] == "rank" and row.keys["fit"] == "held_out" and row.low is not None
    ]
    assert best == pytest.approx(max(scores), abs=1e-12)
    assert corrected < best


def test_constant_baselines_score_nothing_and_under_index_ties_they_may_not():
    ratings, truth = people(n=300)
    result = score(answers_of({"S": truth}), ratings, over=("item",), fit="oracle", **FEW)
    constant = [row for row in result["baselines"] if row.keys["baseline"] in ("all_low", "all_high", "criterion_mean")]
    assert len(constant) == 3
    assert all(row.estimate == 0 for row in constant)
    assert found(result, "baselines-near-zero").verdict == "pass"
    # Items sorted by what raters say: under ties by index a constant answer follows the items' order.
    order = np.argsort(truth[:, 0])
    sorted_ratings, _ = people(n=300, latent=truth[order])
    leaky = score(answers_of({"S": truth[order]}), sorted_ratings, over=("item",), fit="oracle", ties="index", **FEW)
    finding = found(leaky, "baselines-near-zero")
    assert finding.verdict == "fail"
    assert "No: the lowest level (" in finding.statement


def test_failed_systems_stay_visible_and_the_way_that_leaving_them_out_goes_is_told():
    ratings, truth = people(n=200)
    rng = np.random.default_rng(7)
    systems = {"A": truth, "B": truth + 0.5 * rng.normal(size=truth.shape), "C": rng.normal(size=truth.shape)}
    result = score(answers_of(systems), ratings, over=("item",), **(FEW | {"gates": True}))
    assert list(result.settings["scores"]["excluded"]) == [["C", "", "", ""]]
    finding = found(result, "failed-systems")
    assert finding.verdict == "fail"
    assert "Failed: C: input-sensitivity. Leaving it out moves the mean of the systems up, by 0.2" in finding.statement
    assert {row.keys["system"] for row in result["scores"]} == {"A", "B", "C"}
    asked_not = found(score(answers_of(systems), ratings, over=("item",), **FEW), "failed-systems")
    assert asked_not.verdict == "undetermined"


def test_a_system_as_good_as_the_raters_may_stand_in_and_a_blind_one_may_not():
    """Calderon, Reichart & Dror 2025: the alternative annotator test."""
    ratings, truth = people(n=200, raters=5)
    rng = np.random.default_rng(8)
    good = found(score(answers_of({"S": truth}), ratings, over=("item",), **FEW), "stand-in")
    assert good.verdict == "pass"
    assert good.statement == "S beats at least half of the raters (epsilon 0.1, Benjamini-Yekutieli)."
    blind = score(answers_of({"S": rng.normal(size=truth.shape)}), ratings, over=("item",), **FEW)
    assert found(blind, "stand-in").verdict == "fail"
    assert statement(blind, "stand-in").startswith("None of 1 arms beats half of the raters on any criterion")


def test_every_finding_points_to_rows_that_are_there():
    ratings, truth = people(n=80, criteria=("a", "b"))
    rng = np.random.default_rng(9)
    systems = {"A": truth, "B": truth + rng.normal(size=truth.shape)}
    result = score(answers_of(systems, ("a", "b")), ratings, **FEW)
    for finding in result.findings:
        for reference in finding.rows:
            keys = {name: value for name, value in reference.items() if name not in ("analysis", "statistic")}
            assert result.select(str(reference["analysis"]), str(reference["statistic"]), keys), (finding.id, reference)


def test_systems_that_answered_different_items_are_compared_on_common_ones():
    """Answering only the easy items is no skill: the same answers to half of the items must not win."""
    ratings, truth = people(n=200, raters=6)
    rng = np.random.default_rng(10)
    signal = truth + 0.5 * rng.normal(size=truth.shape)
    half = signal.copy()
    half[np.argsort(np.abs(truth[:, 0]))[:100]] = np.nan
    result = score(answers_of({"S": signal, "T": half}), ratings, **FEW)
    rows = {
        (row.keys["contrast"], row.keys["b"], row.unit): row
        for row in result["contrasts"]
        if row.statistic == "difference"
    }
    plain, matched = rows["system", "T", "item"], rows["system_matched", "T", "item"]
    assert plain.estimate < 0
    assert plain.high < 0
    assert (matched.estimate, matched.p) == (0, 1)
    assert "of 1 compared on common items alone, as they answered different ones, 0 differ" in (
        found(result, "order-real").statement
    )
    wide, own = (
        next(
            row.estimate
            for row in result["contrasts"]
            if row.keys["contrast"] == name and row.keys["system"] == "T" and row.keys["b"] == "leave_one_out"
        )
        for name in ("anchor", "anchor_matched")
    )
    assert own < wide - 0.05


def test_a_mean_of_raters_calibrated_as_systems_are_is_the_hardest_anchor_to_pass():
    """A system no better than the panel exceeds the uncalibrated mean of the others by its spread alone."""
    rng = np.random.default_rng(11)
    n, noise = 600, 1.6
    truth = rng.normal(size=(n, 1))
    ratings, _ = people(n=n, raters=10, noise=noise, latent=truth)
    views = np.clip(np.rint(2 + truth + noise * rng.normal(size=(n, 9))), 0, 4)
    result = score(answers_of({"S": views.mean(axis=1, keepdims=True)}), ratings, **FEW)
    gaps = {
        row.keys["b"]: row
        for row in result["contrasts"]
        if row.keys["contrast"] == "anchor" and row.statistic == "difference" and row.unit == "item"
    }
    assert gaps["leave_one_out"].low > 0
    assert abs(gaps["leave_one_out_calibrated"].estimate) < 0.03
    finding = found(result, "exceeds-people")
    assert finding.verdict == "warn"
    assert "above the same mean calibrated as the systems are" in finding.statement
    assert "the mean of the other raters is the one to beat, calibrated as the systems are" in finding.remedy
    first = lead(Scores(result))[0]
    assert "the system scores above that of a rater with the mean of the others" in first
    assert "the system does not score above that mean calibrated as the systems are" in first


def test_the_remedy_asks_for_the_calibrated_anchor_where_systems_are_calibrated_and_it_was_not_made():
    ratings, truth = people(n=60)
    answers = answers_of({"S": truth})
    made = {"anchors": ("pairwise", "leave_one_out"), "over": ("item",), **FEW}
    remedy = found(score(answers, ratings, **made), "exceeds-people").remedy
    assert "--anchors leave_one_out_calibrated" in remedy
    as_it_is = answers_of({"S": np.clip(np.rint(2 + truth), 0, 4)})
    remedy = found(score(as_it_is, ratings, **made, calibrate=("none",)), "exceeds-people").remedy
    assert "calibrated" not in remedy


def test_a_constant_answer_that_passes_makes_a_criterion_say_nothing_about_standing_in():
    rng = np.random.default_rng(12)
    rows = [(f"i{i}", f"R{r}", float(rng.random() < 0.02)) for i in range(150) for r in range(4)]
    table = pd.DataFrame(rows, columns=["item", "rater", "rating"])
    ratings = read_ratings(table, scale=Scale(0, 4, step=1))
    answers = pd.DataFrame({"system": "S", "item": [f"i{i}" for i in range(150)], "answer": rng.normal(size=150)})
    finding = found(score(answers, ratings, over=("item",), **FEW), "stand-in")
    assert finding.verdict == "undetermined"
    assert "median rating" in finding.statement


def test_leakage_is_told_with_an_interval_that_holds_it():
    ratings, truth = people(n=60)
    rng = np.random.default_rng(3)
    answers = answers_of({"S": truth, "T": truth + rng.normal(size=truth.shape)})
    result = score(answers, ratings, over=("item",), **FEW)
    text = statement(result, "calibration-leaks")
    assert re.search(r"adds at most −?0\.\d+ to kappa \(−?0\.\d+ to 0\.\d+; [ST], of 2 arms\)", text)
    assert text.startswith("No, the headline is held-out. Fitted to the very items that it scores (oracle)")
    leaks = [row for row in result.select("contrasts", "difference", {"contrast": "fit"}) if not row.undefined]
    assert leaks
    assert all(row.low < row.estimate < row.high for row in leaks)


def test_what_leaks_is_no_warning_where_the_headline_is_held_out():
    ratings, truth = people(n=24, noise=0.4)
    answers = answers_of({"S": truth})
    held_out = score(answers, ratings, over=("item",), **FEW)
    oracle = score(answers, ratings, over=("item",), fit="oracle", **FEW)
    (leaks,) = held_out.select("contrasts", "difference", {"contrast": "fit"})
    assert leaks.estimate > 0.01
    assert found(held_out, "calibration-leaks").verdict == "pass"
    assert found(oracle, "calibration-leaks").verdict in ("warn", "fail")
    assert statement(oracle, "calibration-leaks").startswith("Yes, the headline is the oracle. ")
    assert found(oracle, "calibration-leaks").remedy
