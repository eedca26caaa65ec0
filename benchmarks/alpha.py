"""Krippendorff's alpha with a 2,000-replicate bootstrap: as fast as in the fastest other package or not.

Measurand against evalaudit (the one peer that redraws units and is vectorised), alternating A B A B in one process,
CPU seconds, on the easy case (2,000 units, 3 raters, five levels) and on harder ones: other levels of measurement, 20
raters with 30 % missing, continuous ratings. evalica and a plain loop around krippendorff.alpha come after.

Four rows for each case, because the two do not start from the same thing nor end with the same:

- arrays: measurand from index arrays (patterns, alpha, interval) against the alpha and bootstrap inside evalaudit,
  from its table of counts, which is made beforehand. Neither touches a data frame or does anything else.
- call: measurand from the very data frame that evalaudit gets (read_ratings checks it, panels indexes it) to alpha and
  interval, against evalaudit's one call, which also gives alpha without each rater and a table of items.
- call, equal work: as before, and measurand also computes alpha without each rater.
- call, as the audit: measurand gives alpha at four levels of measurement and the observed agreement at once, each
  with its interval, which is what its audit asks for; evalaudit still gives one level.

The two alphas must agree to 1e-12 and the intervals within Monte Carlo error, or the script fails.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import evalaudit
import evalica
import krippendorff
import numpy as np
import pandas as pd
from _common import Cost, alternate, arguments, clock, median, report
from evalaudit import agreement as inside
from threadpoolctl import threadpool_limits

from measurand.data import Scale, panels, read_ratings
from measurand.stats.agreement import METRICS, alphas, patterns
from measurand.stats.inference import bootstrap, clusters, percentile_interval, stream

REPLICATES = 2000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Case:
    """A simulated panel: normal units, normal raters, rounded to a scale or not."""

    name: str
    n_units: int
    n_raters: int
    level: str
    n_levels: int | None = 5
    missing: float = 0.0
    pairs: int = 5
    seed: int = 11

    def wide(self) -> np.ndarray:
        rng = np.random.default_rng(self.seed)
        units = rng.normal(size=(self.n_units, 1))
        ratings = units + rng.normal(size=(self.n_units, self.n_raters))
        if self.n_levels is None:
            ratings = 150 + 12 * ratings
        else:
            middle = (1 + self.n_levels) / 2
            ratings = np.clip(np.rint(middle + ratings * self.n_levels / 5), 1, self.n_levels)
        ratings[rng.random(ratings.shape) < self.missing] = np.nan
        return ratings

    def scale(self) -> Scale:
        if self.n_levels is None:
            return Scale(0, 300, level=self.level)
        return Scale(1, self.n_levels, step=1, level=self.level)


CASES = (
    Case("2,000 x 3, 5 levels, ordinal", 2000, 3, "ordinal"),
    Case("2,000 x 3, 5 levels, nominal", 2000, 3, "nominal"),
    Case("2,000 x 3, 5 levels, interval", 2000, 3, "interval"),
    Case("2,000 x 20, 7 levels, 30 % missing, ordinal", 2000, 20, "ordinal", 7, 0.3),
    Case("2,000 x 20, 7 levels, 30 % missing, nominal", 2000, 20, "nominal", 7, 0.3),
    Case("2,320 x 3, continuous, interval", 2320, 3, "interval", None, pairs=3),
    Case("2,320 x 3, continuous, ordinal", 2320, 3, "ordinal", None, pairs=3),
)


def frame_of(ratings: np.ndarray) -> pd.DataFrame:
    """Return the long data frame, ids as text, shuffled as files are."""
    unit, rater = np.nonzero(~np.isnan(ratings))
    frame = pd.DataFrame(
        {
            "item_id": [f"item_{u:05d}" for u in unit],
            "rater_id": [f"R{r + 1}" for r in rater],
            "rating": ratings[unit, rater],
        }
    )
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


Answer = tuple[float, float, float, np.ndarray]


def from_arrays(unit: np.ndarray, rating: np.ndarray, rater: np.ndarray, levels: list[str], seed: int) -> Answer:
    """Return alpha at the first level, both ends of its interval and the replicates, with the calls of the audit."""
    found = patterns(unit, rating, rater)
    drawn = clusters(found.unit, found.of_unit, found.n_patterns)

    def statistics(weights: np.ndarray) -> np.ndarray:
        values = alphas(found, weights, levels)
        return np.column_stack([*(values[level] for level in levels), values["observed"]])

    estimate = statistics(drawn.weights())[0, 0]
    draws = bootstrap(statistics, drawn, n_replicates=REPLICATES, rng=stream(seed, "benchmark"))
    intervals = [percentile_interval(column, confidence=CONFIDENCE) for column in draws.T]
    return float(estimate), intervals[0].low, intervals[0].high, draws[:, 0]


def from_frame(
    frame: pd.DataFrame, scale: Scale, levels: list[str], seed: int, *, each_rater_out: bool = False
) -> Answer:
    (panel,) = panels(read_ratings(frame, item="item_id", rater="rater_id", rating="rating", scale=scale))
    answer = from_arrays(panel.cell, panel.rating, panel.rater, levels, seed)
    if each_rater_out:
        for rater in range(panel.n_raters):
            others = panel.rater != rater
            found = patterns(panel.cell[others], panel.rating[others], panel.rater[others])
            weights = np.bincount(found.of_unit, minlength=found.n_patterns)[None, :].astype(float)
            alphas(found, weights, levels)
    return answer


def monte_carlo_units(a: Answer, b: Answer) -> float:
    """Return the larger difference of two ends in standard errors of that difference (normal replicates)."""
    tail = (1 - CONFIDENCE) / 2
    density = np.exp(-(1.959964**2) / 2) / np.sqrt(2 * np.pi) / a[3].std()
    error = np.sqrt(2 * tail * (1 - tail) / REPLICATES) / density
    return float(max(abs(a[1] - b[1]), abs(a[2] - b[2])) / error)


def _row(case: Case, what: str, costs: tuple[list[Cost], list[Cost]]) -> dict[str, Any]:
    ratios = [ours.cpu / theirs.cpu for ours, theirs in zip(*costs, strict=True)]
    a, b = median(costs[0]), median(costs[1])
    return {
        "case": case.name,
        "row": what,
        "measurand": a,
        "evalaudit": b,
        "ratio": a / b,
        "pair by pair": " ".join(f"{ratio:.2f}" for ratio in ratios),
    }


def against_evalaudit(case: Case) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the three rows of a case and how well the two answers agree."""
    ratings = case.wide()
    unit, rater = np.nonzero(~np.isnan(ratings))
    rating = ratings[unit, rater]
    frame, scale = frame_of(ratings), case.scale()

    def theirs() -> Any:
        return evalaudit.rater_agreement(frame, level=case.level, confidence=CONFIDENCE, n_boot=REPLICATES, seed=1)

    answer = from_frame(frame, scale, [case.level], 1)
    if case.n_levels is None and case.level == "ordinal":
        # evalaudit holds units x values x values float64 here; the array is not asked for, only computed.
        n_values = len(np.unique(rating))
        need = case.n_units * n_values**2 * 8 / 2**30
        ours = [clock(lambda: from_arrays(unit, rating, rater, [case.level], 1)).cpu for _ in range(case.pairs)]
        call = [clock(lambda: from_frame(frame, scale, [case.level], 1)).cpu for _ in range(case.pairs)]
        note = f"needs {need:,.0f} GiB"
        rows = [
            {"case": case.name, "row": "arrays", "measurand": float(np.median(ours)), "evalaudit": note},
            {"case": case.name, "row": "call", "measurand": float(np.median(call)), "evalaudit": note},
        ]
        ranked = pd.Series(rating).rank().to_numpy()
        oracle = from_arrays(unit, ranked, rater, ["interval"], 1)[0]  # ordinal alpha is interval alpha on mid-ranks
        return rows, _agreement(case, answer, oracle, None, "interval alpha on mid-ranks")
    result = theirs()
    peer: Answer = (result.alpha, result.ci_low, result.ci_high, answer[3])
    # Private names of a pinned version: the only way to time its bootstrap without the rest of its call.
    units = inside._Units.build(inside._clean(frame), case.level)

    def their_bootstrap() -> None:
        units.alpha()
        inside._bootstrap(units, CONFIDENCE, True, REPLICATES, 1)

    levels = [case.level, *(level for level in METRICS if level != case.level)]

    def our_equal_work() -> None:
        from_frame(frame, scale, [case.level], 1, each_rater_out=True)

    rows = [
        _row(
            case,
            "arrays",
            alternate(lambda: from_arrays(unit, rating, rater, [case.level], 1), their_bootstrap, case.pairs),
        ),
        _row(case, "call", alternate(lambda: from_frame(frame, scale, [case.level], 1), theirs, case.pairs)),
        _row(case, "call, equal work", alternate(our_equal_work, theirs, case.pairs)),
        _row(case, "call, as the audit", alternate(lambda: from_frame(frame, scale, levels, 1), theirs, case.pairs)),
    ]
    return rows, _agreement(case, answer, peer[0], monte_carlo_units(answer, peer), "evalaudit")


def _agreement(case: Case, answer: Answer, theirs: float, ends: float | None, whose: str) -> dict[str, Any]:
    ours = answer[0]
    gap = abs(ours - theirs)
    if gap > 1e-12 or (ends is not None and ends > 4):
        sys.exit(f"{case.name}: alpha {ours!r} here, {theirs!r} in {whose}; interval ends {ends} standard errors apart")
    return {
        "case": case.name,
        "alpha": f"{ours:.6f}",
        "reference": whose,
        "difference": gap,
        "interval ends apart (Monte Carlo SE)": ends,
        "width": answer[2] - answer[1],
    }


def others(case: Case, width: float) -> list[dict[str, Any]]:
    """Time the peers that do something else: another bootstrap, or no bootstrap; `width` is that of our interval."""
    ratings = case.wide()
    table = pd.DataFrame(ratings.T)
    n_values = len(np.unique(ratings[~np.isnan(ratings)]))
    rows = []

    def add(what: str, cost: float | str, note: str) -> None:
        rows.append({"case": case.name, "peer": what, "CPU s": cost, "note": note})

    few = n_values < 100
    results: list[Any] = []

    def evalica_bootstrap() -> None:
        results.append(evalica.alpha_bootstrap(table, case.level, n_resamples=REPLICATES, random_state=1))

    cost = median([clock(evalica_bootstrap) for _ in range(3 if few else 1)])
    share = (results[0].high - results[0].low) / width
    add(
        "evalica alpha_bootstrap", cost, f"KALPHA bootstrap: interval {share:.2f} times as wide as the unit bootstrap's"
    )
    if not few:
        need = case.n_units * n_values**2 * 8 / 2**30
        add("krippendorff.alpha, one call", f"needs {need:,.0f} GiB", "not run")
        return rows
    rng = np.random.default_rng(1)
    timed = 100
    draws = rng.integers(0, case.n_units, size=(timed, case.n_units))

    def loop(call: Callable[..., float]) -> None:
        for draw in draws:
            call(ratings.T[:, draw], level_of_measurement=case.level)

    cost = clock(lambda: loop(krippendorff.alpha)).cpu
    add("loop around krippendorff.alpha", cost * REPLICATES / timed, f"extrapolated from {timed} replicates")
    return rows


def main() -> None:
    options = arguments(__doc__, only={"default": "", "help": "cases whose name contains this"})
    warnings.simplefilter("ignore")
    threadpool_limits(1)  # evalaudit's matrix products would else pay for two spinning cores
    chosen = [case for case in CASES if options.only in case.name]
    compared: list[dict[str, Any]] = []
    agreement: list[dict[str, Any]] = []
    peers: list[dict[str, Any]] = []
    for case in chosen:
        rows, same = against_evalaudit(case)
        compared += rows
        agreement.append(same)
        peers += others(case, same.pop("width"))
    report(
        "alpha",
        "Krippendorff's alpha and its 95 % unit-bootstrap interval from 2,000 replicates: CPU seconds, median of "
        "alternating pairs in one process on one thread (5 pairs; 3 for continuous ratings); ratio = measurand / "
        "evalaudit, below 1 is faster.",
        {"Against evalaudit": compared, "The same answers": agreement, "Other peers, same panels": peers},
        [
            "arrays: from index arrays to alpha and interval, the collapse to patterns included; evalaudit's side is "
            "its own alpha and bootstrap from its finished table of counts, so that its data frame work and extra "
            "tables do not count against it.",
            "call: from the same shuffled long data frame. measurand checks scale, ids and repeats on the way; "
            "evalaudit also gives alpha without each rater and a table of items. In `equal work` measurand computes "
            "alpha without each rater as well (but no table of items). In `as the audit` it gives nominal, ordinal, "
            "interval and ratio alpha and the observed agreement, each with its interval, and evalaudit one level.",
            "measurand collapses units that show the same ratings, so that few levels and few raters make few "
            "patterns. With 20 raters, or with continuous ratings, hardly any two units are alike: those cases show "
            "the speed without that gain.",
            "One thread for both. The continuous ordinal case is not run in evalaudit, which would hold an array of "
            "units x values x values; its memory is computed, not measured.",
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
