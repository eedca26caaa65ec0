"""Do the systems differ? One test for each view of what is random, and the mixed models beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.design import crossing_fault, full_crossing_fault
from measurand.auditing.mixed import MODELS, effects, mixed_fault, system_fit
from measurand.auditing.variance import FACETS
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import variance
from measurand.stats.inference import Test

_ERROR_TERMS: Final = {
    "residual": "takes these raters and these items as all there are",
    "system:rater": "raters random, these items: would other raters of this kind agree?",
    "item:system": "items random, these raters: would other items of this kind agree?",
    "quasi_f": "items and raters both random",
}
#: How a row's note begins to list the components that its model estimates at 0.
AT_BOUNDARY: Final = "estimated at 0 (boundary): "
_MODELS: Final = {
    "judgement": (
        "random intercepts of items and raters only: takes every judgement as independent evidence about the systems, "
        "which raters who differ about systems make it not; read it beside judgement+system:rater"
    ),
    "judgement+system:rater": "with the raters' disagreement about systems as a random effect",
    "full": "items and raters both random, with all interactions",
}


def system_test(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return the tests of a system effect, one for each view of what is random.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `system_test`: F of complete panels against ``residual`` (nothing random), ``system:rater`` (raters
        random), ``item:system`` (items random) and ``quasi_f`` (both); and, complete or not, ``mixed_model``:
        restricted maximum likelihood with Satterthwaite's degrees of freedom, the judgement-level model with and
        without system:rater, and the full one.

    References
    ----------
    Clark (1973), Journal of Verbal Learning and Verbal Behavior 12; Fai & Cornelius (1996), Journal of Statistical
    Computation and Simulation 54, 363-378.

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> tests = system_test(two_emojis_panel().ratings)
    >>> [round(row.estimate, 2) for row in tests]
    [18.62, 0.59, 13.05, 0.59, 11.07, 0.59, 0.58]
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if panel.n_systems == 0:
            continue
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
        for error_term, meaning in _ERROR_TERMS.items():
            rows.append(_row({"error_term": error_term}, panel, _test(panel, error_term), meaning, sample))
        for model, meaning in _MODELS.items():
            keys: dict[str, Key] = {"error_term": "mixed_model", "model": model}
            test, at_boundary = _mixed_test(panel, model)
            if at_boundary:
                meaning = f"{meaning}; {AT_BOUNDARY}{', '.join(at_boundary)}"
            rows.append(_row(keys, panel, test, meaning, sample))
    return Result(rows, {"system_test": {"error_terms": dict(_ERROR_TERMS), "models": dict(_MODELS)}})


def is_at_boundary(row: Row, component: str) -> bool:
    """Whether the mixed model of a row estimates a component at 0, so that its test leaves that component out.

    Examples
    --------
    >>> is_at_boundary(Row("system_test", {}, "f", 2.0, note=f"a test; {AT_BOUNDARY}rater, system:rater"), "rater")
    True
    """
    return component in row.note.partition(AT_BOUNDARY)[2].split(", ")


def _row(keys: dict[str, Key], panel: Panel, test: Test, meaning: str, sample: dict[str, Any]) -> Row:
    return Row(
        "system_test",
        {"criterion": panel.criterion, **keys},
        "f",
        test.statistic,
        df1=test.df1 if test.df1 == test.df1 else None,
        df2=test.df2 if test.df2 == test.df2 else None,
        p=test.p if test.p == test.p else None,
        undefined=test.undefined,
        note=f"a test, no interval; {meaning}",
        **sample,
    )


def _mixed_test(panel: Panel, model: str) -> tuple[Test, list[str]]:
    nothing = Test(np.nan, np.nan, np.nan, np.nan, "one system: there is nothing to compare")
    if panel.n_systems == 1:
        return nothing, []
    found = effects(panel)
    if reason := mixed_fault(panel, found):
        return nothing._replace(undefined=reason), []
    lost = {name: found.confounded[name] for name in MODELS[model] if name in found.confounded}
    if lost:
        name, holder = next(iter(lost.items()))
        return nothing._replace(undefined=f"{name} cannot be told from {holder} in this layout"), []
    if missing := [name for name in MODELS[model] if name not in found.codes]:
        return nothing._replace(undefined=f"{missing[0]} has a single level in this layout"), []
    try:
        fitted, test = system_fit(panel, found, model)
    except (ValueError, np.linalg.LinAlgError) as error:
        return nothing._replace(undefined=str(error)), []
    return test, fitted.at_boundary


def _test(panel: Panel, error_term: str) -> Test:
    if panel.n_systems == 1:
        return Test(np.nan, np.nan, np.nan, np.nan, "one system: there is nothing to compare")
    if reason := crossing_fault(panel):
        return Test(np.nan, np.nan, np.nan, np.nan, reason)
    table = variance.anova(panel.cube(), FACETS)
    if error_term == "quasi_f":
        if len(table.facets) < 3:
            return Test(np.nan, np.nan, np.nan, np.nan, full_crossing_fault(panel))
        return variance.quasi_f_test(table, "system", "system:rater", "item:system", "residual")
    if error_term != "residual" and error_term not in table.ss:
        # With one rater the residual *is* item:system, with one item system:rater.
        return Test(np.nan, np.nan, np.nan, np.nan, full_crossing_fault(panel))
    return variance.f_test(table, "system", error_term)
