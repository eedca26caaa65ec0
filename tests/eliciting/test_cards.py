import json
from dataclasses import replace

import pytest

from eliciting.studies import EVERY, FEEL, NEGATED, OPTIONS, TEXTS, VERIFY, WHICH, ask, everything, study
from measurand.eliciting.cards import SCHEMA, cards
from measurand.eliciting.declared import Choice, Generative, Item, RatingsRule, Retry, Text, TextRule, Verification
from measurand.eliciting.engine import Abilities, Decoding, Failure, Proof
from measurand.eliciting.requests import READING, REPLY
from measurand.eliciting.system import Price, System


def card_of(design, folder, **told):
    elicited, _ = ask(design, folder, **told)
    return json.loads(json.dumps(cards(elicited), allow_nan=False))


def test_a_card_of_everything_is_json_and_says_what_was_asked(tmp_path):
    card = card_of(everything(controls=("swapped",), control_items=2, repeats=2), tmp_path)
    assert card["schema"] == SCHEMA
    assert card["study"]["n_items"] == 3
    assert card["study"]["controls"] == {"swapped": 2}
    assert card["study"]["criteria"] == ["joy", "fear"]
    assert card["study"]["scale"] == {"all": "0 to 4 in steps of 1"}
    assert [one["kind"] for one in card["readouts"]] == [
        "Verification",
        "ScaleReading",
        "Choice",
        "Generative",
        "Text",
    ]
    assert [one["version"] for one in card["readouts"]] == [READING] * 3 + [REPLY] * 2


def test_wordings_words_prefills_and_rules_are_there_as_declared(tmp_path):
    verification = Verification([VERIFY, NEGATED], prefills=("", "A:"), no=("no", "nope"), instructions="Look.")
    generative = Generative([EVERY], RatingsRule(zeros=False), Retry(3, "Again."), message="You rate.")
    choice = Choice(OPTIONS, [WHICH], rotations=2)
    readouts = card_of(study(verification, generative, choice), tmp_path)["readouts"]
    assert readouts[0]["answers"] == {"yes": ["yes"], "no": ["no", "nope"]}
    assert readouts[0]["prefills"] == ["", "A:"]
    assert readouts[0]["instructions"] == "Look."
    assert [(one["question"], one["negated"]) for one in readouts[0]["phrasings"]] == [
        (VERIFY.question, False),
        (NEGATED.question, True),
    ]
    assert readouts[1]["rule"]["zeros"] is False
    assert readouts[1]["retry"] == {"attempts": 3, "note": "Again.", "shows_reply": False}
    assert readouts[1]["system_message"] == "You rate."
    assert readouts[2]["orders"] == 2
    assert list(readouts[2]["answers"]) == list(OPTIONS)


def test_two_studies_that_ask_otherwise_have_other_cards(tmp_path):
    """T15, T39: a difference of protocol is visible."""
    one = card_of(study(), tmp_path / "a")
    other = card_of(study(Verification([replace(VERIFY, question="{criterion}?")])), tmp_path / "b")
    assert one["readouts"] != other["readouts"]
    assert one["systems"] == {**one, "systems": one["systems"]}["systems"]


def test_a_system_has_its_identity_abilities_tests_and_answer_tokens(tmp_path):
    """T53, T57: versions and everything else that determines an answer."""
    system = System("S", "fake", "m", price=Price(1, 2, currency="EUR"))
    card = card_of(study(systems=[system]), tmp_path)["systems"][0]
    assert card["identity"]["version"] == "fake/1"
    assert len(card["digest"]) == 64
    assert card["abilities"]["distribution"] == "exact"
    assert [one["check"] for one in card["proofs"]] == ["order"]
    assert card["answer_tokens"]["verification"][0]["prefill"] == "Answer:"
    assert set(card["answer_tokens"]["verification"][0]["answers"]["labels"]["Answer:"]) == {"yes", "no"}
    assert card["requests"] == {"total": 6, "answered": 6}
    assert card["price"]["currency"] == "EUR"


def test_answer_tokens_are_there_for_each_prefill_and_set_of_labels(tmp_path):
    """T05, T06: in the context of each prefill."""
    design = study(Verification([VERIFY], prefills=("Answer:", "")), Choice(OPTIONS, [WHICH]))
    tokens = card_of(design, tmp_path)["systems"][0]["answer_tokens"]
    assert [one["prefill"] for one in tokens["verification"]] == ["Answer:", ""]
    assert set(tokens["choice"][0]["answers"]["labels"]["Answer:"]) == set(OPTIONS)


def test_a_card_names_no_key(tmp_path):
    system = System("S", "fake", "m", api_key_env="SECRET_NAME")
    assert "SECRET_NAME" not in json.dumps(card_of(study(systems=[system]), tmp_path))


def test_the_example_is_the_first_request_of_each_readout_as_it_was_sent(tmp_path):
    card = card_of(everything(), tmp_path)["systems"][0]["example"]
    assert [one["readout"] for one in card] == ["verification", "scale", "choice", "generative", "text"]
    assert card[0]["user"] == f"{TEXTS[0]}\n\nIs there joy in it? Yes or no."
    assert card[0]["prefill"] == "Answer:"
    png = study(Text([FEEL]), items=[Item("a", picture=b"\x89PNG\r\n\x1a\n")])
    assert card_of(png, tmp_path / "b")["systems"][0]["example"][0]["picture"] == "image/png, first in the message"


@pytest.mark.parametrize(
    ("decoding", "abilities", "expected"),
    [
        (Decoding(9), Abilities("exact", seed=True), {"max_tokens": "sent: 9", "temperature": "sent: 0.0"}),
        (Decoding(temperature=None), Abilities("exact"), {"temperature": "not sent: the engine's default holds"}),
        (Decoding(temperature=0.7), Abilities("exact", seed=True), {"seed": "sent, its own for each request"}),
        (Decoding(temperature=0.7, seed=3), Abilities("exact"), {"seed": "sent, each request its own from 3"}),
        (Decoding(temperature=0.7), Abilities("exact"), {"seed": "not sent: the engine's default holds"}),
        (Decoding(temperature=0.7), Abilities("exact", seed=False), {"seed": "not settable"}),
        (Decoding(stop=("\n",)), Abilities("exact"), {"stop": "sent: ['\\n']", "json_schema": "not sent"}),
        (Decoding(), Abilities("exact", seed=True), {"seed": "not sent"}),
        (Decoding(seed=3), Abilities("exact"), {"seed": "sent: 3"}),
    ],
)
def test_decoding_is_told_as_it_was_sent(tmp_path, decoding, abilities, expected):
    """X-ray of what was sent: the greedy reply has no seed of its own, a sampled one has."""
    elicited, engines = ask(study(Text([FEEL], decoding=decoding), n_items=2), tmp_path, abilities=abilities)
    told = cards(elicited)["systems"][0]["decoding"]["text"]
    for name, start in expected.items():
        assert told[name].startswith(start)
    seeds = {one.seed for _, one in engines["S"].generated}
    assert (seeds == {None}) == told["seed"].startswith("not")
    assert ("its own" in told["seed"]) == (len(seeds) == 2)


def test_a_stopped_system_says_why(tmp_path):
    design = study(Generative([EVERY]), n_items=1)
    card = card_of(design, tmp_path / "a", generate=lambda *_: Failure("wrong key", stops=True))["systems"][0]
    assert (card["stopped"], card["failures"]) == ("wrong key", {"wrong key": 1})
    failed = card_of(study(), tmp_path / "b", proof=Proof("order", False, "No."))["systems"][0]
    assert failed["stopped"] == "No."
    assert failed["requests"] == {"total": 6, "answered": 0}


def test_rules_of_texts_are_there(tmp_path):
    card = card_of(study(Text([FEEL], rule=TextRule("emoji", 1, 5))), tmp_path)
    assert card["readouts"][0]["rule"]["unit"] == "emoji"
