"""How a training goes, on new faces of new persons: read without the library, because it is read often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd

from measurand.eliciting.declared import Phrasing
from measurand.stats.association import spearman
from training import wordings
from training.data import Bytes, held_out
from training.model import features, pixels
from training.packing import Branch, Packer, pack
from training.phases import Learner
from training.recipe import CRITERIA

_FACES_PER_PERSON: Final = 4
_BATCH: Final = 65


@dataclass
class Validation:
    """New faces, and what a model makes of them."""

    faces: pd.DataFrame
    pictures: Bytes
    intensities: np.ndarray[Any, np.dtype[np.float64]] = field(init=False)

    def __post_init__(self) -> None:
        self.intensities = self.faces[list(CRITERIA)].to_numpy(dtype=np.float64)

    @classmethod
    def of(cls, learner: Learner) -> Validation:
        """Draw the faces that belong to a recipe."""
        n = learner.recipe.n_validation
        faces, pictures = held_out(learner.recipe, n=n, n_persons=max(n // _FACES_PER_PERSON, 1), offset=2)
        return cls(faces, learner.shown(pictures))

    def vision(self, learner: Learner) -> dict[str, Any]:
        """Return how well the head of phase 1 knows drawn intensities: r2 of a line, and order within an expression."""
        import torch

        found = []
        learner.model.eval()
        with torch.inference_mode():
            for start in range(0, len(self.pictures), _BATCH):
                tokens = features(learner.model, pixels(self.pictures[start : start + _BATCH]))
                found.append(learner.head["all"](tokens.flatten(1)).numpy())
        learner.model.train()
        said = np.concatenate(found)[:, len(CRITERIA) :]
        r2 = [float(np.corrcoef(said[:, c], self.intensities[:, c])[0, 1] ** 2) for c in range(len(CRITERIA))]
        return {"r2": float(np.mean(r2)), "r2_each": rounded(r2), **self._orders(said)}

    def binding(self, learner: Learner) -> dict[str, Any]:
        """Return the same as `language` of the one short wording of phase 2."""
        return self._of_wordings(learner, {"short": wordings.SHORT})

    def language(self, learner: Learner) -> dict[str, Any]:
        """Return the order by P(yes) behind the prefill, under a trained wording and one kept back, and the mass."""
        return self._of_wordings(learner, {"trained": wordings.TRAINED[0], "kept_back": wordings.KEPT_BACK[0]})

    def _of_wordings(self, learner: Learner, asked: Mapping[str, Phrasing]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, phrasing in asked.items():
            said, mass = self._read(learner, phrasing)
            out |= {f"{name}_{key}": value for key, value in self._orders(said).items()}
            out[f"{name}_mass"] = float(mass.mean())
        return out

    def _read(self, learner: Learner, phrasing: Phrasing) -> tuple[Any, Any]:
        import torch

        packer: Packer = learner.packer
        branches = []
        for criterion in CRITERIA:
            asked = packer.branch(wordings.question(phrasing, criterion), f"{wordings.PREFILL} Yes")
            branches.append(Branch(asked.question + asked.answer[:-2], ()))
        ends = np.cumsum([len(one.question) for one in branches]) + len(packer.beginning) - 1
        said, mass = [], []
        learner.model.eval()
        with torch.inference_mode():
            for start in range(0, len(self.pictures), _BATCH):
                tokens = features(learner.model, pixels(self.pictures[start : start + _BATCH]))
                batch = pack(packer.beginning, [branches] * len(tokens))
                core = learner.model.model.text_model
                embedded = core.get_input_embeddings()(batch.ids)
                places = (batch.ids == learner.model.config.image_token_id)[..., None].expand_as(embedded)
                hidden = core(
                    inputs_embeds=embedded.masked_scatter(places, tokens),
                    attention_mask=batch.mask,
                    position_ids=batch.positions,
                    use_cache=False,
                ).last_hidden_state
                p = learner.model.lm_head(hidden[:, ends]).softmax(-1)[..., list(packer.words)].numpy()
                mass.append(p.sum(axis=-1))
                said.append(p[..., 0] / mass[-1])
        learner.model.train()
        return np.concatenate(said), np.concatenate(mass)

    def _orders(self, said: np.ndarray[Any, Any]) -> dict[str, Any]:
        found = []
        for c in range(len(CRITERIA)):
            drawn = self.intensities[:, c] > 0
            x, y = said[drawn, c].astype(np.float64), self.intensities[drawn, c]
            found.append(float(spearman(x, y, np.ones((1, len(x))))[0]))
        strong = self.intensities.max(axis=1) > 0.5
        named = said.argmax(axis=1) == self.intensities.argmax(axis=1)
        return {
            "spearman": float(np.mean(found)),
            "spearman_each": rounded(found),
            "named": float(named[strong].mean()),
        }


def rounded(values: list[float]) -> dict[str, float]:
    """Return values by criterion, to three places."""
    return {criterion: round(value, 3) for criterion, value in zip(CRITERIA, values, strict=True)}


def finite(value: Any) -> Any:
    """Return JSON values with None for what is undefined."""
    if isinstance(value, Mapping):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
