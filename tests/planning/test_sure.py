import itertools

import numpy as np
import pytest

from measurand.planning.designs import LAYOUTS, Bounds, Costs, choices
from measurand.planning.draws import Draws
from measurand.planning.sure import over_draws
from measurand.stats.inference import stream

BOUNDS = Bounds(9, 60)
CAPPED = Bounds(9, 60, per_rater=80, n_systems=4)


def drawn(seed, n, *, raters=0.1, batches=1):
    rng = stream(seed, "draws")
    sizes = (("rater", raters), ("item", 0.1), ("cell", 0.5))
    errors = {name: rng.chisquare(9, n) / 9 * size for name, size in sizes}
    return Draws(rng.chisquare(9, n) / 9 * 0.6, errors, batches)


def cheapest_of(brute, draws, layout, *, target, missing, costs, bounds=BOUNDS):
    """The least cost at which no more than so many draws miss, over every design, one by one."""
    best = np.inf
    for design in brute.every(layout, bounds.raters, bounds.items):
        if design[1] * design[2] // design[0] > bounds.items_per_rater:
            continue
        error = brute.error(draws.errors, *design)
        if np.count_nonzero(draws.system / (draws.system + error) < target * (1 - 1e-12)) <= missing:
            best = min(best, float(costs.of(*design)))
    return best


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("costs", [Costs(20, 1, 0.5, 4), Costs(0, 0, 1, 4), Costs(100, 1, 0.1, 5)])
@pytest.mark.parametrize(("seed", "target"), [(4, 0.7), (5, 0.75), (6, 0.6)])
@pytest.mark.parametrize("bounds", [BOUNDS, CAPPED])
def test_no_design_that_is_sure_beyond_the_error_of_the_draws_is_cheaper(brute, layout, costs, seed, target, bounds):
    draws = drawn(seed, 900)
    found = over_draws(choices(layout, bounds), draws, target=target, confidence=0.8, costs=costs, searched=64)
    asked = {"target": target, "costs": costs, "bounds": bounds}
    plain = cheapest_of(brute, draws, layout, missing=89, **asked)
    assert found.least <= plain <= found.most
    if found.sure is None:
        assert np.isinf(plain)
        return
    design = (found.sure.n_raters, found.sure.n_items, found.sure.per_item)
    share = draws.share(draws.system * (1 - target) / target >= brute.error(draws.errors, *design))
    if np.isinf(found.most):
        assert costs.of_design(found.sure) == pytest.approx(plain)
        return
    assert share.low >= 0.9
    missed = round(900 * (1 - share.value))
    # One draw more may miss only if the design then falls within the error: nothing that misses as few is cheaper.
    assert costs.of_design(found.sure) == pytest.approx(cheapest_of(brute, draws, layout, missing=missed, **asked))


def test_the_cheapest_cost_of_each_draw_is_that_of_every_design_tried(brute):
    draws, costs = drawn(4, 300), Costs(20, 1, 0.5, 4)
    for layout, bounds in itertools.product(LAYOUTS, (BOUNDS, CAPPED)):
        found = over_draws(choices(layout, bounds), draws, target=0.7, confidence=0.9, costs=costs, searched=20)
        assert len(found.cost) == 20
        one = Draws(draws.system[17:18], {name: values[17:18] for name, values in draws.errors.items()})
        assert found.cost[17] == pytest.approx(
            cheapest_of(brute, one, layout, target=0.7, missing=0, costs=costs, bounds=bounds)
        )


def test_a_search_that_starts_from_few_draws_misses_nothing():
    """Six draws say that no design is sure, or name the wrong one; all draws decide."""
    costs = Costs(20, 1, 0.5, 4)
    for seed in range(8):
        draws = drawn(seed, 2_000, raters=0.3)
        asked = {"target": 0.65, "confidence": 0.9, "costs": costs}
        few, many = (over_draws(choices("rotating", BOUNDS), draws, **asked, searched=n) for n in (6, 2_000))
        assert few.sure == many.sure
        assert (few.least, few.most, few.best) == (many.least, many.most, many.best)


def test_what_no_design_reaches_names_the_most_probable(brute):
    draws = drawn(3, 800, raters=0.9)
    for layout in LAYOUTS:
        found = over_draws(
            choices(layout, BOUNDS),
            draws,
            target=0.8,
            confidence=0.95,
            costs=Costs(1, 1, 1, 4),
            searched=64,
        )
        assert found.sure is None
        assert found.most == np.inf
        best = max(
            np.mean(draws.system * 0.25 >= brute.error(draws.errors, *design))
            for design in brute.every(layout, BOUNDS.raters, BOUNDS.items)
        )
        assert found.best.value == pytest.approx(best)
        assert found.best.value < 0.975


def test_a_layout_with_no_design_within_bounds_has_none():
    bounds = Bounds(2, 10)
    found = over_draws(
        choices("rotating", bounds),
        drawn(1, 200),
        target=0.5,
        confidence=0.9,
        costs=Costs(1, 1, 1, 3),
        searched=64,
    )
    assert found.sure is None
    assert found.best.value == 0
    assert np.isinf(found.cost).all()
