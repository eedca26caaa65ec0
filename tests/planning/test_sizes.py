import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.planning.draws import Draws
from measurand.planning.sizes import Limits, Space, affordable, over_draws, reaching
from measurand.result import MeasurandError
from measurand.stats.facets import Formula, project
from measurand.stats.inference import stream

often = settings(derandomize=True, deadline=None, max_examples=30)
NESTED = Formula.parse("system x item x (rater:group)")
CROSSED = Formula.parse("system x item x rater x phrasing")
N_SYSTEMS = 4
LIMITS = {
    "nested": Limits({"item": 2, "rater": 1, "group": 1}, {"item": 14, "rater": 5, "group": 4}),
    "crossed": Limits({"item": 2, "rater": 2, "phrasing": 1}, {"item": 9, "rater": 6, "phrasing": 3}),
}
CAPPED = Limits(LIMITS["nested"].least, LIMITS["nested"].most, per_rater=30)
PRICES = [
    {"judgement": 1.0},
    {"rater": 20.0, "group": 50.0, "item": 1.0, "judgement": 0.1},
    {"item": 3.0, "rater": 7.0},
]


def space_of(design, limits, prices, fixed=None):
    kept = {name: price for name, price in prices.items() if name in (*design.facets, "judgement")}
    return Space(
        design,
        object_of_measurement="system",
        n_objects=N_SYSTEMS,
        fixed=fixed or {},
        limits=limits,
        prices=kept,
    )


def every(design, limits, prices, fixed=None):
    """Return sizes, cost and weights of every study within limits, counted out one by one."""
    free = list(limits.most)
    out = []
    for sizes in itertools.product(*(range(limits.least[f], limits.most[f] + 1) for f in free)):
        here = dict(zip(free, sizes, strict=True)) | (fixed or {})
        levels = {f: math.prod(here[one] for one in {f, *design.within[f]}) for f in here}
        n = N_SYSTEMS * math.prod(here.values())
        if limits.per_rater is not None and n / levels["rater"] > limits.per_rater:
            continue
        cost = sum(prices.get(f, 0.0) * levels[f] for f in here) + prices.get("judgement", 0.0) * n
        weights = project(design, here, object_of_measurement="system", fixed=tuple(fixed or ())).relative
        out.append((here, cost, n, weights))
    return out


def parts_of(design, fixed, seed, n=1):
    rng = stream(seed, "parts")
    names = project(design, dict.fromkeys(design.facets, 2.0), object_of_measurement="system", fixed=fixed).relative
    parts = {name: rng.chisquare(6, n) / 6 * 0.3 * rng.random() for name in names}
    return rng.chisquare(6, n) / 6 * 0.4, parts


def error_of(weights, parts):
    return sum(weight * parts[name] for name, weight in weights.items())


DESIGNS = [(NESTED, LIMITS["nested"], None), (NESTED, CAPPED, None), (CROSSED, LIMITS["crossed"], None),
           (CROSSED, Limits({"item": 2, "rater": 2}, {"item": 9, "rater": 6}), {"phrasing": 3})]  # fmt: skip


@often
@given(st.sampled_from(DESIGNS), st.sampled_from(PRICES), st.integers(0, 99), st.sampled_from([0.5, 0.7, 0.9]))
def test_no_sizes_that_reach_the_target_are_cheaper(chosen, prices, seed, target):
    design, limits, fixed = chosen
    system, parts = parts_of(design, tuple(fixed or ()), seed)
    found = reaching(space_of(design, limits, prices, fixed), system, parts, target=target)
    room = system[0] * (1 - target) / target
    enough = [one for one in every(design, limits, prices, fixed) if error_of(one[3], parts)[0] <= room * (1 + 1e-11)]
    if found is None:
        assert not enough
        return
    assert found.cost == pytest.approx(min(one[1] for one in enough))
    (mine,) = [one for one in enough if one[0] == dict(found.sizes)]
    assert (mine[1], mine[2]) == pytest.approx((found.cost, found.n_judgements))


@often
@given(st.sampled_from(DESIGNS), st.sampled_from(PRICES), st.integers(0, 99), st.floats(30, 400))
def test_no_sizes_that_cost_no_more_have_less_error(chosen, prices, seed, budget):
    design, limits, fixed = chosen
    _, parts = parts_of(design, tuple(fixed or ()), seed)
    found = affordable(space_of(design, limits, prices, fixed), parts, budget=budget)
    able = [one for one in every(design, limits, prices, fixed) if one[1] <= budget * (1 + 1e-12)]
    if found is None:
        assert not able
        return
    (mine,) = [one for one in able if one[0] == dict(found.sizes)]
    assert error_of(mine[3], parts)[0] == pytest.approx(min(error_of(one[3], parts)[0] for one in able))


@pytest.mark.parametrize("chosen", range(len(DESIGNS)))
@pytest.mark.parametrize("prices", PRICES)
@pytest.mark.parametrize(("seed", "target"), [(1, 0.6), (2, 0.4), (3, 0.7)])
def test_no_sizes_that_are_sure_are_cheaper(chosen, prices, seed, target):
    design, limits, fixed = DESIGNS[chosen]
    system, parts = parts_of(design, tuple(fixed or ()), seed, n=700)
    draws = Draws(system, parts)
    found = over_draws(space_of(design, limits, prices, fixed), draws, target=target, confidence=0.8)
    room = system * (1 - target) / target
    missed = [
        (one, np.count_nonzero(error_of(one[3], parts) > room * (1 + 1e-12)))
        for one in every(design, limits, prices, fixed)
    ]
    assert found.best.value == pytest.approx(1 - min(n for _, n in missed) / 700)
    error = 2 * math.sqrt(0.1 * 0.9 / 700)
    costs = []
    for tail in (0.1 + error, 0.1, 0.1 - error):
        able = [one[1] for one, n in missed if n <= math.floor(699 * tail)]
        costs.append(min(able, default=math.inf))
    assert (found.least, found.most) == pytest.approx((costs[0], costs[2]))
    assert (found.sure is None) == math.isinf(costs[1])
    if found.sure is not None:
        assert found.sure.cost == pytest.approx(costs[2] if math.isfinite(costs[2]) else costs[1])


def test_each_draw_has_a_cheapest_of_its_own():
    for design, limits, fixed in DESIGNS:
        system, parts = parts_of(design, tuple(fixed or ()), 5, n=40)
        found = over_draws(space_of(design, limits, PRICES[1], fixed), Draws(system, parts), target=0.6, confidence=0.9)
        assert len(found.cost) == 40
        prices = {name: price for name, price in PRICES[1].items() if name in (*design.facets, "judgement")}
        for at in range(0, 40, 7):
            room = system[at] * 0.4 / 0.6
            able = [
                one[1]
                for one in every(design, limits, prices, fixed)
                if error_of(one[3], {name: values[at] for name, values in parts.items()}) <= room * (1 + 1e-11)
            ]
            assert found.cost[at] == pytest.approx(min(able, default=math.inf))


def test_too_many_combinations_are_refused_with_what_to_bound():
    limits = Limits(dict.fromkeys(("item", "rater", "group"), 1), {"item": 9_000, "rater": 2_000, "group": 300})
    with pytest.raises(MeasurandError, match=r"600,000 combinations of sizes .* bound them more closely, rater first"):
        space_of(NESTED, limits, PRICES[0])
