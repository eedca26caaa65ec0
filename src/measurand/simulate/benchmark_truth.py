"""What systems and people truly score in a simulated benchmark: its items redrawn in great number, its raters kept.

The statistics are written out here from moments and a plain sort. What is used to score answers must not be what says
what the scores should have been.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.simulate import benchmark_model as models
from measurand.stats.inference import FloatArray, IntArray

#: Criteria with this target reliability or more are the reliable ones.
RELIABLE: Final = 0.30

#: Number of equal parts of the draw whose spread gives the Monte Carlo error.
N_PARTS: Final = 20

_TARGETS: Final = ("ratings", "consensus")
_ANCHORS: Final = ("pairwise", "leave_one_out", "leave_one_out_by_rater")


class Reference(NamedTuple):
    """The ratings of some items, as far as scores of answers need them; all in steps of the scale.

    `means` are the items' mean ratings; `centre` and `variance` are of all single ratings; `targets` are the levels
    that items get in the order of their answers, from the marginal of single ratings and of the rounded consensus.
    """

    means: FloatArray
    centre: float
    variance: float
    targets: tuple[FloatArray, FloatArray]


def population(draw: models.Draw, model: models.Model, n_items: int) -> list[dict[str, Any]]:
    """Return the population's quadratic kappas of systems and anchors.

    Parameters
    ----------
    draw : callable
        Random numbers that are not the benchmark's own.
    model : Model
        The benchmark's, with its very raters.
    n_items : int
        Number of items to draw, a multiple of `N_PARTS`.

    Returns
    -------
    list of dict
        As described at `SimulatedBenchmark`.
    """
    parts = [slice(0, n_items), *(slice(a, a + n_items // N_PARTS) for a in range(0, n_items, n_items // N_PARTS))]
    n_criteria, n_systems = len(model.criteria), len(model.validities)
    seen = models.draw_seen(draw, model, n_items)
    none = np.empty(0, dtype=np.int64)
    propensities = np.stack([models.draw_propensity(draw, c, n_items, none, 0.0) for c in range(n_criteria)])
    named = [models.draw_named(draw, s, model, propensities) for s in range(n_systems)] if _is_generative(model) else []

    anchors = np.empty((len(_ANCHORS), n_criteria, len(parts)))
    scores = np.empty((len(_TARGETS), n_systems, len(model.noises), n_criteria, len(parts)))
    for c in range(n_criteria):
        ratings = models.draw_ratings(draw, c, model, propensities[c], seen).astype(np.float64)
        references = []
        for p, part in enumerate(parts):
            anchors[:, c, p] = anchor_kappas(ratings[part], seen[part])
            references.append(reference(ratings[part]))
        for s in range(n_systems):
            for r, readout in enumerate(model.noises):
                answers = (
                    named[s][c]
                    if readout == "generative"
                    else models.draw_signal(draw, s, c, model, propensities[c], readout)
                )
                for p, part in enumerate(parts):
                    scores[:, s, r, c, p] = calibrated_kappas(answers[part], references[p])

    rows: list[dict[str, Any]] = []
    for anchor, values in zip(_ANCHORS, anchors, strict=True):
        rows += _rows(model, {"anchor": anchor, "system": "", "readout": "", "target": ""}, values)
    for t, target in enumerate(_TARGETS):
        for s in range(n_systems):
            for r, readout in enumerate(model.noises):
                keys = {"anchor": "", "system": model.systems[s], "readout": readout, "target": target}
                rows += _rows(model, keys, scores[t, s, r])
    return rows


def _is_generative(model: models.Model) -> bool:
    return "generative" in model.noises


def _rows(model: models.Model, keys: dict[str, str], values: FloatArray) -> list[dict[str, Any]]:
    """Return the rows of one thing from its kappas, shape (n_criteria, 1 + N_PARTS): the whole draw, then its parts."""
    is_reliable = np.array([criterion.reliability >= RELIABLE for criterion in model.criteria])
    lines = [(criterion.name, "", one) for criterion, one in zip(model.criteria, values, strict=True)]
    lines.append(("", "all", values.mean(axis=0)))
    if is_reliable.any():
        lines.append(("", "reliable", values[is_reliable].mean(axis=0)))
    return [
        {
            **keys,
            "criterion": name,
            "set": which,
            "kappa_quadratic": float(one[0]),
            "error": float(one[1:].std(ddof=1) / math.sqrt(N_PARTS)),
        }
        for name, which, one in lines
    ]


def reference(ratings: FloatArray) -> Reference:
    """Return the reference that ratings make, shape (n_items, raters_per_item), in steps above the lowest level."""
    means = ratings.mean(axis=1)
    # The m n single ratings in ascending order, m of them to each of n items: the mean level of its share of the ranks.
    single = np.sort(ratings, axis=None).reshape(ratings.shape).mean(axis=1)
    return Reference(means, float(ratings.mean()), float(ratings.var()), (single, np.sort(np.rint(means))))


def calibrated_kappas(answers: npt.NDArray[Any], reference: Reference) -> list[float]:
    """Return kappas of answers against single ratings, calibrated by rank to each target; ties get their mean level.

    Half a step of a consensus is rounded to the even number of steps. Kappa is Lin's concordance with 1/n moments.

    Examples
    --------
    >>> ratings = np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    >>> [round(value, 4) for value in calibrated_kappas(np.array([0.1, 0.4, 0.9]), reference(ratings))]
    [0.6316, 0.7273]
    """
    # Only speed: ties are averaged, so that their order is of no account. Small whole numbers are sorted by radix.
    order = np.argsort(answers, kind="stable" if answers.dtype == np.int8 else "quicksort")
    ordered = answers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    means = reference.means[order]
    kappas = []
    for target in reference.targets:
        levels = target if len(starts) == len(target) else np.repeat(np.add.reduceat(target, starts) / sizes, sizes)
        centre = levels.mean()
        covariance = (levels * means).mean() - centre * reference.centre
        spread = levels.var() + reference.variance + (centre - reference.centre) ** 2
        kappas.append(float(2 * covariance / spread))
    return kappas


def anchor_kappas(ratings: FloatArray, seen: IntArray) -> list[float]:
    """Return the kappas `pairwise`, `leave_one_out` and `leave_one_out_by_rater`.

    Parameters
    ----------
    ratings, seen : ndarray, shape (n_items, raters_per_item)
        Ratings in steps, and the number of the rater who gave each.

    Examples
    --------
    >>> ratings = np.array([[0.0, 1.0], [2.0, 2.0], [1.0, 3.0]])
    >>> [round(value, 4) for value in anchor_kappas(ratings, np.array([[0, 1], [0, 1], [0, 1]]))]
    [0.0909, 0.0909, 0.2857]
    """
    per_item = ratings.shape[1]
    sums = ratings.sum(axis=1)
    products = ((sums**2 - (ratings**2).sum(axis=1)) / (per_item * (per_item - 1))).mean()
    pairwise = float((products - ratings.mean() ** 2) / ratings.var())
    others = np.rint((sums[:, None] - ratings) / (per_item - 1))
    by_rater = [_concordance(others[seen == rater], ratings[seen == rater]) for rater in np.unique(seen)]
    return [pairwise, _concordance(others.ravel(), ratings.ravel()), float(np.mean(by_rater))]


def _concordance(x: FloatArray, y: FloatArray) -> float:
    covariance = (x * y).mean() - x.mean() * y.mean()
    return float(2 * covariance / (x.var() + y.var() + (x.mean() - y.mean()) ** 2))
