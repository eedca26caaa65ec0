"""Which class did each system choose? Answers tables and the items' labels, as one choice for each item and arm."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.answers import ANSWERED, Answers
from measurand.data.ratings import ids
from measurand.result import Key, MeasurandError
from measurand.scoring.arms import Arm, split_arms
from measurand.stats.classes import Ties, choose
from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """What is true of the items, in natural order of their names, so that the order of a table never matters.

    Parameters
    ----------
    items, classes : list of str
        Names of the items and of the classes that occur among their labels.
    label, cluster : ndarray of int, shape (n_items,)
        The item's class, and the unit that is redrawn with it.
    unit : str
        ``"item"`` or ``"group"``.
    levels, level : list of str, ndarray of int
        What results are broken down by; empty and all 0 where nothing is.
    """

    items: list[str]
    classes: list[str]
    label: IntArray
    cluster: IntArray
    unit: str
    levels: list[str]
    level: IntArray


@dataclass(frozen=True)
class Chooser:
    """One arm and what it chose.

    Parameters
    ----------
    arm : Arm
        The system and its protocol.
    classes : tuple of int
        The classes that were offered, as positions in `Truth.classes`.
    n_classes : int
        How many classes the truth has.
    label : ndarray of int, shape (n_items,)
        Position of the item's label among `classes`; -1 where it was not offered.
    is_asked, is_answered : ndarray of bool, shape (n_items,)
        Items that are part of the arm, and those of them with a usable answer.
    membership : ndarray, shape (n_items, n_offered)
        Shares of the choice, see `measurand.stats.classes.choose`; zeros where there is none.
    right : mapping of str to ndarray, shape (n_items,)
        What each item's choice is worth under rule ``split``, and under ``first`` and ``last``, by which the order of
        the classes settles ties. Empty for labels.
    is_tied, is_near : ndarray of bool, shape (n_items,)
        Items whose highest scores are equal, and those whose highest are within the margin.
    """

    arm: Arm
    classes: tuple[int, ...]
    n_classes: int
    label: IntArray
    is_asked: BoolArray
    is_answered: BoolArray
    membership: FloatArray
    right: Mapping[str, FloatArray]
    is_tied: BoolArray
    is_near: BoolArray

    @property
    def variant(self) -> str:
        """The arm's variant, with the classes that it was offered where those are not all."""
        offered = "" if len(self.classes) == self.n_classes else f"classes={len(self.classes)} of {self.n_classes}"
        return ", ".join(filter(None, (self.arm.variant, offered)))

    @property
    def keys(self) -> dict[str, Key]:
        """The key columns of its rows."""
        return {**self.arm.keys, "variant": self.variant}

    @property
    def name(self) -> str:
        """What sentences call it."""
        told = ", ".join(filter(None, (self.arm.readout, self.arm.phrasing, self.variant)))
        return f"{self.arm.system} ({told})" if told else self.arm.system


def read_truth(items: pd.DataFrame, tables: Sequence[Answers], *, over: str | None, by: str) -> Truth:
    """Return the truth that an items table holds.

    Raises
    ------
    MeasurandError
        If it has no label, fewer than two classes, or not the columns that `over` and `by` need.
    """
    if "label" not in items:
        raise MeasurandError(f"items: no column 'label' with the true class of each item; {_guess(items, tables)}")
    if over not in (None, "item", "group"):
        raise MeasurandError(f"over {over!r}; what is redrawn is item or group")
    if over == "group" and "group" not in items:
        raise MeasurandError(
            f"items: no column 'group' to redraw; the table has {_listing(items)}. Call it group, or redraw items "
            "(--over item)"
        )
    if by and by not in items:
        raise MeasurandError(f"items: no column {by!r} to break results down by; the table has {_listing(items)}")
    names = ids(items["item"], "item", 1)
    order = np.argsort(names.cat.codes.to_numpy(), kind="stable")
    table = items.iloc[order]
    labels = ids(table["label"], "label", 1)
    classes = list(labels.cat.categories)
    if len(classes) < 2:
        raise MeasurandError(f"items: every label is {classes[0]!r}; a choice needs two classes")
    unit = over or ("group" if "group" in items else "item")
    cluster = ids(table["group"], "group", 1).cat.codes.to_numpy() if unit == "group" else np.arange(len(table))
    levels, level = _levels(table, by) if by else ([], np.zeros(len(table), dtype=np.int64))
    return Truth(
        [str(name) for name in names.iloc[order]],
        classes,
        labels.cat.codes.to_numpy().astype(np.int64),
        np.asarray(cluster, dtype=np.int64),
        unit,
        levels,
        level,
    )


def _levels(table: pd.DataFrame, by: str) -> tuple[list[str], IntArray]:
    text = table[by].astype(object)
    blank = (text.isna() | (text.astype(str).str.strip() == "")).to_numpy()
    if blank.any():
        item = table["item"].iloc[int(blank.argmax())]
        raise MeasurandError(f'items: column {by!r} is blank for item "{item}"; give every item a value')
    values = ids(table[by], by, 1)
    return list(values.cat.categories), values.cat.codes.to_numpy().astype(np.int64)


def _listing(table: pd.DataFrame) -> str:
    return ", ".join(repr(str(name)) for name in table.columns[:12])


def _guess(items: pd.DataFrame, tables: Sequence[Answers]) -> str:
    """Name the column of the items table that looks most like classes: the one that shares most with the answers."""
    named = {str(name) for table in tables for name in _class_names(table)}
    best, most = "", 0.0
    for column in items.columns:
        values = {str(value).strip() for value in items[column].dropna().unique()} if column != "item" else set()
        shared = len(values & named) / len(values | named) if values else 0.0
        if shared > most:
            best, most = str(column), shared
    if best:
        return f"{best!r} holds what the answers name: --label {best}"
    return f"the table has {_listing(items)}. Name the right one (--label COLUMN)"


def _class_names(table: Answers) -> Sequence[Any]:
    if not table.are_labels:
        return table.criteria
    return list(table.frame.loc[table.is_answered, "answer"].unique())


def choosers(tables: Sequence[Answers], truth: Truth, *, ties: Ties, margin: float) -> tuple[list[Chooser], int]:
    """Return every arm with what it chose, and how many answers concern items without a truth.

    Raises
    ------
    MeasurandError
        If no answer concerns an item of the truth, an answer or criterion is no class, two tables hold the same arm,
        or one asks for a single class.
    """
    found: list[Chooser] = []
    n_foreign, seen = 0, 0
    place = {name: position for position, name in enumerate(truth.items)}
    for table in tables:
        _refuse_shape(table)
        names = table.frame["item"].cat
        positions = np.array([place.get(str(name), -1) for name in names.categories], dtype=np.int64)
        item = positions[names.codes.to_numpy()]
        seen += len(item)
        n_foreign += int((item < 0).sum())
        for arm in split_arms(table):
            known = arm.rows[item[arm.rows] >= 0]
            rows, at = table.frame.iloc[known], item[known]
            found.append(
                _from_labels(arm, rows, at, truth)
                if table.are_labels
                else _from_scores(arm, rows, at, truth, ties=ties, margin=margin)
            )
    if n_foreign == seen:
        theirs = [str(name) for table in tables[:1] for name in table.frame["item"].cat.categories[:3]]
        raise MeasurandError(
            f"no answer concerns an item of the items table: answers name {', '.join(map(repr, theirs)) or 'nothing'}, "
            f"the table {', '.join(map(repr, truth.items[:3]))}. Give both tables the same ids"
        )
    keys = [tuple(map(str, one.keys.values())) for one in found]
    if again := [key for position, key in enumerate(keys) if key in keys[:position]]:
        told = ", ".join(filter(None, again[0]))
        raise MeasurandError(f"two tables hold answers of {told}; name how each was read (readout) or asked (protocol)")
    return found, n_foreign


def _refuse_shape(table: Answers) -> None:
    if table.are_labels and len(table.criteria) > 1:
        raise MeasurandError(
            f"answers name classes for {len(table.criteria)} criteria ({table.criteria[0]}, {table.criteria[1]}, …); "
            "a forced choice has one answer for each item: leave the criterion out"
        )
    if not table.are_labels and "criterion" not in table.frame:
        raise MeasurandError(
            "answers: no column 'criterion'; where a class is chosen from several numbers, each class is a criterion. "
            "Where the answer is the chosen class itself, read it as a label (labels=True)"
        )


def _from_scores(arm: Arm, rows: pd.DataFrame, item: IntArray, truth: Truth, *, ties: Ties, margin: float) -> Chooser:
    """Choose by the highest of several scores."""
    criterion = rows["criterion"].cat
    codes = criterion.codes.to_numpy()
    to_class = {name: position for position, name in enumerate(truth.classes)}
    of_category = np.array([to_class.get(str(name), -1) for name in criterion.categories], dtype=np.int64)
    chosen = of_category[codes]
    if (chosen < 0).any():
        name = str(criterion.categories[codes[int((chosen < 0).argmax())]])
        raise MeasurandError(f'answers: criterion "{name}" ({arm.system}) is {_no_class(name, truth.classes)}')
    is_asked = (rows["status"] != "not_asked").to_numpy()
    shape = (len(truth.items), len(truth.classes))
    asked = np.zeros(shape, dtype=bool)
    asked[item[is_asked], chosen[is_asked]] = True
    offered = np.flatnonzero(asked.any(axis=0)) if asked.any() else np.arange(len(truth.classes))
    if len(offered) == 1:
        only = truth.classes[offered[0]]
        raise MeasurandError(f'answers: {arm.system} was asked for "{only}" alone; a choice needs two classes')
    scores = np.full(shape, np.nan)
    scores[item, chosen] = _score(rows, margin)
    scores = scores[:, offered]
    label = _among(offered, truth)
    choice = choose(scores, ties=ties, margin=margin)
    orders = {
        "split": choose(scores, margin=margin).membership,
        "first": choose(scores, ties="first", margin=margin).membership,
        "last": choose(scores[:, ::-1], ties="first", margin=margin).membership[:, ::-1],
    }
    inside = asked.any(axis=1) & (label >= 0)
    return Chooser(
        arm,
        tuple(int(one) for one in offered),
        len(truth.classes),
        label,
        inside,
        inside & ~np.isnan(scores).any(axis=1),
        choice.membership,
        {rule: worth(shares, label) for rule, shares in orders.items()},
        choose(scores).is_tied,
        choice.is_tied,
    )


def _score(rows: pd.DataFrame, margin: float) -> FloatArray:
    """What decides: log-odds, which never saturate, unless a margin in units of the answers makes that moot."""
    answer = rows["answer"].to_numpy(dtype=float)
    if margin > 0 or "log_odds" not in rows:
        return answer
    is_answered = rows["status"].isin(ANSWERED).to_numpy()
    log_odds = np.where(is_answered, rows["log_odds"].to_numpy(dtype=float), np.nan)
    return answer if np.isnan(log_odds[is_answered]).any() else log_odds


def _from_labels(arm: Arm, rows: pd.DataFrame, item: IntArray, truth: Truth) -> Chooser:
    """Take the class that the answer names."""
    to_class = {name: position for position, name in enumerate(truth.classes)}
    is_answered = rows["status"].isin(ANSWERED).to_numpy()
    texts = rows["answer"].to_numpy(dtype=object)
    for row in np.flatnonzero(is_answered):
        if texts[row] not in to_class:
            where = f'({arm.system}, item "{rows["item"].iloc[row]}")'
            raise MeasurandError(
                f'answers: label "{texts[row]}" {where} is {_no_class(str(texts[row]), truth.classes)}; '
                "mark a reply that names no class by its status (invalid, refused, …)"
            )
    n_items, n_classes = len(truth.items), len(truth.classes)
    asked = np.zeros(n_items, dtype=bool)
    asked[item[(rows["status"] != "not_asked").to_numpy()]] = True
    shares = np.zeros((n_items, n_classes))
    shares[item[is_answered], [to_class[text] for text in texts[is_answered]]] = 1.0
    # That a class is never chosen does not mean that it was not offered: its items must be absent, too.
    offered = np.flatnonzero(np.isin(np.arange(n_classes), truth.label[asked]) | shares.any(axis=0))
    if len(offered) < 2:
        offered = np.arange(n_classes)
    label = _among(offered, truth)
    inside = asked & (label >= 0)
    none = np.zeros(n_items, dtype=bool)
    answered = inside & shares.any(axis=1)
    classes = tuple(int(one) for one in offered)
    return Chooser(arm, classes, n_classes, label, inside, answered, shares[:, offered], {}, none, none)


def _among(offered: IntArray, truth: Truth) -> IntArray:
    position = np.full(len(truth.classes), -1, dtype=np.int64)
    position[offered] = np.arange(len(offered))
    return position[truth.label]


def worth(membership: FloatArray, label: IntArray) -> FloatArray:
    """Return the share of each item's choice that fell on its label, 0 where the label was not offered."""
    rows = np.arange(len(label))
    return np.where(label >= 0, membership[rows, np.maximum(label, 0)], 0.0)


def _no_class(name: str, classes: Sequence[str]) -> str:
    """Say that a name is no class, which ones there are, and which one may be meant."""
    listing = ", ".join(classes[:12]) + (f" and {len(classes) - 12} more" if len(classes) > 12 else "")
    alike = [one for one in classes if one.casefold() == name.casefold()]
    close = difflib.get_close_matches(name, classes, n=1)
    hint = ""
    if alike:
        hint = f'. It differs from "{alike[0]}" by upper and lower case alone: write both alike'
    elif close:
        hint = f'; did you mean "{close[0]}"?'
    return f"no class of the items table ({listing}){hint}"
