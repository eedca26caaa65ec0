"""Prompts as a local model reads them: rendered by its own template, tokenised once, proved before they are used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from measurand.eliciting.local.render_identity import bos_handling, processor_identity, sha256, tokenizer_identity
from measurand.eliciting.local.render_objections import marker_objections
from measurand.eliciting.local.render_pictures import Pictures, Processed
from measurand.eliciting.local.render_template import Template, open_reasoning
from measurand.eliciting.local.render_tokens import Ids, Tokens
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System
from measurand.result import MeasurandError


@dataclass(frozen=True)
class Rendered:
    """A prompt as token ids, and whatever else the model takes.

    Parameters
    ----------
    ids : tuple of int
        All tokens of the prompt, the picture's placeholders among them.
    text : str
        The rendered text with the prefill, one placeholder for each picture.
    tail : str
        The end of `text` that decides which tokens may follow: an answer set that is closed behind it holds behind
        every prompt of the same tail.
    fingerprint : str
        SHA-256 of the ids and of the picture's SHA-256.
    inputs : mapping of str to tensor
        The processor's other outputs (pixel_values, image_grid_thw, token_type_ids, mm_token_type_ids, …) without
        attention_mask, which is 1 everywhere. Prompts with one picture share these tensors: they are never written to.
    along : tuple of str
        Names of those `inputs` that hold a value for each token, shape (1, n).
    spans : tuple of (int, int)
        Half-open ranges of `ids` that hold a picture, from its first to its last placeholder.
    notes : tuple of str
        What a reader should know: a turn that begins in another way than a generation prompt, a line end cut off.
    """

    ids: Ids
    text: str
    tail: str
    fingerprint: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    along: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def n_pictures(self) -> int:
        """How many pictures the prompt holds."""
        return len(self.spans)


class Renderer:
    """Renders the prompts of one system with the model's own tokenizer or processor; loads no weights.

    Parameters
    ----------
    system : System
        `model`, `revision` and `gguf` say where the tokenizer lies; `thinking` and `template_options` go to the
        template. The option ``plain = true`` asks a base model in plain text: `shared`, a blank line, `question`, a
        line end, and the prefill.

    Raises
    ------
    MeasurandError
        Where first used: if the extra is not installed, nothing can be loaded, or there is no chat template.
    """

    def __init__(self, system: System) -> None:
        self.system = system

    @cached_property
    def processor(self) -> Any:
        """The processor of transformers; None for a model that takes no pictures."""
        transformers = transformers_library()
        if self.system.gguf or not self._has_processor_files(transformers):
            return None
        processor = self._load(transformers.AutoProcessor)
        has_both = hasattr(processor, "image_processor") and hasattr(processor, "tokenizer")
        return processor if has_both else None

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self.processor.tokenizer if self.processor else self._load(transformers_library().AutoTokenizer)

    @property
    def _where(self) -> dict[str, Any]:
        is_folder = Path(self.system.model).is_dir()
        return {"local_files_only": is_folder} | ({"revision": self.system.revision} if self.system.revision else {})

    def _has_processor_files(self, transformers: Any) -> bool:
        names = ("processor_config.json", "preprocessor_config.json")
        if (folder := Path(self.system.model)).is_dir():
            return any((folder / name).is_file() for name in names)
        quiet = {
            "_raise_exceptions_for_gated_repo": False,
            "_raise_exceptions_for_missing_entries": False,
            "_raise_exceptions_for_connection_errors": False,
        }
        find = transformers.utils.cached_file
        return any(find(self.system.model, name, **self._where, **quiet) for name in names)

    def _load(self, auto_class: Any) -> Any:
        gguf = {"gguf_file": self.system.gguf} if self.system.gguf else {}
        try:
            # Without an answer here, a model with code of its own would be asked about on the terminal.
            return auto_class.from_pretrained(self.system.model, trust_remote_code=False, **self._where, **gguf)
        except (OSError, ValueError, ImportError, KeyError, AttributeError, RuntimeError) as error:
            of_hub = "" if Path(self.system.model).is_dir() else "there is no such folder, and of the hub's: "
            raise MeasurandError(
                f"system {self.system.name!r}: {auto_class.__name__} of transformers can't load {self.system.model!r}: "
                f"{of_hub}{error}; give a folder or hub name that holds the tokenizer's files"
            ) from error

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self.tokenizer, self.system.model)

    @cached_property
    def _pictures(self) -> Pictures | None:
        return Pictures(self.processor, self._tokens, self.system.model) if self.processor else None

    @cached_property
    def _template(self) -> Template:
        placeholder = self._pictures.placeholder if self._pictures else ""
        parts = self._pictures is not None
        return Template(self.system, self.tokenizer, source=self._chat_template, parts=parts, placeholder=placeholder)

    @cached_property
    def _chat_template(self) -> str:
        for owner in (self.processor, self.tokenizer):
            found = getattr(owner, "chat_template", None)
            if isinstance(found, dict):
                found = found.get("default", "")
            if found:
                return str(found)
        return ""

    @property
    def thinking(self) -> str:
        """Whether reasoning is off, in words; begins with ``not verified`` where the rendered text does not show it."""
        return self._template.thinking

    def render(self, prompt: Prompt, *, may_reason: bool = False) -> Rendered:
        """Return a prompt as token ids, proved.

        Parameters
        ----------
        prompt : Prompt
            What is asked.
        may_reason : bool
            Whether the system's turn may begin in an open reasoning block: for replies, never for readings.

        Raises
        ------
        MeasurandError
            If the template fails or drops a text, the prefill is not the end of the prompt to the last blank, the text
            does not begin with one BOS where it has one, there is not one run of placeholders for each picture, a
            reasoning block is open, or the prompt was cut.

        Notes
        -----
        The system's turn begins as the template's generation prompt does, and the prefill follows as it is. Where the
        template puts something between the header and the words of a turn that was spoken (the blank behind
        ``[/INST]``, an empty reasoning block, a final channel), it stands before the prefill, too; `notes` says so.
        """
        written = self._template.write(prompt)
        if not may_reason and (marker := open_reasoning(written.turn)):
            raise MeasurandError(
                f"the prompt of {self.system.model!r} ends in an open reasoning block ({marker!r} in "
                f'{written.turn!r}), so that the next token is no answer; set thinking = "off" or a template option '
                "that closes it, or take a generative readout"
            )
        processed = self._encode(written.text, prompt)
        tokens, placeholder = self._tokens, self._pictures.placeholder if prompt.picture and self._pictures else ""
        tail, n_behind = tokens.end(written.text, processed.ids, placeholder=placeholder)
        notes = list(written.notes)
        if n_behind:
            behind = tokens.decode(processed.ids[-n_behind:])
            notes.append(f"{behind!r}, which the tokenizer or processor puts behind the prompt, was cut off")
            processed = processed.cut(n_behind)
        tokens.check_end(processed.ids, prompt.prefill)
        tokens.check_bos(processed.ids, written.text)
        tokens.check_length(processed.ids)
        return Rendered(
            ids=processed.ids,
            text=written.text,
            tail=tail,
            fingerprint=_fingerprint(processed.ids, prompt),
            inputs=processed.inputs,
            along=processed.along,
            spans=self._spans(processed.ids, prompt),
            notes=tuple(notes),
        )

    def _encode(self, text: str, prompt: Prompt) -> Processed:
        if prompt.picture is None:
            return Processed(self._tokens.encode(text), {}, ())
        if self._pictures is None:
            raise MeasurandError(
                f"system {self.system.name!r}: {self.system.model!r} has no image processor, so it takes no pictures; "
                "ask it about texts, or take a vision-language model"
            )
        n = text.count(self._pictures.placeholder) if self._pictures.placeholder else 1
        if n != 1:
            raise MeasurandError(
                f"the rendered text of {self.system.model!r} has {n} placeholders {self._pictures.placeholder!r} for "
                "one picture; take them out of the texts, or mend the chat template"
            )
        return self._pictures.process(text, prompt.picture)

    def _spans(self, ids: Ids, prompt: Prompt) -> tuple[tuple[int, int], ...]:
        if self._pictures is None:
            return ()
        spans = self._tokens.spans(ids, self._pictures.image_ids)
        n_pictures = int(prompt.picture is not None)
        if len(spans) != n_pictures:
            raise MeasurandError(
                f"the prompt of {self.system.model!r} has {len(spans)} runs of image placeholders for {n_pictures} "
                "pictures; take placeholders out of the texts, switch off crops, or mend the chat template"
            )
        return spans

    def encode_after(self, rendered: Rendered, text: str) -> Ids | None:
        """Return the ids that follow when `text` is written behind a prompt; None if the prompt's own would change."""
        before, after = (self._tokens.tokenise(written) for written in (rendered.tail, rendered.tail + text))
        return after[len(before) :] if after[: len(before)] == before else None

    def vocabulary(self) -> tuple[str, ...]:
        """Return the text of each token id, blank for special tokens; a model's head may have more rows than this."""
        return self._tokens.vocabulary

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, special tokens by name."""
        return self._tokens.decode(ids)

    @property
    def special_ids(self) -> frozenset[int]:
        """The ids of special tokens (beginnings, ends, padding, placeholders)."""
        return self._tokens.special_ids

    def identity(self) -> dict[str, str]:
        """Return what the prompt ids and pixels depend on besides the prompt: classes, hashes, settings, versions."""
        return dict(self._identity)

    @cached_property
    def _identity(self) -> dict[str, str]:
        tokens, template = self._tokens, self._template
        return {
            **tokenizer_identity(self.tokenizer),
            "chat_template_sha256": "none: plain text" if template.is_plain else sha256(template.source),
            "template_options": json.dumps(dict(self.system.template_options), sort_keys=True, default=str),
            "thinking": template.thinking,
            "bos": bos_handling(tokens, "" if template.is_plain else template.write(Prompt("Is this so?")).text),
            "transformers": str(transformers_library().__version__),
            **(processor_identity(self.processor) if self.processor else {}),
        }

    def objections(self, prompts: Sequence[Prompt]) -> list[str]:
        """Return which requests hold a text that the tokenizer, processor or template would read as a marker.

        Returns
        -------
        list of str
            A sentence for each text and marker, each text once; empty if there is nothing to object to.
        """
        placeholder = {self._pictures.placeholder} if self._pictures else set()
        markers = {*self._tokens.special, *self._template.markers, *placeholder}
        return marker_objections(prompts, markers, model=self.system.model)


def _fingerprint(ids: Ids, prompt: Prompt) -> str:
    picture = prompt.picture.sha256 if prompt.picture else ""
    return sha256(f"{picture}\n{','.join(map(str, ids))}")


def transformers_library() -> Any:
    """Return transformers, with torch installed beside it.

    Raises
    ------
    MeasurandError
        If either is not installed.
    """
    try:
        import torch  # noqa: F401 - transformers loads without it and fails only later
        import transformers
    except ImportError as error:
        raise MeasurandError(
            f'the transformers engine needs an extra that is not installed ({error}); pip install "measurand[local]"'
        ) from error
    return transformers
