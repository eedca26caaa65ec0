"""How sure is each rank? Simultaneous sets over items, raters and both, tiers, and the order that is left."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing import measured
from measurand.auditing.design import full_crossing_fault
from measurand.auditing.mixed import pair_contrasts
from measurand.auditing.pairs import pair_tables, pooled_error
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import ranks as formulas
from measurand.stats.inference import FloatArray, stream, t_quantile, without_dust

UNITS: Final = ("item", "rater", "item+rater")
#: Draws of the studentised range and of rank distributions over both facets.
RANK_DRAWS: Final = 50_000
#: Above this many systems the ranks that no draw gave are left out of the rows.
MOST_WITH_ALL_RANKS: Final = 20
_METHODS: Final = {
    "item": "max-|t| bootstrap over items of all pairs (Romano & Wolf 2005)",
    "rater": "t over raters of all pairs, Bonferroni",
    "item+rater": "studentised range, Satterthwaite's degrees of freedom",
}
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class _Simultaneous:
    """Differences of all systems, rows minus columns, and the lower ends of their simultaneous intervals."""

    low: FloatArray
    undefined: str = ""
    note: str = ""
    method: str = ""


def ranks(
    ratings: Ratings | Sequence[Panel] | Any, *, replicates: int = 2000, confidence: float = 0.95, seed: int = 0
) -> Result:
    """Return the rank of each system with a set that holds for all systems at once.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    replicates : int
        Bootstrap replicates over items.
    confidence : float
        Simultaneous level over all systems.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `ranks`, for `unit` item (these raters), rater (these items) and item+rater (both random; complete
        panels): `rank` with its simultaneous set; three kinds of tiers, kept apart: `tier` (layer: one more than the
        longest chain of significantly better systems above), `in_top_set` (1 if the first place cannot be excluded)
        and `tier_letter` (position of the first group of a compact letter display that holds the system; the note has
        all its letters, and two systems differ if and only if they share none); and `p_rank`, the share of draws in
        which the system takes rank `at_rank`. The settings hold the Hasse edges.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91, 476-518.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> found = ranks(two_emojis_panel().ratings, replicates=200)
    >>> [row.high - row.low for row in found.select("ranks", "rank", {"unit": "item+rater", "system": "S1"})]
    [7]
    """
    rows: list[Row] = []
    edges: dict[str, dict[str, list[list[str]]]] = {}
    for panel in panels(ratings):
        if panel.n_systems < 2:
            continue
        if not panel.has_numbers:
            reason = "nominal ratings of more than two categories have no mean"
            rows.append(Row("ranks", {"criterion": panel.criterion}, "rank", np.nan, undefined=reason))
            continue
        edges[panel.criterion] = {}
        score = without_dust(_scores(panel), largest=float(np.abs(panel.rating).max()))
        for unit in UNITS:
            found = _simultaneous(panel, unit, replicates, confidence, seed)
            if found.undefined:
                keys: dict[str, Key] = {"criterion": panel.criterion, "unit": unit}
                rows.append(Row("ranks", keys, "rank", np.nan, undefined=found.undefined))
                continue
            better = formulas.better_than(found.low)
            rows += _of_unit(panel, unit, score, better, confidence, found)
            edges[panel.criterion][unit] = [
                [panel.systems[i], panel.systems[j]] for i, j in formulas.covering_pairs(better)
            ]
            rows += _probabilities(panel, unit, score, replicates, seed)
    settings = {"replicates": replicates, "confidence": confidence, "seed": seed, "hasse": edges}
    return Result(rows, {"ranks": settings})


def _scores(panel: Panel) -> FloatArray:
    """System scores by least squares of the paired differences: on complete panels the means, else free of severity."""
    if panel.is_complete:
        return np.asarray(panel.cube().mean(axis=(0, 2)))
    n = panel.n_systems
    by_item, _, counts = pair_tables(panel)
    laplacian, right = np.zeros((n, n)), np.zeros(n)
    for column, (a, b) in enumerate(itertools.combinations(range(n), 2)):
        if counts[column] == 0:
            continue
        weight, difference = float(counts[column]), float(np.nanmean(by_item[:, column]))
        laplacian[[a, b], [a, b]] += weight
        laplacian[[a, b], [b, a]] -= weight
        right[a] += weight * difference
        right[b] -= weight * difference
    return np.asarray(np.linalg.lstsq(laplacian, right, rcond=None)[0])


def _simultaneous(panel: Panel, unit: str, replicates: int, confidence: float, seed: int) -> _Simultaneous:
    n = panel.n_systems
    nothing = np.full((n, n), np.nan)
    by_item, by_rater, _ = pair_tables(panel)
    pairs = list(itertools.combinations(range(n), 2))
    if unit == "item+rater":
        if reason := full_crossing_fault(panel):
            return _by_model(panel, pairs, confidence) if not panel.is_complete else _Simultaneous(nothing, reason)
        error, df = pooled_error(panel)
        if error <= 0:
            return _Simultaneous(nothing, "the estimated error variance of a difference is 0 or negative")
        rng = stream(seed, "ranks", panel.criterion, unit)
        critical = formulas.range_quantile(n, df, confidence=confidence, n_draws=RANK_DRAWS, rng=rng)
        means = by_item.mean(axis=0)
        half = np.full(len(pairs), critical * np.sqrt(2 * error / (panel.n_items * panel.n_raters)))
    else:
        table = by_item if unit == "item" else by_rater
        known = (~np.isnan(table)).sum(axis=0)
        if known.max(initial=0) < 2:
            size = panel.n_items if unit == "item" else panel.n_raters
            alone = f"one {unit}: nothing can be redrawn"
            return _Simultaneous(nothing, alone if size == 1 else f"no two systems share two {unit}s")
        means = np.array([np.nanmean(c) if k else np.nan for c, k in zip(table.T, known, strict=True)])
        spread = np.array([np.nanstd(c, ddof=1) if k > 1 else np.nan for c, k in zip(table.T, known, strict=True)])
        error_of_mean = spread / np.sqrt(np.maximum(known, 1))
        if unit == "item":
            rng = stream(seed, "ranks", panel.criterion, unit)
            drawn = rng.multinomial(len(table), np.full(len(table), 1 / len(table)), size=replicates).astype(float)
            critical = formulas.max_t_quantile(table, drawn, confidence=confidence)
            if np.isnan(critical):
                return _Simultaneous(nothing, "the differences of the systems do not vary")
            half = critical * error_of_mean
        else:
            level = 1 - (1 - confidence) / len(pairs)
            half = np.array([t_quantile(k - 1, level) if k > 1 else np.nan for k in known]) * error_of_mean
    low = nothing.copy()
    # A difference that is the same in every unit has no error to judge it by, however few the units are.
    half = np.where(half > 1e-14 * float(np.abs(panel.rating).max()), half, np.nan)
    for (a, b), mean, width in zip(pairs, means, half, strict=True):
        low[a, b], low[b, a] = mean - width, -mean - width
    note = f"rests on {panel.n_raters} raters" if unit == "rater" else ""
    return _Simultaneous(low, note=note)


def _by_model(panel: Panel, pairs: list[tuple[int, int]], confidence: float) -> _Simultaneous:
    """Intervals of the full mixed model, Bonferroni over pairs, for incomplete panels."""
    low = np.full((panel.n_systems, panel.n_systems), np.nan)
    estimated = pair_contrasts(panel)
    if isinstance(estimated, str):
        return _Simultaneous(low, estimated)
    level = 1 - (1 - confidence) / len(pairs)
    for (a, b), value, error, df in zip(pairs, *estimated, strict=True):
        half = t_quantile(float(df), level) * error
        low[a, b], low[b, a] = value - half, -value - half
    method = "full mixed model, t with Satterthwaite's degrees of freedom, Bonferroni over pairs"
    return _Simultaneous(low, method=method)


def _of_unit(
    panel: Panel, unit: str, score: FloatArray, better: np.ndarray[Any, Any], confidence: float, found: _Simultaneous
) -> list[Row]:
    order = np.argsort(-score, kind="stable")
    rank = _ranked(score[None, :])[0]
    sets = formulas.rank_sets(better)
    layer = formulas.layers(better)
    try:
        groups = formulas.letters(better, order.astype(np.int64))
        no_letters = ""
    except ValueError as error:
        groups, no_letters = [], f"{error}: too many to tell apart by letters"
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    rows = []
    for system, name in enumerate(panel.systems):
        keys: dict[str, Key] = {"criterion": panel.criterion, "system": name, "unit": unit}
        low, high = int(sets.low[system]), int(sets.high[system])
        rows.append(
            Row(
                "ranks",
                keys,
                "rank",
                float(rank[system]),
                low,
                high,
                confidence,
                found.method or _METHODS[unit],
                note="; ".join(filter(None, [found.note, measured.RANK_SETS[unit]])),
                **sample,
            )
        )
        rows.append(Row("ranks", keys, "tier", int(layer[system]), note="layer of the order that is left", **sample))
        rows.append(Row("ranks", keys, "in_top_set", int(low == 1), note="1 if it may be first", **sample))
        holding = [position for position, group in enumerate(groups) if system in group]
        if not holding:
            rows.append(Row("ranks", keys, "tier_letter", np.nan, undefined=no_letters, **sample))
            continue
        shown = " ".join(_letter(position) for position in holding)
        rows.append(
            Row("ranks", keys, "tier_letter", holding[0] + 1, note=f"compact letter display: {shown}", **sample)
        )
    return rows


def _letter(position: int) -> str:
    return _LETTERS[position % 26] * (1 + position // 26)


def _probabilities(panel: Panel, unit: str, score: FloatArray, replicates: int, seed: int) -> list[Row]:
    """How often each system takes each rank when items, or items and raters, are drawn again."""
    if unit == "rater" or not panel.is_complete:
        return []
    rng = stream(seed, "ranks", panel.criterion, unit, "p_rank")
    if unit == "item":
        by_item = panel.cube().mean(axis=2)
        drawn = rng.multinomial(len(by_item), np.full(len(by_item), 1 / len(by_item)), size=replicates)
        scores = drawn @ by_item / len(by_item)
        method = "bootstrap over items"
    else:
        error, df = pooled_error(panel)
        if error <= 0:
            return []
        spread = np.sqrt(error / (panel.n_items * panel.n_raters) * df / rng.chisquare(df, size=(RANK_DRAWS, 1)))
        scores = score + spread * rng.standard_normal((RANK_DRAWS, panel.n_systems))
        method = "generalised pivots of the means"
    taken = _ranked(scores)
    rows = []
    for system, name in enumerate(panel.systems):
        for rank in range(1, panel.n_systems + 1):
            share = float((np.floor(taken[:, system] + 0.5) == rank).mean())
            if share == 0 and panel.n_systems > MOST_WITH_ALL_RANKS:
                continue
            keys: dict[str, Key] = {"criterion": panel.criterion, "system": name, "unit": unit, "at_rank": rank}
            note = "share of draws; no interval of its own"
            rows.append(
                Row(
                    "ranks",
                    keys,
                    "p_rank",
                    share,
                    method=method,
                    n_items=panel.n_items,
                    n_raters=panel.n_raters,
                    note=note,
                )
            )
    return rows


def _ranked(scores: FloatArray) -> FloatArray:
    """Ranks of each row of scores, 1 is best, ties share the mean rank; many systems go row by row."""
    scores = np.round(scores, 12)
    above = np.zeros_like(scores)
    equal = np.zeros_like(scores)
    for system in range(scores.shape[1]):
        above += scores[:, [system]] > scores
        equal += scores[:, [system]] == scores
    return np.asarray(above + (equal + 1) / 2)
