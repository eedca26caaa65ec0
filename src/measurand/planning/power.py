"""Which difference between two systems could this panel find, and what would finding a given one take?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS
from measurand.data.panel import Panel
from measurand.data.ratings import Ratings
from measurand.planning.designs import LAYOUTS, Bounds, Costs, Design, checked, choices, finding_difference
from measurand.planning.findings import difference_detectable
from measurand.planning.measured import UNIT, Measured, check_confidence, measured, off_centre
from measurand.planning.plan import MOST_ITEMS, MOST_RATERS
from measurand.result import Finding, Key, MeasurandError, Result, Row
from measurand.sentences import joined, short
from measurand.stats.inference import FloatArray, Interval, percentile_interval
from measurand.stats.layouts import error_df, error_variance
from measurand.stats.power import detectable, expected_range, power_of

#: Units of the as-rated rows: what is drawn anew when the comparison is made again.
UNITS: Final = ("item+rater", "item")
_ONE_PAIR: Final = "one comparison that was named beforehand, at its own level; not the largest of all differences"
_NORMAL_SYSTEMS: Final = "the expected range of so many systems with the unbiased system variance, as if normal"
_NESTED: Final = "by the t test over the raters' own differences, the only one that a nested panel allows"
_DF_NOTE: Final = "degrees of freedom taken as known"


@dataclass(frozen=True)
class _Asked:
    difference: float | None
    power: float
    alpha: float
    layouts: Sequence[str]
    bounds: Bounds
    confidence: float
    costs: Costs


def power(
    ratings: Ratings | Sequence[Panel] | Sequence[Measured] | Any,
    *,
    difference: float | None = None,
    target: float = 0.8,
    alpha: float = 0.05,
    cost_rater: float = 0.0,
    cost_item: float = 0.0,
    cost_judgement: float = 1.0,
    layouts: Sequence[str] = LAYOUTS,
    most_raters: int = MOST_RATERS,
    most_items: int = MOST_ITEMS,
    most_per_rater: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    draws: int = PIVOT_DRAWS,
) -> Result:
    """Return the smallest difference between two systems that a panel finds, and what finding a given one would take.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        A panel, complete or not; see `measurand.read_ratings`.
    difference : float or None
        A true difference in scale units, above 0; None asks only for the smallest that is found.
    target : float
        Power wanted, above `alpha` and below 1.
    alpha : float
        Level of the two-sided test of one pair of systems.
    cost_rater, cost_item, cost_judgement, layouts, most_raters, most_items, most_per_rater, confidence, seed, draws
        As for `measurand.planning.plan`.

    Returns
    -------
    Result
        Analysis `power`. Of the panel as it was rated, under the unbiased components, `standard_error` of a difference
        and `smallest_difference`, with `power` where a difference is given: unit ``item+rater`` where items and raters
        are drawn anew, ``item`` where the raters are these very ones. Errors are pooled over systems. For a difference,
        of each layout the cheapest design that finds it with the target's power (`cost`, `n_judgements`, `power`).
        `span_of_systems` is the largest difference between two system means, errors and all; `true_span_of_systems` the
        expected one without errors, d₂ √σ²_s. Finding `difference-detectable`.

    Raises
    ------
    MeasurandError
        Differences, targets, levels, costs, layouts or bounds with which nothing can be planned.

    Notes
    -----
    The standard error is √(2 σ²(δ)). Its degrees of freedom are those of `measurand.stats.layouts.error_df`, and of
    unit ``item`` those of the paired t over the items that two systems share. Power is that of the noncentral t
    distribution. Intervals come from the draws of the components, the degrees of freedom taken as known.

    References
    ----------
    Judd, Westfall and Kenny (2017), Annual Review of Psychology 68, 601-625; Cohen (1988), Statistical Power Analysis
    for the Behavioral Sciences, chapter 2.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> found = power(two_emojis_panel().ratings, draws=1000)
    >>> for unit in ("item+rater", "item"):
    ...     print(unit, round(found.value("power", "smallest_difference", {"unit": unit}), 3))
    item+rater 0.653
    item 0.128
    """
    if difference is not None and not (np.isfinite(difference) and difference > 0):
        raise MeasurandError(f"difference {difference:g}; give a number above 0, in scale units")
    if not 0 < alpha < 1:
        raise MeasurandError(f"alpha {alpha:g}; give a level above 0 and below 1")
    if not alpha < target < 1:
        raise MeasurandError(f"power {target:g}; give a power above alpha, {alpha:g}, and below 1")
    check_confidence(confidence)
    checked(Costs(cost_rater, cost_item, cost_judgement, 2), layouts, Bounds(most_raters, most_items))
    rows: list[Row] = []
    findings: list[Finding] = []
    for about in measured(ratings, seed=seed, draws=draws):
        panel = about.panel
        costs = Costs(cost_rater, cost_item, cost_judgement, panel.n_systems)
        bounds = Bounds(most_raters, most_items, most_per_rater, panel.n_systems)
        checked(costs, layouts, bounds)
        wanted = tuple(dict.fromkeys(layouts))
        asked = _Asked(difference, target, alpha, wanted, bounds, confidence, costs)
        of_panel = _of_panel(about, asked)
        rows += of_panel
        findings.append(difference_detectable(of_panel, panel.criterion, difference=difference, target=target))
    settings = {
        "difference": difference,
        "power": target,
        "alpha": alpha,
        "cost_rater": cost_rater,
        "cost_item": cost_item,
        "cost_judgement": cost_judgement,
        "layouts": list(dict.fromkeys(layouts)),
        "most_raters": most_raters,
        "most_items": most_items,
        "most_per_rater": most_per_rater,
        "confidence": confidence,
        "seed": seed,
        "draws": draws,
    }
    return Result(rows, {"power": settings}, findings)


def _of_panel(about: Measured, asked: _Asked) -> list[Row]:
    keys = _keys(about, "as_rated")
    if about.fault:
        keys |= {"unit": UNITS[0], "target": asked.power}
        return [Row("power", keys, "smallest_difference", np.nan, undefined=about.fault, **_sample(about))]
    panel = about.panel
    sizes: dict[str, Key] = {"at_raters": panel.n_raters, "at_items": panel.n_items}
    means = np.bincount(panel.system, weights=panel.rating) / np.bincount(panel.system)
    note = "no interval: the largest difference between two observed means, errors and all"
    rows = [Row("power", keys | sizes, "span_of_systems", float(np.ptp(means)), note=note, **_sample(about))]
    rows.append(_true_span(about, asked, keys | sizes))
    for unit in UNITS:
        rows += _as_rated(about, asked, keys | sizes, unit)
    if asked.difference is not None:
        blocks = [_finding(about, asked, layout) for layout in asked.layouts]
        # The cheapest layout first, those without a design last.
        blocks.sort(key=lambda block: (bool(block[0].undefined), block[0].estimate if not block[0].undefined else 0.0))
        rows += [row for block in blocks for row in block]
    return rows


def _true_span(about: Measured, asked: _Asked, keys: dict[str, Key]) -> Row:
    """Return how far the best and the worst of so many systems lie apart, errors taken off."""
    system = about.found.unbiased["system"]
    if system <= 0:
        reason = (
            f"the system variance is estimated at {short(system)}, so that systems are not known to lie apart at all"
        )
        return Row("power", keys, "true_span_of_systems", np.nan, undefined=reason, **_sample(about))
    times = expected_range(about.panel.n_systems)
    interval = percentile_interval(
        times * np.sqrt(np.maximum(about.found.pivots["system"], 0)), confidence=asked.confidence
    )
    value = times * float(np.sqrt(system))
    note = joined(_NORMAL_SYSTEMS, off_centre(value, interval.low, interval.high))
    ends = (interval.low, interval.high, asked.confidence, about.found.method, UNIT)
    return Row("power", keys, "true_span_of_systems", value, *ends, note=note, **_sample(about))


def _sample(about: Measured) -> dict[str, Any]:
    return {"n_items": about.panel.n_items, "n_raters": about.panel.n_raters}


def _keys(about: Measured, layout: str) -> dict[str, Key]:
    return {"criterion": about.panel.criterion, "layout": layout, "estimator": about.unbiased}


def _as_rated(about: Measured, asked: _Asked, keys: dict[str, Key], unit: str) -> list[Row]:
    weights = about.as_rated.relative
    if unit == "item":
        # These very raters: what is theirs alone is part of what is compared.
        weights = {name: weight for name, weight in weights.items() if "item" in name or name == "residual"}
    estimate, drawn = (
        np.asarray(2 * sum(weight * np.maximum(parts[name], 0.0) for name, weight in weights.items()))
        for parts in (about.found.unbiased, about.found.pivots)
    )
    df = _df_as_rated(about, unit)
    rows = [_inferred(about, asked, keys | {"unit": unit}, "standard_error", np.sqrt(estimate), np.sqrt(drawn), df)]
    factor = float(detectable(df, power=asked.power, alpha=asked.alpha))
    smallest: dict[str, Key] = {"unit": unit, "target": asked.power}
    rows.append(
        _inferred(
            about,
            asked,
            keys | smallest,
            "smallest_difference",
            factor * np.sqrt(estimate),
            factor * np.sqrt(drawn),
            df,
            _ONE_PAIR,
        )
    )
    if asked.difference is not None:
        found = keys | {"unit": unit, "difference": asked.difference}
        rows.append(_power_row(about, asked, found, float(estimate), drawn, df))
    return rows


def _df_as_rated(about: Measured, unit: str) -> float:
    """Degrees of freedom of the audit's tests of a pair: over items of the paired t, over both by effective numbers."""
    panel, weights = about.panel, about.as_rated.relative
    if unit == "item":
        return max(_shared_items(panel) - 1, 1.0)
    raters, items, cells = (1 / weights[name] for name in ("system:rater", "item:system", "residual"))
    sizes = {"n_raters": raters, "n_items": items, "per_item": cells / items}
    return float(error_df(about.errors(about.unbiased), n_systems=panel.n_systems, **sizes))


def _shared_items(panel: Panel) -> float:
    """Return how many items two systems share, on average over pairs of systems."""
    rated = np.zeros((panel.n_items, panel.n_systems))
    rated[panel.item, panel.system] = 1
    shared = rated.T @ rated
    n = panel.n_systems
    return float((shared.sum() - np.trace(shared)) / (n * (n - 1)))


def _inferred(
    about: Measured,
    asked: _Asked,
    keys: dict[str, Key],
    statistic: str,
    value: Any,
    drawn: FloatArray,
    df: float,
    note: str = "",
) -> Row:
    interval: Interval = percentile_interval(drawn, confidence=asked.confidence)
    ends = (interval.low, interval.high, asked.confidence, about.found.method, str(keys.get("unit", UNITS[0])))
    note = joined(note, off_centre(float(value), interval.low, interval.high))
    return Row("power", keys, statistic, float(value), *ends, df2=df, note=note, **_sample(about))


def _power_row(
    about: Measured, asked: _Asked, keys: dict[str, Key], estimate: float, drawn: FloatArray, df: float
) -> Row:
    """Return the power for the difference; it falls with the error, so that the error's limits give its own."""
    interval = percentile_interval(drawn, confidence=asked.confidence)
    errors = np.sqrt([estimate, interval.high, interval.low])
    if errors[0] == 0:
        reason = "the error variance is estimated at 0, so that any difference would be found"
        return Row("power", keys, "power", np.nan, undefined=reason, **_sample(about))
    with np.errstate(divide="ignore"):
        value, low, high = (float(x) for x in power_of(asked.difference or 0.0, errors, df, alpha=asked.alpha))
    ends = (low, high, asked.confidence, about.found.method, str(keys.get("unit", UNITS[0])))
    of_nested = _NESTED if keys["layout"] == "nested" else ""
    note = joined(_ONE_PAIR, of_nested, _DF_NOTE, off_centre(value, low, high))
    return Row("power", keys, "power", value, *ends, df2=df, note=note, **_sample(about))


def _finding(about: Measured, asked: _Asked, layout: str) -> list[Row]:
    """Return the cheapest design of a layout that finds the difference, or why none does; its cost comes first."""
    difference = asked.difference or 0.0
    keys = _keys(about, layout) | {"unit": UNITS[0], "difference": difference, "target": asked.power}
    errors = about.errors(about.unbiased)
    design: Design | None = finding_difference(
        choices(layout, asked.bounds),
        errors,
        difference=difference,
        power=asked.power,
        alpha=asked.alpha,
        costs=asked.costs,
    )
    if design is None:
        reason = f"no panel of this layout within {asked.bounds} finds it with this power"
        return [Row("power", keys, "cost", np.nan, undefined=reason, **_sample(about))]
    keys |= {
        "at_raters": design.n_raters,
        "at_items": design.n_items,
        "at_items_per_rater": design.items_per_rater,
    }
    sizes = {"n_raters": design.n_raters, "n_items": design.n_items, "per_item": design.per_item}
    df = float(error_df(errors, n_systems=about.panel.n_systems, **sizes))
    judgements = design.n_items * design.per_item * about.panel.n_systems
    return [
        Row("power", keys, "cost", asked.costs.of_design(design)),
        Row("power", keys, "n_judgements", judgements),
        _power_row(
            about,
            asked,
            keys,
            float(2 * error_variance(errors, design.numbers)),
            2 * error_variance(about.draws.errors, design.numbers),
            df,
        ),
    ]
