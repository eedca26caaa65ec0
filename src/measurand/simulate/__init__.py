"""Synthetic data with known truth."""

from measurand.simulate.benchmark import SimulatedBenchmark, simulate_benchmark
from measurand.simulate.faces import face_pictures, simulate_faces
from measurand.simulate.faces_expressions import EXPRESSIONS
from measurand.simulate.outputs import SimulatedOutputs, simulate_outputs
from measurand.simulate.outputs_settings import SimulatedLanguage, SimulatedSystem, default_systems
from measurand.simulate.panel import PRESETS, SimulatedPanel, simulate_panel, two_emojis_panel
from measurand.simulate.raters import SimulatedRaters, simulate_raters

__all__ = [
    "EXPRESSIONS",
    "PRESETS",
    "SimulatedBenchmark",
    "SimulatedLanguage",
    "SimulatedOutputs",
    "SimulatedPanel",
    "SimulatedRaters",
    "SimulatedSystem",
    "default_systems",
    "face_pictures",
    "simulate_benchmark",
    "simulate_faces",
    "simulate_outputs",
    "simulate_panel",
    "simulate_raters",
    "two_emojis_panel",
]
