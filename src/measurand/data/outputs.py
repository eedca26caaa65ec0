"""The outputs table: what each system produced for each item."""

from __future__ import annotations

from typing import Any

import pandas as pd

from measurand.data.ratings import ids
from measurand.data.read import read_table
from measurand.result import MeasurandError


def read_outputs(source: Any, *, item: str = "item", system: str = "system", text: str = "text") -> pd.DataFrame:
    """Read a table of outputs.

    Parameters
    ----------
    source : path or data frame
        CSV, TSV, JSON Lines, Parquet (also gzipped), pandas, or any frame that narwhals reads.
    item, system, text : str
        The table's own names of these columns.

    Returns
    -------
    pandas.DataFrame
        Text columns `item`, `system`, `text`; blank texts are kept as empty. Of a table that `measurand elicit` wrote,
        the outputs to the items themselves: rows with a `control` are left out, and of several repeats the first counts
        (the lowest `repeat`).

    Raises
    ------
    MeasurandError
        If a column is absent or an item has two outputs of one system.

    Examples
    --------
    >>> read_outputs(pd.DataFrame({"item": [1], "system": ["S1"], "text": ["yes"]})).iloc[0].tolist()
    ['1', 'S1', 'yes']
    """
    table = read_table(source)
    table = table.set_axis([str(column) for column in table.columns], axis=1)
    for name in (item, system, text):
        if name not in table.columns:
            raise MeasurandError(
                f"outputs: no column {name!r}; the table has {', '.join(map(repr, table.columns[:12]))}. It needs "
                "item, system and text"
            )
    if "control" in table.columns:
        table = table[table["control"].fillna("").astype(str).str.strip() == ""]
    if "repeat" in table.columns:
        order = pd.to_numeric(table["repeat"], errors="coerce")
        first = order.groupby([table[item].astype(str), table[system].astype(str)]).transform("min")
        table = table[order.isna() | (order == first)]
    out = pd.DataFrame(
        {
            "item": ids(table[item], item, 1).astype(str).to_numpy(),
            "system": ids(table[system], system, 1).astype(str).to_numpy(),
            "text": table[text].fillna("").astype(str).to_numpy(),
        }
    )
    again = out.duplicated(["item", "system"])
    if again.any():
        row = int(again.to_numpy().argmax())
        raise MeasurandError(
            f'outputs: item "{out["item"].iloc[row]}" has two outputs of system "{out["system"].iloc[row]}" (data '
            f"row {row + 1} is the second); keep the one that was rated"
        )
    return out
