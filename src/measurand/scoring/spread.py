"""Is there an order? Spread between systems against the width of intervals, and what else moves a score as much."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import factorial
from typing import Final

import numpy as np
import pandas as pd

from measurand.result import Key, Row
from measurand.scoring.contenders import BINARIZED
from measurand.scoring.contrasts import SIGNIFICANT
from measurand.scoring.replicates import ALPHA
from measurand.scoring.run import Run, Scope
from measurand.scoring.statistics import OF_ERROR
from measurand.stats import variance
from measurand.stats.association import spearman
from measurand.stats.inference import FloatArray, average_ranks, holm, stream
from measurand.stats.replicates import bootstrap_p, max_t

#: Random permutations of a test over systems.
PERMUTATIONS: Final = 9_999


def spread_rows(run: Run, systems: pd.DataFrame | None) -> list[Row]:
    """Return spreads, shares of variance, rank changes, and correlations over systems and criteria."""
    rows: list[Row] = []
    for family in plain_families(run):
        for scope in run.headlines:
            rows += _between_systems(run, family, scope)
            rows += _without_failed(run, family, scope)
        rows += _rank_changes(run, family)
        rows += _size(run, family, systems)
    for scope in run.headlines:
        rows += _shares(run, scope)
        rows += _phrasings(run, scope)
        rows += _best_of(run, scope)
    rows += _agreement_and_performance(run)
    return rows


def plain_families(run: Run, *, fewest: int = 2) -> list[list[int]]:
    """Return the arms that differ in their system alone, by the protocol that they share; controls left out."""
    out: dict[tuple[Key, ...], list[int]] = {}
    for position, one in enumerate(run.contenders):
        if run.competes(one):
            out.setdefault((one.keys["readout"], one.keys["phrasing"], one.keys["variant"]), []).append(position)
    return [members for members in out.values() if len(members) >= fewest]


def _keys(run: Run, of: str, scope: Scope, source: str = "", system: str = "") -> dict[str, Key]:
    name = scope.set or scope.criterion
    return {"of": of, "source": source, "system": system, "set": name, **run.path_keys(run.path, run.measure)}


def _protocol(run: Run, family: Sequence[int]) -> str:
    keys = run.contenders[family[0]].keys
    return ", ".join(str(keys[name]) for name in ("readout", "phrasing", "variant") if keys[name]) or "systems"


def _table(run: Run, family: Sequence[int], scope: Scope) -> FloatArray:
    """Return the series of a family at a scope, over the criteria that all have, (1 + n_replicates, n_arms)."""
    return np.column_stack(run.columns([run.arm(i) for i in family], scope, run.store))


def _defined(table: FloatArray) -> FloatArray:
    """Return the replicates in which every arm has a number; none where the sample itself lacks one."""
    if np.isnan(table[0]).any():
        return table[:0]
    return table[1:][~np.isnan(table[1:]).any(axis=1)]


def _between_systems(run: Run, family: Sequence[int], scope: Scope) -> list[Row]:
    """Return the spread between systems beside the width of their intervals, and how many pairs are told apart."""
    table = _table(run, family, scope)
    keys = _keys(run, _protocol(run, family), scope)
    over = run.over
    draws = _defined(table)
    if len(draws) < 2:
        return []
    tails = [(1 - run.confidence) / 2, (1 + run.confidence) / 2]
    low, high = np.quantile(draws, tails, axis=0)
    spread = table.std(axis=1, ddof=1)
    width = float(np.median(high - low))
    error = float(draws.var(axis=0, ddof=1).mean())
    # Errors of arms on one set of items are correlated: what differences see is the variance less the common part.
    centred = draws - draws.mean(axis=1, keepdims=True)
    own = float(centred.var(axis=0, ddof=1).sum() / (len(family) - 1))
    between = max(float(spread[0] ** 2) - own, 0.0)
    where = f"{len(family)} systems"
    rows = [
        run.row("spread", keys, "sd_between_systems", spread, over=over, note=f"{where}; error included"),
        run.without_interval("spread", keys, "median_interval_width", width, note=where),
        run.without_interval(
            "spread",
            keys,
            "reliability_of_scores",
            between / (between + own) if between + own > 0 else np.nan,
            note="variance between systems over itself plus the error variance of a system's place among them",
        ),
        run.without_interval("spread", keys, "mean_squared_error", error, note="mean sampling variance of a score"),
    ]
    pairs = [(i, j) for i in range(len(family)) for j in range(i + 1, len(family))]
    differences = np.column_stack([table[:, i] - table[:, j] for i, j in pairs])
    p = np.array([bootstrap_p(float(differences[0, k]), differences[1:, k]).p for k in range(len(pairs))])
    ends = np.quantile(_defined(differences), tails, axis=0)
    counts = {
        "n_pairs": len(pairs),
        "pairs_separated_marginal": sum(low[i] > high[j] or low[j] > high[i] for i, j in pairs),
        "pairs_separated_paired": int(((ends[0] > 0) | (ends[1] < 0)).sum()),
        "pairs_separated_holm": int((holm(p) < SIGNIFICANT).sum()),
        "pairs_separated_max_t": int((max_t(differences[0], differences[1:]) < SIGNIFICANT).sum()),
    }
    notes = {
        "pairs_separated_marginal": "their two intervals do not overlap: conservative, and blind to pairing",
        "pairs_separated_paired": "the interval of the paired difference excludes 0, one pair at a time",
        "pairs_separated_holm": "paired, adjusted by Holm over the pairs"
        + (
            f"; with {len(table) - 1} replicates none can be"
            if len(pairs) / len(table) >= SIGNIFICANT and len(pairs) > 1
            else ""
        ),
        "pairs_separated_max_t": "paired, adjusted by max-T over the pairs",
    }
    return rows + [
        run.without_interval("spread", keys, name, float(n), note=notes.get(name, where)) for name, n in counts.items()
    ]


def _without_failed(run: Run, family: Sequence[int], scope: Scope) -> list[Row]:
    """Return the mean of all systems and of those that pass their gates, and what leaving out the others does."""
    failed = [i for i in family if tuple(str(v) for v in run.contenders[i].keys.values()) in (run.excluded or {})]
    if not failed or len(failed) == len(family):
        return []
    kept = [i for i in family if i not in failed]
    everyone, passing = (_table(run, some, scope).mean(axis=1) for some in (family, kept))
    keys = _keys(run, _protocol(run, family), scope)
    names = ", ".join(str(run.contenders[i].keys["system"]) for i in failed)
    return [
        run.row("spread", keys, "mean_of_systems", everyone, over=run.over, note=f"{len(family)} systems"),
        run.row("spread", keys, "mean_without_failed", passing, over=run.over, note=f"without {names}"),
        run.row("spread", keys, "effect_of_leaving_out", passing - everyone, over=run.over, note=f"without {names}"),
    ]


def _rank_changes(run: Run, family: Sequence[int]) -> list[Row]:
    """Return each system's rank on all criteria and on the reliable ones alone, and how many move."""
    if len(run.field.criteria) == 1 or not run.chosen("reliable", run.store)[0].any():
        return []
    sign = -1.0 if run.measure.name in OF_ERROR else 1.0
    tables = {name: sign * _table(run, family, Scope(set=name)) for name in ("all", "reliable")}
    if any(np.isnan(table[0]).any() for table in tables.values()):
        return []
    ranks = {name: np.array([average_ranks(row) for row in table]) for name, table in tables.items()}
    protocol = _protocol(run, family)
    rows = []
    for column, i in enumerate(family):
        system = str(run.contenders[i].keys["system"])
        for name, found in ranks.items():
            keys = _keys(run, protocol, Scope(set=name), system=system)
            rows.append(run.row("spread", keys, "rank", found[:, column], over=run.over))
        change = (ranks["reliable"] - ranks["all"])[:, column]
        keys = _keys(run, protocol, Scope(set="reliable"), system=system)
        rows.append(run.row("spread", keys, "rank_change", change, over=run.over, note="rank on reliable minus on all"))
    moved = np.abs(ranks["reliable"] - ranks["all"])
    keys = _keys(run, protocol, Scope(set="reliable"))
    note = "systems whose rank changes when the unreliable criteria are dropped"
    rows.append(
        run.row("spread", keys, "n_rank_changes", (moved > 0).sum(axis=1).astype(float), over=run.over, note=note)
    )
    rows.append(run.row("spread", keys, "largest_rank_change", moved.max(axis=1), over=run.over))
    return rows


def _shares(run: Run, scope: Scope) -> list[Row]:
    """Return the share of the variation of scores that readout, phrasing and system make, where they are crossed."""
    # The yes or no of probabilities is derived from one of the readouts, and no readout of its own.
    plain = [i for i, one in enumerate(run.contenders) if run.competes(one) and one.keys["readout"] != BINARIZED]
    facets = {
        name: list(dict.fromkeys(str(run.contenders[i].keys[name]) for i in plain))
        for name in ("system", "readout", "phrasing")
    }
    used = [name for name, levels in facets.items() if len(levels) > 1]
    if len(used) < 2:
        return []
    place = {
        tuple(str(run.contenders[i].keys[name]) for name in used): i
        for i in plain
        if not str(run.contenders[i].keys["variant"])
    }
    shape = tuple(len(facets[name]) for name in used)
    keys = _keys(run, "scores", scope)
    if len(place) != int(np.prod(shape)):
        note = f"the table of scores by {', '.join(used)} has holes"
        return [run.without_interval("spread", keys, "share", np.nan, undefined=note, note="")]
    order = [place[levels] for levels in _product([facets[name] for name in used])]
    table = _table(run, order, scope)
    if np.isnan(table[0]).any():
        return []
    found = [variance.anova(row.reshape(shape), used) for row in table if not np.isnan(row).any()]
    total = np.array([sum(one.ss.values()) for one in found])
    rows = []
    for source in found[0].ss:
        values = np.array([one.ss[source] for one in found]) / total
        name = ":".join(used) if source == "residual" else source
        note = "share of the sum of squares of the scores; sampling error is in it"
        rows.append(run.row("spread", {**keys, "source": name}, "share", values, over=run.over, note=note))
    return rows


def _product(levels: list[list[str]]) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = [()]
    for one in levels:
        out = [(*head, name) for head in out for name in one]
    return out


def _groups_of(run: Run, what: str) -> dict[tuple[str, ...], list[int]]:
    """Return the plain arms of one system that differ in one thing alone."""
    out: dict[tuple[str, ...], list[int]] = {}
    names = [name for name in ("system", "readout", "phrasing", "variant") if name != what]
    for position, one in enumerate(run.contenders):
        if one.arm is not None and one.arm.is_plain:
            out.setdefault(tuple(str(one.keys[name]) for name in names), []).append(position)
    return {names: members for names, members in out.items() if len(members) > 1}


def _phrasings(run: Run, scope: Scope) -> list[Row]:
    """Return how far phrasings of one question lie apart beside the width of an interval."""
    rows, spreads, widths = [], [], []
    for names, members in _groups_of(run, "phrasing").items():
        table = _table(run, members, scope)
        draws = _defined(table)
        if len(draws) < 2:
            continue
        spread = table.max(axis=1) - table.min(axis=1)
        tails = [(1 - run.confidence) / 2, (1 + run.confidence) / 2]
        low, high = np.quantile(draws, tails, axis=0)
        if names[1] != BINARIZED:
            spreads.append(spread)
            widths.append(float((high - low).mean()))
        of = ", ".join(part for part in names[1:] if part) or "phrasings"
        keys = _keys(run, of, scope, source="phrasing", system=names[0])
        # The range of noisy values is never below what noise alone makes: its replicates centre above the estimate.
        note = f"{len(members)} phrasings; the range of noisy scores: noise alone makes it positive"
        rows.append(run.without_interval("spread", keys, "range_over_phrasings", float(spread[0]), note=note))
    if spreads:
        keys = _keys(run, "phrasings", scope, source="phrasing")
        note = f"{len(spreads)} systems and readouts"
        mean = float(np.mean([one[0] for one in spreads]))
        rows.append(run.without_interval("spread", keys, "mean_range_over_phrasings", mean, note=note))
        rows.append(run.without_interval("spread", keys, "mean_interval_width", float(np.mean(widths)), note=note))
    return rows


def _best_of(run: Run, scope: Scope) -> list[Row]:
    """Return the best of several phrasings of a system, and the same corrected for having been chosen."""
    sign = -1.0 if run.measure.name in OF_ERROR else 1.0
    rows = []
    for names, members in _groups_of(run, "phrasing").items():
        table = _table(run, members, scope)
        if len(draws := _defined(table)) < 2:
            continue
        table = np.concatenate([table[:1], draws])
        winner = (sign * table).argmax(axis=1)
        best = np.take_along_axis(table, winner[:, None], axis=1)[:, 0]
        # What the winner of a replicate scores there, less what it scores on the average of replicates: what choosing
        # adds, and not how far replicates lie from the sample, which not to choose would not change.
        optimism = float((best[1:] - table[1:].mean(axis=0)[winner[1:]]).mean())
        phrasing = str(run.contenders[members[int(winner[0])]].keys["phrasing"])
        of = ", ".join(part for part in names[1:] if part) or "phrasings"
        keys = _keys(run, of, scope, source="phrasing", system=names[0])
        note = f"best of {len(members)}: {phrasing}; chosen anew in every replicate"
        rows.append(run.row("spread", keys, "best_of_phrasings", best, over=run.over, note=note))
        note = f"the best of {len(members)} less what choosing it adds ({optimism:.3f})"
        rows.append(run.row("spread", keys, "best_of_phrasings_corrected", best - optimism, over=run.over, note=note))
    return rows


def _size(run: Run, family: Sequence[int], systems: pd.DataFrame | None) -> list[Row]:
    """Return the rank correlation of number of parameters and score over systems, tested by permuting systems."""
    if systems is None or "parameters" not in systems:
        return []
    known = dict(zip(systems["system"], systems["parameters"], strict=True))
    members = [i for i in family if not np.isnan(known.get(str(run.contenders[i].keys["system"]), np.nan))]
    rows = []
    for scope in run.headlines:
        keys = _keys(run, _protocol(run, family), scope, source="parameters")
        if len(members) < 4:
            reason = f"{len(members)} systems with known parameters; a rank correlation says nothing below four"
            rows.append(run.without_interval("spread", keys, "spearman", np.nan, undefined=reason, note=""))
            continue
        size = np.log([known[str(run.contenders[i].keys["system"])] for i in members])
        score = _table(run, members, scope)[0]
        rows.append(_permuted(run, keys, size, score, f"over {len(members)} systems"))
    return rows


def _agreement_and_performance(run: Run) -> list[Row]:
    """Return for each arm whether it does better on the criteria that raters agree on."""
    if len(run.field.criteria) < 4:
        return []
    alpha = run.store[ALPHA][0]
    rows = []
    for i, one in enumerate(run.contenders):
        if one.arm is None or not one.arm.is_plain:
            continue
        score = run.arm(i)[0]
        known = ~np.isnan(alpha) & ~np.isnan(score)
        of = (
            ", ".join(str(one.keys[name]) for name in ("readout", "phrasing", "variant") if one.keys[name]) or "systems"
        )
        keys = _keys(run, of, Scope(set="all"), source="agreement", system=str(one.keys["system"]))
        if known.sum() < 4:
            reason = "fewer than four criteria have both an alpha and a score"
            rows.append(run.without_interval("spread", keys, "spearman", np.nan, undefined=reason, note=""))
            continue
        note = f"of interval alpha and score over {int(known.sum())} criteria"
        rows.append(_permuted(run, keys, alpha[known], score[known], note))
    return rows


def _permuted(run: Run, keys: Mapping[str, Key], x: FloatArray, y: FloatArray, note: str) -> Row:
    """Return a rank correlation with its permutation p: whom or what it is taken over is a handful, not a sample."""
    ones = np.ones((1, len(x)))
    observed = float(spearman(x, y, ones)[0])
    if np.isnan(observed):
        return run.without_interval("spread", keys, "spearman", np.nan, undefined="one side does not vary", note=note)
    rng = stream(run.seed, "score", "permutation", *(str(value) for value in keys.values()))
    rank_x, rank_y = average_ranks(list(x)), average_ranks(list(y))
    a, b = rank_x - rank_x.mean(), rank_y - rank_y.mean()
    shuffled = rng.permuted(np.tile(b, (PERMUTATIONS, 1)), axis=1)
    found = shuffled @ a / np.sqrt((a @ a) * (b @ b))
    p = float((1 + (np.abs(found) >= abs(observed) - 1e-12).sum()) / (1 + PERMUTATIONS))
    row = Row("spread", keys, "spearman", observed, note=f"{note}; p by permutation, no interval from so few")
    # Of few systems there are few orders: no sampling of them makes p smaller than two of all.
    return replace(row, p=p, attainable_p=max(1 / (1 + PERMUTATIONS), 2 / factorial(len(x))))
