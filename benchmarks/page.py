"""What the page of a scoring run costs: seconds to render it and its bytes, as criteria and systems grow.

A run of 30 items x 3 criteria x 3 systems under two readouts, scored with everything that `measurand score` does, is
taken as one of more criteria and systems: every row as often as there are of them, as the tests do. So a page is as
long as a true one of that size, and making the rows takes seconds. The first page of a process also loads what draws;
the second is what a page costs itself. Goal: 40 criteria x 20 systems below 3 s and 1 MB, and no page above 1 MB.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from _common import HERE, RESULTS, arguments, environment, markdown

sys.path.insert(0, str(HERE.parent / "tests"))

QUESTION = "What the page of a scoring run costs."
GOAL_SECONDS, GOAL_BYTES = 3.0, 1_000_000
SIZES = ((1, 2), (40, 2), (40, 11), (40, 20), (100, 20), (40, 60), (3, 200))


def rows_of(sizes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    from enlarged_run import enlarged
    from measurand.data import Scale, read_answers, read_ratings
    from measurand.reporting import render_html
    from measurand.scoring.score import score
    from measurand.simulate import simulate_benchmark

    readouts = ("verification", "generative")
    made = simulate_benchmark(
        seed=3, n_items=30, n_criteria=3, truth_items=0, validities=(0.95, 0.8, 0.4), readouts=readouts
    )
    ratings = read_ratings(made.ratings, scale=Scale(0, 7, step=1))
    small = score(read_answers(made.answers), ratings, replicates=100, over=("item", "item+rater"))
    out = []
    for n_criteria, n_systems in sizes:
        large = enlarged(small, n_criteria, n_systems)
        seconds, pages = [], []
        for _ in range(2):
            start = time.process_time()
            pages.append(render_html(large, title="Scores", reproduce={}))
            seconds.append(time.process_time() - start)
        if pages[0] != pages[1]:
            raise SystemExit(f"{n_criteria} x {n_systems}: two pages of one run differ")
        size = len(pages[0].encode())
        out.append(
            {
                "criteria": n_criteria,
                "systems": n_systems,
                "rows of the result": len(large.rows),
                "CPU s": min(seconds),
                "bytes": size,
                "cut": "yes" if "rows; all are in tables/" in pages[0] else "no",
                "below 1 MB": size <= GOAL_BYTES,
            }
        )
        print(out[-1], file=sys.stderr, flush=True)
    return out


def main() -> None:
    options = arguments(__doc__, out={"type": Path, "default": RESULTS / "page.md", "help": "the page of tables"})
    rows = rows_of(list(SIZES))
    told = next(row for row in rows if (row["criteria"], row["systems"]) == (40, 20))
    about = environment()
    notes = [
        f"40 criteria x 20 systems: {told['CPU s']:.2g} s of {GOAL_SECONDS:g} s, {told['bytes']:,} bytes of "
        f"{GOAL_BYTES:,}.",
        "CPU seconds of the faster of two renderings, from the result in memory to the text of the page.",
        "cut: tables have their first rows, say so, and name the file in tables/ that has all.",
        f"{about['machine']}; Python {about['python']}; {about['date']}.",
    ]
    result = {
        "name": "The page of a scoring run",
        "question": QUESTION,
        **about,
        "tables": {"Pages": rows},
        "notes": notes,
    }
    options.out.write_text(markdown(result).replace("## ", "# ", 1), encoding="utf-8")


if __name__ == "__main__":
    main()
