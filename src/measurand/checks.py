"""Settings that every analysis takes, and what is allowed of them."""

from __future__ import annotations

from measurand.result import MeasurandError


def check_level(confidence: float) -> None:
    """Refuse a level of confidence that no interval has: below .5, or not below 1."""
    if not 0.5 <= confidence < 1:
        raise MeasurandError(f"confidence {confidence}; give a level from .5 up to, not including, 1")


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise MeasurandError(f"seed {seed}; give a whole number of 0 or more")
