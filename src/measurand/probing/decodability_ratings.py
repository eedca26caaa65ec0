"""Do systems whose outputs tell more of the labels get higher ratings? Mean ratings, and their rank correlation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.probing.findings_decodability_read import system_scores
from measurand.result import Key, MeasurandError, Result, Row
from measurand.sentences import joined
from measurand.stats.inference import FloatArray, IntArray, clusters, percentile_interval, stream, without_dust
from measurand.stats.rank_correlation import Correlated, correlation, row_spearman, spearman_test

REPLICATES: Final = 2000
#: |rho| from which two orders are the same or opposite, and random orders where there are too many to list.
_SAME_ORDER: Final = 1 - 1e-12
_ORDERS: Final = 99_999
_OVER_SYSTEMS: Final = "Fisher's z over systems, variance (1 + rho^2/2)/(n - 3) (Bonett & Wright 2000)"
_OVER_ITEMS: Final = "percentile bootstrap of the rated items, these systems and their decodability as they are"
_OF_MEANS: Final = "percentile bootstrap of the rated items, these raters"
_RATERS: Final = "other raters would move it, too: see `measurand audit`"
_VALIDATES: Final = "a criterion that does not order the systems validates nothing; see `measurand audit`"


class _Means(NamedTuple):
    """Sums and numbers of ratings of each item and system, shape (n_items, n_systems)."""

    sums: FloatArray
    counts: FloatArray

    @property
    def means(self) -> FloatArray:
        """Mean rating of each system."""
        return np.asarray(self.of(np.ones((1, len(self.sums))))[0])

    def of(self, weights: FloatArray) -> FloatArray:
        """Return mean ratings of each system for item weights (n_rows, n_items)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights @ self.sums) / (weights @ self.counts))

    def boards(self, rng: np.random.Generator) -> FloatArray:
        """Return the mean ratings of each system over redrawn items, shape (REPLICATES, n_systems)."""
        n_items = len(self.sums)
        drawn = clusters(np.arange(n_items), np.arange(n_items), n_items)
        return np.concatenate([self.of(weights) for weights in drawn.replicates(REPLICATES, rng)])


def decodability_ratings(
    result: Result, ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0
) -> Result:
    """Return the rank correlation of systems' decodability with their mean rating, overall and for each rater.

    Parameters
    ----------
    result : Result
        What `measurand.probing.decodability.decodability` returned.
    ratings : Ratings, path or data frame
        Ratings of outputs of systems of the same names; see `measurand.read_ratings`.
    confidence, seed
        Level of intervals; the one seed.

    Returns
    -------
    Result
        Analysis `decodability_ratings`: `mean_rating` of each system that both tables name, in scale units, with its
        interval over rated items, these raters as they are. `spearman` for each criterion, language and rater (blank:
        the mean over all ratings), over the systems that both tables name. Two intervals, since both the systems and
        the rated items are few: over systems (with p by t, n - 2 degrees of freedom) and over rated items. Where the
        two orders are the same, or opposite, there is no interval over systems, and p is that of a permutation of the
        systems. `n_systems` of each. Undefined below three systems in common, or where either side does not vary.

    Raises
    ------
    MeasurandError
        If the result holds no decodability.

    Notes
    -----
    The mean rating of a system is over the ratings that there are, all items together, of whatever language. The
    interval over systems is tanh(artanh(rho) ± z sqrt((1 + rho²/2)/(n - 3))).

    References
    ----------
    Bonett & Wright (2000), Psychometrika 65, 23-28. Sakhawat 2026, arXiv 2609.29445, section 6.

    Examples
    --------
    >>> import pandas as pd
    >>> keys = {"language": "", "token_unit": "word"}
    >>> scores = {"a": 0.4, "b": 0.5, "c": 0.6}
    >>> rows = [Row("decodability", keys | {"system": name}, "macro_f1", value) for name, value in scores.items()]
    >>> given = pd.DataFrame({"item": 1, "system": list("abc"), "rater": "R1", "rating": [1, 3, 2]})
    >>> decodability_ratings(Result(rows), given).select("decodability_ratings", "spearman", {"rater": ""})[0].estimate
    0.5
    """
    scores = system_scores(result)
    if not scores:
        raise MeasurandError("the result has no macro_f1 of a system; give what `decodability` returned")
    rows: list[Row] = []
    for panel in panels(ratings):
        rows += _mean_ratings(panel, {name for of_systems in scores.values() for name in of_systems}, confidence, seed)
        for (language, unit), of_systems in scores.items():
            keys: dict[str, Key] = {"criterion": panel.criterion, "language": language, "token_unit": unit}
            rows += _rows(keys, panel, of_systems, confidence, seed)
    return Result(rows, {"decodability_ratings": {"confidence": confidence, "seed": seed, "replicates": REPLICATES}})


def _mean_ratings(panel: Panel, decoded: set[str], confidence: float, seed: int) -> list[Row]:
    """Return the mean rating of each system that was decoded, in the order of the ratings."""
    names = [name for name in panel.systems if name in decoded]
    if not (panel.has_numbers and names):
        return []
    column = _columns(panel, names)
    kept = column[panel.system] >= 0
    table = _tabled(panel, kept, column, len(names))
    means, n_items = table.means, (table.counts > 0).sum(axis=0)
    # The draws are those of the correlation where languages have no names: there both are of the same redrawn means.
    rng = stream(seed, "decodability_ratings", panel.criterion, "", "")
    boards = table.boards(rng) if len(table.sums) > 1 else None
    rows = []
    for at, name in enumerate(names):
        keys: dict[str, Key] = {"criterion": panel.criterion, "rater": "", "system": name}
        n_raters = len(np.unique(panel.rater[column[panel.system] == at]))
        row = Row("decodability_ratings", keys, "mean_rating", float(means[at]), n_raters=n_raters)
        row = replace(row, n_items=int(n_items[at]), note=_RATERS)
        if boards is None or n_items[at] < 2:
            rows.append(replace(row, note=joined("no interval: one item was rated", _RATERS)))
            continue
        low, high, lost = percentile_interval(boards[:, at], confidence=confidence)
        ends: dict[str, Any] = {"low": low, "high": high, "confidence": confidence, "method": _OF_MEANS, "unit": "item"}
        rows.append(replace(row, note=joined(_RATERS, _lost(lost)), **ends))
    return rows


def _lost(share: float) -> str:
    return f"undefined in {100 * share:.2g} % of the replicates" if share else ""


def _columns(panel: Panel, names: Sequence[str]) -> IntArray:
    """Return the place of each of the panel's systems among names, -1 where it is not one of them."""
    column = np.full(panel.n_systems, -1)
    column[[panel.systems.index(name) for name in names]] = np.arange(len(names))
    return column


def _rows(
    keys: Mapping[str, Key], panel: Panel, of_systems: Mapping[str, float], confidence: float, seed: int
) -> list[Row]:
    """Return the rows of one criterion and language: overall, then rater by rater."""
    names = [name for name in panel.systems if name in of_systems]
    if not panel.has_numbers:
        reason = "nominal ratings of more than two categories have no mean"
        return [Row("decodability_ratings", keys, "spearman", np.nan, undefined=reason)]
    if len(names) < 3:
        reason = f"{len(names)} systems are named both in the outputs and in the ratings; an order needs three"
        return [Row("decodability_ratings", keys, "spearman", np.nan, undefined=reason)]
    x = without_dust(np.array([of_systems[name] for name in names]), largest=1.0)
    column = _columns(panel, names)
    rows = []
    for rater in ["", *panel.raters] if panel.n_raters > 1 else [""]:
        kept = column[panel.system] >= 0
        if rater:
            kept &= panel.rater == panel.raters.index(rater)
        n_raters = 1 if rater else panel.n_raters
        found = _correlation({**keys, "rater": rater}, x, _tabled(panel, kept, column, len(names)), confidence, seed)
        rows += [replace(row, n_raters=n_raters) for row in found]
    return rows


def _tabled(panel: Panel, kept: np.ndarray[Any, Any], column: np.ndarray[Any, Any], n_systems: int) -> _Means:
    """Return sums and numbers of the kept ratings, only the items that have any."""
    _, item = np.unique(panel.item[kept], return_inverse=True)
    place = (item, column[panel.system[kept]])
    sums = np.zeros((int(item.max(initial=-1)) + 1, n_systems))
    counts = np.zeros_like(sums)
    np.add.at(sums, place, panel.rating[kept])
    np.add.at(counts, place, 1.0)
    return _Means(sums, counts)


def _correlation(keys: Mapping[str, Key], x: FloatArray, table: _Means, confidence: float, seed: int) -> list[Row]:
    """Return the correlation with its two intervals."""
    n_items = len(table.sums)
    if n_items == 0 or np.isnan(table.means).any():
        reason = "a system has no rating here"
        return [Row("decodability_ratings", keys, "spearman", np.nan, undefined=reason, n_items=n_items)]
    means = without_dust(table.means, largest=float(np.abs(table.means).max()))
    found = correlation(x, means, confidence=confidence, is_rank=True)
    if found.undefined:
        reason = "all systems have the same decodability" if np.ptp(x) == 0 else "all systems have the same mean rating"
        return [Row("decodability_ratings", keys, "spearman", np.nan, undefined=reason, n_items=n_items)]
    rng = stream(seed, "decodability_ratings", *(str(keys[name]) for name in ("criterion", "language", "rater")))
    note = "systems that both the outputs and the ratings name"
    rows = [
        _over_systems(keys, found, x, means, n_items, confidence, seed),
        Row("decodability_ratings", keys, "n_systems", float(len(x)), note=note),
    ]
    if n_items > 1:
        boards = table.boards(rng)
        rhos = row_spearman(np.broadcast_to(x, boards.shape), np.round(boards, 12))
        low, high, lost = percentile_interval(rhos, confidence=confidence)
        note = joined(_VALIDATES, _lost(lost))
        ends = (low, high, confidence, _OVER_ITEMS, "item", n_items)
        rows.append(Row("decodability_ratings", keys, "spearman", found.value, *ends, note=note))
    return rows


def _over_systems(
    keys: Mapping[str, Key],
    found: Correlated,
    x: FloatArray,
    means: FloatArray,
    n_items: int,
    confidence: float,
    seed: int,
) -> Row:
    """Return the correlation with its interval and test over systems."""
    note = f"{len(x)} systems; {_VALIDATES}"
    row = Row("decodability_ratings", keys, "spearman", found.value, unit="system", n_items=n_items)
    if found.no_interval:
        note = f"{note}; no interval over systems: {found.no_interval}"
        if abs(found.value) < _SAME_ORDER:
            return replace(row, note=note)
        # Fisher's z and t have no error where the orders agree throughout; how many orders do is known exactly.
        rng = stream(seed, "decodability_ratings", "orders")
        test = spearman_test(x, means, n_draws=_ORDERS, rng=rng)
        return replace(row, p=test.p, attainable_p=test.attainable_p, note=f"{note}; p by permutation of the systems")
    ends: dict[str, Any] = {"low": found.low, "high": found.high, "confidence": confidence, "method": _OVER_SYSTEMS}
    return replace(row, df1=1, df2=found.df, p=found.p, note=note, **ends)
