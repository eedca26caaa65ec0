"""Who may write: one process at a time, by a lock that the operating system ends with the process."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import sys
from pathlib import Path

from measurand.folders import disk_reason
from measurand.result import MeasurandError


def locked(path: Path) -> int:
    """Return the lock file, open and locked, or refuse where another process holds it."""
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        if sys.platform == "win32":
            import msvcrt

            # A locked byte cannot be read, so that it lies far behind the holder's name.
            os.lseek(file, 2**20, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.lseek(file, 0, os.SEEK_SET)
        holder = os.read(file, 256).decode("utf-8", "replace").strip()
        os.close(file)
        raise MeasurandError(
            f"{path.parent} is being written by {holder or 'another process'}; wait until it is done or stop it. Only "
            "one process at a time can add answers, any number can read them"
        ) from error
    except OSError as error:
        os.close(file)
        raise MeasurandError(
            f"{path} cannot be locked: {disk_reason(error)}; put the run on a disk of this machine, where files can be"
        ) from error
    # Only a help for whoever waits: the lock itself ends with the process, whatever stands here.
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        since = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        os.write(file, f"process {os.getpid()} on {platform.node()} since {since}\n".encode())
    return file
