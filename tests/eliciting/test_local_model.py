"""Which weights they are, what a pass leaves behind, and the head in float32."""

import hashlib
import os
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from eliciting import vlm_classes  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.local import model as module  # noqa: E402
from measurand.eliciting.local.model import LocalModel, tokens  # noqa: E402
from measurand.eliciting.local.weights import config_digest, weights_digest  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402
from measurand.result import MeasurandError  # noqa: E402

LAST = torch.tensor([[False] * 9 + [True]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return vlm_classes.save_text("llama", tmp_path_factory.mktemp("llama"))


def model_of(folder, **settings):
    return LocalModel(System("m", "transformers", model=str(folder), **settings))


# ------------------------------------------------------------------------------------------------ identity


def test_the_identity_follows_the_weights_content_and_not_their_place(folder, tmp_path):
    """T70: another model under the same name is another system; the same files elsewhere are the same one."""
    same = vlm_classes.save_text("llama", tmp_path / "same")
    other = vlm_classes.save_text("llama", tmp_path / "other", seed=1)
    first = model_of(folder).identity()
    assert first == model_of(same).identity()
    changed = {key for key, value in model_of(other).identity().items() if first[key] != value}
    assert changed == {"weights"}
    assert str(folder) not in str(first)


def test_the_identity_follows_configuration_and_types(folder, tmp_path):
    """T56: the types of body and head are part of it, and so is what transformers reads besides the weights."""
    first = model_of(folder).identity()
    other = vlm_classes.save_text("llama", tmp_path, rms_norm_eps=1e-3)
    assert {key for key, value in model_of(other).identity().items() if first[key] != value} == {"config"}
    assert model_of(folder, dtype="bfloat16").identity()["dtype"] == "bfloat16"
    assert first["dtype"] == first["head_dtype"] == "float32"
    assert first["attention"] == "sdpa"
    assert first["torch"] == torch.__version__
    assert first["transformers"] == transformers.__version__


def test_a_small_model_is_asked_on_one_thread_and_the_process_keeps_its_own(folder, monkeypatch):
    """On a busy machine the threads of a small model wait for each other ten times as long as they work."""
    model, before = model_of(folder), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with model.few_threads():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(KeyError), model.few_threads():
            raise KeyError
        assert torch.get_num_threads() == 2
        monkeypatch.setattr(module, "_SMALL", 0)
        with model_of(folder).few_threads():
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_class_without_scaled_dot_products_is_run_without_them(tmp_path):
    assert model_of(vlm_classes.save_text("gemma2", tmp_path)).identity()["attention"] == "eager"


def test_weights_are_not_loaded_to_be_named(folder):
    model = model_of(folder)
    model.identity()
    assert model._model is None


def cached(folder, repository, *, without=()):
    """Lay out a folder as a hub cache does; the weights' blob is empty, so that reading it would give another hash."""
    blobs, snapshot = repository / "blobs", repository / "snapshots" / "0"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0")
    for file in folder.iterdir():
        blob = blobs / hashlib.sha256(file.read_bytes()).hexdigest()
        blob.write_bytes(b"" if file.suffix == ".safetensors" else file.read_bytes())
        if file.name not in without:
            (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot


def test_a_blob_of_a_hub_cache_is_named_by_its_content(folder, tmp_path):
    """The file is not read again where the cache names it by its hash; the identity is that of a plain folder."""
    snapshot = cached(folder, tmp_path)
    assert model_of(snapshot).identity() == model_of(folder).identity()


def test_a_hub_model_has_the_identity_of_its_files_before_and_after_they_are_fetched(folder, tmp_path, monkeypatch):
    """T70: the hub names the hash of a file that is not here yet; a half-fetched cache counts for nothing."""
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()

    class Hub:
        def model_info(self, name, *, revision, files_metadata):
            assert (name, revision, files_metadata) == ("people/model", None, True)
            large = SimpleNamespace(rfilename="model.safetensors", lfs=SimpleNamespace(sha256=digest))
            other = SimpleNamespace(rfilename="consolidated.safetensors", lfs=SimpleNamespace(sha256="0" * 64))
            return SimpleNamespace(siblings=[SimpleNamespace(rfilename="config.json", lfs=None), large, other])

    expected = weights_digest(System("m", "transformers", model=str(folder)))
    named = System("m", "transformers", model="people/model")
    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    for without in ((), ("model.safetensors",)):
        place = tmp_path / f"{len(without)}"
        cached(folder, place / "models--people--model", without=without)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(place))
        assert weights_digest(named) == expected
        assert config_digest(named) == config_digest(System("m", "transformers", model=str(folder)))


def test_a_folder_without_weights_is_refused_in_words(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llama", "vocab_size": 8, "hidden_size": 8}')
    with pytest.raises(MeasurandError, match="can't be loaded"):
        _ = model_of(tmp_path).model


def test_a_device_that_is_not_there_is_refused_in_words(folder):
    if torch.cuda.is_available():
        pytest.skip("there is such a device here")
    with pytest.raises(MeasurandError, match="torch sees no such device"):
        _ = model_of(folder, device="cuda").model


def test_other_types_need_a_declared_tolerance(folder):
    """T48: what batches may move in bfloat16 is declared, not assumed."""
    with pytest.raises(MeasurandError, match="declares no tolerance"):
        LocalEngine(System("m", "transformers", model=str(folder), dtype="bfloat16"))
    LocalEngine(System("m", "transformers", model=str(folder), dtype="bfloat16", tolerance=0.05))


# ------------------------------------------------------------------------------------ what passes leave behind


def test_what_a_pass_leaves_on_a_module_is_put_back(folder):
    """T62: position shifts, remembered shapes, rebuilt buffers."""
    model = model_of(folder)
    module = model.model.model
    first = model.run({"input_ids": tokens(range(5, 15))}, LAST).logits
    module.shift = torch.ones(1)
    module.rotary_emb.register_buffer("inv_freq", module.rotary_emb.inv_freq * 2, persistent=False)
    assert not torch.allclose(model.run({"input_ids": tokens(range(5, 15))}, LAST).logits, first)
    model.rest()
    assert not hasattr(module, "shift")
    assert torch.equal(model.run({"input_ids": tokens(range(5, 15))}, LAST).logits, first)


def test_hooks_are_gone_after_a_pass_that_failed(folder):
    model = model_of(folder)
    with pytest.raises(IndexError):
        model.run({"input_ids": tokens([10**6])}, torch.tensor([[True]]))
    assert not model.model.get_output_embeddings()._forward_pre_hooks
    assert not model.model.get_decoder()._forward_pre_hooks


# ---------------------------------------------------------------------------------------------------- head


def test_the_head_is_computed_at_the_asked_rows_alone(folder):
    model = model_of(folder)
    rows = torch.tensor([[False, True, False, True]])
    found = model.run({"input_ids": tokens([5, 6, 7, 8])}, rows).logits
    with torch.inference_mode():
        whole = model.model(input_ids=tokens([5, 6, 7, 8])).logits[0]
    assert found.shape == (2, whole.shape[1])
    np.testing.assert_allclose(found, whole[[1, 3]], atol=1e-5)


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_the_head_in_float32_takes_logits_off_the_grid_of_bfloat16(kind, tmp_path):
    """T54, T55, T56: the model's own logits lie on few values; recomputed ones do not, and differ by rounding alone."""
    capped = {"final_logit_softcapping": 4.0} if kind == "gemma2" else {}
    model = model_of(vlm_classes.save_text(kind, tmp_path, spread=0.4, **capped), dtype="bfloat16", tolerance=0.1)
    found = model.run({"input_ids": tokens(range(5, 15))}, LAST).logits[0]
    with torch.inference_mode():
        out = model.model(input_ids=tokens(range(5, 15)), output_hidden_states=True)
    own = out.logits[0, -1].float()
    assert found.dtype == torch.float32
    assert len(torch.unique(own)) < 0.8 * len(own)
    assert len(torch.unique(found)) > 0.98 * len(found)
    assert 0 < (found - own).abs().max() <= 2**-7 * own.abs().max()
    hidden = out.hidden_states[-1][0, -1].double().numpy()
    expected = model.model.get_output_embeddings().weight.double().detach().numpy() @ hidden
    if capped:
        expected = 4 * np.tanh(expected / 4)
        assert "soft-capped at 4.0" in model.head_note
    np.testing.assert_allclose(found, expected, atol=2e-4)


def test_logits_that_can_not_be_recomputed_are_the_models_own(folder):
    """T56: and the note says so."""
    model = model_of(folder, dtype="bfloat16", tolerance=0.1)
    head = model.model.get_output_embeddings()
    handle = head.register_forward_hook(lambda module, given, out: out * 3)  # noqa: ARG005
    try:
        found = model.run({"input_ids": tokens(range(5, 15))}, LAST).logits[0]
    finally:
        handle.remove()
    assert "the model's own logits in bfloat16" in model.head_note
    assert torch.equal(found, found.bfloat16().float())
