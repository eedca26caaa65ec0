"""Readouts that are made from others and never asked: the yes or no of a probability, log-odds without acquiescence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from measurand.eliciting.answered import Answer
from measurand.eliciting.declared import Design
from measurand.eliciting.requests import Request
from measurand.stats.acquiescence import double_centred

BINARIZED: Final = "binarized"
DOUBLE_CENTRED: Final = "double_centred"

Graded = tuple[Request, Answer]


def derived_answers(graded: Sequence[Graded], design: Design) -> Iterator[tuple[str, Request, Answer]]:
    """Give the rows of derived readouts, with their readout and the request that they come from.

    Parameters
    ----------
    graded : sequence of (Request, Answer)
        The verification of one system.
    design : Design
        The study; its `derived` says which readouts.
    """
    if BINARIZED in design.derived:
        for request, answer in graded:
            yield BINARIZED, request, _binarized(answer)
    if DOUBLE_CENTRED in design.derived:
        arms: dict[tuple[str, str, str, str, int], list[tuple[Request, Answer]]] = {}
        for request, answer in graded:
            arm = request.readout.name, request.phrasing, request.prefill, request.control, request.repeat
            arms.setdefault(arm, []).append((request, answer))
        for rows in arms.values():
            yield from _double_centred(rows)


def _binarized(answer: Answer) -> Answer:
    """Return 1 above one half, 0 below; neither where a probability is one half, or its bounds lie on both sides."""
    if answer.status != "ok":
        return replace(answer, log_odds=math.nan, low=math.nan, high=math.nan)
    if answer.low <= 0.5 <= answer.high:
        exact = answer.low == answer.high
        problem = (
            "exactly one half" if exact else f"bounds {answer.low:.4g} to {answer.high:.4g} lie on both sides of .5"
        )
        return Answer(answer.criterion, math.nan, "invalid", problem, mass=answer.mass, mass_high=answer.mass_high)
    value = float(answer.value > 0.5)
    return Answer(answer.criterion, value, "ok", "", value, value, mass=answer.mass, mass_high=answer.mass_high)


def _double_centred(rows: Sequence[tuple[Request, Answer]]) -> Iterator[tuple[str, Request, Answer]]:
    items = {name: i for i, name in enumerate(dict.fromkeys(request.item for request, _ in rows))}
    criteria = {name: i for i, name in enumerate(dict.fromkeys(answer.criterion for _, answer in rows))}
    table = np.full((len(items), len(criteria)), np.nan)
    for request, answer in rows:
        if math.isfinite(answer.log_odds):
            table[items[request.item], criteria[answer.criterion]] = answer.log_odds
    centred = double_centred(table)
    # Every answer takes part in every other's effects, so that bounds of one leave bounds of none.
    n_bounded = sum(answer.status == "ok" and answer.low < answer.high for _, answer in rows)
    known = (
        "" if not n_bounded else f"made of {n_bounded} middles of bounds among {len(rows)} answers; not known exactly"
    )
    for request, answer in rows:
        value = float(centred[items[request.item], criteria[answer.criterion]])
        if answer.status == "ok" and math.isnan(value):
            problem = (
                "its log-odds are infinite: nothing can be taken from them"
                if math.isinf(answer.log_odds)
                else "nothing beside it tells what the item or the question gets on others"
            )
            without = Answer(answer.criterion, math.nan, "invalid", problem, log_odds=answer.log_odds)
            yield DOUBLE_CENTRED, request, replace(without, mass=answer.mass, mass_high=answer.mass_high)
        elif math.isnan(value):
            yield DOUBLE_CENTRED, request, replace(answer, value=math.nan, low=math.nan, high=math.nan)
        else:
            end = math.nan if known else value
            found = replace(answer, value=value, low=end, high=end, log_odds=value, problem=known)
            yield DOUBLE_CENTRED, request, found
