import numpy as np
import pandas as pd
import pytest

from measurand import MeasurandError
from measurand.data import read_outputs
from measurand.data.vectors import Vectors
from measurand.probing.decodability import PRESETS, decodability
from measurand.probing.findings_decodability import decodability_findings
from measurand.result import Result

FEW = {"n_seeds": 2, "replicates": 200, "refits": 0, "learning_curve": ()}
EMOJI_UNIT, WORD, CHARACTER = ({"token_unit": unit} for unit in ("emoji", "word", "character"))
EMOJI = {"joy": "😀😂🎉", "anger": "😠😡👊", "fear": "😱😨👻", "love": "🥰💕💋", "shame": "😳🙈🫣"}


def table(
    systems=("clear", "vague"), *, n=60, labels=("anger", "fear", "joy"), hit=None, language=None, seed=0, prefix="i"
):
    """Return outputs whose emoji name the label with the chance that `hit` gives the system, else another one."""
    rng = np.random.default_rng(seed)
    hit = hit or {"clear": 0.9, "vague": 0.5}
    rows = []
    for i in range(n):
        label = labels[i % len(labels)]
        for system in systems:
            shown = label if rng.random() < hit.get(system, 0.7) else labels[rng.integers(len(labels))]
            text = "".join(EMOJI[shown][k] for k in rng.integers(0, 3, rng.integers(1, 4)))
            row = {"item": f"{prefix}{i:03d}", "system": system, "text": text, "label": label}
            rows.append(row | ({"language": language} if language else {}))
    return pd.DataFrame(rows)


def value(result, statistic, **keys):
    """Return the estimate of the row with these keys and no others, beside those that all rows have."""
    rows = [row for row in result.select("decodability", statistic, keys) if alone(row, keys)]
    assert len({row.estimate for row in rows}) == 1, (statistic, keys, len(rows))
    return rows[0].estimate


def alone(row, keys):
    common = {"token_unit", "split", "language"}
    return all(value == "" or name in keys or name in common for name, value in row.keys.items())


def found(result):
    return {one.id: one for one in decodability_findings(result)}


def test_pooled_out_of_fold_macro_f1_is_that_of_scikit_learn_with_tfidf_fitted_inside_the_folds():
    sklearn = pytest.importorskip("sklearn")
    assert sklearn
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score

    from measurand.data.text import tokens
    from measurand.probing.decodability_predict import Protocol, folds
    from measurand.probing.decodability_table import corpora

    outputs = read_outputs(table(n=150, hit={"clear": 0.7, "vague": 0.3}))
    result = decodability(outputs, **FEW)
    (corpus,), _ = corpora(outputs, **EMOJI_UNIT)
    protocol = Protocol("emoji", 4.0, True, 5, 2, 200, 0, (), "refuse", "auto", 0.95, 0)
    fold = folds(corpus, protocol, corpus.label)
    label = np.array(corpus.classes)[corpus.label]
    for system in ("clear", "vague"):
        text = outputs.of(system=system).set_index("item")["text"].loc[list(corpus.items)]
        seen = [tokens(one, "emoji") for one in text]
        scores, within, hits = [], [], []
        for run in fold:
            predicted = np.empty(len(label), dtype=object)
            for held in range(5):
                train = np.flatnonzero(run != held)
                terms = TfidfVectorizer(analyzer=lambda one: one, sublinear_tf=True).fit([seen[i] for i in train])
                model = LogisticRegression(C=4, class_weight="balanced", max_iter=10000, tol=1e-8)
                model.fit(terms.transform([seen[i] for i in train]), label[train])
                test = np.flatnonzero(run == held)
                predicted[test] = model.predict(terms.transform([seen[i] for i in test]))
                within.append(f1_score(label[test], predicted[test].astype(str), average="macro"))
            scores.append(f1_score(label, predicted.astype(str), average="macro"))
            hits.append(accuracy_score(label, predicted.astype(str)))
        assert [value(result, "macro_f1", system=system, seed=k) for k in (1, 2)] == pytest.approx(scores, abs=1e-9)
        assert value(result, "macro_f1", system=system) == pytest.approx(np.mean(scores), abs=1e-9)
        assert value(result, "macro_f1_fold_mean", system=system) == pytest.approx(np.mean(within), abs=1e-9)
        assert value(result, "accuracy", system=system) == pytest.approx(np.mean(hits), abs=1e-9)
        assert value(result, "seed_sd", system=system) == pytest.approx(np.std(scores, ddof=1), abs=1e-9)


def test_one_emoji_for_everything_sits_on_the_floor_and_fails():
    frame = table(n=60).assign(text="🙂")
    frame.loc[frame["item"] < "i020", "label"] = "joy"  # one label is the largest
    result = decodability(frame, **FEW)
    share = (frame["label"] == "joy").mean()
    floor = 2 * share / (1 + share) / 3
    assert value(result, "macro_f1", control="majority") == pytest.approx(floor)
    for system in ("clear", "vague"):
        assert value(result, "macro_f1", system=system) == pytest.approx(floor)
        assert value(result, "excess", system=system, control="majority") == pytest.approx(0)
    assert found(result)["decodable"].verdict == "fail"
    assert value(result, "difference", system="clear", against="vague") == 0


def test_systems_that_name_the_label_are_decodable_and_ordered():
    result = decodability(table(n=150), **FEW | {"replicates": 500})
    assert value(result, "rank", system="clear") == 1
    assert value(result, "tier", system="vague") == 2
    assert value(result, "macro_f1", system="clear") > value(result, "macro_f1", system="vague") + 0.1
    (row,) = [
        r for r in result.select("decodability", "difference", {"system": "clear"}) if alone(r, {"system", "against"})
    ]
    assert row.low > 0
    assert row.p == row.attainable_p == row.p_adjusted == pytest.approx(1 / 501)
    assert "paired" in row.note
    findings = found(result)
    assert findings["decodable"].verdict == "pass"
    assert findings["decodability-order"].verdict == "pass"
    assert "clear" in findings["decodability-order"].statement
    assert findings["label-schemes"].verdict == "not_applicable"
    assert findings["code-transfers"].verdict == "not_applicable"
    assert findings["decodability-and-ratings"].verdict == "not_applicable"


def test_permuted_labels_end_where_chance_is_and_below_the_systems():
    result = decodability(table(n=150), **FEW | {"n_seeds": 4})
    floor = value(result, "macro_f1", system="clear", control="permuted")
    assert 0.2 < floor < 0.45  # three labels of the same size: a third of the guesses are right
    assert value(result, "excess", system="clear", control="permuted") == pytest.approx(
        value(result, "macro_f1", system="clear") - floor
    )


def test_a_label_that_is_told_by_the_number_of_tokens_alone_is_found():
    rng = np.random.default_rng(2)
    length = {"anger": 1, "fear": 2, "joy": 3}
    frame = table(("flat",), n=120)
    frame["text"] = ["".join("😀😠😱🥰"[k] for k in rng.integers(0, 4, length[label])) for label in frame["label"]]
    result = decodability(frame, **FEW)
    assert value(result, "macro_f1", system="flat", control="count") == 1
    finding = found(result)["count-leaks-label"]
    assert finding.verdict == "warn"
    assert "flat" in finding.statement
    # What it writes says no more than how much it writes.
    assert found(result)["decodable"].verdict == "fail"


def test_without_such_a_leak_the_finding_passes():
    assert found(decodability(table(n=150), **FEW))["count-leaks-label"].verdict == "pass"


def test_two_systems_that_each_know_half_of_the_labels_know_all_together():
    labels = ("anger", "fear", "joy", "love")
    frame = table(("a", "b"), n=120, labels=labels)
    tells = {"a": {"anger", "fear"}, "b": {"joy", "love"}}
    frame["text"] = [
        EMOJI[label][0] if label in tells[system] else "🙂"
        for label, system in zip(frame["label"], frame["system"], strict=True)
    ]
    result = decodability(frame, **FEW)
    assert value(result, "macro_f1", control="union") == 1
    assert value(result, "macro_f1", system="a") < 0.8


def test_seeds_and_systems_share_their_folds_and_everything_is_reproduced():
    frame = table(n=60)
    frame = pd.concat([frame, frame[frame["system"] == "clear"].assign(system="copy")])
    first, again, other = (decodability(frame, **FEW, seed=seed) for seed in (3, 3, 4))
    assert first.to_json() == again.to_json()
    assert first.to_json() != other.to_json()
    assert value(first, "difference", system="clear", against="copy") == 0
    row = next(r for r in first.select("decodability", "difference", {"system": "clear", "against": "copy"}))
    assert (row.low, row.high, row.p) == (0, 0, 1)
    assert [value(first, "rank", system=name) for name in ("clear", "copy")] == [1.5, 1.5]


def test_the_order_of_rows_and_other_systems_do_not_move_a_systems_score():
    frame = table(n=60)
    whole = decodability(frame, **FEW)
    sorted_by_system = decodability(frame.sort_values(["system", "item"], kind="stable"), **FEW)
    alone = decodability(frame[frame["system"] == "clear"], **FEW)
    score = value(whole, "macro_f1", system="clear")
    assert value(sorted_by_system, "macro_f1", system="clear") == score
    assert value(alone, "macro_f1", system="clear") == score


def test_every_number_has_a_name_of_its_own_and_an_interval_or_a_reason():
    frames = [table(language=name, prefix=name, seed=k, n=60) for k, name in enumerate(("bn", "en"))]
    result = decodability(pd.concat(frames), **FEW | {"refits": 5, "learning_curve": (20,)})
    names = {}
    for row in result:
        name = (row.statistic, row.method, *sorted((k, v) for k, v in row.keys.items() if v != ""))
        assert name not in names, name
        names[name] = row
        counts = row.statistic.startswith("n_") or row.statistic in ("tier", "in_top_set")
        assert counts or row.low is not None or row.note, row
        if row.low is not None:
            assert row.low <= row.high
            assert row.confidence == 0.95
            assert row.method
            assert row.unit == "item"
    assert Result.from_json(result.to_json()) == result


def test_items_without_a_label_or_without_an_output_of_every_system_are_counted_and_left_out():
    frame = table(n=66)
    frame.loc[frame["item"].isin(["i000", "i001"]), "label"] = ""
    frame = frame[~((frame["item"] == "i010") & (frame["system"] == "vague"))]
    frame.loc[(frame["item"] == "i020") & (frame["system"] == "vague"), "text"] = ""
    result = decodability(frame, **FEW)
    assert value(result, "n_items") == 63
    assert value(result, "n_no_label") == 2
    assert value(result, "n_incomplete") == 1
    assert value(result, "n_without_tokens", system="vague") == 1


def test_items_of_one_group_stay_in_one_fold_and_are_redrawn_together():
    # Each group has a token and a label of its own: decoders see through it unless the group is held out whole.
    frame = pd.DataFrame(
        {
            "item": range(120),
            "group": [f"g{i // 6}" for i in range(120)],
            "text": [chr(0x1F600 + i // 6) for i in range(120)],
            "label": [("joy", "anger")[(i // 6) % 2] for i in range(120)],
        }
    )
    result = decodability(frame, **FEW)
    rows = result.select("decodability", "macro_f1", {"split": "group"})
    assert rows
    assert {row.unit for row in rows if row.low is not None} == {"group"}
    assert value(result, "n_groups") == 20
    assert value(result, "accuracy") < 0.7
    by_row = decodability(frame, **FEW, group=False)
    assert value(by_row, "accuracy") == 1
    assert {row.keys.get("split") for row in by_row.select("decodability", "macro_f1")} == {"row"}


def test_the_same_source_text_makes_a_group_where_there_is_no_column_of_groups():
    frame = table(n=60)
    frame["source_text"] = [f"source {int(item[1:]) // 2}" for item in frame["item"]]
    assert value(decodability(frame, **FEW), "n_groups") == 30
    frame["source_text"] = frame["item"]
    assert not decodability(frame, **FEW).select("decodability", "n_groups")


def test_the_learning_curve_ends_at_the_score_and_says_what_the_last_doubling_gained():
    result = decodability(table(n=150), **FEW | {"learning_curve": (20, 40, 5000)})
    sizes = [
        row.keys["n_train"]
        for row in result.select("decodability", "macro_f1", {"system": "clear", "control": ""})
        if "n_train" in row.keys
    ]
    assert sizes == [20, 40, 60, 120]
    full = value(result, "macro_f1", system="clear", n_train=120)
    assert full == pytest.approx(value(result, "macro_f1", system="clear"))
    half = value(result, "macro_f1", system="clear", n_train=60)
    assert value(result, "gain_of_doubling", system="clear", n_train=120) == pytest.approx(full - half)


def test_a_curve_that_still_rises_is_told():
    rng = np.random.default_rng(5)
    # Two hundred rare tokens, each of one label: every further item teaches a token or two.
    label = rng.integers(0, 2, 300)
    token = rng.integers(0, 200, 300) * 2 + label
    frame = pd.DataFrame(
        {"item": range(300), "text": [chr(0x4E00 + t) for t in token], "label": [("joy", "anger")[k] for k in label]}
    )
    result = decodability(frame, **CHARACTER, **FEW | {"learning_curve": (50,)})
    finding = found(result)["decodability-needs-data"]
    assert finding.verdict == "warn"
    assert "240 items" in finding.statement
    flat = decodability(table(n=300, hit={"clear": 1, "vague": 1}), **FEW | {"learning_curve": (50,)})
    assert found(flat)["decodability-needs-data"].verdict == "pass"


def test_refitted_intervals_lie_around_the_score_and_predict_no_copy_by_itself():
    # Tokens that no other item has: a copy of an item in another fold would be told perfectly.
    frame = pd.DataFrame(
        {"item": range(90), "text": [chr(0x4E00 + i) for i in range(90)], "label": ["anger", "fear", "joy"] * 30}
    )
    result = decodability(frame, **CHARACTER, **FEW | {"refits": 10})
    (row,) = [r for r in result.select("decodability", "macro_f1") if "again" in r.method]
    assert float(row.note.split("mean ")[1].split(":")[0]) < 0.45
    assert (row.low + row.high) / 2 == pytest.approx(row.estimate)
    assert row.estimate == value(result, "macro_f1", system="") if row.keys["system"] else True


def test_vectors_are_decoded_on_the_items_that_have_one_beside_the_systems_on_the_same_items():
    frame = table(n=150)
    label = frame.drop_duplicates("item").set_index("item")["label"]
    ids = [*label.index[:90], "no such item"]
    centres = {"anger": 0, "fear": 1, "joy": 2}
    values = np.eye(3)[[centres.get(label.get(one, "joy")) for one in ids]] * 7
    result = decodability(frame, **FEW, vectors={"perfect": Vectors("perfect", tuple(ids), values)})
    assert value(result, "macro_f1", control="vectors:perfect") == 1
    (matched,) = result.select("decodability", "macro_f1", {"system": "clear", "control": "matched:perfect"})
    assert matched.n_items == 90
    gap = value(result, "difference", system="clear", control="matched:perfect", against="vectors:perfect")
    assert gap == pytest.approx(matched.estimate - 1)
    few = Vectors("few", tuple(ids[:6]), values[:6])
    (row,) = decodability(frame, **FEW, vectors={"few": few}).select(
        "decodability", "macro_f1", {"control": "vectors:few"}
    )
    assert np.isnan(row.estimate)
    assert "6 items have a vector of few" in row.undefined


@pytest.mark.parametrize("unit", ["emoji", "word", "character"])
def test_what_is_not_a_token_of_the_unit_does_not_count(unit):
    frame = table(("s",), n=60)
    words = {"anger": "grr", "fear": "eek", "joy": "yay"}
    frame["text"] = [words[label] for label in frame["label"]]
    result = decodability(frame, token_unit=unit, **FEW)
    assert value(result, "accuracy", system="s") == pytest.approx(1 if unit != "emoji" else 1 / 3)
    assert value(result, "n_without_tokens", system="s") == (60 if unit == "emoji" else 0)


def test_hostile_texts_and_labels_are_ordinary_data():
    labels = ("=cmd()", "سعادة", "a\nb")
    tokens = dict(zip(labels, ("=HYPERLINK()", "\u202eمرحبا", "<script>\x00"), strict=True))
    rows = [(f"{'x' * 300}{i}\n", "=sys()", tokens[labels[i % 3]], labels[i % 3]) for i in range(30)]
    frame = pd.DataFrame(rows, columns=["item", "system", "text", "label"])
    result = decodability(frame, **WORD, **FEW)
    assert value(result, "macro_f1", system="=sys()") == 1
    assert {row.keys["class"] for row in result.select("decodability", "f1")} == set(labels)


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (lambda f: f.drop(columns="label"), {}, "no column 'label'"),
        (lambda f: f.drop(columns="text").assign(length=1), {}, "no column 'text'"),
        (lambda f: f.assign(label=""), {}, "every label is blank"),
        (lambda f: f[(f["system"] == "clear") == (f["item"] < "i030")], {}, "no labelled item has an output of all 2"),
        (lambda f: f, {"group": True}, "groups are to stay whole"),
        (lambda f: f, {"token_unit": "syllable"}, "allowed are emoji"),
        (lambda f: f, {"n_folds": 1}, "n_folds 1; it must be 2"),
        (lambda f: f, {"refits": 1}, "refits 1; give 0"),
        (lambda f: f, {"penalty": 0.0}, "penalty 0"),
        (lambda f: f, {"labels": "mine"}, "allowed are refuse, shared"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_the_reason(change, settings, message):
    with pytest.raises(MeasurandError, match=message):
        decodability(change(table(n=60)), **FEW | settings)


def test_a_single_label_leaves_nothing_to_tell_apart():
    result = decodability(table(n=30).assign(label="joy"), **FEW)
    (row,) = result.select("decodability", "macro_f1")
    assert "nothing to tell apart" in row.undefined
    assert found(result)["decodable"].verdict == "undetermined"


def test_real_emoji_outputs_have_the_scores_that_scikit_learn_gives(shared):
    from measurand.probing.decodability_predict import Protocol, evidence, folds, out_of_fold
    from measurand.probing.decodability_replicates import scores_of, tables
    from measurand.probing.decodability_table import corpora

    ead = PRESETS["ead"]
    protocol = Protocol(refits=0, learning_curve=(), confidence=0.95, seed=0, **{**ead, "n_seeds": 6})
    outputs = read_outputs(shared / "data" / "emoji_outputs" / "outputs.csv.gz")
    (corpus,), _ = corpora(outputs, token_unit=ead["token_unit"], labels=ead["labels"], group=ead["group"])
    assert corpus.n_items == 5039
    fold = folds(corpus, protocol, corpus.label)
    expected = {"gemma2-9b-instruct": 0.427, "llama3.1-70b-instruct": 0.406, "gpt-4o": 0.388, "human_original": 0.497}
    for system, score in expected.items():
        predicted = out_of_fold(evidence(corpus.counts[system], protocol), corpus.label, fold, 6, protocol)
        scores = scores_of(tables(corpus.label, predicted, np.ones(predicted.shape), 6))[:, 0]
        assert scores.mean() == pytest.approx(score, abs=0.01), system
        assert 0 < scores.std(ddof=1) < 0.01


def test_real_emoji_outputs_of_people_tell_most_and_lie_above_the_floors(shared):
    quick = {**PRESETS["ead"], "n_seeds": 1, "replicates": 100, "refits": 0, "learning_curve": ()}
    result = decodability(shared / "data" / "emoji_outputs" / "outputs.csv.gz", **quick)
    assert value(result, "macro_f1", control="majority") == pytest.approx(0.106, abs=5e-4)
    assert value(result, "rank", system="human_original") == 1
    findings = found(result)
    assert findings["decodable"].verdict == "pass"
    assert "human_original" in findings["decodability-order"].statement


def test_the_order_of_rows_moves_nothing_whatever_the_sequence_of_items_and_systems():
    frame = table(n=60, hit={"clear": 0.6, "vague": 0.4})
    frame["source_text"] = [f"source {int(item[1:]) // 2}" for item in frame["item"]]
    again = FEW | {"refits": 3, "learning_curve": (20,)}
    for change in ({}, {"group": False}):
        first = decodability(frame, **again, **change)
        for number in range(2):
            shuffled = frame.sample(frac=1, random_state=number)
            assert decodability(shuffled, **again, **change).to_json() == first.to_json()


@pytest.mark.parametrize("refits", [0, 2, 3, 12])
def test_ranks_and_pairs_are_told_apart_by_the_same_test(refits):
    hit = {"a": 0.95, "b": 0.6, "c": 0.55, "d": 0.2}
    result = decodability(table(tuple(hit), n=60, hit=hit), **FEW | {"refits": refits, "n_seeds": 1})
    pairs = [row for row in result.select("decodability", "difference", {"control": ""}) if row.p is not None]
    tested = [row for row in pairs if (row.df2 is not None) == bool(refits)]
    apart = [row for row in tested if row.p_adjusted < 0.05]
    # 1 + the number of better systems, n - the number of worse ones: together one for each pair that is told apart.
    ranks = result.select("decodability", "rank")
    assert sum(row.low - 1 for row in ranks) == sum(4 - row.high for row in ranks) == len(apart)
    assert f"{len(apart)} of 6 pairs" in found(result)["decodability-order"].statement
    assert (found(result)["decodability-order"].verdict == "fail") == (not apart)
    assert bool(apart) == (refits in (0, 12))  # one or two degrees of freedom tell nothing of six pairs


def test_a_group_counts_once_for_a_label():
    frame = table(n=60)
    joy = frame["label"] == "joy"
    frame["group"] = np.where(joy, "all of joy", frame["item"])
    result = decodability(frame, **FEW)
    (row,) = result.select("decodability", "n_rare_label")
    assert row.estimate == 20
    assert "fewer groups than the 5 folds (joy 1)" in row.note


def test_a_perfect_score_says_that_its_interval_has_no_width_and_holds_no_more_bits_than_there_are():
    frame = table(("s",), n=10, labels=("anger", "joy"), hit={"s": 1.0})
    result = decodability(frame, **FEW | {"refits": 4})
    one, again = (row for row in result.select("decodability", "macro_f1", {"system": "s"}) if alone(row, {"system"}))
    assert (one.low, one.high) == (1, 1)
    assert "no width" in one.note
    # Ten items drawn again leave some decoder with less to learn from.
    assert again.low < again.high == 1
    assert "cut at 1, the largest possible" in again.note
    (bits,) = result.select("decodability", "mutual_information", {"system": "s"})
    assert bits.estimate == bits.high == 1
    assert "1 bits" in bits.note


@pytest.mark.parametrize(("confidence", "is_told"), [(0.95, True), (0.9, False)])
def test_how_often_intervals_held_is_told_at_the_level_that_was_simulated(confidence, is_told):
    result = decodability(table(n=30), **FEW | {"refits": 2}, confidence=confidence)
    rows = [row for row in result.select("decodability", "macro_f1") if alone(row, {"system"}) and row.keys["system"]]
    assert len(rows) == 4
    assert {"in simulation" in row.note for row in rows} == {is_told}


def test_the_number_of_tokens_of_outputs_without_a_signal_seldom_warns_however_many_systems_there_are():
    rng = np.random.default_rng(11)
    quick = FEW | {"n_seeds": 1, "replicates": 100}
    warned = 0
    for _ in range(40):
        label = rng.integers(0, 3, 45)
        rows = [(i, f"s{j}", "😀" * rng.integers(1, 5), f"L{label[i]}") for i in range(45) for j in range(4)]
        frame = pd.DataFrame(rows, columns=["item", "system", "text", "label"])
        finding = found(decodability(frame, **quick, n_folds=3))["count-leaks-label"]
        warned += finding.verdict == "warn"
    assert warned <= 4  # of 40, with 2 expected at most


def test_the_p_of_the_number_of_tokens_is_adjusted_over_systems_and_languages():
    frames = [table(language=name, prefix=name, seed=k, n=60) for k, name in enumerate(("bn", "en"))]
    frames[1].loc[frames[1]["system"] == "clear", "text"] = "😀" + frames[1]["label"].map(
        {"anger": "", "fear": "😀", "joy": "😀😀"}
    )
    result = decodability(pd.concat(frames), **FEW)
    tested = [row for row in result.select("decodability", "excess", {"control": "count"}) if row.p is not None]
    assert len(tested) == 4
    told = next(row for row in tested if row.keys["system"] == "clear" and row.keys["language"] == "en")
    assert told.p == told.attainable_p == pytest.approx(1 / 2001)
    assert told.p_adjusted == pytest.approx(4 / 2001)
    finding = found(result)["count-leaks-label"]
    assert finding.verdict == "warn"
    assert "In en the number of tokens tells the label for 1 of 2 systems" in finding.statement
