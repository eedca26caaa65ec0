"""Reads a chat completion: what its first position says about the labels, or the reply that it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from measurand.eliciting.engine import N_OTHERS, Failure, Finish, Reading, Reply
from measurand.eliciting.labels import MARKS, OTHER_MARKS, Labels
from measurand.stats.top_k import bounds

#: Log-probabilities from here down say "very unlikely" and are no numbers: servers clamp to -9999.
_FLOOR: Final = -9990.0
#: Sum of probabilities above 1 that is still rounding: llama.cpp's 49,152 sum to 1.0001.
_EXCESS: Final = 1e-3
#: What may stand directly behind a word without making it another word, as single tokens have it.


#: What stands for bytes that are no character by themselves.
_BROKEN: Final = "\ufffd"


class Token(NamedTuple):
    """One of the likeliest tokens: its text, its log-probability in nats, its id and bytes where they are told."""

    text: str
    logprob: float
    id: int | None = None
    raw: bytes = b""

    @property
    def name(self) -> str:
        """The text, or where it is blank what else names the token."""
        return self.text or ("(no text)" if self.id is None else f"(token {self.id})")


class Top(NamedTuple):
    """The likeliest tokens at the first position, largest first.

    Parameters
    ----------
    tokens : list of Token
        All that came with a number.
    n_returned : int
        How many came, those at the floor counted.
    is_sorted : bool
        Whether they came with the largest first.
    n_repeated : int
        How many were the same token once more: the same id; the same text with the same number, where there are no ids.
    rounding : float
        Largest error of the log-probabilities, as far as their decimals show.
    """

    tokens: list[Token]
    n_returned: int
    is_sorted: bool
    n_repeated: int
    rounding: float

    @property
    def has_ids(self) -> bool:
        """Whether tokens are told apart by more than their text."""
        return all(token.id is not None for token in self.tokens)


def top_of(document: Mapping[str, Any]) -> Top | Failure:
    """Return the likeliest tokens at the first position of a completion: there alone, whatever stands there.

    A position further on would answer another question, and a search for one that suits would choose its own answer.
    """
    choice = _choice(document)
    if isinstance(choice, Failure):
        return choice
    if choice.get("finish_reason") == "content_filter":
        return Failure("refused: the server's content filter stopped the reply")
    message = _mapping(choice.get("message"))
    if _text(message.get("reasoning_content") or message.get("reasoning")).strip():
        return Failure("the reply begins with reasoning, so that its first position is no answer; turn reasoning off")
    logprobs = choice.get("logprobs")
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    if not isinstance(content, list) or not content:
        what = "null" if logprobs is None or content is None else "empty"
        return Failure(f"the server gave no log-probabilities (logprobs: {what}); readings need them")
    entries = _mapping(content[0]).get("top_logprobs")
    if not isinstance(entries, list) or not entries:
        return Failure("the server gave the log-probability of its own token alone, not those of the likeliest ones")
    try:
        given = [_token(entry) for entry in entries]
    except (KeyError, TypeError, ValueError):
        return Failure("the log-probabilities have an unknown form (no token, or no number)")
    return _checked(given)


def _checked(given: Sequence[Token]) -> Top | Failure:
    if wrong := [token for token in given if math.isnan(token.logprob) or token.logprob > 1e-6]:
        return Failure(f"the log-probability of {wrong[0].name!r} is {wrong[0].logprob:g}, which none can be")
    numbers = [token for token in given if token.logprob > _FLOOR]
    if not numbers:
        return Failure("all log-probabilities are at the server's floor, so that they say nothing")
    once = {(token.id if token.id is not None else (token.text, token.logprob)): token for token in numbers}
    tokens = sorted(once.values(), key=lambda token: -token.logprob)
    rounding = _rounding(tokens)
    total = math.fsum(math.exp(token.logprob - rounding) for token in tokens)
    if total > 1 + _EXCESS:
        return Failure(f"the probabilities of the likeliest tokens sum to {total:.4f}, above 1: no distribution")
    falls = all(a.logprob >= b.logprob for a, b in itertools.pairwise(numbers))
    return Top(tokens, len(given), falls, len(numbers) - len(once), rounding)


def reading_of(
    document: Mapping[str, Any], labels: Labels, *, n_asked: int, fingerprint: str, seconds: float
) -> Reading | Failure:
    """Return what a completion's first position says about the labels.

    Parameters
    ----------
    document : mapping
        The response.
    labels : Labels
        The answers looked for.
    n_asked : int
        How many of the likeliest tokens were asked for.
    fingerprint : str
        The request's.
    seconds : float
        Time that it took.

    Returns
    -------
    Reading or Failure
        Log-bounds for each label; a failure in words where there is nothing to read, and never a number for it.

    Notes
    -----
    A token counts for a label if its text spells the label in whole. A text that begins a longer spelling (``y`` of
    *yes*, ``1`` of 10) may be an answer, and counts to the upper bound alone; so does a label's own spelling where
    another label's begins with it. Two tokens of one text are two tokens and add up. Where ids are missing and
    fewer came than asked, the list may be keyed by text, so that a shown text can hide a likelier token of the same
    text; the same text twice with the same number may be one token or two. Then no more is known of the upper bound
    of its label than what all shown tokens leave over.

    References
    ----------
    OpenAI, Chat Completions API: `logprobs.content[].top_logprobs`, "the number of entries may be fewer than the
    requested"; -9999.0 for a token that is very unlikely.

    Examples
    --------
    >>> top = [{"token": " yes", "logprob": -0.3567}, {"token": " no", "logprob": -1.3863}]
    >>> choice = {"message": {"content": " yes"}, "logprobs": {"content": [{"top_logprobs": top}]}}
    >>> labels = Labels({"yes": ("yes",), "no": ("no",)})
    >>> reading = reading_of({"choices": [choice]}, labels, n_asked=2, fingerprint="", seconds=0.0)
    >>> [round(math.exp(value), 2) for value in (*reading.low, *reading.high)]
    [0.7, 0.25, 0.75, 0.3]
    """
    top = top_of(document)
    if isinstance(top, Failure):
        return top
    tokens, names = top.tokens, labels.names
    owner = [labels.of(token.text) for token in tokens]
    begun = [_begun(token, labels) for token in tokens]
    whole = np.array([[own == name and not start - {name} for own, start in zip(owner, begun, strict=True)]
                      for name in names])  # fmt: skip
    part = np.array([[own == name or name in start for own, start in zip(owner, begun, strict=True)]
                     for name in names])  # fmt: skip
    hides = not top.has_ids and (top.n_returned < n_asked or top.n_repeated > 0)
    found = bounds(
        np.exp([token.logprob for token in tokens]),
        whole,
        part,
        np.maximum([n_variants(labels, name) for name in names] - part.sum(axis=1), 0),
        n_top=n_asked,
        rounding=top.rounding,
        lost=np.asarray(part.any(axis=1)) if hides else None,
    )
    others = [(token.name, math.exp(token.logprob)) for token, own in zip(tokens, owner, strict=True) if not own]
    usage = usage_of(document)
    with np.errstate(divide="ignore"):
        low, high = np.log(found.low).tolist(), np.log(found.high).tolist()
    return Reading(
        low=low,
        high=high,
        mass_high=found.mass_high,
        others=others[:N_OTHERS],
        top=tokens[0].name,
        fingerprint=fingerprint,
        n_prompt=usage["n_prompt"],
        n_cached=usage["n_cached"],
        n_completion=usage["n_completion"],
        seconds=seconds,
    )


def n_variants(labels: Labels, label: str) -> int:
    """Return at most how many tokens of a vocabulary are an answer with this label, or the beginning of one.

    Without a tokenizer tokens can't be counted, but texts can: every spelling of `Labels.forms` (four cases, with and
    without a leading space), each alone and with one mark of punctuation behind it (none behind numerals), and every
    proper beginning of a spelling, which would be the first of several tokens. A vocabulary has one token for a text,
    so that this is an upper bound as long as no token spells the label otherwise: in mixed case (``yEs``), with a line
    break or two spaces in front, or with several marks behind. Such a token is counted where it is shown; where it is
    not, it is assumed not to exist among the unseen ones, all of which have less than the least of the shown ones.

    Examples
    --------
    >>> n_variants(Labels({"3": ("3",)}, are_numerals=True), "3")  # "3", " 3", and the space that may begin the latter
    3
    """
    forms = labels.forms(label)
    # Marks of other scripts behind words of ASCII are counted where they are shown.
    marks = ["", *MARKS, *("" if all(form.isascii() for form in forms) else OTHER_MARKS)]
    if labels.are_numerals:
        marks = [""]
    texts = {form + mark for form in forms for mark in marks}
    return len(texts | {form[:length] for form in forms for length in range(1, len(form))})


def reply_of(
    document: Mapping[str, Any], *, prefill: str, fingerprint: str, seconds: float
) -> Reply | Failure:  # fmt: skip
    """Return the reply that a completion holds.

    Parameters
    ----------
    document : mapping
        The response.
    prefill : str
        What the server repeats in front of the reply and is no part of it; blank where it repeats nothing.
    fingerprint, seconds
        As in `Reply`.
    """
    choice = _choice(document)
    if isinstance(choice, Failure):
        return choice
    message = _mapping(choice.get("message"))
    content, refusal = _text(message.get("content")), _text(message.get("refusal"))
    finish: Finish = "stop"
    if choice.get("finish_reason") == "content_filter" or (refusal and not content):
        finish = "refused"
    elif choice.get("finish_reason") == "length":
        finish = "length"
    usage = usage_of(document)
    return Reply(
        text=(content or refusal).removeprefix(prefill),
        finish=finish,
        fingerprint=fingerprint,
        n_prompt=usage["n_prompt"],
        n_cached=usage["n_cached"],
        n_completion=usage["n_completion"],
        n_reasoning=usage["n_reasoning"],
        seconds=seconds,
        reasoning=_text(message.get("reasoning_content") or message.get("reasoning")),
    )


def usage_of(document: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the tokens that a response reports; None for what it does not say."""
    usage = _mapping(document.get("usage"))
    prompt, completion = (_mapping(usage.get(f"{what}_tokens_details")) for what in ("prompt", "completion"))
    return {
        "n_prompt": _count(usage.get("prompt_tokens")),
        "n_cached": _count(prompt.get("cached_tokens")),
        "n_completion": _count(usage.get("completion_tokens")),
        "n_reasoning": _count(completion.get("reasoning_tokens")),
    }


def _begun(token: Token, labels: Labels) -> set[str]:
    """Labels of which a spelling goes on where this token ends, in the middle of a character perhaps."""
    if _BROKEN in token.text:
        # Without its bytes a broken token may begin whatever is not ASCII.
        start, raw = token.text.split(_BROKEN)[0], token.raw
        return {
            name
            for name in labels.names
            for form in labels.forms(name)
            if (form.encode().startswith(raw) if raw else form.startswith(start) and not form[len(start) :].isascii())
        }
    start = token.text.casefold()
    return {
        name
        for name in labels.names
        for form in labels.forms(name)
        if start and form.casefold() != start and form.casefold().startswith(start)
    }


def _rounding(tokens: Sequence[Token]) -> float:
    """Half a unit of the last decimal that the log-probabilities have; numbers in full precision have many."""
    places = max(len(np.format_float_positional(token.logprob, trim="-").partition(".")[2]) for token in tokens)
    return float(0.5 * 10.0**-places) if places < 7 and len(tokens) > 1 else 0.0


def _token(entry: Mapping[str, Any]) -> Token:
    raw, number = entry.get("bytes"), entry["logprob"]
    # The bytes are what the token is; its text may have lost a leading space or half a character on the way.
    text = bytes(raw).decode(errors="replace") if isinstance(raw, list) and raw else str(entry["token"])
    if isinstance(number, bool):
        raise TypeError
    return Token(text, float(number), _count(entry.get("id")), bytes(raw) if isinstance(raw, list) else b"")


def _choice(document: Mapping[str, Any]) -> Mapping[str, Any] | Failure:
    choices = document.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return choices[0]
    return Failure("the response holds no choice: the server is no OpenAI-compatible one, or it failed silently")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
