"""Draw families of p values, with ties, and write statsmodels' adjustment after Benjamini and Yekutieli."""

import csv
from pathlib import Path

import numpy as np
from statsmodels.stats.multitest import multipletests

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(2001)
    families = {
        "uniform": rng.random(28),
        "small": rng.random(28) ** 4,
        "ties": np.round(rng.random(15) ** 2, 1),
        "one": rng.random(1),
    }
    rows, expected = [], []
    for name, p in families.items():
        adjusted = multipletests(p, method="fdr_by")[1]
        for test, (raw, value) in enumerate(zip(p, adjusted, strict=True)):
            rows.append([name, test, repr(float(raw))])
            expected.append([name, test, repr(float(value))])
    for file, head, body in (
        ("input.csv", ["family", "test", "p"], rows),
        ("expected.csv", ["family", "test", "p_adjusted"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    main()
