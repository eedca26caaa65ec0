"""Intervals end where a number can be no more: a share at 0 and 1, a count of directions at 1 and all of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from measurand.result import Row, show_number
from measurand.sentences import joined

#: How far beyond a bound is rounding, as a share of it (of 1 where it is smaller).
_DUST: Final = 1e-9


def within(row: Row, least: float = -math.inf, most: float = math.inf) -> Row:
    """Return a row whose interval has no end beyond what is possible, and whose note says which one was cut.

    Parameters
    ----------
    row : Row
        A number, with or without an interval.
    least, most : float
        The smallest and the largest value that it can have.

    Returns
    -------
    Row
        The row as it is where both ends are possible. An estimate that is not (one without bias may lie outside) stays,
        with its interval, and the note says so.

    Examples
    --------
    >>> row = within(Row("leakage", {}, "macro_f1_row", 0.9, low=0.7, high=1.1), 0, 1)
    >>> row.low, row.high, row.note
    (0.7, 1, 'the interval is cut at 1, the largest possible')
    """
    if row.undefined:
        return row
    if not _is_possible(row.estimate, least, most):
        outside = f"outside what is possible ({_range(least, most)}): too few observations for an estimate without bias"
        return replace(row, note=joined(row.note, outside))
    low, high, cut = row.low, row.high, []
    if low is not None and low < least:
        low = min(least, row.estimate)
        cut.append(f"{show_number(least)}, the smallest possible")
    if high is not None and high > most:
        high = max(most, row.estimate)
        cut.append(f"{show_number(most)}, the largest possible")
    if not cut:
        return row
    return replace(row, low=low, high=high, note=joined(row.note, f"the interval is cut at {' and '.join(cut)}"))


def _is_possible(value: float, least: float, most: float) -> bool:
    return value >= least - _DUST * max(1.0, abs(least)) and value <= most + _DUST * max(1.0, abs(most))


def _range(least: float, most: float) -> str:
    if math.isinf(least) or math.isinf(most):
        return f"{show_number(least)} or more" if math.isinf(most) else f"{show_number(most)} or less"
    return f"{show_number(least)} to {show_number(most)}"
