"""How many answers are equal, and are they equal because digits were lost?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described, graver
from measurand.scoring.gate_study import Study
from measurand.sentences import listed, share
from measurand.stats.inference import FloatArray

GATE: Final = "tie-load"
#: Share of items in ties from which graded answers are not what they seem; largest block that leaves no order at all;
#: share of probabilities that are exactly 0 or 1 (thresholds of this library).
TIED_WARNS: Final = 0.5
BLOCK_WARNS: Final = 0.95
SATURATED_FAILS: Final = 0.05


def tie_load(study: Study) -> Judged:
    """Judge how many items have the answer of another item, criterion by criterion.

    Graded answers warn where more than half of the items of a criterion are tied, and fail where more than .05 of the
    probabilities are exactly 0 or 1 and there are no log-odds to order them by. Answers on few levels tie by
    construction and pass, unless one level holds more than .95 of a criterion's items: that warns.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    if study.are_labels:
        return [], Judgement(arm, "not_applicable", "its answers are names of classes and have no order")
    values = arm.graded()
    rows: list[Row] = []
    tied, largest, names = [], [], []
    for place, criterion in enumerate(study.criteria):
        known = values[arm.is_answered[:, place], place]
        if len(known) < 2:
            continue
        share_tied, block = _ties(known)
        rows.append(described(GATE, arm, "share_tied", share_tied, criterion=criterion, n_items=len(known)))
        rows.append(described(GATE, arm, "share_largest_block", block, criterion=criterion, n_items=len(known)))
        tied.append(share_tied)
        largest.append(block)
        names.append(criterion)
    if not names:
        return rows, Judgement(arm, "undetermined", "no criterion has two answers")
    return _judged(arm, rows, np.array(tied), np.array(largest), names)


def _judged(
    arm: Arm, rows: list[Row], tied: FloatArray, largest: FloatArray, names: list[str]
) -> tuple[list[Row], Judgement]:
    verdict: Verdict = "pass"
    text = f"{share(float(tied.mean()))} of the items are tied on average over {len(names)} criteria"
    if len(names) == 1:
        text = f"{share(float(tied[0]))} of the items are tied"
    statistics = []
    if arm.is_probability:
        known = arm.answer[arm.is_answered]
        saturated = float(((known == 0) | (known == 1)).mean())
        rows.append(described(GATE, arm, "share_saturated", saturated, note="probabilities that are exactly 0 or 1"))
        statistics.append("share_saturated")
        if (over := tied > TIED_WARNS).any():
            verdict = "warn"
            text += f", more than half in {int(over.sum())} of them" if len(names) > 1 else ""
        if saturated > SATURATED_FAILS and arm.log_odds is None:
            verdict = graver(verdict, "fail")
            text += f"; {share(saturated)} of the probabilities are exactly 0 or 1 and there are no log-odds"
        return rows, Judgement(arm, verdict, text, float(tied.mean()), statistics)
    if (over := largest > BLOCK_WARNS).any():
        verdict = "warn"
        full = [name for name, is_over in zip(names, over, strict=True) if is_over and name]
        text += f"; one answer holds more than {share(BLOCK_WARNS)} of the items"
        text += f" in {listed(full)}" if full else ""
    else:
        text += ", by construction: the answers have few levels" if float(tied.mean()) > TIED_WARNS else ""
    return rows, Judgement(arm, verdict, text, float(largest.max()), statistics)


def _ties(values: FloatArray) -> tuple[float, float]:
    counts = np.unique(values, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(values)), float(counts.max() / len(values))


TIE_LOAD: Final = Gate(
    GATE,
    "Are answers ordered, or equal because digits were lost?",
    "Store the log-odds in double precision (column log_odds; output head in single, not half precision), and show the "
    "score under every tie rule.",
    "Ties by precision; thresholds of this library",
    tie_load,
)
