import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.scale import Scale
from measurand.eliciting.declared import (
    Choice,
    Generative,
    Phrasing,
    RatingsRule,
    ScaleReading,
    Text,
    TextRule,
    Verification,
)
from measurand.eliciting.ratings_reply import read_ratings_reply
from measurand.eliciting.wordings import (
    PLACEHOLDERS,
    check_phrasing,
    choice_phrasings,
    example_ratings,
    fill,
    generative_phrasings,
    scale_in_words,
    scale_phrasings,
    text_phrasings,
    verification_phrasings,
)
from measurand.result import MeasurandError

SEVEN = Scale(0, 7, step=1)
EVERY, PAIRS = generative_phrasings()
BUILT_IN = {
    "verification": verification_phrasings("image"),
    "scale": scale_phrasings("image"),
    "choice": choice_phrasings("image"),
    "generative": generative_phrasings("image"),
    "text": text_phrasings("image"),
}


def refusal(readout):
    with pytest.raises(MeasurandError) as caught:
        check_phrasing(readout)
    return str(caught.value)


# --- Built-in wordings ------------------------------------------------------------------------------------------------


def test_verification_has_three_wordings_and_a_negated_one():
    found = verification_phrasings("face")
    assert [one.name for one in found] == ["does", "present", "would", "absent"]
    assert [one.negated for one in found] == [False, False, False, True]
    assert all("{criterion}" in one.question and "face" in one.question for one in found)
    assert all("yes or no" in one.question for one in found)
    assert len({one.question for one in found}) == 4


@pytest.mark.parametrize(
    "readout",
    [
        Verification(BUILT_IN["verification"]),
        ScaleReading(BUILT_IN["scale"]),
        Choice({"a": ("a",), "b": ("b",)}, BUILT_IN["choice"]),
        Generative((EVERY,)),
        Generative((PAIRS,), rule=RatingsRule(example=("awe",))),
        Text(BUILT_IN["text"]),
    ],
    ids=lambda readout: readout.name,
)
def test_built_in_wordings_ask_what_their_readout_reads(readout):
    check_phrasing(readout)


@pytest.mark.parametrize("kind", BUILT_IN)
def test_no_place_holder_is_left_in_a_question(kind):
    for phrasing in BUILT_IN[kind]:
        question = fill(
            phrasing, criterion="awe", criteria=["awe"], scale=SEVEN, options=["a", "b"], example=["awe"], text="Hi."
        )
        assert not re.search(r"\{\w+\}", question)
        assert "  " not in question.replace("\n  ", "\n")


@pytest.mark.parametrize("subject", ["", "  ", "{text}", "a\nb"])
@pytest.mark.parametrize(
    "make", [verification_phrasings, scale_phrasings, choice_phrasings, generative_phrasings, text_phrasings]
)
def test_a_subject_is_a_noun(make, subject):
    with pytest.raises(MeasurandError, match="give a noun"):
        make(subject)


@pytest.mark.parametrize(
    ("rule", "amount"),
    [
        (TextRule("emoji", 1, 5), "1 to 5 emojis and nothing else."),
        (TextRule("emoji", 1, 1), "1 emoji and nothing else."),
        (TextRule("emoji", None, 3), "at most 3 emojis and nothing else."),
        (TextRule("emoji", 1), "emojis and nothing else."),
        (TextRule("word", 2, only=True), "at least 2 words and nothing else."),
        (TextRule("word", 1, 20), "1 to 20 words."),
        (TextRule("grapheme", 1, 1), "1 character."),
        (None, "your own words."),
    ],
)
def test_text_wordings_say_what_the_rule_will_ask(rule, amount):
    for phrasing in text_phrasings("text", rule=rule):
        assert phrasing.question.endswith(f" in {amount}")


# --- Scales in words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (Scale(0, 7, step=1), "the whole numbers from 0 to 7"),
        (Scale(-3, 3, step=1), "the whole numbers from -3 to 3"),
        (Scale(0.5, 2.5, step=1), "the numbers from 0.5 to 2.5 in steps of 1"),
        (Scale(0, 1, step=0.5), "the numbers from 0 to 1 in steps of 0.5"),
        (Scale(0, 100), "any number from 0 to 100"),
        (Scale(labels=["no", "minor", "yes"], level="ordinal"), "one of these, from lowest to highest: no, minor, yes"),
        (Scale(labels=["b", "a"], level="nominal"), "one of these, in any order: b, a"),
        (Scale(), "any number"),
        (None, "any number"),
        ({}, "any number"),
        ({"": Scale(0, 1), "awe": Scale(0, 1)}, "any number from 0 to 1"),
        (
            {"awe": Scale(0, 1), "": Scale(1, 5, step=1)},
            "awe: any number from 0 to 1; all others: the whole numbers from 1 to 5",
        ),
    ],
)
def test_scales_are_said_in_words(scale, words):
    assert scale_in_words(scale) == words


# --- Filling in -------------------------------------------------------------------------------------------------------


def test_criteria_and_options_are_lines_behind_dashes():
    phrasing = Phrasing("x", "{criteria}|{options}|{scale}")
    assert fill(phrasing, criteria=["awe", "joy"], options=["a"], scale=SEVEN) == (
        "- awe\n- joy|- a|the whole numbers from 0 to 7"
    )


def test_braces_that_are_no_place_holder_stay():
    question = 'Reply as {"awe": 3} {} {{criterion}} {Criterion} {0} %s'
    assert fill(Phrasing("x", question), criterion="awe") == 'Reply as {"awe": 3} {} {awe} {Criterion} {0} %s'


@given(st.sampled_from(PLACEHOLDERS), st.text(alphabet="{}ab\\1 ", max_size=12))
def test_what_is_filled_in_is_never_expanded_again(name, hostile):
    """T41: a criterion called {text} is a criterion called {text}; nor are backslashes or group references anything."""
    values = {"criterion": hostile + "{text}", "text": hostile + "{criterion}{options}"}
    question = fill(Phrasing("x", "{criterion}|{text}|{" + name + "}"), **values)
    assert question.startswith(f"{values['criterion']}|{values['text']}|")


def test_the_example_is_json_with_made_up_ratings_that_the_scale_permits():
    names = [f"c{i}" for i in range(25)]
    question = fill(PAIRS, criteria=names, scale=SEVEN, example=names)
    shown = json.loads(question[question.index("{") : question.rindex("}") + 1])
    assert shown == example_ratings(names, SEVEN)
    assert set(shown) == set(names)
    assert set(shown.values()) == {1, 2, 3, 4, 5, 6, 7}
    assert all(isinstance(value, int) for value in shown.values())


@given(
    st.one_of(
        st.builds(lambda low, n: Scale(low, low + n, step=1), st.integers(-3, 3), st.integers(1, 9)),
        st.builds(lambda low, n: Scale(low, low + n), st.integers(-3, 3), st.integers(1, 99)),
        st.just(Scale(labels=["no", "minor", "yes"])),
    )
)
def test_examples_keep_to_any_scale(scale):
    names = ["a", "b", "c", "d", "e", "f", "g", "h"]
    ratings = example_ratings(names, scale)
    assert list(ratings) == names
    assert all(scale.permits(value) for value in ratings.values())
    assert ratings == example_ratings(names, {"": scale})


def test_an_example_of_a_criterion_follows_its_own_scale():
    assert example_ratings(["a", "b"], {"a": Scale(0, 1), "": SEVEN}) == {"a": 0.32, "b": 6}
    assert set(example_ratings(["a", "b"], None)) == {"a", "b"}


def test_a_reply_that_follows_the_wording_is_accepted():
    """The JSON that the wordings ask for is the JSON that the strict parser takes."""
    names = ["awe", "Pleasure/Ecstasy", 'a "b"', "{text}"]
    reply = json.dumps(example_ratings(names, SEVEN))
    found = read_ratings_reply(
        reply, criteria=names, scale={"": SEVEN}, rule=RatingsRule(), is_truncated=False, is_refused=False
    )
    assert found.accepted


# --- Wordings that can't work -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("readout", "words"),
    [
        (Verification(()), "has no phrasing"),
        (Verification((Phrasing("a", "{criterion}?"), Phrasing("a", "{criterion}!"))), "two phrasings called 'a'"),
        (Verification((Phrasing("a", " "),)), "must not be blank"),
        (Verification((Phrasing(" ", "{criterion}?"),)), "must not be blank"),
        (Verification((Phrasing("a", "Is it there?"),)), "does not say {criterion}"),
        (Verification((Phrasing("a", "{criteria}?"),)), "{criteria} would stay blank"),
        (Verification((Phrasing("a", "{criterium}?"),)), "did you mean {criterion}?"),
        (Verification((Phrasing("a", "{Criterion}?"),)), "nothing stands for {Criterion}"),
        (ScaleReading((Phrasing("a", "{criterion}, 0 to 7?"),)), "does not say {scale}"),
        (ScaleReading((Phrasing("a", "{criterion} {scale}", negated=True),)), "only yes/no answers"),
        (Choice({"a": ("a",)}, (Phrasing("a", "Which?"),)), "does not say {options}"),
        (Choice({"a": ("a",)}, (Phrasing("a", "{options} {scale}"),)), "would stay blank"),
        (Generative((Phrasing("a", "Rate it."),)), "does not say {criteria}, {scale}"),
        (Generative((PAIRS,)), "names no criteria for it"),
        (Generative((EVERY,), rule=RatingsRule(example=("awe",))), "lacks {example}"),
        (Text((Phrasing("a", "{criterion}?"),)), "would stay blank"),
    ],
)
def test_wordings_that_cannot_work_are_refused(readout, words):
    message = refusal(readout)
    assert words in message
    assert repr(readout.name) in message


def test_the_text_of_the_item_may_stand_in_every_question():
    for readout in (
        Verification((Phrasing("a", "{text}: {criterion}?"),)),
        ScaleReading((Phrasing("a", "{text}: {criterion}, {scale}?"),)),
        Choice({"a": ("a",)}, (Phrasing("a", "{text}: {options}?"),)),
        Generative((replace(EVERY, question="{text}\n" + EVERY.question),)),
        Text((Phrasing("a", "{text}"),)),
    ):
        check_phrasing(readout)


def test_json_in_a_question_is_no_place_holder():
    check_phrasing(Generative((Phrasing("a", '{criteria} {scale} as {"name": rating} or {}'),)))
