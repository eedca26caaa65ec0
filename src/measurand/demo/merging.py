"""A model and a low-rank adapter made into one model."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from measurand.folders import in_place_of
from measurand.result import MeasurandError
from measurand.study import sha256

#: The key of an adapter's metadata that holds the SHA-256 of the weights on which it was trained.
BASE_DIGEST: Final = "base_sha256"

_WEIGHTS: Final = "model.safetensors"
_ADAPTER: Final = "adapter_model.safetensors"
_CONFIG: Final = "adapter_config.json"
#: A card tells of the weights beside it; those of the merged model are others.
_CARD: Final = "README.md"

#: How peft names what it adds to a matrix.
_PREFIX: Final = "base_model.model."
_DOWN: Final = ".lora_A.weight"
_UP: Final = ".lora_B.weight"

#: What an adapter must say for the sum to be all of it, where it says anything.
_PLAIN: Final[Mapping[str, tuple[Any, ...]]] = {
    "peft_type": ("LORA",),
    "bias": ("none",),
    "use_dora": (False,),
    "fan_in_fan_out": (False,),
    "modules_to_save": (None, []),
    "rank_pattern": ({},),
    "alpha_pattern": ({},),
}

Arrays = Mapping[str, npt.NDArray[Any]]


def merged(base: Path, adapter: Path, out: Path) -> None:
    """Write a model whose weights are a base model's with an adapter's added, as 16-bit floats.

    Parameters
    ----------
    base : Path
        A model folder with `config.json` and one `model.safetensors`.
    adapter : Path
        A folder with peft's `adapter_config.json` and `adapter_model.safetensors`, of plain LoRA.
    out : Path
        A folder that is absent. It gets everything of the base folder but its card, and is written whole or not at all.

    Raises
    ------
    MeasurandError
        If a file is absent, the adapter is not plain LoRA, names matrices that the base has not or has in other sizes,
        was trained on other weights than the base's (where it says on which), or `out` exists.

    Notes
    -----
    A matrix W of the base becomes W + s B A, with s = alpha / r (alpha / sqrt r where the adapter is rank-stabilised),
    summed in 64 bits and rounded once, so that the same files give the same bytes on any machine.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from safetensors.numpy import load_file, save_file
    >>> settings = {"peft_type": "LORA", "r": 1, "lora_alpha": 2}
    >>> with TemporaryDirectory() as folder:
    ...     base, adapter, out = (Path(folder) / name for name in ("base", "adapter", "out"))
    ...     for one in (base, adapter):
    ...         one.mkdir()
    ...     save_file({"layer.weight": np.eye(2, dtype=np.float16)}, base / "model.safetensors")
    ...     down, up = np.array([[0.0, 1.0]]), np.array([[1.0], [0.0]])
    ...     names = ("base_model.model.layer.lora_A.weight", "base_model.model.layer.lora_B.weight")
    ...     save_file(dict(zip(names, (down, up))), adapter / "adapter_model.safetensors")
    ...     _ = (adapter / "adapter_config.json").write_text(json.dumps(settings))
    ...     merged(base, adapter, out)
    ...     load_file(out / "model.safetensors")["layer.weight"].tolist()
    [[1.0, 2.0], [0.0, 1.0]]
    """
    from safetensors.numpy import save

    if out.exists():
        raise MeasurandError(f"{out} exists; name a folder for the merged model that does not")
    scale = _scale(adapter / _CONFIG)
    weights, _ = _read(base / _WEIGHTS)
    added, metadata = _read(adapter / _ADAPTER)
    _check_base(base / _WEIGHTS, adapter, metadata.get(BASE_DIGEST, ""))
    summed = {**weights, **_sums(weights, added, scale, base=base, adapter=adapter)}
    with in_place_of(out) as folder:
        for file in sorted(base.iterdir()):
            if file.is_file() and file.name not in (_WEIGHTS, _CARD):
                shutil.copyfile(file, folder / file.name)
        small = {name: value.astype(np.float16) for name, value in sorted(summed.items())}
        (folder / _WEIGHTS).write_bytes(save(small, metadata={"format": "pt"}))


def _scale(config: Path) -> float:
    """Return what the product of an adapter's matrices is multiplied by."""
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        rank, alpha = int(settings["r"]), float(settings["lora_alpha"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MeasurandError(f"{config} can't be read as an adapter's settings ({error})") from error
    for name, allowed in _PLAIN.items():
        if name in settings and settings[name] not in allowed:
            raise MeasurandError(
                f"{config}: {name} is {settings[name]!r}; only {allowed[0]!r} can be merged here, the rest by peft"
            )
    return alpha / (math.sqrt(rank) if settings.get("use_rslora") else rank)


def _read(file: Path) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """Return the arrays of a safetensors file, and its metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as opened:
            names = list(opened.keys())
            return {name: opened.get_tensor(name) for name in names}, opened.metadata() or {}
    except (OSError, SafetensorError, TypeError) as error:
        raise MeasurandError(f"{file} can't be read ({error}); weights must be one file of 16 or 32 bits") from error


def _check_base(weights: Path, adapter: Path, digest: str) -> None:
    if digest and digest != (found := sha256(weights)):
        raise MeasurandError(
            f"{adapter} was trained on weights with SHA-256 {digest[:12]}…, and those of {weights} have {found[:12]}…; "
            "merge it into the model that it was trained on"
        )


def _sums(weights: Arrays, added: Arrays, scale: float, *, base: Path, adapter: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the matrices that the adapter changes."""
    stems = sorted(name.removeprefix(_PREFIX).removesuffix(_DOWN) for name in added if name.endswith(_DOWN))
    pairs = {stem: (f"{_PREFIX}{stem}{_DOWN}", f"{_PREFIX}{stem}{_UP}") for stem in stems}
    if odd := sorted(added.keys() ^ {name for pair in pairs.values() for name in pair}):
        raise MeasurandError(f"{adapter}: {odd[0]!r} is not half of a pair of matrices that can be added to weights")
    found: dict[str, npt.NDArray[Any]] = {}
    for stem, (first, second) in pairs.items():
        matrix, down, up = weights.get(f"{stem}.weight"), added[first], added[second]
        if matrix is None or (up.shape, down.shape) != ((matrix.shape[0], len(down)), (len(down), matrix.shape[-1])):
            has = "none" if matrix is None else f"one of {matrix.shape}"
            raise MeasurandError(
                f"{adapter} adds matrices of {up.shape} times {down.shape} to {stem}.weight, and {base} has {has}"
            )
        found[f"{stem}.weight"] = matrix.astype(np.float64) + scale * (up.astype(np.float64) @ down.astype(np.float64))
    return found
