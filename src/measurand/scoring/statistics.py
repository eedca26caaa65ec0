"""The other statistics of answers against single ratings, on the same paths and draws as quadratic kappa."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from measurand.result import MeasurandError
from measurand.scoring.answered import Answered, Folds
from measurand.scoring.field import Criterion
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Path, item_levels
from measurand.stats import ranking
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.kappa import kappa_of_values

Statistic = Literal[
    "kappa_quadratic",
    "kappa_linear",
    "kappa_unweighted",
    "spearman",
    "mean_absolute_error",
    "average_precision",
    "auroc",
]
Positive = Literal["any", "majority", "median"]

STATISTICS: Final[dict[str, str]] = {
    "kappa_quadratic": "quadratic kappa (Lin's concordance) with single ratings",
    "kappa_linear": "linear-weighted kappa with single ratings",
    "kappa_unweighted": "unweighted kappa with single ratings",
    "spearman": "Spearman's rank correlation with the mean rating of each item",
    "mean_absolute_error": "mean distance to single ratings, in scale units",
    "average_precision": "average precision of finding the positive items",
    "auroc": "probability that a positive item is answered higher than a negative one, ties half",
}
POSITIVE: Final[dict[str, str]] = {
    "any": "any rater above the lowest level",
    "majority": "more than half of the item's raters above the lowest level",
    "median": "the median rating above the lowest level",
}
#: Statistics of the order of answers alone: calibration does not change them.
OF_ORDER: Final = ("spearman", "average_precision", "auroc")
#: Statistics of finding the positive items.
OF_POSITIVES: Final = ("average_precision", "auroc")
#: Smaller is better.
OF_ERROR: Final = ("mean_absolute_error",)


@dataclass(frozen=True)
class Measure:
    """A statistic, and for those of finding positives what counts as positive.

    Parameters
    ----------
    name : str
        One of `STATISTICS`.
    positive : {"any", "majority", "median"}
        Which items are positive; only `average_precision` and `auroc` ask.
    """

    name: str
    positive: Positive = "any"

    def __post_init__(self) -> None:
        if self.name not in STATISTICS:
            raise MeasurandError(f"statistic {self.name!r}; allowed are {', '.join(STATISTICS)}")
        if self.positive not in POSITIVE:
            raise MeasurandError(f"positive {self.positive!r}; allowed are {', '.join(POSITIVE)}")


def positives(criterion: Criterion, rule: Positive) -> npt.NDArray[np.bool_]:
    """Return which items are positive: raters above the lowest permitted level.

    Raises
    ------
    MeasurandError
        If no scale is declared, so that there is no lowest level.
    """
    bounds = criterion.scale.bounds
    if bounds is None:
        raise MeasurandError("which items are positive needs the lowest level of the scale; declare it (--scale)")
    above = (criterion.ratings > bounds[0] - criterion.shift) & (criterion.is_rated > 0)
    votes = above.sum(axis=1)
    if rule == "any":
        return np.asarray(votes > 0)
    if rule == "majority":
        return np.asarray(votes * 2 > criterion.count)
    # The median of an even number of raters is the mean of the middle two: above the lowest if the upper one is.
    return np.asarray((votes * 2 >= criterion.count) & (votes > 0))


def measured(measure: Measure, answered: Answered, opponents: Opponents, path: Path, folds: Folds) -> FloatArray:
    """Return a statistic in every replicate.

    Parameters
    ----------
    measure : Measure
        Any but quadratic kappa, which `paths.kappa` computes.
    answered, opponents, path, folds
        As for `measurand.scoring.paths.kappa`.

    Returns
    -------
    ndarray, shape (n_rows,)
        NaN where undefined, and throughout where raters are redrawn: these statistics are for the raters at hand.

    Raises
    ------
    MeasurandError
        For unweighted kappa of answers between levels (ties ``block``, ``random``), which would agree with no rating.
    """
    n_rows = len(opponents.weights)
    if len(answered.present) == 0 or opponents.raters is not None:
        return np.full(n_rows, np.nan)
    criterion = opponents.criterion
    items = answered.present
    score = (answered.values if answered.by is None else answered.by)[items]
    weights = opponents.weights[:, items]
    if measure.name == "spearman":
        return ranking.spearman(score, criterion.consensus[items], weights)
    if measure.name in OF_POSITIVES:
        positive = positives(criterion, measure.positive)[items]
        formula = ranking.auroc if measure.name == "auroc" else ranking.average_precision
        return formula(score, positive, weights)
    if measure.name == "kappa_unweighted" and path.calibration == "rank" and path.ties in ("block", "random"):
        raise MeasurandError(
            f"unweighted kappa counts equal levels, and ties={path.ties} gives answers between levels; choose --ties "
            "midrank"
        )
    repetitions = item_levels(answered, opponents, path, folds)
    found = [_of_levels(measure.name, *one, criterion) for one in repetitions]
    return np.asarray(np.mean(found, axis=0))


def _of_levels(name: str, items: IntArray, weights: FloatArray, values: FloatArray, criterion: Criterion) -> FloatArray:
    """Return linear or unweighted kappa, or the mean absolute error, of values against all ratings of their items."""
    if name == "kappa_linear":
        return kappa_of_values(values, weights, criterion.ratings[items], "linear")
    if name == "kappa_unweighted":
        return kappa_of_values(values, weights, criterion.ratings[items], "unweighted")
    rated, given = criterion.is_rated[items], criterion.filled[items]
    total = np.zeros(len(weights))
    for rater in range(given.shape[1]):
        total += np.einsum("rj,rj->r", weights * rated[:, rater], np.abs(values - given[:, rater]))
    return ranking.ratio(total, weights @ criterion.count[items])
