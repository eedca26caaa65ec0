"""Is there any evidence that the input was seen?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.result.digits import show_rounded
from measurand.scoring.gate_arms import Arm, BoolArray
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described, graver
from measurand.scoring.gate_shuffle import Shuffled, shuffled
from measurand.scoring.gate_study import Study
from measurand.sentences import share, short
from measurand.stats.association import pearson
from measurand.stats.inference import FloatArray

GATE: Final = "input-sensitivity"
ALPHA: Final = 0.05
#: Share of items with the control's answers from which the input cannot have mattered (threshold of this library).
SAME_FAILS: Final = 0.9
#: Controls whose input is not the item's own, so that equal answers mean that it was not seen.
_OTHER_INPUT: Final = ("blank", "swapped")


def input_sensitivity(study: Study) -> Judged:
    """Judge whether answers depend on the item that they were given to.

    By shuffling, with ratings or labels: passes where fewer than .05 of the shuffles (whole answer vectors moved to
    other items) score as much, fails elsewhere. By controls, where there are arms with a blank or a swapped input:
    fails where at least .9 of the items have the control's answers, within numerical noise for probabilities. Without
    ratings, labels and controls undetermined.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    if not arm.is_answered.any():
        return [], Judgement(arm, "undetermined", "there is no answer")
    verdicts: list[Verdict] = []
    texts, statistics = [], []
    found = shuffled(study, arm)
    rows = shuffle_rows(GATE, arm, found)
    weight = 0.0
    if not isinstance(found, str):
        seen = found.p_above < ALPHA
        verdicts.append("pass" if seen else "fail")
        texts.append(
            f"{_spelled(found)} {short(found.score)} against {beside(found)} after shuffling the "
            f"items, p = {short(found.p_above)}" + ("" if seen else ": no evidence that the input was seen")
        )
        statistics.append("p_permutation")
        weight = found.p_above
    for control in study.controls_of(arm):
        if control.control not in _OTHER_INPUT:
            continue
        same, more = _beside(study, arm, control)
        rows += more
        if np.isnan(same):
            continue
        verdicts.append("fail" if same >= SAME_FAILS else "pass")
        texts.append(f"{share(same)} of the items have the answers of the {control.control} control")
        weight = max(weight, same)
    if not verdicts:
        why = "no control to compare with" if not isinstance(found, str) else f"{found}, and there is no control arm"
        return rows, Judgement(arm, "undetermined", why)
    return rows, Judgement(arm, graver(*verdicts), "; ".join(texts), weight, statistics)


def beside(found: Shuffled) -> str:
    """Return the mean score after shuffling, to the thousandth: what is beside a score says no more than that."""
    return show_rounded(float(found.draws.mean()), 0.01)


def _spelled(found: Shuffled) -> str:
    return found.statistic.replace("kappa_quadratic", "quadratic kappa")


def shuffle_rows(gate: str, arm: Arm, found: Shuffled | str) -> list[Row]:
    """Return the rows of a permutation test, or of its absence."""
    if isinstance(found, str):
        return [described(gate, arm, "p_permutation", np.nan, undefined=found)]
    keys = {"gate": gate, **arm.keys}
    n = found.n_items
    note = f"one-sided, {len(found.draws)} shuffles of whole answer vectors over items; a test has no interval"
    low = f"the same towards lower scores; {note}"
    best = found.attainable_p
    return [
        described(gate, arm, found.statistic, found.score, n_items=n, note=found.note),
        described(gate, arm, "mean_shuffled", float(found.draws.mean()), n_items=n),
        Row(
            "gates",
            keys,
            "p_permutation",
            found.p_above,
            method="permutation of items",
            unit="item",
            n_items=n,
            p=found.p_above,
            attainable_p=best,
            note=note,
        ),
        Row(
            "gates",
            keys,
            "p_below",
            found.p_below,
            method="permutation of items",
            unit="item",
            n_items=n,
            p=found.p_below,
            attainable_p=best,
            note=low,
        ),
    ]


def _beside(study: Study, arm: Arm, control: Arm) -> tuple[float, list[Row]]:
    """Return the share of items with the answers of a control, and rows of it under the control's keys."""
    own, other = arm.is_answered, control.is_answered
    items = np.flatnonzero(own.any(axis=1))
    theirs = np.flatnonzero(other.any(axis=1))
    if len(theirs) == 1 and control.control == "blank":
        # One blank input serves all items.
        pairs = np.column_stack([items, np.full(len(items), theirs[0])])
    else:
        common = np.intersect1d(items, theirs)
        pairs = np.column_stack([common, common])
    if not len(pairs):
        why = "the arm and its control have no item in common"
        return np.nan, [described(GATE, control, "share_equal", np.nan, undefined=why)]
    a, b = arm.answer[pairs[:, 0]], control.answer[pairs[:, 1]]
    # A question that only one of both was asked says nothing; one that only one of both answered is a difference.
    asked = arm.is_asked[pairs[:, 0]] & control.is_asked[pairs[:, 1]]
    comparable = asked.any(axis=1)
    if not comparable.any():
        why = "the arm and its control were asked no question in common"
        return np.nan, [described(GATE, control, "share_equal", np.nan, undefined=why)]
    a, b, asked = a[comparable], b[comparable], asked[comparable]
    n = len(a)
    noise = study.noise if arm.is_probability else 0.0
    exact, near = (_share_equal(a, b, asked, within=within) for within in (0.0, noise))
    rows = [
        described(GATE, control, "share_equal", exact, n_items=n, note="items with the same answers as the arm itself"),
        described(GATE, control, "share_equal_within_noise", near, n_items=n, note=f"noise {noise:g}"),
    ]
    if not study.are_labels:
        rows.append(_correlation(control, a, b))
    return near, rows


def _share_equal(a: FloatArray, b: FloatArray, asked: BoolArray, *, within: float) -> float:
    """Return the share of items whose answers are all equal; two that are both missing are."""
    same = (np.abs(a - b) <= within) | (np.isnan(a) & np.isnan(b))
    return float((same | ~asked).all(axis=1).mean())


def _correlation(control: Arm, a: FloatArray, b: FloatArray) -> Row:
    """Return the mean over criteria of the correlation of an arm's answers with its control's, item by item."""
    found = []
    for x, y in zip(a.T, b.T, strict=True):
        known = ~np.isnan(x) & ~np.isnan(y)
        if known.sum() > 2:
            found.append(float(pearson(x[known], y[known], np.ones((1, int(known.sum()))))[0]))
    defined = [r for r in found if not np.isnan(r)]
    why = "in no criterion do both vary"
    value = float(np.mean(defined)) if defined else np.nan
    note = f"Pearson within criterion, mean over {len(defined)}"
    return described(GATE, control, "correlation_with_arm", value, n_items=len(a), undefined=why, note=note)


INPUT_SENSITIVITY: Final = Gate(
    GATE,
    "Do answers depend on the items that they were given to?",
    "Check that the input arrives (ask what it shows, send a blank and a swapped one); before that nothing that these "
    "answers score is about the items.",
    "Permutation test of the score over items; Phipson & Smyth 2010 for p; rules of this library",
    input_sensitivity,
)
