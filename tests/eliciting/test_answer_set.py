"""Answer sets on toy vocabularies, where every reply can be written out, and on SmolLM2's."""

import itertools
import json
import os
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.eliciting.answer_set import AnswerSet, close, scan
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Prompt
from measurand.eliciting.system import System
from measurand.result import MeasurandError

YES_NO = Labels({"yes": ("yes",), "no": ("no",)})
ONE_TO_TEN = Labels({str(number): (str(number),) for number in range(1, 11)}, are_numerals=True)

#: Special tokens are blank, as a renderer gives them.
VOCABULARY = (
    "",
    "yes",
    "Yes",
    " yes",
    " Yes",
    "no",
    "No",
    " no",
    "NO",
    "not",
    " nope",
    "yesterday",
    "Y",
    "ES",
    "E",
    "S",
)
VOCABULARY += (" ", "yes.", "No,", "YE", "n", "o", "know")


def longest_first(vocabulary):
    """Encode as a greedy tokenizer does: the longest token that fits, again and again."""
    ids = {text: token for token, text in reversed(list(enumerate(vocabulary))) if text}

    def encode(text):
        found = []
        while text:
            piece = next((text[:n] for n in range(len(text), 0, -1) if text[:n] in ids), None)
            if piece is None:
                return None
            found.append(ids[piece])
            text = text[len(piece) :]
        return tuple(found)

    return encode


def closed(labels, vocabulary=VOCABULARY, encode=None):
    return close(labels, vocabulary=vocabulary, encode=encode or longest_first(vocabulary))


def texts(answers, vocabulary=VOCABULARY):
    return [{"".join(vocabulary[token] for token in ids) for ids in sequences} for sequences in answers.sequences]


def probability(table, ids):
    """Return the probability that a reply begins with `ids`, each token's depending on the one before."""
    steps = zip((len(table) - 1, *ids), ids, strict=False)
    return float(np.prod([table[before, token] for before, token in steps]))


def random_model(n_tokens, seed):
    """Next-token probabilities by the token before; the last row is the prompt's."""
    return np.random.default_rng(seed).dirichlet(np.full(n_tokens, 0.3), n_tokens + 1)


def test_every_case_blank_and_stop_counts_and_no_part_of_a_word():
    """X8, X10: "Yes" and " YES." are a yes, but "no" is in neither "not", "know" nor "nope"."""
    yes, no = texts(closed(YES_NO))
    assert yes == {"yes", "Yes", " yes", " Yes", "yes.", "YES", " YES"}
    assert no == {"no", "No", " no", "NO", "No,", " No", " NO"}


def test_a_spelling_of_several_tokens_is_one_sequence():
    yes, _ = closed(YES_NO).sequences
    assert tuple(VOCABULARY.index(piece) for piece in ("YE", "S")) in yes
    assert sorted({len(ids) for ids in yes}) == [1, 2, 3]


def test_a_model_that_says_yes_in_capitals_is_read_right():
    """X8: lower-case labels alone would find next to nothing of a model whose answer is "Yes"."""
    model = np.full(len(VOCABULARY), 0.001)
    model[VOCABULARY.index("Yes")] = 0.9
    yes, _ = closed(YES_NO).sequences
    assert sum(model[ids[0]] for ids in yes if len(ids) == 1) > 0.9
    assert model[VOCABULARY.index("yes")] < 0.01


def test_two_tokens_of_one_text_both_count():
    """T02, T13: ids are counted, so that a spelling that occurs twice never overwrites the other one."""
    vocabulary = ("yes", "yes", "no", " yes")
    yes, no = closed(YES_NO, vocabulary).sequences
    assert yes == ((0,), (1,), (3,))
    assert no == ((2,),)


def test_numerator_and_denominator_come_from_one_set():
    """T13: no sequence occurs twice, however many words and forms spell it."""
    many = Labels({"yes": ("yes", "Yes", "YES", "yes."), "no": ("no", "NO")})
    assert closed(many).sequences == closed(YES_NO).sequences


def test_probabilities_add_up_to_those_of_all_replies_written_out():
    answers = closed(YES_NO)
    model = random_model(len(VOCABULARY), 3)
    longest = max(len(ids) for sequences in answers.sequences for ids in sequences)
    written = np.zeros(2)
    for reply in itertools.product(range(len(VOCABULARY)), repeat=longest):
        owners = [
            label for label, sequences in enumerate(answers.sequences) if any(reply[: len(s)] == s for s in sequences)
        ]
        assert len(owners) <= 1
        for label in owners:
            written[label] += probability(model, reply)
    summed = [sum(probability(model, ids) for ids in sequences) for sequences in answers.sequences]
    assert summed == pytest.approx(written, rel=1e-12)


def test_a_spelling_that_would_change_the_prompt_is_left_out_with_the_reason():
    """T05, T06: behind a blank, " yes" can't follow, because the prompt's own blank would become part of it."""
    encode = longest_first(VOCABULARY)
    answers = closed(YES_NO, encode=lambda text: None if text.startswith(" ") else encode(text))
    assert {out.text for out in answers.left_out if "prompt's own" in out.reason} >= {" yes", " Yes", " no"}
    # The token itself counts all the same: a model may say it wherever it likes.
    assert (VOCABULARY.index(" yes"),) in answers.sequences[0]


def test_an_answer_that_nothing_spells_is_refused_and_the_reason_given():
    with pytest.raises(MeasurandError, match=r"'oui'.*last tokens would change"):
        closed(Labels({"oui": ("oui",), "no": ("no",)}), encode={}.get)


def test_an_answer_of_special_tokens_alone_is_refused():
    with pytest.raises(MeasurandError, match="special token"):
        closed(Labels({"ja": ("ja",), "no": ("no",)}), encode=lambda _: (0,))


def test_tokens_that_say_something_else_do_not_count():
    """T07: a tokenizer that rewrites what it is given gives no answer of that name."""
    rewriting = {"oui": (12,), "no": (5,)}
    with pytest.raises(MeasurandError, match="its tokens say 'Y'"):
        closed(Labels({"oui": ("oui",), "no": ("no",)}), encode=rewriting.get)


def test_a_word_that_begins_another_answer_is_refused_with_both():
    vocabulary = ("no", "ne", "yes")
    with pytest.raises(MeasurandError, match=r"\[0\] of the answer 'no' \('no'\) begin those of 'none'.*\[0, 1\]"):
        closed(Labels({"none": ("none",), "no": ("no",)}), vocabulary)
    # Twin: as one token the two words are apart.
    assert closed(Labels({"none": ("none",), "no": ("no",)}), (*vocabulary, "none")).sequences == (((3,),), ((0,),))


def test_two_answers_of_the_same_tokens_are_refused():
    vocabulary = ("\N{REPLACEMENT CHARACTER}", "x")
    with pytest.raises(MeasurandError, match="are also those of 'b'"):
        closed(Labels({"a": ("да",), "b": ("не",)}), vocabulary, encode=lambda _: (0,))


def test_a_numeral_that_begins_another_is_told_from_it():
    digits = (*"0123456789", " 1")
    answers = closed(ONE_TO_TEN, digits)
    assert answers.subtracted == {(1,): ((1, 0),), (10,): ((10, 0),)}
    model = random_model(len(digits), 5)
    written = np.zeros(10)
    for reply in itertools.product(range(len(digits)), repeat=3):
        said = "".join(digits[token] for token in reply)
        number = said[1:] if said.startswith(" ") else said
        if number[:2] == "10":
            written[9] += probability(model, reply)
        elif number[:1] in set("123456789"):
            written[int(number[0]) - 1] += probability(model, reply)
    summed = [
        sum(
            probability(model, ids) - sum(probability(model, longer) for longer in answers.subtracted.get(ids, ()))
            for ids in sequences
        )
        for sequences in answers.sequences
    ]
    assert summed == pytest.approx(written, rel=1e-12)
    with pytest.raises(MeasurandError, match="begin"):
        closed(Labels(ONE_TO_TEN.words), digits)


def test_a_numeral_is_taken_off_once_however_many_go_on_from_it():
    hundred = Labels({number: (number,) for number in ("1", "10", "100")}, are_numerals=True)
    assert closed(hundred, ("0", "1")).subtracted == {(1,): ((1, 0),), (1, 0): ((1, 0, 0),)}


def test_no_stop_may_follow_a_numeral():
    # "3." may begin 3.5.
    assert scan(Labels({"3": ("3",)}, are_numerals=True), vocabulary=("3", "3.", " 3")) == {"3": (0, 2)}


def test_a_longer_spelling_of_the_same_answer_is_already_counted():
    answers = closed(Labels({"a": ("y", "yes"), "b": ("no",)}), ("y", "es", "no"))
    assert answers.sequences == (((0,),), ((2,),))
    assert [out.reason for out in answers.left_out if out.text == "yes"] == ["already counted with 'y'"]


def test_the_table_is_json_and_names_what_counts_and_what_does_not():
    rows = json.loads(json.dumps(closed(YES_NO, encode={"yes": (1,)}.get).table()))
    assert {"label": "yes", "text": "Yes", "ids": [2], "kind": "token", "subtracted": [], "reason": ""} in rows
    assert {row["kind"] for row in rows} == {"token", "left_out"}
    assert all(row["reason"] for row in rows if row["kind"] == "left_out")


def test_a_scan_that_is_given_is_not_made_again():
    assert closed(YES_NO) == close(
        YES_NO,
        vocabulary=VOCABULARY,
        encode=longest_first(VOCABULARY),
        scanned=scan(YES_NO, vocabulary=VOCABULARY),
    )


pieces = st.lists(st.text("abAB .", min_size=1, max_size=3), min_size=1, max_size=12, unique=True)
words = st.lists(st.text("abc", min_size=1, max_size=3), min_size=2, max_size=4, unique=True)


def close_or_refuse(labels, vocabulary):
    try:
        return closed(labels, vocabulary)
    except MeasurandError:
        return None


@given(pieces, words, st.booleans())
def test_sequences_are_prefix_free_and_of_one_answer_each(vocabulary, words, are_numerals):
    vocabulary = (*vocabulary, *"abcABC ")
    labels = Labels({word: (word,) for word in words}, are_numerals=are_numerals)
    answers = close_or_refuse(labels, vocabulary)
    if answers is None:
        return
    flat = [(label, ids) for label, sequences in enumerate(answers.sequences) for ids in sequences]
    for (label, ids), (other, longer) in itertools.permutations(flat, 2):
        assert ids != longer
        if longer[: len(ids)] == ids:
            assert are_numerals
            assert label != other
            assert any(longer[: len(taken)] == taken for taken in answers.subtracted[ids])
    for label, ids in flat:
        assert labels.of("".join(vocabulary[token] for token in ids)) == labels.names[label]
    spelled = {token for token, text in enumerate(vocabulary) if labels.of(text)}
    assert spelled == {ids[0] for _, ids in flat if len(ids) == 1}


@given(pieces, words)
def test_closing_what_is_closed_changes_nothing(vocabulary, words):
    vocabulary = (*vocabulary, *"abcABC ")
    labels = Labels({word: (word,) for word in words})
    answers = close_or_refuse(labels, vocabulary)
    if answers is None:
        return
    known = {spelling.text: spelling.ids for spellings in answers.spellings for spelling in spellings}
    assert closed(labels, vocabulary, encode=known.get).sequences == answers.sequences


@given(pieces, st.permutations(["a", "ab", "cab", "b"]))
def test_the_order_of_words_makes_no_difference(vocabulary, words):
    vocabulary = (*vocabulary, *"abcABC ")
    one = close_or_refuse(Labels({"x": ("a", "ab", "cab", "b"), "y": ("c",)}), vocabulary)
    other = close_or_refuse(Labels({"x": tuple(words), "y": ("c",)}), vocabulary)
    assert (one is None) == (other is None)
    assert one is None or one.sequences == other.sequences


@pytest.fixture(scope="module")
def renderer(smollm2):
    os.environ["HF_HUB_OFFLINE"] = "1"
    from measurand.eliciting.local.render import Renderer

    return Renderer(System("smollm2", "transformers", model=str(smollm2)))


def smollm2_answers(renderer, labels, prefill) -> AnswerSet:
    rendered = renderer.render(Prompt("Is it joy? Answer yes or no.", prefill=prefill))
    return close(labels, vocabulary=renderer.vocabulary(), encode=lambda text: renderer.encode_after(rendered, text))


@pytest.mark.parametrize("prefill", ["", "Answer:", "Answer: ", "Answer:\n"])
def test_smollm2_spells_yes_and_no_with_and_without_a_blank_behind_every_prefill(renderer, prefill):
    """T05, T06: every prefill, with and without a blank at its end, times every spelling with and without one."""
    yes, no = smollm2_answers(renderer, YES_NO, prefill).sequences
    said = [{renderer.decode(ids) for ids in sequences} for sequences in (yes, no)]
    assert said[0] >= {"yes", "Yes", " yes", " Yes"}
    assert said[1] >= {"no", "No", " no", "NO", " NO"}
    # YES is no token of its own: behind the prompt's blank it would take that blank to itself.
    assert ("YES" in said[0]) == (not prefill.endswith(" "))


def test_smollm2_reads_the_same_ids_by_the_tokenizer_itself(renderer):
    """The reference: every token that decodes, behind another one, to a yes by its own rule of three lines."""
    tokenizer = renderer.tokenizer
    (anchor,) = tokenizer("a", add_special_tokens=False)["input_ids"]
    found = [
        token
        for token in range(len(tokenizer))
        if tokenizer.decode([anchor, token])[1:].strip(" .,!?:;\n").lower() == "yes"
    ]
    yes, _ = smollm2_answers(renderer, YES_NO, "Answer:").sequences
    assert [ids[0] for ids in yes if len(ids) == 1] == found


def test_smollm2_tells_1_from_10(renderer):
    answers = smollm2_answers(renderer, ONE_TO_TEN, "Answer:")
    one, ten = answers.sequences[0], answers.sequences[9]
    assert {renderer.decode(ids) for ids in one} == {"1", " 1"}
    assert {ids for longer in answers.subtracted.values() for ids in longer} == set(ten)


def test_letters_with_accents_are_the_same_in_one_sign_and_in_two_and_marks_of_other_scripts_close_a_word():
    labels = Labels({"yes": ("sí", "はい"), "no": ("no", "いいえ")})
    for text in ("sí", "Sí.", unicodedata.normalize("NFD", " SÍ"), "はい。", "はい"):
        assert labels.of(text) == "yes"
    assert labels.of("いいえ、") == "no"
    assert labels.of("はいい") == ""
    assert unicodedata.normalize("NFD", "Sí") in labels.forms("yes")
