"""Figures of readouts: each system under two of them, and what is lost when graded answers are cut to yes and no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from measurand.reporting.figures_lines import CHARACTER, limits, name, point, spread
from measurand.reporting.figures_parts import (
    ROW,
    Entry,
    anchor_entries,
    anchor_lines,
    drawn_anchors,
    legend,
    legend_rows,
    shown_of,
)
from measurand.reporting.scores_cells import redrawn
from measurand.reporting.scores_view import BINARIZED, Arm, Scores, is_control, protocol_words, side
from measurand.reporting.svg import BLUE, GREEN, GRID, INK, MUTED, VERMILION, WIDTH, Labels, Plot, style, to_svg
from measurand.reporting.words import STATISTIC, distinct
from measurand.result import Row
from measurand.result.digits import show_rounded
from measurand.result.words import clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Systems that a figure names, pairs of readouts that it stacks, and the systems up to which it stacks any.
MOST_SYSTEMS: Final = 40
_MOST_PAIRS: Final = 3
_MOST_STACKED: Final = 10
#: Up to so many systems the points have their intervals.
_MOST_WITH_INTERVALS: Final = 14
_NAME: Final = 22
_LONGEST: Final = 34
#: How a change is drawn by the side on which it lies.
_LOOKS: Final[dict[str, dict[str, Any]]] = {
    "above": {"color": BLUE, "linestyle": "-", "marker": "o"},
    "below": {"color": VERMILION, "linestyle": "-", "marker": "v"},
    "open": {"color": MUTED, "linestyle": "--", "marker": "s"},
}
_SAID: Final = {"above": "higher at the right", "below": "lower at the right", "open": "not told apart"}


class Change(NamedTuple):
    """A system under two protocols: its two scores, and their paired difference, `after` minus `before`."""

    system: str
    before: Row
    after: Row
    low: float | None
    high: float | None
    difference: float
    side: str


class Pairing(NamedTuple):
    """Systems under one pair of protocols, the lower on average first, and both in words."""

    before: str
    after: str
    wording: tuple[str, str]
    changes: Sequence[Change]


def pairings(view: Scores, *, is_binarized: bool) -> list[Pairing]:
    """Return the pairs of readouts that systems were scored under, each under the wording that most have.

    Parameters
    ----------
    view : Scores
        A scoring run with contrasts of readouts.
    is_binarized : bool
        Whether to return graded answers beside the same ones cut to yes and no, or all other pairs.
    """
    found: dict[tuple[str, str], dict[tuple[str, str], list[tuple[Row, Arm, Arm]]]] = {}
    for row in view.contrasts("readout"):
        a, b = str(row.keys["a"]), str(row.keys["b"])
        if row.undefined or (BINARIZED in (a, b)) != is_binarized or row.keys["system"] in view.controls:
            continue
        arms = _arms(view, row)
        if arms is None:
            continue
        wording = str(row.keys.get("phrasing", "")), str(row.keys.get("variant", ""))
        found.setdefault((a, b), {}).setdefault(wording, []).append((row, *arms))
    out = [_paired(view, a, b, max(by.values(), key=len), is_binarized) for (a, b), by in found.items()]
    return sorted(out, key=lambda one: -len(one.changes))


def _arms(view: Scores, row: Row) -> tuple[Arm, Arm] | None:
    """Return the two arms of a contrast: of its wording, or each readout's first where they share none."""
    system, phrasing, variant = (str(row.keys.get(key, "")) for key in ("system", "phrasing", "variant"))
    a, b = ((system, str(row.keys[key]), phrasing, variant) for key in ("a", "b"))
    if a not in view.arms or b not in view.arms:
        first = [next((arm for arm in view.arms if arm[:2] == one[:2] and _is_plain(arm)), None) for one in (a, b)]
        if first[0] is None or first[1] is None:
            return None
        a, b = first[0], first[1]
    rows = [view.score(arm) for arm in (a, b)]
    return (a, b) if all(one is not None and not one.undefined for one in rows) else None


def _is_plain(arm: Arm) -> bool:
    return "attempt=" not in arm[3] and not (arm[1] != BINARIZED and is_control(arm[1:]))


def _paired(view: Scores, a: str, b: str, found: Sequence[tuple[Row, Arm, Arm]], is_binarized: bool) -> Pairing:
    scores = [(row, view.score(one), view.score(other)) for row, one, other in found]
    defined = [(row, x, y) for row, x, y in scores if x is not None and y is not None]
    gain = sum(x.estimate - y.estimate for _, x, y in defined)
    # The lower readout stands at the left, whichever the study named first; yes and no always at the right.
    is_turned = b == BINARIZED if is_binarized else (gain < 0) != view.is_error
    changes = []
    for row, x, y in defined:
        before, after = (x, y) if is_turned else (y, x)
        ends = [None if end is None else (-end if is_turned else end) for end in (row.low, row.high)]
        low, high = reversed(ends) if is_turned else ends
        where = side(row) or "open"
        if is_turned and where != "open":
            where = "below" if where == "above" else "above"
        difference = -row.estimate if is_turned else row.estimate
        changes.append(Change(str(row.keys["system"]), before, after, low, high, difference, where))
    best = 1.0 if view.is_error else -1.0
    changes.sort(key=lambda one: best * one.after.estimate)
    _, one, other = found[0]
    words = protocol_words(one[2:]), protocol_words(other[2:])
    return Pairing(a, b, words, changes) if is_turned else Pairing(b, a, (words[1], words[0]), changes)


def readouts(view: Scores) -> Plot:
    """Draw each system's score under two readouts, joined by a line, beside the anchors as bands."""
    from matplotlib.figure import Figure

    every = pairings(view, is_binarized=False)
    is_stacked = len(every[0].changes) <= _MOST_STACKED
    shown = every[: _MOST_PAIRS if is_stacked else 1]
    systems = [one.system for pair in shown for one in pair.changes[:MOST_SYSTEMS]]
    size = min(distinct(systems, _NAME, _LONGEST), max(len(clean(one)) for one in systems))
    right = (size + 14) * CHARACTER / WIDTH
    anchors = drawn_anchors(view)
    sides = [where for where in _LOOKS if any(one.side == where for pair in shown for one in pair.changes)]
    entries = [Entry({**_LOOKS[where], "markersize": 5}, _SAID[where]) for where in sides]
    rows = legend_rows([*entries, *anchor_entries(anchors)])
    tall = [max(1.7, 0.2 * min(len(pair.changes), MOST_SYSTEMS)) for pair in shown]
    head, below = 0.56, 0.12 + ROW * len(rows)
    height = sum(tall) + head * len(shown) + below
    title = "The same systems under another readout"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        top = height
        for pair, own in zip(shown, tall, strict=True):
            top -= head
            axes = drawing.add_axes((0.09, (top - own) / height, 0.91 - right, own / height))
            top -= own
            _slopes(axes, labels, pair.changes[:MOST_SYSTEMS], anchors, size, own)
            axes.set_ylabel(STATISTIC.get(view.statistic, clean(view.statistic)), fontsize=8.5)
            for x, readout, wording in ((0, pair.before, pair.wording[0]), (1, pair.after, pair.wording[1])):
                at: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "ha": "center", "va": "bottom"}
                axes.text(x, 1 + 0.24 / own, labels.put(readout, 26), fontweight="bold", fontsize=8.5, **at)
                if wording:
                    axes.text(x, 1 + 0.08 / own, labels.put(wording, 28), color=MUTED, fontsize=8, **at)
        legend(drawing, rows, height)
        told = " ".join(_told(pair) for pair in shown)
        caption = (
            f"A line is a system, its score under one readout at the left and under the other at the right; beside "
            f"its name the paired difference, right minus left. {told} Whether a line rises is told by the paired "
            f"difference, adjusted ({redrawn(view.unit)}), not by whether intervals overlap."
        )
        caption += shown_of(MOST_SYSTEMS, len(shown[0].changes), "systems")
        if len(every) > len(shown):
            caption += f" {plural(len(every) - len(shown), 'more pair')} of readouts in the tables."
        description = f"{told} The table has the numbers."
        svg = to_svg(drawing, labels, name="readouts", title=title, description=description)
    return Plot(svg, title, caption)


def _told(pair: Pairing) -> str:
    up, down = (sum(one.side == where for one in pair.changes) for where in ("above", "below"))
    said = f"From {clean(pair.before)} to {clean(pair.after)}: of {plural(len(pair.changes), 'system')} {up} higher"
    return f"{said}, {down} lower, {len(pair.changes) - up - down} not told apart."


def _slopes(
    axes: Axes, labels: Labels, changes: Sequence[Change], anchors: Sequence[tuple[str, Row]], size: int, tall: float
) -> None:
    ends = anchor_lines(axes, anchors, is_upright=False)
    has_intervals = len(changes) <= _MOST_WITH_INTERVALS
    for place, one in enumerate(changes):
        look = _LOOKS[one.side]
        shift = (place - (len(changes) - 1) / 2) * 0.012 if has_intervals else 0.0
        xs, ys = [shift, 1 + shift], [one.before.estimate, one.after.estimate]
        axes.plot(xs, ys, markersize=4.5, markevery=[1], linewidth=1.4, zorder=3, **look)
        axes.plot(xs[:1], ys[:1], color=look["color"], marker=look["marker"], markersize=4.5, markerfacecolor=GRID)
        ends += ys
        for x, row in zip(xs, (one.before, one.after), strict=True):
            if has_intervals and row.low is not None and row.high is not None:
                axes.plot([x, x], [row.low, row.high], color=look["color"], linewidth=0.9, alpha=0.7, zorder=2)
                ends += [row.low, row.high]
    room = 0.05 * (max(ends) - min(ends) or 1.0)
    low, high = min(ends) - room, max(ends) + room
    axes.set_ylim(low, high)
    axes.set_xlim(-0.12, 1.08)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    for x in (0, 1):
        axes.axvline(x, color=GRID, linewidth=0.6, zorder=0)
    wanted = [one.after.estimate for one in changes]
    gap = min(0.17 / tall, 1 / max(len(changes), 1)) * (high - low)
    for one, y in zip(changes, _inside(spread(wanted, gap), low, high, gap), strict=True):
        axes.plot([1.08, 1.12], [one.after.estimate, y], color=GRID, linewidth=0.7, clip_on=False)
        change = show_rounded(one.difference, _width(one))
        text = labels.put(one.system, max(size, 2), before=f"{'+' if one.difference > 0 else ''}{change} · ")
        axes.text(1.135, y, text, va="center", fontsize=8.5, clip_on=False)


def _width(one: Change) -> float | None:
    return None if one.low is None or one.high is None else one.high - one.low


def _inside(places: Sequence[float], low: float, high: float, gap: float) -> list[float]:
    """Return places moved together into the axis, where they fit into it."""
    if not places or max(places) - min(places) > high - low:
        middle = (min(places, default=0.0) + max(places, default=0.0)) / 2
        return [place - middle + (low + high) / 2 for place in places]
    over, under = max(max(places) - (high - gap / 4), 0.0), max((low + gap / 4) - min(places), 0.0)
    return [place - over + under for place in places]


def binarized(view: Scores) -> Plot:
    """Draw the score of graded answers beside that of the same answers cut to yes and no, and the paired difference."""
    from matplotlib.figure import Figure

    every = pairings(view, is_binarized=True)
    pair = every[0]
    changes = sorted(pair.changes, key=lambda one: (1.0 if view.is_error else -1.0) * one.before.estimate)
    shown = changes[:MOST_SYSTEMS]
    size = min(distinct([one.system for one in shown], _NAME, _LONGEST), max(len(clean(one.system)) for one in shown))
    left = (size + 2) * CHARACTER / WIDTH
    anchors = drawn_anchors(view)
    other = _asked_otherwise(view, pair)
    entries = [
        Entry({"color": BLUE, "marker": "s", "markersize": 5.5, "linestyle": "none"}, "graded answers"),
        Entry(
            {"color": VERMILION, "marker": "o", "markersize": 5.5, "markerfacecolor": "none", "linestyle": "none"},
            "the same, yes or no",
        ),
    ]
    if other:
        entries.append(Entry({"color": GREEN, "linewidth": 6, "alpha": 0.25}, f"range of {clean(other[0])}"))
    rows = legend_rows([*entries, *anchor_entries(anchors)])
    line = 0.24 if len(shown) <= MOST_SYSTEMS / 2 else 0.19
    above, below = 0.42, 0.55 + ROW * len(rows)
    height = above + below + line * max(len(shown), 3)
    first = 0.56 * (0.97 - left)
    second = 0.97 - left - first - 0.04
    title = "What is lost without the gradation"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        box = below / height, 1 - (above + below) / height
        of_scores = drawing.add_axes((left, box[0], first, box[1]))
        of_change = drawing.add_axes((left + first + 0.04, box[0], second, box[1]))
        ends = anchor_lines(of_scores, anchors, is_upright=True)
        if other:
            of_scores.axvspan(other[1], other[2], color=GREEN, alpha=0.16, linewidth=0)
        changed: list[float] = [0.0]
        for y, one in enumerate(shown):
            name(of_scores, labels, one.system, y, size)
            of_change.axhline(y, color=GRID, linewidth=0.4, zorder=0)
            of_scores.plot([one.before.estimate, one.after.estimate], [y, y], color=MUTED, linewidth=1.0, zorder=2)
            ends += point(of_scores, one.before, y - 0.12, colour=BLUE, marker="s", size=4.6)
            ends += point(of_scores, one.after, y + 0.12, colour=VERMILION, hollow=True, size=4.6)
            colour = _LOOKS[one.side]["color"]
            if one.low is not None and one.high is not None:
                of_change.plot([one.low, one.high], [y, y], color=colour, linewidth=1.6)
                changed += [one.low, one.high]
            face = colour if one.side != "open" else "none"
            of_change.plot([one.difference], [y], color=colour, marker="D", markersize=4.8, markerfacecolor=face)
            changed.append(one.difference)
        limits(of_scores, ends)
        limits(of_change, changed)
        of_change.axvline(0, color=INK, linewidth=0.8)
        for axes, words in ((of_scores, "Score"), (of_change, "Yes or no, minus graded")):
            axes.set_ylim(len(shown) - 0.4, -0.6)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.set_title(words, fontsize=8.5, pad=5)
            axes.set_xlabel(STATISTIC.get(view.statistic, clean(view.statistic)), fontsize=8.5)
        legend(drawing, rows, height)
        lower = sum(one.side == "below" for one in changes)
        told = f"Of {plural(len(changes), 'system')}, {lower} score lower once their answers are cut at one half."
        caption = (
            f"Stored answers to the same question, scored as they are and cut to yes and no. {told} At the right the "
            f"paired difference with its interval ({redrawn(view.unit)}), filled where it is told from 0, adjusted."
        )
        if pair.wording[0]:
            caption += f" Wording: {clean(pair.wording[0])}; the others are in the table."
        if other:
            caption += f" The shaded range is from the lowest to the highest of the same systems under {other[0]}."
        caption += shown_of(len(shown), len(changes), "systems")
        svg = to_svg(drawing, labels, name="binarized", title=title, description=f"{told} The table has the numbers.")
    return Plot(svg, title, caption)


def _asked_otherwise(view: Scores, pair: Pairing) -> tuple[str, float, float] | None:
    """Return another readout of these systems, and the range of their scores under it."""
    systems = {one.system for one in pair.changes}
    for other in pairings(view, is_binarized=False):
        if pair.before not in (other.before, other.after):
            continue
        rows = [
            one.before if other.after == pair.before else one.after for one in other.changes if one.system in systems
        ]
        if len(rows) > 1:
            readout = other.before if other.after == pair.before else other.after
            return readout, min(row.estimate for row in rows), max(row.estimate for row in rows)
    return None


def missing(view: Scores, figure: str) -> str:
    """Return why a figure of readouts cannot be drawn, blank if it can."""
    found = pairings(view, is_binarized=figure == "binarized")
    if found and found[0].changes:
        return ""
    if figure == "binarized":
        return "no probabilities of yes were also scored as yes and no"
    return "no system was scored under two readouts"
