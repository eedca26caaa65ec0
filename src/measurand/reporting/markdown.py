"""The report in plain Markdown: the same blocks as the page, without its figures, whose numbers are in the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from measurand.reporting.blocks import (
    Answer,
    Block,
    Bullets,
    Card,
    Cards,
    Cell,
    Document,
    Fold,
    Image,
    Part,
    Table,
    Terms,
    Text,
)
from measurand.reporting.document import document
from measurand.result import Result
from measurand.result.words import clean

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]#|$~])")


def render_markdown(result: Result, *, title: str, reproduce: Mapping[str, str]) -> str:
    r"""Return the report of a result as Markdown (with tables as GitHub and pandoc read them).

    Parameters
    ----------
    result : Result
        A whole audit; what it does not have is left out.
    title : str
        The heading.
    reproduce : mapping of str to str
        What a reader needs to make the run again: command, hashes of inputs, versions, seed.

    Returns
    -------
    str
        The same text for the same arguments.

    Examples
    --------
    >>> render_markdown(Result([]), title="a|b", reproduce={}).splitlines()[0]
    '# a\\|b'
    """
    return markdown_of(document(result, title=title, reproduce=reproduce))


def markdown_of(page: Document) -> str:
    """Return a report that is made of blocks already as Markdown."""
    lines = [f"# {escape(page.title)}", "", escape(page.design), ""]
    if page.lead:
        lines += [f"> {' '.join(escape(sentence) for sentence in page.lead)}", ""]
    for paragraph in page.note:
        lines += [escape(paragraph), ""]
    if page.counts:
        lines += [" · ".join(f"**{escape(text)}**" for _, text in page.counts), ""]
    for section in page.sections:
        lines += [f"## {escape(section.title)}", "", *_blocks(section.blocks, 3)]
    return "\n".join(lines).rstrip() + "\n"


def escape(text: str) -> str:
    r"""Return plain text that Markdown shows as it is: on one line, no markup, no HTML, no mathematics.

    Examples
    --------
    >>> escape("a|b <i> $x^2$")
    'a\\|b &lt;i&gt; \\$x^2\\$'
    """
    plain = _SPECIAL.sub(r"\\\1", clean(text))
    return re.sub(r"&(?=#?\w+;)", "&amp;", plain).replace("<", "&lt;").replace(">", "&gt;")


def _blocks(blocks: Sequence[Block], level: int) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        match block:
            case Text():
                lines += [escape(block.text), ""]
            case Bullets():
                lines += [*(f"- {escape(item)}" for item in block.items), ""]
            case Terms():
                lines += [*(f"- **{escape(name)}**: {_value(value, block.is_code)}" for name, value in block.pairs), ""]
            case Table():
                lines += _table(block)
            case Image():
                lines += [f"*Figure in report.html: {escape(block.plot.title)}.* {escape(block.plot.caption)}", ""]
            case Cards():
                lines += _cards(block)
            case Answer():
                lines += _answer(block)
            case Fold():
                lines += [f"{'#' * min(level, 6)} {escape(block.summary)}", "", *_blocks(block.blocks, level + 1)]
            case Part():
                lines += [f"{'#' * min(level, 6)} {escape(block.title)}", "", *_blocks(block.blocks, level + 1)]
    return lines


def _value(value: str, is_code: bool) -> str:
    if not is_code:
        return escape(value)
    # A code span ends at the first run of as many backticks as opened it.
    longest = max((len(run) for run in re.findall("`+", value)), default=0)
    fence = "`" * (longest + 1)
    space = " " if value.startswith("`") or value.endswith("`") else ""
    return f"{fence}{space}{value}{space}{fence}" if value else ""


def _answer(answer: Answer) -> list[str]:
    head = f"**{answer.mark} {answer.word}: {escape(answer.question)}** ({escape(answer.name)})"
    if answer.brief:
        return [f"{head} {escape(answer.statement)}", ""]
    lines = [head, "", escape(answer.statement), ""]
    if answer.remedy:
        lines += [f"*What to do:* {escape(answer.remedy)}", ""]
    if answer.source:
        lines += [f"Source: {escape(answer.source)}.", ""]
    if answer.where:
        lines += [f"Numbers: {'; '.join(escape(one) for one in answer.where)}.", ""]
    return lines


def _table(table: Table) -> list[str]:
    lines = [f"**{escape(table.caption)}**", ""]
    lines.append(f"| {' | '.join(escape(column.text) or ' ' for column in table.columns)} |")
    lines.append(f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|")
    for row in table.rows:
        cells = [escape(_joined(cell)) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", *(line for note in table.notes for line in (escape(note), ""))]


def _joined(cell: Cell) -> str:
    """Return both lines of a cell in one: an interval, or the end of a range, after a space; others in brackets."""
    if not cell.small or cell.small.startswith(("[", "(", "to ", "or ")):
        return f"{cell.text} {cell.small}"
    return f"{cell.text} ({cell.small})"


def _cards(cards: Cards) -> list[str]:
    """Return cards as one table, without their pictures and strips."""
    lines = [f"**{escape(cards.caption)}**", ""]
    heads = ["Item", "Raters", "By", *(column.text for column in cards.columns)]
    lines.append(f"| {' | '.join(escape(head) or ' ' for head in heads)} |")
    lines.append(f"|{'|'.join(['---'] * 3 + ['---:'] * len(cards.columns))}|")
    for card in cards.cards:
        for line in card.lines:
            if any(cell.text for cell in line.cells):
                cells = [_of_card(card), card.raters, line.name.text]
                cells += [f"{cell.text} ({cell.small})" if cell.small else cell.text for cell in line.cells]
                lines.append(f"| {' | '.join(escape(cell) for cell in cells)} |")
    return [*lines, "", *(line for card in cards.cards if card.remark for line in (f"- {escape(card.remark)}",)), ""]


def _of_card(card: Card) -> str:
    return ": ".join(part for part in (card.name.text, card.about.text, *card.texts) if part)
