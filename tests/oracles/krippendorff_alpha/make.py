"""Simulate panels with missing ratings and write what krippendorff and evalica make of them."""

import csv
from pathlib import Path

import evalica
import krippendorff
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
LEVELS = ("nominal", "ordinal", "interval", "ratio")


def panel(name: str, rng: np.random.Generator) -> np.ndarray:
    n_raters = 20 if name == "twenty_raters" else 4
    n_units = 25 if name == "twenty_raters" else 40
    truth = rng.normal(size=(n_units, 1))
    noisy = truth + rng.normal(scale=0.8, size=(n_units, n_raters)) + rng.normal(scale=0.3, size=n_raters)
    table = {
        "five_point": np.clip(np.rint(3 + noisy), 1, 5),
        "hundred": np.clip(np.rint(50 + 20 * noisy), 0, 100),
        "continuous": 10 + noisy,
        "binary": (noisy > 0).astype(float),
        "skewed": np.where(noisy > 1.9, np.clip(np.rint(noisy), 2, 4), 1.0),
        "twenty_raters": np.clip(np.rint(4 + 1.5 * noisy), 1, 7),
        "with_zeros": np.clip(np.rint(2 * noisy), 0, 6),
    }[name]
    missing = 0.3 if name == "twenty_raters" else 0.15
    return np.where(rng.random(table.shape) < missing, np.nan, table)


def main() -> None:
    rng = np.random.default_rng(20260917)
    rows, expected = [], []
    for name in ("five_point", "hundred", "continuous", "binary", "skewed", "twenty_raters", "with_zeros"):
        table = panel(name, rng)
        for unit, rater in zip(*np.nonzero(~np.isnan(table)), strict=True):
            rows.append([name, unit, rater, repr(float(table[unit, rater]))])
        for level in LEVELS:
            value = krippendorff.alpha(table.T, level_of_measurement=level)
            second = evalica.alpha(pd.DataFrame(table.T), level).alpha
            assert abs(value - second) < 1e-9, (name, level, value, second)
            expected.append([name, level, repr(float(value))])
    for file, head, body in (
        ("input.csv", ["panel", "unit", "rater", "rating"], rows),
        ("expected.csv", ["panel", "level", "alpha"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    main()
