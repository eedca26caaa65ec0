"""The numbers of one criterion as tables and figures: raters, agreement, what the ratings depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Bullets, Cell, Column, Fold, Image, Part, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures import available, plot
from measurand.reporting.systems import boards, decision_study, generalizability, pairs_of_systems
from measurand.reporting.view import View
from measurand.reporting.words import ERROR_TERM, SOURCE, STATISTIC, UNIT, called, clean, joined, plural, show_p
from measurand.result import Key, Row, show_number

#: Up to so many criteria have figures, and up to so many their own tables.
MOST_WITH_FIGURES: Final = 4
MOST_WITH_TABLES: Final = 6
#: Rows that a table of raters or of pairs of raters shows.
MOST_RATERS: Final = 40
MOST_RATER_PAIRS: Final = 45

_AGREEMENT: Final = (
    "observed_agreement",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
    "alpha_ratio",
    "icc_1_1",
    "icc_2_1",
    "icc_3_1",
    "icc_1_k",
    "icc_2_k",
    "icc_3_k",
)
_UNITS: Final = ("item", "item_cell", "item_cell+rater")


def panel(view: View) -> list[Block]:
    """Return the panel's numbers: of up to six criteria all tables, of more one table over the criteria."""
    if len(view.criteria) > MOST_WITH_TABLES:
        return _over_criteria(view)
    blocks: list[Block] = []
    for number, criterion in enumerate(view.criteria, start=1):
        parts = _of_criterion(view, criterion, number)
        if len(view.criteria) == 1:
            return list(parts)
        blocks.append(Part(f"criterion-{number}", called(criterion), 3, parts))
    return blocks


def _of_criterion(view: View, criterion: str, number: int) -> list[Part]:
    level = 3 if len(view.criteria) == 1 else 4
    has_figures = len(view.criteria) <= MOST_WITH_FIGURES
    can = available(view, criterion) if has_figures else []
    steps: Sequence[tuple[str, str, str, Callable[[View, str], list[Block]]]] = (
        ("agreement", "Agreement", "", _agreement),
        ("raters", "Each rater", "", _raters),
        ("agreement_pairs", "Every two raters", "", _rater_pairs),
        ("missing", "Who rated what", "", _missing),
        ("anova", "Do the systems differ? Analysis of variance and its tests", "", _anova),
        ("components", "What the ratings depend on: variance components", "components", _components),
        ("generalizability", "How reliable the ranking is: G and Phi", "", generalizability),
        ("decision", "What it would take: decision study", "decision", decision_study),
        ("pairs", "Which systems differ: pairs of systems", "", pairs_of_systems),
        ("boards", "The board without each rater", "ranks", boards),
    )
    parts = []
    for name, title, figure, step in steps:
        blocks = step(view, criterion)
        if not blocks:
            continue
        if figure in can:
            # The figure stands after the words that explain it and before the numbers.
            first = next((i for i, block in enumerate(blocks) if not isinstance(block, Text)), len(blocks))
            blocks.insert(first, Image(plot(view.result, figure=figure, criterion=criterion)))
        parts.append(Part(f"{name}-{number}", title, level, blocks))
    return parts


def _undefined(view: View, criterion: str, analysis: str) -> list[Block]:
    reason = view.reason(criterion, analysis)
    return [Text(f"Not defined here: {clean(reason)}.")] if reason else []


def _level_words(view: View, criterion: str) -> str:
    declared = str(view.about.get(criterion, {}).get("level", ""))
    if declared == "not declared":
        return (
            "No level of measurement was declared: take the alpha that suits the scale; the findings take the ordinal."
        )
    return (
        f"The declared level is {clean(declared)}: that alpha counts, the others show what the choice changes."
        if declared
        else ""
    )


def _agreement(view: View, criterion: str) -> list[Block]:
    columns = [Column("Coefficient"), Column("Estimate", is_number=True)]
    columns += [Column(f"Interval, {UNIT[unit]}", is_number=True) for unit in _UNITS]
    remarks = Remarks()
    notes: dict[str, list[str]] = {}
    rows = []
    for statistic in _AGREEMENT:
        found = view.rows(criterion, "agreement", statistic, {"system": ""})
        if not found:
            continue
        by_unit = {row.unit: row for row in found}
        first = by_unit.get("item", found[0])
        if first.undefined:
            remarks.see(first)
        elif "disagree more than chance" in first.note or "nearly all ratings" in first.note:
            notes.setdefault(first.note, []).append(STATISTIC[statistic])
        rows.append(
            [
                Cell(STATISTIC[statistic]),
                Cell("–", title=clean(first.undefined)) if first.undefined else Cell(cells.estimate(first).text),
                *(cells.interval(by_unit.get(unit)) for unit in _UNITS),
            ]
        )
    if not rows:
        return []
    for note, names in notes.items():
        remarks.say(f"{joined(names)}: {note}.")
    if any(view.defined(criterion, "agreement", "icc_1_1")):
        remarks.say(
            "ICCs use the cells that every rater rated. The F interval takes the cells of one item as independent, "
            "which they are not where several systems were rated on it."
        )
    blocks: list[Block] = [
        Text(
            "A cell is one thing that was rated: an item, or a system's output on an item. Krippendorff's alpha is 1 "
            "if raters always agree, 0 if they agree as often as chance would have it, and below 0 if less. An "
            "intraclass correlation (ICC) is the share of the variance of ratings that is due to the cells, not to the "
            "raters. The intervals redraw items (with all their cells) or cells, and hold for these raters. "
            + _level_words(view, criterion)
        ),
        without_empty("Agreement of all raters", columns, rows, remarks.all()),
    ]
    by_system = _agreement_by_system(view, criterion)
    return [*blocks, Fold("Agreement on each system", [by_system])] if by_system else blocks


def _agreement_by_system(view: View, criterion: str) -> Table | None:
    statistics = ("observed_agreement", f"alpha_{view.level(criterion)}")
    every = [row for row in view.rows(criterion, "agreement", statistics[1]) if row.keys.get("system", "")]
    if not every:
        return None
    remarks = Remarks()
    rows = []
    for row in every:
        keys: dict[str, Key] = {"system": row.keys["system"]}
        observed = view.first(criterion, "agreement", statistics[0], keys)
        rows.append([name_cell(row.keys["system"]), cells.estimate(observed), cells.estimate(row, remarks)])
    columns = [
        Column("System"),
        Column("Observed agreement", is_number=True),
        Column(STATISTIC[statistics[1]], is_number=True),
    ]
    return Table("Agreement on each system alone, items redrawn", columns, rows, remarks.all(4))


def _raters(view: View, criterion: str) -> list[Block]:
    names = list(dict.fromkeys(row.keys["rater"] for row in view.rows(criterion, "raters", "n_ratings")))
    if not names:
        return []
    remarks = Remarks()
    rows = []
    for name in names[:MOST_RATERS]:
        of = {
            s: view.first(criterion, "raters", s, {"rater": name})
            for s in ("n_ratings", "mean", "sd", "share_lowest", "share_highest", "levels_used")
        }
        for row in of.values():
            if row is not None and row.undefined:
                remarks.see(row)
        rows.append(
            [
                name_cell(name),
                cells.plain(of["n_ratings"]),
                cells.estimate(of["mean"]),
                cells.plain(of["sd"]),
                cells.share(of["share_lowest"]),
                cells.share(of["share_highest"]),
                cells.plain(of["levels_used"], remarks),
            ]
        )
    columns = [
        Column("Rater"),
        Column("Ratings", is_number=True),
        Column("Mean", is_number=True),
        Column("Standard deviation", is_number=True),
        Column("At the lowest, %", is_number=True),
        Column("At the highest, %", is_number=True),
        Column("Values used", is_number=True),
    ]
    if len(names) > MOST_RATERS:
        remarks.say(f"The first {MOST_RATERS} of {len(names)} raters; all are in tables/raters.csv.")
    return [
        Text(
            "Raters with very different means use the scale differently: they can order the systems alike and still "
            "not agree. The interval of a mean counts all ratings of one item as one observation."
        ),
        without_empty("Use of the scale by each rater", columns, rows, remarks.all()),
    ]


def _rater_pairs(view: View, criterion: str) -> list[Block]:
    statistics = ("pearson", "spearman", "kappa_quadratic", "alpha_ordinal", "observed_agreement", "kendall_tau_b")
    found: dict[tuple[Key, Key], dict[str, Row]] = {}
    for statistic in statistics:
        for row in view.rows(criterion, "agreement_pairs", statistic):
            if "rater_b" in row.keys:
                found.setdefault((row.keys["rater_a"], row.keys["rater_b"]), {})[statistic] = row
    if not found:
        return _undefined(view, criterion, "agreement_pairs")
    remarks = Remarks()
    rows = []
    for (a, b), of in list(found.items())[:MOST_RATER_PAIRS]:
        shown = []
        for statistic in statistics:
            one = of.get(statistic)
            if one is not None and one.undefined:
                remarks.see(one)
            shown.append(cells.estimate(one))
        sample = next(iter(of.values())).n_items
        rows.append([name_cell(a, 24), name_cell(b, 24), Cell(show_number(sample)), *shown])
    columns = [
        Column("Rater"),
        Column("and rater"),
        Column("Cells of how many items" if view.size(criterion, "n_systems") else "Items in common", is_number=True),
        *(
            Column(name, is_number=True)
            for name in (
                "Pearson's r",
                "Spearman's rho",
                "Kappa, quadratic",
                "Alpha, ordinal",
                "Observed agreement",
                "Tau-b of system means",
            )
        ),
    ]
    if len(found) > MOST_RATER_PAIRS:
        remarks.say(f"The first {MOST_RATER_PAIRS} of {len(found):,} pairs; all are in tables/agreement_pairs.csv.")
    return [
        Text(
            "A correlation sees only whether two raters go up and down together; kappa and alpha also see whether they "
            "give the same ratings. Tau-b compares the orders in which the two put the systems. Intervals redraw items."
        ),
        without_empty("Pairs of raters", columns, rows, remarks.all()),
    ]


def _missing(view: View, criterion: str) -> list[Block]:
    blocks: list[Block] = []
    difference = view.rows(criterion, "missingness", "difference")
    if difference:
        remarks = Remarks()
        rows = []
        for row in difference[:MOST_RATERS]:
            keys: dict[str, Key] = {"rater": row.keys.get("rater", ""), "rating": row.keys.get("rating", "")}
            size = view.first(criterion, "missingness", "standardised_difference", keys)
            if row.undefined:
                remarks.see(row)
            rating = row.keys.get("rating", "")
            rows.append(
                [
                    name_cell(keys["rater"], blank="all"),
                    name_cell(rating, blank="–"),
                    cells.estimate(row),
                    Cell("–") if size is None or size.undefined else Cell(show_number(size.estimate, width=1.0)),
                    cells.p_value(row.p_adjusted),
                ]
            )
        columns = [
            Column("Rater"),
            Column("Category"),
            Column("Others' ratings, where rated minus where not", is_number=True),
            Column("In standard deviations", is_number=True),
            Column("p (Holm)", is_number=True),
        ]
        if len(difference) > MOST_RATERS:
            remarks.say(f"The first {MOST_RATERS} of {len(difference)} rows; all are in tables/missingness.csv.")
        blocks += [
            Text(
                "If a rater was asked only where the others had rated high, the ratings that there are do not stand "
                "for those that are missing. Compared are the other raters' ratings where this rater rated and where "
                "they did not; p is Holm's over the comparisons."
            ),
            without_empty("Does the presence of a rating depend on the others?", columns, rows, remarks.all()),
        ]
    identical = view.rows(criterion, "copies", "n_identical")
    if identical:
        said = [
            f"{clean(row.keys['rater_a'])} and {clean(row.keys['rater_b'])}: the same rating on all "
            f"{show_number(row.estimate)} cells that both rated"
            for row in identical[:10]
        ]
        blocks += [Text("Raters with identical ratings:"), Bullets(said)]
    return blocks


def _anova(view: View, criterion: str) -> list[Block]:
    ss = view.rows(criterion, "anova", "ss")
    if not ss:
        return []
    if all(row.undefined for row in ss):
        return _undefined(view, criterion, "anova")
    remarks = Remarks()
    rows = []
    for row in ss:
        keys: dict[str, Key] = {"source": row.keys["source"]}
        of = [view.first(criterion, "anova", statistic, keys) for statistic in ("df", "ms")]
        part = view.first(criterion, "anova", "share", keys)
        source = str(row.keys["source"])
        if row.note:
            remarks.say(f"{clean(source)}: {row.note}.")
        rows.append(
            [Cell(SOURCE.get(source, clean(source))), cells.plain(row), *map(cells.plain, of), cells.share(part)]
        )
    columns = [
        Column("Source"),
        Column("Sum of squares", is_number=True),
        Column("df", is_number=True),
        Column("Mean square", is_number=True),
        Column("% of all squares", is_number=True),
    ]
    blocks: list[Block] = [
        Text(
            "The analysis of variance splits the spread of all ratings by where it comes from. Two names with a colon "
            "are an interaction: system:rater is large if raters disagree about which systems are good."
        ),
        Table("Analysis of variance", columns, rows, remarks.all()),
    ]
    tests = view.rows(criterion, "system_test", "f")
    return [*blocks, *_tests(tests)] if tests else blocks


def _tests(tests: Sequence[Row]) -> list[Block]:
    remarks = Remarks()
    rows = []
    for row in tests:
        term = str(row.keys["error_term"])
        if row.undefined:
            remarks.see(row)
        rows.append(
            [
                Cell(ERROR_TERM.get(term, clean(term))),
                cells.plain(row),
                Cell(show_number(row.df1)),
                Cell(show_number(row.df2)),
                Cell(show_p(row.p)),
            ]
        )
    columns = [Column("Error term"), *(Column(name, is_number=True) for name in ("F", "df", "df of the error", "p"))]
    return [
        Text(
            "F asks whether the systems differ by more than an error term. Which error term is right depends on whom "
            "the claim is about: against the residual, it is about exactly these raters and items; for a claim about "
            "other raters, system:rater must be the error; for other raters and other items, the quasi-F, which puts "
            "both errors together. A result that holds only in the first line is one about this panel."
        ),
        Table("Tests of the systems under each error term", columns, rows, remarks.all()),
    ]


def _components(view: View, criterion: str) -> list[Block]:
    found = view.rows(criterion, "components", "variance")
    if not found:
        return []
    if all(row.undefined for row in found):
        return _undefined(view, criterion, "components")
    remarks = Remarks()
    rows = []
    several = len({row.keys["estimator"] for row in found}) > 1
    for row in found:
        keys: dict[str, Key] = {"estimator": row.keys["estimator"], "component": row.keys["component"]}
        name = str(row.keys["component"])
        shown = SOURCE.get(name, clean(name)) + (f" ({clean(row.keys['estimator'])})" if several else "")
        if row.undefined or row.note:
            remarks.say(f"{clean(name)}: {row.undefined or row.note}.")
        bounds = "" if row.low is None else f"[{show_number(row.low)}, {show_number(row.high)}]"
        part = cells.share(view.first(criterion, "components", "share", keys))
        rows.append([Cell(shown), cells.plain(row), Cell(bounds or "–"), Cell(part.text), Cell(part.small or "–")])
    columns = [
        Column("Component"),
        Column("Variance", is_number=True),
        Column("Interval", is_number=True),
        Column("Share, %", is_number=True),
        Column("Interval", is_number=True),
    ]
    return [
        Text(
            "A variance component is how much one source makes single ratings differ, with that of the others taken "
            "out. Generalizability theory (G theory) builds on them: it treats items and raters as samples of all that "
            "could have been taken. The intervals are about items, systems and raters of this kind, so that few raters "
            "make wide ones."
        ),
        Table("Variance components", columns, rows, remarks.all()),
    ]


def _over_criteria(view: View) -> list[Block]:
    remarks = Remarks()
    rows = []
    levels = {view.level(criterion) for criterion in view.criteria}
    for criterion in view.criteria:
        alpha = _by_item(view.rows(criterion, "agreement", f"alpha_{view.level(criterion)}", {"system": ""}))
        g, quasi = (
            view.here(criterion, "g", "anova"),
            view.first(criterion, "system_test", "f", {"error_term": "quasi_f"}),
        )
        for row in (alpha, g, quasi):
            if row is not None and row.undefined:
                remarks.see(row)
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
                "p, quasi-F",
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
        Text(
            f"With more than {MOST_WITH_TABLES} criteria the other tables and the figures are left out of this page: "
            "every number is in results.json and in tables/*.csv, a file for each analysis.",
            small=True,
        ),
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
