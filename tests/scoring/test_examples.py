import base64
import io
import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from measurand.data import Scale, read_ratings
from measurand.result import MeasurandError, Result
from measurand.scoring.examples import examples
from measurand.scoring.examples_shown import MOST_BYTES, MOST_CHARACTERS, MOST_PICTURES, MOST_PIXELS, shown, small

SCALE = Scale(0, 7, step=1)


def study(runs, *, n_items=30):
    """Two systems, two readouts, missing answers and ratings, a grey control of some items."""
    answers, ratings = runs.benchmark(n_items=n_items, missing=0.3)
    verification = answers.assign(readout="verification", answer=answers["answer"] / 7)
    verification["mass"] = np.random.default_rng(1).uniform(0.2, 1, len(verification))
    generative = answers.assign(readout="generative", answer=(answers["answer"] * 1.3).round().clip(0, 7), status="ok")
    generative.loc[::9, "answer"] = np.nan
    generative.loc[::9, "status"] = "refused"
    few = verification["item"].isin([f"i{i:03d}" for i in range(10)])
    blank = verification[few].assign(control="blank", answer=verification[few]["answer"] / 2)
    second = verification.assign(phrasing="second")
    parts = [verification, generative, blank, second]
    whole = pd.concat(parts, ignore_index=True)
    whole["status"] = whole["status"].fillna("ok")
    return whole.fillna({"control": "", "phrasing": ""}), ratings


def found(answers, ratings, items=None, **chosen):
    if items is None:
        items = pd.DataFrame({"item": sorted(set(ratings["item"])), "text": "A text."})
    return examples(answers, read_ratings(ratings, scale=SCALE), items, **({"folds": 3} | chosen))


def cards(result, kind):
    """The items and criteria of one kind, in order."""
    rows = [row for row in result.rows if row.keys["kind"] == kind and row.statistic == "rating_mean"]
    return [(row.keys["item"], row.keys["criterion"]) for row in rows]


def means(ratings):
    return ratings.groupby(["item", "criterion"])["rating"].mean().to_dict()


# --- Selection --------------------------------------------------------------------------------------------------------


def test_the_worst_are_the_largest_differences_within_even_shares(runs):
    answers, ratings = study(runs)
    result = found(answers, ratings, n=4, calibrate="none")
    mean = means(ratings)
    # Uncalibrated, probabilities are no values of the scale, and of the generative readout the answer is the value.
    far = sorted(
        (-abs(one.answer - mean[one.item, one.criterion]) / 7, one.system, one.criterion, one.item)
        for one in answers[(answers["readout"] == "generative") & (answers["status"] == "ok")].itertuples()
        if (one.item, one.criterion) in mean
    )
    expected = []
    for is_even in (True, False):
        for size, system, criterion, item in far:
            taken = [one for one in expected if one[1] == system]
            # A readout has at most two of four, a system too, until the others have nothing left.
            is_fair = len(taken) < 2 and len(expected) < 2
            if len(expected) < 4 and item not in [one[3] for one in expected] and (is_fair or not is_even):
                expected.append((size, system, criterion, item))
    expected.sort()
    assert cards(result, "worst") == [(item, criterion) for _, _, criterion, item in expected]
    rows = [row for row in result.rows if row.statistic == "disagreement"]
    assert [row.keys["system"] for row in rows] == [system for _, system, _, _ in expected]
    np.testing.assert_allclose([row.estimate for row in rows], [-size for size, *_ in expected])


def test_drawn_examples_span_the_scale_and_depend_on_the_seed_alone(runs):
    answers, ratings = study(runs)
    result = found(answers, ratings, n=5, seed=4)
    assert result.to_json() == found(answers, ratings, n=5, seed=4).to_json()
    shuffled = answers.sample(frac=1, random_state=0).sort_values("readout", ascending=False, kind="stable")
    assert cards(found(shuffled, ratings, n=5, seed=4), "drawn") == cards(result, "drawn")
    assert cards(found(answers, ratings, n=5, seed=5), "drawn") != cards(result, "drawn")
    mean = means(ratings)
    chosen = cards(result, "drawn")
    assert len(chosen) == len({item for item, _ in chosen}) == 5
    heights = [mean[pair] for pair in chosen]
    assert heights == sorted(heights)
    there = {min(int(value / 7 * 5), 4) for value in mean.values()}
    assert {min(int(value / 7 * 5), 4) for value in heights} == there


def test_least_mass_is_least_among_the_arms_that_are_shown(runs):
    answers, ratings = study(runs)
    result = found(answers, ratings, n=6)
    first = answers[(answers["readout"] == "verification") & (answers["control"] == "") & (answers["phrasing"] == "")]
    least = []
    for one in first.sort_values("mass").itertuples():
        n_of_system = sum(system == one.system for system, *_ in least)
        if len(least) < 3 and n_of_system < 2 and one.item not in [item for _, item, *_ in least]:
            least.append((one.system, one.item, one.criterion, one.mass))
    assert cards(result, "least_mass") == [(item, criterion) for _, item, criterion, _ in least]
    rows = [row for row in result.rows if row.statistic == "least_mass"]
    assert [(row.keys["system"], row.estimate) for row in rows] == [(system, mass) for system, _, _, mass in least]


def test_the_control_compares_an_item_with_its_grey_picture_where_ratings_are_highest(runs):
    answers, ratings = study(runs)
    result = found(answers, ratings, n=6)
    mean = means(ratings)
    chosen = cards(result, "control")
    assert len(chosen) == 3
    for item, criterion in chosen:
        assert item in {f"i{i:03d}" for i in range(10)}
        assert mean[item, criterion] == max(value for (one, _), value in mean.items() if one == item)
        here = answers[(answers["item"] == item) & (answers["criterion"] == criterion) & (answers["phrasing"] == "")]
        for system in ("A", "B"):
            of = here[(here["system"] == system) & (here["readout"] == "verification")].set_index("control")["answer"]
            keys = {"kind": "control", "item": item, "criterion": criterion, "system": system}
            assert result.value("examples", "answer", keys | {"variant": "control=blank"}) == of["blank"]
            assert result.value("examples", "blank_difference", keys) == of[""] - of["blank"]


# --- Numbers ----------------------------------------------------------------------------------------------------------


def test_answers_on_the_scale_are_those_of_a_plain_calibration_with_the_folds_of_the_score(runs, plain):
    answers, ratings = study(runs)
    result = found(answers, ratings, n=6, seed=3)
    run = runs.computed(answers, ratings, folds=3, fold_repeats=2, seed=3)
    assert run.path.describe().startswith(result.settings["examples"]["path"])
    rows = [row for row in result.rows if row.statistic == "calibrated" and row.keys["readout"] == "verification"]
    assert len(rows) > 20
    names = list(run.field.items)
    for row in rows[:8]:
        keys = row.keys
        here = (answers["system"] == keys["system"]) & (answers["readout"] == "verification")
        here &= (answers["criterion"] == keys["criterion"]) & (answers["control"] == "") & (answers["phrasing"] == "")
        given = answers[here].set_index("item")["answer"].reindex(names).to_numpy()
        wide = ratings[ratings["criterion"] == keys["criterion"]].pivot(index="item", columns="rater", values="rating")
        table = wide.reindex(names).to_numpy()
        values = []
        for fold_of in run.folds.of_item:
            ones = np.ones(len(names), dtype=int)
            level = plain.levels(
                given, table, items=ones, raters=np.ones(table.shape[1], dtype=int), path=run.path, fold_of=fold_of
            )
            values.append(np.mean(level[names.index(str(keys["item"]))]))
        assert row.estimate == pytest.approx(np.mean(values))


def test_ratings_are_each_raters_own_and_missing_answers_are_said(runs):
    answers, ratings = study(runs)
    never = (answers["system"] == "B") & (answers["readout"] == "generative") & (answers["criterion"] == "c1")
    result = found(answers[~never], ratings, n=12)
    pairs = ratings.set_index(["item", "criterion", "rater"])["rating"].to_dict()
    given = [row for row in result.rows if row.statistic == "rating"]
    assert all(row.estimate == pairs[tuple(row.keys[key] for key in ("item", "criterion", "rater"))] for row in given)
    by_card = {(row.keys["kind"], row.keys["item"], row.keys["criterion"]) for row in given}
    assert len(given) == sum(len([1 for pair in pairs if pair[:2] == card[1:]]) for card in by_card)
    reasons = {row.undefined for row in result.rows if row.statistic == "answer" and row.undefined}
    assert reasons == {"no answer: refused", "no answer: not asked"}
    for row in result.rows:
        if row.statistic in ("answer", "calibrated") and row.undefined:
            assert np.isnan(row.estimate)
    assert Result.from_json(result.to_json()) == result
    assert json.loads(result.to_json())["results"]["examples"]["settings"]["arms_left_out"] == 2


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"n": 0}, "0 examples; give at least 1, or ask for none at all"),
        ({"items": pd.DataFrame({"name": ["a"]})}, "items: no column 'item'; the table has 'name'"),
    ],
)
def test_what_cannot_be_is_refused(runs, chosen, said):
    with pytest.raises(MeasurandError) as caught:
        found(*study(runs), **chosen)
    assert str(caught.value) == said


# --- Pictures and texts -----------------------------------------------------------------------------------------------


def opened(uri):
    kind, data = uri.removeprefix("data:image/").split(";base64,")
    image = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    image.load()
    assert image.format == kind.upper()
    return image


def test_a_picture_is_small_upright_and_carries_nothing_but_pixels(tmp_path):
    pixels = np.zeros((100, 300, 3), dtype=np.uint8)
    pixels[:, :150] = (255, 0, 0)
    turned = Image.fromarray(pixels)
    exif = turned.getexif()
    exif[274], exif[0x010E] = 6, "SECRET place"
    turned.save(tmp_path / "a.jpg", exif=exif, comment=b"SECRET comment")
    Image.new("RGBA", (8, 4), (0, 0, 0, 0)).save(tmp_path / "b.png", icc_profile=b"SECRET" * 30)
    uri = small(tmp_path / "a.jpg", "a")
    assert opened(uri).size == (32, MOST_PIXELS)
    assert opened(uri).convert("RGB").getpixel((16, 5))[0] > 200
    assert opened(uri).convert("RGB").getpixel((16, 90))[0] < 60
    transparent = small(tmp_path / "b.png", "b")
    assert opened(transparent).size == (8, 4)
    assert opened(transparent).convert("RGB").getpixel((0, 0)) == (255, 255, 255)
    for one in (uri, transparent):
        assert b"SECRET" not in base64.b64decode(one.split(",")[1])
    assert small(tmp_path / "a.jpg", "a") == uri


def test_pictures_stay_within_their_number_and_weight(tmp_path):
    noise = np.random.default_rng(0)
    names = [f"i{n}" for n in range(60)]
    for name in names:
        Image.fromarray(noise.integers(0, 256, (96, 96, 3), dtype=np.uint8)).save(tmp_path / f"{name}.png")
    items = pd.DataFrame({"item": names, "image": [tmp_path / f"{name}.png" for name in names]})
    heavy = shown(items, names)
    assert 0 < len(heavy["pictures"]) < MOST_PICTURES
    assert sum(map(len, heavy["pictures"].values())) <= MOST_BYTES
    assert set(heavy["pictures"]) | set(heavy["left_out"]) == set(names)
    assert set(heavy["left_out"].values()) == {"more than 200 kB of pictures"}
    Image.new("RGB", (9, 9)).save(tmp_path / "i0.png")
    light = shown(items.assign(image=tmp_path / "i0.png"), names)
    assert len(light["pictures"]) == MOST_PICTURES
    assert set(light["left_out"].values()) == {f"more than {MOST_PICTURES} pictures"}


def test_texts_are_cut_and_items_without_anything_have_nothing():
    items = pd.DataFrame({"item": ["a", "b", "c"], "text": ["x" * 400, " short ", None], "image": ["", None, np.nan]})
    told = shown(items, ["b", "a", "c", "a"])
    assert told == {"pictures": {}, "texts": {"b": "short", "a": "x" * (MOST_CHARACTERS - 1) + "…"}, "left_out": {}}


@pytest.mark.parametrize("data", [b"", b"<svg onload='alert(1)'/>", b"\x89PNG\r\n\x1a\n cut short"])
def test_a_file_that_is_no_picture_is_refused_with_its_item(tmp_path, data):
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(MeasurandError) as caught:
        shown(pd.DataFrame({"item": ["a"], "image": [tmp_path / "a.png"]}), ["a"])
    assert str(caught.value).startswith(f'item "a": the picture {tmp_path / "a.png"} can\'t be read (')
    assert str(caught.value).endswith("; give a whole file")
