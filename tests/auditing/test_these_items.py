import math

import numpy as np
import pytest
from scipy import stats

from measurand.auditing import decision, generalizability
from measurand.simulate import simulate_panel, two_emojis_panel
from measurand.stats.reliability import icc

SQUARES = {
    "item": 6.0,
    "system": 40.0,
    "rater": 30.0,
    "item:system": 1.2,
    "item:rater": 2.0,
    "system:rater": 4.0,
    "residual": 1.0,
}


def exact(**changed):
    return simulate_panel(mean_squares=SQUARES | changed, n_items=20, n_systems=4, n_raters=5).ratings


def drawn(n_items):
    parts = {"system": 0.5, "rater": 0.3, "item:system": 0.1, "system:rater": 0.2, "residual": 0.6}
    return simulate_panel(components=parts, n_items=n_items, n_systems=6, n_raters=4, seed=3).ratings


def g_of(ratings):
    (row,) = generalizability(ratings, draws=1000).select("generalizability", "g_these_items")
    return row


def needed_of(ratings, target=0.8):
    study = decision(ratings, targets=[target], draws=1000)
    (row,) = study.select("decision", "raters_needed_these_items")
    return row


def test_the_published_panel():
    """methods.md 6.6: G at most .628, 7.1 raters at least, by the two mean squares of F(7, 14) = .59."""
    ratings = two_emojis_panel().ratings
    g, needed = g_of(ratings), needed_of(ratings)
    assert (g.estimate, g.low, round(g.high, 3)) == (0, 0, 0.628)
    assert (needed.estimate, needed.low, needed.high) == (math.inf, 8, math.inf)
    assert (g.method, g.unit) == ("F, two mean squares", "system+rater")
    assert "lies below" in g.note


def test_g_and_its_ends_are_those_of_the_ratio_of_two_mean_squares():
    g = g_of(exact())  # MS_s = 40 on 3 degrees of freedom, MS_sr = 4 on 12
    assert g.estimate == pytest.approx(1 - 4 / 40, abs=1e-12)
    assert g.low == pytest.approx(max(1 - stats.f.ppf(0.975, 3, 12) / 10, 0), abs=1e-12)
    assert g.high == pytest.approx(1 - stats.f.ppf(0.025, 3, 12) / 10, abs=1e-12)


@pytest.mark.parametrize("target", [0.5, 0.8, 0.9, 0.95])
def test_the_raters_needed_reach_the_target_and_one_less_does_not(target):
    needed = needed_of(exact(), target)

    def reached(ratio, n):  # Spearman-Brown of the ratio's G at 5 raters
        return 1 - 1 / (1 + (ratio - 1) * n / 5)

    ends = [(10.0, needed.estimate)]
    ends += [(10 / stats.f.ppf(0.025, 3, 12), needed.low), (10 / stats.f.ppf(0.975, 3, 12), needed.high)]
    for ratio, n in ends:
        assert reached(ratio, n) >= target - 1e-9
        assert n == 1 or reached(ratio, n - 1) < target


def test_it_is_the_intraclass_correlation_of_the_means_over_items():
    """ICC(3,k) of systems by raters, each cell the mean of the items: another road to the same ratio."""
    frame = drawn(12)
    means = frame.groupby(["system", "rater"])["rating"].mean().unstack()
    assert g_of(frame).estimate == pytest.approx(max(icc(means.to_numpy(), form="icc_3_k").value, 0), abs=1e-12)


def test_one_item_is_enough():
    frame = drawn(2)
    one = frame[frame["item"] == frame["item"].iloc[0]]
    row = g_of(one)
    assert not row.undefined
    assert row.n_items == 1


def test_where_raters_and_systems_do_not_interact_there_is_no_interval():
    row = g_of(exact(**{"system:rater": 0.0}))
    assert (row.estimate, row.low) == (1, None)
    assert "no interval" in row.note
    assert needed_of(exact(**{"system:rater": 0.0})).estimate == 1


def test_no_number_without_a_complete_crossing():
    frame = exact()
    row = g_of(frame.iloc[1:])
    assert np.isnan(row.estimate)
    assert "incomplete panel: 1 of 400" in row.undefined
    assert needed_of(frame.iloc[1:]).undefined == row.undefined


def test_no_number_with_one_rater_or_one_system():
    frame = exact()
    for column in ("rater", "system"):
        alone = frame[frame[column] == frame[column].iloc[0]]
        assert g_of(alone).undefined == f"one {column}: its variance cannot be estimated"
