"""Kill an elicitation 200 times at random moments over 5,000 answers, and hold its table against an undisturbed run's.

python benchmarks/kills.py [KILLS]
"""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from kills import killed_until_done, lines, run, untimed, write_study


def main() -> None:
    """Kill, start again, compare, and write the table."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(write_study(folder, out="whole", latency=0.0))
        torn = write_study(folder, out="torn", latency=0.0005)
        store = folder / "torn" / "store" / "answers.jsonl"
        found = killed_until_done(torn, store, kills=kills, seed=1)
        expected = untimed(folder / "whole" / "elicit" / "answers.csv")
        is_same = untimed(folder / "torn" / "elicit" / "answers.csv") == expected
        asked = lines(store), lines(folder / "whole" / "store" / "answers.jsonl")
    text = (
        "# Kills\n\n"
        f"`python benchmarks/kills.py {kills}`: SIGKILL at random moments of a run with the fake engine; "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{time.monotonic() - started:.0f} s.\n\n"
        "| | |\n|---|---|\n"
        f"| kills | {found.kills} |\n"
        f"| different numbers of answers at which a life ended | {len(set(found.answers))} |\n"
        f"| lines torn by a kill, and healed | {found.torn} |\n"
        f"| rows of the table | {len(expected) - 1:,} |\n"
        f"| lines of the store, one of them for each test of the engine | {asked[0]:,} (undisturbed {asked[1]:,}) |\n"
        f"| table equals the undisturbed run's, time columns aside | {'yes' if is_same else 'NO'} |\n"
    )
    (Path(__file__).parent / "results" / "kills.md").write_text(text, encoding="utf-8")
    print(text)
    if not is_same:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
