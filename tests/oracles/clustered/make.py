"""Simulate clustered observations and write statsmodels' cluster-robust mean and difference of means."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
from statsmodels.formula.api import ols

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1986)
    rows, expected = [], []
    for name, n_clusters, within in (("nested", 30, False), ("crossing", 25, True), ("few", 6, True)):
        table = []
        for cluster in range(n_clusters):
            effect, side = rng.normal(), int(rng.random() < 0.4)
            for _ in range(rng.integers(1, 6)):
                is_in = int(rng.random() < 0.5) if within else side
                table.append([cluster, is_in, round(float(2 + effect + 0.7 * is_in + rng.normal()), 3)])
        rows += [[name, *row] for row in table]
        data = pd.DataFrame(table, columns=["cluster", "is_in", "value"])
        # statsmodels' factor is G / (G - 1) (n - 1) / (n - k), with k the number of coefficients.
        settings = {"cov_type": "cluster", "cov_kwds": {"groups": data["cluster"]}, "use_t": True}
        mean = ols("value ~ 1", data).fit(**settings)
        difference = ols("value ~ is_in", data).fit(**settings)
        low, high = mean.conf_int().loc["Intercept"]
        numbers = (mean.params["Intercept"], low, high, difference.params["is_in"], difference.bse["is_in"])
        expected.append([name, len(data), *(repr(float(value)) for value in numbers)])
    head = ["panel", "n", "mean", "mean_low", "mean_high", "difference", "difference_standard_error"]
    for file, names, body in (
        ("input.csv", ["panel", "cluster", "is_in", "value"], rows),
        ("expected.csv", head, expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([names, *body])


if __name__ == "__main__":
    main()
