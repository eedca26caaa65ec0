"""The numbers of one criterion as tables and figures: raters, agreement, what the ratings depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.agreement import agreement
from measurand.reporting.blocks import Block, Cell, Column, Image, Part, Text, name_cell
from measurand.reporting.boards import boards, rank_sets
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures import available, plot
from measurand.reporting.length import length
from measurand.reporting.raters import missing, rater_pairs, raters
from measurand.reporting.sources import components, system_tests
from measurand.reporting.systems import decision_study, generalizability, pairs_of_systems
from measurand.reporting.view import View
from measurand.result import Row, show_number
from measurand.result.words import called, plural

#: Up to so many criteria have figures, and up to so many their own tables.
MOST_WITH_FIGURES: Final = 4
MOST_WITH_TABLES: Final = 6
_LEFT_OUT: Final = (
    f"With more than {MOST_WITH_TABLES} criteria the other tables and the figures are left out of this page: every "
    "number is in results.json and in tables/*.csv, a file for each analysis."
)


def panel(view: View, *, first: int = 1) -> list[Block]:
    """Return the panel's numbers: of up to six criteria all tables, of more one table over the criteria.

    Anchors number the criteria from `first` on, so that two panels can stand on one page.
    """
    if len(view.criteria) > MOST_WITH_TABLES:
        return [*over_criteria(view), Text(_LEFT_OUT, small=True)]
    blocks: list[Block] = []
    for number, criterion in enumerate(view.criteria, start=first):
        parts = _of_criterion(view, criterion, number)
        if len(view.criteria) == 1:
            return list(parts)
        blocks.append(Part(f"criterion-{number}", called(criterion), 3, parts))
    return blocks


def _of_criterion(view: View, criterion: str, number: int) -> list[Part]:
    level = 3 if len(view.criteria) == 1 else 4
    has_figures = len(view.criteria) <= MOST_WITH_FIGURES
    can = available(view, criterion) if has_figures else []
    steps: Sequence[tuple[str, str, Sequence[str], Callable[[View, str], list[Block]]]] = (
        ("agreement", "Agreement", (), agreement),
        ("raters", "Each rater", ("rater_style",), raters),
        ("agreement_pairs", "Every two raters", (), rater_pairs),
        ("missing", "Who rated what", (), missing),
        ("anova", "Do the systems differ? Analysis of variance and tests", (), system_tests),
        ("components", "What the ratings depend on: variance components", ("components",), components),
        ("generalizability", "How reliable the ranking is: G and Phi", (), generalizability),
        ("decision", "What it would take: decision study", ("decision",), decision_study),
        ("pairs", "Which systems differ: pairs of systems", ("resolution",), pairs_of_systems),
        ("ranks", "How sure each rank is", ("rank_sets", "hasse"), rank_sets),
        (
            "boards",
            "The board without each rater, and without parts of the items",
            ("ranks", "decodability_ratings"),
            boards,
        ),
        # What outputs say comes after what the ratings say.
        ("length", "Do ratings follow length?", ("length",), length),
    )
    parts = []
    for name, title, figures, step in steps:
        if name == "anova" and not view.rows(criterion, "system_test", "f"):
            title = "Analysis of variance"
        blocks = step(view, criterion)
        if not blocks:
            continue
        # Figures stand after the words that explain them and before the numbers.
        first = next((i for i, block in enumerate(blocks) if not isinstance(block, Text)), len(blocks))
        drawn = [Image(plot(view.result, figure=one, criterion=criterion)) for one in figures if one in can]
        blocks[first:first] = drawn
        parts.append(Part(f"{name}-{number}", title, level, blocks))
    return parts


def over_criteria(view: View) -> list[Block]:
    """Return agreement and reliability of all criteria in one table."""
    remarks = Remarks()
    rows = []
    levels = {view.level(criterion) for criterion in view.criteria}
    for criterion in view.criteria:
        alpha = _by_item(view.rows(criterion, "agreement", f"alpha_{view.level(criterion)}", {"system": ""}))
        g = view.here(criterion, "g", view.unbiased(criterion, "generalizability", "g") or "anova")
        quasi = view.first(criterion, "system_test", "f", {"error_term": "quasi_f"})
        if quasi is not None and quasi.undefined:
            full = view.first(criterion, "system_test", "f", {"error_term": "mixed_model", "model": "full"})
            quasi = full if full is not None and not full.undefined else quasi
        for row in (alpha, g, quasi):
            if row is not None and row.undefined:
                remarks.see(row)
        remarks.hold(alpha, called(criterion))
        rows.append(
            [
                name_cell(criterion),
                *(
                    Cell(show_number(view.size(criterion, name) or None))
                    for name in ("n_items", "n_systems", "n_raters", "n_ratings")
                ),
                cells.estimate(_by_item(view.rows(criterion, "agreement", "observed_agreement", {"system": ""}))),
                cells.estimate(alpha),
                cells.estimate(_by_item(view.rows(criterion, "agreement", "icc_2_1", {"system": ""}))),
                cells.estimate(g) if g is not None else Cell("–"),
                cells.p_value(quasi.p if quasi is not None else None),
            ]
        )
    if any(row[-1].text != "–" for row in rows):
        remarks.say("p is that of the quasi-F, on incomplete panels that of the full mixed model.")
    alpha_name = f"Alpha, {levels.pop()}" if len(levels) == 1 else "Alpha at the declared level"
    columns = [
        Column("Criterion"),
        *(
            Column(name, is_number=True)
            for name in (
                "Items",
                "Systems",
                "Raters",
                "Ratings",
                "Observed agreement",
                alpha_name,
                "ICC(2,1)",
                "G",
                "p, items and raters random",
            )
        ),
    ]
    return [
        Text(
            "Observed agreement is the share of equal pairs of ratings. Krippendorff's alpha sets it against chance: 1 "
            "if raters always agree, 0 if as often as chance would have it, below 0 if less. ICC(2,1) is the share of "
            "the variance of ratings that is not due to raters, over what every rater rated. Intervals redraw items."
        ),
        without_empty("Agreement and reliability by criterion", columns, rows, remarks.all()),
    ]


def _by_item(rows: Sequence[Row]) -> Row | None:
    return next((row for row in rows if row.unit == "item"), rows[0] if rows else None)


def rated(view: View, criterion: str) -> str:
    """Return what was rated by how many, in a few words."""
    sizes = [
        plural(size, noun)
        for name, noun in (("n_items", "item"), ("n_systems", "system"), ("n_raters", "rater"))
        if (size := view.size(criterion, name))
    ]
    return " × ".join(sizes)
