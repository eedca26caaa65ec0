"""The rows of an elicitation: coverage, attempts, tests of the engine, tokens, time, money, acquiescence, repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from measurand.eliciting.arms import Arm, ArmName, Arms
from measurand.eliciting.declared import Choice, Design, Verification
from measurand.eliciting.requests import ROTATED
from measurand.eliciting.run import Asked, Elicited
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats.acquiescence import share_intervals, shares
from measurand.stats.inference import FloatArray, percentile_interval, stream

_SHARES: Final = ("share_item", "share_question", "share_rest")
_BOOTSTRAP: Final = "percentile bootstrap"
_JACKKNIFE: Final = "jackknife of the log-odds of the share, t"
_DESCRIBES: Final = "describes the requests of this run; no inference"
#: Items below which an interval of shares rests on a shape that nobody knows; measured in benchmarks/coverage.
_MANY: Final = 200
_SKEWED: Final = (
    f"with fewer than {_MANY} items the interval holds the share in 90 to 97 of 100 samples where items are spread "
    "normally, in 79 to 93 where they are skewed"
)
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
    for name, arm in arms.of.items():
        if name.readout in _verified(elicited.design):
            out += _acquiescence(name, arm, confidence=confidence)
    out += _yes_excess(elicited.design, arms, replicates=replicates, confidence=confidence)
    out += _first_place(elicited.design, arms, replicates=replicates, confidence=confidence)
    for name, arm in arms.of.items():
        out += _repeats(name, arm)
    return out


def _verified(design: Design) -> dict[str, Verification]:
    return {readout.name: readout for readout in design.readouts if isinstance(readout, Verification)}


def _of_arm(name: ArmName, arm: Arm) -> Iterator[Row]:
    def row(statistic: str, value: float, note: str = "") -> Row:
        return Row("elicitation", name.keys, statistic, float(value), note=note)

    # What is derived was never requested.
    if arm.n_requests:
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
            is_least = statistic.startswith("mass") and any(one > 0 for one in arm.width)
            yield row(statistic, value, f"at least, of what was shown; {_DESCRIBES}" if is_least else _DESCRIBES)
        outside = ", ".join(f"{text!r} {total / len(mass):.2g}" for text, total in arm.outside.most_common(5))
        yield row("n_readings", len(mass), f"likeliest tokens outside the answers, mean probability: {outside}")
    if arm.width:
        width = np.array([one for one in arm.width if not math.isnan(one)] or [math.nan])
        if np.any(width > 0):
            yield row("width_median", np.median(width), _DESCRIBES)
            yield row("width_max", width.max(), _DESCRIBES)
    if arm.shared:
        note = (
            "answers to requests that are the very same as earlier ones, whose tokens, time and cost count there alone"
        )
        yield row("shared_answers", arm.shared, note)
    for spent in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens", "seconds", "cost"):
        unknown = arm.unknown[spent]
        if spent == "cost" and unknown:
            reason = f"the engine did not say how many tokens {unknown} requests took"
            yield Row("elicitation", name.keys, spent, math.nan, undefined=reason)
        elif spent in arm.spent:
            yield row(spent, arm.spent[spent], f"the engine did not say for {unknown} requests" if unknown else "")


def _attempts(name: ArmName, arm: Arm) -> Iterator[Row]:
    # A reading is taken once, and nothing accepts or refuses it.
    if arm.mass or (max(arm.asked, default=1) == 1 and not arm.problems):
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
    for proof in asked.proven.proofs:
        keys: dict[str, Key] = {"system": asked.system.name, "check": proof.check}
        yield Row("proofs", keys, "passed", float(proof.passed), note=proof.statement)
        if proof.value is not None:
            limit = "no limit" if proof.limit is None else f"limit {proof.limit:g}"
            note = f"largest difference of log-odds over the prompts tried; {limit}"
            yield Row("proofs", keys, "difference", proof.value, note=note)


def _acquiescence(name: ArmName, arm: Arm, *, confidence: float) -> Iterator[Row]:
    table = arm.table()
    n_items, n_questions = table.shape
    if n_items < _FEWEST or n_questions < _FEWEST:
        n_asked = len(arm.is_asked)
        reason = f"{n_items} items with all of {n_asked} questions answered; it takes at least 2 of each"
        for statistic in _SHARES:
            yield Row("acquiescence", name.keys, statistic, math.nan, undefined=reason)
        return
    found, intervals = shares(table)[0], share_intervals(table, confidence=confidence)
    notes = [_left_out(arm, n_items, n_questions), _bounded(arm)]
    few = _SKEWED if n_items < _MANY else ""
    for statistic, value, interval in zip(_SHARES, found.tolist(), intervals, strict=True):
        if math.isnan(value):
            yield Row("acquiescence", name.keys, statistic, math.nan, undefined="all log-odds are the same")
        elif math.isnan(interval.low):
            why = "no interval: too few items, or nothing varies but one of the three"
            yield Row("acquiescence", name.keys, statistic, value, n_items=n_items, note=joined(*notes, why))
        else:
            yield Row(
                "acquiescence",
                name.keys,
                statistic,
                value,
                low=interval.low,
                high=interval.high,
                confidence=confidence,
                method=_JACKKNIFE,
                unit="item",
                n_items=n_items,
                note=joined(*notes, few),
            )
    if not math.isnan(found[0]):
        # Means of Q answers that have nothing in common vary, too: by a (Q - 1)th of what is neither's.
        by_chance = float(found[2]) / (n_questions - 1)
        note = (
            f"share_item of {n_questions} questions whose log-odds vary from item to item independently of each other"
        )
        yield Row("acquiescence", name.keys, "share_item_if_independent", by_chance, n_items=n_items, note=note)


def _left_out(arm: Arm, n_items: int, n_questions: int) -> str:
    n, silent = len(arm.items) - n_items, len(arm.is_asked) - n_questions
    return joined(
        f"{n} items without log-odds for every question are left out" if n else "",
        f"{silent} questions without any log-odds are left out" if silent else "",
    )


def _bounded(arm: Arm) -> str:
    """Say how many answers are middles of what is known, from which nothing but bounds follows."""
    return f"{arm.middles} of {len(arm.log_odds)} log-odds are of middles of bounds" if arm.middles else ""


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
            yield _mean_over_items(name, "yes_excess", by_item, design, replicates=replicates, confidence=confidence)


def _mean_over_items(
    name: ArmName,
    statistic: str,
    by_item: Mapping[str, Sequence[float]],
    design: Design,
    *,
    replicates: int,
    confidence: float,
) -> Row:
    """Return the mean over items of each item's mean, with its interval, items redrawn."""
    means = np.array([np.mean(values) for values in by_item.values()])
    if len(means) < _FEWEST:
        why = f"{len(means)} items answered both ways; it takes at least 2"
        return Row("acquiescence", name.keys, statistic, math.nan, undefined=why)
    rng = stream(design.seed, statistic, *map(str, name.keys.values()))
    weight = rng.multinomial(len(means), np.full(len(means), 1 / len(means)), size=replicates)
    draws = weight @ means / len(means)
    return _with_interval("acquiescence", name.keys, statistic, float(means.mean()), draws, confidence, len(means))


def _first_place(design: Design, arms: Arms, *, replicates: int, confidence: float) -> Iterator[Row]:
    """Give how much larger an option's share is where it is listed first than where it is not."""
    for readout in design.readouts:
        if not isinstance(readout, Choice) or readout.rotations < _FEWEST:
            continue
        options = list(readout.options)
        for phrasing in readout.phrasings:
            turned = [phrasing.name + ROTATED.format(turn) * (turn > 0) for turn in range(readout.rotations)]
            for name in [one for one in arms.of if one.readout == readout.name and one.phrasing == turned[0]]:
                orders = [arms.of.get(replace(name, phrasing=one), Arm()).answers for one in turned]
                yield _mean_over_items(
                    name,
                    "first_place_excess",
                    _firsts(orders, options),
                    design,
                    replicates=replicates,
                    confidence=confidence,
                )


def _firsts(orders: Sequence[Mapping[tuple[int, str, str], float]], options: Sequence[str]) -> dict[str, list[float]]:
    """Return by item each option's share in the order that lists it first, less its mean share in the others."""
    found: dict[str, list[float]] = {}
    for turn, here in enumerate(orders):
        for (repeat, item, option), first in here.items():
            elsewhere = [
                one[repeat, item, option] for one in orders if one is not here and (repeat, item, option) in one
            ]
            if option == options[turn] and elsewhere:
                found.setdefault(item, []).append(first - float(np.mean(elsewhere)))
    return found


def _answered_once(arm: Arm) -> int:
    """Count repeats that were answered where the first time was not, or the other way round."""
    by_repeat = [{(item, criterion) for k, item, criterion in arm.answers if k == n} for n in range(arm.n_repeats)]
    return sum(len(by_repeat[0] ^ other) for other in by_repeat[1:])


def _repeats(name: ArmName, arm: Arm) -> Iterator[Row]:
    """Give how far answers to the very same request differ; of texts, how many are other texts."""
    texts = [text != arm.texts[0, item] for (k, item), text in arm.texts.items() if k and (0, item) in arm.texts]
    if texts:
        note = f"{len(texts)} texts in reply to the very same request; {_DESCRIBES}"
        yield Row("repeats", name.keys, "share_changed", float(np.mean(texts)), note=note)
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
    once = _answered_once(arm)
    note = joined(
        f"{len(differences)} answers to the very same request, in {unit}",
        f"{once} more had an answer one time and none the other, and are in no number" if once else "",
        _DESCRIBES,
    )
    yield Row("repeats", name.keys, "largest_difference", float(max(differences)), note=note)
    yield Row("repeats", name.keys, "mean_difference", float(np.mean(differences)), note=note)
    yield Row("repeats", name.keys, "share_changed", float(np.mean(np.array(differences) > 0)), note=note)
