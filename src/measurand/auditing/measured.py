"""How often intervals that do not keep their level held in simulation; the table is in benchmarks/coverage/."""

from __future__ import annotations

from typing import Final

#: Interval and estimand of the table to the lowest and highest coverage over its designs, in whole percent. A test
#: holds these against the table.
HELD: Final = {
    ("interval alpha, bootstrap of item_cell", "items; these raters and systems"): (79, 86),
    ("interval alpha, bootstrap of item", "items; these raters and systems"): (92, 95),
    ("interval alpha, bootstrap of item", "items, systems, raters"): (40, 66),
    ("ICC(2,1), F", "items, systems, raters"): (77, 88),
    ("interval alpha and ICC(2,1), pivots", "items, systems, raters"): (96, 98),
    ("difference of two systems, paired t", "items and raters"): (34, 72),
    ("rank sets, all systems at once, item", "items; these raters"): (99, 100),
    ("rank sets, all systems at once, rater", "raters; these items"): (99, 100),
    ("rank sets, all systems at once, item+rater", "items and raters"): (99, 100),
}


def _held(interval: str, estimand: str) -> str:
    low, high = HELD[interval, estimand]
    return f"{low} %" if low == high else f"{low} to {high} %"


_BEGIN: Final = "in simulation a 95 % interval of this kind held"
_THESE: Final = "items; these raters and systems"
_ALL: Final = "items, systems, raters"

#: Notes of rows, by the kind of their interval.
CELLS: Final = (
    f"{_BEGIN} {_held('interval alpha, bootstrap of item_cell', _THESE)} of the time: "
    "cells of one item depend on each other"
)
ITEMS: Final = (
    f"{_BEGIN} {_held('interval alpha, bootstrap of item', _THESE)} of the time for these raters, and "
    f"{_held('interval alpha, bootstrap of item', _ALL)} for other raters of their kind"
)
F_OF_CELLS: Final = f"{_BEGIN} {_held('ICC(2,1), F', _ALL)} of the time where systems share items"
PIVOTS_OF_ALPHA: Final = f"{_BEGIN} {_held('interval alpha and ICC(2,1), pivots', _ALL)} of the time"
PAIRED: Final = (
    f"{_BEGIN} {_held('difference of two systems, paired t', 'items and raters')} of the time "
    "for other raters of their kind"
)
_RANKS: Final = {"item": "items; these raters", "rater": "raters; these items", "item+rater": "items and raters"}
RANK_SETS: Final = {
    unit: f"{_BEGIN} for all systems at once in {_held(f'rank sets, all systems at once, {unit}', estimand)} "
    "of panels: it errs on the wide side"
    for unit, estimand in _RANKS.items()
}
