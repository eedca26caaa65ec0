"""Tables of items and of systems: what is true of each."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import pandas as pd

from measurand.data.answers import numbers
from measurand.data.faults import Setting, TableError
from measurand.data.marks import DecimalMark, Marks
from measurand.data.ratings import ids
from measurand.data.read import read_table
from measurand.result import MeasurandError


def read_items(
    source: Any,
    *,
    item: str = "item",
    label: str | None = None,
    group: str | None = None,
    delimiter: str | None = None,
) -> pd.DataFrame:
    """Read an items table: the label that is true of each item, the group that it belongs to.

    Parameters
    ----------
    source : path or data frame
        As for `read_answers`.
    item, label, group : str or None
        The table's own names; `label` and `group` may be absent, None takes the column of that very name.
    delimiter : str or None
        What stands between the cells of a .csv or .tsv file; None takes a comma, and a tab in .tsv.

    Returns
    -------
    pandas.DataFrame
        Text columns `item` and, where there are any, `label` and `group`; other columns are kept.

    Raises
    ------
    MeasurandError
        If a named column is absent, an id blank, or an item occurs twice.

    Examples
    --------
    >>> read_items(pd.DataFrame({"item": [7], "label": ["fear"]})).iloc[0].tolist()
    ['7', 'fear']
    """
    table = read_table(source, delimiter=Marks(delimiter).delimiter)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    out: dict[str, Any] = {}
    for role, name in (("item", item), ("label", label), ("group", group)):
        column = name or role
        if column not in table.columns:
            if role == "item" or name is not None:
                listing = ", ".join(repr(one) for one in table.columns[:12])
                close = difflib.get_close_matches(column, list(table.columns), n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                one = Setting(role, str(table.columns[0]))
                told = f". Name the right one, for example {one}" if name in (None, role) and not close else hint
                raise TableError(f"items: no column {column!r} for {role}; the table has {listing}{told}", one)
            continue
        out[role] = ids(table[column], column, 1).astype(str).to_numpy(dtype=object)
    frame: pd.DataFrame = pd.DataFrame(out)
    again = frame["item"].duplicated().to_numpy()
    if again.any():
        row = int(again.argmax())
        raise MeasurandError(f'items: item "{frame["item"].iloc[row]}" occurs twice (again at data row {row + 1})')
    for column in table.columns:
        if column not in {item, label or "label", group or "group"}:
            frame[column] = table[column].to_numpy()
    return frame


def as_items(items: Any) -> pd.DataFrame:
    """Return an items table as it is, and read it from anything but a frame."""
    return items if isinstance(items, pd.DataFrame) else read_items(items)


def read_systems(
    source: Any, *, delimiter: str | None = None, decimal: DecimalMark = ".", missing: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a systems table: `system`, and any of `parameters`, `provider`, `family`, `price`.

    Parameters
    ----------
    source : path or data frame
        One row for each system.

    Returns
    -------
    pandas.DataFrame
        The table with `system` as text and `parameters`, a number of weights, as floats; other columns as they were.

    Raises
    ------
    MeasurandError
        If there is no column `system`, a system occurs twice, or `parameters` is not a positive number.

    Examples
    --------
    >>> read_systems(pd.DataFrame({"system": ["S"], "parameters": ["4e9"]}))["parameters"].tolist()
    [4000000000.0]
    """
    marks = Marks(delimiter, decimal, missing)
    table = read_table(source, delimiter=marks.delimiter)
    table = table.set_axis([str(column) for column in table.columns], axis=1).reset_index(drop=True)
    if "system" not in table.columns:
        raise MeasurandError(f"systems: no column 'system'; the table has {', '.join(map(repr, table.columns[:12]))}")
    frame = table.copy()
    frame["system"] = ids(table["system"], "system", 1).astype(str).to_numpy(dtype=object)
    again = frame["system"].duplicated().to_numpy()
    if again.any():
        raise MeasurandError(f'systems: system "{frame["system"].iloc[int(again.argmax())]}" occurs twice')
    if "parameters" in frame:
        values = numbers(marks.plain(table["parameters"], "parameters"), "parameters", is_count=False)
        if (values <= 0).any():
            row = int((values <= 0).argmax())
            raise MeasurandError(f"systems: {values[row]:g} parameters at data row {row + 1}; give a positive number")
        frame["parameters"] = values
    return frame
