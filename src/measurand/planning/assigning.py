"""Which raters rate which items: equal loads, every two raters together as often as any other two, and connected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.result import MeasurandError
from measurand.stats.inference import FloatArray, IntArray

#: Exchanges that are tried for each place in the plan until all pairs meet equally often, and in all.
_TRIES: Final = 400
_MOST_TRIES: Final = 200_000
_BATCH: Final = 10_000
#: Exchanges that are tried to connect raters who share no item.
_REPAIRS: Final = 10_000


class Overlap(NamedTuple):
    """How often two raters rate the same item, over all pairs of raters; and whether items connect all raters."""

    fewest: int
    most: int
    is_connected: bool


def connecting(n_raters: npt.ArrayLike, per_item: npt.ArrayLike) -> FloatArray:
    """Return the fewest items that can connect raters if each item has some of them, and everybody rates as many.

    Parameters
    ----------
    n_raters, per_item : array_like
        Raters, and those of each item, two at least.

    Notes
    -----
    An item joins k raters to one part: I (k - 1) >= n - 1. Where everybody rates as many items that is the same as two
    items for each rater, so that then a rating can also be told from what its item, and its rater, do to a system.

    Examples
    --------
    >>> connecting([7, 6, 4], [3, 2, 4]).tolist()
    [3.0, 5.0, 1.0]
    """
    raters, k = (np.asarray(x, dtype=float) for x in (n_raters, per_item))
    return np.asarray(np.ceil((raters - 1) / np.maximum(k - 1, 1)))


def assign(
    n_items: int, n_raters: int, per_item: int, *, stratum: IntArray, rng: np.random.Generator
) -> tuple[IntArray, Overlap]:
    """Return the raters of each item.

    Parameters
    ----------
    n_items, n_raters, per_item : int
        Sizes; the items times the raters of each divide by the number of raters.
    stratum : ndarray of int, shape (n_items,)
        Kind of each item; every rater gets about as many of a kind as any other.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    tuple of ndarray of int, shape (n_items, per_item), and Overlap
        Raters from 0, ascending in each row. Every rater has equally many items. Overlaps are as even as exchanges
        could make them; where the numbers allow it, they differ by one at most.

    Raises
    ------
    MeasurandError
        If the cells do not divide by the raters, or so few items cannot connect so many raters.

    Notes
    -----
    Items are dealt one after the other to raters with the lowest loads, of these to those who met least often; then
    raters are exchanged between items as long as that does not raise the sum of squares of the overlaps and of each
    rater's numbers of items of a kind. This is an incomplete block design by search, not by algebra.

    References
    ----------
    Cochran and Cox (1957), Experimental Designs, chapter 11 (balanced incomplete blocks).

    Examples
    --------
    Seven raters, three for an item: with seven items every two of them can meet exactly once.

    >>> rng = np.random.default_rng(1)
    >>> raters, overlap = assign(7, 7, 3, stratum=np.zeros(7, dtype=np.int64), rng=rng)
    >>> raters.shape, overlap
    ((7, 3), Overlap(fewest=1, most=1, is_connected=True))
    """
    if n_items * per_item % n_raters:
        raise MeasurandError(
            f"{n_items} items with {per_item} raters each are {n_items * per_item} pieces of work, which {n_raters} "
            "raters cannot share equally"
        )
    if per_item == n_raters:
        return np.tile(np.arange(n_raters), (n_items, 1)), Overlap(n_items, n_items, is_connected=True)
    plan = _Plan(n_raters, per_item, stratum, rng)
    if per_item > 1:
        least = int(connecting(n_raters, per_item))
        if n_items < least:
            raise MeasurandError(
                f"{n_items} items with {per_item} raters each cannot connect {n_raters} raters, so that their ratings "
                f"could not be compared; that takes {least} items: give each rater more of them"
            )
        plan.even()
        plan.connect()
    return np.sort(np.array(plan.raters, dtype=np.int64), axis=1), plan.overlap()


class _Exchange(NamedTuple):
    """Two items and two raters of theirs who may change places: neither rates the other's item yet."""

    first: int
    second: int
    leaves: int
    comes: int


class _Plan:
    """A plan that is dealt and then mended by exchanges, with its counts. Plain lists: its steps are many and small."""

    def __init__(self, n_raters: int, per_item: int, stratum: IntArray, rng: np.random.Generator) -> None:
        self.rng = rng
        self.stratum = [int(kind) for kind in stratum]
        self.met = [[0] * n_raters for _ in range(n_raters)]
        self.kinds = [[0] * (max(self.stratum) + 1) for _ in range(n_raters)]
        self.raters: list[list[int]] = []
        load = [0] * n_raters
        for kind in self.stratum:
            chosen: list[int] = []
            ties = rng.permutation(n_raters).tolist()
            for _ in range(per_item):
                free = [one for one in range(n_raters) if one not in chosen]
                together = {one: sum(self.met[one][other] for other in chosen) for one in free}
                chosen.append(min(free, key=lambda one: (load[one], together[one], self.kinds[one][kind], ties[one])))
            for rater in chosen:
                load[rater] += 1
                self._count(rater, [one for one in chosen if one > rater], kind, 1)
            self.raters.append(chosen)

    def even(self) -> None:
        """Exchange raters between items until all counts differ by one at most, or the tries are used up."""
        tries = min(_TRIES * len(self.raters) * len(self.raters[0]), _MOST_TRIES)
        for number, found in enumerate(self._exchanges(tries)):
            if number % 1_000 == 0 and self._is_even():
                return
            if self._rise(found) <= 0:
                self._apply(found)

    def connect(self) -> None:
        """Exchange raters between parts that share no item, until there is one part."""
        parts = self._n_parts()
        for found in self._exchanges(_REPAIRS):
            if parts == 1:
                return
            self._apply(found)
            now = self._n_parts()
            if now < parts:
                parts = now
            else:
                self._apply(_Exchange(found.first, found.second, found.comes, found.leaves))

    def overlap(self) -> Overlap:
        """Return how often pairs of raters meet."""
        met = np.array(self.met)[np.triu_indices(len(self.met), 1)]
        return Overlap(int(met.min()), int(met.max()), self._n_parts() == 1)

    def _is_even(self) -> bool:
        met = np.array(self.met)[np.triu_indices(len(self.met), 1)]
        return bool(np.ptp(met) <= 1 and np.ptp(np.array(self.kinds), axis=0).max() <= 1)

    def _n_parts(self) -> int:
        from scipy.sparse.csgraph import connected_components

        return int(connected_components(np.array(self.met) > 0, directed=False)[0])

    def _exchanges(self, tries: int) -> Iterator[_Exchange]:
        """Yield exchanges that may be made, drawn at random."""
        n_items, per_item = len(self.raters), len(self.raters[0])
        for start in range(0, tries, _BATCH):
            rows = min(_BATCH, tries - start)
            items = self.rng.integers(n_items, size=(rows, 2)).tolist()
            places = self.rng.integers(per_item, size=(rows, 2)).tolist()
            for (first, second), (at, beside) in zip(items, places, strict=True):
                leaves, comes = self.raters[first][at], self.raters[second][beside]
                if leaves not in self.raters[second] and comes not in self.raters[first]:
                    yield _Exchange(first, second, leaves, comes)

    def _rise(self, found: _Exchange) -> int:
        """Return by how much an exchange raises the sum of squares of all counts."""
        first, second, a, b = found
        mine, theirs = self.raters[first], self.raters[second]
        met_a, met_b = self.met[a], self.met[b]
        rise = 0
        # Overlaps with a rater of both items stay as they are: one item takes away what the other adds.
        for one in mine:
            if one != a and one not in theirs:
                rise += met_b[one] - met_a[one] + 1
        for one in theirs:
            if one != b and one not in mine:
                rise += met_a[one] - met_b[one] + 1
        kind, other = self.stratum[first], self.stratum[second]
        if kind != other:
            kinds_a, kinds_b = self.kinds[a], self.kinds[b]
            rise += kinds_b[kind] - kinds_a[kind] + kinds_a[other] - kinds_b[other] + 2
        return 2 * rise

    def _apply(self, found: _Exchange) -> None:
        first, second, a, b = found
        for item, leaves, comes in ((first, a, b), (second, b, a)):
            raters, kind = self.raters[item], self.stratum[item]
            raters.remove(leaves)
            self._count(leaves, raters, kind, -1)
            self._count(comes, raters, kind, 1)
            raters.append(comes)

    def _count(self, rater: int, others: Sequence[int], kind: int, sign: int) -> None:
        for one in others:
            self.met[rater][one] += sign
            self.met[one][rater] += sign
        self.kinds[rater][kind] += sign
