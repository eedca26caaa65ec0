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
        length,
        missingness,
        pairs,
        ranks,
        raters,
        style,
        system_test,
    )
    from measurand.data import (
        Answers,
        Outputs,
        Panel,
        Ratings,
        Scale,
        Vectors,
        panels,
        read_answers,
        read_items,
        read_outputs,
        read_ratings,
        read_systems,
        read_vectors,
    )
    from measurand.planning import facets, plan, power
    from measurand.probing import probe
    from measurand.reporting import plot, report
    from measurand.result import Finding, MeasurandError, Result, Row
    from measurand.scoring import forced_choice, gates, score
    from measurand.simulate import (
        simulate_benchmark,
        simulate_faces,
        simulate_outputs,
        simulate_panel,
        simulate_raters,
    )
    from measurand.study_eliciting import elicit
    from measurand.study_running import run

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
        "length",
        "missingness",
        "pairs",
        "raters",
        "ranks",
        "style",
        "system_test",
    ),
    "measurand.data": (
        "Answers",
        "Outputs",
        "Panel",
        "Ratings",
        "Scale",
        "Vectors",
        "panels",
        "read_answers",
        "read_items",
        "read_outputs",
        "read_ratings",
        "read_systems",
        "read_vectors",
    ),
    "measurand.planning": ("facets", "plan", "power"),
    "measurand.probing": ("probe",),
    "measurand.reporting": ("plot", "report"),
    "measurand.result": ("Finding", "MeasurandError", "Result", "Row"),
    "measurand.scoring": ("forced_choice", "gates", "score"),
    "measurand.simulate": (
        "simulate_benchmark",
        "simulate_faces",
        "simulate_outputs",
        "simulate_panel",
        "simulate_raters",
    ),
    "measurand.study_eliciting": ("elicit",),
    "measurand.study_running": ("run",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Answers",
    "Finding",
    "MeasurandError",
    "Outputs",
    "Panel",
    "Ratings",
    "Result",
    "Row",
    "Scale",
    "Vectors",
    "agreement",
    "agreement_pairs",
    "anova",
    "audit",
    "components",
    "copies",
    "decision",
    "design",
    "elicit",
    "facets",
    "forced_choice",
    "gates",
    "generalizability",
    "leave_one_block_out",
    "leave_one_rater_out",
    "length",
    "missingness",
    "pairs",
    "panels",
    "plan",
    "plot",
    "power",
    "probe",
    "ranks",
    "raters",
    "read_answers",
    "read_items",
    "read_outputs",
    "read_ratings",
    "read_systems",
    "read_vectors",
    "report",
    "run",
    "score",
    "simulate_benchmark",
    "simulate_faces",
    "simulate_outputs",
    "simulate_panel",
    "simulate_raters",
    "style",
    "system_test",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module 'measurand' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
