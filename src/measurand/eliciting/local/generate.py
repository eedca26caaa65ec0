"""Replies written token by token, several at once, none depending on its neighbours."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from measurand.eliciting.engine import Decoding, Failure, Finish, Reply
from measurand.eliciting.local.model import LocalModel, Seen, shared, tokens
from measurand.eliciting.local.render import Rendered, Renderer
from measurand.eliciting.local.render_template import REASONING as REASONING
from measurand.eliciting.local.render_template import open_reasoning
from measurand.eliciting.prompt import Prompt
from measurand.result import MeasurandError
from measurand.stats.inference import stream

#: Replies that are decoded together.
AT_ONCE: Final = 8
#: What holds where a decoding leaves something open.
DEFAULTS: Final = (
    "a temperature, top_p or top_k that is not set follows the model's generation_config, its penalties of repetition "
    "are not applied, and a seed that is not set is 0"
)


@dataclass
class _Draft:
    """A reply that is being written."""

    number: int
    rendered: Rendered
    decoding: Decoding
    rng: np.random.Generator
    n_cached: int
    position: int
    ids: list[int] = field(default_factory=list)
    n_drawn: int = 0
    text: str | None = None
    finish: Finish | None = None


def generate(
    model: LocalModel, renderer: Renderer, prompts: Sequence[Prompt], decodings: Sequence[Decoding]
) -> Iterator[tuple[int, Reply | Failure]]:
    """Yield each prompt's number and reply.

    Parameters
    ----------
    model : LocalModel
        The weights.
    renderer : Renderer
        The prompts' template.
    prompts, decodings : sequence of Prompt, of Decoding
        What is asked, and how each reply is decoded.

    Notes
    -----
    Every prompt is passed by itself, without padding; the caches are then joined, padded on the left, so that in no
    step a row attends to nothing. Tokens are drawn from each request's own generator, seeded by its seed and prompt
    ids: its neighbours, and how many there are, make no difference but for rounding. A temperature of None follows the
    model's generation_config (sampling, temperature, top_p, top_k); penalties of repetition are not applied.
    """
    at_once = AT_ONCE if model.is_plain else 1
    ready: list[tuple[int, Rendered]] = []
    for number, (prompt, decoding) in enumerate(zip(prompts, decodings, strict=True)):
        try:
            if decoding.json_schema is not None:
                raise MeasurandError("this engine forces no schema on a reply; leave json_schema out")
            ready.append((number, renderer.render(prompt, may_reason=True)))
        except MeasurandError as error:
            yield number, Failure(str(error))
    for start in range(0, len(ready), at_once):
        block = ready[start : start + at_once]
        began = time.perf_counter()
        try:
            with model.few_threads():
                drafts = _write(model, renderer, [(number, one, decodings[number]) for number, one in block])
        except RuntimeError as error:  # what torch says when memory runs out, among others
            yield from ((number, Failure(f"the pass failed: {error}")) for number, _ in block)
            continue
        each = (time.perf_counter() - began) / len(block)
        for draft in drafts:
            yield draft.number, _reply(draft, renderer, seconds=each)


def _write(model: LocalModel, renderer: Renderer, asked: Sequence[tuple[int, Rendered, Decoding]]) -> list[_Draft]:
    import torch

    ends = _ends(model, renderer)
    drafts, passes = _begin(model, asked)
    logits = [seen.logits[0] for seen in passes]
    # A cache that can't be joined is the only one of its batch.
    cache = _joined([seen.cache for seen in passes]) if model.is_plain else passes[0].cache
    width = max(len(draft.rendered.ids) for draft in drafts)
    there = torch.zeros(len(drafts), width, dtype=torch.long)
    for row, draft in enumerate(drafts):
        there[row, width - len(draft.rendered.ids) :] = 1
    live = list(range(len(drafts)))
    while True:
        for row in live:
            _extend(drafts[row], logits[row], model, renderer, ends)
        kept = [k for k, row in enumerate(live) if drafts[row].finish is None]
        if not kept:
            return drafts
        if len(kept) < len(live):
            if model.is_plain:
                cache.batch_select_indices(torch.tensor(kept, device=model.system.device))
            there = there[kept]
            live = [live[k] for k in kept]
        there = torch.nn.functional.pad(there, (0, 1), value=1)
        inputs = {
            "input_ids": torch.tensor([[drafts[row].ids[-1]] for row in live]),
            "attention_mask": there,
            "position_ids": torch.tensor([[drafts[row].position] for row in live]),
        }
        seen = model.run(inputs, torch.ones(len(live), 1, dtype=torch.bool), cache=cache)
        for k, row in enumerate(live):
            logits[row] = seen.logits[k]
            drafts[row].position += 1


def _begin(model: LocalModel, asked: Sequence[tuple[int, Rendered, Decoding]]) -> tuple[list[_Draft], list[Seen]]:
    """Pass each prompt into a cache of its own; the very same prompt only once."""
    import torch

    drafts: list[_Draft] = []
    passes: list[Seen] = []
    found: dict[str, Seen] = {}
    for number, rendered, decoding in asked:
        known = found.get(rendered.fingerprint)
        if known is None:
            n = len(rendered.ids)
            wanted = torch.zeros(1, n, dtype=torch.bool)
            wanted[0, -1] = True
            inputs = {"input_ids": tokens(rendered.ids), "attention_mask": torch.ones(1, n, dtype=torch.long)}
            model.rest()
            seen = model.run({**inputs, **rendered.inputs}, wanted, cache=model.new_cache(is_plain=model.is_plain))
            found[rendered.fingerprint] = seen
        else:
            seen = known
        rng = stream(decoding.seed or 0, "generate", rendered.fingerprint)
        n_cached = 0 if known is None else len(rendered.ids)
        drafts.append(_Draft(number, rendered, decoding, rng, n_cached, seen.next_positions[0]))
        passes.append(seen)
    return drafts, passes


def _joined(caches: Sequence[Any]) -> Any:
    """Return one cache of several prompts, padded on the left."""
    import torch

    out = shared(caches[0])
    width = max(cache.get_seq_length() for cache in caches)

    def wide(values: Any) -> Any:
        return torch.nn.functional.pad(values, (0, 0, width - values.shape[-2], 0))

    for k, layer in enumerate(out.layers):
        layer.keys = torch.cat([wide(cache.layers[k].keys) for cache in caches])
        layer.values = torch.cat([wide(cache.layers[k].values) for cache in caches])
    return out


def _ends(model: LocalModel, renderer: Renderer) -> set[int]:
    """Return the tokens that end a reply: the generation configuration's, and the tokenizer's."""
    given = getattr(model.model.generation_config, "eos_token_id", None)
    ends = set(given if isinstance(given, list | tuple) else [given])
    return {end for end in ends | {renderer.tokenizer.eos_token_id} if end is not None}


def _extend(draft: _Draft, logits: Any, model: LocalModel, renderer: Renderer, ends: set[int]) -> None:
    """Draw a token and see whether it ends the reply."""
    token = _draw(logits, draft.decoding, draft.rng, model.model.generation_config)
    draft.n_drawn += 1
    if token in ends:
        draft.finish = "stop"
        return
    draft.ids.append(token)
    if draft.decoding.stop:
        text = renderer.decode(draft.ids)
        if places := [place for stop in draft.decoding.stop if (place := text.find(stop)) >= 0]:
            draft.text, draft.finish = text[: min(places)], "stop"
            return
    if draft.n_drawn >= draft.decoding.max_tokens:
        draft.finish = "length"


def _draw(logits: Any, decoding: Decoding, rng: np.random.Generator, defaults: Any) -> int:
    """Return the next token: the likeliest, or one drawn by inversion from what temperature and top_p leave."""
    temperature, top_p, top_k = decoding.temperature, decoding.top_p, None
    if temperature is None:
        samples = bool(getattr(defaults, "do_sample", False))
        temperature = (getattr(defaults, "temperature", None) or 1.0) if samples else 0.0
        top_p = getattr(defaults, "top_p", None) if top_p is None else top_p
        top_k = getattr(defaults, "top_k", None)
    if temperature == 0:
        return int(logits.argmax())
    wide = logits.double().cpu().numpy() / temperature
    p = np.exp(wide - wide.max())
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    if top_k:
        order = order[:top_k]
    if top_p is not None and top_p < 1:
        order = order[: int(np.searchsorted(np.cumsum(p[order]), top_p)) + 1]
    cumulated = np.cumsum(p[order])
    return int(order[min(np.searchsorted(cumulated, rng.random() * cumulated[-1], side="right"), len(order) - 1)])


def _reply(draft: _Draft, renderer: Renderer, *, seconds: float) -> Reply:
    text = renderer.decode(draft.ids) if draft.text is None else draft.text
    reasoning, text, end = _parted(text, opened=open_reasoning(draft.rendered.tail))
    n_reasoning = None
    if end:
        n_reasoning = next(k for k in range(1, len(draft.ids) + 1) if end in renderer.decode(draft.ids[:k]))
    return Reply(
        text=text,
        finish=draft.finish or "stop",
        fingerprint=draft.rendered.fingerprint,
        n_prompt=len(draft.rendered.ids),
        n_cached=draft.n_cached,
        n_completion=draft.n_drawn,
        n_reasoning=n_reasoning,
        seconds=seconds,
        reasoning=reasoning,
    )


def _parted(text: str, *, opened: str) -> tuple[str, str, str]:
    """Return reasoning, the rest, and the mark between; reasoning is parted off only where both its ends are marked.

    `opened` is the mark that the prompt itself ends in, blank for none.
    """
    for start, end in REASONING:
        begun = re.match(rf"\s*{re.escape(start)}", text, re.IGNORECASE)
        closed = re.search(re.escape(end), text, re.IGNORECASE)
        if closed and (begun or opened == start):
            return text[begun.end() if begun else 0 : closed.start()], text[closed.end() :], closed.group()
    return "", text, ""
