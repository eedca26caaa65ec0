"""Answers to one criterion on the field's items, sorted once, and dealt to folds once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from measurand.stats.calibration import Ordered, ordered
from measurand.stats.inference import FloatArray, IntArray


@dataclass(frozen=True)
class Folds:
    """Folds of items for held-out calibration; all items of a group lie in one fold.

    Parameters
    ----------
    of_item : ndarray of int, shape (n_repeats, n_items)
        The fold of each item in each repetition.
    n : int
        Number of folds.
    """

    of_item: IntArray
    n: int

    @classmethod
    def drawn(cls, group: IntArray, *, n: int, repeats: int, rng: np.random.Generator) -> Folds:
        """Deal groups of items to folds of nearly equal numbers of groups, anew in each repetition."""
        n_groups = int(group.max()) + 1
        dealt = [rng.permutation(np.arange(n_groups) % n) for _ in range(repeats)]
        return cls(np.stack([fold[group] for fold in dealt]), n)


@dataclass(frozen=True)
class Layout:
    """Answers fold by fold, each fold in ascending order and made up to the same number of blocks.

    Parameters
    ----------
    found : Ordered
        Items and blocks, fold after fold.
    block : ndarray of int, shape (n_folds * n_blocks,)
        The block among all answers that each block is part of.
    fillers, filler_blocks : ndarray of int
        Columns, and their blocks, that make folds equally long; they count for nothing.
    """

    found: Ordered
    block: IntArray
    fillers: IntArray
    filler_blocks: IntArray

    @classmethod
    def of(cls, found: Ordered, fold_of: IntArray, n_folds: int) -> Layout:
        """Lay out ordered answers by fold."""
        in_fold = fold_of[found.order]
        columns = [np.flatnonzero(in_fold == fold) for fold in range(n_folds)]
        parts = [found.only(one) for one in columns]
        most = max(len(part.start) for part in parts)
        whole = found.block
        orders, starts, blocks, fillers, at = [], [], [], [], 0
        for one, part in zip(columns, parts, strict=True):
            lacking = most - len(part.start)
            size = len(part.order)
            orders += [part.order, np.zeros(lacking, dtype=np.int64)]
            starts += [at + part.start, at + size + np.arange(lacking)]
            blocks += [whole[one[part.start]], np.full(lacking, len(found.start) - 1)]
            fillers.append(at + size + np.arange(lacking))
            at += size + lacking
        made = Ordered(np.concatenate(orders).astype(np.int64), np.concatenate(starts).astype(np.int64))
        columns_of = np.concatenate(fillers).astype(np.int64)
        own_block = np.searchsorted(made.start, columns_of)
        return cls(made, np.concatenate(blocks).astype(np.int64), columns_of, own_block)


@dataclass(frozen=True)
class Answered:
    """The answers to one criterion.

    Parameters
    ----------
    values : ndarray, shape (n_items,)
        In units of the answers, or of the scale less its shift where they are values of it; NaN where there is none.
    by : ndarray or None, shape (n_items,)
        What sorts them if not the values themselves (log-odds).
    """

    values: FloatArray
    by: FloatArray | None = None

    @cached_property
    def present(self) -> IntArray:
        """Positions of items with an answer."""
        return np.flatnonzero(~np.isnan(self.values))

    @cached_property
    def ordered(self) -> Ordered:
        """Order and ties of the answers that there are; positions are those of items."""
        found = ordered((self.values if self.by is None else self.by)[self.present])
        return Ordered(self.present[found.order], found.start)

    def layout(self, fold_of: IntArray, repeat: int, *, is_apart: bool, n_folds: int) -> Layout:
        """Return the answers fold by fold, kept for the next block of replicates."""
        key = (repeat, is_apart, n_folds)
        if key not in self._layouts:
            found = self.ordered.apart() if is_apart else self.ordered
            self._layouts[key] = Layout.of(found, fold_of, n_folds)
        return self._layouts[key]

    @cached_property
    def _layouts(self) -> dict[tuple[int, bool, int], Layout]:
        return {}

    def only(self, mask: npt.NDArray[np.bool_]) -> Answered:
        """Return the answers to some of the items alone."""
        return Answered(np.where(mask, self.values, np.nan), self.by)
