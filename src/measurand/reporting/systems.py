"""What the ratings say about the systems: reliability of the ranking, what it would take, pairs, boards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Table, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import ESTIMATOR, clean, plural, show_count
from measurand.result import Key, Row, show_number

#: Above so many pairs of systems only the summary is shown.
MOST_PAIRS: Final = 60
#: Raters whose boards stand in the table, and systems in its rows.
MOST_BOARDS: Final = 14
MOST_SYSTEMS: Final = 60
_ALPHA: Final = 0.05
_OVER: Final = {"item": "over items", "rater": "over raters", "item+rater": "over both"}


def _undefined(view: View, criterion: str, analysis: str) -> list[Block]:
    reason = view.reason(criterion, analysis)
    return [Text(f"Not defined here: {clean(reason)}.")] if reason else []


def _estimators(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row.keys["estimator"]) for row in rows))


def generalizability(view: View, criterion: str) -> list[Block]:
    """Return G and Phi at the panel's size under every estimator, beside what it says if no system differed."""
    every = view.rows(criterion, "generalizability", "g")
    if not every or all(row.undefined for row in every):
        return _undefined(view, criterion, "generalizability")
    remarks = Remarks()
    rows = []
    for estimator in _estimators(every):
        of = {statistic: view.here(criterion, statistic, estimator) for statistic in ("g", "phi", "g_null")}
        for statistic in ("g", "phi"):
            row = of[statistic]
            if row is not None:
                remarks.see(row)
        rows.append([Cell(ESTIMATOR.get(estimator, clean(estimator))), *(cells.estimate(row) for row in of.values())])
    columns = [
        Column("Estimator"),
        Column("G", is_number=True),
        Column("Phi", is_number=True),
        Column("G if no system differed", is_number=True),
    ]
    return [
        Text(
            "G is the share of the spread of the systems' means that would come back with other items and raters: 1 is "
            "a ranking without error, 0 one of error alone. Phi also counts raters' severity and items' difficulty as "
            "error; it is the one to read if a mean itself, not the order, is what matters. The unbiased estimator "
            "subtracts from the observed spread what error adds to it; the plug-in, common in papers, does not. The "
            "last column shows what that does: the mean, and the central range, of each estimator over simulated "
            "panels of this size in which no system differs. A value of G inside that range is no evidence of a "
            "difference."
        ),
        Table(f"G and Phi of this panel ({_size(view, criterion)})", columns, rows, remarks.all()),
    ]


def _size(view: View, criterion: str) -> str:
    items, raters = view.size(criterion, "n_items") or 0, view.size(criterion, "n_raters") or 0
    return f"{plural(items, 'item')}, {plural(raters, 'rater')}"


def decision_study(view: View, criterion: str) -> list[Block]:
    """Return how many raters or items a wanted G would take, and G at other sizes."""
    needed = view.rows(criterion, "decision", "raters_needed")
    projected = _projected(view, criterion)
    if not needed or all(row.undefined for row in needed):
        return [projected] if projected else _undefined(view, criterion, "decision")
    remarks = Remarks()
    rows = []
    for row in needed:
        keys: dict[str, Key] = {"estimator": row.keys["estimator"], "target": row.keys["target"]}
        items = view.first(criterion, "decision", "items_needed", keys)
        shown = []
        for one in (row, items):
            if one is not None and one.low is not None and one.note:
                if " in 0 % of" not in one.note:
                    remarks.say(f"G {show_number(float(row.keys['target']))}: {one.note}.")
            elif one is not None:
                remarks.see(one)
            shown.append(Cell("–") if one is None or one.undefined else Cell(show_count(one.estimate), _range(one)))
        estimator = str(row.keys["estimator"])
        rows.append(
            [
                Cell(f"G {show_number(float(row.keys['target']))}"),
                Cell(ESTIMATOR.get(estimator, clean(estimator))),
                *shown,
            ]
        )
    at_items, at_raters = view.size(criterion, "n_items") or 0, view.size(criterion, "n_raters") or 0
    columns = [
        Column("Target"),
        Column("Estimator"),
        Column(f"Raters needed, at {plural(at_items, 'item')}", is_number=True),
        Column(f"Items needed, at {plural(at_raters, 'rater')}", is_number=True),
    ]
    blocks: list[Block] = [
        Text(
            "A decision study projects G to panels of other sizes from the components above. More items average out "
            "what depends on items, but not what raters disagree about in all items: along items the curve can end "
            "below any target. Plan with the range, not with the number alone."
        ),
        Table("Raters or items needed", columns, rows, remarks.all()),
    ]
    return [*blocks, Fold("G at other numbers of raters and items", [projected])] if projected else blocks


def _range(row: Row) -> str:
    if row.low is None or row.high is None:
        return ""
    if row.low == row.high == math.inf:
        return "[at neither end]"
    return f"[{show_count(row.low)}, {show_count(row.high)}]"


def _projected(view: View, criterion: str) -> Table | None:
    every = view.defined(criterion, "generalizability", "g")
    if len(every) < 3:
        return None
    estimators = _estimators(every)
    by = {(row.keys["at_items"], row.keys["at_raters"], row.keys["estimator"]): row for row in every}
    sizes = sorted({(float(row.keys["at_items"]), float(row.keys["at_raters"])) for row in every})
    here = (view.size(criterion, "n_items"), view.size(criterion, "n_raters"))
    rows = [
        [
            Cell(show_number(items)),
            Cell(show_number(raters)),
            *(cells.estimate(by.get((items, raters, estimator))) for estimator in estimators),
            Cell("this panel" if (items, raters) == here else ""),
        ]
        for items, raters in sorted(sizes, key=lambda size: (size[0] != here[0], size))
    ]
    columns = [
        Column("Items", is_number=True),
        Column("Raters", is_number=True),
        *(Column(f"G, {ESTIMATOR.get(name, clean(name))}", is_number=True) for name in estimators),
        Column(""),
    ]
    return Table("G projected", columns, rows)


def pairs_of_systems(view: View, criterion: str) -> list[Block]:
    """Return the differences of systems under every unit of replication side by side."""
    every = view.rows(criterion, "pairs", "difference")
    if not every or all(row.undefined for row in every):
        return _undefined(view, criterion, "pairs")
    by: dict[tuple[Key, Key], dict[str, Row]] = {}
    for row in every:
        by.setdefault((row.keys["system_a"], row.keys["system_b"]), {})[str(row.keys["unit"])] = row
    units = [unit for unit in _OVER if any(unit in of for of in by.values())]
    blocks: list[Block] = [
        Text(
            "Each difference is the mean of the first system minus that of the second, tested three times. Over items: "
            "would other items show it, rated by these raters? Over raters: would other raters, on these items? Over "
            "both: other raters on other items. A claim about systems needs the last, and a panel of few raters has "
            "few degrees of freedom for it. p is Holm's, adjusted for the number of pairs."
        ),
        Text(_significant(by, units)),
    ]
    if len(by) > MOST_PAIRS:
        return [*blocks, Text(f"All {len(by):,} pairs with intervals and p values are in tables/pairs.csv.")]
    remarks = Remarks()
    rows = []
    for (a, b), of in by.items():
        shown: list[Cell] = []
        for unit in units:
            found = of.get(unit)
            if found is not None and (found.undefined or found.note.startswith("no interval")):
                remarks.see(found)
            shown += [cells.estimate(found), cells.p_value(found.p_adjusted if found is not None else None)]
        rows.append([name_cell(a, 24), name_cell(b, 24), *shown, Cell(_same_sign(of))])
    columns = [Column("System"), Column("minus system")]
    for unit in units:
        columns += [Column(f"Difference, {_OVER[unit]}", is_number=True), Column("p (Holm)", is_number=True)]
    columns.append(Column("All raters agree on the sign"))
    if "item+rater" not in units:
        remarks.say("The test over both needs a complete crossing, with several items, systems and raters.")
    remarks.say(
        "Sign and permutation tests of every pair, with the smallest p they could reach, are in tables/pairs.csv."
    )
    return [*blocks, without_empty("Pairs of systems", columns, rows, remarks.all())]


def _same_sign(of: dict[str, Row]) -> str:
    for row in of.values():
        if "same_sign_all_raters" in row.extra:
            return "yes" if row.extra["same_sign_all_raters"] else "no"
    return "–"


def _significant(by: dict[tuple[Key, Key], dict[str, Row]], units: Sequence[str]) -> str:
    said = []
    for unit in units:
        tested = [of[unit].p_adjusted for of in by.values() if unit in of]
        number = sum(p is not None and p < _ALPHA for p in tested)
        said.append(f"{number} {_OVER[unit]}")
    same = [_same_sign(of) for of in by.values()]
    return (
        f"Of {plural(len(by), 'pair')}, significant at {_ALPHA:g} after Holm: {', '.join(said)}. In "
        f"{same.count('yes')} all raters agree on which system is better."
    )


def boards(view: View, criterion: str) -> list[Block]:
    """Return the means of the systems and their ranks with all raters and without each."""
    ranks = view.rows(criterion, "leave_one_rater_out", "rank")
    if not ranks or all(row.undefined for row in ranks):
        return _undefined(view, criterion, "leave_one_rater_out")
    remarks = Remarks()
    by = {(row.keys.get("left_out", ""), row.keys["system"]): row for row in ranks}
    whole = [row for row in ranks if row.keys.get("left_out", "") == ""]
    whole.sort(key=lambda row: math.inf if row.undefined else row.estimate)
    left = [name for name in dict.fromkeys(row.keys.get("left_out", "") for row in ranks) if name != ""]
    shown = left[:MOST_BOARDS]
    rows = []
    for row in whole[:MOST_SYSTEMS]:
        system = row.keys["system"]
        mean = view.first(criterion, "leave_one_rater_out", "mean", {"left_out": "", "system": system})
        remarks.see(row)
        rows.append(
            [name_cell(system), cells.plain(mean), _rank(row), *(_rank(by.get((name, system))) for name in shown)]
        )
    tau = {row.keys["left_out"]: row for row in view.rows(criterion, "leave_one_rater_out", "kendall_tau_b")}
    if tau:
        last = [cells.plain(tau.get(name)) for name in shown]
        rows.append([Cell("Kendall's tau-b with the whole board"), Cell(""), Cell(""), *last])
    columns = [Column("System"), Column("Mean", is_number=True), Column("Rank, all raters", is_number=True)]
    columns += [_without(name) for name in shown]
    if len(left) > len(shown):
        remarks.say(
            f"The boards without the first {len(shown)} of {len(left)} raters; all are in "
            "tables/leave_one_rater_out.csv."
        )
    if len(whole) > MOST_SYSTEMS:
        remarks.say(f"The first {MOST_SYSTEMS} of {len(whole)} systems; all are in tables/leave_one_rater_out.csv.")
    return [
        Text(
            "A ranking that is one of systems stays much the same whoever of the raters is left out. Rank 1 is the "
            "highest mean. Tau-b is 1 if two boards have the same order and −1 if the reverse."
        ),
        Table("Ranks with all raters and without each", columns, rows, remarks.all()),
    ]


def _without(name: Key) -> Column:
    column = name_column(name, 16)
    return Column(f"without {column.text}", is_number=True, title=column.title, is_name=True)


def _rank(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return Cell("–", title=clean(row.undefined) if row is not None else "")
    return Cell(show_number(row.estimate))
