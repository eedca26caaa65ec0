"""Cells that the tables of a probe share: numbers without dust, shares in percent, ranks, notes on what is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Fold, Table
from measurand.result import Row, show_interval, show_number
from measurand.result.words import clean

#: Rows that a table shows; the files have all.
MOST: Final = 40
#: Rows up to which a table stands open.
MOST_OPEN: Final = 15
#: What is nearer to 0 than this is 0: sums of floating-point numbers leave no less.
_DUST: Final = 1e-12


def number(row: Row | None) -> Cell:
    """Return the cell of a number with its interval; what is 0 but for rounding errors is 0."""
    if row is None or row.undefined:
        return cells.estimate(row)
    ends = [end for end in (row.estimate, row.low, row.high) if end is not None]
    if all(abs(end) < _DUST for end in ends):
        return Cell("0")
    return cells.estimate(row)


def three(row: Row | None) -> Cell:
    """Return the cell of a score alone, to three places: its interval stands elsewhere."""
    if row is None or row.undefined:
        return cells.estimate(row)
    return Cell(f"{row.estimate:.3f}".replace("-", "−"))


def digits(row: Row | None, most: int = 3) -> Cell:
    """Return the cell of a number alone, to so many digits; whole numbers as they are."""
    if row is None or row.undefined or row.estimate == int(row.estimate):
        return cells.plain(row)
    return Cell(show_number(float(f"{row.estimate:.{most}g}")))


def mean(row: Row | None) -> Cell:
    """Return the cell of a mean alone, to two places; its interval stands in the files."""
    if row is None or row.undefined:
        return cells.estimate(row)
    if abs(row.estimate) >= 1000 or row.estimate == 0:
        return Cell(f"{row.estimate:,.0f}")
    return Cell("< 0.01" if 0 < row.estimate < 0.005 else f"{row.estimate:.2f}")


def percent(row: Row | None) -> Cell:
    """Return the cell of a share in percent, with the digits of its interval."""
    if row is None or row.undefined:
        return cells.estimate(row)
    ends = [None if end is None else 100 * end for end in (row.low, row.high)]
    hundred = replace(row, estimate=100 * row.estimate, low=ends[0], high=ends[1])
    return number(hundred) if ends[0] is not None else Cell(f"{hundred.estimate:.3g}")


def shared(row: Row | None) -> Cell:
    """Return the cell of a share in percent that may be all but 1; what is less than all does not look like all."""
    if row is None or row.undefined:
        return cells.estimate(row)
    if 0.9995 <= row.estimate < 1:
        return Cell("> 99.9")
    return Cell(f"{100 * row.estimate:.1f}")


def rank(row: Row | None) -> Cell:
    """Return the cell of a rank, with the ranks that are possible below it."""
    if row is None or row.undefined:
        return cells.estimate(row)
    return Cell(show_number(row.estimate), show_interval(row))


def rest(found: int, analysis: str, what: str = "rows", most: int = MOST) -> list[str]:
    """Return the remark that a table is cut, if it is."""
    return [f"The first {most} of {found:,} {what}; all are in tables/{analysis}.csv."] if found > most else []


def folded(summary: str, table: Table, *, most: int = MOST_OPEN) -> Block:
    """Return a table, folded away if it is long."""
    return Fold(summary, [table]) if len(table.rows) > most else table


def reasons(rows: Sequence[Row]) -> list[str]:
    """Return each reason why there is no number, once."""
    return list(dict.fromkeys(clean(row.undefined) for row in rows if row.undefined))
