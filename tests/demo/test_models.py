"""The models that ship: their bytes, what they do on persons that they never saw, and how their answers are read."""

import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from measurand.demo import unpack

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
if not (ROOT / "training").is_dir():  # a wheel or another part of the repository alone
    pytest.skip("there is no folder training here", allow_module_level=True)
sys.path.append(str(ROOT))

from training.evaluate import ASKED, YES_NO, Evaluation, finite  # noqa: E402
from training.package import MODELS, MOST_BYTES  # noqa: E402
from training.recipe import CRITERIA, Recipe, recipe_of  # noqa: E402

from measurand.eliciting.prompt import Prompt  # noqa: E402
from training import wordings  # noqa: E402

torch.set_num_threads(1)

HERE = Path(unpack.__file__).parent
DOCUMENT = json.loads((HERE / MODELS).read_text(encoding="utf-8"))


def test_what_ships_is_what_was_packaged_and_no_more():
    files = [path for part in ("models", "adapters", "figures") for path in (HERE / part).rglob("*") if path.is_file()]
    found = {
        path.relative_to(HERE).as_posix(): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in files
    }
    assert found == DOCUMENT["files"]
    weights = [path.stat().st_size for path in files if path.suffix == ".safetensors"]
    assert len(weights) == len(unpack.WHOLE) + len(unpack.ADAPTED)
    assert sum(weights) == DOCUMENT["bytes_of_weights"] <= MOST_BYTES


@pytest.fixture(scope="module")
def evaluation():
    return Evaluation(HERE / "models" / "pocket", Recipe(), n_graded=390, n_rated=91)


@pytest.fixture(scope="module")
def figures(evaluation):
    return finite(evaluation.figures())


def test_p_yes_orders_faces_of_unseen_persons_by_the_drawn_intensity(evaluation, figures):
    assert (evaluation.intensities.max(axis=1) > 0).sum() >= 300
    orders = figures["spearman"]
    assert orders["does"]["mean"] >= 0.85
    assert orders["present"]["mean"] >= 0.85
    assert orders["would"]["kept_back"]
    assert orders["would"]["mean"] >= 0.8
    assert len(orders["does"]["each"]) == len(CRITERIA) == 12
    # Order within an expression says nothing of whether the question is listened to.
    assert figures["named"] > 0.8


def test_answers_have_their_mass_behind_the_prefill_and_replies_are_accepted(figures):
    assert figures["mass"]["prefill"]["mean"] >= 0.95
    assert figures["mass"]["none"]["mean"] < figures["mass"]["prefill"]["mean"]
    assert figures["parsed_every"] >= 0.98
    assert figures["parsed_pairs"] >= 0.98


def test_both_readouts_agree_with_single_raters_and_the_blind_model_with_nobody(figures):
    for name in ("verification", "every", "pairs", "human"):
        low, high = figures["kappa"][name]["interval"]
        assert low < figures["kappa"][name]["mean"] < high, name
    assert figures["kappa"]["verification"]["mean"] > 0.15
    blind = Evaluation(HERE / "models" / "blind", recipe_of("blind"), n_graded=91, n_rated=91)
    assert abs(blind._kappa(7 * blind._matrix(wordings.PREFILL)[0])["mean"]) < 0.05


def test_answers_from_a_shared_prefix_are_those_of_one_pass_for_each_question(evaluation):
    """Within 1e-4 log-odds in 32 bits, on every wording, with and without the prefill."""
    prompts = [
        Prompt(wordings.question(phrasing, criterion), picture=evaluation.pictures[k], prefill=prefill)
        for k in (0, 5)
        for phrasing in ASKED
        for criterion in CRITERIA[::3]
        for prefill in (wordings.PREFILL, "")
    ]
    together = dict(evaluation.engine.read(prompts, YES_NO))
    assert any(one.n_cached > 0 for one in together.values())
    for i, prompt in enumerate(prompts):
        ((_, alone),) = evaluation.engine.read([prompt], YES_NO)
        assert alone.n_cached == 0
        assert together[i].low[0] - together[i].low[1] == pytest.approx(alone.low[0] - alone.low[1], abs=1e-4)
