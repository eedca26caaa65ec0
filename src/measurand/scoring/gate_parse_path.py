"""Does the score depend on which of several admissible ways of reading replies is taken?"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import WITHOUT_REPLY, Arm
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described
from measurand.scoring.gate_replies import Numbers, is_negated, numbers
from measurand.scoring.gate_single_answer import label_replies
from measurand.scoring.gate_study import Study
from measurand.sentences import share, short
from measurand.stats.inference import FloatArray

GATE: Final = "parse-path"
#: Spread over ways of reading that is none, and the largest that only warns (thresholds of this library).
SPREAD_PASSES: Final = 0.01
SPREAD_WARNS: Final = 0.05
#: Nothing but the answer is a way of reading only where that is what at least this share of the replies are.
STRICT_FROM: Final = 0.5

_FORMS: Final = ("strict", "repaired", "prose", "ambiguous", "none")


def parse_path(study: Study) -> Judged:
    """Judge how far the score moves between admissible ways to read the replies.

    Ways: the first mention, the last, the only one (several are unread), nothing but the answer (where at least half
    of the replies are that), and the answers as the table has them. Of labels the spread of accuracy counts (unread is
    wrong), of numbers the larger of two: the share of replies whose first and last number differ, and the spread of
    the mean answer in units of the answers' range. Passes below .01, warns up to .05, fails above. An answer whose
    reply holds none was made up: the share of such counts like the spread, and any warns.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    if arm.readout in WITHOUT_REPLY:
        return [], Judgement(arm, "not_applicable", f"the readout {arm.readout!r} does not read replies")
    if arm.reply is None or not arm.has_replies:
        return [], Judgement(arm, "not_applicable", "no replies are stored (column reply)")
    return _of_labels(study, arm) if study.are_labels else _of_numbers(study, arm)


def _of_labels(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    read = label_replies(study, arm)
    if isinstance(read, str) or study.truth is None:
        return [], Judgement(arm, "undetermined", str(read))
    items, replies = read
    n, truth = len(items), study.truth[items]
    n_distinct = np.array([one.n_distinct for one in replies])
    first = np.array([one.options[0] if one.options else -1 for one in replies])
    last = np.array([one.options[-1] if one.options else -1 for one in replies])
    is_strict = np.array([one.is_strict for one in replies])
    given = np.nan_to_num(arm.answer[items, 0], nan=-1)
    ways = {
        "first": first,
        "last": last,
        "only": np.where(n_distinct == 1, last, -1),
        "strict": np.where(is_strict, last, -1),
        "given": given,
    }
    rows = []
    accuracy = {way: float((answers == truth).mean()) for way, answers in ways.items()}
    for way, value in accuracy.items():
        rows.append(described(GATE, arm, f"accuracy_{way}", value, n_items=n, note="unread is wrong"))
        rows.append(described(GATE, arm, f"share_read_{way}", float((ways[way] >= 0).mean()), n_items=n))
    counted = [way for way in ways if way != "strict" or is_strict.mean() >= STRICT_FROM]
    made_up = float(((given >= 0) & (n_distinct == 0)).mean())
    rows.append(described(GATE, arm, "share_made_up", made_up, n_items=n, note="answers whose reply holds none"))
    low, high = (pick(counted, key=lambda way: accuracy[way]) for pick in (min, max))
    spread = accuracy[high] - accuracy[low]
    rows.append(described(GATE, arm, "spread", spread, n_items=n, note=f"over {', '.join(counted)}"))
    text = f"accuracy from {short(accuracy[low])} ({low}) to {short(accuracy[high])} ({high})"
    text += f", {share(made_up)} of the answers have no answer in their reply" if made_up else ""
    return rows, Judgement(arm, _verdict(spread, made_up), text, max(spread, made_up), ("spread",))


def _of_numbers(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    item, criterion = np.nonzero(arm.is_asked)
    texts = arm.reply[item, criterion] if arm.reply is not None else np.zeros(0, dtype=object)
    read = _read_all(texts, criterion, study.criteria)
    given = arm.answer[item, criterion]
    n_items = len(np.unique(item))
    forms = np.array([one.form for one in read])
    has = np.array([bool(one.candidates) for one in read])
    rows = [
        described(GATE, arm, f"share_{form}", float((forms == form).mean()), n_items=n_items, note="of the replies")
        for form in _FORMS
    ]
    rows.append(described(GATE, arm, "share_negated", float(np.mean([is_negated(t) for t in texts])), n_items=n_items))
    if not has.any():
        return rows, Judgement(arm, "undetermined", "no reply holds a number", 1.0)
    first = np.array([one.candidates[0] if one.candidates else np.nan for one in read])
    last = np.array([one.candidates[-1] if one.candidates else np.nan for one in read])
    is_only = np.array([one.n_distinct == 1 for one in read])
    is_strict = forms == "strict"
    differing = float((first != last)[has].mean())
    ways: dict[str, FloatArray] = {
        "first": first,
        "last": last,
        "only": np.where(is_only, last, np.nan),
        "strict": np.where(is_strict & is_only, last, np.nan),
        "given": given,
    }
    means = {way: float(np.nanmean(v)) if (~np.isnan(v)).any() else np.nan for way, v in ways.items()}
    for way, value in means.items():
        rows.append(described(GATE, arm, f"mean_{way}", value, n_items=n_items, undefined="this way reads no reply"))
    known = given[~np.isnan(given)]
    of = known if len(known) else np.r_[first[has], last[has]]
    extent = float(of.max() - of.min())
    counted = [
        way for way, v in means.items() if not np.isnan(v) and (way != "strict" or is_strict.mean() >= STRICT_FROM)
    ]
    low, high = (pick(counted, key=lambda way: means[way]) for pick in (min, max))
    moved = means[high] - means[low]
    spread = moved / extent if extent > 0 else float(moved > 0)
    answered = ~np.isnan(given)
    made_up = float((answered & ~has).mean())
    rows += [
        described(GATE, arm, "share_first_is_not_last", differing, n_items=n_items, note="of replies with a number"),
        described(GATE, arm, "spread", spread, n_items=n_items, note=f"of means over {', '.join(counted)}, per range"),
        described(GATE, arm, "share_made_up", made_up, n_items=n_items, note="answers whose reply holds no number"),
        described(
            GATE,
            arm,
            "share_read_differently",
            float((answered & has & (given != first) & (given != last)).mean()),
            n_items=n_items,
        ),
    ]
    text = (
        f"first and last number differ in {share(differing)} of the replies, the mean answer goes from "
        f"{short(means[low])} ({low}) to {short(means[high])} ({high})"
    )
    text += f", {share(made_up)} of the answers have no number in their reply" if made_up else ""
    worst = max(differing, spread)
    return rows, Judgement(
        arm, _verdict(worst, made_up), text, max(worst, made_up), ("share_first_is_not_last", "spread")
    )


def _verdict(spread: float, made_up: float) -> Verdict:
    worst = max(spread, made_up)
    if worst > SPREAD_WARNS:
        return "fail"
    return "warn" if worst >= SPREAD_PASSES or made_up > 0 else "pass"


def _read_all(texts: npt.NDArray[np.object_], criterion: npt.NDArray[np.intp], names: list[str]) -> list[Numbers]:
    """Read each different reply once for each criterion: a reply that answers all criteria stands in all their rows."""
    codes, distinct = pd.factorize(texts)
    known: dict[tuple[int, int], Numbers] = {}
    out = []
    for code, place in zip(codes.tolist(), criterion.tolist(), strict=True):
        if (code, place) not in known:
            known[code, place] = numbers(str(distinct[code]), names[place])
        out.append(known[code, place])
    return out


PARSE_PATH: Final = Gate(
    GATE,
    "Is the score the same whichever admissible way the replies are read?",
    "Ask for replies that are nothing but the answer (JSON with one number), store what could not be read as invalid, "
    "and show the score under each way of reading.",
    "Generalised single-answer gap; thresholds of this library",
    parse_path,
)
