"""Contenders: the answers of arms and of trivial baselines, set on the items and criteria that were rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from measurand.data.answers import ANSWERED, Answers
from measurand.result import Key, MeasurandError
from measurand.scoring.answered import Answered
from measurand.scoring.arms import Arm
from measurand.scoring.field import Criterion, Field
from measurand.stats.inference import FloatArray, stream

#: The readout whose answers are probabilities and whose yes or no is scored as a control.
PROBABILITY_READOUT: Final = "verification"
BINARIZED: Final = "binarized"

Baseline = Literal["all_low", "all_high", "uniform_random", "criterion_mean", "marginal", "shuffled"]
BASELINES: Final[dict[str, str]] = {
    "all_low": "the lowest level for every item",
    "all_high": "the highest level for every item",
    "uniform_random": "a number drawn anew for every item",
    "criterion_mean": "the mean rating of the criterion for every item",
    "marginal": "a rating drawn from those of the criterion, whatever the item",
    "shuffled": "the system's own answers dealt to other items",
}


@dataclass(frozen=True)
class Contender:
    """Answers to every criterion, aligned with the field.

    Parameters
    ----------
    keys : mapping
        The key columns of its rows.
    answered : sequence of Answered
        One for each criterion of the field; NaN where there is no answer, or no rating to score it against.
    not_permitted : sequence of str
        For each criterion why its answers are no values of the scale; blank where they are.
    n_asked : sequence of int
        Rated items of each criterion that the arm was asked about.
    arm : Arm or None
        The arm, None for a baseline.
    is_asked : sequence of ndarray of bool, shape (n_items,)
        For each criterion the rated items that the arm was asked about; empty for a baseline.
    """

    keys: dict[str, Key]
    answered: Sequence[Answered]
    not_permitted: Sequence[str]
    n_asked: Sequence[int]
    arm: Arm | None = None
    is_asked: Sequence[npt.NDArray[np.bool_]] = ()

    @property
    def n_answered(self) -> list[int]:
        """Rated items with an answer, for each criterion."""
        return [len(one.present) for one in self.answered]

    @property
    def coverage(self) -> float:
        """Share of what was asked and rated that has an answer; NaN if nothing was asked."""
        asked = sum(self.n_asked)
        return sum(self.n_answered) / asked if asked else np.nan


def contenders(answers: Answers, arms: Sequence[Arm], field: Field) -> list[Contender]:
    """Set the answers of arms on the field's items and criteria.

    Raises
    ------
    MeasurandError
        If answers and ratings have no item or no criterion in common.
    """
    frame = answers.frame
    place = {name: i for i, name in enumerate(field.items)}
    items = np.array([place.get(name, -1) for name in frame["item"].cat.categories])
    item = items[frame["item"].cat.codes.to_numpy()]
    if not (item >= 0).any():
        a, b = frame["item"].cat.categories[0], field.items[0]
        raise MeasurandError(f'no item has both an answer and a rating: answers have "{a}", ratings have "{b}"')
    names = field.names
    if "criterion" in frame:
        of_name = {name: i for i, name in enumerate(names)}
        if names == [""]:
            raise MeasurandError("the answers have criteria and the ratings have none; give both the same criterion")
        codes = np.array([of_name.get(name, -1) for name in frame["criterion"].cat.categories])
        if (codes < 0).all():
            raise MeasurandError(
                f'no criterion has both answers and ratings: answers have "{frame["criterion"].cat.categories[0]}", '
                f'ratings have "{names[0]}"'
            )
        criterion = codes[frame["criterion"].cat.codes.to_numpy()]
    elif names != [""] and len(names) > 1:
        raise MeasurandError(
            f"the ratings have {len(names)} criteria and the answers no column criterion; say which one each answer is"
        )
    else:
        criterion = np.zeros(len(frame), dtype=np.int64)
    values = frame["answer"].to_numpy(dtype=float)
    log_odds = frame["log_odds"].to_numpy(dtype=float) if "log_odds" in frame else None
    was_asked = (frame["status"] != "not_asked").to_numpy()
    is_answered = frame["status"].isin(ANSWERED).to_numpy()
    out = []
    for arm in arms:
        answered, reasons, asked, masks = [], [], [], []
        rows = arm.rows[item[arm.rows] >= 0]
        for position, of in enumerate(field.criteria):
            here = rows[criterion[rows] == position]
            given = np.full(field.n_items, np.nan)
            ok = here[is_answered[here]]
            given[item[ok]] = values[ok]
            unrated = of.count == 0
            given[unrated] = np.nan
            # Less the shift small probabilities would tie: what sorts answers is as the table has it.
            by = given
            if log_odds is not None and not np.isnan(log_odds[ok]).any():
                by = np.full(field.n_items, np.nan)
                by[item[ok]] = log_odds[ok]
            asked.append(int((~unrated[item[here[was_asked[here]]]]).sum()))
            masks.append(np.isin(np.arange(field.n_items), item[here[was_asked[here]]]) & ~unrated)
            reasons.append(_not_permitted(given, of, arm.readout))
            answered.append(Answered(given - of.shift, by))
        out.append(Contender(arm.keys, answered, reasons, asked, arm, masks))
    return out


def _not_permitted(values: FloatArray, of: Criterion, readout: str) -> str:
    """Return why answers cannot be taken as values of the scale, blank if they can."""
    given = values[~np.isnan(values)]
    if len(given) == 0:
        return "no answers"
    bounds = of.scale.bounds
    if bounds is None:
        return "no scale is declared (--scale)"
    if readout == PROBABILITY_READOUT and bounds != (0, 1) and ((given >= 0) & (given <= 1)).all():
        return f"probabilities are no values of the scale {of.scale.describe()}; they need calibration"
    wrong = (given < bounds[0]) | (given > bounds[1])
    if wrong.any():
        return f"answers such as {given[wrong.argmax()]:g} are outside the scale {of.scale.describe()}"
    return ""


def binarized(contender: Contender, field: Field) -> Contender | None:
    """Return the yes or no that probabilities amount to, 1 where P(yes) > 1/2; None where they are none.

    The control of the first paper: the same question and the same answers, the gradation thrown away.
    """
    arm = contender.arm
    if arm is None or arm.readout != PROBABILITY_READOUT:
        return None
    cut = []
    for one, of in zip(contender.answered, field.criteria, strict=True):
        raw = one.values + of.shift
        if ((raw < 0) | (raw > 1)).any():
            return None
        cut.append(Answered(np.where(np.isnan(raw), np.nan, (raw > 0.5).astype(float)) - of.shift))
    keys = {**contender.keys, "readout": BINARIZED}
    derived = Arm(arm.system, BINARIZED, arm.phrasing, arm.rows, arm.protocol, arm.prefill, arm.control, arm.attempt)
    return Contender(keys, cut, contender.not_permitted, contender.n_asked, derived, contender.is_asked)


def baseline(name: str, field: Field, *, seed: int, of: Contender | None = None) -> Contender:
    """Return a baseline's answers to every item that was rated (for ``shuffled``: to those that the system answered).

    Raises
    ------
    MeasurandError
        If there is no baseline of this name.
    """
    if name not in BASELINES:
        raise MeasurandError(f"baseline {name!r}; allowed are {', '.join(BASELINES)}")
    told = "" if of is None else " ".join(str(value) for value in of.keys.values())
    answered = []
    for position, one in enumerate(field.criteria):
        rng = stream(seed, "score", "baseline", name, one.name, told)
        rated = one.count > 0
        low, high = one.ends
        values = np.full(field.n_items, np.nan)
        by = None
        if name == "all_low":
            values[rated] = low
        elif name == "all_high":
            values[rated] = high
        elif name == "uniform_random":
            steps = one.scale_levels
            n = int(rated.sum())
            values[rated] = rng.uniform(low, high, n) if steps is None else rng.choice(steps, n)
        elif name == "criterion_mean" and rated.any():
            values[rated] = one.total.sum() / one.count.sum()
        elif name == "marginal":
            values[rated] = rng.choice(one.ratings[one.is_rated > 0], int(rated.sum()))
        elif of is not None:
            own = of.answered[position]
            dealt = rng.permutation(own.present)
            values[own.present] = own.values[dealt]
            if own.by is not None:
                by = np.full(field.n_items, np.nan)
                by[own.present] = own.by[dealt]
        answered.append(Answered(values, by))
    blank: dict[str, Key] = {} if of is None else of.keys
    n_asked = [len(one.present) for one in answered]
    reasons = [""] * len(answered) if of is None else list(of.not_permitted)
    return Contender({**blank, "baseline": name}, answered, reasons, n_asked)
