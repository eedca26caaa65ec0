"""How far the raters of one criterion agree: coefficients with every interval that they have."""

from __future__ import annotations

from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import STATISTIC, begin, joined
from measurand.result import Key, Row
from measurand.result.words import clean, shorten

_STATISTICS: Final = (
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
#: The columns of intervals.
_INTERVALS: Final = {
    "item": "Interval, items redrawn",
    "item_cell": "Interval, cells redrawn",
    "f": "Interval, F",
    "random": "Interval, other raters, too",
}


_NEVER_EQUAL: Final = (
    "No two raters gave one thing the same value, as is usual on a continuous scale: observed agreement is 0, and "
    "alpha at the nominal level says nothing of such ratings."
)


def agreement(view: View, criterion: str) -> list[Block]:
    """Return the coefficients of all raters, and folded those of each system alone."""
    remarks = Remarks()
    notes: dict[str, list[str]] = {}
    lacking: dict[str, list[str]] = {}
    outside: list[str] = []
    rows = []
    listwise = _is_listwise_alone(view, criterion)
    without = ("observed_agreement", "alpha_nominal") if _never_equal(view, criterion) else ()
    if without:
        remarks.say(_NEVER_EQUAL)
    for statistic in _STATISTICS:
        if statistic in without:
            continue
        found = view.rows(criterion, "agreement", statistic, {"system": ""})
        for missing in dict.fromkeys(str(row.keys.get("missing", "")) for row in found):
            of = [row for row in found if row.keys.get("missing", "") == missing]
            short = STATISTIC[statistic].split(":", 1)[0] + (" (all cells, REML)" if missing == "reml" else "")
            if all(row.undefined for row in of):
                # A row of dashes says less than a sentence.
                lacking.setdefault(of[0].undefined, []).append(short)
                continue
            by = {_column(row): row for row in of}
            first = by.get("item", of[0])
            if _is_below_chance(first) or "nearly all ratings" in first.note:
                notes.setdefault(cells.split_coverage(first.note)[0], []).append(short)
            if (wide := by.get("random")) is not None and not _is_inside(wide):
                outside.append(short)
            if "item" in by:
                remarks.hold(by["item"], short)
            intervals = (cells.interval(by.get(column)) for column in _INTERVALS)
            name = short if missing == "reml" else STATISTIC[statistic]
            rows.append([Cell(name), Cell(cells.estimate(first).text), *intervals])
    for note, names in notes.items():
        remarks.say(f"{cells.together(names)}: {note}.")
    for reason, names in lacking.items():
        remarks.say(f"Not defined: {joined(names)}: {reason}.")
    if outside:
        remarks.say(
            f"{cells.together(outside)}: the interval for other raters, too, is made from variance components and does "
            "not hold the estimate, which is none of them: read both with caution."
        )
    if not rows:
        return [Text(said) for said in remarks.all()]
    if any(view.defined(criterion, "agreement", "icc_1_1")):
        remarks.say(
            f"ICCs{'' if listwise else ' (without REML)'} use the cells that every rater rated. The F interval takes "
            "the cells of one item as independent, which they are not where several systems were rated on it; of the "
            "forms 1 and 2 it speaks of other raters, too."
        )
    if any(not row.undefined for row in _reml(view, criterion)):
        remarks.say(
            "“All cells, REML” uses every cell, however many raters it has, by restricted maximum likelihood; where "
            "several systems were rated on an item, its intervals take the cells of one item as independent, too."
        )
    columns = [Column("Coefficient"), Column("Estimate", is_number=True)]
    columns += [Column(words, is_number=True) for words in _INTERVALS.values()]
    table = without_empty("Agreement of all raters", columns, rows, remarks.all())
    blocks: list[Block] = [
        Text(
            "A cell is one thing that was rated: an item, or a system's output on an item. Krippendorff's alpha is 1 "
            "if raters always agree, 0 if they agree as often as chance would have it, and below 0 if less. An "
            "intraclass correlation (ICC) is the share of the variance of ratings that is due to the cells, not to the "
            "raters. " + _interval_words(view, criterion) + _level_words(view, criterion)
        ),
        table,
    ]
    by_system = _by_system(view, criterion)
    return [*blocks, Fold("Agreement on each system", [by_system])] if by_system else blocks


def _never_equal(view: View, criterion: str) -> bool:
    """Whether no two raters gave one thing the same value, as on a continuous scale, where none was to be counted."""
    found = view.defined(criterion, "agreement", "observed_agreement")
    return bool(found) and all(row.estimate == 0 for row in found) and view.level(criterion) != "nominal"


def _is_below_chance(row: Row) -> bool:
    """Whether a coefficient is below 0 with its whole interval: more disagreement than chance makes."""
    return "disagree more than chance" in row.note and (row.high is None or row.high < 0)


def _is_inside(row: Row) -> bool:
    return row.low is None or row.high is None or row.low <= row.estimate <= row.high


def _column(row: Row) -> str:
    if row.method.startswith("generalised pivotal"):
        return "random"
    return "f" if row.method.startswith("F ") else row.unit


def _reml(view: View, criterion: str) -> list[Row]:
    return view.rows(criterion, "agreement", "icc_2_1", {"missing": "reml"})


def _is_listwise_alone(view: View, criterion: str) -> bool:
    return not any(not row.undefined for row in _reml(view, criterion))


def _interval_words(view: View, criterion: str) -> str:
    """Return what each interval holds for, and which to quote for a new panel."""
    said = "The intervals that redraw items (with all their cells) or cells hold for these raters. "
    wide = {
        (name, str(row.keys.get("missing", "")))
        for name in _STATISTICS
        for row in view.defined(criterion, "agreement", name, {"system": ""})
        if _column(row) == "random"
    }
    names = [name for name in _STATISTICS if any(one == name and missing != "reml" for one, missing in wide)]
    if not names:
        return said
    has = joined([_brief(name) for name in names])
    verb = "has" if len(names) == 1 else "have"
    said += f"The last interval counts raters as a sample, too, as a claim about a new panel must: {has} {verb} one. "
    own = f"alpha_{view.level(criterion)}"
    if own not in names and any(view.defined(criterion, "agreement", own, {"system": ""})):
        said += (
            f"{begin(_brief(own))} has none: quote it with its interval over items, as one for these "
            "raters, and for a new panel ICC(2,1) with its last interval. "
        )
    if {("icc_2_1", "listwise"), ("icc_2_1", "reml")} <= wide and (view.size(criterion, "n_systems") or 0) > 1:
        said += (
            "Of the two for ICC(2,1) quote the one without REML: that of REML takes the cells of one item as "
            "independent, and so may be too narrow. "
        )
    return said


def _brief(statistic: str) -> str:
    """Return a coefficient's name within a sentence."""
    level = statistic.removeprefix("alpha_")
    return STATISTIC[statistic].split(":", 1)[0] if level == statistic else f"{level} alpha"


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


def _by_system(view: View, criterion: str) -> Table | None:
    statistics = ("observed_agreement", f"alpha_{view.level(criterion)}")
    is_equal = not _never_equal(view, criterion)
    every = [row for row in view.rows(criterion, "agreement", statistics[1]) if row.keys.get("system", "")]
    if not every:
        return None
    remarks = Remarks()
    rows = []
    below: dict[str, list[str]] = {}
    for row in every:
        system = row.keys["system"]
        keys: dict[str, Key] = {"system": system}
        observed = view.first(criterion, "agreement", statistics[0], keys) if is_equal else None
        remarks.hold(row, system)
        if _is_below_chance(row):
            below.setdefault(cells.split_coverage(row.note)[0], []).append(shorten(system))
        elif "disagree more than chance" not in row.note:
            remarks.see(row)
        rows.append([name_cell(system), cells.estimate(observed), cells.estimate(row)])
    for note, names in below.items():
        remarks.say(f"{joined(names)}: {note}.")
    columns = [
        Column("System"),
        Column("Observed agreement", is_number=True),
        Column(STATISTIC[statistics[1]], is_number=True),
    ]
    return without_empty("Agreement on each system alone, items redrawn", columns, rows, remarks.all(4))
