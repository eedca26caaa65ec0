import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.planning.assigning import assign
from measurand.planning.sampling import allocated, stratified
from measurand.result import MeasurandError


@given(st.lists(st.integers(1, 50), min_size=1, max_size=12), st.data())
def test_shares_are_proportional_to_within_one_and_never_more_than_there_are(sizes, data):
    n = data.draw(st.integers(0, sum(sizes)))
    found = allocated(np.array(sizes), n)
    exact = n * np.array(sizes) / sum(sizes)
    assert found.sum() == n
    assert (np.abs(found - exact) < 1).all()
    assert (found <= sizes).all()


def test_the_largest_remainders_get_what_is_left():
    # 10 of 3, 3, 3, 1: 3.0, 3.0, 3.0, 1.0; 7: 2.1, 2.1, 2.1, .7.
    assert allocated(np.array([3, 3, 3, 1]), 7).tolist() == [2, 2, 2, 1]
    assert allocated(np.array([5, 5]), 3).tolist() == [2, 1]


def test_every_item_of_a_kind_is_as_likely_as_any_other():
    kinds = [("a",)] * 4 + [("b",)] * 8
    counts = np.zeros(12)
    for seed in range(800):
        counts[stratified(kinds, 3, np.random.default_rng(seed)).position] += 1
    assert counts[:4].sum() == 800
    assert np.abs(counts / 800 - 0.25).max() < 0.06


def test_drawn_items_come_kind_by_kind_in_natural_order():
    kinds = [(f"k{k}", "en" if k % 2 else "ar") for k in (10, 2, 1, 10, 2, 1)]
    drawn = stratified(kinds, 6, np.random.default_rng(1))
    assert [one.values for one in drawn.strata] == [("k1", "en"), ("k2", "ar"), ("k10", "ar")]
    assert sorted(drawn.position.tolist()) == list(range(6))
    assert drawn.stratum.tolist() == [0, 0, 1, 1, 2, 2]


def test_without_strata_all_items_are_of_one_kind():
    assert len(stratified([()] * 9, 4, np.random.default_rng(2)).position) == 4


def test_more_items_than_there_are_cannot_be_drawn():
    with pytest.raises(MeasurandError, match="5 items are to be drawn, and 4 are there"):
        stratified([()] * 4, 5, np.random.default_rng(2))


@settings(max_examples=30)
@given(st.integers(3, 14), st.integers(1, 8), st.integers(0, 99), st.data())
def test_everybody_rates_as_much_nobody_twice_and_counts_are_told_as_they_are(n_raters, each, seed, data):
    per_item = data.draw(st.integers(1, n_raters - 1))
    if n_raters * each % per_item:
        each *= per_item
    n_items = n_raters * each // per_item
    if per_item > 1 and n_items * (per_item - 1) < n_raters - 1:
        return
    stratum = np.sort(np.random.default_rng(seed).integers(0, 3, n_items))
    raters, overlap = assign(n_items, n_raters, per_item, stratum=stratum, rng=np.random.default_rng(seed))
    assert raters.shape == (n_items, per_item)
    assert (np.bincount(raters.ravel(), minlength=n_raters) == each).all()
    assert (np.diff(raters, axis=1) > 0).all()
    met = np.zeros((n_raters, n_raters), dtype=int)
    for row in raters:
        met[np.ix_(row, row)] += 1
    pairs = met[np.triu_indices(n_raters, 1)]
    assert (overlap.fewest, overlap.most) == (pairs.min(), pairs.max())
    assert overlap.is_connected == (per_item > 1)


@pytest.mark.parametrize(
    ("n_items", "n_raters", "per_item", "times"), [(7, 7, 3, 1), (13, 13, 4, 1), (66, 12, 2, 1), (30, 6, 5, 20)]
)
def test_balanced_incomplete_blocks_are_found_where_they_exist(n_items, n_raters, per_item, times):
    _, overlap = assign(n_items, n_raters, per_item, stratum=np.zeros(n_items, dtype=int), rng=np.random.default_rng(3))
    assert (overlap.fewest, overlap.most) == (times, times)


def test_pairs_meet_as_evenly_as_numbers_allow_and_kinds_are_spread():
    stratum = np.repeat(np.arange(5), 30)
    raters, overlap = assign(150, 12, 2, stratum=stratum, rng=np.random.default_rng(3))
    assert (overlap.fewest, overlap.most) == (2, 3)
    for kind in range(5):
        counts = np.bincount(raters[stratum == kind].ravel(), minlength=12)
        assert np.ptp(counts) <= 1


def test_six_raters_with_two_items_each_are_one_ring_and_not_two_triangles():
    for seed in range(20):
        _, overlap = assign(6, 6, 2, stratum=np.zeros(6, dtype=int), rng=np.random.default_rng(seed))
        assert overlap.is_connected


def test_crossed_raters_all_meet_on_every_item():
    raters, overlap = assign(5, 3, 3, stratum=np.zeros(5, dtype=int), rng=np.random.default_rng(1))
    assert raters.tolist() == [[0, 1, 2]] * 5
    assert overlap == (5, 5, True)


@pytest.mark.parametrize(
    ("sizes", "said"),
    [((7, 3, 2), "14 pieces of work, which 3 raters cannot share"), ((6, 12, 2), "that takes 11 items")],
)
def test_what_cannot_be_dealt_out_is_refused(sizes, said):
    with pytest.raises(MeasurandError, match=said):
        assign(*sizes, stratum=np.zeros(sizes[0], dtype=int), rng=np.random.default_rng(1))
