"""Simulate complete tables and write the six intraclass correlations of psych, checked against pingouin."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pingouin

HERE = Path(__file__).parent


def main() -> None:
    rng = np.random.default_rng(1979)
    rows = []
    for name, n, k, between, bias in (
        ("agreeing", 30, 4, 2.0, 0.2),
        ("severe", 25, 3, 1.0, 1.5),
        ("two_raters", 40, 2, 0.7, 0.1),
        ("none", 15, 5, 0.0, 0.3),
        ("many_raters", 12, 9, 1.0, 0.5),
    ):
        table = 5 + between * rng.normal(size=(n, 1)) + rng.normal(size=(n, k)) + bias * rng.normal(size=k)
        rows += [
            [name, unit, rater, repr(round(float(table[unit, rater]), 3))] for unit in range(n) for rater in range(k)
        ]
    with (HERE / "input.csv").open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([["panel", "unit", "rater", "rating"], *rows])
    subprocess.run(["Rscript", "make.R"], cwd=HERE, check=True, stdout=sys.stderr)
    expected = pd.read_csv(HERE / "expected.csv").set_index(["panel", "form"])
    names = {"ICC(1,1)": "icc_1_1", "ICC(A,1)": "icc_2_1", "ICC(C,1)": "icc_3_1"}
    names |= {"ICC(1,k)": "icc_1_k", "ICC(A,k)": "icc_2_k", "ICC(C,k)": "icc_3_k"}
    for panel, table in pd.read_csv(HERE / "input.csv").groupby("panel"):
        found = pingouin.intraclass_corr(table, targets="unit", raters="rater", ratings="rating").set_index("Type")
        for theirs, form in names.items():
            assert abs(found.loc[theirs, "ICC"] - expected.loc[(panel, form), "icc"]) < 1e-9, (panel, form)


if __name__ == "__main__":
    main()
