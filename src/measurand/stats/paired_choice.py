"""Win rates of things that were compared two at a time, with unequal opponents."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray


def win_rates(wins: FloatArray, counts: FloatArray) -> FloatArray:
    """Return each thing's share of won comparisons, whoever the opponents were.

    Parameters
    ----------
    wins : ndarray, shape (..., n, n)
        Row i, column j: how often i won against j, a tie counting half for each if ties count.
    counts : ndarray, shape (..., n, n)
        How often i and j were compared; symmetric.

    Returns
    -------
    ndarray, shape (..., n)
        In [0, 1]; NaN where a thing was never compared.

    Examples
    --------
    >>> win_rates(np.array([[0, 3.0], [1, 0]]), np.array([[0, 4.0], [4, 0]])).tolist()
    [0.75, 0.25]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(wins.sum(axis=-1) / counts.sum(axis=-1))


def adjusted_win_rates(wins: FloatArray, counts: FloatArray) -> FloatArray:
    """Return each thing's win rate against an average opponent, by additive effects.

    Parameters
    ----------
    wins, counts : ndarray, shape (..., n, n)
        As in `win_rates`.

    Returns
    -------
    ndarray, shape (..., n)
        1/2 + θ_i - mean of the other θ; NaN throughout where the comparisons do not connect all things. Least squares
        does not keep it within [0, 1], which it leaves only where nearly every comparison has one outcome.

    Notes
    -----
    The share of i's wins against j is 1/2 + θ_i - θ_j with Σ θ = 0, fitted by least squares over comparisons: Lθ = r, L
    the Laplacian of the counts and r_i = Σ_j (wins_ij - counts_ij / 2). With every pair compared equally often it is
    the plain win rate. Unlike the odds of Bradley and Terry it stays finite where a pair has one outcome only.

    References
    ----------
    Mosteller (1951), Psychometrika 16, 3-9 (least squares of paired comparisons).

    Examples
    --------
    >>> wins, counts = np.array([[0, 3.0, 8], [1, 0, 3], [0, 1, 0]]), np.array([[0, 4.0, 8], [4, 0, 4], [8, 4, 0]])
    >>> adjusted_win_rates(wins, counts).round(3).tolist()
    [0.875, 0.5, 0.125]
    """
    n = counts.shape[-1]
    if n < 2:
        return np.full(counts.shape[:-1], np.nan)
    is_whole = connected(counts)
    degree = counts.sum(axis=-1)
    laplacian = np.where(np.eye(n, dtype=bool), degree[..., None], -counts)
    # The mean of θ is free; one more equation, in units of the counts, sets it to 0.
    scale = degree.sum(axis=-1) / n
    laplacian = laplacian + (np.where(is_whole, scale, 1.0) / n)[..., None, None]
    laplacian = np.where(is_whole[..., None, None], laplacian, np.eye(n))
    right = (wins - counts / 2).sum(axis=-1)
    theta = np.linalg.solve(laplacian, right[..., None])[..., 0]
    return np.asarray(np.where(is_whole[..., None], 0.5 + theta * n / (n - 1), np.nan))


def connected(counts: FloatArray) -> npt.NDArray[np.bool_]:
    """Return whether comparisons connect all things, shape (...).

    Examples
    --------
    >>> bool(connected(np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]])))
    False
    """
    n = counts.shape[-1]
    reach = (counts > 0) | np.eye(n, dtype=bool)
    steps = 1
    while steps < n - 1:
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
        steps *= 2
    return np.asarray(reach.all(axis=(-1, -2)))
