"""What the library says of its intervals is what was measured, and a short version of the measurement."""

import importlib.util
import json
from pathlib import Path

import pytest

from measurand.auditing.measured import HELD

FOLDER = Path(__file__).parent.parent / "benchmarks" / "coverage"

#: Intervals that keep their level for the estimand that they name.
KEPT = [
    ("G", "items, systems, raters"),
    ("Phi", "items, systems, raters"),
    ("raters needed for G .8", "items, systems, raters"),
    *(
        (f"component {name}", "items, systems, raters")
        for name in ("item", "system", "rater", "system:rater", "residual")
    ),
    ("G, F, two mean squares", "systems, raters; these items"),
    ("raters needed for G .8, F, two mean squares", "systems, raters; these items"),
    ("interval alpha, bootstrap of item", "items; these raters and systems"),
    ("difference of two systems, paired t", "items; these raters"),
    ("difference of two systems, one-sample t", "raters; these items"),
]


@pytest.fixture(scope="module")
def table():
    """Coverage in percent over designs, by interval and estimand, as committed."""
    found = {}
    for design in json.loads((FOLDER / "results.json").read_text()):
        for row in design["coverage"]:
            found.setdefault((row["interval"], row["estimand"]), []).append(100 * row["coverage"])
    return found


@pytest.fixture(scope="module")
def short():
    spec = importlib.util.spec_from_file_location("simulate_coverage", FOLDER / "simulate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run("60x6x3", module.DESIGNS["60x6x3"], 60, 7)


@pytest.mark.parametrize("key", HELD, ids=" / ".join)
def test_notes_say_what_was_measured(table, key):
    low, high = HELD[key]
    assert low == pytest.approx(min(table[key]), abs=1.0)
    assert high == pytest.approx(max(table[key]), abs=1.0)


def test_every_other_interval_keeps_its_level_for_what_it_names(table):
    for key, shares in table.items():
        names_all = "bootstrap" in key[0] and key[1] == "items, systems, raters"
        if key not in HELD and not names_all:
            assert min(shares) >= 92, key
            assert max(shares) <= 97, key


def test_the_designs_are_those_that_were_asked_for():
    done = {d["design"]: d["panels"] for d in json.loads((FOLDER / "results.json").read_text())}
    assert set(done) == {"290x8x3", "60x6x3", "150x4x20", "50x10x5, 10 % missing"}
    assert min(done.values()) >= 1000


def test_intervals_cover_in_a_short_simulation(short):
    found = {(row["interval"], row["estimand"]): row["coverage"] for row in short["coverage"]}
    for key in KEPT:
        assert found[key] >= 0.85, key  # sixty panels: below .85 one in two thousand times at .95
    assert found["interval alpha, bootstrap of item", "items, systems, raters"] < 0.8


def test_tests_keep_their_level_in_a_short_simulation_and_the_usual_one_does_not(short):
    rejected = {row["test"]: row["rejected"] for row in short["tests"]}
    assert rejected["residual"] > 0.6
    assert rejected["mixed_model, judgement"] > 0.6
    for test in ("quasi_f", "system:rater", "mixed_model, full"):
        assert rejected[test] < 0.2, test
