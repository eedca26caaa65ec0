"""Figures of an elicitation: answer mass by arm, replies accepted by attempt, what the log-odds depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.scores_view import Arm, arm_words
from measurand.reporting.svg import (
    BLUE,
    GREEN,
    GRID,
    INK,
    ORANGE,
    PURPLE,
    VERMILION,
    WIDTH,
    Labels,
    Plot,
    style,
    to_svg,
)
from measurand.reporting.words import distinct
from measurand.result import Row, show_number
from measurand.result.words import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ARMS: Final = 40
#: Arms whose attempts a figure tells apart.
MOST_CURVES: Final = 6
#: What the gate of answer mass asks of the median to pass, and of the 1 % quantile to pass and the median to warn.
LEVELS: Final = (0.5, 0.9)
#: What the log-odds of yes and no depend on, as rows and in words.
SHARES: Final = {"share_item": "item", "share_question": "question", "share_rest": "rest"}

_FILLS: Final = {"share_item": VERMILION, "share_question": BLUE, "share_rest": GRID}
_COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, INK)
_MARKERS: Final = ("o", "s", "^", "D", "v", "P")
_CHARACTER: Final = 0.072
_ABOVE: Final = 0.42
_BELOW: Final = 0.72
_LINE: Final = 0.24
#: Mass between a least value and the 1 % quantile from which both are marked.
_APART: Final = 0.01


def with_mass(view: Elicitation) -> list[Arm]:
    """Return the arms whose readings have a mass; controls only where there is nothing else."""
    found = [arm for arm in view.asked if view.number(arm, "mass_median") is not None]
    return _without_controls(view, found)


def _without_controls(view: Elicitation, arms: Sequence[Arm]) -> list[Arm]:
    controls = set(view.controls)
    return [arm for arm in arms if arm not in controls] or list(arms)


def mass(view: Elicitation) -> Plot:
    """Draw the mass of the answers in every arm: median, 1 % quantile and least, with the levels of the gate."""
    every = with_mass(view)
    arms = _few(view, every)
    title = "Answer mass"
    with style():
        labels = Labels()
        drawing, axes = _rows(arms, labels, _names(arms))
        axes.set_xlim(-0.02, 1.02)
        for level in LEVELS:
            axes.axvline(level, color=INK, linewidth=1.0, linestyle="--", zorder=1)
            _above(axes, level, f"{level:g}", len(arms))
        for y, arm in enumerate(arms):
            median = view.number(arm, "mass_median") or 0.0
            low = view.number(arm, "mass_p01")
            least = view.number(arm, "mass_min")
            if low is not None:
                axes.plot([low, median], [y, y], color=BLUE, linewidth=1.8, solid_capstyle="butt", zorder=3)
                axes.plot([low, low], [y - 0.22, y + 0.22], color=BLUE, linewidth=1.8, zorder=3)
            # On top of the quantile's mark a cross would be a blot.
            if least is not None and (low is None or low - least > _APART):
                axes.plot([least], [y], color=BLUE, marker="x", markersize=4.5, linestyle="none", zorder=3)
            axes.plot([median], [y], color=BLUE, marker="o", markersize=5.2, zorder=4)
        axes.set_xlabel("probability of all answers together", fontsize=8.5)
        caption = (
            "Points are medians over the readings of an arm; lines go down to the 1 % quantile, crosses are the least "
            "where it is lower. "
            "Dashed: what the gate answer-mass asks of the median to pass (.9), and of the 1 % quantile (.5)."
        )
        caption += _left_out(every, arms)
        least_of = min(view.number(arm, "mass_median") or 0.0 for arm in arms)
        description = f"{plural(len(arms), 'arm')}; the least median is {show_number(round(least_of, 3))}."
        svg = to_svg(drawing, labels, name="mass", title=title, description=description)
    return Plot(svg, title, caption)


def with_attempts(view: Elicitation) -> list[Arm]:
    """Return the arms in which something was asked more than once, those that accept the fewest first replies first."""
    several = _without_controls(view, [arm for arm, by in view.attempts.items() if len(by) > 1])
    return sorted(several, key=view.first_accepted)


def _accepted(by: Mapping[int, Mapping[str, Row]]) -> list[float]:
    return [by[attempt]["share_accepted"].estimate for attempt in sorted(by) if "share_accepted" in by[attempt]]


def attempts(view: Elicitation) -> Plot:
    """Draw the share of requests that have an accepted reply after each attempt."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    every = with_attempts(view)
    arms = every[:MOST_CURVES]
    height = 2.3 + 0.2 * len(arms)
    title = "Accepted replies by attempt"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        below = 0.55 + 0.2 * len(arms)
        axes = drawing.add_axes((0.09, below / height, 0.88, 1 - (below + 0.15) / height))
        last = 1
        for place, arm in enumerate(arms):
            by = view.attempts[arm]
            numbers = [attempt for attempt in sorted(by) if "share_accepted" in by[attempt]]
            last = max([last, *numbers])
            colour = _COLOURS[place]
            axes.plot(
                numbers, [100 * one for one in _accepted(by)], color=colour, marker=_MARKERS[place], markersize=4.6
            )
        axes.set_ylim(-3, 103)
        axes.set_xlim(0.8, last + 0.2)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=10, integer=True))
        axes.grid(axis="y")
        axes.set_xlabel("attempt", fontsize=8.5)
        axes.set_ylabel("accepted so far, %", fontsize=8.5)
        _curves(drawing.add_axes((0.09, 0, 0.88, 0.2 * len(arms) / height)), arms, labels)
        caption = "Of the requests of an arm, the share with an accepted reply after so many attempts."
        if len(every) > len(arms):
            caption += f" Shown are the {len(arms)} of {len(every)} arms that accept the fewest first replies."
        description = f"{plural(len(arms), 'arm')}, up to {plural(last, 'attempt')}; the table has the numbers."
        svg = to_svg(drawing, labels, name="attempts", title=title, description=description)
    return Plot(svg, title, caption)


def _curves(axes: Axes, arms: Sequence[Arm], labels: Labels) -> None:
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(arms), 0)
    for place, arm in enumerate(arms):
        y = place + 0.45
        axes.plot([0.0, 0.05], [y, y], color=_COLOURS[place])
        axes.plot([0.025], [y], color=_COLOURS[place], marker=_MARKERS[place], markersize=4.6)
        axes.text(0.065, y, labels.put(arm_words(arm), 76), va="center", fontsize=8.5)


def with_shares(view: Elicitation) -> list[Arm]:
    """Return the arms whose log-odds were divided, controls left out, the largest share of the item first."""
    controls, derived = set(view.controls), set(view.derived)
    found = {
        arm: row.estimate
        for arm in view.of("acquiescence")
        if (row := view.row(arm, "share_item", "acquiescence")) is not None
        and not row.undefined
        and arm not in controls
        and arm not in derived
    }
    return sorted(found, key=lambda arm: -found[arm])


def acquiescence(view: Elicitation) -> Plot:
    """Draw what the log-odds of every arm depend on as stacked bars, with the interval of the item's share."""
    every = with_shares(view)
    arms = every[:MOST_ARMS]
    title = "What a yes depends on"
    with style():
        labels = Labels()
        drawing, axes = _rows(arms, labels, _names(arms))
        axes.set_xlim(0, 1)
        for y, arm in enumerate(arms):
            left = 0.0
            for statistic, colour in _FILLS.items():
                row = view.row(arm, statistic, "acquiescence")
                if row is None or row.undefined:
                    continue
                axes.barh(y, row.estimate, left=left, height=0.62, color=colour, linewidth=0, zorder=2)
                left += row.estimate
            item = view.row(arm, "share_item", "acquiescence")
            if item is not None and item.low is not None and item.high is not None:
                axes.plot([item.low, item.high], [y, y], color=INK, linewidth=1.3, zorder=4)
                for end in (item.low, item.high):
                    axes.plot([end, end], [y - 0.14, y + 0.14], color=INK, linewidth=1.3, zorder=4)
        for place, (statistic, words) in enumerate(SHARES.items()):
            x = 0.24 * place
            top = 1 + 0.2 / (_LINE * max(len(arms), 3))
            axes.plot(
                [x + 0.012],
                [top],
                color=_FILLS[statistic],
                marker="s",
                markersize=7,
                transform=axes.transAxes,
                clip_on=False,
            )
            axes.text(x + 0.035, top, words, transform=axes.transAxes, va="center", fontsize=8.5)
        axes.set_xlabel("share of the variation of log-odds", fontsize=8.5)
        caption = (
            "How much of the variation of log-odds is the item (yes to everything asked of it), the question, and "
            "the rest, which alone is about this question on this item. Thin lines: the interval of the item's share "
            "(items redrawn)."
        )
        caption += _left_out(every, arms)
        worst = view.row(arms[0], "share_item", "acquiescence")
        largest = "" if worst is None else f" The largest share of the item is {show_number(round(worst.estimate, 3))}."
        description = f"{plural(len(arms), 'arm')}.{largest}"
        svg = to_svg(drawing, labels, name="acquiescence", title=title, description=description)
    return Plot(svg, title, caption)


def _few(view: Elicitation, every: Sequence[Arm]) -> list[Arm]:
    """Return the arms that a figure shows, in their own order; of too many those with the least mass."""
    if len(every) <= MOST_ARMS:
        return list(every)
    lowest = sorted(every, key=lambda arm: view.number(arm, "mass_median") or 0.0)[:MOST_ARMS]
    return [arm for arm in every if arm in set(lowest)]


def _left_out(every: Sequence[Arm], shown: Sequence[Arm]) -> str:
    if len(every) == len(shown):
        return ""
    return f" Shown are the {len(shown)} of {len(every)} arms that most need a look."


def _names(arms: Sequence[Arm]) -> list[str]:
    """Return arms in words, without the system where there is only one."""
    if len({arm[0] for arm in arms}) > 1:
        return [arm_words(arm) for arm in arms]
    return [", ".join(part for part in arm[1:] if part) or arm_words(arm) for arm in arms]


def _rows(arms: Sequence[Arm], labels: Labels, names: Sequence[str]) -> tuple[Figure, Axes]:
    """Return a figure with a line for each arm, their names on the left."""
    from matplotlib.figure import Figure

    size = min(distinct(names, 44, 50), max(len(name) for name in names))
    left = (size + 2) * _CHARACTER / WIDTH
    inner = _LINE * max(len(arms), 3)
    height = _ABOVE + _BELOW - 0.2 + inner
    drawing = Figure(figsize=(WIDTH, height))
    axes = drawing.add_axes((left, (_BELOW - 0.2) / height, 0.97 - left, inner / height))
    # A short list keeps the height of three lines, so that its bars do not grow.
    axes.set_ylim(max(len(arms), 3) - 0.4 - (max(len(arms), 3) - len(arms)) / 2, -0.6 - (3 - min(len(arms), 3)) / 2)
    for y, name in enumerate(names):
        axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
        axes.text(
            -0.012,
            y,
            labels.put(name, max(size, 2)),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            fontsize=8.5,
        )
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    return drawing, axes


def _above(axes: Axes, x: float, text: str, n_arms: int) -> None:
    top = 1 + 0.06 / (_LINE * max(n_arms, 3))
    axes.text(x, top, text, transform=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=8)


def missing(view: Elicitation, figure: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    needs = {
        "mass": (with_mass, "it needs the analysis elicitation with readings of token probabilities"),
        "attempts": (with_attempts, "it needs the analysis attempts with more than one attempt"),
        "acquiescence": (with_shares, "it needs the analysis acquiescence with defined shares"),
    }
    find, why = needs[figure]
    return "" if find(view) else f"{why}, which this result does not have"
