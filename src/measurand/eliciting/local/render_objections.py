"""Texts of a study that a model would read as markers of its chat, and not as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from measurand.eliciting.local.render_template import is_reasoning
from measurand.eliciting.prompt import Prompt


def marker_objections(prompts: Sequence[Prompt], markers: Iterable[str], *, model: str) -> list[str]:
    """Return a sentence for each text that holds a marker, the same text and marker once.

    A prefill may close a reasoning block on purpose, so reasoning markers are no objection there.

    Examples
    --------
    >>> marker_objections([Prompt("Is <s> joy?")], ["<s>", "</s>"], model="small")[0].split(", which")[0]
    "request 1: the question holds '<s>'"
    """
    known = sorted({marker for marker in markers if marker})
    found: dict[tuple[str, str], str] = {}
    for place, prompt in enumerate(prompts, 1):
        for what, text in _named_texts(prompt):
            for marker in known:
                if marker in text and (text, marker) not in found and not (what == "prefill" and is_reasoning(marker)):
                    found[text, marker] = (
                        f"request {place}: the {what} holds {marker!r}, which {model!r} would read as a marker and "
                        f"not as text ({_around(text, marker)!r}); write it in another way"
                    )
    return list(found.values())


def _named_texts(prompt: Prompt) -> Iterator[tuple[str, str]]:
    yield from (("system message", prompt.system), ("shared text", prompt.shared))
    yield from (("question", prompt.question), ("prefill", prompt.prefill))
    for turn in prompt.turns:
        yield from (("failed reply", turn.reply), ("note after a failed reply", turn.note))


def _around(text: str, marker: str) -> str:
    at = text.index(marker)
    return text[max(at - 20, 0) : at + len(marker) + 20]
