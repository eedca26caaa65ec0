"""The command that shows everything on what ships with the package: demo."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from measurand.cli_asking import in_lines, run_told, safe_to_stop, teller, told_of_asking
from measurand.cli_options import QuietOption, show


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the demo study and its run.")] = Path("demo"),
    ask: Annotated[
        bool,
        typer.Option("--ask/--no-ask", help="Ask the models here, or show the answers that came with the package."),
    ] = True,
    quiet: QuietOption = False,
) -> None:
    """A whole study, offline: a small vision-language model is asked about drawn faces, scored, audited, reported.

    Safe to stop and start again. The folder is an ordinary study: `measurand run demo/study.toml` does the same.
    """
    from measurand.demo.unpack import lacks, unpack
    from measurand.study_file import read_study

    absent = lacks() if ask else []
    if absent:
        typer.echo(
            f"Asking the models needs {', '.join(absent)}: pip install 'measurand[local]', and give the command again. "
            "Until then this is the same study from the answers that came with the package.",
            err=True,
        )
    with in_lines(), safe_to_stop(), contextlib.ExitStack() as bars:
        told = teller(bars, quiet=quiet)
        study = unpack(out, stored=bool(absent) or not ask, told=told)
        declared = read_study(study)
        if not quiet:
            typer.echo(f"Study: {study}", err=True)
        currencies = {one.name: one.price.currency for one in declared.systems}
        done = run_told(study, bars=bars, told=told, currencies=currencies, quiet=quiet)
    show(done.result, as_json=False, as_csv=False)
    if done.elicited is not None and not done.is_complete:
        for line in told_of_asking(done.elicited):
            typer.echo(line, err=True)
    if not quiet:
        typer.echo(f"Report: {done.folder / 'report.html'}", err=True)
    if not done.is_complete:
        raise typer.Exit(1)
