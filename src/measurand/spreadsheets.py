"""Cells of CSV files that a spreadsheet may open: text that stays text, and the way back."""

from __future__ import annotations

from typing import Final

#: First characters with which a spreadsheet takes a cell for a formula; the apostrophe keeps the way back unique.
_RISKY: Final = ("=", "+", "-", "@", "\t", "\r", "'")


def harmless(text: str) -> str:
    """Return a text that no spreadsheet runs: an apostrophe in front says that it is text.

    Examples
    --------
    >>> harmless("=cmd()"), as_it_was(harmless("=cmd()")), harmless("joy")
    ("'=cmd()", '=cmd()', 'joy')
    """
    return f"'{text}" if text.startswith(_RISKY) else text


def as_it_was(cell: str) -> str:
    """Return the text that `harmless` was given."""
    return cell[1:] if cell.startswith("'") else cell
