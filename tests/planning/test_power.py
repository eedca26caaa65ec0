import numpy as np
import pandas as pd
import pytest

from measurand.auditing import pairs
from measurand.keys import KEYS
from measurand.planning import plan, power
from measurand.planning.assigning import assign
from measurand.planning.designs import Design
from measurand.result import MeasurandError
from measurand.simulate import simulate_panel
from measurand.stats.inference import t_p, t_test
from measurand.stats.layouts import error_df, error_variance
from measurand.stats.power import detectable

CHANNEL = {"rater": "system:rater", "item": "item:system", "cell": "residual"}
COSTS = {"cost_rater": 20.0, "cost_item": 1.0, "cost_judgement": 0.1}


@pytest.fixture(scope="module")
def of_paper(paper):
    return power(paper, difference=0.1, draws=20_000, **COSTS)


def test_the_papers_panel_could_find_nothing_smaller_than_twice_its_leaderboard(of_paper):
    keys = {"unit": "item+rater"}
    error = of_paper.select("power", "standard_error", keys)[0]
    assert error.estimate == pytest.approx(0.217, abs=5e-4)
    assert error.df2 == pytest.approx(14.36, abs=0.02)
    # By Student's t with the fourteen degrees of freedom of system:rater it is .654.
    assert of_paper.value("power", "smallest_difference", keys) == pytest.approx(0.654, abs=2e-3)
    assert of_paper.value("power", "span_of_systems") == pytest.approx(0.341, abs=5e-3)


def test_with_these_very_raters_the_standard_error_is_that_of_the_paired_test_over_items(of_paper, paper):
    row = of_paper.select("power", "standard_error", {"unit": "item"})[0]
    found = pairs(paper).select("pairs", "difference", {"unit": "item"})
    # Errors are pooled over systems: the mean of the squared standard errors of all pairs.
    squared = [((one.high - one.low) / 2 / 1.9682) ** 2 for one in found]
    assert row.estimate == pytest.approx(np.sqrt(np.mean(squared)), rel=1e-3)


def test_every_number_has_a_name_of_its_own_and_an_interval_that_holds_it(of_paper):
    names = [(*(row.keys.get(key, "") for key in KEYS["power"]), row.statistic) for row in of_paper]
    assert len(set(names)) == len(names)
    for row in of_paper:
        if row.statistic in ("standard_error", "smallest_difference", "power"):
            assert row.low < row.estimate < row.high


def test_what_finding_a_difference_takes_finds_it(of_paper):
    found = of_paper.select("power", "power", {"difference": 0.1, "target": 0.8})
    assert [row.keys["layout"] for row in found] == ["rotating", "crossed"]
    for row in found:
        assert row.estimate >= 0.8
    *costs, nested = of_paper.select("power", "cost")
    assert [row.estimate for row in costs] == sorted(row.estimate for row in costs)
    # 2 (.0905 + .6364) / (.1 / 2.802)² is more than two thousand items of their own.
    assert nested.undefined == "no panel of this layout within 200 raters and 2,000 items finds it with this power"
    (finding,) = of_paper.findings
    assert finding.verdict == "warn"
    assert finding.remedy.startswith("It would take rotating, ")


def test_power_is_what_a_simulated_test_finds():
    truth = {"system:rater": 0.05, "item:system": 0.3, "residual": 0.6, "item": 0.2, "rater": 0.2}
    sizes = {"n_items": 30, "n_systems": 2, "n_raters": 6}
    hits = []
    for seed in range(300):
        table = simulate_panel(components=truth, seed=seed, **sizes).ratings
        table["rating"] += 0.5 * (table["system"] == "S1")
        cube = table["rating"].to_numpy().reshape(30, 2, 6)
        d = cube[:, 0] - cube[:, 1]
        ms_r = 30 * d.mean(axis=0).var(ddof=1)
        ms_p = 6 * d.mean(axis=1).var(ddof=1)
        rest = d - d.mean(axis=0) - d.mean(axis=1, keepdims=True) + d.mean()
        ms_e = (rest**2).sum() / (5 * 29)
        error = max(ms_r + ms_p - ms_e, ms_e) / 180
        df = (ms_r + ms_p - ms_e) ** 2 / (ms_r**2 / 5 + ms_p**2 / 29 + ms_e**2 / 145)
        hits.append(t_p(d.mean() / np.sqrt(error), max(df, 1)) < 0.05)
    exact = simulate_panel(
        mean_squares={
            "item": 30 * 0.2 + 5, "system": 20.0, "rater": 30.0, "item:system": 0.6 + 6 * 0.3, "item:rater": 0.6,
            "system:rater": 0.6 + 30 * 0.05, "residual": 0.6,
        },
        **sizes,
    ).ratings  # fmt: skip
    expected = power(exact, difference=0.5, draws=1000).value(
        "power", "power", {"unit": "item+rater", "layout": "as_rated"}
    )
    assert np.mean(hits) == pytest.approx(expected, abs=0.08)


def test_without_a_difference_the_leaderboard_is_the_measure(paper, good):
    (of_paper,) = power(paper, draws=1000).findings
    assert of_paper.verdict == "fail"
    assert "Not even the observed means, errors and all, lie so far apart: 0.342 at most" in of_paper.statement
    (of_good,) = power(good, draws=1000).findings
    assert of_good.verdict == "pass"


def test_a_difference_that_nothing_within_bounds_finds_fails_and_one_that_the_panel_finds_passes(good):
    result = power(good, difference=0.01, most_raters=5, most_items=20, draws=1000)
    assert result.findings[0].verdict == "fail"
    for row in result.select("power", "cost"):
        assert row.undefined.endswith("this layout within 5 raters and 20 items finds it with this power")
    assert power(good, difference=2.0, draws=1000).findings[0].verdict == "pass"


def test_many_systems_that_do_not_differ_are_not_found_to_for_all_their_spread():
    parts = {"item": 0.3, "rater": 0.5, "item:system": 0.1, "item:rater": 0.4, "system:rater": 0.05, "residual": 0.6}
    would_pass = []
    for seed in range(4):
        table = simulate_panel(n_items=60, n_systems=40, n_raters=10, components=parts, seed=seed).ratings
        result = power(table, draws=200)
        least = result.value("power", "smallest_difference", {"unit": "item+rater"})
        would_pass.append(least <= result.value("power", "span_of_systems"))
        (found,) = result.findings
        assert found.verdict in ("undetermined", "fail")
        (true,) = result.select("power", "true_span_of_systems")
        assert true.undefined or true.estimate < least
    # The observed span, which grows with the number of systems, says otherwise.
    assert any(would_pass)


def test_with_these_very_raters_the_degrees_of_freedom_are_those_of_the_paired_test():
    parts = {"item": 0.3, "system": 0.4, "rater": 0.2, "item:system": 0.1, "residual": 0.6}
    table = simulate_panel(n_items=5, n_systems=8, n_raters=3, components=parts, seed=1).ratings
    (row,) = power(table, draws=200).select("power", "smallest_difference", {"unit": "item"})
    (test, *_) = pairs(table).select("pairs", "difference", {"unit": "item"})
    assert row.df2 == test.df2 == 4


@pytest.mark.parametrize(("layout", "n_raters"), [("nested", 4), ("rotating", 6)])
def test_a_planned_panel_has_the_power_that_the_audits_test_then_has(layout, n_raters):
    truth = {"system:rater": 0.1, "item:system": 0.1, "residual": 0.6}
    errors = {name: np.array(truth[one]) for name, one in CHANNEL.items()}
    per_item, n_items, n_systems = {"nested": 1, "rotating": 2}[layout], 24, 4
    design = Design(layout, n_raters, n_items, per_item)
    df = float(error_df(errors, n_systems=n_systems, n_items=n_items, n_raters=n_raters, per_item=per_item))
    error = float(error_variance(errors, design.numbers))
    difference = float(detectable(df, power=0.8, alpha=0.05)) * np.sqrt(2 * error)
    rng = np.random.default_rng(7)
    raters, _ = assign(n_items, n_raters, per_item, stratum=np.zeros(n_items, dtype=np.int64), rng=rng)
    unit = "rater" if layout == "nested" else "item+rater"
    hits = []
    for _ in range({"nested": 400, "rotating": 60}[layout]):
        of_item, of_rater = rng.normal(0, 0.1**0.5, (n_items, n_systems)), rng.normal(0, 0.1**0.5, (99, n_systems))
        rows = [
            (
                item,
                f"S{s}",
                rater,
                difference * (s == 0) + of_item[item, s] + of_rater[rater, s] + rng.normal(0, 0.6**0.5),
            )
            for item in range(n_items)
            for rater in raters[item]
            for s in range(n_systems)
        ]
        table = pd.DataFrame(rows, columns=["item", "system", "rater", "rating"])
        if layout == "nested":
            cell = table.pivot_table(index="rater", columns="system", values="rating")
            hits.append(t_test((cell["S0"] - cell["S1"]).to_numpy()).p < 0.05)
        else:
            (row, *_) = pairs(table).select("pairs", "difference", {"unit": unit})
            hits.append(row.p < 0.05)
    assert np.mean(hits) == pytest.approx(0.8, abs=0.06 if layout == "nested" else 0.15)


def test_what_a_nested_panel_finds_is_tested_over_its_raters(good):
    result = power(good, difference=0.8, layouts=("nested",), draws=500)
    (row,) = result.select("power", "power", {"layout": "nested"})
    assert row.df2 == row.keys["at_raters"] - 1
    assert "the only one that a nested panel allows" in row.note


def test_an_interval_without_its_estimate_says_so():
    parts = {"item": 0.3, "rater": 0.5, "item:system": 0.1, "item:rater": 0.4, "system:rater": 0.05, "residual": 0.6}
    seen = 0
    for seed in range(8):
        table = simulate_panel(n_items=4, n_systems=2, n_raters=2, components=parts, missing=0.2, seed=seed).ratings
        result = power(table, difference=0.3, draws=500, most_raters=4, most_items=9)
        for row in result + plan(table, draws=500, most_raters=4, most_items=9):
            if row.low is not None and not row.low <= row.estimate <= row.high:
                assert "do not centre on the estimate" in row.note
                seen += 1
    assert seen


def test_incomplete_panels_are_taken_as_they_were_rated():
    parts = {"item": 0.3, "system": 0.4, "rater": 0.2, "item:system": 0.1, "system:rater": 0.1, "residual": 0.5}
    sizes = {"n_items": 16, "n_systems": 4, "n_raters": 4, "components": parts, "seed": 2}
    whole, holes = (simulate_panel(missing=share, **sizes).ratings for share in (0.0, 0.15))
    found = [
        power(table, draws=500).select("power", "standard_error", {"unit": "item+rater"})[0] for table in (whole, holes)
    ]
    assert found[1].estimate == pytest.approx(found[0].estimate, rel=0.4)
    assert [row.keys["estimator"] for row in found] == ["anova", "henderson"]


def test_ratings_without_any_error_would_find_everything():
    table = pd.DataFrame(
        [(i, s, r, float(s == "b")) for i in "xyz" for s in "ab" for r in "pq"],
        columns=["item", "system", "rater", "rating"],
    )
    result = power(table, difference=0.5, draws=500)
    rows = [row for row in result if row.statistic == "power"]
    assert all("would be found" in row.undefined for row in rows)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"difference": 0.0}, "difference 0; give a number above 0"),
        ({"difference": float("inf")}, "difference inf"),
        ({"target": 0.05}, "power 0.05; give a power above alpha"),
        ({"alpha": 1.0}, "alpha 1"),
        ({"cost_rater": -2.0}, "the cost of a rater is -2"),
    ],
)
def test_what_cannot_be_asked_is_refused(good, asked, said):
    with pytest.raises(MeasurandError, match=said):
        power(good, **asked)
