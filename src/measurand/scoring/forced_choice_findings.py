"""Findings about forced choice: the order, the readout, ties, chance and coverage."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from measurand.result import Finding, Key, Row, Verdict, show_number
from measurand.scoring.forced_choice_arms import Chooser
from measurand.scoring.forced_choice_contrasts import Contrast, family
from measurand.sentences import short, spread_of

ALPHA: Final = 0.05
#: Change of accuracy by the order of the options from which it is the options that are measured.
ORDER_EFFECT: Final = 0.01
#: Share of choices within the margin that calls for a warning, as for numerical noise.
MOST_NEAR: Final = 0.05
LEAST_COVERAGE: Final = 0.9
#: Share of systems whose accuracy the readout changes above which the readout decides.
MOST_CHANGED: Final = 0.5
MOST_NAMED: Final = 4

PAPER: Final = "Hallmen, Deuser, Kampa, Oswald & André 2026, arXiv 2610.08162"

#: Rows of all items of each arm, by its position and the statistic.
Rows = Mapping[tuple[int, str], Row]


def findings(
    arms: Sequence[Chooser], rows: Sequence[Row], contrasts: Sequence[Contrast], *, replicates: int
) -> list[Finding]:
    """Return what the numbers answer: `order`, `readout`, `ties`, `chance` and `coverage`, with their rules."""
    place = {tuple(arm.keys.values()): position for position, arm in enumerate(arms)}
    whole: dict[tuple[int, str], Row] = {}
    for row in rows:
        if not row.keys.get("group") and not row.keys.get("class"):
            key = tuple(row.keys[name] for name in ("system", "readout", "phrasing", "variant"))
            whole[place[key], row.statistic] = row
    return [
        order(arms, whole, contrasts, replicates),
        readout(arms, contrasts, replicates),
        ties(arms, whole),
        chance(arms, whole),
        coverage(arms, whole, contrasts),
    ]


def order(arms: Sequence[Chooser], rows: Rows, contrasts: Sequence[Contrast], replicates: int) -> Finding:
    """Say whether systems differ in accuracy within each protocol, ranked as they are.

    Pass: every two neighbours differ (Holm's p below .05 within the protocol). Warn: some pair of systems does. Fail:
    none does. Undetermined where so many pairs share so few replicates that no adjusted p could fall below .05.
    """
    name, question = "forced-choice-order", "Do the systems differ in accuracy?"
    source = f"{PAPER}, section 6; Holm 1979"
    rankings: dict[tuple[object, ...], list[Contrast]] = defaultdict(list)
    for one in contrasts:
        if one.pairing.kind == "system" and one.of == "accuracy" and one.row.p_adjusted is not None:
            rankings[(*family(one), arms[one.pairing.a].classes)].append(one)
    if not rankings:
        return Finding(name, question, "not_applicable", "No two systems can be compared.", source=source)
    if remedy := _too_few(list(rankings.values()), replicates):
        statement = "Not determined: the pairs are too many for the replicates."
        return Finding(name, question, "undetermined", statement, remedy, source=source)
    told, shown, all_neighbours, any_pair = [], [], True, False
    for found in rankings.values():
        members = {position for one in found for position in (one.pairing.a, one.pairing.b)}
        ranked = sorted(members, key=lambda position: -rows[position, "accuracy"].estimate)
        differ = {frozenset((one.pairing.a, one.pairing.b)) for one in found if _differs(one.row)}
        neighbours = [frozenset(pair) in differ for pair in itertools.pairwise(ranked)]
        all_neighbours, any_pair = all_neighbours and all(neighbours), any_pair or bool(differ)
        first = arms[ranked[0]]
        protocol = ", ".join(filter(None, (first.arm.readout, first.arm.phrasing, first.variant)))
        told.append(
            f"{f'{protocol}: ' if protocol else ''}{len(differ)} of {len(found)} pairs of systems differ, and "
            f"{sum(neighbours)} of {len(neighbours)} neighbours in the ranking"
        )
        shown += [one.row for one in found if {one.pairing.a, one.pairing.b} <= set(ranked[:2])]
    verdict: Verdict = "pass" if all_neighbours else "warn" if any_pair else "fail"
    remedy = "" if verdict == "pass" else "Report no order within what does not differ; more items would narrow it."
    return Finding(
        name,
        question,
        verdict,
        _sentence(told),
        remedy,
        rows=[row.reference() for row in shown[:MOST_NAMED]],
        source=source,
    )


def readout(arms: Sequence[Chooser], contrasts: Sequence[Contrast], replicates: int) -> Finding:
    """Say for how many systems the readout changes the accuracy.

    Pass: for none (Holm's p below .05 over the systems). Warn: for at most half of the contrasts. Fail: for more, the
    score then says how a system was read. Undetermined as in `order`.
    """
    name, question = "forced-choice-readout", "Does the accuracy depend on how the answer is read?"
    source = f"{PAPER}, section 6 and appendices J and L"
    found = [
        one
        for one in contrasts
        if one.pairing.kind == "readout" and one.of == "accuracy" and one.row.p_adjusted is not None
    ]
    if not found:
        return Finding(name, question, "not_applicable", "No system was read in two ways.", source=source)
    if remedy := _too_few([found], replicates):
        statement = "Not determined: the contrasts are too many for the replicates."
        return Finding(name, question, "undetermined", statement, remedy, source=source)
    by_sides: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for one in found:
        protocol = ", ".join(filter(None, (str(one.pairing.keys["phrasing"]), arms[one.pairing.a].variant)))
        by_sides[one.pairing.name_a, one.pairing.name_b, protocol].append(one.row)
    told = []
    for (a, b, protocol), rows in by_sides.items():
        gains = sum(_differs(row) and row.estimate < 0 for row in rows)
        losses = sum(_differs(row) and row.estimate > 0 for row in rows)
        mean = sum(-row.estimate for row in rows) / len(rows)
        told.append(
            f"from {a} to {b}{f' ({protocol})' if protocol else ''} {_number(gains, 'system gains', 'systems gain')}, "
            f"{_number(losses, 'loses', 'lose')} and {_number(len(rows) - gains - losses, 'is', 'are')} unclear, "
            f"by {short(mean)} on average"
        )
    changed = [one.row for one in found if _differs(one.row)]
    verdict: Verdict = "pass" if not changed else "warn" if len(changed) <= MOST_CHANGED * len(found) else "fail"
    remedy = (
        "" if verdict == "pass" else "Compare systems under one readout, and report each readout as its own number."
    )
    shown = sorted(changed or [one.row for one in found], key=lambda row: -abs(row.estimate))
    return Finding(
        name,
        question,
        verdict,
        _sentence(told),
        remedy,
        rows=[row.reference() for row in shown[:MOST_NAMED]],
        source=source,
    )


def ties(arms: Sequence[Chooser], rows: Rows) -> Finding:
    """Say whether ties, or gaps within the margin, decide.

    Fail: the order of the classes can move an arm's accuracy by more than .01. Warn: more than 5 % of an arm's choices
    lie within the margin. Pass otherwise.
    """
    name, question = "forced-choice-ties", "Do ties or gaps within the margin decide which class is chosen?"
    source = f"{PAPER}; argmax over tied scores takes whichever option stands first"
    scored = [i for i, arm in enumerate(arms) if arm.right and not arm.arm.control]
    if not scored:
        statement = "The answers name classes: nothing can be tied."
        return Finding(name, question, "not_applicable", statement, source=source)
    known = [i for i in scored if not rows[i, "share_within_margin"].undefined]
    if not known:
        return Finding(name, question, "undetermined", "Not determined: no item has a usable answer.", source=source)
    moved = [i for i in known if rows[i, "order_effect"].estimate > ORDER_EFFECT]
    near = [i for i in known if rows[i, "share_within_margin"].estimate > MOST_NEAR]
    verdict: Verdict = "fail" if moved else "warn" if near else "pass"
    statistic = "order_effect" if moved else "share_within_margin"
    worst = sorted(moved or near or known, key=lambda i: -rows[i, statistic].estimate)
    are_alike = len({rows[i, statistic].estimate for i in known}) == 1
    which = "for example " if are_alike else "nearest to the limit is "
    lead = "" if verdict != "pass" or len(known) == 1 else which
    told = [
        f"{lead}{arms[i].name}: {short(100 * rows[i, 'share_within_margin'].estimate)} % of the choices are ties or "
        f"lie within the margin, and the order of the classes can move the accuracy by "
        f"{short(rows[i, 'order_effect'].estimate)}"
        for i in (worst if verdict != "pass" else worst[:1])
    ]
    remedy = (
        ""
        if verdict == "pass"
        else "Share ties equally, never by order; store log-odds, and read again what lies within the margin."
    )
    where = [rows[i, name] for i in worst[:MOST_NAMED] for name in ("share_within_margin", "order_effect")]
    return Finding(
        name, question, verdict, _sentence(told), remedy, rows=[row.reference() for row in where], source=source
    )


def chance(arms: Sequence[Chooser], rows: Rows) -> Finding:
    """Say which arms are no better than chance, and whether controls are.

    Fail: an arm's interval for accuracy holds 1 over the number of classes, or lies below it. Warn: an arm's interval
    holds what always answering the most frequent class would score, or lies below it; or a control, which did not see
    the item, lies above both. Pass otherwise.
    """
    name, question = "forced-choice-chance", "Is every system better than chance?"
    source = f"{PAPER}, section 6 and appendix K"
    known = [i for i in range(len(arms)) if rows[i, "accuracy"].low is not None]
    real = [i for i in known if not arms[i].arm.control]
    if not real:
        statement = "Not determined: no arm has an interval for its accuracy."
        return Finding(name, question, "undetermined", statement, source=source)

    def is_above(position: int, *floors: str) -> bool:
        return (rows[position, "accuracy"].low or 0.0) > max(rows[position, floor].estimate for floor in floors)

    lost = [i for i in real if not is_above(i, "chance")]
    weak = [i for i in real if i not in lost and not is_above(i, "majority")]
    seeing = [i for i in known if arms[i].arm.control and is_above(i, "chance", "majority")]
    verdict: Verdict = "fail" if lost else "warn" if weak or seeing else "pass"
    lowest = min(real, key=lambda i: (rows[i, "accuracy"].low or 0.0) - rows[i, "chance"].estimate)
    told = [f"{arms[i].name}: {_accuracy(rows, i)}, chance is {short(rows[i, 'chance'].estimate)}" for i in lost]
    told += [
        f"{arms[i].name}: {_accuracy(rows, i)}, the most frequent class alone gives "
        f"{short(rows[i, 'majority'].estimate)}"
        for i in weak
    ]
    told += [f"the control {arms[i].name} is above chance without the item: {_accuracy(rows, i)}" for i in seeing]
    if verdict == "pass":
        lead = f"{_number(len(real), 'arm lies', 'arms lie')} above chance"
        told = [f"{lead}; nearest is {arms[lowest].name}: {_accuracy(rows, lowest)}"]
    remedy = {
        "pass": "",
        "warn": "Report macro-F1 and mean recall beside accuracy, and find out what a control answers by.",
        "fail": "Find out whether the item reached the system (control with a blank item) before comparing it.",
    }[verdict]
    where = [rows[i, "accuracy"] for i in [*lost, *weak, *seeing][:MOST_NAMED] or [lowest]]
    return Finding(
        name, question, verdict, _sentence(told), remedy, rows=[row.reference() for row in where], source=source
    )


def coverage(arms: Sequence[Chooser], rows: Rows, contrasts: Sequence[Contrast]) -> Finding:
    """Say whether failed replies, or items that were not asked, carry the result.

    Fail: an arm has a usable answer to less than 90 % of what it was asked, or a contrast of readouts that is clear
    (its interval excludes 0) on one denominator has the other sign on the other. Warn: some reply failed, or some item
    of a class that was offered was not asked. Pass: every item was asked and answered.
    """
    name, question = "forced-choice-coverage", "Does every item have a usable answer?"
    source = f"{PAPER}, appendix I: the contrast with coverage held fixed"
    known = [i for i in range(len(arms)) if not rows[i, "coverage"].undefined and not arms[i].arm.control]
    if not known:
        return Finding(name, question, "undetermined", "Not determined: nothing was asked.", source=source)
    turned = _turned(contrasts)
    worst = sorted(known, key=lambda i: rows[i, "coverage"].estimate)
    short_of = [i for i in worst if rows[i, "coverage"].estimate < 1]
    unasked = [i for i in known if rows[i, "n_not_asked"].estimate > 0]
    is_low = rows[worst[0], "coverage"].estimate < LEAST_COVERAGE
    verdict: Verdict = "fail" if is_low or turned else "warn" if short_of or unasked else "pass"
    told = [
        f"{arms[i].name} answers {short(100 * rows[i, 'coverage'].estimate)} % of what it was asked: accuracy "
        f"{short(rows[i, 'accuracy'].estimate)} with failures as wrong, {_or_none(rows[i, 'accuracy_answered'])} among "
        "the answered"
        for i in short_of
    ]
    told = told[:MOST_NAMED] + ([f"{len(told) - MOST_NAMED} more arms"] if len(told) > MOST_NAMED else [])
    told += [f"{_number(len(unasked), 'arm was', 'arms were')} not asked about every item"] if unasked else []
    told += [f"the contrast of {a} and {b} of {system} changes its sign on the items that both answered"
             for system, a, b in turned]  # fmt: skip
    remedy = {
        "pass": "",
        "warn": "Report both denominators, and compare on the items that both sides answered (accuracy_matched).",
        "fail": "Ask again what failed and record each attempt; compare on the items that both sides answered.",
    }[verdict]
    statement = _sentence(told, most=len(told)) if told else "Every item was asked and answered."
    where = [rows[i, statistic] for i in worst[:2] for statistic in ("coverage", "accuracy_answered")]
    return Finding(name, question, verdict, statement, remedy, rows=[row.reference() for row in where], source=source)


def _turned(contrasts: Sequence[Contrast]) -> list[tuple[Key, str, str]]:
    """Return the contrasts of readouts whose sign depends on the denominator."""
    by_pair: dict[tuple[int, int], dict[str, Row]] = defaultdict(dict)
    for one in contrasts:
        if one.pairing.kind == "readout" and not one.row.undefined:
            by_pair[one.pairing.a, one.pairing.b][one.of] = one.row
    out = []
    for rows in by_pair.values():
        sides = [rows[of] for of in ("accuracy", "accuracy_matched") if of in rows]
        if len(sides) < 2 or sides[0].estimate * sides[1].estimate >= 0:
            continue
        if any((row.low or 0.0) > 0 or (row.high or 0.0) < 0 for row in sides):
            out.append((sides[0].keys["system"], str(sides[0].keys["a"]), str(sides[0].keys["b"])))
    return out


def _too_few(families: Sequence[Sequence[Contrast]], replicates: int) -> str:
    """Say how many replicates it would take, where the largest family leaves no p below the level."""
    largest = max(len(one) for one in families)
    if largest / (replicates + 1) < ALPHA:
        return ""
    return f"Take at least {show_number(int(largest / ALPHA))} replicates."


def _differs(row: Row) -> bool:
    return row.p_adjusted is not None and row.p_adjusted < ALPHA


def _accuracy(rows: Rows, position: int) -> str:
    row = rows[position, "accuracy"]
    return f"accuracy {short(row.estimate)} ({spread_of(row)})"


def _or_none(row: Row) -> str:
    return "undefined" if row.undefined else short(row.estimate)


def _number(n: int, one: str, several: str) -> str:
    return f"{n} {one if n == 1 else several}"


def _sentence(parts: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """Join clauses to a sentence, and say how many more there are."""
    more = [f"and {len(parts) - most} more"] if len(parts) > most else []
    text = "; ".join([*parts[:most], *more])
    return (
        f"{text[:1].upper()}{text[1:]}."
        if text.startswith(("from ", "the ", "nearest ", "for example "))
        else f"{text}."
    )
