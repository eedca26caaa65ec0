import json

import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers, read_ratings
from measurand.keys import KEYS
from measurand.result import MeasurandError, Result
from measurand.scoring.score import PRESETS, score

SCALE = Scale(0, 7, step=1)
QUICK = {"replicates": 100, "folds": 3, "gates": False}


def scored(answers, ratings, **chosen):
    if isinstance(ratings, pd.DataFrame):
        ratings = read_ratings(ratings, scale=SCALE)
    return score(answers, ratings, **(QUICK | chosen))


@pytest.fixture
def tables(runs):
    return runs.benchmark()


def refusal(answers, ratings, **chosen):
    with pytest.raises(MeasurandError) as caught:
        scored(answers, ratings, **chosen)
    return str(caught.value)


# --- The result -------------------------------------------------------------------------------------------------------


def rich(runs):
    """Two systems, two readouts, probabilities, a retry, a control, missing answers, a criterion nobody agrees on."""
    answers, ratings = runs.benchmark(n_criteria=3, missing=0.3)
    noise = np.random.default_rng(0)
    ratings.loc[ratings["criterion"] == "c2", "rating"] = noise.integers(0, 8, (ratings["criterion"] == "c2").sum())
    verification = answers.assign(readout="verification", answer=answers["answer"] / 7)
    generative = answers.assign(readout="generative", answer=answers["answer"].round())
    generative.loc[::9, "answer"] = np.nan
    again = generative.iloc[:20].assign(attempt=2, answer=3.0)
    blank = verification.assign(control="blank", answer=0.2)
    parts = [verification, generative, again, blank]
    return pd.concat([part.assign(attempt=part.get("attempt", 1)) for part in parts], ignore_index=True), ratings


@pytest.mark.parametrize("aggregate", ["pooled", "identity"])
def test_no_two_numbers_have_the_same_name_and_every_name_is_complete(runs, aggregate):
    answers, ratings = rich(runs)
    found = scored(answers, ratings, aggregate=aggregate, margin=0.1, statistics=("kappa_quadratic", "spearman"))
    seen = {}
    for row in found:
        assert set(row.keys) <= set(KEYS[row.analysis])
        name = (row.analysis, tuple(row.keys.get(key, "") for key in KEYS[row.analysis]), row.statistic, row.unit)
        assert name not in seen, (row, seen[name])
        seen[name] = row
        assert not np.isnan(row.estimate) or row.undefined
    assert {"scores", "baselines", "anchors", "criteria", "contrasts", "coverage", "decisions", "spread"} <= {
        row.analysis for row in found
    }


def test_the_result_survives_json(runs):
    found = scored(*rich(runs))
    assert Result.from_json(found.to_json()) == found
    assert "NaN" not in json.dumps(json.loads(found.to_json()), allow_nan=False)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_intervals(tables):
    once, again, other = (scored(*tables, seed=seed) for seed in (3, 3, 4))
    assert once.to_json() == again.to_json()
    first, second = (next(row for row in found if row.analysis == "scores") for found in (once, other))
    assert (first.low, first.high) != (second.low, second.high)


def test_how_many_replicates_are_computed_at_once_changes_nothing(tables, monkeypatch):
    found = []
    for size in (1, 300, 2**16):
        monkeypatch.setattr("measurand.scoring.field._BLOCK", size)
        found.append(scored(*tables))
    for row, *others in zip(*found, strict=True):
        for other in others:
            assert (row.keys, row.statistic, row.unit) == (other.keys, other.statistic, other.unit)
            for name in ("estimate", "low", "high", "p"):
                a, b = getattr(row, name), getattr(other, name)
                assert (a is None) == (b is None)
                assert a is None or a == pytest.approx(b, abs=1e-12, nan_ok=True)


def test_the_order_of_rows_and_the_names_of_systems_and_raters_change_no_number(tables):
    answers, ratings = tables
    shuffled = scored(
        answers.sample(frac=1, random_state=0).replace({"system": {"A": "Z"}}),
        ratings.sample(frac=1, random_state=1).replace({"rater": {"R0": "R9"}}),
        anchors=("pairwise", "leave_one_out"),
        over=("item",),
        baselines=(),
    )
    plain = scored(answers, ratings, anchors=("pairwise", "leave_one_out"), over=("item",), baselines=())
    for row in plain:
        if row.analysis not in ("scores", "anchors", "criteria"):
            continue
        keys = {**row.keys, **({"system": "Z"} if row.keys.get("system") == "A" else {})}
        (other,) = shuffled.select(
            row.analysis, row.statistic, keys | {k: "" for k in KEYS[row.analysis] if k not in keys}
        )
        assert other.estimate == pytest.approx(row.estimate, abs=1e-12, nan_ok=True)
        if row.low is not None:
            assert (other.low, other.high) == pytest.approx((row.low, row.high), abs=1e-12)


def test_intervals_over_raters_too_are_a_row_of_their_own(tables):
    found = scored(*tables)
    units = [
        row.unit
        for row in found.select("scores", "kappa_quadratic", {"system": "A", "criterion": "c0", "fit": "held_out"})
    ]
    assert units.count("item") == 1
    assert units.count("item+rater") == 1
    assert found.settings["scores"]["over"] == ["item", "item+rater"]


def test_groups_are_redrawn_and_folded_as_wholes(tables):
    answers, ratings = tables
    items = pd.DataFrame({"item": [f"i{k:03d}" for k in range(24)], "group": [f"g{k // 3}" for k in range(24)]})
    found = scored(answers, ratings, items=items)
    assert found.settings["scores"]["over"] == ["group", "group+rater"]
    assert found.settings["scores"]["groups"] == 8
    row = found.select("scores", "kappa_quadratic", {"system": "A", "criterion": "c0", "fit": "held_out"})[0]
    assert (row.unit, "8 redrawn: the interval is too narrow" in row.note) == ("group", True)


def test_answers_of_two_protocols_are_never_pooled(tables):
    """T39: the score of each arm is what it would be alone."""
    answers, ratings = tables
    other = answers.assign(phrasing="p2", answer=(answers["answer"] * 3) % 7)
    both = scored(pd.concat([answers.assign(phrasing="p1"), other]), ratings, over=("item",))
    for phrasing, part in (("p1", answers), ("p2", other)):
        alone = scored(part.assign(phrasing=phrasing), ratings, over=("item",))
        keys = {
            "system": "B",
            "set": "all",
            "fit": "held_out",
            "phrasing": phrasing,
            "ties": "block",
            "target": "ratings",
        }
        (a,), (b,) = (found.select("scores", "kappa_quadratic", keys) for found in (both, alone))
        assert (a.estimate, a.low, a.high) == (b.estimate, b.low, b.high)


def test_an_invalid_0_moves_no_score(tables):
    """T33: the score is the one without that row, and the value that was set aside is counted."""
    answers, ratings = tables
    failed = answers.assign(status="ok")
    failed.loc[3, ["answer", "status"]] = [0.0, "invalid"]
    found = scored(failed, ratings, over=("item",))
    without = scored(answers.drop(index=3), ratings, over=("item",))
    keys = {"system": "A", "criterion": "c0", "calibration": "none"}
    assert found.value("scores", "kappa_quadratic", keys) == without.value("scores", "kappa_quadratic", keys)
    assert found.settings["scores"]["values_ignored_for_status"] == 1
    assert found.value("coverage", "coverage", {"system": "A"}) == pytest.approx(47 / 48)
    assert without.value("coverage", "coverage", {"system": "A"}) == 1


def test_the_yes_or_no_of_probabilities_is_scored_beside_them(runs):
    answers, ratings = rich(runs)
    found = scored(answers, ratings, over=("item",))
    readouts = {row.keys["readout"] for row in found if row.analysis == "scores"}
    assert readouts == {"verification", "generative", "binarized"}
    assert found.select("contrasts", "difference", {"contrast": "readout", "b": "binarized"})


def test_a_criterion_without_any_rating_has_no_score_and_disturbs_no_other(tables):
    answers, ratings = tables
    empty = pd.concat([ratings, ratings.iloc[:2].assign(criterion="c2", rating=np.nan)])
    extra = pd.concat([answers, answers.iloc[:4].assign(criterion="c2")])
    found = scored(extra, empty, over=("item",))
    (row,) = found.select("scores", "kappa_quadratic", {"system": "A", "criterion": "c2", "calibration": "none"})
    assert np.isnan(row.estimate)
    assert row.undefined
    keys = {"system": "A", "criterion": "c0", "calibration": "none"}
    expected = scored(answers, ratings, over=("item",)).value("scores", "kappa_quadratic", keys)
    assert found.value("scores", "kappa_quadratic", keys) == expected


def test_what_failed_its_gates_is_taken_from_the_gates_or_from_the_user(tables):
    answers, ratings = tables
    constant = answers[answers["system"] == "A"].assign(system="C", answer=2.0)
    three = pd.concat([answers, constant])
    found = scored(three, ratings, over=("item",), gates=True)
    assert ["C", "", "", ""] in found.settings["scores"]["excluded"]
    assert not np.isnan(found.value("scores", "kappa_quadratic", {"system": "C", "set": "all", "calibration": "none"}))
    assert found.value("spread", "effect_of_leaving_out", {"set": "all"}) > 0
    named = scored(three, ratings, over=("item",), excluded={("B", "", "", ""): ["coverage"]})
    assert named.settings["scores"]["excluded"] == [["B", "", "", ""]]


def test_the_preset_of_the_first_paper_is_its_path(tables):
    found = scored(*tables, **(PRESETS["readout-paper"] | {"replicates": 100}))
    assert found.settings["scores"]["path"] == "rank, oracle, target consensus, ties index, pooled"
    assert {row.keys["anchor"] for row in found if row.analysis == "anchors"} == {"pairwise"}


# --- Refusals ---------------------------------------------------------------------------------------------------------


def test_one_merged_label_is_refused_for_kappa(tables):
    """P43: a merged gold label has no single raters; forced choice takes it."""
    answers, ratings = tables
    text = refusal(answers, ratings[ratings["rater"] == "R0"])
    assert "one rater, 'R0'" in text
    assert "--truth items.csv" in text


def test_a_scale_is_never_inferred(tables):
    """P20: the range of the sample was taken for the scale."""
    answers, ratings = tables
    text = refusal(answers, read_ratings(ratings))
    assert "not declared; it is never inferred: --scale LOW:HIGH[:STEP]" in text


def test_a_consensus_needs_a_step_to_round_to(tables):
    answers, ratings = tables
    smooth = read_ratings(ratings, scale=Scale(0, 7))
    text = refusal(answers, smooth, target="consensus")
    assert "has no step; declare it, for example --scale 0:7:1, or take --target ratings" in text


def test_names_of_classes_are_refused(tables):
    answers, ratings = tables
    labels = read_answers(answers.assign(answer="joy"), labels=True)
    assert "names of classes; score them against labels (--truth items.csv)" in refusal(labels, ratings)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({"anchors": ("crowd",)}, "anchor 'crowd'; allowed are pairwise, leave_one_out"),
        ({"baselines": ("gold",)}, "baseline 'gold'; allowed are all_low"),
        ({"over": ("image",)}, "over 'image'; allowed are item, group, rater, item+rater, group+rater"),
        ({"over": ("group",)}, "over 'group', but no item has a group; give a column group"),
        ({"over": ("item", "item")}, "over item, item: each may be named once"),
        (
            {"over": ("item", "rater"), "statistics": ("spearman",)},
            "over 'rater', but spearman is for the raters at hand",
        ),
        ({"calibrate": ("platt",)}, "calibrate 'platt'; allowed are rank, none"),
        ({"calibrate": ()}, "name at least one calibration and one statistic"),
        ({"statistics": ("f1",)}, "statistic 'f1'; allowed are kappa_quadratic"),
        ({"statistics": ("auroc",), "positive": "most"}, "positive 'most'; allowed are any, majority, median"),
        ({"ties": "first"}, "ties 'first'; allowed are block, midrank, index, random"),
        ({"fit": "train"}, "fit 'train'; allowed are oracle, held_out"),
        ({"target": "median"}, "target 'median'; allowed are ratings, consensus"),
        ({"aggregate": "mean"}, "aggregate 'mean'; allowed are pooled, identity"),
        ({"replicates": 99}, "99 replicates; give at least 100"),
        ({"folds": 1}, "1 folds dealt 2 times; give at least two folds"),
        ({"folds": 25}, "24 items cannot be dealt to 25 folds; give fewer (--folds)"),
        ({"confidence": 1.0}, "confidence is 1; give a number from 0.5 to 1"),
        ({"reliable": 2.0}, "reliable is 2; give a number from -1 to 1"),
        ({"epsilon": -0.1}, "epsilon is -0.1; give a number from 0 to 1"),
        ({"margin": 0.0}, "the margin of equivalence is 0; give a positive difference of kappa"),
        ({"seed": -1}, "seed is -1; give 0 or above"),
    ],
)
def test_choices_that_are_none_are_refused_with_what_is_allowed(tables, chosen, said):
    assert said in refusal(*tables, **chosen)


def test_a_blank_group_of_an_item_is_refused(tables):
    answers, ratings = tables
    grouped = ratings.assign(group=ratings["item"].where(ratings["item"] != "i004"))
    assert 'item "i004" has ratings but no group' in refusal(answers, grouped)
