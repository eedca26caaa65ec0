"""What is stored of an outcome, and the outcome from what is stored."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from measurand.eliciting.engine import Failure, Reading, Reply
from measurand.eliciting.requests import Request

_COUNTS: Final = ("n_prompt", "n_cached", "n_completion")


def record_of(
    request: Request, key: str, outcome: Reading | Reply | Failure, *, system: str, attempt: int
) -> dict[str, Any]:
    """Return an outcome as JSON values, with what it answers in words beside its address.

    Parameters
    ----------
    request : Request
        What was asked.
    key : str
        The address.
    outcome : Reading, Reply or Failure
        What came of it.
    system : str
        Who was asked, as the study calls it.
    attempt : int
        Which attempt it was.
    """
    record: dict[str, Any] = {
        "key": key,
        "kind": type(outcome).__name__.lower(),
        "asked": {
            "system": system,
            "item": request.item,
            "control": request.control,
            "readout": request.readout.name,
            "phrasing": request.phrasing,
            "prefill": request.prefill,
            "criterion": request.criterion,
            "repeat": request.repeat,
            "attempt": attempt,
        },
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
    }
    if isinstance(outcome, Failure):
        return record | {"reason": outcome.reason}
    record |= {"fingerprint": outcome.fingerprint, "seconds": round(outcome.seconds, 6)}
    record |= {name: getattr(outcome, name) for name in _COUNTS}
    if isinstance(outcome, Reading):
        return record | {
            "low": [float(value) for value in outcome.low],
            "high": [float(value) for value in outcome.high],
            "mass_high": float(outcome.mass_high),
            "others": [[text, float(value)] for text, value in outcome.others],
            "top": outcome.top,
        }
    return record | {
        "text": outcome.text,
        "finish": outcome.finish,
        "n_reasoning": outcome.n_reasoning,
        "reasoning": outcome.reasoning,
    }


def reading_of(record: Mapping[str, Any]) -> Reading:
    """Return the reading that a record holds."""
    return Reading(
        low=record["low"],
        high=record["high"],
        mass_high=record["mass_high"],
        others=[(text, value) for text, value in record["others"]],
        top=record["top"],
        fingerprint=record["fingerprint"],
        seconds=record["seconds"],
        **{name: record[name] for name in _COUNTS},
    )


def reply_of(record: Mapping[str, Any]) -> Reply:
    """Return the reply that a record holds."""
    return Reply(
        text=record["text"],
        finish=record["finish"],
        fingerprint=record["fingerprint"],
        seconds=record["seconds"],
        n_reasoning=record["n_reasoning"],
        reasoning=record["reasoning"],
        **{name: record[name] for name in _COUNTS},
    )
