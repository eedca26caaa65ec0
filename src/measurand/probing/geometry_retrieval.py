"""Are items that say the same in two languages each other's nearest? Needs items that say the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from measurand.probing.geometry_cloud import Cloud, unit_of
from measurand.result import Key, Row
from measurand.stats.geometry import directions
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.proportion import share_interval
from measurand.stats.retrieval import retrieve

#: Nearest neighbours over which CSLS takes the mean similarity.
NEIGHBOURS: Final = 10
WILSON: Final = "Wilson, for the effective number of items"
#: What alignment needs and non-parallel items cannot give.
NEEDED: Final = (
    "alignment needs parallel items: a column `parallel` whose values items of different languages share if they say "
    "the same; without them a difference between languages may as well be one of topic or register"
)
_NAMES: Final = ("precision_at_1", "precision_at_1_csls")


def retrieval_rows(cloud: Cloud, *, confidence: float) -> list[Row]:
    """Return how often the nearest vector of another language is the one that says the same, or why that is unknown."""
    if not cloud.languages:
        reason = "the vectors are of fewer than two languages, as far as the items tell"
        return [Row("geometry", {"vectors": cloud.name}, name, np.nan, undefined=reason) for name in _NAMES]
    pairs = {(a, b): _aligned(cloud, a, b) for a, b in combinations(range(len(cloud.languages)), 2)}
    if all(len(here) == 0 for here, _ in pairs.values()):
        return [Row("geometry", {"vectors": cloud.name}, name, np.nan, undefined=NEEDED) for name in _NAMES]
    units = _directions(cloud)
    rows = []
    for (a, b), (of_a, of_b) in pairs.items():
        for (one, here), (other, there) in (((a, of_a), (b, of_b)), ((b, of_b), (a, of_a))):
            rows += _rows(cloud, units, (cloud.languages[one], here), (cloud.languages[other], there), confidence)
    return rows


def _aligned(cloud: Cloud, a: int, b: int) -> tuple[IntArray, IntArray]:
    """Return the rows of two languages that say the same, in one order."""
    rows = [np.flatnonzero((cloud.language == at) & (cloud.parallel >= 0)) for at in (a, b)]
    _, first, second = np.intersect1d(cloud.parallel[rows[0]], cloud.parallel[rows[1]], return_indices=True)
    return rows[0][first], rows[1][second]


def _directions(cloud: Cloud) -> Mapping[str, FloatArray]:
    """Return vectors of length 1 as they are, about the mean of all, and about the mean of their language."""
    apart = np.zeros(cloud.points.shape)
    for at in range(len(cloud.languages)):
        rows = cloud.language == at
        if rows.any():
            apart[rows] = directions(cloud.points[rows], is_centred=True)
    whole = {"no": directions(cloud.points), "yes": directions(cloud.points, is_centred=True)}
    return whole | {"per language": apart}


def _rows(
    cloud: Cloud,
    units: Mapping[str, FloatArray],
    source: tuple[str, IntArray],
    target: tuple[str, IntArray],
    confidence: float,
) -> list[Row]:
    (language, here), (against, there) = source, target
    n = len(here)
    rows = []
    for centred, unit in units.items():
        keys: dict[str, Key] = {"vectors": cloud.name, "language": language, "against": against, "centred": centred}
        if n < 2:
            reason = f"{n} parallel item{'s' * (n != 1)}; there is nothing to choose from below two"
            rows += [Row("geometry", keys, name, np.nan, n_items=n, undefined=reason) for name in _NAMES]
            continue
        found = retrieve(unit[here], unit[there], neighbours=NEIGHBOURS)
        for name, hits in zip(_NAMES, found, strict=True):
            row = Row("geometry", keys, name, float(hits.mean()), n_items=n, note=_chance(n))
            low, high, _ = share_interval(hits, cloud.cluster[here], confidence=confidence)
            if np.isnan(low):
                rows.append(replace(row, note=f"{row.note}; no interval: all items are of one group"))
                continue
            ends: dict[str, Any] = {"low": low, "high": high, "confidence": confidence}
            rows.append(replace(row, **ends, method=WILSON, unit=unit_of(cloud.cluster[here])))
    return rows


def _chance(n: int) -> str:
    return f"chance is 1/{n}; the {n} candidates are held: among more of them fewer are found"
