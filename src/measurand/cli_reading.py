"""How commands read tables: what stands between cells, and refusals that name a command's own options and the file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from measurand.cli_options import LevelChoice, RepeatsChoice, refuse, split

if TYPE_CHECKING:
    from measurand.data import Ratings
    from measurand.data.marks import DecimalMark, Marks

DelimiterOption = Annotated[
    list[str] | None,
    typer.Option(
        "--delimiter",
        metavar="[FILE=]MARK",
        help="What stands between the cells of .csv and .tsv files, such as ';'; of one file alone FILE=MARK.",
        show_default="a comma; a tab in .tsv",
    ),
]
DecimalOption = Annotated[
    list[str] | None,
    typer.Option(
        "--decimal",
        metavar="[FILE=]MARK",
        help="Decimal mark of .csv and .tsv files, a point or a comma; of one file alone FILE=MARK.",
        show_default="a point",
    ),
]
MissingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="[FILE=]TEXT",
        help="What stands for a missing rating or number, such as k.A. (repeatable); blank and N/A always do.",
    ),
]

_MARKS: Final = {name: f"--{name}" for name in ("delimiter", "decimal", "missing")}
_NAMES: Final = ("item", "system", "rater", "rating", "criterion", "wide", "labels", "level", "repeats")
#: What the readers of tables call their arguments, and what commands call them.
OF_RATINGS: Final = {name: f"--{name}" for name in _NAMES} | _MARKS
OF_OUTPUTS: Final = {name: f"--{name}" for name in ("item", "system", "text", "length")} | _MARKS
OF_RATED_OUTPUTS: Final = OF_OUTPUTS | {"item": "--output-item", "system": "--output-system"}
OF_PROBED_RATINGS: Final = OF_RATINGS | {
    "item": "--rating-item",
    "system": "--rating-system",
    "repeats": "--rating-repeats",
}
OF_ANSWERS: Final = {
    "system": "--answer-system",
    "item": "--answer-item",
    "answer": "--answer",
    "criterion": "--answer-criterion",
    "repeats": "--answer-repeats",
    "scale": "--labels",
} | _MARKS
OF_CHECKED: Final = {name: f"--{name}" for name in ("item", "system", "criterion")} | {"scale": "--labels"} | _MARKS
OF_ITEMS: Final = {"item": "--item", "label": "--label"} | _MARKS


class Declared:
    """How the tables of a command spell their cells, as it was given.

    Parameters
    ----------
    delimiter, decimal, missing : sequence of str or None
        What the options say: a mark for all tables, FILE=MARK for one.
    files : sequence of Path or None
        The tables of the command.
    """

    def __init__(
        self,
        delimiter: Sequence[str] | None,
        decimal: Sequence[str] | None,
        missing: Sequence[str] | None,
        files: Sequence[Path | None],
    ) -> None:
        self._names = list(dict.fromkeys(str(path) for path in files if path is not None))
        self._delimiter = self._by_file("--delimiter", delimiter)
        self._decimal = self._by_file("--decimal", decimal)
        self._missing = self._by_file("--missing", missing, is_text=True)

    def of(self, path: Path | None) -> Marks:
        """Return the marks of a table."""
        from measurand.data.marks import Marks
        from measurand.data.read import is_delimited

        def told(given: Mapping[str, list[str]]) -> list[str]:
            # What is said of all tables is said of those that a spreadsheet writes.
            of_all = given.get("", []) if is_delimited(path) else []
            return [*of_all, *given.get(str(path), [])]

        delimiter, decimal = told(self._delimiter)[-1:], told(self._decimal)[-1:]
        if decimal and decimal[0] not in (".", ","):
            refuse(f"--decimal {decimal[0]!r}; give a point or a comma")
        return Marks(
            delimiter[0] if delimiter else None,
            "," if decimal == [","] else ".",
            told(self._missing),
        )

    @property
    def delimiter(self) -> str | None:
        """What was declared to stand between the cells of all tables, None where nothing was."""
        from measurand.data.marks import Marks

        of_all = self._delimiter.get("", [])
        return Marks(of_all[-1]).delimiter if of_all else None

    def decimal(self, path: Path) -> DecimalMark | None:
        """Return the decimal mark that was declared of a table, None where none was."""
        given = self._decimal.get("", []) + self._decimal.get(str(path), [])
        return self.of(path).decimal if given else None

    @property
    def settings(self) -> dict[str, Any]:
        """What was declared, for the manifest; nothing where nothing was."""
        given = {"delimiter": self._delimiter, "decimal": self._decimal, "missing": self._missing}
        return {name: {file or "all": value for file, value in of.items()} for name, of in given.items() if of}

    def _by_file(self, option: str, texts: Sequence[str] | None, *, is_text: bool = False) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for text in texts or ():
            file, found, mark = text.rpartition("=")
            if not found or not file:
                out.setdefault("", []).append(text)
            elif (name := self._named(file)) is not None:
                out.setdefault(name, []).append(mark)
            elif is_text and not Path(file).suffix:
                out.setdefault("", []).append(text)
            else:
                refuse(f"{option} {text!r}: this command reads no {file}; it reads {', '.join(self._names)}")
        return out

    def _named(self, file: str) -> str | None:
        """Return the table that is meant: of that path, or else the only one whose file is called so."""
        if file in self._names:
            return file
        called = [name for name in self._names if Path(name).name == file]
        return called[0] if len(called) == 1 else None


@contextlib.contextmanager
def telling(paths: Path | Sequence[Path], options: Mapping[str, str]) -> Iterator[None]:
    """Refuse a table in words of the command line: its file, and the options that the command has for it.

    Parameters
    ----------
    paths : Path or sequence of Path
        The file, or files, that are read.
    options : mapping
        Argument of the reader to the command's option.
    """
    from measurand.data.faults import TableError
    from measurand.result import MeasurandError

    try:
        yield
    except MeasurandError as error:
        text = error.in_options(options) if isinstance(error, TableError) else str(error)
        names = [str(path) for path in ([paths] if isinstance(paths, Path) else paths)]
        if not text.startswith(tuple(names)):
            text = f"{', '.join(names)}: {text}"
        raise MeasurandError(text) from error


def read_declared_ratings(
    path: Path,
    declared: Declared,
    *,
    item: str | None,
    rater: str | None,
    rating: str | None,
    criterion: str | None,
    wide: str,
    scale: list[str] | None,
    level: LevelChoice | None,
    labels: str,
    repeats: RepeatsChoice,
    system: str | None = None,
    occasion: str | None = None,
    order: str | None = None,
    frame: Any = None,
) -> Ratings:
    """Read the ratings as the options of a command say; `frame` is what was read of the file already."""
    from measurand.data import parse_scales, read_ratings

    marks = declared.of(path)
    with telling(path, OF_RATINGS):
        return read_ratings(
            path if frame is None else frame,
            item=item,
            system=system,
            rater=rater,
            rating=rating,
            criterion=criterion,
            occasion=occasion,
            order=order,
            wide=split(wide),
            scale=parse_scales(scale or []),
            level=None if level is None else level.value,
            labels=split(labels),
            repeats=repeats.value,
            delimiter=marks.delimiter if frame is None else None,
            decimal=marks.decimal,
            missing=marks.missing,
        )
