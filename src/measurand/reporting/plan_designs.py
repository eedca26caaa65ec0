"""Tables of a plan: the cheapest designs, what the same money buys, cost against reliability, differences found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells, figures_plan
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.plan_view import Designed, Plan, layout_words, panel_words, per_item
from measurand.reporting.words import ESTIMATOR, FACETS, begin
from measurand.result import Row, show_number
from measurand.result.words import clean, plural
from measurand.sentences import money, share

#: Estimators whose designs stand beside those of the unbiased one, folded away.
_REST: Final = ("reml", "plugin")
_PLUGIN: Final = (
    "The plug-in takes the spread of the observed means for that of the systems, errors and all, so that it promises "
    "too much."
)
#: What intervals generalise over, where all of a table do.
_INTERVALS: Final = "Intervals are for other items, systems and raters of this kind."
#: Powers above this are shown as more than it: their last digits say nothing.
_CERTAIN: Final = 0.999


def designs(view: Plan, criterion: str) -> list[Block]:
    """Return the cheapest panel of each layout by the estimate, beside the one that is sure to reach the target."""
    by_estimate = view.designs(criterion, "estimate")
    if not by_estimate:
        return []
    sure = {one.layout: one for one in view.designs(criterion, "lower_limit")}
    rows = []
    for one in by_estimate:
        needed, certain = view.needed(criterion, one.layout), sure.get(one.layout)
        rows.append(
            [
                Cell(layout_words(one.layout)),
                _price(needed),
                _panel(one),
                cells.estimate(one.coefficient),
                _reached(one),
                _cost(certain),
                _panel(certain),
            ]
        )
    columns = [
        Column("Layout"),
        Column("Cost by the estimate", is_number=True),
        Column("Panel"),
        Column(view.letter, is_number=True),
        Column("Reached in, %", is_number=True),
        Column("Cost to be sure", is_number=True),
        Column("Panel to be sure"),
    ]
    said = (
        f"The cheapest panel of each layout whose {view.letter} is {_target(view)} or more by the estimate; below its "
        f"cost the {view.confidence} range of what it would take if the components were known."
    )
    if any(one.is_there for one in by_estimate):
        said += (
            " A panel that is cheap by the estimate alone is a bet: “reached in” is the share of what the first "
            "ratings leave possible in which it reaches the target."
        )
    if any(one.is_there for one in sure.values()):
        said += (
            f" Beside it stands the cheapest panel that is sure: the lower end of its interval of {view.letter} is "
            f"{_target(view)} or more."
        )
    notes = [*_open_ends(view, rows, list(sure.values())), _INTERVALS]
    notes += [*_why_none("By the estimate", by_estimate), *_why_none("To be sure", list(sure.values()))]
    table = without_empty(f"Cheapest panels for {view.wanted}", columns, rows, notes)
    return [Text(said), table, *_other_estimators(view, criterion)]


def _open_ends(view: Plan, rows: Sequence[Sequence[Cell]], sure: Sequence[Designed]) -> list[str]:
    """Return what a range without an upper end, and one of the cost to be sure, stand for."""
    said = []
    if any("∞" in line[1].small for line in rows):
        said.append(f"∞: perhaps no panel of this layout within {view.bounds} would do.")
    if any(" to " in one.price or " or more" in one.price for one in sure):
        said.append(
            "The cost to be sure has a range where the draws, of which there are only so many, leave it open; the "
            "panel beside it is that of the dearer end, or the cheapest that does by the draws as they are if there "
            "is no such end."
        )
    return said


def _why_none(start: str, found: Sequence[Designed]) -> list[str]:
    """Return why layouts have no design, those with the same reason together."""
    by: dict[str, list[str]] = {}
    for one in found:
        if not one.is_there:
            whole = clean(one.undefined)
            by.setdefault(whole.partition(": ")[2] or whole, []).append(layout_words(one.layout))
    return [f"{start}, none ({', '.join(layouts)}): {why}." for why, layouts in by.items()]


def _target(view: Plan) -> str:
    return show_number(float(view.asked("target", 0.8)))


def _price(needed: Row | None) -> Cell:
    if needed is None or needed.undefined:
        return cells.estimate(needed)
    text = "none" if needed.estimate == float("inf") else money(needed.estimate)
    return Cell(text, _range(needed))


def _range(row: Row) -> str:
    """Return the interval of a cost; its ends may differ a hundredfold, so that each has digits of its own."""
    return "" if row.low is None or row.high is None else f"[{money(row.low)}, {money(row.high)}]"


def _cost(design: Designed | None) -> Cell:
    if design is None or not design.is_there:
        return Cell("–", title="" if design is None else clean(design.undefined))
    # From one end to the other: the second line is below the first, since a table has no room for both in one.
    low, _, rest = design.price.partition(" ")
    return Cell(low, rest)


def _panel(design: Designed | None, *, with_judgements: bool = True) -> Cell:
    if design is None or not design.is_there:
        return Cell("–", title="" if design is None else clean(design.undefined))
    told = []
    if design.layout == "rotating":
        told.append(f"{plural(per_item(design), 'rater')} for an item")
    elif design.layout == "nested" and not with_judgements:
        told.append(plural(design.sizes[1], "item"))
    judged = design.rows.get("n_judgements")
    if with_judgements and judged is not None:
        told.append(plural(int(judged.estimate), "judgement"))
    return Cell(panel_words(design), ", ".join(told))


def _reached(design: Designed) -> Cell:
    row = design.rows.get("probability_reached")
    return Cell("–") if row is None else Cell(share(row.estimate).removesuffix(" %"))


def _other_estimators(view: Plan, criterion: str) -> list[Block]:
    """Return what other estimators say, folded away: they differ in how they take errors out of the spread."""
    names = [name for name in view.estimators(criterion)[1:] if name in _REST]
    notes: list[str] = []
    rows = []
    for name in names:
        found = view.designs(criterion, "estimate", name)
        notes += _why_none(f"By {ESTIMATOR.get(name, name)}", found)
        rows += [
            [
                Cell(ESTIMATOR.get(name, name)),
                Cell(layout_words(one.layout)),
                _cost(one),
                _panel(one),
                cells.estimate(one.coefficient),
                _reached(one),
            ]
            for one in found
            if one.is_there
        ]
    if not rows:
        return [Text(note, small=True) for note in notes]
    columns = [Column("Estimator"), Column("Layout"), Column("Cost", is_number=True), Column("Panel")]
    columns += [Column(view.letter, is_number=True), Column("Reached in, %", is_number=True)]
    said = _PLUGIN if "plugin" in names else ""
    if "reml" in names:
        said = f"REML takes a component that would be negative for 0, and fits the others to that. {said}".strip()
    table = without_empty(f"Cheapest panels for {view.wanted} by other estimators", columns, rows, notes)
    return [Fold("By other estimators", [Text(said), table])]


def same_cost(view: Plan, criterion: str, *, with_figure: bool = True) -> list[Block]:
    """Return what each layout would have bought for what the panel cost."""
    own = view.as_rated(criterion)
    others = view.designs(criterion, "same_cost")
    if own is None or not others:
        return []
    remarks = Remarks()
    remarks.say(_INTERVALS)
    rows = [_bought(view, criterion, one, own, remarks) for one in (own, *others)]
    columns = [
        Column("Layout"),
        Column("Panel"),
        Column("Judgements", is_number=True),
        Column("Cost", is_number=True),
        Column("Error variance", is_number=True),
        Column("Against this panel, %", is_number=True),
        Column(f"{view.letter}, {ESTIMATOR.get(view.unbiased(criterion), 'estimate')}", is_number=True),
        Column(f"{view.letter}, plug-in", is_number=True),
    ]
    what = "differences between systems" if view.letter == "G" else "the systems' levels"
    said = (
        "The panel as it was rated, and of each layout the one with the least error that costs no more. The error "
        f"variance is that of {what}. {_on_raters(own, others)}"
    )
    table = _uncosted(view, without_empty("What the same money buys", columns, rows, remarks.all()))
    drawn = (
        []
        if figures_plan.missing(view, "same_cost", criterion) or not with_figure
        else [Image(figures_plan.same_cost(view, criterion))]
    )
    return [Text(said), table, *drawn]


def _on_raters(own: Designed, others: Sequence[Designed]) -> str:
    """Return why more raters often buy less error, and whether they do here."""
    there = [(row.estimate, one) for one in others if (row := one.rows.get("error_variance")) is not None]
    before = own.rows.get("error_variance")
    if before is None or not there:
        return ""
    error, best = min(there, key=lambda one: one[0])
    why = "what one rater thinks of a system is the same on every item, and only other raters average it out"
    if error < before.estimate and best.sizes[0] > own.sizes[0]:
        return f"More raters with fewer items each buy less error here: {why}."
    return f"Often more raters with fewer items each buy less error, since {why}. Here they do not."


def _uncosted(view: Plan, table: Table) -> Table:
    """Return a table without its costs where they are the judgements that it has already."""
    kept = [at for at, column in enumerate(table.columns) if view.is_priced or column.text != "Cost"]
    return Table(table.caption, [table.columns[at] for at in kept], [[row[at] for at in kept] for row in table.rows],
                 table.notes)  # fmt: skip


def _bought(view: Plan, criterion: str, one: Designed, own: Designed, remarks: Remarks) -> list[Cell]:
    error, before = one.rows.get("error_variance"), own.rows.get("error_variance")
    change = Cell("–")
    if one is not own and error is not None and before is not None and before.estimate > 0:
        change = Cell(f"{100 * (error.estimate / before.estimate - 1):+.1f}".replace("-", "−"))
    judged = one.rows.get("n_judgements")
    if one.coefficient is not None:
        remarks.see(one.coefficient)
    elif one.undefined:
        remarks.say(f"{begin(clean(one.undefined))}.")
    return [
        Cell(layout_words(one.layout)),
        _panel(one, with_judgements=False),
        Cell("–" if judged is None else f"{int(judged.estimate):,}"),
        _cost(one),
        cells.estimate(error),
        change,
        cells.estimate(one.coefficient),
        cells.plain(_plugin_of(view, criterion, one)),
    ]


def _plugin_of(view: Plan, criterion: str, one: Designed) -> Row | None:
    """Return the plug-in's coefficient of the same design; it may have chosen another one."""
    basis = str(one.keys.get("basis", ""))
    same = [
        two for two in view.designs(criterion, basis, "plugin") if (two.layout, two.sizes) == (one.layout, one.sizes)
    ]
    return same[0].coefficient if same and one.is_there else None


def front(view: Plan, criterion: str, *, with_figure: bool = True) -> list[Block]:
    """Return the cheapest panels for reliabilities from low to high, as a figure and as tables."""
    by = {name: view.designs(criterion, "front", name) for name in view.estimators(criterion)}
    by = {name: found for name, found in by.items() if found}
    if not by:
        return []
    unbiased = view.unbiased(criterion)
    said = f"The cheapest panel of any layout for each {view.letter}: nothing within {view.bounds} is both cheaper and "
    said += "better. Where the curve grows flat, the last hundredths are dear."
    is_drawn = with_figure and not figures_plan.missing(view, "front", criterion)
    if unbiased not in by:
        hollow = "drawn hollow, and " * is_drawn
        said = (
            f"By the unbiased estimate no panel has a {view.letter} above 0, so that there is no curve of what each "
            f"{view.letter} costs; what other estimators promise is {hollow}folded away below. {_PLUGIN}"
        )
    blocks: list[Block] = [Text(said)]
    if is_drawn:
        blocks.append(Image(figures_plan.front(view, criterion)))
    for name, found in by.items():
        table = _front_table(view, found, ESTIMATOR.get(name, name), with_estimator=name != unbiased)
        is_main = name == unbiased
        blocks.append(table if is_main else Fold(f"By the estimator: {ESTIMATOR.get(name, name)}", [table]))
    return blocks


def _front_table(view: Plan, found: Sequence[Designed], estimator: str, *, with_estimator: bool) -> Table:
    rows = []
    # A small panel may be the cheapest for several levels.
    by: dict[tuple[str, tuple[int, int, int]], list[Designed]] = {}
    for one in found:
        by.setdefault((one.layout, one.sizes), []).append(one)
    for same in by.values():
        one = same[0]
        levels = [show_number(float(two.keys["target"])) for two in (same[0], same[-1])]
        judged = one.rows.get("n_judgements")
        rows.append(
            [
                Cell(" to ".join(dict.fromkeys(levels))),
                Cell(layout_words(one.layout)),
                _panel(one, with_judgements=False),
                Cell("–" if judged is None else f"{int(judged.estimate):,}"),
                _cost(one),
                cells.estimate(one.coefficient),
            ]
        )
    columns = [Column(f"{view.letter} wanted", is_number=True), Column("Layout"), Column("Panel")]
    columns += [Column(words, is_number=True) for words in ("Judgements", "Cost", view.letter)]
    caption = f"Cost against {view.letter}{f', {estimator}' if with_estimator else ''}"
    has_intervals = any(row[-1].small for row in rows)
    return _uncosted(view, without_empty(caption, columns, rows, [_INTERVALS] * has_intervals))


def power(view: Plan, criterion: str) -> list[Block]:
    """Return the smallest difference that the panel finds, and what finding a given one would take."""
    smallest = view.rows(criterion, "power", "smallest_difference")
    if not smallest or all(row.undefined for row in smallest):
        return []
    settings = view.settings("power")
    wanted = f"{100 * float(settings.get('power', 0.8)):g} %"
    difference = settings.get("difference")
    remarks = Remarks()
    remarks.say(
        "Intervals say how well the first ratings tell the error, for other items of this kind and, in the first line, "
        "other raters."
    )
    rows = []
    for row in smallest:
        error = view.first(criterion, "power", "standard_error", {"unit": row.unit})
        found = view.first(criterion, "power", "power", {"unit": row.unit, "layout": "as_rated"})
        for one in (row, error):
            if one is not None:
                remarks.see(one)
        rows.append(
            [
                Cell(begin(FACETS.get(row.unit, clean(row.unit)))),
                cells.estimate(error),
                Cell("–" if row.df2 is None else show_number(round(row.df2, 1))),
                cells.estimate(row),
                _powered(found),
            ]
        )
    columns = [
        Column("If the comparison were made again"),
        Column("Standard error", is_number=True),
        Column("Degrees of freedom", is_number=True),
        Column(f"Smallest difference found, power {wanted}", is_number=True),
        Column(f"Power for {show_number(difference)}", is_number=True),
    ]
    said = (
        "A difference between two systems that is named beforehand, in units of the scale, tested at level "
        f"{show_number(settings.get('alpha', 0.05))}. Conclusions about systems in general take other items and "
        "raters; those about these very raters are easier, and say less."
    )
    beside: list[Block] = []
    if (span := view.first(criterion, "power", "span_of_systems")) is not None and not span.undefined:
        apart = show_number(span.estimate)
        told = f"The observed means of the best and the worst system lie {apart} apart, errors and all"
        true = view.first(criterion, "power", "true_span_of_systems")
        if true is None:
            told += "."
        elif true.undefined:
            told += f"; how far without errors is not known: {clean(true.undefined)}."
        else:
            told += f"; without errors as many systems would be expected {show_number(true.estimate)} apart."
        beside = [Text(told)]
    table = without_empty("Which differences this panel finds", columns, rows, remarks.all())
    return [Text(said), *beside, table, *_finding_it(view, criterion, wanted)]


def _powered(row: Row | None) -> Cell:
    """Return the cell of a power."""
    return Cell(f"> {_CERTAIN}") if row is not None and row.estimate > _CERTAIN else cells.estimate(row)


def _finding_it(view: Plan, criterion: str, wanted: str) -> list[Block]:
    found = view.designs(criterion, "", analysis="power")
    if not found:
        return []
    difference = show_number(float(found[0].keys["difference"]))
    remarks = Remarks()
    rows = []
    for one in found:
        if not one.is_there:
            remarks.say(f"{begin(clean(one.undefined))}.")
        reached = one.rows.get("power")
        row = [Cell(layout_words(one.layout)), _cost(one), _panel(one), _powered(reached)]
        rows.append(row)
    if not any(one.is_there for one in found):
        return [Text(f"No layout within {view.bounds} finds a difference of {difference} with {wanted} power.")]
    columns = [Column("Layout"), Column("Cost", is_number=True), Column("Panel"), Column("Power", is_number=True)]
    caption = f"Cheapest panels that find a difference of {difference} with {wanted} power, by the estimate"
    return [Table(caption, columns, rows, remarks.all())]


def over_criteria(view: Plan) -> Table:
    """Return one row for each criterion: what it takes, and what its panel finds."""
    remarks = Remarks()
    rows = []
    for criterion in view.criteria:
        if fault := view.fault(criterion):
            remarks.say(f"Where there is no number: {fault}.")
        own, needed = view.as_rated(criterion), view.needed(criterion)
        sure = _first_there(view.designs(criterion, "lower_limit"))
        by_estimate = _first_there(view.designs(criterion, "estimate"))
        items, raters = view.sample(criterion)
        rows.append(
            [
                name_cell(criterion),
                *(Cell(show_number(size)) for size in (items, view.n_systems(criterion), raters)),
                cells.estimate(None if own is None else own.coefficient),
                _price(needed),
                _with_layout(by_estimate),
                _cost(sure),
                _with_layout(sure),
                cells.estimate(view.first(criterion, "power", "smallest_difference", {"unit": "item+rater"})),
            ]
        )
    columns = [Column("Criterion")]
    columns += [Column(name, is_number=True) for name in ("Items", "Systems", "Raters", f"{view.letter} as it is")]
    columns += [Column(f"Cost of {view.wanted}", is_number=True), Column("Panel")]
    columns += [Column("Cost to be sure", is_number=True), Column("Panel to be sure")]
    columns.append(Column("Smallest difference found", is_number=True))
    return without_empty("What each criterion takes, in its cheapest layout", columns, rows, remarks.all())


def _first_there(found: Sequence[Designed]) -> Designed | None:
    return next((one for one in found if one.is_there), None)


def _with_layout(design: Designed | None) -> Cell:
    if design is None:
        return Cell("–")
    return Cell(f"{layout_words(design.layout)}: {panel_words(design)}")


def in_words(design: Designed) -> str:
    """Return a design as a sentence has it."""
    return f"{layout_words(design.layout)}, {panel_words(design)}"
