"""Which systems differ? Every pair over items, over raters, and over both."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from measurand.auditing import measured
from measurand.auditing.design import full_crossing_fault
from measurand.auditing.mixed import pair_contrasts
from measurand.auditing.variance import FACETS
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.sentences import joined
from measurand.stats import variance
from measurand.stats.inference import (
    Exact,
    FloatArray,
    IntArray,
    holm,
    percentile_interval,
    sign_flip_tests,
    sign_test,
    stream,
    t_p,
    t_quantile,
    t_test,
)

#: Random sign patterns of a permutation test over more than sixteen units.
FLIPS: Final = 9_999
#: Note of an interval over both that is narrower than that over items alone.
NARROWER: Final = (
    "narrower than over items, where the error is this pair's own: here it is shared with all pairs; read the wider of "
    "the two"
)
#: Below this many raters the pigeonhole bootstrap carries its warning.
MOST_RATERS_WITH_WARNING: Final = 20


@dataclass(frozen=True)
class _Pair:
    """Differences of two systems, by item and by rater, over the (item, rater) cells in which both were rated."""

    a: int
    b: int
    by_item: FloatArray
    by_rater: FloatArray
    items: IntArray
    raters: IntArray


def pairs(
    ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0, pigeonhole: int = 0
) -> Result:
    """Return the difference of every two systems under three views of what is a replicate.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed (permutation tests over many items draw sign patterns).
    pigeonhole : int
        Replicates of the pigeonhole bootstrap, which draws items and raters anew; 0 leaves it out. With few raters it
        is too narrow, and its rows say so.

    Returns
    -------
    Result
        Analysis `pairs`. `difference` is mean a minus mean b: with `unit` = ``item`` tested by a paired t over items
        on panel means (generalises over items, for these raters; `same_sign_all_raters` tells whether every rater
        agrees on the direction); ``rater`` by a one-sample t over the raters' differences (over raters, for these
        items); ``item+rater`` by t with Satterthwaite's degrees of freedom, on complete panels with an error
        pooled over systems, on others from the full mixed model (both random); such an interval can be narrower than
        the pair's own over items, and then says so. `p_sign` and `p_permutation` (sign
        flips) give their p as the estimate and the smallest attainable one. `p_adjusted` is Holm's over the pairs of
        one criterion, unit and test. Differences are taken within item and rater first, so that on incomplete panels
        severity cannot pose as a system difference.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2, 110-114; Holm (1979), Scandinavian Journal of Statistics 6.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> table = pairs(two_emojis_panel().ratings).to_frame("pairs")
    >>> by_unit = table[table.statistic == "difference"].groupby("unit").p_adjusted
    >>> {unit: int((p < 0.05).sum()) for unit, p in by_unit if unit != "item"}
    {'item+rater': 0, 'rater': 0}
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if panel.n_systems < 2:
            continue
        if not panel.has_numbers:
            reason = "nominal ratings of more than two categories have no mean"
            rows.append(Row("pairs", {"criterion": panel.criterion}, "difference", np.nan, undefined=reason))
            continue
        found = [_differences(panel, a, b) for a, b in itertools.combinations(range(panel.n_systems), 2)]
        for unit in ("item", "rater"):
            rows += _over(panel, found, unit, confidence, seed)
        own = _widths(rows, panel.criterion)
        if not full_crossing_fault(panel):
            rows += _narrower_told(_over_both(panel, found, confidence), own)
            if pigeonhole:
                rows += _pigeonhole(panel, found, pigeonhole, confidence, seed)
        elif not panel.is_complete and panel.n_items > 1 and panel.n_raters > 1:
            rows += _narrower_told(_over_both_by_model(panel, found, confidence), own)
    settings = {
        "confidence": confidence,
        "seed": seed,
        "adjustment": "holm",
        "flips": FLIPS,
    }
    return Result(rows, {"pairs": settings})


def pair_tables(panel: Panel) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the differences of every pair of systems by item and by rater, and how many items each pair shares.

    Returns
    -------
    tuple of ndarray
        Shapes (n_items, n_pairs), (n_raters, n_pairs), NaN where a pair has no difference, and (n_pairs,).
    """
    found = [_differences(panel, a, b) for a, b in itertools.combinations(range(panel.n_systems), 2)]
    by_item = np.full((panel.n_items, len(found)), np.nan)
    by_rater = np.full((panel.n_raters, len(found)), np.nan)
    for column, pair in enumerate(found):
        by_item[pair.items, column] = pair.by_item
        by_rater[pair.raters, column] = pair.by_rater
    return by_item, by_rater, np.array([len(pair.items) for pair in found], dtype=np.int64)


def pooled_error(panel: Panel) -> tuple[float, float]:
    """Return the error mean square of system means with items and raters both random, and its degrees of freedom.

    The variance of a difference of two means is twice the first over the ratings of a system; degrees of freedom are
    Satterthwaite's. The first may be negative.
    """
    table = variance.anova(panel.cube(), FACETS)
    ms, df = table.ms, table.df
    # An interaction whose mean square is below the residual's has no variance: its component counts as 0, as in G.
    above = [source for source in ("system:rater", "item:system") if ms[source] > ms["residual"]]
    terms = dict.fromkeys(above, 1.0) | ({} if len(above) == 1 else {"residual": 1.0 - len(above)})
    error = sum(sign * ms[source] for source, sign in terms.items())
    spread = sum(ms[source] ** 2 / df[source] for source in terms)
    return error, error**2 / spread if spread > 0 else np.nan


def _differences(panel: Panel, a: int, b: int) -> _Pair:
    in_a, in_b = np.flatnonzero(panel.system == a), np.flatnonzero(panel.system == b)
    key = panel.item * panel.n_raters + panel.rater
    common, at_a, at_b = np.intersect1d(key[in_a], key[in_b], assume_unique=True, return_indices=True)
    difference = panel.rating[in_a][at_a] - panel.rating[in_b][at_b]
    dust = 1e-13 * float(np.abs(panel.rating).max())
    items, by_item = _means(common // panel.n_raters, difference, dust)
    raters, by_rater = _means(common % panel.n_raters, difference, dust)
    return _Pair(a, b, by_item, by_rater, items, raters)


def _means(group: IntArray, values: FloatArray, dust: float) -> tuple[IntArray, FloatArray]:
    """Return the mean of each group; one that differs from 0 by rounding alone is 0, as signs are counted."""
    names, position = np.unique(group, return_inverse=True)
    means = np.bincount(position, weights=values) / np.bincount(position) if len(names) else np.zeros(0)
    return names, np.where(np.abs(means) <= dust, 0.0, means)


def _over(panel: Panel, found: list[_Pair], unit: str, confidence: float, seed: int) -> list[Row]:
    of_item = unit == "item"
    size = panel.n_items if of_item else panel.n_raters
    table = np.full((size, len(found)), np.nan)
    for column, pair in enumerate(found):
        table[pair.items if of_item else pair.raters, column] = pair.by_item if of_item else pair.by_rater
    flips = sign_flip_tests(table, n_draws=FLIPS, rng=stream(seed, "pairs", panel.criterion, unit))
    differences, signs, permutations = [], [], []
    for pair, flip in zip(found, flips, strict=True):
        values = pair.by_item if of_item else pair.by_rater
        differences.append(_difference(panel, pair, values, unit, confidence))
        signs.append(_exact(panel, pair, unit, "p_sign", sign_test(values)))
        permutations.append(_exact(panel, pair, unit, "p_permutation", flip))
    return [*_adjusted(differences), *_adjusted(signs), *_adjusted(permutations)]


def _keys(panel: Panel, pair: _Pair, unit: str) -> dict[str, Key]:
    return {
        "criterion": panel.criterion,
        "system_a": panel.systems[pair.a],
        "system_b": panel.systems[pair.b],
        "unit": unit,
    }


def _difference(panel: Panel, pair: _Pair, values: FloatArray, unit: str, confidence: float) -> Row:
    keys = _keys(panel, pair, unit)
    sample: dict[str, Any] = {"n_items": len(pair.items), "n_raters": len(pair.raters), "unit": unit}
    if len(values) == 0:
        return Row("pairs", keys, "difference", np.nan, undefined="no rater rated both on one item", **sample)
    mean = float(values.mean())
    signs = np.sign(pair.by_rater)  # differences that are rounding dust are 0 already
    extra = {"same_sign_all_raters": bool(abs(signs.sum()) == len(signs))} if unit == "item" else {}
    test = t_test(values)
    if test.undefined:
        note = f"no interval, no test: {test.undefined}"
        return Row("pairs", keys, "difference", mean, note=note, extra=extra, **sample)
    half = t_quantile(test.df2, confidence) * abs(mean / test.statistic) if test.statistic else np.nan
    if np.isnan(half):
        half = t_quantile(test.df2, confidence) * float(values.std(ddof=1)) / np.sqrt(len(values))
    note = f"for these raters; {measured.PAIRED}"
    if unit == "rater":
        note = f"for these items; rests on {len(values)} raters: t with {int(test.df2)} degrees of freedom"
    return Row(
        "pairs",
        keys,
        "difference",
        mean,
        mean - half,
        mean + half,
        confidence,
        "paired t" if unit == "item" else "one-sample t",
        df1=test.df1,
        df2=test.df2,
        p=test.p,
        note=note,
        extra=extra,
        **sample,
    )


def _exact(panel: Panel, pair: _Pair, unit: str, statistic: str, test: Exact) -> Row:
    keys = _keys(panel, pair, unit)
    sample: dict[str, Any] = {"n_items": len(pair.items), "n_raters": len(pair.raters), "unit": unit}
    if test.undefined:
        return Row("pairs", keys, statistic, np.nan, undefined=test.undefined, **sample)
    note = "the estimate is the two-sided p; a test has no interval"
    return Row("pairs", keys, statistic, test.p, p=test.p, attainable_p=test.attainable_p, note=note, **sample)


def _over_both(panel: Panel, found: list[_Pair], confidence: float) -> list[Row]:
    """Differences with items and raters both random: pooled error, degrees of freedom by Satterthwaite."""
    error, freedom = pooled_error(panel)
    rows = []
    for pair in found:
        keys = _keys(panel, pair, "item+rater")
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters, "unit": "item+rater"}
        mean = float(pair.by_item.mean())
        if error <= 0:
            note = "no interval, no test: the estimated error variance of a difference is 0 or negative"
            rows.append(Row("pairs", keys, "difference", mean, note=note, **sample))
            continue
        standard_error = np.sqrt(2 * error / (panel.n_items * panel.n_raters))
        half = t_quantile(freedom, confidence) * standard_error
        rows.append(
            Row(
                "pairs",
                keys,
                "difference",
                mean,
                mean - half,
                mean + half,
                confidence,
                "t, Satterthwaite, error pooled over systems",
                df1=1,
                df2=float(freedom),
                p=t_p(mean / standard_error, freedom),
                **sample,
            )
        )
    return _adjusted(rows)


def _widths(rows: Sequence[Row], criterion: str) -> dict[tuple[Key, Key], float]:
    """Return how wide each pair's own interval over items is."""
    return {
        (row.keys["system_a"], row.keys["system_b"]): row.high - row.low
        for row in rows
        if row.statistic == "difference"
        and row.unit == "item"
        and row.keys["criterion"] == criterion
        and row.low is not None
        and row.high is not None
    }


def _narrower_told(rows: Sequence[Row], own: Mapping[tuple[Key, Key], float]) -> list[Row]:
    """Say of an interval over both that it is narrower than the pair's own over items, which a shared error allows."""
    return [
        replace(row, note=joined(row.note, NARROWER))
        if row.low is not None
        and row.high is not None
        and row.high - row.low < own.get((row.keys["system_a"], row.keys["system_b"]), 0.0)
        else row
        for row in rows
    ]


def _over_both_by_model(panel: Panel, found: list[_Pair], confidence: float) -> list[Row]:
    """Differences with items and raters both random on incomplete panels: the full mixed model."""
    estimated = pair_contrasts(panel)
    rows = []
    for column, pair in enumerate(found):
        keys = _keys(panel, pair, "item+rater")
        sample: dict[str, Any] = {"n_items": len(pair.items), "n_raters": len(pair.raters), "unit": "item+rater"}
        if isinstance(estimated, str):
            rows.append(Row("pairs", keys, "difference", np.nan, undefined=estimated, **sample))
            continue
        value, error, df = (float(part[column]) for part in estimated)
        half = t_quantile(df, confidence) * error
        rows.append(
            Row(
                "pairs",
                keys,
                "difference",
                value,
                value - half,
                value + half,
                confidence,
                "t, Satterthwaite, full mixed model",
                df1=1,
                df2=df,
                p=t_p(value / error, df),
                **sample,
            )
        )
    return _adjusted(rows)


def _pigeonhole(panel: Panel, found: list[_Pair], replicates: int, confidence: float, seed: int) -> list[Row]:
    """Differences with items and raters drawn anew, independently of each other (Owen 2007)."""
    rng = stream(seed, "pairs", panel.criterion, "pigeonhole")
    n_items, n_systems, n_raters = panel.cube().shape
    of_items = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=replicates) / n_items
    of_raters = rng.multinomial(n_raters, np.full(n_raters, 1 / n_raters), size=replicates) / n_raters
    by_rater = (of_items @ panel.cube().reshape(n_items, -1)).reshape(replicates, n_systems, n_raters)
    means = np.einsum("bsr,br->bs", by_rater, of_raters)
    shrunk = (n_raters - 1) / n_raters
    note = (
        f"with {n_raters} raters the variance that raters make comes out {100 * shrunk:.0f} % as large as it is: "
        "read the interval by t instead"
        if n_raters < MOST_RATERS_WITH_WARNING
        else ""
    )
    rows = []
    for pair in found:
        interval = percentile_interval(means[:, pair.a] - means[:, pair.b], confidence=confidence)
        rows.append(
            Row(
                "pairs",
                _keys(panel, pair, "item+rater"),
                "difference",
                float(pair.by_item.mean()),
                interval.low,
                interval.high,
                confidence,
                "pigeonhole bootstrap",
                "item+rater",
                n_items,
                n_raters,
                note=note,
            )
        )
    return rows


def _adjusted(rows: list[Row]) -> list[Row]:
    adjusted = holm(np.array([np.nan if row.p is None else row.p for row in rows]))
    return [
        row if row.p is None else replace(row, p_adjusted=float(value))
        for row, value in zip(rows, adjusted, strict=True)
    ]
