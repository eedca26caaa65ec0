"""Forced choice against labels: arms, classes, contrasts and groups as tables; the verdict in words."""

from __future__ import annotations

from typing import Final

from measurand.keys import KEYS
from measurand.reporting import cells, figures_forced_choice
from measurand.reporting.blocks import Block, Cell, Column, Fold, Image, Part, Section, Table, Terms, Text, name_column
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.forced_choice_view import Choices
from measurand.reporting.scores_cells import arm_cell, difference, redrawn
from measurand.reporting.scores_contrasts import PROTOCOL
from measurand.reporting.scores_view import Arm, arm_of, is_told_apart, side
from measurand.reporting.words import begin, joined
from measurand.result import Key, Row, show_number
from measurand.result.digits import show_estimate
from measurand.result.words import clean, plural, shorten

OF: Final = {"accuracy": "accuracy", "macro_f1": "macro-F1", "accuracy_matched": "accuracy on items that both answered"}
_MOST_OPEN: Final = 15
_MOST_NAMED: Final = 6
_KINDS: Final = ("readout", "phrasing", "prefill", "attempt", "control", "protocol", "system")


def headline(view: Choices) -> str:
    """Return what was asked, in one line."""
    n_items, n_units = view.settings.get("n_items"), view.settings.get("n_units")
    systems = len({arm[0] for arm in view.arms})
    parts = [plural(systems, "system")]
    parts += [plural(int(n_items), "item")] if n_items else []
    said = " × ".join(parts) + f"; {plural(len(view.classes), 'class', 'classes')}"
    if view.unit == "group" and n_units:
        said += f"; {plural(int(n_units), 'group')} of items"
    return said


def lead(view: Choices) -> list[str]:
    """Return the verdict in up to three sentences: accuracy and chance, order, readout."""
    known = [arm for arm in view.arms if (row := view.get(arm, "accuracy")) is not None and not row.undefined]
    if not known:
        return []
    first, last = known[0], known[-1]
    above = [arm for arm in known if _above_chance(view, arm)]
    chance = " or ".join(f"{value:.3g}" for value in view.chances)
    ends = [show_estimate(row) for arm in (first, last) if (row := view.get(arm, "accuracy")) is not None]
    said = [
        f"Accuracy goes from {ends[-1]} ({_called(last)}) to {ends[0]} ({_called(first)}), where chance is {chance}; "
        f"{len(above)} of {plural(len(known), 'arm')} {'lies' if len(above) == 1 else 'lie'} above it by the interval."
        if len(known) > 1
        else f"Accuracy is {ends[0]}, where chance is {chance}."
    ]
    pairs = _contrasts(view, "system", "accuracy")
    if pairs:
        n = sum(is_told_apart(row) for row in pairs)
        said.append(
            f"Of {plural(len(pairs), 'pair')} of systems under one protocol {n} "
            f"{'differs' if n == 1 else 'differ'} in accuracy (paired, after Holm, {redrawn(view.unit)})."
        )
    readouts = _contrasts(view, "readout", "accuracy")
    if readouts:
        up, down = (sum(side(row) == where for row in readouts) for where in ("above", "below"))
        first_row = readouts[0]
        sides = {(row.keys["a"], row.keys["b"]) for row in readouts}
        if len(sides) == 1:
            said.append(
                f"Read by {clean(first_row.keys['a'])} instead of {clean(first_row.keys['b'])}, {up} of "
                f"{plural(len(readouts), 'system')} {'is' if up == 1 else 'are'} more accurate and {down} less."
            )
        else:
            said.append(f"The readout changes the accuracy in {up + down} of {plural(len(readouts), 'contrast')}.")
    return said


def _called(arm: Arm) -> str:
    return shorten(", ".join(part for part in arm if part), 48)


def _above_chance(view: Choices, arm: Arm) -> bool:
    accuracy, chance = view.get(arm, "accuracy"), view.get(arm, "chance")
    return accuracy is not None and chance is not None and accuracy.low is not None and accuracy.low > chance.estimate


def sections(view: Choices) -> list[Section]:
    """Return the chapters of a forced choice, between its findings and what is undefined."""
    return [
        Section("arms", "How often the choice is right", _arms(view)),
        Section("classes", "Class by class", _classes(view)),
        Section("contrasts", "What differs: paired contrasts", _contrast_parts(view)),
        Section("groups", f"By {clean(view.settings.get('by') or 'group')}", _groups(view)),
    ]


def _arms(view: Choices) -> list[Block]:
    blocks: list[Block] = [
        Text(
            "The class with the highest number is the choice, or the class that the answer names. An item without a "
            "usable answer counts as wrong in the accuracy and stands apart in “among the answered”. Macro-F1 and mean "
            f"recall give every class the same weight. Intervals: {redrawn(view.unit)}; {_ties(view)}."
        ),
        _table(view, view.arms, "Accuracy of every arm"),
    ]
    if view.controls:
        said = "A control did not see the item: what it scores above chance it has from somewhere else."
        blocks.append(Fold("Controls", [Text(said), _table(view, view.controls, "Accuracy of controls")]))
    if not figures_forced_choice.missing(view):
        blocks.append(Image(figures_forced_choice.accuracy(view)))
    return blocks


def _ties(view: Choices) -> str:
    rule = {
        "split": "equal highest numbers share the choice",
        "undecided": "equal highest numbers are no choice, and wrong",
        "first": "of equal highest numbers the class that stands first is the choice",
    }.get(str(view.settings.get("ties", "")), "ties as set")
    margin = float(view.settings.get("margin") or 0)
    return f"{rule}, as are numbers within {show_number(margin)}" if margin else rule


_COLUMNS: Final = {
    "accuracy": "Accuracy",
    "accuracy_answered": "Among the answered",
    "macro_f1": "Macro-F1",
    "uar": "Mean recall",
    "recall_head": "Recall, frequent classes",
    "recall_tail": "Recall, rare classes",
}


def _table(view: Choices, arms: list[Arm], caption: str, group: str = "") -> Table:
    remarks = Remarks()
    noted: dict[str, list[str]] = {}
    rows = []
    for arm in arms:
        accuracy = view.get(arm, "accuracy", group)
        if accuracy is not None:
            for part in (accuracy.undefined or accuracy.note).split("; "):
                noted.setdefault(clean(part), []).append(_called(arm))
        shown = [cells.estimate(view.get(arm, name, group)) for name in _COLUMNS]
        chance, majority = (view.get(arm, name, group) for name in ("chance", "majority"))
        shown += [cells.plain(chance), cells.plain(majority)]
        shown += [_percent(view.get(arm, name, group)) for name in ("coverage", "share_within_margin")]
        shown.append(cells.plain(view.get(arm, "order_effect", group)))
        rows.append([arm_cell(arm, with_protocol=True), *shown])
    columns = [Column("System"), *(Column(words, is_number=True) for words in _COLUMNS.values())]
    columns += [
        Column(words, is_number=True)
        for words in ("Chance", "Most frequent class", "Answered, %", "Tied, %", "Effect of their order")
    ]
    for note, names in noted.items():
        if note:
            of = "" if len(names) == len(arms) else f"{'; '.join(names[:_MOST_NAMED])}: "
            remarks.say(f"{of}{note if of else begin(note)}.")
    return without_empty(caption, columns, rows, remarks.all(6))


def _percent(row: Row | None) -> Cell:
    if row is None or row.undefined:
        return cells.estimate(row)
    # What is not quite all is never shown as such.
    return Cell(f"{100 * row.estimate:.3g}" if row.estimate == 1 or row.estimate < 0.999 else "99.9")


def _classes(view: Choices) -> list[Block]:
    if not view.classes:
        return []
    rows = []
    for arm in [*view.arms, *view.controls]:
        shown = [cells.estimate(view.get(arm, "recall", of=name)) for name in view.classes]
        rows.append([arm_cell(arm, with_protocol=True), *shown])
    columns = [Column("System"), *(name_column(name) for name in view.classes)]
    said = "Recall: of the items of a class, the share that was given this class."
    table = Table("Recall of every class", columns, rows)
    is_long = len(rows) > _MOST_OPEN or len(view.classes) > 10
    return [Text(said), Fold(f"{len(rows)} arms, {len(view.classes)} classes", [table]) if is_long else table]


def _contrasts(view: Choices, kind: str, of: str) -> list[Row]:
    return [
        row
        for row in view.result.rows
        if row.analysis == "contrasts"
        and row.statistic == "difference"
        and row.keys["contrast"] == kind
        and row.keys["of"] == of
        and not row.keys.get("calibration", "")
    ]


def _contrast_parts(view: Choices) -> list[Block]:
    parts: list[Block] = []
    for kind in _KINDS:
        name, question = PROTOCOL.get(
            kind, ("Systems", "Every two systems under one protocol, on the same items: which of them differ?")
        )
        found = [row for of in OF for row in _contrasts(view, kind, of)]
        if not found:
            continue
        blocks: list[Block] = [Text(question)]
        table = _contrast_table(found, f"{name}: differences")
        blocks.append(Fold(f"{table.caption} ({len(table.rows)})", [table]) if len(table.rows) > _MOST_OPEN else table)
        parts.append(Part(f"contrast-{kind}", name, 3, blocks))
    return parts


def _contrast_table(found: list[Row], caption: str) -> Table:
    """Return one row for each pair, with the statistics beside each other."""
    by: dict[tuple[Key, ...], dict[str, Row]] = {}
    for row in found:
        pair = tuple(row.keys.get(key, "") for key in KEYS["contrasts"] if key != "of")
        by.setdefault(pair, {})[str(row.keys["of"])] = row
    remarks = Remarks()
    rows = []
    for of_pair in by.values():
        first = next(iter(of_pair.values()))
        shown: list[Cell] = []
        for of in OF:
            one = of_pair.get(of)
            if one is not None and one.undefined:
                remarks.see(one)
            shown += [difference(one), cells.p_value(None if one is None else one.p_adjusted)]
        head = arm_cell(arm_of(first), with_protocol=True)
        rows.append(
            [
                head if first.keys["contrast"] != "system" else Cell(head.small or "all"),
                Cell(shorten(first.keys["a"], 40), is_name=True),
                Cell(shorten(first.keys["b"], 40), is_name=True),
                *shown,
            ]
        )
    is_of_systems = found[0].keys["contrast"] == "system"
    columns = [Column("Protocol" if is_of_systems else "System"), Column("This"), Column("minus this")]
    for words in OF.values():
        columns += [Column(begin(words), is_number=True), Column("p (Holm)", is_number=True)]
    return without_empty(caption, columns, rows, remarks.all(4))


def _groups(view: Choices) -> list[Block]:
    return [
        Fold(shorten(group, 60), [_table(view, [*view.arms, *view.controls], f"Accuracy, {shorten(group, 60)}", group)])
        for group in view.groups
    ]


def protocol(view: Choices) -> list[Block]:
    """Return the disclosure block of a forced choice."""
    settings = view.settings
    arms = [*view.arms, *view.controls]

    def listed(position: int) -> str:
        names = [shorten(name, 40) for name in dict.fromkeys(arm[position] for arm in arms) if name]
        return joined(names[:12] + ([f"{len(names) - 12} more"] if len(names) > 12 else [])) or "not given"

    pairs = [
        ("Wording of the question", listed(2)),
        ("How answers were read", listed(1)),
        ("Variants", listed(3)),
        ("Systems", listed(0)),
        ("Decoding, parser, provider and date of each system; whether the item reached it", "not given"),
        ("Classes", joined([shorten(name, 40) for name in view.classes[:30]])),
        ("Ties", _ties(view)),
        ("Redrawn", redrawn(view.unit)),
    ]
    for name, key in (
        ("Items", "n_items"),
        ("Units redrawn", "n_units"),
        ("Replicates", "replicates"),
        ("Seed", "seed"),
    ):
        if key in settings:
            pairs.append((name, show_number(settings[key])))
    left = settings.get("n_answers_without_truth")
    if left is not None:
        pairs.append(("Answers without a label", show_number(left)))
    said = "What the tables do not say is “not given”: state it where the accuracies are published."
    return [Text(said), Terms([(name, clean(value)) for name, value in pairs])]


WORDS: Final = (
    ("class", "one of the labels among which a choice is made"),
    ("accuracy", "the share of asked items whose choice is the label"),
    ("macro-F1, mean recall", "accuracies in which every class weighs the same, however many items it has"),
    ("chance", "one over the number of classes offered"),
    ("group", "items that belong together, such as the photographs of one person, and are redrawn together"),
    ("arm", "one system under one protocol: a readout, a phrasing, a prefill, an attempt"),
    ("interval", "the range that the data are compatible with, at the level stated; each says what was redrawn"),
    ("p", "how often chance alone would give as large a difference; Holm accounts for making many tests"),
)
METHODS: Final = (
    "Intervals and differences: percentile bootstrap over items, or over groups of items, on draws that all arms "
    "share; two-sided p; Holm (1979, Scandinavian Journal of Statistics 6) within one kind of contrast.",
    "A person with several photographs is one unit: Ebner, Riediger & Lindenberger 2010, Behavior Research Methods 42; "
    "clustered errors: Miller 2024, arXiv 2411.00640.",
    "Forced choice from several probabilities of yes, and the readouts: Hallmen, Deuser, Kampa, Oswald & André 2026, "
    "arXiv 2610.08162, section 6 and appendices.",
)
