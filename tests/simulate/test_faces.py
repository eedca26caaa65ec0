"""Drawn faces: the same bytes again, expressions that can be told apart and graded, folders whole or not at all."""

import hashlib
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import stats

from command_line import assert_one_message, runner
from measurand.data import read_items
from measurand.eliciting.controls import media_type
from measurand.result import MeasurandError
from measurand.simulate import EXPRESSIONS, face_pictures, faces_folder, simulate_faces
from measurand.simulate.faces import USUAL, intensity_sheet, person_sheet, read_intensities
from measurand.simulate.faces_expressions import ACTIONS, actions_of

#: Contact sheets of two expressions are quickly drawn.
TWO = ("fear", "doubt")
TWO_OPTIONS = ("--expression", "fear", "--expression", "doubt")

TABLE = ["item", "image", "group", "split"]

#: The first paper's names of these expressions (its table of agreement per category).
TAXONOMY = {
    "Amusement",
    "Elation",
    "Contentment",
    "Sadness",
    "Pain",
    "Anger",
    "Contempt",
    "Fear",
    "Astonishment/Surprise",
    "Disgust",
    "Fatigue/Exhaustion",
    "Doubt",
    "Embarrassment",
    "Sourness",
}


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def drawn(faces, **options):
    return np.stack(list(face_pictures(faces, **options)))


def hashes(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


# --- the table --------------------------------------------------------------------------------------------------------


def test_expressions_are_of_the_first_papers_taxonomy_and_move_known_action_units():
    assert {name.partition("/")[0].lower() for name in TAXONOMY} == set(EXPRESSIONS)
    assert len(USUAL) == 12
    for name, moved in EXPRESSIONS.items():
        for action, value in moved.items():
            _, low, high = ACTIONS[action]
            assert low <= value <= high, (name, action)
    assert {action for moved in EXPRESSIONS.values() for action in moved} == set(ACTIONS)


@given(st.dictionaries(st.sampled_from(sorted(EXPRESSIONS)), st.floats(0, 1), max_size=5))
def test_no_mixture_moves_a_face_further_than_it_goes(intensities):
    moved = actions_of(intensities, {"corner": 0.2})
    assert set(moved) == set(ACTIONS)
    assert all(ACTIONS[action][1] <= value <= ACTIONS[action][2] for action, value in moved.items())


def test_graded_faces_have_one_expression_at_an_even_intensity_and_each_as_often():
    faces = simulate_faces(n_items=1300, n_persons=20, seed=2)
    assert list(faces) == [*TABLE, *USUAL]
    values = faces[list(USUAL)].to_numpy()
    n_shown = (values > 0).sum(axis=1)
    assert set(n_shown) == {0, 1}
    assert (n_shown == 0).sum() == 100
    assert ((values > 0).sum(axis=0) == 100).all()
    assert stats.kstest(values[values > 0], "uniform").pvalue > 1e-4


def test_mixed_faces_have_up_to_three_expressions_and_the_others_are_weaker():
    faces = simulate_faces(n_items=1300, n_persons=20, seed=2, kind="mixed")
    values = np.sort(faces[list(USUAL)].to_numpy(), axis=1)[:, ::-1]
    n_shown = (values > 0).sum(axis=1)
    assert set(n_shown) == {0, 1, 2, 3}
    assert (n_shown == 0).sum() == 100
    assert values[:, 1].max() <= 0.6
    assert stats.chisquare([(n_shown == n).sum() for n in (1, 2, 3)]).pvalue > 1e-4


def test_persons_have_several_pictures_each_and_are_in_one_split():
    faces = simulate_faces(n_items=210, n_persons=20, held_out=0.3)
    assert set(faces["group"].value_counts()) == {10, 11}
    per_split = faces.groupby("split")["group"].unique()
    assert not set(per_split["train"]) & set(per_split["test"])
    assert len(per_split["test"]) == 6
    assert set(simulate_faces(n_items=40, n_persons=4, held_out=0.0)["split"]) == {"train"}


def test_another_number_of_persons_leaves_the_split_of_the_others_alone():
    splits = [simulate_faces(n_items=99, n_persons=n).groupby("group")["split"].first() for n in (12, 33)]
    assert splits[1][splits[0].index].equals(splits[0])


def test_a_subset_of_expressions_is_drawn_alone():
    faces = simulate_faces(n_items=30, n_persons=3, expressions=("sourness", "fear"))
    assert list(faces) == [*TABLE, "sourness", "fear"]
    assert (faces["fear"] > 0).sum() == 10


# --- the pictures -----------------------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path):
    for name, seed in (("one", 3), ("two", 3), ("other", 4)):
        simulate_faces(n_items=8, n_persons=4, seed=seed, size=32, expressions=TWO, out=tmp_path / name)
    one, two, other = (hashes(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert all(one[name] != other[name] for name in one)


def test_more_faces_leave_the_first_ones_as_they_are():
    few = simulate_faces(n_items=30, n_persons=6, seed=5)
    many = simulate_faces(n_items=80, n_persons=6, seed=5)
    pd.testing.assert_frame_equal(many[:30], few)
    assert np.array_equal(drawn(many[20:35], seed=5)[:10], drawn(few[20:], seed=5))


def test_a_picture_is_its_person_number_and_intensities_alone():
    few = simulate_faces(n_items=6, n_persons=2, seed=5)
    again = few.iloc[::-1].reset_index(drop=True)
    pictures = drawn(few, seed=5)
    assert np.array_equal(drawn(again, seed=5)[::-1], pictures)
    stranger = few.assign(group="P0099")
    assert (drawn(stranger, seed=5) != pictures).any(axis=(1, 2, 3)).all()


def test_a_person_looks_alike_and_persons_differ():
    """Pictures of one person at rest, without pose and light, are nearer to each other than to anybody else's."""
    names = [f"P{p:04d}" for p in range(1, 9)]
    rows = [{"item": f"{name}-{k}", "group": name, "fear": 0.0} for name in names for k in range(6)]
    pictures = drawn(pd.DataFrame(rows)).astype(float)[:, 24:48, 20:44].mean(axis=(1, 2)).reshape(8, 6, 3)
    colour = pictures / pictures.sum(axis=2, keepdims=True)
    within = colour.var(axis=1).mean()
    between = colour.mean(axis=1).var(axis=0).mean()
    assert between > 3 * within


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_step_of_intensity_is_seen_in_the_face(expression):
    """Pixels move away from the neutral face with every tenth, in proportion; backwards they do not."""
    levels = np.linspace(0, 1, 11)
    for person in ("P0001", "P0002"):
        rows = [pd.DataFrame([{"item": "F00001", "group": person, expression: level}]) for level in levels]
        pictures = np.concatenate([drawn(row, seed=1) for row in rows]).astype(float)[:, 8:60, 6:58]
        distance = np.abs(pictures - pictures[0]).mean(axis=(1, 2, 3))
        assert (np.diff(distance) > 0).all()
        assert np.corrcoef(levels, distance)[0, 1] > 0.92
        # At .6 a twentieth of the face's pixels, or far more, have changed so that one sees it.
        assert (np.abs(pictures[6] - pictures[0]).max(axis=2) > 25).mean() > 0.04
        assert np.corrcoef(levels[::-1], distance)[0, 1] < -0.92


def test_a_linear_probe_tells_twelve_expressions_apart_in_people_it_has_not_seen():
    """Ridge regression on 32 x 32 pixels, strong expressions; .97 was measured where guessing gives .08."""
    faces = simulate_faces(n_items=1300, n_persons=65, seed=5)
    strong = faces[faces[list(USUAL)].max(axis=1) > 0.6].reset_index(drop=True)
    kind = strong[list(USUAL)].to_numpy().argmax(axis=1)
    pixels = (
        drawn(strong, seed=5).reshape(len(strong), 32, 2, 32, 2, 3).mean(axis=(2, 4)).reshape(len(strong), -1) / 255
    )
    is_test = (strong["split"] == "test").to_numpy()

    def share_right(labels):
        centred = pixels - pixels[~is_test].mean(axis=0)
        kernel = centred[~is_test] @ centred[~is_test].T + 30 * np.eye((~is_test).sum())
        weights = np.linalg.solve(kernel, np.eye(12)[labels[~is_test]] - 1 / 12)
        return ((centred[is_test] @ (centred[~is_test].T @ weights)).argmax(axis=1) == labels[is_test]).mean()

    assert share_right(kind) > 0.85
    assert share_right(np.random.default_rng(1).permutation(kind)) < 0.25


def test_sheets_show_every_expression():
    assert intensity_sheet(("fear", "doubt"), seed=1, size=16).shape == (2 * 16, 15 * 16, 3)
    assert person_sheet(("fear", "doubt"), seed=1, size=16).shape == (12 * 16, 2 * 16, 3)


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_folder_holds_readable_pictures_and_keeps_truth_from_items(tmp_path):
    faces = simulate_faces(n_items=9, n_persons=3, seed=3, size=48, out=tmp_path / "new" / "faces")
    folder = tmp_path / "new" / "faces"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["faces"]
    items = read_items(folder / "items.csv")
    assert list(items) == ["item", "group", "image", "split"]
    truth, intensities = read_intensities(folder / "truth.csv")
    assert list(truth) == ["item", *USUAL]
    np.testing.assert_allclose(intensities, faces[list(USUAL)], rtol=1e-15)
    for k, image in enumerate(items["image"]):
        data = (folder / image).read_bytes()
        assert media_type(data, image) == "image/png"
        with Image.open(folder / image) as picture:
            assert (picture.mode, picture.size) == ("RGB", (48, 48))
            assert np.array_equal(np.asarray(picture), drawn(faces[k : k + 1], seed=3, size=48)[0])
    settings = json.loads((folder / "faces.json").read_text(encoding="utf-8"))["settings"]
    assert settings["n_items"] == 9
    assert settings["expressions"] == list(USUAL)


def test_earlier_faces_are_replaced_and_anything_else_is_refused(tmp_path):
    out = tmp_path / "faces"
    simulate_faces(n_items=4, n_persons=2, size=16, expressions=TWO, out=out)
    simulate_faces(n_items=2, n_persons=2, size=16, expressions=TWO, out=out)
    assert len(list((out / "images").iterdir())) == 2
    foreign = tmp_path / "thesis"
    foreign.mkdir()
    (foreign / "chapter.tex").write_text("x", encoding="utf-8")
    with pytest.raises(MeasurandError, match="holds other files"):
        simulate_faces(n_items=2, n_persons=2, size=16, expressions=TWO, out=foreign)
    with pytest.raises(MeasurandError, match="not a folder"):
        simulate_faces(n_items=2, n_persons=2, size=16, expressions=TWO, out=foreign / "chapter.tex")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["faces", "thesis"]


@pytest.mark.parametrize("name", ["notes.txt", "items.csv"])
def test_faces_with_a_file_of_ones_own_or_a_changed_one_are_not_replaced(tmp_path, name):
    out = tmp_path / "faces"
    simulate_faces(n_items=2, n_persons=2, size=16, expressions=TWO, out=out)
    (out / name).write_text("mine", encoding="utf-8")
    with pytest.raises(MeasurandError, match=f"{name} is not what was written"):
        simulate_faces(n_items=2, n_persons=2, size=16, expressions=TWO, out=out)
    assert (out / name).read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_halfway_leaves_nothing_and_earlier_faces_as_they_were(tmp_path, monkeypatch, fault):
    out = tmp_path / "new" / "faces"
    simulate_faces(n_items=3, n_persons=1, seed=1, size=16, expressions=TWO, out=out)
    before = hashes(out)
    written = faces_folder._write_picture

    def failing(path, pixels):
        if path.name == "F00002.png":
            raise fault
        written(path, pixels)

    monkeypatch.setattr(faces_folder, "_write_picture", failing)
    expected = MeasurandError if isinstance(fault, OSError) else KeyboardInterrupt
    for place in (out, tmp_path / "other" / "faces"):
        with pytest.raises(expected):
            simulate_faces(n_items=3, n_persons=1, seed=2, size=16, expressions=TWO, out=place)
    assert hashes(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["faces"]


# --- refusals and the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_items": 0}, "n_items is 0"),
        ({"n_items": 100_000}, "99,999"),
        ({"n_persons": 11}, "the number of pictures"),
        ({"n_persons": 0}, "n_persons is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"size": 8}, "16 to 1,024"),
        ({"kind": "grated"}, "graded, mixed"),
        ({"held_out": 1.0}, "held_out is 1"),
        ({"expressions": ("fear", "joy")}, "no expression 'joy'"),
        ({"expressions": ("fear", "fear")}, "different names"),
        ({"expressions": "fear"}, "sequence"),
        ({"expressions": ()}, "sequence"),
    ],
)
def test_wrong_numbers_and_names_are_refused(options, said):
    with pytest.raises(MeasurandError, match=said):
        simulate_faces(**{"n_items": 10, "n_persons": 2} | options)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"item": ["a"], "group": ["P"]}, "no intensities"),
        ({"item": ["a"], "fear": [0.5]}, "no column 'group'"),
        ({"item": ["a", "b"], "group": ["P", "P"], "fear": [0.5, 1.5]}, 'data row 2 .item "b".: fear is .*1.5'),
        ({"item": ["a"], "group": ["P"], "fear": [np.nan]}, "fear is"),
        ({"item": ["a"], "group": ["P"], "fear": ["much"]}, "'much'"),
    ],
)
def test_faces_that_cannot_be_drawn_are_refused(table, said):
    with pytest.raises(MeasurandError, match=said):
        list(face_pictures(pd.DataFrame(table)))


def test_the_command_writes_faces_and_says_how_many(run, tmp_path):
    out = tmp_path / "faces"
    ended = run(
        "simulate", "faces", "--out", out, "--items", 12, "--persons", 4, "--size", 32, "--seed", 3, *TWO_OPTIONS
    )
    assert ended.status == 0, ended.err
    assert ended.out == ""
    assert "12 faces (3 of persons held out)" in ended.err
    assert {path.name for path in out.iterdir()} == {
        "images",
        "items.csv",
        "truth.csv",
        "faces.json",
        "sheet-intensities.png",
        "sheet-persons.png",
    }
    simulate_faces(n_items=12, n_persons=4, size=32, seed=3, expressions=TWO, out=tmp_path / "same")
    assert hashes(out) == hashes(tmp_path / "same")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--persons", "400"], "n_persons is 400"),
        (["--expression", "joy"], "'joy'"),
        (["--held-out", "2"], "held_out is 2"),
        (["--size", "4"], "16 to 1,024"),
    ],
)
def test_a_refused_command_leaves_nothing_behind(run, tmp_path, options, said):
    assert_one_message(run("simulate", "faces", "--out", tmp_path / "new" / "faces", *options), said)
    assert list(tmp_path.iterdir()) == []
