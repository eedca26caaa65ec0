"""The protocol card: everything that a second laboratory needs to ask the same, or to see that it can't be compared."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from measurand.eliciting.declared import (
    Choice,
    Design,
    Generative,
    Phrasing,
    Readout,
    ScaleReading,
    Text,
    Verification,
)
from measurand.eliciting.engine import Decoding
from measurand.eliciting.requests import READING, REPLY, decoding_values, is_graded, requests
from measurand.eliciting.run import Asked, Elicited

SCHEMA: Final = "measurand/protocol/1"

_READ: Final = {
    Verification: "P(yes) / (P(yes) + P(no)) at the first answer position of one forward pass; nothing is sampled",
    ScaleReading: "expected rating over the probabilities of the scale's numerals at the first answer position",
    Choice: "each option's share of the probability of all options at the first answer position",
    Generative: "ratings in one JSON object, parsed from the generated text",
    Text: "the generated text as it is, under a rule",
}


def cards(elicited: Elicited) -> dict[str, Any]:
    """Return the protocol cards of a study as JSON values.

    Parameters
    ----------
    elicited : Elicited
        The study after a run.

    Returns
    -------
    dict
        ``schema``; ``study`` (items, criteria, controls, repeats, seed); ``readouts``, which all systems share; and for
        each system a card: model, engine, identity, what the engine can do, what it was tested for, the answer tokens,
        decoding as sent.
    """
    design = elicited.design
    controls = {control: sum(block.control == control for block in elicited.blocks) for control in design.controls}
    return {
        "schema": SCHEMA,
        "study": {
            "n_items": sum(not block.control for block in elicited.blocks),
            "criteria": list(design.criteria),
            "scale": {name or "all": scale.describe() for name, scale in design.scale.items()},
            "repeats": design.repeats,
            "controls": controls,
            "seed": design.seed,
            "derived": list(design.derived),
        },
        "readouts": [_readout(readout) for readout in design.readouts],
        "systems": [_system(elicited, asked) for asked in elicited.asked],
    }


def _readout(readout: Readout) -> dict[str, Any]:
    card: dict[str, Any] = {
        "name": readout.name,
        "kind": type(readout).__name__,
        "version": READING if is_graded(readout) else REPLY,
        "read": _READ[type(readout)],
        "instructions": readout.instructions,
        "system_message": readout.message,
        "phrasings": [_phrasing(one) for one in readout.phrasings],
    }
    if isinstance(readout, Generative | Text):
        return card | {
            "prefill": readout.prefill,
            "rule": asdict(readout.rule),
            "retry": asdict(readout.retry),
            "decoding": decoding_values(readout.decoding),
        }
    card["prefills"] = list(readout.prefills)
    if isinstance(readout, Verification):
        card["answers"] = {"yes": list(readout.yes), "no": list(readout.no)}
    elif isinstance(readout, Choice):
        card["answers"] = {name: list(words) for name, words in readout.options.items()}
        card["orders"] = readout.rotations
    return card


def _phrasing(phrasing: Phrasing) -> dict[str, Any]:
    return {"name": phrasing.name, "question": phrasing.question, "negated": phrasing.negated}


def _system(elicited: Elicited, asked: Asked) -> dict[str, Any]:
    system, progress = asked.system, asked.progress
    return {
        "system": system.name,
        "engine": system.engine,
        "model": system.model,
        "revision": system.revision,
        "url": asked.proven.identity.get("url", ""),
        "dtype": system.dtype if system.engine == "transformers" else "",
        "thinking": system.thinking,
        "identity": dict(asked.proven.identity),
        "digest": asked.proven.digest,
        "tested_at": asked.proven.at,
        "abilities": asdict(asked.proven.abilities),
        "proofs": [asdict(proof) for proof in asked.proven.proofs],
        "answer_tokens": dict(asked.proven.tokens),
        "decoding": _decodings(elicited.design, asked),
        "example": _example(elicited),
        "requests": {"total": progress.total, "answered": progress.done},
        "price": asdict(system.price),
        "stopped": asked.stopped,
        "failures": dict(asked.reasons),
    }


def _decodings(design: Design, asked: Asked) -> dict[str, dict[str, str]]:
    """Return each setting of decoding as sent, not sent, or not settable, for every readout that generates."""
    out: dict[str, dict[str, str]] = {}
    for readout in design.readouts:
        if isinstance(readout, Generative | Text):
            decoding = readout.decoding
            values = decoding_values(decoding)
            out[readout.name] = {name: _sent(value) for name, value in values.items()}
            out[readout.name]["seed"] = _seed(decoding, asked)
    return out


def _seed(decoding: Decoding, asked: Asked) -> str:
    if asked.proven.abilities.seed is False:
        return "not settable"
    if decoding.temperature == 0:
        # Nothing is drawn: what is declared goes out as it is.
        return _sent(decoding.seed)
    if decoding.seed is not None:
        return f"sent, each request its own from {decoding.seed}"
    return "sent, its own for each request" if asked.proven.takes_seed else _sent(None)


def _sent(value: Any) -> str:
    if value is None or value == []:
        return "not sent: the engine's default holds"
    return f"sent: {value}"


def _example(elicited: Elicited) -> list[dict[str, str]]:
    """Return the messages of the first request of each readout, as they were asked about the first item."""
    if not elicited.blocks:
        return []
    found: dict[str, dict[str, str]] = {}
    for request in requests(elicited.design, elicited.blocks[0]):
        prompt = request.prompt
        found.setdefault(
            request.readout.name,
            {
                "readout": request.readout.name,
                "system": prompt.system,
                "user": prompt.text,
                "picture": "" if prompt.picture is None else f"{prompt.picture.media_type}, first in the message",
                "prefill": prompt.prefill,
            },
        )
    return list(found.values())
