"""Rating tables for property tests, small enough that a whole audit of one takes a moment."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from measurand.data import Scale

LEVELS = (None, "nominal", "ordinal", "interval", "ratio")

#: Ids as people and programs write them: no surrogates, no spaces at the ends, never blank.
ids = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


@st.composite
def scales(draw, *, levels=LEVELS):
    """Draw a scale with bounds, most with steps; each reaches 1 to 5 values or more."""
    low, high, step = draw(st.sampled_from([(1, 5, 1), (0, 7, 1), (0, 1, 0.25), (0, 100, None), (1, 2, 1)]))
    return Scale(low, high, step=step, level=draw(st.sampled_from(levels)))


@st.composite
def tables(draw, *, n_items=(1, 4), n_systems=(0, 3), n_raters=(1, 4), n_criteria=(0, 0), values=None, holes=True):
    """Draw a long table of ratings, without blank cells; every size is a range, 0 leaves that column out.

    `values` are the ratings that occur; None draws from 1 to 5, or the same one throughout. With `holes` any of the
    cells may be left out, and at least one rating is there.
    """
    items, systems, raters, criteria = (draw(st.integers(*size)) for size in (n_items, n_systems, n_raters, n_criteria))
    if values is None:
        values = draw(st.sampled_from([(1, 2, 3, 4, 5), (1, 2), (3,)]))
    shape = (items, max(systems, 1), raters, max(criteria, 1))
    cells = np.indices(shape).reshape(4, -1)
    size = cells.shape[1]
    rating = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
    table = pd.DataFrame({"item": [f"i{i + 1}" for i in cells[0]], "rater": [f"R{r + 1}" for r in cells[2]]})
    if systems:
        table["system"] = [f"S{s + 1}" for s in cells[1]]
    if criteria:
        table["criterion"] = [f"c{c + 1}" for c in cells[3]]
    table["rating"] = rating if isinstance(values[0], str) else np.array(rating, dtype=float)
    if holes and draw(st.booleans()):
        kept = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
        kept[draw(st.integers(0, size - 1))] = True
        if criteria:  # a criterion without any rating is refused, and that is another test
            for c in range(criteria):
                kept[np.flatnonzero(cells[3] == c)[0]] = True
        table = table[kept].reset_index(drop=True)
    return table


def crossed(n_items=6, n_systems=3, n_raters=3, *, seed=0, low=1, high=5):
    """Return a complete table of whole ratings with differences between items and raters; n_systems 0 for none."""
    rng = np.random.default_rng(seed)
    shape = (n_items, max(n_systems, 1), n_raters)
    value = 0.5 * (low + high) + rng.normal(0, 1.2, shape)
    value += rng.normal(0, 0.8, (n_items, 1, 1)) + rng.normal(0, 0.5, (1, 1, n_raters))
    item, system, rater = np.indices(shape).reshape(3, -1)
    table = pd.DataFrame({"item": [f"i{i + 1}" for i in item], "system": [f"S{s + 1}" for s in system]})
    table["rater"] = [f"R{r + 1}" for r in rater]
    table["rating"] = np.clip(np.rint(value), low, high).ravel()
    return table if n_systems else table.drop(columns="system")
