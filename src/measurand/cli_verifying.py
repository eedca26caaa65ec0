"""The command that holds a finished run against its manifest and its own numbers: verify."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from measurand.cli_asking import in_lines
from measurand.cli_options import printable, refuse

_MARKS = {"same": "✓", "differs": "✗", "not checked": "?"}


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run, of a whole study, or of a drawn sample.")],
    numbers: Annotated[
        bool, typer.Option("--numbers/--no-numbers", help="Compute the numbers again from the inputs, too.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Write the checks as JSON.")] = False,
) -> None:
    """Is a finished run what it says? Hashes, pages, tables, inputs and numbers; exit status 1 if one differs.

    Paths of inputs are those of the run: give the command in the folder where the run was made.
    """
    import json
    from dataclasses import asdict

    from measurand.study_verifying import verify as hold

    with in_lines():
        checks = hold(folder, compute=_compute if numbers else None, study=numbers)
    if as_json:
        typer.echo(json.dumps([asdict(check) for check in checks], indent=1, ensure_ascii=False))
    else:
        for check in checks:
            where = f"{check.of}: " if check.of else ""
            # What a computation said may have several lines.
            what = f": {'; '.join(printable(line) for line in check.what.splitlines())}" if check.what else ""
            typer.echo(f"{_MARKS[check.state]} {check.state:<12} {where}{check.name}{what}")
    if any(check.state == "differs" for check in checks):
        raise typer.Exit(1)


def _compute(arguments: Sequence[str]) -> None:
    """Run a command line of measurand in a process of its own, its output kept back."""
    import subprocess
    import sys

    # The words are those of the manifest's own command, given to this very program and to no shell.
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "measurand", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode != 0:
        refuse(done.stderr.strip().removeprefix("measurand: ") or f"it ended with status {done.returncode}")
