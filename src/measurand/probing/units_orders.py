"""Does the order of systems by length depend on what is counted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from measurand.data.outputs import Outputs
from measurand.probing.scopes import BoolArray
from measurand.probing.units_rows import ANALYSIS, NAIVE, NO_OUTPUTS, Lengths
from measurand.result import Key, Row
from measurand.sentences import listed
from measurand.stats.association import kendall_tau_b
from measurand.stats.clustered import clustered_mean
from measurand.stats.inference import FloatArray, IntArray, average_ranks, without_dust

_OF_RANKS: Final = "descriptive: no interval; n_reversed_beyond_chance says where what is counted changes the order"
_OF_TAU: Final = "of the systems' means; no interval: n_reversed_beyond_chance says what chance does not explain"


@dataclass(frozen=True)
class Board:
    """The outputs of the systems in one language.

    Parameters
    ----------
    language : str
        Blank for all.
    systems : sequence of str
        Names, those without outputs left out.
    at : ndarray of int, shape (n_items, n_systems)
        The row of each item's output by each system; -1 where there is none.
    """

    language: str
    systems: Sequence[str]
    at: IntArray

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean of each system over its outputs, rounded so that equal means tie; NaN where it has none."""
        cells = np.where(self.at >= 0, values[self.at], np.nan)
        known = ~np.isnan(cells)
        with np.errstate(invalid="ignore"):
            means = np.where(known, cells, 0.0).sum(axis=0) / known.sum(axis=0)
        return without_dust(means, largest=float(np.nanmax(cells, initial=0.0)))


def board(outputs: Outputs, language: str) -> Board:
    """Return the outputs of the systems in one language, blank for all."""
    frame = outputs.frame if not language else outputs.of(language=language)
    systems = [name for name in outputs.systems if (frame["system"] == name).any()]
    of_system = {name: position for position, name in enumerate(systems)}
    _, item = np.unique(frame["item"].to_numpy().astype(str), return_inverse=True)
    system = np.array([of_system[name] for name in frame["system"]], dtype=np.int64)
    at = np.full((int(item.max(initial=-1)) + 1, len(systems)), -1, dtype=np.int64)
    at[item, system] = frame.index.to_numpy()
    return Board(language, systems, at)


def order_rows(board: Board, counted: Lengths, *, unit: str) -> list[Row]:
    """Return the ranks of the systems in every unit and how their orders differ; nothing where there is one system."""
    if len(board.systems) < 2:
        return []
    rows: list[Row] = []
    means = {name: board.means(values) for name, values in counted.by_unit.items()}
    for name, values in means.items():
        rows += _rank_rows({"language": board.language, "unit_of_length": name}, board.systems, values)
    pairs = [(unit, other) for other in means if other != unit]
    pairs += [(one, other) for one, other in NAIVE.items() if one != unit and one in means]
    for one, other in pairs:
        keys: dict[str, Key] = {"language": board.language, "unit_of_length": one, "against": other}
        rows += _comparison(keys, board, counted, means, one, other)
    return rows


def _rank_rows(keys: Mapping[str, Key], systems: Sequence[str], means: FloatArray) -> list[Row]:
    ranks = _ranks(means)
    return [
        Row(
            ANALYSIS,
            {**keys, "system": name},
            "rank",
            float(rank),
            undefined="" if rank == rank else NO_OUTPUTS,
            note=_OF_RANKS,
        )
        for name, rank in zip(systems, ranks, strict=True)
    ]


def _ranks(means: FloatArray) -> FloatArray:
    ranks, defined = np.full(len(means), np.nan), ~np.isnan(means)
    ranks[defined] = average_ranks(list(means[defined]))
    return ranks


def _comparison(
    keys: Mapping[str, Key], board: Board, counted: Lengths, means: Mapping[str, FloatArray], one: str, other: str
) -> list[Row]:
    """Return how the order by one unit differs from that by another."""
    defined = ~np.isnan(means[one] + means[other])
    x, y = means[one][defined], means[other][defined]
    tau = kendall_tau_b(x, y)
    names = [name for name, there in zip(board.systems, defined, strict=True) if there]
    changed = [name for name, a, b in zip(names, _ranks(x), _ranks(y), strict=True) if a != b]
    places = np.flatnonzero(defined)
    every = list(combinations(range(len(places)), 2))
    reversed_ = [(int(places[a]), int(places[b])) for a, b in every if (x[a] - x[b]) * (y[a] - y[b]) < 0]
    # One family: all pairs of systems. A reversal takes a difference in both units, so that the two need no adjustment.
    level = 1 - (1 - counted.confidence) / max(len(every), 1)
    beyond = []
    for a, b in reversed_:
        first, second = (_side(board, counted, unit, a, b, confidence=level) for unit in (one, other))
        if first * second < 0:
            beyond.append((a, b))
    return [
        Row(ANALYSIS, keys, "kendall_tau_b", tau.value, undefined=tau.undefined, note=_OF_TAU),
        Row(ANALYSIS, keys, "n_changed", len(changed), note=listed(changed)),
        Row(ANALYSIS, keys, "n_reversed", len(reversed_), note=_pairs(board.systems, reversed_)),
        Row(ANALYSIS, keys, "n_reversed_beyond_chance", len(beyond), note=_pairs(board.systems, beyond)),
    ]


def _side(board: Board, counted: Lengths, unit: str, a: int, b: int, *, confidence: float) -> int:
    """Return 1 or -1 where a t interval of the mean difference over the items of both systems leaves out 0, else 0."""
    shared: BoolArray = (board.at[:, a] >= 0) & (board.at[:, b] >= 0)
    first, second = board.at[shared, a], board.at[shared, b]
    values = counted.by_unit[unit]
    difference, cluster = values[first] - values[second], counted.cluster[first]
    known = ~np.isnan(difference)
    if not known.any():
        return 0
    found = clustered_mean(difference[known], cluster[known], confidence=confidence)
    return int(found.low > 0) - int(found.high < 0)


def _pairs(systems: Sequence[str], pairs: Sequence[tuple[int, int]]) -> str:
    return listed([f"{systems[a]} and {systems[b]}" for a, b in pairs])
