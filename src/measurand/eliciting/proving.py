"""What an engine is, what it can do, and what it was tested for: found out before anything is spent, and kept."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

from measurand.eliciting.declared import Design
from measurand.eliciting.engine import Abilities, Engine, Proof
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.requests import Block, Request, is_graded, requests
from measurand.eliciting.store import Store, key_of

#: Prompts of an item that an engine is tested on, and items.
_TESTED_PROMPTS: Final = 8
_TESTED_ITEMS: Final = 2
#: Parts of an identity that are told and determine nothing by themselves.
_TOLD: Final = ("system_fingerprint",)


@dataclass(frozen=True)
class Proven:
    """What is known of an engine.

    Parameters
    ----------
    abilities : Abilities
        What it can do.
    identity : mapping
        Everything of it that determines an answer.
    proofs : sequence of Proof
        What it was tested for; empty if it was not.
    tokens : mapping
        The answer tokens of each graded readout (JSON values).
    at : str
        When it was tested (ISO 8601, UTC); blank if it was not.
    """

    abilities: Abilities
    identity: Mapping[str, str]
    proofs: Sequence[Proof] = ()
    tokens: Mapping[str, Any] = field(default_factory=dict)
    at: str = ""

    @cached_property
    def digest(self) -> str:
        """Hash of the identity: part of the address of every answer."""
        return _digest(self.identity)

    @property
    def takes_seed(self) -> bool:
        """Whether the engine takes a seed for sampling."""
        return self.abilities.seed is True


def labels_key(labels: Labels | None) -> Any:
    """Return what makes the labels of two requests the same, also of requests without any."""
    return None if labels is None else labels.identity


def identity_of(engine: Engine) -> dict[str, str]:
    """Return everything of an engine that determines an answer, its rendering of one fixed question included.

    A template that writes today's date renders it differently tomorrow, though nothing that it is made of has changed.
    """
    rendering = engine.fingerprint(Prompt("Is it so? Reply yes or no.", prefill="Answer:"))
    return {**engine.identity(), "rendering": rendering}


def _digest(identity: Mapping[str, str]) -> str:
    """Return the hash of an engine's identity.

    What a server calls its configuration may change from one request to the next; it is told, and not part of the hash.
    """
    return key_of({name: value for name, value in identity.items() if name not in _TOLD})


def proved(design: Design, engine: Engine, shown: Sequence[Block], *, store: Store) -> Proven:
    """Test an engine on the study's own prompts, look up the answer tokens of each graded readout, and keep it all.

    Parameters
    ----------
    design : Design
        The study.
    engine : Engine
        What is tested.
    shown : sequence of Block
        The items as they are shown; prompts of the first two are tried.
    store : Store
        Where it is kept; open for writing.
    """
    # What a test finds out may become part of the identity: it is kept under what was known before.
    before = _digest(identity_of(engine))
    plain = [block for block in shown if not block.control][:_TESTED_ITEMS]
    asked = [request for block in plain for request in requests(design, block) if request.repeat == 0]
    graded = [request for request in asked if is_graded(request.readout)]
    tested = _spread(graded or asked)
    proofs = engine.prove([request.prompt for request in tested], tested[0].labels if graded else None)
    tokens: dict[str, Any] = {}
    for readout in design.readouts:
        own: dict[Any, Request] = {}
        for request in graded:
            if request.readout is readout:
                own.setdefault((labels_key(request.labels), request.prefill), request)
        for request in own.values():
            if request.labels is not None:
                table = engine.tables([request.prompt], request.labels)
                tokens.setdefault(readout.name, []).append({"prefill": request.prefill, "answers": table})
    at = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    found = Proven(engine.abilities(), identity_of(engine), proofs, tokens, at)
    store.append(
        {
            "key": _key(before, _n_tests(store, before)),
            "kind": "proof",
            "at": found.at,
            "identity": dict(found.identity),
            "abilities": asdict(found.abilities),
            "proofs": [asdict(proof) for proof in found.proofs],
            "tokens": dict(found.tokens),
        }
    )
    return found


def _spread(found: Sequence[Request]) -> list[Request]:
    """Return a few requests of each item under the first one's labels, all phrasings and prefills among them."""
    labels = labels_key(found[0].labels)
    out: list[Request] = []
    for item in dict.fromkeys(request.item for request in found):
        own = [one for one in found if one.item == item and labels_key(one.labels) == labels]
        first = list({(one.phrasing, one.prefill): one for one in reversed(own)}.values())[::-1]
        rest = [one for one in own if one not in first]
        out += (first + rest)[:_TESTED_PROMPTS]
    return out


def known(store: Store, engine: Engine) -> Proven:
    """Return what the last test of an engine found, or what is known of it without asking."""
    identity = identity_of(engine)
    before = _digest(identity)
    n = _n_tests(store, before)
    record = store.get(_key(before, n - 1)) if n else None
    if record is None:
        return Proven(engine.abilities(), identity)
    proofs = [Proof(**proof) for proof in record["proofs"]]
    return Proven(Abilities(**record["abilities"]), record["identity"], proofs, record["tokens"], record["at"])


def _n_tests(store: Store, before: str) -> int:
    n = 0
    while _key(before, n) in store:
        n += 1
    return n


def _key(before: str, n: int) -> str:
    return key_of({"proof of": before, "n": n})
