import json
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from measurand.data.answers import ANSWERED, STATUSES
from measurand.data.scale import Scale
from measurand.eliciting.declared import RatingsRule
from measurand.eliciting.ratings_repair import NotJson, parse, repair, strip_fence
from measurand.eliciting.ratings_reply import read_ratings_reply

CRITERIA = ("awe", "fear", "joy")
SCALE = {"": Scale(0, 7, step=1, level="ordinal")}
GOOD = '{"awe": 3, "fear": 0, "joy": 7}'
#: The benchmark's way with three pairs.
BENCHMARK = RatingsRule(keys="any", n_pairs=3, zeros=False, is_strict=False)


def read(text, *, rule=None, criteria=CRITERIA, scale=SCALE, is_truncated=False, is_refused=False, **rules):
    return read_ratings_reply(
        text,
        criteria=criteria,
        scale=scale,
        rule=rule or RatingsRule(**rules),
        is_truncated=is_truncated,
        is_refused=is_refused,
    )


def statuses(found):
    return [cell.status for cell in found.cells.values()]


def values(found):
    return [None if math.isnan(cell.value) else cell.value for cell in found.cells.values()]


# --- What is accepted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [GOOD, f"\n  {GOOD}\n", '{"joy":7.0,"awe":3e0,"fear":-0.0}', '{"\\u0061we": 3, "fear": 0, "joy": 7}'],
)
def test_one_flat_object_of_permitted_numbers_is_accepted(text):
    found = read(text)
    assert (found.accepted, found.kind, found.problem, found.repairs) == (True, "ok", "", ())
    assert values(found) == [3, 0, 7]
    assert statuses(found) == ["ok"] * 3
    assert [cell.reason for cell in found.cells.values()] == [""] * 3


def test_each_criterion_is_held_to_its_own_scale():
    scale = {"awe": Scale(0, 100), "": Scale(1, 5, step=0.5)}
    found = read('{"awe": 33.25, "fear": 2.5, "joy": 5}', scale=scale)
    assert values(found) == [33.25, 2.5, 5]
    assert read('{"awe": 33.25, "fear": 2.25, "joy": 5}', scale=scale).kind == "out_of_range"


# --- What is not, and how it is told apart ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("", "empty", "empty"),
        (" \n", "empty", "empty"),
        ("awe 3, fear 0, joy 7", "not_json", "line 1, column 1"),
        ('{"awe": 3, "fear": 0, "joy": 7', "not_json", "delimiter"),
        (f"{GOOD} {GOOD}", "not_json", "extra data"),
        ('{"awe": NaN, "fear": 0, "joy": 7}', "not_json", "NaN is no JSON number"),
        ('{"awe": -Infinity, "fear": 0, "joy": 7}', "not_json", "-Infinity"),
        ('{"awe": 03, "fear": 0, "joy": 7}', "not_json", ""),
        ('{"awe": +3, "fear": 0, "joy": 7}', "not_json", ""),
        ('{"awe": 3_0, "fear": 0, "joy": 7}', "not_json", ""),
        ("[" * 100_000, "not_json", ""),
        ("[3, 0, 7]", "not_an_object", "a list"),
        ("3", "not_an_object", "the number 3"),
        ("null", "not_an_object", "null"),
        (f"[{GOOD}]", "not_an_object", "a list"),
        (json.dumps(GOOD), "not_an_object", "the text"),
        ('{"awe": 3, "fear": 0, "joy": 7, "awe": 3}', "duplicate_keys", "'awe' given more than once"),
        ('{"awe": 3, "fear": 0}', "wrong_keys", "'joy' missing"),
        ('{"awe": 3, "fear": 0, "Joy": 7}', "wrong_keys", "'Joy' not among the criteria; 'joy' missing"),
        ('{"awe": 3, "fear": 0, "joy\u200b": 7}', "wrong_keys", "not among"),
        ('{"awe": 3, "fear": 0, "joy": 7, "": 1}', "wrong_keys", "'' not among"),
        ('{"X|awe": 3, "X|fear": 0, "X|joy": 7}', "wrong_keys", "not among"),
        ('{"value": {"awe": 3, "fear": 0, "joy": 7}}', "wrong_keys", "not among"),
        ("{}", "wrong_keys", "missing"),
        ('{"awe": "3", "fear": 0, "joy": 7}', "wrong_types", "'awe': the text '3' is no number"),
        ('{"awe": true, "fear": 0, "joy": 7}', "wrong_types", "true is no number"),
        ('{"awe": null, "fear": 0, "joy": 7}', "wrong_types", "null is no number"),
        ('{"awe": [3], "fear": 0, "joy": 7}', "wrong_types", "a list is no number"),
        ('{"awe": {"rating": 3}, "fear": 0, "joy": 7}', "wrong_types", "an object is no number"),
        ('{"awe": 9, "fear": 0, "joy": 7}', "out_of_range", "9 is outside the scale 0 to 7"),
        ('{"awe": -3, "fear": 0, "joy": 7}', "out_of_range", "-3 is outside"),
        ('{"awe": 2.5, "fear": 0, "joy": 7}', "out_of_range", "2.5 is outside"),
        ('{"awe": 1e999, "fear": 0, "joy": 7}', "out_of_range", "inf is outside"),
        ('{"awe": ' + "9" * 5000 + ', "fear": 0, "joy": 7}', "out_of_range", "outside"),
    ],
)
def test_faults_are_told_apart_and_leave_no_number(text, kind, words):
    """T30, T33, T36, T39: what could not be read is missing, with a reason; it is never a 0 and never wrong."""
    found = read(text)
    assert (found.accepted, found.kind) == (False, kind)
    assert words in found.problem
    assert found.problem
    assert values(found) == [None] * 3
    assert statuses(found) == ["invalid"] * 3
    assert all(cell.reason for cell in found.cells.values())


def test_every_fault_above_is_a_single_change_of_an_accepted_reply():
    """The twin of the test before: without the change the reply is accepted."""
    assert read(GOOD.replace("3", "3.0")).accepted
    assert not read(GOOD.replace("3", "3.5")).accepted


def test_the_criterion_at_fault_says_its_own_reason():
    found = read('{"awe": 9, "fear": 0, "joy": 8}')
    reasons = [cell.reason for cell in found.cells.values()]
    assert reasons[0].startswith("9 is outside")
    assert reasons[2].startswith("8 is outside")
    assert reasons[1] == found.problem == f"'awe': {reasons[0]}, and 1 more like it"


def test_a_reply_of_nothing_but_filtered_values_is_invalid_with_reasons():
    """T12: where nothing is left to divide by, the answer is undefined, and no error and no number."""
    found = read('{"awe": "high", "fear": "none", "joy": "n/a"}', rule=BENCHMARK)
    assert found.accepted
    assert statuses(found) == ["invalid"] * 3
    assert found.cells["joy"] == found.cells["joy"]._replace(status="invalid", reason="the text 'n/a' is no number")
    assert values(found) == [None] * 3
    assert found.problem == "3 ratings are not permitted"


@pytest.mark.parametrize(
    "text",
    [
        "downgrade: 7. awe 3, fear 0, joy 7",
        "GRADE: 37",
        '{"awe": "3 of 7", "fear": 0, "joy": 7}',
        '{"awe": "37", "fear": 0, "joy": 7}',
        "not excellent; I would say 7",
        '\u200b{"awe": 3, "fear": 0, "joy": 7}',
    ],
)
def test_numbers_in_prose_or_in_part_of_a_word_are_not_ratings(text):
    """T31, T32, T34: a rating is a JSON value of its key in whole; prose, prefixes and hidden characters give none."""
    assert values(read(text)) == [None] * 3


def test_json_without_the_ratings_is_not_a_rating_of_zero():
    """T35: a missing score became a valid 0; here it is missing, under both rules for keys."""
    assert statuses(read("{}")) == ["invalid"] * 3
    found = read("{}", keys="any")
    assert statuses(found) == ["not_returned"] * 3
    assert values(found) == [None] * 3


def test_criteria_may_be_absent_where_the_rule_says_so():
    found = read('{"awe": 3}', keys="any")
    assert (found.accepted, found.kind) == (True, "ok")
    assert statuses(found) == ["ok", "not_returned", "not_returned"]
    assert not read('{"awe": 3, "rage": 3}', keys="any").accepted


def test_numbers_of_ratings_and_zeros_are_held_to_the_rule():
    assert read(GOOD, zeros=False).kind == "zeros"
    assert read(GOOD.replace("0", "1"), zeros=False).accepted
    assert read(GOOD, keys="any", n_pairs=2).kind == "wrong_number"
    assert read(GOOD, keys="any", n_pairs=3).accepted
    assert read(GOOD, most_nonzero=1).kind == "too_many_nonzero"
    assert read(GOOD, most_nonzero=2).accepted
    assert read(GOOD, most_nonzero=1).problem == "2 ratings other than 0; at most 1 may be there"


def test_criteria_outside_the_example_are_not_asked():
    rule = RatingsRule(example=("awe", "joy"))
    found = read('{"awe": 3, "joy": 7}', rule=rule)
    assert statuses(found) == ["ok", "not_asked", "ok"]
    assert statuses(read('{"awe": 3}', rule=rule)) == ["invalid", "not_asked", "invalid"]
    assert statuses(read("", rule=rule)) == ["invalid", "not_asked", "invalid"]
    # A rating that is there although nobody asked is a rating.
    assert statuses(read(GOOD, rule=rule)) == ["ok"] * 3


# --- Truncation and refusal -------------------------------------------------------------------------------------------


def test_a_reply_that_was_cut_off_is_truncated_and_never_repaired():
    cut = 'Here: {"awe": 3} and then {"awe": 3, "fe'
    found = read(cut, is_truncated=True, keys="any", repairs=True)
    assert (found.accepted, found.kind, statuses(found)) == (False, "truncated", ["truncated"] * 3)
    assert "limit of tokens" in found.problem
    assert read(GOOD + " and", is_truncated=True, repairs=True).kind == "truncated"
    assert read(GOOD + " and", is_truncated=False, repairs=True).kind == "repaired"


def test_a_whole_object_at_the_limit_of_tokens_is_read():
    assert read(GOOD, is_truncated=True).accepted
    assert read('{"awe": 9, "fear": 0, "joy": 7}', is_truncated=True).kind == "out_of_range"


def test_what_the_engine_withheld_is_refused_whatever_the_text_is():
    for text in (GOOD, "", "Sorry."):
        found = read(text, is_refused=True)
        assert (found.accepted, found.kind, statuses(found)) == (False, "refused", ["refused"] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "I can't help with that.",
        "I’m sorry, but I cannot rate people's emotions.",
        "I am unable to assess this.",
        "As an AI language model, I can't provide ratings.",
        "I must decline to do this.",
        "I'm not able to assist with that request.",
        "Sorry, I won't evaluate this image.",
    ],
)
def test_a_reply_that_declines_in_words_is_refused(text):
    assert read(text).kind == "refused"
    assert read(text, rule=BENCHMARK).kind == "refused"


@pytest.mark.parametrize(
    "text",
    [
        "I can't see any picture.",
        "I can't tell.",
        "The face does not help; I would say 3.",
        "I can help with that: awe 3",
        "Je ne peux pas vous aider.",
        'I cannot rate fear, but: {"awe": 3}',
        "Icannot help",
        "I can't refuse: awe 3",
    ],
)
def test_whatever_is_not_plainly_a_refusal_is_invalid(text):
    assert read(text).kind == "not_json"


# --- Repairs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"```json\n{GOOD}\n```", ("code fence",)),
        (f"```\n{GOOD}\n```\n", ("code fence",)),
        (f"{GOOD}\n```", ("code fence",)),
        (f"Here you are:\n{GOOD}\nAnything else?", ("words around the object",)),
        (f"Sure!\n```json\n{GOOD}\n```\nDone.", ("words around the object",)),
        ("{'awe': 3, 'fear': 0, 'joy': 7}", ("single quotes",)),
        ('{"awe": 3, "fear": 0, "joy": 7,}', ("trailing comma",)),
        ("```\n{'awe': 3, \"fear\": 0, 'joy': 7, }\n```", ("code fence", "single quotes", "trailing comma")),
    ],
)
def test_repairs_are_made_only_if_declared_and_each_is_named(text, repairs):
    """T37, T40: fences, words and quotes are tolerated where that is declared, and are counted apart."""
    strict = read(text)
    assert (strict.accepted, strict.kind, values(strict)) == (False, "not_json", [None] * 3)
    found = read(text, repairs=True)
    assert (found.accepted, found.kind, found.repairs) == (True, "repaired", repairs)
    assert statuses(found) == ["repaired"] * 3
    assert values(found) == [3, 0, 7]
    assert found.problem == f"repaired: {', '.join(repairs)}"


@pytest.mark.parametrize(
    "text",
    [
        f"{GOOD}\n{GOOD}",
        f"Either {GOOD} or {GOOD}",
        f"Look: [{GOOD}]",
        f"{{x}} {GOOD}",
        '{"awe": 3, "fear": 0, "joy": 7',
        '{"awe": 3, "fear": 0, "joy": 7 // high\n}',
        '{"awe": 3, "fear": 0, "joy": seven}',
        "{'awe': __import__('os').getpid(), 'fear': 0, 'joy': 7}",
        "{'awe': True, 'fear': 0, 'joy': 7}",
        "{'awe': 1 + 2, 'fear': 0, 'joy': 7}",
        "{'awe': 3,, 'fear': 0, 'joy': 7}",
        "{awe: 3, fear: 0, joy: 7}",
        "{",
        "}{",
        "{}" * 3,
    ],
)
def test_what_could_be_read_in_two_ways_is_not_repaired(text):
    """T38: an ambiguous reply counts as invalid, and is no answer for either reading."""
    assert not read(text, repairs=True).accepted
    assert read(text, repairs=True).kind == "not_json"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{'awe': 3, 'awe': 4, 'fear': 0, 'joy': 7}", "duplicate_keys"),
        ("{'awe': 9, 'fear': 0, 'joy': 7}", "out_of_range"),
        ("{'awe': 3, 'fear': 0}", "wrong_keys"),
        ('```\n{"awe": "3", "fear": 0, "joy": 7}\n```', "wrong_types"),
    ],
)
def test_a_repaired_reply_is_held_to_the_same_rule(text, kind):
    found = read(text, repairs=True)
    assert (found.accepted, found.kind, values(found)) == (False, kind, [None] * 3)


def test_a_fence_is_a_line_of_its_own():
    assert strip_fence(f"```python\n{GOOD}\n```") == GOOD
    assert strip_fence(f"```{GOOD}```") == ""
    assert strip_fence(GOOD) == GOOD


# --- The benchmark's validator ----------------------------------------------------------------------------------------


def validator(text, n):
    """The first paper's rule by its description: strip a fence, parse, count, look for zeros."""
    lines = text.strip().split("\n")
    if lines and lines[0].startswith("```"):
        lines = lines[1:]
    if lines and lines[-1].strip() == "```":
        lines = lines[:-1]
    try:
        found = json.loads("\n".join(lines))
        ratings = found.get("value", found)
        return len(ratings) == n and all(value != 0 for value in ratings.values())
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return False


HOLES = {
    "wrong keys": '{"a": 1, "b": 2, "c": 3}',
    "text zero": '{"awe": "0", "fear": 1, "joy": 2}',
    "nine": '{"awe": 9, "fear": -3, "joy": 2.5}',
    "null": '{"awe": null, "fear": 1, "joy": 2}',
    "truth": '{"awe": true, "fear": 1, "joy": 2}',
    "duplicates": '{"awe": 2, "fear": 1, "awe": 4, "joy": 2, "joy": 2}',
    "nested": '{"key": ["folder", "model", "file"], "value": {"X|awe": 1, "X|fear": 2, "X|joy": 3}}',
    "fenced": '```json\n{"awe": 1, "fear": 2, "joy": 3}\n```',
    "not a number": '{"awe": NaN, "fear": 1, "joy": 2}',
}
REJECTED = {
    "zero": '{"awe": 0, "fear": 1, "joy": 2}',
    "false": '{"awe": false, "fear": 1, "joy": 2}',
    "two": '{"awe": 1, "fear": 2}',
    "collapsed": '{"awe": 1, "fear": 2, "awe": 3}',
    "list": "[1, 2, 3]",
    "prose": "Here: " + GOOD,
    "text": '{"value": "abc"}',
    "empty": "",
}


@pytest.mark.parametrize("text", [*HOLES.values(), *REJECTED.values()], ids=[*HOLES, *REJECTED])
def test_the_replay_accepts_exactly_what_the_benchmark_accepted(text):
    """X5: wrong keys, a zero as text, 9, -3, null and duplicates pass a validator that counts pairs and zeros."""
    assert read(text, rule=BENCHMARK).accepted == validator(text, 3) == (text in HOLES.values())


def test_what_passed_the_benchmarks_validator_is_still_no_number_unless_permitted():
    """X5: each hole, and what becomes of its values here; strictly none of them is accepted."""
    becomes = {
        "wrong keys": (["not_returned"] * 3, [None] * 3, "3 keys are no criteria ('a', 'b', 'c')"),
        "text zero": (["invalid", "ok", "ok"], [None, 1, 2], "1 ratings are not permitted"),
        "nine": (["invalid"] * 3, [None] * 3, "3 ratings are not permitted"),
        "null": (["invalid", "ok", "ok"], [None, 1, 2], "1 ratings are not permitted"),
        "truth": (["invalid", "ok", "ok"], [None, 1, 2], "1 ratings are not permitted"),
        "duplicates": (["ok"] * 3, [4, 1, 2], "'awe', 'joy' given more than once, the last one counts"),
        "nested": (["ok"] * 3, [1, 2, 3], ""),
        "fenced": (["repaired"] * 3, [1, 2, 3], "repaired: code fence"),
        "not a number": (["invalid", "ok", "ok"], [None, 1, 2], "1 ratings are not permitted"),
    }
    for name, text in HOLES.items():
        found = read(text, rule=BENCHMARK)
        assert (statuses(found), values(found), found.problem) == becomes[name]
        assert not read(text, keys="any", n_pairs=3, zeros=False).accepted
    assert read(HOLES["duplicates"], rule=BENCHMARK).cells["awe"].reason == "given more than once; the last one counts"


def test_two_keys_for_one_criterion_leave_it_without_a_value():
    found = read('{"A|awe": 1, "B|awe": 2, "joy": 3}', rule=BENCHMARK)
    assert statuses(found) == ["invalid", "not_returned", "ok"]
    assert found.cells["awe"].reason == "'A|awe', 'B|awe' all name it"


def test_a_criterion_may_have_a_bar_in_its_name():
    found = read('{"A|awe": 1, "fear": 2, "awe": 3}', rule=BENCHMARK, criteria=("A|awe", "awe", "fear"))
    assert values(found) == [1, 3, 2]


def test_a_number_too_large_for_a_float_is_outside_the_scale():
    text = '{"awe": ' + "9" * 400 + ', "fear": 1, "joy": 2}'
    assert read(text, rule=BENCHMARK).cells["awe"].status == "invalid"
    assert read("9" * 400, rule=BENCHMARK).kind == "not_an_object"


# --- Whatever is said -------------------------------------------------------------------------------------------------

keys = st.one_of(st.sampled_from([*CRITERIA, "X|awe", "value", "Awe"]), st.text(max_size=4))
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.floats(allow_nan=True, allow_infinity=True)
    | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=4,
)
#: Mostly what is asked for, so that enough replies are accepted and a wrong one among right ones is met.
likely = st.lists(
    st.tuples(st.sampled_from(CRITERIA), st.integers(0, 8) | st.booleans()),
    min_size=1,
    max_size=3,
    unique_by=lambda pair: pair[0],
)
objects = st.one_of(st.lists(st.tuples(keys, json_values), max_size=5), likely).map(
    lambda pairs: "{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}"
)
wrapped = st.tuples(st.sampled_from(["", "```\n", "Ok: ", "{", "["]), objects, st.sampled_from(["", "\n```", ".", "}"]))
replies = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="{}[]\"':,.0123456789-+eE awefrjoy|\n`", max_size=60),
    objects,
    wrapped.map("".join),
    objects.map(lambda text: text.replace('"', "'")),
)
rules = st.builds(
    RatingsRule,
    keys=st.sampled_from(["all", "any"]),
    n_pairs=st.sampled_from([None, 1, 3]),
    zeros=st.booleans(),
    most_nonzero=st.sampled_from([None, 1]),
    is_strict=st.booleans(),
    repairs=st.booleans(),
    example=st.sampled_from([(), ("awe",), CRITERIA]),
)


@given(text=replies, rule=rules, is_truncated=st.booleans(), is_refused=st.booleans())
@example(text='{"awe": 1' + "0" * 5000 + "}", rule=RatingsRule(is_strict=False), is_truncated=False, is_refused=False)
@example(text="\ufeff{}", rule=RatingsRule(), is_truncated=False, is_refused=False)
@example(text='{"awe": 1}\x00', rule=RatingsRule(repairs=True), is_truncated=False, is_refused=False)
@example(text='{"\\ud800": 1}', rule=RatingsRule(repairs=True), is_truncated=False, is_refused=False)
def test_no_reply_raises_and_no_number_appears_that_it_does_not_have(text, rule, is_truncated, is_refused):
    """T31: fuzz."""
    found = read(text, rule=rule, is_truncated=is_truncated, is_refused=is_refused)
    assert list(found.cells) == list(CRITERIA)
    numbers = {float(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)}
    for cell in found.cells.values():
        assert cell.status in STATUSES
        assert (cell.status in ANSWERED) == (not math.isnan(cell.value))
        if cell.status in ANSWERED:
            assert found.accepted
            assert cell.value in numbers
            assert SCALE[""].permits(cell.value)
        else:
            assert cell.reason
    assert found.accepted == (found.kind in ("ok", "repaired"))
    assert bool(found.repairs) == (found.kind == "repaired")
    assert found.accepted or found.problem


@given(st.sampled_from(CRITERIA).flatmap(lambda _: st.fixed_dictionaries(dict.fromkeys(CRITERIA, st.integers(0, 7)))))
def test_what_was_written_is_read(ratings):
    found = read(json.dumps(ratings))
    assert {name: cell.value for name, cell in found.cells.items()} == ratings
    python = read(repr(ratings), repairs=True)
    assert {name: cell.value for name, cell in python.cells.items()} == ratings


@given(replies, rules)
def test_the_replay_agrees_with_the_benchmarks_rule(text, rule):
    if rule.n_pairs is not None:
        replay = RatingsRule(n_pairs=rule.n_pairs, zeros=False, is_strict=False)
        assert read(text, rule=replay).accepted == validator(text, rule.n_pairs)


@given(replies)
def test_repairing_raises_nothing_and_leaves_json_alone(text):
    found = repair(text)
    assert found is None or found.repairs
    try:
        parse(text)
    except NotJson:
        return
    assert not read(text, repairs=True).repairs
