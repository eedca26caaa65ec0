"""Draw labels and choices of several classes; write what scikit-learn makes of them over a fixed set of classes."""

import csv
from pathlib import Path

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, recall_score

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1979)
    rows, expected = [], []
    for name, n, n_classes, hit, redrawn, never_true in (
        ("balanced", 120, 6, 0.6, False, None),
        ("redrawn", 90, 6, 0.5, True, None),
        ("never_true", 80, 5, 0.5, False, 2),
        ("chance", 100, 4, 0.0, True, None),
    ):
        label = rng.integers(0, n_classes, size=n)
        if never_true is not None:
            label[label == never_true] = 0
        chosen = np.where(rng.random(n) < hit, label, rng.integers(0, n_classes, size=n))
        times = rng.multinomial(n, np.full(n, 1 / n)) if redrawn else np.ones(n, dtype=int)
        rows += [
            [name, item, n_classes, int(a), int(b), int(t)]
            for item, (a, b, t) in enumerate(zip(label, chosen, times, strict=True))
        ]
        y, z = np.repeat(label, times), np.repeat(chosen, times)
        known = list(range(n_classes))
        found = (
            accuracy_score(y, z),
            f1_score(y, z, labels=known, average="macro", zero_division=0),
            recall_score(y, z, labels=sorted(set(y)), average="macro"),
        )
        expected.append([name, *(repr(float(value)) for value in found)])
    for file, first, body in (
        ("input.csv", ["sample", "item", "n_classes", "label", "chosen", "times"], rows),
        ("expected.csv", ["sample", "accuracy", "macro_f1", "unweighted_average_recall"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([first, *body])


if __name__ == "__main__":
    main()
