"""Synthetic data with known truth."""

from measurand.simulate.benchmark import SimulatedBenchmark, simulate_benchmark
from measurand.simulate.faces import face_pictures, simulate_faces
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.simulate.panel import PRESETS, SimulatedPanel, simulate_panel, two_emojis_panel
from measurand.simulate.raters import SimulatedRaters, simulate_raters

__all__ = [
    "EXPRESSIONS",
    "PRESETS",
    "SimulatedBenchmark",
    "SimulatedPanel",
    "SimulatedRaters",
    "face_pictures",
    "simulate_benchmark",
    "simulate_faces",
    "simulate_panel",
    "simulate_raters",
    "two_emojis_panel",
]
