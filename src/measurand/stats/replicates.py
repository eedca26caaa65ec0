"""Tests of estimates from their replicates on shared draws, one by one and many at once."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import Exact, FloatArray

#: Standard deviation up to which replicates differ by rounding alone.
_DUST: Final = 1e-12


def bootstrap_p(point: float, draws: FloatArray) -> Exact:
    """Return the two-sided p of a difference whose replicates, centred on it, stand in for its null distribution.

    Parameters
    ----------
    point : float
        The difference.
    draws : ndarray, shape (n_replicates,)
        Its replicates; undefined ones are left out.

    Returns
    -------
    Exact
        The share of replicates that lie at least as far from the difference as 0 does, (1 + hits) / (1 + n), never 0;
        the smallest that so many replicates can give, 1 / (1 + n). NaN where undefined.

    References
    ----------
    Davison & Hinkley (1997), Bootstrap Methods and their Application, section 4.4, with the replicates' distances
    from the difference for those of a null model from 0.

    Examples
    --------
    >>> bootstrap_p(3.0, np.array([2.0, 4.0, 3.5])).p
    0.25
    """
    known = draws[~np.isnan(draws)]
    if np.isnan(point) or len(known) == 0:
        return Exact(np.nan, np.nan, "no replicate has the difference" if len(known) == 0 else "there is no difference")
    # Replicates that differ from the bar by rounding dust alone reach it.
    bar = abs(point) - 1e-12 * max(1.0, abs(point))
    return Exact(float((1 + (np.abs(known - point) >= bar).sum()) / (1 + len(known))), 1 / (1 + len(known)))


def max_t(points: FloatArray, draws: FloatArray) -> FloatArray:
    """Return p values adjusted for many differences by the largest studentised deviation of each replicate.

    Parameters
    ----------
    points : ndarray, shape (n_differences,)
        The differences.
    draws : ndarray, shape (n_replicates, n_differences)
        Their replicates on shared draws; a replicate in which a difference is undefined is left out.

    Returns
    -------
    ndarray, shape (n_differences,)
        Single-step max-T; NaN where a difference is undefined or does not vary.

    References
    ----------
    Westfall & Young (1993), Resampling-Based Multiple Testing, section 2.3; Romano & Wolf (2005), JASA 100, 94-108.

    Examples
    --------
    >>> max_t(np.array([2.0]), np.array([[2.5], [1.0], [2.4]])).round(2).tolist()
    [0.25]
    """
    out = np.full(len(points), np.nan)
    known = np.flatnonzero(~np.isnan(points))
    whole = draws[:, known]
    found = _deviations(points[known], whole[~np.isnan(whole).any(axis=1)])
    used = known[found.varies]
    bar = np.abs(points[used]) / found.error[found.varies] * (1 - 1e-12)
    if len(used):
        out[used] = (1 + (found.largest[:, None] >= bar[None, :]).sum(axis=0)) / (1 + len(found.largest))
    return out


class _Deviations(NamedTuple):
    """The largest studentised deviation of each replicate, and the standard error of each estimate that varies."""

    largest: FloatArray
    error: FloatArray
    varies: npt.NDArray[np.bool_]


def _deviations(points: FloatArray, draws: FloatArray) -> _Deviations:
    """Return |replicate - estimate| / standard error, the largest over the estimates that vary."""
    if len(draws) < 2:
        return _Deviations(np.empty(0), np.zeros(len(points)), np.zeros(len(points), dtype=bool))
    error = draws.std(axis=0, ddof=1)
    varies = np.asarray(error > _DUST)
    deviation = np.abs(draws[:, varies] - points[varies]) / error[varies]
    return _Deviations(deviation.max(axis=1, initial=0.0), error, varies)
