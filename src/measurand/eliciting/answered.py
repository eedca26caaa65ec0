"""From a stored reading or reply to the rows of the answers table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import expit, logit

from measurand.data.answers import Status
from measurand.eliciting.declared import Choice, Generative, ScaleReading, Verification
from measurand.eliciting.engine import Reading
from measurand.eliciting.ratings_reply import RatingsReply
from measurand.eliciting.records import reading_of
from measurand.eliciting.requests import Request
from measurand.stats.expectation import expected_value, log_odds_bounds, share_bounds

#: Bounds of a probability further apart than this are no answer: their middle could be off by half of it (threshold of
#: this library).
WIDEST: Final = 0.1


@dataclass(frozen=True)
class Answer:
    """One row of the answers table but for what tells who was asked what.

    Parameters
    ----------
    criterion : str
        What it is about.
    value : float
        The answer; NaN where there is none.
    status : str
        What became of the request.
    problem : str
        Why there is no answer, or what a reader must know.
    low, high : float
        Bounds of the answer; the answer itself where it is known exactly.
    log_odds : float
        Of the answer, in nats; NaN for readouts that have none.
    mass, mass_high : float
        Probability of all labels together: what was seen, and what it may be at most. NaN for replies.
    """

    criterion: str
    value: float
    status: Status
    problem: str = ""
    low: float = math.nan
    high: float = math.nan
    log_odds: float = math.nan
    mass: float = math.nan
    mass_high: float = math.nan


def unanswered(request: Request, criteria: Sequence[str]) -> Iterator[Answer]:
    """Give the rows of a request that has no answer."""
    for criterion in criteria_of(request, criteria):
        if asks_about(request, criterion):
            yield Answer(criterion, math.nan, "not_returned", "not asked yet, or the request failed")
        else:
            yield Answer(criterion, math.nan, "not_asked", "the prompt's example does not name it")


def asks_about(request: Request, criterion: str) -> bool:
    """Whether a request asks about a criterion: where there is an example, about those alone that it names."""
    example = request.readout.rule.example if isinstance(request.readout, Generative) else ()
    return not example or criterion in example


def criteria_of(request: Request, criteria: Sequence[str]) -> Sequence[str]:
    """Return the criteria of the rows that one request makes."""
    if isinstance(request.readout, Choice):
        return list(request.readout.options)
    return [request.criterion] if request.criterion else criteria


def of_reading(request: Request, record: Mapping[str, Any]) -> Iterator[Answer]:
    """Give the rows of a reading: one for each criterion, or for each option of a choice."""
    reading = reading_of(record)
    if isinstance(request.readout, Verification):
        yield _verified(request, reading)
    elif isinstance(request.readout, ScaleReading):
        yield _expected(request, reading)
    else:
        yield from _chosen(request, reading)


def _mass(reading: Reading) -> dict[str, float]:
    return {"mass": float(np.exp(reading.low).sum()), "mass_high": reading.mass_high}


def _verified(request: Request, reading: Reading) -> Answer:
    """Return P(the criterion is there); the yes of a negated wording says that it is absent."""
    first, second = (1, 0) if request.negated else (0, 1)
    bounds = log_odds_bounds((reading.low[first], reading.low[second]), (reading.high[first], reading.high[second]))
    if math.isnan(bounds.low):
        return _invalid(request.criterion, "neither yes nor no was seen", reading)
    low, high = float(expit(bounds.low)), float(expit(bounds.high))
    if high - low > WIDEST:
        return _too_wide(request.criterion, low, high, reading)
    if bounds.low == bounds.high:
        value, log_odds = low, bounds.value
    else:
        value = (low + high) / 2
        log_odds = float(logit(value))
    return Answer(request.criterion, value, "ok", "", low, high, log_odds, **_mass(reading))


def _expected(request: Request, reading: Reading) -> Answer:
    """Return the expected rating over the levels that were read."""
    values = np.array([float(name) for name in (request.labels.names if request.labels else ())])
    found = expected_value(values, np.exp(reading.low), np.exp(reading.high))
    if math.isnan(found.value):
        return _invalid(request.criterion, "no level of the scale was seen", reading)
    if found.high - found.low > WIDEST * float(np.ptp(values)):
        return _too_wide(request.criterion, found.low, found.high, reading)
    return Answer(request.criterion, found.value, "ok", "", found.low, found.high, **_mass(reading))


def _chosen(request: Request, reading: Reading) -> Iterator[Answer]:
    """Give each option's share of the probability of all options."""
    names = request.labels.names if request.labels else ()
    low, high = share_bounds(np.exp(reading.low), np.exp(reading.high), mass_high=reading.mass_high)
    exact = list(reading.low) == list(reading.high)
    for place, name in enumerate(names):
        least = float(low[place])
        # Both ends of what is exactly known are one number, and rounding puts none past the other.
        most = least if exact else max(least, float(high[place]))
        if math.isnan(least) or math.isnan(most):
            yield _invalid(name, "none of the options was seen", reading)
        elif most - least > WIDEST:
            yield _too_wide(name, least, most, reading)
        else:
            value = least if exact else (least + most) / 2
            others = np.logaddexp.reduce([one for i, one in enumerate(reading.low) if i != place])
            log_odds = float(reading.low[place] - others) if exact else float(logit(value))
            yield Answer(name, value, "ok", "", least, most, log_odds, **_mass(reading))


def _invalid(criterion: str, problem: str, reading: Reading) -> Answer:
    return Answer(criterion, math.nan, "invalid", problem, **_mass(reading))


def _too_wide(criterion: str, low: float, high: float, reading: Reading) -> Answer:
    problem = f"only known to lie between {low:.4g} and {high:.4g}: the engine shows too few tokens"
    return Answer(criterion, math.nan, "invalid", problem, low, high, **_mass(reading))


def of_reply(reply: RatingsReply, criteria: Sequence[str]) -> Iterator[Answer]:
    """Give the rows of a reply with ratings, one for each criterion."""
    for criterion in criteria:
        cell = reply.cells[criterion]
        yield Answer(criterion, cell.value, cell.status, cell.reason or "", cell.value, cell.value)
