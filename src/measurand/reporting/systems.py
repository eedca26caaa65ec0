"""What the ratings say about the systems: reliability of the ranking, what it would take, pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import ESTIMATOR, UNBIASED, begin, joined, show_count
from measurand.result import Key, Row, show_interval, show_number
from measurand.result.digits import show_estimate
from measurand.result.words import clean, plural

#: Above so many pairs of systems the table is folded, and above so many only the summary is shown.
MOST_PAIRS_OPEN: Final = 21
MOST_PAIRS: Final = 60
_ALPHA: Final = 0.05
_PIGEONHOLE: Final = "pigeonhole bootstrap"
_BY_MODEL: Final = " Over both it comes from the full mixed model here, as the crossing is incomplete."
#: How the note of an interval begins that is narrower than the pair's own over items.
_NARROWER: Final = "narrower than over items"
_OVER: Final = {"item": "over items", "rater": "over raters", "item+rater": "over both"}


def _estimators(rows: Sequence[Row]) -> list[str]:
    """Return the estimators that have numbers: without bias first, the plug-in beside it, then the likelihood's."""
    found = dict.fromkeys(str(row.keys["estimator"]) for row in rows if not row.undefined)
    return [*(name for name in ESTIMATOR if name in found), *(name for name in found if name not in ESTIMATOR)]


def _not_defined(view: View, criterion: str, analysis: str, statistic: str, shown: Sequence[str], of: Remarks) -> None:
    """Take up which estimators have no number at all, a sentence for each reason."""
    for reason, rows in view.why_not(criterion, analysis, statistic).items():
        names = [name for name in dict.fromkeys(str(row.keys["estimator"]) for row in rows) if name not in shown]
        if names:
            of.say(f"Not defined here: {joined([ESTIMATOR.get(name, clean(name)) for name in names])}: {reason}.")


def generalizability(view: View, criterion: str) -> list[Block]:
    """Return G and Phi at the panel's size under every estimator, beside what it says if no system differed."""
    every = view.rows(criterion, "generalizability", "g")
    if not every or all(row.undefined for row in every):
        return view.undefined(criterion, "generalizability")
    remarks = Remarks()
    rows = []
    estimators = _estimators(every)
    has_null = False
    for estimator in estimators:
        of = {statistic: _here(view, criterion, statistic, estimator) for statistic in ("g", "phi", "g_null")}
        name = ESTIMATOR.get(estimator, clean(estimator))
        for statistic in ("g", "phi"):
            row = of[statistic]
            if row is not None:
                remarks.see(row)
                remarks.hold(row, name)
        has_null = has_null or of["g_null"] is not None
        rows.append([Cell(name), *(_coefficient(row) for row in of.values())])
    _not_defined(view, criterion, "generalizability", "g", estimators, remarks)
    columns = [
        Column("Estimator"),
        Column("G", is_number=True),
        Column("Phi", is_number=True),
        Column("G if no system differed", is_number=True),
    ]
    said = (
        "G is the share of the spread of the systems' means that would come back with other items and raters: 1 is a "
        "ranking without error, 0 one of error alone. Phi also counts raters' severity and items' difficulty as error; "
        "it is the one to read if a mean itself, not the order, is what matters."
    )
    if unbiased := view.unbiased(criterion, "generalizability", "g"):
        said += f" The unbiased estimator takes its components {UNBIASED[unbiased]}."
    if "plugin" in estimators:
        said += " It subtracts from the observed spread what error adds to it; the plug-in, common in papers, does not."
    if has_null:
        said += (
            " The last column shows what that does: the mean, and the central range, of each estimator over simulated "
            "panels of this size in which no system differs. A value of G inside that range is no evidence of a "
            "difference."
        )
    table = without_empty(f"G and Phi of this panel ({_size(view, criterion)})", columns, rows, remarks.all())
    return [Text(said), table, *_these_items(view, criterion)]


def _coefficient(row: Row | None) -> Cell:
    """Return a coefficient with its interval; without one with three places: a reliability never needs more."""
    has_none = row is not None and not row.undefined and row.low is None
    return cells.plain(row, places=3) if has_none else cells.estimate(row)


def _these_items(view: View, criterion: str) -> list[Block]:
    """Say what G and the raters needed are if nobody asks about other items."""
    g = view.first(criterion, "generalizability", "g_these_items")
    if g is None or g.undefined or g.low is None or g.high is None:
        return []
    needed = view.defined(criterion, "decision", "raters_needed_these_items")
    asked = [
        " ".join(f"{show_count(row.estimate)} {_range(row)} for G {show_number(float(row.keys['target']))}".split())
        for row in needed
    ]
    takes = f" Raters needed: {joined(asked)}." if asked else ""
    said = (
        f"With these very items, and only raters drawn anew, G is {show_estimate(g)} {show_interval(g)}: the "
        "mean squares of systems and of system:rater suffice for that, and the interval is exact for normal "
        f"effects.{takes}"
    )
    return [Text(said)]


def _here(view: View, criterion: str, statistic: str, estimator: str) -> Row | None:
    """Return a coefficient of the panel as it is: as rated where it has holes, else at its own size."""
    keys: dict[str, Key] = {"estimator": estimator}
    as_rated = view.first(criterion, "generalizability", f"{statistic}_as_rated", keys)
    return as_rated or view.here(criterion, statistic, estimator)


def _size(view: View, criterion: str) -> str:
    items, raters = view.size(criterion, "n_items") or 0, view.size(criterion, "n_raters") or 0
    holes = ", as rated" if view.size(criterion, "n_missing") else ""
    return f"{plural(items, 'item')}, {plural(raters, 'rater')}{holes}"


def decision_study(view: View, criterion: str) -> list[Block]:
    """Return how many raters or items a wanted G would take, and G at other sizes."""
    needed = view.rows(criterion, "decision", "raters_needed")
    projected = _projected(view, criterion)
    if not needed or all(row.undefined for row in needed):
        return [projected] if projected else view.undefined(criterion, "decision")
    remarks = Remarks()
    rows = []
    estimators = _estimators(needed)
    ordered = [row for row in needed if row.keys["estimator"] in estimators]
    ordered.sort(key=lambda row: (float(row.keys["target"]), estimators.index(str(row.keys["estimator"]))))
    for row in ordered:
        keys: dict[str, Key] = {"estimator": row.keys["estimator"], "target": row.keys["target"]}
        items = view.first(criterion, "decision", "items_needed", keys)
        shown = []
        of: list[str] = []
        for one in (row, items):
            if one is not None and one.low is not None and one.note:
                note = cells.split_coverage(one.note)[0]
                if note and " in 0 % of" not in note:
                    of.append(note)
            elif one is not None:
                remarks.see(one)
            remarks.hold(one, ESTIMATOR.get(str(row.keys["estimator"]), row.keys["estimator"]))
            shown.append(Cell("–") if one is None or one.undefined else Cell(show_count(one.estimate), _range(one)))
        if of:
            remarks.say(f"G {show_number(float(row.keys['target']))}: {'; '.join(of)}.")
        estimator = str(row.keys["estimator"])
        rows.append(
            [
                Cell(f"G {show_number(float(row.keys['target']))}"),
                Cell(ESTIMATOR.get(estimator, clean(estimator))),
                *shown,
            ]
        )
    _not_defined(view, criterion, "decision", "raters_needed", estimators, remarks)
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
            *(_coefficient(by.get((items, raters, estimator))) for estimator in estimators),
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
        return view.undefined(criterion, "pairs")
    by: dict[tuple[Key, Key], dict[str, Row]] = {}
    second = [row for row in every if row.method == _PIGEONHOLE]
    for row in every:
        if row.method != _PIGEONHOLE and "system_a" in row.keys:
            by.setdefault((row.keys["system_a"], row.keys["system_b"]), {})[str(row.keys["unit"])] = row
    units = [unit for unit in _OVER if any(unit in of and not of[unit].undefined for of in by.values())]
    blocks: list[Block] = [
        Text(
            "Each difference is the mean of the first system minus that of the second, tested three times. Over items: "
            "would other items show it, rated by these raters? Over raters: would other raters, on these items? Over "
            "both: other raters on other items. A claim about systems needs the last. p is Holm's, adjusted for the "
            "number of pairs; the intervals are not adjusted."
            + (_BY_MODEL if any("mixed model" in row.method for row in every) else "")
        ),
        Text(_significant(by, units)),
    ]
    if shared := _shared_error([of["item+rater"] for of in by.values() if "item+rater" in of]):
        blocks.append(Text(shared))
    if len(by) > MOST_PAIRS:
        more = ", the pigeonhole bootstrap's among them," if second else ""
        return [*blocks, Text(f"All {len(by):,} pairs with intervals{more} and p values are in tables/pairs.csv.")]
    remarks = Remarks()
    rows = []
    for (a, b), of in by.items():
        shown: list[Cell] = []
        for unit in units:
            found = of.get(unit)
            if found is not None and (found.undefined or found.note.startswith("no interval")):
                remarks.see(found)
            remarks.hold(found, begin(_OVER[unit]))
            shown += [cells.estimate(found), cells.p_value(found.p_adjusted if found is not None else None)]
        rows.append([name_cell(a, 24), name_cell(b, 24), *shown, Cell(_same_sign(of))])
    columns = [Column("System"), Column("minus system")]
    for unit in units:
        columns += [Column(f"Difference, {_OVER[unit]}", is_number=True), Column("p (Holm)", is_number=True)]
    columns.append(Column("All raters agree on the sign"))
    for unit, words in _OVER.items():
        if unit not in units:
            why = next((of[unit].undefined for of in by.values() if unit in of), "it needs several items and raters")
            remarks.say(f"Not defined: the test {words}: {why}.")
    remarks.say(
        "Sign and permutation tests of every pair, with the smallest p they could reach, are in tables/pairs.csv."
    )
    table = without_empty("Pairs of systems", columns, rows, remarks.all())
    blocks.append(Fold(f"All {len(rows)} pairs of systems", [table]) if len(rows) > MOST_PAIRS_OPEN else table)
    return (
        [*blocks, Fold("A second interval over both: the pigeonhole bootstrap", [_pigeonhole(second)])]
        if second
        else blocks
    )


def _shared_error(over_both: Sequence[Row]) -> str:
    """Say whose error a difference over both is held against, and why its interval can be narrower than over items."""
    tested = [row for row in over_both if row.df2 is not None]
    if not tested:
        return ""
    few, many = (cells.freedom(end(float(row.df2 or 0) for row in tested)).text for end in (min, max))
    degrees = few if few == many else f"{few} to {many}"
    said = (
        "Over items and over raters each pair has an error of its own. Over both all pairs share one, made from all "
        f"systems, with {degrees} degrees of freedom: more than a pair of systems has for itself, fewer where most of "
        "the error is the raters' disagreement."
    )
    narrower = sum(_NARROWER in row.note for row in tested)
    if narrower:
        said += (
            f" For {narrower} of {plural(len(over_both), 'pair')} the interval over both is narrower than over items, "
            "as it can be where these two systems vary more from item to item than others do, or where the raters' "
            "disagreement about systems is estimated at or near 0. There read the wider of the two."
        )
    return said


def _pigeonhole(second: Sequence[Row]) -> Table:
    remarks = Remarks()
    rows = []
    for row in second:
        remarks.see(row)
        remarks.hold(row, _OVER["item+rater"])
        rows.append([name_cell(row.keys["system_a"], 24), name_cell(row.keys["system_b"], 24), cells.estimate(row)])
    remarks.say("It draws items and raters anew, independently of each other (Owen 2007), and has no p of its own.")
    columns = [Column("System"), Column("minus system"), Column("Difference, over both", is_number=True)]
    return Table("Pairs of systems, pigeonhole bootstrap", columns, rows, remarks.all())


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
