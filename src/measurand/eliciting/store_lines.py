"""A record of the store as a line: JSON in one form, with numbers that JSON lacks spelled and a checksum at its end."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

from measurand.result import MeasurandError

HEAD: Final = re.compile(rb'\{"key":"([0-9a-f]{64})","kind":"([a-z_]+)"[,}]')
KEY: Final = re.compile("[0-9a-f]{64}")
_KIND: Final = re.compile("[a-z_]+")
#: Texts that a number without a JSON form would be mistaken for; a backslash in front makes them texts again.
_FAR: Final = re.compile(r"\\*(?:-?inf|nan)")
_PLAIN: Final = frozenset({str, int, bool, type(None)})
_N_CHECK: Final = 16
_TAIL: Final = len(',"check":"' + _N_CHECK * "0" + '"}\n')


def to_line(record: Mapping[str, Any]) -> bytes:
    """Return a record's line: key and kind first, the checksum last."""
    key, kind = record.get("key"), record.get("kind")
    if not isinstance(key, str) or not KEY.fullmatch(key):
        raise MeasurandError(f"a record's key is {key!r}; allowed are 64 hexadecimal digits, as key_of makes them")
    if not isinstance(kind, str) or not _KIND.fullmatch(kind):
        raise MeasurandError(f"a record's kind is {kind!r}; allowed are small letters and underscores")
    if "check" in record:
        raise MeasurandError("a record has a field 'check', which is the name of the line's checksum; rename it")
    value = json_value({"key": key, "kind": kind} | dict(record), "", is_spelled=True)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        body = text.encode("utf-8")
    except UnicodeEncodeError:
        # Half a character, as a reply that was cut off may end with, has no UTF-8 form, but an escaped one.
        body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return body[:-1] + f',"check":"{_check(body[:-1])}"}}\n'.encode()


def from_line(line: bytes) -> dict[str, Any]:
    """Return the record of a whole line, its checksum left out."""
    record = json.loads(line)
    del record["check"]
    # Most records hold no such number, and then the walk through them is spared.
    return dict(_numbers(record)) if b'inf"' in line or b'nan"' in line else dict(record)


def _check(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=_N_CHECK // 2).hexdigest()


def fault_of(line: bytes) -> str:
    """Return what is wrong with a whole line, or a blank."""
    if HEAD.match(line) is None:
        return "it does not begin with a key and a kind"
    body, tail = line[:-_TAIL], line[-_TAIL:]
    return "" if tail == f',"check":"{_check(body)}"}}\n'.encode() else "its checksum does not fit its content"


def begins_a_store(found: bytes) -> bool:
    """Say whether a file that holds no whole line can be a store: a torn first line, or the zeros of a power cut."""
    return b'{"key":"'.startswith(found) or not found.strip(b"\0")


def is_plain(value: Any) -> bool:
    """Say whether a value is of plain types alone, so that JSON has it as it is."""
    kind = type(value)
    if kind is dict:
        return all(type(name) is str and is_plain(one) for name, one in value.items())
    if kind is list:
        return all(map(is_plain, value))
    return kind in _PLAIN or (kind is float and math.isfinite(value))


def json_value(value: Any, where: str, *, is_spelled: bool) -> Any:
    """Return a value as JSON has it; numbers that JSON lacks are spelled, or refused."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return f"\\{value}" if is_spelled and _FAR.fullmatch(value) else value
    if isinstance(value, float):
        if math.isfinite(value):
            return float(value)
        if is_spelled:
            return str(float(value))
        raise MeasurandError(f"{where or 'the value'} is {value}, which cannot be part of a key; leave it out")
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise MeasurandError(f"{where or 'the mapping'} has the name {name!r}, which is no text; make it one")
        return {k: json_value(v, f"{where}.{k}" if where else k, is_spelled=is_spelled) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(v, f"{where}[{i}]", is_spelled=is_spelled) for i, v in enumerate(value)]
    raise MeasurandError(
        f"{where or 'the value'} is a {type(value).__name__}, which JSON does not know; give text, numbers, true or "
        "false, null, lists or mappings"
    )


def _numbers(value: Any) -> Any:
    """Undo the spelling of `json_value`."""
    if isinstance(value, str):
        if not _FAR.fullmatch(value):
            return value
        return value[1:] if value.startswith("\\") else float(value)
    if isinstance(value, dict):
        return {name: _numbers(one) for name, one in value.items()}
    return [_numbers(one) for one in value] if isinstance(value, list) else value
