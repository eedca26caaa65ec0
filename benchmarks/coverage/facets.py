"""How often do the intervals of designs of any facets hold where cells are empty? Simulated tables, truth known.

Run:  python benchmarks/coverage/facets.py [--tables 400] [--out benchmarks/coverage]

Every effect of a design is normal with the component that `DESIGNS` gives it (those that are not named have .02); the
same cells are empty in all tables of a design. The truth of a component is its value, and that of G and Phi what the
true components give in these very cells. Levels of all facets are drawn anew for each table.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from measurand.planning.cells import Cells
from measurand.planning.fitted import fitted
from measurand.stats.facets import Formula
from measurand.stats.incomplete import effects, laid_out
from measurand.stats.inference import percentile_interval, stream
from measurand.stats.reliability import coefficient

LEVEL, DRAWS, SEED, SMALL = 0.95, 4_000, 11, 0.02

#: Name to formula, sizes, share of cells that are empty, which cells there are, and components.
DESIGNS = {
    "5 systems x 20 items x 4 raters, 30 % empty": (
        "system x item x rater",
        {"system": 5, "item": 20, "rater": 4},
        0.3,
        None,
        {"item": 0.3, "system": 0.2, "rater": 0.2, "item:system": 0.1, "item:rater": 0.1, "system:rater": 0.05,
         "residual": 0.5},
    ),
    "6 systems x 30 items x 2 of 6 raters for an item": (
        "system x item x rater",
        {"system": 6, "item": 30, "rater": 6},
        0.0,
        lambda at: ((at["rater"] - at["item"]) % 6 == 0) | ((at["rater"] - at["item"] - 1 - at["item"] // 6) % 6 == 0),
        {"item": 0.3, "system": 0.15, "rater": 0.2, "item:system": 0.1, "item:rater": 0.1, "system:rater": 0.05,
         "residual": 0.5},
    ),
    "5 systems x 12 items x (4, 3, 2, 2 raters within groups), 10 % empty": (
        "system x item x (rater:group)",
        {"system": 5, "item": 12, "rater": 4, "group": 4},
        0.1,
        lambda at: at["rater"] < np.array([4, 3, 2, 2])[at["group"]],
        {"item": 0.2, "system": 0.25, "group": 0.1, "item:system": 0.1, "system:group": 0.05, "rater:group": 0.2,
         "system:rater:group": 0.05, "item:rater:group": 0.1, "residual": 0.5},
    ),
    "6 systems x 30 items x 3 raters x 2 phrasings, 20 % empty": (
        "system x item x rater x phrasing",
        {"system": 6, "item": 30, "rater": 3, "phrasing": 2},
        0.2,
        None,
        {"item": 0.3, "system": 0.25, "rater": 0.2, "phrasing": 0.05, "item:system": 0.1, "item:rater": 0.1,
         "system:rater": 0.04, "system:phrasing": 0.03, "residual": 0.4},
    ),
    "5 systems x 40 items x 3 raters x 2 phrasings, 40 % empty, items differ much": (
        "system x item x rater x phrasing",
        {"system": 5, "item": 40, "rater": 3, "phrasing": 2},
        0.4,
        None,
        {"item": 2.0, "system": 0.2, "rater": 0.1, "item:system": 0.1, "system:rater": 0.02, "residual": 0.4},
    ),
    "40 persons x 12 items, 40 % empty": (
        "person x item", {"person": 40, "item": 12}, 0.4, None, {"person": 0.2, "item": 0.2, "residual": 0.6}
    ),
}  # fmt: skip

PREFACE = """# Coverage of the intervals of designs with empty cells

Made by `benchmarks/coverage/facets.py`, whose head says how. Percent of tables in which the 95 % interval of `measurand
plan --formula` held the truth; the Monte Carlo error of a share of 95 % is 1.1 percent at 400 tables. "Width" is the
median width of the interval, "bias" the mean of the estimate less the truth; components are unbiased, while G and Phi,
being ratios that are cut at 0, are not.
"""


def levels_of(name):
    """Return the levels of the cells that a design has."""
    text, sizes, empty, there, _ = DESIGNS[name]
    formula = Formula.parse(text)
    shape = [sizes[facet] for facet in formula.facets]
    at = {facet: one.ravel() for facet, one in zip(formula.facets, np.indices(shape), strict=True)}
    kept = np.ones(len(at[formula.facets[0]]), dtype=bool) if there is None else there(at)
    kept &= stream(SEED, name, "cells").random(len(kept)) >= empty
    return formula, {facet: level[kept] for facet, level in at.items()}


def run(name, n_tables):
    """Return coverage, median width and bias of each number of a design."""
    formula, levels = levels_of(name)
    object_ = "system" if "system" in formula.facets else "person"
    terms = effects(formula, levels)
    names = [*(term.name for term in terms), "residual"]
    truth = {one: np.array(DESIGNS[name][4].get(one, SMALL)) for one in names}
    weights = laid_out(formula, levels, object_of_measurement=object_)

    def numbers(parts):
        true = weights.true_variance(parts)
        out = {"G": coefficient(true, weights.error(parts, absolute=False))}
        out["Phi"] = coefficient(true, weights.error(parts, absolute=True))
        return out | {f"variance of {one}": parts[one] for one in names}

    right = {key: float(value) for key, value in numbers(truth).items()}
    rng = stream(SEED, name, "tables")
    n = len(levels[object_])
    sizes = {facet: float(level.max() + 1) for facet, level in levels.items()}
    held = {key: [] for key in right}
    for number in range(n_tables):
        rating = rng.normal(0, np.sqrt(truth["residual"]), n)
        for term in terms:
            rating = rating + rng.normal(0, np.sqrt(truth[term.name]), term.n_levels)[term.codes]
        cells = Cells("", rating, levels, sizes, n, {object_: [str(k) for k in range(int(sizes[object_]))]}, None)
        made = fitted(cells, formula, object_of_measurement=object_, fixed=(), seed=number, draws=DRAWS)
        drawn, found = numbers(made.drawn), numbers(made.parts)
        for key, value in right.items():
            low, high = percentile_interval(drawn[key], confidence=LEVEL)[:2]
            held[key].append((low - 1e-12 <= value <= high + 1e-12, high - low, float(found[key]) - value))
    out = []
    for key, rows in held.items():
        share, width, bias = (
            np.mean([one[0] for one in rows]),
            np.median([one[1] for one in rows]),
            np.mean([one[2] for one in rows]),
        )
        out.append({"number": key, "truth": right[key], "coverage": share, "width": width, "bias": bias})
    return {"design": name, "tables": n_tables, "ratings": n, "coverage": out}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--design", type=int, action="append", help="number of a design, from 0 (repeatable)")
    asked = parser.parse_args()
    chosen = [name for at, name in enumerate(DESIGNS) if asked.design is None or at in asked.design]
    done = []
    with threadpool_limits(1):
        for name in chosen:
            start = time.time()
            done.append(run(name, asked.tables))
            print(f"{name}: {time.time() - start:.0f} s")
    lines = [PREFACE]
    for design in done:
        lines += [f"## {design['design']}", "", f"{design['ratings']} ratings, {design['tables']} tables.", ""]
        lines += ["| number | truth | held, % | width | bias |", "|---|---|---|---|---|"]
        for row in design["coverage"]:
            shown = f"{100 * row['coverage']:.1f} | {row['width']:.3g} | {row['bias']:+.3f}"
            lines.append(f"| {row['number']} | {row['truth']:.3g} | {shown} |")
        lines.append("")
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "facets.md").write_text("\n".join(lines))
    (asked.out / "facets.json").write_text(json.dumps(done, indent=1) + "\n")


if __name__ == "__main__":
    main()
