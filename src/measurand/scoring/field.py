"""What answers are scored against: the single ratings of every criterion on common items and raters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import numpy as np
import pandas as pd

from measurand.data.ratings import Ratings
from measurand.data.scale import Scale
from measurand.result import MeasurandError
from measurand.stats.inference import Clusters, FloatArray, IntArray, clusters, stream

#: Means over criteria: all; the reliable, chosen anew in every replicate; the reliable of the sample, held fixed; the
#: others. No criterion may have such a name.
SETS: Final = ("all", "reliable", "reliable_fixed", "unreliable")

Over = Literal["item", "group", "rater", "item+rater", "group+rater"]


@dataclass(frozen=True)
class Criterion:
    """The single ratings of one criterion.

    Parameters
    ----------
    name : str
        Blank where the table has no criteria.
    ratings : ndarray, shape (n_items, n_raters)
        In scale units less `shift`; NaN where a rater did not rate.
    shift : float
        A whole number near their mean, taken off so that sums keep their digits; kappa does not notice.
    scale : Scale
        As declared.
    """

    name: str
    ratings: FloatArray
    shift: float
    scale: Scale

    @cached_property
    def kept(self) -> dict[object, Any]:
        """What is worked out of the ratings once and used in every block of replicates, by name."""
        return {}

    @cached_property
    def is_rated(self) -> FloatArray:
        """1 where a rater rated an item, 0 elsewhere."""
        return (~np.isnan(self.ratings)).astype(np.float64)

    @cached_property
    def filled(self) -> FloatArray:
        """The ratings, 0 where there is none: for sums."""
        return np.nan_to_num(self.ratings, nan=0.0)

    @cached_property
    def count(self) -> FloatArray:
        """Number of ratings of each item."""
        return np.asarray(self.is_rated.sum(axis=1))

    @cached_property
    def total(self) -> FloatArray:
        """Sum of the ratings of each item."""
        return np.asarray(self.filled.sum(axis=1))

    @cached_property
    def square(self) -> FloatArray:
        """Sum of the squared ratings of each item."""
        return np.asarray((self.filled**2).sum(axis=1))

    @cached_property
    def consensus(self) -> FloatArray:
        """Mean rating of each item, NaN without any."""
        return np.asarray(np.divide(self.total, self.count, out=np.full(len(self.count), np.nan), where=self.count > 0))

    @cached_property
    def levels(self) -> FloatArray:
        """The values that raters gave, ascending, less `shift`."""
        return np.unique(self.ratings[~np.isnan(self.ratings)])

    @cached_property
    def level_counts(self) -> FloatArray:
        """How often each of `levels` was given to each item, shape (n_items, n_levels)."""
        place = np.searchsorted(self.levels, self.filled)
        n_items, n_levels = len(self.ratings), len(self.levels)
        rated = self.is_rated > 0
        key = (np.arange(n_items)[:, None] * n_levels + np.minimum(place, n_levels - 1))[rated]
        return np.bincount(key, minlength=n_items * n_levels).reshape(n_items, n_levels).astype(np.float64)

    def target(self, of: Literal["ratings", "consensus"]) -> tuple[FloatArray, FloatArray]:
        """Return levels, and how often each item has each: its single ratings, or the rounded mean of them."""
        return (self.levels, self.level_counts) if of == "ratings" else self._rounded_consensus

    @cached_property
    def _rounded_consensus(self) -> tuple[FloatArray, FloatArray]:
        rounded = self.rounded(self.consensus)
        known = ~np.isnan(rounded)
        levels, place = np.unique(rounded[known], return_inverse=True)
        matrix = np.zeros((len(rounded), len(levels)))
        matrix[np.flatnonzero(known), place] = 1.0
        return levels, matrix

    @cached_property
    def scale_levels(self) -> FloatArray | None:
        """The permitted values less `shift`, None where the scale has no steps."""
        levels = self.scale.levels
        return None if levels is None else np.array(levels) - self.shift

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest permitted value less `shift`; of the ratings where no scale is declared."""
        bounds = self.scale.bounds
        if bounds is None:
            return float(self.levels[0]), float(self.levels[-1])
        return bounds[0] - self.shift, bounds[1] - self.shift

    def rounded(self, values: FloatArray) -> FloatArray:
        """Return values as the nearest permitted ones (halves to the even step); as they are without steps."""
        levels = self.scale_levels
        if levels is None:
            return values
        step = levels[1] - levels[0]
        if self.scale.labels and not np.allclose(np.diff(levels), step):
            middles = (levels[1:] + levels[:-1]) / 2
            return np.where(np.isnan(values), np.nan, levels[np.searchsorted(middles, np.nan_to_num(values))])
        # Means of a few ratings miss a half by rounding dust that must not decide.
        steps = np.round((values - levels[0]) / step, 9)
        return np.asarray(levels[0] + step * np.clip(np.rint(steps), 0, len(levels) - 1))


@dataclass(frozen=True)
class Field:
    """Items, raters and the single ratings of each criterion.

    Parameters
    ----------
    items, raters : sequence of str
        Common to all criteria.
    criteria : sequence of Criterion
        In natural order.
    group : ndarray of int or None, shape (n_items,)
        What each item belongs to (a person, a passage), where there are groups.
    """

    items: Sequence[str]
    raters: Sequence[str]
    criteria: Sequence[Criterion]
    group: IntArray | None = None

    @property
    def n_items(self) -> int:
        """Number of items that were rated on some criterion."""
        return len(self.items)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return len(self.raters)

    @property
    def names(self) -> list[str]:
        """Names of the criteria."""
        return [one.name for one in self.criteria]


def field_of(ratings: Ratings, *, groups: pd.Series[str] | None = None) -> Field:
    """Arrange a ratings table for scoring.

    Parameters
    ----------
    ratings : Ratings
        Without systems: raters rated the items that the systems answered.
    groups : pandas.Series or None
        Group of each item, by item.

    Raises
    ------
    MeasurandError
        Where ratings concern systems' outputs, where there is one rater only (merged labels), or where ratings have no
        numbers.
    """
    frame = ratings.frame
    if "system" in frame:
        raise MeasurandError(
            "these ratings have systems: they grade outputs, which systems can answer as judges alone. If that is what "
            "they did, make item and system one item of both tables, and the item its group; audit the systems that "
            "were rated (measurand audit); or drop the column if raters rated the items themselves"
        )
    raters = list(frame["rater"].cat.categories)
    if len(raters) < 2:
        raise MeasurandError(
            f"one rater, {raters[0]!r}: answers are scored against single raters, and one merged label has none. Give "
            "the ratings of each person; against a label use forced choice (--truth items.csv)"
        )
    items = list(frame["item"].cat.categories)
    item = frame["item"].cat.codes.to_numpy().astype(np.int64)
    rater = frame["rater"].cat.codes.to_numpy().astype(np.int64)
    names = ratings.criteria
    if taken := sorted(set(names) & set(SETS)):
        raise MeasurandError(f"a criterion is called {taken[0]!r}, as a set of criteria is here; rename it")
    of = frame["criterion"].cat.codes.to_numpy() if "criterion" in frame else np.zeros(len(frame), dtype=np.int8)
    values = frame["rating"].to_numpy(dtype=float)
    criteria = []
    for position, name in enumerate(names):
        if len(ratings.categories.get(name, ())) > 2:
            raise MeasurandError(
                f"the ratings of {name or 'this table'!r} are names without an order; kappa against raters needs "
                "numbers or ordered labels (--labels), a label for each item is forced choice (--truth)"
            )
        here = of == position
        table = np.full((len(items), len(raters)), np.nan)
        table[item[here], rater[here]] = values[here]
        shift = float(np.rint(values[here].mean())) if here.any() else 0.0
        criteria.append(Criterion(name, table - shift, shift, ratings.scale(name)))
    group = None
    if groups is not None:
        known = pd.Series(groups).reindex(items)
        if known.isna().any():
            lost = items[int(known.isna().to_numpy().argmax())]
            raise MeasurandError(f'item "{lost}" has ratings but no group; give every item its group, or none')
        group = pd.factorize(known)[0].astype(np.int64)
    elif "group" in frame:
        pairs = frame[["item", "group"]].drop_duplicates()
        if (several := pairs["item"].duplicated().to_numpy()).any():
            lost = pairs["item"].iloc[int(several.argmax())]
            raise MeasurandError(f'item "{lost}" has two groups in the ratings; give every item one')
        if (blank := pairs["group"].isna().to_numpy()).any():
            lost = pairs["item"].iloc[int(blank.argmax())]
            raise MeasurandError(f'item "{lost}" has ratings but no group; give every item its group, or none')
        group = pd.factorize(pairs.set_index("item")["group"].reindex(items))[0].astype(np.int64)
    return Field(items, raters, criteria, group)


#: Float64 values of one block of replicates: small enough for the processor's cache.
_BLOCK: Final = 2**16


@dataclass(frozen=True)
class Draws:
    """Which items (or groups) and raters each replicate draws; one and the same for everything that is compared.

    Parameters
    ----------
    field : Field
        What is redrawn.
    over : str
        ``item``, ``group``, ``rater``, ``item+rater``, ``group+rater``.
    n_replicates : int
        Number of replicates.
    seed : int
        The one seed.
    """

    field: Field
    over: Over
    n_replicates: int
    seed: int

    @property
    def redraws_raters(self) -> bool:
        """Whether raters are redrawn."""
        return "rater" in self.over

    @cached_property
    def _clusters(self) -> Clusters:
        n = self.field.n_items
        items = np.arange(n, dtype=np.int64)
        if self.over.startswith("group"):
            if self.field.group is None:
                raise MeasurandError("no groups to redraw; give items a column group")
            return clusters(self.field.group, items, n)
        return clusters(items, items, n)

    def blocks(self) -> Iterator[tuple[int, FloatArray, FloatArray | None]]:
        """Yield the first row, item weights (n_rows, n_items) and rater weights (n_rows, n_raters) or None.

        Row 0 is the sample itself: point and replicates take one path.
        """
        n_items, n_raters = self.field.n_items, self.field.n_raters
        ones = np.ones((1, n_items))
        yield 0, ones, np.ones((1, n_raters)) if self.redraws_raters else None
        of_raters = stream(self.seed, "score", "rater")
        start = 1
        for weights in self._item_weights(n_items):
            rows = len(weights)
            drawn = None
            if self.redraws_raters:
                drawn = of_raters.multinomial(n_raters, np.full(n_raters, 1 / n_raters), size=rows).astype(np.float64)
            yield start, weights, drawn
            start += rows

    def _item_weights(self, n_items: int) -> Iterator[FloatArray]:
        rows = max(1, _BLOCK // n_items)
        if self.over == "rater":
            for start in range(0, self.n_replicates, rows):
                yield np.ones((min(rows, self.n_replicates - start), n_items))
            return
        rng = stream(self.seed, "score", "item" if self.over.startswith("item") else "group")
        for block in self._clusters.replicates(self.n_replicates, rng):
            for start in range(0, len(block), rows):
                yield block[start : start + rows]
