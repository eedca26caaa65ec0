"""Folds and splits that spread classes evenly and can keep groups whole."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


def stratified_folds(
    label: IntArray, *, n_folds: int, rng: np.random.Generator, group: IntArray | None = None
) -> IntArray:
    """Return the fold of each row, classes spread over the folds as evenly as they can be.

    Parameters
    ----------
    label : ndarray of int, shape (n_rows,)
        The class of each row, any integers. Rows without a class (-1) are spread evenly, too.
    n_folds : int
        Number of folds, 2 or more.
    rng : numpy.random.Generator
        Decides which rows (or groups) of a class go where.
    group : ndarray of int, shape (n_rows,), optional
        Rows of one group stay in one fold.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        0 to n_folds - 1. Without groups, or where every row is a group of its own, the numbers of rows of a class in
        any two folds differ by 1 at most, and so do the sizes of the folds; a class with fewer rows than folds is
        absent from some. With groups the folds are as even as a greedy pass makes them: the largest groups first,
        each to the fold that has least of its classes.

    Raises
    ------
    ValueError
        If there are fewer than two folds, or fewer rows or groups than folds.

    Examples
    --------
    >>> fold = stratified_folds(np.array([0, 0, 0, 0, 1, 1]), n_folds=2, rng=np.random.default_rng(1))
    >>> np.bincount(fold[:4]).tolist(), np.bincount(fold[4:]).tolist()
    ([2, 2], [1, 1])
    """
    if n_folds < 2:
        raise ValueError(f"{n_folds} folds; there must be 2 or more")
    counts, member = _groups(label, group)
    if len(counts) < n_folds:
        what = "rows" if group is None else "groups"
        raise ValueError(f"{len(counts)} {what} cannot be spread over {n_folds} folds; take fewer folds")
    if len(counts) < len(label):
        return _greedy(counts, np.full(n_folds, 1 / n_folds), rng)[member]
    # Rows of a class stand together, in random order, and are dealt in turn: no two folds differ by more than one.
    order = rng.permutation(len(label))
    order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(len(label), dtype=np.int64)
    fold[order] = rng.permutation(n_folds)[np.arange(len(label)) % n_folds]
    return fold


def stratified_split(
    label: IntArray, *, train_share: float, rng: np.random.Generator, group: IntArray | None = None
) -> BoolArray:
    """Return which rows are for training, every class split in the same proportion as far as it can be.

    Parameters
    ----------
    label : ndarray of int, shape (n_rows,)
        The class of each row, any integers.
    train_share : float
        Share of the rows that are for training, between 0 and 1.
    rng : numpy.random.Generator
        Decides which rows (or groups) of a class are for training.
    group : ndarray of int, shape (n_rows,), optional
        Rows of one group stay on one side.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        True for training. Without groups the number of training rows is train_share x n_rows, rounded, but leaves one
        row for either side; each class gives its share rounded down or up, and the largest remainders are rounded up.
        With groups both are met as nearly as a greedy pass meets them.

    Raises
    ------
    ValueError
        If the share is not between 0 and 1, or there are fewer than two rows or groups.

    Examples
    --------
    >>> train = stratified_split(np.array([0, 0, 0, 0, 1, 1]), train_share=0.5, rng=np.random.default_rng(1))
    >>> int(train[:4].sum()), int(train[4:].sum())
    (2, 1)
    """
    if not 0 < train_share < 1:
        raise ValueError(f"the share for training is {train_share}; it lies between 0 and 1")
    counts, member = _groups(label, group)
    n = len(counts)
    if n < 2:
        raise ValueError(f"{n} {'row' if group is None else 'group'} cannot be split; there must be two")
    if n < len(label):
        return np.asarray(_greedy(counts, np.array([train_share, 1 - train_share]), rng)[member] == 0)
    classes, position = np.unique(label, return_inverse=True)
    sizes = np.bincount(position, minlength=len(classes))
    quota = train_share * sizes
    taken = np.floor(quota + 1e-9).astype(np.int64)
    wanted = min(max(int(np.floor(train_share * n + 0.5)), 1), n - 1)
    left = quota - taken + rng.random(len(classes)) * 1e-9  # equal remainders are drawn, not taken in order
    up = np.argsort(-left)[: max(wanted - int(taken.sum()), 0)]
    taken[up] += 1
    order = rng.permutation(n)
    order = order[np.argsort(position[order], kind="stable")]
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    train = np.zeros(n, dtype=bool)
    train[order] = place < np.repeat(taken, sizes)
    return train


def _groups(label: IntArray, group: IntArray | None) -> tuple[FloatArray, IntArray]:
    """Return how many rows of each class each group has, (n_groups, n_classes), and the group of each row."""
    _, position = np.unique(label, return_inverse=True)
    member = np.arange(len(label)) if group is None else np.unique(group, return_inverse=True)[1]
    counts = np.zeros((int(member.max(initial=-1)) + 1, int(position.max(initial=-1)) + 1))
    np.add.at(counts, (member, position), 1.0)
    return counts, member.astype(np.int64)


def _greedy(counts: FloatArray, share: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return the part that each group goes to, so that part f comes to hold share[f] of every class and of all rows.

    Each group, the largest first, goes where it adds least to sum over classes c and parts f of x_cf^2 / share_f, with
    x_cf the share of class c that part f holds; its minimum is x_cf = share_f.
    """
    sized = np.column_stack([counts, counts.sum(axis=1)])
    unit = sized / np.maximum(sized.sum(axis=0), 1.0)
    held = np.zeros((len(share), unit.shape[1]))
    part = np.empty(len(unit), dtype=np.int64)
    order = rng.permutation(len(unit))
    order = order[np.argsort(-sized[order, -1], kind="stable")]
    names = rng.permutation(len(share)) if np.ptp(share) == 0 else np.arange(len(share))
    for one in order:
        added = (2 * held @ unit[one] + unit[one] @ unit[one]) / share
        to = int(np.argmin(added))
        held[to] += unit[one]
        part[one] = names[to]
    return part
