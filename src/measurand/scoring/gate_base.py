"""How far a control that was trained scores from the model that it was trained on, item by item."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.result import Row
from measurand.scoring.gate_arms import Arm, BoolArray
from measurand.scoring.gate_judgement import described
from measurand.scoring.gate_shuffle import FEWEST_ITEMS, RatingSums, labelled, rating_sums
from measurand.scoring.gate_study import Human, Study
from measurand.sentences import joined
from measurand.stats.calibration import Ordered, Target, calibrate, ordered
from measurand.stats.inference import FloatArray, IntArray, bootstrap, clusters, percentile_interval, stream
from measurand.stats.kappa import Moments, concordance

#: The statistic of a trained control less its base.
MINUS_BASE: Final = "minus_base"


def minus_base(gate: str, study: Study, arm: Arm, base: Arm | None) -> Row:
    """Return what a trained control scores less its base on the questions that both answered, with its interval.

    The scores are those of the gate: quadratic kappa after rank calibration to all ratings, mean over criteria, or
    accuracy where there are labels and no ratings. Items, or their groups, are redrawn, and answers calibrated anew.

    Parameters
    ----------
    gate : str
        Whose row it is.
    study : Study
        What was answered.
    arm : Arm
        An arm of a trained control.
    base : Arm or None
        The arm of its base under the same protocol, None where there is none.
    """
    name = "" if arm.trained is None else arm.trained.base
    if base is None:
        return described(gate, arm, MINUS_BASE, math.nan, undefined=f"its base {name} has no arm under this protocol")
    if study.human is not None and not study.are_labels:
        found = _against_ratings(study, arm, base, study.human)
    elif study.truth is not None and (study.are_labels or study.has_forced_choice):
        found = _against_labels(study, arm, base, study.truth)
    else:
        return described(gate, arm, MINUS_BASE, math.nan, undefined="there is nothing to score both against")
    if isinstance(found, str):
        return described(gate, arm, MINUS_BASE, math.nan, undefined=found)
    drawn = clusters(study.cluster[found.items], np.arange(len(found.items)), len(found.items))
    estimate = float(found.difference(drawn.weights())[0])
    if math.isnan(estimate):
        why = "in no criterion do answers or ratings vary"
        return described(gate, arm, MINUS_BASE, math.nan, n_items=len(found.items), undefined=why)
    rng = stream(study.seed, "gates", gate, *(str(value) for value in arm.keys.values()))
    draws = bootstrap(found.difference, drawn, n_replicates=study.replicates, rng=rng)
    interval = percentile_interval(draws, confidence=study.confidence)
    keys = {"gate": gate, **arm.keys}
    note = f"{found.statistic} less that of {name}; {found.note}"
    if math.isnan(interval.low):
        note = joined(note, "no interval: no replicate is defined")
        return Row("gates", keys, MINUS_BASE, estimate, n_items=len(found.items), note=note)
    if interval.undefined_share:
        note = joined(note, f"{100 * interval.undefined_share:.3g} % of the replicates are undefined and left out")
    return Row(
        "gates",
        keys,
        MINUS_BASE,
        estimate,
        interval.low,
        interval.high,
        study.confidence,
        "percentile bootstrap, paired",
        study.unit,
        n_items=len(found.items),
        note=note,
    )


@dataclass(frozen=True)
class _Paired:
    """The items that two arms share, and the difference of their scores by weights of those, (n_rows, n_items)."""

    statistic: str
    items: IntArray
    difference: Callable[[FloatArray], FloatArray]
    note: str


def _against_labels(study: Study, arm: Arm, base: Arm, truth: IntArray) -> _Paired | str:
    right = []
    for one in (arm, base):
        items, membership = labelled(study, one, truth)
        of_item = np.full(len(study.items), np.nan)
        of_item[items] = membership[np.arange(len(items)), truth[items]]
        right.append(of_item)
    differences = right[0] - right[1]
    items = np.flatnonzero(~np.isnan(differences)).astype(np.int64)
    if len(items) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items with a label were asked of both"

    def difference(weights: FloatArray) -> FloatArray:
        return np.asarray(weights @ differences[items] / weights.sum(axis=1))

    return _Paired("accuracy", items, difference, "unanswered is wrong")


def _against_ratings(study: Study, arm: Arm, base: Arm, human: Human) -> _Paired | str:
    is_rated = np.zeros((len(study.items), len(study.criteria)), dtype=bool)
    is_rated[human.item, human.criterion] = True
    both = arm.is_answered & base.is_answered & is_rated
    items = np.flatnonzero(both.any(axis=1)).astype(np.int64)
    if len(items) < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items have answers of both and a rating"
    criteria = np.flatnonzero(both.any(axis=0)).tolist()
    sums = rating_sums(human, items, criteria, len(study.items))
    pairs = [_Criterion(human, (arm, base), items, c, i, sums, both) for i, c in enumerate(criteria)]

    def difference(weights: FloatArray) -> FloatArray:
        found = np.column_stack([one.difference(weights) for one in pairs])
        # A criterion that a replicate leaves without variation has no part in that replicate's mean.
        defined = ~np.isnan(found)
        n = defined.sum(axis=1)
        total = np.where(defined, found, 0.0).sum(axis=1)
        return np.asarray(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))

    note = f"mean over {len(criteria)} criteria; rank-calibrated anew in every replicate, fit oracle, target ratings"
    return _Paired("kappa_quadratic", items, difference, note)


class _Criterion:
    """Two arms' answers to one criterion and the ratings of the same items."""

    def __init__(
        self,
        human: Human,
        arms: tuple[Arm, Arm],
        items: IntArray,
        criterion: int,
        column: int,
        sums: RatingSums,
        both: BoolArray,
    ) -> None:
        self._place = np.flatnonzero(both[items, criterion])
        at = items[self._place]
        self._n, self._total, self._square = (of[self._place, column] for of in (sums.n, sums.total, sums.square))
        self._centre = float(sums.centre[column])
        levels, counts = np.unique(human.rating[human.criterion == criterion], return_counts=True)
        self._target = Target(levels, counts[None, :].astype(float))
        self._ordered: list[Ordered] = [ordered(one.graded()[at, criterion]) for one in arms]

    def difference(self, weights: FloatArray) -> FloatArray:
        """Return kappa of the first less that of the second for each row of weights of all items."""
        own = weights[:, self._place]
        first, second = (self._kappa(own, of) for of in self._ordered)
        return first - second

    def _kappa(self, weights: FloatArray, of: Ordered) -> FloatArray:
        # Items in ascending order of answers.
        w = weights[:, of.order]
        n, total, square = (part[of.order] for part in (self._n, self._total, self._square))
        level = calibrate(of.by_block(w), self._target, ties="block").level[:, of.block] - self._centre
        level = np.where(w > 0, level, 0.0)
        wn, wt = w * n, w * total
        moments = Moments(
            wn.sum(axis=1),
            (wn * level).sum(axis=1),
            wt.sum(axis=1),
            (wn * level**2).sum(axis=1),
            w @ square,
            (wt * level).sum(axis=1),
        )
        return concordance(moments)
