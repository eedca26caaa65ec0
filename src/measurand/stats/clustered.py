"""Means, differences and slopes of observations that lie in clusters, with standard errors that sum within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from measurand.stats.inference import FloatArray, IntArray, t_p, t_quantile


class Difference(NamedTuple):
    """A difference of two group means with cluster-robust standard error."""

    difference: float
    standard_error: float
    df: float
    p: float
    standardised: float
    undefined: str = ""


def clustered_difference(values: FloatArray, is_in: npt.NDArray[np.bool_], cluster: IntArray) -> Difference:
    """Return the difference of means between two groups of observations that lie in clusters.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Observations.
    is_in : ndarray of bool, shape (n,)
        Which of them belong to the first group.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation; observations of one cluster may be correlated.

    Returns
    -------
    Difference
        Mean of the first group minus mean of the second; the standard error sums influences within clusters
        (Liang & Zeger 1986, Biometrika 73, 13-22); df is the smaller group's number of clusters minus 1, which errs
        on the careful side; `standardised` is the difference in pooled standard deviations. Where neither group has
        spread inside, p is that of the permutation test and `standardised` infinite. Undefined with fewer than two
        clusters on one side, and where nothing varies.

    Examples
    --------
    >>> d = clustered_difference(np.array([1.0, 3, 2, 5, 4]), np.array([True, True, False, False, False]), np.arange(5))
    >>> round(d.difference, 3)
    -1.667
    """
    n_in, n_out = int(is_in.sum()), int((~is_in).sum())
    _, position = np.unique(cluster, return_inverse=True)
    inside, outside = len(np.unique(position[is_in])), len(np.unique(position[~is_in]))
    if min(inside, outside) < 2:
        return Difference(np.nan, np.nan, np.nan, np.nan, np.nan, "fewer than two items on one side")
    mean_in, mean_out = values[is_in].mean(), values[~is_in].mean()
    residual = values - np.where(is_in, mean_in, mean_out)
    pooled = np.sqrt((residual**2).sum() / (n_in + n_out - 2))
    if pooled <= 1e-14 * np.abs(values).max(initial=0.0):
        if abs(mean_in - mean_out) <= 1e-14 * np.abs(values).max(initial=0.0):
            return Difference(0.0, 0.0, np.nan, np.nan, np.nan, "the other ratings do not vary")
        # No spread inside either group: t has no finite value, but of all ways to choose the first group's clusters
        # this is the one that parts the values, or its mirror image.
        n = len(np.unique(position))
        p = min(1.0, 2.0 * float(np.exp(-_log_choose(n, min(inside, n - 1)))))
        difference = float(mean_in - mean_out)
        return Difference(difference, 0.0, min(inside, outside) - 1, p, float(np.copysign(np.inf, difference)))
    influence = residual * np.where(is_in, 1 / n_in, -1 / n_out)
    sums = np.bincount(position, weights=influence)
    n = len(sums)
    error = float(np.sqrt(n / (n - 1) * (sums**2).sum()))
    df = min(inside, outside) - 1
    difference = float(mean_in - mean_out)
    if error <= 1e-14 * np.abs(values).max(initial=0.0):
        why = "the items do not vary: there is no error to hold the difference against"
        return Difference(difference, 0.0, df, np.nan, np.nan, why)
    return Difference(difference, error, df, t_p(difference / error, df), difference / float(pooled))


def _log_choose(n: int, k: int) -> float:
    return float(special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1))


class ClusteredMean(NamedTuple):
    """A mean of clustered observations and the ends of its t interval."""

    mean: float
    low: float
    high: float
    n_clusters: int


def clustered_mean(values: FloatArray, cluster: IntArray, *, confidence: float) -> ClusteredMean:
    """Return a mean with a t interval whose standard error sums residuals within clusters.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Observations.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation.
    confidence : float
        Level of the interval.

    Returns
    -------
    ClusteredMean
        The ends are NaN with a single cluster. SE² = G/(G-1) Σ_g (Σ_i∈g e_i)² / n² (Miller 2024, arXiv 2411.00640,
        equation 4, with the small-sample factor), df = G - 1.

    Examples
    --------
    >>> clustered_mean(np.array([1.0, 2.0, 3.0]), np.arange(3), confidence=0.95).mean
    2.0
    """
    mean = float(values.mean())
    _, position = np.unique(cluster, return_inverse=True)
    sums = np.bincount(position, weights=values - mean)
    n = len(sums)
    if n < 2:
        return ClusteredMean(mean, np.nan, np.nan, n)
    error = float(np.sqrt(n / (n - 1) * (sums**2).sum())) / len(values)
    half = t_quantile(n - 1, confidence) * error
    return ClusteredMean(mean, mean - half, mean + half, n)


class Slope(NamedTuple):
    """A least-squares slope with cluster-robust standard error."""

    slope: float
    standard_error: float
    df: float
    p: float
    undefined: str = ""


def clustered_slope(x: FloatArray, y: FloatArray, cluster: IntArray) -> Slope:
    """Return the slope of y on x for observations that lie in clusters.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Observations.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation.

    Returns
    -------
    Slope
        Least squares; the standard error sums influences within clusters, with the factor G / (G - 2); df = G - 2.
        Undefined with fewer than three clusters, where x does not vary, and where no point is off the line.

    Examples
    --------
    >>> round(clustered_slope(np.arange(4.0), np.array([0.0, 1.0, 2.5, 3.0]), np.arange(4)).slope, 2)
    1.05
    """
    _, position = np.unique(cluster, return_inverse=True)
    n = int(position.max()) + 1
    centred = x - x.mean()
    spread = float(centred @ centred)
    if n < 3 or spread == 0:
        return Slope(np.nan, np.nan, np.nan, np.nan, "fewer than three items" if n < 3 else "x does not vary")
    slope = float(centred @ y) / spread
    residual = y - y.mean() - slope * centred
    sums = np.bincount(position, weights=centred * residual)
    error = float(np.sqrt(n / (n - 2) * (sums**2).sum())) / spread
    if error <= 1e-12 * max(abs(slope), float(np.abs(y).max(initial=0.0)), 1e-300):
        return Slope(slope, 0.0, n - 2, np.nan, "the points lie on a line: there is no error to judge it by")
    return Slope(slope, error, n - 2, t_p(slope / error, n - 2))
