"""What is shown of an example: its picture made small, its text cut, both within a limit on what a page may weigh."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from measurand.result import MeasurandError

if TYPE_CHECKING:
    from PIL import Image

#: The longer side of a picture, in pixels.
MOST_PIXELS: Final = 96
#: Pictures, and characters of all of them together.
MOST_PICTURES: Final = 30
MOST_BYTES: Final = 200_000
#: Characters of a text.
MOST_CHARACTERS: Final = 280

_WHITE: Final = (255, 255, 255)
_QUALITY: Final = 80


def shown(items: pd.DataFrame, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what a page can show of items.

    Parameters
    ----------
    items : pandas.DataFrame
        Columns `item`, and `image` (paths of files) or `text` or both.
    names : sequence of str
        The items, those that matter most first.

    Returns
    -------
    dict
        ``pictures``: item to a ``data:`` URI; ``texts``: item to its text, cut; ``left_out``: item to why its picture
        is not there.

    Raises
    ------
    MeasurandError
        If a picture can't be read.
    """
    images, texts = (_column(items, name) for name in ("image", "text"))
    out: dict[str, dict[str, str]] = {"pictures": {}, "texts": {}, "left_out": {}}
    weight = 0
    for name in dict.fromkeys(names):
        if text := texts.get(name, "").strip():
            out["texts"][name] = text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1].rstrip()}…"
        if not (path := images.get(name, "")):
            continue
        if len(out["pictures"]) == MOST_PICTURES:
            out["left_out"][name] = f"more than {MOST_PICTURES} pictures"
            continue
        uri = small(Path(path), f'item "{name}"')
        if weight + len(uri) > MOST_BYTES:
            out["left_out"][name] = f"more than {MOST_BYTES // 1000} kB of pictures"
            continue
        weight += len(uri)
        out["pictures"][name] = uri
    return out


def small(path: Path, where: str) -> str:
    """Return a picture as a ``data:`` URI, at most `MOST_PIXELS` wide and high, its pixels encoded anew.

    Nothing but pixels is left of the file: no name, place or profile. PNG or JPEG, whichever is shorter.

    Parameters
    ----------
    path : Path
        The file.
    where : str
        What errors call it.

    Raises
    ------
    MeasurandError
        If the file can't be read, or is no picture.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                image.load()
                pixels = _upright(image)
    except (
        UnidentifiedImageError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
    ) as error:
        raise MeasurandError(f"{where}: the picture {path} can't be read ({error}); give a whole file") from error
    pixels.thumbnail((MOST_PIXELS, MOST_PIXELS))
    found = []
    for kind, more in (("png", {"optimize": True}), ("jpeg", {"quality": _QUALITY, "optimize": True})):
        file = io.BytesIO()
        pixels.save(file, kind, **more)
        found.append(f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}")
    return min(found, key=len)


def _upright(image: Image.Image) -> Image.Image:
    """Return a picture turned as its EXIF orientation says, on white, in RGB, with nothing of the file's own words."""
    from PIL import Image, ImageOps

    turned = ImageOps.exif_transpose(image).convert("RGBA")
    pixels = Image.new("RGB", turned.size, _WHITE)
    pixels.paste(turned, mask=turned.getchannel("A"))
    return pixels


def _column(items: pd.DataFrame, name: str) -> dict[str, str]:
    """Return item to the cell of a column, blank where it is missing."""
    if name not in items:
        return {}
    cells: dict[Any, Any] = dict(zip(items["item"].astype(str), items[name], strict=True))
    return {item: "" if pd.isna(cell) else str(cell) for item, cell in cells.items()}
