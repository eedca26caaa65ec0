import csv
import datetime
import errno
import hashlib
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import measurand
from measurand import audit, study
from measurand.result import Finding, MeasurandError, Result, Row
from strategies import crossed

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, permissions and limits")

RESULT = Result(
    [
        Row("design", {}, "n_items", 3),
        Row("raters", {"rater": "=HYPERLINK(1)"}, "mean", -1.5, low=-math.inf, high=2.0, unit="item", n_items=3),
        Row("raters", {"rater": "@x"}, "mean", math.nan, undefined="one, two"),
        Row("raters", {"rater": "+1"}, "mean", 1 / 3, note="-1"),
    ],
    {"design": {"criteria": {}}, "raters": {}},
    [Finding("x", "?", "pass", "s")],
)


@pytest.fixture
def write(monkeypatch):
    """Return a function that writes a run with pages that cost nothing, where the folder and not the page matters."""
    from measurand import reporting

    def pages(_result, *, title, reproduce):
        return f"{title} {reproduce}", f"{title} {reproduce}"

    monkeypatch.setattr(reporting, "render_pages", pages)

    def written(out, result=RESULT, inputs=()):
        study.write_run(result, out, title="T", document=document(*inputs))

    return written


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "ratings.csv"
    crossed().to_csv(path, index=False)
    return path


def document(*inputs, **settings):
    return study.manifest(
        inputs, command="measurand audit ratings.csv", settings=settings, started=datetime.datetime.now(datetime.UTC)
    )


def tree(folder):
    """Return every file below a folder with its bytes, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


FILES = {
    "manifest.json",
    "report.html",
    "report.md",
    "results.json",
    "tables",
    "tables/design.csv",
    "tables/raters.csv",
}


# What is written


def test_a_run_folder_holds_everything_and_nothing_else(write, tmp_path):
    write(tmp_path / "run")
    assert set(tree(tmp_path / "run")) == FILES
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run"]
    assert Result.from_json(tmp_path / "run" / "results.json") == RESULT


def test_manifest_says_what_the_run_was_made_from(source):
    made = document(source, seed=7, replicates=100)
    (one,) = made["inputs"]
    assert one["path"] == str(source)
    assert one["bytes"] == source.stat().st_size
    assert one["sha256"] == hashlib.sha256(source.read_bytes()).hexdigest()
    assert made["settings"] == {"seed": 7, "replicates": 100}
    assert made["versions"]["measurand"] == measurand.__version__
    assert made["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert set(made["versions"]) >= {"numpy", "scipy", "pandas", "narwhals", "matplotlib", "jinja2"}
    assert "not installed" not in made["versions"].values()
    started, finished = (datetime.datetime.fromisoformat(made[key]) for key in ("started", "finished"))
    assert started.tzinfo is not None
    assert started <= finished
    json.dumps(made, allow_nan=False)


def test_the_page_shows_what_it_takes_to_make_the_run_again(source):
    shown = study.reproduce(document(source, seed=7))
    assert shown["command"] == "measurand audit ratings.csv"
    assert shown["seed"] == "7"
    assert shown[f"input {source.name}"].endswith(study.sha256(source))
    assert f"measurand {measurand.__version__}" in shown["versions"]


def cells(text):
    return list(csv.reader(io.StringIO(text)))


def test_csv_cells_that_a_spreadsheet_would_run_are_harmless(write, tmp_path):
    write(tmp_path / "run")
    text = (tmp_path / "run" / "tables" / "raters.csv").read_text(encoding="utf-8")
    for line in cells(text):
        for cell in line:
            try:
                float(cell)
            except ValueError:
                assert cell[:1] not in ("=", "+", "-", "@", "\t", "\r"), cell
    assert "'=HYPERLINK(1)" in text
    assert "'@x" in text
    assert not any(cell == "'" for line in cells(text) for cell in line)  # a blank cell is blank
    assert "'-1" in text  # a note, not a number


def test_csv_numbers_are_whole_and_missing_ones_blank(write, tmp_path):
    write(tmp_path / "run")
    head, *lines = cells((tmp_path / "run" / "tables" / "raters.csv").read_text(encoding="utf-8"))
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    assert rows[0]["estimate"] == "-1.5"
    assert rows[0]["low"] == "-inf"
    assert rows[0]["n_items"] == "3"
    assert rows[1]["estimate"] == ""
    assert rows[1]["undefined"] == "one, two"
    assert float(rows[2]["estimate"]) == 1 / 3
    assert len(set(head)) == len(head)


def test_names_of_any_kind_are_written(write, tmp_path):
    odd = Result([Row("raters", {"rater": '日本 "x",\n'}, "mean", 1.0)], {})
    write(tmp_path / "ein Ordner ü", odd)
    text = (tmp_path / "ein Ordner ü" / "tables" / "raters.csv").read_text(encoding="utf-8")
    assert cells(text)[1][1] == '日本 "x",\n'


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are no text")
def test_an_input_whose_name_is_no_text_is_written_down(write, tmp_path):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff.csv"))
    path.write_text("item,rater,rating\na,R1,1\n", encoding="utf-8")
    write(tmp_path / "run", inputs=[path])
    assert set(tree(tmp_path / "run")) == FILES


def test_the_pages_can_be_written_again_byte_for_byte(tmp_path, source):
    result = audit(source, replicates=100, draws=1000)
    out = tmp_path / "run"
    study.write_run(result, out, title="Faces & <people>", document=document(source, seed=0, title="Faces & <people>"))
    before = tree(out)
    for name in ("report.html", "report.md"):
        (out / name).unlink()
    study.report_again(out)
    assert tree(out) == before
    study.report_again(out, title="Another")
    assert "Another" in (out / "report.md").read_text(encoding="utf-8")
    assert tree(out)["results.json"] == before["results.json"]


@pytest.mark.parametrize("name", ["inf", "nan", "-1", "<b>&amp;", "日本"])
def test_the_pages_are_the_same_again_whatever_the_names_are(tmp_path, name):
    frame = crossed().replace({"system": {"S1": name}, "rater": {"R1": name}})
    out = tmp_path / "run"
    study.write_run(audit(frame, replicates=100, draws=1000), out, title="T", document=document(title="T"))
    before = tree(out)
    study.report_again(out)
    assert tree(out) == before


@pytest.mark.parametrize("broken", ["no folder", "no manifest", "another manifest", "no results", "bad results"])
def test_pages_of_what_is_no_run_are_refused(write, tmp_path, broken):
    out = tmp_path / "run"
    if broken != "no folder":
        write(out)
    if broken == "no manifest":
        (out / "manifest.json").unlink()
    if broken == "another manifest":
        (out / "manifest.json").write_text('{"schema": "other"}', encoding="utf-8")
    if broken == "no results":
        (out / "results.json").unlink()
    if broken == "bad results":
        (out / "results.json").write_text(f'{{"schema": "{measurand.result.SCHEMA}"}}', encoding="utf-8")
    before = tree(tmp_path)
    with pytest.raises(MeasurandError):
        study.report_again(out)
    assert tree(tmp_path) == before


# Where it is written


def test_an_earlier_run_is_replaced_whole(write, tmp_path):
    out = tmp_path / "run"
    write(out)
    (out / "tables" / "stale.csv").write_text("x", encoding="utf-8")
    write(out, Result([Row("design", {}, "n_items", 4)], {}))
    assert set(tree(out)) == FILES - {"tables/raters.csv"}
    assert Result.from_json(out / "results.json").value("design", "n_items") == 4
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_an_empty_folder_and_new_parents_are_fine(write, tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    write(tmp_path / "a" / "b" / "c")
    assert set(tree(tmp_path / "empty")) == set(tree(tmp_path / "a" / "b" / "c")) == FILES


def test_the_current_folder_is_written_or_refused_at_once(write, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    try:
        study.check_out(Path())
    except MeasurandError:
        return
    write(Path())
    assert set(tree(tmp_path / "here")) == FILES
    assert [p.name for p in tmp_path.iterdir()] == ["here"]


def foreign(tmp_path, kind):
    out = tmp_path / "out"
    if kind == "file":
        out.write_text("x", encoding="utf-8")
    elif kind == "other files":
        out.mkdir()
        (out / "thesis.tex").write_text("x", encoding="utf-8")
    elif kind == "another manifest":
        out.mkdir()
        (out / "manifest.json").write_text("[1]", encoding="utf-8")
    elif kind == "link":
        (tmp_path / "real").mkdir()
        out.symlink_to(tmp_path / "real")
    elif kind == "dangling link":
        out.symlink_to(tmp_path / "absent")
    elif kind == "below a file":
        (tmp_path / "file").write_text("x", encoding="utf-8")
        out = tmp_path / "file" / "a" / "out"
    return out


KINDS = ["file", "other files", "another manifest", "link", "dangling link", "below a file"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_run_is_never_replaced(write, tmp_path, kind):
    out = foreign(tmp_path, kind)
    before = tree(tmp_path)
    with pytest.raises(MeasurandError, match="--out"):
        study.check_out(out)
    with pytest.raises(MeasurandError, match="--out"):
        write(out)
    assert tree(tmp_path) == before


# All or nothing


def fail_at(monkeypatch, number, error):
    """Let the n-th file of a run fail; its temporary folder holds the others already."""
    plain, calls = Path.write_text, []

    def write_text(path, *args, **kwargs):
        calls.append(path)
        if len(calls) == number:
            path.write_bytes(b"half")
            raise error
        return plain(path, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", write_text)
    return calls


@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "x"), "the disk is full"),
        (OSError(errno.EDQUOT, "x"), "quota"),
        (OSError(errno.EROFS, "x"), "read-only"),
        (PermissionError(errno.EACCES, "x"), "no permission"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
)
def test_a_failure_to_write_leaves_nothing_behind(write, tmp_path, monkeypatch, earlier, number, error, said):
    out = tmp_path / "new" / "parents" / "run"
    if earlier:
        write(out)
    before = tree(tmp_path)
    with monkeypatch.context() as patch:
        calls = fail_at(patch, number, error)
        with pytest.raises(MeasurandError, match=said) as caught:
            write(out)
        assert len(calls) == number
    assert str(out) in str(caught.value)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, ZeroDivisionError])
def test_an_interruption_while_writing_leaves_nothing_behind_and_goes_on(write, tmp_path, monkeypatch, error):
    with monkeypatch.context() as patch:
        fail_at(patch, 2, error())
        with pytest.raises(error):
            write(tmp_path / "new" / "run")
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "x"), KeyboardInterrupt()], ids=["disk", "interruption"])
def test_the_earlier_run_stays_in_its_place_if_the_exchange_fails(write, tmp_path, monkeypatch, number, error):
    out = tmp_path / "run"
    write(out)
    before = tree(tmp_path)
    plain, calls = Path.replace, []

    def replace(path, target):
        calls.append(target)
        if len(calls) == number:
            raise error
        return plain(path, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", replace)
        with pytest.raises((MeasurandError, KeyboardInterrupt)):
            write(out)
    assert len(calls) >= number
    assert tree(tmp_path) == before


def test_an_earlier_run_that_cannot_be_removed_does_not_undo_the_new_one(write, tmp_path, monkeypatch):
    out = tmp_path / "run"
    write(out)
    plain = shutil.rmtree

    def rmtree(path, *args, **kwargs):
        if "old" in Path(path).name and not kwargs.get("ignore_errors") and not args:
            raise PermissionError(errno.EACCES, "x")
        return plain(path, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", rmtree)
        try:
            write(out, Result([Row("design", {}, "n_items", 4)], {}))
        except MeasurandError as error:
            assert "nothing was left behind" not in str(error)  # noqa: PT017
    assert Result.from_json(out / "results.json").value("design", "n_items") == 4


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_refused(write, tmp_path):
    parent = tmp_path / "locked"
    parent.mkdir(mode=0o555)
    with pytest.raises(MeasurandError, match="no permission"):
        write(parent / "new" / "run")
    assert tree(parent) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder in which nobody may write")
def test_a_place_where_nobody_may_write_is_refused(write):
    before = sorted(os.listdir("/proc/self/fd"))
    with pytest.raises(MeasurandError, match=r"/proc/measurand/run cannot be written.*nothing was left behind"):
        write(Path("/proc/measurand/run"))
    assert sorted(os.listdir("/proc/self/fd")) == before  # no file stays open


def test_a_full_file_system_leaves_nothing_behind(write, tmp_path):
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("needs Linux and the right to mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", disk], capture_output=True).returncode:
        pytest.skip("this system does not let a test mount a small file system")
    try:
        with pytest.raises(MeasurandError, match="the disk is full; nothing was left behind"):
            write(disk / "new" / "run", Result([Row("design", {}, f"n_{k}", k) for k in range(2000)], {}))
        assert tree(disk) == {}
    finally:
        subprocess.run(["umount", disk], check=True, capture_output=True)


def test_one_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "one.txt"
    study.write_file(path, lambda part: part.write_text("a", encoding="utf-8"))
    assert path.read_text(encoding="utf-8") == "a"

    def half(part):
        part.write_text("b", encoding="utf-8")
        raise OSError(errno.ENOSPC, "x")

    def interrupted(part):
        part.write_text("b", encoding="utf-8")
        raise KeyboardInterrupt

    with pytest.raises(MeasurandError, match="the disk is full"):
        study.write_file(path, half)
    with pytest.raises(KeyboardInterrupt):
        study.write_file(path, interrupted)
    assert tree(tmp_path) == {"new": None, "new/one.txt": b"a"}


def test_one_file_that_fails_takes_its_new_folders_with_it(tmp_path):
    def half(part):
        part.write_text("b", encoding="utf-8")
        raise OSError(errno.ENOSPC, "x")

    with pytest.raises(MeasurandError):
        study.write_file(tmp_path / "new" / "parents" / "one.txt", half)
    assert tree(tmp_path) == {}


# Whole runs in a process of their own

#: Runs the command line and stops where it is told to, having said so, until a signal comes.
STOPPED = """
import importlib, pathlib, sys, time
from measurand.cli import main
module, name, ready = sys.argv[1:4]
home = importlib.import_module(module)
def stop(*args, **kwargs):
    pathlib.Path(ready).touch()
    for _ in range(6000):  # in short pieces: a signal may reach another thread, and then no long sleep ends for it
        time.sleep(0.01)
setattr(home, name, stop)
sys.argv = ["measurand", *sys.argv[4:]]
main()
"""

#: Runs the command line with a limit on the size of a file.
LIMITED = """
import resource, sys
import measurand.auditing, measurand.reporting
from measurand.cli import main
limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
sys.argv = ["measurand", *sys.argv[2:]]
main()
"""


def start(code, *args):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the run did not get there"
        time.sleep(0.01)


@posix
@pytest.mark.parametrize(
    ("module", "name", "numbers"),
    [
        ("measurand.data", "read_ratings", [signal.SIGINT]),
        ("measurand.auditing.panel", "pairs", [signal.SIGTERM]),
        ("measurand.study", "write_csv", [signal.SIGTERM, signal.SIGINT, signal.SIGTERM]),
    ],
    ids=["reading", "computing", "writing, impatiently"],
)
def test_an_interrupted_run_leaves_nothing_behind(tmp_path, source, module, name, numbers):
    ready, place = tmp_path / "ready", tmp_path / "place"
    place.mkdir()
    options = [source, "--replicates", "100", "--out", place / "new" / "run"]
    process = start(STOPPED, module, name, ready, "audit", *options)
    wait_for(ready.exists, process)
    for number in numbers:
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == "Interrupted: nothing was written."
    assert out == ""
    assert tree(place) == {}


@posix
def test_an_interrupted_run_leaves_the_earlier_one_in_its_place(write, tmp_path, source):
    ready, place = tmp_path / "ready", tmp_path / "place"
    write(place / "run")
    before = tree(place)
    process = start(
        STOPPED, "measurand.study", "write_csv", ready, "audit", source, "--replicates", "100", "--out", place / "run"
    )
    wait_for(ready.exists, process)
    assert any(p.name.startswith(".run-") for p in place.iterdir())  # it was in the middle of writing
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert tree(place) == before


@posix
def test_a_long_computation_ends_at_once_when_asked_to(tmp_path, source):
    process = start(
        "from measurand.cli import main; main()", "audit", source, "--replicates", "2000000", "--out", tmp_path / "run"
    )
    time.sleep(2)  # whatever it is doing by now
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGTERM)  # the latter before Python has read the first line of ours
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]


@posix
def test_a_file_beyond_the_limit_of_the_system_leaves_nothing_behind(tmp_path, source):
    place = tmp_path / "place"
    place.mkdir()
    process = start(LIMITED, 20_000, "audit", source, "--replicates", "100", "--out", place / "new" / "run")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.count("\n") == 1
    assert "cannot be written: the file would be larger than this system allows; nothing was left behind" in err
    assert out == ""
    assert tree(place) == {}


def test_the_same_input_and_seed_give_the_same_bytes_in_every_process(source):
    found = []
    for number, threads in (("1", "1"), ("2", "4")):
        options = ["--scale", "1:5:1", "--level", "ordinal", "--seed", "3", "--replicates", "100", "--json"]
        ended = subprocess.run(
            [sys.executable, "-c", "from measurand.cli import main; main()", "audit", source, *options],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": number, "OMP_NUM_THREADS": threads},
        )
        found.append(ended.stdout)
    assert len(found[0]) > 10_000
    assert found[0] == found[1]


def test_temporary_folders_are_made_beside_the_run_so_that_moving_is_one_step(write, tmp_path, monkeypatch):
    seen = []
    plain = study.write_csv

    def write_csv(result, analysis, path):
        seen.append(path)
        plain(result, analysis, path)

    monkeypatch.setattr(study, "write_csv", write_csv)
    write(tmp_path / "run")
    assert seen
    assert all(path.parent.parent.parent == tmp_path for path in seen)
    assert not any(path.is_relative_to(tmp_path / "run") for path in seen)
    assert not list(Path(tempfile.gettempdir()).glob(".run-*"))
