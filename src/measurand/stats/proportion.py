"""Intervals of a share."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from measurand.stats.inference import FloatArray, Interval, t_quantile


def wilson(successes: float, n: float, *, confidence: float) -> Interval:
    """Return Wilson's score interval of a share of independent trials.

    Parameters
    ----------
    successes : float
        Number of successes; halves, as of ties, are allowed.
    n : float
        Number of trials.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        Both ends in [0, 1]; NaN without trials. With p = successes / n and the normal quantile z the ends are
        (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n). Trials that share an item, a rater or an opponent are not
        independent, and then it is too narrow.

    Raises
    ------
    ValueError
        If there are fewer trials than successes, or fewer successes than none.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212; Newcombe (1998), Statistics in Medicine
    17, 857-872, method 3.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.603 * 240, 240, confidence=0.95)]
    [0.54, 0.663, 0.0]
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials")
    if n == 0:
        return Interval(math.nan, math.nan)
    z = float(special.ndtri((1 + confidence) / 2))
    p, pull = successes / n, z * z / n
    half = z * math.sqrt(p * (1 - p) / n + pull / (4 * n))
    low, high = ((p + pull / 2 + sign * half) / (1 + pull) for sign in (-1, 1))
    # At the ends the square root cancels exactly but for rounding.
    return Interval(0.0 if successes == 0 else low, 1.0 if successes == n else high)


def clustered_share(successes: FloatArray, n: FloatArray, *, confidence: float) -> Interval:
    """Return the t interval of a share whose trials lie in clusters, from each cluster's sums.

    Parameters
    ----------
    successes, n : ndarray, shape (n_clusters,)
        Successes, halves allowed, and trials of each cluster.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        p ± t SE, cut at 0 and 1; SE² = G/(G-1) Σ_g (s_g - p n_g)² / n², df = G - 1, as of `clustered_mean`. NaN with
        fewer than two clusters that have trials.

    Examples
    --------
    >>> ends = clustered_share(np.array([6.0, 8, 7]), np.array([10.0, 10, 10]), confidence=0.95)
    >>> [round(end, 3) for end in ends[:2]]
    [0.452, 0.948]
    """
    tried = n > 0
    size = int(tried.sum())
    if size < 2:
        return Interval(math.nan, math.nan)
    p = float(successes.sum() / n.sum())
    residual = (successes - p * n)[tried]
    half = t_quantile(size - 1, confidence) * math.sqrt(size / (size - 1) * float(residual @ residual)) / float(n.sum())
    return Interval(max(p - half, 0.0), min(p + half, 1.0))


def jackknife_interval(estimate: float, without: FloatArray, *, confidence: float) -> Interval:
    """Return the t interval of an estimate from what it is without each cluster.

    Parameters
    ----------
    estimate : float
        With all clusters.
    without : ndarray, shape (n_clusters,)
        Without each of them; NaN anywhere leaves the interval undefined.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        estimate ± t SE with SE² = (G-1)/G Σ (θ_g - θ̄)², df = G - 1; NaN below two clusters.

    References
    ----------
    Efron & Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5.

    Examples
    --------
    >>> [round(end, 3) for end in jackknife_interval(2.0, np.array([2.5, 2.0, 1.5]), confidence=0.95)[:2]]
    [-0.484, 4.484]
    """
    n = len(without)
    if n < 2 or np.isnan(without).any():
        return Interval(math.nan, math.nan)
    error = math.sqrt((n - 1) / n * float(np.square(without - without.mean()).sum()))
    half = t_quantile(n - 1, confidence) * error
    return Interval(estimate - half, estimate + half)
