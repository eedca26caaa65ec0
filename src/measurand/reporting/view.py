"""A result by criterion: which criteria there are, their rows, sizes and findings. Nothing is computed but counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from measurand.reporting.blocks import Block, Text
from measurand.reporting.words import UNBIASED
from measurand.result import Finding, Key, Result, Row
from measurand.result.words import clean, worst_first


class View:
    """The rows of a result by criterion, analysis and statistic.

    Parameters
    ----------
    result : Result
        A whole audit, or the result of a single step; what is not there is not shown.

    Examples
    --------
    >>> view = View(Result([Row("design", {}, "n_items", 290)]))
    >>> view.size("", "n_items"), view.size("", "n_raters")
    (290, None)
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        design = result.settings.get("design", {}).get("criteria", {})
        self.about: Mapping[str, Mapping[str, Any]] = design
        named = [str(row.keys.get("criterion", "")) for row in result.rows if row.analysis != "design"]
        of_design = [str(row.keys.get("criterion", "")) for row in result.rows]
        found = list(design) or list(dict.fromkeys(named)) or list(dict.fromkeys(of_design))
        if not found:
            found = list(dict.fromkeys(finding.criterion for finding in result.findings))
        self.criteria: list[str] = found
        self._rows: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
        for row in result.rows:
            criterion = str(row.keys.get("criterion", ""))
            # The design of a single criterion is that of everything, and carries no name.
            if row.analysis == "design" and len(found) == 1:
                criterion = found[0]
            self._rows[criterion, row.analysis, row.statistic].append(row)

    def rows(self, criterion: str, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of one criterion whose keys have the given values."""
        found = self._rows.get((criterion, analysis, statistic), [])
        wanted = (keys or {}).items()
        return [row for row in found if all(row.keys.get(k, "") == v for k, v in wanted)]

    def first(self, criterion: str, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the first such row, None if there is none."""
        found = self.rows(criterion, analysis, statistic, keys)
        return found[0] if found else None

    def defined(
        self, criterion: str, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None
    ) -> list[Row]:
        """Return the rows that have a number."""
        return [row for row in self.rows(criterion, analysis, statistic, keys) if not row.undefined]

    def reason(self, criterion: str, analysis: str) -> str:
        """Return why an analysis gave no number, blank if it gave one or is not there."""
        found = [
            row for (name, of, _), rows in self._rows.items() if (name, of) == (criterion, analysis) for row in rows
        ]
        if not found or any(not row.undefined for row in found):
            return ""
        return found[0].undefined

    def undefined(self, criterion: str, analysis: str) -> list[Block]:
        """Return the sentence that says why an analysis gave no number; empty if it gave one or is not there."""
        reason = self.reason(criterion, analysis)
        return [Text(f"Not defined here: {clean(reason)}.")] if reason else []

    def size(self, criterion: str, name: str) -> int | None:
        """Return a count of the design, from the sample of the coefficients where there is no design."""
        row = self.first(criterion, "design", name)
        if row is not None:
            return int(row.estimate)
        for row in self.rows(criterion, "generalizability", "g"):
            size = {"n_items": row.n_items, "n_raters": row.n_raters}.get(name)
            # An estimator that is not defined here rests on nothing.
            if size is not None:
                return size
        return None

    def level(self, criterion: str) -> str:
        """Return the declared level of measurement, ordinal where none is declared (as the findings do)."""
        level = str(self.about.get(criterion, {}).get("level", ""))
        return level if level in ("nominal", "ordinal", "interval", "ratio") else "ordinal"

    def unbiased(self, criterion: str, analysis: str, statistic: str) -> str:
        """Return the estimator without bias that has numbers here: anova, or Henderson's; blank if neither has."""
        found = {row.keys["estimator"] for row in self.defined(criterion, analysis, statistic)}
        return next((name for name in UNBIASED if name in found), "")

    def why_not(self, criterion: str, analysis: str, statistic: str) -> dict[str, list[Row]]:
        """Return the rows without a number by their reason."""
        reasons: dict[str, list[Row]] = {}
        for row in self.rows(criterion, analysis, statistic):
            if row.undefined:
                reasons.setdefault(row.undefined, []).append(row)
        return reasons

    def here(self, criterion: str, statistic: str, estimator: str) -> Row | None:
        """Return a coefficient at the panel's own size."""
        keys: dict[str, Key] = {"estimator": estimator}
        for key, name in (("at_items", "n_items"), ("at_raters", "n_raters")):
            size = self.size(criterion, name)
            if size is not None:
                keys[key] = size
        return self.first(criterion, "generalizability", statistic, keys)

    def findings(self, criterion: str) -> list[Finding]:
        """Return the findings of one criterion, worst first."""
        return worst_first([f for f in self.result.findings if f.criterion == criterion])
