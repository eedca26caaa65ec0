"""Do row-wise and grouped splits order the systems alike?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from measurand.probing.leakage_rows import split_row
from measurand.result import Key, Row
from measurand.sentences import joined, listed
from measurand.stats.association import kendall_tau_b, spearman
from measurand.stats.inference import FloatArray, without_dust
from measurand.stats.resampled import Resampled


def order_rows(
    row: FloatArray,
    clean: FloatArray,
    systems: Sequence[str],
    *,
    keys: Mapping[str, Key],
    n_items: int,
    corrected: Callable[[FloatArray], Resampled],
    confidence: float,
) -> list[Row]:
    """Return how the order of systems under row-wise splits compares with that under grouped ones.

    Parameters
    ----------
    row, clean : ndarray, shape (repeats, n_systems)
        Scores of each split; splits of one row of the arrays are a pair.
    systems : sequence of str
        Names of the columns.
    keys, n_items, confidence
        What the rows carry.
    corrected : callable
        The corrected resampled t of one value for each pair.

    Returns
    -------
    list of Row
        `spearman_orders` and `kendall_tau_b_orders` between the mean scores; `winner_changes` (1 if no system has the
        best mean under both: of systems that tie as best, one that is best under both is no change);
        `winner_changes_share`, of pairs of splits that have no winner in common, and beside it what no leak explains:
        `winner_changes_by_chance`, of pairs of grouped splits, and `winner_changes_by_chance_row_wise`, of pairs of
        row-wise ones. A grouped split tests all systems on the same items and a row-wise one each on its own, so that
        chance between a row-wise and a grouped split lies between the two, as a rule. Where the winner changes,
        `optimism_between_winners`: how much more the row-wise winner gains by the leak than the grouped one, with its
        test. What is compared was chosen by the same scores, so that it errs towards a difference.
    """
    row, clean = without_dust(row, largest=1.0), without_dust(clean, largest=1.0)
    means = without_dust(row.mean(axis=0), largest=1.0), without_dust(clean.mean(axis=0), largest=1.0)
    names = [_named(_best(mean), systems) for mean in means]
    both = f"best by row: {names[0]}; grouped: {names[1]}"
    mean_note = joined("between the mean scores of the systems; no interval: both are of the same items", both)

    def number(name: str, estimate: float, note: str = "", undefined: str = "") -> Row:
        return Row("leakage", keys, name, estimate, note=note, undefined=undefined, n_items=n_items)

    tau = kendall_tau_b(*means)
    rho = np.nan if tau.undefined else float(spearman(*means, np.ones((1, len(systems))))[0])
    rows = [
        number("spearman_orders", rho, mean_note, tau.undefined),
        number("kendall_tau_b_orders", tau.value, mean_note, tau.undefined),
        number("winner_changes", float(_best(means[0]).isdisjoint(_best(means[1]))), both),
    ]
    best_row, best_clean = ([_best(scores) for scores in one] for one in (row, clean))
    changed = np.mean([a.isdisjoint(b) for a, b in zip(best_row, best_clean, strict=True)])
    rows.append(
        number("winner_changes_share", float(changed), f"of {len(row)} pairs of splits, one by row and one grouped")
    )
    for name, kind, best in (("", "grouped", best_clean), ("_row_wise", "row-wise", best_row)):
        apart = [best[i].isdisjoint(best[j]) for i in range(len(best)) for j in range(i)]
        note = f"of {len(apart)} pairs of {kind} splits"
        rows.append(number(f"winner_changes_by_chance{name}", float(np.mean(apart)), note))
    if not _best(means[0]).isdisjoint(_best(means[1])):
        return rows
    first, second = (min(_best(mean)) for mean in means)
    gain = row - clean
    note = f"optimism of {systems[first]} minus that of {systems[second]}"
    found = corrected(gain[:, first] - gain[:, second])
    name = "optimism_between_winners"
    # A difference of two differences of scores.
    row_of = split_row(keys, name, found, confidence=confidence, n_items=n_items, note=note, possible=(-2.0, 2.0))
    return [*rows, row_of]


def _best(scores: FloatArray) -> frozenset[int]:
    """Return the systems with the highest score."""
    return frozenset(np.flatnonzero(scores == scores.max()).tolist())


def _named(best: frozenset[int], systems: Sequence[str]) -> str:
    return listed([systems[at] for at in sorted(best)])
