"""Systems against people: the table with anchors and baselines among the systems, one for every protocol."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting import cells, figures_scores
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Table, Text
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores_cells import (
    ANCHOR,
    ANCHOR_SHORT,
    BASELINE,
    BASELINE_SHORT,
    CALIBRATED,
    against,
    arm_cell,
    difference,
    legend,
    one_sided,
    path_words,
    redrawn,
    see,
    smallest_p,
    standing,
    statistic_words,
    whole_range,
)
from measurand.reporting.scores_controls import trained_controls
from measurand.reporting.scores_view import Arm, Protocol, Scores, arm_words, protocol_words
from measurand.reporting.words import STATISTIC, begin, joined
from measurand.result import Key, Row
from measurand.result.digits import show_rounded
from measurand.result.words import clean, plural, shorten

#: That a number is a mean over criteria is said once, above the tables.
_MEAN_OF: Final = re.compile(r"^mean of \d+ criteria(; )?")
#: The caption says for whom a difference holds.
_FOR_WHOM: Final = re.compile(r"^(for these raters|for raters of this kind|\d+ raters? (is|are) too few [a-z ]*)(; )?")
#: Up to so many protocols have their tables open, and with so few systems each they share one.
_MOST_OPEN: Final = 3
_MOST_ALONE: Final = 2


def against_people(view: Scores, *, most: int | None = None) -> list[Block]:
    """Return the tables of arms beside anchors and baselines, and the figures of them.

    At most so many protocols beside the headline's have a table, and then the differences from every anchor have none.
    """
    plain = view.plain
    blocks: list[Block] = [Text(_introduction(view))]
    share_one = len(plain) > _MOST_ALONE and all(len(view.protocols[one]) == 1 for one in plain)
    if share_one:
        arms = [arm for protocol in plain for arm in view.with_controls(protocol)]
        blocks.append(board(view, arms, "Scores of all arms", with_baselines=True, with_protocol=True))
    else:
        main, *others = plain
        blocks.append(board(view, view.with_controls(main), _caption(main), with_baselines=True))
        tables = [board(view, view.with_controls(one), _caption(one)) for one in others[:most]]
        is_long = len(tables) >= _MOST_OPEN
        blocks += [Fold(f"{len(tables)} more protocols: a table each", tables)] if is_long else tables
    controls = [one for one in view.protocols if one not in plain]
    if controls:
        tables = [board(view, view.with_controls(one), _caption(one)) for one in controls[:most]]
        said = (
            "Controls are no contenders. “binarized” is the stored probability of yes, cut at one half: the same "
            "question and the same answers without their gradation; a control input is a blank or swapped item."
        )
        names = joined([shorten(protocol_words(one, "plain"), 40) for one in controls[:4]])
        more = f" and {len(controls) - 4} more" if len(controls) > 4 else ""
        blocks.append(Fold(f"Controls: {names}{more}", [Text(said), *tables]))
    blocks += trained_controls(view)
    if len(view.statistics) > 1:
        blocks.append(_statistics(view))
    if not figures_scores.missing(view, "scores"):
        blocks.append(Image(figures_scores.scores(view)))
    if most is None:
        return [*blocks, *_every_anchor(view)]
    left_out = max(len(plain) - 1 - most, 0) + max(len(controls) - most, 0)
    more = f"The scores of {plural(left_out, 'more protocol')} are in tables/scores.csv; " if left_out else ""
    said = f"{more}the differences of every arm from every anchor are in tables/contrasts.csv."
    return [*blocks, Text(begin(said), small=True)]


def _introduction(view: Scores) -> str:
    said = f"{begin(statistic_words(view.statistic))} of each system's answers with the single ratings of each person"
    said += f": {view.scope_words()}. " if view.scope_words() else ". "
    if any(view.path.values()):
        said += f"Path: {path_words(view.path)}. "
    if view.unit:
        said += f"Intervals{view.level}: {redrawn(view.unit)}, everything refitted in every replicate. "
    if view.statistic == "kappa_quadratic":
        said += "1 is perfect agreement, 0 agreement by chance; a constant answer scores 0"
        said += ", or next to it where calibration is held out. " if view.path.get("fit") == "held_out" else ". "
    if view.anchors:
        said += (
            "Anchors are people on the same ratings: one rater against another is how well one person predicts "
            "another; the mean of the other raters is the fair opponent of a system that aims at consensus; the noise "
            "ceiling is what knowing the true score would reach."
        )
    return said.strip()


def _caption(protocol: Protocol) -> str:
    words = protocol_words(protocol)
    return f"Scores, {shorten(words, 80)}" if words else "Scores"


def board(
    view: Scores, arms: Sequence[Arm], caption: str, *, with_baselines: bool = False, with_protocol: bool = False
) -> Table:
    """Return arms, anchors and (if asked for) baselines in one table, from best to worst."""
    remarks = Remarks()
    rows: list[tuple[float, list[Cell]]] = []
    ranks = ranks_of(view, arms)
    # Three such columns are too wide for a page: of the two means it has the one on the systems' terms.
    columns_against = [name for name in against(view) if name != "leave_one_out" or CALIBRATED not in against(view)]
    uncalibrated = _uncalibrated(view)
    for arm in arms:
        row = view.score(arm)
        if row is not None:
            see(remarks, replace(row, note=_MEAN_OF.sub("", row.note)))
        shown = [arm_cell(arm, with_protocol=with_protocol), cells.estimate(row), ranks[arm]]
        shown += [standing(view, arm, name) for name in columns_against]
        shown += [
            cells.estimate(view.score(arm, path=uncalibrated)) if uncalibrated else Cell("–"),
            _coverage(view, arm),
            gates_cell(view, arm),
        ]
        rows.append((_place(view, row), shown))
    blank = [Cell("")] * (len(columns_against) + 4)
    for name in view.anchors:
        row = view.anchor(name)
        if row is not None:
            rows.append((_place(view, row), [_marked("Anchor", name), cells.estimate(row), *blank]))
    if with_baselines:
        rows += [(place, [name, score, *blank]) for place, name, score in _baselines(view, remarks)]
    columns = [
        Column("System"),
        Column("Score", is_number=True),
        Column("Rank", is_number=True),
        *(Column(f"Against {ANCHOR_SHORT[name]}") for name in columns_against),
        Column("Score, uncalibrated", is_number=True),
        Column("Answered, %", is_number=True),
        Column("Gates"),
    ]
    if columns_against and with_baselines:
        remarks.say(legend(view))
        if "leave_one_out" in view.anchors and CALIBRATED in columns_against:
            remarks.say("Differences from the plain mean of the others stand with those from every anchor.")
        # Said once, of the tables of all protocols.
        every = [arm for members in view.protocols.values() for arm in members]
        if why := one_sided([view.against(arm, name) for arm in every for name in columns_against]):
            remarks.say(why)
    if any(arm[0] in view.controls for arm in arms):
        remarks.say("control: trained as a control of another system; it is no contender, and counts in no rank.")
    if any(arm in view.failed for arm in arms):
        remarks.say("✗: the arm fails gates; it stays in the table, and aggregates come with and without it.")
    ordered = [shown for _, shown in sorted(rows, key=lambda one: one[0])]
    return without_empty(caption, columns, ordered, remarks.all())


def _marked(kind: str, name: str) -> Cell:
    """Return the cell of an anchor or a baseline: a short name, the whole one as its title."""
    short, whole = (ANCHOR_SHORT, ANCHOR) if kind == "Anchor" else (BASELINE_SHORT, BASELINE)
    return Cell(f"{kind}: {short.get(name, clean(name))}", title=whole.get(name, ""))


def _place(view: Scores, row: Row | None) -> float:
    if row is None or row.undefined:
        return float("inf")
    return row.estimate if view.is_error else -row.estimate


def ranks_of(view: Scores, arms: Sequence[Arm]) -> dict[Arm, Cell]:
    """Return the rank of each arm among those of its protocol; equal scores share the mean rank."""
    out = {}
    for arm in arms:
        peers = view.protocols.get(arm[1:], [])
        if arm not in peers:
            out[arm] = Cell("control")
            continue
        own = _place(view, view.score(arm))
        places = [_place(view, view.score(one)) for one in peers]
        if own == float("inf") or len(peers) < 2:
            out[arm] = Cell("–")
            continue
        rank = 1 + sum(place < own for place in places) + (sum(place == own for place in places) - 1) / 2
        found = rank_row(view, arm)
        out[arm] = Cell(f"{rank:g}", whole_range(found))
    return out


def rank_row(view: Scores, arm: Arm, scope: str = "") -> Row | None:
    """Return the rank of an arm with its interval, None where the run has none."""
    name = scope or str(view.main["set"] or view.main["criterion"])
    of = ", ".join(part for part in arm[1:] if part) or "systems"
    return view.find("spread", "rank", {"of": of, "system": arm[0], "set": name, **view.path})


def _uncalibrated(view: Scores) -> dict[str, Key]:
    """Return the keys of the path without calibration, empty where the headline has none itself."""
    if view.path["calibration"] == "none":
        return {}
    return {"calibration": "none", "fit": "", "target": "", "ties": "", "aggregate": view.path["aggregate"]}


def _coverage(view: Scores, arm: Arm) -> Cell:
    keys = dict(zip(("system", "readout", "phrasing", "variant"), arm, strict=True))
    row = view.find("coverage", "coverage", keys)
    if row is None or row.undefined:
        return cells.estimate(row)
    # What is not quite all is never shown as such.
    return Cell("100" if row.estimate == 1 else f"{min(100 * row.estimate, 99.9):.1f}", title=clean(row.note))


def gates_cell(view: Scores, arm: Arm) -> Cell:
    """Return which gates an arm fails; where it fails none, which warn of it."""
    if arm not in view.gated:
        return Cell("–")
    failed = view.failed.get(arm, [])
    href = "gates" if "gates" in view.result.analyses else ""
    if not failed and (warned := view.warned.get(arm)):
        text = "! warn" if len(warned) == 1 else f"! {len(warned)} warn"
        return Cell(text, title=", ".join(map(clean, warned)), href=href, verdict="warn")
    if not failed:
        return Cell("✓ pass", href=href, verdict="pass")
    names = ", ".join(clean(name) for name in failed if name)
    text = f"✗ {len(failed)} failed" if names else "✗ failed"
    return Cell(text, title=names, href=href, verdict="fail")


def _baselines(view: Scores, remarks: Remarks) -> list[tuple[float, Cell, Cell]]:
    """Return the baselines at the headline; of one made from every arm's own answers the range over the arms."""
    found: dict[str, list[Row]] = {}
    for row in view.all("baselines", view.statistic):
        if {key: row.keys.get(key, "") for key in ("criterion", "set")} == view.main and not row.undefined:
            found.setdefault(str(row.keys["baseline"]), []).append(row)
    out = []
    for name, rows in found.items():
        cell = cells.estimate(rows[0])
        if len(rows) == 1:
            see(remarks, replace(rows[0], note=""))
        else:
            ends = min(row.estimate for row in rows), max(row.estimate for row in rows)
            width = next((row.high - row.low for row in rows if row.low is not None and row.high is not None), None)
            cell = Cell(" to ".join(show_rounded(end, width) for end in ends), f"{len(rows)} arms")
        first = max(rows, key=lambda row: row.estimate)
        out.append((_place(view, first), _marked("Baseline", name), cell))
    return out


def _statistics(view: Scores) -> Fold:
    """Return every arm under every statistic that was asked for."""
    remarks = Remarks()
    rows = []
    for arm in [arm for arms in view.protocols.values() for arm in view.ranked(arms)]:
        shown = []
        for name in view.statistics:
            row = view.score(arm, statistic=name)
            if row is None:
                # Of the order of answers alone there is no calibrated path.
                path: dict[str, Key] = {"calibration": "none", "aggregate": view.path["aggregate"]}
                row = view.score(arm, statistic=name, path={"fit": "", "target": "", "ties": ""} | path)
            shown.append(cells.estimate(row, remarks))
        rows.append([arm_cell(arm, with_protocol=len(view.protocols) > 1), *shown])
    columns = [Column("System"), *(Column(STATISTIC.get(n, clean(n)), is_number=True) for n in view.statistics)]
    table = without_empty("Every statistic", columns, rows, remarks.all())
    return Fold(f"Under {plural(len(view.statistics), 'statistic')}", [table])


def _every_anchor(view: Scores) -> list[Block]:
    """Return the differences from every anchor, over everything that was redrawn, with adjusted p."""
    if not view.all("contrasts", "difference") or not view.anchors:
        return []
    tables: list[Block] = [
        Text(
            "Every system minus every anchor, paired on the same draws. p is adjusted over the systems of one "
            "protocol and anchor; the intervals are not adjusted."
        )
    ]
    for unit in view.units:
        remarks = Remarks()
        rows = []
        found: list[Row | None] = []
        for arm in [arm for one in view.plain for arm in view.ranked(view.protocols[one])]:
            shown: list[Cell] = []
            for name in view.anchors:
                row = view.against(arm, name, unit=unit)
                found.append(row)
                p = None if row is None else row.p_adjusted
                if row is not None:
                    see(remarks, replace(row, note=_FOR_WHOM.sub("", row.note)))
                shown += [difference(row), cells.p_value(p)]
            rows.append([arm_cell(arm, with_protocol=len(view.protocols) > 1), *shown])
        columns = [Column("System")]
        for name in view.anchors:
            columns += [Column(f"Minus {ANCHOR_SHORT.get(name, name)}", is_number=True), Column("p", is_number=True)]
        for said in (smallest_p(found), one_sided(found)):
            if said:
                remarks.say(said)
        tables.append(without_empty(f"Differences from anchors, {redrawn(unit)}", columns, rows, remarks.all(5)))
    return [Fold("Against every anchor, with adjusted p", tables)]


def named(arms: Sequence[Arm], most: int = 4) -> str:
    """Return arms as a sentence has them."""
    more = [f"{len(arms) - most} more"] if len(arms) > most else []
    return joined([shorten(arm_words(arm), 48) for arm in arms[:most]] + more)


def counted(n: int, of: int, noun: str = "system") -> str:
    """Return how many of so many, in words.

    Examples
    --------
    >>> counted(3, 11), counted(2, 2), counted(0, 2), counted(1, 1)
    ('3 of 11 systems', 'both systems', 'neither system', 'the one system')
    """
    if of == 1:
        return f"the one {noun}" if n else f"not the one {noun}"
    if n == of:
        return f"both {noun}s" if of == 2 else f"all {of} {noun}s"
    if n == 0:
        return f"neither {noun}" if of == 2 else f"none of {plural(of, noun)}"
    return f"{n} of {plural(of, noun)}"
