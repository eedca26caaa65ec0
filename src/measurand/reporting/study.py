"""The page of a whole study: what was asked, how systems stand to people, what the raters can say, how it was asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from measurand.reporting import (
    answers,
    cells,
    design,
    elicitation,
    elicitation_cards,
    elicitation_readouts,
    examples,
    gates,
    scores,
    scores_contrasts,
    scores_criteria,
    scores_protocol,
    scores_reliability,
    scores_spread,
    scores_verdict,
    verdict,
)
from measurand.reporting.blocks import Answer, Block, Bullets, Fold, Part, Section, Terms, Text
from measurand.reporting.panel import MOST_WITH_TABLES, over_criteria, panel
from measurand.reporting.study_view import Study
from measurand.reporting.view import View
from measurand.result import Result, show_number
from measurand.result.words import called, clean, plural, shorten

#: Arms that the tables of gates have: all are in tables/gates.csv.
_MOST_ARMS: Final = 12
#: Arms above which a page has the tables of so many protocols alone.
_MANY_ARMS: Final = 24
_MOST_PROTOCOLS: Final = 3
#: Of the audit of agreement, what the verdict tells: the raters' own agreement has a sentence before it.
_OF_WINNERS: Final = ("systems-differ", "ranking-reliable", "winner-stable")
#: Parts of an audit that are about single judgements, which are none that anybody gave.
_OF_JUDGEMENTS: Final = ("agreement-", "raters-", "agreement_pairs-", "missing-")
_IN_TABLES: Final = (
    "Each rater, every two of them, and every question criterion by criterion: on the page of the audit alone, "
    "audit/report.html beside this page's folder."
)


def headline(view: Study) -> str:
    """Return what the study is, in one line."""
    size = {
        (str(row.keys["step"]), row.statistic): int(row.estimate) for row in view.result.rows if row.analysis == "study"
    }
    parts = [
        plural(size[step, name], *words)
        for step, name, words in (
            ("elicit", "n_systems", ("system",)),
            ("elicit", "n_items", ("item",)),
            ("elicit", "n_criteria", ("criterion", "criteria")),
        )
        if size.get((step, name))
    ]
    said = " × ".join(parts)
    more = [plural(size["elicit", "n_readouts"], "readout")] if size.get(("elicit", "n_readouts")) else []
    more += [plural(size["score", "n_arms"], "arm") + " scored"] if size.get(("score", "n_arms")) else []
    n_raters = size.get(("score", "n_raters")) or view.rated.size("", "n_raters")
    more += [plural(n_raters, "rater")] if n_raters else []
    return "; ".join([said, *more])


def lead(view: Study) -> list[str]:
    """Return the verdict: how systems stand to people, what the raters can say, what of the asking to know first."""
    said = []
    if view.scores.arms:
        said += scores_verdict.lead(view.scores)
    said += [sentence for sentence in (_raters(view), _agreement(view)) if sentence]
    said.append(elicitation.lead(view.asked)[0])
    if failing := scores_verdict.failing(view.scores):
        said.append(failing)
    return said


def _raters(view: Study) -> str:
    """Return how far the raters agree with each other, over the criteria."""
    found = {}
    for name in view.rated.criteria:
        rows = view.rated.rows(name, "agreement", f"alpha_{view.rated.level(name)}", {"system": ""})
        row = next((row for row in rows if row.unit == "item" and not row.undefined), None)
        if row is not None:
            found[name] = row
    if not found:
        return ""
    if len(found) == 1:
        (row,) = found.values()
        return f"The raters agree with each other at Krippendorff's alpha {cells.estimate(row).text}."
    low, high = (end(found, key=lambda name: found[name].estimate) for end in (min, max))
    ends = [f"{show_number(round(found[name].estimate, 2))} ({called(shorten(name, 24))})" for name in (low, high)]
    return f"The raters agree with each other at Krippendorff's alpha {ends[0]} to {ends[1]}."


def _agreement(view: Study) -> str:
    """Return what an audit says of whom the raters make win."""
    if not view.agreed.result.findings:
        return ""
    n = view.agreed.size(view.agreed.criteria[0], "n_raters") or 0
    found = [one for one in view.agreed.result.findings if one.id in _OF_WINNERS]
    told = verdict.lead(View(replace(view.agreed.result, findings=found)))[:-1]
    said = " ".join(told)
    return f"Judging systems by how far each of {plural(n, 'rater')} agrees with them: {said[:1].lower()}{said[1:]}"


def sections(view: Study) -> tuple[list[Section], list[Section]]:
    """Return the chapters before and after what is undefined."""
    first = [
        Section("findings", "Findings", _findings(view)),
        *_scores(view),
        *_panel(view),
        *elicitation.sections(view.asked, brief=True),
        Section(
            "gates", "Gates: may these answers be scored?", gates.gates(view.gates, with_findings=True, most=_MOST_ARMS)
        ),
    ]
    words = dict([*scores_protocol.WORDS, *elicitation_readouts.WORDS, *design.WORDS])
    methods = [*scores_protocol.METHODS, *elicitation_readouts.METHODS, *gates.METHODS]
    methods += [line for one in (view.rated, view.agreed) if one.criteria for line in design.methods(one)]
    last = [
        Section("asked-of-all", "What all systems were asked", elicitation_readouts.shared(view.asked)),
        Section("cards", "Protocol cards", elicitation_cards.cards(view.asked)),
        Section("protocol", "How it was scored", scores_protocol.protocol(view.scores) if view.scores.arms else []),
        Section("words", "Words used", [Terms(list(words.items()))]),
        Section("methods", "Methods and references", [Bullets(list(dict.fromkeys(methods)))]),
    ]
    return first, last


def _findings(view: Study) -> list[Block]:
    """Return the findings, worst first; those that pass or do not apply folded."""
    shown = answers.findings(View(Result([], findings=view.findings)))
    passing = [one for one in shown if isinstance(one, Answer) and one.verdict == "pass"]
    at = next((i for i, one in enumerate(shown) if one in passing), len(shown))
    fold = [Fold(f"Passes ({len(passing)})", passing)] if passing else []
    return [*shown[:at], *fold, *(one for one in shown[at:] if one not in passing)]


def _scores(view: Study) -> Iterator[Section]:
    found = view.scores
    if not found.arms:
        return
    # Of many arms the tables have all; the page has those of the first protocols.
    most = _MOST_PROTOCOLS if len(found.arms) > _MANY_ARMS else None
    yield Section("systems", "Systems and people", scores.against_people(found, most=most))
    yield from examples.sections(view.result)
    yield Section("by-criterion", "Criterion by criterion", scores_criteria.by_criterion(found, most=most))
    yield Section("order", "Which systems differ", scores_contrasts.order(found, most=most))
    yield Section("contrasts", "What each choice changes", scores_contrasts.contrasts(found, brief=most is not None))
    yield Section("spread", "Order and spread", scores_spread.spread(found))
    yield Section("reliability", "Do answers mean what they say?", scores_reliability.reliability(found, most=most))
    yield Section("decisions", "In place of people", scores_spread.decisions(found))
    yield Section("coverage", "Coverage", scores_protocol.coverage(found))
    if most is None:
        # They stand in the first table, too.
        yield Section("baselines", "Baselines", scores_protocol.baselines(found))
    yield Section("criteria", "The criteria", scores_criteria.criteria(found))


def _panel(view: Study) -> Iterator[Section]:
    """Return the chapters on the raters: how they rated, and whom their agreement makes win."""
    rated, agreed = view.rated, view.agreed
    n = 0
    if rated.result.rows:
        n = len(rated.criteria)
        blocks: list[Block] = list(design.design(rated, with_words=False))
        blocks += over_criteria(rated) if n > 1 else panel(rated)
        if n > 1:
            blocks.append(Text(_IN_TABLES, small=True))
        if 1 < n <= MOST_WITH_TABLES:
            blocks.append(Fold("Every question, criterion by criterion", answers.findings(rated)))
        yield Section("panel", "The raters", blocks)
    if agreed.result.rows:
        parts = panel(agreed, first=n + 1)
        habits = [one for one in parts if isinstance(one, Part) and one.id.startswith(_OF_JUDGEMENTS)]
        fold = Fold("The judgements themselves: agreement, each rater, every two raters", habits)
        blocks = [*_said(agreed), *(one for one in parts if one not in habits), *([fold] if habits else [])]
        yield Section("agreement", "Whom the raters' agreement makes win", blocks)


def _said(agreed: View) -> Iterator[Block]:
    criterion = agreed.criteria[0]
    about = agreed.about[criterion]
    yield Text(
        "Each rater is taken as a judge of every system: a judgement is 1 less the squared distance of the system's "
        "calibrated answer from the rater's rating, in widths of the scale. Their mean is the observed agreement whose "
        "chance-corrected form is quadratic kappa. So the question of a panel that rates systems can be put to people "
        "who rated items: would other raters, or one less, make another system win? It is not corrected for chance: an "
        "answer that is the same for every item has a quadratic kappa of 0, and can have the highest agreement."
    )
    if len(over := about.get("over", [])) > 1:
        yield Text(
            "An item has one judgement of a system by a rater: the mean over the criteria that every system answered "
            f"({clean(', '.join(over))}). An item counts once, however many criteria it has."
        )
    arms = about.get("arms", {})
    shown = [(called(shorten(name, 40)), clean(words) or "its only arm") for name, words in arms.items()]
    yield Fold(f"Which answers: one arm of each of {plural(len(shown), 'system')}", [Terms(shown)])
    yield from design.design(agreed, with_words=False)
