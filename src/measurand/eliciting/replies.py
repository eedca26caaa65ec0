"""The attempts at one reply: what was said, whether the rule accepts it, and what is asked next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from measurand.eliciting.declared import Design, Generative, Text
from measurand.eliciting.engine import Decoding
from measurand.eliciting.ratings_reply import RatingsReply, read_ratings_reply
from measurand.eliciting.records import reply_of
from measurand.eliciting.requests import Request, attempt_of, decoding_of
from measurand.eliciting.text_reply import TextReply, read_text_reply
from measurand.result import MeasurandError

Lookup = Callable[[str], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Attempt:
    """One attempt at a reply.

    Parameters
    ----------
    number : int
        1, 2, ….
    key : str
        Its address.
    request : Request
        What is sent.
    decoding : Decoding
        How the reply is generated.
    record : mapping or None
        What came back; None if it has not been asked yet.
    read : RatingsReply, TextReply or None
        What it says; None where there is no record.
    """

    number: int
    key: str
    request: Request
    decoding: Decoding
    record: Mapping[str, Any] | None = None
    read: RatingsReply | TextReply | None = None


@dataclass(frozen=True)
class Attempts:
    """All attempts at one reply so far.

    Parameters
    ----------
    made : list of Attempt
        Those that were answered.
    pending : Attempt or None
        The next one to ask; None where a reply was accepted or the attempts are used up.
    """

    made: list[Attempt] = field(default_factory=list)
    pending: Attempt | None = None


def attempts(request: Request, identity: str, lookup: Lookup, *, design: Design, takes_seed: bool) -> Attempts:
    """Return the attempts at a reply as far as they are stored, and the next one.

    What a reply says is read anew from its text each time: a reading that was wrong once is never kept.

    Parameters
    ----------
    request : Request
        The first attempt.
    identity : str
        Digest of the engine's identity.
    lookup : callable
        Address to stored record.
    design : Design
        The study.
    takes_seed : bool
        Whether the engine takes a seed for sampling.
    """
    readout = request.readout
    if not isinstance(readout, Generative | Text):
        raise MeasurandError(f"readout {readout.name} generates no reply")
    made: list[Attempt] = []
    said: list[str] = []
    for number in range(1, readout.retry.attempts + 1):
        sent = attempt_of(request, readout.retry, said)
        decoding = decoding_of(request, attempt=number, design=design, takes_seed=takes_seed)
        key = sent.key(identity, attempt=number, decoding=decoding)
        record = lookup(key)
        if record is None:
            return Attempts(made, Attempt(number, key, sent, decoding))
        read = read_reply(readout, record, design=design)
        made.append(Attempt(number, key, sent, decoding, record, read))
        if read.accepted:
            break
        said.append(str(record["text"]))
    return Attempts(made)


def read_reply(readout: Generative | Text, record: Mapping[str, Any], *, design: Design) -> RatingsReply | TextReply:
    """Return what a stored reply says under the readout's rule.

    A prefill is the beginning of the ratings that are read (``{``), but no part of a free text, which is the system's.
    """
    reply = reply_of(record)
    is_truncated, is_refused = reply.finish == "length", reply.finish == "refused"
    if isinstance(readout, Text):
        return read_text_reply(reply.text, rule=readout.rule, is_truncated=is_truncated, is_refused=is_refused)
    return read_ratings_reply(
        readout.prefill + reply.text,
        criteria=design.criteria,
        scale=design.scale,
        rule=readout.rule,
        is_truncated=is_truncated,
        is_refused=is_refused,
    )
