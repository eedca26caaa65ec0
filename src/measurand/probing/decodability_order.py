"""Which systems' outputs tell more of the labels? Paired differences, ranks that hold at once, tiers."""

from __future__ import annotations

import itertools
from typing import Any, Final, NamedTuple

import numpy as np

from measurand.probing.decodability_replicates import MACRO_F1, Of
from measurand.probing.decodability_rows import Board
from measurand.result import Row
from measurand.stats import ranks as formulas
from measurand.stats.inference import Exact, FloatArray, average_ranks, holm, t_p, without_dust
from measurand.stats.replicates import bootstrap_p, max_t

_SETS: Final = "pairs whose adjusted p is below 1 less the confidence (Mogstad et al. 2024)"
_RANKED: Final = f"{_SETS}; max-T over the bootstrap of predictions (Romano & Wolf 2005)"
_RANKED_AGAIN: Final = f"{_SETS}; Holm's p of t tests with decoders that are trained again"
_TIER: Final = "layer of the order that is left: one more than the longest chain of systems that are better"


class _Pairs(NamedTuple):
    """The differences of every two systems and their tests, decoders as they are and trained again."""

    names: list[tuple[str, str]]
    points: FloatArray
    tests: list[Exact]
    adjusted: FloatArray
    again: FloatArray
    adjusted_again: FloatArray


def _pairs(board: Board) -> _Pairs:
    names = list(itertools.combinations(board.corpus.systems, 2))
    scores = board.scores
    points = np.array([scores.points[Of(a)][MACRO_F1] - scores.points[Of(b)][MACRO_F1] for a, b in names])
    points = without_dust(points, largest=1.0)
    draws = np.column_stack([scores.draws[Of(a)][:, MACRO_F1] - scores.draws[Of(b)][:, MACRO_F1] for a, b in names])
    tests = [bootstrap_p(float(point), of) for point, of in zip(points, draws.T, strict=True)]
    raw = np.array([test.p for test in tests])
    # A difference that is the same in every replicate is judged alone: no deviation of others bears on it.
    adjusted = np.maximum(np.where(np.isnan(found := max_t(points, draws)), raw, found), raw)
    if not board.refits:
        return _Pairs(names, points, tests, adjusted, np.empty(0), np.empty(0))
    df = board.protocol.refits - 1
    errors = [board.error(Of(a), Of(b)) for a, b in names]
    # Two systems whose decoders predict the same throughout have no error to judge a difference of 0 by.
    again = np.array(
        [t_p(float(point) / error, df) if error > 0 else 1.0 for point, error in zip(points, errors, strict=True)]
    )
    return _Pairs(names, points, tests, adjusted, again, holm(again))


def difference_rows(board: Board) -> list[Row]:
    """Return the paired differences of every two systems, with decoders as they are and trained again."""
    if len(board.corpus.systems) < 2:
        return []
    pairs = _pairs(board)
    note = "decoders as they are; adjusted p by max-T over the pairs"
    rows = []
    for (a, b), test, adjusted in zip(pairs.names, pairs.tests, pairs.adjusted, strict=True):
        told: dict[str, Any] = {"p": test.p, "p_adjusted": float(adjusted), "attainable_p": test.attainable_p}
        rows.append(board.difference(Of(a), Of(b), board.keys(Of(a), against=b), "difference", note, **told))
    df = board.protocol.refits - 1
    for (a, b), p, adjusted in zip(pairs.names, pairs.again, pairs.adjusted_again, strict=bool(board.refits)):
        told = {"df1": 1, "df2": df, "p": float(p), "p_adjusted": float(adjusted)}
        rows.append(board.refitted(board.keys(Of(a), against=b), "difference", Of(a), Of(b), **told))
    return rows


def _better(board: Board) -> formulas.BoolArray:
    """Return which system is better than which, by the tests of the pairs: ranks and pairs say the same."""
    pairs = _pairs(board)
    adjusted = pairs.adjusted_again if board.refits else pairs.adjusted
    better = np.zeros((len(board.corpus.systems),) * 2, dtype=bool)
    first, second = np.triu_indices(len(better), k=1)
    differs = adjusted < 1 - board.protocol.confidence
    better[first, second] = differs & (pairs.points > 0)
    better[second, first] = differs & (pairs.points < 0)
    return better


def rank_rows(board: Board) -> list[Row]:
    """Return the rank of each system with its simultaneous set, and the tiers that are left, within this language."""
    names = board.corpus.systems
    if len(names) < 2:
        return []
    points = np.array([board.scores.points[Of(name)][MACRO_F1] for name in names])
    better = _better(board)
    sets, tier = formulas.rank_sets(better), formulas.layers(better)
    rank = average_ranks(list(without_dust(points, largest=1.0)))
    how = "decoders trained again" if board.refits else "decoders as they are"
    method = _RANKED_AGAIN if board.refits else _RANKED
    rows = []
    of: dict[str, Any] = {"n_items": board.corpus.n_items}
    for at, name in enumerate(names):
        keys = board.keys(Of(name))
        ends = (int(sets.low[at]), int(sets.high[at]), board.protocol.confidence, method, board.corpus.unit)
        note = f"1 is best, ties share the mean rank; the set holds for all systems at once; {how}"
        rows.append(Row("decodability", keys, "rank", float(rank[at]), *ends, note=note, **of))
        rows.append(Row("decodability", keys, "tier", float(tier[at]), note=f"{_TIER}; {how}", **of))
        note = f"1 if it may be first; {how}"
        rows.append(Row("decodability", keys, "in_top_set", float(ends[0] == 1), note=note, **of))
    return rows
