"""Every layout of a panel within bounds, what it costs, and the cheapest one that reaches a precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.planning.assigning import connecting
from measurand.result import MeasurandError, show_number
from measurand.stats.inference import FloatArray, without_dust
from measurand.stats.layouts import error_df, error_variance, fitting, items_needed, rounded_up
from measurand.stats.power import detectable

#: crossed: every rater rates every item. rotating: every item is rated by some of the raters, from two up to all but
#: one. nested: each rater has items of their own. All rate every system on an item, and all rate as many items.
LAYOUTS: Final = ("crossed", "rotating", "nested")
#: A panel of one rater, or one item, could never be audited.
FEWEST: Final = 2


@dataclass(frozen=True)
class Costs:
    """What a panel costs, in any unit of money or time.

    Parameters
    ----------
    rater, item, judgement : float
        Of each rater (recruiting, training), each item (its making, and the systems' outputs to it), and each judgement
        (one rating of one system's output by one rater); 0 or more. An item with its judgements must cost something.
    n_systems : int
        Systems that are rated on every item.
    """

    rater: float
    item: float
    judgement: float
    n_systems: int

    def of(self, n_raters: npt.ArrayLike, n_items: npt.ArrayLike, per_item: npt.ArrayLike) -> FloatArray:
        """Return the cost of a panel; the sizes broadcast."""
        raters, items, k = (np.asarray(x, dtype=float) for x in (n_raters, n_items, per_item))
        return np.asarray(self.rater * raters + items * self.of_item(k))

    def of_design(self, design: Design) -> float:
        """Return the cost of a design, without rounding dust."""
        return as_money(float(self.of(design.n_raters, design.n_items, design.per_item)))

    def of_item(self, per_item: npt.ArrayLike) -> FloatArray:
        """Return the cost of one item more and its judgements."""
        return np.asarray(self.item + self.judgement * np.asarray(per_item, dtype=float) * self.n_systems)


def as_money(cost: float) -> float:
    """Return a cost to twelve digits: sums of tenths are tenths."""
    return float(without_dust(np.array([cost]), largest=cost)[0])


@dataclass(frozen=True)
class Bounds:
    """The largest panel that could be had.

    Parameters
    ----------
    raters, items : int
        Raters and items that could be had.
    per_rater : int or None
        Judgements that one rater could give, one for each system on an item; None for any number.
    n_systems : int
        Systems that are rated on every item.
    """

    raters: int
    items: int
    per_rater: int | None = None
    n_systems: int = 1

    @property
    def items_per_rater(self) -> float:
        """How many items a rater could rate, with all systems on each; infinite without a limit."""
        return math.inf if self.per_rater is None else float(self.per_rater // self.n_systems)

    def __str__(self) -> str:
        raters, items = show_number(self.raters), show_number(self.items)
        if self.per_rater is None:
            return f"{raters} raters and {items} items"
        return f"{raters} raters, {items} items and {show_number(self.per_rater)} judgements of a rater"


class Design(NamedTuple):
    """A panel that could be: its layout, raters, items, and raters for each item."""

    layout: str
    n_raters: int
    n_items: int
    per_item: int

    @property
    def items_per_rater(self) -> int:
        """How many items each rater rates."""
        return self.n_items * self.per_item // self.n_raters

    @property
    def numbers(self) -> dict[str, FloatArray]:
        """The effective numbers of its channels."""
        sizes = {"rater": self.n_raters, "item": self.n_items, "cell": self.n_items * self.per_item}
        return {name: np.array(float(size)) for name, size in sizes.items()}

    def __str__(self) -> str:
        raters, items = show_number(self.n_raters), show_number(self.n_items)
        if self.layout == "crossed":
            return f"crossed, {raters} raters who all rate {items} items"
        if self.layout == "nested":
            return f"nested, {raters} raters with {own_items(self.items_per_rater)} each"
        return (
            f"rotating, {raters} raters and {items} items, {self.per_item} raters for an item and "
            f"{show_number(self.items_per_rater)} items for a rater"
        )


def own_items(each: int) -> str:
    """Return the items of a rater in a nested layout, in words.

    Examples
    --------
    >>> own_items(1), own_items(21)
    ('1 item of their own', '21 items of their own')
    """
    return f"{show_number(each)} {'item' if each == 1 else 'items'} of their own"


class Choices(NamedTuple):
    """The designs of one layout apart from their numbers of items, multiples of `step` from `least` to `most`.

    `least` is what a panel needs for an audit, and in a rotating layout what connects its raters; no multiple may lie
    between it and `most`.
    """

    layout: str
    n_raters: FloatArray
    per_item: FloatArray
    step: FloatArray
    least: FloatArray
    most: FloatArray

    def of(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp] | slice) -> Choices:
        """Return some of them."""
        sizes = (self.n_raters, self.per_item, self.step, self.least, self.most)
        return Choices(self.layout, *(one[chosen] for one in sizes))

    @property
    def is_there(self) -> npt.NDArray[np.bool_]:
        """Whether there is any number of items that each may have."""
        return np.asarray(self.least <= self.most)

    def numbers(self, n_items: FloatArray) -> dict[str, FloatArray]:
        """Return the effective numbers of the channels at given numbers of items."""
        return {"rater": self.n_raters, "item": n_items, "cell": n_items * self.per_item}

    def design(self, at: int, n_items: float) -> Design:
        """Return one of them with a number of items."""
        return Design(self.layout, int(self.n_raters[at]), int(n_items), int(self.per_item[at]))


def choices(layout: str, bounds: Bounds) -> Choices:
    """Return every number of raters, and of raters for each item, that a layout can have within bounds.

    Raises
    ------
    MeasurandError
        If there is no such layout.
    """
    if layout not in LAYOUTS:
        raise MeasurandError(f"layout {layout!r}; allowed are {', '.join(LAYOUTS)}")
    raters = np.arange(FEWEST, bounds.raters + 1)
    if layout == "rotating":
        all_raters, per_item = np.tril_indices(bounds.raters + 1, -1)
        both = (all_raters >= FEWEST + 1) & (per_item >= FEWEST)
        all_raters, per_item = all_raters[both], per_item[both]
    else:
        all_raters, per_item = raters, raters if layout == "crossed" else np.ones_like(raters)
    step = all_raters // np.gcd(all_raters, per_item)
    # Multiples of the step give every rater as many items: step k / n_r, which must not exceed what a rater can do.
    most = np.floor(bounds.items / step)
    if math.isfinite(bounds.items_per_rater):
        most = np.minimum(most, bounds.items_per_rater // (step * per_item // all_raters))
    least = np.full(len(step), float(FEWEST))
    if layout == "rotating":
        least = np.maximum(least, connecting(all_raters, per_item))
    least = np.ceil(least / step) * step
    return Choices(layout, all_raters.astype(float), per_item.astype(float), step.astype(float), least, most * step)


def cheapest(here: Choices, n_items: FloatArray, errors: Mapping[str, FloatArray], *, costs: Costs) -> Design | None:
    """Return the cheapest of the designs, None where none lies within bounds.

    Parameters
    ----------
    here : Choices
        The designs.
    n_items : ndarray, shape (n_choices,)
        Items that each needs; infinite where no number suffices.
    errors : mapping
        Channels: of designs that cost the same the one with the least error is taken, then the one with fewer raters.
    costs : Costs
        What is minimised.
    """
    items = np.maximum(n_items, here.least)
    at = np.flatnonzero(items <= here.most)
    if at.size == 0:
        return None
    kept, items = here.of(at), items[at]
    cost = costs.of(kept.n_raters, items, kept.per_item)
    cost = without_dust(cost, largest=float(cost.max()))
    best = int(np.lexsort((kept.n_raters, error_variance(errors, kept.numbers(items)), cost))[0])
    return kept.design(best, float(items[best]))


def reaching(
    here: Choices, system: FloatArray, errors: Mapping[str, FloatArray], *, target: float, costs: Costs
) -> Design | None:
    """Return the cheapest design whose coefficient reaches a target, by one set of components."""
    needed = items_needed(system, errors, target=target, n_raters=here.n_raters, per_item=here.per_item, step=here.step)
    return cheapest(here, needed, errors, costs=costs)


def affordable(here: Choices, errors: Mapping[str, FloatArray], *, budget: float, costs: Costs) -> Design | None:
    """Return the design of the least error that costs no more than a budget, None where there is none."""
    left = np.maximum(budget - costs.rater * here.n_raters, 0.0) / costs.of_item(here.per_item)
    items = np.minimum(np.floor(left * (1 + 1e-12) / here.step) * here.step, here.most)
    at = np.flatnonzero(items >= here.least)
    if at.size == 0:
        return None
    kept, items = here.of(at), items[at]
    error = error_variance(errors, kept.numbers(items))
    best = int(np.lexsort((costs.of(kept.n_raters, items, kept.per_item), error))[0])
    return kept.design(best, float(items[best]))


def finding_difference(
    here: Choices,
    errors: Mapping[str, FloatArray],
    *,
    difference: float,
    power: float,
    alpha: float,
    costs: Costs,
) -> Design | None:
    """Return the cheapest design that finds a difference between two systems with a given power.

    Parameters
    ----------
    here : Choices
        Designs of one layout.
    errors : mapping
        Relative channels.
    difference : float
        The true difference, in scale units, above 0.
    power, alpha : float
        Power wanted, and the level of the two-sided test.
    costs : Costs
        What is minimised.
    """
    a, b = errors["rater"] / here.n_raters, errors["item"] + errors["cell"] / here.per_item
    least = here.least

    def fits(items: FloatArray) -> npt.NDArray[np.bool_]:
        error = np.sqrt(2 * error_variance(errors, here.numbers(items)))
        return np.asarray(factor(items) * error <= difference * (1 + 1e-12))

    def factor(items: FloatArray) -> FloatArray:
        sizes = {"n_items": items, "n_raters": here.n_raters, "per_item": here.per_item}
        return detectable(error_df(errors, n_systems=costs.n_systems, **sizes), power=power, alpha=alpha)

    factors: FloatArray = detectable(np.full(len(a), np.inf), power=power, alpha=alpha)
    items = least
    # Items decide degrees of freedom, which decide items: a few rounds settle both.
    for _ in range(20):
        items = np.maximum(rounded_up(fitting(b, difference**2 / (2 * factors**2) - a), here.step), least)
        items = np.minimum(items, 2 * here.most + here.step)
        factors = factor(items)
    for _ in range(20):
        items = np.where(fits(items), items, items + here.step)
    for _ in range(20):
        fewer = np.maximum(items - here.step, least)
        items = np.where(fits(items) & fits(fewer), fewer, items)
    return cheapest(here, np.where(fits(items), items, np.inf), errors, costs=costs)


def check_price(name: str, value: float) -> None:
    """Refuse a price that is none, or one with which sums of prices would lose their digits.

    Raises
    ------
    MeasurandError
        Saying what was given and what is allowed.
    """
    if not (math.isfinite(value) and value >= 0):
        raise MeasurandError(f"the cost of {name} is {value:g}; give a number of 0 or more")
    if value and not LEAST_PRICE <= value <= MOST_PRICE:
        raise MeasurandError(
            f"the cost of {name} is {value:g}; give 0, or a number from {LEAST_PRICE:g} to {MOST_PRICE:g}, in another "
            "unit of money if need be"
        )


def checked(costs: Costs, layouts: Sequence[str], bounds: Bounds) -> None:
    """Refuse costs, layouts and bounds with which nothing can be planned.

    Raises
    ------
    MeasurandError
        Saying what was given and what is allowed.
    """
    for name, value in (("a rater", costs.rater), ("an item", costs.item), ("a judgement", costs.judgement)):
        check_price(name, value)
    if costs.item + costs.judgement == 0:
        raise MeasurandError(
            "items and judgements cost nothing, so that as many as there are would be had; give a cost of an item or "
            "of a judgement above 0"
        )
    if not layouts:
        raise MeasurandError(f"no layout to plan; allowed are {', '.join(LAYOUTS)}")
    for layout in layouts:
        choices(layout, Bounds(FEWEST, FEWEST))
    for name, most in (("raters", bounds.raters), ("items", bounds.items)):
        if most < FEWEST:
            raise MeasurandError(f"at most {most} {name}; a panel needs {FEWEST}")
    if bounds.per_rater is not None and bounds.items_per_rater < 1:
        raise MeasurandError(
            f"at most {bounds.per_rater} judgements of a rater, and an item takes {bounds.n_systems}, one for each "
            f"system; allow for {bounds.n_systems} at least"
        )
    if bounds.raters > MOST_RATERS:
        raise MeasurandError(f"at most {bounds.raters:,} raters; designs are tried up to {MOST_RATERS:,}")


#: Prices between which those of raters, items and judgements lie.
LEAST_PRICE: Final = 1e-6
MOST_PRICE: Final = 1e9
#: Raters up to which every number of them, and of raters for an item, is tried.
MOST_RATERS: Final = 1_000
