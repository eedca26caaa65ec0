"""The cheapest design that reaches a precision in all but a few draws of the components."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.planning.designs import Choices, Costs, Design, cheapest
from measurand.planning.draws import ERRORS, Draws, Share
from measurand.stats.inference import FloatArray
from measurand.stats.layouts import error_variance, exact_items, rounded_up

#: Values in one block of designs by draws; bounds memory.
_BLOCK: Final = 2**21
#: Up to this many raters of an item every number is tried for the cost of each draw, above it every tenth part more.
_FINE: Final = 20
#: Designs whose items are counted on all draws at a time.
_FINALISTS: Final = 40
#: Rounds in which the error of a share and the design that it asks for are made to agree.
_ROUNDS: Final = 4


class OverDraws(NamedTuple):
    """What a target takes over draws of the components.

    Parameters
    ----------
    sure : Design or None
        The cheapest design that reaches it with confidence; None where none does.
    least, most : float
        The costs of the cheapest designs whose shares of draws exceed the level less, and plus, `ERRORS` standard
        errors; infinite where there is none. The design that costs `most` is `sure`; if that is infinite, `sure` is
        the cheapest whose share exceeds the level by less.
    best : Share
        The largest share of draws in which any one design within bounds reaches the target.
    cost : ndarray, shape (n_searched,)
        Of the cheapest design under each of the searched draws, infinite where none within bounds does.
    """

    sure: Design | None
    least: float
    most: float
    best: Share
    cost: FloatArray


def over_draws(
    here: Choices,
    draws: Draws,
    *,
    target: float,
    confidence: float,
    costs: Costs,
    searched: int,
) -> OverDraws:
    """Return the cheapest design whose lower limit reaches a target, and the cheapest cost by draw.

    Parameters
    ----------
    here : Choices
        Designs of one layout; all are tried on all draws.
    draws : Draws
        Of the components.
    target, confidence : float
        The coefficient wanted, and the level of the two-sided interval whose lower end shall reach it.
    costs : Costs
        What is minimised.
    searched : int
        Draws for which the cheapest cost is sought. There the numbers of raters for an item above 20 are tried in
        steps of a tenth.
    """
    thin = here.of(_thin(here.per_item))
    rough, cost = _by_draw(thin, draws.first(searched), target, confidence, costs)
    search = _Search(here, draws, target, costs)
    places = np.flatnonzero(_thin(here.per_item))
    start = places[np.argsort(rough, kind="stable")[:_FINALISTS]][: int(np.isfinite(rough).sum())]
    tail = (1 - confidence) / 2
    plain = search.cheapest(tail, start)
    top = search.best()
    if plain is None:
        near = search.cheapest(tail + ERRORS * top.error, start)
        return OverDraws(None, _cost(near, costs), math.inf, top, cost)
    error = search.share(plain).error
    near = search.cheapest(tail + ERRORS * error, search.seen())
    firm: Design | None = None
    for _ in range(_ROUNDS):
        firm = search.cheapest(tail - ERRORS * error, search.seen())
        if firm is None or (share := search.share(firm)).low >= 1 - tail:
            break
        # The error is its own estimate at each design: ask for a little more where it is larger there.
        error = max(error, share.error) * (1 + 1e-3)
    return OverDraws(firm or plain, _cost(near, costs), _cost(firm, costs), top, cost)


def _cost(design: Design | None, costs: Costs) -> float:
    return math.inf if design is None else costs.of_design(design)


def _thin(per_item: FloatArray) -> npt.NDArray[np.bool_]:
    """Every small number of raters for an item, and every tenth part more of the large ones."""
    kept, at = set(range(1, _FINE + 1)), float(_FINE)
    largest = float(per_item.max(initial=0.0))
    while at < largest:
        at = math.ceil(at * 1.1)
        kept.add(int(at))
    crossed = len(np.unique(per_item)) == len(per_item)
    return np.asarray(np.isin(per_item, list(kept)) | crossed)


def _missing(n_draws: int, tail: float) -> int:
    """So many draws may miss for the interpolated quantile at the lower tail to reach the target all the same."""
    return math.floor((n_draws - 1) * tail) if tail > 0 else -1


def _by_draw(
    here: Choices, draws: Draws, target: float, confidence: float, costs: Costs
) -> tuple[FloatArray, FloatArray]:
    """Return the cost of each design at which the lower limit reaches the target, and each draw's cheapest cost."""
    reached = draws.n - 1 - _missing(draws.n, (1 - confidence) / 2)
    sure, cost = np.empty(len(here.n_raters)), np.full(draws.n, np.inf)
    rows = max(1, _BLOCK // draws.n)
    for start in range(0, len(sure), rows):
        part = here.of(slice(start, start + rows))
        raters, per_item, step, most = (x[:, None] for x in (part.n_raters, part.per_item, part.step, part.most))
        exact = exact_items(draws.system, draws.errors, target=target, n_raters=raters, per_item=per_item)
        # Rounding up keeps the order, so that the draws are sorted before it: whole numbers tie, which is slow.
        sure[start : start + rows] = rounded_up(np.partition(exact, reached, axis=1)[:, reached], part.step)
        items = np.maximum(rounded_up(exact, step), part.least[:, None])
        items[items > most] = np.inf
        cost = np.minimum(cost, costs.of(raters, items, per_item).min(axis=0))
    sure = np.maximum(sure, here.least)
    return np.where(sure <= here.most, costs.of(here.n_raters, sure, here.per_item), np.inf), cost


class _Search:
    """All designs of a layout on all draws: what cannot be cheaper than the cheapest so far is left out unseen.

    A design misses the target in a draw if its error exceeds its room, σ²_s (1 - g) / g. Of two designs the one with
    no more raters, items and cells misses wherever the other does, so that one ideal design stands for many, and draws
    that the least of them reach need not be looked at again.
    """

    def __init__(self, here: Choices, draws: Draws, target: float, costs: Costs) -> None:
        self.here, self.draws, self.target, self.costs = here, draws, target, costs
        # Where systems do not differ nothing suffices, even without error.
        room = np.where(draws.system > 0, draws.system * (1 - target) / target, -1.0)
        self.room = room * (1 + 1e-12)
        self.means: Mapping[str, FloatArray] = {
            name: np.asarray(np.maximum(values, 0.0).mean()) for name, values in draws.errors.items()
        }
        self.known: dict[int, float] = {}

    def share(self, design: Design) -> Share:
        """Return in which share of the draws a design reaches the target."""
        return self.draws.share(error_variance(self.draws.errors, design.numbers) <= self.room)

    def best(self) -> Share:
        """Return the largest share that a design within bounds has."""
        items = self.here.most
        able = np.flatnonzero(items >= self.here.least)
        if able.size == 0:
            return Share(0.0, 0.0)
        # By the means of the errors, which weigh raters, items and cells as the draws do on the whole.
        error = error_variance(self.means, self.here.of(able).numbers(items[able]))
        last = np.argsort(error, kind="stable")[:_FINALISTS]
        shares = [self.share(self.here.design(int(able[at]), float(items[able[at]]))) for at in last]
        return max(shares)

    def seen(self) -> npt.NDArray[np.intp]:
        """Return the designs whose items were counted last."""
        return np.array(list(self.known), dtype=np.intp)

    def cheapest(self, tail: float, start: npt.NDArray[np.intp]) -> Design | None:
        """Return the cheapest design that misses in no more than a share of the draws; look at some first."""
        missing = _missing(self.draws.n, tail)
        self.known = {}
        if missing < 0:
            return None
        self._count(start, missing)
        while (able := self._able(missing)).size:
            self._count(able[:_FINALISTS], missing)
        kept = np.array(list(self.known), dtype=np.intp)
        items = np.array(list(self.known.values()))
        best = cheapest(self.here.of(kept), items, self.means, costs=self.costs)
        order = np.argsort(self._costs(kept, items), kind="stable")[:_FINALISTS]
        self.known = {int(kept[at]): float(items[at]) for at in order}
        return best

    def _costs(self, at: npt.NDArray[np.intp], items: FloatArray) -> FloatArray:
        items = np.maximum(items, self.here.least[at])
        cost = self.costs.of(self.here.n_raters[at], items, self.here.per_item[at])
        return np.where(items <= self.here.most[at], cost, np.inf)

    def _count(self, at: npt.NDArray[np.intp], missing: int) -> None:
        """Count the items that designs need."""
        part, reached = self.here.of(at), self.draws.n - 1 - missing
        sizes = zip(part.n_raters, part.per_item, strict=True)
        exact = np.array(
            [
                np.partition(
                    exact_items(
                        self.draws.system, self.draws.errors, target=self.target, n_raters=raters, per_item=per_item
                    ),
                    reached,
                )[reached]
                for raters, per_item in sizes
            ]
        )
        self.known |= zip(map(int, at), map(float, rounded_up(exact, part.step)), strict=True)

    def _able(self, missing: int) -> npt.NDArray[np.intp]:
        """Return the designs not counted yet that reach the target for what the cheapest so far costs, best first."""
        here = self.here
        known = np.array(list(self.known), dtype=np.intp)
        budget = float(self._costs(known, np.array(list(self.known.values()))).min(initial=np.inf))
        items = here.most.copy()
        if math.isfinite(budget):
            left = np.maximum(budget * (1 + 1e-12) - self.costs.rater * here.n_raters, 0.0)
            items = np.minimum(left / self.costs.of_item(here.per_item), items)
        items = np.floor(items / here.step * (1 + 1e-12)) * here.step
        items[known] = 0
        able = np.flatnonzero((items >= here.least) & (items <= here.most))
        able = able[self._with_raters(able, items, missing)]
        if able.size == 0:
            return able
        misses = self._misses(here.of(able), items[able])
        order = np.argsort(misses, kind="stable")
        return np.asarray(able[order[misses[order] <= missing]])

    def _with_raters(self, able: npt.NDArray[np.intp], items: FloatArray, missing: int) -> npt.NDArray[np.bool_]:
        """Whether a design with as many raters and the most items and cells of any would do: one test for many."""
        raters, place = np.unique(self.here.n_raters[able], return_inverse=True)
        most_items, most_cells = np.zeros(len(raters)), np.zeros(len(raters))
        np.maximum.at(most_items, place, items[able])
        np.maximum.at(most_cells, place, items[able] * self.here.per_item[able])
        errors = self.draws.errors
        does = np.array(
            [
                np.count_nonzero(errors["rater"] / r + errors["item"] / p + errors["cell"] / c > self.room) <= missing
                for r, p, c in zip(raters, most_items, most_cells, strict=True)
            ],
            dtype=bool,
        )
        return np.asarray(does[place])

    def _misses(self, part: Choices, items: FloatArray) -> npt.NDArray[np.intp]:
        """Return in how many draws each design misses."""
        numbers = part.numbers(items)
        errors = self.draws.errors
        least = {name: np.asarray(np.broadcast_to(value, items.shape).min()) for name, value in numbers.items()}
        hard = np.flatnonzero(error_variance(errors, least) > self.room)
        here = {name: values[hard] for name, values in errors.items()}
        room = self.room[hard]
        out = np.empty(len(items), dtype=np.intp)
        rows = max(1, _BLOCK // max(len(hard), 1))
        for start in range(0, len(items), rows):
            sizes = {name: value[start : start + rows, None] for name, value in numbers.items()}
            out[start : start + rows] = np.count_nonzero(error_variance(here, sizes) > room, axis=1)
        return out
