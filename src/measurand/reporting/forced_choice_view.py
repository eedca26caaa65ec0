"""A forced choice by what a page asks of it: its arms, classes and groups, and every row by its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from measurand.reporting.scores_view import Arm, arm_of, is_control
from measurand.result import Result, Row


class Choices:
    """The rows of a forced choice, by arm, group and class.

    Parameters
    ----------
    result : Result
        What forced choice against a truth made.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.settings: Mapping[str, Any] = result.settings.get("forced_choice", {})
        self._index: dict[tuple[str, Arm, str, str], Row] = {}
        found: list[Arm] = []
        self.classes: list[str] = list(self.settings.get("classes", []))
        self.groups: list[str] = []
        for row in result.rows:
            if row.analysis != "forced_choice":
                continue
            arm, group, of = arm_of(row), str(row.keys.get("group", "")), str(row.keys.get("class", ""))
            found.append(arm)
            self._index.setdefault((row.statistic, arm, group, of), row)
            if group and group not in self.groups:
                self.groups.append(group)
            if of and of not in self.classes:
                self.classes.append(of)
        every = list(dict.fromkeys(found))
        self.arms = sorted((arm for arm in every if not is_control(arm[1:])), key=self._place)
        self.controls = sorted((arm for arm in every if is_control(arm[1:])), key=self._place)

    def get(self, arm: Arm, statistic: str, group: str = "", of: str = "") -> Row | None:
        """Return a number of an arm."""
        return self._index.get((statistic, arm, group, of))

    def _place(self, arm: Arm) -> float:
        row = self.get(arm, "accuracy")
        return float("inf") if row is None or row.undefined else -row.estimate

    @property
    def unit(self) -> str:
        """What is redrawn."""
        return str(self.settings.get("over", "item"))

    @property
    def chances(self) -> list[float]:
        """The levels of chance of the arms, from lowest to highest."""
        rows = (self.get(arm, "chance") for arm in [*self.arms, *self.controls])
        return sorted({row.estimate for row in rows if row is not None and not row.undefined})
