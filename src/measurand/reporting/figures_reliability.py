"""The figure of reliability curves: what raters gave, on average, where a system answered so much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from measurand.reporting.figures_parts import ROW, Entry, legend, legend_rows, shown_of
from measurand.reporting.scores_view import BINARIZED, Arm, Protocol, Scores, keys_of, protocol_words
from measurand.reporting.svg import BLUE, GREEN, MUTED, VERMILION, WIDTH, Labels, Plot, style, to_svg
from measurand.result import Key, Row, show_number
from measurand.result.words import clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Systems that have a panel, panels in a row, and readouts in a panel.
MOST_SYSTEMS: Final = 12
_IN_ROW: Final = 3
_MOST_READOUTS: Final = 3
#: An axis that would end beyond this ends at 1.
_NEARLY_ALL: Final = 0.75
_LOOKS: Final[tuple[dict[str, Any], ...]] = (
    {"color": BLUE, "marker": "o", "linestyle": "-"},
    {"color": VERMILION, "marker": "s", "linestyle": "--"},
    {"color": GREEN, "marker": "^", "linestyle": ":"},
)


def reliability(view: Scores) -> Plot:
    """Draw a panel for every system: mean rating by size of the answer, with intervals, beside the diagonal."""
    from matplotlib.figure import Figure

    protocols = _protocols(view)
    every = [arm[0] for arm in view.ranked(view.protocols[protocols[0]]) if bins(view, arm)]
    every += [
        arm[0]
        for protocol in protocols[1:]
        for arm in view.ranked(view.protocols[protocol])
        if bins(view, arm) and arm[0] not in every
    ]
    systems = every[:MOST_SYSTEMS]
    n_columns = min(_IN_ROW, max(len(systems), 2))
    n_rows = math.ceil(len(systems) / n_columns)
    entries = [
        Entry({**_LOOKS[place], "markersize": 4.5}, protocol_words(protocol, "answers")[:60])
        for place, protocol in enumerate(protocols)
    ]
    entries.append(Entry({"color": MUTED, "linewidth": 0.8}, "as much as answered"))
    side, head, room, below = 0.5, 0.52, 0.14, 0.5
    tall = (WIDTH - side - room * n_columns) / n_columns * (0.72 if n_columns > 2 else 0.55)
    with style():
        labels = Labels()
        entries = [
            one._replace(words=labels.put(one.words, 60), size=len(clean(one.words))) if place < len(protocols) else one
            for place, one in enumerate(entries)
        ]
        rows = legend_rows(entries)
        height = n_rows * (head + tall) + below + ROW * len(rows)
        wide = (WIDTH - side) / n_columns - room
        drawing = Figure(figsize=(WIDTH, height))
        right, top = _ends(view, [(system, *protocol) for system in systems for protocol in protocols])
        for place, system in enumerate(systems):
            across, down = place % n_columns, place // n_columns
            x, y = side + across * (wide + room), height - (down + 1) * (head + tall)
            axes = drawing.add_axes((x / WIDTH, y / height, wide / WIDTH, tall / height))
            for number, protocol in enumerate(protocols):
                _curve(axes, bins(view, (system, *protocol)), _LOOKS[number])
            axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, zorder=1)
            axes.set_xlim(-0.03 * right, right)
            axes.set_ylim(-0.03 * top, top)
            axes.locator_params(axis="x", nbins=3)
            axes.locator_params(axis="y", nbins=4)
            axes.tick_params(labelleft=across == 0, labelbottom=place + n_columns >= len(systems))
            at: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom"}
            axes.text(0, 1 + 0.2 / tall, labels.put(system, int(wide / 0.085)), fontsize=8.5, **at)
            axes.text(0, 1 + 0.06 / tall, _said(view, (system, *protocols[0])), fontsize=7.5, color=MUTED, **at)
        bottom = drawing.add_axes((0.0, (ROW * len(rows) + 0.06) / height, 1.0, 0.2 / height))
        bottom.set_axis_off()
        bottom.text(0.5, 0.5, "mean answer, from 0 to 1", ha="center", va="center", fontsize=8.5)
        middle = (below + ROW * len(rows) + (n_rows * (head + tall) - head) / 2) / height
        drawing.text(0.016, middle, "mean rating, from 0 to 1", rotation=90, ha="center", va="center", fontsize=8.5)
        legend(drawing, rows, height)
        title = "Reliability curves of the answers"
        what = "all criteria together" if view.has_sets else "the one criterion"
        caption = (
            f"Points are answers of about the same size ({what}): their mean, and the mean rating that raters gave to "
            "those items, with its interval (bins fixed). On the diagonal an answer can be read as a rating; a curve "
            "that rises elsewhere orders items and needs a map; a flat one tells nothing; where it falls, larger "
            "answers went with lower ratings. Over the panels: parts of the squared error of the first readout."
        )
        caption += shown_of(len(systems), len(every), "systems")
        left_out = len({protocol for protocol in view.plain if _has(view, protocol)}) - len(protocols)
        if left_out > 0:
            caption += f" {plural(left_out, 'more protocol')} in the tables."
        description = f"{plural(len(systems), 'system')}; tables/reliability_curve.csv has the numbers."
        svg = to_svg(drawing, labels, name="reliability", title=title, description=description)
    return Plot(svg, title, caption)


def criterion_of(view: Scores) -> Key:
    """Return the criterion that the curves shown are about: the only one, or all together (blank)."""
    return "" if view.has_sets else view.main["criterion"]


def bins(view: Scores, arm: Arm) -> list[tuple[Row, Row]]:
    """Return mean answer and mean rating of every bin of an arm, the lowest first."""
    keys = {**keys_of(arm), "criterion": criterion_of(view)}
    out: list[tuple[Row, Row]] = []
    while True:
        at = {**keys, "bin": len(out) + 1}
        answer, rating = (view.find("reliability_curve", name, at) for name in ("mean_answer", "mean_rating"))
        if answer is None or rating is None:
            return out
        out.append((answer, rating))


def _has(view: Scores, protocol: Protocol) -> bool:
    return any(bins(view, arm) for arm in view.protocols[protocol])


def _protocols(view: Scores) -> list[Protocol]:
    """Return the protocols that are drawn: of every readout the first that has curves."""
    out: dict[str, Protocol] = {}
    for protocol in view.plain:
        if protocol[0] != BINARIZED and protocol[0] not in out and _has(view, protocol):
            out[protocol[0]] = protocol
    return list(out.values())[:_MOST_READOUTS]


def _ends(view: Scores, arms: list[Arm]) -> tuple[float, float]:
    """Return the ends of both axes: what they hold with a little room, 1 at most."""
    points = [point for arm in arms for point in bins(view, arm)]
    answers = [answer.estimate for answer, _ in points]
    ratings = [end for _, rating in points for end in (rating.estimate, rating.high) if end is not None]
    right, top = (max(1.08 * max(values, default=1.0), 0.1) for values in (answers, ratings))
    return (1.03 if right > _NEARLY_ALL else right), (1.03 if top > _NEARLY_ALL else top)


def _curve(axes: Axes, points: list[tuple[Row, Row]], look: dict[str, Any]) -> None:
    for answer, rating in points:
        if rating.low is not None and rating.high is not None:
            xs = [answer.estimate, answer.estimate]
            axes.plot(xs, [rating.low, rating.high], color=look["color"], linewidth=0.9, alpha=0.7, zorder=2)
    axes.plot(
        [answer.estimate for answer, _ in points],
        [rating.estimate for _, rating in points],
        markersize=3.6,
        linewidth=1.1,
        zorder=3,
        **look,
    )


def _said(view: Scores, arm: Arm) -> str:
    keys: dict[str, Key] = {**keys_of(arm), "criterion": criterion_of(view), "bin": ""}
    found = [view.find("reliability_curve", name, keys) for name in ("miscalibration", "discrimination")]
    told = [
        f"{word} {show_number(round(row.estimate, 4))}"
        for word, row in zip(("miscalibration", "discrim."), found, strict=True)
        if row is not None and not row.undefined
    ]
    return ", ".join(told)


def missing(view: Scores, figure: str) -> str:
    """Return why reliability curves cannot be drawn, blank if they can."""
    del figure
    return "" if _protocols(view) else "it needs answers that are probabilities or values of the scale"
