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
    low : ndarray or None, shape (n_rows, n_blocks)
        Fitted answers below the block; None where each block begins at the end of the one before.
    high : ndarray, shape (n_rows, n_blocks)
        Those with the block's own; whole numbers, ascending in each row. As `low` where the fit set holds none of the
        block.
    total : ndarray, shape (n_rows,)
        Number of fitted answers.
    """

    low: FloatArray | IntArray | None
    high: FloatArray | IntArray
    total: FloatArray


def places(weights: FloatArray | IntArray, *, out: IntArray | None = None) -> Places:
    """Return the places of blocks among themselves, in an array that is there already if one is given."""
    # Whole numbers sum faster than floats, and stay exact.
    high = np.cumsum(weights, axis=1, dtype=np.int64, out=out)
    total = high[:, -1].astype(np.float64) if weights.shape[1] else np.zeros(len(weights))
    return Places(None, high, total)


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
        sizes = np.empty(self.values.shape, dtype=np.int64)
        sizes[:, :-1], sizes[:, -1] = self.bounds, self.n_blocks
        sizes[:, 1:] -= self.bounds
        return sizes

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

    def sums_of(self, cumulative: FloatArray | IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what `sums` does, from amounts that are summed up from the first block of each row on."""
        if self.n_blocks == 0:
            return np.zeros(len(self.values)), np.zeros(len(self.values))
        rows = (np.arange(len(self.bounds)) * self.n_blocks)[:, None]
        ends = cumulative.ravel()[np.maximum(self.bounds - 1, 0) + rows]
        ends[self.bounds == 0] = 0
        on_step = np.empty(self.values.shape)
        on_step[:, :-1], on_step[:, -1] = ends, cumulative[:, -1]
        on_step[:, 1:] -= ends
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
    # One ascending array for all rows: a search then serves them all at once.
    offset = np.r_[0.0, np.cumsum(at.total)[:-1]]
    # Multiplied before it is divided: an edge that is a whole number must not miss it by rounding dust.
    edges = np.cumsum(target.counts, axis=1)[:, :-1] * at.total[:, None]
    edges = np.divide(edges, asked[:, None], out=np.zeros_like(edges), where=~is_empty[:, None]) + offset[:, None]
    row_start = (np.arange(n_rows) * n_blocks)[:, None]
    shift = offset.astype(at.high.dtype)[:, None]
    if ties == "midrank":
        # Twice the middles, which are whole numbers: the first one beyond an edge.
        twice = _low(at) + at.high
        twice += 2 * shift
        found = np.searchsorted(twice.ravel(), np.floor(2 * edges).astype(np.int64).ravel() + 1).reshape(edges.shape)
        values, _ = _levels_at(edges, offset, offset + at.total, target.levels)
        made = Steps(_within(found - row_start, n_blocks), values, values**2, n_blocks)
    else:
        flat = (at.high + shift).ravel()
        made = _by_place(at, flat, edges, offset, target.levels, row_start, ties=ties)
    made.values[is_empty], made.squares[is_empty] = np.nan, np.nan
    return made


def _low(at: Places) -> FloatArray | IntArray:
    """Return the places at which blocks begin."""
    if at.low is not None:
        return at.low.copy()
    low = np.zeros_like(at.high)
    low[:, 1:] = at.high[:, :-1]
    return low


def _within(blocks: IntArray, most: int) -> IntArray:
    return np.minimum(np.maximum(blocks, 0), most)


def _by_place(
    at: Places,
    flat: FloatArray | IntArray,
    edges: FloatArray,
    offset: FloatArray,
    levels: FloatArray,
    row_start: IntArray,
    *,
    ties: Ties,
) -> Steps:
    """Return steps level after level: blocks wholly inside, the one that reaches the edge, empty ones at the edge."""
    n_rows, n_blocks = at.high.shape
    n_edges = len(levels) - 1
    rows = np.arange(n_rows)[:, None]
    # Places are whole numbers: the first at an edge or beyond it, and the first beyond it.
    sought = np.concatenate([np.ceil(edges), np.floor(edges) + 1], axis=1).astype(flat.dtype)
    found = np.searchsorted(flat, sought.ravel()).reshape(sought.shape) - row_start
    holder = _within(found[:, :n_edges], n_blocks - 1)
    bounds = np.empty((n_rows, 3 * n_edges), dtype=np.int64)
    bounds[:, 0::3] = holder
    bounds[:, 1::3] = holder + 1
    bounds[:, 2::3] = _within(found[:, n_edges:], n_blocks)
    bounds = np.maximum.accumulate(bounds, axis=1)
    own, behind = _levels_at(edges, offset, offset + at.total, levels)
    end = at.high[rows, holder]
    if at.low is None:
        begin = np.where(holder > 0, at.high[rows, np.maximum(holder - 1, 0)], 0)
    else:
        begin = at.low[rows, holder]
    reach = np.concatenate([begin, end], axis=1) + offset[:, None]
    width = reach[:, n_edges:] - reach[:, :n_edges]
    within = _edges_before(reach, edges, side="left")
    beyond = own[rows, _edges_before(reach[:, n_edges:], edges, side="right")]
    at_a_place = (own[rows, within[:, n_edges:]] + beyond) / 2
    between = (own[:, :-1] + behind) / 2
    starts = np.concatenate([offset[:, None], edges], axis=1)
    inside = reach - starts[rows, within]
    out = []
    for power in (1, 2):
        raised = levels**power
        # Sums of levels from the row's beginning to where a block begins and ends.
        before = np.zeros((n_rows, n_edges + 1))
        before[:, 1:] = np.cumsum(raised[:-1] * (starts[:, 1:] - starts[:, :-1]), axis=1)
        sums = before[rows, within] + raised[within] * inside
        gained = sums[:, n_edges:] - sums[:, :n_edges]
        values = np.empty((n_rows, 3 * n_edges + 1))
        values[:, 0::3] = own**power
        # A block that the fit set has nothing of lies at one place, between two levels at most.
        values[:, 1::3] = np.where(width > 0, gained / np.maximum(width, 1.0), at_a_place**power)
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
    own = levels[np.minimum(np.maximum(np.arange(n_edges + 1), first[:, None]), np.maximum(last, first)[:, None])]
    behind = _edges_before(edges, edges, side="right")
    return own, own[np.arange(len(own))[:, None], behind]


def _edges_before(places: FloatArray, edges: FloatArray, *, side: Literal["left", "right"]) -> IntArray:
    """Return how many edges of its row lie before each place: the position of the level that the place is in."""
    n_rows, n_edges = edges.shape
    found = np.searchsorted(edges.ravel(), places.ravel(), side=side).reshape(places.shape)
    return _within(found - (np.arange(n_rows) * n_edges)[:, None], n_edges)
