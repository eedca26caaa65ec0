"""Can these ratings rank the systems, and how many raters or items would? G and Phi, and the decision study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.design import full_crossing_fault
from measurand.auditing.variance import FACETS, PIVOT_DRAWS, PIVOT_METHOD, pivot_draws
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import reliability, variance
from measurand.stats.inference import FloatArray, Interval, percentile_interval, stream

TARGETS: Final = (0.8, 0.9)
#: Panel sizes for which the decision study projects G, beside the panel's own.
PROJECTED_RATERS: Final = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200)
PROJECTED_ITEMS: Final = (10, 25, 50, 100, 200, 500, 1000)

#: Panels simulated without system differences to see what an estimator of G then says.
NULL_DRAWS: Final = 100_000
_PLUGIN_NOTE: Final = (
    "no interval: the plug-in takes the observed spread of system means for the true one, error and all; see the "
    "estimator anova"
)
_UNIT: Final = "item+system+rater"


def generalizability(
    ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0, draws: int = PIVOT_DRAWS
) -> Result:
    """Return the coefficients G and Phi of system means, here and at other numbers of items and raters.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`; systems are the objects, items and raters are random.
    confidence, seed, draws
        As for `measurand.auditing.components`.

    Returns
    -------
    Result
        Analysis `generalizability`. Estimator ``anova``: unbiased components, negative ones as 0 (and said), intervals
        by generalised pivotal quantities over items, systems and raters of this kind. Estimator ``plugin``: the
        observed spread of the system means (1 / n_systems) as system variance, as many papers do. `g_null` is the
        estimator's mean if no system differed, with the central range of such panels. `at_items` = infinity shows
        where items saturate, `at_raters` = infinity where raters do.

    References
    ----------
    Brennan (2001), Generalizability Theory, chapter 4.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> g = generalizability(two_emojis_panel().ratings, draws=1000)
    >>> here = {"at_items": 290, "at_raters": 3}
    >>> round(g.value("generalizability", "g", here | {"estimator": "plugin"}), 3)
    0.336
    >>> g.value("generalizability", "g", here | {"estimator": "anova"})
    0.0
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if reason := full_crossing_fault(panel):
            for estimator in ("anova", "plugin"):
                keys = _keys(panel, estimator, panel.n_items, panel.n_raters)
                rows += [
                    Row("generalizability", keys, statistic, np.nan, undefined=reason) for statistic in ("g", "phi")
                ]
            continue
        rows += _coefficients(panel, confidence, seed, draws)
        rows += _nulls(panel, confidence, seed)
    settings = {"confidence": confidence, "seed": seed, "draws": draws, "null_draws": NULL_DRAWS, "object": "system"}
    return Result(rows, {"generalizability": settings})


def _keys(panel: Panel, estimator: str, at_items: float, at_raters: float) -> dict[str, Key]:
    return {"criterion": panel.criterion, "estimator": estimator, "at_items": at_items, "at_raters": at_raters}


def _estimates(panel: Panel) -> tuple[variance.Anova, dict[str, FloatArray], dict[str, float]]:
    """Return the analysis of variance, its components, and the system variance of each estimator."""
    table = variance.anova(panel.cube(), FACETS)
    parts = {name: np.array(value) for name, value in variance.components(table).items()}
    return table, parts, {"anova": float(parts["system"]), "plugin": plugin_variance(table, table.ms["system"])}


def plugin_variance(table: variance.Anova, ms_system: Any) -> Any:
    """Return the variance (1 / n_systems) of the system means, from the mean square of systems."""
    n_items, n_systems, n_raters = table.sizes
    return ms_system * (n_systems - 1) / (n_systems * n_items * n_raters)


def _sizes(panel: Panel) -> list[tuple[float, float]]:
    here = (panel.n_items, panel.n_raters)
    raters = [(panel.n_items, n) for n in PROJECTED_RATERS if n != panel.n_raters]
    items = [(n, panel.n_raters) for n in PROJECTED_ITEMS if n != panel.n_items]
    return [here, *raters, (panel.n_items, np.inf), *items, (np.inf, panel.n_raters)]


def _coefficients(panel: Panel, confidence: float, seed: int, draws: int) -> list[Row]:
    _, parts, system = _estimates(panel)
    drawn = pivot_draws(panel, seed=seed, draws=draws)
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    lost = [name for name, value in parts.items() if value < 0]
    note = f"negative components count as 0: {', '.join(lost)}" if lost else ""
    rows = []
    for estimator in ("anova", "plugin"):
        for at_items, at_raters in _sizes(panel):
            keys = _keys(panel, estimator, at_items, at_raters)
            for statistic, error in (("g", reliability.relative_error), ("phi", reliability.absolute_error)):
                estimate = float(
                    reliability.coefficient(np.array(system[estimator]), error(parts, at_items, at_raters))
                )
                if np.isnan(estimate):
                    reason = "neither systems nor errors vary"
                    rows.append(Row("generalizability", keys, statistic, np.nan, undefined=reason, **sample))
                elif estimator == "plugin":
                    rows.append(Row("generalizability", keys, statistic, estimate, note=_PLUGIN_NOTE, **sample))
                else:
                    values = reliability.coefficient(drawn["system"], error(drawn, at_items, at_raters))
                    interval = percentile_interval(values, confidence=confidence)
                    rows.append(
                        Row(
                            "generalizability",
                            keys,
                            statistic,
                            estimate,
                            interval.low,
                            interval.high,
                            confidence,
                            PIVOT_METHOD,
                            _UNIT,
                            note=note,
                            **sample,
                        )
                    )
    return rows


def _nulls(panel: Panel, confidence: float, seed: int) -> list[Row]:
    """What each estimator of G says of panels like this one in which no system differs."""
    table, _, _ = _estimates(panel)
    squares = variance.null_mean_squares(
        table, "system", n_draws=NULL_DRAWS, rng=stream(seed, "g_null", panel.criterion)
    )
    matrix = variance.component_matrix(table)
    drawn = matrix @ np.vstack([squares[source] for source in table.sources])
    parts = dict(zip(table.sources, drawn, strict=True))
    error = reliability.relative_error(parts, panel.n_items, panel.n_raters)
    rows = []
    for estimator, system in (
        ("anova", parts["system"]),
        ("plugin", plugin_variance(table, squares["system"])),
    ):
        keys = _keys(panel, estimator, panel.n_items, panel.n_raters)
        values = reliability.coefficient(system, error)
        if np.isnan(values).all():
            reason = "neither systems nor errors vary"
            rows.append(Row("generalizability", keys, "g_null", np.nan, undefined=reason))
            continue
        interval = percentile_interval(values, confidence=confidence)
        rows.append(
            Row(
                "generalizability",
                keys,
                "g_null",
                float(np.nanmean(values)),
                interval.low,
                interval.high,
                confidence,
                "central range of simulated panels without system differences",
                _UNIT,
                panel.n_items,
                panel.n_raters,
                note="mean of the estimator of G if no system differed, the other components as estimated",
            )
        )
    return rows


def decision(
    ratings: Ratings | Sequence[Panel] | Any,
    *,
    targets: Sequence[float] = TARGETS,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = PIVOT_DRAWS,
) -> Result:
    """Return how many raters, or items, a wanted G would take.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    targets : sequence of float
        Values of G between 0 and 1.
    confidence, seed, draws
        As for `measurand.auditing.components`.

    Returns
    -------
    Result
        Analysis `decision`: `raters_needed` at the panel's items and `items_needed` at its raters, whole numbers or
        infinity where no number suffices, under the estimators of `generalizability`; of ``anova`` with the interval
        of the pivots, whose upper end may be infinite.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> study = decision(two_emojis_panel().ratings, draws=1000)
    >>> study.value("decision", "raters_needed", {"estimator": "plugin", "target": 0.8})
    27.0
    >>> study.value("decision", "raters_needed", {"estimator": "anova", "target": 0.8})
    inf
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        for target in targets:
            rows += _needed(panel, target, confidence, seed, draws)
    settings = {"targets": list(targets), "confidence": confidence, "seed": seed, "draws": draws, "of": "g"}
    return Result(rows, {"decision": settings})


def _needed(panel: Panel, target: float, confidence: float, seed: int, draws: int) -> list[Row]:
    fault = full_crossing_fault(panel)
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    rows = []
    parts: Mapping[str, FloatArray] = {}
    drawn: Mapping[str, FloatArray] = {}
    system: Mapping[str, float] = {}
    if not fault:
        _, parts, system = _estimates(panel)
        drawn = pivot_draws(panel, seed=seed, draws=draws)
    for estimator in ("anova", "plugin"):
        for statistic in ("raters_needed", "items_needed"):
            keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": estimator, "target": target}
            of_raters = statistic == "raters_needed"
            keys |= {"at_items": panel.n_items} if of_raters else {"at_raters": panel.n_raters}
            if fault:
                rows.append(Row("decision", keys, statistic, np.nan, undefined=fault, **sample))
                continue
            estimate = float(_number(np.array(system[estimator]), parts, target, panel, of_raters=of_raters))
            if estimator == "plugin":
                rows.append(Row("decision", keys, statistic, estimate, note=_PLUGIN_NOTE, **sample))
                continue
            values = _number(drawn["system"], drawn, target, panel, of_raters=of_raters)
            interval: Interval = percentile_interval(values, confidence=confidence)
            never = float(np.isinf(values).mean())
            what = "raters" if of_raters else "items"
            note = f"no number of {what} suffices in {100 * never:.0f} % of the pivot draws"
            rows.append(
                Row(
                    "decision",
                    keys,
                    statistic,
                    estimate,
                    interval.low,
                    interval.high,
                    confidence,
                    PIVOT_METHOD,
                    _UNIT,
                    note=note,
                    **sample,
                )
            )
    return rows


def _number(
    system: FloatArray, parts: Mapping[str, FloatArray], target: float, panel: Panel, *, of_raters: bool
) -> FloatArray:
    if of_raters:
        return reliability.raters_needed(system, parts, target=target, n_items=panel.n_items)
    return reliability.items_needed(system, parts, target=target, n_raters=panel.n_raters)
