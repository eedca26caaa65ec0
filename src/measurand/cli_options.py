"""Options that several commands share, and what every command does with its result."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from measurand.result import Result


class LevelChoice(StrEnum):
    """Levels of measurement."""

    nominal = "nominal"
    ordinal = "ordinal"
    interval = "interval"
    ratio = "ratio"


class RepeatsChoice(StrEnum):
    """What to do with several ratings of one cell by one rater."""

    refuse = "refuse"
    first = "first"
    last = "last"
    mean = "mean"


RatingsArgument = Annotated[Path, typer.Argument(help="Ratings: .csv, .tsv, .jsonl or .parquet (also .gz).")]
ItemOption = Annotated[str | None, typer.Option("--item", help="Column with the item.", show_default="item")]
SystemOption = Annotated[
    str | None, typer.Option("--system", help="Column with the system.", show_default="system, if there is one")
]
RaterOption = Annotated[str | None, typer.Option("--rater", help="Column with the rater.", show_default="rater")]
RatingOption = Annotated[str | None, typer.Option("--rating", help="Column with the rating.", show_default="rating")]
CriterionOption = Annotated[
    str | None,
    typer.Option("--criterion", help="Column with the criterion.", show_default="criterion, if there is one"),
]
OccasionOption = Annotated[
    str | None, typer.Option("--occasion", help="Column with the occasion.", show_default="occasion, if there is one")
]
OrderOption = Annotated[
    str | None,
    typer.Option("--order", help="Column with the order (or time) in which a rater saw the cells; for drift and runs."),
]
WideOption = Annotated[
    str, typer.Option("--wide", metavar="R1,R2,…", help="For a table with a column for each rater: these columns.")
]
ScaleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        metavar="LOW:HIGH[:STEP]",
        help="Permitted ratings, 1:5 or 0:1:.5; per criterion fluency=1:5 (repeatable). Never inferred from the data.",
    ),
]
LevelOption = Annotated[LevelChoice | None, typer.Option("--level", help="Level of measurement.")]
LabelsOption = Annotated[str, typer.Option("--labels", metavar="NO,MINOR,YES", help="Text ratings in ascending order.")]
RepeatsOption = Annotated[
    RepeatsChoice, typer.Option("--repeats", help="Several ratings of one cell by one rater (in row order).")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="The one seed of all random numbers.")]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Folder for results.json, report.html, report.md, tables/, manifest.json.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]


def assignments(texts: Sequence[str], option: str) -> dict[str, float]:
    """Read name=number pairs."""
    out = {}
    for text in texts:
        name, found, value = text.rpartition("=")
        try:
            out[name] = float(value)
        except ValueError:
            found = ""
        if not found:
            refuse(f"{option} {text!r}; write name=number, for example item:system=0.1")
    return out


def split(text: str) -> list[str]:
    """Return the parts of a list with commas; a part with a comma stands in double quotes, as in CSV."""
    from measurand.data.faults import from_list

    return from_list(text)


def printable(text: str) -> str:
    """Return a text without a control character that could reach the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def refuse(message: str) -> None:
    """Refuse what was asked for."""
    from measurand.result import MeasurandError

    raise MeasurandError(message)


def command() -> str:
    """Return the command line as it was typed."""
    return shlex.join(["measurand", *sys.argv[1:]])


def show(result: Result, *, as_json: bool, as_csv: bool) -> None:
    """Write a result to stdout: a summary, JSON, or CSV."""
    if as_json:
        typer.echo(result.to_json(), nl=False)
    elif as_csv:
        from measurand.study import to_csv

        typer.echo(to_csv(result), nl=False)
    else:
        import shutil

        from measurand.reporting import render_summary

        color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        width = max(60, min(shutil.get_terminal_size((100, 24)).columns, 110))
        typer.echo(render_summary(result, width=width, color=color))


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[Any]:
    """Give a progress callback that draws one line on a terminal's stderr and nothing into pipes and logs."""
    if quiet or not sys.stderr.isatty():
        yield None
        return

    def told(name: str, number: int, of: int) -> None:
        bar = "█" * number + "░" * (of - number)
        sys.stderr.write(f"\r\x1b[2K{bar} {name}")
        sys.stderr.flush()

    try:
        yield told
    finally:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
