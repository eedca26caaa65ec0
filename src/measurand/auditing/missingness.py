"""Does it depend on the others' ratings who rated a cell? And do raters carry copied vectors?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats.clustered import Difference, clustered_difference
from measurand.stats.inference import FloatArray, IntArray, holm, t_quantile

#: Raters times cells above which the comparison is not made (memory and time are proportional to it).
_MOST_CHECKED: Final = 2 * 10**8


def missingness(ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95) -> Result:
    """Return whether the presence of a rater's rating depends on the other ratings of the cell.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    confidence : float
        Level of the intervals.

    Returns
    -------
    Result
        Analysis `missingness`, for each rater of an incomplete panel: `difference`, the mean of the *other* raters'
        ratings, with the means of system and rater taken out so that neither can pose as selection, in the cells that
        this rater rated minus that in the cells that they did not (of nominal ratings with
        more than two categories: the share of each category, key `rating`), with a t test whose standard error is
        clustered by item and Holm's adjustment over the criterion; and `standardised_difference`, in standard
        deviations. Where cells have one rater each, the other ratings of the item serve.

    Notes
    -----
    Who rates on may be decided by what the first rater said (adaptive designs), and then agreement and means of the
    ratings that there are do not describe the cells that were left.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.DataFrame({"item": range(40), "rater": "R1", "rating": [0, 1] * 20})
    >>> second = pd.DataFrame({"item": range(1, 36, 2), "rater": "R2", "rating": 1})
    >>> third = pd.DataFrame({"item": range(40), "rater": "R3", "rating": [0, 1, 1, 1] * 10})
    >>> found = missingness(pd.concat([first, second, third]))
    >>> found.value("missingness", "difference", {"rater": "R2"}) > 0.5
    True
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if panel.is_complete:
            continue
        rows += _of_panel(panel, confidence)
    return Result(rows, {"missingness": {"confidence": confidence, "adjustment": "holm"}})


def _of_panel(panel: Panel, confidence: float) -> list[Row]:
    if panel.n_raters == 1:
        return [_undefined(panel, "", "one rater: there are no other ratings")]
    if panel.n_raters * panel.n_cells > _MOST_CHECKED:
        return [_undefined(panel, "", f"{panel.n_raters} raters by {panel.n_cells:,} cells are too many to compare")]
    one_rater_cells = panel.cell_size.max() == 1
    cell, n_cells = (panel.item, panel.n_items) if one_rater_cells else (panel.cell, panel.n_cells)
    cluster = np.arange(panel.n_items) if one_rater_cells else panel.cell_item
    indicators: list[tuple[str, FloatArray]] = [("", panel.rating)]
    if not panel.has_numbers:
        labels = panel.scale.labels or panel.categories
        indicators = [
            (labels[int(code)] if labels else f"{code:g}", (panel.rating == code).astype(float))
            for code in np.unique(panel.rating)
        ]
    indicators = [(name, _around_means(panel, values)) for name, values in indicators]
    tests: list[tuple[dict[str, Key], Difference, int]] = []
    for rater, name in enumerate(panel.raters):
        for category, values in indicators:
            keys: dict[str, Key] = {"criterion": panel.criterion, "rater": name, "rating": category}
            tests.append((keys, *_compare(cell, n_cells, cluster, panel.rater == rater, values)))
    adjusted = holm(np.array([test.p for _, test, _ in tests]))
    rows: list[Row] = []
    for (keys, test, n_items), p_adjusted in zip(tests, adjusted, strict=True):
        rows += _rows(keys, test, n_items, float(p_adjusted), confidence)
    return rows


def _around_means(panel: Panel, values: FloatArray) -> FloatArray:
    """Take out the mean of each system, then of each rater: neither may pose as selection by the ratings."""
    for facet in (panel.system, panel.rater):
        values = values - (np.bincount(facet, weights=values) / np.maximum(np.bincount(facet), 1))[facet]
    return values


def _compare(
    cell: IntArray, n_cells: int, cluster: IntArray, own: np.ndarray[Any, Any], values: FloatArray
) -> tuple[Difference, int]:
    """Compare the others' mean rating between the cells that a rater rated and those that they did not."""
    others = np.bincount(cell[~own], minlength=n_cells)
    usable = others > 0
    sums = np.bincount(cell[~own], weights=values[~own], minlength=n_cells)
    is_in = np.zeros(n_cells, dtype=bool)
    is_in[cell[own]] = True
    return (
        clustered_difference(sums[usable] / others[usable], is_in[usable], cluster[usable]),
        len(np.unique(cluster[usable])),
    )


def _rows(keys: dict[str, Key], test: Difference, n_items: int, p_adjusted: float, confidence: float) -> list[Row]:
    if np.isnan(test.p):
        return [Row("missingness", keys, "difference", np.nan, n_items=n_items, undefined=test.undefined)]
    half = t_quantile(test.df, confidence) * test.standard_error
    bounded = half > 0  # perfect separation: p is that of the permutation test, and t has no interval
    return [
        Row(
            "missingness",
            keys,
            "difference",
            test.difference,
            test.difference - half if bounded else None,
            test.difference + half if bounded else None,
            confidence if bounded else None,
            "t, clustered by item" if bounded else "permutation of items",
            "item",
            n_items,
            df1=1,
            df2=test.df,
            p=test.p,
            p_adjusted=p_adjusted,
        ),
        Row(
            "missingness",
            keys,
            "standardised_difference",
            test.standardised,
            n_items=n_items,
            note="the difference in pooled standard deviations; no interval of its own",
        ),
    ]


def _undefined(panel: Panel, rater: str, reason: str) -> Row:
    return Row("missingness", {"criterion": panel.criterion, "rater": rater}, "difference", np.nan, undefined=reason)
