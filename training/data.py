"""Faces and what single raters said about them: drawn once, kept as arrays, known by a hash.

Drawn intensities are not among what is kept for training; only the faces of validation and evaluation have them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from measurand.data.scale import Scale
from measurand.simulate import simulate_faces, simulate_raters
from measurand.simulate.faces import face_pictures
from training.recipe import CRITERIA, SIZE, Recipe
from training.wordings import SCALE

Bytes = npt.NDArray[np.uint8]
FloatArray = npt.NDArray[np.float64]

#: Value of an even grey picture.
GREY = 128


@dataclass(frozen=True)
class Faces:
    """Pictures and answers.

    Parameters
    ----------
    pictures : ndarray of uint8, shape (n_faces, SIZE, SIZE, 3)
        Red, green, blue.
    ratings : ndarray of int8, shape (n_faces, n_raters, n_criteria)
        Ratings from 0 to 7 of those raters who saw the face.
    yes : ndarray of int8, shape (n_faces, n_raters, n_criteria)
        The same raters' yes (1) or no (0).
    """

    pictures: Bytes
    ratings: npt.NDArray[np.int8]
    yes: npt.NDArray[np.int8]

    @cached_property
    def averages(self) -> npt.NDArray[np.float32]:
        """Mean rating in shares of the scale and share of yes, shape (n_faces, 2 n_criteria)."""
        both = [self.ratings.mean(axis=1, dtype=np.float32) / 7, self.yes.mean(axis=1, dtype=np.float32)]
        return np.concatenate(both, axis=1)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of pictures and answers."""
        found = hashlib.sha256()
        for array in (self.pictures, self.ratings, self.yes):
            found.update(np.ascontiguousarray(array).data)
        return found.hexdigest()


def training_faces(recipe: Recipe, folder: Path) -> Faces:
    """Return the faces to train on, from a folder where they were kept, or drawn and kept there."""
    wanted = {
        name: getattr(recipe, name)
        for name in ("seed", "n_graded", "n_mixed", "n_persons", "n_raters", "raters_per_item")
    }
    key = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:12]
    files = {name: folder / f"{name}-{key}.npy" for name in ("pictures", "ratings", "yes")}
    if not all(file.exists() for file in files.values()):
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in _drawn(recipe).items():
            partial = files[name].with_suffix(".partial")
            with partial.open("wb") as target:
                np.save(target, array)
            partial.rename(files[name])
    return Faces(**{name: np.load(file, mmap_mode="r") for name, file in files.items()})


def _drawn(recipe: Recipe) -> dict[str, npt.NDArray[Any]]:
    """Return pictures and answers of graded and mixed faces, one set behind the other."""
    parts: list[dict[str, npt.NDArray[Any]]] = []
    for offset, kind, n in ((0, "graded", recipe.n_graded), (1, "mixed", recipe.n_mixed)):
        if not n:
            continue
        # Another seed for another set: no picture and no person is in both.
        seed = recipe.seed * 10 + offset
        made: Any = kind
        faces = simulate_faces(n_items=n, n_persons=min(recipe.n_persons, n), seed=seed, kind=made, held_out=0)
        said = answers(faces, n_raters=recipe.n_raters, raters_per_item=recipe.raters_per_item, seed=recipe.seed)
        parts.append({"pictures": pictures(faces, seed=seed), **said})
    return {name: np.concatenate([part[name] for part in parts]) for name in ("pictures", "ratings", "yes")}


def pictures(faces: pd.DataFrame, *, seed: int) -> Bytes:
    """Return a table's pictures as one array."""
    out = np.empty((len(faces), SIZE, SIZE, 3), dtype=np.uint8)
    for k, picture in enumerate(face_pictures(faces, seed=seed, size=SIZE)):
        out[k] = picture
    return out


def answers(faces: pd.DataFrame, *, n_raters: int, raters_per_item: int, seed: int) -> dict[str, npt.NDArray[np.int8]]:
    """Return ratings and yes/no answers of the same views, each of shape (n_faces, n_raters, n_criteria)."""
    shape = (len(faces), raters_per_item, len(CRITERIA))
    panel: dict[str, Any] = {"n_raters": n_raters, "raters_per_item": raters_per_item, "seed": seed}
    graded = simulate_raters(faces, scale=SCALE, **panel).ratings["rating"].to_numpy(dtype=np.int8).reshape(shape)
    said = simulate_raters(faces, scale=Scale(labels=("no", "yes")), **panel).ratings["rating"].to_numpy()
    return {"ratings": graded, "yes": (said == "yes").astype(np.int8).reshape(shape)}


def held_out(recipe: Recipe, *, n: int, n_persons: int, offset: int) -> tuple[pd.DataFrame, Bytes]:
    """Return graded faces of persons that were never trained on, with their drawn intensities, and their pictures.

    `offset` tells sets apart: 2 for validation while training, 3 for the evaluation behind it.
    """
    seed = recipe.seed * 10 + offset
    faces = simulate_faces(n_items=n, n_persons=n_persons, seed=seed, held_out=0)
    return faces, pictures(faces, seed=seed)


def grey(shown: Bytes) -> Bytes:
    """Return even grey pictures in the place of these."""
    return np.full_like(shown, GREY)
