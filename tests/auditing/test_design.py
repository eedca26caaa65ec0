import numpy as np
import pandas as pd
import pytest

from measurand.auditing import design


def limits(table):
    return design(table).settings["design"]["criteria"][""]["limits"]


def count(table, name):
    return design(table).value("design", name)


@pytest.fixture
def cube():
    return np.random.default_rng(1).integers(1, 6, (6, 3, 4)).astype(float)


def test_a_complete_crossing_has_no_limits(cube, tables):
    table = tables.long(cube)
    assert limits(table) == []
    assert [count(table, n) for n in ("n_items", "n_systems", "n_raters", "n_ratings", "n_missing", "n_cells")] == [
        6, 3, 4, 72, 0, 18,
    ]  # fmt: skip
    assert [count(table, name) for name in ("crossed", "nested", "connected")] == [1, 0, 1]


def test_holes_are_counted_and_named(cube, tables):
    cube[0, 0, :2] = np.nan
    table = tables.long(cube)
    assert count(table, "n_missing") == 2
    assert [count(table, f"raters_per_cell_{name}") for name in ("min", "median", "max")] == [2, 4, 4]
    assert count(table, "crossed") == 0
    (limit,) = limits(table)
    assert limit.startswith("Incomplete")


def test_raters_nested_in_items_are_seen(tables):
    cube = np.full((5, 2, 10), np.nan)
    for item in range(5):
        cube[item, :, 2 * item : 2 * item + 2] = [[1, 2], [3, 4]]
    table = tables.long(cube)
    assert [count(table, name) for name in ("nested", "connected")] == [1, 0]
    text = " ".join(limits(table))
    assert "nested" in text
    assert "Disconnected" in text


def test_one_rater_per_cell_and_one_of_each_are_limits(cube, tables):
    alone = np.where(np.arange(4) == (np.arange(6) % 4)[:, None, None], cube, np.nan)
    assert "One rater per cell" in limits(tables.long(alone))[0]
    assert "One rater" in limits(tables.long(cube[:, :, :1]))[0]
    assert any("One system" in limit for limit in limits(tables.long(cube[:, :1])))
    assert any("One item" in limit for limit in limits(tables.long(cube[:1])))


@pytest.mark.parametrize(
    "names", [["1", "2", "3", "4"], ["0", "1", "2", "3"], ["slot_1", "slot_2", "slot_3", "slot_4"]]
)
def test_raters_that_may_be_positions_are_pointed_out(names, cube, tables):
    table = tables.long(cube)
    table["rater"] = table["rater"].map(dict(zip(["R1", "R2", "R3", "R4"], names, strict=True)))
    assert any("bare numbers" in limit for limit in limits(table))
    assert not limits(tables.long(cube))


def test_criteria_are_counted_together_and_alone(cube, tables):
    first = tables.long(cube).assign(criterion="a")
    second = tables.long(cube[:4, :, :2]).assign(criterion="b")
    second["item"] = "j" + second["item"]
    result = design(pd.concat([first, second]))

    def get(name, criterion):
        return result.value("design", name, {"criterion": criterion})

    assert [get("n_items", c) for c in ("", "a", "b")] == [10, 6, 4]
    assert [get("n_raters", c) for c in ("", "a", "b")] == [4, 4, 2]
    assert [get("n_ratings", c) for c in ("", "a", "b")] == [96, 72, 24]
    assert get("n_criteria", "") == 2
    assert get("n_missing", "") == 0


def test_blank_ratings_are_counted_and_are_no_ratings(cube, tables):
    table = tables.long(cube).astype({"rating": object})
    table.loc[:4, "rating"] = ["", "N/A", None, "nan", " "]
    result = design(table)
    assert result.value("design", "n_blank") == 5
    assert result.value("design", "n_ratings") == 67
    assert result.value("design", "n_missing") == 5
