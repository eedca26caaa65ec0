"""How many bits predictions hold of labels: mutual information of a confusion table, corrected for its bias."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from scipy import special

from measurand.stats.inference import Exact, FloatArray, IntArray, without_dust

#: Labels of permutations that are held at once.
_BLOCK: Final = 2**20


class Information(NamedTuple):
    """Mutual information of rows and columns of tables, in bits, each of shape (n_tables,).

    Parameters
    ----------
    plugin : ndarray
        Of the observed shares, in [0, the smaller entropy]; too high in small samples.
    corrected : ndarray
        Less the Miller-Madow estimate of that bias; below 0 by chance where there is none, and above the smaller
        entropy of the observed shares where nearly all is told.
    """

    plugin: FloatArray
    corrected: FloatArray


def mutual_information(counts: FloatArray) -> Information:
    """Return the mutual information of true and chosen class.

    Parameters
    ----------
    counts : ndarray, shape (n_tables, n_rows, n_columns)
        How often each pair occurs, as `classes.confusion` gives it.

    Returns
    -------
    Information
        NaN for a table without counts.

    Notes
    -----
    I = H(rows) + H(columns) - H(pairs) with H = -sum s log2 s over shares s. Miller and Madow add (m - 1) / 2n to an
    entropy (in nats) whose m cells are not empty: I becomes I + (m_rows + m_columns - m_pairs - 1) / (2 n ln 2).
    Rounding dust is taken off both.

    References
    ----------
    Miller (1955), Note on the bias of information estimates, in Quastler (ed.), Information Theory in Psychology,
    95-100; Paninski (2003), Neural Computation 15, 1191-1253.

    Examples
    --------
    Always right on two equal classes is one bit, and chance is none.

    >>> found = mutual_information(np.array([[[50.0, 0.0], [0.0, 50.0]], [[25.0, 25.0], [25.0, 25.0]]]))
    >>> found.plugin.tolist(), found.corrected.round(4).tolist()
    ([1.0, 0.0], [1.0072, -0.0072])
    """
    flat = counts.reshape(len(counts), counts.shape[1] * counts.shape[2])
    rows, columns = counts.sum(axis=2), counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        n = flat.sum(axis=1)
        plugin = (_surprise(rows, n) + _surprise(columns, n) - _surprise(flat, n)) / np.log(2)
        filled = (rows > 0).sum(axis=1) + (columns > 0).sum(axis=1) - (flat > 0).sum(axis=1) - 1
        corrected = plugin + filled / (2 * n * np.log(2))
        # Adding 0 turns -0 into 0.
        return Information(without_dust(plugin, largest=1.0) + 0.0, without_dust(corrected, largest=1.0) + 0.0)


def entropy(counts: FloatArray) -> float:
    """Return the entropy of one set of counts, in bits.

    Examples
    --------
    >>> entropy(np.array([5.0, 5.0, 0.0]))
    1.0
    """
    return float(_surprise(counts[None, :], counts.sum(keepdims=True))[0] / np.log(2))


def information_tests(
    x: IntArray, label: IntArray, *, group: IntArray | None, n_draws: int, rng: np.random.Generator
) -> list[Exact]:
    """Return the permutation test of each of several features that it has nothing to do with the labels.

    Parameters
    ----------
    x : ndarray of int, shape (n_features, n_items)
        Classes of each feature, 0 and up.
    label : ndarray of int, shape (n_items,)
        Classes, 0 and up.
    group : ndarray of int, shape (n_items,), or None
        Items that belong together: their labels stay together, and change places with those of another group of the
        same size. None permutes the labels of all items.
    n_draws : int
        Random permutations; all features share them.
    rng : numpy.random.Generator
        See `measurand.stats.inference.stream`.

    Returns
    -------
    list of Exact
        (1 + hits) / (1 + draws), a hit being a permutation with at least the observed plug-in mutual information, and
        the smallest p that so many draws, or so few permutations, can give.

    Examples
    --------
    >>> label = np.arange(40) % 2
    >>> told, untold = information_tests(
    ...     np.array([label, np.arange(40) % 5]), label, group=None, n_draws=99, rng=np.random.default_rng(1)
    ... )
    >>> told.p, untold.p > 0.05
    (0.01, True)
    """
    blocks = _blocks(np.arange(len(label)) if group is None else group)
    orders = sum(special.gammaln(len(block) + 1) for block in blocks)
    least = max(1 / (1 + n_draws), float(np.exp(-orders)))
    own = [_informed(one, label[None, :])[0] - 1e-9 for one in x]
    hits = np.zeros(len(x), dtype=np.int64)
    width = max(1, _BLOCK // max(len(label), 1))
    for start in range(0, n_draws, width):
        drawn = np.empty((min(width, n_draws - start), len(label)), dtype=np.int64)
        for block in blocks:
            order = rng.permuted(np.broadcast_to(np.arange(len(block)), (len(drawn), len(block))), axis=1)
            drawn[:, block.ravel()] = label[block[order]].reshape(len(drawn), -1)
        hits += [int((_informed(one, drawn) >= bar).sum()) for one, bar in zip(x, own, strict=True)]
    return [Exact(float(1 + hit) / (1 + n_draws), least) for hit in hits]


def _blocks(group: IntArray) -> list[IntArray]:
    """Return the groups of each size, as their items, (n_groups, size)."""
    order = np.argsort(group, kind="stable")
    _, first, size = np.unique(group[order], return_index=True, return_counts=True)
    return [order[first[size == one][:, None] + np.arange(one)] for one in np.unique(size)]


def _informed(x: IntArray, labels: IntArray) -> FloatArray:
    """Return the plug-in information of one feature and each of many sets of labels."""
    shape = len(labels), int(x.max()) + 1, int(labels.max()) + 1
    cell = (np.arange(shape[0])[:, None] * shape[1] + x) * shape[2] + labels
    counts = np.bincount(cell.ravel(), minlength=int(np.prod(shape))).reshape(shape)
    return mutual_information(counts.astype(np.float64)).plugin


def _surprise(counts: FloatArray, n: FloatArray) -> FloatArray:
    """Return the entropy of counts that sum to n, in nats."""
    return np.asarray(special.entr(counts / n[:, None]).sum(axis=1))
