"""Faults of mixed models and variance components that users of other tools have reported; each must not occur here."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

from measurand.auditing import agreement, anova, components, decision, generalizability, system_test
from measurand.auditing.mixed import MODELS, effects, pair_contrasts, random_fit, system_fit, terms
from measurand.data import panels
from measurand.simulate import simulate_panel, two_emojis_panel
from measurand.stats import reml
from measurand.stats.mixed import Model
from measurand.stats.reliability import ICC_FORMS

PARTS = {"item": 0.5, "system": 0.1, "rater": 0.4, "item:system": 0.2, "item:rater": 0.2, "system:rater": 0.1}


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


def table_of(cube):
    item, system, rater = np.nonzero(~np.isnan(cube))
    frame = pd.DataFrame({"item": [f"i{k}" for k in item], "rater": [f"R{k}" for k in rater]})
    if cube.shape[1] > 1:
        frame["system"] = [f"S{k}" for k in system]
    return frame.assign(rating=cube[item, system, rater])


def incomplete(seed=4, *, missing=0.15, sizes=(12, 3, 4)):
    n_items, n_systems, n_raters = sizes
    made = simulate_panel(
        n_items=n_items,
        n_systems=n_systems,
        n_raters=n_raters,
        components=PARTS | {"residual": 0.6},
        missing=missing,
        seed=seed,
    )
    return made.ratings


def quiet_raters(seed, *, missing=0.2, item=1.0):
    """A panel without any interaction, and with equal systems: components at 0 are the rule."""
    rng = np.random.default_rng(seed)
    cube = rng.normal(size=(10, 3, 4)) + 0.7 * item * rng.normal(size=(10, 1, 1)) + 0.6 * rng.normal(size=(1, 1, 4))
    cube[rng.random(cube.shape) < missing] = np.nan
    return cube


def design_of(panel):
    return np.column_stack(
        [np.ones(len(panel.rating)), *[(panel.system == k).astype(float) for k in range(1, panel.n_systems)]]
    )


def fitted(panel, names):
    model = Model(panel.rating, panel.item, design_of(panel), terms(panel, effects(panel), names))
    return model, reml.fit(model, total=float(panel.rating.var()))


def at_zero(name, names, **settings):
    """A panel whose estimate of one component is 0."""
    for seed in range(30):
        panel = panels(table_of(quiet_raters(seed, **settings)))[0]
        model, found = fitted(panel, names)
        if found.components[name] == 0.0:
            return panel, model, found
    raise AssertionError(f"no simulated panel has {name} at 0")


def test_incomplete_panels_have_an_icc_of_the_complete_cells_and_one_of_all():
    """P24: the ICC of unbalanced ratings is unsupported."""
    cube = np.random.default_rng(2).normal(size=(20, 1, 4)) + 1.2 * np.random.default_rng(3).normal(size=(20, 1, 1))
    cube[0, 0, 1] = cube[4, 0, 2] = cube[4, 0, 3] = np.nan
    result = agreement(table_of(cube), replicates=200, draws=1000)
    for form in ("icc_2_1", "icc_3_1", "icc_2_k", "icc_3_k"):
        listwise, every = (result.select("agreement", form, {"missing": m})[0] for m in ("listwise", "reml"))
        assert "18" in listwise.note
        assert "all 20 cells" in every.note
        assert listwise.estimate == pytest.approx(every.estimate, abs=0.2)
        assert listwise.estimate != every.estimate
        assert every.low < every.estimate < every.high
    whole = agreement(table_of(np.delete(cube, [0, 4], axis=0)), replicates=200, draws=1000)
    for form in ("icc_2_1", "icc_2_k"):
        assert result.value("agreement", form, {"missing": "listwise"}) == pytest.approx(
            whole.select("agreement", form)[0].estimate, rel=1e-12
        )
    assert set(ICC_FORMS) >= {"icc_1_1", "icc_1_k"}


def test_icc_of_panel24_by_both_ways(shared):
    """P24: .3704 of the 86 complete cells, .3372 of all 120."""
    table = pd.read_csv(shared / "golden" / "panel24.csv").rename(columns={"score": "rating"}).dropna()
    result = agreement(table, replicates=200, draws=1000)
    assert result.value("agreement", "icc_2_1", {"missing": "listwise"}) == pytest.approx(0.370444627904, rel=1e-9)
    assert result.value("agreement", "icc_2_1", {"missing": "reml"}) == pytest.approx(0.337214, abs=1e-5)
    assert result.value("agreement", "icc_2_k", {"missing": "reml"}) == pytest.approx(0.670525, abs=1e-5)


def test_the_type_of_the_sums_of_squares_is_stated():
    """P27: a type of sums of squares that has no effect, or is not said."""
    balanced = anova(incomplete(missing=0.0))
    assert balanced.settings["anova"]["sums_of_squares"] == "balanced: the types I, II and III coincide"
    for row in anova(incomplete()).select("anova", "ss"):
        assert np.isnan(row.estimate)  # where they would not coincide there are none
        assert row.undefined.startswith("incomplete panel")


def test_crossed_effects_of_6960_ratings_need_no_matrix_of_ratings_by_ratings():
    """P29: crossed random effects kill the session."""
    ratings = two_emojis_panel().ratings
    cube = panels(ratings)[0].cube().copy()
    cube[0, 0, 0] = np.nan  # not complete, so that the ratings are fitted and not the mean squares
    panel = panels(table_of(cube))[0]
    n = len(panel.rating)
    assert n == 6959
    tracemalloc.start()
    try:
        _, test = system_fit(panel, effects(panel), "full")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert test.statistic == pytest.approx(0.5775, abs=0.01)
    assert test.df2 == pytest.approx(14.38, abs=0.2)
    assert peak < 8 * n * n / 4  # a quarter of one dense matrix of 388 MB


def test_a_variance_of_about_0_leaves_the_fixed_effects_right():
    """P30: with a random variance near 0 all fixed effects came back as 0, and the fit as converged."""
    panel, model, found = at_zero("item", ("item", "rater"), item=0.0)
    less, without = fitted(panel, ("rater",))
    got, covariance = model.fixed_effects(model.evaluate(found.values))
    right, expected = less.fixed_effects(less.evaluate(without.values))
    assert np.abs(right).min() > 0.01
    np.testing.assert_allclose(got, right, rtol=1e-6)
    np.testing.assert_allclose(covariance, expected, rtol=1e-5)


def test_with_every_variance_at_0_the_fixed_effects_are_least_squares():
    """P30: the boundary fit equals ordinary least squares."""
    rng = np.random.default_rng(1)
    cube = rng.normal(size=(8, 3, 4))
    # Items and raters differ less than chance would have it.
    cube -= 0.9 * (cube.mean(axis=(1, 2), keepdims=True) + cube.mean(axis=(0, 1), keepdims=True))
    cube[0, 0, 0] = np.nan
    panel = panels(table_of(cube))[0]
    model, found = fitted(panel, ("item", "rater"))
    assert found.at_boundary == ["item", "rater"]
    design = design_of(panel)
    right, rest, _, _ = np.linalg.lstsq(design, panel.rating, rcond=None)
    got, covariance = model.fixed_effects(model.evaluate(found.values))
    np.testing.assert_allclose(got, right, rtol=1e-9)
    error = float(rest[0]) / (len(panel.rating) - 3)
    np.testing.assert_allclose(covariance, error * np.linalg.inv(design.T @ design), rtol=1e-6)
    test = reml.contrast_test(model, found, np.eye(3)[1:])
    assert test.df2 == pytest.approx(len(panel.rating) - 3, rel=1e-4)


def test_a_group_without_variance_is_no_singular_matrix():
    """P31: singular matrix where a group has no variance."""
    _, _, found = at_zero("system:rater", ("item", "rater", "system:rater"))
    assert found.components["system:rater"] == 0.0
    assert found.at_boundary == ["system:rater"]
    equal = np.repeat(np.random.default_rng(1).normal(size=(8, 3, 1)), 4, axis=2)  # raters who agree in everything
    equal = equal + 0.3 * np.random.default_rng(2).normal(size=equal.shape)
    equal -= equal.mean(axis=(0, 1), keepdims=True)
    equal[0, 0, 0] = np.nan
    panel = panels(table_of(equal))[0]
    assert random_fit(panel, effects(panel)).components["rater"] == 0.0


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_component_at_0_says_so_with_the_unbiased_value_beside_it(missing):
    """P32: singular fits are misread, or a variance of 0 goes unannounced."""
    seen = 0
    for seed in range(6):
        result = components(table_of(quiet_raters(seed, missing=missing)), draws=1000)
        for row in result.select("components", "variance", {"estimator": "reml"}):
            if row.estimate > 0:
                assert "boundary" not in row.note
                continue
            seen += 1
            unbiased = {"estimator": "henderson" if missing else "anova", "component": row.keys["component"]}
            free = result.value("components", "variance", unbiased)
            assert f"estimated at 0 (boundary); the unbiased estimate is {free:.4g}" in row.note
    assert seen >= 5


def test_the_tests_of_the_systems_name_the_components_at_0():
    """P32: the F of a model with a component on the boundary says which."""
    for seed in range(10):
        table = table_of(quiet_raters(seed))
        panel = panels(table)[0]
        for row in system_test(table).select("system_test", "f", {"error_term": "mixed_model"}):
            zero = system_fit(panel, effects(panel), row.keys["model"])[0].at_boundary
            assert ("(boundary)" in row.note) == bool(zero)
            if zero:
                assert f"estimated at 0 (boundary): {', '.join(zero)}" in row.note
                return
    raise AssertionError("no component was at 0")


def test_all_models_of_a_panel_see_the_same_rows(monkeypatch):
    """P33: models were compared on different rows."""
    seen = []
    original = Model.__init__

    def watched(self, rating, block, fixed, terms):
        seen.append((rating.copy(), block.copy(), len(fixed)))
        original(self, rating, block, fixed, terms)

    monkeypatch.setattr(Model, "__init__", watched)
    table = table_of(quiet_raters(3))
    system_test(table)
    components(table, draws=1000)
    assert len(seen) >= len(MODELS) + 1
    for rating, block, n in seen:
        assert n == len(table)
        np.testing.assert_array_equal(rating, seen[0][0])
        np.testing.assert_array_equal(block, seen[0][1])
    for row in system_test(table).select("system_test", "f", {"error_term": "mixed_model"}):
        assert (row.n_items, row.n_raters) == (10, 4)


def test_degrees_of_freedom_stay_finite_above_3000_ratings():
    """P34: above a limit of rows the degrees of freedom became infinite, with a note."""
    panel = panels(incomplete(sizes=(300, 4, 4), missing=0.1))[0]
    assert len(panel.rating) > 4000
    found = pair_contrasts(panel)
    assert not isinstance(found, str)
    assert np.isfinite(found.df).all()
    assert found.df.max() < 30  # four raters bound what is known, however many ratings there are
    for name in MODELS:
        df = system_fit(panel, effects(panel), name)[1].df2
        assert np.isfinite(df)
        assert 2 < df < len(panel.rating)


def test_degrees_of_freedom_are_those_of_the_raters_and_not_of_the_ratings():
    """P35: 174 degrees of freedom in place of 17."""
    rows = system_test(two_emojis_panel().ratings).select("system_test", "f", {"error_term": "mixed_model"})
    df = {row.keys["model"]: row.df2 for row in rows}
    assert df["judgement"] == pytest.approx(6661, abs=0.5)
    assert df["judgement+system:rater"] == pytest.approx(14, abs=0.01)
    assert df["full"] == pytest.approx(14.38, abs=0.01)


def test_a_negative_component_keeps_its_sign_and_goes_on_as_0():
    """P36: runs with a negative variance were dropped."""
    ratings = two_emojis_panel().ratings
    result = components(ratings, draws=1000)
    (row,) = result.select("components", "variance", {"estimator": "anova", "component": "system"})
    assert row.estimate == pytest.approx(-0.00996736, abs=1e-7)
    assert row.note.startswith("negative: the unbiased estimate is kept")
    assert result.value("components", "share", {"estimator": "anova", "component": "system"}) == 0.0
    g = generalizability(ratings, draws=1000).select("generalizability", "g", {"estimator": "anova", "at_raters": 3})
    assert all(one.estimate == 0.0 and one.note == "negative components count as 0: system" for one in g)
    study = decision(ratings, draws=1000)
    assert study.value("decision", "raters_needed", {"estimator": "anova", "target": 0.8}) == np.inf


def test_a_negative_component_of_an_incomplete_panel_keeps_its_sign():
    """P36: as on complete panels, and far from the estimate that cannot be negative it says how far."""
    for seed in range(10):
        result = components(table_of(quiet_raters(seed)), draws=1000)
        for row in result.select("components", "variance", {"estimator": "henderson"}):
            if row.estimate < 0:
                assert row.note.startswith("negative: the unbiased estimate is kept")
                keys = {"estimator": "henderson", "component": row.keys["component"]}
                assert result.value("components", "share", keys) == 0.0
                apart = result.value("components", "difference_from_reml", keys)
                reml_value = result.value("components", "variance", keys | {"estimator": "reml"})
                assert apart == pytest.approx(row.estimate - reml_value, abs=1e-12)
                return
    raise AssertionError("no component was negative")
