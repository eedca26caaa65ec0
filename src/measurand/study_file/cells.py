"""What tables of the study file are made of: texts, seeds, JSON values without secrets."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, ConfigDict, Field

#: Names of keys, and values, that nobody but their owner may see.
SECRET: Final = re.compile(r"api[_-]?key|secret|password|authorization|bearer|credential|signature", re.IGNORECASE)
KEY: Final = re.compile(r"(sk|pk|hf|ghp|xai|gsk)[-_]\w|Bearer\s", re.IGNORECASE)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("is blank; give a text")
    if any(ord(c) < 32 and c not in "\n\t" for c in value):
        raise ValueError("holds a control character; leave it out")
    return value


def _json(value: Any) -> Any:
    """Return a value of TOML that JSON has, too: dates and times are not among them."""
    if isinstance(value, dict):
        return {key: _json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_json(one) for one in value]
    if isinstance(value, str | int | float | bool):
        return value
    raise ValueError(f"holds a {type(value).__name__}, which JSON has not; write it as text")


def looks_secret(name: str, value: Any) -> bool:
    """Tell whether a key's value is one that must not be shown, hashed or kept: by its name, or by how it begins."""
    return bool(SECRET.search(name)) or (isinstance(value, str) and KEY.match(value) is not None)


def _without_secrets(value: dict[str, Any]) -> dict[str, Any]:
    for key, one in value.items():
        if isinstance(one, dict):
            _without_secrets(one)
        elif isinstance(one, str) and looks_secret(key, one):
            raise ValueError(
                f"holds what looks like a secret under {key!r}; keep it in an environment variable and name that in "
                "api_key_env"
            )
    return value


Name = Annotated[str, BeforeValidator(lambda value: _text(value) if isinstance(value, str) else value)]
JsonTable = Annotated[
    dict[str, Any], BeforeValidator(lambda value: _without_secrets(_json(value)) if isinstance(value, dict) else value)
]
Seed = Annotated[int, Field(ge=0, lt=2**63)]

#: How tables are held against the file: unknown keys are refused, and nothing is turned into another type.
STRICT: Final = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
