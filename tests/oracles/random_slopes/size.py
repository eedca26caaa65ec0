"""How often tests of a slope on length alarm falsely at .05: raters' slopes differ, and are 0 on average."""

import csv
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from measurand.auditing.length_cells import cell_lengths, measured
from measurand.auditing.length_judgements import judgements
from measurand.auditing.length_raters import by_rater
from measurand.data import panels, read_outputs

HERE = Path(__file__).parent
#: Raters; standard deviations of the systems' effects, of what raters differ in about them, of the outputs' effects,
#: and of the raters' slopes.
DESIGNS = {
    "3 raters": (3, 0.0, 0.0, 0.3, 0.1),
    "3 raters, systems differ": (3, 0.15, 0.25, 0.3, 0.1),
    "10 raters": (10, 0.15, 0.25, 0.3, 0.1),
    "6 raters, outputs differ": (6, 0.0, 0.0, 0.5, 0.03),
    "10 raters, outputs differ": (10, 0.0, 0.0, 0.5, 0.03),
}
N_ITEMS, N_SYSTEMS, REPLICATES = 40, 8, 200


def drawn(seed, n_raters, of_systems, of_both, of_outputs, slope_sd):
    """Return ratings whose raters follow length, each with a slope of its own that is 0 on average, and the lengths."""
    rng = np.random.default_rng(seed)
    shape = (N_ITEMS, N_SYSTEMS, n_raters)
    length = 1 + rng.poisson(rng.uniform(1, 4, N_SYSTEMS), shape[:2]).astype(float)
    rating = rng.normal(0, slope_sd, n_raters) * (length - length.mean())[:, :, None]
    rating = rating + rng.normal(3, 0.7, n_raters) + rng.normal(0, 0.4, (N_ITEMS, 1, 1))
    rating = rating + rng.normal(0, 0.6, (N_ITEMS, 1, n_raters)) + rng.normal(0, of_outputs, (*shape[:2], 1))
    rating = rating + rng.normal(0, of_systems, (1, N_SYSTEMS, 1)) + rng.normal(0, of_both, (1, N_SYSTEMS, n_raters))
    rating = rating + rng.normal(0, 0.8, shape)
    item, system, rater = np.indices(shape).reshape(3, -1)
    ratings = pd.DataFrame({"item": item, "system": system, "rater": rater, "rating": rating.ravel()})
    item, system = np.indices(shape[:2]).reshape(2, -1)
    return ratings, pd.DataFrame({"item": item, "system": system, "length": length.ravel()})


def main():
    """Write the shares of false alarms by design and model."""
    with (HERE / "size.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["design", "model", "n_replicates", "share"])
        for design, made in DESIGNS.items():
            alarms = {}
            for seed in range(REPLICATES):
                ratings, outputs = drawn(seed, *made)
                one = measured(panels(ratings)[0], cell_lengths(read_outputs(outputs), None))
                rows = judgements(one, confidence=0.95) + by_rater(one, replicates=2, confidence=0.95, seed=0)
                for row in rows:
                    if row.statistic == "slope" and not row.keys.get("rater") and row.p is not None:
                        alarms.setdefault(row.keys["model"], []).append(row.p < 0.05)
            for model, found in alarms.items():
                out.writerow([design, model, len(found), round(float(np.mean(found)), 3)])
            file.flush()
            print(design, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    main()
