import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.emoji import canonical, presentation
from measurand.data.text import graphemes

LISTED = Path(__file__).parents[1] / "oracles" / "emoji" / "expected.csv"

pieces = "❤😂👩👨🧑👧🏃🎅👫🏽🏿♀♂\ufe0e\ufe0f\u200d🤝a"


@pytest.mark.parametrize(
    ("cluster", "found"),
    [
        ("❤", "text"),
        ("❤️", "emoji"),
        ("😂", "emoji"),
        ("😂\ufe0e", "text"),
        ("🇧🇩", "emoji"),
        ("🇧", ""),
        ("7️⃣", "emoji"),
        ("7", ""),
        ("🏽", ""),
        ("ক্ষ", ""),
        ("”", ""),
        ("", ""),
    ],
)
def test_a_cluster_is_an_emoji_could_be_one_or_neither(cluster, found):
    assert presentation(cluster) == found


@pytest.mark.parametrize(
    ("options", "one", "other"),
    [
        ({}, "❤️", "❤"),
        ({}, "❤️‍🔥", "❤‍🔥"),
        ({}, "1️⃣", "1⃣"),
        ({"skin_tone": True}, "👍🏽", "👍"),
        ({"skin_tone": True}, "👨🏽‍💻", "👨‍💻"),
        ({"skin_tone": True}, "🧑🏻‍🤝‍🧑🏿", "🧑‍🤝‍🧑"),
        ({"gender": True}, "🏃‍♀️", "🏃"),
        ({"gender": True}, "🏃🏽‍♂️", "🏃🏽"),
        ({"gender": True}, "👩‍💻", "🧑‍💻"),
        ({"gender": True}, "👨‍💻", "🧑‍💻"),
        ({"gender": True}, "👩🏽‍🚒", "🧑🏽‍🚒"),
        ({"gender": True}, "👨‍👩‍👦", "🧑‍🧑‍🧒"),
        ({"gender": True}, "👫", "🧑‍🤝‍🧑"),
        ({"gender": True}, "👭🏽", "🧑🏽‍🤝‍🧑🏽"),
        ({"gender": True}, "🎅🏽", "🧑🏽‍🎄"),
        ({"gender": True}, "🤶", "🧑‍🎄"),
        ({"gender": True, "skin_tone": True}, "👩🏿‍⚕️", "🧑‍⚕️"),
    ],
)
def test_options_make_emoji_equal(options, one, other):
    assert canonical(one, **options) == canonical(other, **options)
    assert canonical(other, **options) == canonical(other)


def test_what_is_not_asked_for_stays():
    assert canonical("👍🏽") == "👍🏽"
    assert canonical("🏃‍♀️") == "🏃‍♀"
    assert canonical("❤️", variation=False) == "❤️"
    assert canonical("🏃‍♀️", variation=False, gender=True) == "🏃"
    assert canonical("💃", gender=True) != canonical("🕺", gender=True)
    assert canonical("♀️", gender=True) == "♀"
    assert canonical("🏽", skin_tone=True) == "🏽"
    assert canonical("\ufe0f") == "\ufe0f"


def test_listed_emoji_have_one_form_however_they_are_qualified():
    """What is minimally or not qualified lacks variation selectors and nothing else."""
    with LISTED.open(encoding="utf-8") as file:
        texts = ["".join(chr(int(code, 16)) for code in row["text"].split()) for row in csv.DictReader(file)]
    for text in texts:
        form = canonical(text)
        assert form == text[0] + text[1:].replace("\ufe0f", "")
        assert graphemes(form) == [form]


@given(
    st.one_of(st.text(alphabet=pieces, max_size=8), st.text(max_size=8)), st.booleans(), st.booleans(), st.booleans()
)
def test_the_form_of_a_form_is_itself_and_never_blank(text, variation, skin_tone, gender):
    options = {"variation": variation, "skin_tone": skin_tone, "gender": gender}
    for cluster in graphemes(text):
        form = canonical(cluster, **options)
        assert form
        assert canonical(form, **options) == form
