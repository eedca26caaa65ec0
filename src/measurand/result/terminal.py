"""A result as text: what `print` shows, in lines that a terminal and a log can hold."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING, Final

from measurand.result.shown import Group, Shown, by_analysis, first_rows, grouped, heading, next_steps, sizes
from measurand.result.words import MARK, WORD, clean, counts, cut, plural, shorten

if TYPE_CHECKING:
    from measurand.result.table import Result

#: Columns: those of the terminal, between these.
_NARROWEST: Final = 60
_WIDEST: Final = 110
_LABEL: Final = 15
#: Questions that are told in sentences, characters of a statement and of a remedy.
_MOST_QUESTIONS: Final = 24
_MOST_SAID: Final = 700
_MOST_DONE: Final = 300
#: Rows of the table of one analysis alone, and of each where there are several.
_ROWS_ALONE: Final = 20
_ROWS_EACH: Final = 5
_MOST_TABLES: Final = 8
#: Columns of a cell.
_CELL: Final = 40


def in_text(result: Result) -> str:
    """Return a result as text: its heading; findings, worst first, or the first rows; what to call next."""
    width = min(max(shutil.get_terminal_size((100, 24)).columns, _NARROWEST), _WIDEST)
    title, size = heading(result)
    lines = _wrap(f"{title}: {size}" if size else title, width, after="  ")
    rows = by_analysis(result)
    if result.findings:
        number = ", ".join(f"{MARK[verdict]} {n} {WORD[verdict]}" for verdict, n in counts(result.findings).items())
        lines += _wrap(number, width)
        lines += ["", *_findings(grouped(result.findings), width)]
        if rows:
            head = f"{plural(len(result.rows), 'number')}: {sizes(rows)}"
            lines += ["", *_wrap(head, width, after="  ")]
    else:
        most = _ROWS_ALONE if len(rows) == 1 else _ROWS_EACH
        for name, found in list(rows.items())[:_MOST_TABLES]:
            lines += ["", *_table(first_rows(name, found, most), width, with_title=len(rows) > 1)]
        if left := dict(list(rows.items())[_MOST_TABLES:]):
            lines += ["", *_wrap(f"… and {sizes(left)}", width, after="  ")]
    steps = [f"{call} {does}" for call, does in next_steps(result)]
    return "\n".join([*lines, "", *steps] if steps else lines)


def _findings(groups: list[Group], width: int) -> list[str]:
    """Return what fails, warns or is not determined in sentences, the rest by name."""
    lines: list[str] = []
    told = [one for one in groups if one.verdict not in ("pass", "not_applicable")]
    for group in told[:_MOST_QUESTIONS]:
        first = group.findings[0]
        whom = f" ({group.whom})" if group.whom else ""
        of = f"of {shorten(first.criterion, _CELL)}: " if len(group.findings) > 1 and first.criterion else ""
        lines += _labelled(group, f"{clean(group.id)}{whom}: {of}{cut(first.statement, _MOST_SAID)}", width)
        if first.remedy:
            remedy = f"→ {cut(first.remedy, _MOST_DONE)}"
            at = " " * _LABEL
            lines += _wrap(remedy, width, first=at, after=f"{at}  ")
    if len(told) > _MOST_QUESTIONS:
        lines.append(f"{' ' * _LABEL}… and {len(told) - _MOST_QUESTIONS} more questions in result.findings")
    for verdict in ("pass", "not_applicable"):
        names = [clean(one.id) + (f" ({one.whom})" if one.whom else "") for one in groups if one.verdict == verdict]
        if names:
            more = f" and {len(names) - _MOST_QUESTIONS} more" if len(names) > _MOST_QUESTIONS else ""
            group = next(one for one in groups if one.verdict == verdict)
            lines += _labelled(group, ", ".join(names[:_MOST_QUESTIONS]) + more, width)
    return lines


def _labelled(group: Group, text: str, width: int) -> list[str]:
    label = f"{MARK[group.verdict]} {WORD[group.verdict]}".ljust(_LABEL)
    return _wrap(text, width, first=label, after=" " * _LABEL)


def _table(shown: Shown, width: int, *, with_title: bool) -> list[str]:
    """Return the first rows in columns, and below them what must be known of them."""
    lines = []
    head = ": ".join(filter(None, (shown.title if with_title else "", shown.same)))
    if head:
        lines += _wrap(head, width, after="  ")
    cells = [shown.columns, *([shorten(cell, _CELL) for cell in row] for row in shown.rows)]
    if shown.rows:
        wide = [max(len(row[i]) for row in cells) for i in range(len(shown.columns))]
        for row in cells:
            line = "  ".join(
                cell.rjust(size) if head in shown.numbers else cell.ljust(size)
                for cell, head, size in zip(row, shown.columns, wide, strict=True)
            )
            lines.append(f"  {line}".rstrip())
    if shown.n > len(shown.rows):
        lines.append(f"  … {shown.n - len(shown.rows):,} more")
    if not shown.n:
        lines.append("  no numbers")
    for number, note in enumerate(shown.notes, start=1):
        label = "  " if note.startswith("…") else f"  {number}  "
        lines += _wrap(cut(note, _MOST_DONE), width, first=label, after=" " * 5)
    return lines


def _wrap(text: str, width: int, *, first: str = "", after: str = "") -> list[str]:
    """Return text in lines; a number keeps its percent sign, a name its hyphens."""
    lines = textwrap.wrap(
        text.replace(" %", "\u00a0%"), width, initial_indent=first, subsequent_indent=after, break_on_hyphens=False
    )
    return [line.replace("\u00a0%", " %") for line in lines]
