"""A merged model is the base with the adapter in it: held against peft, and refused where it could not be."""

import hashlib
import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from safetensors.numpy import load_file, save_file  # noqa: E402
from transformers.utils import logging  # noqa: E402

from eliciting import vlm_classes  # noqa: E402
from eliciting.conftest import engine_module  # noqa: E402
from measurand.demo.merging import BASE_DIGEST, merged  # noqa: E402
from measurand.result import MeasurandError  # noqa: E402

torch.set_num_threads(1)

PICTURE = vlm_classes.picture(3)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = vlm_classes.save("idefics3", tmp_path_factory.mktemp("base"))
    (folder / "README.md").write_text("Of the base alone.")
    return folder


def load(folder):
    logging.disable_progress_bar()
    try:
        return transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    finally:
        logging.enable_progress_bar()


def adapted(base, out, **settings):
    """Save an adapter of random matrices, and return the model that peft makes of it."""
    peft = engine_module("peft")
    model = load(base)
    torch.manual_seed(5)
    with pytest.warns(FutureWarning, match="is_gradient_checkpointing"):
        adapter = peft.get_peft_model(
            model, peft.LoraConfig(r=4, lora_alpha=8, target_modules=r".*text_model\..*_proj", **settings)
        )
    with torch.no_grad():
        for name, weight in adapter.named_parameters():
            if "lora_" in name:
                weight.normal_(0, 0.2)
    adapter.save_pretrained(out)
    return adapter.merge_and_unload()


def logits(model, folder):
    processor = transformers.AutoProcessor.from_pretrained(folder)
    inputs = processor(text=["<image> happy?"], images=[[vlm_classes.image_of(PICTURE)]], return_tensors="pt")
    with torch.inference_mode():
        return model(**inputs).logits


@pytest.mark.parametrize("is_stable", [False, True], ids=["alpha over r", "alpha over root r"])
def test_a_merged_model_answers_as_pefts_does(base, tmp_path, is_stable):
    wanted = logits(adapted(base, tmp_path / "adapter", use_rslora=is_stable), base)
    merged(base, tmp_path / "adapter", tmp_path / "out")
    model = load(tmp_path / "out")
    found = logits(model, tmp_path / "out")
    change = (wanted - logits(load(base), base)).abs().max()
    assert float(change) > 1
    # What is left is rounding to 16 bits, some 1/1000 of the change.
    assert float((found - wanted).abs().max()) < 0.01 * float(change)


def test_weights_without_an_adapter_are_the_bases_and_the_rest_of_the_folder_is_copied(base, tmp_path):
    adapted(base, tmp_path / "adapter")
    merged(base, tmp_path / "adapter", tmp_path / "out")
    before, after = (load_file(folder / "model.safetensors") for folder in (base, tmp_path / "out"))
    assert before.keys() == after.keys()
    changed = {name for name in before if not np.array_equal(before[name].astype(np.float16), after[name])}
    assert changed == {name for name in before if "text_model" in name and "_proj" in name}
    assert {value.dtype for value in after.values()} == {np.dtype(np.float16)}
    names = {file.name for file in base.iterdir()}
    assert {file.name for file in (tmp_path / "out").iterdir()} == names - {"README.md"}
    for name in names - {"README.md", "model.safetensors"}:
        assert (tmp_path / "out" / name).read_bytes() == (base / name).read_bytes()


def test_the_same_files_give_the_same_bytes_and_nothing_is_replaced(base, tmp_path):
    adapted(base, tmp_path / "adapter")
    for out in ("a", "b"):
        merged(base, tmp_path / "adapter", tmp_path / out)
    assert (tmp_path / "a" / "model.safetensors").read_bytes() == (tmp_path / "b" / "model.safetensors").read_bytes()
    with pytest.raises(MeasurandError, match="exists"):
        merged(base, tmp_path / "adapter", tmp_path / "a")


@pytest.fixture
def plain(tmp_path):
    """A base of one matrix, an adapter for it, and what merges them."""
    base, adapter = tmp_path / "base", tmp_path / "adapter"
    for folder in (base, adapter):
        folder.mkdir()
    save_file({"layer.weight": np.zeros((3, 2), dtype=np.float32)}, base / "model.safetensors")

    def merge(metadata=None, names=("layer.lora_A", "layer.lora_B"), **settings):
        arrays = dict(
            zip((f"base_model.model.{name}.weight" for name in names), (np.ones((1, 2)), np.ones((3, 1))), strict=True)
        )
        save_file(arrays, adapter / "adapter_model.safetensors", metadata=metadata)
        told = {"peft_type": "LORA", "r": 1, "lora_alpha": 1, **settings}
        (adapter / "adapter_config.json").write_text(json.dumps(told))
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        merged(base, adapter, tmp_path / "out")
        return load_file(tmp_path / "out" / "model.safetensors")["layer.weight"]

    merge.weights = base / "model.safetensors"
    merge.out = tmp_path / "out"
    return merge


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"use_dora": True}, "use_dora is True"),
        ({"peft_type": "IA3"}, "peft_type is 'IA3'"),
        ({"bias": "all"}, "bias is 'all'"),
        ({"rank_pattern": {"q_proj": 2}}, "rank_pattern"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"r": None}, "can't be read as an adapter's settings"),
        ({"names": ("other.lora_A", "other.lora_B")}, "has none"),
        ({"names": ("layer.lora_B", "layer.lora_A")}, r"has one of \(3, 2\)"),
        ({"names": ("layer.lora_A", "layer.bias")}, "not half of a pair"),
        ({"metadata": {BASE_DIGEST: "0" * 64}}, "merge it into the model that it was trained on"),
    ],
)
def test_an_adapter_that_is_not_all_of_the_change_or_is_anothers_is_refused(plain, settings, told):
    assert plain().tolist() == [[1, 1]] * 3
    with pytest.raises(MeasurandError, match=told):
        plain(**settings)
    assert not plain.out.exists()


def test_an_adapter_that_names_these_weights_is_merged(plain):
    digest = hashlib.sha256(plain.weights.read_bytes()).hexdigest()
    assert plain(metadata={BASE_DIGEST: digest}, lora_alpha=3).tolist() == [[3, 3]] * 3


def test_a_file_that_is_cut_short_is_said(plain):
    plain()
    plain.weights.write_bytes(plain.weights.read_bytes()[:-4])
    with pytest.raises(MeasurandError, match=r"model\.safetensors can't be read"):
        plain()
