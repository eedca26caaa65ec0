"""Do answers repeat the prompt's example, or one and the same set of criteria?"""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.result import Row, Verdict
from measurand.scoring.gate_arms import WITHOUT_REPLY, Arm, BoolArray
from measurand.scoring.gate_emission import emitted, no_emission
from measurand.scoring.gate_judgement import Gate, Judged, Judgement, described, graver
from measurand.scoring.gate_study import Study
from measurand.sentences import listed, share, short

GATE: Final = "example-echo"
#: Mean overlap with the example from which it fails and warns (thresholds of this library).
JACCARD_FAILS: Final = 0.9
JACCARD_WARNS: Final = 0.7
#: Share of items with one and the same set of criteria from which it warns.
SET_WARNS: Final = 0.5
#: Without an example, fewer criteria than this make the same sets by chance.
FEWEST_CRITERIA: Final = 5
#: A set of fewer criteria is no copy of anything.
LEAST_CRITERIA: Final = 2


def example_echo(study: Study) -> Judged:
    """Judge how far the criteria that answers say are there are those that the prompt's example named.

    Overlap is the Jaccard index of both sets, averaged over items: fails from .9, warns from .7. With or without an
    example warns where at least half of the items have one and the same set of two or more criteria. Readouts that ask
    criterion by criterion have no example to repeat, and only the second rule holds for them.
    """
    out = Judged()
    for arm in study.arms:
        if not arm.control:
            out.add(*_of_arm(study, arm))
    return out


def _of_arm(study: Study, arm: Arm) -> tuple[list[Row], Judgement]:
    found = emitted(study, arm)
    if isinstance(found, str):
        return no_emission(GATE, arm, "share_most_frequent_set", found), Judgement(arm, "not_applicable", found)
    there, items = found
    sets = there[items]
    n = len(sets)
    if study.example is None and there.shape[1] < FEWEST_CRITERIA:
        why = f"{there.shape[1]} criteria and no example: one and the same set is nothing unusual"
        return [], Judgement(arm, "not_applicable", why)
    if n < 2:
        return [], Judgement(arm, "undetermined", "one item: nothing can be the same throughout")
    rows, texts = [], []
    verdict: Verdict = "pass"
    weight = 0.0
    statistics = []
    if study.example is not None and arm.readout not in WITHOUT_REPLY:
        overlap = _jaccard(sets, study.example)
        rows.append(described(GATE, arm, "jaccard_with_example", overlap, n_items=n, note="mean over items"))
        equal = float((sets == study.example).all(axis=1).mean())
        rows.append(described(GATE, arm, "share_equal_to_example", equal, n_items=n))
        verdict = "fail" if overlap >= JACCARD_FAILS else "warn" if overlap >= JACCARD_WARNS else "pass"
        texts.append(f"overlap with the example {short(overlap)} on average, {share(equal)} of the items equal to it")
        weight = overlap
        statistics.append("jaccard_with_example")
    several = sets[sets.sum(axis=1) >= LEAST_CRITERIA]
    if len(several):
        distinct, counts = np.unique(several, axis=0, return_counts=True)
        most = int(counts.argmax())
        part = float(counts[most] / n)
        names = [name for name, is_in in zip(study.criteria, distinct[most], strict=True) if is_in]
        note = f"{len(names)} criteria: {listed(names, most=40)}"
        rows.append(described(GATE, arm, "share_most_frequent_set", part, n_items=n, note=note))
        verdict = graver(verdict, "warn" if part >= SET_WARNS else "pass")
        texts.append(f"{share(part)} of the items have one set of {len(names)} criteria ({listed(names)})")
        weight = max(weight, part)
        statistics.append("share_most_frequent_set")
    else:
        why = f"no item has {LEAST_CRITERIA} criteria"
        rows.append(described(GATE, arm, "share_most_frequent_set", np.nan, n_items=n, undefined=why))
        texts.append(why)
    return rows, Judgement(arm, verdict, ", ".join(texts), weight, statistics)


def _jaccard(sets: BoolArray, example: BoolArray) -> float:
    """Return the mean overlap; an item without any criterion has none with an example that names some."""
    both = (sets & example).sum(axis=1)
    return float((both / (sets | example).sum(axis=1)).mean())


EXAMPLE_ECHO: Final = Gate(
    GATE,
    "Are the criteria that answers name other ones than those of the prompt's example?",
    "Change the example's criteria and ask some items again: if the answers move with it, they are the example's.",
    "Prompt-example echo; thresholds of this library",
    example_echo,
)
