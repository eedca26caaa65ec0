"""Findings as blocks: one by one, or for several criteria a matrix of verdicts with what fails below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from measurand.reporting.blocks import Answer, Block, Cell, Column, Fold, Table, Text, name_cell, name_column
from measurand.reporting.view import View
from measurand.reporting.words import key_text
from measurand.result import Finding, Key
from measurand.result.words import MARK, WORD, called, clean, counts, shorten

#: Up to this many criteria the matrix has them as columns, and up to the other their details stand open.
MOST_AS_COLUMNS: Final = 6
MOST_OPEN: Final = 2
#: Rows that a finding points to on the page; results.json has all.
_MOST_ROWS: Final = 8


def short_name(finding_id: str) -> str:
    """Return the name of a question: its id, as statements, tables and files have it."""
    return clean(finding_id)


def as_head(finding_id: str) -> str:
    """Return the name of a question as the head of a narrow column: without hyphens, which make it wider."""
    return short_name(finding_id).replace("-", " ")


def anchor(view: View, finding: Finding) -> str:
    """Return the anchor of a finding; of several criteria it has the criterion's number, as names can be anything."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "-" for c in finding.id)
    if len(view.criteria) < 2:
        return f"finding-{plain}"
    number = view.criteria.index(finding.criterion) + 1 if finding.criterion in view.criteria else 0
    return f"finding-{plain}-{number}"


def findings(view: View) -> list[Block]:
    """Return the findings as blocks, worst first."""
    if not view.result.findings:
        return [Text("This result has no findings: they are made by a whole audit.")]
    if len(view.criteria) > 1:
        return _matrix(view)
    ordered = view.findings(view.criteria[0])
    shown: list[Block] = [_answer(view, one) for one in ordered if one.verdict != "not_applicable"]
    rest = [_answer(view, one) for one in ordered if one.verdict == "not_applicable"]
    if rest:
        shown.append(Fold(f"Does not apply here ({len(rest)})", rest))
    return shown


def _answer(view: View, finding: Finding, *, brief: bool = False) -> Answer:
    return Answer(
        anchor(view, finding),
        clean(finding.id),
        finding.verdict,
        clean(finding.question),
        clean(finding.statement),
        clean(finding.remedy),
        clean(finding.source),
        [] if brief else _where(finding.rows),
        brief,
    )


def _where(rows: Sequence[Mapping[str, Key]]) -> list[str]:
    out = []
    for row in rows:
        keys = {k: v for k, v in row.items() if k not in ("analysis", "statistic")}
        out.append(key_text(clean(row.get("analysis", "")), keys, clean(row.get("statistic", ""))))
    found = list(dict.fromkeys(out))
    more = len(found) - _MOST_ROWS
    return [*found[:_MOST_ROWS], f"and {more} more, in results.json"] if more > 1 else found


def _matrix(view: View) -> list[Block]:
    questions = {finding.id: finding.question for finding in view.result.findings}
    by = {(finding.criterion, finding.id): finding for finding in view.result.findings}
    idle = [q for q in questions if all(by[c, q].verdict == "not_applicable" for c in view.criteria if (c, q) in by)]
    asked = [q for q in questions if q not in idle]

    def cell(criterion: str, question: str) -> Cell:
        finding = by.get((criterion, question))
        if finding is None:
            return Cell("not asked")
        verdict = finding.verdict
        return Cell(f"{MARK[verdict]} {WORD[verdict]}", href=anchor(view, finding), verdict=verdict)

    notes = []
    if idle:
        statements = list(dict.fromkeys(by[c, idle[0]].statement for c in view.criteria if (c, idle[0]) in by))
        why = f" {clean(statements[0])}" if len(statements) == 1 else ""
        names = ", ".join(short_name(q) for q in idle)
        notes.append(f"Not shown, as they apply to no criterion: {names}.{why}")
    if len(view.criteria) <= MOST_AS_COLUMNS:
        columns = [Column("Question"), *(name_column(called(c)) for c in view.criteria)]
        rows = [[Cell(clean(questions[q])), *(cell(c, q) for c in view.criteria)] for q in asked]
    else:
        columns = [Column("Criterion"), *(Column(as_head(q), title=clean(questions[q])) for q in asked)]
        rows = [[name_cell(c), *(cell(c, q) for q in asked)] for c in view.criteria]
    blocks: list[Block] = [
        Text("Each verdict leads to its statement below."),
        Table("Verdicts by criterion and question", columns, rows, notes),
    ]
    if len(view.criteria) > MOST_AS_COLUMNS:
        blocks.append(_counts(view, asked))
    for number, criterion in enumerate(view.criteria, start=1):
        blocks.append(_of_criterion(view, criterion, number))
    return blocks


def _counts(view: View, asked: Sequence[str]) -> Table:
    rows = []
    for question in asked:
        found = [finding for finding in view.result.findings if finding.id == question]
        number = counts(found)
        rows.append([Cell(clean(found[0].question)), *(Cell(f"{number.get(v, 0)}") for v in MARK)])
    columns = [Column("Question"), *(Column(f"{MARK[v]} {WORD[v]}", is_number=True) for v in MARK)]
    return Table("Number of criteria by question and verdict", columns, rows)


def _of_criterion(view: View, criterion: str, number: int) -> Fold:
    ordered = view.findings(criterion)
    bad = [finding for finding in ordered if finding.verdict in ("fail", "warn")]
    rest = [finding for finding in ordered if finding not in bad]
    blocks: list[Block] = [_answer(view, finding) for finding in bad]
    blocks += [_answer(view, finding, brief=True) for finding in rest]
    said = [f"{MARK[verdict]} {n} {WORD[verdict]}" for verdict, n in counts(ordered).items()]
    title = f"{number}. {called(shorten(criterion, 80))}: {' · '.join(said)}"
    return Fold(title, blocks, is_open=len(view.criteria) <= MOST_OPEN)
