"""`measurand demo`: from stored answers without the engine, live on few faces, killed, and as any other study."""

import json
import shutil
import time

import pytest

from command_line import assert_one_message
from measurand.demo import unpack
from measurand.result import Result
from small_demo import KEPT, LOCAL, ended, small_package, start

STEPS = ("elicit", "score", "audit", "report")


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return small_package(tmp_path_factory.mktemp("package"))


@pytest.fixture(scope="module")
def asked(tmp_path_factory, package):
    """A small demo that nobody disturbed."""
    out = tmp_path_factory.mktemp("asked") / "demo"
    done = ended(start("demo", "--out", out, here=package))
    assert done.returncode == 0, done.stderr
    return out, done


def results(folder):
    return (folder / "run" / "report" / "results.json").read_bytes()


def test_without_the_engine_the_same_study_is_shown_from_stored_answers(tmp_path):
    done = ended(start("demo", "--out", tmp_path / "demo", absent=LOCAL))
    assert done.returncode == 0, done.stderr
    first, *rest = done.stderr.splitlines()
    assert "pip install 'measurand[local]'" in first
    assert "elicit: unchanged" in rest
    assert [line for line in rest if line.endswith("made (not made yet)")] == [
        f"{step}: made (not made yet)" for step in STEPS[1:]
    ]
    found = Result.from_json(tmp_path / "demo" / "run" / "report" / "results.json")
    systems = {row.keys["system"] for row in found.rows if row.analysis == "scores"}
    assert systems == {*unpack.WHOLE, *unpack.ADAPTED, "regression"}
    manifest = json.loads((tmp_path / "demo" / "run" / "elicit" / "manifest.json").read_text(encoding="utf-8"))
    page = (tmp_path / "demo" / "run" / "report" / "report.html").read_text(encoding="utf-8")
    assert f"asked for on {manifest['started'][:10]} by measurand {manifest['versions']['measurand']}" in page
    assert "This is a toy" in page
    again = ended(start("demo", "--out", tmp_path / "demo", "--quiet", "--no-ask"))
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout == done.stdout


def test_the_demo_asks_scores_audits_and_says_where_the_page_is(asked):
    out, done = asked
    assert [line for line in done.stderr.splitlines() if ": made" in line] == [
        f"{step}: made (not made yet)" for step in STEPS
    ]
    assert done.stderr.splitlines()[-1] == f"Report: {out / 'run' / 'report' / 'report.html'}"
    found = Result.from_json(out / "run" / "report" / "results.json")
    arms = {(row.keys["system"], row.keys["readout"]) for row in found.rows if row.analysis == "scores"}
    readouts = ("verification", "generative", "generative_pairs", "binarized")
    assert arms == {(system, one) for system in KEPT for one in readouts} | {("regression", "regression")}
    assert len(done.stdout.splitlines()) < 60


def test_a_study_that_was_copied_runs_to_the_same_bytes(asked, tmp_path):
    """Nothing is special about the demo: `measurand run` on a copy asks everything anew."""
    out, _ = asked
    shutil.copytree(out, tmp_path / "mine", ignore=shutil.ignore_patterns("run", unpack.MARKER))
    done = ended(start("run", tmp_path / "mine" / unpack.STUDY))
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "mine") == results(out)


def test_killed_halfway_and_started_again_it_finishes_with_the_same_bytes(asked, package, tmp_path):
    out, _ = asked
    store = tmp_path / "demo" / "run" / "store" / "answers.jsonl"
    whole = (out / "run" / "store" / "answers.jsonl").read_bytes().count(b"\n")
    process = start("demo", "--out", tmp_path / "demo", here=package)
    until = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < until:
        if store.exists() and store.read_bytes().count(b"\n") > whole // 3:
            break
        time.sleep(0.01)
    process.kill()
    assert ended(process).returncode < 0
    assert whole // 3 < store.read_bytes().count(b"\n") < whole
    done = ended(start("demo", "--out", tmp_path / "demo", here=package))
    assert done.returncode == 0, done.stderr
    assert results(tmp_path / "demo") == results(out)
    # And once more: nothing is left to do.
    again = ended(start("demo", "--out", tmp_path / "demo", here=package))
    assert [line for line in again.stderr.splitlines() if line.endswith(": unchanged")] == [
        f"{step}: unchanged" for step in STEPS
    ]
    assert results(tmp_path / "demo") == results(out)


def test_a_folder_with_something_else_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    done = ended(start("demo", "--out", tmp_path / "mine"))
    assert_one_message(done, "holds other files", "--out")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_a_demo_that_was_changed_is_somebodys_own_study(tmp_path):
    study = unpack.unpack(tmp_path / "demo", stored=True)
    study.write_text(study.read_text(encoding="utf-8").replace("seed = 7", "seed = 8"), encoding="utf-8")
    done = ended(start("demo", "--out", tmp_path / "demo", "--no-ask"))
    assert_one_message(done, "is not what the demo wrote", f"measurand run {study}")
