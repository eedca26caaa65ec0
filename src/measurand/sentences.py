"""Numbers as sentences have them: three digits, p values, ranges. The rows have all digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from measurand.result import Row, show_number
from measurand.result.digits import show_estimate, shown_width
from measurand.result.digits import show_p as digits_of_p

#: Up to so many raters nothing is said of raters of their kind: so few, redrawn, vary too little.
TOO_FEW_RATERS: Final = 5


def too_few_raters(n: float | None) -> str:
    """Return why nothing can be said of raters of the same kind as these; blank where it can, or where none is known.

    Examples
    --------
    >>> too_few_raters(5), too_few_raters(6)
    ('5 raters are too few to speak of raters of their kind', '')
    """
    if n is None or n > TOO_FEW_RATERS:
        return ""
    return f"{n:g} {'rater is' if n == 1 else 'raters are'} too few to speak of raters of their kind"


def show_p(value: float | None) -> str:
    """Return a p value as sentences have it.

    Examples
    --------
    >>> show_p(0.0312), show_p(0.049975), show_p(1e-6), show_p(None)
    ('p = 0.031', 'p = 0.04997', 'p < .0001', 'p not defined')
    """
    if value is None:
        return "p not defined"
    return "p < .0001" if value < 1e-4 else f"p = {digits_of_p(value)}"


def short(value: float) -> str:
    """Three digits: enough for a sentence; the row has them all."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return show_number(value)
    return show_number(float(f"{value:.3g}"))


def money(cost: float | None) -> str:
    """Return a cost in four digits, large ones as whole numbers.

    Examples
    --------
    >>> money(430.8), money(1001.6), money(float("inf")), money(None)
    ('430.8', '1,002', '∞', '–')
    """
    return f"{cost:,.0f}" if cost is not None and 1000 <= cost < math.inf else show_number(cost)


def price(row: Row) -> str:
    """Return the cost of a row; where it is known within ends only, these.

    Examples
    --------
    >>> price(Row("plan", {}, "cost", 1011.2, 1006.8, 1011.2)), price(Row("plan", {}, "cost", 768.0))
    ('1,007 to 1,011', '768')
    """
    if row.low is None or row.high is None or money(row.low) == money(row.high):
        return money(row.estimate)
    return f"{money(row.low)} or more" if math.isinf(row.high) else f"{money(row.low)} to {money(row.high)}"


def count(value: float) -> str:
    """Return a number of raters or items, never for infinity."""
    return "never" if math.isinf(value) else show_number(value)


def spread_of(row: Row) -> str:
    """Return an interval as ``low to high``."""
    if row.low is None or row.high is None:
        return ""
    width = shown_width(row)
    return f"{show_number(row.low, width=width)} to {show_number(row.high, width=width)}"


def estimate_of(row: Row) -> str:
    """Return an estimate with the digits that its interval supports, with three where it has none.

    Examples
    --------
    >>> slope = Row("length", {"model": "judgement"}, "slope", -0.2172, low=-0.92, high=0.49)
    >>> estimate_of(slope), spread_of(slope), estimate_of(Row("agreement", {}, "icc_2_1", 0.22812))
    ('−0.2', '−0.9 to 0.5', '0.228')
    """
    return short(row.estimate) if row.low is None or row.high is None else show_estimate(row)


def percent(confidence: float | None) -> str:
    """Return a level of confidence in percent."""
    return f"{100 * (confidence or 0.95):g} %"


def joined(*notes: str) -> str:
    """Return the notes that are not blank as one."""
    return "; ".join(note for note in notes if note)


def share(value: float) -> str:
    """Return a share in percent, three digits; what is not quite all or nothing is never shown as such."""
    if 0 < value < 0.0005:
        return "under .05 %"
    if 0.9995 < value < 1:
        return "over 99.95 %"
    return f"{show_number(float(f'{100 * value:.3g}'))} %"


def listed(names: Sequence[str], *, most: int = 4) -> str:
    """Return names as a sentence has them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
