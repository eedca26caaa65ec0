"""Draw rows of tokens with classes and folds; write what scikit-learn predicts for each row from the other folds.

The solver is the one that goes to the optimum. Scores are centred over the classes that the training rows have, because
only their differences mean something; they are blank for classes that these do not have.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).parent
N_FOLDS, N_CLASSES, N_TOKENS = 4, 4, 25
SAMPLES = {
    # name: rows, share of empty rows, classes that occur, C, balanced, redrawn
    "plain": (120, 0.0, (0, 1, 2, 3), 4.0, True, False),
    "empty_rows": (120, 0.3, (0, 1, 2, 3), 4.0, True, False),
    "unbalanced": (100, 0.1, (0, 1, 2, 3), 0.5, False, False),
    "redrawn": (120, 0.1, (0, 1, 2, 3), 4.0, True, True),
    "rare_class": (60, 0.1, (0, 1, 3), 4.0, True, False),
    "two_classes": (80, 0.1, (1, 2), 4.0, True, False),
}


def scores_of(model: LogisticRegression, x) -> np.ndarray:
    found = model.decision_function(x)
    if found.ndim == 1:
        found = np.column_stack([-found / 2, found / 2])
    out = np.full((len(found), N_CLASSES), np.nan)
    out[:, model.classes_] = found - found.mean(axis=1, keepdims=True)
    return out


def main() -> None:
    rng = np.random.default_rng(2042)
    rows, expected = [], []
    for name, (n, empty, classes, penalty, balanced, redrawn) in SAMPLES.items():
        label = rng.choice(classes, size=n, p=np.arange(len(classes), 0, -1) / np.arange(1, len(classes) + 1).sum())
        if name == "rare_class":
            label = np.where(label == 3, 0, label)
            label[7] = 3  # its one row is predicted without it
        taste = rng.dirichlet(np.full(N_TOKENS, 0.4), size=N_CLASSES)
        docs = [
            [f"t{token}" for token in rng.choice(N_TOKENS, size=0 if rng.random() < empty else rng.integers(1, 6), p=p)]
            for p in taste[label]
        ]
        fold = rng.permutation(n) % N_FOLDS
        times = rng.multinomial(n, np.full(n, 1 / n)) if redrawn else np.ones(n, dtype=int)
        rows += [
            [name, row, penalty, int(balanced), int(c), int(f), int(t), " ".join(doc)]
            for row, (c, f, t, doc) in enumerate(zip(label, fold, times, docs, strict=True))
        ]
        for held in range(N_FOLDS):
            train = np.repeat(np.arange(n), np.where(fold == held, 0, times))
            terms = TfidfVectorizer(analyzer=list, sublinear_tf=True)
            model = LogisticRegression(
                C=penalty,
                class_weight="balanced" if balanced else None,
                solver="newton-cholesky",
                tol=1e-12,
                max_iter=1000,
            ).fit(terms.fit_transform([docs[i] for i in train]), label[train])
            test = np.flatnonzero(fold == held)
            x = terms.transform([docs[i] for i in test])
            for row, chosen, scores in zip(test, model.predict(x), scores_of(model, x), strict=True):
                expected.append([name, row, int(chosen), *("" if np.isnan(s) else repr(float(s)) for s in scores)])
    for file, first, body in (
        ("input.csv", ["sample", "row", "penalty", "balanced", "label", "fold", "times", "tokens"], rows),
        (
            "expected.csv",
            ["sample", "row", "predicted", *(f"score_{k}" for k in range(N_CLASSES))],
            sorted(expected, key=lambda line: (list(SAMPLES).index(line[0]), line[1])),
        ),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([first, *body])


if __name__ == "__main__":
    main()
