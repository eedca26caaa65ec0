"""What a decoder is given: items with one label each, tokens of every system's outputs to them, and their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from measurand.data.names import natural_order
from measurand.data.outputs import Outputs
from measurand.data.text import TokenUnit
from measurand.probing.token_counts import token_counts
from measurand.result import MeasurandError
from measurand.sentences import listed
from measurand.stats.inference import FloatArray, IntArray

Labels = Literal["refuse", "shared"]
Group = bool | Literal["auto"]

LABELS: Final[tuple[Labels, ...]] = ("refuse", "shared")


@dataclass(frozen=True)
class Corpus:
    """The items of one language that have a label and an output of every system.

    Parameters
    ----------
    language : str
        Blank where the table has no languages.
    items : ndarray of str, shape (n_items,)
        In natural order, so that what is drawn does not depend on the order of the table's rows.
    classes : sequence of str
        The label set, in natural order.
    label : ndarray of int, shape (n_items,)
        Position in `classes`.
    group : ndarray of int or None, shape (n_items,)
        What stays whole when folds are made and items are redrawn; None where each item stands alone.
    systems : sequence of str
        In natural order.
    counts : mapping
        System to how often each token occurs, sparse (n_items, n_tokens); all corpora share the columns.
    n_no_label, n_incomplete, n_other_label : int
        Items left out: without a label, without an output of every system, with a label that other languages lack.
    rare : mapping
        Labels that were left out as they have fewer items (or groups) than folds, and how many they have.
    n_rare_label : int
        Items with such labels.
    """

    language: str
    items: np.ndarray[Any, Any]
    classes: Sequence[str]
    label: IntArray
    group: IntArray | None
    systems: Sequence[str]
    counts: Mapping[str, sparse.csr_array]
    n_no_label: int = 0
    n_incomplete: int = 0
    n_other_label: int = 0
    rare: Mapping[str, int] = field(default_factory=dict)
    n_rare_label: int = 0

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    def subset(self, kept: IntArray) -> Corpus:
        """Return the corpus of some of the items, with the same label set."""
        return replace(
            self,
            items=self.items[kept],
            label=self.label[kept],
            group=None if self.group is None else self.group[kept],
            counts={name: sparse.csr_array(counts[kept]) for name, counts in self.counts.items()},
        )

    def units_of_labels(self, kept: IntArray | None = None) -> IntArray:
        """Return how many items, or groups, each label has, among the items that are kept."""
        label, unit = (self.label, self.redrawn) if kept is None else (self.label[kept], self.redrawn[kept])
        return np.array([len(np.unique(unit[label == at])) for at in range(len(self.classes))], dtype=np.int64)

    def without(self, labels: Mapping[str, int]) -> Corpus:
        """Return the corpus without the items of some labels, which are told as too rare."""
        rare = {name: n for name, n in labels.items() if name in self.classes}
        is_kept = np.array([name not in rare for name in self.classes])
        kept = np.flatnonzero(is_kept[self.label])
        place = np.cumsum(is_kept) - 1
        return replace(
            self.subset(kept),
            classes=[name for name in self.classes if name not in rare],
            label=place[self.label[kept]].astype(np.int64),
            rare=rare,
            n_rare_label=self.n_items - len(kept),
        )

    @property
    def unit(self) -> str:
        """What is redrawn: the group where items stay together, else the item."""
        return "item" if self.group is None else "group"

    @property
    def split(self) -> str:
        """How folds are made: by row, or with groups kept whole."""
        return "row" if self.group is None else "group"

    @property
    def redrawn(self) -> IntArray:
        """The unit of resampling of each item."""
        return np.arange(self.n_items) if self.group is None else self.group


def corpora(
    outputs: Outputs, *, token_unit: TokenUnit, labels: Labels = "refuse", group: Group = "auto"
) -> tuple[list[Corpus], dict[str, list[str]]]:
    """Return what there is to decode in each language, and each language's own labels.

    Parameters
    ----------
    outputs : Outputs
        With columns `text` and `label`.
    token_unit : str
        What an output is cut into, see `measurand.data.text.tokens`.
    labels : {"refuse", "shared"}
        Whether languages keep their own labels, or all of them only the labels that they share.
    group : bool or "auto"
        Whether items of one group stay together; "auto": where the table has a column `group` or a source text that
        several items share.

    Returns
    -------
    (list of Corpus, dict)
        One corpus for each language with a labelled item; language to its label set before any reduction.

    Raises
    ------
    MeasurandError
        If texts or labels are missing, no item has outputs of all systems, no label is shared though only shared ones
        are asked for, or groups are asked for that the table does not tell.
    """
    for column, why in (("text", "decodability reads what was written"), ("label", "decodability predicts labels")):
        if column not in outputs:
            there = ", ".join(outputs.frame.columns)
            raise MeasurandError(f"outputs: no column {column!r}, and {why}; the table has {there}")
    frame = outputs.frame
    schemes = _schemes(outputs)
    shared = _shared(schemes) if labels == "shared" else None
    if shared is not None and len(shared) < 2:
        told = "; ".join(f"{language or 'all'}: {listed(names, most=8)}" for language, names in schemes.items())
        raise MeasurandError(f"the languages share {len(shared)} labels, two are needed to decode ({told})")
    counts = token_counts(frame["text"].tolist(), token_unit)
    groups = _groups(frame, group)
    out = []
    for language in schemes:
        here = (frame["language"] == language).to_numpy() if "language" in outputs else np.ones(len(frame), dtype=bool)
        out.append(_corpus(frame[here], language, sparse.csr_array(counts[np.flatnonzero(here)]), groups, shared))
    return out, schemes


def _schemes(outputs: Outputs) -> dict[str, list[str]]:
    """Return the labels of each language that has any."""
    out: dict[str, list[str]] = {}
    for language in outputs.languages:
        labels = outputs.of(language=language)["label"].unique()
        if names := natural_order([str(one) for one in labels if one != ""]):
            out[language] = names
    if not out:
        raise MeasurandError("outputs: every label is blank; decodability predicts the label of an item")
    return out


def _shared(schemes: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the labels that every language has."""
    first, *others = schemes.values()
    return [name for name in first if all(name in other for other in others)]


def _groups(frame: pd.DataFrame, group: Group) -> dict[str, str] | None:
    """Return the group of each item that has one, None where each item stands alone."""
    if group is False:
        return None
    role = next((name for name in ("group", "source_text") if name in frame and (frame[name] != "").any()), None)
    if role is None:
        if group is True:
            raise MeasurandError(
                "outputs: groups are to stay whole, but there is no column 'group' and no 'source_text' that items "
                "could share; name the column with --group"
            )
        return None
    of_items = frame.loc[frame[role] != "", ["item", role]].sort_values(["item", role]).drop_duplicates("item")
    is_alone = not of_items[role].duplicated().any()
    return None if is_alone else dict(zip(of_items["item"], of_items[role], strict=True))


def _corpus(
    frame: pd.DataFrame,
    language: str,
    counts: sparse.csr_array,
    groups: Mapping[str, str] | None,
    shared: Sequence[str] | None,
) -> Corpus:
    """Return the corpus of one language's rows."""
    names = natural_order(list(frame["item"].unique()))
    item = frame["item"].map({name: at for at, name in enumerate(names)}).to_numpy()
    items = np.array(names, dtype=object)
    label_of = frame.drop_duplicates("item").set_index("item")["label"].loc[names].to_numpy(dtype=object)
    systems = natural_order(list(frame["system"].unique()))
    position = {name: at for at, name in enumerate(systems)}
    system = frame["system"].map(position).to_numpy()
    row = np.full((len(systems), len(items)), -1)
    row[system, item] = np.arange(len(item))

    has_label, is_whole = label_of != "", (row >= 0).all(axis=0)
    is_shared = np.array([shared is None or one in shared for one in label_of])
    kept = np.flatnonzero(has_label & is_shared & is_whole)
    if len(kept) == 0:
        raise MeasurandError(
            f"{_of(language)}no labelled item has an output of all {len(systems)} systems ({listed(systems)}); compare "
            "systems that were given the same items"
        )
    classes = natural_order(list(set(label_of[kept])))
    place = {name: at for at, name in enumerate(classes)}
    label = np.array([place[one] for one in label_of[kept]], dtype=np.int64)
    return Corpus(
        language,
        items[kept],
        classes,
        label,
        _group_codes(items[kept], groups),
        systems,
        {name: sparse.csr_array(counts[row[at, kept]]) for name, at in position.items()},
        n_no_label=int((~has_label).sum()),
        n_incomplete=int((has_label & is_shared & ~is_whole).sum()),
        n_other_label=int((has_label & ~is_shared).sum()),
    )


def _group_codes(items: np.ndarray[Any, Any], groups: Mapping[str, str] | None) -> IntArray | None:
    """Return a code for each item's group; an item without one is a group of its own."""
    if groups is None:
        return None
    names = [("group", groups[one]) if one in groups else ("item", one) for one in items.tolist()]
    if len(set(names)) == len(names):
        return None
    place = {name: at for at, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], dtype=np.int64)


#: Numbers of tokens above which counts are taken in classes of half an octave.
_EACH: Final = 16


def count_features(counts: sparse.csr_array) -> sparse.csr_array:
    """Return one indicator for each number of tokens that occurs: all that a decoder may know is how many there are.

    Parameters
    ----------
    counts : sparse array (n_items, n_tokens)
        How often each token occurs.

    Returns
    -------
    sparse array (n_items, n_counts)
        One 1 in each row. Numbers above 16 are taken in classes of half an octave, since long texts seldom have the
        same number twice.

    Examples
    --------
    >>> count_features(sparse.csr_array(np.array([[1.0, 2.0], [0.0, 0.0], [3.0, 0.0]]))).toarray().tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    """
    n: FloatArray = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    above = n > _EACH
    n[above] = _EACH + np.floor(2 * np.log2(n[above] / _EACH)) + 1
    _, column = np.unique(n, return_inverse=True)
    return sparse.csr_array((np.ones(len(n)), (np.arange(len(n)), column)), shape=(len(n), int(column.max()) + 1))


def _of(language: str) -> str:
    return f"{language}: " if language else ""
