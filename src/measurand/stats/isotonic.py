"""Do answers mean what they say? Their isotonic fit to outcomes, and squared error taken apart by it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import optimize

from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.linearised import Linearised, ratio_of_sums


class Decomposition(NamedTuple):
    """Mean squared error of answers as numbers, and its parts; all with the influence of every cluster on them.

    Parameters
    ----------
    squared_error : Linearised
        Of the answers as they are.
    miscalibration : Linearised
        What the best increasing map of the answers to outcomes would save, 0 or more.
    discrimination : Linearised
        By how much the answers so mapped beat the mean outcome, 0 or more.
    uncertainty : Linearised
        The squared error of the mean outcome: the variance of the outcomes.
    optimism : float
        By how much miscalibration and discrimination may lean upwards, since the map is fitted to the same
        observations; NaN where the map has a step for every one.
    """

    squared_error: Linearised
    miscalibration: Linearised
    discrimination: Linearised
    uncertainty: Linearised
    optimism: float


def isotonic(answers: FloatArray, outcomes: FloatArray) -> FloatArray:
    """Return the increasing function of the answers that is nearest to the outcomes in squares, at every answer.

    Parameters
    ----------
    answers : ndarray, shape (n,)
        Finite numbers of any unit; only their order counts. Equal answers get equal values.
    outcomes : ndarray, shape (n,)
        What the answers are held against.

    Returns
    -------
    ndarray, shape (n,)
        In units of the outcomes; empty for none.

    Notes
    -----
    Pool adjacent violators on the mean outcome of every distinct answer, weighted by how often it was given.

    References
    ----------
    Barlow, Bartholomew, Bremner & Brunk (1972), Statistical Inference under Order Restrictions, section 1.2.

    Examples
    --------
    >>> isotonic(np.array([0.1, 0.4, 0.4, 0.9]), np.array([1.0, 0.0, 1.0, 3.0])).round(3).tolist()
    [0.667, 0.667, 0.667, 3.0]
    """
    if len(answers) == 0:
        return np.zeros(0)
    _, position, count = np.unique(answers, return_inverse=True, return_counts=True)
    mean = np.bincount(position, weights=outcomes) / count
    fitted = optimize.isotonic_regression(mean, weights=count.astype(np.float64)).x
    return np.asarray(fitted[position], dtype=np.float64)


def decomposed(answers: FloatArray, outcomes: FloatArray, cluster: IntArray) -> Decomposition:
    """Return the squared error of answers taken apart: miscalibration less discrimination plus uncertainty.

    Parameters
    ----------
    answers, outcomes : ndarray, shape (n,)
        On one scale.
    cluster : ndarray of int, shape (n,)
        Cluster of each: what would be redrawn.

    Returns
    -------
    Decomposition
        Undefined without observations.

    Notes
    -----
    With answers x, outcomes y, their mean m and isotonic fit f(x): squared error S(x) = mean (y - x)², miscalibration
    S(x) - S(f(x)), discrimination S(m) - S(f(x)), uncertainty S(m). The fit is made on the same observations, so that
    miscalibration and discrimination lean upwards. Since f and m minimise their errors, to first order the errors
    change with the weights alone: each part is a mean of what every observation brings, and so is its influence.

    With d steps of the map and s² = S(f(x)) / (1 - d / n) the optimism is 2 s² (d - 1) / n: what a map with as many
    free values gains on its own sample against a new one. In simulation (30 to 1,000 independent observations, binary
    outcomes and means of four ratings, calibrated answers and others) 95 % intervals whose lower end is less by it held
    miscalibration and discrimination 91 to 100 % of the time, with 30 observations 86 to 100 %; without it they held
    the miscalibration of calibrated answers 0 to 65 % of the time.

    References
    ----------
    Meyer & Woodroofe (2000), Annals of Statistics 28, 1083-1104 (degrees of freedom of an isotonic fit). Dimitriadis,
    Gneiting & Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118, e2016191118
    (the CORP decomposition); for means of any outcome Gneiting & Resin (2023), Electronic Journal of
    Statistics 17, 3226-3286.

    Examples
    --------
    >>> found = decomposed(np.array([0.0, 0.5, 1.0, 1.0]), np.array([0.0, 0.5, 0.5, 1.0]), np.arange(4))
    >>> [part.value for part in found[:4]]
    [0.0625, 0.03125, 0.09375, 0.125]
    """
    ones = np.ones(len(answers))
    of_answers = (outcomes - answers) ** 2
    fitted = isotonic(answers, outcomes)
    of_fit = (outcomes - fitted) ** 2
    of_mean = (outcomes - (outcomes.mean() if len(outcomes) else np.nan)) ** 2
    error, miscalibration, discrimination, uncertainty = (
        ratio_of_sums(part, ones, cluster) for part in (of_answers, of_answers - of_fit, of_mean - of_fit, of_mean)
    )
    n, n_steps = len(answers), len(np.unique(fitted))
    optimism = 2 * float(of_fit.sum()) / (n - n_steps) * (n_steps - 1) / n if n > n_steps else np.nan
    return Decomposition(error, miscalibration, discrimination, uncertainty, optimism)


def quantile_bins(answers: FloatArray, most: int) -> IntArray:
    """Return the bin of each answer, 0 the lowest: about equally many in each, equal answers always together.

    Parameters
    ----------
    answers : ndarray, shape (n,)
        Finite numbers.
    most : int
        The most bins, 1 or more; fewer where few answers are distinct. No bin is empty.

    Notes
    -----
    Answers of n that are equal, with b below them and c of them, go where the middle of their ranks lies:
    bin = floor(most (b + c / 2) / n); bins that none falls into are left out.

    Examples
    --------
    >>> quantile_bins(np.array([0.2, 0.1, 0.9, 0.9, 0.9, 0.3]), 3).tolist()
    [0, 0, 2, 2, 2, 1]
    """
    _, position, count = np.unique(answers, return_inverse=True, return_counts=True)
    middle = np.cumsum(count) - count / 2
    wanted = np.minimum(most * middle // max(len(answers), 1), most - 1)
    _, renumbered = np.unique(wanted, return_inverse=True)
    return np.asarray(renumbered[position], dtype=np.int64)
