"""The verdict of an audit in a few sentences, made from its findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from measurand.reporting.view import View
from measurand.reporting.words import begin, joined
from measurand.result import Finding, Verdict
from measurand.result.words import called, clean, counts, plural, shorten

_DIFFER: Final[dict[Verdict, str]] = {
    "pass": "These ratings show that the systems differ, for other raters and items of this kind, too",
    "warn": "These ratings show that the systems differ on these items, but not that they would on others of the kind",
    "fail": "These ratings do not show that the systems differ",
    "undetermined": "Whether the systems differ cannot be determined from these ratings",
}
_RELIABLE: Final[dict[Verdict, str]] = {
    "pass": "their ranking is reliable",
    "warn": "whether their ranking is reliable is open: the estimate says so, its interval does not",
    "fail": "their ranking is not reliable",
    "undetermined": "how reliable their ranking is cannot be determined",
}
_WINNER: Final[dict[Verdict, str]] = {
    "pass": "the winner stays the same whichever rater is left out",
    "fail": "the winner changes when one rater is left out",
    "undetermined": "whether the winner depends on one rater cannot be determined",
}
_AGREE: Final[dict[Verdict, str]] = {
    "pass": "the raters agree well enough for tentative conclusions from single ratings",
    "warn": "the raters agree about well enough, though the interval of alpha reaches below the usual limit",
    "fail": "the raters agree too little for conclusions from single ratings",
    "undetermined": "whether the raters agree cannot be determined",
}
_FOLLOWS_LENGTH: Final[dict[Verdict, str]] = {
    "pass": "that ratings follow the length of outputs is not shown",
    "warn": "ratings follow the length of outputs here, which is not shown beyond these raters, items and systems",
    "fail": "ratings follow the length of outputs, for other raters, items and systems of this kind, too",
    "undetermined": "whether ratings follow the length of outputs cannot be determined",
}
#: What else length does to a board, said where its finding fails or warns: the first that does.
_LENGTH_AND_ORDER: Final = {
    "length-matched-order": "at equal length the order of the systems is another",
    "length-explains-order": "the order of the systems follows the length of their outputs",
}
_COUNTED: Final[dict[Verdict, tuple[str, str]]] = {
    "fail": ("fails", "fail"),
    "warn": ("is a warning", "are warnings"),
    "undetermined": ("is undetermined", "are undetermined"),
    "pass": ("passes", "pass"),
    "not_applicable": ("does not apply", "do not apply"),
}
#: Criteria that the verdict names as the worst.
_MOST_NAMED: Final = 4


def lead(view: View, *, with_counts: bool = True) -> list[str]:
    """Return the verdict in a few sentences; empty where there are no findings.

    Parameters
    ----------
    view : View
        A result with findings.
    with_counts : bool
        Whether the last sentence counts the verdicts; a page shows the counts beside, so that it says them there
        alone, unless nothing else can be said.

    Returns
    -------
    list of str
        What the systems, the raters and the outputs come to; of several criteria a count of verdicts, the worst
        questions and the worst criteria.
    """
    findings = view.result.findings
    if not findings:
        return []
    if len({finding.criterion for finding in findings}) > 1:
        return [*filter(None, [_hint(view)]), *_of_many(view)]
    by = {finding.id: finding.verdict for finding in findings}
    sentences = []
    differ, reliable = by.get("systems-differ"), by.get("ranking-reliable")
    if differ == "undetermined" and reliable == "undetermined":
        sentences.append(
            "Whether the systems differ, and how reliable their ranking is, cannot be determined from these ratings."
        )
    elif differ in _DIFFER:
        more = f"; {_RELIABLE[reliable]}" if reliable in _RELIABLE else ""
        sentences.append(f"{_DIFFER[differ]}{more}.")
    elif differ == "not_applicable":
        sentences.append(
            _hint(view) or "There is nothing to rank here: the page says how far the raters can be relied on."
        )
    parts = [
        words[verdict]
        for words, verdict in ((_WINNER, by.get("winner-stable")), (_AGREE, by.get("agreement")))
        if verdict in words
    ]
    said = [_FOLLOWS_LENGTH[slope]] if (slope := by.get("length-slope")) in _FOLLOWS_LENGTH else []
    said += [words for name, words in _LENGTH_AND_ORDER.items() if by.get(name) in ("fail", "warn")][:1] if said else []
    sentences += [f"{begin('; '.join(one))}." for one in (parts, said) if one]
    if sentences and not with_counts:
        return sentences
    return [*sentences, f"Of {plural(len(findings), 'question')}, {counted(findings)}."]


def _hint(view: View) -> str:
    """Return what the audit suspects where no systems were named, blank where nothing."""
    layouts = view.result.settings.get("design", {}).get("criteria", {})
    return next((clean(str(one["hint"])) for one in layouts.values() if one.get("hint")), "")


def counted(findings: Sequence[Finding]) -> str:
    """Return how many findings have which verdict, in words."""
    return joined([f"{n} {_COUNTED[verdict][0 if n == 1 else 1]}" for verdict, n in counts(findings).items()])


def _of_many(view: View) -> list[str]:
    findings = list(view.result.findings)
    criteria = list(dict.fromkeys(finding.criterion for finding in findings))
    first = f"Of {plural(len(findings), 'answer')} for {len(criteria)} criteria, {counted(findings)}."
    failed: dict[str, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.verdict == "fail":
            failed[finding.id].append(finding.criterion)
    if not failed:
        return [first]
    questions = sorted(failed.items(), key=lambda one: -len(one[1]))[:3]
    shares = [f"{name} for {_share(len(names), len(criteria))}" for name, names in questions]
    per_criterion = Counter(name for names in failed.values() for name in names)
    most = max(per_criterion.values())
    worst = [name for name in criteria if per_criterion[name] == most]
    if len(worst) == len(criteria):
        third = f"Every criterion has {plural(most, 'failure')}."
    else:
        named = joined([called(shorten(name)) for name in worst[:_MOST_NAMED]])
        more = f" and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
        third = f"Most failures ({most}{' each' if len(worst) > 1 else ''}): {named}{more}."
    return [first, f"What fails most often: {joined(shares)}.", third]


def _share(n: int, of: int) -> str:
    return f"all {of} criteria" if n == of else f"{n} of {of} criteria"
