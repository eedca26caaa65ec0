"""Scores, baselines, anchors and criteria as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from measurand.result import Key, Row
from measurand.scoring.contenders import Contender
from measurand.scoring.opponents import Opponents, TargetOf
from measurand.scoring.paths import Path, kappa
from measurand.scoring.replicates import ALPHA, PREVALENCE
from measurand.scoring.run import Run, Scope, means
from measurand.scoring.statistics import OF_ORDER, POSITIVE, Measure
from measurand.stats.calibration import TIES
from measurand.stats.inference import FloatArray

#: Thresholds of reliability over which the main results are shown.
THRESHOLDS: Final = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)

ARM_KEYS: Final = ("system", "readout", "phrasing", "variant")
TARGETS: Final[tuple[TargetOf, ...]] = ("ratings", "consensus")

#: Items from which intervals of held-out means keep their level.
_ENOUGH_HELD_OUT: Final = 1_000
_HELD_OUT_COVERAGE: Final = (
    "in simulation a 95 % interval of a held-out mean held 91 % of the time with 300 items, 94 % with 1,000"
)
_CEILING: Final = (
    "of answers spread as ratings are; uncalibrated the true score itself reaches 2k / (1 + k) of pairwise k"
)
_SENSITIVITY: Final = "what the choice changes; only the headline path is resampled"


def score_rows(run: Run) -> list[Row]:
    """Return every arm's score per criterion and set, on every path, over everything that is redrawn."""
    rows: list[Row] = []
    for over, store in run.stores.items():
        for position, one in enumerate(run.contenders):
            for measure in run.measures:
                for path in run.paths:
                    name = ("arm", position, path, measure.name)
                    if name in store:
                        rows += _of(run, "scores", one, path, measure, store[name], over)
    return rows


def baseline_rows(run: Run) -> list[Row]:
    """Return every baseline's score on the headline path."""
    rows: list[Row] = []
    for position, one in enumerate(run.baselines):
        series = run.store["baseline", position, run.path]
        rows += _of(run, "baselines", one, run.path, run.measure, series, run.over)
    return rows


def _of(
    run: Run, analysis: str, one: Contender, path: Path, measure: Measure, series: FloatArray, over: str
) -> list[Row]:
    rows = []
    n_answered = one.n_answered
    for scope in run.scopes:
        keys = {**one.keys, **scope.keys, **run.path_keys(path, measure)}
        values = run.columns([series], scope, run.stores[over])[0]
        reason, note = "", ""
        n_items = int(max(n_answered, default=0))
        if scope.set:
            here = run.chosen(scope.set, run.stores[over])[0]
            lost = int((here & np.isnan(series[0])).sum())
            n_here = int(here.sum())
            reason = "no criterion is in this set" if n_here == 0 else "no criterion of this set has a score"
            of = "criterion" if n_here - lost == 1 else "criteria"
            note = f"mean of {n_here - lost} {of}" + (f"; {lost} have no score" if lost else "")
            reasons = {text for text, is_in in zip(one.not_permitted, here, strict=True) if is_in and text}
            if path.calibration == "none" and measure.name not in OF_ORDER and reasons:
                values, reason = np.full(len(values), np.nan), sorted(reasons)[0]
        else:
            position = run.field.names.index(scope.criterion)
            n_items = n_answered[position]
            reason = "no answers" if n_items == 0 else ""
            fold = run.folds.of_item[:, one.answered[position].present]
            if n_items and path.fit == "held_out" and (fold == fold[:, :1]).all(axis=1).any():
                reason = "all its answers lie in one fold, which leaves no other one to calibrate by"
            if path.calibration == "none" and measure.name not in OF_ORDER and one.not_permitted[position]:
                values, reason = np.full(len(values), np.nan), one.not_permitted[position]
        if "rater" in over and measure.name != "kappa_quadratic":
            continue
        if scope.set and path.fit == "held_out" and run.field.n_items < _ENOUGH_HELD_OUT and not np.isnan(values[0]):
            note = f"{note}; {_HELD_OUT_COVERAGE}"
        rows.append(
            run.row(
                analysis,
                keys,
                measure.name,
                values,
                over=over,
                n_items=n_items,
                n_raters=run.sample(scope)[1],
                undefined=reason,
                note=note,
            )
        )
    return rows


def sensitivity_points(run: Run) -> dict[tuple[tuple[Key, ...], Scope, Path], float]:
    """Return what each arm scores under every tie rule and target, by its keys, the scope and the path."""
    if run.path.calibration != "rank" or run.measure.name != "kappa_quadratic":
        return {}
    paths = [replace(run.path, target=target, ties=ties) for target in TARGETS for ties in TIES]
    ones = np.ones((1, run.field.n_items))
    # What is the same for all arms is worked out once.
    opponents = [Opponents(of, ones) for of in run.field.criteria]
    out = {}
    for position, one in enumerate(run.contenders):
        for path in paths:
            if ("arm", position, path, run.measure.name) in run.store:
                series = run.arm(position, path)[:1]
            else:
                pairs = zip(one.answered, opponents, strict=True)
                series = np.array([[kappa(x, of, path, run.folds)[0] for x, of in pairs]])
            for scope in run.headlines:
                out[tuple(one.keys.values()), scope, path] = run.point(series, scope)
    return out


def sensitivity_rows(run: Run, points: Mapping[tuple[tuple[Key, ...], Scope, Path], float]) -> list[Row]:
    """Return the scores of paths that are not resampled: the other tie rules, the other target."""
    rows = []
    for (arm, scope, path), value in points.items():
        if path not in run.paths:
            keys = {**dict(zip(ARM_KEYS, arm, strict=True)), **scope.keys, **path.keys}
            rows.append(run.without_interval("scores", keys, run.measure.name, value, note=_SENSITIVITY))
    return rows


def _prevalence(run: Run) -> list[Row]:
    """Return the share of positive items: what a random order has as its average precision."""
    rows = []
    for scope in run.scopes:
        values = run.columns([run.store[PREVALENCE]], scope, run.store)[0]
        rows.append(
            run.row(
                "criteria",
                scope.keys,
                "prevalence",
                values,
                over=run.over,
                n_items=run.sample(scope)[0],
                n_raters=run.sample(scope)[1],
                undefined="no criterion is in this set",
                note=f"positive: {POSITIVE[run.measures[0].positive]}; the average precision of a random order",
            )
        )
    return rows


def anchor_rows(run: Run) -> list[Row]:
    """Return every anchor per criterion and set, over everything that is redrawn."""
    rows = []
    for over, store in run.stores.items():
        for name in run.anchors:
            series = run.anchor(name, store=store)
            for scope in run.scopes:
                values = run.columns([series], scope, store)[0]
                path = run.path if "calibrated" in name else run.path.uncalibrated()
                keys: dict[str, Key] = {"anchor": name, **scope.keys, **path.keys}
                reason = "raters do not vary, or no item has two of them"
                if name == "noise_ceiling":
                    reason = "raters agree less than chance would make them: there is no true score to reach"
                note = _CEILING if name == "noise_ceiling" else ""
                if scope.set:
                    reason = f"{reason} (or no criterion is in the set)"
                    here = run.chosen(scope.set, store)[0]
                    lost = int((here & np.isnan(series[0])).sum())
                    mean = f"mean of {int(here.sum()) - lost} criteria" + (f"; {lost} have none" if lost else "")
                    note = f"{note}; {mean}" if note else mean
                rows.append(
                    run.row(
                        "anchors",
                        keys,
                        "kappa_quadratic",
                        values,
                        over=over,
                        n_items=run.sample(scope)[0],
                        n_raters=run.sample(scope)[1],
                        undefined=reason,
                        note=note,
                    )
                )
    return rows


def criterion_rows(run: Run) -> list[Row]:
    """Return how reliably each criterion is measured, how sure it is in the set, and the results over thresholds."""
    store, over = run.store, run.over
    alpha = store[ALPHA]
    rows = []
    sample: dict[str, Any] = {"n_items": run.field.n_items, "n_raters": run.field.n_raters}
    for position, name in enumerate(run.field.names):
        keys: dict[str, Key] = {"criterion": name}
        n_items, n_raters = run.sample(Scope(criterion=name))
        own: dict[str, Any] = {"n_items": n_items, "n_raters": n_raters}
        values = alpha[:, position]
        reason = "no item has two ratings, or all ratings are the same"
        rows.append(run.row("criteria", keys, "alpha_interval", values, over=over, undefined=reason, **own))
        if len(run.field.names) > 1:
            draws = values[1:][~np.isnan(values[1:])]
            share = float((draws >= run.threshold).mean()) if len(draws) else np.nan
            note = "share of replicates in which the criterion is in the reliable set"
            keys = {**keys, "set": "reliable", "threshold": run.threshold}
            rows.append(run.without_interval("criteria", keys, "inclusion_share", share, note=note, undefined=reason))
    if PREVALENCE in store:
        rows += _prevalence(run)
    if len(run.field.names) == 1:
        return rows
    plain = [i for i, one in enumerate(run.contenders) if one.arm is not None and one.arm.is_plain]
    for threshold in THRESHOLDS:
        keys = {"set": "reliable", "threshold": threshold}
        mask = run.chosen("reliable", store, threshold=threshold)
        count = mask.sum(axis=1).astype(float)
        rows.append(run.row("criteria", keys, "n_criteria", count, over=over, **sample))
        empty = "no criterion reaches this threshold"
        if "pairwise" not in run.anchors:
            continue
        anchor = run.anchor("pairwise")
        common = mask & ~np.isnan(anchor)
        of_anchor = means([anchor], common)[0]
        rows.append(run.row("criteria", keys, "pairwise", of_anchor, over=over, undefined=empty, **sample))
        above, clear = 0, 0
        for i in plain:
            both = common & ~np.isnan(run.arm(i))
            a, b = means([run.arm(i), anchor], both)
            row = run.row("criteria", keys, "difference", a - b, over=over, undefined=empty)
            above += bool(row.estimate > 0)
            clear += bool(row.low is not None and row.low > 0)
        note = f"of {len(plain)} arms; by the estimate, and by the whole interval"
        if common[0].any():
            rows.append(run.without_interval("criteria", keys, "n_above_pairwise", above, note=note))
            rows.append(run.without_interval("criteria", keys, "n_clearly_above_pairwise", clear, note=note))
    return rows
