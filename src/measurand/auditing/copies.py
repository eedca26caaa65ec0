"""Do raters carry copied vectors of ratings?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row

#: Fewer common cells than this, or only one value in them, are identical too easily to speak of a copy.
FEWEST_COMMON_CELLS: Final = 10
#: Largest chance of an identical pair, over all pairs of the panel, that still counts as a copy.
CHANCE: Final = 0.01
_MOST_RATERS: Final = 100


def copies(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return which raters gave identical ratings to everything that they both rated.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `copies`: `share_copied`, the share of a criterion's ratings that come from a rater whose vector is
        identical with another's, and `n_identical` common cells of each such pair. A pair counts if it has at least
        ten common cells with two different values among them and if so many agreements in a row are unlikely at the
        rate at which the other pairs agree (below .01 over all pairs).

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": range(12), "R1": [1, 2, 3] * 4, "R2": [1, 2, 3] * 4, "R3": [3, 2, 2] * 4})
    >>> from measurand import read_ratings
    >>> round(copies(read_ratings(table, wide=["R1", "R2", "R3"])).value("copies", "share_copied"), 3)
    0.667
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        keys: dict[str, Key] = {"criterion": panel.criterion}
        if panel.n_raters < 2:
            rows.append(Row("copies", keys, "share_copied", np.nan, undefined="one rater: there is nobody to copy"))
            continue
        if panel.n_raters > _MOST_RATERS:
            reason = f"{panel.n_raters} raters; pairs are compared up to {_MOST_RATERS}"
            rows.append(Row("copies", keys, "share_copied", np.nan, undefined=reason))
            continue
        rows += _of_panel(panel)
    return Result(rows, {"copies": {"fewest_common_cells": FEWEST_COMMON_CELLS, "chance": CHANCE}})


def _of_panel(panel: Panel) -> list[Row]:
    of_rater = [np.flatnonzero(panel.rater == rater) for rater in range(panel.n_raters)]
    common: dict[tuple[int, int], int] = {}
    agreeing: dict[tuple[int, int], int] = {}
    suspects = []
    for a, b in itertools.combinations(range(panel.n_raters), 2):
        _, at_a, at_b = np.intersect1d(
            panel.cell[of_rater[a]], panel.cell[of_rater[b]], assume_unique=True, return_indices=True
        )
        x, y = panel.rating[of_rater[a]][at_a], panel.rating[of_rater[b]][at_b]
        common[a, b], agreeing[a, b] = len(x), int((x == y).sum())
        if len(x) >= FEWEST_COMMON_CELLS and agreeing[a, b] == len(x) and len(np.unique(x)) > 1:
            suspects.append((a, b))
    # The usual rate is that of the pairs which are not under suspicion themselves.
    rest = [pair for pair in common if pair not in suspects and common[pair] > 0]
    cells = sum(common[pair] for pair in rest)
    rate = sum(agreeing[pair] for pair in rest) / cells if cells else 0.0
    copied = [pair for pair in suspects if len(common) * rate ** common[pair] < CHANCE]
    copiers = sorted({rater for pair in copied for rater in pair})
    keys: dict[str, Key] = {"criterion": panel.criterion}
    if len(np.unique(panel.rating)) == 1 or max(common.values()) < FEWEST_COMMON_CELLS:
        reason = (
            "all ratings are the same"
            if len(np.unique(panel.rating)) == 1
            else "no two raters have ten cells in common"
        )
        return [Row("copies", keys, "share_copied", np.nan, n_raters=panel.n_raters, undefined=reason)]
    if suspects and not cells:
        reason = (
            "every pair of raters that can be compared agrees throughout: no other pair tells how easily that happens"
        )
        return [
            Row(
                "copies",
                keys,
                "share_copied",
                np.nan,
                n_items=panel.n_items,
                n_raters=panel.n_raters,
                undefined=reason,
            )
        ]
    share = sum(len(of_rater[rater]) for rater in copiers) / len(panel.rating)
    note = "a count of what is there: no interval" if not rest or rate else "the other pairs never agree"
    rows = [Row("copies", keys, "share_copied", share, n_items=panel.n_items, n_raters=panel.n_raters, note=note)]
    for a, b in copied:
        pair_keys = keys | {"rater_a": panel.raters[a], "rater_b": panel.raters[b]}
        rows.append(Row("copies", pair_keys, "n_identical", common[a, b], n_raters=2))
    return rows
