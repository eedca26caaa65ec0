"""Predicted classes against true ones: confusion of many predictions on shared replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from measurand.stats.classes import macro_f1
from measurand.stats.inference import FloatArray, IntArray

Predicted = IntArray | npt.NDArray[np.int16]


@dataclass(frozen=True)
class Predictions:
    """Several predictions of the same rows, as indicators of the cells of their confusion tables.

    A replicate of all tables is then one product of its weights with a sparse matrix that has one entry for each row
    and prediction.

    Parameters
    ----------
    cells : sparse array (n_predictions x n_classes x (n_classes + 1), n_rows)
        Which rows fall into which cell: [prediction, true, chosen].
    n_classes, n_predictions : int
        Size of the label set and number of predictions.
    """

    cells: sparse.csr_array
    n_classes: int
    n_predictions: int

    @classmethod
    def of(cls, label: IntArray, predicted: Predicted, *, n_classes: int) -> Predictions:
        """Return predictions by their cells.

        Parameters
        ----------
        label : ndarray of int, shape (n_rows,) or (n_predictions, n_rows)
            True classes, 0 to n_classes - 1; -1 where the class is not known: such a row counts nowhere.
        predicted : ndarray of int, shape (n_predictions, n_rows)
            Predicted classes; -1 for none, which is wrong.
        n_classes : int
            Size of the label set.

        Raises
        ------
        ValueError
            If a class is none of the label set.
        """
        n_predictions, n_rows = predicted.shape
        true = np.broadcast_to(np.asarray(label, dtype=np.int64), predicted.shape)
        chosen = predicted.astype(np.int64)
        for name, values in (("label", true), ("prediction", chosen)):
            if ((values < -1) | (values >= n_classes)).any():
                raise ValueError(f"a {name} is none of the {n_classes} classes; they are 0 to {n_classes - 1}, or -1")
        chosen = np.where(chosen < 0, n_classes, chosen)
        which, row = np.nonzero(true >= 0)
        cell = (which * n_classes + true[which, row]) * (n_classes + 1) + chosen[which, row]
        shape = n_predictions * n_classes * (n_classes + 1), n_rows
        return cls(sparse.csr_array((np.ones(len(cell)), (cell, row)), shape=shape), n_classes, n_predictions)

    def confusion(self, weights: FloatArray) -> FloatArray:
        """Return every prediction's confusion table in every sample.

        Parameters
        ----------
        weights : ndarray, shape (n_samples, n_rows)
            How often each row occurs; all predictions share a sample, so that their differences are paired.

        Returns
        -------
        ndarray, shape (n_samples, n_predictions, n_classes, n_classes + 1)
            [sample, prediction, true, chosen], the last column for rows without a prediction, as `classes.confusion`
            has it.
        """
        counts = np.asarray(self.cells @ np.ascontiguousarray(weights.T)).T
        return counts.reshape(len(weights), self.n_predictions, self.n_classes, self.n_classes + 1)

    def macro_f1(self, weights: FloatArray) -> FloatArray:
        """Return the macro-F1 of every prediction in every sample, (n_samples, n_predictions); see `classes.macro_f1`.

        Parameters
        ----------
        weights : ndarray, shape (n_samples, n_rows)
            See `confusion`.
        """
        counts = self.confusion(weights)
        return macro_f1(counts.reshape(-1, *counts.shape[2:])).value.reshape(counts.shape[:2])
