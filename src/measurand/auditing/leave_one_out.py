"""Does the board survive without any one rater?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats.agreement import kendall_tau_b
from measurand.stats.inference import FloatArray, average_ranks


def leave_one_rater_out(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return the board of systems with all raters, and without each.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `leave_one_rater_out`: `mean` and `rank` (1 is best, ties share the mean rank) of each system with
        nobody left out (blank `left_out`) and without each rater; `kendall_tau_b` between each such board and the whole
        one. On incomplete panels a mean is over the ratings that there are, and says so.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": "a", "system": list("xyxy"), "rater": ["R1", "R1", "R2", "R2"],
    ...                       "rating": [1, 2, 5, 1]})
    >>> boards = leave_one_rater_out(table)
    >>> boards.value("leave_one_rater_out", "rank", {"left_out": "R2", "system": "y"})
    1.0
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if panel.n_systems < 2:
            continue
        if not panel.has_numbers:
            reason = "nominal ratings of more than two categories have no mean"
            rows.append(Row("leave_one_rater_out", {"criterion": panel.criterion}, "mean", np.nan, undefined=reason))
            continue
        everyone = np.ones(len(panel.rating), dtype=bool)
        whole = _means(panel, everyone)
        rows += _board(panel, "", whole)
        if panel.n_raters < 2:
            continue
        for position, name in enumerate(panel.raters):
            means = _means(panel, panel.rater != position)
            rows += _board(panel, name, means)
            keys: dict[str, Key] = {"criterion": panel.criterion, "left_out": name}
            if np.isnan(means).any():
                reason = "without this rater a system has no rating"
                rows.append(Row("leave_one_rater_out", keys, "kendall_tau_b", np.nan, undefined=reason))
                continue
            tau = kendall_tau_b(whole, means)
            note = "with the board of all raters; no interval: the boards share their other raters"
            rows.append(
                Row(
                    "leave_one_rater_out",
                    keys,
                    "kendall_tau_b",
                    tau.value,
                    n_items=panel.n_items,
                    n_raters=panel.n_raters - 1,
                    undefined=tau.undefined,
                    note=note,
                )
            )
    return Result(rows, {"leave_one_rater_out": {"ranks": "1 is best, ties share the mean rank"}})


def _means(panel: Panel, kept: np.ndarray[Any, Any]) -> FloatArray:
    """Return the mean of each system over the kept ratings, rounded so that equal means tie."""
    sums = np.bincount(panel.system[kept], weights=panel.rating[kept], minlength=panel.n_systems)
    counts = np.bincount(panel.system[kept], minlength=panel.n_systems)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    largest = float(np.abs(panel.rating).max())
    return np.round(means, 12 - int(np.ceil(np.log10(largest)))) if largest > 0 else means


def _board(panel: Panel, left_out: str, means: FloatArray) -> list[Row]:
    n_raters = panel.n_raters - bool(left_out)
    note = "descriptive: no interval; differences with intervals are under pairs"
    if not panel.is_complete:
        note = "mean of the ratings that there are, whoever gave them; differences within raters are under pairs"
    ranks = np.full(len(means), np.nan)
    defined = ~np.isnan(means)
    ranks[defined] = average_ranks(list(means[defined]))
    rows = []
    for name, mean, rank in zip(panel.systems, means, ranks, strict=True):
        keys: dict[str, Key] = {"criterion": panel.criterion, "left_out": left_out, "system": name}
        undefined = "" if mean == mean else "without this rater the system has no rating"
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": n_raters, "undefined": undefined}
        rows += [
            Row("leave_one_rater_out", keys, "mean", float(mean), note=note, **sample),
            Row("leave_one_rater_out", keys, "rank", float(rank), note=note, **sample),
        ]
    return rows
