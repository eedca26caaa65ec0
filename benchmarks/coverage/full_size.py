"""Who truly exceeds whom, at the size of the first paper: one simulated benchmark after another against its own truth.

2,500 items x 40 criteria, 8 raters of whom 4 see an item, eleven systems; oracle fit, ties as blocks, 2,000 replicates.
The truth of each benchmark is for its own raters, items redrawn (`simulate_benchmark(truth_items=…)`).

    python benchmarks/coverage/full_size.py [--benchmarks 3]
"""

import argparse
import time
from pathlib import Path

import pandas as pd

from measurand.data import Scale, read_answers, read_ratings
from measurand.scoring.score import score
from measurand.simulate import simulate_benchmark

HERE = Path(__file__).parent
CHOICES = {"fit": "oracle", "calibrate": ("rank",), "anchors": ("pairwise", "leave_one_out"), "over": ("item",)}


def judged(seed):
    """Return for one benchmark every interval beside its truth, and every decision beside what is true."""
    made = simulate_benchmark(seed=seed, truth_items=200_000)
    truth = pd.DataFrame(made.truth["population"]).fillna("")
    ratings = read_ratings(made.ratings, scale=Scale(0, 7, step=1))
    result = score(read_answers(made.answers), ratings, baselines=(), gates=False, seed=seed, **CHOICES)
    systems = truth[(truth.system != "") & (truth.target == "ratings")]
    worth = {(row.system, row.set or row.criterion): row.kappa_quadratic for row in systems.itertuples()}
    people = truth[truth.anchor != ""]
    worth |= {(row.anchor, row.set or row.criterion): row.kappa_quadratic for row in people.itertuples()}
    # The reliable set is the one chosen here: its truth is the mean of its criteria's.
    alphas = {row.keys["criterion"]: row.estimate for row in result["criteria"] if row.statistic == "alpha_interval"}
    chosen = [name for name, alpha in alphas.items() if alpha >= 0.3]
    for name in {name for name, _ in worth}:
        worth[name, "reliable"] = sum(worth[name, criterion] for criterion in chosen) / len(chosen)
    rows = []
    for row in result.rows:
        where = row.keys.get("set") or row.keys.get("criterion")
        where = {"reliable_fixed": "reliable"}.get(str(where), where) if row.keys.get("set") != "reliable" else None
        if where is None or row.low is None:
            continue
        if row.analysis == "scores" and row.keys["readout"] == "verification" and row.keys["fit"] == "oracle":
            rows.append(("score", seed, where, row.low, row.high, worth.get((row.keys["system"], where)), None))
        elif row.analysis == "anchors":
            rows.append(
                (row.keys["anchor"], seed, where, row.low, row.high, worth.get((row.keys["anchor"], where)), None)
            )
        elif (
            row.analysis == "contrasts"
            and row.keys["contrast"] in ("anchor", "system")
            and row.statistic == "difference"
        ):
            if row.keys["readout"] != "verification":
                continue
            a, b = worth.get((row.keys["a"], where)), worth.get((row.keys["b"], where))
            if a is not None and b is not None:
                name = "system - system" if row.keys["contrast"] == "system" else f"system - {row.keys['b']}"
                rows.append((name, seed, where, row.low, row.high, a - b, row.p_adjusted))
    return pd.DataFrame(rows, columns=["interval", "seed", "of", "low", "high", "truth", "p"]).dropna(subset=["truth"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", type=int, default=3)
    count = parser.parse_args().benchmarks
    began = time.process_time()
    found = pd.concat([judged(seed) for seed in range(1, count + 1)])
    found["holds"] = (found.low <= found.truth) & (found.truth <= found.high)
    found["kind"] = found["of"].where(found["of"].isin(["all", "reliable"]), "one criterion")
    lines = [
        "# Recovery at the size of the first paper",
        "",
        "Made by `benchmarks/coverage/full_size.py`, whose head says how. holds: share of intervals that hold",
        "the truth (those of one benchmark share its items: they stand and fall together; that of many smaller",
        "benchmarks is in [score.md](score.md)); reliable: the criteria whose alpha was .30 or more here, held fixed.",
        "",
        "| interval | of | number | holds, % |",
        "|---|---|---|---|",
    ]
    for (interval, kind), group in found.groupby(["interval", "kind"], sort=True):
        lines.append(f"| {interval} | {kind} | {len(group)} | {100 * group.holds.mean():.1f} |")
    decided = found[found.p.notna() & (found["kind"] != "one criterion")]
    clear = decided[decided.p < 0.05]
    right = (clear.truth > 0) == (clear.low > 0)
    apart = decided[decided.truth.abs() > 0.02]
    told = apart[(apart.p < 0.05) & (((apart.truth > 0) & (apart.low > 0)) | ((apart.truth < 0) & (apart.high < 0)))]
    lines += [
        "",
        f"Of {len(decided)} differences over all and over the reliable criteria {len(clear)} are significant "
        f"(adjusted); {int(right.sum())} of them have the sign of the truth.",
        f"Of the {len(apart)} whose truth is farther than .02 from 0, {len(told)} are told apart, with the right sign.",
        "",
        f"{count} benchmarks, {time.process_time() - began:.0f} CPU seconds, truth included.",
        "",
    ]
    (HERE / "full_size.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
