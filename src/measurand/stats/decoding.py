"""Which class does a row of tokens, or a vector, come from? Predictions from many training sets at once."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from measurand.stats import logistic
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.tfidf import FeatureStack, Matrix, patterns, plain_features, tfidf_features

Features = Literal["tfidf", "dense"]
FEATURES: Final[tuple[Features, ...]] = ("tfidf", "dense")
Predicted = npt.NDArray[np.int16]
Times = FloatArray | IntArray | npt.NDArray[np.bool_]

#: Values in one work array of a block of problems. Bounds memory; no prediction depends on it.
_BLOCK: Final = 2**19

#: From so many problems on they start from a fit to the mean of their training weights.
_MANY: Final = 4

#: Scores that are closer than this tie, in units of the longest row where that is longer than 1: ten times what
#: convergence leaves open. No noise of the last digits decides which class is predicted.
TIE: Final = 10 * logistic.TOLERANCE


def decode(
    x: Matrix,
    label: IntArray,
    train: Times,
    *,
    n_classes: int,
    penalty: float,
    balanced: bool = True,
    features: Features = "tfidf",
) -> Predicted:
    """Return the class that logistic regressions on many training sets predict for every row.

    Parameters
    ----------
    x : sparse array or ndarray, shape (n_rows, n_features)
        Counts of tokens for "tfidf", anything for "dense".
    label : ndarray of int, shape (n_rows,)
        Classes 0 to n_classes - 1; -1 where the class is not known: such a row is predicted, never trained on.
    train : ndarray, shape (n_problems, n_rows)
        How often each row is in the training set of each problem, 0 or more; a row with 2 counts as two rows.
    n_classes : int
        Number of classes.
    penalty : float
        C, the weight of the loss against 1/2 ||W||^2.
    balanced : bool
        Whether the weight of a row is divided by the number of training rows of its class (and multiplied by their
        mean number), so that every class weighs the same.
    features : {"tfidf", "dense"}
        "tfidf": (1 + ln tf) idf in rows of length 1, idf from the problem's own training rows, see
        `tfidf.tfidf_features`; empty rows are rows of zeros. "dense": the matrix as it is.

    Returns
    -------
    ndarray of int16, shape (n_problems, n_rows)
        The class with the highest score. Of classes that tie within `TIE`, the one with more training rows, then the
        first: where the training rows have no tokens, this is the majority class. A class without training rows is
        never predicted; the only class that has any always is.

    Raises
    ------
    ValueError
        If shapes, labels, weights, counts or the penalty are not what is described above, or a problem has no training
        row with a known class.

    Notes
    -----
    Minimises 1/2 ||W||^2 + C sum_i w_i loss_i with unpenalised intercepts, W one vector for each class, or one in all
    where the training rows have two classes. This is what scikit-learn's `LogisticRegression(C=C,
    class_weight="balanced")` after `TfidfVectorizer(sublinear_tf=True)` does. The solver is another one
    (`logistic.fit`) and goes to the optimum: scores of rows of length 1 are about `logistic.TOLERANCE` off at most, so
    that predictions are scikit-learn's at a small `tol`; at its default of 1e-4 some rows differ.

    Only distinct rows are computed with, and memory is O(stored values) and a bounded block of problems.

    Examples
    --------
    Two kinds of tokens, two classes; each half is predicted from the other.

    >>> x = sparse.csr_array(np.array([[2, 0], [0, 1], [1, 0], [0, 3]]))
    >>> train = np.array([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> decode(x, np.array([0, 1, 0, 1]), train, n_classes=2, penalty=4.0).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    label = np.asarray(label, dtype=np.int64)
    _check(x, label, train, n_classes=n_classes, penalty=penalty, features=features)
    rows = _rows(x, label, n_classes=n_classes, features=features)
    trained = np.stack([(train[:, label == k] > 0).any(axis=1) for k in range(n_classes)], axis=1)
    only = trained.argmax(axis=1).astype(np.int16)  # right where a problem has one class; the others are fitted
    out = np.repeat(only[:, None], len(label), axis=1)
    many = np.flatnonzero(trained.sum(axis=1) > 1)
    start = None
    if len(many) >= _MANY:
        start = _fitted(rows, train[many].mean(axis=0)[None], penalty=penalty, balanced=balanced).weights
    width = max(1, _BLOCK // max(n_classes * max(rows.matrix.shape), 1))
    for first in range(0, len(many), width):
        block = many[first : first + width]
        out[block] = _fitted(rows, train[block], penalty=penalty, balanced=balanced, start=start).predicted(rows)
    return out


class _Rows(NamedTuple):
    """The distinct rows of a matrix and, for each class, which of them its rows are, (n_patterns, n_rows).

    `plain` are the features of every problem; None where each problem weights tokens by its own training rows.
    """

    matrix: Matrix
    of_row: IntArray
    of_class: list[sparse.csr_array]
    plain: FeatureStack | None


def _rows(x: Matrix, label: IntArray, *, n_classes: int, features: Features) -> _Rows:
    matrix, of_row = patterns(x if features == "dense" else sparse.csr_array(x))
    if isinstance(matrix, np.ndarray):
        matrix = _compact(matrix)
    else:
        matrix = sparse.csr_array(matrix[:, np.unique(matrix.indices)])
    shape = matrix.shape[0], len(label)
    of_class = []
    for k in range(n_classes):
        members = np.flatnonzero(label == k)
        of_class.append(sparse.csr_array((np.ones(len(members)), (of_row[members], members)), shape=shape))
    return _Rows(matrix, of_row, of_class, plain_features(matrix) if features == "dense" else None)


def _compact(x: FloatArray) -> FloatArray:
    """Return rows that have the same inner products, centred, and no more columns than there are rows.

    Intercepts take the centre up, and slopes lie in the span of the rows: the same problems, better conditioned.
    """
    centred = np.asarray(x - x.sum(axis=0) / max(len(x), 1))
    if centred.shape[1] <= centred.shape[0]:
        return centred
    (triangle,) = linalg.qr(centred.T, mode="r", check_finite=False)
    return np.ascontiguousarray(triangle[: len(centred)].T)


class _Fitted(NamedTuple):
    """A block of fits; `n_trained` are the training rows of each class, (n_classes, n_problems)."""

    features: FeatureStack
    weights: logistic.Weights
    n_trained: FloatArray

    def predicted(self, rows: _Rows) -> Predicted:
        """Return the class of every row, (n_problems, n_rows)."""
        scores = logistic.class_scores(self.features, self.weights, self.n_trained > 0)
        near = scores >= scores.max(axis=0) - TIE * _longest(self.features)
        favoured = np.argsort(-self.n_trained, axis=0, kind="stable")
        place = np.take_along_axis(near, favoured[:, None], axis=0).argmax(axis=0)
        chosen = np.take_along_axis(favoured, place, axis=0).astype(np.int16)
        return np.ascontiguousarray(chosen.T[:, rows.of_row])


def _fitted(
    rows: _Rows,
    train: Times,
    *,
    penalty: float,
    balanced: bool,
    start: logistic.Weights | None = None,
) -> _Fitted:
    given = np.asarray(train.T, dtype=np.float64)
    weight = np.stack([np.asarray(of_class @ given) for of_class in rows.of_class])
    features = rows.plain
    if features is None:
        features = tfidf_features(sparse.csr_array(rows.matrix), weight.sum(axis=0))
    n_trained = weight.sum(axis=1)
    present = n_trained > 0
    n_present = present.sum(axis=0)
    # Two opposite vectors of slopes are penalised half as much as the one vector that they stand for.
    factor = np.broadcast_to(penalty * np.where(n_present == 2, 0.5, 1.0), n_trained.shape)
    if balanced:
        factor = factor * n_trained.sum(axis=0) / n_present / np.where(present, n_trained, 1.0)
    weight *= factor[:, None]
    weights = logistic.fit(features, logistic.targets(features, weight), start=start)
    return _Fitted(features, weights, n_trained)


def _longest(features: FeatureStack) -> float:
    """Return the length of the longest row of features, 1 or more."""
    if features.row is not None:
        return 1.0
    matrix = features.matrix
    squares = np.square(matrix) if isinstance(matrix, np.ndarray) else matrix.power(2)
    return float(np.sqrt(np.asarray(squares.sum(axis=1)).max(initial=1.0)))


def _check(x: Matrix, label: IntArray, train: Times, *, n_classes: int, penalty: float, features: str) -> None:
    """Refuse what `decode` is not defined for."""
    values = x if isinstance(x, np.ndarray) else x.data
    if features not in FEATURES:
        raise ValueError(f"features are {features!r}; they are one of {', '.join(FEATURES)}")
    if not 0 < penalty < np.inf:
        raise ValueError(f"the penalty's C is {penalty}; it is a finite number above 0")
    if train.ndim != 2 or x.shape[0] != len(label) or train.shape[1] != len(label):
        shapes = f"{x.shape} features, {len(label)} labels and training weights {train.shape}"
        raise ValueError(f"{shapes} do not belong together; each problem has one weight for each row")
    outside = np.flatnonzero((label < -1) | (label >= n_classes))
    if len(outside):
        found = f"label {label[outside[0]]} of row {outside[0]}"
        raise ValueError(f"{found} is none of the {n_classes} classes; labels are 0 to {n_classes - 1}, or -1")
    if not np.isfinite(values).all():
        raise ValueError("a feature is not a finite number")
    if features == "tfidf" and ((values != 0) & (values < 1)).any():
        raise ValueError("a count of tokens is below 1 and not 0; counts are whole numbers")
    if not (np.isfinite(train).all() and (train >= 0).all()):
        raise ValueError("a training weight is negative or not a finite number")
    empty = np.flatnonzero(~(train[:, label >= 0] > 0).any(axis=1))
    if len(empty):
        raise ValueError(f"problem {empty[0]} has no training row with a known class")
