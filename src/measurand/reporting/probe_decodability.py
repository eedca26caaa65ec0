"""What survives of the labels: systems and floors, differences, classes, learning curves, transfer, ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting import cells, probe_transfer
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Section, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures_probe import decodability as drawn
from measurand.reporting.figures_probe import learning as drawn_learning
from measurand.reporting.figures_probe import missing
from measurand.reporting.figures_spread import instruments, resolution
from measurand.reporting.probe_cells import MOST, digits, folded, number, rank, rest, three
from measurand.reporting.probe_view import Probe, best_first, is_main, is_refitted
from measurand.reporting.scores_cells import difference, turned
from measurand.reporting.view import View
from measurand.result import Key, Row, show_number
from measurand.result.words import called, clean, plural, shorten

#: Languages that stand open, and that are shown at all.
_MOST_OPEN: Final = 3
_MOST_LANGUAGES: Final = 8
#: Controls of a language, as yardsticks below the systems.
_COMMON: Final = {"majority": "The largest class throughout", "union": "All systems' tokens together"}
_VECTORS: Final = "vectors:"
_MATCHED: Final = "matched:"

METHODS: Final = (
    "Decodability: cross-validated macro-F1 of an l2 multinomial logistic regression on sublinear TF-IDF of the tokens "
    "of an output, fitted inside the folds; predictions of all folds pooled (emoji-affect decodability: Sakhawat 2026, "
    "arXiv 2609.29445, section 6). Intervals redraw items among the predictions; where said, decoders are trained "
    "again.",
    "Ranks of decodability: simultaneous sets as in Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies "
    "91.",
)
WORDS: Final = (
    (
        "decodability",
        "how well the items' labels can be told from the outputs alone, by a decoder that learned from others",
    ),
    ("macro-F1", "the mean over labels of the harmonic mean of precision and recall; 1 if every label is told"),
    ("bits of the label", "mutual information of label and prediction: what the decoder found out, at the least"),
    (
        "floor",
        "what a decoder reaches that has nothing to go by: the largest class, permuted labels, or the number of tokens",
    ),
    ("tier", "systems of one tier are not told apart for certain from the one above and the one below"),
    ("seed", "one way to deal the items into folds; the same for all systems"),
    ("Holm", "p adjusted for the number of comparisons that are made at once"),
)


def sections(view: Probe) -> list[Section]:
    """Return the chapter of decodability, language by language; empty where nothing was decoded."""
    if not view.has("decodability"):
        return []
    blocks: list[Block] = [
        Text(
            "A decoder learns from the outputs to some items which label those items have, and is tried on the others. "
            "What it can tell survived in the outputs; a system that writes the same for everything sits on the floor, "
            "however pleasant it is. It rewards consistency with these labels, not appropriateness. Systems are "
            "compared within a language only."
        )
    ]
    if not missing(view, "decodability"):
        blocks.append(Image(drawn(view)))
    languages = [name for name in view.of("decodability", "language") or [""] if _base(view, name)]
    for place, language in enumerate(languages[:_MOST_LANGUAGES], start=1):
        parts = _of_language(view, language)
        if len(languages) == 1:
            blocks += parts
        elif len(languages) <= _MOST_OPEN:
            blocks.append(Part(f"decodability-{place}", called(shorten(language, 60)), 3, parts))
        else:
            blocks.append(Fold(called(shorten(language, 60)), parts, is_open=place == 1, id=f"decodability-{place}"))
    if len(languages) > _MOST_LANGUAGES:
        further = len(languages) - _MOST_LANGUAGES
        more = f"{plural(further, 'more language is', 'more languages are')} in tables/decodability.csv."
        blocks.append(Text(more, small=True))
    blocks += [*_resolution(view), *_learning(view), *probe_transfer.transfer(view), *probe_transfer.ratings(view)]
    return [Section("decodability", "What survives of the labels: decodability", blocks)]


def _base(view: Probe, language: Key) -> dict[str, Key]:
    """Return the keys that all numbers of a language share."""
    found = [*view.rows("decodability", "n_items"), *view.rows("decodability", "macro_f1")]
    row = next((one for one in found if one.keys.get("language", "") == language), None)
    shared = ("language", "token_unit", "split")
    return {} if row is None else {key: row.keys[key] for key in shared if row.keys.get(key, "") != ""}


def _of_language(view: Probe, language: Key) -> list[Block]:
    base = _base(view, language)
    board = best_first(
        [row for row in view.rows("decodability", "macro_f1", base) if row.keys.get("system", "") and is_main(row)]
    )
    if not board:
        rows = [row for row in view.rows("decodability", "macro_f1", base) if row.undefined]
        return [Text(f"Not defined here: {clean(row.undefined)}.") for row in rows[:1]]
    blocks: list[Block] = [Text(_sizes(view, base)), _board(view, base, board), *_floors(view, base, board)]
    blocks += [*_yardsticks(view, base), *_differences(view, base, board), *_classes(view, base, board)]
    return [*blocks, *_against_vectors(view, base, board)]


def _sizes(view: Probe, base: dict[str, Key]) -> str:
    labels, items = view.get("decodability", "n_labels", base), view.get("decodability", "n_items", base)
    said = []
    if items is not None and labels is not None:
        sizes = f"{plural(int(items.estimate), 'item')} with {plural(int(labels.estimate), 'label')}"
        said.append(f"{sizes}: {clean(labels.note)}." if labels.note else f"{sizes}.")
    for name in ("n_no_label", "n_incomplete", "n_other_label", "n_rare_label"):
        row = view.get("decodability", name, base)
        if row is not None and row.estimate:
            said.append(f"{show_number(row.estimate)} {clean(row.note)}.")
    return " ".join(said)


def _refitted(view: Probe, statistic: str, keys: dict[str, Key]) -> Row | None:
    """Return the row with these keys whose interval counts what other training items would change."""
    found = view.rows("decodability", statistic, {"control": "", "seed": "", "n_train": "", "against": ""} | keys)
    return next((one for one in found if is_refitted(one)), None)


def _board(view: Probe, base: dict[str, Key], board: Sequence[Row]) -> Block:
    remarks = Remarks()
    rows = []
    for row in board[:MOST]:
        keys = base | {"system": row.keys["system"]}
        refitted = _refitted(view, "macro_f1", keys)
        remarks.hold(row, "Macro-F1")
        remarks.hold(refitted, "Decoders trained again")
        line = [view.named(row.keys["system"]), number(row), cells.interval(refitted)]
        line += [rank(view.get("decodability", "rank", keys)), cells.plain(view.get("decodability", "tier", keys))]
        line += [number(view.get("decodability", name, keys)) for name in ("accuracy", "mutual_information")]
        line.append(three(view.get("decodability", "seed_sd", keys)))
        rows.append(line)
        if row.undefined:
            remarks.see(row)
    has_refits = any(line[2].text != "–" for line in rows)
    remarks.say(
        "Intervals redraw items among the predictions of decoders as they are."
        + (" Trained again: they also count what another sample of items to learn from would change." * has_refits)
    )
    if any(line[3].text != "–" for line in rows):
        remarks.say(
            "Below a rank stand the ranks that the system may have, for all systems at once"
            + (", with decoders trained again." if has_refits else ".")
        )
    for one in rest(len(board), "decodability", "systems"):
        remarks.say(one)
    heads = ("Macro-F1", "Decoders trained again", "Rank", "Tier", "Accuracy", "Bits of the label", "SD over seeds")
    columns = [Column("System"), *(Column(name, is_number=True) for name in heads)]
    return without_empty("Decodability, best first", columns, rows, remarks.all())


def _floors(view: Probe, base: dict[str, Key], board: Sequence[Row]) -> list[Block]:
    """Return the floors that each system has of its own, and what it has above them."""
    rows = []
    for row in board[:MOST]:
        keys = base | {"system": row.keys["system"]}
        line = [view.named(row.keys["system"])]
        for control in ("permuted", "count"):
            line.append(three(view.get("decodability", "macro_f1", keys | {"control": control})))
            line.append(difference(view.get("decodability", "excess", keys | {"control": control})))
        rows.append(line)
    if all(cell.text == "–" for line in rows for cell in line[1:]):
        return []
    heads = ("Labels permuted", "above that", "Number of tokens alone", "above that")
    columns = [Column("System"), *(Column(name, is_number=True) for name in heads)]
    note = (
        "Macro-F1 that a decoder reaches by chance, and that one reaches that knows the number of tokens alone; what "
        "the outputs tell beyond each, with intervals over items (paired)."
    )
    table = without_empty("Each system above its own floors", columns, rows, [note])
    return [folded(f"Each system above its own floors: {plural(len(rows), 'system')}", table)]


def _yardsticks(view: Probe, base: dict[str, Key]) -> list[Block]:
    rows = []
    for control, words in _COMMON.items():
        row = view.get("decodability", "macro_f1", base | {"control": control})
        if row is not None:
            rows.append([Cell(words), number(row)])
    for row in view.rows("decodability", "macro_f1", base | {"system": "", "n_train": "", "seed": ""}):
        control = str(row.keys.get("control", ""))
        if control.startswith(_VECTORS) and not is_refitted(row):
            name = name_cell(control.removeprefix(_VECTORS), 40)
            rows.append([Cell(f"Vectors of {name.text}", title=name.title), number(row)])
    if not rows:
        return []
    return [without_empty("Yardsticks", [Column("Decoder of"), Column("Macro-F1", is_number=True)], rows, [])]


def _differences(view: Probe, base: dict[str, Key], board: Sequence[Row]) -> list[Block]:
    """Return the pairs of systems, the better one first; with the test of refits where there is one."""
    place = {row.keys["system"]: at for at, row in enumerate(board)}
    pairs: dict[tuple[Key, Key], dict[bool, Row]] = {}
    for row in view.rows("decodability", "difference", base | {"control": ""}):
        if row.keys.get("system", "") in place and row.keys.get("against", "") in place:
            pairs.setdefault((row.keys["system"], row.keys["against"]), {})[is_refitted(row)] = row
    lines = []
    told = 0
    for (system, against), both in pairs.items():
        order = sorted((system, against), key=lambda name: place[name])
        cell = difference if order[0] == system else turned
        tested = both.get(True) or both[False]
        told += tested.p_adjusted is not None and tested.p_adjusted < 0.05
        again = cell(both.get(True)).small or "–"
        line = [view.named(order[0]), view.named(order[1]), cell(both.get(False)), Cell(again)]
        line += [cells.p_value(tested.p), cells.p_value(tested.p_adjusted)]
        lines.append(((place[order[0]], place[order[1]]), line))
    if not lines:
        return []
    rows = [line for _, line in sorted(lines, key=lambda one: one[0])]
    has_refits = any(True in both for both in pairs.values())
    heads = ("Difference", "Decoders trained again", "p", "p, adjusted")
    columns = [Column("System"), Column("minus"), *(Column(name, is_number=True) for name in heads)]
    how = "decoders trained again" if has_refits else "decoders as they are"
    verb = "is" if told == 1 else "are"
    notes = [f"{told} of {plural(len(rows), 'pair')} {verb} told apart (adjusted p below .05); p is of {how}."]
    notes += rest(len(rows), "decodability", "pairs")
    table = without_empty("Paired differences of macro-F1", columns, rows[:MOST], notes)
    return [folded(f"{plural(len(rows), 'pair')} of systems, {told} told apart", table)]


def _classes(view: Probe, base: dict[str, Key], board: Sequence[Row]) -> list[Block]:
    names = view.of("decodability", "class", base)
    if not names:
        return []
    rows = [
        [
            view.named(row.keys["system"]),
            *(
                number(view.get("decodability", "f1", base | {"system": row.keys["system"], "class": name}))
                for name in names[:MOST]
            ),
        ]
        for row in board[:MOST]
    ]
    columns = [Column("System"), *(name_column(name) for name in names[:MOST])]
    table = without_empty("F1 of every label", columns, rows, rest(len(names), "decodability", "labels"))
    return [Fold(f"Label by label: {plural(len(names), 'label')}", [table])]


def _against_vectors(view: Probe, base: dict[str, Key], board: Sequence[Row]) -> list[Block]:
    """Return what the outputs tell less than the vectors of the same items."""
    found = view.rows("decodability", "difference", base)
    by = {
        (row.keys.get("system", ""), str(row.keys.get("against", ""))): row
        for row in found
        if str(row.keys.get("control", "")).startswith(_MATCHED) and not is_refitted(row)
    }
    names = list(dict.fromkeys(against for _, against in by))[:MOST]
    if not names:
        return []
    rows = [
        [view.named(row.keys["system"]), *(difference(by.get((row.keys["system"], name))) for name in names)]
        for row in board[:MOST]
    ]
    columns = [Column("System"), *(name_column(name.removeprefix(_VECTORS)) for name in names)]
    note = "Macro-F1 of a system's outputs minus that of the vectors, on the same items, with intervals over items."
    return [Fold("Outputs beside vectors", [without_empty("Outputs minus vectors", columns, rows, [note])])]


def _resolution(view: Probe) -> list[Block]:
    """Return how finely decodability tells systems apart, if it can be seen of two languages or ways to resample."""
    of = View(view.result)
    if len(instruments(of, "")) < 2:
        return []
    said = (
        "How wide the interval of a difference of two systems is beside the largest of all differences. Intervals of "
        "decoders that are trained again are the wider ones, and those that speak of other items to learn from."
    )
    return [Part("resolution", "How finely it tells systems apart", 3, [Text(said), Image(resolution(of, ""))])]


def _learning(view: Probe) -> list[Block]:
    if missing(view, "learning"):
        return []
    said = (
        "How much more items to learn from would tell: where a curve still rises at its end, the score says as much of "
        "the sample's size as of the system."
    )
    gains = view.defined("decodability", "gain_of_doubling")
    rows = []
    for row in gains[:MOST]:
        system, control = row.keys.get("system", ""), str(row.keys.get("control", ""))
        rows.append(
            [
                view.named(system) if system != "" else Cell(f"Vectors of {clean(control.removeprefix(_VECTORS))}"),
                name_cell(row.keys.get("language", ""), blank="all"),
                digits(Row("decodability", {}, "n_train", float(row.keys["n_train"]))),
                difference(row),
            ]
        )
    blocks: list[Block] = [Text(said), Image(drawn_learning(view))]
    if rows:
        heads = ("Items to learn from", "Macro-F1 gained")
        columns = [Column("Decoder of"), Column("Language"), *(Column(name, is_number=True) for name in heads)]
        notes = ["Up to this number from half of it.", *rest(len(gains), "decodability")]
        blocks.append(Fold("What the last doubling gained", [without_empty("Last doubling", columns, rows, notes)]))
    return [Part("learning", "Would more items to learn from raise the scores?", 3, blocks)]
