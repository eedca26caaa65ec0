"""The share of hits among observations that lie in clusters, with an interval that stays within 0 and 1."""

from __future__ import annotations

import numpy as np
from scipy import special

from measurand.stats.inference import FloatArray, IntArray, Interval, t_quantile
from measurand.stats.proportion import wilson


def share_interval(hits: FloatArray, cluster: IntArray, *, confidence: float) -> Interval:
    """Return Wilson's interval of a share, for as many independent observations as the clusters are worth.

    Parameters
    ----------
    hits : ndarray, shape (n,)
        1 for a hit, 0 for a miss, a share where a tie was split.
    cluster : ndarray of int, shape (n,)
        Cluster of each observation; observations of one cluster may be correlated.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        Within [0, 1], never of width 0; NaN with a single cluster.

    Notes
    -----
    The effective sample size is n divided by the design effect (the variance of the share with residuals summed within
    clusters over p (1 - p) / n), never above n; where all are hits, or none is, it is the number of clusters. It is
    multiplied by (z / t)², with the normal quantile z and the t quantile of G - 1 degrees of freedom for G clusters.

    References
    ----------
    Wilson (1927), Journal of the American Statistical Association 22, 209-212. Effective sizes: Korn & Graubard (1998),
    Survey Methodology 24, 193-201.

    Examples
    --------
    >>> [round(end, 3) for end in share_interval(np.ones(10), np.arange(10), confidence=0.95)[:2]]
    [0.661, 1.0]
    """
    _, position = np.unique(cluster, return_inverse=True)
    n, n_clusters, share = len(hits), int(position.max(initial=-1)) + 1, float(hits.mean())
    if n_clusters < 2:
        return Interval(np.nan, np.nan)
    sums = np.bincount(position, weights=hits - share)
    variance = n_clusters / (n_clusters - 1) * float(sums @ sums) / n**2
    binomial = share * (1 - share) / n
    z, t = float(special.ndtri((1 + confidence) / 2)), t_quantile(n_clusters - 1, confidence)
    effective = n * min(1.0, binomial / max(variance, 1e-300)) if 0 < share < 1 else float(n_clusters)
    effective *= (z / t) ** 2
    return wilson(share * effective, effective, confidence=confidence)
