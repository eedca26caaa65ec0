"""Panels to plan from, and every design within small bounds, counted out one by one."""

from types import SimpleNamespace

import numpy as np
import pytest

from measurand.simulate import simulate_panel, two_emojis_panel

COMPONENTS = {
    "item": 0.3, "system": 0.2, "rater": 0.2, "item:system": 0.1, "item:rater": 0.1, "system:rater": 0.05,
    "residual": 0.5,
}  # fmt: skip


def every_design(layout, most_raters, most_items):
    """Return (raters, items, raters of an item) of every design of a layout in which all rate equally many items."""
    out = []
    for raters in range(2, most_raters + 1):
        per_item = {"crossed": [raters], "nested": [1], "rotating": range(2, raters)}[layout]
        for k in per_item:
            out += [(raters, items, k) for items in range(2, most_items + 1) if items * k % raters == 0]
    if layout == "rotating":
        # Else raters are left over who share no item with others.
        out = [(raters, items, k) for raters, items, k in out if items * (k - 1) >= raters - 1]
    return out


def error(errors, raters, items, k):
    return errors["rater"] / raters + errors["item"] / items + errors["cell"] / (items * k)


@pytest.fixture(scope="session")
def good():
    """A panel that can tell its systems apart."""
    return simulate_panel(n_items=40, n_systems=6, n_raters=8, components=COMPONENTS, seed=3).ratings


@pytest.fixture(scope="session")
def paper():
    """The panel of three raters whose systems do not differ beyond error."""
    return two_emojis_panel().ratings


@pytest.fixture(scope="session")
def brute():
    return SimpleNamespace(every=every_design, error=error, array=np.array)
