"""Simulate a small crossed panel and write statsmodels' analysis of variance by least squares."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

HERE = Path(__file__).parent
SOURCES = {
    "C(item)": "item",
    "C(system)": "system",
    "C(rater)": "rater",
    "C(item):C(system)": "item:system",
    "C(item):C(rater)": "item:rater",
    "C(system):C(rater)": "system:rater",
    "Residual": "residual",
}


def main() -> None:
    rng = np.random.default_rng(2001)
    shape = (9, 4, 3)
    cube = 3.5 + rng.normal(size=shape) + 0.6 * rng.normal(size=(9, 1, 1)) + 0.5 * rng.normal(size=(1, 4, 1))
    cube = np.round(cube + 0.8 * rng.normal(size=(1, 1, 3)) + 0.4 * rng.normal(size=(1, 4, 3)), 2)
    rows = [[i, s, r, repr(float(cube[i, s, r]))] for i, s, r in np.ndindex(shape)]
    table = pd.DataFrame(rows, columns=["item", "system", "rater", "rating"]).astype({"rating": float})
    found = anova_lm(ols("rating ~ (C(item) + C(system) + C(rater)) ** 2", table).fit(), typ=2)
    expected = [
        [SOURCES[name], repr(float(row.sum_sq)), int(row.df), *(repr(float(v)) for v in (row.F, row["PR(>F)"]))]
        for name, row in found.iterrows()
    ]
    # The test that generalises over raters: the same sums of squares, the other error term.
    system, error = found.loc["C(system)"], found.loc["C(system):C(rater)"]
    f = (system.sum_sq / system.df) / (error.sum_sq / error.df)
    p = stats.f.sf(f, system.df, error.df)
    expected.append(["system/system:rater", "nan", int(system.df), repr(float(f)), repr(float(p))])
    for file, head, body in (
        ("input.csv", ["item", "system", "rater", "rating"], rows),
        ("expected.csv", ["source", "ss", "df", "f", "p"], expected),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *body])


if __name__ == "__main__":
    main()
