"""Do raters carry copied vectors, or identical outputs identical ratings?"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.data.outputs import Outputs
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row

#: Fewer common cells than this, or only one value in them, are identical too easily to speak of a copy.
FEWEST_COMMON_CELLS: Final = 10
#: Largest chance of an identical pair, over all pairs of the panel, that still counts as a copy.
CHANCE: Final = 0.01
_MOST_RATERS: Final = 100
_MOST_PAIRS: Final = 100


def copies(ratings: Ratings | Sequence[Panel] | Any, *, outputs: Outputs | None = None) -> Result:
    """Return which raters gave identical ratings to everything that they both rated.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    outputs : Outputs or None
        What the systems produced (`measurand.data.read_outputs`); None, or lengths alone, leave identical outputs out.

    Returns
    -------
    Result
        Analysis `copies`: `share_copied`, the share of a criterion's ratings that come from a rater whose vector is
        identical with another's, and `n_identical` common cells of each such pair. A pair counts if it has at least
        ten common cells with two different values among them and if so many agreements in a row are unlikely at the
        rate at which the other pairs agree (below .01 over all pairs). With outputs also `share_identical_outputs`,
        the share of cells whose output is the same text as another system's on the item, `share_copied_cells`, the
        share whose ratings are then the same, too, and `n_identical_ratings` of such pairs of cells (the first 100).

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
        if outputs is not None and "text" in outputs and panel.n_systems > 1:
            rows += _identical_outputs(panel, outputs)
        if panel.n_raters < 2:
            rows.append(Row("copies", keys, "share_copied", np.nan, undefined="one rater: there is nobody to copy"))
            continue
        if panel.n_raters > _MOST_RATERS:
            reason = f"{panel.n_raters} raters; pairs are compared up to {_MOST_RATERS}"
            rows.append(Row("copies", keys, "share_copied", np.nan, undefined=reason))
            continue
        rows += _of_panel(panel)
    return Result(rows, {"copies": {"fewest_common_cells": FEWEST_COMMON_CELLS, "chance": CHANCE}})


def _identical_outputs(panel: Panel, outputs: Outputs) -> list[Row]:
    """Cells of one item whose systems produced the same text, and whether their ratings are the same, too."""
    texts = {(i, s): t for i, s, t in zip(*(outputs.frame[role] for role in ("item", "system", "text")), strict=True)}
    ends = np.r_[panel.cell_start[1:], len(panel.rating)]
    same_text: dict[tuple[int, str], list[int]] = defaultdict(list)
    for cell, start in enumerate(panel.cell_start):
        item, system = int(panel.item[start]), int(panel.system[start])
        text = texts.get((panel.items[item], panel.systems[system]))
        if text is not None:
            same_text[item, text].append(cell)
    identical: set[int] = set()
    copied: set[int] = set()
    pairs: list[Row] = []
    for (item, _), cells in same_text.items():
        if len(cells) < 2:
            continue
        identical.update(cells)
        for a, b in itertools.combinations(cells, 2):
            here, there = slice(panel.cell_start[a], ends[a]), slice(panel.cell_start[b], ends[b])
            if np.array_equal(panel.rater[here], panel.rater[there]) and np.array_equal(
                panel.rating[here], panel.rating[there]
            ):
                copied.update((a, b))
                keys: dict[str, Key] = {"criterion": panel.criterion, "item": panel.items[item]}
                keys |= {
                    "system_a": panel.systems[int(panel.system[panel.cell_start[a]])],
                    "system_b": panel.systems[int(panel.system[panel.cell_start[b]])],
                }
                n_ratings = int(ends[a] - panel.cell_start[a])
                pairs.append(Row("copies", keys, "n_identical_ratings", n_ratings, n_raters=n_ratings))
    keys = {"criterion": panel.criterion}
    known = sum(map(len, same_text.values()))
    if known == 0:
        reason = "no output of the outputs table belongs to a rated cell: its items and systems have other names"
        return [Row("copies", keys, "share_copied_cells", np.nan, undefined=reason)]
    note = f"of {known:,} cells whose outputs are known; a count of what is there: no interval"
    shares = {"share_identical_outputs": len(identical) / known, "share_copied_cells": len(copied) / known}
    rows = [Row("copies", keys, name, share, n_items=panel.n_items, note=note) for name, share in shares.items()]
    return rows + pairs[:_MOST_PAIRS]


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
