"""Heads on frozen features: what they are shown, whom they were fitted to, and that score reads what they say."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from measurand import simulate_faces, simulate_raters
from measurand.data.answers import read_answers
from measurand.data.ratings import read_ratings
from measurand.data.scale import Scale
from measurand.demo import heads
from measurand.demo.heads import image_tokens, mean_ratings, pooled, probe, regression_answers
from measurand.result import MeasurandError
from measurand.scoring import score

SCALE = Scale(0, 7, step=1)
EXPRESSIONS = ("elation", "fear")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "faces"
    faces = simulate_faces(n_items=48, n_persons=12, seed=5, expressions=EXPRESSIONS, held_out=0, out=out)
    made = simulate_raters(faces, scale=SCALE, n_raters=4, raters_per_item=4, seed=5)
    return faces, out, made.ratings


@pytest.fixture
def seen(monkeypatch, study):
    """Features as a model that sees intensities, and much else, would have them."""
    truth = study[0][list(EXPRESSIONS)].to_numpy()

    def tokens(_, pictures):
        rng = np.random.default_rng(0)
        rows = [int(file.stem.removeprefix("F")) - 1 for file in pictures]
        return (np.concatenate([truth, rng.normal(size=(len(truth), 10))], axis=1)[rows]).reshape(-1, 3, 4)

    monkeypatch.setattr(heads, "image_tokens", tokens)


@pytest.mark.usefixtures("seen")
def test_answers_are_in_scale_units_out_of_fold_and_read_by_score(study, tmp_path):
    faces, out, ratings = study
    table = regression_answers(tmp_path, faces, ratings, folder=out, scale=SCALE, system="heads")
    answers = read_answers(table)
    assert (answers.systems, answers.criteria, len(answers)) == (["heads"], list(EXPRESSIONS), 96)
    assert set(table["readout"]) == {"regression"}
    assert table["answer"].between(0, 7).all()
    assert (table["answer"] == 0).any()  # held to the scale
    persons = table.merge(faces[["item", "group"]], on="item").groupby("group")["fold"].nunique()
    assert persons.max() == 1
    assert sorted(table["fold"].unique()) == [1, 2, 3, 4, 5]
    checked = read_ratings(ratings, scale=SCALE)
    scores = score(table, checked, replicates=100, seed=1).to_frame()
    own = scores[(scores["analysis"] == "scores") & (scores["system"] == "heads") & (scores["calibration"] == "none")]
    assert own["estimate"].notna().all()


@pytest.mark.usefixtures("seen")
def test_a_persons_ratings_change_no_answer_to_that_person(study, tmp_path):
    faces, out, ratings = study
    own = set(faces["item"][faces["group"] == faces["group"].iloc[0]])
    other = ratings.copy()
    other.loc[other["item"].isin(own), "rating"] = 7
    tables = [regression_answers(tmp_path, faces, one, folder=out, scale=SCALE) for one in (ratings, other)]
    is_own = tables[0]["item"].isin(own)
    assert tables[0][is_own].equals(tables[1][is_own])
    assert not tables[0][~is_own].equals(tables[1][~is_own])


@pytest.mark.usefixtures("seen")
def test_items_that_nobody_rated_are_answered_and_strangers_are_refused(study, tmp_path):
    faces, out, ratings = study
    fewer = ratings[ratings["item"] != "F00001"]
    table = regression_answers(tmp_path, faces, fewer, folder=out, scale=SCALE)
    assert (table["item"] == "F00001").sum() == 2
    strangers = ratings.assign(item="x" + ratings["item"].astype(str))
    with pytest.raises(MeasurandError, match="none of the 48 items was rated"):
        regression_answers(tmp_path, faces, strangers, folder=out, scale=SCALE)
    with pytest.raises(MeasurandError, match="column group"):
        regression_answers(tmp_path, faces.assign(group="one"), ratings, folder=out, scale=SCALE)
    with pytest.raises(MeasurandError, match="no column 'group'"):
        regression_answers(tmp_path, faces[["item", "image"]], ratings, folder=out, scale=SCALE)


def test_mean_ratings_stand_in_the_order_of_the_items():
    table = pd.DataFrame(
        {
            "item": ["b", "b", "a", "a", "b"],
            "rater": ["R1", "R2", "R1", "R2", "R1"],
            "criterion": ["fear"] * 4 + ["joy"],
            "rating": [1, 2, 3, 5, 7],
        }
    )
    found = mean_ratings(read_ratings(table, scale=SCALE), ["a", "b", "c"])
    assert found == pytest.approx(np.array([[4, np.nan], [1.5, 7], [np.nan, np.nan]]), nan_ok=True)


def test_a_probe_knows_what_is_in_its_features_and_nothing_from_noise():
    rng = np.random.default_rng(1)
    wanted = rng.normal(size=(200, 3))
    groups = [f"P{k // 4}" for k in range(200)]
    clear = wanted + 0.1 * rng.normal(size=wanted.shape)
    clear = probe(np.concatenate([clear, rng.normal(size=(200, 20))], axis=1), wanted, groups, n_replicates=200)
    noise = probe(rng.normal(size=(200, 20)), wanted, groups, n_replicates=200)
    assert clear.mean_r2.value > 0.95
    assert clear.mean_spearman.low > 0.95
    assert noise.mean_r2.high < 0.05
    assert noise.mean_spearman.low < 0.1
    for found in (clear, noise):
        for one, each in ((found.mean_r2, found.r2), (found.mean_spearman, found.spearman)):
            assert one.value == pytest.approx(each.mean())
            assert one.low < one.value < one.high
    with pytest.raises(MeasurandError, match="are missing"):
        probe(wanted, np.where(wanted > 1, np.nan, wanted), groups)


def test_image_tokens_are_what_the_language_part_is_shown(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from eliciting import vlm_classes
    from measurand.eliciting.local.model import LocalModel
    from measurand.eliciting.local.render import Renderer
    from measurand.eliciting.prompt import Picture, Prompt
    from measurand.eliciting.system import System

    torch.set_num_threads(1)
    folder = vlm_classes.save("idefics3", tmp_path / "model")
    files = []
    for k in range(3):
        files.append(tmp_path / f"{k}.png")
        files[-1].write_bytes(vlm_classes.picture(k))
    found = image_tokens(folder, files)
    system = System("s", "transformers", model=str(folder))
    model, renderer = LocalModel(system).model, Renderer(system)
    shown = []
    # What stands in the place of the image tokens when the language part is called.
    model.model.text_model.register_forward_pre_hook(
        lambda *given: shown.append(given[2]["inputs_embeds"]), with_kwargs=True
    )
    for k, file in enumerate(files):
        rendered = renderer.render(Prompt("Happy?", picture=Picture(file.read_bytes(), "image/png")))
        ids = torch.tensor([rendered.ids])
        with torch.inference_mode():
            model(input_ids=ids, **rendered.inputs)
        wanted = shown[-1][ids == model.config.image_token_id].numpy()
        assert found[k] == pytest.approx(wanted, abs=1e-5)
    assert np.abs(found[0] - found[1]).max() > 0.1
    assert pooled(found, "mean").shape == (3, found.shape[2])
    assert pooled(found, "flattened").shape == (3, found.shape[1] * found.shape[2])
    with pytest.raises(MeasurandError, match="no part for pictures"):
        image_tokens(vlm_classes.save_text("llama", tmp_path / "text"), files)
    Image.new("RGB", (8, 8)).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:40])
    with pytest.raises(MeasurandError, match="can't be read"):
        image_tokens(folder, [tmp_path / "cut.png"])
