"""Does the accuracy of forced-choice replies rest on how replies that name none or several options are read?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_judgement import PAPER, Gate, Judged, Judgement, described
from measurand.scoring.gate_replies import Mentions, Options
from measurand.scoring.gate_study import Study
from measurand.sentences import share, short
from measurand.stats.classes import single_answer_gap
from measurand.stats.inference import FloatArray, IntArray, bootstrap, clusters, percentile_interval, stream

GATE: Final = "single-answer-gap"
#: Largest gap of a valid arm (the paper's).
LARGEST_GAP: Final = 0.10

_KINDS: Final = ("none", "one", "many")


def single_answer(study: Study) -> Judged:
    """Judge by how much accuracy over replies that mention exactly one option exceeds accuracy over all replies.

    An option is mentioned where it occurs as a whole word of the lower-cased reply; a reply that mentions several is
    read by the last, one that mentions none is wrong. Fails with a gap above .10, warns where only the upper end of
    its interval is above; undetermined where no reply mentions exactly one option.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def label_replies(study: Study, arm: Arm) -> tuple[IntArray, list[Mentions]] | str:
    """Return the items whose reply can be held against their label, and what each mentions; or why there are none."""
    if arm.reply is None or not arm.has_replies:
        return "no replies are stored (column reply)"
    if not study.are_labels or arm.answer.shape[1] > 1:
        return "its answers are numbers, not one option for each item"
    if study.truth is None:
        return "no labels are given to hold the replies against"
    items = np.flatnonzero(arm.is_asked[:, 0] & (study.truth >= 0)).astype(np.int64)
    if not len(items):
        return "none of its items has a label"
    # What was chosen is an option, too, if it is the label of none of these items.
    options = Options(study.names)
    return items, [options.mentioned(reply) for reply in arm.reply[items, 0]]


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    read = label_replies(study, arm)
    if isinstance(read, str) or study.truth is None:
        return [], Judgement(arm, "not_applicable", str(read))
    items, replies = read
    truth = study.truth[items]
    last = np.array([reply.options[-1] if reply.options else -1 for reply in replies])
    n_mentions = np.array([min(reply.n_distinct, 2) for reply in replies], dtype=np.int64)
    # Six patterns (kind of reply, right or wrong) hold all that the gap needs: a replicate costs no more than they do.
    pattern = 2 * n_mentions + (last == truth)
    kinds, right = np.repeat(np.arange(3), 2).astype(np.int64), np.tile([False, True], 3)

    def statistic(weights: FloatArray) -> FloatArray:
        return single_answer_gap(kinds, right, weights).gap

    drawn = clusters(study.cluster[items], pattern.astype(np.int64), 6)
    point = single_answer_gap(kinds, right, drawn.weights())
    n = len(items)
    given = arm.answer[items, 0]
    answered = ~np.isnan(given)
    rows = [
        described(GATE, arm, "accuracy", float(point.accuracy[0]), n_items=n, note="read by the last mention"),
        described(GATE, arm, "share_negated", float(np.mean([one.is_negated for one in replies])), n_items=n),
        described(GATE, arm, "share_read_differently", float((answered & (given != last)).mean()), n_items=n),
    ]
    for place, kind in enumerate(_KINDS):
        rows.append(described(GATE, arm, f"share_{kind}", float(point.share[0, place]), n_items=n))
        value, why = float(point.accuracy_by[0, place]), f"no reply mentions {kind}"
        rows.append(described(GATE, arm, f"accuracy_{kind}", value, n_items=n, undefined=why))
    keys = {"gate": GATE, **arm.keys}
    gap = float(point.gap[0])
    if np.isnan(gap):
        why = f"none of {n:,} replies mentions exactly one option"
        rows.append(Row("gates", keys, "gap", np.nan, n_items=n, undefined=why))
        return rows, Judgement(arm, "undetermined", why, 1.0)
    rng = stream(study.seed, "gates", GATE)
    draws = bootstrap(statistic, drawn, n_replicates=study.replicates, rng=rng)
    interval = percentile_interval(draws, confidence=study.confidence)
    note = f"undefined in {share(interval.undefined_share)} of the replicates" if interval.undefined_share else ""
    ends = (interval.low, interval.high, study.confidence, "percentile bootstrap", study.unit)
    rows.append(Row("gates", keys, "gap", gap, *ends, n, note=note))
    verdict: Verdict = "fail" if gap > LARGEST_GAP else "warn" if interval.high > LARGEST_GAP else "pass"
    text = (
        f"gap {short(gap)} ({study.confidence * 100:g} % interval {short(interval.low)} to {short(interval.high)}; "
        f"accuracy {short(float(point.accuracy[0]))}, over single mentions {short(float(point.accuracy_single[0]))}; "
        f"{share(float(point.share[0, 0]))} of the replies mention no option, "
        f"{share(float(point.share[0, 2]))} several)"
    )
    return rows, Judgement(arm, verdict, text, gap, ("gap", "share_many"))


SINGLE_ANSWER_GAP: Final = Gate(
    GATE,
    f"Is accuracy over replies with exactly one option at most {LARGEST_GAP:g} above accuracy over all replies?",
    "The number measures how replies are read: leave the arm out, or ask again so that replies are one option (room to "
    "finish, reasoning off), or read P(yes) for each option.",
    f"{PAPER}, section 3 (single-answer gap)",
    single_answer,
)
