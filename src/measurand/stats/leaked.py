"""How much of a test set a row-wise split puts into training, through other rows of the same item: closed forms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray


def leaked_share(views: IntArray, *, ratio: float) -> float:
    """Return the share of test rows whose item also has a training row, where each row is assigned on its own.

    Parameters
    ----------
    views : ndarray of int, shape (n_items,)
        Number of rows of each item, 1 or more.
    ratio : float
        Probability that a row goes into training, between 0 and 1.

    Returns
    -------
    float
        In [0, 1]: expected number of test rows that share their item with training over expected number of test rows.
        0 where every item has one row. NaN without rows.

    Notes
    -----
    1 - Σ V_i (1 - ρ)^(V_i - 1) / Σ V_i, which is 1 - (1 - ρ)^(V - 1) where all items have V rows. The mean is over
    rows, so that items of many rows count more.

    References
    ----------
    Sakhawat (2026), arXiv 2609.29445, section 9, for equal V.

    Examples
    --------
    >>> [round(leaked_share(np.full(100, views), ratio=0.8), 7) for views in (8, 5, 1)]
    [0.9999872, 0.9984, 0.0]
    """
    _check_ratio(ratio)
    if views.sum() == 0:
        return float("nan")
    kept_out = (1.0 - ratio) ** (views - 1.0)
    return float(1.0 - (views * kept_out).sum() / views.sum())


def leaked_share_fixed_size(views: IntArray, n_test: npt.ArrayLike) -> float:
    """Return the expected share of test rows whose item also has a training row, for a test set of fixed size.

    Parameters
    ----------
    views : ndarray of int, shape (n_items,) or (n_items, n_strata)
        Number of rows of each item, in each stratum (class) of a stratified split.
    n_test : int or array_like of int, shape (n_strata,)
        Number of rows that are drawn for the test set, without replacement, from each stratum.

    Returns
    -------
    float
        In [0, 1]; NaN where there is no test row.

    Raises
    ------
    ValueError
        If a stratum has fewer rows than are to be drawn.

    Notes
    -----
    All rows of item i are drawn with probability F_i = Π_c C(N_c - v_ic, t_c - v_ic) / C(N_c, t_c), and only then do
    its V_i test rows have none of the same item in training. The share is 1 - Σ V_i F_i / Σ t_c, the hypergeometric
    counterpart of `leaked_share`.

    Examples
    --------
    >>> leaked_share_fixed_size(np.array([2, 2]), 2).__round__(6)
    0.666667
    """
    by_stratum = views.reshape(len(views), -1)
    total, drawn = by_stratum.sum(axis=0), np.atleast_1d(np.asarray(n_test, dtype=np.int64))
    if (drawn > total).any() or (drawn < 0).any():
        raise ValueError(f"{drawn.tolist()} test rows of {total.tolist()}")
    if drawn.sum() == 0:
        return float("nan")
    all_drawn = np.ones(len(views))
    for stratum, (n, t) in enumerate(zip(total, drawn, strict=True)):
        most = int(by_stratum[:, stratum].max(initial=0))
        taken = np.arange(most)
        # Factor by factor (t - k) / (n - k): the chance that one more row of the item is drawn, too.
        factors = np.maximum(t - taken, 0) / (n - taken)
        all_drawn *= np.concatenate([[1.0], np.cumprod(factors)])[by_stratum[:, stratum]]
    return float(1.0 - (by_stratum.sum(axis=1) * all_drawn).sum() / drawn.sum())


def log10_p_no_item_split(views: IntArray, *, ratio: float) -> float:
    """Return log10 of the probability that no item has rows on both sides, where each row is assigned on its own.

    Parameters
    ----------
    views : ndarray of int, shape (n_items,)
        Number of rows of each item.
    ratio : float
        Probability that a row goes into training.

    Returns
    -------
    float
        Σ log10(ρ^V_i + (1 - ρ)^V_i), at most 0. The probability itself underflows at a few hundred items. It says
        next to nothing of how much leaks: one shared item is enough to make the event false.

    Examples
    --------
    >>> round(log10_p_no_item_split(np.full(4206, 8), ratio=0.8))
    -3261
    """
    _check_ratio(ratio)
    v = views.astype(np.float64)
    logs = np.logaddexp(v * np.log(ratio), v * np.log1p(-ratio)) / np.log(10.0)
    return float(np.where(views > 1, logs, 0.0).sum())


def shared_share(cluster: IntArray, train: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the share of test rows whose cluster has a training row, in splits that were made.

    Parameters
    ----------
    cluster : ndarray of int, shape (n_rows,)
        The item, or the group, of each row: 0 and up.
    train : ndarray of bool, shape (n_splits, n_rows)
        True for a training row; all other rows are test rows.

    Returns
    -------
    ndarray, shape (n_splits,)
        In [0, 1]; NaN where a split has no test row.

    Examples
    --------
    >>> shared_share(np.array([0, 0, 1, 1]), np.array([[True, False, False, False]])).round(6).tolist()
    [0.333333]
    """
    out = np.full(len(train), np.nan)
    for split, in_train in enumerate(train):
        seen = np.bincount(cluster[in_train], minlength=int(cluster.max(initial=-1)) + 1) > 0
        test = ~in_train
        if test.any():
            out[split] = seen[cluster[test]].mean()
    return out


def _check_ratio(ratio: float) -> None:
    if not 0 < ratio < 1:
        raise ValueError(f"ratio {ratio}; give the share of training rows, between 0 and 1")
