"""What can be said of the ranking on these very items: two mean squares suffice, and the intervals are exact."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from measurand.auditing.design import crossing_fault
from measurand.auditing.variance import FACETS
from measurand.data.panel import Panel
from measurand.result import Key, Row
from measurand.stats import reliability, variance
from measurand.stats.inference import Interval

_METHOD: Final = "F, two mean squares"
_UNIT: Final = "system+rater"
_NOTE: Final = "G with these very items, over raters of this kind: not what other items would give"


class _Ratio(NamedTuple):
    """Ratio of the mean squares of system and system:rater, with the interval of that of their expectations."""

    value: float
    interval: Interval
    fault: str = ""


def _ratio(panel: Panel, confidence: float) -> _Ratio:
    nothing = Interval(np.nan, np.nan)
    for name, size in (("system", panel.n_systems), ("rater", panel.n_raters)):
        if size == 1:
            return _Ratio(np.nan, nothing, f"one {name}: its variance cannot be estimated")
    if panel.n_systems == 0:
        return _Ratio(np.nan, nothing, "no systems: the ratings concern the items themselves")
    if reason := crossing_fault(panel):
        return _Ratio(np.nan, nothing, reason)
    table = variance.anova(panel.cube(), FACETS)
    # With one item the residual *is* system:rater.
    below = "system:rater" if "system:rater" in table.ss else "residual"
    top, bottom = table.ms["system"], table.ms[below]
    if bottom == 0:
        return _Ratio(np.inf, nothing) if top > 0 else _Ratio(np.nan, nothing, "neither systems nor errors vary")
    f = top / bottom
    return _Ratio(f, reliability.ratio_interval(f, table.df["system"], table.df[below], confidence=confidence))


def coefficient_row(panel: Panel, confidence: float) -> Row:
    """Return G over raters, the items fixed."""
    ratio = _ratio(panel, confidence)
    keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": "anova"}
    keys |= {"at_items": panel.n_items, "at_raters": panel.n_raters}
    if ratio.fault:
        return Row("generalizability", keys, "g_these_items", np.nan, undefined=ratio.fault)
    value, low, high = (
        reliability.coefficient_of_ratio(end) for end in (ratio.value, ratio.interval.low, ratio.interval.high)
    )
    ends = Interval(low, high)
    return _row("generalizability", keys, "g_these_items", value, ends, ratio, panel, confidence)


def needed_row(panel: Panel, target: float, confidence: float) -> Row:
    """Return how many raters that G takes to reach a target."""
    ratio = _ratio(panel, confidence)
    keys: dict[str, Key] = {"criterion": panel.criterion, "estimator": "anova", "target": target}
    keys |= {"at_items": panel.n_items}
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    if ratio.fault:
        return Row("decision", keys, "raters_needed_these_items", np.nan, undefined=ratio.fault, **sample)
    value, high, low = (
        reliability.raters_needed_of_ratio(end, target=target, n_raters=panel.n_raters)
        for end in (ratio.value, ratio.interval.low, ratio.interval.high)
    )
    return _row("decision", keys, "raters_needed_these_items", value, Interval(low, high), ratio, panel, confidence)


def _row(
    analysis: str,
    keys: dict[str, Key],
    statistic: str,
    value: float,
    ends: Interval,
    ratio: _Ratio,
    panel: Panel,
    confidence: float,
) -> Row:
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    if np.isinf(ratio.value):
        note = f"{_NOTE}; no interval: raters and systems do not interact here, and F divides by that"
        return Row(analysis, keys, statistic, value, note=note, **sample)
    note = f"{_NOTE}; the systems' mean square lies below that of system:rater" if ratio.value < 1 else _NOTE
    return Row(analysis, keys, statistic, value, ends.low, ends.high, confidence, _METHOD, _UNIT, note=note, **sample)
