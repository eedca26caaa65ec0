"""The figure of the decision study: G at other numbers of raters and of items."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from measurand.reporting.svg import BLUE, INK, MUTED, VERMILION, WIDTH, Labels, Plot, style, titled, to_svg
from measurand.reporting.view import View
from measurand.reporting.words import ESTIMATOR
from measurand.result import Key, show_interval, show_number
from measurand.result.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR: Final = {"anova": BLUE, "henderson": BLUE, "reml": BLUE, "plugin": VERMILION}
_MARK: Final = {"anova": "o", "henderson": "o", "reml": "o", "plugin": "s"}
_DASH: Final = {"anova": "-", "henderson": "-", "reml": "-", "plugin": "--"}


def decision(view: View, criterion: str) -> Plot:
    """Draw G against the number of raters (at the panel's items) and of items (at its raters)."""
    from matplotlib.figure import Figure

    n_items, n_raters = view.size(criterion, "n_items"), view.size(criterion, "n_raters")
    unbiased = view.unbiased(criterion, "generalizability", "g")
    has_plugin = bool(view.defined(criterion, "generalizability", "g", {"estimator": "plugin"}))
    # Without an unbiased estimator, REML's curve stands in its place.
    main = unbiased or ("plugin" if has_plugin else "reml")
    targets = sorted({float(row.keys["target"]) for row in view.rows(criterion, "decision", "raters_needed")}) or [0.8]
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, 3.8))
        for number, (key, fixed, size, at) in enumerate(
            (
                ("at_raters", "at_items", n_raters, f"at {plural(n_items or 0, 'item')}"),
                ("at_items", "at_raters", n_items, f"at {plural(n_raters or 0, 'rater')}"),
            )
        ):
            axes = drawing.add_axes((0.075 + 0.485 * number, 0.34, 0.415, 0.53))
            fixed_size = n_items if fixed == "at_items" else n_raters
            _curves(axes, view, criterion, key, {fixed: fixed_size or 0}, size or 0, main)
            for target in targets:
                axes.axhline(target, color=INK, linewidth=0.9, linestyle=(0, (1, 2)))
            has_null = _null(axes, view, criterion, size or 0)
            axes.set_ylim(-0.03, 1.03)
            axes.set_yticks(sorted({0.0, 0.2, 0.4, 0.6, 0.8, 1.0} | set(targets)))
            axes.grid(visible=True, axis="y")
            axes.set_axisbelow(True)
            what = "raters" if key == "at_raters" else "items"
            axes.set_title(f"More {what}, {at}", pad=17)
            axes.set_xlabel(f"number of {what}", fontsize=8.5)
            if number == 0:
                axes.set_ylabel("G", rotation=0, labelpad=8)
        row = view.first(criterion, "generalizability", "g", {"estimator": main})
        confidence = (row.confidence if row is not None else None) or 0.95
        entries = [
            (_COLOUR[main], _MARK[main], _DASH[main], f"{ESTIMATOR[main]}, {100 * confidence:g} % interval shaded")
        ]
        if has_plugin and main != "plugin":
            entries.append((_COLOUR["plugin"], _MARK["plugin"], _DASH["plugin"], "plug-in (observed spread of means)"))
        if has_null:
            entries.append((INK, "D", "-", "plug-in if no system differed, central range"))
        entries.append((INK, "", ":", f"target: G {' and '.join(f'{target:g}' for target in targets)}"))
        _legend(drawing.add_axes((0.0, 0.0, 1.0, 0.2)), entries)
        title = "How reliable the ranking is, and would be"
        here = view.here(criterion, "g", main)
        description = "G against the number of raters and of items." + (
            f" Here it is {show_number(here.estimate)} {show_interval(here)}".rstrip() + "."
            if here is not None and not here.undefined
            else ""
        )
        caption = (
            "G, the share of the spread of system means that is real, with the panel's own size marked. Read the solid "
            "line with its band."
        )
        if has_plugin:
            caption += (
                " The dashed plug-in takes the observed spread of the means for the true one and so books error as "
                "signal"
            )
            caption += (
                "; the hollow diamond is what it would say on average if no system differed, with the central range of "
                "such panels."
                if has_null
                else "."
            )
        caption += " At ∞ the curves end: more of the same cannot lift G beyond that."
        svg = to_svg(drawing, labels, name="decision", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _curves(axes: Axes, view: View, criterion: str, key: str, fixed: dict[str, Key], size: int, main: str) -> None:
    ends: list[float] = []
    for estimator in dict.fromkeys(["plugin", main]):
        colour, marker, dash = _COLOUR[estimator], _MARK[estimator], _DASH[estimator]
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


def _null(axes: Axes, view: View, criterion: str, size: int) -> bool:
    row = view.here(criterion, "g_null", "plugin")
    if row is None or row.undefined or not size:
        return False
    x = math.log10(size)
    if row.low is not None and row.high is not None:
        axes.plot([x, x], [row.low, row.high], color=INK, linewidth=1.0, marker="_", markersize=7)
    axes.plot([x], [row.estimate], color=INK, marker="D", markersize=6, markerfacecolor="none", zorder=5)
    return True


def _legend(axes: Axes, entries: list[tuple[str, str, str, str]]) -> None:
    """Write the legend as rows of drawn samples, each with its words."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for place, (colour, marker, dash, words) in enumerate(entries):
        # Two stand beside each other, four in two rows.
        x, y = (
            (0.03 + 0.49 * place, 0.72) if len(entries) < 3 else (0.03 + 0.49 * (place // 2), 0.72 - 0.46 * (place % 2))
        )
        axes.plot([x, x + 0.05], [y, y], color=colour, linestyle=dash, linewidth=1.4)
        hollow = marker == "D"
        if marker:
            face = "none" if hollow else colour
            axes.plot([x + 0.025], [y], color=colour, marker=marker, markersize=4.5, markerfacecolor=face)
        axes.text(x + 0.062, y, words, va="center", fontsize=8.5)
