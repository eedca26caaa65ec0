"""A synthetic benchmark: items that several raters and several systems judge on many criteria, with known truth."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from measurand.data.scale import Scale
from measurand.simulate import benchmark_model as models
from measurand.simulate import benchmark_settings as settings
from measurand.simulate.benchmark_model import Readout
from measurand.simulate.benchmark_truth import population
from measurand.stats.inference import FloatArray, stream

_SCALE: Final = Scale(0, 7, step=1)

#: Standard deviation of the systems' offsets, in log-odds.
_OFFSET_SD: Final = 0.75


@dataclass(frozen=True, eq=False)
class SimulatedBenchmark:
    """Answers, ratings and items of a benchmark, and the truth that made them.

    Parameters
    ----------
    answers : pandas.DataFrame
        Columns `system`, `item`, `criterion`, `readout` (categorical), `answer`, `status` (categorical: ``ok``, or
        ``invalid`` where a reply was lost and the answer is NaN) and, with verification, `log_odds`; one row for each
        system, readout, item and criterion, in this order. Answers under verification are probabilities of yes,
        others are numbers on the scale.
    ratings : pandas.DataFrame
        Columns `item`, `rater`, `criterion` (categorical), `rating`; one row for each item, rater who saw it, and
        criterion.
    items : pandas.DataFrame
        Columns `item` and, with groups, `group`.
    intensities : pandas.DataFrame
        Columns `item`, `criterion` (categorical), `intensity` in scale units above the lowest level, `propensity` in
        standard deviations.
    truth : dict
        JSON values:

        - the sizes and settings as asked for, by the names of `simulate_benchmark`; ``scale``: its declaration;
        - ``criteria``: for each one ``criterion``, ``reliability``, ``prevalence``, ``noise`` (share of the variance of
          a rater's view) and ``severities`` (rater to shift of the view, in standard deviations of the propensity);
        - ``systems``: for each one ``system``, ``validity``, ``offset`` (in log-odds of yes);
        - ``population``: a list of quadratic kappas with other items in great number and these very raters; empty
          where ``truth_items`` is 0. Each has ``kappa_quadratic`` and its Monte Carlo standard ``error``, for one
          ``criterion`` or, where that is blank, for the mean over a ``set``: ``all`` criteria, or the ``reliable`` ones
          (reliability .30 or more). A ``system`` with its ``readout`` is scored against the single ratings after rank
          calibration to a ``target``: the marginal of the single ``ratings``, or of the rounded ``consensus``; ties get
          their mean level. An ``anchor`` is ``pairwise`` (two raters of an item, all pairs pooled), ``leave_one_out``
          (the rounded mean of an item's other raters against the rater left out, pooled) or ``leave_one_out_by_rater``
          (the same for each rater left out, then their mean). All come from the same items and ratings, so that, as a
          rule, the error of a difference is smaller than the root of the sum of squared errors.
    """

    answers: pd.DataFrame
    ratings: pd.DataFrame
    items: pd.DataFrame
    intensities: pd.DataFrame
    truth: dict[str, Any]


def simulate_benchmark(
    *,
    n_items: int = 2500,
    n_criteria: int = 40,
    n_raters: int = 8,
    raters_per_item: int = 4,
    scale: Scale = _SCALE,
    reliabilities: Sequence[float] | None = None,
    prevalence: float | Sequence[float] | None = None,
    severity_sd: float = 0.2,
    validities: Sequence[float] = (0.98, 0.94, 0.9, 0.86, 0.82, 0.78, 0.74, 0.7, 0.66, 0.62, 0.58),
    readouts: Sequence[Readout] = ("verification",),
    readout_noise: float = 0.3,
    generative_noise: float = 0.6,
    n_named: int = 5,
    missing_answers: float = 0.0,
    n_groups: int = 0,
    group_share: float = 0.3,
    truth_items: int = 0,
    seed: int = 0,
) -> SimulatedBenchmark:
    """Return a benchmark of items and criteria, judged by raters and systems, with known truth.

    Parameters
    ----------
    n_items, n_criteria, n_raters : int
        Sizes: at least 2 items, 1 criterion and 2 raters.
    raters_per_item : int
        How many of the raters see an item, drawn at random for each item; they rate all its criteria.
    scale : Scale
        The ratings' bounds and step, at most 101 levels.
    reliabilities : sequence of float or None
        For each criterion the expected quadratic kappa of two different raters, pooled over the pairs of these raters
        and on the scale: 0 or more, and attainable. None takes `spread_reliabilities`.
    prevalence : float, sequence of float or None
        Share of items with an intensity above 0, for all criteria or for each, .01 to .99. None takes .12 + .55 times
        the reliability: what raters agree on is what occurs.
    severity_sd : float
        Standard deviation of the raters' severities on a criterion, in standard deviations of the propensity. Half of
        the variance is the rater's own on all criteria.
    validities : sequence of float
        One for each system: the correlation of its signal with the propensity, -1 to 1, alike on all criteria.
    readouts : sequence of {"verification", "generative"}
        How answers are taken.
    readout_noise : float
        Standard deviation of a readout's noise, in standard deviations of the signal.
    generative_noise : float
        Standard deviation of what the generative readout adds to that.
    n_named : int
        A generative reply gives numbers to at most so many criteria, the strongest; the others are at the lowest level.
    missing_answers : float
        Share of items whose generative reply is lost as a whole, 0 or more and below 1, for each system.
    n_groups : int
        Number of groups of items, 0 for none; sizes differ by at most 1.
    group_share : float
        Share of the propensity's variance that items of a group have in common, 0 to 1.
    truth_items : int
        Items to draw for the population values in `truth`: a multiple of 20 from 10,000 on, or 0 for none. With
        200,000 the errors of a criterion are some .002, and forty criteria of eleven systems take some 20 s for each
        readout.
    seed : int
        The one seed, 0 or above.

    Returns
    -------
    SimulatedBenchmark
        Tables and truth. Ids are ``I0001``, ``C01``, ``R1``, ``S01``, ``G01``, padded with zeros to one width.

    Raises
    ------
    MeasurandError
        Sizes, shares, noises or validities out of their range; a scale without steps; reliabilities that are negative,
        too few, or not attainable with these severities (the message says what is).

    Notes
    -----
    Item i has on criterion c a standard normal propensity x. Its intensity is 0 where x lies below the quantile
    1 - prevalence; above it, it is (1 - √((1 - Φ(x)) / prevalence)) of the scale's width: positive intensities have a
    density that falls linearly to 0 at the top.

    Rater r has the view √(1 - λ) x + √λ e + severity with standard normal e, and gives the intensity that belongs to
    this view, rounded to the nearest level. λ is solved for by Brent's method so that
    κ = (mean of E[R R'] over pairs of different raters - μ²) / σ², with the moments μ and σ² of all ratings, is the
    reliability; the integral over x is numeric, within 1e-9 of κ where λ is .003 or more, and within .005 for raters
    with hardly any noise. Views have the same variance whatever λ is, so that reliability does not change how many
    ratings are 0.

    System s has the signal validity · x + √(1 - validity²) ε, and a readout shows signal + noise. Verification gives
    the log-odds 2.5 (signal + noise - the quantile 1 - prevalence) + the system's offset, and their probability of yes.
    A generative number is the rounded intensity that belongs to (signal + noise) brought back to variance 1.

    Every block of random numbers has a stream of its own, so that another system, readout or criterion leaves the draws
    of the others alone (a reply that names another criterion may leave out a weaker one).

    References
    ----------
    Quadratic kappa of pooled pairs: Fleiss & Cohen (1973), Educational and Psychological Measurement 33, 613-619.

    Examples
    --------
    >>> made = simulate_benchmark(n_items=50, n_criteria=2, reliabilities=[0.5, 0.2], validities=[0.9, 0.5])
    >>> made.answers.shape, made.ratings.shape
    ((200, 7), (400, 4))
    >>> [round(one["noise"], 2) for one in made.truth["criteria"]]
    [0.37, 0.64]
    """
    settings.check_sizes(n_items, n_criteria, n_raters, raters_per_item, n_groups, truth_items, seed)
    settings.check_numbers(severity_sd, readout_noise, generative_noise, missing_answers, group_share, n_named)
    settings.check_systems(validities, readouts, missing_answers)
    targets = settings.spread_reliabilities(n_criteria) if reliabilities is None else tuple(map(float, reliabilities))
    settings.check_targets(targets, n_criteria)
    prevalences = settings.prevalences_of(prevalence, targets, n_criteria)
    draw = functools.partial(stream, seed, "simulate", "benchmark")
    model = models.Model(
        criteria=settings.criteria_of(draw, scale, targets, prevalences, severity_sd, n_raters),
        raters_per_item=raters_per_item,
        systems=settings.names_of("S", len(validities)),
        validities=tuple(map(float, validities)),
        offsets=[_OFFSET_SD * float(draw("offset", str(s)).standard_normal()) for s in range(len(validities))],
        noises={
            readout: readout_noise if readout == "verification" else math.hypot(readout_noise, generative_noise)
            for readout in readouts
        },
        n_named=n_named,
    )
    item, raters = settings.names_of("I", n_items), settings.names_of("R", n_raters)
    group = np.arange(n_items) * n_groups // n_items if n_groups else np.empty(0, dtype=np.int64)
    propensities = np.stack([models.draw_propensity(draw, c, n_items, group, group_share) for c in range(n_criteria)])
    items = pd.DataFrame({"item": np.array(item, dtype=object)})
    if n_groups:
        items["group"] = np.array(settings.names_of("G", n_groups), dtype=object)[group]
    truth: dict[str, Any] = {
        "n_items": int(n_items),
        "n_criteria": int(n_criteria),
        "n_raters": int(n_raters),
        "raters_per_item": int(raters_per_item),
        "scale": scale.to_dict(),
        "severity_sd": float(severity_sd),
        "readouts": list(readouts),
        "readout_noise": float(readout_noise),
        "generative_noise": float(generative_noise),
        "n_named": int(n_named),
        "missing_answers": float(missing_answers),
        "n_groups": int(n_groups),
        "group_share": float(group_share),
        "truth_items": int(truth_items),
        "seed": int(seed),
        "criteria": [
            {
                "criterion": one.name,
                "reliability": one.reliability,
                "prevalence": one.prevalence,
                "noise": one.noise,
                "severities": dict(zip(raters, one.severities.tolist(), strict=True)),
            }
            for one in model.criteria
        ],
        "systems": [
            {"system": name, "validity": validity, "offset": offset}
            for name, validity, offset in zip(model.systems, model.validities, model.offsets, strict=True)
        ],
        "population": population(functools.partial(draw, "population"), model, truth_items) if truth_items else [],
    }
    return SimulatedBenchmark(
        answers=_answers(draw, model, scale, item, propensities, round(missing_answers * n_items)),
        ratings=_ratings(draw, model, scale, item, raters, propensities),
        items=items,
        intensities=_intensities(model, scale, item, propensities),
        truth=truth,
    )


def _ratings(
    draw: models.Draw,
    model: models.Model,
    scale: Scale,
    item: Sequence[str],
    raters: Sequence[str],
    propensities: FloatArray,
) -> pd.DataFrame:
    n_criteria, n_items = propensities.shape
    seen = models.draw_seen(draw, model, n_items)
    codes = np.stack([models.draw_ratings(draw, c, model, propensities[c], seen) for c in range(n_criteria)], axis=-1)
    return pd.DataFrame(
        {
            "item": _facet(item, 0, codes.shape),
            "rater": _column(raters, seen[:, :, None], codes.shape),
            "criterion": _facet([one.name for one in model.criteria], 2, codes.shape),
            "rating": np.array(scale.levels)[codes.ravel()],
        }
    )


def _answers(
    draw: models.Draw,
    model: models.Model,
    scale: Scale,
    item: Sequence[str],
    propensities: FloatArray,
    n_lost: int,
) -> pd.DataFrame:
    n_criteria, n_items = propensities.shape
    readouts = list(model.noises)
    shape = (len(model.systems), len(readouts), n_items, n_criteria)
    answer, odds = np.full(shape, np.nan), np.full(shape, np.nan)
    is_lost = np.zeros(shape, dtype=bool)
    levels = np.array(scale.levels)
    for s in range(len(model.systems)):
        for r, readout in enumerate(readouts):
            if readout == "generative":
                answer[s, r] = levels[models.draw_named(draw, s, model, propensities)].T
                is_lost[s, r, draw("lost", str(s)).permutation(n_items)[:n_lost]] = True
                continue
            for c, criterion in enumerate(model.criteria):
                signal = models.draw_signal(draw, s, c, model, propensities[c], readout)
                odds[s, r, :, c] = models.log_odds(signal, criterion, model.offsets[s])
            answer[s, r] = special.expit(odds[s, r])
    answer[is_lost] = np.nan
    columns: dict[str, Any] = {
        "system": _facet(model.systems, 0, shape),
        "item": _facet(item, 2, shape),
        "criterion": _facet([one.name for one in model.criteria], 3, shape),
        "readout": _facet(readouts, 1, shape),
        "answer": answer.ravel(),
        "status": _column(["ok", "invalid"], is_lost, shape),
    }
    if "verification" in readouts:
        columns["log_odds"] = odds.ravel()
    return pd.DataFrame(columns)


def _intensities(model: models.Model, scale: Scale, item: Sequence[str], propensities: FloatArray) -> pd.DataFrame:
    low, high = scale.bounds or (0.0, 1.0)
    values = [
        (high - low) * models.intensity(one, criterion.prevalence)
        for one, criterion in zip(propensities, model.criteria, strict=True)
    ]
    shape = propensities.T.shape
    return pd.DataFrame(
        {
            "item": _facet(item, 0, shape),
            "criterion": _facet([one.name for one in model.criteria], 1, shape),
            "intensity": np.stack(values, axis=-1).ravel(),
            "propensity": propensities.T.ravel(),
        }
    )


def _facet(names: Sequence[str], axis: int, shape: tuple[int, ...]) -> pd.Categorical:
    """Return the column of a facet that varies along one axis of the shape of all rows."""
    return _column(names, np.arange(shape[axis]).reshape([-1 if a == axis else 1 for a in range(len(shape))]), shape)


def _column(names: Sequence[str], codes: npt.NDArray[Any], shape: tuple[int, ...]) -> pd.Categorical:
    """Return a categorical column from positions that are broadcast to the shape of all rows."""
    return pd.Categorical.from_codes(
        np.broadcast_to(codes, shape).ravel().astype(np.int32), categories=pd.Index(list(names), dtype=object)
    )
