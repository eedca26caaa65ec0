"""How well graded answers order and meet the ratings: rank correlation, average precision, AUROC, absolute error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats import association
from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]

#: Largest number of weights taken at once: bounds memory, and blocks that stay in the cache are faster.
_BLOCK: Final = 2**18


def spearman(x: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return Spearman's rank correlation of weighted items, whatever the number of rows, in bounded memory.

    Parameters
    ----------
    x, y : ndarray, shape (n_items,)
        Two finite values of each item; only their order counts.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs, one row for each sample or replicate; 0 where it was not drawn.

    Returns
    -------
    ndarray, shape (n_rows,)
        In [-1, 1]; NaN where one side is constant among the items drawn.

    Notes
    -----
    Pearson's correlation of mid-ranks. Ranks are those of the row's own sample: an item drawn w times is w tied items.

    Examples
    --------
    >>> spearman(np.array([1.0, 2, 3, 4]), np.array([1.0, 8, 27, 20]), np.ones((1, 4))).round(3).tolist()
    [0.8]
    """
    return _in_blocks(lambda rows: association.spearman(x, y, rows), weights)


def average_precision(score: FloatArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the average precision of a score that should put the positive items first.

    Parameters
    ----------
    score : ndarray, shape (n_items,)
        Higher means more likely positive, no NaN, infinities allowed. Only the order counts.
    positive : ndarray of bool, shape (n_items,)
        Which items are positive.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs; items of weight 0 do not count.

    Returns
    -------
    ndarray, shape (n_rows,)
        In (0, 1]; a constant score gets the `prevalence`. NaN where no positive or no negative item was drawn.

    Notes
    -----
    AP = Σ_k (R_k - R_(k-1)) P_k over the distinct scores from the highest down, with recall R_k and precision P_k of
    the items at or above the k-th. Items of equal score come in at once, so that their order in the table cannot
    matter, and precision is not interpolated between thresholds.

    References
    ----------
    Buckley & Voorhees (2000), SIGIR '00, 33-40, for the untied case.

    Examples
    --------
    >>> score, positive = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    >>> average_precision(score, positive, np.ones((1, 4))).round(4).tolist()
    [0.8333]
    """
    counted = _counting(score, positive)

    def of(rows: FloatArray) -> FloatArray:
        n = counted(rows)
        found = np.cumsum(n.positives, axis=1)
        # Without an item at or above a score there is no positive one either: that term is 0.
        precision = np.divide(found, n.at_or_above, out=np.zeros_like(found), where=n.at_or_above > 0)
        gain, n_positive = np.einsum("rk,rk->r", n.positives, precision), n.positives.sum(axis=1)
        return np.where(n_positive < rows.sum(axis=1), ratio(gain, n_positive), np.nan)

    return _in_blocks(of, weights)


def auroc(score: FloatArray, positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the area under the ROC curve: how often a positive item scores above a negative one, ties for a half.

    Parameters
    ----------
    score : ndarray, shape (n_items,)
        Higher means more likely positive, no NaN, infinities allowed. Only the order counts.
    positive : ndarray of bool, shape (n_items,)
        Which items are positive.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs; items of weight 0 do not count.

    Returns
    -------
    ndarray, shape (n_rows,)
        In [0, 1]; a constant score gets exactly 0.5. NaN where no positive or no negative item was drawn.

    Notes
    -----
    (pairs in which the positive item scores higher + half the tied pairs) / pairs: the Mann-Whitney statistic over
    its maximum.

    References
    ----------
    Hanley & McNeil (1982), Radiology 143, 29-36.

    Examples
    --------
    >>> score, positive = np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False])
    >>> auroc(score, positive, np.ones((1, 4))).tolist()
    [0.875]
    """
    counted = _counting(score, positive)

    def of(rows: FloatArray) -> FloatArray:
        n = counted(rows)
        n_positive = n.positives.sum(axis=1)
        n_negative = rows.sum(axis=1) - n_positive
        # Negatives that beat a positive item, and half of those that tie with it, counted from the highest score down.
        lost = n.at_or_above - np.cumsum(n.positives, axis=1) - 0.5 * (n.tied - n.positives)
        won = n_positive * n_negative - np.einsum("rk,rk->r", n.positives, lost)
        return ratio(won, n_positive * n_negative)

    return _in_blocks(of, weights)


def prevalence(positive: BoolArray, weights: FloatArray) -> FloatArray:
    """Return the share of positive items: the average precision that a score without information expects.

    Parameters
    ----------
    positive : ndarray of bool, shape (n_items,)
        Which items are positive.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs.

    Returns
    -------
    ndarray, shape (n_rows,)
        In [0, 1]; NaN where nothing was drawn.

    Examples
    --------
    >>> prevalence(np.array([True, False, False, False]), np.ones((1, 4))).tolist()
    [0.25]
    """
    return ratio(weights @ positive.astype(np.float64), weights.sum(axis=1))


def mean_absolute_error(x: FloatArray, ratings: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the mean distance of answers from the single ratings.

    Parameters
    ----------
    x : ndarray, shape (n_items,)
        Finite answers, in scale units.
    ratings : ndarray, shape (n_items, n_raters)
        Ratings in scale units, NaN where a rater did not rate the item.
    weights : ndarray, shape (n_rows, n_items)
        How often each item occurs.

    Returns
    -------
    ndarray, shape (n_rows,)
        Σ_i w_i Σ_r |x_i - y_ir| / Σ_i w_i m_i in scale units, from 0, where m_i raters rated item i: every single
        rating counts the same. NaN where no item drawn has a rating.

    Examples
    --------
    >>> mean_absolute_error(np.array([1.0, 2.0]), np.array([[1.0, 2.0], [4.0, np.nan]]), np.ones((1, 2))).tolist()
    [1.0]
    """
    there = ~np.isnan(ratings)
    distance = np.abs(np.where(there, ratings, 0.0) - x[:, None])
    sums = weights @ np.column_stack([(distance * there).sum(axis=1), there.sum(axis=1)])
    return ratio(sums[:, 0], sums[:, 1])


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """Return part / whole for sums of non-negative weights, NaN where the whole is 0: nothing was drawn.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, nan]
    """
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))


class _Counts(NamedTuple):
    """Items drawn at each distinct score of a positive item, from the highest down, each (n_rows, n_distinct)."""

    positives: FloatArray
    tied: FloatArray
    at_or_above: FloatArray


def _counting(score: FloatArray, positive: BoolArray) -> Callable[[FloatArray], _Counts]:
    """Sort once; what is returned counts in blocks of rows. Scores that no positive item has bring no term."""
    order, starts = _from_highest(score)
    is_positive = positive[order]
    positives = order[is_positive]
    _, positive_starts = _from_highest(score[positives])
    here = np.searchsorted(starts, np.flatnonzero(is_positive)[positive_starts], side="right") - 1

    def of(rows: FloatArray) -> _Counts:
        tied = _by_score(rows[:, order], starts)
        at_or_above = np.cumsum(tied, axis=1)
        return _Counts(_by_score(rows[:, positives], positive_starts), tied[:, here], at_or_above[:, here])

    return of


def _from_highest(score: FloatArray) -> tuple[IntArray, IntArray]:
    """Order of the items from the highest score down, and where in it each distinct score begins."""
    order = np.argsort(-score, kind="stable")
    ordered, is_first = score[order], np.ones(len(score), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]  # no differences: log-odds can be infinite
    return order, np.flatnonzero(is_first)


def _by_score(ordered: FloatArray, starts: IntArray) -> FloatArray:
    """Sums over the items of each distinct score, shape (n_rows, n_distinct)."""
    if len(starts) == ordered.shape[1]:
        return ordered
    return np.asarray(np.add.reduceat(ordered, starts, axis=1))


def _in_blocks(statistic: Callable[[FloatArray], FloatArray], weights: FloatArray) -> FloatArray:
    if weights.shape[1] == 0:
        return np.full(len(weights), np.nan)
    rows = max(1, _BLOCK // weights.shape[1])
    return np.concatenate([statistic(weights[i : i + rows]) for i in range(0, max(1, len(weights)), rows)])
