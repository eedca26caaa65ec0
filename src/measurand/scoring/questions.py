"""What every finding of a scoring run needs: its rows by name, its families of arms, and thresholds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from measurand.result import Finding, Key, Result, Row, Verdict
from measurand.scoring.contenders import BINARIZED
from measurand.scoring.contrasts import SIGNIFICANT
from measurand.scoring.run import Run
from measurand.scoring.spread import plain_families

#: Leakage of the oracle calibration, in kappa, that warns and that fails where it is significant.
LEAKAGE: Final = (0.005, 0.02)
#: Range of kappa over tie rules that warns and that fails.
TIE_RANGE: Final = (0.01, 0.05)
#: Share of replicates in which a criterion must be in the reliable set, or out of it, to be settled.
SETTLED: Final = 0.95
#: Kappa of a trivial baseline that is still next to nothing.
NEAR_ZERO: Final = 0.02

PAPER: Final = "Hallmen et al. 2026, arXiv 2610.08162"
_MOST_NAMED: Final = 4


class Told:
    """The rows of a scoring run by analysis and statistic, and what its findings are about."""

    def __init__(self, result: Result, run: Run) -> None:
        self.run = run
        self._by: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in result.rows:
            self._by[row.analysis, row.statistic].append(row)

    def all(self, analysis: str, statistic: str, keys: Mapping[str, Key] | None = None) -> list[Row]:
        """Return the rows of a statistic whose keys have the given values."""
        wanted = (keys or {}).items()
        return [row for row in self._by[analysis, statistic] if all(row.keys.get(k, "") == v for k, v in wanted)]

    @property
    def main(self) -> dict[str, Key]:
        """The keys of the scope that findings speak of."""
        return self.run.main.keys

    @cached_property
    def families(self) -> list[tuple[str, list[int]]]:
        """The protocols with their arms; controls, later attempts and the yes or no of probabilities left out."""
        grouped = [members for members in plain_families(self.run, fewest=1) if not self._is_derived(members[0])]
        out = []
        for members in grouped:
            keys = self.run.contenders[members[0]].keys
            told = ", ".join(str(keys[name]) for name in ("readout", "phrasing", "variant") if keys[name])
            out.append((told, members))
        return out

    def _is_derived(self, position: int) -> bool:
        return self.run.contenders[position].keys["readout"] == BINARIZED

    @property
    def arms(self) -> list[int]:
        """All arms that findings are about."""
        return [i for _, members in self.families for i in members]

    def system(self, position: int) -> str:
        """Return the name of an arm's system."""
        return str(self.run.contenders[position].keys["system"])

    @property
    def scope(self) -> str:
        """The main scope in words."""
        scope = self.run.main
        n = int(self.run.chosen(scope.set, self.run.store)[0].sum()) if scope.set else 1
        return {
            "reliable": (
                f"over the {n} reliable criteri{'on' if n == 1 else 'a'} (alpha at least {self.run.threshold:g})"
            ),
            "all": f"over all {n} criteria",
        }.get(scope.set, f"on {scope.criterion}" if scope.criterion else "")

    def contrast(self, contrast: str, position: int, b: str, unit: str) -> Row | None:
        """Return the contrast of an arm with something, on the main scope."""
        keys = {**self.run.contenders[position].keys, **self.main, "b": b}
        # On common items where there is such a row: else what was answered decides with how well.
        for name in (f"{contrast}_matched", contrast):
            for row in self.all("contrasts", "difference", {**keys, "contrast": name}):
                if row.unit == unit:
                    return row
        return None


def finding(
    name: str,
    question: str,
    verdict: Verdict,
    statement: str,
    *,
    remedy: str = "",
    where: Sequence[Row | None] = (),
    source: str = PAPER,
) -> Finding:
    """Return a finding with references to the rows that it rests on."""
    references = [row.reference() for row in where if row is not None]
    return Finding(name, question, verdict, statement, remedy, "", references, source)


def named(names: Sequence[str], *, apart: bool = False) -> str:
    """Return names as a list, the first few of many; with semicolons where they hold commas (`apart`).

    Examples
    --------
    >>> named(["A", "B", "C", "D", "E"]), named(["A", "B"]), named(["A: x", "B: y, z"], apart=True)
    ('A, B, C, D and 1 more', 'A and B', 'A: x; B: y, z')
    """
    unique = list(dict.fromkeys(names))
    if apart:
        more = [f"{len(unique) - _MOST_NAMED} more"] if len(unique) > _MOST_NAMED else []
        return "; ".join([*unique[:_MOST_NAMED], *more])
    if len(unique) > _MOST_NAMED:
        return f"{', '.join(unique[:_MOST_NAMED])} and {len(unique) - _MOST_NAMED} more"
    return " and ".join(unique) if len(unique) < 3 else f"{', '.join(unique[:-1])} and {unique[-1]}"


def arm_named(keys: Mapping[str, Key]) -> str:
    """Return the arm that keys name, its protocol in brackets.

    Examples
    --------
    >>> arm_named({"system": "S1", "readout": "verification", "phrasing": "", "variant": ""})
    'S1 (verification)'
    """
    more = ", ".join(str(keys[key]) for key in ("readout", "phrasing", "variant") if keys.get(key))
    return f"{keys['system']} ({more})" if more else str(keys["system"])


def is_clear(row: Row | None) -> bool:
    """Tell whether a difference is significant after adjustment."""
    if row is None or row.p is None:
        return False
    return (row.p if row.p_adjusted is None else row.p_adjusted) < SIGNIFICANT
