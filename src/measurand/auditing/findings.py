"""What the numbers of a panel audit answer: one function per finding, each from rows to a verdict in words.

The rules are those of the table in docs/findings.md; thresholds stand in `questions`, those about length in
`findings_length`, and nowhere else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from measurand.auditing.findings_length import length_findings
from measurand.auditing.findings_raters import (
    agreement,
    copied_ratings,
    correlation_not_agreement,
    informative_missingness,
    severity_drift,
    straight_lining,
)
from measurand.auditing.findings_systems import (
    more_items,
    more_raters,
    panel_size,
    ranking_reliable,
    systems_differ,
    winner_stable,
)
from measurand.auditing.questions import Rows
from measurand.result import Finding, Result, Row

QUESTIONS: Final[Sequence[Callable[[Rows], Finding]]] = (
    systems_differ,
    ranking_reliable,
    winner_stable,
    more_raters,
    more_items,
    agreement,
    correlation_not_agreement,
    panel_size,
    copied_ratings,
    informative_missingness,
    straight_lining,
    severity_drift,
)


def findings(result: Result, *, targets: Sequence[float] = (0.8,)) -> list[Finding]:
    """Return the findings of a panel audit, criterion by criterion.

    Parameters
    ----------
    result : Result
        The analyses that `measurand.auditing.audit` makes.
    targets : sequence of float
        The values of G of the decision study; the findings speak of the first.

    Returns
    -------
    list of Finding
        Every question of the audit for every criterion; one that cannot be answered says what it lacks. Those about
        length are asked where outputs were given.
    """
    criteria: Mapping[str, Mapping[str, Any]] = result.settings["design"]["criteria"]
    by_criterion: dict[str, list[Row]] = defaultdict(list)
    for row in result.rows:
        name = str(row.keys.get("criterion", ""))
        if row.analysis == "design" and len(criteria) == 1:
            name = next(iter(criteria))
        by_criterion[name].append(row)
    out = []
    for criterion, about in criteria.items():
        rows = Rows(by_criterion[criterion], criterion, about, targets[0])
        out += [question(rows) for question in QUESTIONS]
        out += length_findings(rows)
    return out
