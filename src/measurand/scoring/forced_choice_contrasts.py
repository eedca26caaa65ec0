"""Which arms differ in what they choose? Systems, readouts, phrasings, attempts: paired on shared draws."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np

from measurand.result import Key, Row
from measurand.scoring.arms import Arm
from measurand.scoring.forced_choice_arms import Chooser, worth
from measurand.scoring.forced_choice_cells import FIXED
from measurand.stats.inference import FloatArray, IntArray, holm, percentile_interval, without_dust
from measurand.stats.ranking import ratio
from measurand.stats.replicates import bootstrap_p

#: Statistics that are compared, and their columns among an arm's.
_OF: Final = {of: FIXED.index(of) for of in ("accuracy", "macro_f1")}
#: What an arm is called on the side that lacks what the other side has.
_PLAIN: Final = "plain"


class Pairing(NamedTuple):
    """Two arms that differ in one thing: what that is, what each side is called, and the keys that both share."""

    kind: str
    a: int
    b: int
    name_a: str
    name_b: str
    keys: dict[str, Key]


@dataclass(frozen=True)
class Contrast:
    """A difference of two arms and the statistic that it is of."""

    pairing: Pairing
    of: str
    row: Row


def pairings(arms: Sequence[Chooser]) -> list[Pairing]:
    """Return all pairs of arms that differ in one thing and were offered the same classes.

    Controls are compared with their own arm alone: how systems differ on blank items answers no question. Readouts
    that share no phrasing, since each asks in its own words, are compared across phrasings, which stand in the names.
    """
    found: list[Pairing] = []
    for i, j in itertools.combinations(range(len(arms)), 2):
        a, b = arms[i].arm, arms[j].arm
        told = a.differs_from(b)
        if arms[i].classes != arms[j].classes:
            continue
        if told == ["readout", "phrasing"] and not _shared_phrasings(arms, a, b):
            names = [" ".join(filter(None, (one.readout, one.phrasing))) or _PLAIN for one in (a, b)]
        elif len(told) == 1:
            names = [getattr(one, told[0]) or ("first" if told[0] == "attempt" else _PLAIN) for one in (a, b)]
        else:
            continue
        if (a.control or b.control) and (told != ["control"] or (a.control and b.control)):
            continue
        found.append(Pairing(told[0], i, j, names[0], names[1], _shared(arms[i], arms[j], told)))
    return found


def _shared(a: Chooser, b: Chooser, told: Sequence[str]) -> dict[str, Key]:
    """Return the keys that two arms share; the variant keeps whatever part of it they have in common."""
    blank: dict[str, Any] = dict.fromkeys(told, "")
    sides = [replace(one, arm=replace(one.arm, **blank)).keys for one in (a, b)]
    return {key: value if value == sides[1][key] else "" for key, value in sides[0].items()}


def _shared_phrasings(arms: Sequence[Chooser], a: Arm, b: Arm) -> set[str]:
    """Return the phrasings that two readouts of one system have in common, all else being equal."""
    asked: dict[str, set[str]] = {a.readout: set(), b.readout: set()}
    for one in arms:
        if one.arm.readout in asked and set(one.arm.differs_from(a)) <= {"readout", "phrasing"}:
            asked[one.arm.readout].add(one.arm.phrasing)
    return asked[a.readout] & asked[b.readout]


def matched_accuracy(arms: Sequence[Chooser], pairs: Sequence[Pairing], weights: FloatArray) -> FloatArray:
    """Return the accuracies of both sides of every pair over the items that both answered.

    Returns
    -------
    ndarray, shape (n_rows, 2 * n_pairs)
        All first sides, then all second ones; NaN where no such item was drawn.
    """
    if not pairs:
        return np.zeros((len(weights), 0))
    right = {i: _right(arms[i]) for pair in pairs for i in (pair.a, pair.b)}
    both = np.column_stack([arms[pair.a].is_answered & arms[pair.b].is_answered for pair in pairs]).astype(float)
    n = weights @ both
    sides = []
    for side in ("a", "b"):
        of_side = np.column_stack([right[getattr(pair, side)] for pair in pairs])
        sides.append(ratio(weights @ (both * of_side), n))
    return np.concatenate(sides, axis=1)


def _right(arm: Chooser) -> FloatArray:
    return np.where(arm.is_answered, worth(arm.membership, arm.label), 0.0)


def contrasts(
    arms: Sequence[Chooser],
    pairs: Sequence[Pairing],
    estimates: FloatArray,
    draws: FloatArray,
    *,
    where: IntArray,
    matched: int,
    unit: str,
    n_units: int,
    confidence: float,
) -> list[Contrast]:
    """Return the differences a minus b of every pair, with interval and test from the shared draws.

    Parameters
    ----------
    arms, pairs
        See `pairings`.
    estimates, draws : ndarray, shapes (n_columns,) and (n_replicates, n_columns)
        Statistics of the sample and of the replicates.
    where : ndarray of int, shape (n_arms,)
        Column at which each arm's statistics begin.
    matched : int
        Column at which those of `matched_accuracy` begin.
    unit : str
        What was redrawn.
    n_units : int
        How many of them there are.
    confidence : float
        Level of the intervals.

    Returns
    -------
    list of Contrast
        Differences of `accuracy` and `macro_f1` in [-1, 1], and, where the two did not answer the same items,
        `accuracy_matched` on those that both answered. p = (1 + #{|d* - d| ≥ |d|}) / (replicates + 1), two-sided;
        Holm's adjustment within one kind of contrast and one statistic, for systems also within one protocol, in
        which they are ranked.
    """
    found: list[Contrast] = []
    for number, pair in enumerate(pairs):
        a, b = arms[pair.a], arms[pair.b]
        columns = {of: (where[pair.a] + at, where[pair.b] + at) for of, at in _OF.items()}
        differ = bool((a.is_answered != b.is_answered).any())
        if differ:
            columns["accuracy_matched"] = (matched + number, matched + len(pairs) + number)
        both = a.is_asked & b.is_asked
        for of, (at_a, at_b) in columns.items():
            n = int((a.is_answered & b.is_answered).sum()) if of == "accuracy_matched" else int(both.sum())
            note = "on the items that both answered" if of == "accuracy_matched" else ""
            if of != "accuracy_matched" and (a.is_asked != b.is_asked).any():
                note = "the two were not asked the same items: see accuracy_matched"
            elif of != "accuracy_matched" and differ:
                note = "an item without a usable answer is wrong: see also accuracy_matched"
            keys: dict[str, Key] = {"contrast": pair.kind, "of": of, "a": pair.name_a, "b": pair.name_b, **pair.keys}
            difference = np.append(estimates[at_a] - estimates[at_b], draws[:, at_a] - draws[:, at_b])
            row = _row(keys, without_dust(difference, largest=1.0), n, note, unit, n_units, confidence)
            found.append(Contrast(pair, of, row))
    return _adjusted(found)


def _row(
    keys: dict[str, Key], values: FloatArray, n: int, note: str, unit: str, n_units: int, confidence: float
) -> Row:
    """Make the row of one difference; the first value is the estimate, the others are its replicates."""
    d, drawn = float(values[0]), values[1:]
    more: dict[str, Any] = {"n_items": n, "unit": unit, "note": note}
    if np.isnan(d):
        reason = "no item was answered by both" if keys["of"] == "accuracy_matched" else "one side was asked nothing"
        return Row("contrasts", keys, "difference", d, undefined=reason, **more)
    if n_units < 2:
        more["note"] = "; ".join(filter(None, (note, f"no interval, no test: there is one {unit}")))
        return Row("contrasts", keys, "difference", d, **more)
    low, high, missing = percentile_interval(drawn, confidence=confidence)
    if missing == 1:
        more["note"] = "; ".join(filter(None, (note, "no interval, no test: no replicate drew such an item")))
        return Row("contrasts", keys, "difference", d, **more)
    if missing > 0:
        told = f"{100 * missing:.2g} % of the replicates drew no such item and are left out"
        more["note"] = "; ".join(filter(None, (note, told)))
    more |= {"low": low, "high": high, "confidence": confidence, "method": "paired percentile bootstrap"}
    test = bootstrap_p(d, drawn)
    return Row("contrasts", keys, "difference", d, p=test.p, attainable_p=test.attainable_p, **more)


def family(contrast: Contrast) -> tuple[Key, ...]:
    """Return what tests a contrast's p is adjusted with."""
    shared = contrast.pairing.keys
    protocol = (shared["readout"], shared["phrasing"], shared["variant"]) if contrast.pairing.kind == "system" else ()
    return contrast.pairing.kind, contrast.of, *protocol


def _adjusted(found: list[Contrast]) -> list[Contrast]:
    families: dict[tuple[Key, ...], list[int]] = defaultdict(list)
    for position, one in enumerate(found):
        families[family(one)].append(position)
    out = list(found)
    for members in families.values():
        p = [found[position].row.p for position in members]
        for position, value in zip(members, holm(np.array([np.nan if one is None else one for one in p])), strict=True):
            if not np.isnan(value):
                out[position] = replace(found[position], row=replace(found[position].row, p_adjusted=float(value)))
    return out
