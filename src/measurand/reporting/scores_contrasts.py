"""Paired differences: which systems differ, and what the readout and every other choice changes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells, figures_readouts, figures_scores
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores_cells import ANCHOR, arm_cell, difference, one_sided, redrawn, see, smallest_p, turned
from measurand.reporting.scores_view import Arm, Protocol, Scores, arm_of, is_told_apart, protocol_words, side
from measurand.reporting.words import begin
from measurand.result import Key, Row
from measurand.result.words import clean, plural, shorten

#: Tables longer than this are folded.
MOST_OPEN: Final = 15
#: Decimals of scores and differences that have no interval.
_PLACES: Final = 3
#: Pairs of systems above which only the counts are shown.
_MOST_PAIRS: Final = 120

_OF_CALIBRATION: Final = ("fit", "ties", "target")

#: What a contrast is called, and the question that it answers.
PROTOCOL: Final[dict[str, tuple[str, str]]] = {
    "readout": (
        "Readout",
        "How the answer is read, with everything else the same. If systems gain as much by it as they differ among "
        "each other, a ranking that mixes readouts ranks readouts.",
    ),
    "phrasing": ("Phrasing", "The same question in other words: a wording that moves a score is part of the score."),
    "prefill": ("Prefill", "With and without words put into the system's mouth before it answers."),
    "attempt": (
        "Attempt",
        "The first attempt against the last: asking again until an answer can be read selects among answers.",
    ),
    "control": (
        "Control inputs",
        "The real input against a blank or swapped one. A system that scores as well without seeing the item is not "
        "reading the item.",
    ),
    "protocol": ("Protocol", "Protocols that differ in more than one thing: the difference has no single cause."),
}


def order(view: Scores, *, most: int | None = None) -> list[Block]:
    """Return which systems differ, by paired tests, with the matrix of the headline's protocol.

    At most so many protocols have a table, the headline's first.
    """
    protocols = [one for one in view.plain if len(view.protocols[one]) > 1]
    pairs = {one: found for one in protocols if (found := _pairs(view, one))}
    protocols = list(pairs)
    if not protocols:
        return []
    blocks: list[Block] = [
        Text(
            "Two scores on the same items rise and fall together, so systems are compared by the paired difference on "
            "shared draws, not by whether their intervals overlap. p is adjusted for the number of pairs, by Holm or, "
            "where the replicates are too few for that, by max-T; "
            "max-T is a second adjustment, which uses how the differences are correlated."
        )
    ]
    for protocol in protocols[:most]:
        blocks.append(Text(_told(view, protocol, pairs[protocol])))
        if protocol == view.plain[0] and not figures_scores.missing(view, "order"):
            blocks.append(Image(figures_scores.order(view)))
        blocks.append(_pair_table(view, protocol, pairs[protocol]))
    if most is not None and (left_out := len(protocols) - most) > 0:
        blocks.append(Text(f"Those of {plural(left_out, 'more protocol')} are in tables/contrasts.csv.", small=True))
    return blocks


def _pairs(view: Scores, protocol: Protocol) -> list[tuple[Arm, Arm]]:
    ranked = view.ranked(view.protocols[protocol])
    every = [(a, b) for place, a in enumerate(ranked) for b in ranked[place + 1 :]]
    return [(a, b) for a, b in every if view.pair(protocol, a[0], b[0])[0] is not None]


def _told(view: Scores, protocol: Protocol, pairs: Sequence[tuple[Arm, Arm]]) -> str:
    ranked = view.ranked(view.protocols[protocol])
    differ = {pair for pair in pairs if is_told_apart(view.pair(protocol, pair[0][0], pair[1][0])[0])}
    compared = set(pairs)
    neighbours = [pair for pair in itertools.pairwise(ranked) if pair in compared]
    said = (
        f"{begin(protocol_words(protocol))}: of" if protocol_words(protocol) else "Of"
    ) + f" {plural(len(pairs), 'pair')} of systems {_differ(len(differ))}, adjusted, {redrawn(view.unit)}"
    if view.both and view.both != view.unit:
        wider = sum(is_told_apart(view.pair(protocol, a[0], b[0], view.both)[0]) for a, b in pairs)
        said += f"; {wider} with {redrawn(view.both)}"
    if len(neighbours) > 1:
        n = sum(pair in differ for pair in neighbours)
        said += f". Of {len(neighbours)} pairs of neighbours in the ranking {_differ(n)}"
    return f"{said}."


def _differ(n: int) -> str:
    return f"{n or 'none'} {'differs' if n < 2 else 'differ'}"


def _pair_table(view: Scores, protocol: Protocol, pairs: Sequence[tuple[Arm, Arm]]) -> Block:
    if len(pairs) > _MOST_PAIRS:
        return Text(f"All {len(pairs):,} pairs are in tables/contrasts.csv.", small=True)
    remarks = Remarks()
    rows = []
    found: list[Row | None] = []
    for a, b in pairs:
        shown: list[Cell] = []
        for unit in view.units:
            row, is_turned = view.pair(protocol, a[0], b[0], unit)
            found.append(row)
            max_t = None if row is None else view.beside(row, "p_max_t", unit)
            # Where max-T is what p is adjusted by it has no second column.
            is_second = max_t is not None and row is not None and row.p_adjusted != max_t.estimate
            shown += [
                turned(row) if is_turned else difference(row, remarks),
                cells.p_value(None if row is None else row.p_adjusted),
                cells.p_value(max_t.estimate if max_t is not None and is_second else None),
            ]
        rows.append([name_cell(a[0], 24), name_cell(b[0], 24), *shown])
    columns = [Column("System"), Column("minus system")]
    for unit in view.units:
        columns += [
            Column(f"Difference, {redrawn(unit)}", is_number=True),
            Column("p, adjusted", is_number=True),
            Column("p (max-T)", is_number=True),
        ]
    for said in (smallest_p(found), one_sided(found)):
        if said:
            remarks.say(said)
    words = protocol_words(protocol)
    title = f"Pairs of systems{f', {shorten(words, 60)}' if words else ''}"
    table = without_empty(title, columns, rows, remarks.all(4))
    return Fold(f"{title}: {plural(len(rows), 'difference')}", [table]) if len(rows) > 3 else table


def contrasts(view: Scores, *, brief: bool = False) -> list[Block]:
    """Return what each choice changes: a part with a sentence and a table for every kind that the run has.

    Briefly, what the choices of calibration change stands in the findings alone.
    """
    parts: list[Part] = []
    for kind in PROTOCOL:
        found = view.contrasts(kind)
        matched = view.contrasts(f"{kind}_matched")
        if found:
            name, question = PROTOCOL[kind]
            drawn = _readout_figures(view) if kind == "readout" else []
            blocks = [Text(question), *drawn, *_of_protocol(view, found, matched, f"{name}: differences")]
            parts.append(Part(f"contrast-{kind}", name, 3, blocks))
    for kind, title, blocks in (
        ("matched", "On common items", _on_common_items(view)),
        ("fit", "Leakage: calibration fitted to the items that it scores", _fit(view)),
        ("ties", "Ties", _choices(view, "ties")),
        ("target", "What answers are calibrated to", _choices(view, "target")),
    ):
        if blocks and not (brief and kind in _OF_CALIBRATION):
            parts.append(Part(f"contrast-{kind}", title, 3, blocks))
    if brief:
        said = "What ties, leakage and the target of calibration change in each arm is in tables/contrasts.csv."
        return [*parts, Text(said, small=True)]
    return list(parts)


def _readout_figures(view: Scores) -> list[Block]:
    """Return each system under two readouts, and under its graded answers cut to yes and no."""
    figures = (("readouts", figures_readouts.readouts), ("binarized", figures_readouts.binarized))
    return [Image(draw(view)) for name, draw in figures if not figures_readouts.missing(view, name)]


def _on_common_items(view: Scores) -> list[Block]:
    """Return the comparisons of arms that answered other items than the rest, on common items and as they are."""
    found = [row for kind in ("system_matched", "anchor_matched") for row in view.contrasts(kind)]
    if not found:
        return []
    remarks = Remarks()
    shown = []
    for row in found:
        plain = view.beside(row, contrast=str(row.keys["contrast"]).removesuffix("_matched"))
        a = clean(row.keys["a"])
        protocol = ", ".join(clean(part) for key in ("readout", "phrasing", "variant") if (part := row.keys.get(key)))
        other = clean(row.keys["b"])
        if row.keys.get("system"):
            other = ANCHOR.get(str(row.keys["b"]), other)
        shown.append(
            [
                Cell(f"{a}, {protocol}" if protocol else a),
                Cell(other),
                difference(row, remarks),
                cells.p_value(row.p_adjusted),
                difference(plain),
            ]
        )
    columns = [
        Column("System"),
        Column("minus this"),
        Column("On common items", is_number=True),
        Column("p, adjusted", is_number=True),
        Column("As they are", is_number=True),
    ]
    said = (
        "Some systems answered other items than the rest, or few of those that were rated. Here they are compared on "
        "the items that both answered, and with anchors on their own items; findings go by these."
    )
    return [Text(said), *_folded(without_empty("Comparisons on common items", columns, shown, remarks.all(4)))]


def _of_protocol(view: Scores, found: Sequence[Row], matched: Sequence[Row], caption: str) -> list[Block]:
    by_sides: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        by_sides.setdefault((str(row.keys["a"]), str(row.keys["b"])), []).append(row)
    told = []
    for (a, b), rows in by_sides.items():
        up, down = (sum(side(row) == where for row in rows) for where in ("above", "below"))
        told.append(
            f"{clean(a)} minus {clean(b)}: higher for {up}, lower for {down}, not told apart for "
            f"{len(rows) - up - down}"
        )
    more = f"; and {len(told) - 6} more pairs" if len(told) > 6 else ""
    blocks: list[Block] = [Text(f"Of {plural(len(found), 'contrast')}, adjusted: {'; '.join(told[:6])}{more}.")]
    if matched:
        blocks.append(
            Text(
                "Where two arms did not answer the same items, the difference stands a second time on the items that "
                "both answered: only there is it free of what coverage does."
            )
        )
    remarks = Remarks()
    shown = []
    for row in found:
        max_t = view.beside(row, "p_max_t")
        same = view.beside(row, contrast=f"{row.keys['contrast']}_matched")
        whole = view.beside(row, criterion="", set="all") if view.main["set"] == "reliable" else None
        shown.append(
            [
                arm_cell(arm_of(row), with_protocol=True),
                Cell(clean(row.keys["a"])),
                Cell(clean(row.keys["b"])),
                difference(row, remarks),
                cells.p_value(row.p_adjusted),
                cells.p_value(None if max_t is None else max_t.estimate),
                difference(same),
                difference(whole),
            ]
        )
    columns = [
        Column("System"),
        Column("This"),
        Column("minus this"),
        Column("Difference", is_number=True),
        Column("p, adjusted", is_number=True),
        Column("p (max-T)", is_number=True),
        Column("On items that both answered", is_number=True),
        Column("Over all criteria", is_number=True),
    ]
    for said in (smallest_p(found), one_sided(found)):
        if said:
            remarks.say(said)
    table = without_empty(caption, columns, shown, remarks.all(5))
    return [*blocks, *_folded(table)]


def _folded(table: Table) -> list[Block]:
    return [Fold(f"{table.caption} ({len(table.rows)})", [table])] if len(table.rows) > MOST_OPEN else [table]


def _fit(view: Scores) -> list[Block]:
    found = view.contrasts("fit")
    if not found:
        return []
    remarks = Remarks()
    rows = []
    for row in found:
        arm = arm_of(row)
        ends = [view.score(arm, path=view.path | {"fit": fit}) for fit in ("oracle", "held_out")]
        shown = [cells.estimate(end) for end in ends]
        see(remarks, row)
        rows.append([_arm(view, arm), *shown, difference(row), cells.p_value(row.p_adjusted)])
    columns = [
        Column("System"),
        Column("Score, oracle", is_number=True),
        Column("Score, held out", is_number=True),
        Column("Oracle minus held out", is_number=True),
        Column("p, adjusted", is_number=True),
    ]
    above = sum(side(row) == "above" for row in found)
    said = (
        "An oracle takes the distribution of ratings from the very items that it scores; held-out calibration takes it "
        "from other folds. Their difference is what leaks: told from 0 (adjusted) and positive for "
        f"{above} of {len(found)} arms."
    )
    return [Text(said), *_folded(without_empty("What leaks", columns, rows, remarks.all(4)))]


_SAID: Final = {
    "ties": (
        "What equal answers are given decides how far a coarse answer can score. “block” gives a tie the mean of the "
        "levels that it covers (a constant scores 0), “midrank” the level at its middle, “random” a level by lot, and "
        "“index” by the order of the items, which is no property of the system."
    ),
    "target": (
        "Answers are given the distribution of single ratings, or of rounded means of raters, which is narrower. The "
        "difference says how far the score rests on that choice."
    ),
}
_LEVELS: Final = {"ties": ("block", "midrank", "index", "random"), "target": ("ratings", "consensus")}


def _choices(view: Scores, what: str) -> list[Block]:
    found = view.contrasts(what)
    if not found:
        return []
    rows = []
    for row in found:
        arm = arm_of(row)
        scores = [_point(view, arm, view.path | {what: level}) for level in _LEVELS[what]]
        spread = cells.plain(row, places=_PLACES)
        # Of choices that come to the same none is the highest.
        highest = "–" if not spread.text.strip("0.") else clean(row.keys["a"])
        rows.append([_arm(view, arm), *scores, spread, Cell(highest)])
    columns = [
        Column("System"),
        *(Column(level, is_number=True) for level in _LEVELS[what]),
        Column("Range", is_number=True),
        Column("Highest"),
    ]
    widest = max(found, key=lambda row: row.estimate)
    largest = (
        f" The largest range is {cells.plain(widest, places=_PLACES).text} "
        f"({shorten(protocol_words((str(widest.keys['system']), *arm_of(widest)[1:])), 60)})."
    )
    notes = ["A range of choices has no sampling error of its own; only the headline's choice has an interval."]
    table = without_empty(f"Scores under each choice of {what}", columns, rows, notes)
    return [Text(_SAID[what] + largest), *_folded(table)]


def _point(view: Scores, arm: Arm, path: dict[str, Key]) -> Cell:
    row = view.score(arm, path=path)
    return cells.plain(row, places=_PLACES) if row is not None and row.low is None else cells.estimate(row)


def _arm(view: Scores, arm: Arm) -> Cell:
    return arm_cell(arm, with_protocol=len(view.protocols) > 1)
