"""What the outputs are: sizes and holes, lengths in every unit, what a choice of unit changes, what else is in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Cell, Column, Fold, Part, Section, Text, name_cell, name_column
from measurand.reporting.cells import Remarks, sentence, without_empty
from measurand.reporting.probe_cells import MOST, digits, folded, mean, number, percent, rest
from measurand.reporting.probe_view import Probe
from measurand.reporting.words import UNIT_OF_LENGTH, begin, joined, unit_of_length
from measurand.result import Key, Row, show_number
from measurand.result.words import called, clean, plural, shorten

_MOST_LANGUAGES: Final = 8
_SIZES: Final = {
    "n_items": "Items",
    "n_outputs": "Outputs",
    "n_missing": "Without an output",
    "n_empty": "Blank outputs",
}
#: What was left out or is not there, over all systems.
_LEFT_OUT: Final = {
    "n_repeats": ("later repeat of a cell was left out", "later repeats of a cell were left out"),
    "n_controls": ("output to controls was left out", "outputs to controls were left out"),
    "n_many_labels": (
        "output to an item with several labels was left out",
        "outputs to items with several labels were left out",
    ),
    "n_without_label": ("item has no label", "items have no label"),
    "n_without_language": ("item has no language", "items have no language"),
}
#: What else is counted of each output, as heads of columns and as what no system has.
_CONTENTS: Final = {
    "residue_per_output": ("Graphemes beside the unit, per output", ""),
    "share_with_residue": ("Outputs with any, %", "anything but the unit and white space"),
    "n_below": ("Fewer than asked", "fewer units than asked for"),
    "n_above": ("More than asked", "more than asked for"),
    "share_outside": ("Outside what was asked, %", ""),
    "n_ascii_only": ("ASCII alone", "ASCII characters alone"),
    "n_passing_without_emoji": ("Beyond ASCII without emoji", "characters beyond ASCII but no emoji"),
}

METHODS: Final = (
    "Units of text: extended grapheme clusters (Unicode Standard Annex 29) and emoji (Unicode Technical Standard 51). "
    "Sequences with joiners, skin tones, flags, keycaps and tags are one emoji; a pictograph counts if it is shown as "
    "an emoji by default or asks to be by U+FE0F.",
)
WORDS: Final = (
    ("output", "what one system produced for one item"),
    ("grapheme", "a character as readers see it, which may be several code points"),
    ("code point", "a character as Unicode numbers it, and as most programs count"),
    ("residue", "what is neither the unit that was asked for nor white space"),
)


def sections(view: Probe) -> list[Section]:
    """Return the chapter of the outputs themselves; empty where they were not described."""
    blocks = [*_sizes(view), *_lengths(view), *_contents(view)]
    return [Section("outputs", "The outputs, and what is counted in them", blocks)] if blocks else []


def _sizes(view: Probe) -> list[Block]:
    systems = view.of("outputs", "system")
    if not systems:
        return []
    remarks = Remarks()
    for name, words in _LEFT_OUT.items():
        row = view.get("outputs", name)
        if row is not None and row.estimate:
            remarks.say(f"{plural(int(row.estimate), *words)}.")
    by = {name: [view.get("outputs", name, {"system": system}) for system in systems] for name in _SIZES}
    sizes = {name: {None if row is None else row.estimate for row in rows} for name, rows in by.items()}
    if all(len(found) == 1 for found in sizes.values()) and sizes["n_missing"] | sizes["n_empty"] == {0.0}:
        each = f"Each of {plural(len(systems), 'system')} has" if len(systems) > 1 else "There is"
        items = plural(int(next(iter(sizes["n_items"])) or 0), "item")
        said = f"{each} an output to each of {items}{_languages(view)}; none is missing, none blank."
        return [Text(" ".join([said, *remarks.all()]))]
    rows = [
        [view.named(system), *(cells.plain(by[name][place]) for name in _SIZES)]
        for place, system in enumerate(systems[:MOST])
    ]
    columns = [Column("System"), *(Column(words, is_number=True) for words in _SIZES.values())]
    notes = [*remarks.all(), *rest(len(systems), "outputs", "systems")]
    table = without_empty("Sizes by system", columns, rows, notes)
    return [folded(f"Sizes of {plural(len(systems), 'system')}", table)]


def _languages(view: Probe) -> str:
    found = view.of("outputs", "language")
    if not 1 < len(found) <= _MOST_LANGUAGES:
        return ""
    sizes = [view.get("outputs", "n_items", {"language": language}) for language in found]
    told = [f"{show_number(row.estimate)} {shorten(name, 24)}" for row, name in zip(sizes, found, strict=True) if row]
    return f" ({joined(told)})"


def _lengths(view: Probe) -> list[Block]:
    units = [unit for unit in UNIT_OF_LENGTH if view.defined("units", "mean", {"unit_of_length": unit})]
    systems = view.of("units", "system")[:MOST]
    if not units or not systems:
        return []
    main = main_unit(view)
    means = {
        unit: [view.get("units", "mean", {"system": system, "unit_of_length": unit}) for system in systems]
        for unit in units
    }
    remarks = Remarks()
    shown, left = _differing(means, main)
    rows = []
    for place, system in enumerate(systems):
        of: dict[str, Key] = {"system": system, "language": "", "unit_of_length": main}
        inflation = view.rows("units", "inflation", of)
        line = [view.named(system), number(means[main][place])]
        line += [mean(means[unit][place]) for unit in shown[1:]]
        line += [percent(inflation[0] if inflation else None), cells.plain(view.get("units", "n_without", of))]
        rows.append(line)
    columns = [Column("System"), *(Column(_unit(unit), is_number=True) for unit in shown)]
    columns += [Column(f"Code points beyond {unit_of_length(main)}, %", is_number=True)]
    columns += [Column("Outputs without any", is_number=True)]
    has_more = len(shown) > 1
    remarks.say(
        f"Means per output{', all languages together' if len(view.of('units', 'language')) > 1 else ''}; the interval "
        f"of {unit_of_length(main)} is over items{', the other units have theirs in tables/units.csv' * has_more}."
    )
    for one in left:
        remarks.say(one)
    table = without_empty(
        "Mean length per output", columns, rows, [*remarks.all(), *rest(len(view.of("units", "system")), "units")]
    )
    text = [
        Text(
            "How long outputs are depends on what is counted. An emoji with a skin tone or a joiner is one character "
            "to a reader and several code points to a program; systems that use more of these seem to write more."
        )
    ]
    is_of_emoji = main in ("emoji", "emoji_or_text", "non_ascii_grapheme")
    blocks: list[Block] = [*(text if is_of_emoji else []), table, *_by_language(view, main), *_orders(view)]
    return [Part("lengths", "How long the outputs are", 3, blocks)]


def main_unit(view: Probe) -> str:
    """Return the unit that is counted first of all; blank where nothing was counted."""
    wanted = str(view.settings("units").get("unit", ""))
    if view.defined("units", "mean", {"unit_of_length": wanted}):
        return wanted
    return next((unit for unit in UNIT_OF_LENGTH if view.defined("units", "mean", {"unit_of_length": unit})), "")


def _differing(means: Mapping[str, Sequence[Row | None]], main: str) -> tuple[list[str], list[str]]:
    """Return the units whose means differ from those before them, the main one first, and what is said of others."""
    shown, none = [main], []
    same: dict[str, list[str]] = {}
    for unit, rows in means.items():
        like = next((one for one in shown if _is_same(rows, means[one])), "")
        if unit == main:
            continue
        if all(row is not None and row.estimate == 0 for row in rows):
            none.append(unit_of_length(unit))
        elif like:
            same.setdefault(like, []).append(unit_of_length(unit))
        else:
            shown.append(unit)
    left = [f"The same as {unit_of_length(like)} for every system: {joined(units)}." for like, units in same.items()]
    return shown, [*left, *([f"No output has {joined(none).replace(' and ', ' or ')}."] if none else [])]


def _is_same(rows: Sequence[Row | None], others: Sequence[Row | None]) -> bool:
    pairs = zip(rows, others, strict=True)
    return all(a is not None and b is not None and abs(a.estimate - b.estimate) < 1e-9 for a, b in pairs)


def _by_language(view: Probe, main: str) -> list[Block]:
    languages = view.of("units", "language")[:_MOST_LANGUAGES]
    if len(languages) < 2:
        return []
    rows = [
        [
            view.named(system),
            *(
                number(view.get("units", "mean", {"system": system, "language": name, "unit_of_length": main}))
                for name in languages
            ),
        ]
        for system in view.of("units", "system")[:MOST]
    ]
    columns = [Column("System"), *(name_column(called(name)) for name in languages)]
    table = without_empty(f"{_unit(main)} per output, by language", columns, rows, [])
    return [Fold("Language by language", [table])]


def _orders(view: Probe) -> list[Block]:
    found = [row for row in view.defined("units", "kendall_tau_b") if row.keys.get("against", "") != ""]
    if not found:
        return []
    rows = []
    for row in found:
        keys = {name: value for name, value in row.keys.items() if value != ""}
        changed = view.get("units", "n_reversed", keys)
        if changed is None or not changed.estimate:
            continue
        rows.append(
            [
                Cell(_unit(row.keys["unit_of_length"])),
                Cell(_unit(row.keys["against"])),
                name_cell(row.keys.get("language", ""), blank="all"),
                digits(row),
                cells.plain(view.get("units", "n_changed", keys)),
                cells.plain(changed),
                cells.plain(view.get("units", "n_reversed_beyond_chance", keys)),
                Cell(shorten(changed.note, 60), title=clean(changed.note)),
            ]
        )
    if not rows:
        return [Text("The order of the systems by length is the same whatever is counted.")]
    columns = [Column("Counted by"), Column("and by"), Column("Language")]
    heads = ("Kendall's tau-b", "Systems of another rank", "Pairs reversed", "of these beyond chance")
    columns += [*(Column(name, is_number=True) for name in heads), Column("Which")]
    notes = [
        f"{len(rows)} of {len(found)} comparisons; in the others no two systems change places. Tau-b is 1 where both "
        "orders are the same.",
        *rest(len(rows), "units"),
    ]
    table = without_empty("Orders of systems by length that depend on what is counted", columns, rows[:MOST], notes)
    return [Fold("Does the order of systems depend on what is counted?", [table])]


def _unit(name: Key) -> str:
    return begin(unit_of_length(name))


def _contents(view: Probe) -> list[Block]:
    systems = view.of("units", "system")
    found = {name: [_over_all(view, name, system, main_unit(view)) for system in systems[:MOST]] for name in _CONTENTS}
    made = {name: rows for name, rows in found.items() if any(row is not None for row in rows)}
    if not made:
        return []
    shown = [name for name, rows in made.items() if any(row is not None and row.estimate for row in rows)]
    none = [_CONTENTS[name][1] for name in made if name not in shown and _CONTENTS[name][1]]
    said = f"No output has {', none has '.join(none)}." if none else ""
    if not shown:
        return [Part("contents", "What else is in the outputs", 3, [Text(said)])] if said else []
    remarks = Remarks()
    remarks.say(said) if said else None
    if asked := next((row.note for row in found["n_above"] if row is not None and row.note), ""):
        remarks.say(sentence(clean(asked)))
    rows = []
    for place, system in enumerate(systems[:MOST]):
        line = [view.named(system)]
        for name in shown:
            row = made[name][place]
            line.append(percent(row) if name.startswith("share") else _count(name, row))
            if row is not None and row.note and name == "n_passing_without_emoji" and row.estimate:
                remarks.say(f"{called(shorten(system))}: {clean(row.note)}.")
        rows.append(line)
    columns = [Column("System"), *(Column(_CONTENTS[name][0], is_number=True) for name in shown)]
    notes = [*remarks.all(6), *rest(len(systems), "units", "systems")]
    table = without_empty("What else is in the outputs", columns, rows, notes)
    text = Text(
        "A rule that asks again if an answer has no character beyond ASCII lets pass whatever has one: words of "
        "another script, a typographic quotation mark. It is no check for emoji."
    )
    blocks: list[Block] = [text] if "n_passing_without_emoji" in shown else []
    return [Part("contents", "What else is in the outputs", 3, [*blocks, table])]


def _count(name: str, row: Row | None) -> Cell:
    return mean(row) if name.endswith("per_output") else cells.plain(row)


def _over_all(view: Probe, statistic: str, system: Key, main: str) -> Row | None:
    found = view.rows("units", statistic, {"system": system})
    over = [row for row in found if row.keys.get("language", "") == ""] or found
    return next((row for row in over if row.keys.get("unit_of_length", "") == main), over[0] if over else None)
