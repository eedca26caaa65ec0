import csv
import gzip
import re
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from measurand.data.emoji import unicode_version
from measurand.data.text import (
    LENGTH_UNITS,
    TOKEN_UNITS,
    count,
    emoji,
    graphemes,
    lengths,
    main_unit,
    residue,
    rest,
    shown,
    tokens,
    words,
)
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


def test_graphemes_are_cut_where_unicode_s_own_test_cuts_them():
    lines = (ORACLES / "grapheme_breaks" / "GraphemeBreakTest.txt").read_text(encoding="utf-8").splitlines()
    cases = [line for line in (line.split("#")[0].strip() for line in lines) if line]
    assert len(cases) == 602
    wrong = []
    for case in cases:
        clusters = ["".join(map(decoded, re.findall("[0-9A-F]+", part))) for part in case.split("÷") if part.strip()]
        if graphemes("".join(clusters)) != clusters:
            wrong.append(case)
    # Later versions took U+2701 out of the pictographs, so that a joiner no longer holds two of them together.
    is_pictograph = regex.match(r"\p{Extended_Pictographic}", "\u2701") is not None
    assert wrong == ([] if is_pictograph else ["÷ 2701 × 200D × 2701 ÷"])


@pytest.mark.parametrize(
    "clusters",
    [
        "আ মি",
        "ক্ষ মা",
        "স্ত্রী",
        "বাং লা দে শ",
        "র\u200c্ যা ব",
        "ন ম স্কা র",
        "न म स्ते",
        "क्ष त्रि य",
        "हि न्दी",
        "ज़्या दा",
        "श्रृं गा र",
        "प्रा र्थ ना",
    ],
)
def test_bangla_and_hindi_words_are_cut_into_syllables_as_written(clusters):
    """Conjuncts stay whole (rule GB9c), vowel signs and nasal marks stay with them, a non-joiner parts them."""
    expected = clusters.split()
    assert graphemes("".join(expected)) == expected
    assert count("".join(expected), "non_ascii_grapheme") == len(expected)
    assert emoji("".join(expected), text_presentation=True) == []


def test_bangla_and_hindi_sentences_have_spaces_and_emoji_of_their_own():
    assert graphemes("আমি ভালো 😂") == ["আ", "মি", " ", "ভা", "লো", " ", "😂"]
    assert emoji("मैं खुश हूँ 😊👍🏽।") == ["😊", "👍🏽"]
    assert rest("मैं 😊।") == ["मैं", "।"]


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
    n = {unit: count(text, unit) for unit in LENGTH_UNITS}
    assert n["emoji"] <= n["emoji_or_text"] <= n["non_ascii_grapheme"] <= n["grapheme"] <= n["character"] == len(text)
    assert n["non_ascii_grapheme"] <= n["non_ascii_character"] <= n["character"] <= n["byte"]
    assert n["word"] <= n["character"]
    assert n["byte"] == len(text.encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("👨🏽‍💻🇧🇩1️⃣", (3, 3, 3, 8, 3, 1, 9, 30)),
        ("ok “ok”", (0, 0, 2, 2, 7, 2, 7, 11)),
        ("❤ ❤️", (1, 2, 2, 3, 3, 0, 4, 10)),
        ("a\r\nb", (0, 0, 0, 0, 3, 2, 4, 4)),
        ("\ufe0f", (0, 0, 1, 1, 1, 0, 1, 3)),
        ("ক্ষমা", (0, 0, 2, 5, 2, 1, 5, 15)),
        ("", (0, 0, 0, 0, 0, 0, 0, 0)),
    ],
)
def test_each_unit_is_counted_as_by_hand(text, expected):
    assert tuple(count(text, unit) for unit in LENGTH_UNITS) == expected


def test_an_unknown_unit_is_refused():
    with pytest.raises(MeasurandError, match=r"unit 'token'; allowed are emoji, emoji_or_text, "):
        count("x", "token")
    with pytest.raises(MeasurandError, match=r"unit 'token'; allowed are emoji, "):
        lengths(["x"], "token")
    with pytest.raises(MeasurandError, match=r"token unit 'byte'; allowed are emoji, non_ascii_grapheme, "):
        tokens("x", "byte")


@given(st.lists(texts, max_size=6), st.sampled_from(LENGTH_UNITS))
def test_many_texts_are_counted_as_one_by_one(several, unit):
    found = lengths(several, unit)
    assert found.dtype == np.float64
    assert found.tolist() == [count(text, unit) for text in several]


def test_half_a_surrogate_pair_is_counted_and_no_error():
    """Broken text comes out of broken replies."""
    assert count("\ud83d", "byte") == 3
    assert count("\ud83d", "non_ascii_character") == 1
    assert shown("\ud83d") == "U+D83D"


def test_ten_thousand_distinct_outputs_are_counted_in_all_units_within_seconds():
    """It takes well under one; generous, since the machine may be busy."""
    some = [f"😂👍🏽 {'🔥' * (i % 5)} reply {i} ❤️" for i in range(10_000)]
    start = time.perf_counter()
    for unit in LENGTH_UNITS:
        lengths(some, unit)
    assert time.perf_counter() - start < 4


# --- Tokens -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "found"),
    [
        ("emoji", ["❤", "👍🏽", "👩‍👧"]),
        ("non_ascii_grapheme", ["❤️", "👍🏽", "”", "É", "é", "©", "👩‍👧"]),
        ("word", ["ok", "été"]),
        ("grapheme", ["❤️", "👍🏽", "”", "O", "k", "É", "t", "é", "©", "👩‍👧"]),
        ("character", ["❤", "\ufe0f", "👍", "🏽", "”", "O", "k", "É", "t", "é", "©", "👩", "\u200d", "👧"]),
    ],
)
def test_tokens_are_what_a_decoder_sees(unit, found):
    text = "❤️👍🏽” Ok Été © \n👩‍👧"
    assert tokens(text, unit) == found


@given(texts, st.sampled_from(TOKEN_UNITS))
def test_no_token_is_blank_and_emoji_are_as_many_as_are_counted(text, unit):
    found = tokens(text, unit)
    assert all(token.strip() for token in found)
    if unit in ("emoji", "non_ascii_grapheme", "word"):
        n = count(text, unit)
        if unit == "non_ascii_grapheme":
            n -= sum(cluster.isspace() and not cluster.isascii() for cluster in graphemes(text))
        assert len(found) == n


def test_a_heart_is_one_token_however_it_was_written():
    assert tokens("❤️", "emoji") == tokens("❤️❤️", "emoji")[:1] == ["❤"]
    assert tokens("❤️‍🔥", "emoji") == tokens("❤‍🔥", "emoji")


# --- What texts are, and how they are quoted --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("several", "unit"),
    [
        (["😂", "😂 ok", "plain"], "word"),
        (["😂😂😂 ok", "❤", "plain"], "emoji"),
        (["😂", "plain"], "word"),
        (["", " ", "😂"], "emoji"),
        (["", "  "], "word"),
        ([], "word"),
        (["আমি ভালো আছি"], "word"),
    ],
)
def test_outputs_are_emoji_where_most_of_them_consist_of_emoji(several, unit):
    assert main_unit(several) == unit


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("a\tb\n c", "a b c"),
        ("\u202eabc\u202c", "abc"),
        ("\x1b[31mred", "[31mred"),
        ("\u200d\ufe0f", "U+200D U+FE0F"),
        ("👩‍👩‍👧" * 50, "👩‍👩‍👧" * 40 + "…"),
        ("=cmd()", "=cmd()"),
    ],
)
def test_a_quoted_text_stays_on_its_line(text, quoted):
    assert shown(text) == quoted


@given(texts)
def test_what_is_quoted_has_no_controls(text):
    assert not any(unicodedata.category(one) in ("Cc", "Cs") for one in shown(text))
    assert "\n" not in shown(text)


# --- Real outputs -----------------------------------------------------------------------------------------------------


def test_published_emoji_replies_have_the_lengths_that_were_published(shared):
    """Graphemes and characters beyond ASCII, strict emoji, and with text presentation counted, per output."""
    with gzip.open(shared / "data" / "emoji_outputs" / "outputs.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    published = {
        "gemma2-9b-instruct": (2.979, 3.695, 2.977, 2.977, 47),
        "llama3.1-70b-instruct": (2.999, 3.702, 2.997, 2.997, 1),
        "gpt-4o": (3.001, 3.773, 2.998, 3.000, 1),
        "human_original": (1.920, 2.112, 1.826, 1.919, 13),
    }
    for system, expected in published.items():
        texts = [row["text"] for row in rows if row["system"] == system]
        assert len(texts) == 5039
        counts = [
            lengths(texts, unit) for unit in ("non_ascii_grapheme", "non_ascii_character", "emoji", "emoji_or_text")
        ]
        found = [*(n.mean() for n in counts), (counts[0] == 0).sum()]
        assert found == pytest.approx(expected, abs=0.001)
    assert main_unit([row["text"] for row in rows]) == "emoji"
