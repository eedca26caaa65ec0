"""What `measurand plan` draws a sample from, as it was declared; what it says of one; the sheets that came back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from measurand.cli_choices import own_or_shared, read_labels
from measurand.cli_options import refuse
from measurand.cli_reading import OF_RATED_OUTPUTS, Declared, telling

if TYPE_CHECKING:
    from measurand.data import Outputs, Scale
    from measurand.planning.designs import Design
    from measurand.planning.drawing import Sample

OutputItemOption = Annotated[
    str | None, typer.Option("--output-item", help="Column of the outputs with the item.", show_default="as --item")
]
OutputSystemOption = Annotated[
    str | None,
    typer.Option("--output-system", help="Column of the outputs with the system.", show_default="as --system"),
]
OutputTextOption = Annotated[
    str | None, typer.Option("--text", help="Column of the outputs with the text.", show_default="text")
]


class OutputColumns(NamedTuple):
    """What the outputs call their columns, and what the ratings do."""

    item: str | None
    system: str | None
    text: str | None
    shared_item: str | None
    shared_system: str | None


class Pool(NamedTuple):
    """What a sample is drawn from: a frame of items, and what the systems produced for them."""

    items: Any
    outputs: Outputs | None


def read_pool(items: Path | None, outputs: Path | None, columns: OutputColumns, declared: Declared) -> Pool:
    """Read items and outputs; a name that ratings have (--item, --system) counts only if these have it, too."""
    from measurand.data import read_outputs
    from measurand.data.read import read_table

    if items is None:
        refuse("--draw needs the items to draw from: --items FILE")
        return Pool(None, None)
    found = read_labels(items, declared, item=columns.shared_item)
    if outputs is None:
        return Pool(found, None)
    marks = declared.of(outputs)
    with telling(outputs, OF_RATED_OUTPUTS):
        frame = read_table(outputs, delimiter=marks.delimiter)
        item, system = own_or_shared(
            frame, (columns.item, columns.shared_item), (columns.system, columns.shared_system)
        )
        if (columns.text or "text") not in map(str, frame.columns):
            there = ", ".join(map(repr, list(frame.columns)[:12]))
            refuse(
                f"outputs: no column {columns.text or 'text'!r}, so that raters would have nothing to read; the table "
                f"has {there}. Name the right one with --text"
            )
        shown = read_outputs(
            frame, item=item, system=system, text=columns.text, decimal=marks.decimal, missing=marks.missing
        )
    return Pool(found, shown)


def tell_drawn(sample: Sample, design: Design, folder: Path) -> None:
    """Say what was drawn, and warn if the sheets show nothing that could be rated."""
    from measurand.planning.sheets import shows_outputs

    typer.echo(f"Drawn: {design}; {len(sample.sheets)} sheets in {folder / 'sheets'}", err=True)
    typer.echo(f"Keep from the raters: {folder / 'key.csv'} and {folder / 'protocol.json'}", err=True)
    if not shows_outputs(sample):
        typer.echo(
            "Warning: the sheets hold no outputs. Show them to the raters elsewhere, each under its item and code "
            f"({folder / 'key.csv'} says whose it is), or draw into a new folder with --outputs FILE, which puts texts "
            "into the sheets.",
            err=True,
        )


def collect_sheets(
    folder: Path,
    spelled: tuple[Sequence[str] | None, Sequence[str] | None, Sequence[str] | None],
    *,
    blank_sheets: bool,
    quiet: bool,
) -> None:
    """Write the ratings of the sheets that came back, and say what was read and how to go on.

    Parameters
    ----------
    folder : Path
        The sample's folder.
    spelled : tuple
        What --delimiter, --decimal and --missing say; decimal marks also of single sheets. A delimiter counts only
        where the header of a sheet does not tell.
    blank_sheets : bool
        Whether wholly blank sheets are taken, too.
    quiet : bool
        Say nothing.
    """
    from measurand.data.marks import Marks
    from measurand.planning.sheets import SHEETS, collected, scales_of

    sheets = sorted((folder / SHEETS).glob("*.csv"))
    declared = Declared(*spelled, sheets)
    if set(missing := declared.settings.get("missing", {})) - {"all"}:
        refuse("--missing FILE=TEXT: what stands for a missing rating is the same on all sheets; give the text alone")
    decimals = {path.name: mark for path in sheets if (mark := declared.decimal(path)) is not None}
    marks = Marks(declared.delimiter, missing=missing.get("all", ()))
    path, ratings, with_commas = collected(folder, marks, decimals=decimals, blank_sheets=blank_sheets)
    if quiet:
        return
    blank = int((ratings["rating"] == "").sum())
    typer.echo(f"{len(ratings):,} rows, {blank:,} of them blank: {path}", err=True)
    if with_commas:
        from measurand.sentences import listed

        typer.echo(f"Decimal commas were read in {listed(with_commas, most=6)}; {path.name} has points.", err=True)
    words = ["measurand", "audit", str(path), "--order", "position", *scale_options(*scales_of(folder))]
    typer.echo(f"Now: {shlex.join(words)}", err=True)


def scale_options(criteria: Sequence[str], scales: Mapping[str, Scale]) -> list[str]:
    """Return the options that declare the scales of a sample again, as far as a command line can.

    Examples
    --------
    >>> from measurand.data import Scale
    >>> scale_options(["tone", "style"], {"tone": Scale(1, 5, step=0.5, level="ordinal")})
    ['--scale', 'tone=1:5:0.5', '--level', 'ordinal']
    """
    from measurand.data.faults import as_list

    found = list(scales.values())
    is_one = len(found) == len(criteria) and all(one == found[0] for one in found)
    levels = {one.level for one in found}
    out: list[str] = []
    if is_one and found[0].labels:
        out += ["--labels", as_list(found[0].labels)]
    elif any(one.labels for one in found):
        return []
    elif is_one and found[0].bounds is not None:
        out += ["--scale", found[0].declaration]
    elif not is_one:
        out += [
            word
            for name, one in scales.items()
            if one.bounds is not None
            for word in ("--scale", f"{name}={one.declaration}")
        ]
    level = levels.pop() if len(levels) == 1 else None
    return [*out, *(["--level", level] if level is not None else [])]
