"""The network that others trained: asked where its packages are, and said to be missing where they are not."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from measurand import simulate_faces
from measurand.data.answers import read_answers
from measurand.demo import dedicated
from measurand.demo.dedicated import CLASSES, NAMES, class_shares, dedicated_answers, missing
from measurand.result import MeasurandError
from measurand.simulate import EXPRESSIONS

network = pytest.mark.skipif(bool(missing()), reason=f"the network of fer: {missing()}")


def test_every_class_but_neutral_names_one_drawn_expression():
    assert sorted(NAMES.values()) == sorted(set(CLASSES) - {"neutral"})
    assert set(NAMES) <= set(EXPRESSIONS)


@pytest.mark.parametrize("absent", ["fer", "ai_edge_litert"])
def test_a_missing_package_is_named_with_what_to_do(absent, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "emotion_model_quantized.tflite").touch()

    class Spec:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(dedicated.importlib.util, "find_spec", lambda name: None if name == absent else Spec)
    named = absent.replace("_", "-")
    assert missing() == f"{named} not installed; pip install --no-deps {named}"
    with pytest.raises(MeasurandError, match="can't be asked"):
        class_shares([])
    monkeypatch.setattr(dedicated.importlib.util, "find_spec", lambda _: Spec)
    assert missing() == ""
    (tmp_path / "data" / "emotion_model_quantized.tflite").unlink()
    assert "has no file" in missing()


def test_a_study_of_other_criteria_is_told_which_ones_are_named():
    items = pd.DataFrame({"item": ["a"], "image": ["a.png"]})
    with pytest.raises(MeasurandError, match="none of the criteria doubt, pain is named by a class"):
        dedicated_answers(items, folder=None, criteria=["doubt", "pain"])
    with pytest.raises(MeasurandError, match="no column 'image'"):
        dedicated_answers(items[["item"]], folder=None, criteria=["anger"])


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    out = tmp_path_factory.mktemp("faces") / "faces"
    return simulate_faces(n_items=65, n_persons=13, seed=4, expressions=["elation", "fear", "doubt"], out=out), out


@network
def test_answers_are_the_shares_of_the_classes_that_name_criteria_and_others_have_no_rows(faces):
    table, out = faces
    answers = read_answers(dedicated_answers(table, folder=out, criteria=["elation", "fear", "doubt"]))
    assert answers.criteria == ["elation", "fear"]
    assert len(answers) == 2 * len(table)
    shares = class_shares([out / image for image in table["image"]])
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-5)
    of_elation = answers.frame[answers.frame["criterion"] == "elation"]["answer"].to_numpy()
    assert np.array_equal(of_elation, shares[:, CLASSES.index("happy")])
    # A laughing face is one to this network, drawn or not.
    drawn = table["elation"].to_numpy()
    assert of_elation[drawn > 0.5].mean() > of_elation[drawn == 0].mean() + 0.3


@network
def test_a_picture_is_shown_grey_upright_and_whole_and_one_after_another_changes_nothing(faces, tmp_path):
    table, out = faces
    files = [out / image for image in table["image"][:3]]
    assert np.array_equal(class_shares(files)[::-1], class_shares(files[::-1]))
    Image.open(files[0]).convert("L").save(tmp_path / "grey.png")
    assert class_shares([tmp_path / "grey.png"]) == pytest.approx(class_shares(files[:1]), abs=1e-6)


@network
def test_neither_tensorflow_nor_fer_itself_is_imported_and_nothing_is_said(faces):
    code = (
        "import sys; from pathlib import Path; from measurand.demo.dedicated import class_shares; "
        "class_shares([Path(sys.argv[1])]); print([n for n in ('fer', 'tensorflow', 'torch') if n in sys.modules])"
    )
    file = str(faces[1] / faces[0]["image"].iloc[0])
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, file], capture_output=True, text=True, check=True
    )
    assert (ended.stdout.strip(), ended.stderr) == ("[]", "")
