"""What do the ratings depend on? The analysis of variance of complete panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from measurand.auditing.design import crossing_fault
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.result import Key, Result, Row
from measurand.stats import variance

FACETS: Final = ("item", "system", "rater")


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
