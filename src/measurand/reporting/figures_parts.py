"""Pieces that figures of several topics share: a legend in rows, anchors as lines, what a figure left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from measurand.reporting.scores_cells import ANCHOR_SHORT
from measurand.reporting.scores_view import Scores
from measurand.reporting.svg import INK, ORANGE, PURPLE, WIDTH
from measurand.result import Row
from measurand.result.digits import show_rounded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The height of a row of a legend in inches, and the room of a sign and of a character.
ROW: Final = 0.2
_SIGN: Final = 0.42
_LETTER: Final = 0.066
#: Anchors that are drawn as lines: dash and colour of the band.
_ANCHORS: Final = {"pairwise": ("-", ORANGE), "leave_one_out": ("--", PURPLE)}


class Entry(NamedTuple):
    """One entry of a legend: how its sign is drawn, and what it says (`size` characters where it is a placeholder)."""

    look: dict[str, Any]
    words: str
    size: int = 0


def legend_rows(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the entries of a legend row by row, as many in each as there is room for."""
    rows: list[list[Entry]] = []
    used = WIDTH
    for entry in entries:
        wide = _wide(entry)
        if used + wide > WIDTH - 0.3:
            rows.append([])
            used = 0.0
        rows[-1].append(entry)
        used += wide
    return rows


def _wide(entry: Entry) -> float:
    return _SIGN + _LETTER * (entry.size or len(entry.words)) + 0.12


def legend(drawing: Figure, rows: Sequence[Sequence[Entry]], height: float) -> None:
    """Draw a legend at the bottom of a figure that is so many inches high."""
    if not rows:
        return
    axes = drawing.add_axes((0.0, 0.02 / height, 1.0, ROW * len(rows) / height))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(len(rows), 0)
    for y, row in enumerate(rows):
        x = 0.15
        for entry in row:
            xs = [x + 0.15] if entry.look.get("linestyle") == "none" else [x, x + 0.15, x + 0.3]
            axes.plot(xs, [y + 0.5] * len(xs), markevery=[len(xs) // 2], **entry.look)
            axes.text(x + _SIGN, y + 0.5, entry.words, va="center", fontsize=8.5)
            x += _wide(entry)


def drawn_anchors(view: Scores) -> list[tuple[str, Row]]:
    """Return the anchors that figures have lines for and that are defined at the headline."""
    found = [(name, view.anchor(name)) for name in _ANCHORS]
    return [(name, row) for name, row in found if row is not None and not row.undefined]


def anchor_lines(axes: Axes, anchors: Sequence[tuple[str, Row]], *, is_upright: bool) -> list[float]:
    """Draw anchors as lines with bands for their intervals; return the ends that the axis has to hold."""
    ends: list[float] = []
    line, band = (axes.axvline, axes.axvspan) if is_upright else (axes.axhline, axes.axhspan)
    for name, row in anchors:
        dash, colour = _ANCHORS[name]
        if row.low is not None and row.high is not None:
            band(row.low, row.high, color=colour, alpha=0.2, linewidth=0)
            ends += [row.low, row.high]
        line(row.estimate, color=INK, linewidth=1.0, linestyle=dash, zorder=1)
        ends.append(row.estimate)
    return ends


def anchor_entries(anchors: Sequence[tuple[str, Row]]) -> list[Entry]:
    """Return the entries of a legend that name the anchors."""
    return [
        Entry(
            {"color": INK, "linewidth": 1.0, "linestyle": _ANCHORS[name][0]},
            f"people: {ANCHOR_SHORT[name]} {show_rounded(row.estimate, 0.01)}",
        )
        for name, row in anchors
    ]


def shown_of(shown: int, every: int, what: str) -> str:
    """Return the sentence that says that a figure has the first so many of all; blank where it has all."""
    return f" Shown are the first {shown} of {every} {what}." if every > shown else ""
