import numpy as np
import pandas as pd
import pytest

from measurand.probing.findings_leakage import leakage_findings
from measurand.probing.leakage import leakage


def outputs(sources=None, texts=None, labels=("joy", "fear"), systems=("x", "y")):
    n = len(sources or texts)
    rows = [
        {
            "item": f"i{at}",
            "system": system,
            "text": "😂 😂" if texts is None else texts[at],
            "label": labels[at % len(labels)],
        }
        | ({} if sources is None else {"source_text": sources[at]})
        for at in range(n)
        for system in systems
    ]
    return pd.DataFrame(rows)


def probed(table, **settings):
    return leakage(table, **({"token_unit": "word", "ratios": [0.5], "repeats": 3} | settings))


def finding(result, name):
    return next(one for one in leakage_findings(result) if one.id == name)


def distinct(n):
    rng = np.random.default_rng(4)
    return [" ".join("".join(rng.choice(list("abcdefghij"), 6)) for _ in range(8)) for _ in range(n)]


def test_copies_under_other_ids_are_counted_and_listed():
    sources = distinct(40)
    sources[1] = sources[0].upper() + "!!"  # equal after normalisation
    sources[3] = sources[2][:-1] + "z"  # near
    result = probed(outputs(sources))
    assert result.value("leakage", "n_near_duplicate") == 4
    assert result.value("leakage", "n_exact_duplicate") == 2
    assert result.value("leakage", "share_near_duplicate") == 4 / 40
    pairs = result.settings["leakage"]["near_duplicates"][""]
    assert [pair[:2] for pair in pairs] == [["i0", "i1"], ["i2", "i3"]]
    assert pairs[0][2] == 1
    assert 0.8 <= pairs[1][2] < 1
    found = finding(result, "near-duplicate-items")
    assert found.verdict == "fail"
    assert "group" in found.remedy


def test_a_split_by_item_still_shares_copies():
    copied = distinct(30)
    result = probed(outputs([*copied, *copied]), repeats=40)
    # Of two copies the other one is in training with probability 30/59 when one is in a test half of 30.
    share = result.value("leakage", "share_near_duplicate_in_training", {"ratio": 0.5})
    assert share == pytest.approx(30 / 59, abs=0.04)


def test_the_same_source_of_one_item_is_no_duplicate():
    result = probed(outputs(distinct(30)))
    assert result.value("leakage", "n_near_duplicate") == 0
    assert finding(result, "near-duplicate-items").verdict == "pass"


def test_a_few_copies_of_many_items_warn():
    sources = distinct(300)
    sources[1] = sources[0]
    assert finding(probed(outputs(sources)), "near-duplicate-items").verdict == "warn"


def test_short_outputs_are_no_evidence_of_equal_items():
    result = probed(outputs(texts=["😂"] * 20))
    row = result.select("leakage", "share_near_duplicate")[0]
    assert "too short" in row.undefined
    assert finding(result, "near-duplicate-items").verdict == "not_applicable"


def test_long_outputs_stand_in_where_there_are_no_sources():
    texts = distinct(20)
    texts[1] = texts[0]
    result = probed(outputs(texts=texts, systems=("x",)))
    assert result.value("leakage", "n_near_duplicate") == 2
    assert "output" in result.select("leakage", "share_near_duplicate")[0].note


def test_blank_sources_are_not_equal_to_each_other():
    sources = distinct(20)
    sources[0] = sources[1] = ""
    result = probed(outputs(sources))
    assert result.value("leakage", "n_near_duplicate") == 0
    assert result.select("leakage", "share_near_duplicate")[0].n_items == 18


def test_outputs_that_say_their_label_as_a_word_are_counted_by_system():
    texts = ["I feel JOY!", "no fear here", "joyful", "the label: Joy", "killjoy", "fear"]
    table = outputs(texts=texts, labels=("joy", "fear"), systems=("x",))
    silent = table.assign(system="y", text="…")
    result = probed(pd.concat([table, silent]))
    # i0 joy: says joy; i1 fear: says fear; i2 joy: no; i3 fear: says joy; i4 joy: no; i5 fear: says fear.
    assert result.value("leakage", "share_naming_label", {"system": "x"}) == 3 / 6
    assert result.value("leakage", "share_naming_other_label", {"system": "x"}) == 1 / 6
    assert result.value("leakage", "share_naming_label", {"system": "y"}) == 0
    everyone = result.select("leakage", "share_naming_label", {"system": ""})[0]
    assert everyone.estimate == 3 / 12
    assert everyone.low <= 3 / 12 <= everyone.high
    found = finding(result, "outputs-name-the-label")
    assert found.verdict == "fail"
    assert "x's" in found.statement


def test_labels_of_several_words_and_of_no_letters_are_found():
    texts = ["that is very sad", "very nice and sad", "only 😂", "none"]
    table = outputs(texts=texts, labels=("very sad", "Very Sad", "😂", "😂"), systems=("x",))
    table["label"] = ["very sad", "very sad", "😂", "😂"]
    assert probed(table).value("leakage", "share_naming_label", {"system": ""}) == 2 / 4


def test_naming_any_label_alike_is_no_fail():
    table = outputs(texts=["joy and fear", "fear and joy"] * 10, systems=("x",))
    assert finding(probed(table), "outputs-name-the-label").verdict == "warn"


def test_without_labels_or_texts_nothing_is_named():
    table = outputs(texts=distinct(4)).drop(columns="label")
    assert finding(probed(table), "outputs-name-the-label").verdict == "not_applicable"
