"""Figures of decodability: systems above their floors, and learning curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import CHARACTER, limits, look, name, point, spread
from measurand.reporting.figures_parts import ROW, Entry, legend, legend_rows
from measurand.reporting.probe_view import Probe, best_first, is_main
from measurand.reporting.svg import BLUE, INK, MUTED, WIDTH, Labels, Plot, style, to_svg
from measurand.reporting.words import distinct
from measurand.result import Key, Row, show_number
from measurand.result.words import called, clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SYSTEMS: Final = 24
_MOST_LANGUAGES: Final = 6
_MOST_CURVES: Final = 10
_NAME: Final = 22
_LONGEST: Final = 36
_CURVE: Final = 18
#: Inches that a panel of curves needs.
_NARROWEST: Final = 1.2
_UNION: Final = "all systems together"


def _boards(view: Probe, most: int | None = _MOST_SYSTEMS) -> dict[Key, list[Row]]:
    """Return the main scores of each language that has any, best first."""
    found: dict[Key, list[Row]] = {}
    for row in view.defined("decodability", "macro_f1"):
        if row.keys.get("system", "") != "" and is_main(row):
            found.setdefault(row.keys.get("language", ""), []).append(row)
    return {language: best_first(rows)[:most] for language, rows in found.items()}


def _first(most: int, there: int, what: str) -> str:
    """Return the sentence that not all are drawn, blank if all are."""
    return f" The first {most} of {there} {what}." if there > most else ""


def _has_union(view: Probe) -> bool:
    return bool(view.defined("decodability", "macro_f1", {"control": "union", "n_train": ""}))


def decodability(view: Probe) -> Plot:
    """Draw the macro-F1 of every system with its interval, and the floors that it stands on, by language."""
    from matplotlib.figure import Figure

    boards = dict(list(_boards(view).items())[:_MOST_LANGUAGES])
    names = [*dict.fromkeys(row.keys["system"] for rows in boards.values() for row in rows), _UNION]
    # The name of the row of all systems is whole: names from the data may be cut in their middle, words of ours not.
    size = max(min(distinct(names, _NAME, _LONGEST), max(len(clean(one)) for one in names)), len(_UNION))
    left = (size + 2) * CHARACTER / WIDTH
    signs = legend_rows(_signs(with_union=_has_union(view)))
    line, below = 0.24, 0.5 + ROW * len(signs)
    head = 0.42 if len(boards) > 1 else 0.12
    tall = [line * (len(rows) + 1) for rows in boards.values()]
    height = sum(tall) + head * len(boards) + below
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        top = height
        every: list[float] = [0.0]
        panels: list[Axes] = []
        for (language, rows), own in zip(boards.items(), tall, strict=True):
            top -= head
            axes = drawing.add_axes((left, (top - own) / height, 0.97 - left, own / height))
            top -= own
            if len(boards) > 1:
                axes.set_title(labels.put(called(language), 40), fontsize=9, pad=5)
            every += _board(axes, labels, view, rows, size)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            if axes_before := panels[-1:]:
                axes_before[0].tick_params(labelbottom=False)
            panels.append(axes)
        for axes in panels:
            limits(axes, every, low=0.0, high=1.0)
        panels[-1].set_xlabel("macro-F1", fontsize=8.5)
        legend(drawing, signs, height)
        caption = (
            "Points are what a decoder tells of the labels from each system's outputs, lines their intervals (items "
            "redrawn). Floors: the dashed line is the largest class throughout, crosses are permuted labels, open "
            "triangles what the number of tokens alone tells."
        )
        caption += " The open diamond is a decoder of all systems' tokens together." * _has_union(view)
        caption += _first(_MOST_SYSTEMS, max(map(len, _boards(view, most=None).values())), "systems")
        caption += _first(_MOST_LANGUAGES, len(_boards(view)), "languages")
        shown = sum(len(rows) for rows in boards.values())
        sizes = f"{plural(shown, 'system')} in {plural(len(boards), 'language')}"
        description = f"Decodability of {sizes}; the table has the numbers."
        title = "What survives of the labels"
        svg = to_svg(drawing, labels, name="decodability", title=title, description=description)
    return Plot(svg, title, caption)


def _board(axes: Axes, labels: Labels, view: Probe, rows: list[Row], size: int) -> list[float]:
    ends: list[float] = []
    axes.set_ylim(len(rows) + 0.6, -0.6)
    base = {key: rows[0].keys[key] for key in ("language", "token_unit", "split") if rows[0].keys.get(key, "") != ""}
    union = view.get("decodability", "macro_f1", base | {"control": "union"})
    for y, row in enumerate(rows):
        name(axes, labels, called(row.keys["system"]), y, size)
        ends += point(axes, row, y, colour=BLUE)
        for control, marker in (("permuted", "x"), ("count", "^")):
            floor = view.get("decodability", "macro_f1", base | {"system": row.keys["system"], "control": control})
            if floor is not None and not floor.undefined:
                axes.plot(
                    [floor.estimate], [y], color=MUTED, marker=marker, markersize=4.6, markerfacecolor="none", zorder=3
                )
                ends.append(floor.estimate)
    if union is not None and not union.undefined and len(rows) > 1:
        name(axes, labels, _UNION, len(rows), size)
        ends += point(axes, union, len(rows), colour=INK, marker="D", hollow=True)
    majority = view.get("decodability", "macro_f1", base | {"control": "majority"})
    if majority is not None and not majority.undefined:
        axes.axvline(majority.estimate, color=INK, linewidth=1.0, linestyle="--", zorder=2)
        ends.append(majority.estimate)
    return ends


def _signs(*, with_union: bool) -> list[Entry]:
    """Return the entries of the legend."""
    marks = [("o", BLUE, "system"), ("x", MUTED, "labels permuted"), ("^", MUTED, "number of tokens alone")]
    marks += [("D", INK, "all systems together")] if with_union else []
    entries = [
        Entry(
            {
                "color": colour,
                "marker": marker,
                "markersize": 5,
                "markerfacecolor": colour if marker == "o" else "none",
                "linestyle": "none",
            },
            words,
        )
        for marker, colour, words in marks
    ]
    return [*entries, Entry({"color": INK, "linestyle": "--", "linewidth": 1.0}, "largest class")]


def learning(view: Probe) -> Plot:
    """Draw macro-F1 against the number of items to learn from."""
    from matplotlib.figure import Figure

    curves = dict(list(_curves(view).items())[:_MOST_LANGUAGES])
    of_all = [name for of in curves.values() for name in _best(of)]
    size = min(distinct(of_all, _CURVE, _LONGEST), max(len(clean(one)) for one in of_all))
    side, head, below, tall = 0.72, 0.4, 0.5, 2.5
    names = size * CHARACTER + 0.2
    # Two panels side by side, unless names leave them too little room.
    wide = 2 if len(curves) > 1 and WIDTH / 2 - side - names >= _NARROWEST else 1
    deep = math.ceil(len(curves) / wide)
    height = deep * (head + tall + below)
    own = WIDTH / wide - side - names
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for number, (language, of) in enumerate(curves.items()):
            across, down = number % wide, number // wide
            x = across * (side + own + names) + side
            y = height - down * (head + tall + below) - head - tall
            axes = drawing.add_axes((x / WIDTH, y / height, own / WIDTH, tall / height))
            if len(curves) > 1:
                axes.set_title(labels.put(called(language), 30), fontsize=9, pad=5)
            _lines(axes, labels, of, tall, size)
            axes.set_xlabel("items to learn from", fontsize=8.5)
            if across == 0:
                axes.set_ylabel("macro-F1", fontsize=8.5)
        title = "Learning curves"
        caption = "Macro-F1 of decoders that learned from so many items; where a curve still rises, more would help."
        caption += _first(_MOST_CURVES, max(len(of) for of in curves.values()), "curves of a panel, best first")
        caption += _first(_MOST_LANGUAGES, len(_curves(view)), "languages")
        description = f"Learning curves in {plural(len(curves), 'language')}; tables/decodability.csv has the numbers."
        svg = to_svg(drawing, labels, name="learning", title=title, description=description)
    return Plot(svg, title, caption)


def _curves(view: Probe) -> dict[Key, dict[str, list[Row]]]:
    """Return the rows of learning curves by language and by system (or vectors)."""
    found: dict[Key, dict[str, list[Row]]] = {}
    for row in view.defined("decodability", "macro_f1"):
        if row.keys.get("n_train", "") == "" or row.keys.get("seed", "") != "":
            continue
        control = str(row.keys.get("control", ""))
        of = str(row.keys.get("system", "")) or control.removeprefix("vectors:")
        found.setdefault(row.keys.get("language", ""), {}).setdefault(of, []).append(row)
    return {
        language: {of: rows for of, rows in systems.items() if len(rows) > 1}
        for language, systems in found.items()
        if any(len(rows) > 1 for rows in systems.values())
    }


def _best(of: dict[str, list[Row]]) -> list[str]:
    """Return the curves that are drawn, those that end highest first."""
    ends = {name: max(rows, key=lambda row: float(row.keys["n_train"])).estimate for name, rows in of.items()}
    return sorted(ends, key=lambda name: -ends[name])[:_MOST_CURVES]


def _lines(axes: Axes, labels: Labels, of: dict[str, list[Row]], tall: float, size: int) -> None:
    ordered = [(name, of[name]) for name in _best(of)]
    sizes = sorted({float(row.keys["n_train"]) for _, rows in ordered for row in rows})
    every = [row.estimate for _, rows in ordered for row in rows]
    room = 0.06 * (max(every) - min(every) or 1.0)
    axes.set_ylim(min(every) - room, max(every) + room)
    axes.grid(visible=True, axis="y")
    last: list[float] = []
    for place, (_, rows) in enumerate(ordered):
        colour, marker, dash = look(place)
        curve = sorted(rows, key=lambda row: float(row.keys["n_train"]))
        axes.plot(
            [math.log2(float(row.keys["n_train"])) for row in curve],
            [row.estimate for row in curve],
            color=colour,
            marker=marker,
            markersize=4,
            linestyle=dash,
            clip_on=False,
        )
        last.append(curve[-1].estimate)
    gap = (max(every) - min(every) + 2 * room) * 0.16 / tall
    for (text, rows), y, end, place in zip(ordered, spread(last, gap), last, range(len(ordered)), strict=True):
        colour, _, _ = look(place)
        x = math.log2(max(float(row.keys["n_train"]) for row in rows))
        width = math.log2(sizes[-1] / sizes[0]) or 1.0
        # A line of the curve's colour leads to its name: names in light colours could not be read.
        axes.plot([x, x + 0.05 * width], [end, y], color=colour, linewidth=0.7, clip_on=False, zorder=1)
        axes.text(x + 0.06 * width, y, labels.put(called(text), size), fontsize=8, va="center")
    # The ends first: what the last doubling gained is told of the largest number.
    shown = [sizes[0], sizes[-1]]
    for one in sizes[1:-1]:
        if all(abs(math.log2(one / other)) > math.log2(sizes[-1] / sizes[0]) / 6 for other in shown):
            shown.append(one)
    axes.set_xticks([math.log2(one) for one in shown], [show_number(one) for one in shown])


def missing(view: Probe, figure: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    has = _boards(view) if figure == "decodability" else _curves(view)
    return (
        ""
        if has
        else f"it needs the analysis decodability with {'scores' if figure == 'decodability' else 'a learning curve'}"
    )
