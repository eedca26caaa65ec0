"""Judgement by judgement: do longer outputs get higher ratings, for other raters and items, too?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing.length_cells import Measured
from measurand.auditing.mixed import EFFECTS, Effects, effects, mixed_fault, terms
from measurand.data.panel import Panel
from measurand.result import Row
from measurand.sentences import joined
from measurand.stats import reml
from measurand.stats.inference import FloatArray, t_p, t_quantile
from measurand.stats.mixed import Model, Term
from measurand.stats.slopes import FEWEST_DEGREES, variance_interval

#: Raters above which their random slopes are too many to solve together.
MOST_SLOPES: Final = 2_000
_SLOPE: Final = "length:rater"


@dataclass(frozen=True)
class _Kind:
    """A model of the judgements: its random effects, and what its slope is of."""

    effects: tuple[str, ...]
    rater_slope: bool
    within: str = ""


_NO_ERROR: Final = "length and the other effects explain every rating exactly: no error is left to judge the slope by"
_UNSETTLED: Final = "the model has no fit: no variances of its effects were found that explain these ratings best"

#: Models by name. The first is the usual one; it takes the raters' slopes for one.
MODELS: Final[Mapping[str, _Kind]] = {
    "judgement": _Kind(("item", "rater"), rater_slope=False),
    "judgement+rater_slope": _Kind(("item", "rater"), rater_slope=True),
    "full+rater_slope": _Kind(EFFECTS, rater_slope=True),
    "judgement_within_item": _Kind(("item", "rater"), rater_slope=False, within="item"),
    "judgement+rater_slope_within_item": _Kind(("item", "rater"), rater_slope=True, within="item"),
    "judgement+rater_slope_within_system": _Kind(("item", "rater"), rater_slope=True, within="system"),
}
#: How often the test of each model's slope alarmed falsely at .05, in whole percent: the lowest and the highest share
#: over simulated panels of 3 to 10 raters whose slopes differ and are 0 on average, and whose outputs differ little or
#: much beside their length. A test holds these against the table of the simulation.
FALSE_ALARMS: Final[Mapping[str, tuple[int, int]]] = {
    "judgement": (20, 63),
    "judgement+rater_slope": (7, 15),
    "full+rater_slope": (3, 11),
    "judgement_within_item": (21, 64),
    "judgement+rater_slope_within_item": (8, 17),
    "judgement+rater_slope_within_system": (8, 20),
}
_SAYS: Final = {
    "judgement": "takes the slope for the same in every rater, and judgements of one output for unrelated",
    "judgement+rater_slope": "over raters and items of this kind; judgements of one output count as unrelated",
    "full+rater_slope": "over raters, items and systems of this kind",
    "judgement_within_item": "lengths around the item's mean; the slope is taken for the same in every rater",
    "judgement+rater_slope_within_item": "over raters and items of this kind; lengths around the item's mean",
    "judgement+rater_slope_within_system": "over raters and items of this kind; systems fixed: their own means apart",
}


def judgements(one: Measured, *, confidence: float) -> list[Row]:
    """Return the slope of the rating on the length under each mixed model, and how far raters' slopes lie apart.

    Parameters
    ----------
    one : Measured
        Ratings with lengths.
    confidence : float
        Level of the intervals.

    Returns
    -------
    list of Row
        For each model of `MODELS` its `slope` (scale units per unit of length), by restricted maximum likelihood with
        Satterthwaite's degrees of freedom, and with random slopes by rater `slope_sd_between_raters`, their standard
        deviation in the same unit.
    """
    found = effects(one.panel)
    reason = mixed_fault(one.panel, found)
    rows: list[Row] = []
    for name, kind in MODELS.items():
        fault = reason or _fault(one, kind)
        fitted = fault if fault else _fit(one, found, kind)
        rows += _rows(one, name, kind, fitted, confidence)
    return rows


def within_item(one: Measured) -> FloatArray:
    """Return each rating's length minus the mean over the item's outputs."""
    item = one.panel.cell_item
    means = np.bincount(item, weights=one.of_cell) / np.bincount(item)
    return np.asarray(one.length - means[one.panel.item])


@dataclass(frozen=True)
class _Fitted:
    slope: float
    error: float
    df: float
    variance: float | None  # of the raters' slopes; None without such
    variance_df: float


def _fault(one: Measured, kind: _Kind) -> str:
    panel = one.panel
    if np.ptp(one.length) == 0:
        return "all outputs have the same length"
    if kind.within == "item" and np.ptp(within_item(one)) == 0:
        return "the outputs to each item have the same length"
    if kind.within == "system" and panel.n_systems < 2:
        return "there is one system"
    if kind.within == "system" and _is_constant_within(one.length, panel):
        return "each system's outputs have the same length"
    if kind.rater_slope and panel.n_raters < 2:
        return "one rater: how far other raters' slopes lie apart is not known"
    if kind.rater_slope and panel.n_raters > MOST_SLOPES:
        return f"more than {MOST_SLOPES:,} raters: too many slopes to solve together"
    return ""


def _is_constant_within(length: FloatArray, panel: Panel) -> bool:
    means = np.bincount(panel.system, weights=length) / np.bincount(panel.system)
    return bool(np.abs(length - means[panel.system]).max() <= 1e-12 * float(np.abs(length).max()))


def _fit(one: Measured, found: Effects, kind: _Kind) -> _Fitted | str:
    """Return the fitted slope, or why there is none."""
    panel = one.panel
    x = within_item(one) if kind.within == "item" else one.length
    # In units of their own spread, lengths have slopes whose components compare with the others'.
    unit = float(x.std())
    x = (x - x.mean()) / unit
    n = len(x)
    columns = [np.ones(n), x]
    if kind.within == "system":
        columns += [(panel.system == k).astype(np.float64) for k in range(1, panel.n_systems)]
    random = terms(panel, found, kind.effects)
    if kind.rater_slope:
        random.append(Term(_SLOPE, panel.rater, in_block=False, values=x))
    if not random:
        return "no effect can be told from error: there is one rating for each level of everything"
    block = panel.item if panel.n_items >= panel.n_raters else panel.rater
    try:
        model = Model(panel.rating, block, np.column_stack(columns), random)
        fit = reml.fit(model, total=float(panel.rating.var()))
        contrast = np.zeros((1, len(columns)))
        contrast[0, 1] = 1.0
        slope = reml.contrast_estimates(model, fit, contrast)
    except ValueError as error:  # of the search, and of equations without a solution
        return _NO_ERROR if "no error" in str(error) else _UNSETTLED
    if slope is None:
        return "these ratings do not determine how much each effect of the model varies"
    variance = fit.components.get(_SLOPE)
    df = np.nan if not variance else _degrees(model, fit, _SLOPE)
    scaled = None if variance is None else variance / unit**2
    return _Fitted(
        float(slope.estimate[0]) / unit, float(slope.standard_error[0]) / unit, float(slope.df[0]), scaled, df
    )


def _degrees(model: Model, fit: reml.Fit, name: str) -> float:
    """Return the degrees of freedom of a component, 2 v² / var(v)."""
    free = [component for component, value in fit.components.items() if value > 0]
    unit = np.zeros(len(free))
    unit[free.index(name)] = 1.0
    try:
        variance = float(2 * unit @ np.linalg.solve(reml.hessian(model, fit.values), unit))
    except np.linalg.LinAlgError:
        return np.nan
    return 2 * fit.components[name] ** 2 / variance if variance > 0 else np.nan


def _rows(one: Measured, name: str, kind: _Kind, fitted: _Fitted | str, confidence: float) -> list[Row]:
    keys = one.keys(model=name)
    sample: dict[str, Any] = {"n_items": one.panel.n_items, "n_raters": one.panel.n_raters}
    statistics = ("slope", "slope_sd_between_raters") if kind.rater_slope else ("slope",)
    if isinstance(fitted, str):
        return [Row("length", keys, statistic, np.nan, undefined=fitted, **sample) for statistic in statistics]
    half = t_quantile(fitted.df, confidence) * fitted.error
    low, high = FALSE_ALARMS[name]
    note = (
        f"{_SAYS[name]}; in simulation, with 3 to 10 raters whose slopes differ, its test at .05 alarmed falsely "
        f"{low} to {high} % of the time"
    )
    if kind.rater_slope and fitted.variance == 0.0:
        note += "; the raters' slopes are estimated not to differ, so that it is that of the model without them"
    rows = [
        Row(
            "length",
            keys,
            "slope",
            fitted.slope,
            low=fitted.slope - half,
            high=fitted.slope + half,
            confidence=confidence,
            method="REML, Satterthwaite's degrees of freedom",
            unit="item+rater" if kind.rater_slope else "rating",
            df1=1,
            df2=fitted.df,
            p=t_p(fitted.slope / fitted.error, fitted.df),
            note=note,
            **sample,
        )
    ]
    if fitted.variance is None:
        return rows
    return [*rows, _spread(one, name, fitted, confidence)]


def _spread(one: Measured, name: str, fitted: _Fitted, confidence: float) -> Row:
    """Return the standard deviation of the raters' slopes, with the interval of a variance with so many degrees."""
    variance, df = fitted.variance or 0.0, fitted.variance_df
    interval: dict[str, Any] = {}
    note = "standard deviation over raters of this kind"
    ends = variance_interval(variance, df, confidence=confidence)
    if variance == 0.0:
        note = joined(note, "no interval: estimated at 0")
    elif not df > 0:
        note = joined(note, "no interval: not determined")
    elif not ends.low <= ends.high:
        why = (
            f"no interval: the estimate is worth {df:.2g} degrees of freedom, and an interval needs {FEWEST_DEGREES:g}"
        )
        note = joined(note, why)
    else:
        interval = {"low": float(np.sqrt(ends.low)), "high": float(np.sqrt(ends.high)), "confidence": confidence}
        interval |= {"method": "REML, Satterthwaite's chi-square", "unit": "rater", "df1": df}
    return Row(
        "length",
        one.keys(model=name),
        "slope_sd_between_raters",
        float(np.sqrt(variance)),
        n_items=one.panel.n_items,
        n_raters=one.panel.n_raters,
        note=note,
        **interval,
    )
