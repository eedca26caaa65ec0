"""What outputs say without a rater: one question per file, each from outputs to rows."""

from measurand.probing.cost import cost
from measurand.probing.cost_quality import cost_against_quality
from measurand.probing.decodability import decodability
from measurand.probing.decodability_ratings import decodability_ratings
from measurand.probing.geometry import geometry
from measurand.probing.leakage import leakage
from measurand.probing.outputs import describe
from measurand.probing.run import probe
from measurand.probing.units import units

__all__ = [
    "cost",
    "cost_against_quality",
    "decodability",
    "decodability_ratings",
    "describe",
    "geometry",
    "leakage",
    "probe",
    "units",
]
