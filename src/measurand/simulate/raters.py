"""Simulated raters of faces whose expressions are known: how they see, how they rate, and the truth about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from measurand.data.scale import Scale
from measurand.simulate import raters_settings as settings
from measurand.simulate.benchmark_settings import names_of
from measurand.simulate.faces import read_intensities
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.simulate.raters_model import Panel, careless_stretch, draw_panel, rated, solve_noise, thresholds
from measurand.stats.inference import FloatArray, IntArray, stream


@dataclass(frozen=True, eq=False)
class SimulatedRaters:
    """A ratings table and the truth that made it.

    Parameters
    ----------
    ratings : pandas.DataFrame
        Columns `item`, `rater`, `criterion` (categorical), `rating` (a number on the scale, or a label) and `order`,
        the position at which this rater saw the item, from 1; ordered by item, rater, criterion.
    truth : dict
        JSON values:

        - the sizes and settings as asked for, by the names of `simulate_raters`; ``scale``: its declaration;
        - ``criteria``: for each one ``criterion``, ``reliability`` as asked for and ``noise``, the standard deviation
          of a view in shares of the scale;
        - ``raters``: for each one ``rater``, ``gain``, ``noise_factor``, ``threshold`` of yes and ``drift`` (shares of
          the scale), ``severities`` (criterion to shift, shares of the scale), ``is_careless`` and ``stretch``: the
          ``first`` and ``last`` position of what was rated without looking and the ``rating`` given there, or None.
    """

    ratings: pd.DataFrame
    truth: dict[str, Any]


def simulate_raters(
    faces: pd.DataFrame | Path | str,
    *,
    n_raters: int = 8,
    raters_per_item: int = 4,
    scale: Scale = settings.SCALE,
    reliabilities: Mapping[str, float] = settings.READOUT_PAPER,
    confusions: Mapping[str, Mapping[str, float]] = settings.CONFUSIONS,
    severity_sd: float = 0.05,
    gain_sd: float = 0.15,
    drift_sd: float = 0.04,
    n_careless: int = 0,
    seed: int = 0,
) -> SimulatedRaters:
    """Return ratings of faces of known intensities, and what is true of the raters.

    Parameters
    ----------
    faces : pandas.DataFrame or path
        Column `item` and intensities, such as `simulate_faces` returns or its ``truth.csv``; each expression in it is a
        criterion.
    n_raters : int
        Number of raters, at least 2.
    raters_per_item : int
        How many of them see an item, 2 to `n_raters` (then the panel is crossed), drawn at random for each item; they
        rate all its criteria.
    scale : Scale
        Bounds with a step; or two labels in ascending order, such as no and yes, for yes/no answers.
    reliabilities : mapping
        Criterion to the expected quadratic kappa of two different careful raters on these items, pooled over the pairs
        of raters, 0 to 1; of graded ratings, on `scale` or, with labels, on 0 to 7. Every criterion of `faces` is
        needed, others are of no account.
    confusions : mapping
        Criterion to expressions that are taken for it, and how much of their intensity is seen as the criterion's.
    severity_sd : float
        Standard deviation of the raters' severities on a criterion, in shares of the scale; half of the variance is the
        rater's own on all criteria.
    gain_sd : float
        Standard deviation of the logarithm of the raters' gains.
    drift_sd : float
        Standard deviation of how far a rater's severity moves from the first item to the last, in shares of the scale.
    n_careless : int
        How many raters give one and the same rating to everything, above the lowest, for a quarter of their items in a
        row; `reliabilities` are those of the others.
    seed : int
        The one seed, 0 or above.

    Returns
    -------
    SimulatedRaters
        Ratings and truth. Raters are ``R1``, ``R2``, …, padded with zeros to one width.

    Raises
    ------
    MeasurandError
        Faces without intensities, numbers out of their range, a scale with neither a step nor two labels, reliabilities
        that are absent or not attainable (the message says what is).

    Notes
    -----
    Of item i with intensities I on criterion c all raters perceive p = I_c + Σ_d confusion_cd I_d, at most 1. Rater r
    has the view

        v = gain_r p + severity_rc + drift_r (t - 1/2) + σ_c m_r (e - z)

    with t from 0 for the first item that this rater saw to 1 for the last, e standard normal, m_r the rater's own share
    of noise, and z = 1.04, so that of pure noise 15 % would be above 0. The rating is the level next to v; yes is said
    where v is above the rater's own threshold. σ_c is solved for by Brent's method so that
    κ = (mean of E[R R'] over pairs of different raters - μ²) / σ², with the moments μ and σ² of all ratings of these
    items, drift left out, is the reliability. Graded and yes/no answers of one seed come from the same views.

    Rater and item each have a stream of random numbers of their own. Other items change σ_c a little, and nothing else.

    References
    ----------
    The reliabilities by default: Hallmen et al. (2026), The Failure Is in the Readout, arXiv 2610.08162, alpha per
    category. Quadratic kappa of pooled pairs: Fleiss & Cohen (1973), Educational and Psychological Measurement 33,
    613-619.

    Examples
    --------
    >>> from measurand.simulate import simulate_faces
    >>> made = simulate_raters(simulate_faces(n_items=200, n_persons=6), n_careless=1, seed=7)
    >>> made.ratings.columns.tolist(), len(made.ratings) == 200 * 4 * 12
    (['item', 'rater', 'criterion', 'rating', 'order'], True)
    >>> [one["rater"] for one in made.truth["raters"] if one["is_careless"]]
    ['R6']
    """
    settings.check_numbers(n_raters, raters_per_item, n_careless, seed, severity_sd, gain_sd, drift_sd)
    cuts = settings.cuts_of(scale)
    table, intensities = read_intensities(faces)
    items, criteria = table["item"].tolist(), [str(column) for column in intensities]
    settings.check_mappings(reliabilities, confusions, criteria)
    perceived = _perceived(intensities, confusions)
    places = [list(EXPRESSIONS).index(criterion) for criterion in criteria]
    panel = draw_panel(n_raters, severity_sd, gain_sd, drift_sd, n_careless, seed)
    panel = panel._replace(severities=panel.severities[:, places])
    noise = np.array(
        [solve_noise(one, reliabilities[one], perceived[:, c], panel, c, cuts) for c, one in enumerate(criteria)]
    )
    seen = np.stack([_seen(item, n_raters, raters_per_item, seed) for item in items])
    order = _order(seen, n_raters, seed)
    view = _views(items, perceived, panel, noise, order, places, seed)
    steps = rated(view, thresholds(panel) if scale.labels else cuts)
    stretches: dict[int, tuple[int, int, int]] = {}
    for r in np.flatnonzero(panel.is_careless).tolist():
        if n_seen := int(seen[:, r].sum()):
            first, last, step = careless_stretch(n_seen, 1 if scale.labels else len(cuts), r, seed)
            steps[(order[:, r] >= first) & (order[:, r] <= last), r] = step
            stretches[r] = first, last, step
    values: Any = np.array(scale.labels or scale.levels, dtype=object if scale.labels else np.float64)
    raters = names_of("R", n_raters)
    where, who = np.nonzero(seen)
    n = len(criteria)
    ratings = pd.DataFrame(
        {
            "item": _categorical(items, np.repeat(where, n)),
            "rater": _categorical(raters, np.repeat(who, n)),
            "criterion": _categorical(criteria, np.tile(np.arange(n), len(where))),
            "rating": values[steps[where, who].ravel()],
            "order": np.repeat(order[where, who], n),
        }
    )
    truth = {
        "n_items": len(items),
        "n_raters": int(n_raters),
        "raters_per_item": int(raters_per_item),
        "scale": scale.to_dict(),
        "severity_sd": float(severity_sd),
        "gain_sd": float(gain_sd),
        "drift_sd": float(drift_sd),
        "n_careless": int(n_careless),
        "seed": int(seed),
        "confusions": {one: dict(confusions[one]) for one in criteria if one in confusions},
        "criteria": [
            {"criterion": one, "reliability": float(reliabilities[one]), "noise": float(noise[c])}
            for c, one in enumerate(criteria)
        ],
        "raters": [
            {
                "rater": name,
                "gain": float(panel.gains[r]),
                "noise_factor": float(panel.noise_factors[r]),
                "threshold": float(panel.thresholds[r]),
                "drift": float(panel.drifts[r]),
                "severities": dict(zip(criteria, panel.severities[r].tolist(), strict=True)),
                "is_careless": bool(panel.is_careless[r]),
                "stretch": (
                    {"first": stretches[r][0], "last": stretches[r][1], "rating": values[stretches[r][2]]}
                    if r in stretches
                    else None
                ),
            }
            for r, name in enumerate(raters)
        ],
    }
    return SimulatedRaters(ratings, truth)


def _categorical(names: Sequence[str], codes: IntArray) -> pd.Categorical:
    return pd.Categorical.from_codes(codes.astype(np.int32), categories=pd.Index(list(names), dtype=object))


def _perceived(intensities: pd.DataFrame, confusions: Mapping[str, Mapping[str, float]]) -> FloatArray:
    """Return what of each criterion is to be seen in each item, shape (n_items, n_criteria)."""
    seen = intensities.to_numpy(dtype=np.float64)
    total = seen.copy()
    for c, criterion in enumerate(intensities):
        for other, weight in confusions.get(str(criterion), {}).items():
            if other in intensities:
                total[:, c] += weight * seen[:, list(intensities).index(other)]
    return np.asarray(np.minimum(total, 1.0))


def _seen(item: str, n_raters: int, raters_per_item: int, seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    is_seen = np.zeros(n_raters, dtype=bool)
    chosen = stream(seed, "simulate", "raters", "seen", item).permutation(n_raters)[:raters_per_item]
    is_seen[chosen] = True
    return is_seen


def _order(seen: np.ndarray[Any, np.dtype[np.bool_]], n_raters: int, seed: int) -> IntArray:
    """Return at which position each rater saw each item, from 1; 0 for what they did not see."""
    order = np.zeros(seen.shape, dtype=np.int64)
    for r in range(n_raters):
        own = np.flatnonzero(seen[:, r])
        order[own, r] = 1 + stream(seed, "simulate", "raters", "order", str(r)).permutation(len(own))
    return order


def _views(
    items: list[str],
    perceived: FloatArray,
    panel: Panel,
    noise: FloatArray,
    order: IntArray,
    places: list[int],
    seed: int,
) -> FloatArray:
    """Return every rater's view of every item, shape (n_items, n_raters, n_criteria)."""
    shape = (order.shape[1], len(EXPRESSIONS))
    drawn = np.stack(
        [stream(seed, "simulate", "raters", "view", item).standard_normal(shape)[:, places] for item in items]
    )
    # A rater who saw one item only did not move.
    moved = (order - 1) / np.maximum(order.max(axis=0) - 1, 1) - 0.5
    return np.asarray(panel.views(perceived[:, None, :], drawn, noise) + (panel.drifts * moved)[:, :, None])
