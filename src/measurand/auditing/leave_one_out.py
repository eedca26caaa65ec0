"""Does the board survive without any one rater, or any one block of items?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats.association import kendall_tau_b
from measurand.stats.inference import FloatArray, average_ranks, stream, without_dust

_RANKS: Final = "1 is best, ties share the mean rank"


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
        kept = [(name, panel.rater != position) for position, name in enumerate(panel.raters)]
        rows += _boards("leave_one_rater_out", panel, kept if panel.n_raters > 1 else [])
    return Result(rows, {"leave_one_rater_out": {"ranks": _RANKS}})


def leave_one_block_out(ratings: Ratings | Sequence[Panel] | Any, *, blocks: int = 10, seed: int = 0) -> Result:
    """Return the board of systems with all items, and without each block of them.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    blocks : int
        Number of blocks of (nearly) equal size, into which the items are drawn at random; at most the number of items.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `leave_one_block_out`, of the form of `leave_one_rater_out`; `left_out` is ``"block 1"`` and so on.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabb"), "system": list("xyxy"), "rater": "R1", "rating": [1, 3, 2, 5]})
    >>> len(leave_one_block_out(table).select("leave_one_block_out", "rank", {"system": "x"}))
    3
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        number = min(blocks, panel.n_items)
        if panel.n_items < 2:
            rows += _boards("leave_one_block_out", panel, [])
            continue
        order = stream(seed, "leave_one_block_out", panel.criterion).permutation(panel.n_items)
        block = np.empty(panel.n_items, dtype=np.int64)
        block[order] = np.arange(panel.n_items) % number
        kept = [(f"block {b + 1}", block[panel.item] != b) for b in range(number)]
        rows += _boards("leave_one_block_out", panel, kept)
    return Result(rows, {"leave_one_block_out": {"ranks": _RANKS, "blocks": blocks, "seed": seed}})


def _boards(analysis: str, panel: Panel, parts: list[tuple[str, np.ndarray[Any, Any]]]) -> list[Row]:
    """Return the whole board and the board of each part of the ratings."""
    rows: list[Row] = []
    if panel.n_systems >= 2:
        if not panel.has_numbers:
            reason = "nominal ratings of more than two categories have no mean"
            rows.append(Row(analysis, {"criterion": panel.criterion}, "mean", np.nan, undefined=reason))
            return rows
        everyone = np.ones(len(panel.rating), dtype=bool)
        whole = _means(panel, everyone)
        rows += _board(analysis, panel, "", everyone, whole)
        for name, kept in parts:
            means = _means(panel, kept)
            rows += _board(analysis, panel, name, kept, means)
            keys: dict[str, Key] = {"criterion": panel.criterion, "left_out": name}
            if np.isnan(means).any():
                reason = f"without {name} a system has no rating"
                rows.append(Row(analysis, keys, "kendall_tau_b", np.nan, undefined=reason))
                continue
            tau = kendall_tau_b(whole, means)
            note = "with the whole board; no interval: the boards share their other ratings"
            rows.append(
                Row(
                    analysis,
                    keys,
                    "kendall_tau_b",
                    tau.value,
                    undefined=tau.undefined,
                    note=note,
                    **_sample(panel, kept),
                )
            )
    return rows


def _sample(panel: Panel, kept: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"n_items": len(np.unique(panel.item[kept])), "n_raters": len(np.unique(panel.rater[kept]))}


def _means(panel: Panel, kept: np.ndarray[Any, Any]) -> FloatArray:
    """Return the mean of each system over the kept ratings, rounded so that equal means tie."""
    sums = np.bincount(panel.system[kept], weights=panel.rating[kept], minlength=panel.n_systems)
    counts = np.bincount(panel.system[kept], minlength=panel.n_systems)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    return without_dust(means, largest=float(np.abs(panel.rating).max()))


def _board(analysis: str, panel: Panel, left_out: str, kept: np.ndarray[Any, Any], means: FloatArray) -> list[Row]:
    note = "descriptive: no interval; differences with intervals are under pairs"
    if not panel.is_complete:
        note = "mean of the ratings that there are, whoever gave them; differences within raters are under pairs"
    ranks = np.full(len(means), np.nan)
    defined = ~np.isnan(means)
    ranks[defined] = average_ranks(list(means[defined]))
    rows = []
    for name, mean, rank in zip(panel.systems, means, ranks, strict=True):
        keys: dict[str, Key] = {"criterion": panel.criterion, "left_out": left_out, "system": name}
        undefined = "" if mean == mean else f"without {left_out} the system has no rating"
        sample: dict[str, Any] = {**_sample(panel, kept), "undefined": undefined}
        rows += [
            Row(analysis, keys, "mean", float(mean), note=note, **sample),
            Row(analysis, keys, "rank", float(rank), note=note, **sample),
        ]
    return rows
