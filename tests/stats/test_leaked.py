import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from measurand.stats.leaked import leaked_share, leaked_share_fixed_size, log10_p_no_item_split, shared_share


@pytest.mark.parametrize(("views", "share"), [(8, 0.9999872), (5, 0.9984)])
def test_the_papers_tables_share_nearly_every_test_row_at_the_usual_ratio(views, share):
    # Sakhawat 2026, section 9, prints 99.998 % and 99.84 %.
    assert leaked_share(np.full(4206, views), ratio=0.8) == pytest.approx(share, abs=1e-12)


def test_the_share_of_unequal_items_is_the_mean_over_their_rows():
    views, ratio = np.array([1, 2, 5]), 0.7
    of_rows = np.repeat(1 - (1 - ratio) ** (views - 1.0), views)
    assert leaked_share(views, ratio=ratio) == pytest.approx(of_rows.mean(), abs=1e-15)


def test_one_row_an_item_shares_nothing():
    assert leaked_share(np.ones(10, dtype=int), ratio=0.8) == 0
    assert leaked_share_fixed_size(np.ones(10, dtype=int), 2) == 0
    assert log10_p_no_item_split(np.ones(10, dtype=int), ratio=0.8) == 0


@pytest.mark.parametrize("n_test", [(1, 1), (2, 1), (3, 2), (4, 4)])
def test_the_share_of_fixed_sizes_is_that_of_all_splits_one_by_one(n_test):
    # Items with rows in two strata: (2, 1), (1, 3), (1, 0).
    counts = np.array([[2, 1], [1, 3], [1, 0]])
    stratum, cluster = (
        np.array([s for g in range(3) for s in range(2) for _ in range(counts[g, s])]),
        np.array([g for g in range(3) for s in range(2) for _ in range(counts[g, s])]),
    )
    rows = [np.flatnonzero(stratum == s) for s in range(2)]
    shares = []
    for first in itertools.combinations(rows[0], n_test[0]):
        for second in itertools.combinations(rows[1], n_test[1]):
            train = np.ones((1, len(cluster)), dtype=bool)
            train[0, [*first, *second]] = False
            shares.append(shared_share(cluster, train)[0])
    assert leaked_share_fixed_size(counts, n_test) == pytest.approx(np.mean(shares), abs=1e-12)


def test_with_many_items_fixed_sizes_and_rows_on_their_own_agree():
    views = np.full(20_000, 4)
    fixed = leaked_share_fixed_size(views, 16_000)
    assert fixed == pytest.approx(leaked_share(views, ratio=0.8), abs=1e-5)
    assert fixed != leaked_share(views, ratio=0.8)


def test_no_split_item_has_the_binomial_probability():
    p = (0.8**3 + 0.2**3) ** 5
    assert log10_p_no_item_split(np.full(5, 3), ratio=0.8) == pytest.approx(np.log10(p), abs=1e-12)


def test_the_probability_of_no_split_item_is_told_where_it_underflows():
    log10 = log10_p_no_item_split(np.full(4206, 8), ratio=0.8)
    assert 10.0**log10 == 0
    assert log10 == pytest.approx(4206 * np.log10(0.8**8 + 0.2**8), rel=1e-12)


@given(
    hnp.arrays(np.int64, st.integers(1, 20), elements=st.integers(1, 9)),
    st.floats(0.05, 0.95),
    st.integers(0, 2**32 - 1),
)
def test_shares_lie_between_none_and_all_and_grow_with_the_ratio(views, ratio, seed):
    share = leaked_share(views, ratio=ratio)
    assert 0 <= share <= 1
    assert leaked_share(views, ratio=min(ratio + 0.04, 0.99)) >= share - 1e-12
    n_test = np.random.default_rng(seed).integers(1, views.sum() + 1)
    assert -1e-12 <= leaked_share_fixed_size(views, n_test) <= 1 + 1e-12


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.2, 1.5])
def test_a_ratio_that_leaves_a_side_empty_is_refused(ratio):
    with pytest.raises(ValueError, match="between 0 and 1"):
        leaked_share(np.array([2]), ratio=ratio)


def test_more_test_rows_than_there_are_are_refused():
    with pytest.raises(ValueError, match=r"\[5\] test rows of \[4\]"):
        leaked_share_fixed_size(np.array([2, 2]), 5)


def test_without_test_rows_there_is_no_share():
    assert np.isnan(leaked_share_fixed_size(np.array([2, 2]), 0))
    assert np.isnan(leaked_share(np.array([], dtype=int), ratio=0.5))
    assert np.isnan(shared_share(np.array([0, 0]), np.ones((1, 2), dtype=bool))[0])
