"""A prompt as text: the chat template's words around the study's, and how the system's own turn begins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from measurand.eliciting.prompt import Prompt, Turn
from measurand.eliciting.system import System
from measurand.result import MeasurandError

Message = dict[str, Any]

#: The template option that asks a model without a chat template in plain text.
PLAIN: Final = "plain"

#: What templates call the switch of reasoning.
_SWITCHES: Final = ("enable_thinking", "thinking")

#: Where reasoning begins and ends in a text, by model family.
REASONING: Final = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|channel|>analysis", "<|end|>"),
    ("<|channel>thought", "<channel|>"),
)
#: What tells that a template or a vocabulary knows reasoning at all.
_KNOWS_REASONING: Final = re.compile(r"think|thought|reasoning|<\|channel", re.IGNORECASE)
#: What a template prints around messages and no plain text holds: <…>, <|…|>, [INST], [/INST].
_MARKER: Final = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,20}\]")

#: What a list of parts looks like in a template that knows texts alone.
_PART: Final = "'type': 'text'"
#: What templates call to write the day's date.
_DATE: Final = "strftime_now"
#: Texts that are kept.
_MOST_WRITTEN: Final = 1024


@dataclass(frozen=True)
class Text:
    """A rendered text, and the part of it that begins the system's own turn."""

    text: str
    turn: str
    notes: tuple[str, ...] = ()


def open_reasoning(turn: str) -> str:
    """Return the marker of a reasoning block that begins in a text and does not end there, or a blank.

    Examples
    --------
    >>> open_reasoning("assistant: <think>"), open_reasoning("assistant: <think> </think> Answer:")
    ('<think>', '')
    """
    folded = turn.casefold()
    return next((start for start, end in REASONING if folded.rfind(start) > folded.rfind(end)), "")


def is_reasoning(marker: str) -> bool:
    """Return whether a marker begins or ends reasoning, which a prefill may close on purpose."""
    return any(marker.casefold() in pair for pair in REASONING)


class Template:
    """Writes prompts with one chat template, or plainly where that is asked for.

    Parameters
    ----------
    system : System
        The system's thinking and template options.
    tokenizer : tokenizer of transformers
        Runs the template.
    source : str
        The chat template; blank for none.
    parts : bool
        Whether messages are lists of parts (models that take pictures) instead of texts.
    placeholder : str
        What stands for a picture in plain text.
    """

    def __init__(self, system: System, tokenizer: Any, *, source: str, parts: bool, placeholder: str) -> None:
        self.source = source
        self.is_plain = bool(system.template_options.get(PLAIN, False))
        self._options = {name: value for name, value in system.template_options.items() if name != PLAIN}
        self._system = system
        self._tokenizer = tokenizer
        self._parts = parts
        self._placeholder = placeholder
        self._written: dict[tuple[Any, ...], Text] = {}
        if not source and not self.is_plain:
            raise MeasurandError(
                f"{system.model!r} has no chat template: it is a base model, or its template is missing; add the "
                f"file chat_template.jinja, or set template_options = {{ {PLAIN} = true }} to ask it in plain text"
            )
        wanted = [name for name in _SWITCHES if self._options.get(name)]
        if system.thinking == "off" and wanted:
            raise MeasurandError(
                f'system {system.name!r}: thinking is "off", but template_options sets {wanted[0]} = '
                f'{self._options[wanted[0]]!r}; drop that option or set thinking = "default"'
            )

    def write(self, prompt: Prompt) -> Text:
        """Return a prompt as text, the prefill at its end.

        Raises
        ------
        MeasurandError
            If the template fails, or leaves out a text that it was given.
        """
        # One question about many pictures is one text.
        key = (prompt.text, prompt.system, prompt.prefill, tuple(prompt.turns), prompt.picture is None)
        if key not in self._written:
            if len(self._written) >= _MOST_WRITTEN:
                self._written.clear()
            self._written[key] = self._write_plain(prompt) if self.is_plain else self._write_chat(prompt)
        return self._written[key]

    def _write_plain(self, prompt: Prompt) -> Text:
        lead = f"{prompt.system}\n\n" if prompt.system.strip() else ""
        dialogue = "".join(f"{turn.reply}\n{turn.note}\n" for turn in prompt.turns)
        head = f"{self._placeholder if prompt.picture else ''}{lead}{prompt.text}\n{dialogue}"
        return Text(head + prompt.prefill, prompt.prefill, ("plain text without a chat template",))

    def _write_chat(self, prompt: Prompt) -> Text:
        messages = self._messages(prompt)
        head = self._run(messages, generation=False)
        asked = self._run(messages, generation=True)
        self._check_whole(prompt, asked)
        start, notes = asked, []
        opening = self._opening(messages, prompt)
        if opening is None:
            if prompt.prefill:
                notes.append("the template can't continue a started turn; the prefill follows its generation prompt")
        elif opening != asked and (prompt.prefill or asked == head):
            start, note = _beginning(asked, opening, is_header=not prompt.prefill)
            notes += [note] if note else []
        if _DATE in self.source:
            notes.append(
                "the template may write the day's date, which makes another prompt tomorrow; set it by an option"
            )
        last = prompt.turns[-1].note if prompt.turns else prompt.text
        until = len(head) if start.startswith(head) else start.rfind(last.strip()) + len(last.strip())
        return Text(start + prompt.prefill, start[until:] + prompt.prefill, tuple(notes))

    def _messages(self, prompt: Prompt) -> list[Message]:
        messages = [self._message("system", prompt.system)] if prompt.system.strip() else []
        messages.append(self._message("user", prompt.text, has_picture=prompt.picture is not None))
        for turn in prompt.turns:
            messages += [self._message("assistant", turn.reply), self._message("user", turn.note)]
        return messages

    def _message(self, role: str, text: str, *, has_picture: bool = False) -> Message:
        if not self._parts:
            return {"role": role, "content": text}
        picture = [{"type": "image"}] if has_picture else []
        return {"role": role, "content": [*picture, {"type": "text", "text": text}]}

    def _opening(self, messages: Sequence[Message], prompt: Prompt) -> str | None:
        """Return all that the template writes before the words of the system's own turn; None if it won't."""
        said = "measurand"
        while any(said in text for text in _texts(prompt)):
            said += "x"
        try:
            written = self._run([*messages, self._message("assistant", said)], generation=False)
        except MeasurandError:
            return None
        return written[: written.rindex(said)] if said in written else None

    def _run(self, messages: Sequence[Message], *, generation: bool, thinking: bool | None = None) -> str:
        import jinja2

        off = {"off": False, "default": None}[self._system.thinking] if thinking is None else thinking
        switches = {} if off is None else dict.fromkeys(_SWITCHES, off)
        options = switches | self._options if thinking is None else self._options | switches
        try:
            return str(
                self._tokenizer.apply_chat_template(
                    list(messages),
                    chat_template=self.source,
                    add_generation_prompt=generation,
                    tokenize=False,
                    **options,
                )
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError) as error:
            hint = (
                "it may take no system message: move its text into the instructions"
                if messages[0]["role"] == "system"
                else "look at its roles and options"
            )
            raise MeasurandError(f"the chat template of {self._system.model!r} fails: {error}; {hint}") from error

    def _check_whole(self, prompt: Prompt, text: str) -> None:
        if self._parts and _PART in text and not any(_PART in given for given in _texts(prompt)):
            raise MeasurandError(
                f"the chat template of {self._system.model!r} writes messages as lists of parts, {_PART!r} and all; it "
                "is one for texts alone: give the model the template of its processor"
            )
        given = [("system message", prompt.system), ("question", prompt.text)]
        given += [("note after a failed reply", turn.note) for turn in prompt.turns]
        for what, words in given:
            if words.strip() not in text:
                raise MeasurandError(
                    f"the chat template of {self._system.model!r} leaves out or changes the {what} "
                    f"{words.strip()[:60]!r}; move a system message into the instructions, or mend the template"
                )

    @cached_property
    def thinking(self) -> str:
        """Whether reasoning is off, in words, as two renderings show it."""
        if self.is_plain:
            return "off: plain text without a template"
        if self._system.thinking == "default":
            return "as the template has it"
        messages = [self._message("user", "Is this so?")]
        if self._run(messages, generation=True) != self._run(messages, generation=True, thinking=True):
            return "off: the rendered text differs from the one with reasoning"
        if _KNOWS_REASONING.search(self.source):
            return "not verified: the template mentions reasoning, but its text is the same with reasoning on and off"
        if marks := [mark for mark in _added(self._tokenizer) if _KNOWS_REASONING.search(mark)]:
            return f"not verified: the template has no switch, but the vocabulary has {marks[0]!r}"
        return "off: neither the template nor the vocabulary knows reasoning"

    @cached_property
    def markers(self) -> frozenset[str]:
        """What the template itself prints around messages, as far as no plain text would hold it."""
        if self.is_plain:
            return frozenset()
        spoken = Prompt("question", turns=[Turn("reply", "note")])
        return frozenset(_MARKER.findall(self._run(self._messages(spoken), generation=True)))


def _beginning(asked: str, opening: str, *, is_header: bool) -> tuple[str, str]:
    """Choose how the system's own turn begins: as a generation prompt has it, or as a turn that was spoken has it.

    A spoken turn shows what the template owns between its header and the words: the space behind ``[/INST]``, a final
    channel, an empty reasoning block. A generation prompt may close a reasoning block that spoken turns leave out.
    """
    if is_header and not (opening.startswith(asked) and opening[len(asked) :].strip()):
        return asked, ""
    if opening.startswith(asked):
        return opening, f"the template writes {opening[len(asked) :]!r} before a turn's words, and so does this prompt"
    if opening.rstrip() == asked.rstrip():
        return opening, "the template's blanks before a turn's words are used, not those of its generation prompt"
    if asked.startswith(opening):
        return asked, f"the template's own continuation would leave out {asked[len(opening) :]!r}"
    return asked, "the template's own continuation begins the turn in another way than its generation prompt"


def _texts(prompt: Prompt) -> tuple[str, ...]:
    turns = (text for turn in prompt.turns for text in turn)
    return (prompt.system, prompt.shared, prompt.question, prompt.prefill, *turns)


def _added(tokenizer: Any) -> Mapping[str, bool]:
    """Return the tokens that were added to a vocabulary, and whether each is special."""
    return {token.content: bool(token.special) for token in tokenizer.added_tokens_decoder.values()}
