"""The classes whose processors need torchvision, each in a process of its own.

A torchvision that is built for another torch breaks every processor of transformers, so it is never imported here:
MEASURAND_TORCHVISION names a folder that holds it (``pip install --no-deps --target FOLDER torchvision num2words``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KINDS = ("smolvlm", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "llava_onevision", "internvl")
TIMEOUT_S = 300


@pytest.mark.parametrize("kind", KINDS)
def test_classes_with_video_processors_share_their_beginnings(kind, tmp_path):
    """T60, T61, T62: as for the other classes, pictures interleaved, with twins that would be seen."""
    pytest.importorskip("transformers")
    folder = os.environ.get("MEASURAND_TORCHVISION")
    if not folder or not (Path(folder) / "torchvision").is_dir():
        pytest.skip("MEASURAND_TORCHVISION names no folder with torchvision (and num2words)")
    paths = [folder, str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    told = subprocess.run(
        [sys.executable, __file__, kind, str(tmp_path)],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TRANSFORMERS_VERBOSITY": "error"},
        text=True,
        timeout=TIMEOUT_S,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    found = json.loads(told.stdout.splitlines()[-1])
    assert found["way"] == "packed"
    assert found["off"] < 1e-4
    assert found["noise"] < 1e-4
    assert found["swapped"] > 100 * 1e-4


def _measure(kind: str, folder: str) -> dict[str, object]:
    import torch

    # Its compiled operations are not there beside a torch of another build; only their names are asked for.
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torch.set_num_threads(1)

    from eliciting import vlm_classes
    from eliciting.test_local_classes import YES_NO, log_odds, plain_log_odds, prompts
    from measurand.eliciting.local import LocalEngine
    from measurand.eliciting.prompt import Prompt
    from measurand.eliciting.system import System

    engine = LocalEngine(System(kind, "transformers", model=str(vlm_classes.save(kind, Path(folder)))))
    asked = prompts(2)
    proofs = engine.prove(asked, YES_NO)
    found = log_odds(engine, asked)
    swapped = [
        Prompt(one.question, picture=asked[1 - i].picture, prefill=one.prefill) for i, one in enumerate(asked[:2])
    ]
    return {
        "way": engine.way,
        "noise": max(proof.value or 0 for proof in proofs),
        "off": float(abs(found[:4] - plain_log_odds(engine, asked[:4])).max()),
        "swapped": float(abs(found[:2] - log_odds(engine, swapped)).max()),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_measure(*sys.argv[1:3])) + "\n")
