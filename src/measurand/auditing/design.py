"""What was rated by whom: sizes, layout, holes, and what the layout cannot support."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from measurand.data.names import crossed_names
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Result, Row


def design(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return the sizes and the layout of a ratings table.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `design`: counts over everything (blank criterion) and, of several criteria, for each. `n_missing` is
        the number of ratings that the complete crossing of items, systems and raters would have and this table has
        not, `n_blank` the number of rows whose rating was blank; `crossed`, `nested` and `connected` are 1 or 0. The
        settings hold each criterion's layout, scale and level in words.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": ["a", "a", "b"], "rater": ["R1", "R2", "R1"], "rating": [3, 4, 5]})
    >>> design(table).value("design", "n_missing")
    1
    """
    found = panels(ratings)
    rows: list[Row] = []
    if len(found) > 1:
        systems = {name for panel in found for name in panel.systems}
        rows += _counts(
            "",
            {
                "n_criteria": len(found),
                "n_items": len({name for panel in found for name in panel.items}),
                "n_systems": len(systems),
                "n_raters": len({name for panel in found for name in panel.raters}),
                "n_ratings": sum(len(panel.rating) for panel in found),
                "n_missing": sum(panel.n_missing for panel in found),
                "n_blank": sum(panel.n_blank for panel in found),
            },
        )
    layouts = {}
    for panel in found:
        criterion = panel.criterion if len(found) > 1 else ""
        fewest, median, most = panel.raters_per_cell
        rows += _counts(
            criterion,
            {
                "n_items": panel.n_items,
                "n_systems": panel.n_systems,
                "n_raters": panel.n_raters,
                "n_ratings": len(panel.rating),
                "n_missing": panel.n_missing,
                "n_blank": panel.n_blank,
                "n_cells": panel.n_cells,
                "raters_per_cell_min": fewest,
                "raters_per_cell_median": median,
                "raters_per_cell_max": most,
                "crossed": int(panel.is_complete),
                "nested": int(panel.is_nested),
                "connected": int(is_connected(panel)),
            },
        )
        layouts[panel.criterion] = {
            "layout": panel.layout,
            "scale": panel.scale.describe(),
            "range": _range(panel),
            "level": panel.level or "not declared",
            "limits": limits(panel),
            **({"hint": hint} if (hint := systems_in_names(panel)) else {}),
        }
    return Result(rows, {"design": {"criteria": layouts}})


def _range(panel: Panel) -> list[float] | None:
    """Return the ends of the scale, of the ratings where none are declared; None of categories without an order."""
    if not panel.has_numbers:
        return None
    declared = panel.scale.bounds
    low, high = declared or (panel.rating.min(), panel.rating.max())
    return [float(low), float(high)]


def limits(panel: Panel) -> list[str]:
    """Return what the layout cannot support, in sentences; empty if there is nothing."""
    out = []
    if panel.n_raters == 1:
        out.append("One rater: agreement, and whether another rater would rank the systems alike, cannot be known.")
    elif panel.cell_size.max() == 1:
        out.append(
            "One rater per cell: no two raters rated the same thing, so that agreement cannot be known and raters "
            "cannot be told from the items they saw."
        )
    elif panel.is_nested:
        out.append(
            "Raters are nested in items: rater severity and the interaction of raters with items are one number."
        )
    elif not panel.is_complete:
        out.append(
            "Incomplete: the balanced analysis of variance is left undefined; components, G and the tests of the "
            "systems come from mixed models and Henderson's method instead; boards are means of what was rated."
        )
    if not is_connected(panel):
        out.append("Disconnected: some raters share no item with the others, so that severities cannot be compared.")
    if hint := systems_in_names(panel):
        out.append(hint)
    if panel.n_systems == 1:
        out.append("One system: there is nothing to rank.")
    if panel.n_items == 1:
        out.append("One item: nothing can be said of items of its kind.")
    if panel.raters_are_positions and panel.n_raters > 1:
        out.append(
            f"The rater ids are bare numbers ({panel.raters[0]} to {panel.raters[-1]}): if different people sat in "
            "these positions, every rater effect on this page is a mixture, and only agreement without rater "
            "identity (alpha, ICC(1,1)) holds."
        )
    return out


def systems_in_names(panel: Panel) -> str:
    """Return a hint where the names of raters look like systems and raters in one; blank elsewhere."""
    first, second = crossed_names(panel.raters) if panel.n_systems == 0 else ([], [])
    if not first:
        return ""
    return (
        f"The {panel.n_raters:,} raters are called by every combination of {len(first)} names with {len(second)} "
        f"({panel.raters[0]}, {panel.raters[1]}, …): if one part says whose output was rated, these are systems and "
        "raters in one, and nothing is ranked that could be. Then make a row for each item and system, with the "
        "columns item, system and one for each rater."
    )


def is_connected(panel: Panel) -> bool:
    """Tell whether raters and items form one connected graph, so that every two raters can be compared."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    size = panel.n_items + panel.n_raters
    edges = sparse.coo_array(
        (np.ones(len(panel.rating), dtype=np.int8), (panel.item, panel.n_items + panel.rater)), shape=(size, size)
    )
    n_parts, _ = connected_components(edges, directed=False)
    return bool(n_parts == 1)


def _counts(criterion: str, counts: dict[str, float]) -> list[Row]:
    return [Row("design", {"criterion": criterion}, name, value) for name, value in counts.items()]


def crossing_fault(panel: Panel) -> str:
    """Return why a balanced analysis of variance is out of reach, blank if it can be had."""
    if not panel.has_numbers:
        return "nominal ratings of more than two categories have no mean"
    if not panel.is_complete:
        return (
            f"incomplete panel: {panel.n_missing:,} of {panel.n_possible:,} cells of the crossing have no rating, and "
            "sums of squares by cell means need them all"
        )
    if sum(size > 1 for size in (panel.n_items, panel.n_systems, panel.n_raters)) < 2:
        return "only one of items, systems and raters has more than one level"
    return ""


def full_crossing_fault(panel: Panel) -> str:
    """Return why systems cannot be judged with items and raters both random, blank if they can."""
    if panel.n_systems == 0:
        return "no systems: the ratings concern the items themselves"
    small = {"item": panel.n_items, "system": panel.n_systems, "rater": panel.n_raters}
    for name, size in small.items():
        if size == 1:
            return f"one {name}: its variance cannot be estimated"
    return crossing_fault(panel)
