"""Every setting of the training, fixed before anything is compared, and what the variants change of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from measurand.simulate.faces import USUAL

#: What is rated and asked about, always in this order.
CRITERIA: Final = tuple(USUAL)

#: The criteria that the example of the request for pairs names: seven of twelve, near the benchmark's 25 of 40.
EXAMPLE: Final = ("amusement", "contentment", "sadness", "anger", "contempt", "astonishment", "fatigue")

#: Width and height of the pictures, and the patches and groups of patches that make 16 tokens of one.
SIZE: Final = 64
PATCH: Final = 8
SHUFFLE: Final = 2
N_IMAGE_TOKENS: Final = (SIZE // PATCH // SHUFFLE) ** 2


@dataclass(frozen=True)
class Recipe:
    """Settings of one training.

    Parameters
    ----------
    variant : str
        What the model is called.
    seed : int
        The one seed: faces, raters, weights, batches. Validation and held-out faces have seeds of their own behind it.
    n_graded, n_mixed : int
        Faces with one expression, and with up to three.
    n_persons : int
        Persons of the graded faces, and again of the mixed ones.
    n_validation : int
        New faces, four of a person, on which the training is watched.
    n_raters, raters_per_item : int
        Simulated raters, and how many of them see a face.
    width, heads : int
        Width of both towers and heads of attention.
    vision_layers, language_layers : int
        Layers of the towers.
    vocabulary : int
        Tokens of the tokenizer.
    vision_steps, vision_batch, vision_rate : int, int, float
        Phase 1: regression of what raters said on average, through a head that is thrown away.
    binding_steps, binding_batch, binding_rate : int, int, float
        Phase 2: two short questions about a face, its strongest expression and another one, the vision part held still.
        Of such a pair nothing is won by saying how strong the face is; a dozen questions about it, or long ones, take
        many times as long until it matters what is asked about.
    language_steps, language_batch, language_rate : int, int, float
        Phase 3: single raters' answers as text.
    vision_factor : float
        Of the vision part's learning rate in phase 3: at the full rate it loses half of what phase 1 taught it.
    questions, questions_beside : int
        Yes/no questions about a face in phase 3: alone, and beside both requests for ratings.
    ratings_share : float
        Share of the batches of phase 3 that hold both requests for ratings.
    negated_from : int
        The step of phase 3 from which negated wordings are asked: first it is learnt what a question is about.
    direct_share : float
        Share of the yes/no answers that are said at once and not behind ``Answer:``.
    all_raters : bool
        Whether the loss of a yes/no answer is the mean over all raters who saw the face, and not that of one of them:
        the same on average, with far less noise.
    auxiliary : float
        Weight of phase 1's loss in phase 3.
    weight_decay : float
        Of matrices.
    is_grey : bool
        Whether every picture is an even grey: the blind variant.
    keep_at : sequence of int
        Steps of phase 3 at which the model is saved beside the final one, as ``step-…``.
    checkpoint_every, validate_every, log_every : int
        In steps.
    """

    variant: str = "pocket"
    seed: int = 2026
    n_graded: int = 24_000
    n_mixed: int = 12_000
    n_persons: int = 3_000
    n_validation: int = 520
    n_raters: int = 40
    raters_per_item: int = 20
    width: int = 128
    heads: int = 4
    vision_layers: int = 6
    language_layers: int = 4
    vocabulary: int = 640
    vision_steps: int = 3_000
    vision_batch: int = 64
    vision_rate: float = 2e-3
    binding_steps: int = 400
    binding_batch: int = 48
    binding_rate: float = 1e-3
    language_steps: int = 1_500
    language_batch: int = 32
    language_rate: float = 1e-3
    vision_factor: float = 0.2
    questions: int = 4
    questions_beside: int = 2
    ratings_share: float = 0.5
    negated_from: int = 400
    direct_share: float = 0.3
    all_raters: bool = True
    auxiliary: float = 0.5
    weight_decay: float = 0.05
    is_grey: bool = False
    keep_at: Sequence[int] = (250,)
    checkpoint_every: int = 200
    validate_every: int = 250
    log_every: int = 20

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {**dataclasses.asdict(self), "keep_at": list(self.keep_at)}

    @property
    def digest(self) -> str:
        """A hash of the settings, by which a checkpoint is known to belong to them."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:16]


#: What the variants change. `ratings` goes on from a trained model, which the command names.
VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "pocket": {},
    # It has nothing to see, so that a small one learns as much; with it three models stay within 8 MB.
    "blind": {
        "is_grey": True,
        "vision_layers": 1,
        "language_layers": 2,
        "vision_steps": 0,
        "binding_steps": 0,
        "language_steps": 800,
        "negated_from": 200,
        "auxiliary": 0.0,
        "keep_at": (),
    },
    "ratings": {
        "vision_steps": 0,
        "binding_steps": 0,
        "auxiliary": 0.0,
        "ratings_share": 1.0,
        "questions_beside": 0,
        "negated_from": 0,
        "language_steps": 300,
        "language_rate": 3e-4,
        "keep_at": (),
    },
}


def recipe_of(variant: str = "pocket", **changes: Any) -> Recipe:
    """Return a variant's settings, some of them changed."""
    return Recipe(**{"variant": variant, **VARIANTS[variant], **changes})
