"""A run of 5,000 answers that is killed again and again, and the one that nobody disturbs."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

#: Columns that say when and how long; all others must be the same.
TIMES = ("seconds", "asked_at")

#: 21 items x 20 criteria x 4 wordings x 2 prefills x (1 + a control on half of them) and a generative readout: 5,061.
STUDY = """
[study]
name = "kills"
seed = 7
out = "{out}"
[data]
items = "items.csv"
criteria = {criteria}
[scale]
low = 0
high = 7
step = 1
[[system]]
name = "F"
engine = "fake"
template_options = {{ bad_share = 0.3, latency_s = {latency} }}
[elicit]
readouts = ["verification", "generative"]
prefills = ["Answer:", ""]
controls = ["shuffled"]
control_items = 10
[elicit.generative]
retry = {{ attempts = 3, note = "Reply with the JSON object and nothing else." }}
"""


@dataclass
class Killed:
    """How often a run was killed, and how many answers it had each time."""

    kills: int = 0
    answers: list[int] = field(default_factory=list)
    torn: int = 0


def write_study(folder: Path, *, out: str, latency: float) -> Path:
    criteria = [f"criterion {i}" for i in range(20)]
    (folder / "items.csv").write_text(
        "item,text\n" + "".join(f"{i:03d},this is the text of item {i}\n" for i in range(21)), encoding="utf-8"
    )
    path = folder / f"{out}.toml"
    path.write_text(STUDY.format(out=out, criteria=criteria, latency=latency), encoding="utf-8")
    return path


def start(study: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "measurand", "elicit", str(study), "--quiet", "--json"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killed_until_done(study: Path, store: Path, *, kills: int, seed: int) -> Killed:
    """Kill a run at random moments, then let it end; every start goes on where the last one was."""
    rng = random.Random(seed)  # noqa: S311 (moments, no secrets)
    found = Killed()
    while found.kills < kills:
        before = lines(store)
        process = start(study)
        # Each life ends when some more answers are there, wherever in the middle of a write that may be.
        wanted = before + rng.randint(1, max(2, 2 * (5000 - before) // (kills - found.kills + 1)))
        until = time.monotonic() + 120
        while lines(store) < wanted and process.poll() is None and time.monotonic() < until:
            time.sleep(rng.uniform(0.0, 0.01))
        if process.poll() is not None:
            process.communicate()
            break
        process.kill()
        process.communicate()
        found.kills += 1
        content = store.read_bytes() if store.exists() else b""
        found.torn += not content.endswith(b"\n")
        found.answers.append(content.count(b"\n"))
    run(study)
    return found


def run(study: Path) -> None:
    """Let a run end by itself."""
    process = start(study)
    _, err = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the run ended with status {process.returncode}: {err.decode()}")


def lines(store: Path) -> int:
    return store.read_bytes().count(b"\n") if store.exists() else 0


def untimed(path: Path) -> list[list[str]]:
    """Return a table's cells without its time columns."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    kept = [i for i, name in enumerate(rows[0]) if name not in TIMES]
    return [[row[i] for i in kept] for row in rows]
