"""Figures of a scoring run: systems with anchors as lines, scores beside agreement, and which pairs differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from measurand.reporting.scores_cells import ANCHOR_SHORT, redrawn
from measurand.reporting.scores_view import Arm, Protocol, Scores, is_told_apart, protocol_words
from measurand.reporting.svg import (
    BLUE,
    GREEN,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    WIDTH,
    Labels,
    Plot,
    style,
    to_svg,
)
from measurand.reporting.words import STATISTIC, distinct
from measurand.result import Row, show_number
from measurand.result.digits import show_rounded
from measurand.result.words import clean, plural, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_SYSTEMS: Final = 40
MOST_CRITERIA: Final = 60
MOST_IN_MATRIX: Final = 24
#: Protocols that a figure tells apart.
MOST_PROTOCOLS: Final = 6

_COLOURS: Final = (BLUE, VERMILION, GREEN, SKY, MUTED, INK)
_MARKERS: Final = ("s", "o", "^", "D", "v", "P")
_NAME: Final = 22
_LONGEST: Final = 34
_CHARACTER: Final = 0.072
#: The anchors that are drawn, and how: colour and dash.
_LINES: Final = {"pairwise": "-", "leave_one_out": "--", "noise_ceiling": ":"}
_BANDS: Final = {"pairwise": ORANGE, "leave_one_out": PURPLE}


def scores(view: Scores) -> Plot:
    """Draw every system's score with its interval under each protocol, and the anchors as lines with bands."""
    from matplotlib.figure import Figure

    protocols, left_out = _drawn(view)
    points = {
        (arm[0], protocol): row
        for protocol in protocols
        for arm in view.protocols[protocol]
        if (row := view.score(arm)) is not None and not row.undefined
    }
    every = [arm[0] for protocol in protocols for arm in view.ranked(view.protocols[protocol])]
    ordered = [name for name in dict.fromkeys(every) if any((name, one) in points for one in protocols)]
    systems = ordered[:MOST_SYSTEMS]
    size = min(distinct(systems, _NAME, _LONGEST), max(len(clean(name)) for name in systems))
    left = (size + 2) * _CHARACTER / WIDTH
    line = 0.17 + 0.1 * min(len(protocols), 4)
    above, below = 0.55, 0.5 + 0.21 * math.ceil(len(protocols) / 2)
    height = above + below + line * max(len(systems), 3)
    title = "Systems and people"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.98 - left, 1 - (above + below) / height))
        axes.set_ylim(len(systems) - 0.4, -0.6)
        for y, name in enumerate(systems):
            axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
            for place, protocol in enumerate(protocols):
                row = points.get((name, protocol))
                if row is not None:
                    shift = (place - (len(protocols) - 1) / 2) * 0.62 / max(len(protocols), 1)
                    _interval(axes, row, y + shift, place)
            axes.text(
                -0.012,
                y,
                labels.put(name, max(size, 2)),
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center",
                fontsize=8.5,
            )
        drawn = [name for name in _LINES if (row := view.anchor(name)) is not None and not row.undefined]
        _limits(axes, [*points.values(), *(row for name in drawn if (row := view.anchor(name)) is not None)])
        _anchor_lines(axes, view, drawn, (0.98 - left) * WIDTH, height - above - below)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(STATISTIC.get(view.statistic, clean(view.statistic)), fontsize=8.5)
        _legend(drawing.add_axes((0.0, 0.0, 1.0, (below - 0.45) / height)), protocols, labels)
        caption = f"Points are scores, lines their intervals ({redrawn(view.unit)})."
        if drawn:
            caption += f" Upright lines are anchors, with bands for their intervals ({redrawn(view.unit)}"
            caption += f"; paler: {redrawn(view.both)})." if view.both and view.both != view.unit else ")."
            caption += (
                " Whether a system differs from an anchor is told by the paired difference in the table, not by "
                "whether point and band overlap."
            )
        if len(ordered) > len(systems):
            caption += f" Shown are the first {len(systems)} of {len(ordered)} systems."
        if left_out:
            caption += f" {plural(left_out, 'more protocol')} in the tables."
        best = points.get((systems[0], protocols[0]))
        description = f"{plural(len(systems), 'system')}, {plural(len(protocols), 'protocol')}." + (
            f" The first scores {show_number(best.estimate)}." if best is not None else ""
        )
        svg = to_svg(drawing, labels, name="scores", title=title, description=description)
    return Plot(svg, title, caption)


def _drawn(view: Scores) -> tuple[list[Protocol], int]:
    """Return the protocols that a figure shows, those with few systems last, and how many it leaves out."""
    every = list(view.protocols)
    return every[:MOST_PROTOCOLS], max(len(every) - MOST_PROTOCOLS, 0)


def _interval(axes: Axes, row: Row, y: float, place: int) -> None:
    colour = _COLOURS[place % len(_COLOURS)]
    if row.low is not None and row.high is not None:
        axes.plot([row.low, row.high], [y, y], color=colour, linewidth=1.5, zorder=3)
    face = colour if place == 0 else GRID
    axes.plot(
        [row.estimate],
        [y],
        color=colour,
        marker=_MARKERS[place % len(_MARKERS)],
        markersize=4.8,
        markerfacecolor=face,
        zorder=4,
    )


def _limits(axes: Axes, rows: Sequence[Row]) -> None:
    ends = [value for row in rows for value in (row.low, row.estimate, row.high) if value is not None]
    low, high = min(ends), max(ends)
    room = 0.04 * (high - low or 1.0)
    axes.set_xlim(low - room, high + room)


def _anchor_lines(axes: Axes, view: Scores, names: Sequence[str], width: float, tall: float) -> None:
    """Draw anchors as lines with bands; their labels stand in two rows where they would run into each other."""
    low, high = axes.get_xlim()
    taken: list[tuple[float, float, int]] = []
    found = [(row, name) for name in names if (row := view.anchor(name)) is not None]
    for row, name in sorted(found, key=lambda one: one[0].estimate):
        wide = view.anchor(name, unit=view.both) if view.both and view.both != view.unit else None
        if name in _BANDS:
            for band, alpha in ((wide, 0.1), (row, 0.22)):
                if band is not None and band.low is not None and band.high is not None:
                    axes.axvspan(max(band.low, low), min(band.high, high), color=_BANDS[name], alpha=alpha, linewidth=0)
        axes.axvline(row.estimate, color=INK, linewidth=1.1, linestyle=_LINES[name], zorder=2)
        text = f"{ANCHOR_SHORT[name]} {show_rounded(row.estimate, 0.01)}"
        half = len(text) * 0.064 / 2
        x = (row.estimate - low) / (high - low) * width
        centre = min(max(x, half), width - half)
        level = next(
            level
            for level in range(len(names) + 1)
            if all(one != level or centre - half > right + 0.08 for _, right, one in taken)
        )
        taken.append((centre - half, centre + half, level))
        axes.text(
            low + centre / width * (high - low),
            1 + (0.06 + 0.15 * level) / tall,
            text,
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            fontsize=8,
        )


def _legend(axes: Axes, protocols: Sequence[Protocol], labels: Labels) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    lines = math.ceil(len(protocols) / 2)
    axes.set_ylim(lines, 0)
    if len(protocols) < 2:
        return
    for place, protocol in enumerate(protocols):
        x, y = 0.04 + 0.48 * (place % 2), place // 2 + 0.5
        colour = _COLOURS[place % len(_COLOURS)]
        axes.plot([x - 0.02, x + 0.02], [y, y], color=colour, linewidth=1.5)
        face = colour if place == 0 else GRID
        marker = _MARKERS[place % len(_MARKERS)]
        axes.plot([x], [y], color=colour, marker=marker, markersize=4.8, markerfacecolor=face)
        axes.text(x + 0.03, y, labels.put(protocol_words(protocol, "plain"), 44), va="center", fontsize=8.5)


def criteria(view: Scores) -> Plot:
    """Draw, criterion by criterion from most to least agreement, alpha beside the scores of systems and people."""
    from matplotlib.figure import Figure

    protocol = view.plain[0]
    known = {name: row for name, row in view.alphas.items() if not row.undefined}
    every = sorted(known, key=lambda name: -known[name].estimate)
    shown = every[:MOST_CRITERIA]
    size = min(distinct(shown, 24, _LONGEST), max([6, *(len(clean(name)) for name in shown)]))
    left = (size + 2) * _CHARACTER / WIDTH
    above, below, line = 0.42, 0.8, 0.24 if len(shown) <= MOST_SYSTEMS / 2 else 0.19
    height = above + below + line * max(len(shown), 3)
    first = 0.26 * (0.97 - left)
    second = 0.97 - left - first - 0.03
    title = "Scores and agreement, criterion by criterion"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        box = below / height, 1 - (above + below) / height
        of_alpha = drawing.add_axes((left, box[0], first, box[1]))
        of_scores = drawing.add_axes((left + first + 0.03, box[0], second, box[1]))
        arms = view.protocols[protocol]
        rows: list[Row] = []
        for y, criterion in enumerate(shown):
            scope = {"criterion": criterion, "set": ""}
            for axes in (of_alpha, of_scores):
                axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
            alpha = known[criterion]
            if alpha.low is not None and alpha.high is not None:
                of_alpha.plot([alpha.low, alpha.high], [y, y], color=GREEN, linewidth=1.5)
            is_in = alpha.estimate >= view.threshold
            of_alpha.plot(
                [alpha.estimate], [y], color=GREEN, marker="o", markersize=4.6, markerfacecolor=GREEN if is_in else GRID
            )
            found = [row for arm in arms if (row := view.score(arm, scope)) is not None and not row.undefined]
            rows += found
            of_scores.plot(
                [row.estimate for row in found],
                [y] * len(found),
                color=BLUE,
                marker="|",
                markersize=7,
                linestyle="none",
                alpha=0.75,
                zorder=3,
            )
            for name, marker in (("pairwise", "D"), ("leave_one_out", "o")):
                anchor = view.anchor(name, scope)
                if anchor is not None and not anchor.undefined:
                    rows.append(anchor)
                    of_scores.plot(
                        [anchor.estimate],
                        [y],
                        color=VERMILION,
                        marker=marker,
                        markersize=5,
                        markerfacecolor=VERMILION if marker == "D" else "none",
                        zorder=4,
                    )
            of_alpha.text(
                -0.03,
                y,
                labels.put(criterion, max(size, 2)),
                transform=of_alpha.get_yaxis_transform(),
                ha="right",
                va="center",
                fontsize=8.5,
            )
        for axes, name in ((of_alpha, "Agreement: alpha of raters"), (of_scores, "Scores")):
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_title(name, fontsize=8.5, pad=5)
        if view.has_sets:
            of_alpha.axvline(view.threshold, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
        if rows:
            ends = [row.estimate for row in rows]
            room = 0.05 * (max(ends) - min(ends) or 1.0)
            of_scores.set_xlim(min(ends) - room, max(ends) + room)
        of_scores.set_xlabel(STATISTIC.get(view.statistic, clean(view.statistic)), fontsize=8.5)
        _criteria_legend(drawing.add_axes((0.0, 0.0, 1.0, 0.3 / height)), view)
        words = protocol_words(protocol)
        caption = (
            f"Bars are {plural(len(arms), 'system')}{f' ({shorten(words, 60)})' if words else ''}. Criteria stand from "
            "most to least agreement of raters; filled points of alpha are the reliable ones, right of the dotted "
            "line. Intervals of the scores are in the table."
        )
        if len(every) > len(shown):
            caption += f" Shown are the first {len(shown)} of {len(every)} criteria."
        n = sum(known[name].estimate >= view.threshold for name in every)
        description = f"{plural(len(every), 'criterion', 'criteria')}, {n} of them reliable; the table has the numbers."
        svg = to_svg(drawing, labels, name="criteria", title=title, description=description)
    return Plot(svg, title, caption)


def _criteria_legend(axes: Axes, view: Scores) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    entries = [("|", BLUE, BLUE, "a system")]
    if "pairwise" in view.anchors:
        entries.append(("D", VERMILION, VERMILION, f"anchor: {ANCHOR_SHORT['pairwise']} against another"))
    if "leave_one_out" in view.anchors:
        entries.append(("o", VERMILION, "none", "anchor: mean of the other raters"))
    for (marker, colour, face, words), x in zip(entries, (0.05, 0.22, 0.58), strict=False):
        axes.plot([x], [0.5], color=colour, marker=marker, markersize=6, markerfacecolor=face, linestyle="none")
        axes.text(x + 0.02, 0.5, words, va="center", fontsize=8.5)


def order(view: Scores) -> Plot:
    """Draw which pairs of systems differ: the row above the column, by adjusted p."""
    from matplotlib.figure import Figure

    protocol = view.plain[0]
    ranked = [arm for arm in view.ranked(view.protocols[protocol]) if _has_score(view, arm)]
    shown = ranked[:MOST_IN_MATRIX]
    size = min(distinct([arm[0] for arm in shown], 18, 30), max(len(clean(arm[0])) for arm in shown))
    left = (size + 7) * _CHARACTER
    cell = min(0.34, (WIDTH - left - 0.2) / len(shown))
    above, below = 0.3, 0.42
    height = above + below + cell * len(shown)
    has_both = bool(view.both and view.both != view.unit)
    title = "Which systems differ"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left / WIDTH, below / height, cell * len(shown) / WIDTH, cell * len(shown) / height))
        axes.set_xlim(-0.5, len(shown) - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        differ = 0
        for y, a in enumerate(shown):
            axes.text(
                -0.75, y, labels.put(a[0], max(size, 2), before=f"{y + 1} · "), ha="right", va="center", fontsize=8.5
            )
            axes.text(float(y), -0.7, f"{y + 1}", ha="center", va="bottom", fontsize=8)
            for x, b in enumerate(shown):
                if x == y:
                    continue
                # Above the diagonal these raters, below it raters redrawn as well.
                unit = view.unit if x > y else view.both
                if x < y and not has_both:
                    continue
                row, _ = view.pair(protocol, a[0], b[0], unit)
                if row is None or row.undefined:
                    continue
                is_apart = is_told_apart(row)
                differ += int(is_apart and x > y)
                axes.plot(
                    [x],
                    [y],
                    marker="s",
                    markersize=cell * 72 * 0.62,
                    color=(BLUE if x > y else PURPLE) if is_apart else GRID,
                    markerfacecolor=(BLUE if x > y else PURPLE) if is_apart else "none",
                    linestyle="none",
                    markeredgewidth=0.8,
                )
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        legend = drawing.add_axes((0.0, 0.0, 1.0, 0.3 / height))
        legend.set_axis_off()
        legend.set_xlim(0, 1)
        legend.set_ylim(0, 1)
        entries = [(BLUE, BLUE, f"differ, {redrawn(view.unit)}")]
        entries += [(PURPLE, PURPLE, f"differ, {redrawn(view.both)}")] if has_both else []
        entries.append((GRID, "none", "not told apart"))
        for (edge, face, words), start in zip(entries, (0.05, 0.36, 0.78), strict=False):
            legend.plot([start], [0.5], marker="s", markersize=8, color=edge, markerfacecolor=face, linestyle="none")
            legend.text(start + 0.02, 0.5, words, va="center", fontsize=8.5)
        caption = "Systems from best to worst; a filled square is a pair that differs by its adjusted p"
        caption += ", above the diagonal with these raters, below it with raters redrawn, too." if has_both else "."
        if len(ranked) > len(shown):
            caption += f" Shown are the first {len(shown)} of {len(ranked)} systems."
        n_pairs = len(shown) * (len(shown) - 1) // 2
        description = f"Of {plural(n_pairs, 'pair')} shown {differ} differ ({redrawn(view.unit)})."
        svg = to_svg(drawing, labels, name="order", title=title, description=description)
    return Plot(svg, title, caption)


def _has_score(view: Scores, arm: Arm) -> bool:
    row = view.score(arm)
    return row is not None and not row.undefined


def missing(view: Scores, figure: str) -> str:
    """Return why a figure of a scoring run cannot be drawn, blank if it can."""
    if not any(_has_score(view, arm) for arm in view.arms):
        return "it needs the analysis scores with a defined score, which this result does not have"
    if figure == "criteria":
        if len(view.criteria) < 2:
            return "there is one criterion"
        if not any(not row.undefined for row in view.alphas.values()):
            return "no criterion has an alpha"
    if figure == "order":
        arms = [arm for arm in view.protocols[view.plain[0]] if _has_score(view, arm)]
        if len(arms) < 2:
            return "there is one system with a score"
        if not any(row.keys["contrast"] == "system" for row in view.all("contrasts", "difference")):
            return "it needs the contrasts of systems"
    return ""
