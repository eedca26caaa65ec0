"""The self-test finds what it is there to find: each fault is put in, and the way that has it is not taken."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from eliciting import vlm_classes  # noqa: E402
from measurand.eliciting.engine import Failure, Reading  # noqa: E402
from measurand.eliciting.labels import Labels  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.local import prefix as local_prefix  # noqa: E402
from measurand.eliciting.local import selftest as local_selftest  # noqa: E402
from measurand.eliciting.local.model import LocalModel  # noqa: E402
from measurand.eliciting.local.selftest import LIMIT, difference  # noqa: E402
from measurand.eliciting.prompt import Picture, Prompt  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402
from measurand.result import MeasurandError  # noqa: E402

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
CHECKS = ["cold_cached", "batch", "padding", "order", "images", "head"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return vlm_classes.save_text("llama", tmp_path_factory.mktemp("llama"))


@pytest.fixture
def engine(folder):
    return LocalEngine(System("m", "transformers", model=str(folder)))


def prompts(n_items=2, names=("happy", "sad or angry", "calm")):
    return [
        Prompt(f"Is the face {name}? Answer yes or no.", shared=f"Picture {k} shows a face.", prefill="Answer:")
        for k in range(n_items)
        for name in names
    ]


def proved(engine, asked, labels=YES_NO):
    return {proof.check: proof for proof in engine.prove(asked, labels)}


def test_a_sound_model_passes_every_check_with_its_noise_floor(engine):
    proofs = proved(engine, prompts())
    assert list(proofs) == CHECKS
    assert all(proof.passed for proof in proofs.values())
    assert all(0 <= proof.value <= LIMIT == proof.limit for proof in proofs.values() if proof.check != "head")
    assert engine.way == "packed"
    assert engine.abilities().notes["reading"].startswith("packed: ")


def test_endings_that_see_each_other_are_found(engine, monkeypatch):
    """T50, T51: a row's answer that depends on its neighbours."""
    whole = local_prefix._Tree.sees
    monkeypatch.setattr(local_prefix._Tree, "sees", lambda tree: np.tril(np.ones_like(whole(tree))))
    proofs = proved(engine, prompts())
    assert engine.way == "expanded"
    assert "packed: log-odds moved by" in proofs["cold_cached"].statement
    assert proofs["cold_cached"].passed


def test_a_kernel_that_fails_at_one_padded_length_is_found(engine, monkeypatch):
    """T46: batches whose padded length leaves 1 by 32 come out wrong, all others right."""
    monkeypatch.setattr(local_selftest, "WAYS", ("expanded", "one_by_one"))
    run = LocalModel.run

    def fails(self, inputs, rows, *, cache=None):
        before = cache.get_seq_length() if cache is not None else 0
        seen = run(self, inputs, rows, cache=cache)
        n_rows, n = inputs["input_ids"].shape
        if n_rows > 1 and (before + n) % 32 == 1:
            return replace(seen, logits=seen.logits + 0.1 * (torch.arange(seen.logits.shape[1]) % 2))
        return seen

    monkeypatch.setattr(LocalModel, "run", fails)
    proofs = proved(engine, prompts())
    assert engine.way == "one_by_one"
    assert "expanded: log-odds moved by" in proofs["cold_cached"].statement


def test_another_pictures_cache_is_found(tmp_path, monkeypatch):
    """T60, T61: a cache that is found by token ids alone, which two pictures have in common."""
    folder = vlm_classes.save("llava", tmp_path)
    asked = [
        Prompt(f"Is it {name}?", picture=Picture(vlm_classes.picture(k), "image/png"), prefill="Answer:")
        for k in (0, 1)
        for name in ("happy", "sad")
    ]
    kept = {}
    fresh = local_prefix._beginning

    def by_ids(model, question, n, *, is_plain):
        key = question.ids[:n]
        if key not in kept:
            kept[key] = fresh(model, question, n, is_plain=is_plain)
        return kept[key]

    sound = LocalEngine(System("m", "transformers", model=str(folder)))
    assert all(proof.passed for proof in sound.prove(asked, YES_NO))
    assert sound.way == "packed"
    monkeypatch.setattr(local_prefix, "_whole", _uncached(local_prefix._whole, fresh))
    monkeypatch.setattr(local_prefix, "_beginning", by_ids)
    engine = LocalEngine(System("m", "transformers", model=str(folder)))
    proofs = proved(engine, asked)
    assert engine.way == "batch"
    assert "packed: log-odds moved by" in proofs["cold_cached"].statement


def _uncached(whole, fresh):
    def read(model, question):
        patched, local_prefix._beginning = local_prefix._beginning, fresh
        try:
            return whole(model, question)
        finally:
            local_prefix._beginning = patched

    return read


def test_a_model_that_remembers_earlier_passes_is_not_used(engine):
    """T58, T62: answers that depend on what was asked before; no way passes, and nothing is read."""
    n_passes = iter(range(10**6))
    engine._model.model.get_output_embeddings().register_forward_hook(
        lambda module, given, out: out + 0.01 * next(n_passes) * torch.arange(out.shape[-1]).cos()  # noqa: ARG005
    )
    (proof,) = engine.prove(prompts(), YES_NO)
    assert not proof.passed
    assert "no way of reading gives the same answers twice" in proof.statement
    assert all(f"{way}: " in proof.statement for way in local_prefix.WAYS)
    assert proof.value > proof.limit
    with pytest.raises(MeasurandError, match="no way of reading"):
        list(engine.read(prompts(), YES_NO))


def test_logits_that_are_not_finite_stop_the_run(engine):
    """T64."""
    engine._model.model.get_output_embeddings().register_forward_hook(lambda module, given, out: out / 0)  # noqa: ARG005
    (proof,) = engine.prove(prompts(), YES_NO)
    assert not proof.passed
    assert "not finite" in proof.statement


def test_a_way_that_the_model_does_not_take_is_passed_over(engine, monkeypatch):
    def refuses(*given):
        raise NotImplementedError("no mask of four axes")

    monkeypatch.setattr(local_prefix, "_masks", refuses)
    proofs = proved(engine, prompts())
    assert engine.way == "expanded"
    assert "packed: the model does not take it (no mask of four axes)" in proofs["cold_cached"].statement


@pytest.mark.parametrize(("kind", "way"), [("bloom", "expanded"), ("lfm2", "in_turn"), ("mistral", "packed")])
def test_each_model_gets_the_fastest_way_that_it_allows(kind, way, tmp_path):
    """T49: biases for positions take no block mask, overwritten states no shared cache; a window takes both."""
    engine = LocalEngine(System("m", "transformers", model=str(vlm_classes.save_text(kind, tmp_path))))
    proofs = proved(engine, prompts())
    assert engine.way == way
    assert all(proof.passed for proof in proofs.values())


def test_the_declared_tolerance_is_the_limit(folder):
    """T48: bfloat16 moves answers; how far they may move is the study's word."""
    proofs = {}
    for tolerance in (1e-9, 0.5):
        system = System("m", "transformers", model=str(folder), dtype="bfloat16", tolerance=tolerance)
        proofs[tolerance] = LocalEngine(system).prove(prompts(), YES_NO)
    assert all(proof.passed for proof in proofs[0.5])
    assert proofs[0.5][0].limit == 0.5
    assert "float32 from the final hidden states" in proofs[0.5][-1].statement
    assert proofs[1e-9][0].limit == 1e-9


def test_one_item_or_one_prompt_is_enough_for_a_test(engine):
    proofs = proved(engine, prompts(1, names=("happy",)))
    assert engine.way == "packed"
    assert proofs["images"].value is None
    assert "one item alone" in proofs["images"].statement


def test_prompts_without_labels_are_tested_by_their_likeliest_tokens(engine):
    proofs = proved(engine, prompts(), labels=None)
    assert list(proofs) == CHECKS
    assert all(proof.passed for proof in proofs.values())


def test_reading_without_a_test_tests_first(engine):
    assert engine.way is None
    assert len(dict(engine.read(prompts(1), YES_NO))) == 3
    assert engine.way == "packed"


def test_a_prompt_that_can_not_be_rendered_fails_alone(engine, monkeypatch):
    asked = prompts(1)
    engine.prove(asked, YES_NO)
    render = engine._renderer.render

    def refuses(prompt, **named):
        if prompt is asked[1]:
            raise MeasurandError("a reasoning block is open")
        return render(prompt, **named)

    monkeypatch.setattr(engine._renderer, "render", refuses)
    found = dict(engine.read(asked, YES_NO))
    assert found[1] == Failure("a reasoning block is open")
    assert all(isinstance(found[i], Reading) for i in (0, 2))


def test_memory_that_runs_out_fails_an_items_prompts_and_not_the_study(engine, monkeypatch):
    asked = prompts()
    engine.prove(asked, YES_NO)
    expected = dict(engine.read(asked, YES_NO))
    run, n_passes = engine._model.run, iter(range(100))

    def fails(*given, **named):
        if next(n_passes) == 1:  # the first item's endings
            raise torch.OutOfMemoryError("no memory left")
        return run(*given, **named)

    monkeypatch.setattr(engine._model, "run", fails)
    found = dict(engine.read(asked, YES_NO))
    assert all(isinstance(found[i], Failure) and "no memory left" in found[i].reason for i in range(3))
    assert all(found[i].low == expected[i].low for i in range(3, 6))


@given(st.lists(st.floats(-30, 0), min_size=2, max_size=4), st.floats(-1, 1), st.integers(0, 3), st.floats(-1, 1))
def test_the_difference_is_the_largest_of_log_odds_and_log_probabilities(before, shift, place, moved):
    a = np.array(before)
    b = a + shift
    b[place % len(a)] += moved
    pairs = [abs((b[i] - b[j]) - (a[i] - a[j])) for i in range(len(a)) for j in range(len(a))]
    assert difference(a, b) == pytest.approx(max(*pairs, *np.abs(b - a)), abs=1e-12)
    assert difference(a, b) == pytest.approx(difference(b, a), abs=1e-12)


def test_an_answer_that_is_impossible_both_times_is_no_difference_and_once_is_an_endless_one():
    impossible = np.array([-np.inf, -1.0])
    assert difference(impossible, impossible) == 0
    assert difference(impossible, np.array([-5.0, -1.0])) == np.inf
