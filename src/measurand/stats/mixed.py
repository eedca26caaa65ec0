"""Mixed models of rating panels, crossed or nested, complete or not, by blocks of one facet.

A rating is a fixed part plus random effects of facets and their interactions plus error. All effects that lie inside
one facet (item, item:system, item:rater) make the covariance block-diagonal over its levels; blocks of one shape share
one factorisation. The few effects that cross blocks (rater, system, system:rater) come in by a low-rank correction. So
nothing is ever as large as the number of ratings squared, and criterion, gradient and average information are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from measurand.stats.inference import FloatArray, IntArray

#: A design is kept sparse if blocks touch so few of its columns and if it has more cells than this.
_SPARSE: Final = 0.2
_DENSE: Final = 2_000_000


@dataclass(frozen=True)
class Term:
    """A random effect.

    Parameters
    ----------
    name : str
        For example ``"item:rater"``.
    codes : ndarray of int, shape (n,)
        Level of each rating, from 0 without gaps.
    in_block : bool
        Whether every level lies inside one block.
    values : ndarray of float or None, shape (n,)
        What each rating's effect is multiplied by: a random slope's regressor, in whatever unit keeps its components
        comparable with the others'. None for 1, a random intercept. Slopes are never in a block: blocks of one shape
        share their covariance, and values differ from block to block.
    """

    name: str
    codes: IntArray
    in_block: bool
    values: FloatArray | None = None

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self.codes.max()) + 1


@dataclass(frozen=True)
class _Block:
    """Blocks of one shape: where their rows are, and which of their ratings share a level of each inner term."""

    rows: slice
    n_blocks: int
    size: int
    same: FloatArray  # (n_inner_terms, size, size)


@dataclass(frozen=True)
class State:
    """What one evaluation of the likelihood leaves for gradient and information."""

    criterion: float
    scale: FloatArray
    inverse: FloatArray
    solution: FloatArray
    v_a: Any
    v_inverse: sparse.csr_array
    a_v_a: FloatArray
    residual: FloatArray
    blocks: list[FloatArray]


class Model:
    """A mixed model of ratings, ready to be evaluated at any components.

    Parameters
    ----------
    rating : ndarray, shape (n,)
        Ratings in scale units.
    block : ndarray of int, shape (n,)
        Level of the blocking facet.
    fixed : ndarray, shape (n, n_fixed)
        Design of the fixed effects, of full column rank.
    terms : sequence of Term
        Random effects; those that are confounded with the error or with each other must be left out.
    """

    def __init__(self, rating: FloatArray, block: IntArray, fixed: FloatArray, terms: Sequence[Term]) -> None:
        self.inner = [term for term in terms if term.in_block]
        self.outer = [term for term in terms if not term.in_block]
        self.names = [*(t.name for t in self.inner), *(t.name for t in self.outer), "residual"]
        order, self._blocks = _shapes(block, self.inner)
        self.n, self.n_fixed = fixed.shape
        # The size of the ratings themselves would drown what varies in rounding: least squares take it off first.
        self._offset = np.linalg.lstsq(fixed, rating, rcond=None)[0]
        self.y = (rating - fixed @ self._offset)[order]
        if slopes := [term.name for term in self.inner if term.values is not None]:
            raise ValueError(f"the random slope {slopes[0]} cannot be in a block")
        self._z = [_design(term, order) for term in (*self.inner, *self.outer)]
        outer = self._z[len(self.inner) :]
        self._columns = np.cumsum([0, *(term.n_levels for term in self.outer)])
        width = int(self._columns[-1]) + self.n_fixed
        design = sparse.hstack([*outer, sparse.csr_array(fixed[order])], format="csr")
        is_sparse = self.n * width > _DENSE and _touched(block[order], design) < _SPARSE
        self._a: Any = sparse.csr_array(design) if is_sparse else design.toarray()
        sizes = np.concatenate([np.full(b.n_blocks * b.size, b.size) for b in self._blocks])
        starts = np.concatenate(
            [b.rows.start + np.repeat(np.arange(b.n_blocks) * b.size, b.size) for b in self._blocks]
        )
        self._indptr = np.r_[0, np.cumsum(sizes)]
        self._indices = np.repeat(starts - self._indptr[:-1], sizes) + np.arange(self._indptr[-1])

    def evaluate(self, components: FloatArray) -> State:
        """Return the criterion at given components (inner terms, outer terms, residual) and what it was made of."""
        inner, outer, error = self._split(components)
        log_determinant, inverses, data = 0.0, [], []
        for block in self._blocks:
            covariance = np.tensordot(inner, block.same, axes=1) if len(inner) else np.zeros((block.size, block.size))
            covariance[np.diag_indices(block.size)] += error
            factor = linalg.cholesky(covariance, lower=True, check_finite=False)
            log_determinant += block.n_blocks * 2 * float(np.log(np.diag(factor)).sum())
            half = linalg.solve_triangular(factor, np.eye(block.size), lower=True, check_finite=False)
            inverse = half.T @ half
            inverses.append(inverse)
            data.append(np.tile(inverse.ravel(), block.n_blocks))
        v_inverse = sparse.csr_array((np.concatenate(data), self._indices, self._indptr), shape=(self.n, self.n))
        v_a = v_inverse @ self._a
        v_y = v_inverse @ self.y
        a_v_a = _dense(self._a.T @ v_a)
        a_v_y = np.asarray(self._a.T @ v_y)
        # Columns of random effects are scaled by their standard deviation: a component of 0 is then harmless.
        scale = np.concatenate([np.repeat(np.sqrt(outer), np.diff(self._columns)), np.ones(self.n_fixed)])
        system = scale[:, None] * a_v_a * scale
        q = int(self._columns[-1])
        system[np.arange(q), np.arange(q)] += 1.0
        factor = linalg.cholesky(system, lower=True, check_finite=False)
        log_determinant += 2 * float(np.log(np.diag(factor)).sum())
        inverse = linalg.cho_solve((factor, True), np.eye(len(system)), check_finite=False)
        right = scale * a_v_y
        solution = inverse @ right
        error_left = self.y - np.asarray(self._a @ (scale * solution))
        residual = v_inverse @ error_left
        quadratic = float(error_left @ residual + solution[:q] @ solution[:q])
        criterion = log_determinant + quadratic + (self.n - self.n_fixed) * float(np.log(2 * np.pi))
        return State(criterion, scale, inverse, solution, v_a, v_inverse, a_v_a, residual, inverses)

    def gradient(self, state: State) -> FloatArray:
        """Return the derivative of the criterion in each component: tr(P V_k) - y'P V_k P y."""
        scaled = state.scale[:, None] * state.inverse * state.scale
        out = []
        for k in range(len(self.inner)):
            trace = sum(
                block.n_blocks * float((inverse * block.same[k]).sum())
                for block, inverse in zip(self._blocks, state.blocks, strict=True)
            )
            sums = self._z[k].T @ state.v_a
            trace -= _trace(scaled, sums.T @ sums)
            out.append(trace - float(np.square(self._z[k].T @ state.residual).sum()))
        for k in range(len(self.outer)):
            here = slice(int(self._columns[k]), int(self._columns[k + 1]))
            rows = state.a_v_a[here]
            trace = float(np.trace(rows[:, here])) - float(np.einsum("ij,jk,ik->", rows, scaled, rows, optimize=True))
            z = self._z[len(self.inner) + k]
            out.append(trace - float(np.square(z.T @ state.residual).sum()))
        trace = sum(b.n_blocks * float(np.trace(i)) for b, i in zip(self._blocks, state.blocks, strict=True))
        trace -= _trace(scaled, state.v_a.T @ state.v_a)
        out.append(trace - float(state.residual @ state.residual))
        return np.array(out)

    def average_information(self, state: State) -> FloatArray:
        """Return the mean of observed and expected Hessian of the criterion: y'P V_k P V_l P y."""
        columns = [z @ (z.T @ state.residual) for z in self._z]
        work = np.column_stack([*columns, state.residual])
        v_work = state.v_inverse @ work
        through = state.scale[:, None] * np.asarray(self._a.T @ v_work)
        return np.asarray(work.T @ v_work - through.T @ state.inverse @ through)

    def fixed_effects(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the fixed effects and their covariance."""
        n = self.n_fixed
        return self._offset + state.solution[-n:], np.asarray(state.inverse[-n:, -n:])

    def derivatives_of_covariance(self, state: State) -> list[FloatArray]:
        """Return the derivative of the fixed effects' covariance in each component."""
        right = state.inverse[:, -self.n_fixed :] * state.scale[:, None]
        weights = np.asarray(state.v_a @ right)
        sums = [z.T @ weights for z in self._z]
        return [np.asarray(one.T @ one) for one in [*sums, weights]]

    def _split(self, components: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        n = len(self.inner)
        return components[:n], components[n:-1], float(components[-1])


def _shapes(block: IntArray, inner: Sequence[Term]) -> tuple[IntArray, list[_Block]]:
    """Return an order of the ratings in which blocks of one shape lie together, and the shapes."""
    order = np.lexsort((*(term.codes for term in reversed(inner)), block))
    sorted_block = block[order]
    starts = np.flatnonzero(np.r_[True, np.diff(sorted_block) != 0])
    ends = np.r_[starts[1:], len(block)]
    codes = [term.codes[order] for term in inner]
    by_shape: dict[bytes, list[int]] = {}
    local: dict[bytes, list[IntArray]] = {}
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        ranks = [np.unique(code[start:end], return_inverse=True)[1].astype(np.int64) for code in codes]
        key = np.concatenate([[end - start], *ranks]).tobytes()
        by_shape.setdefault(key, []).append(number)
        local.setdefault(key, ranks)
    rows: list[npt.NDArray[np.intp]] = []
    shapes = []
    at = 0
    for key, numbers in by_shape.items():
        size = int(ends[numbers[0]] - starts[numbers[0]])
        rows.append((starts[numbers][:, None] + np.arange(size)).ravel())
        same = np.array([rank[:, None] == rank for rank in local[key]], dtype=float).reshape(-1, size, size)
        shapes.append(_Block(slice(at, at + size * len(numbers)), len(numbers), size, same))
        at += size * len(numbers)
    return np.asarray(order[np.concatenate(rows)], dtype=np.int64), shapes


def indicator(codes: IntArray, n_levels: int) -> sparse.csr_array:
    """Return the 0/1 matrix of ratings by levels."""
    n = len(codes)
    return sparse.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, n_levels))


def _design(term: Term, order: IntArray) -> sparse.csr_array:
    """Return the ratings by levels of a term, in the given order of the ratings: 1, or the slope's regressor."""
    z = indicator(term.codes[order], term.n_levels)
    if term.values is None:
        return z
    return sparse.csr_array((term.values[order].astype(np.float64), z.indices, z.indptr), shape=z.shape)


def _touched(block: IntArray, design: sparse.csr_array) -> float:
    """Return the share of columns that a block touches, on average: what is left sparse by the blocks' inverses."""
    codes = np.unique(block, return_inverse=True)[1].astype(np.int64)
    n_blocks = int(codes.max()) + 1
    found = indicator(codes, n_blocks).T @ abs(design)
    return float(found.nnz / (n_blocks * design.shape[1]))


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)


def _trace(left: FloatArray, right: Any) -> float:
    """tr(left @ right) of two symmetric matrices, the second maybe sparse."""
    if hasattr(right, "tocoo"):
        coordinates = right.tocoo()
        return float((left[coordinates.row, coordinates.col] * coordinates.data).sum())
    return float((left * right).sum())
