"""Simulate rated outputs with lengths and write what lme4 and lmerTest say of models with random slopes by rater."""

import csv
import subprocess
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
#: Shape, spread of the raters' slopes, share of ratings left out.
PANELS = {
    "three_raters": ((24, 4, 3), 0.2, 0.0),
    "eight_raters": ((15, 3, 8), 0.15, 0.1),
    "no_slopes": ((20, 4, 4), 0.0, 0.0),
    "more_raters_than_items": ((8, 3, 20), 0.3, 0.3),
}


def main():
    """Write the input, let R fit it, and say what was used."""
    rng = np.random.default_rng(2603)
    with (HERE / "input.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["panel", "item", "system", "rater", "length", "rating"])
        for name, (shape, spread, missing) in PANELS.items():
            n_items, n_systems, n_raters = shape
            length = rng.poisson(3 + np.arange(n_systems), (n_items, n_systems)) + 1
            rating = 3 + rng.normal(0, 0.5, (n_items, 1, 1)) + rng.normal(0, 0.6, n_raters)
            rating = rating + (0.15 + rng.normal(0, spread, n_raters)) * length[:, :, None]
            rating = rating + rng.normal(0, 0.4, (n_items, n_systems, 1)) + rng.normal(0, 0.7, shape)
            for i, s, r in np.ndindex(shape):
                if rng.random() >= missing:
                    out.writerow([name, f"i{i:02d}", f"S{s}", f"R{r:02d}", length[i, s], round(rating[i, s, r], 3)])
    subprocess.run(["Rscript", "make.R"], cwd=HERE, check=True)


if __name__ == "__main__":
    main()
