"""The command that takes a study from its file to its page: run."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from measurand.cli_asking import in_lines, run_told, safe_to_stop, teller, told_of_asking
from measurand.cli_choices import JsonOption
from measurand.cli_options import QuietOption, printable, show


def run(
    study: Annotated[Path, typer.Argument(help="The study file (.toml); docs/study-file.md lists its keys.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for all steps.", show_default="the study's own")
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="Headline of the page.", show_default="the study's own")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask, score, audit, and one page about all of it. Safe to stop and start again: nothing is done twice.

    Exit status 1 if requests remain without an answer, or a system failed the test of its engine.
    """
    from measurand.study_file import read_study
    from measurand.study_scoring import Held

    with in_lines(), safe_to_stop(), contextlib.ExitStack() as bars:
        told = teller(bars, quiet=quiet)
        declared = read_study(study)
        if not quiet:
            held = Held(declared)
            held.check()
            for note in [*declared.notes, *held.left_out()]:
                typer.echo(f"Note: {printable(note)}", err=True)
        currencies = {one.name: one.price.currency for one in declared.systems}
        done = run_told(study, bars=bars, told=told, currencies=currencies, quiet=quiet, out=out, title=title)
    show(done.result, as_json=as_json, as_csv=False)
    if not quiet:
        if done.elicited is not None and not done.is_complete:
            for line in told_of_asking(done.elicited):
                typer.echo(line, err=True)
        typer.echo(f"Report: {done.folder / 'report.html'}", err=True)
    if not done.is_complete:
        raise typer.Exit(1)
