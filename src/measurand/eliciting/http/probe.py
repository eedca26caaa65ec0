"""Finds out what a server does with what it is sent, in a few small requests, before anything is spent."""

from __future__ import annotations

import dataclasses
import io
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from measurand.eliciting.engine import Decoding, Failure, Proof
from measurand.eliciting.http.compare import log_odds_apart, moved_by, opening
from measurand.eliciting.http.read import Top, reply_of, top_of, usage_of
from measurand.eliciting.http.send import Sender, Sent
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt
from measurand.eliciting.system import System

#: A turn that every language model goes on with in one way; it breaks off within a word, so that a turn begun anew,
#: which would not start with half a word, is told from one that goes on.
_QUESTION: Final = "Name the days of the week."
_BEGUN: Final = "Monday, Tuesday, Wednes"
_BEGUN_TWICE: Final = "Monday, Tuesday, Wednesday, Monday, Tuesday, Wednes"
_REST: Final = "day"
#: Tokens of template beyond the prefill's own from which on a turn was closed and a new one begun (ChatML, Llama 3 and
#: Gemma need five); tokenizers split the two prefills differently by one or two.
_NEW_TURN: Final = 3
#: Probability of tokens that open reasoning from which on the read position is no answer's.
_REASONS: Final = 0.05
#: Share of the log-probabilities' range by which a temperature of 0.7 must move them to count as scaled (it moves
#: scaled ones by 0.43 of their range).
_SCALED: Final = 0.1
#: Difference of log-probabilities that no temperature is needed for.
_SAME: Final = 0.05
#: Tokens of a reply that only has to show that one comes.
_SHORT: Final = Decoding(max_tokens=16)


@dataclass(frozen=True)
class Probed:
    """What is known about a server, and how requests are sent to it for that reason.

    Parameters
    ----------
    n_top : int
        How many of the likeliest tokens are asked for.
    style : str
        How a started turn is sent.
    model, fingerprint, server : str
        What the server says it is.
    logprobs, images, prefill, echoes : bool or None
        Whether it shows log-probabilities, sees pictures, continues a started turn, repeats that in front of the reply;
        None where nobody has looked.
    switches_thinking : bool
        Whether its template is told to leave out reasoning.
    limit_field : str
        The field for the most tokens of a reply.
    notes : mapping of str to str
        What was found, in words.
    """

    n_top: int
    style: str
    model: str = ""
    fingerprint: str = ""
    server: str = ""
    logprobs: bool | None = None
    images: bool | None = None
    prefill: bool | None = None
    echoes: bool | None = None
    switches_thinking: bool = False
    limit_field: str = "max_tokens"
    notes: Mapping[str, str] = field(default_factory=dict)


class Body(Protocol):
    """Makes the request for a prompt."""

    def __call__(
        self, prompt: Prompt, probed: Probed, *, n_top: int = 0, decoding: Decoding | None = None
    ) -> Mapping[str, Any]:
        """Return the request: a reading of the `n_top` likeliest tokens, a reply under a decoding, or both."""


class Probe:
    """One look at a server.

    Parameters
    ----------
    system : System
        What was declared.
    sender : Sender
        Sends the requests.
    body : callable
        Makes them.

    Notes
    -----
    Readings of text under a prefill take eight requests: a prompt; the same again and again, the last time at a
    temperature of 0.7; once more beside another prompt; and three about the prefill. Pictures take three more. What
    goes wrong is asked about with two or three further ones. A note tells how many there were.
    """

    def __init__(self, system: System, sender: Sender, body: Body) -> None:
        self._system, self._sender, self._body = system, sender, body
        self._labels: Labels | None = None
        self._proofs: dict[str, Proof] = {}
        self.found = Probed(system.top_logprobs, "trailing")

    def run(self, prompts: Sequence[Prompt], labels: Labels | None, known: Probed) -> list[Proof]:
        """Look at the server with the first prompts of a study; `found` tells afterwards what is known of it."""
        self._labels, self._proofs = labels, {}
        self.found = known
        if not prompts:
            return []
        before = self._sender.n_requests
        # The richest prompt shows most of what can go wrong: one with a picture and a prefill, if there is one.
        first = max(prompts, key=lambda prompt: (prompt.picture is not None, bool(prompt.prefill)))
        self._look(first, prompts)
        n = self._sender.n_requests - before
        self._know("requests", f"the probe sent {n} requests")
        return list(self._proofs.values())

    def _look(self, first: Prompt, prompts: Sequence[Prompt]) -> None:
        cold = self._cold(first)
        if cold.failure is not None:
            self._blame(first, cold)
            return
        self._know("served", f"the server calls the model {self.found.model!r}")
        if self._labels is not None:
            self._reading(first, prompts, cold)
        else:
            reply = reply_of(cold.document, prefill="", fingerprint="", seconds=cold.seconds)
            wrong = reply.reason if isinstance(reply, Failure) else ""
            self._prove("replies", not wrong, wrong or "a reply came")
        if any(prompt.prefill for prompt in prompts):
            self._continues()
        if first.picture is not None and self._labels is None:
            self._sees_in_replies(first, prompts, cold)

    def _cold(self, first: Prompt) -> Sent:
        """Ask the first prompt; where the server wants a field otherwise, say it its way and ask again."""
        sent = self._ask(first)
        words = "" if sent.failure is None else sent.failure.reason
        if sent.status == 400 and "max_completion_tokens" in words:
            self.found = dataclasses.replace(self.found, limit_field="max_completion_tokens")
            sent = self._ask(first)
            words = "" if sent.failure is None else sent.failure.reason
        is_refused = sent.status in (400, 422, 500) and re.search(r"thinking|reasoning", words, re.IGNORECASE)
        is_open = self._labels is not None and sent.failure is None and self._reasons(sent)
        if self._system.thinking == "off" and (is_refused or is_open):
            self.found = dataclasses.replace(self.found, switches_thinking=True)
            again = self._ask(first)
            if again.failure is not None:
                self.found = dataclasses.replace(self.found, switches_thinking=False)
            else:
                sent = again
        said = sent.document
        self.found = dataclasses.replace(
            self.found,
            model=str(said.get("model") or ""),
            fingerprint=str(said.get("system_fingerprint") or ""),
            server=sent.server,
        )
        return sent

    def _blame(self, first: Prompt, sent: Sent) -> None:
        """Tell what of a refused request it is that the server refuses, by leaving out one thing at a time."""
        failure = sent.failure or Failure("")
        if failure.stops or not 400 <= sent.status < 500:
            self._prove("reachable", False, f"no request to {self._sender.address} succeeds: {failure.reason}")
            return
        without: list[tuple[str, Sent]] = []
        if first.prefill:
            without.append(("prefill", self._ask(dataclasses.replace(first, prefill=""))))
        if first.picture is not None:
            without.append(("images", self._ask(dataclasses.replace(first, picture=None))))
        if self._labels is not None:
            body = self._body(first, self.found, decoding=_SHORT)
            without.append(("logprobs", self._sender.one(body)))
        guilty = next((what for what, other in without if other.failure is None), "request")
        advice = {
            "prefill": f"the server refuses a turn begun with {first.prefill!r} (and takes the prompt without); "
            "declare a prefill that ends in no space or line break, turn reasoning off, or leave the prefill blank",
            "images": "the server refuses the picture (and takes the prompt without); ask a model that sees",
            "logprobs": "the server refuses to show log-probabilities; readings need a server or model that does",
            "request": "the server refuses the first prompt",
        }[guilty]
        # What is guilty is also what the server can't do, and is noted by the field of that name.
        if guilty == "prefill":
            self.found = dataclasses.replace(self.found, prefill=False)
        elif guilty == "images":
            self.found = dataclasses.replace(self.found, images=False)
        elif guilty == "logprobs":
            self.found = dataclasses.replace(self.found, logprobs=False)
        self._prove(guilty, False, f"{advice}: {failure.reason}")

    def _reading(self, first: Prompt, prompts: Sequence[Prompt], cold: Sent) -> None:
        top = top_of(cold.document)
        if isinstance(top, Failure):
            is_open = self._reasons(cold)
            if not is_open:
                self.found = dataclasses.replace(self.found, logprobs=False)
            self._prove("thinking" if is_open else "logprobs", False, top.reason)
            if first.picture is not None and not is_open:
                self._sees_in_replies(first, prompts, cold)
            return
        asked = self.found.n_top
        short = top.n_returned < asked
        # What a server caps it gives in full when asked for so many; a list keyed by text stays short.
        self.found = dataclasses.replace(self.found, logprobs=True, n_top=min(top.n_returned, asked))
        self._prove(
            "logprobs",
            True,
            f"{top.n_returned} of {asked} likeliest tokens asked for came"
            + (", so that readings ask for as many and take what is missing for possible" if short else "")
            + ("" if top.is_sorted else ", not in the order of their size")
            + (", with ids" if top.has_ids else ", without ids")
            + f"; their probabilities sum to {math.fsum(math.exp(token.logprob) for token in top.tokens):.4f}",
        )
        name, p = opening(top)
        self._prove(
            "thinking",
            p < _REASONS,
            f"the likeliest first token is {top.tokens[0].name!r}"
            if p < _REASONS
            else f"the first position opens reasoning ({name!r} has the probability {p:.3f}), so that no answer stands "
            "there; turn it off at the server or in template_options, or declare a prefill",
        )
        if p < _REASONS:
            self._repeats(first, prompts, cold, top)

    def _repeats(self, first: Prompt, prompts: Sequence[Prompt], cold: Sent, top: Top) -> None:
        """Ask the same again: cached, beside others at the same time, at another temperature, under another picture."""
        again, cooler = self._ask(first), self._sender.one(self._request(first, temperature=0.7))
        # Another prefill is another thing that a server may refuse.
        others = [prompt for prompt in prompts if prompt.prefill != first.prefill] or [
            prompt for prompt in prompts if prompt != first
        ]
        together = [*others[:1], first]
        swapped = dataclasses.replace(first, picture=_another(first.picture, prompts)) if first.picture else None
        if swapped is not None:
            together.append(swapped)
        outcomes = dict(self._sender.many(len(together), lambda i: self._request(together[i])))
        beside = outcomes[together.index(first)]
        cold = self._colder(first, cold)
        pairs = [(cold, again), (cold, beside), (again, beside)]
        if swapped is not None:
            alone = self._ask(swapped)
            pairs.append((alone, outcomes[len(together) - 1]))
            self._sees(first, cold, again, alone)
        differences = [moved for one, two in pairs if (moved := self._apart(one, two)) is not None]
        noise = max(differences, default=None)
        limit = self._system.tolerance
        cached = ", then ".join(
            f"{'an unknown number' if n['n_cached'] is None else n['n_cached']} of {n['n_prompt']} prompt tokens cached"
            for n in (usage_of(sent.document) for sent in (cold, again, beside))
        )
        said = (
            "can't be compared: " + (again.failure.reason if again.failure else "no two tokens in common")
            if noise is None
            else f"moves the log-odds by up to {noise:.2g}"
        )
        self._prove(
            "cold_cached",
            limit is None or (noise is not None and noise <= limit),
            f"the same request again, and again beside others ({cached}), {said}",
            value=noise,
            limit=limit,
        )
        self._tempers(first, again, cooler, top)
        if others and outcomes[0].failure is not None:
            self._blame(others[0], outcomes[0])

    def _colder(self, first: Prompt, cold: Sent) -> Sent:
        """Return the first reading, or one that the server made without its cache where the first came from that.

        A server that has run a while may know the study's prompts from before, and then nothing cold would be compared.
        llama.cpp has the one field for it and vLLM the other.
        """
        usage = usage_of(cold.document)
        if usage["n_prompt"] is None or usage["n_cached"] is None or 2 * usage["n_cached"] <= usage["n_prompt"]:
            return cold
        fresh = {"cache_prompt": False, "cache_salt": str(time.time_ns())}
        sent = self._sender.one({**self._request(first), **fresh})
        n_cached = usage_of(sent.document)["n_cached"]
        return cold if sent.failure or n_cached is None or n_cached >= usage["n_cached"] else sent

    def _tempers(self, first: Prompt, again: Sent, cooler: Sent, top: Top) -> None:
        """Whether log-probabilities are those before or after the temperature (which must be 0 in readings)."""
        moved = moved_by(again, cooler)
        if moved is None:
            reason = cooler.failure.reason if cooler.failure else "no tokens in common"
            self._prove("temperature", True, f"readings at a temperature of 0.7 can't be compared: {reason}")
            return
        tolerated = max(_SCALED * (top.tokens[0].logprob - top.tokens[-1].logprob), _SAME)
        if moved <= tolerated:
            self._prove("temperature", True, f"a temperature of 0.7 moves no log-probability by more than {moved:.2g}")
            return
        plain = moved_by(again, self._sender.one(self._request(first, temperature=1.0)))
        passed = plain is not None and plain <= tolerated
        self._prove(
            "temperature",
            passed,
            f"a temperature of 0.7 moves the log-probabilities by up to {moved:.2g}"
            + (
                "; at 0, which readings ask for, they are those at 1, as they should be"
                if passed
                else ", and at 0 they are not those at 1: they are scaled, and no probabilities of the model; "
                "have the server return those before sampling"
            ),
        )

    def _sees(self, first: Prompt, cold: Sent, again: Sent, swapped: Sent) -> None:
        """Whether another picture gives another distribution, and a picture more tokens than none."""
        without = self._ask(dataclasses.replace(first, picture=None))
        moved = moved_by(cold, swapped)
        self._judge_picture(cold, without, differs=None if moved is None else moved > 1e-6)
        noise = moved_by(cold, again)
        if moved is not None and noise is not None and 1e-6 < moved <= noise:
            self._know("images", f"another picture moves log-probabilities by {moved:.2g}, no more than a repeat does")

    def _sees_in_replies(self, first: Prompt, prompts: Sequence[Prompt], cold: Sent) -> None:
        decoding = _SHORT
        swapped, without = (
            self._sender.one(self._body(dataclasses.replace(first, picture=picture), self.found, decoding=decoding))
            for picture in (_another(first.picture, prompts), None)
        )
        texts = [reply_of(sent.document, prefill="", fingerprint="", seconds=0.0) for sent in (cold, swapped)]
        differs = None if any(isinstance(text, Failure) for text in texts) else _text(texts[0]) != _text(texts[1])
        # Two short replies may well be the same; that they are is no sign that nothing was seen.
        self._judge_picture(cold, without, differs=differs or None)

    def _judge_picture(self, cold: Sent, without: Sent, *, differs: bool | None) -> None:
        with_, bare = usage_of(cold.document)["n_prompt"], usage_of(without.document)["n_prompt"]
        more = None if with_ is None or bare is None else with_ - bare
        seen: bool | None = True
        if more is not None and more <= 0:
            seen, words = False, f"the prompt has {with_} tokens with the picture and {bare} without: it was dropped"
        elif differs is False:
            seen, words = False, "two different pictures have exactly the same answer: the picture does not matter"
        elif more is None and differs is None:
            seen, words = None, "whether the picture is seen can't be told: no token counts, no different answers"
        else:
            words = "the picture" + (f" adds {more} tokens" if more else "") + (
                " and" if more and differs else ""
            ) + (" changes the answer" if differs else "")  # fmt: skip
        self.found = dataclasses.replace(self.found, images=seen)
        self._prove("images", seen is not False, words)

    def _continues(self) -> None:
        """Whether a started turn is continued, under the declared style or else the one that works."""
        styles = [self.found.style]
        if self._system.prefill_style == "auto":
            styles = list(dict.fromkeys([*styles, "trailing", "continue_final_message"]))
        bare, found = self._days(""), []
        for style in styles:
            self.found = dataclasses.replace(self.found, style=style)
            goes_on, words = self._goes_on(bare, self._days(_BEGUN))
            how = "as a trailing message" if style == "trailing" else "with continue_final_message"
            found.append(f"{how} is {words}")
            if goes_on:
                found = found[-1:]
                break
        else:
            # Answers without a prefill are the same under every style; the first one is what was declared.
            self.found = dataclasses.replace(self.found, style=styles[0])
            found[-1] += "; declare no prefill for this system, or ask a server that continues turns"
        is_refused = "prefill" in self._proofs
        self.found = dataclasses.replace(self.found, prefill=goes_on and not is_refused)
        self._prove("prefill", goes_on, f"a started turn sent {', and one sent '.join(found)}")

    def _goes_on(self, bare: Sent, begun: Sent) -> tuple[bool, str]:
        if begun.failure is not None:
            return False, f"refused: {begun.failure.reason}"
        reply = reply_of(begun.document, prefill="", fingerprint="", seconds=0.0)
        text = "" if isinstance(reply, Failure) else reply.text
        # Two tokens can't spell what has at least five: where it stands in the reply the server has put it there.
        echoes = text.startswith(_BEGUN)
        text = text.removeprefix(_BEGUN)
        twice = self._days(_BEGUN_TWICE)
        none, once, again = (usage_of(sent.document)["n_prompt"] for sent in (bare, begun, twice))
        extra = None if none is None or once is None or again is None else (once - none) - (again - once)
        self.found = dataclasses.replace(self.found, echoes=echoes)
        if none is not None and none == once:
            return False, "ignored: the prompt has as many tokens with it as without"
        if extra is not None and extra >= _NEW_TURN:
            return False, f"ignored: the reply begins a turn of its own, {extra} tokens of template further on"
        if text.startswith(_REST):
            return True, f"continued: {_BEGUN!r} by {text!r}"
        if echoes and extra is not None and abs(extra) < _NEW_TURN:
            return True, f"continued: no template stands between {_BEGUN!r} and {text!r}"
        return False, f"not continued: {_BEGUN!r} is followed by {text!r} and not by {_REST!r}"

    def _days(self, prefill: str) -> Sent:
        prompt = Prompt(_QUESTION, prefill=prefill)
        return self._sender.one(self._body(prompt, self.found, decoding=Decoding(max_tokens=2)))

    def _request(self, prompt: Prompt, *, temperature: float = 0.0) -> Mapping[str, Any]:
        if self._labels is None:
            return self._body(prompt, self.found, decoding=_SHORT)
        return self._body(
            prompt, self.found, n_top=self.found.n_top, decoding=Decoding(max_tokens=1, temperature=temperature)
        )

    def _ask(self, prompt: Prompt) -> Sent:
        return self._sender.one(self._request(prompt))

    def _reasons(self, sent: Sent) -> bool:
        """Whether the first position is reasoning and no answer."""
        top = top_of(sent.document)
        return "reasoning" in top.reason if isinstance(top, Failure) else opening(top)[1] >= _REASONS

    def _apart(self, one: Sent, two: Sent) -> float | None:
        return None if self._labels is None else log_odds_apart(one, two, self._labels)

    def _prove(
        self, check: str, passed: bool, statement: str, *, value: float | None = None, limit: float | None = None
    ) -> None:
        if (before := self._proofs.get(check)) is not None:
            passed, statement = passed and before.passed, f"{before.statement}; {statement}"
        self._proofs[check] = Proof(check, passed, statement, value, limit)
        self._know(check, statement)

    def _know(self, what: str, words: str) -> None:
        self.found = dataclasses.replace(self.found, notes={**self.found.notes, what: words})


def _text(reply: Any) -> str:
    return str(getattr(reply, "text", ""))


def _another(picture: Picture | None, prompts: Sequence[Prompt]) -> Picture:
    """Return another picture of the study, or an even grey one where it has none."""
    for prompt in prompts:
        if prompt.picture is not None and picture is not None and prompt.picture.sha256 != picture.sha256:
            return prompt.picture
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 64), (128, 128, 128)).save(file, "PNG")
    return Picture(file.getvalue(), "image/png")
