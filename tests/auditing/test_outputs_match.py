"""Outputs and ratings that name systems or items differently: nothing falls out in silence."""

import pandas as pd
import pytest

from measurand.auditing import audit


def rated_and_written(rename):
    items, systems, raters = range(12), ("gpt-x", "b", "c", "d"), ("R1", "R2", "R3")
    ratings = pd.DataFrame(
        [(i, s, r, (i + 2 * k + j) % 5) for i in items for k, s in enumerate(systems) for j, r in enumerate(raters)],
        columns=["item", "system", "rater", "rating"],
    )
    written = pd.DataFrame(
        [(i, rename.get(s, s), 1 + (i + k) % 4) for i in items for k, s in enumerate(systems)],
        columns=["item", "system", "length"],
    )
    return ratings, written


@pytest.mark.parametrize(
    ("rename", "keep", "verdict", "said"),
    [
        ({}, 1.0, "pass", "Every rated system has its outputs."),
        (
            {"gpt-x": "GPT-X"},
            1.0,
            "fail",
            "Of 4 rated systems 1 have no output of known length: gpt-x; the outputs name 'GPT-X', which nobody rated.",
        ),
        ({}, 0.5, "warn", "Of 4 of 4 systems some ratings have no output of known length"),
    ],
)
def test_outputs_of_other_names_are_told_with_both_names(rename, keep, verdict, said):
    ratings, written = rated_and_written(rename)
    found = audit(ratings, outputs=written[written["item"] < 12 * keep], replicates=100, draws=1000)
    (match,) = [one for one in found.findings if one.id == "length-outputs"]
    assert match.verdict == verdict
    assert match.statement.startswith(said)
