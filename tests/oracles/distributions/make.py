"""List arguments of distributions and write R's values."""

import csv
import itertools
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    rows = []
    degrees = (1, 2.5, 7, 14, 289, 4046)
    for df1, df2 in itertools.product(degrees, degrees):
        rows += [["f_upper_tail", x, df1, df2] for x in (0.2, 0.585, 1, 3.3, 18.62)]
        rows += [["f_quantile", x, df1, df2] for x in (0.025, 0.5, 0.975)]
    for df in degrees:
        rows += [["t_two_sided", x, df, ""] for x in (0, 0.5, -2.1, 4.3, 20)]
        rows += [["t_factor", x, df, ""] for x in (0.9, 0.95, 0.99)]
        rows += [["chi_square_quantile", x, df, ""] for x in (0.025, 0.25, 0.5, 0.75, 0.975)]
    for hits, n in ((0, 10), (0, 290), (3, 20), (19, 20), (20, 20)):
        rows += [["clopper_pearson_upper", x, hits, n] for x in (0.9, 0.95)]
    with (HERE / "input.csv").open("w", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows([["function", "x", "a", "b"], *rows])
    subprocess.run(["Rscript", "make.R"], cwd=HERE, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main()
