"""What the engines said: an append-only file, found by content, that survives kills, full disks and power cuts.

The file has one JSON record a line, and each line ends with a checksum of what stands before it. Replies are kept as
they came; what they mean is derived from them again and again, so that a wrong parse is never kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from measurand.eliciting.store_lines import (
    HEAD,
    KEY,
    begins_a_store,
    fault_of,
    from_line,
    is_plain,
    json_value,
    to_line,
)
from measurand.eliciting.store_lock import locked
from measurand.folders import disk_reason
from measurand.result import MeasurandError

#: The file in a store's folder, and the one that its writer locks.
FILE: Final = "answers.jsonl"
LOCK: Final = "answers.lock"

#: The kind of a record that is no answer: it is asked again.
FAILURE: Final = "failure"

#: Most records, and longest time in seconds between two of them, that the disk itself may not have seen yet.
SYNC_RECORDS: Final = 256
SYNC_SECONDS: Final = 1.0

_PIECE: Final = 4096


def key_of(parts: Mapping[str, Any]) -> str:
    """Return the key of an answer: a hash of everything that determines it.

    Parameters
    ----------
    parts : mapping of str to JSON values
        What determines the answer. The order of a mapping makes no difference; 1, 1.0 and True are three values.

    Returns
    -------
    str
        SHA-256 of the canonical JSON (sorted names, no spaces, ASCII, floats in their shortest exact form), 64
        hexadecimal digits.

    Raises
    ------
    MeasurandError
        If a value is no JSON value, NaN and infinities among them, or a name is no text.

    Examples
    --------
    >>> key_of({"model": "m", "revision": "1"}) == key_of({"revision": "1", "model": "m"})
    True
    >>> key_of({"model": "m"})[:12]
    '548f58d1c36c'
    """
    # Most parts are as JSON has them: a look is faster than a copy.
    value = parts if is_plain(parts) else json_value(parts, "", is_spelled=False)
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")).hexdigest()


class Store:
    """A folder with answers: one process writes, any number read at the same time.

    Make it with `Store.open`, and use it in a `with` block.

    Parameters
    ----------
    folder : Path
        The folder.
    is_writer : bool
        Whether records can be appended.

    Attributes
    ----------
    healed : int
        Bytes of a torn last line that the writer cut off at opening; 0 for readers, which skip it.
    n_repeated : int
        Lines that answer what an earlier line has answered (files that were joined); the first one counts.

    Notes
    -----
    A record is written by one call and has then left the process: a kill loses at most the record that was just being
    written. Only a power cut can lose more, and at most the last `SYNC_RECORDS` records or those of `SYNC_SECONDS`: the
    disk is waited for when either has passed since it was last, at the next record, and by `sync` and `close`.
    Memory holds the keys and where their lines begin, not the records.
    On Windows a byte of the lock file is locked in place of the file; both locks end with the process.
    """

    def __init__(self, folder: Path, *, is_writer: bool) -> None:
        self.folder = folder
        self.path = folder / FILE
        self.is_writer = is_writer
        self.healed = 0
        self.n_repeated = 0
        self._index: dict[bytes, int] = {}
        self._failures: list[int] = []
        self._end = 0
        self._n_lines = 0
        self._unsynced = 0
        self._synced = time.monotonic()
        self._guard = threading.Lock()
        self._file: int | None = None
        self._lock: int | None = None

    @classmethod
    def open(cls, folder: str | Path, *, is_writer: bool) -> Self:
        """Open a store and read where its records are.

        Parameters
        ----------
        folder : path
            The store's folder; a writer makes it where it is absent.
        is_writer : bool
            Whether records are to be appended. There can be one writer at a time.

        Raises
        ------
        MeasurandError
            If another process writes there, a line before the last is damaged, the file is no store, there is none to
            read, or the system refuses.

        Examples
        --------
        >>> import tempfile
        >>> folder, key = tempfile.TemporaryDirectory(), key_of({"item": "i1"})
        >>> with Store.open(folder.name, is_writer=True) as store:
        ...     store.append({"key": key, "kind": "reading", "low": [-0.1, float("-inf")]})
        >>> with Store.open(folder.name, is_writer=False) as store:
        ...     store.get(key)["low"]
        [-0.1, -inf]
        >>> folder.cleanup()
        """
        store = cls(Path(folder), is_writer=is_writer)
        try:
            store._open()
        except BaseException as error:
            store._release()
            if isinstance(error, OSError):
                raise MeasurandError(f"{store.path} cannot be opened: {disk_reason(error)}") from error
            raise
        return store

    def _open(self) -> None:
        binary: int = getattr(os, "O_BINARY", 0)
        if not self.is_writer:
            if not self.path.is_file():
                raise MeasurandError(f"{self.folder} has no {FILE}: nothing has been asked there yet; name its folder")
            self._file = os.open(self.path, os.O_RDONLY | binary)
            self._scan()
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise MeasurandError(f"{self.folder} is not a folder, so that no answers can be kept in it; name another")
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = locked(self.folder / LOCK)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | binary, 0o644)
        self._scan()
        size = os.fstat(self._file).st_size
        if size > self._end:
            if self._end == 0 and not begins_a_store(os.read(self._file, 8)):
                raise MeasurandError(f"{self.path} is no store of answers; name another folder, or move that file away")
            os.ftruncate(self._file, self._end)
            self.healed = size - self._end
        os.fsync(self._file)
        if sys.platform != "win32":
            # A new file is only there after a power cut if its folder's entry is.
            entry = os.open(self.folder, os.O_RDONLY)
            try:
                os.fsync(entry)
            finally:
                os.close(entry)

    def _scan(self) -> int:
        """Index the whole lines behind those that are known, and return how many there are."""
        before = self._n_lines
        torn = ""
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(self._end)
            for line in file:
                if torn:
                    raise self._damaged(torn)
                # What a writer adds meanwhile is looked at the next time.
                if not line.endswith(b"\n") or self._end + len(line) > size:
                    break
                torn = fault_of(line)
                if not torn:
                    self._enter(line, self._end)
        return self._n_lines - before

    def _enter(self, line: bytes, start: int) -> None:
        head = HEAD.match(line)
        if head is None or head[2].decode() == FAILURE:
            self._failures.append(start)
        elif self._index.setdefault(bytes.fromhex(head[1].decode()), start) != start:
            self.n_repeated += 1
        self._n_lines += 1
        self._end = start + len(line)

    def _damaged(self, fault: str) -> MeasurandError:
        number = self._n_lines + 1
        return MeasurandError(
            f"{self.path}: line {number} (from byte {self._end}) is damaged: {fault}. Put a whole copy of the file in "
            f"its place, or delete that line alone (sed -i '{number}d' '{self.path}'): its answer is then asked again"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for the disk and let the next writer in. Closing twice does no harm."""
        try:
            if self.is_writer and self._file is not None:
                self.sync()
        finally:
            self._release()

    def _release(self) -> None:
        for file in (self._file, self._lock):
            if file is not None:
                os.close(file)
        self._file = self._lock = None

    def __len__(self) -> int:
        return len(self._index)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and KEY.fullmatch(key) is not None and bytes.fromhex(key) in self._index

    def keys(self) -> Iterator[str]:
        """Give the keys that have an answer, in the order of the file."""
        return (key.hex() for key in self._index)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the record of an answer as it was appended (tuples as lists), or None; failures are no answers."""
        if key not in self:
            return None
        return self._record(self._index[bytes.fromhex(key)], key)

    def records(self, keys: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Give the records of some answers in the order asked.

        Raises
        ------
        MeasurandError
            If a key has no answer.
        """
        for key in keys:
            record = self.get(key)
            if record is None:
                raise MeasurandError(f"{self.path} has no answer under the key {key!r}; ask first whether it is there")
            yield record

    def failures(self) -> Iterator[dict[str, Any]]:
        """Give the records of requests that got no answer, in the order of the file."""
        return (self._record(start, "") for start in list(self._failures))

    def refresh(self) -> int:
        """Index what the writer has added since, and return how many records that are (0 for the writer itself)."""
        if self.is_writer:
            return 0
        self._opened()
        with self._guard:
            return self._scan()

    def _record(self, start: int, key: str) -> dict[str, Any]:
        with self._guard:
            file = self._opened()
            os.lseek(file, start, os.SEEK_SET)
            line = b""
            while b"\n" not in line:
                piece = os.read(file, max(_PIECE, len(line)))
                if not piece:
                    break
                line += piece
        line = line[: line.find(b"\n") + 1]
        if (fault := fault_of(line)) or (key and line[8:72].decode() != key):
            raise MeasurandError(
                f"{self.path} was changed from byte {start} on while it was open: {fault or 'another answer is there'}."
                " Start again, and let nothing but measurand write to it"
            )
        return from_line(line)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record; when this returns, no kill of the process can lose it.

        Parameters
        ----------
        record : mapping
            JSON values, with `key` (of `key_of`), `kind` (``reading``, ``reply``, ``proof``, ``failure``; small
            letters and underscores) and whatever else. Infinite numbers and NaN are allowed. A failure is no answer:
            there may be several under one key, and an answer after them.

        Raises
        ------
        MeasurandError
            If the key has an answer, the record is none, the store was opened to read, or the disk is full; the file is
            then as it was before.
        """
        line = to_line(record)
        if not self.is_writer:
            raise MeasurandError(f"{self.path} was opened to read; open it with is_writer=True to add answers")
        with self._guard:
            file = self._opened()
            if record["kind"] != FAILURE and record["key"] in self:
                raise MeasurandError(
                    f"{self.path} has an answer under {record['key']} already; it is never overwritten"
                )
            start = self._end
            try:
                rest = memoryview(line)
                while rest:
                    rest = rest[os.write(file, rest) :]
                self._enter(line, start)
            except BaseException as error:
                if self._undone(start, len(line)) and self._end == start:
                    self._enter(line, start)
                if isinstance(error, OSError):
                    raise MeasurandError(
                        f"{self.path} cannot be written: {disk_reason(error)}. All {len(self)} answers before are "
                        "kept: make room and start again"
                    ) from error
                raise
            self._unsynced += 1
            if self._unsynced >= SYNC_RECORDS or time.monotonic() - self._synced >= SYNC_SECONDS:
                self._sync()

    def _undone(self, start: int, n: int) -> bool:
        """Cut off a line that was written in part; say whether it was written in whole, and then keep it."""
        file = self._opened()
        try:
            if os.fstat(file).st_size == start + n:
                return True
            os.ftruncate(file, start)
        except OSError:
            # The next writer heals it; this one must not write behind a torn line.
            self._release()
        return False

    def sync(self) -> None:
        """Wait until everything appended is on the disk.

        Raises
        ------
        MeasurandError
            If the disk reports an error; nothing more can then be appended.
        """
        with self._guard:
            self._opened()
            self._sync()

    def _sync(self) -> None:
        if self._unsynced:
            try:
                os.fsync(self._opened())
            except OSError as error:
                lost = self._unsynced
                # A second try would say that all is well, although what the first one lost stays lost.
                self._release()
                raise MeasurandError(
                    f"{self.path}: the disk did not take the last {lost} records: {disk_reason(error)}. Start again; "
                    "what is missing is asked again"
                ) from error
        self._unsynced, self._synced = 0, time.monotonic()

    def _opened(self) -> int:
        if self._file is None:
            raise MeasurandError(f"{self.path} is closed; open the store again")
        return self._file
