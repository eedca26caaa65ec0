"""Lengths of outputs in several units, and the rows of a mean and of a share of outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from measurand.probing.scopes import BoolArray
from measurand.result import Key, Row
from measurand.stats.clustered import clustered_mean
from measurand.stats.inference import FloatArray, IntArray
from measurand.stats.proportion import share_interval

ANALYSIS: Final = "units"
#: What is counted in place of a unit where its clusters are not known: code points.
NAIVE: Final[Mapping[str, str]] = {
    "emoji": "non_ascii_character",
    "emoji_or_text": "non_ascii_character",
    "non_ascii_grapheme": "non_ascii_character",
    "grapheme": "character",
}
#: Units that are emoji or that emoji are counted by.
OF_EMOJI: Final = ("emoji", "emoji_or_text", "non_ascii_grapheme")
NO_OUTPUTS: Final = "no outputs here"


@dataclass(frozen=True)
class Lengths:
    """How long each output is.

    Parameters
    ----------
    by_unit : mapping of ndarray of float, shape (n_outputs,)
        Lengths by unit; NaN where the table's own length is blank.
    cluster : ndarray of int, shape (n_outputs,)
        What each output is drawn with: its group where it has one, else its item.
    resampled : str
        ``"group"`` or ``"item"``.
    confidence : float
        Level of the intervals.
    """

    by_unit: Mapping[str, FloatArray]
    cluster: IntArray
    resampled: str
    confidence: float


def mean_row(
    counted: Lengths, keys: Mapping[str, Key], name: str, values: FloatArray, rows: BoolArray, note: str = ""
) -> Row:
    """Return the mean of what is defined among the rows, with a t interval whose errors sum within clusters.

    Lengths are never negative, and neither is the lower end.
    """
    values, cluster = values[rows], counted.cluster[rows]
    defined = ~np.isnan(values)
    if not defined.any():
        return Row(ANALYSIS, keys, name, np.nan, undefined=NO_OUTPUTS)
    found = clustered_mean(values[defined], cluster[defined], confidence=counted.confidence)
    if found.n_clusters < 2:
        return Row(ANALYSIS, keys, name, found.mean, n_items=1, note=f"one {counted.resampled}: no interval")
    return Row(
        ANALYSIS,
        keys,
        name,
        found.mean,
        low=max(found.low, 0.0),
        high=found.high,
        confidence=counted.confidence,
        method="t",
        unit=counted.resampled,
        n_items=found.n_clusters,
        note=note,
    )


def share_row(
    counted: Lengths, keys: Mapping[str, Key], name: str, hits: BoolArray, rows: BoolArray, note: str = ""
) -> Row:
    """Return the share of hits among the rows with Wilson's interval.

    Outputs that share an item or a group are not independent: see `measurand.stats.proportion.share_interval`.
    """
    inside, cluster = hits[rows].astype(float), counted.cluster[rows]
    n = len(inside)
    if n == 0:
        return Row(ANALYSIS, keys, name, np.nan, undefined=NO_OUTPUTS)
    n_clusters, p = len(np.unique(cluster)), float(inside.mean())
    ends = share_interval(inside, cluster, confidence=counted.confidence)
    if np.isnan(ends.low):
        return Row(ANALYSIS, keys, name, p, n_items=1, note=f"one {counted.resampled}: no interval")
    return Row(
        ANALYSIS,
        keys,
        name,
        p,
        low=ends.low,
        high=ends.high,
        confidence=counted.confidence,
        method="Wilson" if n_clusters == n else "Wilson, effective number of outputs",
        unit=counted.resampled,
        n_items=n_clusters,
        note=note,
    )
