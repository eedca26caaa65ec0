"""Retrieval of parallel items and shares of hits: brute force, hubs, ties, closed forms."""

import numpy as np
import pytest

from measurand.stats import retrieval


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
