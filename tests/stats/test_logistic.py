import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from measurand.stats import logistic
from measurand.stats.tfidf import patterns, plain_features, tfidf_features

often = settings(derandomize=True, deadline=None, max_examples=40)


def objective(x, weight, slopes, intercepts):
    """The definition, for one problem: weight is (n_classes, n_rows)."""
    z = (x @ slopes.T + intercepts).T
    top = z.max(axis=0)
    return 0.5 * (slopes**2).sum() + (weight * (top + np.log(np.exp(z - top).sum(axis=0)) - z)).sum()


@st.composite
def problems(draw):
    """Sparse rows and weights of two or three problems, some of them without one of the classes."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n, p, k, b = (draw(st.integers(*bounds)) for bounds in ((2, 12), (1, 6), (2, 4), (1, 3)))
    x = rng.poisson(0.7, size=(n, p)).astype(float)
    weight = rng.gamma(1.0, draw(st.sampled_from([0.1, 3.0, 200.0])), size=(k, n, b)) * (rng.random((k, n, b)) < 0.6)
    weight[:2, 0] += 0.5
    if k > 2 and draw(st.booleans()):
        weight[2, :, 0] = 0
    return x, weight


@often
@given(problems())
def test_the_gradient_of_the_definition_is_zero_and_the_hessian_convex_there(given_):
    x, weight = given_
    features = plain_features(sparse.csr_array(x))
    found = logistic.fit(features, logistic.targets(features, weight))
    assert np.abs(found.slopes.sum(axis=0)).max() < 1e-9
    assert np.abs(found.intercepts.sum(axis=0)).max() < 1e-9
    for b in range(weight.shape[2]):
        present = weight[:, :, b].sum(axis=1) > 0
        assert (found.slopes[~present, :, b] == 0).all()
        shape = found.slopes[present, :, b].shape

        def value(v, b=b, present=present, shape=shape):
            slopes, intercepts = v[: shape[0] * shape[1]].reshape(shape), v[shape[0] * shape[1] :]
            return objective(x, weight[present][:, :, b], slopes, intercepts)

        at = np.concatenate([found.slopes[present, :, b].ravel(), found.intercepts[present, b]])
        best = value(at)
        numeric = optimize.approx_fprime(at, value, 1e-6)
        assert np.abs(numeric).max() < 1e-4 * max(1.0, weight.sum())
        rng = np.random.default_rng(0)
        for size in (1e-3, 0.1, 3.0):
            assert value(at + size * rng.standard_normal(len(at))) >= best - 1e-9 * max(1.0, abs(best))


def test_scores_against_scikit_learn(oracle):
    given_, expected = oracle.read("decoding")
    rows = []
    for _, part in given_.groupby("sample", sort=False):
        docs = part["tokens"].fillna("").str.split().tolist()
        names = sorted({token for doc in docs for token in doc})
        x = patterns(sparse.csr_array([[doc.count(token) for token in names] for doc in docs]))
        label, fold = part["label"].to_numpy(), part["fold"].to_numpy()
        train = np.stack([np.where(fold == held, 0, part["times"]) for held in range(4)], axis=1).astype(float)
        member = np.zeros((4, len(x.rows.toarray()), len(part)))
        member[label, x.of_row, np.arange(len(part))] = 1
        weight = member @ train
        features = tfidf_features(x.rows, weight.sum(axis=0))
        counts = weight.sum(axis=1)
        n_present = (counts > 0).sum(axis=0)
        factor = part["penalty"].iloc[0] * np.where(n_present == 2, 0.5, 1)
        if part["balanced"].iloc[0]:
            factor = factor * counts.sum(axis=0) / n_present / np.where(counts > 0, counts, 1)
        weight = weight * np.broadcast_to(factor, counts.shape)[:, None]
        found = logistic.fit(features, logistic.targets(features, weight))
        scores = logistic.class_scores(features, found, counts > 0)[:, x.of_row, :]
        own = scores[:, np.arange(len(part)), fold].T
        own[np.isinf(own)] = np.nan
        own -= np.nanmean(own, axis=1, keepdims=True)
        table = part[["sample", "row"]].copy()
        table[[f"score_{k}" for k in range(4)]] = own
        rows.append(table)
    got = pd.concat(rows)
    oracle.compare(got, expected.drop(columns="predicted"), keys=["sample", "row"], rtol=0, atol=3 * logistic.TOLERANCE)


def test_the_start_does_not_change_the_optimum():
    rng = np.random.default_rng(4)
    features = plain_features(sparse.csr_array(rng.poisson(0.5, size=(30, 8)).astype(float)))
    to = logistic.targets(features, rng.gamma(1.0, size=(3, 30, 2)))
    plain = logistic.fit(features, to)
    for scale in (0.1, 1.0, 50.0):
        start = logistic.Weights(scale * rng.standard_normal((3, 8, 1)), scale * rng.standard_normal((3, 1)))
        other = logistic.fit(features, to, start=start)
        assert np.abs(other.slopes - plain.slopes).max() < 3 * logistic.TOLERANCE


def test_a_huge_weight_and_a_tiny_one_converge():
    rng = np.random.default_rng(5)
    x = rng.poisson(0.5, size=(40, 10)).astype(float)
    features = plain_features(sparse.csr_array(x))
    label = rng.integers(0, 3, size=40)
    weight = np.zeros((3, 40, 4))
    for b, size in enumerate((1e-8, 1e-2, 1e4, 1e8)):
        weight[label, np.arange(40), b] = size
    found = logistic.fit(features, logistic.targets(features, weight))
    lengths = np.sqrt((found.slopes**2).sum(axis=(0, 1)))
    assert (np.diff(lengths) > 0).all()
    assert lengths[0] < 1e-6


def test_fits_that_do_not_converge_are_no_result(monkeypatch):
    monkeypatch.setattr(logistic, "_STEPS", 1)
    features = plain_features(np.eye(3))
    with pytest.raises(ArithmeticError, match="1 of 1 fits did not converge"):
        logistic.fit(features, logistic.targets(features, np.eye(3)[:, :, None] * 50))
