"""The transformers engine: answers read from the logits of a model that runs here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from measurand.eliciting.answer_set import AnswerSet, Ids, close, scan
from measurand.eliciting.engine import Abilities, Decoding, Failure, Proof, Reading, Reply, labels_of_each
from measurand.eliciting.labels import Labels
from measurand.eliciting.local.generate import AT_ONCE, DEFAULTS, generate
from measurand.eliciting.local.model import LocalModel
from measurand.eliciting.local.prefix import WORDS, Question, Way, common, read
from measurand.eliciting.local.reading import chains_of, reading_of
from measurand.eliciting.local.render import Rendered, Renderer
from measurand.eliciting.local.selftest import AnswersTo, prove
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System
from measurand.result import MeasurandError


class LocalEngine:
    """Asks a model whose weights run here; implements `measurand.eliciting.engine.Engine`.

    Parameters
    ----------
    system : System
        Model folder or hub name, revision, GGUF file, device, dtype, tolerance.

    Raises
    ------
    MeasurandError
        If the weights are not to be float32 and no tolerance is declared.

    Notes
    -----
    Nothing heavy happens before it is needed: tokenizer and processor are loaded when a prompt is first counted or
    rendered, weights when the engine is first proved or asked. What questions about one item begin with is computed
    once; which way of sharing it a model allows is found by `prove` on the model itself.
    """

    def __init__(self, system: System) -> None:
        if system.dtype != "float32" and system.tolerance is None:
            raise MeasurandError(
                f"system {system.name!r} computes in {system.dtype} and declares no tolerance; say how far log-odds "
                "may move between ways of computing them (tolerance = 0.05, say), or use float32"
            )
        self.system = system
        self._way: Way | None = None
        self._sets: dict[tuple[Any, str], AnswerSet] = {}
        self._scans: dict[Any, Mapping[str, Ids]] = {}

    @cached_property
    def _renderer(self) -> Renderer:
        return Renderer(self.system)

    @cached_property
    def _model(self) -> LocalModel:
        return LocalModel(self.system)

    @property
    def way(self) -> Way | None:
        """How questions behind one beginning are read; None before the self-test."""
        return self._way

    def identity(self) -> Mapping[str, str]:
        """Return what determines an answer: hashes of weights, configuration and template, types, versions.

        The way of sharing a beginning is not part of it: the self-test shows that it does not determine the answer.
        """
        return {**self._renderer.identity(), **self._model.identity()}

    def abilities(self) -> Abilities:
        """Return what it can do; the notes name the way of reading after the self-test."""
        notes = {"thinking": self._renderer.thinking, "decoding": DEFAULTS}
        if self._model.head_note:
            notes["head"] = self._model.head_note
        if self._way is not None:
            notes["reading"] = f"{self._way}: {WORDS[self._way]}"
        return Abilities("exact", images=self._model.sees, prefill=True, seed=True, notes=notes)

    def fingerprint(self, prompt: Prompt) -> str:
        """Return the SHA-256 of the prompt's token ids and picture."""
        return self._renderer.render(prompt, may_reason=True).fingerprint

    def count(self, prompt: Prompt) -> int | None:
        """Return the number of prompt tokens, those of the picture among them."""
        return len(self._renderer.render(prompt, may_reason=True).ids)

    def objections(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[str]:
        """Return why these prompts can't be asked: chat markers in them, a template, answers that overlap."""
        found = self._renderer.objections(prompts)
        seen: set[str] = set()
        for prompt in prompts:
            try:
                if prompt.picture is not None and not self._model.sees:
                    raise MeasurandError(f"{self.system.model!r} takes no pictures; ask a vision-language model")
                rendered = self._renderer.render(prompt, may_reason=labels is None)
                if labels is not None and rendered.tail not in seen:
                    seen.add(rendered.tail)
                    self._answers(rendered, labels)
            except MeasurandError as error:
                found.append(str(error))
        return list(dict.fromkeys(found))

    def tables(self, prompts: Sequence[Prompt], labels: Labels) -> Mapping[str, Any]:
        """Return the closed answer sets, by the end of the rendered prompt that they hold behind."""
        rendered = [self._renderer.render(prompt) for prompt in prompts]
        return {one.tail: self._answers(one, labels).table() for one in rendered}

    def prove(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[Proof]:
        """Find the fastest way of reading that leaves the answers alone, and show that it does; see `selftest`.

        Returns
        -------
        list of Proof
            All passed where the engine may be used. `value` is the largest difference in log-odds, `limit` what is
            tolerated: 1e-4 in float32, the declared tolerance otherwise.
        """
        groups = [
            [self._question(prompts[i], labels, may_reason=labels is None) for i in members]
            for members in _groups(prompts)
        ]
        answers = None if labels is None else self._answers_to(labels)
        with self._model.few_threads():
            outcome = prove(self._model, groups, answers=answers, tolerance=self.system.tolerance)
        self._way = outcome.way
        return outcome.proofs

    def read(
        self, prompts: Sequence[Prompt], labels: Labels | Sequence[Labels]
    ) -> Iterator[tuple[int, Reading | Failure]]:
        """Read the next-token distribution of each prompt, those about one item together.

        Prompts that have picture, system message and `shared` in common are one group; what the token ids of a group
        begin with is computed once. An engine that was never proved is proved first, on these prompts.

        Yields
        ------
        (int, Reading or Failure)
            Position of the prompt and outcome, group by group. `n_cached` is 0 for the prompt that paid for its group's
            beginning.
        """
        of = labels_of_each(labels, len(prompts))
        if self._way is None and prompts:
            own = [prompt for prompt, one in zip(prompts, of, strict=True) if one.identity == of[0].identity]
            failed = [proof for proof in self.prove(own, of[0]) if not proof.passed]
            if failed:
                raise MeasurandError(failed[0].statement)
        for members in _groups(prompts):
            yield from self._read_group([(i, prompts[i], of[i]) for i in members])

    def _read_group(self, members: Sequence[tuple[int, Prompt, Labels]]) -> Iterator[tuple[int, Reading | Failure]]:
        started = time.perf_counter()
        questions: list[Question] = []
        numbers: list[int] = []
        of: list[Labels] = []
        outcomes: dict[int, Reading | Failure] = {}
        for i, prompt, labels in members:
            try:
                questions.append(self._question(prompt, labels))
                numbers.append(i)
                of.append(labels)
            except MeasurandError as error:
                outcomes[i] = Failure(str(error))
        if questions:
            way = self._way or "one_by_one"
            n = common(questions) if len(questions) > 1 and way not in ("batch", "one_by_one") else 0
            try:
                with self._model.few_threads():
                    for k, logits in read(self._model, questions, way=way, n_common=n):
                        answers = self._answers(questions[k].rendered, of[k])
                        outcomes[numbers[k]] = self._outcome(logits, questions[k], answers, n_cached=n if k else 0)
            except RuntimeError as error:  # what torch says when memory runs out, among others
                outcomes |= {i: Failure(f"the pass failed: {error}") for i in numbers if i not in outcomes}
        each = (time.perf_counter() - started) / len(members)
        for i, _, _ in members:
            outcome = outcomes[i]
            yield i, outcome if isinstance(outcome, Failure) else replace(outcome, seconds=each)

    def _outcome(self, logits: Any, question: Question, answers: AnswerSet, *, n_cached: int) -> Reading | Failure:
        try:
            return reading_of(logits, question, answers, decode=self._renderer.decode, n_cached=n_cached)
        except MeasurandError as error:
            return Failure(str(error))

    def generate(
        self, prompts: Sequence[Prompt], decodings: Sequence[Decoding]
    ) -> Iterator[tuple[int, Reply | Failure]]:
        """Generate a reply to each prompt, several at once; no reply depends on its neighbours."""
        yield from generate(self._model, self._renderer, prompts, decodings)

    def at_once(self) -> int:
        """Return how many replies are decoded together."""
        return AT_ONCE

    def close(self) -> None:
        """Let the weights go."""
        self._model.close()

    # --------------------------------------------------------------------------------------------- answer sets
    def _question(self, prompt: Prompt, labels: Labels | None, *, may_reason: bool = False) -> Question:
        rendered = self._renderer.render(prompt, may_reason=may_reason)
        return Question(rendered, ((),) if labels is None else chains_of(self._answers(rendered, labels)))

    def _answers_to(self, labels: Labels) -> AnswersTo:
        return lambda rendered: self._answers(rendered, labels)

    def _answers(self, rendered: Rendered, labels: Labels) -> AnswerSet:
        words = (tuple((label, tuple(words)) for label, words in labels.words.items()), labels.are_numerals)
        if (words, rendered.tail) not in self._sets:
            vocabulary = self._renderer.vocabulary()
            if words not in self._scans:
                self._scans[words] = scan(labels, vocabulary=vocabulary)
            self._sets[words, rendered.tail] = close(
                labels,
                vocabulary=vocabulary,
                encode=lambda text: self._renderer.encode_after(rendered, text),
                scanned=self._scans[words],
            )
        return self._sets[words, rendered.tail]


def _groups(prompts: Sequence[Prompt]) -> list[list[int]]:
    """Return the positions of prompts about the same picture and text, groups in order of appearance."""
    found: dict[tuple[str, str, str], list[int]] = {}
    for i, prompt in enumerate(prompts):
        key = (prompt.picture.sha256 if prompt.picture else "", prompt.system, prompt.shared)
        found.setdefault(key, []).append(i)
    return list(found.values())
