"""Two raters, or a system and a rater: correlation, kappa and tau of weighted points (x, y)."""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.stats.inference import FloatArray, Number
from measurand.stats.kappa import Moments, concordance


def pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Pearson's correlation of weighted points.

    Parameters
    ----------
    x, y : ndarray, shape (n_points,)
        Coordinates of the distinct points.
    weights : ndarray, shape (n_rows, n_points)
        How often each point occurs, one row for each sample or replicate.

    Returns
    -------
    ndarray, shape (n_rows,)
        In [-1, 1]; NaN where one coordinate does not vary. Blind to shifts and factors: it is no agreement.

    Examples
    --------
    >>> points = np.array([1.0, 2.0, 3.0])
    >>> pearson(points, points + 2, np.ones((1, 3))).round(12).tolist()
    [1.0]
    """
    return _correlation(_moments(x, y, weights))


def pearson_and_kappa(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return `pearson` and `kappa_quadratic`, which share their moments.

    Examples
    --------
    >>> r, kappa = pearson_and_kappa(np.array([1.0, 2, 3]), np.array([3.0, 4, 5]), np.ones((1, 3)))
    >>> r.round(12).tolist(), kappa.round(3).tolist()
    ([1.0], [0.25])
    """
    moments = _moments(x, y, weights)
    return _correlation(moments), _concordance(moments)


def kappa_quadratic(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Cohen's kappa with quadratic weights, in its form as Lin's concordance.

    Parameters
    ----------
    x, y : ndarray, shape (n_points,)
        The two ratings of each distinct point, in scale units.
    weights : ndarray, shape (n_rows, n_points)
        How often each point occurs.

    Returns
    -------
    ndarray, shape (n_rows,)
        2 cov(x, y) / (var x + var y + (mean x - mean y)²) with 1/n moments: 0 where one side is constant, NaN where
        both are constant and equal.

    References
    ----------
    Fleiss & Cohen (1973), Educational and Psychological Measurement 33, 613-619.

    Examples
    --------
    >>> x, y = np.array([8.0, 9, 10, 10, 9, 8, 10, 8]), np.array([8.0, 9, 10, 9, 10, 8, 10, 9])
    >>> kappa_quadratic(x, y, np.ones((1, 8))).round(4).tolist()
    [0.7273]
    """
    return _concordance(_moments(x, y, weights))


def spearman(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Spearman's rank correlation of weighted points: Pearson's of mid-ranks within each row's sample.

    Examples
    --------
    >>> spearman(np.array([1.0, 2, 3, 4]), np.array([1.0, 8, 27, 20]), np.ones((1, 4))).round(3).tolist()
    [0.8]
    """
    n = weights.sum(axis=1)
    # Around half the sample mid-ranks have the mean 0 exactly, so that moments are plain sums of products.
    rank_x, rank_y = (_midranks(one, weights) for one in (x, y))
    rank_x -= 0.5 * n[:, None]
    rank_y -= 0.5 * n[:, None]
    square_x, square_y, product = (
        np.einsum("rp,rp,rp->r", weights, a, b) for a, b in ((rank_x, rank_x), (rank_y, rank_y), (rank_x, rank_y))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip(product / np.sqrt(square_x * square_y), -1.0, 1.0))


_Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def _correlation(moments: _Moments) -> FloatArray:
    covariance, variance_x, variance_y, _ = moments
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(covariance / np.sqrt(variance_x * variance_y), -1.0, 1.0)


def _concordance(moments: _Moments) -> FloatArray:
    covariance, variance_x, variance_y, shift = moments
    one, zero = np.ones(len(shift)), np.zeros(len(shift))
    return concordance(Moments(one, shift, zero, variance_x + shift**2, variance_y, covariance))


#: Variance, as a share of the largest squared coordinate, up to which a coordinate is constant but for rounding.
_CONSTANT: Final = 1e-14


def _moments(x: FloatArray, y: FloatArray, weights: FloatArray) -> _Moments:
    """Weighted covariance, variances and difference of means; variances are exactly 0 for constants."""
    centre_x, centre_y = x.mean(), y.mean()
    x, y = x - centre_x, y - centre_y  # shifts change neither variances nor covariance, and keep their digits
    n = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_x, mean_y, square_x, square_y, product = (
            sums / n for sums in (weights @ np.column_stack([x, y, x * x, y * y, x * y])).T
        )
    variance_x, variance_y = square_x - mean_x**2, square_y - mean_y**2
    covariance, shift = product - mean_x * mean_y, (mean_x - mean_y) + (centre_x - centre_y)
    variance_x[variance_x <= _CONSTANT * np.square(x).max(initial=0.0)] = 0.0
    variance_y[variance_y <= _CONSTANT * np.square(y).max(initial=0.0)] = 0.0
    covariance[(variance_x == 0) | (variance_y == 0)] = 0.0
    largest = max(np.abs(x + centre_x).max(initial=0.0), np.abs(y + centre_y).max(initial=0.0))
    shift[np.abs(shift) <= 1e-14 * largest] = 0.0
    return covariance, variance_x, variance_y, shift


def _midranks(x: FloatArray, weights: FloatArray) -> FloatArray:
    """Mid-ranks of the points in each row's weighted sample, shape (n_rows, n_points)."""
    order = np.argsort(x, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(x[order]) != 0])
    n = weights[:, order] if len(starts) == len(x) else np.add.reduceat(weights[:, order], starts, axis=1)
    place = np.cumsum(n, axis=1)
    place -= 0.5 * n
    value = np.empty(len(x), dtype=np.intp)
    value[order] = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(x)]))
    return np.asarray(place[:, value])


def kendall_tau_b(x: FloatArray, y: FloatArray) -> Number:
    """Return Kendall's tau-b of two orderings.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Two scores of the same n things.

    Returns
    -------
    Number
        (concordant - discordant) / sqrt((pairs - ties in x)(pairs - ties in y)); undefined below two things and
        where one score ties them all.

    References
    ----------
    Kendall (1945), Biometrika 33, 239-251.

    Examples
    --------
    >>> kendall_tau_b(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).value.__round__(4)
    0.3333
    """
    if len(x) < 2:
        return Number(np.nan, "fewer than two things to order")
    upper = np.triu_indices(len(x), k=1)
    sign_x, sign_y = np.sign(x[:, None] - x)[upper], np.sign(y[:, None] - y)[upper]
    untied = float(np.abs(sign_x).sum() * np.abs(sign_y).sum())
    if untied == 0:
        return Number(np.nan, "all tied on one side")
    return Number(float((sign_x * sign_y).sum() / np.sqrt(untied)))
