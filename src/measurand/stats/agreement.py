"""Agreement of raters: Krippendorff's alpha at four levels of measurement.

Every statistic is a function of *weights* on distinct patterns of ratings. Weights that count the sample give the
estimate, weights of a bootstrap replicate give the replicate: one formula serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from measurand.stats.inference import FloatArray, IntArray, Number

Metric = Literal["nominal", "ordinal", "interval", "ratio"]
METRICS: Final[tuple[Metric, ...]] = ("nominal", "ordinal", "interval", "ratio")

#: Distinct values up to which the ratio metric's expected disagreement is summed pair by pair.
_DIRECT_RATIO: Final = 256
#: Largest number of float64 values in one block of the ratio metric's integral.
_BLOCK: Final = 2**20


@dataclass(frozen=True)
class Patterns:
    """Units with at least two ratings, collapsed to the distinct patterns of ratings that they show.

    Parameters
    ----------
    values : ndarray, shape (n_values,)
        The distinct ratings, ascending.
    counts : sparse array (n_patterns, n_values)
        How often each value occurs in a unit of each pattern.
    of_unit : ndarray of int, shape (n_units,)
        The pattern of each pairable unit.
    unit : ndarray of int, shape (n_units,)
        Position of each pairable unit among all units.
    first : ndarray of int, shape (n_patterns,)
        A pairable unit (position among the pairable ones) that shows each pattern.
    """

    values: FloatArray
    counts: sparse.csr_array
    of_unit: IntArray
    unit: IntArray
    first: IntArray

    @property
    def n_units(self) -> int:
        """Number of units with at least two ratings."""
        return len(self.of_unit)

    @property
    def n_patterns(self) -> int:
        """Number of distinct patterns."""
        return len(self.first)

    @cached_property
    def size(self) -> FloatArray:
        """Number of ratings of a unit of each pattern."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @cached_property
    def counts_of_value(self) -> sparse.csr_array:
        """Transpose of `counts`, stored by row for fast products."""
        return sparse.csr_array(self.counts.T)

    @cached_property
    def nominal_disagreement(self) -> FloatArray:
        """Disagreeing ordered pairs of a unit over (size - 1), per pattern."""
        same = np.asarray(self.counts.multiply(self.counts).sum(axis=1), dtype=np.float64).ravel()
        return (self.size**2 - same) / (self.size - 1)

    @cached_property
    def centred(self) -> FloatArray:
        """The values around their mean, so that sums of squares lose no digits."""
        return self.values - (self.values.mean() if len(self.values) else 0.0)

    @cached_property
    def interval_disagreement(self) -> FloatArray:
        """Sum of squared differences over ordered pairs of a unit over (size - 1), per pattern."""
        sums = np.asarray(self.counts @ np.column_stack([self.centred, self.centred**2]), dtype=np.float64)
        found = 2 * (self.size * sums[:, 1] - sums[:, 0] ** 2) / (self.size - 1)
        return np.where(self.nominal_disagreement > 0, found, 0.0)  # full agreement is 0, not rounding dust

    @cached_property
    def ratio_disagreement(self) -> FloatArray:
        """Sum of squared relative differences over ordered pairs of a unit over (size - 1), per pattern."""
        out = np.zeros(self.n_patterns)
        lengths = np.diff(self.counts.indptr)
        for length in np.unique(lengths):
            rows = np.flatnonzero(lengths == length)
            at = self.counts.indptr[rows][:, None] + np.arange(length)
            value, count = self.values[self.counts.indices[at]], self.counts.data[at]
            for i in range(int(length)):
                for j in range(i + 1, int(length)):
                    total = value[:, i] + value[:, j]
                    out[rows] += 2 * count[:, i] * count[:, j] * ((value[:, i] - value[:, j]) / total) ** 2
        return out / (self.size - 1)


def patterns(unit: IntArray, rating: FloatArray, rater: IntArray | None = None) -> Patterns:
    """Collapse ratings to the distinct patterns that units show.

    Parameters
    ----------
    unit : ndarray of int, shape (n_ratings,)
        Position of each rating's unit, ascending.
    rating : ndarray of float, shape (n_ratings,)
        Ratings in scale units, finite.
    rater : ndarray of int or None, shape (n_ratings,)
        Position of each rating's rater; given, units share a pattern only if the same raters gave the same ratings.

    Returns
    -------
    Patterns
        Of the units with two ratings or more; the others take no part in agreement.
    """
    size = np.bincount(unit)
    pairable = size >= 2
    keep = pairable[unit]
    unit_kept, rating = unit[keep], rating[keep]
    names = np.flatnonzero(pairable).astype(np.int64)
    position = np.cumsum(pairable)[unit_kept] - 1
    values, code = np.unique(rating, return_inverse=True)
    slot = rater[keep] if rater is not None else None
    of_unit, first = _distinct(position.astype(np.int64), code.astype(np.int64), slot, len(names), len(values))
    shown = np.isin(position, first)
    row = of_unit[position[shown]]
    counts = sparse.csr_array((np.ones(int(shown.sum())), (row, code[shown])), shape=(len(first), max(len(values), 1)))
    counts.sum_duplicates()
    return Patterns(values, counts, of_unit, names, first)


def _distinct(
    unit: IntArray, code: IntArray, rater: IntArray | None, n_units: int, n_values: int
) -> tuple[IntArray, IntArray]:
    """Return each unit's pattern and one unit of each pattern; units stay apart where no integer can hold a pattern."""
    if n_units == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    starts = np.searchsorted(unit, np.arange(n_units))
    width = int(np.diff(np.r_[starts, len(unit)]).max())
    if rater is not None:
        names, slot = np.unique(rater, return_inverse=True)
        digits = len(names)
    else:
        # A multiset of values: sorted inside the unit, the place in the unit is the digit.
        order = np.lexsort((code, unit))
        code = code[order]
        slot = np.arange(len(unit)) - starts[unit]
        digits = width
    if digits * np.log2(n_values + 1) >= 62:
        everyone = np.arange(n_units, dtype=np.int64)
        return everyone, everyone
    key = np.add.reduceat((code + 1) * (n_values + 1) ** slot.astype(np.int64), starts)
    _, first, of_unit = np.unique(key, return_index=True, return_inverse=True)
    return of_unit.astype(np.int64), first.astype(np.int64)


def alphas(
    found: Patterns, weights: FloatArray, metrics: Sequence[Metric] = METRICS
) -> dict[str, npt.NDArray[np.float64]]:
    """Return Krippendorff's alpha of weighted patterns, for each metric, and the observed agreement.

    Parameters
    ----------
    found : Patterns
        The distinct patterns.
    weights : ndarray, shape (n_rows, n_patterns)
        Number of units of each pattern, one row for each sample or replicate.
    metrics : sequence of str
        Any of nominal, ordinal, interval, ratio.

    Returns
    -------
    dict
        Metric to values in (-inf, 1], shape (n_rows,); NaN where expected disagreement is 0 (no two different
        values). ``"observed"`` is the share of agreeing pairs, each unit's pairs weighted by 1 / (size - 1).

    Notes
    -----
    alpha = 1 - (n - 1) Σ_u D_u / D_e, with D_u = Σ_{i≠j in u} δ²(c_i, c_j) / (m_u - 1), D_e = Σ_c Σ_k n_c n_k δ²(c, k).
    The ordinal distance of two values is the distance of their mid-ranks in the pooled sample, so that ordinal alpha
    is interval alpha on mid-ranks (of the replicate's own sample), and both are sums: Σ_{i≠j} (x_i - x_j)² =
    2 m Σ x² - 2 (Σ x)². No matrix of values by values is needed; memory is proportional to the number of ratings.

    References
    ----------
    Krippendorff (2011), "Computing Krippendorff's alpha-reliability", sections C and D.
    """
    n_of_value = _product(weights, found.counts)
    n = n_of_value.sum(axis=1)
    out: dict[str, npt.NDArray[np.float64]] = {}
    disagreement = weights @ found.nominal_disagreement
    differing = n**2 - np.einsum("rc,rc->r", n_of_value, n_of_value)  # exact: 0 only if all ratings are the same
    with np.errstate(divide="ignore", invalid="ignore"):
        out["observed"] = 1 - disagreement / n
    for metric in metrics:
        if metric == "nominal":
            observed, expected = disagreement, differing
        elif metric == "ratio":
            observed = weights @ found.ratio_disagreement
            expected = _ratio_expected(n_of_value, found.values)
        elif metric == "interval":
            observed = weights @ found.interval_disagreement
            moments = n_of_value @ np.column_stack([found.centred, found.centred**2])
            expected = 2 * (n * moments[:, 1] - moments[:, 0] ** 2)
        else:
            # Mid-ranks around their mean, which is half the sample: their weighted sum is 0.
            place = np.cumsum(n_of_value, axis=1)
            place -= 0.5 * n_of_value
            place -= 0.5 * n[:, None]
            observed = _ordinal_disagreement(found, weights, place, n_of_value)
            observed = np.where(disagreement > 0, observed, 0.0)
            expected = 2 * n * np.einsum("rc,rc,rc->r", n_of_value, place, place)
        with np.errstate(divide="ignore", invalid="ignore"):
            out[metric] = np.where(differing > 0, 1 - (n - 1) * observed / expected, np.nan)
    return out


def _product(weights: FloatArray, matrix: sparse.csr_array) -> FloatArray:
    return np.asarray(weights @ matrix, dtype=np.float64)


def _ordinal_disagreement(
    found: Patterns, weights: FloatArray, place: FloatArray, n_of_value: FloatArray
) -> FloatArray:
    """Σ_u D_u where the distance of two values is the distance of their places, which differ from row to row."""
    share = weights / (found.size - 1)
    if np.ptp(found.size) == 0:  # units of one size: each value's sum of m / (m - 1) is a multiple of its count
        squares = np.einsum("rc,rc,rc->r", n_of_value, place, place) * (found.size[0] / (found.size[0] - 1))
    else:
        squares = np.einsum("rc,rc,rc->r", _product(share * found.size, found.counts), place, place)
    sums = _product(place, found.counts_of_value)
    return np.asarray(2 * (squares - np.einsum("rp,rp,rp->r", share, sums, sums)))


def _ratio_expected(n_of_value: FloatArray, values: FloatArray) -> FloatArray:
    """Σ_c Σ_k n_c n_k ((c - k) / (c + k))² for values of 0 or more.

    Few values are summed pair by pair. For many, with l = log c, ((c - k)/(c + k))² = tanh²((l_c - l_k)/2) =
    ∫_0^∞ (1 - cos ω(l_c - l_k)) 4ω / sinh(πω) dω: the double sum is a single integral of n² - |Σ n e^{iωl}|², which the
    trapezoidal rule gives to machine precision, since the integrand is analytic.
    """
    if len(values) <= _DIRECT_RATIO:
        total = values[:, None] + values[None, :]
        distance = np.divide(values[:, None] - values[None, :], total, out=np.zeros_like(total), where=total != 0) ** 2
        return np.asarray(np.einsum("rc,rc->r", n_of_value @ distance, n_of_value))
    positive = values > 0
    n = n_of_value[:, positive].sum(axis=1)
    zeros = n_of_value[:, ~positive].sum(axis=1)
    v, weight = values[positive], np.ascontiguousarray(n_of_value[:, positive])
    middle = np.sqrt(v[0] * v[-1])
    log = np.log1p((v - middle) / middle) if v[-1] < 2 * v[0] else np.log(v / middle)
    # The copies that a step repeats at distances of 2π / step stay 42 away: e^-42 of the whole, as are the ends.
    step = 2 * np.pi / (log[-1] - log[0] + 42.0)
    grid = np.arange(step, 13.5, step)
    kernel = 4 * step * grid / np.sinh(np.pi * grid)
    # Around the weighted mean: n² - |Σ n e^{iωl}|² without a difference of large numbers.
    centre = (weight @ log) / np.where(n > 0, n, 1.0)
    total = np.zeros(len(n))  # ω = 0 adds nothing: 1 - cos 0
    block = max(1, _BLOCK // len(log))
    for start in range(0, len(grid), block):
        angle = log[:, None] * grid[None, start : start + block]
        turned = centre[:, None] * grid[None, start : start + block]
        half, sine = weight @ (2 * np.sin(angle / 2) ** 2), weight @ np.sin(angle)
        # Σ n cos(ω(l - c)) and Σ n sin(ω(l - c)) from those around 0
        cosine = n[:, None] - half
        real = cosine * np.cos(turned) + sine * np.sin(turned)
        imaginary = sine * np.cos(turned) - cosine * np.sin(turned)
        lost = half + cosine * 2 * np.sin(turned / 2) ** 2 - sine * np.sin(turned)  # n - real, without the difference
        total = total + ((lost * (n[:, None] + real) - imaginary**2) * kernel[start : start + block]).sum(axis=1)
    return np.asarray(total + 2 * zeros * n)


def alpha(ratings: npt.ArrayLike, *, level: Metric) -> Number:
    """Return Krippendorff's alpha of a table of ratings.

    Parameters
    ----------
    ratings : array_like, shape (n_units, n_raters)
        Ratings in scale units; NaN where a rater did not rate a unit.
    level : {"nominal", "ordinal", "interval", "ratio"}
        Level of measurement; there is no default, since it changes the number.

    Returns
    -------
    Number
        1 for full agreement, 0 for what chance would give, below 0 for systematic disagreement. Undefined with one
        rater, without a unit rated twice, where all pairable ratings are the same, and for a ratio level with
        negative ratings.

    References
    ----------
    Krippendorff (2011), "Computing Krippendorff's alpha-reliability"; the example is its data set C.

    Examples
    --------
    >>> nan = np.nan
    >>> data = [[1, 1, nan, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    ...         [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [nan, 5, 5, 5], [nan, nan, 1, 1], [nan, 3, nan, nan]]
    >>> [round(alpha(data, level=level).value, 3) for level in METRICS]
    [0.743, 0.815, 0.849, 0.797]
    """
    table = np.asarray(ratings, dtype=float)
    if table.ndim != 2:
        return Number(np.nan, f"an array of {table.ndim} dimensions; expected units by raters")
    unit, rater = np.nonzero(~np.isnan(table))
    found = patterns(unit.astype(np.int64), table[unit, rater])
    if reason := undefined_alpha(found, level, n_raters=len(np.unique(rater))):
        return Number(np.nan, reason)
    weights = np.bincount(found.of_unit, minlength=found.n_patterns)[None, :].astype(float)
    return Number(float(alphas(found, weights, [level])[level][0]))


def undefined_alpha(found: Patterns, level: Metric, *, n_raters: int) -> str:
    """Return why alpha is undefined, blank if it is defined."""
    if level not in METRICS:
        return f"level {level!r} is none of {', '.join(METRICS)}"
    if n_raters < 2:
        return "one rater: agreement needs two"
    if found.n_units == 0:
        return "no unit was rated by two raters"
    if len(found.values) == 1:
        return f"no variation: all {int(found.size[found.of_unit].sum())} pairable ratings are {found.values[0]:g}"
    if level == "ratio" and found.values[0] < 0:
        return f"the ratio level needs ratings of 0 or more; there is {found.values[0]:g}"
    return ""
