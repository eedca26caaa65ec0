"""Ratings and answers that grade outputs: each output, an item of one system, becomes an item of its own."""

from __future__ import annotations

import pandas as pd

from measurand.data.faults import Setting, TableError
from measurand.data.ratings import ids
from measurand.result import MeasurandError

#: What stands between the item and the system in the id of an output.
BETWEEN = "|"


def outputs_as_items(
    table: pd.DataFrame, *, item: str, system: str, groups: pd.Series[str] | None = None
) -> pd.DataFrame:
    """Return a table in which each item is one output, named ``item|system``, and its group is what it answers.

    Where raters graded what systems produced, and models judged the same outputs, models are scored as judges: an
    output is what both graded. Outputs to one item are not independent, so that the item is the group that intervals
    redraw as a whole.

    Parameters
    ----------
    table : pandas.DataFrame
        Ratings, or answers, that grade outputs.
    item, system : str
        Its columns with the item, and with whose output was graded.
    groups : pandas.Series or None
        Group of each item, by item; None takes the table's own column `group`, or else the item itself.

    Returns
    -------
    pandas.DataFrame
        The same rows; `item` names outputs, the column of systems is gone, `group` is there.

    Raises
    ------
    MeasurandError
        If a column is absent or blank, an item has no group, or two outputs would have one name.

    Examples
    --------
    >>> table = pd.DataFrame({"item": ["1", "1"], "model": ["A", "B"], "rating": [3, 4]})
    >>> outputs_as_items(table, item="item", system="model").to_dict("list")
    {'item': ['1|A', '1|B'], 'rating': [3, 4], 'group': ['1', '1']}
    """
    for role, column in (("item", item), ("system", system)):
        if column not in table:
            there = ", ".join(map(repr, list(table.columns)[:12]))
            one = Setting(role)
            raise TableError(f"no column {column!r} for {role}; the table has {there}. Name the right one, {one}", one)
    of_item = ids(table[item], item, 1).astype(str).reset_index(drop=True)
    of_system = ids(table[system], system, 1).astype(str).reset_index(drop=True)
    output = of_item + BETWEEN + of_system
    pairs = pd.DataFrame({"item": of_item, "system": of_system, "output": output}).drop_duplicates()
    if (again := pairs["output"].duplicated().to_numpy()).any():
        name = pairs["output"].iloc[int(again.argmax())]
        raise MeasurandError(f"two outputs would be called {name!r}: items or systems have {BETWEEN!r} in their names")
    out = table.reset_index(drop=True).drop(columns=system)
    if groups is not None:
        known = of_item.map(groups.to_dict())
        if (lost := known.isna().to_numpy()).any():
            name = of_item.iloc[int(lost.argmax())]
            raise MeasurandError(f'item "{name}" has no group; give every item its group, or none')
        out["group"] = known
    elif "group" not in out:
        out["group"] = of_item
    out[item] = output
    return out
