import numpy as np
import pytest

from measurand.planning.draws import BATCHES, Draws, even_pivots
from measurand.stats.inference import stream
from measurand.stats.variance import Anova, component_matrix, pivots

TABLE = Anova(
    ("item", "system", "rater"),
    (40, 5, 3),
    {
        "item": 140.0, "system": 300.0, "rater": 55.0, "item:system": 120.0, "item:rater": 80.0, "system:rater": 90.0,
        "residual": 220.0,
    },
    {"item": 39, "system": 4, "rater": 2, "item:system": 156, "item:rater": 78, "system:rater": 8, "residual": 312},
)  # fmt: skip


def reached(drawn):
    """Whether a panel of fifty raters would reach .8."""
    return np.asarray(drawn["system"] / 4 >= np.maximum(drawn["system:rater"], 0) / 50)


def test_even_draws_have_the_distribution_of_random_ones():
    even = even_pivots(TABLE, n_draws=20_000, seed=1, criterion="")
    random = pivots(TABLE, n_draws=200_000, rng=stream(1, "random"))
    for source in TABLE.sources:
        points = [0.025, 0.25, 0.5, 0.75, 0.975]
        # In the units of probability: the random draws' own error is .0011 in the middle.
        shares = [float((random[source] <= end).mean()) for end in np.quantile(even[source], points)]
        assert shares == pytest.approx(points, abs=0.005)


def test_mean_squares_of_different_sources_are_independent():
    even = even_pivots(TABLE, n_draws=16_384, seed=2, criterion="")
    drawn = np.column_stack([even[source] for source in TABLE.sources])
    squares = np.linalg.solve(component_matrix(TABLE), drawn.T)
    ranks = np.argsort(np.argsort(squares, axis=1), axis=1)
    off = np.corrcoef(ranks) - np.eye(len(ranks))
    assert np.abs(off).max() < 0.02


def test_seeds_agree_within_their_stated_error_which_is_far_below_that_of_random_draws():
    found = []
    for seed in range(6):
        even = even_pivots(TABLE, n_draws=16_384, seed=seed, criterion="")
        found.append(Draws(even["system"], {}, BATCHES).share(reached(even)))
    values = np.array([one.value for one in found])
    stated = np.sqrt(np.mean([one.error**2 for one in found]))
    assert np.ptp(values) < 5 * stated
    assert stated < 0.5 * np.sqrt(values.mean() * (1 - values.mean()) / 16_384)


def test_at_least_as_many_draws_are_made_as_were_asked():
    for asked in (100, 4096, 5000):
        n = len(even_pivots(TABLE, n_draws=asked, seed=0, criterion="")["system"])
        assert asked <= n <= max(2 * asked, 2 * BATCHES)
        assert n % BATCHES == 0


def test_the_error_of_a_share_is_that_of_its_batches_or_of_single_draws():
    rng = stream(3, "draws")
    hits = rng.random(1600) < 0.9
    system = np.zeros(1600)
    p = hits.mean()
    assert Draws(system, {}).share(hits).error == pytest.approx(np.sqrt(p * (1 - p) / 1600))
    batches = hits.reshape(16, 100).mean(axis=1)
    assert Draws(system, {}, 16).share(hits).error == pytest.approx(batches.std(ddof=1) / 4)
    share = Draws(system, {}).share(np.ones(1600, dtype=bool))
    assert (share.low, share.high) == (1.0, 1.0)


def test_the_same_seed_gives_the_same_draws_and_criteria_their_own():
    first, again, other = (
        even_pivots(TABLE, n_draws=200, seed=5, criterion=name)["system"] for name in ("a", "a", "b")
    )
    assert (first == again).all()
    assert not (first == other).any()
