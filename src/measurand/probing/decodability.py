"""Can the label of an item be read off what a system wrote for it? Cross-validated macro-F1 of a linear decoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from measurand.data.outputs import Outputs, as_outputs
from measurand.data.text import TOKEN_UNITS, TokenUnit
from measurand.data.vectors import Vectors
from measurand.probing.decodability_order import difference_rows, rank_rows
from measurand.probing.decodability_predict import (
    Protocol,
    fold_means,
    folds,
    refitted,
    settings_of,
    systems,
)
from measurand.probing.decodability_replicates import Of, Predicted, replicate
from measurand.probing.decodability_rows import (
    Board,
    NumberTests,
    control_rows,
    curve_rows,
    number_tests,
    sizes_of,
    system_rows,
)
from measurand.probing.decodability_table import LABELS, Corpus, Group, Labels, corpora
from measurand.probing.decodability_transfer import Transferred, transfer_rows, transfers
from measurand.probing.decodability_vectors import vector_rows
from measurand.result import MeasurandError, Result, Row
from measurand.sentences import listed
from measurand.stats.inference import FloatArray, clusters, stream

Progress = Callable[[str, int, int], None]

#: Protocols of papers: arguments of `decodability`.
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "ead": {
        "token_unit": "non_ascii_grapheme",
        "penalty": 4.0,
        "balanced": True,
        "n_folds": 5,
        "n_seeds": 10,
        "replicates": 2000,
        "labels": "shared",
        "group": False,
    }
}
#: Training sizes of the learning curve, as far as there are so many items.
LEARNING_CURVE: Final = (100, 200, 400, 800, 1600, 3200)


def decodability(
    outputs: Outputs | Any,
    *,
    token_unit: TokenUnit = "emoji",  # noqa: S107 - no password
    penalty: float = 4.0,
    balanced: bool = True,
    n_folds: int = 5,
    n_seeds: int = 10,
    replicates: int = 2000,
    refits: int = 40,
    learning_curve: Sequence[int] = LEARNING_CURVE,
    labels: Labels = "refuse",
    group: Group = "auto",
    vectors: Mapping[str, Vectors] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Return how well the labels of items can be decoded from each system's outputs, and from what is no system.

    Parameters
    ----------
    outputs : Outputs, path or data frame
        With columns `text` and `label`; see `measurand.data.read_outputs`.
    token_unit : {"emoji", "non_ascii_grapheme", "word", "grapheme", "character"}
        What the decoder sees of an output: how often each such token occurs in it.
    penalty : float
        C of the regression; smaller is stronger.
    balanced : bool
        Whether every class has the same weight in training, however many items it has.
    n_folds, n_seeds : int
        Folds of the cross-validation, and number of assignments of items to folds. All systems share them.
    replicates : int
        Bootstrap replicates of predictions.
    refits : int
        Bootstrap replicates in which every decoder is trained again; 0 leaves them out, else 2 or more.
    learning_curve : sequence of int
        Training sizes; half of the full size and the full one are added. Blank leaves the curve out.
    labels : {"refuse", "shared"}
        Where languages have different labels: keep each language's own and refuse what crosses languages, or keep only
        the items whose label every language has.
    group : bool or "auto"
        Whether folds keep groups whole, which are then what is redrawn: those of the column `group`, without one items
        of the same source text. "auto" does so where there are such groups.
    vectors : mapping of name to Vectors, optional
        Vectors of the items, decoded on the items that have one beside the systems on the same items.
    confidence, seed
        Level of intervals; the one seed.
    progress : callable or None
        Told the name of the work, how many steps are done, and how many there are.

    Returns
    -------
    Result
        Analysis `decodability`. Within each language and for each system: `macro_f1` of the pooled out-of-fold
        predictions over the fixed label set, mean over seeds (blank `seed`), with the interval of redrawn predictions
        and, as a second row, that of refitted decoders; the value of each seed, `seed_sd`, `macro_f1_fold_mean`,
        `accuracy`, `mutual_information` (bits), `f1` of each `class`; `difference` from every other system (`against`),
        `rank`, `tier`, `in_top_set`, with the errors of refitted decoders if there are any. Under `control`: the floors
        ``majority``, ``permuted`` (labels) and ``count`` (number of tokens alone, whose own floor is
        ``count_permuted``) with the `excess` of each system above them, ``union`` (tokens of all systems),
        ``vectors:NAME`` and the systems on the same items, ``matched:NAME``. Under `n_train`: the learning curve and
        its `gain_of_doubling`. Between languages (`train`, `test`): `macro_f1`, `transfer_loss` against the test
        language's own score, `vocabulary_coverage`. What was left out is counted, such as items whose label has fewer
        items (or groups) than folds (`n_rare_label`; of shared labels such a one is left out of all languages). A
        language is undefined where fewer than two labels are left.

    Raises
    ------
    MeasurandError
        If texts or labels are missing, or no labelled item has an output of every system.

    Notes
    -----
    The decoder is a multinomial logistic regression with an l2 penalty on (1 + ln tf) idf, rows of length 1; idf is
    taken from the training folds. Outputs without a token are rows of zeros. A decodable output is one that is
    consistent with the corpus' labels; whether it is a good one is another question.

    References
    ----------
    Sakhawat 2026, arXiv 2609.29445, section 6 and appendix B.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"item": range(40), "text": ["😀", "😢"] * 20, "label": ["joy", "sadness"] * 20})
    >>> few = {"n_seeds": 2, "replicates": 50, "refits": 0, "learning_curve": ()}
    >>> decodability(table, **few).value("decodability", "accuracy")
    1.0
    """
    protocol = Protocol(
        token_unit,
        penalty,
        balanced,
        n_folds,
        n_seeds,
        replicates,
        refits,
        tuple(learning_curve),
        labels,
        group,
        confidence,
        seed,
    )
    _check(protocol)
    found, schemes = corpora(as_outputs(outputs), token_unit=token_unit, labels=labels, group=group)
    found, schemes, undecoded = _without_rare(found, schemes, protocol)
    decoded = [one for one in found if one.language not in undecoded]
    tell = _Told(progress, 1 + sum(1 + len(one.systems) * (2 if refits else 1) for one in decoded))
    crossed = transfers(decoded, protocol)
    tell("transfer between languages")
    boards = {
        one.language: _board(one, protocol, [x for x in crossed if x.test == one.language], tell) for one in decoded
    }
    tests = number_tests(list(boards.values()))
    rows: list[Row] = []
    for one in found:
        if one.language in undecoded:
            keys = {"language": one.language, "token_unit": token_unit, "split": one.split}
            rows.append(Row("decodability", keys, "macro_f1", np.nan, undefined=undecoded[one.language]))
            continue
        rows += _rows(boards[one.language], vectors or {}, tests)
        tell("decodability", one.language)
    rows += transfer_rows(found, boards, crossed, schemes, protocol)
    return Result(rows, {"decodability": settings_of(protocol) | {"vectors": list(vectors or {})}})


def _board(corpus: Corpus, protocol: Protocol, crossed: Sequence[Transferred], tell: _Told) -> Board:
    """Return the scores of one language."""
    predicted: dict[Of, Predicted] = {}
    for of, one in systems(corpus, protocol):
        predicted[of] = one
        if of == Of(of.system):
            tell("decodability", corpus.language, of.system)
    predicted |= {Of(one.system, train=one.train): one.predicted for one in crossed}
    drawn = clusters(corpus.redrawn, np.arange(corpus.n_items), corpus.n_items)
    rng = stream(protocol.seed, "decodability", corpus.language, "replicates")
    scores = replicate(predicted, len(corpus.classes), drawn, n_replicates=protocol.replicates, rng=rng)
    fold = folds(corpus, protocol, corpus.label)
    means = {
        name: fold_means(predicted[Of(name)], fold, len(corpus.classes), protocol.n_folds) for name in corpus.systems
    }
    refits: dict[str, FloatArray] = {}
    for name, macro_f1 in refitted(corpus, protocol) if protocol.refits else ():
        refits[name] = macro_f1
        tell("decodability", corpus.language, f"{name}, trained again")
    return Board(corpus, protocol, scores, means, refits)


def _rows(board: Board, vectors: Mapping[str, Vectors], tests: NumberTests) -> list[Row]:
    """Return the rows of one language."""
    return [
        *sizes_of(board),
        *system_rows(board),
        *control_rows(board, tests),
        *rank_rows(board),
        *difference_rows(board),
        *curve_rows(board),
        *vector_rows(board.corpus, vectors, board.protocol),
    ]


def _check(protocol: Protocol) -> None:
    """Refuse settings that cannot be meant."""
    if protocol.token_unit not in TOKEN_UNITS:
        raise MeasurandError(f"token unit {protocol.token_unit!r}; allowed are {', '.join(TOKEN_UNITS)}")
    if protocol.labels not in LABELS:
        raise MeasurandError(f"labels {protocol.labels!r}; allowed are {', '.join(LABELS)}")
    if not 0 < protocol.penalty < np.inf:
        raise MeasurandError(f"penalty {protocol.penalty:g}; give a finite number above 0, such as 4")
    if not 0 < protocol.confidence < 1:
        raise MeasurandError(f"confidence {protocol.confidence:g}; give a share between 0 and 1, such as .95")
    least = (("n_folds", 2), ("n_seeds", 1), ("replicates", 2))
    for name, lowest in least:
        if getattr(protocol, name) < lowest:
            raise MeasurandError(f"{name} {getattr(protocol, name)}; it must be {lowest} or more")
    if protocol.refits < 0 or protocol.refits == 1:
        raise MeasurandError(f"refits {protocol.refits}; give 0 to leave them out, or 2 or more")
    if any(size < 1 for size in protocol.learning_curve):
        raise MeasurandError(f"learning_curve {list(protocol.learning_curve)}; training sizes are 1 or more")


def _without_rare(
    found: Sequence[Corpus], schemes: Mapping[str, Sequence[str]], protocol: Protocol
) -> tuple[list[Corpus], dict[str, list[str]], dict[str, str]]:
    """Leave out labels that some fold would lack.

    Returns
    -------
    (list of Corpus, dict, dict)
        The corpora, those that cannot be decoded as they were; the labels of each language that are left; language to
        why it cannot be decoded.
    """
    n_folds = protocol.n_folds
    rare = {
        one.language: {name: int(n) for name, n in zip(one.classes, one.units_of_labels(), strict=True) if n < n_folds}
        for one in found
    }
    out, left, undecoded = [], {language: list(names) for language, names in schemes.items()}, {}
    for one in found:
        gone = rare[one.language]
        if protocol.labels == "shared":
            # What one language lacks is left out of all, so that they still have the same labels.
            names = {name for of_language in rare.values() for name in of_language}
            units = dict(zip(one.classes, one.units_of_labels().tolist(), strict=True))
            gone = {name: units[name] for name in one.classes if name in names}
        if len(one.classes) - len(gone) >= 2:
            out.append(one.without(gone))
        else:
            out.append(one)
            undecoded[one.language] = _too_few(one, gone, n_folds)
            continue
        left[one.language] = [name for name in left[one.language] if name not in gone]
    return out, left, undecoded


def _too_few(corpus: Corpus, gone: Mapping[str, int], n_folds: int) -> str:
    """Return why a language cannot be decoded."""
    if len(corpus.classes) == 1:
        return f"every labelled item has the label {corpus.classes[0]}: there is nothing to tell apart"
    told = listed([f"{name} {n}" for name, n in gone.items()], most=8)
    return (
        f"fewer than two labels have as many {corpus.unit}s with outputs of all systems as there are folds, {n_folds}; "
        f"too rare: {told}. Take fewer folds, or merge labels"
    )


class _Told:
    """Tells of each step that is done."""

    def __init__(self, progress: Progress | None, n_steps: int) -> None:
        self._progress, self._n, self._at = progress, n_steps, 0

    def __call__(self, *names: str) -> None:
        self._at += 1
        if self._progress is not None:
            self._progress(" ".join(filter(None, names)), self._at, self._n)
