"""The rows of an elicitation: coverage, attempts, tests of the engine, tokens, time, money, acquiescence, repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from measurand.eliciting.arms import Arm, ArmName, Arms
from measurand.eliciting.declared import Design, Verification
from measurand.eliciting.run import Asked, Elicited
from measurand.result import Key, Row
from measurand.stats.acquiescence import shares
from measurand.stats.inference import FloatArray, percentile_interval, stream

_SHARES: Final = ("share_item", "share_question", "share_rest")
_BOOTSTRAP: Final = "percentile bootstrap"
_DESCRIBES: Final = "describes the requests of this run; no inference"
#: Numbers of items and questions below which there is no variation to divide.
_FEWEST: Final = 2


def rows(elicited: Elicited, arms: Arms, *, replicates: int, confidence: float) -> list[Row]:
    """Return the numbers of an elicitation.

    Parameters
    ----------
    elicited : Elicited
        The study after a run.
    arms : Arms
        What was counted while its tables were written.
    replicates : int
        Bootstrap replicates of the intervals, items redrawn.
    confidence : float
        Level of the intervals.
    """
    out: list[Row] = []
    for name, arm in arms.of.items():
        out += _of_arm(name, arm)
    for name, arm in arms.of.items():
        out += _attempts(name, arm)
    for asked in elicited.asked:
        out += _proofs(asked)
    seed = elicited.design.seed
    for name, arm in arms.of.items():
        if arm.log_odds and name.readout in _verified(elicited.design):
            out += _acquiescence(name, arm, replicates=replicates, confidence=confidence, seed=seed)
    out += _yes_excess(elicited.design, arms, replicates=replicates, confidence=confidence)
    for name, arm in arms.of.items():
        out += _repeats(name, arm)
    return out


def _verified(design: Design) -> dict[str, Verification]:
    return {readout.name: readout for readout in design.readouts if isinstance(readout, Verification)}


def _of_arm(name: ArmName, arm: Arm) -> Iterator[Row]:
    def row(statistic: str, value: float, note: str = "") -> Row:
        return Row("elicitation", name.keys, statistic, float(value), note=note)

    yield row("n_requests", arm.n_requests)
    yield row("n_answered", arm.n_answered)
    for status, n in sorted(arm.status.items()):
        yield row(f"n_{status}", n)
    if arm.is_asked:
        never = [criterion for criterion, is_asked in arm.is_asked.items() if not is_asked]
        yield row("n_criteria_never_asked", len(never), ", ".join(never))
    if arm.mass:
        mass = np.array(arm.mass)
        for statistic, value in (
            ("mass_median", np.median(mass)),
            ("mass_p01", np.quantile(mass, 0.01)),
            ("mass_min", mass.min()),
            ("share_top_is_answer", arm.top_in / len(mass)),
        ):
            yield row(statistic, value, _DESCRIBES)
        outside = ", ".join(f"{text!r} {total / len(mass):.2g}" for text, total in arm.outside.most_common(5))
        yield row("n_readings", len(mass), f"likeliest tokens outside the answers, mean probability: {outside}")
    if arm.width:
        width = np.array([one for one in arm.width if not math.isnan(one)] or [math.nan])
        if np.any(width > 0):
            yield row("width_median", np.median(width), _DESCRIBES)
            yield row("width_max", width.max(), _DESCRIBES)
    for spent in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "seconds", "cost"):
        if spent in arm.spent:
            unknown = arm.unknown[spent]
            yield row(spent, arm.spent[spent], f"the engine did not say for {unknown} requests" if unknown else "")


def _attempts(name: ArmName, arm: Arm) -> Iterator[Row]:
    if max(arm.asked, default=1) == 1 and not arm.problems:
        return
    accepted = 0
    first = arm.asked[1]
    for attempt in sorted(arm.asked):
        accepted += arm.accepted[attempt]
        keys: dict[str, Key] = {**name.keys, "attempt": str(attempt)}
        yield Row("attempts", keys, "n_asked", float(arm.asked[attempt]))
        yield Row("attempts", keys, "n_accepted", float(arm.accepted[attempt]))
        yield Row("attempts", keys, "share_accepted", accepted / first, note=f"up to this attempt; {_DESCRIBES}")


def _proofs(asked: Asked) -> Iterator[Row]:
    for proof in asked.proofs:
        keys: dict[str, Key] = {"system": asked.system.name, "check": proof.check}
        yield Row("proofs", keys, "passed", float(proof.passed), note=proof.statement)
        if proof.value is not None:
            limit = "no limit" if proof.limit is None else f"limit {proof.limit:g}"
            note = f"largest difference of log-odds over the prompts tried; {limit}"
            yield Row("proofs", keys, "difference", proof.value, note=note)


def _acquiescence(name: ArmName, arm: Arm, *, replicates: int, confidence: float, seed: int) -> Iterator[Row]:
    table = arm.table()
    n_items, n_questions = table.shape
    if n_items < _FEWEST or n_questions < _FEWEST:
        reason = f"{n_items} items with all of {n_questions} questions answered; it takes at least 2 of each"
        for statistic in _SHARES:
            yield Row("acquiescence", name.keys, statistic, math.nan, undefined=reason)
        return
    rng = stream(seed, "acquiescence", *map(str, name.keys.values()))
    weight = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=replicates).astype(float)
    found, draws = shares(table)[0], shares(table, weight)
    for place, statistic in enumerate(_SHARES):
        if math.isnan(found[place]):
            yield Row("acquiescence", name.keys, statistic, math.nan, undefined="all log-odds are the same")
            continue
        yield _with_interval(
            "acquiescence", name.keys, statistic, float(found[place]), draws[:, place], confidence, n_items
        )


def _with_interval(
    analysis: str, keys: dict[str, Key], statistic: str, value: float, draws: FloatArray, confidence: float, n: int
) -> Row:
    interval = percentile_interval(draws, confidence=confidence)
    return Row(
        analysis,
        keys,
        statistic,
        value,
        low=interval.low,
        high=interval.high,
        confidence=confidence,
        method=_BOOTSTRAP,
        unit="item",
        n_items=n,
        note="" if n >= 10 else f"{n} items are few for a percentile interval",
    )


def _yes_excess(design: Design, arms: Arms, *, replicates: int, confidence: float) -> Iterator[Row]:
    """Give how far yes to a statement and yes to its opposite add up to more than 1, for each negated wording."""
    for readout in _verified(design).values():
        negated = [one.name for one in readout.phrasings if one.negated]
        plain = [one.name for one in readout.phrasings if not one.negated]
        for name, arm in arms.of.items():
            if name.readout != readout.name or name.phrasing not in negated:
                continue
            others = [arms.of.get(ArmName(name.system, name.readout, one, name.prefill, name.control)) for one in plain]
            by_item: dict[str, list[float]] = {}
            for (repeat, item, criterion), there in arm.answers.items():
                found = [other.answers.get((repeat, item, criterion)) for other in others if other is not None]
                known = [value for value in found if value is not None]
                if known:
                    # Both are P(there); the yes of the negated wording is its complement.
                    by_item.setdefault(item, []).append(float(np.mean(known)) + (1 - there) - 1)
            means = np.array([np.mean(values) for values in by_item.values()])
            if len(means) < _FEWEST:
                why = f"{len(means)} items answered under a wording and its opposite; it takes at least 2"
                yield Row("acquiescence", name.keys, "yes_excess", math.nan, undefined=why)
                continue
            rng = stream(design.seed, "yes_excess", *map(str, name.keys.values()))
            weight = rng.multinomial(len(means), np.full(len(means), 1 / len(means)), size=replicates)
            draws = weight @ means / len(means)
            yield _with_interval(
                "acquiescence", name.keys, "yes_excess", float(means.mean()), draws, confidence, len(means)
            )


def _repeats(name: ArmName, arm: Arm) -> Iterator[Row]:
    """Give how far answers to the very same request differ."""
    values = arm.log_odds or arm.answers
    if not any(repeat for repeat, _, _ in arm.answers):
        return
    differences = [
        abs(value - values[0, item, criterion])
        for (repeat, item, criterion), value in values.items()
        if repeat and (0, item, criterion) in values
    ]
    if not differences:
        return
    unit = "log-odds" if arm.log_odds else "units of the answer"
    note = f"{len(differences)} answers to the very same request, in {unit}; {_DESCRIBES}"
    yield Row("repeats", name.keys, "largest_difference", float(max(differences)), note=note)
    yield Row("repeats", name.keys, "mean_difference", float(np.mean(differences)), note=note)
    yield Row("repeats", name.keys, "share_changed", float(np.mean(np.array(differences) > 0)), note=note)
