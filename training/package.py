"""Put trained models where the package has them: `python -m training.package TRAININGS`.

`TRAININGS` holds the folders of the trainings: `pocket` (with its early checkpoint), `blind`, and the adapters. What is
copied, how large it is and what it was trained by stands in `models.json` beside it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from measurand.demo.merging import BASE_DIGEST
from measurand.demo.unpack import ADAPTED
from measurand.folders import in_place_of
from measurand.study import sha256
from training.recipe import Recipe

#: Most bytes of all weights together.
MOST_BYTES: Final = 8_000_000
MODELS: Final = "models.json"
_SCHEMA: Final = "measurand/demo-models/1"

#: Model or adapter of the package to its folder among the trainings.
_MODELS: Final[Mapping[str, str]] = {"pocket": "pocket/model", "early": "pocket/step-250", "blind": "blind/model"}
_ADAPTERS: Final[Mapping[str, str]] = {
    "yes_no": "lora-real",
    "permuted": "lora-permuted",
    "ratings": "lora-ratings",
}
#: What is copied of an adapter's folder.
_OF_ADAPTERS: Final = ("adapter_config.json", "adapter_model.safetensors")
_FIGURES: Final[Mapping[str, str]] = {
    "pocket": "pocket/figures.json",
    "early": "pocket/figures-step-250.json",
    "blind": "blind/figures.json",
}
_INTO: Final = Path(__file__).parents[1] / "src" / "measurand" / "demo"


def package(trainings: Path, into: Path = _INTO) -> Mapping[str, Any]:
    """Copy models, adapters and held-out figures into the package, and return what `models.json` says.

    Parameters
    ----------
    trainings : Path
        The folders of the trainings.
    into : Path
        The package's folder of the demo; `models`, `adapters`, `figures` and `models.json` in it are replaced.

    Raises
    ------
    SystemExit
        If something is absent, an adapter was trained on other weights than those that are packaged, or all weights
        together are larger than 8 MB; nothing is replaced then.
    """
    found = {
        f"models/{name}/{path.name}": path for name, folder in _MODELS.items() for path in _files(trainings, folder)
    }
    for name, folder in _ADAPTERS.items():
        there = {path.name: path for path in _files(trainings, folder)}
        if absent := [one for one in _OF_ADAPTERS if one not in there]:
            raise SystemExit(f"{trainings / folder} has no {absent[0]}; train it by python -m training.adapt")
        found |= {f"adapters/{name}/{one}": there[one] for one in _OF_ADAPTERS}
    for base, adapter in ADAPTED.values():
        _check_base(trainings / _MODELS[base], trainings / _ADAPTERS[adapter])
    sizes = {name: path.stat().st_size for name, path in found.items() if path.suffix == ".safetensors"}
    if (size := sum(sizes.values())) > MOST_BYTES:
        largest = max(sizes, key=sizes.__getitem__)
        raise SystemExit(f"{size:,} bytes of weights, and at most {MOST_BYTES:,} may ship; the largest are {largest}")
    figures = {
        f"figures/{name}.json": trainings / path for name, path in _FIGURES.items() if (trainings / path).is_file()
    }
    if "figures/pocket.json" not in figures:
        raise SystemExit(f"{trainings / _FIGURES['pocket']} is not there; make it by python -m training.evaluate")
    found |= figures
    document = {
        "schema": _SCHEMA,
        "bytes_of_weights": size,
        "files": {name: {"sha256": sha256(path), "bytes": path.stat().st_size} for name, path in found.items()},
        "trainings": {name: _training(trainings / folder) for name, folder in {**_MODELS, **_ADAPTERS}.items()},
    }
    into.mkdir(parents=True, exist_ok=True)
    for part in ("models", "adapters", "figures"):
        with in_place_of(into / part) as made:
            for name, path in found.items():
                if name.partition("/")[0] == part:
                    place = made / name.partition("/")[2]
                    place.parent.mkdir(exist_ok=True)
                    shutil.copyfile(path, place)
                    place.chmod(0o644)
    (into / MODELS).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8", newline="\n")
    return document


def _files(trainings: Path, folder: str) -> list[Path]:
    if not (trainings / folder).is_dir():
        raise SystemExit(f"{trainings / folder} is not there; train it first (training/README.md)")
    return sorted(path for path in (trainings / folder).iterdir() if path.is_file())


def _check_base(base: Path, adapter: Path) -> None:
    from safetensors import safe_open

    with safe_open(adapter / "adapter_model.safetensors", framework="np") as opened:
        digest = (opened.metadata() or {}).get(BASE_DIGEST, "")
    if digest != (there := sha256(base / "model.safetensors")):
        raise SystemExit(
            f"{adapter} was trained on weights {digest[:12]}…, and {base} has {there[:12]}…; train it anew"
        )


def _training(folder: Path) -> Mapping[str, Any]:
    """Return by which settings, on which faces and answers, and under which versions something was trained."""
    recipe = folder / "recipe.json" if (folder / "recipe.json").is_file() else folder.parent / "recipe.json"
    facts = json.loads(recipe.read_text(encoding="utf-8"))
    told = {name: facts[name] for name in ("data_sha256", "versions", "adapter") if name in facts}
    return {"recipe": Recipe(**facts["recipe"]).digest, **told}


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and package."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainings", type=Path, help="folder with the trainings")
    parser.add_argument("--into", type=Path, default=_INTO, help="the package's folder of the demo")
    given = parser.parse_args(arguments)
    document = package(given.trainings, given.into)
    sys.stdout.write(
        f"{document['bytes_of_weights']:,} bytes of weights in {len(document['files'])} files: {given.into}\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
