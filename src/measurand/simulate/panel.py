"""Rater panels with known truth: random ones from variance components, exact ones from mean squares.

A panel is a grand mean plus one block of effects for each source of variation. Every block has its own stream of
random numbers, so that changing one component, or adding severities, holes or a scale, leaves the other draws alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.scale import Scale, as_number
from measurand.result import MeasurandError
from measurand.stats import variance
from measurand.stats.inference import FloatArray, stream

#: Facet to the letter that its ids begin with, in the order of the axes.
_PREFIXES: Final = {"item": "i", "system": "S", "rater": "R"}

#: The second paper's panel: 290 items, 8 systems (in the order of its leaderboard) and 3 raters.
_TWO_EMOJIS: Final = {
    "item": 7.904,
    "system": 11.85,
    "rater": 1341.6,
    "item:system": 0.908,
    "item:rater": 4.212,
    "system:rater": 20.25,
    "residual": 0.6364,
}
_TWO_EMOJIS_MEANS: Final = {
    "system": (3.667, 3.638, 3.579, 3.516, 3.454, 3.443, 3.421, 3.325),
    "rater": (2.86, 4.35, 3.31),
}


@dataclass(frozen=True, eq=False)
class SimulatedPanel:
    """A ratings table and the truth that made it.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Columns `item`, `system` (if there are systems), `rater`, `rating`; one row for each rating, ordered by item,
        system, rater. Ids are ``i001``, ``S1``, ``R1``, …, padded with zeros to one width. Ratings are numbers in
        scale units, or texts where the scale has labels that are not numbers.
    truth : dict
        JSON values:

        - ``n_items``, ``n_systems``, ``n_raters``, ``mean``, ``severities``, ``missing``, ``seed``: as asked for;
          ``scale``: its declaration or None; ``n_missing``: number of cells left out;
        - ``components`` or ``mean_squares``: as asked for, every source named; the other one is None;
        - ``expected_components``: what the unbiased estimators of variance components give on the complete panel
          before it is put on the scale: on average over panels where components were asked for (severities add their
          variance, with n - 1, to the rater's), on this very panel where mean squares were;
        - ``system_effects``, ``rater_effects``: id to the effect that was drawn, severity included, in scale units
          from the mean and before the scale.
    """

    ratings: pd.DataFrame
    truth: dict[str, Any]


def simulate_panel(
    *,
    n_items: int,
    n_systems: int,
    n_raters: int,
    components: Mapping[str, float] | None = None,
    mean_squares: Mapping[str, float] | None = None,
    mean: float = 0.0,
    scale: Scale | None = None,
    severities: Sequence[float] = (),
    missing: float = 0.0,
    seed: int = 0,
) -> SimulatedPanel:
    """Return a panel of ratings with known truth.

    Parameters
    ----------
    n_items, n_systems, n_raters : int
        Number of levels of each facet, at least 2; `n_systems` 0 for ratings of the items themselves.
    components : mapping or None
        Variance components in squared scale units, by source: item, system, rater, item:system, item:rater,
        system:rater, residual; without systems item, rater, residual, where the residual includes item:rater. A source
        that is left out is 0. Effects are independent normal.
    mean_squares : mapping or None
        In place of components: the mean squares, in squared scale units and by the same names (all of them), that the
        analysis of variance of this very panel is to give.
    mean : float
        Grand mean, in scale units.
    scale : Scale or None
        Ratings become the nearest permitted value (half way: the lower one); with bounds alone they are clipped.
    severities : sequence of float
        One shift for each rater, in scale units, added to its random effect.
    missing : float
        Share of cells without a rating, 0 or more and below 1, rounded to whole cells.
    seed : int
        The one seed, 0 or above.

    Returns
    -------
    SimulatedPanel
        The ratings and their truth.

    Raises
    ------
    MeasurandError
        Unknown, absent, negative or infinite components or mean squares; neither or both of them; mean squares
        together with what would change them (a scale, severities, holes); wrong sizes, severities, shares or seeds.

    Notes
    -----
    Components: rating = mean + Σ_a √σ²_a z_a, with z_a standard normal for each level or combination of levels.
    Mean squares: noise is swept clean of its lower-order marginal means, which makes the blocks of effects orthogonal
    in a complete panel, and each block is multiplied by √(target / its own mean square). Mean squares then hold to
    1e-12 relative, as long as they lie within a factor of 1e6 and the grand mean is not far larger than the effects:
    ratings are floating-point numbers, and a mean of 1000 leaves some 1e-11.
    Missing cells are drawn without regard to ratings, and every cell is as likely to be missing as any other; every
    item, system and rater keeps at least one rating.

    References
    ----------
    Brennan (2001), Generalizability Theory, section 3.2 (the linear model and its effects).

    Examples
    --------
    >>> truth = {"item": 1.0, "rater": 0.5, "residual": 0.25}
    >>> panel = simulate_panel(n_items=12, n_systems=0, n_raters=3, components=truth, mean=3, scale=Scale(1, 5, step=1))
    >>> panel.ratings.columns.tolist(), panel.ratings["rating"].isin([1, 2, 3, 4, 5]).all().item()
    (['item', 'rater', 'rating'], True)
    >>> exact = simulate_panel(
    ...     n_items=12, n_systems=0, n_raters=3, mean_squares={"item": 9.0, "rater": 4.0, "residual": 6.0}
    ... )
    >>> cube = exact.ratings["rating"].to_numpy().reshape(12, 3)
    >>> {source: round(ms, 9) for source, ms in variance.anova(cube, ["item", "rater"]).ms.items()}
    {'item': 9.0, 'rater': 4.0, 'residual': 6.0}
    """
    sizes = _sizes(n_items, n_systems, n_raters)
    _check_numbers(mean, severities, missing, seed, n_raters)
    if components is None and mean_squares is None:
        raise MeasurandError("neither components nor mean_squares are given; give one of them (components={} for none)")
    if mean_squares is not None:
        changing = {
            "components": components is not None,
            "scale": scale is not None,
            "severities": len(severities) > 0,
            "missing": missing > 0,
        }
        if given := [name for name, is_given in changing.items() if is_given]:
            raise MeasurandError(
                f"mean_squares together with {' and '.join(given)}; the mean squares are exact, and components, "
                "severities, rounding to a scale or holes would change them. Leave out one or the other"
            )
        targets = _by_source(mean_squares, sizes, "mean_squares", is_complete=True)
        return _exact_panel(sizes, targets, mean=mean, patterns={}, seed=seed)
    variances = _by_source(components or {}, sizes, "components", is_complete=False)
    return _random_panel(sizes, variances, mean=mean, scale=scale, severities=severities, missing=missing, seed=seed)


def two_emojis_panel(*, seed: int = 0) -> SimulatedPanel:
    """Return a panel with the mean squares of "Two Emojis of Difference": 290 items, 8 systems, 3 raters.

    Parameters
    ----------
    seed : int
        The one seed; it moves everything except the mean squares, the system means and the rater means.

    Returns
    -------
    SimulatedPanel
        A continuous, complete panel with grand mean 3.5. Its mean squares are exactly those that the paper's F ratios
        and shares of variance imply. System and rater means keep the pattern of the published ones (S1 to S8 are the
        leaderboard from the top, R1 to R3 have 2.86, 4.35 and 3.31), scaled to the mean square and so within .02.

    Raises
    ------
    MeasurandError
        A negative seed.

    References
    ----------
    Sakhawat 2026, "Two Emojis of Difference", arXiv 2609.29445, tables 1 and 3 and section 4.

    Examples
    --------
    >>> cube = two_emojis_panel().ratings["rating"].to_numpy().reshape(290, 8, 3)
    >>> table = variance.anova(cube, ["item", "system", "rater"])
    >>> round(variance.f_test(table, "system", "residual").statistic, 2)
    18.62
    >>> round(variance.f_test(table, "system", "system:rater").statistic, 2)
    0.59
    """
    sizes = _sizes(290, 8, 3)
    _check_numbers(3.5, (), 0.0, seed, 3)
    patterns = {source: np.array(means) for source, means in _TWO_EMOJIS_MEANS.items()}
    return _exact_panel(sizes, _TWO_EMOJIS, mean=3.5, patterns=patterns, seed=seed)


#: Name to a function of the seed alone.
PRESETS: Final[Mapping[str, Callable[..., SimulatedPanel]]] = {"two-emojis": two_emojis_panel}


def _sizes(n_items: int, n_systems: int, n_raters: int) -> dict[str, int]:
    """Return facet to number of levels, in the order of the axes."""
    sizes = {"item": n_items, "system": n_systems, "rater": n_raters}
    if n_systems == 0:
        del sizes["system"]
    for facet, size in sizes.items():
        if size < 2:
            hint = "; 0 stands for ratings of the items themselves" if facet == "system" else ""
            raise MeasurandError(f"n_{facet}s is {size}; give at least 2{hint}")
    return sizes


def _check_numbers(mean: float, severities: Sequence[float], missing: float, seed: int, n_raters: int) -> None:
    if not math.isfinite(mean):
        raise MeasurandError(f"mean is {mean}; give a finite number")
    if len(severities) not in (0, n_raters):
        raise MeasurandError(f"{len(severities)} severities for {n_raters} raters; give one for each rater, or none")
    if wrong := [value for value in severities if not math.isfinite(value)]:
        raise MeasurandError(f"a severity is {wrong[0]}; give finite numbers, in scale units")
    if not 0 <= missing < 1:
        raise MeasurandError(f"missing is {missing:g}; give a share of 0 or more and below 1")
    if seed < 0:
        raise MeasurandError(f"seed is {seed}; give 0 or above")


def _axes(sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Return source to the axes that it varies over, named and ordered as in `variance.anova`."""
    facets = list(sizes)
    orders = range(1, len(facets) + 1)
    sets = [chosen for order in orders for chosen in itertools.combinations(range(len(facets)), order)]
    return {
        "residual" if len(chosen) == len(facets) else ":".join(facets[axis] for axis in chosen): chosen
        for chosen in sets
    }


def _by_source(
    given: Mapping[str, float], sizes: Mapping[str, int], what: str, *, is_complete: bool
) -> dict[str, float]:
    """Return a checked value for each source; one that is left out is 0, or refused where all are needed."""
    sources = list(_axes(sizes))
    allowed = ", ".join(sources)
    if unknown := [name for name in given if name not in sources]:
        why = "" if "system" in sizes else " (without systems the residual includes item:rater)"
        raise MeasurandError(f"{what} has {unknown[0]!r}; allowed are {allowed}{why}")
    if is_complete and (absent := [name for name in sources if name not in given]):
        raise MeasurandError(f"{what} lacks {', '.join(absent)}; give all of {allowed}")
    for name, value in given.items():
        if not 0 <= value < math.inf:
            raise MeasurandError(f"{what} has {value:g} for {name!r}; give a finite number of 0 or more")
    return {name: float(given.get(name, 0.0)) for name in sources}


def _noise(sizes: Mapping[str, int], source: str, seed: int) -> FloatArray:
    """Return standard normal effects of one source, with length 1 on the axes that it does not vary over."""
    chosen = _axes(sizes)[source]
    shape = [size if axis in chosen else 1 for axis, size in enumerate(sizes.values())]
    return stream(seed, "simulate", source).standard_normal(shape)


def _random_panel(
    sizes: Mapping[str, int],
    components: Mapping[str, float],
    *,
    mean: float,
    scale: Scale | None,
    severities: Sequence[float],
    missing: float,
    seed: int,
) -> SimulatedPanel:
    """Return a panel of independent normal effects."""
    blocks = {source: math.sqrt(value) * _noise(sizes, source, seed) for source, value in components.items()}
    expected = dict(components)
    if len(severities):
        blocks["rater"] = blocks["rater"] + np.asarray(severities, dtype=np.float64)
        expected["rater"] += float(np.var(severities, ddof=1))
    is_kept = _kept(tuple(sizes.values()), missing, stream(seed, "simulate", "missing"))
    truth = {
        "components": dict(components),
        "mean_squares": None,
        "expected_components": expected,
        "severities": [float(value) for value in severities],
        "missing": float(missing),
    }
    return _assembled(sizes, blocks, mean=mean, scale=scale, is_kept=is_kept, seed=seed, truth=truth)


def _exact_panel(
    sizes: Mapping[str, int],
    mean_squares: Mapping[str, float],
    *,
    mean: float,
    patterns: Mapping[str, FloatArray],
    seed: int,
) -> SimulatedPanel:
    """Return a panel whose mean squares are the given ones; a pattern takes the place of a main effect's noise."""
    facets, shape = list(sizes), tuple(sizes.values())
    blocks: dict[str, FloatArray] = {}
    targets: dict[str, float] = {}
    for source, chosen in _axes(sizes).items():
        block = _noise(sizes, source, seed)
        if source in patterns:
            block = patterns[source].reshape(block.shape)
        # Twice: where noise happens to be nearly alike, one sweep leaves rounding errors that rescaling would enlarge.
        for axis in chosen * 2:
            block = block - block.mean(axis=axis, keepdims=True)
        own = variance.anova(np.broadcast_to(block, shape), facets)
        blocks[source] = block * math.sqrt(mean_squares[source] / own.ms[source])
        targets[source] = mean_squares[source] * own.df[source]
    truth: dict[str, Any] = {
        "components": None,
        "mean_squares": dict(mean_squares),
        "expected_components": variance.components(replace(own, ss=targets)),
        "severities": [],
        "missing": 0.0,
    }
    is_kept = np.ones(shape, dtype=bool)
    return _assembled(sizes, blocks, mean=mean, scale=None, is_kept=is_kept, seed=seed, truth=truth)


def _kept(shape: tuple[int, ...], missing: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return which cells keep their rating: a random cover of all levels, and a random choice of the other cells."""
    n_cells, longest = math.prod(shape), max(shape)
    n_kept = n_cells - round(missing * n_cells)
    if n_kept < longest:
        most = math.floor(1000 * (1 - longest / n_cells)) / 1000
        raise MeasurandError(
            f"missing {missing:g} leaves {n_kept} of {n_cells} ratings, too few for one for every item, system and "
            f"rater; give at most {most:g}, or more levels"
        )
    is_kept = np.zeros(shape, dtype=bool)
    # Levels that a longer facet makes occur once more than others are random too, so that no cell is favoured.
    cover = [rng.permutation(size)[np.arange(longest) % size] for size in shape]
    is_kept[tuple(rng.permutation(levels) for levels in cover)] = True
    others = np.flatnonzero(~is_kept)
    is_kept.flat[rng.choice(others, size=n_kept - longest, replace=False)] = True
    return is_kept


def _assembled(
    sizes: Mapping[str, int],
    blocks: Mapping[str, FloatArray],
    *,
    mean: float,
    scale: Scale | None,
    is_kept: npt.NDArray[np.bool_],
    seed: int,
    truth: Mapping[str, Any],
) -> SimulatedPanel:
    """Return the panel that blocks of effects make, as a table with its truth."""
    cube = np.full(tuple(sizes.values()), float(mean))
    for block in blocks.values():
        cube += block
    ids = {
        facet: [f"{_PREFIXES[facet]}{level:0{len(str(size))}d}" for level in range(1, size + 1)]
        for facet, size in sizes.items()
    }
    where = np.nonzero(is_kept)
    columns: dict[str, npt.NDArray[Any]] = {
        facet: np.array(ids[facet], dtype=object)[position] for facet, position in zip(ids, where, strict=True)
    }
    columns["rating"] = cube[where] if scale is None else _on_scale(cube[where], scale)
    effects = {
        f"{facet}_effects": dict(zip(ids.get(facet, ()), np.ravel(blocks.get(facet, ())).tolist(), strict=True))
        for facet in ("system", "rater")
    }
    described = {
        **{f"n_{facet}s": int(sizes.get(facet, 0)) for facet in _PREFIXES},
        "mean": float(mean),
        **truth,
        "n_missing": int((~is_kept).sum()),
        "scale": None if scale is None else scale.to_dict(),
        **effects,
        "seed": int(seed),
    }
    return SimulatedPanel(pd.DataFrame(columns), described)


def _on_scale(values: FloatArray, scale: Scale) -> npt.NDArray[Any]:
    """Return the permitted ratings that are nearest to the values, as texts where labels are not numbers."""
    if scale.levels is not None:
        levels = np.array(scale.levels)
        values = levels[np.searchsorted((levels[1:] + levels[:-1]) / 2, values)]
    if scale.bounds is not None:
        # Also after rounding: low + i * step can miss the upper bound by a rounding error.
        values = np.clip(values, *scale.bounds)
    if any(as_number(label) is None for label in scale.labels):
        return np.array(scale.labels, dtype=object)[values.astype(np.int64)]
    return values
