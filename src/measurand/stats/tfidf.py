"""Rows of token counts, and what they become as features of many training sets at once: TF-IDF, or as they are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from measurand.stats.inference import FloatArray, IntArray

Matrix = sparse.csr_array | FloatArray


class Patterns(NamedTuple):
    """The distinct rows of a matrix, shape (n_patterns, n_features), and which of them each row is, (n_rows,)."""

    rows: Matrix
    of_row: IntArray


def patterns(x: Matrix) -> Patterns:
    """Return the distinct rows of a sparse or dense matrix, in order of first appearance.

    Short outputs repeat a lot, and rows that are equal have equal features under every training set.

    Examples
    --------
    >>> found = patterns(np.array([[1, 0], [0, 2], [1, 0]]))
    >>> found.rows.tolist(), found.of_row.tolist()
    ([[1.0, 0.0], [0.0, 2.0]], [0, 1, 0])
    """
    x = x.astype(np.float64)
    if isinstance(x, np.ndarray):
        x += 0.0  # -0 is 0
        contents: Iterable[object] = (row.tobytes() for row in x)
    else:
        x.sum_duplicates()
        x.eliminate_zeros()
        ends, indices, data = x.indptr, x.indices, x.data
        contents = ((indices[start:end].tobytes(), data[start:end].tobytes()) for start, end in pairwise(ends))
    seen: dict[object, int] = {}
    of_row = np.array([seen.setdefault(content, len(seen)) for content in contents], dtype=np.int64)
    first = np.unique(of_row, return_index=True)[1]
    return Patterns(x[first], of_row)


@dataclass(frozen=True)
class FeatureStack:
    """Features of the same rows in several problems: X_f = diag(row_f) M diag(column_f), one matrix M for all f.

    Parameters
    ----------
    matrix, transposed, squared : sparse or dense array
        M of shape (n_rows, n_features), its transpose, and the transpose of its elementwise squares.
    row : ndarray, shape (n_rows, n_problems), optional
        Factors of rows; None for 1.
    column : ndarray, shape (n_features, n_problems), optional
        Factors of features; None for 1.
    """

    matrix: Matrix
    transposed: Matrix
    squared: Matrix
    row: FloatArray | None = None
    column: FloatArray | None = None

    def scores(self, slopes: FloatArray) -> FloatArray:
        """Return X_f w_f, shape (n_rows, n_problems), for slopes of shape (n_features, n_problems)."""
        out = np.asarray(self.matrix @ (slopes if self.column is None else slopes * self.column))
        if self.row is not None:
            out *= self.row
        return out

    def back(self, residuals: FloatArray) -> FloatArray:
        """Return X_f' r_f, shape (n_features, n_problems), for residuals of shape (n_rows, n_problems)."""
        out = np.asarray(self.transposed @ (residuals if self.row is None else residuals * self.row))
        if self.column is not None:
            out *= self.column
        return out

    def back_squared(self, residuals: FloatArray) -> FloatArray:
        """Return the same with the squares of X_f."""
        out = np.asarray(self.squared @ (residuals if self.row is None else residuals * self.row**2))
        if self.column is not None:
            out *= self.column**2
        return out

    def of(self, problems: IntArray) -> FeatureStack:
        """Return the features of some of the problems."""
        row = None if self.row is None else np.ascontiguousarray(self.row[:, problems])
        column = None if self.column is None else np.ascontiguousarray(self.column[:, problems])
        return replace(self, row=row, column=column)


def plain_features(x: Matrix) -> FeatureStack:
    """Return a matrix as it is, as the features of every problem."""
    if isinstance(x, np.ndarray):
        return FeatureStack(x, x.T, np.square(x).T)
    return FeatureStack(x, sparse.csr_array(x.T), sparse.csr_array(x.power(2).T))


def tfidf_features(counts: sparse.csr_array, weight: FloatArray) -> FeatureStack:
    """Return the TF-IDF features of token counts, the weights of tokens taken from each problem's training rows.

    Parameters
    ----------
    counts : sparse array (n_rows, n_tokens)
        How often each row has each token, 1 or more where stored.
    weight : ndarray, shape (n_rows, n_problems)
        How often each row is in a problem's training set; 0 for rows outside.

    Returns
    -------
    FeatureStack
        (1 + ln tf) idf, each row divided by its length. A row without a token that the training rows have, an empty
        one above all, is a row of zeros.

    Notes
    -----
    idf = ln((1 + n) / (1 + df)) + 1, n the number of training rows and df the number of those that have the token, a
    repeated row counted as often as it is repeated; tokens that no training row has are left out. These are
    scikit-learn's `sublinear_tf=True`, `smooth_idf=True`, `norm="l2"`.

    References
    ----------
    Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, sections 6.2 and 6.4.
    """
    scaled = sparse.csr_array(counts, copy=True)
    scaled.data = 1.0 + np.log(scaled.data)
    plain = plain_features(scaled)
    held = sparse.csr_array(scaled.T)
    held.data = np.ones_like(held.data)
    df = np.asarray(held @ weight)
    idf = np.where(df > 0, np.log((1 + weight.sum(axis=0)) / (1 + df)) + 1, 0.0)
    length = np.sqrt(np.asarray(scaled.power(2) @ idf**2))
    return replace(plain, row=np.divide(1.0, length, out=np.zeros_like(length), where=length > 0), column=idf)
