"""Expected value over probabilities that are known exactly or within bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from measurand.stats.inference import FloatArray


class Bounded(NamedTuple):
    """A number and its bounds; all three are the same where it is known exactly."""

    value: float
    low: float
    high: float


def log_odds_bounds(low: tuple[float, float], high: tuple[float, float]) -> Bounded:
    r"""Return the log-odds of the first of two answers against the second.

    Parameters
    ----------
    low, high : pairs of float
        Bounds of the log-probability of either answer, in nats; -inf where it may be impossible.

    Returns
    -------
    Bounded
        In nats. The value is the middle of the bounds, NaN where they differ and either is unbounded. All three are NaN
        where one answer is impossible and the other may be: then nothing says that there are odds.

    Notes
    -----
    .. math:: \ell_y^{low} - \ell_n^{high} \le \log\frac{P(y)}{P(n)} \le \ell_y^{high} - \ell_n^{low}

    Examples
    --------
    >>> log_odds_bounds((-1.0, -3.0), (-1.0, -3.0))
    Bounded(value=2.0, low=2.0, high=2.0)
    """
    least, most = low[0] - high[1], high[0] - low[1]
    if math.isnan(least) or math.isnan(most):
        return Bounded(math.nan, math.nan, math.nan)
    if least == most:
        return Bounded(least, least, most)
    return Bounded((least + most) / 2 if math.isfinite(least) and math.isfinite(most) else math.nan, least, most)


def expected_value(values: FloatArray, low: FloatArray, high: FloatArray) -> Bounded:
    r"""Return the expected value over a set of values whose probabilities are known within bounds.

    Parameters
    ----------
    values : ndarray of float, shape (n_values,)
        The values, in any order.
    low, high : ndarray of float, shape (n_values,)
        Bounds of their probabilities, which need not add up to 1: what falls on none of the values is left out.

    Returns
    -------
    Bounded
        In units of the values, between the smallest and the largest of them. The value is the middle of the bounds. NaN
        where no value can have any probability.

    Notes
    -----
    .. math:: E = \frac{\sum_v v\,p_v}{\sum_v p_v}

    Its extremes over the box of bounds put every probability at one of its ends, with one threshold among the ordered
    values: the values below it at one end, those above it at the other. All thresholds are tried.

    Examples
    --------
    >>> expected_value(np.array([0.0, 1.0]), np.array([0.25, 0.75]), np.array([0.25, 0.75])).value
    0.75
    """
    if not np.any(high > 0):
        return Bounded(math.nan, math.nan, math.nan)
    order = np.argsort(values, kind="stable")
    ordered, least, most = values[order], low[order], high[order]
    n = len(ordered)
    below = np.tri(n + 1, n, -1, dtype=bool)
    ends = []
    for first, second in ((most, least), (least, most)):
        weights = np.where(below, first, second)
        total = weights.sum(axis=1)
        with np.errstate(invalid="ignore"):
            ends.append((weights @ ordered)[total > 0] / total[total > 0])
    # A ratio of sums can leave the values by a rounding error: .3 of 7 alone is 7, not 7.000000000000001.
    lowest, highest = np.clip([ends[0].min(), ends[1].max()], ordered[0], ordered[-1]).tolist()
    if np.array_equal(least, most):
        exact = float(np.clip((least @ ordered) / least.sum(), ordered[0], ordered[-1]))
        return Bounded(exact, exact, exact)
    highest = max(lowest, highest)
    return Bounded((lowest + highest) / 2, lowest, highest)


def share_bounds(low: FloatArray, high: FloatArray, *, mass_high: float = np.inf) -> tuple[FloatArray, FloatArray]:
    r"""Return the bounds of each probability as a share of all of them.

    Parameters
    ----------
    low, high : ndarray of float, shape (n_labels,)
        Bounds of the probabilities of labels.
    mass_high : float
        Largest possible sum of all of them.

    Returns
    -------
    tuple of ndarray of float, shape (n_labels,)
        Lowest and highest shares in [0, 1]; NaN where no label can have any probability.

    Notes
    -----
    .. math::

        \frac{l_i}{l_i + \min(\sum_{j \ne i} h_j,\ m - l_i)} \le \frac{p_i}{\sum_j p_j}
        \le \frac{h_i}{h_i + \sum_{j \ne i} l_j}

    Examples
    --------
    >>> [end.round(3).tolist() for end in share_bounds(np.array([0.6, 0.2]), np.array([0.6, 0.3]))]
    [[0.667, 0.25], [0.75, 0.333]]
    """
    # Sums of the others, not differences from the sum of all: those are off by a rounding error, and shares above 1.
    others = 1.0 - np.eye(len(low))
    most = np.minimum(others @ high, np.maximum(mass_high - low, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return low / (low + most), high / (high + others @ low)
