"""What is shown in a control arm in place of an item, and what kind of picture a file's bytes are."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from measurand.eliciting.declared import CONTROLS, Control, Item
from measurand.eliciting.prompt import Picture
from measurand.result import MeasurandError
from measurand.stats.inference import stream

#: The grey of blank pictures: the middle of the eight bits.
GREY: Final = (128, 128, 128)

_BEGINNINGS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_ORIENTATION: Final = 274
_SIDEWAYS: Final = (5, 6, 7, 8)


def media_type(data: bytes, where: str) -> str:
    """Return what kind of picture a file is, read off its first bytes: its name may say something else.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What errors call it.

    Returns
    -------
    str
        ``image/png``, ``image/jpeg``, ``image/gif``, ``image/webp`` or ``image/bmp``.

    Raises
    ------
    MeasurandError
        If it is none of these.

    Examples
    --------
    >>> media_type(b"GIF89a...", "dot.png")
    'image/gif'
    """
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    found = f"it begins with {data[:12]!r}" if data else "it is empty"
    raise MeasurandError(f"{where}: no picture in PNG, JPEG, GIF, WebP or BMP ({found}); convert it to one of them")


def picture(data: bytes, where: str) -> Picture:
    """Return a file's bytes as a picture, its kind read off them.

    Parameters
    ----------
    data : bytes
        The file.
    where : str
        What errors call it.

    Raises
    ------
    MeasurandError
        As for `media_type`.

    Examples
    --------
    >>> picture(b"GIF89a...", "dot.png").media_type
    'image/gif'
    """
    return Picture(data, media_type(data, where))


def picture_of(item: Item) -> Picture | None:
    """Return an item's picture, or None where it has none.

    Raises
    ------
    MeasurandError
        As for `media_type`.
    """
    data = item.image
    return None if data is None else picture(data, f"item {item.name!r}")


def controlled(items: Sequence[Item], control: Control, *, n: int | None, seed: int) -> list[tuple[Item, Item]]:
    """Return items of a control arm, each with what is shown in its place.

    Parameters
    ----------
    items : sequence of Item
        The study's items.
    control : {"blank", "swapped", "shuffled"}
        ``blank``: an even grey picture of the same size, no text. ``swapped``: another item with its name, text and
        picture. ``shuffled``: the item's own words in random order, the space between them and the picture as they are.
    n : int or None
        How many items, drawn without replacement; None for all, and all where there are no more.
    seed : int
        The study's seed.

    Returns
    -------
    list of (Item, Item)
        Item and what is shown, in the order of the items. A larger `n` adds items and leaves the pairs as they are.

    Raises
    ------
    MeasurandError
        If `n` is below 1, all items show the same (``swapped``), an item has no text (``shuffled``), an item has
        neither text nor picture or a picture that cannot be read (``blank``).

    Notes
    -----
    Swapped: the items are put in random order, those that show the same beside each other and the largest such group
    first, and each is shown the item as many places further as that group is large. No item meets itself or what looks
    like it, and each is shown once; where more than half show the same, the others are shown to them in turn.
    Shuffled: an order that gives the same text is drawn again as an exchange of two different words, unless all words
    are the same.

    Examples
    --------
    >>> items = [Item("a", "one two"), Item("b", "three four"), Item("c", "five six")]
    >>> [(item.name, shown.text) for item, shown in controlled(items, "shuffled", n=None, seed=7)]
    [('a', 'two one'), ('b', 'four three'), ('c', 'six five')]
    >>> all(item.name != shown.name for item, shown in controlled(items, "swapped", n=None, seed=7))
    True
    """
    if control not in CONTROLS:
        raise MeasurandError(f"no control {control!r}; there are {', '.join(CONTROLS)}")
    if n is not None and n < 1:
        raise MeasurandError(f"{n} items for the control {control!r}; give 1 or more, or None for all")
    rng = stream(seed, "elicit", control)
    drawn = sorted(rng.permutation(len(items))[:n].tolist())
    if control == "swapped":
        others = _others(items, rng)
        return [(items[i], items[others[i]]) for i in drawn]
    if control == "shuffled":
        for item in items:
            if not item.text.strip():
                raise MeasurandError(f"item {item.name!r} has no text to shuffle; leave the control 'shuffled' out")
        return [(items[i], _shuffled(items[i], seed)) for i in drawn]
    greys: dict[tuple[int, int], bytes] = {}
    return [(items[i], _blank(items[i], greys)) for i in drawn]


def _others(items: Sequence[Item], rng: np.random.Generator) -> dict[int, int]:
    """Return for each item the place of the one that is shown instead."""
    if len(items) < 2:
        there = f"{items[0].name!r} is the only item asked about" if items else "there is no item"
        raise MeasurandError(
            f"{there}, and no other can be shown for it; ask about more, or leave the control 'swapped' out"
        )
    alike: dict[tuple[str, bytes], list[int]] = {}
    for i in rng.permutation(len(items)).tolist():
        alike.setdefault((items[i].text, digest_of(items[i])), []).append(i)
    # Stable, so that groups of one size stay in their random order.
    groups = sorted(alike.values(), key=len, reverse=True)
    if len(groups) == 1:
        raise MeasurandError(
            f"all {len(items)} items show the same, so that none can be swapped; leave the control 'swapped' out"
        )
    order = [i for group in groups for i in group]
    size, total = len(groups[0]), len(order)
    out = {}
    for place, i in enumerate(order):
        # Where more than half show the same, so many places further one of them would meet another of them.
        is_alike = place < size and place + size >= total
        out[i] = order[size + place % (total - size)] if is_alike else order[(place + size) % total]
    return out


def digest_of(item: Item) -> bytes:
    """Return what tells an item's picture from others, a few bytes of it; blank where it has none."""
    data = item.image
    return b"" if data is None else hashlib.sha256(data).digest()


def _shuffled(item: Item, seed: int) -> Item:
    pieces = re.split(r"(\s+)", item.text)
    places = [i for i, piece in enumerate(pieces) if piece and not piece.isspace()]
    words = [pieces[i] for i in places]
    # By the item's own stream, so that its words' order does not depend on which other items there are.
    new = [words[i] for i in stream(seed, "elicit", "shuffled", item.name).permutation(len(words))]
    if new == words:
        other = next((i for i, word in enumerate(words) if word != words[0]), 0)
        new[0], new[other] = new[other], new[0]
    for i, word in zip(places, new, strict=True):
        pieces[i] = word
    return replace(item, text="".join(pieces))


def _blank(item: Item, greys: dict[tuple[int, int], bytes]) -> Item:
    data = item.image
    if data is None:
        if not item.text.strip():
            raise MeasurandError(f"item {item.name!r} has neither text nor picture, so that nothing can be left out")
        return replace(item, text="")
    size = _size(data, f"item {item.name!r}")
    if size not in greys:
        from PIL import Image

        file = io.BytesIO()
        Image.new("RGB", size, GREY).save(file, "PNG")
        greys[size] = file.getvalue()
    return replace(item, text="", picture=greys[size])


def _size(data: bytes, where: str) -> tuple[int, int]:
    """Return width and height of a picture in pixels, as it is shown (a camera may say that it lies on its side)."""
    from PIL import Image

    media_type(data, where)
    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            return (height, width) if image.getexif().get(_ORIENTATION) in _SIDEWAYS else (width, height)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise MeasurandError(f"{where}: the picture cannot be read ({error}); give a whole file") from error
