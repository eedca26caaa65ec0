"""Ranks with their uncertainty: simultaneous sets, tiers by three definitions, the order that is left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


class RankSets(NamedTuple):
    """Lowest and highest rank that each of n systems can have, 1 is best."""

    low: IntArray
    high: IntArray


def better_than(low: FloatArray) -> BoolArray:
    """Return which system is better than which.

    Parameters
    ----------
    low : ndarray, shape (n, n)
        Lower end of the simultaneous interval of (system i minus system j); NaN where it is not known.

    Returns
    -------
    ndarray of bool, shape (n, n)
        Row i, column j: i is better than j.
    """
    return np.asarray(np.nan_to_num(low, nan=-np.inf) > 0)


def rank_sets(better: BoolArray) -> RankSets:
    """Return the simultaneous rank confidence sets that significant differences leave.

    Parameters
    ----------
    better : ndarray of bool, shape (n, n)
        Row i, column j: i is better than j, by intervals that hold simultaneously over all pairs.

    Returns
    -------
    RankSets
        Rank i lies in [1 + number of systems better than i, n - number of systems that i is better than], for all
        systems at once, at the level of the intervals.

    References
    ----------
    Mogstad, Romano, Shaikh & Wilhelm (2024), Review of Economic Studies 91, 476-518, section 3.

    Examples
    --------
    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 2] = True
    >>> sets = rank_sets(better)
    >>> sets.low.tolist(), sets.high.tolist()
    ([1, 1, 2], [2, 3, 3])
    """
    n = len(better)
    return RankSets(
        np.asarray(1 + better.sum(axis=0), dtype=np.int64), np.asarray(n - better.sum(axis=1), dtype=np.int64)
    )


def layers(better: BoolArray) -> IntArray:
    """Return the layer of each system: one more than the longest chain of better systems above it.

    Rejections need not be transitive; a cycle, which simultaneous intervals cannot make, is refused.

    Raises
    ------
    ValueError
        If the relation has a cycle.

    Examples
    --------
    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 1] = better[1, 2] = True
    >>> layers(better).tolist()
    [1, 2, 3]
    """
    n = len(better)
    depth = np.ones(n, dtype=np.int64)
    for _ in range(n):
        above = np.where(better, depth[:, None] + 1, 1).max(axis=0, initial=1)
        if (above == depth).all():
            return depth
        depth = above.astype(np.int64)
    raise ValueError("the relation has a cycle")


def letters(better: BoolArray, order: IntArray, *, most: int = 1000) -> list[list[int]]:
    """Return the groups of a compact letter display: the largest sets of systems of which no two differ.

    Parameters
    ----------
    better : ndarray of bool, shape (n, n)
        Row i, column j: i is better than j.
    order : ndarray of int, shape (n,)
        Systems from best to worst; groups are listed by their best members.
    most : int
        Largest number of groups.

    Returns
    -------
    list of list of int
        Members of each group. Groups overlap; two systems differ if and only if they share none.

    Raises
    ------
    ValueError
        If there are more than `most` groups.

    References
    ----------
    Piepho (2004), Journal of Computational and Graphical Statistics 13, 456-466. The groups are the maximal cliques of
    "do not differ", found one by one: Bron and Kerbosch (1973), Communications of the ACM 16, 575-577, with the pivot
    of Tomita, Tanaka and Takahashi (2006), Theoretical Computer Science 363, 28-42.

    Examples
    --------
    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 2] = True
    >>> letters(better, np.arange(3))
    [[0, 1], [1, 2]]
    """
    alike = ~(better | better.T)
    np.fill_diagonal(alike, False)
    masks = [sum(1 << int(other) for other in np.nonzero(row)[0]) for row in alike]
    groups = _maximal_cliques(masks, most=most)
    place = {int(system): position for position, system in enumerate(order)}
    members = [sorted(group, key=lambda system: place[system]) for group in groups]
    return sorted(members, key=lambda group: [place[system] for system in group])


def _maximal_cliques(neighbours: list[int], *, most: int) -> list[list[int]]:
    """Return the maximal cliques of a graph whose rows are bit masks; sets are integers, a bit for each vertex."""
    found: list[list[int]] = []
    waiting = [(0, (1 << len(neighbours)) - 1, 0)] if neighbours else []
    while waiting:
        clique, candidates, excluded = waiting.pop()
        if not candidates:
            if not excluded:
                found.append(_bits(clique))
            if len(found) > most:
                raise ValueError(f"more than {most} groups")
            continue
        # Whatever is adjacent to the pivot is reached by way of it, or of what is not adjacent to it.
        pivot = max(_bits(candidates | excluded), key=lambda vertex: (candidates & neighbours[vertex]).bit_count())
        for vertex in _bits(candidates & ~neighbours[pivot]):
            bit = 1 << vertex
            waiting.append((clique | bit, candidates & neighbours[vertex], excluded & neighbours[vertex]))
            candidates &= ~bit
            excluded |= bit
    return found


def _bits(mask: int) -> list[int]:
    bits = []
    while mask:
        lowest = mask & -mask
        bits.append(lowest.bit_length() - 1)
        mask ^= lowest
    return bits


def covering_pairs(better: BoolArray) -> list[tuple[int, int]]:
    """Return the edges of the Hasse diagram: differences that no chain of other differences implies.

    Examples
    --------
    >>> better = np.zeros((3, 3), dtype=bool)
    >>> better[0, 1] = better[1, 2] = better[0, 2] = True
    >>> covering_pairs(better)
    [(0, 1), (1, 2)]
    """
    through = (better.astype(np.int64) @ better.astype(np.int64)) > 0
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(better & ~through), strict=True)]


def max_t_quantile(differences: FloatArray, weights: FloatArray, *, confidence: float) -> float:
    """Return the critical value of simultaneous intervals from bootstrap replicates of the largest |t|.

    Parameters
    ----------
    differences : ndarray, shape (n_units, n_pairs)
        Differences of each pair in each unit; NaN where a unit has none.
    weights : ndarray, shape (n_replicates, n_units)
        How often each unit is drawn in each replicate.
    confidence : float
        Simultaneous level.

    Returns
    -------
    float
        Quantile over replicates of the largest |replicate's mean - mean| / standard error over pairs; NaN where no
        pair's differences vary.

    References
    ----------
    Romano & Wolf (2005), Econometrica 73, 1237-1282.
    """
    known = ~np.isnan(differences)
    filled = np.where(known, differences, 0.0)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = filled.sum(axis=0) / n
        centred = np.where(known, differences - mean, 0.0)
        error = np.sqrt((centred**2).sum(axis=0) / (n - 1) / n)
        usable = (n > 1) & (error > 1e-14 * np.abs(filled).max(initial=0.0))
        if not usable.any():
            return float("nan")
        drawn = weights @ centred[:, usable] / (weights @ known[:, usable].astype(float))
        # A replicate can miss every unit in which a pair was compared; it says nothing of that pair.
        largest = np.nan_to_num(np.abs(drawn) / error[usable], nan=-np.inf).max(axis=1)
    return float(np.quantile(largest[np.isfinite(largest)], confidence))


def range_quantile(n: int, df: float, *, confidence: float, n_draws: int, rng: np.random.Generator) -> float:
    """Return the critical |t| of all pairs of n means with one error: studentised range over √2, by simulation.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> round(range_quantile(2, 10, confidence=0.95, n_draws=200_000, rng=rng), 1)
    2.2
    """
    spread = np.empty(n_draws)
    width = max(1, 2**20 // n)
    for start in range(0, n_draws, width):
        draws = rng.standard_normal((min(width, n_draws - start), n))
        spread[start : start + width] = draws.max(axis=1) - draws.min(axis=1)
    scale = np.sqrt(2 * rng.chisquare(df, size=n_draws) / df)
    return float(np.quantile(spread / scale, confidence))
