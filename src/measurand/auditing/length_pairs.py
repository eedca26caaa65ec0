"""Two outputs to one item: which was rated higher, and are they of equal length?"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from measurand.auditing.length_cells import Measured
from measurand.stats.inference import FloatArray, IntArray, stream

#: Times that as many pairs of outputs are drawn whatever their lengths.
DRAWS: Final = 500
#: Fewer draws than this say nothing; large tables get none.
FEWEST_DRAWS: Final = 100
_MOST_DRAWN: Final = 50_000_000
#: Share of pairs of equal length above which bands of nearly equal ones are not needed.
ENOUGH: Final = 0.1
#: Bands for lengths that are seldom equal, as shares of the longer output's length.
BANDS: Final = (0.05, 0.1, 0.2)
#: Wins of the first, wins of the second, comparisons: what a pair of systems has in each item or rater.
N_COUNTS: Final = 3


@dataclass(frozen=True)
class Tables:
    """Outcomes of the comparisons of outputs that are equally long, by item and by rater.

    Parameters
    ----------
    by_item : sequence of three sparse arrays (n_items, n_pairs)
        Wins of the first system, wins of the second, comparisons.
    by_rater : ndarray, shape (3, n_raters, n_pairs)
        The same.
    matched, possible : ndarray, shape (n_pairs,)
        Items on which both outputs are equally long, and on which there are two outputs.
    drawn : ndarray, shape (n_draws, 3, n_pairs)
        The sums of as many items, drawn whatever their lengths; no draws where there are too many pairs.
    """

    by_item: Sequence[sparse.csr_array]
    by_rater: FloatArray
    matched: IntArray
    possible: IntArray
    drawn: FloatArray


@dataclass(frozen=True)
class _Pair:
    """What two systems have on common items, one entry for each comparison of a rater's two ratings."""

    item: IntArray
    rater: IntArray
    difference: FloatArray
    gap: FloatArray  # of lengths, as a share of the longer one

    def is_matched(self, tolerance: float) -> npt.NDArray[np.bool_]:
        return self.gap <= tolerance + 1e-12

    def draws(self, *names: str, seed: int) -> np.random.Generator:
        """Return random numbers that depend on what was rated how, not on what the two systems are called."""
        content = b"".join(part.tobytes() for part in (self.item, self.rater, np.abs(self.difference), self.gap))
        return stream(seed, "length", *names, hashlib.blake2b(content, digest_size=16).hexdigest())


def default_tolerances(one: Measured) -> tuple[float, ...]:
    """Return 0 where lengths are whole and often equal; else bands, too, or alone."""
    if not one.is_whole:
        return BANDS
    shared = equal = 0
    n = one.panel.n_systems
    for pair in _pairs(one):
        items, first = np.unique(pair.item, return_index=True)
        shared += len(items)
        equal += int(pair.is_matched(0.0)[first].sum())
    return (0.0,) if n < 2 or equal >= ENOUGH * shared else (0.0, *BANDS)


def tables(one: Measured, tolerance: float, *, of_means: bool, seed: int) -> Tables:
    """Return the outcomes of all comparisons of outputs whose lengths differ by no more than a share of the longer.

    Parameters
    ----------
    one : Measured
        Ratings with lengths.
    tolerance : float
        Largest difference of two lengths, as a share of the longer one; 0 for equal ones.
    of_means : bool
        Whether the sums over the raters who rated both are compared, once for each item, in place of each rater's
        ratings.
    seed : int
        The one seed, for what is drawn whatever the lengths.
    """
    found = [_of_means(pair) if of_means else pair for pair in _pairs(one)]
    n_raters = 1 if of_means else one.panel.n_raters
    n_cells = sum(len(np.unique(pair.item)) for pair in found)
    n_draws = min(DRAWS, _MOST_DRAWN // max(n_cells, 1))
    n_draws = n_draws if n_draws >= FEWEST_DRAWS else 0
    n_pairs = len(found)
    by_rater = np.zeros((N_COUNTS, n_raters, n_pairs))
    drawn = np.zeros((n_draws, N_COUNTS, n_pairs))
    matched, possible = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    places: list[list[IntArray]] = [[], []]
    values: list[list[FloatArray]] = [[], [], []]
    for column, pair in enumerate(found):
        keep = pair.is_matched(tolerance)
        counts = np.array([pair.difference > 0, pair.difference < 0, np.ones(len(keep), dtype=bool)], dtype=np.float64)
        items, position = np.unique(pair.item, return_inverse=True)
        every = np.array([np.bincount(position, weights=count, minlength=len(items)) for count in counts])
        is_in = np.bincount(position, weights=keep, minlength=len(items)) > 0
        possible[column], matched[column] = len(items), int(is_in.sum())
        for k in range(N_COUNTS):
            by_rater[k, :, column] = np.bincount(pair.rater[keep], weights=counts[k][keep], minlength=n_raters)
            values[k].append(every[k][is_in])
        places[0].append(items[is_in])
        places[1].append(np.full(int(is_in.sum()), column))
        rng = pair.draws(one.panel.criterion, "drawn", str(of_means), repr(tolerance), seed=seed)
        drawn[:, :, column] = _subsets(every, int(is_in.sum()), n_draws, rng)
    rows, columns = (np.concatenate([np.zeros(0, dtype=np.int64), *place]) for place in places)
    shape = (one.panel.n_items, n_pairs)
    by_item = [
        sparse.csr_array((np.concatenate([np.zeros(0), *value]), (rows, columns)), shape=shape) for value in values
    ]
    return Tables(by_item, by_rater, matched, possible, drawn)


def _subsets(values: FloatArray, size: int, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Return the sums of random subsets of columns, shape (n_draws, n_rows)."""
    n = values.shape[1]
    if size in (0, n) or n_draws == 0:
        return np.broadcast_to(values.sum(axis=1) * (size > 0), (n_draws, len(values)))
    order = np.argpartition(rng.random((n_draws, n)), size, axis=1)[:, :size]
    return np.asarray(values[:, order].sum(axis=2).T)


def _pairs(one: Measured) -> list[_Pair]:
    panel = one.panel
    key = panel.item * panel.n_raters + panel.rater
    dust = 1e-13 * float(np.abs(panel.rating).max(initial=0.0))
    of_system = [np.flatnonzero(panel.system == position) for position in range(panel.n_systems)]
    found = []
    for a, b in itertools.combinations(range(panel.n_systems), 2):
        in_a, in_b = of_system[a], of_system[b]
        common, at_a, at_b = np.intersect1d(key[in_a], key[in_b], assume_unique=True, return_indices=True)
        at_a, at_b = in_a[at_a], in_b[at_b]
        difference = panel.rating[at_a] - panel.rating[at_b]
        difference[np.abs(difference) <= dust] = 0.0
        longer = np.maximum(one.length[at_a], one.length[at_b])
        gap = np.abs(one.length[at_a] - one.length[at_b]) / np.where(longer > 0, longer, 1.0)
        found.append(_Pair(common // panel.n_raters, common % panel.n_raters, difference, gap))
    return found


def _of_means(pair: _Pair) -> _Pair:
    """Return one comparison for each item: of the means over the raters who rated both outputs."""
    items, first, position = np.unique(pair.item, return_index=True, return_inverse=True)
    sums = np.bincount(position, weights=pair.difference, minlength=len(items)).astype(np.float64)
    largest = np.bincount(position, weights=np.abs(pair.difference), minlength=len(items))
    sums[np.abs(sums) <= 1e-12 * largest] = 0.0
    return _Pair(items, np.zeros(len(items), dtype=np.int64), sums, pair.gap[first])
