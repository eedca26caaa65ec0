"""Do ratings follow length? Systems, judgements under several models, raters, and outputs of equal length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import begin, unit_of_length
from measurand.result import Key, Row
from measurand.result.digits import show_estimate, show_p, show_rounded, three_digits

_MOST: Final = 40
_MOST_AS_COLUMNS: Final = 12
#: What the note of a slope says of the size of its test in simulation.
_ALARMS: Final = re.compile(r"(in simulation, [^;]*), its test at \.05 alarmed falsely ([^;]* %) of the time")
_MODEL: Final = {
    "judgement": "random items and raters, one slope for all raters (the usual model)",
    "judgement+rater_slope": "each rater has a slope of their own",
    "full+rater_slope": "the same, systems and outputs random, too",
    "judgement_within_item": "lengths around the item's mean, one slope for all raters",
    "judgement+rater_slope_within_item": "lengths around the item's mean, each rater's own slope",
    "judgement+rater_slope_within_system": "lengths around the system's mean, each rater's own slope",
    "mean_of_raters": "mean of the raters' own slopes",
}


def length(view: View, criterion: str) -> list[Block]:
    """Return whether the ratings of one criterion follow the length of what was rated; empty without outputs."""
    if not view.rows(criterion, "length", "mean_length"):
        return []
    unit = str(view.result.settings.get("length", {}).get("unit_of_length", ""))
    blocks: list[Block] = [
        Text(
            f"{'Length is as the table gives it' if unit == 'length' else f'Counted: {unit_of_length(unit)}'}. "
            "Length is a mediator: a longer output may be a better "
            "one, so that nothing here proves a bias. A comparison at equal length says what is left where length "
            "cannot be the reason, on the outputs that happen to be equally long."
        )
    ]
    board = view.undefined(criterion, "length") or [*_systems(view, criterion), *_between(view, criterion)]
    return [*blocks, *board, *_judgements(view, criterion), *_raters(view, criterion), *_overlap(view, criterion)]


def tolerance(view: View, criterion: str) -> dict[str, Key]:
    """Return the key of the tolerance that the findings speak of, the smallest where there are none."""
    for finding in view.findings(criterion):
        for row in finding.rows if finding.id == "length-matched-order" else ():
            if "tolerance" in row:
                return {"tolerance": row["tolerance"]}
    found = sorted({float(row.keys["tolerance"]) for row in view.rows(criterion, "length", "matched_share")})
    return {"tolerance": found[0]} if found else {}


def _systems(view: View, criterion: str) -> list[Block]:
    """Return the systems by mean rating: lengths, ranks, and win rates at equal length with all their intervals."""
    means = sorted(view.defined(criterion, "length", "mean_rating"), key=lambda row: -row.estimate)
    at = tolerance(view, criterion)
    remarks = Remarks()
    rows = []
    places = cells.places_of(means)
    for mean in means[:_MOST]:
        of: dict[str, Key] = {"system": mean.keys["system"]}
        half = _by_unit(
            view, criterion, "win_rate_matched", of | at | {"model": "matched", "ties": "half", "rater": ""}
        )
        dropped = _by_unit(
            view, criterion, "win_rate_matched", of | at | {"model": "matched", "ties": "dropped", "rater": ""}
        )
        adjusted = _by_unit(
            view, criterion, "win_rate_adjusted", of | at | {"model": "adjusted", "ties": "half", "rater": ""}
        )
        raw = view.first(criterion, "length", "rank", of | {"model": "raw"})
        matched = view.first(criterion, "length", "rank", of | at | {"model": "adjusted", "ties": "half"})
        compared = view.first(criterion, "length", "n_matched", of | at)
        for found in (half, adjusted):
            for row in found.values():
                if row.undefined:
                    remarks.see(row)
        rows.append(
            [
                name_cell(mean.keys["system"]),
                cells.estimate(view.first(criterion, "length", "mean_length", of)),
                cells.plain(mean, places=places),
                cells.plain(raw),
                cells.plain(matched),
                cells.plain(compared),
                cells.estimate(half.get("item") or half.get("comparison")),
                cells.interval(half.get("rater")),
                cells.estimate(dropped.get("comparison")),
                cells.estimate(adjusted.get("item")),
            ]
        )
    heads = (
        f"Mean length{_of_unit(view, ' (', ')')}",
        "Mean rating",
        "Rank by rating",
        "Rank at equal length",
        "Pairs of outputs of equal length",
        "Win rate at equal length, ties half",
        "Its interval, raters random",
        "Win rate, ties dropped (Wilson)",
        "Win rate against an average opponent",
    )
    columns = [Column("System"), *(Column(one, is_number=True) for one in heads)]
    remarks.say(
        "A win rate is how often a system's output is rated above another's to the same item. Its intervals redraw "
        "items; “raters random” counts raters as a sample. Wilson's takes every comparison for new evidence, although "
        "they share items, raters and opponents. “Against an average opponent” counts every opponent alike, however "
        "often it was equally long; ranks at equal length are by that. Intervals of mean lengths are over items."
    )
    if at and at["tolerance"]:
        remarks.say(
            f"Outputs count as equally long if their lengths differ by up to {100 * float(at['tolerance']):g} % of the "
            "longer."
        )
    return [without_empty("Systems by mean rating, and at equal length", columns, rows, remarks.all())]


def _of_unit(view: View, before: str, after: str) -> str:
    """Return the unit of length between two texts, blank where it is that of the table."""
    unit = str(view.result.settings.get("length", {}).get("unit_of_length", ""))
    return "" if unit in ("", "length") else f"{before}{unit_of_length(unit)}{after}"


def _by_unit(view: View, criterion: str, statistic: str, keys: dict[str, Key]) -> dict[str, Row]:
    """Return the rows of one estimate by what their interval redraws."""
    return {row.unit: row for row in view.rows(criterion, "length", statistic, keys)}


_STATISTICS: Final = {"r_squared": "R-squared", "spearman": "Spearman's rho", "slope": "Slope, scale points per unit"}


def _between(view: View, criterion: str) -> list[Block]:
    """Return the association over systems, an interval beside the other by what it generalises over."""
    series = [
        (words, view.rows(criterion, "length", name, {"model": "between_systems", "rater": ""}))
        for name, words in _STATISTICS.items()
    ]
    at = tolerance(view, criterion) | {"model": "adjusted", "ties": "half"}
    series.append(
        (
            "Spearman's rho of the order at equal length with the raw one",
            view.rows(criterion, "length", "spearman_matched_raw", at),
        )
    )
    remarks = Remarks()
    rows = []
    narrow: list[str] = []
    for words, found in series:
        if not found:
            continue
        first = found[0]
        if first.undefined:
            remarks.see(first)
            continue
        by = {row.unit: row for row in found if not row.method.startswith("exact")}
        exact = next((row for row in found if row.method.startswith("exact")), None)
        # The digits of the narrowest interval: an estimate stands once before all of them.
        ends = [(row.high - row.low, row) for row in found if row.low is not None and row.high is not None]
        finest = min(ends, key=lambda one: one[0])[1] if ends else first
        estimate = Cell(show_estimate(finest)) if ends else Cell(show_rounded(first.estimate, 0.1))
        if any("too narrow" in row.note for row in found if row.unit == "item+rater"):
            narrow.append(words)
        p = next((row.p for row in found if row.p is not None), None)
        rows.append([Cell(words), estimate, cells.interval(by.get("system")), cells.interval(exact)])
        rows[-1] += [cells.interval(by.get("item")), cells.interval(by.get("item+rater")), cells.p_value(p)]
    if not rows:
        return [Text(said) for said in remarks.all()]
    heads = (
        "Estimate",
        "Interval over systems",
        "over systems, exact",
        "over items",
        "over items and raters",
        "p, over systems",
    )
    columns = [Column("Mean rating by mean length"), *(Column(one, is_number=True) for one in heads)]
    remarks.say(
        "An interval over systems says how little so few systems tell; the others take these systems as all there are."
    )
    if narrow:
        remarks.say(
            "The interval over items and raters is too narrow: redrawing the few raters that there are understates how "
            "raters differ."
        )
    return [without_empty("Mean rating and mean length, over systems", columns, rows, remarks.all())]


def _judgements(view: View, criterion: str) -> list[Block]:
    rows = []
    remarks = Remarks()
    for model, words in _MODEL.items():
        row = view.first(criterion, "length", "slope", {"model": model, "rater": ""})
        if row is None:
            continue
        if row.undefined:
            remarks.see(row)
        alarms = _ALARMS.search(row.note)
        spread = view.first(criterion, "length", "slope_sd_between_raters", {"model": model, "rater": ""})
        rows.append(
            [
                Cell(begin(words)),
                cells.estimate(row),
                cells.freedom(row.df2),
                cells.p_value(row.p),
                cells.estimate(spread),
                Cell(alarms.group(2) if alarms else "–"),
            ]
        )
        if alarms:
            remarks.say(
                f"False alarms: {alarms.group(1)}, how often a test at .05 found a slope where there was none; 5 % "
                "would be right."
            )
    if not rows:
        return []
    heads = ("Slope", "Degrees of freedom", "p", "SD of slopes between raters", "False alarms")
    columns = [Column("Model"), *(Column(one, is_number=True) for one in heads)]
    said = Text(
        f"A slope is how many scale points a rating rises per {_one(view)}. The usual model takes one slope for all "
        "raters, and counts every judgement as new evidence about it."
    )
    return [said, without_empty("Judgement by judgement: slopes of ratings on length", columns, rows, remarks.all())]


def _one(view: View) -> str:
    """Return what a slope is per."""
    unit = str(view.result.settings.get("length", {}).get("unit_of_length", ""))
    return "unit of length" if unit in ("", "length") else unit.replace("_", " ")


def _raters(view: View, criterion: str) -> list[Block]:
    found = [
        row
        for row in view.rows(criterion, "length", "slope", {"model": "judgement"})
        if row.keys.get("rater", "") != ""
    ]
    if not found:
        return []
    remarks = Remarks()
    rows = []
    for row in found[:_MOST]:
        of = {"rater": row.keys["rater"]}
        within = view.first(criterion, "length", "slope", of | {"model": "judgement_within_item"})
        rho = view.rows(criterion, "length", "spearman", of | {"model": "between_systems"})
        if row.undefined:
            remarks.see(row)
        rows.append(
            [
                name_cell(row.keys["rater"]),
                cells.estimate(row),
                cells.p_value(row.p),
                cells.estimate(within),
                Cell(show_rounded(rho[0].estimate, 0.1) if rho and not rho[0].undefined else "–"),
            ]
        )
    differ = view.first(criterion, "length", "slopes_differ_f", {"model": "judgement"})
    if differ is not None and not differ.undefined:
        p = show_p(differ.p)
        said = p if p.startswith("<") else f"= {p}"
        remarks.say(
            f"Test that all raters have one slope (Hotelling's T-squared, clustered by item): F = "
            f"{three_digits(differ.estimate)} with {cells.freedom(differ.df1).text} and "
            f"{cells.freedom(differ.df2).text} degrees of freedom, p {said}."
        )
        remarks.say("Intervals of slopes are over items; Spearman's rho is of the systems' means and lengths.")
    if len(found) > _MOST:
        remarks.say(f"The first {_MOST} of {len(found)} raters; all are in tables/length.csv.")
    heads = ("Slope", "p", "Slope, lengths around the item's mean", "Spearman's rho over systems")
    columns = [Column("Rater"), *(Column(one, is_number=True) for one in heads)]
    return [without_empty("Each rater's slope", columns, rows, remarks.all())]


def _overlap(view: View, criterion: str) -> list[Block]:
    at = tolerance(view, criterion)
    pairs = [row for row in view.rows(criterion, "length", "matched_share", at) if row.keys.get("opponent", "") != ""]
    names: Sequence[Key] = list(
        dict.fromkeys(name for row in pairs for name in (row.keys["system"], row.keys["opponent"]))
    )
    if not pairs or len(names) > _MOST_AS_COLUMNS:
        return []
    share = {(row.keys["system"], row.keys["opponent"]): row for row in pairs}
    rows = [
        [name_cell(a), *(cells.share(share.get((a, b)) or share.get((b, a))) if a != b else Cell("") for b in names)]
        for a in names
    ]
    columns = [Column("System"), *(name_column(name) for name in names)]
    table = without_empty("Pairs of outputs to one item that are equally long, %", columns, rows, [])
    return [Fold("How many outputs are equally long", [table])]
