"""What a study can't do, said before its first request; and what its reader should know although it can be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from measurand.data.scale import Scale, as_number
from measurand.eliciting.declared import (
    Choice,
    Generative,
    Graded,
    Readout,
    ScaleReading,
    Text,
    Verification,
)
from measurand.eliciting.labels import Labels
from measurand.eliciting.presets import scale_of
from measurand.eliciting.requests import numerals
from measurand.eliciting.system import System
from measurand.eliciting.wordings import check_phrasing
from measurand.result import MeasurandError
from measurand.sentences import listed
from measurand.study_file.errors import did_you_mean
from measurand.study_file.items import ItemsTable
from measurand.study_file.tables import OF_CONTROLS, Derived, ElicitTable, SystemTable

#: A scale with more levels is not read off single tokens.
MOST_NUMERALS: Final = 20

# What templates of chat and vision models make of such texts is no text any more: a picture, a turn, the end.
_MARKER: Final = re.compile(
    r"""
      <\|[^|<>\s]{1,40}\|>
    | <｜[^｜<>\s]{1,40}｜>
    | </?(?:image|img|video|audio|image_soft_token|start_of_image|end_of_image|start_of_turn|end_of_turn|bos|eos|pad|unk
        |think|tool_call|s)(?:_\d+)?>
    | <(?:image|video|fake_token_around_image|global-img)[^<>\s]{0,20}>
    | \[/?(?:INST|IMG|IMG_BREAK|IMG_END|AVAILABLE_TOOLS|TOOL_CALLS|SYSTEM_PROMPT|THINK)\]
    | <</?SYS>>
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NEAR: Final = 20
_OF_ANSWERS: Final = re.compile(
    r"\b(?:from|between|scale|rat(?:e|es|ing|ings)|scores?|numbers?|integers?|points?)\b", re.IGNORECASE
)
_RANGE: Final = re.compile(
    r"(?<![\d.])(-?\d+(?:\.\d+)?)\s*(?:to|and|through|\.\.|-|–|—)\s*(-?\d+(?:\.\d+)?)(?![\d.]*\w)"
)


def marker_in(text: str) -> str:
    """Return the first image placeholder or chat marker in a text, blank where there is none.

    Examples
    --------
    >>> marker_in("joy <image>"), marker_in("a < b > c")
    ('<image>', '')
    """
    found = _MARKER.search(text)
    return found.group() if found else ""


def hold_markers(criteria: Sequence[str], readouts: Sequence[Readout], subject: str) -> Iterator[str]:
    """Give the texts of the study that a template would take for something else."""
    texts = {f"criterion {name!r}": name for name in criteria}
    texts["elicit.subject"] = subject
    for readout in readouts:
        for phrasing in readout.phrasings:
            texts[f"phrasing {phrasing.name!r} of {readout.name}"] = phrasing.question
        texts[f"instructions of {readout.name}"] = readout.instructions
        texts[f"message of {readout.name}"] = readout.message
        if isinstance(readout, Choice):
            texts |= {
                f"option {name!r} of {readout.name}": f"{name} {' '.join(w)}" for name, w in readout.options.items()
            }
    for where, text in texts.items():
        if marker := marker_in(text):
            yield (
                f"{where} holds {marker!r}, which templates take for a picture, a turn or an end of text; word it "
                "without (pictures are added by themselves)"
            )


def same_names(systems: Sequence[System], readouts: Sequence[Readout]) -> Iterator[str]:
    """Give names that occur twice."""
    for what, names in (("system", [one.name for one in systems]), ("readout", [one.name for one in readouts])):
        for name in dict.fromkeys(name for i, name in enumerate(names) if name in names[:i]):
            places = " and ".join(str(i) for i, one in enumerate(names, start=1) if one == name)
            yield f"two {what}s are called {name!r} (numbers {places}); answers are told apart by name, so rename one"


def unreadable(systems: Sequence[System], readouts: Sequence[Readout]) -> Iterator[str]:
    """Give the systems that can't be read as a readout needs it."""
    graded = [one.name for one in readouts if isinstance(one, Graded)]
    for i, system in enumerate(systems, start=1):
        if graded and system.engine == "fake" and system.template_options.get("distribution") == "none":
            yield (
                f"system[{i}] {system.name!r} shows no probabilities of tokens (distribution none), which the readout "
                f"{graded[0]} is read from; leave one of them out"
            )


def controls_that_fail(systems: Sequence[SystemTable]) -> Iterator[str]:
    """Give the systems that are controls of something that no control can be of, or have a base that is none."""
    names = [one.name for one in systems]
    controls = {one.name for one in systems if one.control_of is not None}
    for i, system in enumerate(systems, start=1):
        where = f"system[{i}] {system.name!r}"
        if system.base is not None and system.control_of is None:
            yield f"{where} has base and no control_of; the base is that of a control: say of which system it is one"
            continue
        for key in OF_CONTROLS:
            other = getattr(system, key)
            if other is None:
                continue
            if other == system.name:
                yield f"{where} has itself as {key}; name another system of this study"
            elif other not in names:
                others = [name for name in names if name != system.name]
                there = f"it has {listed(others, most=12)}" if others else "there is no other"
                yield f"{where} has {key} = {other!r}, which is no system of this study; {there}" + did_you_mean(
                    other, others
                )
            elif other in controls:
                yield f"{where} has {key} = {other!r}, which is a control itself; name a system that is none"
        if system.base is not None and system.base == system.control_of:
            yield (
                f"{where} has {system.base!r} as control_of and as base; the base is the system that both it and the "
                "one that it is a control of were trained on"
            )


def preset_that_fails(presets: Mapping[str, str], scales: Mapping[str, Scale]) -> Iterator[str]:
    """Give readouts whose preset asks for ratings on another scale than the declared one.

    Parameters
    ----------
    presets : mapping of str to str
        Readout to preset.
    scales : mapping of criterion to Scale
        The declared scales.
    """
    for name, preset in presets.items():
        own = scale_of(preset)
        for criterion, scale in scales.items():
            if scale.bounds != own.bounds or scale.step != own.step:
                where = f"scale.{criterion}" if criterion else "scale"
                yield (
                    f"readout {name} has the preset {preset}, whose ratings are {own.describe()}, and {where} is "
                    f"{scale.describe()}; leave [scale] out, or write the readout without the preset"
                )
                break


def scales_that_fail(
    readouts: Sequence[Readout], criteria: Sequence[str], scales: Mapping[str, Scale], words: Mapping[float, str]
) -> Iterator[str]:
    """Give what does not fit between scales, criteria and readouts."""
    for name in scales:
        if name and criteria and name not in criteria:
            yield f"scale.{name} is about no criterion of this study; it has {', '.join(criteria[:12])}"
    rated = [one for one in readouts if isinstance(one, Generative | ScaleReading)]
    for_all = scales.get("")
    if words and for_all is not None and (odd := [value for value in words if not for_all.permits(value)]):
        yield f"scale.labels names {odd[0]:g}, which is no rating on the scale {for_all.describe()}"
    of = {criterion: scales.get(criterion) or for_all for criterion in criteria}
    for readout in rated:
        bare = [name for name, scale in of.items() if scale is None or scale.bounds is None]
        if bare:
            yield (
                f"readout {readout.name} needs a scale, and criterion {bare[0]!r} has none; declare it "
                "under [scale]: low = 0, high = 7, step = 1, each on a line"
            )
            continue
        for scale in dict.fromkeys(scale for scale in of.values() if scale is not None):
            yield from _scale_that_fails(readout, scale)
        if isinstance(readout, Generative):
            yield from _rule_that_fails(readout, criteria)


def _scale_that_fails(readout: Generative | ScaleReading, scale: Scale) -> Iterator[str]:
    if scale.labels and any(as_number(label) is None for label in scale.labels):
        yield (
            f"readout {readout.name} takes numbers, and the scale has labels ({scale.describe()}); declare low, high "
            "and step, or ask by the readout choice"
        )
        return
    low, high = scale.bounds or (0.0, 0.0)
    if isinstance(readout, ScaleReading):
        try:
            labels = numerals(scale)
        except MeasurandError as error:
            yield f"readout {readout.name}: {error}"
        else:
            if len(labels.names) > MOST_NUMERALS:
                yield (
                    f"readout {readout.name} reads the probability of every numeral of the scale, and "
                    f"{scale.describe()} are {len(labels.names)}; at most {MOST_NUMERALS}: take a coarser step, "
                    "or the readout generative"
                )
    for phrasing in readout.phrasings:
        named = ranges_in(phrasing.question)
        if named and (low, high) not in named:
            yield (
                f"phrasing {phrasing.name!r} of {readout.name} asks for {named[0][0]:g} to {named[0][1]:g}, and the "
                f"scale is {scale.describe()}; make them the same (write {{scale}} and it is filled in)"
            )


def ranges_in(question: str) -> list[tuple[float, float]]:
    """Return the ranges of numbers that a question names as those of its answer.

    Examples
    --------
    >>> ranges_in("Rate it from 1 to 7."), ranges_in("How old are these 20-30 people?")
    ([(1.0, 7.0)], [])
    """
    found = []
    for one in _RANGE.finditer(question):
        around = question[max(0, one.start() - _NEAR) : one.end() + _NEAR]
        if _OF_ANSWERS.search(around):
            found.append((float(one[1]), float(one[2])))
    return found


def _rule_that_fails(readout: Generative, criteria: Sequence[str]) -> Iterator[str]:
    rule = readout.rule
    if rule.n_pairs is not None and rule.n_pairs > len(criteria):
        yield f"readout {readout.name} wants {rule.n_pairs} ratings of {len(criteria)} criteria; ask for fewer"
    if unknown := [name for name in rule.example if name not in criteria]:
        yield f"the example of readout {readout.name} names {unknown[0]!r}, which is no criterion of this study"


def questions_that_fail(readouts: Sequence[Readout], criteria: Sequence[str]) -> Iterator[str]:
    """Give what is wrong with what is asked, the scale aside."""
    for readout in readouts:
        try:
            check_phrasing(readout)
        except MeasurandError as error:
            yield str(error)
        try:
            if isinstance(readout, Choice):
                Labels(readout.options)
            if isinstance(readout, Verification):
                Labels({"yes": readout.yes, "no": readout.no})
        except MeasurandError as error:
            yield f"readout {readout.name}: {error}"
        if isinstance(readout, Verification | ScaleReading | Generative) and not criteria:
            yield (
                f"readout {readout.name} asks about criteria, and there are none; give [data] "
                'criteria = ["joy", …], or a file: criteria = { file = "criteria.txt" }'
            )
        if isinstance(readout, Verification) and all(one.negated for one in readout.phrasings):
            yield (
                f"readout {readout.name} has negated phrasings alone, so that a yes to everything can't be told from a "
                "no to everything; add one that is not negated"
            )
        if isinstance(readout, Generative | Text):
            yield from _retries_that_fail(readout)


def _retries_that_fail(readout: Generative | Text) -> Iterator[str]:
    retry = readout.retry
    if retry.attempts > 1 and not retry.note and readout.decoding.temperature == 0:
        yield (
            f"readout {readout.name} tries {retry.attempts} times at temperature 0 without a note, so that the same "
            "request would get the same reply; give retry = { note = … }, a temperature, or one attempt"
        )
    elif retry.shows_reply and not retry.note:
        yield f"readout {readout.name} shows the failed reply but says nothing to it; give retry = {{ note = … }}"


def derived_that_fail(derived: Sequence[Derived], readouts: Sequence[Readout]) -> Iterator[str]:
    """Give derived readouts that lack what they are made from."""
    if not any(isinstance(one, Verification) for one in readouts):
        for name in derived:
            yield f'readout {name} is made from verification, which is not asked; add "verification" to elicit.readouts'


def items_that_fail(elicit: ElicitTable, items: ItemsTable, subject: str) -> Iterator[str]:
    """Give what does not fit between items, controls and subject."""
    pictures, texts = [one is not None for one in items.pictures], [bool(one.strip()) for one in items.texts]
    if "swapped" in elicit.controls and len(items) == 1:
        yield "elicit.controls has swapped, and there is one item: nothing to swap it with; leave it out or add items"
    if "shuffled" in elicit.controls and not all(texts):
        yield (
            f"elicit.controls has shuffled, and the item in data row {texts.index(False) + 1} of {items.source} has no "
            "text to shuffle; leave the control out (blank and swapped work on pictures)"
        )
    for what, there in (("image", pictures), ("text", texts)):
        if subject == what and not all(there):
            yield (
                f'elicit.subject is "{what}", and the item in data row {there.index(False) + 1} of {items.source} has '
                f"none; name its column ([data] columns = {{ {what} = … }}), or call what is shown by another word"
            )


def remarks(readouts: Sequence[Readout], *, repeats: int) -> Iterator[str]:
    """Give what a reader should know of a study that can be asked."""
    fixed = [one.name for one in readouts if isinstance(one, Generative | Text) and one.decoding.temperature == 0]
    graded = [one.name for one in readouts if isinstance(one, Graded)]
    if repeats > 1 and (fixed or graded):
        yield (
            f"{', '.join([*graded, *fixed])}: repeats of one request at temperature 0 measure the noise of the engine, "
            "not the spread of a system's answers"
        )
    for readout in readouts:
        if isinstance(readout, Verification) and not any(one.negated for one in readout.phrasings):
            yield (
                f"{readout.name}: no phrasing is negated; a system that says yes to everything then shows in the "
                "readout double_centred alone"
            )
