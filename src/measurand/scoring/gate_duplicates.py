"""How many items get exactly the answers of another item, and is that more than people or chance would do?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.data.ratings import combine_codes
from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described
from measurand.scoring.gate_study import Human, Study
from measurand.sentences import share
from measurand.stats.inference import FloatArray, IntArray, stream

GATE: Final = "duplicated-answers"
#: Excess over single raters that is none; over independent criteria, which is no human standard, a little more; and
#: the excess that fails (thresholds of this library).
EXCESS_PASSES: Final = 0.01
EXCESS_PASSES_WITHOUT_RATERS: Final = 0.05
EXCESS_WARNS: Final = 0.5
#: Where independent criteria with these marginals would already make so many duplicates, they say nothing.
MOST_BY_CHANCE: Final = 0.5
_SHUFFLES: Final = 9
#: Raters with fewer wholly rated items are left out.
_FEWEST_ITEMS: Final = 10


def duplicated_answers(study: Study) -> Judged:
    """Judge the share of items whose answers to all criteria are those of another item.

    Two shares are natural: that of single raters (an arm is held to each rater on the items that this rater rated),
    and that which independent criteria with the arm's own marginals would give. Passes up to .01 above the larger of
    both (.05 without ratings), warns up to .5 above, fails from there on, and where every criterion is constant. Not
    applicable to one criterion, nor where independent criteria alone would give more than one half.
    """
    out = Judged()
    raters = _raters(study.human, len(study.criteria)) if study.human is not None else []
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm, raters))
    return out


def _of_arm(study: Study, arm: Arm, raters: list[tuple[IntArray, float]]) -> tuple[list[Row], Judgement]:
    items = np.flatnonzero(arm.is_answered.any(axis=1))
    if arm.answer.shape[1] < 2:
        return [], Judgement(arm, "not_applicable", "there is one criterion: equal answers are no copies")
    if len(items) < 2:
        return [], Judgement(arm, "undetermined", "fewer than two items have an answer")
    codes = _codes(arm.answer[items])
    vector = combine_codes(list(codes.T), [int(code.max()) + 1 for code in codes.T])
    found = _share_duplicated(vector)
    n = len(items)
    rows = [described(GATE, arm, "share_duplicated", found, n_items=n)]
    rows.append(described(GATE, arm, "n_distinct_vectors", float(len(np.unique(vector))), n_items=n))
    if (codes.max(axis=0) == 0).all():
        return rows, Judgement(arm, "fail", "every item has the same answers", 1.0, ("share_duplicated",))
    rng = stream(study.seed, "gates", GATE, arm.name)
    expected = float(np.mean([_share_duplicated(_shuffled(codes, rng)) for _ in range(_SHUFFLES)]))
    note = f"mean of {_SHUFFLES} shuffles within criteria"
    rows.append(described(GATE, arm, "share_if_independent", expected, n_items=n, note=note))
    own, human = _beside_raters(vector, items, raters, len(study.items))
    excess = found - expected
    text = f"{share(found)} of the items have the answers of another item"
    text += f", {share(expected)} if criteria were independent"
    if not np.isnan(human):
        rows.append(described(GATE, arm, "share_of_raters", human, note="mean over single raters"))
        rows.append(described(GATE, arm, "share_on_items_of_raters", own, note="this arm, on each rater's items"))
        excess = min(excess, own - human)
        text += f", {share(human)} among single raters (this arm on their items: {share(own)})"
    if expected > MOST_BY_CHANCE:
        text = f"its answers are so few that more than {share(MOST_BY_CHANCE)} of the items repeat another's by chance"
        return rows, Judgement(arm, "not_applicable", text)
    allowed = EXCESS_PASSES_WITHOUT_RATERS if np.isnan(human) else EXCESS_PASSES
    verdict: Verdict = "pass" if excess <= allowed else "warn" if excess < EXCESS_WARNS else "fail"
    return rows, Judgement(arm, verdict, text, excess, ("share_duplicated", "share_if_independent"))


def _codes(values: FloatArray) -> IntArray:
    """Return answers as small whole numbers, column by column; no answer is a value of its own."""
    columns = [np.unique(column, return_inverse=True, equal_nan=True)[1] for column in values.T]
    return np.asarray(np.column_stack(columns), dtype=np.int64)


def _share_duplicated(vector: IntArray) -> float:
    counts = np.unique(vector, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(vector))


def _shuffled(codes: IntArray, rng: np.random.Generator) -> IntArray:
    shuffled = rng.permuted(codes, axis=0)
    return combine_codes(list(shuffled.T), [int(code.max()) + 1 for code in shuffled.T])


def _raters(human: Human, n_criteria: int) -> list[tuple[IntArray, float]]:
    """Return for each rater the items that they rated on all criteria, and their own share of duplicated vectors."""
    out = []
    needed = len(np.unique(human.criterion))
    if needed < 2:
        return []
    order = np.lexsort((human.criterion, human.item, human.rater))
    starts = np.flatnonzero(np.r_[True, np.diff(human.rater[order]) != 0])
    for rows in np.split(order, starts[1:]):
        items, position, counts = np.unique(human.item[rows], return_inverse=True, return_counts=True)
        whole = counts == needed
        if whole.sum() < _FEWEST_ITEMS:
            continue
        table = np.full((len(items), n_criteria), np.nan)
        table[position, human.criterion[rows]] = human.rating[rows]
        codes = _codes(table[whole])
        vector = combine_codes(list(codes.T), [int(code.max()) + 1 for code in codes.T])
        out.append((items[whole], _share_duplicated(vector)))
    return out


def _beside_raters(
    vector: IntArray, items: IntArray, raters: list[tuple[IntArray, float]], n_items: int
) -> tuple[float, float]:
    """Return the mean share of duplicates of the arm on each rater's items, and that of the raters themselves."""
    place = np.full(n_items, -1, dtype=np.int64)
    place[items] = np.arange(len(items))
    own, human = [], []
    for rated, theirs in raters:
        common = place[rated]
        common = common[common >= 0]
        if len(common) >= max(_FEWEST_ITEMS, len(rated) // 2):
            own.append(_share_duplicated(vector[common]))
            human.append(theirs)
    return (float(np.mean(own)), float(np.mean(human))) if own else (np.nan, np.nan)


DUPLICATED_ANSWERS: Final = Gate(
    GATE,
    "Do items get the answers of other items more often than people's ratings and chance would make it?",
    "Look at the items that share their answers: an input that never arrived, an answer copied from the prompt's "
    "example, or a cache that served another item's reply.",
    "Duplicate rate of whole answer vectors; thresholds of this library",
    duplicated_answers,
)
