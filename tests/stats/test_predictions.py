import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from measurand.stats import classes
from measurand.stats.inference import bootstrap, clusters, stream
from measurand.stats.predictions import Predictions

often = settings(derandomize=True, deadline=None, max_examples=60)


@st.composite
def boards(draw):
    """Labels, several predictions of them and whole-number weights; some unknown, some without a prediction."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, k, j = draw(st.integers(1, 15)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    label, predicted = rng.integers(-1, k, size=n), rng.integers(-1, k, size=(j, n))
    return label, predicted.astype(np.int16), rng.integers(0, 3, size=(3, n)).astype(float), k


@often
@given(boards())
def test_each_table_is_the_confusion_of_its_predictions(board):
    label, predicted, weights, k = board
    found = Predictions.of(label, predicted, n_classes=k).confusion(weights)
    assert found.shape == (3, len(predicted), k, k + 1)
    known = label >= 0
    for one, row in zip(np.moveaxis(found, 1, 0), predicted, strict=True):
        membership = np.eye(k + 1)[row[known]][:, :k]  # -1 is the last: nothing is chosen
        assert (one == classes.confusion(membership, label[known], weights[:, known])).all()


def test_macro_f1_of_redrawn_predictions_against_scikit_learn():
    rng = np.random.default_rng(1)
    label = rng.choice(5, size=300, p=[0.28, 0.25, 0.2, 0.15, 0.12])
    predicted = np.where(rng.random((4, 300)) < 0.6, label, rng.integers(0, 5, size=(4, 300)))
    weights = rng.multinomial(300, np.full(300, 1 / 300), size=6)
    found = Predictions.of(label, predicted, n_classes=5).macro_f1(weights.astype(float))
    for sample, row in zip(found, weights, strict=True):
        rows = np.repeat(np.arange(300), row)
        for value, one in zip(sample, predicted, strict=True):
            assert value == pytest.approx(f1_score(label[rows], one[rows], average="macro"), abs=1e-12)


def test_a_prediction_is_replicated_as_it_is_alone_whatever_stands_beside_it():
    rng = np.random.default_rng(2)
    label, predicted = rng.integers(0, 3, size=80), rng.integers(0, 3, size=(5, 80))
    drawn = clusters(np.arange(80) // 2, np.arange(80), 80)
    together, alone = (
        bootstrap(Predictions.of(label, some, n_classes=3).macro_f1, drawn, n_replicates=50, rng=stream(1))
        for some in (predicted, predicted[3:4])
    )
    assert (together[:, 3:4] == alone).all()
    assert together.std(axis=0).min() > 0


def test_the_majority_class_has_its_closed_form():
    """Macro-F1 of always the largest class is 2 share / (1 + share) / classes: .087 at a share of .278 of five."""
    label = np.repeat(np.arange(5), [278, 250, 200, 150, 122])
    one = Predictions.of(label, np.zeros((1, 1000), dtype=int), n_classes=5)
    assert one.macro_f1(np.ones((1, 1000)))[0, 0] == pytest.approx(2 * 0.278 / 1.278 / 5, abs=1e-12)


def test_labels_can_differ_between_predictions():
    label = np.array([[0, 1, 1], [1, 0, -1]])
    found = Predictions.of(label, np.array([[0, 1, 1], [0, 0, 0]]), n_classes=2).confusion(np.ones((1, 3)))[0]
    assert found[:, :, :2].tolist() == [[[1, 0], [0, 2]], [[1, 0], [1, 0]]]


@pytest.mark.parametrize(("label", "predicted", "what"), [(2, 0, "label"), (-2, 0, "label"), (0, 2, "prediction")])
def test_a_class_outside_the_label_set_is_refused(label, predicted, what):
    with pytest.raises(ValueError, match=f"a {what} is none of the 2 classes"):
        Predictions.of(np.array([label]), np.array([[predicted]]), n_classes=2)
