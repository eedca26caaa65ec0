import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError
from measurand.scoring import anchors
from measurand.scoring.anchors import ANCHORS, anchor_kappa
from measurand.scoring.answered import Answered
from measurand.scoring.field import field_of
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, kappa
from measurand.scoring.score import score

CLOSED = 1e-12
AGGREGATES = ("pooled", "identity")


def on_sample(name, of, path, folds):
    return float(anchor_kappa(name, Opponents(of, np.ones((1, len(of.count)))), path, folds)[0])


def pairwise_by_loop(plain, ratings, items, raters, aggregate):
    """All ordered pairs of drawn raters on all drawn items; a rater is never paired with himself."""
    n_raters = ratings.shape[1]
    pairs, times = {}, {}
    for a, b in itertools.combinations(range(n_raters), 2):
        both = [(ratings[i, a], ratings[i, b]) for i in range(len(ratings)) for _ in range(int(items[i]))]
        pairs[a, b] = [(x, y) for x, y in both if x >= 0 and y >= 0]
        times[a, b] = int(raters[a] * raters[b])
    if aggregate == "identity":
        return plain.aggregated({one: (pairs[one], times[one]) for one in pairs}, "identity")
    both_ways = {one: ([*pairs[one], *((y, x) for x, y in pairs[one])], times[one]) for one in pairs}
    return plain.aggregated(both_ways, "pooled")


def mean_of_others_by_loop(plain, ratings, items, raters, aggregate):
    """Every drawn rater against the rounded mean of all other raters of the item."""
    by_rater = {}
    for rater, times in enumerate(raters.astype(int)):
        pairs = []
        for i in range(len(ratings)):
            others = [ratings[i, r] for r in range(ratings.shape[1]) if r != rater and ratings[i, r] >= 0]
            if others and ratings[i, rater] >= 0:
                pairs += [(plain.rounded(np.mean(others)), ratings[i, rater])] * int(items[i])
        by_rater[rater] = pairs, times
    return plain.aggregated(by_rater, aggregate)


def calibrated_by_loop(plain, ratings, items, raters, path, fold_of, *, mean_of_others):
    """Every rater, or the mean of the others, through the calibration of the systems."""
    n_raters = ratings.shape[1]
    by_rater, means = {}, []
    for rater, times in enumerate(raters.astype(int)):
        rated = ~np.isnan(ratings)
        others = [r for r in range(n_raters) if r != rater]
        there = rated[:, rater] & rated[:, others].any(axis=1)
        answers = np.full(len(ratings), np.nan)
        answers[there] = np.nanmean(ratings[there][:, others], axis=1) if mean_of_others else ratings[there, rater]
        level = plain.levels(
            answers, ratings, items=items.astype(int), raters=raters.astype(int), path=path, fold_of=fold_of
        )
        against = [rater] if mean_of_others else others
        pairs = {
            r: ([(x, ratings[i, r]) for i in level for x in level[i] if ratings[i, r] >= 0], int(raters[r]))
            for r in against
        }
        if mean_of_others:
            by_rater[rater] = pairs[rater][0], times
            continue
        means += [plain.aggregated(pairs, "identity")] * times
        by_rater[rater] = [pair for each, copies in pairs.values() for _ in range(copies) for pair in each], times
    if path.aggregate == "identity" and not mean_of_others:
        return float(np.nanmean(means)) if not np.isnan(means).all() else np.nan
    return plain.aggregated(by_rater, path.aggregate)


# --- Against plain loops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("redraws_raters", [False, True], ids=["these raters", "raters redrawn"])
def test_pairwise_is_the_loop_over_all_pairs_of_drawn_raters_never_with_themselves(
    make, plain, aggregate, redraws_raters
):
    for seed, missing in ((0, 0.0), (1, 0.5), (2, 0.5)):
        ratings, _ = make.panel(missing=missing, seed=seed)
        items, raters = make.draws(12, 4, seed=seed, n_rows=6)
        path = Path("none", "", "", "", aggregate)
        of = make.criterion(ratings)
        found = anchor_kappa("pairwise", Opponents(of, items, raters if redraws_raters else None), path, None)
        for row in range(6):
            drawn = raters[row] if redraws_raters else np.ones(4)
            expected = pairwise_by_loop(plain, ratings, items[row], drawn, aggregate)
            np.testing.assert_allclose(found[row], expected, atol=CLOSED, rtol=0)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("redraws_raters", [False, True], ids=["these raters", "raters redrawn"])
def test_leave_one_out_is_the_loop_over_raters_left_out(make, plain, aggregate, redraws_raters):
    for seed, missing in ((0, 0.0), (1, 0.5), (2, 0.5)):
        ratings, _ = make.panel(missing=missing, seed=seed)
        items, raters = make.draws(12, 4, seed=seed, n_rows=6)
        path = Path("none", "", "", "", aggregate)
        of = make.criterion(ratings)
        found = anchor_kappa("leave_one_out", Opponents(of, items, raters if redraws_raters else None), path, None)
        for row in range(6):
            drawn = raters[row] if redraws_raters else np.ones(4)
            expected = mean_of_others_by_loop(plain, ratings, items[row], drawn, aggregate)
            np.testing.assert_allclose(found[row], expected, atol=CLOSED, rtol=0)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("fit", ["oracle", "held_out"])
@pytest.mark.parametrize(("target", "ties"), [("ratings", "block"), ("consensus", "midrank")])
@pytest.mark.parametrize("redraws", [False, True], ids=["these raters", "raters redrawn"])
@pytest.mark.parametrize("anchor", ["rater_calibrated", "leave_one_out_calibrated"])
def test_calibrated_anchors_are_the_loop_over_raters(make, plain, aggregate, fit, target, ties, anchor, redraws):
    path = Path("rank", fit, target, ties, aggregate)
    for seed, missing in ((0, 0.0), (1, 0.4)):
        ratings, _ = make.panel(n_items=9, missing=missing, seed=seed)
        fold_of = np.random.default_rng(seed).permutation(np.arange(9) % 3)
        items, raters = make.draws(9, 4, seed=seed)
        opponents = Opponents(make.criterion(ratings), items, raters if redraws else None)
        found = anchor_kappa(anchor, opponents, path, make.folds(fold_of))
        for row in range(3):
            drawn = raters[row] if redraws else np.ones(4)
            mean_of_others = anchor == "leave_one_out_calibrated"
            expected = calibrated_by_loop(
                plain, ratings, items[row], drawn, path, fold_of, mean_of_others=mean_of_others
            )
            np.testing.assert_allclose(found[row], expected, atol=CLOSED, rtol=0)


def test_rater_calibrated_without_calibration_is_the_pairwise_anchor(make):
    ratings, _ = make.panel(missing=0.3)
    of = make.criterion(ratings)
    for aggregate in AGGREGATES:
        path = Path("none", "", "", "", aggregate)
        assert on_sample("rater_calibrated", of, path, None) == pytest.approx(on_sample("pairwise", of, path, None))


# --- What anchors are -------------------------------------------------------------------------------------------------


def test_the_order_of_raters_does_not_matter(make):
    """A pooled table of slots a < b depends on which rater is in which column; here both ways are pooled."""
    ratings, _ = make.panel(missing=0.4)
    folds = make.folds(np.arange(12) % 3)
    for name, aggregate in itertools.product(ANCHORS, AGGREGATES):
        path = Path("rank", "held_out", "ratings", "block", aggregate)
        expected = on_sample(name, make.criterion(ratings), path, folds)
        found = on_sample(name, make.criterion(ratings[:, [3, 1, 0, 2]]), path, folds)
        assert found == pytest.approx(expected, abs=CLOSED)


def test_the_noise_ceiling_is_the_root_of_pairwise_and_undefined_below_chance(make):
    path = Path("none", "", "", "", "pooled")
    ratings, _ = make.panel()
    of = make.criterion(ratings)
    expected = np.sqrt(on_sample("pairwise", of, path, None))
    assert on_sample("noise_ceiling", of, path, None) == pytest.approx(expected, abs=CLOSED)
    opposed = make.criterion(np.array([[0.0, 7], [7, 0], [1, 6], [6, 1]]))
    assert on_sample("pairwise", opposed, path, None) < 0
    assert np.isnan(on_sample("noise_ceiling", opposed, path, None))


def test_no_item_with_two_raters_is_undefined(make):
    ratings = np.full((6, 3), np.nan)
    ratings[np.arange(6), np.arange(6) % 3] = np.arange(6)
    of = make.criterion(ratings)
    for name, aggregate in itertools.product(ANCHORS, AGGREGATES):
        path = Path("rank", "oracle", "ratings", "block", aggregate)
        assert np.isnan(on_sample(name, of, path, make.folds(np.arange(6) % 2)))


def test_raters_who_all_say_the_same_are_undefined(make):
    """P18: both sides constant and equal."""
    of = make.criterion(np.full((6, 3), 2.0))
    for name, aggregate in itertools.product(ANCHORS, AGGREGATES):
        path = Path("rank", "oracle", "ratings", "block", aggregate)
        assert np.isnan(on_sample(name, of, path, make.folds(np.arange(6) % 2)))


def test_a_rater_with_a_single_item_says_nothing_by_identity(make, plain):
    """One pair of different ratings has kappa 0, and one of equal ratings none."""
    ratings, _ = make.panel(n_items=10, n_raters=3)
    guest = np.full((10, 1), np.nan)
    guest[4] = (ratings[4, 0] + 3) % 8
    with_guest = np.hstack([ratings, guest])
    for name in ("pairwise", "leave_one_out"):
        path = Path("none", "", "", "", "identity")
        found = on_sample(name, make.criterion(with_guest), path, None)
        if name == "leave_one_out":
            expected = mean_of_others_by_loop(plain, with_guest, np.ones(10), np.ones(4), "identity")
        else:
            expected = on_sample(name, make.criterion(ratings), path, None)
        assert found == pytest.approx(expected, abs=CLOSED)


def test_too_many_pairs_of_raters_are_refused_by_identity(make, monkeypatch):
    monkeypatch.setattr(anchors, "MOST_PAIRS", 5)
    ratings, _ = make.panel()
    with pytest.raises(MeasurandError, match=r"4 raters make 6 pairs; .* at most 5. Pool the pairs instead"):
        on_sample("pairwise", make.criterion(ratings), Path("none", "", "", "", "identity"), None)


def test_an_unknown_anchor_is_refused(make):
    ratings, _ = make.panel()
    with pytest.raises(MeasurandError, match="anchor 'crowd'; allowed are pairwise, leave_one_out"):
        on_sample("crowd", make.criterion(ratings), Path(), make.folds(np.arange(12) % 3))


# --- The simulation of the methods ------------------------------------------------------------------------------------


def simulated(seed):
    """2,500 items, half of them at level 0, 4 raters whose kappa is about .456, and answers with noise of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=2500)
    noise = np.sqrt(1 / 0.52 - 1)
    latent = truth[:, None] + rng.normal(0, noise, (2500, 4))
    shares = 0.5 + 0.5 * np.array([0, 0.25, 0.45, 0.6, 0.75, 0.87, 0.95])
    cuts = stats.norm.ppf(shares) * np.sqrt(1 + noise**2)
    return truth, np.searchsorted(cuts, latent).astype(float), truth + rng.normal(0, 0.8, 2500)


def test_order_of_anchors_and_of_tie_rules_on_data_of_the_size_of_the_methods(make):
    """Pairwise below leave-one-out below the ideal predictor; index ties below blocks for a yes or no."""
    found = []
    folds = make.folds(np.arange(2500) % 2)
    for seed in range(3):
        truth, ratings, signal = simulated(seed)
        of = make.criterion(ratings)
        rank = {ties: Path("rank", "oracle", "ratings", ties) for ties in ("block", "index")}
        opponents = Opponents(of, np.ones((1, 2500)))
        yes = (signal > np.quantile(signal, 0.76)).astype(float)
        found.append(
            [
                on_sample("pairwise", of, rank["block"], folds),
                on_sample("leave_one_out", of, rank["block"], folds),
                *(
                    float(kappa(Answered(answers), opponents, rank[ties], folds)[0])
                    for answers, ties in ((truth, "block"), (signal, "block"), (yes, "block"), (yes, "index"))
                ),
                float(kappa(Answered(np.zeros(2500)), opponents, rank["index"], folds)[0]),
            ]
        )
    pairwise, left_out, ideal, graded, yes_block, yes_index, constant = np.mean(found, axis=0)
    assert pairwise == pytest.approx(0.456, abs=0.02)
    assert pairwise < left_out < ideal
    assert pairwise < graded < ideal
    assert left_out == pytest.approx(0.546, abs=0.02)
    assert graded == pytest.approx(0.490, abs=0.02)
    assert ideal == pytest.approx(0.640, abs=0.03)
    assert yes_index == pytest.approx(0.342, abs=0.02)
    assert yes_block == pytest.approx(0.409, abs=0.02)
    assert yes_index < yes_block < graded
    assert abs(constant) < 0.03


# --- Real data --------------------------------------------------------------------------------------------------------


def test_face_morph_uncalibrated_calibrated_and_anchored_in_one_call(shared):
    folder = shared / "data" / "face_morph"
    ratings = read_ratings(folder / "ratings.csv.gz", criterion="category", scale=Scale(0, 4, step=1))
    answers = pd.read_csv(folder / "predictions.csv").rename(columns={"category": "criterion", "prediction": "answer"})
    found = score(answers.assign(system="morph level"), ratings, over=("item",), replicates=100)
    expected = json.loads((shared / "golden" / "real.json").read_text())["face_morph"]
    for name in ("angry", "disgusted", "fearful", "happy", "sad", "surprised"):
        (plain,) = found.select("scores", "kappa_quadratic", {"criterion": name, "calibration": "none"})
        assert plain.estimate == pytest.approx(expected[name]["prediction_vs_raters"], abs=1e-9)
        assert plain.low < plain.estimate < plain.high
        (anchor,) = found.select("anchors", "kappa_quadratic", {"criterion": name, "anchor": "pairwise"})
        assert anchor.estimate == pytest.approx(expected[name]["human_human"], abs=1e-9)
        alpha = found.value("criteria", "alpha_interval", {"criterion": name})
        assert alpha == pytest.approx(expected[name]["alpha_interval"], abs=1e-9)
        calibrated = {"criterion": name, "calibration": "rank", "fit": "held_out", "ties": "block", "target": "ratings"}
        (ranked,) = found.select("scores", "kappa_quadratic", calibrated)
        assert ranked.low < ranked.estimate < ranked.high
    everything = {"set": "all", "calibration": "none"}
    means = (
        found.value("anchors", "kappa_quadratic", {"set": "all", "anchor": "pairwise"}),
        found.value("scores", "kappa_quadratic", everything),
    )
    assert means == pytest.approx((expected["mean_human_human"], expected["mean_prediction_vs_raters"]), abs=1e-9)


def test_epitome_three_language_models_against_three_experts(shared, plain):
    frame = pd.read_csv(shared / "data" / "epitome" / "ratings.csv")
    is_expert = frame["rater"].str.startswith("expert")
    answers = frame[frame["rater"].isin(["claude", "gemini", "gpt"])]
    answers = answers.rename(columns={"rater": "system", "rating": "answer"})
    experts = read_ratings(frame[is_expert], scale=Scale(0, 2, step=1))
    found = score(answers, experts, over=("item",), replicates=100)
    for (system, name), part in answers.groupby(["system", "criterion"]):
        pairs = part.merge(frame[is_expert & (frame["criterion"] == name)], on="item")
        expected = plain.kappa(pairs["answer"], pairs["rating"])
        got = found.value("scores", "kappa_quadratic", {"system": system, "criterion": name, "calibration": "none"})
        assert got == pytest.approx(expected, abs=CLOSED)
    field = field_of(experts)
    assert (field.n_raters, len(field.criteria), field.n_items) == (3, 3, 50)
    contrasts = found.select("contrasts", "difference", {"contrast": "system", "set": "all"})
    assert len(contrasts) == 3
