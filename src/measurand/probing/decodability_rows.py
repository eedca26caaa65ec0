"""Rows of one language's scores: systems, classes, floors, the union of systems, the learning curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from measurand.probing.bounds import within
from measurand.probing.decodability_predict import CURVE_SEEDS, Protocol, sizes
from measurand.probing.decodability_replicates import (
    ACCURACY,
    FIRST_CLASS,
    INFORMATION,
    INFORMATION_PLUGIN,
    MACRO_F1,
    Of,
    Replicated,
)
from measurand.probing.decodability_table import Corpus, count_features
from measurand.result import Key, Row
from measurand.sentences import joined
from measurand.stats.inference import Exact, FloatArray, holm, percentile_interval, stream, t_quantile
from measurand.stats.information import entropy, information_tests

PREDICTIONS: Final = "percentile bootstrap of out-of-fold predictions, mean over seeds"
REFITTED: Final = "t with the standard deviation of a bootstrap that trains every decoder again"
#: How often 95 % intervals of scores and differences held the mean over new items of the same number: 300 and 1,200
#: items of four labels, 1 to 4 tokens each, two systems, 3 seeds, 40 refits; 300 and 150 simulated tables.
_HELD: Final = "in simulation a 95 % interval of this kind held"
HELD_PREDICTIONS: Final = f"{_HELD} 81 to 88 % of the time"
HELD_REFITTED: Final = f"{_HELD} 97 to 98 % of the time"
#: The level that was simulated, and what counts as rounding.
_HELD_AT: Final = 0.95
_DUST: Final = 1e-9
_AS_THEY_ARE: Final = "decoders as they are: what other training items would change is left out"
_NO_WIDTH: Final = (
    "every replicate has this value: that the interval has no width says nothing of what other items would show"
)
_OF_NUMBER: Final = (
    "p: the information that the number of tokens holds of the label, against labels permuted among the {}s; adjusted "
    "over all systems and languages (Holm)"
)
#: Permutations that test whether the number of tokens tells the label.
PERMUTATIONS: Final = 2000
_CONTROLS: Final = {
    "majority": "the largest class is predicted throughout: 1/K x 2p/(1 + p) with its share p",
    "permuted": "labels permuted among the items: what decoders of these outputs get by chance; mean over permutations",
    "count": "the decoder knows the number of tokens alone",
    "count_permuted": "the decoder knows the number of tokens alone, and the labels are permuted: its level by chance",
    "union": "tokens of all systems' outputs to an item together",
}

#: Language and system to p, p_adjusted and attainable_p.
NumberTests = Mapping[tuple[str, str], Mapping[str, float]]


@dataclass(frozen=True)
class Board:
    """The scores of one language, and how they are named.

    Parameters
    ----------
    corpus : Corpus
        The items.
    protocol : Protocol
        The settings.
    scores : Replicated
        Points and replicates.
    fold_means : mapping
        System to the mean over folds and seeds of macro-F1 within a fold.
    refits : mapping
        System to replicates of macro-F1 for which every decoder was trained again; empty if there are none.
    """

    corpus: Corpus
    protocol: Protocol
    scores: Replicated
    fold_means: Mapping[str, float] = field(default_factory=dict)
    refits: Mapping[str, FloatArray] = field(default_factory=dict)

    def keys(self, of: Of, **more: Key) -> dict[str, Key]:
        """Return the keys of a number; what is blank is left out."""
        found: dict[str, Key] = {
            "system": of.system,
            "language": self.corpus.language,
            "token_unit": self.protocol.token_unit,
            "split": self.corpus.split,
            "control": of.control,
        }
        if of.n_train:
            found["n_train"] = of.n_train
        return found | more

    def row(
        self, keys: Mapping[str, Key], statistic: str, point: float, draws: FloatArray | None, note: str = "", **of: Any
    ) -> Row:
        """Return the row of a score, with a percentile interval where it has replicates."""
        if np.isnan(point):
            return Row("decodability", keys, statistic, point, undefined="a class has neither items nor predictions")
        if draws is None:
            return Row("decodability", keys, statistic, point, n_items=self.corpus.n_items, note=note, **of)
        low, high, lost = percentile_interval(draws, confidence=self.protocol.confidence)
        lost_note = f"undefined in {100 * lost:.2g} % of the replicates" if lost else ""
        note = joined(note, _NO_WIDTH if high - low < _DUST else "")
        return Row(
            "decodability",
            keys,
            statistic,
            point,
            low,
            high,
            self.protocol.confidence,
            PREDICTIONS,
            self.corpus.unit,
            self.corpus.n_items,
            note=joined(note, lost_note),
            **of,
        )

    def held(self, text: str) -> str:
        """Return how often intervals held in simulation, blank where they have another level than was simulated."""
        return text if abs(self.protocol.confidence - _HELD_AT) < _DUST else ""

    def score(self, of: Of, statistic: str, at: int, note: str = "", **more: Key) -> Row:
        """Return the row of one of the scores of a system or control."""
        point, draws = self.scores.points[of][at], self.scores.draws[of][:, at]
        return self.row(self.keys(of, **more), statistic, float(point), draws, note)

    def difference(self, a: Of, b: Of, keys: Mapping[str, Key], statistic: str, note: str = "", **of: Any) -> Row:
        """Return the row of a paired difference of macro-F1."""
        point = self.scores.points[a][MACRO_F1] - self.scores.points[b][MACRO_F1]
        draws = self.scores.draws[a][:, MACRO_F1] - self.scores.draws[b][:, MACRO_F1]
        return self.row(keys, statistic, float(point), draws, joined("paired over items", note), **of)

    def error(self, a: Of, b: Of | None = None) -> float:
        """Return the standard error of a score, or of a paired difference, with decoders that are trained again.

        A refit has one assignment of items to folds, where the score is the mean over all: what a single one adds is
        taken off. The rest is never taken to be less than the spread of redrawn predictions.
        """
        scores, refits, runs = self.scores.draws[a][:, MACRO_F1], self.refits[a.system], self.scores.runs[a]
        if b is not None:
            scores, refits = scores - self.scores.draws[b][:, MACRO_F1], refits - self.refits[b.system]
            runs = runs - self.scores.runs[b]
        of_folds = float(runs.var(ddof=1)) * (1 - 1 / len(runs)) if len(runs) > 1 else 0.0
        return float(np.sqrt(max(refits.var(ddof=1) - of_folds, np.nanvar(scores, ddof=1))))

    def refitted(self, keys: Mapping[str, Key], statistic: str, a: Of, b: Of | None = None, **of: Any) -> Row:
        """Return the row of a score or paired difference with the interval of decoders that are trained again."""
        point, refits = self.scores.points[a][MACRO_F1], self.refits[a.system]
        if b is not None:
            point, refits = point - self.scores.points[b][MACRO_F1], refits - self.refits[b.system]
        half = t_quantile(len(refits) - 1, self.protocol.confidence) * self.error(a, b)
        note = joined(
            f"{len(refits)} refits with the mean {refits.mean():.4f}: redrawn items are fewer distinct ones to learn "
            "from, so that their spread is used and their centre is not; copies of an item are in one fold; what one "
            "assignment to folds adds is taken off",
            self.held(HELD_REFITTED),
            _NO_WIDTH if half < _DUST else "",
        )
        ends = (float(point - half), float(point + half), self.protocol.confidence, REFITTED, self.corpus.unit)
        row = Row("decodability", keys, statistic, float(point), *ends, self.corpus.n_items, note=note, **of)
        return within(row, 0.0 if b is None else -1.0, 1.0)


def sizes_of(board: Board) -> list[Row]:
    """Return what the scores of a language rest on."""
    corpus = board.corpus
    keys = {"language": corpus.language, "token_unit": board.protocol.token_unit, "split": corpus.split}
    of_classes = ", ".join(
        f"{name} {n}"
        for name, n in zip(corpus.classes, np.bincount(corpus.label, minlength=len(corpus.classes)), strict=True)
    )
    rare = _rare_note(corpus, board.protocol.n_folds, is_shared=board.protocol.labels == "shared")
    counts: list[tuple[str, int, str]] = [
        ("n_items", corpus.n_items, ""),
        ("n_labels", len(corpus.classes), of_classes),
        ("n_no_label", corpus.n_no_label, "items left out: their label is blank"),
        ("n_incomplete", corpus.n_incomplete, "items left out: some system has no output to them"),
        ("n_other_label", corpus.n_other_label, "items left out: their label is not one that all languages have"),
        ("n_rare_label", corpus.n_rare_label, rare),
    ]
    if corpus.group is not None:
        counts.append(("n_groups", len(np.unique(corpus.group)), "folds keep them whole, and they are what is redrawn"))
    rows = [Row("decodability", keys, name, float(n), note=note) for name, n, note in counts]
    for system in corpus.systems:
        n_blank = int((np.diff(corpus.counts[system].indptr) == 0).sum())
        note = "outputs without a token; they are kept, as rows of zeros"
        rows.append(Row("decodability", keys | {"system": system}, "n_without_tokens", n_blank, note=note))
    return rows


def _rare_note(corpus: Corpus, n_folds: int, *, is_shared: bool) -> str:
    """Return which labels have too few items or groups for the folds, and how many they have."""
    what = f"items left out: their label has fewer {corpus.unit}s than the {n_folds} folds"
    what += ", in this language or another" if is_shared else ""
    return f"{what} ({', '.join(f'{name} {n}' for name, n in corpus.rare.items())})" if corpus.rare else what


def system_rows(board: Board) -> list[Row]:
    """Return the scores of each system: over seeds, by seed, by class, refitted."""
    corpus = board.corpus
    rows: list[Row] = []
    for system in corpus.systems:
        of = Of(system)
        runs = board.scores.runs[of]
        rows.append(board.score(of, "macro_f1", MACRO_F1, joined(_AS_THEY_ARE, board.held(HELD_PREDICTIONS))))
        if board.refits:
            rows.append(board.refitted(board.keys(of), "macro_f1", of))
        rows += [
            board.row(
                board.keys(of, seed=number),
                "macro_f1",
                float(value),
                None,
                "one assignment of items to folds; the interval is that of the mean over seeds",
            )
            for number, value in enumerate(runs, start=1)
        ]
        keys = board.keys(of)
        if len(runs) > 1:
            note = (
                "standard deviation over assignments of items to folds: no sampling error, and nothing of how much "
                "another generation of the outputs would differ"
            )
            rows.append(board.row(keys, "seed_sd", float(runs.std(ddof=1)), None, note))
        note = "mean of the macro-F1 within each fold, in place of pooled predictions; the interval is that of macro_f1"
        rows.append(board.row(keys, "macro_f1_fold_mean", board.fold_means[system], None, note))
        rows.append(board.score(of, "accuracy", ACCURACY))
        rows.append(_information(board, of))
        rows += [board.score(of, "f1", FIRST_CLASS + at, **{"class": name}) for at, name in enumerate(corpus.classes)]
    return rows


def _information(board: Board, of: Of) -> Row:
    """Return how many bits the predictions hold of the label.

    Replicates scatter around what the sample's own table holds, uncorrected: they are moved by its correction.
    """
    point, draws = board.scores.points[of], board.scores.draws[of][:, INFORMATION]
    most = entropy(np.bincount(board.corpus.label).astype(np.float64))
    note = (
        "bits that the prediction holds of the label, a lower bound of what the output holds; Miller-Madow correction, "
        f"cut off at what there is to know of these labels, {most:.4g} bits"
    )
    moved = np.minimum(draws - (point[INFORMATION_PLUGIN] - point[INFORMATION]), most)
    return board.row(board.keys(of), "mutual_information", min(float(point[INFORMATION]), most), moved, note)


def number_tests(boards: Sequence[Board]) -> NumberTests:
    """Return of each language and system whether the number of tokens tells the label: p, adjusted p, attainable p.

    Labels are permuted among the items (where there are groups, among groups of one size, whole).
    """
    found: dict[tuple[str, str], Exact] = {}
    for board in boards:
        corpus, names = board.corpus, board.corpus.systems
        numbers = np.array([count_features(corpus.counts[name]).indices for name in names])
        rng = stream(board.protocol.seed, "decodability", corpus.language, "number of tokens")
        tests = information_tests(numbers, corpus.label, group=corpus.group, n_draws=PERMUTATIONS, rng=rng)
        found |= {(corpus.language, name): test for name, test in zip(names, tests, strict=True)}
    adjusted = holm(np.array([test.p for test in found.values()]))
    return {
        name: {"p": test.p, "p_adjusted": float(one), "attainable_p": test.attainable_p}
        for (name, test), one in zip(found.items(), adjusted, strict=True)
    }


def control_rows(board: Board, tests: NumberTests) -> list[Row]:
    """Return the floors, the union of systems, and how far each system lies above its floors."""
    rows = [
        board.score(of, "macro_f1", MACRO_F1, _CONTROLS[of.control])
        for of in board.scores.points
        if of.control in _CONTROLS and not of.n_train
    ]
    majority = Of(control="majority")
    for system in board.corpus.systems:
        for floor in (majority, Of(system, "permuted"), Of(system, "count")):
            keys = board.keys(Of(system, floor.control))
            rows.append(board.difference(Of(system), floor, keys, "excess", f"macro-F1 above that of {floor.control}"))
        number = Of(system, "count")
        for floor in (majority, Of(system, "count_permuted")):
            keys = board.keys(number, against=floor.control)
            note, test = "what the number of tokens tells of the label", {}
            if floor != majority:
                note = joined(note, _OF_NUMBER.format(board.corpus.unit))
                test = dict(tests[board.corpus.language, system])
            rows.append(board.difference(number, floor, keys, "excess", note, **test))
    union = Of(control="union")
    if union in board.scores.points:
        points = {system: board.scores.points[Of(system)][MACRO_F1] for system in board.corpus.systems}
        best = max(points, key=lambda name: points[name])
        keys = board.keys(union, against=best)
        rows.append(
            board.difference(union, Of(best), keys, "difference", "the union minus the best system, chosen here")
        )
    return rows


def curve_rows(board: Board) -> list[Row]:
    """Return the learning curve of each system, and what the last doubling of the training items gained."""
    wanted = sizes(board.corpus, board.protocol)
    n_seeds = min(CURVE_SEEDS, board.protocol.n_seeds)
    rows = [
        board.score(of, "macro_f1", MACRO_F1, f"trained on {of.n_train} items, mean over {n_seeds} seeds")
        for of in board.scores.points
        if of.n_train
    ]
    if len(wanted) < 2 or wanted[-1] // 2 not in wanted:
        return rows
    whole, half = wanted[-1], wanted[-1] // 2
    for of in [of for of in board.scores.points if of.n_train == whole]:
        note = f"macro-F1 after training on {whole} items minus after {half}"
        keys = board.keys(of)
        rows.append(board.difference(of, of._replace(n_train=half), keys, "gain_of_doubling", note))
    return rows
