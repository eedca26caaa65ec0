"""Figures of splits and of cost: scores of both kinds of split by ratio; parity of languages by unit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import CHARACTER, limits, look, name, point
from measurand.reporting.probe_view import Probe
from measurand.reporting.svg import BLUE, GRID, INK, VERMILION, WIDTH, Labels, Plot, style, to_svg
from measurand.reporting.words import distinct
from measurand.result import Key, Row, show_number
from measurand.result.words import called, clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LANGUAGES: Final = 4
_MOST_PARITIES: Final = 8
_PER: Final = {"byte": "per byte", "character": "per code point", "grapheme": "per grapheme", "word": "per word"}


def leakage(view: Probe) -> Plot:
    """Draw the scores of row-wise and of grouped splits against the share of rows in training."""
    from matplotlib.figure import Figure

    every = _splits(view)
    shown = dict(list(every.items())[:_MOST_LANGUAGES])
    wide = min(len(shown), 2)
    deep = math.ceil(len(shown) / wide)
    side, head, below, tall = 0.6, 0.45, 0.5, 2.3
    height = deep * (head + tall + below)
    own = WIDTH / wide - side - 0.25
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for number, (language, of) in enumerate(shown.items()):
            across, down = number % wide, number // wide
            place = (
                (across * (own + side + 0.25) + side) / WIDTH,
                (height - down * (head + tall + below) - head - tall) / height,
                own / WIDTH,
                tall / height,
            )
            axes = drawing.add_axes(place)
            if len(shown) > 1:
                axes.set_title(labels.put(called(language), 30), fontsize=9, pad=14)
            _two_lines(axes, of)
            if across == 0:
                axes.set_ylabel("macro-F1", fontsize=8.5)
            axes.set_xlabel("share of rows in training", fontsize=8.5)
        title = "What row-wise splits gain"
        caption = (
            "Macro-F1 of splits that deal rows one by one (row-wise) and of splits that keep all rows of an item "
            "together (grouped); bars are intervals over repeated splits, cut at 0 and 1. The distance is what the "
            "shared items are worth."
        )
        if len(every) > len(shown):
            caption += f" The first {len(shown)} of {len(every)} languages."
        description = f"Two lines in {plural(len(shown), 'panel')}; the table has the numbers."
        svg = to_svg(drawing, labels, name="leakage", title=title, description=description)
    return Plot(svg, title, caption)


def _splits(view: Probe) -> dict[Key, dict[str, list[Row]]]:
    found: dict[Key, dict[str, list[Row]]] = {}
    for statistic in ("macro_f1_row", "macro_f1_grouped"):
        for row in view.defined("leakage", statistic):
            if row.keys.get("system", "") == "" and row.keys.get("ratio", "") != "":
                found.setdefault(row.keys.get("language", ""), {}).setdefault(statistic, []).append(row)
    return {language: of for language, of in found.items() if len(of) == 2}


def _two_lines(axes: Axes, of: dict[str, list[Row]]) -> None:
    axes.grid(visible=True, axis="y")
    # A macro-F1 lies between 0 and 1; intervals of few splits reach beyond, and would flatten the lines.
    ends = [row.estimate for rows in of.values() for row in rows]
    ends += [end for rows in of.values() for row in rows for end in (row.low, row.high) if end is not None]
    room = 0.06 * (max(ends) - min(ends) or 0.1)
    axes.set_ylim(max(min(ends) - room, 0.0), min(max(ends) + room, 1.0))
    shift = -0.004
    for statistic, words, colour, marker, dash in (
        ("macro_f1_row", "row-wise", VERMILION, "s", "-"),
        ("macro_f1_grouped", "grouped", BLUE, "o", "--"),
    ):
        rows = sorted(of[statistic], key=lambda row: float(row.keys["ratio"]))
        x = [float(row.keys["ratio"]) + shift for row in rows]
        axes.plot(
            x, [row.estimate for row in rows], color=colour, marker=marker, markersize=4.5, linestyle=dash, zorder=3
        )
        for at, row in zip(x, rows, strict=True):
            if row.low is not None and row.high is not None:
                axes.plot([at, at], [row.low, row.high], color=colour, linewidth=1.0, zorder=2)
        axes.text(
            0.02 if statistic == "macro_f1_row" else 0.5,
            1.02,
            f"{'■' if marker == 's' else '●'} {words}",
            transform=axes.transAxes,
            color=colour,
            fontsize=8.5,
            va="bottom",
        )
        shift = 0.004
    ratios = sorted({float(row.keys["ratio"]) for rows in of.values() for row in rows})
    axes.set_xticks(ratios, [show_number(ratio) for ratio in ratios])


def parity(view: Probe) -> Plot:
    """Draw each language's tokens per unit over those of the base language, unit by unit."""
    from matplotlib.figure import Figure

    rows = _parities(view)
    languages = list(dict.fromkeys(row.keys["language"] for row in rows))[:_MOST_PARITIES]
    base = called(rows[0].keys["against"])
    size = min(distinct(languages, 18, 30), max(len(clean(one)) for one in languages))
    units = [per for per in _PER if any(row.keys["per"] == per for row in rows)]
    left = (size + 16) * CHARACTER / WIDTH
    line, above, below = 0.24, 0.12, 0.5
    n_lines = len(languages) * len(units)
    height = above + below + line * max(n_lines + 0.5 * len(languages), 3)
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.97 - left, 1 - (above + below) / height))
        y, ends = 0.0, [0.0]
        for language in languages:
            for place, per in enumerate(units):
                row = next((one for one in rows if one.keys["language"] == language and one.keys["per"] == per), None)
                if row is None:
                    continue
                name(axes, labels, f"{clean(language)} {_PER[per]}", y, size + 15)
                colour, marker, _ = look(place)
                logged = Row("cost", {}, "parity", math.log2(row.estimate), _log(row.low), _log(row.high))
                ends += point(axes, logged, y, colour=colour, marker=marker)
                y += 1
            y += 0.5
        axes.set_ylim(y - 0.8, -0.7)
        limits(axes, ends)
        axes.axvline(0, color=INK, linewidth=1.0, linestyle="--", zorder=2)
        low, high = axes.get_xlim()
        ticks = [one for one in (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8) if low <= math.log2(one) <= high]
        axes.set_xticks([math.log2(one) for one in ticks], [show_number(one) for one in ticks])
        axes.grid(visible=True, axis="x", color=GRID)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel(labels.put(base, 30, before="tokens over those of "), fontsize=8.5)
        title = "Tokens of languages, unit by unit"
        caption = (
            "Prompt tokens per unit of the source, over those of the base language; right of the line the language is "
            "dearer, left of it cheaper. Lines are intervals over items."
        )
        sizes = f"{plural(len(languages), 'language')} by {plural(len(units), 'unit')}"
        description = f"Parity of {sizes}; the table has the numbers."
        svg = to_svg(drawing, labels, name="parity", title=title, description=description)
    return Plot(svg, title, caption)


def _log(value: float | None) -> float | None:
    return None if value is None or value <= 0 or math.isinf(value) else math.log2(value)


def _parities(view: Probe) -> list[Row]:
    found = view.defined("cost", "prompt_tokens_parity", {"net_of_template": "no"})
    return [row for row in found if row.keys.get("system", "") == "" and row.keys["per"] in _PER and row.estimate > 0]


def missing(view: Probe, figure: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    if figure == "leakage":
        return "" if _splits(view) else "it needs the analysis leakage with scores of both kinds of split"
    return "" if _parities(view) else "it needs the analysis cost with the parity of two languages"
