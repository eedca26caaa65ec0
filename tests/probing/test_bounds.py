import math
from dataclasses import replace

import pytest

from measurand.probing.bounds import within
from measurand.result import Row

ROW = Row("geometry", {}, "isoscore", 0.4, low=0.2, high=0.6, note="said")


def test_an_interval_that_is_possible_stays_as_it_is():
    assert within(ROW, 0, 1) == ROW
    assert within(ROW) == ROW


@pytest.mark.parametrize(
    ("low", "high", "ends", "said"),
    [
        (-0.3, 0.6, (0, 0.6), "the interval is cut at 0, the smallest possible"),
        (0.2, 2.5, (0.2, 1), "the interval is cut at 1, the largest possible"),
        (-0.3, 2.5, (0, 1), "cut at 0, the smallest possible and 1, the largest possible"),
    ],
)
def test_ends_beyond_what_is_possible_are_cut_and_said(low, high, ends, said):
    found = within(replace(ROW, low=low, high=high), 0, 1)
    assert (found.low, found.high) == ends
    assert found.note.startswith("said; ")
    assert said in found.note


def test_an_estimate_that_is_not_possible_stays_with_its_interval_and_says_so():
    odd = replace(ROW, estimate=30.7, low=2.0, high=90.0)
    found = within(odd, 0, 1)
    assert (found.estimate, found.low, found.high) == (30.7, 2.0, 90.0)
    assert "outside what is possible (0 to 1)" in found.note
    assert "0 or more" in within(replace(ROW, estimate=-1.0), 0).note


def test_rounding_is_no_excess_and_an_interval_holds_its_estimate():
    found = within(replace(ROW, estimate=1 + 1e-14, high=1.5), 0, 1)
    assert found.low <= found.estimate <= found.high < 1.1


def test_a_number_that_is_undefined_or_has_no_interval_is_left_alone():
    undefined = Row("geometry", {}, "isoscore", math.nan, undefined="one vector")
    assert within(undefined, 0, 1) == undefined
    bare = Row("geometry", {}, "isoscore", 0.4)
    assert within(bare, 0, 1) == bare
