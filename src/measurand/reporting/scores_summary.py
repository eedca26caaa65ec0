"""What the terminal shows of a scoring run, a forced choice or gates: a compact table under the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from measurand.reporting.answers import short_name
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.gates import Gates
from measurand.reporting.scores_cells import CALIBRATED, MARK_OF, against, path_words, statistic_words
from measurand.reporting.scores_view import Arm, Scores, arm_words, protocol_words, side
from measurand.result import VERDICTS, Row, show_interval
from measurand.result.digits import show_estimate
from measurand.result.words import MARK, WORD, called, clean, plural, shorten

#: Systems and arms that a screen shows.
MOST_ROWS: Final = 12
_MOST_NAME: Final = 44
#: Anchors as lines of the table.
_SHORT: Final = {"pairwise": "one rater", "leave_one_out": "mean of the others", CALIBRATED: "mean, calibrated"}
#: Heads of their columns where all three have one: longer ones would not fit.
_HEADS: Final = {"pairwise": "v. one rater", "leave_one_out": "v. others", CALIBRATED: "calibrated"}


def scores_table(view: Scores, width: int, *, most: int = MOST_ROWS) -> list[str]:
    """Return the systems of the headline's protocol with anchors among them, as lines of at most `width` columns."""
    if not view.arms:
        return []
    protocol = view.plain[0]
    share_one = all(len(arms) == 1 for arms in view.protocols.values()) and len(view.plain) > 1
    arms = view.ranked(
        [arm for one in view.plain for arm in view.protocols[one]] if share_one else view.protocols[protocol]
    )
    anchors = against(view)
    heads = [_HEADS[name] if CALIBRATED in anchors else f"v. {_SHORT[name]}" for name in anchors]
    shown = arms[:most]
    rows: list[tuple[float, list[str]]] = []
    has_gates = any(arm in view.failed for arm in arms)
    for arm in shown:
        row = view.score(arm)
        marks = [_mark(view, arm, name) for name in anchors]
        name = arm_words(arm) if share_one else called(arm[0])
        failed = ["✗ gates" if arm in view.failed else ""] if has_gates else []
        rows.append((_place(view, row), [name, *_number(row), *marks, *failed]))
    last = max((place for place, _ in rows), default=0.0)
    for name in anchors:
        row = view.anchor(name)
        if row is not None and not row.undefined and (_place(view, row) <= last or len(shown) == len(arms)):
            rows.append((_place(view, row), [f"= {_SHORT[name]}", *_number(row)]))
    words = protocol_words(protocol) if len(view.plain) > 1 and not share_one else ""
    head = [f"system{f' ({words})' if words else ''}", "score", "interval", *heads]
    lines = table(head, [cells for _, cells in sorted(rows, key=lambda one: one[0])], width, numbers=(1, 2))
    told = [
        statistic_words(view.statistic),
        view.scope_words(),
        path_words(view.path) if any(view.path.values()) else "",
    ]
    about = f"score: {'; '.join(part for part in told if part)}"
    lines = [*textwrap.wrap(about, width, subsequent_indent="  "), "", *lines]
    if len(arms) > len(shown):
        lines.append(f"… and {plural(len(arms) - len(shown), 'more system')}")
    has_marks = any(side(view.against(arm, name)) for arm in shown for name in anchors)
    if has_marks:
        # Why no more is said of so few raters the verdict says.
        more = "; ▲▲ ▼▼ others of their kind, too" if view.wider else f"; {view.for_whom}"
        lines += textwrap.wrap(f"▲ above  ▼ below  ≈ not told apart (adjusted){more}", width, subsequent_indent="  ")
    if has_marks and CALIBRATED in anchors:
        lines += textwrap.wrap(
            "others: their mean; calibrated: that mean, calibrated as the systems are",
            width,
            subsequent_indent="  ",
        )
    return lines


def _mark(view: Scores, arm: Arm, anchor: str) -> str:
    where = side(view.against(arm, anchor))
    mark = MARK_OF[where]
    if where in ("above", "below") and view.wider:
        return mark * 2 if side(view.against(arm, anchor, unit=view.wider)) == where else mark
    return mark


def _place(view: Scores, row: Row | None) -> float:
    if row is None or row.undefined:
        return float("inf")
    return row.estimate if view.is_error else -row.estimate


def _number(row: Row | None) -> tuple[str, str]:
    return ("–", "") if row is None or row.undefined else (show_estimate(row), show_interval(row))


def choices_table(view: Choices, width: int) -> list[str]:
    """Return the arms of a forced choice with accuracy, macro-F1, coverage and the level of chance."""
    arms = [*view.arms, *view.controls]
    rows = []
    for arm in arms[:MOST_ROWS]:
        coverage, chance = view.get(arm, "coverage"), view.get(arm, "chance")
        rows.append(
            [
                arm_words(arm),
                *_number(view.get(arm, "accuracy")),
                _number(view.get(arm, "macro_f1"))[0],
                _number(view.get(arm, "uar"))[0],
                "–" if chance is None or chance.undefined else f"{chance.estimate:.3g}",
                "–" if coverage is None or coverage.undefined else f"{100 * coverage.estimate:.3g} %",
            ]
        )
    head = ["arm", "accuracy", "interval", "macro-F1", "recall", "chance", "answered"]
    lines = table(head, rows, width, numbers=(1, 2, 3, 4, 5, 6))
    return lines + ([f"… and {plural(len(arms) - MOST_ROWS, 'more arm')}"] if len(arms) > MOST_ROWS else [])


def gates_table(view: Gates, width: int) -> list[str]:
    """Return for each gate its verdicts over the arms, and which arms fail."""
    lines = []
    name_width = max([len(short_name(gate)) for gate in view.names] or [0])
    for gate in view.names:
        verdicts = [view.verdict(gate, arm) for arm in view.arms]
        told = [f"{MARK[v]} {verdicts.count(v)}" for v in VERDICTS if v != "not_applicable" and v in verdicts]
        failing = [shorten(arm_words(arm), 32) for arm in view.arms if view.verdict(gate, arm) == "fail"]
        text = "  ".join(told) or f"{MARK['not_applicable']} {WORD['not_applicable']}"
        more = f" and {len(failing) - 3} more" if len(failing) > 3 else ""
        named = f"   {WORD['fail']}: {', '.join(failing[:3])}{more}" if failing else ""
        lines.append(_cut(f"{short_name(gate):<{name_width}}  {text}{named}", width))
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, numbers: Sequence[int]) -> list[str]:
    """Return rows as aligned lines; the first column gives way where the screen is narrow, then the last ones.

    Parameters
    ----------
    head, rows : sequences
        Texts; a shorter row ends in blanks.
    width : int
        Columns of the terminal.
    numbers : sequence of int
        Columns that stand to the right.

    Examples
    --------
    >>> table(["system", "score"], [["a", "0.5"], ["b", "0.25"]], 40, numbers=[1])
    ['system  score', 'a         0.5', 'b        0.25']
    """
    from rich.cells import cell_len

    filled = [[*row, *[""] * (len(head) - len(row))] for row in [head, *rows]]
    n_columns = max(len(row) for row in filled)
    filled = [[*row, *[""] * (n_columns - len(row))] for row in filled]
    widths = [max(cell_len(clean(row[i])) for row in filled) for i in range(n_columns)]
    widths[0] = min(widths[0], _MOST_NAME)
    while n_columns > 2 and 10 + sum(widths[1:n_columns]) + 2 * (n_columns - 1) > width:
        n_columns -= 1
    widths[0] = max(min(widths[0], width - sum(widths[1:n_columns]) - 2 * (n_columns - 1)), 4)
    lines = []
    for row in filled:
        cells = []
        for i in range(n_columns):
            text = _fitting(row[i], widths[i])
            space = " " * (widths[i] - cell_len(text))
            cells.append(f"{space}{text}" if i in numbers else f"{text}{space}")
        lines.append("  ".join(cells).rstrip())
    return lines


def _fitting(text: str, most: int) -> str:
    """Return text that takes no more columns than this: wide letters take two."""
    from rich.cells import cell_len

    short = shorten(text, most)
    size = most
    while cell_len(short) > most and size > 1:
        size -= 1
        short = shorten(text, size)
    return short


def _cut(line: str, width: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1)}…"
