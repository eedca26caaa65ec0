"""The outputs table: what each system produced for each item, what it cost, and what the item's label is."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.faults import Setting, TableError
from measurand.data.marks import DecimalMark, Marks
from measurand.data.names import natural_order
from measurand.data.ratings import ids
from measurand.data.read import read_table
from measurand.result import MeasurandError

#: Columns of whole numbers, 0 or more.
COUNTS: Final = (
    "prompt_tokens",
    "completion_tokens",
    "reasoning_tokens",
    "source_chars",
    "source_bytes",
    "source_graphemes",
    "source_words",
)
#: Columns that say something of the item, whichever system it is shown to.
OF_ITEMS: Final = ("label", "language", "group", "parallel")
_TEXTS: Final = ("text", "source_text")
_NUMBERS: Final = ("length", *COUNTS)


@dataclass(frozen=True)
class Outputs:
    """A checked table of outputs.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each item and system. Text columns `item` and `system`; `text` (blank ones are empty) or `length`,
        or both; any of the text columns `label`, `language`, `group`, `parallel`, `source_text`, empty where the table
        was blank; any of the float columns `COUNTS`, NaN where the table was blank.
    columns : mapping
        Role to the column of the table that was read for it.
    n_repeats, n_controls, n_many_labels : int
        Rows that were left out: later repeats of a cell; outputs to controls; items with several labels.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["a", "b", "a"], "system": ["S1", "S1", "S2"], "text": ["so", "so be it", "yes"]})
    >>> outputs = read_outputs(table)
    >>> len(outputs), outputs.systems, "label" in outputs
    (3, ['S1', 'S2'], False)
    >>> outputs.of(system="S1")["text"].tolist()
    ['so', 'so be it']
    """

    frame: pd.DataFrame
    columns: Mapping[str, str] = field(default_factory=dict)
    n_repeats: int = 0
    n_controls: int = 0
    n_many_labels: int = 0

    def __len__(self) -> int:
        return len(self.frame)

    def __contains__(self, column: object) -> bool:
        return column in self.frame.columns

    @property
    def systems(self) -> list[str]:
        """The systems in natural order."""
        return natural_order(list(self.frame["system"].unique()))

    @property
    def languages(self) -> list[str]:
        """The languages in natural order; one blank name where there is no such column."""
        return natural_order(list(self.frame["language"].unique())) if "language" in self else [""]

    def of(self, *, system: str | None = None, language: str | None = None) -> pd.DataFrame:
        """Return the rows of one system, one language, or both."""
        keep = np.ones(len(self.frame), dtype=bool)
        if system is not None:
            keep &= (self.frame["system"] == system).to_numpy()
        if language is not None and "language" in self:
            keep &= (self.frame["language"] == language).to_numpy()
        return self.frame[keep]


def read_outputs(
    source: Any,
    *,
    item: str | None = None,
    system: str | None = None,
    text: str | None = None,
    length: str | None = None,
    label: str | None = None,
    language: str | None = None,
    group: str | None = None,
    parallel: str | None = None,
    label_separator: str = "",
    delimiter: str | None = None,
    decimal: DecimalMark = ".",
    missing: Sequence[str] = (),
) -> Outputs:
    """Read and check a table of outputs.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, JSON Lines, Parquet (also gzipped), pandas, or any frame that narwhals reads.
    item, system, text, length, label, language, group, parallel : str or None
        The table's own names of these columns; None takes the column of that very name. Items of different languages
        that say the same share what stands under `parallel`. Without a column of systems all outputs are one system's,
        which has no name. Token counts (`prompt_tokens`, `completion_tokens`,
        `reasoning_tokens`) and what is known of the source (`source_text`, `source_chars`, `source_bytes`,
        `source_graphemes`, `source_words`) are read by these names.
    label_separator : str
        What stands between the labels of an item that has several; such items are left out and counted. Blank: a label
        is what stands in the cell.
    delimiter, decimal, missing
        How the file spells its cells, see `measurand.read_ratings`; here of lengths, counts, labels, languages, groups
        and what is parallel, never of texts.

    Returns
    -------
    Outputs
        Of a table that `measurand elicit` wrote, the outputs to the items themselves: rows with a `control` are left
        out, and of several repeats the first counts (the lowest `repeat`).

    Raises
    ------
    MeasurandError
        If a column is absent, a count is no number of 0 or more, an item has two outputs of one system, or two labels,
        languages or groups.

    Examples
    --------
    >>> table = pd.DataFrame({"item": [1], "system": ["S1"], "text": ["yes"], "label": ["joy"]})
    >>> read_outputs(table).frame.iloc[0].tolist()
    ['1', 'S1', 'yes', 'joy']
    """
    marks = Marks(delimiter, decimal, missing)
    table = read_table(source, delimiter=marks.delimiter)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    asked = {"item": item, "system": system, "text": text, "length": length}
    columns = _columns(table, asked | {"label": label, "language": language, "group": group, "parallel": parallel})
    n_controls = n_repeats = 0
    row = np.arange(1, len(table) + 1)
    if "control" in table.columns:
        kept = (table["control"].fillna("").astype(str).str.strip() == "").to_numpy()
        n_controls, table, row = int((~kept).sum()), table[kept], row[kept]
    if "repeat" in table.columns:
        kept = _first_repeats(table, columns)
        n_repeats, table, row = int((~kept).sum()), table[kept], row[kept]
    if len(table) == 0:
        raise MeasurandError(f"outputs: all {n_controls:,} rows are outputs to controls; none is to an item itself")
    out: dict[str, Any] = {"item": ids(table[columns["item"]], columns["item"], 1).astype(str).to_numpy(dtype=object)}
    if "system" in columns:
        out["system"] = ids(table[columns["system"]], columns["system"], 1).astype(str).to_numpy(dtype=object)
    else:
        out["system"] = np.full(len(table), "", dtype=object)
    names = Marks(missing=missing)
    for role in (*_TEXTS, *OF_ITEMS):
        if role in columns:
            cells = table[columns[role]]
            is_name = role in OF_ITEMS
            out[role] = _texts(names.plain(cells, columns[role]) if is_name else cells, is_name=is_name)
    for role in _NUMBERS:
        if role in columns:
            spelled = marks.plain(table[columns[role]], columns[role])
            out[role] = _counts(spelled, columns[role], row, is_whole=role != "length")
    frame = pd.DataFrame(out)
    _refuse_two(frame, row)
    n_many = 0
    if label_separator and "label" in frame:
        several = frame["label"].str.contains(label_separator, regex=False).to_numpy()
        n_many, frame = int(frame["item"][several].nunique()), frame[~several].reset_index(drop=True)
        if len(frame) == 0:
            raise MeasurandError(f"every item has several labels, with {label_separator!r} between them; none is left")
    return Outputs(frame, columns, n_repeats, n_controls, n_many)


def as_outputs(outputs: Outputs | Any) -> Outputs:
    """Return checked outputs as they are, and read anything else with the default column names."""
    return outputs if isinstance(outputs, Outputs) else read_outputs(outputs)


def _columns(table: pd.DataFrame, asked: Mapping[str, str | None]) -> dict[str, str]:
    """Return role to column, refusing what is named but absent and what is needed but missing."""
    there = ", ".join(map(repr, table.columns[:12]))
    columns: dict[str, str] = {}
    for role, name in asked.items():
        if name is not None and name not in table.columns:
            close = difflib.get_close_matches(name, list(table.columns), n=1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise TableError(f"outputs: no column {name!r} for {role}; the table has {there}{hint}")
        if (name or role) in table.columns:
            columns[role] = name or role
    columns |= {role: role for role in ("source_text", *COUNTS) if role in table.columns}
    if "item" not in columns:
        free = [column for column in table.columns if column not in columns.values()]
        one, told = Setting("item", str(free[0]) if free else ""), ", for example" if free else ""
        raise TableError(f"outputs: no column 'item'; the table has {there}. Name the right one{told} {one}", one)
    if "text" not in columns and "length" not in columns:
        text, length = Setting("text"), Setting("length")
        raise TableError(
            f"outputs: no column 'text' and none 'length'; the table has {there}. It needs what was written, or how "
            f"long it was: name the column with {text} or {length}",
            text,
            length,
        )
    taken: dict[str, str] = {}
    for role, column in columns.items():
        if column in taken:
            raise MeasurandError(
                f"outputs: column {column!r} is named both as {taken[column]} and as {role}; each needs its own"
            )
        taken[column] = role
    return columns


def _first_repeats(table: pd.DataFrame, columns: Mapping[str, str]) -> npt.NDArray[np.bool_]:
    order = pd.to_numeric(table["repeat"], errors="coerce")
    cell = [table[columns[role]].astype(str) for role in ("item", "system") if role in columns]
    first = order.groupby(cell).transform("min")
    return np.asarray(order.isna() | (order == first))


def _texts(column: pd.Series[Any], *, is_name: bool) -> npt.NDArray[np.object_]:
    texts = column.astype(object).where(column.notna(), "").astype(str)
    return (texts.str.strip() if is_name else texts).to_numpy(dtype=object)


def _counts(
    column: pd.Series[Any], name: str, row: npt.NDArray[np.int64], *, is_whole: bool
) -> npt.NDArray[np.float64]:
    blank = column.isna().to_numpy() | (column.astype(str).str.strip() == "").to_numpy()
    values = np.array(pd.to_numeric(column, errors="coerce"), dtype=float)
    wrong = ~blank & ~(np.isfinite(values) & (values >= 0))
    if is_whole:
        wrong |= ~blank & (values != np.floor(values))
    if wrong.any():
        at = int(wrong.argmax())
        kind = "whole number" if is_whole else "number"
        raise MeasurandError(
            f"outputs: column {name!r} has {str(column.iloc[at])!r} at data row {row[at]}; give a {kind} of 0 or more, "
            "or leave it blank where it is not known"
        )
    values[blank] = np.nan
    return values


def _refuse_two(frame: pd.DataFrame, row: npt.NDArray[np.int64]) -> None:
    """Refuse a second output of one system to an item, and items of two labels, languages or groups."""
    again = frame.duplicated(["item", "system"]).to_numpy()
    if again.any():
        at = int(again.argmax())
        if not frame["system"].iloc[at]:
            one = Setting("system")
            raise TableError(
                f'outputs: no column "system", and item "{frame["item"].iloc[at]}" has two outputs (data row {row[at]} '
                f"is the second); name the column of systems with {one}, or number repeats in a column `repeat`",
                one,
            )
        of = f' of system "{frame["system"].iloc[at]}"'
        raise MeasurandError(
            f'outputs: item "{frame["item"].iloc[at]}" has two outputs{of} (data row {row[at]} is the second); keep '
            "the one that is to count, or number them in a column `repeat`"
        )
    for role in OF_ITEMS:
        if role not in frame:
            continue
        first = frame.groupby("item", sort=False)[role].transform("first")
        differs = (first != frame[role]).to_numpy()
        if differs.any():
            at = int(differs.argmax())
            raise MeasurandError(
                f'outputs: item "{frame["item"].iloc[at]}" has the {role} {first.iloc[at]!r} and, at data row '
                f"{row[at]}, {frame[role].iloc[at]!r}; an item has one. Give items of different {role}s different ids"
            )
