"""Numbers as people read them: rounding happens here and nowhere else."""

from __future__ import annotations

import math
from typing import Final

from measurand.result.rows import Key, Row

#: Upper limits of these are often many times the estimate, and their digits would round it to 0.
_HEAVY_TAILED: Final = ("variance",)
#: Smaller numbers are shown with an exponent.
_TINY: Final = 1e-4
#: Levels that p values are held against, and how far from one a p is no longer a matter of the computer's arithmetic.
_LEVELS: Final = (0.05, 0.01)
_SAME_P: Final = 1e-9
#: Widths of its interval from which on an estimate lies far from it.
_FAR: Final = 100
#: Share of the width of its interval below which an estimate is dust, and shown as 0.
_DUST: Final = 1e-6


def show_number(value: float | None, *, width: float | None = None) -> str:
    """Return a number as people read it, with digits that fit the width of its interval.

    Parameters
    ----------
    value : float or None
        The number; None gives a dash.
    width : float or None
        The width of its interval; two digits of it decide how many places are shown. None shows four digits.

    Examples
    --------
    >>> show_number(0.336123, width=0.62), show_number(26.2), show_number(8181.6), show_number(float("inf"))
    ('0.34', '26.2', '8,182', '∞')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e15:
        text = f"{value:,.{0 if width is None else _places(width)}f}"
    elif width is not None and 0 < width < math.inf:
        text = f"{value:,.{_places(width)}f}"
    elif abs(value) < _TINY:
        text = f"{value:.1e}"
    else:
        text = f"{value:.4g}" if abs(value) < 999.95 else f"{value:,.0f}"
    return text.replace("-", "−")


def show_interval(row: Row) -> str:
    """Return the interval of a row as text, blank where it has none."""
    if row.low is None or row.high is None:
        return ""
    if row.statistic in _HEAVY_TAILED:
        return f"[{three_digits(row.low)}, {three_digits(row.high)}]"
    width = shown_width(row)
    return f"[{show_number(row.low, width=width)}, {show_number(row.high, width=width)}]"


def shown_width(row: Row) -> float | None:
    """Return the width that decides the digits of an estimate and its limits; None for counts, or without limits.

    Where a negative limit would be shown as a zero with a sign, one digit more says on which side of 0 it lies.

    Examples
    --------
    >>> show_interval(Row("pairs", {"unit": "item"}, "difference", 0.089, low=-0.0018, high=0.179))
    '[−0.002, 0.179]'
    """
    if row.low is None or row.high is None or _are_counts(row):
        return None
    width = row.high - row.low
    hidden = [end for end in (row.low, row.high) if end < 0 and not show_number(end, width=width).strip("−0.")]
    return width / 10 if hidden else width


def show_estimate(row: Row) -> str:
    """Return the estimate of a row with the digits that its interval supports.

    A wide interval rounds no estimate to 0: at least one digit of it is shown, so that its side can be seen.

    Examples
    --------
    >>> show_estimate(Row("components", {"component": "rater"}, "variance", 0.212, low=0.0061, high=10.4))
    '0.212'
    >>> show_estimate(Row("contrasts", {"contrast": "fit"}, "difference", 0.007487, low=0.008084, high=0.02955))
    '0.007'
    >>> show_estimate(Row("missingness", {"rater": "R1"}, "difference", -0.46, low=-7.2, high=6.3))
    '−0.5'
    """
    low, high = row.low, row.high
    if row.statistic in _HEAVY_TAILED:
        return three_digits(row.estimate)
    if low is None or high is None or low == high or _are_counts(row):
        return show_rounded(row.estimate, None)
    # Far from a narrow interval (of a statistic at its bound) the digits that fit it would be endless zeros.
    if max(low - row.estimate, row.estimate - high) > _FAR * (high - low):
        return show_rounded(row.estimate, None)
    width = shown_width(row)
    text = show_rounded(row.estimate, width)
    is_hidden = not text.strip("0.") and width is not None and abs(row.estimate) > _DUST * width
    return show_rounded(row.estimate, _one_digit(row.estimate)) if is_hidden else text


def show_rounded(value: float, width: float | None) -> str:
    """Return a number with the digits of its interval; what rounds to 0 has no sign.

    Examples
    --------
    >>> show_rounded(-0.004, 1.6), show_rounded(-0.4, 1.6)
    ('0.0', '−0.4')
    """
    text = show_number(value, width=width)
    return text.removeprefix("−") if not text.strip("−0.") else text


def three_digits(value: float) -> str:
    """Return a number with three digits, where one huge limit would round away all others.

    Examples
    --------
    >>> three_digits(1081.4), three_digits(25.149), three_digits(4.4), three_digits(-0.0099674)
    ('1,080', '25.1', '4.40', '−0.00997')
    """
    rounded = float(f"{value:.3g}")
    if not rounded or not math.isfinite(rounded) or abs(rounded) < _TINY:
        return show_number(rounded)
    places = max(2 - math.floor(math.log10(abs(rounded))), 0)
    return f"{rounded:,.{places}f}".replace("-", "−")


def show_p(p: float | None) -> str:
    """Return a p value with two digits, next to a level of tests with as many as tell on which side of it p lies.

    Examples
    --------
    >>> show_p(0.000241), show_p(1e-9), show_p(None), show_p(0.049975), show_p(0.05)
    ('0.00024', '< .0001', '–', '0.04997', '0.05')
    """
    if p is None or p != p:
        return "–"
    if p < 1e-4:
        return "< .0001"
    rounded = float(f"{p:.2g}")
    if rounded not in _LEVELS or abs(p - rounded) < _SAME_P:
        return show_number(rounded)
    return next(text for n in range(3, 17) if float(text := f"{p:.{n}g}") != rounded)


def show_key(value: Key) -> str:
    """Return the value of a key as text; an unbounded one has a sign."""
    return "∞" if value == math.inf else str(value)


def _are_counts(row: Row) -> bool:
    """Whether estimate and ends are whole numbers, as of raters needed or ranks: they have no decimal places."""
    ends = [end for end in (row.estimate, row.low, row.high) if end is not None and math.isfinite(end)]
    counts = ("raters_needed", "raters_needed_these_items", "items_needed", "rank")
    return row.statistic in counts and all(end == int(end) for end in ends)


def _one_digit(value: float) -> float:
    """Return the width with which a number other than 0 is shown in one digit."""
    return 10.0 ** (math.floor(math.log10(abs(value))) + 1)


def _places(width: float) -> int:
    if not 0 < width < math.inf:
        return 0
    return min(max(1 - math.floor(math.log10(width)), 0), 8)
