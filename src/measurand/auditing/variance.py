"""What do the ratings depend on? Analysis of variance, tests of the systems, variance components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.design import crossing_fault, full_crossing_fault
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import variance
from measurand.stats.inference import FloatArray, Test, percentile_interval, stream

FACETS: Final = ("item", "system", "rater")
#: Draws of generalised pivotal quantities: the ends of an interval move by about .3 % of its width.
PIVOT_DRAWS: Final = 100_000
PIVOT_METHOD: Final = "generalised pivotal quantities"

_ERROR_TERMS: Final = {
    "residual": "takes these raters and these items as all there are",
    "system:rater": "raters random, these items: would other raters of this kind agree?",
    "item:system": "items random, these raters: would other items of this kind agree?",
    "quasi_f": "items and raters both random",
}


def anova(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return the analysis of variance of items by systems by raters.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `anova`: `ss`, `df`, `ms` and `share` (of the total sum of squares) of each source of a completely
        crossed panel; with one rating per cell the highest interaction is the residual. Undefined, with the reason, on
        incomplete panels.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabb"), "rater": ["R1", "R2"] * 2, "rating": [1, 2, 3, 6]})
    >>> anova(table).value("anova", "ss", {"source": "item"})
    9.0
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
        if reason := crossing_fault(panel):
            for source in ("item", *(["system"] if panel.n_systems > 1 else []), "rater", "residual"):
                keys: dict[str, Key] = {"criterion": panel.criterion, "source": source}
                rows.append(Row("anova", keys, "ss", np.nan, undefined=reason, **sample))
            continue
        table = variance.anova(panel.cube(), FACETS)
        total = sum(table.ss.values())
        for source in table.sources:
            keys = {"criterion": panel.criterion, "source": source}
            note = (
                "the highest interaction, which one rating per cell cannot tell from error"
                if source == "residual"
                else ""
            )
            rows += [
                Row("anova", keys, "ss", table.ss[source], note=note, **sample),
                Row("anova", keys, "df", table.df[source], **sample),
                Row("anova", keys, "ms", table.ms[source], **sample),
                Row("anova", keys, "share", table.ss[source] / total, **sample)
                if total > 0
                else Row("anova", keys, "share", np.nan, undefined="no variation: all ratings are the same", **sample),
            ]
    settings = {"sums_of_squares": "balanced: the types I, II and III coincide", "model": "one rating per cell"}
    return Result(rows, {"anova": settings})


def system_test(ratings: Ratings | Sequence[Panel] | Any) -> Result:
    """Return the tests of a system effect, one for each view of what is random.

    Parameters
    ----------
    ratings : Ratings, path or data frame
        See `measurand.read_ratings`.

    Returns
    -------
    Result
        Analysis `system_test`: F against ``residual`` (nothing random), ``system:rater`` (raters random),
        ``item:system`` (items random) and ``quasi_f`` (both).

    Examples
    --------
    >>> from measurand.simulate import two_emojis_panel
    >>> tests = system_test(two_emojis_panel().ratings)
    >>> [round(row.estimate, 2) for row in tests]
    [18.62, 0.59, 13.05, 0.59]
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        if panel.n_systems == 0:
            continue
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
        for error_term, meaning in _ERROR_TERMS.items():
            keys: dict[str, Key] = {"criterion": panel.criterion, "error_term": error_term}
            test = _test(panel, error_term)
            rows.append(
                Row(
                    "system_test",
                    keys,
                    "f",
                    test.statistic,
                    df1=test.df1 if test.df1 == test.df1 else None,
                    df2=test.df2 if test.df2 == test.df2 else None,
                    p=test.p if test.p == test.p else None,
                    undefined=test.undefined,
                    note=f"a test, no interval; {meaning}",
                    **sample,
                )
            )
    return Result(rows, {"system_test": {"error_terms": dict(_ERROR_TERMS)}})


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


def components(
    ratings: Ratings | Sequence[Panel] | Any, *, confidence: float = 0.95, seed: int = 0, draws: int = PIVOT_DRAWS
) -> Result:
    """Return the variance components of completely crossed panels.

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
        Analysis `components`, estimator ``anova`` (unbiased, all facets random): `variance`, a negative one with its
        sign, and `share` of the sum of the positive components. Intervals by generalised pivotal quantities, over
        items, systems and raters of this kind.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.4; Weerahandi (1993), JASA 88, 899-905.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": list("aabb"), "rater": ["R1", "R2"] * 2, "rating": [1, 2, 3, 6]})
    >>> components(table).value("components", "variance", {"component": "item"})
    4.0
    """
    rows: list[Row] = []
    for panel in panels(ratings):
        sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
        if reason := crossing_fault(panel):
            for component in ("item", *(["system"] if panel.n_systems > 1 else []), "rater", "residual"):
                keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": "anova", "component": component}
                rows.append(Row("components", keys, "variance", np.nan, undefined=reason, **sample))
            continue
        table = variance.anova(panel.cube(), FACETS)
        values = variance.components(table)
        drawn = pivot_draws(panel, seed=seed, draws=draws)
        positive = sum(max(value, 0.0) for value in values.values())
        total = sum(np.maximum(draw, 0.0) for draw in drawn.values())
        unit = "+".join(table.facets)
        for component, value in values.items():
            keys = {"criterion": panel.criterion, "estimator": "anova", "component": component}
            note = (
                "negative: the unbiased estimate is kept; it says that nothing of this kind is detectable, and counts "
                "as 0 in shares, G and Phi"
                if value < 0
                else ""
            )
            interval = percentile_interval(drawn[component], confidence=confidence)
            rows.append(
                Row(
                    "components",
                    keys,
                    "variance",
                    value,
                    interval.low,
                    interval.high,
                    confidence,
                    PIVOT_METHOD,
                    unit,
                    note=note,
                    **sample,
                )
            )
            if positive == 0:
                reason = "no variation: every component is 0 or negative"
                rows.append(Row("components", keys, "share", np.nan, undefined=reason, **sample))
                continue
            with np.errstate(invalid="ignore"):
                share = percentile_interval(np.maximum(drawn[component], 0.0) / total, confidence=confidence)
            rows.append(
                Row(
                    "components",
                    keys,
                    "share",
                    max(value, 0.0) / positive,
                    share.low,
                    share.high,
                    confidence,
                    PIVOT_METHOD,
                    unit,
                    **sample,
                )
            )
    return Result(rows, {"components": {"confidence": confidence, "seed": seed, "draws": draws}})


def pivot_draws(panel: Panel, *, seed: int, draws: int) -> dict[str, FloatArray]:
    """Return the pivots of a panel's components; every analysis of one run sees the same draws."""
    table = variance.anova(panel.cube(), FACETS)
    return variance.pivots(table, n_draws=draws, rng=stream(seed, "pivots", panel.criterion))
