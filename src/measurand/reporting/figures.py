"""One function per figure: from the rows of a result to SVG."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

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
    Labels,
    Plot,
    style,
    to_svg,
)
from measurand.reporting.view import View
from measurand.reporting.words import clean, plural, shorten
from measurand.result import Key, MeasurandError, Result, Row, show_interval, show_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Boards and systems that one figure of ranks can hold.
MOST_BOARDS: Final = 12
MOST_SYSTEMS: Final = 40
#: Up to this many systems each has a colour of its own; of more, those that lead somewhere.
MOST_COLOURED: Final = 10
LEADING: Final = 2.0

_COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")
_WIDTH: Final = 7.2
#: Characters of a system's and of a rater's name in the figure of ranks, and the width of one in inches.
_NAME: Final = 22
_BOARD: Final = 14
_CHARACTER: Final = 0.072


def plot(result: Result, *, figure: str | None = None, criterion: str = "") -> Plot:
    """Draw one figure of a result.

    Parameters
    ----------
    result : Result
        A whole audit or one of its analyses.
    figure : str or None
        ``"decision"`` (G against the number of raters and of items), ``"ranks"`` (the board without each rater) or
        ``"components"`` (what the ratings depend on); None takes the first of these that the result has numbers for.
    criterion : str
        The criterion; needed where there are several.

    Returns
    -------
    Plot
        The figure as SVG, with title and caption.

    Raises
    ------
    MeasurandError
        If the figure or the criterion is unknown or the numbers for it are not there; it says which figures the result
        can give.

    Examples
    --------
    >>> rows = [Row("components", {"estimator": "anova", "component": "item"}, "variance", 0.5, 0.2, 0.9)]
    >>> plot(Result(rows)).title
    'What the ratings depend on'
    """
    view = View(result)
    if not criterion and len(view.criteria) == 1:
        criterion = view.criteria[0]
    if criterion not in view.criteria:
        names = ", ".join(repr(shorten(name)) for name in view.criteria[:10])
        more = f" and {len(view.criteria) - 10} more" if len(view.criteria) > 10 else ""
        problem = f"no criterion {shorten(criterion)!r}" if criterion else "several criteria, and none is named"
        raise MeasurandError(f"{problem}; give criterion=, one of {names or 'none (the result has no rows)'}{more}")
    if figure is not None and figure not in _FIGURES:
        raise MeasurandError(f"no figure {figure!r}; there are {', '.join(_FIGURES)}")
    can = available(view, criterion)
    if figure is None:
        if not can:
            reasons = "; ".join(f"{name}: {_missing(view, name, criterion)}" for name in _FIGURES)
            raise MeasurandError(f"this result has the numbers of no figure ({reasons})")
        return _FIGURES[can[0]][2](view, criterion)
    if figure not in can:
        others = f"this result can give {', '.join(can)}" if can else "this result can give no figure"
        raise MeasurandError(f"no figure {figure!r} here: {_missing(view, figure, criterion)}; {others}")
    return _FIGURES[figure][2](view, criterion)


def available(view: View, criterion: str) -> list[str]:
    """Return the figures that one criterion has the numbers for."""
    return [name for name in _FIGURES if not _missing(view, name, criterion)]


def _missing(view: View, figure: str, criterion: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    analysis, statistic, _ = _FIGURES[figure]
    found = view.defined(criterion, analysis, statistic)
    if not found:
        why = view.reason(criterion, analysis)
        return why or f"it needs the analysis {analysis}, which this result does not have"
    if figure == "ranks" and not any(row.keys.get("left_out", "") for row in found):
        return "there is one rater, so that nobody can be left out"
    if figure == "decision" and len(found) < 3:
        return "it needs G at several numbers of raters or items"
    return ""


def components(view: View, criterion: str) -> Plot:
    """Draw the variance components with their intervals; a negative one keeps its sign."""
    from matplotlib.figure import Figure

    rows = view.defined(criterion, "components", "variance")
    shares = {
        (row.keys["estimator"], row.keys["component"]): row for row in view.rows(criterion, "components", "share")
    }
    finite = [abs(row.estimate) for row in rows] + [abs(row.low) for row in rows if row.low is not None]
    # The component of few raters can have an upper limit that would flatten all others: it is cut, with an arrow.
    edge = 1.6 * max(finite) or 1.0
    low_end = min([0.0, *(row.low for row in rows if row.low is not None), *(row.estimate for row in rows)])
    several = len({row.keys["estimator"] for row in rows}) > 1
    with style():
        labels = Labels()
        drawing = Figure(figsize=(_WIDTH, 0.7 + 0.32 * len(rows)))
        axes = drawing.add_axes((0.2, 0.45 / (0.7 + 0.32 * len(rows)), 0.46, 1 - 0.6 / (0.7 + 0.32 * len(rows))))
        axes.set_xlim(low_end - 0.04 * edge, edge)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for y, row in enumerate(rows):
            negative = row.estimate < 0
            colour = VERMILION if negative else BLUE
            if row.low is not None and row.high is not None:
                axes.plot([row.low, min(row.high, edge)], [y, y], color=colour, linewidth=1.6)
                if row.high > edge:
                    axes.plot([edge], [y], marker=">", color=colour, markersize=6, clip_on=False)
            axes.plot(
                [row.estimate],
                [y],
                marker="D" if negative else "o",
                color=colour,
                markersize=6,
                markerfacecolor="none" if negative else colour,
                clip_on=False,
            )
            name = f"{row.keys['component']} ({row.keys['estimator']})" if several else row.keys["component"]
            axes.text(-0.03, y, labels.put(name, 26), transform=axes.get_yaxis_transform(), ha="right", va="center")
            share = shares.get((row.keys["estimator"], row.keys["component"]))
            said = f"{_digits(row.estimate, 3)} {_plain_interval(row)}"
            if share is not None and not share.undefined:
                said += f" · {100 * share.estimate:.0f} %"
            axes.text(1.05, y, said, transform=axes.get_yaxis_transform(), ha="left", va="center", fontsize=8.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("variance, in squared units of the scale", fontsize=8.5)
        axes.grid(visible=True, axis="x")
        axes.set_axisbelow(True)
        largest = max(rows, key=lambda row: row.estimate)
        title = "What the ratings depend on"
        negative_rows = [str(row.keys["component"]) for row in rows if row.estimate < 0]
        confidence = next((row.confidence for row in rows if row.confidence), 0.95)
        caption = (
            f"Variance components: points are unbiased estimates, lines their {100 * confidence:g} % intervals; on the "
            "right the numbers and the share of all positive components. A system component near 0 beside large "
            "components with “rater” in their name means that scores tell the raters apart, not the systems."
        )
        if negative_rows:
            names = ", ".join(negative_rows)
            caption += f" Hollow diamonds are negative estimates ({names}): nothing of the kind is detectable."
        if any(row.high is not None and row.high > edge for row in rows):
            caption += " An arrow marks an interval that goes on beyond the edge."
        description = f"The largest component is {largest.keys['component']} with {show_number(largest.estimate)}."
        svg = to_svg(drawing, labels, name="components", title=_titled(title, criterion), description=description)
    return Plot(svg, title, caption)


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
    side = (min(_NAME, max(map(len, map(clean, systems)))) + 8) * _CHARACTER / _WIDTH
    most = min(_BOARD, max([6, *(len(clean(left)) for left in boards)]))
    is_tight = (most + 5) * _CHARACTER * (len(boards) - 1) > (1 - 2 * side) * _WIDTH
    above = 0.25 + 0.7 * (most + 5) * _CHARACTER if is_tight else 0.45
    height = above + 0.15 + 0.24 * max(len(systems), 3)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(_WIDTH, height))
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
            colour = _COLOURS[place % len(_COLOURS)] if own else MUTED
            marker = _MARKERS[place % len(_MARKERS)] if own else "."
            axes.plot(
                range(len(boards)),
                [rank.get((left, name), math.nan) for left in boards],
                color=colour,
                marker=marker,
                markersize=5 if own else 4,
                linewidth=1.8 if own else 0.8,
                linestyle="-" if place < len(_COLOURS) else "--",
                zorder=3 if own else 2,
                clip_on=False,
            )
            if position == 0:
                axes.lines[-1].set_linewidth(2.6)
        _side_labels(axes, labels, systems, {name: rank.get((boards[0], name)) for name in systems}, left=True)
        if last > 0:
            _side_labels(axes, labels, systems, {name: rank.get((boards[-1], name)) for name in systems}, left=False)
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
        svg = to_svg(drawing, labels, name="ranks", title=_titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _side_labels(
    axes: Axes, labels: Labels, systems: Sequence[str], ranks: dict[str, float | None], *, left: bool
) -> None:
    """Write a label beside every line; tied systems get neighbouring places, so that none hides another."""
    present = [name for name in systems if ranks[name] is not None]
    first, end = axes.get_xlim()
    near, far = (0.0, first - 0.035 * (end - first)) if left else (max(end / 1.04, 0.0), end + 0.035 * (end - first))
    for slot, name in enumerate(sorted(present, key=lambda one: (ranks[one] or 0.0, systems.index(one))), start=1):
        value = ranks[name] or 0.0
        if abs(slot - value) > 1e-9:
            axes.plot([near, far], [value, slot], color=GRID, linewidth=0.7, clip_on=False, zorder=1)
        text = labels.put(name, _NAME, before=f"{value:g} · ")
        axes.text(far, slot, text, ha="right" if left else "left", va="center", fontsize=8.5)


def decision(view: View, criterion: str) -> Plot:
    """Draw G against the number of raters (at the panel's items) and of items (at its raters)."""
    from matplotlib.figure import Figure

    n_items, n_raters = view.size(criterion, "n_items"), view.size(criterion, "n_raters")
    targets = sorted({float(row.keys["target"]) for row in view.rows(criterion, "decision", "raters_needed")}) or [0.8]
    with style():
        labels = Labels()
        drawing = Figure(figsize=(_WIDTH, 3.8))
        for number, (key, fixed, size, at) in enumerate(
            (
                ("at_raters", "at_items", n_raters, f"at {plural(n_items or 0, 'item')}"),
                ("at_items", "at_raters", n_items, f"at {plural(n_raters or 0, 'rater')}"),
            )
        ):
            axes = drawing.add_axes((0.075 + 0.485 * number, 0.34, 0.415, 0.53))
            fixed_size = n_items if fixed == "at_items" else n_raters
            _curves(axes, view, criterion, key, {fixed: fixed_size or 0}, size or 0)
            for target in targets:
                axes.axhline(target, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
            _null(axes, view, criterion, size or 0)
            axes.set_ylim(-0.03, 1.03)
            axes.set_yticks(sorted({0.0, 0.2, 0.4, 0.6, 0.8, 1.0} | set(targets)))
            axes.grid(visible=True, axis="y")
            axes.set_axisbelow(True)
            what = "raters" if key == "at_raters" else "items"
            axes.set_title(f"More {what}, {at}", pad=17)
            axes.set_xlabel(f"number of {what}", fontsize=8.5)
            if number == 0:
                axes.set_ylabel("G", rotation=0, labelpad=8)
        row = view.first(criterion, "generalizability", "g", {"estimator": "anova"})
        confidence = (row.confidence if row is not None else None) or 0.95
        unbiased = f"unbiased (anova), {100 * confidence:g} % interval shaded"
        aim = f"target: G {' and '.join(f'{target:g}' for target in targets)}"
        _legend(drawing.add_axes((0.0, 0.0, 1.0, 0.2)), unbiased, aim)
        title = "How reliable the ranking is, and would be"
        here = view.here(criterion, "g", "anova")
        description = "G against the number of raters and of items." + (
            f" Here it is {show_number(here.estimate)} {show_interval(here)}."
            if here is not None and not here.undefined
            else ""
        )
        caption = (
            "G, the share of the spread of system means that is real, with the panel's own size marked. Read the solid "
            "line with its band. The dashed plug-in takes the observed spread of the means for the true one and so "
            "books error as signal; the hollow diamond is what it would say on average if no system differed, with "
            "the central range of such panels. At ∞ the curves end: more of the same cannot lift G beyond that."
        )
        svg = to_svg(drawing, labels, name="decision", title=_titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _curves(axes: Axes, view: View, criterion: str, key: str, fixed: dict[str, Key], size: int) -> None:
    ends: list[float] = []
    for estimator, colour, marker, dash in (("plugin", VERMILION, "s", "--"), ("anova", BLUE, "o", "-")):
        rows = view.defined(criterion, "generalizability", "g", fixed | {"estimator": estimator})
        curve = sorted((row for row in rows if row.keys[key] != math.inf), key=lambda row: float(row.keys[key]))
        limit = next((row for row in rows if row.keys[key] == math.inf), None)
        if not curve:
            continue
        x = [math.log10(float(row.keys[key])) for row in curve]
        axes.plot(
            x,
            [row.estimate for row in curve],
            color=colour,
            marker=marker,
            markersize=3.6,
            linestyle=dash,
            clip_on=False,
            zorder=3,
        )
        if all(row.low is not None and row.high is not None for row in curve):
            axes.fill_between(
                x,
                [row.low or 0.0 for row in curve],
                [row.high or 0.0 for row in curve],
                color=colour,
                alpha=0.16,
                linewidth=0,
            )
        ends.append(x[-1])
        if limit is not None:
            beyond = x[-1] + 0.13 * (x[-1] - x[0])
            ends.append(beyond)
            axes.plot(
                [x[-1], beyond],
                [curve[-1].estimate, limit.estimate],
                color=colour,
                linewidth=0.9,
                linestyle=":",
                zorder=2,
            )
            if limit.low is not None and limit.high is not None:
                axes.plot([beyond, beyond], [limit.low, limit.high], color=colour, linewidth=4, alpha=0.3)
            axes.plot([beyond], [limit.estimate], color=colour, marker=marker, markersize=5.5, clip_on=False, zorder=4)
    rows = view.defined(criterion, "generalizability", "g", fixed)
    sizes = sorted({float(row.keys[key]) for row in rows if row.keys[key] != math.inf} | {float(size)})
    shown: list[float] = []
    for one in sizes:
        # Ticks that would run into each other are left out.
        if not shown or math.log10(one / shown[-1]) > (math.log10(sizes[-1]) - math.log10(sizes[0])) / 9:
            shown.append(one)
    ticks, names = [math.log10(one) for one in shown], [f"{one:,.0f}" for one in shown]
    if ends and max(ends) > math.log10(sizes[-1]):
        ticks, names = [*ticks, max(ends)], [*names, "∞"]
    axes.set_xticks(ticks, names)
    if size:
        axes.axvline(math.log10(size), color=MUTED, linewidth=0.9)
        axes.text(math.log10(size), 1.05, f"here: {size:,}", ha="center", va="bottom", fontsize=7.5, color=MUTED)


def _null(axes: Axes, view: View, criterion: str, size: int) -> None:
    row = view.here(criterion, "g_null", "plugin")
    if row is None or row.undefined or not size:
        return
    x = math.log10(size)
    if row.low is not None and row.high is not None:
        axes.plot([x, x], [row.low, row.high], color=INK, linewidth=1.0, marker="_", markersize=7)
    axes.plot([x], [row.estimate], color=INK, marker="D", markersize=6, markerfacecolor="none", zorder=5)


def _legend(axes: Axes, unbiased: str, target: str) -> None:
    """Write the legend as a row of drawn samples, each with its words."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for x, y, colour, marker, dash, words, hollow in (
        (0.03, 0.72, BLUE, "o", "-", unbiased, False),
        (0.03, 0.26, VERMILION, "s", "--", "plug-in (observed spread of means)", False),
        (0.52, 0.72, INK, "D", "-", "plug-in if no system differed, central range", True),
        (0.52, 0.26, INK, "", ":", target, False),
    ):
        axes.plot([x, x + 0.05], [y, y], color=colour, linestyle=dash, linewidth=1.4)
        if marker:
            axes.plot(
                [x + 0.025],
                [y],
                color=colour,
                marker=marker,
                markersize=4.5,
                markerfacecolor="none" if hollow else colour,
            )
        axes.text(x + 0.062, y, words, va="center", fontsize=8.5)


def _plain_interval(row: Row) -> str:
    if row.low is None or row.high is None:
        return ""
    return f"[{_digits(row.low, 2)}, {_digits(row.high, 2)}]"


def _digits(value: float, digits: int) -> str:
    """Return a number with so many digits: one huge limit must not round all the others away."""
    return show_number(float(f"{value:.{digits}g}"))


def _titled(title: str, criterion: str) -> str:
    return f"{title}: {shorten(criterion, 60)}" if criterion else title


#: What each figure needs and who draws it, in the order in which `plot` looks for one that can be drawn.
_FIGURES: Final[dict[str, tuple[str, str, Callable[[View, str], Plot]]]] = {
    "decision": ("generalizability", "g", decision),
    "ranks": ("leave_one_rater_out", "rank", ranks),
    "components": ("components", "variance", components),
}
