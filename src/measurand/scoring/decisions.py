"""Decisions: may a system stand in for a rater, and is it as good as people within a margin?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from measurand.result import Key, Row
from measurand.scoring.paths import calibrated_values
from measurand.scoring.run import NO_VARIATION, Run
from measurand.stats.alternative import alternative_annotator_test, equivalence, non_inferiority
from measurand.stats.inference import IntArray

#: Anchors that a margin is laid around.
_ANCHORS = ("pairwise", "leave_one_out")


def decision_rows(run: Run) -> list[Row]:
    """Return the alternative annotator test of each arm and criterion, and equivalence where a margin is given."""
    return [*_alternative(run), *_margin(run)]


def _alternative(run: Run) -> list[Row]:
    rows = []
    cluster = run.field.group if run.over.startswith("group") else None
    note = f"epsilon {run.epsilon:g}: how much less often than a rater the system may win"
    rows += _constant(run, cluster, note)
    for one in run.contenders:
        if one.arm is None or not one.arm.is_plain:
            continue
        rates = []
        for position, criterion in enumerate(run.field.criteria):
            keys: dict[str, Key] = {
                "decision": "alternative_annotator_test",
                **one.keys,
                "criterion": criterion.name,
                **run.path.keys,
            }
            reason = one.not_permitted[position] if run.path.calibration == "none" else ""
            values = calibrated_values(one.answered[position], criterion, run.path, run.folds)
            if reason or np.isnan(values).all():
                why = reason or "no answers"
                rows.append(Row("decisions", keys, "winning_rate", np.nan, undefined=why))
                continue
            test = alternative_annotator_test(
                values, criterion.ratings, epsilon=run.epsilon, alignment="rmse", cluster=cluster
            )
            if not np.isnan(test.omega):
                rates.append(test.passed)
            n_items, n_raters = int((~np.isnan(values)).sum()), int((criterion.count > 0).any() and run.field.n_raters)
            for statistic, value in (("winning_rate", test.omega), ("advantage_probability", test.rho)):
                said = (
                    f"share of raters that the system beats, {note}"
                    if statistic == "winning_rate"
                    else ("how often it agrees with the other raters at least as well as the rater left out does")
                )
                rows.append(
                    Row(
                        "decisions",
                        keys,
                        statistic,
                        value,
                        unit="item" if cluster is None else "group",
                        n_items=n_items,
                        n_raters=n_raters,
                        undefined=test.why if np.isnan(value) else "",
                        note=f"{said}; decided rater by rater, no interval",
                    )
                )
            for j, rater in enumerate(run.field.raters):
                reason = test.undefined[j]
                row = Row(
                    "decisions",
                    {**keys, "rater": rater},
                    "advantage_probability",
                    float(test.rho_system[j]),
                    method=test.method[j],
                    n_items=int(test.n_items[j]),
                    undefined=reason if np.isnan(test.rho_system[j]) else "",
                    note=reason or "p adjusted by Benjamini & Yekutieli over raters",
                )
                if not np.isnan(test.p[j]):
                    df = None if np.isnan(test.df[j]) else float(test.df[j])
                    row = replace(row, p=float(test.p[j]), p_adjusted=float(test.p_adjusted[j]), df2=df)
                rows.append(row)
        if len(run.field.criteria) > 1:
            keys = {"decision": "alternative_annotator_test", **one.keys, "set": "all", **run.path.keys}
            share = float(np.mean(rates)) if rates else np.nan
            said = f"share of {len(rates)} criteria on which the winning rate reaches one half, {note}"
            rows.append(
                run.without_interval("decisions", keys, "share_passed", share, note=said, undefined="no rater tested")
            )
    return rows


def _constant(run: Run, cluster: IntArray | None, note: str) -> list[Row]:
    """Return the test of one and the same answer to every item: what it passes on, the test says nothing of."""
    rows = []
    for criterion in run.field.criteria:
        keys: dict[str, Key] = {
            "decision": "alternative_annotator_test",
            "anchor": "constant",
            "criterion": criterion.name,
            **run.path.uncalibrated().keys,
        }
        given = criterion.ratings[criterion.is_rated > 0]
        if len(given) == 0:
            rows.append(Row("decisions", keys, "winning_rate", np.nan, undefined="no ratings"))
            continue
        values = np.where(criterion.count > 0, np.median(given), np.nan)
        test = alternative_annotator_test(
            values, criterion.ratings, epsilon=run.epsilon, alignment="rmse", cluster=cluster
        )
        said = f"of the median rating of the criterion for every item; {note}; decided rater by rater, no interval"
        undefined = test.why if np.isnan(test.omega) else ""
        rows.append(Row("decisions", keys, "winning_rate", test.omega, undefined=undefined, note=said))
    return rows


def _margin(run: Run) -> list[Row]:
    if run.margin is None or run.measure.name != "kappa_quadratic":
        return []
    rows = []
    kind = "for raters of this kind" if "rater" in run.over else "for these raters"
    for i, one in enumerate(run.contenders):
        if one.arm is None or not one.arm.is_plain:
            continue
        for name in _ANCHORS:
            if name not in run.anchors:
                continue
            for scope in run.headlines:
                a, b = run.columns([run.arm(i), run.anchor(name)], scope, run.store)
                values = a - b
                keys: dict[str, Key] = {**one.keys, "anchor": name, **scope.keys, **run.path.keys}
                for decision, test in (("equivalence", equivalence), ("non_inferiority", non_inferiority)):
                    if np.isnan(values[0]):
                        row = Row(
                            "decisions", {"decision": decision, **keys}, "difference", np.nan, undefined=NO_VARIATION
                        )
                        rows.append(row)
                        continue
                    found = test(float(values[0]), values[1:], margin=run.margin)
                    said = "holds" if found.holds else "is not shown"
                    rows.append(
                        Row(
                            "decisions",
                            {"decision": decision, **keys},
                            "difference",
                            float(values[0]),
                            found.low,
                            found.high,
                            0.9,
                            "percentile bootstrap, refitted",
                            run.over,
                            n_items=run.field.n_items,
                            n_raters=run.field.n_raters,
                            p=found.p,
                            note=f"{decision.replace('_', '-')} within {run.margin:g} {said}; {kind}",
                        )
                    )
    return rows
