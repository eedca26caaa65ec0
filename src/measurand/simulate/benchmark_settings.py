"""What a simulated benchmark can be asked for: its criteria made from targets, everything checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, get_args

import numpy as np

from measurand.data.scale import Scale
from measurand.result import MeasurandError
from measurand.simulate import benchmark_model as models
from measurand.simulate.benchmark_truth import N_PARTS

READOUTS: Final = get_args(models.Readout)

#: Rounding, thresholds and the integral over each of them are made for rating scales, not for rulers.
_MOST_LEVELS: Final = 101

#: Population values need enough items in each part for their error to be told.
_LEAST_TRUTH_ITEMS: Final = 10_000


def spread_reliabilities(n_criteria: int) -> tuple[float, ...]:
    """Return reliabilities as unequal as those of forty emotions on faces: few criteria that people agree on.

    Parameters
    ----------
    n_criteria : int
        At least 1.

    Returns
    -------
    tuple of float
        Falling: an eighth of them (at least one) in even steps from .58 to .34, the others from .29 to 0.

    Examples
    --------
    >>> values = spread_reliabilities(40)
    >>> values[:6], values[-1], sum(value >= 0.3 for value in values)
    ((0.58, 0.52, 0.46, 0.4, 0.34, 0.29), 0.0, 5)
    """
    n_high = max(1, round(n_criteria / 8))
    values = np.r_[np.linspace(0.58, 0.34, n_high), np.linspace(0.29, 0.0, n_criteria - n_high)]
    return tuple(values.round(4).tolist())


def criteria_of(
    draw: models.Draw,
    scale: Scale,
    reliabilities: Sequence[float],
    prevalences: Sequence[float],
    severity_sd: float,
    n_raters: int,
) -> list[models.Criterion]:
    """Return the criteria that have these reliabilities with raters whose severities are drawn here.

    Raises
    ------
    MeasurandError
        A scale without steps or with too many; a reliability that is not attainable.
    """
    if scale.step is None or scale.levels is None:
        raise MeasurandError(
            f"the scale ({scale.describe()}) has no step; declare low, high and step, for example Scale(0, 7, step=1)"
        )
    if len(scale.levels) > _MOST_LEVELS:
        raise MeasurandError(f"the scale has {len(scale.levels):,} levels; declare a step with at most {_MOST_LEVELS}")
    lenient = draw("severity").standard_normal(n_raters)
    criteria = []
    names = names_of("C", len(reliabilities))
    for c, (name, reliability, prevalence) in enumerate(zip(names, reliabilities, prevalences, strict=True)):
        cuts = models.cuts(prevalence, len(scale.levels) - 1)
        own = draw("severity", str(c)).standard_normal(n_raters)
        severities = severity_sd * math.sqrt(0.5) * (lenient + own)
        noise = models.solve_noise(name, reliability, cuts, severities)
        criteria.append(models.Criterion(name, reliability, prevalence, cuts, severities, noise))
    return criteria


def check_sizes(
    n_items: int, n_criteria: int, n_raters: int, raters_per_item: int, n_groups: int, truth_items: int, seed: int
) -> None:
    """Refuse sizes that make no benchmark."""
    for name, size, least in (("n_items", n_items, 2), ("n_criteria", n_criteria, 1), ("n_raters", n_raters, 2)):
        if size < least:
            raise MeasurandError(f"{name} is {size}; give at least {least}")
    if not 2 <= raters_per_item <= n_raters:
        raise MeasurandError(f"raters_per_item is {raters_per_item}; give 2 to {n_raters}, the number of raters")
    if not 0 <= n_groups <= n_items:
        raise MeasurandError(f"n_groups is {n_groups}; give 0 for none, or up to {n_items}, the number of items")
    if truth_items and (truth_items < _LEAST_TRUTH_ITEMS or truth_items % N_PARTS):
        raise MeasurandError(
            f"truth_items is {truth_items}; give 0 for no population values, or a multiple of {N_PARTS} from "
            f"{_LEAST_TRUTH_ITEMS:,} on"
        )
    if seed < 0:
        raise MeasurandError(f"seed is {seed}; give 0 or above")


def check_numbers(
    severity_sd: float,
    readout_noise: float,
    generative_noise: float,
    missing_answers: float,
    group_share: float,
    n_named: int,
) -> None:
    """Refuse deviations, shares and counts that are out of their range."""
    deviations = {"severity_sd": severity_sd, "readout_noise": readout_noise, "generative_noise": generative_noise}
    for name, value in deviations.items():
        if not 0 <= value < math.inf:
            raise MeasurandError(f"{name} is {value:g}; give a finite standard deviation of 0 or more")
    if not 0 <= missing_answers < 1:
        raise MeasurandError(f"missing_answers is {missing_answers:g}; give a share of 0 or more and below 1")
    if not 0 <= group_share <= 1:
        raise MeasurandError(f"group_share is {group_share:g}; give a share from 0 to 1")
    if n_named < 1:
        raise MeasurandError(f"n_named is {n_named}; give at least 1, or n_criteria for no forced zeros")


def check_systems(validities: Sequence[float], readouts: Sequence[str], missing_answers: float) -> None:
    """Refuse validities that are no correlations, unknown readouts, and lost replies where there are none."""
    if len(validities) == 0:
        raise MeasurandError("validities is empty; give one for each system")
    for s, validity in enumerate(validities, start=1):
        if not -1 <= validity <= 1:
            raise MeasurandError(f"validity {validity:g} of system {s}; give a correlation from -1 to 1")
    allowed = ", ".join(READOUTS)
    if isinstance(readouts, str) or len(readouts) == 0 or len(set(readouts)) < len(readouts):
        raise MeasurandError(f"readouts is {readouts!r}; give a sequence of different ones of {allowed}")
    if unknown := [one for one in readouts if one not in READOUTS]:
        raise MeasurandError(f"readout {unknown[0]!r}; allowed are {allowed} (a binarized one is made by thresholding)")
    if missing_answers > 0 and "generative" not in readouts:
        raise MeasurandError(
            f"missing_answers is {missing_answers:g}, and only generative replies are lost; add that readout, or give 0"
        )


def check_targets(reliabilities: Sequence[float], n_criteria: int) -> None:
    """Refuse reliabilities that are not one for each criterion, from 0 to 1."""
    if len(reliabilities) != n_criteria:
        raise MeasurandError(f"{len(reliabilities)} reliabilities for {n_criteria} criteria; give one for each")
    for c, value in enumerate(reliabilities, start=1):
        if not 0 <= value <= 1:
            raise MeasurandError(f"reliability {value:g} of criterion {c}; give a kappa from 0 to 1")


def prevalences_of(
    prevalence: float | Sequence[float] | None, reliabilities: Sequence[float], n_criteria: int
) -> tuple[float, ...]:
    """Return one prevalence for each criterion, the given ones checked."""
    if prevalence is None:
        return tuple(0.12 + 0.55 * reliability for reliability in reliabilities)
    values = (float(prevalence),) * n_criteria if isinstance(prevalence, float | int) else tuple(prevalence)
    if len(values) != n_criteria:
        raise MeasurandError(f"{len(values)} prevalences for {n_criteria} criteria; give one for all or one for each")
    for c, value in enumerate(values, start=1):
        if not 0.01 <= value <= 0.99:
            raise MeasurandError(f"prevalence {value:g} of criterion {c}; give a share from .01 to .99")
    return tuple(map(float, values))


def names_of(prefix: str, n: int) -> list[str]:
    """Return n ids of one width, counted from 1."""
    return [f"{prefix}{i:0{len(str(n))}d}" for i in range(1, n + 1)]
