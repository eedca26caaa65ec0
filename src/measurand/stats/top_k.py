"""What the likeliest tokens alone say about answers: bounds of their probabilities where the rest is hidden."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.stats.inference import FloatArray, IntArray

BoolArray = npt.NDArray[np.bool_]


class Bounds(NamedTuple):
    """Smallest and largest possible probability of each label, shape (n_labels,), and of all labels together."""

    low: FloatArray
    high: FloatArray
    mass_low: float
    mass_high: float


def bounds(
    shown: FloatArray,
    whole: BoolArray,
    part: BoolArray,
    unseen: IntArray,
    *,
    n_top: int | None = None,
    rounding: float = 0.0,
    lost: BoolArray | None = None,
) -> Bounds:
    """Return the bounds of the labels' probabilities, given the likeliest tokens of a distribution.

    Parameters
    ----------
    shown : ndarray, shape (n_tokens,)
        Probabilities of the tokens that were shown, at least one, in any order.
    whole : ndarray of bool, shape (n_labels, n_tokens)
        Whether a shown token is certainly an answer with this label.
    part : ndarray of bool, shape (n_labels, n_tokens)
        Whether it may be one, depending on what follows it (``1``, which may begin ``10``).
    unseen : ndarray of int, shape (n_labels,)
        At most so many tokens that are answers with this label, or may be, were not shown.
    n_top : int or None
        How many of the shown tokens are the likeliest of all; None for all of them. A token that was shown because it
        was drawn, and not because it is likely, bounds nothing.
    rounding : float
        Largest error of the shown log-probabilities in nats (5e-5 for four decimals).
    lost : ndarray of bool, shape (n_labels,), or None
        Whether tokens of this label may be missing from the list although they are likelier than others on it, as
        where a server keys its list by text and keeps one of two tokens with the same text.

    Returns
    -------
    Bounds
        In [0, 1]. The true probabilities are inside for every distribution that agrees with what was shown.

    Notes
    -----
    With p_min the smallest probability among the likeliest and r = 1 - (sum of all that were shown), a token that was
    not shown has at most min(p_min, r), and a of them together at most min(r, a p_min); lost ones together at most r.
    The lower bound is what was shown: a value for an answer that nobody saw is never made from the other answers'.

    Examples
    --------
    >>> whole = np.array([[True, False, False], [False, True, False]])
    >>> found = bounds(np.array([0.6, 0.3, 0.02]), whole, ~whole & False, np.array([2, 2]))
    >>> found.low.tolist(), found.high.round(3).tolist(), round(found.mass_high, 3)
    ([0.6, 0.3], [0.64, 0.34], 0.98)
    """
    smallest, largest = shown * np.exp(-rounding), shown * np.exp(rounding)
    rest = max(1.0 - float(smallest.sum()), 0.0)
    least = float(np.sort(largest)[::-1][: n_top or None][-1])
    hidden = np.minimum(rest, unseen * min(least, rest))
    together = min(rest, float(unseen.sum()) * min(least, rest))
    if lost is not None and lost.any():
        hidden, together = np.where(lost, rest, hidden), rest
    possible = whole | part
    return Bounds(
        low=np.minimum(whole @ smallest, 1.0),
        high=np.minimum(possible @ largest + hidden, 1.0),
        mass_low=min(float(smallest[whole.any(axis=0)].sum()), 1.0),
        mass_high=min(float(largest[possible.any(axis=0)].sum()) + together, 1.0),
    )
