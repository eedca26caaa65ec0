"""Was every question answered, and what became of those that were not?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.data.answers import STATUSES
from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm, BoolArray
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described
from measurand.scoring.gate_study import Study
from measurand.sentences import listed, share

GATE: Final = "coverage"
#: Below this share of answered questions what was answered may be the easier part (threshold of this library).
WARNS_FROM: Final = 0.9


def coverage(study: Study) -> Judged:
    """Judge the share of questions that carry an answer.

    The questions are items by criteria that were asked; ``not_asked`` is counted apart. A question that some other arm
    was asked and that has no row here, although this arm has its item and its criterion, counts as unanswered. Passes
    where all are answered; warns from .9 on, or where items that others were asked have no row at all; fails below.
    """
    out = Judged()
    asked = np.zeros((len(study.items), len(study.criteria)), dtype=bool)
    for arm in study.arms:
        if not arm.control:
            asked |= arm.is_asked
    for arm in study.arms:
        out.add(*_of_arm(arm, asked))
    return out


def _of_arm(arm: Arm, asked_of_any: BoolArray) -> tuple[list[Row], Judgement]:
    has_row = np.asarray(arm.status >= 0)
    items = np.asarray(has_row.any(axis=1))
    grid = np.outer(has_row.any(axis=1), has_row.any(axis=0))
    absent = grid & ~has_row & asked_of_any
    asked = arm.is_asked | absent
    n_asked, n_answered = int(asked.sum()), int(arm.is_answered.sum())
    counts = {status: int((arm.status == place).sum()) for place, status in enumerate(STATUSES)}
    counts["without_row"] = int(absent.sum())
    n_items = int(items.sum())
    rows = [described(GATE, arm, f"n_{name}", count, n_items=n_items) for name, count in counts.items()]
    left = 0 if arm.control else int((asked_of_any.any(axis=1) & ~items).sum())
    rows.append(described(GATE, arm, "n_items_without_row", left))
    if n_asked == 0:
        why = "nothing was asked: every row says not_asked"
        rows.append(described(GATE, arm, "coverage", np.nan, undefined=why))
        return rows, Judgement(arm, "undetermined", why)
    covered = n_answered / n_asked
    of_items = asked.any(axis=1)
    whole = float((arm.is_answered | ~asked)[of_items].all(axis=1).mean())
    if n_answered:
        repaired = counts["repaired"] / n_answered
        rows.append(described(GATE, arm, "share_repaired", repaired, note="of the answers"))
    else:
        rows.append(described(GATE, arm, "share_repaired", np.nan, undefined="there is no answer"))
    rows.append(described(GATE, arm, "share_items_complete", whole, n_items=int(of_items.sum())))
    rows.append(described(GATE, arm, "coverage", covered, n_items=n_items))
    verdict: Verdict = "pass"
    if covered < 1 or left:
        verdict = "warn" if covered >= WARNS_FROM else "fail"
    lost = [
        f"{count:,} {name.replace('_', ' ')}"
        for name, count in counts.items()
        if count and name not in ("ok", "repaired", "not_asked")
    ]
    text = f"{share(covered)} of {n_asked:,} questions answered"
    text += f" ({listed(lost)})" if lost else ""
    text += f", {counts['repaired']:,} of them repaired" if counts["repaired"] else ""
    text += f"; {left:,} items that others were asked have no row" if left else ""
    return rows, Judgement(arm, verdict, text, 1 - covered, ("coverage",))


COVERAGE: Final = Gate(
    GATE,
    "Was every question that was asked answered?",
    "What is missing is not missing at random: score under each policy (left out, lowest, wrong) and on the items that "
    "all arms answered; mark with not_asked what was left out on purpose.",
    "threshold of this library",
    coverage,
)
