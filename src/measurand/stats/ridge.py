"""Ridge regression in closed form, and what it says of clusters that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray, IntArray

#: Penalties that are tried, in units of the mean squared length of the centred rows; the largest first, so that among
#: equals the one that shrinks more is taken.
PENALTIES: Final = tuple(10.0**power for power in range(2, -6, -1))


class Ridge(NamedTuple):
    """Slopes of shape (n_features, n_targets) and intercepts of shape (n_targets,)."""

    slopes: FloatArray
    intercepts: FloatArray


class CrossFitted(NamedTuple):
    """What each row is predicted to be by a fit to other clusters.

    Parameters
    ----------
    predicted : ndarray, shape (n_rows, n_targets)
        Predictions.
    fold : ndarray of int, shape (n_rows,)
        The part of the rows that each row was left out with.
    penalty : ndarray, shape (n_folds, n_targets)
        The penalty that was chosen for each part among the other rows alone.
    """

    predicted: FloatArray
    fold: IntArray
    penalty: FloatArray


@dataclass(frozen=True)
class _Fitted:
    """Centred rows taken apart once, for every penalty.

    Parameters
    ----------
    centre, level : ndarray
        Means of features and targets.
    right : ndarray, shape (n_vectors, n_features)
        Right singular vectors.
    lengths : ndarray, shape (n_vectors,)
        Singular values.
    targets : ndarray, shape (n_vectors, n_targets)
        Centred targets along the left singular vectors.
    unit : float
        The mean squared length of a centred row.
    """

    centre: FloatArray
    level: FloatArray
    right: FloatArray
    lengths: FloatArray
    targets: FloatArray
    unit: float

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray) -> _Fitted:
        centre, level = x.mean(axis=0), y.mean(axis=0)
        left, lengths, right = np.linalg.svd(x - centre, full_matrices=False)
        # A direction without length has no slope, also where nothing is penalised: what centring leaves of features
        # that do not vary is rounding.
        kept = lengths > np.linalg.norm(x) * max(x.shape) * np.finfo(float).eps
        targets = left[:, kept].T @ (y - level)
        return cls(centre, level, right[kept], lengths[kept], targets, float((lengths**2).sum() / len(x)))

    def slopes(self, penalty: float) -> FloatArray:
        """Return slopes along the right singular vectors, shape (n_vectors, n_targets)."""
        return np.asarray((self.lengths / (self.lengths**2 + penalty))[:, None] * self.targets)

    def along(self, x: FloatArray) -> FloatArray:
        """Return rows along the right singular vectors, shape (n_rows, n_vectors)."""
        return np.asarray((x - self.centre) @ self.right.T)


def ridge(x: FloatArray, y: FloatArray, *, penalty: float) -> Ridge:
    """Fit a ridge regression with an intercept that is not penalised.

    Parameters
    ----------
    x : ndarray, shape (n_rows, n_features)
        Features; more of them than rows are fine.
    y : ndarray, shape (n_rows, n_targets)
        Targets.
    penalty : float
        0 or more: what the sum of squared slopes is multiplied by in the sum that is made least. At 0, and where slopes
        are not determined, the shortest ones.

    Examples
    --------
    >>> found = ridge(np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [3.0], [5.0]]), penalty=2.0)
    >>> found.slopes.round(6).tolist(), found.intercepts.round(6).tolist()
    ([[1.0]], [2.0])
    """
    fitted = _Fitted.of(x, y)
    slopes = fitted.right.T @ fitted.slopes(penalty)
    return Ridge(slopes, fitted.level - fitted.centre @ slopes)


def cross_fitted(
    x: FloatArray,
    y: FloatArray,
    cluster: IntArray,
    *,
    n_folds: int,
    rng: np.random.Generator,
    n_inner_folds: int = 4,
    penalties: Sequence[float] = PENALTIES,
) -> CrossFitted:
    """Predict every row by a ridge regression that was fitted to other clusters.

    Parameters
    ----------
    x : ndarray, shape (n_rows, n_features)
        Features.
    y : ndarray, shape (n_rows, n_targets)
        Targets; NaN where one is not known, which is then predicted all the same.
    cluster : ndarray of int, shape (n_rows,)
        Whom each row belongs to: rows of one cluster are left out together.
    n_folds : int
        Parts into which clusters are divided, 2 or more and at most the number of clusters.
    rng : numpy.random.Generator
        Draws the parts.
    n_inner_folds : int
        Parts into which the other clusters are divided to choose the penalty of each target: that with the least sum
        of squared errors.
    penalties : sequence of float
        Those to choose among, in units of the mean squared length of the centred rows that are fitted.

    Returns
    -------
    CrossFitted
        Predictions; NaN where fewer than two rows of other clusters are known.

    Raises
    ------
    ValueError
        If there are fewer clusters than parts, or the other clusters are too few to choose a penalty by.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(60, 3))
    >>> y = x @ np.array([[1.0], [2.0], [0.0]])
    >>> found = cross_fitted(x, y, np.arange(60) // 4, n_folds=5, rng=rng)
    >>> round(float(np.abs(found.predicted - y).max()), 2), float(found.penalty.max())
    (0.0, 1e-05)
    """
    fold = _parts(cluster, n_folds, rng)
    predicted, penalty = np.full(y.shape, np.nan), np.full((n_folds, y.shape[1]), np.nan)
    patterns, alike = np.unique(~np.isnan(y), axis=1, return_inverse=True)
    for part in range(n_folds):
        others, own = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
        inner = _parts(cluster[others], n_inner_folds, rng)
        for pattern in range(patterns.shape[1]):
            targets = np.flatnonzero(alike.ravel() == pattern)
            is_known = patterns[others, pattern]
            rows = others[is_known]
            if len(rows) < 2:
                continue
            known = y[np.ix_(rows, targets)]
            best = _squared_errors(x[rows], known, inner[is_known], penalties).argmin(axis=0)
            fitted = _Fitted.of(x[rows], known)
            along = fitted.along(x[own])
            for column, (target, at) in enumerate(zip(targets, best, strict=True)):
                slopes = fitted.slopes(penalties[at] * fitted.unit)[:, column]
                predicted[own, target] = along @ slopes + fitted.level[column]
                penalty[part, target] = penalties[at]
    return CrossFitted(predicted, fold, penalty)


def explained(y: FloatArray, predicted: FloatArray, weights: FloatArray) -> FloatArray:
    """Return which share of the variation of y predictions explain, 1 - Σ(y - ŷ)² / Σ(y - ȳ)².

    Parameters
    ----------
    y, predicted : ndarray, shape (n_rows,)
        What is there and what was predicted.
    weights : ndarray, shape (n_samples, n_rows)
        How often each row occurs, one row of weights for each sample or replicate.

    Returns
    -------
    ndarray, shape (n_samples,)
        1 at best, below 0 where the sample's own mean would be nearer; NaN where y does not vary.

    Examples
    --------
    >>> y = np.array([0.0, 1.0, 2.0])
    >>> explained(y, np.array([0.0, 1.0, 1.0]), np.ones((1, 3))).tolist()
    [0.5]
    """
    n = weights.sum(axis=1)
    mean = weights @ y / n
    total = weights @ y**2 - n * mean**2
    varies = total > 1e-12 * np.maximum(weights @ y**2, np.finfo(float).tiny)
    left = weights @ (y - predicted) ** 2
    return np.asarray(1 - np.divide(left, total, out=np.full(len(n), np.nan), where=varies))


def _parts(cluster: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """Return the part of each row: whole clusters, as many in one part as in another or one more."""
    names, position = np.unique(cluster, return_inverse=True)
    if not 2 <= n <= len(names):
        raise ValueError(f"{len(names)} clusters can't be divided into {n} parts")
    part = np.empty(len(names), dtype=np.int64)
    part[rng.permutation(len(names))] = np.arange(len(names)) % n
    return part[position]


def _squared_errors(x: FloatArray, y: FloatArray, part: IntArray, penalties: Sequence[float]) -> FloatArray:
    """Return sums of squared errors of rows that are left out part by part, shape (n_penalties, n_targets)."""
    errors = np.zeros((len(penalties), y.shape[1]))
    for one in np.unique(part):
        fitted = _Fitted.of(x[part != one], y[part != one])
        along, wanted = fitted.along(x[part == one]), y[part == one] - fitted.level
        for k, penalty in enumerate(penalties):
            errors[k] += ((along @ fitted.slopes(penalty * fitted.unit) - wanted) ** 2).sum(axis=0)
    return errors
