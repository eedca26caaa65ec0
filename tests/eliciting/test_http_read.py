import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eliciting.servers import completion, likeliest
from measurand.eliciting.engine import Failure, Reading
from measurand.eliciting.http.read import n_variants, reading_of, reply_of
from measurand.eliciting.labels import Labels

CLOSED = 1e-12
YES_NO = Labels({"yes": ("yes",), "no": ("no",)})


def read(document, labels=YES_NO, n_asked=None):
    top = (document["choices"][0].get("logprobs") or {}).get("content") or [{"top_logprobs": []}]
    n_asked = len(top[0]["top_logprobs"]) if n_asked is None else n_asked
    return reading_of(document, labels, n_asked=n_asked, fingerprint="f", seconds=0.5)


def of(*tokens, labels=YES_NO, n_asked=None):
    return read(completion(top=likeliest(*tokens)), labels, n_asked)


def p(reading):
    """Bounds as probabilities."""
    return np.exp(reading.low), np.exp(reading.high)


# --- What counts as which answer --------------------------------------------------------------------------------------


def test_spellings_of_one_answer_add_up():
    reading = of((" yes", 0.3), ("Yes", 0.2), (" NO", 0.15), ("yes.", 0.05), (" maybe", 0.04))
    low, high = p(reading)
    assert low == pytest.approx([0.55, 0.15], abs=CLOSED)
    assert high == pytest.approx([0.55 + 0.26, 0.15 + 0.26], abs=CLOSED)  # r = 0.26 is below what unseen ones can have
    assert reading.others == [(" maybe", pytest.approx(0.04))]
    assert reading.top == " yes"
    assert (reading.n_prompt, reading.n_completion, reading.fingerprint, reading.seconds) == (10, 1, "f", 0.5)


def test_the_unseen_are_bounded_by_the_least_token_that_was_shown():
    reading = of((" yes", 0.6), (" no", 0.3), (" maybe", 1e-4), (" so", 1e-5))
    low, high = p(reading)
    assert high - low == pytest.approx([(n_variants(YES_NO, "yes") - 1) * 1e-5, (n_variants(YES_NO, "no") - 1) * 1e-5])


@pytest.mark.parametrize("text", ["not", " nothing", "none", "yesterday", "yes/no", "eyes", "know", "anno"])
def test_part_of_a_word_is_no_answer(text):
    """X10: `no` is in `not`, and is not `no`."""
    low, _ = p(of((text, 0.5), (" yes", 0.2), (" no", 0.1)))
    assert low == pytest.approx([0.2, 0.1], abs=CLOSED)


def test_the_bytes_are_the_token_where_text_and_bytes_differ():
    """T04: a server that loses the leading space of the text tells it by the bytes."""
    top = likeliest((" yes", 0.6), (" no", 0.3))
    for entry in top:
        entry["token"] = entry["token"].strip()
    assert read(completion(top=top)).top == " yes"
    for entry in top:
        entry["bytes"] = None
    assert read(completion(top=top)).top == "yes"


def test_a_token_that_begins_an_answer_counts_to_the_upper_bound_alone():
    """`y` may go on to `yes`; nobody knows how often."""
    low, high = p(of(("y", 0.5), (" no", 0.4), ("a", 0.1)))
    assert low == pytest.approx([0, 0.4], abs=CLOSED)
    assert high == pytest.approx([0.5, 0.4], abs=CLOSED)


def test_a_number_that_begins_another_is_certain_for_neither():
    """On a scale from 1 to 10 the token 1 may be the whole number, or the start of 10."""
    labels = Labels({str(n): (str(n),) for n in (1, 2, 10)}, are_numerals=True)
    reading = of(("1", 0.6), ("2", 0.3), ("3", 0.1), labels=labels)
    low, high = p(reading)
    assert low == pytest.approx([0, 0.3, 0], abs=CLOSED)
    assert high == pytest.approx([0.6, 0.3, 0.6], abs=CLOSED)
    assert reading.low[0] == -math.inf
    assert reading.mass_high == pytest.approx(0.9, abs=CLOSED)
    alone = Labels({"1": ("1",), "2": ("2",)}, are_numerals=True)
    assert p(of(("1", 0.6), ("2", 0.3), ("3", 0.1), labels=alone))[0] == pytest.approx([0.6, 0.3], abs=CLOSED)


def test_a_decimal_is_no_whole_number():
    labels = Labels({"3": ("3",)}, are_numerals=True)
    assert of(("3.", 0.9), ("x", 0.1), labels=labels).low == [-math.inf]
    assert of(("3", 0.9), ("x", 0.1), labels=labels).low == pytest.approx([math.log(0.9)], abs=CLOSED)


@pytest.mark.parametrize(("label", "n"), [("yes", 6 * 7 + 10 + 1), ("no", 6 * 7 + 4 + 1)])
def test_the_number_of_spellings_is_counted_one_by_one(label, n):
    """Six spellings (case, space), seven endings; beginnings: every proper start of a spelling, and the space."""
    starts = {form[:i] for form in YES_NO.forms(label) for i in range(1, len(form))}
    marks = {form + mark for form in YES_NO.forms(label) for mark in ["", *".,!?:;"]}
    assert len(starts | marks) == n
    assert n_variants(YES_NO, label) == n


# --- Duplicates, short lists, floors ----------------------------------------------------------------------------------


def test_two_tokens_of_one_text_add_up():
    """T13: the second one does not overwrite the first."""
    low, _ = p(of((" yes", 0.4), (" yes", 0.2), (" no", 0.3), (" a", 0.1)))
    assert low == pytest.approx([0.6, 0.3], abs=CLOSED)


def test_one_token_twice_counts_once():
    """T02: without ids the same text with the same number may be one token or two; the bounds hold both."""
    low, high = p(of((" yes", 0.3), (" yes", 0.3), (" no", 0.3)))
    assert low[0] == pytest.approx(0.3, abs=CLOSED)
    assert high[0] >= 0.6
    low, high = p(of((" yes", 0.3, 7), (" yes", 0.3, 7), (" no", 0.3, 8)))
    assert low[0] == pytest.approx(0.3, abs=CLOSED)
    assert p(of((" yes", 0.3, 7), (" yes", 0.3, 9), (" no", 0.3, 8)))[0][0] == pytest.approx(0.6, abs=CLOSED)


def test_a_short_list_without_ids_may_hide_a_likelier_token_of_the_same_text():
    """T02, T03: of two tokens `yes` the smaller one survived; its number is a lower bound and no more."""
    kept = [(" yes", 0.1), (" no", 0.3), (" a", 0.05)]  # the other token " yes" had 0.5
    low, high = p(of(*kept, n_asked=4))
    assert low[0] == pytest.approx(0.1, abs=CLOSED)
    assert high[0] >= 0.6
    assert high[1] >= 0.3
    with_ids = [(text, value, i) for i, (text, value) in enumerate(kept)]
    low, high = p(of(*with_ids, n_asked=4))
    assert high[0] == pytest.approx(
        0.1 + 0.55, abs=CLOSED
    )  # 52 unseen ones of at most 0.05 could have all that is left


def test_a_short_list_with_ids_is_bounded_by_its_least_token():
    tokens = [(" yes", 0.6), (" no", 0.3), (" a", 1e-5)]
    assert p(of(*tokens, n_asked=20))[1][0] == pytest.approx(0.7, abs=1e-4)
    with_ids = [(text, value, i) for i, (text, value) in enumerate(tokens)]
    assert p(of(*with_ids, n_asked=20))[1][0] == pytest.approx(0.6, abs=1e-3)


def test_floor_values_are_no_numbers():
    """X9: -9999 says `very unlikely`; it bounds nothing and makes no probability 0."""
    top = likeliest((" yes", 0.6), (" no", 0.3), (" a", 0.02))
    floor = [{"token": f"x{i}", "bytes": None, "logprob": -9999.0} for i in range(3)]
    reading, plain = read(completion(top=[*top, *floor])), read(completion(top=top), n_asked=3)
    assert reading.high == pytest.approx(plain.high, abs=CLOSED)
    assert p(reading)[1][0] > 0.6
    assert "floor" in read(completion(top=floor)).reason


def test_rounded_numbers_have_bounds_on_both_sides():
    """X9: numbers with two decimals are known to half a hundredth of a nat."""
    top = [{"token": t, "bytes": None, "logprob": v} for t, v in ((" yes", -0.51), (" no", -1.2), (" a", -3.25))]
    reading = read(completion(top=top))
    assert reading.low[0] == pytest.approx(-0.515, abs=CLOSED)
    assert reading.high[0] > -0.505


def test_the_order_of_the_list_makes_no_difference():
    """T65: a list that is not sorted is read as the same distribution."""
    tokens = [(" yes", 0.6), (" no", 0.3), (" a", 0.02)]
    one = of(*tokens)
    for order in itertools.permutations(tokens):
        other = of(*order)
        assert (other.low, other.high, other.top) == (pytest.approx(one.low), pytest.approx(one.high), " yes")


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.floats(0.01, 1), min_size=12, max_size=12), st.integers(1, 12), st.booleans())
def test_the_truth_is_inside_the_reading(weights, k, has_ids):
    """X9: a whole vocabulary of spellings, of which the k likeliest are shown."""
    texts = [" yes", " no", "Yes", "No", "yes.", "YES", "yesterday", " not", " a", "b", " none", "<|end|>"]
    total = sum(weights)
    tokens = sorted(((t, w / total, i) for i, (t, w) in enumerate(zip(texts, weights, strict=True))),
                    key=lambda token: -token[1])  # fmt: skip
    truth = [sum(q for t, q, _ in tokens if YES_NO.of(t) == name) for name in ("yes", "no")]
    shown = tokens[:k] if has_ids else [token[:2] for token in tokens[:k]]
    reading = of(*shown)
    low, high = p(reading)
    assert (low <= np.array(truth) + CLOSED).all()
    assert (np.array(truth) <= high + CLOSED).all()
    assert reading.mass_high >= sum(truth) - CLOSED


# --- Nothing to read --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logprobs", "words"),
    [
        (None, "null"),
        ({"content": None}, "null"),
        ({"content": []}, "empty"),
        ({"content": [{"token": "yes", "logprob": -0.1, "top_logprobs": []}]}, "own token alone"),
        ({"content": [{"token": "yes", "logprob": -0.1}]}, "own token alone"),
        ({"content": [{"top_logprobs": [{"token": "yes"}]}]}, "unknown form"),
        ({"content": [{"top_logprobs": [{"token": "yes", "logprob": "-0.1x"}]}]}, "unknown form"),
    ],
)
def test_no_log_probabilities_are_a_failure_in_words_and_never_a_number(logprobs, words):
    """T65, T66: null, empty, incomplete."""
    document = completion()
    document["choices"][0]["logprobs"] = logprobs
    outcome = reading_of(document, YES_NO, n_asked=5, fingerprint="f", seconds=0)
    assert isinstance(outcome, Failure)
    assert words in outcome.reason
    assert not outcome.stops


@pytest.mark.parametrize("document", [{}, {"choices": []}, {"choices": None}, {"choices": ["yes"]}])
def test_a_response_without_a_choice_is_a_failure(document):
    assert "no choice" in reading_of(document, YES_NO, n_asked=5, fingerprint="f", seconds=0).reason
    assert "no choice" in reply_of(document, prefill="", fingerprint="f", seconds=0).reason


@pytest.mark.parametrize(
    ("tokens", "words"), [(((" yes", 0.9), (" no", 0.5)), "sum to 1.4000"), (((" yes", 1.5),), "which none can be")]
)
def test_what_is_no_distribution_is_refused(tokens, words):
    """T65: probabilities above 1, one by one or together."""
    assert words in of(*tokens).reason


def test_a_sum_that_is_one_but_for_rounding_is_read():
    assert isinstance(of((" yes", 0.7), (" no", 0.3001)), Reading)


def test_only_the_first_position_is_read():
    """T08, T10: what stands further on answers another question; no position is searched for."""
    further = (likeliest((" yes", 0.99)), likeliest((" no", 0.5)))
    document = completion(top=likeliest((" Well", 0.9), (" a", 0.05)), further=further)
    reading = read(document)
    assert reading.low == [-math.inf, -math.inf]
    assert reading.top == " Well"
    assert reading.mass_high < 0.1


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_a_position_inside_reasoning_is_no_answers(name):
    """T10, T26: the first token belongs to the reasoning, even where it is `yes`."""
    outcome = read(completion(top=likeliest((" yes", 0.9)), message={name: "Let me see. yes"}))
    assert isinstance(outcome, Failure)
    assert "reasoning" in outcome.reason


def test_a_filtered_reply_is_not_read():
    assert "content filter" in read(completion(top=likeliest((" yes", 0.9)), finish="content_filter")).reason


def test_tokens_without_text_are_named_by_their_id():
    """T28: an end-of-turn token has no text in a reply; it is not hidden for that."""
    reading = of(("", 0.7, 2), (" yes", 0.2, 5))
    assert reading.top == "(token 2)"
    assert reading.others == [("(token 2)", pytest.approx(0.7))]


# --- Replies ----------------------------------------------------------------------------------------------------------


def test_a_reply_has_text_tokens_and_reasoning_apart():
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 9,
        "prompt_tokens_details": {"cached_tokens": 12},
        "completion_tokens_details": {"reasoning_tokens": 4},
    }
    document = completion("four", finish="length", usage=usage, message={"reasoning_content": "2 + 2"})
    reply = reply_of(document, prefill="", fingerprint="f", seconds=2.0)
    assert (reply.text, reply.finish, reply.reasoning, reply.seconds) == ("four", "length", "2 + 2", 2.0)
    assert (reply.n_prompt, reply.n_cached, reply.n_completion, reply.n_reasoning) == (20, 12, 9, 4)


def test_tokens_that_a_server_does_not_count_are_none_and_not_zero():
    """T63."""
    document = completion("four") | {"usage": None}
    reply = reply_of(document, prefill="", fingerprint="f", seconds=2.0)
    assert (reply.n_prompt, reply.n_cached, reply.n_completion, reply.n_reasoning) == (None,) * 4


@pytest.mark.parametrize("given_", [{"finish": "content_filter"}, {"message": {"content": None, "refusal": "I won't"}}])
def test_a_refusal_is_a_reply_that_says_so(given_):
    reply = reply_of(completion("", **given_), prefill="", fingerprint="f", seconds=0)
    assert reply.finish == "refused"


def test_a_repeated_prefill_is_no_part_of_the_reply():
    assert reply_of(completion("Answer: no"), prefill="Answer:", fingerprint="f", seconds=0).text == " no"
    assert reply_of(completion("Answer: no"), prefill="", fingerprint="f", seconds=0).text == "Answer: no"


def broken(raw, p):
    return {"token": raw.decode(errors="replace"), "bytes": list(raw), "logprob": math.log(p)}


@pytest.mark.parametrize("has_bytes", [True, False])
def test_a_part_of_a_character_may_begin_an_answer_and_is_in_its_upper_bound(has_bytes):
    """X9, T02: the first two bytes of a Bengali no stood at .6 and counted for nothing, so that yes seemed sure."""
    labels = Labels({"yes": ("oui",), "no": ("না",)})
    tokens = [broken("না".encode()[:2], 0.6), broken(b"oui", 0.3), broken(b"the", 0.01)]
    if not has_bytes:
        tokens = [{**one, "bytes": None} for one in tokens]
    document = {"choices": [{"message": {"content": ""}, "logprobs": {"content": [{"top_logprobs": tokens}]}}]}
    found = reading_of(document, labels, n_asked=3, fingerprint="", seconds=0.0)
    assert math.exp(found.high[1]) >= 0.6
    assert math.exp(found.low[1]) == 0
    assert found.mass_high >= 0.9
