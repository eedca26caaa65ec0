import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.planning.designs import (
    LAYOUTS,
    Bounds,
    Costs,
    Design,
    affordable,
    checked,
    choices,
    finding_difference,
    reaching,
)
from measurand.result import MeasurandError
from measurand.stats.layouts import error_df
from measurand.stats.power import detectable

BOUNDS = Bounds(9, 60)
#: A rater rates four systems on an item, so that 31 judgements are seven items.
CAPPED = Bounds(9, 60, per_rater=31, n_systems=4)
both_bounds = st.sampled_from([BOUNDS, CAPPED])
variances = st.floats(0.01, 1)
errors_of = st.fixed_dictionaries({"rater": variances, "item": variances, "cell": variances})
costs_of = st.builds(
    Costs, st.sampled_from([0.0, 3.0, 50.0]), st.sampled_from([0.0, 1.0]), st.sampled_from([0.1, 1.0]), st.just(4)
)


def every_within(brute, layout, bounds):
    """Return every design within bounds, those left out in which a rater has too much to do."""
    most = np.inf if bounds.per_rater is None else bounds.per_rater
    return [
        (raters, items, k)
        for raters, items, k in brute.every(layout, bounds.raters, bounds.items)
        if items * k // raters * 4 <= most
    ]


def arrays(errors):
    return {name: np.array(value) for name, value in errors.items()}


@given(errors_of, variances, costs_of, st.sampled_from(LAYOUTS), st.sampled_from([0.5, 0.8]), both_bounds)
def test_no_design_that_reaches_the_target_is_cheaper(brute, errors, system, costs, layout, target, bounds):
    found = reaching(choices(layout, bounds), np.array(system), arrays(errors), target=target, costs=costs)
    room = system * (1 - target) / target
    enough = [
        design for design in every_within(brute, layout, bounds) if brute.error(errors, *design) <= room * (1 + 1e-11)
    ]
    if found is None:
        assert not enough
        return
    cheapest = min(float(costs.of(*design)) for design in enough)
    assert float(costs.of(found.n_raters, found.n_items, found.per_item)) == pytest.approx(cheapest)
    assert (found.n_raters, found.n_items, found.per_item) in enough
    assert found.items_per_rater * found.n_raters == found.n_items * found.per_item


@given(errors_of, costs_of, st.sampled_from(LAYOUTS), st.floats(20, 500), both_bounds)
def test_nothing_of_a_layout_that_costs_no_more_has_less_error(brute, errors, costs, layout, budget, bounds):
    found = affordable(choices(layout, bounds), arrays(errors), budget=budget, costs=costs)
    within = [
        design for design in every_within(brute, layout, bounds) if float(costs.of(*design)) <= budget * (1 + 1e-12)
    ]
    if found is None:
        assert not within
        return
    best = min(brute.error(errors, *design) for design in within)
    assert brute.error(errors, found.n_raters, found.n_items, found.per_item) == pytest.approx(best)


@given(errors_of, costs_of, st.sampled_from(LAYOUTS), st.sampled_from([0.5, 1.0, 2.0]), both_bounds)
def test_no_design_that_finds_the_difference_is_cheaper(brute, errors, costs, layout, difference, bounds):
    asked = {"difference": difference, "power": 0.8, "alpha": 0.05, "costs": costs}
    found = finding_difference(choices(layout, bounds), arrays(errors), **asked)
    enough = []
    for raters, items, k in every_within(brute, layout, bounds):
        df = error_df(arrays(errors), n_systems=4, n_items=items, n_raters=raters, per_item=k)
        least = float(detectable(df, power=0.8, alpha=0.05)) * np.sqrt(2 * brute.error(errors, raters, items, k))
        if least <= difference * (1 + 1e-11):
            enough.append((raters, items, k))
    if found is None:
        assert not enough
        return
    cheapest = min(float(costs.of(*design)) for design in enough)
    assert float(costs.of(found.n_raters, found.n_items, found.per_item)) == pytest.approx(cheapest)


def test_a_rater_in_a_rotating_layout_never_rates_an_item_twice_and_everybody_rates_as_much():
    for layout in LAYOUTS:
        here = choices(layout, Bounds(30, 100))
        each = here.step * here.per_item / here.n_raters
        assert (each == each.astype(int)).all()
        assert (here.per_item <= here.n_raters).all()
        assert (here.n_raters >= 2).all()


def test_one_item_is_one_item():
    assert str(Design("nested", 5, 5, 1)) == "nested, 5 raters with 1 item of their own each"
    assert str(Design("nested", 5, 10, 1)) == "nested, 5 raters with 2 items of their own each"


@pytest.mark.parametrize(
    ("costs", "layouts", "bounds", "said"),
    [
        (Costs(-1, 1, 1, 2), LAYOUTS, BOUNDS, "the cost of a rater is -1"),
        (Costs(0, np.nan, 1, 2), LAYOUTS, BOUNDS, "the cost of an item is nan"),
        (Costs(5, 0, 1, 4), LAYOUTS, Bounds(9, 60, 3, 4), "at most 3 judgements of a rater, and an item takes 4"),
        (Costs(5, 0, 0, 2), LAYOUTS, BOUNDS, "items and judgements cost nothing"),
        (Costs(0, 1, 1, 2), [], BOUNDS, "no layout to plan"),
        (Costs(0, 1, 1, 2), ["square"], BOUNDS, "layout 'square'; allowed are crossed, rotating, nested"),
        (Costs(0, 1, 1, 2), LAYOUTS, Bounds(1, 60), "at most 1 raters; a panel needs 2"),
        (Costs(0, 1, 1, 2), LAYOUTS, Bounds(9, 1), "at most 1 items; a panel needs 2"),
        (Costs(0, 1, 1, 2), LAYOUTS, Bounds(5000, 60), "up to 1,000"),
    ],
)
def test_what_cannot_be_planned_is_refused(costs, layouts, bounds, said):
    with pytest.raises(MeasurandError, match=said):
        checked(costs, layouts, bounds)
