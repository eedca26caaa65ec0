"""Scores of out-of-fold predictions and their replicates on shared draws of items, so that differences are paired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from measurand.stats.classes import accuracy, f1_by_class, macro_f1
from measurand.stats.inference import Clusters, FloatArray, IntArray
from measurand.stats.information import mutual_information
from measurand.stats.predictions import Predictions

#: Columns of scores; the F1 of each class follows.
MACRO_F1: Final = 0
ACCURACY: Final = 1
INFORMATION: Final = 2
INFORMATION_PLUGIN: Final = 3
FIRST_CLASS: Final = 4


class Of(NamedTuple):
    """What made predictions: a system or a control, from how many training items, or which language's."""

    system: str = ""
    control: str = ""
    n_train: int = 0
    train: str = ""


class Predicted(NamedTuple):
    """The labels that were to be predicted and what was predicted, both of shape (n_runs, n_items)."""

    label: IntArray
    predicted: IntArray


class Replicated(NamedTuple):
    """Scores averaged over runs.

    Parameters
    ----------
    points : mapping
        Name to the sample's own scores, shape (n_statistics,), see `scores_of`.
    draws : mapping
        Name to their replicates, shape (n_replicates, n_statistics).
    runs : mapping
        Name to the macro-F1 of each run, shape (n_runs,).
    """

    points: Mapping[Of, FloatArray]
    draws: Mapping[Of, FloatArray]
    runs: Mapping[Of, FloatArray]


def replicate(
    board: Mapping[Of, Predicted], n_classes: int, drawn: Clusters, *, n_replicates: int, rng: np.random.Generator
) -> Replicated:
    """Score all predictions of a language, on the sample and on replicates that all of them share.

    Parameters
    ----------
    board : mapping
        Name to predictions of the same items.
    n_classes : int
        Size of the fixed label set.
    drawn : Clusters
        What is redrawn; its patterns are the items.
    n_replicates : int
        Number of replicates.
    rng : numpy.random.Generator
        See `measurand.stats.inference.stream`.
    """
    cells = {name: _Cells.of(one, n_classes) for name, one in board.items()}
    sample = drawn.weights()
    by_run = {name: one.scores(sample) for name, one in cells.items()}
    draws: dict[Of, list[FloatArray]] = {name: [] for name in board}
    for weights in drawn.replicates(n_replicates, rng):
        for name, one in cells.items():
            draws[name].append(_over_runs(one.scores(weights)))
    return Replicated(
        {name: _over_runs(scores)[0] for name, scores in by_run.items()},
        {name: np.concatenate(parts) for name, parts in draws.items()},
        {name: scores[0, :, MACRO_F1] for name, scores in by_run.items()},
    )


class _Cells(NamedTuple):
    """Items whose labels and predictions agree in all runs are one pattern; the tables need only their weights."""

    pattern: sparse.csr_array
    predictions: Predictions

    @classmethod
    def of(cls, one: Predicted, n_classes: int) -> _Cells:
        code = one.label * n_classes + one.predicted
        n_items = code.shape[1]
        distinct, pattern = np.unique(code, axis=1, return_inverse=True)
        shape = n_items, distinct.shape[1]
        of_item = sparse.csr_array((np.ones(n_items), (np.arange(n_items), pattern.ravel())), shape=shape)
        label, predicted = distinct // n_classes, distinct % n_classes
        return cls(of_item, Predictions.of(label, predicted, n_classes=n_classes))

    def scores(self, weights: FloatArray) -> FloatArray:
        """Return the scores of each row of weights and each run, shape (n_rows, n_runs, n_statistics)."""
        counts = self.predictions.confusion(np.asarray(weights @ self.pattern))
        return scores_of(counts.reshape(-1, *counts.shape[2:])).reshape(*counts.shape[:2], -1)


def scores_of(counts: FloatArray) -> FloatArray:
    """Return the scores of tables of true by predicted class.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        [row, true, predicted], see `measurand.stats.classes.confusion`.

    Returns
    -------
    ndarray, shape (n_rows, 4 + n_classes)
        Macro-F1 and accuracy in [0, 1]; mutual information in bits, corrected and plug-in; the F1 of each class, NaN
        for one that was neither drawn nor predicted.

    Examples
    --------
    >>> scores_of(np.array([[[3.0, 1.0, 0.0], [2.0, 2.0, 0.0]]])).round(3).tolist()
    [[0.619, 0.625, -0.041, 0.049, 0.667, 0.571]]
    """
    bits = mutual_information(counts)
    scores = [macro_f1(counts).value, accuracy(counts), bits.corrected, bits.plugin]
    return np.column_stack([*scores, f1_by_class(counts)])


def tables(label: IntArray, predicted: IntArray, weights: FloatArray, n_classes: int) -> FloatArray:
    """Return the table of true by predicted class of each row of predictions with its own weights.

    Parameters
    ----------
    label : ndarray of int, shape (n_items,)
        True classes.
    predicted : ndarray of int, shape (n_rows, n_items)
        Predicted classes.
    weights : ndarray, shape (n_rows, n_items)
        How often each item counts in each row.
    n_classes : int
        Size of the label set.

    Returns
    -------
    ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `measurand.stats.classes.confusion`; every item has a prediction, so that the last column is 0.

    Examples
    --------
    >>> tables(np.array([0, 1]), np.array([[0, 0]]), np.ones((1, 2)), 2).tolist()
    [[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]]
    """
    shape = len(predicted), n_classes, n_classes + 1
    cell = label * shape[2] + predicted + (np.arange(shape[0]) * shape[1] * shape[2])[:, None]
    found = np.bincount(cell.ravel(), weights=weights.ravel(), minlength=int(np.prod(shape)))
    return np.asarray(found, dtype=np.float64).reshape(shape)


def _over_runs(scores: FloatArray) -> FloatArray:
    """Return the mean over runs; a class that some run neither drew nor predicted is out of those runs alone."""
    known = ~np.isnan(scores)
    n = known.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=1) / n)
