"""Agreement of answers with single ratings: quadratic kappa from moments, linear and unweighted kappa from tables."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray

KappaWeighting = Literal["quadratic", "linear", "unweighted"]

#: Values closer than this are one level.
EQUAL: Final = 1e-9

#: A denominator below this share of its terms is rounding dust: both sides are one and the same constant.
_DUST: Final = 1e-13


class Moments(NamedTuple):
    """Sums over pairs (x, y), each of shape (n_rows,): number, sums, sums of squares, sum of products."""

    n: FloatArray
    x: FloatArray
    y: FloatArray
    xx: FloatArray
    yy: FloatArray
    xy: FloatArray

    def plus(self, other: Moments) -> Moments:
        """Return the moments of both sets of pairs together."""
        return Moments(*(a + b for a, b in zip(self, other, strict=True)))


def concordance(moments: Moments) -> FloatArray:
    """Return quadratic-weighted kappa, which is Lin's concordance of the pairs with 1/n moments.

    Parameters
    ----------
    moments : Moments
        Sums over all pairs, one entry for each row (the sample, or a replicate). Values need not be whole numbers:
        nothing is truncated to a level. Shift x and y by one constant near their mean before summing, so that no digits
        are lost; kappa does not notice.

    Returns
    -------
    ndarray, shape (n_rows,)
        From -1 to 1. 0 where one side is constant and the other is not; NaN where both sides are the same constant, or
        where there is no pair.

    Notes
    -----
    1 - mean (x - y)^2 / E (x' - y')^2 with x' and y' drawn independently, = 2 (n Sxy - Sx Sy) / (n (Sxx + Syy) - 2 Sx
    Sy). The weights (i - j)^2 may carry any positive factor, so that neither the number of levels nor an empty level
    matters.

    References
    ----------
    Cohen (1968), Psychological Bulletin 70, 213-220; Lin (1989), Biometrics 45, 255-268, equation (2); Krippendorff
    (1970), Sociological Methodology 2, for the identity of the two.

    Examples
    --------
    >>> x, y = np.array([0.0, 1, 2, 2]), np.array([0.0, 2, 2, 1])
    >>> round(float(concordance(moments_of(x, y))[0]), 4)
    0.6364
    """
    n, x, y, xx, yy, xy = moments
    below = n * (xx + yy) - 2 * x * y
    above = np.asarray(2 * (n * xy - x * y))
    dust = _DUST * (n * (np.abs(xx) + np.abs(yy)) + 2 * np.abs(x * y))
    is_defined = (n > 0) & (below > dust)
    # A constant has no covariance: what is left of its two terms is rounding, and kappa is 0.
    above[np.abs(above) <= _DUST * (n * np.abs(xy) + np.abs(x * y))] = 0.0
    return np.asarray(np.divide(above, below, out=np.full(np.shape(n), np.nan), where=is_defined))


def moments_of(x: FloatArray, y: FloatArray, weights: FloatArray | None = None) -> Moments:
    """Return the moments of plain pairs.

    Parameters
    ----------
    x, y : ndarray, shape (n_pairs,)
        Finite values.
    weights : ndarray or None, shape (n_rows, n_pairs)
        How often each pair counts; None counts each once.
    """
    w = np.ones((1, len(x))) if weights is None else weights
    return Moments(w.sum(axis=1), w @ x, w @ y, w @ x**2, w @ y**2, w @ (x * y))


def kappa_of_values(
    values: FloatArray, weights: FloatArray, ratings: FloatArray, weighting: KappaWeighting
) -> FloatArray:
    """Return Cohen's kappa of values with single ratings, the pairs of all raters pooled.

    Parameters
    ----------
    values : ndarray, shape (n_rows, n_items)
        What each item's answer is, in scale units; it may differ from row to row, and lie between levels.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs.
    ratings : ndarray, shape (n_items, n_raters)
        Single ratings in scale units, NaN where a rater did not rate.
    weighting : {"quadratic", "linear", "unweighted"}
        Disagreement (x - y)^2, abs(x - y), or 1 where x and y differ.

    Returns
    -------
    ndarray, shape (n_rows,)
        1 - observed / expected disagreement, expected over all values with all ratings; NaN where both sides are the
        same constant, or where there is no pair. For quadratic weights `concordance` is the same and faster.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46; Cohen (1968), Psychological Bulletin 70.

    Examples
    --------
    >>> x, y = np.array([[0.0, 0, 1, 1]]), np.array([[0.0], [1], [0], [1]])
    >>> round(float(kappa_of_values(x, np.array([[20.0, 5, 10, 15]]), y, "unweighted")[0]), 4)
    0.4
    """
    rated = ~np.isnan(ratings)
    pairs = weights * rated.sum(axis=1)
    n = pairs.sum(axis=1)
    observed, expected = np.zeros(len(weights)), np.zeros(len(weights))
    for rater in range(ratings.shape[1]):
        given = np.where(rated[:, rater], ratings[:, rater], 0.0)
        observed += np.einsum("rj,rj->r", weights * rated[:, rater], _cost(values - given, weighting))
    for level in np.unique(ratings[rated]):
        share = weights @ (ratings == level).sum(axis=1)
        expected += share * np.einsum("rj,rj->r", pairs, _cost(values - level, weighting))
    return np.asarray(1 - np.divide(observed * n, expected, out=np.full(len(n), np.nan), where=expected > 0))


def _cost(differences: FloatArray, weighting: KappaWeighting) -> FloatArray:
    if weighting == "quadratic":
        return differences**2
    distance = np.abs(differences)
    return distance if weighting == "linear" else (distance > EQUAL).astype(np.float64)
