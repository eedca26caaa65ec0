"""The slopes of several groups: do they differ, and how far do they lie apart?"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy import special

from measurand.stats.inference import FloatArray, IntArray, Interval, Test, f_p

#: Clusters that a test of k differences needs for each, so that their covariance is more than noise.
CLUSTERS_FOR_EACH: Final = 3
#: Degrees of freedom below which a variance has no interval.
FEWEST_DEGREES: Final = 1.0
#: Groups above which all clusters by all groups are too large a table.
_MOST_GROUPS: Final = 500


def slopes_differ(x: FloatArray, y: FloatArray, group: IntArray, cluster: IntArray) -> Test:
    """Return the test that groups of clustered observations have one slope.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Observations.
    group : ndarray of int, shape (n,)
        Group of each observation, each with a line of its own; groups may share clusters.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation.

    Returns
    -------
    Test
        F on k and G - k degrees of freedom, k one less than the number of groups whose x varies, G the number of
        clusters: Hotelling's T² of the differences from the first group's slope, with a covariance that sums
        influences within clusters. Undefined with fewer than two such groups, with fewer than 3k clusters, and where
        the differences have no error.

    Notes
    -----
    T² = d'V⁻¹d, V = G/(G-1) Σ_c u_c u_c', u_c the sum over the cluster of (x - x̄) e / Σ (x - x̄)², differenced like d;
    F = T² (G - k) / (k (G - 1)). With one cluster for each observation it is close to the F of the interaction.

    References
    ----------
    Liang & Zeger (1986), Biometrika 73, 13-22 (the covariance); Pustejovsky & Tipton (2018), Journal of Business &
    Economic Statistics 36, 672-683, section 3 (T-squared tests with clusters).

    Examples
    --------
    >>> x, item = np.tile(np.arange(6.0), 2), np.tile(np.arange(6), 2)
    >>> y = np.r_[[0, 1.2, 1.9, 3.1, 4, 4.8], [0, -1.1, -2, -2.7, -4.1, -5]]
    >>> slopes_differ(x, y, np.repeat([0, 1], 6), item).p < 0.001
    True
    """
    nothing = math.nan
    names, position = np.unique(group, return_inverse=True)
    _, at = np.unique(cluster, return_inverse=True)
    n_clusters = int(at.max()) + 1
    if len(names) > _MOST_GROUPS:
        return Test(nothing, nothing, nothing, nothing, f"more than {_MOST_GROUPS} slopes to compare")
    size = np.bincount(position)
    centred = x - (np.bincount(position, weights=x) / size)[position]
    spread = np.bincount(position, weights=centred**2)
    largest = float(np.square(x).max(initial=0.0))
    keep = np.flatnonzero(spread > 1e-24 * size * largest)
    k = len(keep) - 1
    if k < 1:
        return Test(nothing, nothing, nothing, nothing, "fewer than two slopes to compare")
    if n_clusters < CLUSTERS_FOR_EACH * k:
        reason = f"{n_clusters} items for {k} differences of slopes; the test needs {CLUSTERS_FOR_EACH * k}"
        return Test(nothing, k, nothing, nothing, reason)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.bincount(position, weights=centred * y) / spread
    mean = np.bincount(position, weights=y) / size
    here = np.isin(position, keep)
    position, at, centred, y = position[here], at[here], centred[here], y[here]
    influence = centred * (y - mean[position] - slope[position] * centred) / spread[position]
    width = len(names)
    table = np.bincount(at * width + position, weights=influence, minlength=n_clusters * width)
    sums = table.reshape(n_clusters, width)[:, keep]
    d, u = slope[keep][1:] - slope[keep][0], sums[:, 1:] - sums[:, :1]
    covariance = n_clusters / (n_clusters - 1) * u.T @ u
    eigenvalues = np.linalg.eigvalsh(covariance)
    dust = (1e-13 * float(np.abs(y).max(initial=0.0))) ** 2 / float(spread[keep].max())
    if eigenvalues[0] <= max(1e-12 * float(eigenvalues[-1]), dust):
        return Test(nothing, k, nothing, nothing, "the differences of the slopes have no error to judge them by")
    t_squared = float(d @ np.linalg.solve(covariance, d))
    df2 = n_clusters - k
    f = t_squared * df2 / (k * (n_clusters - 1))
    return Test(f, k, df2, f_p(f, k, df2))


def variance_interval(variance: float, df: float, *, confidence: float) -> Interval:
    """Return the interval of a variance whose estimate is a multiple of chi-square.

    Parameters
    ----------
    variance, df : float
        The estimate and its degrees of freedom, which need not be whole.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        df v / χ² at both tails, extended to the estimate where a low level leaves it out. NaN below
        `FEWEST_DEGREES` of freedom: there chi-square is next to 0 or beyond any number, and its ends say nothing.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2, 110-114.

    Examples
    --------
    >>> [round(end, 3) for end in variance_interval(1.0, 10, confidence=0.95)[:2]]
    [0.488, 3.08]
    """
    if not df >= FEWEST_DEGREES:
        return Interval(math.nan, math.nan)
    # chdtri takes the probability above.
    low, high = (df * variance / float(special.chdtri(df, p)) for p in ((1 - confidence) / 2, (1 + confidence) / 2))
    return Interval(min(low, variance), max(high, variance))
