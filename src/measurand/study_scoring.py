"""What the answers of a study are held against, and the score that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pandas as pd

from measurand.data import Scale, read_items, read_ratings
from measurand.data.answers import Answers, read_answers
from measurand.data.marks import Marks
from measurand.data.ratings import Ratings, ids
from measurand.data.read import read_table
from measurand.eliciting.declared import Verification
from measurand.result import Finding, MeasurandError, Result
from measurand.scoring import gates, score
from measurand.scoring.arms import Trained
from measurand.scoring.contenders import BINARIZED
from measurand.scoring.examples import examples
from measurand.scoring.gates import GATES, NOISE, failed_systems
from measurand.scoring.score import PRESETS
from measurand.sentences import listed
from measurand.study_file import StudyFile
from measurand.study_file.errors import did_you_mean, in_study
from measurand.study_file.read import derived_of
from measurand.study_file.steps import AuditTable, ReportTable, ScoreTable

REPLICATES: Final = 2000
_ROLES: Final = ("item", "rater", "rating", "criterion", "system", "occasion", "order")

Told = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Held:
    """What the answers of a study are held against.

    Parameters
    ----------
    study : StudyFile
        The study.
    """

    study: StudyFile

    @property
    def of_score(self) -> ScoreTable:
        """How to score, defaults filled in."""
        return self.study.tables.score or ScoreTable()

    def is_source(self, readout: str) -> bool:
        """Whether other readouts are made from this one's stored answers."""
        return any(isinstance(one, Verification) and one.name == readout for one in self.study.readouts)

    @property
    def of_audit(self) -> AuditTable:
        """What to audit, defaults filled in."""
        return self.study.tables.audit or AuditTable()

    @property
    def of_report(self) -> ReportTable:
        """What the page says beside its numbers, defaults filled in."""
        return self.study.tables.report or ReportTable()

    @property
    def derived(self) -> tuple[str, ...]:
        """The readouts that are made from stored answers."""
        return derived_of(self.study.tables)

    @property
    def controls(self) -> dict[str, Trained]:
        """The systems that are controls by their training."""
        return {
            one.name: Trained(one.control_of, one.base or "")
            for one in self.study.tables.system
            if one.control_of is not None
        }

    @property
    def path(self) -> Path | None:
        """The ratings' file, None where the study names none."""
        named = self.study.tables.data.ratings
        return None if named is None else self._beside(named)

    @property
    def more(self) -> dict[str, Path]:
        """Further tables of answers, by the names that the study gives them."""
        return {name: self._beside(name) for name in self.of_score.answers}

    @property
    def outputs(self) -> Path | None:
        """What the systems produced, where ratings grade that."""
        named = self.of_audit.outputs
        return None if named is None else self._beside(named)

    @property
    def files(self) -> list[Path]:
        """All of these files."""
        return [path for path in (self.path, self.outputs, *self.more.values()) if path is not None]

    def check(self) -> None:
        """Refuse what can't be scored or audited, before anything is asked.

        Raises
        ------
        MeasurandError
            If a file is not there, ratings can't be read or have no scale, or raters are named that there are not.
        """
        for path in self.files:
            if not path.is_file():
                raise MeasurandError(
                    f"{self.study.path}: no file {path}; put it there, or take its name out of the study"
                )
        if self.path is None:
            return
        ratings = self.ratings
        if lacking := [name for name in ratings.criteria if ratings.scale(name).bounds is None]:
            of = f".{lacking[0]}" if lacking[0] and lacking[0] in self.study.scale else ""
            raise MeasurandError(
                f"{self.study.path}: scale{of} is missing; scores and audits need the bounds of ratings: [scale] low, "
                "high, step, or labels"
            )
        there = list(ratings.frame["rater"].cat.categories)
        if absent := [name for name in self.of_audit.raters or () if name not in there]:
            raise MeasurandError(
                f"{self.study.path}: audit.raters has {absent[0]!r}; the ratings have {listed(there, most=12)}"
                + did_you_mean(absent[0], there)
            )

    def remarks(self) -> list[str]:
        """Return why the study could not be scored or audited as it stands, or what would take no part in it."""
        try:
            self.check()
            return self.left_out()
        except MeasurandError as error:
            return [f"measurand run would refuse this study: {error}"]

    def left_out(self) -> list[str]:
        """Return which criteria and items of the study nobody rated, so that they take no part in scores and audits.

        Raises
        ------
        MeasurandError
            If the ratings can't be read.
        """
        if self.path is None:
            return []
        said = []
        frame = self.ratings.frame
        column = self.study.tables.data.columns.criterion or "criterion"
        if column in self._table:
            there = set(self.ratings.criteria)
            if bare := [name for name in self.study.criteria if name not in there]:
                others = [name for name in self._table[column].astype(str).unique() if name not in self.study.criteria]
                hint = did_you_mean(bare[0], others)
                said.append(f"{self.path}: no rating of {listed(bare)}, which is asked but can't be scored{hint}")
        rated = set(frame["item"])
        if bare := [name for name in self.study.items.names if name not in rated]:
            said.append(f"{self.path}: {len(bare):,} of {len(self.study.items):,} items have no rating: {listed(bare)}")
        return said

    @property
    def _marks(self) -> Marks:
        """How the ratings' file spells its cells."""
        return self.study.tables.data.marks("ratings", self.path or Path())

    @cached_property
    def _table(self) -> pd.DataFrame:
        """The ratings as their file has them, its columns being text.

        Raises
        ------
        MeasurandError
            If the file can't be read, or the columns that a rating needs are neither there nor named.
        """
        if self.path is None:
            raise MeasurandError("[data] names no ratings")
        try:
            table = read_table(self.path, delimiter=self._marks.delimiter)
        except MeasurandError as error:
            raise MeasurandError(in_study(error)) from error
        table = table.set_axis([str(column) for column in table.columns], axis=1)
        columns = self.study.tables.data.columns
        there = list(table.columns)
        for role, named in (("item", columns.item), ("rater", columns.rater), ("rating", columns.rating)):
            if role not in there and named not in there:
                free = next((name for name in there if name not in _ROLES), "…")
                raise MeasurandError(
                    f"{self.path}: no column {named or role!r}; the table has {listed(there, most=12)}. Name the right "
                    f'one in the study, for example [data] columns = {{ {role} = "{free}" }}; a table needs a row for '
                    "each rating"
                )
        return table

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings of the study's items on its criteria.

        Raises
        ------
        MeasurandError
            As for `measurand.read_ratings`, and if nothing of them is about this study.
        """
        if self.path is None:
            raise MeasurandError("[data] names no ratings")
        columns = self.study.tables.data.columns
        table = self._table
        criterion = columns.criterion or "criterion"
        names = list(self.study.criteria)
        if criterion in table and names:
            # Ratings of something else may be on another scale.
            is_asked = ids(table[criterion], criterion, 1).isin(names).to_numpy()
            self._refuse_if_none(bool(is_asked.any()), criterion, table, names)
            table = table[is_asked]
        there = set(table[criterion].astype(str).str.strip()) if criterion in table else None
        try:
            read = read_ratings(
                table,
                item=columns.item if columns.item in table else None,
                rater=columns.rater,
                rating=columns.rating,
                criterion=columns.criterion if criterion in table else None,
                system=columns.system,
                occasion=columns.occasion,
                order=columns.order,
                scale=self._scales(there),
                decimal=self._marks.decimal,
                missing=self._marks.missing,
            )
        except MeasurandError as error:
            raise MeasurandError(f"{self.path}: {in_study(error)}") from error
        is_shown = read.frame["item"].isin(self.study.items.names).to_numpy()
        self._refuse_if_none(bool(is_shown.any()), read.columns["item"] or "item", table, self.study.items.names)
        if is_shown.all():
            return read
        frame = read.frame[is_shown].reset_index(drop=True)
        for role in ("item", "rater"):
            frame[role] = frame[role].cat.remove_unused_categories()
        return replace(read, frame=frame)

    def _refuse_if_none(self, any_of_study: bool, column: str, table: pd.DataFrame, names: list[str]) -> None:
        if not any_of_study:
            raise MeasurandError(
                f'{self.path}: no rating is about this study; column {column!r} has "{table[column].iloc[0]}", the '
                f'study has "{names[0]}"'
            )

    def _scales(self, there: set[str] | None) -> dict[str, Scale]:
        """Return the scales of the criteria that there are ratings of; of a table without criteria its only one."""
        scales = dict(self.study.scale)
        if there is None:
            return {"": scales.get("") or next(iter(scales.values()))} if scales else {}
        return {name: scale for name, scale in scales.items() if not name or name in there}

    @cached_property
    def groups(self) -> pd.DataFrame | None:
        """Items with the groups that are redrawn as wholes, None where they have none."""
        columns = self.study.tables.data.columns
        source = self.study.items.source
        delimiter = self.study.tables.data.marks("items", source).delimiter
        frame = read_items(source, item=columns.item, group=columns.group, delimiter=delimiter)
        return frame[["item", "group"]] if "group" in frame else None

    def answers(self, elicited: Path) -> Answers:
        """Return all answers to the study: those that were asked for, the first of repeats, and the further tables.

        Parameters
        ----------
        elicited : Path
            The answers table of the asking.

        Raises
        ------
        MeasurandError
            As for `measurand.read_answers`.
        """
        frames = []
        if elicited.is_file():
            asked = read_table(elicited)
            frames.append(asked[asked["repeat"].astype(int) == 0].drop(columns="repeat"))
        for path in self.more.values():
            table = read_table(path)
            # Where attempts are not counted there was one.
            frames.append(table.assign(attempt="1") if frames and "attempt" not in table else table)
        try:
            return read_answers(pd.concat(frames, ignore_index=True), scale=self.ratings.scales)
        except MeasurandError as error:
            raise MeasurandError(
                f"{', '.join(str(path) for path in (elicited, *self.more.values()))}: {error}"
            ) from error

    def _beside(self, name: str) -> Path:
        return self.study.path.parent / name


def choices(held: Held) -> dict[str, Any]:
    """Return how to score, as arguments of `measurand.score`: what the study names, else its preset, else defaults."""
    table = held.of_score
    calibrate = table.calibrate
    named = {
        "statistics": _several(table.statistic),
        "calibrate": None if calibrate is None else _several(calibrate.map),
        "fit": None if calibrate is None else calibrate.fit,
        "target": None if calibrate is None else calibrate.target,
        "ties": None if calibrate is None else calibrate.ties,
        "aggregate": table.aggregate,
        "anchors": _several(table.anchors),
        "baselines": _several(table.baselines),
        "over": _several(table.resample.over),
        "replicates": table.resample.n,
    }
    found = dict(PRESETS[table.preset]) if table.preset else {"replicates": REPLICATES}
    found |= {name: value for name, value in named.items() if value is not None}
    if calibrate is not None:
        found |= {"folds": calibrate.folds, "fold_repeats": calibrate.repeats}
    return found | {
        "reliable": table.reliable,
        "margin": table.equivalence,
        "epsilon": table.epsilon,
        "positive": table.positive,
        "confidence": table.resample.level,
        "seed": held.study.seed,
    }


def path_of(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return, of how to score, what makes a calibrated answer of an answer on the headline's path."""
    names = ("fit", "target", "ties", "folds", "fold_repeats", "seed")
    found = {name: chosen[name] for name in names if name in chosen}
    return found | ({"calibrate": chosen["calibrate"][0]} if "calibrate" in chosen else {})


def _several(value: Any) -> tuple[Any, ...] | None:
    return None if value is None else (value,) if isinstance(value, str) else tuple(value)


def scored(held: Held, answers: Answers, asked: Result, *, told: Told | None) -> Result:
    """Return gates and scores of a study's answers.

    Parameters
    ----------
    held : Held
        What they are held against.
    answers : Answers
        All of them, controls included.
    asked : Result
        What the asking made: its gates know the engines' noise and the prompt's example.
    told : callable or None
        Told of progress.

    Returns
    -------
    Result
        As of `measurand.score`. Controls are asked gates and are no contenders; what is made from stored answers is a
        contender and is asked no gate: it fails those that its source fails.
    """
    chosen = choices(held)
    frame = answers.frame
    derived = held.derived
    known = asked.settings.get("gates", {})
    gated = gates(
        _part(answers, ~_is_in(frame, "readout", derived)),
        ratings=held.ratings,
        items=held.groups,
        example=known.get("example", ()),
        controls={name: one for name, one in held.controls.items() if name in answers.systems},
        noise=known.get("noise", NOISE),
        replicates=chosen["replicates"],
        confidence=chosen["confidence"],
        seed=chosen["seed"],
        progress=told,
    )
    contenders = plain(answers)
    failed: dict[tuple[str, ...], list[str]] = {}
    for (system, readout, phrasing, variant), names in failed_systems(gated).items():
        failed[system, readout, phrasing, variant] = names
        if held.is_source(readout):
            for name in dict.fromkeys((*derived, BINARIZED)):
                failed[system, name, phrasing, variant] = names
    found = score(
        contenders,
        held.ratings,
        items=held.groups,
        gates=False,
        excluded=failed,
        controls=list(held.controls),
        progress=told,
        **chosen,
    )
    return found + gated


def shown(held: Held, answers: Answers, n: int) -> Result:
    """Return so many examples of each kind: items with their pictures, and what raters and systems said of them."""
    items = held.study.items
    frame = pd.DataFrame(
        {
            "item": items.names,
            "text": items.texts,
            "image": ["" if path is None else str(path) for path in items.pictures],
        }
    )
    if held.groups is not None:
        frame = frame.merge(held.groups, on="item", how="left")
    return examples(answers, held.ratings, frame, n=n, **path_of(choices(held)))


def plain(answers: Answers) -> Answers:
    """Return the answers to the items themselves, those to controls left out."""
    return _part(answers, ~_is_control(answers.frame))


def _part(answers: Answers, rows: Any) -> Answers:
    frame = answers.frame[rows].reset_index(drop=True)
    for role in ("system", "item", "criterion"):
        if role in frame:
            frame[role] = frame[role].cat.remove_unused_categories()
    return replace(answers, frame=frame)


def _is_in(frame: pd.DataFrame, column: str, names: Any) -> Any:
    return frame[column].isin(list(names)) if column in frame else pd.Series(data=False, index=frame.index)


def _is_control(frame: pd.DataFrame) -> Any:
    return frame["control"] != "" if "control" in frame else pd.Series(data=False, index=frame.index)


def without_gates(result: Result) -> Result:
    """Return a result without its gates, whose place those of another take."""
    own = {gate.id for gate in GATES} | {"control-health"}
    findings: list[Finding] = [one for one in result.findings if one.id not in own]
    rows = [row for row in result.rows if row.analysis != "gates"]
    return Result(rows, {name: one for name, one in result.settings.items() if name != "gates"}, findings)
