"""Do two raters agree, or only go up and down together? Every pair of raters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.agreement import bootstrapped_row
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import agreement as formulas
from measurand.stats import association
from measurand.stats.inference import FloatArray, bootstrap, clusters, stream, without_dust

#: Above this many raters the pairs of raters are too many to list.
MOST_RATERS_IN_PAIRS: Final = 100
#: Up to this many pairs of raters get bootstrap intervals.
MOST_PAIRS_WITH_INTERVAL: Final = 400


def agreement_pairs(
    ratings: Ratings | Sequence[Panel] | Any, *, replicates: int = 2000, confidence: float = 0.95, seed: int = 0
) -> Result:
    """Return correlation beside agreement of every two raters.

    Parameters
    ----------
    ratings, replicates, confidence, seed
        As for `agreement`.

    Returns
    -------
    Result
        Analysis `agreement_pairs`, over the cells that both rated: `pearson` and `spearman` (blind to severity),
        `kappa_quadratic` (undefined without a declared scale), `alpha_ordinal`, `observed_agreement`, and, with
        systems, `kendall_tau_b` between the two raters' means of the systems. Intervals redraw items.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabbcc"), "rater": ["R1", "R2"] * 3, "rating": [1, 3, 2, 4, 3, 5]})
    >>> found = agreement_pairs(table, replicates=100)
    >>> [round(found.value("agreement_pairs", name), 3) for name in ("pearson", "alpha_ordinal")]
    [1.0, -0.054]
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        n_pairs = panel.n_raters * (panel.n_raters - 1) // 2
        if panel.n_raters > MOST_RATERS_IN_PAIRS:
            reason = (
                f"{panel.n_raters} raters make {n_pairs:,} pairs; they are listed up to {MOST_RATERS_IN_PAIRS} raters"
            )
            rows.append(Row("agreement_pairs", {"criterion": panel.criterion}, "pearson", np.nan, undefined=reason))
            continue
        n_replicates = replicates if n_pairs <= MOST_PAIRS_WITH_INTERVAL else 0
        of_rater = [np.flatnonzero(panel.rater == rater) for rater in range(panel.n_raters)]
        for a, b in itertools.combinations(range(panel.n_raters), 2):
            rows += _pair(panel, a, b, of_rater, n_replicates, confidence, seed)
    settings = {"replicates": replicates, "confidence": confidence, "seed": seed}
    return Result(rows, {"agreement_pairs": settings})


_PAIR_STATISTICS: Final = ("pearson", "spearman", "kappa_quadratic", "alpha_ordinal", "observed_agreement")


def _pair(
    panel: Panel, a: int, b: int, of_rater: list[Any], n_replicates: int, confidence: float, seed: int
) -> list[Row]:
    keys: dict[str, Key] = {"criterion": panel.criterion, "rater_a": panel.raters[a], "rater_b": panel.raters[b]}
    cells, at_a, at_b = np.intersect1d(
        panel.cell[of_rater[a]], panel.cell[of_rater[b]], assume_unique=True, return_indices=True
    )
    sample: dict[str, Any] = {"n_items": len(np.unique(panel.cell_item[cells])), "n_raters": 2}
    if len(cells) == 0:
        return [
            Row("agreement_pairs", keys, name, np.nan, undefined="they rated no cell in common", **sample)
            for name in _PAIR_STATISTICS
        ]
    x, y = panel.rating[of_rater[a]][at_a], panel.rating[of_rater[b]][at_b]
    unit = np.repeat(np.arange(len(cells)), 2)
    found = formulas.patterns(unit, np.column_stack([x, y]).ravel(), np.tile([0, 1], len(cells)))
    px, py = x[found.first], y[found.first]

    def statistics(weights: FloatArray) -> FloatArray:
        values = formulas.alphas(found, weights, ["ordinal"])
        pearson, kappa = association.pearson_and_kappa(px, py, weights)
        return np.column_stack(
            [
                pearson,
                association.spearman(px, py, weights),
                kappa,
                values["ordinal"],
                values["observed"],
            ]
        )

    drawn = clusters(panel.cell_item[cells], found.of_unit, found.n_patterns)
    estimates = statistics(drawn.weights())[0]
    draws = None
    if n_replicates and drawn.n > 1:
        rng = stream(seed, "agreement_pairs", panel.criterion, panel.raters[a], panel.raters[b])
        draws = bootstrap(statistics, drawn, n_replicates=n_replicates, rng=rng)
    rows = []
    for position, name in enumerate(_PAIR_STATISTICS):
        estimate = float(estimates[position])
        if reason := _undefined_pair(panel, name, estimate):
            rows.append(Row("agreement_pairs", keys, name, np.nan, undefined=reason, **sample))
        elif draws is None:
            why = "no interval: one item in common" if drawn.n < 2 else "no interval: too many pairs of raters"
            rows.append(Row("agreement_pairs", keys, name, estimate, note=why, **sample))
        else:
            rows.append(
                bootstrapped_row(
                    "agreement_pairs", keys, name, estimate, draws[:, position], drawn.n, "item", confidence, "", sample
                )
            )
    if panel.n_systems > 1:
        rows.append(_tau(panel, keys, panel.system[of_rater[a]][at_a], x, y, sample))
    return rows


def _undefined_pair(panel: Panel, name: str, estimate: float) -> str:
    if name in ("pearson", "spearman", "kappa_quadratic", "alpha_ordinal") and not panel.has_numbers:
        return "nominal ratings of more than two categories have no order"
    if name == "kappa_quadratic" and panel.scale.bounds is None:
        return "no scale declared: weighted kappa is defined on one"
    if not np.isnan(estimate):
        return ""
    if name in ("pearson", "spearman"):
        return "one of the raters gave one rating only"
    return "no variation: both gave the same rating throughout"


def _tau(
    panel: Panel,
    keys: dict[str, Key],
    system: np.ndarray[Any, Any],
    x: FloatArray,
    y: FloatArray,
    sample: dict[str, Any],
) -> Row:
    """Return how alike two raters order the systems, over the cells that both rated."""
    counts = np.bincount(system, minlength=panel.n_systems)
    if not panel.has_numbers or (counts == 0).any():
        reason = "no mean" if not panel.has_numbers else "a system has no cell that both rated"
        return Row("agreement_pairs", keys, "kendall_tau_b", np.nan, undefined=reason, **sample)
    largest = float(np.abs(panel.rating).max())
    sums = [np.bincount(system, weights=v, minlength=panel.n_systems) for v in (x, y)]
    tau = association.kendall_tau_b(*(without_dust(one / counts, largest=largest) for one in sums))
    note = f"no interval: the order of {panel.n_systems} systems by these two raters, as it is"
    return Row("agreement_pairs", keys, "kendall_tau_b", tau.value, undefined=tau.undefined, note=note, **sample)
