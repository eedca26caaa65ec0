"""Synthetic data with known truth."""

from measurand.simulate.panel import PRESETS, SimulatedPanel, simulate_panel, two_emojis_panel

__all__ = ["PRESETS", "SimulatedPanel", "simulate_panel", "two_emojis_panel"]
