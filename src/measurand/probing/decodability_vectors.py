"""Outputs beside vectors of the items, on the same items and folds, so that neither has more to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from measurand.data.vectors import Vectors
from measurand.probing.decodability_predict import (
    Evidence,
    Protocol,
    curve,
    evidence,
    folds,
    out_of_fold,
    predicted_of,
)
from measurand.probing.decodability_replicates import MACRO_F1, Of, Predicted, replicate
from measurand.probing.decodability_rows import Board, curve_rows
from measurand.probing.decodability_table import Corpus
from measurand.result import Row
from measurand.stats.inference import IntArray, clusters, stream

#: The regression's C on vectors of length 1.
PENALTY: Final = 1.0


def vector_rows(corpus: Corpus, vectors: Mapping[str, Vectors], protocol: Protocol) -> list[Row]:
    """Return the macro-F1 of each set of vectors, that of the systems on the same items, and the differences."""
    rows: list[Row] = []
    for name, one in vectors.items():
        place = {item: at for at, item in enumerate(one.ids)}
        kept = np.array([at for at, item in enumerate(corpus.items) if item in place], dtype=np.int64)
        control = f"vectors:{name}"
        if reason := _fault(corpus, kept, name, protocol):
            keys = {
                "language": corpus.language,
                "token_unit": protocol.token_unit,
                "split": corpus.split,
                "control": control,
            }
            rows.append(Row("decodability", keys, "macro_f1", np.nan, undefined=reason))
            continue
        matched = corpus.subset(kept)
        values = np.asarray(one.values)[[place[item] for item in matched.items]].astype(np.float64)
        length = np.sqrt((values**2).sum(axis=1, keepdims=True))
        values = np.divide(values, length, out=np.zeros_like(values), where=length > 0)
        rows += _beside(matched, Evidence(values, "dense", PENALTY), name, protocol)
    return rows


def _fault(corpus: Corpus, kept: IntArray, name: str, protocol: Protocol) -> str:
    """Return why the items that have vectors cannot be decoded, blank if they can."""
    units = corpus.units_of_labels(kept)
    fewest = int(np.argmin(units))
    if units[fewest] >= protocol.n_folds:
        return ""
    return (
        f"{len(kept)} items have a vector of {name}, {units[fewest]} of them labelled {corpus.classes[fewest]}; with "
        f"{protocol.n_folds} folds each label needs {protocol.n_folds}"
    )


def _beside(corpus: Corpus, read: Evidence, name: str, protocol: Protocol) -> list[Row]:
    """Return the rows of one set of vectors and of the systems on its items."""
    fold = folds(corpus, protocol, corpus.label)
    n_classes = len(corpus.classes)
    of_vectors = Of(control=f"vectors:{name}")
    main = predicted_of(corpus.label, out_of_fold(read, corpus.label, fold, n_classes, protocol))
    predicted: dict[Of, Predicted] = {of_vectors: main}
    predicted |= dict(curve(read, corpus, protocol, of_vectors, fold, main))
    matched = [Of(system, f"matched:{name}") for system in corpus.systems]
    for of in matched:
        found = out_of_fold(evidence(corpus.counts[of.system], protocol), corpus.label, fold, n_classes, protocol)
        predicted[of] = predicted_of(corpus.label, found)
    drawn = clusters(corpus.redrawn, np.arange(corpus.n_items), corpus.n_items)
    rng = stream(protocol.seed, "decodability", corpus.language, f"vectors {name}")
    board = Board(corpus, protocol, replicate(predicted, n_classes, drawn, n_replicates=protocol.replicates, rng=rng))
    note = f"vectors of length 1, C = {PENALTY:g}; the decoder is not trained again"
    rows = [board.score(of_vectors, "macro_f1", MACRO_F1, note)]
    for of in matched:
        rows.append(
            board.score(of, "macro_f1", MACRO_F1, f"on the {corpus.n_items} items that have a vector of {name}")
        )
        keys = board.keys(of, against=of_vectors.control)
        rows.append(board.difference(of, of_vectors, keys, "difference", "the system's outputs minus the vectors"))
    return rows + curve_rows(board)
