"""Random slopes by rater against lme4, and terms of a mixed model whose indicators carry values."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from measurand.auditing.length_cells import cell_lengths, measured
from measurand.auditing.length_judgements import FALSE_ALARMS, MODELS, judgements
from measurand.data import panels
from measurand.data.outputs import read_outputs
from measurand.stats import mixed, reml
from measurand.stats.inference import t_quantile
from measurand.stats.mixed import Model, Term

PANELS = ("three_raters", "eight_raters", "no_slopes", "more_raters_than_items")


@pytest.fixture(scope="module")
def table():
    folder = Path(__file__).parents[1] / "oracles" / "random_slopes"
    read = {part: pd.read_csv(folder / f"{part}.csv") for part in ("input", "expected")}
    values = read["expected"].set_index(["panel", "model", "quantity"])["value"]
    return read["input"], values


def rows_of(table, name):
    ratings = table[table.panel == name].drop(columns="panel")
    outputs = read_outputs(ratings[["item", "system", "length"]].drop_duplicates())
    one = measured(panels(ratings.drop(columns="length"))[0], cell_lengths(outputs, None))
    return {(row.keys["model"], row.statistic): row for row in judgements(one, confidence=0.95)}


@pytest.mark.parametrize("name", PANELS)
def test_slopes_errors_and_degrees_of_freedom_are_those_of_lme4(name, table):
    found = rows_of(table[0], name)
    expected = table[1].loc[name]
    models = set(expected.index.get_level_values("model"))
    assert models < set(MODELS)
    for model in models:
        row, want = found[model, "slope"], expected.loc[model]
        error = (row.high - row.estimate) / t_quantile(row.df2, 0.95)
        assert row.estimate == pytest.approx(want["slope"], rel=1e-5, abs=1e-6), model
        assert error == pytest.approx(want["se"], rel=1e-4), model
        # lmerTest takes a component at 0 for an estimate among others, and differentiates by differences.
        if want.get("sd", 1.0) > 1e-6 and model != "full+rater_slope":
            assert row.df2 == pytest.approx(want["df"], rel=2e-3), model
            assert row.p == pytest.approx(want["p"], rel=5e-3, abs=1e-12), model
        if "sd" in want:
            spread = found[model, "slope_sd_between_raters"]
            assert spread.estimate == pytest.approx(want["sd"], rel=1e-3, abs=2e-4), model


def test_slopes_that_do_not_differ_leave_the_usual_model(table):
    found = rows_of(table[0], "no_slopes")
    spread = found["judgement+rater_slope", "slope_sd_between_raters"]
    usual, random = found["judgement", "slope"], found["judgement+rater_slope", "slope"]
    assert spread.estimate == 0
    assert random.estimate == pytest.approx(usual.estimate, rel=1e-8)
    assert "not to differ" in random.note
    assert "estimated at 0" in spread.note
    assert usual.unit == "rating"
    assert random.unit == "item+rater"


def test_a_unit_of_length_scales_the_slope_and_nothing_else(table):
    ratings = table[0]
    one = rows_of(ratings, "eight_raters")
    other = rows_of(ratings.assign(length=ratings.length * 1000 + 7), "eight_raters")
    for key, row in one.items():
        assert other[key].estimate * 1000 == pytest.approx(row.estimate, rel=1e-4)
        assert other[key].df2 == pytest.approx(row.df2, rel=1e-4) if row.df2 else True


def dense(y, fixed, parts, values):
    """Criterion, straight from its definition."""
    v = sum(value * part for value, part in zip(values, parts, strict=True))
    inverse = np.linalg.inv(v)
    information = fixed.T @ inverse @ fixed
    beta = np.linalg.solve(information, fixed.T @ inverse @ y)
    rest = y - fixed @ beta
    size = len(y) - fixed.shape[1]
    determinants = np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1]
    return determinants + rest @ inverse @ rest + size * np.log(2 * np.pi)


def test_criterion_and_gradient_of_a_slope_are_those_of_the_dense_model():
    rng = np.random.default_rng(4)
    item, rater = (index.ravel().astype(np.int64) for index in np.indices((12, 5)))
    keep = rng.random(60) < 0.8
    item, rater = item[keep], rater[keep]
    x, y = rng.normal(size=len(item)), rng.normal(size=len(item))
    fixed = np.column_stack([np.ones(len(x)), x])
    terms = [
        Term("item", item, in_block=True),
        Term("rater", rater, in_block=False),
        Term("slope", rater, in_block=False, values=x),
    ]
    model = Model(y, item, fixed, terms)
    same_rater = np.equal.outer(rater, rater).astype(float)
    parts = [np.equal.outer(item, item).astype(float), same_rater, same_rater * np.outer(x, x), np.eye(len(x))]
    values = np.array([0.4, 0.3, 0.2, 0.6])
    state = model.evaluate(values)
    assert state.criterion == pytest.approx(dense(y, fixed, parts, values), rel=1e-12)
    gradient = model.gradient(state)
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-5
        sides = [dense(y, fixed, parts, values + sign * step) for sign in (1, -1)]
        assert gradient[k] == pytest.approx((sides[0] - sides[1]) / 2e-5, rel=1e-6, abs=1e-7)
    assert reml.fit(model, total=float(y.var())).criterion <= state.criterion


def test_a_slope_in_a_block_is_refused():
    code = np.array([0, 0, 1, 1])
    slope = Term("slope", code, in_block=True, values=np.arange(4.0))
    with pytest.raises(ValueError, match="cannot be in a block"):
        Model(np.arange(4.0), code, np.ones((4, 1)), [slope])


def test_blocks_that_touch_all_columns_are_not_called_sparse():
    item, rater = (index.ravel().astype(np.int64) for index in np.indices((6, 4)))
    crossed = mixed.indicator(rater, 4)
    assert mixed._touched(item, crossed) == 1
    nested = mixed.indicator(item * 4 + rater, 24)
    assert mixed._touched(item, nested) == pytest.approx(1 / 6)


def test_the_false_alarms_that_notes_tell_are_those_of_the_simulation(table):
    shares = pd.read_csv(Path(__file__).parents[1] / "oracles" / "random_slopes" / "size.csv")
    ends = 100 * shares.groupby("model")["share"].agg(["min", "max"])
    assert set(FALSE_ALARMS) == set(ends.index) - {"mean_of_raters"}
    for model, told in FALSE_ALARMS.items():
        low, high = ends.loc[model]
        assert told == (math.floor(low + 1e-9), math.ceil(high - 1e-9)), model
    assert (
        f"{FALSE_ALARMS['judgement'][1]} % of the time" in rows_of(table[0], "three_raters")["judgement", "slope"].note
    )
