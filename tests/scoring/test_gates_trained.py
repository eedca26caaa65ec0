"""A system that was trained as a control: is it at its base, or was it damaged by the training?"""

import numpy as np
import pandas as pd
import pytest

from gate_tables import asked, long, statement, verdict
from measurand.data import read_answers
from measurand.data.items import read_items
from measurand.data.ratings import read_ratings
from measurand.data.scale import Scale
from measurand.result import MeasurandError
from measurand.scoring.arms import Trained
from measurand.scoring.gates import failed_systems, gates
from measurand.scoring.score import score

HEALTH = "control-health"
CONTROLS = {"permuted": Trained("tuned", "early")}


def panel(seed=0, *, items=120, criteria=3, raters=3):
    """Return a latent intensity and the ratings that people give to it."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(0, 1, (items, criteria))
    rating = np.clip(np.rint(3.5 + 1.5 * latent[:, :, None] + rng.normal(0, 1.5, (items, criteria, raters))), 0, 7)
    item, criterion, rater = (index.ravel() for index in np.indices(rating.shape))
    table = {
        "item": [f"i{i}" for i in item],
        "criterion": [f"c{i:02d}" for i in criterion],
        "rater": [f"R{i}" for i in rater],
        "rating": rating.ravel(),
    }
    return latent, read_ratings(pd.DataFrame(table), scale=Scale(0, 7, step=1))


def signal(latent, validity, seed):
    rng = np.random.default_rng(seed)
    mixed = validity * latent + np.sqrt(1 - validity**2) * rng.normal(0, 1, latent.shape)
    return 1 / (1 + np.exp(-mixed))


def arms(latent, *, early, permuted, tuned=0.8, **columns):
    """Return answers of three systems, as valid as said."""
    of = {"early": early, "tuned": tuned, "permuted": permuted}
    parts = [long(signal(latent, of[name], seed=40 + i), system=name, **columns) for i, name in enumerate(of)]
    return pd.concat(parts, ignore_index=True)


def judged(table, ratings, controls=CONTROLS, **more):
    return asked(table, ratings=ratings, controls=controls, **more)


def minus_base(result):
    (row,) = result.select("gates", "minus_base", {"gate": HEALTH})
    return row


def test_a_trained_control_below_its_base_is_damaged_although_it_is_above_chance():
    latent, ratings = panel(1)
    result = judged(arms(latent, early=0.7, permuted=0.25), ratings)
    row = minus_base(result)
    assert row.keys["system"] == "permuted"
    assert (row.unit, row.confidence) == ("item", 0.95)
    assert row.high < 0
    assert verdict(result, HEALTH) == "fail"
    assert f"it scores {-row.estimate:.3g} below early (−" in statement(result, HEALTH)
    assert "it is damaged and bounds nothing of what tuned gained" in statement(result, HEALTH)
    assert "is not below chance" in statement(result, HEALTH)
    assert failed_systems(result) == {("permuted", "", "", ""): [HEALTH]}


def test_a_trained_control_at_its_base_is_sound_and_what_it_was_is_no_contender():
    latent, ratings = panel(1)
    result = judged(arms(latent, early=0.5, permuted=0.5), ratings)
    row = minus_base(result)
    assert row.low < 0 < row.high
    assert verdict(result, HEALTH) == "pass"
    assert "which is not told from 0" in statement(result, HEALTH)
    asked = {row.keys["gate"] for row in result.select("gates", "passed", {"system": "permuted"})}
    assert asked == {"answer-mass", "coverage", HEALTH}


def test_where_control_and_base_are_equally_blind_it_is_called_damaged_as_rarely_as_the_interval_says():
    failed = 0
    for seed in range(60):
        latent, ratings = panel(seed, items=60)
        blind = [
            long(signal(latent, 0.0, 1000 * k + seed), system=name) for k, name in enumerate(("early", "permuted"), 1)
        ]
        failed += minus_base(judged(pd.concat(blind), ratings, replicates=400)).high < 0
    assert failed <= 6  # of 60 at .025: above that with a chance below .002


def test_the_difference_is_what_a_plain_loop_gives_on_the_questions_that_both_answered():
    latent, ratings = panel(3, items=30, criteria=2)
    table = arms(latent, early=0.7, permuted=0.3)
    lost = np.random.default_rng(2).random(len(table)) < 0.05
    table["status"] = np.where(lost, "invalid", "ok")
    table.loc[lost, "answer"] = np.nan
    of = {name: part.set_index(["item", "criterion"])["answer"] for name, part in table.groupby("system")}
    both = of["early"].notna() & of["permuted"].notna()
    rating = ratings.frame.astype({"item": str, "criterion": str})
    differences = []
    for criterion in ("c00", "c01"):
        one = rating[rating["criterion"] == criterion]
        levels = np.sort(one["rating"].to_numpy())
        items = [item for item, of_criterion in both[both].index if of_criterion == criterion]
        kappa = {}
        for name in ("early", "permuted"):
            order = np.argsort([of[name][item, criterion] for item in items])
            # Each place in the order gets the mean of the ratings' quantile function there.
            fine = np.repeat(levels, len(items)).reshape(len(items), -1).mean(axis=1)
            level = dict(zip(np.array(items)[order], fine, strict=True))
            pairs = [
                (level[item], value) for item, value in zip(one["item"], one["rating"], strict=True) if item in level
            ]
            x, y = np.array(pairs).T
            kappa[name] = 1 - np.mean((x - y) ** 2) / np.mean((x[:, None] - y[None, :]) ** 2)
        differences.append(kappa["permuted"] - kappa["early"])
    row = minus_base(judged(table, ratings))
    assert row.estimate == pytest.approx(np.mean(differences), abs=1e-12)
    assert row.n_items == len({item for item, _ in both[both].index})


def test_groups_are_redrawn_as_wholes():
    latent, ratings = panel(1, items=60)
    groups = pd.DataFrame({"item": [f"i{i}" for i in range(60)], "group": [f"g{i // 12}" for i in range(60)]})
    assert minus_base(judged(arms(latent, early=0.5, permuted=0.5), ratings, items=groups)).unit == "group"


def test_without_ratings_right_choices_are_what_is_compared():
    names = [f"i{i}" for i in range(80)]
    label = np.arange(80) % 4
    right = {"early": np.arange(80) % 10 < 8, "permuted": np.arange(80) % 10 < 4}
    table = pd.concat(
        [
            pd.DataFrame(
                {"system": name, "item": names, "answer": [f"k{k}" for k in np.where(ok, label, (label + 1) % 4)]}
            )
            for name, ok in right.items()
        ]
    )
    items = read_items(pd.DataFrame({"item": names, "label": [f"k{k}" for k in label]}))
    result = gates(read_answers(table, labels=True), items=items, controls=CONTROLS, permutations=99, replicates=100)
    row = minus_base(result)
    assert row.estimate == pytest.approx(-0.4)
    assert row.high < 0
    assert verdict(result, HEALTH) == "fail"


def test_a_base_that_was_not_asked_alike_leaves_it_undetermined_and_none_leaves_it_to_chance():
    latent, ratings = panel()
    table = arms(latent, early=0.5, permuted=0.5, readout="generative")
    table.loc[table["system"] == "early", "readout"] = "verification"
    table["mass"] = 1.0
    result = judged(table, ratings)
    assert verdict(result, HEALTH) == "undetermined"
    assert minus_base(result).undefined == "its base early has no arm under this protocol"
    result = judged(table, ratings, {"permuted": Trained("tuned")})
    assert verdict(result, HEALTH) == "pass"
    assert not result.select("gates", "minus_base")
    with pytest.raises(MeasurandError, match=r"'permutated', which the answers do not have; did you mean 'permuted'"):
        judged(table, ratings, {"permutated": Trained("tuned")})


def test_a_trained_control_is_scored_and_is_neither_the_best_nor_among_those_above_people():
    latent, ratings = panel(2, items=60)
    table = arms(latent, early=0.3, permuted=0.95, tuned=0.5)
    chosen = {"gates": False, "over": ("item",), "replicates": 100, "baselines": ()}
    found = score(read_answers(table), ratings, controls=["permuted"], **chosen)
    exceeds = next(one for one in found.findings if one.id == "exceeds-people").statement
    assert "The best, tuned, scores" in exceeds
    assert "of 2 for these raters" in exceeds
    assert {row.keys["system"] for row in found.select("scores", "kappa_quadratic")} == {"early", "permuted", "tuned"}
    pairs = {(row.keys["a"], row.keys["b"]) for row in found.select("contrasts", "difference", {"contrast": "system"})}
    assert ("early", "permuted") in pairs
    assert {row.keys["system"] for row in found.select("spread", "rank")} == {"early", "tuned"}
