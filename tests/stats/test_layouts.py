import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.stats.layouts import (
    balanced_numbers,
    channels,
    effective_numbers,
    error_df,
    error_variance,
    items_needed,
)
from measurand.stats.reliability import absolute_error, coefficient, layout_error, relative_error
from measurand.stats.reliability import items_needed as items_needed_crossed

#: The second paper's components, by its published tests, and the variance of its system means.
PAPER = {"system:rater": 0.0676331, "item:system": 0.0905333, "residual": 0.6364}
SYSTEM = 0.0119181
ALL = PAPER | {"rater": 0.5681, "item": 0.1425, "item:rater": 0.4471}
sizes = st.integers(1, 60)


def arrays(parts):
    return {name: np.array(value) for name, value in parts.items()}


def g(n_items, n_raters, per_item):
    errors = channels(arrays(PAPER), absolute=False)
    return float(coefficient(np.array(SYSTEM), error_variance(errors, balanced_numbers(n_items, n_raters, per_item))))


@pytest.mark.parametrize(
    ("n_items", "n_raters", "per_item", "published"),
    [
        (290, 3, 3, 0.336), (145, 6, 6, 0.486), (87, 10, 10, 0.583), (58, 15, 15, 0.637), (29, 30, 30, 0.661),
        (15, 58, 58, 0.601), (290, 10, 3, 0.604), (290, 20, 3, 0.729), (290, 27, 3, 0.771), (290, 35, 3, 0.800),
        (290, 50, 3, 0.833), (290, 100, 3, 0.874), (290, 870, 3, 0.914), (290, 27, 27, 0.804),
    ],
)  # fmt: skip
def test_the_same_judgements_are_worth_more_from_more_raters(n_items, n_raters, per_item, published):
    # The components have four digits, so that the third place may differ by one.
    assert g(n_items, n_raters, per_item) == pytest.approx(published, abs=7e-4)


@pytest.mark.parametrize(("layout", "digits"), [((290, 3, 3), 0.336), ((29, 30, 30), 0.661), ((290, 35, 3), 0.8)])
def test_the_same_budget_table_holds_to_its_digits(layout, digits):
    assert round(g(*layout), 3) == digits
    assert round(g(290, 870, 3), 3) == 0.914


@given(sizes, sizes)
def test_crossed_raters_have_the_error_of_the_usual_formula(n_items, n_raters):
    numbers = balanced_numbers(n_items, n_raters, n_raters)
    for absolute, formula in ((False, relative_error), (True, absolute_error)):
        error = error_variance(channels(arrays(ALL), absolute=absolute), numbers)
        assert float(error) == pytest.approx(float(formula(arrays(ALL), n_items, n_raters)))


@given(sizes, st.integers(2, 12), st.data())
def test_numbers_of_a_layout_are_those_of_its_cells(n_items, n_raters, data):
    per_item = data.draw(st.integers(1, n_raters))
    cells = np.arange(n_items * per_item)
    item, rater = cells // per_item, cells % n_raters  # loads differ by one at most
    found, closed = effective_numbers(item, rater), balanced_numbers(n_items, n_raters, per_item)
    loads = np.bincount(rater, minlength=n_raters)
    if loads.min() == 0:
        return
    for name in closed:
        assert float(found[name]) == pytest.approx(float(closed[name])), name


def test_a_layout_in_which_all_systems_share_cells_has_the_weights_of_the_ratings_themselves():
    rng = np.random.default_rng(3)
    taken = rng.random((20, 6)) < 0.4
    taken[:, 0] = taken[0] = True
    item, rater = np.nonzero(taken)
    system = np.repeat(np.arange(4), len(item))
    weights = layout_error(np.tile(item, 4), system, np.tile(rater, 4))
    numbers = effective_numbers(item, rater)
    for absolute in (False, True):
        error = error_variance(channels(arrays(ALL), absolute=absolute), numbers)
        assert float(error) == pytest.approx(float(weights.variance(arrays(ALL), absolute=absolute)))


def test_raters_of_two_groups_do_not_average_out_what_the_groups_disagree_on():
    item, rater = (index.ravel() for index in np.indices((10, 6)))
    group = rater // 3
    numbers = effective_numbers(item, rater, group)
    assert {name: float(value) for name, value in numbers.items()} == {
        "rater": 6, "item": 10, "cell": 60, "group": 2, "item:group": 20,
    }  # fmt: skip
    parts = arrays(PAPER | {"system:group": 0.5, "item:system:group": 0.2})
    error = error_variance(channels(parts, absolute=False), numbers)
    alone = error_variance(channels(arrays(PAPER), absolute=False), numbers)
    assert float(error) == pytest.approx(float(alone) + 0.5 / 2 + 0.2 / 20)


def test_the_error_of_a_layout_is_the_variance_of_simulated_differences():
    rng = np.random.default_rng(11)
    n_items, n_raters, per_item = 12, 6, 2
    cells = np.arange(n_items * per_item)
    item, rater = cells // per_item, cells % n_raters
    means = []
    for _ in range(4000):
        rated = (
            rng.normal(0, np.sqrt(PAPER["system:rater"]), (2, n_raters))[:, rater]
            + rng.normal(0, np.sqrt(PAPER["item:system"]), (2, n_items))[:, item]
            + rng.normal(0, np.sqrt(PAPER["residual"]), (2, len(cells)))
        )
        means.append(rated.mean(axis=1))
    differences = np.diff(np.array(means), axis=1)
    errors = channels(arrays(PAPER), absolute=False)
    expected = 2 * float(error_variance(errors, balanced_numbers(n_items, n_raters, per_item)))
    assert differences.var() == pytest.approx(expected, rel=0.07)


@given(st.floats(0.001, 2), st.integers(1, 40), st.sampled_from([0.3, 0.8, 0.95]))
def test_crossed_items_needed_are_those_of_the_decision_study(system, n_raters, target):
    errors = channels(arrays(PAPER), absolute=False)
    found = items_needed(np.array(system), errors, target=target, n_raters=n_raters, per_item=n_raters)
    assert float(found) == float(
        items_needed_crossed(np.array(system), arrays(PAPER), target=target, n_raters=n_raters)
    )


@given(st.floats(0.001, 2), st.integers(2, 40), st.data())
def test_items_needed_reach_the_target_and_one_step_less_does_not(system, n_raters, data):
    per_item = data.draw(st.integers(1, n_raters))
    step = n_raters // np.gcd(n_raters, per_item)
    errors = channels(arrays(PAPER), absolute=False)
    kind = {"target": 0.8, "n_raters": n_raters, "per_item": per_item, "step": step}
    items = float(items_needed(np.array(system), errors, **kind))

    def reached(size):
        error = error_variance(errors, balanced_numbers(size, n_raters, per_item))
        return float(coefficient(np.array(system), error))

    if np.isinf(items):
        assert reached(1e9 // step * step) < 0.8
        return
    assert items % step == 0
    assert reached(items) >= 0.8 * (1 - 1e-9)
    if items > step:
        assert reached(items - step) < 0.8


def test_without_differences_between_systems_no_number_of_items_suffices():
    errors = channels(arrays(PAPER), absolute=False)
    for system in (0.0, -0.01):
        assert items_needed(np.array(system), errors, target=0.1, n_raters=1000, per_item=10) == np.inf


def test_degrees_of_freedom_are_those_of_the_quasi_f_where_crossed():
    errors = channels(arrays(PAPER), absolute=False)
    squares = {"r": 20.25, "p": 0.908, "e": 0.6364}
    df = {"r": 14, "p": 289 * 7, "e": 289 * 14}
    total = squares["r"] + squares["p"] - squares["e"]
    expected = total**2 / sum(value**2 / df[name] for name, value in squares.items())
    found = error_df(errors, n_systems=8, n_items=290, n_raters=3, per_item=3)
    assert float(found) == pytest.approx(expected, rel=1e-4)


@given(st.integers(2, 30), st.integers(2, 30), st.integers(2, 8))
def test_degrees_of_freedom_are_those_of_the_raters_where_each_has_items_of_their_own(n_raters, each, n_systems):
    errors = channels(arrays(PAPER), absolute=False)
    found = error_df(errors, n_systems=n_systems, n_items=n_raters * each, n_raters=n_raters, per_item=1)
    assert float(found) == n_raters - 1


def test_no_error_fits_into_no_room_and_some_does_not():
    errors = {name: np.array(0.0) for name in ("rater", "item", "cell")} | {"rater": np.array(0.5)}
    # At a target of .5 the room is the system variance, all of which one rater takes.
    sizes = {"target": 0.5, "n_raters": 1, "per_item": 1}
    assert items_needed(np.array(0.5), errors, **sizes) == 1
    assert items_needed(np.array(0.5), errors | {"cell": np.array(0.1)}, **sizes) == np.inf
    assert items_needed(np.array(0.0), errors | {"rater": np.array(0.0)}, **sizes) == np.inf


def test_degrees_of_freedom_of_a_nested_layout_give_the_t_test_its_level():
    rng = np.random.default_rng(5)
    n_systems, n_raters, each = 2, 5, 8
    beyond = []
    for _ in range(3000):
        of_rater = rng.normal(0, 0.5, (n_systems, n_raters, 1)) + rng.normal(0, 1, (n_systems, n_raters, each))
        means = of_rater.mean(axis=2)
        spread = means - means.mean(axis=1, keepdims=True)
        spread = spread - spread.mean(axis=0)
        error = np.sqrt(2 * (spread**2).sum() / ((n_systems - 1) * (n_raters - 1)) / n_raters)
        beyond.append(abs(np.diff(means.mean(axis=1))[0]) / error > 2.776)  # t, 4 df
    assert np.mean(beyond) == pytest.approx(0.05, abs=0.012)
