"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measurand.result import MeasurandError


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
