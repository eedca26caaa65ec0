"""How much of yes/no answers is the item (yes to everything), how much the question, and what is left."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from measurand.stats.inference import FloatArray, Interval, t_quantile

#: What is left of a cell's leverage where it alone fixes an effect: rounding, and no part of another cell.
_FIXED: Final = 1e-9


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
        In nats; NaN where there was no answer, and where it alone tells an item's or a question's effect (a single
        item, a single question, the only answer about an item): there is 0 left whatever the answer is. Means over
        items and over questions are 0 where nothing is missing.

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
    if min(log_odds.shape) < 2:
        return np.full(log_odds.shape, np.nan)
    if there.all():
        centred = log_odds - log_odds.mean(axis=1, keepdims=True)
        return np.asarray(centred - centred.mean(axis=0, keepdims=True))
    return _residual(log_odds, there)


def _residual(x: FloatArray, there: npt.NDArray[np.bool_]) -> FloatArray:
    n_of_item, n_of_question = there.sum(axis=1), there.sum(axis=0)
    filled = np.where(there, x, 0.0)
    kept = n_of_item > 0
    weight = there / np.maximum(n_of_item, 1)[:, None]
    # Normal equations of the questions after the items are eliminated; singular by one for each part of the table
    # that no item connects with another, so that the least-squares solution is taken.
    matrix = np.diag(n_of_question.astype(float)) - weight[kept].T @ there[kept]
    right = filled.sum(axis=0) - weight[kept].T @ filled[kept].sum(axis=1)
    inverse = np.linalg.pinv(matrix, rcond=1e-10, hermitian=True)
    question = inverse @ right
    left = np.where(there, x - question, 0.0)
    item = left.sum(axis=1) / np.maximum(n_of_item, 1)
    # Leverage of cell (i, q): 1/n_i + (u_q - w_i)' M^- (u_q - w_i), u_q being question q's unit vector.
    moved = weight @ inverse
    leverage = (
        1 / np.maximum(n_of_item, 1)[:, None] + np.diag(inverse) - 2 * moved + (moved * weight).sum(axis=1)[:, None]
    )
    return np.where(there & (leverage < 1 - _FIXED), x - question - item[:, None], np.nan)


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


def share_intervals(log_odds: FloatArray, *, confidence: float) -> list[Interval]:
    r"""Return intervals of the shares for items drawn from a population, the questions being these.

    Parameters
    ----------
    log_odds : ndarray of float, shape (n_items, n_questions)
        Log-odds of yes in nats, without gaps.
    confidence : float
        Level of the intervals.

    Returns
    -------
    list of Interval
        Of item, question and rest, in (0, 1). NaN with fewer than three items, and where a share is 0 or 1 with or
        without some item: its log-odds are infinite there.

    Notes
    -----
    Tukey's jackknife of the log-odds of a share. With theta of all items and theta_(i) of all but one, the mean and the
    standard error of the pseudo-values

    .. math:: n\,\theta - (n - 1)\,\theta_{(i)}

    give a t interval with n - 1 degrees of freedom.
    The mean is without most of the bias that sums of squares of few items have (a question's holds (Q - 1)/n of what is
    neither's); where the bias is so large that the interval would miss the share itself, it is widened to it.
    How often it holds is measured in ``benchmarks/coverage/acquiescence.md``.

    References
    ----------
    Arvesen, J. N., & Schmitz, T. H. (1970). Robust procedures for variance component problems using the jackknife.
    Biometrics 26, 677-686, on jackknifing transformed ratios of variances. Miller, R. G. (1974). The jackknife: a
    review. Biometrika 61, 1-15, on pseudo-values.

    Examples
    --------
    >>> x = np.add.outer([-2.0, -1.0, 0.0, 1.0, 2.0], [0.0, 1.0]) + np.array([[1, -1], [-1, 1]] * 2 + [[0, 0]]) / 4
    >>> [[round(float(end), 3) for end in interval[:2]] for interval in share_intervals(x, confidence=0.95)]
    [[0.484, 0.99], [0.008, 0.467], [0.003, 0.14]]
    """
    n = len(log_odds)
    nothing = [Interval(np.nan, np.nan)] * 3
    if n < 3:
        return nothing
    found, without = shares(log_odds)[0], shares(log_odds, 1 - np.eye(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        all_items, less_one = logit(found), logit(without)
        pseudo = n * all_items - (n - 1) * less_one
        half = t_quantile(n - 1, confidence) * pseudo.std(axis=0, ddof=1) / np.sqrt(n)
        low, high = expit(pseudo.mean(axis=0) - half), expit(pseudo.mean(axis=0) + half)
    return [
        Interval(min(float(low[k]), float(found[k])), max(float(high[k]), float(found[k])))
        if np.isfinite(half[k])
        else nothing[k]
        for k in range(3)
    ]
