"""Does the nearest vector of the other language say the same? Precision at 1, by cosine and by CSLS."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray

#: Similarities of one block of queries.
_BLOCK: Final = 2**22
#: Differences of similarities up to which targets are equally near: rounding, not geometry.
_DUST: Final = 1e-12


class Retrieval(NamedTuple):
    """Whether each query's nearest target is its own, by cosine and by CSLS, each of shape (n_pairs,).

    1 if it is, 0 if another is nearer; where k targets are equally near and one of them is the right one, 1/k.
    """

    cosine: FloatArray
    csls: FloatArray


def retrieve(queries: FloatArray, targets: FloatArray, *, neighbours: int = 10) -> Retrieval:
    """Return for each query whether the nearest target is the one it belongs to.

    Parameters
    ----------
    queries, targets : ndarray, shape (n_pairs, n_dimensions)
        Vectors of length 1; row i of one belongs to row i of the other. All targets are candidates of every query.
    neighbours : int
        Nearest neighbours over which CSLS takes the mean similarity, at most the number of pairs.

    Returns
    -------
    Retrieval
        Precision at 1 is the mean; by chance it is 1 / n_pairs.

    Notes
    -----
    CSLS(x, y) = 2 cos(x, y) - r(x) - r(y), where r is a vector's mean cosine with its nearest neighbours on the other
    side. It takes from targets that are near to everything (hubs) what they would win by that alone.

    References
    ----------
    Conneau, Lample, Ranzato, Denoyer & Jégou (2018), Word translation without parallel data, ICLR, section 2.3.

    Examples
    --------
    >>> retrieve(np.eye(3), np.eye(3)[[0, 2, 1]]).cosine.tolist()
    [1.0, 0.0, 0.0]
    """
    # What a query has in common with its neighbours is the same for all targets and changes no order.
    crowded = _neighbourhood(targets, queries, neighbours)
    cosine, csls = np.empty(len(queries)), np.empty(len(queries))
    step = max(1, _BLOCK // max(1, len(targets)))
    for start in range(0, len(queries), step):
        similarity = queries[start : start + step] @ targets.T
        cosine[start : start + step] = _hits(similarity, start)
        csls[start : start + step] = _hits(2 * similarity - crowded, start)
    return Retrieval(cosine, csls)


def _neighbourhood(x: FloatArray, others: FloatArray, neighbours: int) -> FloatArray:
    """Return the mean cosine of each vector with its nearest neighbours among the others."""
    k = min(neighbours, len(others))
    out = np.empty(len(x))
    step = max(1, _BLOCK // max(1, len(others)))
    for start in range(0, len(x), step):
        similarity = x[start : start + step] @ others.T
        out[start : start + step] = np.partition(similarity, len(others) - k, axis=1)[:, len(others) - k :].mean(axis=1)
    return out


def _hits(score: FloatArray, start: int) -> FloatArray:
    """Return the share of each row's highest scores that the right target has; row i's stands in column start + i."""
    nearest = score >= score.max(axis=1, keepdims=True) - _DUST
    row = np.arange(len(score))
    return np.asarray(nearest[row, start + row] / nearest.sum(axis=1))
