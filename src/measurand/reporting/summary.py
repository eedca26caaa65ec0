"""What the terminal shows after a run: one screen with the design, the verdict and every finding."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting import study
from measurand.reporting.answers import short_name
from measurand.reporting.document import headline
from measurand.reporting.elicitation import systems_table
from measurand.reporting.elicitation_view import Elicitation
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.gates import Gates
from measurand.reporting.plan_summary import plan_table
from measurand.reporting.plan_view import Plan
from measurand.reporting.probe_summary import probe_table
from measurand.reporting.probe_view import Probe
from measurand.reporting.runs import others, verdict_of_run
from measurand.reporting.scores_summary import choices_table, gates_table, scores_table
from measurand.reporting.scores_view import Scores
from measurand.reporting.study_view import Study
from measurand.reporting.verdict import lead
from measurand.reporting.view import View
from measurand.result import VERDICTS, Finding, Result, Verdict
from measurand.result.words import MARK, WORD, called, clean, counts, default_title, kind_of, shorten, worst_first

#: Lines of findings above which each statement is cut.
_MOST_LINES: Final = 32
_LINES_EACH: Final = 3
#: The same below the table of a scoring run.
_MOST_OF_RUN: Final = 16
#: Lines of the screen of an audit or a probe.
_SCREEN: Final = 45
#: The share of its lines that a text must fill to be cut at the end of a sentence.
_FULL: Final = 0.6
#: Of a study: lines of the verdict, systems of the table, findings and gates that are told.
_MOST_SAID: Final = 12
_MOST_SYSTEMS: Final = 8
_MOST_TOLD: Final = 6
#: Criteria that the table shows.
_MOST_CRITERIA: Final = 15
_LABEL: Final = 15
#: Where a sentence ends and another begins.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) (?=[A-Z])")
#: Where a clause ends: at a sign with a space behind it, or where a parenthesis begins.
_CLAUSE_END: Final = re.compile(r"[;:,.]? (?=\()|[;:,.] ")
#: The name before a statement, the arrow before a remedy, and a first word such as "Yes:", which alone say nothing.
_LABELS: Final = re.compile(r"^(→ )?([\w-]+(, [\w-]+)*: )?((Yes|No|Not shown|Not determined|No sign of it): ?)?")
#: Spaces that hold together a number and its percent, a name and the sign behind it, a sign and its number.
_TIED: Final = re.compile(r"(?<=\d) (?=%)|(?<=\w) (?=[=<] )|(?<=[=<]) (?=[−.\d])")
_ANSI: Final[dict[Verdict, str]] = {
    "fail": "31;1",
    "warn": "33",
    "undetermined": "35",
    "pass": "32",
    "not_applicable": "2",
}
#: A verdict and the lines beside it.
_Shown = tuple[Verdict, list[str]]


def render_summary(result: Result, *, width: int, color: bool) -> str:
    """Return what a terminal shows of a result, on one screen.

    Parameters
    ----------
    result : Result
        A whole audit, a scoring run, a forced choice, an elicitation, gates, or a study.
    width : int
        Columns of the terminal; fewer than 40 are taken as 40.
    color : bool
        Whether to write colour codes; marks and words say the same without them.

    Returns
    -------
    str
        Lines without a last line break.

    Examples
    --------
    >>> finding = Finding("agreement", "Do the raters agree?", "fail", "Alpha = 0.01.")
    >>> print(render_summary(Result([], findings=[finding]), width=60, color=False).splitlines()[-1])
    ✗ fail         agreement: Alpha = 0.01.
    """
    width = max(width, 40)
    if kind_of(result) == "study":
        return "\n".join(_of_study(Study(result), width, color=color))
    if kind_of(result):
        return "\n".join(_of_run(result, width, color=color))
    view = View(result)
    title = f"Audit of ratings: {headline(result)}"
    lines = _wrap(title, width, subsequent_indent="  ")
    sentences = [clean(sentence) for sentence in lead(view)]
    lines += ["", *_wrap(" ".join(sentences), width), ""] if sentences else []
    if len(view.criteria) > 1:
        lines += _matrix(view, width, color=color)
        found = worst_first(result.findings)
        lines += _remedies(found, width, verdicts=("fail",), most=_SCREEN - len(lines), most_each=1)
    else:
        found = view.findings(view.criteria[0]) if view.criteria else []
        lines += _answers(found, width, _SCREEN - len(lines), color=color)
    return "\n".join(lines)


def _of_run(result: Result, width: int, *, color: bool) -> list[str]:
    """Return the screen of a run: verdict, table, findings."""
    headline_, said = verdict_of_run(result)
    lines = _wrap(f"{default_title(result)}: {headline_}", width, subsequent_indent="  ")
    lines += ["", *_wrap(" ".join(clean(sentence) for sentence in said), width)] if said else []
    of_gates = Gates(result)
    kind = kind_of(result)
    if kind == "scores":
        lines += ["", *scores_table(Scores(result), width)]
    elif kind == "forced_choice":
        lines += ["", *choices_table(Choices(result), width)]
    elif kind in ("probe", "elicitation"):
        is_probe = kind == "probe"
        told = probe_table(Probe(result), width) if is_probe else systems_table(Elicitation(result), width)
        lines += ["", *told] if told else []
    elif kind == "plan" and (told := plan_table(Plan(result), width)):
        lines += ["", *told]
    lines += ["", *gates_table(of_gates, width)] if kind == "gates" else []
    own = of_gates.findings if kind == "gates" else others(result, of_gates)
    # The table of the gates says which of them pass.
    found = [one for one in worst_first(own) if kind != "gates" or one.verdict not in ("pass", "not_applicable")]
    if found and kind == "probe":
        lines += ["", *_answers(found, width, _SCREEN - len(lines) - 1, color=color)]
    elif found and kind == "plan":
        lines += ["", *_of_plan(result, found, width, color=color)]
    elif found:
        lines += ["", *_findings(found, width, color=color, most=_MOST_OF_RUN, most_each=2)]
    if kind != "gates" and of_gates.findings:
        gates_ = worst_first([one for one in of_gates.findings if one.verdict in ("fail", "warn")])
        passing = [one for one in of_gates.findings if one not in gates_]
        lines += ["", *_findings(gates_, width, color=color, most=0, most_each=1)]
        lines += _wrap(
            f"Gates: {', '.join(f'{MARK[v]} {n} {WORD[v]}' for v, n in counts([*gates_, *passing]).items())}", width
        )
    return lines


def _answers(found: list[Finding], width: int, room: int, *, color: bool) -> list[str]:
    """Return findings in so many lines, the worst first, under each that fails what to do.

    Each has a line, or two if it fails. What room is left goes to first sentences, and then to whole statements, both
    from the worst on; what passes is told by name alone if it leaves no room for the first sentences.
    """
    room_of_text = width - _LABEL
    told = _told(found)
    remedies = {(one.verdict, clean(one.statement)): clean(one.remedy) for one in reversed(found) if one.remedy}
    below = [
        _cut(f"→ {remedy}", room_of_text, 1) if verdict == "fail" and (remedy := remedies.get((verdict, said))) else []
        for verdict, said, _ in told
    ]
    idle = [short_name(one.id) for one in found if one.verdict == "not_applicable"]
    last: list[_Shown] = [("not_applicable", _cut(", ".join(idle), room_of_text, 2))] if idle else []
    room -= sum(map(len, below)) + sum(len(text) for _, text in last)
    texts = [f"{', '.join(names)}: {said}" for _, said, names in told]
    firsts = [_wrap(_SENTENCE_END.split(text, maxsplit=1)[0], room_of_text) for text in texts]
    if sum(map(len, firsts)) > room:
        passing = [name for verdict, _, names in told if verdict == "pass" for name in names]
        kept = [i for i, one in enumerate(told) if one[0] != "pass"]
        told, texts, below = [told[i] for i in kept], [texts[i] for i in kept], [below[i] for i in kept]
        last = [("pass", _cut(", ".join(passing), room_of_text, 2)), *last] if passing else last
        room -= len(last[0][1]) if passing else 0
    shown = [_cut(text, room_of_text, 2 if one[0] == "fail" else 1) for one, text in zip(told, texts, strict=True)]
    for number_of_sentences in (1, 2, math.inf):
        for i, text in enumerate(texts):
            longer = _sentences(text, room_of_text, number_of_sentences)
            if len(longer) - len(shown[i]) <= room - sum(map(len, shown)):
                shown[i] = longer
    entries = [(one[0], [*text, *remedy]) for one, text, remedy in zip(told, shown, below, strict=True)]
    return _labelled([*entries, *last], color=color)


def _of_plan(result: Result, found: list[Finding], width: int, *, color: bool) -> list[str]:
    """Return the findings of a plan, each with what to do; of several criteria the matrix of their verdicts."""
    view = View(Result([], findings=result.findings))
    if len(view.criteria) > 1:
        # The table of the criteria has the verdicts, unless it is one of facets.
        matrix = _matrix(view, width, color=color) if Plan(result).formula else []
        return [*matrix, *_remedies(found, width)]
    told = [replace(one, statement=f"{one.statement} → {one.remedy}") if one.remedy else one for one in found]
    return _findings(told, width, color=color, most=_MOST_LINES, most_each=5)


def _remedies(
    found: list[Finding],
    width: int,
    *,
    verdicts: Sequence[Verdict] = ("fail", "warn"),
    most: int = _MOST_LINES,
    most_each: int = _LINES_EACH,
) -> list[str]:
    """Return what to do, with whom it concerns; what is the same for several criteria stands once."""
    by: dict[str, list[Finding]] = {}
    for one in found:
        if one.verdict in verdicts and one.remedy:
            by.setdefault(clean(one.remedy), []).append(one)
    lines: list[str] = []
    for remedy, of in list(by.items())[:_MOST_TOLD]:
        about = called(shorten(of[0].criterion, 32)) if len(of) == 1 else f"{len(of)} criteria"
        told = _cut(f"→ {short_name(of[0].id)}, {about}: {remedy}", width, most_each)
        lines += told if len(lines) + len(told) <= most else []
    return lines


def _of_study(view: Study, width: int, *, color: bool) -> list[str]:
    """Return the screen of a study: what it is, its scores, what fails and warns in a line each."""
    lines = _wrap(study.headline(view), width, subsequent_indent="  ")
    said = study.lead(view)
    lines += ["", *_cut(" ".join(clean(sentence) for sentence in said), width, _MOST_SAID)] if said else []
    if view.scores.arms:
        lines += ["", *scores_table(view.scores, width, most=_MOST_SYSTEMS)]
    for head, found in (("Findings", view.findings), ("Gates", worst_first(view.gates.findings))):
        if not found:
            continue
        told = [one for one in found if one.verdict in ("fail", "warn")]
        number = ", ".join(f"{MARK[v]} {n} {WORD[v]}" for v, n in counts(found).items())
        lines += ["", *_wrap(f"{head}: {number}", width)]
        lines += _findings(told[:_MOST_TOLD], width, color=color, most=0, most_each=1)
        if len(told) > _MOST_TOLD:
            lines.append(f"{'':<{_LABEL}}… and {len(told) - _MOST_TOLD} more on the page")
    return lines


def _findings(
    ordered: list[Finding], width: int, *, color: bool, most: int = _MOST_LINES, most_each: int = _LINES_EACH
) -> list[str]:
    told = _told(ordered)
    said = [(verdict, f"{', '.join(names)}: {statement}") for verdict, statement, names in told]
    wrapped = [(verdict, _wrap(text, width - _LABEL)) for verdict, text in said]
    if sum(len(text) for _, text in wrapped) > most:
        wrapped = [(verdict, _cut(text, width - _LABEL, most_each)) for verdict, text in said]
    if most < _MOST_LINES and sum(len(text) for _, text in wrapped) > most:
        passing = [name for verdict, _, names in told if verdict == "pass" for name in names]
        wrapped = [one for one in wrapped if one[0] != "pass"]
        wrapped += [("pass", _cut(", ".join(passing), width - _LABEL, most_each))] if passing else []
    idle = [short_name(finding.id) for finding in ordered if finding.verdict == "not_applicable"]
    if idle:
        wrapped.append(("not_applicable", _cut(", ".join(idle), width - _LABEL, most_each)))
    return _labelled(wrapped, color=color)


def _told(found: list[Finding]) -> list[tuple[Verdict, str, list[str]]]:
    """Return verdict, statement and names; questions with one answer, such as a hole in the design, share it."""
    grouped: dict[tuple[Verdict, str], list[str]] = {}
    for finding in found:
        if finding.verdict != "not_applicable":
            grouped.setdefault((finding.verdict, clean(finding.statement)), []).append(short_name(finding.id))
    return [(verdict, statement, names) for (verdict, statement), names in grouped.items()]


def _labelled(entries: Sequence[_Shown], *, color: bool) -> list[str]:
    """Return lines with their verdict at the left of the first."""
    lines = []
    for verdict, text in entries:
        label = _painted(f"{MARK[verdict]} {WORD[verdict]}".ljust(_LABEL), verdict, color=color)
        lines += [f"{label}{text[0] if text else ''}", *(" " * _LABEL + line for line in text[1:])]
    return lines


def _cut(text: str, width: int, most: int) -> list[str]:
    """Return text in at most so many lines, cut where a sentence ends if that fills most of them, else at a clause.

    Only a text without a clause that fits is cut at a word: half a claim can read as its opposite.
    """
    if not len(_wrap(text, width)) > most > 0:
        return _wrap(text, width)
    for number in range(text.count(". "), 0, -1):
        lines = _sentences(text, width, number)
        if len(lines) <= most and sum(map(len, lines)) >= _FULL * width * most:
            return lines
    for clause in reversed(_clauses(text)):
        lines = _wrap(f"{clause} …", width)
        if len(lines) <= most:
            return lines
    return _wrap(text, width, max_lines=most, placeholder=" …")


def _clauses(text: str) -> list[str]:
    """Return the beginnings of a text that end where a clause does, outside parentheses, and say something.

    Examples
    --------
    >>> _clauses("panel-size: Only by a t test (2 degrees of freedom, normal), which leans on it: p = .25.")[-1]
    'panel-size: Only by a t test (2 degrees of freedom, normal), which leans on it'
    """
    found = []
    for end in _CLAUSE_END.finditer(text):
        clause = text[: end.start()]
        if clause.count("(") == clause.count(")") and " " in _LABELS.sub("", clause, count=1):
            found.append(clause)
    return found


def _sentences(text: str, width: int, number: float) -> list[str]:
    """Return the first sentences of a text as lines, with a sign of what is left out."""
    every = _SENTENCE_END.split(text)
    if number >= len(every):
        return _wrap(text, width)
    return _wrap(f"{' '.join(every[: int(number)])} …", width)


def _wrap(
    text: str, width: int, *, subsequent_indent: str = "", max_lines: int | None = None, placeholder: str = " …"
) -> list[str]:
    """Return text as lines that part no number from its sign or percent, and no name at a hyphen."""
    tied = _TIED.sub("\u00a0", text)
    lines = textwrap.wrap(
        tied,
        width,
        subsequent_indent=subsequent_indent,
        max_lines=max_lines,
        placeholder=placeholder,
        break_on_hyphens=False,
    )
    return [line.replace("\u00a0", " ") for line in lines]


def _with_colours(line: str) -> str:
    """Colour the counts of a line that is wrapped already: colour codes would be counted as width."""
    for verdict in VERDICTS:
        pattern = rf"{re.escape(MARK[verdict])} \d+ {re.escape(WORD[verdict])}"
        line = re.sub(pattern, _painted(r"\g<0>", verdict, color=True), line)
    return line


def _painted(text: str, verdict: Verdict, *, color: bool) -> str:
    return f"\x1b[{_ANSI[verdict]}m{text}\x1b[0m" if color else text


def _matrix(view: View, width: int, *, color: bool) -> list[str]:
    """Return the worst criteria as rows of marks under letters, and what each letter asks with its counts."""
    from rich.cells import cell_len

    by = {(finding.criterion, finding.id): finding.verdict for finding in view.result.findings}
    questions = list(dict.fromkeys(finding.id for finding in view.result.findings))
    asked = [q for q in questions if any(by.get((c, q), "not_applicable") != "not_applicable" for c in view.criteria)]
    letters = "abcdefghijklmnopqrstuvwxyz"
    asked = asked[: len(letters)]
    worst = sorted(
        view.criteria, key=lambda name: [-sum(by.get((name, q)) == verdict for q in asked) for verdict in VERDICTS]
    )
    shown = worst[:_MOST_CRITERIA]
    most = min(max([9, *(cell_len(called(shorten(name, 40))) for name in shown)]), max(width - 2 * len(asked) - 2, 12))
    lines = [f"{'criterion':<{most}}  {' '.join(letters[: len(asked)])}"]
    for name in shown:
        text = called(shorten(name, 40))
        while cell_len(text) > most:
            text = f"{text[:-2]}…"
        marks = []
        for question in asked:
            verdict = by.get((name, question))
            marks.append(" " if verdict is None else _painted(MARK[verdict], verdict, color=color))
        lines.append(f"{text}{' ' * (most - cell_len(text))}  {' '.join(marks)}")
    if len(view.criteria) > len(shown):
        lines.append(f"… and {len(view.criteria) - len(shown)} more criteria")
    lines.append("")
    for letter, question in zip(letters, asked, strict=False):
        found = [finding for finding in view.result.findings if finding.id == question]
        said = ", ".join(f"{MARK[verdict]} {n} {WORD[verdict]}" for verdict, n in counts(found).items())
        head = f"{letter}  {short_name(question):<25} "
        for line in _wrap(f"{head}{said}", width, subsequent_indent=" " * 6):
            lines.append(_with_colours(line) if color else line)
    if len(asked) < len(questions):
        idle = [short_name(question) for question in questions if question not in asked]
        lines += _wrap(f"n/a for every criterion: {', '.join(idle)}", width, subsequent_indent="   ")
    return lines
