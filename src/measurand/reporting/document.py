"""The whole report as a document: verdict, findings, design, panel, what is undefined, methods, how to reproduce."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from measurand.reporting import runs
from measurand.reporting.answers import findings
from measurand.reporting.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Fold,
    Section,
    Table,
    Terms,
    Text,
    name_cell,
)
from measurand.reporting.panel import panel, rated
from measurand.reporting.verdict import lead
from measurand.reporting.view import View, counts
from measurand.reporting.words import ANALYSIS, MARK, WORD, called, clean, joined, plural, shorten
from measurand.result import Result, show_number

#: Criteria that a sentence names; of more it gives the number.
_MOST_NAMED: Final = 6
_MOST_REASONS: Final = 20
_WORDS: Final = (
    ("item", "what is shown to raters: a text, an image, a task"),
    ("rater", "whoever gives the ratings: a person, or a model as judge"),
    ("system", "what a leaderboard ranks: a model with its settings, whose outputs were rated"),
    ("criterion", "the quantity that is rated, such as fluency"),
    ("rating", "one number that one rater gave to one thing"),
    ("cell", "one thing that was rated: an item, or the output of one system for one item"),
    ("completely crossed", "every rater rated every system on every item"),
    (
        "random, a sample",
        "taken as drawn from many more of its kind, so that a conclusion can reach beyond those at hand",
    ),
    (
        "unbiased",
        "right on average over panels of the kind; for a variance near 0 that takes negative estimates, too",
    ),
    (
        "interval",
        "the range that the data are compatible with, at the level stated; each says what was redrawn or varies in it",
    ),
    (
        "p",
        "how often chance alone would give as large a result; Holm's adjustment accounts for making many tests",
    ),
)
_GLOSSARY: Final = Fold("Words used on this page", [Terms(_WORDS)])
_NO_LIMITS: Final = "The layout itself sets no limits: every rater rated everything."
_SIZES: Final = (
    "Items",
    "Systems",
    "Raters",
    "Ratings",
    "Missing ratings",
    "Fewest raters of a cell",
    "Median raters of a cell",
    "Most raters of a cell",
)
_SIZE_STATISTICS: Final = (
    "n_items",
    "n_systems",
    "n_raters",
    "n_ratings",
    "n_missing",
    "raters_per_cell_min",
    "raters_per_cell_median",
    "raters_per_cell_max",
)
_METHODS: Final = (
    "Verdicts follow fixed rules: agreement passes if the lower limit of alpha is at least .667, reliability if the "
    "lower limit of G is at least the target; a test counts below p = .05. A finding that fails is a result, no error.",
    "Alpha: 1 minus observed over expected disagreement, pairs of ratings of one cell weighted by how many ratings it "
    "has (Krippendorff 2011, Computing Krippendorff's alpha-reliability; 2018, Content Analysis, chapter 12).",
    "Intraclass correlations: forms and F intervals as in McGraw & Wong 1996, Psychological Methods 1.",
    "Intervals of agreement: percentile bootstrap, redrawing items with all their cells, or cells; the raters stay.",
    "Variance components: from the mean squares of a complete crossing with one rating per cell, all facets random "
    "(Brennan 2001, Generalizability Theory, section 3.4). Their intervals, and those of G and Phi, by generalised "
    "pivotal quantities (Weerahandi 1993, JASA 88).",
    "G, Phi and the decision study: Brennan 2001, chapter 4. Negative components keep their sign in their table and "
    "count as 0 in G and Phi.",
    "Where raters did not rate everything: unbiased components by Henderson's method (1953, Biometrics 9), beside "
    "restricted maximum likelihood (REML; Patterson & Thompson 1971, Biometrika 58); tests of mixed models with the "
    "degrees of freedom of Satterthwaite as Fai & Cornelius extend them (1996, Journal of Statistical Computation and "
    "Simulation 54).",
    "Sets of ranks: from simultaneous intervals of all differences (Mogstad, Romano, Shaikh & Wilhelm 2024, Review of "
    "Economic Studies 91).",
    "Response style: Krosnick 1991, Applied Cognitive Psychology 5; drift: Leckie & Baird 2011, Journal of Educational "
    "Measurement 48.",
    "Tests of the systems with items and raters both random: quasi-F (Clark 1973, Journal of Verbal Learning and "
    "Verbal Behavior 12), degrees of freedom by Satterthwaite (1946, Biometrics Bulletin 2).",
    "Pairs of systems: t tests over items, over raters, and over both with the pooled error of the quasi-F; Holm (1979,"
    " Scandinavian Journal of Statistics 6) over the pairs of one criterion and unit.",
    "Presence of ratings: whether ratings are missing at random (Rubin 1976, Biometrika 63) cannot be seen, but "
    "dependence on the others' ratings can; t tests clustered by item.",
    "That an error term can turn a leaderboard around: Sakhawat 2026, arXiv 2609.29445.",
)


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
    number = counts(result.findings)
    about = runs.of_run(result)
    if about is None:
        view = View(result)
        about = runs.About(
            _headline(view),
            lead(view),
            [
                Section("findings", "Findings", findings(view)),
                Section("design", "What was rated, and what that cannot support", _design(view)),
                Section("panel", "The panel", panel(view)),
            ],
            [Section("methods", "Methods and references", [Bullets(_METHODS)])],
        )
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


def _design(view: View) -> list[Block]:
    if not view.about:
        return []
    if len(view.about) == 1:
        criterion, about = next(iter(view.about.items()))
        pairs = [("Criterion", criterion)] if criterion else []
        pairs += [(name.capitalize(), str(about[name])) for name in ("layout", "scale", "level")]
        for name, statistic in zip(_SIZES, _SIZE_STATISTICS, strict=True):
            row = view.first(criterion, "design", statistic)
            pairs += [(name, show_number(row.estimate))] if row is not None else []
        sizes = Terms([(name, clean(value)) for name, value in pairs])
        limits = [clean(limit) for limit in about.get("limits", [])]
        return [sizes, Bullets(limits) if limits else Text(_NO_LIMITS), _GLOSSARY]
    return [*_designs(view), _GLOSSARY]


def _designs(view: View) -> list[Block]:
    columns = [
        Column("Criterion"),
        Column("Layout"),
        Column("Scale"),
        Column("Level"),
        *(Column(name, is_number=True) for name in _SIZES),
    ]
    rows = []
    for criterion, about in view.about.items():
        found = (view.first(criterion, "design", name) for name in _SIZE_STATISTICS)
        sizes = [Cell("–" if row is None else show_number(row.estimate)) for row in found]
        words = [Cell(clean(about["layout"])), name_cell(about["scale"], 40), Cell(clean(about["level"]))]
        rows.append([name_cell(criterion), *words, *sizes])
    blocks: list[Block] = [Table("Sizes and layout", columns, rows)]
    if len(rows) > _MOST_NAMED:
        blocks = [Fold(f"Sizes and layout of {len(rows)} criteria", blocks)]
    limits: dict[str, list[str]] = {}
    for criterion, about in view.about.items():
        for limit in about.get("limits", []):
            limits.setdefault(clean(limit), []).append(criterion)
    said = [f"{_for(names_, len(view.about))}{limit}" for limit, names_ in limits.items()]
    return [*blocks, Bullets(said) if said else Text(_NO_LIMITS)]


def _for(names: list[str], of: int) -> str:
    """Return for which of several criteria a sentence holds, as its beginning."""
    if of == 1:
        return ""
    if len(names) == of:
        return f"All {of} criteria: "
    if len(names) > _MOST_NAMED:
        return f"{len(names)} of {of} criteria: "
    return f"{joined([shorten(called(name)) for name in names])}: "


def _undefined(result: Result) -> list[Block]:
    reasons: dict[str, dict[str, int]] = {}
    for row in result.rows:
        if row.undefined:
            of = reasons.setdefault(clean(row.undefined), {})
            of[row.analysis] = of.get(row.analysis, 0) + 1
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
            settings.append((ANALYSIS.get(analysis, clean(analysis)), shorten(text, 400)))
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
