"""The rows of a search for sizes: what the design itself cost, the cheapest that reach a target, the front of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.planning.designs import check_price
from measurand.planning.draws import Draws
from measurand.planning.fitted import Fitted
from measurand.planning.measured import off_centre
from measurand.planning.reliable import DRAWING, LEVELS, ends_of
from measurand.planning.sizes import JUDGEMENT, Limits, OverDraws, Sized, Space, affordable, over_draws, reaching
from measurand.result import Key, MeasurandError, Row
from measurand.sentences import joined, share, short
from measurand.stats.facets import Formula
from measurand.stats.incomplete import joint
from measurand.stats.inference import FloatArray
from measurand.stats.reliability import coefficient

#: Largest sizes that are tried where none are given: of items, of raters, of other facets, of these if there are many.
MOST: Final[Mapping[str, int]] = {"item": 2_000, "rater": 200}
MOST_OTHERS: Final = 20
MOST_MANY_OTHERS: Final = 8
#: Smallest sizes that are tried where none are given; 1 of other facets. With one of these nothing could be audited.
LEAST: Final[Mapping[str, int]] = {"item": 2, "rater": 2}
#: Draws on which sizes are sought that are sure to reach the target.
SURE_DRAWS: Final = 20_000
_SHARE_NOTE: Final = "share of the draws of the pivotal quantities in which these sizes reach the target"


@dataclass(frozen=True)
class AskedSizes:
    """What is asked of sizes: the target, prices, limits by facet, ratings of one rater, the level of intervals."""

    target: float
    prices: Mapping[str, float]
    least: Mapping[str, int]
    most: Mapping[str, int]
    per_rater: int | None
    confidence: float


def limits_of(design: Formula, object_of_measurement: str, fixed: Sequence[str], asked: AskedSizes) -> Limits:
    """Return within which sizes of the random facets a study is sought.

    Raises
    ------
    MeasurandError
        Facets that the design does not have or that are fixed, limits that hold nothing, prices with which levels or
        ratings cost nothing.
    """
    facets = [facet for facet in design.facets if facet != object_of_measurement]
    free = [facet for facet in facets if facet not in fixed]
    others = [facet for facet in free if facet not in MOST]
    usual = MOST_OTHERS if len(others) <= 1 else MOST_MANY_OTHERS
    for told, given in (("least", asked.least), ("most", asked.most)):
        for facet, size in given.items():
            if facet not in free:
                raise MeasurandError(f"{told}: no size of {facet!r} is sought; there are {', '.join(free)}")
            if size < 1 or size != int(size):
                raise MeasurandError(f"{told}: {facet}={size:g}; give a whole number of 1 or more")
    usual_least = {facet: min(LEAST.get(facet, 1), asked.most.get(facet, 2)) for facet in free}
    least = {facet: int(asked.least.get(facet, usual_least[facet])) for facet in free}
    most = {facet: int(asked.most.get(facet, max(MOST.get(facet, usual), least[facet]))) for facet in free}
    for facet in free:
        if least[facet] > most[facet]:
            raise MeasurandError(f"least {facet}={least[facet]} is above most {facet}={most[facet]}")
    _check_prices(design, facets, free, asked.prices)
    if asked.per_rater is not None and "rater" not in facets:
        raise MeasurandError(f"{design} has no facet rater whose judgements could be limited")
    return Limits(least, most, asked.per_rater)


def _check_prices(design: Formula, facets: Sequence[str], free: Sequence[str], prices: Mapping[str, float]) -> None:
    for name, price in prices.items():
        if name not in (*facets, JUDGEMENT):
            raise MeasurandError(f"cost of {name!r}; costs are of {', '.join([*facets, JUDGEMENT])}")
        check_price(name, price)
    if prices.get(JUDGEMENT, 0.0) > 0:
        return
    for facet in free:
        inner = [one for one in facets if one == facet or facet in design.within[one]]
        if not any(prices.get(one, 0.0) > 0 for one in inner):
            raise MeasurandError(
                f"levels of {facet} and judgements cost nothing, so that as many as there are would be had; give a "
                f"cost of {facet} or of a judgement above 0"
            )


def sized_rows(made: Fitted, asked: AskedSizes, limits: Limits) -> list[Row]:
    """Return all rows of the search for sizes of one criterion's design."""
    return _Search(made, asked, limits).rows()


class _Search:
    def __init__(self, made: Fitted, asked: AskedSizes, limits: Limits) -> None:
        if asked.per_rater is not None and asked.per_rater < made.n_objects:
            raise MeasurandError(
                f"at most {asked.per_rater} judgements of a rater, and each rates {made.n_objects} levels of "
                f"{made.object_of_measurement} at the least; allow for as many"
            )
        self.made, self.asked, self.limits = made, asked, limits
        self.space = Space(
            made.design,
            object_of_measurement=made.object_of_measurement,
            n_objects=made.n_objects,
            fixed={facet: made.sizes[facet] for facet in made.fixed},
            limits=limits,
            prices=asked.prices,
        )
        here = made.projected(made.sizes)
        names = list(self.space.weights)
        self.system = here.true_variance(made.parts)
        self.parts = {name: np.maximum(made.parts[name], 0.0) for name in names}
        drawn = {name: np.maximum(made.drawn[name], 0.0) for name in names}
        self.draws = Draws(here.true_variance(made.drawn), drawn).first(SURE_DRAWS)
        self.unit = "+".join(facet for facet in made.design.facets if facet not in made.fixed)

    def rows(self) -> list[Row]:
        target = self.asked.target
        found = reaching(self.space, self.system, self.parts, target=target)
        over = over_draws(self.space, self.draws, target=target, confidence=self.asked.confidence)
        own, n_own = self._own()
        keys = self._keys(basis="as_rated", at=self._told(self.made.sizes))
        rows = [Row("plan", keys, "cost", own), Row("plan", keys, "n_judgements", n_own)]
        keys = self._keys(basis="estimate", target=target)
        if found is None:
            rows.append(Row("plan", keys, "cost", np.nan, undefined=self._why_none()))
        else:
            rows += self._of(keys, found, with_probability=True)
        rows.append(self._needed(found, over))
        rows += self._sure(over)
        rows += self._same_cost(own)
        return rows + self._front()

    def _front(self) -> list[Row]:
        """Return the cheapest sizes for each level; of levels that take the same sizes the highest."""
        found: dict[tuple[int, ...], tuple[float, Sized]] = {}
        for level in LEVELS:
            best = reaching(self.space, self.system, self.parts, target=level)
            if best is None:
                break
            found[tuple(best.sizes.values())] = level, best
        return [
            row for level, best in found.values() for row in self._of(self._keys(basis="front", target=level), best)
        ]

    def _keys(self, **more: Key) -> dict[str, Key]:
        return self.made.keys(**more)

    def _told(self, sizes: Mapping[str, float]) -> str:
        return self.made.told(sizes)

    def _own(self) -> tuple[float, int]:
        """Return what the design itself cost at these prices, and its ratings."""
        cells, design, prices = self.made.cells, self.made.design, self.asked.prices
        cost = prices.get(JUDGEMENT, 0.0) * len(cells.rating)
        for facet in design.facets:
            if prices.get(facet, 0.0):
                chain = [facet, *sorted(design.within[facet])]
                cost += prices[facet] * (int(joint([cells.levels[one] for one in chain]).max()) + 1)
        return cost, len(cells.rating)

    def _of(self, keys: dict[str, Key], found: Sized, *, with_probability: bool = False) -> list[Row]:
        """Return the rows of sizes, their cost first."""
        made = self.made
        projected = made.projected({facet: float(size) for facet, size in found.sizes.items()})
        keys = keys | {"at": self._told(found.sizes)}
        rows = [Row("plan", keys, "cost", found.cost), Row("plan", keys, "n_judgements", found.n_judgements)]
        for statistic, absolute in (("g", False), ("phi", True)):
            value, drawn = (
                coefficient(projected.true_variance(parts), projected.error(parts, absolute=absolute))
                for parts in (made.parts, made.drawn)
            )
            rows.append(self._row(keys, statistic, float(value), drawn))
        if with_probability:
            error = np.asarray(projected.error(self._first(made.drawn), absolute=False))
            reached = self.draws.share(coefficient(self.draws.system, error) >= self.asked.target * (1 - 1e-12))
            note = f"{_SHARE_NOTE}; standard error of the drawing {short(reached.error)}"
            ends = (reached.low, reached.high, 0.95, DRAWING)
            rows.append(Row("plan", keys, "probability_reached", reached.value, *ends, note=note))
        return rows

    def _first(self, drawn: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {name: values[: self.draws.n] for name, values in drawn.items()}

    def _row(
        self,
        keys: dict[str, Key],
        statistic: str,
        value: float,
        drawn: FloatArray,
        note: str = "",
        most: float = math.inf,
    ) -> Row:
        low, high, capped = ends_of(drawn, self.asked.confidence, most)
        ends = (low, high, self.asked.confidence, self.made.method, self.unit)
        note = joined(note, self.made.held(statistic, self.asked.confidence), capped, off_centre(value, low, high))
        return Row("plan", keys, statistic, value, *ends, note=note)

    def _needed(self, found: Sized | None, over: OverDraws) -> Row:
        never = share(float(np.isinf(over.cost).mean()))
        note = f"no sizes within {self.limits} reach the target in {never} of the draws"
        value = math.inf if found is None else found.cost
        sure = math.inf if over.sure is None else over.sure.cost
        return self._row(self._keys(target=self.asked.target), "cost_needed", value, over.cost, note, sure)

    def _sure(self, over: OverDraws) -> list[Row]:
        keys = self._keys(basis="lower_limit", target=self.asked.target)
        if over.sure is None:
            wanted = share((1 + self.asked.confidence) / 2)
            reason = (
                f"no sizes within {self.limits} do with confidence: the most probable of them to reach the target do "
                f"so in {share(over.best.value)} of the draws, and {wanted} are asked"
            )
            return [Row("plan", keys, "cost", np.nan, undefined=reason)]
        cost, *others = self._of(keys, over.sure, with_probability=True)
        note = "the price of being sure where the probability is taken two standard errors of the drawing off"
        ends = (min(over.least, cost.estimate), over.most, 0.95, DRAWING)
        return [Row("plan", cost.keys, "cost", cost.estimate, *ends, note=note), *others]

    def _same_cost(self, budget: float) -> list[Row]:
        keys = self._keys(basis="same_cost")
        found = affordable(self.space, self.parts, budget=budget)
        if found is None:
            return [Row("plan", keys, "cost", np.nan, undefined=f"no sizes within {self.limits} cost so little")]
        return self._of(keys, found)

    def _why_none(self) -> str:
        """Return why no sizes reach the target."""
        if not (self.space.most >= self.space.least).any():
            return f"no sizes lie within {self.limits}"
        if self.system <= 0:
            return (
                f"no sizes do: the variance of {self.made.object_of_measurement} is estimated at "
                f"{short(float(self.system))}, and what does not differ is ranked by chance"
            )
        best = affordable(self.space, self.parts, budget=math.inf)
        told = ""
        if best is not None:
            projected = self.made.projected({facet: float(size) for facet, size in best.sizes.items()})
            most = coefficient(self.system, projected.error(self.made.parts, absolute=False))
            told = f": G is at most {short(float(most))}"
        return f"no sizes within {self.limits} do{told}"


def settings_of(asked: AskedSizes, limits: Limits) -> dict[str, Any]:
    """Return what was asked, for the settings of a result."""
    return {
        "costs": dict(asked.prices),
        "least": dict(limits.least),
        "most": dict(limits.most),
        "most_per_rater": asked.per_rater,
        "sure_draws": SURE_DRAWS,
    }
