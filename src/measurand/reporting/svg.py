"""From a matplotlib figure to SVG text that is the same every time, fits light and dark pages, and carries any name.

Names never pass through matplotlib: it gets placeholders, and the escaped names are put in afterwards. So a name can
hold `$x^2$`, markup or letters that no font here has, and the figure neither fails nor runs anything.
"""

from __future__ import annotations

import hashlib
import html
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from measurand.result import MeasurandError
from measurand.result.notebook import NO_MATHS
from measurand.result.words import clean, shorten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Stand-ins for colours: matplotlib draws with the first, the SVG says the second.
INK: Final = "#1b1b1f"
_THEMED: Final = {
    INK: "currentColor",
    "#6b7280": "var(--m-muted, #6b7280)",
    "#c9ced6": "var(--m-grid, #c9ced6)",
    "#0072b2": "var(--m-blue, #0072b2)",
    "#d55e00": "var(--m-vermilion, #d55e00)",
    "#009e73": "var(--m-green, #009e73)",
    "#cc79a7": "var(--m-purple, #cc79a7)",
    "#e69f00": "var(--m-orange, #e69f00)",
    "#56b4e9": "var(--m-sky, #56b4e9)",
}
MUTED, GRID, BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = list(_THEMED)[1:]
#: How the figures differ from matplotlib's defaults.
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "measurand",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.edgecolor": GRID,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "figure.facecolor": "none",
    "figure.dpi": 72.0,
    "savefig.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "text.parse_math": False,
}
#: In a notebook nobody says whether the page is light or dark: what must recede is made of the colour of its letters.
_IN_NOTEBOOKS: Final = (
    "--m-muted:color-mix(in srgb, currentColor 72%, transparent);"
    "--m-grid:color-mix(in srgb, currentColor 22%, transparent)"
)
#: The width of every figure, in inches.
WIDTH: Final = 7.2


def titled(title: str, criterion: str) -> str:
    """Return the title of a figure with the criterion that it is about."""
    return f"{title}: {shorten(criterion, 60)}" if criterion else title


@contextmanager
def style() -> Iterator[None]:
    """Set matplotlib's defaults and the style of the figures for a while, whatever the user's own settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


@dataclass(frozen=True)
class Plot:
    """A figure as SVG text.

    Parameters
    ----------
    svg : str
        One ``<svg>`` element, to stand in an HTML page; its colours follow the page.
    title, caption : str
        What it shows; what to see in it.

    Examples
    --------
    >>> Plot("<svg></svg>", "Nothing", "An empty figure.")._repr_svg_()
    '<svg></svg>'
    """

    svg: str = field(repr=False)
    title: str
    caption: str

    def _repr_svg_(self) -> str:
        # Who shows it as a picture, or makes a PDF of it, knows nothing of the colours around it.
        return self._fixed()

    def _repr_html_(self) -> str:
        # A name such as $x^2$ is no formula.
        svg = self.svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
        caption = f'<figcaption style="margin:.3em 0">{html.escape(self.caption)}</figcaption>'
        return f'<figure class="{NO_MATHS}" style="{_IN_NOTEBOOKS};margin:0;max-width:48rem">{svg}{caption}</figure>'

    def _fixed(self) -> str:
        """Return the drawing with fixed colours on white."""
        fixed = re.sub(r"var\(--[a-z-]+, (#[0-9a-f]{6})\)", r"\1", self.svg).replace("currentColor", INK)
        canvas = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return fixed.replace("</desc>", f"</desc>\n{canvas}", 1)

    def save(self, path: str | Path) -> None:
        """Write the figure as an SVG file with fixed colours on white, which every viewer shows alike.

        Parameters
        ----------
        path : str or Path
            The file, its name ends in ``.svg``; it appears whole or not at all.

        Raises
        ------
        MeasurandError
            If the name ends otherwise, or there is no such folder.
        """
        target = Path(path)
        if target.suffix.lower() != ".svg":
            raise MeasurandError(
                f"{target}: a figure is SVG, its name ends in .svg; save {target.with_suffix('.svg').name}, and let a "
                "browser or a drawing program make other kinds of it"
            )
        write_whole(path, f'<?xml version="1.0" encoding="utf-8"?>\n{self._fixed()}\n')


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file beside its place and move it there, so that nothing half-written is ever found."""
    target = Path(path)
    if not target.parent.is_dir():
        raise MeasurandError(f"{target}: there is no folder {target.parent}; make it first")
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", newline="\n")
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)


class Labels:
    """Placeholders for names, by which matplotlib never sees the names themselves."""

    def __init__(self) -> None:
        self._names: list[tuple[str, str]] = []

    def put(self, name: object, most: int, *, before: str = "") -> str:
        """Return the placeholder of a name that is shown with at most `most` characters, `before` in front of it."""
        self._names.append((f"{before}{shorten(name, most) or '(blank)'}", clean(name)))
        return f"@{len(self._names) - 1}@"

    def fill(self, svg: str) -> str:
        """Return the SVG with the escaped names in place of the placeholders."""

        def named(found: re.Match[str]) -> str:
            shown, whole = self._names[int(found.group(1))]
            tip = f"<title>{html.escape(whole)}</title>" if not shown.endswith(whole) else ""
            return f">{html.escape(shown)}{tip}</text>"

        return re.sub(r">@(\d+)@</text>", named, svg)


def to_svg(figure: Figure, labels: Labels, *, name: str, title: str, description: str) -> str:
    """Return a figure as one SVG element: deterministic, themed, with ids of its own and a description.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        Drawn with the colours of this module and the placeholders of `labels`.
    labels : Labels
        The names that go into it.
    name : str
        The kind of figure, the beginning of its ids.
    title, description : str
        Read out in place of the drawing.

    Returns
    -------
    str
        The element, from ``<svg`` to ``</svg>``.
    """
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", metadata=nothing, transparent=True)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    # Its style sheet would apply to the whole page that the figure stands in.
    svg = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)
    # The letters are the page's, said once; how matplotlib says them depends on its version.
    svg = re.sub(r'font: ([0-9.]+)px [^;"]*', r"font-size: \1px", svg)
    svg = re.sub(r"font-family: [^;\"]*(?:; ?|(?=\"))", "", svg)
    for drawn, shown in _THEMED.items():
        svg = svg.replace(drawn, shown)
    svg = labels.fill(_compact(svg))
    digest = hashlib.sha256(f"{svg}{title}".encode()).hexdigest()[:8]
    prefix = f"{name}-{digest}"
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{prefix}-{m.group(1)}"' if m.group(1) in used else "", svg)
    svg = _in_one_stroke(_without_bare_groups(re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", svg)))
    width, height = (float(size) * figure.get_dpi() for size in figure.get_size_inches())
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="plot" role="img" '
        f'aria-labelledby="{prefix}-title {prefix}-desc" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.2f} {height:.2f}" font-family="system-ui, sans-serif" stroke-linejoin="round" '
        f'stroke-linecap="butt">\n'
        f'<title id="{prefix}-title">{html.escape(title)}</title>\n'
        f'<desc id="{prefix}-desc">{html.escape(description)}</desc>'
    )
    return re.sub(r"<svg[^>]*>", lambda _: head, svg, count=1)


def _compact(svg: str) -> str:
    """Return what matplotlib drew in fewer characters: no indents, hundredths of a point, nothing unseen."""
    svg = re.sub(r">\s+<", "><", svg)
    # The grounds of figure and axes have neither a colour nor a line.
    svg = re.sub(r'<path d="[^"]*" style="fill: none"/>', "", svg)
    svg = re.sub(r' (d|x|y|transform)="([^"]*)"', lambda m: f' {m.group(1)}="{_rounded(m.group(2))}"', svg)
    svg = re.sub(r' transform="rotate\(-?0[ )][^"]*"', "", svg).replace("<g/>", "")
    svg = re.sub(r'(?<= style=")[^"]*', lambda m: m.group().replace(": ", ":").replace("; ", ";"), svg)
    return svg.replace("/><", "/>\n<")


def _rounded(numbers: str) -> str:
    """Return coordinates to hundredths, on one line."""
    on_one = " ".join(numbers.split())
    return re.sub(r"-?\d+\.\d+", lambda m: f"{float(m.group()):.2f}".rstrip("0").rstrip("."), on_one)


def _without_bare_groups(svg: str) -> str:
    """Return the drawing without the groups that say nothing of what is in them."""
    out = []
    is_bare: list[bool] = []
    for part in re.split(r"(<g\b[^>]*>|</g>)", svg):
        if part == "</g>":
            if is_bare.pop():
                continue
        elif part.startswith("<g") and not part.endswith("/>"):
            is_bare.append(part == "<g>")
            if is_bare[-1]:
                continue
        out.append(part)
    return "".join(out)


def _in_one_stroke(svg: str) -> str:
    """Return the drawing with lines that follow each other and look alike as one path."""

    def joined(found: re.Match[str]) -> str:
        drawn = re.findall(r' d="([^"]*)"', found.group())
        return f'<path d="{" ".join(drawn)}"{found.group(1)}/>'

    return re.sub(
        r'<path d="[^"]*"((?: clip-path="[^"]*")? style="fill:none;[^"]*")/>(?:\s*<path d="[^"]*"\1/>)+', joined, svg
    )
