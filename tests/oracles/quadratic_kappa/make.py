"""Draw two ratings of each item on a declared scale, some levels never used; write what scikit-learn makes of them."""

import csv
from pathlib import Path

import numpy as np
from sklearn.metrics import cohen_kappa_score

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1968)
    rows, expected = [], []
    for name, n, n_levels, used in (
        ("all_levels", 40, 5, (0, 1, 2, 3, 4)),
        ("middle_never_used", 35, 8, (0, 1, 6, 7)),
        ("ends_never_used", 35, 8, (2, 3, 4)),
        ("two_levels", 30, 2, (0, 1)),
        ("one_side_constant", 20, 5, (1, 3)),
        ("one_item", 1, 5, (0, 4)),
    ):
        truth = rng.integers(0, len(used), n)
        x, y = (np.array(used)[np.clip(truth + rng.choice([-1, 0, 0, 1], n), 0, len(used) - 1)] for _ in range(2))
        if name == "one_side_constant":
            y = np.full(n, used[0])
        if name == "one_item":
            x, y = np.array([0]), np.array([4])
        rows += [[name, item, n_levels, int(a), int(b)] for item, (a, b) in enumerate(zip(x, y, strict=True))]
        labels = list(range(n_levels))
        found = [cohen_kappa_score(x, y, labels=labels, weights=how) for how in (None, "linear", "quadratic")]
        expected.append([name, *(repr(float(value)) for value in found)])
    for file, first, body in (
        ("input.csv", ["sample", "item", "n_levels", "x", "y"], rows),
        ("expected.csv", ["sample", "unweighted", "linear", "quadratic"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([first, *body])


if __name__ == "__main__":
    main()
