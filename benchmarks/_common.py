"""What the benchmarks share: alternating CPU timings, whole processes with their peak memory, and result files.

Imports the standard library alone. A child's peak memory starts from what its parent held when it was forked, so the
scripts that measure memory must stay small themselves.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PACKAGES = (
    "measurand",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "narwhals",
    "matplotlib",
    "typer",
    "evalaudit",
    "evalica",
    "krippendorff",
)


class Cost(NamedTuple):
    """CPU and wall seconds, and for a whole process its peak memory in bytes and exit status."""

    cpu: float
    wall: float
    peak: int = 0
    status: int = 0


def clock(work: Callable[[], Any]) -> Cost:
    """Return what one call costs, the garbage of earlier ones collected before."""
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return Cost(time.process_time() - cpu, time.perf_counter() - wall)


def alternate(a: Callable[[], Any], b: Callable[[], Any], pairs: int) -> tuple[list[Cost], list[Cost]]:
    """Return the costs of A B A B …, after one unmeasured call of each, so that a slow minute hits both alike."""
    a()
    b()
    costs = [(clock(a), clock(b)) for _ in range(pairs)]
    return [first for first, _ in costs], [second for _, second in costs]


def spawn(command: Sequence[str], *, log: Path | None = None, env: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and return what the whole process cost; its output goes to a file or nowhere."""
    with (log or Path(os.devnull)).open("wb") as out:
        start = time.perf_counter()
        child = subprocess.Popen(list(command), stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)  # already reaped: Popen must not wait for it again
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024, child.returncode)


def median(costs: Sequence[Cost], field: str = "cpu") -> float:
    return statistics.median(getattr(cost, field) for cost in costs)


def measurand_command() -> list[str] | None:
    """Return the installed command, None where this checkout has none yet."""
    command = Path(sys.executable).parent / "measurand"
    if not command.exists() or spawn([str(command), "--help"]).status:
        return None
    return [str(command)]


def environment() -> dict[str, Any]:
    """Return the class of machine and the versions; no names of hosts, people or folders."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} shared cores, "
        f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB, {platform.system()}",
        "python": platform.python_version(),
        "packages": versions,
    }


def arguments(doc: str | None, **extra: dict[str, Any]) -> argparse.Namespace:
    """Parse the command line that the benchmarks share."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the result here too")
    for name, options in extra.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **options)
    return parser.parse_args()


def report(name: str, question: str, tables: Mapping[str, list[dict[str, Any]]], notes: Sequence[str], to: Path | None):
    """Print the tables and, if asked, write them as JSON."""
    result = {"name": name, "question": question, **environment(), "tables": dict(tables), "notes": list(notes)}
    print(markdown(result))
    if to is not None:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def markdown(result: Mapping[str, Any]) -> str:
    """Return a result file as Markdown."""
    lines = [f"## {result['name']}", "", result["question"], ""]
    for title, rows in result["tables"].items():
        if not rows:
            continue
        columns = list(dict.fromkeys(column for row in rows for column in row))
        lines += [f"**{title}**", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_cell(row.get(column)) for column in columns) + " |" for row in rows]
        lines.append("")
    return "\n".join([*lines, *(f"- {note}" for note in result["notes"]), ""])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if value == 0 or abs(value) < 1e-4:
            return f"{value:.1g}"
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value).replace("|", "/")
