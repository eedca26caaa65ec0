import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from measurand.stats.association import kappa_quadratic
from measurand.stats.inference import percentile_interval, stream
from measurand.stats.kappa import Moments, concordance, kappa_of_values, moments_of

CLOSED = 1e-12
often = settings(derandomize=True, deadline=None, max_examples=150)

WEIGHTINGS = ("unweighted", "linear", "quadratic")
LEVELS = np.arange(8.0)


@st.composite
def pairs(draw, values=(0, 1, 2, 3, 4, 5, 6, 7)):
    n = draw(st.integers(1, 12))
    one = st.lists(st.sampled_from(values), min_size=n, max_size=n)
    return np.array(draw(one), dtype=float), np.array(draw(one), dtype=float)


def kappa_of_tables(tables, levels, how):
    """Kappa of joint frequency tables: each cell is a pair of levels that occurs so often."""
    x, y = (grid.ravel() for grid in np.meshgrid(levels, levels, indexing="ij"))
    weights = tables.reshape(len(tables), -1)
    return kappa_of_values(np.broadcast_to(x, weights.shape), weights, y[:, None], how)


def table_of(x, y, levels=LEVELS):
    table = np.zeros((1, len(levels), len(levels)))
    np.add.at(table[0], (np.searchsorted(levels, x), np.searchsorted(levels, y)), 1)
    return table


def by_loop(x, y, power=2):
    """Kappa by its definition: mean disagreement of the pairs over that of every x with every y."""
    cost = {0: lambda a, b: float(a != b), 1: lambda a, b: abs(a - b), 2: lambda a, b: (a - b) ** 2}[power]
    observed = sum(cost(a, b) for a, b in zip(x, y, strict=True)) / len(x)
    expected = sum(cost(a, b) for a in x for b in y) / len(x) ** 2
    return np.nan if expected == 0 else 1 - observed / expected


def lin(x, y):
    """Lin's concordance as printed: twice the covariance over variances and squared difference of means."""
    below = x.var() + y.var() + (x.mean() - y.mean()) ** 2
    return np.nan if below == 0 else 2 * ((x - x.mean()) * (y - y.mean())).mean() / below


def quadratic(x, y, weights=None):
    return concordance(moments_of(x, y, weights))


# --- Known values and other programs ----------------------------------------------------------------------------------


def test_kappas_against_scikit_learn_on_declared_levels(oracle):
    given_, expected = oracle.read("quadratic_kappa")
    rows = []
    for name, part in given_.groupby("sample", sort=False):
        x, y, levels = part["x"].to_numpy(float), part["y"].to_numpy(float), np.arange(float(part["n_levels"].iloc[0]))
        table = table_of(x, y, levels)
        rows.append([name, *(kappa_of_tables(table, levels, how)[0] for how in WEIGHTINGS)])
        assert quadratic(x, y)[0] == pytest.approx(rows[-1][-1], abs=CLOSED)
    oracle.compare(pd.DataFrame(rows, columns=expected.columns), expected, keys=["sample"], rtol=0, atol=CLOSED)


def test_kappa_of_a_two_by_two_table_by_hand():
    """Agreement .7 where chance makes .5."""
    assert kappa_of_tables(np.array([[[20.0, 5], [10, 15]]]), np.array([0.0, 1]), "unweighted")[0] == pytest.approx(0.4)


# --- Identities -------------------------------------------------------------------------------------------------------


@often
@given(pairs())
def test_quadratic_kappa_is_lins_concordance_and_the_loop_over_all_pairs(sample):
    x, y = sample
    found = quadratic(x, y)[0]
    expected = lin(x, y)
    for other in (
        by_loop(x, y),
        kappa_of_tables(table_of(x, y), LEVELS, "quadratic")[0],
        kappa_quadratic(x, y, np.ones((1, len(x))))[0],
        found,
    ):
        np.testing.assert_allclose(other, expected, atol=CLOSED, rtol=0)


@often
@given(pairs(), st.integers(0, 1))
def test_linear_and_unweighted_kappa_are_the_loop_over_all_pairs(sample, power):
    x, y = sample
    found = kappa_of_tables(table_of(x, y), LEVELS, WEIGHTINGS[power])[0]
    np.testing.assert_allclose(found, by_loop(x, y, power), atol=CLOSED, rtol=0)


@often
@given(pairs(values=(0.0, 0.3, 1.25, 2.0, 6.75)))
def test_answers_between_levels_are_not_cut_to_whole_numbers(sample):
    x, y = sample
    np.testing.assert_allclose(quadratic(x, y)[0], by_loop(x, y), atol=CLOSED, rtol=0)


@often
@given(pairs(), st.randoms(use_true_random=False))
def test_neither_the_order_of_pairs_nor_of_sides_matters(sample, random):
    x, y = sample
    place = list(range(len(x)))
    random.shuffle(place)
    np.testing.assert_allclose(quadratic(x[place], y[place]), quadratic(x, y), atol=CLOSED)
    np.testing.assert_allclose(quadratic(y, x), quadratic(x, y), atol=CLOSED)


@often
@given(pairs())
def test_kappa_is_no_larger_than_the_correlation(sample):
    x, y = sample
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    found = quadratic(x, y)[0]
    assert abs(found) <= abs(np.corrcoef(x, y)[0, 1]) + CLOSED
    assert -1 - CLOSED <= found <= 1 + CLOSED


@often
@given(pairs(), st.sampled_from([-3.0, 4.0, 100.0]), st.sampled_from([0.25, 2.0, -1.0]))
def test_a_shift_or_a_scale_that_both_sides_share_changes_nothing(sample, shift, scale):
    x, y = sample
    np.testing.assert_allclose(quadratic(x * scale + shift, y * scale + shift), quadratic(x, y), atol=1e-10, rtol=0)


def test_a_shift_of_one_side_alone_lowers_kappa():
    x = np.array([0.0, 1, 2, 3])
    assert quadratic(x, x)[0] == pytest.approx(1, abs=CLOSED)
    assert quadratic(x, x + 1)[0] == pytest.approx(2 * 1.25 / (2 * 1.25 + 1), abs=CLOSED)


@often
@given(pairs(), st.data())
def test_a_weighted_row_is_the_repeated_sample(sample, data):
    x, y = sample
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    assume(sum(times) > 0)
    weights = np.array([times, [1] * len(x)], dtype=float)
    found = quadratic(x, y, weights)
    np.testing.assert_allclose(found[0], by_loop(np.repeat(x, times), np.repeat(y, times)), atol=CLOSED)
    np.testing.assert_allclose(found[1], by_loop(x, y), atol=CLOSED)


@often
@given(pairs(), pairs())
def test_moments_add_up_over_sets_of_pairs(a, b):
    together = moments_of(*a).plus(moments_of(*b))
    expected = moments_of(np.r_[a[0], b[0]], np.r_[a[1], b[1]])
    assert isinstance(together, Moments)
    np.testing.assert_allclose(np.array(together), np.array(expected), rtol=1e-12)


# --- Where kappa is undefined, and what levels do ---------------------------------------------------------------------


def test_both_sides_the_same_constant_is_undefined_and_one_constant_is_zero():
    """P18: kappa was NaN, or a number, where both sides are constant."""
    same = np.full(6, 3.0)
    assert np.isnan(quadratic(same, same)[0])
    assert quadratic(same, np.array([3.0, 4, 3, 2, 3, 3]))[0] == 0
    assert quadratic(same, same + 1)[0] == 0
    for how in WEIGHTINGS:
        assert np.isnan(kappa_of_tables(table_of(same, same), LEVELS, how)[0])
        assert kappa_of_tables(table_of(same, same + 1), LEVELS, how)[0] == 0


def test_one_constant_of_any_size_is_undefined_and_never_rounding_dust():
    """P18: a constant such as 1/3 leaves dust in a difference of sums, and dust over dust is any number."""
    for value in (1 / 3, 0.1, 1e6 + 0.1, 7.0):
        for n in (3, 10, 2500):
            x = np.full(n, value)
            assert np.isnan(quadratic(x, x)[0]), (value, n)


def test_no_pair_is_undefined():
    assert np.isnan(quadratic(np.zeros(0), np.zeros(0))[0])
    assert np.isnan(quadratic(np.array([1.0]), np.array([2.0]), np.zeros((1, 1)))[0])


def test_undefined_replicates_are_left_out_and_their_share_is_told():
    """P18: of four items one differs; replicates that miss it have nothing that varies."""
    x = np.array([1.0, 1, 1, 2])
    weights = stream(0, "test").multinomial(4, np.full(4, 0.25), size=2000).astype(float)
    found = quadratic(x, x, weights)
    is_constant = (weights[:, 3] == 0) | (weights[:, 3] == 4)
    np.testing.assert_array_equal(np.isnan(found), is_constant)
    interval = percentile_interval(found, confidence=0.95)
    assert interval.undefined_share == pytest.approx(is_constant.mean(), abs=CLOSED)
    assert interval.low == pytest.approx(1)


def test_levels_need_not_be_contiguous_nor_start_at_zero():
    """P19: quadratic kappa crashed on levels with a gap."""
    x, y = np.array([1.0, 1, 5, 10, 10]), np.array([1.0, 5, 5, 10, 1])
    levels = np.array([1.0, 5, 10])
    found = kappa_of_tables(table_of(x, y, levels), levels, "quadratic")[0]
    assert found == pytest.approx(by_loop(x, y), abs=CLOSED)
    assert quadratic(x, y)[0] == pytest.approx(found, abs=CLOSED)


@often
@given(pairs(values=(2, 3, 5)))
def test_a_level_that_nobody_uses_changes_nothing(sample):
    """P20, P21: levels were inferred from the sample, and an unused one biased kappa."""
    x, y = sample
    few = np.array([2.0, 3, 5])
    for how in WEIGHTINGS:
        narrow = kappa_of_tables(table_of(x, y, few), few, how)
        wide = kappa_of_tables(table_of(x, y), LEVELS, how)
        np.testing.assert_allclose(narrow, wide, atol=CLOSED)


def test_a_constant_that_is_no_binary_fraction_scores_exactly_0():
    """Its products cancel up to rounding only; a page must not show 1e-16 for nothing."""
    rng = np.random.default_rng(0)
    for constant in (0.1, 1 / 3, 0.7, -2.3):
        y = rng.integers(0, 5, 97) - 2.0
        weights = rng.integers(0, 3, (20, 97)).astype(float)
        assert (concordance(moments_of(np.full(97, constant), y, weights)) == 0).all()
