"""What the numbers of a scoring run answer, by the rules of docs/findings.md; thresholds stand in `questions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from measurand.result import Finding, Result
from measurand.scoring.findings_choices import (
    calibration_leaks,
    coverage_decides,
    phrasing_decides,
    readout_decides,
    set_choice,
    ties_decide,
)
from measurand.scoring.findings_people import (
    baselines_near_zero,
    exceeds_people,
    failed_systems,
    order_real,
    stand_in,
)
from measurand.scoring.questions import Told
from measurand.scoring.run import Run

QUESTIONS: Final[Sequence[Callable[[Told], Finding]]] = (
    exceeds_people,
    order_real,
    readout_decides,
    calibration_leaks,
    ties_decide,
    coverage_decides,
    set_choice,
    phrasing_decides,
    baselines_near_zero,
    failed_systems,
    stand_in,
)


def findings(result: Result, run: Run) -> list[Finding]:
    """Return the findings of a scoring run.

    Parameters
    ----------
    result : Result
        Its rows.
    run : Run
        What was compared: families of arms, the main set, the units.

    Returns
    -------
    list of Finding
        Every question; one that cannot be answered says what it lacks.
    """
    told = Told(result, run)
    return [question(told) for question in QUESTIONS]
