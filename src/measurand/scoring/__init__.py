"""Answers of systems against individual raters: scores, anchors, baselines, contrasts, gates, forced choice."""

from measurand.scoring.forced_choice import forced_choice
from measurand.scoring.gates import gates
from measurand.scoring.score import PRESETS, score

__all__ = ["PRESETS", "forced_choice", "gates", "score"]
