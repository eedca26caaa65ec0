"""Panels to audit: tables from arrays, and raters who behave in known ways."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest


def long(cube):
    """Return the ratings table of an array of items by systems by raters; NaN where there is no rating."""
    cube = np.asarray(cube, dtype=float)
    item, system, rater = np.nonzero(~np.isnan(cube))
    return pd.DataFrame(
        {
            "item": [f"i{position + 1}" for position in item],
            "system": [f"S{position + 1}" for position in system],
            "rater": [f"R{position + 1}" for position in rater],
            "rating": cube[item, system, rater],
        }
    )


def flat(table):
    """Return the ratings table, without systems, of an array of items by raters."""
    return long(np.asarray(table, dtype=float)[:, None, :]).drop(columns="system")


@pytest.fixture(scope="session")
def tables():
    return SimpleNamespace(long=long, flat=flat)
