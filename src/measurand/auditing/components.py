"""What shares do items, systems and raters have? Variance components of complete and incomplete panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing.design import crossing_fault
from measurand.auditing.mixed import (
    EFFECTS,
    Effects,
    effects,
    mixed_fault,
    random_fit,
    system_fit,
    terms,
    unbiased,
)
from measurand.auditing.variance import FACETS
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import effective, variance
from measurand.stats.inference import FloatArray, percentile_interval, stream

#: Draws of generalised pivotal quantities: the ends of an interval move by about .3 % of its width.
PIVOT_DRAWS: Final = 100_000
#: How the draws were made, on complete and on incomplete panels.
PIVOT_METHOD: Final = "generalised pivotal quantities"
#: What is said of a likelihood estimate that the unbiased estimator's interval excludes.
CONTRADICTION: Final = (
    "no interval: Henderson's estimates contradict this one, as they do where it depends on the ratings which of them "
    "there are"
)
EFFECTIVE_METHOD: Final = "generalised pivotal quantities on effective mean squares"


@dataclass(frozen=True)
class Estimated:
    """Components of a panel with everything random.

    Parameters
    ----------
    estimator : str
        ``"anova"`` on complete panels, ``"henderson"`` on others: the unbiased one.
    unbiased : mapping
        Its components; negative ones keep their sign. Empty where the layout does not determine them.
    reml : mapping
        Restricted maximum likelihood components, 0 on the boundary. Empty where no fit can be had.
    pivots : mapping
        Draws of each component. Empty where there is no unbiased estimate.
    method : str
        How the pivots were made.
    fault : str
        Why there are no components; blank if there are.
    confounded : mapping
        Effects that the layout cannot tell apart, to the one that holds them.
    no_pivots : str
        Why there are components but no pivots; blank if there are.
    """

    estimator: str
    unbiased: Mapping[str, float]
    reml: Mapping[str, float]
    pivots: Mapping[str, FloatArray]
    method: str
    fault: str
    confounded: Mapping[str, str]
    no_pivots: str = "the layout does not determine unbiased components"

    @property
    def unit(self) -> str:
        """The facets that the pivots generalise over."""
        return "+".join(name for name in self.unbiased if name in FACETS)


def estimate(panel: Panel, *, seed: int, draws: int) -> Estimated:
    """Return the components of a panel, complete or not; every analysis of one run sees the same draws."""
    found = effects(panel)
    fault = mixed_fault(panel, found)
    rng = stream(seed, "pivots", panel.criterion)
    if not crossing_fault(panel):
        table = variance.anova(panel.cube(), FACETS)
        if sum(table.ss.values()) == 0:
            return Estimated("anova", {}, {}, {}, "", "no variation: all ratings are the same", {})
        values = variance.components(table)
        drawn = variance.pivots(table, n_draws=draws, rng=rng)
        return Estimated("anova", values, _reml(panel, found), drawn, PIVOT_METHOD, "", found.confounded)
    if fault:
        return Estimated("henderson", {}, {}, {}, "", fault, found.confounded)
    values = unbiased(panel, found)
    restricted = _reml(panel, found)
    if not values or not restricted:
        reason = "" if restricted else "the likelihood has no minimum that could be found"
        reason = reason if values else "the layout does not determine the components by Henderson's method"
        return Estimated("henderson", values, restricted, {}, "", "" if restricted else reason, found.confounded)
    try:
        drawn = effective.pivots(terms(panel, found, EFFECTS), values, restricted, n_draws=draws, rng=rng)
    except ValueError as error:
        return Estimated("henderson", values, restricted, {}, "", "", found.confounded, str(error))
    return Estimated("henderson", values, restricted, drawn, EFFECTIVE_METHOD, "", found.confounded)


def _reml(panel: Panel, found: Effects) -> Mapping[str, float]:
    if mixed_fault(panel, found):
        return {}
    try:
        return random_fit(panel, found).components
    except ValueError:
        return {}


def components(
    ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0, draws: int = PIVOT_DRAWS
) -> Result:
    """Return the variance components of panels, complete or not.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.
    confidence : float
        Level of the intervals.
    seed : int
        The one seed.
    draws : int
        Draws of generalised pivotal quantities.

    Returns
    -------
    Result
        Analysis `components`, `variance` of each component in squared scale units: estimator ``anova`` (complete
        panels) or ``henderson`` (others), unbiased, all facets random, a negative one with its sign, and its `share`
        of the sum of the positive ones; ``reml``, all random, never negative (one at 0 says so, with the unbiased
        value); ``reml_fixed_system``, the systems fixed. On incomplete panels `difference_from_reml` says how far the
        two estimators of each component lie apart. Intervals by generalised pivotal quantities over items, systems
        and raters of this kind; on incomplete panels on effective mean squares.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.4; Henderson (1953), Biometrics 9, 226-252; Patterson & Thompson
    (1971), Biometrika 58, 545-554; Weerahandi (1993), JASA 88, 899-905.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabb"), "rater": ["R1", "R2"] * 2, "rating": [1, 2, 3, 6]})
    >>> components(table, draws=1000).value("components", "variance", {"component": "item", "estimator": "anova"})
    4.0
    """
    rows: list[Row] = []
    confounded = {}
    for panel in panels(ratings):
        found = estimate(panel, seed=seed, draws=draws)
        if found.confounded:
            confounded[panel.criterion] = dict(found.confounded)
        rows += _unbiased_rows(panel, found, confidence)
        rows += _reml_rows(panel, found, confidence)
        rows += _fixed_rows(panel)
    settings = {"confidence": confidence, "seed": seed, "draws": draws, "confounded": confounded}
    return Result(rows, {"components": settings})


def _sample(panel: Panel) -> dict[str, Any]:
    return {"n_items": panel.n_items, "n_raters": panel.n_raters}


def _keys(panel: Panel, estimator: str, component: str) -> dict[str, Key]:
    return {"criterion": panel.criterion, "estimator": estimator, "component": component}


def _unbiased_rows(panel: Panel, found: Estimated, confidence: float) -> list[Row]:
    rows: list[Row] = []
    if found.estimator != "anova":
        reason = crossing_fault(panel)
        rows += [
            Row("components", _keys(panel, "anova", name), "variance", np.nan, undefined=reason, **_sample(panel))
            for name in ("item", *(["system"] if panel.n_systems > 1 else []), "rater", "residual")
        ]
    if not found.unbiased:
        reason = found.fault or "the layout does not determine the components"
        keys = _keys(panel, found.estimator, "residual")
        rows.append(Row("components", keys, "variance", np.nan, undefined=reason, **_sample(panel)))
        return rows
    positive = sum(max(value, 0.0) for value in found.unbiased.values())
    total = sum(np.maximum(draw, 0.0) for draw in found.pivots.values())
    for name, value in found.unbiased.items():
        keys = _keys(panel, found.estimator, name)
        note = (
            "negative: the unbiased estimate is kept; it says that nothing of this kind is detectable, and counts as "
            "0 in shares, G and Phi"
            if value < 0
            else ""
        )
        rows.append(_with_pivots(panel, found, keys, "variance", value, found.pivots.get(name), confidence, note))
        if positive == 0:
            reason = "no variation: every component is 0 or negative"
            rows.append(Row("components", keys, "share", np.nan, undefined=reason, **_sample(panel)))
            continue
        shares = None
        if name in found.pivots:
            with np.errstate(invalid="ignore"):
                shares = np.maximum(found.pivots[name], 0.0) / total
        rows.append(_with_pivots(panel, found, keys, "share", max(value, 0.0) / positive, shares, confidence, ""))
        if found.estimator == "henderson" and name in found.reml:
            difference = value - found.reml[name]
            note = "unbiased minus restricted maximum likelihood: how far two estimators of one component part"
            rows.append(Row("components", keys, "difference_from_reml", difference, note=note, **_sample(panel)))
    return rows


def _with_pivots(
    panel: Panel,
    found: Estimated,
    keys: dict[str, Key],
    statistic: str,
    value: float,
    drawn: FloatArray | None,
    confidence: float,
    note: str,
) -> Row:
    if drawn is None:
        why = f"no interval: {found.no_pivots}"
        note = f"{note}; {why}" if note else why
        return Row("components", keys, statistic, value, note=note, **_sample(panel))
    interval = percentile_interval(drawn, confidence=confidence)
    if keys["estimator"] == "reml" and not interval.low <= value <= interval.high:
        note = f"{note}; {CONTRADICTION}" if note else CONTRADICTION
        return Row("components", keys, statistic, value, note=note, **_sample(panel))
    if not interval.low <= value <= interval.high:
        off = "the pivots do not centre on the estimate, in which negative components count as 0"
        note = f"{note}; {off}" if note else off
    return Row(
        "components",
        keys,
        statistic,
        value,
        interval.low,
        interval.high,
        confidence,
        found.method,
        found.unit,
        note=note,
        **_sample(panel),
    )


def _reml_rows(panel: Panel, found: Estimated, confidence: float) -> list[Row]:
    if not found.reml:
        keys = _keys(panel, "reml", "residual")
        reason = (
            found.fault or mixed_fault(panel, effects(panel)) or "the likelihood has no minimum that could be found"
        )
        return [Row("components", keys, "variance", np.nan, undefined=reason, **_sample(panel))]
    rows = []
    for name, value in found.reml.items():
        note = _boundary_note(value, found.unbiased.get(name))
        drawn = None if name not in found.pivots else np.maximum(found.pivots[name], 0.0)
        rows.append(_with_pivots(panel, found, _keys(panel, "reml", name), "variance", value, drawn, confidence, note))
    return rows


def _boundary_note(value: float, free: float | None) -> str:
    if value > 0:
        return ""
    beside = "" if free is None else f"; the unbiased estimate is {free:.4g}"
    return f"estimated at 0 (boundary){beside}"


def _fixed_rows(panel: Panel) -> list[Row]:
    """Components with the systems fixed, as the test of the systems in the full mixed model uses them."""
    if panel.n_systems < 2:
        return []
    found = effects(panel)
    reason = mixed_fault(panel, found)
    fitted: Mapping[str, float] = {}
    if not reason:
        try:
            fitted = system_fit(panel, found, "full")[0].components
        except ValueError as error:
            reason = str(error)
    if reason:
        keys = _keys(panel, "reml_fixed_system", "residual")
        return [Row("components", keys, "variance", np.nan, undefined=reason, **_sample(panel))]
    note = "no interval of its own: see the estimators with everything random"
    return [
        Row(
            "components",
            _keys(panel, "reml_fixed_system", name),
            "variance",
            value,
            note="; ".join(filter(None, [_boundary_note(value, None), note])),
            **_sample(panel),
        )
        for name, value in fitted.items()
    ]
