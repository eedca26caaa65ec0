"""What simulated raters of faces can be asked for: the first paper's agreement, what is taken for what, all checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from measurand.data.scale import Scale
from measurand.result import MeasurandError
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.stats.inference import FloatArray

#: The first paper's, and what yes/no answers are a threshold on.
SCALE: Final = Scale(0, 7, step=1)

#: The first paper's agreement on these expressions: Krippendorff's interval alpha of eight experts, four for each item.
READOUT_PAPER: Final[Mapping[str, float]] = {
    "amusement": 0.556,
    "elation": 0.584,
    "contentment": 0.146,
    "sadness": 0.261,
    "pain": 0.119,
    "anger": 0.462,
    "contempt": 0.222,
    "fear": 0.298,
    "astonishment": 0.436,
    "disgust": 0.217,
    "fatigue": 0.205,
    "doubt": 0.161,
    "embarrassment": 0.052,
    "sourness": 0.033,
}

#: Expression asked about to what else is taken for it, and how much of that one's intensity is seen as the asked one's.
CONFUSIONS: Final[Mapping[str, Mapping[str, float]]] = {
    "amusement": {"elation": 0.3},
    "elation": {"amusement": 0.3},
    "contentment": {"amusement": 0.15, "fatigue": 0.1},
    "sadness": {"pain": 0.2, "fatigue": 0.15, "fear": 0.1},
    "pain": {"sourness": 0.3, "anger": 0.1},
    "anger": {"disgust": 0.2, "pain": 0.1},
    "contempt": {"doubt": 0.2},
    "fear": {"astonishment": 0.25},
    "astonishment": {"fear": 0.3},
    "disgust": {"anger": 0.1, "sourness": 0.2},
    "fatigue": {"sadness": 0.1, "contentment": 0.15},
    "doubt": {"contempt": 0.15, "embarrassment": 0.1},
    "embarrassment": {"fear": 0.1},
    "sourness": {"pain": 0.2, "disgust": 0.15},
}


def cuts_of(scale: Scale) -> FloatArray:
    """Return the views, in shares of the scale, above which the rating is one step higher."""
    if scale.labels:
        if len(scale.labels) != 2 or scale.level == "nominal":
            raise MeasurandError(
                f"{len(scale.labels)} labels ({', '.join(scale.labels)}); yes/no answers have two in ascending order, "
                "such as no,yes; for graded ratings declare a scale"
            )
        scale = SCALE
    if scale.step is None or scale.levels is None:
        raise MeasurandError(
            f"the scale ({scale.describe()}) has no step; declare low, high and step, for example Scale(0, 7, step=1)"
        )
    n_steps = len(scale.levels) - 1
    cuts: FloatArray = (np.arange(n_steps) + 0.5) / n_steps
    return cuts


def check_numbers(
    n_raters: int,
    raters_per_item: int,
    n_careless: int,
    seed: int,
    severity_sd: float,
    gain_sd: float,
    drift_sd: float,
) -> None:
    """Refuse numbers that make no panel."""
    if n_raters < 2:
        raise MeasurandError(f"n_raters is {n_raters}; give at least 2")
    if not 2 <= raters_per_item <= n_raters:
        raise MeasurandError(f"raters_per_item is {raters_per_item}; give 2 to {n_raters}, the number of raters")
    if not 0 <= n_careless <= n_raters - 2:
        raise MeasurandError(f"n_careless is {n_careless}; give 0 to {n_raters - 2}: at least two raters are careful")
    if seed < 0:
        raise MeasurandError(f"seed is {seed}; give 0 or above")
    for name, value in {"severity_sd": severity_sd, "gain_sd": gain_sd, "drift_sd": drift_sd}.items():
        if not 0 <= value < math.inf:
            raise MeasurandError(f"{name} is {value:g}; give a finite standard deviation of 0 or more")


def check_mappings(
    reliabilities: Mapping[str, float], confusions: Mapping[str, Mapping[str, float]], criteria: list[str]
) -> None:
    """Refuse reliabilities and confusions of what is no expression, or that are out of their range."""
    if absent := [one for one in criteria if one not in reliabilities]:
        raise MeasurandError(f"no reliability for {', '.join(absent)}; give a kappa from 0 to 1 for each criterion")
    for one, value in reliabilities.items():
        _check_name(one, "reliabilities")
        if not 0 <= value <= 1:
            raise MeasurandError(f"reliability {value:g} of {one}; give a kappa from 0 to 1")
    for one, others in confusions.items():
        _check_name(one, "confusions")
        for other, weight in others.items():
            _check_name(other, f"confusions of {one}")
            if not 0 <= weight <= 1 or other == one:
                raise MeasurandError(
                    f"confusion of {one} with {other} is {weight:g}; give a share from 0 to 1 of another expression's"
                )


def _check_name(name: str, what: str) -> None:
    if name not in EXPRESSIONS:
        raise MeasurandError(f"{what}: no expression {name!r}; there are {', '.join(EXPRESSIONS)}")
