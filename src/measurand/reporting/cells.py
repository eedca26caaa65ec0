"""Table cells from rows: an estimate with its interval, a dash with the reason where there is no number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from measurand.reporting.blocks import Cell, Column, Table
from measurand.reporting.words import clean, show_estimate, show_p
from measurand.result import Row, show_interval, show_number


class Remarks:
    """What must be said below a table: the notes and the reasons of the rows that it shows, each once."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}

    def see(self, row: Row) -> None:
        """Take up the note of a row, or the reason why it has no number."""
        if row.undefined:
            self.say(f"Where there is no number: {row.undefined}.")
        elif row.note:
            self.say(f"{row.note[0].upper()}{row.note[1:]}.")

    def say(self, text: str) -> None:
        """Take up a remark."""
        self._seen.setdefault(clean(text))

    def all(self, most: int = 8) -> list[str]:
        """Return the remarks in the order in which they came, the first `most` of them."""
        every = list(self._seen)
        return every[:most] + ([f"… and {len(every) - most} more remarks in the tables."] if len(every) > most else [])


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
