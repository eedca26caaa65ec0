"""Do splits share items? Shares, optimism over split ratios, orders under both, near-duplicates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Section, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures_outputs import leakage as drawn
from measurand.reporting.figures_outputs import missing
from measurand.reporting.probe_cells import (
    MOST,
    MOST_OPEN,
    folded,
    number,
    percent,
    reasons,
    rest,
    shared,
    three,
)
from measurand.reporting.probe_view import Probe
from measurand.reporting.scores_cells import difference
from measurand.result import Key, Row
from measurand.result.words import called, clean, plural, shorten

_MOST_PAIRS: Final = 10
_MOST_LANGUAGES: Final = 8
#: What is counted of near-duplicates and of outputs that name a label, as heads of columns.
_TEXTS: Final = {
    "n_near_duplicate": "Items with a near-duplicate under another id",
    "n_exact_duplicate": "of these equal but for case, punctuation, white space",
    "share_naming_label": "Outputs that name their own label, %",
    "share_naming_other_label": "Outputs that name another label, %",
}

METHODS: Final = (
    "Leakage: with V rows to an item and a share r of rows in training, 1 - (1 - r)^(V - 1) of the test rows have a "
    "row of their item in training. Optimism is the score of row-wise splits minus that of splits that keep items "
    "whole, over repeated pairs of splits, by the corrected resampled t (Nadeau & Bengio 2003, Machine Learning 52).",
)
#: How often another system is best, as heads of columns.
_CHANGES: Final = {
    "winner_changes_share": "Best differs, % of pairs",
    "winner_changes_by_chance": "the same, two grouped, %",
    "winner_changes_by_chance_row_wise": "the same, two row-wise, %",
}
WORDS: Final = (
    ("view", "one of several rows that belong to one item, such as the outputs of several systems to it"),
    ("row-wise, grouped", "a split that deals rows one by one; a split that keeps all rows of an item on one side"),
    ("optimism", "what a score gains by having seen, in training, other rows of the items it is tried on"),
)


def sections(view: Probe) -> list[Section]:
    """Return the chapter of leakage; empty where nothing was split."""
    if not view.has("leakage"):
        return []
    blocks: list[Block] = [
        Text(
            "Several outputs to one item are views of it. A split that deals rows one by one puts the same item on "
            "both sides, and a decoder may recognise the item in place of the label. The page shows how much is "
            "shared, and what a score and an order of systems gain by it."
        )
    ]
    if not missing(view, "leakage"):
        blocks.append(Image(drawn(view)))
    languages = view.of("leakage", "language") or [""]
    for place, language in enumerate(languages[:_MOST_LANGUAGES], start=1):
        parts = [*_ratios(view, language), *_systems(view, language, is_folded=len(languages) > 1)]
        if len(languages) == 1 or not parts:
            blocks += parts
        else:
            blocks.append(Part(f"leakage-{place}", called(shorten(language, 60)), 3, parts))
    if len(languages) > _MOST_LANGUAGES:
        further = len(languages) - _MOST_LANGUAGES
        more = f"{plural(further, 'more language is', 'more languages are')} in tables/leakage.csv."
        blocks.append(Text(more, small=True))
    blocks += [*_orders(view, languages), *_texts(view, languages)]
    return [Section("leakage", "Do splits share items? Leakage", blocks)]


def _ratios(view: Probe, language: Key) -> list[Block]:
    shares = sorted(view.defined("leakage", "expected_share", {"language": language}), key=_ratio)
    remarks = Remarks()
    rows = []
    for row in shares:
        of: dict[str, Key] = {"language": language, "ratio": row.keys["ratio"]}
        optimism = _first(view, "optimism", of)
        p = (None, None) if optimism is None else (optimism.p, optimism.p_adjusted)
        rows.append(
            [
                Cell(f"{100 * float(row.keys['ratio']):g} %"),
                shared(row),
                shared(_first(view, "measured_share", of)),
                number(_first(view, "macro_f1_row", of)),
                number(_first(view, "macro_f1_grouped", of)),
                difference(optimism),
                *(cells.p_value(one) for one in p),
            ]
        )
    why = _first(view, "optimism", {"language": language})
    if why is not None and why.undefined:
        remarks.see(why)
    if not rows:
        return [Text(said) for said in remarks.all()]
    heads = (
        "Shared, expected %",
        "Shared, measured %",
        "Macro-F1, row-wise",
        "Macro-F1, grouped",
        "Optimism",
        "p",
        "p (Holm)",
    )
    columns = [Column("Rows in training"), *(Column(name, is_number=True) for name in heads)]
    remarks.say("Shared: test rows whose item has a row in training, under a row-wise split.")
    if any(cell.text != "–" for line in rows for cell in line[5:6]):
        remarks.say(
            "Optimism: row-wise minus grouped. Intervals and p are those of the corrected resampled t over the "
            "repeated splits, which with few repeats are wide."
        )
    return [
        without_empty("Row-wise and grouped splits, by the share of rows in training", columns, rows, remarks.all())
    ]


def _ratio(row: Row) -> float:
    value = row.keys.get("ratio", "")
    return float(value) if value != "" else math.nan


def _first(view: Probe, statistic: str, keys: Mapping[str, Key]) -> Row | None:
    """Return the row of all systems together."""
    found = view.rows("leakage", statistic, keys)
    return next((row for row in found if row.keys.get("system", "") == ""), None)


def _usual(view: Probe, language: Key) -> Key:
    """Return the ratio next to .8 that has scores."""
    ratios = [row.keys["ratio"] for row in view.defined("leakage", "optimism", {"language": language})]
    return min(ratios, key=lambda ratio: abs(float(ratio) - 0.8)) if ratios else ""


def _systems(view: Probe, language: Key, *, is_folded: bool) -> list[Block]:
    usual = _usual(view, language)
    found = [
        row
        for row in view.rows("leakage", "optimism", {"language": language, "ratio": usual})
        if row.keys.get("system", "") != ""
    ]
    if usual == "" or not found:
        return []
    rows = []
    for row in found[:MOST]:
        of = {"language": language, "ratio": usual, "system": row.keys["system"]}
        both = [view.rows("leakage", name, of) for name in ("macro_f1_row", "macro_f1_grouped")]
        scored = [number(one[0] if one else None) for one in both]
        rows.append([view.named(row.keys["system"]), *scored, difference(row), cells.p_value(row.p_adjusted)])
    heads = ("Macro-F1, row-wise", "Macro-F1, grouped", "Optimism", "p (Holm)")
    columns = [Column("System"), *(Column(name, is_number=True) for name in heads)]
    caption = f"System by system, {100 * float(usual):g} % of the rows in training"
    table = without_empty(caption, columns, rows, rest(len(found), "leakage", "systems"))
    return [folded(f"System by system: {plural(len(found), 'system')}", table, most=0 if is_folded else MOST_OPEN)]


def _orders(view: Probe, languages: Sequence[Key]) -> list[Block]:
    """Return whether the systems stand in the same order under both kinds of split, language by language."""
    rows = []
    usual: Key = ""
    for language in languages[:MOST]:
        usual = _usual(view, language)
        of: dict[str, Key] = {"language": language, "ratio": usual}
        changes = _first(view, "winner_changes", of)
        if usual == "" or changes is None or changes.undefined:
            continue
        line = [name_cell(language, blank="all"), three(_first(view, "spearman_orders", of))]
        line.append(Cell(shorten(changes.note.removeprefix("best "), 70), title=clean(changes.note)))
        line += [percent(_first(view, name, of)) for name in _CHANGES]
        rows.append(line)
    if not rows:
        return []
    columns = [Column("Language"), Column("Spearman of both orders", is_number=True), Column("Best system")]
    columns += [Column(name, is_number=True) for name in _CHANGES.values()]
    note = (
        f"Splits with {100 * float(usual):g} % of the rows in training. In how many pairs of a row-wise and a grouped "
        "split another system is best; and in how many pairs of two grouped splits, and of two row-wise ones, which no "
        "leak explains."
    )
    table = without_empty("Order of the systems under both kinds of split", columns, rows, [note])
    return [Part("leakage-order", "Does the leak change the order of systems?", 3, [table])]


def _texts(view: Probe, languages: Sequence[Key]) -> list[Block]:
    rows = []
    for language in languages[:MOST]:
        line = [name_cell(language, blank="all")]
        for statistic in _TEXTS:
            row = _first(view, statistic, {"language": language}) or _first(view, statistic, {"language": ""})
            line.append(percent(row) if statistic.startswith("share") else cells.plain(row))
        rows.append(line)
    blocks: list[Block] = []
    if any(cell.text != "–" for line in rows for cell in line[1:]):
        columns = [Column("Language"), *(Column(words, is_number=True) for words in _TEXTS.values())]
        blocks.append(without_empty("Duplicates and labels in outputs", columns, rows, []))
    why = reasons(view.rows("leakage", "share_near_duplicate"))
    blocks += [Text(f"Near-duplicates were not looked for: {reason}.") for reason in why]
    pairs = [pair for of in view.settings("leakage").get("near_duplicates", {}).values() for pair in of]
    if pairs:
        shown = [
            [name_cell(pair[0]), name_cell(pair[1]), *(Cell(f"{part:.3g}") for part in pair[2:])]
            for pair in pairs[:_MOST_PAIRS]
        ]
        heads = [Column("Item"), Column("and item"), *(Column("Likeness", is_number=True) for _ in pairs[0][2:])]
        notes = rest(len(pairs), "leakage", "pairs", _MOST_PAIRS)
        table = without_empty("Near-duplicates", heads, shown, notes)
        blocks.append(Fold(f"{plural(len(pairs), 'pair')} of items that say nearly the same", [table]))
    title = "The same text under several ids, and labels named in outputs"
    return [Part("duplicates", title, 3, blocks)] if blocks else []
