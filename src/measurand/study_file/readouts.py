"""From the study file's tables to declared readouts: presets, wordings of our own and of the user's, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pydantic import BaseModel

from measurand.data.scale import Scale
from measurand.eliciting.declared import (
    Choice,
    Generative,
    Phrasing,
    RatingsRule,
    Readout,
    Retry,
    ScaleReading,
    Text,
    TextRule,
    Verification,
)
from measurand.eliciting.engine import Decoding
from measurand.eliciting.presets import generative_preset, text_preset
from measurand.eliciting.wordings import (
    choice_phrasings,
    generative_phrasings,
    scale_phrasings,
    text_phrasings,
    verification_phrasings,
)
from measurand.result import MeasurandError
from measurand.study_file.errors import did_you_mean
from measurand.study_file.tables import (
    ChoiceTable,
    DecodingTable,
    ElicitTable,
    GenerativeTable,
    GradedTable,
    ReadoutTable,
    ScaleReadoutTable,
    TextTable,
    VerificationTable,
)

_TABLES: dict[str, type[ReadoutTable]] = {
    "verification": VerificationTable,
    "generative": GenerativeTable,
    "choice": ChoiceTable,
    "scale": ScaleReadoutTable,
    "text": TextTable,
}
_T = TypeVar("_T")


@dataclass(frozen=True)
class Asking:
    """What all readouts of a study have in common.

    Parameters
    ----------
    subject : str
        What is shown, as wordings call it.
    instructions : str
        What stands before the item's text.
    criteria : sequence of str
        What is asked about.
    scales : mapping of criterion to Scale
        Permitted ratings; a blank key for all criteria.
    words : mapping of float to str
        What single values of the scale mean.
    temperature : float or None
        The temperature that the systems' own tables name.
    """

    subject: str
    instructions: str = ""
    criteria: Sequence[str] = ()
    scales: Mapping[str, Scale] = field(default_factory=dict)
    words: Mapping[float, str] = field(default_factory=dict)
    temperature: float | None = None


def tables_of(elicit: ElicitTable, problems: list[str]) -> list[tuple[str, ReadoutTable]]:
    """Return the readouts' tables with the places that messages name, in the order in which they are asked."""
    declared = [kind for kind in _TABLES if getattr(elicit, kind) is not None]
    wanted: list[str] = declared if elicit.readouts is None else [one for one in elicit.readouts if one in _TABLES]
    if astray := [kind for kind in declared if kind not in wanted]:
        problems.append(
            f"elicit.{astray[0]} is declared, but elicit.readouts does not name it; add {astray[0]!r} or leave the "
            "table out"
        )
    out = [(f"elicit.{kind}", getattr(elicit, kind) or _TABLES[kind]()) for kind in wanted]
    out += [(f"elicit.readout[{i}]", table) for i, table in enumerate(elicit.readout, start=1)]
    if not out:
        problems.append(
            'elicit asks nothing; give readouts = ["verification"], or any of ' + ", ".join(map(repr, _TABLES))
        )
    return out


def presets_of(elicit: ElicitTable) -> dict[str, str]:
    """Return the presets of readouts that rate, by readout: they bring criteria and scale where the study has none."""
    tables = (elicit.generative, *elicit.readout)
    return {name_of(one): one.preset for one in tables if isinstance(one, GenerativeTable) and one.preset is not None}


def about_criteria(elicit: ElicitTable) -> bool:
    """Tell whether a study asks about criteria at all."""
    return any(table.kind in ("verification", "scale", "generative") for _, table in tables_of(elicit, []))


def name_of(table: ReadoutTable) -> str:
    """Return what the answers table calls a readout: its own name, its preset's, or its kind's."""
    preset = table.preset if isinstance(table, GenerativeTable | TextTable) else None
    return table.name or preset or table.kind


def readouts_of(elicit: ElicitTable, asking: Asking, problems: list[str]) -> list[Readout]:
    """Return the readouts that a study declares; what is wrong with them goes to the problems."""
    out: list[Readout] = []
    tables = tables_of(elicit, problems)
    wordings = _Wordings(elicit, asking, tables)
    for where, table in tables:
        try:
            out.append(_readout(table, elicit, asking, wordings))
        except MeasurandError as error:
            problems.append(f"{where}: {error}")
    problems += wordings.astray()
    return out


def _readout(table: ReadoutTable, elicit: ElicitTable, asking: Asking, wordings: _Wordings) -> Readout:
    if isinstance(table, GenerativeTable):
        return _generative(table, elicit, asking, wordings)
    if isinstance(table, TextTable):
        return _text(table, elicit, asking, wordings)
    common: dict[str, Any] = {
        "phrasings": wordings.of(table),
        "prefills": _prefills(table, elicit),
        "instructions": asking.instructions if table.instructions is None else table.instructions,
        "message": elicit.message if table.message is None else table.message,
        "name": name_of(table),
    }
    if isinstance(table, VerificationTable):
        return Verification(yes=tuple(table.yes), no=tuple(table.no), **common)
    if isinstance(table, ScaleReadoutTable):
        return ScaleReading(**common)
    options = table.options if isinstance(table.options, dict) else {name: [name] for name in table.options}
    if len(options) < 2:
        raise MeasurandError(
            f"{len(options) or 'no'} option{'s' if len(options) != 1 else ''} to choose from; give at least two: "
            'options = ["anger", "fear"], or options = { anger = ["anger", "rage"], fear = ["fear"] }'
        )
    if table.rotations > len(options):
        raise MeasurandError(f"rotations is {table.rotations}; {len(options)} options have {len(options)} orders")
    return Choice(options={name: tuple(words) for name, words in options.items()}, rotations=table.rotations, **common)


def _prefills(table: GradedTable, elicit: ElicitTable) -> tuple[str, ...]:
    for one in (table, elicit):
        if one.prefills is not None:
            return tuple(one.prefills)
        if one.prefill is not None:
            return (one.prefill,)
    return ("Answer:",)


def _generative(table: GenerativeTable, elicit: ElicitTable, asking: Asking, wordings: _Wordings) -> Generative:
    start = Generative(phrasings=()) if table.preset is None else generative_preset(table.preset)
    rule = _over(start.rule, table.rule, RatingsRule)
    schema: Mapping[str, Any] | None = None
    if table.json_schema is True:
        schema = ratings_schema(asking.criteria, asking.scales, rule)
    elif isinstance(table.json_schema, dict):
        schema = table.json_schema
    decoding = _decoding(start.decoding, table.decoding, None if table.preset else asking.temperature)
    return Generative(
        phrasings=wordings.of(table, start=start.phrasings, rule=rule),
        rule=rule,
        retry=_over(start.retry, table.retry, Retry),
        decoding=decoding if schema is None else replace(decoding, json_schema=schema),
        prefill=table.prefill or start.prefill,
        instructions=_first(table.instructions, start.instructions or asking.instructions),
        message=_first(table.message, start.message or elicit.message),
        name=name_of(table),
    )


def _text(table: TextTable, elicit: ElicitTable, asking: Asking, wordings: _Wordings) -> Text:
    start = Text(phrasings=()) if table.preset is None else text_preset(table.preset)
    rule = _over(start.rule, table.rule, TextRule)
    return Text(
        phrasings=wordings.of(table, start=start.phrasings, rule=rule),
        rule=rule,
        retry=_over(start.retry, table.retry, Retry),
        decoding=_decoding(start.decoding, table.decoding, None if table.preset else asking.temperature),
        prefill=table.prefill or start.prefill,
        instructions=_first(table.instructions, start.instructions or asking.instructions),
        message=_first(table.message, start.message or elicit.message),
        name=name_of(table),
    )


def _first(given: str | None, otherwise: str) -> str:
    return otherwise if given is None else given


def _over(start: _T, table: BaseModel, kind: type[_T]) -> _T:
    """Return settings with what the file says in their place."""
    given = {key: getattr(table, key) for key in table.model_fields_set}
    given = {"is_strict" if key == "strict" else key: value for key, value in given.items()}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in given.items()}
    return kind(**{**vars(start), **given})


def _decoding(start: Decoding, table: DecodingTable, temperature: float | None) -> Decoding:
    given = {key: getattr(table, key) for key in table.model_fields_set}
    if "stop" in given:
        given["stop"] = tuple(given["stop"])
    if "temperature" in given:
        given["temperature"] = None if given["temperature"] == "default" else given["temperature"]
        if temperature is not None and given["temperature"] != temperature:
            raise MeasurandError(
                f"decoding has temperature {table.temperature}, and [[system]] has {temperature:g}; say it once, here"
            )
    elif temperature is not None:
        given["temperature"] = temperature
    return replace(start, **given)


def ratings_schema(criteria: Sequence[str], scales: Mapping[str, Scale], rule: RatingsRule) -> dict[str, Any]:
    """Return the JSON schema of a reply that rates criteria on their scales.

    Parameters
    ----------
    criteria : sequence of str
        What is rated: a key each, and no other.
    scales : mapping of criterion to Scale
        Permitted ratings; a blank key for all criteria.
    rule : RatingsRule
        Which of the criteria must be there.

    Raises
    ------
    MeasurandError
        If a criterion has no scale with numbers, so that there is nothing to force.

    Examples
    --------
    >>> ratings_schema(["joy"], {"": Scale(0, 7, step=1)}, RatingsRule())["properties"]
    {'joy': {'type': 'integer', 'minimum': 0, 'maximum': 7}}
    """
    properties: dict[str, Any] = {}
    for criterion in criteria:
        scale = scales.get(criterion) or scales.get("")
        if scale is None or scale.bounds is None:
            raise MeasurandError(f"criterion {criterion!r} has no scale with bounds, which a JSON schema needs")
        low, high = scale.bounds
        is_whole = scale.levels is not None and all(level.is_integer() for level in scale.levels)
        if is_whole and scale.step == 1:
            properties[criterion] = {"type": "integer", "minimum": int(low), "maximum": int(high)}
        elif scale.levels is not None:
            properties[criterion] = {"enum": [int(one) if is_whole else one for one in scale.levels]}
        else:
            properties[criterion] = {"type": "number", "minimum": low, "maximum": high}
    return {
        "type": "object",
        "properties": properties,
        "required": list(criteria) if rule.keys == "all" else [],
        "additionalProperties": False,
    }


class _Wordings:
    """The wordings of each readout, and which of those that the file names were never found."""

    def __init__(self, elicit: ElicitTable, asking: Asking, tables: Sequence[tuple[str, ReadoutTable]]) -> None:
        self._elicit = elicit
        self._asking = asking
        self._names = {name for _, table in tables for name in (name_of(table), table.kind)}
        self._wanted = list(elicit.phrasings) if isinstance(elicit.phrasings, list) else []
        self._found: set[str] = set()
        self._most = 0

    def of(
        self, table: ReadoutTable, *, start: Sequence[Phrasing] = (), rule: RatingsRule | TextRule | None = None
    ) -> tuple[Phrasing, ...]:
        """Return a readout's wordings: those named, the first so many of ours, or the user's own."""
        own = tuple(
            self._spelled(Phrasing(one.name, one.question, one.negated), table)
            for one in self._elicit.phrasing
            if one.readout in (name_of(table), table.kind)
        )
        ours = tuple(start) or tuple(self._spelled(one, table) for one in self._built_in(table, rule))
        is_of_replies = isinstance(table, GenerativeTable | TextTable)
        self._most = max(self._most, len(ours))
        wanted = table.phrasings
        if wanted is None and isinstance(self._elicit.phrasings, int):
            wanted = None if is_of_replies else min(self._elicit.phrasings, len(ours))
        elif wanted is None and isinstance(self._elicit.phrasings, list):
            there = {one.name for one in (*ours, *own)}
            self._found |= there & set(self._wanted)
            wanted = [name for name in self._wanted if name in there] or None
        if wanted is None:
            return own or (ours[:1] if is_of_replies and not start else ours)
        if isinstance(wanted, int):
            if wanted > len(ours):
                raise MeasurandError(f"phrasings is {wanted}; there are {len(ours)}: {', '.join(p.name for p in ours)}")
            return self._once((*ours[:wanted], *own))
        by_name = {one.name: one for one in (*ours, *own)}
        if absent := [name for name in wanted if name not in by_name]:
            raise MeasurandError(
                f"no phrasing is called {absent[0]!r}; there are {', '.join(by_name)}"
                f"{did_you_mean(absent[0], by_name)} Or write it as an [[elicit.phrasing]]"
            )
        return self._once(tuple(by_name[name] for name in wanted))

    def astray(self) -> list[str]:
        """Return what the file says about wordings that no readout has."""
        out = []
        for i, one in enumerate(self._elicit.phrasing, start=1):
            if one.readout not in self._names:
                out.append(
                    f"elicit.phrasing[{i}].readout is {one.readout!r}, which this study does not ask; it has "
                    f"{', '.join(sorted(self._names))}{did_you_mean(one.readout, self._names)}"
                )
        out += [
            f"elicit.phrasings names {name!r}, which no readout of this study has"
            for name in self._wanted
            if name not in self._found and self._names
        ]
        if isinstance(self._elicit.phrasings, int) and self._elicit.phrasings > self._most > 0:
            out.append(f"elicit.phrasings is {self._elicit.phrasings}; no readout has more than {self._most} of ours")
        return out

    def _once(self, phrasings: tuple[Phrasing, ...]) -> tuple[Phrasing, ...]:
        names = [one.name for one in phrasings]
        if again := [name for i, name in enumerate(names) if name in names[:i]]:
            raise MeasurandError(
                f"two phrasings are called {again[0]!r}; rename yours, or leave the built-in one out by naming those "
                "that you want"
            )
        return phrasings

    def _built_in(self, table: ReadoutTable, rule: RatingsRule | TextRule | None) -> Sequence[Phrasing]:
        subject = self._asking.subject
        if isinstance(table, VerificationTable):
            return verification_phrasings(subject)
        if isinstance(table, ScaleReadoutTable):
            return scale_phrasings(subject)
        if isinstance(table, ChoiceTable):
            return choice_phrasings(subject)
        if isinstance(rule, TextRule):
            return text_phrasings(subject, rule=rule)
        every, pairs = generative_phrasings(subject)
        return [pairs] if isinstance(rule, RatingsRule) and rule.example else [every]

    def _spelled(self, phrasing: Phrasing, table: ReadoutTable) -> Phrasing:
        """Return a wording with what single values mean behind the scale."""
        words = self._asking.words
        if not words or isinstance(table, VerificationTable | ChoiceTable | TextTable):
            return phrasing
        listed = ", ".join(f"{value:g} = {word}" for value, word in sorted(words.items()))
        return replace(phrasing, question=phrasing.question.replace("{scale}", f"{{scale}} ({listed})"))
