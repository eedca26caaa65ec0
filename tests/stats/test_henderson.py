import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.auditing.mixed import EFFECTS, effects, terms, unbiased
from measurand.data import panels
from measurand.stats import variance
from measurand.stats.henderson import henderson, henderson_equations, henderson_sums
from measurand.stats.mixed import Term
from measurand.stats.reliability import coefficient

CLOSED = 1e-10
FACETS = ("item", "system", "rater")
often = settings(derandomize=True, deadline=None, max_examples=40)


def table_of(cube):
    item, system, rater = np.nonzero(~np.isnan(cube))
    frame = pd.DataFrame({"item": [f"i{k}" for k in item], "rater": [f"R{k}" for k in rater]})
    return frame.assign(system=[f"S{k}" for k in system], rating=cube[item, system, rater])


def panel_of(shape, seed, missing):
    rng = np.random.default_rng(seed)
    cube = rng.normal(size=shape) + rng.normal(size=(shape[0], 1, 1)) + rng.normal(size=(1, 1, shape[2]))
    holes = rng.random(shape) < missing
    holes[:2, :2, :2] = False
    return panels(table_of(np.where(holes, np.nan, cube)))[0]


def terms_of(panel):
    return terms(panel, effects(panel), EFFECTS)


panels_ = st.builds(
    panel_of,
    st.tuples(st.integers(3, 6), st.integers(2, 4), st.integers(2, 4)),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.15, 0.4]),
)


# --- Published values -------------------------------------------------------------------------------------------------

# Rajaratnam, Cronbach & Gleser (1965), in Brennan (2001), table 9.1: eight persons by two, four and two items.
NINE = (("42213130", "51433251"), ("32456561", "33747682", "51655460", "44557474"), ("54848577", "76759688"))


def rajaratnam():
    """Persons as items, the parts of the test as systems, its items as raters."""
    rows, number = [], 0
    for part, columns in enumerate(NINE):
        for digits in columns:
            rows += [(f"p{p}", f"h{part}", f"q{number}", float(x)) for p, x in enumerate(digits)]
            number += 1
    return panels(pd.DataFrame(rows, columns=["item", "system", "rater", "rating"]))[0]


def test_sums_of_brennans_unbalanced_example():
    panel = rajaratnam()
    used = terms_of(panel)
    assert [term.name for term in used] == ["item", "system", "rater", "item:system"]
    mean = panel.rating.sum() ** 2 / len(panel.rating)
    assert mean == pytest.approx(1296, abs=1e-9)
    sums = henderson_sums(panel.rating[:, None], used)[:, 0] + mean
    np.testing.assert_allclose(sums, [1390, 1424, 1440, 1564.5, 1610], rtol=CLOSED)


def test_components_g_and_phi_of_brennans_unbalanced_example():
    found = unbiased(rajaratnam(), effects(rajaratnam()))
    published = {"item": 1.2014, "system": 2.9161, "rater": 0.2946, "item:system": 0.9914, "residual": 0.8429}
    assert {name: round(value, 4) for name, value in found.items()} == published
    # Sums of squares of the shares of the parts, 2, 4 and 2 of 8 items, and of the single items.
    parts = (2**2 + 4**2 + 2**2) / 8**2
    relative = found["item:system"] * parts + found["residual"] / 8
    absolute = relative + found["system"] * parts + found["rater"] / 8
    universe = np.array(found["item"])
    assert round(float(coefficient(universe, np.array(relative))), 3) == 0.716
    assert round(float(coefficient(universe, np.array(absolute))), 3) == 0.428


def test_crossed_data_of_brennan_have_the_components_of_the_analysis_of_variance():
    rows = (
        ("2455442306", "6559346458", "7648546447", "5766675556"),
        ("2655462656", "5747547658", "5557677658", "5756485436"),
    )
    cube = np.array([[[float(x) for x in row] for row in o] for o in rows]).transpose(2, 1, 0)
    panel = panels(table_of(cube))[0]
    found = henderson(panel.rating, terms_of(panel))
    assert [round(v, 4) for v in found.values()] == [0.5528, 0.4417, 0.0074, 0.575, 0.1009, 0.1565, 0.9352]


# --- Against dense matrices -------------------------------------------------------------------------------------------


@often
@given(panels_)
def test_equations_are_the_expectations_of_the_quadratic_forms(panel):
    """E(y'Ay) = tr(A V), each form and each component by matrices of ratings by ratings."""
    used = terms_of(panel)
    n = len(panel.rating)
    designs = [np.eye(term.n_levels)[term.codes] for term in used]
    mean = np.full((n, n), 1 / n)
    forms = [z @ np.diag(1 / z.sum(axis=0)) @ z.T - mean for z in designs] + [np.eye(n) - mean]
    covariances = [z @ z.T for z in designs] + [np.eye(n)]
    expected = np.array([[np.sum(form * v) for v in covariances] for form in forms])
    np.testing.assert_allclose(henderson_equations(used, n), expected, rtol=CLOSED, atol=1e-9)
    quadratic = [panel.rating @ form @ panel.rating for form in forms]
    np.testing.assert_allclose(henderson_sums(panel.rating[:, None], used)[:, 0], quadratic, rtol=1e-8, atol=1e-8)
    if np.linalg.matrix_rank(expected) == len(expected):
        found = henderson(panel.rating, used)
        assert list(found) == [*(term.name for term in used), "residual"]
        right = np.linalg.solve(expected, quadratic)
        np.testing.assert_allclose(list(found.values()), right, rtol=1e-6, atol=1e-6 * np.abs(right).max())


@often
@given(st.tuples(st.integers(2, 6), st.integers(2, 4), st.integers(2, 4)), st.integers(0, 10**6))
def test_complete_panels_have_the_unbiased_components_of_the_analysis_of_variance(shape, seed):
    panel = panel_of(shape, seed, 0.0)
    free = variance.components(variance.anova(panel.cube(), FACETS))
    found = henderson(panel.rating, terms_of(panel))
    assert found == pytest.approx(free, rel=1e-8, abs=1e-10)


def test_components_are_right_on_average_however_many_cells_are_missing():
    """Unbiased: the mean over simulated panels lies within four standard errors of the truth, negative ones kept."""
    panel = panel_of((8, 3, 4), 1, 0.35)
    used = terms_of(panel)
    truth = {"item": 0.4, "system": 0.05, "rater": 0.3, "item:system": 0.0, "item:rater": 0.2, "system:rater": 0.1}
    rng = np.random.default_rng(5)
    draws = 0.8 * rng.normal(size=(len(panel.rating), 4000))
    for term in used:
        draws += np.sqrt(truth[term.name]) * rng.normal(size=(term.n_levels, 4000))[term.codes]
    found = np.linalg.solve(henderson_equations(used, len(draws)), henderson_sums(draws, used))
    error = found.std(axis=1, ddof=1) / np.sqrt(4000)
    z = (found.mean(axis=1) - [*truth.values(), 0.64]) / error
    assert np.abs(z).max() < 4
    assert (found[3] < 0).mean() > 0.2


# --- Properties -------------------------------------------------------------------------------------------------------


@often
@given(panels_, st.floats(-100, 100), st.sampled_from([-3.0, 0.01, 50.0]), st.integers(0, 99))
def test_shift_scale_and_order_of_rows(panel, shift, factor, seed):
    used = terms_of(panel)
    try:
        found = henderson(panel.rating, used)
    except ValueError:
        return
    moved = henderson(panel.rating * factor + shift, used)
    size = max(abs(v) for v in found.values()) * factor**2
    assert moved == pytest.approx({k: v * factor**2 for k, v in found.items()}, rel=1e-7, abs=1e-7 * size)
    order = np.random.default_rng(seed).permutation(len(panel.rating))
    shuffled = [Term(t.name, t.codes[order], t.in_block) for t in used]
    assert henderson(panel.rating[order], shuffled) == pytest.approx(found, rel=1e-8, abs=1e-8 * size / factor**2)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_ratings_far_from_0_lose_no_digits_that_matter(offset):
    panel = panel_of((8, 3, 4), 3, 0.2)
    used = terms_of(panel)
    assert henderson(panel.rating + offset, used) == pytest.approx(henderson(panel.rating, used), abs=1e-6)


@often
@given(panels_)
def test_what_is_done_to_many_sets_of_ratings_is_done_to_each(panel):
    used = terms_of(panel)
    many = np.random.default_rng(1).normal(size=(len(panel.rating), 3))
    together = henderson_sums(many, used)
    for column in range(3):
        alone = henderson_sums(many[:, [column]], used)[:, 0]
        np.testing.assert_allclose(alone, together[:, column], rtol=1e-12, atol=1e-12)


def test_a_layout_that_does_not_determine_the_components_is_refused():
    codes = np.array([0, 0, 1, 1, 2, 2])
    twice = [Term("item", codes, True), Term("again", codes, True)]
    with pytest.raises(ValueError, match="does not determine the components"):
        henderson(np.array([1.0, 2, 3, 4, 5, 7]), twice)


def test_two_items_by_two_raters():
    rating = np.array([1.0, 2.0, 3.0, 6.0])
    used = [Term("item", np.array([0, 0, 1, 1]), True), Term("rater", np.array([0, 1, 0, 1]), False)]
    # MS item 9, rater 4, residual 1.
    assert henderson(rating, used) == pytest.approx({"item": 4.0, "rater": 1.5, "residual": 1.0}, rel=CLOSED)


def test_panel24_is_what_generalizit_prints(shared):
    table = pd.read_csv(shared / "golden" / "panel24.csv").rename(columns={"score": "rating"}).dropna()
    right = json.loads((shared / "golden" / "golden.json").read_text())
    printed = right["panel24"]["generalizit Henderson I (4 decimals)"]["value"]
    panel = panels(table)[0]
    found = henderson(panel.rating, terms_of(panel))
    names = {"item:system": "system x item", "item:rater": "item x rater", "system:rater": "system x rater"}
    names["residual"] = "system x item x rater"
    for name, value in found.items():
        assert value == pytest.approx(printed[names.get(name, name)], abs=2e-4)
