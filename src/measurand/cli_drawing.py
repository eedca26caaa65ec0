"""The tables that `measurand plan` draws a sample from, as they were declared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from measurand.cli_choices import own_or_shared, read_labels
from measurand.cli_options import refuse
from measurand.cli_reading import OF_RATED_OUTPUTS, Declared, telling

if TYPE_CHECKING:
    from measurand.data import Outputs

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
