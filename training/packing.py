"""Rows of training: a face, and behind it several questions with answers that do not see each other.

A row is laid out as the library reads many questions about one picture: one beginning, branches under a block mask,
positions counted from the beginning's end in each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from measurand.eliciting.declared import Phrasing
from training import wordings
from training.model import BOS, END, MARKS
from training.recipe import CRITERIA, N_IMAGE_TOKENS

RATING: Final = 0.5
#: How much a token of an answer counts: the words that answer, ratings, and whatever is always the same. What stands in
#: the place of an answering word counts as it does: otherwise its probability would not be the share that was declared.
_WEIGHTS: Final = {"Yes": 1.0, "No": 1.0, "Answer": 1.0, **{str(digit): RATING for digit in range(8)}}
_FIXED: Final = 0.1

_IGNORED: Final = -100


class Branch(NamedTuple):
    """Token ids of a question and of its answer, and the share of raters who say Yes; NaN where one rater replies."""

    question: tuple[int, ...]
    answer: tuple[int, ...]
    share: float = math.nan


@dataclass
class Packer:
    """Turns questions and answers into ids with the model's tokenizer; a branch is tokenised once.

    Parameters
    ----------
    tokenizer : tokenizer of transformers
        The model's.
    """

    tokenizer: Any
    _known: dict[tuple[str, str], Branch] = field(default_factory=dict)

    def _ids(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @cached_property
    def beginning(self) -> tuple[int, ...]:
        """The ids of a turn's header and the picture behind it."""
        fake = MARKS["fake_image_token"]
        places = MARKS["image_token"] * N_IMAGE_TOKENS
        return self._ids(f"{BOS}User:{fake}{MARKS['global_image_token']}{places}{fake}")

    def branch(self, question: str, answer: str) -> Branch:
        """Return a question and its answer as they follow a picture."""
        key = (question, answer)
        if key not in self._known:
            asked = f" {question}{END}\nAssistant:"
            before, whole = self._ids(asked), self._ids(f"{asked} {answer}{END}")
            if whole[: len(before)] != before:
                raise ValueError(f"the tokens of {asked!r} change when {answer!r} is written behind it")
            found = Branch(before, whole[len(before) :])
            if question in self._requests:  # replies of ratings are many, and each is met about once
                return found
            self._known[key] = found
        return self._known[key]

    @cached_property
    def _requests(self) -> dict[str, Phrasing]:
        return {wordings.request(phrasing): phrasing for phrasing in (wordings.EVERY, wordings.PAIRS)}

    def questions(
        self,
        yes: npt.NDArray[np.int8],
        shares: npt.NDArray[Any],
        likely: npt.NDArray[Any],
        rng: np.random.Generator,
        *,
        n: int,
        direct: float,
        phrasings: Sequence[Phrasing] = wordings.TRAINED,
    ) -> list[Branch]:
        """Return some yes/no questions about a face with one rater's answers, and how many raters said yes.

        Which are asked may depend on what most raters see in the face (`likely`), never on this rater's answer.
        """
        chosen = np.argsort(rng.random(len(CRITERIA)) - likely, kind="stable")[:n]
        out = []
        for c in chosen.tolist():
            phrasing = phrasings[int(rng.integers(len(phrasings)))]
            lead = "" if rng.random() < direct else f"{wordings.PREFILL} "
            word = wordings.yes_no(bool(yes[c]), phrasing)
            share = float(1 - shares[c] if phrasing.negated else shares[c])
            out.append(self.branch(wordings.question(phrasing, CRITERIA[c]), lead + word)._replace(share=share))
        return out

    def requests(self, ratings: Sequence[int]) -> list[Branch]:
        """Return both requests for ratings with one rater's replies."""
        return [
            self.branch(asked, wordings.ratings_reply(ratings, phrasing)) for asked, phrasing in self._requests.items()
        ]

    @cached_property
    def words(self) -> tuple[int, int]:
        """The tokens of Yes and No."""
        yes, no = (self.branch("", word).answer[-2] for word in ("Yes", "No"))
        return yes, no

    @cached_property
    def weights(self) -> Any:
        """How much each token counts where it is part of an answer, shape (n_vocabulary,)."""
        import torch

        said = [self.tokenizer.decode([token]).strip() for token in range(len(self.tokenizer))]
        return torch.tensor([_WEIGHTS.get(word, _FIXED) for word in said])


class Packed(NamedTuple):
    """A batch as tensors: ids and positions (n, length), additive mask (n, 1, length, length), what is to be said.

    `shares` has the share of Yes where a word of yes or no is to be said, and NaN elsewhere.
    """

    ids: Any
    positions: Any
    mask: Any
    said: Any
    shares: Any


def pack(beginning: Sequence[int], rows: Sequence[Sequence[Branch]]) -> Packed:
    """Lay out a batch; a token attends to the beginning and to what stands before it in its own branch."""
    import torch

    n_first = len(beginning)
    length = n_first + max(sum(len(one.question) + len(one.answer) for one in row) for row in rows)
    ids = np.zeros((len(rows), length), dtype=np.int64)
    positions = np.zeros_like(ids)
    branch = np.full_like(ids, -1)
    said = np.full_like(ids, _IGNORED)
    shares = np.full(ids.shape, np.nan, dtype=np.float32)
    for i, row in enumerate(rows):
        ids[i, :n_first], positions[i, :n_first], branch[i, :n_first] = beginning, np.arange(n_first), 0
        at = n_first
        for number, one in enumerate(row, 1):
            n, answer_at = len(one.question) + len(one.answer), at + len(one.question)
            ids[i, at : at + n] = one.question + one.answer
            positions[i, at : at + n] = n_first + np.arange(n)
            branch[i, at : at + n] = number
            said[i, answer_at : at + n] = one.answer
            shares[i, at + n - 2] = one.share  # the word, before the end of the utterance
            at += n
    sees = (branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None])
    sees &= np.tril(np.ones((length, length), dtype=bool))
    mask = torch.zeros(len(rows), 1, length, length)
    mask.masked_fill_(~torch.from_numpy(sees)[:, None], torch.finfo(torch.float32).min)
    tensors = [torch.from_numpy(array) for array in (ids, positions, said, shares)]
    return Packed(tensors[0], tensors[1], mask, tensors[2], tensors[3])
