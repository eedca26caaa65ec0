"""One line through a few points: its slope, and how little a share of explained variance says of the population's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from scipy import special

from measurand.stats.clustered import Slope
from measurand.stats.inference import FloatArray, Interval, t_p

#: Halvings of the bracket of an end: 2^-60 is below any digit shown.
_HALVINGS: Final = 60
#: What the tail of the mixture may still weigh where it is cut.
_TAIL: Final = 1e-12
#: Terms of the mixture that are summed one by one, points of the integral of the others, and where powers take over.
_MOST_TERMS: Final = 2_000
_GRID: Final = 1_001
_FAR: Final = 1e6
#: Correlations closer to 1 than this are 1 but for rounding.
_PERFECT: Final = 1e-12


def line(x: FloatArray, y: FloatArray) -> Slope:
    """Return the least-squares slope of independent points with its classical standard error.

    Parameters
    ----------
    x, y : ndarray, shape (n,)
        Coordinates.

    Returns
    -------
    Slope
        SE² = Σ e² / (n - 2) / Σ (x - x̄)², df = n - 2. Undefined below three points, and where x does not vary; without
        error where all points lie on the line.

    Examples
    --------
    >>> fitted = line(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.5, 3.0]))
    >>> round(fitted.slope, 2), round(fitted.standard_error, 4), fitted.df
    (1.05, 0.1323, 2)
    """
    n = len(x)
    if n < 3:
        return Slope(math.nan, math.nan, math.nan, math.nan, "fewer than three points")
    centred = x - x.mean()
    spread = float(centred @ centred)
    if spread <= 1e-24 * n * float(np.square(x).max()):
        return Slope(math.nan, math.nan, math.nan, math.nan, "x does not vary")
    slope = float(centred @ y) / spread
    residual = y - y.mean() - slope * centred
    error = math.sqrt(float(residual @ residual) / (n - 2) / spread)
    if error * math.sqrt(spread) <= 1e-13 * float(np.abs(y).max()):
        return Slope(slope, 0.0, n - 2, math.nan, "the points lie on a line: there is no error to judge it by")
    return Slope(slope, error, n - 2, t_p(slope / error, n - 2))


def fisher_interval(r: float, n: int, *, confidence: float, rank: bool = False) -> Interval:
    """Return the interval of a correlation by Fisher's transformation.

    Parameters
    ----------
    r : float
        Pearson's correlation, or Spearman's with `rank`.
    n : int
        Number of points.
    confidence : float
        Level of the interval.
    rank : bool
        Whether r is Spearman's: its transform has the variance (1 + r²/2) / (n - 3) in place of 1 / (n - 3).

    Returns
    -------
    Interval
        tanh(artanh r ± z SE); NaN below four points and where |r| is 1, whose transform is infinite.

    References
    ----------
    Fisher (1921), Metron 1, 3-32; Bonett & Wright (2000), Psychometrika 65, 23-28, for ranks.

    Examples
    --------
    >>> [round(end, 3) for end in fisher_interval(-0.657, 6, confidence=0.95, rank=True)[:2]]
    [-0.966, 0.43]
    """
    if n < 4 or not abs(r) < 1 - _PERFECT:
        return Interval(math.nan, math.nan)
    error = math.sqrt((1 + r * r / 2 if rank else 1.0) / (n - 3))
    half = float(special.ndtri((1 + confidence) / 2)) * error
    return Interval(math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half))


def squared(interval: Interval) -> Interval:
    """Return the interval of a square: from 0 where the interval itself holds 0.

    Examples
    --------
    >>> squared(Interval(-0.5, 0.2))[:2]
    (0.0, 0.25)
    """
    low, high = interval.low**2, interval.high**2
    return Interval(0.0 if interval.low < 0 < interval.high else min(low, high), max(low, high))


def r_squared_interval(r_squared: float, n: int, *, n_regressors: int = 1, confidence: float) -> Interval:
    """Return the exact interval of the population's R² where the regressors are a sample, too.

    Parameters
    ----------
    r_squared : float
        The sample's share of explained variance, in [0, 1].
    n : int
        Number of points.
    n_regressors : int
        Number of regressors p.
    confidence : float
        Level of the interval.

    Returns
    -------
    Interval
        The values of ρ² that neither tail of the distribution of R² refuses, for jointly normal variables; NaN unless
        n > p + 1 and R² < 1. Where R² is so small that the upper tail refuses even ρ² = 0, no value is left: the
        interval is extended to the estimate, from 0.

    Notes
    -----
    With N = n - 1, R² given ρ² is a mixture of Beta(p/2 + k, (N - p)/2), k negative binomial:
    P(k) = Γ(N/2 + k) / (k! Γ(N/2)) ρ^2k (1 - ρ²)^(N/2). With fixed regressors the mixture would be Poisson, and the
    interval narrower than a sample of systems supports.

    References
    ----------
    Muirhead (1982), Aspects of Multivariate Statistical Theory, section 5.2.3; Lee (1971), Journal of the Royal
    Statistical Society B 33, 117-130.

    Examples
    --------
    >>> [round(end, 3) for end in r_squared_interval(0.787, 8, confidence=0.95)[:2]]
    [0.208, 0.948]
    """
    if n <= n_regressors + 1 or not 0 <= r_squared < 1 - _PERFECT:
        return Interval(math.nan, math.nan)
    tail = (1 - confidence) / 2

    def below(rho_squared: float) -> float:
        return _below(r_squared, rho_squared, n - 1, n_regressors)

    low, high = _where(lambda rho: below(rho) - (1 - tail)), _where(lambda rho: below(rho) - tail)
    return Interval(min(low, r_squared), max(high, r_squared))


def _where(falling: Callable[[float], float]) -> float:
    """Return where a falling function of ρ² meets 0; 0 where it is negative throughout."""
    low, high = 0.0, 1.0
    if falling(0.0) <= 0:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def _below(r_squared: float, rho_squared: float, n: int, p: int) -> float:
    """P(R² ≤ r²), n being the degrees of freedom of the total."""
    if rho_squared == 0:
        return float(special.betainc(p / 2, (n - p) / 2, r_squared))
    if rho_squared == 1:
        return 0.0
    # Enough terms that the rest of the negative binomial weighs nothing: mean and spread of k grow as 1 / (1 - ρ²).
    # Further off the beta lies so close to 1 that nothing of it is below r² anyway.
    left = max(1 - rho_squared, 1e-300)
    mean = n / 2 * rho_squared / left
    most = min(mean + 12 * math.sqrt(mean / left) + 60, _last_that_counts(r_squared, n, p))
    k = np.arange(min(most, _MOST_TERMS) + 1)
    total = float(_terms(k, r_squared, rho_squared, n, p).sum())
    if most <= _MOST_TERMS:
        return total
    # So far off that terms change little from one to the next: their sum is an integral, over a geometric grid.
    log_k = np.linspace(math.log(_MOST_TERMS + 0.5), math.log(most), _GRID)
    k = np.exp(log_k)
    values = _terms(k, r_squared, rho_squared, n, p) * k
    weights = np.ones(_GRID)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0  # Simpson's rule
    return total + float(weights @ values) * float(log_k[1] - log_k[0]) / 3


def _terms(k: FloatArray, r_squared: float, rho_squared: float, n: int, p: int) -> FloatArray:
    """Return the weight of each k times the beta's share below r²."""
    a = n / 2
    near = np.minimum(k, _FAR)
    # Differences of log gamma lose their digits far off, where they are a power: Γ(k + a) / Γ(k + 1) ~ (k + a/2)^(a-1).
    log_ratio = np.where(k < _FAR, special.gammaln(near + a) - special.gammaln(near + 1), (a - 1) * np.log(k + a / 2))
    log_weight = log_ratio - special.gammaln(a) + k * math.log(rho_squared) + a * math.log1p(-rho_squared)
    return np.asarray(np.exp(log_weight) * special.betainc(p / 2 + k, (n - p) / 2, r_squared))


def _last_that_counts(r_squared: float, n: int, p: int) -> float:
    """Return the first power of two k from which Beta(p/2 + k, (n - p)/2) has next to nothing below r²."""
    k = 1.0
    while special.betainc(p / 2 + k, (n - p) / 2, r_squared) > _TAIL:
        k *= 2
    return k
