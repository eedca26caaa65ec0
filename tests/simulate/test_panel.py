import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from measurand.data import Scale, panels, read_ratings
from measurand.result import MeasurandError
from measurand.simulate import PRESETS, simulate_panel, two_emojis_panel
from measurand.stats.variance import anova, components, expectation_matrix, f_test

FACETS = ["item", "system", "rater"]
THREE = ["item", "system", "rater", "item:system", "item:rater", "system:rater", "residual"]
TWO = ["item", "rater", "residual"]
SMALL = {"n_items": 6, "n_systems": 4, "n_raters": 3}


def table_of(panel):
    facets = [facet for facet in FACETS if facet in panel.ratings]
    shape = [panel.ratings[facet].nunique() for facet in facets]
    return anova(panel.ratings["rating"].to_numpy().reshape(shape), facets)


@st.composite
def prescriptions(draw):
    n_systems = draw(st.sampled_from([0, 2, 3, 5]))
    value = st.one_of(st.just(0.0), st.floats(0.03, 300))
    return {
        "n_items": draw(st.integers(2, 15)),
        "n_systems": n_systems,
        "n_raters": draw(st.integers(2, 6)),
        "mean_squares": {source: draw(value) for source in (THREE if n_systems else TWO)},
        "mean": draw(st.floats(-5, 5)),
        "seed": draw(st.integers(0, 2**32)),
    }


# The two drawn effects are nearly alike here, so that what sweeping leaves of their mean is no longer negligible.
NEARLY_ALIKE = {
    "n_items": 2,
    "n_systems": 2,
    "n_raters": 2,
    "mean": 0.0,
    "seed": 2,
    "mean_squares": dict.fromkeys(THREE, 0.0) | {"system": 0.03125, "system:rater": 8.0},
}


@settings(max_examples=60, deadline=None)
@given(prescriptions())
@example(NEARLY_ALIKE)
def test_mean_squares_are_exactly_the_prescribed_ones(prescription):
    panel = simulate_panel(**prescription)
    found = table_of(panel).ms
    assert list(found) == list(prescription["mean_squares"])
    size = max(prescription["mean_squares"].values())
    for source, target in prescription["mean_squares"].items():
        assert found[source] == pytest.approx(target, rel=1e-12, abs=1e-20 * size)
    assert panel.ratings["rating"].mean() == pytest.approx(prescription["mean"], abs=1e-12 * (1 + size))


@settings(max_examples=20, deadline=None)
@given(prescriptions())
def test_expected_components_reproduce_the_mean_squares(prescription):
    panel = simulate_panel(**prescription)
    expected = expectation_matrix(table_of(panel)) @ np.array(list(panel.truth["expected_components"].values()))
    targets = list(prescription["mean_squares"].values())
    assert expected == pytest.approx(targets, rel=1e-9, abs=1e-9 * max(targets))


def test_two_emojis_has_the_published_tests_and_the_negative_component():
    panel = PRESETS["two-emojis"](seed=3)
    table = table_of(panel)
    assert table.sizes == (290, 8, 3)
    against_raters, against_residual = f_test(table, "system", "system:rater"), f_test(table, "system", "residual")
    assert against_raters.statistic == pytest.approx(11.85 / 20.25, rel=1e-12)
    assert round(against_raters.statistic, 6) == 0.585185
    assert (against_raters.df1, against_raters.df2) == (7, 14)
    assert round(against_residual.statistic, 4) == 18.6204
    assert (against_residual.df1, against_residual.df2) == (7, 4046)
    assert round(f_test(table, "rater", "item:rater").statistic, 1) == 318.5
    assert components(table)["system"] == pytest.approx(-0.00996736, abs=5e-9)
    assert panel.truth["expected_components"] == pytest.approx(components(table), rel=1e-10)


def test_two_emojis_has_the_published_means_within_two_hundredths():
    panel = two_emojis_panel()
    by_rater = panel.ratings.groupby("rater")["rating"].mean()
    by_system = panel.ratings.groupby("system")["rating"].mean()
    assert panel.ratings["rating"].mean() == pytest.approx(3.5, abs=1e-12)
    assert by_rater.to_dict() == pytest.approx({"R1": 2.86, "R2": 4.35, "R3": 3.31}, abs=0.02)
    assert list(by_system.index) == [f"S{i}" for i in range(1, 9)]
    assert by_system.to_numpy() == pytest.approx([3.667, 3.638, 3.579, 3.516, 3.454, 3.443, 3.421, 3.325], abs=0.02)


def test_two_emojis_seed_moves_items_but_no_published_mean():
    one, two = two_emojis_panel(seed=1), two_emojis_panel(seed=2)
    assert one.truth["rater_effects"] == two.truth["rater_effects"]
    assert one.truth["system_effects"] == two.truth["system_effects"]
    assert np.abs(one.ratings["rating"] - two.ratings["rating"]).max() > 0.5


@pytest.mark.parametrize("n_systems", [0, 5])
def test_components_are_recovered_on_average(n_systems):
    sources = THREE if n_systems else TWO
    truth = dict(zip(sources, [1.0, 0.4, 0.7, 0.25, 0.15, 0.5, 0.3], strict=False))
    drawn = [
        components(
            table_of(simulate_panel(n_items=8, n_systems=n_systems, n_raters=6, components=truth, mean=3, seed=seed))
        )
        for seed in range(300)
    ]
    frame = pd.DataFrame(drawn)[sources]
    error = frame.std() / np.sqrt(len(frame))
    wanted = pd.Series(truth)[sources]
    assert ((frame.mean() - wanted).abs() < 3.5 * error).all()
    assert (error < 0.15 * wanted).all()


def test_severities_add_their_variance_to_the_expected_rater_component():
    given_components = {"item": 0.5, "rater": 0.2, "residual": 0.3}
    severities = [-1.0, 0.5, 0.0, 1.5]
    drawn = []
    for seed in range(200):
        panel = simulate_panel(
            n_items=10, n_systems=0, n_raters=4, components=given_components, severities=severities, seed=seed
        )
        drawn.append(components(table_of(panel))["rater"])
    expected = panel.truth["expected_components"]
    assert panel.truth["components"] == given_components
    assert expected["rater"] == pytest.approx(0.2 + np.var(severities, ddof=1), rel=1e-12)
    assert np.mean(drawn) == pytest.approx(expected["rater"], abs=3.5 * np.std(drawn) / np.sqrt(200))


def test_severities_are_the_differences_of_rater_means():
    severities = [-0.75, 0.25, 1.5]
    panel = simulate_panel(**SMALL, components={"residual": 1e-12}, mean=4, severities=severities)
    means = panel.ratings.groupby("rater")["rating"].mean()
    assert (means - 4).to_numpy() == pytest.approx(severities, abs=1e-5)
    assert panel.truth["rater_effects"] == {"R1": -0.75, "R2": 0.25, "R3": 1.5}
    assert panel.truth["severities"] == severities


def test_severities_come_on_top_of_the_drawn_rater_effects():
    severities = [-0.75, 0.25, 1.5]
    plain = simulate_panel(**SMALL, components={"rater": 1.0}, seed=5).truth["rater_effects"]
    shifted = simulate_panel(**SMALL, components={"rater": 1.0}, seed=5, severities=severities).truth["rater_effects"]
    assert [shifted[r] - plain[r] for r in plain] == pytest.approx(severities, abs=1e-12)


def test_effects_in_the_truth_are_those_of_the_ratings():
    panel = simulate_panel(**SMALL, components={"system": 2.0, "rater": 1.0}, mean=-3)
    rating = panel.ratings["rating"]
    effects = panel.ratings["system"].map(panel.truth["system_effects"])
    effects += panel.ratings["rater"].map(panel.truth["rater_effects"])
    assert (rating + 3).to_numpy() == pytest.approx(effects.to_numpy(), abs=1e-12)
    assert len(set(panel.truth["system_effects"].values())) == 4


def test_one_component_leaves_the_other_draws_alone():
    without = simulate_panel(**SMALL, components={"item": 1.0}, seed=9).ratings["rating"]
    with_system = simulate_panel(**SMALL, components={"item": 1.0, "system": 4.0}, seed=9)
    effects = with_system.ratings["system"].map(with_system.truth["system_effects"])
    assert (with_system.ratings["rating"] - effects).to_numpy() == pytest.approx(without.to_numpy(), abs=1e-12)
    assert without.nunique() == 6


@pytest.mark.parametrize(
    ("scale", "mean"),
    [
        (Scale(1, 5, step=1), 3.0),
        (Scale(0, 0.3, step=0.1), 0.2),
        (Scale(labels=["1", "2", "5"]), 3.0),
        (Scale(labels=["no", "minor", "yes"], level="ordinal"), 1.0),
    ],
)
def test_steps_and_labels_are_respected(scale, mean):
    panel = simulate_panel(**SMALL, components={"item": 4.0, "residual": 1.0}, mean=mean, scale=scale, seed=2)
    (read,) = panels(read_ratings(panel.ratings, scale=scale))
    assert read.rating.shape == (72,)
    assert len(np.unique(read.rating.round(9))) == len(scale.levels)
    assert Scale(**panel.truth["scale"]) == scale


def test_ratings_are_the_nearest_permitted_value():
    latent = simulate_panel(**SMALL, components={"residual": 2.0}, mean=3, seed=4).ratings["rating"].to_numpy()
    scale = Scale(labels=["1", "2", "5"])
    rounded = simulate_panel(**SMALL, components={"residual": 2.0}, mean=3, seed=4, scale=scale).ratings["rating"]
    nearest = np.array([1.0, 2.0, 5.0])[np.abs(latent[:, None] - [1, 2, 5]).argmin(axis=1)]
    assert rounded.tolist() == nearest.tolist()
    bounded = simulate_panel(**SMALL, components={"residual": 2.0}, mean=3, seed=4, scale=Scale(2, 4))
    assert bounded.ratings["rating"].tolist() == np.clip(latent, 2, 4).tolist()
    level = simulate_panel(**SMALL, components={"residual": 2.0}, mean=3, seed=4, scale=Scale(level="interval"))
    assert level.ratings["rating"].tolist() == latent.tolist()


def test_a_value_half_way_takes_the_lower_rating():
    panel = simulate_panel(**SMALL, components={}, mean=3.5, scale=Scale(1, 5, step=1))
    assert set(panel.ratings["rating"]) == {3.0}


@settings(max_examples=40, deadline=None)
@given(
    n_items=st.integers(2, 12),
    n_systems=st.sampled_from([0, 2, 4]),
    n_raters=st.integers(2, 12),
    missing=st.floats(0, 0.9),
    seed=st.integers(0, 99),
)
def test_missing_cells_leave_a_rating_for_every_level(n_items, n_systems, n_raters, missing, seed):
    sizes = {"n_items": n_items, "n_systems": n_systems, "n_raters": n_raters}
    n_cells = n_items * max(n_systems, 1) * n_raters
    n_missing = round(missing * n_cells)
    if n_cells - n_missing < max(sizes.values()):
        with pytest.raises(MeasurandError, match="too few for one for every item, system and rater"):
            simulate_panel(**sizes, components={"residual": 1.0}, missing=missing, seed=seed)
        return
    panel = simulate_panel(**sizes, components={"residual": 1.0}, missing=missing, seed=seed)
    assert len(panel.ratings) == n_cells - n_missing
    assert panel.truth["n_missing"] == n_missing
    assert panel.truth["missing"] == missing
    for facet, size in zip(FACETS, sizes.values(), strict=True):
        if size:
            assert panel.ratings[facet].nunique() == size
    ids = [facet for facet in FACETS if facet in panel.ratings]
    assert not panel.ratings.duplicated(ids).any()
    assert panel.ratings[ids].equals(panel.ratings[ids].sort_values(ids))


def test_missing_cells_change_no_rating_that_is_left():
    complete = simulate_panel(**SMALL, components={"item": 1.0, "residual": 1.0}, seed=8).ratings
    holes = simulate_panel(**SMALL, components={"item": 1.0, "residual": 1.0}, seed=8, missing=0.4).ratings
    both = holes.merge(complete, on=FACETS, suffixes=("", "_complete"))
    assert len(both) == len(holes) == 72 - 29
    assert both["rating"].tolist() == both["rating_complete"].tolist()


def test_every_cell_is_as_likely_to_be_missing_as_any_other():
    kept = pd.Series(0, index=pd.MultiIndex.from_product([[f"i{i}" for i in range(1, 8)], ["R1", "R2", "R3"]]))
    for seed in range(600):
        ratings = simulate_panel(n_items=7, n_systems=0, n_raters=3, components={}, missing=0.6, seed=seed).ratings
        kept.loc[list(zip(ratings["item"], ratings["rater"], strict=True))] += 1
    share = 8 / 21
    # Chi-square over 21 cells, conditional on the total: 20 df, scaled by 1 - share; .9999 quantile of chi-square.
    statistic = ((kept - 600 * share) ** 2).sum() / (600 * share * (1 - share))
    assert statistic < 52.4


def test_ids_are_padded_and_rows_are_ordered():
    ratings = simulate_panel(n_items=10, n_systems=2, n_raters=11, components={}).ratings
    assert list(ratings.columns) == ["item", "system", "rater", "rating"]
    assert ratings.iloc[0].tolist() == ["i01", "S1", "R01", 0.0]
    assert ratings.iloc[1].tolist() == ["i01", "S1", "R02", 0.0]
    assert ratings.iloc[11].tolist() == ["i01", "S2", "R01", 0.0]
    assert ratings.iloc[-1].tolist() == ["i10", "S2", "R11", 0.0]
    assert list(simulate_panel(n_items=2, n_systems=0, n_raters=2, components={}).ratings) == [
        "item",
        "rater",
        "rating",
    ]


def test_a_panel_is_read_back_as_it_was_made():
    made = simulate_panel(n_items=12, n_systems=3, n_raters=4, components=dict.fromkeys(THREE, 1.0), seed=6)
    (read,) = panels(made.ratings)
    assert read.cube().ravel().tolist() == made.ratings["rating"].tolist()
    assert list(read.systems) == list(made.truth["system_effects"])


@pytest.mark.parametrize(
    "options",
    [
        {"components": dict.fromkeys(THREE, 1.0), "scale": Scale(-3, 3, step=1), "missing": 0.2},
        {"mean_squares": dict.fromkeys(THREE, 2.0)},
    ],
)
def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not(options):
    one, again, other = (simulate_panel(**SMALL, **options, seed=seed) for seed in (4, 4, 5))
    assert one.ratings.to_csv() == again.ratings.to_csv()
    assert json.dumps(one.truth) == json.dumps(again.truth)
    assert one.ratings.to_csv() != other.ratings.to_csv()


def test_truth_is_json_and_complete():
    panel = simulate_panel(
        **SMALL, components={"item": 1}, mean=2, missing=0.5, severities=[0, 1, 2], scale=Scale(0, 4)
    )
    truth = json.loads(json.dumps(panel.truth, allow_nan=False))
    assert truth == panel.truth
    assert truth["components"] == {"item": 1.0} | dict.fromkeys(THREE[1:], 0.0)
    assert truth["mean_squares"] is None
    assert (truth["n_items"], truth["n_systems"], truth["n_raters"], truth["n_missing"]) == (6, 4, 3, 36)
    exact = simulate_panel(n_items=3, n_systems=0, n_raters=3, mean_squares=dict.fromkeys(TWO, 1.0)).truth
    assert (exact["components"], exact["scale"], exact["n_systems"], exact["system_effects"]) == (None, None, 0, {})
    assert exact["mean_squares"] == {"item": 1.0, "rater": 1.0, "residual": 1.0}
    assert exact["expected_components"] == {"item": 0.0, "rater": 0.0, "residual": 1.0}


EXACT = {"mean_squares": dict.fromkeys(THREE, 1.0)}
NONE = {"components": {}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither components nor mean_squares are given; give one of them"),
        ({"components": {"items": 1}}, "components has 'items'; allowed are item, system, rater, item:system"),
        ({"components": {"item": -0.5}}, "components has -0.5 for 'item'; give a finite number of 0 or more"),
        ({"components": {"item": float("nan")}}, "components has nan for 'item'"),
        ({"components": {"item": float("inf")}}, "components has inf for 'item'"),
        ({"mean_squares": {"item": 1}}, "mean_squares lacks system, rater, .*, residual; give all of item, system"),
        ({"mean_squares": EXACT["mean_squares"] | {"rater": -1}}, "mean_squares has -1 for 'rater'"),
        ({"mean_squares": EXACT["mean_squares"] | {"r": 1}}, "mean_squares has 'r'; allowed are item"),
        (EXACT | {"scale": Scale(1, 5)}, "mean_squares together with scale; .* would change them"),
        (EXACT | {"missing": 0.1}, "mean_squares together with missing; .* holes would change them"),
        (EXACT | {"severities": [1, 2, 3]}, "mean_squares together with severities; .* would change them"),
        (EXACT | NONE | {"missing": 0.1}, "mean_squares together with components and missing"),
        (NONE | {"severities": [1, 2]}, "2 severities for 3 raters; give one for each rater"),
        (NONE | {"severities": [1, 2, float("nan")]}, "a severity is nan; give finite numbers"),
        (NONE | {"missing": 1.0}, "missing is 1; give a share of 0 or more and below 1"),
        (NONE | {"missing": -0.1}, "missing is -0.1; give a share"),
        (NONE | {"missing": 0.95}, "missing 0.95 leaves 4 of 72 ratings, too few .*; give at most 0.916"),
        (NONE | {"mean": float("nan")}, "mean is nan; give a finite number"),
        (NONE | {"seed": -1}, "seed is -1; give 0 or above"),
        (NONE | {"n_items": 1}, "n_items is 1; give at least 2$"),
        (NONE | {"n_raters": 0}, "n_raters is 0; give at least 2$"),
        (NONE | {"n_systems": 1}, "n_systems is 1; give at least 2; 0 stands for ratings of the items themselves"),
        (NONE | {"n_systems": -2}, "n_systems is -2; give at least 2"),
        (
            {"n_systems": 0, "components": {"item:rater": 1}},
            r"'item:rater'; allowed are item, rater, residual \(without systems the residual includes item:rater\)",
        ),
    ],
)
def test_errors_say_what_was_found_and_what_is_allowed(options, message):
    with pytest.raises(MeasurandError, match=message):
        simulate_panel(**(SMALL | options))


def test_the_largest_share_that_an_error_names_is_possible():
    assert len(simulate_panel(**SMALL, components={}, missing=0.916).ratings) == 6


def test_a_negative_seed_of_a_preset_is_refused():
    with pytest.raises(MeasurandError, match="seed is -3"):
        two_emojis_panel(seed=-3)
