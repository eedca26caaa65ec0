"""May these answers be scored? Twelve questions to every arm, each with a rule, numbers and a remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pandas as pd
from threadpoolctl import threadpool_limits

from measurand.checks import check_level, check_seed
from measurand.data.answers import Answers, as_answers
from measurand.data.items import as_items
from measurand.data.ratings import Ratings, as_ratings
from measurand.result import Finding, MeasurandError, Result, Row
from measurand.scoring.arms import Trained
from measurand.scoring.gate_constant import CONSTANT_ANSWERS, CONSTANT_COUNTS
from measurand.scoring.gate_control import gate_of
from measurand.scoring.gate_coverage import COVERAGE
from measurand.scoring.gate_duplicates import DUPLICATED_ANSWERS
from measurand.scoring.gate_echo import EXAMPLE_ECHO
from measurand.scoring.gate_judgement import Judged, passed, summed_up
from measurand.scoring.gate_mass import ANSWER_MASS
from measurand.scoring.gate_noise import NUMERICAL_NOISE
from measurand.scoring.gate_parse_path import PARSE_PATH
from measurand.scoring.gate_sensitivity import INPUT_SENSITIVITY
from measurand.scoring.gate_single_answer import SINGLE_ANSWER_GAP
from measurand.scoring.gate_study import Study, study
from measurand.scoring.gate_ties import TIE_LOAD

#: The gates of single arms, in the order of the page; control-health follows them.
GATES: Final = (
    ANSWER_MASS,
    COVERAGE,
    SINGLE_ANSWER_GAP,
    PARSE_PATH,
    CONSTANT_ANSWERS,
    CONSTANT_COUNTS,
    DUPLICATED_ANSWERS,
    INPUT_SENSITIVITY,
    EXAMPLE_ECHO,
    TIE_LOAD,
    NUMERICAL_NOISE,
)
#: What a sound control must pass as well as everybody.
_OF_CONTROLS: Final = (ANSWER_MASS.id, COVERAGE.id)

#: Largest numerical noise of a probability in half precision that the batch can make (the paper's measurement).
NOISE: Final = 0.031

ArmKey = tuple[str, str, str, str]


def gates(
    answers: Answers | Any,
    *,
    ratings: Ratings | Any = None,
    items: pd.DataFrame | Any = None,
    example: Sequence[str] = (),
    controls: Mapping[str, Trained] | None = None,
    noise: float = NOISE,
    replicates: int = 2000,
    permutations: int = 999,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Result:
    """Ask whether answers may be scored at all, before anything is said about who is better.

    Parameters
    ----------
    answers : Answers, path or data frame
        See `measurand.data.read_answers`. An arm is one system under one protocol; arms whose rows name a `control`
        are held to their own question, and to coverage and mass.
    ratings : Ratings, path, data frame or None
        Single ratings of the same items and criteria: for input sensitivity, natural duplicates, control health.
    items : path, data frame or None
        See `measurand.data.read_items`: labels for forced choice, and groups to be redrawn together.
    example : sequence of str
        Criteria that the example in the prompt named.
    controls : mapping of str to Trained, or None
        Systems that are controls by their training, such as one trained on permuted labels, to the system that they
        are a control of and the base of both (`measurand.scoring.arms.Trained`): they are held to what controls are
        held to, and to not scoring below their base.
    noise : float
        Numerical noise of a probability, from 0 up to, not including, 1.
    replicates : int
        Bootstrap replicates of the single-answer gap.
    permutations : int
        Shuffles of the items.
    confidence : float
        Level of intervals.
    seed : int
        The one seed.
    progress : callable or None
        Is told the name of each gate, its number, and how many there are.

    Returns
    -------
    Result
        Analysis `gates`, one finding for each gate (its verdict is that of the worst arm), and for each gate and arm
        the row `passed`: 1, also with a warning, which the note tells; 0; undefined with the reason where the gate
        could not decide or does not apply.

    Raises
    ------
    MeasurandError
        If a setting is out of range, ratings or labels do not concern these answers, or the example names a criterion,
        or the controls a system, that there is not.

    Notes
    -----
    Each rule stands with its thresholds in the module of its gate. A permutation p is (1 + hits) / (1 + shuffles), one
    set of shuffles for all arms that answered the same items; nothing is adjusted over arms, so that of blind arms one
    in twenty passes input-sensitivity.

    References
    ----------
    Hallmen, Deuser, Kampa, Oswald & André (2026), arXiv 2610.08162, section 3 (answer mass, single-answer gap) and
    appendix O (controls); Phipson & Smyth (2010), Statistical Applications in Genetics and Molecular Biology 9.

    Examples
    --------
    >>> from measurand.data.answers import read_answers
    >>> table = pd.DataFrame({"system": "S", "item": range(6), "answer": [0.2, 0.7, 0.4, 0.9, 0.1, 0.6]})
    >>> found = gates(read_answers(table))
    >>> {finding.id: finding.verdict for finding in found.findings}["coverage"]
    'pass'
    """
    _check(noise, replicates, permutations, confidence, seed)
    about = study(
        as_answers(answers),
        None if ratings is None else as_ratings(ratings),
        None if items is None else as_items(items),
        example,
        noise=noise,
        replicates=replicates,
        permutations=permutations,
        confidence=confidence,
        seed=seed,
        controls=controls,
    )
    rows: list[Row] = []
    findings: list[Finding] = []
    n_steps = len(GATES) + 1
    judged_controls: dict[str, Judged] = {}
    # One BLAS thread: sums must not depend on how many cores there are.
    with threadpool_limits(limits=1, user_api="blas"):
        for number, gate in enumerate(GATES, start=1):
            if progress is not None:
                progress(gate.id, number, n_steps)
            judged = gate.judge(about)
            rows += [*judged.rows, *passed(gate, judged)]
            findings.append(summed_up(gate, judged))
            if gate.id in _OF_CONTROLS:
                judged_controls[gate.id] = judged
        last = gate_of(_failures(about, judged_controls))
        if progress is not None:
            progress(last.id, n_steps, n_steps)
        judged = last.judge(about)
    rows += [*judged.rows, *passed(last, judged)]
    findings.append(summed_up(last, judged, of_controls=True))
    settings = {
        "arms": len(about.arms),
        "ratings": ratings is not None,
        "labels": about.truth is not None,
        "example": list(example),
        "noise": noise,
        "replicates": replicates,
        "permutations": permutations,
        "unit": about.unit,
        "confidence": confidence,
        "seed": seed,
    } | ({"controls": {name: Trained(*one)._asdict() for name, one in controls.items()}} if controls else {})
    return Result(rows, {"gates": settings}, findings)


def failed_systems(result: Result) -> dict[ArmKey, list[str]]:
    """Return which arms fail which gates.

    Parameters
    ----------
    result : Result
        What `gates` returned, or a result that holds it.

    Returns
    -------
    dict
        (system, readout, phrasing, variant) to the ids of the gates that the arm fails, controls among them; arms that
        fail none are left out.

    Examples
    --------
    >>> from measurand.data.answers import read_answers
    >>> failed_systems(gates(read_answers(pd.DataFrame({"system": "S", "item": range(6), "answer": 3}))))
    {('S', '', '', ''): ['constant-answers']}
    """
    out: dict[ArmKey, list[str]] = {}
    for row in result.select("gates", "passed"):
        if row.estimate == 0:
            system, readout, phrasing, variant = (
                str(row.keys.get(key, "")) for key in ("system", "readout", "phrasing", "variant")
            )
            out.setdefault((system, readout, phrasing, variant), []).append(str(row.keys["gate"]))
    return out


def _failures(about: Study, judged: dict[str, Judged]) -> dict[int, list[str]]:
    place = {id(arm): i for i, arm in enumerate(about.arms)}
    out: dict[int, list[str]] = {}
    for name, one in judged.items():
        for judgement in one.judgements:
            if judgement.verdict == "fail":
                out.setdefault(place[id(judgement.arm)], []).append(name)
    return out


def _check(noise: float, replicates: int, permutations: int, confidence: float, seed: int) -> None:
    if not 0 <= noise < 1:
        raise MeasurandError(f"noise {noise}; give the noise of a probability, from 0 up to, not including, 1")
    if replicates < 100:
        raise MeasurandError(f"{replicates} replicates; an interval needs at least 100, and 2,000 are the default")
    if permutations < 99:
        raise MeasurandError(f"{permutations} permutations; give at least 99, so that p can be below .05 and .01")
    check_level(confidence)
    check_seed(seed)
