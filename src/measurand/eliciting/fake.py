"""An engine that asks nobody: for tests, and for a dry run of a whole study that costs nothing."""

from __future__ import annotations

import difflib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, get_args

import numpy as np

from measurand.eliciting import fake_answers as answers
from measurand.eliciting.engine import (
    N_OTHERS,
    Abilities,
    Decoding,
    Distribution,
    Failure,
    Finish,
    Proof,
    Reading,
    Reply,
    labels_of_each,
)
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.store import key_of
from measurand.eliciting.system import System
from measurand.result import MeasurandError
from measurand.stats.top_k import bounds

_VERSION: Final = "fake/1"
#: Words that a picture counts as.
_PICTURE: Final = 64
_REFUSAL: Final = "I can't help with that."
#: Far more than what rounding leaves, far less than what machines differ by.
_DIGITS: Final = 10
_LIMIT: Final = 1e-4


@dataclass(frozen=True)
class FakeOptions:
    """What a fake engine is told to do, as `template_options` of its system.

    Parameters
    ----------
    distribution : {"exact", "top_k", "none"}
        What it shows of the next-token distribution; of ``top_k`` the system's `top_logprobs` likeliest.
    bad_share, refusal_share, failure_share : float
        Share of replies that go against what was asked, and that are refused; share of requests, readings included,
        that get no answer. Which they are depends on the request alone.
    delay_s : float
        How long each request really takes, in seconds.
    latency_s : float
        How long each request says that it took, in seconds.
    fails_proof : bool
        Whether its test before it is used fails.
    """

    distribution: Distribution = "exact"
    bad_share: float = 0.1
    refusal_share: float = 0.02
    failure_share: float = 0.0
    delay_s: float = 0.0
    latency_s: float = 0.0
    fails_proof: bool = False

    @classmethod
    def of(cls, system: System) -> FakeOptions:
        """Return the options of a system, checked.

        Raises
        ------
        MeasurandError
            If one is unknown, or its value is not permitted.

        Examples
        --------
        >>> FakeOptions.of(System("S", "fake", template_options={"bad_share": 0.5})).bad_share
        0.5
        """
        given = system.template_options
        known = {field.name for field in fields(cls)}
        for name, value in given.items():
            where = f"system {system.name!r}: template_options.{name}"
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"a fake engine has {', '.join(sorted(known))}"
                raise MeasurandError(f"{where} is not known; {hint}")
            if name == "distribution":
                allowed, fits = ", ".join(get_args(Distribution)), value in get_args(Distribution)
            elif name == "fails_proof":
                allowed, fits = "true and false", isinstance(value, bool)
            else:
                most = 1.0 if name.endswith("share") else math.inf
                allowed = "numbers from 0 to 1" if most == 1.0 else "numbers from 0 up"
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                fits = is_number and 0 <= value <= most and math.isfinite(value)
            if not fits:
                raise MeasurandError(f"{where} is {value!r}; allowed are {allowed}")
        options = cls(**given)
        if options.bad_share + options.refusal_share > 1:
            raise MeasurandError(
                f"system {system.name!r}: bad_share {options.bad_share:g} and refusal_share {options.refusal_share:g} "
                "are more than 1 together; lower one"
            )
        return options


class FakeEngine:
    """Answers made from hashes of who is asked and what is asked, and of nothing else.

    The same request gets the same answer in every order, batch, process and machine. Log-odds are main effects of the
    item and of the question, a rest, and noise; the probability of all answers together is high where the answer's
    turn was started and low where it was not; replies are ratings, emojis or words.

    Parameters
    ----------
    system : System
        Its `model` (its `name` where that is blank) is who is asked; its `template_options` are `FakeOptions`.

    Raises
    ------
    MeasurandError
        If an option is unknown or its value not permitted.

    Examples
    --------
    >>> engine = FakeEngine(System("S", "fake"))
    >>> labels = Labels({"yes": ("yes",), "no": ("no",)})
    >>> [(position, reading)] = engine.read([Prompt("Is it red?", prefill="Answer:")], labels)
    >>> position, reading.low == reading.high, 0.9 < reading.mass_high < 1
    (0, True, True)
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self._options = FakeOptions.of(system)
        self._model = system.model or system.name

    def identity(self) -> Mapping[str, str]:
        """Return what determines an answer; shares of failures and times do not."""
        options = asdict(self._options)
        told = {name: f"{options[name]}" for name in ("distribution", "bad_share", "refusal_share")}
        if self._options.distribution == "top_k":
            told["top_logprobs"] = f"{self._system.top_logprobs}"
        return {
            "engine": "fake",
            "is_fake": "yes: answers are made from hashes, no model was asked",
            "version": _VERSION,
            "model": self._model,
            **told,
        }

    def abilities(self) -> Abilities:
        """Return what it was told to be able to do."""
        top_k = self._system.top_logprobs if self._options.distribution == "top_k" else None
        notes = {"engine": "a fake: answers are made from hashes, no model was asked"}
        return Abilities(self._options.distribution, top_k, images=True, prefill=True, seed=True, notes=notes)

    def fingerprint(self, prompt: Prompt) -> str:
        """Return a hash of the messages and the picture's bytes; there are no token ids."""
        return key_of(
            {
                "system": prompt.system,
                "picture": prompt.picture.sha256 if prompt.picture else None,
                "shared": prompt.shared,
                "question": prompt.question,
                "prefill": prompt.prefill,
                "turns": [list(turn) for turn in prompt.turns],
            }
        )

    def count(self, prompt: Prompt) -> int:
        """Return the number of words; a picture counts as 64."""
        told = [part for turn in prompt.turns for part in turn]
        texts = (prompt.system, prompt.shared, prompt.question, prompt.prefill, *told)
        return sum(len(text.split()) for text in texts) + (_PICTURE if prompt.picture else 0)

    def objections(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[str]:
        """Return that probabilities cannot be read where none are shown; it takes every text."""
        if labels is not None and prompts and self._options.distribution == "none":
            return [
                "it was told to show no probabilities (distribution none), so that none can be read; leave out the "
                "readouts that read them"
            ]
        return []

    def prove(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[Proof]:
        """Read the prompts forwards and backwards, and say whether the prefill and the picture make a difference."""
        told = [] if not self._options.fails_proof else [Proof("told", False, "It was told to fail (fails_proof).")]
        if labels is None or not prompts or self._options.distribution == "none":
            return told
        forwards = [self._reading(prompt, labels) for prompt in prompts]
        backwards = [self._reading(prompt, labels) for prompt in reversed(prompts)][::-1]
        value = max(
            (
                abs(a - b)
                for one, other in zip(forwards, backwards, strict=True)
                for a, b in zip(one.high, other.high, strict=True)
                if a != b
            ),
            default=0.0,
        )
        said = f"The answers differ by {value:g} in log-odds between two orders of the same prompts."
        return [*told, Proof("order", value <= _LIMIT, said, value, _LIMIT)]

    def tables(self, prompts: Sequence[Prompt], labels: Labels) -> Mapping[str, Any]:
        """Return the spellings of each label that have a probability; they are texts, there are no ids."""
        spelled = {name: list(answers.spellings(labels, name)) for name in labels.names}
        return {"is_fake": True, "labels": {prompt.prefill: spelled for prompt in prompts}}

    def read(
        self, prompts: Sequence[Prompt], labels: Labels | Sequence[Labels]
    ) -> Iterator[tuple[int, Reading | Failure]]:
        """Give the distribution of each prompt, in an order that depends on the prompts alone and is not theirs."""
        of = labels_of_each(labels, len(prompts))
        for i in self._mixed(prompts):
            time.sleep(self._options.delay_s)
            if self._options.distribution == "none":
                yield i, Failure("the engine shows no probabilities", stops=True)
            elif self._fails(self.fingerprint(prompts[i]), "reading"):
                yield i, Failure("told to fail")
            else:
                yield i, self._reading(prompts[i], of[i])

    def generate(
        self, prompts: Sequence[Prompt], decodings: Sequence[Decoding]
    ) -> Iterator[tuple[int, Reply | Failure]]:
        """Give a reply to each prompt, in an order that depends on the prompts alone and is not theirs."""
        for i in self._mixed(prompts):
            time.sleep(self._options.delay_s)
            yield i, self._reply(prompts[i], decodings[i])

    def at_once(self) -> int:
        """Return the system's `concurrency`."""
        return self._system.concurrency

    def close(self) -> None:
        """Do nothing: it holds nothing."""

    def _mixed(self, prompts: Sequence[Prompt]) -> list[int]:
        # Callers must not count on the order of outcomes; an engine that kept it would hide that they do.
        return sorted(range(len(prompts)), key=lambda i: (self.fingerprint(prompts[i]), i))

    def _fails(self, *names: str) -> bool:
        return answers.uniform(self._model, "failure", *names) < self._options.failure_share

    def _reading(self, prompt: Prompt, labels: Labels) -> Reading:
        fingerprint = self.fingerprint(prompt)
        all_tokens = answers.tokens(self._model, prompt, labels, fingerprint=fingerprint)
        seen = all_tokens
        if self._options.distribution == "top_k":
            seen = all_tokens[: self._system.top_logprobs]
        whole = np.array([[label == name for label, _, _ in seen] for name in labels.names])
        unseen = np.array(
            [sum(label == name for label, _, _ in all_tokens[len(seen) :]) for name in labels.names], dtype=np.int64
        )
        found = bounds(np.array([p for _, _, p in seen]), whole, np.zeros_like(whole), unseen)
        return Reading(
            low=[_log(p) for p in found.low.tolist()],
            high=[_log(p) for p in found.high.tolist()],
            mass_high=round(found.mass_high, _DIGITS),
            others=[(text, round(p, _DIGITS)) for label, text, p in seen if not label][:N_OTHERS],
            top=seen[0][1],
            fingerprint=fingerprint,
            n_prompt=self.count(prompt),
            n_cached=0,
            n_completion=1,
            seconds=float(self._options.latency_s),
        )

    def _reply(self, prompt: Prompt, decoding: Decoding) -> Reply | Failure:
        fingerprint = self.fingerprint(prompt)
        draw = key_of({"model": self._model, "prompt": fingerprint, "sampled": answers.sampled(decoding)})
        if self._fails(draw):
            return Failure("told to fail")
        kind = answers.uniform(draw, "kind")
        finish: Finish = "stop"
        if kind < self._options.refusal_share:
            text, finish = _REFUSAL, "refused"
        else:
            is_bad = kind < self._options.refusal_share + self._options.bad_share and decoding.json_schema is None
            text = answers.reply(self._model, prompt, draw, is_bad=is_bad)
            # A turn that was started is continued, not begun anew.
            text = text.removeprefix(prompt.prefill)
            text = min((text.split(stop)[0] for stop in decoding.stop if stop), key=len, default=text)
            words = text.split(" ")
            if len(words) > decoding.max_tokens:
                text, finish = " ".join(words[: decoding.max_tokens]), "length"
        return Reply(
            text=text,
            finish=finish,
            fingerprint=fingerprint,
            n_prompt=self.count(prompt),
            n_cached=0,
            n_completion=len(text.split()),
            n_reasoning=0,
            seconds=float(self._options.latency_s),
        )


def _log(p: float) -> float:
    return round(math.log(p), _DIGITS) if p > 0 else -math.inf
