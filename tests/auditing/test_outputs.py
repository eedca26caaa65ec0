"""Identical outputs with identical ratings, and outputs tables that cannot be read."""

import numpy as np
import pandas as pd
import pytest

from measurand import MeasurandError
from measurand.auditing import audit, copies
from measurand.data import read_outputs

FEW = {"replicates": 100, "draws": 1000}


def made(n_identical, *, same_ratings, n_items=40):
    """Return ratings of two systems by three raters, and outputs that are the same text on the first items."""
    rng = np.random.default_rng(3)
    ratings, outputs = [], []
    for i in range(n_items):
        vectors = {s: rng.integers(1, 101, 3) for s in ("S1", "S2")}
        if i < n_identical and same_ratings:
            vectors["S2"] = vectors["S1"]
        for s, vector in vectors.items():
            outputs.append((f"i{i:02d}", s, "same" if i < n_identical else f"{s} wrote {i}"))
            ratings += [(f"i{i:02d}", s, f"R{k}", value) for k, value in enumerate(vector)]
    frame = pd.DataFrame(ratings, columns=["item", "system", "rater", "rating"])
    return frame, read_outputs(pd.DataFrame(outputs, columns=["item", "system", "text"]))


def test_identical_outputs_with_identical_ratings_are_counted_and_named():
    ratings, outputs = made(4, same_ratings=True)
    found = copies(ratings, outputs=outputs)
    assert found.value("copies", "share_identical_outputs") == 0.1
    assert found.value("copies", "share_copied_cells") == 0.1
    places = found.select("copies", "n_identical_ratings")
    assert [(row.keys["item"], row.keys["system_a"], row.keys["system_b"], row.estimate) for row in places] == [
        (f"i{i:02d}", "S1", "S2", 3) for i in range(4)
    ]


def test_identical_outputs_that_were_rated_anew_are_no_copies():
    ratings, outputs = made(4, same_ratings=False)
    found = copies(ratings, outputs=outputs)
    assert found.value("copies", "share_identical_outputs") == 0.1
    assert found.value("copies", "share_copied_cells") == 0
    assert not found.select("copies", "n_identical_ratings")


@pytest.mark.parametrize(("n", "verdict"), [(0, "pass"), (1, "fail"), (4, "fail")])
def test_the_finding_names_a_place(n, verdict):
    ratings, outputs = made(n, same_ratings=True)
    found = {f.id: f for f in audit(ratings, outputs=outputs, **FEW).findings}["copied-ratings"]
    assert found.verdict == verdict
    if n:
        assert f"{100 * n / 40:g} % of the cells" in found.statement
        assert "those of S1 and S2 on item i00" in found.statement


def test_a_single_copied_cell_of_many_warns():
    ratings, outputs = made(1, same_ratings=True, n_items=120)
    found = {f.id: f for f in audit(ratings, outputs=outputs, **FEW).findings}["copied-ratings"]
    assert found.verdict == "warn"


def test_outputs_of_other_items_are_said_to_be_so():
    ratings, outputs = made(2, same_ratings=True)
    found = copies(ratings, outputs=read_outputs(outputs.frame.assign(item="x" + outputs.frame["item"])))
    (row,) = found.select("copies", "share_copied_cells")
    assert "other names" in row.undefined


def test_outputs_that_cannot_be_read_are_refused():
    with pytest.raises(MeasurandError, match="no column 'text' and none 'length'"):
        read_outputs(pd.DataFrame({"item": [1], "system": ["S1"], "words": [3]}))
    with pytest.raises(MeasurandError, match="two outputs of system"):
        read_outputs(pd.DataFrame({"item": [1, 1], "system": ["S1", "S1"], "text": ["a", "b"]}))
