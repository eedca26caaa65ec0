"""What answers are scored against in one block of replicates: drawn ratings, their sums, and the targets they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from measurand.scoring.answered import Answered
from measurand.scoring.field import Criterion
from measurand.stats.calibration import Target
from measurand.stats.inference import FloatArray, IntArray

TargetOf = Literal["ratings", "consensus"]

_Number = TypeVar("_Number", np.float64, np.int64)


@dataclass(frozen=True)
class Opponents:
    """The ratings that answers are scored against in one block of replicates.

    Parameters
    ----------
    criterion : Criterion
        The single ratings.
    weights : ndarray, shape (n_rows, n_items)
        How often each replicate draws each item.
    raters : ndarray or None, shape (n_rows, n_raters)
        How often each replicate draws each rater; None leaves the raters as they are.
    included : ndarray of bool or None, shape (n_raters,)
        The raters that answers are scored against, None for all; a calibration's target is that of all in any case.
    """

    criterion: Criterion
    weights: FloatArray
    raters: FloatArray | None = None
    included: npt.NDArray[np.bool_] | None = None

    @cached_property
    def sums(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Number, sum and sum of squares of each item's ratings: (n_items,), or (n_rows, n_items) of drawn raters."""
        of = self.criterion
        tables = of.is_rated, of.filled, of.filled**2
        if self.raters is None:
            if self.included is None:
                return of.count, of.total, of.square
            count, total, square = (table[:, self.included].sum(axis=1) for table in tables)
        else:
            drawn = self.raters if self.included is None else self.raters * self.included
            count, total, square = (drawn @ table.T for table in tables)
        return count, total, square

    def against(self, included: npt.NDArray[np.bool_]) -> Opponents:
        """Return the same items against some of the raters alone."""
        found = Opponents(self.criterion, self.weights, self.raters, included)
        # Neither what is drawn nor the targets, which are those of all raters, depend on who answers are held against.
        for name in ("whole", "_targets", "_by_fold", "_rooms"):
            found.__dict__[name] = getattr(self, name)
        return found

    @cached_property
    def whole(self) -> IntArray:
        """The weights as whole numbers, which sum faster and exactly."""
        return self.weights.astype(np.int64)

    @cached_property
    def amounts(self) -> tuple[FloatArray, FloatArray]:
        """Number and sum of the ratings of each item by drawn raters, times drawn items, (n_rows, n_items) each."""
        count, total, _ = self.sums
        return self.weights * count, self.weights * total

    def room(self, name: object, shape: tuple[int, ...], kind: type[_Number]) -> npt.NDArray[_Number]:
        """Return an array to be written over, the same for the same name: fresh memory costs more than filling it."""
        size = math.prod(shape)
        key = (name, kind)
        if key not in self._rooms or self._rooms[key].size < size:
            self._rooms[key] = np.empty(size, dtype=kind)
        room: npt.NDArray[_Number] = self._rooms[key][:size].reshape(shape)
        return room

    @cached_property
    def _rooms(self) -> dict[object, Any]:
        return {}

    @cached_property
    def rated(self) -> IntArray:
        """Positions of items with a rating."""
        return np.flatnonzero(self.criterion.count > 0)

    @cached_property
    def common_count(self) -> float | None:
        """Number of ratings of every rated item, None where it differs or raters are redrawn or left out."""
        if self.raters is not None or self.included is not None:
            return None
        counts = np.unique(self.criterion.count[self.rated])
        return float(counts[0]) if len(counts) == 1 else None

    @cached_property
    def _targets(self) -> dict[TargetOf, Target]:
        return {}

    @cached_property
    def _by_fold(self) -> dict[tuple[TargetOf, int], FloatArray]:
        return {}

    def margins(self, items: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return number, sum and sum of squares of the ratings of some items in each replicate, (n_rows,) each."""
        if len(items) == len(self.rated):
            return self._all_margins
        weights = np.take(self.weights, items, axis=1)
        return _margins(weights, [one[..., items] for one in self.sums])

    @cached_property
    def _all_margins(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        known = self._targets.get("ratings")
        if known is not None and self.raters is None and self.included is None:
            # Counts of levels say all of it, and are there already.
            levels, counts = known.levels, known.counts
            return counts.sum(axis=1), counts @ levels, counts @ levels**2
        # Items without ratings add nothing: nothing needs to be picked.
        return _margins(self.weights, self.sums)

    @cached_property
    def by_rater(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Number, sum and sum of squares of each rater's ratings in each replicate, (n_rows, n_raters) each."""
        of = self.criterion
        return self.weights @ of.is_rated, self.weights @ of.filled, self.weights @ of.filled**2

    def target(self, of: TargetOf, items: IntArray) -> Target:
        """Return the distribution of levels over some items as each replicate draws them.

        Parameters
        ----------
        of : {"ratings", "consensus"}
            Single ratings of all raters, or rounded means of raters.
        items : ndarray of int
            The items.
        """
        criterion = self.criterion
        if self.raters is None:
            levels, matrix = criterion.target(of)
            if len(items) == len(self.rated):
                return Target(levels, np.asarray(self.weights @ matrix))
            return Target(levels, np.asarray(np.take(self.weights, items, axis=1) @ matrix[items]))
        weights = np.take(self.weights, items, axis=1)
        if of == "ratings":
            place = np.searchsorted(criterion.levels, criterion.filled[items])
            counts = np.zeros((len(weights), len(criterion.levels)))
            for rater in range(criterion.ratings.shape[1]):
                rated = criterion.is_rated[items, rater] > 0
                given = np.eye(len(criterion.levels))[place[rated, rater]]
                counts += (weights[:, rated] @ given) * self.raters[:, [rater]]
            return Target(criterion.levels, counts)
        count, total = self.raters @ criterion.is_rated[items].T, self.raters @ criterion.filled[items].T
        rounded = criterion.rounded(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))
        known = ~np.isnan(rounded)
        levels = criterion.scale_levels if criterion.scale_levels is not None else np.unique(rounded[known])
        place = np.abs(rounded[known][:, None] - levels[None, :]).argmin(axis=1)
        key = np.nonzero(known)[0] * len(levels) + place
        sums = np.bincount(key, weights=weights[known], minlength=len(weights) * len(levels)).astype(np.float64)
        return Target(levels, sums.reshape(len(weights), len(levels)))

    def left_out(
        self, of: TargetOf, answered: Answered, fold_of: IntArray, n_folds: int, kept_as: int | None
    ) -> FloatArray:
        """Return the distribution of levels in each fold, (n_rows, n_folds, n_levels); kept under a repetition."""
        if kept_as is not None and (of, kept_as) in self._by_fold:
            return self._by_fold[of, kept_as]
        items = answered.present
        each = [self.target(of, items[fold_of[items] == fold]).counts for fold in range(n_folds)]
        counts = np.stack(each, axis=1)
        if kept_as is not None:
            self._by_fold[of, kept_as] = counts
        return counts

    def whole_target(self, of: TargetOf) -> Target:
        """Return `target` of all rated items, worked out once: arms that answered all share it."""
        if of not in self._targets:
            self._targets[of] = self.target(of, self.rated)
        return self._targets[of]


def _margins(weights: FloatArray, sums: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, y, yy = (weights @ one if one.ndim == 1 else np.einsum("ri,ri->r", weights, one) for one in sums)
    return n, y, yy
