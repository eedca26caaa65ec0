import numpy as np
import pytest
from scipy import stats

from measurand.stats.inference import t_p
from measurand.stats.resampled import corrected_resampled_t, pooled_t_test


def test_the_correction_adds_the_ratio_of_test_to_training_rows():
    values = np.array([0.01, 0.03, 0.02, 0.05, 0.00])
    found = corrected_resampled_t(values, n_train=80, n_test=20, confidence=0.9)
    error = np.sqrt((1 / 5 + 0.25) * values.var(ddof=1))
    assert found.t == pytest.approx(values.mean() / error, rel=1e-12)
    assert found.df == 4
    assert found.p == pytest.approx(2 * stats.t.sf(found.t, 4), rel=1e-9)
    half = stats.t.ppf(0.95, 4) * error
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-9)


def test_with_hardly_any_test_rows_it_is_the_plain_paired_t():
    values = np.array([0.3, 0.1, 0.4, 0.1, 0.5])
    plain = stats.ttest_1samp(values, 0)
    found = corrected_resampled_t(values, n_train=1, n_test=1e-15, confidence=0.95)
    assert found.p == pytest.approx(plain.pvalue, rel=1e-6)


def test_the_papers_unpaired_test_has_its_p_and_the_corrected_one_a_far_larger():
    # Section 9: t = 4.97 with 6 replicates of each kind, p = .0006, which is 10 degrees of freedom.
    assert t_p(4.97, 10) == pytest.approx(0.0006, abs=0.0001)
    shrunk = 4.97 * np.sqrt((1 / 6) / (1 / 6 + 0.25))
    assert t_p(shrunk, 5) == pytest.approx(0.0256, abs=0.0005)


def test_more_splits_of_the_same_rows_do_not_make_the_error_vanish():
    rng = np.random.default_rng(1)
    values = rng.normal(0.01, 0.01, 100_000)
    found = corrected_resampled_t(values, n_train=80, n_test=20, confidence=0.95)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.01 * 0.5, rel=0.02)


@pytest.mark.parametrize(
    ("values", "reason"), [([0.1], "1 split"), ([0.1, 0.1, 0.1], "do not vary"), ([0.0, 0.0], "do not vary")]
)
def test_without_spread_the_mean_stands_alone(values, reason):
    found = corrected_resampled_t(np.array(values), n_train=8, n_test=2, confidence=0.95)
    assert found.mean == pytest.approx(values[0])
    assert np.isnan([found.low, found.high, found.t, found.p]).all()
    assert reason in found.undefined


def test_without_any_split_there_is_no_mean():
    found = corrected_resampled_t(np.array([]), n_train=8, n_test=2, confidence=0.95)
    assert np.isnan(found.mean)
    assert "0 split" in found.undefined


def test_a_split_with_an_empty_side_is_refused():
    with pytest.raises(ValueError, match="some on either side"):
        corrected_resampled_t(np.array([0.1, 0.2]), n_train=10, n_test=0, confidence=0.95)


def test_the_pooled_test_is_students():
    a, b = np.array([0.63, 0.64, 0.62, 0.61]), np.array([0.60, 0.58, 0.61])
    ours, theirs = pooled_t_test(a, b), stats.ttest_ind(a, b)
    assert (ours.statistic, ours.df2, ours.p) == pytest.approx((theirs.statistic, 5, theirs.pvalue), rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [([1.0], [2.0, 3.0]), ([1.0, 1.0], [2.0, 2.0])])
def test_the_pooled_test_is_undefined_without_spread(a, b):
    found = pooled_t_test(np.array(a), np.array(b))
    assert np.isnan(found.p)
    assert found.undefined
