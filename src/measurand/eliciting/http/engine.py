"""Systems behind an OpenAI-compatible server: hosted models, vLLM, SGLang, llama.cpp, Ollama, gateways."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from measurand.eliciting.engine import Abilities, Decoding, Failure, Proof, Reading, Reply, labels_of_each
from measurand.eliciting.http.probe import Probe, Probed
from measurand.eliciting.http.read import n_variants, reading_of, reply_of
from measurand.eliciting.http.send import Sender
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt
from measurand.eliciting.system import System
from measurand.result import MeasurandError

#: Fields of a request that this engine sets; `extra_body` may not say otherwise.
_OWN: Final = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "seed",
        "stop",
        "logprobs",
        "top_logprobs",
        "n",
        "stream",
        "response_format",
        "continue_final_message",
        "add_generation_prompt",
    ]
)
#: Fields that force a grammar or a bias on the next token: under them the answers' mass is what the field makes it.
_FORCING: Final = frozenset(
    [
        "grammar",
        "json_schema",
        "guided_json",
        "guided_regex",
        "guided_choice",
        "guided_grammar",
        "guided_decoding",
        "structured_outputs",
        "regex",
        "ebnf",
        "structural_tag",
        "logit_bias",
        "allowed_token_ids",
        "banned_tokens",
        "bad_words",
        "tools",
        "tool_choice",
        "functions",
        "function_call",
        "custom_logit_processor",
        "logits_processors",
    ]
)
#: Texts that templates use as marks of turns, pictures and reasoning. A server reads them as marks wherever they stand.
_MARKERS: Final = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<bos>",
    "<eos>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<|user|>",
    "<|assistant|>",
    "<|system|>",
    "<|end|>",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|return|>",
    "<image>",
    "</image>",
    "<|image|>",
    "<|image_pad|>",
    "<|video_pad|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<start_of_image>",
    "<end_of_image>",
    "<image_soft_token>",
    "<fake_token_around_image>",
    "[IMG]",
    "[IMG_END]",
    "<IMG_CONTEXT>",
    "<__media__>",
    "<think>",
    "</think>",
    "<|thinking|>",
]


class HttpEngine:
    """Asks one system over an OpenAI-compatible server's chat completions.

    Parameters
    ----------
    system : System
        The system; its `url` and `model` are needed.
    seed : int
        Seed of the jitter of pauses between tries, which no answer depends on.
    first_pause_s : float
        Pause before a second try, which doubles from try to try.

    Raises
    ------
    MeasurandError
        If address, model or fields of the system can't work, or the extra `openai` is not installed.

    Notes
    -----
    Readings come from the first position of a completion of one token at a temperature of 0, never under a grammar. A
    server shows the likeliest tokens alone, so that a reading holds bounds (see `stats.top_k`). Only `prove` tells what
    the server does with what it is sent; `identity` and `abilities` are complete after it.
    """

    def __init__(self, system: System, *, seed: int = 0, first_pause_s: float = 0.5) -> None:
        self._system = system
        if not system.model:
            raise MeasurandError(f"system {system.name!r} names no model; set model to what the server calls it")
        if wrong := sorted(_OWN & set(system.extra_body)):
            raise MeasurandError(
                f"system {system.name!r}: extra_body sets {wrong[0]!r}, which the readouts decide; take it out "
                "and declare it there"
            )
        if system.top_logprobs < 1:
            raise MeasurandError(f"system {system.name!r}: top_logprobs {system.top_logprobs}; ask for at least 1")
        try:
            self._version = importlib.metadata.version("openai")
        except importlib.metadata.PackageNotFoundError as error:
            raise MeasurandError(
                'OpenAI-compatible servers need the extra "openai": pip install "measurand[openai]"'
            ) from error
        self._sender = Sender(system, seed=seed, first_pause_s=first_pause_s)
        self._probed = Probed(n_top=system.top_logprobs, style=_first_style(system))

    def identity(self) -> Mapping[str, str]:
        """Return address, model, what the server says it is, the SDK's version and the fields of each request."""
        probed = self._probed
        fields = {**self._fields(probed), "top_logprobs": probed.n_top, "prefill_style": probed.style}
        return {
            "engine": "openai",
            "url": self._sender.address,
            "model": self._system.model,
            "served_model": probed.model,
            "system_fingerprint": probed.fingerprint,
            "server": probed.server,
            "openai": self._version,
            "fields": json.dumps(fields, sort_keys=True, ensure_ascii=False),
        }

    def abilities(self) -> Abilities:
        """Return what the probe found; before it, what was asked for."""
        probed = self._probed
        return Abilities(
            distribution="none" if probed.logprobs is False else "top_k",
            top_k=None if probed.logprobs is False else probed.n_top,
            images=probed.images,
            prefill=probed.prefill,
            seed=None,
            notes={"seed": "sent where one is declared; whether it is obeyed is not tested", **probed.notes},
        )

    def fingerprint(self, prompt: Prompt) -> str:
        """Return the SHA-256 of the messages, each picture by the SHA-256 of its bytes; token ids are not visible."""
        content = json.dumps(_messages(prompt, _named), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def count(self, prompt: Prompt) -> int | None:  # noqa: ARG002 - the interface's signature
        """Return None: the server alone can count its tokens."""
        return None

    def objections(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[str]:
        """Return why these prompts can't be asked: marks of chat templates in their texts, grammars over readings."""
        out = []
        if labels is not None and (forced := sorted(_FORCING & set(self._system.extra_body))):
            out.append(
                f"extra_body sets {forced[0]!r}, which forces the answer: its probability would be what the field "
                "makes it; take it out for readings"
            )
        if labels is not None and not labels.are_numerals:
            out += [
                f"the answer {word!r} begins the answer {longer!r}: at the first position one can't be told from the "
                "other; take words that begin differently"
                for word, longer in _begun(labels)
            ]
        found: dict[tuple[str, str], int] = {}
        for prompt in prompts:
            turns = " ".join(text for turn in prompt.turns for text in turn)
            parts = (("question", prompt.question), ("text", prompt.shared), ("system message", prompt.system))
            for part, text in (*parts, ("prefill", prompt.prefill), ("earlier turns", turns)):
                for marker in _MARKERS:
                    if marker in text:
                        found[part, marker] = found.get((part, marker), 0) + 1
        out += [
            f"the {part} of {n} of {len(prompts)} prompts contains {marker!r}, which chat templates use as a mark and "
            "a server may take for one; write it another way"
            for (part, marker), n in found.items()
        ]
        return out

    def prove(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[Proof]:
        """Find out with a few small requests what the server does: logprobs, prefill, pictures, reasoning, cache."""
        probe = Probe(self._system, self._sender, self._body)
        proofs = probe.run(prompts, labels, self._probed)
        self._probed = probe.found
        return proofs

    def tables(self, prompts: Sequence[Prompt], labels: Labels) -> Mapping[str, Any]:  # noqa: ARG002 - as above
        """Return by what texts tokens are told to be answers; ids are not visible, whatever the prefill."""
        return {
            "by": "text",
            "n_top": self._probed.n_top,
            "labels": {
                name: {"forms": list(labels.forms(name)), "n_variants": n_variants(labels, name)}
                for name in labels.names
            },
        }

    def read(
        self, prompts: Sequence[Prompt], labels: Labels | Sequence[Labels]
    ) -> Iterator[tuple[int, Reading | Failure]]:
        """Read the first position of each prompt's answer, several at a time, and give outcomes as they come."""
        n_top, of = self._probed.n_top, labels_of_each(labels, len(prompts))

        def body(position: int) -> dict[str, Any]:
            return self._body(prompts[position], self._probed, n_top=n_top)

        for position, sent in self._sender.many(len(prompts), body):
            yield (
                position,
                sent.failure
                or reading_of(
                    sent.document,
                    of[position],
                    n_asked=n_top,
                    fingerprint=self.fingerprint(prompts[position]),
                    seconds=sent.seconds,
                ),
            )

    def generate(
        self, prompts: Sequence[Prompt], decodings: Sequence[Decoding]
    ) -> Iterator[tuple[int, Reply | Failure]]:
        """Generate a reply to each prompt, several at a time, and give outcomes as they come."""

        def body(position: int) -> dict[str, Any]:
            return self._body(prompts[position], self._probed, decoding=decodings[position])

        for position, sent in self._sender.many(len(prompts), body):
            # Some servers repeat the prefill in front of what was generated, which the probe has found out.
            prefill = prompts[position].prefill if self._probed.echoes is not False else ""
            fingerprint = self.fingerprint(prompts[position])
            yield (
                position,
                sent.failure or reply_of(sent.document, prefill=prefill, fingerprint=fingerprint, seconds=sent.seconds),
            )

    def at_once(self) -> int:
        """Return how many requests are sent at a time."""
        return self._system.concurrency

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def _fields(self, probed: Probed) -> dict[str, Any]:
        """Return what every request has beside its prompt and its decoding."""
        options = dict(self._system.template_options)
        if probed.switches_thinking:
            options.setdefault("enable_thinking", False)
        return {**({"chat_template_kwargs": options} if options else {}), **self._system.extra_body}

    def _body(
        self, prompt: Prompt, probed: Probed, *, n_top: int = 0, decoding: Decoding | None = None
    ) -> dict[str, Any]:
        """Return a request: a reading of the `n_top` likeliest tokens, or a reply under a decoding, or both."""
        decoding = decoding or Decoding(max_tokens=1)
        body: dict[str, Any] = {
            "model": self._system.model,
            "messages": _messages(prompt, _shown),
            probed.limit_field: decoding.max_tokens,
        }
        if n_top:
            body |= {"logprobs": True, "top_logprobs": n_top}
        elif decoding.json_schema is not None:
            schema = {"name": "reply", "schema": dict(decoding.json_schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        given = {"temperature": decoding.temperature, "top_p": decoding.top_p, "seed": decoding.seed}
        body |= {name: value for name, value in given.items() if value is not None}
        if decoding.stop:
            body["stop"] = list(decoding.stop)
        if prompt.prefill and probed.style == "continue_final_message":
            body |= {"continue_final_message": True, "add_generation_prompt": False}
        return body | self._fields(probed)


def _begun(labels: Labels) -> list[tuple[str, str]]:
    """Words of a label with a longer word of another label that begins with them, without regard to case."""
    words = [(label, word.strip().casefold()) for label in labels.names for word in labels.words[label]]
    return [(a, b) for one, a in words for other, b in words if one != other and b != a and b.startswith(a)]


def _first_style(system: System) -> str:
    return "trailing" if system.prefill_style == "auto" else system.prefill_style


def _messages(prompt: Prompt, address: Any) -> list[dict[str, Any]]:
    """Return a prompt as messages, its picture under the address that the function makes of it."""
    content: Any = prompt.text
    if prompt.picture is not None:
        content = [{"type": "image_url", "image_url": {"url": address(prompt.picture)}}]
        content += [{"type": "text", "text": prompt.text}] if prompt.text else []
    messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
    messages.append({"role": "user", "content": content})
    for turn in prompt.turns:
        messages += [{"role": "assistant", "content": turn.reply}, {"role": "user", "content": turn.note}]
    if prompt.prefill:
        messages.append({"role": "assistant", "content": prompt.prefill})
    return messages


def _shown(picture: Picture) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"


def _named(picture: Picture) -> str:
    return f"data:{picture.media_type};sha256,{picture.sha256}"
