import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from measurand.eliciting import store as module
from measurand.eliciting.store import FILE, Store
from measurand.result import MeasurandError
from store_files import key, numbers, record, written

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and limits")


# Writers and readers

#: Appends records from a number on, and says each one only when it is written.
WRITER = """
import hashlib, sys
from measurand.eliciting.store import Store
folder, total, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with Store.open(folder, is_writer=True) as store:
    for number in range(total):
        key = hashlib.sha256(str(number).encode()).hexdigest()
        if key not in store:
            store.append({"key": key, "kind": "reply", "number": number, "text": "x" * (number % 700)})
            sys.stdout.write(f"{number}\\n")
            sys.stdout.flush()
    sys.stdout.write("done\\n")
    sys.stdout.flush()
    sys.stdin.readline() if pause else None
"""


def start(folder, total, pause=0):
    command = [sys.executable, "-c", WRITER, str(folder), str(total), str(pause)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@posix
def test_ten_kills_at_random_moments_lose_nothing_acknowledged_and_double_nothing(tmp_path):
    """T72: started again until it is done, the store holds each of 2,000 answers once; no work left is success."""
    chance = np.random.default_rng(5)
    total, said, kills = 2000, set(), 0
    while True:
        process = start(tmp_path, total)
        # Moments are counted in acknowledged records, so that every kill falls into the writing.
        for _ in range(chance.integers(1, 150) if kills < 10 else total + 1):
            line = process.stdout.readline()
            if line.strip() in ("", "done"):
                break
            said.add(int(line))
        if kills == 10:
            assert process.wait(timeout=60) == 0, process.stderr.read()
            break
        time.sleep(chance.random() / 200)
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=60)
        said |= {int(line) for line in rest.split("\n")[:-1] if line != "done"}
        kills += 1
        found = numbers(tmp_path)
        assert said <= set(found)
        assert len(found) == len(set(found))
    process.communicate()
    assert numbers(tmp_path) == sorted(range(total))
    assert (tmp_path / FILE).read_bytes().count(b"\n") == total
    again = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path), str(total), "0"], capture_output=True)
    assert (again.returncode, again.stdout) == (0, b"done\n")


@posix
def test_a_second_writer_is_refused_by_name_and_let_in_when_the_first_is_killed(tmp_path):
    process = start(tmp_path, 3, pause=1)
    while process.stdout.readline() != "done\n":
        assert process.poll() is None, process.communicate()
    with pytest.raises(MeasurandError, match=f"written by process {process.pid} on "):
        Store.open(tmp_path, is_writer=True)
    assert numbers(tmp_path) == [0, 1, 2]  # a reader does not wait
    process.kill()
    process.communicate()
    with Store.open(tmp_path, is_writer=True) as store:
        assert len(store) == 3


def test_two_writers_in_one_process_are_refused_as_well(tmp_path):
    with Store.open(tmp_path, is_writer=True) as store:
        with pytest.raises(MeasurandError, match=f"process {os.getpid()} on "):
            Store.open(tmp_path, is_writer=True)
        store.append(record(0))
    written(tmp_path, record(1))
    assert numbers(tmp_path) == [0, 1]


def test_a_damaged_file_does_not_keep_the_lock(tmp_path):
    path = written(tmp_path, record(0), record(1))
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole)
    with pytest.raises(MeasurandError, match="damaged"):
        Store.open(tmp_path, is_writer=True)
    path.write_bytes(whole)
    Store.open(tmp_path, is_writer=True).close()


def test_a_reader_sees_whole_lines_only_while_another_process_writes(tmp_path):
    process = start(tmp_path, 3000)
    while not (tmp_path / FILE).exists():
        assert process.poll() is None, process.communicate()
    threading.Thread(target=process.communicate, daemon=True).start()
    seen = 0
    with Store.open(tmp_path, is_writer=False) as store:
        while True:
            is_over = process.poll() is not None
            store.refresh()
            assert len(store) >= seen
            seen = len(store)
            if seen:
                last = list(store.keys())[-1]
                assert store.get(last)["number"] == seen - 1
            if is_over:
                break
    assert seen == 3000


def test_what_a_writer_adds_while_the_file_is_read_is_taken_up_the_next_time(tmp_path, monkeypatch):
    """Bytes behind the size that a reader found at first may still be changing: another writer may be healing them."""
    path = written(tmp_path, record(0))
    size = path.stat()
    with path.open("ab") as file:
        file.write(module.to_line(record(1)))
    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fstat", lambda _: size)
        store = Store.open(tmp_path, is_writer=False)
        assert list(store.keys()) == [key(0)]
    assert store.refresh() == 1
    assert store.get(key(1))["number"] == 1
    store.close()


# Full disks and other refusals

#: Appends until it is refused, and says what it was told.
LIMITED = """
import hashlib, resource, sys
from measurand.eliciting.store import Store
from measurand.result import MeasurandError
folder, limit = sys.argv[1], int(sys.argv[2])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
with Store.open(folder, is_writer=True) as store:
    try:
        for number in range(100_000):
            store.append({"key": hashlib.sha256(str(number).encode()).hexdigest(), "kind": "reply", "number": number})
    except MeasurandError as error:
        sys.stdout.write(f"{number} {error}")
"""


@posix
def test_a_limit_on_the_files_size_leaves_the_file_whole(tmp_path):
    """The limit falls into the middle of a line: what was written of it is taken back."""
    ended = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path), "20000"], capture_output=True, text=True)
    number = int(ended.stdout.split()[0])
    assert number > 50
    assert "the file would be larger than this system allows" in ended.stdout
    assert (tmp_path / FILE).read_bytes().endswith(b"}\n")
    assert numbers(tmp_path) == list(range(number))
    with Store.open(tmp_path, is_writer=True) as store:
        assert store.healed == 0
        store.append(record(number))


def test_a_full_disk_leaves_the_file_whole(tmp_path):
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs Linux and the right to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
        pytest.skip("this system does not let a test mount a small file system")
    try:
        ended = subprocess.run([sys.executable, "-c", LIMITED, str(disk), "0"], capture_output=True, text=True)
        assert "the disk is full" in ended.stdout
        assert numbers(disk) == list(range(int(ended.stdout.split()[0])))
    finally:
        subprocess.run(["umount", disk], check=True, capture_output=True)


def broken_write(monkeypatch, part, error):
    """Let the next write put down a part of the line and the one after it fail."""
    plain, calls = os.write, []

    def write(file, data):
        calls.append(len(data))
        if len(calls) == 1:
            return plain(file, bytes(data)[:part]) if part else write(file, data)
        raise error

    monkeypatch.setattr(module.os, "write", write)


@pytest.mark.parametrize("part", [0, 1, 50])
@pytest.mark.parametrize(
    "error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()], ids=["disk", "Ctrl-C"]
)
def test_a_line_that_is_written_in_part_is_taken_back_and_the_store_goes_on(tmp_path, monkeypatch, part, error):
    with Store.open(tmp_path, is_writer=True) as store:
        store.append(record(0))
        before = store.path.read_bytes()
        with monkeypatch.context() as patch:
            broken_write(patch, part, error)
            with pytest.raises((MeasurandError, KeyboardInterrupt)):
                store.append(record(1))
        assert store.path.read_bytes() == before
        assert key(1) not in store
        store.append(record(1))
    assert numbers(tmp_path) == [0, 1]


def test_an_interruption_behind_the_last_byte_keeps_the_answer(tmp_path, monkeypatch):
    with Store.open(tmp_path, is_writer=True) as store:
        with monkeypatch.context() as patch:
            broken_write(patch, 10**6, KeyboardInterrupt())
            plain = module.os.write

            def write(file, data):
                plain(file, data)
                raise KeyboardInterrupt

            patch.setattr(module.os, "write", write)
            with pytest.raises(KeyboardInterrupt):
                store.append(record(0))
        assert store.get(key(0))["number"] == 0
        store.append(record(1))
    assert numbers(tmp_path) == [0, 1]


def test_a_line_that_cannot_be_taken_back_ends_the_writing_and_is_healed_later(tmp_path, monkeypatch):
    store = Store.open(tmp_path, is_writer=True)
    store.append(record(0))
    with monkeypatch.context() as patch:
        broken_write(patch, 20, OSError(errno.EIO, "x"))
        patch.setattr(module.os, "ftruncate", lambda *_: (_ for _ in ()).throw(OSError(errno.EIO, "x")))
        with pytest.raises(MeasurandError, match="cannot be written"):
            store.append(record(1))
    with pytest.raises(MeasurandError, match="closed"):
        store.append(record(1))
    with Store.open(tmp_path, is_writer=True) as again:
        assert (len(again), again.healed) == (1, 20)


# The disk


def test_the_disk_is_waited_for_after_so_many_records_or_so_long_and_at_the_end(tmp_path, monkeypatch):
    synced, now = [], [0.0]
    with Store.open(tmp_path, is_writer=True) as store:
        monkeypatch.setattr(module.os, "fsync", lambda _: synced.append(len(store)))
        monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
        store._synced = 0.0
        for number in range(module.SYNC_RECORDS + 10):
            store.append(record(number))
        assert synced == [module.SYNC_RECORDS]
        now[0] += module.SYNC_SECONDS
        store.append(record(-1))
        assert synced[1:] == [module.SYNC_RECORDS + 11]
        store.append(record(-2))
        store.sync()
        store.sync()
        assert synced[2:] == [module.SYNC_RECORDS + 12]
        store.append(record(-3))
    assert len(synced) == 4


def test_a_disk_that_reports_an_error_ends_the_writing(tmp_path, monkeypatch):
    store = Store.open(tmp_path, is_writer=True)
    store.append(record(0))
    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
        with pytest.raises(MeasurandError, match="did not take the last 1 records"):
            store.sync()
    with pytest.raises(MeasurandError, match="closed"):
        store.append(record(1))


def test_a_hundred_thousand_answers_open_in_seconds_and_in_little_memory(tmp_path):
    """Memory holds where the lines begin and not the lines: 10^5 of 1,000 bytes take far less than their 100 MB."""
    import tracemalloc

    n = 100_000
    with (tmp_path / FILE).open("wb") as file:
        for number in range(n):
            file.write(module.to_line({"key": key(number), "kind": "reading", "text": "x" * 850}))
    assert (tmp_path / FILE).stat().st_size > 900 * n
    started = time.process_time()
    with Store.open(tmp_path, is_writer=True) as store:
        assert time.process_time() - started < 5
        assert len(store) == n
        assert len(store.get(key(n - 1))["text"]) == 850
    tracemalloc.start()
    with Store.open(tmp_path, is_writer=False) as store:
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(store) == n
    assert held < 300 * n
