"""Do the raters agree? Krippendorff's alpha and intraclass correlation of the panel, and every two raters."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS, Estimated, estimate
from measurand.auditing.model_agreement import reml_rows, single_rating_interval
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import agreement as formulas
from measurand.stats.agreement import METRICS, Patterns
from measurand.stats.inference import (
    Clusters,
    FloatArray,
    bootstrap,
    clopper_pearson_upper,
    clusters,
    percentile_interval,
    stream,
)
from measurand.stats.reliability import (
    ICC_FORMS,
    ICC_NAMES,
    NO_VARIATION,
    icc_forms,
    icc_intervals,
    two_way,
    undefined_icc,
)

#: Above this many raters the pairs of raters are too many to list.
MOST_RATERS_IN_PAIRS: Final = 100
#: Up to this many pairs of raters get bootstrap intervals.
MOST_PAIRS_WITH_INTERVAL: Final = 400
#: Distinct ratings above which the replicates of the ratio metric are out of reach.
MOST_VALUES_FOR_RATIO_INTERVAL: Final = 20_000

_STATISTICS: Final = ("observed_agreement", *(f"alpha_{metric}" for metric in METRICS))


def agreement(
    ratings: Ratings | Sequence[Panel] | Any,
    *,
    replicates: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = PIVOT_DRAWS,
) -> Result:
    """Return how far the raters agree: alpha at four levels of measurement and six intraclass correlations.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    replicates : int
        Number of bootstrap replicates.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.
    draws : int
        Draws of generalised pivotal quantities.

    Returns
    -------
    Result
        Analysis `agreement`: `observed_agreement` (share of agreeing pairs), `alpha_nominal`, `alpha_ordinal`,
        `alpha_interval`, `alpha_ratio` over all cells and for each system alone, and the intraclass correlations of
        the cells that every rater rated (`missing` = ``listwise``). A cell is an (item, system) pair. Intervals: a
        percentile bootstrap that redraws cells (`unit` = ``item_cell``) and one that redraws items with all their
        cells (``item``), each as a row; both are for *these* raters. Intraclass correlations also get the F interval,
        which takes cells as independent and, for forms 1 and 2, generalises over raters. Interval alpha and ICC(2,1)
        also get the interval of generalised pivots, over items, systems and raters of this kind. On incomplete panels
        `missing` = ``reml`` gives the intraclass correlations over all cells beside the listwise ones. At full
        agreement the lower end is an exact binomial bound: were a share q of units rated by chance, alpha would be
        1 - q.

    Notes
    -----
    All four levels are reported of numeric ratings whatever level is declared; the declared one is in the settings.

    References
    ----------
    Krippendorff (2011), "Computing Krippendorff's alpha-reliability"; McGraw & Wong (1996), Psychological Methods 1.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabbcc"), "rater": ["R1", "R2"] * 3, "rating": [1, 1, 2, 2, 3, 4]})
    >>> round(agreement(table, replicates=100).value("agreement", "alpha_interval"), 3)
    0.878
    """
    found = panels(ratings)
    rows: list[Row] = []
    for panel in found:
        rows += _alphas(panel, "", replicates, confidence, seed)
        rows += _icc(panel, replicates, confidence, seed)
        found_components = estimate(panel, seed=seed, draws=draws)
        rows += _over_raters(panel, found_components, rows, confidence)
        if not panel.is_complete:
            rows += reml_rows(panel, found_components, confidence=confidence, seed=seed, draws=draws)
        if panel.n_systems > 1:
            for position, name in enumerate(panel.systems):
                rows += _alphas(panel.of_system(position), name, replicates, confidence, seed)
    settings = {
        "replicates": replicates,
        "confidence": confidence,
        "seed": seed,
        "level": {panel.criterion: panel.level or "not declared" for panel in found},
    }
    return Result(rows, {"agreement": settings})


def _over_raters(panel: Panel, found: Estimated, rows: Sequence[Row], confidence: float) -> list[Row]:
    """Return interval alpha and ICC(2,1) again, with the interval that generalises over raters, too."""
    if (interval := single_rating_interval(panel, found, confidence=confidence)) is None:
        return []
    out = []
    for name, missing in (("alpha_interval", ""), ("icc_2_1", "listwise")):
        row = next(
            (
                one
                for one in rows
                if one.statistic == name
                and not one.undefined
                and one.keys.get("criterion") == panel.criterion
                and one.keys.get("missing", "") == missing
            ),
            None,
        )
        if row is not None:
            note = _joined(
                ICC_NAMES.get(name, ""), f"over {found.unit.replace('+', ', ')} of this kind, by variance components"
            )
            out.append(
                replace(
                    row,
                    low=interval.low,
                    high=interval.high,
                    confidence=confidence,
                    method=found.method,
                    unit=found.unit,
                    note=note,
                )
            )
    return out


def _redrawn(panel: Panel, found: Patterns, *, one_system: bool) -> dict[str, Clusters]:
    """Return what is redrawn, by the name of the unit."""
    items = clusters(panel.cell_item[found.unit], found.of_unit, found.n_patterns)
    if one_system or panel.n_systems <= 1:
        return {"item": items}
    return {"item_cell": clusters(found.unit, found.of_unit, found.n_patterns), "item": items}


def _alphas(panel: Panel, system: str, replicates: int, confidence: float, seed: int) -> list[Row]:
    found = formulas.patterns(panel.cell, panel.rating, panel.rater)
    keys: dict[str, Key] = {"criterion": panel.criterion, "system": system}
    reasons = {f"alpha_{metric}": _undefined(panel, found, metric) for metric in METRICS}
    reasons["observed_agreement"] = "" if found.n_units else _undefined(panel, found, "nominal")
    n_items = len(np.unique(panel.cell_item[found.unit]))
    sample: dict[str, Any] = {"n_items": n_items, "n_raters": panel.n_raters}
    if all(reasons.values()):
        return [Row("agreement", keys, name, np.nan, undefined=reasons[name], **sample) for name in _STATISTICS]
    defined = [metric for metric in METRICS if not reasons[f"alpha_{metric}"]]
    redrawn = _redrawn(panel, found, one_system=bool(system))
    estimates = _values(found, next(iter(redrawn.values())).weights(), defined)[0]
    redrawable = [m for m in defined if m != "ratio" or len(found.values) <= MOST_VALUES_FOR_RATIO_INTERVAL]
    draws = {
        unit: bootstrap(
            lambda weights: _values(found, weights, redrawable),
            drawn,
            n_replicates=replicates,
            rng=stream(seed, "agreement", panel.criterion, system, unit),
        )
        for unit, drawn in redrawn.items()
        if drawn.n > 1
    }
    rows = []
    for position, name in enumerate(["observed_agreement", *(f"alpha_{metric}" for metric in defined)]):
        estimate = float(estimates[position])
        note = _note(name, estimate, float(estimates[0]))
        if not draws:
            why = "no interval: one item has two ratings or more, nothing can be redrawn"
            rows.append(Row("agreement", keys, name, estimate, note=_joined(note, why), **sample))
        for unit, values in draws.items():
            if position >= values.shape[1]:
                why = f"no interval: more than {MOST_VALUES_FOR_RATIO_INTERVAL:,} distinct ratings"
                rows.append(Row("agreement", keys, name, estimate, note=_joined(note, why), **sample))
                break
            rows.append(
                _bootstrapped(
                    "agreement",
                    keys,
                    name,
                    estimate,
                    values[:, position],
                    redrawn[unit].n,
                    unit,
                    confidence,
                    note,
                    sample,
                )
            )
    rows += [
        Row("agreement", keys, name, np.nan, undefined=reasons[name], **sample) for name in _STATISTICS if reasons[name]
    ]
    return rows


def _undefined(panel: Panel, found: Patterns, metric: formulas.Metric) -> str:
    if panel.n_raters > 1 and found.n_units == 0:
        return "one rater per cell: no two raters rated the same thing"
    if metric != "nominal" and not panel.has_numbers:
        return "nominal ratings of more than two categories have no order"
    return formulas.undefined_alpha(found, metric, n_raters=panel.n_raters)


def _values(found: Patterns, weights: FloatArray, metrics: Sequence[formulas.Metric]) -> FloatArray:
    values = formulas.alphas(found, weights, metrics)
    return np.column_stack([values["observed"], *(values[metric] for metric in metrics)])


def _note(name: str, estimate: float, observed: float) -> str:
    if name == "observed_agreement":
        return ""
    if estimate < 0:
        return "below 0: the raters disagree more than chance would make them, as different uses of a scale do"
    if observed > 0.9 and estimate < 0.5:
        return (
            f"{100 * observed:.0f} % of the pairs agree, but nearly all ratings are the same value: there is little "
            "variation that agreement could show in"
        )
    return ""


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _bootstrapped(
    analysis: str,
    keys: dict[str, Key],
    name: str,
    estimate: float,
    draws: FloatArray,
    n_drawn: int,
    unit: str,
    confidence: float,
    note: str,
    sample: dict[str, Any],
) -> Row:
    """Return the row of an estimate with its percentile interval, or with the exact bound at full agreement."""
    if np.isnan(estimate):
        return Row(analysis, keys, name, estimate, undefined="no variation", **sample)
    if estimate == 1.0 and name not in ("pearson", "spearman"):
        low = 1 - clopper_pearson_upper(0, n_drawn, confidence=confidence)
        method = "exact binomial bound at full agreement (Clopper-Pearson)"
        return Row(analysis, keys, name, estimate, low, 1.0, confidence, method, unit, note=note, **sample)
    interval = percentile_interval(draws, confidence=confidence)
    if np.isnan(interval.low):
        return Row(analysis, keys, name, estimate, note=_joined(note, "no interval: no replicate is defined"), **sample)
    if interval.undefined_share:
        note = _joined(
            note, f"{100 * interval.undefined_share:.2g} % of the replicates had no variation and are left out"
        )
    if not interval.low <= estimate <= interval.high:
        note = _joined(note, "the replicates, which repeat units, do not centre on the estimate")
    return Row(
        analysis,
        keys,
        name,
        estimate,
        interval.low,
        interval.high,
        confidence,
        "percentile bootstrap",
        unit,
        note=note,
        **sample,
    )


def _icc(panel: Panel, replicates: int, confidence: float, seed: int) -> list[Row]:
    keys: dict[str, Key] = {"criterion": panel.criterion, "missing": "listwise"}
    whole = np.flatnonzero(panel.cell_size == panel.n_raters)
    reason = "" if panel.has_numbers else "nominal ratings of more than two categories have no mean"
    if panel.cell_size.max() == 1 and panel.n_raters > 1:
        reason = reason or "one rater per cell: no two raters rated the same thing"
    if reason := reason or undefined_icc(len(whole), panel.n_raters):
        return [
            Row("agreement", keys, form, np.nan, n_raters=panel.n_raters, undefined=reason, note=ICC_NAMES[form])
            for form in ICC_FORMS
        ]
    found = formulas.patterns(panel.cell, panel.rating, panel.rater)
    complete = found.size == panel.n_raters
    cell = found.unit[found.first[complete]]
    table = panel.rating[panel.cell_start[cell][:, None] + np.arange(panel.n_raters)]
    sample: dict[str, Any] = {"n_items": len(np.unique(panel.cell_item[whole])), "n_raters": panel.n_raters}

    def forms(weights: FloatArray) -> FloatArray:
        return icc_forms(two_way(table, weights[:, complete]))

    redrawn = _redrawn(panel, found, one_system=False)
    weights = next(iter(redrawn.values())).weights()
    estimates = forms(weights)[0]
    exact = icc_intervals(two_way(table, weights[:, complete]), confidence=confidence)
    cells_depend = panel.n_systems > 1
    rows = []
    draws = {
        unit: bootstrap(
            forms, drawn, n_replicates=replicates, rng=stream(seed, "agreement", panel.criterion, "icc", unit)
        )
        for unit, drawn in redrawn.items()
        if drawn.n > 1
    }
    for position, form in enumerate(ICC_FORMS):
        estimate, note = float(estimates[position]), ICC_NAMES[form]
        if np.isnan(estimate):
            rows.append(Row("agreement", keys, form, np.nan, undefined=NO_VARIATION, note=note, **sample))
            continue
        for unit, values in draws.items():
            rows.append(
                _bootstrapped(
                    "agreement",
                    keys,
                    form,
                    estimate,
                    values[:, position],
                    len(whole) if unit == "item_cell" else sample["n_items"],
                    unit,
                    confidence,
                    _joined(note, "for these raters"),
                    sample,
                )
            )
        if not np.isnan(exact[position].low):
            over = "item_cell" if cells_depend else "item"
            if form in ("icc_1_1", "icc_1_k", "icc_2_1", "icc_2_k"):
                over += "+rater"
            caution = "takes the cells of one item as independent, which they are not" if cells_depend else ""
            rows.append(
                Row(
                    "agreement",
                    keys,
                    form,
                    estimate,
                    exact[position].low,
                    exact[position].high,
                    confidence,
                    "F (McGraw & Wong 1996)",
                    over,
                    note=_joined(note, caution),
                    **sample,
                )
            )
    return rows


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
        return np.column_stack(
            [
                formulas.pearson(px, py, weights),
                formulas.spearman(px, py, weights),
                formulas.kappa_quadratic(px, py, weights),
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
                _bootstrapped(
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
    means = [np.round(np.bincount(system, weights=v, minlength=panel.n_systems) / counts, 12) for v in (x, y)]
    tau = formulas.kendall_tau_b(means[0], means[1])
    note = f"no interval: the order of {panel.n_systems} systems by these two raters, as it is"
    return Row("agreement_pairs", keys, "kendall_tau_b", tau.value, undefined=tau.undefined, note=note, **sample)
