import json
import re

import pytest

from measurand.data.scale import Scale
from measurand.eliciting.declared import Generative, Text
from measurand.eliciting.presets import (
    NEVER_IN_EXAMPLE,
    PRESETS,
    aliases_of,
    criteria_of,
    families_of,
    generative_preset,
    scale_of,
    text_preset,
)
from measurand.eliciting.ratings_reply import read_ratings_reply
from measurand.eliciting.text_reply import read_text_reply
from measurand.eliciting.wordings import check_phrasing, example_ratings, fill
from measurand.result import MeasurandError

FORTY = criteria_of("emonet-face")
ZERO_SHOT = generative_preset("emonet-face")
MULTI = generative_preset("emonet-face-multi")
EMOJI = text_preset("two-emojis")
NAMED = tuple(ZERO_SHOT.rule.example)


def read(text, readout=ZERO_SHOT, **ended):
    return read_ratings_reply(
        text,
        criteria=FORTY,
        scale={"": scale_of("emonet-face")},
        rule=readout.rule,
        is_truncated=ended.get("is_truncated", False),
        is_refused=False,
    )


def accepted_at(replies, readout, reader):
    """Return the number of the attempt that is accepted, None if none is within the preset's attempts."""
    for number, reply in enumerate(replies[: readout.retry.attempts], start=1):
        if reader(reply).accepted:
            return number
    return None


# --- The emotions -----------------------------------------------------------------------------------------------------


def test_there_are_forty_emotions_in_seven_families():
    assert len(FORTY) == len(set(FORTY)) == 40
    assert [len(names) for names in families_of("emonet-face").values()] == [9, 6, 6, 10, 2, 4, 3]
    assert (FORTY[0], FORTY[-1]) == ("Amusement", "Infatuation")
    assert aliases_of("emonet-face")["Hopelessness"] in FORTY
    assert "Hopelessness" not in FORTY
    assert scale_of("emonet-face") == Scale(0, 7, step=1, level="ordinal")


def test_the_names_are_those_of_the_published_guide(shared):
    guide = json.loads((shared / "data" / "emonet_binary" / "guide.json").read_text(encoding="utf-8"))
    text = json.dumps(guide, ensure_ascii=False)
    for family, names in families_of("emonet-face").items():
        assert family in text
        assert all(json.dumps(name, ensure_ascii=False)[1:-1] in text for name in names)


# --- Zero-shot --------------------------------------------------------------------------------------------------------


def test_the_zero_shot_preset_has_the_benchmarks_rules():
    rule, retry, decoding = ZERO_SHOT.rule, ZERO_SHOT.retry, ZERO_SHOT.decoding
    assert (rule.n_pairs, rule.zeros, rule.is_strict) == (25, False, False)
    assert (retry.attempts, retry.shows_reply) == (20, False)
    assert (decoding.max_tokens, decoding.temperature, decoding.top_p, decoding.seed) == (1000, None, None, None)
    check_phrasing(ZERO_SHOT)


def test_the_request_names_twenty_five_emotions_in_its_example_and_says_25_in_the_note_alone():
    question = fill(
        ZERO_SHOT.phrasings[0], criteria=FORTY, scale=scale_of("emonet-face"), example=ZERO_SHOT.rule.example
    )
    assert re.findall(r"^- (.*)$", question, flags=re.MULTILINE) == list(FORTY)
    shown = json.loads(question[question.index("{") : question.rindex("}") + 1])
    assert list(shown) == list(NAMED)
    assert len(NAMED) == 25
    assert all(1 <= value <= 7 for value in shown.values())
    assert "25" not in question
    assert "25" in ZERO_SHOT.retry.note
    assert "from 0 to 7" in question


def test_fifteen_emotions_are_never_asked():
    """A reply that keeps to the example can't rate them, and they are not_asked; the benchmark scored them 0."""
    assert len(NEVER_IN_EXAMPLE) == 15
    assert set(NAMED) | set(NEVER_IN_EXAMPLE) == set(FORTY)
    found = read(json.dumps(dict.fromkeys(NAMED, 4)))
    assert found.accepted
    status = {name: cell.status for name, cell in found.cells.items()}
    assert {name for name in FORTY if status[name] == "not_asked"} == set(NEVER_IN_EXAMPLE)
    assert {status[name] for name in NAMED} == {"ok"}
    assert all(found.cells[name].value != found.cells[name].value for name in NEVER_IN_EXAMPLE)


def test_twenty_five_pairs_pass_whatever_they_are():
    """X5: wrong keys, texts and numbers off the scale are accepted on the first attempt, as the benchmark did."""
    wrong = {f"Group|Key {i}": "0" for i in range(25)}
    assert read(json.dumps(wrong)).accepted
    assert {cell.status for cell in read(json.dumps(wrong)).cells.values()} == {"not_returned", "not_asked"}
    assert read(json.dumps(dict.fromkeys(NAMED, 9))).accepted
    assert {read(json.dumps(dict.fromkeys(NAMED, 9))).cells[name].status for name in NAMED} == {"invalid"}
    assert not read(json.dumps(dict.fromkeys(NAMED, 0))).accepted
    assert not read(json.dumps(dict.fromkeys(NAMED[:24], 3))).accepted
    assert not read(json.dumps(dict.fromkeys(FORTY, 3))).accepted


def test_the_echo_of_the_example_is_accepted_for_every_item():
    """X4: two images with the same 25 pairs: nothing in the protocol tells that from an answer; the numbers do."""
    made_up = example_ratings(NAMED, scale_of("emonet-face"))
    echo = read(json.dumps(made_up))
    answer = read(json.dumps({name: 8 - value for name, value in made_up.items()}))
    assert echo.accepted
    assert answer.accepted
    assert {name: echo.cells[name].value for name in NAMED} == made_up
    assert {name: answer.cells[name].value for name in NAMED} != made_up


def test_acceptance_by_attempt_on_a_scripted_sequence_of_replies():
    good = json.dumps(dict.fromkeys(NAMED, 2))
    script = ["Certainly!", json.dumps(dict.fromkeys(NAMED[:20], 2)), json.dumps(dict.fromkeys(NAMED, 0)), good, good]
    assert accepted_at(script, ZERO_SHOT, read) == 4
    assert [read(reply).kind for reply in script] == ["not_json", "wrong_number", "zeros", "ok", "ok"]
    assert accepted_at([*["no"] * 19, good], ZERO_SHOT, read) == 20
    assert accepted_at([*["no"] * 20, good], ZERO_SHOT, read) is None


def test_a_reply_with_the_families_in_its_keys_is_read():
    family = {name: group for group, names in families_of("emonet-face").items() for name in names}
    reply = {"key": ["f", "m", "x.png"], "value": {f"{family[name]}|{name}": 3 for name in NAMED}}
    found = read(f"```json\n{json.dumps(reply)}\n```")
    assert found.accepted
    assert {found.cells[name].status for name in NAMED} == {"repaired"}


# --- Multi-shot -------------------------------------------------------------------------------------------------------


def test_the_multi_shot_preset_wants_all_forty_and_at_most_five_above_zero():
    check_phrasing(MULTI)
    assert (MULTI.retry.attempts, MULTI.decoding.max_tokens, MULTI.rule.is_strict) == (1, 2000, True)
    ratings = dict.fromkeys(FORTY, 0) | dict.fromkeys(FORTY[:5], 6)
    found = read(json.dumps(ratings), MULTI)
    assert found.accepted
    assert {name: cell.value for name, cell in found.cells.items()} == ratings
    assert read(json.dumps(ratings | {FORTY[5]: 1}), MULTI).kind == "too_many_nonzero"
    assert read(json.dumps(dict.fromkeys(FORTY[:39], 0)), MULTI).kind == "wrong_keys"
    assert read(json.dumps(ratings | {FORTY[0]: 8}), MULTI).kind == "out_of_range"


# --- Emoji ------------------------------------------------------------------------------------------------------------


def read_emoji(text):
    return read_text_reply(text, rule=EMOJI.rule, is_truncated=False, is_refused=False)


def test_the_emoji_preset_has_the_papers_request():
    check_phrasing(EMOJI)
    assert (EMOJI.rule.unit, EMOJI.rule.least, EMOJI.rule.most, EMOJI.rule.beyond_ascii) == ("emoji", 1, 5, True)
    assert (EMOJI.retry.attempts, EMOJI.retry.note, EMOJI.retry.shows_reply) == (3, "", False)
    assert (EMOJI.decoding.temperature, EMOJI.decoding.max_tokens, EMOJI.decoding.seed) == (0.7, 50, None)
    assert len(EMOJI.phrasings) == 1
    assert "1 to 5 emojis and nothing else" in EMOJI.phrasings[0].question


def test_the_emoji_preset_asks_again_only_for_ascii():
    assert accepted_at(["Happy", ":)", "😂"], EMOJI, read_emoji) == 3
    assert accepted_at(["Happy", ":)", "sad", "😂"], EMOJI, read_emoji) is None
    assert accepted_at(["“Happy”", "😂"], EMOJI, read_emoji) == 1
    assert read_emoji("“Happy”").n_units == 0


# --- Names ------------------------------------------------------------------------------------------------------------


def test_every_preset_has_a_line_and_makes_a_readout_of_its_name():
    assert set(PRESETS) == {"emonet-face", "emonet-face-multi", "two-emojis"}
    assert all(line and "\n" not in line for line in PRESETS.values())
    made = [ZERO_SHOT, MULTI, EMOJI]
    assert [one.name for one in made] == list(PRESETS)
    assert [type(one) for one in made] == [Generative, Generative, Text]
    assert criteria_of("two-emojis") == ()
    assert dict(aliases_of("two-emojis")) == {}


def test_unknown_presets_are_refused_with_those_there_are():
    with pytest.raises(MeasurandError, match=r"no preset 'emonetface'; .* did you mean 'emonet-face'\?"):
        generative_preset("emonetface")
    with pytest.raises(MeasurandError, match=r"of this kind there are two-emojis"):
        text_preset("emonet-face")
    with pytest.raises(MeasurandError, match=r"of this kind there are emonet-face, emonet-face-multi"):
        scale_of("two-emojis")
    for function in (criteria_of, families_of, aliases_of):
        with pytest.raises(MeasurandError, match="there is no preset"):
            function("x")
