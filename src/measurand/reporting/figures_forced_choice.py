"""The figure of a forced choice: accuracies with the line of chance."""

from __future__ import annotations

from typing import Final

from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.scores_cells import redrawn
from measurand.reporting.scores_view import Arm, arm_words
from measurand.reporting.svg import BLUE, GRID, INK, MUTED, WIDTH, Labels, Plot, style, to_svg
from measurand.reporting.words import distinct
from measurand.result import show_number
from measurand.result.words import plural

_MOST_ARMS: Final = 48
_CHARACTER: Final = 0.072


def accuracy(view: Choices) -> Plot:
    """Draw the accuracy of every arm with its interval, and chance as a line."""
    from matplotlib.figure import Figure

    every = [arm for arm in [*view.arms, *view.controls] if _known(view, arm)]
    shown = every[:_MOST_ARMS]
    names = [arm_words(arm) for arm in shown]
    size = min(distinct(names, 26, 44), max(len(name) for name in names))
    left = (size + 2) * _CHARACTER / WIDTH
    above, below, line = 0.4, 0.5, 0.24
    height = above + below + line * max(len(shown), 3)
    title = "Accuracy and chance"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.97 - left, 1 - (above + below) / height))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        ends = [*view.chances]
        for y, (arm, name) in enumerate(zip(shown, names, strict=True)):
            row = view.get(arm, "accuracy")
            if row is None:
                continue
            colour = MUTED if arm in view.controls else BLUE
            axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
            if row.low is not None and row.high is not None:
                axes.plot([row.low, row.high], [y, y], color=colour, linewidth=1.6, zorder=3)
                ends += [row.low, row.high]
            ends.append(row.estimate)
            face = GRID if arm in view.controls else colour
            axes.plot([row.estimate], [y], color=colour, marker="o", markersize=5.2, markerfacecolor=face, zorder=4)
            axes.text(
                -0.012,
                y,
                labels.put(name, max(size, 2)),
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center",
                fontsize=8.5,
            )
        room = 0.05 * (max(ends) - min(ends) or 1.0)
        axes.set_xlim(max(min(ends) - room, -0.02), min(max(ends) + room, 1.02))
        for chance in view.chances:
            axes.axvline(chance, color=INK, linewidth=1.1, linestyle="--", zorder=2)
            axes.text(
                chance,
                1 + 0.06 / (height - above - below),
                f"chance {show_number(round(chance, 3))}",
                transform=axes.get_xaxis_transform(),
                ha="left" if chance - min(ends) < 0.1 * (max(ends) - min(ends)) else "center",
                va="bottom",
                fontsize=8,
            )
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("accuracy", fontsize=8.5)
        caption = f"Points are accuracies, lines their intervals ({redrawn(view.unit)}); the dashed line is chance."
        if view.controls:
            caption += " Grey: controls, which did not see the item."
        if len(every) > len(shown):
            caption += f" Shown are the first {len(shown)} of {len(every)} arms."
        description = f"{plural(len(shown), 'arm')}; the table has the numbers."
        svg = to_svg(drawing, labels, name="accuracy", title=title, description=description)
    return Plot(svg, title, caption)


def _known(view: Choices, arm: Arm) -> bool:
    row = view.get(arm, "accuracy")
    return row is not None and not row.undefined


def missing(view: Choices) -> str:
    """Return why the figure cannot be drawn, blank if it can."""
    if any(_known(view, arm) for arm in [*view.arms, *view.controls]):
        return ""
    return "it needs the analysis forced_choice with a defined accuracy, which this result does not have"
