"""Where a system runs: the one interface that every engine has, and what it gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt

Distribution = Literal["exact", "top_k", "none"]
Finish = Literal["stop", "length", "refused"]

#: How many of the likeliest tokens outside the answer set a reading names.
N_OTHERS: Final = 5


@dataclass(frozen=True)
class Decoding:
    """How a reply is generated. None means that the setting is not sent and the engine's own default holds.

    Parameters
    ----------
    max_tokens : int
        Most tokens of a reply.
    temperature, top_p : float or None
        Sampling; a temperature of 0 takes the likeliest token.
    seed : int or None
        Seed of sampling, where the engine takes one.
    stop : sequence of str
        Texts that end a reply.
    json_schema : mapping or None
        A schema that the engine forces on the reply; never used for readings, whose mass it would make 1.
    """

    max_tokens: int = 512
    temperature: float | None = 0.0
    top_p: float | None = None
    seed: int | None = None
    stop: Sequence[str] = ()
    json_schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Abilities:
    """What an engine can do, as found out and not as advertised.

    Parameters
    ----------
    distribution : {"exact", "top_k", "none"}
        Whether it shows the probability of every token, of the likeliest, or of none.
    top_k : int or None
        How many of the likeliest tokens it shows.
    images, prefill, seed : bool or None
        Whether it takes a picture, continues a started turn, and takes a seed; None where nobody has looked yet.
    notes : mapping of str to str
        What was found for each, in words: ``{"prefill": "ignored: the reply begins a turn of its own"}``.
    """

    distribution: Distribution
    top_k: int | None = None
    images: bool | None = None
    prefill: bool | None = None
    seed: bool | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """The next-token distribution at the first answer position, as far as a readout needs it.

    Parameters
    ----------
    low, high : sequence of float
        Log-probability of each label in nats, in the labels' order: its bounds; both the same where the engine is exact
        (-inf where a label was not seen at all).
    mass_high : float
        Largest possible probability of all labels together (the sum of probabilities where the engine is exact).
    others : sequence of (str, float)
        The likeliest tokens outside the answer set and their probabilities, largest first.
    top : str
        The likeliest token of all.
    fingerprint : str
        SHA-256 of the token ids that went in and of the picture; of the request, where ids are not visible.
    n_prompt, n_cached : int or None
        Tokens of the prompt, and how many of them were read from a cache.
    seconds : float
        Time that it took; shared times in equal parts.
    """

    low: Sequence[float]
    high: Sequence[float]
    mass_high: float
    others: Sequence[tuple[str, float]]
    top: str
    fingerprint: str
    n_prompt: int | None = None
    n_cached: int | None = None
    n_completion: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Reply:
    """A generated text.

    Parameters
    ----------
    text : str
        What was generated, without the prefill.
    finish : {"stop", "length", "refused"}
        Why it ended.
    fingerprint : str
        As in `Reading`.
    n_prompt, n_cached, n_completion, n_reasoning : int or None
        Tokens; None where the engine does not say. Reasoning tokens are part of the completion.
    seconds : float
        Time that it took.
    reasoning : str
        Reasoning that the engine returned apart from the text.
    """

    text: str
    finish: Finish
    fingerprint: str
    n_prompt: int | None = None
    n_cached: int | None = None
    n_completion: int | None = None
    n_reasoning: int | None = None
    seconds: float = 0.0
    reasoning: str = ""


@dataclass(frozen=True)
class Failure:
    """A request that got no answer; it is asked again when the study is started again.

    Parameters
    ----------
    reason : str
        What happened, without secrets.
    stops : bool
        Whether nothing more can be asked of this engine (a wrong key, a dead server).
    """

    reason: str
    stops: bool = False


@dataclass(frozen=True)
class Proof:
    """One check of an engine before anything is spent.

    Parameters
    ----------
    check : str
        Its stable name: ``cold_cached``, ``batch``, ``padding``, ``order``, ``images``, ``prefill``, ``logprobs``, …
    passed : bool
        Whether the engine may be used.
    statement : str
        What was found, in one sentence.
    value, limit : float or None
        The largest difference in log-odds, and what is tolerated, where the check measures one.
    """

    check: str
    passed: bool
    statement: str
    value: float | None = None
    limit: float | None = None


def labels_of_each(labels: Labels | Sequence[Labels], n: int) -> Sequence[Labels]:
    """Return the labels of each of so many prompts.

    Examples
    --------
    >>> len(labels_of_each(Labels({"yes": ("yes",)}), 3))
    3
    """
    return [labels] * n if isinstance(labels, Labels) else labels


class Engine(Protocol):
    """Asks one system.

    Making an engine spends nothing and loads no weights: `check` can count tokens and name refusals with it.
    """

    def identity(self) -> Mapping[str, str]:
        """Return everything but prompt, picture, labels and decoding that determines an answer (no secrets)."""

    def abilities(self) -> Abilities:
        """Return what it can do; before `prove` what is known without asking."""

    def fingerprint(self, prompt: Prompt) -> str:
        """Return what `Reading.fingerprint` will be for this prompt, without running the model."""

    def count(self, prompt: Prompt) -> int | None:
        """Return the number of prompt tokens, None where it can't be known beforehand."""

    def objections(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[str]:
        """Return why these prompts can't be asked (chat markers in their text, labels that overlap), without asking."""

    def prove(self, prompts: Sequence[Prompt], labels: Labels | None) -> list[Proof]:
        """Test the engine on some prompts of the study before it is used: self-test or probe."""

    def tables(self, prompts: Sequence[Prompt], labels: Labels) -> Mapping[str, Any]:
        """Return the answer tokens in the context of each prefill (JSON values), to be saved with the run."""

    def read(
        self, prompts: Sequence[Prompt], labels: Labels | Sequence[Labels]
    ) -> Iterator[tuple[int, Reading | Failure]]:
        """Read the next-token distribution of each prompt; give position and outcome in any order, as they come.

        The labels are those of all prompts, or one for each.

        Prompts that have picture, system message and `shared` in common are computed on one prefix.
        """

    def generate(
        self, prompts: Sequence[Prompt], decodings: Sequence[Decoding]
    ) -> Iterator[tuple[int, Reply | Failure]]:
        """Generate a reply to each prompt, each under a decoding of its own; give position and outcome as they come."""

    def at_once(self) -> int:
        """Return how many prompts `generate` takes to good use at once."""

    def close(self) -> None:
        """Free what it holds (connections, memory)."""
