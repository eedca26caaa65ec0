"""Do graded answers mean what they say? Reliability curves, and the squared error of answers taken apart."""

from __future__ import annotations

from typing import Final

from measurand.reporting import cells, figures_reliability
from measurand.reporting.blocks import Block, Column, Fold, Image, Text
from measurand.reporting.cells import without_empty
from measurand.reporting.scores_cells import arm_cell
from measurand.reporting.scores_view import Scores, keys_of
from measurand.result import Key

#: A table longer than this is folded.
_MOST_OPEN: Final = 12
_PARTS: Final = {
    "squared_error": "Squared error",
    "miscalibration": "Miscalibration",
    "discrimination": "Discrimination",
    "uncertainty": "Uncertainty",
}


def reliability(view: Scores, *, most: int | None = None) -> list[Block]:
    """Return reliability curves and the parts of the squared error; empty where no answers can be read as numbers.

    At most so many protocols beside the headline's are in the table.
    """
    if figures_reliability.missing(view, "reliability"):
        return []
    rows = []
    criterion = figures_reliability.criterion_of(view)
    for protocol in view.plain[: None if most is None else 1 + most]:
        for arm in view.ranked(view.with_controls(protocol)):
            keys: dict[str, Key] = {**keys_of(arm), "criterion": criterion, "bin": ""}
            found = [view.find("reliability_curve", name, keys) for name in _PARTS]
            if found[0] is None:
                continue
            rows.append([arm_cell(arm, with_protocol=len(view.plain) > 1), *(cells.estimate(row) for row in found)])
    said = (
        "A kappa after calibration sees how answers order items; this looks at their size. Answers are taken at face "
        "value, probabilities of yes as they are and values of the scale from 0 to 1, and held against the mean rating "
        "of the item, also from 0 to 1. Squared error is miscalibration (what the best increasing map would save) less "
        "discrimination (by how much the answers, so mapped, beat the mean rating) plus uncertainty (the variance of "
        "the mean ratings). A probability of yes need not be the intensity that raters gave: then miscalibration is "
        "the price of reading one for the other."
    )
    if view.has_sets:
        said += " All criteria are taken together here, so that how far their means lie apart counts as discrimination."
    columns = [Column("System"), *(Column(words, is_number=True) for words in _PARTS.values())]
    table = without_empty("Squared error of answers, taken apart", columns, rows, [])
    shown: Block = Fold(f"The parts for {len(rows)} arms", [table]) if len(rows) > _MOST_OPEN else table
    more = Text("Every bin, and the parts for each criterion and arm, are in tables/reliability_curve.csv.", small=True)
    return [Text(said), Image(figures_reliability.reliability(view)), shown, more]
