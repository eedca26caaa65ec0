"""Memory of a large audit: is the peak proportional to the number of ratings.

Panels of items x 3 raters, 10^4 to 10^7 ratings, from Parquet, each in a process of its own. Two routes: the library
alone (read_ratings, panels, alpha with its bootstrap) and the whole command. `bytes per rating` is what the peak grew
by since the smallest panel of the same kind, over the ratings that were added: constant where memory is O(ratings).

Linux reports the peak of a child no lower than what its parent held when it started it, so this script imports no
array library itself: tables are made in children too.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import arguments, measurand_command, report, spawn

#: Kind of panel to what it is and the largest power of ten of ratings.
KINDS = {
    "levels": ("items x 3 raters, 1 to 5", 7),
    "systems": ("items x 8 systems x 3 raters, 1 to 5", 6),
    "continuous": ("items x 3 raters, every rating another number", 6),
    "integer-ids": ("items x 3 raters, 1 to 5, ids as integers in place of text", 7),
}
#: Panels whose audit is slow enough to be measured with fewer replicates too: kind and power of ten to their number.
ALSO_WITH = {("continuous", 6): 200}
COMMAND = "command"


def make(kind: str, n_wanted: str, path: str) -> None:
    """Write a panel of about n ratings."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    n_systems, n_raters = (8 if kind == "systems" else 1), 3
    n_items = max(2, round(int(n_wanted) / n_systems / n_raters))
    item = np.repeat(np.arange(n_items), n_systems * n_raters)
    quality = rng.normal(size=n_items * n_systems).repeat(n_raters) + rng.normal(size=len(item))
    rating = 3 + quality if kind == "continuous" else np.clip(np.rint(3 + quality), 1, 5).astype(np.int64)
    columns: dict[str, Any] = {"item": item, "rater": np.tile(np.arange(n_raters), n_items * n_systems)}
    if n_systems > 1:
        columns["system"] = np.tile(np.arange(n_systems).repeat(n_raters), n_items)
    if kind != "integer-ids":
        digits = len(str(n_items))
        names = {"item": [f"i{i:0{digits}d}" for i in range(n_items)]}
        names |= {"rater": [f"R{i + 1}" for i in range(n_raters)], "system": [f"S{i + 1}" for i in range(n_systems)]}
        columns = {role: np.array(names[role], dtype=object)[codes] for role, codes in columns.items()}
    pd.DataFrame({**columns, "rating": rating}).to_parquet(path, index=False)


def pandas_alone(path: str) -> None:
    """Read the table and do nothing: the floor."""
    import pandas as pd

    pd.read_parquet(path)


def read_alone(path: str) -> None:
    """Read and check the table and index its ratings."""
    from measurand.data import panels, read_ratings

    list(panels(read_ratings(path)))


def library(path: str, replicates: str) -> None:
    """Read, check, index, and give alpha at three levels with its interval, redrawing items."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from measurand.data import panels, read_ratings
    from measurand.stats.agreement import alphas, patterns
    from measurand.stats.inference import bootstrap, clusters, percentile_interval, stream

    threadpool_limits(1, user_api="blas")  # as the audit does
    levels = ["nominal", "ordinal", "interval"]
    (panel,) = panels(read_ratings(path))
    found = patterns(panel.cell, panel.rating, panel.rater)
    drawn = clusters(panel.cell_item[found.unit], found.of_unit, found.n_patterns)

    def statistics(weights: np.ndarray) -> np.ndarray:
        values = alphas(found, weights, levels)
        return np.column_stack([values[level] for level in levels])

    draws = bootstrap(statistics, drawn, n_replicates=int(replicates), rng=stream(0, "memory"))
    print(statistics(drawn.weights()), [percentile_interval(column, confidence=0.95) for column in draws.T])


ROUTES = {
    "pandas": "pandas.read_parquet alone",
    "read": "read_ratings and panels",
    "library": "the same and alpha at 3 levels with intervals",
    COMMAND: "measurand audit, whole",
}
CHILDREN = {"make": make, "pandas": pandas_alone, "read": read_alone, "library": library}


def measure(routes: list[str], kinds: list[str], largest: int, replicates: int, scratch: Path, notes: list[str]):
    """Return one row for each kind, size and route."""
    command = measurand_command()
    if command is None and COMMAND in routes:
        notes.append("The command `measurand` is not there in this checkout: its rows are missing.")
        routes = [route for route in routes if route != COMMAND]
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        first: dict[str, tuple[int, int]] = {}
        for power in range(4, min(largest, KINDS[kind][1]) + 1):
            path = scratch / f"{len(rows)}.parquet"
            n_systems = 8 if kind == "systems" else 1
            n = max(2, round(10**power / n_systems / 3)) * n_systems * 3
            if spawn([sys.executable, __file__, "--child", "make", kind, str(10**power), str(path)]).status:
                notes.append(f"{kind}, 10^{power}: the table could not be made")
                continue
            variants = [(route, replicates) for route in routes]
            if few := ALSO_WITH.get((kind, power)):
                variants += [(route, few) for route in routes if route in ("library", COMMAND)]
            for route, drawn in variants:
                child = [sys.executable, __file__, "--child", route, str(path)]
                words = {
                    "pandas": child,
                    "read": child,
                    "library": [*child, str(drawn)],
                    COMMAND: [
                        *(command or []),
                        *("audit", str(path), "--scale", "-20:25" if kind == "continuous" else "1:5"),
                        *("--level", "interval" if kind == "continuous" else "ordinal"),
                        *("--replicates", str(drawn), "--out", str(scratch / f"out{len(rows)}"), "--seed", "0"),
                    ],
                }[route]
                log = scratch / "log"
                cost = spawn(words, log=log)
                if cost.status:
                    last = " ".join(log.read_text(errors="replace").split())[-200:].replace(str(scratch), "…")
                    notes.append(f"{kind}, {n:,} ratings, {route}: exit status {cost.status} ({last})")
                    continue
                base_n, base = first.setdefault(route, (n, cost.peak))
                row: dict[str, Any] = {
                    "panel": KINDS[kind][0],
                    "route": ROUTES[route],
                    "ratings": n,
                    "replicates": drawn if route in ("library", COMMAND) else None,
                    "CPU s": cost.cpu,
                    "wall s": cost.wall,
                    "peak MiB": round(cost.peak / 2**20),
                    "bytes per rating": round((cost.peak - base) / (n - base_n)) if n > base_n else None,
                }
                print(row, file=sys.stderr, flush=True)
                rows.append(row)
            path.unlink()
    return rows


def growth(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each kind and route how the last tenfold of ratings grew the memory beyond the smallest run's."""
    out = []
    for kind, route in dict.fromkeys((row["panel"], row["route"]) for row in rows):
        series = [row for row in rows if (row["panel"], row["route"]) == (kind, route)]
        most = max(row["replicates"] or 0 for row in series)
        series = [row for row in series if (row["replicates"] or 0) == most]
        if len(series) < 3:
            continue
        start, before, last = series[0], series[-2], series[-1]
        a, b = before["peak MiB"] - start["peak MiB"], last["peak MiB"] - start["peak MiB"]
        factor = last["ratings"] / before["ratings"]
        out.append(
            {
                "panel": kind,
                "route": route,
                "from": before["ratings"],
                "to": last["ratings"],
                "bytes per added rating": round((b - a) * 2**20 / (last["ratings"] - before["ratings"])),
                "exponent": math.log(b / a) / math.log(factor) if a > 5 and b > 0 else None,
            }
        )
    return out


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        CHILDREN[sys.argv[2]](*sys.argv[3:])
        return
    options = arguments(
        __doc__,
        largest={"type": int, "default": 7, "help": "largest power of ten of ratings"},
        routes={"default": ",".join(ROUTES), "help": "with commas between"},
        kinds={"default": ",".join(KINDS), "help": "with commas between"},
        replicates={"type": int, "default": 2000},
    )
    notes: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(
            options.routes.split(","),
            options.kinds.split(","),
            options.largest,
            options.replicates,
            Path(folder),
            notes,
        )
    notes += [
        "One run of each, a process of its own; peak = the largest resident set, the interpreter and imports included.",
        "bytes per rating: growth of the peak since the smallest panel of the same kind and route, over the added "
        "ratings. exponent: of that growth over the last tenfold; 1 is O(ratings), 2 would be quadratic; blank where "
        "the smaller panel adds less than 5 MiB, which is noise.",
        "continuous: no two items show the same ratings, so every replicate costs as much as the panel has ratings; "
        "with five levels it costs no more than the distinct patterns of ratings. The largest continuous panel is "
        "measured with 200 replicates as well.",
    ]
    report(
        "memory",
        "Peak memory of reading and auditing 10^4 to 10^7 ratings from Parquet.",
        {"Runs": rows, "Growth": growth(rows)},
        notes,
        options.json,
    )


if __name__ == "__main__":
    main()
