"""Systems that are controls by their training: what training changed, and what the control lets it be put down to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from measurand.reporting.blocks import Block, Cell, Column, Text, name_cell
from measurand.reporting.cells import Remarks, without_empty
from measurand.reporting.scores_cells import difference, turned
from measurand.reporting.scores_view import Protocol, Scores, protocol_words
from measurand.result.words import shorten


def trained_controls(view: Scores) -> list[Block]:
    """Return under every protocol what a system and its control score less the base of both, and less each other."""
    told: Mapping[str, Any] = view.result.settings.get("gates", {}).get("controls", {})
    remarks = Remarks()
    rows = []
    for name, one in told.items():
        of, base = str(one["of"]), str(one["base"])
        for protocol in view.plain:
            shown = [_minus(view, protocol, a, b, remarks) for a, b in ((of, base), (name, base), (of, name))]
            if any(cell.text != "–" for cell in shown):
                words = shorten(protocol_words(protocol), 44)
                rows.append([name_cell(name), name_cell(of), name_cell(base), Cell(words or "–"), *shown])
    if not rows:
        return []
    columns = [
        Column("Control"),
        Column("Of"),
        Column("Base"),
        Column("Protocol"),
        Column("System minus base", is_number=True),
        Column("Control minus base", is_number=True),
        Column("System minus control", is_number=True),
    ]
    said = (
        "A control went through the same training without what the training was to teach. What it gained over the base "
        "of both is the training's by-product; where it fell below the base it is damaged (the gate control-health), "
        "and the distance of the system from it is no measure of what was taught. Intervals are not adjusted."
    )
    return [Text(said), without_empty("Trained controls", columns, rows, remarks.all())]


def _minus(view: Scores, protocol: Protocol, a: str, b: str, remarks: Remarks) -> Cell:
    """Return the cell of a system minus another, whichever way round the row has it."""
    row, is_turned = view.pair(protocol, a, b)
    return turned(row) if is_turned else difference(row, remarks)
