"""The folder of drawn faces: pictures, tables, settings and contact sheets, all of it or nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import pandas as pd

from measurand.folders import FILES, hashed, in_place_of
from measurand.result import MeasurandError
from measurand.simulate.faces_canvas import Pixels

_SETTINGS: Final = "faces.json"
_SCHEMA: Final = "measurand/faces/1"

#: Columns of the items table that tell nothing of what is true of an item.
_SEEN: Final = ("item", "image", "group", "split")


def check_folder(out: Path) -> None:
    """Refuse a folder that faces may not replace, before any time is spent.

    Raises
    ------
    MeasurandError
        If it is a file, or holds something else than earlier faces as they were written.
    """
    if not out.name or out.name == "..":
        raise MeasurandError(f"{out} has no name of its own that faces could take; give a folder's name")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise MeasurandError(f"{out} is not a folder; give another")
    if not out.is_dir() or not any(out.iterdir()):
        return
    known = _earlier(out)
    if known is None:
        raise MeasurandError(f"{out} holds other files and no earlier faces; give an empty or new folder")
    for path in sorted(one for one in out.rglob("*") if one.is_file()):
        name = path.relative_to(out).as_posix()
        if name != _SETTINGS and known.get(name) != hashed(path):
            raise MeasurandError(
                f"{path} is not what was written with the faces of {out}, and would be lost with them; move it out of "
                "there, or give another folder"
            )


def _earlier(out: Path) -> Mapping[str, str] | None:
    """Return the hashes of the faces that a folder holds; None if it holds none."""
    try:
        document = json.loads((out / _SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = document.get(FILES, {}) if isinstance(document, dict) and document.get("schema") == _SCHEMA else None
    return known if isinstance(known, dict) else None


def write_faces(
    out: Path,
    faces: pd.DataFrame,
    pictures: Iterable[Pixels],
    sheets: Mapping[str, Pixels],
    settings: Mapping[str, Any],
) -> None:
    """Write a folder of faces under a temporary name and move it into place when it is whole.

    Parameters
    ----------
    out : Path
        The folder; an earlier one stays until the new one is complete.
    faces : pandas.DataFrame
        What `simulate_faces` returns.
    pictures : iterable of ndarray of uint8, shape (size, size, 3)
        The picture of each row.
    sheets : mapping
        File name to contact sheet.
    settings : mapping
        How they were made (JSON values).

    Raises
    ------
    MeasurandError
        If it cannot be written; nothing is left behind.
    """
    check_folder(out)
    # What else decides about a pixel or a draw.
    versions = {name: metadata.version(name) for name in ("measurand", "numpy", "pillow")}
    document: dict[str, Any] = {"schema": _SCHEMA, "settings": dict(settings), "versions": versions}
    with in_place_of(out) as folder:
        (folder / "images").mkdir()
        for image, pixels in zip(faces["image"], pictures, strict=True):
            _write_picture(folder / image, pixels)
        for name, pixels in sheets.items():
            _write_picture(folder / name, pixels)
        seen = [column for column in faces if column in _SEEN]
        truth = ["item", *(column for column in faces if column not in _SEEN)]
        faces[seen].to_csv(folder / "items.csv", index=False, lineterminator="\n")
        faces[truth].to_csv(folder / "truth.csv", index=False, lineterminator="\n")
        written = sorted(path for path in folder.rglob("*") if path.is_file())
        document[FILES] = {path.relative_to(folder).as_posix(): hashed(path) for path in written}
        text = json.dumps(document, indent=1) + "\n"
        (folder / _SETTINGS).write_text(text, encoding="utf-8", newline="\n")


def _write_picture(path: Path, pixels: Pixels) -> None:
    from PIL import Image

    Image.fromarray(pixels).save(path, "PNG")
