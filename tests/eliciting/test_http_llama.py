"""Against llama.cpp's own server with a real model."""

import contextlib
import json
import math
import re
import urllib.request

import numpy as np
import pytest

from eliciting.servers import llama_cpp
from measurand.eliciting.engine import Decoding, Reading
from measurand.eliciting.http import HttpEngine
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt, Turn
from measurand.eliciting.system import System

pytest.importorskip("openai")

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
SENTENCES = ("I am so glad you came today.", "The train leaves at nine.", "He slammed the door and wept.")
QUESTION = "Does this sentence express joy? Answer yes or no."
STARTED = [Prompt(QUESTION, shared=sentence, prefill="Answer:") for sentence in SENTENCES]
VOCABULARY = 49152


@pytest.fixture(scope="module")
def url(smollm2_gguf):
    pytest.importorskip("xllamacpp", reason="llama.cpp's server comes with the wheel xllamacpp")
    with llama_cpp(smollm2_gguf) as address:
        yield address


@contextlib.contextmanager
def engine(url, **settings):
    with contextlib.closing(
        HttpEngine(System("s", "openai", url=url, model="smollm2", timeout_s=300.0, **settings))
    ) as system:
        yield system


def read(url, prompts, labels=YES_NO, **settings):
    with engine(url, **settings) as system:
        outcomes = dict(system.read(prompts, labels))
    assert all(isinstance(outcome, Reading) for outcome in outcomes.values())
    return [outcomes[i] for i in range(len(prompts))]


def ask(url, **body):
    """The response to a request of our own, without the engine."""
    data = json.dumps({"model": "m", "temperature": 0, "max_tokens": 1, **body}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", data, headers)  # noqa: S310 - our own address
    with urllib.request.urlopen(request) as response:  # noqa: S310
        return json.load(response)


def test_the_probe_finds_what_llama_cpp_does(url):
    with engine(url) as system:
        proofs = {proof.check: proof for proof in system.prove(STARTED, YES_NO)}
        abilities, identity = system.abilities(), system.identity()
    assert [check for check, proof in proofs.items() if not proof.passed] == []
    assert set(proofs) == {"logprobs", "thinking", "cold_cached", "temperature", "prefill"}
    assert "with ids" in proofs["logprobs"].statement
    assert "continued: 'Monday, Tuesday, Wednes' by 'day" in proofs["prefill"].statement
    cold, again, _ = map(int, re.findall(r"(\d+) of \d+ prompt tokens cached", proofs["cold_cached"].statement))
    assert cold < again
    assert 0 <= proofs["cold_cached"].value < 0.5
    assert (abilities.distribution, abilities.top_k, abilities.prefill) == ("top_k", 20, True)
    assert identity["served_model"].endswith(".gguf")
    assert identity["system_fingerprint"]
    assert identity["server"] == "llama.cpp"


def test_a_prefill_continues_the_turn(url):
    """With a started turn the answer is the rest of it, with a space in front; without one it starts with a capital."""
    [started], [bare] = read(url, STARTED[:1]), read(url, [Prompt(QUESTION, shared=SENTENCES[0])])
    assert started.top in (" Yes", " No", " yes", " no")
    assert bare.top in ("Yes", "No", "The")
    mass = [math.fsum(np.exp(reading.low)) for reading in (started, bare)]
    assert mass[0] > mass[1]  # what the prefill is for


def test_cached_and_cold_prompts_are_told_apart(url):
    """T59: how much came from the cache is said for every reading."""
    [other] = read(url, [Prompt("Name a colour.")])
    cold, warm = (read(url, STARTED[:1])[0] for _ in range(2))
    assert other.n_prompt != cold.n_prompt == warm.n_prompt
    assert cold.n_cached < warm.n_cached == warm.n_prompt - 1
    [never] = read(url, STARTED[:1], extra_body={"cache_prompt": False})
    assert never.n_cached == 0
    assert np.abs(np.subtract(never.low, warm.low)).max() < 0.5  # the same question, whatever the kernel


def test_the_exact_probability_is_within_the_bounds_of_any_top_k(url):
    """X9, T13: the whole vocabulary is the truth, and every shorter list must hold it."""
    for prompt in STARTED:
        messages = [{"role": "user", "content": prompt.text}, {"role": "assistant", "content": prompt.prefill}]
        answer = ask(url, messages=messages, logprobs=True, top_logprobs=VOCABULARY)
        tokens = answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        assert len(tokens) == VOCABULARY
        truth = [
            math.fsum(math.exp(token["logprob"]) for token in tokens if YES_NO.of(token["token"]) == name)
            for name in YES_NO.names
        ]
        widths = []
        for k in (1, 2, 5, 20, 200):
            [reading] = read(url, [prompt], top_logprobs=k)
            low, high = np.exp(reading.low), np.exp(reading.high)
            # 1e-3: a cached prompt and a cold one differ by a kernel's rounding.
            assert (low <= np.array(truth) + 1e-3).all()
            assert (np.array(truth) <= high + 1e-3).all()
            assert sum(truth) <= reading.mass_high + 1e-3
            widths.append((high - low).max())
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < 0.02 < widths[0]


def test_a_list_of_the_whole_vocabulary_gives_points(url):
    [reading] = read(url, STARTED[:1], top_logprobs=VOCABULARY)
    # What is left are the tokens that may begin an answer (` y`, ` N`), which are rare after `Answer:`.
    assert np.exp(reading.high) - np.exp(reading.low) == pytest.approx([0, 0], abs=0.02)
    assert 0.5 < reading.mass_high <= 1


def test_the_server_agrees_with_transformers(url, smollm2):
    """T53: another engine, another precision of activations; loosely the same numbers, and the same prompt tokens."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2)
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()
    for prompt, reading in zip(STARTED, read(url, STARTED), strict=True):
        messages = [{"role": "user", "content": prompt.text}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) + prompt.prefill
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
        with torch.no_grad():
            p = model(ids).logits[0, -1].double().softmax(-1)
        likely = {int(i): tokenizer.decode([int(i)]) for i in p.topk(20).indices}
        truth = [
            math.log(sum(float(p[i]) for i, t in likely.items() if YES_NO.of(t) == name)) for name in ("yes", "no")
        ]
        assert ids.shape[1] == reading.n_prompt
        assert np.abs(np.subtract(reading.low, truth)).max() < 0.3
        assert np.diff(reading.low) == pytest.approx(np.diff(truth), abs=0.3)


def test_a_temperature_moves_no_reading(url):
    """X2: llama.cpp shows the probabilities before sampling."""
    messages = [{"role": "user", "content": "Is the sky blue?"}]
    told = []
    for temperature in (0.0, 0.7, 1.0):
        answer = ask(url, messages=messages, logprobs=True, top_logprobs=5, temperature=temperature)
        told.append([t["logprob"] for t in answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"]])
    assert told[1] == pytest.approx(told[0], abs=0.05)
    assert told[2] == pytest.approx(told[0], abs=0.05)


def test_replies_are_without_the_prefill_that_llama_cpp_repeats(url):
    with engine(url) as system:
        system.prove(STARTED[:1], None)
        [(_, reply)] = system.generate(STARTED[:1], [Decoding(max_tokens=4)])
    assert not reply.text.startswith("Answer:")
    assert reply.text.strip().lower()[:2] in ("no", "ye")
    assert reply.n_completion <= 4


def test_replies_obey_schema_stop_limit_and_turns(url):
    schema = {"type": "object", "properties": {"joy": {"type": "integer"}}, "required": ["joy"]}
    prompts = [Prompt("Rate joy."), Prompt("Count to ten."), Prompt("Say hi.", turns=(Turn("no", "Please say hi."),))]
    decodings = [
        Decoding(max_tokens=40, json_schema=schema),
        Decoding(max_tokens=60, stop=("4",)),
        Decoding(max_tokens=3),
    ]
    with engine(url, concurrency=2) as system:
        replies = dict(system.generate(prompts, decodings))
    assert isinstance(json.loads(replies[0].text)["joy"], int)
    assert "4" not in replies[1].text
    assert replies[2].finish == "length"
    assert replies[2].n_completion == 3


def test_readings_of_one_question_do_not_depend_on_their_neighbours(url):
    """T58, T60: in any order, beside others."""
    prompts = STARTED * 2
    together = read(url, prompts, concurrency=4)
    alone = [read(url, [prompt], concurrency=1)[0] for prompt in STARTED]
    for i, reading in enumerate(together):
        assert reading.fingerprint == alone[i % 3].fingerprint
        assert reading.low == pytest.approx(alone[i % 3].low, abs=0.3)
    apart = np.array([reading.low for reading in alone])
    assert np.abs(np.diff(apart, axis=0)).max() > 0.01  # three questions, three readings
