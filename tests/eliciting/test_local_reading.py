import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

torch = pytest.importorskip("torch")

from measurand.eliciting.answer_set import AnswerSet, Spelling  # noqa: E402
from measurand.eliciting.local.prefix import Question  # noqa: E402
from measurand.eliciting.local.reading import (  # noqa: E402
    chains_of,
    label_log_probabilities,
    log_probabilities,
    reading_of,
)
from measurand.eliciting.local.render import Rendered  # noqa: E402
from measurand.result import MeasurandError  # noqa: E402

N = 12


def answers(*labels, subtracted=None):
    spellings = tuple(tuple(Spelling(str(ids), ids, "token") for ids in label) for label in labels)
    return AnswerSet(tuple(f"label {k}" for k in range(len(labels))), spellings, (), subtracted or {})


def question(closed):
    return Question(Rendered((5, 6, 7), "text", "tail", "print"), chains_of(closed))


def reading(logits, closed, decode=lambda ids: f"t{ids[0]}"):
    rows = torch.tensor(np.atleast_2d(logits), dtype=torch.float32)
    return reading_of(rows, question(closed), closed, decode=decode, n_cached=0)


def test_log_probabilities_are_those_of_scipy_and_sum_to_one():
    """T14, T55: a log-probability and not a loss; float64 keeps what float32 and bfloat16 would lose in the tails."""
    logits = np.random.default_rng(0).normal(0, 30, (3, N)).astype(np.float32)
    found = log_probabilities(torch.from_numpy(logits)).numpy()
    np.testing.assert_allclose(found, special.log_softmax(logits.astype(np.float64), axis=1), rtol=1e-12, atol=1e-12)
    assert np.exp(found).sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.dtype == np.float64


def test_a_label_made_likelier_gets_the_larger_probability():
    """T14: the sign is right."""
    closed = answers([(1,)], [(2,)])
    low, high = np.zeros(N), np.zeros(N)
    high[1] = 2.0
    assert reading(high, closed).low[0] > reading(low, closed).low[0]
    assert reading(high, closed).low[1] < reading(low, closed).low[1]


def test_log_odds_do_not_saturate_where_probabilities_do():
    """T55: P(yes) is 1 in float32, and the log-odds are still told apart."""
    closed = answers([(1,)], [(2,)])
    found = []
    for logit in (40.0, 41.0):
        logits = np.zeros(N)
        logits[1] = logit
        one = reading(logits, closed)
        assert np.float32(math.exp(one.low[0])) == 1
        found.append(one.low[0] - one.low[1])
    assert found[1] - found[0] == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("broken", [math.nan, -math.inf, math.inf])
def test_logits_that_are_not_finite_are_refused(broken):
    """T64: filtered or failed logits are no reading."""
    logits = np.full(N, -math.inf) if broken == -math.inf else np.r_[broken, np.zeros(N - 1)]
    with pytest.raises(MeasurandError, match="not finite"):
        reading(logits, answers([(1,)], [(2,)]))


def test_a_token_that_can_not_follow_is_no_fault():
    logits = np.zeros(N)
    logits[7] = -math.inf
    closed = answers([(1,)], [(7,)])
    assert reading(logits, closed).low[1] == -math.inf
    assert reading(logits, closed).mass_high == pytest.approx(1 / (N - 1))


def brute(rows, chains, closed):
    """Return labels' log-probabilities by adding up products of probabilities, one sequence at a time."""
    p = special.softmax(np.asarray(rows, dtype=np.float64), axis=1)
    own = {}
    for sequence in (s for label in closed.sequences for s in label):
        own[sequence] = math.prod(p[chains.index(sequence[:k]), token] for k, token in enumerate(sequence))
    net = {s: own[s] - sum(own[longer] for longer in closed.subtracted.get(s, ())) for s in own}
    return [math.log(sum(net[s] for s in label)) for label in closed.sequences], net


@given(st.integers(0, 2**16))
def test_spellings_of_several_tokens_are_products_along_their_own_chain(seed):
    closed = answers([(1,), (3, 4, 5), (3, 6)], [(2,), (3, 4, 8)])
    chains = chains_of(closed)
    assert chains == ((), (3,), (3, 4))
    rows = np.random.default_rng(seed).normal(0, 3, (3, N)).astype(np.float32)
    found, _ = label_log_probabilities(log_probabilities(torch.from_numpy(rows)), chains, closed)
    np.testing.assert_allclose(found, brute(rows, list(chains), closed)[0], rtol=1e-12, atol=1e-12)


@given(st.integers(0, 2**16))
def test_a_numeral_that_begins_another_is_counted_without_it(seed):
    closed = answers([(1,)], [(1, 0)], [(2,)], subtracted={(1,): ((1, 0),)})
    chains = chains_of(closed)
    rows = np.random.default_rng(seed).normal(0, 2, (2, N)).astype(np.float32)
    found, _ = label_log_probabilities(log_probabilities(torch.from_numpy(rows)), chains, closed)
    expected, net = brute(rows, list(chains), closed)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    p = special.softmax(rows.astype(np.float64), axis=1)
    assert math.exp(found[0]) + math.exp(found[1]) == pytest.approx(p[0, 1], rel=1e-12)
    assert net[(1,)] == pytest.approx(p[0, 1] * (1 - p[1, 0]))


def test_what_a_token_adds_to_a_longer_spelling_is_no_other_answer():
    closed = answers([(1,)], [(2,), (3, 4)])
    rows = np.zeros((2, N))
    rows[0, 3] = 3.0  # the likeliest token begins a spelling …
    rows[1, 4] = 2.0  # … and goes on to be it in most cases
    one = reading(rows, closed)
    p = special.softmax(rows.astype(np.float64), axis=1)
    others = dict(one.others)
    assert others["t3"] == pytest.approx(p[0, 3] * (1 - p[1, 4]), rel=1e-6)
    assert "t1" not in others
    assert "t2" not in others
    everything = one.mass_high + p[0, 3] * (1 - p[1, 4]) + sum(p[0, k] for k in range(N) if k not in (1, 2, 3))
    assert everything == pytest.approx(1, abs=1e-12)


def test_others_are_the_likeliest_outside_the_set_largest_first():
    logits = np.arange(N, dtype=float)
    one = reading(logits, answers([(11,)], [(9,)]))
    assert [text for text, _ in one.others] == ["t10", "t8", "t7", "t6", "t5"]
    p = special.softmax(logits)
    assert one.others[0][1] == pytest.approx(p[10])
    assert one.top == "t11"
    assert one.low == one.high
    assert one.mass_high == pytest.approx(p[11] + p[9])
    assert (one.n_prompt, one.fingerprint) == (3, "print")


def test_a_special_token_as_the_likeliest_is_named():
    """T28: an end or a padding token at the read position says that the prompt is wrong."""
    logits = np.zeros(N)
    logits[0] = 9.0
    assert reading(logits, answers([(1,)], [(2,)]), decode=lambda ids: "<pad>" if ids == [0] else "x").top == "<pad>"


def test_a_row_of_the_head_behind_the_vocabulary_has_a_name():
    logits = np.zeros(N)
    logits[0] = 9.0

    def decode(ids):
        raise IndexError(ids)

    assert reading(logits, answers([(1,)], [(2,)]), decode=decode).top == "<token 0>"


@given(st.lists(st.floats(-20, 5, width=32), min_size=3, max_size=3), st.permutations([0, 1, 2]))
def test_ties_stay_ties_whatever_the_order_of_options(logits, order):
    """T74, T75: equal spellings give equal labels to the last bit, and swapping the options swaps the numbers."""
    row = np.zeros(N)
    row[[1, 2, 3]] = logits
    row[[4, 5, 6]] = [logits[i] for i in order]
    one, swapped = answers([(1,), (2,), (3,)], [(4,), (5,), (6,)]), answers([(4,), (5,), (6,)], [(1,), (2,), (3,)])
    found = reading(row, one)
    assert found.low[0] == found.low[1]
    assert reading(row, swapped).low == found.low
    row[1] += 1
    moved, moved_swapped = reading(row, one).low, reading(row, swapped).low
    assert moved == moved_swapped[::-1]
    assert moved[0] > moved[1]
