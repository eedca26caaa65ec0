"""The shape of a cloud of vectors: closed forms, brute force over pairs and blocks, published definitions, coverage."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.covariance import ledoit_wolf

from measurand.stats import geometry, separation
from measurand.stats.jackknife import blocks, jackknife_interval


def cloud(n, d, *, seed=0, offset=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.geomspace(3, 0.3, d) + offset


def alone(x):
    return np.zeros(len(x), dtype=np.int64)


def mean_cosine(x):
    u = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.mean([u[i] @ u[j] for i, j in itertools.permutations(range(len(u)), 2)])


def eigenvalues(x):
    return np.clip(np.linalg.eigvalsh(np.cov(x.T, ddof=0)), 0, None)


def cross(d, scale=1.0):
    """Points whose covariance is a multiple of the identity, exactly."""
    return scale * np.vstack([np.eye(d), -np.eye(d)])


def isoscore_of(variances):
    """IsoScore step by step as its authors define it."""
    d = len(variances)
    scaled = np.sqrt(d) * variances / np.linalg.norm(variances)
    defect = np.linalg.norm(scaled - 1) / np.sqrt(2 * (d - np.sqrt(d)))
    phi = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    return (d * phi - 1) / (d - 1)


@pytest.mark.parametrize("shape", [(7, 3), (5, 12), (2, 2)])
def test_anisotropy_is_the_mean_cosine_over_all_pairs(shape):
    x = cloud(*shape)
    assert geometry.anisotropy(x, alone(x))[0] == pytest.approx(mean_cosine(x), abs=1e-12)


@pytest.mark.parametrize("shape", [(9, 4), (9, 20)])
@pytest.mark.parametrize("members", [None, [0, 2, 3, 5, 8]])
@pytest.mark.parametrize("about", [None, [0] * 9, [0, 1, 0, 0, 1, 1, 0, 1, 0]])
def test_anisotropy_without_a_block_is_that_of_the_other_vectors_about_their_own_means(shape, members, about):
    x, block = cloud(*shape, offset=4.0), np.array([0, 0, 1, 1, 2, 2, 2, 3, 3])
    member = np.ones(9, dtype=bool) if members is None else np.isin(np.arange(9), members)
    codes = None if about is None else np.array(about)
    found = geometry.anisotropy(x, block, about=codes, member=member)
    for g in range(-1, 4):
        kept = block != g
        centred = x.copy()
        for one in [] if codes is None else np.unique(codes):
            centred[codes == one] -= x[kept & (codes == one)].mean(axis=0)
        assert found[g + 1] == pytest.approx(mean_cosine(centred[kept & member]), abs=1e-10)


@given(
    arrays.arrays(np.float64, (4, 6), elements=st.floats(-5, 5)).filter(lambda x: np.linalg.norm(x, axis=1).min() > 0.1)
)
def test_anisotropy_lies_between_its_limits_and_ignores_lengths_and_turns(x):
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 6)))[0]
    a = geometry.anisotropy(x, alone(x))[0]
    assert -1 / 3 - 1e-12 <= a <= 1 + 1e-12
    assert geometry.anisotropy((x * np.array([[1.0], [2], [3], [4]])) @ turn, alone(x))[0] == pytest.approx(a, abs=1e-9)


def test_centred_vectors_of_equal_length_have_the_mechanical_value_whatever_they_are():
    x = np.vstack([cloud(20, 6, offset=0), -cloud(20, 6, offset=0)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    found = geometry.anisotropy(x + 3.0, alone(x), about=alone(x))
    assert found[0] == pytest.approx(-1 / 39, abs=1e-12)


def test_a_vector_at_the_mean_has_no_direction_and_does_not_count():
    x = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [0, 0]]) + 7
    assert geometry.anisotropy(x, alone(x), about=alone(x))[0] == pytest.approx(-1 / 3)
    same = np.full((3, 2), 0.1)
    assert np.isnan(geometry.anisotropy(same, alone(same), about=alone(same))[0])


def test_mean_share_and_anisotropy_of_vectors_of_one_length_are_one_number():
    x = cloud(30, 8)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    a, share = geometry.anisotropy(x, alone(x))[0], geometry.mean_share(x, alone(x))[0]
    assert share == pytest.approx((1 + 29 * a) / 30)
    assert np.isnan(geometry.mean_share(np.zeros((2, 2)), np.zeros(2, dtype=int))[0])


@pytest.mark.parametrize("shape", [(11, 4), (11, 30)])
def test_traces_are_those_of_the_scatter_of_the_vectors_that_are_left(shape):
    x, block = cloud(*shape, offset=5.0), np.arange(11) % 4
    found = geometry.moments(geometry.compact(x), block)
    for g in range(-1, 4):
        left = x[block != g] - x[block != g].mean(axis=0)
        scatter = left.T @ left
        expected = (len(left), np.trace(scatter), np.trace(scatter @ scatter), (np.square(left).sum(axis=1) ** 2).sum())
        assert [one[g + 1] for one in found] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("d", [2, 5, 16])
def test_vectors_alike_in_all_directions_have_isoscore_one_and_vectors_on_a_line_zero(d):
    x = cross(d, 0.3) + 2.0
    found = geometry.moments(x, alone(x))
    assert geometry.participation_ratio(found)[0] == pytest.approx(d)
    assert geometry.isoscore(geometry.participation_ratio(found), d)[0] == pytest.approx(1.0)
    assert geometry.effective_rank(geometry.spectrum(x, alone(x)))[0] == pytest.approx(d)
    line = np.outer(np.arange(5.0), np.arange(1.0, d + 1)) + 4.0
    found = geometry.moments(line, alone(line))
    assert geometry.isoscore(geometry.participation_ratio(found), d)[0] == pytest.approx(0.0, abs=1e-12)
    assert geometry.effective_rank(geometry.spectrum(line, alone(line)))[0] == pytest.approx(1.0, abs=1e-6)


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=12))
def test_isoscore_is_what_its_authors_define(variances):
    v = np.array(variances)
    participation = v.sum() ** 2 / np.square(v).sum()
    assert geometry.isoscore(np.array([participation]), len(v))[0] == pytest.approx(isoscore_of(v), abs=1e-9)


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)])
def test_spectral_numbers_are_those_of_the_eigenvalues(shape):
    x = cloud(*shape)
    values = eigenvalues(x)
    shares = values[values > 1e-12] / values.sum()
    small = geometry.compact(x)
    found = geometry.spectrum(small, alone(small))
    assert geometry.effective_rank(found)[0] == pytest.approx(np.exp(-(shares * np.log(shares)).sum()), rel=1e-9)
    assert geometry.leading_share(found, 2)[0] == pytest.approx(np.sort(shares)[-2:].sum())
    ratio = geometry.participation_ratio(geometry.moments(small, alone(small)))[0]
    assert ratio == pytest.approx(1 / np.square(shares).sum())


def test_unbiased_traces_average_to_those_of_the_population():
    # Every sample of four drawn with replacement from three points: the means are exact.
    points = np.array([[0.0, 0.0], [3.0, 0.0], [1.0, 2.0]])
    covariance = np.cov(points.T, ddof=0)
    above, below = [], []
    for drawn in itertools.product(range(3), repeat=4):
        x = points[list(drawn)]
        n, trace, square, fourth = (one[0] for one in geometry.moments(x, alone(x)))
        trace, square, fourth = trace / (n - 1), square / (n - 1) ** 2, fourth / (n - 1)
        scale = (n - 1) / (n * (n - 2) * (n - 3))
        above.append(scale * (2 * square + (n**2 - 3 * n + 1) * trace**2 - n * fourth))
        below.append(scale * ((n - 1) * (n - 2) * square + trace**2 - n * fourth))
    assert np.mean(above) == pytest.approx(np.trace(covariance) ** 2)
    assert np.mean(below) == pytest.approx(np.trace(covariance @ covariance))


def test_the_unbiased_ratio_does_not_grow_with_the_number_of_vectors_and_the_plain_one_does():
    variances = np.geomspace(4, 0.1, 60)
    truth = variances.sum() ** 2 / np.square(variances).sum()
    plain, unbiased = {}, {}
    for n in (20, 200):
        draws = [np.random.default_rng(s).normal(size=(n, 60)) * np.sqrt(variances) for s in range(60)]
        found = [geometry.moments(geometry.compact(x), alone(x)) for x in draws]
        plain[n] = np.mean([geometry.participation_ratio(one)[0] for one in found])
        unbiased[n] = np.mean([geometry.participation_ratio(one, is_unbiased=True)[0] for one in found])
    assert plain[20] < 0.5 * truth < plain[200] < truth
    assert unbiased[20] == pytest.approx(truth, rel=0.06)
    assert unbiased[200] == pytest.approx(truth, rel=0.02)


def test_the_ratio_of_isotropic_vectors_is_what_simulation_gives():
    draws = [np.random.default_rng(s).normal(size=(25, 40)) for s in range(200)]
    found = [geometry.participation_ratio(geometry.moments(geometry.compact(x), alone(x)))[0] for x in draws]
    assert geometry.isotropic_participation(25, 40) == pytest.approx(np.mean(found), rel=0.01)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_compact_keeps_lengths_and_angles_and_leaves_the_vectors_and_small_spaces_alone(dtype):
    x = cloud(5, 40).astype(dtype)
    before = x.copy()
    small = geometry.compact(x)
    assert (x == before).all()
    assert small.shape == (5, 5)
    assert small @ small.T == pytest.approx(x.astype(float) @ x.astype(float).T, rel=1e-6)
    wide = x.T
    assert geometry.compact(wide) is wide


def test_half_precision_on_disk_is_computed_with_in_double():
    x = (1000 + cloud(50, 4)).astype(np.float16)
    assert geometry.anisotropy(x, alone(x))[0] == pytest.approx(mean_cosine(x.astype(float)), abs=1e-12)
    expected = geometry.moments(x.astype(float), alone(x))
    assert geometry.moments(x, alone(x)).square[0] == pytest.approx(expected.square[0], rel=1e-12)


def test_vectors_that_do_not_differ_have_no_dimensions():
    x = np.full((6, 3), 0.1)
    found = geometry.moments(x, alone(x))
    assert found.trace[0] == 0
    assert np.isnan(geometry.participation_ratio(found)[0])
    assert np.isnan(geometry.isoscore(np.array([1.0]), 1)[0])


def test_fisher_ratio_is_the_ratio_of_traces_with_and_without_blocks():
    x, group, block = cloud(30, 5), np.arange(30) % 3, np.arange(30) % 4
    x[group == 1] += 1.0
    found = separation.fisher_ratio(x, group, block)
    for g in range(-1, 4):
        kept = block != g
        left, of = x[kept], group[kept]
        means = np.array([left[of == c].mean(axis=0) for c in range(3)])
        shares = np.bincount(of) / len(of)
        between = (shares[:, None] * (means - left.mean(axis=0)) ** 2).sum()
        within = ((left - means[of]) ** 2).sum() / len(of)
        assert found[g + 1] == pytest.approx(between / within)


@pytest.mark.parametrize("shape", [(60, 4), (15, 25)])
def test_the_whitened_ratio_uses_the_shrunk_covariance_of_scikit_learn(shape):
    x, group = cloud(*shape), np.arange(shape[0]) % 3
    x[group == 2] += 0.5
    means = np.array([x[group == c].mean(axis=0) for c in range(3)])
    covariance, shrinkage = ledoit_wolf(x - means[group], assume_centered=True)
    offset = means - x.mean(axis=0)
    between = (offset.T * np.bincount(group) / len(x)) @ offset
    found = separation.fisher_ratio_whitened(geometry.compact(x), group, shape[1])
    assert found.shrinkage == pytest.approx(shrinkage)
    assert found.ratio == pytest.approx(np.trace(np.linalg.solve(covariance, between)))


def test_fisher_ratios_without_spread_within_are_undefined():
    x, group = np.array([[1.0], [1.0], [2.0], [2.0]]), np.array([0, 0, 1, 1])
    assert np.isnan(separation.fisher_ratio(x, group, alone(x))[0])
    assert np.isnan(separation.fisher_ratio_whitened(x, group, 1).ratio)


def test_directions_have_length_one_and_a_vector_without_length_none():
    x = np.array([[3.0, 4], [0, 0], [1, 1]])
    assert np.linalg.norm(geometry.directions(x), axis=1) == pytest.approx([1, 0, 1])
    shifted = geometry.directions(cross(3) + 5, is_centred=True)
    assert shifted == pytest.approx(cross(3), abs=1e-12)


def test_blocks_keep_clusters_whole_and_are_not_more_than_asked_for():
    cluster = np.repeat(np.arange(50), 3)
    block = blocks(cluster, most=20, rng=np.random.default_rng(0))
    assert len(np.unique(block)) == 20
    assert all(len(np.unique(block[cluster == c])) == 1 for c in range(50))
    assert len(np.unique(blocks(np.arange(5), most=20, rng=np.random.default_rng(0)))) == 5


def test_the_jackknife_of_a_mean_of_unequal_blocks_is_near_the_standard_error():
    rng = np.random.default_rng(0)
    x, block = rng.normal(size=3000), rng.choice(40, size=3000, p=np.arange(1, 41) / 820)
    values = np.array([x.mean()] + [x[block != g].mean() for g in range(40)])
    low, high, _ = jackknife_interval(values, block, confidence=0.95)
    assert (high - low) / (2 * 1.96 / np.sqrt(3000)) == pytest.approx(1, abs=0.3)
    assert np.isnan(jackknife_interval(values[:3], np.array([0, 1]), confidence=0.95).low)
    assert jackknife_interval(np.exp(values), block, confidence=0.95, is_logarithmic=True).low == pytest.approx(
        np.exp(low)
    )


def test_intervals_hold_their_statistics_as_often_as_they_say():
    # Of the mean over samples: what an interval can know about a statistic that depends on the number of vectors.
    n, d, runs = 60, 25, 150
    moments, spectrum = geometry.moments, geometry.spectrum
    held, values, intervals = {}, {}, {}
    for run in range(runs):
        x = cloud(n, d, seed=run, offset=0.5)
        block = blocks(np.arange(n), most=30, rng=np.random.default_rng(run))
        found, shape = moments(x, block), spectrum(x, block)
        for name, one in (
            ("anisotropy", geometry.anisotropy(x, block)),
            ("mean_share", geometry.mean_share(x, block)),
            ("participation", geometry.participation_ratio(found)),
            ("unbiased", geometry.participation_ratio(found, is_unbiased=True)),
            ("rank", geometry.effective_rank(shape)),
            ("leading", geometry.leading_share(shape, 1)),
        ):
            values.setdefault(name, []).append(one[0])
            intervals.setdefault(name, []).append(jackknife_interval(one, block, confidence=0.95)[:2])
    for name, found in intervals.items():
        truth = np.mean(values[name])
        held[name] = np.mean([low <= truth <= high for low, high in found])
    # Shares along the leading directions are held too often: directions turn, which the first order does not see.
    assert held.pop("leading") >= 0.97
    assert all(0.9 <= share <= 0.99 for share in held.values()), held
