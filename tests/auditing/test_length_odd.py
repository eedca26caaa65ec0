"""Odd panels with odd lengths: no crash, no warning, and a reason for every number that is missing."""

import math

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import audit, length
from measurand.data import read_ratings
from measurand.result import Result
from strategies import crossed


def ints(*shape, seed=0, low=1, high=5):
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(float)


def holes(*shape, share=0.4, seed=0):
    cube = ints(*shape, seed=seed)
    return np.where(np.random.default_rng(seed + 1).random(shape) < share, np.nan, cube)


def two_worlds():
    cube = np.full((12, 4, 4), np.nan)
    cube[:6, :2, :2], cube[6:, 2:, 2:] = ints(6, 2, 2), ints(6, 2, 2, seed=1)
    return cube


def a_rater_for_each_system():
    cube = np.full((12, 3, 3), np.nan)
    for k in range(3):
        cube[:, k, k] = ints(12, seed=k)
    return cube


def nested():
    cube = np.full((6, 3, 18), np.nan)
    for item in range(6):
        cube[item, :, 3 * item : 3 * item + 3] = ints(3, 3, seed=item)
    return cube


PANELS = {
    "crossed": lambda: ints(8, 4, 3),
    "2 x 2 x 2": lambda: ints(2, 2, 2),
    "one item": lambda: ints(1, 4, 5),
    "one rater": lambda: ints(10, 4, 1),
    "one system": lambda: ints(10, 1, 3),
    "one rating": lambda: ints(1, 1, 1),
    "more raters than items": lambda: ints(4, 3, 30),
    "nine systems": lambda: ints(5, 9, 2),
    "holes": lambda: holes(10, 4, 4),
    "two worlds": two_worlds,
    "a rater for each system": a_rater_for_each_system,
    "nested": nested,
    "no variation": lambda: np.full((8, 3, 3), 3.0),
    "additive": lambda: np.arange(10.0)[:, None, None] + np.arange(3)[None, :, None] + np.arange(3),
    "all raters agree": lambda: np.repeat(ints(10, 3, 1), 4, axis=2),
    "trillions and tenths": lambda: 1e12 + 0.1 * ints(8, 3, 3),
    "billionths": lambda: 1e-9 * ints(8, 3, 3),
    "below zero": lambda: -ints(8, 3, 3),
}
LENGTHS = {
    "few": lambda shape: ints(*shape, seed=5, high=3),
    "all the same": lambda shape: np.full(shape, 4.0),
    "none": np.zeros,
    "of the system": lambda shape: np.broadcast_to(np.arange(1.0, shape[1] + 1), shape),
    "of the item": lambda shape: np.broadcast_to(np.arange(1.0, shape[0] + 1)[:, None], shape),
    "broken": lambda shape: np.random.default_rng(6).lognormal(3, 0.3, shape),
    "millions": lambda shape: 1e6 * ints(*shape, seed=7),
}


def written(lengths):
    item, system = np.indices(lengths.shape).reshape(2, -1)
    return pd.DataFrame(
        {"item": [f"i{i + 1}" for i in item], "system": [f"S{s + 1}" for s in system], "length": lengths.ravel()}
    )


def is_dust(row):
    ends = (row.low, row.high, row.estimate)
    return max(row.low - row.estimate, row.estimate - row.high) <= 1e-9 * max(map(abs, ends))


def check(result):
    for row in result:
        assert (row.undefined != "") == math.isnan(row.estimate), row
        for field in ("low", "high", "p", "p_adjusted", "attainable_p", "df1", "df2"):
            value = getattr(row, field)
            assert value is None or not math.isnan(value), (field, row)
        assert row.p is None or 0 <= row.p <= 1, row
        assert (row.low is None) == (row.high is None) == (row.confidence is None), row
        assert row.low is None or row.low <= row.high, row
        assert row.low is None or row.low <= row.estimate <= row.high or "leaves out" in row.note or is_dust(row), row
        if row.statistic in ("win_rate_matched", "r_squared", "matched_share") and not row.undefined:
            assert -1e-12 <= row.estimate <= 1 + 1e-12, row
    assert Result.from_json(result.to_json()).findings == list(result.findings)


ALL = ("crossed", "holes", "nested")
PAIRS = [
    (panel, lengths) for panel in PANELS for lengths in LENGTHS if panel in ALL or lengths in ("few", "of the system")
]


@pytest.mark.parametrize(("panel", "lengths"), PAIRS)
def test_odd_panels_and_odd_lengths_are_looked_at_without_a_warning(panel, lengths, tables):
    cube = PANELS[panel]()
    check(length(tables.long(cube), written(np.array(LENGTHS[lengths](cube.shape[:2]))), replicates=100))


@pytest.mark.parametrize("panel", ["2 x 2 x 2", "one system", "one rater", "two worlds", "no variation", "nested"])
def test_findings_of_odd_panels_are_sentences(panel, tables):
    cube = PANELS[panel]()
    result = audit(tables.long(cube), outputs=written(LENGTHS["few"](cube.shape[:2])), replicates=100, draws=1000)
    check(result)
    found = [f for f in result.findings if f.id.startswith("length-")]
    assert len(found) == 6
    for finding in found:
        assert finding.statement[-1] == "."
        assert "nan" not in finding.statement
        assert "None" not in finding.statement


def test_without_systems_or_common_names_it_says_what_it_lacks(tables):
    cube = ints(6, 3, 3)
    outputs = written(LENGTHS["few"]((6, 3)))
    items_alone = tables.flat(cube[:, 0])
    (row,) = length(items_alone, outputs, replicates=100)
    assert "no systems" in row.undefined
    answers = audit(items_alone, outputs=outputs, replicates=100, draws=1000).findings
    assert {f.verdict for f in answers if f.id.startswith("length-")} == {"not_applicable"}
    other = outputs.assign(system="x" + outputs["system"])
    row = length(tables.long(cube), other, replicates=100).rows[-1]
    assert "other names" in row.undefined
    answers = audit(tables.long(cube), outputs=other, replicates=100, draws=1000).findings
    told = [f for f in answers if f.id.startswith("length-")]
    assert {f.id: f.verdict for f in told if f.verdict != "undetermined"} == {"length-outputs": "fail"}
    assert all("other names" in f.statement for f in told if f.verdict == "undetermined")


def test_names_of_more_than_two_categories_have_no_mean_and_two_have(tables):
    table = tables.long(ints(8, 3, 3, low=0, high=2))
    table["rating"] = table["rating"].map({0.0: "no", 1.0: "yes", 2.0: "maybe"})
    outputs = written(LENGTHS["few"]((8, 3)))
    result = length(read_ratings(table, level="nominal"), outputs, replicates=100)
    assert "have no mean" in result.rows[-1].undefined
    two = table.assign(rating=table["rating"].replace("maybe", "no"))
    check(length(read_ratings(two, level="nominal", labels=["no", "yes"]), outputs, replicates=100))


def test_hostile_names_are_names():
    table = crossed().replace({"S1": "=cmd()", "S2": "inf", "R1": "<b>", "R2": "😂"})
    places = table[["item", "system"]].drop_duplicates()
    outputs = places.assign(text=["نعم\n😂😂" if k % 2 else "😂" for k in range(len(places))])
    check(length(table, outputs, replicates=100))


def test_each_criterion_has_its_own_numbers(tables):
    one, other = ints(8, 3, 3), ints(8, 3, 3, seed=1)
    table = pd.concat([tables.long(one).assign(criterion="a"), tables.long(other).assign(criterion="b")])
    outputs = written(LENGTHS["few"]((8, 3)))
    both = length(table, outputs, replicates=100)
    assert {row.keys["criterion"] for row in both} == {"a", "b"}
    alone = length(tables.long(other), outputs, replicates=100)
    keys = {"model": "judgement", "rater": ""}
    assert both.value("length", "slope", keys | {"criterion": "b"}) == alone.value("length", "slope", keys)
