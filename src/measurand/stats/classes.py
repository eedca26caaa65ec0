"""Forced choice against a label: the class that scores choose, accuracy, F1 and recall over a fixed set of classes."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.ranking import ratio

BoolArray = npt.NDArray[np.bool_]
Ties = Literal["split", "undecided", "first"]

#: What a tie for the highest score may mean.
TIES: Final[tuple[Ties, ...]] = ("split", "undecided", "first")

#: Share of a choice below which it is rounding: a third three times is not exactly one.
_DUST: Final = 1e-12


class Choice(NamedTuple):
    """What each item chose, shape (n_items, n_classes), and which items had more than one highest score."""

    membership: FloatArray
    is_tied: BoolArray


class ClassMean(NamedTuple):
    """A mean over classes and how many classes it leaves out because they are undefined, each of shape (n_rows,)."""

    value: FloatArray
    n_left_out: IntArray


def choose(scores: FloatArray, *, ties: Ties = "split", margin: float = 0.0) -> Choice:
    """Return the class with the highest score, with an explicit rule for ties.

    Parameters
    ----------
    scores : ndarray, shape (n_items, n_classes)
        One score for each class, such as P(yes) or log-odds of "does it show this class?". NaN where there is none:
        such an item chooses nothing, since the missing score might have been the highest.
    ties : {"split", "undecided", "first"}
        What several highest scores mean: the choice is shared equally among them; nothing is chosen, which counts as
        wrong; the class that happens to stand first is chosen. The last one makes the order of the classes decide and
        can turn a system that never distinguishes into one that is always right; it is there to show how much.
    margin : float
        Scores up to this far below the highest count as tied with it, in units of the scores: differences within
        numerical noise are no choice.

    Returns
    -------
    Choice
        Shares that sum to 1 for each item, or to 0 where nothing was chosen. An item is tied by its scores, whatever
        the rule.

    Raises
    ------
    ValueError
        If the margin is negative or infinite, or the rule unknown.

    Examples
    --------
    >>> choose(np.array([[0.2, 0.9, 0.9], [0.7, 0.1, 0.2]])).membership.tolist()
    [[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]
    """
    if not 0 <= margin < np.inf:
        raise ValueError(f"the margin is {margin}; it is a finite number, 0 or larger")
    if ties not in TIES:
        raise ValueError(f"the rule for ties is {ties!r}; it is one of {', '.join(TIES)}")
    highest = scores >= scores.max(axis=1, keepdims=True) - margin  # with a NaN nothing is the highest
    n_highest = highest.sum(axis=1)
    is_tied = n_highest > 1
    if ties == "first":
        highest &= np.cumsum(highest, axis=1) == 1
    elif ties == "undecided":
        highest &= ~is_tied[:, None]
    return Choice(highest / np.maximum(highest.sum(axis=1, keepdims=True), 1), is_tied)


def confusion(membership: FloatArray, label: IntArray, weights: FloatArray) -> FloatArray:
    """Return how often items of each class chose each class, over a fixed set of classes.

    Parameters
    ----------
    membership : ndarray, shape (n_items, n_classes)
        What each item chose, see `choose`; a row of zeros chose nothing.
    label : ndarray of int, shape (n_items,)
        The true class of each item, 0 to n_classes - 1.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs, one row for each sample or replicate.

    Returns
    -------
    ndarray, shape (n_rows, n_classes, n_classes + 1)
        [row, true, chosen]; the last column holds the items that chose nothing, so that they stay in every
        denominator. Classes that a replicate did not draw keep their rows and columns.

    Raises
    ------
    ValueError
        If a label is none of the classes.

    Examples
    --------
    >>> confusion(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]), np.array([0, 1, 1]), np.ones((1, 3))).tolist()
    [[[1.0, 0.0, 0.0], [0.5, 0.5, 1.0]]]
    """
    n_classes = membership.shape[1]
    outside = np.flatnonzero((label < 0) | (label >= n_classes))
    if len(outside):
        found = f"label {label[outside[0]]} of item {outside[0]}"
        raise ValueError(f"{found} is none of the {n_classes} classes; labels are 0 to {n_classes - 1}")
    nothing = 1.0 - membership.sum(axis=1)
    nothing[np.abs(nothing) < _DUST] = 0.0
    chosen = np.column_stack([membership, nothing])
    out = np.empty((len(weights), n_classes, n_classes + 1))
    for true in range(n_classes):
        of_class = label == true
        out[:, true] = weights[:, of_class] @ chosen[of_class]
    return out


def accuracy(counts: FloatArray) -> FloatArray:
    """Return the share of items that chose their true class.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `confusion`.

    Returns
    -------
    ndarray, shape (n_rows,)
        In [0, 1]; an item that chose nothing is wrong, a shared choice counts by its share. NaN where nothing was
        drawn.

    Examples
    --------
    >>> accuracy(np.array([[[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]]])).tolist()
    [0.5]
    """
    return ratio(_right(counts).sum(axis=1), counts.sum(axis=(1, 2)))


def recall_by_class(counts: FloatArray) -> FloatArray:
    """Return for each class the share of its items that chose it.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `confusion`.

    Returns
    -------
    ndarray, shape (n_rows, n_classes)
        In [0, 1]; NaN for a class of which no item was drawn.

    Examples
    --------
    >>> recall_by_class(np.array([[[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]]])).tolist()
    [[0.75, 0.25]]
    """
    return ratio(_right(counts), counts.sum(axis=2))


def unweighted_average_recall(counts: FloatArray) -> ClassMean:
    """Return the mean recall over classes, each class counting the same however many items it has.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `confusion`.

    Returns
    -------
    ClassMean
        In [0, 1], over the classes of which an item was drawn, and the number of other classes; NaN where nothing was
        drawn.

    Examples
    --------
    >>> unweighted_average_recall(np.array([[[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]]])).value.tolist()
    [0.5]
    """
    return _mean_of_defined(recall_by_class(counts))


def f1_by_class(counts: FloatArray) -> FloatArray:
    """Return for each class the harmonic mean of its precision and its recall.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `confusion`.

    Returns
    -------
    ndarray, shape (n_rows, n_classes)
        2 n_right / (n_true + n_chosen), in [0, 1]. A class that was chosen but has no item gets 0, as does one that
        has items and was never chosen; one with neither is undefined: NaN.

    Examples
    --------
    >>> f1_by_class(np.array([[[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]]])).round(4).tolist()
    [[0.6667, 0.3333]]
    """
    n_chosen = counts[:, :, :-1].sum(axis=1)
    return ratio(2 * _right(counts), counts.sum(axis=2) + n_chosen)


def macro_f1(counts: FloatArray) -> ClassMean:
    """Return the mean F1 over classes, each class counting the same.

    Parameters
    ----------
    counts : ndarray, shape (n_rows, n_classes, n_classes + 1)
        See `confusion`.

    Returns
    -------
    ClassMean
        In [0, 1], over the classes that were drawn or chosen, and the number of classes that were neither; NaN where
        there is none. The set of classes is the one of the columns in every row, never the one that a replicate or a
        fold happens to hold, and a class that it holds no item of but that was chosen still costs: its F1 is 0.

    Examples
    --------
    >>> macro_f1(np.array([[[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]]])).value.tolist()
    [0.5]
    """
    return _mean_of_defined(f1_by_class(counts))


class SingleAnswerGap(NamedTuple):
    """How far accuracy over replies that mention exactly one option lies above accuracy over all replies.

    `gap`, `accuracy` (A) and `accuracy_single` (A1) have the shape (n_rows,); `share` and `accuracy_by`, of replies
    that mention none, one or many options, in this order, the shape (n_rows, 3).
    """

    gap: FloatArray
    accuracy: FloatArray
    accuracy_single: FloatArray
    share: FloatArray
    accuracy_by: FloatArray


def single_answer_gap(n_mentions: IntArray, is_correct: npt.ArrayLike, weights: FloatArray) -> SingleAnswerGap:
    """Return the single-answer gap of forced-choice replies and what it is made of.

    Parameters
    ----------
    n_mentions : ndarray of int, shape (n_items,)
        Number of distinct options that the reply mentions.
    is_correct : array_like of bool or float, shape (n_items,)
        Whether the option that the parser took is the true one; False for a reply that could not be parsed, a share
        where a tie was split.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs, one row for each sample or replicate.

    Returns
    -------
    SingleAnswerGap
        `gap` = A1 - A in [-1, 1], NaN where no reply mentions exactly one option: that leaves open whether the
        accuracy measures the system or the parser. A kind of reply that does not occur has share 0 and no accuracy
        (NaN).

    Notes
    -----
    A = Σ_k share_k A_k over the kinds that occur. A gap can come from replies without an answer (none) or from
    replies that name several (many), and the decomposition tells which.

    Examples
    --------
    >>> gap = single_answer_gap(np.array([1, 1, 2, 0]), np.array([True, True, False, False]), np.ones((1, 4)))
    >>> gap.gap.tolist(), gap.share.tolist(), gap.accuracy_by.tolist()
    ([0.5], [[0.25, 0.5, 0.25]], [[0.0, 1.0, 0.0]])
    """
    kinds = np.column_stack([n_mentions == 0, n_mentions == 1, n_mentions > 1]).astype(np.float64)
    correct = np.asarray(is_correct, dtype=np.float64)
    n, n_right = weights @ kinds, weights @ (kinds * correct[:, None])
    total = n.sum(axis=1)
    by = ratio(n_right, n)
    overall = ratio(n_right.sum(axis=1), total)
    return SingleAnswerGap(by[:, 1] - overall, overall, by[:, 1], ratio(n, total[:, None]), by)


def _right(counts: FloatArray) -> FloatArray:
    return np.asarray(np.diagonal(counts[:, :, :-1], axis1=1, axis2=2))


def _mean_of_defined(values: FloatArray) -> ClassMean:
    defined = ~np.isnan(values)
    n = defined.sum(axis=1)
    sums = np.where(defined, values, 0.0).sum(axis=1)
    return ClassMean(ratio(sums, n.astype(np.float64)), np.asarray(values.shape[1] - n, dtype=np.int64))
