"""The figure of the order that is left: which systems are shown to be better than which, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from measurand.reporting.figures_lines import CHARACTER, name
from measurand.reporting.figures_parts import shown_of
from measurand.reporting.svg import BLUE, GRID, MUTED, WIDTH, Labels, Plot, style, titled, to_svg
from measurand.reporting.view import View
from measurand.reporting.words import FACETS, distinct
from measurand.result import Key
from measurand.result.words import clean, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Systems that the figure has a line for.
MOST_SYSTEMS: Final = 30
_NAME: Final = 22
_LONGEST: Final = 40
#: Layers that have a name of their own over the axis.
_MOST_NUMBERED: Final = 12

_Edges = list[tuple[Key, Key]]


def hasse(view: View, criterion: str) -> Plot:
    """Draw the systems from best to worst, each in its layer, with a line for every pair that is told apart directly.

    A line that can be inferred from two others is left out: it is the Hasse diagram of the partial order.
    """
    from matplotlib.figure import Figure

    orders = _orders(view, criterion)
    units = [unit for unit in FACETS if orders.get(unit)]
    every = _ranked(view, criterion, units[0])
    systems = every[:MOST_SYSTEMS]
    size = min(distinct(systems, _NAME, _LONGEST), max(len(clean(one)) for one in systems))
    side = (size + 2) * CHARACTER / WIDTH
    above, below, line = 0.55, 0.3, 0.22
    height = above + below + line * len(systems)
    gap = 0.05
    width = (0.97 - side - gap * (len(units) - 1)) / len(units)
    title = "The order that is left"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        for number, unit in enumerate(units):
            box = (side + number * (width + gap), below / height, width, 1 - (above + below) / height)
            axes = drawing.add_axes(box)
            _order(axes, systems, orders[unit], line * len(systems), is_main=unit == "item+rater")
            axes.set_title(FACETS[unit].replace(", ", ",\n"), fontsize=8.5, pad=16)
            for y, system in enumerate(systems):
                if number == 0:
                    name(axes, labels, system, y, size)
                else:
                    axes.axhline(y, color=GRID, linewidth=0.4, zorder=0)
        counted = [f"{plural(len(orders[unit]), 'line')} with {FACETS[unit]}" for unit in units]
        told = f"{plural(len(every), 'system')}; {', '.join(counted)}."
        caption = (
            "Lines to the right, followed one after the other, lead from a system to those that it is shown to be "
            "better than, for all pairs at once; systems that no such path joins are not told apart, whatever their "
            "ranks. The layer is 1 more than the longest chain of better systems."
        )
        if any(system not in {one for pair in orders[unit] for one in pair} for unit in units for system in systems):
            caption += " An open point has no line at all."
        none = [FACETS[unit] for unit in FACETS if unit in orders and not orders[unit]]
        if none:
            caption += f" With {', and with '.join(none)}, no system is shown to be better than another."
        caption += shown_of(len(systems), len(every), "systems")
        svg = to_svg(drawing, labels, name="hasse", title=titled(title, criterion), description=told)
    return Plot(svg, title, caption)


def _orders(view: View, criterion: str) -> dict[str, _Edges]:
    """Return the pairs that are told apart directly, better first, by what is random."""
    found = view.result.settings.get("ranks", {}).get("hasse", {}).get(criterion, {})
    return {str(unit): [(pair[0], pair[1]) for pair in pairs] for unit, pairs in found.items()}


def _ranked(view: View, criterion: str, unit: str) -> list[Key]:
    rows = view.defined(criterion, "ranks", "rank", {"unit": unit})
    return [row.keys["system"] for row in sorted(rows, key=lambda row: row.estimate)]


def _layers(edges: _Edges) -> dict[Key, int]:
    """Return the layer of every system that has an edge: the longest path that leads to it from above."""
    above: dict[Key, list[Key]] = {}
    for better, worse in edges:
        above.setdefault(worse, []).append(better)
        above.setdefault(better, [])
    out: dict[Key, int] = {}
    waiting = list(above)
    # Every round settles those whose betters are settled; an order has no circle, so that none waits for ever.
    while waiting:
        ready = [one for one in waiting if all(better in out for better in above[one])]
        if not ready:
            break
        out |= {one: 1 + max((out[better] for better in above[one]), default=-1) for one in ready}
        waiting = [one for one in waiting if one not in out]
    return out


def _order(axes: Axes, systems: list[Key], edges: _Edges, tall: float, *, is_main: bool) -> None:
    colour = BLUE if is_main else MUTED
    layer = _layers(edges)
    place = {system: y for y, system in enumerate(systems)}
    last = max(layer.values(), default=0)
    for better, worse in edges:
        if better in place and worse in place:
            xs, ys = (layer.get(better, 0), layer.get(worse, 0)), (place[better], place[worse])
            axes.plot(xs, ys, color=colour, linewidth=0.9, alpha=0.75, zorder=2)
    for system, y in place.items():
        is_joined = system in layer
        face = colour if is_joined else "none"
        axes.plot([layer.get(system, 0)], [y], color=colour, marker="o", markersize=5, markerfacecolor=face, zorder=3)
    axes.set_xlim(-0.25, max(last, 1) + 0.25)
    axes.set_ylim(len(systems) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    step = 1 if last < _MOST_NUMBERED else 5
    for x in range(0, last + 1, step):
        text = f"layer {x + 1}" if last < 4 else f"{x + 1}"
        axes.text(x, 1 + 0.05 / tall, text, transform=axes.get_xaxis_transform(), ha="center", va="bottom", fontsize=8)


def missing(view: View, figure: str, criterion: str) -> str:
    """Return why the order cannot be drawn, blank if it can."""
    del figure
    orders = _orders(view, criterion)
    if not any(orders.values()):
        return "no system is shown to be better than another"
    units = [unit for unit in FACETS if orders.get(unit)]
    return "" if units and _ranked(view, criterion, units[0]) else "it needs the analysis ranks"
