"""The demo's folder: whole or not at all, its own and nobody else's, of persons that no training saw."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from measurand.demo import unpack
from measurand.demo.unpack import ADAPTED, MARKER, SEED, STORED, STUDY, WHOLE
from measurand.eliciting.local.weights import weights_digest
from measurand.eliciting.system import System
from measurand.result import MeasurandError
from measurand.simulate.faces import USUAL
from measurand.study import sha256
from measurand.study_file import read_study

HERE = Path(unpack.__file__).parent
ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((HERE / STUDY).read_text(encoding="utf-8"))


@pytest.fixture
def stored(tmp_path):
    unpack.unpack(tmp_path / "demo", stored=True)
    return tmp_path / "demo"


def test_every_file_is_named_with_its_hash_and_the_study_can_be_read(stored):
    document = json.loads((stored / MARKER).read_text(encoding="utf-8"))
    there = {path.relative_to(stored).as_posix() for path in stored.rglob("*") if path.is_file()}
    assert set(document["files"]) == {name for name in there if not name.startswith("run/") and name != MARKER}
    assert all(sha256(stored / name) == hashed for name, hashed in document["files"].items())
    study = read_study(stored / STUDY)
    assert len(study.items) == unpack.N_ITEMS
    assert len(set(study.items.pictures)) == unpack.N_ITEMS
    assert [one.name for one in study.systems] == [*WHOLE[:2], *list(ADAPTED), WHOLE[2]]


def test_the_stored_answers_are_those_of_the_models_that_ship(stored):
    document = json.loads((stored / "run" / "elicit" / "protocol.json").read_text(encoding="utf-8"))
    asked = {one["system"]: one["identity"]["weights"] for one in document["systems"]}
    assert set(asked) == {*WHOLE, *ADAPTED}
    for name in WHOLE:
        assert asked[name] == weights_digest(System(name, "transformers", model=str(HERE / "models" / name)))
    assert len(set(asked.values())) == len(asked)
    assert (HERE / STORED).stat().st_size < 2.5e6


def test_an_earlier_demo_that_is_whole_is_left_as_it_is(stored):
    before = {path: path.stat().st_mtime_ns for path in stored.rglob("*")}
    assert unpack.unpack(stored, stored=True) == stored / STUDY
    assert {path: path.stat().st_mtime_ns for path in stored.rglob("*")} == before


def test_stored_answers_that_are_gone_come_back_since_nobody_can_give_them_again(stored):
    (stored / "run" / "elicit" / "answers.csv").rename(stored / "aside")
    (stored / "aside").unlink()
    for path in (stored / "run" / "elicit").iterdir():
        path.unlink()
    (stored / "run" / "elicit").rmdir()
    unpack.unpack(stored, stored=True)
    assert (stored / "run" / "elicit" / "answers.csv").is_file()


def test_what_is_not_the_demos_is_refused(stored, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(stored)
    for out in (tmp_path / "file", tmp_path / "link"):
        with pytest.raises(MeasurandError, match="is not a folder"):
            unpack.unpack(out, stored=True)
    with pytest.raises(MeasurandError, match="holds other files and no earlier demo"):
        unpack.unpack(tmp_path, stored=True)
    picture = next((stored / "images").iterdir())
    picture.unlink()
    with pytest.raises(MeasurandError, match=rf"{picture.name} is gone"):
        unpack.unpack(stored, stored=True)


def test_an_unpacking_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fails(folder, _):
        (folder / "half").write_text("")
        raise MeasurandError("no more")

    monkeypatch.setattr(unpack, "_make", fails)
    with pytest.raises(MeasurandError, match="no more"):
        unpack.unpack(tmp_path / "new" / "demo")
    assert list(tmp_path.iterdir()) == []


def test_another_kind_of_demo_takes_its_place_unless_something_would_be_lost(stored, monkeypatch):
    monkeypatch.setattr(unpack, "_make", lambda folder, _: (folder / STUDY).write_text(""))
    (stored / "notes.txt").write_text("mine")
    with pytest.raises(MeasurandError, match=r"notes\.txt, which would be lost"):
        unpack.unpack(stored)
    (stored / "notes.txt").unlink()
    unpack.unpack(stored)
    assert sorted(path.name for path in stored.iterdir()) == [MARKER, STUDY]


def test_the_study_asks_what_the_training_says_it_was_trained_on(monkeypatch, tmp_path):
    if not (ROOT / "training").is_dir():
        pytest.skip("there is no folder training here")
    monkeypatch.syspath_prepend(str(ROOT))
    sys.modules.pop("training", None)
    from training.recipe import CRITERIA, EXAMPLE, Recipe

    from training import wordings

    seed = Recipe().seed
    assert SEED not in {seed, *(10 * seed + offset for offset in range(4))}
    assert DECLARED["data"]["criteria"] == list(CRITERIA) == list(USUAL)
    pairs = next(one for one in DECLARED["elicit"]["readout"] if one["name"] == "generative_pairs")
    assert pairs["rule"] == {"n_pairs": len(EXAMPLE), "zeros": False, "example": list(EXAMPLE)}
    trained, kept_back = ({one.name for one in of} for of in (wordings.TRAINED, wordings.KEPT_BACK))
    readouts = read_study(unpack.unpack(tmp_path / "demo", stored=True)).readouts
    assert [list(one.phrasings) for one in readouts if one.name.startswith("generative")] == [
        [wordings.EVERY],
        [wordings.PAIRS],
    ]
    *asked, last = DECLARED["elicit"]["verification"]["phrasings"]
    assert set(asked) <= trained
    assert last in kept_back
    assert (DECLARED["scale"]["low"], DECLARED["scale"]["high"], DECLARED["scale"]["step"]) == (0, 7, 1)
