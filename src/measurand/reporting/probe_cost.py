"""What outputs cost: tokens by every unit of the source, templates, parity of languages, systems, quality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Section, Table, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures_outputs import missing
from measurand.reporting.figures_outputs import parity as drawn
from measurand.reporting.probe_cells import MOST, digits, number, percent, rest
from measurand.reporting.probe_view import Probe
from measurand.reporting.words import begin
from measurand.result import Key, Row
from measurand.result.digits import show_p
from measurand.result.words import called, clean, shorten

_PER: Final = {"byte": "byte", "character": "code point", "grapheme": "grapheme", "word": "word", "output": "output"}
_OF_SYSTEMS: Final = (
    ("prompt_tokens", "output", "Prompt"),
    ("completion_tokens", "output", "Completion"),
    ("reasoning_tokens", "output", "Reasoning"),
    ("visible_tokens", "output", "Visible"),
    ("completion_tokens", "emitted_unit", "Completion, per {unit}"),
    ("visible_tokens", "emitted_unit", "Visible, per {unit}"),
)
#: Comparisons of languages: the statistic, whether net of the template, and whose tokens they are.
_COMPARED: Final = (
    ("prompt_tokens_parity", "no", "the whole prompt"),
    ("prompt_tokens_parity", "yes", "the prompt net of its template"),
    ("completion_tokens_parity", "no", "the completion"),
)
_WRITTEN: Final = {
    "emoji": "emoji",
    "emoji_or_text": "emoji",
    "non_ascii_grapheme": "grapheme",
    "grapheme": "grapheme",
    "word": "word",
    "character": "code point",
}
#: Measures of quality that a table has as columns.
_MOST_QUALITIES: Final = 8
_MEASURE: Final = {
    "total_tokens": "prompt and completion tokens",
    "completion_tokens": "completion tokens",
    "visible_tokens": "visible tokens",
    "emitted_units": "{unit} count of an output",
}

METHODS: Final = (
    "Cost: ratios of sums, with intervals by linearisation over items; template: the intercept of prompt tokens on the "
    "size of the source, by least squares. Parity: a language's rate over that of the base language (Petrov et al. "
    "2023, arXiv 2305.15425).",
)
WORDS: Final = (
    ("template", "the part of a prompt that is the same for every item"),
    ("net of template", "what one more unit of the source costs"),
    ("parity", "a language's tokens per unit over those of the base language; above 1 it is the dearer one"),
    ("visible tokens", "completion tokens less those of reasoning that nobody sees"),
)


def sections(view: Probe) -> list[Section]:
    """Return the chapter of cost; empty where no tokens are known."""
    blocks = [*_languages(view), *_parity(view), *_template(view), *_systems(view), *_quality(view)]
    if not blocks:
        return []
    said = Text(
        "Tokens per byte, per code point and per word answer different questions, and need not agree which language is "
        "dearer: scripts differ in bytes per code point before any tokenizer is asked. Rates over the whole prompt "
        "hold its template, too."
    )
    return [Section("cost", "What it costs: tokens", [said, *blocks])]


def _unit(view: Probe) -> str:
    """Return what a unit that was written is called."""
    return _WRITTEN.get(str(view.settings("cost").get("unit", "")), "unit written")


def _languages(view: Probe) -> list[Block]:
    languages = view.of("cost", "language") or [""]
    rows = []
    for language in languages[:MOST]:
        keys: dict[str, Key] = {"language": language, "net_of_template": "no"}
        line = [name_cell(language, blank="all")]
        line += [number(view.get("cost", "prompt_tokens", keys | {"per": per})) for per in _PER]
        line.append(number(view.get("cost", "bytes_per_character", {"language": language})))
        rows.append(line)
    if all(cell.text == "–" for line in rows for cell in line[1:]):
        return []
    columns = [Column("Language"), *(Column(f"Per {words}", is_number=True) for words in _PER.values())]
    columns.append(Column("Bytes per code point", is_number=True))
    notes = ["Intervals are over items.", *rest(len(languages), "cost", "languages")]
    return [without_empty("Prompt tokens by unit of the source, all systems", columns, rows, notes)]


def _parity(view: Probe) -> list[Block]:
    found = [row for row in view.rows("cost", "prompt_tokens_parity") if row.keys.get("system", "") == ""]
    if not found:
        return []
    base = str(found[0].keys.get("against", ""))
    blocks: list[Block] = [] if missing(view, "parity") else [Image(drawn(view))]
    rows = []
    remarks = Remarks()
    for language in list(dict.fromkeys(row.keys["language"] for row in found))[:MOST]:
        for statistic, net, words in _COMPARED:
            of: dict[str, Key] = {"language": language, "against": base, "net_of_template": net}
            line = [name_cell(language), Cell(words)]
            for per in _PER:
                row = view.get("cost", statistic, of | {"per": per})
                if row is not None and row.undefined:
                    remarks.see(row)
                line.append(number(row))
            if any(cell.text != "–" for cell in line[2:]):
                rows.append(line)
    columns = [
        Column("Language"),
        Column("Tokens of"),
        *(Column(f"Per {words}", is_number=True) for words in _PER.values()),
    ]
    remarks.say("Above 1 the language is dearer by that unit, below 1 cheaper; intervals are over items.")
    table = without_empty(f"Parity: tokens over those of {called(shorten(base))}", columns, rows, remarks.all())
    return [Part("parity", f"Which language is dearer than {shorten(called(base))}?", 3, [*blocks, table])]


def _template(view: Probe) -> list[Block]:
    found = view.defined("cost", "template_tokens", {"per": "character"})
    if not found:
        return []
    # The mean of the systems comes first and stands open; one system is all there is.
    over = [row for row in found if row.keys.get("system", "") == ""] or found
    each = [row for row in found if row not in over]
    blocks: list[Block] = [_of_template(view, over, "Template and rate")]
    if len({row.keys.get("system", "") for row in each}) > 1:
        blocks.append(Fold("System by system", [_of_template(view, each, "Template and rate of each system")]))
    return [Part("template", "How much of a prompt is its template", 3, blocks)]


def _of_template(view: Probe, found: Sequence[Row], caption: str) -> Table:
    rows = []
    for row in found[:MOST]:
        keys = {name: row.keys[name] for name in ("system", "language") if row.keys.get(name, "") != ""}
        of: dict[str, Key] = keys | {"per": "character"}
        rows.append(
            [
                view.named(row.keys.get("system", ""), blank="mean of systems"),
                name_cell(row.keys.get("language", ""), blank="all"),
                number(row),
                percent(view.get("cost", "template_share", of)),
                number(view.get("cost", "prompt_tokens", of | {"net_of_template": "yes"})),
                digits(view.get("cost", "r_squared", of)),
            ]
        )
    heads = ("Template, tokens", "of the prompt, %", "Tokens per code point, net", "R-squared of the line")
    columns = [Column("System"), Column("Language"), *(Column(name, is_number=True) for name in heads)]
    return without_empty(caption, columns, rows, rest(len(found), "cost"))


def _systems(view: Probe) -> list[Block]:
    rows = []
    remarks = Remarks()
    systems = view.of("cost", "system")
    for system in systems[:MOST]:
        line = [view.named(system)]
        for statistic, per, _ in _OF_SYSTEMS:
            of: dict[str, Key] = {"system": system, "per": per, "net_of_template": "no"}
            row = view.get("cost", statistic, of)
            if row is None:
                found = view.rows("cost", statistic, of)
                row = found[0] if len(found) == 1 else None
            if row is not None and row.undefined:
                remarks.see(row)
            line.append(number(row))
        line.append(percent(view.get("cost", "reasoning_share", {"system": system})))
        rows.append(line)
    if not rows or all(cell.text == "–" for line in rows for cell in line[1:]):
        return []
    unit = _unit(view)
    columns = [Column("System"), *(Column(words.format(unit=unit), is_number=True) for _, _, words in _OF_SYSTEMS)]
    columns.append(Column("Reasoning, % of completion", is_number=True))
    notes = [*remarks.all(), "Intervals are over items.", *rest(len(systems), "cost", "systems")]
    return [Part("cost-systems", "System by system", 3, [without_empty("Tokens per output", columns, rows, notes)])]


def _quality(view: Probe) -> list[Block]:
    """Return the correlation of each cost with each quality over systems, a column for each quality."""
    by: dict[tuple[str, str], dict[tuple[Key, Key], Row]] = {}
    for statistic in _MEASURE:
        for row in view.rows("cost", f"{statistic}_spearman"):
            quality = (row.keys.get("against", ""), row.keys.get("language", ""))
            by.setdefault((statistic, str(row.keys.get("per", ""))), {})[quality] = row
    if not by:
        return []
    qualities = list(dict.fromkeys(quality for of in by.values() for quality in of))
    remarks = Remarks()
    remarks.say("Spearman's rho over systems, with its interval for other systems.")
    unit = _unit(view)
    rows = []
    for (statistic, per), of in by.items():
        words = _MEASURE[statistic].format(unit=unit)
        where = "" if statistic == "emitted_units" else f" per {unit}" if per == "emitted_unit" else " per output"
        by_length = per == "emitted_unit"
        line = [Cell(f"{begin(words)}{where}", "divided by length" if by_length else "")]
        for quality in qualities[:_MOST_QUALITIES]:
            found = of.get(quality)
            if found is not None and not by_length:
                remarks.see(found)
            line.append(number(found))
        rows.append(line)
    # As the finding has it: what is divided by the length goes with all that goes with it.
    tested = [
        row.p_adjusted
        for (_, per), of in by.items()
        for row in of.values()
        if per != "emitted_unit" and row.p_adjusted is not None
    ]
    divided = any(per == "emitted_unit" for _, per in by)
    aside = f", costs per {unit} left out" if divided else ""
    if tested:
        remarks.say(f"The smallest p after Holm, which adjusts within each column, is {show_p(min(tested))}{aside}.")
    if divided:
        remarks.say(
            f"A cost per {unit} is divided by the length of the output: it goes with the length by construction, and "
            "with whatever goes with the length, so that it shows nothing of what dearer systems do."
        )
    columns = [Column("Cost"), *(_quality_column(*quality) for quality in qualities[:_MOST_QUALITIES])]
    remarks_ = [*remarks.all(6), *rest(len(qualities), "cost", "measures of quality", _MOST_QUALITIES)]
    return [Part("cost-quality", "Does it pay?", 3, [without_empty("Cost and quality", columns, rows, remarks_)])]


def _quality_column(against: Key, language: Key) -> Column:
    name = "macro-F1" if against == "macro_f1" else clean(against)
    whole = f"{name}, {clean(language)}" if language != "" else name
    return Column(shorten(whole, 32), is_number=True, title=whole if len(whole) > 32 else "", is_name=True)
