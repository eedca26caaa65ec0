"""On the same item at equal length: which system's outputs are rated higher, and does the order survive?"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing.length_cells import Measured, remarks, undefined_in
from measurand.auditing.length_pairs import Tables, tables
from measurand.auditing.length_systems import ORDERS, Sums
from measurand.result import Key, Row
from measurand.sentences import joined, listed
from measurand.stats.inference import (
    FloatArray,
    IntArray,
    Interval,
    average_ranks,
    bootstrap,
    clusters,
    percentile_interval,
    stream,
    without_dust,
)
from measurand.stats.jackknife import jackknife_interval
from measurand.stats.paired_choice import adjusted_win_rates, win_rates
from measurand.stats.proportion import clustered_share, unanimous_share, wilson
from measurand.stats.rank_correlation import correlation, row_spearman

#: Up to so many raters each one's own win rates are rows.
MOST_RATERS: Final = 20
TIES: Final = ("half", "dropped")
#: Model to the statistic that orders the systems under it.
ORDERED_BY: Final = {"matched": "win_rate_matched", "adjusted": "win_rate_adjusted", "panel_mean": "win_rate_matched"}
_ONE_ITEM: Final = "one item: no interval over items"
_NEVER: Final = "no output of this system is as long as another system's to the same item"
_APART: Final = "comparisons at equal length do not connect all systems"
_MEDIATOR: Final = "a comparison at equal length: longer may be better, so that it shows no bias by itself"


def matched(one: Measured, tolerances: Sequence[float], *, replicates: int, confidence: float, seed: int) -> list[Row]:
    """Return how often each system's output is rated above another's of the same length to the same item.

    Parameters
    ----------
    one : Measured
        Ratings with lengths.
    tolerances : sequence of float
        Largest differences of two lengths that count as equal, as shares of the longer one.
    replicates : int
        Bootstrap replicates of items.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.

    Returns
    -------
    list of Row
        For each tolerance, and ties as ``half`` a win each or ``dropped``: `win_rate_matched` of each system (model
        ``matched``: each rater's two ratings are compared; ``panel_mean``: their means over raters, once an item) and
        `win_rate_adjusted` (model ``adjusted``: against an average opponent), each with its intervals; the `rank` that
        each gives and that of the mean ratings (``raw``); `spearman_matched_raw`, their rank correlation, beside
        `spearman_drawn_raw`, what as many pairs give that are drawn whatever their lengths, and `share_winner_kept`,
        the share of such draws that keep the raw first place; where k systems tie for a draw's first place, each has
        1/k of it. Overlap: `matched_share` of all pairs of outputs and
        of each two systems', `n_matched` of them, `n_comparisons` of two ratings, `share_tied` of these.
    """
    board = Sums(one)
    _, raw = board.whole(np.ones((1, board.n_items)))
    rows = _ranks(one, {"model": "raw"}, raw[0], "by mean rating")
    for tolerance in tolerances:
        for of_means in (False, True):
            found = tables(one, tolerance, of_means=of_means, seed=seed)
            part = _Part(one, board, raw[0], found, tolerance, of_means, replicates, confidence, seed)
            rows += part.rows()
    return rows


def _ranks(one: Measured, more: dict[str, Key], scores: FloatArray, note: str) -> list[Row]:
    """Return the rank of each system, 1 for the highest score."""
    defined = ~np.isnan(scores)
    ranks = np.full(len(scores), np.nan)
    if defined.any():
        ranks[defined] = average_ranks(
            list(without_dust(scores[defined], largest=float(np.abs(scores[defined]).max())))
        )
    rows = []
    for name, rank in zip(one.panel.systems, ranks, strict=True):
        keys = one.keys(system=name, **more)
        undefined = "" if rank == rank else _NEVER
        told = f"{note}; 1 is best, ties share the mean rank; descriptive: no interval"
        rows.append(Row("length", keys, "rank", float(rank), undefined=undefined, note=told))
    return rows


@dataclass(frozen=True)
class _Part:
    """One tolerance, compared rater by rater or by panel means."""

    one: Measured
    board: Sums
    raw: FloatArray
    found: Tables
    tolerance: float
    of_means: bool
    replicates: int
    confidence: float
    seed: int

    def rows(self) -> list[Row]:
        """Return overlap, then win rates, ranks and correlations for both treatments of ties."""
        models = ["panel_mean"] if self.of_means else ["matched", "adjusted"]
        rows = self._overlap()
        if self.found.matched.sum() == 0:
            reason = "no two outputs to one item have this length in common"
            for ties, model in itertools.product(TIES, models):
                keys = self._keys(model, ties)
                rows.append(Row("length", keys, ORDERED_BY[model], np.nan, undefined=reason))
                rows.append(Row("length", keys, "spearman_matched_raw", np.nan, undefined=reason))
            return rows
        draws = self._over_items(models)
        for ties in TIES:
            for model in models:
                rows += self._of_model(model, ties, draws.get((ties, model)))
        return rows

    def _keys(self, model: str, ties: str = "", **more: Key) -> dict[str, Key]:
        keys = self.one.keys(model=model, tolerance=self.tolerance, **more)
        return keys | ({"ties": ties} if ties else {})

    def _overlap(self) -> list[Row]:
        """How many pairs of outputs there are and are equally long, in all and for each two systems."""
        panel, found = self.one.panel, self.found
        model = "panel_mean" if self.of_means else "matched"
        wins_a, wins_b, compared = found.by_rater.sum(axis=(1, 2))
        note = "of the pairs of outputs to one item; a count of what is there: no interval"
        rows = []
        if not self.of_means:
            total = int(found.possible.sum())
            share = float(found.matched.sum() / total) if total else np.nan
            none = "" if total else "no two systems were rated on one item"
            sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
            keys = self._keys(model)
            rows += [
                Row("length", keys, "matched_share", share, undefined=none, note=note, **sample),
                Row("length", keys, "n_possible", total, note="pairs of outputs to one item", **sample),
                Row("length", keys, "n_matched", int(found.matched.sum()), note="pairs of outputs", **sample),
            ]
            for column, (a, b) in enumerate(itertools.combinations(panel.systems, 2)):
                keys = self._keys(model, system=a, opponent=b)
                n = int(found.possible[column])
                share = float(found.matched[column] / n) if n else np.nan
                none = "" if n else "the two were never rated on one item"
                rows.append(Row("length", keys, "matched_share", share, n_items=n, undefined=none, note=note))
            each = _square(found.matched[None, :].astype(np.float64), panel.n_systems)[0].sum(axis=1)
            for name, number in zip(panel.systems, each, strict=True):
                rows.append(Row("length", self._keys(model, system=name), "n_matched", int(number)))
        keys = self._keys(model)
        rows.append(Row("length", keys, "n_comparisons", int(compared)))
        tied = float((compared - wins_a - wins_b) / compared) if compared else np.nan
        none = "" if compared else "nothing was compared"
        told = "a count of what is there: no interval"
        rows.append(Row("length", keys, "share_tied", tied, undefined=none, note=told))
        return rows

    def _rates(self, counts: FloatArray, ties: str, model: str) -> FloatArray:
        """Return the systems' rates from wins and comparisons of pairs, shape (..., 3, n_pairs)."""
        wins, compared = _wins(counts, ties, self.one.panel.n_systems)
        rates = adjusted_win_rates(wins, compared) if model == "adjusted" else win_rates(wins, compared)
        return without_dust(rates, largest=1.0)

    def _over_items(self, models: list[str]) -> dict[tuple[str, str], FloatArray]:
        """Return replicates over items: the rates of all systems, then their rank correlation with the raw order."""
        if self.one.panel.n_items < 2:
            return {}
        which = list(itertools.product(TIES, models))
        place = np.arange(self.one.panel.n_items, dtype=np.int64)

        def statistic(weights: FloatArray) -> FloatArray:
            counts = np.stack([np.asarray(weights @ table) for table in self.found.by_item], axis=1)
            _, raw = self.board.whole(weights)
            rates = [self._rates(counts, ties, model) for ties, model in which]
            return np.stack([np.column_stack([rate, row_spearman(rate, raw)]) for rate in rates], axis=1)

        rng = stream(self.seed, "length", self.one.panel.criterion, "matched", str(self.of_means), repr(self.tolerance))
        drawn = bootstrap(
            statistic, clusters(place, place, self.one.panel.n_items), n_replicates=self.replicates, rng=rng
        )
        return {each: drawn[:, k] for k, each in enumerate(which)}

    def _of_model(self, model: str, ties: str, draws: FloatArray | None) -> list[Row]:
        """Return the rates of all systems under one model, their order, and its correlation with the raw one."""
        counts = self.found.by_rater.sum(axis=1)
        rates = self._rates(counts, ties, model)
        wins, compared = (table.sum(axis=-1) for table in _wins(counts, ties, self.one.panel.n_systems))
        without = self._without_each(ties, model)
        n_items, n_raters = self._n_compared(ties)
        rows: list[Row] = []
        for k, name in enumerate(self.one.panel.systems):
            keys = self._keys(model, ties, system=name)
            if np.isnan(rates[k]):
                reason = _APART if model == "adjusted" and compared[k] else _NEVER
                rows.append(Row("length", keys, ORDERED_BY[model], np.nan, undefined=reason))
                continue
            estimate = float(rates[k])
            n = int(compared[k])
            if model != "adjusted":
                ends = wilson(float(wins[k]), n, confidence=self.confidence)
                note = f"{n} comparisons, taken for independent although they share items, raters and opponents"
                rows.append(self._rate(keys, model, estimate, ends, "Wilson", "comparison", note))
            of_k = None if draws is None else draws[:, k]
            rows.append(self._item_interval(keys, model, estimate, of_k, int(n_items[k])))
            if self.one.panel.n_raters > 1 and not self.of_means:
                rows.append(self._rater_interval(keys, model, ties, k, estimate, without, int(n_raters[k])))
        rows += self._each_rater(model, ties)
        rows += _ranks(
            self.one, {"model": model, "ties": ties, "tolerance": self.tolerance}, rates, f"by {model} rates"
        )
        return rows + self._correlation(model, ties, rates, None if draws is None else draws[:, -1])

    def _rate(
        self, keys: dict[str, Key], model: str, estimate: float, ends: Interval, method: str, unit: str, note: str
    ) -> Row:
        sample: dict[str, Any] = {"n_items": self.one.panel.n_items, "n_raters": self.one.panel.n_raters}
        if ends.low == ends.low:
            sample |= {"low": ends.low, "high": ends.high, "confidence": self.confidence, "method": method}
        else:
            note = joined(note, "no interval: not determined")
        return Row("length", keys, ORDERED_BY[model], estimate, unit=unit, note=joined(note, _MEDIATOR), **sample)

    def _item_interval(
        self, keys: dict[str, Key], model: str, estimate: float, draws: FloatArray | None, n_compared: int
    ) -> Row:
        if draws is None:
            nothing = Interval(np.nan, np.nan)
            return self._rate(keys, model, estimate, nothing, "", "item", _ONE_ITEM)
        ends = percentile_interval(draws, confidence=self.confidence)
        note = "over items of this kind; these raters and systems"
        if _has_no_width(ends):
            note = joined(note, undefined_in(ends))
            return self._agreed(keys, model, estimate, "item", n_compared, note)
        return self._rate(
            keys, model, estimate, ends, "percentile bootstrap", "item", joined(note, remarks(estimate, ends))
        )

    def _agreed(self, keys: dict[str, Key], model: str, estimate: float, unit: str, n: int, note: str) -> Row:
        """Return the rate with Wilson's interval for as many trials as items, or raters, agree on it."""
        # Additive effects may leave [0, 1].
        ends = unanimous_share(min(max(estimate, 0.0), 1.0), n, confidence=self.confidence)
        ends = Interval(min(ends.low, estimate), max(ends.high, estimate))
        agreed = "the replicates agree" if unit == "item" else "the raters agree"
        note = joined(note, f"{agreed}: the interval is what {n} {unit}s that agree can tell")
        return self._rate(keys, model, estimate, ends, f"Wilson, effective number of {unit}s", unit, note)

    def _n_compared(self, ties: str) -> tuple[IntArray, IntArray]:
        """Return how many items, and how many raters, have a comparison of each system."""
        n = self.one.panel.n_systems
        a, b = np.triu_indices(n, k=1)
        is_of = np.zeros((len(a), n))
        is_of[np.arange(len(a)), a] = is_of[np.arange(len(a)), b] = 1.0
        tables = [(self.found.by_item[k], self.found.by_rater[k]) for k in range(3)]
        of_items, of_raters = (
            table[2] if ties == "half" else table[0] + table[1] for table in zip(*tables, strict=True)
        )
        return (np.asarray(of_items @ is_of) > 0).sum(axis=0), (of_raters @ is_of > 0).sum(axis=0)

    def _without_each(self, ties: str, model: str) -> FloatArray | None:
        """Return the adjusted rates without each rater, shape (n_raters, n_systems)."""
        if model != "adjusted" or self.one.panel.n_raters < 2:
            return None
        counts = self.found.by_rater.swapaxes(0, 1)
        return self._rates(counts.sum(axis=0) - counts, ties, model)

    def _rater_interval(
        self,
        keys: dict[str, Key],
        model: str,
        ties: str,
        k: int,
        estimate: float,
        without: FloatArray | None,
        n_compared: int,
    ) -> Row:
        n = self.one.panel.n_raters
        note = f"over raters of this kind, of whom there are {n}; these items and systems"
        if without is not None:
            ends = jackknife_interval(np.append(estimate, without[:, k]), np.arange(n), confidence=self.confidence)
            if _has_no_width(ends):
                return self._agreed(keys, model, estimate, "rater", n_compared, note)
            ends = Interval(max(ends.low, min(estimate, 0.0)), min(ends.high, max(estimate, 1.0)))
            return self._rate(keys, model, estimate, ends, "jackknife, t", "rater", note)
        wins, compared = _wins(self.found.by_rater.swapaxes(0, 1), ties, self.one.panel.n_systems)
        ends = clustered_share(wins.sum(axis=-1)[:, k], compared.sum(axis=-1)[:, k], confidence=self.confidence)
        if _has_no_width(ends):
            return self._agreed(keys, model, estimate, "rater", n_compared, note)
        return self._rate(keys, model, estimate, ends, "t, clustered by rater", "rater", note)

    def _each_rater(self, model: str, ties: str) -> list[Row]:
        """Return each rater's own win rates, by Wilson's interval."""
        panel = self.one.panel
        if model != "matched" or not 1 < panel.n_raters <= MOST_RATERS:
            return []
        wins, compared = (
            table.sum(axis=-1) for table in _wins(self.found.by_rater.swapaxes(0, 1), ties, panel.n_systems)
        )
        rows = []
        for (r, rater), (k, name) in itertools.product(enumerate(panel.raters), enumerate(panel.systems)):
            keys = self._keys(model, ties, system=name, rater=rater)
            n = int(compared[r, k])
            if n == 0:
                rows.append(Row("length", keys, "win_rate_matched", np.nan, n_raters=1, undefined=_NEVER))
                continue
            ends = wilson(float(wins[r, k]), n, confidence=self.confidence)
            note = f"{n} comparisons, taken for independent although they share items and opponents"
            more: dict[str, Any] = {"low": ends.low, "high": ends.high, "confidence": self.confidence, "n_raters": 1}
            rate = float(wins[r, k] / n)
            rows.append(
                Row("length", keys, "win_rate_matched", rate, method="Wilson", unit="comparison", note=note, **more)
            )
        return rows

    def _correlation(self, model: str, ties: str, rates: FloatArray, draws: FloatArray | None) -> list[Row]:
        """Return the rank correlation of matched and raw order, and of drawn and raw order beside it."""
        keys = self._keys(model, ties)
        known = ~np.isnan(rates)
        x, y = rates[known], self.raw[known]
        sample: dict[str, Any] = {"n_items": self.one.panel.n_items, "n_raters": self.one.panel.n_raters}
        rng = stream(self.seed, "length", self.one.panel.criterion, "orders", model, ties, repr(self.tolerance))
        if reason := _no_order(x, y):
            return [Row("length", keys, "spearman_matched_raw", np.nan, undefined=reason, **sample)]
        found = correlation(x, y, confidence=self.confidence, is_rank=True, n_draws=ORDERS, rng=rng)
        rho = found.value
        note = f"over systems of this kind, of which there are {len(x)}; these items and raters"
        left = "" if known.all() else f"{int((~known).sum())} systems without a rate left out"
        none = f"no interval: {found.no_interval}" if found.no_interval else ""
        rows = [
            Row(
                "length",
                keys,
                "spearman_matched_raw",
                rho,
                method="p by permutation" if none else "Fisher's z, Bonett & Wright (2000); p by permutation",
                unit="system",
                p=found.p,
                attainable_p=found.attainable_p,
                note=joined(note, left, none),
                **_ends(Interval(found.low, found.high), self.confidence),
                **sample,
            )
        ]
        if draws is not None and known.all():
            ends = percentile_interval(draws, confidence=self.confidence)
            none = "" if ends.low == ends.low else "no interval: undefined in every replicate"
            told = remarks(rho, ends)
            note = joined("over items of this kind; these raters and systems", none or told)
            more = _ends(ends, self.confidence) | {"method": "percentile bootstrap", "unit": "item", "note": note}
            rows.append(Row("length", keys, "spearman_matched_raw", rho, **more, **sample))
        return rows + self._drawn(keys, model, ties, rho, bool(known.all()))

    def _drawn(self, keys: dict[str, Key], model: str, ties: str, rho: float, is_whole: bool) -> list[Row]:
        """Return what as many pairs of outputs give that are drawn whatever their lengths: what fewness alone does."""
        if len(self.found.drawn) == 0 or not is_whole:
            reason = "too many pairs of outputs to draw from" if is_whole else _NEVER
            return [Row("length", keys, "spearman_drawn_raw", np.nan, undefined=reason)]
        rates = self._rates(self.found.drawn, ties, model)
        raw = np.broadcast_to(self.raw, rates.shape)
        rhos = row_spearman(rates, raw)
        known = ~np.isnan(rhos)
        if not known.any():
            return [Row("length", keys, "spearman_drawn_raw", np.nan, undefined="all draws tie the systems")]
        rhos, rates = rhos[known], rates[known]
        ends = percentile_interval(rhos, confidence=self.confidence)
        leads, led = rates == rates.max(axis=1, keepdims=True), self.raw == self.raw.max()
        kept = (leads[:, led].sum(axis=1) / leads.sum(axis=1)).mean()
        first = [name for name, is_first in zip(self.one.panel.systems, led, strict=True) if is_first]
        note = (
            f"mean and range of {len(rhos)} draws of as many outputs of each two systems, whatever their lengths: what "
            "comparing so few does by itself; p: share of draws with a correlation no higher than the matched one"
        )
        note = joined(note, remarks(float(rhos.mean()), ends))
        p = (1 + int((rhos <= rho + 1e-12).sum())) / (1 + len(rhos))
        more = _ends(ends, self.confidence) | {"method": "percentiles of the draws", "unit": "draw", "note": note}
        told = f"of the same draws, ties sharing the place; first by mean rating: {listed(first)}"
        return [
            Row("length", keys, "spearman_drawn_raw", float(rhos.mean()), p=p, **more),
            Row("length", keys, "share_winner_kept", float(kept), note=f"{told}; a share of draws: no interval"),
        ]


def _ends(ends: Interval, confidence: float) -> dict[str, Any]:
    return {"low": ends.low, "high": ends.high, "confidence": confidence} if ends.low == ends.low else {}


def _has_no_width(ends: Interval) -> bool:
    return ends.high - ends.low <= 1e-12


def _no_order(rates: FloatArray, raw: FloatArray) -> str:
    """Return why two orders of the systems have no rank correlation, blank if they have one."""
    if len(rates) < 3:
        few = {0: "no system has", 1: "one system has", 2: "two systems have"}[len(rates)]
        return f"{few} a win rate at equal length; a rank correlation needs three"
    if np.ptp(rates) == 0:
        return "at equal length all systems have the same win rate"
    return "all systems have the same mean rating" if np.ptp(raw) == 0 else ""


def _wins(counts: FloatArray, ties: str, n: int) -> tuple[FloatArray, FloatArray]:
    """Return wins and comparisons of each two systems, shape (..., n, n), from those of pairs (..., 3, n_pairs)."""
    first, second, compared = (counts[..., k, :] for k in range(3))
    if ties == "half":
        even = (compared - first - second) / 2
        first, second = first + even, second + even
    else:
        compared = first + second
    wins = np.zeros((*first.shape[:-1], n, n))
    a, b = np.triu_indices(n, k=1)
    wins[..., a, b], wins[..., b, a] = first, second
    return wins, _square(compared, n)


def _square(pairs: FloatArray, n: int) -> FloatArray:
    """Return a symmetric table of systems from one value for each pair."""
    out = np.zeros((*pairs.shape[:-1], n, n))
    a, b = np.triu_indices(n, k=1)
    out[..., a, b] = out[..., b, a] = pairs
    return out
