"""Vectors beside what is known of their items: languages, labels, what belongs together, what says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from measurand.data.names import natural_order
from measurand.data.vectors import Vectors
from measurand.result import MeasurandError
from measurand.stats.geometry import Points, compact, lengths
from measurand.stats.inference import IntArray


@dataclass(frozen=True, eq=False)
class Cloud:
    """The vectors of one encoder, those of length 0 left out, with what is known of each item.

    Parameters
    ----------
    name : str
        The encoder.
    points : ndarray, shape (n, min(n, n_dimensions))
        The vectors, in no more dimensions than there are vectors (see `measurand.stats.geometry.compact`).
    n_dimensions : int
        How many dimensions they came with.
    languages, labels : sequence of str
        The distinct ones, in natural order; no languages where the table tells none or one.
    language, label, parallel : ndarray of int, shape (n,)
        Position among them; items that say the same share `parallel`. -1 where an item has none.
    cluster : ndarray of int, shape (n,)
        Items of one group, or that say the same, share a number; without either each item is its own.
    n_zero, n_unknown, n_missing : int
        Vectors of length 0; vectors of items that the table does not have; items of the table that have no vector.
    """

    name: str
    points: Points
    n_dimensions: int
    languages: Sequence[str]
    labels: Sequence[str]
    language: IntArray
    label: IntArray
    parallel: IntArray
    cluster: IntArray
    n_zero: int
    n_unknown: int
    n_missing: int

    def __len__(self) -> int:
        return len(self.points)


def unit_of(cluster: IntArray) -> str:
    """Return what is left out or redrawn where these items are: items, or groups of them."""
    return "item" if len(np.unique(cluster)) == len(cluster) else "group"


def clouds(vectors: Sequence[Vectors], items: pd.DataFrame | None) -> list[Cloud]:
    """Return the vectors of each encoder beside their items.

    Raises
    ------
    MeasurandError
        If two encoders have one name, no vector is of an item of the table, all have length 0, or two items of one
        language say the same.
    """
    names = [one.name for one in vectors]
    if twice := [name for at, name in enumerate(names) if name in names[:at]]:
        raise MeasurandError(f"two sets of vectors are called {twice[0]!r}; give each its own name")
    if items is not None:
        _refuse_parallel_in_one_language(items)
    return [_cloud(one, items) for one in vectors]


def _cloud(vectors: Vectors, items: pd.DataFrame | None) -> Cloud:
    values = vectors.values  # noqa: PD011  (an array's, no frame's)
    length = lengths(values)
    if not (length > 0).any():
        raise MeasurandError(f"vectors {vectors.name!r}: all have length 0, so that none has a direction")
    if items is None:
        items = pd.DataFrame({"item": np.array(vectors.ids, dtype=object)})
    place = pd.Index(items["item"]).get_indexer(pd.Index(vectors.ids))
    known = place >= 0
    if not known.any():
        raise MeasurandError(
            f'vectors {vectors.name!r}: none of their {len(vectors)} items is in the table, whose first item is "'
            f'{items["item"].iloc[0]}"; the first vector is that of "{vectors.ids[0]}". Ids must be the same text'
        )
    kept = np.flatnonzero(known & (length > 0))
    if len(kept) == 0:
        raise MeasurandError(f"vectors {vectors.name!r}: all that belong to items of the table have length 0")
    told = items.iloc[place[kept]]
    languages, language = _codes(told, "language")
    if len(languages) < 2:
        languages, language = [], np.full(len(kept), -1, dtype=np.int64)
    labels, label = _codes(told, "label")
    _, group = _codes(told, "group")
    _, parallel = _codes(told, "parallel")
    return Cloud(
        vectors.name,
        compact(values if len(kept) == len(vectors) else values[kept]),
        vectors.n_dimensions,
        languages,
        labels,
        language,
        label,
        parallel,
        _clusters(group, parallel),
        n_zero=int((known & (length == 0)).sum()),
        n_unknown=int((~known).sum()),
        n_missing=len(items) - int(known.sum()),
    )


def _codes(told: pd.DataFrame, role: str) -> tuple[list[str], IntArray]:
    """Return the distinct texts of a column in natural order, and each row's place among them; -1 for blank."""
    if role not in told:
        return [], np.full(len(told), -1, dtype=np.int64)
    texts = told[role].astype(str).to_numpy(dtype=object)
    distinct = natural_order([text for text in pd.unique(texts) if text])
    return distinct, np.asarray(pd.Index(distinct, dtype=object).get_indexer(pd.Index(texts)), dtype=np.int64)


def _clusters(*codes: IntArray) -> IntArray:
    """Return a number that rows share which any of the codes joins, directly or through others."""
    n = len(codes[0])
    links: list[npt.NDArray[np.int64]] = []
    for code in codes:
        order = np.argsort(code, kind="stable")
        same = (code[order[1:]] == code[order[:-1]]) & (code[order[1:]] >= 0)
        links.append(np.stack([order[:-1][same], order[1:][same]]))
    a, b = np.concatenate(links, axis=1)
    graph = sparse.csr_array((np.ones(len(a)), (a, b)), shape=(n, n))
    return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1], dtype=np.int64)


def _refuse_parallel_in_one_language(items: pd.DataFrame) -> None:
    if "parallel" not in items or "language" not in items:
        return
    told = items[(items["parallel"] != "") & (items["language"] != "")]
    again = told.duplicated(["language", "parallel"]).to_numpy()
    if again.any():
        second = told.iloc[int(again.argmax())]
        same = told[(told["language"] == second["language"]) & (told["parallel"] == second["parallel"])]
        raise MeasurandError(
            f'items "{same["item"].iloc[0]}" and "{second["item"]}" of language "{second["language"]}" are both '
            f'parallel to "{second["parallel"]}"; an item has one counterpart in a language'
        )
