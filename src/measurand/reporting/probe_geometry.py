"""The geometry of vectors: anisotropy before and after centring, spread, languages, alignment, use."""

from __future__ import annotations

from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Block, Column, Image, Part, Section, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.figures_geometry import anisotropy as drawn
from measurand.reporting.figures_geometry import missing
from measurand.reporting.probe_cells import MOST, digits, number, percent, reasons, rest
from measurand.reporting.probe_view import Probe
from measurand.result import Key, show_number
from measurand.result.words import called, clean, shorten

_SHAPE: Final = {
    "mean_share": "Share of the mean vector",
    "isoscore": "IsoScore",
    "isoscore_limit": "of an isotropic cloud",
    "effective_rank": "Effective rank",
    "participation_ratio": "Participation ratio",
    "first_component_share": "First component",
    "first_ten_components_share": "First ten components",
}
_CENTRED: Final = {"no": "as they are", "yes": "centred", "per language": "centred by language"}
#: What was left out of the vectors, and its words.
_LEFT_OUT: Final = {
    "n_zero": "vectors of zeros were left out",
    "n_unknown": "vectors are of items that the outputs do not have",
    "n_missing": "items have no vector",
}

METHODS: Final = (
    "Anisotropy: the mean cosine of all pairs, exactly (Ethayarajh 2019, EMNLP). After centring it lies at -1/(n - 1) "
    "where all vectors have one length, whatever the vectors. IsoScore: Rudman et al. 2022, Findings of ACL. Effective "
    "rank: exponential of the entropy of the spectrum (Roy & Vetterli 2007, EUSIPCO). Retrieval: nearest neighbours by "
    "cosine and by CSLS (Conneau et al. 2018, ICLR).",
)
WORDS: Final = (
    ("anisotropy", "the mean cosine of two vectors: how far the cloud lies to one side of the origin"),
    ("centring", "subtracting the mean vector; by language, that of each language"),
    ("IsoScore", "how evenly the vectors fill all directions, from 0 (one direction) to 1 (all alike)"),
    ("effective rank, participation ratio", "how many directions the vectors use, by two formulas"),
    ("Fisher ratio", "the spread between the means of languages over that within languages; 0 if the means agree"),
    ("CSLS", "a likeness that takes off how near a vector is to everything; it finds counterparts past such hubs"),
    (
        "alignment",
        "that vectors of texts which say the same in two languages lie next to each other; only parallel texts show it",
    ),
)


def sections(view: Probe) -> list[Section]:
    """Return the chapter of geometry; empty where there are no vectors."""
    names = view.of("geometry", "vectors")
    if not names:
        return []
    blocks: list[Block] = [
        Text(
            "Anisotropy tells encoders apart by their mean vector, which one subtraction takes away. What remains "
            "after centring is fixed by the number of vectors, nearly, and says nothing of the encoder. That languages "
            "can be told apart is no sign that they are badly aligned, nor the other way round."
        )
    ]
    if not missing(view, "anisotropy"):
        blocks.append(Image(drawn(view)))
    blocks += [_anisotropy(view, names), _shape(view, names)]
    blocks += [*_languages(view, names), *_retrieval(view), *_use(view, names)]
    return [Section("geometry", "The geometry of vectors", blocks)]


def _anisotropy(view: Probe, names: list[Key]) -> Block:
    rows = []
    remarks = Remarks()
    for name in names[:MOST]:
        keys: dict[str, Key] = {"vectors": name}
        line = [view.named(name)]
        line += [cells.plain(view.get("geometry", one, keys)) for one in ("n_vectors", "n_dimensions")]
        line += [number(view.get("geometry", "anisotropy", keys | {"centred": one})) for one in _CENTRED]
        line.append(digits(view.get("geometry", "anisotropy_limit", keys | {"centred": "yes"}), 2))
        rows.append(line)
        for statistic, words in _LEFT_OUT.items():
            row = view.get("geometry", statistic, keys)
            if row is not None and row.estimate:
                remarks.say(f"{called(shorten(name))}: {show_number(row.estimate)} {words}.")
    heads = ("Vectors", "Dimensions", "As they are", "Centred", "Centred by language", "Set by their number alone")
    columns = [Column("Vectors of"), *(Column(one, is_number=True) for one in heads)]
    remarks.say("Intervals leave out blocks of items by turns (jackknife).")
    notes = [*remarks.all(), *rest(len(names), "geometry")]
    return without_empty("Anisotropy: mean cosine of two vectors", columns, rows, notes)


def _shape(view: Probe, names: list[Key]) -> Block:
    rows = []
    remarks = Remarks()
    for name in names[:MOST]:
        line = [view.named(name)]
        for statistic in _SHAPE:
            centred: dict[str, Key] = {"centred": "no"} if statistic == "mean_share" else {}
            row = view.get("geometry", statistic, {"vectors": name} | centred)
            if row is not None and row.undefined:
                remarks.see(row)
            line.append(digits(row) if statistic == "isoscore_limit" else number(row))
        rows.append(line)
    columns = [Column("Vectors of"), *(Column(words, is_number=True) for words in _SHAPE.values())]
    remarks.say(
        "All but the share of the mean vector are of the covariance, which centring does not change. Most grow with "
        "the number of vectors: compare encoders at the same number."
    )
    return without_empty("How the vectors fill their space", columns, rows, remarks.all())


def _languages(view: Probe, names: list[Key]) -> list[Block]:
    """Return how well languages can be told from vectors; the chance level and the Fisher ratios are of all."""
    rows = []
    for name in names[:MOST]:
        of: dict[str, Key] = {"vectors": name}
        line = [view.named(name)]
        line += [percent(view.get("geometry", "language_accuracy", of | {"centred": one})) for one in ("no", "yes")]
        line.append(percent(view.get("geometry", "language_chance", of)))
        line.append(number(view.get("geometry", "fisher_ratio_trace", of)))
        line.append(digits(view.get("geometry", "fisher_ratio_whitened", of)))
        rows.append(line)
    if all(cell.text == "–" for line in rows for cell in line[1:]):
        return []
    heads = ("Language told, %", "Centred, %", "Commonest language, %", "Fisher ratio", "Fisher ratio, whitened")
    columns = [Column("Vectors of"), *(Column(words, is_number=True) for words in heads)]
    note = (
        "Told: by a classifier, of items that it did not learn from. Whitened: in units of the spread within languages."
    )
    table = without_empty("Separability of languages", columns, rows, [note])
    return [Part("languages", "How well languages can be told apart", 3, [table])]


def _retrieval(view: Probe) -> list[Block]:
    found = view.defined("geometry", "precision_at_1")
    if not found:
        why = reasons(view.rows("geometry", "precision_at_1"))
        said: list[Block] = [Text(f"Alignment of languages is not shown here: {reason}.") for reason in why]
        return [Part("alignment", "Are languages aligned?", 3, said)] if said else []
    directions = list(dict.fromkeys(tuple(row.keys.get(key, "") for key in _DIRECTION) for row in found))
    centred = [one for one in _CENTRED if any(row.keys.get("centred", "") == one for row in found)]
    kinds = [(one, "precision_at_1") for one in centred] + [(one, "precision_at_1_csls") for one in centred]
    rows = []
    for direction in directions[:MOST]:
        of: dict[str, Key] = dict(zip(_DIRECTION, direction, strict=True))
        line = [view.named(direction[0]), name_cell(direction[1], 20), name_cell(direction[2], 20)]
        rows.append([*line, *(percent(view.get("geometry", name, of | {"centred": one})) for one, name in kinds)])
    columns = [Column("Vectors of"), Column("From"), Column("to")]
    for one, name in kinds:
        columns.append(
            Column(f"{_CENTRED[one].capitalize()}{', CSLS' if name.endswith('csls') else ''}", is_number=True)
        )
    remarks = Remarks()
    remarks.say(
        "Percent of the items whose nearest vector in the other language is that of the text which says the same."
    )
    remarks.see(found[0])
    notes = [*remarks.all(), *rest(len(directions), "geometry")]
    table = without_empty("Counterparts found among parallel texts", columns, rows, notes)
    return [Part("alignment", "Are languages aligned?", 3, [table])]


_DIRECTION: Final = ("vectors", "language", "against")


def _use(view: Probe, names: list[Key]) -> list[Block]:
    rows = []
    for name in names[:MOST]:
        line = [view.named(name)]
        line += [number(view.get("geometry", "probe_macro_f1", {"vectors": name, "centred": c})) for c in ("no", "yes")]
        rows.append(line)
    if all(cell.text == "–" for line in rows for cell in line[1:]):
        return []
    remarks = Remarks()
    remarks.say("Macro-F1 of a classifier of the labels, on items that it did not learn from.")
    for centred in ("no", "yes"):
        row = view.get("geometry", "pearson_anisotropy_macro_f1", {"centred": centred})
        if row is None:
            continue
        told = f"Pearson's r of anisotropy and macro-F1 over sets of vectors ({_CENTRED[centred]})"
        if row.undefined:
            remarks.say(f"{told}: none; {row.undefined}.")
        else:
            cell = number(row)
            remarks.say(f"{told}: {cell.text} {cell.small}; {clean(row.note)}.")
    columns = [Column("Vectors of"), Column("As they are", is_number=True), Column("Centred", is_number=True)]
    table = without_empty("What a classifier reads of the labels", columns, rows, remarks.all())
    return [Part("use", "What the vectors are good for", 3, [table])]
