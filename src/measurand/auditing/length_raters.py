"""Rater by rater: whose ratings follow length, and do the raters differ in it?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.auditing.length_cells import Measured, remarks
from measurand.auditing.length_judgements import within_item
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats.association import spearman
from measurand.stats.clustered import Slope, clustered_slope
from measurand.stats.inference import (
    FloatArray,
    IntArray,
    bootstrap,
    clusters,
    holm,
    percentile_interval,
    stream,
    t_quantile,
    t_test,
)
from measurand.stats.slopes import slopes_differ

_ROBUST: Final = "least squares, standard error clustered by item, t"


def by_rater(one: Measured, *, replicates: int, confidence: float, seed: int) -> list[Row]:
    """Return each rater's slope and rank correlation, and whether the raters' slopes differ.

    Parameters
    ----------
    one : Measured
        Ratings with lengths.
    replicates : int
        Bootstrap replicates of items.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    list of Row
        Each rater's `slope` with `model` ``judgement`` (lengths as they are) and ``judgement_within_item`` (ratings and
        lengths around the rater's own means of the item), with standard errors clustered by item and Holm's adjustment
        over raters; `spearman` of rating and length over the rater's judgements; without a rater, `slope` with
        `model` ``mean_of_raters``, whose error is how far the raters' slopes lie apart, and `slopes_differ_f`, the test
        that these raters have one slope (for items of this kind).
    """
    panel = one.panel
    plain: list[Row] = []
    within: list[Row] = []
    ranks: list[Row] = []
    slopes: list[float] = []
    for position, name in enumerate(panel.raters):
        here = panel.rater == position
        x, y, item = one.length[here], panel.rating[here], panel.item[here]
        fitted = clustered_slope(x, y, item)
        slopes.append(fitted.slope)
        plain.append(_slope(one.keys(model="judgement", rater=name), fitted, item, confidence))
        centred = _centred(x, item), _centred(y, item)
        keys = one.keys(model="judgement_within_item", rater=name)
        within.append(_slope(keys, clustered_slope(*centred, item), item, confidence))
        rng = stream(seed, "length", panel.criterion, "judgement", name)
        ranks.append(_ranks(one.keys(model="judgement", rater=name), x, y, item, replicates, confidence, rng))
    rows = [*_adjusted(plain), *_adjusted(within), *ranks]
    if panel.n_raters > 1:
        rows += [_mean(one, np.array(slopes), confidence), *_differ(one)]
    return rows


def _centred(values: FloatArray, item: IntArray) -> FloatArray:
    """Return values minus the mean of their item; what differs from 0 by rounding alone is 0."""
    _, position = np.unique(item, return_inverse=True)
    means = np.bincount(position, weights=values) / np.bincount(position)
    out = values - means[position]
    return np.where(np.abs(out) <= 1e-13 * np.abs(values).max(initial=0.0), 0.0, out)


def _slope(keys: dict[str, Key], fitted: Slope, item: IntArray, confidence: float) -> Row:
    sample: dict[str, Any] = {"n_items": len(np.unique(item)), "n_raters": 1}
    if fitted.slope != fitted.slope:
        reason = "all lengths are the same" if "vary" in fitted.undefined else fitted.undefined
        return Row("length", keys, "slope", np.nan, undefined=reason, **sample)
    if fitted.undefined:
        return Row("length", keys, "slope", fitted.slope, note=f"no interval: {fitted.undefined}", **sample)
    half = t_quantile(fitted.df, confidence) * fitted.standard_error
    return Row(
        "length",
        keys,
        "slope",
        fitted.slope,
        low=fitted.slope - half,
        high=fitted.slope + half,
        confidence=confidence,
        method=_ROBUST,
        unit="item",
        df1=1,
        df2=fitted.df,
        p=fitted.p,
        note="of this rater, over items of this kind",
        **sample,
    )


def _adjusted(rows: list[Row]) -> list[Row]:
    adjusted = holm(np.array([np.nan if row.p is None else row.p for row in rows]))
    return [
        row if row.p is None else replace(row, p_adjusted=float(value))
        for row, value in zip(rows, adjusted, strict=True)
    ]


def _ranks(
    keys: dict[str, Key],
    x: FloatArray,
    y: FloatArray,
    item: IntArray,
    replicates: int,
    confidence: float,
    rng: np.random.Generator,
) -> Row:
    sample: dict[str, Any] = {"n_items": len(np.unique(item)), "n_raters": 1}
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        reason = "fewer than three judgements" if len(x) < 3 else "all lengths are the same"
        reason = "all ratings are the same" if len(x) > 2 and np.ptp(x) > 0 else reason
        return Row("length", keys, "spearman", np.nan, undefined=reason, **sample)
    points, point = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    drawn = clusters(item, point.ravel().astype(np.int64), len(points))

    def statistic(weights: FloatArray) -> FloatArray:
        return spearman(points[:, 0], points[:, 1], weights)

    estimate = float(statistic(drawn.weights())[0])
    if sample["n_items"] < 2:
        return Row("length", keys, "spearman", estimate, note="one item: no interval", **sample)
    ends = percentile_interval(bootstrap(statistic, drawn, n_replicates=replicates, rng=rng), confidence=confidence)
    return Row(
        "length",
        keys,
        "spearman",
        estimate,
        low=ends.low,
        high=ends.high,
        confidence=confidence,
        method="percentile bootstrap",
        unit="item",
        note=joined("of this rater's judgements, over items of this kind", remarks(estimate, ends)),
        **sample,
    )


def _mean(one: Measured, slopes: FloatArray, confidence: float) -> Row:
    keys = one.keys(model="mean_of_raters")
    known = slopes[~np.isnan(slopes)]
    sample: dict[str, Any] = {"n_items": one.panel.n_items, "n_raters": len(known)}
    test = t_test(known)
    if len(known) < 2:
        return Row("length", keys, "slope", np.nan, undefined="fewer than two raters with a slope", **sample)
    mean = float(known.mean())
    if test.undefined:
        return Row("length", keys, "slope", mean, note=f"no interval: {test.undefined}", **sample)
    half = t_quantile(test.df2, confidence) * float(known.std(ddof=1)) / np.sqrt(len(known))
    return Row(
        "length",
        keys,
        "slope",
        mean,
        low=mean - half,
        high=mean + half,
        confidence=confidence,
        method="t over the raters' slopes",
        unit="rater",
        df1=1,
        df2=test.df2,
        p=test.p,
        note="over raters of this kind, these outputs; a rater's slope counts once, however many ratings it rests on",
        **sample,
    )


def _differ(one: Measured) -> list[Row]:
    rows = []
    for model, x in (("judgement", one.length), ("judgement_within_item", within_item(one))):
        test = slopes_differ(x, one.panel.rating, one.panel.rater, one.panel.item)
        keys = one.keys(model=model)
        sample: dict[str, Any] = {"n_items": one.panel.n_items, "n_raters": one.panel.n_raters}
        if test.undefined:
            rows.append(Row("length", keys, "slopes_differ_f", np.nan, undefined=test.undefined, **sample))
            continue
        rows.append(
            Row(
                "length",
                keys,
                "slopes_differ_f",
                test.statistic,
                method="Hotelling's T-squared, covariance clustered by item",
                unit="item",
                df1=test.df1,
                df2=test.df2,
                p=test.p,
                note="that these raters have one slope, for items of this kind; a test statistic has no interval",
                **sample,
            )
        )
    return rows
