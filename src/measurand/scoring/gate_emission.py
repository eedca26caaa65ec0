"""Which criteria an answer says are there at all: what counts and echoes are made from."""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row
from measurand.scoring.gate_arms import Arm, BoolArray
from measurand.scoring.gate_judgement import described
from measurand.scoring.gate_study import Study

#: Graded answers above this say "present", as in the binarized control.
PRESENT_ABOVE: Final = 0.5


def emitted(study: Study, arm: Arm) -> tuple[BoolArray, BoolArray] | str:
    """Return which criteria each answered item has, shape (n_items, n_criteria), and which items have an answer.

    A criterion is there if its answer is not 0; if answers are probabilities, if it is above .5. One that was left out
    of a reply is not there. Where this cannot be told, the reason.
    """
    if study.are_labels:
        return "its answers are names of classes"
    if len(study.criteria) < 2:
        return "there is one criterion"
    answered = arm.is_answered
    if not answered.any():
        return "there is no answer"
    if arm.is_probability:
        there = arm.answer > PRESENT_ABOVE
    elif not study.has_zero:
        return 'no answer can say "not at all" here: none is 0, none is left out'
    else:
        there = arm.answer != 0
    return there & answered, np.asarray(answered.any(axis=1))


def no_emission(gate: str, arm: Arm, statistic: str, why: str) -> list[Row]:
    """Return the row of a statistic that is undefined because criteria cannot be told to be there."""
    return [described(gate, arm, statistic, np.nan, undefined=why)]
