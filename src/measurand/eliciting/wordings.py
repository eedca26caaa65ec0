"""How questions are worded: built-in phrasings, what stands in their place-holders, and what a readout's must have."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from measurand.data.scale import Scale
from measurand.eliciting.declared import (
    Choice,
    Generative,
    Phrasing,
    Readout,
    ScaleReading,
    Text,
    TextRule,
    Verification,
)
from measurand.result import MeasurandError

#: What a phrasing may name in braces, and what each readout needs of it.
PLACEHOLDERS: Final = ("criterion", "criteria", "scale", "options", "example", "text")
_NEEDED: Final[Mapping[type, tuple[str, ...]]] = {
    Verification: ("criterion",),
    ScaleReading: ("criterion", "scale"),
    Choice: ("options",),
    Generative: ("criteria", "scale"),
    Text: (),
}
_OPTIONAL: Final[Mapping[type, tuple[str, ...]]] = {Generative: ("example", "text")}

_PLACEHOLDER: Final = re.compile(r"\{(" + "|".join(PLACEHOLDERS) + r")\}")
_LOOKS_LIKE_ONE: Final = re.compile(r"\{([A-Za-z_]+)\}")

#: Where on the scale the ratings of an example lie, in turn: neither in order nor all alike, so that a copy shows.
_EXAMPLE_PLACES: Final = (0.3, 0.9, 0.5, 0.0, 0.7, 1.0, 0.2, 0.6)


def verification_phrasings(subject: str) -> tuple[Phrasing, ...]:
    """Return yes/no questions about one criterion, the last one negated.

    Parameters
    ----------
    subject : str
        What is shown, as a noun: ``image``, ``text``, ``face``.

    Returns
    -------
    tuple of Phrasing
        ``does``, ``present``, ``would`` and ``absent``; a yes to the last one says that the criterion is absent.

    Raises
    ------
    MeasurandError
        If the subject is blank or has braces.

    Examples
    --------
    >>> fill(verification_phrasings("face")[0], criterion="awe")
    'Does this face show any awe? Reply with a single word, yes or no.'
    """
    noun = _noun(subject)
    return (
        Phrasing("does", f"Does this {noun} show any {{criterion}}? Reply with a single word, yes or no."),
        Phrasing(
            "present",
            f"Statement about the {noun} above: {{criterion}} is present. Is the statement true? Reply yes or no.",
        ),
        Phrasing(
            "would",
            f"If people were asked about this {noun}, would most of them find {{criterion}} in it? Reply yes or no.",
        ),
        Phrasing("absent", f"Is {{criterion}} entirely absent from this {noun}? Reply yes or no.", negated=True),
    )


def scale_phrasings(subject: str) -> tuple[Phrasing, ...]:
    """Return questions for one criterion's rating as a single number.

    Parameters
    ----------
    subject : str
        What is shown, as a noun.

    Returns
    -------
    tuple of Phrasing
        ``rate``, ``number`` and ``people``.

    Raises
    ------
    MeasurandError
        If the subject is blank or has braces.
    """
    noun = _noun(subject)
    return (
        Phrasing("rate", f"Rate the {noun} on this criterion: {{criterion}}. Scale: {{scale}}. Reply with the number."),
        Phrasing("number", f"Which number fits the {noun} best for {{criterion}}, on a scale of {{scale}}? Only that."),
        Phrasing(
            "people",
            f"People rated this {noun} for {{criterion}}. Scale: {{scale}}. What was the usual rating? Reply with it.",
        ),
    )


def choice_phrasings(subject: str) -> tuple[Phrasing, ...]:
    """Return questions for one of several options.

    Parameters
    ----------
    subject : str
        What is shown, as a noun.

    Returns
    -------
    tuple of Phrasing
        ``which``, ``best`` and ``people``.

    Raises
    ------
    MeasurandError
        If the subject is blank or has braces.
    """
    noun = _noun(subject)
    return (
        Phrasing("which", f"Which of these is the {noun}?\n{{options}}\n\nReply with one of them and nothing else."),
        Phrasing("best", f"Options:\n{{options}}\n\nName the one option that describes this {noun} best."),
        Phrasing("people", f"Most people chose one of these for the {noun}:\n{{options}}\n\nWhich one? Only name it."),
    )


def generative_phrasings(subject: str = "item") -> tuple[Phrasing, ...]:
    """Return requests for the ratings of all criteria as one JSON object.

    Parameters
    ----------
    subject : str
        What is shown, as a noun.

    Returns
    -------
    tuple of Phrasing
        ``every``: every criterion has a rating, also those of which there is nothing. ``pairs``: in the form of an
        example, and none of 0, which is how the first paper's benchmark asked; it needs `RatingsRule.example`.

    Raises
    ------
    MeasurandError
        If the subject is blank or has braces.
    """
    noun = _noun(subject)
    return (
        Phrasing(
            "every",
            f"Rate this {noun} on each of these criteria:\n{{criteria}}\n\n"
            "Scale: {scale}; a higher rating means more of it.\n\n"
            "Reply with one JSON object and nothing around it. Its keys are the criteria, each of them once and "
            "spelled as above; its values are plain numbers. What is not there at all gets the lowest rating.",
        ),
        Phrasing(
            "pairs",
            f"Rate this {noun} on criteria from this list:\n{{criteria}}\n\n"
            "Scale: {scale}; a higher rating means more of it. Ratings of 0 are left out.\n\n"
            "Reply with one JSON object and nothing around it, in the form of this example with made-up ratings:\n"
            "{example}\n\n"
            "All keys of the example must be in your reply.",
        ),
    )


def text_phrasings(subject: str, *, rule: TextRule | None = None) -> tuple[Phrasing, ...]:
    """Return requests for a free reply that say what the rule will ask of it.

    Parameters
    ----------
    subject : str
        What is shown, as a noun.
    rule : TextRule or None
        Its unit and bounds go into the wording; None for a reply of any length.

    Returns
    -------
    tuple of Phrasing
        ``feeling`` and ``reply``.

    Raises
    ------
    MeasurandError
        If the subject is blank or has braces.

    Examples
    --------
    >>> text_phrasings("sentence", rule=TextRule("emoji", 1, 5))[0].question
    'What does this sentence feel like? Say it in 1 to 5 emojis and nothing else.'
    """
    noun = _noun(subject)
    amount = _amount(rule or TextRule())
    return (
        Phrasing("feeling", f"What does this {noun} feel like? Say it in {amount}."),
        Phrasing("reply", f"Reply to this {noun} in {amount}."),
    )


def scale_in_words(scale: Scale | Mapping[str, Scale] | None) -> str:
    """Return the permitted ratings as a prompt says them.

    Parameters
    ----------
    scale : Scale, mapping of criterion to Scale, or None
        One scale; or one for each criterion (a blank key: for all others), which are then said one by one. None
        permits any number.

    Returns
    -------
    str
        A phrase without a full stop.

    Examples
    --------
    >>> scale_in_words(Scale(0, 7, step=1)), scale_in_words(Scale(0, 1))
    ('the whole numbers from 0 to 7', 'any number from 0 to 1')
    """
    if scale is None:
        return scale_in_words(Scale())
    if isinstance(scale, Mapping):
        said = {scale_in_words(one) for one in scale.values()}
        if len(said) < 2:
            return next(iter(said), scale_in_words(None))
        return "; ".join(f"{name or 'all others'}: {scale_in_words(one)}" for name, one in scale.items())
    if scale.labels:
        order = "in any order" if scale.level == "nominal" else "from lowest to highest"
        return f"one of these, {order}: {', '.join(scale.labels)}"
    if scale.low is None or scale.high is None:
        return "any number"
    ends = f"from {scale.low:g} to {scale.high:g}"
    if scale.step is None:
        return f"any number {ends}"
    is_whole = scale.step == 1 and scale.low == int(scale.low)
    return f"the whole numbers {ends}" if is_whole else f"the numbers {ends} in steps of {scale.step:g}"


def example_ratings(criteria: Sequence[str], scale: Scale | Mapping[str, Scale] | None) -> dict[str, float]:
    """Return the made-up ratings of an example reply: the same every time, permitted by the scale, none of them 0.

    Parameters
    ----------
    criteria : sequence of str
        What the example names.
    scale : Scale, mapping or None
        Permitted ratings; 1 to 5 where none are declared.

    Returns
    -------
    dict of str to float
        Criterion to rating, in the order given.

    Examples
    --------
    >>> example_ratings(["awe", "fear", "joy"], Scale(0, 7, step=1))
    {'awe': 3.0, 'fear': 6.0, 'joy': 4.0}
    """
    return {
        criterion: _example_rating(_EXAMPLE_PLACES[i % len(_EXAMPLE_PLACES)], _one_scale(scale, criterion))
        for i, criterion in enumerate(criteria)
    }


def fill(
    phrasing: Phrasing,
    *,
    criterion: str = "",
    criteria: Sequence[str] = (),
    scale: Scale | Mapping[str, Scale] | None = None,
    options: Sequence[str] = (),
    example: Sequence[str] = (),
    text: str = "",
) -> str:
    """Return a question with what stands for its place-holders.

    Parameters
    ----------
    phrasing : Phrasing
        The wording.
    criterion : str
        For `{criterion}`.
    criteria, options : sequence of str
        For `{criteria}` and `{options}`: one a line behind a dash.
    scale : Scale, mapping of criterion to Scale, or None
        For `{scale}`, in words.
    example : sequence of str
        For `{example}`: a JSON object of these criteria with the ratings of `example_ratings`.
    text : str
        For `{text}`.

    Returns
    -------
    str
        The question. Everything is put in at once: braces in what is put in are text, and all others stay as they are.

    Examples
    --------
    >>> fill(Phrasing("x", "{criterion} in {text}? {why}"), criterion="{text}", text="{scale}")
    '{text} in {scale}? {why}'
    """
    values = {
        "criterion": criterion,
        "criteria": _lines(criteria),
        "scale": scale_in_words(scale),
        "options": _lines(options),
        "example": _as_json(example_ratings(example, scale)) if example else "",
        "text": text,
    }
    return _PLACEHOLDER.sub(lambda found: values[found[1]], phrasing.question)


def check_phrasing(readout: Readout) -> None:
    """Refuse a readout whose wordings can't ask what it reads.

    Parameters
    ----------
    readout : Readout
        Any readout.

    Raises
    ------
    MeasurandError
        If it has no phrasing, two of one name, or a blank one; if a phrasing lacks a place-holder that the readout
        needs, or has one that does not exist or would stay blank; if an example is shown and not declared, or the other
        way round; if a phrasing is negated although its answers can't be turned round.

    Examples
    --------
    >>> check_phrasing(Verification(verification_phrasings("image")))
    """
    where = f"readout {readout.name!r}"
    names = [phrasing.name for phrasing in readout.phrasings]
    if not names:
        raise MeasurandError(f"{where} has no phrasing; give it one")
    if again := [name for i, name in enumerate(names) if name in names[:i]]:
        raise MeasurandError(f"{where} has two phrasings called {again[0]!r}; answers are told apart by it: rename one")
    for phrasing in readout.phrasings:
        _check(readout, phrasing, f"{where}, phrasing {phrasing.name!r}")


def _check(readout: Readout, phrasing: Phrasing, where: str) -> None:
    if not phrasing.name.strip() or not phrasing.question.strip():
        raise MeasurandError(f"{where}: name and question must not be blank")
    needed = _NEEDED[type(readout)]
    allowed = (*needed, *_OPTIONAL.get(type(readout), ("text",)))
    named = dict.fromkeys(_LOOKS_LIKE_ONE.findall(phrasing.question))
    for name in named:
        if name not in PLACEHOLDERS:
            close = difflib.get_close_matches(name.lower(), allowed, n=1)
            hint = f"; did you mean {{{close[0]}}}?" if close else ""
            raise MeasurandError(f"{where}: nothing stands for {{{name}}}; allowed are {_braced(allowed)}{hint}")
        if name not in allowed:
            raise MeasurandError(
                f"{where}: {{{name}}} would stay blank in this readout; allowed are {_braced(allowed)}"
            )
    if missing := [name for name in needed if name not in named]:
        raise MeasurandError(f"{where} does not say {_braced(missing)}, which the system must know; put it in")
    if phrasing.negated and not isinstance(readout, Verification):
        raise MeasurandError(f"{where} is negated; only yes/no answers (verification) can be turned round")
    if isinstance(readout, Generative) and ("example" in named) != bool(readout.rule.example):
        raise MeasurandError(
            f"{where} shows an example, but the rule names no criteria for it; declare rule.example or leave it out"
            if "example" in named
            else f"{where} lacks {{example}}, although the rule says which criteria the example names; put it in, or "
            "declare no example"
        )


def _noun(subject: str) -> str:
    noun = subject.strip()
    if not noun or set(noun) & set("{}\n"):
        raise MeasurandError(f"subject {subject!r}; give a noun for what is shown, such as image, text or face")
    return noun


def _amount(rule: TextRule) -> str:
    """Return what a rule permits as the end of a sentence."""
    unit = "character" if rule.unit == "grapheme" else rule.unit
    least, most = rule.least or 0, rule.most
    only = " and nothing else" if rule.only or rule.unit == "emoji" else ""
    if most is None:
        if least > 1:
            return f"at least {least} {unit}s{only}"
        return f"emojis{only}" if rule.unit == "emoji" else "your own words"
    bounds = f"at most {most}" if not least else f"{most}" if least == most else f"{least} to {most}"
    return f"{bounds} {unit}{'s' * (most != 1)}{only}"


def _one_scale(scale: Scale | Mapping[str, Scale] | None, criterion: str) -> Scale:
    found = scale if isinstance(scale, Scale) else (scale or {}).get(criterion) or (scale or {}).get("")
    return Scale(1, 5, step=1) if found is None or found.bounds is None else found


def _example_rating(place: float, scale: Scale) -> float:
    """Return the permitted rating at a place between the ends, 0 left out."""
    if levels := [level for level in scale.levels or () if level != 0]:
        return levels[round(place * (len(levels) - 1))]
    low, high = scale.bounds or (1.0, 5.0)
    return float(f"{low + (0.05 + 0.9 * place) * (high - low):.3g}")


def _as_json(ratings: Mapping[str, float]) -> str:
    plain = {name: int(value) if value == int(value) else value for name, value in ratings.items()}
    return json.dumps(plain, ensure_ascii=False, indent=2)


def _lines(names: Sequence[str]) -> str:
    return "\n".join(f"- {name}" for name in names)


def _braced(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)
