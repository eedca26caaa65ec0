import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.answers import STATUSES
from measurand.data.text import UNITS, count
from measurand.eliciting.declared import TextRule
from measurand.eliciting.text_reply import read_text_reply, reads_as_refusal

FIVE = TextRule("emoji", 1, 5, only=True)
PAPER = TextRule("emoji", 1, 5, beyond_ascii=True)


def read(text, rule=FIVE, *, is_truncated=False, is_refused=False):
    return read_text_reply(text, rule=rule, is_truncated=is_truncated, is_refused=is_refused)


# --- The rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "n_units", "residue"),
    [
        ("😂", "ok", 1, ""),
        (" 👩‍👩‍👧 👍🏽\n🇧🇩1️⃣❤️ ", "ok", 5, ""),
        ("😂😂😂😂😂😂", "too_many", 6, ""),
        ("", "empty", 0, ""),
        (" \n", "empty", 0, ""),
        ("Happy", "too_few", 0, "Happy"),
        ("Sure! 😂", "other_text", 1, "Sure!"),
        ("ক্ষ", "too_few", 0, "ক্ষ"),
        ("\ufe0f", "too_few", 0, "\ufe0f"),
        ("🇧", "too_few", 0, "🇧"),
        ("❤", "too_few", 0, "❤"),
    ],
)
def test_one_to_five_emoji_and_nothing_else(text, kind, n_units, residue):
    found = read(text)
    assert (found.accepted, found.kind, found.n_units, found.residue) == (kind == "ok", kind, n_units, residue)
    assert found.status == ("ok" if kind == "ok" else "invalid")
    assert bool(found.problem) == (kind != "ok")


def test_the_text_is_kept_but_for_outer_white_space():
    """T36: what a rule refuses is kept as well, with the reason."""
    for text in ("😂\ufe0f 😂 !", "<b>no</b>", "“ok”"):
        assert read(f"\n {text}\t").text == text


def test_other_text_beside_the_emoji_matters_only_where_the_rule_says_so():
    assert read("Sure! 😂", TextRule("emoji", 1, 5)).accepted
    assert not read("Sure! 😂", FIVE).accepted


@pytest.mark.parametrize(
    ("text", "rule", "kind"),
    [
        ("two words", TextRule("word", 2, 2), "ok"),
        ("two words", TextRule("word", 3), "too_few"),
        ("can't stop", TextRule("word", 1, 2, only=True), "ok"),
        ("can't stop!", TextRule("word", 1, 2, only=True), "other_text"),
        ("a a a", TextRule("word", 1, 3, only=True), "ok"),
        ("👍🏽", TextRule("grapheme", 1, 1), "ok"),
        ("👍🏽", TextRule("character", 1, 1), "too_many"),
        ("anything", TextRule(least=None), "ok"),
        ("anything", TextRule(), "ok"),
    ],
)
def test_the_units_of_the_rule_are_counted(text, rule, kind):
    found = read(text, rule)
    assert (found.kind, found.n_units) == (kind, count(text, rule.unit))


def test_problems_say_what_was_counted_and_what_is_allowed():
    assert read("😂" * 7).problem == "7 emoji; at most 5 may be there"
    assert read("x").problem == "0 emoji; at least 1 must be there"
    assert read("ok 😂").problem == "'ok' beside the emoji; nothing else may be there"


# --- The second paper's rule ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["আমি ভালো", "“fine”", "\ufe0f", "café", "©", "🇧", "😂" * 40, "Sure! 😂"])
def test_whatever_is_beyond_ascii_passes_the_second_papers_rule(text):
    """The paper asked again only for pure ASCII: Bangla words, curly quotes and a lone variation selector pass."""
    found = read(text, PAPER)
    assert found.accepted
    assert found.status == "ok"
    assert found.n_units == count(text, "emoji")
    assert not read(text).accepted


@pytest.mark.parametrize("text", ["Happy", ":-)", "", "12"])
def test_pure_ascii_is_asked_again(text):
    found = read(text, PAPER)
    assert (found.accepted, found.status) == (False, "invalid")
    assert found.kind == ("only_ascii" if text else "empty")
    assert found.problem


def test_an_accepted_reply_still_says_what_the_bounds_find():
    found = read("😂" * 7, PAPER)
    assert (found.accepted, found.kind, found.problem) == (True, "too_many", "7 emoji; at most 5 may be there")
    assert read("😂", PAPER).problem == ""


# --- Truncation and refusal -------------------------------------------------------------------------------------------


def test_a_reply_that_was_cut_off_is_truncated():
    found = read("😂", is_truncated=True)
    assert (found.accepted, found.status, found.kind) == (False, "truncated", "truncated")
    assert found.problem == "the reply was cut off at the limit of tokens"
    assert read("😂").accepted


def test_the_second_papers_rule_does_not_look_at_how_a_reply_ended_but_its_status_does():
    found = read("😂", PAPER, is_truncated=True)
    assert (found.accepted, found.status) == (True, "truncated")


def test_refusals_are_told_from_replies_that_break_the_rule():
    assert read("I'm sorry, but I can't help with that.").status == "refused"
    assert read("I can't help but smile").status == "invalid"
    assert read("Nope").status == "invalid"
    assert read("", is_refused=True).status == "refused"
    assert read("😂", is_refused=True).accepted is False


def test_a_reply_that_the_rule_accepts_is_no_refusal_whatever_its_words_are():
    assert read("I can't help you.", TextRule("word", 1, 10)).status == "ok"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("I can’t assist with this request.", True),
        ("Sorry, I cannot provide that", True),
        ("I decline to answer", True),
        ("We are not able to give ratings", True),
        ("I can't see an image", False),
        ("I can assist", False),
        ("You can't help it", False),
        ("He said: I can't help", False),
        ("", False),
    ],
)
def test_only_plain_refusals_at_the_start_count(text, is_one):
    assert reads_as_refusal(text) is is_one


# --- Whatever is said -------------------------------------------------------------------------------------------------


@given(
    st.one_of(st.text(max_size=40), st.text(alphabet="a 😂❤\ufe0f\u200d🇧🏽’", max_size=12)),
    st.builds(
        TextRule,
        unit=st.sampled_from(UNITS),
        least=st.sampled_from([None, 0, 1, 2]),
        most=st.sampled_from([None, 2, 5]),
        only=st.booleans(),
        beyond_ascii=st.booleans(),
    ),
    st.booleans(),
    st.booleans(),
)
def test_no_reply_raises_and_what_it_says_agrees(text, rule, is_truncated, is_refused):
    """T31: fuzz."""
    found = read(text, rule, is_truncated=is_truncated, is_refused=is_refused)
    assert found.status in STATUSES
    assert found.text == text.strip()
    assert found.n_units == count(found.text, rule.unit)
    assert found.accepted or found.problem
    if rule.beyond_ascii:
        assert found.accepted == any(ord(one) > 0x7F for one in found.text)
    else:
        assert found.accepted == (found.status == "ok") == (found.kind == "ok")
        if found.accepted:
            assert (rule.least or 0) <= found.n_units <= (found.n_units if rule.most is None else rule.most)
