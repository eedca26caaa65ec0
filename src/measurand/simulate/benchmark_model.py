"""The model behind a simulated benchmark: what items have, raters see and systems signal.

Everything that is judged happens on one standard normal scale, the propensity. What is given out (an intensity, a
rating, a number that a system names) is a fixed increasing function of a view of it. Noise in the view then lowers
reliability down to exactly 0 and leaves the marginal distribution, with its many zeros, as it is; noise added to the
intensity itself would turn zeros into ratings, and no amount of it would reach 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from measurand.result import MeasurandError
from measurand.stats.inference import FloatArray, IntArray

Readout = Literal["verification", "generative"]
Codes = npt.NDArray[np.int8]

#: Names of a check to its random numbers; two arms (the benchmark, its population) differ in what comes before.
Draw = Callable[..., np.random.Generator]

#: Log-odds of yes for each standard deviation of a signal.
SLOPE: Final = 2.5

#: Where the propensity is integrated; a trapezoid on it is exact to rounding as long as views are not almost noiseless.
_GRID: Final = np.linspace(-8.0, 8.0, 1601)
_DENSITY: Final = np.exp(-0.5 * _GRID**2) / np.exp(-0.5 * _GRID**2).sum()


@dataclass(frozen=True, eq=False)
class Criterion:
    """What is rated, and how raters see it.

    Parameters
    ----------
    name : str
        Its id.
    reliability : float
        Expected quadratic kappa of two different raters, on the scale.
    prevalence : float
        Share of items with an intensity above 0.
    cuts : ndarray, shape (n_levels - 1,)
        Views above the k-th of these become the k-th step of the scale or a higher one.
    severities : ndarray, shape (n_raters,)
        Shift of each rater's view, in standard deviations of the propensity.
    noise : float
        Share of the variance of a rater's view that is noise, 0 to 1.
    """

    name: str
    reliability: float
    prevalence: float
    cuts: FloatArray
    severities: FloatArray
    noise: float


@dataclass(frozen=True, eq=False)
class Model:
    """All that is fixed before an item is drawn.

    Parameters
    ----------
    criteria : sequence of Criterion
        At least one.
    raters_per_item : int
        How many raters see an item, with all its criteria.
    systems : sequence of str
        Their ids.
    validities : sequence of float
        Correlation of each system's signal with the propensity.
    offsets : sequence of float
        What each system adds to its log-odds of yes.
    noises : mapping
        Readout to the standard deviation of its noise, in standard deviations of the signal.
    n_named : int
        How many criteria of an item a generative reply can give a number above the lowest.
    """

    criteria: Sequence[Criterion]
    raters_per_item: int
    systems: Sequence[str]
    validities: Sequence[float]
    offsets: Sequence[float]
    noises: Mapping[Readout, float]
    n_named: int

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return len(self.criteria[0].severities)


def cuts(prevalence: float, n_steps: int) -> FloatArray:
    """Return the propensities at which the rounded intensity rises by one step, shape (n_steps,).

    Examples
    --------
    >>> cuts(0.5, 1).round(2).tolist()  # intensity above half of the scale: a quarter of that half of the items
    [1.15]
    """
    halves = (np.arange(n_steps) + 0.5) / n_steps
    return np.asarray(-special.ndtri(prevalence * (1 - halves) ** 2))


def intensity(propensity: FloatArray, prevalence: float) -> FloatArray:
    """Return the intensity as a share of the scale: 0, or positive with a density that falls linearly to 0 at 1."""
    return np.asarray(1 - np.sqrt(np.minimum(special.ndtr(-propensity) / prevalence, 1.0)))


def expected_kappa(noise: float, cuts: FloatArray, severities: FloatArray) -> float:
    """Return the quadratic kappa of two different raters over all items that could be drawn, pooled over their pairs.

    Parameters
    ----------
    noise : float
        Share of noise in a view, 0 to 1.
    cuts : ndarray, shape (n_levels - 1,)
        See `Criterion`.
    severities : ndarray, shape (n_raters,)
        Of these very raters.

    Returns
    -------
    float
        Covariance over variance of the pooled, symmetric table; within 1e-9 for a noise of .003 or more and for none,
        .005 between.

    Examples
    --------
    >>> one_cut = np.array([0.0])  # a median split: kappa is 2 arcsin(1 - noise) / π
    >>> round(expected_kappa(0.5, one_cut, np.zeros(2)), 9)
    0.333333333
    """
    n_raters = len(severities)
    # A view has variance 1 whatever its noise, so that the margin does not depend on noise.
    reached = special.ndtr(severities[:, None] - cuts)
    mean = reached.sum(axis=1).mean()
    square = (reached * (2 * np.arange(len(cuts)) + 1)).sum(axis=1).mean()
    if noise > 0:
        shifted = severities[:, None] + math.sqrt(1 - noise) * _GRID
        expected = np.zeros_like(shifted)
        for cut in cuts:
            expected += special.ndtr((shifted - cut) / math.sqrt(noise))
        products = ((expected.sum(axis=0) ** 2 - (expected**2).sum(axis=0)) * _DENSITY).sum()
    else:
        distance = severities[:, None] - cuts
        both = special.ndtr(np.minimum(distance[:, None, :, None], distance[None, :, None, :])).sum(axis=(2, 3))
        products = both.sum() - np.trace(both)
    return float((products / (n_raters * (n_raters - 1)) - mean**2) / (square - mean**2))


def solve_noise(name: str, reliability: float, cuts: FloatArray, severities: FloatArray) -> float:
    """Return the share of noise at which `expected_kappa` is the reliability of the criterion of that name.

    Raises
    ------
    MeasurandError
        Where not even raters without noise agree as much, because of their severities.
    """
    most = expected_kappa(0.0, cuts, severities)
    if reliability > most + 1e-12:
        raise MeasurandError(
            f"reliability {reliability:g} of {name} is not attainable: with these severities raters without any noise "
            f"reach {math.floor(1000 * most) / 1000:g}; ask for at most that, or for a smaller severity_sd"
        )
    if reliability <= expected_kappa(1.0, cuts, severities) + 1e-12:
        return 1.0
    if reliability >= most - 1e-12:
        return 0.0
    return float(optimize.brentq(lambda noise: expected_kappa(noise, cuts, severities) - reliability, 0, 1, xtol=1e-12))


def draw_seen(draw: Draw, model: Model, n_items: int) -> IntArray:
    """Return which raters see each item, shape (n_items, raters_per_item), ascending; every set is as likely."""
    raters = np.tile(np.arange(model.n_raters, dtype=np.int64), (n_items, 1))
    return np.sort(draw("seen").permuted(raters, axis=1)[:, : model.raters_per_item], axis=1)


def draw_propensity(draw: Draw, c: int, n_items: int, group: IntArray, share: float) -> FloatArray:
    """Return the propensities of the items for the c-th criterion; `share` of their variance is their group's."""
    own = draw("propensity", str(c)).standard_normal(n_items)
    if len(group) == 0:
        return own
    common = draw("group", str(c)).standard_normal(int(group.max()) + 1)
    return np.asarray(math.sqrt(share) * common[group] + math.sqrt(1 - share) * own)


def draw_ratings(draw: Draw, c: int, model: Model, propensity: FloatArray, seen: IntArray) -> Codes:
    """Return ratings of the c-th criterion in steps above the lowest level, shape of `seen`."""
    criterion = model.criteria[c]
    view = math.sqrt(criterion.noise) * draw("rating", str(c)).standard_normal(seen.shape)
    view += math.sqrt(1 - criterion.noise) * propensity[:, None]
    view += criterion.severities[seen]
    return _steps(view, criterion)


def draw_signal(draw: Draw, s: int, c: int, model: Model, propensity: FloatArray, readout: Readout) -> FloatArray:
    """Return what a readout shows of the s-th system's signal for the c-th criterion, noise added, shape (n_items,)."""
    validity = model.validities[s]
    signal = math.sqrt(1 - validity**2) * draw("signal", str(s), str(c)).standard_normal(len(propensity))
    signal += validity * propensity
    signal += model.noises[readout] * draw(readout, str(s), str(c)).standard_normal(len(propensity))
    return signal


def draw_named(draw: Draw, s: int, model: Model, propensities: FloatArray) -> Codes:
    """Return the numbers that the s-th system names, in steps above the lowest level.

    Parameters
    ----------
    draw, s, model
        As in `draw_signal`.
    propensities : ndarray, shape (n_criteria, n_items)
        Of all criteria, because a reply names only the strongest of them.

    Returns
    -------
    ndarray of int8, shape (n_criteria, n_items)
    """
    n_criteria = len(propensities)
    codes = np.empty(propensities.shape, dtype=np.int8)
    strengths = np.empty(propensities.shape)
    spread = math.sqrt(1 + model.noises["generative"] ** 2)
    for c, criterion in enumerate(model.criteria):
        signal = draw_signal(draw, s, c, model, propensities[c], "generative") / spread
        codes[c], strengths[c] = _steps(signal, criterion), intensity(signal, criterion.prevalence)
    if model.n_named < n_criteria:
        weakest = np.partition(strengths, n_criteria - model.n_named, axis=0)[n_criteria - model.n_named]
        codes[strengths < weakest] = 0
    return codes


def log_odds(signal: FloatArray, criterion: Criterion, offset: float) -> FloatArray:
    """Return the log-odds of yes: without offset, even where the signal is as rare as an intensity above 0."""
    return np.asarray(SLOPE * (signal + special.ndtri(criterion.prevalence)) + offset)


def _steps(view: FloatArray, criterion: Criterion) -> Codes:
    return np.searchsorted(criterion.cuts, view).astype(np.int8)
