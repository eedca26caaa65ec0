"""Examples: single items with what raters and systems said, drawn or looked for by fixed rules. They prove nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.data.answers import ANSWERED, Answers
from measurand.data.ratings import Ratings
from measurand.result import Key, MeasurandError, Result, Row
from measurand.scoring.arms import Arm
from measurand.scoring.examples_said import Pair, Said, Told
from measurand.scoring.examples_shown import shown
from measurand.scoring.opponents import TargetOf
from measurand.scoring.paths import Calibration, Fit
from measurand.scoring.prepare import lay_out, on_the_scale
from measurand.stats.calibration import Ties
from measurand.stats.inference import stream

ANALYSIS: Final = "examples"
DRAWN: Final = "drawn"
WORST: Final = "worst"
CONTROL: Final = "control"
LEAST_MASS: Final = "least_mass"

#: Digits of a disagreement that count when the largest is looked for: rounding dust must not decide.
_DIGITS: Final = 12


def examples(
    answers: Answers | Any,
    ratings: Ratings | Any,
    items: pd.DataFrame,
    *,
    n: int = 6,
    calibrate: Calibration = "rank",
    fit: Fit = "held_out",
    target: TargetOf = "ratings",
    ties: Ties = "block",
    folds: int = 5,
    fold_repeats: int = 2,
    seed: int = 0,
) -> Result:
    """Return single items with the ratings of every rater and the answers of every system, and their pictures.

    Of each system and readout the first phrasing and prefill is shown. There are four kinds:

    - ``drawn``: pairs of an item and a criterion, one from each of the scale's `n` equally wide parts, by their mean
      rating, and once more from each where parts are empty; no item twice. High ratings are shown more often than they
      occur.
    - ``worst``: the `n` largest differences between a system's answer on the scale and the mean rating, relative to
      the range of the scale; no item twice, no system or readout more often than its even share if that fills them.
    - ``control``: items drawn from those of the control ``blank``, each with the criterion rated highest, and the
      answers to the item and to the blank in its place (a grey picture, or no text).
    - ``least_mass``: the answers with the least answer mass; no item twice, no system more often than its even share if
      that fills them.

    Parameters
    ----------
    answers, ratings : Answers and Ratings, paths or data frames
        As for `measurand.score`.
    items : pandas.DataFrame
        Columns `item`, and `text` or `image` (paths of files) or both; `group` where `measurand.score` had it.
    n : int
        How many examples of the first two kinds; half as many of the other kinds.
    calibrate, fit, target, ties, folds, fold_repeats, seed
        As for `measurand.score`: with the same values the answers on the scale are those that were scored.

    Returns
    -------
    Result
        Analysis `examples`: statistics ``rating`` and ``rating_mean``; ``answer`` as elicited, ``calibrated`` on the
        scale, ``difference`` of it from the mean rating, ``mass``; ``disagreement`` (the difference relative to the
        range) of the arm that an example was chosen for; ``blank_difference``, answer to the item minus answer to the
        blank. An answer that is missing is undefined with its status. The settings hold the pictures, small and
        encoded anew, and the texts, cut.

    Raises
    ------
    MeasurandError
        As for `measurand.score`; if `n` is below 1, `items` has no column `item`, or a picture can't be read.

    Examples
    --------
    >>> table = pd.DataFrame({"item": [*range(20)] * 2, "rater": ["A"] * 20 + ["B"] * 20, "rating": [0, 1, 3, 4] * 10})
    >>> answers = pd.DataFrame({"system": "S", "item": range(20), "answer": [i % 5 / 5 for i in range(20)]})
    >>> from measurand.data import Scale, read_ratings
    >>> items = pd.DataFrame({"item": range(20), "text": [f"Text {i}" for i in range(20)]})
    >>> found = examples(answers, read_ratings(table, scale=Scale(0, 4, step=1)), items, n=2)
    >>> sum(row.keys["kind"] == "drawn" for row in found if row.statistic == "rating_mean")
    2
    """
    if n < 1:
        raise MeasurandError(f"{n} examples; give at least 1, or ask for none at all")
    if "item" not in items:
        raise MeasurandError(f"items: no column 'item'; the table has {', '.join(map(repr, items.columns[:12]))}")
    named = items.assign(item=items["item"].astype(str))
    choices = on_the_scale(
        calibrate=calibrate, fit=fit, target=target, ties=ties, folds=folds, fold_repeats=fold_repeats, seed=seed
    )
    groups = named[["item", "group"]] if "group" in named else None
    said = Said(lay_out(answers, ratings, choices, items=groups), choices.paths[0])
    fewer = (n + 1) // 2
    cards = [
        *((DRAWN, pair, None) for pair in drawn(said, n, seed)),
        *((WORST, pair, arm) for pair, arm in worst(said, n)),
        *((CONTROL, pair, None) for pair in controlled(said, fewer, seed)),
        *((LEAST_MASS, pair, arm) for pair, arm in least_mass(said, fewer)),
    ]
    rows = [row for kind, pair, arm in cards for row in _rows(said, kind, pair, arm)]
    settings = {
        "n": n,
        "seed": seed,
        "path": choices.paths[0].describe().rsplit(", ", 1)[0],
        "n_pairs": len(said.pairs),
        "arms_left_out": said.n_left_out,
        "scale": {one.name: [end + one.shift for end in one.ends] for one in said.field.criteria},
        **shown(named, [said.field.items[item] for _, (item, _), _ in cards]),
    }
    return Result(rows, {ANALYSIS: settings})


def drawn(said: Said, n: int, seed: int) -> list[Pair]:
    """Return pairs drawn from the scale's `n` equally wide parts in turn, by their mean rating; no item twice."""
    rng = stream(seed, ANALYSIS, DRAWN)
    parts: list[list[Pair]] = [[] for _ in range(n)]
    for pair in said.pairs:
        parts[min(int(round(said.height(pair), _DIGITS) * n), n - 1)].append(pair)
    out: list[Pair] = []
    while len(out) < n:
        before = len(out)
        for part in parts:
            used = {item for item, _ in out}
            free = [pair for pair in part if pair[0] not in used]
            if free and len(out) < n:
                out.append(free[int(rng.integers(len(free)))])
        if len(out) == before:
            break
    return sorted(out, key=lambda pair: (round(said.height(pair), _DIGITS), pair))


def worst(said: Said, n: int) -> list[tuple[Pair, int]]:
    """Return the pairs with the largest disagreement, and the arm that disagrees."""
    found = []
    for arm in range(len(said.arms)):
        for pair in said.pairs:
            if (size := _disagreement(said, arm, pair)) == size:
                found.append((-round(size, _DIGITS), arm, pair))
    return _chosen(said, sorted(found), n, by_readout=True)


def least_mass(said: Said, n: int) -> list[tuple[Pair, int]]:
    """Return the pairs with the least answer mass, and the arm that has it."""
    known = set(said.pairs)
    found = [
        (told.mass, place, pair)
        for place, arm in enumerate(said.arms)
        for pair, told in said.told(arm).items()
        if pair in known and told.mass == told.mass and told.status in ANSWERED
    ]
    return _chosen(said, sorted(found), n, by_readout=False)


def controlled(said: Said, n: int, seed: int) -> list[Pair]:
    """Return items drawn from those that some arm saw a blank in place of, with the criterion that is rated highest."""
    known = set(said.pairs)
    blanks = [said.told(twin) for twin in said.twins if twin is not None]
    there: dict[int, list[Pair]] = {}
    for pair in sorted({pair for told in blanks for pair in told if pair in known}):
        there.setdefault(pair[0], []).append(pair)
    chosen = stream(seed, ANALYSIS, CONTROL).permutation(sorted(there))[:n]
    return [max(there[int(item)], key=lambda pair: round(said.height(pair), _DIGITS)) for item in chosen]


def _disagreement(said: Said, arm: int, pair: Pair) -> float:
    item, criterion = pair
    low, high = said.field.criteria[criterion].ends
    return abs(float(said.calibrated[arm][criterion][item]) - said.mean(pair)) / (high - low)


def _chosen(
    said: Said, found: Sequence[tuple[float, int, Pair]], n: int, *, by_readout: bool
) -> list[tuple[Pair, int]]:
    """Return `n` of a list, first ones first: no item twice, no system (and readout) more often than its even share.

    Where even shares do not fill the list, as where a readout has hardly an answer, the next ones do.
    """
    of_system, of_readout = -(-n // max(len(said.systems), 1)), -(-n // max(len(said.readouts), 1))
    out: list[tuple[float, int, Pair]] = []
    for is_even in (True, False):
        for one in found:
            if len(out) == n:
                break
            arm, taken = said.arms[one[1]], [said.arms[place] for _, place, _ in out]
            is_fair = sum(other.system == arm.system for other in taken) < of_system and (
                not by_readout or sum(other.readout == arm.readout for other in taken) < of_readout
            )
            if one[2][0] not in {pair[0] for _, _, pair in out} and (is_fair or not is_even):
                out.append(one)
    return [(pair, place) for _, place, pair in sorted(out)]


def _rows(said: Said, kind: str, pair: Pair, chosen: int | None) -> Iterator[Row]:
    """Give the numbers of one example."""
    item, criterion = pair
    keys: dict[str, Key] = {
        "kind": kind, "item": said.field.items[item], "criterion": said.field.names[criterion],
    }  # fmt: skip
    ratings = said.ratings(pair)
    for rater, value in ratings:
        yield Row(ANALYSIS, {**keys, "rater": rater}, "rating", value)
    mean = said.mean(pair)
    yield Row(ANALYSIS, keys, "rating_mean", mean, n_raters=len(ratings))
    for place, (arm, twin) in enumerate(zip(said.arms, said.twins, strict=True)):
        own = {**keys, **arm.keys}
        if kind == CONTROL:
            if twin is not None:
                yield from _blank_rows(said, keys, arm, twin, pair)
            continue
        yield from _answer_rows(said, own, arm, pair)
        told = said.told(arm).get(pair)
        level = float(said.calibrated[place][criterion][item])
        why = _missing(told) or said.why_not_on_scale(place, pair) if level != level else ""
        yield Row(ANALYSIS, own, "calibrated", level, undefined=why)
        yield Row(ANALYSIS, own, "difference", level - mean, undefined=why)
        if place == chosen and kind == WORST:
            yield Row(ANALYSIS, own, "disagreement", _disagreement(said, place, pair), note=_WORST_NOTE)
        if place == chosen and kind == LEAST_MASS and told is not None:
            yield Row(ANALYSIS, own, "least_mass", told.mass, note=_MASS_NOTE)


_WORST_NOTE: Final = "the example was chosen for it: the size of the difference relative to the scale's range"
_MASS_NOTE: Final = "the example was chosen for it"


def _blank_rows(said: Said, keys: dict[str, Key], arm: Arm, twin: Arm, pair: Pair) -> Iterator[Row]:
    """Give the answers to an item and to the blank in its place, as elicited, and their difference."""
    yield from _answer_rows(said, {**keys, **arm.keys}, arm, pair)
    yield from _answer_rows(said, {**keys, **twin.keys}, twin, pair)
    both = [said.told(one).get(pair) for one in (arm, twin)]
    values = [np.nan if one is None else one.value for one in both]
    why = _missing(both[0]) or (f"blank: {_missing(both[1])}" if _missing(both[1]) else "")
    yield Row(ANALYSIS, {**keys, **arm.keys}, "blank_difference", values[0] - values[1], undefined=why)


def _answer_rows(said: Said, keys: dict[str, Key], arm: Arm, pair: Pair) -> Iterator[Row]:
    """Give an answer as elicited and its mass."""
    told = said.told(arm).get(pair)
    value = np.nan if told is None else told.value
    yield Row(ANALYSIS, keys, "answer", value, undefined=_missing(told))
    if told is not None and told.mass == told.mass:
        yield Row(ANALYSIS, keys, "mass", told.mass)


def _missing(told: Told | None) -> str:
    """Return why there is no answer, blank if there is one."""
    if told is None:
        return "no answer: not asked"
    return "" if told.value == told.value else f"no answer: {told.status.replace('_', ' ')}"
