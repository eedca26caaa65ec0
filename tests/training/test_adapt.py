"""Adapters in small: they learn, they alone change answers, and the permuted arm has other labels and nothing else."""

import json
import os
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ROOT = Path(__file__).parents[2]
if not (ROOT / "training").is_dir():  # a wheel or another part of the repository alone
    pytest.skip("there is no folder training here", allow_module_level=True)
sys.path.append(str(ROOT))

from safetensors.numpy import load_file  # noqa: E402
from training.adapt import Adapting, Arm, _with_adapter, adapt, permuted  # noqa: E402
from training.data import training_faces  # noqa: E402
from training.model import build, load  # noqa: E402
from training.packing import Packer  # noqa: E402
from training.recipe import CRITERIA, recipe_of  # noqa: E402
from training.train import Training  # noqa: E402
from training.validate import Validation  # noqa: E402

from eliciting.conftest import engine_module  # noqa: E402
from training import wordings  # noqa: E402

torch.set_num_threads(1)

SMALL = recipe_of(
    n_graded=120,
    n_mixed=60,
    n_persons=20,
    n_validation=26,
    n_raters=6,
    raters_per_item=4,
    width=64,
    vision_layers=2,
    language_layers=2,
    vision_steps=20,
    vision_batch=16,
    binding_steps=0,
    language_steps=20,
    language_rate=4e-3,
    language_batch=8,
    keep_at=(),
    validate_every=1000,
)
ARM = Arm(steps=30, batch=8, rate=1e-2)


@pytest.fixture(scope="module", autouse=True)
def _peft():
    engine_module("peft")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("faces")


@pytest.fixture(scope="module")
def start(tmp_path_factory, data):
    out = tmp_path_factory.mktemp("pocket")
    Training(SMALL, out, data=data).run()
    return out / "model"


@pytest.fixture(scope="module")
def real(tmp_path_factory, start, data):
    out = tmp_path_factory.mktemp("arms") / "real"
    adapt(start, out, ARM, data=data)
    return out


def learner_of(folder, data):
    packer = Packer(transformers.AutoTokenizer.from_pretrained(folder))
    recipe = Arm(batch=90).recipe(SMALL)
    return Adapting(recipe, load(folder), packer, training_faces(recipe, data))


def loss(folder, data):
    """Return a saved model's loss in the yes/no protocol, on the same questions about the same faces for every one."""
    with torch.no_grad():
        return learner_of(folder, data)._answers("language", np.random.default_rng(5), 0)[1]["loss"]


def lines(out):
    """Return a log without the times in it."""
    read = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "cpu_seconds"} for line in read]


def test_the_real_arm_learns(real, start, data):
    before, after = (loss(folder, data) for folder in (start, real / "model"))
    assert after < 0.93 * before
    assert [line["step"] for line in lines(real)] == [0, 10, 20, 30, 30]


def test_the_adapter_alone_changes_answers(real, start, data):
    before, after = (load_file(folder / "model.safetensors") for folder in (start, real / "model"))
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    assert changed == {name for name in before if "text_model" in name and "_proj" in name}
    first, last = (line["validation"] for line in lines(real) if "validation" in line)
    assert abs(last["trained_mass"] - first["trained_mass"]) > 0.01
    # What was validated with the adapter beside the weights is what was saved in 16 bits and merged.
    of_merged = learner_of(real / "model", data)
    found = Validation.of(of_merged).language(of_merged)
    assert found["trained_mass"] == pytest.approx(last["trained_mass"], abs=2e-3)


def test_the_same_seed_gives_the_same_bytes(real, start, data, tmp_path):
    adapt(start, tmp_path / "again", ARM, data=data)
    for name in ("adapter_model.safetensors", "adapter_config.json", "recipe.json", "model/model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (real / name).read_bytes(), name
    assert lines(tmp_path / "again") == lines(real)


def test_a_folder_that_holds_an_adapter_is_refused(real, start, data):
    with pytest.raises(SystemExit, match="another folder"):
        adapt(start, real, ARM, data=data)


def test_peft_loads_what_is_written_and_no_path_of_a_machine_is_in_it(real, start):
    peft = engine_module("peft")
    with pytest.warns(FutureWarning, match="is_gradient_checkpointing"):
        model = peft.PeftModel.from_pretrained(load(start), real).merge_and_unload()
    merged, weights = load_file(real / "model" / "model.safetensors"), model.state_dict()
    assert max(np.abs(weights[name].numpy() - merged[name].astype(np.float32)).max() for name in merged) < 1e-3
    for name in ("adapter_config.json", "recipe.json"):
        assert str(start.parent.parent) not in (real / name).read_text()


def learner(arm, data):
    recipe = arm.recipe(SMALL)
    model, processor = build(recipe)
    faces = training_faces(recipe, data)
    shown = permuted(faces, seed=recipe.seed) if arm.is_permuted else faces
    return Adapting(recipe, model, Packer(processor.tokenizer), shown, real=faces)


def test_both_arms_ask_the_same_questions_about_the_same_faces_and_get_other_answers(data):
    rows = {}
    for is_permuted in (False, True):
        arm = learner(Arm(is_permuted=is_permuted), data)
        chosen, _ = arm._drawn(np.random.default_rng(1), 24)
        rows[is_permuted] = arm._rows(chosen, np.random.default_rng(2), 0)
    pairs = list(zip(chain(*rows[False]), chain(*rows[True]), strict=True))
    assert [one.question for one, _ in pairs] == [other.question for _, other in pairs]
    assert len({one.question for one, _ in pairs}) > 20
    assert np.mean([one.share != other.share for one, other in pairs]) > 0.3
    asked = {wordings.question(one, criterion) for one in wordings.PLAIN for criterion in CRITERIA}
    text = Packer(build(SMALL)[1].tokenizer).tokenizer.decode
    assert {text(one.question).removeprefix(" ").split("<end_of_utterance>")[0] for one, _ in pairs} <= asked


def test_permuted_labels_keep_everything_but_whose_face_they_are_of(data):
    faces = training_faces(SMALL, data)
    other = permuted(faces, seed=3)
    assert other.pictures is faces.pictures
    for c in range(len(CRITERIA)):
        both = [np.concatenate([one.ratings[..., c], one.yes[..., c]], axis=1) for one in (faces, other)]
        assert sorted(map(tuple, both[0].tolist())) == sorted(map(tuple, both[1].tolist()))
    # What is left of the labels' order is chance: 180 faces have a correlation of .07 or so.
    means = [one.ratings.mean(axis=1) for one in (faces, other)]
    correlations = [np.corrcoef(means[0][:, c], means[1][:, c])[0, 1] for c in range(len(CRITERIA))]
    assert abs(np.mean(correlations)) < 0.1


def test_the_ratings_arm_asks_for_ratings_alone(data):
    arm = learner(Arm(protocol="ratings"), data)
    rows = arm._rows(np.arange(5), np.random.default_rng(0), 0)
    wanted = [branch.question for branch in arm.packer.requests([0] * len(CRITERIA))]
    assert [[one.question for one in row] for row in rows] == [wanted] * 5


def test_an_adapter_of_the_pocket_model_has_less_than_150_kilobytes():
    adapter = _with_adapter(build(recipe_of())[0], Arm())
    assert 2 * sum(one.numel() for one in adapter.parameters() if one.requires_grad) < 140_000
