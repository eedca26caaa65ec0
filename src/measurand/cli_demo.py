"""The command that shows everything on what ships with the package: demo."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from measurand.cli_asking import asking_progress, in_lines, printable, safe_to_stop, told_of_asking
from measurand.cli_options import QuietOption, command, progress, show

if TYPE_CHECKING:
    from measurand.study_running import Step


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
    from measurand.study_running import run as run_study

    absent = lacks() if ask else []
    if absent:
        typer.echo(
            f"Asking the models needs {', '.join(absent)}: pip install 'measurand[local]', and give the command again. "
            "Until then this is the same study from the answers that came with the package.",
            err=True,
        )
    with in_lines(), safe_to_stop(), contextlib.ExitStack() as bars:

        def told(step: Step | str) -> None:
            bars.close()
            if not quiet:
                typer.echo(printable(str(step)), err=True)

        study = unpack(out, stored=bool(absent) or not ask, told=told)
        declared = read_study(study)
        if not quiet:
            typer.echo(f"Study: {study}", err=True)
        currencies = {one.name: one.price.currency for one in declared.systems}
        watch = bars.enter_context(asking_progress(quiet=quiet, currencies=currencies))
        with progress(quiet=quiet) as steps:
            done = run_study(study, command=command(), watch=watch, progress=steps, each=told)
    show(done.result, as_json=False, as_csv=False)
    if done.elicited is not None and not done.is_complete:
        for line in told_of_asking(done.elicited):
            typer.echo(line, err=True)
    if not quiet:
        typer.echo(f"Report: {done.folder / 'report.html'}", err=True)
    if not done.is_complete:
        raise typer.Exit(1)
