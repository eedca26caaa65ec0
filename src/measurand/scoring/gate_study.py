"""Everything that a gate may ask for: arms, and the ratings, labels and example beside them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from measurand.data.answers import Answers
from measurand.data.names import natural_order
from measurand.data.ratings import Ratings
from measurand.result import MeasurandError
from measurand.scoring.arms import Trained
from measurand.scoring.gate_arms import Arm, BoolArray, laid_out
from measurand.stats.inference import FloatArray, IntArray


@dataclass(frozen=True)
class Human:
    """Single ratings of the items and criteria that were answered, one entry for each rating."""

    item: IntArray
    criterion: IntArray
    rater: IntArray
    rating: FloatArray
    can_be_zero: bool


@dataclass(frozen=True)
class Study:
    """Answers and what they can be held against.

    Parameters
    ----------
    items, criteria : list of str
        What the rows and columns of the arms' arrays are.
    names : list of str
        Names of classes that labels or answers have.
    arms : list of Arm
        All arms, controls among them.
    are_labels : bool
        Whether answers are names of classes.
    truth : ndarray of int, shape (n_items,), or None
        Position of each item's label among `names`, -1 where it has none.
    n_classes : int
        Number of different labels of the items; they are the first of `names`.
    cluster : ndarray of int, shape (n_items,)
        The group of each item; its own position where there are no groups.
    unit : str
        What is redrawn: ``item`` or ``group``.
    human : Human or None
        The ratings.
    example : ndarray of bool, shape (n_criteria,), or None
        Criteria that the prompt's example named.
    noise, replicates, permutations, confidence, seed
        The settings of `gates`.
    """

    items: list[str]
    criteria: list[str]
    names: list[str]
    arms: list[Arm]
    are_labels: bool
    truth: IntArray | None
    n_classes: int
    cluster: IntArray
    unit: str
    human: Human | None
    example: BoolArray | None
    noise: float
    replicates: int
    permutations: int
    confidence: float
    seed: int

    @property
    def has_forced_choice(self) -> bool:
        """Whether a class is chosen by the highest of several graded answers: the criteria are the classes."""
        if self.truth is None or self.are_labels:
            return False
        return len(set(self.names[: self.n_classes]) & set(self.criteria)) > 1

    @property
    def has_zero(self) -> bool:
        """Whether "not at all" can be told: by an answer of 0, or by leaving a criterion out of a reply.

        What the prompt's example leaves out is left out of the replies that follow it.
        """
        if self.human is not None and not self.human.can_be_zero:
            return False
        if self.example is not None and any(
            (arm.is_answered.any(axis=1, keepdims=True) & ~arm.is_asked).any() for arm in self.arms
        ):
            return True
        for arm in self.arms:
            left_out = ~arm.is_answered if self.example is not None else arm.is_asked & ~arm.is_answered
            if (arm.answer == 0).any() or (left_out & arm.is_answered.any(axis=1, keepdims=True)).any():
                return True
        return False

    def base_of(self, arm: Arm) -> Arm | None:
        """Return the arm of the base of a trained control under the same protocol, None where there is none."""
        if arm.trained is None or not arm.trained.base:
            return None
        there = (one for one in self.arms if one.of.system == arm.trained.base)
        return next((one for one in there if one.of.differs_from(arm.of) == ["system"]), None)

    def controls_of(self, arm: Arm) -> list[Arm]:
        """Return the arms that differ from this one in being a control alone."""
        return [one for one in self.arms if one.control and one.of.differs_from(arm.of) == ["control"]]


def study(
    answers: Answers,
    ratings: Ratings | None,
    items: pd.DataFrame | None,
    example: Sequence[str],
    *,
    noise: float,
    replicates: int,
    permutations: int,
    confidence: float,
    seed: int,
    controls: Mapping[str, Trained] | None = None,
) -> Study:
    """Return what the gates look at.

    Raises
    ------
    MeasurandError
        If ratings or labels do not concern these answers, or the example names a criterion, or the controls a system,
        that there is not.
    """
    trained = _trained(controls, answers)
    frame = answers.frame
    names = list(frame["item"].cat.categories)
    labels = _labels(items, names)
    classes = natural_order(sorted({label for label in labels if label})) if labels is not None else []
    given = set(frame.loc[answers.is_answered, "answer"]) if answers.are_labels else set()
    classes_and_more = [*classes, *natural_order(sorted(given - set(classes)))]
    position = {name: i for i, name in enumerate(classes)}
    cluster, unit = _clusters(items, names)
    return Study(
        names,
        answers.criteria,
        classes_and_more,
        laid_out(answers, classes_and_more, trained),
        answers.are_labels,
        None if labels is None else np.array([position.get(label, -1) for label in labels], dtype=np.int64),
        len(classes),
        cluster,
        unit,
        None if ratings is None else _human(ratings, names, answers.criteria),
        _example(example, answers.criteria),
        noise,
        replicates,
        permutations,
        confidence,
        seed,
    )


def _trained(controls: Mapping[str, Trained] | None, answers: Answers) -> dict[str, Trained]:
    for name in controls or {}:
        if name not in answers.systems:
            close = difflib.get_close_matches(name, answers.systems, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"they have {', '.join(map(repr, answers.systems[:12]))}"
            raise MeasurandError(f"the controls name the system {name!r}, which the answers do not have; {hint}")
    return {name: Trained(*one) for name, one in (controls or {}).items()}


def _labels(items: pd.DataFrame | None, names: list[str]) -> list[str] | None:
    if items is None or "label" not in items:
        return None
    of = dict(zip(items["item"], items["label"], strict=True))
    labels = [str(of.get(name, "")) for name in names]
    if not any(labels):
        raise MeasurandError(
            f"the items table has none of the {len(names)} items that were answered (such as "
            f'"{names[0]}"; it has "{items["item"].iloc[0]}"): give the items table of these answers'
        )
    return labels


def _clusters(items: pd.DataFrame | None, names: list[str]) -> tuple[IntArray, str]:
    if items is None or "group" not in items:
        return np.arange(len(names), dtype=np.int64), "item"
    of = dict(zip(items["item"], items["group"], strict=True))
    groups = np.array([f"group {of[name]}" if name in of else f"item {name}" for name in names], dtype=object)
    return pd.factorize(groups)[0].astype(np.int64), "group"


def _human(ratings: Ratings, items: list[str], criteria: list[str]) -> Human:
    frame = ratings.frame
    if "system" in frame:
        raise MeasurandError(
            "the ratings have a column 'system': they grade outputs of systems; gates need ratings of the items"
        )
    item = pd.Index(items).get_indexer(pd.Index(frame["item"].astype(str)))
    if len(criteria) == 1 and len(ratings.criteria) == 1:
        criterion = np.zeros(len(frame), dtype=np.int64)
        of = {0: ratings.criteria[0]}
    else:
        criterion = np.full(len(frame), -1, dtype=np.int64)
        if "criterion" in frame:
            criterion[:] = pd.Index(criteria).get_indexer(pd.Index(frame["criterion"].astype(str)))
        of = {i: name for i, name in enumerate(criteria) if name in ratings.criteria}
    for what, found, there in (("item", item, items), ("criterion", criterion, criteria)):
        if (found < 0).all():
            theirs = f' (such as "{frame[what].iloc[0]}")' if what in frame else ", which have no such column,"
            raise MeasurandError(
                f'no {what} of the ratings{theirs} was answered; the answers have "{there[0]}": give ratings of the '
                "same items and criteria"
            )
    numeric = [place for place, name in of.items() if ratings.scale(name).level != "nominal"]
    keep = (item >= 0) & np.isin(criterion, numeric)
    bounds = [ratings.scale(of[place]).bounds for place in numeric]
    return Human(
        item[keep].astype(np.int64),
        criterion[keep],
        frame["rater"].cat.codes.to_numpy()[keep].astype(np.int64),
        frame["rating"].to_numpy()[keep],
        not bounds or any(one is None or one[0] <= 0 for one in bounds),
    )


def _example(example: Sequence[str], criteria: list[str]) -> BoolArray | None:
    if isinstance(example, str):
        raise MeasurandError(f"example={example!r}; give a sequence of criteria")
    if not example:
        return None
    for name in example:
        if name not in criteria:
            close = difflib.get_close_matches(name, criteria, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"they have {', '.join(map(repr, criteria[:12]))}"
            raise MeasurandError(f"the example names the criterion {name!r}, which the answers do not have; {hint}")
    return np.isin(np.array(criteria, dtype=object), list(example))
