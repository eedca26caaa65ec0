"""Is a control itself sound, so that it can bound an effect?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from measurand.result import Row, Verdict
from measurand.scoring.arms import Trained
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_base import minus_base
from measurand.scoring.gate_judgement import PAPER, Gate, Judged, Judgement, graver
from measurand.scoring.gate_sensitivity import beside, shuffle_rows
from measurand.scoring.gate_shuffle import shuffled
from measurand.scoring.gate_study import Study
from measurand.sentences import short, spread_of

GATE: Final = "control-health"
#: Chance of so low a score under shuffling below which a control is damaged. Sound controls are at chance: at .05 one
#: in twenty would be called damaged.
DAMAGED_BELOW: Final = 0.01


def control_health(study: Study, failed: Mapping[int, list[str]]) -> Judged:
    """Judge whether controls are at chance and not below it, and trained ones not below the model they were trained on.

    Fails where a control's score is so low that fewer than .01 of shuffles of its answers are as low, where the control
    fails the gates on coverage or mass, or where a trained one scores below its base, paired over items, by an interval
    that lies below 0: it is damaged, and no floor. Undetermined without ratings and labels, and for a trained control
    whose base was not asked under the same protocol; not applicable without controls.

    Parameters
    ----------
    study : Study
        What was answered.
    failed : mapping
        Position of an arm to the ids of those two gates that it fails.
    """
    out = Judged()
    for place, arm in enumerate(study.arms):
        if arm.control:
            out.add(*_of_control(study, arm, failed.get(place, [])))
    return out


def _of_control(study: Study, arm: Arm, failed: list[str]) -> tuple[list[Row], Judgement]:
    found = shuffled(study, arm)
    rows = shuffle_rows(GATE, arm, found)
    texts = [f"fails {' and '.join(failed)}"] if failed else []
    verdict: Verdict = "fail" if failed else "pass"
    if isinstance(found, str):
        if not failed:
            verdict = "undetermined"
        return rows, Judgement(arm, verdict, "; ".join([*texts, found]), float(len(failed)))
    if found.p_below < DAMAGED_BELOW:
        verdict = "fail"
        texts.append(
            f"its score {short(found.score)} is below chance ({beside(found)} after shuffling, p = "
            f"{short(found.p_below)})"
        )
    else:
        texts.append(f"its score {short(found.score)} is not below chance (p = {short(found.p_below)})")
    weight, statistics = 1 - found.p_below, ["p_below"]
    if arm.trained is not None and arm.trained.base:
        row = minus_base(GATE, study, arm, study.base_of(arm))
        rows.append(row)
        of_base, text = _beside_base(row, arm.trained)
        verdict = graver(verdict, of_base)
        texts.insert(0, text)
        statistics.insert(0, row.statistic)
        weight = 1 - row.estimate if of_base == "fail" else weight
    return rows, Judgement(arm, verdict, "; ".join(texts), weight, statistics)


def _beside_base(row: Row, trained: Trained) -> tuple[Verdict, str]:
    """Return the verdict on a trained control by what it scores less its base, and a clause that says it."""
    if row.undefined:
        return "undetermined", f"not held against {trained.base}: {row.undefined}"
    if row.low is None or row.high is None:
        return "undetermined", f"its difference from {trained.base}, {short(row.estimate)}, has no interval"
    told = f"{short(abs(row.estimate))} {'below' if row.estimate < 0 else 'above'} {trained.base} ({spread_of(row)})"
    if row.high < 0:
        return "fail", f"it scores {told}: it is damaged and bounds nothing of what {trained.of} gained"
    return "pass", f"it scores {told}" + ("" if row.low > 0 else ", which is not told from 0")


QUESTION: Final = "Are the controls themselves undamaged, so that they bound an effect?"
REMEDY: Final = (
    "A control below chance or below the model that it was trained on, or one that does not answer, bounds nothing: "
    "repair it, and draw no conclusion from how far an arm is above it."
)
SOURCE: Final = f"{PAPER}, appendix O (controls that fall below the untrained base); threshold of this library"


def gate_of(failed: Mapping[int, list[str]]) -> Gate:
    """Return the gate for controls of which some fail the gates on coverage or mass."""
    return Gate(GATE, QUESTION, REMEDY, SOURCE, lambda study: control_health(study, failed))
