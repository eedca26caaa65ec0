"""What missing answers could do: the score under each policy, and its bounds."""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row
from measurand.scoring.answered import Answered
from measurand.scoring.contenders import Contender
from measurand.scoring.field import Criterion
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import calibrated_values, kappa
from measurand.scoring.run import Run, means
from measurand.stats.inference import FloatArray

POLICIES: Final[dict[str, str]] = {
    "exclude": "items without an answer left out, as in the scores",
    "lowest": "the lowest level in place of every missing answer",
    "wrong": "the permitted end farther from the item's mean rating in place of every missing answer: the lower bound",
    "right": "the item's own mean rating in place of every missing answer: the upper bound",
}


def coverage_rows(run: Run) -> list[Row]:
    """Return each arm's coverage, and its score under each policy for what is missing.

    Levels of the answers that there are stay what the calibration gave them; the missing ones get theirs afterwards.
    """
    rows = []
    for one in run.contenders:
        keys = {**one.keys, "policy": ""}
        note = f"{sum(one.n_answered):,} of {sum(one.n_asked):,} rated questions that were asked"
        reason = "nothing that was rated was asked"
        rows.append(run.without_interval("coverage", keys, "coverage", one.coverage, note=note, undefined=reason))
        if run.measure.name != "kappa_quadratic" or sum(one.n_answered) == sum(one.n_asked) or not one.n_answered:
            continue
        for policy, words in POLICIES.items():
            series = np.array([[_under(run, one, i, policy) for i in range(len(run.field.criteria))]])
            for scope in run.headlines:
                if scope.set:
                    mask = run.chosen(scope.set, run.store)[:1] & ~np.isnan(series)
                    value = float(means([series], mask)[0][0])
                else:
                    value = float(series[0, run.field.names.index(scope.criterion)])
                keys = {**one.keys, **scope.keys, "policy": policy}
                note = f"{words}; a bound or a policy, not an estimate with sampling error"
                rows.append(run.without_interval("coverage", keys, run.measure.name, value, note=note))
    return rows


def _under(run: Run, one: Contender, position: int, policy: str) -> float:
    criterion, answered = run.field.criteria[position], one.answered[position]
    if len(answered.present) == 0:
        return np.nan
    values = calibrated_values(answered, criterion, run.path, run.folds)
    missing = np.isnan(values) & (criterion.count > 0)
    if policy != "exclude":
        values = np.where(missing, _substitute(criterion, policy), values)
    ones = np.ones((1, run.field.n_items))
    return float(kappa(Answered(values), Opponents(criterion, ones), run.path.uncalibrated(), run.folds)[0])


def _substitute(criterion: Criterion, policy: str) -> FloatArray:
    bounds = criterion.scale.bounds
    ends = (criterion.levels[0], criterion.levels[-1])
    if bounds is not None:
        ends = (bounds[0] - criterion.shift, bounds[1] - criterion.shift)
    mean = criterion.consensus
    if policy == "lowest":
        return np.full(len(mean), ends[0])
    if policy == "right":
        return mean
    return np.asarray(np.where(np.abs(mean - ends[0]) > np.abs(mean - ends[1]), ends[0], ends[1]))
