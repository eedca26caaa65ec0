"""Draw scores, positive items and how often each was drawn; write what scikit-learn and scipy make of them."""

import csv
from pathlib import Path

import numpy as np
from scipy import stats
from sklearn.metrics import average_precision_score, mean_absolute_error, roc_auc_score

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(2000)
    rows, expected = [], []
    for name, n, levels, share, redrawn in (
        ("graded", 60, None, 0.3, False),
        ("five_levels", 80, 5, 0.4, False),
        ("binary", 50, 2, 0.5, False),
        ("rare", 120, 8, 0.05, False),
        ("redrawn", 60, None, 0.3, True),
        ("redrawn_ties", 90, 6, 0.25, True),
    ):
        truth = rng.normal(size=n)
        score = truth + rng.normal(size=n)
        if levels:
            score = np.floor(stats.norm.cdf(score / 1.5) * levels)
        rating = np.clip(np.rint(3 + 1.5 * truth), 0, 7)
        positive = truth >= np.quantile(truth, 1 - share)
        times = rng.multinomial(n, np.full(n, 1 / n)) if redrawn else np.ones(n, dtype=int)
        rows += [
            [name, item, repr(float(s)), int(r), int(p), int(t)]
            for item, (s, r, p, t) in enumerate(zip(score, rating, positive, times, strict=True))
        ]
        s, r, p = (np.repeat(one, times) for one in (score, rating, positive))
        found = (
            average_precision_score(p, s),
            roc_auc_score(p, s),
            p.mean(),
            stats.spearmanr(s, r)[0],
            mean_absolute_error(r, s),
        )
        expected.append([name, *(repr(float(value)) for value in found)])
    head = ["sample", "average_precision", "auroc", "prevalence", "spearman", "mean_absolute_error"]
    for file, first, body in (
        ("input.csv", ["sample", "item", "score", "rating", "positive", "times"], rows),
        ("expected.csv", head, expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([first, *body])


if __name__ == "__main__":
    main()
