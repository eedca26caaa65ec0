"""What a command that asks systems shows on the way: bars, what this start asked, how to go on when interrupted."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from measurand.cli_options import command, printable, progress

if TYPE_CHECKING:
    from measurand.eliciting.asking import Progress, Watch
    from measurand.eliciting.run import Elicited
    from measurand.study_running import Step, StudyRun


@contextlib.contextmanager
def in_lines() -> Iterator[None]:
    """Write a refusal of several lines as lines; nothing but their ends reaches the terminal as a control."""
    from measurand.result import MeasurandError

    try:
        yield
    except MeasurandError as error:
        lines = str(error).split("\n")
        if len(lines) == 1:
            raise
        sys.stderr.write("measurand: " + "\n".join(map(printable, lines)) + "\n")
        raise typer.Exit(2) from error


@contextlib.contextmanager
def safe_to_stop() -> Iterator[None]:
    """Say how to go on where asking was interrupted; the status is that of every interrupted command."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception | SystemExit):
            raise
        import signal

        # One more request to end while the interpreter ends must not change the status.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        sys.stderr.write("\nInterrupted: every answer so far is kept; give the same command again to go on.\n")
        raise SystemExit(130) from None


def run_told(
    study: Path,
    *,
    bars: contextlib.ExitStack,
    told: Callable[[Step], None],
    currencies: Mapping[str, str],
    quiet: bool,
    out: Path | None = None,
    title: str | None = None,
) -> StudyRun:
    """Run a study with a bar for each system that is asked, in `bars`, and one for what comes after the asking."""
    from measurand.study_running import run

    watch = bars.enter_context(asking_progress(quiet=quiet, currencies=currencies))
    with progress(quiet=quiet) as steps:
        return run(study, out=out, title=title, command=command(), watch=watch, progress=steps, each=told)


def teller(bars: contextlib.ExitStack, *, quiet: bool) -> Callable[[Step | str], None]:
    """Return what says a line about a step that is over."""

    def told(step: Step | str) -> None:
        # What comes after the asking has a line of its own in their place.
        bars.close()
        if not quiet:
            typer.echo(printable(str(step)), err=True)

    return told


@contextlib.contextmanager
def asking_progress(*, quiet: bool, currencies: Mapping[str, str]) -> Iterator[Watch]:
    """Give a callback that draws a bar for each system on a terminal's stderr, and nothing into pipes and logs."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[left]}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        # Weights are loaded and engines tested for minutes before there is anything to count.
        between = bars.add_task("loading and testing", total=None, count="", left="")
        tasks = {}

        def told(progress: Progress) -> None:
            name = progress.system
            if name not in tasks:
                tasks[name] = bars.add_task(printable(name), total=progress.total, count="", left="")
            bars.update(
                tasks[name],
                completed=progress.done,
                total=progress.total,
                count=f"{progress.done:,} of {progress.total:,}",
                left=left_in_words(progress, currencies.get(name, "")),
            )
            is_last = len(tasks) == len(currencies)
            bars.update(
                between,
                description="writing tables and page" if is_last else "loading and testing",
                visible=progress.done == progress.total,
            )

        yield told


def left_in_words(progress: Progress, currency: str) -> str:
    """Return the time and the money that a system's requests will still take, blank where there is no pace yet."""
    seconds, cost = progress.seconds_left, progress.cost_left
    parts = [] if seconds is None else [f"{duration(seconds)} left"]
    if cost:
        parts.append(f"{currency} {cost:,.2f} left")
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min" if minutes >= 10 else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def told_of_asking(elicited: Elicited) -> list[str]:
    """Return what this start asked of each system, why what failed did, and how to go on."""
    lines = []
    for one in elicited.asked:
        progress = one.progress
        parts = [f"{progress.done:,} of {progress.total:,} requests answered"]
        parts += [f"{progress.stored:,} of them before"] if progress.stored else []
        parts += [f"{progress.retried:,} further attempts"] if progress.retried else []
        parts += [f"{progress.failed:,} failed"] if progress.failed else []
        parts += [duration(progress.seconds)] if progress.asked else []
        parts += [f"{one.system.price.currency} {progress.cost:,.4f}"] if progress.cost else []
        lines.append(f"{one.system.name}: {', '.join(parts)}")
        lines += [f"  stopped: {one.stopped}"] if one.stopped else []
        lines += [f"  failed ({n:,}): {reason}" for reason, n in one.reasons.items()]
    if elicited.healed:
        lines.append(f"The store's last line was torn and was cut off ({elicited.healed:,} bytes)")
    if elicited.n_left:
        lines.append(f"{elicited.n_left:,} requests remain; give the same command again to ask them")
    return [printable(line) for line in lines]
