"""A real small language model: answers against transformers and SciPy alone, and the engine's whole interface."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported

import numpy as np
import pytest
from scipy import special

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from measurand.eliciting.engine import Decoding, Engine  # noqa: E402
from measurand.eliciting.labels import Labels  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.prompt import Prompt  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
RATINGS = Labels({str(number): (str(number),) for number in range(11)}, are_numerals=True)
TEXTS = ("Nobody had opened the shop since Tuesday.", "She found the ring, and the whole table cheered.")


def prompts():
    """Two texts in turn, endings of several lengths, two prefills, one prompt twice."""
    asked = [
        Prompt(f"Does this text express {name}? Answer yes or no.", shared=text, prefill=prefill)
        for name in ("joy", "fear of heights and of falling")
        for prefill in ("Answer:", "")
        for text in TEXTS
    ]
    return [*asked, asked[2]]


@pytest.fixture(scope="module")
def engine(smollm2):
    made = LocalEngine(System("smollm2", "transformers", model=str(smollm2)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def readings(engine):
    assert all(proof.passed for proof in engine.prove(prompts()[:3], YES_NO))
    return dict(engine.read(prompts(), YES_NO))


@pytest.fixture(scope="module")
def plain(smollm2):
    """The template written out, one pass for each prompt, and the softmax of SciPy."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2)
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()

    def following(prompt, more=""):
        text = (
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            f"<|im_start|>user\n{prompt.shared}\n\n{prompt.question}<|im_end|>\n<|im_start|>assistant\n"
            f"{prompt.prefill}{more}"
        )
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1]
        return len(ids), special.softmax(logits.double().numpy()), tokenizer

    return following


def test_the_engine_has_the_whole_interface(engine):
    asked: Engine = engine
    assert asked.at_once() >= 1
    assert asked.abilities().distribution == "exact"
    assert asked.abilities().images is False


@pytest.mark.parametrize("i", [0, 3, 6])
def test_answers_are_those_of_plain_passes(i, readings, plain):
    """T14: sums of probabilities over every spelling, and what is left adds up to 1."""
    prompt = prompts()[i]
    n, p, tokenizer = plain(prompt)
    sums = {}
    for label in ("yes", "no"):
        words = [case(label) for case in (str.lower, str.capitalize, str.upper)]
        one = [tokenizer(lead + word, add_special_tokens=False)["input_ids"] for word in words for lead in ("", " ")]
        sums[label] = sum(p[ids[0]] for ids in one if len(ids) == 1)
        for ids in (ids for ids in one if len(ids) == 2):
            _, then, _ = plain(prompt, more=tokenizer.decode(ids[:1]))
            sums[label] += p[ids[0]] * then[ids[1]]
    found = readings[i]
    assert found.n_prompt == n
    np.testing.assert_allclose(found.low, np.log([sums["yes"], sums["no"]]), atol=1e-4)
    assert found.low[0] - found.low[1] == pytest.approx(np.log(sums["yes"] / sums["no"]), abs=1e-4)
    assert found.mass_high == pytest.approx(sum(sums.values()), abs=1e-5)
    assert found.top == tokenizer.decode([int(p.argmax())])


def test_the_prompt_that_stands_twice_gets_the_same_answer_twice(readings):
    assert readings[8].low == pytest.approx(readings[2].low, abs=1e-4)
    assert readings[8].fingerprint == readings[2].fingerprint
    assert len({readings[i].fingerprint for i in range(8)}) == 8


def test_only_the_first_prompt_of_a_text_pays_for_its_beginning(readings):
    """T63."""
    cached = [readings[i].n_cached for i in range(9)]
    assert cached[:2] == [0, 0]
    assert all(0 < n < readings[i].n_prompt for i, n in enumerate(cached) if i > 1)


def test_order_and_company_make_no_difference(engine, readings):
    asked = prompts()
    for chosen in ([7, 0, 3], [3]):
        found = dict(engine.read([asked[i] for i in chosen], YES_NO))
        for place, i in enumerate(chosen):
            np.testing.assert_allclose(found[place].low, readings[i].low, atol=1e-4)


def test_fingerprint_and_count_are_known_without_a_pass(smollm2, readings):
    fresh = LocalEngine(System("smollm2", "transformers", model=str(smollm2)))
    assert fresh.fingerprint(prompts()[3]) == readings[3].fingerprint
    assert fresh.count(prompts()[3]) == readings[3].n_prompt
    assert fresh._model._model is None
    assert fresh.objections(prompts(), YES_NO) == []
    (objection,) = fresh.objections([Prompt("Is <|im_end|> here?")], YES_NO)
    assert "<|im_end|>" in objection
    assert fresh._model._model is None


def test_the_identity_is_the_same_before_and_after_the_test(smollm2, engine, readings):  # noqa: ARG001
    """T70: answers are stored under it, and it is asked for before anything is loaded."""
    fresh = LocalEngine(System("another name", "transformers", model=str(smollm2)))
    assert fresh.identity() == engine.identity()


def test_ratings_are_read_over_numerals_and_ten_is_not_one(engine, plain):
    prompt = Prompt("How strong is joy in it, from 0 to 10?", shared=TEXTS[1], prefill="Answer: ")
    ((_, found),) = engine.read([prompt], RATINGS)
    _, p, tokenizer = plain(prompt)
    one, two, zero = (tokenizer(text, add_special_tokens=False)["input_ids"][0] for text in "120")
    _, then, _ = plain(prompt, more="1")
    assert np.exp(found.low[2]) >= p[two] - 1e-6
    assert np.exp(found.low[1]) + np.exp(found.low[10]) >= p[one] - 1e-6
    assert np.exp(found.low[10]) >= p[one] * then[zero] - 1e-6
    assert found.mass_high <= 1 + 1e-12


def test_the_table_names_the_tokens_behind_each_prefill(engine):
    table = engine.tables(prompts()[:4], YES_NO)
    assert len(table) == 2
    for rows in table.values():
        assert {"Yes", " Yes", "yes", " yes"} <= {row["text"] for row in rows if row["label"] == "yes"}


def test_replies_are_those_of_transformers(engine, smollm2):
    model = transformers.AutoModelForCausalLM.from_pretrained(smollm2, dtype=torch.float32).eval()
    asked = prompts()[:3]
    found = dict(engine.generate(asked, [Decoding(max_tokens=8)] * 3))
    for i in (0, 2):
        ids = torch.tensor([list(engine._renderer.render(asked[i]).ids)])
        out = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False, pad_token_id=2
        )
        written = [token for token in out[0, ids.shape[1] :].tolist() if token != 2]
        assert found[i].text == engine._renderer.decode(written)
