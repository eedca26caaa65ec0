"""Which systems' outputs tell more of the labels? Paired differences, ranks that hold at once, tiers."""

from __future__ import annotations

import itertools
from typing import Any, Final

import numpy as np

from measurand.probing.decodability_replicates import MACRO_F1, Of
from measurand.probing.decodability_rows import Board
from measurand.result import Row
from measurand.sentences import joined
from measurand.stats import ranks as formulas
from measurand.stats.inference import average_ranks, holm, t_p, without_dust
from measurand.stats.replicates import bootstrap_p, simultaneous_low

_RANKED: Final = "largest studentised deviation over all pairs, bootstrap of predictions (Romano & Wolf 2005)"
_RANKED_AGAIN: Final = f"{_RANKED}, standard errors of decoders that are trained again"
_TIER: Final = "layer of the order that is left: one more than the longest chain of systems that are better"
#: Adjusted p that so many pairs must be able to get below.
_SIGNIFICANT: Final = 0.05


def difference_rows(board: Board) -> list[Row]:
    """Return the paired differences of every two systems, with decoders as they are and trained again."""
    pairs = list(itertools.combinations(board.corpus.systems, 2))
    if not pairs:
        return []
    points, tests = [], []
    for a, b in pairs:
        point = float(board.scores.points[Of(a)][MACRO_F1] - board.scores.points[Of(b)][MACRO_F1])
        draws = board.scores.draws[Of(a)][:, MACRO_F1] - board.scores.draws[Of(b)][:, MACRO_F1]
        points.append(point)
        tests.append(bootstrap_p(point, draws))
    coarse = len(pairs) * tests[0].attainable_p
    note = "decoders as they are"
    if coarse >= _SIGNIFICANT:
        note = joined(note, f"with these replicates Holm over {len(pairs)} pairs cannot get below {coarse:.2g}")
    adjusted = holm(np.array([test.p for test in tests]))
    rows = []
    for (a, b), test, p_adjusted in zip(pairs, tests, adjusted, strict=True):
        keys = board.keys(Of(a), against=b)
        told: dict[str, Any] = {"p": test.p, "p_adjusted": float(p_adjusted), "attainable_p": test.attainable_p}
        rows.append(board.difference(Of(a), Of(b), keys, "difference", note, **told))
    return rows + _again(board, pairs, points)


def _again(board: Board, pairs: list[tuple[str, str]], points: list[float]) -> list[Row]:
    """Return the differences with decoders that are trained again."""
    if not board.refits:
        return []
    df = board.protocol.refits - 1
    errors = [board.error(Of(a), Of(b)) for a, b in pairs]
    # Two systems whose decoders predict the same throughout have no error to judge a difference of 0 by.
    p = [t_p(point / error, df) if error > 0 else 1.0 for point, error in zip(points, errors, strict=True)]
    adjusted = holm(np.array(p))
    return [
        board.refitted(
            board.keys(Of(a), against=b),
            "difference",
            Of(a),
            Of(b),
            df1=1,
            df2=df,
            p=one,
            p_adjusted=float(p_adjusted),
        )
        for (a, b), one, p_adjusted in zip(pairs, p, adjusted, strict=True)
    ]


def rank_rows(board: Board) -> list[Row]:
    """Return the rank of each system with its simultaneous set, and the tiers that are left, within this language."""
    names = board.corpus.systems
    if len(names) < 2:
        return []
    points = np.array([board.scores.points[Of(name)][MACRO_F1] for name in names])
    draws = np.column_stack([board.scores.draws[Of(name)][:, MACRO_F1] for name in names])
    errors = None
    if board.refits:
        errors = np.array([board.error(Of(a), Of(b)) for a, b in itertools.combinations(names, 2)])
    low = simultaneous_low(points, draws, confidence=board.protocol.confidence, errors=errors)
    better = formulas.better_than(low)
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
