import json

import pandas as pd
import pytest

from measurand.data import Scale, read_outputs
from measurand.planning import design_of, draw
from measurand.planning.designs import Design
from measurand.result import MeasurandError

SYSTEMS = ["S1", "S2", "S3"]


def items_of(n=60, **columns):
    made = {"item": [f"i{k:03d}" for k in range(n)], "label": [("joy", "fear", "awe")[k % 3] for k in range(n)]}
    return pd.DataFrame(made | columns)


def outputs_of(items, systems=SYSTEMS):
    return read_outputs(
        pd.DataFrame(
            [(item, system, f"{system} says so of {item}") for item in items["item"] for system in systems],
            columns=["item", "system", "text"],
        )
    )


@pytest.fixture(scope="module")
def sample():
    items = items_of(language=["en", "ar"] * 30, text=[f"source {k}" for k in range(60)])
    return draw(
        items,
        systems=SYSTEMS,
        design=design_of("rotating", n_raters=6, items_per_rater=10),
        outputs=outputs_of(items),
        seed=5,
    )


def test_a_sheet_shows_what_is_rated_and_no_system(sample):
    for sheet in sample.sheets.values():
        assert list(sheet.columns) == ["position", "rater", "item", "source", "code", "output", "rating"]
        assert sheet["position"].tolist() == list(range(1, 31))
        assert (sheet["rating"] == "").all()
        assert not sheet.drop(columns="output").isin(SYSTEMS).any().any()
        assert sheet["code"].isin(["A", "B", "C"]).all()


def test_no_sheet_is_longer_than_a_rater_can_fill_in():
    design = design_of("rotating", n_raters=6, items_per_rater=10)
    assert len(draw(items_of(), systems=SYSTEMS, design=design, most_per_rater=30).sheets["R1"]) == 30
    with pytest.raises(
        MeasurandError, match=r"10 items with 3 systems each are 30 judgements .* give each rater 9 items"
    ):
        draw(items_of(), systems=SYSTEMS, design=design, most_per_rater=29)
    with pytest.raises(MeasurandError, match="allow for as many, or rate fewer systems"):
        draw(items_of(), systems=SYSTEMS, design=design, most_per_rater=2)


def test_the_key_leads_from_every_row_to_the_output_that_stands_there(sample):
    assert len(sample.key) == 6 * 30
    for rater, of_rater in sample.key.groupby("rater"):
        sheet = sample.sheets[rater]
        for (_, key), (_, row) in zip(of_rater.iterrows(), sheet.iterrows(), strict=True):
            assert (key["position"], key["item"], key["code"]) == (row["position"], row["item"], row["code"])
            assert row["output"] == f"{key['system']} says so of {key['item']}"


def test_every_rater_rates_all_systems_on_each_of_their_items(sample):
    counts = sample.key.groupby(["rater", "item"])["system"].nunique()
    assert (counts == 3).all()
    assert (sample.key.groupby("item")["rater"].nunique() == 2).all()
    assert sample.key["item"].nunique() == 30
    assert sample.protocol["overlaps"]["connected"]


@pytest.mark.parametrize(
    ("layout", "sizes", "most"),
    [
        ("crossed", {"n_raters": 4, "items_per_rater": 11}, 1),
        ("nested", {"n_raters": 4, "items_per_rater": 11}, 1),
        ("rotating", {"n_raters": 6, "items_per_rater": 10}, 1),
        ("rotating", {"n_raters": 7, "items_per_rater": 9, "per_item": 3}, 2),
    ],
)
def test_on_a_sheet_each_system_has_each_letter_and_each_place_about_equally_often(layout, sizes, most):
    for seed in range(3):
        key = draw(items_of(), systems=SYSTEMS, design=design_of(layout, **sizes), seed=seed).key
        key["place"] = (key["position"] - 1) % 3
        for _, of_rater in key.groupby("rater"):
            for column, allowed in (("code", most), ("place", 1)):
                counts = pd.crosstab(of_rater["system"], of_rater[column])
                assert counts.shape == (3, 3)
                assert int((counts.max(axis=1) - counts.min(axis=1)).max()) <= allowed


def test_two_sheets_are_never_the_same():
    for seed in range(20):
        sample = draw(
            items_of(2), systems=["S1", "S2"], design=design_of("crossed", n_raters=2, items_per_rater=2), seed=seed
        )
        first, second = sample.sheets.values()
        assert not first.equals(second)
        assert (first["rater"] == "R1").all()


def test_raters_are_told_the_scale():
    kind = {"systems": SYSTEMS, "design": design_of("crossed", n_raters=2, items_per_rater=3)}
    scales = {"tone": Scale(1, 5, step=1), "": Scale(0, 100)}
    sample = draw(items_of(), criteria=["tone", "style"], scale=scales, **kind)
    assert list(sample.sheets["R1"].columns)[-3:] == ["scale", "tone", "style"]
    assert set(sample.sheets["R1"]["scale"]) == {"tone: 1 to 5 in steps of 1; style: 0 to 100"}
    assert sample.protocol["scales"]["style"]["high"] == 100
    with pytest.raises(MeasurandError, match="a scale of 'wit', which is not graded; graded are tone"):
        draw(items_of(), criteria=["tone"], scale={"wit": Scale(1, 5)}, **kind)


def test_all_raters_of_an_item_see_the_same_letters_and_no_letter_is_a_system(sample):
    letters = sample.key.groupby(["item", "system"])["code"].nunique()
    assert (letters == 1).all()
    of_system = sample.key.drop_duplicates(["item", "system"]).groupby("system")["code"].value_counts()
    assert of_system.min() >= 3  # thirty items, three letters: ten each on average
    assert len(of_system) == 9


def test_each_rater_has_an_order_of_their_own_with_the_systems_of_an_item_together(sample):
    orders = {rater: tuple(dict.fromkeys(sheet["item"])) for rater, sheet in sample.sheets.items()}
    for rater, sheet in sample.sheets.items():
        assert tuple(sheet["item"].iloc[::3]) == orders[rater]
        assert list(orders[rater]) != sorted(orders[rater])
    starts = {tuple(sheet["code"].iloc[:3]) for sheet in sample.sheets.values()}
    assert len(starts) > 1


def test_labels_and_languages_are_drawn_in_proportion(sample):
    assert len(sample.protocol["strata"]) == 6
    for stratum in sample.protocol["strata"]:
        assert (stratum["available"], stratum["drawn"]) == (10, 5)
    json.dumps(dict(sample.protocol), allow_nan=False)


def test_the_same_seed_draws_the_same_and_another_one_does_not():
    kind = {"systems": SYSTEMS, "design": design_of("nested", n_raters=4, items_per_rater=5)}
    first, again, other = (draw(items_of(), seed=seed, **kind) for seed in (1, 1, 2))
    assert first.key.equals(again.key)
    assert not first.key.equals(other.key)


def test_nested_raters_have_items_of_their_own_and_crossed_ones_share_all():
    nested = draw(items_of(), systems=SYSTEMS, design=design_of("nested", n_raters=4, items_per_rater=5))
    assert (nested.key.groupby("item")["rater"].nunique() == 1).all()
    assert not nested.protocol["overlaps"]["connected"]
    crossed = draw(items_of(), systems=SYSTEMS, design=design_of("crossed", n_raters=4, items_per_rater=5))
    assert (crossed.key.groupby("item")["rater"].nunique() == 4).all()
    assert crossed.key["item"].nunique() == 5


def test_items_rated_before_and_items_without_every_output_are_left_out_and_counted():
    items = items_of(20)
    outputs = outputs_of(items.iloc[:16])
    kind = {"systems": SYSTEMS, "outputs": outputs, "leave_out": ["i000", "i001", "i019"]}
    sample = draw(items, design=design_of("crossed", n_raters=2, items_per_rater=14), **kind)
    assert set(sample.key["item"]) == {f"i{k:03d}" for k in range(2, 16)}
    assert sample.protocol["left_out"] == {"rated before": 3, "without an output of every system": 3}
    with pytest.raises(MeasurandError, match=r"15 items are to be drawn, and 14 .*3 rated before, 3 without an output"):
        draw(items, design=design_of("crossed", n_raters=2, items_per_rater=15), **kind)


def test_criteria_have_a_column_each():
    sample = draw(
        items_of(),
        systems=SYSTEMS,
        design=design_of("crossed", n_raters=2, items_per_rater=3),
        criteria=["fluency", "tone"],
    )
    assert list(sample.sheets["R1"].columns) == ["position", "rater", "item", "code", "fluency", "tone"]


def test_what_the_outputs_know_of_the_items_serves_where_the_items_do_not_say():
    frame = pd.DataFrame(
        [(f"i{k}", s, "text", ("a", "b")[k % 2], f"src {k}") for k in range(8) for s in SYSTEMS],
        columns=["item", "system", "text", "label", "source_text"],
    )
    items = pd.DataFrame({"item": [f"i{k}" for k in range(8)], "image": [f"{k}.png" for k in range(8)]})
    design = design_of("crossed", n_raters=2, items_per_rater=4)
    sample = draw(items, systems=SYSTEMS, design=design, outputs=read_outputs(frame))
    assert [one["drawn"] for one in sample.protocol["strata"]] == [2, 2]
    sheet = sample.sheets["R1"]
    assert (sheet["source"] == "src " + sheet["item"].str[1:]).all()
    assert (sheet["image"] == sheet["item"].str[1:] + ".png").all()


def test_many_systems_have_letters_beyond_z():
    systems = [f"S{k}" for k in range(30)]
    sample = draw(items_of(4), systems=systems, design=design_of("crossed", n_raters=2, items_per_rater=2))
    assert {"A", "Z", "AA", "AD"} <= set(sample.key["code"])
    assert sample.key.groupby(["rater", "item"])["code"].nunique().eq(30).all()


def test_designs_come_from_what_each_rater_can_do():
    assert design_of("rotating", n_raters=12, items_per_rater=25) == Design("rotating", 12, 150, 2)
    assert design_of("rotating", n_raters=12, items_per_rater=25, per_item=3).n_items == 100
    assert design_of("nested", n_raters=3, items_per_rater=7).n_items == 21
    assert design_of("crossed", n_raters=3, items_per_rater=7).n_items == 7


@pytest.mark.parametrize(
    ("layout", "asked", "said"),
    [
        ("square", {}, "layout 'square'"),
        ("rotating", {"n_raters": 1}, "it takes two raters and one item"),
        ("rotating", {"items_per_rater": 0}, "it takes two raters and one item"),
        ("rotating", {"n_raters": 2}, "a rotating layout has from 2 to all but one"),
        ("rotating", {"per_item": 5}, "5 raters for an item out of 5"),
        ("rotating", {"per_item": 3}, "give each rater 6 or 9 items"),
        ("crossed", {"per_item": 2}, "in a crossed layout of 5 raters it is 5"),
        ("nested", {"per_item": 2}, "in a nested layout of 5 raters it is 1"),
    ],
)
def test_sizes_that_make_no_layout_are_refused(layout, asked, said):
    with pytest.raises(MeasurandError, match=said):
        design_of(layout, **({"n_raters": 5, "items_per_rater": 7} | asked))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"systems": ["S1"]}, "1 system; a ranking needs two"),
        ({"systems": ["S1", "S9"], "outputs": outputs_of(items_of())}, "none of system 'S9'; there are S1, S2, S3"),
        ({"criteria": ["item"]}, "criterion 'item'"),
        ({"criteria": ["tone", "tone"]}, "criterion 'tone'"),
        (
            {"outputs": read_outputs(pd.DataFrame({"item": ["a"], "system": ["S1"], "length": [3]}))},
            "no column of texts",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(asked, said):
    design = design_of("crossed", n_raters=2, items_per_rater=3)
    with pytest.raises(MeasurandError, match=said):
        draw(items_of(), **({"systems": SYSTEMS, "design": design} | asked))
