"""From the file to the study: every problem is found before any is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from pydantic import ValidationError

from measurand.data.scale import Scale, as_number
from measurand.eliciting.declared import Design, Readout
from measurand.eliciting.presets import generative_preset, scale_of
from measurand.eliciting.system import Price, System
from measurand.result import MeasurandError
from measurand.study_file.errors import StudyFileError, problems_of, read_toml
from measurand.study_file.items import ItemsTable, read_criteria, read_items_table
from measurand.study_file.readouts import Asking, about_criteria, presets_of, readouts_of
from measurand.study_file.refusals import (
    controls_that_fail,
    derived_that_fail,
    hold_markers,
    items_that_fail,
    preset_that_fails,
    questions_that_fail,
    remarks,
    same_names,
    scales_that_fail,
    unreadable,
)
from measurand.study_file.tables import OF_CONTROLS, Derived, StudyTables, SystemTable

_T = TypeVar("_T")
#: Keys of [[system]] that are no settings of the system as it is asked, or become some in another way.
_NOT_ASKED: Final = ("price", "temperature", "engine", *OF_CONTROLS)


@dataclass(frozen=True)
class StudyFile:
    """A study file that was read, checked, and found fit to be asked.

    Parameters
    ----------
    path : Path
        The file.
    tables : StudyTables
        Its content, defaults filled in.
    systems : sequence of System
        Who is asked.
    readouts : sequence of Readout
        How answers are taken.
    criteria : sequence of str
        What is asked about.
    scale : mapping of criterion to Scale
        Permitted ratings; a blank key for all criteria.
    items : ItemsTable
        What is shown; the pictures are files until `design` reads them.
    sources : sequence of Path
        The files that were read, pictures aside (their hashes are in the answers): for the manifest's hashes.
    notes : sequence of str
        What a reader should know of this study although it can be asked.
    """

    path: Path
    tables: StudyTables
    systems: Sequence[System]
    readouts: Sequence[Readout]
    criteria: Sequence[str]
    scale: Mapping[str, Scale]
    items: ItemsTable
    sources: Sequence[Path] = ()
    notes: Sequence[str] = field(default=())

    @property
    def name(self) -> str:
        """The study's name."""
        return self.tables.study.name

    @property
    def seed(self) -> int:
        """The one seed."""
        return self.tables.study.seed

    @property
    def out(self) -> Path:
        """The folder where answers go: study.out, or runs/NAME, beside the file."""
        return self.path.parent / (self.tables.study.out or f"runs/{self.name}")

    def design(self) -> Design:
        """Return everything that is asked, as the engines get it; all pictures are read into memory here.

        Raises
        ------
        MeasurandError
            If a picture can't be read or is no image.
        """
        elicit = self.tables.elicit
        return Design(
            items=self.items.items(),
            criteria=self.criteria,
            systems=self.systems,
            readouts=self.readouts,
            scale=self.scale,
            repeats=elicit.repeats,
            controls=tuple(elicit.controls),
            control_items=None if elicit.control_items == "all" else elicit.control_items,
            seed=self.seed,
            derived=derived_of(self.tables),
        )

    def resolved(self) -> dict[str, Any]:
        """Return all settings as JSON values, defaults and wordings filled in, without a secret: for the manifest."""
        elicit = self.tables.elicit
        asked = {
            "readouts": [{"kind": type(one).__name__.lower(), **_values(one)} for one in self.readouts],
            "derived": list(derived_of(self.tables)),
            "controls": list(elicit.controls),
            "control_items": elicit.control_items,
            "repeats": elicit.repeats,
        }
        later = {name: getattr(self.tables, name) for name in ("score", "audit", "report")}
        out: dict[str, Any] = {
            "study": self.tables.study.model_dump(mode="json") | {"out": str(self.out)},
            "data": self.tables.data.model_dump(mode="json") | {"criteria": list(self.criteria)},
            "scale": {name: one.to_dict() for name, one in self.scale.items()},
            "system": [
                _values(one) | table.model_dump(include=set(OF_CONTROLS), exclude_none=True)
                for one, table in zip(self.systems, self.tables.system, strict=True)
            ],
            "elicit": asked,
            "seed": self.seed,
        }
        return out | {name: one.model_dump(mode="json") for name, one in later.items() if one is not None}


def _values(declared: Any) -> Any:
    """Return a declaration as JSON values."""
    return json.loads(json.dumps(asdict(declared) if is_dataclass(declared) else declared))  # type: ignore[arg-type]


def derived_of(tables: StudyTables) -> tuple[Derived, ...]:
    """Return the readouts that are made from others."""
    return tuple(one for one in get_args(Derived) if one in (tables.elicit.readouts or []))


def read_study(path: str | Path) -> StudyFile:
    r"""Read a study file and refuse what can't work, before anything is asked.

    Parameters
    ----------
    path : path
        The TOML file. Relative paths in it start from its folder. docs/study-file.md lists its keys.

    Returns
    -------
    StudyFile
        Its content, defaults filled in.

    Raises
    ------
    StudyFileError
        With every problem at once, each with its place in the file, what was found, and what is allowed: unknown keys,
        wrong types, secrets, absent files, and studies that no engine could answer.
    MeasurandError
        If the file can't be read.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "items.csv").write_text("item,text\n1,What a day!\n")
    >>> _ = (folder / "study.toml").write_text('''
    ... [study]
    ... name = "small"
    ... [data]
    ... items = "items.csv"
    ... criteria = ["joy"]
    ... [[system]]
    ... name = "S"
    ... engine = "fake"
    ... [elicit]
    ... readouts = ["verification"]
    ... ''')
    >>> study = read_study(folder / "study.toml")
    >>> study.name, study.design().items[0].text, study.out.name
    ('small', 'What a day!', 'small')
    """
    path = Path(path)
    document, _ = read_toml(path)
    try:
        tables = StudyTables.model_validate(document)
    except ValidationError as error:
        raise StudyFileError(path, problems_of(error, document, StudyTables)) from error
    return _Reader(path, tables).study()


class _Reader:
    """Turns a file's tables into declarations, and gathers what is wrong on the way."""

    def __init__(self, path: Path, tables: StudyTables) -> None:
        self._path = path
        self._tables = tables
        self._base = path.parent
        self._problems: list[str] = []
        self._sources = [path]

    def study(self) -> StudyFile:
        """Return the study.

        Raises
        ------
        StudyFileError
            With everything that is wrong.
        """
        tables, elicit = self._tables, self._tables.elicit
        items = self._tried(lambda: read_items_table(tables.data, self._base), None)
        if items is not None:
            self._sources.append(items.source)
        presets: dict[str, str] = self._tried(self._presets, {})
        preset = next(iter(presets.values()), "")
        n_before = len(self._problems)
        scales, words = self._scales()
        scales_failed = len(self._problems) > n_before
        self._found(preset_that_fails(presets, scales))
        if preset and not tables.scale:
            scales = {"": scale_of(preset)}
        n_before = len(self._problems)
        nothing: tuple[list[str], list[Path]] = ([], [])
        needed = about_criteria(elicit)
        criteria, read = self._tried(
            lambda: read_criteria(tables.data, self._base, preset=preset, needed=needed), nothing
        )
        criteria_failed = len(self._problems) > n_before
        self._sources += read
        systems = [self._system(i, one) for i, one in enumerate(tables.system, start=1)]
        has_pictures = items is not None and any(items.pictures)
        subject = elicit.subject or ("image" if has_pictures else "text")
        asking = Asking(subject, self._instructions(), criteria, scales, words, self._temperature())
        readouts = readouts_of(elicit, asking, self._problems)
        derived = derived_of(tables)
        self._found(same_names(systems, readouts))
        self._found(unreadable(systems, readouts))
        self._found(controls_that_fail(tables.system))
        self._found(hold_markers(criteria, readouts, subject))
        self._found(derived_that_fail(derived, readouts))
        if not criteria_failed:
            if not scales_failed:
                self._found(scales_that_fail(readouts, criteria, scales, words))
            self._found(questions_that_fail(readouts, criteria))
        if items is not None:
            self._found(items_that_fail(elicit, items, elicit.subject or ""))
        if self._problems or items is None:
            raise StudyFileError(self._path, list(dict.fromkeys(self._problems)))
        notes = list(remarks(readouts, repeats=elicit.repeats))
        sources = list(dict.fromkeys(self._sources))
        return StudyFile(self._path, tables, systems, readouts, criteria, scales, items, sources, notes)

    def _presets(self) -> dict[str, str]:
        """Return the presets of readouts that rate, each of which there is."""
        found = presets_of(self._tables.elicit)
        for preset in found.values():
            generative_preset(preset)
        return found

    def _tried(self, made: Callable[[], _T], otherwise: _T) -> _T:
        """Return what a function makes; what it refuses goes to the problems."""
        try:
            return made()
        except MeasurandError as error:
            self._problems.append(str(error))
            return otherwise

    def _found(self, problems: Iterator[str]) -> None:
        self._problems += problems

    def _instructions(self) -> str:
        elicit = self._tables.elicit
        if elicit.prompt is None:
            return elicit.instructions or ""
        path = self._base / elicit.prompt
        self._sources.append(path)
        try:
            return path.read_text(encoding="utf-8-sig").strip()
        except (OSError, UnicodeDecodeError) as error:
            self._sources.pop()
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror or str(error)
            self._problems.append(f"elicit.prompt: {path} cannot be read ({reason}); it holds the instructions as text")
            return ""

    def _scales(self) -> tuple[dict[str, Scale], dict[float, str]]:
        """Return the scales, and what single values of the one for all criteria mean."""
        scales: dict[str, Scale] = {}
        words: dict[float, str] = {}
        for name, table in self._tables.scale.items():
            where = f"scale.{name}" if name else "scale"
            labels = table.labels if isinstance(table.labels, list) else []
            try:
                scales[name] = Scale(table.low, table.high, table.step, table.level, labels)
            except MeasurandError as error:
                self._problems.append(f"{where}: {error}")
            if not isinstance(table.labels, dict):
                continue
            if name:
                self._problems.append(
                    f"{where}.labels says what single values mean, which [scale] alone can: one wording serves all"
                )
                continue
            for key, word in table.labels.items():
                value = as_number(key)
                if value is None:
                    self._problems.append(
                        f'{where}.labels has {key!r}, which is no number: labels = {{ 0 = "not at all" }}'
                    )
                elif "{" in word or "}" in word:
                    self._problems.append(f"{where}.labels has braces in {word!r}; word it without")
                else:
                    words[value] = word
        return scales, words

    def _temperature(self) -> float | None:
        """Return the temperature that systems' tables name, which all that name one must agree on."""
        named = {one.temperature for one in self._tables.system if one.temperature is not None}
        if len(named) > 1:
            self._problems.append(
                f"system: temperatures {' and '.join(f'{one:g}' for one in sorted(named))}; all systems of a study are "
                "asked alike: give one in [elicit.generative] decoding = { temperature = … }, or make two studies"
            )
        return min(named) if named else None

    def _system(self, number: int, table: SystemTable) -> System:
        given = {key: value for key in table.model_fields_set if (value := getattr(table, key)) is not None}
        given = {key: value for key, value in given.items() if key not in _NOT_ASKED}
        engine = table.engine or "openai"
        if engine == "transformers" and table.model is not None:
            given["model"] = self._model(number, table.model, needs_folder=table.gguf is not None)
        return System(**{**given, "engine": engine, "price": Price(**table.price.model_dump())})

    def _model(self, number: int, model: str, *, needs_folder: bool) -> str:
        """Return a model's folder, from the study file's own; a hub name stays as it is."""
        folder = self._base / model
        if folder.is_dir():
            return str(folder)
        is_path = Path(model).is_absolute() or model.startswith(("./", "../", "~")) or model.count("/") > 1
        if is_path or needs_folder:
            what = "; gguf names a file in the model's folder" if needs_folder else ""
            self._problems.append(f"system[{number}].model is {model!r}: no folder {folder}{what}")
        return model
