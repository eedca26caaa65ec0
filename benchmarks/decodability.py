"""What decoding costs beside a plain scikit-learn loop: eight systems, ten seeds of five folds, 2,000 replicates.

The loop is what one would write down: for each system and seed StratifiedKFold, in each fold TfidfVectorizer on lists
of tokens and LogisticRegression with its defaults, C = 4 and balanced classes; then for each system 2,000 times
f1_score(average="macro") of the first seed's pooled predictions on redrawn items. measurand's side starts from the same
lists of tokens, makes its own folds and replicates the predictions of all ten seeds. Both run in full and alternate in
one process. The script fails where, on the same folds, a system's macro-F1 (mean over seeds) differs by more than .002,
where a prediction differs from LogisticRegression's at tol=1e-8, or where replicates of macro-F1 of the same
predictions on the same draws differ by more than 1e-12.

The data are drawn here: 4,206 items of five classes, one to five tokens each from a vocabulary of 600 with frequencies
by Zipf's law, and for each system another strength of the classes' tastes.

The second table is for memory: one system, one seed, ten times as many items each time, with a vocabulary that grows
along; every size is a process of its own.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _common import HERE, RESULTS, Cost, alternate, arguments, clock, environment, markdown, median, spawn
from score import page

QUESTION = "What decodability costs: macro-F1 of eight systems under ten seeds, with intervals."
ITEMS, SYSTEMS, SEEDS, FOLDS, REPLICATES, TOKENS, PAIRS = 4206, 8, 10, 5, 2000, 600, 2
SHARES = np.array([0.28, 0.25, 0.2, 0.15, 0.12])
PENALTY = 4.0
GOAL_TIMES, GOAL_APART = 8.0, 0.002
SIZES = (0, 4206, 42060, 420600)


class Drawn:
    """Labels and token lists of each system."""

    def __init__(self, n_items: int, n_systems: int, n_tokens: int) -> None:
        rng = np.random.default_rng(20261130)
        self.label = rng.choice(5, size=n_items, p=SHARES)
        common = 1 / (np.arange(n_tokens) + 5.0) ** 1.1
        taste = rng.normal(size=(5, n_tokens))
        self.docs: list[list[list[str]]] = []
        for system in range(n_systems):
            shares = common * np.exp((0.95 + 0.03 * system) * taste)
            ends = (shares / shares.sum(axis=1, keepdims=True)).cumsum(axis=1)
            size = rng.choice([1, 2, 3, 4, 5], size=n_items, p=[0.15, 0.25, 0.35, 0.15, 0.1])
            token = np.empty(int(size.sum()), dtype=int)
            of_token, uniform = np.repeat(self.label, size), rng.random(len(token))
            for k in range(5):
                token[of_token == k] = np.searchsorted(ends[k], uniform[of_token == k]).clip(max=n_tokens - 1)
            self.docs.append([[f"t{t}" for t in part] for part in np.split(token, np.cumsum(size)[:-1])])


def counted(docs: list[list[str]]):
    """Return how often each row has each token, sparse."""
    from scipy import sparse

    place: dict[str, int] = {}
    column = np.array([place.setdefault(token, len(place)) for doc in docs for token in doc])
    row = np.repeat(np.arange(len(docs)), [len(doc) for doc in docs])
    return sparse.csr_array((np.ones(len(column)), (row, column)), shape=(len(docs), len(place)))


def own_folds(label: np.ndarray, n_seeds: int) -> np.ndarray:
    from measurand.stats.folds import stratified_folds
    from measurand.stats.inference import stream

    return np.array(
        [stratified_folds(label, n_folds=FOLDS, rng=stream(1, "folds", str(seed))) for seed in range(n_seeds)]
    )


def pooled(docs: list[list[str]], label: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """Return measurand's out-of-fold predictions under each seed."""
    from measurand.stats.decoding import decode

    train = (fold[:, None, :] != np.arange(FOLDS)[:, None]).reshape(-1, len(label))
    found = decode(counted(docs), label, train, n_classes=5, penalty=PENALTY)
    by_seed = found.reshape(len(fold), FOLDS, -1)
    return np.take_along_axis(by_seed, fold[:, None, :], axis=1)[:, 0]


def loop(docs: list[list[str]], label: np.ndarray, seeds: int, **solver: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return scikit-learn's out-of-fold predictions under each seed, the folds, and how many fits were cut short."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline

    rows = np.empty(len(docs), dtype=object)
    rows[:] = docs
    predicted, fold = np.empty((2, seeds, len(label)), dtype=int)
    cut = 0
    for seed in range(seeds):
        parts = StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, label)
        for held, (train, test) in enumerate(parts):
            model = make_pipeline(
                TfidfVectorizer(analyzer=list, sublinear_tf=True),
                LogisticRegression(C=PENALTY, class_weight="balanced", **solver),
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(rows[train], label[train])
            cut += int(model[-1].n_iter_.max() >= model[-1].max_iter)
            predicted[seed, test] = model.predict(rows[test])
            fold[seed, test] = held
    return predicted, fold, cut


def redrawn(label: np.ndarray, predicted: np.ndarray, rng: np.random.Generator, times: int) -> np.ndarray:
    from sklearn.metrics import f1_score

    out = np.empty(times)
    for b in range(times):
        rows = rng.integers(0, len(label), size=len(label))
        out[b] = f1_score(label[rows], predicted[rows], average="macro")
    return out


def speed_tables() -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the rows of measurand beside the loop, what they have in common, and the goals."""
    from measurand.stats.inference import bootstrap, clusters, stream
    from measurand.stats.predictions import Predictions

    drawn = Drawn(ITEMS, SYSTEMS, TOKENS)
    label, rows = drawn.label, np.arange(ITEMS)
    kept: dict[str, Any] = {}

    def our_fits() -> None:
        fold = own_folds(label, SEEDS)
        kept["ours"] = np.array([pooled(docs, label, fold) for docs in drawn.docs])

    def their_fits() -> None:
        kept["theirs"] = [loop(docs, label, SEEDS) for docs in drawn.docs]

    def our_replicates() -> None:
        ours = Predictions.of(label, kept["ours"].reshape(-1, ITEMS), n_classes=5)
        drawn_items = clusters(rows, rows, ITEMS)
        bootstrap(ours.macro_f1, drawn_items, n_replicates=REPLICATES, rng=stream(1, "bootstrap"))

    def their_replicates() -> None:
        for predicted, *_ in kept["theirs"]:
            redrawn(label, predicted[0], np.random.default_rng(1), REPLICATES)

    timed = {
        f"{SYSTEMS * SEEDS * FOLDS} fits": alternate(our_fits, their_fits, PAIRS),
        f"{REPLICATES:,} replicates": alternate(our_replicates, their_replicates, PAIRS),
    }
    ours, theirs = (
        [Cost(a.cpu + b.cpu, 0) for a, b in zip(*parts, strict=True)] for parts in zip(*timed.values(), strict=True)
    )
    timed["both"] = (ours, theirs)
    table = [
        {
            "what": what,
            "measurand, CPU s": median(a),
            "scikit-learn, CPU s": median(b),
            "times faster": median(b) / median(a),
            "pair by pair": " ".join(f"{y.cpu / x.cpu:.1f}" for x, y in zip(a, b, strict=True)),
        }
        for what, (a, b) in timed.items()
    ]
    exact: list[Any] = []
    optimum = clock(lambda: exact.extend(loop(docs, label, 1, tol=1e-8, max_iter=10000) for docs in drawn.docs))
    table.insert(
        1,
        {
            "what": f"the same with tol=1e-8, {SYSTEMS * FOLDS} fits scaled",
            "scikit-learn, CPU s": SEEDS * optimum.cpu,
            "times faster": SEEDS * optimum.cpu / table[0]["measurand, CPU s"],
        },
    )
    checks, far = same_numbers(drawn, kept["theirs"], exact)
    goals = [
        {
            "goal": "times faster than the loop, fits and replicates, at least",
            "limit": GOAL_TIMES,
            "measured": table[-1]["times faster"],
            "met": table[-1]["times faster"] >= GOAL_TIMES,
        },
        {
            "goal": "macro-F1 of a system apart, at most",
            "limit": GOAL_APART,
            "measured": far,
            "met": far <= GOAL_APART,
        },
    ]
    title = f"{SYSTEMS} systems x {ITEMS:,} items, {SEEDS} seeds of {FOLDS} folds, {REPLICATES:,} replicates"
    return {title: table, "The same numbers, on the same folds": checks}, goals


def same_numbers(drawn: Drawn, loose: list[Any], exact: list[Any]) -> tuple[list[dict[str, Any]], float]:
    """Return how far predictions are from the loop's, and the largest difference of a system's macro-F1."""
    from sklearn.metrics import f1_score

    from measurand.stats.predictions import Predictions

    label = drawn.label
    f1, differ, wrong = [], [], 0
    for docs, (predicted, fold, _), (best, same, _) in zip(drawn.docs, loose, exact, strict=True):
        mine = pooled(docs, label, fold)
        f1.append([[f1_score(label, one, average="macro") for one in each] for each in (mine, predicted)])
        differ.append((mine != predicted).mean())
        assert (same == fold[:1]).all()
        wrong += int((mine[0] != best[0]).sum())
    ours, theirs = np.moveaxis(np.array(f1), 1, 0)
    far = float(np.abs(ours.mean(axis=1) - theirs.mean(axis=1)).max())
    predicted = loose[0][0]
    rng = np.random.default_rng(1)
    weights = np.array([np.bincount(rng.integers(0, ITEMS, size=ITEMS), minlength=ITEMS) for _ in range(50)])
    redone = Predictions.of(label, predicted[:1], n_classes=5).macro_f1(weights.astype(float))[:, 0]
    apart = float(np.abs(redone - redrawn(label, predicted[0], np.random.default_rng(1), 50)).max())
    n_fits, n_predicted = SYSTEMS * SEEDS * FOLDS, SYSTEMS * ITEMS
    found = {
        "macro-F1 of the systems, mean over seeds": " ".join(f"{value:.3f}" for value in ours.mean(axis=1)),
        f"of {n_predicted:,} predictions under the first seed, not those of LogisticRegression at tol=1e-8": wrong,
        "share of predictions that are not those of its defaults": float(np.mean(differ)),
        f"of {n_fits} fits, stopped by its default of 100 iterations": sum(cut for *_, cut in loose),
        "macro-F1 apart from its defaults, largest of the systems' means over seeds": far,
        "the same, largest of single seeds": float(np.abs(ours - theirs).max()),
        "macro-F1 apart on 50 redrawn samples of the same predictions, largest": apart,
    }
    if far > GOAL_APART or wrong or apart > 1e-12:
        raise SystemExit(f"not the same numbers: {found}")
    return [{"check": check, "found": value} for check, value in found.items()], far


def sized(n_items: int, to: Path) -> None:
    """Decode one system under one seed; write what it cost. Without items: what the imports alone hold."""
    import measurand.stats.decoding
    import measurand.stats.folds

    found: dict[str, Any] = {"items": n_items}
    if n_items:
        drawn = Drawn(n_items, 1, TOKENS * n_items // ITEMS)
        x = counted(drawn.docs[0])
        fold = own_folds(drawn.label, 1)
        train = fold[0] != np.arange(FOLDS)[:, None]
        drawn.docs.clear()
        cost = clock(lambda: measurand.stats.decoding.decode(x, drawn.label, train, n_classes=5, penalty=PENALTY))
        found |= {"tokens": x.shape[1], "stored values": x.nnz, "CPU s, 5 fits": cost.cpu}
        found["as a dense matrix, MiB"] = round(x.shape[0] * x.shape[1] * 8 / 2**20)
    to.write_text(json.dumps(found))


def memory_table() -> list[dict[str, Any]]:
    import tempfile

    rows = []
    with tempfile.TemporaryDirectory() as made:
        to = Path(made) / "found.json"
        for n_items in SIZES:
            cost = spawn([sys.executable, str(HERE / "decodability.py"), "--sized", str(n_items), "--to", str(to)])
            if cost.status:
                sys.exit(f"{n_items} items failed")
            rows.append({**json.loads(to.read_text()), "peak MiB": round(cost.peak / 2**20)})
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    early = argparse.ArgumentParser(add_help=False)
    early.add_argument("--sized", type=int)
    early.add_argument("--to", type=Path)
    known, _ = early.parse_known_args()
    if known.sized is not None:
        sized(known.sized, known.to)
        return
    options = arguments(
        __doc__, out={"type": Path, "default": RESULTS / "decodability.md", "help": "the page of the result"}
    )
    from threadpoolctl import threadpool_limits

    memory = memory_table()  # before this process grows
    with threadpool_limits(1):
        tables, goals = speed_tables()
    notes = [
        f"Medians of {PAIRS} alternating pairs on one thread, both in full. The loop replicates the predictions of the "
        "first seed of each system, measurand those of every seed.",
        "The solver is measurand's own: batched Newton steps by conjugate gradients, to the optimum. "
        "LogisticRegression's defaults stop at tol=1e-4 or 100 iterations: that is where predictions differ.",
        "Memory: one process for each size, from drawing the lists of tokens on; the first row is what the imports "
        "hold. The lists themselves, of Python strings, are part of the peak.",
    ]
    found = {
        "name": "decodability",
        "question": QUESTION,
        **environment(),
        "tables": {**tables, "One system, one seed: memory": memory, "Goals": goals},
        "notes": notes,
    }
    found["packages"]["scikit-learn"] = importlib.metadata.version("scikit-learn")
    print(markdown(found))
    options.out.write_text(page(found), encoding="utf-8")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
