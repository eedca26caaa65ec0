"""A sample's folder: one sheet for each rater, the key apart from them, the protocol; and the sheets read again."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from measurand.data.marks import Marks
from measurand.data.read import read_table
from measurand.data.scale import as_number
from measurand.folders import in_place_of, write_file
from measurand.planning.drawing import SCHEMA, Sample
from measurand.result import MeasurandError
from measurand.spreadsheets import as_it_was, harmless

PROTOCOL: Final = "protocol.json"
KEY: Final = "key.csv"
SHEETS: Final = "sheets"
#: Columns that every sheet has, and what a spreadsheet may put between them.
_OURS: Final = ("position", "item", "code")
_DELIMITERS: Final = (",", ";", "\t")
#: Characters within which a header ends.
_HEADER: Final = 2**16
RATINGS: Final = "ratings.csv"


def check_folder(out: Path) -> None:
    """Refuse a folder that a sample may not take, before any work is done.

    Raises
    ------
    MeasurandError
        If there is something in its place, also an earlier sample: nothing is ever overwritten.
    """
    if not out.name or out.name == "..":
        raise MeasurandError(f"{out} has no name of its own that a sample could take; give a folder's name")
    if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
        raise MeasurandError(f"{out} is there already, and a sample never takes another's place; give a new folder")


def write_sample(sample: Sample, out: Path, *, about: Mapping[str, Any]) -> None:
    """Write a sample's folder, whole or not at all.

    Parameters
    ----------
    sample : Sample
        What was drawn.
    out : Path
        A new or empty folder. `sheets/` goes to the raters, one file each; `key.csv` and `protocol.json` stay.
    about : mapping
        What else the protocol is to say: versions, hashes of the inputs (JSON values).

    Raises
    ------
    MeasurandError
        If the folder is not free, or cannot be written.
    """
    check_folder(out)
    with in_place_of(out) as folder:
        (folder / SHEETS).mkdir()
        for rater, sheet in sample.sheets.items():
            _write_csv(sheet, folder / SHEETS / f"{rater}.csv")
        _write_csv(sample.key, folder / KEY)
        files = {KEY: _sha256(folder / KEY)}
        files |= {f"{SHEETS}/{rater}.csv": _sha256(folder / SHEETS / f"{rater}.csv") for rater in sample.sheets}
        document = {**sample.protocol, **about, "files": files}
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        (folder / PROTOCOL).write_text(text, encoding="utf-8", newline="\n")


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([harmless(str(column)) for column in frame.columns])
        for row in frame.itertuples(index=False):
            writer.writerow([harmless(str(cell)) for cell in row])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def collect(folder: Path, marks: Marks | None = None) -> pd.DataFrame:
    """Return the ratings of a sample whose sheets have come back.

    Parameters
    ----------
    folder : Path
        What `write_sample` wrote, with the filled sheets in the place of the blank ones. Rows may be sorted anew and
        columns added; blank ratings stay blank. A spreadsheet may have put semicolons or tabs between the cells: the
        header, which is ours, tells.
    marks : Marks or None
        How the ratings are spelled: their decimal mark, and what stands for a missing one.

    Returns
    -------
    pandas.DataFrame
        Text columns `item`, `system`, `rater`, `criterion` where there are any, `rating`, and `position`, the order in
        which the rater saw the cells: what `measurand audit --order position` reads.

    Raises
    ------
    MeasurandError
        If the folder is no sample, its key was changed, a sheet is missing, or rows are not those that were handed out.
    """
    protocol = _protocol(folder)
    if _sha256(folder / KEY) != protocol["files"][KEY]:
        raise MeasurandError(f"{folder / KEY} is not the key that was written with this sample; put that one back")
    key = _text_table(folder / KEY)
    key = key.apply(lambda column: column.map(as_it_was))
    parts = [
        _sheet(folder / SHEETS / f"{rater}.csv", of_rater, protocol["criteria"], marks or Marks())
        for rater, of_rater in key.groupby("rater", sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def collected(folder: Path, marks: Marks | None = None) -> tuple[Path, pd.DataFrame]:
    """Write the ratings of a sample beside its sheets, as `ratings.csv`; see `collect`.

    Raises
    ------
    MeasurandError
        As `collect`, and if the ratings are there already.
    """
    path = folder / RATINGS
    if path.exists() or path.is_symlink():
        raise MeasurandError(f"{path} is there already and is not overwritten; move it away to collect again")
    ratings = collect(folder, marks)
    write_file(path, lambda part: ratings.to_csv(part, index=False, lineterminator="\n"))
    return path, ratings


def _protocol(folder: Path) -> Mapping[str, Any]:
    try:
        document = json.loads((folder / PROTOCOL).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MeasurandError(f"{folder} is no sample: it has no {PROTOCOL} of measurand") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise MeasurandError(f"{folder / PROTOCOL} is no protocol of a sample that this version reads")
    if not (folder / KEY).is_file():
        raise MeasurandError(f"{folder / KEY} is missing: without it nobody knows which system a letter stands for")
    return document


def _text_table(path: Path, delimiter: str | None = None) -> pd.DataFrame:
    frame: pd.DataFrame = read_table(path, delimiter=delimiter).fillna("").astype(str)
    return frame


def _delimiter_of(path: Path) -> str | None:
    """Return what stands between the cells of a sheet, by our columns in its header; None if no mark brings them."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        text = file.read(_HEADER)
    for mark in _DELIMITERS:
        cells = next(csv.reader(text.splitlines(keepends=True), delimiter=mark), [])
        if set(_OURS) <= {as_it_was(cell.strip()) for cell in cells}:
            return mark
    return None


def _sheet(path: Path, key: pd.DataFrame, criteria: Sequence[str], marks: Marks) -> pd.DataFrame:
    """Return the ratings of one sheet, row by row held against the key."""
    if not path.is_file():
        raise MeasurandError(f"{path} is missing: put the blank sheet back if its rater gave nothing")
    sheet = _text_table(path, _delimiter_of(path))
    sheet.columns = pd.Index([as_it_was(str(column).strip()) for column in sheet.columns])
    grades = list(criteria) or ["rating"]
    for column in (*_OURS, *grades):
        if column not in sheet.columns:
            raise MeasurandError(f"{path}: no column {column!r}; it has {', '.join(map(repr, sheet.columns[:12]))}")
    by_position = _by_position(sheet, path, len(key))
    order = []
    for position, item, code in zip(key["position"], key["item"], key["code"], strict=True):
        if position not in by_position:
            raise MeasurandError(f"{path}: no row with position {position}; put it back, blank if it was not rated")
        at = by_position[position]
        for column, issued in (("item", item), ("code", code)):
            if not _same(sheet[column].iloc[at], issued):
                raise MeasurandError(
                    f"{path}: position {position} has the {column} {sheet[column].iloc[at]!r}, and was handed out as "
                    f"{issued!r}; a column may have been sorted without the others"
                )
        order.append(at)
    rows = sheet.iloc[order].reset_index(drop=True)
    plain = {name: key[name].to_numpy() for name in ("item", "system", "rater")}
    position = key["position"].to_numpy()
    blocks = []
    for column in grades:
        block = pd.DataFrame(plain)
        if criteria:
            block["criterion"] = column
        block["rating"] = marks.plain(rows[column].str.strip(), column).to_numpy()
        block["position"] = position
        blocks.append(block)
    return pd.concat(blocks, ignore_index=True)


def _by_position(sheet: pd.DataFrame, path: Path, n: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, cell in enumerate(sheet["position"]):
        value = as_number(cell)
        if value is None or not float(value).is_integer() or not 1 <= value <= n:
            raise MeasurandError(f"{path}: {cell!r} in data row {at + 1} is no position; this sheet has 1 to {n}")
        name = str(int(value))
        if name in found:
            raise MeasurandError(f"{path}: position {name} stands in data rows {found[name] + 1} and {at + 1}")
        found[name] = at
    return found


def _same(cell: str, issued: str) -> bool:
    """Whether a cell that came back is the one that was handed out; spreadsheets rewrite numbers and spaces."""
    if cell in (issued, harmless(issued)) or " ".join(cell.split()) == " ".join(issued.split()):
        return True
    a, b = as_number(cell), as_number(issued)
    return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9)
