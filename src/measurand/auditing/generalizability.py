"""Can these ratings rank the systems, and how many raters or items would? G and Phi, and the decision study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS, Estimated, estimate
from measurand.auditing.design import full_crossing_fault
from measurand.auditing.mixed import EFFECTS
from measurand.auditing.these_items import coefficient_row, needed_row
from measurand.auditing.variance import FACETS
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
        observed spread of the system means (1 / n_systems) as system variance, as many papers do. On incomplete panels
        ``henderson`` takes the place of ``anova``; ``reml`` stands beside it on all. Sizes are those of complete
        crossings; on incomplete panels `g_as_rated` and `phi_as_rated` are of the ratings as they are. `g_null` is the
        estimator's mean if no system differed, with the central range of such panels. `at_items` = infinity shows
        where items saturate, `at_raters` = infinity where raters do. `g_these_items` generalises over raters alone,
        the items being the very ones; its interval is exact, from the two mean squares of system and system:rater.

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
        balanced = full_crossing_fault(panel)
        found = _estimated(panel, seed, draws)
        rows.append(coefficient_row(panel, confidence))
        if balanced:
            for estimator in ("anova", "plugin"):
                keys = _keys(panel, estimator, panel.n_items, panel.n_raters)
                rows += [_undefined(keys, statistic, balanced) for statistic in ("g", "phi")]
        if reason := projection_fault(panel, found):
            keys = _keys(panel, "reml", panel.n_items, panel.n_raters)
            rows += [_undefined(keys, statistic, reason) for statistic in ("g", "phi")]
            continue
        if not panel.is_complete:
            rows += _as_rated(panel, found, confidence)
        rows += _coefficients(panel, found, confidence)
        if not balanced:
            rows += _nulls(panel, confidence, seed)
    settings = {"confidence": confidence, "seed": seed, "draws": draws, "null_draws": NULL_DRAWS, "object": "system"}
    return Result(rows, {"generalizability": settings})


def _keys(panel: Panel, estimator: str, at_items: float, at_raters: float) -> dict[str, Key]:
    return {"criterion": panel.criterion, "estimator": estimator, "at_items": at_items, "at_raters": at_raters}


def _undefined(keys: dict[str, Key], statistic: str, reason: str) -> Row:
    return Row("generalizability", keys, statistic, np.nan, undefined=reason)


def _estimated(panel: Panel, seed: int, draws: int) -> Estimated:
    """Return the components, without the work where there are no systems to speak of."""
    if panel.n_systems < 2:
        return Estimated("anova", {}, {}, {}, "", "", {})
    return estimate(panel, seed=seed, draws=draws)


def projection_fault(panel: Panel, found: Estimated) -> str:
    """Return why the reliability of system means cannot be projected, blank if it can."""
    if panel.n_systems == 0:
        return "no systems: the ratings concern the items themselves"
    for name, size in (("system", panel.n_systems), ("item", panel.n_items), ("rater", panel.n_raters)):
        if size == 1:
            return f"one {name}: its variance cannot be estimated"
    if found.fault:
        return found.fault
    for name in EFFECTS:
        if name in found.confounded:
            return f"{name} cannot be told from {found.confounded[name]} in this layout"
    if not found.pivots:
        return found.no_pivots
    return ""


def _by_estimator(panel: Panel, found: Estimated) -> dict[str, tuple[float, Mapping[str, FloatArray]]]:
    """Return the system variance and the components of the errors under each estimator."""
    unbiased = {name: np.array(value) for name, value in found.unbiased.items()}
    out: dict[str, tuple[float, Mapping[str, FloatArray]]] = {found.estimator: (found.unbiased["system"], unbiased)}
    if found.estimator == "anova":
        table = variance.anova(panel.cube(), FACETS)
        out["plugin"] = (plugin_variance(table, table.ms["system"]), unbiased)
    if found.reml:
        out["reml"] = (found.reml["system"], {name: np.array(value) for name, value in found.reml.items()})
    return out


def plugin_variance(table: variance.Anova, ms_system: Any) -> Any:
    """Return the variance (1 / n_systems) of the system means, from the mean square of systems."""
    n_items, n_systems, n_raters = table.sizes
    return ms_system * (n_systems - 1) / (n_systems * n_items * n_raters)


def _sizes(panel: Panel) -> list[tuple[float, float]]:
    here = (panel.n_items, panel.n_raters)
    raters = [(panel.n_items, n) for n in PROJECTED_RATERS if n != panel.n_raters]
    items = [(n, panel.n_raters) for n in PROJECTED_ITEMS if n != panel.n_items]
    return [here, *raters, (panel.n_items, np.inf), *items, (np.inf, panel.n_raters)]


def _coefficients(panel: Panel, found: Estimated, confidence: float) -> list[Row]:
    estimators = _by_estimator(panel, found)
    errors = {"g": reliability.relative_error, "phi": reliability.absolute_error}
    rows = []
    for at_items, at_raters in _sizes(panel):
        for statistic, error in errors.items():
            # The pivots are those of the components, whichever estimator they are set beside.
            drawn = reliability.coefficient(found.pivots["system"], error(found.pivots, at_items, at_raters))
            interval = percentile_interval(drawn, confidence=confidence)
            for estimator, (system, parts) in estimators.items():
                keys = _keys(panel, estimator, at_items, at_raters)
                value = float(reliability.coefficient(np.array(system), error(parts, at_items, at_raters)))
                lost = [name for name, part in parts.items() if part < 0]
                note = f"negative components count as 0: {', '.join(lost)}" if lost else ""
                if np.isnan(value):
                    rows.append(_undefined(keys, statistic, "neither systems nor errors vary"))
                elif estimator == "plugin":
                    rows.append(Row("generalizability", keys, statistic, value, note=_PLUGIN_NOTE, **_sample(panel)))
                else:
                    rows.append(
                        _row("generalizability", keys, statistic, value, interval, panel, found, confidence, note)
                    )
    return sorted(rows, key=lambda row: list(estimators).index(str(row.keys["estimator"])))


def _as_rated(panel: Panel, found: Estimated, confidence: float) -> list[Row]:
    """Return G and Phi of the ratings as they are laid out, whoever rated what."""
    layout = reliability.layout_error(panel.item, panel.system, panel.rater)
    rows = []
    for statistic, absolute in (("g_as_rated", False), ("phi_as_rated", True)):
        error = layout.variance(found.pivots, absolute=absolute)
        interval = percentile_interval(reliability.coefficient(found.pivots["system"], error), confidence=confidence)
        for estimator, (system, parts) in _by_estimator(panel, found).items():
            keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": estimator}
            value = float(reliability.coefficient(np.array(system), layout.variance(parts, absolute=absolute)))
            if np.isnan(value):
                rows.append(_undefined(keys, statistic, "neither systems nor errors vary"))
                continue
            note = "of the ratings as they are laid out; the other sizes are complete crossings"
            rows.append(_row("generalizability", keys, statistic, value, interval, panel, found, confidence, note))
    return rows


def _sample(panel: Panel) -> dict[str, Any]:
    return {"n_items": panel.n_items, "n_raters": panel.n_raters}


def _row(
    analysis: str,
    keys: dict[str, Key],
    statistic: str,
    value: float,
    interval: Interval,
    panel: Panel,
    found: Estimated,
    confidence: float,
    note: str,
) -> Row:
    return Row(
        analysis,
        keys,
        statistic,
        value,
        interval.low,
        interval.high,
        confidence,
        found.method,
        _UNIT,
        note=note,
        **_sample(panel),
    )


def _nulls(panel: Panel, confidence: float, seed: int) -> list[Row]:
    """What each estimator of G says of panels like this one in which no system differs."""
    table = variance.anova(panel.cube(), FACETS)
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
        infinity where no number suffices, under the estimators of `generalizability`, with the interval of the pivots,
        whose upper end may be infinite. `raters_needed_these_items` asks for G with these very items, by the exact
        interval of `g_these_items`.

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
        rows += _needed(panel, _estimated(panel, seed, draws), targets, confidence)
    settings = {"targets": list(targets), "confidence": confidence, "seed": seed, "draws": draws, "of": "g"}
    return Result(rows, {"decision": settings})


def _needed(panel: Panel, found: Estimated, targets: Sequence[float], confidence: float) -> list[Row]:
    rows: list[Row] = []
    balanced, fault = full_crossing_fault(panel), projection_fault(panel, found)
    estimators = {} if fault else _by_estimator(panel, found)
    for target in targets:
        rows.append(needed_row(panel, target, confidence))
        for estimator in dict.fromkeys(["anova", "plugin", *(["reml"] if fault else estimators)]):
            for statistic in ("raters_needed", "items_needed"):
                of_raters = statistic == "raters_needed"
                keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": estimator, "target": target}
                keys |= {"at_items": panel.n_items} if of_raters else {"at_raters": panel.n_raters}
                if estimator not in estimators:
                    reason = balanced if estimator != "reml" and balanced else fault or balanced
                    rows.append(Row("decision", keys, statistic, np.nan, undefined=reason, **_sample(panel)))
                    continue
                system, parts = estimators[estimator]
                value = float(_number(np.array(system), parts, target, panel, of_raters=of_raters))
                if estimator == "plugin":
                    rows.append(Row("decision", keys, statistic, value, note=_PLUGIN_NOTE, **_sample(panel)))
                    continue
                drawn = _number(found.pivots["system"], found.pivots, target, panel, of_raters=of_raters)
                interval = percentile_interval(drawn, confidence=confidence)
                what = "raters" if of_raters else "items"
                note = f"no number of {what} suffices in {100 * float(np.isinf(drawn).mean()):.0f} % of the pivot draws"
                rows.append(_row("decision", keys, statistic, value, interval, panel, found, confidence, note))
    return rows


def _number(
    system: FloatArray, parts: Mapping[str, FloatArray], target: float, panel: Panel, *, of_raters: bool
) -> FloatArray:
    if of_raters:
        return reliability.raters_needed(system, parts, target=target, n_items=panel.n_items)
    return reliability.items_needed(system, parts, target=target, n_raters=panel.n_raters)
