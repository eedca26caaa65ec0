"""Figures of instruments: how far systems lie apart beside how sure a score is, of scores, ratings and decodability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from measurand.reporting.figures_lines import CHARACTER, limits, name, point, spread
from measurand.reporting.figures_parts import ROW, Entry, legend, legend_rows, shown_of
from measurand.reporting.probe_view import is_main, is_refitted
from measurand.reporting.scores_view import Scores
from measurand.reporting.svg import (
    BLUE,
    GREEN,
    GRID,
    INK,
    MUTED,
    VERMILION,
    WIDTH,
    Labels,
    Plot,
    style,
    titled,
    to_svg,
)
from measurand.reporting.view import View
from measurand.reporting.words import FACETS, STATISTIC, distinct
from measurand.result import Key, Row, show_number
from measurand.result.digits import show_p, show_rounded
from measurand.result.words import called, clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Protocols and instruments that a figure has a line for, languages that it has a panel for, systems that it names.
MOST_LINES: Final = 24
_MOST_PANELS: Final = 3
#: Room for names right of a panel, as a share of the figure, and their letters: of one, two or three panels.
_ROOM: Final = ((0.26, 22), (0.165, 11), (0.135, 8))
_MOST_NAMED: Final = 24
_LONGEST: Final = 40
#: Ticks of an axis of shares of a range, and its ends.
_TICKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_ENDS: Final = (0.01, 100.0)


def spread_of_scores(view: Scores) -> Plot:
    """Draw, protocol by protocol, the spread between systems beside the median width of a score's interval."""
    from matplotlib.figure import Figure

    every = _spreads(view)
    shown = every[:MOST_LINES]
    names = [_protocol(row) for row in shown]
    size = min(distinct(names, 34, _LONGEST), max(len(clean(one)) for one in names))
    left = (size + 2) * CHARACTER / WIDTH
    entries = [
        Entry({"color": BLUE, "marker": "o", "markersize": 5}, "standard deviation between systems"),
        Entry({"color": VERMILION, "marker": "|", "markersize": 9, "linestyle": "none"}, "median width of an interval"),
    ]
    rows = legend_rows(entries)
    above, below, line = 0.3, 0.55 + ROW * len(rows), 0.24
    height = above + below + line * max(len(shown), 2)
    title = "Spread between systems and width of an interval"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.84 - left, 1 - (above + below) / height))
        ends = [0.0]
        inside = 0
        for y, row in enumerate(shown):
            name(axes, labels, _protocol(row), y, size)
            ends += point(axes, row, y, colour=BLUE)
            width = view.beside(row, "median_interval_width")
            if width is not None and not width.undefined:
                axes.plot(
                    [width.estimate], [y], color=VERMILION, marker="|", markersize=11, markeredgewidth=2, zorder=4
                )
                ends.append(width.estimate)
                inside += row.estimate < width.estimate
            reliability = view.beside(row, "reliability_of_scores")
            if reliability is not None and not reliability.undefined:
                text = f"{reliability.estimate:.2f}"
                axes.text(1.02, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
        axes.text(1.02, -0.85, "reliability", transform=axes.get_yaxis_transform(), va="center", fontsize=8)
        limits(axes, ends, low=0.0)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(STATISTIC.get(view.statistic, clean(view.statistic)), fontsize=8.5)
        legend(drawing, rows, height)
        told = (
            f"Under {inside} of {plural(len(shown), 'protocol')} systems lie closer together than an interval is wide."
        )
        caption = (
            "Points are how far systems lie apart, lines their intervals; bars are how wide the interval of one "
            f"system's score is. {told} Reliability is 1 for an order without error."
        )
        caption += shown_of(len(shown), len(every), "protocols")
        svg = to_svg(drawing, labels, name="spread", title=title, description=f"{told} The table has the numbers.")
    return Plot(svg, title, caption)


def _spreads(view: Scores) -> list[Row]:
    scope = view.main["set"] or view.main["criterion"]
    found = view.all("spread", "sd_between_systems")
    return [row for row in found if row.keys.get("set", "") == scope and not row.undefined]


def _protocol(row: Row) -> str:
    of = clean(row.keys["of"])
    return "all" if of == "systems" else of


def missing_of_scores(view: Scores, figure: str) -> str:
    """Return why the figure of spread cannot be drawn, blank if it can."""
    del figure
    return "" if _spreads(view) else "it needs two systems with scores and their replicates"


class Instrument(NamedTuple):
    """One way to tell systems apart: the widths of the intervals of differences as shares of the widest difference."""

    words: str
    kind: str
    n_pairs: int
    low: float
    median: float
    high: float
    apart: int


def instruments(view: View, criterion: str) -> list[Instrument]:
    """Return the instruments that a result has differences of systems for: ratings, then decodability by language."""
    out = []
    for unit, words in FACETS.items():
        rows = view.defined(criterion, "pairs", "difference", {"unit": unit})
        out.append(_instrument(f"Ratings: {words}", "ratings", rows))
    by: dict[tuple[str, bool], list[Row]] = {}
    for row in view.defined("", "decodability", "difference"):
        if row.keys.get("system", "") != "" and row.keys.get("control", "") == "":
            by.setdefault((str(row.keys.get("language", "")), is_refitted(row)), []).append(row)
    for (language, refitted), rows in by.items():
        words = f"Decodability{f' ({language})' if language else ''}"
        out.append(_instrument(f"{words}{', trained again' if refitted else ''}", "decodability", rows))
    return [one for one in out if one is not None]


def _instrument(words: str, kind: str, rows: Sequence[Row]) -> Instrument | None:
    with_ends = [(row, row.high - row.low) for row in rows if row.low is not None and row.high is not None]
    widest = max((abs(row.estimate) for row, _ in with_ends), default=0.0)
    if widest <= 0:
        return None
    shares = sorted(width / widest for _, width in with_ends)
    n = len(shares)
    apart = sum(row.low * row.high > 0 for row, _ in with_ends if row.low is not None and row.high is not None)
    return Instrument(words, kind, n, shares[0], (shares[n // 2] + shares[(n - 1) // 2]) / 2, shares[-1], apart)


def resolution(view: View, criterion: str) -> Plot:
    """Draw how wide the interval of a difference of two systems is, as a share of the widest difference."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    shown = instruments(view, criterion)[:MOST_LINES]
    size = min(distinct([one.words for one in shown], 46, 60), max(len(clean(one.words)) for one in shown))
    left = (size + 2) * CHARACTER / WIDTH
    above, below, line = 0.35, 0.5, 0.26
    height = above + below + line * max(len(shown), 2)
    title = "How finely each instrument tells systems apart"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.84 - left, 1 - (above + below) / height))
        axes.set_xscale("log")
        ends = [1.0]
        for y, one in enumerate(shown):
            name(axes, labels, one.words, y, size)
            colour, marker = (BLUE, "o") if one.kind == "ratings" else (GREEN, "D")
            low, median, high = (min(max(end, _ENDS[0]), _ENDS[1]) for end in (one.low, one.median, one.high))
            axes.plot([low, high], [y, y], color=colour, linewidth=1.6, zorder=3)
            axes.plot([median], [y], color=colour, marker=marker, markersize=5.5, zorder=4)
            ends += [low, high]
            text = f"{one.apart} of {one.n_pairs}"
            axes.text(1.02, y, text, transform=axes.get_yaxis_transform(), va="center", fontsize=8.5)
        axes.text(1.02, -0.85, "pairs apart", transform=axes.get_yaxis_transform(), va="center", fontsize=8)
        axes.axvline(1.0, color=INK, linewidth=1.0, linestyle="--", zorder=1)
        axes.set_xlim(min(ends) / 1.25, max(ends) * 1.25)
        axes.xaxis.set_major_locator(FixedLocator(_TICKS))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("width of the interval of a difference, in ranges of the systems", fontsize=8.5)
        finest = min(shown, key=lambda one: one.median)
        told = (
            f"Finest: {clean(finest.words)[:1].lower()}{clean(finest.words)[1:]}, with a median width of "
            f"{show_number(float(f'{finest.median:.2g}'))} ranges."
        )
        caption = (
            "Points are the median width of the interval of a paired difference of two systems, lines from the "
            "narrowest to the widest pair, in units of the largest difference of any two systems. At the dashed line "
            f"an interval is as wide as all systems lie apart. {told} Pairs apart: one pair at a time, not adjusted."
        )
        svg = to_svg(drawing, labels, name="resolution", title=titled(title, criterion), description=told)
    return Plot(svg, title, caption)


def decodability_ratings(view: View, criterion: str) -> Plot:
    """Draw every system by its mean rating and what can be decoded from its outputs, language by language."""
    from matplotlib.figure import Figure

    ratings, boards = _ratings(view, criterion), _boards(view, criterion)
    shown = dict(list(boards.items())[:_MOST_PANELS])
    most = max(len(rows) for rows in shown.values())
    tall = min(max(2.2, 0.17 * min(most, _MOST_NAMED)), 4.2)
    above, below = 0.5, 0.5
    height = above + below + tall
    share = 1 / len(shown)
    title = "Decodability and ratings"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for place, (language, rows) in enumerate(shown.items()):
            side, letters = _ROOM[len(shown) - 1]
            box = (0.085 + place * share * 0.93, below / height, share * 0.93 - side - 0.02, tall / height)
            axes = drawing.add_axes(box)
            _scatter(axes, labels, ratings, rows, tall, letters)
            axes.set_xlabel("mean rating", fontsize=8.5)
            if place == 0:
                axes.set_ylabel("decodability (macro-F1)", fontsize=8.5)
            rho = _rho(view, criterion, language)
            if len(boards) > 1:
                axes.text(0, 1 + 0.24 / tall, labels.put(called(language), 24), transform=axes.transAxes, fontsize=9)
            if rho:
                axes.text(0, 1 + 0.08 / tall, rho, transform=axes.transAxes, fontsize=8, color=MUTED)
        both = any(_ends(ratings[row.keys["system"]]) for rows in shown.values() for row in rows)
        lines = "lines: intervals, items redrawn, these raters" if both else "line: interval, items redrawn"
        caption = (
            f"A point is a system: its mean rating, and how well the labels can be told from its outputs ({lines}). "
            "What people like and what survives of the labels are two things; a correlation over a handful of systems "
            "is no more than a hint."
        )
        caption += shown_of(len(shown), len(boards), "languages")
        description = f"{plural(most, 'system')}; the table has the numbers."
        svg = to_svg(
            drawing, labels, name="decodability-ratings", title=titled(title, criterion), description=description
        )
    return Plot(svg, title, caption)


def _rho(view: View, criterion: str, language: Key) -> str:
    rows = view.defined(criterion, "decodability_ratings", "spearman", {"rater": "", "language": language})
    row = next((one for one in rows if one.p is not None), rows[0] if rows else None)
    if row is None:
        return ""
    # Two decimals, as the table has them: the interval over systems would leave one.
    return f"Spearman's rho {show_rounded(row.estimate, 0.1)}" + (f", p {_told(row.p)}" if row.p is not None else "")


def _told(p: float) -> str:
    """Return a p value with its sign."""
    return text if (text := show_p(p)).startswith("<") else f"= {text}"


def _ratings(view: View, criterion: str) -> dict[Key, Row]:
    """Return the mean rating of each system."""
    found = view.defined(criterion, "decodability_ratings", "mean_rating", {"rater": ""})
    found = found or view.defined(criterion, "leave_one_rater_out", "mean", {"left_out": ""})
    found = found or view.defined(criterion, "length", "mean_rating", {"rater": ""})
    return {row.keys["system"]: row for row in found}


def _boards(view: View, criterion: str) -> dict[Key, list[Row]]:
    """Return the decodability of the systems that have ratings, by language, where there are at least two."""
    ratings = _ratings(view, criterion)
    out: dict[Key, list[Row]] = {}
    for row in view.defined("", "decodability", "macro_f1"):
        if row.keys.get("system", "") in ratings and is_main(row):
            out.setdefault(row.keys.get("language", ""), []).append(row)
    return {language: rows for language, rows in out.items() if len(rows) > 1}


def _ends(row: Row) -> list[float]:
    """Return the ends of an interval that can be drawn, none if it has none."""
    ends = [end for end in (row.low, row.high) if end is not None and math.isfinite(end)]
    return ends if len(ends) == 2 else []


def _scatter(axes: Axes, labels: Labels, ratings: dict[Key, Row], rows: Sequence[Row], tall: float, most: int) -> None:
    axes.grid(visible=True, color=GRID)
    for row in rows:
        rating = ratings[row.keys["system"]]
        x = rating.estimate
        if ends := _ends(row):
            axes.plot([x, x], ends, color=MUTED, linewidth=1.0, zorder=2)
        if ends := _ends(rating):
            axes.plot(ends, [row.estimate, row.estimate], color=MUTED, linewidth=1.0, zorder=2)
        axes.plot([x], [row.estimate], color=BLUE, marker="o", markersize=5.5, zorder=3)
    if len(rows) > _MOST_NAMED:
        return
    low, high = axes.get_ylim()
    end = axes.get_xlim()[1]
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(low, high)
    beside = end + 0.03 * (end - axes.get_xlim()[0])
    for row, y in zip(rows, spread([row.estimate for row in rows], (high - low) * 0.16 / tall), strict=True):
        x = ratings[row.keys["system"]].estimate
        axes.plot([x, end, beside], [row.estimate, y, y], color=GRID, linewidth=0.6, clip_on=False, zorder=1)
        axes.text(beside, y, labels.put(row.keys["system"], most), fontsize=8, va="center", clip_on=False)


def missing(view: View, figure: str, criterion: str) -> str:
    """Return why a figure of instruments cannot be drawn, blank if it can."""
    if figure == "resolution":
        return "" if instruments(view, criterion) else "it needs differences of systems with intervals"
    if not _ratings(view, criterion):
        return "it needs mean ratings of systems"
    return "" if _boards(view, criterion) else "it needs the decodability of systems that were rated"
