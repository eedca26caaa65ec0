"""The criteria: how far raters agree on each, what people and systems score on it, and what the chosen set changes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from measurand.reporting import cells, figures_scores
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Table, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores_cells import ANCHOR, ANCHOR_SHORT, arm_cell, redrawn, whole_range
from measurand.reporting.scores_view import Arm, Scores, protocol_words
from measurand.result import Key, Row, show_number
from measurand.result.digits import show_rounded
from measurand.result.words import clean, plural, shorten

#: Up to so many criteria are columns of a table of scores; of more they are rows, and systems stand in blocks.
MOST_AS_COLUMNS: Final = 8
_BLOCK: Final = 6
#: Above so many criteria scores by criterion are left to the tables.
_MOST_CRITERIA: Final = 120
_MOST_OPEN: Final = 12
#: Systems of a protocol that have scores by criterion, the best first.
_MOST_SYSTEMS: Final = 24


def by_criterion(view: Scores, *, most: int | None = None) -> list[Block]:
    """Return the figure of scores beside agreement, and the scores of every system on every criterion.

    At most so many protocols have a table, the headline's first.
    """
    if len(view.criteria) < 2:
        return []
    blocks: list[Block] = [
        Text(
            "A criterion that raters disagree about bounds what any system can score on it, so scores stand beside "
            "agreement: interval alpha, 1 if raters always agree and 0 if by chance."
        )
    ]
    if not figures_scores.missing(view, "criteria"):
        blocks.append(Image(figures_scores.criteria(view)))
    if len(view.criteria) > _MOST_CRITERIA:
        return [*blocks, Text(f"The scores on each of {len(view.criteria)} criteria are in tables/scores.csv.")]
    for protocol, arms in list(view.protocols.items())[:most]:
        words = protocol_words(protocol)
        title = f"Scores by criterion{f', {shorten(words, 80)}' if words else ''}"
        tables = _tables(view, view.ranked(arms)[:_MOST_SYSTEMS], title)
        if len(arms) > _MOST_SYSTEMS:
            said = f"Those of the first {_MOST_SYSTEMS} of {len(arms)} systems; all are in tables/scores.csv."
            tables.append(Text(said, small=True))
        blocks.append(Fold(title, tables))
    if most is not None and (left_out := len(view.protocols) - most) > 0:
        blocks.append(Text(f"Those of {plural(left_out, 'more protocol')} are in tables/scores.csv.", small=True))
    return blocks


def _tables(view: Scores, arms: Sequence[Arm], title: str) -> list[Block]:
    if len(view.criteria) <= MOST_AS_COLUMNS:
        columns = [Column("System"), *(name_column(criterion) for criterion in view.criteria)]
        rows = [
            [arm_cell(arm, with_protocol=False), *(_score(view, arm, criterion) for criterion in view.criteria)]
            for arm in arms
        ]
        rows += [
            [Cell(f"Anchor: {clean(ANCHOR.get(name, name))}"), *(_anchor(view, name, one) for one in view.criteria)]
            for name in view.anchors
        ]
        return [Table(title, columns, rows)]
    criteria = _by_alpha(view)
    shown = [name for name in ("pairwise", "leave_one_out") if name in view.anchors]
    tables: list[Block] = []
    for start in range(0, len(arms), _BLOCK):
        block = arms[start : start + _BLOCK]
        columns = [
            Column("Criterion"),
            *(name_column(arm[0], 20) for arm in block),
            *(Column(f"Anchor: {ANCHOR_SHORT[name]}", is_number=True) for name in shown),
        ]
        rows = [
            [
                name_cell(criterion, blank="the only one, unnamed"),
                *(_score(view, arm, criterion) for arm in block),
                *(_anchor(view, name, criterion) for name in shown),
            ]
            for criterion in criteria
        ]
        more = f" ({start + 1} to {start + len(block)} of {len(arms)})" if len(arms) > _BLOCK else ""
        tables.append(Table(f"{title}{more}", columns, rows))
    return tables


def _score(view: Scores, arm: Arm, criterion: str) -> Cell:
    return cells.estimate(view.score(arm, {"criterion": criterion, "set": ""}))


def _anchor(view: Scores, name: str, criterion: str) -> Cell:
    return cells.estimate(view.anchor(name, {"criterion": criterion, "set": ""}))


def _by_alpha(view: Scores) -> list[str]:
    """Return the criteria from the one that raters agree most about to the one they agree least about."""

    def place(criterion: str) -> float:
        row = view.alphas.get(criterion)
        return float("inf") if row is None or row.undefined else -row.estimate

    return sorted(view.criteria, key=place)


def criteria(view: Scores) -> list[Block]:
    """Return agreement and scores of each criterion, and the headline's numbers over thresholds of agreement."""
    if not view.alphas:
        return []
    remarks = Remarks()
    arms = view.protocols[view.plain[0]]
    rows = []
    for criterion in _by_alpha(view):
        alpha = view.alphas.get(criterion)
        if alpha is not None:
            remarks.see(alpha)
        share = view.find(
            "criteria", "inclusion_share", {"criterion": criterion, "set": "reliable", "threshold": view.threshold}
        )
        found = [
            (row, arm)
            for arm in view.ranked(arms, {"criterion": criterion, "set": ""})
            if (row := view.score(arm, {"criterion": criterion, "set": ""})) is not None and not row.undefined
        ]
        rows.append(
            [
                name_cell(criterion, blank="the only one, unnamed"),
                cells.estimate(alpha),
                _percent(share),
                *(_anchor(view, name, criterion) for name in ("pairwise", "leave_one_out")),
                Cell(_mean([row for row, _ in found])),
                cells.estimate(found[0][0]) if found else Cell("–"),
                name_cell(found[0][1][0], 20) if found else Cell("–"),
            ]
        )
    words = protocol_words(view.plain[0])
    columns = [
        Column("Criterion"),
        Column("Alpha of raters", is_number=True),
        Column("In the reliable set, % of replicates", is_number=True),
        Column("Anchor: one rater", is_number=True),
        Column("Anchor: mean of the others", is_number=True),
        Column(f"Mean of {plural(len(arms), 'system')}", is_number=True),
        Column("Best score", is_number=True),
        Column("Best system"),
    ]
    if words:
        remarks.say(f"Scores of systems: {shorten(words, 80)}.")
    table = without_empty("Agreement and scores by criterion", columns, rows, remarks.all())
    if len(view.criteria) == 1:
        return [Text("How far the raters agree bounds what can be asked of a system."), table]
    said = (
        f"Reliable are the criteria whose interval alpha is {view.threshold:g} or more: {view.n_reliable} of "
        f"{len(view.criteria)}. The set is chosen anew in every replicate; the share says how sure each one's place is."
    )
    blocks: list[Block] = [Text(said)]
    blocks.append(Fold(f"All {len(rows)} criteria", [table]) if len(rows) > _MOST_OPEN else table)
    return [*blocks, *_thresholds(view)]


def _percent(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return Cell("–")
    return Cell(f"{100 * row.estimate:.0f}")


def _mean(rows: Sequence[Row]) -> str:
    if not rows:
        return "–"
    width = next((row.high - row.low for row in rows if row.low is not None and row.high is not None), None)
    return show_rounded(fmean(row.estimate for row in rows), width)


def _thresholds(view: Scores) -> list[Block]:
    found = view.all("criteria", "n_criteria")
    if not found:
        return []
    remarks = Remarks()
    rows = []
    n_arms = ""
    for row in found:
        keys: dict[str, Key] = dict(row.keys)
        pairwise, above, clear = (
            view.find("criteria", name, keys) for name in ("pairwise", "n_above_pairwise", "n_clearly_above_pairwise")
        )
        if pairwise is not None and pairwise.undefined:
            remarks.see(pairwise)
        if above is not None:
            n_arms = clean(above.note.split(";", 1)[0])
        threshold = show_number(float(row.keys["threshold"]))
        rows.append(
            [
                Cell(f"{threshold}{' (chosen)' if row.keys['threshold'] == view.threshold else ''}"),
                cells.estimate(row) if row.low is None else Cell(show_number(row.estimate), whole_range(row)),
                cells.estimate(pairwise),
                *(Cell("–" if one is None else show_number(one.estimate)) for one in (above, clear)),
            ]
        )
    columns = [
        Column("Alpha of at least"),
        Column("Criteria", is_number=True),
        Column("Anchor: one rater", is_number=True),
        Column("Arms above it, by the estimate", is_number=True),
        Column("Arms above it, by the whole interval", is_number=True),
    ]
    if n_arms:
        controls = ", controls among them" if len(view.protocols) > len(view.plain) else ""
        remarks.say(f"Arms: {n_arms}{controls}.")
    table = without_empty(f"Other thresholds of agreement, {redrawn(view.unit)}", columns, rows, remarks.all())
    said = "Does the result hold if the set of criteria is chosen more strictly, or not at all?"
    return [Text(said), table]
