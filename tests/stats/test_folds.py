import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.stats.folds import stratified_folds, stratified_split

often = settings(derandomize=True, deadline=None, max_examples=100)
labels = st.lists(st.integers(-1, 3), min_size=2, max_size=60).map(np.array)


def rng(seed=0):
    return np.random.default_rng(seed)


def table(values, label):
    """How many rows of each class have each value."""
    _, label = np.unique(label, return_inverse=True)
    out = np.zeros((values.max() + 1, label.max() + 1), dtype=int)
    np.add.at(out, (values, label), 1)
    return out


@often
@given(labels, st.integers(2, 7), st.integers(0, 5))
def test_no_two_folds_differ_by_more_than_one_row_in_any_class_or_in_all(label, n_folds, seed):
    if len(label) < n_folds:
        with pytest.raises(ValueError, match="cannot be spread"):
            stratified_folds(label, n_folds=n_folds, rng=rng(seed))
        return
    fold = stratified_folds(label, n_folds=n_folds, rng=rng(seed))
    assert set(fold) == set(range(n_folds))
    counts = table(fold, label)
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1


def test_a_seed_makes_the_same_folds_and_another_seed_others():
    label = np.repeat([0, 1, 2], [40, 30, 30])
    first, again, other = (stratified_folds(label, n_folds=5, rng=rng(seed)) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_every_row_is_in_every_fold_equally_often():
    label = np.repeat([0, 1], [7, 4])
    drawn = np.array([stratified_folds(label, n_folds=3, rng=rng(seed)) for seed in range(3000)])
    shares = np.array([(drawn == fold).mean(axis=0) for fold in range(3)])
    assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 3000)


@often
@given(labels, st.integers(0, 5), st.data())
def test_groups_stay_whole(label, seed, data):
    group = np.array(data.draw(st.lists(st.integers(0, 8), min_size=len(label), max_size=len(label))))
    n_groups = len(np.unique(group))
    if n_groups < 2:
        with pytest.raises(ValueError, match="cannot be spread over 2 folds"):
            stratified_folds(label, n_folds=2, rng=rng(seed), group=group)
        with pytest.raises(ValueError, match="group cannot be split"):
            stratified_split(label, train_share=0.5, rng=rng(seed), group=group)
        return
    fold = stratified_folds(label, n_folds=2, rng=rng(seed), group=group)
    train = stratified_split(label, train_share=0.7, rng=rng(seed), group=group)
    for one in np.unique(group):
        assert len(set(fold[group == one])) == 1
        assert len(set(train[group == one])) == 1
    assert set(fold) == {0, 1}


def test_groups_of_several_sizes_are_spread_evenly():
    draw = rng(3)
    group = np.repeat(np.arange(150), draw.integers(1, 8, size=150))
    label = draw.choice(5, size=150, p=[0.28, 0.25, 0.2, 0.15, 0.12])[group]
    fold = stratified_folds(label, n_folds=5, rng=rng(), group=group)
    assert np.ptp(table(fold, label), axis=0).max() <= 2
    train = stratified_split(label, train_share=0.8, rng=rng(), group=group)
    shares = table(train.astype(int), label)[1] / np.bincount(label)
    assert (np.abs(shares - 0.8) < 0.04).all()


def test_groups_of_one_row_are_folds_of_rows():
    label = np.repeat([0, 1, 2], [10, 7, 3])
    alone = stratified_folds(label, n_folds=4, rng=rng(), group=np.arange(20)[::-1])
    assert np.ptp(table(alone, label), axis=0).max() <= 1


@often
@given(labels, st.floats(0.05, 0.95), st.integers(0, 5))
def test_a_split_gives_each_class_its_share_to_one_row(label, share, seed):
    train = stratified_split(label, train_share=share, rng=rng(seed))
    wanted = min(max(np.floor(share * len(label) + 0.5), 1), len(label) - 1)
    assert 0 < train.sum() < len(label)
    for one in np.unique(label):
        assert abs(train[label == one].sum() - share * (label == one).sum()) <= 1 + 1e-6
    assert train.sum() == wanted


def test_a_split_draws_which_class_gets_the_rounded_row():
    label = np.array([0, 0, 0, 1, 1, 1])
    found = {tuple(np.bincount(label[stratified_split(label, train_share=0.5, rng=rng(s))])) for s in range(30)}
    assert found == {(1, 2), (2, 1)}


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, np.nan])
def test_a_share_outside_zero_and_one_is_refused(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        stratified_split(np.array([0, 1]), train_share=share, rng=rng())


def test_one_fold_or_one_row_is_refused():
    with pytest.raises(ValueError, match="2 or more"):
        stratified_folds(np.array([0, 1]), n_folds=1, rng=rng())
    with pytest.raises(ValueError, match="1 row cannot be split"):
        stratified_split(np.array([0]), train_share=0.5, rng=rng())
