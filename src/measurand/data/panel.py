"""The ratings of one criterion as index arrays, and the layout that they form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from measurand.data.ratings import Ratings, as_ratings
from measurand.data.scale import Level, Scale
from measurand.result import MeasurandError

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Panel:
    """The ratings of one criterion: row k says that `rater[k]` gave `rating[k]` to `system[k]` on `item[k]`.

    Parameters
    ----------
    criterion : str
        The criterion's name; blank where the table has none.
    items, systems, raters : sequence of str
        Names; `systems` is empty where the ratings concern the items themselves.
    item, system, rater : ndarray of int, shape (n_ratings,)
        Positions in these names; `system` is all 0 without systems. Sorted by item, system, rater.
    rating : ndarray of float, shape (n_ratings,)
        In scale units, finite.
    scale : Scale
        What the user declared.
    n_blank : int
        Rows of the table whose rating was blank or N/A.
    order : ndarray of float or None, shape (n_ratings,)
        Position at which the rater saw the cell; None where no column was named for it.
    has_numbers : bool
        False for nominal ratings of more than two categories, whose codes have no size.
    categories : sequence of str
        Names of the codes 0, 1, … of a nominal scale that declares no labels.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": ["a", "b", "a"], "rater": ["ann", "ann", "ben"], "rating": [4, 5, 3]})
    >>> (panel,) = panels(table)
    >>> panel.raters, panel.rater.tolist(), panel.rating.tolist()
    (['ann', 'ben'], [0, 1, 0], [4.0, 3.0, 5.0])
    >>> panel.n_missing, panel.is_complete
    (1, False)
    """

    criterion: str
    items: Sequence[str]
    systems: Sequence[str]
    raters: Sequence[str]
    item: IntArray
    system: IntArray
    rater: IntArray
    rating: FloatArray
    scale: Scale
    n_blank: int
    has_numbers: bool
    order: FloatArray | None = None
    categories: Sequence[str] = ()

    @property
    def n_items(self) -> int:
        """Number of items that were rated at all."""
        return len(self.items)

    @property
    def n_systems(self) -> int:
        """Number of systems, 0 where there are none."""
        return len(self.systems)

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return len(self.raters)

    @property
    def level(self) -> Level | None:
        """The declared level of measurement."""
        return self.scale.level

    @cached_property
    def cell(self) -> IntArray:
        """Position of each rating's cell, the (item, system) pair, among the cells that were rated; ascending."""
        key = self.item * max(self.n_systems, 1) + self.system
        return np.cumsum(np.r_[0, np.diff(key) != 0]).astype(np.int64)

    @cached_property
    def cell_start(self) -> IntArray:
        """Position of the first rating of each cell."""
        return np.asarray(np.flatnonzero(np.r_[True, np.diff(self.cell) != 0]), dtype=np.int64)

    @property
    def n_cells(self) -> int:
        """Number of (item, system) cells with at least one rating."""
        return len(self.cell_start)

    @cached_property
    def cell_size(self) -> IntArray:
        """Number of ratings of each cell."""
        return np.asarray(np.diff(np.r_[self.cell_start, len(self.rating)]), dtype=np.int64)

    @cached_property
    def cell_item(self) -> IntArray:
        """The item of each cell."""
        return self.item[self.cell_start]

    @property
    def n_possible(self) -> int:
        """Number of ratings that a complete crossing of items, systems and raters would have."""
        return self.n_items * max(self.n_systems, 1) * self.n_raters

    @property
    def n_missing(self) -> int:
        """Number of cells by rater without a rating."""
        return self.n_possible - len(self.rating)

    @property
    def is_complete(self) -> bool:
        """Whether every rater rated every system on every item."""
        return self.n_missing == 0

    @cached_property
    def is_nested(self) -> bool:
        """Whether each rater rated a single item, of several: raters nested in items."""
        pairs = np.unique(self.rater * self.n_items + self.item)
        return self.n_items > 1 and len(pairs) == self.n_raters

    @property
    def raters_per_cell(self) -> tuple[int, float, int]:
        """Smallest, median and largest number of raters of a cell."""
        return int(self.cell_size.min()), float(np.median(self.cell_size)), int(self.cell_size.max())

    @property
    def raters_are_positions(self) -> bool:
        """Whether the rater ids are bare numbers 1…k (or 0…k-1) or slots, so that they may be positions, not people."""
        bare = [re.sub(r"^(slot|position|rating|answer)[ _-]?", "", name.lower()) for name in self.raters]
        if not all(name.isascii() and name.isdigit() for name in bare):
            return False
        numbers = sorted(int(name) for name in bare)
        return numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1)))

    @property
    def layout(self) -> str:
        """The design in words: what is crossed with what, and how much of it is there."""
        what = "items x systems x raters" if self.systems else "items x raters"
        if self.cell_size.max() == 1 and self.n_raters > 1:
            return f"{what}, one rater per cell"
        if self.is_nested:
            return f"{what}, raters nested in items"
        if self.is_complete:
            return f"{what}, completely crossed"
        return f"{what}, incomplete ({100 * self.n_missing / self.n_possible:.1f} % of the crossing has no rating)"

    def cube(self) -> FloatArray:
        """Return the ratings as an array (n_items, n_systems, n_raters); one system where there are none.

        Raises
        ------
        MeasurandError
            If the panel is not complete.
        """
        if not self.is_complete:
            raise MeasurandError(
                f"{self.n_missing} of {self.n_possible} cells are missing; this needs a complete panel"
            )
        return self.rating.reshape(self.n_items, max(self.n_systems, 1), self.n_raters)

    def matrix(self) -> FloatArray:
        """Return cells by raters, NaN where a rater did not rate; memory n_cells x n_raters."""
        out = np.full((self.n_cells, self.n_raters), np.nan)
        out[self.cell, self.rater] = self.rating
        return out

    def of_system(self, system: int) -> Panel:
        """Return the panel of one system alone."""
        here = self.system == system
        items, item = np.unique(self.item[here], return_inverse=True)
        return Panel(
            self.criterion,
            [self.items[i] for i in items],
            [self.systems[system]],
            self.raters,
            item.astype(np.int64),
            np.zeros(int(here.sum()), dtype=np.int64),
            self.rater[here],
            self.rating[here],
            self.scale,
            0,
            self.has_numbers,
            None if self.order is None else self.order[here],
            self.categories,
        )


def panels(ratings: Ratings | Sequence[Panel] | Any) -> list[Panel]:
    """Return the panel of each criterion, in natural order.

    Parameters
    ----------
    ratings : Ratings, path, data frame, or sequence of Panel
        Checked ratings, or a table with the default column names; panels are returned as they are, so that a chain
        of analyses sorts the ratings once.

    Returns
    -------
    list of Panel
        One for each criterion; a single one of a blank name where the table has none.

    Raises
    ------
    MeasurandError
        Of bad input, see `measurand.read_ratings`; if a criterion has no rating.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": ["a", "a"], "rater": ["ann", "ben"], "rating": [4, 3],
    ...                       "criterion": ["fluency", "tone"]})
    >>> [(panel.criterion, panel.n_raters) for panel in panels(table)]
    [('fluency', 1), ('tone', 1)]
    """
    if isinstance(ratings, Panel):
        return [ratings]
    if isinstance(ratings, list | tuple):
        return list(ratings)
    return list(_split(as_ratings(ratings)))


def _split(ratings: Ratings) -> Iterator[Panel]:
    frame = ratings.frame
    for position, criterion in enumerate(ratings.criteria):
        here: slice | npt.NDArray[np.intp] = slice(None)
        if "criterion" in frame:
            here = np.flatnonzero(frame["criterion"].cat.codes.to_numpy() == position)
            if len(here) == 0:
                raise MeasurandError(f"criterion {criterion!r} has no rating: all its cells are blank or N/A")
        roles: dict[str, IntArray | None] = {}
        names: dict[str, list[str]] = {}
        for role in ("item", "system", "rater"):
            if role not in frame:
                roles[role], names[role] = None, []
                continue
            used, codes = np.unique(frame[role].cat.codes.to_numpy()[here], return_inverse=True)
            roles[role] = codes.astype(np.int64)
            names[role] = list(frame[role].cat.categories[used])
        item, rater, system = roles["item"], roles["rater"], roles["system"]
        if item is None or rater is None:
            raise MeasurandError("a panel needs items and raters")
        if system is None:
            system = np.zeros_like(item)
        n_systems = max(len(names["system"]), 1)
        order = np.argsort((item * n_systems + system) * len(names["rater"]) + rater, kind="stable")
        scale = ratings.scale(criterion)
        n_categories = len(scale.labels or ratings.categories.get(criterion, ()))
        yield Panel(
            criterion,
            names["item"],
            names["system"],
            names["rater"],
            item[order],
            system[order],
            rater[order],
            frame["rating"].to_numpy(dtype=float)[here][order],
            scale,
            ratings.n_blank.get(criterion, 0),
            scale.level != "nominal" or n_categories == 2,
            frame["order"].to_numpy(dtype=float)[here][order] if "order" in frame else None,
            ratings.categories.get(criterion, ()),
        )
