"""The whole audit: seconds and memory of `measurand audit` from the shell to its written report.

The panel of 290 items x 8 systems x 3 raters should take less than five seconds. It is read from
$MEASURAND_SHARED/golden/panel290.csv where that is set, and else simulated (`measurand simulate panel --preset
two-emojis`: the same mean squares, other ratings). Two public tables run too where $MEASURAND_SHARED/data holds them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from _common import arguments, measurand_command, median, report, spawn


def inputs(command: list[str], scratch: Path) -> tuple[dict[str, tuple[int, list[str]]], list[str]]:
    """Return what to audit: name to the number of runs and the command's arguments; and notes."""
    notes: list[str] = []
    found: dict[str, tuple[int, list[str]]] = {}
    shared = Path(os.environ["MEASURAND_SHARED"]) if os.environ.get("MEASURAND_SHARED") else None
    if shared and (shared / "golden" / "panel290.csv").exists():
        table = [str(shared / "golden" / "panel290.csv"), "--rating", "score"]
        name = "panel290 (290 items x 8 systems x 3 raters, continuous)"
    else:
        path = scratch / "ratings.csv"
        made = spawn([*command, "simulate", "panel", "--preset", "two-emojis", "--out", str(path), "--seed", "0"])
        table = [str(path)]
        name = "simulated two-emojis panel (290 items x 8 systems x 3 raters, continuous)"
        notes.append("MEASURAND_SHARED is not set: the panel is simulated and the public tables have no row.")
        if made.status:
            notes.append("`measurand simulate panel --preset two-emojis` failed.")
            return found, notes
    found[name] = (5, [*table, "--scale", "-5:15", "--level", "interval"])
    found[f"{name}, --level ordinal"] = (3, [*table, "--scale", "-5:15", "--level", "ordinal"])
    if shared and (path := shared / "data" / "simpeval_2022" / "ratings.csv").exists():
        found["simpeval_2022 (60 items x 6 systems x 3 raters, 0-100)"] = (
            3,
            [str(path), "--scale", "0:100", "--level", "interval"],
        )
    if shared and (path := shared / "data" / "emonet_binary" / "binary.csv.gz").exists():
        columns = ["--item", "path", "--rater", "annotator", "--rating", "value", "--criterion", "emotion"]
        found["emonet_binary (40 criteria, 19,999 items, 65,686 ratings, adaptive)"] = (
            1,
            [str(path), *columns, "--labels", "False,True", "--level", "nominal"],
        )
    return found, notes


def main() -> None:
    options = arguments(__doc__)
    command = measurand_command()
    if command is None:
        sys.exit("the command `measurand` is not there in this checkout")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        found, notes = inputs(command, scratch)
        for name, (runs, words) in found.items():
            costs = []
            for run in range(runs):
                out, log = scratch / f"out{len(rows)}-{run}", scratch / "log"
                costs.append(spawn([*command, "audit", *words, "--out", str(out), "--seed", "0"], log=log))
                if costs[-1].status:
                    notes.append(f"{name}: failed ({' '.join(log.read_text().split())[-300:]})")
                    break
            else:
                written = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
                rows.append(
                    {
                        "table": name,
                        "runs": runs,
                        "CPU s": median(costs),
                        "wall s": median(costs, "wall"),
                        "peak MiB": round(median(costs, "peak") / 2**20),
                        "written KiB": round(written / 2**10),
                    }
                )
    notes.append("Medians of whole processes with all defaults (2,000 replicates), page and tables written.")
    if rows:
        limit = 5.0
        met = max(rows[0]["CPU s"], rows[0]["wall s"]) < limit
        notes.append(
            f"Goal, first row: less than {limit:g} s of CPU and of wall time; "
            f"{'met' if met else 'MISSED'} with {rows[0]['CPU s']:.2f} and {rows[0]['wall s']:.2f}."
        )
    report("audit", "What a whole audit costs from the shell.", {"Audits": rows}, notes, options.json)


if __name__ == "__main__":
    main()
