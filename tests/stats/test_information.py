import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from measurand.stats.information import entropy, information_tests, mutual_information

often = settings(derandomize=True, deadline=None, max_examples=60)


def tables(seed, n, shape):
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, rng.dirichlet(np.full(shape[0] * shape[1], 0.5))).reshape(1, *shape).astype(float)


@often
@given(st.integers(0, 10**6), st.integers(1, 60), st.tuples(st.integers(1, 4), st.integers(1, 5)))
def test_the_plugin_is_scikit_learns_in_bits(seed, n, shape):
    counts = tables(seed, n, shape)
    found = mutual_information(counts)
    other = mutual_info_score(None, None, contingency=counts[0]) / np.log(2)
    assert found.plugin[0] == pytest.approx(other, abs=1e-12)
    turned = mutual_information(counts.transpose(0, 2, 1))
    assert turned.plugin[0] == pytest.approx(found.plugin[0], abs=1e-12)
    assert turned.corrected[0] == pytest.approx(found.corrected[0], abs=1e-12)


def test_right_on_k_equal_classes_is_log2_k_and_a_constant_prediction_nothing():
    right = mutual_information(10 * np.eye(8)[None])
    assert right.plugin[0] == pytest.approx(3, abs=1e-12)
    constant = np.zeros((1, 3, 3))
    constant[0, :, 1] = [5, 6, 7]
    found = mutual_information(constant)
    assert found.plugin[0] == pytest.approx(0, abs=1e-12)
    assert found.corrected[0] == pytest.approx(0, abs=1e-12)


def test_the_correction_takes_nearly_all_of_the_bias_of_independent_pairs():
    rng = np.random.default_rng(1)
    shares = np.outer([0.28, 0.25, 0.2, 0.15, 0.12], [0.4, 0.2, 0.2, 0.1, 0.1]).ravel()
    found = mutual_information(rng.multinomial(400, shares, size=4000).reshape(-1, 5, 5).astype(float))
    assert found.plugin.mean() > 0.025
    assert abs(found.corrected.mean()) < 0.002


def test_nothing_counted_is_undefined():
    found = mutual_information(np.zeros((1, 2, 2)))
    assert np.isnan(found.plugin).all()
    assert np.isnan(found.corrected).all()


def test_permutations_of_labels_reject_as_often_as_they_say_with_and_without_groups():
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(20), 3)
    for of in (None, group):
        # Labels and features that stay the same within groups: permuting items one by one would find far too much.
        p = []
        for _ in range(150):
            label, x = (rng.integers(0, 3, 20 if of is not None else 60) for _ in range(2))
            if of is not None:
                label, x = label[of], x[of]
            (test,) = information_tests(x[None], label, group=of, n_draws=99, rng=rng)
            p.append(test.p)
        assert np.mean(np.array(p) <= 0.1) < 0.18


def test_a_feature_that_is_the_label_has_the_smallest_p_and_groups_of_different_sizes_allow_none():
    label = np.arange(30) % 3
    (test,) = information_tests(label[None], label, group=None, n_draws=199, rng=np.random.default_rng(1))
    assert test.p == test.attainable_p == 1 / 200
    sizes = np.repeat(np.arange(4), [1, 2, 3, 4])
    (test,) = information_tests(sizes[None], sizes % 2, group=sizes, n_draws=199, rng=np.random.default_rng(1))
    assert test.p == test.attainable_p == 1


def test_the_entropy_of_equal_shares_is_log2_of_their_number():
    assert entropy(np.array([7.0] * 8)) == pytest.approx(3)


def test_no_information_is_0_without_dust():
    found = mutual_information(np.outer([3.0, 7.0, 11.0], [13.0, 1.0, 5.0])[None])
    assert found.plugin[0] == 0
