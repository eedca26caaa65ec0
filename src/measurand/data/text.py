"""What a text is made of: characters as readers see them, emoji, words."""

from __future__ import annotations

from typing import Final, Literal, get_args

import regex

from measurand.result import MeasurandError

Unit = Literal["emoji", "grapheme", "word", "character"]
UNITS: Final = get_args(Unit)

_CLUSTER: Final = regex.compile(r"\X")

# Rule GB9c keeps Indic conjuncts together: consonant, linker, consonant. The library also joins a consonant to a linker
# that no consonant stands before; there its clusters are cut once more.
_LINKER: Final = regex.compile(r"\p{InCB=Linker}")
_CONJUNCT: Final = r"[\p{InCB=Extend}\p{InCB=Linker}]"
_NO_CONJUNCT: Final = regex.compile(
    rf"(?V1)(?<=(?:^|[^\p{{InCB=Consonant}}\p{{InCB=Extend}}\p{{InCB=Linker}}]){_CONJUNCT}*\p{{InCB=Linker}}{_CONJUNCT}*)"
    r"(?=\p{InCB=Consonant})"
)

# What makes a cluster an emoji. Variation selectors ask for a presentation (U+FE0F as an emoji, U+FE0E as text), and a
# skin tone makes an emoji of any base that takes one. A regional indicator, digit or skin tone alone is none.
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

_WORD: Final = regex.compile(r"(?V1)[\p{L}\p{N}]")
_BOUNDARY: Final = regex.compile(r"(?wV1)\b")

#: An emoji of each version, newest first: what the segmentation knows is what these show.
_NEWEST: Final = (
    ("18.0", "\U0001faeb"),
    ("17.0", "\U0001fac8"),
    ("16.0", "\U0001fae9"),
    ("15.0", "\U0001fae8"),
)


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


def graphemes(text: str) -> list[str]:
    """Return the characters of a text as readers see them: extended grapheme clusters.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        The clusters in order; joined, they are the text.

    References
    ----------
    Unicode Standard Annex #29, Unicode Text Segmentation, section 3.

    Examples
    --------
    >>> graphemes("👩‍👩‍👧👍🏽ক্ষ"), len("👩‍👩‍👧👍🏽ক্ষ")
    (['👩‍👩‍👧', '👍🏽', 'ক্ষ'], 10)
    """
    clusters: list[str] = _CLUSTER.findall(text)
    if _LINKER.search(text) is None:
        return clusters
    return [piece for cluster in clusters for piece in _NO_CONJUNCT.split(cluster)]


def emoji(text: str, *, text_presentation: bool = False) -> list[str]:
    """Return the emoji of a text, each as one cluster with its skin tone, joiners and tags.

    Parameters
    ----------
    text : str
        Any text.
    text_presentation : bool
        Whether characters that are shown as text unless they are asked for as emoji (©, ™, ❤ without U+FE0F) count.

    Returns
    -------
    list of str
        The clusters in order, as they stand in the text.

    Notes
    -----
    A grapheme cluster is an emoji if it contains a pictograph with default emoji presentation that no U+FE0E turns
    into text, a pictograph that U+FE0F or a skin tone turns into an emoji, two regional indicators (a flag), or a
    keycap. One regional indicator is no flag. ZWJ and tag sequences are one emoji, whether or not a font draws them
    as one.

    References
    ----------
    Unicode Technical Standard #51, Unicode Emoji, sections 1.4 and 2.

    Examples
    --------
    >>> emoji("Yes 🇧🇩🇮 1️⃣ ❤ ❤️ ©"), emoji("❤", text_presentation=True)
    (['🇧🇩', '1️⃣', '❤️'], ['❤'])
    """
    return [cluster for cluster in graphemes(text) if _is_emoji(cluster, text_presentation)]


def residue(text: str, *, unit: Literal["emoji", "word"] = "emoji", text_presentation: bool = False) -> str:
    """Return what is neither a unit nor white space, in order.

    Parameters
    ----------
    text : str
        Any text.
    unit : {"emoji", "word"}
        What is left out; of graphemes and characters nothing would remain.
    text_presentation : bool
        As in `emoji`.

    Returns
    -------
    str
        The rest joined; blank if there is none.

    Examples
    --------
    >>> residue("Here: 😂 😂!"), residue("Here: 😂 😂!", unit="word")
    ('Here:!', ':😂😂!')
    """
    if unit == "word":
        rest = (piece for piece in _BOUNDARY.split(text) if not _WORD.search(piece))
        return "".join(piece for piece in rest if not piece.isspace())
    return "".join(
        cluster for cluster in graphemes(text) if not cluster.isspace() and not _is_emoji(cluster, text_presentation)
    )


def words(text: str) -> list[str]:
    """Return the words of a text.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        What stands between two default word boundaries and has a letter or digit. Scripts without spaces are cut by
        character (Han) or not at all (Thai): counts of words don't compare across these.

    References
    ----------
    Unicode Standard Annex #29, Unicode Text Segmentation, section 4.

    Examples
    --------
    >>> words("It can't be 3.5, can it? 😂"), words("আমি ভালো আছি।")
    (['It', "can't", 'be', '3.5', 'can', 'it'], ['আমি', 'ভালো', 'আছি'])
    """
    return [piece for piece in _BOUNDARY.split(text) if _WORD.search(piece)]


def count(text: str, unit: Unit) -> int:
    """Return the length of a text in units.

    Parameters
    ----------
    text : str
        Any text.
    unit : {"emoji", "grapheme", "word", "character"}
        What is counted; a character is a code point, white space counts among characters and graphemes.

    Returns
    -------
    int
        0 or more.

    Raises
    ------
    MeasurandError
        If there is no such unit.

    Examples
    --------
    >>> [count("👍🏽 fine", unit) for unit in UNITS]
    [1, 6, 1, 7]
    """
    if unit == "emoji":
        return len(emoji(text))
    if unit == "grapheme":
        return len(graphemes(text))
    if unit == "word":
        return len(words(text))
    if unit == "character":
        return len(text)
    raise MeasurandError(f"unit {unit!r}; allowed are {', '.join(UNITS)}")


def _is_emoji(cluster: str, text_presentation: bool) -> bool:
    # A cluster of one ASCII character, the commonest by far, is none.
    if len(cluster) == 1 and cluster.isascii():
        return False
    return bool(_EMOJI.search(cluster) or (text_presentation and _AS_TEXT.search(cluster)))
