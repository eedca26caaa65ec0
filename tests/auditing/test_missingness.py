import numpy as np
import pytest

from measurand.auditing import missingness
from measurand.data import read_ratings

PANELS = 200


def panel(rng, *, items=40, systems=3, raters=6, severity=0.0):
    value = 3 + rng.normal(0, 0.7, (items, 1, 1)) + rng.normal(0, 0.4, (1, systems, 1))
    value = value + rng.normal(0, severity, (1, 1, raters)) + rng.normal(0, 0.7, (items, systems, raters))
    return np.clip(np.rint(value), 1, 7)


def random_holes(rng):
    cube = panel(rng)
    cube[rng.random(cube.shape) < 0.3] = np.nan
    return cube


def two_of_six(rng):
    """Every cell goes to two raters who differ in severity."""
    cube = panel(rng, severity=1.0)
    drawn = rng.random(cube.shape)
    cube[drawn < np.sort(drawn, axis=2)[:, :, [-2]]] = np.nan
    return cube


def two_teams(rng):
    """Every cell goes to one of two teams, one of them far more lenient, and some ratings are lost."""
    cube = panel(rng)
    cube[:, :, :3] += 1.5
    team = rng.integers(0, 2, cube.shape[:2])
    cube[team[:, :, None] != np.arange(6) // 3] = np.nan
    cube[rng.random(cube.shape) < 0.3] = np.nan
    return cube


def one_each(rng):
    """Every cell has one rater, so that the other ratings of the item serve."""
    cube = panel(rng, severity=1.0)
    drawn = rng.random(cube.shape)
    cube[drawn < drawn.max(axis=2, keepdims=True)] = np.nan
    return cube


def adaptive(rng):
    """The second rater is asked where the first was pleased."""
    cube = panel(rng, raters=3)
    cube[:, :, 1][cube[:, :, 0] < 4] = np.nan
    return cube


def smallest_p(cube, tables):
    rows = missingness(tables.long(cube)).select("missingness", "difference")
    return min(row.p_adjusted for row in rows if row.p_adjusted is not None)


@pytest.mark.parametrize("design", [random_holes, two_of_six, two_teams, one_each])
def test_designs_that_do_not_look_at_ratings_raise_no_alarm(design, tables):
    alarms = sum(smallest_p(design(np.random.default_rng(seed)), tables) < 0.05 for seed in range(PANELS))
    assert alarms / PANELS <= 0.07


def test_designs_that_do_look_at_ratings_are_found(tables):
    p = [smallest_p(adaptive(np.random.default_rng(seed)), tables) for seed in range(20)]
    assert max(p) < 0.001


def test_it_is_the_chosen_rater_whose_presence_depends_on_the_others(tables):
    rows = missingness(tables.long(adaptive(np.random.default_rng(1)))).select("missingness", "difference")
    found = {row.keys["rater"]: row for row in rows}
    assert found["R2"].estimate > 0.5
    assert found["R2"].low <= found["R2"].estimate <= found["R2"].high
    assert found["R2"].unit == "item"
    for always_there in ("R1", "R3"):
        assert found[always_there].undefined


def test_complete_panels_have_no_rows(tables):
    assert len(missingness(tables.long(panel(np.random.default_rng(0))))) == 0


def test_p_values_are_adjusted_over_raters(tables):
    rows = missingness(tables.long(random_holes(np.random.default_rng(0)))).select("missingness", "difference")
    assert len(rows) == 6
    smallest = min(rows, key=lambda row: row.p)
    assert smallest.p_adjusted == pytest.approx(min(1, 6 * smallest.p))


def test_names_are_compared_category_by_category(tables):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 90)
    table = np.column_stack([first, np.where(first == 1, first, np.nan), rng.integers(0, 3, 90)])
    frame = tables.flat(table)
    frame["rating"] = frame["rating"].map({0: "red", 1: "green", 2: "blue"})
    rows = missingness(read_ratings(frame, level="nominal")).select("missingness", "difference", {"rater": "R2"})
    found = {row.keys["rating"]: row.estimate for row in rows}
    assert set(found) == {"red", "green", "blue"}
    assert found["green"] > 0 > max(found["red"], found["blue"])


def test_one_rater_has_no_others(tables):
    cube = panel(np.random.default_rng(0), raters=1)
    cube[0, 0, 0] = np.nan
    (row,) = missingness(tables.long(cube)).rows
    assert "one rater" in row.undefined
