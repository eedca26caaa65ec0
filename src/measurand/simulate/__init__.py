"""Synthetic data with known truth."""

from measurand.simulate.benchmark import SimulatedBenchmark, simulate_benchmark
from measurand.simulate.panel import PRESETS, SimulatedPanel, simulate_panel, two_emojis_panel

__all__ = [
    "PRESETS",
    "SimulatedBenchmark",
    "SimulatedPanel",
    "simulate_benchmark",
    "simulate_panel",
    "two_emojis_panel",
]
