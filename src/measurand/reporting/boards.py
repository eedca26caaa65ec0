"""The board of systems: how sure each rank is, and what becomes of it without one rater or some of the items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Bullets, Cell, Column, Fold, Table, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.view import View
from measurand.reporting.words import FACETS, begin, joined
from measurand.result import Key, Row, show_number
from measurand.result.words import clean, plural, shorten

#: Boards that stand in the columns of a table, and systems in its rows.
MOST_BOARDS: Final = 14
MOST_SYSTEMS: Final = 60
#: Systems that a sentence names, and ranks that a cell shows.
_MOST_NAMED: Final = 6
_MOST_RANKS: Final = 4
#: The share of draws from which on a rank is shown, and what is none at all.
_LEAST_SHARE: Final = 0.01
_DUST: Final = 1e-9
_LETTERS: Final = "compact letter display: "


def rank_sets(view: View, criterion: str) -> list[Block]:
    """Return the rank of each system with the set that it cannot leave, under every view of what is random."""
    every = view.rows(criterion, "ranks", "rank")
    if not every:
        return []
    if all(row.undefined for row in every):
        return view.undefined(criterion, "ranks")
    by = {(str(row.keys["unit"]), row.keys["system"]): row for row in every if not row.undefined}
    units = [unit for unit in FACETS if any(of == unit for of, _ in by)]
    first = units[0]
    systems = sorted((name for of, name in by if of == first), key=lambda name: by[first, name].estimate)
    remarks = Remarks()
    remarks.say(
        "In a cell: the set, below it the tier (1 more than the longest chain of systems shown to be better) and "
        "letters: two systems are shown to differ if, and only if, they share no letter."
    )
    for unit in units:
        row = by[unit, systems[0]]
        remarks.say(f"{begin(FACETS[unit])}: {_how(row)}.")
        remarks.hold(row, FACETS[unit])
    for row in every:
        if row.undefined:
            unit = str(row.keys.get("unit", ""))
            remarks.say(f"{begin(FACETS.get(unit, unit))}: not defined: {row.undefined}.")
    for reason in view.why_not(criterion, "ranks", "tier_letter"):
        remarks.say(f"No letters: {reason}.")
    rows = []
    for name in systems[:MOST_SYSTEMS]:
        shown = [_set(view, criterion, by.get((unit, name))) for unit in units]
        rows.append([name_cell(name), Cell(show_number(by[first, name].estimate)), *shown])
    if len(systems) > MOST_SYSTEMS:
        remarks.say(f"The first {MOST_SYSTEMS} of {len(systems)} systems; all are in tables/ranks.csv.")
    columns = [Column("System"), Column("Rank", is_number=True)]
    columns += [Column(f"Ranks possible: {FACETS[unit]}") for unit in units]
    blocks: list[Block] = [
        Text(
            "A rank is as uncertain as the differences behind it. A set [2, 7] says: with "
            f"{_confidence(every)} confidence this system is neither first nor below seventh. The sets hold for all "
            "systems at once, so that the whole board can be read from them. Only the first set speaks about the "
            "systems in general: it takes items and raters as samples. The others take these raters, or these items, "
            "as all there are."
            if "item+rater" in units
            else "A rank is as uncertain as the differences behind it. A set [2, 7] says: this system is neither first "
            "nor below seventh; the sets hold for all systems at once. None here takes items and raters as samples, so "
            "that none speaks about the systems in general."
        ),
        Bullets([_top(view, criterion, unit, systems) for unit in units]),
        Table("Ranks with their simultaneous sets", columns, rows, remarks.all(10)),
    ]
    likely = _likely(view, criterion, systems)
    return [*blocks, Fold("The most likely ranks", [likely])] if likely else blocks


def _confidence(rows: Sequence[Row]) -> str:
    found = next((row.confidence for row in rows if row.confidence), 0.95)
    return f"{100 * found:g} %"


def _how(row: Row) -> str:
    """Return how a set was made; a note of its own about the model says it better than the method of the unit."""
    note = cells.split_coverage(row.note)[0]
    return note if "model" in note else "; ".join(filter(None, (row.method, note)))


def _set(view: View, criterion: str, row: Row | None) -> Cell:
    if row is None or row.low is None or row.high is None:
        return Cell("–")
    keys: dict[str, Key] = {"system": row.keys["system"], "unit": row.keys["unit"]}
    tier = view.first(criterion, "ranks", "tier", keys)
    letter = view.first(criterion, "ranks", "tier_letter", keys)
    below = [f"tier {show_number(tier.estimate)}"] if tier is not None and not tier.undefined else []
    if letter is not None and letter.note.startswith(_LETTERS):
        below.append(_letters(letter.note.removeprefix(_LETTERS).split()))
    return Cell(f"[{show_number(row.low)}, {show_number(row.high)}]", " · ".join(below))


def _letters(found: Sequence[str]) -> str:
    """Return letters with three or more in a row as a range."""
    runs: list[list[str]] = []
    for letter in found:
        if runs and len(letter) == len(runs[-1][-1]) == 1 and ord(letter) == ord(runs[-1][-1]) + 1:
            runs[-1].append(letter)
        else:
            runs.append([letter])
    return " ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else " ".join(run) for run in map(list, runs))


def _top(view: View, criterion: str, unit: str, systems: Sequence[Key]) -> str:
    """Return which systems may be first, in a sentence."""
    rows = view.defined(criterion, "ranks", "in_top_set", {"unit": unit})
    top = {row.keys["system"] for row in rows if row.estimate == 1}
    names = [shorten(name, 40) for name in systems if name in top]
    if len(names) == len(systems):
        said = f"any of the {len(systems)} systems may be first."
    elif len(names) == 1:
        said = f"{names[0]} alone may be first."
    elif len(names) > _MOST_NAMED:
        said = f"{len(names)} of {len(systems)} systems may be first."
    else:
        said = f"{len(names)} of {len(systems)} systems may be first: {joined(names)}."
    return f"{begin(FACETS[unit])}: {said}"


def _likely(view: View, criterion: str, systems: Sequence[Key]) -> Table | None:
    every = view.defined(criterion, "ranks", "p_rank")
    units = [unit for unit in FACETS if any(row.keys["unit"] == unit for row in every)]
    if not units:
        return None
    by: dict[tuple[str, Key], list[Row]] = {}
    for row in every:
        by.setdefault((str(row.keys["unit"]), row.keys["system"]), []).append(row)
    rows = []
    for name in systems[:MOST_SYSTEMS]:
        shown = []
        for unit in units:
            every_rank = sorted(by.get((unit, name), []), key=lambda row: (-row.estimate, float(row.keys["at_rank"])))
            # What is shown as less than 1 % is not worth a place, and could be no draw at all.
            found = [row for row in every_rank if row.estimate >= _LEAST_SHARE][:_MOST_RANKS]
            said = [f"{show_number(float(row.keys['at_rank']))} ({_percent(row.estimate)})" for row in found]
            left = sum(row.estimate for row in every_rank) - sum(row.estimate for row in found)
            said += [f"others ({_percent(left)})"] if said and left > _DUST else []
            shown.append(Cell(", ".join(said) or "–"))
        rows.append([name_cell(name), *shown])
    columns = [Column("System"), *(Column(f"Rank (share of draws): {FACETS[unit]}") for unit in units)]
    remarks = Remarks()
    remarks.say(
        "How often a system takes a rank when the board is drawn again around what was observed. The shares lean to "
        "the observed board, and promise nothing for all systems at once; the sets do. All are in tables/ranks.csv."
    )
    return Table("The most likely ranks of each system", columns, rows, remarks.all())


def _percent(share: float) -> str:
    if 0.995 <= share < 1:
        return "> 99 %"
    return "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def boards(view: View, criterion: str) -> list[Block]:
    """Return the means of the systems and their ranks with all ratings, without each rater, without parts of items."""
    analysis = "leave_one_rater_out"
    ranks = view.rows(criterion, analysis, "rank")
    blocks: list[Block] = []
    if not ranks or all(row.undefined for row in ranks):
        blocks += view.undefined(criterion, analysis)
    else:
        blocks += [
            Text(
                "A ranking that is one of systems stays much the same whoever of the raters is left out. Rank 1 is the "
                "highest mean. Tau-b is 1 if two boards have the same order and −1 if the reverse."
            ),
            _table(view, criterion, analysis, "Ranks with all raters and without each", "Rank, all raters"),
        ]
    blocks += _blocks_of_items(view, criterion)
    return blocks


def _blocks_of_items(view: View, criterion: str) -> list[Block]:
    analysis = "leave_one_block_out"
    every = view.defined(criterion, analysis, "rank")
    winners: dict[Key, set[Key]] = {}
    best: dict[Key, float] = {}
    for row in every:
        left = row.keys.get("left_out", "")
        if row.estimate < best.get(left, math.inf):
            best[left], winners[left] = row.estimate, set()
        if row.estimate == best[left]:
            winners[left].add(row.keys["system"])
    whole = winners.pop("", set())
    if not winners:
        return []
    changed = sum(found != whole for found in winners.values())
    often = "changes each time" if changed == len(winners) else f"changes {changed} times"
    often = "never changes" if not changed else "changes once" if changed == 1 < len(winners) else often
    said = (
        f"The items were parted into {plural(len(winners), 'block')} at random and each left out in turn: the first "
        f"place {often}"
    )
    tau = view.defined(criterion, analysis, "kendall_tau_b")
    if tau:
        lowest = min(tau, key=lambda row: row.estimate)
        said += f", and the lowest tau-b with the whole board is {show_number(lowest.estimate, width=0.1)}"
    table = _table(view, criterion, analysis, "Ranks with all items and without each block", "Rank, all items")
    return [Text(f"{said}."), Fold("The board without each block of items", [table])]


def _table(view: View, criterion: str, analysis: str, caption: str, all_of: str) -> Table:
    remarks = Remarks()
    ranks = view.rows(criterion, analysis, "rank")
    by = {(row.keys.get("left_out", ""), row.keys["system"]): row for row in ranks}
    whole = [row for row in ranks if row.keys.get("left_out", "") == ""]
    whole.sort(key=lambda row: math.inf if row.undefined else row.estimate)
    places = cells.places_of(view.rows(criterion, analysis, "mean", {"left_out": ""}))
    left = [name for name in dict.fromkeys(row.keys.get("left_out", "") for row in ranks) if name != ""]
    shown = left[:MOST_BOARDS]
    rows = []
    for row in whole[:MOST_SYSTEMS]:
        system = row.keys["system"]
        mean = view.first(criterion, analysis, "mean", {"left_out": "", "system": system})
        remarks.see(row)
        rows.append(
            [
                name_cell(system),
                cells.plain(mean, places=places),
                _rank(row),
                *(_rank(by.get((name, system))) for name in shown),
            ]
        )
    tau = {row.keys["left_out"]: row for row in view.rows(criterion, analysis, "kendall_tau_b")}
    if tau:
        last = [cells.plain(tau.get(name), places=2) for name in shown]
        rows.append([Cell("Kendall's tau-b with the whole board"), Cell(""), Cell(""), *last])
    columns = [Column("System"), Column("Mean", is_number=True), Column(all_of, is_number=True)]
    columns += [_without(name) for name in shown]
    if len(left) > len(shown):
        remarks.say(f"The first {len(shown)} of {len(left)} boards; all are in tables/{analysis}.csv.")
    if len(whole) > MOST_SYSTEMS:
        remarks.say(f"The first {MOST_SYSTEMS} of {len(whole)} systems; all are in tables/{analysis}.csv.")
    return without_empty(caption, columns, rows, remarks.all())


def _without(name: Key) -> Column:
    column = name_column(name, 16)
    return Column(f"without {column.text}", is_number=True, title=column.title, is_name=True)


def _rank(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return Cell("–", title=clean(row.undefined) if row is not None else "")
    return Cell(show_number(row.estimate))
