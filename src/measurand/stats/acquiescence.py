"""How much of yes/no answers is the item (yes to everything), how much the question, and what is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray


class Shares(NamedTuple):
    """Shares of the sum of squares of log-odds; they add up to 1."""

    item: float
    question: float
    rest: float


def double_centred(log_odds: FloatArray) -> FloatArray:
    r"""Return log-odds without what an item gets on every question and a question on every item.

    Parameters
    ----------
    log_odds : ndarray of float, shape (n_items, n_questions)
        Log-odds of yes in nats; NaN where there is no answer.

    Returns
    -------
    ndarray of float, shape (n_items, n_questions)
        In nats; NaN where there was no answer. Means over items and over questions are 0 where nothing is missing.

    Notes
    -----
    The residual of the additive model :math:`x_{iq} = \mu + a_i + b_q + e_{iq}`, by least squares. Without gaps

    .. math:: e_{iq} = x_{iq} - \bar{x}_{i\cdot} - \bar{x}_{\cdot q} + \bar{x}_{\cdot\cdot}

    With gaps the normal equations of the model are solved, questions first: means of what happens to be there would
    take part of the items' differences for the questions'.

    References
    ----------
    Searle, S. R. (1987). Linear Models for Unbalanced Data, chapter 4, on two-way tables with unequal numbers.

    Examples
    --------
    >>> double_centred(np.array([[1.0, 2.0], [3.0, 8.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    there = ~np.isnan(log_odds)
    if there.all():
        centred = log_odds - log_odds.mean(axis=1, keepdims=True)
        return np.asarray(centred - centred.mean(axis=0, keepdims=True))
    return _residual(log_odds, there)


def _residual(x: FloatArray, there: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    n_of_item, n_of_question = there.sum(axis=1), there.sum(axis=0)
    filled = np.where(there, x, 0.0)
    kept = n_of_item > 0
    weight = there[kept] / n_of_item[kept, None]
    # Normal equations of the questions after the items are eliminated; singular by one for each part of the table
    # that no item connects with another, so that the least-squares solution is taken.
    matrix = np.diag(n_of_question.astype(float)) - weight.T @ there[kept]
    right = filled.sum(axis=0) - weight.T @ filled[kept].sum(axis=1)
    question = np.linalg.lstsq(matrix, right, rcond=1e-10)[0]
    left = np.where(there, x - question, 0.0)
    item = left.sum(axis=1) / np.maximum(n_of_item, 1)
    return np.where(there, x - question - item[:, None], np.nan)


def shares(log_odds: FloatArray, weight: FloatArray | None = None) -> FloatArray:
    r"""Return which share of the variation of log-odds is the item's, the question's, and neither's.

    Parameters
    ----------
    log_odds : ndarray of float, shape (n_items, n_questions)
        Log-odds of yes in nats, without gaps.
    weight : ndarray of float, shape (n_replicates, n_items), or None
        How often each item counts in each replicate; None for once.

    Returns
    -------
    ndarray of float, shape (n_replicates, 3)
        Shares of the total sum of squares, item, question, rest; in [0, 1], each row adds up to 1. NaN where all
        log-odds are the same.

    Notes
    -----
    .. math::

        \frac{Q \sum_i (\bar{x}_{i\cdot} - \bar{x})^2}{\sum_{iq} (x_{iq} - \bar{x})^2}, \quad
        \frac{n \sum_q (\bar{x}_{\cdot q} - \bar{x})^2}{\sum_{iq} (x_{iq} - \bar{x})^2}, \quad
        \frac{\sum_{iq} e_{iq}^2}{\sum_{iq} (x_{iq} - \bar{x})^2}

    Examples
    --------
    >>> shares(np.array([[1.0, 2.0], [3.0, 8.0]])).round(3).tolist()
    [[0.552, 0.31, 0.138]]
    """
    n_items, n_questions = log_odds.shape
    if weight is None:
        weight = np.ones((1, n_items))
    n = weight.sum(axis=1)
    # About the mean of everything: sums of squares of small differences stay exact.
    x = log_odds - log_odds.mean()
    of_item = x.mean(axis=1)
    of_question = (weight @ x) / n[:, None]
    grand = (weight @ of_item) / n
    total = weight @ (x**2).sum(axis=1) - n * n_questions * grand**2
    item = n_questions * (weight @ of_item**2 - n * grand**2)
    question = n * ((of_question - grand[:, None]) ** 2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = np.stack([item, question, total - item - question], axis=1) / total[:, None]
    parts[~(total > 1e-12 * np.maximum(weight @ (log_odds**2).sum(axis=1), 1e-300))] = np.nan
    # Differences of sums can miss 0 and 1 by a rounding error.
    return np.asarray(np.clip(parts, 0.0, 1.0))
