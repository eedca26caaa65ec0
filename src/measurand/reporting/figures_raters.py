"""The figure of raters: how each uses the scale, one small panel for every trait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import CHARACTER, limits, name, point
from measurand.reporting.figures_parts import shown_of
from measurand.reporting.svg import BLUE, GRID, INK, MUTED, VERMILION, WIDTH, Labels, Plot, style, titled, to_svg
from measurand.reporting.view import View
from measurand.reporting.words import distinct
from measurand.result import Key, Row
from measurand.result.words import clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Raters that the figure has a line for.
MOST_RATERS: Final = 40
#: Raters up to which lines stand further apart.
_FEW: Final = 15
_NAME: Final = 14
_LONGEST: Final = 30
#: The level of the test of drift.
_ALPHA: Final = 0.05
#: Traits: analysis, statistic, the words over the panel; shares are shown in percent.
_TRAITS: Final[tuple[tuple[str, str, str], ...]] = (
    ("raters", "mean", "Mean"),
    ("raters", "sd", "Standard\ndeviation"),
    ("style", "share_extreme", "At either\nend, %"),
    ("style", "share_modal", "Most frequent\nvalue, %"),
    ("style", "drift", "Drift, first\nto last"),
)


def rater_style(view: View, criterion: str) -> Plot:
    """Draw mean, spread, use of the ends and drift of every rater, sorted from the most lenient to the most severe."""
    from matplotlib.figure import Figure

    found = _traits(view, criterion)
    every = _sorted(found)
    shown = every[:MOST_RATERS]
    size = min(distinct(shown, _NAME, _LONGEST), max(max(len(clean(one)) for one in shown), 4))
    side = (size + 2) * CHARACTER / WIDTH
    above, below, line = 0.5, 0.35, 0.24 if len(shown) <= _FEW else 0.18
    height = above + below + line * max(len(shown), 2)
    gap = 0.03
    width = (0.97 - side - gap * (len(found) - 1)) / len(found)
    title = "How each rater uses the scale"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for number, ((_, statistic, words), rows) in enumerate(found.items()):
            box = (side + number * (width + gap), below / height, width, 1 - (above + below) / height)
            axes = drawing.add_axes(box)
            axes.set_title(words, fontsize=8.5, pad=5)
            for y, rater in enumerate(shown):
                if number == 0:
                    name(axes, labels, rater, y, size)
                else:
                    axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
            _panel(axes, statistic, [rows.get(rater) for rater in shown])
        caption = (
            "Raters from the most lenient to the most severe by mean; lines are intervals, where there are any, and "
            "the dashed line is the median of the raters."
        )
        if any(statistic == "drift" for _, statistic, _ in found):
            caption += " Drift is against the other raters of the same things; filled where told from 0 (Holm)."
        caption += shown_of(len(shown), len(every), "raters")
        description = f"{plural(len(every), 'rater')}; the table has the numbers."
        svg = to_svg(drawing, labels, name="rater-style", title=titled(title, criterion), description=description)
    return Plot(svg, title, caption)


def _traits(view: View, criterion: str) -> dict[tuple[str, str, str], dict[Key, Row]]:
    """Return the rows of every trait that some rater has, by rater."""
    out = {}
    for trait in _TRAITS:
        rows = {row.keys["rater"]: row for row in view.defined(criterion, trait[0], trait[1])}
        # A value that no rater repeats says nothing of style: continuous ratings have no most frequent one.
        if rows and not (trait[1] == "share_modal" and max(row.estimate for row in rows.values()) < _LEAST_SHARE):
            out[trait] = rows
    return out


#: Share of the most frequent value below which all raters' ratings are as good as continuous.
_LEAST_SHARE: Final = 0.02


def _sorted(found: dict[tuple[str, str, str], dict[Key, Row]]) -> list[Key]:
    rows = next(iter(found.values()))
    return sorted(rows, key=lambda rater: -rows[rater].estimate)


def _panel(axes: Axes, statistic: str, rows: list[Row | None]) -> None:
    is_share, is_drift = statistic.startswith("share"), statistic == "drift"
    ends = [] if statistic == "mean" else [0.0]
    values = []
    for y, row in enumerate(rows):
        if row is None:
            continue
        is_told = row.p_adjusted is not None and row.p_adjusted < _ALPHA
        colour = VERMILION if is_drift and is_told else BLUE
        ends += point(axes, _in_percent(row) if is_share else row, y, colour=colour, hollow=is_drift and not is_told)
        values.append(row.estimate * (100 if is_share else 1))
    if is_drift:
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    elif values:
        middle = sorted(values)
        at = (middle[len(middle) // 2] + middle[(len(middle) - 1) // 2]) / 2
        axes.axvline(at, color=MUTED, linewidth=0.8, linestyle="--", zorder=1)
    if ends:
        limits(axes, ends, **({"low": 0.0, "high": 100.0} if is_share else {}))
    axes.locator_params(axis="x", nbins=4)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _in_percent(row: Row) -> Row:
    return Row(row.analysis, row.keys, row.statistic, 100 * row.estimate)


def missing(view: View, figure: str, criterion: str) -> str:
    """Return why the raters cannot be drawn, blank if they can."""
    del figure
    return "" if _traits(view, criterion) else "it needs how each rater uses the scale (analysis raters)"
