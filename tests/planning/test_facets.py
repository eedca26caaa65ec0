import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import components, generalizability
from measurand.data import Scale
from measurand.keys import KEYS
from measurand.planning import facets
from measurand.planning.fitted import HELD
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
        if row.statistic in ("variance", "error_share", "g", "phi", "levels_needed", "cost_needed"):
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
        (row,) = mine.select("plan", statistic, {"basis": "as_rated"})
        assert row.keys["at"] == "item=40, rater=8"
        found = study.select("generalizability", statistic, here)[0]
        assert row.estimate == pytest.approx(found.estimate)
        assert (row.low, row.high) == pytest.approx((found.low, found.high), abs=0.02)


def test_error_shares_add_up_to_the_whole(study):
    assert sum(row.estimate for row in study.select("plan", "error_share")) == pytest.approx(1)


def test_sizes_that_are_asked_for_stand_beside_the_own_ones(study):
    own, asked = study.select("plan", "g", {"target": ""})[:2]
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
    finding, _ = facets(table, formula="system x item x phrasing", draws=3000).findings
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
    assert [one.criterion for one in result.findings] == ["a", "a", "b", "b"]
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
        (lambda t: pd.concat([t, t.iloc[:1]]), {}, "data rows 1 and 145 rate the same cell"),
        (lambda t: t[t["group"] == "g0"], {}, "one group: its variance cannot be told"),
        (lambda t: t[t["rater"] == "R0"], {}, "one rater within each group"),
        (lambda t: t.drop(columns="group"), {}, "no column 'group' for group; the table has 'system'"),
        (lambda t: t, {"columns": {"judge": "rater"}}, "'judge' is no facet"),
        (lambda t: t, {"object_of_measurement": "rater"}, "the object 'rater' is nested in others"),
        (lambda t: t, {"formula": "system"}, "formula 'system': a design needs two facets"),
        (lambda t: t, {"formula": "system x item x rater x group x a x b x c"}, "at most 6"),
        (lambda t: t, {"fixed": ("item", "rater", "group")}, "no error left"),
        (lambda t: t, {"at": [{"judge": 3}]}, "no size of 'judge' can be asked for; there are item, rater, group"),
        (lambda t: t, {"at": [{"item": 0}]}, "at: item=0; give a whole number of levels of 1 or more"),
        (lambda t: t, {"at": [{"item": 9.5}]}, "at: item=9.5; give a whole number"),
        (lambda t: t, {"at": [{"item": math.inf}]}, "at: item=inf; give a whole number"),
        (lambda t: t, {"fixed": ("rater",)}, "'rater' is nested in 'group'.* fix 'group' as well, or neither"),
        (lambda t: t, {"at": [{"group": 5}], "fixed": ("group",)}, "group is fixed to its 2 levels"),
        (lambda t: t, {"target": 0.0}, "target 0"),
    ],
)
def test_what_is_no_design_is_refused(change, asked, said):
    with pytest.raises(MeasurandError, match=said):
        facets(change(table_of(SIZES)), **({"formula": FORMULA, "draws": 100} | asked))


def test_sizes_that_are_asked_for_twice_or_that_the_design_has_are_one_number():
    sizes = dict(zip(("item", "rater", "group"), (SIZES[facet] for facet in ("item", "rater", "group")), strict=True))
    asked = [sizes, {"item": 9}, {"item": 9}, {"item": 1_234_567}, {"item": 1_234_568}]
    result = facets(table_of(SIZES), formula=FORMULA, at=asked, draws=100)
    names = [(*(row.keys.get(key, "") for key in KEYS["plan"]), row.statistic) for row in result]
    assert len(set(names)) == len(names)
    projected = [row.keys["at"] for row in result.select("plan", "g") if not row.keys.get("basis")]
    assert len([at for at in projected if not at.startswith("item=9,")]) == 2


def test_names_of_any_kind_are_names():
    table = table_of(SIZES)
    table["system"] = table["system"].map({"S0": "=cmd()", "S1": "نظام", "S2": "a\nb", "S3": "😀"})
    result = facets(table, formula=FORMULA, draws=100)
    plain = facets(table_of(SIZES), formula=FORMULA, draws=100)
    assert result.value("plan", "variance", {"component": "system"}) == pytest.approx(
        plain.value("plan", "variance", {"component": "system"})
    )


def holed(share, seed=5, sizes=None, group_effect=0.3):
    """Return ratings of which a share is missing at random."""
    table = table_of(sizes or SIZES | {"item": 10}, seed=seed, group_effect=group_effect)
    return table[np.random.default_rng(seed).random(len(table)) >= share]


@pytest.fixture(scope="module")
def holes():
    return facets(holed(0.2), formula=FORMULA, at=[{"item": 40}], draws=2000)


def test_a_table_with_holes_has_components_and_says_how_full_it_is(holes):
    table = holed(0.2)
    (rated,) = holes.select("plan", "share_rated")
    assert rated.estimate == pytest.approx(len(table) / 240)
    assert rated.note == f"{len(table)} ratings in 240 cells"
    assert {row.keys["estimator"] for row in holes} == {"henderson"}
    finding = holes.findings[0]
    assert "effective numbers where " in finding.statement
    names = [(*(row.keys.get(key, "") for key in KEYS["plan"]), row.statistic) for row in holes]
    assert len(set(names)) == len(names)
    for row in holes.select("plan", "g"):
        assert row.low <= row.high
        assert "in simulation a 95 % interval of this kind held" in row.note


def test_sizes_that_are_not_asked_for_are_effective_numbers(holes):
    own, asked = holes.select("plan", "g")[:2]
    levels = dict(part.split("=") for part in own.keys["at"].split(", "))
    assert 8 < float(levels["item"]) < 10
    assert 2 < float(levels["rater"]) < 3
    assert asked.keys["at"] == own.keys["at"].replace(f"item={levels['item']}", "item=40")
    assert (own.keys["basis"], asked.keys.get("basis", "")) == ("as_rated", "")
    for row in holes.select("plan", "effective_levels"):
        if row.keys["component"] in ("item", "rater:group"):
            assert row.estimate < {"item": 10, "rater:group": 6}[row.keys["component"]]


def test_one_rating_less_hardly_moves_a_number():
    whole = facets(table_of(SIZES), formula=FORMULA, draws=4000)
    less = facets(table_of(SIZES).iloc[1:], formula=FORMULA, draws=4000)
    assert less.select("plan", "share_rated")[0].estimate == pytest.approx(143 / 144)
    for row in whole.select("plan", "variance"):
        other = less.value("plan", "variance", {"component": row.keys["component"]})
        assert other == pytest.approx(row.estimate, abs=0.03)
    one, other = (result.select("plan", "g")[0] for result in (whole, less))
    assert (other.estimate, other.low, other.high) == pytest.approx((one.estimate, one.low, one.high), abs=0.05)


def test_raters_need_not_be_as_many_in_each_group():
    table = table_of(SIZES)
    table = table[(table["group"] == "g0") | (table["rater"] != "R2")]
    result = facets(table, formula=FORMULA, draws=1000)
    assert result.select("plan", "share_rated")[0].estimate == 1
    own = result.select("plan", "g")[0]
    # Three and two raters: 25 / (5 groups' worth) of shares 3/5 and 2/5 of the groups.
    groups = 1 / (0.6**2 + 0.4**2)
    assert own.keys["at"] == f"item=6, rater={5 / groups:.4g}, group={groups:.4g}"


def test_a_fixed_facet_keeps_all_its_levels():
    result = facets(holed(0.2), formula=FORMULA, fixed=("group",), at=[{"group": 2}], draws=500)
    assert all(row.keys["at"].endswith("group=2") for row in result.select("plan", "g"))


def test_what_is_nested_in_the_object_is_paid_for_each_object():
    """Items of their own for each person: as many again in every person."""
    rng = np.random.default_rng(1)
    rows = [(f"p{p}", f"i{i}", p + rng.normal()) for p in range(6) for i in range(3 + p % 2)]
    table = pd.DataFrame(rows, columns=["person", "item", "rating"])
    asked = {"formula": "item:person", "object_of_measurement": "person", "target": 0.9, "draws": 500}
    result = facets(table, **asked, costs={"item": 2.0, "judgement": 0.5})
    (cost,) = result.select("plan", "cost", {"basis": "estimate"})
    n = int(cost.keys["at"].partition("=")[2])
    assert cost.estimate == pytest.approx(6 * n * 2.5)
    assert result.select("plan", "cost", {"basis": "as_rated"})[0].estimate == pytest.approx(len(table) * 2.5)


def test_two_criteria_may_have_other_holes():
    both = pd.concat([holed(0.1, seed=1).assign(criterion="a"), table_of(SIZES).assign(criterion="b")])
    result = facets(both, formula=FORMULA, draws=500)
    assert {(row.keys["criterion"], row.keys["estimator"]) for row in result} == {("a", "henderson"), ("b", "anova")}


def test_holes_with_ratings_that_are_all_the_same_are_undefined():
    result = facets(holed(0.2).assign(rating=3), formula=FORMULA, draws=100)
    assert [row.undefined for row in result] == ["no variation: all ratings are the same"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: t[t["system"].isin(["S0", "S1"]) == t["item"].isin(["i0", "i1", "i2"])],
            "system 'S0' and system 'S2' share no item, directly or through others",
        ),
        (
            lambda t: t[t["rater"].str[1:].astype(int) == t["item"].str[1:].astype(int) % 3],
            "cannot tell item:group, item:rater:group apart",
        ),
        (
            lambda t: t[t["item"].str[1:].astype(int) % 2 == t["group"].str[1:].astype(int)],
            r"each item occurs with one group alone. If that is the design, say that item is nested, \(item:group\)",
        ),
    ],
)
def test_too_many_holes_are_refused_with_what_they_hide(change, said):
    with pytest.raises(MeasurandError, match=said):
        facets(change(table_of(SIZES)), formula=FORMULA, draws=100)


def test_one_rating_for_each_output_is_too_few_to_tell_raters_from_error():
    rows = [(f"i{i}", f"S{s}", f"R{(i + s) % 5}", s + i / 7) for i in range(12) for s in range(4)]
    table = pd.DataFrame(rows, columns=["item", "system", "rater", "rating"])
    with pytest.raises(MeasurandError, match="no level of item:system has two ratings; rate each with several raters"):
        facets(table, formula="system x item x rater", draws=100)


def test_a_blank_rating_is_a_hole_and_two_in_one_cell_are_one_too_many():
    table = table_of(SIZES)
    blank = facets(table.assign(rating=["", *table["rating"].astype(str)[1:]]), formula=FORMULA, draws=200)
    less = facets(table.iloc[1:], formula=FORMULA, draws=200)
    assert blank.value("plan", "variance", {"component": "system"}) == pytest.approx(
        less.value("plan", "variance", {"component": "system"})
    )
    holes = table.iloc[3:]
    with pytest.raises(MeasurandError, match="data rows 1 and 142 rate the same cell"):
        facets(pd.concat([holes, holes.iloc[:1]]), formula=FORMULA, draws=100)


COSTS = {"rater": 200, "group": 500, "item": 1, "judgement": 0.1}


def test_the_cheapest_sizes_reach_the_target_for_their_price():
    table = table_of(SIZES, seed=3, group_effect=0.3)
    result = facets(table, formula=FORMULA, target=0.9, costs=COSTS, most={"group": 6}, draws=4000)
    (cost,) = result.select("plan", "cost", {"basis": "estimate"})
    sizes = {facet: int(size) for facet, size in (part.split("=") for part in cost.keys["at"].split(", "))}
    raters = sizes["rater"] * sizes["group"]
    expected = 200 * raters + 500 * sizes["group"] + sizes["item"] + 0.1 * 4 * sizes["item"] * raters
    assert cost.estimate == pytest.approx(expected)
    assert result.value("plan", "n_judgements", cost.keys) == 4 * sizes["item"] * raters
    assert result.value("plan", "g", cost.keys) >= 0.9 - 1e-9
    found = facets(table, formula=FORMULA, at=[sizes], draws=100)
    assert found.select("plan", "g", {"at": cost.keys["at"]})[0].estimate == pytest.approx(
        result.value("plan", "g", cost.keys)
    )
    (own,) = result.select("plan", "cost", {"basis": "as_rated"})
    assert own.estimate == pytest.approx(200 * 6 + 500 * 2 + 6 + 0.1 * 144)
    (same,) = result.select("plan", "cost", {"basis": "same_cost"})
    assert same.estimate <= own.estimate
    front = result.select("plan", "cost", {"basis": "front"})
    assert [row.estimate for row in front] == sorted(row.estimate for row in front)
    needed = result.select("plan", "cost_needed")[0]
    assert needed.low <= needed.estimate == cost.estimate


def test_sizes_that_are_sure_reach_the_target_at_the_lower_limit():
    result = facets(table_of(SIZES, seed=3), formula=FORMULA, target=0.8, costs=COSTS, draws=20_000)
    (cost,) = result.select("plan", "cost", {"basis": "lower_limit"})
    (g,) = result.select("plan", "g", cost.keys)
    assert g.low >= 0.8
    (chance,) = result.select("plan", "probability_reached", cost.keys)
    assert chance.low >= 0.975
    assert result.findings[1].id == "target-reachable"
    assert "to be sure of it with 95 % confidence" in result.findings[1].statement


def test_no_rater_of_a_design_rates_more_than_they_could():
    table = table_of(SIZES, seed=3)
    result = facets(table, formula=FORMULA, target=0.9, most_per_rater=20, draws=2000)
    for row in result.select("plan", "cost"):
        if row.keys["basis"] != "as_rated" and not row.undefined:
            assert int(row.keys["at"].partition("item=")[2].partition(",")[0]) * 4 <= 20
    assert "20 judgements of a rater" in result.findings[1].question
    with pytest.raises(MeasurandError, match="at most 3 judgements of a rater, and each rates 4 levels of system"):
        facets(table, formula=FORMULA, most_per_rater=3, draws=100)


def test_a_target_out_of_reach_says_how_far_sizes_go():
    rng = np.random.default_rng(2)
    table = table_of(SIZES)
    table["rating"] = rng.normal(size=len(table)) + 0.3 * table["system"].str[1:].astype(int)
    result = facets(table, formula=FORMULA, target=0.99, most={"item": 3, "rater": 2, "group": 2}, draws=1000)
    (cost,) = result.select("plan", "cost", {"basis": "estimate"})
    assert "G is at most" in cost.undefined
    assert math.isinf(result.select("plan", "cost_needed")[0].estimate)
    assert result.findings[1].verdict == "fail"


def test_the_range_of_what_sizes_cost_ends_at_the_price_of_sizes_that_are_sure():
    rng = np.random.default_rng(2)
    table = table_of(SIZES)
    table["rating"] = 0.4 * rng.normal(size=len(table)) + table["system"].str[1:].astype(int)
    for target in (0.7, 0.8, 0.9):
        result = facets(table, formula=FORMULA, target=target, most={"item": 60, "rater": 8, "group": 4}, draws=4000)
        (sure,) = result.select("plan", "cost", {"basis": "lower_limit"})
        (needed,) = result.select("plan", "cost_needed")
        assert not sure.undefined
        assert needed.low <= needed.high <= sure.high


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"costs": {"judge": 3}}, "cost of 'judge'; costs are of item, rater, group, judgement"),
        ({"costs": {"rater": -1}}, "the cost of rater is -1"),
        ({"costs": {"rater": 1e306}}, r"the cost of rater is 1e\+306; give 0, or a number from 1e-06 to 1e\+09"),
        ({"costs": {"judgement": 0, "rater": 5, "group": 1}}, "levels of item and judgements cost nothing"),
        ({"most": {"system": 5}}, "most: no size of 'system' is sought; there are item, rater, group"),
        ({"most": {"group": 2}, "fixed": ("group",)}, "most: no size of 'group' is sought; there are item, rater"),
        ({"least": {"group": 1.5}}, "least: group=1.5; give a whole number"),
        ({"least": {"group": 7}, "most": {"group": 6}}, "least group=7 is above most group=6"),
        ({"formula": "system x item x group", "most_per_rater": 9}, "has no facet rater whose judgements"),
    ],
)
def test_what_no_sizes_can_be_sought_for_is_refused(asked, said):
    with pytest.raises(MeasurandError, match=said):
        facets(table_of(SIZES), **({"formula": FORMULA, "draws": 100} | asked))


def test_how_often_intervals_held_is_what_was_simulated():
    done = json.loads((Path(__file__).parents[2] / "benchmarks" / "coverage" / "facets.json").read_text())
    found = {}
    for design in done:
        assert design["tables"] >= 400
        for row in design["coverage"]:
            kind = {"G": "g", "Phi": "phi"}.get(row["number"], "variance")
            found.setdefault(kind, []).append(100 * row["coverage"])
    for kind, (low, high) in HELD.items():
        assert low == pytest.approx(min(found[kind]), abs=1.0)
        assert high == pytest.approx(max(found[kind]), abs=1.0)
