"""Which difference a t test could find: smallest differences and power, by the noncentral t distribution."""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import interpolate, special

from measurand.stats.inference import FloatArray

#: Points in 1 / df between which the detectable difference is interpolated; relative error below 1e-6 from 2 df on.
_KNOTS: Final = 1025
#: Degrees of freedom above which t is as good as normal.
_NORMAL: Final = 1e6
#: Noncentralities above which power is an average over the normal part, and points of that average.
_FAR: Final = 30.0
_POINTS: Final = 21


def detectable(df: npt.ArrayLike, *, power: float, alpha: float) -> FloatArray:
    """Return the difference that a two-sided t test finds with a given power, in standard errors.

    Parameters
    ----------
    df : array_like
        Degrees of freedom of the standard error, 1 or more, may be infinite.
    power : float
        Probability with which the difference is found, between `alpha` and 1.
    alpha : float
        Level of the test.

    Returns
    -------
    ndarray
        The noncentrality at which t exceeds its critical value with probability `power`; the other tail, below
        `alpha` / 2 and next to nothing at a power of .8, is left out.

    References
    ----------
    Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    Examples
    --------
    >>> detectable([14.0, np.inf], power=0.8, alpha=0.05).round(4).tolist()
    [3.0133, 2.8016]
    """
    inverse = 1 / np.maximum(np.asarray(df, dtype=float), 1.0)
    return np.asarray(_curve(power, alpha)(inverse))


@cache
def _curve(power: float, alpha: float) -> interpolate.CubicSpline:
    inverse = np.linspace(0.0, 1.0, _KNOTS)
    df = np.full(_KNOTS, _NORMAL)
    df[1:] = 1 / inverse[1:]
    critical = special.stdtrit(df, 1 - alpha / 2)
    values = np.asarray(special.nctdtrinc(df, 1 - power, critical))
    values[0] = special.ndtri(1 - alpha / 2) + special.ndtri(power)
    return interpolate.CubicSpline(inverse, values)


def power_of(difference: npt.ArrayLike, error: npt.ArrayLike, df: npt.ArrayLike, *, alpha: float) -> FloatArray:
    """Return the probability that a two-sided t test finds a difference.

    Parameters
    ----------
    difference : array_like
        The true difference, in scale units.
    error : array_like
        Its standard error, same units, above 0.
    df : array_like
        Degrees of freedom of the standard error.
    alpha : float
        Level of the test, which is also what is found where there is no difference.

    Returns
    -------
    ndarray
        Between `alpha` and 1.

    Examples
    --------
    >>> round(float(power_of(3.0133, 1.0, 14, alpha=0.05)), 3)
    0.8
    """
    degrees = np.minimum(np.asarray(df, dtype=float), _NORMAL)
    with np.errstate(divide="ignore", invalid="ignore"):
        noncentral = np.abs(np.asarray(difference, dtype=float)) / np.asarray(error, dtype=float)
    critical = special.stdtrit(degrees, 1 - alpha / 2)
    near = np.minimum(noncentral, _FAR)
    upper = np.where(
        noncentral > _FAR, _far(noncentral, degrees, critical), 1 - special.nctdtr(degrees, near, critical)
    )
    # Far out the wrong tail is below 3e-7, and its series gives no number.
    lower = np.where(noncentral > 5, 0.0, special.nctdtr(degrees, np.minimum(noncentral, 5.0), -critical))
    return np.asarray(np.clip(upper + lower, alpha, 1.0))


def _far(noncentral: FloatArray, df: FloatArray, critical: FloatArray) -> FloatArray:
    """Return the upper tail where the series of the noncentral t gives out: P(χ² < df ((δ + Z) / t)²), averaged over Z.

    Z is so small beside δ that few points are exact.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    ratio = (np.maximum(noncentral, _FAR)[..., None] + points) / critical[..., None]
    within = special.chdtr(df[..., None], df[..., None] * np.minimum(ratio, 1e100) ** 2)
    return np.asarray(within @ (weights / weights.sum()))


def expected_range(n: int) -> float:
    """Return the expected range of n draws from a normal distribution of standard deviation 1.

    Parameters
    ----------
    n : int
        How many; the range of one is 0.

    Notes
    -----
    The integral of 1 - Φⁿ - (1 - Φ)ⁿ; known as d₂ in quality control.

    References
    ----------
    Tippett (1925), Biometrika 17, 364-387.

    Examples
    --------
    >>> [round(expected_range(n), 3) for n in (2, 5, 25)]
    [1.128, 2.326, 3.931]
    """
    x = np.linspace(-9.0, 9.0, 3_601)
    below = special.ndtr(x)
    return float(np.trapezoid(1 - below**n - (1 - below) ** n, x))
