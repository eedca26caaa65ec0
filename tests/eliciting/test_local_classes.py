"""Real vision-language classes: answers by a shared beginning are those of plain passes, pictures interleaved."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from eliciting import vlm_classes  # noqa: E402
from measurand.eliciting.engine import Decoding  # noqa: E402
from measurand.eliciting.labels import Labels  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.local.prefix import Question, common, read  # noqa: E402
from measurand.eliciting.local.reading import label_log_probabilities, log_probabilities  # noqa: E402
from measurand.eliciting.local.selftest import LIMIT  # noqa: E402
from measurand.eliciting.prompt import Picture, Prompt  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402
from measurand.result import MeasurandError  # noqa: E402

#: PaliGemma's processor makes arrays of tensors in a way that NumPy 2 warns of; here it is called without the library.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
KINDS = vlm_classes.WITHOUT_TORCHVISION


def prompts(n_pictures=3, *, names=("happy", "sad or angry", "calm")):
    """Ask about pictures in turn, so that no picture's questions stand together."""
    return [
        Prompt(
            f"Is the face {name}? Answer yes or no.", picture=Picture(vlm_classes.picture(k), "image/png"), prefill=p
        )
        for name in names
        for p in ("Answer:", "")
        for k in range(n_pictures)
    ]


@pytest.fixture(scope="module")
def engines(tmp_path_factory):
    made = {}

    def engine(kind):
        if kind not in made:
            folder = vlm_classes.save(kind, tmp_path_factory.mktemp(kind))
            made[kind] = LocalEngine(System(kind, "transformers", model=str(folder)))
        return made[kind]

    yield engine
    for one in made.values():
        one.close()


def log_odds(engine, asked):
    found = dict(engine.read(asked, YES_NO))
    return np.array([found[i].low[0] - found[i].low[1] for i in range(len(asked))])


def plain_log_odds(engine, asked):
    """Return log-odds from transformers' own processor and model, one prompt at a time, summed in NumPy."""
    folder = engine.system.model
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).eval()
    out = []
    for prompt in asked:
        rendered = engine._renderer.render(prompt)
        image = vlm_classes.image_of(prompt.picture.data)
        given = processor(text=[rendered.text], images=[image], return_tensors="pt", add_special_tokens=False)
        given.pop("labels", None)
        given = {
            name: v[:, : len(rendered.ids)] if name in rendered.along or name in ("input_ids", "attention_mask") else v
            for name, v in given.items()
        }
        assert tuple(given["input_ids"][0].tolist()) == rendered.ids

        # What a reply has said already is text, and in PaliGemma's terms no part of what all tokens see.
        kinds = dict.fromkeys(rendered.along, int(engine.system.name == "paligemma"))
        fills = {"attention_mask": 1, **kinds}

        def following(chain, given=given, fills=fills):
            more = {name: torch.full((1, len(chain)), fill) for name, fill in fills.items() if name in given}
            more["input_ids"] = torch.tensor([chain], dtype=torch.long)
            with torch.inference_mode():
                logits = model(
                    **given | {name: torch.cat([given[name], tail], 1) for name, tail in more.items()}
                ).logits
            return special.log_softmax(logits[0, -1].double().numpy())

        answers = engine._answers(rendered, YES_NO)
        labels = [
            special.logsumexp([sum(following(ids[:k])[ids[k]] for k in range(len(ids))) for ids in label])
            for label in answers.sequences
        ]
        out.append(labels[0] - labels[1])
    return np.array(out)


@pytest.mark.parametrize("kind", KINDS)
def test_a_shared_beginning_gives_the_answers_of_plain_passes_on_interleaved_pictures(kind, engines):
    """T47, T60, T61, T62: and a swapped picture moves them a hundred times what is tolerated."""
    engine, asked = engines(kind), prompts()
    proofs = engine.prove(asked, YES_NO)
    assert all(proof.passed for proof in proofs)
    found = log_odds(engine, asked)
    expected = plain_log_odds(engine, asked[:4])
    assert np.abs(found[:4] - expected).max() < LIMIT
    # The twin: the same questions with the next picture in place of their own.
    swapped = [
        Prompt(one.question, picture=asked[(i + 1) % 3].picture, prefill=one.prefill) for i, one in enumerate(asked[:3])
    ]
    assert np.abs(log_odds(engine, swapped) - found[:3]).min() > 100 * LIMIT
    np.testing.assert_allclose(log_odds(engine, asked[::-1])[::-1], found, atol=LIMIT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_beginning_without_one_of_its_tokens_would_be_seen(kind, engines):
    """The twin of the shared beginning: one text token less moves log-odds a hundred times what is tolerated."""
    engine = engines(kind)
    whole = [engine._question(one, YES_NO) for one in prompts(1)]
    at = common(whole) - 2
    found = []
    for group in (whole, [Question(_without(one.rendered, at), one.chains) for one in whole]):
        logits = dict(read(engine._model, group, way="batch" if kind == "paligemma" else "packed"))
        labels = [
            label_log_probabilities(
                log_probabilities(logits[i]), one.chains, engine._answers(whole[i].rendered, YES_NO)
            )[0]
            for i, one in enumerate(group)
        ]
        found.append(np.array([yes - no for yes, no in labels]))
    assert np.abs(found[0] - found[1]).min() > 100 * LIMIT


def _without(rendered, at):
    inputs = {
        name: torch.cat([v[:, :at], v[:, at + 1 :]], dim=1) if name in rendered.along else v
        for name, v in rendered.inputs.items()
    }
    return replace(rendered, ids=rendered.ids[:at] + rendered.ids[at + 1 :], inputs=inputs)


def test_the_way_is_found_on_the_model_and_not_by_its_name(engines):
    """PaliGemma's pictures attend to the question: a shared beginning is wrong, and the self-test says by how much."""
    ways = {}
    for kind in KINDS:
        proofs = {proof.check: proof for proof in engines(kind).prove(prompts(2), YES_NO)}
        ways[kind] = engines(kind).way
        assert proofs["cold_cached"].value <= proofs["cold_cached"].limit == LIMIT
        assert {"cold_cached", "batch", "padding", "order", "images", "head"} == set(proofs)
        if kind == "paligemma":
            assert "packed: log-odds moved by" in proofs["cold_cached"].statement
            assert "expanded: log-odds moved by" in proofs["cold_cached"].statement
        assert engines(kind).abilities().notes["reading"].startswith(ways[kind])
    assert ways == {"llava": "packed", "idefics3": "packed", "gemma3": "packed", "paligemma": "batch"}


def test_cached_tokens_are_told_where_a_beginning_is_shared_and_only_there(engines):
    """T63."""
    for kind in ("gemma3", "paligemma"):
        asked = prompts(1)
        found = dict(engines(kind).read(asked, YES_NO))
        cached = [found[i].n_cached for i in range(len(asked))]
        assert cached[0] == 0
        n = engines(kind).count(asked[1])
        assert all(value == 0 for value in cached) if kind == "paligemma" else 0 < cached[1] < n
        assert found[1].n_prompt == n


@pytest.mark.parametrize("kind", KINDS)
def test_replies_are_those_of_transformers_whatever_their_neighbours(kind, engines):
    """Greedy replies equal `generate` of transformers, alone or beside prompts of other lengths and pictures."""
    engine, asked = engines(kind), prompts(2)[:5]
    decoding = Decoding(max_tokens=6)
    together = dict(engine.generate(asked, [decoding] * 5))
    model = transformers.AutoModelForImageTextToText.from_pretrained(engine.system.model, dtype=torch.float32).eval()
    for i in (0, 3):
        rendered = engine._renderer.render(asked[i])
        ids = torch.tensor([list(rendered.ids)])
        out = model.generate(
            input_ids=ids, attention_mask=torch.ones_like(ids), **rendered.inputs, max_new_tokens=6, do_sample=False
        )
        written = [token for token in out[0, ids.shape[1] :].tolist() if token != 2]
        assert together[i].text == engine._renderer.decode(written)
        ((_, alone),) = engine.generate([asked[i]], [decoding])
        assert alone.text == together[i].text
        assert alone.n_prompt == len(rendered.ids)


def test_a_text_model_is_not_asked_about_pictures(tmp_path):
    folder = vlm_classes.save_text("llama", tmp_path)
    engine = LocalEngine(System("llama", "transformers", model=str(folder)))
    (objection,) = engine.objections(prompts(1)[:1], YES_NO)
    assert "takes no pictures" in objection
    with pytest.raises(MeasurandError, match="picture"):
        engine.count(prompts(1)[0])
