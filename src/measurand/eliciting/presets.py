"""Protocols of published benchmarks: their rules in this library's words."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from measurand.data.scale import Scale
from measurand.eliciting.declared import Generative, Phrasing, RatingsRule, Retry, Text, TextRule
from measurand.eliciting.engine import Decoding
from measurand.eliciting.wordings import generative_phrasings, text_phrasings
from measurand.result import MeasurandError

#: What each preset is, in a line.
PRESETS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "emonet-face": "EmoNet-Face, zero-shot: 25 of 40 emotions from 1 to 7 as JSON, no zeros, up to 20 attempts",
        "emonet-face-multi": "EmoNet-Face, multi-shot: all 40 emotions from 0 to 7 as JSON, at most 5 above 0",
        "two-emojis": "the second paper's panel: one to five emojis for a sentence, up to 3 attempts",
    }
)

#: The emotions of EmoNet-Face by family.
_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Positive High-Energy Emotions": (
            "Amusement",
            "Elation",
            "Pleasure/Ecstasy",
            "Hope/Enthusiasm/Optimism",
            "Triumph",
            "Interest",
            "Awe",
            "Astonishment/Surprise",
            "Teasing",
        ),
        "Positive Low-Energy Emotions": (
            "Contentment",
            "Thankfulness/Gratitude",
            "Affection",
            "Relief",
            "Contemplation",
            "Pride",
        ),
        "Negative High-Energy Emotions": (
            "Fear",
            "Anger",
            "Malevolence/Malice",
            "Disgust",
            "Impatience and Irritability",
            "Distress",
        ),
        "Negative Low-Energy Emotions": (
            "Sadness",
            "Bitterness",
            "Contempt",
            "Disappointment",
            "Shame",
            "Emotional Numbness",
            "Doubt",
            "Jealousy & Envy",
            "Embarrassment",
            "Helplessness",
        ),
        "Cognitive States and Processes": ("Concentration", "Confusion"),
        "Physical and Exhaustive States": (
            "Pain",
            "Fatigue/Exhaustion",
            "Intoxication/Altered States of Consciousness",
            "Sourness",
        ),
        "Longing & Lust": ("Longing", "Sexual Lust", "Infatuation"),
    }
)

#: The emotions that the zero-shot prompt's example does not name: a reply that keeps to it can't rate them.
NEVER_IN_EXAMPLE: Final = (
    "Affection",
    "Amusement",
    "Elation",
    "Embarrassment",
    "Helplessness",
    "Hope/Enthusiasm/Optimism",
    "Infatuation",
    "Longing",
    "Pain",
    "Pleasure/Ecstasy",
    "Relief",
    "Sexual Lust",
    "Sourness",
    "Teasing",
    "Thankfulness/Gratitude",
)

_EMONET: Final = ("emonet-face", "emonet-face-multi")

#: Said from the second attempt on, to a system that has not seen its first reply.
_NOTE: Final = (
    "An earlier reply to this request broke its rules. Take care this time: the JSON object has exactly 25 pairs, and "
    "none of its ratings is 0."
)


def criteria_of(preset: str) -> tuple[str, ...]:
    """Return the criteria that a preset rates, in the benchmark's order.

    Parameters
    ----------
    preset : str
        One of `PRESETS`.

    Returns
    -------
    tuple of str
        The names; none for a preset of free text.

    Raises
    ------
    MeasurandError
        If there is no such preset.

    Examples
    --------
    >>> len(criteria_of("emonet-face"))
    40
    """
    return tuple(name for names in families_of(preset).values() for name in names)


def families_of(preset: str) -> Mapping[str, tuple[str, ...]]:
    """Return the criteria of a preset by family; empty for a preset of free text.

    Raises
    ------
    MeasurandError
        If there is no such preset.
    """
    return _FAMILIES if _known(preset, tuple(PRESETS)) in _EMONET else MappingProxyType({})


def aliases_of(preset: str) -> Mapping[str, str]:
    """Return other spellings of criteria in the benchmark's published tables, each with the name used here.

    Raises
    ------
    MeasurandError
        If there is no such preset.

    Examples
    --------
    >>> dict(aliases_of("emonet-face"))
    {'Hopelessness': 'Helplessness'}
    """
    is_emonet = _known(preset, tuple(PRESETS)) in _EMONET
    return MappingProxyType({"Hopelessness": "Helplessness"} if is_emonet else {})


def scale_of(preset: str) -> Scale:
    """Return the scale on which the benchmark's people rated.

    Raises
    ------
    MeasurandError
        If there is no such preset, or it rates nothing.

    Examples
    --------
    >>> scale_of("emonet-face").describe()
    '0 to 7 in steps of 1'
    """
    _known(preset, _EMONET)
    return Scale(0, 7, step=1, level="ordinal")


def generative_preset(preset: str) -> Generative:
    """Return the readout of a benchmark that asks for ratings as JSON.

    Parameters
    ----------
    preset : str
        ``emonet-face`` or ``emonet-face-multi``.

    Returns
    -------
    Generative
        Rules, attempts and decoding are the benchmark's, the wording is not. ``emonet-face``: the list of forty
        emotions, an example of 25 that are always the same, no zeros, and a reply is accepted if it has 25 pairs and
        no 0, whatever its keys and values are; each further attempt starts anew, with a note. The request contradicts
        itself as the benchmark's does (what is absent is left out, all of the example's keys are there) and does not
        say 25 before the note. ``emonet-face-multi``: every emotion has a rating, at most five are above 0, and keys,
        types and range are checked. Sampling settings are not sent, so that the server's own hold.

    Raises
    ------
    MeasurandError
        If there is no such preset.

    Notes
    -----
    Not taken over are what would make a readout of something else: the field in which the picture was sent, which is
    not part of the interface and may be dropped unseen; the multi-shot protocol's four further dimensions with their
    reasons; and breaking off at the first server error.

    Examples
    --------
    >>> readout = generative_preset("emonet-face")
    >>> readout.retry.attempts, readout.rule.n_pairs, len(readout.rule.example), readout.decoding.temperature
    (20, 25, 25, None)
    """
    every, pairs = generative_phrasings("face")
    if _known(preset, _EMONET) == "emonet-face":
        named = tuple(name for name in criteria_of(preset) if name not in NEVER_IN_EXAMPLE)
        return Generative(
            phrasings=(pairs,),
            rule=RatingsRule(keys="any", n_pairs=25, zeros=False, is_strict=False, example=named),
            retry=Retry(attempts=20, note=_NOTE),
            decoding=Decoding(max_tokens=1000, temperature=None),
            name=preset,
        )
    return Generative(
        phrasings=(Phrasing("few", f"{every.question} At most five criteria may be rated above 0."),),
        rule=RatingsRule(keys="all", most_nonzero=5),
        decoding=Decoding(max_tokens=2000, temperature=None),
        name=preset,
    )


def text_preset(preset: str) -> Text:
    """Return the readout of a benchmark that asks for a free text.

    Parameters
    ----------
    preset : str
        ``two-emojis``.

    Returns
    -------
    Text
        One to five emojis for a sentence at temperature .7 with at most 50 tokens. The same request is sent up to three
        times until a reply has a character above U+007F, which is the paper's rule and no check for emoji.

    Raises
    ------
    MeasurandError
        If there is no such preset.

    References
    ----------
    The second paper, appendix A (three attempts; its section on systems speaks of three retries).

    Examples
    --------
    >>> readout = text_preset("two-emojis")
    >>> readout.retry.attempts, readout.decoding.temperature, readout.rule.beyond_ascii
    (3, 0.7, True)
    """
    _known(preset, ("two-emojis",))
    rule = TextRule(unit="emoji", least=1, most=5, beyond_ascii=True)
    return Text(
        phrasings=text_phrasings("sentence", rule=rule)[:1],
        rule=rule,
        retry=Retry(attempts=3),
        decoding=Decoding(max_tokens=50, temperature=0.7),
        name=preset,
    )


def _known(preset: str, allowed: tuple[str, ...]) -> str:
    if preset in allowed:
        return preset
    if preset in PRESETS:
        raise MeasurandError(f"preset {preset!r} is {PRESETS[preset]}; of this kind there are {', '.join(allowed)}")
    close = difflib.get_close_matches(preset, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise MeasurandError(f"there is no preset {preset!r}; there are {', '.join(allowed)}{hint}")
