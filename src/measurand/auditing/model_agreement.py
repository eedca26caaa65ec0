"""Agreement that generalises over raters: ICC and interval alpha from variance components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from measurand.auditing.components import CONTRADICTION, EFFECTIVE_METHOD, Estimated
from measurand.auditing.mixed import MOST_CROSSING
from measurand.data.panel import Panel
from measurand.result import Key, Row
from measurand.stats import effective, henderson, reml
from measurand.stats.inference import FloatArray, Interval, percentile_interval, stream
from measurand.stats.mixed import Model, Term
from measurand.stats.reliability import ICC_NAMES

#: Components that make cells differ, and those that make raters differ about a cell.
_SIGNAL = ("item", "system", "item:system")


def single_rating_interval(panel: Panel, found: Estimated, *, confidence: float) -> Interval | None:
    """Return the interval of the reliability of a single rating over items, systems and raters of this kind.

    The share of the variance that lies between cells is what ICC(2,1) and, up to 1 / n, interval alpha estimate.
    None where the layout does not give the components.
    """
    if not found.pivots or panel.n_raters < 2 or "rater" not in found.pivots:
        return None
    positive = {name: np.maximum(values, 0.0) for name, values in found.pivots.items()}
    total = sum(positive.values())
    signal = sum(positive[name] for name in _SIGNAL if name in positive)
    with np.errstate(invalid="ignore"):
        return percentile_interval(np.asarray(signal / total), confidence=confidence)


def reml_rows(panel: Panel, found: Estimated, *, confidence: float, seed: int, draws: int) -> list[Row]:
    """Return intraclass correlations over all cells of an incomplete panel, by restricted maximum likelihood.

    The model is cells and raters crossed, as ICC(2,·) and ICC(3,·) assume; with every cell rated by every rater it
    is the listwise one.
    """
    keys: dict[str, Key] = {"criterion": panel.criterion, "missing": "reml"}
    sample: dict[str, Any] = {"n_items": panel.n_items, "n_raters": panel.n_raters}
    k = panel.n_raters
    forms = ("icc_2_1", "icc_3_1", "icc_2_k", "icc_3_k")
    fitted, drawn, reason = _two_way(panel, found, seed, draws)
    if reason:
        return [
            Row("agreement", keys, form, np.nan, undefined=reason, note=ICC_NAMES[form], **sample) for form in forms
        ]
    estimates, replicates = _forms(fitted, k), _forms(drawn, k) if drawn else {}
    over = "item_cell" if panel.n_systems > 1 else "item"
    caution = "; takes the cells of one item as independent, which they are not" if panel.n_systems > 1 else ""
    rows = []
    for form in forms:
        value = float(estimates[form])
        note = f"{ICC_NAMES[form]}; all {panel.n_cells:,} cells"
        if np.isnan(value):
            rows.append(Row("agreement", keys, form, np.nan, undefined="nothing varies", note=note, **sample))
            continue
        if not replicates:
            note += "; no interval: the unbiased components of this layout contradict each other or are not determined"
            rows.append(Row("agreement", keys, form, value, note=note, **sample))
            continue
        interval = percentile_interval(replicates[form], confidence=confidence)
        if not interval.low <= value <= interval.high:
            rows.append(Row("agreement", keys, form, value, note=f"{note}; {CONTRADICTION}", **sample))
            continue
        rows.append(
            Row(
                "agreement",
                keys,
                form,
                value,
                interval.low,
                interval.high,
                confidence,
                EFFECTIVE_METHOD,
                f"{over}+rater",
                note=note + caution,
                **sample,
            )
        )
    return rows


def _two_way(
    panel: Panel, found: Estimated, seed: int, draws: int
) -> tuple[Mapping[str, Any], Mapping[str, FloatArray], str]:
    """Fit cells and raters crossed; return components, their pivots, or why not."""
    if not panel.has_numbers:
        return {}, {}, "nominal ratings of more than two categories have no mean"
    if panel.n_raters < 2:
        return {}, {}, "one rater: agreement needs two"
    if panel.n_raters > MOST_CROSSING:
        return {}, {}, f"more than {MOST_CROSSING:,} raters: too many to solve together"
    if panel.cell_size.max() == 1:
        return {}, {}, "one rater per cell: no two raters rated the same thing"
    if panel.n_cells < 2:
        return {}, {}, "one cell"
    if panel.n_systems <= 1 and found.reml and "item" in found.reml:
        # Without systems a cell is an item, and the model of the components is this one.
        return _renamed(found.reml), _renamed(found.pivots), ""
    chosen = [Term("cell", panel.cell, True), Term("rater", panel.rater, False)]
    if panel.is_nested:
        chosen = chosen[:1]
    total = float(panel.rating.var())
    if total == 0:
        return {}, {}, "no variation: all ratings are the same"
    try:
        start = henderson.henderson(panel.rating, chosen)
    except ValueError:
        start = {}
    try:
        model = Model(panel.rating, panel.cell, np.ones((len(panel.rating), 1)), chosen)
        fitted = reml.fit(model, total=total, start=start).components
    except (ValueError, np.linalg.LinAlgError) as error:
        return {}, {}, str(error)
    if not start:
        return fitted, {}, ""
    rng = stream(seed, "agreement", panel.criterion, "reml")
    try:
        return fitted, effective.pivots(chosen, start, fitted, n_draws=draws, rng=rng), ""
    except ValueError:
        return fitted, {}, ""


def _renamed(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {"cell" if name == "item" else name: value for name, value in parts.items()}


def _forms(parts: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the intraclass correlations of components or of their pivots."""
    cell, error = np.maximum(parts["cell"], 0.0), np.maximum(parts["residual"], 0.0)
    rater = np.maximum(parts.get("rater", 0.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "icc_2_1": cell / (cell + rater + error),
            "icc_3_1": cell / (cell + error),
            "icc_2_k": cell / (cell + (rater + error) / k),
            "icc_3_k": cell / (cell + error / k),
        }
