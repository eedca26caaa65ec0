"""The model behind simulated raters of faces: who they are, what they view, and how far they agree by it.

Drawn intensities are zero in most items, and what people disagree about is mostly whether there is anything. Noise in a
view is therefore lowered by as much as keeps most of it under the first level: the noisier a criterion, the less its
ratings say, without everybody rating everything.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from measurand.result import MeasurandError
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.stats.inference import FloatArray, stream

Steps = npt.NDArray[np.int8]

#: Standard deviations by which noise is lowered, so that of pure noise 15 % would be above 0.
_RESERVE: Final = float(special.ndtri(0.85))

#: Standard deviation of the logarithm of the raters' shares of noise.
_NOISE_SD: Final = 0.2

#: Mean and standard deviation of the thresholds of yes, in shares of the scale.
_THRESHOLD: Final = (0.35, 0.06)

#: Share of a careless rater's work that is done without looking.
_CARELESS_SHARE: Final = 0.25

#: A perceived intensity is looked at to so many places when noise is solved for.
_PLACES: Final = 3

#: Noise beyond which nothing of an item is left in a rating.
_MOST_NOISE: Final = 1e3


class Panel(NamedTuple):
    """The raters; views and what moves them are in shares of the scale.

    Parameters
    ----------
    gains, noise_factors, thresholds, drifts : ndarray, shape (n_raters,)
        How much of a perceived intensity each one sees, and of noise; above which view they say yes; how far they move
        from the first item to the last.
    severities : ndarray, shape (n_raters, n_criteria)
        Shift of each one's views.
    is_careless : ndarray of bool, shape (n_raters,)
        Whether they rate a stretch of items without looking.
    """

    gains: FloatArray
    noise_factors: FloatArray
    thresholds: FloatArray
    drifts: FloatArray
    severities: FloatArray
    is_careless: npt.NDArray[np.bool_]

    def views(self, perceived: FloatArray, drawn: FloatArray, noise: FloatArray) -> FloatArray:
        """Return views without drift, shape (n_items, n_raters, n_criteria).

        Parameters
        ----------
        perceived : ndarray, shape (n_items, 1, n_criteria)
            What is to be seen.
        drawn : ndarray, shape (n_items, n_raters, n_criteria)
            Standard normal.
        noise : ndarray, shape (n_criteria,)
            Standard deviation of a view.
        """
        spread = self.noise_factors[:, None] * noise
        views: FloatArray = self.gains[:, None] * perceived + self.severities + spread * (drawn - _RESERVE)
        return views


def draw_panel(n_raters: int, severity_sd: float, gain_sd: float, drift_sd: float, n_careless: int, seed: int) -> Panel:
    """Return raters at random, with severities for every expression there is; each has a stream of their own."""
    own = [
        stream(seed, "simulate", "raters", "rater", str(r)).standard_normal(5 + len(EXPRESSIONS))
        for r in range(n_raters)
    ]
    gain, factor, threshold, drift, lenient, *severities = np.array(own).T
    is_careless = np.zeros(n_raters, dtype=bool)
    is_careless[stream(seed, "simulate", "raters", "careless").permutation(n_raters)[:n_careless]] = True
    return Panel(
        gains=np.exp(gain_sd * gain),
        noise_factors=np.exp(_NOISE_SD * factor),
        thresholds=_THRESHOLD[0] + _THRESHOLD[1] * threshold,
        drifts=drift_sd * drift,
        severities=severity_sd * math.sqrt(0.5) * (lenient[:, None] + np.array(severities).T),
        is_careless=is_careless,
    )


def thresholds(panel: Panel) -> FloatArray:
    """Return each rater's one cut between no and yes, as `rated` takes it."""
    return panel.thresholds[:, None, None]


def rated(view: FloatArray, cuts: FloatArray) -> Steps:
    """Return ratings in steps above the lowest level.

    Parameters
    ----------
    view : ndarray, shape (n_items, n_raters, n_criteria)
        In shares of the scale.
    cuts : ndarray, shape (n_steps,) or (n_raters, 1, 1)
        Views above the k-th become the k-th step or a higher one.

    Examples
    --------
    >>> rated(np.array([[[0.1, 0.3, 0.9]]]), np.array([0.25, 0.75])).tolist()
    [[[0, 1, 2]]]
    """
    return np.asarray((view[..., None] > cuts).sum(axis=-1), dtype=np.int8)


def expected_kappa(
    noise: float, perceived: FloatArray, weights: FloatArray, panel: Panel, c: int, cuts: FloatArray
) -> float:
    """Return the quadratic kappa of two different careful raters, pooled over their pairs, over all noise.

    Parameters
    ----------
    noise : float
        Standard deviation of a view, above 0.
    perceived, weights : ndarray, shape (n_values,)
        Values of what is to be seen, and the share of items with each.
    panel : Panel
        The raters; the careless ones are left out, and drift.
    c : int
        The criterion's place in their severities.
    cuts : ndarray, shape (n_steps,)
        As for `rated`.

    Returns
    -------
    float
        Covariance over variance of the pooled, symmetric table.

    Examples
    --------
    >>> two = Panel(np.ones(2), np.ones(2), np.ones(2), np.zeros(2), np.zeros((2, 1)), np.zeros(2, dtype=bool))
    >>> values, half = np.array([0.0, 1.0]), np.full(2, 0.5)
    >>> round(expected_kappa(1e-6, values, half, two, 0, np.array([0.5])), 6)  # all see the same
    1.0
    """
    careful = ~panel.is_careless
    spread = noise * panel.noise_factors[careful, None]
    centre = panel.gains[careful, None] * perceived + panel.severities[careful, c, None] - _RESERVE * spread
    reached = special.ndtr((centre[..., None] - cuts) / spread[..., None])
    expected = reached.sum(axis=-1)
    square = float(((reached * (2 * np.arange(len(cuts)) + 1)).sum(axis=-1).mean(axis=0) * weights).sum())
    mean = float((expected.mean(axis=0) * weights).sum())
    n = len(expected)
    products = float(((expected.sum(axis=0) ** 2 - (expected**2).sum(axis=0)) * weights).sum()) / (n * (n - 1))
    return (products - mean**2) / (square - mean**2)


def solve_noise(name: str, reliability: float, perceived: FloatArray, panel: Panel, c: int, cuts: FloatArray) -> float:
    """Return the noise at which `expected_kappa` is the reliability of the criterion of that name.

    Raises
    ------
    MeasurandError
        Where raters without noise do not agree as much, or nothing is to be seen in any item.
    """
    values, counts = np.unique(perceived.round(_PLACES), return_counts=True)
    if len(values) < 2:
        raise MeasurandError(
            f"all {len(perceived)} items show the same of {name}, so that raters cannot agree on it; give more faces, "
            "or leave out the column"
        )
    weights = counts / counts.sum()

    def excess(log_noise: float) -> float:
        return expected_kappa(math.exp(log_noise), values, weights, panel, c, cuts) - reliability

    least, most = math.log(1e-4), math.log(_MOST_NOISE)
    if excess(most) >= 0:
        return _MOST_NOISE
    # Kappa falls with noise only once noise is large: a little of it can smooth what severities keep apart.
    grid = np.linspace(least, most, 33)
    found = [excess(float(one)) for one in grid]
    above = [k for k, value in enumerate(found) if value >= 0]
    if not above:
        raise MeasurandError(
            f"reliability {reliability:g} of {name} is not attainable: with these raters and items at most "
            f"{math.floor(1000 * (max(found) + reliability)) / 1000:g} is; ask for at most that, or for a smaller "
            "severity_sd"
        )
    return math.exp(float(optimize.brentq(excess, float(grid[above[-1]]), float(grid[above[-1] + 1]), xtol=1e-10)))


def careless_stretch(n: int, n_steps: int, r: int, seed: int) -> tuple[int, int, int]:
    """Return which positions of n a careless rater rates without looking: first, last, and the step that all get.

    Examples
    --------
    >>> first, last, step = careless_stretch(50, 7, 0, 7)
    >>> last - first + 1, step
    (12, 2)
    """
    rng = stream(seed, "simulate", "raters", "careless", str(r))
    length = max(1, round(_CARELESS_SHARE * n))
    first = 1 + int(rng.integers(n - length + 1))
    return first, first + length - 1, 1 + int(rng.integers(max(1, round(0.45 * n_steps))))
