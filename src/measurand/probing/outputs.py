"""What was put out by whom: sizes, holes, blank outputs, and what was left out of the table."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.data.outputs import Outputs, as_outputs
from measurand.probing.scopes import scopes
from measurand.result import Result, Row

BLANK_TEXT: Final = "outputs whose text is blank"
BLANK_LENGTH: Final = "outputs whose length is blank: there are no texts"
MISSING: Final = "items times systems that have no output"


def describe(outputs: Outputs | Any) -> Result:
    """Return the sizes of a table of outputs and the holes in it.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        See `measurand.read_outputs`.

    Returns
    -------
    Result
        Analysis `outputs`. Over everything, by system, by language and by both: `n_items`, `n_outputs`, `n_missing`
        (items times systems that have no output) and `n_empty` (outputs whose text is blank, or whose length is where
        there are no texts). Over everything alone: `n_systems`, `complete` (1 if every system has an output for every
        item), `n_languages`, `n_labels` and `n_groups` with the number of items that have none (`n_without_language`,
        `n_without_label`, `n_without_group`) where there are such columns, and the rows that were left out as
        `n_repeats`, `n_controls`, `n_many_labels`. An item that no system has an output for is not known here.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aab"), "system": list("xyx"), "text": ["😂", "", "😂😂"]})
    >>> found = describe(table)
    >>> found.value("outputs", "n_missing", {"system": "y"}), found.value("outputs", "n_empty", {"system": "y"})
    (1, 1)
    """
    table = as_outputs(outputs)
    frame = table.frame
    empty = is_empty(table)
    notes = {"n_empty": BLANK_TEXT if "text" in table else BLANK_LENGTH, "n_missing": MISSING}
    n_systems = len(table.systems)
    # A language's items are the same for each of its systems, whether or not a system has an output for them.
    n_items = {scope.language: frame["item"][scope.rows].nunique() for scope in scopes(table) if scope.is_whole}
    rows: list[Row] = []
    for scope in scopes(table):
        n_outputs = int(scope.rows.sum())
        n_cells = n_items[scope.language] * (n_systems if scope.is_whole else 1)
        counts = {
            "n_items": n_items[scope.language],
            "n_outputs": n_outputs,
            "n_missing": n_cells - n_outputs,
            "n_empty": int(empty[scope.rows].sum()),
        }
        if scope.is_whole and not scope.language:
            counts |= {"n_systems": n_systems, "complete": int(n_cells == n_outputs), **_columns(table)}
            counts |= {
                "n_repeats": table.n_repeats,
                "n_controls": table.n_controls,
                "n_many_labels": table.n_many_labels,
            }
        rows += [Row("outputs", scope.keys, name, count, note=notes.get(name, "")) for name, count in counts.items()]
    return Result(rows, {"outputs": {"columns": dict(table.columns)}})


def is_empty(outputs: Outputs) -> npt.NDArray[np.bool_]:
    """Return which outputs are blank: their texts, or where there are no texts, their lengths."""
    if "text" in outputs:
        return np.asarray(outputs.frame["text"].str.strip() == "")
    return np.asarray(outputs.frame["length"].isna())


def _columns(table: Outputs) -> dict[str, int]:
    """Return how many languages, labels and groups there are, and how many items have none."""
    items = table.frame.drop_duplicates("item")
    counts = {}
    for column in ("language", "label", "group"):
        if column in table:
            named = items[column] != ""
            counts[f"n_{column}s"] = items[column][named].nunique()
            counts[f"n_without_{column}"] = int((~named).sum())
    return counts
