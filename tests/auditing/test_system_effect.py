import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_limits

from measurand.auditing import anova, audit, system_test
from measurand.auditing.system_effect import is_at_boundary
from measurand.data import read_ratings
from measurand.simulate import simulate_panel, two_emojis_panel


def f(result, error_term, model=""):
    (row,) = result.select("system_test", "f", {"error_term": error_term, "model": model})
    return row


def panel(seed=0, *, items=20, systems=3, raters=4, taste=0.0, apart=0.0):
    rng = np.random.default_rng(seed)
    value = apart * np.arange(systems)[None, :, None] + rng.normal(0, taste, (1, systems, raters))
    value = value + rng.normal(0, 0.5, (items, 1, 1)) + rng.normal(0, 0.5, (1, 1, raters))
    return value + rng.normal(0, 0.3, (items, systems, 1)) + rng.normal(0, 0.7, (items, systems, raters))


def test_each_f_is_the_mean_square_of_the_systems_over_that_of_its_error_term(tables):
    table = tables.long(panel())
    ms = {row.keys["source"]: row.estimate for row in anova(table).select("anova", "ms")}
    df = {row.keys["source"]: row.estimate for row in anova(table).select("anova", "df")}
    result = system_test(table)
    for term in ("residual", "system:rater", "item:system"):
        row = f(result, term)
        assert row.estimate == pytest.approx(ms["system"] / ms[term])
        assert (row.df1, row.df2) == (df["system"], df[term])
        assert row.p == pytest.approx(stats.f.sf(row.estimate, row.df1, row.df2))
    quasi = f(result, "quasi_f")
    assert quasi.estimate == pytest.approx((ms["system"] + ms["residual"]) / (ms["system:rater"] + ms["item:system"]))


def test_each_test_says_what_it_takes_for_random(tables):
    result = system_test(tables.long(panel()))
    assert "items and raters both random" in f(result, "quasi_f").note
    assert "would other raters" in f(result, "system:rater").note
    assert "every judgement as independent evidence" in f(result, "mixed_model", "judgement").note


def test_raters_who_differ_about_systems_are_mistaken_for_systems_by_the_judgement_model_only(tables):
    terms = {
        "judgement": ("mixed_model", "judgement"),
        "with raters": ("mixed_model", "judgement+system:rater"),
        "full": ("mixed_model", "full"),
        "quasi": ("quasi_f", ""),
    }
    rejected = dict.fromkeys(terms, 0)
    for seed in range(60):
        result = system_test(tables.long(panel(seed, taste=0.5)))
        for name, term in terms.items():
            rejected[name] += f(result, *term).p < 0.05
    assert rejected["judgement"] > 30
    for name in ("with raters", "full", "quasi"):
        assert rejected[name] <= 8, rejected


def test_systems_that_differ_are_found_with_holes_too(tables):
    cube = panel(1, apart=1.0)
    cube[np.random.default_rng(2).random(cube.shape) < 0.2] = np.nan
    result = system_test(tables.long(cube))
    assert f(result, "mixed_model", "full").p < 0.01
    for term in ("residual", "system:rater", "item:system", "quasi_f"):
        assert "incomplete" in f(result, term).undefined


def test_the_mixed_models_of_a_complete_panel_agree_with_its_mean_squares():
    result = system_test(two_emojis_panel().ratings)
    assert f(result, "mixed_model", "judgement").estimate == pytest.approx(11.07, abs=0.005)
    against_raters = f(result, "mixed_model", "judgement+system:rater")
    assert against_raters.estimate == pytest.approx(f(result, "system:rater").estimate, abs=1e-4)
    assert against_raters.df2 == pytest.approx(14, abs=0.01)


@pytest.mark.parametrize(
    ("shape", "reason"), [((8, 1, 3), "one system"), ((1, 3, 4), "one item"), ((8, 3, 1), "one rater")]
)
def test_a_test_that_is_out_of_reach_says_why(shape, reason, tables):
    row = f(system_test(tables.long(np.random.default_rng(1).normal(0, 1, shape))), "quasi_f")
    assert np.isnan(row.estimate)
    assert row.p is None
    assert reason in row.undefined


def test_effects_that_cannot_be_told_apart_are_named_in_the_test(tables):
    cube = np.full((12, 3, 3), np.nan)
    for k in range(3):
        cube[:, k, k] = np.random.default_rng(k).normal(0, 1, 12)
    row = f(system_test(tables.long(cube)), "mixed_model", "full")
    assert "rater cannot be told from system" in row.undefined


def test_without_systems_there_is_no_test(tables):
    assert len(system_test(tables.flat(np.random.default_rng(1).normal(0, 1, (6, 3))))) == 0


def test_names_have_no_test(tables):
    table = tables.long(np.random.default_rng(1).integers(0, 3, (5, 3, 3)))
    table["rating"] = table["rating"].map({0: "red", 1: "green", 2: "blue"})
    rows = system_test(read_ratings(table, level="nominal")).rows
    assert rows
    assert all("no mean" in row.undefined for row in rows)


def test_the_error_rate_of_the_full_model_holds_with_holes():
    truth = {"item": 0.3, "rater": 0.3, "system:rater": 0.2, "item:system": 0.1, "residual": 0.5}
    rejected = 0
    for seed in range(40):
        table = simulate_panel(components=truth, missing=0.2, n_items=12, n_systems=3, n_raters=4, seed=seed).ratings
        with threadpool_limits(limits=1, user_api="blas"):  # as in a whole audit
            rejected += f(system_test(table), "mixed_model", "full").p < 0.05
    assert rejected <= 6


def test_a_model_of_raters_that_collapsed_is_known_by_its_row(tables):
    # Raters hardly differ about systems, and nine ratings are missing: the smaller model gives system:rater nothing.
    rng = np.random.default_rng(0)
    shape = (40, 4, 5)
    cube = rng.normal(0, 0.3, (40, 4, 1)) + rng.normal(0, 0.05, (1, 4, 5)) + rng.normal(0, 0.7, shape)
    cube += rng.normal(0, 0.4, (1, 1, 5))
    cube += np.linspace(-0.25, 0.25, 4)[None, :, None]
    cube[np.unravel_index(rng.choice(cube.size, 9, replace=False), shape)] = np.nan
    tests = {row.keys["model"]: row for row in system_test(tables.long(cube)) if "model" in row.keys}
    usual, raters, full = (tests[name] for name in ("judgement", "judgement+system:rater", "full"))
    assert is_at_boundary(raters, "system:rater")
    assert not is_at_boundary(usual, "system:rater")
    assert raters.estimate == pytest.approx(usual.estimate, rel=1e-6)
    assert full.estimate < 0.9 * usual.estimate
    found = {f.id: f for f in audit(tables.long(cube), replicates=100, draws=1000).findings}["systems-differ"]
    assert "once raters and items count as samples" in found.statement
    assert "collapsed" in found.statement
