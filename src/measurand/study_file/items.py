"""What a study shows and asks about: its items with their pictures, and its criteria."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pandas as pd

from measurand.data import read_items
from measurand.data.ratings import ids
from measurand.data.read import read_table
from measurand.eliciting.controls import media_type
from measurand.eliciting.declared import Item
from measurand.eliciting.presets import criteria_of
from measurand.result import MeasurandError
from measurand.study_file.errors import did_you_mean, in_study
from measurand.study_file.tables import DataTable

#: More missing pictures than this are counted and not listed.
_MOST_LISTED: Final = 3


#: Bytes of a file that tell which kind of image it is.
_HEAD: Final = 64


@dataclass(frozen=True)
class ItemsTable:
    """The items of a study, pictures as files that are there and not yet read.

    Parameters
    ----------
    names : list of str
        Ids, in the order of the table.
    texts : list of str
        Texts; blank where an item has none.
    pictures : list of Path or None
        Image files; None where an item has none.
    source : Path
        The items table's file.
    """

    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    pictures: list[Path | None] = field(default_factory=list)
    source: Path = Path()

    def __len__(self) -> int:
        return len(self.names)

    def items(self) -> list[Item]:
        """Return the items; of a picture only the first bytes are looked at, the rest is read when it is shown.

        Raises
        ------
        MeasurandError
            If a picture can't be read, or is no image.
        """
        seen: set[Path] = set()
        for row, path in enumerate(self.pictures, start=1):
            if path is None or path in seen:
                continue
            seen.add(path)
            where = f"{self.source}: data row {row}: {path}"
            try:
                with path.open("rb") as file:
                    head = file.read(_HEAD)
            except OSError as error:
                raise MeasurandError(f"{where} cannot be read ({error.strerror or error})") from error
            media_type(head, where)
        return [Item(name, text, path) for name, text, path in zip(self.names, self.texts, self.pictures, strict=True)]


def read_items_table(data: DataTable, base: Path) -> ItemsTable:
    """Read the items table and look whether the pictures are there.

    Parameters
    ----------
    data : DataTable
        Section [data].
    base : Path
        The study file's folder, from which the table's path starts; pictures start from the table's folder.

    Raises
    ------
    MeasurandError
        Absent columns, items with neither text nor picture, pictures that are not there: with the row.
    """
    path = base / data.items
    columns = data.columns
    try:
        frame = read_items(
            path,
            item=columns.item,
            label=columns.label,
            group=columns.group,
            delimiter=data.marks("items", path).delimiter,
        )
    except MeasurandError as error:
        told = in_study(error).removeprefix("items: ")
        raise MeasurandError(told if told.startswith(str(path)) else f"{path}: {told}") from error
    for role, name in (("text", columns.text), ("image", columns.image)):
        if name is not None and name not in frame:
            there = [str(one) for one in frame.columns]
            raise MeasurandError(
                f"{path}: no column {name!r} for {role}; the table has {', '.join(map(repr, there[:12]))}"
                + did_you_mean(name, there)
            )
    texts = _cells(frame, columns.text or "text")
    images = _cells(frame, columns.image or "image")
    for row, (text, image) in enumerate(zip(texts, images, strict=True), start=1):
        if not text.strip() and not image:
            raise MeasurandError(
                f'{path}: data row {row}: item "{frame["item"].iloc[row - 1]}" has neither text nor image, so that '
                "nothing would be shown; name their columns ([data] columns = { text = …, image = … }) or leave it out"
            )
    folder = path.parent
    pictures = [folder / image if image else None for image in images]
    absent = [(row, found) for row, found in enumerate(pictures, start=1) if found is not None and not found.is_file()]
    if absent:
        row, found = absent[0]
        more = (
            f" ({len(absent):,} of {sum(bool(one) for one in images):,} pictures are not there)" if absent[1:] else ""
        )
        raise MeasurandError(
            f"{path}: data row {row}: no file {found}{more}; image paths start from the items table's folder"
        )
    return ItemsTable([str(name) for name in frame["item"]], texts, pictures, path)


def _cells(frame: pd.DataFrame, column: str) -> list[str]:
    """Return a column as texts, blanks where it or its cells are missing."""
    if column not in frame:
        return [""] * len(frame)
    return ["" if pd.isna(value) else str(value) for value in frame[column]]


def read_criteria(
    data: DataTable, base: Path, *, preset: str = "", needed: bool = True
) -> tuple[list[str], list[Path]]:
    """Return the criteria, and the files that they were read from.

    Parameters
    ----------
    data : DataTable
        Section [data].
    base : Path
        The study file's folder.
    preset : str
        The preset whose criteria are asked about where [data] names none; blank for none.
    needed : bool
        Whether anything is asked about criteria; then they are those that people rated, where nothing else names them.

    Raises
    ------
    MeasurandError
        If the file, the column or the preset is not there, or two criteria are the same.
    """
    given: Any = data.criteria
    if given is None and preset:
        return list(criteria_of(preset)), []
    if given is None:
        return _of_ratings(data, base, data.columns.criterion or "criterion") if needed and data.ratings else ([], [])
    if isinstance(given, list):
        return _once(list(given), "data.criteria"), []
    if given.preset is not None:
        if not (known := criteria_of(given.preset)) and needed:
            raise MeasurandError(f"data.criteria: the preset {given.preset!r} asks for texts and has none; name them")
        return list(known), []
    if given.column is not None:
        return _of_ratings(data, base, given.column)
    path = base / given.file
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise MeasurandError(f"{path} is not UTF-8; save it as UTF-8, one criterion a line") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise MeasurandError(f"data.criteria: {path} cannot be read ({reason}); it has one criterion a line") from error
    if not (names := [line.strip() for line in lines if line.strip()]):
        raise MeasurandError(f"{path} is empty; give one criterion a line")
    return _once(names, str(path)), [path]


def _of_ratings(data: DataTable, base: Path, column: str) -> tuple[list[str], list[Path]]:
    if data.ratings is None:
        raise MeasurandError("data.criteria names a column of the ratings, but [data] has no ratings; add their file")
    path = base / data.ratings
    try:
        table = read_table(path, delimiter=data.marks("ratings", path).delimiter)
    except MeasurandError as error:
        raise MeasurandError(in_study(error)) from error
    there = [str(one) for one in table.columns]
    if column not in there:
        raise MeasurandError(
            f"{path}: no column {column!r} for criteria; the table has {', '.join(map(repr, there[:12]))}"
            f"{did_you_mean(column, there)} Name the column ([data] columns = {{ criterion = … }}) or the criteria "
            '(criteria = ["joy", …])'
        )
    found = ids(table.set_axis(there, axis=1)[column], column, 1)
    return [str(name) for name in found.cat.categories], [path]


def _once(names: list[str], where: str) -> list[str]:
    if again := [name for i, name in enumerate(names) if name in names[:i]]:
        raise MeasurandError(f"{where}: {again[0]!r} occurs twice; answers are told apart by it, so leave one out")
    return names
