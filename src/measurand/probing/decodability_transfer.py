"""Does a decoder of one language's outputs read another's? Predictions, loss, and the tokens that it knows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from scipy import sparse

from measurand.probing.decodability_predict import Evidence, Protocol
from measurand.probing.decodability_replicates import MACRO_F1, Of, Predicted
from measurand.probing.decodability_rows import Board
from measurand.probing.decodability_table import Corpus
from measurand.result import Key, Row
from measurand.sentences import listed
from measurand.stats.decoding import decode
from measurand.stats.inference import FloatArray, percentile_interval

_METHOD: Final = "percentile bootstrap of predictions, each test language's items redrawn, the decoders as they are"


class Transferred(NamedTuple):
    """Predictions of the test language's items by a decoder of another, and the share of tokens that it knows."""

    system: str
    train: str
    test: str
    predicted: Predicted
    coverage: float
    n_train: int


def transfers(corpora: Sequence[Corpus], protocol: Protocol) -> list[Transferred]:
    """Return for every two languages of one label set what a decoder of the first predicts on the second.

    Parameters
    ----------
    corpora : sequence of Corpus
        One for each language; their token counts share the columns.
    protocol : Protocol
        The decoder; it is trained on all items of its language.
    """
    out = []
    for train in corpora:
        for system in train.systems:
            tests = [
                test
                for test in corpora
                if test is not train and list(test.classes) == list(train.classes) and system in test.systems
            ]
            if tests and len(train.classes) > 1:
                out += _of(train, tests, system, protocol)
    return out


def _of(train: Corpus, tests: Sequence[Corpus], system: str, protocol: Protocol) -> list[Transferred]:
    """Return one system's transfers from one language to several."""
    known = np.flatnonzero(np.bincount(train.counts[system].indices, minlength=train.counts[system].shape[1]))
    columns = known if len(known) else np.zeros(1, dtype=np.int64)
    parts = [sparse.csr_array(one.counts[system][:, columns]) for one in (train, *tests)]
    read = Evidence(sparse.csr_array(sparse.vstack(parts)), "tfidf", protocol.penalty)
    n = read.x.shape[0]
    label = np.full(n, -1, dtype=np.int64)
    label[: train.n_items] = train.label
    found = decode(
        read.x,
        label,
        (np.arange(n) < train.n_items)[None, :].astype(np.float64),
        n_classes=len(train.classes),
        penalty=protocol.penalty,
        balanced=protocol.balanced,
        features="tfidf",
    )[0].astype(np.int64)
    out, start = [], train.n_items
    for test, part in zip(tests, parts[1:], strict=True):
        total = float(test.counts[system].sum())
        coverage = float(part.sum()) / total if total and len(known) else np.nan
        predicted = Predicted(test.label[None, :], found[None, start : start + test.n_items])
        out.append(Transferred(system, train.language, test.language, predicted, coverage, train.n_items))
        start += test.n_items
    return out


def transfer_rows(
    corpora: Sequence[Corpus],
    boards: Mapping[str, Board],
    found: Sequence[Transferred],
    schemes: Mapping[str, Sequence[str]],
    protocol: Protocol,
) -> list[Row]:
    """Return the transfer matrix, the loss against each test language's own score, and the mean losses."""
    if len(corpora) < 2:
        return []
    rows = _refusals(corpora, schemes, protocol)
    points: dict[tuple[str, str, str], float] = {}
    draws: dict[tuple[str, str, str], FloatArray] = {}
    for one in found:
        board = boards[one.test]
        of, own = Of(one.system, train=one.train), Of(one.system)
        keys: dict[str, Key] = {
            "system": one.system,
            "token_unit": protocol.token_unit,
            "split": board.corpus.split,
            "train": one.train,
            "test": one.test,
        }
        sizes = f"trained on {one.n_train} items of {one.train}"
        rows.append(board.row(keys, "macro_f1", *_score(board, of), f"{sizes}; the decoder is not trained again"))
        note = f"own cross-validated macro-F1 minus that after {sizes}"
        rows.append(board.difference(own, of, keys, "transfer_loss", note))
        rows.append(_coverage(keys, one, board))
        name = (one.system, one.train, one.test)
        points[name] = float(board.scores.points[own][MACRO_F1] - board.scores.points[of][MACRO_F1])
        draws[name] = board.scores.draws[own][:, MACRO_F1] - board.scores.draws[of][:, MACRO_F1]
    if not points:
        return rows
    systems = list(dict.fromkeys(system for system, _, _ in points))
    for system in ["", *systems] if len(systems) > 1 else [""]:
        chosen = [name for name in points if system in ("", name[0])]
        rows.append(_mean_loss(system, chosen, points, draws, boards, protocol))
    return rows


def _score(board: Board, of: Of) -> tuple[float, FloatArray]:
    return float(board.scores.points[of][MACRO_F1]), board.scores.draws[of][:, MACRO_F1]


def _coverage(keys: Mapping[str, Key], one: Transferred, board: Board) -> Row:
    if np.isnan(one.coverage):
        reason = "there are no tokens on one of the two sides"
        return Row("decodability", keys, "vocabulary_coverage", np.nan, undefined=reason)
    note = f"share of the tokens of {one.test} that occur in {one.train}; descriptive: no interval"
    return Row("decodability", keys, "vocabulary_coverage", one.coverage, n_items=board.corpus.n_items, note=note)


def _mean_loss(
    system: str,
    chosen: Sequence[tuple[str, str, str]],
    points: Mapping[tuple[str, str, str], float],
    draws: Mapping[tuple[str, str, str], FloatArray],
    boards: Mapping[str, Board],
    protocol: Protocol,
) -> Row:
    """Return the mean loss over directions, and over systems where none is named."""
    tests = list(dict.fromkeys(test for _, _, test in chosen))
    directions = len({(train, test) for _, train, test in chosen})
    n_systems = len({name for name, _, _ in chosen})
    splits = {boards[test].corpus.split for test in tests}
    low, high, _ = percentile_interval(
        np.mean([draws[name] for name in chosen], axis=0), confidence=protocol.confidence
    )
    over = f"mean over {directions} directions" + (f" and {n_systems} systems" if n_systems > 1 else "")
    return Row(
        "decodability",
        {"system": system, "token_unit": protocol.token_unit, "split": splits.pop() if len(splits) == 1 else ""},
        "transfer_loss",
        float(np.mean([points[name] for name in chosen])),
        low,
        high,
        protocol.confidence,
        _METHOD,
        "group" if any(boards[test].corpus.group is not None for test in tests) else "item",
        sum(boards[test].corpus.n_items for test in tests),
        note=f"{over}; these languages and systems",
    )


def _refusals(corpora: Sequence[Corpus], schemes: Mapping[str, Sequence[str]], protocol: Protocol) -> list[Row]:
    """Return how many labels the languages share, and what is refused between languages whose labels differ."""
    shared = [name for name in next(iter(schemes.values())) if all(name in other for other in schemes.values())]
    rows = [
        Row(
            "decodability",
            {"token_unit": protocol.token_unit},
            "n_shared_labels",
            float(len(shared)),
            note="; ".join(f"{language}: {listed(names, most=20)}" for language, names in schemes.items()),
        )
    ]
    for train, test in itertools.permutations(corpora, 2):
        if list(train.classes) == list(test.classes):
            continue
        alone = [sorted(set(a.classes) - set(b.classes)) for a, b in ((train, test), (test, train))]
        told = " and ".join(
            f"{one.language} alone has {listed(names, most=8)}"
            for one, names in zip((train, test), alone, strict=True)
            if names
        )
        keys: dict[str, Key] = {"token_unit": protocol.token_unit, "train": train.language, "test": test.language}
        reason = f"the label sets differ ({told}): a score across them would measure the labels"
        rows.append(Row("decodability", keys, "macro_f1", np.nan, undefined=reason))
    return rows
