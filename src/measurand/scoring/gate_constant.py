"""Does an arm give the same answer to everything, or always the same number of criteria?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_emission import emitted, no_emission
from measurand.scoring.gate_judgement import PAPER, Gate, Judged, Judgement, described
from measurand.scoring.gate_study import Study
from measurand.sentences import listed, share, short

ANSWERS: Final = "constant-answers"
COUNTS: Final = "constant-counts"
#: A count that varies by less, at this mean or above, was prescribed and not seen: the published arms that always named
#: 25 criteria have standard deviations up to .4, arms that tell items apart 2.6 and more.
LEAST_SD: Final = 0.5
LEAST_MEAN: Final = 2.0


def constant_answers(study: Study) -> Judged:
    """Judge whether answers vary over items, criterion by criterion.

    Fails where every criterion has one and the same answer throughout, warns where some have and names them.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_answers_of(study, arm))
    return out


def _answers_of(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    rows: list[Row] = []
    constant: list[str] = []
    varying: list[str] = []
    for place, criterion in enumerate(study.criteria):
        known = arm.answer[arm.is_answered[:, place], place]
        if len(known) < 2:
            continue
        counts = np.unique(known, return_counts=True)[1]
        shares = counts / len(known)
        values = {
            "share_most_frequent": float(shares.max()),
            "n_distinct": float(len(counts)),
            "effective_number": float(np.exp(-(shares * np.log(shares)).sum())),
        }
        rows += [
            described(ANSWERS, arm, name, value, criterion=criterion, n_items=len(known))
            for name, value in values.items()
        ]
        (constant if len(counts) == 1 else varying).append(criterion)
    n = len(constant) + len(varying)
    if n == 0:
        return rows, Judgement(arm, "undetermined", "no criterion has two answers")
    if not constant:
        most = max(row.estimate for row in rows if row.statistic == "share_most_frequent")
        text = f"answers vary in {_all(n)}, the most frequent has {share(most)} where it has most"
        return rows, Judgement(arm, "pass", text, most)
    if n == 1:
        return rows, Judgement(arm, "fail", "one and the same answer throughout", 1.0)
    named = "" if not varying else f": {listed(constant)}"
    text = f"one and the same answer throughout in {len(constant)} of {n} criteria{named}"
    return rows, Judgement(arm, "warn" if varying else "fail", text, len(constant) / n)


def _all(n: int) -> str:
    return "the one criterion" if n == 1 else f"all {n} criteria"


CONSTANT_ANSWERS: Final = Gate(
    ANSWERS,
    "Do answers vary from item to item?",
    "Find out why before anything is scored: an input that never arrived, a parser's default, a criterion that the "
    "prompt never asks for. Mark the latter not_asked.",
    "Constant output; rule of this library",
    constant_answers,
)


def constant_counts(study: Study) -> Judged:
    """Judge whether the number of criteria that an answer says are there varies over items.

    Counts criteria whose answer is not 0; of probabilities those above .5. Fails where the standard deviation over
    items is below .5 at a mean of 2 or more: the count says nothing about the item. Needs several criteria, and that
    "not at all" can be said: that some answer is 0 or left out.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_counts_of(study, arm))
    return out


def _counts_of(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    found = emitted(study, arm)
    if isinstance(found, str):
        return no_emission(COUNTS, arm, "mean_count", found), Judgement(arm, "not_applicable", found)
    there, items = found
    counts = there[items].sum(axis=1)
    n = len(counts)
    rows = [described(COUNTS, arm, "mean_count", float(counts.mean()), n_items=n, note="criteria for each item")]
    if n < 2:
        return rows, Judgement(arm, "undetermined", "one item: counts cannot vary")
    mean, sd = float(counts.mean()), float(counts.std(ddof=1))
    rows.append(described(COUNTS, arm, "sd_count", sd, n_items=n, note="over items"))
    verdict: Verdict = "fail" if sd < LEAST_SD and mean >= LEAST_MEAN else "pass"
    text = f"{short(mean)} criteria for each item, standard deviation {short(sd)}"
    return rows, Judgement(arm, verdict, text, -sd, ("mean_count", "sd_count"))


CONSTANT_COUNTS: Final = Gate(
    COUNTS,
    "Does the number of criteria that are said to be there vary from item to item?",
    "The number was prescribed, by the prompt or by a retry until it fits: ask without a number, or score the first "
    "attempt alone.",
    f"{PAPER}, section 4 (systems that always name 25 categories); thresholds of this library",
    constant_counts,
)
