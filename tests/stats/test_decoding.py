import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

from measurand.stats import decoding
from measurand.stats.decoding import decode
from measurand.stats.folds import stratified_folds

often = settings(derandomize=True, deadline=None, max_examples=40)


def simulated(n=500, *, n_tokens=80, n_classes=5, seed=0, empty=0.05):
    """Rows of one to five tokens whose shares differ between classes, some of them empty."""
    rng = np.random.default_rng(seed)
    label = rng.choice(n_classes, size=n, p=np.arange(n_classes + 1, 1, -1) / np.arange(n_classes + 1, 1, -1).sum())
    shares = np.exp(rng.normal(size=(n_classes, n_tokens))) / (np.arange(n_tokens) + 3.0)
    shares /= shares.sum(axis=1, keepdims=True)
    size = np.where(rng.random(n) < empty, 0, rng.integers(1, 6, size=n))
    counts = np.array([rng.multinomial(k, shares[c]) for k, c in zip(size, label, strict=True)])
    return sparse.csr_array(counts), label


def folded(label, *, n_folds=5, n_seeds=1, seed=0):
    rng = np.random.default_rng(seed)
    drawn = [stratified_folds(label, n_folds=n_folds, rng=rng) for _ in range(n_seeds)]
    return np.concatenate([fold != np.arange(n_folds)[:, None] for fold in drawn])


def by_scikit_learn(x, label, weight, *, penalty, balanced=True, features="tfidf"):
    """What scikit-learn predicts for every row, trained on rows that are repeated as often as the weight says."""
    rows = np.repeat(np.arange(len(label)), np.asarray(weight).astype(int))
    if features == "tfidf":
        x = x[:, np.asarray(x[rows].sum(axis=0)).ravel() > 0]  # TfidfVectorizer has no column for unseen tokens
        terms = TfidfTransformer(sublinear_tf=True).fit(sparse.csr_matrix(x[rows]))
        x = terms.transform(sparse.csr_matrix(x))
    model = LogisticRegression(C=penalty, class_weight="balanced" if balanced else None, tol=1e-8, max_iter=10000)
    return model.fit(x[rows], label[rows]).predict(x)


def agrees(x, label, train, **settings_):
    found = decode(x, label, train, n_classes=int(label.max()) + 1, **settings_)
    other = [by_scikit_learn(x, label, weight, **settings_) for weight in train]
    return (found == np.array(other)).mean()


# --- Other programs ---------------------------------------------------------------------------------------------------


def test_out_of_fold_predictions_against_scikit_learn(oracle):
    given_, expected = oracle.read("decoding")
    rows = []
    for _, part in given_.groupby("sample", sort=False):
        docs = part["tokens"].fillna("").str.split().tolist()
        names = sorted({token for doc in docs for token in doc})
        x = sparse.csr_array([[doc.count(token) for token in names] for doc in docs])
        fold = part["fold"].to_numpy()
        train = np.stack([np.where(fold == held, 0, part["times"]) for held in range(4)])
        penalty, balanced = float(part["penalty"].iloc[0]), bool(part["balanced"].iloc[0])
        found = decode(x, part["label"].to_numpy(), train, n_classes=4, penalty=penalty, balanced=balanced)
        rows.append(part[["sample", "row"]].assign(predicted=found[fold, np.arange(len(part))]))
    columns = ["sample", "row", "predicted"]
    oracle.compare(pd.concat(rows), expected[columns], keys=["sample", "row"], rtol=0)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("balanced", [True, False])
def test_every_prediction_is_scikit_learns_at_its_optimum(n_classes, balanced):
    x, label = simulated(n_classes=n_classes)
    assert agrees(x, label, folded(label, n_folds=3), penalty=4.0, balanced=balanced) == 1


def test_bootstrap_weights_count_as_repeated_rows():
    x, label = simulated(300)
    train = np.random.default_rng(1).multinomial(300, np.full(300, 1 / 300), size=4)
    assert agrees(x, label, train, penalty=4.0) == 1


@pytest.mark.parametrize("shape", [(200, 12), (60, 150)], ids=["more rows than columns", "fewer"])
def test_vectors_against_scikit_learn(shape):
    rng = np.random.default_rng(2)
    label = rng.integers(0, 4, size=shape[0])
    x = rng.normal(size=shape) + 3 * rng.normal(size=shape[1]) + 0.7 * rng.normal(size=(4, shape[1]))[label]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    assert agrees(x, label, folded(label, n_folds=4), penalty=1.0, features="dense") == 1
    long = decode(30 * x, label, folded(label), n_classes=4, penalty=1.0, features="dense")
    kept = decode(sparse.csr_array(30 * x), label, folded(label), n_classes=4, penalty=1.0, features="dense")
    assert (long == kept).all()


def test_real_emoji_outputs_against_scikit_learn(shared):
    """Emoji replies of a language model to tweets, each code point but joiners and selectors a token."""
    table = pd.read_csv(shared / "data/emoji_outputs/outputs.csv.gz", keep_default_na=False)
    table = table[(table["system"] == table["system"].iloc[0]) & (table["label"] != "")].iloc[:1500]
    label = pd.factorize(table["label"], sort=True)[0]
    docs = [[c for c in text if c not in "\u200d\ufe0f "] for text in table["text"]]
    names = sorted({token for doc in docs for token in doc})
    place = {token: column for column, token in enumerate(names)}
    at = [(row, place[token]) for row, doc in enumerate(docs) for token in doc]
    x = sparse.csr_array((np.ones(len(at)), tuple(np.array(at).T)), shape=(len(docs), len(names)))
    assert agrees(x, label, folded(label)[:2], penalty=4.0) == 1


# --- Properties -------------------------------------------------------------------------------------------------------


@st.composite
def small(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k = draw(st.integers(4, 20)), draw(st.integers(2, 4))
    x = rng.poisson(draw(st.sampled_from([0.2, 0.8])), size=(n, draw(st.integers(1, 6))))
    label = rng.integers(-1, k, size=n)
    label[:k] = np.arange(k)
    train = rng.integers(0, 3, size=(draw(st.integers(1, 6)), n))
    train[:, 0] += 1
    return x, label, train, k


@often
@given(small(), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_tokens_does_not_matter(given_, random):
    x, label, train, k = given_
    plain = decode(sparse.csr_array(x), label, train, n_classes=k, penalty=4.0)
    rows, columns = list(range(len(x))), list(range(x.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    other = decode(sparse.csr_array(x[rows][:, columns]), label[rows], train[:, rows], n_classes=k, penalty=4.0)
    assert (other == plain[:, rows]).all()


@often
@given(small())
def test_twice_a_row_is_the_row_with_weight_two(given_):
    x, label, train, k = given_
    twice = np.minimum(train, 1) * 2
    plain = decode(sparse.csr_array(x), label, twice, n_classes=k, penalty=4.0)
    stacked = decode(
        sparse.csr_array(np.vstack([x, x])),
        np.r_[label, label],
        np.hstack([twice // 2, twice // 2]),
        n_classes=k,
        penalty=4.0,
    )
    assert (stacked == np.hstack([plain, plain])).all()


@often
@given(small())
def test_a_problem_is_predicted_the_same_alone(given_):
    x, label, train, k = given_
    together = decode(sparse.csr_array(x), label, train, n_classes=k, penalty=4.0)
    for one, row in zip(together, train, strict=True):
        assert (one == decode(sparse.csr_array(x), label, row[None], n_classes=k, penalty=4.0)[0]).all()


@often
@given(small())
def test_what_is_not_trained_on_changes_nothing(given_):
    x, label, train, k = given_
    used = (train.sum(axis=0) > 0) & (label >= 0)
    plain = decode(sparse.csr_array(x), label, train, n_classes=k, penalty=4.0)
    assert set(plain.ravel()) <= set(label[used])
    other = np.where(used, label, (label + 1) % k)
    same = decode(sparse.csr_array(x), np.where(label < 0, -1, other), train, n_classes=k, penalty=4.0)
    assert (plain == same).all()


def test_blocks_of_any_size_predict_the_same(monkeypatch):
    x, label = simulated(150)
    train = folded(label, n_seeds=3)
    plain = decode(x, label, train, n_classes=5, penalty=4.0)
    for block in (1, 3000):
        monkeypatch.setattr(decoding, "_BLOCK", block)
        assert (decode(x, label, train, n_classes=5, penalty=4.0) == plain).all()


def test_memory_does_not_grow_with_rows_times_tokens():
    """Ten thousand rows of two tokens, one of them nobody else's: 800 MB as a dense matrix."""
    n = 10_000
    label = np.arange(n) % 2
    indices = np.column_stack([label, np.arange(n) + 2]).ravel()
    x = sparse.csr_array((np.ones(2 * n), indices, np.arange(0, 2 * n + 1, 2)), shape=(n, n + 2))
    train = np.arange(n) % 3 != np.arange(3)[:, None]
    tracemalloc.start()
    found = decode(x, label, train, n_classes=2, penalty=4.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found == label).all()
    assert peak < 120e6


# --- Degenerate tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", decoding.FEATURES)
def test_without_a_token_the_majority_of_the_training_rows_is_predicted(features):
    x, label = sparse.csr_array((7, 3), dtype=float), np.array([0, 1, 1, 2, 2, 2, 0])
    train = np.array([[1, 1, 1, 1, 1, 1, 1], [2, 1, 1, 0, 0, 0, 2], [1, 1, 0, 0, 0, 0, 0]])
    found = decode(x, label, train, n_classes=3, penalty=4.0, features=features)
    assert (found == np.array([2, 0, 0])[:, None]).all()  # of two equals the first
    assert (decode(x, label, train, n_classes=3, penalty=4.0, balanced=False)[:2] == found[:2]).all()


def test_a_constant_output_is_predicted_as_the_majority():
    x = sparse.csr_array(np.ones((10, 1)))
    label = np.repeat([0, 1], [4, 6])
    assert (decode(x, label, np.ones((1, 10)), n_classes=2, penalty=4.0) == 1).all()


def test_the_only_class_of_the_training_rows_is_predicted_and_absent_ones_never():
    x, label = simulated(60)
    train = np.stack([label == 3, label != 1, np.ones(60, dtype=bool)])
    found = decode(x, label, train, n_classes=6, penalty=4.0)
    assert (found[0] == 3).all()
    assert 1 not in found[1]
    assert 5 not in found


def test_a_token_that_no_training_row_has_does_not_shorten_the_others():
    x = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 0], [1, 0, 9], [0, 1, 9], [0, 0, 5]]))
    label = np.array([0, 1, -1, -1, -1])
    found = decode(x, label, np.ones((1, 5)), n_classes=2, penalty=4.0)[0]
    assert found.tolist() == [0, 1, 0, 1, 0]


def test_no_problem_is_no_prediction():
    x, label = simulated(10)
    assert decode(x, label, np.ones((0, 10)), n_classes=5, penalty=4.0).shape == (0, 10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"penalty": 0.0}, "penalty's C is 0.0"),
        ({"penalty": np.nan}, "penalty's C is nan"),
        ({"features": "counts"}, "features are 'counts'; they are one of tfidf, dense"),
        ({"label": np.array([0, 1, 2])}, "label 2 of row 2 is none of the 2 classes"),
        ({"label": np.array([0, -2, 1])}, "label -2 of row 1"),
        ({"train": np.ones((1, 2))}, "do not belong together"),
        ({"train": np.ones(3)}, "do not belong together"),
        ({"train": np.array([[1, -1, 1]])}, "training weight is negative"),
        ({"train": np.array([[1, 1, 1], [0, 0, 0]])}, "problem 1 has no training row"),
        ({"label": np.array([-1, -1, -1])}, "problem 0 has no training row with a known class"),
        ({"x": np.array([[1, 0], [0.5, 0], [0, 1]])}, "count of tokens is below 1"),
        ({"x": np.array([[1, 0], [-1.0, 0], [0, 1]])}, "count of tokens is below 1"),
        ({"x": np.array([[1, 0], [np.nan, 0], [0, 1]]), "features": "dense"}, "not a finite number"),
    ],
)
def test_what_cannot_be_decoded_is_refused_in_words(change, message):
    settings_ = {"x": np.eye(3), "label": np.array([0, 1, 1]), "train": np.ones((1, 3)), "penalty": 1.0} | change
    x, label, train = (settings_.pop(name) for name in ("x", "label", "train"))
    with pytest.raises(ValueError, match=message):
        decode(x, label, train, n_classes=2, **settings_)
