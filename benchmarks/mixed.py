"""How fast are the mixed models, beside glmm, mixedlm, statsmodels and lme4 in the same run?

Run:  python benchmarks/mixed.py    (in the environment of benchmarks/make_env.sh, with glmm, mixedlm, statsmodels;
                                     with Rscript and lmerTest on the path, lme4 as well)

Fits by restricted maximum likelihood of rating ~ system + (1|item) + (1|rater) + (1|item:system) + (1|item:rater) +
(1|system:rater), with the test of the systems where the peer has one: the panel of 24 items x 5 systems x 4 raters with
8 % missing, that of 290 x 8 x 3 with 10 % missing and whole, and a crowd of 60,000 ratings by 270 raters (one to four
an item, no systems). CPU seconds, medians of alternating runs, peers and ours in turn; lme4 runs in a process of its
own between ours and the next peer, and its time leaves out starting R and reading, which ours has. All panels are
simulated here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
import warnings
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

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


R_VERSIONS = {}


class Timed(NamedTuple):
    """What a solver in another process found, and the CPU seconds that it took there."""

    components: dict
    seconds: float


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
        fit, _ = system_fit(panel, found, "full")
        return fit.components
    return random_fit(panel, found).components


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
    return dict(zip([g[0].replace("_", ":") for g in fit.re_groups], map(float, fit.tau2), strict=True))


def by_mixedlm(frame):
    import mixedlm

    mixedlm.lmer(formula(frame), keyed(frame))
    return {}


def by_statsmodels(frame):
    import statsmodels.formula.api as smf

    data = keyed(frame)
    data["one"] = 1
    parts = {name: f"0 + C({name})" for name in ("item", "rater", "item_system", "item_rater", "system_rater")}
    model = smf.mixedlm("rating ~ system", data, groups="one", vc_formula=parts, re_formula="0")
    model.fit(reml=True)
    return {}


def by_lme4(frame):
    """Return components and the CPU seconds of the fit and test alone, without the start of R."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.csv"
        keyed(frame).to_csv(path, index=False)
        script = Path(__file__).parent / "lme4.R"
        command = ["Rscript", str(script), str(path), formula(frame), "1"]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | threads)
    said = json.loads(done.stdout.splitlines()[-1])
    R_VERSIONS.update(said["versions"])
    return Timed(said["components"], said["seconds"][0])


def has_lme4():
    """Whether R is there with lmerTest."""
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(lmerTest)"], capture_output=True, check=False).returncode == 0


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
                found = solver(frame)
            took = time.process_time() - start
            if isinstance(found, Timed):
                found, took = found
            components[solver.__name__] = found
            seconds[solver.__name__].append(took)
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
    r = [by_lme4] if has_lme4() else []
    every = [ours, by_glmm, by_mixedlm, *r]
    rows = [measure("60,000 ratings, 270 raters", crowd(np.random.default_rng(7)), [ours, *r], 1)]
    rows.append(measure("24x5x4, 8 % missing", make(24, 5, 4, 0.08), every, options.runs))
    rows.append(measure("290x8x3, 10 % missing", make(290, 8, 3, 0.1), every, options.runs))
    rows.append(measure("290x8x3, complete", make(290, 8, 3, 0.0), every, options.runs))
    if options.slow:
        rows.append(measure("24x5x4, 8 % missing, once", make(24, 5, 4, 0.08), [ours, by_statsmodels], 1))
    versions = {
        name: metadata.version(name) for name in ("numpy", "scipy", "glmm", "mixedlm", "statsmodels")
    } | R_VERSIONS
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
