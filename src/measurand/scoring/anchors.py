"""Human anchors: what raters score against each other, on the same path and in the same replicates as systems."""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from measurand.result import MeasurandError
from measurand.scoring.answered import Answered, Folds
from measurand.scoring.field import Criterion
from measurand.scoring.opponents import Opponents
from measurand.scoring.paths import Aggregate, Path, kappa, moments_on
from measurand.stats.inference import FloatArray
from measurand.stats.kappa import Moments, concordance

Anchor = Literal["pairwise", "leave_one_out", "noise_ceiling", "rater_calibrated", "leave_one_out_calibrated"]

ANCHORS: Final[dict[str, str]] = {
    "pairwise": "one rater against another rater",
    "leave_one_out": "the rounded mean of the other raters against the rater left out",
    "noise_ceiling": "the root of the pairwise anchor: what answers equal to the true score would reach",
    "rater_calibrated": "one rater, calibrated as the systems are, against another rater",
    "leave_one_out_calibrated": "the mean of the others, calibrated as the systems are, against the rater left out",
}

#: Pairs of raters that aggregation by identity goes through one by one.
MOST_PAIRS: Final = 2_000


def anchor_kappa(name: str, opponents: Opponents, path: Path, folds: Folds) -> FloatArray:
    """Return an anchor's quadratic kappa in every replicate.

    Parameters
    ----------
    name : str
        One of `ANCHORS`.
    opponents : Opponents
        The ratings and what each replicate draws. A rater drawn twice is one person: never scored against himself.
    path : Path
        Aggregation, and for the calibrated anchors the calibration of the systems.
    folds : Folds
        For calibration fitted on other folds.

    Returns
    -------
    ndarray, shape (n_rows,)
        NaN where no item has two raters, where nothing varies, and for the noise ceiling where raters agree less than
        by chance.

    References
    ----------
    Pooled pairs of raters: Hallmen et al. (2026), arXiv 2610.08162, section 3; made symmetric here, so that the order
    of raters does not matter.
    """
    if name == "pairwise":
        return _pairwise(opponents, path.aggregate)
    if name == "noise_ceiling":
        found = _pairwise(opponents, path.aggregate)
        return np.asarray(np.sqrt(found, out=np.full(len(found), np.nan), where=found >= 0))
    if name == "leave_one_out":
        return _over_raters(opponents, path, folds, mean_of_others=True, calibrated=False)
    if name == "rater_calibrated":
        return _over_raters(opponents, path, folds, mean_of_others=False, calibrated=True)
    if name == "leave_one_out_calibrated":
        return _over_raters(opponents, path, folds, mean_of_others=True, calibrated=True)
    raise MeasurandError(f"anchor {name!r}; allowed are {', '.join(ANCHORS)}")


def _pairwise(opponents: Opponents, aggregate: Aggregate) -> FloatArray:
    if aggregate == "identity":
        return _pairwise_by_identity(opponents)
    of, weights = opponents.criterion, opponents.weights
    if opponents.raters is None:
        count, total, square = of.count, of.total, of.square
        n, x, xx, xy = count * (count - 1), (count - 1) * total, (count - 1) * square, total**2 - square
        sums = np.asarray(weights @ np.column_stack([n, x, xx, xy])).T
    else:
        drawn = opponents.raters
        count, total, square = opponents.sums
        # Two draws of one rater are no pair: each rater's products with himself are taken out.
        own = drawn**2 @ of.is_rated.T, drawn**2 @ of.filled.T, drawn**2 @ (of.filled**2).T
        parts = (count**2 - own[0], count * total - own[1], count * square - own[2], total**2 - own[2])
        sums = np.stack([np.einsum("ri,ri->r", weights, part) for part in parts])
    n, x, xx, xy = sums
    return concordance(Moments(n, x, x, xx, xx, xy))


def _pairwise_by_identity(opponents: Opponents) -> FloatArray:
    """Return the mean over pairs of raters of their kappa, pairs with fewer than two common items left out."""
    of, weights = opponents.criterion, opponents.weights
    n_raters = of.ratings.shape[1]
    n_pairs = n_raters * (n_raters - 1) // 2
    if n_pairs > MOST_PAIRS:
        raise MeasurandError(
            f"{n_raters} raters make {n_pairs:,} pairs; aggregation by identity takes at most {MOST_PAIRS:,}. Pool the "
            "pairs instead (--aggregate pooled)"
        )
    total, times = np.zeros(len(weights)), np.zeros(len(weights))
    for a in range(n_raters):
        for b in range(a + 1, n_raters):
            both = (of.is_rated[:, a] * of.is_rated[:, b]) > 0
            if not both.any():
                continue
            x, y = of.filled[both, a], of.filled[both, b]
            sums = np.asarray(weights[:, both] @ np.column_stack([np.ones(len(x)), x, y, x**2, y**2, x * y])).T
            found = concordance(Moments(*sums))
            counted = ~np.isnan(found) & (sums[0] >= 2)
            of_pair = counted if opponents.raters is None else counted * opponents.raters[:, a] * opponents.raters[:, b]
            total += np.where(counted, found, 0.0) * of_pair
            times += of_pair
    return np.asarray(np.divide(total, times, out=np.full(len(total), np.nan), where=times > 0))


def _over_raters(
    opponents: Opponents, path: Path, folds: Folds, *, mean_of_others: bool, calibrated: bool
) -> FloatArray:
    """Return kappa of each rater, or of the mean of the others, against those left over; pooled or averaged.

    Where raters are redrawn it is the rater left out who is: the mean of the others is that of all of them. Means of
    redrawn raters would have fewer raters in them, and agree less, than the panel's.
    """
    of, drawn = opponents.criterion, opponents.raters
    is_ranked = calibrated and path.calibration == "rank"
    if mean_of_others and not is_ranked:
        return _leave_one_out(opponents, path.aggregate, rounded=not calibrated)
    route = path if is_ranked else path.uncalibrated()
    n_raters = of.ratings.shape[1]
    pooled: list[Moments] = []
    total, times = np.zeros(len(opponents.weights)), np.zeros(len(opponents.weights))
    for rater in range(n_raters):
        is_rater = np.arange(n_raters) == rater
        against = opponents.against(is_rater if mean_of_others else ~is_rater)
        answered = _others(of, rater, rounded=False) if mean_of_others else _own(of, rater)
        if len(answered.present) == 0:
            continue
        found = moments_on(answered, against, route, folds)
        if path.aggregate == "identity":
            # Of a rater against the others identity means each of the others; of a mean it is the rater left out.
            each = kappa(answered, against, route, folds) if not mean_of_others else _mean_kappa(found)
            is_enough = found[0].n >= 2 if mean_of_others else True
            counted = (~np.isnan(each) & is_enough) * (np.ones(len(each)) if drawn is None else drawn[:, rater])
            total += np.where(np.isnan(each), 0.0, each) * counted
            times += counted
            continue
        if drawn is not None and not mean_of_others:
            # How often the rater left out is drawn is among what answers are held against already.
            found = [Moments(*(part * drawn[:, rater] for part in one)) for one in found]
        pooled = found if not pooled else [one.plus(other) for one, other in zip(pooled, found, strict=True)]
    if path.aggregate == "identity":
        return np.asarray(np.divide(total, times, out=np.full(len(total), np.nan), where=times > 0))
    if not pooled:
        return np.full(len(opponents.weights), np.nan)
    return _mean_kappa(pooled)


def _mean_kappa(repetitions: list[Moments]) -> FloatArray:
    return np.asarray(np.mean([concordance(one) for one in repetitions], axis=0))


def _leave_one_out(opponents: Opponents, aggregate: Aggregate, *, rounded: bool) -> FloatArray:
    """Return kappa of the mean of the others against the rater left out: sums by item, which no replicate changes."""
    of = opponents.criterion
    name = ("leave_one_out", rounded)
    if name not in of.kept:
        n_items, n_raters = of.ratings.shape
        sums = np.zeros((n_items, 6, n_raters))
        for rater in range(n_raters):
            x, y = _others(of, rater, rounded=rounded).values, of.filled[:, rater]
            there = ~np.isnan(x)
            x = np.where(there, x, 0.0)
            y = np.where(there, y, 0.0)
            sums[:, :, rater] = np.column_stack([there, x, y, x**2, y**2, x * y])
        of.kept[name] = sums
    sums = of.kept[name]
    n_rows = len(opponents.weights)
    if aggregate == "pooled" and opponents.raters is None:
        return concordance(Moments(*(opponents.weights @ sums.sum(axis=2)).T))
    found = (opponents.weights @ sums.reshape(len(sums), -1)).reshape(n_rows, 6, -1)
    drawn = np.ones((n_rows, found.shape[2])) if opponents.raters is None else opponents.raters
    if aggregate == "pooled":
        return concordance(Moments(*np.einsum("rkj,rj->kr", found, drawn)))
    each = concordance(Moments(*np.moveaxis(found, 1, 0)))
    counted = (~np.isnan(each) & (found[:, 0] >= 2)) * drawn
    n = counted.sum(axis=1)
    total = (np.where(np.isnan(each), 0.0, each) * counted).sum(axis=1)
    return np.asarray(np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0))


def _own(of: Criterion, rater: int) -> Answered:
    """Return one rater's ratings as answers, where others rated, too; sorted once for all blocks of replicates."""
    name = ("own", rater)
    if name not in of.kept:
        of.kept[name] = Answered(np.where(of.count >= 2, of.ratings[:, rater], np.nan))
    found: Answered = of.kept[name]
    return found


def _others(of: Criterion, rater: int, *, rounded: bool) -> Answered:
    """Return the mean of all raters but one as answers to the items that this one rated; kept likewise."""
    name = ("others", rater, rounded)
    if name not in of.kept:
        of.kept[name] = _mean_of_others(of, rater, rounded=rounded)
    found: Answered = of.kept[name]
    return found


def _mean_of_others(of: Criterion, rater: int, *, rounded: bool) -> Answered:
    rated = of.is_rated[:, rater]
    count = of.count - rated
    there = (count > 0) & (rated > 0)
    mean = np.divide(of.total - of.filled[:, rater], count, out=np.full(len(count), np.nan), where=there)
    return Answered(of.rounded(mean) if rounded else mean)
