"""Ratings from replies that are nearly JSON: a code fence, words around the object, Python's spelling; each by name."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

Pairs = list[tuple[str, Any]]

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_KEY: Final = re.compile(r"'([^'\\\r\n]*)'|\"([^\"\\\r\n]*)\"")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class NotJson(ValueError):  # noqa: N818 (a finding, told apart from every other ValueError)
    """A text that is no JSON, with where and why."""


class Repaired(NamedTuple):
    """What was found in a reply that is not JSON as it stands."""

    pairs: Pairs
    repairs: tuple[str, ...]


class Object(NamedTuple):
    """A JSON object as its pairs, duplicate keys and all."""

    pairs: Pairs


def parse(text: str) -> Any:
    """Return a JSON value, objects as `Object`, every number as a float.

    Parameters
    ----------
    text : str
        The whole text; white space around it is allowed.

    Raises
    ------
    NotJson
        Whatever is wrong with it, NaN and Infinity included, which JSON does not have.

    Examples
    --------
    >>> parse('{"awe": 3, "awe": 4}')
    Object(pairs=[('awe', 3.0), ('awe', 4.0)])
    """
    try:
        return json.loads(
            text.strip(), object_pairs_hook=Object, parse_constant=_refuse, parse_int=float, parse_float=float
        )
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg.lower()} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise NotJson("nested too deeply") from error


def strip_fence(text: str) -> str:
    r"""Return a text without a code fence's line at its start and at its end.

    Examples
    --------
    >>> strip_fence("```json\n{}\n```")
    '{}'
    """
    text = text.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2]
    head, _, last = text.rpartition("\n")
    if last.strip() == "```":
        text = head
    return text.strip()


def repair(text: str) -> Repaired | None:
    """Return the ratings of a reply that is not JSON as it stands, if they can be read in one way only.

    Parameters
    ----------
    text : str
        A reply that `parse` refuses.

    Returns
    -------
    Repaired or None
        The pairs and what was repaired: ``code fence``, ``words around the object``, ``single quotes``, ``trailing
        comma``. None if that does not make it an object: two objects, an object that is not closed, comments, words
        in place of numbers are not repaired. No character between the braces is changed but these quotes and this
        comma, and nothing is added.

    Examples
    --------
    >>> repair("Here you are: {'awe': 3,}").repairs
    ('words around the object', 'single quotes', 'trailing comma')
    """
    repairs: list[str] = []
    body = strip_fence(text)
    if body != text.strip():
        repairs.append("code fence")
    start, end = body.find("{"), body.rfind("}")
    if start < 0 or end < start:
        return None
    if around := body[:start] + body[end + 1 :]:
        if set(around) & set("[]{}"):
            return None
        repairs.append("words around the object")
        body = body[start : end + 1]
    try:
        found = parse(body)
    except NotJson:
        spelled = _python_pairs(body)
        return None if spelled is None else Repaired(spelled.pairs, (*repairs, *spelled.repairs))
    return Repaired(found.pairs, tuple(repairs)) if isinstance(found, Object) and repairs else None


def _python_pairs(body: str) -> Repaired | None:
    """Return the pairs of a flat dictionary of texts to numbers as Python spells it.

    It is read by its own grammar and not by Python's parser: nothing is evaluated, and nothing deep can be nested.
    """
    pairs: Pairs = []
    single = trailing = False
    at = _skip(body, 1)
    while body[at] != "}":
        key = _KEY.match(body, at)
        if key is None:
            return None
        single = single or key[1] is not None
        at = _skip(body, key.end())
        if body[at] != ":":
            return None
        number = _NUMBER.match(body, _skip(body, at + 1))
        if number is None:
            return None
        pairs.append((key[1] if key[1] is not None else key[2], float(number[0])))
        at = _skip(body, number.end())
        trailing = body[at] == ","
        if trailing:
            at = _skip(body, at + 1)
        elif body[at] != "}":
            return None
    if at != len(body) - 1 or not pairs:
        return None
    named = (("single quotes", single), ("trailing comma", trailing))
    return Repaired(pairs, tuple(name for name, is_there in named if is_there))


def _skip(body: str, at: int) -> int:
    # The body ends with a brace, so that there is always a character here.
    space = _SPACE.match(body, at)
    return at if space is None else min(space.end(), len(body) - 1)


def _refuse(constant: str) -> Any:
    raise NotJson(f"{constant} is no JSON number")
