"""Files and data frames of any kind to one plain pandas frame, text where the file has text."""

from __future__ import annotations

import csv
import gzip
import json
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pandas as pd

from measurand.data.faults import Setting, TableError
from measurand.data.marks import MARK_NAMES
from measurand.result import MeasurandError

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_SUFFIXES = ".csv, .tsv, .jsonl or .parquet (also .gz)"
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods", ".numbers")
#: Cells of a row, and characters of a cell, that a message shows.
_MOST = 6
_LONGEST = 24
#: Characters of a header that are looked at for what stands between its cells.
_MOST_OF_HEADER = 2**20


def read_table(source: Any, *, delimiter: str | None = None) -> pd.DataFrame:
    """Read a table from a file or from any data frame.

    Parameters
    ----------
    source : path, pandas.DataFrame, or any frame that narwhals reads
        CSV, TSV, JSON Lines (each also gzipped) or Parquet, told apart by suffix; or an eager or lazy frame.
    delimiter : str or None
        The character between the cells of a .csv or .tsv file; None takes a comma, and a tab in .tsv.

    Returns
    -------
    pandas.DataFrame
        Text files give text cells, exactly as they stand in the file; Parquet and frames keep their types.

    Raises
    ------
    MeasurandError
        If the file is missing, empty, not UTF-8, of one column, or ragged; if the object is no frame; if a delimiter is
        given for what has none.
    """
    if delimiter is not None and not is_delimited(source):
        raise MeasurandError(f"{_name(source)} has no delimiter, which .csv and .tsv files have; leave it out")
    if isinstance(source, pd.DataFrame):
        frame = source
    elif isinstance(source, str | Path):
        frame = _read_file(Path(source), delimiter)
    else:
        frame = _read_frame(source)
    if frame.shape[1] == 0 or len(frame) == 0:
        raise MeasurandError(f"{_name(source)}: no rows; expected a header and at least one row below it")
    names = [str(column) for column in frame.columns]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise MeasurandError(f"{_name(source)}: column {twice[0]!r} occurs twice; rename one of them")
    return frame


def is_delimited(source: Any) -> bool:
    """Tell whether a source is a text file of cells with a delimiter between them, by its suffix.

    Examples
    --------
    >>> is_delimited("ratings.csv.gz"), is_delimited("ratings.jsonl")
    (True, False)
    """
    return isinstance(source, str | Path) and _kind(Path(source)) in _DELIMITERS


def _kind(path: Path) -> str:
    """Return the suffix that says what a file is, the one before .gz of a compressed file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] == ".gz" else (suffixes or [""])[-1]


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | Path) else "the data frame"


def _read_frame(source: Any) -> pd.DataFrame:
    import narwhals as nw

    try:
        frame = nw.from_native(source)
    except TypeError as error:
        raise MeasurandError(
            f"cannot read a {type(source).__name__}; give a path or a data frame (pandas, polars, Arrow, …)"
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    converted: pd.DataFrame = frame.to_pandas()
    return converted


def _read_file(path: Path, delimiter: str | None) -> pd.DataFrame:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise MeasurandError(f"{path}: no such file") from error
    except OSError as error:
        raise MeasurandError(f"{path}: cannot be read ({error.strerror or error})") from error
    if path.is_dir():
        raise MeasurandError(f"{path} is a folder; give the file with the table")
    kind = _kind(path)
    if kind in (".parquet", ".pq"):
        return _read_parquet(path)
    if kind in _WORKBOOKS:
        one, other = Setting("delimiter", ";"), Setting("decimal", ",")
        raise TableError(
            f"{path} is a workbook; save its sheet as a file of its own, in the spreadsheet's menu under Save As: CSV "
            f"UTF-8 (.csv). Where that puts semicolons between the cells and commas before decimals, say so: {one}, "
            f"{other}",
            one,
            other,
        )
    if kind not in _DELIMITERS and kind not in (".jsonl", ".ndjson"):
        fault = f"the suffix {kind!r} is not known" if kind else "the suffix is missing"
        raise MeasurandError(f"{path}: {fault}; give {_SUFFIXES}")
    try:
        has_cells = kind in _DELIMITERS
        if has_cells and delimiter is None and _DELIMITERS[kind] == ",":
            _refuse_semicolons(path)
        frame = _read_delimited(path, delimiter or _DELIMITERS[kind]) if has_cells else _read_jsonl(path)
    except UnicodeDecodeError as error:
        raise MeasurandError(
            f"{path}: byte 0x{error.object[error.start]:02x} is not UTF-8; save the file as UTF-8"
            " (in a spreadsheet: CSV UTF-8)"
        ) from error
    except csv.Error as error:
        raise MeasurandError(f"{path}: cannot be split into cells ({error}); is a quote left open?") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise MeasurandError(f"{path}: not a complete gzip file ({error}); compress it again") from error
    except OSError as error:
        raise MeasurandError(f"{path}: cannot be read ({error.strerror or error})") from error
    return frame


def _open(path: Path) -> IO[str]:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _refuse_nul(path: Path) -> None:
    """Refuse NUL bytes, which no text has: the file is UTF-16, or damaged."""
    with gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb") as file:
        while piece := file.read(2**20):
            if b"\0" in piece:
                raise MeasurandError(
                    f"{path}: it holds NUL bytes, so that it is damaged or not UTF-8; save the file as UTF-8"
                    " (in a spreadsheet: CSV UTF-8)"
                )


def _refuse_ragged(path: Path, delimiter: str, header: list[str]) -> None:
    """Refuse the first row with more or fewer cells than the header: nobody knows which of its cells is which."""
    number = 0
    with _open(path) as file:
        rows = csv.reader(file, delimiter=delimiter)
        next(row for row in rows if row)
        start = rows.line_num + 1
        for row in rows:
            number += bool(row)
            if row and len(row) != len(header):
                raise MeasurandError(
                    f"{path}: data row {number} (the header not counted; line {start} of the file) has "
                    f"{_cells(len(row))}, the header has {len(header)} ({_shown(header)}); the row is {_shown(row)}. "
                    f"{_mend(row, len(header), delimiter)}"
                )
            start = rows.line_num + 1


def _cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"


def _shown(cells: list[str]) -> str:
    """Return the first cells of a row, each cut, as a message has them."""
    told = ", ".join(repr(cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 1]}…") for cell in cells[:_MOST])
    return told + (", …" if len(cells) > _MOST else "")


def _mend(row: list[str], n_cells: int, delimiter: str) -> str:
    if any("\n" in cell for cell in row):
        return "One of its cells goes over several lines: close the quote that was left open"
    if len(row) < n_cells:
        return "Give it all cells, blank ones too, or copy the file again if it was cut off"
    mark = f"a {MARK_NAMES[delimiter]}" if delimiter in MARK_NAMES else repr(delimiter)
    return f"Quote the cell that contains {mark}, or take the extra cell out"


def _refuse_semicolons(path: Path) -> None:
    """Refuse a header that semicolons take apart, though a name in it has a comma, too."""
    with _open(path) as file:
        # What stands in quotes separates nothing.
        line = file.readline(_MOST_OF_HEADER)
    open_part = re.sub(r'"[^"]*("|$)', "", line)
    n_commas, n_semicolons = open_part.count(","), open_part.count(";")
    # One cell alone has its own message.
    if n_commas < n_semicolons and len(next(csv.reader([line]), [])) > 1:
        one, other = Setting("delimiter", ";"), Setting("delimiter", ",")
        raise TableError(
            f"{path}: outside quotes its header has more semicolons ({n_semicolons:,}) than commas ({n_commas:,}); if "
            f"semicolons stand between the cells, say so, {one}; if commas do, {other}",
            one,
            other,
        )


def _read_delimited(path: Path, delimiter: str) -> pd.DataFrame:
    _refuse_nul(path)
    with _open(path) as file:
        header = next(csv.reader(file, delimiter=delimiter), None)
    if not header or not any(cell.strip() for cell in header):
        raise MeasurandError(f"{path}: the file is empty; expected a header and rows below it")
    if len(header) == 1:
        other = next((mark for mark in (";", "\t", "|", ",") if mark in header[0]), "")
        one = Setting("delimiter", {"\t": "tab"}.get(other, other))
        hint = (
            f"its header has {MARK_NAMES[other]}s: if they stand between the cells, say so, {one}"
            if other
            else "expected several"
        )
        raise TableError(f"{path}: one column only, {header[0][:60]!r}; {hint}", *([one] if other else []))
    if "" in (blank := [cell.strip() for cell in header]):
        # A blank name is usually the index of a saved data frame: harmless, kept under a name of its own.
        header = [name or f"column_{i + 1}" for i, name in enumerate(blank)]
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise MeasurandError(f"{path}: column {twice!r} occurs twice; rename one of them")
    with warnings.catch_warnings(), _open(path) as file:
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                file,
                sep=delimiter,
                names=header,
                header=0,
                dtype=str,
                keep_default_na=False,
                index_col=False,
                low_memory=False,
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            # Read again by a reader that can say where; what it does not find, either, is a quote that never ends.
            _refuse_ragged(path, delimiter, header)
            reason = " ".join(str(error).replace("Error tokenizing data. C error:", "").split())
            raise MeasurandError(
                f"{path}: not every row has the {len(header)} cells of the header ({reason}); is a quote left open?"
            ) from error
    if (frame.iloc[:, -1] == "").any():
        _refuse_ragged(path, delimiter, header)
    return frame


def _read_jsonl(path: Path) -> pd.DataFrame:
    # Numbers stay as they are spelled, so that an id of twenty digits survives.
    with _open(path) as file:
        return pd.DataFrame.from_records(list(_json_rows(file, path)))


def _json_rows(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(file, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=str, parse_float=str, parse_constant=str, object_pairs_hook=_once)
            if "\\u" in line:
                json.dumps(row, ensure_ascii=False).encode()
        except json.JSONDecodeError as error:
            raise MeasurandError(
                f"{path}: line {number} is not JSON ({error.msg}); expected one object a line"
            ) from error
        except RecursionError as error:
            raise MeasurandError(f"{path}: line {number} is nested too deeply; expected one object a line") from error
        except UnicodeEncodeError as error:
            raise MeasurandError(f"{path}: line {number} holds half a character (a lone surrogate); mend it") from error
        except MeasurandError as error:
            raise MeasurandError(f"{path}: line {number}: {error}") from error
        if not isinstance(row, dict):
            raise MeasurandError(f"{path}: line {number} is a {type(row).__name__}; expected one object a line")
        if nested := [key for key, value in row.items() if isinstance(value, dict | list)]:
            raise MeasurandError(f"{path}: line {number}: {nested[0]!r} is not one value; make its parts columns")
        yield row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, and refuse a key that it has twice, of which one would be lost silently."""
    out = dict(pairs)
    if len(out) < len(pairs):
        keys = [key for key, _ in pairs]
        raise MeasurandError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return out


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow.lib  # noqa: F401  (asked first: pandas' own message names neither extra nor package)
    except ImportError as error:
        raise MeasurandError("reading Parquet needs pyarrow: pip install 'measurand[parquet]'") from error
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError) as error:
        raise MeasurandError(f"{path}: not a readable Parquet file ({' '.join(str(error).split())[:200]})") from error
