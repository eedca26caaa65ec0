"""The demo on few faces and two of its systems, so that all of it runs again and again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from measurand.demo import unpack

#: What a process runs in place of `measurand`.
_LAUNCH = """
import sys
from pathlib import Path
for name in {absent!r}:
    sys.modules[name] = None
if {here!r}:
    from measurand.demo import unpack
    unpack._HERE, unpack.N_ITEMS, unpack.N_PERSONS = Path({here!r}), 26, 13
from measurand.cli import main
sys.argv = ["measurand", *{args!r}]
main()
"""
KEPT = ("pocket", "early-tuned")
LOCAL = ("torch", "transformers", "safetensors")


def small_package(folder: Path) -> Path:
    """Write what the demo is made of, with two systems, one wording and fewer replicates, and return its folder."""
    there = Path(unpack.__file__).parent
    for name in ("models", "adapters"):
        (folder / name).symlink_to(there / name)
    (folder / unpack.STUDY).write_text(trimmed((there / unpack.STUDY).read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def trimmed(text: str) -> str:
    tables = re.split(r"(?m)^(?=\[\[?\w)", text)
    kept = [one for one in tables if not one.startswith("[[system]]") or re.search(r'name\s+= "(.+?)"', one)[1] in KEPT]
    out = "".join(kept)
    for before, after in (
        (r'phrasings = \["does", "present", "would"\].*', 'phrasings = ["does"]'),
        (r"n = \d+ \}", "n = 100 }"),
        (r"control_items = \d+", "control_items = 13"),
    ):
        out, n = re.subn(before, after, out)
        assert n == 1, before
    return out


def start(*args: object, here: Path | str = "", absent: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start the command line; with the demo of a small package where one is named."""
    code = _LAUNCH.format(absent=absent, here=str(here), args=[str(one) for one in args])
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate()
    return subprocess.CompletedProcess([], process.returncode, out, err)
