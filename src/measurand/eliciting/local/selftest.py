"""Does a model give the same answer however it is computed? Tested on the study's own prompts before they are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.eliciting.answer_set import AnswerSet
from measurand.eliciting.engine import Proof
from measurand.eliciting.local.model import LocalModel
from measurand.eliciting.local.prefix import WAYS, WORDS, Question, Way, common, read
from measurand.eliciting.local.reading import label_log_probabilities, log_probabilities
from measurand.eliciting.local.render import Rendered
from measurand.stats.inference import stream

FloatArray = npt.NDArray[np.float64]
AnswersTo = Callable[[Rendered], AnswerSet]

#: Largest difference in log-odds that float32 may make.
LIMIT: Final = 1e-4
#: Prompts that are tried of the first item and of the second.
_TRIED: Final = (4, 2)
#: Remainders of padded lengths by 32 that are tried: kernels work in blocks, and 1 has broken one of them.
_REMAINDERS: Final = (1, 0)
#: Tokens of a lone prompt that are read from its own cache.
_ENDING: Final = 8
#: What a pass can say when a model does not take what a way gives it.
_REFUSALS: Final = (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError)


@dataclass(frozen=True)
class Outcome:
    """Which way may be used (None for none), and what was found."""

    way: Way | None
    proofs: list[Proof]


def prove(
    model: LocalModel, groups: Sequence[Sequence[Question]], *, answers: AnswersTo | None, tolerance: float | None
) -> Outcome:
    """Take the first way of reading that leaves the answers as plain passes give them.

    Parameters
    ----------
    model : LocalModel
        The weights.
    groups : sequence of sequence of Question
        Prompts by item; some of the first two groups are tried.
    answers : callable or None
        Rendered prompt to its answer set; None for prompts without one, whose likeliest tokens are compared.
    tolerance : float or None
        Largest difference in log-odds; None for 1e-4.

    Returns
    -------
    Outcome
        Proofs `cold_cached`, `batch`, `padding`, `order`, `images` and `head`.

    Notes
    -----
    The reference is one plain pass for each prompt, with nothing shared and all state of earlier passes put back. With
    d = l' - l, what a way moves the log-probability of each of a prompt's labels by, the difference is the largest of
    |d_a - d_b| over pairs of labels (log-odds) and of |d_a|. Every way of `prefix.WAYS` is tried, and none
    is known to be good or bad for a class of models: a prefix language model, positions of several dimensions and masks
    of several kinds all show in the numbers.
    """
    limit = LIMIT if tolerance is None else tolerance
    tried = [_some(group, n) for group, n in zip(groups, _TRIED, strict=False)]
    try:
        trial = _Trial(model, tried, answers)
    except _REFUSALS as error:
        return Outcome(None, [Proof("cold_cached", False, f"A plain pass failed: {_first_line(error)}.", limit=limit)])
    failed: list[str] = []
    worsts: list[float] = []
    for way in WAYS:
        if way in ("packed", "expanded") and not model.is_plain:
            failed.append(f"{way}: the cache holds states that can't be shared")
            continue
        try:
            values = trial.differences(way)
        except _REFUSALS as error:
            failed.append(f"{way}: the model does not take it ({_first_line(error)})")
            continue
        worst = max(values.values())
        if worst <= limit:
            return Outcome(way, [*_proofs(way, values, limit, failed, len(tried)), _head(model)])
        worsts.append(worst)
        failed.append(f"{way}: log-odds moved by {worst:.2g}")
    statement = (
        f"no way of reading gives the same answers twice within {limit:g} log-odds: {'; '.join(failed)}; use "
        "float32, another device or attention, or declare a larger tolerance"
    )
    return Outcome(None, [Proof("cold_cached", False, statement, min(worsts, default=None), limit)])


class _Trial:
    """Prompts with what plain passes make of them."""

    def __init__(self, model: LocalModel, groups: Sequence[Sequence[Question]], answers: AnswersTo | None) -> None:
        self._model = model
        self._groups = groups
        self._answers = answers
        self._watched: dict[int, Any] = {}
        self._cold: dict[int, FloatArray] = {}
        for group in groups:
            for i, logits in read(model, group, way="one_by_one"):
                self._cold[id(group[i])] = self._values(logits, group[i])

    def _values(self, logits: Any, question: Question) -> FloatArray:
        found = log_probabilities(logits)
        if self._answers is not None:
            return label_log_probabilities(found, question.chains, self._answers(question.rendered))[0]
        watched = self._watched.setdefault(id(question), found[0].topk(min(8, found.shape[1])).indices)
        return np.asarray(found[0][watched].tolist())

    def differences(self, way: Way) -> dict[str, float]:
        """Return the largest difference in log-odds of each check."""
        first = list(self._groups[0])
        together = [self._read(group, way) for group in self._groups]
        order = stream(0, "selftest").permutation(len(first))
        again = self._read([first[i] for i in order], way)
        lone = [first[0]]
        return {
            "cold_cached": max(together),
            "batch": self._read(lone, way),
            "padding": max(self._padded(first[0], remainder, way) for remainder in _REMAINDERS),
            "order": again,
            # The second item was read behind the first, and the first again behind the second.
            "images": max([*together[1:], again]),
        }

    def _read(self, group: Sequence[Question], way: Way, *, ignored: int = 0) -> float:
        n = common(group) if len(group) > 1 else _cut(group[0])
        worst = 0.0
        for i, logits in read(self._model, group, way=way, n_common=n):
            if i >= ignored:
                found = self._values(logits, group[i])
                worst = max(worst, difference(self._cold[id(group[i])], found))
        return worst

    def _padded(self, question: Question, remainder: int, way: Way) -> float:
        """Read a prompt beside a longer one that makes the padded length leave a given remainder by 32."""
        ids = question.ids
        extra = (remainder - len(ids) - 1) % 32 + 1
        filler = Question(replace(question.rendered, ids=(*ids, *[ids[-1]] * extra)))
        return self._read([filler, question], way, ignored=1)


def difference(a: FloatArray, b: FloatArray) -> float:
    """Return the largest difference of two sets of log-probabilities, single ones or log-odds of two.

    Examples
    --------
    >>> round(difference(np.array([-1.0, -2.0]), np.array([-1.1, -1.9])), 6)
    0.2
    """
    moved = np.zeros(len(a))
    differs = a != b  # an answer that is impossible both times, -inf, has not moved
    moved[differs] = b[differs] - a[differs]
    return float(max(np.abs(moved).max(), moved.max() - moved.min()))


def _some(group: Sequence[Question], n: int) -> list[Question]:
    """Return a few prompts of a group, the shortest and the longest among them."""
    ordered = sorted(group, key=lambda question: len(question.ids))
    places = np.unique(np.linspace(0, len(ordered) - 1, n).round().astype(int))
    return [ordered[i] for i in places]


def _cut(question: Question) -> int:
    """Return how many tokens of a lone prompt are computed first."""
    return max([1, len(question.ids) - _ENDING, *(end for _, end in question.rendered.spans)])


def _proofs(way: Way, values: dict[str, float], limit: float, failed: Sequence[str], n_items: int) -> Iterator[Proof]:
    refused = f" Tried before: {'; '.join(failed)}." if failed else ""
    said = {
        "cold_cached": f"Read as {WORDS[way]}, answers are those of plain passes.{refused}",
        "batch": "A prompt alone gives the answer that it gives among others.",
        "padding": "The length of its neighbour does not move a prompt's answer.",
        "order": "The order of the prompts does not move their answers.",
        "images": "An item's answers do not depend on the item before it.",
    }
    for check, value in values.items():
        if check == "images" and n_items < 2:
            yield Proof(check, True, "Not tested: prompts about one item alone were given.")
        else:
            yield Proof(check, True, f"{said[check]} (log-odds within {value:.1e})", value, limit)


def _head(model: LocalModel) -> Proof:
    return Proof("head", True, f"The head's rows that answers are read from: {model.head_note}.")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
