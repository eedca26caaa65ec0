"""A design of other facets: its components, its reliability at other sizes, and what the target takes and costs."""

from __future__ import annotations

from typing import Final

from measurand.reporting import cells, figures_plan
from measurand.reporting.blocks import Block, Cell, Column, Image, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.plan_view import Plan
from measurand.reporting.words import joined
from measurand.result import Row, show_number
from measurand.result.words import clean, shorten
from measurand.sentences import price

#: Why sizes are there, in the order of the table.
_BASES: Final = {
    "as_rated": "as it is",
    "estimate": "cheapest by the estimate",
    "lower_limit": "cheapest to be sure",
    "same_cost": "best for the same money",
    "front": "cheapest for G",
}


def components(view: Plan, criterion: str, *, with_figure: bool = True) -> list[Block]:
    """Return the components of a design and what each adds to the error, as a table and a figure."""
    every = view.rows(criterion, "plan", "variance")
    if not every:
        return []
    shares = {row.keys["component"]: row for row in view.rows(criterion, "plan", "error_share")}
    remarks = Remarks()
    rows = []
    remarks.say(_intervals(view))
    for row in every:
        remarks.see(row)
        part = shares.get(row.keys["component"])
        rows.append([name_cell(row.keys["component"], 48), cells.estimate(row), cells.share(part)])
    columns = [
        Column("Component"),
        Column("Variance", is_number=True),
        Column("Share of the error, %", is_number=True),
    ]
    thing = shorten(view.asked("object", "system"))
    said = (
        f"What ratings vary with. Components with {thing} in their name, {thing} alone excepted, and the residual are "
        f"error of differences between levels of {thing}; the others shift all of them alike. Shares are those at the "
        "design's own sizes."
    )
    table = without_empty("Variance components", columns, rows, remarks.all())
    blocks: list[Block] = [Text(said), table]
    if with_figure and not figures_plan.missing(view, "error_shares", criterion):
        blocks.append(Image(figures_plan.error_shares(view, criterion)))
    return blocks


def projections(view: Plan, criterion: str) -> list[Block]:
    """Return G and Phi at the design's own sizes and at those asked for."""
    # What a search for sizes found has a target, or a basis of its own.
    every = [row for row in view.rows(criterion, "plan", "g") if row.keys.get("basis", "") in ("", "as_rated")]
    if not every or all(row.undefined for row in every):
        return []
    remarks = Remarks()
    rows = []
    remarks.say(_intervals(view))
    for place, row in enumerate(every):
        phi = view.first(
            criterion, "plan", "phi", {"at": row.keys["at"], "basis": row.keys.get("basis", ""), "target": ""}
        )
        remarks.see(row)
        own = "as it is" if place == 0 else "projected"
        rows.append([Cell(_sizes(row), own, is_name=True), cells.estimate(row), cells.estimate(phi)])
    columns = [Column("Levels of each facet"), Column("G", is_number=True), Column("Phi", is_number=True)]
    said = (
        f"G is the share of the spread that would come back with other levels of the facets; {view.wanted} is wanted. "
        "Phi counts as error what shifts everything alike, too. Sizes of a nested facet are within each level of what "
        "it is nested in."
    )
    return [Text(said), without_empty("Reliability by size", columns, rows, remarks.all())]


def _intervals(view: Plan) -> str:
    """Return what the intervals of a design generalise over."""
    fixed = [shorten(one) for one in view.asked("fixed") or []]
    return f"Intervals are for other levels of every facet{f' but {joined(fixed)}' if fixed else ''}."


def _sizes(row: Row) -> str:
    return clean(row.keys["at"]).replace("=", " ")


def sizes(view: Plan, criterion: str) -> list[Block]:
    """Return the cheapest sizes that reach the target, what the same money buys, and the front of costs."""
    every = [row for row in view.rows(criterion, "plan", "cost") if row.keys.get("basis", "") in _BASES]
    if not every:
        return []
    every.sort(key=lambda row: list(_BASES).index(str(row.keys["basis"])))
    remarks = Remarks()
    rows = []
    remarks.say(_intervals(view))
    for row in every:
        remarks.see(row)
        basis = str(row.keys["basis"])
        what = _BASES[basis] + (f" {show_number(float(row.keys['target']))}" if basis == "front" else "")
        if row.undefined:
            rows.append([Cell(what), Cell("none"), Cell(""), Cell(""), Cell(""), Cell("")])
            continue
        g, reached, ratings = (
            view.first(criterion, "plan", name, row.keys) for name in ("g", "probability_reached", "n_judgements")
        )
        remarks.hold(g, "G")
        rows.append(
            [
                Cell(what),
                Cell(price(row)),
                Cell(_sizes(row)),
                Cell("–" if ratings is None else show_number(ratings.estimate)),
                cells.estimate(g),
                cells.share(reached) if reached is not None else Cell(""),
            ]
        )
    columns = [
        Column("Sizes"),
        Column("Cost", is_number=True),
        Column("Levels of each facet"),
        Column("Ratings", is_number=True),
        Column("G", is_number=True),
        Column("Reached in, %", is_number=True),
    ]
    needed = view.first(criterion, "plan", "cost_needed")
    if needed is not None and needed.note:
        remarks.say(f"{needed.note[:1].upper()}{needed.note[1:]}.")
    said = (
        f"Complete designs of other sizes, where one of each costs: {_costs(view)}. The cheapest by the estimate is a "
        "bet: “reached in” is the share of what these ratings leave possible in which it reaches the target. To be "
        f"sure, the lower end of the interval of G is {show_number(float(view.asked('target', 0.8)))} or more."
    )
    return [Text(said), without_empty(f"Cheapest sizes for {view.wanted}", columns, rows, remarks.all())]


def _costs(view: Plan) -> str:
    told = [f"{clean(name)} {show_number(float(cost))}" for name, cost in (view.asked("costs") or {}).items() if cost]
    return joined(told) or "judgement 1"


def levels(view: Plan, criterion: str) -> list[Block]:
    """Return how many levels of each facet alone the target takes."""
    every = view.rows(criterion, "plan", "levels_needed")
    if not every:
        return []
    here = view.first(criterion, "plan", "g")
    sizes = {} if here is None else sizes_of(here)
    remarks = Remarks()
    rows = []
    remarks.say(_intervals(view))
    for row in every:
        facet = str(row.keys["component"])
        text = "no number" if row.estimate == float("inf") else show_number(row.estimate)
        ends = "" if row.low is None or row.high is None else f"[{show_number(row.low)}, {show_number(row.high)}]"
        if row.high == float("inf"):
            remarks.say(f"{shorten(facet)}: {row.note.partition(';')[0]}.")
        rows.append([name_cell(facet), Cell(sizes.get(facet, "–")), Cell(text, ends)])
    columns = [Column("Facet"), Column("Levels now", is_number=True), Column("Levels needed", is_number=True)]
    said = f"How many levels of one facet {view.wanted} would take, the others as they are."
    return [Text(said), without_empty(f"Levels needed for {view.wanted}", columns, rows, remarks.all())]


def sizes_of(row: Row) -> dict[str, str]:
    """Return the levels of each facet from the sizes that a row stands at."""
    told = (part.rpartition("=") for part in str(row.keys["at"]).split(", "))
    return {facet: size for facet, _, size in told}
