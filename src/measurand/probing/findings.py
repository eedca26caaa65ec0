"""What the numbers of a probe answer: the findings of every part, and what a part that was not made lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from measurand.data.outputs import Outputs
from measurand.probing.findings_cost import cost_findings
from measurand.probing.findings_decodability import decodability_findings
from measurand.probing.findings_geometry import geometry_findings
from measurand.probing.findings_leakage import leakage_findings
from measurand.probing.findings_units import units_findings
from measurand.result import Finding, Result

_DECODABLE: Final = "Can labels be told from the outputs at all?"
_ALIGNED: Final = "Do the vectors align the languages?"


def findings(result: Result, outputs: Outputs, wanted: Sequence[str]) -> list[Finding]:
    """Return the findings of a probe, part by part.

    Parameters
    ----------
    result : Result
        The analyses that `measurand.probing.probe` makes.
    outputs : Outputs
        What was probed: it says what a part that was not made lacks.
    wanted : sequence of str
        The parts that were asked for.

    Returns
    -------
    list of Finding
        A part that needs what the table does not have is one finding that says so.
    """
    found = units_findings(result)
    if "decodability" in wanted:
        found += decodability_findings(result) or [_lacks_labels(outputs)]
    found += leakage_findings(result)
    if "geometry" in wanted:
        found += geometry_findings(result) or [_LACKS_VECTORS]
    return found + cost_findings(result)


def _lacks_labels(outputs: Outputs) -> Finding:
    lacks = [f"no column {name!r}" for name in ("text", "label") if name not in outputs]
    statement = f"Not asked: a decoder learns labels from texts, and the outputs have {' and '.join(lacks)}."
    remedy = "Name the columns with --text and --label."
    return Finding("decodable", _DECODABLE, "not_applicable", statement, remedy)


_LACKS_VECTORS: Final = Finding(
    "alignment-shown",
    _ALIGNED,
    "not_applicable",
    "Not asked: no vectors of the items were given.",
    "Give them with --vectors NAME=FILE.",
)
