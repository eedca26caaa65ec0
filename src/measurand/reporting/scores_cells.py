"""Cells that the tables of scores share: arms, differences, marks against anchors; what anchors are called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from measurand.reporting import cells
from measurand.reporting.blocks import Cell, name_cell
from measurand.reporting.cells import Remarks, sentence
from measurand.reporting.scores_view import Arm, Scores, Side, protocol_words, side
from measurand.reporting.words import STATISTIC
from measurand.result import Key, Row, show_interval, show_number
from measurand.result.digits import show_estimate
from measurand.result.words import clean, shorten

#: Anchors and baselines, as rows of a table.
ANCHOR: Final[dict[str, str]] = {
    "pairwise": "one rater against another",
    "leave_one_out": "mean of the other raters against one",
    "noise_ceiling": "noise ceiling: the true score against one rater",
    "rater_calibrated": "one rater, calibrated as the systems, against another",
    "leave_one_out_calibrated": "mean of the others, calibrated, against one",
}
#: The same in a column's head or beside a line.
ANCHOR_SHORT: Final[dict[str, str]] = {
    "pairwise": "one rater",
    "leave_one_out": "mean of the others",
    "noise_ceiling": "noise ceiling",
    "rater_calibrated": "one rater, calibrated",
    "leave_one_out_calibrated": "mean of the others, calibrated",
}
BASELINE: Final[dict[str, str]] = {
    "all_low": "the lowest level for every item",
    "all_high": "the highest level for every item",
    "uniform_random": "a random level for every item",
    "criterion_mean": "the criterion's mean rating for every item",
    "marginal": "a rating drawn from the criterion's own",
    "shuffled": "the system's own answers, dealt to other items",
}
BASELINE_SHORT: Final[dict[str, str]] = {
    "all_low": "lowest level",
    "all_high": "highest level",
    "uniform_random": "random level",
    "criterion_mean": "criterion's mean",
    "marginal": "drawn from all ratings",
    "shuffled": "own answers, other items",
}
#: The mean of the others on the systems' terms: what decides whether a calibrated system exceeds people.
CALIBRATED: Final = "leave_one_out_calibrated"
#: What is redrawn, in words.
REDRAWN: Final[dict[str, str]] = {
    "item": "items redrawn",
    "group": "groups of items redrawn",
    "rater": "raters redrawn",
    "item+rater": "items and raters redrawn",
    "group+rater": "groups of items and raters redrawn",
}
#: Statistics as a sentence has them, where that is not how a column is headed.
_IN_WORDS: Final[dict[str, str]] = {
    "kappa_quadratic": "quadratic kappa",
    "kappa_linear": "linear kappa",
    "kappa_unweighted": "unweighted kappa",
    "mean_absolute_error": "mean absolute error",
    "average_precision": "average precision",
}
_PATH: Final[dict[tuple[str, str], str]] = {
    ("calibration", "none"): "answers taken as values of the scale",
    ("calibration", "rank"): "calibrated by rank",
    ("fit", "held_out"): "fitted on other folds",
    ("fit", "oracle"): "fitted to the items that are scored",
    ("target", "ratings"): "to the distribution of single ratings",
    ("target", "consensus"): "to the distribution of rounded means of raters",
    ("ties", "block"): "ties as blocks",
    ("ties", "midrank"): "ties at their middle rank",
    ("ties", "index"): "ties by the order of items",
    ("ties", "random"): "ties by lot",
    ("aggregate", "pooled"): "all pairs of answers and ratings pooled",
    ("aggregate", "identity"): "averaged over raters",
}
MARK_OF: Final[dict[Side, str]] = {"above": "▲", "below": "▼", "open": "≈", "": "–"}

#: The level of tests, as in the findings.
_LEVEL: Final = 0.05

#: How a note says that replicates lie elsewhere than the estimate: with a number, which each row has of its own.
_CENTRE: Final = re.compile(r"the replicates centre on [^:]*: ")
_MOVED: Final = re.compile(r"replicates, whose mean is \S*, are")
_CENTRED: Final = (
    "where an estimate lies near the end of its interval, or outside of it, the replicates lie elsewhere: "
)


def see(remarks: Remarks, row: Row | None) -> None:
    """Take up the note of a row part by part, so that what rows share is said once."""
    if row is None:
        return
    if row.undefined:
        remarks.see(row)
        return
    for part in row.note.split("; "):
        remarks.see(replace(row, note=_MOVED.sub("replicates are", _CENTRE.sub(_CENTRED, part))))
    if row.low is not None and row.high is not None and not row.low <= row.estimate <= row.high:
        remarks.say(sentence(f"{_CENTRED}they repeat items, and choose and fit anew"))


def whole(value: float) -> str:
    """Return the end of an interval of a rank or a count, which quantiles put between whole numbers, to a tenth.

    Examples
    --------
    >>> whole(4.0250), whole(-0.025), whole(2.5)
    ('4', '0', '2.5')
    """
    return show_number(round(value, 1) + 0.0)


def whole_range(row: Row | None) -> str:
    """Return the interval of a rank or a count, blank where there is none."""
    return "" if row is None or row.low is None or row.high is None else f"[{whole(row.low)}, {whole(row.high)}]"


def redrawn(unit: str) -> str:
    """Return what an interval redraws, in words."""
    return REDRAWN.get(unit, clean(unit))


def statistic_words(statistic: str) -> str:
    """Return a statistic as a sentence has it."""
    return _IN_WORDS.get(statistic, STATISTIC.get(statistic, clean(statistic)))


def path_words(path: Mapping[str, Key]) -> str:
    """Return how answers became scores, in words.

    Examples
    --------
    >>> path_words({"calibration": "none", "aggregate": "pooled"})
    'answers taken as values of the scale, all pairs of answers and ratings pooled'
    """
    told = [_PATH.get((key, str(value)), f"{key} {clean(value)}") for key, value in path.items() if value]
    return ", ".join(told)


def arm_cell(arm: Arm, *, with_protocol: bool) -> Cell:
    """Return the cell of an arm, its protocol below the system where systems do not share it."""
    cell = name_cell(arm[0])
    if not with_protocol:
        return cell
    return Cell(cell.text, shorten(protocol_words(arm[1:]), 44), cell.title, is_name=True)


def difference(row: Row | None, remarks: Remarks | None = None) -> Cell:
    """Return the cell of a difference, with a sign in front."""
    cell = cells.estimate(row, remarks)
    if row is None or row.undefined:
        return cell
    return Cell(signed(row), cell.small, cell.title)


def turned(row: Row | None) -> Cell:
    """Return the cell of a difference the other way round."""
    if row is None or row.undefined or row.low is None or row.high is None:
        return difference(row)
    low, high = -row.high, -row.low
    return difference(
        Row(row.analysis, row.keys, row.statistic, -row.estimate, low, high, row.confidence, row.method, row.unit)
    )


def smallest_p(rows: Sequence[Row | None]) -> str:
    """Return which adjusted p is the smallest that the replicates can give, where several differences have it.

    Examples
    --------
    >>> keys = {"contrast": "anchor"}
    >>> found = [Row("contrasts", keys, "difference", 0.1, p=0.002, p_adjusted=0.022, attainable_p=0.002)] * 2
    >>> smallest_p(found)
    'p 0.022 is the smallest that these replicates and so many comparisons allow; more replicates can make it smaller.'
    """
    known = [(row.p_adjusted, row) for row in rows if row is not None and row.p_adjusted is not None]
    least = min((adjusted for adjusted, _ in known), default=None)
    at_bound = [
        row
        for adjusted, row in known
        if adjusted == least and row.p is not None and row.p <= (row.attainable_p or 0.0) * (1 + 1e-9)
    ]
    if least is None or len(at_bound) < 2:
        return ""
    return (
        f"p {cells.p_value(least).text} is the smallest that these replicates and so many comparisons allow; more "
        "replicates can make it smaller."
    )


def one_sided(rows: Sequence[Row | None]) -> str:
    """Return why an interval can leave out 0 where p is not small; blank where none of these does.

    Examples
    --------
    >>> keys = {"contrast": "anchor"}
    >>> one_sided([Row("contrasts", keys, "difference", 0.07, 0.02, 0.18, p=0.001)])
    ''
    """
    for row in rows:
        if row is None or row.p is None or row.low is None or row.high is None:
            continue
        if row.p >= _LEVEL and (row.low > 0 or row.high < 0):
            return (
                "Where an interval leaves out 0 and p, before it is adjusted, is yet .05 or more, the replicates lie "
                "to one side of the difference: they repeat items, and choose and fit anew. p goes by how far they "
                "are from the difference, not by where they lie, and p decides."
            )
    return ""


def signed(row: Row) -> str:
    """Return a difference with its sign."""
    text = show_estimate(row)
    return f"+{text}" if row.estimate > 0 and text.strip("0.") else text


def against(view: Scores) -> list[str]:
    """Return the anchors that every table holds systems against; the calibrated one where systems are calibrated."""
    names = ["pairwise", "leave_one_out", *([CALIBRATED] if view.path["calibration"] == "rank" else [])]
    return [name for name in names if name in view.anchors]


def standing(view: Scores, arm: Arm, anchor: str) -> Cell:
    """Return where an arm stands against an anchor: a mark with words, the difference with its interval below."""
    row = view.against(arm, anchor)
    if row is None:
        return Cell("–")
    if row.undefined:
        return Cell("–", title=clean(row.undefined))
    where = side(row)
    wider = side(view.against(arm, anchor, unit=view.wider)) if view.wider else ""
    text = {"above": "above", "below": "below", "open": "not told apart", "": ""}[where]
    mark = MARK_OF[where]
    if where in ("above", "below") and wider == where:
        mark = mark * 2
    return Cell(f"{mark} {text}".strip(), f"{signed(row)} {show_interval(row)}".strip())


def legend(view: Scores) -> str:
    """Return what the marks against anchors mean."""
    said = (
        "▲ above and ▼ below an anchor: the paired difference, which stands beneath with its interval, is told from 0 "
        "(p below .05, adjusted over the systems); ≈ it is not."
    )
    if view.wider:
        said += (
            " One mark holds for these raters; two (▲▲, ▼▼) for other raters of their kind, too: with raters redrawn "
            "as well, which in simulation made intervals too wide rather than too narrow (98 to 100 % for 95 %)."
        )
    elif view.too_few:
        said += f" That holds for these raters: {view.too_few}."
    elif "rater" in view.unit:
        said += " That holds for other raters of their kind, too: raters were redrawn as well."
    else:
        said += " That holds for these raters: raters were not redrawn."
    return said
