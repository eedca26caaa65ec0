"""From one language to another, and from decodability to ratings: does a score mean the same elsewhere?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures_spread import decodability_ratings as drawn
from measurand.reporting.figures_spread import missing
from measurand.reporting.probe_cells import MOST, folded, number, percent, rest
from measurand.reporting.probe_view import Probe, best_first, is_main
from measurand.reporting.scores_cells import difference
from measurand.reporting.view import View
from measurand.result import Key, Row
from measurand.result.digits import show_rounded
from measurand.result.words import called

#: Criteria that have a figure each, and languages that have a column beside the mean ratings.
_MOST_FIGURES: Final = 4
_MOST_LANGUAGES: Final = 4
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
    blocks: list[Block] = [said, *_drawn(view)]
    if over:
        blocks.append(_of_ratings(over, "Decodability and mean ratings, over systems"))
    blocks += _means(view)
    if each:
        blocks.append(Fold("Rater by rater", [_of_ratings(each, "Decodability and each rater's ratings")]))
    return [Part("decodability-ratings", "Decodability beside ratings", 3, blocks)]


def _drawn(view: Probe) -> list[Block]:
    """Return the figure of each criterion that has mean ratings of decoded systems."""
    of = View(view.result)
    criteria = [str(name) for name in _criteria(view)]
    can = [name for name in criteria if not missing(of, "decodability_ratings", name)]
    if len(can) > _MOST_FIGURES:
        said = f"With more than {_MOST_FIGURES} criteria the figures are left out; the tables have their numbers."
        return [Text(said, small=True)]
    return [Image(drawn(of, name)) for name in can]


def _criteria(view: Probe) -> list[Key]:
    found = view.rows("decodability_ratings", "mean_rating")
    return list(dict.fromkeys(row.keys.get("criterion", "") for row in found))


def _means(view: Probe) -> list[Block]:
    """Return what the figure shows: the mean rating of each system beside its decodability in each language."""
    scores = {
        (row.keys.get("system", ""), row.keys.get("language", "")): row
        for row in view.defined("decodability", "macro_f1")
        if is_main(row)
    }
    languages = list(dict.fromkeys(language for _, language in scores))
    criteria = _criteria(view)
    lines = []
    for criterion in criteria:
        for row in best_first(view.rows("decodability_ratings", "mean_rating", {"criterion": criterion})):
            system = row.keys["system"]
            line = [view.named(system), name_cell(criterion, blank="rating"), number(row)]
            lines.append([*line, *(number(scores.get((system, one))) for one in languages[:_MOST_LANGUAGES])])
    if not lines:
        return []
    heads = [f"Macro-F1{f', {called(one)}' if len(languages) > 1 else ''}" for one in languages[:_MOST_LANGUAGES]]
    columns = [Column("System"), Column("Criterion"), *(Column(one, is_number=True) for one in ("Mean rating", *heads))]
    if len(criteria) == 1:
        # The one criterion needs no column.
        columns, lines = [columns[0], *columns[2:]], [[line[0], *line[2:]] for line in lines]
    notes = [
        "Intervals redraw items; those of mean ratings take these raters as they are, and others would move them, "
        "too (measurand audit). Mean ratings are over all items that were rated, of whatever language.",
        *rest(len(lines), "decodability_ratings", "lines"),
        *rest(len(languages), "decodability", "languages", _MOST_LANGUAGES),
    ]
    table = without_empty("Mean rating and decodability, best rated first", columns, lines[:MOST], notes)
    return [folded(f"System by system: {len(lines)} mean ratings beside decodability", table)]


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
