"""Small fields, and plain loops over drawn copies of items and raters that say what the fast code must give."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers, read_ratings
from measurand.scoring.answered import Folds
from measurand.scoring.field import Criterion
from measurand.scoring.prepare import Choices, compute, lay_out

SCALE = Scale(0, 7, step=1)


def criterion(ratings, *, scale=SCALE, name=""):
    """Return a criterion from ratings in scale units, (n_items, n_raters), NaN where there is none."""
    ratings = np.asarray(ratings, dtype=float)
    shift = float(np.rint(np.nanmean(ratings)))
    return Criterion(name, ratings - shift, shift, scale)


def panel(n_items=12, n_raters=4, *, seed=0, missing=0.0, high=7):
    """Return correlated whole ratings and graded answers with ties; every item keeps a rating."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(high / 2 - 1, high / 4, n_items)
    noise = rng.normal(0, high / 6, (n_items, n_raters)) + rng.normal(0, 0.5, n_raters)
    ratings = np.clip(np.rint(truth[:, None] + noise), 0, high)
    lost = rng.random(ratings.shape) < missing
    lost[np.arange(n_items), rng.integers(0, n_raters, n_items)] = False
    ratings[lost] = np.nan
    answers = np.round(truth + rng.normal(0, 1, n_items))
    return ratings, answers


def draws(n_items, n_raters, *, seed=0, n_rows=3):
    """Return item and rater weights: the sample, then replicates."""
    rng = np.random.default_rng(seed)
    items = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=n_rows)
    raters = rng.multinomial(n_raters, np.full(n_raters, 1 / n_raters), size=n_rows)
    items[0], raters[0] = 1, 1
    return items.astype(float), raters.astype(float)


def long(ratings, *, criterion=None):
    """Return the ratings table of an array of items by raters."""
    item, rater = np.nonzero(~np.isnan(ratings))
    frame = pd.DataFrame({"item": [f"i{i:03d}" for i in item], "rater": [f"R{r}" for r in rater]})
    if criterion is not None:
        frame["criterion"] = criterion
    return frame.assign(rating=ratings[item, rater])


def answers_of(values, system="S", **columns):
    """Return the answers table of one arm to one criterion; NaN leaves the answer blank."""
    frame = pd.DataFrame({"system": system, "item": [f"i{i:03d}" for i in range(len(values))], "answer": values})
    return frame.assign(**columns)


def lin(x, y):
    """Return quadratic kappa of plain pairs as Lin's concordance."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(x) == 0:
        return np.nan
    below = x.var() + y.var() + (x.mean() - y.mean()) ** 2
    return np.nan if below < 1e-20 else 2 * ((x - x.mean()) * (y - y.mean())).mean() / below


def rounded(value, high=7):
    return float(np.clip(np.rint(np.round(value, 9)), 0, high))


def given_level(value, fitted, target, ties, *, copy=None):
    """Return what calibration gives one answer, from all fitted answers and all ratings of the target, one by one.

    `copy` is which one of several copies of an item it is, where each has a place of its own; a place that two levels
    share is then split between them.
    """
    n, target = len(fitted), sorted(target)
    low, high = int((fitted < value).sum()), int((fitted <= value).sum())
    if copy is not None and high > low:
        low, high = low + copy, low + copy + 1

    def at(place):
        """The level at a place of n, 0 the lowest there is."""
        position = int(np.ceil(Fraction(place) * len(target) / n)) - 1
        return target[min(max(position, 0), len(target) - 1)]

    if ties == "midrank":
        return [at(Fraction(low + high, 2))]
    if low == high:
        return [(at(low) + at(low + Fraction(1, 10**6))) / 2]
    # On a grid on which all edges lie, the mean over a block is a plain mean.
    pieces = [at(low + Fraction(2 * k + 1, 2 * len(target))) for k in range((high - low) * len(target))]
    return pieces if copy is not None else [float(np.mean(pieces))]


def levels(answers, ratings, *, items, raters, path, fold_of=None):
    """Return the levels of every answered item's copies in a replicate."""
    there = np.flatnonzero(~np.isnan(answers))
    if path.calibration == "none":
        return {i: [answers[i]] * items[i] for i in there}
    by = answers
    if path.ties == "index":
        by = np.full(len(answers), np.nan)
        by[there[np.argsort(answers[there], kind="stable")]] = np.arange(len(there))

    def asked_of(item):
        given = [ratings[item, r] for r, times in enumerate(raters) for _ in range(times) if ratings[item, r] >= 0]
        return given if path.target == "ratings" or not given else [rounded(np.mean(given))]

    out = {}
    for item in there:
        is_fit = [j for j in there if path.fit == "oracle" or fold_of[j] != fold_of[item]]
        fitted = np.repeat(by[is_fit], items[is_fit])
        target = [level for j in is_fit for _ in range(items[j]) for level in asked_of(j)]
        out[item] = []
        for copy in range(items[item]):
            place = copy if path.ties == "index" else None
            out[item] += (
                given_level(by[item], fitted, target, path.ties, copy=place) if len(fitted) and target else [np.nan]
            )
    return out


def score(answers, ratings, *, items, raters, path, fold_of=None, against=None):
    """Return the kappa of answers in a replicate by a loop over copies."""
    items, raters = items.astype(int), raters.astype(int)
    level = levels(answers, ratings, items=items, raters=raters, path=path, fold_of=fold_of)
    by_rater = {}
    for rater, times in enumerate(raters):
        if against is not None and rater not in against:
            continue
        pairs = [(one, ratings[i, rater]) for i in level for one in level[i] if ratings[i, rater] >= 0]
        by_rater[rater] = pairs, times
    return aggregated(by_rater, path.aggregate)


def aggregated(by_rater, aggregate):
    """Return pooled kappa, or the mean over copies of raters of kappa with each."""
    if aggregate == "pooled":
        pairs = [pair for pairs, times in by_rater.values() for _ in range(times) for pair in pairs]
        return lin(*zip(*pairs, strict=True)) if pairs else np.nan
    found = []
    for pairs, times in by_rater.values():
        each = lin(*zip(*pairs, strict=True)) if len(pairs) >= 2 else np.nan
        found += [each] * times
    return float(np.nanmean(found)) if not np.isnan(found).all() else np.nan


@pytest.fixture
def make():
    """Small fields, draws and tables."""

    def folds(*of_item):
        dealt = np.array(of_item, dtype=np.int64)
        return Folds(dealt, int(dealt.max()) + 1)

    return SimpleNamespace(
        criterion=criterion, panel=panel, draws=draws, folds=folds, long=long, answers=answers_of, scale=SCALE
    )


@pytest.fixture
def plain():
    """Loops over copies."""
    return SimpleNamespace(kappa=lin, levels=levels, score=score, aggregated=aggregated, rounded=rounded)


def benchmark(*, n_items=24, n_criteria=2, n_raters=4, systems=("A", "B"), missing=0.0, seed=0):
    """Return ratings and answers of several systems to several criteria, agreement falling from one to the next."""
    rng = np.random.default_rng(seed)
    rated, said = [], []
    for c in range(n_criteria):
        truth = rng.normal(3, 1.5, n_items)
        ratings = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.6 + c, (n_items, n_raters))), 0, 7)
        lost = rng.random(ratings.shape) < missing
        lost[:, :2] = False
        rated.append(long(np.where(lost, np.nan, ratings), criterion=f"c{c}"))
        for k, system in enumerate(systems):
            answers = np.clip(np.round(truth + rng.normal(0, 0.6 + 0.4 * k, n_items), 1), 0, 7)
            said.append(answers_of(answers, system, criterion=f"c{c}"))
    return pd.concat(said, ignore_index=True), pd.concat(rated, ignore_index=True)


def computed(answers, ratings, *, scale=SCALE, items=None, excluded=None, **chosen):
    """Return the run that `score` would make rows of."""
    default = {
        "statistics": ("kappa_quadratic",),
        "calibrate": ("rank",),
        "fit": "held_out",
        "target": "ratings",
        "ties": "block",
        "aggregate": "pooled",
        "anchors": (),
        "baselines": (),
        "over": ("item",),
        "replicates": 100,
        "reliable": 0.3,
        "folds": 3,
        "fold_repeats": 2,
        "positive": "any",
        "margin": None,
        "epsilon": 0.1,
        "confidence": 0.95,
        "seed": 0,
    }
    choices = Choices(**(default | chosen))
    laid = lay_out(read_answers(answers), read_ratings(ratings, scale=scale), choices, items=items)
    return compute(laid, choices, excluded=excluded or {}, progress=None)[0]


@pytest.fixture
def runs():
    """Small benchmarks and the runs on them."""
    return SimpleNamespace(benchmark=benchmark, computed=computed)
