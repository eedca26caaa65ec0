"""What a plan starts from: a panel's components under each estimator, their draws, and the panel as it was rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from measurand.auditing.components import PIVOT_DRAWS, Estimated, estimate
from measurand.auditing.design import full_crossing_fault
from measurand.auditing.generalizability import plugin_variance, projection_fault
from measurand.auditing.variance import FACETS
from measurand.checks import check_seed
from measurand.data.panel import Panel, panels
from measurand.data.ratings import Ratings
from measurand.planning.draws import BATCHES, Draws, even_pivots
from measurand.result import MeasurandError
from measurand.stats import variance
from measurand.stats.inference import FloatArray
from measurand.stats.layouts import channels
from measurand.stats.reliability import LayoutError, layout_error

#: Draws below which the ends of an interval are noise.
FEWEST_DRAWS: Final = 100
#: What the intervals generalise over.
UNIT: Final = "item+system+rater"
PLUGIN_NOTE: Final = (
    "no interval: the plug-in takes the observed spread of system means for the true one, error and all; see the "
    "unbiased estimator"
)
#: Why an interval need not hold its estimate, in the words of `measurand.auditing.components`.
_OFF_CENTRE: Final = "the pivots do not centre on the estimate, in which negative components count as 0"


def off_centre(value: float, low: float, high: float) -> str:
    """Return what must be said of an interval without its estimate; blank where it holds it."""
    return "" if low <= value <= high else _OFF_CENTRE


@dataclass(frozen=True)
class Measured:
    """One panel, ready to be planned from.

    Parameters
    ----------
    panel : Panel
        What was rated.
    found : Estimated
        Its components and their draws.
    fault : str
        Why nothing can be projected from it; blank if it can.
    is_absolute : bool
        Whether Phi is planned for, in place of G.
    even : mapping
        Draws of each component for designs, evenly spread; empty where there are none, and those of `found` serve.
    """

    panel: Panel
    found: Estimated
    fault: str
    is_absolute: bool
    even: Mapping[str, FloatArray]

    @cached_property
    def estimators(self) -> dict[str, tuple[float, Mapping[str, FloatArray]]]:
        """Estimator to the system variance and the components of the errors; the unbiased one comes first."""
        parts = {name: np.array(value) for name, value in self.found.unbiased.items()}
        out: dict[str, tuple[float, Mapping[str, FloatArray]]] = {self.unbiased: (self.found.unbiased["system"], parts)}
        if self.found.reml:
            reml = {name: np.array(value) for name, value in self.found.reml.items()}
            out["reml"] = (self.found.reml["system"], reml)
        if not full_crossing_fault(self.panel):
            table = variance.anova(self.panel.cube(), FACETS)
            out["plugin"] = (float(plugin_variance(table, table.ms["system"])), parts)
        return out

    @property
    def unbiased(self) -> str:
        """The name of the unbiased estimator."""
        return self.found.estimator

    def errors(self, estimator: str) -> dict[str, FloatArray]:
        """Return the channels of an estimator's components."""
        return channels(self.estimators[estimator][1], absolute=self.is_absolute)

    @cached_property
    def draws(self) -> Draws:
        """Draws of the system variance and of the channels, from which designs have their intervals."""
        drawn = self.even or self.found.pivots
        errors = channels(drawn, absolute=self.is_absolute)
        return Draws(drawn["system"], errors, BATCHES if self.even else 1)

    @cached_property
    def as_rated(self) -> LayoutError:
        """What each component adds to the error of the system means as the panel was rated."""
        return layout_error(self.panel.item, self.panel.system, self.panel.rater)

    def error_as_rated(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        """Return the error variance of the panel as it was rated."""
        return self.as_rated.variance(parts, absolute=self.is_absolute)


def measured(
    ratings: Ratings | Sequence[Panel] | Sequence[Measured] | Any, *, seed: int, draws: int, is_absolute: bool = False
) -> list[Measured]:
    """Return each criterion's panel with its components; panels that are measured already are not measured again.

    Parameters
    ----------
    ratings : Ratings, path, data frame, or sequence of Panel or Measured
        See `measurand.read_ratings`. With measured panels `seed` and `draws` were settled before.
    seed, draws
        As for `measurand.auditing.components`.
    is_absolute : bool
        Whether Phi is planned for.
    """
    check_draws(draws, seed)
    if isinstance(ratings, list | tuple) and ratings and isinstance(ratings[0], Measured):
        return [replace(one, is_absolute=is_absolute) for one in ratings]
    return [_measured(panel, seed, draws, is_absolute=is_absolute) for panel in panels(ratings)]


def check_draws(draws: int, seed: int) -> None:
    """Refuse so few draws that they make no interval, and seeds below 0."""
    if draws < FEWEST_DRAWS:
        raise MeasurandError(
            f"{draws} draws; an interval needs at least {FEWEST_DRAWS}, {PIVOT_DRAWS:,} are the default"
        )
    check_seed(seed)


def check_confidence(confidence: float) -> None:
    """Refuse levels that no interval has."""
    if not 0.5 <= confidence < 1:
        raise MeasurandError(f"confidence {confidence:g}; give a level from .5 up to, not including, 1")


def _measured(panel: Panel, seed: int, draws: int, *, is_absolute: bool) -> Measured:
    # A single system, item or rater is a fault that costs no work.
    small = min(panel.n_systems, panel.n_items, panel.n_raters) < 2
    found = Estimated("anova", {}, {}, {}, "", "", {}) if small else estimate(panel, seed=seed, draws=draws)
    fault = projection_fault(panel, found)
    even: Mapping[str, FloatArray] = {}
    if not fault and not full_crossing_fault(panel):
        table = variance.anova(panel.cube(), FACETS)
        even = even_pivots(table, n_draws=draws, seed=seed, criterion=panel.criterion)
    return Measured(panel, found, fault, is_absolute, even)
