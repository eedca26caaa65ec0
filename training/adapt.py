"""Adapt a trained model by LoRA: `python -m training.adapt --start FOLDER --out FOLDER --protocol yes_no`.

The folder gets an adapter in peft's own format, `recipe.json`, `log.jsonl`, and `model/`, the weights with the adapter
merged into them. With `--permuted` every face is answered as another one was: the same questions about the same faces
in the same order, and nothing to learn about a face.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from measurand.demo.merging import BASE_DIGEST, merged
from measurand.stats.inference import stream
from measurand.study import sha256
from training.data import Faces, training_faces
from training.model import load
from training.packing import Packer
from training.phases import Learner, preferences
from training.recipe import Recipe
from training.train import means, versions
from training.validate import Validation

Protocol = Literal["yes_no", "ratings"]

#: The language part's projections; what the vision part sees stays as it is.
_TARGETS: Final = r".*text_model\..*_proj"
_LOG: Final = "log.jsonl"
_ADAPTER: Final = "adapter_model.safetensors"
_LOG_EVERY: Final = 10


@dataclass(frozen=True)
class Arm:
    """What one adapter is trained on, and how.

    Parameters
    ----------
    protocol : {"yes_no", "ratings"}
        Yes/no questions alone, in wordings that are not negated; or both requests for ratings alone.
    is_permuted : bool
        Whether faces are answered as others were.
    steps, batch, rate : int, int, float
        As of phase 3.
    rank, alpha : int
        Of the adapter: to a matrix is added alpha / rank times the product of two thin ones.
    """

    protocol: Protocol = "yes_no"
    is_permuted: bool = False
    steps: int = 300
    batch: int = 32
    rate: float = 3e-3
    rank: int = 8
    alpha: int = 16

    def recipe(self, of_start: Recipe) -> Recipe:
        """Return the recipe of phase 3 that this is, on the faces of the model's own training.

        Both arms have one name and with it the same draws: faces, raters, questions, wordings.
        """
        return dataclasses.replace(
            of_start,
            variant=f"adapter-{self.protocol}",
            language_steps=self.steps,
            language_batch=self.batch,
            language_rate=self.rate,
            ratings_share=float(self.protocol == "ratings"),
            questions_beside=0,
            negated_from=self.steps,
            auxiliary=0.0,
            weight_decay=0.0,
        )


@dataclass
class Adapting(Learner):
    """A learner whose answers may be other faces' while its questions stay.

    Parameters
    ----------
    real : Faces or None
        The faces with their own answers: what most raters saw in a face decides what is asked about it.
    """

    real: Faces | None = None

    def _likely(self, k: int) -> np.ndarray[Any, Any]:
        return preferences((self.real or self.faces).averages[k])


def permuted(faces: Faces, *, seed: int) -> Faces:
    """Return faces each of which has, in every criterion, the answers of another one, of all its raters together.

    How often a criterion is seen, and how far raters agree on it, stays.
    """
    ratings, yes = np.array(faces.ratings), np.array(faces.yes)
    for c in range(ratings.shape[-1]):
        order = stream(seed, "training", "permuted", str(c)).permutation(len(ratings))
        ratings[..., c], yes[..., c] = faces.ratings[order, :, c], faces.yes[order, :, c]
    return Faces(faces.pictures, ratings, yes)


def adapt(start: Path, out: Path, arm: Arm, *, data: Path) -> None:
    """Train an adapter on a saved model, and write it, its log and the merged model.

    Parameters
    ----------
    start : Path
        A saved model, in the folder of its training, whose `recipe.json` says on which faces it was trained.
    out : Path
        A folder without an adapter in it.
    arm : Arm
        Settings.
    data : Path
        Where faces are kept.
    """
    import torch
    from transformers import AutoTokenizer

    if (out / _ADAPTER).exists():
        raise SystemExit(f"{out} holds an adapter already; give another folder")
    recipe = arm.recipe(Recipe(**json.loads((start.parent / "recipe.json").read_text())["recipe"]))
    model = load(start)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(stream(recipe.seed, "training", "adapter").integers(2**31)))
        adapter = _with_adapter(model, arm)
    real = training_faces(recipe, data)
    faces = permuted(real, seed=recipe.seed) if arm.is_permuted else real
    learner = Adapting(recipe, model.train(), Packer(AutoTokenizer.from_pretrained(start)), faces, real=real)
    learner.begin("language")
    validation = Validation.of(learner)
    base_sha256 = sha256(start / "model.safetensors")
    out.mkdir(parents=True, exist_ok=True)
    facts = {
        "adapter": {**dataclasses.asdict(arm), "start": f"{start.parent.name}/{start.name}", BASE_DIGEST: base_sha256},
        "recipe": recipe.as_dict(),
        "data_sha256": faces.digest,
        **versions(),
    }
    (out / "recipe.json").write_text(json.dumps(facts, indent=2) + "\n")
    (out / _LOG).write_text("")
    _log(out, {"step": 0, "validation": validation.language(learner)})
    recent: list[dict[str, float]] = []
    for step in range(arm.steps):
        recent.append(learner.step("language", step))
        if (step + 1) % _LOG_EVERY == 0 or step + 1 == arm.steps:
            _log(out, {"step": step + 1, **means(recent)})
            recent = []
    _log(out, {"step": arm.steps, "validation": validation.language(learner)})
    _save(adapter, out, base=f"{start.parent.name}/{start.name}", base_sha256=base_sha256)
    merged(start, out, out / "model")


def _with_adapter(model: Any, arm: Arm) -> Any:
    """Put an adapter into a model, and return what peft saves of it; only the adapter learns."""
    import peft

    config = peft.LoraConfig(r=arm.rank, lora_alpha=arm.alpha, lora_dropout=0.0, bias="none", target_modules=_TARGETS)
    with warnings.catch_warnings():
        # peft asks for a name that transformers is giving up.
        warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
        return peft.get_peft_model(model, config)


def _save(adapter: Any, out: Path, *, base: str, base_sha256: str) -> None:
    """Write an adapter as peft does, in 16 bits and without peft's empty model card."""
    import peft
    import torch
    from safetensors.torch import save

    weights = peft.get_peft_model_state_dict(adapter, save_embedding_layers=False)
    small = {name: weights[name].detach().to(torch.float16).contiguous() for name in sorted(weights)}
    config = adapter.peft_config["default"]
    config.base_model_name_or_path, config.inference_mode = base, True
    config.save_pretrained(str(out))
    (out / _ADAPTER).write_bytes(_in_order(save(small, metadata={"format": "pt", BASE_DIGEST: base_sha256})))


def _in_order(saved: bytes) -> bytes:
    """Return a safetensors file with its metadata in order: the library writes them in any."""
    n = int.from_bytes(saved[:8], "little")
    header = json.loads(saved[8 : 8 + n])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + saved[8 + n :]


def _log(out: Path, line: Mapping[str, Any]) -> None:
    with (out / _LOG).open("a") as log:
        log.write(json.dumps({**line, "cpu_seconds": round(time.process_time(), 1)}) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and train an adapter."""
    usual = Arm()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True, help="a saved model in the folder of its training")
    parser.add_argument("--out", type=Path, required=True, help="folder of the adapter")
    parser.add_argument("--protocol", choices=get_args(Protocol), required=True)
    parser.add_argument("--permuted", action="store_true", help="every face is answered as another one was")
    parser.add_argument("--steps", type=int, default=usual.steps)
    parser.add_argument("--batch", type=int, default=usual.batch)
    parser.add_argument("--rate", type=float, default=usual.rate)
    parser.add_argument("--rank", type=int, default=usual.rank)
    parser.add_argument("--data", type=Path, help="folder where faces are kept (default: faces beside the training)")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args(arguments)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch

    torch.set_num_threads(given.threads)
    arm = Arm(given.protocol, given.permuted, given.steps, given.batch, given.rate, given.rank)
    adapt(given.start, given.out, arm, data=given.data or given.start.parent.parent / "faces")
    return 0


if __name__ == "__main__":
    sys.exit(main())
