"""What a step of a study was made from, so that one whose inputs did not change is not made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from measurand.result import MeasurandError
from measurand.sentences import listed
from measurand.study import MANIFEST, OUTPUTS, PAGE, sha256, version
from measurand.study_file import StudyFile

#: Where a manifest says what its step was made from.
MADE_FROM: Final = "made_from"
#: Settings of a system that say how it is asked, and determine no answer.
_OF_ASKING: Final = ("api_key_env", "concurrency", "timeout_s", "tries", "requests_per_minute")
_WEIGHTS: Final = "weights of "
_MOST_NAMED: Final = 4


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, whatever the order of its keys.

    Examples
    --------
    >>> digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def asked_from(study: StudyFile, *, part: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return what the asking of a study is made from, by name: hashes, so that a change can be told by its name.

    Parameters
    ----------
    study : StudyFile
        A study file that was read.
    part : mapping or None
        What was asked of it, where it was a part alone.

    Returns
    -------
    dict
        The items (ids, texts, contents of pictures), criteria, scale, seed, everything that is asked, and every system:
        its settings, and the files of its model where that is a folder that is here. Neither where the study lies, nor
        its title, scores, audits, nor how fast a server is asked.
    """
    resolved = study.resolved()
    items = study.items
    pictures = {path: sha256(path) for path in dict.fromkeys(items.pictures) if path is not None}
    shown = [
        [name, text, "" if path is None else pictures[path]]
        for name, text, path in zip(items.names, items.texts, items.pictures, strict=True)
    ]
    found = {
        "measurand": version(),
        "items": digest(shown),
        "criteria": digest(list(study.criteria)),
        "scale": digest(resolved["scale"]),
        "what is asked": digest(resolved["elicit"]),
        "seed": str(study.seed),
    }
    for system, table in zip(study.systems, study.tables.system, strict=True):
        settings = {name: value for name, value in asdict(system).items() if name not in _OF_ASKING}
        # Where the model's folder lies says nothing about it: what is in it does.
        settings["model"] = table.model or system.model
        found[f"system {system.name}"] = digest(settings)
        folder = Path(system.model)
        if system.engine == "transformers" and folder.is_dir():
            files = {path.name: sha256(path) for path in sorted(folder.iterdir()) if path.is_file()}
            found[f"{_WEIGHTS}{system.name}"] = digest(files)
    if part is not None and any(part.values()):
        found["part"] = digest(dict(part))
    return found


def changed(folder: Path, made_from: Mapping[str, str]) -> str:
    """Return why a step has to be made, in words; blank where it is there and nothing that it is made from changed.

    Parameters
    ----------
    folder : Path
        The step's folder.
    made_from : mapping of str to str
        What it would be made from now.

    Notes
    -----
    A model whose folder is not here can't have changed: answers that came without it stay what they are.
    """
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        before, outputs = document[MADE_FROM], document[OUTPUTS]
        if not (folder / PAGE).is_file():
            return f"{PAGE} is not there"
        for name, hashed in outputs.items():
            if not (folder / name).is_file() or sha256(folder / name) != hashed:
                return f"{name} is not what was written"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "not made yet"
    here = dict(made_from) | {
        name: before[name] for name in before if name.startswith(_WEIGHTS) and name not in made_from
    }
    differ = [name for name in dict.fromkeys([*here, *before]) if here.get(name) != before.get(name)]
    return f"{listed(differ, most=_MOST_NAMED)} changed" if differ else ""


def hashes(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the hash of each file under the name that it has in the study, as a part of what a step is made from.

    Raises
    ------
    MeasurandError
        If one of them cannot be read.
    """
    try:
        return {name: sha256(path) for name, path in files.items()}
    except OSError as error:
        raise MeasurandError(f"{error.filename}: cannot be read ({error.strerror or error})") from error
