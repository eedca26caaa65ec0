"""A result as HTML for notebooks: inline styles alone, in light and dark, and readable where they are taken away."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from measurand.result.rows import Finding, Row, Verdict
from measurand.result.shown import Group, Shown, by_analysis, first_rows, grouped, heading, next_steps
from measurand.result.words import ANALYSIS, MARK, WORD, clean, counts, cut, plural, shorten

if TYPE_CHECKING:
    from measurand.result.table import Result

#: Classes that keep notebooks from reading a name with dollar signs as a formula.
NO_MATHS: Final = "tex2jax_ignore mathjax_ignore"
#: What is shown at most, in bytes.
MOST_BYTES: Final = 60_000


@dataclass(frozen=True, slots=True)
class _Limits:
    """How much is shown: rows of a table, questions in sentences, findings of a question, characters of a sentence."""

    rows: int
    questions: int
    each: int
    sentence: int


#: From the most on until it fits.
_LIMITS: Final = (
    _Limits(10, 24, 8, 900),
    _Limits(7, 20, 6, 900),
    _Limits(5, 16, 5, 600),
    _Limits(3, 12, 3, 400),
    _Limits(1, 8, 1, 250),
    _Limits(0, 4, 1, 120),
)
#: Rows of one analysis alone.
_ROWS_ALONE: Final = 30
#: Ground and letters of a verdict, which do not follow the page: they are readable on any.
_COLOURS: Final[dict[Verdict, tuple[str, str]]] = {
    "fail": ("#b42318", "#fff"),
    "warn": ("#f5c04a", "#1b1b1f"),
    "undetermined": ("#6941c6", "#fff"),
    "pass": ("#1a7f37", "#fff"),
    "not_applicable": ("#5b6472", "#fff"),
}
_LINE: Final = "1px solid rgba(128,128,128,.4)"
#: Some notebooks set the padding of cells to nothing, and take the bullets off lists.
_LEFT: Final = "text-align:left;padding:2px 8px"
_RIGHT: Final = "text-align:right;padding:2px 8px"
_LIST: Final = "list-style:disc;margin:.3em 0;padding-left:1.5em"


def in_html(result: Result) -> str:
    """Return a result as one element: heading, findings, the first rows of each analysis, what to call next."""
    parts = ""
    for limits in _LIMITS:
        parts = _whole(result, limits)
        if len(parts.encode()) <= MOST_BYTES:
            break
    return parts


def lines_in_html(lines: Sequence[str]) -> str:
    """Return lines of text as an element of their own, in the same style."""
    return f'<p class="measurand {NO_MATHS}" style="line-height:1.45">{"<br>".join(map(_safe, lines))}</p>'


def _whole(result: Result, limits: _Limits) -> str:
    title, size = heading(result)
    rows = by_analysis(result)
    head = f"<strong>{_safe(title)}</strong>{f': {_safe(size)}' if size else ''}"
    parts = [f'<p style="margin:.2em 0 .5em;font-size:1.1em">{head}</p>', *_findings(result.findings, limits)]
    is_alone = len(rows) == 1
    if rows and not is_alone:
        number = f"{plural(len(result.rows), 'number')} of {plural(len(rows), 'analysis', 'analyses')}"
        parts.append(f'<p style="margin:.8em 0 .2em"><strong>{number}</strong></p>')
    for name, found in rows.items():
        most = min(_ROWS_ALONE, 3 * limits.rows) if is_alone else limits.rows
        is_open = is_alone and not result.findings
        parts.append(_analysis(name, found, most, is_open=is_open))
    steps = "; ".join(f"<code>{_safe(call)}</code> {_safe(does)}" for call, does in next_steps(result))
    if steps:
        parts.append(f'<p style="margin:.8em 0 .2em">Next: {steps}.</p>')
    return f'<div class="measurand {NO_MATHS}" style="max-width:62rem;line-height:1.45">{"".join(parts)}</div>'


def _findings(findings: Sequence[Finding], limits: _Limits) -> list[str]:
    """Return what fails, warns or is not determined in sentences; what passes, and what does not apply, in a line."""
    if not findings:
        return []
    number = " ".join(_badge(verdict, f"{n} ") for verdict, n in counts(findings).items())
    groups = grouped(findings)
    told = [one for one in groups if one.verdict not in ("pass", "not_applicable")]
    items = "".join(_question(group, limits) for group in told[: limits.questions])
    parts = [f'<p style="margin:.2em 0">{number}</p>']
    if items:
        parts.append(f'<ul style="list-style:none;margin:.6em 0;padding:0">{items}</ul>')
    if len(told) > limits.questions:
        rest = ", ".join(_safe(one.id) for one in told[limits.questions :][:20])
        parts.append(f"<p>… and {len(told) - limits.questions} more in <code>result.findings</code>: {rest}</p>")
    for verdict in ("pass", "not_applicable"):
        here = [one for one in groups if one.verdict == verdict]
        if here:
            parts.append(_folded(here, limits))
    return parts


def _question(group: Group, limits: _Limits) -> str:
    """Return one question with its answer, and what to do."""
    first, *others = group.findings
    whom = f" <em>({_safe(group.whom)})</em>" if group.whom else ""
    said = f"{_of(first) if others else ''}{_said(first.statement, limits.sentence)}"
    done = f"<br>→ {_said(first.remedy, limits.sentence // 2)}" if first.remedy else ""
    more = ""
    if others:
        shown = "".join(f"<li>{_of(one)}{_said(one.statement, limits.sentence)}</li>" for one in others[: limits.each])
        left = f"<li>… and {len(others) - limits.each} more</li>" if len(others) > limits.each else ""
        more = f'<details><summary>{len(others)} more</summary><ul style="{_LIST}">{shown}{left}</ul></details>'
    return (
        f'<li style="margin:0 0 .7em">{_badge(group.verdict)} <strong>{_safe(group.question, 200)}</strong>{whom}'
        f"<br>{said}{done}{more}</li>"
    )


def _folded(groups: Sequence[Group], limits: _Limits) -> str:
    """Return questions with one verdict in a line, their statements folded away."""
    names = ", ".join(_safe(one.id, 40) for one in groups[:30]) + (", …" if len(groups) > 30 else "")
    items = "".join(
        f"<li><strong>{_safe(one.question, 200)}</strong>{f' <em>({_safe(one.whom)})</em>' if one.whom else ''} "
        f"{_said(one.findings[0].statement, limits.sentence)}</li>"
        for one in groups[: limits.questions]
    )
    left = f"<li>… and {len(groups) - limits.questions} more</li>" if len(groups) > limits.questions else ""
    return (
        f'<details style="margin:.3em 0"><summary>{_badge(groups[0].verdict)} {names}</summary>'
        f'<ul style="{_LIST}">{items}{left}</ul></details>'
    )


def _analysis(name: str, rows: Sequence[Row], most: int, *, is_open: bool) -> str:
    """Return the first rows of an analysis as a table that can be folded away."""
    head = f"{_safe(ANALYSIS[name])}: {plural(len(rows), 'number')}"
    if not rows or not most:
        return f'<p style="margin:.2em 0">{head}</p>'
    shown = first_rows(name, rows, most)
    first = f", the first {len(shown.rows)} here" if shown.n > len(shown.rows) else ""
    return (
        f'<details style="margin:.2em 0"{" open" if is_open else ""}><summary>{head}{first}</summary>'
        f"{_table(shown)}</details>"
    )


def _table(shown: Shown) -> str:
    style = f"{_LEFT};caption-side:top;color:inherit"
    told = f'<caption style="{style}">{_safe(shown.same, 300)}</caption>' if shown.same else ""
    head = "".join(
        f'<th scope="col" style="{_style(column, shown)};border-bottom:{_LINE}">{_safe(column)}</th>'
        for column in shown.columns
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_style(column, shown)}">{_cell(cell, column, shown)}</td>'
            for cell, column in zip(row, shown.columns, strict=True)
        )
        + "</tr>"
        for row in shown.rows
    )
    notes = "<br>".join(
        _said(note, 400) if note.startswith("…") else f"{number}: {_said(note, 400)}"
        for number, note in enumerate(shown.notes, start=1)
    )
    below = f'<p style="margin:.2em 0 .6em;font-size:.9em">{notes}</p>' if notes else ""
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse;margin:.3em 0">{told}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{below}"
    )


def _cell(text: str, column: str, shown: Shown) -> str:
    """Return a cell; an interval stays on one line."""
    return _safe(text).replace(" ", "&nbsp;") if column in shown.numbers else _safe(text)


def _style(column: str, shown: Shown) -> str:
    return _RIGHT if column in shown.numbers else _LEFT


def _badge(verdict: Verdict, count: str = "") -> str:
    ground, letters = _COLOURS[verdict]
    style = f"background:{ground};color:{letters};border-radius:.3em;padding:.05em .45em;white-space:nowrap"
    return f'<span style="{style}">{MARK[verdict]} {count}{WORD[verdict]}</span>'


def _of(finding: Finding) -> str:
    return f"<em>{_safe(finding.criterion, 60)}:</em> " if finding.criterion else ""


def _said(text: str, most: int) -> str:
    """Return sentences as HTML, cut at a word if they are too long."""
    return html.escape(cut(text, most))


def _safe(text: object, most: int = 0) -> str:
    """Return text as HTML, cleaned and, if asked to, shortened."""
    return html.escape(shorten(text, most) if most else clean(text))
