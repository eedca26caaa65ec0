"""Reading and comparing oracle files, and tables in the shapes that the library takes."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

ORACLES = Path(__file__).parents[1] / "oracles"


def read(name):
    """Return the input and the expected values of an oracle."""
    return tuple(pd.read_csv(ORACLES / name / f"{part}.csv", keep_default_na=True) for part in ("input", "expected"))


def compare(got, expected, *, keys, rtol, atol=0.0):
    """Compare every numeric column of `expected`, row by row; a missing column or row is a failure."""
    numeric = [c for c in expected.columns if c not in keys and pd.api.types.is_numeric_dtype(expected[c])]
    assert numeric, "the oracle has no numbers"
    assert not (missing := set(numeric) - set(got.columns)), f"columns that were not computed: {sorted(missing)}"
    if keys:
        got, expected = got.set_index(keys), expected.set_index(keys)
        assert got.index.is_unique
        assert expected.index.is_unique
        assert set(got.index) == set(expected.index), f"rows differ: {set(got.index) ^ set(expected.index)}"
        got = got.loc[expected.index]
    assert len(got) == len(expected)
    for column in numeric:
        np.testing.assert_allclose(
            got[column].to_numpy(float), expected[column].to_numpy(float), rtol=rtol, atol=atol, err_msg=column
        )


def long(table, raters=None):
    """Return the ratings table of an array of units by raters, NaN where a rater did not rate."""
    table = np.asarray(table, dtype=float)
    item, rater = np.nonzero(~np.isnan(table))
    names = raters or [f"R{position}" for position in range(table.shape[1])]
    return pd.DataFrame(
        {
            "item": [f"i{position:04d}" for position in item],
            "rater": [names[position] for position in rater],
            "rating": table[item, rater],
        }
    )


def long3(cube):
    """Return the ratings table of an array of items by systems by raters, NaN where there is no rating."""
    item, system, rater = np.nonzero(~np.isnan(cube))
    return pd.DataFrame(
        {
            "item": [f"i{position:04d}" for position in item],
            "system": [f"S{position}" for position in system],
            "rater": [f"R{position}" for position in rater],
            "rating": cube[item, system, rater],
        }
    )


@pytest.fixture
def oracle():
    return SimpleNamespace(read=read, compare=compare, names=sorted(p.parent.name for p in ORACLES.glob("*/make.py")))


@pytest.fixture
def tables():
    return SimpleNamespace(long=long, long3=long3)
