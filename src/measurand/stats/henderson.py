"""Unbiased variance components of incomplete panels: Henderson's first method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from measurand.stats.inference import FloatArray
from measurand.stats.mixed import Term, indicator


def henderson(rating: FloatArray, terms: Sequence[Term], *, equations: FloatArray | None = None) -> dict[str, float]:
    """Return the unbiased variance components of an all-random model by Henderson's first method.

    Parameters
    ----------
    rating : ndarray, shape (n,)
        Ratings in scale units.
    terms : sequence of Term
        Random effects, crossed or nested, complete or not.
    equations : ndarray or None
        What `henderson_equations` gave, if it is known already.

    Returns
    -------
    dict
        Term, and ``"residual"``, to component; negative ones keep their sign. T_a = Σ_levels (Σ y)² / n_a has the
        expectation N μ² + Σ_b k_ab σ²_b with k_ab = Σ_a (Σ_b n_ab²) / n_a; the components solve these equations with
        T_mean taken off.

    Raises
    ------
    ValueError
        If the equations do not determine the components.

    References
    ----------
    Henderson (1953), Biometrics 9, 226-252; Searle, Casella & McCulloch (1992), Variance Components, section 5.3.
    """
    y = rating - rating.mean()
    matrix = henderson_equations(terms, len(y)) if equations is None else equations
    right = henderson_sums(y[:, None], terms)[:, 0]
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise ValueError("the design does not determine the components")
    values = np.linalg.solve(matrix, right)
    return dict(zip([*(term.name for term in terms), "residual"], map(float, values), strict=True))


def henderson_sums(ratings: FloatArray, terms: Sequence[Term]) -> FloatArray:
    """Return T_a - T_mean of each term and of the ratings themselves, shape (n_terms + 1, n_columns).

    Parameters
    ----------
    ratings : ndarray, shape (n, n_columns)
        One or many sets of ratings in the same layout.
    terms : sequence of Term
        Random effects.
    """
    mean = ratings.sum(axis=0) ** 2 / len(ratings)
    out = []
    for term in terms:
        sums = indicator(term.codes, term.n_levels).T @ ratings
        out.append((sums**2 / np.bincount(term.codes)[:, None]).sum(axis=0) - mean)
    out.append((ratings**2).sum(axis=0) - mean)
    return np.array(out)


def henderson_equations(terms: Sequence[Term], n: int) -> FloatArray:
    """Return the coefficients of the components in the expectations of `henderson_sums`."""
    size = len(terms) + 1
    matrix = np.zeros((size, size))
    of_mean = np.array([*(float((np.bincount(t.codes).astype(float) ** 2).sum()) / n for t in terms), 1.0])
    for row, a in enumerate(terms):
        n_a = np.bincount(a.codes).astype(float)
        for column, b in enumerate(terms):
            cells, counts = np.unique(a.codes * b.n_levels + b.codes, return_counts=True)
            matrix[row, column] = float((counts.astype(float) ** 2 / n_a[cells // b.n_levels]).sum())
        matrix[row, -1] = a.n_levels
    matrix[-1] = n
    return np.asarray(matrix - of_mean)
