"""A plan by what a page asks of it: its criteria, the designs by what they are for, and every row by its keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from measurand.result import Key, Result, Row, show_number
from measurand.result.words import plural
from measurand.sentences import price

#: Who rates what, as tables have it.
LAYOUT: Final = {"as_rated": "as it is", "crossed": "crossed", "rotating": "rotating", "nested": "nested"}
_SIZES: Final = ("at_raters", "at_items", "at_items_per_rater")


@dataclass(frozen=True)
class Designed:
    """One design of a plan with its numbers; without sizes, why there is none.

    Parameters
    ----------
    keys : mapping
        What names it, without blanks.
    rows : mapping
        Statistic to its row.
    """

    keys: Mapping[str, Key]
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def layout(self) -> str:
        """Who rates what."""
        return str(self.keys.get("layout", ""))

    @property
    def is_there(self) -> bool:
        """Whether there is such a design at all."""
        return "at_raters" in self.keys

    @property
    def undefined(self) -> str:
        """Why there is none."""
        return next((row.undefined for row in self.rows.values() if row.undefined), "")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Raters, items, and items for each rater (0 where they differ)."""
        raters, items, each = (int(self.keys.get(name, 0)) for name in _SIZES)
        return raters, items, each

    @property
    def coefficient(self) -> Row | None:
        """The row of G, or of Phi."""
        return self.rows.get("g", self.rows.get("phi"))

    @property
    def cost(self) -> float | None:
        """What it costs, None where there is no design."""
        row = self.rows.get("cost")
        return None if row is None or row.undefined else row.estimate

    @property
    def price(self) -> str:
        """What it costs, in words: from one end to the other where draws leave it open."""
        row = self.rows.get("cost")
        return "–" if row is None or row.undefined else price(row)


class Plan:
    """The rows of a plan by criterion, analysis and statistic.

    Parameters
    ----------
    result : Result
        What `measurand plan` made, or one of its analyses.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        own = [row for row in result.rows if row.analysis in ("plan", "power")]
        self.criteria: list[str] = list(dict.fromkeys(str(row.keys.get("criterion", "")) for row in own))
        self.formula = next((str(row.keys["formula"]) for row in own if row.keys.get("formula", "")), "")
        self._own: dict[str, list[Row]] = defaultdict(list)
        self._rows: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in own:
            self._own[str(row.keys.get("criterion", ""))].append(row)
            self._rows[str(row.keys.get("criterion", "")), row.analysis, row.statistic].append(row)

    def settings(self, analysis: str) -> Mapping[str, Any]:
        """Return the settings of an analysis, empty if it is not there."""
        return self.result.settings.get(analysis, {})

    def asked(self, name: str, default: Any = None) -> Any:
        """Return a setting of the plan, or else of the power."""
        return self.settings("plan").get(name, self.settings("power").get(name, default))

    @property
    def letter(self) -> str:
        """The coefficient that is planned for."""
        return "Phi" if self.asked("coefficient") == "phi" else "G"

    @property
    def wanted(self) -> str:
        """The coefficient with its target, as sentences have it."""
        return f"{self.letter} {show_number(float(self.asked('target', 0.8)))}"

    @property
    def bounds(self) -> str:
        """The largest panel that could be had."""
        raters, items = (int(self.asked(name, 0)) for name in ("most_raters", "most_items"))
        if most := self.asked("most_per_rater"):
            return f"{plural(raters, 'rater')}, {plural(items, 'item')} and {plural(int(most), 'judgement')} of a rater"
        return f"{plural(raters, 'rater')} and {plural(items, 'item')}"

    @property
    def confidence(self) -> str:
        """The level of the intervals."""
        return f"{100 * float(self.asked('confidence', 0.95)):g} %"

    @property
    def is_priced(self) -> bool:
        """Whether costs were given; else judgements are counted."""
        return (self.asked("cost_rater", 0), self.asked("cost_item", 0), self.asked("cost_judgement", 1)) != (0, 0, 1)

    def rows(self, criterion: str, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of one criterion whose keys have the given values."""
        wanted = (keys or {}).items()
        found = self._rows.get((criterion, analysis, statistic), [])
        return [row for row in found if all(row.keys.get(k, "") == v for k, v in wanted)]

    def first(self, criterion: str, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the first such row that has a number, else the first; None if there is none."""
        found = self.rows(criterion, analysis, statistic, keys)
        return next((row for row in found if not row.undefined), found[0] if found else None)

    def estimators(self, criterion: str) -> list[str]:
        """Return the estimators, the unbiased one first."""
        return list(dict.fromkeys(str(row.keys.get("estimator", "")) for row in self._own[criterion]))

    def unbiased(self, criterion: str) -> str:
        """Return the first estimator, which is the one without bias."""
        return next(iter(self.estimators(criterion)), "")

    def fault(self, criterion: str) -> str:
        """Return why nothing could be planned or found for a criterion, blank if something could."""
        own = [row for row in self._own[criterion] if row.statistic != "n_systems"]
        return own[0].undefined if own and all(row.undefined for row in own) else ""

    def designs(self, criterion: str, basis: str, estimator: str = "", *, analysis: str = "plan") -> list[Designed]:
        """Return the designs of one basis in the order of the rows; of the power they have a difference."""
        wanted: dict[str, Key] = {"estimator": estimator or self.unbiased(criterion)}
        if analysis == "plan":
            wanted["basis"] = basis
        found: dict[tuple[tuple[str, Key], ...], Designed] = {}
        for row in self._own[criterion]:
            keys = {k: v for k, v in row.keys.items() if v != "" and k != "criterion"}
            is_design = analysis == "plan" or ("difference" in keys and keys["layout"] != "as_rated")
            if row.analysis == analysis and is_design and all(keys.get(k, "") == v for k, v in wanted.items()):
                found.setdefault(tuple(sorted(keys.items())), Designed(keys)).rows[row.statistic] = row
        return list(found.values())

    def as_rated(self, criterion: str, estimator: str = "") -> Designed | None:
        """Return the panel itself."""
        return next(iter(self.designs(criterion, "as_rated", estimator)), None)

    def needed(self, criterion: str, layout: str = "", estimator: str = "") -> Row | None:
        """Return what the target costs at all."""
        keys: dict[str, Key] = {"layout": layout, "estimator": estimator or self.unbiased(criterion)}
        return self.first(criterion, "plan", "cost_needed", keys)

    def n_systems(self, criterion: str) -> int | None:
        """Return how many systems were rated; in older results from what a design counts of its judgements."""
        if told := self.first(criterion, "plan", "n_systems"):
            return round(told.estimate)
        for row in self.rows(criterion, "plan", "n_judgements") + self.rows(criterion, "power", "n_judgements"):
            raters, each = row.keys.get("at_raters", ""), row.keys.get("at_items_per_rater", "")
            if raters and each:
                return round(row.estimate / (int(raters) * int(each)))
        return None

    def sample(self, criterion: str) -> tuple[int | None, int | None]:
        """Return the items and raters of the panel."""
        for row in self._own[criterion]:
            if row.n_items is not None:
                return row.n_items, row.n_raters
        return None, None


def panel_words(design: Designed) -> str:
    """Return the sizes of a design in a few words: raters, and what each of them rates."""
    raters, items, each = design.sizes
    if design.layout == "nested":
        return f"{plural(raters, 'rater')} × {plural(each, 'item')} of their own"
    if design.layout == "rotating":
        return f"{plural(raters, 'rater')} × {each:,} of {plural(items, 'item')}"
    return f"{plural(raters, 'rater')}{' × ' if each else ', '}{plural(items, 'item')}"


def per_item(design: Designed) -> int:
    """Return how many raters an item has, 0 where items differ."""
    raters, items, each = design.sizes
    return raters * each // items if items else 0


def layout_words(layout: str) -> str:
    """Return a layout as a table has it."""
    return LAYOUT.get(layout, layout)


def cheapest(designs: Sequence[Designed]) -> Designed | None:
    """Return the cheapest of the designs that are there."""
    there = [one for one in designs if one.is_there and one.cost is not None]
    return min(there, key=lambda one: one.cost or 0.0, default=None)
