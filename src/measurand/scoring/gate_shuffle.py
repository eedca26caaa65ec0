"""What answers would score if they were given to other items: the score beside its distribution under shuffling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_study import Human, Study
from measurand.stats.calibration import Target, calibrate, ordered
from measurand.stats.classes import choose
from measurand.stats.inference import FloatArray, IntArray, stream
from measurand.stats.kappa import Moments, concordance

#: Rounding up to which a shuffled score equals the score itself.
_DUST: Final = 1e-12
#: With fewer items nothing is scored.
FEWEST_ITEMS: Final = 5


@dataclass(frozen=True)
class Shuffled:
    """A score, the scores of shuffled answers, and how it was measured.

    `p_above` is the chance that shuffled answers score as much or more, `p_below` as little or less.
    """

    statistic: str
    score: float
    draws: FloatArray
    n_items: int
    note: str

    @property
    def p_above(self) -> float:
        """(1 + hits) / (1 + draws) for a score that exceeds shuffled ones."""
        return float((1 + (self.draws >= self.score - _DUST).sum()) / (1 + len(self.draws)))

    @property
    def p_below(self) -> float:
        """(1 + hits) / (1 + draws) for a score that falls below shuffled ones."""
        return float((1 + (self.draws <= self.score + _DUST).sum()) / (1 + len(self.draws)))

    @property
    def attainable_p(self) -> float:
        """The smallest p that this many shuffles can give."""
        return 1 / (1 + len(self.draws))


def shuffled(study: Study, arm: Arm) -> Shuffled | str:
    """Return an arm's score and its scores with whole answer vectors moved to other items.

    The score is the mean over criteria of quadratic kappa against all single ratings after rank calibration to their
    distribution (fitted to these very items, tied answers sharing the mean of their levels), or accuracy where there
    are labels and no ratings. Moving answers leaves the calibration as it is. Or the reason why there is none.
    """
    if study.human is not None and not study.are_labels:
        return _against_ratings(study, arm, study.human)
    if study.truth is not None and (study.are_labels or study.has_forced_choice):
        return _against_labels(study, arm, study.truth)
    if study.human is not None:
        return "its answers are names of classes, which ratings cannot be held against, and no labels are given"
    return "neither ratings nor labels are given"


def _permutations(study: Study, n: int) -> list[IntArray]:
    # One stream for all arms: arms that answered the same items are shuffled alike.
    rng = stream(study.seed, "gates", "shuffle")
    return [rng.permutation(n) for _ in range(study.permutations)]


def labelled(study: Study, arm: Arm, truth: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the items that an arm was asked about and that have a label, and the share of each class in its choice."""
    classes = study.names[: study.n_classes]
    if study.are_labels:
        items = np.flatnonzero(arm.is_asked[:, 0] & (truth >= 0))
        chosen = np.nan_to_num(arm.answer[items, 0], nan=-1.0)
        membership = (chosen[:, None] == np.arange(len(classes))[None, :]).astype(float)
    else:
        column = {name: i for i, name in enumerate(study.criteria)}
        asked = [i for i, name in enumerate(classes) if name in column and arm.is_asked[:, column[name]].any()]
        scores = arm.graded()[:, [column[classes[i]] for i in asked]]
        # A class that was never asked is another protocol: its items are not this arm's.
        items = np.flatnonzero(arm.is_asked.any(axis=1) & np.isin(truth, asked))
        membership = np.zeros((len(items), len(classes)))
        if len(asked) > 1 and len(items):
            membership[:, asked] = choose(scores[items]).membership
    return items.astype(np.int64), membership


def _against_labels(study: Study, arm: Arm, truth: IntArray) -> Shuffled | str:
    items, membership = labelled(study, arm, truth)
    if len(items) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items have an answer and a label"
    label = truth[items]
    rows = np.arange(len(items))
    score = float(membership[rows, label].mean())
    draws = np.array([membership[order, label].mean() for order in _permutations(study, len(items))])
    return Shuffled("accuracy", score, draws, len(items), "unanswered is wrong, shared choices count by their share")


def _against_ratings(study: Study, arm: Arm, human: Human) -> Shuffled | str:
    is_rated = np.zeros(len(study.items), dtype=bool)
    is_rated[human.item] = True
    rated_criteria = np.unique(human.criterion)
    answered = arm.is_answered
    items = np.flatnonzero(is_rated & answered[:, rated_criteria].any(axis=1))
    if len(items) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items have an answer and a rating"
    criteria = [c for c in rated_criteria if answered[items, c].any()]
    sums = rating_sums(human, items, criteria, len(study.items))
    values = arm.graded()
    level = np.zeros((len(items), len(criteria)))
    for column, criterion in enumerate(criteria):
        known = answered[items, criterion]
        level[known, column] = _calibrated(values[items[known], criterion], human, criterion)
    level -= sums.centre * answered[np.ix_(items, criteria)]
    pairs = _Pairs(level, answered[np.ix_(items, criteria)].astype(float), sums)
    kappa = concordance(pairs.moments(None))
    defined = ~np.isnan(kappa)
    if not defined.any():
        return "neither its answers nor the ratings vary in any criterion"
    draws = np.array([_mean(concordance(pairs.moments(order))[defined]) for order in _permutations(study, len(items))])
    note = f"mean over {int(defined.sum())} criteria; rank-calibrated, fit oracle, target ratings, ties block"
    return Shuffled("kappa_quadratic", float(kappa[defined].mean()), draws, len(items), note)


def _mean(kappa: FloatArray) -> float:
    # With answers missing a shuffle can leave a criterion without a pair; it then has no part in that shuffle's mean.
    defined = ~np.isnan(kappa)
    return float(kappa[defined].mean()) if defined.any() else 0.0


def _calibrated(answers: FloatArray, human: Human, criterion: int) -> FloatArray:
    """Return the level of each answer; the target holds all ratings, whoever's answers are scored."""
    levels, counts = np.unique(human.rating[human.criterion == criterion], return_counts=True)
    order = ordered(answers)
    blocks = order.by_block(np.ones((1, len(answers))))
    by_block = calibrate(blocks, Target(levels, counts[None, :].astype(float)), ties="block").level[0]
    out = np.empty(len(answers))
    out[order.order] = by_block[order.block]
    return out


@dataclass(frozen=True)
class RatingSums:
    """Number, sum and sum of squares of the ratings of each item and criterion, around each criterion's mean."""

    n: FloatArray
    total: FloatArray
    square: FloatArray
    centre: FloatArray


def rating_sums(human: Human, items: IntArray, criteria: list[int], n_items: int) -> RatingSums:
    """Return what kappa needs of the ratings of some items, shape (n_items, n_criteria)."""
    row = np.full(n_items, -1, dtype=np.int64)
    row[items] = np.arange(len(items))
    column = np.full(max(human.criterion.max(), max(criteria)) + 1, -1, dtype=np.int64)
    column[criteria] = np.arange(len(criteria))
    keep = (row[human.item] >= 0) & (column[human.criterion] >= 0)
    width = len(criteria)
    at = column[human.criterion[keep]]
    cell = row[human.item[keep]] * width + at
    rating = human.rating[keep]
    counts = np.bincount(at, minlength=width)
    centre = np.bincount(at, weights=rating, minlength=width) / np.maximum(counts, 1)
    around = rating - centre[at]
    size = len(items) * width

    def table(weights: FloatArray | None) -> FloatArray:
        return np.bincount(cell, weights=weights, minlength=size).reshape(-1, width).astype(float)

    return RatingSums(table(None), table(around), table(around**2), centre)


class _Pairs:
    """Moments of the pairs that answers form with the ratings of whatever items they are given to.

    Sums that no order of the answers can change are made once: those of answers alone where every item has the same
    number of ratings, those of ratings alone where every item is answered.
    """

    def __init__(self, level: FloatArray, answered: FloatArray, ratings: RatingSums) -> None:
        self._level, self._answered, self._ratings = level, answered, ratings
        self._square = level**2
        self._fixed = self._all(level, answered, self._square)
        self._answers_fixed = bool((ratings.n == ratings.n[0]).all())
        self._ratings_fixed = bool(answered.all())

    def moments(self, order: IntArray | None) -> Moments:
        """Return the moments with item i given the answers of item order[i]; None leaves them where they are."""
        if order is None:
            return self._fixed
        level = self._level[order]
        xy = _summed(level, self._ratings.total)
        n, x, y, xx, yy, _ = self._fixed
        if not self._answers_fixed:
            x, xx = _summed(level, self._ratings.n), _summed(self._square[order], self._ratings.n)
        if not self._ratings_fixed:
            answered = self._answered[order]
            y, yy = _summed(answered, self._ratings.total), _summed(answered, self._ratings.square)
            if not self._answers_fixed:
                n = _summed(answered, self._ratings.n)
        return Moments(n, x, y, xx, yy, xy)

    def _all(self, level: FloatArray, answered: FloatArray, square: FloatArray) -> Moments:
        of = self._ratings
        return Moments(
            _summed(answered, of.n),
            _summed(level, of.n),
            _summed(answered, of.total),
            _summed(square, of.n),
            _summed(answered, of.square),
            _summed(level, of.total),
        )


def _summed(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ic,ic->c", a, b))
