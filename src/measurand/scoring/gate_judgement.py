"""What every gate gives: rows, a judgement of each arm, and one finding for all arms together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from measurand.result import Finding, Key, Row, Verdict
from measurand.scoring.gate_arms import Arm
from measurand.scoring.gate_study import Study

#: From what must be seen first to what need not be seen.
ORDER: Final[tuple[Verdict, ...]] = ("fail", "warn", "undetermined", "pass", "not_applicable")
MOST_NAMED: Final = 4
_GIVE: Final = "Add what is missing, and ask this gate again."

#: Why most numbers of the gates have no interval.
DESCRIBES: Final = "describes these answers: no interval"

PAPER: Final = "Hallmen, Deuser, Kampa, Oswald & André 2026, arXiv 2610.08162"


@dataclass(frozen=True)
class Judgement:
    """The answer of one gate for one arm: verdict, the numbers in words (a clause), how bad it is, where they are."""

    arm: Arm
    verdict: Verdict
    text: str
    weight: float = 0.0
    statistics: Sequence[str] = ()


@dataclass(frozen=True)
class Judged:
    """What a gate found: its rows and a judgement of each arm."""

    rows: list[Row] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)

    def add(self, rows: Sequence[Row], judgement: Judgement) -> None:
        """Take in one arm."""
        self.rows.extend(rows)
        self.judgements.append(judgement)


@dataclass(frozen=True)
class Gate:
    """One question about answers, with the function that answers it."""

    id: str
    question: str
    remedy: str
    source: str
    judge: Callable[[Study], Judged]


def described(
    gate: str,
    arm: Arm,
    statistic: str,
    value: float,
    *,
    criterion: str = "",
    n_items: int | None = None,
    undefined: str = "",
    note: str = "",
) -> Row:
    """Return a row that describes the answers of an arm; NaN needs a reason."""
    keys = {"gate": gate, **arm.keys, "criterion": criterion}
    if math.isnan(value):
        return Row("gates", keys, statistic, math.nan, n_items=n_items, undefined=undefined, note=note)
    full = f"{DESCRIBES}; {note}" if note else DESCRIBES
    return Row("gates", keys, statistic, value, n_items=n_items, note=full)


def passed(gate: Gate, judged: Judged) -> list[Row]:
    """Return for each arm whether it passes: 1 (also with a warning, which the note tells), 0, or why neither."""
    rows = []
    for one in judged.judgements:
        keys = {"gate": gate.id, **one.arm.keys}
        if one.verdict in ("undetermined", "not_applicable"):
            reason = f"{one.verdict.replace('_', ' ')}: {one.text}"
            rows.append(Row("gates", keys, "passed", math.nan, undefined=reason))
            continue
        note = f"{one.verdict}: {one.text}" if one.verdict != "pass" else one.text
        rows.append(Row("gates", keys, "passed", float(one.verdict != "fail"), note=note))
    return rows


def summed_up(gate: Gate, judged: Judged, *, of_controls: bool = False) -> Finding:
    """Return the finding of a gate: the worst verdict over the arms that are scored, or over the controls."""
    judgements = [one for one in judged.judgements if bool(one.arm.control) == of_controls]
    if not judgements:
        what = "control arms" if of_controls else "arms to be scored"
        return Finding(
            gate.id, gate.question, "not_applicable", f"There are no {what} in this table.", source=gate.source
        )
    verdict = min((one.verdict for one in judgements), key=ORDER.index)
    worst = sorted((one for one in judgements if one.verdict == verdict), key=lambda one: -one.weight)
    applicable = [one for one in judgements if one.verdict != "not_applicable"]
    statement = _statement(verdict, worst, len(applicable), judgements)
    # What to do about answers that fail is no advice where the gate lacks something, which its statement names.
    remedy = {"fail": gate.remedy, "warn": gate.remedy, "undetermined": _GIVE}.get(verdict, "")
    where: list[dict[str, Key]] = []
    for one in worst[:MOST_NAMED]:
        keys = {key: value for key, value in one.arm.keys.items() if value != ""}
        names = ("passed", *one.statistics)
        where += [{"analysis": "gates", "gate": gate.id, **keys, "statistic": name} for name in names]
    return Finding(gate.id, gate.question, verdict, statement, remedy, rows=where, source=gate.source)


def _statement(verdict: Verdict, worst: list[Judgement], n: int, judgements: list[Judgement]) -> str:
    if verdict == "not_applicable":
        reasons = list(dict.fromkeys(one.text for one in worst))
        return f"Does not apply: {'; '.join(reasons[:MOST_NAMED])}."
    shown = "; ".join(f"{one.arm.name}: {one.text}" for one in worst[:MOST_NAMED])
    more = f"; and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
    if n == 1:
        lead = {"undetermined": "Not determined: "}.get(verdict, "")
        return f"{lead}{shown}."
    if verdict == "pass":
        if len({one.text for one in worst}) == 1:
            return f"All {n} arms pass, each alike: {worst[0].text}."
        # Of arms that are all as far from the limit none is the nearest.
        which = "for example" if len({one.weight for one in worst}) == 1 else "nearest to the limit is"
        return f"All {n} arms pass; {which} {worst[0].arm.name}: {worst[0].text}."
    if verdict == "undetermined" and len({one.text for one in worst}) == 1:
        return f"Not determined for {len(worst)} of {n} arms: {worst[0].text}."
    what = {"fail": "fail", "warn": "warn", "undetermined": "cannot be judged"}[verdict]
    what += "s" if len(worst) == 1 and verdict != "undetermined" else ""
    others = [
        f"{count} more {word}"
        for other, word in (("warn", "with a warning"), ("undetermined", "not determined"))
        if other != verdict and (count := sum(one.verdict == other for one in judgements))
    ]
    beside = f" Beside them {', '.join(others)}." if others else ""
    return f"{len(worst)} of {n} arms {what}: {shown}{more}.{beside}"


def graver(*verdicts: Verdict) -> Verdict:
    """Return the worst of several verdicts."""
    return min(verdicts, key=ORDER.index)
