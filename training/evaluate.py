"""What a trained model does on faces of persons that it never saw, asked through the library as any system is.

    python -m training.evaluate FOLDER

reads `FOLDER/model` and `FOLDER/recipe.json`, and writes `FOLDER/figures.json`.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image

from measurand.eliciting.controls import picture
from measurand.eliciting.declared import Phrasing, RatingsRule
from measurand.eliciting.engine import Decoding, Failure
from measurand.eliciting.labels import Labels
from measurand.eliciting.local import LocalEngine
from measurand.eliciting.prompt import Picture, Prompt
from measurand.eliciting.ratings_reply import read_ratings_reply
from measurand.eliciting.system import System
from measurand.stats.inference import bootstrap, clusters, percentile_interval, stream
from measurand.stats.kappa import kappa_of_values
from measurand.stats.ranking import spearman
from training import wordings
from training.data import Bytes, answers, held_out
from training.recipe import CRITERIA, EXAMPLE, Recipe
from training.validate import finite, rounded

FloatArray = npt.NDArray[np.float64]

YES_NO: Final = Labels({"yes": ("yes",), "no": ("no",)})
#: Wordings that order graded faces: three that were trained, the negated one among them, and two that were not.
ASKED: Final = (*wordings.TRAINED[:3], *wordings.KEPT_BACK)
#: The first paper's panel.
N_RATERS: Final = 8
RATERS_PER_ITEM: Final = 4
_REPLICATES: Final = 500
_RULES: Final = {
    "every": RatingsRule(),
    "pairs": RatingsRule(n_pairs=len(EXAMPLE), zeros=False, example=EXAMPLE),
}


@dataclass
class Evaluation:
    """Held-out faces, the panel that rated them, and the model as a system of the library.

    Parameters
    ----------
    model : Path
        A saved model.
    recipe : Recipe
        Settings that it was trained with.
    n_graded : int
        Faces that are each asked about their own expression.
    n_rated : int
        How many of them are asked about everything, and rated.
    """

    model: Path
    recipe: Recipe
    n_graded: int = 1300
    n_rated: int = 390

    def __post_init__(self) -> None:
        n_persons = max(self.n_graded // 4, 1)
        faces, shown = held_out(self.recipe, n=self.n_graded, n_persons=n_persons, offset=3)
        self.faces: pd.DataFrame = faces
        self.pictures = [_png(one) for one in shown]
        self.intensities = self.faces[list(CRITERIA)].to_numpy(dtype=np.float64)
        made = answers(
            self.faces.iloc[: self.n_rated],
            n_raters=N_RATERS,
            raters_per_item=RATERS_PER_ITEM,
            seed=self.recipe.seed * 10 + 3,
        )
        self.ratings = made["ratings"].astype(np.float64)
        self.persons = pd.factorize(self.faces["group"].iloc[: self.n_rated])[0]
        self.engine = LocalEngine(System(self.recipe.variant, "transformers", model=str(self.model)))

    def figures(self) -> dict[str, Any]:
        """Return every figure of the model card."""
        proofs = self.engine.prove([self._ask(0, one, CRITERIA[0]) for one in ASKED], YES_NO)
        found: dict[str, Any] = {
            "n_graded": self.n_graded,
            "n_rated": self.n_rated,
            "n_persons": int(self.faces["group"].nunique()),
            "proofs": {one.check: {"passed": one.passed, "value": one.value} for one in proofs},
            "way": self.engine.way,
            "spearman": self._orders(),
        }
        p, mass = self._matrix(wordings.PREFILL)
        p_bare, mass_bare = self._matrix("")
        found["mass"] = {"prefill": _summary(mass), "none": _summary(mass_bare)}
        # Order within an expression says nothing of whether the question is listened to; this does.
        drawn = self.intensities[: self.n_rated]
        strong = drawn.max(axis=1) > 0.5
        found["named"] = float((p.argmax(axis=1) == drawn.argmax(axis=1))[strong].mean())
        values = {"verification": 7 * p, "verification_without_prefill": 7 * p_bare}
        for name, phrasing in (("every", wordings.EVERY), ("pairs", wordings.PAIRS)):
            values[name], found[f"parsed_{name}"] = self._replies(name, phrasing)
        found["kappa"] = {name: self._kappa(value) for name, value in values.items()}
        found["kappa"]["human"] = self._human()
        return found

    # ------------------------------------------------------------------------------------------------ questions
    def _ask(self, k: int, phrasing: Phrasing, criterion: str, prefill: str = wordings.PREFILL) -> Prompt:
        return Prompt(wordings.question(phrasing, criterion), picture=self.pictures[k], prefill=prefill)

    def _read(self, prompts: Sequence[Prompt]) -> tuple[FloatArray, FloatArray]:
        """Return P(yes) and the mass of both words."""
        p, mass = np.full(len(prompts), np.nan), np.full(len(prompts), np.nan)
        for i, outcome in self.engine.read(prompts, YES_NO):
            if isinstance(outcome, Failure):
                raise RuntimeError(f"prompt {i + 1} was not read: {outcome.reason}")
            yes, no = (math.exp(value) for value in outcome.low)
            p[i], mass[i] = yes / (yes + no), outcome.mass_high
        return p, mass

    def _orders(self) -> dict[str, Any]:
        """Return, by wording, how P(yes) orders faces of an expression by its intensity."""
        own = self.intensities.argmax(axis=1)
        graded = np.flatnonzero(self.intensities.max(axis=1) > 0)
        prompts = [self._ask(int(k), one, CRITERIA[own[k]]) for k in graded for one in ASKED]
        said = self._read(prompts)[0].reshape(len(graded), len(ASKED))
        out: dict[str, Any] = {}
        for w, phrasing in enumerate(ASKED):
            p = 1 - said[:, w] if phrasing.negated else said[:, w]
            each = []
            for c in range(len(CRITERIA)):
                rows = own[graded] == c
                each.append(_rank(p[rows], self.intensities[graded, c][rows]))
            out[phrasing.name] = {
                "mean": _mean(each),
                "each": rounded(each),
                "kept_back": phrasing in wordings.KEPT_BACK,
            }
        return out

    def _matrix(self, prefill: str) -> tuple[FloatArray, FloatArray]:
        """Return P(yes) and mass of every criterion on the rated faces, shape (n_rated, n_criteria)."""
        wording = wordings.TRAINED[0]
        prompts = [self._ask(k, wording, one, prefill) for k in range(self.n_rated) for one in CRITERIA]
        p, mass = self._read(prompts)
        return p.reshape(self.n_rated, -1), mass.reshape(self.n_rated, -1)

    def _replies(self, name: str, phrasing: Phrasing) -> tuple[FloatArray, float]:
        """Return generated ratings, NaN where there is none, and the share of replies that are accepted."""
        prompts = [Prompt(wordings.request(phrasing), picture=one) for one in self.pictures[: self.n_rated]]
        values = np.full((self.n_rated, len(CRITERIA)), np.nan)
        accepted = 0
        for i, outcome in self.engine.generate(prompts, [Decoding(max_tokens=200)] * len(prompts)):
            if isinstance(outcome, Failure):
                raise RuntimeError(f"request {i + 1} got no reply: {outcome.reason}")
            read = read_ratings_reply(
                outcome.text,
                criteria=CRITERIA,
                scale={"": wordings.SCALE},
                rule=_RULES[name],
                is_truncated=outcome.finish == "length",
                is_refused=False,
            )
            accepted += read.accepted
            values[i] = [read.cells[one].value for one in CRITERIA]
        return values, accepted / len(prompts)

    # ---------------------------------------------------------------------------------------------- agreement
    def _kappa(self, values: FloatArray) -> dict[str, Any]:
        """Return quadratic kappa with single raters by criterion, and the mean with an interval over persons."""
        return self._over_persons({c: (values[:, c], self.ratings[:, :, c]) for c in range(len(CRITERIA))})

    def _human(self) -> dict[str, Any]:
        """Return the same of raters with each other, all pairs pooled."""
        pairs = {}
        for c in range(len(CRITERIA)):
            others = []
            for r in range(RATERS_PER_ITEM):
                rest = self.ratings[:, :, c].copy()
                rest[:, r] = np.nan
                others.append(rest)
            pairs[c] = (self.ratings[:, :, c].T.ravel(), np.concatenate(others))
        return self._over_persons(pairs)

    def _over_persons(self, pairs: Mapping[int, tuple[FloatArray, FloatArray]]) -> dict[str, Any]:
        drawn = clusters(self.persons, np.arange(self.n_rated), self.n_rated)

        def each(weights: FloatArray) -> FloatArray:
            found = []
            for values, ratings in pairs.values():
                times = len(values) // self.n_rated
                known = ~np.isnan(values)
                if not known.any():
                    found.append(np.full(len(weights), np.nan))
                    continue
                repeated = np.tile(weights, (1, times))[:, known]
                shown = np.broadcast_to(values[known], repeated.shape)
                found.append(kappa_of_values(shown, repeated, ratings[known], "quadratic"))
            return np.column_stack(found)

        def mean(weights: FloatArray) -> FloatArray:
            return np.asarray(each(weights)[:, asked].mean(axis=1))

        by_criterion = each(drawn.weights())[0]
        asked = np.flatnonzero(~np.isnan(by_criterion))
        found = {"mean": math.nan, "interval": [math.nan, math.nan]}
        if len(asked):
            rng = stream(self.recipe.seed, "evaluate", "persons")
            spread = percentile_interval(bootstrap(mean, drawn, n_replicates=_REPLICATES, rng=rng), confidence=0.95)
            found = {"mean": _mean(by_criterion.tolist()), "interval": [spread.low, spread.high]}
        # The request for pairs asks about fewer criteria; only on these can it be compared.
        shared = _mean([by_criterion[CRITERIA.index(one)] for one in EXAMPLE])
        return {**found, "mean_of_pairs": shared, "each": rounded(by_criterion.tolist())}


def _png(pixels: Bytes) -> Picture:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return picture(file.getvalue(), "a drawn face")


def _rank(x: FloatArray, y: FloatArray) -> float:
    return float(spearman(x, y, np.ones((1, len(x))))[0])


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.mean(known)) if known else math.nan


def _summary(mass: FloatArray) -> dict[str, float]:
    return {"mean": float(mass.mean()), "least": float(mass.min())}


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and evaluate."""
    parser = argparse.ArgumentParser(description="Evaluate a trained pocket model on persons that it never saw.")
    parser.add_argument("folder", type=Path, help="folder of a training")
    parser.add_argument("--model", default="model", help="which of its models (model, step-500, …)")
    parser.add_argument("--graded", type=int, default=1300, help="faces asked about their own expression")
    parser.add_argument("--rated", type=int, default=390, help="how many of them are asked about everything")
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(given.threads)
    facts = json.loads((given.folder / "recipe.json").read_text())
    recipe = Recipe(**facts["recipe"])
    found = Evaluation(given.folder / given.model, recipe, n_graded=given.graded, n_rated=given.rated).figures()
    name = "figures.json" if given.model == "model" else f"figures-{given.model}.json"
    (given.folder / name).write_text(json.dumps(finite(found), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
