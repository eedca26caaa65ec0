"""Replies: stops, sampling from a request's own generator, reasoning apart, nothing taken from a neighbour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from eliciting import vlm_classes  # noqa: E402
from measurand.eliciting.engine import Decoding, Failure, Reply  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.local import generate as local_generate  # noqa: E402
from measurand.eliciting.local.generate import _draw, _parted  # noqa: E402
from measurand.eliciting.prompt import Prompt  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402

WARM = Decoding(max_tokens=8, temperature=1.0, seed=5)


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    made = {}

    def engine(kind):
        if kind not in made:
            folder = vlm_classes.save_text(kind, tmp_path_factory.mktemp(kind))
            made[kind] = LocalEngine(System(kind, "transformers", model=str(folder)))
        return made[kind]

    return engine


def prompts(n=5):
    return [Prompt("Is the face calm? " * (k + 1), prefill="Answer:" if k % 2 else "") for k in range(n)]


def texts(engine, asked, decodings):
    return {i: reply.text for i, reply in engine.generate(asked, decodings)}


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma2", "lfm2"])
@pytest.mark.parametrize("decoding", [Decoding(max_tokens=8), WARM])
def test_a_reply_does_not_depend_on_its_neighbours(kind, decoding, engines):
    """T50, T51: alone, among others, and in another order; greedy and sampled; windows and overwritten states too."""
    engine, asked = engines(kind), prompts()
    together = texts(engine, asked, [decoding] * 5)
    backwards = texts(engine, asked[::-1], [decoding] * 5)
    assert {4 - i: text for i, text in backwards.items()} == together
    assert texts(engine, [asked[2]], [decoding])[0] == together[2]


def test_the_same_seed_repeats_a_reply_and_another_one_varies_it(engines):
    engine, asked = engines("llama"), prompts(1) * 9
    seeds = [Decoding(max_tokens=8, temperature=1.0, seed=seed) for seed in (1, 2, 3, 4, 1, 2, 3, 4, 1)]
    found = texts(engine, asked, seeds)
    assert [found[k] for k in range(4)] == [found[k] for k in range(4, 8)]
    assert found[8] == found[0]
    assert len({found[k] for k in range(4)}) > 1


def test_the_very_same_prompt_is_passed_once(engines):
    found = dict(engines("llama").generate(prompts(1) * 3, [WARM] * 3))
    assert [found[i].n_cached for i in range(3)] == [0, found[0].n_prompt, found[0].n_prompt]


def test_more_prompts_than_go_together(engines, monkeypatch):
    engine, asked = engines("llama"), prompts()
    whole = texts(engine, asked, [WARM] * 5)
    monkeypatch.setattr(local_generate, "AT_ONCE", 2)
    assert texts(engine, asked, [WARM] * 5) == whole


def test_length_ends_a_reply_and_says_so(engines):
    found = dict(engines("llama").generate(prompts(2), [Decoding(max_tokens=3), Decoding(max_tokens=5)]))
    for i, most in ((0, 3), (1, 5)):
        assert found[i].finish == "length"
        assert found[i].n_completion == most


def test_a_stop_text_ends_a_reply_and_is_no_part_of_it(engines):
    engine, asked = engines("llama"), prompts(1)
    whole = texts(engine, asked, [Decoding(max_tokens=8, temperature=2.0, seed=1)])[0]
    stop = whole[2:4]
    ((_, reply),) = engine.generate(asked, [Decoding(max_tokens=8, temperature=2.0, seed=1, stop=("never", stop))])
    assert reply.text == whole[: whole.index(stop)]
    assert reply.finish == "stop"


def test_the_end_token_ends_a_reply_and_is_no_part_of_it(engines):
    engine = engines("llama")
    head = engine._model.model.get_output_embeddings()
    handle = head.register_forward_hook(lambda module, given, out: out.index_fill(-1, torch.tensor([2]), 1e4))  # noqa: ARG005
    try:
        ((_, reply),) = engine.generate(prompts(1), [Decoding(max_tokens=5)])
    finally:
        handle.remove()
    assert (reply.text, reply.finish, reply.n_completion) == ("", "stop", 1)


def test_a_schema_is_refused_and_not_dropped(engines):
    engine = engines("llama")
    found = dict(
        engine.generate(prompts(2), [Decoding(max_tokens=2, json_schema={"type": "object"}), Decoding(max_tokens=2)])
    )
    assert isinstance(found[0], Failure)
    assert "schema" in found[0].reason
    assert isinstance(found[1], Reply)


def test_memory_that_runs_out_fails_the_requests_and_not_the_study(engines, monkeypatch):
    def fails(*given, **named):  # noqa: ARG001
        raise torch.OutOfMemoryError("no memory left")

    engine = engines("llama")
    monkeypatch.setattr(engine._model, "run", fails)
    found = dict(engine.generate(prompts(2), [WARM] * 2))
    assert all(isinstance(one, Failure) and "no memory left" in one.reason for one in found.values())


# ------------------------------------------------------------------------------------------------ drawing


class Drawn:
    """A generator that gives one number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([None, 0.3, 0.9, 1.0]))
def test_tokens_are_drawn_with_the_probabilities_that_temperature_and_top_p_leave(seed, temperature, top_p):
    logits = np.random.default_rng(seed).normal(0, 2, 7)
    p = special.softmax(logits / temperature)
    if top_p is not None and top_p < 1:
        order = np.argsort(-p)
        n = next(n for n in range(1, 8) if p[order[:n]].sum() >= top_p)
        kept = np.zeros(7)
        kept[order[:n]] = p[order[:n]]
        p = kept / kept.sum()
    grid = (np.arange(2000) + 0.5) / 2000
    decoding = Decoding(temperature=temperature, top_p=top_p)
    drawn = [_draw(torch.from_numpy(logits), decoding, Drawn(number), None) for number in grid]
    np.testing.assert_allclose(np.bincount(drawn, minlength=7) / 2000, p, atol=1e-3)


class Defaults:
    do_sample, temperature, top_p, top_k = True, 0.7, None, 2


def test_what_is_not_said_follows_the_models_own_defaults():
    logits = torch.tensor([0.0, 1.0, 2.0])
    drawn = {_draw(logits, Decoding(temperature=None), Drawn(number), Defaults) for number in (0.01, 0.5, 0.99)}
    assert drawn == {1, 2}
    assert _draw(logits, Decoding(temperature=None), Drawn(0.01), None) == 2
    assert _draw(logits, Decoding(temperature=0.0), Drawn(0.99), Defaults) == 2


# ---------------------------------------------------------------------------------------------- reasoning


@pytest.mark.parametrize(
    ("text", "opened", "reasoning", "rest"),
    [
        ("<think>so</think>7", "", "so", "7"),
        ("\n<THINK>\nso\n</Think>\n\n7", "", "\nso\n", "\n\n7"),
        ("so</think> 7", "<think>", "so", " 7"),
        ("so</think> 7", "", "", "so</think> 7"),
        ("so</think> 7", "<thought>", "", "so</think> 7"),
        ("<think>so and so", "", "", "<think>so and so"),
        ("7 <think>so</think>", "", "", "7 <think>so</think>"),
        ("7", "<think>", "", "7"),
    ],
)
def test_reasoning_is_parted_off_only_between_its_marks(text, opened, reasoning, rest):
    """T10, T26: what is not marked stays in the text, for the caller to judge."""
    assert _parted(text, opened=opened)[:2] == (reasoning, rest)


def test_reasoning_tokens_are_counted(engines, monkeypatch):
    engine = engines("llama")
    written = iter(engine._renderer.tokenizer("<think>calm</think>yes", add_special_tokens=False)["input_ids"])
    monkeypatch.setattr(local_generate, "_draw", lambda *given: next(written, 2))  # noqa: ARG005
    ((_, reply),) = engine.generate(prompts(1), [Decoding(max_tokens=60)])
    assert (reply.reasoning, reply.text, reply.finish) == ("calm", "yes", "stop")
    assert 0 < reply.n_reasoning < reply.n_completion
