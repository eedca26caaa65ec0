"""The jackknife that leaves out blocks: intervals of statistics that are recomputed without each part of the sample."""

from __future__ import annotations

import numpy as np

from measurand.stats.inference import FloatArray, IntArray, Interval, t_quantile


def blocks(cluster: IntArray, *, most: int, rng: np.random.Generator) -> IntArray:
    """Return the block of each observation: clusters stay whole and are dealt out at random.

    Parameters
    ----------
    cluster : ndarray of int, shape (n,)
        Cluster of each observation.
    most : int
        Largest number of blocks; with no more clusters than that every cluster is a block.
    rng : numpy.random.Generator
        See `measurand.stats.inference.stream`.

    Returns
    -------
    ndarray of int, shape (n,)
        0 to the number of blocks minus 1.

    Examples
    --------
    >>> blocks(np.array([5, 5, 9]), most=10, rng=np.random.default_rng(0)).tolist() in ([0, 0, 1], [1, 1, 0])
    True
    """
    _, position = np.unique(cluster, return_inverse=True)
    n_clusters = int(position.max(initial=-1)) + 1
    block = rng.permutation(n_clusters) % max(1, min(most, n_clusters))
    return np.asarray(block[position], dtype=np.int64)


def jackknife_interval(
    values: FloatArray, block: IntArray, *, confidence: float, is_logarithmic: bool = False
) -> Interval:
    """Return the interval of a statistic from its values without each block.

    Parameters
    ----------
    values : ndarray, shape (1 + n_blocks,)
        The statistic of the whole sample, then without each block in turn.
    block : ndarray of int, shape (n,)
        The block of each observation, see `blocks`.
    confidence : float
        Level of the interval.
    is_logarithmic : bool
        Whether the interval is made on the logarithm of the statistic, which then is positive.

    Returns
    -------
    Interval
        Estimate ± t × standard error, n_blocks - 1 degrees of freedom; NaN below three blocks, and where the statistic
        is undefined for the sample or without some block.

    Notes
    -----
    With h = n / m for a block of m of the n observations and pseudo-values τ = h θ - (h - 1) θ(without), the variance
    is the mean over blocks of (τ - θ_J)² / (h - 1), where θ_J = G θ - Σ (1 - m / n) θ(without). For blocks of equal
    size it is the usual one, (G - 1) / G Σ (θ(without) - their mean)².

    References
    ----------
    Busing, Meijer & van der Leeden (1999). Delete-m jackknife for unequal m. Statistics and Computing 9, 3-8.

    Examples
    --------
    The jackknife of a mean is its t interval:

    >>> x = np.array([1.0, 2.0, 3.0])
    >>> without = np.array([x.mean(), 2.5, 2.0, 1.5])
    >>> [round(end, 4) for end in jackknife_interval(without, np.arange(3), confidence=0.95)[:2]]
    [-0.4841, 4.4841]
    """
    sizes = np.bincount(block).astype(float)
    n_blocks, n = len(sizes), float(len(block))
    if n_blocks < 3:
        return Interval(np.nan, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.log(values) if is_logarithmic else values
        whole, without = used[0], used[1:]
        factor = n / sizes
        centre = n_blocks * whole - ((1 - 1 / factor) * without).sum()
        pseudo = factor * whole - (factor - 1) * without
        variance = ((pseudo - centre) ** 2 / (factor - 1)).mean()
        half = t_quantile(n_blocks - 1, confidence) * float(np.sqrt(variance))
    low, high = float(whole - half), float(whole + half)
    if not np.isfinite(half):
        return Interval(np.nan, np.nan)
    return Interval(float(np.exp(low)), float(np.exp(high))) if is_logarithmic else Interval(low, high)
