"""Pieces that figures share: a name beside each line, a point with its interval, labels that don't run together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from measurand.reporting.svg import BLUE, GREEN, GRID, ORANGE, PURPLE, SKY, VERMILION, Labels
from measurand.result import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colours and markers that tell series apart together, so that no colour does it alone.
COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
#: The width of a character of a name in inches.
CHARACTER: Final = 0.076


def look(place: int) -> tuple[str, str, str]:
    """Return colour, marker and line style of a series by its place."""
    return COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)], "-" if place < len(COLOURS) else "--"


def point(
    axes: Axes, row: Row, y: float, *, colour: str, marker: str = "o", hollow: bool = False, size: float = 5.2
) -> list[float]:
    """Draw a number with its interval on a line; return the ends that the axis has to hold."""
    ends = [row.estimate]
    if row.low is not None and row.high is not None and math.isfinite(row.low) and math.isfinite(row.high):
        axes.plot([row.low, row.high], [y, y], color=colour, linewidth=1.6, zorder=3)
        ends += [row.low, row.high]
    face = "none" if hollow else colour
    axes.plot(
        [row.estimate], [y], color=colour, marker=marker, markersize=size, markerfacecolor=face, zorder=4, clip_on=False
    )
    return ends


def name(axes: Axes, labels: Labels, text: object, y: float, most: int) -> None:
    """Write a name at the left of its line."""
    axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
    axes.text(
        -0.012,
        y,
        labels.put(text, max(most, 2)),
        transform=axes.get_yaxis_transform(),
        ha="right",
        va="center",
        fontsize=8.5,
    )


def limits(axes: Axes, ends: Sequence[float], *, low: float = -math.inf, high: float = math.inf) -> None:
    """Set the limits of the x axis around what it holds, with a little room, within what is possible."""
    room = 0.05 * (max(ends) - min(ends) or 1.0)
    axes.set_xlim(max(min(ends) - room, low - 0.4 * room), min(max(ends) + room, high + 0.4 * room))


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Return places near the wanted ones that lie at least `gap` apart, in the same order.

    Examples
    --------
    >>> spread([0.0, 0.1, 5.0], 1.0)
    [-0.45, 0.55, 5.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    # Runs of places that are too near move apart around their own middle.
    runs: list[list[int]] = []
    middles: list[float] = []
    for i in order:
        runs.append([i])
        middles.append(wanted[i])
        while len(runs) > 1 and middles[-1] - middles[-2] < gap * (len(runs[-1]) + len(runs[-2])) / 2:
            both = [*runs[-2], *runs[-1]]
            runs[-2:], middles[-2:] = [both], [sum(wanted[j] for j in both) / len(both)]
    out = [0.0] * len(wanted)
    for run, middle in zip(runs, middles, strict=True):
        for at, i in enumerate(run):
            out[i] = round(middle + gap * (at - (len(run) - 1) / 2), 12)
    return out
