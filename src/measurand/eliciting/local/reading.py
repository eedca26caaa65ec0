"""From the logits behind a prompt to the log-probabilities of its answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from measurand.eliciting.answer_set import AnswerSet, Ids
from measurand.eliciting.engine import N_OTHERS, Reading
from measurand.eliciting.local.prefix import Question
from measurand.result import MeasurandError

FloatArray = npt.NDArray[np.float64]


def chains_of(answers: AnswerSet) -> tuple[Ids, ...]:
    """Return what stands before each token of each spelling: nothing, and the beginnings of longer spellings."""
    chains: dict[Ids, None] = {(): None}
    for sequence in _sequences(answers):
        chains.update(dict.fromkeys(sequence[:k] for k in range(1, len(sequence))))
    return tuple(sorted(chains, key=lambda chain: (len(chain), chain)))


def _sequences(answers: AnswerSet) -> list[Ids]:
    own = [sequence for sequences in answers.sequences for sequence in sequences]
    return [*own, *(longer for extending in answers.subtracted.values() for longer in extending)]


def log_probabilities(logits: Any) -> Any:
    """Return log-softmax in float64 of raw logits in float32, shape (n_rows, n_vocabulary).

    Raises
    ------
    MeasurandError
        If logits are not finite: a kernel that failed, or logits that something has filtered already.
    """
    import torch

    # Some devices have no float64.
    wide = (logits.cpu() if logits.device.type == "mps" else logits).double()
    total = torch.logsumexp(wide, dim=-1, keepdim=True)
    if not bool(torch.isfinite(total).all()) or bool(torch.isnan(wide).any()):
        raise MeasurandError(
            "the logits at the read position are not finite; nothing can be read from them: use float32, or another "
            "device or attention"
        )
    return wide - total


def label_log_probabilities(
    found: Any, chains: Sequence[Ids], answers: AnswerSet
) -> tuple[FloatArray, dict[Ids, float]]:
    """Return the log-probability of each label, and of each of its spellings as counted.

    Parameters
    ----------
    found : torch.Tensor of float64, shape (n_chains, n_vocabulary)
        Log-probabilities of the next token behind each chain.
    chains : sequence of tuple of int
        What was written behind the prompt.
    answers : AnswerSet
        Spellings by label.

    Returns
    -------
    tuple of ndarray of shape (n_labels,) and dict
        Nats, at most 0. Equal spellings give equal sums whatever their order, so that ties stay ties.

    Notes
    -----
    A spelling of tokens t1 … tm has log P = Σ log P(tk | t1 … tk-1), each read behind its own beginning. Where another
    label extends a numeral (1 and 10), the longer ones are taken off: log P = l + log(1 - Σ exp(l' - l)).

    Examples
    --------
    "Y" and "ES" together have a probability of .2 x .5, beside .3 for "yes".

    >>> from measurand.eliciting.answer_set import Spelling
    >>> yes = (Spelling("yes", (0,), "token"), Spelling("YES", (1, 2), "encoded"))
    >>> answers = AnswerSet(("yes", "no"), (yes, (Spelling("no", (3,), "token"),)))
    >>> found = np.log([[0.3, 0.2, 0.1, 0.4], [0.2, 0.2, 0.5, 0.1]])
    >>> np.exp(label_log_probabilities(found, chains_of(answers), answers)[0]).round(6).tolist()
    [0.4, 0.4]
    """
    row = {chain: k for k, chain in enumerate(chains)}

    def whole(sequence: Ids) -> float:
        return float(sum(float(found[row[sequence[:k]], token]) for k, token in enumerate(sequence)))

    counted: dict[Ids, float] = {}
    for sequence in (sequence for sequences in answers.sequences for sequence in sequences):
        value = whole(sequence)
        share = math.fsum(math.exp(whole(longer) - value) for longer in answers.subtracted.get(sequence, ()))
        counted[sequence] = value + math.log1p(-share) if share < 1 else -math.inf
    labels = [_log_sum([counted[sequence] for sequence in sequences]) for sequences in answers.sequences]
    return np.array(labels), counted


def _log_sum(values: Sequence[float]) -> float:
    """Return log Σ exp, the same for the same values in any order."""
    largest = max(values)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(value - largest) for value in values))


def reading_of(
    logits: Any, question: Question, answers: AnswerSet, *, decode: Callable[[Sequence[int]], str], n_cached: int
) -> Reading:
    """Return what a readout needs of the logits behind one prompt.

    Parameters
    ----------
    logits : torch.Tensor of float32, shape (n_chains, n_vocabulary)
        Raw logits behind each of the question's chains.
    question : Question
        The prompt.
    answers : AnswerSet
        Spellings by label.
    decode : callable
        Token ids to text, special tokens by name: one of them as the likeliest token says that the prompt is wrong.
    n_cached : int
        Tokens of the prompt that were not computed for it.

    Raises
    ------
    MeasurandError
        If the logits are not finite.
    """
    import torch

    found = log_probabilities(logits)
    # One number at a time is read much faster from an array than from a tensor.
    labels, counted = label_log_probabilities(found.cpu().numpy(), question.chains, answers)
    left = torch.exp(found[0])
    for sequence, value in counted.items():
        # Of a token that begins a longer spelling, what goes on to be one is counted; the rest is not an answer.
        left[sequence[0]] -= math.exp(value)
    left[[sequence[0] for sequence in counted if len(sequence) == 1]] = 0.0
    most = torch.topk(left.clamp(min=0.0), min(N_OTHERS, len(left)))
    return Reading(
        low=labels.tolist(),
        high=labels.tolist(),
        mass_high=math.fsum(math.exp(value) for value in labels),
        others=[(_text(decode, i), p) for i, p in zip(most.indices.tolist(), most.values.tolist(), strict=True)],
        top=_text(decode, int(found[0].argmax())),
        fingerprint=question.rendered.fingerprint,
        n_prompt=len(question.ids),
        n_cached=n_cached,
    )


def _text(decode: Callable[[Sequence[int]], str], token: int) -> str:
    try:
        text = decode([token])
    except (IndexError, OverflowError, TypeError, KeyError):
        text = ""
    return text or f"<token {token}>"  # heads are padded beyond the vocabulary
