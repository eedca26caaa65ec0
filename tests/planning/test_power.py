import numpy as np
import pandas as pd
import pytest

from measurand.auditing import pairs
from measurand.keys import KEYS
from measurand.planning import power
from measurand.result import MeasurandError
from measurand.simulate import simulate_panel
from measurand.stats.inference import t_p

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
    assert nested.undefined == "no nested layout within 200 raters and 2,000 items finds it with this power"
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
    assert "the whole leaderboard spans 0.34" in of_paper.statement
    (of_good,) = power(good, draws=1000).findings
    assert of_good.verdict == "pass"


def test_a_difference_that_nothing_within_bounds_finds_fails_and_one_that_the_panel_finds_passes(good):
    result = power(good, difference=0.01, most_raters=5, most_items=20, draws=1000)
    assert result.findings[0].verdict == "fail"
    for row in result.select("power", "cost"):
        assert row.undefined.endswith("layout within 5 raters and 20 items finds it with this power")
    assert power(good, difference=2.0, draws=1000).findings[0].verdict == "pass"


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
