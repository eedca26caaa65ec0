"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from measurand.result import MeasurandError

#: Where a record has the hashes of the files that were written with it.
FILES: Final = "files"


@contextlib.contextmanager
def in_place_of(out: Path) -> Iterator[Path]:
    """Give a temporary folder that takes the place of `out` if the block succeeds and vanishes if it fails."""
    made: list[Path] = []
    temporary: Path | None = None
    aside: Path | None = None
    try:
        parent = out.absolute().parent
        while not parent.exists():
            made.append(parent)
            parent = parent.parent
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.absolute().parent))
        temporary.chmod(0o755)
        yield temporary
        if out.exists():
            aside = temporary.with_name(f"{temporary.name}-old")
            out.replace(aside)
        temporary.replace(out)
        if aside is not None:
            # The new run is in its place; what may be left of the old one is no reason to fail.
            shutil.rmtree(aside, ignore_errors=True)
    except BaseException as error:
        if aside is not None and aside.exists() and not out.exists():
            aside.replace(out)
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise MeasurandError(f"{out} cannot be written: {disk_reason(error)}; nothing was left behind") from error
        raise


def disk_reason(error: OSError) -> str:
    """Return why writing failed, in words that say what to do."""
    reasons = {
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the file would be larger than this system allows",
        errno.EACCES: "no permission to write there",
        errno.EPERM: "no permission to write there",
        errno.EROFS: "that file system is read-only",
    }
    return reasons.get(error.errno or 0, error.strerror or str(error))


def write_file(path: Path, write: Callable[[Path], None]) -> None:
    """Write one file under a temporary name and move it into place when it is whole.

    Raises
    ------
    MeasurandError
        If it cannot be written; nothing is left behind, and an earlier file stays as it was.
    """
    temporary = path.with_name(f".{path.name}.part")
    made = [folder for folder in path.absolute().parents if not folder.exists()]
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if isinstance(error, OSError):
            raise MeasurandError(f"{path} cannot be written: {disk_reason(error)}; nothing was left behind") from error
        raise


def refuse_to_replace(paths: Sequence[Path], record: Path) -> None:
    """Refuse to write over files that a record of earlier files does not know as they are, before any work is done.

    Parameters
    ----------
    paths : sequence of Path
        The files that are to be written.
    record : Path
        The JSON file that `write_recorded` writes with them; it may be absent.

    Raises
    ------
    MeasurandError
        If one of them, or the record, is there and is not what was written with the record.
    """
    known = _recorded(record)
    if record.exists() and known is None:
        raise MeasurandError(_NOT_OURS.format(path=record))
    for path in paths:
        if path.is_dir():
            raise MeasurandError(f"{path} is a folder; give another name as --out")
        if path.exists() and (known or {}).get(path.name) != hashed(path):
            raise MeasurandError(_NOT_OURS.format(path=path))


_NOT_OURS: Final = (
    "{path} is there already and is not what an earlier simulation wrote, so that it is not replaced; move it away, or "
    "give another --out"
)


def write_recorded(
    files: Mapping[Path, Callable[[Path], None]],
    record: Path,
    document: Mapping[str, Any],
    *,
    ensure_ascii: bool = True,
) -> None:
    """Write files, and a record with their hashes, by which they are known as ours when they are made again.

    Parameters
    ----------
    files : mapping
        File to what writes it.
    record : Path
        The JSON file that is written last.
    document : mapping
        What else it says (JSON values).
    ensure_ascii : bool
        Whether the record spells other characters as escapes.

    Raises
    ------
    MeasurandError
        As `refuse_to_replace`, and if a file cannot be written.
    """
    refuse_to_replace(list(files), record)
    for path, write in files.items():
        write_file(path, write)
    told = {**document, FILES: {path.name: hashed(path) for path in files}}
    text = json.dumps(told, indent=1, ensure_ascii=ensure_ascii) + "\n"
    write_file(record, lambda path: _write_text(path, text))


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _recorded(record: Path) -> Mapping[str, str] | None:
    """Return the hashes of a record by file name; None where it is no such record."""
    try:
        document = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = document.get(FILES) if isinstance(document, dict) else None
    return known if isinstance(known, dict) else None


def hashed(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
