"""How many decisions hang on differences that numerical noise makes?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_judgement import PAPER, Gate, Judged, Judgement, described
from measurand.scoring.gate_study import Study
from measurand.sentences import share
from measurand.stats.inference import FloatArray

GATE: Final = "numerical-noise"
#: Share of decisions within noise that passes, and that fails (thresholds of this library).
SHARE_PASSES: Final = 0.05
SHARE_FAILS: Final = 0.2


def numerical_noise(study: Study) -> Judged:
    """Judge the share of decisions that a change of the batch could turn.

    Where classes are chosen by the highest probability: the share of items whose two highest are closer than the noise
    of a probability. Under other labels the share of probabilities closer to .5 than half of it, which decides whether
    yes is said. Passes up to .05, warns up to .2, fails above. Not applicable to answers that are no probabilities,
    nor without labels: against ratings answers count by their order or as they are, and nothing is decided at .5; the
    share next to it is a row all the same, since binarizing would cut there.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    if study.are_labels or not arm.is_probability:
        return [], Judgement(arm, "not_applicable", "its answers are no graded probabilities")
    known = arm.answer[arm.is_answered]
    near = float((np.abs(known - 0.5) < study.noise / 2).mean())
    note = f"noise {study.noise:g}"
    rows = [described(GATE, arm, "share_near_half", near, note=note)]
    if study.truth is None:
        return rows, Judgement(arm, "not_applicable", "without labels (--truth) nothing is decided by a threshold")
    decided, text = near, f"{share(near)} of the probabilities are within {study.noise / 2:g} of .5"
    statistic = "share_near_half"
    if study.has_forced_choice:
        classes = study.names[: study.n_classes]
        columns = [i for i, name in enumerate(study.criteria) if name in classes and arm.is_asked[:, i].any()]
        whole = arm.is_answered[:, columns].all(axis=1)
        if not whole.any() or len(columns) < 2:
            return rows, Judgement(arm, "undetermined", "no item has an answer for every class")
        gap = _top_two(arm.answer[whole][:, columns])
        decided, statistic = float((gap < study.noise).mean()), "share_gap_within_noise"
        rows.append(described(GATE, arm, statistic, decided, n_items=int(whole.sum()), note=note))
        text = f"the two highest classes of {share(decided)} of the items are closer than {study.noise:g}"
    verdict: Verdict = "pass" if decided <= SHARE_PASSES else "warn" if decided <= SHARE_FAILS else "fail"
    return rows, Judgement(arm, verdict, text, decided, (statistic,))


def _top_two(scores: FloatArray) -> FloatArray:
    highest = np.partition(scores, -2, axis=1)[:, -2:]
    return np.asarray(highest[:, 1] - highest[:, 0])


NUMERICAL_NOISE: Final = Gate(
    GATE,
    "Are decisions farther apart than numerical noise?",
    "Count gaps within the noise as ties (measurand score --truth, --class-margin), read logits with an output "
    "head in single precision, and report what a second batch size gives.",
    f"{PAPER}, appendix (batch noise of half precision up to 3.1e-2); thresholds of this library",
    numerical_noise,
)
