"""The training of the pocket model in small: losses fall, a stopped training goes on, what it saves is a real model."""

import json
import os
import sys
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

from training.card import write_card  # noqa: E402
from training.data import GREY, Faces, training_faces  # noqa: E402
from training.evaluate import _RULES, Evaluation, _png, finite  # noqa: E402
from training.model import build, load_weights, pixels  # noqa: E402
from training.packing import Packer, pack  # noqa: E402
from training.phases import Learner  # noqa: E402
from training.recipe import CRITERIA, EXAMPLE, VARIANTS, recipe_of  # noqa: E402
from training.train import Training  # noqa: E402
from training.validate import Validation  # noqa: E402

from measurand.eliciting.labels import Labels  # noqa: E402
from measurand.eliciting.local import LocalEngine  # noqa: E402
from measurand.eliciting.local.render import Renderer  # noqa: E402
from measurand.eliciting.prompt import Prompt  # noqa: E402
from measurand.eliciting.ratings_reply import read_ratings_reply  # noqa: E402
from measurand.eliciting.system import System  # noqa: E402
from training import wordings  # noqa: E402

torch.set_num_threads(1)

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
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
    vision_steps=40,
    vision_batch=16,
    binding_steps=20,
    binding_batch=8,
    language_steps=30,
    language_batch=8,
    questions=3,
    ratings_share=0.25,
    negated_from=10,
    keep_at=(20,),
    checkpoint_every=15,
    validate_every=1000,
    log_every=1,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("faces")


@pytest.fixture(scope="module")
def trained(tmp_path_factory, data):
    out = tmp_path_factory.mktemp("trained")
    assert Training(SMALL, out, data=data).run()
    return out


def lines(out):
    """Return a log without the times in it."""
    read = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "cpu_seconds"} for line in read]


def losses(out, phase, name="loss"):
    return [line[name] for line in lines(out) if line["phase"] == phase and name in line]


def test_all_phases_learn(trained):
    for phase, name in (("vision", "loss"), ("binding", "yes_no"), ("language", "loss"), ("language", "yes_no")):
        found = losses(trained, phase, name)
        assert np.mean(found[-5:]) < 0.8 * np.mean(found[:5]), (phase, name)


def test_a_training_that_was_killed_goes_on_as_if_it_had_not_been(trained, tmp_path, data):
    stops = [("vision", 17), ("binding", 9), ("language", 0), ("language", 22)]
    for stop in stops:
        assert not Training(SMALL, tmp_path, data=data).run(stop_at=stop)
    # A kill between two checkpoints: what was done behind the last one is done again.
    killed = Training(SMALL, tmp_path, data=data)
    for _ in range(4):
        killed._one("language", SMALL.language_steps)
    assert Training(SMALL, tmp_path, data=data).run()
    assert lines(tmp_path) == lines(trained)
    for kept in ("model", "step-20"):
        weights = [(out / kept / "model.safetensors").read_bytes() for out in (trained, tmp_path)]
        assert weights[0] == weights[1], kept


def test_another_seed_is_another_training(trained, tmp_path, data):
    other = Training(recipe_of(**{**SMALL.as_dict(), "seed": 1, "n_graded": 30, "n_mixed": 10}), tmp_path, data=data)
    other.run(stop_at=("vision", 2))
    assert losses(tmp_path, "vision")[:2] != losses(trained, "vision")[:2]


def test_a_folder_of_another_recipe_is_refused(trained, data):
    changed = recipe_of(**{**SMALL.as_dict(), "language_rate": 1e-4})
    with pytest.raises(SystemExit, match="belongs to another recipe"):
        Training(changed, trained, data=data)


def test_a_folder_of_other_faces_is_refused(trained, data, monkeypatch):
    monkeypatch.setattr(Faces, "digest", "another")
    with pytest.raises(SystemExit, match="other faces"):
        Training(SMALL, trained, data=data)


def test_the_saved_model_is_small_and_passes_the_self_test_of_the_library(trained, data):
    size = sum(file.stat().st_size for file in (trained / "model").iterdir())
    assert size < 8e6
    faces = training_faces(SMALL, data)
    prompts = [
        Prompt(wordings.question(one, criterion), picture=_png(np.asarray(faces.pictures[k])), prefill=prefill)
        for k in (0, 1)
        for one, criterion in zip(wordings.KEPT_BACK, CRITERIA, strict=False)
        for prefill in ("Answer:", "")
    ]
    engine = LocalEngine(System("pocket", "transformers", model=str(trained / "model")))
    requests = [Prompt(wordings.request(one), picture=prompts[0].picture) for one in (wordings.EVERY, wordings.PAIRS)]
    assert engine.objections(prompts, YES_NO) == []
    assert engine.objections(requests, None) == []
    proofs = engine.prove(prompts, YES_NO)
    assert [one.check for one in proofs if not one.passed] == []
    assert engine.way == "packed"


def test_training_rows_are_the_prompts_that_the_library_renders(trained, data):
    """The token ids of a branch with its answer, a picture before it, with and without the prefill; and the pixels."""
    renderer = Renderer(System("pocket", "transformers", model=str(trained / "model")))
    packer = Packer(renderer.tokenizer)
    shown = np.asarray(training_faces(SMALL, data).pictures[0])
    picture = _png(shown)
    for prefill in ("", wordings.PREFILL):
        rendered = renderer.render(Prompt("Is it so?", picture=picture, prefill=prefill))
        branch = packer.branch("Is it so?", f"{prefill} Yes".strip())
        whole = (*packer.beginning, *branch.question, *branch.answer)
        assert rendered.ids == whole[: len(rendered.ids)]
        assert renderer.decode(whole[len(rendered.ids) :]) == " Yes<end_of_utterance>"
    assert torch.equal(rendered.inputs["pixel_values"][0], pixels(shown[None]))


def test_branches_of_a_row_are_read_as_the_question_alone_is(trained, data):
    """What a packed row says is what one plain pass of the rendered prompt says; a mask that leaks would show."""
    model, processor = build(SMALL)
    load_weights(model, trained / "model")
    packer = Packer(processor.tokenizer)
    faces = training_faces(SMALL, data)
    shown = np.asarray(faces.pictures[:2])
    learner = Learner(SMALL, model.eval(), packer, faces)
    validation = Validation.of(learner)
    validation.pictures = shown
    said, mass = validation._read(learner, wordings.TRAINED[0])
    renderer = Renderer(System("pocket", "transformers", model=str(trained / "model")))
    words = [renderer.tokenizer.encode(f" {word}", add_special_tokens=False) for word in ("Yes", "No")]
    for k, face in enumerate(shown):
        for c, criterion in enumerate(CRITERIA):
            question = wordings.question(wordings.TRAINED[0], criterion)
            rendered = renderer.render(Prompt(question, picture=_png(face), prefill=wordings.PREFILL))
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([rendered.ids]), **rendered.inputs).logits[0, -1]
            yes, no = (float(logits.softmax(-1)[word[0]]) for word in words)
            assert said[k, c] == pytest.approx(yes / (yes + no), abs=1e-5)
            assert mass[k, c] == pytest.approx(yes + no, abs=1e-5)
    # The twin: with the mask of a plain row the second branch would see the first.
    branches = [packer.branch(wordings.question(wordings.TRAINED[0], one), "Answer: Yes") for one in CRITERIA]
    row = pack(packer.beginning, [branches])
    first = len(packer.beginning) + len(branches[0].question) + len(branches[0].answer)
    assert bool((row.mask[0, 0, first, len(packer.beginning) : first] < 0).all())
    assert bool((row.mask[0, 0, first, : len(packer.beginning)] == 0).all())
    assert row.positions[0, first] == len(packer.beginning)


def test_the_share_of_raters_stands_at_the_word_alone_and_is_turned_round_by_a_negation():
    packer = Packer(build(SMALL)[1].tokenizer)
    shares = np.linspace(0, 1, 12)
    yes = np.zeros(12, dtype=np.int8)
    rng = np.random.default_rng(0)
    row = packer.questions(yes, shares, np.zeros(12), rng, n=12, direct=0.5)
    packed = pack(packer.beginning, [row])
    at = ~packed.shares[0].isnan()
    assert set(packed.said[0][at].tolist()) <= set(packer.words)
    assert int(at.sum()) == 12
    turned = {wordings.question(one, c): one.negated for one in wordings.TRAINED for c in CRITERIA}
    for one in row:
        text = packer.tokenizer.decode(one.question)
        question = text.removeprefix(" ").split("<end_of_utterance>")[0]
        c = next(c for c in CRITERIA if f"{c}" in question)
        share = shares[CRITERIA.index(c)]
        assert one.share == pytest.approx(1 - share if turned[question] else share)
        # All raters said no: the word is No, or Yes under a negated wording.
        assert one.answer[-2] == packer.words[0 if turned[question] else 1]


def test_the_mean_over_raters_is_the_loss_of_one_rater_on_average(data):
    """Every rater in turn, the same questions: the mean of their losses is the loss with the shares."""
    losses = {}
    for is_all in (True, False):
        recipe = recipe_of(**{**SMALL.as_dict(), "all_raters": is_all, "ratings_share": 0.0, "auxiliary": 0.0})
        model, processor = build(recipe)
        faces = training_faces(recipe, data)
        found = []
        for rater in range(faces.yes.shape[1]):
            only = Faces(faces.pictures, faces.ratings[:, [rater]], faces.yes[:, [rater]])
            # Which questions are asked, and the shares, are those of all raters.
            object.__setattr__(only, "averages", faces.averages)
            learner = Learner(recipe, model, Packer(processor.tokenizer), only)
            found.append(learner._answers("language", np.random.default_rng(5), SMALL.negated_from)[1]["yes_no"])
        losses[is_all] = found
    assert np.std(losses[True]) < 1e-6
    assert np.std(losses[False]) > 1e-4
    assert np.mean(losses[False]) == pytest.approx(losses[True][0], abs=1e-5)


def test_answers_are_those_of_single_raters_and_of_the_same_views(data):
    faces = training_faces(SMALL, data)
    assert faces.ratings.shape == faces.yes.shape == (180, 4, 12)
    assert set(np.unique(faces.ratings)) <= set(range(8))
    # One view, two answers: who says yes rated higher, for nearly every criterion.
    gaps = [faces.ratings[..., c][faces.yes[..., c] == 1].mean() - faces.ratings[..., c].mean() for c in range(12)]
    assert min(gaps) > 1


def test_a_reply_of_pairs_has_no_zeros_and_the_examples_keys():
    ratings = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]
    for name, phrasing in (("every", wordings.EVERY), ("pairs", wordings.PAIRS)):
        reply = wordings.ratings_reply(ratings, phrasing)
        read = read_ratings_reply(
            reply,
            criteria=CRITERIA,
            scale={"": wordings.SCALE},
            rule=_RULES[name],
            is_truncated=False,
            is_refused=False,
        )
        assert read.accepted, read.detail
    assert list(json.loads(reply)) == list(EXAMPLE)
    assert json.loads(reply)["amusement"] == 1


def test_a_negated_question_turns_the_answer_round():
    absent = wordings.TRAINED[2]
    assert absent.negated
    assert [wordings.yes_no(seen, absent) for seen in (True, False)] == ["No", "Yes"]
    assert wordings.yes_no(True, wordings.TRAINED[0]) == "Yes"


def test_wordings_kept_back_are_never_asked_in_training():
    asked = {one.question for one in wordings.TRAINED}
    assert not asked & {one.question for one in wordings.KEPT_BACK}
    assert len({one.name for one in (*wordings.TRAINED, *wordings.KEPT_BACK)}) == len(asked) + 2


def test_the_blind_variant_sees_grey_alone(tmp_path, data):
    small = {name: value for name, value in SMALL.as_dict().items() if name not in ("variant", *VARIANTS["blind"])}
    blind = recipe_of("blind", **small)
    training = Training(blind, tmp_path, data=data)
    assert (training.validation.pictures == GREY).all()
    _, shown = training.learner._drawn(np.random.default_rng(0), 4)
    assert float(shown.std()) == 0


def test_figures_and_card_of_a_training(trained):
    found = finite(Evaluation(trained / "model", SMALL, n_graded=39, n_rated=13).figures())
    (trained / "figures.json").write_text(json.dumps(found))
    assert list(found["spearman"]) == ["does", "present", "absent", "would", "see"]
    assert 0 <= found["parsed_every"] <= 1
    assert 0 <= found["named"] <= 1
    assert found["kappa"]["human"]["mean"] > 0.1
    assert all(one["passed"] for one in found["proofs"].values())
    card = write_card(trained).read_text()
    assert "{" not in card.replace("{criterion}", "")
    assert "## Limits" in card
    assert (trained / "curves.svg").read_text().startswith("<svg")
