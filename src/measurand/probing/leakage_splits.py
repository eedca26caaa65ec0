"""Splits of a table in which an item has several rows, and what a decoder scores on each kind of split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from measurand.data.names import natural_order
from measurand.data.outputs import Outputs
from measurand.data.text import TokenUnit
from measurand.probing.token_counts import token_counts
from measurand.stats import classes, leaked
from measurand.stats.decoding import decode
from measurand.stats.folds import BoolArray, stratified_split
from measurand.stats.inference import FloatArray, IntArray, stream

#: How rows are assigned: each on its own, all rows of an item together, all rows of a group of items together.
Protocol = Literal["row", "item", "group"]

_NO_TEXT: Final = "the outputs have lengths but no texts: there is nothing to decode the label from"
_NO_LABEL: Final = "no output has a label: there is nothing to decode"


@dataclass(frozen=True)
class Views:
    """The outputs of one language as rows to be split: several systems' outputs are views of one item.

    Parameters
    ----------
    language : str
        Blank where the table has no languages.
    frame : pandas.DataFrame
        The rows: those with a label where there are labels, else all.
    classes : sequence of str
        The labels, in natural order.
    label, item, system : ndarray of int, shape (n_rows,)
        Positions in `classes` (0 without labels), of the item and in `systems`.
    group : ndarray of int or None, shape (n_rows,)
        The item's group, where some group has several items; an item without one stands alone.
    systems : sequence of str
        In natural order.
    counts : sparse array (n_rows, n_tokens) or None
        Tokens of each output; None where nothing can be decoded, and then `undefined` says why.
    n_without_label, n_blank : int
        Outputs left out for want of a label; outputs that are blank and stay in.
    """

    language: str
    frame: pd.DataFrame
    classes: Sequence[str]
    label: IntArray
    item: IntArray
    system: IntArray
    group: IntArray | None
    systems: Sequence[str]
    counts: sparse.csr_array | None
    n_without_label: int
    n_blank: int
    undefined: str = ""

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.item.max(initial=-1)) + 1

    @property
    def n_views(self) -> IntArray:
        """Number of rows of each item."""
        return np.bincount(self.item, minlength=self.n_items).astype(np.int64)

    @property
    def protocols(self) -> list[Protocol]:
        """The kinds of split that differ here, the one that shares most first."""
        found: list[Protocol] = ["row"]
        if (self.n_views > 1).any():
            found.append("item")
        return found if self.group is None else [*found, "group"]

    def cluster(self, protocol: Protocol) -> IntArray | None:
        """Return what stays on one side; None where each row stands alone."""
        return {"row": None, "item": self.item, "group": self.group}[protocol]


def views_of(outputs: Outputs, language: str, *, token_unit: TokenUnit) -> Views:
    """Return the rows of one language, by item and system in natural order."""
    frame = _in_order(outputs.of(language=language))
    n_without, undefined = 0, ""
    if "label" in frame and (frame["label"] != "").any():
        has_label = (frame["label"] != "").to_numpy()
        n_without, frame = int((~has_label).sum()), frame[has_label].reset_index(drop=True)
        labels = frame["label"]
    else:
        labels, undefined = pd.Series([""] * len(frame), dtype=object), _NO_LABEL
    names = natural_order(list(labels.unique()))
    systems = natural_order(list(frame["system"].unique()))
    item, items = pd.factorize(frame["item"])
    if not undefined and len(names) < 2:
        undefined = f"every label is {names[0]!r}: there is nothing to tell apart"
    if not undefined and "text" not in frame:
        undefined = _NO_TEXT
    if not undefined and len(items) < 2:
        undefined = f"{len(items)} item; a split needs two"
    return Views(
        language=language,
        frame=frame,
        classes=names,
        label=_positions(labels, names),
        item=item.astype(np.int64),
        system=_positions(frame["system"], systems),
        group=_groups(frame),
        systems=systems,
        counts=None if undefined else token_counts(frame["text"].tolist(), token_unit),
        n_without_label=n_without,
        n_blank=int((frame["text"].str.strip() == "").sum()) if "text" in frame else 0,
        undefined=undefined,
    )


def split_rows(views: Views, *, ratio: float, repeats: int, seed: int) -> dict[Protocol, BoolArray]:
    """Return training rows of repeated stratified splits, shape (repeats, n_rows), for each kind of split."""
    out: dict[Protocol, BoolArray] = {}
    for protocol in views.protocols:
        # The same names at any set of ratios and for any number of repeats, so that more of them change no split.
        names = ("leakage", views.language, f"{ratio:g}", protocol)
        splits = [
            stratified_split(
                views.label,
                train_share=ratio,
                rng=stream(seed, *names, str(repeat)),
                group=views.cluster(protocol),
            )
            for repeat in range(repeats)
        ]
        out[protocol] = np.array(splits)
    return out


def expected_in_fixed_sizes(views: Views, cluster: IntArray, train: BoolArray) -> float:
    """Return the exact expected leaked share of row-wise splits with the class sizes that the splits have."""
    n_classes = len(views.classes)
    by_class = np.zeros((int(cluster.max()) + 1, n_classes), dtype=np.int64)
    np.add.at(by_class, (cluster, views.label), 1)
    n_test = [tuple(np.bincount(views.label[~split], minlength=n_classes).tolist()) for split in train]
    of_sizes = {sizes: leaked.leaked_share_fixed_size(by_class, np.array(sizes)) for sizes in dict.fromkeys(n_test)}
    return float(np.mean([of_sizes[sizes] for sizes in n_test]))


def split_scores(views: Views, splits: dict[Protocol, BoolArray], *, penalty: float) -> dict[Protocol, FloatArray]:
    """Return macro-F1 on the test rows of each split, shape (repeats, 1 + n_systems): of all systems, then of each.

    One decoder is trained on the training rows of all systems and scored on the test rows of all of them, then of each
    system alone, over the labels of the table.
    """
    if views.counts is None:
        raise ValueError(views.undefined)
    n_repeats = len(splits["row"])
    train = np.concatenate(list(splits.values()))
    predicted = decode(
        views.counts, views.label, train.astype(np.float64), n_classes=len(views.classes), penalty=penalty
    )
    scored = np.array([_scores(views, ~one, chosen) for one, chosen in zip(train, predicted, strict=True)])
    return {protocol: scored[at * n_repeats : (at + 1) * n_repeats] for at, protocol in enumerate(splits)}


def _scores(views: Views, test: BoolArray, predicted: np.ndarray[Any, Any]) -> FloatArray:
    n_systems, n_classes = len(views.systems), len(views.classes)
    shape = (n_systems, n_classes, n_classes + 1)
    cell = np.ravel_multi_index((views.system[test], views.label[test], predicted[test].astype(np.int64)), shape)
    counts = np.bincount(cell, minlength=n_systems * n_classes * (n_classes + 1)).reshape(shape).astype(np.float64)
    return classes.macro_f1(np.concatenate([counts.sum(axis=0, keepdims=True), counts])).value


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows by item and system in natural order: what is drawn must not depend on the order of a file."""
    place = [
        pd.Index(natural_order(list(frame[name].unique()))).get_indexer(pd.Index(frame[name]))
        for name in ("system", "item")
    ]
    return frame.iloc[np.lexsort(place)].reset_index(drop=True)


def _positions(column: pd.Series[Any], names: Sequence[str]) -> IntArray:
    place = {name: position for position, name in enumerate(names)}
    return np.array([place[name] for name in column], dtype=np.int64)


def _groups(frame: pd.DataFrame) -> IntArray | None:
    """Return the group of each row, None where no group has several items."""
    if "group" not in frame:
        return None
    named = (frame["group"] != "").to_numpy()
    of_items = frame[named].drop_duplicates("item")["group"]
    if not of_items.duplicated().any():
        return None
    owner = frame["group"].where(named, frame["item"])
    return np.asarray(pd.factorize(pd.MultiIndex.from_arrays([named, owner]))[0], dtype=np.int64)
