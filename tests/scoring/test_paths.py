import itertools
import json

import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError
from measurand.scoring.answered import Answered, Folds
from measurand.scoring.field import Draws, field_of
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import CHOICES, Path, calibrated_values, item_levels, kappa
from measurand.stats.calibration import TIES
from measurand.stats.inference import percentile_interval

CLOSED = 1e-12
FITS, TARGETS, AGGREGATES = CHOICES["fit"], CHOICES["target"], CHOICES["aggregate"]


def every_path(ties=("block", "midrank", "index")):
    ranked = [Path("rank", *choice) for choice in itertools.product(FITS, TARGETS, ties, AGGREGATES)]
    return [*ranked, *(Path("none", "", "", "", aggregate) for aggregate in AGGREGATES)]


def answered(answers, of):
    return Answered(answers - of.shift)


def on_sample(answers, of, path, folds):
    return float(kappa(answered(answers, of), Opponents(of, np.ones((1, len(answers)))), path, folds)[0])


# --- Against plain loops ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", every_path(), ids=Path.describe)
@pytest.mark.parametrize("redraws_raters", [False, True], ids=["these raters", "raters redrawn"])
def test_a_replicate_is_the_score_of_the_repeated_items_and_raters(make, plain, path, redraws_raters):
    """P39: point and interval described two statistics; row 0 is the score, a replicate the same loop over copies."""
    for seed, missing in ((0, 0.0), (1, 0.4)):
        ratings, answers = make.panel(seed=seed, missing=missing)
        answers[[2, 7]] = np.nan
        of = make.criterion(ratings)
        fold_of = np.random.default_rng(seed).permutation(np.arange(12) % 3)
        folds = make.folds(fold_of)
        items, raters = make.draws(12, 4, seed=seed)
        opponents = Opponents(of, items, raters if redraws_raters else None)
        found = kappa(answered(answers, of), opponents, path, folds)
        for row in range(len(items)):
            drawn = raters[row] if redraws_raters else np.ones(4)
            expected = plain.score(answers, ratings, items=items[row], raters=drawn, path=path, fold_of=fold_of)
            np.testing.assert_allclose(found[row], expected, atol=CLOSED, rtol=0)


def test_held_out_scores_are_the_mean_over_repetitions_of_the_folds(make):
    ratings, answers = make.panel(n_items=20)
    of = make.criterion(ratings)
    rng = np.random.default_rng(0)
    dealt = [rng.permutation(np.arange(20) % 4) for _ in range(3)]
    for aggregate in AGGREGATES:
        path = Path("rank", "held_out", "ratings", "block", aggregate)
        each = [on_sample(answers, of, path, make.folds(one)) for one in dealt]
        assert len(set(each)) > 1
        assert on_sample(answers, of, path, make.folds(*dealt)) == pytest.approx(np.mean(each), abs=CLOSED)


def test_calibrated_values_are_the_levels_of_the_plain_loop(make, plain):
    ratings, answers = make.panel(missing=0.3)
    answers[4] = np.nan
    of, fold_of = make.criterion(ratings), np.arange(12) % 3
    for path in every_path():
        found = calibrated_values(answered(answers, of), of, path, make.folds(fold_of)) + of.shift
        expected = plain.levels(
            answers, ratings, items=np.ones(12, dtype=int), raters=np.ones(4, dtype=int), path=path, fold_of=fold_of
        )
        assert np.isnan(found[4])
        np.testing.assert_allclose(np.delete(found, 4), [np.mean(one) for one in expected.values()], atol=CLOSED)


def test_random_ties_are_the_mean_over_all_orders_where_items_have_equally_many_ratings(make):
    ratings, _ = make.panel(n_items=6, n_raters=3)
    answers = np.array([1.0, 0, 1, 1, 0, 2])
    of = make.criterion(ratings)
    random, index = (Path("rank", "oracle", "ratings", ties) for ties in ("random", "index"))
    found = []
    for order in itertools.permutations(range(6)):
        place = list(order)
        found.append(on_sample(answers[place], make.criterion(ratings[place]), index, make.folds(np.arange(6) % 2)))
    assert on_sample(answers, of, random, make.folds(np.arange(6) % 2)) == pytest.approx(np.mean(found), abs=CLOSED)


def test_random_orders_converge_to_the_random_rule(make):
    ratings, answers = make.panel(n_items=40, missing=0.3)
    answers = np.floor(answers / 2)
    folds, rng = make.folds(np.arange(40) % 2), np.random.default_rng(0)
    random, index = (Path("rank", "oracle", "ratings", ties) for ties in ("random", "index"))
    found = []
    for _ in range(800):
        place = rng.permutation(40)
        found.append(on_sample(answers[place], make.criterion(ratings[place]), index, folds))
    expected = on_sample(answers, make.criterion(ratings), random, folds)
    # Where items have unequal numbers of ratings the rule is the ratio of expectations: off by less than .001.
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(800) + 1e-3)


def test_a_rater_with_a_single_item_says_nothing_by_identity(make, plain):
    """One pair of different values has kappa 0: it would pull the mean down."""
    ratings, answers = make.panel()
    guest = np.full((12, 1), np.nan)
    guest[4] = 7
    answers[4] = 0
    for path in every_path():
        if path.aggregate == "identity" and path.fit != "held_out" and path.ties != "index":
            found = on_sample(answers, make.criterion(np.hstack([ratings, guest])), path, None)
            expected = plain.score(
                answers, np.hstack([ratings, guest]), items=np.ones(12), raters=np.ones(5), path=path
            )
            assert found == pytest.approx(expected, abs=CLOSED)


# --- What changes nothing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", every_path(TIES), ids=Path.describe)
def test_neither_items_nor_raters_in_another_order_nor_a_rising_transform_change_a_score(make, path):
    ratings, answers = make.panel(n_items=15, missing=0.3, seed=3)
    if path.ties == "index":  # position breaks ties there, and that is why it is not the default
        answers = answers + np.linspace(0, 0.5, 15)
    of, fold_of = make.criterion(ratings), np.arange(15) % 3
    expected = on_sample(answers, of, path, make.folds(fold_of))
    place = np.random.default_rng(0).permutation(15)
    moved = make.criterion(ratings[place][:, [2, 0, 3, 1]])
    found = on_sample(answers[place], moved, path, make.folds(fold_of[place]))
    assert found == pytest.approx(expected, abs=CLOSED)
    if path.calibration == "rank":
        for transformed in (np.exp(answers), 5 * answers - 300):
            assert on_sample(transformed, of, path, make.folds(fold_of)) == pytest.approx(expected, abs=CLOSED)


@pytest.mark.parametrize("ties", ["block", "midrank"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_a_constant_answer_scores_exactly_0(make, ties, aggregate):
    """A constant that is calibrated by index scored .0084: noise of the order of ties."""
    ratings, _ = make.panel(n_items=30, missing=0.4)
    of = make.criterion(ratings)
    items, raters = make.draws(30, 4, n_rows=50)
    for target in TARGETS:
        path = Path("rank", "oracle", target, ties, aggregate)
        for drawn in (None, raters):
            found = kappa(Answered(np.full(30, 0.3)), Opponents(of, items, drawn), path, make.folds(np.arange(30) % 3))
            np.testing.assert_allclose(found[~np.isnan(found)], 0, atol=1e-14)
            assert found[0] == pytest.approx(0, abs=1e-14)


def test_an_item_without_an_answer_is_left_out_as_if_it_were_not_there(make):
    ratings, answers = make.panel(n_items=14)
    fold_of = np.arange(14) % 3
    lacking = answers.copy()
    lacking[[0, 5, 13]] = np.nan
    kept = ~np.isnan(lacking)
    for path in every_path(TIES):
        found = on_sample(lacking, make.criterion(ratings), path, make.folds(fold_of))
        expected = on_sample(answers[kept], make.criterion(ratings[kept]), path, make.folds(fold_of[kept]))
        assert found == pytest.approx(expected, abs=CLOSED)


def test_no_answers_are_undefined_in_every_replicate(make):
    ratings, _ = make.panel()
    of = make.criterion(ratings)
    for path in every_path(TIES):
        found = kappa(
            Answered(np.full(12, np.nan)), Opponents(of, np.ones((3, 12))), path, make.folds(np.arange(12) % 3)
        )
        assert found.shape == (3,)
        assert np.isnan(found).all()


def test_a_scale_that_is_wider_than_the_ratings_changes_no_score(make):
    """P20, P21: levels were inferred from the sample, and an unused one biased kappa."""
    ratings, answers = make.panel(high=4)
    for path in every_path(TIES):
        folds = make.folds(np.arange(12) % 3)
        narrow = on_sample(answers, make.criterion(ratings, scale=Scale(0, 4, step=1)), path, folds)
        wide = on_sample(answers, make.criterion(ratings, scale=Scale(0, 90, step=1)), path, folds)
        assert narrow == pytest.approx(wide, abs=CLOSED)


def test_levels_with_a_gap_are_levels_as_they_are(make, plain):
    """P19: kappa crashed on levels that are not contiguous."""
    ratings, answers = make.panel()
    gaps = np.array([0.0, 1, 2, 30, 40, 41, 60, 61])[ratings.astype(int)]
    path = Path("rank", "oracle", "ratings", "block")
    found = on_sample(answers, make.criterion(gaps, scale=Scale(0, 61)), path, make.folds(np.arange(12) % 3))
    expected = plain.score(answers, gaps, items=np.ones(12), raters=np.ones(4), path=path)
    assert found == pytest.approx(expected, abs=CLOSED)


def test_a_level_that_a_fold_lacks_is_not_lost_from_the_score(make, plain):
    """P40: a class that is missing in a fold or a resample changed what was averaged."""
    ratings, answers = make.panel(n_items=9)
    ratings[:, :] = np.clip(ratings, 1, 3)
    ratings[0] = 7
    fold_of = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    items = np.array([[1.0] * 9, [0, 2, 1, 1, 1, 1, 1, 1, 1], [3, 0, 0, 0, 2, 1, 1, 1, 1]])
    of = make.criterion(ratings)
    for path in every_path():
        found = kappa(answered(answers, of), Opponents(of, items), path, make.folds(fold_of))
        expected = [
            plain.score(answers, ratings, items=w, raters=np.ones(4), path=path, fold_of=fold_of) for w in items
        ]
        np.testing.assert_allclose(found, expected, atol=CLOSED)


def test_a_replicate_without_anything_to_fit_to_is_undefined(make):
    ratings, answers = make.panel(n_items=6)
    of = make.criterion(ratings)
    items = np.array([[1.0] * 6, [3, 3, 0, 0, 0, 0]])
    path = Path("rank", "held_out", "ratings", "block")
    found = kappa(answered(answers, of), Opponents(of, items), path, make.folds([0, 0, 1, 1, 2, 2]))
    assert np.isnan(found).tolist() == [False, True]


# --- Folds and choices ------------------------------------------------------------------------------------------------


def test_folds_keep_groups_together_and_are_nearly_equal():
    group = np.repeat(np.arange(11), 3)
    folds = Folds.drawn(group, n=4, repeats=5, rng=np.random.default_rng(0))
    assert folds.of_item.shape == (5, 33)
    for dealt in folds.of_item:
        assert all(len(set(dealt[group == one])) == 1 for one in range(11))
        sizes = np.bincount(dealt[::3], minlength=4)
        assert sizes.max() - sizes.min() <= 1


def test_levels_fold_by_fold_have_the_weights_of_the_draw(make):
    ratings, answers = make.panel()
    of = make.criterion(ratings)
    items, _ = make.draws(12, 4)
    path = Path("rank", "held_out", "ratings", "block")
    ((where, weights, _),) = item_levels(
        answered(answers, of), Opponents(of, items), path, make.folds(np.arange(12) % 5)
    )
    for row in range(len(items)):
        assert np.bincount(where, weights=weights[row], minlength=12).tolist() == items[row].tolist()


@pytest.mark.parametrize(
    ("choice", "value"),
    [("calibration", "isotonic"), ("fit", "train"), ("target", "median"), ("ties", "first"), ("aggregate", "mean")],
)
def test_an_unknown_choice_is_refused_with_those_allowed(choice, value):
    with pytest.raises(MeasurandError, match=rf"{choice} '{value}'; allowed are {', '.join(CHOICES[choice])}"):
        Path(**{choice: value})
    with pytest.raises(MeasurandError, match="fit ''"):
        Path("rank", fit="")


# --- The published calibration ----------------------------------------------------------------------------------------


@pytest.fixture
def golden(shared):
    frame = pd.read_csv(shared / "golden" / "rank_calibration.csv")
    raters = [f"R{r}" for r in range(1, 6)]
    long = frame.melt(["category", "image"], raters, "rater", "rating")
    ratings = read_ratings(long, item="image", criterion="category", scale=Scale(0, 7, step=1))
    field = field_of(ratings)
    scores = frame.pivot(index="image", columns="category", values="score").reindex(field.items)
    given = [answered(scores[of.name].to_numpy(), of) for of in field.criteria]
    return field, given, json.loads((shared / "golden" / "rank_calibration.json").read_text())


def published(aggregate="identity"):
    return Path("rank", "oracle", "ratings", "midrank", aggregate)


def test_labels_of_the_published_rank_calibration(golden):
    field, given, expected = golden
    for one, of in zip(given, field.criteria, strict=True):
        found = (
            calibrated_values(one, of, published(), Folds(np.zeros((1, field.n_items), dtype=np.int64), 2)) + of.shift
        )
        assert found.tolist() == expected["calibrated"][of.name]


def test_kappa_of_the_published_rank_calibration(golden):
    field, given, expected = golden
    folds, ones = Folds(np.zeros((1, field.n_items), dtype=np.int64), 2), np.ones((1, field.n_items))
    both = {
        how: np.mean(
            [
                kappa(x, Opponents(of, ones), published(how), folds)[0]
                for x, of in zip(given, field.criteria, strict=True)
            ]
        )
        for how in AGGREGATES
    }
    assert both["identity"] == pytest.approx(expected["mean_qwk"], abs=CLOSED)
    assert both["identity"] == pytest.approx(0.5413, abs=5e-5)
    assert both["pooled"] == pytest.approx(0.54146, abs=5e-6)


def test_the_interval_refits_the_calibration_and_the_frozen_one_is_narrower(golden):
    """P39: a frozen calibration leaves its own error out of the interval."""
    field, given, expected = golden
    folds = Folds(np.zeros((1, field.n_items), dtype=np.int64), 2)
    frozen = [
        Answered(calibrated_values(x, of, published(), folds)) for x, of in zip(given, field.criteria, strict=True)
    ]
    series = {"refit": [], "frozen": []}
    for _, weights, _ in Draws(field, "item", 4000, 1).blocks():
        for name, answers, path in (("refit", given, published()), ("frozen", frozen, published().uncalibrated())):
            each = [
                kappa(x, Opponents(of, weights), path, folds) for x, of in zip(answers, field.criteria, strict=True)
            ]
            series[name].append(np.mean(each, axis=0))
    ends = {name: percentile_interval(np.concatenate(parts)[1:], confidence=0.95) for name, parts in series.items()}
    assert ends["refit"][:2] == pytest.approx(expected["ci95_refit"], abs=0.006)
    assert ends["frozen"][:2] == pytest.approx(expected["ci95_norefit"], abs=0.006)
    assert ends["frozen"].high - ends["frozen"].low < ends["refit"].high - ends["refit"].low
