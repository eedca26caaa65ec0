"""How often does each interval hold what it claims? Simulated panels with known truth, estimand by estimand.

Run:  python benchmarks/coverage/simulate.py [--panels 2000] [--only 60x6x3] [--out benchmarks/coverage]

Every panel is normal with the components in TRUTH. For each interval the estimand says which facets are redrawn, and
its true value is computed from the effects that were drawn. Tests are run on panels whose systems do not differ; the
table gives how often they reject at .05. Draws and replicates are fewer than the library's defaults (they make the
ends of an interval a little noisier, not biased); both are in the table's head.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from measurand.auditing.agreement import agreement
from measurand.auditing.components import estimate
from measurand.auditing.model_agreement import single_rating_interval
from measurand.auditing.pairs import pairs
from measurand.auditing.ranks import ranks
from measurand.auditing.system_effect import system_test
from measurand.auditing.these_items import coefficient_row, needed_row
from measurand.data.panel import Panel
from measurand.data.scale import Scale
from measurand.stats import reliability
from measurand.stats.inference import percentile_interval

TRUTH = {
    "item": 0.15,
    "system": 0.05,
    "rater": 0.30,
    "item:system": 0.10,
    "item:rater": 0.30,
    "system:rater": 0.06,
    "residual": 0.60,
}
DESIGNS = {
    "290x8x3": (290, 8, 3, 0.0),
    "60x6x3": (60, 6, 3, 0.0),
    "150x4x20": (150, 4, 20, 0.0),
    "50x10x5, 10 % missing": (50, 10, 5, 0.1),
}
DRAWS, REPLICATES = 4_000, 300
SIGNAL = ("item", "system", "item:system")


def draw_panel(n_items, n_systems, n_raters, missing, truth, rng):
    """Return a panel and the effects that made it."""
    sizes = {"item": n_items, "system": n_systems, "rater": n_raters}
    axes = ("item", "system", "rater")
    cube = np.sqrt(truth["residual"]) * rng.standard_normal((n_items, n_systems, n_raters))
    effects = {}
    for name in truth:
        if name == "residual":
            continue
        shape = [sizes[a] if a in name.split(":") else 1 for a in axes]
        effects[name] = np.sqrt(truth[name]) * rng.standard_normal(shape)
        cube = cube + effects[name]
    keep = rng.random(cube.shape) >= missing
    item, system, rater = (index.astype(np.int64) for index in np.nonzero(keep))
    names = {a: [f"{a}{i}" for i in range(n)] for a, n in sizes.items()}
    panel = Panel(
        "",
        names["item"],
        names["system"],
        names["rater"],
        item,
        system,
        rater,
        cube[keep],
        Scale(),
        0,
        has_numbers=True,
    )
    return panel, effects


def truths(effects, truth, n_items, n_raters):
    """Return the true value of each estimand."""
    total = sum(truth.values())
    parts = {name: np.array(value) for name, value in truth.items()}
    s, sr, ps = effects["system"][0, :, 0], effects["system:rater"][0], effects["item:system"][:, :, 0]
    r = effects["rater"][0, 0]
    seen = s[:, None] + r[None, :] + sr  # what these raters add for these systems, whatever the item
    within = truth["item:rater"] + truth["residual"]
    pairs_of_raters = [(a, b) for a in range(n_raters) for b in range(a)]
    disagreement = np.mean([((seen[:, a] - seen[:, b]) ** 2).mean() for a, b in pairs_of_raters]) + 2 * within
    spread = 2 * (truth["item"] + truth["item:system"] + within + seen.var())
    of_raters, of_items = s + sr.mean(axis=1), s + ps.mean(axis=0)
    return {
        "g": float(reliability.coefficient(parts["system"], reliability.relative_error(parts, n_items, n_raters))),
        "phi": float(reliability.coefficient(parts["system"], reliability.absolute_error(parts, n_items, n_raters))),
        "raters": float(reliability.raters_needed(parts["system"], parts, target=0.8, n_items=n_items)),
        **of_these_items(truth, n_items, n_raters),
        "alpha_these_raters": 1 - disagreement / spread,
        "single_rating": sum(truth[name] for name in SIGNAL) / total,
        "scores": {"item": of_raters, "rater": of_items, "item+rater": s},
    }


def of_these_items(truth, n_items, n_raters):
    """Return G and raters needed if the items are the very ones: their interaction with the systems is no error."""
    system = truth["system"] + truth["item:system"] / n_items
    error = truth["system:rater"] + truth["residual"] / n_items
    return {
        "g_these_items": system / (system + error / n_raters),
        "raters_these_items": float(math.ceil(error * 0.8 / (system * 0.2))),
    }


def check_exact(panel, value, record):
    """Record the intervals from two mean squares, which complete panels alone have."""
    record(
        "G, F, two mean squares", "systems, raters; these items", coefficient_row(panel, 0.95), value["g_these_items"]
    )
    record(
        "raters needed for G .8, F, two mean squares",
        "systems, raters; these items",
        needed_row(panel, 0.8, 0.95),
        value["raters_these_items"],
    )


def check(panel, effects, truth, record):
    """Record of one panel which intervals hold their estimand."""
    value = truths(effects, truth, panel.n_items, panel.n_raters)
    found = estimate(panel, seed=0, draws=DRAWS)
    drawn = found.pivots
    for name, true in truth.items():
        record(f"component {name}", "items, systems, raters", percentile_interval(drawn[name], confidence=0.95), true)
    relative = reliability.relative_error(drawn, panel.n_items, panel.n_raters)
    absolute = reliability.absolute_error(drawn, panel.n_items, panel.n_raters)
    for name, error in (("g", relative), ("phi", absolute)):
        interval = percentile_interval(reliability.coefficient(drawn["system"], error), confidence=0.95)
        record(name.upper() if name == "g" else "Phi", "items, systems, raters", interval, value[name])
    needed = reliability.raters_needed(drawn["system"], drawn, target=0.8, n_items=panel.n_items)
    record(
        "raters needed for G .8",
        "items, systems, raters",
        percentile_interval(needed, confidence=0.95),
        value["raters"],
    )
    check_exact(panel, value, record)
    record(
        "interval alpha and ICC(2,1), pivots",
        "items, systems, raters",
        single_rating_interval(panel, found, confidence=0.95),
        value["single_rating"],
    )
    rows = agreement([panel], replicates=REPLICATES, draws=1000)
    for row in rows.select("agreement", "alpha_interval", {"system": ""}):
        if row.method == "percentile bootstrap":
            record(
                f"interval alpha, bootstrap of {row.unit}",
                "items; these raters and systems",
                row,
                value["alpha_these_raters"],
            )
            record(f"interval alpha, bootstrap of {row.unit}", "items, systems, raters", row, value["single_rating"])
    for row in rows.select("agreement", "icc_2_1", {"missing": "listwise"}):
        if row.method.startswith("F ("):
            record("ICC(2,1), F", "items, systems, raters", row, value["single_rating"])
    for row in pairs([panel]).select("pairs", "difference"):
        a, b = (panel.systems.index(row.keys[k]) for k in ("system_a", "system_b"))
        unit = row.keys["unit"]
        scores = value["scores"][unit]
        estimand = {"item": "items; these raters", "rater": "raters; these items", "item+rater": "items and raters"}[
            unit
        ]
        record(f"difference of two systems, {row.method}", estimand, row, scores[a] - scores[b])
        if unit in ("item", "rater"):
            # What a reader of the leaderboard believes: that the difference holds for other raters and items.
            record(
                f"difference of two systems, {row.method}",
                "items and raters",
                row,
                value["scores"]["item+rater"][a] - value["scores"]["item+rater"][b],
            )
    holds = defaultdict(list)
    for row in ranks([panel], replicates=REPLICATES).select("ranks", "rank"):
        if row.undefined:
            continue
        unit = row.keys["unit"]
        scores = value["scores"][unit]
        true = 1 + (scores > scores[panel.systems.index(row.keys["system"])]).sum()
        holds[unit].append(row.low <= true <= row.high)
    for unit, each in holds.items():
        record(
            f"rank sets, all systems at once, {unit}",
            {"item": "items; these raters", "rater": "raters; these items", "item+rater": "items and raters"}[unit],
            all(each),
            None,
        )


def run(name, design, n_panels, seed):
    """Simulate one design; return coverage and sizes of tests."""
    n_items, n_systems, n_raters, missing = design
    held, seen, widths = defaultdict(int), defaultdict(int), defaultdict(list)
    rejected, tests = defaultdict(int), defaultdict(int)

    def record(interval, estimand, found, true):
        key = interval, estimand
        if found is None:
            return
        if true is None:
            seen[key] += 1
            held[key] += bool(found)
            return
        if found.low is None or math.isnan(found.low):
            return
        seen[key] += 1
        held[key] += bool(found.low - 1e-9 <= true <= found.high + 1e-9)
        widths[key].append(found.high - found.low)

    for number in range(n_panels):
        rng = np.random.default_rng([seed, number])
        panel, effects = draw_panel(n_items, n_systems, n_raters, missing, TRUTH, rng)
        check(panel, effects, TRUTH, record)
        panel, _ = draw_panel(n_items, n_systems, n_raters, missing, TRUTH | {"system": 0.0}, rng)
        for row in system_test([panel]):
            if row.p is not None:
                test = str(row.keys["error_term"])
                test += f", {row.keys['model']}" if row.keys.get("model") else ""
                tests[test] += 1
                rejected[test] += row.p < 0.05
    return {
        "design": name,
        "panels": n_panels,
        "seeds": [seed],
        "coverage": [
            {
                "interval": key[0],
                "estimand": key[1],
                "coverage": held[key] / seen[key],
                "n": seen[key],
                "median_width": float(np.median(widths[key]))
                if widths[key] and np.isfinite(np.median(widths[key]))
                else None,
            }
            for key in seen
        ],
        "tests": [{"test": test, "rejected": rejected[test] / n, "n": n} for test, n in tests.items()],
    }


def merged(before, after):
    """Return two runs of one design with different seeds as one; a run with a seed that is there replaces it."""
    if before is None or set(before["seeds"]) & set(after["seeds"]):
        return after
    out = after | {"panels": before["panels"] + after["panels"], "seeds": before["seeds"] + after["seeds"]}
    for part, keys, share in (("coverage", ("interval", "estimand"), "coverage"), ("tests", ("test",), "rejected")):
        old = {tuple(row[k] for k in keys): row for row in before[part]}
        rows = []
        for row in after[part]:
            other = old.get(tuple(row[k] for k in keys), {share: 0.0, "n": 0})
            n = row["n"] + other["n"]
            rows.append(row | {share: (row[share] * row["n"] + other[share] * other["n"]) / n, "n": n})
        out[part] = rows
    return out


def table(results):
    """Return the results as Markdown."""
    lines = [
        "# Coverage of the intervals",
        "",
        "Made by `benchmarks/coverage/simulate.py`, whose head says how. Share of simulated panels in which a 95 %",
        "interval holds its estimand; which facets are redrawn is the estimand's name. The Monte Carlo error of a",
        "share of 95 % is half a percent at 2,000 panels.",
        f"Components: {', '.join(f'{k} {v:g}' for k, v in TRUTH.items())}.",
        f"Pivots with {DRAWS:,} draws, bootstraps with {REPLICATES} replicates.",
        "",
        "| interval | redrawn | " + " | ".join(r["design"] for r in results) + " |",
        "|---|---|" + "---|" * len(results),
    ]
    keys = list(dict.fromkeys((c["interval"], c["estimand"]) for r in results for c in r["coverage"]))
    for key in keys:
        cells = []
        for r in results:
            hit = next((c for c in r["coverage"] if (c["interval"], c["estimand"]) == key), None)
            cells.append("–" if hit is None else f"{100 * hit['coverage']:.1f}")
        lines.append(f"| {key[0]} | {key[1]} | " + " | ".join(cells) + " |")
    lines += ["", "## Tests where no system differs: rejected at .05, in percent", ""]
    lines += ["| test | " + " | ".join(r["design"] for r in results) + " |", "|---|" + "---|" * len(results)]
    for test in dict.fromkeys(t["test"] for r in results for t in r["tests"]):
        cells = []
        for r in results:
            hit = next((t for t in r["tests"] if t["test"] == test), None)
            cells.append("–" if hit is None else f"{100 * hit['rejected']:.1f}")
        lines.append(f"| {test} | " + " | ".join(cells) + " |")
    lines += ["", "Panels: " + ", ".join(f"{r['design']}: {r['panels']:,}" for r in results) + "."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument(
        "--seed", type=int, default=20261130, help="another seed adds its panels to those that are there"
    )
    options = parser.parse_args()
    warnings.simplefilter("error")
    stored = options.out / "results.json"
    done = {r["design"]: r for r in json.loads(stored.read_text())} if stored.exists() else {}
    for name, design in DESIGNS.items():
        if options.only and not name.startswith(options.only):
            continue
        start = time.process_time()
        with threadpool_limits(1):
            made = run(name, design, options.panels, options.seed)
        done[name] = merged(done.get(name), made)
        print(f"{name}: {time.process_time() - start:.0f} CPU s for {options.panels} panels", flush=True)
        ordered = [done[n] for n in DESIGNS if n in done]
        stored.write_text(json.dumps(ordered, indent=1) + "\n")
        (options.out / "README.md").write_text(table(ordered))


if __name__ == "__main__":
    main()
