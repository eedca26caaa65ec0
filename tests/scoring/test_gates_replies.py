import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate_tables import statement, value, verdict
from measurand.data import read_answers
from measurand.data.items import read_items
from measurand.scoring.gate_replies import Options, is_negated, numbers
from measurand.scoring.gates import gates

QUICK = {"permutations": 99, "replicates": 200}
CLASSES = ["anger", "fear", "happiness"]


def chosen(replies, labels, *, answers=None, group=None, **columns):
    """The gates of one arm that chose classes in text."""
    n = len(replies)
    options = Options(CLASSES)
    if answers is None:
        found = [options.mentioned(reply).options for reply in replies]
        answers = [CLASSES[one[-1]] if one else "" for one in found]
    table = pd.DataFrame({"system": "S", "item": range(n), "answer": answers, "reply": replies, **columns})
    items = pd.DataFrame({"item": range(n), "label": labels})
    if group is not None:
        items["group"] = group
    return gates(read_answers(table, labels=True), items=read_items(items), **QUICK)


def numeric(replies, answers, *, criterion=None, **columns):
    table = pd.DataFrame({"system": "S", "item": range(len(replies)), "answer": answers, "reply": replies, **columns})
    if criterion is not None:
        table["criterion"] = criterion
    return gates(read_answers(table), **QUICK)


# ---- what a reply mentions


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Anger", (0,)),
        ("It is FEAR, not anger.", (1, 0)),
        ("fearful, angered", ()),
        ("unhappiness", ()),
        ("an\u200bger", (0,)),
        ("\ufefffear\u2060", (1,)),
        ("fear fear", (1, 1)),
        ("", ()),
    ],
)
def test_options_are_mentioned_as_whole_words_only(reply, expected):
    """T31, T32: a zero-width character parts no word, and CI is no C."""
    assert Options(CLASSES).mentioned(reply).options == expected


def test_the_longer_option_is_not_also_the_shorter_one():
    options = Options(["happy", "very happy", "n/a"])
    assert options.mentioned("very happy").options == (1,)
    assert options.mentioned("N/A.").options == (2,)


@pytest.mark.parametrize(
    ("reply", "is_strict"), [("fear", True), (" **Fear**. ", True), ("It is fear", False), ("", False)]
)
def test_a_strict_reply_is_nothing_but_the_answer(reply, is_strict):
    assert Options(CLASSES).mentioned(reply).is_strict is is_strict


@pytest.mark.parametrize(
    ("reply", "expected"),
    [("not anger", True), ("isn't anger", True), ("no clear fear", True), ("nothing. Anger", False), ("anger", False)],
)
def test_negations_are_seen(reply, expected):
    """T34: they are counted, and do not turn an answer round."""
    assert Options(CLASSES).mentioned(reply).is_negated is expected


@pytest.mark.parametrize(
    ("reply", "found", "form"),
    [
        ("4", (4.0,), "strict"),
        ("-2.5", (-2.5,), "strict"),
        ('{"score": 4}', (4.0,), "strict"),
        ('{"reason": "2 of 3 signs", "rating": 6}', (6.0,), "strict"),
        ('```json\n{"score": 4}\n```', (4.0,), "repaired"),
        ("{'score': 4}", (4.0,), "repaired"),
        ('Here you are: {"score": 4}. Anything else?', (4.0,), "repaired"),
        ('<think>maybe 7</think>{"score": 4}', (4.0,), "repaired"),
        ('{"score": "4"}', (4.0,), "repaired"),
        ('{"confidence": 0.9}', (0.9,), "repaired"),
        ('{"score": 4} {"score": 5}', (4.0, 5.0), "ambiguous"),
        ('{"score": 4} {"score": 4}', (4.0, 4.0), "repaired"),
        ('{"score": 4, "score": 5}', (4.0, 5.0), "ambiguous"),
        ("I give it 3 of 7.", (3.0, 7.0), "prose"),
        ("Score: 4/7", (4.0, 7.0), "prose"),
        ('"I give 4"', (4.0,), "prose"),
        ("about −3", (-3.0,), "prose"),
        ("80%", (80.0,), "prose"),
    ],
)
def test_numbers_are_read_as_json_first_and_repairs_are_told(reply, found, form):
    """T34, T40."""
    assert numbers(reply) == (found, form)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   ",
        "excellent",
        "not excellent",
        "I cannot rate this image.",
        "gpt4 says so",
        "version 1.2.3",
        "null",
        "NaN",
        '{"score": null}',
        '{"score": NaN}',
        '{"score": true}',
        '{"reason": "none"}',
        "{}",
        "[]",
        "<think>it could be 4",
        '{"score": ',
    ],
)
def test_a_reply_without_a_number_is_none_and_no_0(reply):
    """T33, T34, T35, T10: no default, no number from inside a word, none from reasoning that was never closed."""
    assert numbers(reply) == ((), "none")


def test_of_a_reply_about_several_criteria_only_its_own_number_counts():
    """T35: JSON without the criterion has no answer to it."""
    reply = '{"key": ["a", "b", 3], "value": {"Negative|Anger": 4, "Negative|Fear": 2}}'
    assert numbers(reply, "Anger") == ((4.0,), "strict")
    assert numbers(reply, "Fear") == ((2.0,), "strict")
    assert numbers(reply, "Joy") == ((), "none")
    assert numbers("Anger: 4, fear = 2", "Fear") == ((2.0,), "prose")
    assert numbers("Anger: 4\nFear: 2", "Anger") == ((4.0,), "prose")


@settings(max_examples=300)
@given(st.text(max_size=60), st.text(max_size=5))
def test_no_text_makes_the_reader_stumble(reply, criterion):
    """T31: whatever a system says, it is read or it is not."""
    found = numbers(reply, criterion)
    assert (found.form == "none") == (not found.candidates)
    assert all(np.isfinite(found.candidates))
    assert set(Options(CLASSES).mentioned(reply).options) <= {0, 1, 2}
    is_negated(reply)


pieces = st.sampled_from(
    [
        *"{}[]\"':,4-.−½٣😀\u200b\ufeff\n",
        "e9",
        "score",
        "anger",
        "```",
        "<think>",
        "</think>",
        "null",
        "NaN",
        "\\u",
        "not ",
    ]
)


@settings(max_examples=300)
@given(st.lists(pieces, max_size=40).map("".join))
def test_no_heap_of_brackets_makes_the_reader_stumble(reply):
    for criterion in ("", "anger"):
        assert all(np.isfinite(numbers(reply, criterion).candidates))


@pytest.mark.parametrize(
    "reply",
    [
        "[" * 100_000,
        '{"a":' * 20_000,
        "{" * 50_000,
        "9" * 10_000,
        '{"score": ' + "9" * 10_000 + "}",
        "1e999",
        "-" * 10_000,
        "4." * 20_000,
        "not " * 20_000,
        "`" * 10_000,
    ],
)
def test_long_and_deep_replies_are_read_in_no_time(reply):
    assert all(np.isfinite(numbers(reply).candidates))
    assert all(np.isfinite(numbers(reply, "anger").candidates))
    is_negated(reply)
    Options(CLASSES).mentioned(reply)


# ---- single-answer gap


def published():
    """Replies that have the published arm's shares (FACES, 2,052 items): 64.2 % mention several options."""
    n_one, right_one, n_many, right_many = 734, 600, 1_318, 721
    replies = ["fear"] * n_one + ["anger or fear"] * n_many
    labels = []
    for n, right in ((n_one, right_one), (n_many, right_many)):
        labels += ["fear"] * right + ["anger"] * (n - right)
    return replies, labels


def test_the_published_gap_is_reproduced_and_fails():
    result = chosen(*published())
    gate = "single-answer-gap"
    figures = {name: round(value(result, gate, name), 4) for name in ("accuracy", "accuracy_one", "gap", "share_many")}
    assert figures == {"accuracy": 0.6438, "accuracy_one": 0.8174, "gap": 0.1737, "share_many": 0.6423}
    assert verdict(result, gate) == "fail"
    row = result.select("gates", "gap", {"gate": gate})[0]
    assert row.low < row.estimate < row.high
    assert row.unit == "item"


def test_the_gap_decomposes_into_none_one_and_many():
    replies = ["fear", "anger", "fear or anger", "dunno", "happiness", "anger, fear"]
    labels = ["fear", "anger", "fear", "anger", "anger", "fear"]
    result = chosen(replies, labels)
    parts = [value(result, "single-answer-gap", f"share_{kind}") for kind in ("none", "one", "many")]
    accuracies = [value(result, "single-answer-gap", f"accuracy_{kind}") for kind in ("none", "one", "many")]
    assert parts == pytest.approx([1 / 6, 3 / 6, 2 / 6], abs=1e-12)
    assert accuracies == pytest.approx([0, 2 / 3, 1 / 2], abs=1e-12)  # several are read by the last
    assert np.dot(parts, accuracies) == pytest.approx(value(result, "single-answer-gap", "accuracy"), abs=1e-12)
    gap = value(result, "single-answer-gap", "gap")
    assert gap == pytest.approx(2 / 3 - 3 / 6, abs=1e-12)


def test_single_answers_have_no_gap():
    result = chosen(CLASSES * 10, CLASSES * 10)
    assert verdict(result, "single-answer-gap") == "pass"
    assert value(result, "single-answer-gap", "gap") == 0


def test_a_gap_whose_interval_reaches_above_the_limit_warns():
    replies = ["fear"] * 36 + ["dunno"] * 3
    result = chosen(replies, ["fear"] * 39)
    row = result.select("gates", "gap", {"gate": "single-answer-gap"})[0]
    assert row.estimate <= 0.1 < row.high
    assert verdict(result, "single-answer-gap") == "warn"


def test_no_reply_with_exactly_one_mention_leaves_it_undetermined():
    result = chosen(["fear or anger", "dunno"] * 5, ["fear", "anger"] * 5)
    assert verdict(result, "single-answer-gap") == "undetermined"
    assert "mentions exactly one option" in statement(result, "single-answer-gap")


def test_failed_replies_are_wrong_and_stay_in_the_denominator():
    """T33, T38."""
    status = ["ok"] * 6 + ["refused"] * 4
    result = chosen(["fear"] * 6 + [""] * 4, ["fear"] * 10, status=status)
    assert value(result, "single-answer-gap", "accuracy") == 0.6
    assert value(result, "single-answer-gap", "share_none") == 0.4
    assert verdict(result, "single-answer-gap") == "fail"


def test_the_group_is_redrawn_where_there_is_one():
    replies = (["fear"] * 10 + ["fear or anger"] * 10) * 4
    labels = ["fear"] * 80
    alone = chosen(replies, labels)
    grouped = chosen(replies, labels, group=np.repeat(np.arange(8), 10))
    widths = []
    for result, unit in ((alone, "item"), (grouped, "group")):
        row = result.select("gates", "gap", {"gate": "single-answer-gap"})[0]
        assert row.unit == unit
        widths.append(row.high - row.low)
    assert widths[1] > 1.5 * widths[0]


def test_without_replies_or_labels_it_does_not_apply():
    table = pd.DataFrame({"system": "S", "item": range(3), "answer": CLASSES})
    bare = gates(read_answers(table, labels=True), **QUICK)
    assert verdict(bare, "single-answer-gap") == "not_applicable"
    assert verdict(bare, "parse-path") == "not_applicable"
    without_labels = gates(read_answers(table.assign(reply=CLASSES), labels=True), **QUICK)
    assert verdict(without_labels, "single-answer-gap") == "not_applicable"
    assert verdict(without_labels, "parse-path") == "undetermined"


def test_items_without_a_label_have_nothing_to_be_held_against():
    table = pd.DataFrame({"system": ["S", "T"], "item": [0, 1], "answer": ["fear", "fear"], "reply": ["fear", "fear"]})
    items = read_items(pd.DataFrame({"item": [0], "label": ["fear"]}))
    result = gates(read_answers(table, labels=True), items=items, **QUICK)
    passed = result.select("gates", "passed", {"gate": "single-answer-gap"})
    assert [row.undefined for row in passed] == ["", "not applicable: none of its items has a label"]


def test_reading_single_answers_otherwise_than_the_table_is_counted():
    result = chosen(["fear"] * 10, ["fear"] * 10, answers=["fear"] * 8 + ["anger"] * 2)
    assert value(result, "single-answer-gap", "share_read_differently") == 0.2


# ---- parse path


def test_one_way_to_read_passes():
    result = chosen(CLASSES * 10, CLASSES * 10)
    assert verdict(result, "parse-path") == "pass"
    for way in ("first", "last", "only", "strict", "given"):
        assert value(result, "parse-path", f"accuracy_{way}") == 1


def test_labels_whose_accuracy_hangs_on_the_way_of_reading_fail():
    replies = ["fear"] * 5 + ["anger"] + ["anger, no: fear"] * 4
    result = chosen(replies, ["fear"] * 5 + ["anger"] + ["fear"] * 4)
    assert value(result, "parse-path", "accuracy_first") == 0.6
    assert value(result, "parse-path", "accuracy_last") == 1
    assert value(result, "parse-path", "accuracy_only") == 0.6
    assert value(result, "parse-path", "spread") == 0.4
    assert verdict(result, "parse-path") == "fail"


def test_a_little_spread_warns():
    replies = ["fear"] * 97 + ["anger or fear"] * 3
    assert verdict(chosen(replies, ["fear"] * 100), "parse-path") == "warn"


def test_prose_around_one_answer_is_no_second_way_of_reading():
    result = chosen(["The person shows fear."] * 10, ["fear"] * 10)
    assert value(result, "parse-path", "accuracy_strict") == 0
    assert verdict(result, "parse-path") == "pass"


def test_answers_that_no_reply_holds_were_made_up():
    """T30, T33, T34: a parser's default shows."""
    result = chosen(["fear"] * 9 + ["dunno"], ["fear"] * 10, answers=["fear"] * 10)
    assert value(result, "parse-path", "share_made_up") == 0.1
    assert verdict(result, "parse-path") == "fail"


def test_numbers_that_are_nothing_else_pass():
    result = numeric(["1", "3", "5", "2"] * 5, [1, 3, 5, 2] * 5)
    assert verdict(result, "parse-path") == "pass"
    assert value(result, "parse-path", "share_strict") == 1
    assert value(result, "parse-path", "mean_first") == 2.75


def test_a_scale_named_in_the_reply_fails():
    """T34: the first number of prose may be the answer or not."""
    result = numeric(["On a scale of 0 to 7 I say 3", "2"] * 10, [3, 2] * 10)
    assert value(result, "parse-path", "share_first_is_not_last") == 0.5
    assert value(result, "parse-path", "mean_first") == 1
    assert verdict(result, "parse-path") == "fail"


def test_a_0_where_the_reply_has_no_number_was_made_up():
    """T33, T35."""
    result = numeric(["3"] * 98 + ["not excellent"] * 2, [3] * 98 + [0] * 2)
    assert value(result, "parse-path", "share_made_up") == 0.02
    assert verdict(result, "parse-path") in ("warn", "fail")


def test_repairs_are_counted_apart():
    """T37, T40: the share read in each way is told."""
    replies = ['{"score": 3}'] * 6 + ['```json\n{"score": 3}\n```'] * 3 + ["score 3"]
    result = numeric(replies, [3] * 10)
    assert value(result, "parse-path", "share_strict") == 0.6
    assert value(result, "parse-path", "share_repaired") == 0.3
    assert value(result, "parse-path", "share_prose") == 0.1


def test_replies_without_any_number_leave_it_undetermined():
    assert verdict(numeric(["strong", "weak"], [3, 1]), "parse-path") == "undetermined"


def test_readouts_without_a_reply_do_not_depend_on_its_reading():
    result = numeric(["yes", "no"], [0.9, 0.2], readout="verification")
    assert verdict(result, "parse-path") == "not_applicable"


def test_one_reply_for_all_criteria_is_read_for_each():
    reply = '{"Anger": 4, "Fear": 1}'
    table = pd.DataFrame(
        {"system": "S", "item": [1, 1, 2, 2], "criterion": ["Anger", "Fear"] * 2, "answer": [4, 1] * 2, "reply": reply}
    )
    result = gates(read_answers(table), **QUICK)
    assert value(result, "parse-path", "share_strict") == 1
    assert verdict(result, "parse-path") == "pass"
