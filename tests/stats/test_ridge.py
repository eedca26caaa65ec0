"""Ridge regression against least squares that say the same, and cross-fitting that would show a leak."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.stats.ridge import PENALTIES, cross_fitted, explained, ridge


def by_least_squares(x, y, penalty):
    """The same sum made least by a solver of least squares: rows of the penalty below the rows of the data."""
    centred = np.where(np.ptp(x, axis=0) > 0, x - x.mean(axis=0), 0.0)
    below = np.sqrt(penalty) * np.eye(x.shape[1])
    whole = np.vstack([centred, below]), np.vstack([y - y.mean(axis=0), np.zeros((x.shape[1], y.shape[1]))])
    slopes = np.linalg.lstsq(*whole, rcond=None)[0]
    return slopes, y.mean(axis=0) - x.mean(axis=0) @ slopes


@given(st.integers(2, 12), st.integers(1, 15), st.sampled_from([0.0, 1e-3, 1.0, 1e3]), st.integers(0, 10_000))
def test_ridge_is_the_least_of_its_sum_with_fewer_or_more_features_than_rows(n, p, penalty, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, p)), rng.normal(size=(n, 3))
    x[:, 0] = x[0, 0]  # a feature that does not vary
    slopes, intercepts = by_least_squares(x, y, penalty)
    found = ridge(x, y, penalty=penalty)
    assert found.slopes == pytest.approx(slopes, abs=1e-6)
    assert found.intercepts == pytest.approx(intercepts, abs=1e-6)


def persons(rng, n_persons=12, each=5):
    """Features that tell a person and nothing else, and targets that are the person's own."""
    cluster = np.repeat(np.arange(n_persons), each)
    x = rng.normal(size=(n_persons, 40))[cluster] + 0.01 * rng.normal(size=(n_persons * each, 40))
    return x, rng.normal(size=(n_persons, 2))[cluster], cluster


def test_a_row_is_predicted_without_anybody_of_its_cluster():
    rng = np.random.default_rng(0)
    x, y, cluster = persons(rng)
    found = cross_fitted(x, y, cluster, n_folds=4, rng=np.random.default_rng(1))
    for c in np.unique(cluster):
        assert len(set(found.fold[cluster == c])) == 1
    assert np.bincount(found.fold).tolist() == [15] * 4
    # A new person can't be told from features of other persons; rows of the same one give all away.
    ones = np.ones((1, len(y)))
    assert all(explained(y[:, k], found.predicted[:, k], ones)[0] < 0.3 for k in (0, 1))
    leaking = cross_fitted(x, y, np.arange(len(y)), n_folds=4, rng=np.random.default_rng(1))
    assert all(explained(y[:, k], leaking.predicted[:, k], ones)[0] > 0.9 for k in (0, 1))


def test_what_a_cluster_holds_changes_no_prediction_of_it():
    x, y, cluster = persons(np.random.default_rng(2))
    other = y.copy()
    other[cluster == 3] += 100
    found = [cross_fitted(x, one, cluster, n_folds=4, rng=np.random.default_rng(3)).predicted for one in (y, other)]
    assert np.array_equal(found[0][cluster == 3], found[1][cluster == 3])
    assert not np.allclose(found[0][cluster != 3], found[1][cluster != 3])


def test_every_part_is_the_ridge_of_the_others_with_the_penalty_that_was_chosen():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 8))
    y = x[:, :2] + rng.normal(size=(60, 2))
    found = cross_fitted(x, y, np.arange(60) // 3, n_folds=5, rng=rng)
    assert set(found.penalty.ravel()) <= set(PENALTIES)
    for part in range(5):
        own = found.fold == part
        unit = ((x[~own] - x[~own].mean(axis=0)) ** 2).sum(axis=1).mean()
        for target in (0, 1):
            fitted = ridge(x[~own], y[~own][:, [target]], penalty=found.penalty[part, target] * unit)
            assert found.predicted[own, target] == pytest.approx((x[own] @ fitted.slopes + fitted.intercepts)[:, 0])


def test_noise_alone_is_shrunk_to_the_mean_and_a_clear_line_is_not():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(80, 30))
    y = np.column_stack([rng.normal(size=80), x @ rng.normal(size=30)])
    chosen = cross_fitted(x, y, np.arange(80) // 2, n_folds=4, rng=rng).penalty
    assert chosen[:, 0].min() > 10 * chosen[:, 1].max()


def test_rows_without_a_target_are_predicted_by_the_others():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(60, 4))
    y = (x @ rng.normal(size=(4, 2))) + 0.01 * rng.normal(size=(60, 2))
    holes = y.copy()
    holes[::7, 0] = np.nan
    found = cross_fitted(x, holes, np.arange(60) // 3, n_folds=5, rng=np.random.default_rng(7)).predicted
    assert np.abs(found - y).max() < 0.2
    holes[:, 0] = np.nan
    found = cross_fitted(x, holes, np.arange(60) // 3, n_folds=5, rng=np.random.default_rng(7)).predicted
    assert np.isnan(found[:, 0]).all()
    assert np.abs(found[:, 1] - y[:, 1]).max() < 0.2


def test_too_few_clusters_are_refused():
    x, y, cluster = persons(np.random.default_rng(8), n_persons=4)
    with pytest.raises(ValueError, match="3 clusters can't be divided into 4 parts"):
        cross_fitted(x, y, cluster, n_folds=4, rng=np.random.default_rng(9))


def test_explained_counts_rows_as_often_as_they_were_drawn():
    rng = np.random.default_rng(10)
    y, predicted, weights = rng.normal(size=20), rng.normal(size=20), rng.integers(0, 4, (3, 20)).astype(float)
    for row, found in zip(weights, explained(y, predicted, weights), strict=True):
        drawn = np.repeat(np.arange(20), row.astype(int))
        left = ((y[drawn] - predicted[drawn]) ** 2).sum() / ((y[drawn] - y[drawn].mean()) ** 2).sum()
        assert found == pytest.approx(1 - left)
    assert np.isnan(explained(np.full(5, 0.1), np.zeros(5), np.ones((1, 5)))).all()
