"""How far each rater agrees with each system, item by item, held against a plain loop and against kappa itself."""

import numpy as np
import pandas as pd
import pytest

from measurand.data import Scale, read_answers, read_ratings
from measurand.result import MeasurandError
from measurand.scoring import score
from measurand.scoring.judgements import judgements

N = 30
CRITERIA = ("joy", "fear")


@pytest.fixture
def ratings():
    rng = np.random.default_rng(1)
    rows = [
        (f"i{i:02d}", rater, criterion, int(rng.integers(0, 5)))
        for i in range(N)
        for rater in ("A", "B", "C")
        for criterion in CRITERIA
        if (i, rater, criterion) != (3, "B", "joy")
    ]
    table = pd.DataFrame(rows, columns=["item", "rater", "criterion", "rating"])
    return read_ratings(table, scale=Scale(0, 4, step=1))


def answers(**lost):
    """Two systems under two wordings, values of the scale; a third under a readout of its own."""
    rng = np.random.default_rng(2)
    rows = []
    for system, readout, phrasings in (("S", "said", ("x", "y")), ("T", "said", ("x", "y")), ("U", "head", ("",))):
        for phrasing in phrasings:
            for i in range(N):
                for criterion in CRITERIA:
                    value = "" if lost.get(system) == (f"i{i:02d}", criterion) else int(rng.integers(0, 5))
                    rows.append((system, f"i{i:02d}", criterion, readout, phrasing, value))
    columns = ["system", "item", "criterion", "readout", "phrasing", "answer"]
    return pd.DataFrame(rows, columns=columns)


def test_judgements_are_those_of_a_plain_loop(ratings):
    table = answers()
    found = judgements(read_answers(table), ratings, calibrate="none")
    said = {
        (row.system, row.item, row.criterion): float(row.answer)
        for row in table.itertuples()
        if row.phrasing in ("x", "")
    }
    given = {(row.item, row.criterion, row.rater): row.rating for row in ratings.frame.itertuples()}
    expected = {
        (f"i{i:02d}", system, rater): sum(
            1 - ((said[system, f"i{i:02d}", criterion] - given[f"i{i:02d}", criterion, rater]) / 4) ** 2
            for criterion in CRITERIA
        )
        / len(CRITERIA)
        for system in ("S", "T", "U")
        for i in range(N)
        for rater in ("A", "B", "C")
        if (i, rater) != (3, "B")
    }
    got = {(row.item, row.system, row.rater): row.rating for row in found.table.itertuples()}
    assert got == pytest.approx(expected, abs=1e-12)
    assert found.arms == {"S": "said, x", "T": "said, x", "U": "head"}


def test_their_mean_is_the_observed_agreement_that_kappa_corrects(ratings):
    """Pooled quadratic kappa is 1 less disagreement over that of shuffled pairs; the judgements hold the former."""
    of_joy = ratings.frame[ratings.frame["criterion"] == "joy"]
    read = read_ratings(
        of_joy[["item", "rater", "rating"]].astype({"item": str, "rater": str}), scale=Scale(0, 4, step=1)
    )
    table = answers().query("criterion == 'joy' and system == 'S' and phrasing == 'x'").drop(columns="criterion")
    found = judgements(table, read, calibrate="none")
    said = table.set_index("item")["answer"].astype(float)
    x, y = said.loc[of_joy["item"].astype(str)].to_numpy(), of_joy["rating"].to_numpy()
    expected = ((x[:, None] - y[None, :]) ** 2).mean() / 16
    kappa = score(
        table, read, calibrate=("none",), over=("item",), replicates=100, gates=False, baselines=(), anchors=()
    ).value("scores", "kappa_quadratic", {"readout": "said"})
    assert 1 - (1 - found.table["rating"].mean()) / expected == pytest.approx(kappa, abs=1e-12)


def test_the_calibrated_answers_are_those_that_were_scored(ratings):
    found = judgements(answers(), ratings, fit="oracle", seed=5)
    by_item = found.table[found.table["system"] == "S"].groupby("item")["rating"].mean()
    assert by_item.between(0, 1).all()
    again = judgements(answers(), ratings, fit="oracle", seed=5)
    assert found.table.equals(again.table)
    assert not found.table.equals(judgements(answers(), ratings, fit="held_out", seed=5).table)


def test_raters_and_protocol_are_chosen_by_name_and_what_is_not_answered_has_no_row(ratings):
    table = answers(S=("i07", "fear"))
    found = judgements(read_answers(table), ratings, raters=["A", "C"], protocol={"phrasing": "y"}, calibrate="none")
    assert set(found.table["rater"]) == {"A", "C"}
    assert found.arms == {"S": "said, y", "T": "said, y", "U": "head"}
    assert found.n_without == {"S": 1, "T": 0, "U": 0}
    of_s = found.table[found.table["system"] == "S"]
    assert "i07" not in set(of_s["item"])
    assert len(of_s) == 2 * (N - 1)


def test_an_item_counts_once_however_many_criteria_and_only_those_that_every_system_answered(ratings):
    table = answers()
    table = table[(table["system"] != "U") | (table["criterion"] == "joy")]
    found = judgements(read_answers(table), ratings, calibrate="none")
    alone = judgements(read_answers(table[table["criterion"] == "joy"]), ratings, calibrate="none")
    assert found.criteria == ("joy",)
    assert found.table.groupby(["system", "rater"], observed=True)["item"].nunique().max() == N
    assert not found.table.duplicated(["item", "system", "rater"]).any()
    assert found.table.equals(alone.table)
    of_fear = table[(table["system"] == "U") | (table["criterion"] == "fear")]
    with pytest.raises(MeasurandError, match="no criterion has answers of every system"):
        judgements(read_answers(of_fear), ratings, calibrate="none")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"raters": ["A", "Z"]}, "no rater 'Z'; they have A, B, C"),
        ({"protocol": {"phrasing": "z"}}, "no system was asked with phrasing 'z'; there are the arms said, x, said, y"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(ratings, more, said):
    with pytest.raises(MeasurandError, match=said):
        judgements(answers(), ratings, calibrate="none", **more)
