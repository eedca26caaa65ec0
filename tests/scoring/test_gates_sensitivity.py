import re

import numpy as np
import pandas as pd
import pytest

from measurand.data import read_answers, read_ratings
from measurand.data.items import read_items
from measurand.data.scale import Scale
from measurand.scoring.gate_shuffle import shuffled
from measurand.scoring.gate_study import study
from measurand.scoring.gates import failed_systems, gates
from measurand.stats.inference import stream

QUICK = {"permutations": 199, "replicates": 100}
SCALE = Scale(0, 7, step=1)


def long(values, *, system="S", first=0, **columns):
    values = np.asarray(values, dtype=float)
    item, criterion = (index.ravel() for index in np.indices(values.shape))
    frame = pd.DataFrame(
        {
            "system": system,
            "item": [f"i{position + first}" for position in item],
            "criterion": [f"c{position}" for position in criterion],
            "answer": values.ravel(),
        }
    )
    for name, column in columns.items():
        frame[name] = np.ravel(column) if np.ndim(column) else column
    return frame


def panel(seed=0, *, items=120, criteria=3, raters=3, holes=0.0):
    """A latent intensity and the ratings that people give to it."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 1, (items, criteria))
    rating = np.clip(np.rint(3.5 + 1.5 * latent[:, :, None] + rng.normal(0, 1.5, (items, criteria, raters))), 0, 7)
    item, criterion, rater = (index.ravel() for index in np.indices(rating.shape))
    table = pd.DataFrame(
        {
            "item": [f"i{position}" for position in item],
            "criterion": [f"c{position}" for position in criterion],
            "rater": [f"R{position}" for position in rater],
            "rating": rating.ravel(),
        }
    )
    table = table[rng.random(len(table)) >= holes]
    return latent, read_ratings(table, scale=SCALE)


def signal(latent, validity, seed=1):
    rng = np.random.default_rng(seed)
    mixed = validity * latent + np.sqrt(1 - validity**2) * rng.normal(0, 1, latent.shape)
    return 1 / (1 + np.exp(-mixed))


def verdict(result, gate="input-sensitivity"):
    return next(finding for finding in result.findings if finding.id == gate).verdict


def statement(result, gate="input-sensitivity"):
    return next(finding for finding in result.findings if finding.id == gate).statement


def about(answers, ratings=None, items=None, *, permutations=199, seed=0):
    return study(
        read_answers(answers),
        ratings,
        items,
        (),
        noise=0.031,
        replicates=100,
        permutations=permutations,
        confidence=0.95,
        seed=seed,
    )


# ---- shuffling


def test_a_system_of_validity_4_passes_and_one_that_never_saw_the_items_fails():
    latent, ratings = panel()
    seen = long(signal(latent, 0.4), system="seen", readout="verification")
    blind = long(signal(latent, 0.0), system="blind", readout="verification")
    result = gates(read_answers(pd.concat([seen, blind])), ratings=ratings, **QUICK)
    assert verdict(result) == "fail"
    assert statement(result).startswith("1 of 2 arms fails: blind (verification)")
    assert "no evidence that the input was seen" in statement(result)
    assert list(failed_systems(result)) == [("blind", "verification", "", "")]
    p = {row.keys["system"]: row for row in result.select("gates", "p_permutation", {"gate": "input-sensitivity"})}
    assert p["seen"].p == p["seen"].attainable_p == 1 / 200


def test_blind_systems_pass_as_rarely_as_the_test_says():
    passed = 0
    for seed in range(60):
        latent, ratings = panel(seed, items=40, criteria=2)
        blind = long(signal(latent, 0.0, seed + 500))
        passed += shuffled(s := about(blind, ratings, permutations=99), s.arms[0]).p_above < 0.05
    assert passed <= 9  # of 60 at .05: above that with a chance below .002


@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_the_shuffled_score_is_what_a_plain_loop_gives(holes, lost):
    latent, ratings = panel(3, items=30, criteria=2, holes=holes)
    answer = np.round(signal(latent, 0.6), 1)
    answer[np.random.default_rng(9).random(answer.shape) < lost] = np.nan
    s = about(long(answer, status=np.where(np.isnan(answer), "invalid", "ok")), ratings, permutations=20)
    found = shuffled(s, s.arms[0])
    frame = ratings.frame.assign(
        item=ratings.frame["item"].astype(str), criterion=ratings.frame["criterion"].astype(str)
    )
    items = [
        i for i, name in enumerate(s.items) if (~np.isnan(s.arms[0].answer[i])).any() and name in set(frame["item"])
    ]
    rating = {
        c: {name: rows["rating"].to_numpy() for name, rows in frame[frame["criterion"] == c].groupby("item")}
        for c in s.criteria
    }
    level = {
        c: calibrated_by_hand(s.arms[0].answer[items, j], frame[frame["criterion"] == c]["rating"])
        for j, c in enumerate(s.criteria)
    }

    def score(order):
        kappas = []
        for c in s.criteria:
            x, y = [], []
            for place, item in enumerate(items):
                value = level[c][order[place]]
                for one in rating[c].get(s.items[item], []):
                    if not np.isnan(value):
                        x.append(value)
                        y.append(one)
            x, y = np.array(x), np.array(y)
            kappas.append(2 * np.cov(x, y, bias=True)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2))
        return np.mean(kappas)

    assert found.score == pytest.approx(score(np.arange(len(items))), abs=1e-12)
    rng = stream(0, "gates", "shuffle")
    for drawn in found.draws:
        assert drawn == pytest.approx(score(rng.permutation(len(items))), abs=1e-12)


def calibrated_by_hand(answer, ratings):
    """Levels by place in the order: each tie block gets the mean of the target quantiles over its places."""
    known = np.flatnonzero(~np.isnan(answer))
    target = np.sort(np.asarray(ratings, dtype=float))
    n = len(known)
    edges = np.arange(len(target) + 1) / len(target) * n

    def mean_level(low, high):
        width = np.clip(np.minimum(edges[1:], high) - np.maximum(edges[:-1], low), 0, None)
        return (width * target).sum() / (high - low)

    out = np.full(len(answer), np.nan)
    for one in np.unique(answer[known]):
        below, here = (answer[known] < one).sum(), (answer[known] == one).sum()
        out[answer == one] = mean_level(below, below + here)
    return out


def test_a_monotone_transform_of_the_answers_changes_nothing():
    latent, ratings = panel()
    answer = signal(latent, 0.5)
    a, b = (about(long(values), ratings) for values in (answer, np.exp(3 * answer)))
    first, second = shuffled(a, a.arms[0]), shuffled(b, b.arms[0])
    assert first.score == second.score
    assert (first.draws == second.draws).all()


def test_constant_answers_show_no_evidence():
    latent, ratings = panel(items=30)
    result = gates(read_answers(long(np.full(latent.shape, 2.0))), ratings=ratings, **QUICK)
    assert verdict(result) == "fail"
    assert result.value("gates", "kappa_quadratic", {"gate": "input-sensitivity"}) == pytest.approx(0, abs=1e-12)
    assert result.value("gates", "p_permutation", {"gate": "input-sensitivity"}) == 1


def test_without_ratings_labels_and_controls_it_is_undetermined():
    latent, _ = panel(items=30)
    result = gates(read_answers(long(signal(latent, 0.5))), **QUICK)
    assert verdict(result) == "undetermined"
    assert "neither ratings nor labels are given" in statement(result)


def test_few_items_are_too_few_to_shuffle():
    latent, ratings = panel(items=4)
    assert verdict(gates(read_answers(long(signal(latent, 0.5))), ratings=ratings, **QUICK)) == "undetermined"


def labelled(n=90, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    items = read_items(pd.DataFrame({"item": [f"i{i}" for i in range(n)], "label": [f"c{one}" for one in label]}))
    return label, items, rng


def test_labels_serve_as_well_chosen_in_text_or_by_the_highest_probability():
    label, items, rng = labelled()
    right = np.where(rng.random(90) < 0.6, label, rng.integers(0, 3, 90))
    blind = rng.integers(0, 3, 90)
    for answer, expected in ((right, "pass"), (blind, "fail")):
        table = pd.DataFrame({"system": "S", "item": [f"i{i}" for i in range(90)], "answer": [f"c{a}" for a in answer]})
        result = gates(read_answers(table, labels=True), items=items, **QUICK)
        assert verdict(result) == expected
        accuracy = result.value("gates", "accuracy", {"gate": "input-sensitivity"})
        assert accuracy == pytest.approx((answer == label).mean(), abs=1e-12)
        probability = rng.uniform(0.1, 0.3, (90, 3))
        probability[np.arange(90), answer] = 0.8
        result = gates(read_answers(long(probability, readout="verification")), items=items, **QUICK)
        assert verdict(result) == expected
        graded = result.value("gates", "accuracy", {"gate": "input-sensitivity"})
        assert graded == pytest.approx(accuracy, abs=1e-12)


def test_all_tied_classes_share_the_choice_and_show_no_evidence():
    """T74, T75: ties are never counted as right, and the order of classes decides nothing."""
    _, items, _ = labelled()
    result = gates(read_answers(long(np.full((90, 3), 0.5), readout="verification")), items=items, **QUICK)
    assert verdict(result) == "fail"
    assert result.value("gates", "accuracy", {"gate": "input-sensitivity"}) == pytest.approx(1 / 3, abs=1e-12)


# ---- controls


@pytest.mark.parametrize(("control", "first"), [("blank", 0), ("swapped", 0), ("blank", 500)])
def test_answers_that_a_control_gives_as_well_fail(control, first):
    latent, _ = panel(items=40)
    answer = signal(latent, 0.5)
    other = answer[:1] if first else answer
    table = pd.concat(
        [
            long(answer, readout="verification", control=""),
            long(other + 0.01, first=first, readout="verification", control=control),
        ]
    )
    result = gates(read_answers(table), **QUICK)
    assert verdict(result) == ("pass" if first else "fail")
    of = {"gate": "input-sensitivity", "variant": f"control={control}"}
    assert result.value("gates", "share_equal", of) == 0
    assert result.value("gates", "share_equal_within_noise", of) == (1 / 40 if first else 1)
    if not first:
        assert result.value("gates", "correlation_with_arm", of) == pytest.approx(1, abs=1e-12)


def test_answers_of_their_own_pass_beside_a_control():
    latent, ratings = panel(items=60)
    table = pd.concat([long(signal(latent, 0.6), control=""), long(signal(latent, 0.0, 8), control="swapped")])
    result = gates(read_answers(table), ratings=ratings, **QUICK)
    assert verdict(result) == "pass"
    assert "swapped control" in statement(result)
    assert abs(result.value("gates", "correlation_with_arm", {"gate": "input-sensitivity"})) < 0.3


def test_a_control_that_was_asked_something_else_is_no_comparison():
    answer = np.arange(40.0).reshape(20, 2) % 7
    table = pd.concat([long(answer, control=""), long(answer, control="blank")], ignore_index=True)
    other = (table["control"] == "blank") == (table["criterion"] == "c0")
    result = gates(read_answers(table[other]), **QUICK)
    assert verdict(result) == "undetermined"
    row = result.select("gates", "share_equal", {"gate": "input-sensitivity"})[0]
    assert "asked no question in common" in row.undefined


def test_answers_and_ratings_that_do_not_vary_leave_it_undetermined():
    item = [f"i{i}" for i in range(9)]
    ratings = read_ratings(pd.DataFrame({"item": item, "criterion": "c0", "rater": "R", "rating": 3}), scale=SCALE)
    result = gates(read_answers(long(np.full((9, 2), 1.0))), ratings=ratings, **QUICK)
    assert verdict(result) == "undetermined"
    assert "neither its answers nor the ratings vary" in statement(result)


def test_whole_numbers_are_compared_exactly():
    answer = np.arange(40.0).reshape(20, 2) % 7
    table = pd.concat([long(answer, control=""), long(answer + (np.arange(20) % 2)[:, None], control="blank")])
    result = gates(read_answers(table), **QUICK)
    of = {"gate": "input-sensitivity", "variant": "control=blank"}
    assert result.value("gates", "share_equal_within_noise", of) == 0.5


def test_controls_of_another_readout_are_no_controls_of_this_arm():
    latent, _ = panel(items=20)
    answer = signal(latent, 0.5)
    table = pd.concat(
        [long(answer, readout="verification", control=""), long(answer, readout="generative", control="blank")]
    )
    assert verdict(gates(read_answers(table), **QUICK)) == "undetermined"


def test_a_control_is_not_held_to_the_gates_of_arms_that_are_scored():
    latent, ratings = panel(items=60)
    table = pd.concat([long(signal(latent, 0.6), control=""), long(np.full(latent.shape, 0.4), control="blank")])
    result = gates(read_answers(table), ratings=ratings, **QUICK)
    assert verdict(result, "constant-answers") == "pass"
    assert verdict(result) == "pass"
    assert verdict(result, "control-health") == "pass"
    assert failed_systems(result) == {}


# ---- health of controls


def test_a_control_below_chance_is_damaged():
    """Appendix O: a control that falls below the untrained base bounds nothing."""
    latent, ratings = panel()
    table = pd.concat([long(signal(latent, 0.6), control=""), long(signal(-latent, 0.5), control="permuted")])
    result = gates(read_answers(table), ratings=ratings, **QUICK)
    assert verdict(result, "control-health") == "fail"
    assert "below chance" in statement(result, "control-health")
    assert failed_systems(result) == {("S", "", "", "control=permuted"): ["control-health"]}


def test_a_control_at_chance_is_sound():
    latent, ratings = panel()
    table = pd.concat([long(signal(latent, 0.6), control=""), long(signal(latent, 0.0, 4), control="permuted")])
    assert verdict(gates(read_answers(table), ratings=ratings, **QUICK), "control-health") == "pass"


def test_a_control_that_does_not_answer_is_damaged_whatever_it_scores():
    latent, _ = panel(items=40)
    answer = signal(latent, 0.0, 4)
    lost = np.arange(answer.size) % 2 == 0
    control = long(np.where(lost.reshape(answer.shape), np.nan, answer), control="blank")
    result = gates(read_answers(pd.concat([long(answer, control=""), control])), **QUICK)
    assert verdict(result, "control-health") == "fail"
    assert "fails coverage" in statement(result, "control-health")
    assert verdict(result, "coverage") == "pass"


def test_health_needs_a_control_and_something_to_hold_it_against():
    latent, _ = panel(items=30)
    assert verdict(gates(read_answers(long(signal(latent, 0.5))), **QUICK), "control-health") == "not_applicable"
    table = pd.concat([long(signal(latent, 0.5), control=""), long(signal(latent, 0.0, 5), control="blank")])
    assert verdict(gates(read_answers(table), **QUICK), "control-health") == "undetermined"


def test_controls_alone_leave_nothing_to_be_scored():
    latent, _ = panel(items=30)
    result = gates(read_answers(long(signal(latent, 0.5), control="blank")), **QUICK)
    assert verdict(result, "coverage") == "not_applicable"


def test_the_mean_after_shuffling_is_told_to_the_thousandth_and_never_with_an_exponent():
    latent, ratings = panel()
    said = statement(gates(read_answers(long(signal(latent, 0.9))), ratings=ratings, **QUICK))
    assert re.search(r"quadratic kappa 0\.\d+ against −?0\.\d{3} after shuffling the items, p = 0\.005", said)
