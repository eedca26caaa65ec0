"""Table cells from rows: an estimate with its interval, a dash with the reason where there is no number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from measurand.reporting.blocks import Cell, Column, Table
from measurand.reporting.words import begin, clean, joined, shorten, show_estimate, show_p
from measurand.result import Row, show_interval, show_number

#: How a note on measured coverage begins, and the rows that it names before it counts the rest.
_COVERAGE: Final = "in simulation"
_MOST_LABELS: Final = 6


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
                shown.append(f"Of {joined([shorten(label) for label in few] + more)}: {coverage}.")
        return shown


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


def plain(row: Row | None, remarks: Remarks | None = None) -> Cell:
    """Return the cell of a number alone, with four digits."""
    if row is None:
        return Cell("–")
    if remarks is not None:
        remarks.see(row)
    return Cell("–", title=clean(row.undefined)) if row.undefined else Cell(show_number(row.estimate))


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
    small = "" if row.low is None or row.high is None else f"[{100 * row.low:.0f}, {100 * row.high:.0f}]"
    return Cell(f"{100 * row.estimate:.1f}", small)


def without_empty(
    caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], remarks: Iterable[str]
) -> Table:
    """Return a table without the columns in which there is no number at all."""
    kept = [i for i in range(len(columns)) if i == 0 or any(row[i].text not in ("–", "") for row in rows)]
    return Table(caption, [columns[i] for i in kept], [[row[i] for i in kept] for row in rows], list(remarks))
