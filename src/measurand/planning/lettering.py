"""Letters and places of systems on a rater's sheet: drawn at random, and each as often as any other."""

from __future__ import annotations

from typing import Final

import numpy as np

from measurand.stats.inference import IntArray

#: Changes that are tried for each item until every rater has all classes equally often, and in all.
_TRIES: Final = 400
_MOST_TRIES: Final = 200_000


def letters(raters: IntArray, n_raters: int, n_systems: int, rng: np.random.Generator) -> IntArray:
    """Return the letter of each system on each item, the same for all raters of the item.

    Parameters
    ----------
    raters : ndarray of int, shape (n_items, per_item)
        Raters of each item.
    n_raters, n_systems : int
        Sizes.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    ndarray of int, shape (n_items, n_systems)
        From 0. On the sheet of a rater each system has each letter about equally often: within one where all raters
        rate all items, or each has items of their own, and as nearly as a search allows elsewhere.

    Notes
    -----
    Every item has a row of one Latin square, whose rows, columns and letters are drawn; rows are dealt to items so that
    each rater has all of them equally often.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> found = letters(np.tile([0, 1], (6, 1)), 2, 3, rng)
    >>> [np.bincount(found[:, system]).tolist() for system in range(3)]
    [[2, 2, 2], [2, 2, 2], [2, 2, 2]]
    """
    square = _square(n_systems, rng)
    return np.asarray(square[_classes(raters, n_raters, n_systems, rng)])


def places(n_items: int, n_systems: int, rng: np.random.Generator) -> IntArray:
    """Return the systems of each item in the order in which one rater sees them.

    Parameters
    ----------
    n_items, n_systems : int
        Sizes of the rater's sheet.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    ndarray of int, shape (n_items, n_systems)
        Every system stands at every place equally often, within one: as many items as there are systems have the rows
        of one Latin square, the next ones those of another.

    Examples
    --------
    >>> found = places(7, 3, np.random.default_rng(1))
    >>> np.ptp([np.bincount(found[:, place], minlength=3) for place in range(3)]).item()
    1
    """
    blocks = [_square(n_systems, rng) for _ in range(-(-n_items // n_systems))]
    return np.concatenate(blocks)[:n_items] if blocks else np.zeros((0, n_systems), dtype=np.int64)


def _square(n: int, rng: np.random.Generator) -> IntArray:
    """Return a cyclic Latin square with rows, columns and symbols in random order."""
    rows, columns, symbols = (rng.permutation(n) for _ in range(3))
    return np.asarray(symbols[(rows[:, None] + columns[None, :]) % n], dtype=np.int64)


def _classes(raters: IntArray, n_raters: int, n: int, rng: np.random.Generator) -> IntArray:
    """Deal classes to items so that every rater has each about equally often; plain lists, as in the plan of raters."""
    of_item = raters.tolist()
    counts = [[0] * n for _ in range(n_raters)]
    dealt = [0] * len(of_item)
    for item in rng.permutation(len(of_item)).tolist():
        ties = rng.permutation(n).tolist()
        best = min((sum(counts[rater][one] for rater in of_item[item]), ties[one], one) for one in range(n))[2]
        dealt[item] = best
        for rater in of_item[item]:
            counts[rater][best] += 1
    tries = min(_TRIES * len(of_item), _MOST_TRIES)
    for start in range(0, tries, 1_000):
        if all(max(of_rater) - min(of_rater) <= 1 for of_rater in counts):
            break
        rows = min(1_000, tries - start)
        items, classes = rng.integers(len(of_item), size=rows).tolist(), rng.integers(n, size=rows).tolist()
        for item, comes in zip(items, classes, strict=True):
            leaves = dealt[item]
            # What the change adds to the sum of squares of all counts, halved.
            rise = sum(counts[rater][comes] - counts[rater][leaves] + 1 for rater in of_item[item])
            if leaves != comes and rise <= 0:
                dealt[item] = comes
                for rater in of_item[item]:
                    counts[rater][leaves] -= 1
                    counts[rater][comes] += 1
    return np.array(dealt, dtype=np.int64)
