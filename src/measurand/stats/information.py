"""How many bits predictions hold of labels: mutual information of a confusion table, corrected for its bias."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from measurand.stats.inference import FloatArray


class Information(NamedTuple):
    """Mutual information of rows and columns of tables, in bits, each of shape (n_tables,).

    Parameters
    ----------
    plugin : ndarray
        Of the observed shares, in [0, the smaller entropy]; too high in small samples.
    corrected : ndarray
        Less the Miller-Madow estimate of that bias; below 0 by chance where there is none.
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
        return Information(plugin, plugin + filled / (2 * n * np.log(2)))


def _surprise(counts: FloatArray, n: FloatArray) -> FloatArray:
    """Return the entropy of counts that sum to n, in nats."""
    return np.asarray(special.entr(counts / n[:, None]).sum(axis=1))
