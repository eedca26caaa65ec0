import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from measurand.auditing.mixed import EFFECTS, effects, random_fit, terms, unbiased
from measurand.data import panels
from measurand.stats import effective, variance
from measurand.stats.inference import stream

FACETS = ("item", "system", "rater")
often = settings(derandomize=True, deadline=None, max_examples=30)


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(1, user_api="blas"):
        yield


def cube_of(shape, seed, *, missing=0.0, system=0.5, error=0.7):
    rng = np.random.default_rng(seed)
    cube = error * rng.normal(size=shape) + 0.8 * rng.normal(size=(shape[0], 1, 1))
    cube = cube + system * rng.normal(size=(1, shape[1], 1)) + 0.6 * rng.normal(size=(1, 1, shape[2]))
    cube = cube + 0.5 * rng.normal(size=(shape[0], shape[1], 1)) + 0.5 * rng.normal(size=(shape[0], 1, shape[2]))
    cube = cube + 0.4 * rng.normal(size=(1, *shape[1:]))
    holes = rng.random(shape) < missing
    holes[:2, :2, :2] = False
    return np.where(holes, np.nan, cube)


def panel_of(cube):
    item, system, rater = np.nonzero(~np.isnan(cube))
    frame = pd.DataFrame({"item": [f"i{k}" for k in item], "rater": [f"R{k}" for k in rater]})
    if cube.shape[1] > 1:
        frame["system"] = [f"S{k}" for k in system]
    return panels(frame.assign(rating=cube[item, system, rater]))[0]


def terms_of(panel):
    return terms(panel, effects(panel), EFFECTS)


def drawn(panel, *, n_draws=20_000, seed=1):
    found = effects(panel)
    truth = random_fit(panel, found).components
    rng = stream(seed, "pivots")
    return effective.pivots(terms_of(panel), unbiased(panel, found), truth, n_draws=n_draws, rng=rng)


@often
@given(st.tuples(st.integers(2, 6), st.integers(2, 4), st.integers(2, 4)))
def test_effective_mean_squares_of_complete_panels_are_mean_squares(shape):
    panel = panel_of(cube_of(shape, 1))
    right = variance.expectation_matrix(variance.anova(panel.cube(), FACETS))
    np.testing.assert_allclose(effective.expectation_matrix(terms_of(panel)), right, rtol=1e-12)


def test_an_effect_counts_by_the_harmonic_mean_of_its_levels():
    cube = cube_of((4, 1, 3), 2)
    cube[0, 0, 2] = cube[1, 0, 2] = cube[1, 0, 1] = np.nan
    panel = panel_of(cube)
    # Items have 2, 1, 3, 3 ratings, raters 4, 3, 2.
    items, raters = 4 / (1 / 2 + 1 + 1 / 3 + 1 / 3), 3 / (1 / 4 + 1 / 3 + 1 / 2)
    right = [[items, 0, 1], [0, raters, 1], [0, 0, 1]]
    np.testing.assert_allclose(effective.expectation_matrix(terms_of(panel)), right, rtol=1e-12)


@pytest.mark.parametrize("shape", [(12, 4, 4), (20, 1, 5)])
def test_pivots_of_complete_panels_are_the_ordinary_ones(shape):
    """Degrees of freedom are learnt from 1,000 panels, to about 5 %, which is what the tolerance is for."""
    panel = panel_of(cube_of(shape, 3))
    table = variance.anova(panel.cube(), FACETS)
    exact = variance.pivots(table, n_draws=100_000, rng=stream(1, "exact"))
    approximate = drawn(panel, n_draws=100_000)
    assert set(exact) == set(approximate)
    for name, ours in approximate.items():
        quantiles = np.quantile(exact[name], [0.05, 0.25, 0.5, 0.75, 0.95])
        spread = quantiles[3] - quantiles[1]
        got = np.quantile(ours, [0.25, 0.5, 0.75])
        np.testing.assert_allclose(got, quantiles[1:4], atol=0.15 * spread, err_msg=name)
        assert np.quantile(ours, 0.05) == pytest.approx(quantiles[0], abs=0.2 * (quantiles[2] - quantiles[0])), name
        assert np.quantile(ours, 0.95) == pytest.approx(quantiles[4], rel=0.2), name


def test_the_centre_of_the_pivots_is_the_unbiased_estimate():
    panel = panel_of(cube_of((25, 4, 8), 4, missing=0.2))
    free = unbiased(panel, effects(panel))
    for name, values in drawn(panel).items():
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        assert low < free[name] < high, name
        assert middle == pytest.approx(free[name], abs=0.5 * (high - low)), name


def test_more_missing_ratings_make_wider_pivots():
    cube = cube_of((20, 3, 6), 5)
    thin = np.where(np.random.default_rng(1).random(cube.shape) < 0.6, np.nan, cube)
    widths = [float(np.ptp(np.quantile(drawn(panel_of(c))["residual"], [0.05, 0.95]))) for c in (cube, thin)]
    assert widths[1] > 1.3 * widths[0]


def test_draws_follow_the_stream_and_nothing_else():
    panel = panel_of(cube_of((8, 3, 3), 6, missing=0.2))
    first, again, other = (drawn(panel, n_draws=500, seed=seed) for seed in (1, 1, 2))
    for name, values in first.items():
        np.testing.assert_array_equal(values, again[name])
        assert not np.array_equal(values, other[name])


@pytest.mark.parametrize("factor", [1e-6, 1e3])
def test_pivots_scale_with_the_square_of_the_unit(factor):
    cube = cube_of((8, 3, 4), 7, missing=0.2)
    one, scaled = drawn(panel_of(cube), n_draws=200), drawn(panel_of(cube * factor), n_draws=200)
    for name, values in one.items():
        size = np.abs(values).max()
        np.testing.assert_allclose(scaled[name] / factor**2, values, rtol=1e-3, atol=1e-4 * size)


def test_pivots_stay_numbers_where_components_are_negative_or_a_facet_has_two_levels():
    made = 0
    for shape, seed in itertools.product(((6, 2, 2), (2, 2, 6), (8, 2, 3)), range(6)):
        panel = panel_of(cube_of(shape, seed, missing=0.15, system=0.0))
        try:
            got = drawn(panel, n_draws=500, seed=seed)
        except ValueError as error:
            assert "0 or negative" in str(error)  # noqa: PT017 - some of these layouts have no pivots
            continue
        made += 1
        assert all(np.isfinite(values).all() for values in got.values())
    assert made >= 6


def test_unbiased_components_that_contradict_each_other_are_refused():
    """A negative component so large that a mean square would not be positive."""
    panel = panel_of(cube_of((8, 3, 4), 1, missing=0.2))
    truth = random_fit(panel, effects(panel)).components
    free = unbiased(panel, effects(panel)) | {"rater": -5.0}
    with pytest.raises(ValueError, match="mean square 0 or negative"):
        effective.pivots(terms_of(panel), free, truth, n_draws=10, rng=stream(1, "x"))


def test_coverage_of_the_residual_and_of_rater_severity_on_incomplete_panels():
    """95 % intervals hold the truth in 90 % of 100 panels or more: 2.3 standard errors below the level."""
    truth = {"rater": 0.36, "residual": 0.49}
    hits, made = dict.fromkeys(truth, 0), 0
    for seed in range(100):
        try:
            values = drawn(panel_of(cube_of((12, 3, 5), seed, missing=0.2)), n_draws=1000, seed=seed)
        except ValueError:
            continue
        made += 1
        for name, value in truth.items():
            low, high = np.quantile(values[name], [0.025, 0.975])
            hits[name] += low <= value <= high
    assert made >= 90
    assert min(hits.values()) >= 0.9 * made
