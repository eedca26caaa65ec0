"""Reliability: the six intraclass correlations, the coefficients G and Phi, and the decision study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray, Interval, Number, f_quantile

#: Shrout & Fleiss (1979) forms in the order of `icc_forms`; McGraw & Wong (1996) call them ICC(1), ICC(A,1), ICC(C,1),
#: ICC(k), ICC(A,k), ICC(C,k).
ICC_FORMS: Final = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
ICC_NAMES: Final = {
    "icc_1_1": "ICC(1,1) = ICC(1): absolute agreement, one rating, raters differ from unit to unit",
    "icc_2_1": "ICC(2,1) = ICC(A,1): absolute agreement, one rating, the same random raters",
    "icc_3_1": "ICC(3,1) = ICC(C,1): consistency, one rating, these very raters",
    "icc_1_k": "ICC(1,k) = ICC(k): absolute agreement, mean of the panel, raters differ from unit to unit",
    "icc_2_k": "ICC(2,k) = ICC(A,k): absolute agreement, mean of the panel, the same random raters",
    "icc_3_k": "ICC(3,k) = ICC(C,k): consistency, mean of the panel, these very raters",
}


class TwoWay(NamedTuple):
    """Mean squares of units by raters: between units, between raters, residual, within units; and the sizes."""

    units: FloatArray
    raters: FloatArray
    residual: FloatArray
    within: FloatArray
    n: FloatArray
    k: int


def two_way(table: FloatArray, weights: FloatArray) -> TwoWay:
    """Return the mean squares of weighted rows of a complete table.

    Parameters
    ----------
    table : ndarray, shape (n_patterns, n_raters)
        The distinct rows of ratings, no NaN.
    weights : ndarray, shape (n_rows, n_patterns)
        How often each occurs, one row for each sample or replicate.

    Returns
    -------
    TwoWay
        Arrays of shape (n_rows,).
    """
    k = table.shape[1]
    x = table - table.mean()
    n = weights.sum(axis=1)
    sums = weights @ np.column_stack([(x**2).sum(axis=1), x.sum(axis=1) ** 2, x])
    columns = sums[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = columns.sum(axis=1) ** 2 / (n * k)
        ss_total = sums[:, 0] - correction
        ss_units = sums[:, 1] / k - correction
        ss_raters = (columns**2).sum(axis=1) / n - correction
        floor = 1e-13 * np.maximum(sums[:, 0], 0.0)
        ss_units, ss_raters = _zeroed(ss_units, floor), _zeroed(ss_raters, floor)
        ss_residual = _zeroed(ss_total - ss_units - ss_raters, floor)
        return TwoWay(
            ss_units / (n - 1),
            ss_raters / (k - 1),
            ss_residual / ((n - 1) * (k - 1)),
            (ss_residual + ss_raters) / (n * (k - 1)),
            n,
            k,
        )


def _zeroed(ss: FloatArray, floor: FloatArray) -> FloatArray:
    """Sums of squares with rounding dust taken away, which else would be divided by dust."""
    return np.where(np.abs(ss) <= floor, 0.0, ss)


def icc_forms(ms: TwoWay) -> FloatArray:
    """Return the six intraclass correlations, shape (n_rows, 6), in the order of `ICC_FORMS`; NaN where undefined.

    References
    ----------
    Shrout & Fleiss (1979), Psychological Bulletin 86, 420-428; McGraw & Wong (1996), Psychological Methods 1, 30-46.
    """
    bias = (ms.raters - ms.residual) / ms.n
    pairs = [
        (ms.units - ms.within, ms.units + (ms.k - 1) * ms.within),
        (ms.units - ms.residual, ms.units + (ms.k - 1) * ms.residual + ms.k * bias),
        (ms.units - ms.residual, ms.units + (ms.k - 1) * ms.residual),
        (ms.units - ms.within, ms.units),
        (ms.units - ms.residual, ms.units + bias),
        (ms.units - ms.residual, ms.units),
    ]
    with np.errstate(divide="ignore", invalid="ignore"):
        dust = 1e-13 * (ms.units + ms.residual + np.abs(bias))
        return np.column_stack([np.where(below > dust, above / below, np.nan) for above, below in pairs])


def icc_intervals(ms: TwoWay, *, confidence: float) -> list[Interval]:
    """Return the F intervals of the six intraclass correlations of one table.

    Parameters
    ----------
    ms : TwoWay
        Mean squares of one row.
    confidence : float
        Level.

    Returns
    -------
    list of Interval
        In the order of `ICC_FORMS`; NaN where a mean square that they divide by is 0.

    Notes
    -----
    Forms 1 and 2 generalise over raters of this kind, form 3 over units alone. They take normal, independent units.

    References
    ----------
    McGraw & Wong (1996), Psychological Methods 1, 30-46, table 7.
    """
    units, raters, residual, within, n = (float(x[0]) for x in (ms.units, ms.raters, ms.residual, ms.within, ms.n))
    k, upper = ms.k, (1 + confidence) / 2
    undefined = Interval(np.nan, np.nan)
    one = two = three = undefined
    if within > 0:
        one = ratio_interval(units / within, n - 1, n * (k - 1), confidence=confidence)
    if residual > 0:
        three = ratio_interval(units / residual, n - 1, (n - 1) * (k - 1), confidence=confidence)
        icc = float(icc_forms(ms)[0, 1])
        if icc < 1:
            a = k * icc / (n * (1 - icc))
            b = 1 + k * icc * (n - 1) / (n * (1 - icc))
            error = a * raters + b * residual
            spread = (a * raters) ** 2 / (k - 1) + (b * residual) ** 2 / ((n - 1) * (k - 1))
            df = error**2 / spread if spread > 0 else 0.0
            # Near the lowest value that the form can take the error term vanishes, and its degrees of freedom with it.
            if error > 0 and df >= 0.1:
                f_low, f_high = f_quantile(upper, n - 1, df), f_quantile(upper, df, n - 1)
                rest = k * raters + (k * n - k - n) * residual
                two = Interval(
                    n * (units - f_low * residual) / (f_low * rest + n * units),
                    n * (f_high * units - residual) / (rest + n * f_high * units),
                )
    single = [_single(one, k), two, _single(three, k)]
    return single + [Interval(_stepped_up(i.low, k), _stepped_up(i.high, k)) for i in single]


def ratio_interval(f: float, df1: float, df2: float, *, confidence: float) -> Interval:
    """Return the interval of the ratio of two expected mean squares from that of the mean squares.

    Parameters
    ----------
    f : float
        Ratio of two independent mean squares, each a multiple of a chi-squared variable.
    df1, df2 : float
        Degrees of freedom of the upper and the lower one.
    confidence : float
        Level; the interval is exact.

    Returns
    -------
    Interval
        f / F(df1, df2) to f F(df2, df1), with F the quantiles at (1 + confidence) / 2.

    References
    ----------
    McGraw & Wong (1996), Psychological Methods 1, 30-46, table 7, the forms with two mean squares.

    Examples
    --------
    >>> interval = ratio_interval(0.5855, 7, 14, confidence=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.173, 2.691)
    """
    upper = (1 + confidence) / 2
    return Interval(f / f_quantile(upper, df1, df2), f * f_quantile(upper, df2, df1))


def _single(ratio: Interval, k: int) -> Interval:
    return Interval((ratio.low - 1) / (ratio.low + k - 1), (ratio.high - 1) / (ratio.high + k - 1))


def _stepped_up(icc: float, k: int) -> float:
    """Spearman-Brown: the reliability of the mean of k ratings from that of one."""
    below = 1 + (k - 1) * icc
    return k * icc / below if below > 0 else np.nan if np.isnan(icc) else -np.inf


def icc(ratings: npt.ArrayLike, *, form: str) -> Number:
    """Return an intraclass correlation of a complete table.

    Parameters
    ----------
    ratings : array_like, shape (n_units, n_raters)
        Ratings in scale units; rows with a NaN are left out (listwise).
    form : str
        One of `ICC_FORMS`.

    Returns
    -------
    Number
        At most 1; negative where units differ less than ratings within them. Undefined below two complete units or
        two raters, and where the mean square that it divides by is 0.

    References
    ----------
    Shrout & Fleiss (1979), table 2 and 4, which the example reproduces.

    Examples
    --------
    >>> table = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> [round(icc(table, form=form).value, 2) for form in ICC_FORMS]
    [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    """
    if form not in ICC_FORMS:
        return Number(np.nan, f"form {form!r} is none of {', '.join(ICC_FORMS)}")
    table = np.asarray(ratings, dtype=float)
    table = table[~np.isnan(table).any(axis=1)]
    if reason := undefined_icc(len(table), table.shape[1]):
        return Number(np.nan, reason)
    value = float(icc_forms(two_way(table, np.ones((1, len(table)))))[0, ICC_FORMS.index(form)])
    return Number(value, "" if value == value else NO_VARIATION)


#: Why a form is undefined although the table is large enough.
NO_VARIATION: Final = "no variation between the units (what it divides by is 0 or negative)"


def undefined_icc(n_units: int, n_raters: int) -> str:
    """Return why no intraclass correlation can be had, blank if it can."""
    if n_raters < 2:
        return "one rater: agreement needs two"
    if n_units < 2:
        return f"{n_units} unit{'' if n_units == 1 else 's'} rated by all {n_raters} raters; two are needed"
    return ""


# ---------------------------------------------------------------------------------------------------------------------
# Generalizability: systems are the objects, items and raters are random


def relative_error(parts: Mapping[str, FloatArray], n_items: npt.ArrayLike, n_raters: npt.ArrayLike) -> FloatArray:
    """Return the error variance of differences between systems.

    Parameters
    ----------
    parts : mapping
        Variance components `item:system`, `system:rater`, `residual`; arrays broadcast. Negative ones count as 0.
    n_items, n_raters : array_like
        Sizes of the panel that is projected; may be infinite.

    Returns
    -------
    ndarray
        σ²(δ) = σ²_sr / n_r + σ²_ps / n_p + σ²_psr / (n_p n_r), in squared scale units.
    """
    p, r = np.asarray(n_items, dtype=float), np.asarray(n_raters, dtype=float)
    s = {name: np.maximum(value, 0.0) for name, value in parts.items()}
    return np.asarray(s["system:rater"] / r + s["item:system"] / p + s["residual"] / (p * r))


def absolute_error(parts: Mapping[str, FloatArray], n_items: npt.ArrayLike, n_raters: npt.ArrayLike) -> FloatArray:
    """Return the error variance of system means as such: σ²(δ) + σ²_r / n_r + σ²_p / n_p + σ²_pr / (n_p n_r)."""
    p, r = np.asarray(n_items, dtype=float), np.asarray(n_raters, dtype=float)
    s = {name: np.maximum(value, 0.0) for name, value in parts.items()}
    shared = s["rater"] / r + s["item"] / p + s["item:rater"] / (p * r)
    return np.asarray(relative_error(parts, p, r) + shared)


class LayoutError(NamedTuple):
    """What each component adds to the error variance of the system means of a panel as it is laid out."""

    relative: Mapping[str, float]
    absolute: Mapping[str, float]

    def variance(self, parts: Mapping[str, FloatArray], *, absolute: bool) -> FloatArray:
        """Return the error variance; negative components count as 0."""
        weights = self.absolute if absolute else self.relative
        total = sum(weight * np.maximum(parts[name], 0.0) for name, weight in weights.items())
        return np.asarray(total)


def layout_error(item: IntArray, system: IntArray, rater: IntArray) -> LayoutError:
    """Return the weights of the components in the error of system means, whoever rated what.

    Parameters
    ----------
    item, system, rater : ndarray of int, shape (n,)
        Level of each rating, from 0 without gaps.

    Returns
    -------
    LayoutError
        `absolute`: mean over systems of Σ_l w_sl², with w_sl the share of system s's ratings in level l of the
        component. `relative`: half the mean over pairs of systems of what they do not share, Σ_l (w_al - w_bl)²; of
        components that involve the system that is the same sum. On complete panels 1 / n_raters and so on, and 0 for
        what the systems share.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 7.2 (unbalanced designs).

    Examples
    --------
    >>> item, system, rater = (index.ravel() for index in np.indices((4, 2, 3)))
    >>> weights = layout_error(item, system, rater)
    >>> round(weights.relative["system:rater"], 4), weights.relative["rater"]
    (0.3333, 0.0)
    """
    facets = {"item": item, "system": system, "rater": rater}
    n_systems = int(system.max()) + 1
    of_system = np.bincount(system, minlength=n_systems)
    relative, absolute = {}, {}
    names: tuple[str, ...] = ("item", "rater", "item:system", "item:rater", "system:rater", "residual")
    for name in names:
        parts = ["item", "rater"] if name == "residual" else [p for p in name.split(":") if p != "system"]
        level = facets[parts[0]]
        for part in parts[1:]:
            level = level * (int(facets[part].max()) + 1) + facets[part]
        cells, counts = np.unique(level * n_systems + system, return_counts=True)
        share = counts / of_system[cells % n_systems]
        each = float((share**2).sum())
        absolute[name] = each / n_systems
        if "system" in name or name == "residual":
            relative[name] = each / n_systems
            continue
        levels = np.unique(cells // n_systems, return_inverse=True)[1]
        apart = n_systems * each - float((np.bincount(levels, weights=share) ** 2).sum())
        # Systems that were judged in the same cells share these effects exactly.
        relative[name] = apart / (n_systems * (n_systems - 1)) if apart > 1e-12 * n_systems * each else 0.0
    return LayoutError(relative, absolute)


def coefficient(system: FloatArray, error: FloatArray) -> FloatArray:
    """Return σ²_s / (σ²_s + error): G with the relative error, Phi with the absolute one.

    A negative system variance counts as 0; NaN where system and error variance are both 0.

    References
    ----------
    Brennan (2001), Generalizability Theory, equations 4.12 and 4.13.

    Examples
    --------
    >>> parts = {"system:rater": np.array(0.0676), "item:system": np.array(0.0905), "residual": np.array(0.6364)}
    >>> round(float(coefficient(np.array(0.01192), relative_error(parts, 290, 3))), 3)
    0.336
    """
    signal = np.maximum(system, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(signal + error > 0, signal / (signal + error), np.nan))


def raters_needed(system: FloatArray, parts: Mapping[str, FloatArray], *, target: float, n_items: float) -> FloatArray:
    """Return the smallest number of raters whose G reaches a target at a given number of items.

    Parameters
    ----------
    system : ndarray
        System variance; 0 or less needs infinitely many.
    parts : mapping
        The components of `relative_error`.
    target : float
        G that is wanted, between 0 and 1.
    n_items : float
        Number of items, may be infinite.

    Returns
    -------
    ndarray
        Whole numbers of at least 1, or infinity where no number suffices:
        n_r = (σ²_sr + σ²_psr / n_p) / (σ²_s (1 - g) / g - σ²_ps / n_p).

    Examples
    --------
    >>> parts = {"system:rater": np.array(0.0676331), "item:system": np.array(0.0905333), "residual": np.array(0.6364)}
    >>> float(raters_needed(np.array(0.0119181), parts, target=0.8, n_items=290))
    27.0
    """
    s = {name: np.maximum(value, 0.0) for name, value in parts.items()}
    return _needed(
        s["system:rater"] + s["residual"] / n_items,
        np.maximum(system, 0.0) * (1 - target) / target - s["item:system"] / n_items,
    )


def items_needed(system: FloatArray, parts: Mapping[str, FloatArray], *, target: float, n_raters: float) -> FloatArray:
    """Return the smallest number of items whose G reaches a target at a given number of raters (see `raters_needed`).

    Infinite where items saturate: with infinitely many, G is still σ²_s / (σ²_s + σ²_sr / n_r).
    """
    s = {name: np.maximum(value, 0.0) for name, value in parts.items()}
    return _needed(
        s["item:system"] + s["residual"] / n_raters,
        np.maximum(system, 0.0) * (1 - target) / target - s["system:rater"] / n_raters,
    )


def coefficient_of_ratio(ratio: float) -> float:
    """Return G from the ratio of the expected mean squares of system and system:rater, the items fixed.

    With these very items the system variance is σ²_s + σ²_ps / n_p, its error σ²_sr / n_r + σ²_psr / (n_p n_r), and
    G = 1 - E(MS_sr) / E(MS_s); 0 where the ratio is 1 or less.

    References
    ----------
    Brennan (2001), Generalizability Theory, chapter 4 (a fixed facet of the universe of generalization).

    Examples
    --------
    >>> round(coefficient_of_ratio(2.689), 3)
    0.628
    """
    return max(1 - 1 / ratio, 0.0) if ratio > 0 else 0.0


def raters_needed_of_ratio(ratio: float, *, target: float, n_raters: int) -> float:
    """Return the smallest number of raters whose G reaches a target with these very items (see `coefficient_of_ratio`).

    n_raters g / (1 - g) / (ratio - 1), rounded up, at least 1; infinite where the ratio is 1 or less.

    Examples
    --------
    >>> raters_needed_of_ratio(2.689, target=0.8, n_raters=3)
    8.0
    """
    return float(_needed(np.array(n_raters * target), np.array((ratio - 1) * (1 - target))))


def _needed(error: FloatArray, room: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = np.where(room > 0, error / room, np.inf)
    # A panel that is reached to twelve digits is reached: rounding must not ask for one rater more.
    return np.asarray(np.maximum(np.ceil(exact * (1 - 1e-12)), 1.0))
