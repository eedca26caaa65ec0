"""Who rates what: the error of system means when every rater sees all items, items of their own, or a share of them.

A judged cell is one rater on one item, for all systems. Whatever the layout, each variance component is divided by an
effective number, the inverse of the sum of squares of the shares that its levels have in the judged cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray

#: Source of error to the component that differs between systems and to the one that all systems share. The last two
#: take part where raters belong to groups; `rater` is then a rater within a group.
CHANNELS: Final[Mapping[str, tuple[str, str]]] = {
    "rater": ("system:rater", "rater"),
    "item": ("item:system", "item"),
    "cell": ("residual", "item:rater"),
    "group": ("system:group", "group"),
    "item:group": ("item:system:group", "item:group"),
}


def channels(parts: Mapping[str, FloatArray], *, absolute: bool) -> dict[str, FloatArray]:
    """Return what raters, items and judged cells each add to the error of a system mean, once.

    Parameters
    ----------
    parts : mapping
        Variance components by the names of `CHANNELS`, squared scale units; arrays are taken element by element.
        Negative ones count as 0. Those with groups may be absent.
    absolute : bool
        False: what moves differences between systems (for G). True: also what moves all systems together (for Phi).

    Returns
    -------
    dict
        Channel to variance: `rater` σ²_sr (+ σ²_r), `item` σ²_ps (+ σ²_p), `cell` σ²_psr (+ σ²_pr).

    References
    ----------
    Brennan (2001), Generalizability Theory, sections 4.1 and 4.2.

    Examples
    --------
    >>> parts = {"system:rater": np.array(0.07), "item:system": np.array(-0.1), "residual": np.array(0.6)}
    >>> {name: float(value) for name, value in channels(parts, absolute=False).items()}
    {'rater': 0.07, 'item': 0.0, 'cell': 0.6}
    """
    out = {}
    for name, (apart, together) in CHANNELS.items():
        if apart not in parts and "group" in name:
            continue
        out[name] = np.maximum(parts[apart], 0.0)
        if absolute:
            out[name] = out[name] + np.maximum(parts[together], 0.0)
    return out


def balanced_numbers(n_items: npt.ArrayLike, n_raters: npt.ArrayLike, per_item: npt.ArrayLike) -> dict[str, FloatArray]:
    """Return the effective numbers of a layout in which every item gets as many ratings as any other.

    Parameters
    ----------
    n_items, n_raters : array_like
        Sizes; they broadcast.
    per_item : array_like
        How many raters rate each item: all of them is the crossed layout, one the nested one (each rater has items of
        their own), any number between a rotating one.

    Returns
    -------
    dict
        `rater`, `item`, `cell`. Raters share the cells as evenly as whole numbers allow; where the cells do not divide
        by the raters, some rate one item more, and the effective number is a little below the number of raters.

    Notes
    -----
    Nested raters (each item has raters of its own) are the rotating layout whose raters rate one item each.

    References
    ----------
    Brennan (2001), Generalizability Theory, sections 7.1 and 7.2.

    Examples
    --------
    >>> {name: float(value) for name, value in balanced_numbers(290, 3, 3).items()}
    {'rater': 3.0, 'item': 290.0, 'cell': 870.0}
    >>> float(balanced_numbers(3, 2, 1)["rater"])
    1.8
    """
    items, raters, k = (np.asarray(x, dtype=float) for x in (n_items, n_raters, per_item))
    cells = items * k
    each = np.floor(cells / raters)
    more = cells - each * raters
    squares = (raters - more) * each**2 + more * (each + 1) ** 2
    return {"rater": np.asarray(cells**2 / squares), "item": items, "cell": cells}


def effective_numbers(item: IntArray, rater: IntArray, group: IntArray | None = None) -> dict[str, FloatArray]:
    """Return the effective numbers of any layout whose judged cells cover all systems.

    Parameters
    ----------
    item, rater : ndarray of int, shape (n_cells,)
        Item and rater of each judged cell; a cell that occurs twice has twice the share.
    group : ndarray of int, shape (n_cells,), or None
        Group of the cell's rater, where raters belong to groups.

    Returns
    -------
    dict
        Channel to (Σ n)² / Σ n², with n the number of cells of each level.

    Examples
    --------
    >>> item, rater = np.array([0, 0, 1]), np.array([0, 1, 0])
    >>> {name: round(float(value), 3) for name, value in effective_numbers(item, rater).items()}
    {'rater': 1.8, 'item': 1.8, 'cell': 3.0}
    """
    levels = {"rater": [rater], "item": [item], "cell": [item, rater]}
    if group is not None:
        # A rater who moves between groups is another rater in each: raters are nested in groups.
        levels = {"rater": [group, rater], "item": [item], "cell": [item, group, rater]}
        levels |= {"group": [group], "item:group": [item, group]}
    out = {}
    for name, columns in levels.items():
        counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)[1].astype(float)
        out[name] = np.asarray(counts.sum() ** 2 / (counts**2).sum())
    return out


def error_variance(errors: Mapping[str, FloatArray], numbers: Mapping[str, FloatArray]) -> FloatArray:
    """Return the error variance of system means: each channel over its effective number, summed.

    Parameters
    ----------
    errors : mapping
        What `channels` gave.
    numbers : mapping
        What `balanced_numbers` or `effective_numbers` gave, with every channel of `errors`.

    Returns
    -------
    ndarray
        σ²(δ) = σ²_sr Σ w_r² + σ²_ps Σ w_p² + σ²_psr Σ w_pr², with w the shares of the judged cells, in squared scale
        units; of absolute channels σ²(Δ).

    References
    ----------
    Brennan (2001), Generalizability Theory, section 7.2.

    Examples
    --------
    Six thousand nine hundred and sixty judgements (870 cells of eight systems), by three raters and by thirty-five:

    >>> from measurand.stats.reliability import coefficient
    >>> parts = {"system:rater": np.array(0.0676), "item:system": np.array(0.0905), "residual": np.array(0.6364)}
    >>> errors = channels(parts, absolute=False)
    >>> for raters in (3, 35):
    ...     error = error_variance(errors, balanced_numbers(290, raters, 3))
    ...     print(round(float(coefficient(np.array(0.01192), error)), 3))
    0.336
    0.8
    """
    return np.asarray(sum(value / numbers[name] for name, value in errors.items()))


def items_needed(
    system: FloatArray,
    errors: Mapping[str, FloatArray],
    *,
    target: float,
    n_raters: npt.ArrayLike,
    per_item: npt.ArrayLike,
    step: npt.ArrayLike = 1,
) -> FloatArray:
    """Return the smallest number of items at which a layout's coefficient reaches a target.

    Parameters
    ----------
    system : ndarray
        System variance; 0 or less needs infinitely many items.
    errors : mapping
        The channels `rater`, `item` and `cell`.
    target : float
        The coefficient that is wanted, above 0 and below 1.
    n_raters, per_item : array_like
        Raters in all, and for each item.
    step : array_like
        The number of items is a multiple of this, so that raters have equal shares.

    Returns
    -------
    ndarray
        (b + c / k) / (σ²_s (1 - g) / g - a / n_r), rounded up, with a, b, c the channels; infinite where no number of
        items suffices. All arguments broadcast.

    Examples
    --------
    >>> errors = {"rater": np.array(0.0676), "item": np.array(0.0905), "cell": np.array(0.6364)}
    >>> needed = items_needed(np.array(0.01192), errors, target=0.8, n_raters=[3, 35, 40], per_item=3)
    >>> needed.tolist()
    [inf, 289.0, 235.0]
    """
    exact = exact_items(system, errors, target=target, n_raters=n_raters, per_item=per_item)
    return rounded_up(exact, np.asarray(step, dtype=float))


def exact_items(
    system: FloatArray,
    errors: Mapping[str, FloatArray],
    *,
    target: float,
    n_raters: npt.ArrayLike,
    per_item: npt.ArrayLike,
) -> FloatArray:
    """Return what `items_needed` rounds up."""
    raters, k = (np.asarray(x, dtype=float) for x in (n_raters, per_item))
    # Where systems do not differ nothing suffices, even without error.
    room = np.where(system > 0, system * (1 - target) / target, -np.inf) - errors["rater"] / raters
    return fitting(errors["item"] + errors["cell"] / k, room)


def fitting(error: FloatArray, room: FloatArray) -> FloatArray:
    """Return by what an error must be divided to fit into its room: infinite without room, 0 if there is no error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(room > 0, error / room, np.where((room == 0) & (error == 0), 0.0, np.inf)))


def rounded_up(exact: FloatArray, step: FloatArray) -> FloatArray:
    """Return the next multiple of a step, at least one of them."""
    # What is reached to twelve digits is reached: rounding must not ask for one more.
    return np.asarray(np.maximum(np.ceil(exact / step * (1 - 1e-12)), 1.0) * step)


def error_df(
    errors: Mapping[str, FloatArray],
    *,
    n_systems: int,
    n_items: npt.ArrayLike,
    n_raters: npt.ArrayLike,
    per_item: npt.ArrayLike,
) -> FloatArray:
    """Return the degrees of freedom with which a layout estimates the error of a difference between two systems.

    Parameters
    ----------
    errors : mapping
        The relative channels `rater`, `item`, `cell`.
    n_systems : int
        Systems whose errors are pooled.
    n_items, n_raters, per_item : array_like
        The layout, equal shares; they broadcast.

    Returns
    -------
    ndarray
        Satterthwaite's degrees of freedom, (Σ V)² / Σ (V² / df), at least 1; where each rater has items of their own,
        n_r - 1.

    Notes
    -----
    With J cells the error variance is V_r + V_p - V_c: what the mean squares of system:rater, of item:system and of
    the residual estimate, over J. Two raters share a share h of their items, h = (k - 1) / (n_r - 1): 1 where raters
    and items are crossed, which gives the degrees of freedom of the quasi-F's denominator. Below 1 the part of V_p
    and V_c is weighted by h, which is an approximation. Where each rater has items of their own no model tells items
    from the residual. What is left is the t test over the raters' own differences of two systems, which holds all of
    the error and has n_r - 1 degrees of freedom: errors of other systems are not pooled in it.

    References
    ----------
    Satterthwaite (1946), Biometrics Bulletin 2, 110-114; Winer (1971), Statistical Principles in Experimental Design,
    section 5.15.

    Examples
    --------
    >>> errors = {"rater": np.array(0.0676331), "item": np.array(0.0905333), "cell": np.array(0.6364)}
    >>> sizes = {"n_systems": 8, "n_items": 290, "n_raters": 3}
    >>> round(float(error_df(errors, per_item=3, **sizes)), 2)
    14.38
    >>> float(error_df(errors, per_item=1, **sizes))
    2.0
    """
    items, raters, k = (np.asarray(x, dtype=float) for x in (n_items, n_raters, per_item))
    cells = items * k
    each = cells / raters
    shared = (k - 1) / np.maximum(raters - 1, 1.0)
    met = (each - 1) / np.maximum(items - 1, 1.0)
    of_cells = errors["cell"] / cells
    of_raters = errors["rater"] / raters + of_cells + errors["item"] * (1 - shared) / cells
    of_items = errors["item"] / items + of_cells + errors["rater"] * (1 - met) / cells
    rest = of_cells + errors["item"] * (1 - shared) / cells + errors["rater"] * (1 - met) / cells
    contrasts = n_systems - 1
    df_raters = contrasts * np.maximum(raters - 1, 1.0)
    df_items = contrasts * np.maximum(items - 1, 1.0)
    df_rest = contrasts * np.maximum(cells - items - raters + 1, 1.0)
    total = of_raters + of_items - rest
    spread = of_raters**2 / df_raters + shared * (of_items**2 / df_items + rest**2 / df_rest)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(spread > 0, total**2 / spread, df_raters)
    return np.asarray(np.maximum(np.where(k <= 1, raters - 1, found), 1.0))
