"""Which weights and which configuration: hashes of what the files hold, wherever they lie."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from measurand.eliciting.system import System

#: Names of a blob in a hub cache that are the SHA-256 of its content.
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
#: Names of weight files, those that transformers takes first standing first.
_WEIGHTS: Final = (re.compile(r"model[^/]*\.safetensors"), re.compile(r"pytorch_model[^/]*\.bin"))
_INDEX: Final = "model.safetensors.index.json"
_CONFIG: Final = ("config.json", "generation_config.json")


def weights_digest(system: System) -> str:
    """Return one SHA-256 over the contents of a model's weight files.

    Parameters
    ----------
    system : System
        Its folder, or hub name and revision; its GGUF file.

    Returns
    -------
    str
        The same for the same files in a folder, in a hub cache, and at the hub before they are fetched; blank where
        there are none.

    Notes
    -----
    Files of a folder are read in pieces. In a hub cache large files are named by the SHA-256 of their content, and the
    hub itself names it, so that nothing is read or fetched.
    """
    folder = _folder(system)
    here = {} if folder is None else {path.name: path for path in sorted(folder.iterdir()) if path.is_file()}
    wanted = _chosen(here, system.gguf)
    if wanted and (Path(system.model).is_dir() or _is_whole(here, wanted, system.gguf)):
        return _combined({name: _sha256(here[name]) for name in wanted})
    return "" if Path(system.model).is_dir() else _combined(_at_the_hub(system))


def config_digest(system: System) -> str:
    """Return one SHA-256 over a model's configuration files; blank for a GGUF file, which holds its own."""
    folder = _folder(system)
    if system.gguf or folder is None:
        return ""
    return _combined({name: _sha256(folder / name) for name in _CONFIG if (folder / name).is_file()})


def _folder(system: System) -> Path | None:
    """Return the model's folder, or that of the hub cache; None where there is none yet."""
    if (folder := Path(system.model)).is_dir():
        return folder
    from huggingface_hub import try_to_load_from_cache

    name = system.gguf or "config.json"
    found = try_to_load_from_cache(system.model, name, revision=system.revision or None)
    return Path(found).parent if isinstance(found, str) else None


def _chosen(names: Iterable[str], gguf: str) -> list[str]:
    there = sorted(names)
    if gguf:
        return [name for name in there if name == gguf]
    return next((found for one in _WEIGHTS if (found := [name for name in there if one.fullmatch(name)])), [])


def _is_whole(here: Mapping[str, Path], wanted: Iterable[str], gguf: str) -> bool:
    """Whether a hub cache holds all the weight files, not only those that were fetched before it was broken off."""
    if gguf or _INDEX not in here:
        return True
    parts = json.loads(here[_INDEX].read_text(encoding="utf-8"))["weight_map"].values()
    return set(parts) <= set(wanted)


def _at_the_hub(system: System) -> dict[str, str]:
    from huggingface_hub import HfApi

    told = HfApi().model_info(system.model, revision=system.revision or None, files_metadata=True)
    files = {file.rfilename: file for file in told.siblings or ()}
    wanted = _chosen(files, system.gguf)
    return {name: str(lfs.sha256) for name in wanted if (lfs := files[name].lfs) is not None}


def _sha256(path: Path) -> str:
    blob = path.resolve()
    if path.is_symlink() and _SHA256.fullmatch(blob.name):
        return blob.name
    with blob.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _combined(digests: Mapping[str, str]) -> str:
    told = "\n".join(f"{digest}  {name}" for name, digest in sorted(digests.items()))
    return hashlib.sha256(told.encode()).hexdigest() if digests else ""
