"""Simulate two raters' ratings and write what scipy and scikit-learn make of them."""

import csv
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1968)
    rows, expected = [], []
    for name, n, levels, spread, shift in (
        ("five_point", 60, 5, 1.2, 0.0),
        ("severe", 50, 7, 1.6, 1.5),
        ("binary", 80, 2, 0.6, 0.0),
        ("gaps", 40, 8, 4.0, 0.0),
        ("opposed", 30, 5, -1.2, 0.0),
        ("hundred", 70, 101, 25.0, 4.0),
    ):
        truth = rng.normal(size=n)
        middle = (levels - 1) / 2
        x = np.clip(np.rint(middle + abs(spread) * (truth + 0.6 * rng.normal(size=n))), 0, levels - 1)
        y = np.clip(np.rint(middle + shift + spread * (truth + 0.6 * rng.normal(size=n))), 0, levels - 1)
        if name == "gaps":  # levels 1, 2, 4, 5, 6 of 0..7 stay unused
            x, y = (np.array([0, 3, 7])[np.clip((v * 3) // levels, 0, 2).astype(int)] for v in (x, y))
        rows += [[name, cell, int(a), int(b)] for cell, (a, b) in enumerate(zip(x, y, strict=True))]
        kappa = cohen_kappa_score(x.astype(int), y.astype(int), weights="quadratic", labels=list(range(levels)))
        found = (stats.pearsonr(x, y)[0], stats.spearmanr(x, y)[0], kappa, stats.kendalltau(x, y, variant="b")[0])
        expected.append([name, *(repr(float(value)) for value in found)])
    for file, head, body in (
        ("input.csv", ["panel", "cell", "x", "y"], rows),
        ("expected.csv", ["panel", "pearson", "spearman", "kappa_quadratic", "kendall_tau_b"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    main()
