import itertools
import math

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import components, generalizability
from measurand.data import Scale
from measurand.keys import KEYS
from measurand.planning import facets
from measurand.result import MeasurandError

FORMULA = "system x item x (rater:group)"


def table_of(sizes, seed=1, group_effect=0.0):
    """Return ratings of systems by items by raters within groups; the raters of all groups have the same names."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0, 1, (sizes["system"], sizes["group"])) * group_effect
    rows = [
        (f"S{s}", f"i{i}", f"R{r}", f"g{k}", s + own[s, k] + rng.normal())
        for s, i, k, r in itertools.product(*(range(sizes[name]) for name in ("system", "item", "group", "rater")))
    ]
    return pd.DataFrame(rows, columns=["system", "item", "rater", "group", "rating"])


SIZES = {"system": 4, "item": 6, "rater": 3, "group": 2}


@pytest.fixture(scope="module")
def study():
    return facets(table_of(SIZES), formula=FORMULA, at=[{"rater": 10, "group": 3}], draws=2000)


def test_every_number_has_a_name_and_an_interval(study):
    names = [(*(row.keys.get(key, "") for key in KEYS["plan"]), row.statistic) for row in study]
    assert len(set(names)) == len(names)
    for row in study:
        assert row.low <= row.high
        assert row.unit == "item+system+rater+group"


def test_a_design_of_items_systems_and_raters_is_the_panel_audits(good):
    mine = facets(good, formula="system x item x rater", draws=3000)
    theirs = components(good, draws=3000)
    for row in mine.select("plan", "variance"):
        found = theirs.value("components", "variance", {"component": row.keys["component"], "estimator": "anova"})
        assert row.estimate == pytest.approx(found)
    here = {"estimator": "anova", "at_items": 40, "at_raters": 8}
    study = generalizability(good, draws=3000)
    for statistic in ("g", "phi"):
        (row,) = mine.select("plan", statistic)
        assert row.keys["at"] == "item=40, rater=8"
        found = study.select("generalizability", statistic, here)[0]
        assert row.estimate == pytest.approx(found.estimate)
        assert (row.low, row.high) == pytest.approx((found.low, found.high), abs=0.02)


def test_error_shares_add_up_to_the_whole(study):
    assert sum(row.estimate for row in study.select("plan", "error_share")) == pytest.approx(1)


def test_sizes_that_are_asked_for_stand_beside_the_own_ones(study):
    own, asked = study.select("plan", "g")
    assert own.keys["at"] == "item=6, rater=3, group=2"
    assert asked.keys["at"] == "item=6, rater=10, group=3"
    assert asked.estimate >= own.estimate


def test_so_many_levels_reach_the_target_and_one_fewer_do_not():
    table = table_of(SIZES | {"item": 4}, seed=3, group_effect=0.3)
    result = facets(table, formula=FORMULA, target=0.9, draws=2000)
    reached = 0
    for row in result.select("plan", "levels_needed"):
        if math.isinf(row.estimate):
            continue
        sizes = [{row.keys["component"]: size} for size in (row.estimate, row.estimate - 1) if size >= 1]
        found = facets(table, formula=FORMULA, at=sizes, draws=100).select("plan", "g")[1:]
        assert found[0].estimate >= 0.9 - 1e-9
        if len(found) > 1:
            assert found[1].estimate < 0.9
        reached += 1
    assert reached


def test_fixed_groups_are_part_of_what_is_measured():
    table = table_of(SIZES, seed=2, group_effect=1.0)
    free = facets(table, formula=FORMULA, draws=500)
    fixed = facets(table, formula=FORMULA, fixed=("group",), draws=500)
    assert fixed.select("plan", "g")[0].estimate > free.select("plan", "g")[0].estimate
    assert fixed.select("plan", "g")[0].unit == "item+system+rater"
    assert {row.keys["component"] for row in fixed.select("plan", "levels_needed")} == {"item", "rater"}


def test_more_phrasings_are_asked_for_where_phrasing_costs_the_reliability():
    rng = np.random.default_rng(4)
    lottery = rng.normal(0, 1, (4, 3))
    rows = [
        (f"S{s}", f"i{i}", f"p{p}", 0.6 * s + lottery[s, p] + 0.3 * rng.normal())
        for s, i, p in itertools.product(range(4), range(20), range(3))
    ]
    table = pd.DataFrame(rows, columns=["system", "item", "phrasing", "rating"])
    (finding,) = facets(table, formula="system x item x phrasing", draws=3000).findings
    assert finding.id == "facets-reliable"
    assert finding.verdict == "fail"
    assert "system:phrasing makes" in finding.statement
    assert "levels of phrasing" in finding.remedy


def test_columns_scales_and_criteria_are_those_of_every_table():
    table = table_of(SIZES).rename(columns={"rater": "who", "rating": "score"})
    table["score"] = np.clip(np.round(table["score"] + 2), 1, 5).astype(int).astype(str)
    both = pd.concat([table.assign(criterion="b"), table.assign(criterion="a")])
    kind = {"formula": FORMULA, "columns": {"rater": "who"}, "rating": "score", "draws": 100}
    result = facets(both, scale=Scale(1, 5, step=1), **kind)
    assert [one.criterion for one in result.findings] == ["a", "b"]
    a, b = (result.value("plan", "variance", {"criterion": name, "component": "item"}) for name in "ab")
    assert a == b
    with pytest.raises(MeasurandError, match="outside the scale"):
        facets(both, scale=Scale(1, 2, step=1), **kind)


def test_ratings_that_are_all_the_same_are_undefined():
    result = facets(table_of(SIZES).assign(rating=3), formula=FORMULA, draws=100)
    assert [row.undefined for row in result] == ["no variation: all ratings are the same"]
    assert result.findings[0].verdict == "undetermined"


@pytest.mark.parametrize(
    ("change", "asked", "said"),
    [
        (lambda t: t.iloc[1:], {}, "has 144 cells .* and 143 ratings"),
        (lambda t: pd.concat([t, t.iloc[:1]]), {}, "data rows 1 and 145 rate the same cell"),
        (lambda t: t.assign(rating=["", *t["rating"].astype(str)[1:]]), {}, "143 ratings"),
        (lambda t: t[t["group"] == "g0"], {}, "one group: its variance cannot be told"),
        (lambda t: t[t["rater"] == "R0"], {}, "one rater within each group"),
        (lambda t: t.drop(columns="group"), {}, "no column 'group' for group; the table has 'system'"),
        (lambda t: t, {"columns": {"judge": "rater"}}, "'judge' is no facet"),
        (lambda t: t, {"object_of_measurement": "rater"}, "the object 'rater' is nested in others"),
        (lambda t: t, {"formula": "system"}, "formula 'system': a design needs two facets"),
        (lambda t: t, {"formula": "system x item x rater x group x a x b x c"}, "at most 6"),
        (lambda t: t, {"fixed": ("item", "rater", "group")}, "no error left"),
        (lambda t: t, {"at": [{"judge": 3}]}, "no size of 'judge' can be asked for; there are item, rater, group"),
        (lambda t: t, {"at": [{"item": 0}]}, "at: item=0; give a number of levels of 1 or more"),
        (lambda t: t, {"at": [{"group": 5}], "fixed": ("group",)}, "group is fixed to its 2 levels"),
        (lambda t: t, {"target": 0.0}, "target 0"),
    ],
)
def test_what_is_no_balanced_design_is_refused(change, asked, said):
    with pytest.raises(MeasurandError, match=said):
        facets(change(table_of(SIZES)), **({"formula": FORMULA, "draws": 100} | asked))


def test_names_of_any_kind_are_names():
    table = table_of(SIZES)
    table["system"] = table["system"].map({"S0": "=cmd()", "S1": "نظام", "S2": "a\nb", "S3": "😀"})
    result = facets(table, formula=FORMULA, draws=100)
    plain = facets(table_of(SIZES), formula=FORMULA, draws=100)
    assert result.value("plan", "variance", {"component": "system"}) == pytest.approx(
        plain.value("plan", "variance", {"component": "system"})
    )
