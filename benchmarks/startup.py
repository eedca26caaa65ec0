"""Starting up: what `measurand --help` and `import measurand` cost before any work is done.

Whole processes, alternating, CPU and wall seconds. `--help` should stay under half a second, and the import within a
tenth of a second of `import pandas`, which every user of a data frame pays anyway. Bytecode is compiled and files are
in the page cache, as on every start but the first.
"""

from __future__ import annotations

import sys
from typing import Any

from _common import Cost, arguments, measurand_command, median, report, spawn

ROUNDS = 7


def main() -> None:
    options = arguments(__doc__)
    python = sys.executable
    commands: dict[str, list[str]] = {
        "python -c pass": [python, "-c", "pass"],
        "import numpy": [python, "-c", "import numpy"],
        "import pandas": [python, "-c", "import pandas"],
        "import measurand": [python, "-c", "import measurand"],
        "import measurand, pandas": [python, "-c", "import measurand, pandas"],
        "import measurand; measurand.audit": [python, "-c", "import measurand; measurand.audit"],
    }
    notes = [f"Medians of {ROUNDS} alternating whole processes after one unmeasured round."]
    notes.append(
        "`import measurand` is lazy: what it leaves out is paid at first use, as the row with `measurand.audit` shows."
    )
    command = measurand_command()
    if command is None:
        notes.append("The command `measurand` is not there in this checkout: its row is missing.")
    else:
        commands["measurand --help"] = [*command, "--help"]
        commands["measurand audit --help"] = [*command, "audit", "--help"]
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    failed = {name for name, words in commands.items() if spawn(words).status}
    for _ in range(ROUNDS):
        for name in commands.keys() - failed:
            costs[name].append(spawn(commands[name]))
    rows: list[dict[str, Any]] = []
    for name in commands:
        if name in failed:
            notes.append(f"`{name}` failed and has no row.")
            continue
        rows.append(
            {
                "what": name,
                "CPU s": median(costs[name]),
                "wall s": median(costs[name], "wall"),
                "peak MiB": round(median(costs[name], "peak") / 2**20),
            }
        )
    cost = {row["what"]: row for row in rows}
    goals: list[dict[str, Any]] = []
    if "measurand --help" in cost:
        goals.append(
            {
                "goal": "measurand --help, wall, at most .5 s",
                "measured": cost["measurand --help"]["wall s"],
                "limit": 0.5,
            }
        )
    for unit in ("CPU s", "wall s"):
        if "import measurand" in cost:
            goals.append(
                {
                    "goal": f"import measurand less import pandas, {unit[:-2]}, at most .1 s",
                    "measured": cost["import measurand"][unit] - cost["import pandas"][unit],
                    "limit": 0.1,
                }
            )
    for goal in goals:
        goal["met"] = goal["measured"] <= goal["limit"]
    report(
        "startup", "What starting up costs, whole processes.", {"Processes": rows, "Goals": goals}, notes, options.json
    )


if __name__ == "__main__":
    main()
