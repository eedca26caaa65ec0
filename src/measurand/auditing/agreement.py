"""Do the raters agree? Krippendorff's alpha and intraclass correlation of the panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.auditing import measured
from measurand.auditing.components import PIVOT_DRAWS, Estimated, estimate
from measurand.auditing.model_agreement import reml_rows, single_rating_interval
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.sentences import joined
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

#: Distinct ratings above which the replicates of the ratio metric are out of reach.
MOST_VALUES_FOR_RATIO_INTERVAL: Final = 20_000

#: Share of the ratings that may be distinct values if redrawing units is to say anything of nominal alpha of what is no
#: name: on a continuous scale hardly anything but units drawn twice repeats a value.
MOST_DISTINCT: Final = 0.5
#: Below this many redrawn clusters the percentile bootstrap is too narrow, and its rows say how much.
FEW_DRAWN: Final = 20
_FEW_COVERAGE: Final = (
    "in simulation a 95 % interval of this kind held 75 % of the time with 5 items, 85 % with 10, 92 % with 20"
)

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
        1 - q; where no pair agrees, the upper end of observed agreement is such a bound. Nominal alpha has no interval
        where more than half of the ratings are distinct values and the level is not nominal, as on a continuous scale:
        hardly anything but units that are drawn twice would then repeat a value.

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
        # At full agreement there is no error for the pivots to spread; the exact bound says what can be said.
        # An interval that excludes the estimate says that the panel does not follow the components' model (ratings that
        # are there or not for what they are, say): no statement about other raters can rest on it.
        if row is not None and row.estimate < 1 and interval.low <= row.estimate <= interval.high:
            note = joined(
                ICC_NAMES.get(name, ""),
                f"over {found.unit.replace('+', ', ')} of this kind, by variance components",
                measured.PIVOTS_OF_ALPHA,
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
        if name == "alpha_nominal" and _is_continuous(panel, found):
            why = "no interval: more than half of the ratings are distinct values, which redrawn units alone repeat"
            rows.append(Row("agreement", keys, name, estimate, note=joined(note, why), **sample))
            continue
        if not draws:
            why = "no interval: one item has two ratings or more, nothing can be redrawn"
            rows.append(Row("agreement", keys, name, estimate, note=joined(note, why), **sample))
        for unit, values in draws.items():
            if position >= values.shape[1]:
                why = f"no interval: more than {MOST_VALUES_FOR_RATIO_INTERVAL:,} distinct ratings"
                rows.append(Row("agreement", keys, name, estimate, note=joined(note, why), **sample))
                break
            rows.append(
                bootstrapped_row(
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


def _is_continuous(panel: Panel, found: Patterns) -> bool:
    """Whether hardly a value is there twice: chance agreement of replicates is then that of redrawn copies."""
    n_ratings = float(found.size[found.of_unit].sum())
    return panel.level != "nominal" and len(found.values) > MOST_DISTINCT * n_ratings


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


def bootstrapped_row(
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
        method = "exact binomial bound: no unit disagrees (Clopper-Pearson)"
        return Row(analysis, keys, name, estimate, low, 1.0, confidence, method, unit, note=note, **sample)
    if estimate == 0.0 and name == "observed_agreement":
        high = clopper_pearson_upper(0, n_drawn, confidence=confidence)
        method = "exact binomial bound: no unit agrees (Clopper-Pearson)"
        return Row(analysis, keys, name, estimate, 0.0, high, confidence, method, unit, note=note, **sample)
    interval = percentile_interval(draws, confidence=confidence)
    if np.isnan(interval.low):
        return Row(analysis, keys, name, estimate, note=joined(note, "no interval: no replicate is defined"), **sample)
    if interval.undefined_share:
        note = joined(
            note, f"{100 * interval.undefined_share:.2g} % of the replicates had no variation and are left out"
        )
    if not interval.low <= estimate <= interval.high:
        note = joined(note, "the replicates, which repeat units, do not centre on the estimate")
    # What was measured comes last in a note: pages gather it beneath their tables.
    if n_drawn < FEW_DRAWN:
        note = joined(note, f"{n_drawn} redrawn", _FEW_COVERAGE)
    elif analysis == "agreement" and name.startswith("alpha_"):
        note = joined(note, measured.CELLS if unit == "item_cell" else measured.ITEMS)
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
                bootstrapped_row(
                    "agreement",
                    keys,
                    form,
                    estimate,
                    values[:, position],
                    len(whole) if unit == "item_cell" else sample["n_items"],
                    unit,
                    confidence,
                    joined(note, "for these raters"),
                    sample,
                )
            )
        if not np.isnan(exact[position].low):
            over = "item_cell" if cells_depend else "item"
            if form in ("icc_1_1", "icc_1_k", "icc_2_1", "icc_2_k"):
                over += "+rater"
            caution = (
                f"takes the cells of one item as independent, which they are not; {measured.F_OF_CELLS}"
                if cells_depend
                else ""
            )
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
                    note=joined(note, caution),
                    **sample,
                )
            )
    return rows
