"""How long are the outputs, what do they consist of, and does it matter what is counted?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.data.emoji import unicode_version
from measurand.data.outputs import Outputs, as_outputs
from measurand.data.text import LENGTH_UNITS, lengths
from measurand.probing.outputs import is_empty
from measurand.probing.scopes import BoolArray, Scope, languages, scopes
from measurand.probing.units_contents import asked_rows, contents_rows, policies, read_contents
from measurand.probing.units_orders import board, order_rows
from measurand.probing.units_rows import ANALYSIS, NAIVE, Lengths, mean_row, share_row
from measurand.result import Key, MeasurandError, Result, Row
from measurand.sentences import share
from measurand.stats.inference import FloatArray, bootstrap, clusters, percentile_interval, stream

DESCRIPTIVE: Final = "descriptive: no interval"
RETRIED: Final = "these a rule that asks for any character above U+007F would ask again"


def units(
    outputs: Outputs | Any,
    *,
    unit: str = "emoji",
    asked: tuple[int, int] | None = None,
    confidence: float = 0.95,
    replicates: int = 2000,
    seed: int = 0,
) -> Result:
    """Return the lengths of outputs in every unit, what stands beside the units, and what a choice of unit changes.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        See `measurand.read_outputs`.
    unit : str
        What outputs are meant to consist of: one of `measurand.data.text.LENGTH_UNITS`, or ``"length"``, the table's
        own column. What is asked for, what stands beside it and other orders of systems refer to it. Where the table
        has lengths alone, it is ``"length"``.
    asked : (int, int) or None
        The fewest and the most units that were asked for.
    confidence : float
        Level of the intervals.
    replicates : int
        Bootstrap replicates of the inflation.
    seed : int
        The one seed.

    Returns
    -------
    Result
        Analysis `units`, by system, by language, by both and over all (blank keys), for each `unit_of_length`:

        - `mean` with a t interval (standard errors sum within groups where the table has them, else within items),
          `sd`, `total`, `n_without`, `share_without` (outputs without any; Wilson's interval); a blank output has
          length 0, a blank length is left out.
        - `inflation`, with `against` the code points that are counted where clusters are not known: their number over
          the number of units, minus 1, from the sums over outputs (percentile bootstrap of the clusters);
          `inflation_range` over systems.
        - `rank` of systems by mean (1 is longest, ties share the mean rank); for `unit` with `against` each other unit
          and for each inflation `kendall_tau_b`, `n_changed` (systems whose rank differs), `n_reversed` (pairs in
          reversed order) and `n_reversed_beyond_chance` (of these, pairs that differ in both units, with opposite
          signs, by t intervals simultaneous over all pairs).
        - For emoji and the like `residue_per_output` (graphemes beside them and white space) and `share_with_residue`;
          `n_passing_without_emoji` and `share_passing_without_emoji`: what the rule "any character above U+007F" lets
          pass (what it would ask again is `n_without` of `non_ascii_character`).
        - Where a range was asked for `n_below`, `n_above`, `share_outside`.

        The last two are told of strict emoji with text presentation counted as well (``"emoji_or_text"``).

    Raises
    ------
    MeasurandError
        If there is no such unit, the table lacks what it counts, or the range is none.

    References
    ----------
    Unicode Standard Annex #29; Unicode Technical Standard #51; Sakhawat 2026, arXiv 2609.29445, appendix on decoding
    and segmentation.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabb"), "system": list("xyxy"), "text": ["👩‍👩‍👧", "😂😂", "👍🏽", "😂"]})
    >>> found = units(table)
    >>> found.value("units", "inflation", {"system": "x", "unit_of_length": "emoji"})
    2.5
    >>> found.value("units", "n_reversed", {"unit_of_length": "emoji", "against": "non_ascii_character"})
    1
    """
    table = _sorted(as_outputs(outputs))
    unit = unit if "text" in table else "length"
    _check(table, unit, asked)
    counted = _lengths(table, confidence)
    settings = {
        "unit": unit,
        "asked": None if asked is None else list(asked),
        "blank_outputs": "have length 0" if "text" in table else "are left out",
        "resampled": counted.resampled,
        "unicode_version": unicode_version(),
        "confidence": confidence,
        "replicates": replicates,
        "seed": seed,
    }
    empty = is_empty(table) if "text" in table else np.zeros(len(table), dtype=bool)
    beside = read_contents(table, unit)
    rows: list[Row] = []
    for scope in scopes(table):
        rows += _length_rows(counted, scope, empty)
        rows += _inflation_rows(counted, scope, replicates=replicates, seed=seed)
        for contents in beside:
            rows += contents_rows(counted, contents, scope)
        if asked is not None:
            rows += [row for one in policies(unit) for row in asked_rows(counted, scope, unit=one, asked=asked)]
    rows += _range_rows(rows)
    for language in languages(table):
        rows += order_rows(board(table, language), counted, unit=unit)
    return Result(rows, {ANALYSIS: settings})


def _sorted(table: Outputs) -> Outputs:
    """Return the outputs by item and system: the last digits of a sum depend on its order."""
    frame = table.frame.sort_values(["item", "system"], kind="stable", ignore_index=True)
    return replace(table, frame=frame)


def _check(table: Outputs, unit: str, asked: tuple[int, int] | None) -> None:
    there = (*(LENGTH_UNITS if "text" in table else ()), *(("length",) if "length" in table else ()))
    if unit not in there:
        why = "" if unit != "length" else ": the table has no column of lengths"
        raise MeasurandError(f"unit {unit!r}{why}; allowed are {', '.join(there)}")
    if asked is not None and not 0 <= asked[0] <= asked[1]:
        raise MeasurandError(
            f"asked for {asked[0]} to {asked[1]} units; give two numbers of 0 or more, the lower first"
        )


def _lengths(table: Outputs, confidence: float) -> Lengths:
    """Return the lengths in every unit that the table allows."""
    by_unit: dict[str, FloatArray] = {}
    if "text" in table:
        texts = table.frame["text"].tolist()
        by_unit |= {name: lengths(texts, name) for name in LENGTH_UNITS}
    if "length" in table:
        by_unit["length"] = table.frame["length"].to_numpy(dtype=float)
    name, resampled = table.frame["item"].to_numpy().astype(str), "item"
    if "group" in table and (table.frame["group"] != "").any():
        # An item without a group is drawn alone; the prefix keeps its name apart from a group of the same name.
        group = table.frame["group"].to_numpy().astype(str)
        name, resampled = np.where(group == "", np.char.add("item ", name), np.char.add("group ", group)), "group"
    _, cluster = np.unique(name, return_inverse=True)
    return Lengths(by_unit, cluster.astype(np.int64), resampled, confidence)


def _length_rows(counted: Lengths, scope: Scope, empty: BoolArray) -> list[Row]:
    """Return mean, spread, total and outputs without any, for each unit."""
    rows: list[Row] = []
    n_empty = int(empty[scope.rows].sum())
    for unit, values in counted.by_unit.items():
        keys: dict[str, Key] = {**scope.keys, "unit_of_length": unit}
        known = scope.rows & ~np.isnan(values)
        inside, n_unknown = values[known], int(scope.rows.sum() - known.sum())
        note = f"{n_empty} blank {'output has' if n_empty == 1 else 'outputs have'} length 0" if n_empty else ""
        if unit == "length":
            note = f"left out: {n_unknown} blank" if n_unknown else ""
        n_without = int((values[known] == 0).sum())
        spread = float(inside.std(ddof=1)) if len(inside) > 1 else np.nan
        too_few = "" if len(inside) > 1 else "fewer than two outputs"
        rows += [
            mean_row(counted, keys, "mean", values, scope.rows, note),
            Row(ANALYSIS, keys, "sd", spread, undefined=too_few, note=DESCRIPTIVE),
            Row(ANALYSIS, keys, "total", float(inside.sum()), note=note),
            Row(ANALYSIS, keys, "n_without", n_without, note=RETRIED if unit == "non_ascii_character" else ""),
            share_row(counted, keys, "share_without", values == 0, known, note),
        ]
    return rows


def _inflation_rows(counted: Lengths, scope: Scope, *, replicates: int, seed: int) -> list[Row]:
    """Return by how much code points outnumber units, with the clusters drawn anew for all units at once."""
    pairs = [(unit, naive) for unit, naive in NAIVE.items() if unit in counted.by_unit]
    if not pairs:
        return []
    _, cluster = np.unique(counted.cluster[scope.rows], return_inverse=True)
    n = int(cluster.max(initial=-1)) + 1
    counts = {name: counted.by_unit[name][scope.rows] for pair in pairs for name in pair}
    sums = np.column_stack([np.bincount(cluster, weights=one, minlength=n) for one in counts.values()])
    # Clusters with the same sums are one pattern: outputs have few lengths, and a replicate costs no more than those.
    patterns, pattern = np.unique(sums, axis=0, return_inverse=True)
    at = {name: position for position, name in enumerate(counts)}
    columns = np.array([[at[unit], at[naive]] for unit, naive in pairs])

    def inflation(weights: FloatArray) -> FloatArray:
        total = weights @ patterns
        of_units, naive = total[:, columns[:, 0]], total[:, columns[:, 1]]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(of_units > 0, naive / of_units - 1, np.nan)

    if n == 0:
        estimates, draws = np.full(len(pairs), np.nan), None
    else:
        drawn = clusters(np.arange(n), pattern.ravel(), len(patterns))
        rng = stream(seed, ANALYSIS, "inflation", scope.system, scope.language)
        estimates = inflation(drawn.weights())[0]
        draws = bootstrap(inflation, drawn, n_replicates=replicates, rng=rng) if n > 1 else None
    return [
        _inflation_row(
            counted,
            {**scope.keys, "unit_of_length": unit, "against": naive},
            float(estimates[position]),
            None if draws is None else draws[:, position],
            n,
        )
        for position, (unit, naive) in enumerate(pairs)
    ]


def _inflation_row(
    counted: Lengths, keys: Mapping[str, Key], estimate: float, draws: FloatArray | None, n_clusters: int
) -> Row:
    if np.isnan(estimate):
        return Row(ANALYSIS, keys, "inflation", np.nan, undefined=f"no {keys['unit_of_length']} in these outputs")
    if draws is None:
        return Row(ANALYSIS, keys, "inflation", estimate, n_items=1, note=f"one {counted.resampled}: no interval")
    ends = percentile_interval(draws, confidence=counted.confidence)
    return Row(
        ANALYSIS,
        keys,
        "inflation",
        estimate,
        low=ends.low,
        high=ends.high,
        confidence=counted.confidence,
        method="percentile bootstrap",
        unit=counted.resampled,
        n_items=n_clusters,
        note=f"undefined in {share(ends.undefined_share)} of the replicates" if ends.undefined_share else "",
    )


def _range_rows(rows: Sequence[Row]) -> list[Row]:
    """Return by how much the systems' inflations differ, for each language and unit."""
    found: dict[tuple[Key, Key, Key], list[Row]] = defaultdict(list)
    for row in rows:
        if row.statistic == "inflation" and row.keys["system"] and not row.undefined:
            found[row.keys["language"], row.keys["unit_of_length"], row.keys["against"]].append(row)
    out = []
    for (language, unit, naive), of_systems in found.items():
        if len(of_systems) < 2:
            continue
        ordered = sorted(of_systems, key=lambda row: row.estimate)
        note = f"from {ordered[0].keys['system']} to {ordered[-1].keys['system']}; no interval: inflation has them"
        keys = {"language": language, "unit_of_length": unit, "against": naive}
        width = ordered[-1].estimate - ordered[0].estimate
        out.append(Row(ANALYSIS, keys, "inflation_range", width, note=note))
    return out
