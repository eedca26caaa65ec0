"""Was the question answered at all where the answer was read: how much probability do the answers hold together?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_judgement import PAPER, Gate, Judged, Judgement, described
from measurand.scoring.gate_study import Study
from measurand.sentences import share, short
from measurand.stats.inference import FloatArray

GATE: Final = "answer-mass"

#: Thresholds of this library; the paper itself only stops where the first image's mean mass is below one half.
MEDIAN_PASSES: Final = 0.9
MEDIAN_WARNS: Final = 0.5
LOWEST_PERCENT_PASSES: Final = 0.5
FLAGGED_BELOW: Final = 0.5

_STATISTICS: Final = ("mass_median", "mass_q05", "mass_q01", "mass_min", "share_mass_below_half")


def answer_mass(study: Study) -> Judged:
    """Judge the probability that all admissible answers have together at the position where they were read.

    Passes with a median of at least .9 and a 1 % quantile of at least .5; warns with a median of at least .5, or where
    answers lack their mass; fails otherwise. Not applicable to readouts that have no mass, undetermined for a
    verification readout without it.
    """
    out = Judged()
    for arm in study.arms:
        out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    if arm.mass is None:
        if arm.readout == "verification":
            text = "no column mass: store the probability of all yes and all no tokens together with each answer"
            return [], Judgement(arm, "undetermined", text)
        why = f"the readout {arm.readout!r} has no answer mass" if arm.readout else "no readout and no mass are named"
        return [], Judgement(arm, "not_applicable", why)
    known = ~np.isnan(arm.mass)
    rows = _rows(arm, arm.mass[known], int(known.any(axis=1).sum()), "")
    if len(study.criteria) > 1:
        for place, criterion in enumerate(study.criteria):
            if known[:, place].any():
                of = arm.mass[known[:, place], place]
                rows += _rows(arm, of, len(of), criterion)
    mass = arm.mass[known]
    flagged = int((mass < FLAGGED_BELOW).sum())
    n_lacking = int((arm.is_answered & ~known).sum())
    rows.append(described(GATE, arm, "n_flagged", flagged, note=f"rows with a mass below {FLAGGED_BELOW:g}"))
    rows.append(described(GATE, arm, "n_without_mass", n_lacking))
    median, low = np.quantile(mass, [0.5, 0.01])
    verdict: Verdict = "fail"
    if median >= MEDIAN_PASSES and low >= LOWEST_PERCENT_PASSES:
        verdict = "warn" if n_lacking else "pass"
    elif median >= MEDIAN_WARNS:
        verdict = "warn"
    text = (
        f"median {short(float(median))}, 1 % quantile {short(float(low))}, {share(flagged / len(mass))} of the answers "
        f"below {FLAGGED_BELOW:g}"
    )
    if n_lacking:
        text += f", {n_lacking:,} answers without it"
    return rows, Judgement(arm, verdict, text, 1 - float(median), ("mass_median", "mass_q01"))


def _rows(arm: Arm, mass: FloatArray, n_items: int, criterion: str) -> list[Row]:
    median, low, lowest = np.quantile(mass, [0.5, 0.05, 0.01])
    values = (median, low, lowest, mass.min(), (mass < FLAGGED_BELOW).mean())
    return [
        described(GATE, arm, name, float(value), criterion=criterion, n_items=n_items)
        for name, value in zip(_STATISTICS, values, strict=True)
    ]


ANSWER_MASS: Final = Gate(
    GATE,
    "Do the admissible answers hold most of the probability where the answer was read?",
    "The answer is elsewhere in the reply: look at the likeliest other tokens, begin the answer for the model "
    "(prefill), switch reasoning off, and close the set of answer tokens over case and spacing. Do not renormalise.",
    f"{PAPER}, section 3 (answer mass); thresholds of this library",
    answer_mass,
)
