import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measurand import audit
from measurand.auditing import design
from measurand.auditing.design import is_connected
from measurand.data import Panel, Scale, panels, read_ratings
from measurand.result import MeasurandError, Result
from strategies import LEVELS, crossed, scales, tables

FEW = {"replicates": 100, "draws": 1000}
VERDICTS = {"pass", "warn", "fail", "undetermined", "not_applicable"}


def rows(*cells):
    """Return a table from (item, rater, rating) or (item, system, rater, rating)."""
    names = ["item", "rater", "rating"] if len(cells[0]) == 3 else ["item", "system", "rater", "rating"]
    return pd.DataFrame(list(cells), columns=names)


def about(frame):
    """Return the layout in words and its limits."""
    return next(iter(design(frame).settings["design"]["criteria"].values()))


# Arrays


def test_arrays_hold_every_rating_once_and_sorted():
    frame = crossed(4, 2, 3).sample(frac=1, random_state=1)
    (panel,) = panels(frame)
    assert (panel.n_items, panel.n_systems, panel.n_raters, panel.n_cells) == (4, 2, 3, 8)
    expected = frame.set_index(["item", "system", "rater"])["rating"]
    found = [
        expected[panel.items[i], panel.systems[s], panel.raters[r]]
        for i, s, r in zip(panel.item, panel.system, panel.rater, strict=True)
    ]
    assert panel.rating.tolist() == found
    key = (panel.item * 2 + panel.system) * 3 + panel.rater
    assert (np.diff(key) > 0).all()


@given(tables())
@settings(max_examples=50)
def test_cells_count_what_was_rated(frame):
    (panel,) = panels(frame)
    keys = [c for c in ("item", "system") if c in frame]
    assert panel.n_cells == len(frame.groupby(keys))
    assert sorted(panel.cell_size) == sorted(frame.groupby(keys).size())
    assert panel.cell_size.sum() == len(frame)
    assert panel.n_missing == panel.n_possible - len(frame)
    matrix = panel.matrix()
    assert matrix.shape == (panel.n_cells, panel.n_raters)
    assert np.isfinite(matrix).sum() == len(frame)
    assert np.nansum(matrix) == frame["rating"].sum()


def test_a_complete_panel_is_a_cube_and_an_incomplete_one_refuses():
    frame = crossed(4, 2, 3)
    cube = panels(frame)[0].cube()
    assert cube.shape == (4, 2, 3)
    assert cube[0, 1, 2] == frame.query("item == 'i1' and system == 'S2' and rater == 'R3'")["rating"].item()
    with pytest.raises(MeasurandError, match="1 of 24 cells are missing"):
        panels(frame.iloc[1:])[0].cube()


def test_one_system_alone_keeps_its_ratings():
    frame = crossed(4, 2, 3).iloc[6:]
    (panel,) = panels(frame)
    alone = panel.of_system(1)
    expected = frame[frame["system"] == "S2"].sort_values(["item", "rater"])
    assert alone.systems == ["S2"]
    assert alone.rating.tolist() == expected["rating"].tolist()
    assert [alone.items[i] for i in alone.item] == expected["item"].tolist()


def test_panels_pass_through_so_that_a_chain_sorts_once():
    made = panels(crossed())
    assert panels(made) == made
    assert panels(made[0])[0] is made[0]
    assert isinstance(made[0], Panel)


def test_a_name_without_a_rating_of_a_criterion_is_not_in_its_panel():
    frame = pd.DataFrame(
        {"item": ["a", "b"], "rater": ["R1", "R2"], "criterion": ["x", "y"], "rating": [1, 2], "system": ["S1", "S2"]}
    )
    x, y = panels(frame)
    assert (x.items, x.raters, x.systems) == (["a"], ["R1"], ["S1"])
    assert (y.items, y.raters, y.systems) == (["b"], ["R2"], ["S2"])


# Layouts

CROSSED = crossed(5, 3, 3)
NESTED = rows(*[(f"i{i}", f"R{i}{k}", (i + k) % 5 + 1) for i in range(5) for k in range(3)])
ONE_PER_CELL = rows(*[(f"i{i}", f"S{s}", f"R{(i + s) % 3}", (i * s) % 5 + 1) for i in range(6) for s in range(3)])
ONE_PER_ITEM = rows(*[(f"i{i}", f"R{i % 2}", i % 5 + 1) for i in range(6)])
ONE_EACH = rows(*[(f"i{i}", f"R{i}", i % 5 + 1) for i in range(6)])
APART = rows(*[(f"i{b}{i}", f"R{b}{k}", (i + k) % 5 + 1) for b in range(2) for i in range(4) for k in range(2)])
INCOMPLETE = CROSSED.iloc[:-4]
POSITIONS = CROSSED.assign(rater=CROSSED["rater"].str[1:])
ONE_RATER = CROSSED[CROSSED["rater"] == "R1"]
ONE_ITEM = CROSSED[CROSSED["item"] == "i1"]
ONE_SYSTEM = CROSSED[CROSSED["system"] == "S1"]
CONSTANT = CROSSED.assign(rating=3)
SINGLE = rows(("a", "R1", 3))

#: name: table, layout in words, a limit that is said, verdicts of findings
LAYOUTS = {
    "crossed": (CROSSED, "items x systems x raters, completely crossed", "", {}),
    "no systems": (
        CROSSED.drop(columns="system").drop_duplicates(["item", "rater"]),
        "items x raters, completely crossed",
        "",
        {"systems-differ": "not_applicable", "winner-stable": "not_applicable"},
    ),
    "incomplete": (
        INCOMPLETE,
        "items x systems x raters, incomplete (8.9 % of the crossing has no rating)",
        "Incomplete: ",
        {"systems-differ": "fail", "ranking-reliable": "fail"},
    ),
    "nested": (NESTED, "items x raters, raters nested in items", "Raters are nested in items", {}),
    "one rater per cell": (
        ONE_PER_CELL,
        "items x systems x raters, one rater per cell",
        "One rater per cell",
        {"agreement": "undetermined", "systems-differ": "undetermined"},
    ),
    "one rating per item": (
        ONE_PER_ITEM,
        "items x raters, one rater per cell",
        "One rater per cell",
        {"agreement": "undetermined", "systems-differ": "not_applicable"},
    ),
    "a rater of its own for each item": (
        ONE_EACH,
        "items x raters, one rater per cell",
        "Disconnected",
        {"agreement": "undetermined"},
    ),
    "disconnected": (APART, "items x raters, incomplete (50.0 % of the crossing has no rating)", "Disconnected", {}),
    "positions": (POSITIONS, "items x systems x raters, completely crossed", "rater ids are bare numbers (1 to 3)", {}),
    "one rater": (
        ONE_RATER,
        "items x systems x raters, completely crossed",
        "One rater: ",
        {"agreement": "undetermined", "winner-stable": "undetermined", "systems-differ": "undetermined"},
    ),
    "one item": (
        ONE_ITEM,
        "items x systems x raters, completely crossed",
        "One item: ",
        {"systems-differ": "undetermined"},
    ),
    "one system": (
        ONE_SYSTEM,
        "items x systems x raters, completely crossed",
        "One system: ",
        {"systems-differ": "not_applicable"},
    ),
    "constant": (CONSTANT, "items x systems x raters, completely crossed", "", {"agreement": "undetermined"}),
    "a single rating": (SINGLE, "items x raters, completely crossed", "One rater: ", {"agreement": "undetermined"}),
}


def assert_every_gap_has_a_reason(result):
    for row in result:
        if math.isnan(row.estimate):
            assert len(row.undefined) > 3, row
        elif row.low is not None and row.high is not None:
            assert row.low <= row.high, row
        for name in ("low", "high", "p", "p_adjusted", "df1", "df2"):
            value = getattr(row, name)
            assert value is None or not math.isnan(value), (name, row)
        if row.p is not None:
            assert 0 <= row.p <= 1, row
    for finding in result.findings:
        assert finding.verdict in VERDICTS
        assert finding.statement
        assert "nan" not in finding.statement.lower().split()
    json_back = Result.from_json(result.to_json())
    assert json_back == result


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_named_and_what_it_cannot_support_refused_by_name(name):
    frame, layout, limit, verdicts = LAYOUTS[name]
    found = about(frame)
    assert found["layout"] == layout
    assert limit in " ".join(found["limits"])
    if not limit and name != "positions":
        assert found["limits"] == []
    result = audit(frame, **FEW)
    assert_every_gap_has_a_reason(result)
    by_id = {finding.id: finding.verdict for finding in result.findings}
    assert {key: by_id[key] for key in verdicts} == verdicts
    # The rest still runs: every rater has a mean, and every analysis says what it could not do.
    assert {row.keys["rater"] for row in result.select("raters", "mean")} == set(frame["rater"].astype(str))


def test_without_two_ratings_of_a_cell_agreement_is_undefined_not_zero_or_one():
    for frame in (ONE_PER_CELL, ONE_PER_ITEM, ONE_RATER):
        alphas = audit(frame, **FEW).select("agreement", "alpha_interval")
        assert alphas
        assert all(math.isnan(row.estimate) and row.undefined for row in alphas)


@pytest.mark.parametrize(
    ("frame", "connected"), [(CROSSED, 1), (APART, 0), (ONE_EACH, 0), (NESTED, 0), (ONE_PER_ITEM, 0), (SINGLE, 1)]
)
def test_raters_who_share_no_item_are_disconnected(frame, connected):
    assert is_connected(panels(frame)[0]) == bool(connected)
    assert design(frame).value("design", "connected") == connected


def test_a_chain_of_shared_items_connects_raters():
    chain = rows(*[(f"i{k}", f"R{k + j}", 1 + j) for k in range(4) for j in range(2)])
    assert is_connected(panels(chain)[0])


@pytest.mark.parametrize(
    ("names", "positions"),
    [
        (["1", "2", "3"], True),
        (["0", "1", "2"], True),
        (["slot1", "slot2"], True),
        (["Rating_1", "Rating_2"], True),
        (["R1", "R2"], False),
        (["1", "3"], False),
        (["101", "102"], False),
        (["anna", "2"], False),
    ],
)
def test_rater_ids_that_may_be_positions_are_told(names, positions):
    frame = rows(*[(f"i{i}", name, i % 3) for i in range(3) for name in names])
    assert panels(frame)[0].raters_are_positions == positions
    assert any("positions" in limit for limit in about(frame)["limits"]) == positions


def test_counts_of_all_criteria_and_of_each():
    a, b = crossed(4, 2, 3), crossed(5, 2, 2)
    both = pd.concat([a.assign(criterion="x"), b.assign(criterion="y")])
    result = design(both)
    assert result.value("design", "n_criteria", {"criterion": ""}) == 2
    assert result.value("design", "n_items", {"criterion": ""}) == 5
    assert result.value("design", "n_items", {"criterion": "x"}) == 4
    assert result.value("design", "n_ratings", {"criterion": ""}) == 24 + 20
    assert result.value("design", "raters_per_cell_max", {"criterion": "y"}) == 2
    assert result.value("design", "crossed", {"criterion": "x"}) == 1
    assert result.value("design", "n_missing", {"criterion": ""}) == 0


@given(frame=tables(), level=st.sampled_from(LEVELS), declared=st.booleans(), seed=st.integers(0, 3))
@settings(max_examples=60)
def test_every_small_table_can_be_audited(frame, level, declared, seed):
    scale = Scale(1, 5, step=1) if declared else None
    assert_every_gap_has_a_reason(audit(read_ratings(frame, scale=scale, level=level), seed=seed, **FEW))


@given(data=st.data(), frame=tables(n_systems=(0, 2), n_criteria=(1, 2), values=("no", "minor", "yes")))
@settings(max_examples=15)
def test_every_small_table_of_text_can_be_audited(data, frame):
    level = data.draw(st.sampled_from(LEVELS[:3]))
    text = frame.assign(rating=frame["rating"].astype(str))
    labels = [] if level == "nominal" else ["no", "minor", "yes"]
    assert_every_gap_has_a_reason(audit(read_ratings(text, labels=labels, level=level), **FEW))


@given(frame=tables(n_systems=(0, 2)), scale=scales())
@settings(max_examples=15)
def test_every_small_table_on_any_scale_can_be_audited(frame, scale):
    rank = frame["rating"].rank(method="dense") - 1
    step = scale.step or 12.5
    frame["rating"] = np.minimum(scale.low + step * rank, scale.high)
    assert_every_gap_has_a_reason(audit(read_ratings(frame, scale=scale), **FEW))


@given(frame=tables(n_raters=(2, 4)), data=st.data())
@settings(max_examples=15)
def test_no_repeated_setting_of_a_table_changes_its_size(frame, data):
    repeats = data.draw(st.sampled_from(["refuse", "first", "last", "mean"]))
    assert len(read_ratings(frame, repeats=repeats)) == len(frame)
