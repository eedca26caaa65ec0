"""What makes a character an emoji, and when two emoji are one."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Literal

import regex

# Variation selectors ask for a presentation (U+FE0F as an emoji, U+FE0E as text), and a skin tone makes an emoji of any
# base that takes one. A regional indicator, digit or skin tone alone is none.
_EMOJI: Final = regex.compile(
    r"""(?xV1)
      [\p{Extended_Pictographic}&&\p{Emoji_Presentation}](?!\uFE0E)
    | [\p{Extended_Pictographic}&&\p{Emoji}]\uFE0F
    | \p{Emoji_Modifier_Base}\p{Emoji_Modifier}
    | \p{Regional_Indicator}{2}
    | [0-9\#*]\uFE0F?\u20E3
    """
)
_AS_TEXT: Final = regex.compile(r"(?V1)[\p{Extended_Pictographic}&&\p{Emoji}]")

#: An emoji of each version, newest first: what the segmentation knows is what these show.
_NEWEST: Final = (
    ("18.0", "\U0001faeb"),
    ("17.0", "\U0001fac8"),
    ("16.0", "\U0001fae9"),
    ("15.0", "\U0001fae8"),
)

# The first character is never taken away: a cluster never becomes blank.
_VARIATION: Final = regex.compile(r"(?s)(?<=.)[\uFE0E\uFE0F]")
_SKIN_TONE: Final = regex.compile(r"(?s)(?<=.)[\U0001F3FB-\U0001F3FF]")
_GENDER_SIGN: Final = regex.compile(r"(?s)(?<=.)\u200D[\u2640\u2642]\uFE0F?")
#: People of a gender and who stands for them without one. A skin tone stays behind the person.
_PERSONS: Final = {
    "\U0001f466\U0001f467": "\U0001f9d2",
    "\U0001f468\U0001f469": "\U0001f9d1",
    "\U0001f474\U0001f475": "\U0001f9d3",
    "\U0001f934\U0001f478": "\U0001fac5",
    "\U0001f930\U0001fac3": "\U0001fac4",
}
_NEUTRAL: Final = {ord(one): neutral for ones, neutral in _PERSONS.items() for one in ones}
#: The same where the neutral one is a sequence: Santa and Mrs Claus, two people who hold hands.
_SEQUENCES: Final = (
    (regex.compile(r"[\U0001F385\U0001F936]([\U0001F3FB-\U0001F3FF]?)"), "\U0001f9d1\\1\u200d\U0001f384"),
    (
        regex.compile(r"[\U0001F46B-\U0001F46D]([\U0001F3FB-\U0001F3FF]?)"),
        "\U0001f9d1\\1\u200d\U0001f91d\u200d\U0001f9d1\\1",
    ),
)


@lru_cache(maxsize=2**16)
def presentation(cluster: str) -> Literal["", "text", "emoji"]:
    """Return whether a grapheme cluster is an emoji, could be one, or neither.

    Parameters
    ----------
    cluster : str
        One extended grapheme cluster; see `measurand.data.text.graphemes`.

    Returns
    -------
    {"", "text", "emoji"}
        `emoji` for a pictograph with default emoji presentation that no U+FE0E turns into text, a pictograph that
        U+FE0F or a skin tone turns into an emoji, two regional indicators (a flag), a keycap, and any ZWJ or tag
        sequence with such a part, whether or not a font draws it as one. `text` for a pictograph that is shown as text
        unless it is asked for as an emoji (©, ™, ❤ without U+FE0F). Blank for everything else.

    References
    ----------
    Unicode Technical Standard #51, Unicode Emoji, sections 1.4 and 2.

    Examples
    --------
    >>> [presentation(one) for one in ("❤", "❤️", "🇮", "🇮🇳", "a")]
    ['text', 'emoji', '', 'emoji', '']
    """
    # A cluster of one ASCII character, the commonest by far, is none.
    if len(cluster) == 1 and cluster.isascii():
        return ""
    if _EMOJI.search(cluster):
        return "emoji"
    return "text" if _AS_TEXT.search(cluster) else ""


@lru_cache(maxsize=2**16)
def canonical(cluster: str, *, variation: bool = True, skin_tone: bool = False, gender: bool = False) -> str:
    """Return the form of an emoji in which those that are to count as one are equal.

    Parameters
    ----------
    cluster : str
        One extended grapheme cluster.
    variation : bool
        Whether variation selectors are left out, so that ❤ and ❤️ are one.
    skin_tone : bool
        Whether skin tones are left out.
    gender : bool
        Whether signs of gender are left out, and women and men, girls and boys and so on become persons where Unicode
        has such a person (of dancers, for one, it has none).

    Returns
    -------
    str
        Never blank unless the cluster is; the form of a form is itself.

    References
    ----------
    Unicode Technical Standard #51, Unicode Emoji, sections 2.2, 2.3 and 2.4.

    Examples
    --------
    >>> canonical("❤️") == "❤", canonical("👍🏽"), canonical("👍🏽", skin_tone=True), canonical("🏃‍♀️", gender=True)
    (True, '👍🏽', '👍', '🏃')
    """
    if cluster.isascii():
        return cluster
    if variation:
        cluster = _VARIATION.sub("", cluster)
    if skin_tone:
        cluster = _SKIN_TONE.sub("", cluster)
    if gender:
        cluster = _GENDER_SIGN.sub("", cluster).translate(_NEUTRAL)
        for pattern, neutral in _SEQUENCES:
            cluster = pattern.sub(neutral, cluster)
    return cluster


def unicode_version() -> str:
    """Return the version of Unicode up to which emoji are known, read off the library that segments.

    Returns
    -------
    str
        The newest version of which an emoji is known, from 14.0 to 18.0 (older and newer ones read as these). Emoji of
        later versions than the library's are graphemes but no emoji.

    Examples
    --------
    >>> float(unicode_version()) >= 14
    True
    """
    return next((version for version, newest in _NEWEST if _EMOJI.match(newest)), "14.0")
