"""Agreement of answers with single ratings: quadratic kappa from moments, linear and unweighted kappa from tables."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray

KappaWeighting = Literal["quadratic", "linear", "unweighted"]

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
    above = 2 * (n * xy - x * y)
    dust = _DUST * (n * (np.abs(xx) + np.abs(yy)) + 2 * np.abs(x * y))
    is_defined = (n > 0) & (below > dust)
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


def kappa_of_tables(tables: FloatArray, levels: FloatArray, weighting: KappaWeighting) -> FloatArray:
    """Return Cohen's kappa of joint frequency tables.

    Parameters
    ----------
    tables : ndarray, shape (n_rows, n_levels, n_levels)
        How often level i of one side meets level j of the other; not negative.
    levels : ndarray, shape (n_levels,)
        Values of the levels in scale units, ascending.
    weighting : {"quadratic", "linear", "unweighted"}
        Disagreement (i - j)^2, abs(i - j), or 1 where i and j differ, in scale units.

    Returns
    -------
    ndarray, shape (n_rows,)
        1 - observed / expected disagreement; NaN where both sides are the same constant.

    References
    ----------
    Cohen (1960), Educational and Psychological Measurement 20, 37-46; Cohen (1968), Psychological Bulletin 70.

    Examples
    --------
    >>> table = np.array([[[20.0, 5], [10, 15]]])
    >>> round(float(kappa_of_tables(table, np.array([0.0, 1]), "unweighted")[0]), 4)
    0.4
    """
    distance = np.abs(levels[:, None] - levels[None, :])
    cost = {"quadratic": distance**2, "linear": distance, "unweighted": (distance > 0).astype(float)}[weighting]
    n = tables.sum(axis=(1, 2))
    observed = np.einsum("rij,ij->r", tables, cost)
    expected = np.einsum("ri,ij,rj->r", tables.sum(axis=2), cost, tables.sum(axis=1))
    return np.asarray(1 - np.divide(observed * n, expected, out=np.full(len(n), np.nan), where=expected > 0))
