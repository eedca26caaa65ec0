"""Retrieval of parallel items and shares of hits: brute force, hubs, ties, closed forms."""

import numpy as np
import pytest

from measurand.stats import retrieval
from measurand.stats.shares import share_interval


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def brute(queries, targets, k):
    cosine = queries @ targets.T
    of_query = np.sort(cosine, axis=1)[:, -k:].mean(axis=1)
    of_target = np.sort(cosine, axis=0)[-k:].mean(axis=0)
    csls = 2 * cosine - of_query[:, None] - of_target
    return (cosine.argmax(axis=1) == np.arange(len(queries))), (csls.argmax(axis=1) == np.arange(len(queries)))


@pytest.mark.parametrize("block", [2**22, 70])
def test_both_precisions_are_those_of_the_whole_table_of_similarities(monkeypatch, block):
    monkeypatch.setattr(retrieval, "_BLOCK", block)
    rng = np.random.default_rng(0)
    a = unit(rng.normal(size=(40, 8)))
    b = unit(a + rng.normal(size=(40, 8)) * 0.5)
    found = retrieval.retrieve(a, b, neighbours=5)
    cosine, csls = brute(a, b, 5)
    assert 0.1 < found.cosine.mean() < 0.95
    assert found.cosine.tolist() == cosine.tolist()
    assert found.csls.tolist() == csls.tolist()


def test_csls_takes_from_a_hub_what_it_wins_by_being_near_to_everything():
    # The first target lies in the middle of all queries; the others are turned away from theirs.
    queries = unit(np.eye(6) + 0.3)
    targets = unit(np.eye(6) + 0.1 * np.ones(6) - 1.1 * np.roll(np.eye(6), 1, axis=1))
    targets[0] = unit(np.ones((1, 6)))[0]
    found = retrieval.retrieve(queries, targets, neighbours=6)
    assert found.cosine.mean() < 0.5
    assert found.csls.mean() > 0.8


def test_equally_near_targets_share_the_hit():
    same = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert retrieval.retrieve(same, same).cosine.tolist() == [0.5, 0.5, 1.0]


def test_shares_of_independent_hits_have_wilsons_interval():
    hits = np.array([1.0] * 30 + [0.0] * 10)
    found = share_interval(hits, np.arange(40), confidence=0.95)
    assert found[:2] == pytest.approx((0.598, 0.858), abs=0.012)
    none = share_interval(np.zeros(40), np.arange(40), confidence=0.95)
    assert none.low == 0
    assert 0.05 < none.high < 0.12
    assert np.isnan(share_interval(hits, np.zeros(40, dtype=int), confidence=0.95).low)


def test_copies_within_clusters_do_not_narrow_the_interval():
    hits, cluster = np.array([1.0, 0, 1, 1, 0, 1, 1, 0]), np.arange(8)
    single = share_interval(hits, cluster, confidence=0.95)
    copied = share_interval(np.repeat(hits, 50), np.repeat(cluster, 50), confidence=0.95)
    assert copied[:2] == pytest.approx(single[:2], abs=0.03)
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(300):
        chance = np.repeat(rng.beta(2, 1, size=40), 10)
        low, high, _ = share_interval((rng.random(400) < chance).astype(float), np.arange(400) // 10, confidence=0.95)
        held += low <= 2 / 3 <= high
    assert 0.92 <= held / 300 <= 0.98
