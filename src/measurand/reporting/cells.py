"""Table cells from rows: an estimate with its interval, a dash with the reason where there is no number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from measurand.reporting.blocks import Cell, Column, Table
from measurand.reporting.words import begin, joined
from measurand.result import Row, show_interval, show_number
from measurand.result.digits import show_estimate, show_p, show_rounded
from measurand.result.words import clean, shorten

#: How a note on measured coverage begins, and the rows that it names before it counts the rest.
_COVERAGE: Final = "in simulation"
_MOST_LABELS: Final = 6
#: Widths of the interval of a share, in percent, below which it has a decimal place.
_NARROW: Final = 10.0


class Remarks:
    """What must be said below a table: the notes and the reasons of the rows that it shows, each once."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        self._held: dict[str, dict[str, None]] = {}
        self._intervals: dict[str, None] = {}

    def see(self, row: Row) -> None:
        """Take up the note of a row, or the reason why it has no number."""
        note, _ = split_coverage(row.note)
        if row.undefined:
            self.say(f"Where there is no number: {row.undefined}.")
        elif note:
            self.say(sentence(note))

    def hold(self, row: Row | None, label: object) -> None:
        """Take up how often an interval of the kind of this row held in simulation, under its name in the table."""
        if row is None or row.low is None:
            return
        self._intervals.setdefault(clean(label))
        if (coverage := split_coverage(row.note)[1]) != "":
            self._held.setdefault(coverage, {}).setdefault(clean(label))

    def say(self, text: str) -> None:
        """Take up a remark."""
        self._seen.setdefault(clean(text))

    def all(self, most: int = 8) -> list[str]:
        """Return the remarks in the order in which they came, the first `most` of them; then measured coverage."""
        every = list(self._seen)
        shown = every[:most] + ([f"… and {len(every) - most} more remarks in the tables."] if len(every) > most else [])
        for coverage, labels in self._held.items():
            if len(labels) == len(self._intervals):
                shown.append(sentence(coverage))
            else:
                few = list(labels)[:_MOST_LABELS]
                more = [f"{len(labels) - len(few)} more"] if len(labels) > len(few) else []
                shown.append(f"{together([shorten(label) for label in few] + more)}: {coverage}.")
        return shown


def together(names: Sequence[str]) -> str:
    """Return names as people list them, a beginning that all share said once.

    Examples
    --------
    >>> together(["Alpha, nominal", "Alpha, ordinal"]), together(["over items", "over raters"])
    ('Alpha (nominal and ordinal)', 'over items and over raters')
    """
    shared = names[0][: names[0].find(", ") + 2] if names and ", " in names[0] else ""
    if len(names) > 1 and shared and all(name.startswith(shared) for name in names):
        return f"{shared.removesuffix(', ')} ({joined([name.removeprefix(shared) for name in names])})"
    return joined(list(names))


def sentence(text: str) -> str:
    """Return a note as a sentence."""
    return f"{begin(text)}." if text else ""


def split_coverage(note: str) -> tuple[str, str]:
    """Return a note without, and only, what was measured of intervals of its kind.

    Examples
    --------
    >>> split_coverage("rests on 3 raters; in simulation a 95 % interval of this kind held 85 % of the time")
    ('rests on 3 raters', 'in simulation a 95 % interval of this kind held 85 % of the time')
    """
    at = note.lower().find(_COVERAGE)
    return (note, "") if at < 0 else (note[:at].rstrip("; "), note[at:])


def estimate(row: Row | None, remarks: Remarks | None = None) -> Cell:
    """Return the cell of an estimate with its interval below it."""
    if row is None:
        return Cell("–")
    if remarks is not None:
        remarks.see(row)
    if row.undefined:
        return Cell("–", title=clean(row.undefined))
    return Cell(show_estimate(row), show_interval(row))


def plain(row: Row | None, remarks: Remarks | None = None, *, places: int | None = None) -> Cell:
    """Return the cell of a number alone, with so many decimal places, else with four digits."""
    if row is None:
        return Cell("–")
    if remarks is not None:
        remarks.see(row)
    if row.undefined:
        return Cell("–", title=clean(row.undefined))
    return Cell(show_number(row.estimate) if places is None else show_rounded(row.estimate, 10.0 ** (1 - places)))


def places_of(rows: Iterable[Row | None], digits: int = 4) -> int:
    """Return the decimal places that give the largest number of a column so many digits, for all of the column.

    Examples
    --------
    >>> places_of([Row("raters", {}, "sd", 14.2), Row("raters", {}, "sd", 17.61)])
    2
    """
    sizes = [abs(row.estimate) for row in rows if row is not None and not row.undefined]
    largest = max((size for size in sizes if math.isfinite(size)), default=0.0)
    return 0 if not largest else min(max(digits - 1 - math.floor(math.log10(largest)), 0), 8)


def freedom(df: float | None) -> Cell:
    """Return the cell of degrees of freedom: with a place behind the point where they are few and no whole number.

    Examples
    --------
    >>> freedom(26.78).text, freedom(10.0).text, freedom(1012.6).text
    ('26.8', '10', '1,013')
    """
    if df is None or not math.isfinite(df):
        return Cell(show_number(df))
    # A fit gives whole numbers but for the last digits.
    return Cell(f"{df:,.0f}" if df >= 100 or abs(df - round(df)) < 0.005 else f"{df:.1f}")


def interval(row: Row | None) -> Cell:
    """Return the cell of an interval alone."""
    return Cell((show_interval(row) if row is not None else "") or "–")


def p_value(value: float | None) -> Cell:
    """Return the cell of a p value."""
    return Cell(show_p(value))


def share(row: Row | None, remarks: Remarks | None = None) -> Cell:
    """Return the cell of a share in percent, with its interval."""
    if row is None or row.undefined:
        return estimate(row, remarks)
    if row.low is None or row.high is None:
        return Cell(f"{100 * row.estimate:.1f}")
    # A place behind the point only where the interval is narrow enough for it to say anything.
    places = 1 if 100 * (row.high - row.low) < _NARROW else 0
    return Cell(f"{100 * row.estimate:.{places}f}", f"[{100 * row.low:.{places}f}, {100 * row.high:.{places}f}]")


def without_empty(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], remarks: Iterable[str]
) -> Table:
    """Return a table without the columns in which there is no number at all."""
    kept = [i for i in range(len(columns)) if i == 0 or any(row[i].text not in ("–", "") for row in rows)]
    return Table(caption, [columns[i] for i in kept], [[row[i] for i in kept] for row in rows], list(remarks))
