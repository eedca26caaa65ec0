"""What a text is made of: characters as readers see them, emoji, words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import regex

from measurand.data.emoji import canonical, presentation
from measurand.result import MeasurandError

#: What a rule for replies counts.
Unit = Literal["emoji", "grapheme", "word", "character"]
UNITS: Final = get_args(Unit)

#: What the length of an output is counted in.
LengthUnit = Literal[
    "emoji", "emoji_or_text", "non_ascii_grapheme", "non_ascii_character", "grapheme", "word", "character", "byte"
]
LENGTH_UNITS: Final[tuple[LengthUnit, ...]] = get_args(LengthUnit)

#: What a decoder sees of an output.
TokenUnit = Literal["emoji", "non_ascii_grapheme", "word", "grapheme", "character"]
TOKEN_UNITS: Final[tuple[TokenUnit, ...]] = get_args(TokenUnit)

_CLUSTER: Final = regex.compile(r"\X")

# Rule GB9c keeps Indic conjuncts together: consonant, linker, consonant. The library also joins a consonant to a linker
# that no consonant stands before; there its clusters are cut once more.
_LINKER: Final = regex.compile(r"\p{InCB=Linker}")
_CONJUNCT: Final = r"[\p{InCB=Extend}\p{InCB=Linker}]"
_NO_CONJUNCT: Final = regex.compile(
    rf"(?V1)(?<=(?:^|[^\p{{InCB=Consonant}}\p{{InCB=Extend}}\p{{InCB=Linker}}]){_CONJUNCT}*\p{{InCB=Linker}}{_CONJUNCT}*)"
    r"(?=\p{InCB=Consonant})"
)

_WORD: Final = regex.compile(r"(?V1)[\p{L}\p{N}]")
_EMOJI_ALONE: Final = ("emoji",)
_EITHER: Final = ("emoji", "text")
_DISTURBING: Final = regex.compile(r"[\p{Cc}\p{Cs}\p{Bidi_Control}]")
_VISIBLE: Final = regex.compile(r"[^\p{C}\p{M}\p{Z}]")
_BOUNDARY: Final = regex.compile(r"(?wV1)\b")


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
    if text.isascii() and "\r\n" not in text:
        return list(text)
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
        The clusters in order, as they stand in the text; see `measurand.data.emoji.presentation`.

    References
    ----------
    Unicode Technical Standard #51, Unicode Emoji, sections 1.4 and 2.

    Examples
    --------
    >>> emoji("Yes 🇧🇩🇮 1️⃣ ❤ ❤️ ©"), emoji("❤", text_presentation=True)
    (['🇧🇩', '1️⃣', '❤️'], ['❤'])
    """
    if text.isascii():
        return []
    kinds = _EITHER if text_presentation else _EMOJI_ALONE
    return [cluster for cluster in graphemes(text) if presentation(cluster) in kinds]


def rest(text: str, *, unit: Literal["emoji", "word"] = "emoji", text_presentation: bool = False) -> list[str]:
    """Return what is neither a unit nor white space, piece by piece.

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
    list of str
        In order; graphemes beside emoji, and whatever stands between word boundaries beside words.

    Examples
    --------
    >>> rest("Oh: 😂 😂!"), rest("Oh: 😂 😂!", unit="word")
    (['O', 'h', ':', '!'], [':', '😂', '😂', '!'])
    """
    if unit == "word":
        return [piece for piece in _BOUNDARY.split(text) if not _WORD.search(piece) and not piece.isspace() and piece]
    every = [cluster for cluster in graphemes(text) if not cluster.isspace()]
    if text.isascii():
        return every
    kinds = _EITHER if text_presentation else _EMOJI_ALONE
    return [cluster for cluster in every if presentation(cluster) not in kinds]


def residue(text: str, *, unit: Literal["emoji", "word"] = "emoji", text_presentation: bool = False) -> str:
    """Return what is neither a unit nor white space, as one text; see `rest`.

    Examples
    --------
    >>> residue("Here: 😂 😂!"), residue("Here: 😂 😂!", unit="word")
    ('Here:!', ':😂😂!')
    """
    return "".join(rest(text, unit=unit, text_presentation=text_presentation))


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


def count(text: str, unit: LengthUnit) -> int:
    """Return the length of a text in units.

    Parameters
    ----------
    text : str
        Any text.
    unit : str
        One of `LENGTH_UNITS`. `emoji_or_text` are emoji and what could be shown as one; the `non_ascii` units are
        graphemes with a character above U+007F, and such characters; a character is a code point; bytes are those of
        UTF-8. White space counts among graphemes, characters and bytes.

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
    >>> {unit: count("👍🏽 fine ©", unit) for unit in LENGTH_UNITS[:4]}
    {'emoji': 1, 'emoji_or_text': 2, 'non_ascii_grapheme': 2, 'non_ascii_character': 3}
    >>> {unit: count("👍🏽 fine ©", unit) for unit in LENGTH_UNITS[4:]}
    {'grapheme': 8, 'word': 1, 'character': 9, 'byte': 16}
    """
    if unit == "emoji":
        return len(emoji(text))
    if unit == "emoji_or_text":
        return len(emoji(text, text_presentation=True))
    if unit == "non_ascii_grapheme":
        return sum(not cluster.isascii() for cluster in graphemes(text))
    if unit == "non_ascii_character":
        return sum(character > "\x7f" for character in text)
    if unit == "grapheme":
        return len(graphemes(text))
    if unit == "word":
        return len(words(text))
    if unit == "character":
        return len(text)
    if unit == "byte":
        return len(text.encode("utf-8", "surrogatepass"))
    raise MeasurandError(f"unit {unit!r}; allowed are {', '.join(LENGTH_UNITS)}")


def lengths(texts: Iterable[str], unit: LengthUnit) -> npt.NDArray[np.float64]:
    """Return the lengths of many texts in units; a text that recurs is counted once.

    Parameters
    ----------
    texts : iterable of str
        Any texts.
    unit : str
        See `count`.

    Returns
    -------
    ndarray of float, shape (n_texts,)
        Whole numbers of 0 or more.

    Raises
    ------
    MeasurandError
        If there is no such unit.

    Examples
    --------
    >>> lengths(["😂😂", "no", "😂😂"], "emoji").tolist()
    [2.0, 0.0, 2.0]
    """
    every = list(texts)
    known = {text: count(text, unit) for text in dict.fromkeys(every)}
    return np.array([known[text] for text in every], dtype=np.float64)


def tokens(text: str, unit: TokenUnit) -> list[str]:
    """Return the parts of a text that a decoder sees, in order.

    Parameters
    ----------
    text : str
        Any text.
    unit : {"emoji", "non_ascii_grapheme", "word", "grapheme", "character"}
        `emoji`: emoji without variation selectors, so that ❤️ is one token however it was written; skin tones and
        joined sequences stay as they are. `non_ascii_grapheme`: graphemes with a character above U+007F as they stand
        (the second paper's). `word`: words in small letters. `character`: code points. White space is no
        token.

    Returns
    -------
    list of str
        No token is blank.

    Raises
    ------
    MeasurandError
        If there is no such unit.

    Examples
    --------
    >>> tokens("Yes ❤️👍🏽 “yes”", "emoji") == ["❤", "👍🏽"], tokens("Yes ❤️👍🏽 “yes”", "word")
    (True, ['yes', 'yes'])
    >>> tokens("Yes ❤️👍🏽 “yes”", "non_ascii_grapheme") == ["❤️", "👍🏽", "“", "”"]
    True
    """
    if unit == "emoji":
        return [canonical(cluster) for cluster in emoji(text)]
    if unit == "non_ascii_grapheme":
        return [cluster for cluster in graphemes(text) if not (cluster.isascii() or cluster.isspace())]
    if unit == "word":
        return [word.casefold() for word in words(text)]
    if unit == "grapheme":
        return [cluster for cluster in graphemes(text) if not cluster.isspace()]
    if unit == "character":
        return [character for character in text if not character.isspace()]
    raise MeasurandError(f"token unit {unit!r}; allowed are {', '.join(TOKEN_UNITS)}")


def main_unit(texts: Iterable[str]) -> Literal["emoji", "word"]:
    """Return what texts mostly consist of.

    Parameters
    ----------
    texts : iterable of str
        Any texts.

    Returns
    -------
    {"emoji", "word"}
        `emoji` where more than half of the texts that are not blank have an emoji (text presentation counted), and
        beside emoji and white space fewer graphemes than emoji.

    Examples
    --------
    >>> main_unit(["😂😂", "❤", "", "no"]), main_unit(["Well done! 😂", "😂😂"])
    ('emoji', 'word')
    """
    n_of = Counter(text for text in texts if not text.isspace() and text)
    of_emoji = sum(
        n
        for text, n in n_of.items()
        if len(rest(text, text_presentation=True)) < len(emoji(text, text_presentation=True))
    )
    return "emoji" if 2 * of_emoji > n_of.total() else "word"


def shown(text: str, *, most: int = 40) -> str:
    r"""Return a text as a sentence can quote it: on one line, without what would disturb the line, cut at a grapheme.

    Parameters
    ----------
    text : str
        Any text.
    most : int
        Number of graphemes that are kept.

    Returns
    -------
    str
        Controls and marks of writing direction are left out; where nothing visible remains, the code points.

    Examples
    --------
    >>> shown("two\nlines"), shown("\ufe0f"), shown("abcdef", most=3)
    ('two lines', 'U+FE0F', 'abc…')
    """
    line = _DISTURBING.sub("", " ".join(text.split()))
    if not _VISIBLE.search(line):
        codes = [f"U+{ord(character):04X}" for character in text[: most // 4]]
        return " ".join(codes) + ("…" if len(text) > len(codes) else "")
    clusters = graphemes(line)
    return "".join(clusters[:most]) + ("…" if len(clusters) > most else "")
