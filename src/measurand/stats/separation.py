"""How far apart classes of vectors lie: Fisher's ratio of variance between and within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from measurand.stats.geometry import Points
from measurand.stats.inference import FloatArray, IntArray


class Shrunk(NamedTuple):
    """A whitened ratio and how far the covariance within classes was drawn towards a multiple of the identity."""

    ratio: float
    shrinkage: float


def fisher_ratio(x: Points, group: IntArray, block: IntArray) -> FloatArray:
    """Return the variance of class means over the variance within classes, as traces.

    Parameters
    ----------
    x : ndarray, shape (n, n_dimensions)
        The vectors.
    group : ndarray of int, shape (n,)
        The class of each vector, 0 to the number of classes minus 1.
    block : ndarray of int, shape (n,)
        The block that each vector belongs to, see `measurand.stats.jackknife`.

    Returns
    -------
    ndarray, shape (1 + n_blocks,)
        tr S_B / tr S_W, 0 or more, with S_B = Σ (n_c / n)(m_c - m)(m_c - m)ᵀ and S_W = Σ (n_c / n) S_c: about
        (k - 1) / (n - k) for k classes that do not differ. NaN where no vector differs from its class mean.

    Notes
    -----
    The trace weighs directions by their variance, so that it depends on the units of the dimensions, and classes that
    differ in one weak direction hardly show. `fisher_ratio_whitened` weighs all directions alike.

    Examples
    --------
    >>> x = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> fisher_ratio(x, np.array([0, 0, 1, 1]), np.zeros(4, dtype=int))[0]
    np.float64(25.0)
    """
    points = np.asarray(x, dtype=np.float64) - np.mean(x, axis=0, dtype=np.float64)
    n_classes, n_blocks = int(group.max()) + 1, int(block.max()) + 1
    square = np.einsum("ij,ij->i", points, points)
    n = len(x) - np.r_[0, np.bincount(block, minlength=n_blocks)].astype(float)
    total = square.sum() - np.r_[0.0, np.bincount(block, weights=square, minlength=n_blocks)]
    whole = np.zeros((1 + n_blocks, x.shape[1]))
    explained = np.zeros(1 + n_blocks)
    for one in range(n_classes):
        here = np.flatnonzero(group == one)
        sums = np.zeros((1 + n_blocks, x.shape[1]))
        np.subtract.at(sums, block[here] + 1, points[here])
        sums += points[here].sum(axis=0)
        size = len(here) - np.r_[0, np.bincount(block[here], minlength=n_blocks)]
        explained += np.einsum("gj,gj->g", sums, sums) / np.maximum(size, 1)
        whole += sums
    within = total - explained
    within[within <= 1e-14 * total] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        between = np.maximum(0.0, explained - np.einsum("gj,gj->g", whole, whole) / n)
        return np.where(within > 0, between / within, np.nan)


def fisher_ratio_whitened(x: Points, group: IntArray, n_dimensions: int) -> Shrunk:
    """Return the variance of class means in units of the variance within classes, direction by direction.

    Parameters
    ----------
    x : ndarray, shape (n, n_coordinates)
        The vectors, as coordinates in a space of no more dimensions (see `measurand.stats.geometry.compact`).
    group : ndarray of int, shape (n,)
        The class of each vector, 0 to the number of classes minus 1.
    n_dimensions : int
        Number of dimensions that the vectors had.

    Returns
    -------
    Shrunk
        tr(S⁻¹ S_B), and the shrinkage in S = (1 - s) S_W + s tr(S_W) / d I. With fewer vectors than dimensions S_W has
        no inverse, and its pseudo-inverse would leave out just those directions in which only the means differ;
        Ledoit and Wolf's s draws it to the identity by as much as its sampling error asks for. NaN where no vector
        differs from its class mean.

    References
    ----------
    Ledoit & Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices, Journal of
    Multivariate Analysis 88, 365-411, section 3.

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [2.0, 1.0], [10.0, 0.0], [12.0, 1.0]])
    >>> fisher_ratio_whitened(x, np.array([0, 0, 1, 1]), 2).ratio > 0
    True
    """
    n = len(x)
    points = np.asarray(x, dtype=np.float64) - np.mean(x, axis=0, dtype=np.float64)
    sizes = np.bincount(group).astype(float)
    member = np.eye(len(sizes))[group]
    means = (member.T @ points) / np.maximum(sizes, 1.0)[:, None]
    inside = points - means[group]
    covariance = inside.T @ inside / n
    level = float(np.trace(covariance)) / n_dimensions
    if level * n_dimensions <= 1e-14 * float(np.square(points).sum()) / n:
        return Shrunk(np.nan, np.nan)
    norm = float(np.square(covariance).sum())
    spread = norm - level**2 * n_dimensions
    error = (float(np.square(np.square(inside).sum(axis=1)).sum()) / n - norm) / n
    shrinkage = 1.0 if spread <= 1e-14 * norm else min(1.0, max(0.0, error / spread))
    covariance *= 1 - shrinkage
    covariance[np.diag_indices_from(covariance)] += shrinkage * level + 1e-12 * level
    solved = linalg.cho_solve(linalg.cho_factor(covariance, overwrite_a=True, check_finite=False), means.T)
    return Shrunk(float(sizes @ np.einsum("cj,jc->c", means, solved)) / n, shrinkage)
