import csv
import gzip
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.text import UNITS, count, emoji, graphemes, residue, unicode_version, words
from measurand.result import MeasurandError

ORACLES = Path(__file__).parents[1] / "oracles"

#: Characters that the rules of segmentation tell apart, beside whatever hypothesis draws.
telling = st.text(alphabet="a1# \n.'’😂❤©👍👩💻🏴🇧🇩🏽\ufe0e\ufe0f\u200d\u20e3\U000e0067\U000e007fক্ষা\u0300", max_size=12)
texts = st.one_of(telling, st.text(max_size=30))


def oracle(name):
    with (ORACLES / name / "expected.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def decoded(codes):
    return "".join(chr(int(code, 16)) for code in codes.split())


# --- Emoji ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found", "rest"),
    [
        ("👩‍👩‍👧", ["👩‍👩‍👧"], ""),
        ("👍🏽", ["👍🏽"], ""),
        ("🇧🇩🇮🇳", ["🇧🇩", "🇮🇳"], ""),
        ("🇧🇩🇮", ["🇧🇩"], "🇮"),
        ("1️⃣", ["1️⃣"], ""),
        ("1⃣", ["1⃣"], ""),
        ("❤", [], "❤"),
        ("❤️", ["❤️"], ""),
        ("😂\ufe0e", [], "😂\ufe0e"),
        ("❤‍🔥", ["❤‍🔥"], ""),
        ("☝🏽", ["☝🏽"], ""),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", None, ""),
        ("👨🏽‍💻", ["👨🏽‍💻"], ""),
        ("ক্ষ", [], "ক্ষ"),
        ("😂😂", ["😂", "😂"], ""),
        ("©™", [], "©™"),
        ("🏽", [], "🏽"),
        ("\ufe0f", [], "\ufe0f"),
        ("123#*", [], "123#*"),
        (" 😂\t\n", ["😂"], ""),
        ("", [], ""),
    ],
)
def test_emoji_are_told_from_other_characters(text, found, rest):
    assert emoji(text) == ([text] if found is None else found)
    assert residue(text) == rest


def test_text_presentation_is_an_emoji_only_where_it_is_asked_for():
    assert emoji("❤ © ★ 7", text_presentation=True) == ["❤", "©"]
    assert residue("❤ © ★ 7", text_presentation=True) == "★7"
    assert residue("❤ © ★ 7") == "❤©★7"


def test_a_code_point_that_is_reserved_for_emoji_is_none_yet():
    assert emoji("\U0001f02c", text_presentation=True) == []
    assert emoji("\U0001f02c\ufe0f", text_presentation=True) == []


def test_the_list_of_emoji_is_found_one_by_one():
    """Each listed sequence is one emoji, an unqualified one if text presentation counts; a skin tone alone is none."""
    known = [row for row in oracle("emoji") if float(row["since"]) <= float(unicode_version())]
    assert len(known) > 700
    wrong = []
    for row in known:
        text = decoded(row["text"])
        is_skin_tone = 0x1F3FB <= ord(text[0]) <= 0x1F3FF
        is_right = emoji(text, text_presentation=True) == ([] if is_skin_tone else [text])
        if row["status"] in ("fully_qualified", "minimally_qualified"):
            is_right = is_right and emoji(text) == [text] and emoji(text * 3) == [text] * 3
        if not is_right:
            wrong.append(row["text"])
    assert wrong == []


@pytest.mark.parametrize("without", ["\ufe0f", "\u20e3"])
def test_a_keycap_without_its_parts_is_a_digit(without):
    """The list above could not fail if everything were an emoji."""
    keycap = "1️⃣"
    assert emoji(keycap) == [keycap]
    assert len(emoji(keycap.replace(without, ""))) == (1 if without == "\ufe0f" else 0)


@given(texts)
def test_emoji_and_residue_share_the_text(text):
    for flag in (False, True):
        of_emoji = "".join(emoji(text, text_presentation=flag))
        rest = residue(text, text_presentation=flag)
        spaces = "".join(cluster for cluster in graphemes(text) if cluster.isspace())
        assert sorted(of_emoji + rest + spaces) == sorted(text)
    assert set(emoji(text)) <= set(emoji(text, text_presentation=True))


@given(st.text(alphabet=st.characters(max_codepoint=0x7F)))
def test_ascii_has_no_emoji(text):
    assert emoji(text, text_presentation=True) == []


def test_counting_code_points_inflates_by_as_much_as_sequences_are_long():
    assert [count("👨🏽‍💻🇧🇩1️⃣", unit) for unit in ("emoji", "grapheme", "character")] == [3, 3, 9]


# --- Graphemes --------------------------------------------------------------------------------------------------------


def test_graphemes_are_cut_where_icu_cuts_them():
    rows = oracle("graphemes")
    assert len(rows) == 1500
    wrong = [
        row["text"]
        for row in rows
        if graphemes(decoded(row["text"])) != [decoded(cluster) for cluster in row["clusters"].split("|")]
    ]
    assert wrong == []


def test_a_consonant_joins_a_linker_only_behind_a_consonant():
    """Rule GB9c by hand: KA, virama, SSA are one; a digit, virama, SSA are two."""
    assert graphemes("ক্ষ") == ["ক্ষ"]
    assert graphemes("7্ষ") == ["7্", "ষ"]
    assert graphemes("্ষ") == ["্", "ষ"]
    assert graphemes("ক্্ষ") == ["ক্্ষ"]


@given(texts)
def test_graphemes_joined_are_the_text(text):
    clusters = graphemes(text)
    assert "".join(clusters) == text
    assert all(clusters)
    assert len(clusters) <= len(text)


@given(texts)
def test_a_grapheme_alone_is_one_grapheme(text):
    assert all(graphemes(cluster) == [cluster] for cluster in graphemes(text))


# --- Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I can't, won't.", ["I", "can't", "won't"]),
        ("well-known 3.14 and 1,000", ["well", "known", "3.14", "and", "1,000"]),
        ("मुझे क्षमा करें", ["मुझे", "क्षमा", "करें"]),
        ("😂 -- !?", []),
        ("一二", ["一", "二"]),
        ("", []),
    ],
)
def test_words_are_what_has_a_letter_or_a_digit(text, found):
    assert words(text) == found
    assert count(text, "word") == len(found)


@given(texts)
def test_words_stand_in_the_text_in_order(text):
    at = 0
    for word in words(text):
        at = text.index(word, at) + len(word)
    rest = residue(text, unit="word")
    assert not any(unicodedata.category(one)[0] in "LN" for one in rest)
    assert len(rest) + sum(map(len, words(text))) + sum(one.isspace() for one in text) >= len(text)


# --- Counts -----------------------------------------------------------------------------------------------------------


@given(texts)
def test_counts_are_ordered(text):
    n = {unit: count(text, unit) for unit in UNITS}
    assert n["emoji"] <= n["grapheme"] <= n["character"] == len(text)
    assert n["word"] <= n["character"]


def test_an_unknown_unit_is_refused():
    with pytest.raises(MeasurandError, match=r"unit 'token'; allowed are emoji, grapheme, word, character"):
        count("x", "token")


# --- Real outputs -----------------------------------------------------------------------------------------------------


def test_published_emoji_replies_are_mostly_emoji(shared):
    with gzip.open(shared / "data" / "emoji_outputs" / "outputs.csv.gz", "rt", encoding="utf-8") as file:
        outputs = [row["text"] for row in csv.DictReader(file)][:5000]
    n_emoji = sum(count(text, "emoji") for text in outputs)
    n_characters = sum(len("".join(text.split())) for text in outputs)
    assert n_emoji > 0
    assert n_characters > n_emoji
    assert all(emoji(text) or residue(text) for text in outputs if text.strip())
