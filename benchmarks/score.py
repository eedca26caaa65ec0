"""What scoring with everything refitted costs: beside a plain scikit-learn loop, and at the size of the first paper.

The loop does in each replicate and criterion what one would write down: resample, rank the answers, give them the
sorted consensus, cohen_kappa_score(weights="quadratic") against the raters. One system, 1,000 replicates x 40 criteria
x 5 raters x 2,500 items; the loop runs on 10 of the replicates and is scaled up, both are alternated A B A B in one
process. Both get the same draws, and the script fails where their kappas differ by more than 1e-12. Ties are broken by
position there, so the compared path is `--fit oracle --target consensus --ties index`; the cost of the default's target
and ties is in a row of its own.

The second table takes 2,500 items x 40 criteria, 8 raters of whom 4 see an item, and eleven systems, from
`measurand simulate benchmark`. Every part is a process of its own, one after the other, so that its peak memory is its
own. Parts of more than ten minutes at 2,000 replicates run with 200; the seconds for each replicate are told apart from
those that do not depend on their number.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from _common import HERE, RESULTS, alternate, arguments, environment, markdown, median, spawn

QUESTION = "What scoring costs with everything refitted in every replicate."
REPLICATES, LOOPED, PAIRS = 1000, 10, 3
GOAL_TIMES, GOAL_SECONDS, GOAL_GIB = 60.0, 240.0, 4.0
ORACLE = {"calibrate": ("rank",), "fit": "oracle", "anchors": ("pairwise",), "over": ("item",), "baselines": ()}
PARTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "oracle": ("oracle, block, pairwise anchor: whole call, held-out companion and gates included", 2000, ORACLE),
    "alone": ("the same: replicates of the oracle path and the anchor alone", 2000, ORACLE),
    "defaults": ("all defaults: two fits, uncalibrated, five anchors, baselines, over item and item+rater", 200, {}),
    "identity": ("--aggregate identity", 200, {"aggregate": "identity"}),
    "random": ("--ties random", 200, {"ties": "random"}),
    "rater": ("--over item+rater alone", 200, {"over": ("item+rater",)}),
}


def speed_tables() -> list[dict[str, Any]]:
    """Return the rows of measurand beside the loop."""
    from sklearn.metrics import cohen_kappa_score

    from measurand.data import Scale, read_answers, read_ratings
    from measurand.scoring.answered import Folds
    from measurand.scoring.arms import split_arms
    from measurand.scoring.contenders import contenders
    from measurand.scoring.field import Draws, field_of
    from measurand.scoring.opponents import Opponents
    from measurand.scoring.paths import Path as Route
    from measurand.scoring.paths import kappa
    from measurand.simulate import simulate_benchmark

    made = simulate_benchmark(n_raters=5, raters_per_item=5, validities=(0.9,), seed=1)
    field = field_of(read_ratings(made.ratings, scale=Scale(0, 7, step=1)))
    answers = read_answers(made.answers)
    system = contenders(answers, split_arms(answers), field)[0]
    draws = Draws(field, "item", REPLICATES, 1)
    folds = Folds.drawn(np.arange(field.n_items), n=5, repeats=2, rng=np.random.default_rng(0))
    levels = list(range(8))
    given = [one.by if one.by is not None else one.values for one in system.answered]
    rated = [np.rint(one.ratings + one.shift).astype(int) for one in field.criteria]
    consensus = [np.rint(one.mean(axis=1)).astype(int) for one in rated]
    drawn: list[np.ndarray] = []
    for start, weights, _ in draws.blocks():
        if start and len(drawn) < LOOPED:
            drawn += [np.repeat(np.arange(field.n_items), row.astype(int)) for row in weights]

    def ours(aggregate: str, target: str = "consensus", ties: str = "index") -> np.ndarray:
        route = Route("rank", "oracle", target, ties, aggregate)
        out = np.empty((1 + REPLICATES, len(field.criteria)))
        for start, weights, raters in draws.blocks():
            for c, criterion in enumerate(field.criteria):
                against = Opponents(criterion, weights, raters)
                out[start : start + len(weights), c] = kappa(system.answered[c], against, route, folds)
        return out

    def loop(aggregate: str) -> np.ndarray:
        out = np.empty((LOOPED, len(rated)))
        for b, items in enumerate(drawn[:LOOPED]):
            for c in range(len(rated)):
                order = np.argsort(given[c][items], kind="stable")
                calibrated = np.empty(len(items), dtype=int)
                calibrated[order] = np.sort(consensus[c][items])
                ratings = rated[c][items]
                if aggregate == "pooled":
                    pairs = np.repeat(calibrated, ratings.shape[1]), ratings.ravel()
                    out[b, c] = cohen_kappa_score(*pairs, labels=levels, weights="quadratic")
                else:
                    each = [cohen_kappa_score(calibrated, r, labels=levels, weights="quadratic") for r in ratings.T]
                    out[b, c] = np.mean(each)
        return out

    rows = []
    for aggregate in ("pooled", "identity"):
        apart = float(np.abs(ours(aggregate)[1 : 1 + LOOPED] - loop(aggregate)).max())
        if apart > 1e-12:
            raise SystemExit(f"{aggregate}: kappas differ by {apart:g}")
        a, b = alternate(lambda way=aggregate: ours(way), lambda way=aggregate: loop(way), PAIRS)
        ratios = [theirs.cpu * REPLICATES / LOOPED / mine.cpu for mine, theirs in zip(a, b, strict=True)]
        rows.append(
            {
                "aggregate": aggregate,
                "target, ties": "consensus, index",
                "measurand, CPU s": median(a),
                "scikit-learn, CPU s, scaled": median(b) * REPLICATES / LOOPED,
                "times faster": median(b) * REPLICATES / LOOPED / median(a),
                "pair by pair": " ".join(f"{ratio:.0f}" for ratio in ratios),
                "largest difference": apart,
            }
        )
        a, _ = alternate(lambda way=aggregate: ours(way, "ratings", "block"), lambda: None, PAIRS)
        rows.append({"aggregate": aggregate, "target, ties": "ratings, block", "measurand, CPU s": median(a)})
    return rows


def part(name: str, folder: Path) -> None:
    """Run one part in this process; write what it cost."""
    import pandas as pd
    from threadpoolctl import threadpool_limits

    import measurand
    from measurand.data import Scale, read_answers, read_ratings
    from measurand.scoring.answered import Folds
    from measurand.scoring.arms import split_arms
    from measurand.scoring.contenders import contenders
    from measurand.scoring.field import Draws, field_of
    from measurand.scoring.paths import Path as Route
    from measurand.scoring.replicates import Job, replicate

    _, replicates, settings = PARTS[name]
    start = time.process_time()
    ratings = read_ratings(pd.read_parquet(folder / "ratings.parquet"), scale=Scale(0, 7, step=1))
    answers = read_answers(pd.read_parquet(folder / "answers.parquet"))
    told = [start, time.process_time()]
    if name == "alone":
        with threadpool_limits(1):
            field = field_of(ratings)
            route = Route("rank", "oracle", "ratings", "block", "pooled")
            arms = contenders(answers, split_arms(answers), field)
            jobs = [Job((i,), route, one) for i, one in enumerate(arms) if one.arm is not None]
            jobs.append(Job(("pairwise",), route, anchor="pairwise"))
            folds = Folds.drawn(np.arange(field.n_items), n=5, repeats=2, rng=np.random.default_rng(0))
            replicate(
                field, jobs, Draws(field, "item", replicates, 0), folds, progress=lambda *_: clocked.append(now())
            )
    else:
        measurand.score(answers, ratings, **settings, replicates=replicates, progress=lambda what, *_: heard(what))
    end = time.process_time()
    cost = {"read": told[1] - told[0], "call": end - told[1], "loop": clocked[-1] - clocked[0]}
    (folder / f"{name}.json").write_text(json.dumps(cost))


now = time.process_time
clocked: list[float] = []


def heard(what: str) -> None:
    """Note the time of a message about replicates."""
    if what.startswith("replicates"):
        clocked.append(now())


def paper_table(names: list[str]) -> list[dict[str, Any]]:
    """Return the rows of the parts."""
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        # Made in a child: its memory must not count for the parts.
        write = (
            "import sys; from measurand.simulate import simulate_benchmark; b = simulate_benchmark(seed=1); "
            "b.ratings.to_parquet(sys.argv[1] + '/ratings.parquet'); "
            "b.answers.to_parquet(sys.argv[1] + '/answers.parquet')"
        )
        spawn([sys.executable, "-c", write, made])
        for name in names:
            what, replicates, _ = PARTS[name]
            log = folder / f"{name}.log"
            cost = spawn([sys.executable, str(HERE / "score.py"), "--part", name, "--folder", made], log=log)
            if cost.status:
                sys.exit(f"{name} failed:\n{log.read_text()[-2000:]}")
            found = json.loads((folder / f"{name}.json").read_text())
            each = found["loop"] / replicates
            rest = found["call"] - found["loop"]
            rows.append(
                {
                    "path": what,
                    "replicates": replicates,
                    "CPU s, call": found["call"],
                    "replicates alone": found["loop"],
                    "the rest": rest,
                    "CPU s at 2,000": rest + 2000 * each,
                    "read": found["read"],
                    "peak MiB": round(cost.peak / 2**20),
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    early = argparse.ArgumentParser(add_help=False)
    early.add_argument("--part")
    early.add_argument("--folder", type=Path)
    known, _ = early.parse_known_args()
    if known.part:
        part(known.part, known.folder)
        return
    options = arguments(
        __doc__,
        parts={"default": ",".join(PARTS), "help": "of the second table, with commas between"},
        out={"type": Path, "default": RESULTS / "score.md", "help": "the page of tables"},
    )
    rows = paper_table([name for name in options.parts.split(",") if name])
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        beside = speed_tables()
    goals = [
        {
            "goal": "times faster than the loop, at least",
            "limit": GOAL_TIMES,
            "measured": row["times faster"],
            "met": row["times faster"] >= GOAL_TIMES,
            "case": row["aggregate"],
        }
        for row in beside
        if "times faster" in row
    ]
    if rows and rows[0]["path"].startswith("oracle"):
        whole = rows[0]
        goals.append(
            {
                "goal": "whole call, CPU s, under",
                "limit": GOAL_SECONDS,
                "measured": whole["CPU s, call"],
                "met": whole["CPU s, call"] < GOAL_SECONDS,
                "case": "oracle",
            }
        )
        goals.append(
            {
                "goal": "its peak, GiB, under",
                "limit": GOAL_GIB,
                "measured": whole["peak MiB"] / 1024,
                "met": whole["peak MiB"] / 1024 < GOAL_GIB,
                "case": "oracle",
            }
        )
    tables = {
        "Beside a scikit-learn loop: one system, 1,000 replicates x 40 criteria x 5 raters x 2,500 items": beside,
        "2,500 items x 40 criteria, 8 raters of whom 4 see an item, eleven systems": rows,
        "Goals": goals,
    }
    notes = [
        f"scikit-learn runs {LOOPED} of the {REPLICATES:,} replicates on all criteria and is scaled linearly; "
        f"medians of {PAIRS} alternating pairs on one thread; the largest difference is between the kappas of "
        "those replicates. Pooled, the loop makes one call on all pairs; by identity one for each rater.",
        "measurand's side draws the replicates, too; the loop is given its draws.",
        "Parts of the second table run once, each a process of its own; `the rest` does not depend on the number "
        "of replicates: gates, scores under all tie rules and targets, contrasts, decisions, findings. Where fewer "
        "than 2,000 replicates ran, `CPU s at 2,000` is scaled.",
    ]
    found = {"name": "score", "question": QUESTION, **environment(), "tables": tables, "notes": notes}
    found["packages"]["scikit-learn"] = importlib.metadata.version("scikit-learn")
    print(markdown(found))
    options.out.write_text(page(found), encoding="utf-8")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def page(found: dict[str, Any]) -> str:
    """Return the page of a result."""
    versions = ", ".join(f"{name} {version}" for name, version in found["packages"].items())
    made = f"{found['date']}; {found['machine']}; Python {found['python']}; {versions}."
    return f"{markdown(found)[1:]}\n{made}\n"


if __name__ == "__main__":
    main()
