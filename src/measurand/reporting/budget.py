"""Pages that stay below a megabyte: where tables would be longer, all are cut alike, and say where the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting.blocks import (
    Answer,
    Block,
    Bullets,
    Cell,
    Fold,
    Image,
    Part,
    Section,
    Table,
    Terms,
    Text,
    within,
)

#: Bytes that chapters may take together; what a page has besides, and what is estimated too low, comes on top.
BUDGET: Final = 900_000
#: Rows to which tables are cut, until the page is small enough.
_ROWS: Final = (*range(200, 60, -10), *range(60, 4, -4))
#: What a figure keeps of its bytes on a page.
_OF_FIGURE: Final = 0.45
#: Bytes of marks: of a cell, of a second line in it, of what else a cell or a block may have.
_CELL, _SMALL, _BLOCK = 20, 15, 60
#: The table that a chapter is made from, where it does not bear its name.
_TABLES: Final = {
    "systems": "scores",
    "by-criterion": "scores",
    "order": "contrasts",
    "reliability": "reliability_curve",
    "undefined": "",
}
_IN_TABLES: Final = ("contrasts", "criteria", "spread", "decisions", "coverage", "baselines", "gates", "acquiescence")


def fitted(
    first: Sequence[Section], last: Sequence[Section], *, budget: int = BUDGET
) -> tuple[list[Section], list[Section]]:
    """Return chapters whose tables are cut to so many rows that all of them together stay within a budget.

    Parameters
    ----------
    first, last : sequences of Section
        The chapters of a page; only the tables of the first are cut.
    budget : int
        Bytes that they may take, by an estimate.

    Returns
    -------
    tuple of two lists
        The same chapters; unchanged if they fit as they are.
    """
    left = budget - sum(size(section.blocks) for section in last)
    out = list(first)
    for most in _ROWS:
        if sum(size(section.blocks) for section in out) <= left:
            break
        out = [replace(section, blocks=_cut(section.blocks, most, _file(section.id))) for section in first]
    return out, list(last)


def size(blocks: Sequence[Block]) -> int:
    """Return about how many bytes blocks take on a page.

    Examples
    --------
    >>> size([Text("four")])
    64
    """
    return sum(_BLOCK + _own(block) for block in within(blocks))


def _own(block: Block) -> int:
    if isinstance(block, Table):
        said = [block.caption, *block.notes, *(column.text for column in block.columns)]
        return sum(map(_bytes, said)) + sum(_of_cell(cell) for row in block.rows for cell in row)
    if isinstance(block, Image):
        return int(_OF_FIGURE * len(block.plot.svg))
    if isinstance(block, Text):
        return _bytes(block.text)
    if isinstance(block, Terms):
        return sum(_BLOCK + _bytes(name) + _bytes(value) for name, value in block.pairs)
    if isinstance(block, Bullets):
        return sum(_BLOCK + _bytes(item) for item in block.items)
    if isinstance(block, Answer):
        said = [block.question, block.statement, block.remedy, *block.where]
        return sum(_BLOCK + _bytes(text) for text in said)
    if isinstance(block, Fold | Part):
        return _BLOCK
    # Cards: pictures, and a strip of marks on every line.
    marks = sum(len(line.marks) for card in block.cards for line in card.lines)
    lines = sum(_of_cell(cell) for card in block.cards for line in card.lines for cell in [line.name, *line.cells])
    return sum(len(card.picture) + 400 for card in block.cards) + lines + 50 * marks


def _of_cell(cell: Cell) -> int:
    small = _SMALL + _bytes(cell.small) if cell.small else 0
    return _CELL + _bytes(cell.text) + small + sum(_SMALL + _bytes(part) for part in (cell.title, cell.href) if part)


def _bytes(text: str) -> int:
    return len(text.encode())


def _file(section: str) -> str:
    name = _TABLES.get(section, section if section in _IN_TABLES else "")
    return f"tables/{name}.csv" if name else "tables/"


def _cut(blocks: Sequence[Block], most: int, file: str) -> list[Block]:
    return [_shortened(block, most, file) for block in blocks]


def _shortened(block: Block, most: int, file: str) -> Block:
    if isinstance(block, Fold | Part):
        return replace(block, blocks=_cut(block.blocks, most, file))
    if isinstance(block, Table) and len(block.rows) > most:
        said = f"The first {most} of {len(block.rows):,} rows; all are in {file}."
        return replace(block, rows=block.rows[:most], notes=[*block.notes, said])
    return block
