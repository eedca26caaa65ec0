"""Out-of-fold predictions: of systems, of floors, of the union of systems, of small training sets, of redrawn items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse

from measurand.data.text import TokenUnit
from measurand.probing.decodability_replicates import Of, Predicted, scores_of, tables
from measurand.probing.decodability_table import Corpus, Group, Labels, count_features
from measurand.stats.decoding import Features, decode
from measurand.stats.folds import stratified_folds
from measurand.stats.inference import FloatArray, IntArray, clusters, stream

#: Fold assignments that a point of the learning curve is the mean over.
CURVE_SEEDS: Final = 3
#: Values of predictions of redrawn items that are held at once.
_BLOCK: Final = 2**22


@dataclass(frozen=True)
class Protocol:
    """How decodability is measured; see `measurand.probing.decodability.decodability`."""

    token_unit: TokenUnit
    penalty: float
    balanced: bool
    n_folds: int
    n_seeds: int
    replicates: int
    refits: int
    learning_curve: Sequence[int]
    labels: Labels
    group: Group
    confidence: float
    seed: int


@dataclass(frozen=True)
class Evidence:
    """What a decoder reads of each item.

    Parameters
    ----------
    x : array or sparse array (n_items, n_features)
        Token counts, or features that are used as they are.
    features : {"tfidf", "dense"}
        Which of the two.
    penalty : float
        The regression's C.
    """

    x: sparse.csr_array | FloatArray
    features: Features
    penalty: float


def evidence(counts: sparse.csr_array, protocol: Protocol) -> Evidence:
    """Return the tokens of one system's outputs as what a decoder reads, columns that nothing uses left out."""
    used = np.flatnonzero(np.bincount(counts.indices, minlength=counts.shape[1]))
    return Evidence(sparse.csr_array(counts[:, used if len(used) else [0]]), "tfidf", protocol.penalty)


def folds(corpus: Corpus, protocol: Protocol, label: IntArray, *, name: str = "folds") -> IntArray:
    """Return the fold of each item under each seed, shape (n_seeds, n_items); all systems share them."""
    return np.array(
        [
            stratified_folds(
                label, n_folds=protocol.n_folds, rng=_stream(corpus, protocol, name, number), group=corpus.group
            )
            for number in range(1, protocol.n_seeds + 1)
        ]
    )


def out_of_fold(
    read: Evidence,
    label: IntArray,
    fold: IntArray,
    n_classes: int,
    protocol: Protocol,
    weights: FloatArray | None = None,
) -> IntArray:
    """Return the prediction of each item by the decoder that was trained on the other folds.

    Parameters
    ----------
    read : Evidence
        What is read of each item.
    label : ndarray of int, shape (n_items,)
        Classes.
    fold : ndarray of int, shape (n_runs, n_items)
        The fold of each item in each run.
    n_classes : int
        Size of the label set.
    protocol : Protocol
        The decoder.
    weights : ndarray, shape (n_runs, n_items), optional
        How often each item occurs in each run; copies of an item are in one fold.

    Returns
    -------
    ndarray of int, shape (n_runs, n_items)
        Predicted classes.
    """
    is_other = fold[:, None, :] != np.arange(protocol.n_folds)[None, :, None]
    train = is_other * (1.0 if weights is None else weights[:, None, :])
    return _held_out(_decoded(read, label, train.reshape(-1, len(label)), n_classes, protocol), fold, protocol)


def systems(corpus: Corpus, protocol: Protocol) -> Iterator[tuple[Of, Predicted]]:
    """Yield the predictions of each system, of its floors, and of small training sets, in this order."""
    n_classes = len(corpus.classes)
    fold = folds(corpus, protocol, corpus.label)
    for name in corpus.systems:
        read = evidence(corpus.counts[name], protocol)
        main = predicted_of(corpus.label, out_of_fold(read, corpus.label, fold, n_classes, protocol))
        yield Of(name), main
        yield Of(name, "permuted"), permuted(read, corpus, protocol)
        number = Evidence(count_features(corpus.counts[name]), "dense", protocol.penalty)
        yield (
            Of(name, "count"),
            predicted_of(corpus.label, out_of_fold(number, corpus.label, fold, n_classes, protocol)),
        )
        yield Of(name, "count_permuted"), permuted(number, corpus, protocol)
        yield from curve(read, corpus, protocol, Of(name), fold, main)
    largest = int(np.bincount(corpus.label, minlength=n_classes).argmax())
    yield Of(control="majority"), predicted_of(corpus.label, np.full((1, corpus.n_items), largest))
    if len(corpus.systems) > 1:
        total = corpus.counts[corpus.systems[0]]
        for name in corpus.systems[1:]:
            total = sparse.csr_array(total + corpus.counts[name])
        read = evidence(total, protocol)
        yield (
            Of(control="union"),
            predicted_of(corpus.label, out_of_fold(read, corpus.label, fold, n_classes, protocol)),
        )


def permuted(read: Evidence, corpus: Corpus, protocol: Protocol) -> Predicted:
    """Return predictions of labels that were permuted among the items, each permutation with folds of its own."""
    shuffled = np.array(
        [
            _stream(corpus, protocol, "permuted", number).permutation(corpus.label)
            for number in range(1, protocol.n_seeds + 1)
        ]
    )
    found = []
    for number, label in enumerate(shuffled, start=1):
        rng = _stream(corpus, protocol, "permuted folds", number)
        fold = stratified_folds(label, n_folds=protocol.n_folds, rng=rng, group=corpus.group)
        found.append(out_of_fold(read, label, fold[None, :], len(corpus.classes), protocol)[0])
    return Predicted(shuffled, np.array(found))


def sizes(corpus: Corpus, protocol: Protocol) -> list[int]:
    """Return the training sizes of the learning curve: those asked for, half of the full one, the full one."""
    if not protocol.learning_curve:
        return []
    full = round(corpus.n_items * (protocol.n_folds - 1) / protocol.n_folds)
    least = 2 * len(corpus.classes)
    return sorted({size for size in (*protocol.learning_curve, full // 2) if least <= size < full} | {full})


def curve(
    read: Evidence, corpus: Corpus, protocol: Protocol, name: Of, fold: IntArray, main: Predicted
) -> Iterator[tuple[Of, Predicted]]:
    """Yield the predictions after training on fewer items; the larger training sets contain the smaller ones."""
    wanted = sizes(corpus, protocol)
    if not wanted:
        return
    seeds = fold[:CURVE_SEEDS]
    place = np.array([_places(corpus, protocol, one, number) for number, one in enumerate(seeds, start=1)])
    for size in wanted[:-1]:
        train = (place < size).astype(np.float64).reshape(-1, corpus.n_items)
        found = _decoded(read, corpus.label, train, len(corpus.classes), protocol)
        yield name._replace(n_train=size), predicted_of(corpus.label, _held_out(found, seeds, protocol))
    yield name._replace(n_train=wanted[-1]), Predicted(main.label[:CURVE_SEEDS], main.predicted[:CURVE_SEEDS])


def _places(corpus: Corpus, protocol: Protocol, fold: IntArray, number: int) -> FloatArray:
    """Return the place of each item in each fold's order of training, (n_folds, n_items); infinite where held out.

    Every beginning of an order has the classes in the proportions of the whole: an item's place is that of its rank
    within its class as a share of the class.
    """
    drawn = _stream(corpus, protocol, "learning curve", number).permutation(corpus.n_items)
    out = np.full((protocol.n_folds, corpus.n_items), np.inf)
    for held in range(protocol.n_folds):
        rows = drawn[fold[drawn] != held]
        label = corpus.label[rows]
        share = np.empty(len(rows))
        for one in range(len(corpus.classes)):
            of_class = np.flatnonzero(label == one)
            share[of_class] = (np.arange(len(of_class)) + 0.5) / max(len(of_class), 1)
        out[held, rows[np.argsort(share, kind="stable")]] = np.arange(len(rows))
    return out


def refitted(corpus: Corpus, protocol: Protocol) -> Iterator[tuple[str, FloatArray]]:
    """Yield each system's replicates of macro-F1 in which items are redrawn and every decoder is trained again.

    Yields
    ------
    (str, ndarray of shape (n_refits,))
        Copies of an item are in one fold, so that none is predicted by itself.
    """
    n_classes, n = len(corpus.classes), corpus.n_items
    fold = folds(corpus, protocol, corpus.label)
    drawn = clusters(corpus.redrawn, np.arange(n), n)
    weights = np.concatenate(list(drawn.replicates(protocol.refits, _stream(corpus, protocol, "refits", 0))))
    fold = fold[np.arange(protocol.refits) % protocol.n_seeds]
    step = max(1, _BLOCK // (protocol.n_folds * n))
    for name in corpus.systems:
        read = evidence(corpus.counts[name], protocol)
        scores = []
        for start in range(0, protocol.refits, step):
            rows = slice(start, start + step)
            found = out_of_fold(read, corpus.label, fold[rows], n_classes, protocol, weights[rows])
            scores.append(scores_of(tables(corpus.label, found, weights[rows], n_classes))[:, 0])
        yield name, np.concatenate(scores)


def fold_means(one: Predicted, fold: IntArray, n_classes: int, n_folds: int) -> float:
    """Return the mean over folds and seeds of the macro-F1 within each fold."""
    values = [
        scores_of(
            tables(
                label[fold_of == held],
                predicted[None, fold_of == held],
                np.ones((1, int((fold_of == held).sum()))),
                n_classes,
            )
        )[0, 0]
        for label, predicted, fold_of in zip(one.label, one.predicted, fold, strict=True)
        for held in range(n_folds)
    ]
    return float(np.mean(values))


def _decoded(read: Evidence, label: IntArray, train: FloatArray, n_classes: int, protocol: Protocol) -> IntArray:
    found = decode(
        read.x,
        label,
        train,
        n_classes=n_classes,
        penalty=read.penalty,
        balanced=protocol.balanced,
        features=read.features,
    )
    return found.astype(np.int64)


def _held_out(predicted: IntArray, fold: IntArray, protocol: Protocol) -> IntArray:
    """Return of each run and item the prediction of the decoder that did not see its fold."""
    by_fold = predicted.reshape(len(fold), protocol.n_folds, fold.shape[1])
    return np.asarray(np.take_along_axis(by_fold, fold[:, None, :], axis=1)[:, 0])


def predicted_of(label: IntArray, predicted: IntArray) -> Predicted:
    """Return predictions of one set of labels in every run."""
    return Predicted(np.broadcast_to(label, predicted.shape), predicted)


def _stream(corpus: Corpus, protocol: Protocol, name: str, number: int) -> np.random.Generator:
    return stream(protocol.seed, "decodability", corpus.language, name, str(number))


def settings_of(protocol: Protocol) -> dict[str, Any]:
    """Return the protocol as settings of a result."""
    return {**vars(protocol), "learning_curve": list(protocol.learning_curve)}
