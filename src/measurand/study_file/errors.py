"""What is wrong with a study file, in sentences: where, what was found, what is allowed, what was probably meant."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel, ValidationError

from measurand.data.faults import TableError
from measurand.data.marks import MARKS
from measurand.result import MeasurandError
from measurand.study_file.cells import looks_secret

#: More problems than this are counted and not listed.
MOST_LISTED: Final = 10

_EXPECTED: Final = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "finite_number": "a finite number",
}
_TUPLE: Final = re.compile(r"\('[^()]*',?\)")


class StudyFileError(MeasurandError):
    """A study file that can't be used, with everything that is wrong with it.

    Parameters
    ----------
    path : Path
        The file.
    problems : sequence of str
        One sentence each.

    Attributes
    ----------
    problems : tuple of str
        All of them; the message lists the first ten, one a line.
    """

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        """The message, a line each."""
        if len(self.problems) == 1:
            return (f"{self.path}: {self.problems[0]}",)
        listed = [f"  {problem}" for problem in self.problems[:MOST_LISTED]]
        if more := len(self.problems) - MOST_LISTED:
            listed += [f"  and {more} more"] if more > 0 else []
        return (f"{self.path}: {len(self.problems)} things are wrong", *listed)


def in_study(error: MeasurandError) -> str:
    r"""Return what is wrong with a table, in words that name keys of the study file.

    Examples
    --------
    >>> from measurand.data.faults import Setting
    >>> rater = Setting("rater", "Anna M.")
    >>> in_study(TableError(f"no column 'rater'; name it, {rater}", rater))
    'no column \'rater\'; name it, [data] columns = { rater = "Anna M." }'
    """
    if not isinstance(error, TableError):
        return str(error)
    words = {}
    for one in error.settings:
        value = f'"{one.value}"' if isinstance(one.value, str) and one.value else "…"
        if one.name in ("item", "system", "rater", "rating", "criterion", "occasion", "label", "group"):
            words[one] = f"[data] columns = {{ {one.name} = {value} }}"
        elif one.name in MARKS:
            words[one] = f"[data] {one.name} = {f'[{value}]' if one.name == 'missing' else value}"
    return error.said(words)


def read_toml(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the content of a TOML file, and its bytes.

    Raises
    ------
    MeasurandError
        If there is no such file, it can't be read, is not UTF-8, or no TOML: with line and column.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise MeasurandError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise MeasurandError(f"{path} is a folder; give the study file in it") from error
    except OSError as error:
        raise MeasurandError(f"{path}: cannot be read ({error.strerror or error})") from error
    try:
        # A byte order mark is what some editors put before UTF-8.
        return tomllib.loads(data.decode("utf-8-sig")), data
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise StudyFileError(path, [f"line {line} is not UTF-8; save the file as UTF-8"]) from error
    except tomllib.TOMLDecodeError as error:
        # Names of tables come as Python tuples: ('data',).
        spelled = _TUPLE.sub(lambda found: f"[{'.'.join(_quoted(found[0]))}]", str(error))
        reason = spelled[:1].lower() + spelled[1:]
        raise StudyFileError(path, [f"is no TOML: {reason}"]) from error
    except RecursionError as error:
        raise StudyFileError(path, ["is nested too deeply"]) from error


def problems_of(error: ValidationError, document: Mapping[str, Any], model: type[BaseModel]) -> list[str]:
    """Return what a validation found, one sentence for each place, in the order of the file's keys.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    document : mapping
        The file's content.
    model : type
        The model that it was held against.
    """
    found: dict[str, list[str]] = {}
    for one in error.errors(include_url=False):
        loc = one["loc"]
        where = path_in(document, loc, is_absent=one["type"] == "missing")
        sentence = _sentence(one, loc, model, where)
        known = found.setdefault(where, [])
        if sentence not in known:
            known.append(sentence)
    # Of a value with several forms the one that it comes closest to is told, not that it is none of the others.
    told = {
        where: sentences
        for where, sentences in found.items()
        if not any(other.startswith((f"{where}.", f"{where}[")) for other in found)
        or not all("; expected " in one for one in sentences)
    }
    return [f"{where} {_merged(sentences)}" if where else _merged(sentences) for where, sentences in told.items()]


def _merged(sentences: Sequence[str]) -> str:
    """Return alternatives of one value as one sentence: what was found once, all that is allowed, one hint."""
    # Where one form of a value got as far as being understood, what the others are is no news.
    sentences = [one for one in sentences if "; expected " not in one] or sentences
    parts = [one.partition("; expected ") for one in sentences]
    if len(sentences) == 1 or len({head for head, _, _ in parts}) > 1 or not all(found for _, found, _ in parts):
        return ", and ".join(sentences)
    allowed = [rest.partition("; did you mean") for _, _, rest in parts]
    hint = next((f"; did you mean{tail}" for _, found, tail in allowed if found), "")
    return f"{parts[0][0]}; expected {_any_of([one for one, _, _ in allowed])}{hint}"


def _any_of(alternatives: Sequence[str]) -> str:
    """Return alternatives as one; lists of quoted names become one list."""
    if not all(re.fullmatch(r"('[^']*'(, | or )?)+", one) for one in alternatives):
        return " or ".join(alternatives)
    names = [f"'{name}'" for one in alternatives for name in _quoted(one)]
    return " or ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def path_in(document: Any, loc: Sequence[str | int], *, is_absent: bool = False) -> str:
    """Return a place as TOML writes it, tables and values counted from 1: ``system[2].model``.

    Parts that the document does not have (names of alternatives) are left out, and so is what lies below them.

    Examples
    --------
    >>> path_in({"system": [{"model": 3}]}, ("system", 0, "model", "str"))
    'system[1].model'
    """
    text, here = "", document
    for i, part in enumerate(loc):
        if isinstance(here, list) and isinstance(part, int) and part < len(here):
            text, here = f"{text}[{part + 1}]", here[part]
        elif isinstance(here, dict) and part in here:
            text, here = f"{text}.{_key(str(part))}" if text else _key(str(part)), here[part]
        elif is_absent and i == len(loc) - 1:
            text = f"{text}.{_key(str(part))}" if text else _key(str(part))
    return text


def _key(text: str) -> str:
    is_bare = text.isascii() and text.replace("-", "_").replace("_", "a").isalnum()
    return text if is_bare else repr(text)


def _sentence(one: Mapping[str, Any], loc: Sequence[str | int], model: type[BaseModel], where: str) -> str:
    kind, value, context = one["type"], one["input"], one.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(loc[-1]), loc[:-1], model)
    if kind == "missing":
        header, _ = _header(loc, model)
        return f"is missing; begin it with {header}" if header else "is missing"
    if kind == "value_error":
        return str(context["error"])
    name = where.rpartition(".")[2]
    found = shown(value, is_secret=name == "url" or looks_secret(name, value))
    if kind == "literal_error":
        return f"is {found}; expected {context['expected']}{_close(value, _quoted(context['expected']))}"
    if kind == "union_tag_invalid":
        return f"has kind {shown(context['tag'])}; expected {context['expected_tags']}"
    if kind == "union_tag_not_found":
        return "has no kind; give verification, generative, choice, scale or text"
    if kind in ("list_type", "model_type", "model_attributes_type"):
        header, hint = _header(loc, model)
        if header.startswith("[["):
            return f"is {found}; expected tables that begin with {header}{hint}"
    if kind in _EXPECTED:
        return f"is {found}; expected {_EXPECTED[kind]}"
    bounds = {"greater_than_equal": ("at least", "ge"), "greater_than": ("more than", "gt")}
    bounds |= {"less_than_equal": ("at most", "le"), "less_than": ("less than", "lt")}
    if kind in bounds:
        words, key = bounds[kind]
        return f"is {found}; expected a number of {words} {context[key]:,}"
    if kind == "too_short":
        return f"is an empty list; expected at least {context['min_length']}"
    if kind == "string_pattern_mismatch":
        return f"is {found}; expected a text of the form {context['pattern']}"
    return f"is {found}: {one['msg'][:1].lower()}{one['msg'][1:]}"


def shown(value: Any, *, is_secret: bool = False) -> str:
    """Return a value of the file as a message shows it: short, and never a secret."""
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list):
        return "a list"
    if is_secret:
        return "a value that is not shown here"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…{text[-1]}"


def _quoted(expected: str) -> list[str]:
    return expected.split("'")[1::2]


def _close(value: Any, allowed: Iterable[str]) -> str:
    return did_you_mean(value, allowed) if isinstance(value, str) else ""


def did_you_mean(name: str, allowed: Iterable[str]) -> str:
    """Return a hint at the name that was probably meant, blank where none is near."""
    near = difflib.get_close_matches(name, list(allowed), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _unknown(name: str, above: Sequence[str | int], model: type[BaseModel]) -> str:
    """Return what to say about a key that its table does not have."""
    places = _places(model)
    allowed = sorted({key for one in _models_at(model, above) for key in one.model_fields})
    if hint := did_you_mean(name, allowed):
        return f"is no key of this table{hint}"
    if "key" in name.lower() and "api_key_env" in allowed:
        return "is no key of this table; a key stays in the environment: name its variable in api_key_env"
    if elsewhere := places.get(name) or places.get(
        next(iter(difflib.get_close_matches(name, places, n=1, cutoff=0.8)), "")
    ):
        return f"is no key of this table; it belongs to {elsewhere}"
    return f"is no key of this table; allowed are {', '.join(allowed)}"


def _models_at(model: type[BaseModel], loc: Sequence[str | int]) -> list[type[BaseModel]]:
    """Return the tables that may stand at a place."""
    here = [model]
    for part in loc:
        if not isinstance(part, str):
            continue
        if below := [found for one in here if part in one.model_fields for found in _models_in(one, part)]:
            here = below
        else:
            # The tag of an alternative; the name of a criterion or another free key changes nothing.
            here = [one for one in here if part in (one.__name__, _tag(one))] or here
    return here


def _header(loc: Sequence[str | int], model: type[BaseModel]) -> tuple[str, str]:
    """Return how tables of a place begin, blank for what is no table, and a hint at a key that is like the place's."""
    names = [part for part in loc if isinstance(part, str)]
    # What alternatives are called ends the place of an element.
    while names and not any(names[-1] in one.model_fields for one in _models_at(model, names[:-1])):
        names.pop()
    if not names:
        return "", ""
    above = [one for one in _models_at(model, names[:-1]) if names[-1] in one.model_fields]
    if not any(_models_in(one, names[-1]) for one in above):
        return "", ""
    path = ".".join(names)
    is_array = any(get_origin(one.model_fields[names[-1]].annotation) is list for one in above)
    plural = f"{names[-1]}s"
    hint = f"; did you mean {plural!r}?" if any(plural in one.model_fields for one in above) else ""
    return (f"[[{path}]]", hint) if is_array else (f"[{path}]", "")


def _tag(model: type[BaseModel]) -> str:
    kind = model.model_fields.get("kind")
    return "" if kind is None else str(kind.default)


def _models_in(model: type[BaseModel], name: str) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    pending: list[Any] = [model.model_fields[name].annotation]
    while pending:
        one = pending.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            found.append(one)
        pending += get_args(one)
    return found


def _places(model: type[BaseModel], prefix: str = "") -> dict[str, str]:
    """Return for each key the first table that has it."""
    out: dict[str, str] = {}
    for name in model.model_fields:
        for below in _models_in(model, name):
            path = f"{prefix}{name}"
            for key in below.model_fields:
                out.setdefault(key, f"[{path}]")
            for key, place in _places(below, f"{path}.").items():
                out.setdefault(key, place)
    return out
