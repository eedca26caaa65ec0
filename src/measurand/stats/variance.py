"""Analysis of variance and variance components of completely crossed panels, by cell means.

A panel is an array with one axis for each facet and one rating per cell. Sums of squares come from marginal means, so
that time and memory are proportional to the number of ratings; no design matrix is ever built.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.stats.inference import FloatArray, Test, f_p

#: Largest relative rounding error that a sum of squares can owe to the size of the ratings themselves.
_ROUNDING: Final = 1e-24


@dataclass(frozen=True)
class Anova:
    """Sums of squares of a completely crossed panel.

    Parameters
    ----------
    facets : tuple of str
        Names of the axes with more than one level.
    sizes : tuple of int
        Number of levels of each.
    ss, df : mapping
        Source to sum of squares (squared scale units) and degrees of freedom. Sources are the facets, their
        interactions (``"item:system"``), and ``"residual"``, the highest interaction, which with one rating per cell
        cannot be told from error.
    """

    facets: tuple[str, ...]
    sizes: tuple[int, ...]
    ss: Mapping[str, float]
    df: Mapping[str, int]

    @property
    def ms(self) -> dict[str, float]:
        """Source to mean square, sum of squares over degrees of freedom."""
        return {source: self.ss[source] / self.df[source] for source in self.ss}

    @property
    def sources(self) -> list[str]:
        """The sources, main effects first, the residual last."""
        return list(self.ss)


def anova(cube: FloatArray, facets: Sequence[str]) -> Anova:
    """Return the analysis of variance of a completely crossed panel with one rating per cell.

    Parameters
    ----------
    cube : ndarray, shape (n_1, …, n_k)
        Ratings in scale units, one axis for each facet, no NaN.
    facets : sequence of str
        Name of each axis. Axes of length 1 take no part.

    Returns
    -------
    Anova
        SS_a = (product of the sizes not in a) Σ effect², with effects by sweeping out marginal means;
        df_a = product of (size - 1) over the facets in a.

    Raises
    ------
    ValueError
        If fewer than two axes have more than one level.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.2 and table 4.3; the example is synthetic data set 3.

    Examples
    --------
    >>> o1 = ["2455442306", "6559346458", "7648546447", "5766675556"]
    >>> o2 = ["2655462656", "5747547658", "5557677658", "5756485436"]
    >>> cube = np.array([[[float(x) for x in row] for row in o] for o in (o1, o2)]).transpose(2, 1, 0)
    >>> table = anova(cube, ["p", "i", "o"])
    >>> [round(table.ss[s], 2) for s in table.sources]
    [62.2, 37.45, 3.2, 56.3, 12.05, 7.5, 25.25]
    """
    axes = [axis for axis, size in enumerate(cube.shape) if size > 1]
    if len(axes) < 2:
        raise ValueError("an analysis of variance needs two facets with two levels each")
    names = tuple(facets[axis] for axis in axes)
    deviations = np.asarray(cube, dtype=float).reshape([cube.shape[axis] for axis in axes])
    # What rounding can leave of an effect that is not there: without this, 1e-31 / 1e-31 would make an F.
    floor = _ROUNDING * deviations.size * float(np.abs(deviations).max()) ** 2
    deviations = deviations - deviations.mean()
    ss: dict[str, float] = {}
    df: dict[str, int] = {}
    everything = tuple(range(len(axes)))
    for order in range(1, len(axes) + 1):
        for chosen in itertools.combinations(everything, order):
            rest = tuple(axis for axis in everything if axis not in chosen)
            effect = deviations.mean(axis=rest, keepdims=True) if rest else deviations
            source = ":".join(names[axis] for axis in chosen) if rest else "residual"
            total = float((effect**2).sum()) * deviations.size / effect.size
            ss[source] = total if total > floor else 0.0
            df[source] = int(np.prod([deviations.shape[axis] - 1 for axis in chosen]))
            if rest:
                deviations = deviations - effect
    return Anova(names, tuple(deviations.shape), ss, df)


def component_matrix(table: Anova) -> FloatArray:
    """Return the matrix that turns mean squares into unbiased variance components, both in the order of the sources.

    Notes
    -----
    For a random model with one rating per cell E(MS_a) = Σ_{b ⊇ a} (Π_{i ∉ b} n_i) σ²_b, hence
    σ̂²_a = (Π_{i ∉ a} n_i)⁻¹ Σ_{b ⊇ a} (-1)^{|b| - |a|} MS_b.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.4.
    """
    sets = [_members(table, source) for source in table.sources]
    matrix = np.zeros((len(sets), len(sets)))
    for row, a in enumerate(sets):
        outside = np.prod([size for axis, size in enumerate(table.sizes) if axis not in a])
        for column, b in enumerate(sets):
            if a <= b:
                matrix[row, column] = (-1.0) ** (len(b) - len(a)) / outside
    return matrix


def expectation_matrix(table: Anova) -> FloatArray:
    """Return the matrix that turns variance components into expected mean squares."""
    sets = [_members(table, source) for source in table.sources]
    matrix = np.zeros((len(sets), len(sets)))
    for row, a in enumerate(sets):
        for column, b in enumerate(sets):
            if a <= b:
                matrix[row, column] = np.prod([size for axis, size in enumerate(table.sizes) if axis not in b])
    return matrix


def components(table: Anova) -> dict[str, float]:
    """Return the unbiased (ANOVA) variance components; a negative one keeps its sign.

    Examples
    --------
    >>> table = Anova(("i", "r"), (4, 3), {"i": 9.0, "r": 4.0, "residual": 6.0}, {"i": 3, "r": 2, "residual": 6})
    >>> components(table)["i"].__round__(4)
    0.6667
    """
    mean_squares = np.array(list(table.ms.values()))
    values = component_matrix(table) @ mean_squares
    # Cancellation of equal mean squares leaves dust of either sign; it is no component.
    values[np.abs(values) < 1e-14 * np.abs(mean_squares).max(initial=0.0)] = 0.0
    return dict(zip(table.sources, map(float, values), strict=True))


def pivots(table: Anova, *, n_draws: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return generalised pivotal quantities of the variance components.

    Parameters
    ----------
    table : Anova
        The analysis of variance.
    n_draws : int
        Number of draws.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    dict
        Source to draws, shape (n_draws,); functions of them give intervals for functions of components. Draws may be
        negative.

    Notes
    -----
    Each expected mean square is drawn as SS / χ²_df, and the unbiased combination of `component_matrix` is taken.

    References
    ----------
    Weerahandi (1993), Journal of the American Statistical Association 88, 899-905.
    """
    expected = np.column_stack([table.ss[s] / rng.chisquare(table.df[s], size=n_draws) for s in table.sources])
    drawn = expected @ component_matrix(table).T
    return dict(zip(table.sources, drawn.T, strict=True))


def null_mean_squares(table: Anova, null: str, *, n_draws: int, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Return mean squares of panels like this one in which one component is zero.

    Parameters
    ----------
    table : Anova
        The analysis of variance of the panel at hand; its other components (negative ones as 0) are taken as true.
    null : str
        The source whose component is zero.
    n_draws : int
        Number of panels.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    dict
        Source to mean squares, E(MS) χ²_df / df, shape (n_draws,).
    """
    truth = {source: max(value, 0.0) for source, value in components(table).items()} | {null: 0.0}
    expected = expectation_matrix(table) @ np.array([truth[s] for s in table.sources])
    return {
        source: expected[i] * rng.chisquare(table.df[source], size=n_draws) / table.df[source]
        for i, source in enumerate(table.sources)
    }


def f_test(table: Anova, effect: str, error: str) -> Test:
    """Return the F test of an effect against one error term.

    Examples
    --------
    >>> table = Anova(("i", "r"), (4, 3), {"i": 9.0, "r": 4.0, "residual": 6.0}, {"i": 3, "r": 2, "residual": 6})
    >>> f_test(table, "i", "residual")[:3]
    (3.0, 3, 6)
    """
    df1, df2 = table.df[effect], table.df[error]
    if table.ss[error] == 0:
        return Test(np.nan, df1, df2, np.nan, f"the error term {error} does not vary")
    f = table.ms[effect] / table.ms[error]
    return Test(f, df1, df2, f_p(f, df1, df2))


def quasi_f_test(table: Anova, effect: str, first: str, second: str, both: str) -> Test:
    """Return the quasi-F test of an effect where two facets are random.

    Parameters
    ----------
    table : Anova
        The analysis of variance.
    effect, first, second, both : str
        The effect, its interactions with each random facet, and its interaction with both.

    Returns
    -------
    Test
        F' = (MS_effect + MS_both) / (MS_first + MS_second), with Satterthwaite's degrees of freedom for numerator and
        denominator, (Σ MS)² / Σ (MS² / df).

    References
    ----------
    Winer (1971), Statistical Principles in Experimental Design, section 5.15; Clark (1973), Journal of Verbal Learning
    and Verbal Behavior 12, 335-359.
    """
    ms, df = table.ms, table.df
    numerator, denominator = ms[effect] + ms[both], ms[first] + ms[second]
    if denominator == 0:
        return Test(np.nan, np.nan, np.nan, np.nan, "neither interaction with a random facet varies")
    df1 = numerator**2 / (ms[effect] ** 2 / df[effect] + ms[both] ** 2 / df[both]) if numerator else np.nan
    df2 = denominator**2 / (ms[first] ** 2 / df[first] + ms[second] ** 2 / df[second])
    f = numerator / denominator
    if not numerator:
        return Test(np.nan, np.nan, df2, np.nan, "the effect does not vary")
    return Test(f, df1, df2, f_p(f, df1, df2))


def _members(table: Anova, source: str) -> frozenset[int]:
    if source == "residual":
        return frozenset(range(len(table.facets)))
    return frozenset(table.facets.index(name) for name in source.split(":"))
