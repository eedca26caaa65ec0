"""From one language to another, and from decodability to ratings: does a score mean the same elsewhere?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Part, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.probe_cells import MOST, number, percent, rest
from measurand.reporting.probe_view import Probe
from measurand.reporting.scores_cells import difference
from measurand.reporting.words import show_rounded
from measurand.result import Key, Row

_SAID: Final = (
    "A decoder trained on the outputs of one language and tried on those of another: what it loses although it knows "
    "nearly all the tokens is a difference in what they stand for."
)


def transfer(view: Probe) -> list[Block]:
    """Return what decoders lose from one language to another; empty where there is one language."""
    found = [
        row
        for row in view.rows("decodability", "macro_f1")
        if row.keys.get("train", "") != "" and row.keys.get("test", "") != ""
    ]
    if not found:
        return []
    if why := next((row.undefined for row in found if row.undefined), ""):
        return [Part("transfer", "Is the code the same in every language?", 3, [Text(f"Not defined here: {why}.")])]
    blocks: list[Block] = [Text(_SAID), *_losses(view)]
    rows = []
    for row in found[:MOST]:
        keys = {name: row.keys[name] for name in row.keys if row.keys[name] != ""}
        rows.append(
            [
                view.named(row.keys.get("system", ""), blank="all"),
                name_cell(row.keys["train"], 20),
                name_cell(row.keys["test"], 20),
                number(row),
                difference(view.get("decodability", "transfer_loss", keys)),
                percent(view.get("decodability", "vocabulary_coverage", keys)),
            ]
        )
    heads = ("Macro-F1", "Loss against its own language", "Tokens known from training, %")
    columns = [Column("System"), Column("Trained on"), Column("Tried on")]
    columns += [Column(name, is_number=True) for name in heads]
    table = without_empty("From one language to another", columns, rows, rest(len(found), "decodability"))
    blocks.append(Fold("Direction by direction", [table]))
    return [Part("transfer", "Is the code the same in every language?", 3, blocks)]


def _losses(view: Probe) -> list[Block]:
    """Return the mean loss of each system over all directions, that of all systems last."""
    found = [row for row in view.rows("decodability", "transfer_loss") if row.keys.get("train", "") == ""]
    found.sort(key=lambda row: row.keys.get("system", "") == "")
    rows = [[view.named(row.keys.get("system", ""), blank="mean of systems"), difference(row)] for row in found]
    if not rows:
        return []
    columns = [Column("System"), Column("Mean loss of macro-F1", is_number=True)]
    note = "Over all directions; a loss is what the decoder of a language's own items tells more. Above 0 it loses."
    return [_cut("Mean loss from one language to another", columns, rows, [note])]


def _cut(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], notes: list[str]) -> Table:
    return without_empty(caption, columns, rows[:MOST], [*notes, *rest(len(rows), "decodability")])


def ratings(view: Probe) -> list[Block]:
    """Return the correlation of decodability with ratings over systems, that of single raters folded away."""
    found = view.rows("decodability_ratings", "spearman")
    if not found:
        return []
    over = [row for row in found if row.keys.get("rater", "") == ""]
    each = [row for row in found if row.keys.get("rater", "") != ""]
    said = Text(
        "A criterion that does not order the systems validates nothing: see first whether the ratings can rank them "
        "(measurand audit)."
    )
    blocks: list[Block] = [said]
    if over:
        blocks.append(_of_ratings(over, "Decodability and mean ratings, over systems"))
    if each:
        blocks.append(Fold("Rater by rater", [_of_ratings(each, "Decodability and each rater's ratings")]))
    return [Part("decodability-ratings", "Decodability beside ratings", 3, blocks)]


def _of_ratings(found: Sequence[Row], caption: str) -> Table:
    """Return correlations with both intervals: over systems, and over the items that were rated."""
    keys = ("criterion", "rater", "language")
    by: dict[tuple[Key, ...], dict[str, Row]] = {}
    for row in found:
        by.setdefault(tuple(row.keys.get(key, "") for key in keys), {})[row.unit] = row
    remarks = Remarks()
    rows = []
    for names, units in list(by.items())[:MOST]:
        first = units.get("system") or next(iter(units.values()))
        if first.undefined:
            remarks.see(first)
        line = [name_cell(names[0], blank="rating"), name_cell(names[1], blank="–"), name_cell(names[2], blank="all")]
        line.append(Cell("–") if first.undefined else Cell(show_rounded(first.estimate, 0.1)))
        rows.append([*line, *(cells.interval(units.get(one)) for one in ("system", "item")), cells.p_value(first.p)])
    heads = ("Spearman's rho over systems", "Other systems", "Other items, these systems", "p")
    columns = [Column("Criterion"), Column("Rater"), Column("Language")]
    columns += [Column(name, is_number=True) for name in heads]
    remarks.say(
        "The first interval says how little so few systems tell of others; the second takes these systems as all there "
        "are, and redraws the rated items. p is of the first."
    )
    return without_empty(caption, columns, rows, [*remarks.all(6), *rest(len(by), "decodability_ratings")])
