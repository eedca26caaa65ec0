"""Figures as a page needs them: the same drawing in fewer characters, which is most of what a page weighs.

A figure that stands alone (`Plot.svg`, and what `Plot.save` writes) keeps its own colours, styles and hundredths. In a
page the colours are the page's, styles that marks share are classes, and tenths of a point are finer than any screen.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

#: Digits after the point of a coordinate in a page: a figure is some 500 points wide.
_DIGITS: Final = 1
#: A style becomes a class if it is said so often.
_OFTEN: Final = 3
_STROKES: Final = re.compile(r"([MLHVCQZz])([^MLHVCQZz]*)")
#: Numbers that each stroke of a path takes.
_TAKES: Final = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4}
_PLOT: Final = re.compile(r'<svg [^<>]*class="plot".*?</svg>', re.DOTALL)
_CLIPPED: Final = r'<path (?:[^<>]* )?clip-path="{0}"[^<>]*/>|<g clip-path="{0}">(?:\s*<(?:use|path) [^<>]*/>)*\s*</g>'
_DEFS: Final = r"<defs>(?:(?!</defs>).)*</defs>"


def slim(svg: str) -> str:
    """Return a drawing as the page needs it: without colours of its own, what marks share said once.

    Examples
    --------
    >>> slim('<use x="1.04" style="fill:var(--m-blue, #0072b2)"/><use x="2" style="fill:var(--m-blue, #0072b2)"/>')
    '<g style="fill:var(--m-blue)"><use x="1"/><use x="2"/></g>'
    """
    plain = re.sub(r"var\((--m-[a-z]+), #[0-9a-f]{6}\)", r"var(\1)", svg)
    plain = plain.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href=", "href=")
    plain = "".join(
        # Markers are small, and drawn many times over.
        part if part.startswith("<defs>") else re.sub(r' (x|y|d)="([^"]*)"', _coarse, part)
        for part in re.split(f"({_DEFS})", plain, flags=re.DOTALL)
    )
    for clip in dict.fromkeys(re.findall(r'clip-path="([^"]*)"', plain)):
        plain = _clipped_once(plain, clip)

    def grouped(found: re.Match[str]) -> str:
        style = found.group(1)
        marks = found.group().replace(f' style="{style}"', "")
        return f'<g style="{style}">{marks}</g>'

    return re.sub(r'<use [^<>]*? style="([^"]*)"/>(?:\s*<use [^<>]*? style="\1"/>)+', grouped, plain)


def styled_once(page: str) -> str:
    """Return a page whose figures say their common styles as classes, and whose ids in figures are short.

    Parameters
    ----------
    page : str
        A page with one ``<style>`` in its head, and figures that went through `slim`.
    """
    found = Counter(style for drawn in _PLOT.finditer(page) for style in re.findall(r' style="([^"]*)"', drawn.group()))
    names = {style: f"p{n}" for n, (style, count) in enumerate(found.most_common()) if count >= _OFTEN}
    number = 0

    def shorter(drawn: re.Match[str]) -> str:
        nonlocal number
        number += 1
        svg = re.sub(
            r' style="([^"]*)"',
            lambda m: f' class="{names[m.group(1)]}"' if m.group(1) in names else m.group(),
            drawn.group(),
        )
        prefix = re.search(r' aria-labelledby="([^" ]*)-title ', svg)
        if prefix is None:
            return svg
        own = re.escape(prefix.group(1))
        ids = dict.fromkeys(re.findall(rf' id="{own}-([^"]+)"', svg))
        short = {one: one if one in ("title", "desc") else str(n) for n, one in enumerate(ids)}

        def renamed(tag: re.Match[str]) -> str:
            return re.sub(rf"{own}-(\w+)", lambda m: f"f{number}-{short.get(m.group(1), m.group(1))}", tag.group())

        return re.sub(r"<[^<>]*>", renamed, svg)

    drawn = _PLOT.sub(shorter, page)
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return drawn.replace("</style>", f"{rules}</style>", 1) if rules else drawn


def _clipped_once(svg: str, clip: str) -> str:
    """Return a drawing whose marks in the same frame, one after another, stand in one group."""
    own = f' clip-path="{clip}"'
    one = _CLIPPED.format(re.escape(clip))

    def together(found: re.Match[str]) -> str:
        return f"<g{own}>{found.group().replace(f'<g{own}>', '<g>').replace(own, '')}</g>"

    run = re.compile(rf"(?:{one})(?:\s*(?:{_DEFS}\s*)*(?:{one}))+", re.DOTALL)
    return re.sub(r"<g>((?:\s*<(?:use|path) [^<>]*/>)*\s*)</g>", r"\1", run.sub(together, svg))


def _coarse(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f' {name}="{path(value) if name == "d" else _shown(_units(value)) if _is_number(value) else value}"'


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _units(number: str) -> int:
    return round(float(number) * 10**_DIGITS)


def _shown(units: int) -> str:
    whole, rest = divmod(abs(units), 10**_DIGITS)
    text = f"{whole}.{rest:0{_DIGITS}d}".rstrip("0").rstrip(".")
    text = text.removeprefix("0") if text.startswith("0.") else text
    return f"-{text}" if units < 0 else text


def path(drawn: str) -> str:
    """Return the strokes of a path, which stand at their places, with what is shorter: places or steps.

    Examples
    --------
    >>> path("M 10.04 20 L 510 20 L 510 30.26 z")
    'M10 20H510V30.3z'
    """
    out = ""
    x = y = start_x = start_y = 0
    last = ""
    for letter, rest in _STROKES.findall(drawn):
        if letter in "Zz":
            out, last, x, y = f"{out}z", "z", start_x, start_y
            continue
        values = [_units(number) for number in re.findall(r"-?\d+(?:\.\d+)?", rest)]
        takes = _TAKES[letter]
        for at in range(0, len(values), takes):
            some = values[at : at + takes]
            there = (some[0], y) if letter == "H" else (x, some[0]) if letter == "V" else (some[-2], some[-1])
            stroke = letter
            if letter == "L" and (there[0] == x or there[1] == y):
                stroke, some = ("V", [there[1]]) if there[0] == x else ("H", [there[0]])
            from_ = [y] if stroke == "V" else [x] if stroke == "H" else [x, y] * (len(some) // 2)
            steps = [one - of for one, of in zip(some, from_, strict=True)]
            ways = [_said(name, values, last) for name, values in ((stroke, some), (stroke.lower(), steps))]
            text = min(ways, key=len)
            last = stroke if text is ways[0] else stroke.lower()
            out += text
            x, y = there
            if letter == "M":
                start_x, start_y = there
                # Further places of a move are lines.
                letter = "L"
    return out


def _said(letter: str, values: list[int], last: str) -> str:
    numbers = ""
    for value in values:
        text = _shown(value)
        numbers += text if not numbers or text.startswith("-") else f" {text}"
    # The same stroke again need not be named, but a move that is repeated would be a line.
    if letter == last and letter not in "Mm":
        return numbers if numbers.startswith("-") else f" {numbers}"
    return f"{letter}{numbers}"
