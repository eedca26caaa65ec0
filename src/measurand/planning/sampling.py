"""A sample of items, stratified by label and language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from measurand.data.names import natural_order
from measurand.result import MeasurandError
from measurand.stats.inference import IntArray


class Stratum(NamedTuple):
    """Items of one kind: the values that make the kind, how many there are, and how many are drawn."""

    values: tuple[str, ...]
    available: int
    drawn: int


class Drawn(NamedTuple):
    """Positions of the items that were drawn, kind by kind, the kind of each, and the kinds."""

    position: IntArray
    stratum: IntArray
    strata: Sequence[Stratum]


def stratified(kinds: Sequence[tuple[str, ...]], n: int, rng: np.random.Generator) -> Drawn:
    """Draw items without replacement, each kind in proportion to its number.

    Parameters
    ----------
    kinds : sequence of tuple of str
        The kind of each item, such as its label and language.
    n : int
        Items to draw.
    rng : numpy.random.Generator
        Random numbers.

    Returns
    -------
    Drawn
        Kind h gets n N_h / N items, rounded down, and those with the largest remainders one more (of equal remainders
        the larger kind, then the one whose name comes first). Within a kind every item is as likely as any other, and
        their order is random.

    Raises
    ------
    MeasurandError
        If there are fewer items than are to be drawn.

    References
    ----------
    Cochran (1977), Sampling Techniques, section 5.5 (proportional allocation).

    Examples
    --------
    >>> kinds = [("joy",)] * 6 + [("fear",)] * 3 + [("awe",)]
    >>> [(one.values[0], one.drawn) for one in stratified(kinds, 5, np.random.default_rng(1)).strata]
    [('awe', 0), ('fear', 2), ('joy', 3)]
    """
    if n > len(kinds):
        raise MeasurandError(f"{n:,} items are to be drawn, and {len(kinds):,} are there to draw from")
    places = [
        {value: place for place, value in enumerate(natural_order(list(set(values))))}
        for values in zip(*kinds, strict=True)
    ]
    names = sorted(set(kinds), key=lambda values: [place[value] for place, value in zip(places, values, strict=True)])
    code = {values: number for number, values in enumerate(names)}
    of_item = np.array([code[values] for values in kinds], dtype=np.int64)
    sizes = np.bincount(of_item, minlength=len(names))
    shares = allocated(sizes, n)
    positions, strata = [], []
    for number, values in enumerate(names):
        here = rng.permutation(np.flatnonzero(of_item == number))
        positions.append(here[: shares[number]])
        strata.append(Stratum(values, int(sizes[number]), int(shares[number])))
    position = np.concatenate(positions)
    return Drawn(position, of_item[position], strata)


def allocated(sizes: IntArray, n: int) -> IntArray:
    """Return how many of n go to each kind, in proportion to sizes, by largest remainders.

    Examples
    --------
    >>> allocated(np.array([6, 3, 1]), 5).tolist()
    [3, 2, 0]
    """
    # In whole numbers: remainders that are equal must not differ by rounding.
    whole, remainder = np.divmod(n * sizes, sizes.sum())
    left = n - int(whole.sum())
    order = np.lexsort((np.arange(len(sizes)), -sizes, -remainder))
    whole[order[:left]] += 1
    return np.asarray(whole, dtype=np.int64)
