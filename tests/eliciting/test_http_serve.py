"""Against `transformers serve`, which accepts log-probabilities and a started turn, and drops both without a word."""

import contextlib

import pytest

from eliciting.servers import transformers_serve
from measurand.eliciting.engine import Decoding, Failure, Reply
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System

for extra in ("openai", "torch", "transformers", "fastapi", "uvicorn"):
    pytest.importorskip(extra)

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
PROMPTS = [Prompt("Is the sky blue? Answer yes or no.", prefill="Answer:")]


def test_dropped_log_probabilities_and_prefill_are_caught_by_the_probe(smollm2):
    """T66, T67: every request is answered with 200, and nothing is as it was asked for."""
    with transformers_serve(smollm2) as url:
        system = System("s", "openai", url=url, model=str(smollm2), concurrency=1, timeout_s=300.0)
        with contextlib.closing(HttpEngine(system)) as engine:
            proofs = {proof.check: proof for proof in engine.prove(PROMPTS, YES_NO)}
            abilities = engine.abilities()
            [(_, reading)] = engine.read(PROMPTS, YES_NO)
            [(_, reply)] = engine.generate([Prompt("Say hi.")], [Decoding(max_tokens=4)])
    assert [check for check, proof in proofs.items() if not proof.passed] == ["logprobs", "prefill"]
    assert "logprobs: null" in proofs["logprobs"].statement
    assert "begins a turn of its own" in proofs["prefill"].statement
    assert (abilities.distribution, abilities.prefill) == ("none", False)
    assert isinstance(reading, Failure)
    assert isinstance(reply, Reply)  # for replies without a prefill it is a good server
    assert reply.text
    assert reply.n_completion <= 4
