"""A sample's folder: one sheet for each rater, the key apart from them, the protocol; and the sheets read again."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from measurand.data.marks import DecimalMark, Marks
from measurand.data.read import read_table
from measurand.data.scale import Scale, as_number
from measurand.folders import in_place_of, write_file
from measurand.planning.drawing import SCHEMA, Sample
from measurand.result import MeasurandError
from measurand.sentences import listed
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
README: Final = "README.txt"
_MOST_NAMED: Final = 5
#: A number with a decimal comma, and one whose comma may as well stand between thousands.
_COMMA: Final = re.compile(r"[+-]?[0-9]*,[0-9]+")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


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


def write_sample(sample: Sample, out: Path, *, about: Mapping[str, Any], delimiter: str | None = None) -> None:
    """Write a sample's folder, whole or not at all.

    Parameters
    ----------
    sample : Sample
        What was drawn.
    out : Path
        A new or empty folder. `sheets/` goes to the raters, one file each, with `README.txt`, which says how to fill
        one in; `key.csv` and `protocol.json` stay.
    about : mapping
        What else the protocol is to say: versions, hashes of the inputs (JSON values).
    delimiter : str or None
        What stands between the cells of the sheets, for spreadsheets that expect another mark than the comma, which
        None takes. Sheets begin with a byte order mark: without one some spreadsheets garble all but plain letters.

    Raises
    ------
    MeasurandError
        If the folder is not free, or cannot be written; if the delimiter is none.
    """
    check_folder(out)
    mark = Marks(delimiter).delimiter
    with in_place_of(out) as folder:
        (folder / SHEETS).mkdir()
        for rater, sheet in sample.sheets.items():
            _write_csv(sheet, folder / SHEETS / f"{rater}.csv", encoding="utf-8-sig", delimiter=mark or ",")
        _write_csv(sample.key, folder / KEY)
        (folder / README).write_text(_instructions(sample), encoding="utf-8", newline="\n")
        files = {name: _sha256(folder / name) for name in (KEY, README)}
        files |= {f"{SHEETS}/{rater}.csv": _sha256(folder / SHEETS / f"{rater}.csv") for rater in sample.sheets}
        document = {**sample.protocol, **about, "files": files}
        if mark is not None:
            document["delimiter"] = mark
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        (folder / PROTOCOL).write_text(text, encoding="utf-8", newline="\n")


def _instructions(sample: Sample) -> str:
    """Return what raters are told."""
    scales = {name: Scale(**one) for name, one in sample.protocol["scales"].items()}
    grades = list(sample.protocol["criteria"]) or ["rating"]
    columns = f"the column {grades[0]}" if len(grades) == 1 else f"the columns {', '.join(grades)}"
    told = [f"  {name}: {scales[name].describe() if name in scales else 'any number'}" for name in grades]
    if len(grades) == 1:
        told = [f"  {scales[grades[0]].describe()}"] if scales else []
    elsewhere = "The outputs are not in the sheet: you are shown them elsewhere, each under its item and its code."
    return "\n".join(
        [
            "How to fill in a sheet",
            "",
            f"Each row is one output to one item. Put your rating into {columns}.",
            *([] if shows_outputs(sample) else [elsewhere]),
            *(["Permitted ratings:", *told] if told else []),
            "",
            "Leave a cell blank if you cannot or do not want to rate: a blank is a missing rating, never a 0.",
            "Letters stand for those who made the outputs; a letter is another one's on the next item.",
            "Rate in the order of the rows. You may sort rows and add columns of your own, but change none of ours.",
            "Save as CSV under the same name (in a spreadsheet: CSV UTF-8) and send it back.",
            "Semicolons between cells and decimal commas, which some spreadsheets write, are understood.",
            "",
        ]
    )


def shows_outputs(sample: Sample) -> bool:
    """Return whether raters can read on their sheets what they rate."""
    return any("output" in sheet for sheet in sample.sheets.values())


def _write_csv(frame: pd.DataFrame, path: Path, *, encoding: str = "utf-8", delimiter: str = ",") -> None:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([harmless(str(column)) for column in frame.columns])
        for row in frame.itertuples(index=False):
            writer.writerow([harmless(str(cell)) for cell in row])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def collect(
    folder: Path,
    marks: Marks | None = None,
    *,
    decimals: Mapping[str, DecimalMark] | None = None,
    blank_sheets: bool = False,
) -> pd.DataFrame:
    """Return the ratings of a sample whose sheets have come back.

    Parameters
    ----------
    folder : Path
        What `write_sample` wrote, with the filled sheets in the place of the blank ones. Rows may be sorted anew and
        columns added; blank ratings stay blank. A spreadsheet may have put semicolons or tabs between the cells: the
        header, which is ours, tells.
    marks : Marks or None
        How the ratings are spelled: what stands for a missing one, and their decimal mark. A comma holds for all
        sheets. With a point each sheet may have either mark, if its own ratings tell which: ``4,5`` is a decimal comma,
        ``1,000`` is one only where semicolons stand between the cells or another rating has a clear one.
    decimals : mapping or None
        Decimal marks of single sheets, by file name (``"R2.csv"``), which hold whatever the ratings look like.
    blank_sheets : bool
        Whether sheets without any rating are taken, too.

    Returns
    -------
    pandas.DataFrame
        Text columns `item`, `system`, `rater`, `criterion` where there are any, `rating`, and `position`, the order in
        which the rater saw the cells: what `measurand audit --order position` reads.

    Raises
    ------
    MeasurandError
        If the folder is no sample, its key was changed, a sheet is missing or wholly blank, rows are not those that
        were handed out, a sheet has decimal commas and points, or ratings are none of the scale with which the sample
        was drawn.
    """
    return _ratings_of(returned(folder, marks, decimals=decimals), folder, blank_sheets=blank_sheets)


def _ratings_of(sheets: Sequence[Returned], folder: Path, *, blank_sheets: bool) -> pd.DataFrame:
    """Return the ratings of all sheets, if none is blank or has a rating that is not permitted."""
    if not blank_sheets and (blank := [sheet.path.name for sheet in sheets if (sheet.ratings["rating"] == "").all()]):
        raise MeasurandError(
            f"{folder / SHEETS}: {listed(blank, most=_MOST_NAMED)} {'is' if len(blank) == 1 else 'are'} blank from top "
            "to bottom: put the filled sheets in their place, or, if there are none, ask for blank ones, too "
            "(`--blank-sheets`)"
        )
    wrong = [fault for sheet in sheets for fault in sheet.faults]
    if wrong:
        more = f"; and {len(wrong) - _MOST_NAMED:,} more" if len(wrong) > _MOST_NAMED else ""
        raise MeasurandError(
            f"{len(wrong):,} rating{'' if len(wrong) == 1 else 's'} that this sample does not permit: "
            f"{'; '.join(wrong[:_MOST_NAMED])}{more}. Correct them, leave the cells blank, or say what stands for a "
            "missing rating (`--missing`)"
        )
    return pd.concat([sheet.ratings for sheet in sheets], ignore_index=True)


class Returned(NamedTuple):
    """A sheet that came back: where it lies, its ratings, those not permitted in words, and its decimal mark."""

    path: Path
    ratings: pd.DataFrame
    faults: Sequence[str]
    decimal: DecimalMark


def returned(
    folder: Path, marks: Marks | None = None, *, decimals: Mapping[str, DecimalMark] | None = None
) -> list[Returned]:
    """Return the sheets of a sample, held against its key; their ratings may be blank, or none of the scale.

    Raises
    ------
    MeasurandError
        As `collect`, but for what the ratings are.
    """
    protocol = _protocol(folder)
    if _sha256(folder / KEY) != protocol["files"][KEY]:
        raise MeasurandError(f"{folder / KEY} is not the key that was written with this sample; put that one back")
    key = _text_table(folder / KEY)
    key = key.apply(lambda column: column.map(as_it_was))
    scales = {name: Scale(**one) for name, one in protocol.get("scales", {}).items()}
    mark = protocol.get("delimiter")
    issued = _Issued(protocol["criteria"], scales, mark if isinstance(mark, str) and len(mark) == 1 else None)
    of_sheets = decimals or {}
    return [
        _sheet(folder / SHEETS / f"{rater}.csv", of_rater, issued, marks or Marks(), of_sheets.get(f"{rater}.csv"))
        for rater, of_rater in key.groupby("rater", sort=False)
    ]


class _Issued(NamedTuple):
    """What the protocol says of all sheets."""

    criteria: Sequence[str]
    scales: Mapping[str, Scale]
    delimiter: str | None


class Collected(NamedTuple):
    """Ratings of a sample: where they were written, and the sheets (by name) whose decimal commas became points."""

    path: Path
    ratings: pd.DataFrame
    with_commas: Sequence[str]


def collected(
    folder: Path,
    marks: Marks | None = None,
    *,
    decimals: Mapping[str, DecimalMark] | None = None,
    blank_sheets: bool = False,
) -> Collected:
    """Write the ratings of a sample beside its sheets, as `ratings.csv`; see `collect`.

    Raises
    ------
    MeasurandError
        As `collect`, and if the ratings are there already.
    """
    path = folder / RATINGS
    if path.exists() or path.is_symlink():
        raise MeasurandError(f"{path} is there already and is not overwritten; move it away to collect again")
    sheets = returned(folder, marks, decimals=decimals)
    ratings = _ratings_of(sheets, folder, blank_sheets=blank_sheets)
    write_file(path, lambda part: ratings.to_csv(part, index=False, lineterminator="\n"))
    return Collected(path, ratings, [sheet.path.name for sheet in sheets if sheet.decimal == ","])


def scales_of(folder: Path) -> tuple[Sequence[str], Mapping[str, Scale]]:
    """Return what a sample grades, `rating` where there are no criteria, and the scales with which it was drawn."""
    protocol = _protocol(folder)
    scales = {name: Scale(**one) for name, one in protocol.get("scales", {}).items()}
    return list(protocol["criteria"]) or ["rating"], scales


def _protocol(folder: Path) -> Mapping[str, Any]:
    try:
        document = json.loads((folder / PROTOCOL).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise MeasurandError(f"{folder} is no sample: it has no {PROTOCOL} of measurand") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise MeasurandError(f"{folder / PROTOCOL} is no protocol of a sample that this version reads")
    files, criteria, scales = document.get("files"), document.get("criteria"), document.get("scales", {})
    is_whole = isinstance(files, dict) and isinstance(files.get(KEY), str) and isinstance(scales, dict)
    if not is_whole or not isinstance(criteria, list) or not all(isinstance(name, str) for name in criteria):
        raise MeasurandError(
            f"{folder / PROTOCOL} is not whole: it lacks the hashes of the files, or what was graded; put back the one "
            "that was written with this sample"
        )
    if not (folder / KEY).is_file():
        raise MeasurandError(f"{folder / KEY} is missing: without it nobody knows which system a letter stands for")
    return document


def _text_table(path: Path, delimiter: str | None = None) -> pd.DataFrame:
    frame: pd.DataFrame = read_table(path, delimiter=delimiter).fillna("").astype(str)
    return frame


def _delimiter_of(path: Path, issued: str | None) -> str | None:
    """Return what stands between the cells of a sheet, by our columns in its header; None if no mark brings them."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        text = file.read(_HEADER)
    for mark in dict.fromkeys([issued or ",", *_DELIMITERS]):
        cells = next(csv.reader(text.splitlines(keepends=True), delimiter=mark), [])
        if set(_OURS) <= {as_it_was(cell.strip()).casefold() for cell in cells}:
            return mark
    return None


def _named(sheet: pd.DataFrame, path: Path, wanted: Sequence[str]) -> pd.DataFrame:
    """Return a sheet with our names for our columns, which may have come back with other capitals and spaces.

    Raises
    ------
    MeasurandError
        If a column is absent, or there are several that could be it.
    """
    written = [as_it_was(str(column).strip()) for column in sheet.columns]
    names = list(written)
    for column in wanted:
        exact = [at for at, name in enumerate(written) if name == column]
        # Another criterion may differ from it in nothing but capitals.
        like = [at for at, name in enumerate(written) if name.casefold() == column.casefold() and name not in wanted]
        found = exact or like
        if not found:
            raise MeasurandError(f"{path}: no column {column!r}; it has {', '.join(map(repr, written[:12]))}")
        if len(found) > 1:
            told = ", ".join(repr(str(sheet.columns[at])) for at in found)
            raise MeasurandError(f"{path}: columns {told} may all be {column!r}; keep the one that counts")
        names[found[0]] = column
    return sheet.set_axis(pd.Index(names), axis=1)


def _sheet(path: Path, key: pd.DataFrame, issued: _Issued, marks: Marks, decimal: DecimalMark | None) -> Returned:
    """Return the ratings of one sheet, row by row held against the key."""
    if not path.is_file():
        raise MeasurandError(f"{path} is missing: put the blank sheet back if its rater gave nothing")
    grades, scales = list(issued.criteria) or ["rating"], issued.scales
    delimiter = _delimiter_of(path, issued.delimiter) or marks.delimiter
    sheet = _named(_text_table(path, delimiter), path, (*_OURS, *grades))
    _check_rater(sheet, path, str(key["rater"].iloc[0]))
    by_position = _by_position(sheet, path, len(key))
    order = []
    for position, item, code in zip(key["position"], key["item"], key["code"], strict=True):
        if position not in by_position:
            raise MeasurandError(f"{path}: no row with position {position}; put it back, blank if it was not rated")
        at = by_position[position]
        for column, handed in (("item", item), ("code", code)):
            if not _same(sheet[column].iloc[at], handed):
                raise MeasurandError(
                    f"{path}: position {position} has the {column} {sheet[column].iloc[at]!r}, and was handed out as "
                    f"{handed!r}; a column may have been sorted without the others"
                )
        order.append(at)
    cells = {column: sheet[column].str.strip() for column in grades}
    told = decimal or ("," if marks.decimal == "," else _decimal_of(cells, scales, marks, delimiter == ";"))
    marks = replace(marks, decimal="," if told == "," else ".")
    plain = {name: key[name].to_numpy() for name in ("item", "system", "rater")}
    position = key["position"].to_numpy()
    blocks, faults = [], []
    for column in grades:
        block = pd.DataFrame(plain)
        if issued.criteria:
            block["criterion"] = column
        labels = scales[column].labels if column in scales else ()
        try:
            spelled = marks.plain(cells[column], column, labels=labels)
        except MeasurandError as error:
            raise MeasurandError(f"{path}: {error}") from error
        block["rating"] = spelled.iloc[order].to_numpy()
        block["position"] = position
        blocks.append(block)
        open_ones = {} if told else _open(spelled, labels, path)
        faults += [f"{path.name}, data row {at + 1}, {column}: {why}" for at, why in open_ones.items()]
        if column in scales:
            held = [at for at in order if at not in open_ones]
            faults += _outside(spelled.iloc[held], held, column, scales[column], path)
    return Returned(path, pd.concat(blocks, ignore_index=True), faults, marks.decimal)


def _decimal_of(
    cells: Mapping[str, pd.Series[str]], scales: Mapping[str, Scale], marks: Marks, has_semicolons: bool
) -> DecimalMark | None:
    """Return the decimal mark of a sheet, as its ratings tell it; None where they do not."""
    gone = {text.lower() for text in marks.missing}
    texts = [
        text
        for column, ratings in cells.items()
        for text in ratings
        if text.lower() not in gone and not (column in scales and text in scales[column].labels)
    ]
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    if not commas:
        return "."
    if any("." in text and as_number(text) is not None for text in texts):
        return None
    return "," if has_semicolons or not all(map(_THOUSANDS.fullmatch, commas)) else None


def _open(ratings: pd.Series[str], labels: Collection[str], path: Path) -> dict[int, str]:
    """Return by row which ratings with a comma cannot be read, in a sheet that does not tell its decimal mark."""
    found = {}
    for at, text in enumerate(ratings):
        if text in labels or not _COMMA.fullmatch(text):
            continue
        meant = (
            f"{text!r} has a comma before decimals or between thousands: write it without one, or say that decimals "
            f"are meant (`--decimal {path.name}=,`)"
        )
        mixed = f"{text!r} has a comma, and other ratings of this sheet have decimal points: write them alike"
        found[at] = meant if _THOUSANDS.fullmatch(text) else mixed
    return found


def _check_rater(sheet: pd.DataFrame, path: Path, rater: str) -> None:
    """Refuse another rater's sheet under this one's name; sheets of earlier versions do not name theirs."""
    if "rater" not in sheet.columns or not isinstance(sheet["rater"], pd.Series):
        return
    for at, cell in enumerate(sheet["rater"]):
        if cell.strip() not in ("", rater):
            raise MeasurandError(
                f"{path}: data row {at + 1} is of the sheet of {cell.strip()!r}, and this is the place of {rater!r}; "
                "put each sheet back under its own name"
            )


def _outside(ratings: pd.Series[str], order: Sequence[int], column: str, scale: Scale, path: Path) -> list[str]:
    """Return in words which ratings a scale does not permit."""
    found = []
    for text, at in zip(ratings, order, strict=True):
        if scale.is_missing(text):
            continue
        try:
            scale.convert(text)
        except MeasurandError as error:
            found.append(f"{path.name}, data row {at + 1}, {column}: {error}")
    return found


def _by_position(sheet: pd.DataFrame, path: Path, n: int) -> dict[str, int]:
    found: dict[str, int] = {}
    is_blank = (sheet.apply(lambda column: column.str.strip()) == "").all(axis=1).to_numpy()
    for at, cell in enumerate(sheet["position"]):
        if is_blank[at]:
            continue
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
