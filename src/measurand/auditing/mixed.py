"""Panels of any layout: the random effects that the layout can tell apart, and their estimation."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.auditing.variance import FACETS
from measurand.data.panel import Panel
from measurand.data.ratings import combine_codes
from measurand.stats import henderson, reml, variance
from measurand.stats.inference import FloatArray, IntArray, Test
from measurand.stats.mixed import Model, Term

#: Random effects in the order of tables; the residual holds the highest interaction.
EFFECTS: Final = ("item", "system", "rater", "item:system", "item:rater", "system:rater")
#: Models of the test of the systems: which random effects each has.
MODELS: Final[Mapping[str, tuple[str, ...]]] = {
    "judgement": ("item", "rater"),
    "judgement+system:rater": ("item", "rater", "system:rater"),
    "full": ("item", "rater", "item:system", "item:rater", "system:rater"),
}
#: Effects that cross blocks, above which their joint equations are too large to solve densely.
MOST_CROSSING: Final = 6_000


@dataclass(frozen=True)
class Effects:
    """The random effects that a panel's layout can tell apart.

    Parameters
    ----------
    codes : mapping
        Effect to the level of each rating.
    confounded : mapping
        Effect that cannot be told apart, to the effect (or ``"residual"``) that holds it.
    """

    codes: Mapping[str, IntArray]
    confounded: Mapping[str, str]


def effects(panel: Panel) -> Effects:
    """Return which effects have levels of their own: not one level only, nor one for each rating, nor another's."""
    facets = {"item": panel.item, "system": panel.system, "rater": panel.rater}
    found: dict[str, IntArray] = {}
    confounded: dict[str, str] = {}
    n = len(panel.rating)
    for name in EFFECTS:
        parts = name.split(":")
        if any(len(np.unique(facets[part])) < 2 for part in parts):
            continue
        columns = [facets[part] for part in parts]
        key = combine_codes(columns, [int(column.max()) + 1 for column in columns])
        codes = np.unique(key, return_inverse=True)[1].astype(np.int64)
        n_levels = int(codes.max()) + 1
        if n_levels == n:
            confounded[name] = "residual"
            continue
        twin = next((other for other, theirs in found.items() if _same(codes, theirs)), "")
        if twin:
            confounded[name] = twin
        else:
            found[name] = codes
    return Effects(found, confounded)


def _same(a: IntArray, b: IntArray) -> bool:
    """Whether two codings part the ratings alike."""
    n_a, n_b = int(a.max()) + 1, int(b.max()) + 1
    return n_a == n_b and len(np.unique(a * n_b + b)) == n_a


def mixed_fault(panel: Panel, found: Effects) -> str:
    """Return why no mixed model can be fitted, blank if one can."""
    if not panel.has_numbers:
        return "nominal ratings of more than two categories have no mean"
    if not found.codes:
        return "no effect can be told from error: there is one rating for each level of everything"
    if np.ptp(panel.rating) == 0:
        return "no variation: all ratings are the same"
    if sum(int(c.max()) + 1 for name, c in found.codes.items() if not _inside(name, _blocking(panel))) > MOST_CROSSING:
        return f"more than {MOST_CROSSING:,} effects cross both items and raters: too many to solve together"
    return ""


def _blocking(panel: Panel) -> str:
    """The facet whose levels are the blocks: the one with more of them."""
    return "item" if panel.n_items >= panel.n_raters else "rater"


def _inside(name: str, block: str) -> bool:
    return block in name.split(":")


def terms(panel: Panel, found: Effects, names: tuple[str, ...]) -> list[Term]:
    """Return the random effects of the given names as terms of a model."""
    block = _blocking(panel)
    return [Term(name, found.codes[name], _inside(name, block)) for name in names if name in found.codes]


def random_fit(panel: Panel, found: Effects) -> reml.Fit:
    """Return restricted maximum likelihood components with everything random; complete panels by mean squares."""
    if panel.is_complete and len(found.codes) + 1 == len(variance.anova(panel.cube(), FACETS).sources):
        table = variance.anova(panel.cube(), FACETS)
        names = [source for source in table.sources if source != "residual"]
        model = reml.Balanced(table, names)
        return reml.fit(model, total=float(panel.rating.var()), start=variance.components(table))
    chosen = terms(panel, found, EFFECTS)
    block = panel.item if _blocking(panel) == "item" else panel.rater
    ones = np.ones((len(panel.rating), 1))
    start = unbiased(panel, found)
    return reml.fit(Model(panel.rating, block, ones, chosen), total=float(panel.rating.var()), start=start)


def unbiased(panel: Panel, found: Effects) -> dict[str, float]:
    """Return Henderson's unbiased components, an empty mapping where the layout does not determine them."""
    try:
        return henderson.henderson(panel.rating, terms(panel, found, EFFECTS))
    except ValueError:
        return {}


def system_fit(panel: Panel, found: Effects, model: str) -> tuple[reml.Fit, Test]:
    """Return components with the systems fixed, and the test that they do not differ, under one model of `MODELS`."""
    names = tuple(name for name in MODELS[model] if name in found.codes)
    total = float(panel.rating.var())
    if panel.is_complete:
        table = variance.anova(panel.cube(), FACETS)
        if set(names) <= set(table.sources):
            balanced = reml.Balanced(table, names, fixed=["system"])
            fitted = reml.fit(balanced, total=total, start=variance.components(table) if model == "full" else None)
            return fitted, balanced.effect_test(fitted, "system")
    dense, fitted = _fixed_fit(panel, found, model)
    return fitted, reml.contrast_test(dense, fitted, np.eye(panel.n_systems)[1:])


def _fixed_fit(panel: Panel, found: Effects, model: str) -> tuple[Model, reml.Fit]:
    names = tuple(name for name in MODELS[model] if name in found.codes)
    block = panel.item if _blocking(panel) == "item" else panel.rater
    for name in names:
        codes = found.codes[name]
        if len(np.unique(panel.system * (int(codes.max()) + 1) + codes)) == panel.n_systems:
            raise ValueError(f"{name} cannot be told from system in this layout: each system has a single {name}")
    dense = Model(panel.rating, block, _system_design(panel), terms(panel, found, names))
    start = unbiased(panel, found) if model == "full" else None
    return dense, reml.fit(dense, total=float(panel.rating.var()), start=start)


def pair_contrasts(panel: Panel) -> reml.Contrasts | str:
    """Return the difference of every pair of systems under the full model, or why there is none."""
    found = effects(panel)
    if reason := mixed_fault(panel, found):
        return reason
    for name in MODELS["full"]:
        if name in found.confounded:
            return f"{name} cannot be told from {found.confounded[name]} in this layout"
        if name not in found.codes:
            return f"{name} has a single level in this layout"
    try:
        dense, fitted = _fixed_fit(panel, found, "full")
    except (ValueError, np.linalg.LinAlgError) as error:
        return str(error)
    pairs = list(itertools.combinations(range(panel.n_systems), 2))
    rows = np.zeros((len(pairs), panel.n_systems))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[a] += 1.0
        row[b] -= 1.0
    rows[:, 0] = 0.0  # the first system is the intercept's
    return reml.contrast_estimates(dense, fitted, rows) or "the likelihood has no peak in the components"


def _system_design(panel: Panel) -> FloatArray:
    """Intercept and treatment contrasts of the systems."""
    columns = [np.ones(len(panel.rating))]
    columns += [(panel.system == k).astype(float) for k in range(1, panel.n_systems)]
    return np.column_stack(columns)
