"""Scores over repeated splits of one table: the corrected resampled t, whose splits share rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from measurand.stats import inference
from measurand.stats.inference import FloatArray, t_p, t_quantile


class Resampled(NamedTuple):
    """A mean over repeated splits with its corrected interval and test; NaN with a reason where it is undefined."""

    mean: float
    low: float
    high: float
    t: float
    df: float
    p: float
    undefined: str = ""


def corrected_resampled_t(values: FloatArray, *, n_train: float, n_test: float, confidence: float) -> Resampled:
    """Return the mean of a score, or of a difference of scores, over repeated random splits with its corrected t.

    Parameters
    ----------
    values : ndarray, shape (n_splits,)
        The score of each split, each made anew of the same rows.
    n_train, n_test : float
        Rows (or items) on either side; only their ratio counts.
    confidence : float
        Level of the interval.

    Returns
    -------
    Resampled
        Test of mean zero with n_splits - 1 degrees of freedom. The mean stands wherever there is a value; interval
        and test are undefined below two splits, or where the values do not vary.

    Raises
    ------
    ValueError
        If a side has no rows.

    Notes
    -----
    t = m / √((1/J + n_test/n_train) s²) over J splits of mean m and variance s². Splits of one table share their
    rows, so that s²/J understates the error: more splits of the same rows make it vanish, though the table itself was
    sampled once. The correction takes the correlation of two splits for n_test / (n_test + n_train).

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52, 239-281, the corrected
    resampled t-test.

    Examples
    --------
    >>> found = corrected_resampled_t(np.array([0.02, 0.03, 0.04]), n_train=80, n_test=20, confidence=0.95)
    >>> round(found.mean, 4), round(found.t, 4), round(found.p, 4)
    (0.03, 3.9279, 0.0591)
    """
    if n_train <= 0 or n_test <= 0:
        raise ValueError(f"{n_train} training and {n_test} test rows; a split has some on either side")
    n = len(values)
    mean = float(values.mean()) if n else float("nan")
    if n < 2:
        return Resampled(mean, np.nan, np.nan, np.nan, np.nan, np.nan, f"{n} split; a t test over splits needs two")
    spread = float(values.std(ddof=1))
    if spread <= 1e-14 * float(np.abs(values).max()):
        return Resampled(mean, np.nan, np.nan, np.nan, n - 1, np.nan, "the splits do not vary")
    error = spread * np.sqrt(1 / n + n_test / n_train)
    half, t = t_quantile(n - 1, confidence) * error, mean / error
    return Resampled(mean, float(mean - half), float(mean + half), float(t), n - 1, t_p(float(t), n - 1))


def pooled_t_test(a: FloatArray, b: FloatArray) -> inference.Test:
    """Return Student's two-sample t test of equal means with one variance.

    Parameters
    ----------
    a, b : ndarray, shape (n_a,), (n_b,)
        Independent values. Scores of splits of one table are not: for these the test is here to show what it would
        say.

    Returns
    -------
    inference.Test
        df1 = 1, df2 = n_a + n_b - 2; undefined below two values on a side, or where neither side varies.

    Examples
    --------
    >>> test = pooled_t_test(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]))
    >>> round(test.statistic, 4), test.df2, round(test.p, 4)
    (-1.2247, 4, 0.2879)
    """
    n_a, n_b = len(a), len(b)
    if min(n_a, n_b) < 2:
        return inference.Test(np.nan, 1, np.nan, np.nan, "fewer than two values on a side; a t test needs two")
    df = n_a + n_b - 2
    squares = float(((a - a.mean()) ** 2).sum() + ((b - b.mean()) ** 2).sum())
    error = np.sqrt(squares / df * (1 / n_a + 1 / n_b))
    if error <= 1e-14 * max(float(np.abs(a).max()), float(np.abs(b).max())):
        return inference.Test(np.nan, 1, df, np.nan, "the values do not vary")
    t = float((a.mean() - b.mean()) / error)
    return inference.Test(t, 1, df, t_p(t, df))
