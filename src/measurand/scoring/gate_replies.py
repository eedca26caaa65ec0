"""What a reply says: the options that it mentions, the numbers that it holds, and whether that can be read two ways."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

Form = Literal["strict", "repaired", "prose", "ambiguous", "none"]

#: Characters that are not seen and part words for a program: zero-width spaces and joiners, marks of direction.
_UNSEEN: Final = re.compile("[\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_NUMBER: Final = r"(?<![\w.,])[-+−]?(?:\d++(?:\.\d++)?+|\.\d++)(?!\w|[.,]\d)"
_NUMBERS: Final = re.compile(_NUMBER, re.ASCII)
_FENCE: Final = re.compile(r"\A\s*```[^\n`]*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_NEGATION: Final = r"(?:\b(?:not|no|never|neither|nor|without)|n['’]t)\s+(?:\w+\s+)?$"
_NEGATED: Final = re.compile(_NEGATION)
#: Punctuation and marks that may stand around a bare answer.
_AROUND: Final = " \t\r\n.,;:!?'\"`*_()[]{}<>“”‘’"
#: Keys under which an object may hold the one number that was asked for.
_KEYS: Final = ("answer", "rating", "score", "value")
#: A reply may hold more objects than anybody reads.
_MOST_OBJECTS: Final = 64


class Mentions(NamedTuple):
    """Options that a reply mentions, in order, whether it is nothing but one of them, and if one is negated."""

    options: tuple[int, ...]
    is_strict: bool
    is_negated: bool

    @property
    def n_distinct(self) -> int:
        """Number of different options."""
        return len(set(self.options))


class Numbers(NamedTuple):
    """Numbers that may be the answer, in order, and how they were found; none if there is none, which is not 0."""

    candidates: tuple[float, ...]
    form: Form

    @property
    def n_distinct(self) -> int:
        """Number of different numbers."""
        return len(set(self.candidates))


class Options:
    """The options of a forced choice, ready to be looked for."""

    def __init__(self, options: Sequence[str]) -> None:
        lowered = [option.lower() for option in options]
        self._place = {text: i for i, text in reversed(list(enumerate(lowered)))}
        # The longest first, so that "very happy" is not also "happy".
        words = "|".join(re.escape(text) for text in sorted(self._place, key=lambda text: (-len(text), text)))
        self._pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)")

    def mentioned(self, reply: str) -> Mentions:
        """Return which options occur as whole words in the lower-cased reply, in order.

        Examples
        --------
        >>> Options(["anger", "fear"]).mentioned("Not anger, but fear.").options
        (0, 1)
        """
        text = _UNSEEN.sub("", reply).lower()
        found = list(self._pattern.finditer(text))
        bare = text.strip(_AROUND)
        return Mentions(
            tuple(self._place[match.group()] for match in found),
            bare in self._place or text.strip() in self._place,
            any(_NEGATED.search(text[max(0, match.start() - 40) : match.start()]) for match in found),
        )


def numbers(reply: str, criterion: str = "") -> Numbers:
    """Return the numbers of a reply that may be the answer.

    Parameters
    ----------
    reply : str
        Any text.
    criterion : str
        Whose number is wanted where the reply holds those of several; blank for none.

    Returns
    -------
    Numbers
        ``strict``: the whole reply is a JSON number, or JSON that holds exactly one for the criterion. ``repaired``:
        the same once a code fence, closed reasoning, single quotes or prose around one object are taken away.
        ``ambiguous``: an object gives several different numbers, or there are several objects that do. ``prose``: whole
        numbers as words of a text, first to last (those that follow the criterion's name if it is there). ``none``: no
        number; JSON without the criterion holds none, whatever else it holds.

    Examples
    --------
    >>> numbers('{"score": 4}'), numbers("I give 3 of 7")
    (Numbers(candidates=(4.0,), form='strict'), Numbers(candidates=(3.0, 7.0), form='prose'))
    >>> numbers("not excellent")
    Numbers(candidates=(), form='none')
    """
    text = _UNSEEN.sub("", reply).strip()
    whole = _loaded(text)
    if whole is not None and isinstance(whole[0], str):
        text, whole = whole[0].strip(), None  # a sentence in quotation marks is a sentence
    if whole is not None:
        return _of_document(whole[0], criterion, "strict")
    bare = _without_reasoning(text)
    if bare is None:
        return Numbers((), "none")
    fenced = _FENCE.match(bare)
    bare = fenced.group(1).strip() if fenced else bare.strip()
    whole = _loaded(bare) or (_loaded(bare.replace("'", '"')) if '"' not in bare and bare[:1] == "{" else None)
    if whole is not None:
        return _of_document(whole[0], criterion, "repaired")
    documents = _objects(bare)
    if documents:
        found = [value for document in documents for value in _of_document(document, criterion, "repaired").candidates]
        form: Form = "none" if not found else "repaired" if len(set(found)) == 1 else "ambiguous"
        return Numbers(tuple(found), form)
    values = _in_prose(bare, criterion)
    return Numbers(values, "prose" if values else "none")


def is_negated(reply: str) -> bool:
    """Whether a number of the reply follows a negation."""
    text = _UNSEEN.sub("", reply).lower()
    return any(_NEGATED.search(text[max(0, m.start() - 40) : m.start()]) for m in _NUMBERS.finditer(text))


def _without_reasoning(text: str) -> str | None:
    """Return what follows closed reasoning; None where reasoning is never closed, so that nothing was answered."""
    opened, closed = text.rfind("<think>"), text.rfind("</think>")
    if opened > closed:
        return None
    return text[closed + len("</think>") :] if closed >= 0 else text


class _Pairs(list[tuple[str, Any]]):
    """An object's pairs as they were written: a key that occurs twice is not silently one."""


def _loaded(text: str) -> tuple[Any] | None:
    """Return a JSON document in a tuple (null is a document, too), None where the text is none."""
    if not text or text[0] not in '{["-0123456789':
        return None
    try:
        return (_DECODER.decode(text),)
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> list[Any]:
    """Return the JSON objects in a text, one behind the other."""
    out: list[Any] = []
    place = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if place < 0:
            break
        try:
            document, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            out.append(document)
        place = text.find("{", end)
    return out


def _no_number(text: str) -> None:
    """Read NaN and Infinity, which JSON does not have, as no number."""
    del text


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_Pairs, parse_int=float, parse_float=float, parse_constant=_no_number
)


def _of_document(document: Any, criterion: str, form: Form) -> Numbers:
    leaves = list(_leaves(document))
    wanted = criterion.casefold()
    chosen, is_named = leaves, True
    if any(isinstance(part, _Pairs) for part in (document, *(document if isinstance(document, list) else ()))):
        own = [leaf for leaf in leaves if wanted and wanted in (leaf[0], leaf[0].rsplit("|", 1)[-1])]
        named = [leaf for leaf in leaves if leaf[0] in _KEYS]
        chosen = own or named or (leaves if not wanted else [])
        is_named = bool(own or named)  # a lone number under some other key is taken, but not as what was asked for
    values = tuple(value for _, value, _ in chosen)
    if not values:
        return Numbers((), "none")
    if len(set(values)) > 1:
        return Numbers(values, "ambiguous")
    is_clean = is_named and all(is_number for _, _, is_number in chosen)
    return Numbers(values, form if is_clean else "repaired")


def _leaves(document: Any) -> list[tuple[str, float, bool]]:
    """Return the numbers of a document with the key that each stands under, and whether it was one or a text."""
    out: list[tuple[str, float, bool]] = []
    stack: list[tuple[str, Any]] = [("", document)]
    while stack:
        key, value = stack.pop()
        if isinstance(value, _Pairs):
            stack.extend((str(name).casefold().strip(), part) for name, part in reversed(value))
        elif isinstance(value, list):
            stack.extend((key, part) for part in reversed(value))
        elif isinstance(value, float):
            if math.isfinite(value):
                out.append((key, value, True))
        elif isinstance(value, str) and (match := _NUMBERS.fullmatch(value.strip())):
            number = float(match.group().replace("−", "-"))
            if math.isfinite(number):
                out.append((key, number, False))
    return out


def _in_prose(text: str, criterion: str) -> tuple[float, ...]:
    if criterion:
        behind = re.compile(
            rf"(?<!\w){re.escape(criterion)}(?!\w)[\s\"'*:=–—|()]{{0,12}}({_NUMBER})", re.IGNORECASE | re.ASCII
        )
        if own := [match.group(1) for match in behind.finditer(text)]:
            return _finite(own)
    return _finite([match.group() for match in _NUMBERS.finditer(text)])


def _finite(texts: Sequence[str]) -> tuple[float, ...]:
    found = (float(text.replace("−", "-")) for text in texts)
    return tuple(value for value in found if math.isfinite(value))
