"""How simulated outputs come about: emoji of known distributions, tokens, ratings, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from measurand.simulate.outputs_settings import (
    EMOJI,
    FEWEST_EMOJI,
    MOST_EMOJI,
    TYPICAL_EMOJI,
    TYPICAL_SHARES,
)
from measurand.stats.classes import confusion, macro_f1
from measurand.stats.inference import FloatArray, IntArray

#: Share of a label's own distribution that goes to the typical emoji of other labels.
_CONFUSED = 0.25
_LOWEST, _HIGHEST = 1, 5


def common() -> FloatArray:
    """Return how often each emoji occurs whatever the label, shape (n_emoji,)."""
    # 7 and the number of emoji have no divisor in common: neighbours in the list, of one label, end up far apart.
    place = (np.arange(len(EMOJI)) * 7) % len(EMOJI)
    weights = 1.0 / (place + 5.0)
    return np.asarray(weights / weights.sum())


def of_labels(n_labels: int, shift: float) -> FloatArray:
    """Return how often each emoji stands for each label, shape (n_labels, n_emoji).

    Parameters
    ----------
    n_labels : int
        The first so many groups of typical emoji are used.
    shift : float
        Share of it that is the next label's: emoji mean something else in another language.
    """
    own = np.zeros((n_labels, len(EMOJI)))
    for label, typical in enumerate(list(TYPICAL_EMOJI.values())[:n_labels]):
        own[label, [EMOJI.index(one) for one in typical]] = TYPICAL_SHARES
    others = (own.sum(axis=0) - own) / (n_labels - 1)
    mixed = (1 - _CONFUSED) * own + _CONFUSED * others
    return np.asarray((1 - shift) * mixed + shift * np.roll(mixed, -1, axis=0))


def draw_counts(length: float, n: int, rng: np.random.Generator) -> IntArray:
    """Return numbers of emoji: 1 and a binomial of the rest, so that the mean is `length` exactly."""
    rest = MOST_EMOJI - FEWEST_EMOJI
    return np.asarray(FEWEST_EMOJI + rng.binomial(rest, (length - FEWEST_EMOJI) / rest, size=n), dtype=np.int64)


def draw_emoji(given: FloatArray, label: IntArray, rng: np.random.Generator) -> IntArray:
    """Return emoji of each output, shape (n, `MOST_EMOJI`), drawn from the row of `given` of its label."""
    ends = np.cumsum(given, axis=1)[:, :-1]
    drawn = rng.random((len(label), MOST_EMOJI))
    out = np.empty(drawn.shape, dtype=np.int64)
    for one in range(len(given)):
        out[label == one] = np.searchsorted(ends[one], drawn[label == one], side="right")
    return out


class Decodable(NamedTuple):
    """What the best rule that knows the distributions gets right, and the Monte Carlo standard error of accuracy."""

    accuracy: float
    accuracy_error: float
    macro_f1: float
    macro_f1_balanced: float


def decodable(
    drawn_from: FloatArray,
    read_as: FloatArray,
    shares: Sequence[float],
    *,
    length: float,
    signature: float,
    n: int,
    rng: np.random.Generator,
) -> Decodable:
    """Return what of the label can be read off outputs by somebody who knows the distributions.

    Parameters
    ----------
    drawn_from, read_as : ndarray, shape (n_labels, n_emoji)
        How often each emoji occurs with each label in the outputs, and in the rule that reads them.
    shares : sequence of float
        Share of each label.
    length, signature : float
        Mean number of emoji, and the share of them that say nothing of the label.
    n : int
        Number of outputs to draw, dealt to labels by their shares.
    rng : numpy.random.Generator
        See `stream`.

    Returns
    -------
    Decodable
        `accuracy` and `macro_f1` of the label with the highest posterior; `macro_f1_balanced` of the label with the
        highest likelihood, as if all were equally frequent.
    """
    n_labels = len(shares)
    label = dealt(shares, n)
    emoji = draw_emoji(drawn_from, label, rng)
    tells = np.arange(MOST_EMOJI) < draw_counts(length, n, rng)[:, None]
    tells &= rng.random(emoji.shape) >= signature
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(read_as), -1e6)
    likelihood = np.stack([np.where(tells, one[emoji], 0.0).sum(axis=1) for one in log], axis=1)
    found = []
    for prior in (np.log(np.asarray(shares)), np.zeros(n_labels)):
        chosen = (likelihood + prior).argmax(axis=1)
        counts = confusion(np.eye(n_labels)[chosen], label, np.ones((1, n)))
        found.append((float((chosen == label).mean()), float(macro_f1(counts).value[0])))
    accuracy = found[0][0]
    return Decodable(accuracy, float(np.sqrt(accuracy * (1 - accuracy) / n)), found[0][1], found[1][1])


def dealt(shares: Sequence[float], n: int) -> IntArray:
    """Return n labels in order, as many of each as its share says, by largest remainders."""
    exact = np.asarray(shares) * n
    counts = np.floor(exact + 1e-9).astype(np.int64)
    rest = np.argsort(-(exact - counts), kind="stable")[: n - int(counts.sum())]
    counts[rest] += 1
    return np.repeat(np.arange(len(shares)), counts)


def rounded(values: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return whole numbers whose means are the values: up or down by chance."""
    below = np.floor(values)
    return np.asarray(below + (rng.random(values.shape) < values - below), dtype=np.int64)


def rate(latent: FloatArray, noise: float, rng: np.random.Generator) -> IntArray:
    """Return ratings from 1 to 5: the latent opinion with noise, rounded and clipped."""
    seen = latent + noise * rng.standard_normal(latent.shape)
    return np.clip(np.floor(seen + 0.5), _LOWEST, _HIGHEST).astype(np.int64)


def expected_rating(latent: FloatArray, noise: float) -> FloatArray:
    """Return the mean of ratings over their noise alone: 1 and the chances to lie above each threshold."""
    cuts = np.arange(_LOWEST, _HIGHEST) + 0.5
    above = latent[..., None] - cuts
    chance = special.ndtr(above / noise) if noise > 0 else (above >= 0).astype(float)
    return np.asarray(_LOWEST + chance.sum(axis=-1))


def slope_within(x: FloatArray, y: FloatArray) -> float:
    """Return the slope of y on x within rows and columns of a complete table, NaN where x does not vary in it."""
    x, y = (one - one.mean(axis=0) - one.mean(axis=1, keepdims=True) + one.mean() for one in (x, y))
    spread = float((x * x).sum())
    return float((x * y).sum()) / spread if spread > 1e-12 * x.size else float("nan")
