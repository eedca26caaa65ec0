"""The demo study as a folder: the study file, drawn faces, simulated ratings, and models that ship with the package."""

from __future__ import annotations

import importlib.util
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from measurand.folders import in_place_of, write_file
from measurand.result import MeasurandError
from measurand.study import sha256, version

#: What the demo writes, and where it is known by.
STUDY: Final = "study.toml"
MARKER: Final = "demo.json"
_SCHEMA: Final = "measurand/demo/1"

#: The one seed of the demo's faces and raters. The model's training drew its faces from 20260 to 20263 and its raters
#: from 2026 and 20263, so that nobody here was there.
SEED: Final = 7
N_ITEMS: Final = 78
N_PERSONS: Final = 26
N_RATERS: Final = 8

#: Models that ship as they are, and those that are made of one of them and an adapter.
WHOLE: Final = ("pocket", "early", "blind")
ADAPTED: Final[Mapping[str, tuple[str, str]]] = {
    "early-tuned": ("early", "yes_no"),
    "early-permuted": ("early", "permuted"),
    "pocket-ratings": ("pocket", "ratings"),
}
#: Which of the models the regression heads look through.
_SEES: Final = "pocket"
HEADS: Final = "heads.csv"

#: The same folder without the models, and with the answers that they gave.
STORED: Final = "stored.zip"

_HERE: Final = Path(__file__).parent
_NEEDED: Final = ("torch", "transformers", "safetensors")
#: Where the study's own steps go, beside what the demo writes (`[study] out`).
_RUN: Final = "run"

Told = Callable[[str], None]


def lacks() -> list[str]:
    """Return which packages that asking the models needs are not installed."""
    return [name for name in _NEEDED if importlib.util.find_spec(name) is None]


def unpack(out: Path, *, stored: bool = False, told: Told = lambda _: None) -> Path:
    """Write the demo study into a folder, whole or not at all; one that is there and unchanged is left as it is.

    Parameters
    ----------
    out : Path
        The folder: absent, empty, or one that the demo wrote.
    stored : bool
        Whether to write the answers that came with the package in place of the models that give them.
    told : callable
        Told of what takes time.

    Returns
    -------
    Path
        The study file.

    Raises
    ------
    MeasurandError
        If the folder holds something else, one of its files was changed, or it cannot be written; without `stored`, if
        the extra ``local`` is not installed.

    Notes
    -----
    The folder has ``study.toml``, ``items.csv`` and ``images/``, ``ratings.csv`` (what a study needs), ``heads.csv``
    (answers of regressions), ``models/``; and, for a look, ``truth.csv`` (the drawn intensities),
    ``ratings.truth.json`` (what is true of each rater), ``faces.json`` and two contact sheets. ``demo.json`` has the
    SHA-256 of each. Faces and raters are drawn anew from the seed; those beside stored answers are the ones that were
    asked about, to the byte.
    """
    kind = "stored" if stored else "asked"
    if _is_there(out, kind):
        return out / STUDY
    with in_place_of(out) as folder:
        if stored:
            with zipfile.ZipFile(_HERE / STORED) as archive:
                archive.extractall(folder)
        else:
            _make(folder, told)
        document = {"schema": _SCHEMA, "measurand": version(), "kind": kind, "files": dict(_hashes(folder))}
        (folder / MARKER).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8", newline="\n")
    return out / STUDY


def _make(folder: Path, told: Told) -> None:
    """Draw faces, simulate raters, put the models together, and fit the regression heads."""
    from measurand.data import Scale
    from measurand.demo.heads import regression_answers
    from measurand.demo.merging import merged
    from measurand.simulate import simulate_faces, simulate_raters
    from measurand.study import write_table

    if absent := lacks():
        raise MeasurandError(
            f"the demo's models need {', '.join(absent)}, which is not installed; pip install 'measurand[local]'"
        )
    told("drawing faces")
    faces = simulate_faces(n_items=N_ITEMS, n_persons=N_PERSONS, seed=SEED, held_out=0, out=folder)
    made = simulate_raters(faces, n_raters=N_RATERS, raters_per_item=N_RATERS, seed=SEED)
    write_file(folder / "ratings.csv", lambda path: write_table(made.ratings, path, "ratings.csv"))
    _write_text(folder / "ratings.truth.json", json.dumps(made.truth, indent=1) + "\n")
    shutil.copyfile(_HERE / STUDY, folder / STUDY)
    told("putting the models together")
    models = folder / "models"
    for name in WHOLE:
        shutil.copytree(_HERE / "models" / name, models / name, copy_function=shutil.copyfile)
    for name, (base, adapter) in ADAPTED.items():
        merged(models / base, _HERE / "adapters" / adapter, models / name)
    told("fitting regressions on what the pocket model sees")
    heads = regression_answers(
        models / _SEES,
        faces,
        made.ratings,
        folder=folder,
        scale=Scale(0, 7, step=1),
        seed=SEED,
    )
    write_file(folder / HEADS, lambda path: write_table(heads, path, HEADS))


def _is_there(out: Path, kind: str) -> bool:
    """Say whether the folder is the demo's and whole; refuse what the demo may not replace.

    Raises
    ------
    MeasurandError
        If it holds something else, or a file of the demo that was changed.
    """
    if not out.name or out.name == "..":
        raise MeasurandError(f"{out} has no name of its own that the demo could take; give a folder's name as --out")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise MeasurandError(f"{out} is not a folder; give another --out")
    if not out.is_dir() or not any(out.iterdir()):
        return False
    document = _document(out / MARKER)
    if document is None:
        raise MeasurandError(f"{out} holds other files and no earlier demo; give an empty or new folder as --out")
    files: Mapping[str, str] = document["files"]
    foreign = sorted(one.name for one in out.iterdir() if one.name not in {*_tops(files), MARKER, _RUN})
    differs = next((name for name, hashed in files.items() if _sha256(out / name) != hashed), "")
    is_same = (document["kind"], document["measurand"]) == (kind, version())
    if is_same and not differs:
        # Answers that came with the package can't be asked for again.
        return kind == "asked" or (out / _RUN / "elicit").is_dir()
    if differs:
        what = "is not what the demo wrote" if (out / differs).exists() else "is gone"
        raise MeasurandError(
            f"{out / differs} {what}; run your version of the study by `measurand run {out / STUDY}`, or give another "
            "folder as --out"
        )
    if foreign:
        raise MeasurandError(
            f"{out} holds an earlier demo of another kind, and {foreign[0]}, which would be lost with it; move it out "
            "of there, or give another --out"
        )
    return False


def _document(path: Path) -> Mapping[str, Any] | None:
    """Return what a folder says of itself; None if it is not the demo's."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_ours = isinstance(document, dict) and document.get("schema") == _SCHEMA
    keys = {"measurand", "kind", "files"}
    return document if is_ours and keys <= set(document) and isinstance(document["files"], dict) else None


def _tops(files: Mapping[str, str]) -> set[str]:
    return {name.partition("/")[0] for name in files}


def _hashes(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a folder, those of the run aside, with their hashes."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name.partition("/")[0] != _RUN:
            yield name, sha256(path)


def _sha256(path: Path) -> str:
    try:
        return sha256(path)
    except OSError:
        return ""


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
