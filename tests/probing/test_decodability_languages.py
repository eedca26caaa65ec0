"""Languages: their labels, and whether a decoder of one reads another."""

import numpy as np
import pandas as pd
import pytest

from measurand import MeasurandError
from measurand.probing.decodability import decodability
from measurand.probing.findings_decodability import decodability_findings

FEW = {"n_seeds": 2, "replicates": 200, "refits": 0, "learning_curve": ()}
CHARACTER = {"token_unit": "character"}
CODE = {"anger": "😠", "fear": "😱", "joy": "😀"}
TURNED = {"anger": "😱", "fear": "😀", "joy": "😠"}


def outputs(language, code, *, n=60, system="S", hit=0.9, seed=1):
    """Return outputs of one emoji each, which is the code of the label most of the time."""
    rng = np.random.default_rng(seed)
    labels = list(code)
    label = [labels[i % len(labels)] for i in range(n)]
    shown = [one if rng.random() < hit else labels[rng.integers(len(labels))] for one in label]
    frame = {"item": [f"{language}{i}" for i in range(n)], "text": [code[one] for one in shown], "label": label}
    return pd.DataFrame(frame).assign(language=language, system=system)


def finding(result, name):
    (found,) = [one for one in decodability_findings(result) if one.id == name]
    return found


def transfer(result, statistic, train, test, system="S"):
    (row,) = result.select("decodability", statistic, {"train": train, "test": test, "system": system})
    return row


def test_the_same_code_transfers_and_a_turned_one_does_not_although_every_token_is_known():
    frame = pd.concat([outputs("bn", CODE, seed=1), outputs("en", CODE, seed=2), outputs("hi", TURNED, seed=3)])
    result = decodability(frame, **FEW)
    assert transfer(result, "macro_f1", "bn", "en").estimate > 0.85
    assert transfer(result, "transfer_loss", "bn", "en").estimate == pytest.approx(0, abs=0.05)
    assert transfer(result, "macro_f1", "bn", "hi").estimate < 0.15
    loss = transfer(result, "transfer_loss", "bn", "hi")
    (own,) = [
        row
        for row in result.select("decodability", "macro_f1", {"language": "hi", "seed": "", "control": ""})
        if row.low is not None
    ]
    assert loss.estimate == pytest.approx(own.estimate - transfer(result, "macro_f1", "bn", "hi").estimate)
    assert loss.low > 0.5
    for train, test in (("bn", "hi"), ("hi", "en")):
        assert transfer(result, "vocabulary_coverage", train, test).estimate == 1
    losses = [row.estimate for row in result.select("decodability", "transfer_loss", {"system": "S"})]
    (mean,) = result.select("decodability", "transfer_loss", {"system": ""})
    assert len(losses) == 6
    assert mean.estimate == pytest.approx(np.mean(losses))
    assert mean.low < mean.estimate < mean.high
    found = finding(result, "code-transfers")
    assert found.verdict == "fail"
    assert "100 %" in found.statement
    assert finding(result, "label-schemes").verdict == "pass"


def test_a_decoder_of_all_items_is_the_one_that_scikit_learn_trains():
    pytest.importorskip("sklearn")
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(4)
    frames = []
    for language in ("bn", "en"):
        label = rng.integers(0, 3, 80)
        texts = ["".join("abcdefgh"[k] for k in (rng.integers(0, 5, 4) + one)) for one in label]
        frame = pd.DataFrame({"item": [f"{language}{i}" for i in range(80)], "text": texts, "label": label.astype(str)})
        frames.append(frame.assign(language=language))
    # A token that only one language has is no part of the other's decoder.
    frames[1]["text"] += "z"
    result = decodability(pd.concat(frames), **CHARACTER, **FEW)
    train, test = frames
    terms = TfidfVectorizer(analyzer=list, sublinear_tf=True).fit(train["text"])
    model = LogisticRegression(C=4, class_weight="balanced", max_iter=10000, tol=1e-8)
    predicted = model.fit(terms.transform(train["text"]), train["label"]).predict(terms.transform(test["text"]))
    row = transfer(result, "macro_f1", "bn", "en", system="")
    assert row.estimate == pytest.approx(f1_score(test["label"], predicted, average="macro"), abs=1e-9)
    assert transfer(result, "vocabulary_coverage", "bn", "en", system="").estimate == pytest.approx(4 / 5)


def test_languages_with_other_labels_are_scored_on_their_own_and_refused_across():
    frame = pd.concat([outputs("bn", CODE), outputs("hi", {**CODE, "disgust": "🤢"}, n=80, seed=2)])
    result = decodability(frame, **FEW)
    assert {row.keys["class"] for row in result.select("decodability", "f1", {"language": "hi"})} == {*CODE, "disgust"}
    assert {row.keys["class"] for row in result.select("decodability", "f1", {"language": "bn"})} == set(CODE)
    crossed = [row for row in result.select("decodability", "macro_f1") if row.keys.get("train")]
    assert len(crossed) == 2
    assert all("hi alone has disgust" in row.undefined for row in crossed)
    assert not result.select("decodability", "transfer_loss")
    found = finding(result, "label-schemes")
    assert found.verdict == "fail"
    assert "disgust" in found.statement
    assert "--shared-labels" in found.remedy
    assert finding(result, "code-transfers").verdict == "undetermined"


def test_shared_labels_alone_can_be_kept_and_what_that_leaves_out_is_counted():
    frame = pd.concat([outputs("bn", CODE), outputs("hi", {**CODE, "disgust": "🤢"}, n=80, seed=2)])
    result = decodability(frame, labels="shared", **FEW)
    counts = {row.keys["language"]: row.estimate for row in result.select("decodability", "n_other_label")}
    assert counts == {"bn": 0, "hi": 20}
    assert result.value("decodability", "n_shared_labels") == 3
    assert {row.keys["class"] for row in result.select("decodability", "f1", {"language": "hi"})} == set(CODE)
    assert transfer(result, "macro_f1", "bn", "hi").estimate > 0.7
    found = finding(result, "label-schemes")
    assert found.verdict == "warn"
    assert "20 of hi" in found.statement


def test_languages_that_share_too_few_labels_cannot_be_reduced():
    frame = pd.concat([outputs("bn", CODE), outputs("hi", {"love": "🥰", "joy": "😀"})])
    with pytest.raises(MeasurandError, match="share 1 labels"):
        decodability(frame, labels="shared", **FEW)


def test_systems_are_ranked_within_a_language_only():
    frame = pd.concat(
        [
            outputs(language, CODE, system=system, hit=hit, seed=seed)
            for seed, (language, system, hit) in enumerate(
                [("bn", "A", 1.0), ("bn", "B", 0.5), ("en", "A", 0.5), ("en", "B", 1.0)]
            )
        ]
    )
    result = decodability(frame, **FEW)
    ranks = {(row.keys["language"], row.keys["system"]): row.estimate for row in result.select("decodability", "rank")}
    assert ranks == {("bn", "A"): 1, ("bn", "B"): 2, ("en", "A"): 2, ("en", "B"): 1}
    assert all(row.keys["language"] for row in result.select("decodability", "difference"))


def test_a_system_of_one_language_is_scored_there_and_crosses_nothing():
    frame = pd.concat([outputs("bn", CODE), outputs("en", CODE, seed=2), outputs("en", CODE, system="T", seed=3)])
    result = decodability(frame, **FEW)
    assert result.select("decodability", "macro_f1", {"language": "en", "system": "T", "control": "", "seed": ""})
    assert {row.keys["system"] for row in result.select("decodability", "transfer_loss")} == {"S", ""}


def test_a_language_of_one_label_has_a_reason_and_leaves_the_others_alone():
    frame = pd.concat([outputs("bn", CODE), outputs("en", {"joy": "😀"}, seed=2)])
    result = decodability(frame, **FEW)
    (row,) = result.select("decodability", "macro_f1", {"language": "en"})
    assert "nothing to tell apart" in row.undefined
    assert result.select("decodability", "rank", {"language": "bn"}) == []
    assert finding(result, "decodable").verdict == "pass"


def test_languages_with_different_verdicts_warn_and_name_both():
    frame = pd.concat([outputs("bn", CODE), outputs("en", CODE, seed=2).assign(text="🙂")])
    found = finding(decodability(frame, **FEW), "decodable")
    assert found.verdict == "warn"
    assert "In bn the outputs lie above both floors" in found.statement
    assert "In en the outputs do not lie above both floors" in found.statement


def rows_of(result, statistic):
    return {row.keys["language"]: row for row in result.select("decodability", statistic, {"system": ""})}


def test_a_rare_label_of_one_language_is_left_out_there_and_told():
    frames = [outputs("bn", CODE, seed=1), outputs("en", CODE, seed=2)]
    rare = outputs("en", {"love": "🥰"}, n=3).assign(item=["rare 1", "rare 2", "rare 3"])
    whole, result = (decodability(pd.concat(some), **FEW) for some in (frames, [*frames, rare]))
    counts = rows_of(result, "n_rare_label")
    assert {name: row.estimate for name, row in counts.items()} == {"bn": 0, "en": 3}
    assert "fewer items than the 5 folds (love 3)" in counts["en"].note
    assert {row.keys["class"] for row in result.select("decodability", "f1")} == set(CODE)
    told = "In en 3 items left out: their label has fewer items than the 5 folds (love 3)."
    assert told in finding(result, "decodable").statement
    scores = [one.select("decodability", "accuracy", {"language": "en"})[0].estimate for one in (whole, result)]
    assert scores[0] == scores[1]
    assert finding(result, "label-schemes").verdict == "pass"
    assert result.select("decodability", "transfer_loss")


def test_a_label_that_is_rare_in_one_language_is_left_out_of_all_where_they_share_their_labels():
    english = outputs("en", {**CODE, "love": "🥰"}, n=80, seed=2)
    english = english[(english["label"] != "love") | (english["item"].str[2:].astype(int) < 12)]
    frame = pd.concat([outputs("bn", {**CODE, "love": "🥰"}, n=80), english])
    shared, refused = (decodability(frame, **FEW, labels=labels) for labels in ("shared", "refuse"))
    assert {name: row.estimate for name, row in rows_of(shared, "n_rare_label").items()} == {"bn": 20, "en": 3}
    assert "in this language or another (love 20)" in rows_of(shared, "n_rare_label")["bn"].note
    assert shared.value("decodability", "n_shared_labels") == 3
    assert shared.select("decodability", "transfer_loss")
    assert finding(shared, "label-schemes").verdict == "pass"
    assert finding(refused, "label-schemes").verdict == "fail"
    (row,) = refused.select("decodability", "macro_f1", {"train": "en"})
    assert "bn alone has love" in row.undefined


def test_a_language_with_fewer_than_two_common_labels_is_undefined_and_the_others_are_not():
    few = outputs("en", CODE, n=12, seed=2)
    result = decodability(pd.concat([outputs("bn", CODE), few]), **FEW)
    (row,) = result.select("decodability", "macro_f1", {"language": "en"})
    assert "too rare: anger 4, fear 4, joy 4" in row.undefined
    assert finding(result, "decodable").statement.count("Not decoded: en (fewer than two labels") == 1
    assert finding(result, "decodable").verdict == "pass"
    assert finding(decodability(few, **FEW), "decodable").verdict == "undetermined"
