"""What was rated and what that cannot support: the layout of a panel; the words and the methods of audits."""

from __future__ import annotations

from typing import Final

from measurand.reporting.blocks import Block, Bullets, Cell, Column, Fold, Table, Terms, Text, name_cell
from measurand.reporting.view import View
from measurand.reporting.words import joined
from measurand.result import show_number
from measurand.result.words import called, clean, shorten

#: Criteria that a sentence names; of more it gives the number.
_MOST_NAMED: Final = 6
WORDS: Final = (
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
_GLOSSARY: Final = Fold("Words used on this page", [Terms(WORDS)])
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
_OF_CELLS: Final = _SIZES[-3:]
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
#: What was done and where it is from: the analysis without which it is left out, the estimator, error term or kind of
#: interval where it is one's alone, the words. In the order of the page.
_METHODS: Final = (
    (
        "design",
        "",
        "Verdicts follow fixed rules: agreement passes if the lower limit of alpha is at least .667, reliability if the"
        " lower limit of G is at least the target; a test counts below p = .05. A finding that fails is a result, no "
        "error.",
    ),
    (
        "agreement",
        "",
        "Alpha: 1 minus observed over expected disagreement, pairs of ratings of one cell weighted by how many ratings "
        "it has (Krippendorff 2011, Computing Krippendorff's alpha-reliability; 2018, Content Analysis, chapter 12).",
    ),
    (
        "agreement",
        "",
        "Intraclass correlations: forms and F intervals as in McGraw & Wong 1996, Psychological Methods 1.",
    ),
    (
        "agreement",
        "",
        "Intervals of agreement: percentile bootstrap, redrawing items with all their cells, or cells; the raters "
        "stay.",
    ),
    (
        "style",
        "",
        "Response style: Krosnick 1991, Applied Cognitive Psychology 5; drift: Leckie & Baird 2011, Journal of "
        "Educational Measurement 48.",
    ),
    (
        "missingness",
        "",
        "Presence of ratings: whether ratings are missing at random (Rubin 1976, Biometrika 63) cannot be seen, but "
        "dependence on the others' ratings can; t tests clustered by item.",
    ),
    (
        "system_test",
        "quasi_f",
        "Tests of the systems with items and raters both random: quasi-F (Clark 1973, Journal of Verbal Learning and "
        "Verbal Behavior 12), degrees of freedom by Satterthwaite (1946, Biometrics Bulletin 2).",
    ),
    (
        "system_test",
        "mixed_model",
        "Mixed models: restricted maximum likelihood (REML; Patterson & Thompson 1971, Biometrika 58), tests with the "
        "degrees of freedom of Satterthwaite as Fai & Cornelius extend them (1996, Journal of Statistical Computation "
        "and Simulation 54).",
    ),
    (
        "system_test",
        "",
        "That an error term can turn a leaderboard around: Sakhawat 2026, arXiv 2609.29445.",
    ),
    (
        "components",
        "anova",
        "Variance components: from the mean squares of a complete crossing with one rating per cell, all facets random "
        "(Brennan 2001, Generalizability Theory, section 3.4). Their intervals, and those of G and Phi, by generalised "
        "pivotal quantities (Weerahandi 1993, JASA 88).",
    ),
    (
        "components",
        "henderson",
        "Variance components where raters did not rate everything: unbiased by Henderson's method (1953, Biometrics "
        "9). Their intervals, and those of G and Phi, by generalised pivotal quantities (Weerahandi 1993, JASA 88) on "
        "mean squares of such degrees of freedom as the layout leaves.",
    ),
    (
        "generalizability",
        "",
        "G, Phi and the decision study: Brennan 2001, chapter 4. Negative components keep their sign in their table and"
        " count as 0 in G and Phi.",
    ),
    (
        "pairs",
        "",
        "Pairs of systems: t tests over items and over raters; Holm (1979, Scandinavian Journal of Statistics 6) over "
        "the pairs of one criterion and unit.",
    ),
    (
        "pairs",
        "t, Satterthwaite, error pooled over systems",
        "Pairs of systems over both: t tests with the pooled error of the quasi-F, an interaction below the residual "
        "counted as none.",
    ),
    (
        "pairs",
        "t, Satterthwaite, full mixed model",
        "Pairs of systems over both, where raters did not rate everything: t tests of the full mixed model "
        "(Giesbrecht & Burns 1985, Biometrics 41).",
    ),
    (
        "ranks",
        "",
        "Sets of ranks: from simultaneous intervals of all differences (Mogstad, Romano, Shaikh & Wilhelm 2024, Review "
        "of Economic Studies 91), over items by the largest |t| of a bootstrap (Romano & Wolf 2005, Econometrica 73). "
        "Letters: Piepho 2004, Journal of Computational and Graphical Statistics 13.",
    ),
    (
        "length",
        "",
        "Length over systems: R-squared and rank correlation with intervals by Fisher's z (Bonett & Wright 2000, "
        "Psychometrika 65), R-squared also by its exact distribution (Muirhead 1982, Aspects of Multivariate "
        "Statistical Theory). Length of single judgements: mixed models with slopes by rater (Barr, Levy, Scheepers & "
        "Tily 2013, Journal of Memory and Language 68); that all raters have one slope: Hotelling's T-squared.",
    ),
    (
        "length",
        "",
        "Win rates at equal length: the share of comparisons of two outputs to one item in which one was rated above "
        "the other, a tie one half; intervals over items by percentile bootstrap, over raters by t, and Wilson's.",
    ),
)


def methods(view: View) -> list[str]:
    """Return what was done, and where it is from, of the analyses that have numbers."""
    there = {
        (row.analysis, by)
        for row in view.result.rows
        if not row.undefined
        for by in (row.keys.get("estimator", ""), row.keys.get("error_term", ""), row.method)
    }
    of = {analysis for analysis, _ in there} | {"design"}
    return [words for name, by, words in _METHODS if ((name, by) in there if by else name in of)]


def design(view: View, *, with_words: bool = True) -> list[Block]:
    """Return sizes and layout of every criterion, and what they cannot support; the words used, if asked for."""
    words = [_GLOSSARY] if with_words else []
    if not view.about:
        return []
    if len(view.about) == 1:
        criterion, about = next(iter(view.about.items()))
        pairs = [("Criterion", criterion)] if criterion else []
        pairs += [
            ("Layout", _times(about["layout"])),
            *((one.capitalize(), str(about[one])) for one in ("scale", "level")),
        ]
        shown = {
            name: show_number(row.estimate)
            for name, statistic in zip(_SIZES, _SIZE_STATISTICS, strict=True)
            if (row := view.first(criterion, "design", statistic)) is not None
        }
        each = {shown.get(name, "") for name in _OF_CELLS}
        if len(each) == 1 and "" not in each:
            shown = {name: value for name, value in shown.items() if name not in _OF_CELLS} | {
                "Raters of each cell": each.pop()
            }
        sizes = Terms([(name, clean(value)) for name, value in [*pairs, *shown.items()]])
        limits = [clean(limit) for limit in about.get("limits", [])]
        return [sizes, Bullets(limits) if limits else Text(_NO_LIMITS), *words]
    return [*_designs(view), *words]


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
        words = [Cell(clean(_times(about["layout"]))), name_cell(about["scale"], 40), Cell(clean(about["level"]))]
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


def _times(layout: object) -> str:
    """Return a layout with the sign of a crossing."""
    return str(layout).replace(" x ", " × ")


def _for(names: list[str], of: int) -> str:
    """Return for which of several criteria a sentence holds, as its beginning."""
    if of == 1:
        return ""
    if len(names) == of:
        return f"All {of} criteria: "
    if len(names) > _MOST_NAMED:
        return f"{len(names)} of {of} criteria: "
    return f"{joined([shorten(called(name)) for name in names])}: "
