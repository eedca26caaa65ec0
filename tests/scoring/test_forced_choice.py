import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand.data.answers import read_answers
from measurand.data.items import read_items
from measurand.result import MeasurandError, Result
from measurand.scoring.forced_choice import forced_choice
from measurand.stats.inference import clusters, holm, stream

SIX = ["anger", "disgust", "fear", "happiness", "neutral", "sadness"]


def truth(n_persons=4, classes=SIX, *, shots=2):
    """Return photographs of persons, each showing every class `shots` times."""
    rows = [
        (f"p{person}_{name}_{shot}", name, f"p{person}", "old" if person % 2 else "young")
        for person in range(n_persons)
        for name in classes
        for shot in range(shots)
    ]
    return pd.DataFrame(rows, columns=["item", "label", "group", "age"])


def labels(items, chosen, **columns):
    return pd.DataFrame({"system": "S", "item": items["item"].to_numpy(), "answer": chosen} | columns)


def graded(items, scores, classes=SIX, **columns):
    """Return one row for each item and class; NaN scores are answers that did not come back."""
    table = {
        "system": "S",
        "item": np.repeat(items["item"].to_numpy(), len(classes)),
        "criterion": np.tile(classes, len(items)),
        "answer": np.asarray(scores, dtype=float).ravel(),
    }
    return pd.DataFrame(table | columns)


def noisy(items, seed=0, *, quality=1.0, classes=SIX):
    """Return scores whose true class stands out by `quality` standard deviations."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(len(items), len(classes)))
    scores[np.arange(len(items)), [classes.index(name) for name in items["label"]]] += quality
    return 1 / (1 + np.exp(-scores))


def run(table, items, *, is_label=False, **choices):
    tables = [table] if isinstance(table, pd.DataFrame) else table
    kinds = [is_label] * len(tables) if isinstance(is_label, bool) else is_label
    read = [read_answers(one, labels=kind) for one, kind in zip(tables, kinds, strict=True)]
    return forced_choice(read, read_items(items), **{"replicates": 100} | choices)


def row(result, statistic, analysis="forced_choice", **keys):
    wanted = {"group": "", "class": ""} | keys if analysis == "forced_choice" else keys
    found = result.select(analysis, statistic, wanted)
    assert len(found) == 1, [one.keys for one in found]
    return found[0]


def value(result, statistic, **keys):
    return row(result, statistic, **keys).estimate


def contrast(result, of="accuracy", **keys):
    return row(result, "difference", "contrasts", of=of, **keys)


def verdict(result, name):
    return next(one for one in result.findings if one.id == f"forced-choice-{name}")


# Numbers


@pytest.mark.parametrize("form", ["labels", "graded"])
def test_always_neutral_on_six_balanced_classes_scores_what_the_paper_prints(form):
    """methods.md 3.8: all arms on grey rectangles: accuracy 1/6, macro-F1 .048."""
    items = truth()
    chosen = np.full(len(items), "neutral")
    if form == "labels":
        found = run(labels(items, chosen), items, is_label=True)
    else:
        found = run(graded(items, np.tile([name == "neutral" for name in SIX], (len(items), 1))), items)
    assert value(found, "accuracy") == pytest.approx(1 / 6, abs=1e-12)
    assert round(value(found, "macro_f1"), 3) == 0.048
    assert value(found, "macro_f1") == pytest.approx((2 / 7) / 6, abs=1e-12)
    assert value(found, "uar") == pytest.approx(1 / 6, abs=1e-12)
    assert value(found, "recall", **{"class": "neutral"}) == 1
    assert value(found, "recall", **{"class": "fear"}) == 0
    assert value(found, "chance") == pytest.approx(1 / 6)


def plain(chosen, true, classes):
    """Accuracy and macro-F1 by counting; a choice of None is wrong."""
    right = sum(c == t for c, t in zip(chosen, true, strict=True)) / len(true)
    f1 = []
    for name in classes:
        hits = sum(c == t == name for c, t in zip(chosen, true, strict=True))
        both = sum(c == name for c in chosen) + sum(t == name for t in true)
        if both:
            f1.append(2 * hits / both)
    return right, sum(f1) / len(f1)


def test_numbers_intervals_and_tests_are_those_of_a_plain_loop_over_the_same_draws():
    classes = ["a", "b", "c"]
    rng = np.random.default_rng(3)
    items = pd.DataFrame({"item": [f"i{i:02d}" for i in range(30)], "label": rng.choice(classes, 30)})
    items["group"] = [f"g{i // 3:02d}" for i in range(30)]
    first = np.where(rng.random(30) < 0.6, items["label"], rng.choice(classes, 30))
    second = np.where(rng.random(30) < 0.4, items["label"], rng.choice(classes, 30))
    failed = rng.random(30) < 0.2
    table = pd.concat(
        [
            labels(items, first, system="A"),
            labels(items, np.where(failed, "", second), system="B", status=np.where(failed, "invalid", "ok")),
        ]
    )
    found = run(table, items, is_label=True, replicates=150, seed=5)
    chosen = {"A": list(first), "B": [None if bad else one for bad, one in zip(failed, second, strict=True)]}
    drawn = clusters(np.repeat(np.arange(10), 3), np.arange(30), 30)
    weights = np.concatenate(list(drawn.replicates(150, stream(5, "forced_choice", "group"))))
    draws = {name: [] for name in chosen}
    for one in weights:
        at = np.repeat(np.arange(30), one.astype(int))
        for name, answers in chosen.items():
            draws[name].append(plain([answers[i] for i in at], [items["label"][i] for i in at], classes))
    for name, answers in chosen.items():
        points = plain(answers, list(items["label"]), classes)
        for position, statistic in enumerate(("accuracy", "macro_f1")):
            got = row(found, statistic, system=name)
            assert got.estimate == pytest.approx(points[position], abs=1e-12)
            ends = np.quantile([one[position] for one in draws[name]], [0.025, 0.975])
            assert (got.low, got.high) == pytest.approx(tuple(ends), abs=1e-12)
            assert (got.unit, got.n_items, got.n_raters) == ("group", 30, None)
    for position, of in enumerate(("accuracy", "macro_f1")):
        d = plain(first, list(items["label"]), classes)[position]
        d -= plain(chosen["B"], list(items["label"]), classes)[position]
        star = np.array([a[position] - b[position] for a, b in zip(draws["A"], draws["B"], strict=True)])
        got = contrast(found, of, contrast="system")
        assert got.estimate == pytest.approx(d, abs=1e-12)
        assert (got.low, got.high) == pytest.approx(tuple(np.quantile(star, [0.025, 0.975])), abs=1e-12)
        assert got.p == pytest.approx((1 + (np.abs(star - d) >= abs(d) - 1e-12).sum()) / 151)
        assert got.attainable_p == pytest.approx(1 / 151)
    both = ~failed
    got = contrast(found, "accuracy_matched", contrast="system")
    assert got.estimate == pytest.approx(
        np.mean(first[both] == items["label"][both]) - np.mean(second[both] == items["label"][both])
    )
    assert got.n_items == both.sum()


def test_head_and_tail_are_the_frequent_and_the_rare_half_of_the_classes():
    items = pd.DataFrame({"label": ["a"] * 8 + ["b"] * 6 + ["c"] * 3 + ["d"] * 1})
    items["item"] = range(len(items))
    chosen = ["a"] * 8 + ["b"] * 3 + ["a"] * 3 + ["c"] * 1 + ["a"] * 2 + ["a"]
    found = run(labels(items, chosen), items, is_label=True)
    assert value(found, "recall_head") == pytest.approx((1 + 0.5) / 2)
    assert value(found, "recall_tail") == pytest.approx((1 / 3 + 0) / 2)
    assert value(found, "uar") == pytest.approx((1 + 0.5 + 1 / 3 + 0) / 4)
    assert row(found, "recall_tail").note.startswith("classes c, d")
    assert value(found, "majority") == pytest.approx(8 / 18)


def test_without_a_frequent_half_there_is_no_head():
    items = truth()
    found = run(labels(items, items["label"]), items, is_label=True)
    assert np.isnan(value(found, "recall_head"))
    assert "equally frequent" in row(found, "recall_head").undefined
    three = truth(classes=SIX[:3])
    three = pd.concat([three, three[three["label"] == "anger"].assign(item=lambda t: t["item"] + "x")])
    found = run(labels(three, three["label"]), three, is_label=True)
    assert value(found, "recall_head") == 1  # anger; of the other two neither is the rarer
    assert np.isnan(value(found, "recall_tail"))


@given(st.integers(0, 10_000), st.sampled_from(["split", "undecided", "first"]), st.sampled_from([0.0, 0.2]))
@settings(max_examples=20)
def test_whatever_the_answers_the_parts_make_the_whole(seed, ties, margin):
    rng = np.random.default_rng(seed)
    classes = SIX[: rng.integers(2, 5)]
    items = pd.DataFrame({"item": range(12), "label": [*classes, *rng.choice(classes, 12 - len(classes))]})
    scores = rng.integers(0, 4, (12, len(classes))) / 4
    scores[rng.random(scores.shape) < 0.05] = np.nan
    found = run(graded(items, scores, classes), items, ties=ties, margin=margin)
    for statistic in ("accuracy", "coverage", "macro_f1", "uar"):
        got = row(found, statistic)
        assert 0 <= got.estimate <= 1 + 1e-12
        assert got.low <= got.high
    if not np.isnan(value(found, "accuracy_answered")):
        product = value(found, "accuracy_answered") * value(found, "coverage")
        assert value(found, "accuracy") == pytest.approx(product, abs=1e-12)
    sizes = items["label"].value_counts()
    recalls = [value(found, "recall", **{"class": name}) * sizes[name] for name in classes]
    assert value(found, "accuracy") == pytest.approx(sum(recalls) / 12, abs=1e-12)
    assert value(found, "n_failed") == np.isnan(scores).any(axis=1).sum()
    assert Result.from_json(found.to_json()) == found


def test_order_of_items_classes_and_systems_changes_nothing_but_order():
    items = truth()
    tables = [graded(items, noisy(items, s), system=f"S{s}") for s in range(3)]
    table = pd.concat(tables)
    expected = run(table, items, by="age")
    got = run(table.sample(frac=1, random_state=1), items.sample(frac=1, random_state=2), by="age")

    def as_set(result):
        return {tuple(map(str, one.to_dict().items())) for one in result}

    assert as_set(expected) == as_set(got)
    assert len(as_set(expected)) == len(expected)


def test_new_names_of_the_classes_change_nothing():
    items = truth()
    scores = noisy(items)
    new = dict(zip(SIX, "fdbeca", strict=True))
    found = run(graded(items, scores), items)
    other = run(graded(items, scores, [new[name] for name in SIX]), items.assign(label=items["label"].map(new)))
    for statistic in ("accuracy", "macro_f1", "uar"):
        a, b = row(found, statistic), row(other, statistic)
        assert (a.estimate, a.low, a.high) == pytest.approx((b.estimate, b.low, b.high), abs=1e-12)
    for name in SIX:
        assert value(found, "recall", **{"class": name}) == value(other, "recall", **{"class": new[name]})


def test_levels_of_a_column_are_results_of_their_own():
    items = truth(6)
    table = labels(items, np.where(items["age"] == "old", items["label"], "neutral"))
    found = run(table, items, is_label=True, by="age")
    assert value(found, "accuracy", group="old") == 1
    assert value(found, "accuracy", group="young") == pytest.approx(1 / 6)
    alone = run(table[(items["age"] == "young").to_numpy()], items[items["age"] == "young"], is_label=True)
    assert value(found, "macro_f1", group="young") == pytest.approx(value(alone, "macro_f1"), abs=1e-12)
    assert row(found, "accuracy", group="old").n_items == 36


def test_persons_are_redrawn_with_all_their_photographs():
    """The interval over persons is wider than over photographs where a person's photographs share errors."""
    items = truth(24)
    is_hard = items["group"].isin([f"p{i}" for i in range(0, 24, 2)])
    table = labels(items, np.where(is_hard, "neutral", items["label"]))
    by_person = row(run(table, items, is_label=True, replicates=500), "accuracy")
    by_item = row(run(table, items, is_label=True, replicates=500, over="item"), "accuracy")
    assert (by_person.unit, by_item.unit) == ("group", "item")
    assert by_person.high - by_person.low > 2 * (by_item.high - by_item.low)


def test_without_groups_items_are_redrawn():
    items = truth().drop(columns="group")
    found = run(labels(items, items["label"]), items, is_label=True)
    assert row(found, "accuracy").unit == "item"
    assert "nothing about other items" in row(found, "accuracy").note


def test_one_person_has_no_interval_and_no_test():
    items = truth(1)
    table = pd.concat([labels(items, items["label"]), labels(items, "neutral", system="T")])
    found = run(table, items, is_label=True)
    assert row(found, "accuracy", system="S").low is None
    assert "there is one group" in row(found, "accuracy", system="S").note
    assert contrast(found, contrast="system").p is None
    assert verdict(found, "chance").verdict == "undetermined"


# What failed, what was not asked


def test_failed_replies_are_wrong_and_both_denominators_are_shown():
    """T30, T33, T38: a reply that could not be read is neither dropped nor imputed; its share is told."""
    items = truth()
    status = np.where(np.arange(len(items)) % 4 == 0, "invalid", "ok")
    table = labels(items, np.where(status == "ok", items["label"], ""), status=status)
    found = run(table, items, is_label=True)
    assert value(found, "accuracy") == 0.75
    assert value(found, "accuracy_answered") == 1
    assert value(found, "coverage") == 0.75
    assert value(found, "n_failed") == 12
    assert row(found, "accuracy").n_items == 48
    assert row(found, "accuracy_answered").n_items == 36
    assert "12 without a usable answer count as wrong" in row(found, "accuracy").note
    told = verdict(found, "coverage")
    assert told.verdict == "fail"
    assert "0.75 with failures as wrong, 1 among the answered" in told.statement


def test_a_default_is_never_put_in_place_of_a_lost_reply():
    """T33, T34: an arm that lost every reply scores 0 of all and nothing among the answered, not 1/6."""
    items = truth()
    found = run(labels(items, "", status="refused"), items, is_label=True)
    assert value(found, "accuracy") == 0
    assert np.isnan(value(found, "accuracy_answered"))
    assert row(found, "accuracy_answered").undefined == "no item has a usable answer"


def test_repaired_replies_are_answers():
    """T40."""
    items = truth()
    found = run(labels(items, items["label"], status="repaired"), items, is_label=True)
    assert value(found, "accuracy") == value(found, "coverage") == 1


def test_the_best_of_what_came_back_is_no_choice_where_a_class_did_not():
    items = truth()
    scores = np.eye(6)[[SIX.index(name) for name in items["label"]]].astype(float)
    scores[:12, 5] = np.nan
    found = run(graded(items, scores), items)
    assert value(found, "coverage") == 0.75
    assert value(found, "accuracy") == 0.75
    assert value(found, "accuracy_answered") == 1


@pytest.mark.parametrize("how", ["no row", "not_asked"])
def test_what_was_not_asked_is_no_failure_and_is_told(how):
    items = truth()
    status = np.where(np.arange(len(items)) < 5, "not_asked", "ok")
    table = labels(items, np.where(status == "ok", items["label"], ""), status=status)
    found = run(table[status == "ok"] if how == "no row" else table, items, is_label=True)
    assert value(found, "accuracy") == value(found, "coverage") == 1
    assert value(found, "n_not_asked") == 5
    assert row(found, "accuracy").n_items == 43
    told = verdict(found, "coverage")
    assert told.verdict == "warn"
    assert "not asked about every item" in told.statement


def test_answers_without_a_truth_are_counted():
    items = truth()
    found = run(labels(items, items["label"]), items.iloc[:40], is_label=True)
    assert found.settings["forced_choice"]["n_answers_without_truth"] == 8
    assert row(found, "accuracy").n_items == 40


def test_another_protocol_has_a_name_of_its_own():
    """T39: scores under different protocols are rows that differ in their keys and are never pooled."""
    items = truth()
    table = pd.concat([labels(items, items["label"], protocol="ours"), labels(items, "neutral", protocol="theirs")])
    found = run(table, items, is_label=True)
    assert value(found, "accuracy", variant="protocol=ours") == 1
    assert value(found, "accuracy", variant="protocol=theirs") == pytest.approx(1 / 6)


@pytest.mark.parametrize("form", ["labels", "graded"])
def test_a_class_left_out_before_asking_is_a_protocol_of_its_own(form):
    items = truth()
    five = [name for name in SIX if name != "neutral"]
    kept = items[items["label"] != "neutral"]
    if form == "labels":
        tables = [labels(items, items["label"]), labels(kept, "anger", system="T")]
        found = run(pd.concat(tables), items, is_label=True)
    else:
        scores = np.tile([1.0, 0, 0, 0, 0], (len(items), 1))
        tables = [graded(items, noisy(items)), graded(items, scores, five, system="T")]
        found = run(pd.concat(tables), items)
    keys = {"system": "T", "variant": "classes=5 of 6"}
    assert value(found, "accuracy", **keys) == pytest.approx(1 / 5)
    assert value(found, "chance", **keys) == pytest.approx(1 / 5)
    assert value(found, "n_left_out", **keys) == 8
    assert "8 items are left out: never asked for neutral" in row(found, "accuracy", **keys).note
    assert row(found, "accuracy", **keys).n_items == 40
    assert not found.select("forced_choice", "recall", {"system": "T", "class": "neutral"})
    assert not found.select("contrasts", "difference")
    assert value(found, "n_left_out", system="S") == 0


def test_that_a_class_is_never_chosen_does_not_mean_that_it_was_not_offered():
    items = truth()
    found = run(labels(items, "fear"), items, is_label=True)
    assert value(found, "chance", variant="") == pytest.approx(1 / 6)


def test_a_class_that_a_replicate_did_not_draw_keeps_its_place_in_the_mean():
    """P40: the set of classes is fixed; a rare class must not make macro-F1 jump between replicates."""
    items = pd.DataFrame({"item": range(21), "label": ["a"] * 10 + ["b"] * 10 + ["c"]})
    chosen = ["a"] * 10 + ["b"] * 10 + ["a"]
    found = run(labels(items, chosen), items, is_label=True, replicates=400)
    assert value(found, "macro_f1") == pytest.approx((20 / 21 + 1 + 0) / 3)
    note = row(found, "recall", **{"class": "c"}).note
    assert "replicates drew nothing to compute it from" in note
    part = items.assign(fold=["x"] * 20 + ["y"])
    by_fold = run(labels(part, chosen), part, is_label=True, by="fold")
    assert value(by_fold, "macro_f1", group="y") == 0  # c is missed and a is chosen in vain; b is neither
    assert "2 of 3 classes have no item here" in row(by_fold, "macro_f1", group="y").note


def test_one_merged_label_for_each_item_is_enough():
    """P43: merged labels are refused for kappa against raters; here they are the truth, and no rater is claimed."""
    items = truth()
    found = run(labels(items, items["label"]), items, is_label=True)
    assert value(found, "accuracy") == 1
    assert all(one.n_raters is None for one in found)


# Ties


def test_equal_scores_are_chance_and_neither_right_nor_decided_by_order():
    """T74, T75: ties counted as correct, or settled by the first index, would give 1 or whatever the order gives."""
    items = truth()
    found = run(graded(items, np.full((len(items), 6), 0.5)), items)
    assert value(found, "accuracy") == pytest.approx(1 / 6)
    assert value(found, "share_tied") == value(found, "share_within_margin") == 1
    undecided = run(graded(items, np.full((len(items), 6), 0.5)), items, ties="undecided")
    assert value(undecided, "accuracy") == 0
    assert value(undecided, "accuracy_answered") == 0
    assert value(undecided, "coverage") == 1


def test_the_order_of_the_classes_can_make_a_blind_system_right():
    """T75: where the right class stands first, argmax over ties scores 100 %; that this could happen is told."""
    items = pd.DataFrame({"item": range(20), "label": ["a"] * 18 + ["b"] * 2})
    found = run(graded(items, np.full((20, 2), 0.7), ["a", "b"]), items)
    assert value(found, "accuracy_first") == 0.9
    assert value(found, "accuracy_last") == pytest.approx(0.1)
    assert value(found, "accuracy") == 0.5
    assert value(found, "order_effect") == pytest.approx(0.4)
    assert verdict(found, "ties").verdict == "fail"
    assert "move the accuracy by 0.4" in verdict(found, "ties").statement
    chosen = run(graded(items, np.full((20, 2), 0.7), ["a", "b"]), items, ties="first")
    assert value(chosen, "accuracy", ties="first") == 0.9
    assert value(chosen, "order_effect") == pytest.approx(0.4)


def test_gaps_within_the_margin_are_ties():
    items = pd.DataFrame({"item": range(4), "label": ["a", "a", "b", "b"]})
    scores = [[0.52, 0.5], [0.9, 0.1], [0.3, 0.31], [0.5, 0.5]]
    exact = run(graded(items, scores, ["a", "b"]), items)
    assert value(exact, "accuracy") == pytest.approx(3.5 / 4)
    assert value(exact, "share_tied") == 0.25
    loose = run(graded(items, scores, ["a", "b"]), items, margin=0.031)
    assert value(loose, "accuracy", margin=0.031) == pytest.approx((0.5 + 1 + 0.5 + 0.5) / 4)
    assert value(loose, "share_tied") == 0.25
    assert value(loose, "share_within_margin") == 0.75


def test_log_odds_decide_where_probabilities_have_run_into_one():
    items = pd.DataFrame({"item": range(4), "label": ["a", "a", "b", "b"]})
    odds = np.array([[20.0, 18], [25, 19], [17, 30], [18, 19]])
    table = graded(items, np.ones((4, 2)), ["a", "b"])
    assert value(run(table, items), "share_tied") == 1
    assert value(run(table.assign(log_odds=odds.ravel()), items), "accuracy") == 1
    assert value(run(table.assign(log_odds=odds.ravel()), items, margin=0.01), "share_within_margin") == 1
    partly = odds.ravel().copy()
    partly[0] = np.nan
    assert value(run(table.assign(log_odds=partly), items), "share_tied") == 1  # never two kinds of numbers in one arm


def test_names_of_classes_cannot_be_tied():
    items = truth()
    found = run(labels(items, items["label"]), items, is_label=True)
    assert "nothing can be tied" in row(found, "share_tied").undefined
    assert verdict(found, "ties").verdict == "not_applicable"


# Contrasts and findings


def test_a_verification_and_a_generative_readout_are_compared_across_tables():
    items = truth(12)
    systems = ["A", "B", "C"]
    read = [graded(items, noisy(items, i, quality=3), system=s, readout="verification") for i, s in enumerate(systems)]
    rng = np.random.default_rng(9)
    said = [
        labels(items, np.where(rng.random(len(items)) < 0.4, items["label"], "neutral"), system=s, readout="generative")
        for s in systems
    ]
    found = run([pd.concat(read), pd.concat(said)], items, is_label=[False, True], replicates=300)
    rows = found.select("contrasts", "difference", {"contrast": "readout", "of": "accuracy"})
    assert [one.keys["system"] for one in rows] == systems
    assert all((one.keys["a"], one.keys["b"]) == ("verification", "generative") for one in rows)
    for one in rows:
        scores = [value(found, "accuracy", system=one.keys["system"], readout=one.keys[side]) for side in "ab"]
        assert one.estimate == pytest.approx(scores[0] - scores[1], abs=1e-12)
    assert [one.p_adjusted for one in rows] == pytest.approx(holm(np.array([one.p for one in rows])).tolist())
    told = verdict(found, "readout")
    assert told.verdict == "fail"
    assert "From verification to generative 0 systems gain, 3 lose and 0 are unclear" in told.statement
    assert len(found.select("contrasts", "difference", {"contrast": "system", "of": "macro_f1"})) == 6


def test_readouts_that_share_no_phrasing_are_compared_across_phrasings():
    items = truth()
    tables = [
        labels(items, items["label"], readout="verification", phrasing="v0"),
        labels(items, items["label"], readout="verification", phrasing="v1"),
        labels(items, "neutral", readout="generative", phrasing="g"),
    ]
    found = run(pd.concat(tables), items, is_label=True)
    rows = found.select("contrasts", "difference", {"contrast": "readout", "of": "accuracy"})
    assert {(one.keys["a"], one.keys["b"]) for one in rows} == {
        ("verification v0", "generative g"),
        ("verification v1", "generative g"),
    }
    assert contrast(found, contrast="phrasing").keys["readout"] == "verification"
    same = run(pd.concat([tables[0], tables[2].assign(phrasing="v0"), tables[1]]), items, is_label=True)
    assert contrast(same, contrast="readout").keys["phrasing"] == "v0"


def test_attempts_controls_and_prefills_are_held_against_their_own_plain_arm():
    items = truth()
    plain_arm = labels(items, items["label"], control="", prefill="", attempt=1)
    again = labels(items.iloc[:12], "neutral", control="", prefill="", attempt=2)
    blank = labels(items, "neutral", control="blank", prefill="", attempt=1)
    prefilled = labels(items, "neutral", control="", prefill="Answer:", attempt=1)
    table = pd.concat([plain_arm, again, blank, prefilled])
    found = run(pd.concat([table, table.assign(system="T")]), items, is_label=True)
    assert value(found, "accuracy", system="S", variant="") == 1
    assert value(found, "accuracy", system="S", variant="attempt=last") == pytest.approx(38 / 48)
    changed = contrast(found, contrast="attempt", system="S")
    assert (changed.keys["a"], changed.keys["b"]) == ("first", "last")
    assert changed.estimate == pytest.approx(10 / 48)
    shown = contrast(found, contrast="control", system="T")
    assert (shown.keys["a"], shown.keys["b"]) == ("plain", "blank")
    assert shown.estimate == pytest.approx(5 / 6)
    assert contrast(found, contrast="prefill", system="T").keys["b"] == "Answer:"
    # How systems differ on blank items answers no question.
    of_systems = found.select("contrasts", "difference", {"contrast": "system", "of": "accuracy"})
    assert {one.keys["variant"] for one in of_systems} == {"", "attempt=last", "prefill=Answer:"}


def test_no_two_contrasts_share_their_keys():
    items = truth()
    plain_arm = labels(items, items["label"], prefill="", attempt=1)
    again = labels(items.iloc[:12], "neutral", prefill="", attempt=2)
    table = pd.concat([plain_arm, again])
    found = run(pd.concat([table, table.assign(prefill="Answer:")]), items, is_label=True)
    keys = [tuple(one.keys.items()) for one in found.select("contrasts", "difference")]
    assert len(set(keys)) == len(keys)
    assert contrast(found, contrast="attempt", variant="prefill=Answer:").estimate == pytest.approx(10 / 48)
    assert contrast(found, contrast="prefill", variant="attempt=last").estimate == 0


def test_a_clear_order_an_unclear_one_and_none():
    items = truth(30)

    def verdict_of(*shares):
        rng = np.random.default_rng(5)
        tables = [
            labels(items, np.where(rng.random(len(items)) < share, items["label"], "neutral"), system=f"S{i}")
            for i, share in enumerate(shares)
        ]
        return verdict(run(pd.concat(tables), items, is_label=True, replicates=400), "order")

    assert verdict_of(0.9, 0.6, 0.3).verdict == "pass"
    unclear = verdict_of(0.9, 0.3, 0.3)
    assert unclear.verdict == "warn"
    assert "2 of 3 pairs of systems differ, and 1 of 2 neighbours" in unclear.statement
    assert verdict_of(0.5, 0.5, 0.5).verdict == "fail"
    assert verdict_of(0.5).verdict == "not_applicable"


def test_more_pairs_than_replicates_can_part_are_told():
    items = truth(2)
    table = pd.concat([labels(items, items["label"], system=f"S{i}") for i in range(5)])
    told = verdict(run(table, items, is_label=True), "order")
    assert told.verdict == "undetermined"
    assert "at least 200 replicates" in told.remedy


def test_readouts_that_change_nothing_pass():
    items = truth(8)
    table = pd.concat([labels(items, items["label"], readout=name) for name in ("generative", "verification")])
    assert verdict(run(table, items, is_label=True), "readout").verdict == "pass"
    assert contrast(run(table, items, is_label=True), contrast="readout").p == 1


def test_chance_and_the_most_frequent_class_are_floors():
    balanced = truth(10)
    found = run(labels(balanced, "neutral"), balanced, is_label=True)
    assert verdict(found, "chance").verdict == "fail"
    skewed = pd.DataFrame({"item": range(60), "label": ["a"] * 48 + ["b"] * 6 + ["c"] * 6})
    told = verdict(run(labels(skewed, "a"), skewed, is_label=True), "chance")
    assert told.verdict == "warn"
    assert "the most frequent class alone gives 0.8" in told.statement
    good = labels(balanced, balanced["label"], control="")
    assert verdict(run(good, balanced, is_label=True), "chance").verdict == "pass"
    blind = pd.concat([good, labels(balanced, "neutral", control="blank")])
    assert verdict(run(blind, balanced, is_label=True), "chance").verdict == "pass"
    seeing = pd.concat([good, labels(balanced, balanced["label"], control="blank")])
    told = verdict(run(seeing, balanced, is_label=True), "chance")
    assert told.verdict == "warn"
    assert "above chance without the item" in told.statement


def test_a_contrast_that_turns_on_other_denominators_fails():
    """T38: the generative arm loses by its failed replies and wins on what it answered."""
    items = truth(20).sort_values("item").reset_index(drop=True)
    position = np.arange(len(items))
    failed = position % 12 == 0
    a = labels(items, np.where(position % 24 == 1, "neutral", items["label"]), readout="verification", status="ok")
    b = labels(
        items, np.where(failed, "", items["label"]), readout="generative", status=np.where(failed, "invalid", "ok")
    )
    found = run(pd.concat([a, b]), items, is_label=True, replicates=300)
    assert contrast(found, "accuracy", contrast="readout").estimate > 0
    assert contrast(found, "accuracy_matched", contrast="readout").estimate < 0
    assert value(found, "coverage", readout="generative") > 0.9
    told = verdict(found, "coverage")
    assert told.verdict == "fail"
    assert "changes its sign" in told.statement
    whole = verdict(run(a, items, is_label=True), "coverage")
    assert whole.verdict == "pass"


def test_findings_point_to_rows_that_are_there():
    items = truth(6)
    table = pd.concat([graded(items, noisy(items, i), system=s, readout=r) for i, (s, r) in enumerate(
        [("A", "x"), ("B", "x"), ("A", "y"), ("B", "y")])])  # fmt: skip
    found = run(table, items)
    assert len(found.findings) == 5
    for finding in found.findings:
        for where in finding.rows:
            keys = {k: v for k, v in where.items() if k not in ("analysis", "statistic")}
            assert found.select(where["analysis"], where["statistic"], keys)


# Errors


def test_a_label_that_is_no_class_is_named_with_its_likely_cause():
    items = truth()
    with pytest.raises(MeasurandError, match=r'label "Anger" .*anger, disgust.*upper and lower case'):
        run(labels(items, "Anger"), items, is_label=True)
    with pytest.raises(MeasurandError, match=r'did you mean "sadness".*status'):
        run(labels(items, "sadnes"), items, is_label=True)
    with pytest.raises(MeasurandError, match=r'criterion "contempt" \(S\) is no class'):
        run(graded(items, np.zeros((len(items), 7)), [*SIX, "contempt"]), items)


def test_a_truth_without_labels_is_refused_with_the_likely_column():
    items = truth().rename(columns={"label": "expression"})
    for table, is_label in ((labels(items, "fear"), True), (graded(items, np.zeros((len(items), 6))), False)):
        with pytest.raises(MeasurandError, match=r"no column 'label'.*'expression'.*--label expression"):
            run(table, items, is_label=is_label)
    with pytest.raises(MeasurandError, match="every label is 'fear'"):
        run(labels(items, "fear"), items.assign(label="fear"), is_label=True)


def test_tables_that_do_not_fit_each_other_are_refused():
    items = truth()
    with pytest.raises(MeasurandError, match="no answer concerns an item"):
        run(labels(items.assign(item=range(len(items))), "fear"), items, is_label=True)
    with pytest.raises(MeasurandError, match="no column 'criterion'"):
        run(labels(items, 0.5), items)
    twice = pd.concat([labels(items, "fear", criterion="x"), labels(items, "fear", criterion="y")])
    with pytest.raises(MeasurandError, match="classes for 2 criteria"):
        run(twice, items, is_label=True)
    with pytest.raises(MeasurandError, match="two tables hold answers of S"):
        run([labels(items, "fear"), labels(items, "fear")], items, is_label=True)
    with pytest.raises(MeasurandError, match='asked for "fear" alone'):
        run(graded(items, np.zeros(len(items)), ["fear"]), items)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"ties": "random"}, "ties 'random'"),
        ({"margin": -1.0}, "margin -1"),
        ({"over": "rater"}, "over 'rater'"),
        ({"by": "sex"}, "no column 'sex'"),
        ({"replicates": 10}, "10 replicates"),
        ({"confidence": 95}, "confidence 95"),
        ({"seed": -1}, "seed -1"),
    ],
)
def test_choices_out_of_range_are_refused(choice, message):
    items = truth()
    with pytest.raises(MeasurandError, match=message):
        run(labels(items, "fear"), items, is_label=True, **choice)


def test_groups_that_are_not_there_are_refused_and_blank_levels_too():
    items = truth().drop(columns="group")
    with pytest.raises(MeasurandError, match="no column 'group' to redraw"):
        run(labels(items, "fear"), items, is_label=True, over="group")
    items.loc[3, "age"] = None
    with pytest.raises(MeasurandError, match="column 'age' is blank for item"):
        run(labels(items, "fear"), items, is_label=True, by="age")


def test_progress_is_told():
    items = truth()
    steps = []
    run(
        labels(items, "fear"),
        items,
        is_label=True,
        progress=lambda name, number, total: steps.append((name, number, total)),
    )
    assert steps == [("choices", 1, 3), ("replicates", 2, 3), ("contrasts", 3, 3)]
