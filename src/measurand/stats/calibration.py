"""Rank calibration: answers of any unit to the levels of a scale, so that they are distributed as a target says.

Everything is a function of *weights* on items. Weights of ones give the calibration itself, the weights of a bootstrap
replicate give the calibration refitted in that replicate: an item that was drawn twice is a block of two tied answers.
The answers are sorted once; a replicate then costs cumulative weights, linear in items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray

Ties = Literal["block", "midrank", "index", "random"]
TIES = get_args(Ties)

_Number = TypeVar("_Number", np.float64, np.int64)


@dataclass(frozen=True)
class Ordered:
    """Answers in ascending order, ties made blocks.

    Parameters
    ----------
    order : ndarray of int, shape (n_answers,)
        Positions of the answers from lowest to highest, equal ones by position.
    start : ndarray of int, shape (n_blocks,)
        Place in that order at which each block of equal answers begins.
    """

    order: IntArray
    start: IntArray

    @property
    def has_ties(self) -> bool:
        """Whether any two answers are equal."""
        return len(self.start) < len(self.order)

    @property
    def block(self) -> IntArray:
        """Block of each answer, in ascending order of answers."""
        out = np.zeros(len(self.order), dtype=np.int64)
        out[self.start[1:]] = 1
        return np.cumsum(out)

    def by_block(self, values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Return sums over blocks of values in ascending order of answers, shape (n_rows, n_answers)."""
        if not self.has_ties:
            return values
        return np.asarray(np.add.reduceat(values, self.start, axis=1))

    def only(self, columns: IntArray) -> Ordered:
        """Return the order and ties of some of the answers, given by their ascending places in the order."""
        block = self.block[columns]
        start = np.flatnonzero(np.r_[True, np.diff(block) != 0]) if len(columns) else np.zeros(0, dtype=np.int64)
        return Ordered(self.order[columns], start.astype(np.int64))

    def apart(self) -> Ordered:
        """Return the same order with every answer a block of its own."""
        return Ordered(self.order, np.arange(len(self.order), dtype=np.int64))


def ordered(answers: FloatArray) -> Ordered:
    """Sort answers and find their ties.

    Parameters
    ----------
    answers : ndarray, shape (n_answers,)
        Finite, of any unit. Where answers are probabilities give their log-odds if there are any: probabilities in
        single precision are exactly 1 beyond log-odds of 17 and tie where the model did not.

    Examples
    --------
    >>> ordered(np.array([0.3, 0.1, 0.3])).start.tolist()
    [0, 1]
    """
    order = np.argsort(answers, kind="stable").astype(np.int64)
    is_new = np.r_[True, np.diff(answers[order]) != 0] if len(answers) else np.zeros(0, dtype=bool)
    return Ordered(order, np.flatnonzero(is_new).astype(np.int64))


@dataclass(frozen=True)
class Target:
    """The distribution that calibrated answers shall have, one for each row.

    Parameters
    ----------
    levels : ndarray, shape (n_levels,)
        The values that answers are given, ascending, in scale units.
    counts : ndarray, shape (n_rows, n_levels)
        How often each level occurs among the ratings that the calibration is fitted to.
    """

    levels: FloatArray
    counts: FloatArray


class Calibrated(NamedTuple):
    """What the answers of each block get, shape (n_rows, n_blocks): mean level and mean squared level of its copies."""

    level: FloatArray
    square: FloatArray


def calibrate(weights: FloatArray, target: Target, *, ties: Ties) -> Calibrated:
    """Give each block of answers the levels that its place in the order calls for.

    Parameters
    ----------
    weights : ndarray, shape (n_rows, n_blocks)
        How many answers of the fit set each block holds, whole numbers, blocks in ascending order. A block that holds
        none (an answer outside the fit set) gets the level at its place between the others; exactly at an edge between
        two levels it gets their mean.
    target : Target
        The distribution of levels.
    ties : {"block", "midrank", "index", "random"}
        What a block of several answers gets: ``block`` all of them the mean of the levels that the block would get (a
        constant answer then carries no information and has kappa 0); ``midrank`` the level at the block's middle;
        ``index`` and ``random`` each answer a level of its own: for ``index`` give every answer as a block (`apart`),
        so that position decides; ``random`` gives the expectation over all orders of the tied ones. Copies of an item
        in a bootstrap replicate are tied, too.

    Returns
    -------
    Calibrated
        Levels in scale units. Rows whose target or weights are empty get NaN.

    Notes
    -----
    With n answers and target shares p_k the level at place u, 0 < u <= n, is Q(u) = level k for n (p_1 + … + p_(k-1)) <
    u <= n (p_1 + … + p_k). A block from place a to b gets the mean of Q over (a, b] under ``block``, Q((a + b) / 2)
    under ``midrank``.

    References
    ----------
    Quantile mapping of answers to the marginal distribution of ratings as in Hallmen, Deuser, Kampa, Oswald & André
    (2026), arXiv 2610.08162, section 3 (there with ties by index).

    Examples
    --------
    >>> target = Target(np.array([0.0, 1, 2]), np.array([[2.0, 1, 1]]))
    >>> calibrate(np.array([[1.0, 1, 2]]), target, ties="block").level.tolist()
    [[0.0, 0.0, 1.5]]
    """
    found = steps(places(weights), target, ties=ties)
    return Calibrated(found.level, found.square)


class Places(NamedTuple):
    """Where blocks lie among the answers that a calibration is fitted to.

    Parameters
    ----------
    low, high : ndarray, shape (n_rows, n_blocks)
        Fitted answers below the block, and those with the block's own; whole numbers, `high` ascending in each row.
        Equal where the fit set holds none of the block.
    total : ndarray, shape (n_rows,)
        Number of fitted answers.
    """

    low: FloatArray
    high: FloatArray
    total: FloatArray


def places(weights: FloatArray | IntArray) -> Places:
    """Return the places of blocks among themselves."""
    # Whole numbers sum faster than floats, and stay exact.
    whole = weights if weights.dtype == np.int64 else weights.astype(np.int64)
    high = np.cumsum(whole, axis=1).astype(np.float64)
    return Places(high - whole, high, high[:, -1] if weights.shape[1] else np.zeros(len(weights)))


@dataclass(frozen=True)
class Steps:
    """A calibration as steps: blocks from one bound to the next have one level.

    Parameters
    ----------
    bounds : ndarray of int, shape (n_rows, n_steps - 1)
        Blocks at which steps end, ascending.
    values, squares : ndarray, shape (n_rows, n_steps)
        Mean level, and mean squared level, of an answer on each step.
    n_blocks : int
        Number of blocks.
    """

    bounds: IntArray
    values: FloatArray
    squares: FloatArray
    n_blocks: int

    @property
    def _sizes(self) -> IntArray:
        n_rows = len(self.values)
        ends = np.full((n_rows, 1), self.n_blocks, dtype=np.int64)
        return np.diff(self.bounds, axis=1, prepend=np.zeros((n_rows, 1), dtype=np.int64), append=ends)

    @property
    def level(self) -> FloatArray:
        """Mean level of each block, shape (n_rows, n_blocks)."""
        return np.repeat(self.values.ravel(), self._sizes.ravel()).reshape(len(self.values), self.n_blocks)

    @property
    def square(self) -> FloatArray:
        """Mean squared level of each block, shape (n_rows, n_blocks)."""
        return np.repeat(self.squares.ravel(), self._sizes.ravel()).reshape(len(self.values), self.n_blocks)

    def sums(self, amounts: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums over blocks of amounts times level, and of amounts times squared level, (n_rows,) each.

        Parameters
        ----------
        amounts : ndarray, shape (n_rows, n_blocks)
            Such as the number of ratings of each block's answers, or their sum.
        """
        sizes = self._sizes
        n_rows, n_steps = sizes.shape
        starts = np.cumsum(sizes, axis=1) - sizes + (np.arange(n_rows) * self.n_blocks)[:, None]
        there = sizes > 0
        on_step = np.zeros((n_rows, n_steps))
        if there.any():
            on_step[there] = np.add.reduceat(amounts.ravel(), starts[there])
        return np.einsum("rs,rs->r", on_step, self.values), np.einsum("rs,rs->r", on_step, self.squares)


def steps(at: Places, target: Target, *, ties: Ties) -> Steps:
    """Return the calibration of blocks by their places among the answers that it is fitted to.

    Parameters
    ----------
    at : Places
        Of the blocks; the fit set need not be what is calibrated.
    target, ties
        As for `calibrate`.
    """
    n_rows, n_blocks = at.high.shape
    asked = target.counts.sum(axis=1)
    is_empty = (asked <= 0) | (at.total <= 0)
    share = np.divide(at.total, asked, out=np.zeros(n_rows), where=~is_empty)
    # One ascending array for all rows: a search then serves them all at once.
    offset = np.r_[0.0, np.cumsum(at.total)[:-1]]
    edges = np.cumsum(target.counts, axis=1)[:, :-1] * share[:, None] + offset[:, None]
    row_start = (np.arange(n_rows) * n_blocks)[:, None]
    if ties == "midrank":
        middles = ((at.low + at.high) / 2 + offset[:, None]).ravel()
        found = np.searchsorted(middles, edges.ravel(), side="right").reshape(edges.shape)
        values = np.broadcast_to(target.levels, (n_rows, len(target.levels))).copy()
        made = Steps(np.clip(found - row_start, 0, n_blocks), values, values**2, n_blocks)
    else:
        made = _by_place(at, edges, offset, target.levels, row_start, ties=ties)
    made.values[is_empty], made.squares[is_empty] = np.nan, np.nan
    return made


def _by_place(
    at: Places, edges: FloatArray, offset: FloatArray, levels: FloatArray, row_start: IntArray, *, ties: Ties
) -> Steps:
    """Return steps level after level: blocks wholly inside, the one that reaches the edge, empty ones at the edge."""
    n_rows, n_blocks = at.high.shape
    n_edges = len(levels) - 1
    flat = (at.high + offset[:, None]).ravel()
    holder = np.clip(np.searchsorted(flat, edges.ravel()).reshape(edges.shape) - row_start, 0, n_blocks - 1)
    after = np.searchsorted(flat, edges.ravel(), side="right").reshape(edges.shape) - row_start
    bounds = np.empty((n_rows, 3 * n_edges), dtype=np.int64)
    bounds[:, 0::3] = holder
    bounds[:, 1::3] = holder + 1
    bounds[:, 2::3] = np.clip(after, 0, n_blocks)
    bounds = np.maximum.accumulate(bounds, axis=1)
    own, behind = _levels_at(edges, offset, offset + at.total, levels)
    end = np.take_along_axis(at.high, holder, axis=1) + offset[:, None]
    begin = np.take_along_axis(at.low, holder, axis=1) + offset[:, None]
    width = end - begin
    before = np.take_along_axis(own, _edges_before(end, edges, side="left"), axis=1)
    beyond = np.take_along_axis(own, _edges_before(end, edges, side="right"), axis=1)
    between = (own[:, :-1] + behind) / 2
    out = []
    for power in (1, 2):
        gained = _integral(end, edges, offset, levels**power) - _integral(begin, edges, offset, levels**power)
        # A block that the fit set has nothing of lies at one place, between two levels at most.
        at_a_place = ((before + beyond) / 2) ** power
        values = np.empty((n_rows, 3 * n_edges + 1))
        values[:, 0::3] = own**power
        values[:, 1::3] = np.where(width > 0, gained / np.where(width > 0, width, 1.0), at_a_place)
        values[:, 2::3] = between**power
        out.append(values)
        if ties == "block":
            return Steps(bounds, values, values**2, n_blocks)
    return Steps(bounds, out[0], out[1], n_blocks)


def _levels_at(
    edges: FloatArray, offset: FloatArray, total: FloatArray, levels: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return each row's levels, missing ones at either end replaced by the nearest, and the level behind each edge."""
    n_edges = edges.shape[1]
    first = (edges <= offset[:, None]).sum(axis=1)
    last = (edges < total[:, None]).sum(axis=1)
    own = levels[np.clip(np.arange(n_edges + 1)[None, :], first[:, None], np.maximum(last, first)[:, None])]
    behind = _edges_before(edges, edges, side="right")
    return np.asarray(own), np.asarray(np.take_along_axis(own, behind, axis=1))


def _edges_before(places: FloatArray, edges: FloatArray, *, side: Literal["left", "right"]) -> IntArray:
    """Return how many edges of its row lie before each place: the position of the level that the place is in."""
    n_rows, n_edges = edges.shape
    found = np.searchsorted(edges.ravel(), places.ravel(), side=side).reshape(places.shape)
    return np.asarray(np.clip(found - (np.arange(n_rows) * n_edges)[:, None], 0, n_edges), dtype=np.int64)


def _integral(places: FloatArray, edges: FloatArray, offset: FloatArray, levels: FloatArray) -> FloatArray:
    """Return the sum of levels from a row's beginning to each place, shape of `places`."""
    if edges.shape[1] == 0:
        return np.asarray(levels[0] * (places - offset[:, None]))
    starts = np.concatenate([offset[:, None], edges], axis=1)
    before = np.concatenate(
        [np.zeros((len(edges), 1)), np.cumsum(levels[:-1] * np.diff(starts, axis=1), axis=1)], axis=1
    )
    at = _edges_before(places, edges, side="left")
    inside = places - np.take_along_axis(starts, at, axis=1)
    return np.asarray(np.take_along_axis(before, at, axis=1) + levels[at] * inside)
