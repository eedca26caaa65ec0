import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from measurand.probing.near_duplicates import MOST_SHARING, near_duplicates, normalised


def pairs_one_by_one(texts, least=0.8):
    """Every pair of distinct normalised texts, compared as sets of 5-grams."""
    distinct = list(dict.fromkeys(filter(None, map(normalised, texts))))
    sets = [{text[at : at + 5] for at in range(max(len(text) - 4, 1))} for text in distinct]
    return {
        (i, j): len(sets[i] & sets[j]) / len(sets[i] | sets[j])
        for i, j in itertools.combinations(range(len(sets)), 2)
        if len(sets[i] & sets[j]) >= least * len(sets[i] | sets[j]) - 1e-9
    }


def found_pairs(texts):
    found = near_duplicates(texts)
    return {(int(i), int(j)): jaccard for (i, j), jaccard in zip(found.pairs, found.jaccard, strict=True)}


def sentences(n, rng, *, fewest=6, most=20, letters="abcdefgh"):
    words = ["".join(rng.choice(list(letters), rng.integers(2, 9))) for _ in range(400)]
    return [" ".join(rng.choice(words, rng.integers(fewest, most))) for _ in range(n)]


def test_every_pair_is_found_that_comparing_all_with_all_finds():
    rng = np.random.default_rng(1)
    texts = sentences(150, rng)
    for one in list(texts):  # copies with one to five letters changed
        letters = list(one)
        for _ in range(rng.integers(1, 6)):
            letters[rng.integers(len(letters))] = "z"
        texts.append("".join(letters))
    expected = pairs_one_by_one(texts)
    assert len(expected) > 30
    assert found_pairs(texts) == pytest.approx(expected)


@given(st.lists(st.text(alphabet="ab ", max_size=14), max_size=12))
def test_small_alphabets_and_short_texts_hide_no_pair(texts):
    assert found_pairs(texts) == pytest.approx(pairs_one_by_one(texts))


@given(st.lists(st.text(max_size=30), max_size=6))
def test_any_text_is_ordinary_data(texts):
    found = near_duplicates(texts)
    assert len(found.text) == len(texts)
    for text, at in zip(texts, found.text, strict=True):
        assert (at == -1) == (normalised(text) == "")


def test_case_punctuation_white_space_numbers_and_form_are_no_difference():
    texts = ["Call me at 555-0101!", "call me AT  777 0202", "ｃａｌｌ me\nat 9.1", "=cmd('x')", "=CMD(“x”)"]
    assert near_duplicates(texts).text.tolist() == [0, 0, 0, 1, 1]


def test_scripts_are_compared_in_their_own_letters():
    bangla, hindi, arabic = "আমি আজ খুব খুশি হয়েছি বন্ধু", "मैं आज बहुत खुश हूँ मेरे दोस्त", "أنا سعيد جدا اليوم يا صديقي"
    texts = [bangla, bangla + "!", hindi, hindi[:-1], arabic]
    assert near_duplicates(texts).text.tolist() == [0, 0, 1, 2, 3]
    assert found_pairs(texts) == pytest.approx(pairs_one_by_one(texts))


def test_texts_without_a_letter_are_not_compared():
    found = near_duplicates(["", "...", " \n", "?!"])
    assert found.text.tolist() == [-1] * 4
    assert found.n_texts == 0
    assert len(near_duplicates([]).text) == 0


def test_a_common_template_is_told_and_what_is_found_is_near():
    rng = np.random.default_rng(2)
    template = "Write one to five emoji and nothing else for the sentence that follows here: "
    texts = [template + one for one in sentences(800, rng, fewest=2, most=3)]
    found = near_duplicates(texts)
    assert found.n_capped > 0
    assert (found.jaccard >= 0.8 - 1e-9).all()


def test_five_grams_of_few_texts_are_looked_up_in_full():
    texts = ["the quick brown fox jumps over the lazy dog " + chr(97 + i % 26) + chr(97 + i // 26) for i in range(40)]
    assert len(texts) < MOST_SHARING
    found = near_duplicates(texts)
    assert found.n_capped == 0
    assert len(found.pairs) == 40 * 39 // 2
