"""How does each rater use the scale, and does it change as they go? Response style, straight-lining, drift."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats.clustered import clustered_slope
from measurand.stats.inference import FloatArray, holm, longest_run, run_test, stream, t_quantile

#: Shuffles of a rater's ratings, to see how long a run of equal ratings would be by chance.
SHUFFLES: Final = 9_999
#: Below so many items the interval of drift is too narrow, and says so.
FEWEST_ITEMS: Final = 20
_FEW_ITEMS: Final = "few items: in simulation tests of this kind alarmed falsely up to 20 % of the time with five items"
_NO_ORDER: Final = "no presentation order named (--order)"
_DESCRIPTIVE: Final = "descriptive: no interval"


def style(ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0) -> Result:
    """Return response style, straight-lining and severity drift of every rater.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`; `order` names the column with the presentation order.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `style`: `share_modal` (share of the ratings that are the rater's most frequent one), `entropy` (bits;
        0 if all are the same), with a declared scale `share_extreme` and, where it has an odd number of levels,
        `share_middle`; with a presentation order
        `longest_run` of equal ratings (p: how often shuffled ratings of this rater have one at least as long) and
        `drift` (change from first to last of the rater's rating minus the mean of the others' ratings of the cell, in
        scale units, interval clustered by item), both with Holm's adjustment over raters.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": [*range(8)] * 2, "rater": ["R1"] * 8 + ["R2"] * 8, "order": [*range(8)] * 2,
    ...                       "rating": [1, 2, 1, 2, 1, 2, 1, 2] + [1, 2, 1, 2, 2, 3, 2, 3]})
    >>> from measurand import read_ratings
    >>> round(style(read_ratings(table, order="order")).value("style", "drift", {"rater": "R2"}), 2)
    1.33
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        runs: list[Row] = []
        drifts: list[Row] = []
        for position, name in enumerate(panel.raters):
            here = panel.rater == position
            keys: dict[str, Key] = {"criterion": panel.criterion, "rater": name}
            rows += _use_of_scale(panel, keys, panel.rating[here])
            runs.append(_run(panel, keys, here, stream(seed, "style", panel.criterion, name)))
            drifts.append(_drift(panel, keys, here, confidence))
        rows += _adjusted(runs) + _adjusted(drifts)
    return Result(rows, {"style": {"confidence": confidence, "seed": seed, "shuffles": SHUFFLES}})


def _use_of_scale(panel: Panel, keys: dict[str, Key], given: FloatArray) -> list[Row]:
    _, counts = np.unique(given, return_counts=True)
    share = counts / counts.sum()
    rows = [
        Row("style", keys, "share_modal", float(share.max()), n_raters=1, note=_DESCRIPTIVE),
        Row("style", keys, "entropy", abs(float(-(share * np.log2(share)).sum())), n_raters=1, note=_DESCRIPTIVE),
    ]
    bounds, levels = panel.scale.bounds, panel.scale.levels
    if bounds is None or not panel.has_numbers:
        reason = "no scale declared: its ends are not known" if bounds is None else "nominal ratings have no ends"
        return [*rows, Row("style", keys, "share_extreme", np.nan, undefined=reason)]
    extreme = float(np.isin(given, bounds).mean())
    rows.append(Row("style", keys, "share_extreme", extreme, n_raters=1, note=_DESCRIPTIVE))
    if levels is not None and len(levels) % 2:
        middle = float((given == levels[len(levels) // 2]).mean())
        rows.append(Row("style", keys, "share_middle", middle, n_raters=1, note=_DESCRIPTIVE))
    return rows


def _run(panel: Panel, keys: dict[str, Key], here: np.ndarray[Any, Any], rng: np.random.Generator) -> Row:
    if panel.order is None:
        return Row("style", keys, "longest_run", np.nan, undefined=_NO_ORDER)
    given = panel.rating[here][np.argsort(panel.order[here], kind="stable")]
    if len(np.unique(given)) < 2:
        note = "the rater gave one rating only"
        return Row("style", keys, "longest_run", len(given), n_raters=1, note=note)
    p = run_test(given, n_draws=SHUFFLES, rng=rng)
    note = "p: share of shuffles with a run at least as long"
    return Row(
        "style", keys, "longest_run", longest_run(given), n_raters=1, p=p, attainable_p=1 / (1 + SHUFFLES), note=note
    )


def _drift(panel: Panel, keys: dict[str, Key], here: np.ndarray[Any, Any], confidence: float) -> Row:
    if panel.order is None:
        return Row("style", keys, "drift", np.nan, undefined=_NO_ORDER)
    if not panel.has_numbers:
        return Row("style", keys, "drift", np.nan, undefined="nominal ratings of more than two categories have no mean")
    others = np.bincount(panel.cell[~here], minlength=panel.n_cells)
    sums = np.bincount(panel.cell[~here], weights=panel.rating[~here], minlength=panel.n_cells)
    own = np.flatnonzero(here)
    own = own[others[panel.cell[own]] > 0]
    if len(own) < 3:
        return Row("style", keys, "drift", np.nan, undefined="fewer than three cells that another rater rated, too")
    severity = panel.rating[own] - sums[panel.cell[own]] / others[panel.cell[own]]
    place = panel.order[own]
    span = float(np.ptp(place))
    if span == 0:
        return Row("style", keys, "drift", np.nan, undefined="all cells have the same position")
    slope = clustered_slope((place - place.min()) / span, severity, panel.item[own])
    if slope.undefined:
        return Row("style", keys, "drift", np.nan, undefined=slope.undefined)
    half = t_quantile(slope.df, confidence) * slope.standard_error
    return Row(
        "style",
        keys,
        "drift",
        slope.slope,
        slope.slope - half,
        slope.slope + half,
        confidence,
        "least squares, clustered by item",
        "item",
        len(np.unique(panel.item[own])),
        1,
        df1=1,
        df2=slope.df,
        p=slope.p,
        note="from the first to the last cell, against the mean of the other raters of the cell"
        + (f"; {_FEW_ITEMS}" if slope.df + 2 < FEWEST_ITEMS else ""),
    )


def _adjusted(rows: list[Row]) -> list[Row]:
    adjusted = holm(np.array([np.nan if row.p is None else row.p for row in rows]))
    return [row if row.p is None else replace(row, p_adjusted=float(p)) for row, p in zip(rows, adjusted, strict=True)]
