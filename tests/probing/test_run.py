"""The whole probe: the bar moves within the parts, and what is asked for reaches every part."""

import pytest

from measurand import MeasurandError
from measurand.probing import probe
from measurand.simulate import simulate_outputs

FEW = {"n_seeds": 2, "replicates": 120, "refits": 2, "repeats": 2}


@pytest.fixture(scope="module")
def simulated():
    return simulate_outputs(n_items=40, n_systems=3, languages=("English",), n_raters=2, truth_draws=0)


@pytest.fixture(scope="module")
def probed(simulated):
    told = []
    found = probe(
        simulated.outputs, ratings=simulated.ratings, n_folds=2, progress=lambda *step: told.append(step), **FEW
    )
    return found, told


def test_the_bar_moves_on_within_the_long_parts_and_never_back(probed):
    _, told = probed
    done, of = [number for _, number, _ in told], {of for _, _, of in told}
    assert done == sorted(done)
    assert done[0] == 0
    assert {done[-1] < one for one in of} == {True}  # the last part has begun and not ended
    names = [name for name, _, _ in told]
    assert [name for name in names if name in ("units", "decodability", "leakage", "geometry", "cost")] == [
        "units",
        "decodability",
        "leakage",
        "geometry",
        "cost",
    ]
    assert len(set(done)) > 10
    for system in ("S1", "S1, trained again"):
        assert any(name.endswith(system) for name in names)


def test_replicates_and_seed_reach_every_part_that_redraws(probed):
    found, _ = probed
    settings = {name: one for name, one in found.settings.items() if "replicates" in one}
    assert {"units", "decodability", "cost"} <= set(settings)
    assert {one["replicates"] for name, one in settings.items() if name != "decodability_ratings"} == {120}
    assert {one["seed"] for one in settings.values()} == {0}


def test_costs_are_held_against_the_macro_f1_of_systems_and_against_ratings(probed):
    found, _ = probed
    against = {row.keys["against"] for row in found.rows if row.statistic == "total_tokens_spearman"}
    assert against == {"macro_f1", "mean rating"}


def test_a_part_that_is_not_there_is_refused(simulated):
    with pytest.raises(MeasurandError, match="there are units, decodability, leakage, geometry, cost"):
        probe(simulated.outputs, only=["lengths"])


def test_one_set_of_vectors_or_one_part_needs_no_list_and_what_is_no_vectors_is_refused(simulated):
    found = probe(simulated.outputs, only="units", replicates=120)
    assert "units" in found.analyses
    assert "cost" not in found.analyses
    with pytest.raises(MeasurandError, match=r"vectors holds a str; give what measurand\.read_vectors"):
        probe(simulated.outputs, vectors=["vectors.npz"], only="units")
    with pytest.raises(MeasurandError, match="geometry is asked for, and there are no vectors"):
        probe(simulated.outputs, only="geometry")


def test_what_is_named_beside_a_preset_counts(simulated):
    few = {"refits": 0, "only": "decodability", "n_folds": 2, "replicates": 120}
    found = probe(simulated.outputs, preset="ead", n_seeds=3, **few).settings["decodability"]
    assert (found["n_seeds"], found["n_folds"], found["replicates"]) == (3, 2, 120)
    assert (found["token_unit"], found["labels"]) == ("non_ascii_grapheme", "shared")
