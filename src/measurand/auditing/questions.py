"""What every finding needs: the rows of one criterion, and numbers as sentences have them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from measurand.result import Finding, Key, Row, Verdict

ALPHA: Final = 0.05
RELIABLE_AGREEMENT: Final = 0.667
CORRELATION_GAP: Final = 0.1
MOST_COPIED: Final = 0.01
MISSINGNESS_P: Final = 0.001
MISSINGNESS_EFFECT: Final = 0.2
#: Share of the scale's range within which every interval must lie if no difference is to pass (of categories: this
#: difference of shares); where one is wider, nothing is known.
MISSINGNESS_MARGIN: Final = 0.25
#: Share of a rater's ratings on one value that counts as straight-lining where the others do not share it.
MODAL_SHARE: Final = 0.95
MODAL_SHARE_OF_OTHERS: Final = 0.8
FEWEST_FOR_STYLE: Final = 20
#: Drift over a rater's work, in standard deviations of the panel's ratings, above which a significant one fails.
DRIFT: Final = 0.25

PAPER: Final = "Sakhawat 2026, arXiv 2609.29445"


class Rows:
    """The rows of one criterion, by analysis and statistic."""

    def __init__(self, rows: Sequence[Row], criterion: str, about: Mapping[str, Any], target: float) -> None:
        self.criterion = criterion
        self.about = about
        self.target = target
        self._by: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            self._by[row.analysis, row.statistic].append(row)

    def all(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of a statistic whose keys have the given values."""
        wanted = (keys or {}).items()
        return [row for row in self._by[analysis, statistic] if all(row.keys.get(k, "") == v for k, v in wanted)]

    def first(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> Row | None:
        """Return the first such row, None if there is none."""
        found = self.all(analysis, statistic, keys)
        return found[0] if found else None

    def size(self, name: str) -> int:
        """Return a count of the design, 0 where it has none."""
        row = self.first("design", name)
        return int(row.estimate) if row else 0

    def here(self, statistic: str, estimator: str) -> Row | None:
        """G or Phi of the panel as it is: at its own size, or as rated where it has holes."""
        keys: dict[str, Key] = {"estimator": estimator, "at_items": self.size("n_items")}
        as_rated = self.first("generalizability", f"{statistic}_as_rated", {"estimator": estimator})
        return as_rated or self.first("generalizability", statistic, keys | {"at_raters": self.size("n_raters")})

    @property
    def unbiased(self) -> str:
        """The unbiased estimator of this panel's components: anova where it is complete, henderson where not."""
        row = self.first("components", "variance", {"estimator": "henderson"})
        return "anova" if row is None else "henderson"


def finding(
    rows: Rows,
    name: str,
    question: str,
    verdict: Verdict,
    statement: str,
    *,
    remedy: str = "",
    where: Sequence[Row | None] = (),
    source: str = "",
) -> Finding:
    """Return a finding of one criterion, with references to the rows that it rests on."""
    references = [row.reference() for row in where if row is not None]
    return Finding(name, question, verdict, statement, remedy, rows.criterion, references, source)


def without_systems(rows: Rows, name: str, question: str) -> Finding | None:
    """Return the answer to a question about systems where there are not two of them."""
    if rows.size("n_systems") == 0:
        statement = "There are no systems in this table: the ratings concern the items themselves."
        return finding(rows, name, question, "not_applicable", statement)
    if rows.size("n_systems") == 1:
        return finding(rows, name, question, "not_applicable", "There is one system, so that nothing can be ranked.")
    return None


def undetermined(rows: Rows, name: str, question: str, row: Row | None, remedy: str, source: str = "") -> Finding:
    """Return the answer to a question whose numbers are undefined: the reason, and what would help."""
    reason = row.undefined if row is not None and row.undefined else "the numbers that it needs are missing"
    statement = f"Not determined: {reason}."
    return finding(rows, name, question, "undetermined", statement, remedy=remedy, where=[row], source=source)


COMPLETE: Final = "See what this layout supports with `measurand check`, and rate what it lacks."
