"""The figure of anisotropy: every encoder before and after its mean vector was subtracted."""

from __future__ import annotations

from typing import Final

from measurand.reporting.figures_lines import CHARACTER, limits, name, point
from measurand.reporting.probe_view import Probe
from measurand.reporting.svg import BLUE, GRID, INK, VERMILION, WIDTH, Labels, Plot, style, to_svg
from measurand.reporting.words import distinct
from measurand.result import Row
from measurand.result.words import called, clean, plural

_MOST: Final = 24


def anisotropy(view: Probe) -> Plot:
    """Draw the mean cosine of each encoder's vectors, as they are and centred."""
    from matplotlib.figure import Figure

    pairs = sorted(_pairs(view), key=lambda one: -one[0].estimate)[:_MOST]
    names = [raw.keys["vectors"] for raw, _ in pairs]
    size = min(distinct(names, 22, 36), max(len(clean(one)) for one in names))
    left = (size + 2) * CHARACTER / WIDTH
    above, below, line = 0.4, 0.5, 0.26
    height = above + below + line * max(len(pairs), 3)
    title = "Anisotropy before and after centring"
    with style():
        labels = Labels()
        drawing = Figure(figsize=(WIDTH, height))
        axes = drawing.add_axes((left, below / height, 0.97 - left, 1 - (above + below) / height))
        axes.set_ylim(len(pairs) - 0.4, -0.6)
        ends = [0.0]
        for y, (raw, centred) in enumerate(pairs):
            name(axes, labels, called(raw.keys["vectors"]), y, size)
            axes.plot(
                [centred.estimate, raw.estimate], [y, y], color=GRID, linewidth=3, zorder=1, solid_capstyle="butt"
            )
            ends += point(axes, raw, y, colour=VERMILION, marker="s")
            ends += point(axes, centred, y, colour=BLUE, hollow=True)
        limits(axes, ends)
        axes.axvline(0, color=INK, linewidth=0.9, linestyle="--", zorder=2)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("mean cosine of two vectors", fontsize=8.5)
        for x, words, colour in ((0.0, "○ centred", BLUE), (0.25, "■ as they are", VERMILION)):
            axes.text(
                x, 1 + 0.08 / (height - above - below), words, transform=axes.transAxes, color=colour, fontsize=8.5
            )
        caption = (
            "The mean cosine of two vectors of one encoder, as they are and after the mean vector was subtracted. What "
            "centring leaves is near 0 for any vectors, so that the differences are those of the mean vectors."
        )
        description = f"Anisotropy of {plural(len(pairs), 'set')} of vectors; the table has the numbers."
        svg = to_svg(drawing, labels, name="anisotropy", title=title, description=description)
    return Plot(svg, title, caption)


def _pairs(view: Probe) -> list[tuple[Row, Row]]:
    """Return each encoder's anisotropy as it is and centred, over all items."""
    out = []
    for name_ in view.of("geometry", "vectors"):
        both = [view.get("geometry", "anisotropy", {"vectors": name_, "centred": centred}) for centred in ("no", "yes")]
        if both[0] is not None and both[1] is not None and not both[0].undefined and not both[1].undefined:
            out.append((both[0], both[1]))
    return out


def missing(view: Probe, figure: str) -> str:
    """Return why a figure cannot be drawn, blank if it can."""
    return "" if figure == "anisotropy" and _pairs(view) else "it needs the analysis geometry with an anisotropy"
