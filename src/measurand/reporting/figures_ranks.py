"""Figures of ranks: the board without each rater, and the ranks that each system may have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import look
from measurand.reporting.svg import (
    BLUE,
    GRID,
    MUTED,
    WIDTH,
    Labels,
    Plot,
    style,
    titled,
    to_svg,
)
from measurand.reporting.view import View
from measurand.reporting.words import FACETS, distinct
from measurand.result import Row
from measurand.result.words import clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Boards and systems that one figure of ranks can hold.
MOST_BOARDS: Final = 12
MOST_SYSTEMS: Final = 40
#: Up to this many systems each has a colour of its own; of more, those that lead somewhere.
MOST_COLOURED: Final = 10
LEADING: Final = 2.0

#: Characters of a system's and of a rater's name, and the width of one in inches.
_NAME: Final = 22
_LONGEST: Final = 30
_BOARD: Final = 14
_CHARACTER: Final = 0.072
#: Ticks of an axis of ranks.
_MOST_TICKS: Final = 9


def ranks(view: View, criterion: str) -> Plot:
    """Draw the rank of every system on the board of all raters and on the boards without each of them."""
    from matplotlib.figure import Figure

    rows = view.defined(criterion, "leave_one_rater_out", "rank")
    rank = {(str(row.keys.get("left_out", "")), str(row.keys["system"])): row.estimate for row in rows}
    boards = list(dict.fromkeys(left for left, _ in rank))
    every = boards
    if len(boards) > MOST_BOARDS:
        tau = {
            str(row.keys["left_out"]): row.estimate
            for row in view.defined(criterion, "leave_one_rater_out", "kendall_tau_b")
        }
        far = sorted([left for left in boards if left], key=lambda left: tau.get(left, 1.0))[: MOST_BOARDS - 1]
        boards = [left for left in boards if not left or left in far]
    ordered = sorted({system for _, system in rank}, key=lambda name: (rank.get(("", name), math.inf), name))
    systems = ordered[:MOST_SYSTEMS]
    leading = [name for name in systems if any(rank.get((left, name), math.inf) <= LEADING for left in every)]
    coloured = systems if len(systems) <= MOST_COLOURED else leading[:MOST_COLOURED]
    # The names at both sides, and over the boards, get the room that they need.
    size_of_name = min(distinct(systems, _NAME, _LONGEST), max(map(len, map(clean, systems))))
    side = (size_of_name + 8) * _CHARACTER / WIDTH
    most = min(_BOARD, max([6, *(len(clean(left)) for left in boards)]))
    is_tight = (most + 5) * _CHARACTER * (len(boards) - 1) > (1 - 2 * side) * WIDTH
    above = 0.25 + 0.7 * (most + 5) * _CHARACTER if is_tight else 0.45
    height = above + 0.15 + 0.24 * max(len(systems), 3)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((side, 0.1 / height, 1 - 2 * side, 1 - (above + 0.1) / height))
        last = len(boards) - 1
        axes.set_xlim(-0.04 * max(last, 1), max(last, 1) * 1.04)
        axes.set_ylim(len(systems) + 0.5, 0.5)
        for x, left in enumerate(boards):
            axes.axvline(x, color=GRID, linewidth=0.6, zorder=0)
            text = labels.put(left, most, before="w/o ") if left else "all raters"
            axes.text(
                x,
                1 + (0.12 if is_tight else 0.1) / (height - above - 0.1),
                text,
                transform=axes.get_xaxis_transform(),
                ha="left" if is_tight else "center",
                va="bottom",
                rotation=40 if is_tight else 0,
                rotation_mode="anchor",
                fontsize=8.5,
                fontweight="normal" if left else "bold",
            )
        for position, name in enumerate(systems):
            own = name in coloured
            place = coloured.index(name) if own else 0
            own_colour, own_marker, dash = look(place)
            colour, marker = (own_colour, own_marker) if own else (MUTED, ".")
            axes.plot(
                range(len(boards)),
                [rank.get((left, name), math.nan) for left in boards],
                color=colour,
                marker=marker,
                markersize=5 if own else 4,
                linewidth=1.8 if own else 0.8,
                linestyle=dash,
                zorder=3 if own else 2,
                clip_on=False,
            )
            if position == 0:
                axes.lines[-1].set_linewidth(2.6)
        _side_labels(
            axes,
            labels,
            systems,
            {name: rank.get((boards[0], name)) for name in systems},
            max(size_of_name, 2),
            left=True,
        )
        if last > 0:
            _side_labels(
                axes,
                labels,
                systems,
                {name: rank.get((boards[-1], name)) for name in systems},
                max(size_of_name, 2),
                left=False,
            )
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        title = "The board without each rater"
        caption = (
            "Rank by mean rating (1 is best) with all raters and without (w/o) each one; lines that cross are places "
            "that depend on who was asked. Equal means share a rank."
        )
        if len(systems) > MOST_COLOURED:
            caption += " Coloured: systems that are first or second on some board."
        if len(every) > len(boards):
            caption += f" Shown are the {len(boards) - 1} of {len(every) - 1} boards least like the whole one."
        if len(ordered) > len(systems):
            caption += f" Shown are the first {len(systems)} of {len(ordered)} systems."
        size = f"{plural(len(systems), 'system')} on {plural(len(boards), 'board')}"
        description = f"Ranks of {size}; the table below has the numbers."
        svg = to_svg(drawing, labels, name="ranks", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _side_labels(
    axes: Axes, labels: Labels, systems: Sequence[str], ranks: dict[str, float | None], most: int, *, left: bool
) -> None:
    """Write a label beside every line; tied systems get neighbouring places, so that none hides another."""
    present = [name for name in systems if ranks[name] is not None]
    first, end = axes.get_xlim()
    near, far = (0.0, first - 0.035 * (end - first)) if left else (max(end / 1.04, 0.0), end + 0.035 * (end - first))
    for slot, name in enumerate(sorted(present, key=lambda one: (ranks[one] or 0.0, systems.index(one))), start=1):
        value = ranks[name] or 0.0
        if abs(slot - value) > 1e-9:
            axes.plot([near, far], [value, slot], color=GRID, linewidth=0.7, clip_on=False, zorder=1)
        text = labels.put(name, most, before=f"{value:g} · ")
        axes.text(far, slot, text, ha="right" if left else "left", va="center", fontsize=8.5)


def rank_sets(view: View, criterion: str) -> Plot:
    """Draw the ranks that each system may have, beside each other for every view of what is random."""
    from matplotlib.figure import Figure

    rows = {
        (str(row.keys["unit"]), row.keys["system"]): row
        for row in view.defined(criterion, "ranks", "rank")
        if row.low is not None and row.high is not None
    }
    units = [unit for unit in FACETS if any(of == unit for of, _ in rows)]
    every = sorted((name for of, name in rows if of == units[0]), key=lambda name: rows[units[0], name].estimate)
    systems = every[:MOST_SYSTEMS]
    size_of_name = min(distinct(systems, _NAME, _LONGEST), max(len(clean(name)) for name in systems))
    side = (size_of_name + 2) * _CHARACTER / WIDTH
    above, below, line = 0.5, 0.5, 0.24 if len(systems) <= MOST_COLOURED else 0.19
    height = above + below + line * max(len(systems), 3)
    gap = 0.035
    width = (1 - side - 0.02 - gap * (len(units) - 1)) / len(units)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for number, unit in enumerate(units):
            axes = drawing.add_axes(
                (side + number * (width + gap), below / height, width, 1 - (above + below) / height)
            )
            _sets(axes, [rows.get((unit, name)) for name in systems], len(every), is_main=unit == "item+rater")
            axes.set_title(FACETS[unit].replace(", ", ",\n"), fontsize=8.5, pad=5)
            axes.set_xlabel("rank", fontsize=8.5)
            if number == 0:
                for y, name in enumerate(systems):
                    axes.text(
                        -0.04,
                        y,
                        labels.put(name, max(size_of_name, 2)),
                        transform=axes.get_yaxis_transform(),
                        ha="right",
                        va="center",
                        fontsize=8.5,
                    )
        confidence = next((row.confidence for row in rows.values() if row.confidence), 0.95)
        caption = (
            f"Lines are the ranks that a system may have, with {100 * confidence:g} % confidence for all systems at "
            "once; points are the ranks observed, filled where the first place cannot be excluded. "
        )
        caption += (
            "The panel with items and raters random is the one that speaks about the systems in general; the others "
            "take these raters, or these items, as all there are."
            if "item+rater" in units
            else "No panel takes both items and raters as samples."
        )
        if len(every) > len(systems):
            caption += f" Shown are the first {len(systems)} of {len(every)} systems."
        first = sum(1 for (unit, _), row in rows.items() if unit == units[0] and row.low == 1)
        description = (
            f"Of {plural(len(every), 'system')}, {first} may be first ({FACETS[units[0]]}); the table has the numbers."
        )
        title = "The ranks that each system may have"
        svg = to_svg(drawing, labels, name="rank-sets", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _sets(axes: Axes, rows: Sequence[Row | None], n_systems: int, *, is_main: bool) -> None:
    colour = BLUE if is_main else MUTED
    axes.set_xlim(0.6 - 0.02 * n_systems, n_systems + 0.4 + 0.02 * n_systems)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for y, row in enumerate(rows):
        axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
        if row is None or row.low is None or row.high is None:
            continue
        # A set of one rank has a width, too.
        axes.plot(
            [row.low - 0.18, row.high + 0.18], [y, y], color=colour, linewidth=3.2 if is_main else 2.2, clip_on=False
        )
        axes.plot(
            [row.estimate],
            [y],
            color=colour,
            marker="o",
            markersize=6,
            markerfacecolor=colour if row.low == 1 else GRID,
            zorder=3,
            clip_on=False,
        )
    step = next((step for step in (1, 2, 5, 10, 20, 50) if n_systems / step <= _MOST_TICKS), n_systems)
    axes.set_xticks(sorted({1, *range(step, n_systems + 1, step)}) if step != 2 else range(1, n_systems + 1, 2))
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
