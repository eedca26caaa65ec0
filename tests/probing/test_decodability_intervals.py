"""Do the intervals hold the mean score at the given number of items? Simulated outputs, a known spread."""

import numpy as np
import pytest
from scipy import sparse

from measurand.probing.decodability_predict import Protocol, evidence, folds, out_of_fold, predicted_of, refitted
from measurand.probing.decodability_replicates import MACRO_F1, Of, replicate
from measurand.probing.decodability_rows import Board
from measurand.probing.decodability_table import Corpus
from measurand.stats.inference import clusters, stream

N_ITEMS, N_TOKENS, SHARES = 120, 40, (0.4, 0.35, 0.25)
PROTOCOL = Protocol("emoji", 4.0, True, 3, 2, 200, 16, (), "refuse", False, 0.95, 0)


def drawn(number, profiles):
    """Return a corpus of outputs of 1 to 4 tokens, drawn from the profile of the item's label."""
    rng = np.random.default_rng([7, number])
    label = rng.choice(len(SHARES), N_ITEMS, p=SHARES)
    counts = {}
    for system in ("A", "B"):
        found = np.zeros((N_ITEMS, N_TOKENS))
        for item, one in enumerate(label):
            np.add.at(found[item], rng.choice(N_TOKENS, rng.integers(1, 5), p=profiles[one]), 1)
        counts[system] = sparse.csr_array(found)
    return Corpus("", np.arange(N_ITEMS), ("a", "b", "c"), label, None, ("A", "B"), counts)


def board_of(corpus, seed):
    fold = folds(corpus, PROTOCOL, corpus.label)
    predicted = {
        Of(name): predicted_of(
            corpus.label, out_of_fold(evidence(counts, PROTOCOL), corpus.label, fold, len(corpus.classes), PROTOCOL)
        )
        for name, counts in corpus.counts.items()
    }
    items = np.arange(corpus.n_items)
    rng = stream(seed, "test")
    scores = replicate(predicted, 3, clusters(items, items, corpus.n_items), n_replicates=200, rng=rng)
    return Board(corpus, PROTOCOL, scores, {}, dict(refitted(corpus, PROTOCOL)))


@pytest.fixture(scope="module")
def boards():
    rng = np.random.default_rng(3)
    common = 1 / np.arange(1, N_TOKENS + 1)
    profiles = [0.6 * common / common.sum() + 0.4 * rng.dirichlet(np.full(N_TOKENS, 0.3)) for _ in SHARES]
    return [board_of(drawn(number, profiles), number) for number in range(40)]


def test_errors_of_refitted_decoders_are_those_that_new_items_make_and_redrawn_predictions_fall_short(boards):
    a, b = Of("A"), Of("B")
    differences = np.array([board.scores.points[a][MACRO_F1] - board.scores.points[b][MACRO_F1] for board in boards])
    spread = differences.std(ddof=1)
    again = np.mean([board.error(a, b) for board in boards])
    as_they_are = np.mean(
        [(board.scores.draws[a] - board.scores.draws[b])[:, MACRO_F1].std(ddof=1) for board in boards]
    )
    assert 0.85 < again / spread < 1.5
    assert as_they_are < 0.9 * spread


def test_two_equal_systems_are_seldom_told_apart_where_decoders_are_trained_again(boards):
    rows = [board.refitted({}, "difference", Of("A"), Of("B")) for board in boards]
    assert sum(row.low > 0 or row.high < 0 for row in rows) <= 4  # of 40, with 2 expected
    assert all("trains every decoder again" in row.method for row in rows)
