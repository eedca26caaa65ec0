"""Train the pocket model, or a variant of it: `python -m training.train --out FOLDER`.

The same command goes on where a training was stopped. The folder gets `model/` (what transformers loads), `log.jsonl`,
`curves.svg`, `recipe.json` and `checkpoint.pt`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from training.curves import write_curves
from training.data import training_faces
from training.model import build, load_weights, save
from training.packing import Packer
from training.phases import PHASES, Learner, Phase
from training.recipe import VARIANTS, Recipe, recipe_of
from training.validate import Validation, finite

_CHECKPOINT: Final = "checkpoint.pt"
_LOG: Final = "log.jsonl"


class Training:
    """One training in its folder.

    Parameters
    ----------
    recipe : Recipe
        Its settings.
    out : Path
        Its folder; what is in it must be of the same settings.
    data : Path
        Where faces are kept, for every training that has the same.
    start : Path or None
        A saved model to go on from.
    """

    def __init__(self, recipe: Recipe, out: Path, *, data: Path, start: Path | None = None) -> None:
        self.recipe, self.out = recipe, out
        out.mkdir(parents=True, exist_ok=True)
        self._began = time.process_time()
        model, self.processor = build(recipe)
        if start is not None:
            load_weights(model, start)
        self.learner = Learner(recipe, model.train(), Packer(self.processor.tokenizer), training_faces(recipe, data))
        self.validation = Validation.of(self.learner)
        self._recent: list[dict[str, float]] = []
        self._phase, self._step, self._spent = self._resume()

    def _resume(self) -> tuple[Phase, int, float]:
        import torch

        file = self.out / _CHECKPOINT
        if not file.exists():
            facts = {"recipe": self.recipe.as_dict(), "data_sha256": self.learner.faces.digest, **versions()}
            (self.out / "recipe.json").write_text(json.dumps(facts, indent=2) + "\n")
            (self.out / _LOG).write_text("")
            self.learner.begin(PHASES[0])
            return PHASES[0], 0, 0.0
        state = torch.load(file, weights_only=True)
        if state["recipe"] != self.recipe.digest:
            raise SystemExit(f"{file} belongs to another recipe; give another folder, or the same settings")
        if state["data"] != self.learner.faces.digest:
            raise SystemExit(f"{file} was trained on other faces than are drawn now; give another folder")
        phase: Phase = state["phase"]
        self._recent = state["recent"]
        self.learner.restore(phase, state)
        with (self.out / _LOG).open("r+b") as log:
            log.truncate(state["log"])
        return phase, state["step"], state["seconds"]

    @property
    def seconds(self) -> float:
        """CPU seconds so far, those of earlier runs included as far as they were not lost."""
        return self._spent + time.process_time() - self._began

    def run(self, *, minutes: float | None = None, stop_at: tuple[Phase, int] | None = None) -> bool:
        """Train to the end, or until a time or a step; return whether it is done."""
        until = None if minutes is None else time.monotonic() + 60 * minutes
        while True:
            phase, n = self._phase, self.learner.n_steps(self._phase)
            while self._step < n:
                if (until is not None and time.monotonic() > until) or stop_at == (phase, self._step):
                    self.keep()
                    return False
                self._one(phase, n)
            if phase == PHASES[-1]:
                break
            self._phase, self._step = PHASES[PHASES.index(phase) + 1], 0
            self.learner.begin(self._phase)
            self.keep()
        self.keep()
        save(self.learner.model, self.processor, self.out / "model")
        write_curves(self.out / _LOG, self.out / "curves.svg")
        return True

    def _one(self, phase: Phase, n: int) -> None:
        recipe = self.recipe
        self._recent.append(self.learner.step(phase, self._step))
        self._step += 1
        if self._step % recipe.log_every == 0 or self._step == n:
            self._log({"phase": phase, "step": self._step, **means(self._recent)})
            self._recent = []
        if self._step % recipe.validate_every == 0 or self._step == n:
            found = getattr(self.validation, phase)(self.learner)
            self._log({"phase": phase, "step": self._step, "validation": found})
        if phase == "language" and self._step in recipe.keep_at:
            save(self.learner.model, self.processor, self.out / f"step-{self._step}")
        if self._step % recipe.checkpoint_every == 0:
            self.keep()

    def _log(self, line: Mapping[str, Any]) -> None:
        with (self.out / _LOG).open("a") as log:
            log.write(json.dumps({**finite(line), "cpu_seconds": round(self.seconds, 1)}) + "\n")

    def keep(self) -> None:
        """Write a checkpoint, whole or not at all."""
        import torch

        partial = self.out / f"{_CHECKPOINT}.partial"
        state = {
            "recipe": self.recipe.digest,
            "data": self.learner.faces.digest,
            "phase": self._phase,
            "step": self._step,
            "seconds": self.seconds,
            "recent": self._recent,
            "log": (self.out / _LOG).stat().st_size,
            **self.learner.state(),
        }
        torch.save(state, partial)
        partial.replace(self.out / _CHECKPOINT)


def means(losses: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of each loss over the steps that have it."""
    names = dict.fromkeys(name for one in losses for name in one)
    return {name: statistics.fmean(one[name] for one in losses if name in one) for name in names}


def versions() -> dict[str, Any]:
    """Return what weights depend on besides recipe and data."""
    import numpy
    import PIL
    import torch
    import transformers

    libraries = {"torch": torch, "transformers": transformers, "numpy": numpy, "pillow": PIL}
    found = {name: str(library.__version__) for name, library in libraries.items()}
    return {"versions": found, "python": sys.version.split()[0], "threads": torch.get_num_threads()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and train."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of this training")
    parser.add_argument("--variant", choices=list(VARIANTS), default="pocket")
    parser.add_argument("--data", type=Path, help="folder where faces are kept (default: faces beside --out)")
    parser.add_argument("--start", type=Path, help="a saved model to go on from (for the variant ratings)")
    parser.add_argument(
        "--threads", type=int, default=2, help="threads of torch; results depend on it in the last bits"
    )
    parser.add_argument("--minutes", type=float, help="stop with a checkpoint after so many minutes")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting (JSON value)"
    )
    given = parser.parse_args(arguments)
    if (given.variant == "ratings") != (given.start is not None):
        parser.error("the variant ratings, and no other, goes on from a saved model: give --start FOLDER")
    changes = {name: json.loads(value) for name, _, value in (one.partition("=") for one in given.set)}
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(given.threads)
    data = given.data or given.out.parent / "faces"
    training = Training(recipe_of(given.variant, **changes), given.out, data=data, start=given.start)
    return 0 if training.run(minutes=given.minutes) else 75


if __name__ == "__main__":
    sys.exit(main())
