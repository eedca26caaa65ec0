"""What `measurand plan` understands of designs of other facets: costs and sizes by name, and the plan of a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measurand.cli_options import assignments, refuse, split

if TYPE_CHECKING:
    from measurand.data.marks import Marks
    from measurand.result import Result

#: What the options that have a name of their own cost if nothing is said.
_UNSAID: Final = {"rater": 0.0, "item": 0.0, "judgement": 1.0}
#: What the options that have a name of their own allow for if nothing is said.
MOST_RATERS: Final = 200
MOST_ITEMS: Final = 2_000


def prices_of(written: Sequence[str], named: Mapping[str, float]) -> dict[str, float]:
    """Return costs by name: those of the options that have a name of their own, and those of `--cost`."""
    out = dict(named)
    for text in written:
        for name, price in assignments(split(text), "--cost").items():
            if name in named and named[name] != _UNSAID[name]:
                refuse(f"the cost of {name} is given twice: --cost-{name} and --cost {name}=…; leave out one")
            out[name] = price
    return out


def of_panel(prices: Mapping[str, float]) -> dict[str, float]:
    """Return the costs of a panel as its planner has them; others are refused."""
    if unknown := [name for name in prices if name not in _UNSAID]:
        refuse(f"--cost {unknown[0]}: without --formula costs are of {', '.join(_UNSAID)}")
    return {f"cost_{name}": prices[name] for name in _UNSAID}


def of_facets(prices: Mapping[str, float]) -> dict[str, float]:
    """Return the costs of a design of other facets, which need not have items or raters."""
    return {name: price for name, price in prices.items() if name not in _UNSAID or price != 0 or name == "judgement"}


def usual(raters: int, items: int) -> dict[str, int]:
    """Return what the options of panels say of the sizes of facets, where they say something."""
    asked = {"rater": (raters, MOST_RATERS), "item": (items, MOST_ITEMS)}
    return {name: size for name, (size, unsaid) in asked.items() if size != unsaid}


def whole(written: Sequence[str], option: str) -> dict[str, int]:
    """Return whole numbers by name."""
    out = {}
    for text in written:
        for name, value in assignments(split(text), option).items():
            if not (value >= 1 and value == int(value)):
                refuse(f"{option} {name}={value:g}; give a whole number of 1 or more")
            out[name] = int(value)
    return out


def planned_facets(
    ratings: Path, settings: Mapping[str, Any], *, marks: Marks, scale: Sequence[str], labels: Sequence[str]
) -> Result:
    """Return the plan of a design of other facets."""
    from measurand.data import parse_scales
    from measurand.data.read import read_table
    from measurand.planning import facets

    columns = settings["columns"]
    rating = columns["rating"] or "rating"
    frame = read_table(ratings, delimiter=marks.delimiter)
    if rating in frame:
        frame[rating] = marks.plain(frame[rating], rating, labels=labels)
    named = ("formula", "at", "fixed", "target", "costs", "least", "most", "most_per_rater", "confidence", "seed")
    asked: dict[str, Any] = {name: settings[name] for name in named}
    return facets(
        frame,
        columns={name: column for name, column in columns.items() if column and name in ("item", "system", "rater")},
        rating=rating,
        criterion=columns["criterion"],
        scale=parse_scales(scale),
        labels=labels,
        **asked,
    )
