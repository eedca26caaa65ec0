"""The figure of variance components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from measurand.reporting.svg import BLUE, INK, MUTED, VERMILION, WIDTH, Labels, Plot, style, titled, to_svg
from measurand.reporting.view import View
from measurand.reporting.words import UNBIASED
from measurand.result import Row, show_number
from measurand.result.digits import three_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where the drawing begins, and what stands above and below it, in inches.
_SIDE: Final = 0.2
_BELOW: Final = 0.95
_ABOVE: Final = 0.12


def components(view: View, criterion: str) -> Plot:
    """Draw the unbiased variance components with their intervals, and REML's beside them; a negative keeps its sign."""
    from matplotlib.figure import Figure

    unbiased = view.unbiased(criterion, "components", "variance")
    by = {
        (row.keys["estimator"], str(row.keys["component"])): row
        for row in view.defined(criterion, "components", "variance")
    }
    reml = {name: row for (estimator, name), row in by.items() if estimator == "reml"}
    rows = [row for (estimator, _), row in by.items() if estimator == (unbiased or "reml")] or list(by.values())
    beside = reml if unbiased else {}
    shares = {
        row.keys["component"]: row
        for row in view.rows(criterion, "components", "share", {"estimator": unbiased})
        if not row.undefined
    }
    finite = [abs(row.estimate) for row in (*rows, *beside.values())]
    finite += [abs(row.low) for row in rows if row.low is not None]
    # The component of few raters can have an upper limit that would flatten all others: it is cut, with an arrow.
    edge = 1.6 * max(finite) or 1.0
    low_end = min([0.0, *(row.low for row in rows if row.low is not None), *(row.estimate for row in rows)])
    height = _BELOW + _ABOVE + 0.34 * len(rows)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((_SIDE, _BELOW / height, 0.46, 1 - (_ABOVE + _BELOW) / height))
        axes.set_xlim(low_end - 0.04 * edge, edge)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for y, row in enumerate(rows):
            name = str(row.keys["component"])
            _interval(axes, y, row, edge)
            _point(axes, row.estimate, y, "" if not unbiased else "negative" if row.estimate < 0 else "unbiased")
            if name in beside:
                _point(axes, beside[name].estimate, y, "reml")
            axes.text(-0.03, y, labels.put(name, 26), transform=axes.get_yaxis_transform(), ha="right", va="center")
            said = three_digits(row.estimate)
            if row.low is not None and row.high is not None:
                said += f" [{three_digits(row.low)}, {three_digits(row.high)}]"
            if name in shares:
                said += f" · {100 * shares[name].estimate:.0f} %"
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
        kinds = {"unbiased": f"unbiased, with its {100 * confidence:g} % interval"} if unbiased else {}
        kinds |= {"negative": "unbiased, negative"} if negative_rows and unbiased else {}
        kinds |= {"reml": "REML"} if beside else {}
        _legend(drawing.add_axes((_SIDE, 0.1 / height, 1 - _SIDE, 0.24 / height)), kinds)
        of = f"unbiased estimates {UNBIASED[unbiased]}" if unbiased else "by restricted maximum likelihood (REML)"
        caption = (
            f"Variance components, {of}, with their {100 * confidence:g} % intervals; on the right the numbers and the "
            "share of all positive components. A system component near 0 beside large components with “rater” in their "
            "name means that scores tell the raters apart, not the systems."
        )
        if beside:
            caption += " Hollow squares are the estimates by restricted maximum likelihood (REML)."
        if negative_rows:
            names = ", ".join(negative_rows)
            caption += (
                f" Diamonds are negative estimates ({names}), which count as 0: nothing of the kind is detectable."
            )
        if any(row.high is not None and row.high > edge for row in rows):
            caption += " An arrow marks an interval that goes on beyond the edge."
        description = f"The largest component is {largest.keys['component']} with {show_number(largest.estimate)}."
        svg = to_svg(drawing, labels, name="components", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _interval(axes: Axes, y: float, row: Row, edge: float) -> None:
    if row.low is None or row.high is None:
        return
    colour = VERMILION if row.estimate < 0 else BLUE
    axes.plot([row.low, min(row.high, edge)], [y, y], color=colour, linewidth=1.6)
    if row.high > edge:
        axes.plot([edge], [y], marker=">", color=colour, markersize=6, clip_on=False)


def _point(axes: Axes, x: float, y: float, kind: str) -> None:
    """Draw one estimate: filled circles and diamonds are unbiased, hollow squares are REML's."""
    if kind == "reml":
        axes.plot([x], [y], marker="s", color=INK, markersize=9, markerfacecolor="none", clip_on=False, zorder=4)
        return
    negative = kind == "negative"
    colour = VERMILION if negative else BLUE
    axes.plot([x], [y], marker="D" if negative else "o", color=colour, markersize=5, clip_on=False, zorder=3)


def _legend(axes: Axes, kinds: dict[str, str]) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(-1, 1)
    x = 0.015
    for kind, words in kinds.items():
        if kind == "unbiased":
            axes.plot([x - 0.013, x + 0.013], [0, 0], color=BLUE, linewidth=1.6)
        _point(axes, x, 0, kind)
        axes.text(x + 0.027, 0, words, va="center", fontsize=8.5)
        x += 0.075 + 0.0117 * len(words)
