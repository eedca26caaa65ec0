"""The figure of length: mean ratings against mean lengths, and the systems at equal length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import spread
from measurand.reporting.length import tolerance
from measurand.reporting.svg import BLUE, GRID, INK, MUTED, VERMILION, WIDTH, Labels, Plot, style, titled, to_svg
from measurand.reporting.view import View
from measurand.reporting.words import unit_of_length
from measurand.result import Key, Row
from measurand.result.digits import show_rounded
from measurand.result.words import called, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST: Final = 16
_NAME: Final = 18
_TALL: Final = 2.9


def length(view: View, criterion: str) -> Plot:
    """Draw every system by mean length and mean rating, and its win rate against outputs of equal length."""
    from matplotlib.figure import Figure

    ratings = sorted(view.defined(criterion, "length", "mean_rating"), key=lambda row: -row.estimate)[:_MOST]
    of_length = {row.keys["system"]: row for row in view.defined(criterion, "length", "mean_length")}
    rates = _rates(view, criterion)
    has_rates = any(row.keys["system"] in rates for row in ratings)
    height = _TALL + 0.95
    unit = str(view.result.settings.get("length", {}).get("unit_of_length", ""))
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        left = 0.62 / WIDTH
        width = (0.4 if has_rates else 0.72) - left
        axes = drawing.add_axes((left, 0.5 / height, width, _TALL / height))
        _scatter(axes, labels, ratings, of_length, named=not has_rates)
        counted = "" if unit == "length" else f" ({unit_of_length(unit)})"
        axes.set_xlabel(f"mean length{counted}", fontsize=8.5)
        axes.set_ylabel("mean rating", fontsize=8.5)
        if has_rates:
            right = drawing.add_axes((0.66, 0.5 / height, 0.31, _TALL / height))
            _equal(right, axes, labels, ratings, rates)
        rho = next(iter(view.defined(criterion, "length", "spearman", {"model": "between_systems", "rater": ""})), None)
        title = "Ratings and length"
        caption = "Left: each system's mean rating by the mean length of its outputs (bars: intervals of the lengths)."
        if rho is not None:
            caption += f" Spearman's rho over systems is {show_rounded(rho.estimate, 0.1)}."
        if has_rates:
            caption += (
                " Right: how often each system is rated above an average other one on outputs of equal length, with "
                "intervals over items, each system as high up as its mean rating; the dashed line at one half is no "
                "preference."
            )
        description = f"{plural(len(ratings), 'system')}; the table has the numbers."
        svg = to_svg(drawing, labels, name="length", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _rates(view: View, criterion: str) -> dict[Key, Row]:
    """Return each system's win rate against an average opponent, on outputs of equal length."""
    of: dict[str, Key] = {"model": "adjusted", "ties": "half", "rater": "", "opponent": ""}
    found = [row for row in view.defined(criterion, "length", "win_rate_adjusted", of) if row.unit == "item"]
    if not found:
        return {}
    at = tolerance(view, criterion)["tolerance"]
    return {row.keys["system"]: row for row in found if row.keys["tolerance"] == at}


def _scatter(axes: Axes, labels: Labels, ratings: list[Row], of_length: dict[Key, Row], *, named: bool) -> None:
    axes.grid(visible=True, color=GRID)
    places = []
    for row in ratings:
        at = of_length.get(row.keys["system"])
        if at is None:
            continue
        if at.low is not None and at.high is not None:
            axes.plot([at.low, at.high], [row.estimate, row.estimate], color=MUTED, linewidth=1.0, zorder=2)
        axes.plot([at.estimate], [row.estimate], color=BLUE, marker="o", markersize=5.5, zorder=3)
        places.append((at.estimate, row.estimate, row.keys["system"]))
    if not named or not places:
        return
    low, high = axes.get_ylim()
    gap = (high - low) * 0.16 / _TALL
    for y, (x, at_y, text) in zip(spread([place[1] for place in places], gap), places, strict=True):
        end = axes.get_xlim()[1]
        axes.plot([x, end], [at_y, y], color=GRID, linewidth=0.6, clip_on=False, zorder=1)
        axes.text(end, y, labels.put(called(text), 24), fontsize=8, va="center", ha="left")


def _equal(axes: Axes, scatter: Axes, labels: Labels, ratings: list[Row], rates: dict[Key, Row]) -> None:
    """Draw win rates in the order of the ratings, with the names between the two panels."""
    low, high = scatter.get_ylim()
    gap = (high - low) * 0.17 / _TALL
    slots = spread([row.estimate for row in ratings], gap)
    # Names that lie close move apart; both panels show what that takes.
    low, high = min(low, min(slots) - gap), max(high, max(slots) + gap)
    scatter.set_ylim(low, high)
    axes.set_ylim(low, high)
    axes.axvline(0.5, color=INK, linewidth=1.0, linestyle="--", zorder=1)
    ends = [0.5]
    for y, row in zip(slots, ratings, strict=True):
        axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
        axes.text(
            -0.03,
            y,
            labels.put(called(row.keys["system"]), _NAME),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8,
        )
        rate = rates.get(row.keys["system"])
        if rate is None:
            continue
        if rate.low is not None and rate.high is not None:
            axes.plot([rate.low, rate.high], [y, y], color=VERMILION, linewidth=1.5, zorder=2)
            ends += [rate.low, rate.high]
        axes.plot([rate.estimate], [y], color=VERMILION, marker="s", markersize=5, zorder=3)
        ends.append(rate.estimate)
    room = 0.05 * (max(ends) - min(ends) or 1.0)
    axes.set_xlim(min(ends) - room, max(ends) + room)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("win rate at equal length", fontsize=8.5)
