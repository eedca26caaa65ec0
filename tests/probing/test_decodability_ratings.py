"""Decodability beside ratings: rank correlation over systems."""

import json

import numpy as np
import pandas as pd
import pytest

import measurand
from measurand import MeasurandError
from measurand.probing.decodability_ratings import decodability_ratings
from measurand.probing.findings_decodability import decodability_findings
from measurand.result import Result, Row

SPEARMAN = ("decodability_ratings", "spearman")
KEYS = {"language": "", "token_unit": "emoji", "split": "row"}


def scored(scores, **keys):
    return Result([Row("decodability", {**KEYS, **keys, "system": name}, "macro_f1", x) for name, x in scores.items()])


def rated(means, *, n_items=40, raters=("R1", "R2"), seed=0, noise=0.0):
    """Return ratings of each system around its mean, whose errors sum to 0 over items without noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for name, mean in means.items():
        for rater in raters:
            for i in range(n_items):
                rows.append((f"i{i}", name, rater, mean + (1 if i % 2 else -1) + noise * rng.normal()))
    return pd.DataFrame(rows, columns=["item", "system", "rater", "rating"])


def rows(result, rater=""):
    return result.select("decodability_ratings", "spearman", {"rater": rater})


def test_the_correlation_of_the_published_table_is_found(shared):
    table = json.loads((shared / "golden" / "two_emojis.json").read_text(encoding="utf-8"))["table3"]
    result = decodability_ratings(
        scored({name: row[2] for name, row in table.items()}), rated({name: row[0] for name, row in table.items()})
    )
    over_systems, over_items = rows(result)
    assert over_systems.estimate == pytest.approx(-0.190, abs=5e-4)
    assert over_systems.p == pytest.approx(0.65, abs=0.005)
    assert over_systems.df2 == 6
    assert over_systems.low < -0.7
    assert over_systems.high > 0.5
    assert over_items.unit == "item"


def test_every_rater_has_a_row_and_the_mean_is_over_all_ratings():
    first = rated({"a": 1, "b": 2, "c": 3, "d": 4}, raters=("R1",))
    second = rated({"a": 4, "b": 3, "c": 2, "d": 1}, raters=("R2",)).assign(rating=lambda t: t["rating"] * 10)
    result = decodability_ratings(scored({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}), pd.concat([first, second]))
    assert [rows(result, rater)[0].estimate for rater in ("", "R1", "R2")] == [-1, 1, -1]
    assert "the orders are the same, or opposite" in rows(result)[0].note
    assert all("validates nothing" in row.note for row in result if row.statistic == "spearman")


def test_the_interval_over_items_is_that_of_redrawn_means():
    from scipy.stats import spearmanr

    scores = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.5}
    given = rated({"a": 3.0, "b": 3.1, "c": 2.9, "d": 3.2, "e": 3.1}, n_items=30, noise=1.0)
    row = rows(decodability_ratings(scored(scores), given))[1]
    cube = given.groupby(["item", "system"])["rating"].mean().unstack().to_numpy()
    rng = np.random.default_rng(9)
    drawn = [spearmanr(list(scores.values()), cube[rng.integers(0, 30, 30)].mean(axis=0))[0] for _ in range(2000)]
    assert [row.low, row.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.1)


def test_only_systems_that_both_tables_name_count_and_three_are_needed():
    scores = scored({"a": 0.1, "b": 0.2, "c": 0.3})
    three = decodability_ratings(scores, rated({"a": 1, "b": 2, "c": 3, "other": 0}))
    assert rows(three)[0].estimate == 1
    assert rows(three)[0].low is None
    (row,) = decodability_ratings(scores, rated({"a": 1, "b": 2, "other": 0})).select(*SPEARMAN)
    assert "2 systems are named both" in row.undefined
    (row,) = decodability_ratings(
        scored({"a": 0.1, "b": 0.1, "c": 0.1}), rated({"a": 1, "b": 2, "c": 3}, raters=("R1",))
    ).select(*SPEARMAN)
    assert "same decodability" in row.undefined


def test_a_rater_who_skipped_a_system_has_no_correlation_and_the_others_have():
    given = rated({"a": 1, "b": 2, "c": 3})
    given = given[~((given["rater"] == "R2") & (given["system"] == "c"))]
    result = decodability_ratings(scored({"a": 0.1, "b": 0.2, "c": 0.3}), given)
    assert "no rating" in rows(result, "R2")[0].undefined
    assert rows(result, "R1")[0].estimate == 1


def mean_ratings(result):
    return {row.keys["system"]: row for row in result.select("decodability_ratings", "mean_rating")}


def test_the_mean_ratings_of_the_published_table_stand_beside_its_decodability(shared):
    table = json.loads((shared / "golden" / "two_emojis.json").read_text(encoding="utf-8"))["table3"]
    result = decodability_ratings(
        scored({name: row[2] for name, row in table.items()}), rated({name: row[0] for name, row in table.items()})
    )
    found = mean_ratings(result)
    assert {name: row.estimate for name, row in found.items()} == pytest.approx(
        {name: row[0] for name, row in table.items()}
    )
    assert all(row.low < row.estimate < row.high for row in found.values())
    assert {(row.n_items, row.n_raters, row.unit) for row in found.values()} == {(40, 2, "item")}
    assert all("these raters" in row.method and "audit" in row.note for row in found.values())


def test_the_interval_of_a_mean_rating_is_that_of_redrawn_items_whose_ratings_stay_together():
    given = rated({"a": 3.0, "b": 2.0, "c": 1.0}, n_items=50, noise=1.0)
    row = mean_ratings(decodability_ratings(scored({"a": 0.1, "b": 0.2, "c": 0.3}), given))["a"]
    of_items = given[given["system"] == "a"].groupby("item")["rating"].mean()
    error = of_items.std(ddof=0) / np.sqrt(50)
    assert row.estimate == pytest.approx(of_items.mean())
    assert [row.low, row.high] == pytest.approx([row.estimate - 1.96 * error, row.estimate + 1.96 * error], abs=0.06)


def test_a_mean_rating_is_of_the_ratings_there_are_and_told_once_whatever_languages_there_are():
    scores = scored({"a": 0.1, "b": 0.2, "c": 0.3}, language="bn") + scored(
        {"a": 0.1, "b": 0.2, "d": 0.3}, language="en"
    )
    given = rated({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "never decoded": 5.0})
    given = given[(given["system"] != "d") | ((given["item"] == "i1") & (given["rater"] == "R1"))]
    result = decodability_ratings(scores, given)
    rows_ = result.select("decodability_ratings", "mean_rating")
    assert [row.keys["system"] for row in rows_] == ["a", "b", "c", "d"]
    assert all(row.keys.get("language", "") == "" for row in rows_)
    (alone,) = (row for row in rows_ if row.keys["system"] == "d")
    assert (alone.estimate, alone.n_items, alone.n_raters, alone.low) == (5.0, 1, 1, None)
    assert "one item" in alone.note


def test_ratings_without_numbers_have_no_means_and_two_systems_have_theirs():
    given = rated({"a": 1, "b": 2})
    assert sorted(mean_ratings(decodability_ratings(scored({"a": 0.1, "b": 0.2}), given))) == ["a", "b"]
    named = measurand.read_ratings(
        given.assign(rating=[("x", "y", "z")[k % 3] for k in range(len(given))]), level="nominal"
    )
    assert mean_ratings(decodability_ratings(scored({"a": 0.1, "b": 0.2}), named)) == {}


def test_a_result_without_scores_is_refused():
    with pytest.raises(MeasurandError, match="no macro_f1 of a system"):
        decodability_ratings(Result([]), rated({"a": 1}))


@pytest.mark.parametrize(("sign", "verdict"), [(1, "pass"), (-1, "fail")])
def test_a_clear_order_is_told_and_an_unclear_one_is_not(sign, verdict):
    scores = {f"s{k}": k / 10 for k in range(12)}
    means = {name: 3 + sign * x for name, x in scores.items()}
    means["s3"], means["s4"] = means["s4"], means["s3"]
    result = scored(scores) + decodability_ratings(scored(scores), rated(means))
    found = next(one for one in decodability_findings(result) if one.id == "decodability-and-ratings")
    assert found.verdict == verdict
    few = {name: scores[name] for name in ("s1", "s3", "s4", "s6")}
    unclear = scored(few) + decodability_ratings(scored(few), rated({name: means[name] for name in few}))
    found = next(one for one in decodability_findings(unclear) if one.id == "decodability-and-ratings")
    assert found.verdict == "undetermined"
    assert "validates nothing" in found.remedy
    assert "over 4 systems" in found.statement


@pytest.mark.parametrize(
    ("n", "sign", "verdict"), [(8, 1, "pass"), (8, -1, "fail"), (12, 1, "pass"), (4, 1, "undetermined")]
)
def test_systems_in_the_very_same_order_are_judged_by_permutation(n, sign, verdict):
    scores = {f"s{k}": k / 20 for k in range(n)}
    result = scored(scores) + decodability_ratings(
        scored(scores), rated({name: sign * x for name, x in scores.items()})
    )
    row = rows(result)[0]
    assert row.estimate == sign
    assert row.low is None
    exact = 2 / np.prod(np.arange(1.0, n + 1))
    assert row.p == row.attainable_p == pytest.approx(max(exact, 1e-5))
    found = next(one for one in decodability_findings(result) if one.id == "decodability-and-ratings")
    assert found.verdict == verdict
    assert f"by permutation), over {n} systems" in found.statement
