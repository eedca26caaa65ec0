"""A whole study by its parts: asking, scores, gates, the raters as they rated, and their agreement with systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.gates import Gates
from measurand.reporting.scores_view import Scores
from measurand.reporting.view import View
from measurand.reporting.words import begin, joined
from measurand.result import VERDICTS, Finding, Result, Row
from measurand.result.words import called, clean, shorten, worst_first

AGREEMENT: Final = "agreement"
_RATINGS: Final = "ratings"
#: Analyses of audits, whose rows have a criterion as their first key.
_OF_AUDITS: Final = (
    "design",
    "raters",
    "agreement",
    "agreement_pairs",
    "anova",
    "system_test",
    "components",
    "generalizability",
    "decision",
    "pairs",
    "leave_one_rater_out",
    "ranks",
    "leave_one_block_out",
    "style",
    "missingness",
    "copies",
)
#: Criteria that a sentence names; of more it gives the number.
_MOST_NAMED: Final = 4


class Study:
    """The parts of a study's result.

    Parameters
    ----------
    result : Result
        What `measurand run` made; a step that was left out is not there.
    """

    def __init__(self, result: Result) -> None:
        self.result = result
        self.settings: Mapping[str, Any] = result.settings.get("study", {})
        self._about: Mapping[str, Mapping[str, Any]] = result.settings.get("design", {}).get("criteria", {})

    @property
    def note(self) -> str:
        """What its maker says of it."""
        return str(self.settings.get("note", ""))

    @cached_property
    def scores(self) -> Scores:
        """What was scored."""
        return Scores(self.result)

    @cached_property
    def asked(self) -> Elicitation:
        """What was asked."""
        return Elicitation(self.result)

    @cached_property
    def gates(self) -> Gates:
        """The gates."""
        return Gates(self.result)

    @cached_property
    def rated(self) -> View:
        """The raters' ratings as they are."""
        return View(self._audit(_RATINGS))

    @cached_property
    def agreed(self) -> View:
        """The raters' agreement with systems, item by item."""
        return View(self._audit(AGREEMENT))

    def _of(self, what: str) -> dict[str, Mapping[str, Any]]:
        return {name: one for name, one in self._about.items() if one.get("object") == what}

    def _audit(self, what: str) -> Result:
        """Return one of the audits as a result of its own; empty where it is not there."""
        about = self._of(what)
        if not about:
            return Result([])
        names = set(about)
        if what == _RATINGS and len(about) > 1:
            # Counts over all criteria stand under the blank one.
            names.add("")
        rows: list[Row] = [
            row for row in self.result.rows if row.analysis in _OF_AUDITS and row.keys.get("criterion", "") in names
        ]
        found = [one for one in self.result.findings if one.criterion in about and one.criterion]
        if what == _RATINGS and "" in about:
            found = [one for one in self.result.findings if self._is_of_panel(one)]
        settings = {name: one for name, one in self.result.settings.items() if name in _OF_AUDITS}
        return Result(rows, {**settings, "design": {"criteria": about}}, found)

    def _is_of_panel(self, finding: Finding) -> bool:
        """Whether a finding without a criterion is of an audit of ratings that name none."""
        return not finding.criterion and any(ref.get("analysis") in _OF_AUDITS for ref in finding.rows)

    @cached_property
    def findings(self) -> list[Finding]:
        """The findings as the page has them, worst first: those of criteria as one for each question.

        Gates are left to their own chapter. Of audits what does not apply is left out where another audit answers it.
        """
        gates = {id(one) for one in self.gates.findings}
        of_audits = {id(one) for view in (self.rated, self.agreed) for one in view.result.findings}
        own = [one for one in self.result.findings if id(one) not in gates | of_audits]
        agreed = [
            replace(one, id=f"{one.id}-by-agreement", criterion="", question=f"By raters' agreement: {one.question}")
            for one in self.agreed.result.findings
        ]
        return worst_first([*own, *agreed, *self._by_question()])

    def _by_question(self) -> list[Finding]:
        found: dict[str, list[Finding]] = {}
        for one in self.rated.result.findings:
            if one.verdict != "not_applicable":
                found.setdefault(one.id, []).append(one)
        return [_as_one(same, len(self.rated.criteria)) for same in found.values()]


def _as_one(findings: Sequence[Finding], n_criteria: int) -> Finding:
    """Return the findings of several criteria on one question as one, with the worst verdict and its statement."""
    ordered = worst_first(findings)
    worst = ordered[0]
    if n_criteria == 1:
        return replace(worst, criterion="")
    told = []
    for verdict in VERDICTS:
        names = [one.criterion for one in findings if one.verdict == verdict]
        if names:
            of = "all" if len(names) == n_criteria else f"{len(names)} of"
            which = f" ({_named(names)})" if len(names) < n_criteria else ""
            told.append(f"{_VERBS[verdict]} for {of} {n_criteria} criteria{which}")
    said = joined(told)
    statement = f"{begin(said)}. On {called(worst.criterion)}: {worst.statement}"
    return replace(worst, criterion="", statement=statement, rows=[ref for one in ordered for ref in one.rows[:1]])


_VERBS: Final = {
    "fail": "fails",
    "warn": "is a warning",
    "undetermined": "is undetermined",
    "pass": "passes",
    "not_applicable": "does not apply",
}


def _named(names: Sequence[str]) -> str:
    shown = [clean(shorten(name, 24)) for name in names[:_MOST_NAMED]]
    return joined([*shown, *([f"{len(names) - len(shown)} more"] if len(names) > len(shown) else [])])
