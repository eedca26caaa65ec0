"""The command line: one thin command for each function, data on stdout, everything else on stderr."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from measurand import (
    cli_demo,
    cli_eliciting,
    cli_gates,
    cli_planning,
    cli_probing,
    cli_running,
    cli_scoring,
    cli_simulate,
    cli_verifying,
)
from measurand.cli_choices import LengthUnitChoice, read_rated
from measurand.cli_options import (
    CriterionOption,
    ItemOption,
    LabelsOption,
    LevelOption,
    OccasionOption,
    OrderOption,
    OutOption,
    QuietOption,
    RaterOption,
    RatingOption,
    RatingsArgument,
    RepeatsChoice,
    RepeatsOption,
    ScaleOption,
    SeedOption,
    SystemOption,
    WideOption,
    command,
    printable,
    progress,
    refuse,
    show,
    split,
)
from measurand.cli_reading import (
    OF_RATED_OUTPUTS,
    DecimalOption,
    Declared,
    DelimiterOption,
    MissingOption,
    read_declared_ratings,
    telling,
)

app = typer.Typer(
    name="measurand",
    help="Find out what a human-rated AI benchmark really measures: the systems, or its raters.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(cli_simulate.app, name="simulate")
app.command()(cli_running.run)
app.command()(cli_demo.demo)
app.command()(cli_eliciting.elicit)
app.command()(cli_eliciting.check)
app.command()(cli_scoring.score)
app.command()(cli_gates.gates)
app.command()(cli_planning.plan)
app.command()(cli_probing.probe)
app.command()(cli_verifying.verify)


def _version(shown: bool) -> None:
    if shown:
        from measurand import __version__

        typer.echo(f"measurand {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find out what a human-rated AI benchmark really measures: the systems, or its raters."""


@app.command()
def audit(
    ratings: RatingsArgument,
    item: ItemOption = None,
    system: SystemOption = None,
    rater: RaterOption = None,
    rating: RatingOption = None,
    criterion: CriterionOption = None,
    occasion: OccasionOption = None,
    order: OrderOption = None,
    wide: WideOption = "",
    scale: ScaleOption = None,
    level: LevelOption = None,
    labels: LabelsOption = "",
    repeats: RepeatsOption = RepeatsChoice.refuse,
    delimiter: DelimiterOption = None,
    decimal: DecimalOption = None,
    missing: MissingOption = None,
    replicates: Annotated[int, typer.Option("--replicates", min=100, help="Bootstrap replicates.")] = 2000,
    target: Annotated[
        list[float] | None,
        typer.Option(
            "--target", help="G wanted of the ranking (repeatable); findings use the first.", show_default="0.8, 0.9"
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Level of all intervals.")] = 0.95,
    outputs: Annotated[
        Path | None,
        typer.Option(
            "--outputs", help="What the systems produced: item, system, text or length. Do ratings follow it?"
        ),
    ] = None,
    output_item: Annotated[
        str | None, typer.Option("--output-item", help="Column of the outputs with the item.", show_default="as --item")
    ] = None,
    output_system: Annotated[
        str | None,
        typer.Option("--output-system", help="Column of the outputs with the system.", show_default="as --system"),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", help="Column of the outputs with the text.", show_default="text")
    ] = None,
    length: Annotated[
        str | None, typer.Option("--length", help="Column of the outputs with the length.", show_default="length")
    ] = None,
    length_unit: Annotated[
        LengthUnitChoice | None,
        typer.Option(
            "--length-unit", help="What lengths are counted in.", show_default="length if there, else emoji or word"
        ),
    ] = None,
    pigeonhole: Annotated[
        int,
        typer.Option("--pigeonhole", min=0, help="Replicates that draw items and raters anew, for system differences."),
    ] = 0,
    seed: SeedOption = 0,
    out: OutOption = None,
    title: Annotated[str, typer.Option("--title", help="Headline of the report.")] = "Audit of ratings",
    strict: Annotated[bool, typer.Option("--strict", help="Exit with status 1 if a finding fails.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write results.json to stdout instead of the summary.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Write all rows as CSV to stdout instead of the summary.")
    ] = False,
    quiet: QuietOption = False,
) -> None:
    """Can these ratings rank the systems, why not, and what would it take?

    Columns item, rater, rating; with systems to compare system; with several quantities graded criterion.
    """
    import datetime

    from measurand.auditing import audit as run_audit
    from measurand.auditing.components import PIVOT_DRAWS
    from measurand.auditing.generalizability import TARGETS
    from measurand.study import check_out, manifest, write_run

    started = datetime.datetime.now(datetime.UTC)
    targets = tuple(target) if target else TARGETS
    if as_json and as_csv:
        refuse("--json and --csv: choose one")
    of_outputs = {
        "--output-item": output_item,
        "--output-system": output_system,
        "--text": text,
        "--length": length,
        "--length-unit": length_unit,
    }
    if outputs is None and (named := [option for option, value in of_outputs.items() if value]):
        refuse(f"{named[0]} is about the outputs; give them with --outputs")
    if out is not None:
        check_out(out)
    declared = Declared(delimiter, decimal, missing, [ratings, outputs])
    table = read_declared_ratings(
        ratings,
        declared,
        item=item,
        system=system,
        rater=rater,
        rating=rating,
        criterion=criterion,
        occasion=occasion,
        order=order,
        wide=wide,
        scale=scale,
        level=level,
        labels=labels,
        repeats=repeats,
    )
    rated = None
    if outputs is not None:
        with telling(outputs, OF_RATED_OUTPUTS):
            rated = read_rated(
                outputs,
                declared.of(outputs),
                item=item,
                system=system,
                own_item=output_item,
                own_system=output_system,
                text=text,
                length=length,
            )
    with progress(quiet=quiet) as told:
        result = run_audit(
            table,
            replicates=replicates,
            targets=targets,
            confidence=confidence,
            seed=seed,
            pigeonhole=pigeonhole,
            outputs=rated,
            unit_of_length=None if length_unit is None else length_unit.value,
            progress=told,
        )
    if out is not None:
        settings = {
            "columns": dict(table.columns),
            "wide": split(wide),
            "scale": {name: one.to_dict() for name, one in table.scales.items()},
            "repeats": repeats.value,
            **declared.settings,
            "replicates": replicates,
            "draws": PIVOT_DRAWS,
            "targets": list(targets),
            "confidence": confidence,
            "pigeonhole": pigeonhole,
            **({} if outputs is None else {name[2:].replace("-", "_"): value for name, value in of_outputs.items()}),
            "seed": seed,
            "title": title,
        }
        document = manifest(
            [ratings, *([outputs] if outputs else [])], command=command(), settings=settings, started=started
        )
        write_run(result, out, title=title, document=document)
    show(result, as_json=as_json, as_csv=as_csv)
    if out is not None and not quiet:
        typer.echo(f"Report: {out / 'report.html'}", err=True)
    if strict and any(finding.verdict == "fail" for finding in result.findings):
        raise typer.Exit(1)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    title: Annotated[str | None, typer.Option("--title", help="Headline.", show_default="the run's own")] = None,
    quiet: QuietOption = False,
) -> None:
    """Write the pages of a finished run again, from its results.json alone."""
    from measurand.study import report_again

    report_again(folder, title=title)
    if not quiet:
        typer.echo(f"Report: {folder / 'report.html'}", err=True)


class _Interrupted(BaseException):
    """Ctrl-C or a request to end: unwinds everything, and no library in between takes it for its own."""


def main() -> None:
    """Run the command line.

    Exit status 0 is fine, 1 a finding or check that failed, 2 wrong use or bad input, 3 a fault of measurand's own,
    130 an interruption.
    """
    import signal

    # A reader that leaves early (| head) is no error of ours.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # Data are UTF-8 in pipes and files, whatever the system's own encoding is.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    # Ending a job must clean up as Ctrl-C does, so that no half-written folder stays.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        app()
    except _Interrupted:
        sys.stderr.write("\nInterrupted: nothing was written.\n")
        # The interpreter restores the default handlers as it ends; one more request to end must not change the status.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        sys.exit(130)
    # The last line of defence: no traceback reaches a user.
    except Exception as error:
        if os.environ.get("MEASURAND_DEBUG"):
            raise
        sys.exit(_explain(error))


def _interrupt(_number: int, _frame: object) -> None:
    import signal

    # Once is enough: a second one must not break into the cleaning up. (Not SIG_IGN: one may be on its way already.)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    raise _Interrupted


def _explain(error: Exception) -> int:
    """Write one clear message and return the exit status."""
    from measurand.result import MeasurandError

    if isinstance(error, MeasurandError):
        # Names of anybody's table stand in it: no control character of theirs reaches the terminal.
        sys.stderr.write(f"measurand: {printable(str(error))}\n")
        return 2
    if isinstance(error, MemoryError):
        sys.stderr.write("measurand: not enough memory for this table; audit its criteria one by one\n")
        return 2
    if isinstance(error, OSError):
        sys.stderr.write(f"measurand: {error.filename or 'a file'}: {error.strerror or error}\n")
        return 2
    sys.stderr.write(
        f"measurand: this is a fault of measurand, not of your data: {type(error).__name__}: {error}\n"
        "Run it again with MEASURAND_DEBUG=1 in the environment and report what it prints.\n"
    )
    return 3
