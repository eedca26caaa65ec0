"""The page of a probe: what the outputs say, chapter by chapter."""

from __future__ import annotations

from measurand.reporting import probe_cost, probe_decodability, probe_geometry, probe_leakage, probe_outputs
from measurand.reporting.blocks import Bullets, Section, Terms
from measurand.reporting.probe_verdict import headline, lead
from measurand.reporting.probe_view import Probe

__all__ = ["headline", "lead", "sections"]


def sections(view: Probe) -> tuple[list[Section], list[Section]]:
    """Return the chapters before and after what is undefined, without the findings."""
    first = [
        *probe_outputs.sections(view),
        *probe_decodability.sections(view),
        *probe_leakage.sections(view),
        *probe_geometry.sections(view),
        *probe_cost.sections(view),
    ]
    parts = [
        part
        for part, analysis in (
            (probe_outputs, "units"),
            (probe_decodability, "decodability"),
            (probe_leakage, "leakage"),
            (probe_geometry, "geometry"),
            (probe_cost, "cost"),
        )
        if view.has(analysis)
    ]
    words = [pair for part in parts for pair in part.WORDS]
    methods = [line for part in parts for line in part.METHODS]
    last = [
        Section("words", "Words used", [Terms(words)] if words else []),
        Section("methods", "Methods and references", [Bullets(methods)] if methods else []),
    ]
    return first, last
