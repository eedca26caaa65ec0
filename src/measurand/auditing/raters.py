"""Each rater alone: how severe, how spread, how much of the scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Result, Row
from measurand.stats.clustered import clustered_mean


def raters(ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95) -> Result:
    """Return mean, standard deviation and use of the scale of every rater.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    confidence : float
        Level of the intervals of the means.

    Returns
    -------
    Result
        Analysis `raters`: `mean` (interval by t over items, an item's ratings counting as one cluster), `sd` (n - 1),
        `n_ratings`; with a declared scale `share_lowest`, `share_highest` (shares of ratings at its ends) and, where
        it has steps or labels, `levels_used` (number of permitted values that occur).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("abab"), "rater": ["R1", "R1", "R2", "R2"], "rating": [1, 3, 4, 4]})
    >>> raters(table).value("raters", "mean", {"rater": "R2"})
    4.0
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        for position, name in enumerate(panel.raters):
            here = panel.rater == position
            rows += _of_rater(panel, name, panel.rating[here], panel.item[here], confidence)
    return Result(rows, {"raters": {"confidence": confidence}})


def _of_rater(
    panel: Panel, name: str, given: np.ndarray[Any, Any], item: np.ndarray[Any, Any], confidence: float
) -> list[Row]:
    keys = {"criterion": panel.criterion, "rater": name}
    n_items = len(np.unique(item))
    rows = []
    if panel.has_numbers:
        mean = clustered_mean(given, item, confidence=confidence)
        bounded = mean.n_clusters > 1
        rows.append(
            Row(
                "raters",
                keys,
                "mean",
                mean.mean,
                mean.low if bounded else None,
                mean.high if bounded else None,
                confidence if bounded else None,
                "t, clustered by item" if bounded else "",
                "item" if bounded else "",
                n_items,
                1,
                note="" if bounded else "no interval: one item",
            )
        )
        if len(given) > 1:
            sd = float(given.std(ddof=1))
            rows.append(Row("raters", keys, "sd", sd, n_items=n_items, n_raters=1, note="descriptive: no interval"))
        else:
            rows.append(Row("raters", keys, "sd", np.nan, n_items=n_items, n_raters=1, undefined="one rating"))
    else:
        reason = "nominal ratings of more than two categories have no mean"
        rows.append(Row("raters", keys, "mean", np.nan, n_items=n_items, n_raters=1, undefined=reason))
    rows.append(Row("raters", keys, "n_ratings", len(given), n_items=n_items, n_raters=1))
    bounds, levels = panel.scale.bounds, panel.scale.levels
    for statistic, end in (("share_lowest", 0), ("share_highest", 1)):
        if bounds is None:
            row = Row("raters", keys, statistic, np.nan, undefined="no scale declared: its ends are not known")
        else:
            share = float((given == bounds[end]).mean())
            row = Row("raters", keys, statistic, share, n_items=n_items, n_raters=1, note="descriptive: no interval")
        rows.append(row)
    if levels is not None:
        rows.append(
            Row(
                "raters",
                keys,
                "levels_used",
                len(np.unique(given)),
                n_items=n_items,
                n_raters=1,
                note=f"of {len(levels)} on the scale",
            )
        )
    return rows
