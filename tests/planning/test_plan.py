import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from measurand.auditing import components, generalizability
from measurand.keys import KEYS
from measurand.planning import plan, power
from measurand.planning.assigning import assign
from measurand.planning.findings import layout_pays, target_reachable
from measurand.planning.measured import measured
from measurand.result import MeasurandError, Result
from measurand.simulate import simulate_panel

COSTS = {"cost_rater": 20.0, "cost_item": 1.0, "cost_judgement": 0.1}
SMALL = {"most_raters": 12, "most_items": 60, "draws": 2000}


@pytest.fixture(scope="module")
def of_good(good):
    return plan(good, target=0.8, **COSTS, **SMALL)


@pytest.fixture(scope="module")
def of_paper(paper):
    return plan(paper, target=0.8, **COSTS, draws=5000)


def cheapest(result, estimator, basis):
    return [row for row in result.select("plan", "cost", {"estimator": estimator, "basis": basis}) if not row.undefined]


def finding(result, name):
    (found,) = [one for one in result.findings if one.id == name]
    return found


def test_every_number_has_a_name_of_its_own(of_good, of_paper):
    for result in (of_good, of_paper):
        names = [(*(row.keys.get(key, "") for key in KEYS["plan"]), row.statistic) for row in result]
        assert len(set(names)) == len(names)


def test_every_inferential_number_has_an_interval_or_says_why_not(of_good, of_paper):
    for row in [*of_good, *of_paper]:
        if row.statistic in ("g", "error_variance", "cost_needed") and not row.undefined:
            assert (row.low is None) == (row.keys["estimator"] == "plugin")
            assert row.low is not None or "no interval" in row.note
        if math.isnan(row.estimate):
            assert row.undefined


def test_g_of_the_panel_itself_is_that_of_the_decision_study(of_good, good):
    study = generalizability(good, draws=2000)
    here = {"estimator": "anova", "at_items": 40, "at_raters": 8}
    expected = study.select("generalizability", "g", here)[0]
    (row,) = of_good.select("plan", "g", {"estimator": "anova", "basis": "as_rated"})
    assert (row.estimate, row.low, row.high) == pytest.approx((expected.estimate, expected.low, expected.high))
    assert of_good.value("plan", "cost", {"estimator": "anova", "basis": "as_rated"}) == 8 * 20 + 40 + 0.1 * 40 * 6 * 8


def test_a_crossed_design_has_the_g_of_its_components(of_good, good):
    (row,) = of_good.select("plan", "g", {"estimator": "anova", "basis": "estimate", "layout": "crossed"})
    found = components(good, draws=100).select("components", "variance", {"estimator": "anova"})
    parts = {one.keys["component"]: one.estimate for one in found}
    raters, items = row.keys["at_raters"], row.keys["at_items"]
    error = parts["system:rater"] / raters + parts["item:system"] / items + parts["residual"] / (raters * items)
    assert row.estimate == pytest.approx(parts["system"] / (parts["system"] + error))


def test_the_cheapest_layout_comes_first_and_every_design_reaches_the_target(of_good):
    for basis in ("estimate", "lower_limit"):
        found = cheapest(of_good, "anova", basis)
        costs = [row.estimate for row in found]
        assert costs
        assert costs == sorted(costs)
        for row in of_good.select("plan", "g", {"estimator": "anova", "basis": basis}):
            assert (row.estimate if basis == "estimate" else row.low) >= 0.8


def test_the_sure_design_is_reached_in_so_many_draws(of_good):
    sure = of_good.select("plan", "probability_reached", {"basis": "lower_limit"})
    assert sure
    for row in sure:
        assert row.estimate >= 0.975
    for row in of_good.select("plan", "probability_reached", {"basis": "estimate", "estimator": "anova"}):
        assert 0.2 < row.estimate < 0.975


def test_what_is_sure_is_so_beyond_the_error_of_the_draws_and_says_it(of_good):
    for row in of_good.select("plan", "probability_reached", {"basis": "lower_limit"}):
        assert row.low >= 0.975
        assert row.low < row.estimate < row.high
        assert "standard error of the drawing" in row.note
    for row in of_good.select("plan", "cost", {"basis": "lower_limit"}):
        if not row.undefined:
            assert row.low <= row.estimate == row.high


def test_seeds_agree_on_what_being_sure_costs(good):
    ranges = []
    for seed in range(4):
        result = plan(good, target=0.7, **COSTS, **(SMALL | {"draws": 16_000}), layouts=("rotating",), seed=seed)
        (row,) = result.select("plan", "cost", {"basis": "lower_limit"})
        ranges.append((row.low, row.high))
    assert max(low for low, _ in ranges) <= 1.02 * min(high for _, high in ranges)
    assert max(high for _, high in ranges) <= 1.1 * min(low for low, _ in ranges)


def test_a_first_panel_of_three_raters_is_sure_of_a_target_at_many_times_the_estimate_and_warns():
    parts = {"item": 0.1, "system": 0.6, "rater": 0.1, "item:rater": 0.1, "system:rater": 0.1, "residual": 0.5}
    table = simulate_panel(n_items=60, n_systems=6, n_raters=3, components=parts, seed=2).ratings
    result = plan(table, **COSTS, draws=8000)
    found = finding(result, "target-reachable")
    sure, estimate = cheapest(result, "anova", "lower_limit"), cheapest(result, "anova", "estimate")
    assert {row.keys["layout"] for row in sure} == {"crossed", "rotating", "nested"}
    assert sure[0].estimate > 3 * estimate[0].estimate
    assert found.verdict == "warn"
    assert "times as much: one panel must then do for nearly all" in found.statement
    assert "could they be known beforehand" in found.statement
    assert found.remedy.startswith("Rate a larger first panel")


def test_a_target_that_the_draws_leave_open_is_a_warning_in_words(of_good):
    rows = [row for row in of_good["plan"] if row.keys.get("basis") != "lower_limit" or row.keys["layout"] == "crossed"]
    near = [
        replace(row, estimate=0.9752, low=0.9748, high=0.9756)
        if row.statistic == "probability_reached" and row.keys["basis"] == "lower_limit"
        else replace(row, high=math.inf)
        if row.statistic == "cost" and row.keys.get("basis") == "lower_limit"
        else row
        for row in rows
    ]
    found = target_reachable(near, "", target=0.8, of="g", bounds="here")
    assert found.verdict == "warn"
    assert "or more to be sure of it" in found.statement
    assert (
        "in 97.520 % of the draws, 97.500 % are asked, and the drawing leaves 97.480 % to 97.560 %" in found.statement
    )


def test_no_saving_worth_a_digit_is_not_called_a_saving(of_good):
    rows = [
        replace(row, estimate=0.02)
        if row.statistic == "error_variance" and row.keys["basis"] in ("as_rated", "same_cost")
        else row
        for row in of_good["plan"]
    ]
    found = layout_pays(rows, "")
    assert found.verdict == "pass"
    assert "by any amount worth naming" in found.statement
    assert " 0 %" not in found.statement


def test_cost_needed_is_the_cheapest_and_its_range_holds_it(of_good):
    row = of_good.select("plan", "cost_needed", {"estimator": "anova"})[0]
    assert "layout" not in row.keys
    assert row.estimate == cheapest(of_good, "anova", "estimate")[0].estimate
    assert row.low <= row.estimate <= row.high


def test_no_draw_within_the_range_costs_more_than_a_panel_that_is_sure(good):
    for target in (0.6, 0.7, 0.8):
        result = plan(good, target=target, **COSTS, **SMALL)
        sure = cheapest(result, "anova", "lower_limit")
        for row in result.select("plan", "cost_needed", {"estimator": "anova"}):
            of_layout = [one.high for one in sure if row.keys.get("layout", "") in ("", one.keys["layout"])]
            assert row.high <= min(of_layout, default=math.inf) * (1 + 1e-12)


def test_a_rotating_panel_that_is_planned_can_be_drawn(good):
    """Few judgements by many raters: items that no two share would be cheapest, and could compare nobody."""
    cheap = {"cost_rater": 0.0, "cost_item": 5.0, "cost_judgement": 1.0}
    result = plan(good, target=0.3, layouts=("rotating",), **cheap, **SMALL)
    designs = [row.keys for row in result.select("plan", "cost") if "at_items_per_rater" in row.keys]
    designs = [keys for keys in designs if keys["layout"] == "rotating"]
    assert len(designs) > 5
    for keys in designs:
        assert keys["at_items_per_rater"] >= 2
        per_item = keys["at_raters"] * keys["at_items_per_rater"] // keys["at_items"]
        stratum = np.zeros(keys["at_items"], dtype=np.int64)
        _, overlap = assign(
            keys["at_items"], keys["at_raters"], per_item, stratum=stratum, rng=np.random.default_rng(1)
        )
        assert overlap.is_connected


def better_with(rows, raters, each):
    """Return the finding if the best layout for the same cost had so many raters with so many items each."""
    changed = [
        replace(row, estimate=1e-6, keys=dict(row.keys) | {"at_raters": raters, "at_items_per_rater": each})
        if row.statistic == "error_variance" and row.keys["basis"] == "same_cost" and row.keys["layout"] == "crossed"
        else row
        for row in rows
    ]
    return layout_pays(changed, "")


def test_what_pays_is_told_in_the_direction_in_which_it_lies(of_good):
    fewer, more, same = (better_with(of_good["plan"], *sizes) for sizes in ((2, 149), (20, 9), (8, 30)))
    assert fewer.remedy.startswith("Give the judgements to fewer raters, each with more items; ")
    assert "take 6 of them at least (`panel-size` of the audit)" in fewer.remedy
    assert more.remedy.startswith("Spread the judgements over more raters, each with fewer items; ")
    assert "panel-size" not in more.remedy
    assert same.remedy.startswith("Keep the number of raters, and have each item rated by fewer of them")


def test_no_fewer_raters_are_advised_while_the_target_is_not_sure(of_good):
    def told(designs, **sure):
        """Return the finding if the best panels for the same cost had so many raters and such an error."""
        rows = []
        for row in of_good["plan"]:
            if row.keys.get("basis") != "same_cost":
                rows.append(row)
            elif row.statistic == "error_variance" and (found := designs.get(row.keys["layout"])):
                raters, error = found
                rows.append(replace(row, estimate=error, keys=dict(row.keys) | {"at_raters": raters}))
        return layout_pays(rows, "", **sure)

    spread = {"crossed": (2, 1e-6), "nested": (20, 1e-5)}
    assert told(spread).remedy.startswith("Give the judgements to fewer raters")
    found = told(spread, target_is_sure=False)
    assert found.verdict == "warn"
    assert found.remedy.startswith("Spread the judgements over more raters")
    alone = told({"crossed": (2, 1e-6), "nested": (20, 1e6)}, target_is_sure=False)
    assert alone.verdict == "undetermined"
    assert alone.statement.startswith("Not determined: for the same cost, another panel (crossed, 2 raters")
    assert "But it has fewer raters than the 8 that there are" in alone.statement
    assert alone.remedy.startswith("Keep 8 raters at least, follow target-reachable first")


def test_a_nested_panel_says_what_it_gives_up(good):
    result = plan(good, target=0.7, layouts=("nested",), **COSTS, **SMALL)
    assert "A nested panel gives no G again" in finding(result, "target-reachable").statement
    (row, *_) = result.select("plan", "g", {"basis": "estimate", "layout": "nested"})
    assert "cannot be estimated again" in row.note


@pytest.mark.parametrize("costs", [{"cost_rater": 1e306}, {"cost_item": 1e-300}, {"cost_judgement": 1e308}])
def test_prices_beyond_all_measure_are_refused(good, costs):
    with pytest.raises(MeasurandError, match="give 0, or a number from 1e-06 to"):
        plan(good, **costs)


def test_nothing_on_the_front_is_both_dearer_and_worse(of_good):
    front = {"basis": "front", "estimator": "anova"}
    costs = [row.estimate for row in of_good.select("plan", "cost", front)]
    values = [row.estimate for row in of_good.select("plan", "g", front)]
    assert len(costs) >= 5
    assert costs == sorted(costs)
    assert values == sorted(values)
    for row, value in zip(of_good.select("plan", "cost", front), values, strict=True):
        assert value >= row.keys["target"] * (1 - 1e-12)


def test_for_the_same_cost_nothing_costs_more_than_the_panel(of_good):
    own = of_good.value("plan", "cost", {"estimator": "anova", "basis": "as_rated"})
    for row in of_good.select("plan", "cost", {"basis": "same_cost"}):
        assert row.estimate <= own


def test_no_layout_does_where_the_systems_do_not_differ_and_the_plug_in_would_promise_it(of_paper):
    for layout in ("crossed", "rotating", "nested"):
        (row,) = of_paper.select("plan", "cost", {"estimator": "anova", "basis": "estimate", "layout": layout})
        assert row.undefined.startswith("no panel does: the system variance is estimated at −0.00997")
        (needed,) = of_paper.select("plan", "cost_needed", {"estimator": "anova", "layout": layout})
        assert needed.estimate == math.inf
        assert 0 < needed.low < math.inf
        assert needed.high == math.inf
    assert len(cheapest(of_paper, "plugin", "estimate")) == 3
    found = finding(of_paper, "target-reachable")
    assert found.verdict == "fail"
    assert "The plug-in estimator" in found.statement


def test_the_papers_judgements_would_have_bought_less_error_from_more_raters(paper):
    result = plan(paper, cost_item=0, cost_judgement=1, most_raters=290, most_items=870, draws=1000)
    (own,) = result.select("plan", "error_variance", {"estimator": "anova", "basis": "as_rated"})
    nested = result.select("plan", "error_variance", {"estimator": "anova", "basis": "same_cost", "layout": "nested"})
    assert nested[0].keys["at_raters"] == 290
    expected = 0.0676331 / 290 + 0.0905333 / 870 + 0.6364 / 870
    assert nested[0].estimate == pytest.approx(expected, rel=1e-3)
    assert own.estimate == pytest.approx(0.023588, rel=1e-3)
    found = finding(result, "layout-pays")
    assert found.verdict == "warn"
    assert "290 raters with 3 items of their own each" in found.statement


def test_a_bound_that_is_too_tight_says_what_is_reached_within_it(good):
    result = plan(good, target=0.99, most_raters=3, most_items=10, draws=1000)
    (row,) = result.select("plan", "cost", {"estimator": "anova", "basis": "estimate", "layout": "crossed"})
    assert row.undefined.startswith("no panel of this layout does: within 3 raters and 10 items G is at most 0.")
    result = plan(good, most_raters=2, most_items=10, layouts=("rotating",), draws=1000)
    (row,) = result.select("plan", "cost", {"estimator": "anova", "basis": "estimate"})
    assert row.undefined == "no panel of this layout lies within 2 raters and 10 items"


def test_phi_costs_at_least_what_g_does(good, of_good):
    phi = plan(good, coefficient="phi", **COSTS, **SMALL)
    assert {row.statistic for row in phi} >= {"phi", "cost", "probability_reached"}
    for layout in ("crossed", "rotating", "nested"):
        keys = {"estimator": "anova", "layout": layout}
        assert phi.value("plan", "cost_needed", keys) >= of_good.value("plan", "cost_needed", keys)


def test_incomplete_panels_are_planned_from_too():
    parts = {"item": 0.3, "system": 0.4, "rater": 0.2, "system:rater": 0.1, "residual": 0.5}
    table = simulate_panel(n_items=16, n_systems=4, n_raters=4, components=parts, missing=0.15, seed=2).ratings
    result = plan(table, **COSTS, **SMALL)
    assert {row.keys["estimator"] for row in result} == {"henderson", "reml"}
    assert cheapest(result, "henderson", "estimate")
    study = generalizability(table, draws=2000)
    (own,) = result.select("plan", "g", {"estimator": "henderson", "basis": "as_rated"})
    assert own.estimate == pytest.approx(study.value("generalizability", "g_as_rated", {"estimator": "henderson"}))


@pytest.mark.parametrize(
    ("columns", "verdict", "said"),
    [
        (["item", "rater", "rating"], "not_applicable", "no systems"),
        (["item", "system", "rater", "rating"], "undetermined", "one rater: its variance cannot be estimated"),
    ],
)
def test_what_cannot_be_planned_from_says_why(columns, verdict, said):
    table = pd.DataFrame(
        {"item": list("aabb"), "system": ["S1", "S2"] * 2, "rater": ["R1"] * 4, "rating": [1, 2, 3, 5]}
    )
    if "system" not in columns:
        table["rater"] = ["R1", "R2"] * 2
    for result in (plan(table[columns], draws=100), power(table[columns], draws=100)):
        assert all(row.undefined for row in result if row.statistic != "n_systems")
        for one in result.findings:
            assert one.verdict == verdict
            assert said in one.statement


def test_the_systems_of_a_panel_are_known_even_where_nothing_can_be_planned(of_good):
    assert of_good.value("plan", "n_systems") == 6
    rows = [(f"i{item}", f"S{system}", "R", item + system) for item in range(3) for system in range(4)]
    result = plan(pd.DataFrame(rows, columns=["item", "system", "rater", "rating"]), draws=100)
    assert result.value("plan", "n_systems") == 4


def test_no_rater_is_asked_for_more_judgements_than_they_could_give(good, of_good):
    most = 36
    capped = plan(good, target=0.8, **COSTS, **SMALL, most_per_rater=most) + power(
        good, difference=1.0, **COSTS, **SMALL, most_per_rater=most
    )
    designs = [row for row in capped if "at_items_per_rater" in row.keys and row.keys.get("basis", "") != "as_rated"]
    designs = [row for row in designs if row.keys["layout"] != "as_rated"]
    assert {row.keys["layout"] for row in designs} == {"crossed", "rotating", "nested"}
    assert max(row.keys["at_items_per_rater"] for row in designs) * 6 <= most
    assert max(row.keys["at_items_per_rater"] for row in cheapest(of_good, "anova", "estimate")) * 6 > most
    (found,) = (one for one in capped.findings if one.id == "target-reachable")
    assert "12 raters, 60 items and 36 judgements of a rater" in found.question
    with pytest.raises(MeasurandError, match="at most 5 judgements of a rater, and an item takes 6"):
        plan(good, **COSTS, **SMALL, most_per_rater=5)


def test_ratings_that_are_all_the_same_are_undetermined():
    table = simulate_panel(n_items=4, n_systems=3, n_raters=3, components={"item": 1.0}, seed=1).ratings
    table["rating"] = 3.0
    for result in (plan(table, draws=100), power(table, draws=100)):
        assert {one.verdict for one in result.findings} == {"undetermined"}
        assert all("no variation" in row.undefined for row in result if row.statistic != "n_systems")


def test_the_same_seed_gives_the_same_bytes_and_they_survive_json(good, of_good):
    again = plan(good, target=0.8, **COSTS, **SMALL)
    assert again.to_json() == of_good.to_json()
    assert Result.from_json(of_good.to_json()) == of_good


def test_measured_panels_are_not_measured_again(good, of_good):
    panels = measured(good, seed=0, draws=2000)
    bounds = {name: SMALL[name] for name in ("most_raters", "most_items")}
    assert [row.to_dict() for row in plan(panels, **COSTS, **bounds)] == [row.to_dict() for row in of_good]


def test_criteria_are_planned_one_by_one(good):
    other = good.assign(rating=good["rating"] * 2, criterion="twice")
    both = pd.concat([good.assign(criterion="once"), other])
    result = plan(both, **COSTS, **SMALL)
    once, twice = (
        [
            row.estimate
            for basis in ("as_rated", "estimate", "same_cost", "front")
            for row in result.select("plan", "cost", {"criterion": name, "estimator": "anova", "basis": basis})
        ]
        for name in ("once", "twice")
    )
    assert once == twice
    assert [one.criterion for one in result.findings] == ["once", "once", "twice", "twice"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"target": 1.0}, "target 1; give a coefficient above 0 and below 1"),
        ({"target": float("nan")}, "target nan"),
        ({"coefficient": "kappa"}, "coefficient 'kappa'; allowed are g and phi"),
        ({"confidence": 1.0}, "confidence 1; give a level from .5"),
        ({"draws": 10}, "10 draws; an interval needs at least 100"),
        ({"seed": -1}, "seed -1"),
        ({"layouts": ("square",)}, "layout 'square'"),
        ({"cost_judgement": 0.0}, "items and judgements cost nothing"),
    ],
)
def test_what_makes_no_plan_is_refused(good, asked, said):
    with pytest.raises(MeasurandError, match=said):
        plan(good, **asked)


@pytest.mark.parametrize("name", ["simpeval_2022", "imagenhub_mask_guided"])
def test_real_panels_are_planned_from(shared, name):
    table = shared / "data" / name / "ratings.csv"
    result = plan(table, **COSTS, draws=2000)
    for criterion in {row.keys["criterion"] for row in result}:
        here = {"criterion": criterion, "estimator": "anova"}
        needed = result.select("plan", "cost_needed", here)
        assert needed[0].low <= needed[0].estimate <= needed[0].high
        assert needed[0].estimate == min(row.estimate for row in needed)
    assert {one.id for one in result.findings} == {"target-reachable", "layout-pays"}
