"""Reliability curves of a scoring run: which arms have them, what a bin holds, how the squared error parts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression

from measurand.data import Scale
from measurand.scoring.reliability_curve import reliability_rows

PARTS = ("squared_error", "miscalibration", "discrimination", "uncertainty")


def of(rows, statistic, **keys):
    found = [
        row for row in rows if row.statistic == statistic and all(row.keys.get(k, "") == v for k, v in keys.items())
    ]
    assert len(found) == 1, (statistic, keys, len(found))
    return found[0]


@pytest.fixture
def tables(runs):
    return runs.benchmark(n_items=60, n_criteria=2, systems=("A", "B"), seed=3)


def test_bins_and_parts_are_those_of_a_plain_loop(runs, tables):
    answers, ratings = tables
    rows = reliability_rows(runs.computed(answers, ratings))
    given = answers.query("system == 'A' and criterion == 'c0'").set_index("item")["answer"] / 7
    mean = ratings.query("criterion == 'c0'").groupby("item")["rating"].mean() / 7
    x, y = given.to_numpy(), mean.reindex(given.index).to_numpy()
    keys = {"system": "A", "criterion": "c0"}
    fitted = IsotonicRegression().fit(x, y).predict(x)
    expected = {
        "squared_error": np.mean((x - y) ** 2),
        "miscalibration": np.mean((x - y) ** 2) - np.mean((fitted - y) ** 2),
        "discrimination": np.var(y) - np.mean((fitted - y) ** 2),
        "uncertainty": np.var(y),
    }
    for statistic, value in expected.items():
        row = of(rows, statistic, **keys, bin="")
        assert row.estimate == pytest.approx(value, abs=1e-12)
        assert row.low <= row.estimate <= row.high
    # 60 answers make six bins of about ten; ties of rounded answers stay together.
    order = np.argsort(x, kind="stable")
    bins = [row.keys["bin"] for row in rows if row.statistic == "mean_rating" and row.keys["system"] == "A"
            and row.keys["criterion"] == "c0"]  # fmt: skip
    assert bins == list(range(1, len(bins) + 1))
    assert 4 <= len(bins) <= 6
    held = 0
    for number in bins:
        answer, rating = (of(rows, name, **keys, bin=number) for name in ("mean_answer", "mean_rating"))
        n = rating.n_items
        here = order[held : held + n]
        held += n
        assert answer.estimate == pytest.approx(x[here].mean())
        assert rating.estimate == pytest.approx(y[here].mean())
        assert of(rows, "isotonic", **keys, bin=number).estimate == pytest.approx(fitted[here].mean())
        assert rating.low <= rating.estimate <= rating.high
        assert rating.unit == "item"
    assert held == 60


def test_all_criteria_together_stand_under_the_blank_one(runs, tables):
    rows = reliability_rows(runs.computed(*tables))
    single = [of(rows, "squared_error", system="A", criterion=name, bin="").estimate for name in ("c0", "c1")]
    assert of(rows, "squared_error", system="A", criterion="", bin="").estimate == pytest.approx(np.mean(single))
    whole = [row for row in rows if row.statistic == "mean_answer" and row.keys["criterion"] == ""]
    assert max(row.keys["bin"] for row in whole) == 10


def test_with_many_criteria_only_all_together_have_a_curve(runs):
    answers, ratings = runs.benchmark(n_items=20, n_criteria=9, systems=("A",))
    rows = reliability_rows(runs.computed(answers, ratings))
    assert {row.keys["criterion"] for row in rows if row.keys["bin"] != ""} == {""}
    assert {row.keys["criterion"] for row in rows if row.statistic == "squared_error"} == {
        "",
        *(f"c{n}" for n in range(9)),
    }


def test_probabilities_are_taken_as_they_are_and_their_cut_has_no_curve(runs, tables):
    answers, ratings = tables
    yes = answers.assign(answer=answers["answer"] / 14, readout="verification")
    rows = reliability_rows(runs.computed(yes, ratings))
    assert {row.keys["readout"] for row in rows} == {"verification"}
    row = of(rows, "squared_error", system="A", criterion="c0", bin="")
    mean = ratings.query("criterion == 'c0'").groupby("item")["rating"].mean() / 7
    given = yes.query("system == 'A' and criterion == 'c0'").set_index("item")["answer"]
    assert row.estimate == pytest.approx(np.mean((given - mean.reindex(given.index)) ** 2))
    assert "probabilities as they are" in row.note


def test_answers_that_are_no_numbers_of_the_scale_say_so(runs, tables):
    answers, ratings = tables
    far = answers.assign(answer=answers["answer"] * 100)
    rows = reliability_rows(runs.computed(far, ratings))
    assert {row.statistic for row in rows} == {"squared_error"}
    assert all("outside the scale" in row.undefined for row in rows)


def test_a_control_input_has_no_curve_and_few_answers_say_so(runs, tables):
    answers, ratings = tables
    blank = answers.assign(control="blank")
    few = answers.query("system == 'A' and item < 'i006'").assign(system="few")
    rows = reliability_rows(
        runs.computed(pd.concat([answers.assign(control=""), blank, few.assign(control="")]), ratings)
    )
    assert {row.keys["variant"] for row in rows} == {""}
    row = of(rows, "squared_error", system="few", criterion="c0", bin="")
    assert row.undefined == "6 answers; a curve needs 10"


def test_groups_are_redrawn_as_wholes(runs, tables):
    answers, ratings = tables
    items = pd.DataFrame({"item": sorted(set(ratings["item"]))})
    items["group"] = [f"g{n // 5}" for n in range(len(items))]
    rows = reliability_rows(runs.computed(answers, ratings, items=items, over=("group",)))
    assert {row.unit for row in rows if row.low is not None} == {"group"}


def test_the_headline_over_raters_leaves_curves_over_items(runs, tables):
    rows = reliability_rows(runs.computed(*tables, over=("item+rater",)))
    other = reliability_rows(runs.computed(*tables, over=("item",)))
    assert rows == other


def test_a_scale_that_starts_elsewhere_is_shifted(runs, tables):
    answers, ratings = tables
    plain = reliability_rows(runs.computed(answers, ratings))
    answers, ratings = answers.assign(answer=answers["answer"] + 10), ratings.assign(rating=ratings["rating"] + 10)
    moved = reliability_rows(runs.computed(answers, ratings, scale=Scale(10, 17, step=1)))
    for a, b in zip(plain, moved, strict=True):
        assert a.estimate == pytest.approx(b.estimate, abs=1e-9)


def test_every_number_has_a_name_of_its_own(runs, tables):
    rows = reliability_rows(runs.computed(*tables))
    names = {(tuple(row.keys.values()), row.statistic) for row in rows}
    assert len(names) == len(rows)
    assert set(PARTS) < {row.statistic for row in rows}
