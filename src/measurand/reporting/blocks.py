"""What a report consists of, whatever it is written in: blocks of plain text, tables, figures and findings.

The page and the Markdown file are two renderings of one such document, so that they cannot say different things. All
text here is plain; whoever renders it escapes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from measurand.reporting.svg import Plot
from measurand.result import Verdict
from measurand.result.words import MARK, WORD, clean, plural, shorten


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Parameters
    ----------
    text, small : str
        What it says; a second, smaller line (an interval).
    title : str
        The whole text where `text` is shortened.
    is_name : bool
        Whether the text is a name from the data, whose writing direction must not spread.
    href, id : str
        An anchor on this page that it points to; its own anchor.
    verdict : str
        The verdict that it shows, blank if it shows none.
    """

    text: str
    small: str = ""
    title: str = ""
    is_name: bool = False
    href: str = ""
    id: str = ""
    verdict: Verdict | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Column:
    """The head of a column; `is_number` puts its cells to the right."""

    text: str
    is_number: bool = False
    title: str = ""
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; a `small` one is a remark."""

    kind: ClassVar[str] = "text"
    text: str
    small: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Terms:
    """Words and what they mean, or keys and values (then `is_code`)."""

    kind: ClassVar[str] = "terms"
    pairs: Sequence[tuple[str, str]]
    is_code: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first cell of each row is its head."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()

    @property
    def is_sortable(self) -> bool:
        """Whether there is anything to sort."""
        return len(self.rows) >= _FEWEST_SORTED

    @property
    def width(self) -> str:
        """What must be done to print it whole: nothing, smaller letters (``many``), or a landscape page too."""
        return "" if len(self.columns) < _MANY else "many" if len(self.columns) < _MOST else "many most"

    @property
    def classes(self) -> str:
        """What the style sheet needs to know: how wide it prints, and whether its rows are named by sentences."""
        is_wordy = any(len(row[0].text) > _WORDY for row in self.rows if row)
        return " ".join(filter(None, (self.width, "wordy" if is_wordy else "")))


@dataclass(frozen=True, slots=True)
class Image:
    """A figure."""

    kind: ClassVar[str] = "image"
    plot: Plot


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark on a strip that shows a scale from its low to its high end.

    Parameters
    ----------
    x, y : float
        Its place, from 0 to 100 along the scale, and downwards.
    shape : str
        ``rating``, ``mean``, or one of `SHAPES`.
    """

    x: float
    y: float
    shape: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a card: whose it is, its marks on the strip, its numbers; `is_chosen` where the card is about it."""

    name: Cell
    marks: Sequence[Mark]
    cells: Sequence[Cell]
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One thing that was rated, with what was said about it.

    Parameters
    ----------
    name, about : Cell
        The item; the criterion, blank if there is only one.
    picture, alt : str
        A ``data:`` URI that was looked at, blank if there is none; what it says to who can't see it.
    is_beside_grey : bool
        Whether a grey picture stands beside it.
    texts : sequence of str
        Its own text, or why nothing is shown; blank ones are left out.
    raters, remark : str
        What raters gave; why it is here.
    lines : sequence of Line
        A line each for the raters and the systems.
    """

    name: Cell
    about: Cell
    picture: str
    alt: str
    is_beside_grey: bool
    texts: Sequence[str]
    raters: str
    remark: str
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards beside each other; their lines have the same columns, and a strip of so many units if `height` is not 0."""

    kind: ClassVar[str] = "cards"
    caption: str
    columns: Sequence[Column]
    cards: Sequence[Card]
    height: int = 0

    @property
    def shapes(self) -> Sequence[str]:
        """The shapes of marks, column by column."""
        return SHAPES

    @property
    def is_wide(self) -> bool:
        """Whether a card needs the page's whole width."""
        return len(self.columns) > _NARROW


#: Rows from which on a table can be sorted; columns from which on it needs small print, or a landscape page.
_FEWEST_SORTED: Final = 3
_MANY: Final = 10
#: Characters of the head of a row from which on it needs room on a phone.
_WORDY: Final = 28
_MOST: Final = 16

#: Columns of a card, beside who spoke and the strip, that are readable on half a page.
_NARROW: Final = 2

#: Shapes of the marks of the first columns.
SHAPES: Final = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True, slots=True)
class Answer:
    """A finding, ready to be shown."""

    kind: ClassVar[str] = "answer"
    id: str
    name: str
    verdict: Verdict
    question: str
    statement: str
    remedy: str
    source: str
    where: Sequence[str]
    brief: bool = False

    @property
    def mark(self) -> str:
        """The sign of the verdict."""
        return MARK[self.verdict]

    @property
    def word(self) -> str:
        """The word of the verdict."""
        return WORD[self.verdict]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that can be folded away; with an `id` they can be pointed to."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: Sequence[Block]
    is_open: bool = False
    id: str = ""

    @property
    def held(self) -> str:
        """What it holds, in a few words: tables with their rows, figures and findings."""
        rows = [len(one.rows) for one in within(self.blocks) if isinstance(one, Table)]
        number = Counter(one.kind for one in within(self.blocks))
        tables = f"{plural(len(rows), 'table')} of {plural(sum(rows), 'row')}" if rows else ""
        figures = plural(number["image"], "figure") if number["image"] else ""
        findings = plural(number["answer"], "finding") if number["answer"] else ""
        return ", ".join(filter(None, (tables, figures, findings)))

    @property
    def is_glossary(self) -> bool:
        """Whether it explains words and holds nothing else: print has no other place for them."""
        return all(isinstance(block, Terms) and not block.is_code for block in self.blocks)


@dataclass(frozen=True, slots=True)
class Part:
    """A titled part of a section."""

    kind: ClassVar[str] = "part"
    id: str
    title: str
    level: int
    blocks: Sequence[Block]


Block = Text | Bullets | Terms | Table | Image | Cards | Answer | Fold | Part


@dataclass(frozen=True, slots=True)
class Section:
    """A numbered chapter of the report."""

    id: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report; what its maker says of it (`note`, a paragraph each) stands under the verdict."""

    title: str
    design: str
    lead: Sequence[str]
    counts: Sequence[tuple[Verdict, str]]
    sections: Sequence[Section]
    note: Sequence[str] = ()


def within(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks and all that stand in them, in their order."""
    for block in blocks:
        yield block
        if isinstance(block, Fold | Part):
            yield from within(block.blocks)


def name_cell(name: object, most: int = 32, blank: str = "(blank)") -> Cell:
    """Return the cell of a name from the data, shortened, with the whole name as its title."""
    whole = clean(name)
    short = shorten(name, most) or blank
    return Cell(short, title=whole if short != whole and whole else "", is_name=True)


def name_column(name: object, most: int = 24) -> Column:
    """Return the column head of a name from the data."""
    cell = name_cell(name, most)
    return Column(cell.text, is_number=True, title=cell.title, is_name=True)
