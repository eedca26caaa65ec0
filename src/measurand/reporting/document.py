"""The whole report as a document: verdict, findings, design, panel, what is undefined, methods, how to reproduce."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from measurand.reporting import runs
from measurand.reporting.answers import findings
from measurand.reporting.blocks import Block, Bullets, Cell, Column, Document, Fold, Section, Table, Terms, Text
from measurand.reporting.design import design, methods
from measurand.reporting.panel import panel, rated
from measurand.reporting.verdict import lead
from measurand.reporting.view import View
from measurand.result import Result
from measurand.result.words import ANALYSIS, MARK, WORD, clean, counts, plural, shorten

_MOST_REASONS: Final = 20
#: Reasons that differ in a number alone stand in one line from so many on.
_FEWEST_ALIKE: Final = 3
#: Letters of the settings of one analysis, which stand folded.
_MOST_OF_SETTINGS: Final = 1600
_NUMBER: Final = re.compile(r"[-−]?\d[\d.,]*(?:e[-+]?\d+)?")


def document(result: Result, *, title: str, reproduce: Mapping[str, str]) -> Document:
    """Return a report as blocks, ready to be written as HTML or Markdown.

    Parameters
    ----------
    result : Result
        A whole audit; sections of analyses that it does not have are left out.
    title : str
        The heading.
    reproduce : mapping of str to str
        What a reader needs to make the run again: command, hashes of inputs, versions, seed.

    Returns
    -------
    Document
        The same for the same arguments.
    """
    about = runs.of_run(result)
    if about is None:
        view = View(result)
        about = runs.About(
            _headline(view),
            lead(view, with_counts=False),
            [
                Section("findings", "Findings", findings(view)),
                Section("design", "What was rated, and what that cannot support", design(view)),
                Section("panel", "The panel", panel(view)),
            ],
            [Section("methods", "Methods and references", [Bullets(methods(view))])],
        )
    number = counts(result.findings if about.counted is None else about.counted)
    sections = [
        *about.first,
        Section("undefined", "What is undefined, and why", _undefined(result)),
        *about.last,
        Section("reproduce", "How to make this again", _reproduce(result, reproduce)),
    ]
    return Document(
        clean(title) or "Report",
        about.headline,
        [clean(sentence) for sentence in about.lead],
        [(verdict, f"{MARK[verdict]} {n} {WORD[verdict]}") for verdict, n in number.items()],
        [section for section in sections if section.blocks],
        [paragraph for line in about.note.split("\n") if (paragraph := clean(line))],
    )


def headline(result: Result) -> str:
    """Return the design in one line."""
    return _headline(View(result))


def _headline(view: View) -> str:
    if not view.criteria:
        return "An empty result."
    if len(view.criteria) == 1:
        criterion = view.criteria[0]
        about = view.about.get(criterion, {})
        layout = clean(about.get("layout", ""))
        parts = [rated(view, criterion), layout.split(", ", 1)[1] if ", " in layout else ""]
        ratings = view.size(criterion, "n_ratings")
        parts.append(plural(ratings, "rating") if ratings else "")
        parts.append(f"scale {shorten(about['scale'], 60)}, level {clean(about['level'])}" if about else "")
        return "; ".join(part for part in parts if part)
    parts = [plural(len(view.criteria), "criterion", "criteria")]
    # The counts over everything stand under the blank criterion.
    for name, noun in (("n_items", "item"), ("n_systems", "system"), ("n_raters", "rater"), ("n_ratings", "rating")):
        row = view.first("", "design", name)
        if row is not None and row.estimate:
            parts.append(plural(int(row.estimate), noun))
    return ", ".join(parts)


def _undefined(result: Result) -> list[Block]:
    reasons: dict[str, dict[str, int]] = {}
    for row in result.rows:
        if row.undefined:
            of = reasons.setdefault(clean(row.undefined), {})
            of[row.analysis] = of.get(row.analysis, 0) + 1
    reasons = _alike(reasons)
    if not reasons:
        return [Text("Nothing: every number has a value.")] if result.rows else []
    rows = [
        [
            Cell(reason),
            Cell(", ".join(f"{ANALYSIS.get(a, a)} ({of[a]:,})" for a in result.analyses if a in of)),
            Cell(f"{sum(of.values()):,}"),
        ]
        for reason, of in sorted(reasons.items(), key=lambda one: (-sum(one[1].values()), one[0]))
    ]
    shown = rows[:_MOST_REASONS]
    left = [f"… and {len(rows) - len(shown)} more reasons in results.json."] if len(rows) > len(shown) else []
    columns = [Column("Reason"), Column("Of what (numbers)"), Column("Numbers", is_number=True)]
    return [
        Text("A number that cannot be had is not 0: it is left out, with the reason."),
        Table("Undefined numbers by reason", columns, shown, left),
    ]


def _alike(reasons: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return the reasons with those that differ in a number alone as one, which says how many they are."""
    kinds: dict[str, list[str]] = {}
    for reason in reasons:
        kinds.setdefault(_NUMBER.sub("0", reason), []).append(reason)
    found: dict[str, dict[str, int]] = {}
    for alike in kinds.values():
        if len(alike) < _FEWEST_ALIKE:
            found |= {reason: dict(reasons[reason]) for reason in alike}
            continue
        together: Counter[str] = Counter()
        for reason in alike:
            together.update(reasons[reason])
        found[f"{alike[0]} (and {len(alike) - 1} reasons that differ from it in the number alone)"] = dict(together)
    return found


def _reproduce(result: Result, reproduce: Mapping[str, str]) -> list[Block]:
    blocks: list[Block] = []
    if reproduce:
        blocks.append(Terms([(clean(name), clean(value)) for name, value in reproduce.items()], is_code=True))
    settings = []
    # In the order of the rows, which a result read back from JSON shares.
    for analysis in result.analyses:
        values = result.settings.get(analysis, {})
        # What is said of every criterion stands under the design.
        plain = {name: value for name, value in values.items() if not isinstance(value, dict)}
        if plain:
            text = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items())
            settings.append((ANALYSIS.get(analysis, clean(analysis)), shorten(text, _MOST_OF_SETTINGS)))
    if settings:
        blocks.append(Fold("Settings of each analysis", [Terms(settings, is_code=True)]))
    blocks.append(
        Text(
            "All numbers of this page are in results.json in full precision, and in tables/, a CSV file for each "
            "analysis; the page is made from results.json alone.",
            small=True,
        )
    )
    return blocks
