"""The raters of one criterion: how each uses the scale, how every two agree, who rated what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Bullets, Cell, Column, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import joined
from measurand.result import Key, Row, show_number
from measurand.result.digits import show_rounded
from measurand.result.words import clean, plural

#: Rows that a table of raters or of pairs of raters shows.
MOST_RATERS: Final = 40
MOST_RATER_PAIRS: Final = 45
#: Statistics of the use of the scale, and of pairs of raters, in the words of a sentence that says why they lack.
_USE: Final = {
    "mean": "the mean",
    "sd": "the standard deviation",
    "share_lowest": "the share at the lowest value",
    "share_highest": "the share at the highest",
    "levels_used": "the values used",
}
_PAIR: Final = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's rho",
    "kappa_quadratic": "kappa",
    "alpha_ordinal": "alpha",
    "observed_agreement": "observed agreement",
    "kendall_tau_b": "tau-b",
}
_ORDERS: Final = " Tau-b compares the orders in which the two put the systems: it is descriptive and has no interval."
#: Statistics of the response style: the words of their columns, and of a sentence that says why they are missing.
_STYLE: Final = {
    "share_modal": ("Most frequent value, %", "the most frequent value"),
    "entropy": ("Entropy, bits", "entropy"),
    "share_extreme": ("At either end, %", "the share of the ends"),
    "share_middle": ("In the middle, %", "the share of the middle"),
    "longest_run": ("Longest run of one value", "runs of one value"),
    "drift": ("Drift, first to last", "drift"),
}


def raters(view: View, criterion: str) -> list[Block]:
    """Return how each rater uses the scale, and their response style."""
    names = list(dict.fromkeys(row.keys["rater"] for row in view.rows(criterion, "raters", "n_ratings")))
    if not names:
        return _style(view, criterion)
    remarks = Remarks()
    rows = []
    lacking = _lacking(view, criterion, "raters", _USE)
    places = cells.places_of(view.rows(criterion, "raters", "sd"), 3)
    for name in names[:MOST_RATERS]:
        of = {
            s: view.first(criterion, "raters", s, {"rater": name})
            for s in ("n_ratings", "mean", "sd", "share_lowest", "share_highest", "levels_used")
        }
        for row in of.values():
            if row is not None and row.undefined and row.undefined not in lacking:
                remarks.see(row)
        if (levels := of["levels_used"]) is not None and levels.note:
            remarks.say(f"Values used: {levels.note}.")
        remarks.hold(of["mean"], name)
        rows.append(
            [
                name_cell(name),
                cells.plain(of["n_ratings"]),
                cells.estimate(of["mean"]),
                cells.plain(of["sd"], places=places),
                cells.share(of["share_lowest"]),
                cells.share(of["share_highest"]),
                cells.plain(levels),
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
    for reason, words in lacking.items():
        remarks.say(f"Not defined: {joined(words)} ({reason}).")
    return [
        Text(
            "Raters with very different means use the scale differently: they can order the systems alike and still "
            "not agree. The interval of a mean counts all ratings of one item as one observation."
        ),
        without_empty("Use of the scale by each rater", columns, rows, remarks.all()),
        *_style(view, criterion),
    ]


def _style(view: View, criterion: str) -> list[Block]:
    names = list(dict.fromkeys(row.keys["rater"] for row in view.rows(criterion, "style", "share_modal")))
    if not names:
        return []
    # What no rater has is said once, and has no column.
    lacking = _lacking(view, criterion, "style", {statistic: words for statistic, (_, words) in _STYLE.items()})
    shown = [statistic for statistic in _STYLE if view.defined(criterion, "style", statistic)]
    remarks = Remarks()
    rows = []
    for name in names[:MOST_RATERS]:
        of = {statistic: view.first(criterion, "style", statistic, {"rater": name}) for statistic in shown}
        line = [name_cell(name)]
        for statistic, row in of.items():
            if row is not None and row.undefined:
                remarks.see(row)
            remarks.hold(row, name)
            if statistic.startswith("share"):
                line.append(cells.share(row))
            elif statistic in ("longest_run", "drift"):
                line += [cells.estimate(row), cells.p_value(row.p_adjusted if row is not None else None)]
            else:
                line.append(Cell("–") if row is None or row.undefined else Cell(show_number(row.estimate, width=1.0)))
        rows.append(line)
    columns = [Column("Rater")]
    for statistic in shown:
        columns.append(Column(_STYLE[statistic][0], is_number=True))
        if statistic in ("longest_run", "drift"):
            columns.append(Column("p (Holm)", is_number=True))
    if len(names) > MOST_RATERS:
        remarks.say(f"The first {MOST_RATERS} of {len(names)} raters; all are in tables/style.csv.")
    for reason, words_ in lacking.items():
        remarks.say(f"Not defined: {joined(words_)} ({reason}).")
    said = (
        "A rater who gives one value nearly throughout has a high share of the most frequent value and an entropy near "
        "0."
    )
    if "drift" in shown:
        said += (
            " A run is one value several times in a row, its p how often the same ratings in random order have one as "
            "long. Drift is how far a rater's ratings move, against the others' of the same things, from the first to "
            "the last that they rated."
        )
    return [Text(said), without_empty("Response style of each rater", columns, rows, remarks.all())]


def _lacking(view: View, criterion: str, analysis: str, words: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the statistics that have no number for anybody, and so no column, by their reason."""
    lacking: dict[str, list[str]] = {}
    for statistic, of in words.items():
        every = view.rows(criterion, analysis, statistic)
        if every and all(row.undefined for row in every):
            lacking.setdefault(every[0].undefined, []).append(of)
    return lacking


def rater_pairs(view: View, criterion: str) -> list[Block]:
    """Return the agreement of every two raters."""
    statistics = tuple(_PAIR)
    found: dict[tuple[Key, Key], dict[str, Row]] = {}
    for statistic in statistics:
        for row in view.rows(criterion, "agreement_pairs", statistic):
            if "rater_b" in row.keys:
                found.setdefault((row.keys["rater_a"], row.keys["rater_b"]), {})[statistic] = row
    if not found:
        return view.undefined(criterion, "agreement_pairs")
    remarks = Remarks()
    rows = []
    lacking: dict[str, int] = {}
    empty = [pair for pair, of in found.items() if all(row.undefined for row in of.values())]
    for pair in empty:
        reason = next(iter(found.pop(pair).values())).undefined
        lacking[reason] = lacking.get(reason, 0) + 1
    for reason, number in lacking.items():
        remarks.say(f"Not shown: {plural(number, 'pair')} of raters without any number: {reason}.")
    if not found:
        return [Text(said) for said in remarks.all()]
    without = _lacking(view, criterion, "agreement_pairs", _PAIR)
    for reason, words in without.items():
        remarks.say(f"Not defined: {joined(words)} ({reason}).")
    # On a continuous scale no two ratings are equal: a column of zeros would say that as a finding about every pair.
    equal = view.defined(criterion, "agreement_pairs", "observed_agreement")
    is_never_equal = bool(equal) and all(row.estimate == 0 for row in equal)
    if is_never_equal:
        remarks.say("Observed agreement is 0 for every pair: no two raters gave one thing the same value.")
    for (a, b), of in list(found.items())[:MOST_RATER_PAIRS]:
        shown = []
        for statistic in statistics:
            one = of.get(statistic)
            if one is not None and one.undefined and one.undefined not in without:
                remarks.see(one)
            remarks.hold(one, f"{clean(a)} and {clean(b)}")
            if statistic == "kendall_tau_b":
                shown.append(cells.plain(one, places=2))
            else:
                shown.append(Cell("–") if is_never_equal and statistic == "observed_agreement" else cells.estimate(one))
        sample = next(iter(of.values())).n_items
        rows.append([name_cell(a, 24), name_cell(b, 24), Cell(show_number(sample)), *shown])
    taus = view.defined(criterion, "agreement_pairs", "kendall_tau_b")
    columns = [
        Column("Rater"),
        Column("and rater"),
        Column("Items in common", is_number=True),
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
            f"give the same ratings. Intervals redraw items.{_ORDERS if taus else ''}"
        ),
        without_empty("Pairs of raters", columns, rows, remarks.all()),
    ]


def missing(view: View, criterion: str) -> list[Block]:
    """Return whether the presence of ratings depends on ratings, and raters with identical ones."""
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
            remarks.hold(row, keys["rater"])
            rating = row.keys.get("rating", "")
            rows.append(
                [
                    name_cell(keys["rater"], blank="all"),
                    name_cell(rating, blank="–"),
                    cells.estimate(row),
                    Cell("–") if size is None or size.undefined else Cell(show_rounded(size.estimate, 1.0)),
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
            f"{plural(int(row.estimate), 'cell')} that both rated"
            for row in identical[:10]
        ]
        blocks += [Text("Raters with identical ratings:"), Bullets(said)]
    return blocks
