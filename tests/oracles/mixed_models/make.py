"""Simulate panels of many layouts and write what lme4, lmerTest and glmm say of four mixed models of each."""

import csv
import subprocess
import sys
import warnings
from pathlib import Path

import glmm
import numpy as np
import pandas as pd

HERE = Path(__file__).parent
EVERYTHING = {"item": 0.5, "rater": 0.4, "system": 0.1, "item:system": 0.3, "item:rater": 0.2, "system:rater": 0.1}
RANDOM = {
    "judgement": ("item", "rater"),
    "judgement+system:rater": ("item", "rater", "system:rater"),
    "full": ("item", "rater", "item:system", "item:rater", "system:rater"),
    "random": ("item", "system", "rater", "item:system", "item:rater", "system:rater"),
}


def ratings(rng, shape, variances, error=0.6):
    """An array of items by systems by raters."""
    value = 3 + np.sqrt(error) * rng.normal(size=shape)
    for name, variance in variances.items():
        size = [
            n if facet in name.split(":") else 1 for n, facet in zip(shape, ("item", "system", "rater"), strict=True)
        ]
        value = value + np.sqrt(variance) * rng.normal(size=size)
    return value


def thinned(rng, cube, share):
    return np.where(rng.random(cube.shape) < share, np.nan, cube)


def panels():
    rng = np.random.default_rng(1971)
    yield "complete", ratings(rng, (12, 4, 3), EVERYTHING)
    yield "missing_10", thinned(rng, ratings(rng, (14, 3, 4), EVERYTHING), 0.1)
    yield "missing_40", thinned(rng, ratings(rng, (16, 4, 5), EVERYTHING), 0.4)
    yield "two_systems", thinned(rng, ratings(rng, (12, 2, 4), EVERYTHING), 0.1)
    few = {"item": 0.5, "rater": 0.4, "system": 0.3}
    yield "complete_zero", ratings(rng, (10, 3, 4), few)
    yield "zero", thinned(rng, ratings(rng, (12, 3, 4), few), 0.15)
    nested = np.full((15, 3, 45), np.nan)
    for item in range(15):
        raters = slice(3 * item, 3 * item + 3)
        nested[item : item + 1, :, raters] = ratings(rng, (1, 3, 3), {"item": 0.5, "rater": 0.4, "item:system": 0.2})
    nested += np.array([0.0, 0.3, 0.8])[:, None]
    nested[2, 1, 7] = nested[9, 2, 27] = np.nan
    yield "nested", nested
    yield "no_systems", thinned(rng, ratings(rng, (25, 1, 4), {"item": 0.5, "rater": 0.3}), 0.15)
    crowd = ratings(rng, (60, 1, 40), {"item": 0.5, "rater": 0.3})
    for row in crowd:
        row[0, rng.permutation(40)[3:]] = np.nan
    yield "crowd", crowd


def main() -> None:
    rows, models = [], []
    for name, cube in panels():
        item, system, rater = np.nonzero(~np.isnan(cube))
        for i, s, r in zip(item, system, rater, strict=True):
            rows.append([name, f"i{i:02d}", f"S{s}", f"R{r:02d}", repr(round(float(cube[i, s, r]), 3))])
        for model, terms in RANDOM.items():
            if name == "nested":  # each rater saw one item, and each system of it once
                terms = [t for t in terms if t not in ("item:rater", "system:rater")]
                if model == "judgement+system:rater":
                    continue
            if cube.shape[1] == 1:
                if model != "random":
                    continue
                terms = ["item", "rater"]
            fixed = "1" if model == "random" else "system"
            models.append([name, model, f"rating ~ {fixed} + " + " + ".join(f"(1|{t})" for t in terms)])
    for file, header, body in (
        ("input.csv", ["panel", "item", "system", "rater", "rating"], rows),
        ("models.csv", ["panel", "model", "formula"], models),
    ):
        with (HERE / file).open("w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([header, *body])
    subprocess.run(["Rscript", "make.R"], cwd=HERE, check=True, stdout=sys.stderr)
    data = pd.read_csv(HERE / "input.csv")
    found = []
    for panel, model, formula in models:
        table = data[data.panel == panel].copy()
        for a, b in (("item", "system"), ("item", "rater"), ("system", "rater")):
            table[f"{a}_{b}"] = table[a] + "_" + table[b]
            formula = formula.replace(f"{a}:{b}", f"{a}_{b}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # singular fits are wanted
            fit = glmm.fit(table, formula)
        values = {f"variance {g[0].replace('_', ':')}": v for g, v in zip(fit.re_groups, fit.tau2, strict=True)}
        values |= {"variance residual": fit.dispersion, "criterion": -2 * fit.loglik}
        for k, (beta, se) in enumerate(zip(fit.beta, fit.se, strict=True)):
            values |= {f"fixed {k}": beta, f"se {k}": se}
        found += [[panel, model, quantity, "glmm", f"{float(value):.15g}"] for quantity, value in values.items()]
    with (HERE / "expected.csv").open("a", newline="") as out:
        csv.writer(out, lineterminator="\n").writerows(found)


if __name__ == "__main__":
    main()
