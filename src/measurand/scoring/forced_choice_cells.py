"""The numbers of one arm, on all its items or on those of one level, as statistics of weights and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.result import Key, Row
from measurand.scoring.forced_choice_arms import Chooser, Truth
from measurand.stats import classes
from measurand.stats.inference import FloatArray, IntArray, percentile_interval
from measurand.stats.ranking import ratio

#: Below this many redrawn units a percentile bootstrap carries a warning.
FEW_UNITS: Final = 20

#: Columns in front of the recall of each class; the contrasts look theirs up here.
FIXED: Final = ("accuracy", "accuracy_answered", "coverage", "macro_f1", "uar", "recall_head", "recall_tail")
OF_TIES: Final = ("share_tied", "share_within_margin", "accuracy_first", "accuracy_last", "order_effect")
_OF_ANSWERED: Final = ("accuracy_answered", "share_tied", "share_within_margin")


@dataclass(frozen=True)
class Cell:
    """One arm on all its items, or on those of one level."""

    arm: Chooser
    truth: Truth
    level: int

    @property
    def names(self) -> list[str]:
        """The statistics in the order of columns, recall of each class last."""
        return [*FIXED, *OF_TIES, *(["recall"] * len(self.arm.classes))]

    @property
    def inside(self) -> IntArray:
        """Positions of the items concerned."""
        return np.asarray(np.flatnonzero(self._here & self.arm.is_asked), dtype=np.int64)

    @property
    def _here(self) -> npt.NDArray[np.bool_]:
        return np.ones(len(self.arm.label), dtype=bool) if self.level < 0 else self.truth.level == self.level

    @property
    def _n_left_out(self) -> int:
        return int((self._here & (self.arm.label < 0)).sum())

    @property
    def _never_asked_for(self) -> list[str]:
        return [name for position, name in enumerate(self.truth.classes) if position not in self.arm.classes]

    def statistics(self, weights: FloatArray) -> FloatArray:
        """Return every statistic for every row of weights."""
        arm, inside = self.arm, self.inside
        drawn, label, answered = weights[:, inside], arm.label[inside], arm.is_answered[inside]
        counts = classes.confusion(arm.membership[inside], label, drawn)
        of_answered = counts.copy()
        for position in range(len(arm.classes)):
            of_answered[:, position, -1] -= drawn[:, (label == position) & ~answered].sum(axis=1)
        asked, usable = drawn.sum(axis=1), drawn @ answered
        recall = classes.recall_by_class(counts)
        columns = [
            classes.accuracy(counts),
            classes.accuracy(of_answered),
            ratio(usable, asked),
            classes.macro_f1(counts).value,
            classes.unweighted_average_recall(counts).value,
            *(recall[:, half].mean(axis=1) if len(half) else np.full(len(weights), np.nan) for half in self.halves),
        ]
        if arm.right:
            split, first, last = (ratio(drawn @ arm.right[rule][inside], asked) for rule in ("split", "first", "last"))
            columns += [ratio(drawn @ arm.is_tied[inside], usable), ratio(drawn @ arm.is_near[inside], usable)]
            columns += [first, last, np.maximum(np.abs(first - split), np.abs(last - split))]
        else:
            columns += [np.full(len(weights), np.nan)] * len(OF_TIES)
        return np.column_stack([*columns, recall])

    @property
    def halves(self) -> tuple[IntArray, IntArray]:
        """The more frequent and the rarer half of the classes, the middle one in neither; empty where a tie cuts."""
        offered = self.arm.label >= 0
        n = np.bincount(self.arm.label[offered], minlength=len(self.arm.classes))
        order, half = np.argsort(-n, kind="stable"), len(n) // 2
        empty = np.zeros(0, dtype=np.int64)
        head = order[:half] if n[order[half - 1]] > n[order[half]] else empty
        tail = order[-half:] if n[order[-half - 1]] > n[order[-half]] else empty
        return np.asarray(head, dtype=np.int64), np.asarray(tail, dtype=np.int64)

    def rows(self, estimates: FloatArray, draws: FloatArray, shown: dict[str, Key], confidence: float) -> list[Row]:
        """Return the rows of the cell."""
        arm, inside, rows = self.arm, self.inside, []
        group = "" if self.level < 0 else self.truth.levels[self.level]
        n_asked, n_answered = len(inside), int(arm.is_answered[inside].sum())
        sizes = np.bincount(arm.label[inside], minlength=len(arm.classes))
        n_units = len(np.unique(self.truth.cluster[inside]))
        for column, name in enumerate(self.names):
            of_class = column - (len(self.names) - len(arm.classes))
            keys: dict[str, Key] = {**arm.keys, "group": group, **shown}
            n = n_answered if name in _OF_ANSWERED else n_asked
            if name == "recall":
                keys["class"], n = self.truth.classes[arm.classes[of_class]], int(sizes[of_class])
            value, sample = float(estimates[column]), draws[:, column]
            more: dict[str, Any] = {"unit": self.truth.unit, "n_items": n}
            if np.isnan(value):
                reason = self._reason(name, n_asked, n_answered)
                rows.append(Row("forced_choice", keys, name, value, undefined=reason, **more))
                continue
            notes = [self._note(name, sizes, n_asked - n_answered)]
            if name == "order_effect":
                notes.append("describes this sample: no interval")
            elif n_units < 2:
                notes.append(f"no interval: there is one {self.truth.unit}")
            elif np.isnan(sample).all():
                notes.append("no interval: no replicate drew anything to compute it from")
            else:
                low, high, missing = percentile_interval(sample, confidence=confidence)
                more |= {"low": low, "high": high, "confidence": confidence, "method": "percentile bootstrap"}
                notes += [self._warning(low, high, missing, n_units)]
            rows.append(Row("forced_choice", keys, name, value, note="; ".join(filter(None, notes)), **more))
        return [*rows, *self._fixed(sizes, n_asked, n_answered, shown)]

    def _fixed(self, sizes: IntArray, n_asked: int, n_answered: int, shown: dict[str, Key]) -> list[Row]:
        """Counts, and what no system decides: they have no interval."""
        arm = self.arm
        group = "" if self.level < 0 else self.truth.levels[self.level]
        keys: dict[str, Key] = {**arm.keys, "group": group, **shown}
        never = ", ".join(self._never_asked_for)
        note = f"never asked for {never}: items of that label are left out" if never else ""
        majority = float(sizes.max() / n_asked) if n_asked else np.nan
        values: list[tuple[str, float, str]] = [
            ("chance", 1 / len(arm.classes), f"one of {len(arm.classes)} classes; no sample"),
            ("majority", majority, "always the most frequent class of these items; no interval"),
            ("n_failed", n_asked - n_answered, ""),
            ("n_not_asked", int((self._here & (arm.label >= 0) & ~arm.is_asked).sum()), ""),
            ("n_left_out", self._n_left_out, note),
        ]
        return [
            Row(
                "forced_choice",
                keys,
                name,
                value,
                n_items=n_asked,
                note=told,
                undefined="no item was asked" if np.isnan(value) else "",
            )
            for name, value, told in values
        ]

    def _reason(self, name: str, n_asked: int, n_answered: int) -> str:
        if n_asked == 0:
            return "no item was asked"
        if name in OF_TIES and not self.arm.right:
            return "the answer is the name of a class: nothing can be tied"
        if n_answered == 0 and name in _OF_ANSWERED:
            return "no item has a usable answer"
        if name in ("recall_head", "recall_tail") and not len(self.halves[name == "recall_tail"]):
            return "classes are equally frequent where the halves would part"
        return "no item of this class" if name == "recall" else "no item of one of these classes"

    def _note(self, name: str, sizes: IntArray, n_failed: int) -> str:
        """Say what the number counts that a reader might not expect."""
        if name == "accuracy":
            told = [f"{n_failed} without a usable answer count as wrong"] if n_failed else []
            if n := self._n_left_out:
                told.append(f"{n} items are left out: never asked for {', '.join(self._never_asked_for)}")
            return "; ".join(told)
        if name == "accuracy_answered" and n_failed:
            return f"{n_failed} without a usable answer are left out"
        if name in ("recall_head", "recall_tail"):
            half = self.halves[name == "recall_tail"]
            return "classes " + ", ".join(self.truth.classes[self.arm.classes[one]] for one in half)
        absent = int((sizes == 0).sum())
        if name == "uar" and absent:
            return f"{absent} of {len(sizes)} classes have no item here and are left out"
        if name == "macro_f1" and absent:
            return f"{absent} of {len(sizes)} classes have no item here: 0 where chosen, left out where not"
        return ""

    def _warning(self, low: float, high: float, missing: float, n_units: int) -> str:
        """Say what the interval does not cover."""
        notes = []
        if missing > 0:
            notes.append(f"{100 * missing:.2g} % of the replicates drew nothing to compute it from and are left out")
        if low == high:
            notes.append("every replicate gives this value: the interval says nothing about other items")
        elif n_units < FEW_UNITS:
            notes.append(f"{n_units} {self.truth.unit}s are few: the interval is too narrow")
        return "; ".join(notes)
