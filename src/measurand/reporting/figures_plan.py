"""Figures of a plan: cost against reliability, layouts at the same cost, what the error of a design is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import CHARACTER, limits, name, point
from measurand.reporting.figures_parts import ROW, Entry, legend, legend_rows
from measurand.reporting.plan_view import Designed, Plan, cheapest, layout_words, panel_words
from measurand.reporting.svg import (
    BLUE,
    GREEN,
    GRID,
    INK,
    MUTED,
    PURPLE,
    VERMILION,
    WIDTH,
    Labels,
    Plot,
    style,
    titled,
    to_svg,
)
from measurand.reporting.words import begin, distinct
from measurand.result import Row, show_interval, show_number
from measurand.result.words import clean, plural
from measurand.sentences import money

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colour and marker of each layout, the same in every figure.
_LOOK: Final = {
    "as_rated": (INK, "*"),
    "crossed": (BLUE, "o"),
    "rotating": (VERMILION, "s"),
    "nested": (GREEN, "^"),
}
_TICKS: Final = (1, 2, 5)
_FEWEST_TICKS: Final = 4
_MOST_TICKS: Final = 9
_MOST_COMPONENTS: Final = 40


def front(view: Plan, criterion: str = "") -> Plot:
    """Draw the cheapest panels for reliabilities from low to high, and the panel as it is."""
    from matplotlib.figure import Figure

    found, promised = _fronts(view, criterion)
    own, sure = view.as_rated(criterion), cheapest(view.designs(criterion, "lower_limit"))
    target = float(view.asked("target", 0.8))
    shown = [one for one in _LOOK if any(one == two.layout for two in (*found, *promised))]
    entries = [Entry({"color": _LOOK[one][0], "marker": _LOOK[one][1]}, layout_words(one)) for one in shown]
    if own is not None:
        entries.append(Entry({"color": INK, "marker": "*", "markersize": 10}, "the panel as it is"))
    if sure is not None:
        look = {"color": PURPLE, "marker": "D", "markerfacecolor": "none", "markersize": 7}
        entries.append(Entry(look, f"cheapest that is sure ({layout_words(sure.layout)})"))
    if promised:
        look = {"color": MUTED, "linestyle": "--", "marker": "o", "markerfacecolor": "none"}
        entries.append(Entry(look, "plug-in, hollow"))
    entries.append(Entry({"color": INK, "linestyle": ":"}, f"target {show_number(target)}"))
    rows = legend_rows(entries)
    above, below, tall = 0.15, 0.6 + ROW * len(rows), 3.0
    height = above + tall + below
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((0.085, below / height, 0.885, tall / height))
        costs = _curve(axes, promised, hollow=True) + _curve(axes, found, hollow=False)
        for one, colour, marker, size in ((own, INK, "*", 11.0), (sure, PURPLE, "D", 8.0)):
            if one is not None and one.cost:
                costs += [_single(axes, one, colour, marker, size)]
        axes.axhline(target, color=INK, linewidth=1.0, linestyle=":", zorder=1)
        _scale(axes, costs)
        axes.set_ylim(-0.03, 1.03)
        axes.set_yticks(_ticks_of(target))
        axes.grid(visible=True, axis="y")
        axes.set_axisbelow(True)
        axes.set_ylabel(view.letter, rotation=0, labelpad=8)
        axes.set_xlabel(f"{'cost' if view.is_priced else 'judgements'}, logarithmic", fontsize=8.5)
        legend(drawing, rows, height)
        title = f"Cost against {view.letter}"
        caption = _caption(view, has_points=bool(found), has_star=own is not None)
        if sure is not None:
            caption += " The diamond is the cheapest panel whose whole interval lies above the target."
        if promised:
            caption += (
                " Hollow points on the dashed line are what the plug-in promises, which takes the spread of the "
                "observed means for that of the systems; it has no interval."
            )
        description = f"{plural(len(found or promised), 'panel')} from cheap to dear; the table has the numbers."
        svg = to_svg(drawing, labels, name="front", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption.strip())


def _caption(view: Plan, *, has_points: bool, has_star: bool) -> str:
    """Return what the points and the star are, and their lines, of what is drawn."""
    star = "the star is the panel as it is"
    lines = f"lines, and the band that joins them, are {view.confidence} intervals for other items, systems and raters"
    if has_points:
        return f"Filled points are the cheapest panel for each {view.letter}; {f'{star}; ' * has_star}{lines}."
    return f"{begin(star)}, its line the {view.confidence} interval for other items, systems and raters." * has_star


def _fronts(view: Plan, criterion: str) -> tuple[list[Designed], list[Designed]]:
    """Return the front by the unbiased estimator and that of the plug-in, as far as they have costs."""
    main, other = (
        [one for one in view.designs(criterion, "front", estimator) if one.cost and one.coefficient is not None]
        for estimator in (view.unbiased(criterion), "plugin")
    )
    return main, other if "plugin" in view.estimators(criterion)[1:] else []


def _ticks_of(target: float) -> list[float]:
    return sorted({one for one in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0) if abs(one - target) > 0.05} | {target})


def _curve(axes: Axes, found: Sequence[Designed], *, hollow: bool) -> list[float]:
    """Draw a front as a thin line with a marker for each layout; return its costs."""
    rows = [(one, one.cost or math.nan, row) for one in found if (row := one.coefficient) is not None]
    x = [math.log10(cost) for _, cost, _ in rows]
    y = [row.estimate for _, _, row in rows]
    axes.plot(x, y, color=MUTED, linewidth=1.0, linestyle="--" if hollow else "-", zorder=2)
    if not hollow and len(rows) > 1 and all(row.low is not None and row.high is not None for _, _, row in rows):
        axes.fill_between(
            x,
            [row.low or 0.0 for _, _, row in rows],
            [row.high or 0.0 for _, _, row in rows],
            color=MUTED,
            alpha=0.14,
            linewidth=0,
            zorder=0,
        )
    for at, (one, _, row) in zip(x, rows, strict=True):
        colour, marker = _LOOK.get(one.layout, (MUTED, "o"))
        if row.low is not None and row.high is not None and not hollow:
            axes.plot([at, at], [row.low, row.high], color=colour, linewidth=1.0, zorder=3)
        face = "none" if hollow else colour
        size = 4.0 if hollow else 5.5
        axes.plot([at], [row.estimate], color=colour, marker=marker, markersize=size, markerfacecolor=face, zorder=4)
    return [cost for _, cost, _ in rows]


def _single(axes: Axes, one: Designed, colour: str, marker: str, size: float) -> float:
    cost, row = one.cost or math.nan, one.coefficient
    if row is not None and not row.undefined:
        at = math.log10(cost)
        if row.low is not None and row.high is not None:
            axes.plot([at, at], [row.low, row.high], color=colour, linewidth=1.6, zorder=5)
        face = "none" if marker == "D" else colour
        axes.plot(
            [at], [row.estimate], color=colour, marker=marker, markersize=size, markerfacecolor=face, zorder=6,
            clip_on=False,
        )  # fmt: skip
    return cost


def _scale(axes: Axes, costs: Sequence[float]) -> None:
    """Set a logarithmic axis of costs with ticks at 1, 2 and 5 times the powers of ten, fewer where it is long."""
    low, high = math.log10(min(costs)), math.log10(max(costs))
    room = 0.05 * (high - low or 0.5)
    low, high = low - room, high + room
    every = [m * 10.0**e for e in range(math.floor(low), math.ceil(high) + 1) for m in _TICKS]
    ticks = [one for one in every if low <= math.log10(one) <= high]
    if len(ticks) < _FEWEST_TICKS:
        ticks = [m * 10.0**e for e in range(math.floor(low), math.ceil(high) + 1) for m in range(1, 10)]
        ticks = [one for one in ticks if low <= math.log10(one) <= high]
    if len(ticks) > _MOST_TICKS:
        ticks = [one for one in ticks if abs(math.log10(one) - round(math.log10(one))) < 1e-9]
    axes.set_xlim(low, high)
    axes.set_xticks([math.log10(one) for one in ticks], [money(one) for one in ticks])


def same_cost(view: Plan, criterion: str = "") -> Plot:
    """Draw what each layout would have bought for what the panel cost."""
    from matplotlib.figure import Figure

    shown = _bought(view, criterion)
    target = float(view.asked("target", 0.8))
    words = [f"{layout_words(one.layout)}: {panel_words(one)}" for one, _ in shown]
    size = max(len(text) for text in words)
    left = (size + 1) * CHARACTER / WIDTH
    line, above, below = 0.3, 0.32, 0.5
    height = above + below + line * len(shown)
    has_plugin = any(other is not None for _, other in shown)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.97 - left, 1 - (above + below) / height))
        axes.set_ylim(len(shown) - 0.5, -0.5)
        for y, ((one, other), text) in enumerate(zip(shown, words, strict=True)):
            name(axes, labels, text, y, size)
            colour, marker = _LOOK.get(one.layout, (MUTED, "o"))
            row = one.coefficient
            if row is not None and not row.undefined:
                point(axes, row, y, colour=colour, marker=marker, size=8.0 if marker == "*" else 5.5)
            if other is not None and not other.undefined:
                # A small star would be filled by its own edge.
                size_of = 10.0 if marker == "*" else 6.5
                axes.plot(
                    [other.estimate], [y], color=colour, marker=marker, markersize=size_of, markerfacecolor="none",
                    markeredgewidth=0.9, zorder=5,
                )  # fmt: skip
        axes.axvline(target, color=INK, linewidth=1.0, linestyle=":", zorder=2)
        axes.text(
            target, 1.02, f"target {show_number(target)}", transform=axes.get_xaxis_transform(), ha="center",
            va="bottom", fontsize=8,
        )  # fmt: skip
        axes.set_xlim(-0.02, 1.02)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(view.letter, fontsize=8.5)
        title = "What the same money buys"
        caption = (
            f"Filled points are {view.letter} by the unbiased estimate, lines its {view.confidence} interval for other "
            "items, systems and raters."
        )
        if has_plugin:
            caption += " Hollow ones are what the plug-in promises."
        description = f"{view.letter} of {plural(len(shown), 'panel')} that cost the same; the table has the numbers."
        svg = to_svg(drawing, labels, name="same-cost", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _bought(view: Plan, criterion: str) -> list[tuple[Designed, Row | None]]:
    """Return the panel and what the same money buys, each with the plug-in's coefficient of the same design."""
    own = view.as_rated(criterion)
    found = [*([] if own is None else [own]), *view.designs(criterion, "same_cost")]
    promised = view.designs(criterion, "as_rated", "plugin") + view.designs(criterion, "same_cost", "plugin")
    by = (
        {(one.layout, one.sizes): one.coefficient for one in promised} if "plugin" in view.estimators(criterion) else {}
    )
    return [(one, by.get((one.layout, one.sizes))) for one in found if one.coefficient is not None]


def error_shares(view: Plan, criterion: str = "") -> Plot:
    """Draw what each component adds to the error of differences."""
    from matplotlib.figure import Figure

    every = sorted(_shares(view, criterion), key=lambda row: -row.estimate)
    shown = every[:_MOST_COMPONENTS]
    size = min(distinct([row.keys["component"] for row in shown], 28, 44), max(len(_of(row)) for row in shown))
    left = (size + 2) * CHARACTER / WIDTH
    line, above, below = 0.24, 0.1, 0.5
    height = above + below + line * max(len(shown), 3)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.97 - left, 1 - (above + below) / height))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        ends = [0.0]
        for y, row in enumerate(shown):
            name(axes, labels, _of(row), y, size)
            percent = Row("plan", {}, "error_share", 100 * row.estimate, _percent(row.low), _percent(row.high))
            ends += point(axes, percent, y, colour=BLUE)
        limits(axes, ends, low=0.0, high=100.0)
        axes.grid(visible=True, axis="x", color=GRID)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("share of the error of differences, %", fontsize=8.5)
        title = "What the error is made of"
        caption = (
            f"Shares of the error variance at the design's own sizes, largest first; lines are {view.confidence} "
            "intervals for other levels of every facet."
        )
        if len(every) > len(shown):
            caption += f" Shown are the first {len(shown)} of {len(every)}."
        first = shown[0]
        description = " ".join(f"{_of(first)} has {show_number(first.estimate)} {show_interval(first)} of it.".split())
        svg = to_svg(drawing, labels, name="error-shares", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _of(row: Row) -> str:
    return clean(row.keys["component"])


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _shares(view: Plan, criterion: str) -> list[Row]:
    return [row for row in view.rows(criterion, "plan", "error_share") if not row.undefined]


def missing(view: Plan, figure: str, criterion: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    if figure == "error_shares":
        return "" if _shares(view, criterion) else "it needs the analysis plan of a design with other facets"
    if view.formula:
        return "it needs the analysis plan of a panel of items, systems and raters"
    if figure == "same_cost":
        return "" if len(_bought(view, criterion)) > 1 else "it needs the analysis plan with what the same cost buys"
    return (
        ""
        if any(_fronts(view, criterion))
        else "it needs the analysis plan with the cheapest panels for several targets"
    )
