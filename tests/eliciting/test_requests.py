from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eliciting.studies import EVERY, OPTIONS, RATE, TEXTS, VERIFY, WHICH, everything, study
from measurand.data.scale import Scale
from measurand.eliciting.declared import Choice, Generative, Item, Phrasing, Retry, ScaleReading, Text, Verification
from measurand.eliciting.engine import Decoding
from measurand.eliciting.labels import Labels
from measurand.eliciting.prompt import Picture, Prompt, Turn
from measurand.eliciting.requests import (
    Request,
    attempt_of,
    blocks,
    decoding_of,
    numerals,
    protocol_of,
    requests,
    scale_of,
)
from measurand.result import MeasurandError

PICTURE = Picture(b"\x89PNG\r\n\x1a\n1", "image/png")
PROMPT = Prompt("question", "shared", PICTURE, "system", "prefill", (Turn("reply", "note"),))
LABELS = Labels({"yes": ("yes",), "no": ("no",)})
REQUEST = Request(Verification([VERIFY]), "i1", "", "does", "Answer:", "joy", 0, PROMPT, LABELS)


def asked(design, block=0):
    return list(requests(design, blocks(design)[block]))


def only(design):
    (request,) = asked(design)
    return request


# Keys

DETERMINANTS = {
    "question": {"question": "another"},
    "shared": {"shared": "another"},
    "system message": {"system": "another"},
    "prefill": {"prefill": "another"},
    "no picture": {"picture": None},
    "one byte of the picture": {"picture": Picture(b"\x89PNG\r\n\x1a\n2", "image/png")},
    "turns": {"turns": ()},
    "a turn's reply": {"turns": (Turn("other", "note"),)},
    "a turn's note": {"turns": (Turn("reply", "other"),)},
    "twice the turn": {"turns": (Turn("reply", "note"),) * 2},
}


@pytest.mark.parametrize("what", DETERMINANTS)
def test_whatever_the_system_sees_changes_the_key(what):
    """T15, T70, T71: no answer to one prompt or picture is ever served as the answer to another."""
    other = replace(REQUEST, prompt=replace(PROMPT, **DETERMINANTS[what]))
    assert other.key("id") != REQUEST.key("id")


def test_no_two_determinants_make_the_same_key():
    keys = {replace(REQUEST, prompt=replace(PROMPT, **change)).key("id") for change in DETERMINANTS.values()}
    assert len(keys) == len(DETERMINANTS)


def test_text_that_moves_from_one_part_to_another_changes_the_key():
    """The instructions' end and the question's beginning are apart in the key as they are in the prompt."""
    one = replace(REQUEST, prompt=Prompt("b c", "a"))
    other = replace(REQUEST, prompt=Prompt("c", "a b"))
    assert one.key("id") != other.key("id")


@pytest.mark.parametrize(
    "labels",
    [
        None,
        Labels({"yes": ("yes",), "no": ("no", "nope")}),
        Labels({"no": ("yes",), "yes": ("no",)}),
        Labels({"yes": ("yes",), "no": ("no",)}, are_numerals=True),
    ],
)
def test_labels_are_part_of_the_key(labels):
    """T13: a probability over other spellings is another answer."""
    assert replace(REQUEST, labels=labels).key("id") != REQUEST.key("id")


def test_the_order_of_labels_is_part_of_what_a_stored_reading_means():
    """Its log-probabilities are in the labels' order: read under another order they would change places."""
    turned = Labels({"no": ("no",), "yes": ("yes",)})
    assert replace(REQUEST, labels=turned).key("id") != REQUEST.key("id")


def test_identity_repeat_attempt_and_decoding_are_parts_of_the_key():
    base = Decoding()
    keys = [
        REQUEST.key("id"),
        REQUEST.key("other"),
        replace(REQUEST, repeat=1).key("id"),
        REQUEST.key("id", attempt=2),
        REQUEST.key("id", decoding=base),
    ]
    for change in (
        {"max_tokens": 5},
        {"temperature": None},
        {"temperature": 0.7},
        {"top_p": 0.9},
        {"seed": 1},
        {"seed": 2},
        {"stop": ("\n",)},
        {"json_schema": {"type": "object"}},
    ):
        keys.append(REQUEST.key("id", decoding=replace(base, **change)))
    assert len(set(keys)) == len(keys)


def test_names_of_the_study_are_no_part_of_the_key():
    """What items, controls, phrasings, criteria and readouts are called makes no answer another one."""
    same = replace(
        REQUEST,
        item="i2",
        control="swapped",
        phrasing="other",
        criterion="fear",
        negated=True,
        readout=Verification([VERIFY], name="other"),
    )
    assert same.key("id") == REQUEST.key("id")


def test_an_item_that_is_renamed_keeps_its_answers_and_one_that_changes_does_not():
    base, called, changed = (
        study(items=[Item(name, text)]) for name, text in (("a", "calm"), ("b", "calm"), ("a", "Calm"))
    )
    keys = [[one.key("id") for one in asked(one)] for one in (base, called, changed)]
    assert keys[0] == keys[1]
    assert not set(keys[0]) & set(keys[2])


def test_a_picture_counts_by_its_bytes_and_not_by_its_item():
    png = b"\x89PNG\r\n\x1a\n"
    base, same, other = (study(items=[Item("a", picture=png + end)]) for end in (b"1", b"1", b"2"))
    keys = [[one.key("id") for one in asked(one)] for one in (base, same, other)]
    assert keys[0] == keys[1]
    assert not set(keys[0]) & set(keys[2])


# What is asked


def test_every_combination_is_asked_once_in_the_order_of_the_table():
    design = study(
        Verification([VERIFY, Phrasing("other", "{criterion}?")], prefills=("Answer:", "")), n_items=1, repeats=2
    )
    found = [(one.phrasing, one.criterion, one.prefill, one.repeat) for one in asked(design)]
    assert found == [
        (phrasing, criterion, prefill, repeat)
        for phrasing in ("does", "other")
        for criterion in ("joy", "fear")
        for prefill in ("Answer:", "")
        for repeat in (0, 1)
    ]


def test_every_request_of_a_study_has_a_key_of_its_own():
    design = everything(repeats=2)
    keys = [one.key("id") for block in blocks(design) for one in requests(design, block)]
    assert len(set(keys)) == len(keys) == 3 * (2 * 2 * 2 + 2 + 2 + 1 + 1) * 2


def test_a_swapped_item_is_asked_what_the_other_item_is_asked():
    design = study(controls=("swapped",), n_items=3)
    shown = blocks(design)
    plain = {one.key("id") for block in shown[:3] for one in requests(design, block)}
    swapped = {one.key("id") for block in shown[3:] for one in requests(design, block)}
    assert swapped == plain
    assert [block.item.name for block in shown[3:]] == ["i1", "i2", "i3"]
    assert all(block.item.name != block.shown.name for block in shown[3:])


def test_the_limit_holds_for_items_and_their_controls():
    design = study(controls=("shuffled",), n_items=5, control_items=4)
    assert [(block.item.name, block.control) for block in blocks(design, limit=2)] == [
        ("i1", ""),
        ("i2", ""),
        ("i1", "shuffled"),
        ("i2", "shuffled"),
    ]


def test_rotations_list_the_options_in_other_orders_under_names_of_their_own():
    """T75, X7: the order of the options is part of the question and never decides ties."""
    found = asked(study(Choice(OPTIONS, [WHICH], rotations=3), n_items=1))
    assert [one.phrasing for one in found] == ["which", "which (rotated by 1)", "which (rotated by 2)"]
    listed = [one.prompt.question.split("\n")[1:] for one in found]
    assert listed == [["- joy", "- fear", "- awe"], ["- fear", "- awe", "- joy"], ["- awe", "- joy", "- fear"]]
    assert len({one.labels.names for one in found}) == 1


def test_the_item_stands_before_the_question_unless_the_question_says_where():
    before = only(study(Text([Phrasing("p", "How is it?")]), n_items=1))
    inside = only(study(Text([Phrasing("p", "How is <{text}>?")]), n_items=1))
    of_instructions = only(study(Text([Phrasing("p", "How is it?")], instructions="Read: {text}!"), n_items=1))
    assert before.prompt.text == f"{TEXTS[0]}\n\nHow is it?"
    assert inside.prompt.text == f"How is <{TEXTS[0]}>?"
    assert of_instructions.prompt.text == f"Read: {TEXTS[0]}!\n\nHow is it?"


HOSTILE = ("{criterion}", "{text}", "{criteria} {scale}", "\\g<0> \\1", "a\nb", '"quoted"', "=cmd()", "שלום", "👩‍👩‍👧")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("criterion", HOSTILE)
def test_nothing_in_an_item_or_a_criterion_is_filled_in_again(text, criterion):
    phrasing = Phrasing("p", "<{criterion}> in <{text}>, {other}?")
    request = only(study(Verification([phrasing]), items=[Item("a", text)], criteria=[criterion]))
    assert request.prompt.text == f"<{criterion}> in <{text}>, {{other}}?"


@given(st.text(max_size=30))
def test_an_item_of_any_text_is_shown_as_it_is(text):
    request = only(study(Verification([VERIFY], instructions="{text}"), items=[Item("a", text)], criteria=["c"]))
    assert request.prompt.shared == text


def test_a_criterion_has_its_own_scale_or_that_of_all():
    design = study(ScaleReading([RATE]), n_items=1, scale={"joy": Scale(1, 3, step=1), "": Scale(0, 1, step=1)})
    assert [one.labels.names for one in asked(design)] == [("1", "2", "3"), ("0", "1")]
    assert scale_of(design, "joy").high == 3


@pytest.mark.parametrize("scale", [{}, {"joy": Scale(0, 4, step=1)}])
def test_a_criterion_without_a_scale_is_refused_and_takes_no_other_ones(scale):
    with pytest.raises(MeasurandError, match="'fear' has no scale"):
        asked(study(ScaleReading([RATE]), scale=scale, criteria=["fear"]))


def test_a_request_for_all_ratings_says_every_criterions_scale():
    scale = {"joy": Scale(0, 4, step=1), "fear": Scale(0, 7, step=1)}
    question = only(study(Generative([EVERY]), n_items=1, scale=scale)).prompt.question
    assert "joy: the whole numbers from 0 to 4" in question
    assert "fear: the whole numbers from 0 to 7" in question


@pytest.mark.parametrize("scale", [Scale(0, 1), Scale(0, 1, step=0.5), Scale(-2, 2, step=1)])
def test_a_scale_without_whole_numerals_from_0_is_refused(scale):
    with pytest.raises(MeasurandError, match="whole numbers from 0"):
        numerals(scale)


# Attempts


def test_without_a_note_every_attempt_is_the_same_request():
    request = only(study(Generative([EVERY]), n_items=1))
    assert attempt_of(request, Retry(3), ["bad"]) is request
    assert attempt_of(request, Retry(3, "Only JSON."), []) is request


def test_a_note_stands_behind_the_question_once_however_many_attempts_failed():
    request = only(study(Generative([EVERY]), n_items=1))
    sent = attempt_of(request, Retry(3, "Only JSON."), ["bad", "worse"])
    assert sent.prompt.question == f"{request.prompt.question}\n\nOnly JSON."
    assert sent.prompt.turns == ()


def test_failed_replies_are_shown_as_turns_with_the_start_that_was_said_for_the_system():
    request = only(study(Generative([EVERY], prefill="{"), n_items=1))
    sent = attempt_of(request, Retry(3, "Only JSON.", shows_reply=True), ['"joy": 9}', "no"])
    assert sent.prompt.turns == (Turn('{"joy": 9}', "Only JSON."), Turn("{no", "Only JSON."))
    assert sent.prompt.question == request.prompt.question
    assert sent.prompt.prefill == "{"


# Seeds


def sampled(design, *, takes_seed=True, attempt=1):
    return [decoding_of(one, attempt=attempt, design=design, takes_seed=takes_seed) for one in asked(design)]


def test_the_likeliest_token_needs_no_seed():
    assert [one.seed for one in sampled(study(Text([VERIFY]), n_items=1))] == [None]


@pytest.mark.parametrize("temperature", [0.7, None])
def test_each_repeat_and_attempt_is_sampled_under_a_seed_of_its_own(temperature):
    design = study(Text([VERIFY], decoding=Decoding(temperature=temperature)), n_items=1, repeats=3)
    seeds = [one.seed for attempt in (1, 2) for one in sampled(design, attempt=attempt)]
    assert len(set(seeds)) == 6
    assert all(0 <= one < 2**31 for one in seeds)
    assert seeds == [one.seed for attempt in (1, 2) for one in sampled(design, attempt=attempt)]
    assert not set(seeds) & {one.seed for one in sampled(replace(design, seed=1))}


def test_an_engine_without_seeds_is_sent_one_only_where_the_study_declares_one():
    design = study(Text([VERIFY], decoding=Decoding(temperature=0.7)), n_items=1)
    declared = study(Text([VERIFY], decoding=Decoding(temperature=0.7, seed=5)), n_items=1)
    assert sampled(design, takes_seed=False)[0].seed is None
    assert sampled(declared, takes_seed=False)[0].seed is not None


# Protocols

CHANGES = {
    "wording": study(Verification([replace(VERIFY, question="{criterion}, yes or no?")])),
    "name of the wording": study(Verification([replace(VERIFY, name="other")])),
    "turned round": study(Verification([replace(VERIFY, negated=True)])),
    "prefill": study(Verification([VERIFY], prefills=("",))),
    "words": study(Verification([VERIFY], yes=("yes", "yep"))),
    "instructions": study(Verification([VERIFY], instructions="Look.")),
    "message": study(Verification([VERIFY], message="You judge.")),
    "readout": study(Generative([VERIFY], prefill="Answer:")),
    "decoding": study(Generative([VERIFY], prefill="Answer:", decoding=Decoding(9))),
    "retry": study(Generative([VERIFY], prefill="Answer:", retry=Retry(2))),
}


def test_protocols_differ_wherever_what_is_declared_differs():
    """T15, T38, T39: a protocol is told by its name, so that answers of two are never pooled."""
    names = [protocol_of(asked(one)[0], design=one, thinking="off") for one in (study(), *CHANGES.values())]
    names.append(protocol_of(asked(study())[0], design=study(), thinking="default"))
    assert len(set(names)) == len(names)


def test_item_criterion_and_repeat_are_no_part_of_a_protocol():
    design = study(repeats=2)
    assert (
        len(
            {
                protocol_of(one, design=design, thinking="off")
                for block in blocks(design)
                for one in requests(design, block)
            }
        )
        == 1
    )


def test_the_wording_of_a_phrasing_whose_name_begins_like_anothers_is_part_of_its_protocol():
    first, second = Phrasing("does", "{criterion}?"), Phrasing("does it", "Is it {criterion}?")
    changed = replace(second, question="Is it {criterion} at all?")
    design = study(Verification([first, second]), n_items=1)
    one, other = (asked(study(Verification([first, last]), n_items=1))[-1] for last in (second, changed))
    assert one.phrasing == other.phrasing == "does it"
    assert protocol_of(one, design=design, thinking="off") != protocol_of(other, design=design, thinking="off")


@pytest.mark.parametrize(
    ("placeholder", "change"),
    [("criteria", {"criteria": ("joy", "awe")}), ("scale", {"scale": {"": Scale(0, 7, step=1)}})],
)
def test_what_a_wording_lists_is_part_of_the_protocol(placeholder, change):
    """T39: a question that lists all criteria is another question where they are others; the twin lists none."""

    def names(question):
        readout = Verification([Phrasing("does", question)])
        return [
            protocol_of(asked(one)[0], design=one, thinking="off") for one in (study(readout), study(readout, **change))
        ]

    one, other = names(f"Of {{{placeholder}}}, is {{criterion}} there?")
    assert one != other
    one, other = names("Is {criterion} there?")
    assert one == other


def test_options_in_another_order_are_another_protocol():
    """T39, X7: systems lean to what is listed first."""
    turned = dict(reversed(OPTIONS.items()))
    one, other = study(Choice(OPTIONS, [WHICH])), study(Choice(turned, [WHICH]))
    assert asked(one)[0].prompt != asked(other)[0].prompt
    assert protocol_of(asked(one)[0], design=one, thinking="off") != protocol_of(
        asked(other)[0], design=other, thinking="off"
    )
