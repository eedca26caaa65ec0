"""The pages of all runs that are no audit: their chapters in order, for whatever a result holds of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measurand.reporting import (
    answers,
    elicitation,
    elicitation_cards,
    elicitation_readouts,
    examples,
    forced_choice,
    gates,
    plan,
    probe,
    scores,
    scores_contrasts,
    scores_criteria,
    scores_protocol,
    scores_reliability,
    scores_spread,
    scores_verdict,
    study,
)
from measurand.reporting.blocks import Block, Bullets, Section, Terms
from measurand.reporting.budget import fitted
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.gates import Gates
from measurand.reporting.plan_view import Plan
from measurand.reporting.probe_view import Probe
from measurand.reporting.scores_view import Scores
from measurand.reporting.study_view import Study
from measurand.reporting.view import View
from measurand.result import Finding, Result
from measurand.result.words import kind_of


@dataclass(frozen=True)
class About:
    """What a page says beside counts, what is undefined, and how to make it again.

    Parameters
    ----------
    headline : str
        What was looked at, in one line.
    lead : sequence of str
        The verdict.
    first, last : sequences of Section
        The chapters before and after what is undefined.
    counted : sequence of Finding or None
        Whose verdicts are counted; None for all of the result.
    note : str
        What the study's maker says of it.
    """

    headline: str
    lead: Sequence[str]
    first: Sequence[Section]
    last: Sequence[Section]
    counted: Sequence[Finding] | None = None
    note: str = ""


def verdict_of_run(result: Result) -> tuple[str, list[str]]:
    """Return the one line and the verdict of a run; blank and empty for an audit."""
    kind = kind_of(result)
    if kind == "study":
        whole = Study(result)
        return study.headline(whole), study.lead(whole)
    if kind == "probe":
        probed = Probe(result)
        return probe.headline(probed), probe.lead(probed)
    if kind == "plan":
        planned = Plan(result)
        return plan.headline(planned), plan.lead(planned)
    of_gates = Gates(result)
    if kind == "scores":
        return _verdict_of_scores(Scores(result))
    if kind == "forced_choice":
        choices = Choices(result)
        failed = gates.lead(of_gates)[:1] if of_gates.failing else []
        return forced_choice.headline(choices), [*forced_choice.lead(choices), *failed]
    if kind == "elicitation":
        asked = Elicitation(result)
        return elicitation.headline(asked), elicitation.lead(asked)
    if kind == "gates":
        return gates.headline(of_gates), gates.lead(of_gates)
    return "", []


def of_run(result: Result) -> About | None:
    """Return the page of a run; None for an audit."""
    kind = kind_of(result)
    if not kind:
        return None
    if kind == "study":
        whole = Study(result)
        counted = [*whole.findings, *whole.gates.findings]
        return About(study.headline(whole), study.lead(whole), *fitted(*study.sections(whole)), counted, whole.note)
    of_scores = Scores(result) if kind == "scores" else None
    headline, lead = verdict_of_run(result) if of_scores is None else _verdict_of_scores(of_scores)
    if kind in ("probe", "plan"):
        first, last = probe.sections(Probe(result)) if kind == "probe" else plan.sections(Plan(result))
        return About(headline, lead, [Section("findings", "Findings", _findings(result.findings)), *first], last)
    of_gates = Gates(result)
    if of_scores is not None:
        first, last = _of_scores(of_scores, of_gates)
    elif kind == "forced_choice":
        first, last = _of_choices(result, of_gates)
    elif kind == "elicitation":
        first, last = _of_elicitation(result, of_gates)
    else:
        first = [
            Section("findings", "Findings", _findings(of_gates.findings)),
            Section("gates", "Arms and gates", gates.gates(of_gates, with_findings=False)),
        ]
        last = [
            Section("protocol", "What was looked at", gates.protocol(of_gates)),
            Section("words", "Words used", [Terms(gates.WORDS)]),
            Section("methods", "Methods and references", [Bullets(gates.METHODS)]),
        ]
    return About(headline, lead, *fitted(first, last))


def _findings(found: Sequence[Finding]) -> list[Block]:
    return answers.findings(View(Result([], findings=found)))


def others(result: Result, of_gates: Gates) -> list[Finding]:
    """Return the findings that are not those of the gates."""
    own = {id(finding) for finding in of_gates.findings}
    return [finding for finding in result.findings if id(finding) not in own]


def _gates(of_gates: Gates) -> list[Section]:
    blocks = gates.gates(of_gates, with_findings=True)
    return [Section("gates", "Gates: may these answers be scored?", blocks)]


def _verdict_of_scores(view: Scores) -> tuple[str, list[str]]:
    failing = scores_verdict.failing(view)
    return scores_verdict.headline(view), [*scores_verdict.lead(view), *([failing] if failing else [])]


def _of_scores(view: Scores, of_gates: Gates) -> tuple[list[Section], list[Section]]:
    # Which rows there are by their keys is found out once for all chapters.
    result = view.result
    first = [
        Section("findings", "Findings", _findings(others(result, of_gates))),
        Section("systems", "Systems and people", scores.against_people(view)),
        *examples.sections(result),
        Section("by-criterion", "Criterion by criterion", scores_criteria.by_criterion(view)),
        Section("order", "Which systems differ", scores_contrasts.order(view)),
        Section("contrasts", "What each choice changes", scores_contrasts.contrasts(view)),
        Section("criteria", "The criteria", scores_criteria.criteria(view)),
        Section("spread", "Order and spread", scores_spread.spread(view)),
        Section("reliability", "Do answers mean what they say?", scores_reliability.reliability(view)),
        Section("decisions", "In place of people", scores_spread.decisions(view)),
        Section("coverage", "Coverage", scores_protocol.coverage(view)),
        Section("baselines", "Baselines", scores_protocol.baselines(view)),
        *_gates(of_gates),
    ]
    methods = [*scores_protocol.METHODS, *(gates.METHODS if of_gates.arms else ())]
    last = [
        Section("protocol", "The protocol", scores_protocol.protocol(view)),
        Section("words", "Words used", [Terms(scores_protocol.WORDS)]),
        Section("methods", "Methods and references", [Bullets(methods)]),
    ]
    return first, last


def _of_choices(result: Result, of_gates: Gates) -> tuple[list[Section], list[Section]]:
    view = Choices(result)
    first = [
        Section("findings", "Findings", _findings(others(result, of_gates))),
        *forced_choice.sections(view),
        *_gates(of_gates),
    ]
    methods = [*forced_choice.METHODS, *(gates.METHODS if of_gates.arms else ())]
    last = [
        Section("protocol", "The protocol", forced_choice.protocol(view)),
        Section("words", "Words used", [Terms(forced_choice.WORDS)]),
        Section("methods", "Methods and references", [Bullets(methods)]),
    ]
    return first, last


def _of_elicitation(result: Result, of_gates: Gates) -> tuple[list[Section], list[Section]]:
    view = Elicitation(result)
    first = [
        Section("findings", "Findings", _findings(others(result, of_gates))),
        *elicitation.sections(view),
        *_gates(of_gates),
    ]
    methods = [*elicitation_readouts.METHODS, *(gates.METHODS if of_gates.arms else ())]
    last = [
        Section("protocol", "What all systems were asked", elicitation_readouts.shared(view)),
        Section("cards", "Protocol cards", elicitation_cards.cards(view)),
        Section("words", "Words used", [Terms(elicitation_readouts.WORDS)]),
        Section("methods", "Methods and references", [Bullets(methods)]),
    ]
    return first, last
