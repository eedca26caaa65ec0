"""The path from answers to a score: calibration, fit set, target, ties, aggregation; one function for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from measurand.result import Key, MeasurandError
from measurand.scoring.answered import Answered, Folds
from measurand.scoring.field import Criterion
from measurand.scoring.opponents import Opponents, TargetOf
from measurand.stats.calibration import (
    TIES,
    Ordered,
    Places,
    Steps,
    Target,
    Ties,
    places,
    steps,
)
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.kappa import Moments, concordance

Calibration = Literal["none", "rank"]
Fit = Literal["oracle", "held_out"]
Aggregate = Literal["pooled", "identity"]

CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "calibration": ("none", "rank"),
    "fit": ("oracle", "held_out"),
    "target": ("ratings", "consensus"),
    "ties": TIES,
    "aggregate": ("pooled", "identity"),
}


@dataclass(frozen=True)
class Path:
    """How answers become a score. Every number of a scoring run carries its path in its keys.

    Parameters
    ----------
    calibration : {"none", "rank"}
        ``none`` takes answers as values of the scale; ``rank`` gives them the levels that their order calls for.
    fit : {"oracle", "held_out", ""}
        Where rank calibration takes its target from: the very items that are scored, or other folds.
    target : {"ratings", "consensus", ""}
        Distribution of single ratings, or of rounded means of raters.
    ties : {"block", "midrank", "index", "random", ""}
        See `measurand.stats.calibration.calibrate`.
    aggregate : {"pooled", "identity"}
        All (answer, rating) pairs of a criterion together, or kappa with each rater and then their mean.
    """

    calibration: Calibration = "rank"
    fit: Fit | Literal[""] = "held_out"
    target: TargetOf | Literal[""] = "ratings"
    ties: Ties | Literal[""] = "block"
    aggregate: Aggregate = "pooled"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value not in allowed and not (value == "" and self.calibration == "none"):
                raise MeasurandError(f"{name} {value!r}; allowed are {', '.join(allowed)}")

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of a row on this path."""
        return {
            "calibration": self.calibration,
            "fit": self.fit,
            "target": self.target,
            "ties": self.ties,
            "aggregate": self.aggregate,
        }

    def uncalibrated(self) -> Path:
        """Return the path of the same aggregation without calibration."""
        return Path("none", "", "", "", self.aggregate)

    def describe(self) -> str:
        """Return the path in words."""
        if self.calibration == "none":
            return f"uncalibrated, {self.aggregate}"
        return f"rank, {self.fit}, target {self.target}, ties {self.ties}, {self.aggregate}"


def kappa(answered: Answered, opponents: Opponents, path: Path, folds: Folds) -> FloatArray:
    """Return the quadratic kappa of answers against single ratings on a path, in every replicate.

    Parameters
    ----------
    answered : Answered
        Answers of one arm to one criterion.
    opponents : Opponents
        Ratings and what each replicate draws.
    path : Path
        The path; what it fits is fitted in every replicate anew.
    folds : Folds
        For ``fit="held_out"``.

    Returns
    -------
    ndarray, shape (n_rows,)
        The mean over repetitions of the folds; NaN where there is no answer or nothing varies.
    """
    if len(answered.present) == 0:
        return np.full(len(opponents.weights), np.nan)
    parts = _parts(answered, opponents, path, folds)
    if path.aggregate == "identity":
        scores = [_by_identity(part, opponents) for part in parts]
    else:
        scores = [concordance(_pooled(answered, part, opponents)) for part in parts]
    return np.asarray(np.mean(scores, axis=0))


def moments_on(answered: Answered, opponents: Opponents, path: Path, folds: Folds) -> list[Moments]:
    """Return the pooled moments of answers and single ratings on a path, one set for each repetition of the folds."""
    return [_pooled(answered, part, opponents) for part in _parts(answered, opponents, path, folds)]


@dataclass(frozen=True)
class _Part:
    """Answers that are scored under one fit, or under one fit for each fold.

    Parameters
    ----------
    found : Ordered
        Order and blocks of the answers.
    weights : ndarray, shape (n_rows, n_answers)
        How often each is drawn.
    steps : Steps or None
        What calibration gives each block; its rows are those of the replicates, or of replicates and folds.
    values : ndarray or None, shape (n_blocks,)
        What each block is where nothing is calibrated.
    own : Places or None
        Places of the blocks among those that are scored together, rows as in `steps`.
    fillers : ndarray of int or None
        Answers that count for nothing.
    """

    found: Ordered
    weights: IntArray
    steps: Steps | None = None
    values: FloatArray | None = None
    own: Places | None = None
    fillers: IntArray | None = None

    def products(self, amounts: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of amounts by block times level, and times squared level, (n_rows,) each."""
        if self.steps is None:
            values = np.zeros(amounts.shape[1]) if self.values is None else self.values
            return amounts @ values, amounts @ values**2
        n_rows = len(amounts)
        level, square = self.steps.sums(amounts.reshape(len(self.steps.values), -1))
        return level.reshape(n_rows, -1).sum(axis=1), square.reshape(n_rows, -1).sum(axis=1)

    def amounts(self, opponents: Opponents, what: Literal["number", "sum"]) -> FloatArray:
        """Return the number, or the sum, of the drawn ratings of each block, (n_rows, n_blocks), in a room."""
        place = 0 if what == "number" else 1
        items, room = self.found.order, opponents.room("amounts", self.weights.shape, np.float64)
        if opponents.raters is None:
            np.multiply(self.weights, opponents.sums[place][items], out=room)
        else:
            np.take(opponents.amounts[place], items, axis=1, out=room, mode="clip")
            if self.fillers is not None:
                room[:, self.fillers] = 0.0
        return self.found.by_block(room)

    def counts(self) -> tuple[FloatArray, FloatArray] | None:
        """Return sums of level and squared level over drawn answers, (n_rows,) each, from the places that are known."""
        if self.steps is None or self.own is None:
            return None
        level, square = self.steps.sums_of(self.own.high)
        n_rows = len(self.weights)
        return level.reshape(n_rows, -1).sum(axis=1), square.reshape(n_rows, -1).sum(axis=1)

    @property
    def level(self) -> FloatArray:
        """Level of each answer, shape (n_rows, n_answers)."""
        if self.steps is None:
            values = np.zeros(len(self.found.start)) if self.values is None else self.values
            return np.broadcast_to(values[self.found.block], self.weights.shape)
        return self.steps.level.reshape(len(self.weights), -1)[:, self.found.block]

    @property
    def square(self) -> FloatArray:
        """Mean squared level of each answer, shape (n_rows, n_answers)."""
        if self.steps is None:
            return self.level**2
        return self.steps.square.reshape(len(self.weights), -1)[:, self.found.block]


def _parts(answered: Answered, opponents: Opponents, path: Path, folds: Folds) -> list[_Part]:
    """Return what is scored under each fit, one part for each repetition of the folds.

    Parts live in rooms of the opponents: use them before the next call.
    """
    whole = opponents.whole
    if path.calibration == "none":
        found = answered.ordered.apart()
        weights = _taken(opponents, whole, found.order, "drawn")
        return [_Part(found, weights, values=answered.values[found.order])]
    found = answered.ordered.apart() if path.ties == "index" else answered.ordered
    weights = _taken(opponents, whole, found.order, "drawn")
    ties, of = path.ties or "block", path.target or "ratings"
    is_whole = len(found.order) == len(opponents.rated)
    everything = opponents.whole_target(of) if is_whole else opponents.target(of, found.order)
    by_block = found.by_block(weights)
    ends = opponents.room("among", by_block.shape, np.int64)
    among = places(by_block, out=ends)
    if path.fit == "oracle":
        return [_Part(found, weights, steps(among, everything, ties=ties), own=among)]
    parts = []
    for repeat, fold_of in enumerate(folds.of_item):
        at = answered.layout(fold_of, repeat, is_apart=path.ties == "index", n_folds=folds.n)
        drawn = _taken(opponents, whole, at.found.order, ("drawn", repeat))
        drawn[:, at.fillers] = 0
        n_rows = len(drawn)
        own = at.found.by_block(drawn).reshape(n_rows * folds.n, -1)
        # Places among the other folds: those among all answers, less the fold's own below and in each block.
        own_ends = opponents.room(("mine", repeat), own.shape, np.int64)
        mine = places(own, out=own_ends)
        high = _taken(opponents, ends, at.block, "high").reshape(own.shape)
        high -= own_ends
        low = high
        if found.has_ties:
            begins = np.take(ends - by_block, at.block, axis=1)
            # A filler has no width: it lies behind everything.
            begins[:, at.filler_blocks] = ends[:, [-1]]
            low = begins.reshape(own.shape) - (own_ends - own)
        left_out = opponents.left_out(of, answered, fold_of, folds.n, repeat if is_whole else None)
        counts = (everything.counts[:, None, :] - left_out).reshape(n_rows * folds.n, -1)
        total = np.repeat(among.total, folds.n) - mine.total
        given = steps(Places(low, high, total), Target(everything.levels, counts), ties=ties)
        # A fold of which nothing was drawn needs no fit; one that has no fit leaves its replicate undefined.
        idle = mine.total == 0
        given.values[idle], given.squares[idle] = 0.0, 0.0
        parts.append(_Part(at.found, drawn, given, own=mine, fillers=at.fillers))
    return parts


def _taken(opponents: Opponents, values: IntArray, columns: IntArray, name: object) -> IntArray:
    """Return columns of whole numbers, in a room of that name."""
    room = opponents.room(name, (len(values), len(columns)), np.int64)
    return np.take(values, columns, axis=1, out=room, mode="clip")


def _pooled(answered: Answered, part: _Part, opponents: Opponents) -> Moments:
    """Return the moments of all pairs of a level and a rating."""
    common = opponents.common_count
    drawn = None if common is None else part.counts()
    times = 1.0 if drawn is None or common is None else common
    x, xx = part.products(part.amounts(opponents, "number")) if drawn is None else drawn
    xy, _ = part.products(part.amounts(opponents, "sum"))
    n, y, yy = opponents.margins(answered.present)
    return Moments(n, times * x, y, times * xx, yy, xy)


def _by_identity(part: _Part, opponents: Opponents) -> FloatArray:
    """Return the mean over raters of kappa with each, raters weighted as they are drawn."""
    of, items = opponents.criterion, part.found.order
    rated, given = of.is_rated[items], of.filled[items]
    if opponents.included is not None:
        rated, given = rated * opponents.included, given * opponents.included
    weights = part.weights.astype(np.float64)
    weighted = weights * part.level
    n_answers = len(items) - (0 if part.fillers is None else len(part.fillers))
    if n_answers == len(opponents.rated) and opponents.included is None:
        n, y, yy = opponents.by_rater
    else:
        n, y, yy = weights @ rated, weights @ given, weights @ given**2
    sums = Moments(n, weighted @ rated, y, (weights * part.square) @ rated, yy, weighted @ given)
    each = concordance(sums)
    counted = ~np.isnan(each) & (sums.n >= 2)
    times = counted if opponents.raters is None else counted * opponents.raters
    n = times.sum(axis=1)
    total = (np.where(counted, each, 0.0) * times).sum(axis=1)
    return np.asarray(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))


def item_levels(
    answered: Answered, opponents: Opponents, path: Path, folds: Folds
) -> list[tuple[IntArray, FloatArray, FloatArray]]:
    """Return the value that each answer is given, for each repetition of the folds.

    Returns
    -------
    list of tuples
        Items (n_answers,), weights and values (n_rows, n_answers); values in scale units less the criterion's shift.
    """
    return [
        (part.found.order, part.weights.astype(np.float64), part.level)
        for part in _parts(answered, opponents, path, folds)
    ]


def calibrated_values(answered: Answered, criterion: Criterion, path: Path, folds: Folds) -> FloatArray:
    """Return the value that each item's answer has on a path, shape (n_items,), in scale units less the shift.

    The mean over repetitions where the calibration is held out; NaN where there is no answer.
    """
    values = np.full(len(criterion.count), np.nan)
    if len(answered.present) == 0:
        return values
    opponents = Opponents(criterion, np.ones((1, len(criterion.count))))
    repetitions = item_levels(answered, opponents, path, folds)
    values[answered.present] = 0.0
    for items, weights, level in repetitions:
        np.add.at(values, items, weights[0] * level[0] / len(repetitions))
    return values
