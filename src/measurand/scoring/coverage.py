"""What missing answers could do: the score under each policy, and its bounds."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from measurand.result import Row
from measurand.scoring.answered import Answered, Folds
from measurand.scoring.field import Criterion
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Aggregate, Path, calibrated_values, kappa
from measurand.scoring.run import Run
from measurand.stats.inference import FloatArray

POLICIES: Final[dict[str, str]] = {
    "exclude": "items without an answer left out, as in the scores",
    "lowest": "the lowest level in place of every missing answer",
    "wrong": "for every missing answer the permitted value that makes the kappa of all pairs lowest: the lower bound",
    "right": "for every missing answer the permitted value that makes the kappa of all pairs highest: the upper bound",
}
_BOUNDS: Final = ("wrong", "right")
#: Steps to the extreme ratio, each far closer than the one before, and the change that ends them.
_MOST_STEPS: Final = 100
_FLAT: Final = 1e-12
_NO_FOLDS: Final = np.zeros((0, 0), dtype=np.int64)


def coverage_rows(run: Run) -> list[Row]:
    """Return each arm's coverage, and its score under each policy for what is missing.

    Levels of the answers that there are stay what the calibration gave them; the missing ones get theirs afterwards.
    """
    rows = []
    for place, one in enumerate(run.contenders):
        keys = {**one.keys, "policy": ""}
        note = f"{sum(one.n_answered):,} of {sum(one.n_asked):,} rated questions that were asked"
        reason = "nothing that was rated was asked"
        rows.append(run.without_interval("coverage", keys, "coverage", one.coverage, note=note, undefined=reason))
        if run.measure.name != "kappa_quadratic" or sum(one.n_answered) == sum(one.n_asked) or not one.n_answered:
            continue
        for policy, words in POLICIES.items():
            series = np.array([[_under(run, place, i, policy) for i in range(len(run.field.criteria))]])
            for scope in run.headlines:
                value = run.point(series, scope)
                keys = {**one.keys, **scope.keys, "policy": policy}
                none = "no criterion has a score under this policy"
                note = f"{words}; a bound or a policy, not an estimate with sampling error"
                rows.append(run.without_interval("coverage", keys, run.measure.name, value, note=note, undefined=none))
    return rows


def _under(run: Run, place: int, position: int, policy: str) -> float:
    one = run.contenders[place]
    criterion, answered = run.field.criteria[position], one.answered[position]
    if policy == "exclude":
        return float(run.arm(place)[0, position])
    # A criterion of which every answer is missing is missing, too: bounds that left it out would be none.
    if run.path.calibration == "none" and len(answered.present) and one.not_permitted[position]:
        return np.nan
    values = calibrated_values(answered, criterion, run.path, run.folds)
    missing = np.isnan(answered.values) & one.is_asked[position]
    if policy == "lowest":
        values = np.where(missing, criterion.ends[0], values)
    elif policy in _BOUNDS:
        values = _extreme(values, missing, criterion, highest=policy == "right")
    return _uncalibrated(values, criterion, run.path.aggregate)


def _uncalibrated(values: FloatArray, criterion: Criterion, aggregate: Aggregate) -> float:
    opponents = Opponents(criterion, np.ones((1, len(values))))
    return float(kappa(Answered(values), opponents, Path("none", "", "", "", aggregate), Folds(_NO_FOLDS, 0))[0])


def _extreme(values: FloatArray, missing: npt.NDArray[np.bool_], criterion: Criterion, *, highest: bool) -> FloatArray:
    """Return values with the missing ones set so that the kappa of all pairs is as high, or as low, as it can be.

    Kappa is a ratio N / D of sums over items, each of its own answer alone: at the extreme ratio no answer moves
    N - ratio D any farther, which is quadratic in the answer, so that an end or its vertex does (Dinkelbach 1967).
    """
    low, high = criterion.ends
    counted = ~np.isnan(values) | missing
    if not (n_ratings := criterion.count[counted].sum()):
        return values
    mean = criterion.total[counted].sum() / n_ratings
    apart = np.nan_to_num(criterion.consensus) - mean
    ratio, filled = 0.0, values
    for _ in range(_MOST_STEPS):
        vertex = mean + apart / ratio if abs(ratio) > _FLAT else np.full(len(values), low)
        choices = np.stack([np.full(len(values), low), np.full(len(values), high), np.clip(vertex, low, high)])
        gained = 2 * choices * apart - ratio * (choices**2 - 2 * choices * mean)
        taken = (gained if highest else -gained).argmax(axis=0)
        filled = np.where(missing, choices[taken, np.arange(len(values))], values)
        found = _uncalibrated(filled, criterion, "pooled")
        if not abs(found - ratio) > _FLAT:
            break
        ratio = found
    return filled
