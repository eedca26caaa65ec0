"""Measurand: find out what a human-rated AI benchmark really measures.

The names below load on first use, so that `import measurand` costs no more than what is asked of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from measurand.auditing import (
        agreement,
        agreement_pairs,
        anova,
        audit,
        components,
        copies,
        decision,
        design,
        generalizability,
        leave_one_block_out,
        leave_one_rater_out,
        missingness,
        pairs,
        ranks,
        raters,
        style,
        system_test,
    )
    from measurand.data import Panel, Ratings, Scale, panels, read_ratings
    from measurand.reporting import plot, report
    from measurand.result import Finding, MeasurandError, Result, Row
    from measurand.simulate import simulate_panel

__version__ = "0.1.0"

_HOME = {
    "measurand.auditing": (
        "agreement",
        "agreement_pairs",
        "anova",
        "audit",
        "components",
        "copies",
        "decision",
        "design",
        "generalizability",
        "leave_one_block_out",
        "leave_one_rater_out",
        "missingness",
        "pairs",
        "raters",
        "ranks",
        "style",
        "system_test",
    ),
    "measurand.data": ("Panel", "Ratings", "Scale", "panels", "read_ratings"),
    "measurand.reporting": ("plot", "report"),
    "measurand.result": ("Finding", "MeasurandError", "Result", "Row"),
    "measurand.simulate": ("simulate_panel",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Finding",
    "MeasurandError",
    "Panel",
    "Ratings",
    "Result",
    "Row",
    "Scale",
    "agreement",
    "agreement_pairs",
    "anova",
    "audit",
    "components",
    "copies",
    "decision",
    "design",
    "generalizability",
    "leave_one_block_out",
    "leave_one_rater_out",
    "missingness",
    "pairs",
    "panels",
    "plot",
    "ranks",
    "raters",
    "read_ratings",
    "report",
    "simulate_panel",
    "style",
    "system_test",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'measurand' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
