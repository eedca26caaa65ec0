"""Is a sample's folder what it says? Its key, the rows of its sheets, the ratings that were collected from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import pandas as pd

from measurand.data.marks import DecimalMark, Marks
from measurand.data.read import read_table
from measurand.planning.drawing import SCHEMA
from measurand.planning.sheets import KEY, PROTOCOL, RATINGS, SHEETS, returned
from measurand.result import MeasurandError
from measurand.study import sha256

_ROW: Final = ("item", "system", "rater", "criterion", "position")
_DECIMALS: Final[tuple[DecimalMark, ...]] = (".", ",")


class Held(NamedTuple):
    """One thing that was held against the protocol: its name, what came out, what differs."""

    name: str
    state: Literal["same", "differs", "not checked"]
    what: str = ""


def is_sample(folder: Path) -> bool:
    """Return whether a folder is that of a drawn sample."""
    document = _document(folder)
    return document.get("schema") == SCHEMA and isinstance(document.get("files"), dict)


def hold_sample(folder: Path) -> list[Held]:
    """Hold a sample against its protocol.

    Parameters
    ----------
    folder : Path
        What `measurand plan --draw` wrote, its sheets filled in or not.

    Returns
    -------
    list of Held
        `key` (the hash of the key), `sheets` (as they were handed out, or the same rows filled in), `ratings` (if they
        were collected: those of the sheets), `inputs` (hashes of what the sample was drawn from, by name, beside the
        folder or here).
    """
    document = _document(folder)
    files: Mapping[str, str] = document["files"]
    key = folder / KEY
    if not key.is_file():
        return [Held("key", "differs", f"{KEY} is not there: nobody knows which system a letter stands for")]
    if sha256(key) != files.get(KEY):
        return [Held("key", "differs", f"{KEY} is not what was written; the sheets cannot be read without it")]
    return [Held("key", "same"), *_sheets(folder, files), _inputs(folder, document.get("inputs", {}))]


def _sheets(folder: Path, files: Mapping[str, str]) -> list[Held]:
    issued = [name for name in files if name.startswith(f"{SHEETS}/")]
    filled = [name for name in issued if not (folder / name).is_file() or sha256(folder / name) != files[name]]
    try:
        ratings = _of_sheets(folder)
    except MeasurandError as error:
        return [Held("sheets", "differs", str(error))]
    told = f"{len(filled):,} of {len(issued):,} filled in, in the rows that were handed out" if filled else ""
    held = [Held("sheets", "same", told)]
    path = folder / RATINGS
    return [*held, _ratings(path, folder, ratings)] if path.is_file() else held


def _of_sheets(folder: Path, marks: Marks | None = None) -> pd.DataFrame:
    return pd.concat([sheet.ratings for sheet in returned(folder, marks)], ignore_index=True)


def _ratings(path: Path, folder: Path, ratings: pd.DataFrame) -> Held:
    """Hold collected ratings against the sheets, whichever decimal mark was declared."""
    try:
        kept = read_table(path).fillna("").astype(str).reset_index(drop=True)
    except MeasurandError as error:
        return Held("ratings", "differs", str(error))
    row = [name for name in _ROW if name in ratings]
    if list(kept.columns) != list(ratings.columns) or not kept[row].equals(ratings[row].astype(str)):
        return Held("ratings", "differs", f"{path.name} has other rows than the sheets")
    given = kept["rating"]
    spelled = [ratings]
    for decimal in _DECIMALS[1:]:
        try:
            spelled.append(_of_sheets(folder, Marks(decimal=decimal)))
        except MeasurandError:
            continue
    differ = min((given != one["rating"].astype(str) for one in spelled), key=lambda one: int(one.sum()))
    n_other, n_blank = int(differ.sum()), int((differ & (given == "")).sum())
    if not n_other:
        return Held("ratings", "same")
    if n_blank == n_other:
        return Held("ratings", "same", f"{n_other:,} cells of the sheets count as missing in {path.name}")
    return Held(
        "ratings", "differs", f"{n_other:,} of {len(kept):,} ratings in {path.name} are not those of the sheets"
    )


def _inputs(folder: Path, inputs: Mapping[str, Mapping[str, str]]) -> Held:
    absent, wrong = [], []
    for one in inputs.values():
        found = next((path for path in (Path(one["file"]), folder.parent / one["file"]) if path.is_file()), None)
        if found is None:
            absent.append(one["file"])
        elif sha256(found) != one["sha256"]:
            wrong.append(f"{found} has another content")
    if wrong:
        return Held("inputs", "differs", "; ".join(wrong))
    return Held("inputs", "not checked", f"not here: {', '.join(absent)}") if absent else Held("inputs", "same")


def _document(folder: Path) -> Mapping[str, Any]:
    try:
        document = json.loads((folder / PROTOCOL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
