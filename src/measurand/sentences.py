"""Numbers as sentences have them: three digits, p values, ranges. The rows have all digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from measurand.result import Row, show_number


def show_p(value: float | None) -> str:
    """Return a p value as sentences have it."""
    if value is None:
        return "p not defined"
    return "p < .0001" if value < 1e-4 else f"p = {show_number(float(f'{value:.2g}'))}"


def short(value: float) -> str:
    """Three digits: enough for a sentence; the row has them all."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return show_number(value)
    return show_number(float(f"{value:.3g}"))


def count(value: float) -> str:
    """Return a number of raters or items, never for infinity."""
    return "never" if math.isinf(value) else show_number(value)


def spread_of(row: Row) -> str:
    """Return an interval as ``low to high``."""
    if row.low is None or row.high is None:
        return ""
    width = row.high - row.low
    return f"{show_number(row.low, width=width)} to {show_number(row.high, width=width)}"


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
