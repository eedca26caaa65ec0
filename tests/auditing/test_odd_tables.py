"""Odd tables that people do have: no crash, no warning, and a reason for every number that is missing."""

import math

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import audit
from measurand.data import read_ratings
from measurand.result import MeasurandError, Result
from strategies import crossed


def ints(*shape, seed=0, low=1, high=5):
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(float)


def one_criterion_of_a_single_item(long):
    return pd.concat([long(ints(8, 3, 3)).assign(criterion="a"), long(ints(1, 3, 3, seed=1)).assign(criterion="b")])


def one_criterion_without_variation(long):
    return pd.concat([long(ints(8, 3, 3)).assign(criterion="a"), long(np.full((8, 3, 3), 3.0)).assign(criterion="b")])


def one_criterion_of_a_single_system(long):
    return pd.concat([long(ints(8, 3, 3)).assign(criterion="a"), long(ints(8, 1, 3, seed=1)).assign(criterion="b")])


def a_rater_of_one_cell(long):
    cube = ints(8, 3, 4)
    cube[1:, :, 3] = cube[0, 1:, 3] = np.nan
    return long(cube)


def raters_of_one_cell_each(long):
    cube = np.full((10, 2, 6), np.nan)
    for rater in range(6):
        cube[rater % 4, rater % 2, rater] = 1 + rater % 3
    return long(cube)


def two_worlds(long):
    cube = np.full((12, 4, 4), np.nan)
    cube[:6, :2, :2], cube[6:, 2:, 2:] = ints(6, 2, 2), ints(6, 2, 2, seed=1)
    return long(cube)


def a_rater_for_each_system(long):
    cube = np.full((12, 3, 3), np.nan)
    for k in range(3):
        cube[:, k, k] = ints(12, seed=k)
    return long(cube)


def nested(long):
    cube = np.full((6, 3, 18), np.nan)
    for item in range(6):
        cube[item, :, 3 * item : 3 * item + 3] = ints(3, 3, seed=item)
    return long(cube)


def additive(long):
    return long(np.arange(10.0)[:, None, None] + np.arange(3)[None, :, None] + np.arange(3))


def additive_with_a_hole(long):
    cube = np.arange(10.0)[:, None, None] + np.arange(3)[None, :, None] + np.arange(3)
    cube[0, 0, 0] = np.nan
    return long(cube)


def hostile_names(long):
    table = long(ints(6, 3, 3)).replace({"S1": "-", "S2": "inf", "S3": '"'})
    return table.replace({"R1": "block 1", "R2": "0", "R3": "<b>"})


TABLES = {
    "2 x 2 x 2": lambda long: long(ints(2, 2, 2)),
    "40 raters, 5 items": lambda long: long(ints(5, 3, 40)),
    "120 raters": lambda long: long(ints(4, 2, 120)),
    "one item": lambda long: long(ints(1, 4, 5)),
    "one rater": lambda long: long(ints(10, 3, 1)),
    "one rating": lambda long: long(ints(1, 1, 1)),
    "two ratings": lambda _: pd.DataFrame({"item": ["a", "b"], "rater": ["R1", "R2"], "rating": [1, 2]}),
    "millions and thousandths": lambda long: long(1e6 + 1e-3 * ints(8, 3, 3)),
    "trillions and tenths": lambda long: long(1e12 + 0.1 * ints(8, 3, 3)),
    "billionths": lambda long: long(1e-9 * ints(8, 3, 3)),
    "below zero": lambda long: long(-ints(8, 3, 3)),
    "all raters agree": lambda long: long(np.repeat(ints(10, 3, 1), 4, axis=2)),
    "systems alone differ": lambda long: long(np.tile(np.array([[1.0], [2], [4]]), (10, 1, 3))),
    "raters alone differ": lambda long: long(np.tile(np.array([1.0, 2, 4]), (10, 3, 1))),
    "items alone differ": lambda long: long(np.tile(np.arange(10.0)[:, None, None], (1, 3, 3))),
    "one rating differs": lambda long: long(np.where(np.arange(90).reshape(10, 3, 3) == 0, 1.0, 0.0)),
}
TABLES |= {
    make.__name__.replace("_", " "): make
    for make in (
        one_criterion_of_a_single_item,
        one_criterion_without_variation,
        one_criterion_of_a_single_system,
        a_rater_of_one_cell,
        raters_of_one_cell_each,
        two_worlds,
        a_rater_for_each_system,
        nested,
        additive,
        additive_with_a_hole,
        hostile_names,
    )
}


@pytest.mark.parametrize("name", TABLES)
def test_odd_tables_are_audited_without_a_warning(name, tables):
    result = audit(TABLES[name](tables.long), replicates=100, draws=1000, pigeonhole=100)
    for row in result:
        assert (row.undefined != "") == math.isnan(row.estimate), row
        for field in ("low", "high", "p", "p_adjusted", "attainable_p", "df1", "df2"):
            value = getattr(row, field)
            assert value is None or not math.isnan(value), (field, row)
        assert row.p is None or 0 <= row.p <= 1
        assert (row.low is None) == (row.high is None) == (row.confidence is None)
        assert row.low is None or row.low <= row.high
    assert Result.from_json(result.to_json()).findings == result.findings


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_systems_without_a_name_are_refused(blank):
    table = crossed().replace({"S1": blank})
    with pytest.raises(MeasurandError, match="blank in data row 1"):
        audit(table, replicates=100, draws=1000)


def test_order_and_holes_of_rows_do_not_matter(tables):
    table = tables.long(ints(8, 3, 3))
    shuffled = table.sample(frac=1, random_state=1)
    one, other = (audit(t, replicates=100, draws=1000) for t in (table, shuffled))
    assert one.to_json() == other.to_json()


def test_a_shift_of_all_ratings_changes_no_verdict(tables):
    # Ratio alpha apart, nothing asked here depends on where the scale begins.
    verdicts = [
        [(f.id, f.verdict) for f in audit(tables.long(ints(8, 3, 3) + shift), replicates=100, draws=1000).findings]
        for shift in (0, 1e6)
    ]
    assert verdicts[0] == verdicts[1]


def test_names_of_two_are_no_order_and_labels_are(tables):
    table = tables.long(ints(10, 3, 3, low=0, high=1))
    table["rating"] = table["rating"].map({0.0: "no", 1.0: "yes"})
    result = audit(read_ratings(table, level="nominal", labels=["no", "yes"]), replicates=100, draws=1000)
    assert {f.id: f.verdict for f in result.findings}["systems-differ"] in ("pass", "warn", "fail")
    names = table.assign(rating=table["rating"].where(np.arange(len(table)) % 5 > 0, "maybe"))
    result = audit(read_ratings(names, level="nominal"), replicates=100, draws=1000)
    given = {row.statistic for row in result if not row.undefined and row.analysis in ("agreement", "ranks", "pairs", "anova")}  # fmt: skip  # noqa: E501
    assert given == {"observed_agreement", "alpha_nominal"}
