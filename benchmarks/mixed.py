"""How fast are the mixed models, beside glmm, mixedlm and statsmodels in the same run?

Run:  python benchmarks/mixed.py    (in the environment of benchmarks/make_env.sh, with glmm, mixedlm, statsmodels)

Fits by restricted maximum likelihood of rating ~ system + (1|item) + (1|rater) + (1|item:system) + (1|item:rater) +
(1|system:rater), with the test of the systems where the peer has one: the panel of 24 items x 5 systems x 4 raters with
8 % missing, that of 290 x 8 x 3 with 10 % missing and whole, and a crowd of 60,000 ratings by 270 raters (one to four
an item, no systems). CPU seconds of this process, medians of alternating runs, peers and ours in turn. All panels are
simulated here.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from measurand.auditing.mixed import effects, random_fit, system_fit
from measurand.data import panels, read_ratings
from measurand.simulate import simulate_panel

COMPONENTS = {
    "item": 0.14,
    "system": 0.05,
    "rater": 0.5,
    "item:system": 0.09,
    "item:rater": 0.4,
    "system:rater": 0.07,
    "residual": 0.64,
}


def crowd(rng):
    """Return 60,000 ratings by 270 raters, one to four an item."""
    counts = rng.integers(1, 5, size=24_012)
    item = np.repeat(np.arange(len(counts)), counts)
    rater = np.concatenate([rng.choice(270, size=c, replace=False) for c in counts])
    rating = rng.normal(0, 0.7, len(counts))[item] + rng.normal(0, 0.5, 270)[rater] + rng.normal(0, 0.8, len(item))
    return pd.DataFrame({"item": item.astype(str), "rater": rater.astype(str), "rating": rating})


def ours(frame):
    panel = panels(read_ratings(frame))[0]
    found = effects(panel)
    if panel.n_systems:
        fit, test = system_fit(panel, found, "full")
        return fit.components, test.statistic, test.df2
    return random_fit(panel, found).components, None, None


def formula(frame):
    if "system" in frame:
        return "rating ~ system + (1|item) + (1|rater) + (1|item_system) + (1|item_rater) + (1|system_rater)"
    return "rating ~ 1 + (1|item) + (1|rater)"


def keyed(frame):
    frame = frame.copy()
    if "system" in frame:
        for a, b in (("item", "system"), ("item", "rater"), ("system", "rater")):
            frame[f"{a}_{b}"] = frame[a] + "_" + frame[b]
    return frame


def by_glmm(frame):
    import glmm

    fit = glmm.fit(keyed(frame), formula(frame))
    return dict(zip([g[0].replace("_", ":") for g in fit.re_groups], map(float, fit.tau2), strict=True)), None, None


def by_mixedlm(frame):
    import mixedlm

    fit = mixedlm.lmer(formula(frame), keyed(frame))
    return {}, fit, None


def by_statsmodels(frame):
    import statsmodels.formula.api as smf

    data = keyed(frame)
    data["one"] = 1
    parts = {name: f"0 + C({name})" for name in ("item", "rater", "item_system", "item_rater", "system_rater")}
    model = smf.mixedlm("rating ~ system", data, groups="one", vc_formula=parts, re_formula="0")
    return {}, model.fit(reml=True), None


def make(n_items, n_systems, n_raters, missing):
    """Return a simulated panel as a frame."""
    sizes = {"n_items": n_items, "n_systems": n_systems, "n_raters": n_raters}
    return simulate_panel(**sizes, components=COMPONENTS, missing=missing, seed=7).ratings


def measure(name, frame, solvers, runs):
    seconds = {solver.__name__: [] for solver in solvers}
    components = {}
    for _ in range(runs):
        for solver in solvers:
            start = time.process_time()
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                components[solver.__name__] = solver(frame)[0]
            seconds[solver.__name__].append(time.process_time() - start)
    mine = statistics.median(seconds["ours"])
    gap = max(
        (abs(value - components["ours"].get(key, np.nan)) for key, value in components.get("by_glmm", {}).items()),
        default=float("nan"),
    )
    row = {
        "panel": name,
        "ratings": len(frame),
        "cpu_s": {key: statistics.median(value) for key, value in seconds.items()},
        "ours_over": {key: mine / statistics.median(value) for key, value in seconds.items() if key != "ours"},
        "largest_difference_from_glmm": gap,
        "peak_memory_mb_so_far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(row), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--slow", action="store_true", help="run statsmodels on the 24 x 5 x 4 panel, once (minutes)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "mixed.json")
    options = parser.parse_args()
    rows = [measure("60,000 ratings, 270 raters", crowd(np.random.default_rng(7)), [ours], 1)]
    rows.append(measure("24x5x4, 8 % missing", make(24, 5, 4, 0.08), [ours, by_glmm, by_mixedlm], options.runs))
    rows.append(measure("290x8x3, 10 % missing", make(290, 8, 3, 0.1), [ours, by_glmm, by_mixedlm], options.runs))
    rows.append(measure("290x8x3, complete", make(290, 8, 3, 0.0), [ours, by_glmm, by_mixedlm], options.runs))
    if options.slow:
        rows.append(measure("24x5x4, 8 % missing, once", make(24, 5, 4, 0.08), [ours, by_statsmodels], 1))
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "glmm", "mixedlm", "statsmodels")}
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps({"versions": versions, "rows": rows}, indent=1) + "\n")
    options.out.with_suffix(".md").write_text(table(rows, versions))


def table(rows, versions):
    """Return the rows as Markdown."""
    peers = list(dict.fromkeys(key for row in rows for key in row["ours_over"]))
    lines = [
        "# Mixed models: CPU seconds, and measurand's as a multiple of each peer's",
        "",
        "Written by `mixed.py`; medians of alternating runs on one thread of a small, shared machine.",
        "Below 1 is faster.",
        "",
        f"| panel | ratings | measurand, s | {' | '.join(f'/ {p[3:]}' for p in peers)} | components apart from glmm |",
        "|---|---|---|" + "---|" * len(peers) + "---|",
    ]
    for row in rows:
        shares = [f"{row['ours_over'][peer]:.2g}" if peer in row["ours_over"] else "–" for peer in peers]
        gap = row["largest_difference_from_glmm"]
        apart = "–" if gap != gap else f"{gap:.1g}"
        lines.append(
            f"| {row['panel']} | {row['ratings']:,} | {row['cpu_s']['ours']:.3f} | {' | '.join(shares)} | {apart} |"
        )
    peak = rows[0]["peak_memory_mb_so_far"]
    lines += ["", f"Peak memory of the process after the 60,000 ratings: {peak:.0f} MB.", ""]
    return "\n".join([*lines, ", ".join(f"{name} {version}" for name, version in versions.items()) + "."]) + "\n"


if __name__ == "__main__":
    main()
