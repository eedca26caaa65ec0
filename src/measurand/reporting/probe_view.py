"""A probe of outputs by what a page asks of it: its systems and languages, and every row by its keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from measurand.reporting.blocks import Cell, name_cell
from measurand.reporting.words import distinct
from measurand.result import Key, Result, Row

#: Letters of a name in a table, and how many more may be needed to tell names apart.
_NAME: Final = 32
_LONGEST: Final = 64
_Keys = frozenset[tuple[str, Key]]


class Probe:
    """The rows of a probe by analysis, statistic and keys.

    Parameters
    ----------
    result : Result
        What `measurand.probe` made, or one of its analyses.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self._rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        self._index: dict[tuple[str, str, _Keys], Row] = {}
        for row in result.rows:
            self._rows[row.analysis, row.statistic].append(row)
            self._index.setdefault((row.analysis, row.statistic, _filled(row.keys)), row)

    def settings(self, analysis: str) -> Mapping[str, Any]:
        """Return the settings of an analysis, empty if it is not there."""
        return self.result.settings.get(analysis, {})

    def get(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the row with exactly these keys, all others blank; None if there is none."""
        return self._index.get((analysis, statistic, _filled(keys or {})))

    def rows(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows whose keys have the given values, whatever their other keys are."""
        wanted = (keys or {}).items()
        found = self._rows.get((analysis, statistic), [])
        return [row for row in found if all(row.keys.get(name, "") == value for name, value in wanted)]

    def defined(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return such rows that have a number."""
        return [row for row in self.rows(analysis, statistic, keys) if not row.undefined]

    def of(self, analysis: str, key: str, keys: Mapping[str, Key] | None = None) -> list[Key]:
        """Return the values of one key that are not blank, in order of appearance."""
        wanted = (keys or {}).items()
        return list(
            dict.fromkeys(
                row.keys[key]
                for (name, _), rows in self._rows.items()
                if name == analysis
                for row in rows
                if row.keys.get(key, "") != "" and all(row.keys.get(k, "") == v for k, v in wanted)
            )
        )

    def has(self, analysis: str) -> bool:
        """Say whether an analysis is there with a row."""
        return any(name == analysis for name, _ in self._rows)

    @cached_property
    def _width(self) -> int:
        """Letters that tell all systems and vectors apart."""
        analyses = ("outputs", "units", "decodability", "leakage", "cost")
        names = [name for analysis in analyses for name in self.of(analysis, "system")]
        return distinct([*names, *self.of("geometry", "vectors")], _NAME, _LONGEST)

    def named(self, name: Key, blank: str = "(blank)") -> Cell:
        """Return the cell of a system or of vectors, with as many letters as tell them apart."""
        return name_cell(name, self._width, blank)


def _filled(keys: Mapping[str, Key]) -> _Keys:
    return frozenset((name, value) for name, value in keys.items() if value != "")


def best_first(rows: Sequence[Row]) -> list[Row]:
    """Return rows from the highest number to the lowest, those without one last."""
    return sorted(rows, key=lambda row: (bool(row.undefined), -row.estimate if not row.undefined else 0.0))


def is_main(row: Row) -> bool:
    """Say whether a number of decodability is of all seeds and training items, of no control, and not of refits."""
    others = ("seed", "control", "class", "n_train", "train", "test", "against")
    return all(row.keys.get(key, "") == "" for key in others) and not is_refitted(row)


def is_refitted(row: Row) -> bool:
    """Say whether the interval of a number of decodability counts what other training items would change."""
    return "again" in row.method
