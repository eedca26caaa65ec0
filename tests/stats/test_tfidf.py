import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from measurand.stats.tfidf import patterns, plain_features, tfidf_features

often = settings(derandomize=True, deadline=None, max_examples=60)


def drawn(seed, n, p):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.6, size=(n, p)).astype(float), rng.integers(0, 3, size=(n, 2)).astype(float)


def dense(features, problem):
    """X_f, by its products with the unit vectors."""
    p = features.transposed.shape[0]
    unit = np.zeros((p, features.column.shape[1]))
    out = np.empty((features.matrix.shape[0], p))
    for j in range(p):
        unit[:] = 0
        unit[j] = 1
        out[:, j] = features.scores(unit)[:, problem]
    return out


@often
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 8))
def test_weights_of_terms_are_scikit_learns_fitted_to_the_training_rows(seed, n, p):
    x, times = drawn(seed, n, p)
    times[0] += 1
    features = tfidf_features(sparse.csr_array(x), times)
    for problem in range(2):
        rows = np.repeat(np.arange(n), times[:, problem].astype(int))
        seen = x[rows].any(axis=0)
        found = dense(features, problem)
        assert (found[:, ~seen] == 0).all()
        if seen.any():
            terms = TfidfTransformer(sublinear_tf=True).fit(sparse.csr_matrix(x[rows][:, seen]))
            other = terms.transform(sparse.csr_matrix(x[:, seen])).toarray()
            np.testing.assert_allclose(found[:, seen], other, rtol=1e-12, atol=1e-15)


@often
@given(st.integers(0, 10**6), st.integers(1, 10), st.integers(1, 6))
def test_products_back_are_those_of_the_transpose(seed, n, p):
    x, times = drawn(seed, n, p)
    times[0] += 1
    features = tfidf_features(sparse.csr_array(x), times)
    residual = np.random.default_rng(seed).normal(size=(n, 2))
    for problem in range(2):
        own = dense(features, problem)
        np.testing.assert_allclose(features.back(residual)[:, problem], own.T @ residual[:, problem], atol=1e-12)
        squared = (own**2).T @ residual[:, problem]
        np.testing.assert_allclose(features.back_squared(residual)[:, problem], squared, atol=1e-12)
        alone = features.of(np.array([problem]))
        assert (alone.back(residual[:, [problem]]) == features.back(residual)[:, [problem]]).all()


@often
@given(st.integers(0, 10**6), st.integers(0, 15), st.integers(1, 4), st.booleans())
def test_patterns_are_the_distinct_rows(seed, n, p, is_sparse):
    x = np.random.default_rng(seed).poisson(0.4, size=(n, p)).astype(float)
    found = patterns(sparse.csr_array(x) if is_sparse else x)
    rows = found.rows.toarray() if is_sparse else found.rows
    assert (rows[found.of_row] == x).all()
    assert len(rows) == len(np.unique(x, axis=0))
    assert [int(np.flatnonzero(found.of_row == k)[0]) for k in range(len(rows))] == sorted(
        np.unique(found.of_row, return_index=True)[1].tolist()
    )


def test_stored_zeros_duplicate_entries_and_the_order_of_entries_make_no_difference():
    odd = sparse.csr_array(
        (np.array([1.0, 1.0, 0.0, 2.0, -0.0]), np.array([1, 1, 0, 1, 0]), np.array([0, 3, 5])), shape=(2, 2)
    )
    assert patterns(odd).of_row.tolist() == [0, 0]
    assert patterns(np.array([[0.0], [-0.0]])).of_row.tolist() == [0, 0]
    assert odd.nnz == 5  # what was given is left alone


def test_vectors_are_features_as_they_are():
    x = np.array([[1.0, 2.0], [3.0, -1.0]])
    features = plain_features(x)
    assert features.scores(np.eye(2)).tolist() == x.tolist()
    assert features.back_squared(np.eye(2)).tolist() == (x**2).T.tolist()


@pytest.mark.parametrize("times", [[1.0, 0.0], [2.0, 5.0]])
def test_an_empty_row_is_a_row_of_zeros(times):
    features = tfidf_features(sparse.csr_array(np.array([[1.0], [0.0]])), np.array(times)[:, None])
    assert features.scores(np.ones((1, 1))).ravel().tolist() == [1.0, 0.0]
