"""The cheapest sizes of a design's facets that reach a reliability, by the estimate and in all but a few draws.

Designs are complete. All sizes within bounds are tried: those of one facet, the one with the widest bounds, follow from
the others', because the error is a + b / n in its number of levels; the others' combinations are the rows of a space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.planning.draws import ERRORS, Draws, Share
from measurand.result import MeasurandError, show_number
from measurand.stats.facets import Formula
from measurand.stats.inference import FloatArray, IntArray, without_dust
from measurand.stats.layouts import fitting, rounded_up

#: The price of one rating, beside the facets'.
JUDGEMENT: Final = "judgement"
#: Combinations of sizes that are tried, those of the facet with the widest bounds apart.
MOST_ROWS: Final = 300_000
#: Values in one block of rows by draws; bounds memory.
_BLOCK: Final = 2**21
#: Values in the first look at all rows, and draws that it takes.
_LOOK: Final = 4e7
_FEWEST_LOOKED: Final = 64
_MOST_LOOKED: Final = 1_024
#: Rows that are counted on all draws at a time.
_FINALISTS: Final = 40
#: Draws beyond those that may miss in which a design is looked at before it is counted: the hardest ones.
_HARD: Final = 400


class Sized(NamedTuple):
    """Sizes of a study, what it costs, and how many ratings it has."""

    sizes: Mapping[str, int]
    cost: float
    n_judgements: int


@dataclass(frozen=True)
class Limits:
    """Within which sizes a study is sought.

    Parameters
    ----------
    least, most : mapping
        Facet to its smallest and largest number of levels, of a nested one within each of what it is nested in.
    per_rater : int or None
        Ratings that one level of the facet `rater` could give; None for any number.
    """

    least: Mapping[str, int]
    most: Mapping[str, int]
    per_rater: int | None = None

    def __str__(self) -> str:
        told = [
            f"{show_number(most)} levels of {facet}"
            if self.least[facet] <= 2
            else f"{show_number(self.least[facet])} to {show_number(most)} levels of {facet}"
            for facet, most in self.most.items()
        ]
        if self.per_rater is not None:
            told.append(f"{show_number(self.per_rater)} judgements of a rater")
        return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


class Space:
    """All combinations of the sizes of random facets but one, and what one level more of that one costs in each.

    Parameters
    ----------
    design : Formula
        The design.
    object_of_measurement : str
        What is ranked.
    n_objects : int
        How many of them there are.
    fixed : mapping
        Fixed facet to its number of levels.
    limits : Limits
        Of the random facets.
    prices : mapping
        Facet, or ``"judgement"``, to the cost of one level (one rating); those that are not named cost nothing.

    Raises
    ------
    MeasurandError
        Too many combinations.
    """

    def __init__(
        self,
        design: Formula,
        *,
        object_of_measurement: str,
        n_objects: int,
        fixed: Mapping[str, float],
        limits: Limits,
        prices: Mapping[str, float],
    ) -> None:
        self.limits = limits
        self.n_objects = n_objects
        free = list(limits.most)
        self.long = max(free, key=lambda facet: limits.most[facet] - limits.least[facet])
        self.short = [facet for facet in free if facet != self.long]
        ranges = [np.arange(limits.least[facet], limits.most[facet] + 1) for facet in self.short]
        n_rows = math.prod(len(one) for one in ranges)
        if n_rows > MOST_ROWS:
            widest = max(self.short, key=lambda facet: limits.most[facet] - limits.least[facet])
            raise MeasurandError(
                f"{show_number(n_rows)} combinations of sizes within {limits}, {self.long} apart; at most "
                f"{show_number(MOST_ROWS)} are tried: bound them more closely, {widest} first"
            )
        grid = [one.ravel().astype(float) for one in np.meshgrid(*ranges, indexing="ij")] if ranges else []
        self.sizes: dict[str, FloatArray] = dict(zip(self.short, grid, strict=True))
        self.n_rows = n_rows
        rest = {facet: np.full(n_rows, float(size)) for facet, size in fixed.items()} | self.sizes
        ones = np.ones(n_rows)
        rest[self.long] = ones
        self._fixed = {facet: int(size) for facet, size in fixed.items()}
        self.base, self.slope = np.zeros(n_rows), np.zeros(n_rows)
        # What is nested in the object has levels of its own for each of them.
        whole = rest | {object_of_measurement: np.full(n_rows, float(n_objects))}
        for facet in rest:
            chain = {facet, *design.within[facet]}
            levels = math.prod((whole[one] for one in chain), start=ones)
            part = self.slope if self.long in chain else self.base
            part += prices.get(facet, 0.0) * levels
        ratings = math.prod(whole.values(), start=ones)
        self.slope += prices.get(JUDGEMENT, 0.0) * ratings
        self.ratings = ratings
        self.most = np.full(n_rows, float(limits.most[self.long]))
        if limits.per_rater is not None:
            chain = {"rater", *design.within["rater"]}
            each = math.prod((size for facet, size in whole.items() if facet not in chain), start=ones)
            if self.long in chain:
                self.most[each > limits.per_rater] = 0.0
            else:
                self.most = np.minimum(self.most, np.floor(limits.per_rater / each))
        self.least = float(limits.least[self.long])
        #: Component to its weight in each row at one level of the long facet, and whether that divides it further.
        self.weights: dict[str, FloatArray] = {}
        self.is_divided: dict[str, bool] = {}
        for members in design.components:
            others = members - {object_of_measurement}
            if object_of_measurement in members and not others <= set(fixed):
                name = design.name(members)
                self.weights[name] = 1 / math.prod((rest[facet] for facet in others), start=ones)
                self.is_divided[name] = self.long in others

    def sized(self, row: int, n: float) -> Sized:
        """Return a row with a number of levels of the long facet."""
        here = {facet: int(size[row]) for facet, size in self.sizes.items()} | {self.long: int(n)} | self._fixed
        cost = float(self.base[row] + self.slope[row] * n)
        return Sized(here, float(without_dust(np.array([cost]), largest=cost)[0]), round(self.ratings[row] * n))

    def cost(self, rows: npt.NDArray[np.intp], n: FloatArray) -> FloatArray:
        """Return the costs of rows, infinite where they ask for more levels than there are."""
        return np.where(n <= self.most[rows], self.base[rows] + self.slope[rows] * n, np.inf)

    def errors(
        self, rows: npt.NDArray[np.intp] | slice, parts: Mapping[str, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the error that the long facet leaves and the one that it divides, shape (n_rows, n_draws) each."""
        whole, divided = (
            np.column_stack([self.weights[name][rows] for name in self.weights if self.is_divided[name] == is_divided])
            @ np.vstack([np.atleast_1d(parts[name]) for name in self.weights if self.is_divided[name] == is_divided])
            if any(self.is_divided[name] == is_divided for name in self.weights)
            else np.zeros((1, 1))
            for is_divided in (False, True)
        )
        return whole, divided

    def needed(
        self, rows: npt.NDArray[np.intp] | slice, room: FloatArray, parts: Mapping[str, FloatArray]
    ) -> FloatArray:
        """Return how many levels of the long facet fit the error into its room, not rounded, (n_rows, n_draws)."""
        whole, divided = self.errors(rows, parts)
        return fitting(divided, np.atleast_1d(room) - whole)


def reaching(space: Space, system: FloatArray, parts: Mapping[str, FloatArray], *, target: float) -> Sized | None:
    """Return the cheapest sizes whose G reaches a target by one set of components; of equal costs the least error."""
    rows = np.arange(space.n_rows)
    exact = space.needed(rows, _room(system, target), parts)[:, 0]
    return _cheapest(space, rows, np.maximum(rounded_up(exact, np.array(1.0)), space.least), parts)


def affordable(space: Space, parts: Mapping[str, FloatArray], *, budget: float) -> Sized | None:
    """Return the sizes of the least error that cost no more than a budget, None where there are none."""
    n = np.minimum(np.floor((budget * (1 + 1e-12) - space.base) / space.slope), space.most)
    able = np.flatnonzero(n >= space.least)
    if able.size == 0:
        return None
    whole, divided = space.errors(able, parts)
    error = (whole + divided / n[able, None])[:, 0]
    best = int(np.lexsort((space.cost(able, n[able]), error))[0])
    return space.sized(int(able[best]), float(n[able[best]]))


def _cheapest(space: Space, rows: npt.NDArray[np.intp], n: FloatArray, parts: Mapping[str, FloatArray]) -> Sized | None:
    cost = space.cost(rows, n)
    if not np.isfinite(cost).any():
        return None
    cost = without_dust(cost, largest=float(cost[np.isfinite(cost)].max()))
    least = np.flatnonzero(cost == cost.min())
    whole, divided = space.errors(rows[least], {name: np.asarray(values.mean()) for name, values in parts.items()})
    best = least[int(np.argmin((whole + divided / n[least, None])[:, 0]))]
    return space.sized(int(rows[best]), float(n[best]))


def _room(system: FloatArray, target: float) -> FloatArray:
    """Return the error that a target allows; where objects do not differ nothing suffices, even without error."""
    signal = np.atleast_1d(system)
    return np.where(signal > 0, signal * (1 - target) / target * (1 + 1e-12), -1.0)


class OverDraws(NamedTuple):
    """What a target takes over draws of the components, as `measurand.planning.sure.OverDraws` has it of panels."""

    sure: Sized | None
    least: float
    most: float
    best: Share
    cost: FloatArray


def over_draws(space: Space, draws: Draws, *, target: float, confidence: float) -> OverDraws:
    """Return the cheapest sizes whose lower limit reaches a target, and the cheapest cost by draw.

    Parameters
    ----------
    space : Space
        All of it is tried on all draws.
    draws : Draws
        Of the variance of true scores (`system`) and of each component of the error of differences.
    target, confidence : float
        The coefficient wanted, and the level of the two-sided interval whose lower end shall reach it.

    Returns
    -------
    OverDraws
        `sure` exceeds the level by `ERRORS` standard errors of its share; `least` and `most` are the costs of what
        exceeds it by as much less and more, `best` is the largest share within the limits. `cost` is over as many of
        the draws as can be had for all rows.
    """
    search = _Search(space, draws, target)
    cost = search.cost_by_draw()
    tail = (1 - confidence) / 2
    error = ERRORS * math.sqrt(tail * (1 - tail) / draws.n)
    near, plain, firm = (search.cheapest(one) for one in (tail + error, tail, tail - error))
    least, most = (math.inf if one is None else one.cost for one in (near, firm))
    return OverDraws(firm or plain, least, most, search.best(), cost)


class _Search:
    """All sizes on all draws: what cannot be cheaper than the cheapest so far is left out unseen."""

    def __init__(self, space: Space, draws: Draws, target: float) -> None:
        self.space, self.draws = space, draws
        self.room = _room(draws.system, target)
        self.rows = np.flatnonzero(space.most >= space.least)
        self.hard = self._hardest()
        self.looked = int(np.clip(_LOOK / max(space.n_rows, 1), _FEWEST_LOOKED, _MOST_LOOKED))

    def share(self, sizes: Sized) -> Share:
        """Return in which share of the draws sizes reach the target."""
        row = np.array([self._row(sizes)])
        whole, divided = self.space.errors(row, self.draws.errors)
        return self.draws.share((whole + divided / sizes.sizes[self.space.long])[0] <= self.room)

    def _row(self, sizes: Sized) -> int:
        same = np.ones(self.space.n_rows, dtype=bool)
        for facet, values in self.space.sizes.items():
            same &= values == sizes.sizes[facet]
        return int(np.argmax(same))

    def best(self) -> Share:
        """Return the largest share that sizes within the limits have."""
        if self.rows.size == 0:
            return Share(0.0, 0.0)
        n = self.space.most[self.rows]
        means = {name: np.asarray(values.mean()) for name, values in self.draws.errors.items()}
        whole, divided = self.space.errors(self.rows, means)
        last = np.argsort((whole + divided / n[:, None])[:, 0], kind="stable")[:_FINALISTS]
        return max(self.share(self.space.sized(int(self.rows[at]), float(n[at]))) for at in last)

    def cost_by_draw(self) -> FloatArray:
        """Return the cost of the cheapest sizes under each of the first draws, infinite where none do."""
        n_draws = min(4 * self.looked, self.draws.n)
        first = self.draws.first(n_draws)
        out = np.full(n_draws, np.inf)
        for rows in self._blocks(self.rows, n_draws):
            exact = self.space.needed(rows, self.room[:n_draws], first.errors)
            n = np.maximum(rounded_up(exact, np.array(1.0)), self.space.least)
            n[n > self.space.most[rows, None]] = np.inf
            with np.errstate(invalid="ignore"):
                cost = self.space.base[rows, None] + self.space.slope[rows, None] * n
            out = np.minimum(out, cost.min(axis=0))
        return out

    def cheapest(self, tail: float) -> Sized | None:
        """Return the cheapest sizes that miss in no more than a share of the draws."""
        missing = math.floor((self.draws.n - 1) * tail) if tail > 0 else -1
        if missing < 0 or self.rows.size == 0:
            return None
        known: dict[int, float] = {}
        self._count(self._first(tail), missing, known)
        alive = self.rows
        while True:
            counted, n = np.array(list(known), dtype=np.intp), np.array(list(known.values()))
            budget = float(self.space.cost(counted, n).min(initial=np.inf))
            alive = np.setdiff1d(alive, counted, assume_unique=True)
            most = self.space.most[alive]
            if math.isfinite(budget):
                left = (budget * (1 + 1e-12) - self.space.base[alive]) / self.space.slope[alive]
                most = np.minimum(most, np.floor(left))
            able = most >= self.space.least
            alive, most = alive[able], most[able]
            misses = self._misses(alive, most, missing)
            alive = alive[misses <= missing]
            if alive.size == 0:
                break
            order = np.argsort(misses[misses <= missing], kind="stable")
            self._count(alive[order[:_FINALISTS]], missing, known)
        return _cheapest(self.space, counted, n, self.draws.errors)

    def _blocks(self, rows: npt.NDArray[np.intp], n_draws: int) -> list[npt.NDArray[np.intp]]:
        size = max(1, _BLOCK // max(n_draws, 1))
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _first(self, tail: float) -> npt.NDArray[np.intp]:
        """Return the rows that are cheapest by a few draws, on which all are tried."""
        few = min(self.looked, self.draws.n)
        reached = min(math.ceil((few - 1) * (1 - tail)), few - 1)
        first = self.draws.first(few)
        costs = []
        for rows in self._blocks(self.rows, few):
            exact = self.space.needed(rows, self.room[:few], first.errors)
            n = np.maximum(np.partition(exact, reached, axis=1)[:, reached], self.space.least)
            costs.append(self.space.cost(rows, n))
        order = np.argsort(np.concatenate(costs), kind="stable")[:_FINALISTS]
        return self.rows[order]

    def _count(self, rows: npt.NDArray[np.intp], missing: int, known: dict[int, float]) -> None:
        """Count the levels of the long facet with which rows miss in no more than so many draws."""
        reached = self.draws.n - 1 - missing
        for block in self._blocks(rows, self.draws.n):
            exact = self.space.needed(block, self.room, self.draws.errors)
            n = rounded_up(np.partition(exact, reached, axis=1)[:, reached], np.array(1.0))
            known |= zip(map(int, block), map(float, np.maximum(n, self.space.least)), strict=True)

    def _hardest(self) -> IntArray:
        """Return the draws, those first in which a study of the middle sizes has the most error for its room."""
        row = np.array([self.rows[len(self.rows) // 2] if self.rows.size else 0])
        whole, divided = self.space.errors(row, self.draws.errors)
        error = (whole + divided / max(float(self.space.most[row[0]]) / 2, 1.0))[0]
        with np.errstate(divide="ignore"):
            ratio = np.where(self.room > 0, error / np.maximum(self.room, 1e-300), np.inf)
        return np.argsort(-ratio, kind="stable")

    def _misses(self, rows: npt.NDArray[np.intp], n: FloatArray, missing: int) -> IntArray:
        """Return in how many of the hardest draws rows miss: those that miss in too many of these are out."""
        hard = self.hard[: 2 * missing + _HARD]
        parts = {name: values[hard] for name, values in self.draws.errors.items()}
        out = [np.zeros(0, dtype=np.int64)]
        at = 0
        for block in self._blocks(rows, len(hard)):
            whole, divided = self.space.errors(block, parts)
            error = whole + divided / n[at : at + len(block), None]
            out.append(np.count_nonzero(error > self.room[hard], axis=1))
            at += len(block)
        return np.concatenate(out)
