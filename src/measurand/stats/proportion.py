"""Intervals of a share."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from measurand.stats.inference import FloatArray, IntArray, Interval, t_quantile


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


def unanimous_share(share: float, n_clusters: int, *, confidence: float) -> Interval:
    """Return Wilson's interval of a share from which no cluster departs: t and bootstrap would have no width.

    Parameters
    ----------
    share : float
        In [0, 1]: every cluster's own.
    n_clusters : int
        Items, or raters, that agree on it.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        Wilson's for (z / t)² G independent trials of G clusters, with the normal quantile z and the t quantile of G - 1
        degrees of freedom, as of `share_interval` where all are hits. NaN below two clusters.

    Examples
    --------
    >>> [round(end, 3) for end in unanimous_share(0.75, 3, confidence=0.95)[:2]]
    [0.079, 0.991]
    """
    if n_clusters < 2:
        return Interval(math.nan, math.nan)
    z, t = float(special.ndtri((1 + confidence) / 2)), t_quantile(n_clusters - 1, confidence)
    effective = n_clusters * (z / t) ** 2
    return wilson(share * effective, effective, confidence=confidence)


def share_interval(hits: FloatArray, cluster: IntArray, *, confidence: float) -> Interval:
    """Return Wilson's interval of a share, for as many independent observations as the clusters are worth.

    Parameters
    ----------
    hits : ndarray, shape (n,)
        1 for a hit, 0 for a miss, a share where a tie was split; at least one.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation; observations of one cluster may be correlated.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        Within [0, 1], never of width 0. Wilson's own where every observation is a cluster; NaN where all of several
        are one.

    Notes
    -----
    Else the effective sample size is n divided by the design effect (the variance of the share with residuals summed
    within clusters over p (1 - p) / n), never above n; where all are hits, or none is, it is the number of clusters.
    Since the design effect is estimated, it is multiplied by (z / t)², with the normal quantile z and the t quantile of
    G - 1 degrees of freedom for G clusters.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212. Effective sizes: Korn & Graubard (1998),
    Survey Methodology 24, 193-201.

    Examples
    --------
    >>> two_each = np.arange(20) // 2
    >>> [round(end, 3) for end in share_interval(np.ones(20), two_each, confidence=0.95)[:2]]
    [0.661, 1.0]
    """
    _, position = np.unique(cluster, return_inverse=True)
    n, n_clusters, share = len(hits), int(position.max(initial=-1)) + 1, float(hits.mean())
    if n_clusters == n:
        return wilson(float(hits.sum()), n, confidence=confidence)
    if n_clusters < 2:
        return Interval(math.nan, math.nan)
    sums = np.bincount(position, weights=hits - share)
    variance = n_clusters / (n_clusters - 1) * float(sums @ sums) / n**2
    binomial = share * (1 - share) / n
    z, t = float(special.ndtri((1 + confidence) / 2)), t_quantile(n_clusters - 1, confidence)
    effective = n * min(1.0, binomial / max(variance, 1e-300)) if 0 < share < 1 else float(n_clusters)
    effective *= (z / t) ** 2
    return wilson(share * effective, effective, confidence=confidence)
