"""The rows of a plan: the panel itself, the cheapest designs for a target, the best for the same cost, the front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from measurand.auditing.components import CONTRADICTION
from measurand.planning.designs import (
    Bounds,
    Choices,
    Costs,
    Design,
    affordable,
    as_money,
    choices,
    reaching,
)
from measurand.planning.draws import Share
from measurand.planning.measured import PLUGIN_NOTE, UNIT, Measured, off_centre
from measurand.planning.sure import OverDraws, over_draws
from measurand.result import Key, Row
from measurand.sentences import joined, share, short
from measurand.stats.inference import FloatArray, percentile_interval
from measurand.stats.layouts import error_variance
from measurand.stats.reliability import coefficient

#: Values of the coefficient at which the front of cost against reliability is shown.
LEVELS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
#: Draws for each of which the cheapest design is sought: a power of two, as evenly spread draws want it.
SEARCHED: Final = 4_096
_NOTHING_VARIES: Final = "neither systems nor errors vary"
_SHARE_NOTE: Final = "share of the draws of the pivotal quantities in which this design reaches the target"
#: Why the interval of a cost ends where it does.
_CAPPED: Final = (
    "the upper end is the price of what is sure to reach it, which does so in every draw within the interval"
)
#: What a panel whose raters have items of their own can never say again.
NESTED_NOTE: Final = (
    "of a nested panel G cannot be estimated again: what items do to systems cannot be told from the residual"
)
#: What the ends of a row are that are no interval over panels.
DRAWING: Final = "two standard errors of the drawing"


@dataclass(frozen=True)
class Asked:
    """What is asked of every panel: the coefficient and its target, costs, layouts, bounds, level of intervals."""

    of: str
    target: float
    costs: Costs
    layouts: Sequence[str]
    bounds: Bounds
    confidence: float


def rows_of(about: Measured, asked: Asked) -> list[Row]:
    """Return all rows of one panel, or the one that says why nothing can be planned from it."""
    if about.fault:
        keys = _keys(about, asked, about.unbiased, target=asked.target)
        return [
            Row("plan", keys, "cost_needed", np.nan, undefined=about.fault, **_sample(about)),
            *_n_systems(about, asked),
        ]
    every = {layout: choices(layout, asked.bounds) for layout in asked.layouts}
    drawn = {
        layout: over_draws(
            here,
            about.draws,
            target=asked.target,
            confidence=asked.confidence,
            costs=asked.costs,
            searched=SEARCHED,
        )
        for layout, here in every.items()
    }
    rows = [*_as_rated(about, asked), *_n_systems(about, asked)]
    for estimator in about.estimators:
        rows += _by_estimate(about, asked, estimator, every, drawn)
    rows += _sure(about, asked, drawn)
    rows += _same_cost(about, asked, every)
    for estimator in about.estimators:
        rows += _front(about, asked, estimator, every)
    return rows


def _sample(about: Measured) -> dict[str, Any]:
    return {"n_items": about.panel.n_items, "n_raters": about.panel.n_raters}


def _keys(
    about: Measured,
    asked: Asked,
    estimator: str,
    *,
    layout: str = "",
    basis: str = "",
    target: float | str = "",
) -> dict[str, Key]:
    keys: dict[str, Key] = {"criterion": about.panel.criterion, "of": asked.of, "layout": layout}
    keys |= {"estimator": estimator, "target": target, "basis": basis}
    return {name: value for name, value in keys.items() if value != "" or name == "criterion"}


def _sized(keys: dict[str, Key], design: Design) -> dict[str, Key]:
    return keys | {
        "at_raters": design.n_raters,
        "at_items": design.n_items,
        "at_items_per_rater": design.items_per_rater,
    }


def ends_of(drawn: FloatArray, confidence: float, most: float) -> tuple[float, float, str]:
    """Return the interval of draws, which ends at `most`, and what to say where that cut it."""
    interval = percentile_interval(drawn, confidence=confidence)
    return interval.low, min(interval.high, most), _CAPPED if interval.high > most else ""


def _inferred(
    about: Measured,
    asked: Asked,
    keys: dict[str, Key],
    statistic: str,
    value: float,
    drawn: FloatArray,
    note: str = "",
    most: float = math.inf,
) -> Row:
    """Return a row with the interval of its draws, which ends at `most`; the plug-in has none and says why."""
    if np.isnan(value):
        return Row("plan", keys, statistic, value, undefined=_NOTHING_VARIES, **_sample(about))
    if keys["estimator"] == "plugin":
        return Row("plan", keys, statistic, value, note=joined(note, PLUGIN_NOTE), **_sample(about))
    low, high, capped = ends_of(drawn, asked.confidence, most)
    note = joined(note, capped)
    if keys["estimator"] == "reml" and not low <= value <= high:
        return Row("plan", keys, statistic, value, note=joined(note, CONTRADICTION), **_sample(about))
    ends = (low, high, asked.confidence, about.found.method, UNIT)
    note = joined(note, off_centre(value, low, high))
    return Row("plan", keys, statistic, value, *ends, note=note, **_sample(about))


def _design_rows(about: Measured, asked: Asked, keys: dict[str, Key], design: Design) -> list[Row]:
    """Return the coefficient of a design, its cost, and whatever else its basis asks for."""
    estimator, basis = str(keys["estimator"]), keys["basis"]
    system, parts = about.estimators[estimator]
    keys = _sized(keys, design)
    error = error_variance(about.errors(estimator), design.numbers)
    drawn_error = error_variance(about.draws.errors, design.numbers)
    drawn = coefficient(about.draws.system, drawn_error)
    value = float(coefficient(np.array(system), error))
    note = joined(_lost(parts), NESTED_NOTE if design.layout == "nested" else "")
    rows = [_inferred(about, asked, keys, asked.of, value, drawn, note)]
    if basis == "same_cost":
        rows.append(_inferred(about, asked, keys, "error_variance", float(error), drawn_error))
    rows.append(Row("plan", keys, "cost", _cost(design, asked)))
    rows.append(Row("plan", keys, "n_judgements", design.n_items * design.per_item * asked.costs.n_systems))
    if basis in ("estimate", "lower_limit") and estimator != "plugin":
        rows.append(_probability(keys, about.draws.share(drawn >= asked.target * (1 - 1e-12))))
    return rows


def _probability(keys: dict[str, Key], reached: Share) -> Row:
    """Return how probable it is that a design reaches the target, and how well the draws tell."""
    note = f"{_SHARE_NOTE}; standard error of the drawing {short(reached.error)}"
    ends = (reached.low, reached.high, 0.95, DRAWING)
    return Row("plan", keys, "probability_reached", reached.value, *ends, note=note)


def _lost(parts: Mapping[str, FloatArray]) -> str:
    lost = [name for name, part in parts.items() if part < 0]
    return f"negative components count as 0: {', '.join(lost)}" if lost else ""


def _as_rated(about: Measured, asked: Asked) -> list[Row]:
    """Return the panel itself, as it was rated."""
    panel = about.panel
    own: dict[str, Key] = {"at_raters": panel.n_raters, "at_items": panel.n_items}
    if panel.is_complete:
        own["at_items_per_rater"] = panel.n_items
    drawn_error = about.error_as_rated(about.found.pivots)
    drawn = coefficient(about.found.pivots["system"], drawn_error)
    rows = []
    for estimator, (system, parts) in about.estimators.items():
        keys = _keys(about, asked, estimator, layout="as_rated", basis="as_rated") | own
        error = about.error_as_rated(parts)
        value = float(coefficient(np.array(system), error))
        rows.append(_inferred(about, asked, keys, asked.of, value, drawn, _lost(parts)))
        rows.append(_inferred(about, asked, keys, "error_variance", float(error), drawn_error))
        rows.append(Row("plan", keys, "cost", _own_cost(about, asked)))
        rows.append(Row("plan", keys, "n_judgements", len(panel.rating)))
    return rows


def _n_systems(about: Measured, asked: Asked) -> list[Row]:
    """Return how many systems were rated, which is known even where nothing can be planned."""
    if about.panel.n_systems < 2:
        return []
    keys = _keys(about, asked, about.unbiased, layout="as_rated", basis="as_rated")
    return [Row("plan", keys, "n_systems", about.panel.n_systems, **_sample(about))]


def _own_cost(about: Measured, asked: Asked) -> float:
    panel, costs = about.panel, asked.costs
    return as_money(costs.rater * panel.n_raters + costs.item * panel.n_items + costs.judgement * len(panel.rating))


def _by_estimate(
    about: Measured, asked: Asked, estimator: str, every: Mapping[str, Choices], drawn: Mapping[str, OverDraws]
) -> list[Row]:
    """Return the cheapest design of each layout, the cheapest layout first, and what a target costs at all."""
    system, errors = np.array(about.estimators[estimator][0]), about.errors(estimator)
    found = {
        layout: reaching(here, system, errors, target=asked.target, costs=asked.costs) for layout, here in every.items()
    }
    rows: list[Row] = []
    needed: dict[str, float] = {}
    for layout in _cheapest_first(found, asked):
        design = found[layout]
        needed[layout] = _cost(design, asked)
        keys = _keys(about, asked, estimator, layout=layout, basis="estimate", target=asked.target)
        if design is None:
            reason = _why_none(float(system), errors, every[layout], asked)
            rows.append(Row("plan", keys, "cost", np.nan, undefined=reason, **_sample(about)))
        else:
            rows += _design_rows(about, asked, keys, design)
    costs = {layout: drawn[layout].cost for layout in needed}
    # A design that does in all but the draws above the interval is the price of none of those within.
    sure = {layout: _cost(drawn[layout].sure, asked) for layout in needed}
    # The cheapest of all layouts comes first: what the target costs, whichever layout it takes.
    every_layout = np.min(np.column_stack(list(costs.values())), axis=1)
    for layout, value, draws, most in [
        ("", min(needed.values()), every_layout, min(sure.values())),
        *((layout, needed[layout], costs[layout], sure[layout]) for layout in needed),
    ]:
        keys = _keys(about, asked, estimator, layout=layout, target=asked.target)
        note = f"no design within {asked.bounds} reaches the target in {share(float(np.isinf(draws).mean()))} of the "
        note = "" if estimator == "plugin" else note + "draws"
        rows.append(_inferred(about, asked, keys, "cost_needed", value, draws, note, most))
    return rows


def _cost(design: Design | None, asked: Asked) -> float:
    return float("inf") if design is None else asked.costs.of_design(design)


def _cheapest_first(found: Mapping[str, Design | None], asked: Asked) -> list[str]:
    return sorted(found, key=lambda layout: (_cost(found[layout], asked), asked.layouts.index(layout)))


def _why_none(system: float, errors: Mapping[str, FloatArray], here: Choices, asked: Asked) -> str:
    """Return why no design of a layout reaches the target."""
    if not here.is_there.any():
        return f"no panel of this layout lies within {asked.bounds}"
    if system <= 0:
        return (
            f"no panel does: the system variance is estimated at {short(system)}, and systems that do not differ are "
            "ranked by chance, however many rate them"
        )
    able = here.of(here.is_there)
    best = coefficient(np.array(system), error_variance(errors, able.numbers(able.most)))
    of = "G" if asked.of == "g" else "Phi"
    return f"no panel of this layout does: within {asked.bounds} {of} is at most {short(float(np.nanmax(best)))}"


def _sure(about: Measured, asked: Asked, drawn: Mapping[str, OverDraws]) -> list[Row]:
    """Return the cheapest design of each layout whose lower limit reaches the target, beyond the error of the draws."""
    rows: list[Row] = []
    for layout in _cheapest_first({layout: one.sure for layout, one in drawn.items()}, asked):
        over = drawn[layout]
        keys = _keys(about, asked, about.unbiased, layout=layout, basis="lower_limit", target=asked.target)
        if over.sure is None:
            reason = _why_not_sure(over, asked)
            rows.append(Row("plan", keys, "cost", np.nan, undefined=reason, **_sample(about)))
            continue
        cost, *others = _priced(_design_rows(about, asked, keys, over.sure))
        note = "the price of being sure where the probability is taken two standard errors of the drawing off"
        ends = (min(over.least, cost.estimate), over.most, 0.95, DRAWING)
        rows += [Row("plan", cost.keys, "cost", cost.estimate, *ends, note=note), *others]
    return rows


def _priced(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a design, its cost first."""
    return sorted(rows, key=lambda row: row.statistic != "cost")


def _why_not_sure(over: OverDraws, asked: Asked) -> str:
    """Return why no design of a layout is sure to reach the target."""
    wanted = (1 + asked.confidence) / 2
    if over.best.value == 0:
        return f"no panel of this layout within {asked.bounds} reaches the target in any draw of the components"
    least = f"the most probable of them to reach the target does so in {share(over.best.value)} of the draws"
    if math.isfinite(over.least):
        return (
            f"whether a panel of this layout within {asked.bounds} does with confidence is open: {least}, which is "
            f"{share(wanted)} but for the error of the drawing"
        )
    return f"no panel of this layout within {asked.bounds} does with confidence: {least}, and {share(wanted)} are asked"


def _same_cost(about: Measured, asked: Asked, every: Mapping[str, Choices]) -> list[Row]:
    """Return the design of least error of each layout that costs no more than the panel did."""
    rows: list[Row] = []
    budget = _own_cost(about, asked)
    for estimator in about.estimators:
        for layout, here in every.items():
            design = affordable(here, about.errors(estimator), budget=budget, costs=asked.costs)
            keys = _keys(about, asked, estimator, layout=layout, basis="same_cost")
            if design is None:
                reason = f"no panel of this layout within {asked.bounds} costs so little"
                rows.append(Row("plan", keys, "cost", np.nan, undefined=reason, **_sample(about)))
            else:
                rows += _design_rows(about, asked, keys, design)
    return rows


def _front(about: Measured, asked: Asked, estimator: str, every: Mapping[str, Choices]) -> list[Row]:
    """Return for each level the cheapest design of any layout that reaches it; nothing is both cheaper and better."""
    system, errors = np.array(about.estimators[estimator][0]), about.errors(estimator)
    rows: list[Row] = []
    for level in LEVELS:
        found = [
            design
            for here in every.values()
            if (design := reaching(here, system, errors, target=level, costs=asked.costs))
        ]
        if not found:
            break
        design = min(found, key=lambda one: (_cost(one, asked), float(error_variance(errors, one.numbers))))
        keys = _keys(about, asked, estimator, layout=design.layout, basis="front", target=level)
        rows += _design_rows(about, asked, keys, design)
    return rows
