"""What is asked of one system about one item: readouts, phrasings, prefills, criteria, repeats, in a fixed order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from measurand.data.scale import Scale
from measurand.eliciting.controls import controlled, picture_of
from measurand.eliciting.declared import (
    Choice,
    Design,
    Generative,
    Graded,
    Item,
    Phrasing,
    Readout,
    Retry,
    ScaleReading,
    Text,
    Verification,
)
from measurand.eliciting.engine import Decoding
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt, Turn
from measurand.eliciting.store import key_of
from measurand.eliciting.wordings import fill
from measurand.result import MeasurandError

#: Versions of how an answer is read. A change that changes numbers raises it, and earlier answers are asked again.
READING: Final = "reading/1"
REPLY: Final = "reply/1"

#: What the name of a phrasing goes on with where its options are listed in another order.
ROTATED: Final = " (rotated by {})"

_TEXT: Final = "{text}"


@dataclass(frozen=True)
class Block:
    """An item as it is shown in one arm.

    Parameters
    ----------
    item : Item
        Whose answers they count as.
    shown : Item
        What is shown: the item itself, or what a control puts in its place.
    control : str
        The control; blank for the item itself.
    """

    item: Item
    shown: Item
    control: str = ""


@dataclass(frozen=True)
class Request:
    """One question to one system, before it is known how often it must be asked.

    Parameters
    ----------
    readout : Readout
        How the answer is taken.
    item, control, phrasing, prefill, criterion : str
        What tells the request from others of its system; `criterion` is blank where one request is about all.
    repeat : int
        0 for the first time, 1, 2, … for the very same request again.
    prompt : Prompt
        What is asked.
    labels : Labels or None
        The answers that a reading looks for; None for replies.
    negated : bool
        Whether a yes says that the criterion is absent.
    """

    readout: Readout
    item: str
    control: str
    phrasing: str
    prefill: str
    criterion: str
    repeat: int
    prompt: Prompt
    labels: Labels | None = None
    negated: bool = False

    def key(self, identity: str, *, attempt: int = 1, decoding: Decoding | None = None) -> str:
        """Return the address of the answer: a hash of everything that determines it.

        Parameters
        ----------
        identity : str
            Digest of the engine's identity.
        attempt : int
            Which attempt it is.
        decoding : Decoding or None
            How the reply is generated; None for readings.
        """
        prompt = self.prompt
        parts: dict[str, Any] = {
            "identity": identity,
            "version": READING if decoding is None else REPLY,
            "messages": {
                "system": prompt.system,
                "shared": prompt.shared,
                "question": prompt.question,
                "prefill": prompt.prefill,
                "turns": [list(turn) for turn in prompt.turns],
            },
            "picture": prompt.picture.sha256 if prompt.picture else None,
            "repeat": self.repeat,
            "attempt": attempt,
        }
        if self.labels is not None:
            # As a list: the order of labels is what tells a stored reading's numbers apart.
            words = [[label, *words] for label, words in self.labels.words.items()]
            parts["labels"] = {"words": words, "are_numerals": self.labels.are_numerals}
        if decoding is not None:
            parts["decoding"] = decoding_values(decoding)
        return key_of(parts)


def decoding_values(decoding: Decoding) -> dict[str, Any]:
    """Return a decoding as JSON values."""
    return {
        "max_tokens": decoding.max_tokens,
        "temperature": decoding.temperature,
        "top_p": decoding.top_p,
        "seed": decoding.seed,
        "stop": list(decoding.stop),
        "json_schema": None if decoding.json_schema is None else dict(decoding.json_schema),
    }


def blocks(design: Design, *, limit: int | None = None) -> list[Block]:
    """Return the items as they are shown: all of them plainly, then those of each control.

    Parameters
    ----------
    design : Design
        The study.
    limit : int or None
        Only the first so many items; None for all.
    """
    items = list(design.items)[:limit]
    out = [Block(item, item) for item in items]
    for control in design.controls:
        pairs = controlled(items, control, n=design.control_items, seed=design.seed)
        out += [Block(item, shown, control) for item, shown in pairs]
    return out


def requests(design: Design, block: Block) -> Iterator[Request]:
    """Give the requests about one item in the order of the answers table."""
    picture = picture_of(block.shown)
    for readout in design.readouts:
        yield from _of_readout(design, block, readout, picture)


def _of_readout(design: Design, block: Block, readout: Readout, picture: Picture | None) -> Iterator[Request]:
    prefills = [readout.prefill] if isinstance(readout, Generative | Text) else list(readout.prefills)
    for phrasing in readout.phrasings:
        for variant in _variants(design, readout, phrasing):
            shared = _shared(readout.instructions, block.shown.text, of_question=_TEXT in phrasing.question)
            question = fill(
                phrasing,
                criterion=variant.criterion,
                criteria=design.criteria,
                scale=design.scale if isinstance(readout, Generative) else _scale_of(design, variant.criterion),
                options=variant.options,
                example=readout.rule.example if isinstance(readout, Generative) else (),
                text=block.shown.text,
            )
            for prefill in prefills:
                prompt = Prompt(question, shared, picture, readout.message, prefill)
                for repeat in range(design.repeats):
                    yield Request(
                        readout,
                        block.item.name,
                        block.control,
                        variant.phrasing,
                        prefill,
                        variant.criterion,
                        repeat,
                        prompt,
                        variant.labels,
                        phrasing.negated,
                    )


@dataclass(frozen=True)
class _Variant:
    phrasing: str
    criterion: str = ""
    options: Sequence[str] = ()
    labels: Labels | None = None


def _variants(design: Design, readout: Readout, phrasing: Phrasing) -> Iterator[_Variant]:
    """Give what one phrasing is asked about: each criterion, each order of the options, or the item as a whole."""
    if isinstance(readout, Verification):
        labels = Labels({"yes": tuple(readout.yes), "no": tuple(readout.no)})
        for criterion in design.criteria:
            yield _Variant(phrasing.name, criterion, labels=labels)
    elif isinstance(readout, ScaleReading):
        for criterion in design.criteria:
            yield _Variant(phrasing.name, criterion, labels=numerals(scale_of(design, criterion)))
    elif isinstance(readout, Choice):
        names = list(readout.options)
        labels = Labels({name: tuple(words) for name, words in readout.options.items()})
        for turn in range(readout.rotations):
            order = names[turn:] + names[:turn]
            yield _Variant(phrasing.name + ROTATED.format(turn) * (turn > 0), options=order, labels=labels)
    else:
        yield _Variant(phrasing.name)


def scale_of(design: Design, criterion: str) -> Scale:
    """Return the scale of a criterion.

    Raises
    ------
    MeasurandError
        If none is declared.
    """
    found = _scale_of(design, criterion)
    if found is None:
        raise MeasurandError(f"criterion {criterion!r} has no scale; declare one: [scale] low = 0, high = 7, step = 1")
    return found


def _scale_of(design: Design, criterion: str) -> Scale | None:
    return design.scale.get(criterion) or design.scale.get("")


def numerals(scale: Scale) -> Labels:
    """Return the levels of a scale as labels.

    Raises
    ------
    MeasurandError
        If the scale has no levels, or levels that are no whole numbers.

    Examples
    --------
    >>> numerals(Scale(1, 3, step=1)).names
    ('1', '2', '3')
    """
    levels = scale.levels
    if not levels or any(level != int(level) or level < 0 for level in levels):
        raise MeasurandError(
            f"the readout scale needs a scale of whole numbers from 0 up, not {scale.describe()}; its numerals are read"
        )
    return Labels({f"{int(level)}": (f"{int(level)}",) for level in levels}, are_numerals=True)


def _shared(instructions: str, text: str, *, of_question: bool) -> str:
    """Return what all questions of a readout about one item have in common."""
    if _TEXT in instructions:
        return instructions.replace(_TEXT, text)
    return "\n\n".join(part for part in (instructions, "" if of_question else text) if part)


def is_graded(readout: Readout) -> bool:
    """Whether a readout reads the next-token distribution."""
    return isinstance(readout, Graded)


def attempt_of(request: Request, retry: Retry, replies: Sequence[str]) -> Request:
    """Return a request as it is sent after failed replies; the request itself where there are none."""
    if not replies or not retry.note:
        return request
    if retry.shows_reply:
        # What was said in the failed turn is its start, which was said for the system, and what it added.
        start = request.prompt.prefill
        prompt = replace(request.prompt, turns=tuple(Turn(start + reply, retry.note) for reply in replies))
    else:
        prompt = replace(request.prompt, question=f"{request.prompt.question}\n\n{retry.note}")
    return replace(request, prompt=prompt)


def decoding_of(request: Request, *, attempt: int, design: Design, takes_seed: bool) -> Decoding:
    """Return how one attempt at a reply is generated: sampling gets a seed of its own where the engine takes one.

    An engine that must have a seed to be reproducible gets one drawn from the study's; a server is sent a seed only if
    the study declares one, and then each request its own.
    """
    readout = request.readout
    if not isinstance(readout, Generative | Text):
        raise MeasurandError(f"readout {readout.name} generates no reply")
    decoding = readout.decoding
    if not decoding.temperature and decoding.temperature is not None:
        return decoding
    if decoding.seed is None and not takes_seed:
        return decoding
    named = (
        design.seed,
        decoding.seed,
        request.item,
        request.control,
        readout.name,
        request.phrasing,
        request.repeat,
        attempt,
    )
    digest = hashlib.sha256("\x1f".join(map(str, named)).encode()).digest()
    return replace(decoding, seed=int.from_bytes(digest[:4]) & 0x7FFFFFFF)


def protocol_of(request: Request, *, design: Design, thinking: str) -> str:
    """Return the name of what was declared for a request, item and criterion aside: twelve digits of a hash.

    Rows whose protocols differ are never pooled.
    """
    readout = request.readout
    # Names of rotated options go on behind the phrasing's; of several that fit, the longest is the whole of it.
    named = [one for one in readout.phrasings if request.phrasing.startswith(one.name)]
    wording = max(named, key=lambda one: len(one.name)).question if named else ""
    declared: dict[str, Any] = {
        "readout": type(readout).__name__,
        "version": READING if is_graded(readout) else REPLY,
        "wording": wording,
        "phrasing": request.phrasing,
        "negated": request.negated,
        "prefill": request.prefill,
        "instructions": readout.instructions,
        "message": readout.message,
        "thinking": thinking,
    }
    if isinstance(readout, Generative | ScaleReading) or "{scale}" in wording:
        declared["scale"] = {name: scale.describe() for name, scale in design.scale.items()}
    if isinstance(readout, Generative) or "{criteria}" in wording:
        # All of them stand in one prompt.
        declared["criteria"] = list(design.criteria)
    if isinstance(readout, Generative | Text):
        declared |= {
            "decoding": decoding_values(readout.decoding),
            "rule": {name: _plain(value) for name, value in vars(readout.rule).items()},
            "retry": {name: _plain(value) for name, value in vars(readout.retry).items()},
        }
    elif isinstance(readout, Verification):
        declared |= {"yes": list(readout.yes), "no": list(readout.no)}
    elif isinstance(readout, Choice):
        # As a list: in another order they are another question.
        declared |= {"options": [[name, *words] for name, words in readout.options.items()]}
    return key_of(declared)[:12]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
