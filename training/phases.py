"""The phases: seeing what raters say on average, finding what is asked about, saying what one rater says.

Every draw of a step depends on seed, phase and step alone, so that a stopped training goes on as it would have gone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from measurand.stats.inference import stream
from training import wordings
from training.data import Bytes, Faces, grey
from training.model import features, pixels
from training.packing import RATING, Packer, pack
from training.recipe import CRITERIA, N_IMAGE_TOKENS, Recipe

Phase = Literal["vision", "binding", "language"]
PHASES: Final[tuple[Phase, ...]] = ("vision", "binding", "language")

_WARM_UP: Final = 100
_DECAY: Final = 0.05
_LONGEST_GRADIENT: Final = 1.0
#: Pictures are moved by so many pixels at most, and mirrored: no expression has a side.
_SHIFT: Final = 2
#: Questions about a face while it is learnt what a question is about.
_PAIR: Final = 2
#: A criterion that raters saw this much of on average is asked about more often.
_SEEN: Final = 0.08
_PREFERENCE: Final = 0.3
#: Errors of shares are small numbers beside those of tokens.
_REGRESSION: Final = 10.0


@dataclass
class Learner:
    """A model in training.

    Parameters
    ----------
    recipe : Recipe
        Its settings.
    model, packer : object
        The model, and what turns answers into rows.
    faces : Faces
        What it is trained on.
    head : torch.nn.ModuleDict
        The throw-away head of phase 1: on all image tokens, on their mean, and, the same for all criteria, on the one
        image token that each criterion is given for its own, where questions about it then find it soon.
    """

    recipe: Recipe
    model: Any
    packer: Packer
    faces: Faces
    head: Any = None
    optimiser: Any = None

    def __post_init__(self) -> None:
        import torch
        from torch import nn

        rng = torch.Generator().manual_seed(int(stream(self.recipe.seed, "training", "head").integers(2**31)))
        n = 2 * len(CRITERIA)
        self.head = nn.ModuleDict(
            {
                "all": nn.Linear(self.recipe.width * N_IMAGE_TOKENS, n),
                "mean": nn.Linear(self.recipe.width, n),
                "own": nn.Linear(self.recipe.width, 2),
            }
        )
        with torch.no_grad():
            for layer in self.head.values():
                layer.weight.normal_(0, layer.in_features**-0.5, generator=rng)
                layer.bias.zero_()

    def n_steps(self, phase: Phase) -> int:
        """Return how many steps a phase has."""
        recipe = self.recipe
        return {"vision": recipe.vision_steps, "binding": recipe.binding_steps, "language": recipe.language_steps}[
            phase
        ]

    def begin(self, phase: Phase) -> None:
        """Make the optimiser of a phase."""
        import torch

        towards = {"vision": 1.0, "binding": 0.0, "language": self.recipe.vision_factor}[phase]
        seeing = self._trained("vision") + list(self.head.parameters())
        others = [one for one in self._trained(phase) if all(one is not own for own in seeing)]
        groups = [
            {"params": own, "weight_decay": self.recipe.weight_decay if is_matrix else 0.0, "factor": factor}
            for factor, parameters in ((towards, seeing), (1.0, others))
            for is_matrix in (True, False)
            if (own := [one for one in parameters if (one.ndim > 1) == is_matrix])
        ]
        self.optimiser = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98))

    def _trained(self, phase: Phase) -> list[Any]:
        parts = ("vision_model", "connector") if phase == "vision" else ("",)
        return [one for name, one in self.model.named_parameters() if any(part in name for part in parts)]

    def step(self, phase: Phase, step: int) -> dict[str, float]:
        """Take one step and return its losses."""
        from torch import nn

        rng = stream(self.recipe.seed, "training", self.recipe.variant, phase, str(step))
        total, losses = self._vision(rng) if phase == "vision" else self._answers(phase, rng, step)
        rate = self.rate(phase, step)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimiser.zero_grad(set_to_none=True)
        total.backward()
        nn.utils.clip_grad_norm_([*self._trained(phase), *self.head.parameters()], _LONGEST_GRADIENT)
        self.optimiser.step()
        return losses

    def rate(self, phase: Phase, step: int) -> float:
        """Return the learning rate of a step: up in a hundred steps, down by a cosine."""
        recipe = self.recipe
        tops = {"vision": recipe.vision_rate, "binding": recipe.binding_rate, "language": recipe.language_rate}
        top = tops[phase]
        n = self.n_steps(phase)
        warm = min(1.0, (step + 1) / min(_WARM_UP, max(n // 4, 1)))
        return top * warm * (_DECAY + (1 - _DECAY) * 0.5 * (1 + math.cos(math.pi * step / n)))

    def _drawn(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray[Any, Any], Any]:
        """Return which faces a step sees, and their pixels, moved and mirrored."""
        import torch

        chosen = np.sort(rng.choice(len(self.faces.pictures), n, replace=False))
        shown = pixels(self.shown(self.faces.pictures[chosen]))
        down, right = rng.integers(-_SHIFT, _SHIFT + 1, 2).tolist()
        shown = torch.roll(shown, (down, right), (-2, -1))
        return chosen, shown.flip(-1) if rng.random() < 0.5 else shown

    def shown(self, pictures: Bytes) -> Bytes:
        """Return pictures as this variant sees them."""
        return grey(pictures) if self.recipe.is_grey else np.ascontiguousarray(pictures)

    def _regression(self, tokens: Any, chosen: np.ndarray[Any, Any]) -> Any:
        import torch
        from torch.nn.functional import mse_loss

        wanted = torch.from_numpy(self.faces.averages[chosen])
        found = self.head["all"](tokens.flatten(1)), self.head["mean"](tokens.mean(1))
        own = self.head["own"](tokens[:, : len(CRITERIA)]).transpose(1, 2).flatten(1)
        return mse_loss(found[0], wanted) + mse_loss(found[1], wanted) + mse_loss(own, wanted)

    def _vision(self, rng: np.random.Generator) -> tuple[Any, dict[str, float]]:
        chosen, shown = self._drawn(rng, self.recipe.vision_batch)
        loss = self._regression(features(self.model, shown), chosen)
        return _REGRESSION * loss, {"loss": loss.item()}

    def _answers(self, phase: Phase, rng: np.random.Generator, step: int) -> tuple[Any, dict[str, float]]:
        import torch

        recipe, core = self.recipe, self.model.model
        is_binding = phase == "binding"
        chosen, shown = self._drawn(rng, recipe.binding_batch if is_binding else recipe.language_batch)
        with torch.set_grad_enabled(not is_binding):
            tokens = features(self.model, shown)
        rows = self._pairs(chosen, rng) if is_binding else self._rows(chosen, rng, step)
        batch = pack(self.packer.beginning, rows)
        embedded = core.text_model.get_input_embeddings()(batch.ids)
        places = (batch.ids == self.model.config.image_token_id)[..., None].expand_as(embedded)
        hidden = core.text_model(
            inputs_embeds=embedded.masked_scatter(places, tokens.to(embedded.dtype)),
            attention_mask=batch.mask,
            position_ids=batch.positions,
            use_cache=False,
        ).last_hidden_state
        is_said = batch.said[:, 1:] >= 0
        said = batch.said[:, 1:][is_said]
        told = self.model.lm_head(hidden[:, :-1][is_said]).log_softmax(-1)
        each = -told.gather(1, said[:, None])[:, 0]
        if recipe.all_raters:
            share, (yes, no) = batch.shares[:, 1:][is_said], self.packer.words
            known = share.nan_to_num()  # a NaN would reach the gradient of what is not taken
            each = torch.where(share.isnan(), each, -(known * told[:, yes] + (1 - known) * told[:, no]))
        weights = self.packer.weights[said]
        loss = (each * weights).sum() / weights.sum()
        total, losses = loss, {"loss": loss.item()}
        is_word = (said == self.packer.words[0]) | (said == self.packer.words[1])
        for name, own in (("yes_no", is_word), ("rating", weights == RATING)):
            if bool(own.any()):
                losses[name] = each[own].mean().item()
        if recipe.auxiliary and not is_binding:
            regression = self._regression(tokens, chosen)
            total = total + recipe.auxiliary * _REGRESSION * regression
            losses["regression"] = regression.item()
        return total, losses

    def _pairs(self, chosen: np.ndarray[Any, Any], rng: np.random.Generator) -> list[list[Any]]:
        """Return a short question about the strongest expression of each face, and one about another, in any order."""
        rows = []
        for k in chosen.tolist():
            rater = int(rng.integers(self.faces.ratings.shape[1]))
            yes, shares = self.faces.yes[k, rater], self.faces.averages[k, len(CRITERIA) :]
            likely = np.zeros(len(CRITERIA))
            likely[shares.argmax()] = 1.0
            asked: dict[str, Any] = {"n": _PAIR, "direct": self.recipe.direct_share, "phrasings": [wordings.SHORT]}
            rows.append(self.packer.questions(yes, shares, likely, rng, **asked))
        return rows

    def _rows(self, chosen: np.ndarray[Any, Any], rng: np.random.Generator, step: int) -> list[list[Any]]:
        """Return the branches behind each face: one of its raters answers all of them."""
        recipe = self.recipe
        rates = rng.random() < recipe.ratings_share
        n = recipe.questions_beside if rates else recipe.questions
        phrasings = wordings.TRAINED if step >= recipe.negated_from else wordings.PLAIN
        rows = []
        for k in chosen.tolist():
            rater = int(rng.integers(self.faces.ratings.shape[1]))
            yes, shares = self.faces.yes[k, rater], self.faces.averages[k, len(CRITERIA) :]
            direct = recipe.direct_share
            row = self.packer.questions(yes, shares, self._likely(k), rng, n=n, direct=direct, phrasings=phrasings)
            rows.append(row + (self.packer.requests(self.faces.ratings[k, rater].tolist()) if rates else []))
        return rows

    def _likely(self, k: int) -> np.ndarray[Any, Any]:
        return preferences(self.faces.averages[k])

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint must hold of it."""
        return {
            "model": self.model.state_dict(),
            "head": self.head.state_dict(),
            "optimiser": self.optimiser.state_dict(),
        }

    def restore(self, phase: Phase, state: Mapping[str, Any]) -> None:
        """Take up a checkpoint's state."""
        self.model.load_state_dict(state["model"])
        self.head.load_state_dict(state["head"])
        self.begin(phase)
        self.optimiser.load_state_dict(state["optimiser"])


def preferences(averages: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return by how much each criterion is preferred in questions about a face, given what raters see on average."""
    likely = _PREFERENCE * (averages[: len(CRITERIA)] > _SEEN)
    likely[averages[len(CRITERIA) :].argmax()] = 1.0
    return likely
