"""What a study would ask, before anything is asked: requests, tokens, money."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from measurand.eliciting.asking import Asker, cost_of
from measurand.eliciting.controls import digest_of
from measurand.eliciting.declared import Design, Generative, Readout, Text
from measurand.eliciting.engine import Engine
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.proving import known
from measurand.eliciting.requests import Block, blocks, requests
from measurand.eliciting.run import objections_to
from measurand.eliciting.store import FILE, Store
from measurand.eliciting.system import System

#: Characters of a token where no tokenizer is at hand: English text under common vocabularies has about four.
CHARACTERS: Final = 4


@dataclass(frozen=True)
class Estimate:
    """What one system is asked under one readout in one arm.

    Parameters
    ----------
    system, readout, control : str
        The arm.
    n_requests : int
        Requests at the first attempt; 0 where all of them are the items' own: an item that is shown in the place of
        another is asked what it was asked itself, and once.
    prompt_tokens : int
        Tokens of their prompts, prefixes that are shared counted every time.
    completion_tokens : int
        Most tokens of the replies at one attempt; 0 for readings of local engines, 1 each elsewhere.
    most_attempts : int
        How often a request is asked at most.
    is_counted : bool
        Whether the system's own tokenizer counted; otherwise four characters are a token, and pictures are left out.
    cost : float
        Price of one attempt at every request, replies of full length, nothing cached.
    currency : str
        Of the price.
    """

    system: str
    readout: str
    control: str
    n_requests: int
    prompt_tokens: int
    completion_tokens: int
    most_attempts: int
    is_counted: bool
    cost: float
    currency: str


@dataclass(frozen=True)
class Plan:
    """What a study would ask.

    Parameters
    ----------
    estimates : sequence of Estimate
        By system, control and readout.
    stored : mapping of str to (int, int)
        System to requests answered in the store, and all; empty where there is no store.
    objections : sequence of str
        Why it can't be asked; empty where it can.
    """

    estimates: Sequence[Estimate]
    stored: dict[str, tuple[int, int]]
    objections: Sequence[str]


def plan(
    design: Design, engines: Sequence[tuple[System, Engine]], *, store: Path | None, limit: int | None = None
) -> Plan:
    """Count what a study would ask; nothing is sent, no weights are loaded.

    Tokens of an item and of a question are counted once each and added: the first item under every question, and every
    item under the first.

    Parameters
    ----------
    design : Design
        The study.
    engines : sequence of (System, Engine)
        Who would be asked.
    store : Path or None
        The store's folder, if answers may be there.
    limit : int or None
        Only the first so many items; None for all.
    """
    shown = blocks(design, limit=limit)
    estimates: list[Estimate] = []
    objections: list[str] = []
    for system, engine in engines:
        objections += [f"{system.name}: {one}" for one in objections_to(design, engine, shown)]
        for control in ("", *design.controls):
            own = [block for block in shown if block.control == control]
            for readout in design.readouts:
                # Without criteria, questions about them are none.
                if any(request.readout is readout for block in own[:1] for request in requests(design, block)):
                    estimates.append(_estimate(design, system, engine, readout, own))
    return Plan(estimates, _stored(design, engines, store, shown), objections)


def _is_asked_already(engine: Engine, readout: Readout, control: str) -> bool:
    """Whether a control's requests are the items' own, which they are but for samples with seeds of their own."""
    return control == "swapped" and not _has_own_seeds(engine, readout)


def _has_own_seeds(engine: Engine, readout: Readout) -> bool:
    """Whether each item's replies are sampled under a seed of their own, so that no two requests are the same."""
    if not isinstance(readout, Generative | Text):
        return False
    is_sampled = readout.decoding.temperature is None or readout.decoding.temperature > 0
    return is_sampled and (readout.decoding.seed is not None or engine.abilities().seed is True)


def _estimate(design: Design, system: System, engine: Engine, readout: Readout, own: Sequence[Block]) -> Estimate:
    first = [request for request in requests(design, own[0]) if request.readout is readout]
    of_question = [_tokens(engine, request.prompt) for request in first]
    of_item = []
    for block in own:
        request = next(one for one in requests(design, block) if one.readout is readout)
        of_item.append(_tokens(engine, request.prompt))
    n, n_items = len(first), len(own)
    if own[0].control == "blank" and not _has_own_seeds(engine, readout):
        # What is left of different items may be the same, and is asked once.
        shown = {(block.shown.text, digest_of(block.shown)): size for block, size in zip(own, of_item, strict=True)}
        n_items, of_item = len(shown), list(shown.values())
    if _is_asked_already(engine, readout, own[0].control):
        n = n_items = 0
    prompt = sum(of_question) * n_items + n * sum(of_item) - n * n_items * of_question[0]
    is_reply = isinstance(readout, Generative | Text)
    each = readout.decoding.max_tokens if isinstance(readout, Generative | Text) else 1
    completion = 0 if not is_reply and system.engine == "transformers" else n * n_items * each
    return Estimate(
        system.name,
        readout.name,
        own[0].control,
        n * n_items,
        prompt,
        completion,
        readout.retry.attempts if isinstance(readout, Generative | Text) else 1,
        engine.count(first[0].prompt) is not None,
        cost_of(system.price, prompt=prompt, cached=0, completion=completion),
        system.price.currency,
    )


def _tokens(engine: Engine, prompt: Prompt) -> int:
    counted = engine.count(prompt)
    if counted is not None:
        return counted
    text = prompt.system + prompt.text + prompt.prefill + "".join(map("".join, prompt.turns))
    return -(-len(text) // CHARACTERS)


def _stored(
    design: Design, engines: Sequence[tuple[System, Engine]], folder: Path | None, shown: Sequence[Block]
) -> dict[str, tuple[int, int]]:
    if folder is None or not (folder / FILE).is_file():
        return {}
    out = {}
    with Store.open(folder, is_writer=False) as store:
        for system, engine in engines:
            asker = Asker(design, system, engine, proven=known(store, engine), store=store, watch=lambda _: None)
            asker.count(shown)
            out[system.name] = asker.progress.stored, asker.progress.total
    return out
