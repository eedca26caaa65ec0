"""All benchmarks, their results as JSON and as one page of tables.

`python run.py` runs everything (half an hour, most of it the largest panels); `--only alpha,startup` runs some
and keeps the other results; `--only ''` writes the page again from the JSON files.
"""

from __future__ import annotations

import json
import subprocess
import sys

from _common import HERE, RESULTS, arguments, markdown

BENCHMARKS = ("alpha", "startup", "audit", "memory")

PREFACE = """# Results of the benchmarks

Written by `run.py`; the numbers are those of the JSON files beside this page. How each is measured, and how to measure
it again: [../README.md](../README.md). Each section names the day, the machine and the versions. The machine is small
and shared, so CPU seconds and the ratios of alternating pairs are the fair figures; wall time is an upper bound.
"""


def section(name: str) -> list[str]:
    """Return the Markdown of a result file, nothing where there is none."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return []
    result = json.loads(path.read_text(encoding="utf-8"))
    versions = ", ".join(f"{package} {version}" for package, version in result["packages"].items())
    return [markdown(result), f"{result['date']}; {result['machine']}; Python {result['python']}; {versions}.\n"]


def main() -> None:
    options = arguments(__doc__, only={"default": ",".join(BENCHMARKS), "help": "which ones, with commas between"})
    failed = []
    for name in filter(None, options.only.split(",")):
        words = [sys.executable, str(HERE / f"{name}.py"), "--json", str(RESULTS / f"{name}.json")]
        if subprocess.run(words, check=False, cwd=HERE).returncode:
            failed.append(name)
    page = [PREFACE, *(part for name in BENCHMARKS for part in section(name))]
    (RESULTS / "README.md").write_text("\n".join(page), encoding="utf-8")
    if failed:
        sys.exit(f"failed, results of an earlier run kept: {', '.join(failed)}")


if __name__ == "__main__":
    main()
