"""A finished run is held against its manifest, its pages against its numbers, and its numbers against new ones."""

import json
import shutil

import pytest

from command_line import runner
from measurand.result import MeasurandError
from measurand.study_running import run as run_study
from measurand.study_verifying import verify
from small_study import write

PANEL = ("simulate", "panel", "--items", "12", "--systems", "3", "--raters", "3", "--component", "item=1")
AUDIT = ("audit", "ratings.csv", "--replicates", "100", "--out", "audit", "--title", "A =title")


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a folder with ratings and their audit, once it is made."""
    return tmp_path_factory.mktemp("verify")


@pytest.fixture
def made(finished, tmp_path, run, monkeypatch):
    """Return a copy of it that a test may damage, as the folder in which commands are given."""
    monkeypatch.chdir(finished)
    if not (finished / "audit").is_dir():
        assert run(*PANEL, "--component", "residual=1", "--out", "ratings.csv").status == 0
        assert run(*AUDIT).status == 0
    copy = shutil.copytree(finished, tmp_path / "copy")
    monkeypatch.chdir(copy)
    return copy


def states(done):
    return {check["name"]: check["state"] for check in json.loads(done.out)}


@pytest.mark.usefixtures("made")
def test_an_untouched_run_is_the_same_in_every_respect(run):
    done = run("verify", "audit", "--json")
    assert done.status == 0, done.err
    assert states(done) == dict.fromkeys(("files", "page", "tables", "inputs", "numbers"), "same")


def test_a_number_that_was_changed_is_found_by_its_hash_its_page_and_by_computing_it_again(made, run):
    path = made / "audit" / "results.json"
    path.write_text(path.read_text().replace('"statistic": "g", "estimate": 0.', '"statistic": "g", "estimate": 0.9'))
    done = run("verify", "audit", "--json")
    assert done.status == 1
    assert states(done) == dict.fromkeys(("files", "page", "tables", "numbers"), "differs") | {"inputs": "same"}
    text = run("verify", "audit").out
    assert "results.json is not what was written" in text
    assert "numbers: of generalizability: computed again they are others" in text


def test_a_changed_page_a_changed_table_and_changed_inputs_are_told_apart(made, run):
    (made / "audit" / "report.html").write_text("<p>Better.</p>")
    (made / "audit" / "tables" / "anova.csv").unlink()
    with (made / "ratings.csv").open("a") as file:
        file.write("i13,S1,R1,3\n")
    done = run("verify", "audit", "--json")
    assert done.status == 1
    found = states(done)
    assert found == {
        "files": "same",
        "page": "differs",
        "tables": "differs",
        "inputs": "differs",
        "numbers": "not checked",
    }


def test_inputs_that_are_not_here_are_no_fault(made, run):
    (made / "ratings.csv").unlink()
    done = run("verify", "audit", "--json")
    assert done.status == 0
    assert states(done)["inputs"] == states(done)["numbers"] == "not checked"


def test_a_page_with_a_new_headline_is_still_the_page_of_its_run(made, run):
    assert run("report", "audit", "--title", "Another").status == 0
    assert "Another" in (made / "audit" / "report.md").read_text()
    assert states(run("verify", "audit", "--no-numbers", "--json"))["page"] == "same"
    assert run("report", "audit").status == 0
    assert "Another" in (made / "audit" / "report.md").read_text()


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(MeasurandError, match="no finished run"):
        verify(tmp_path)


def test_the_steps_of_a_study_are_computed_again_from_its_stored_answers(tmp_path):
    out = run_study(write(tmp_path)).folder.parent
    checks = {(check.of, check.name): check.state for check in verify(out)}
    assert set(checks.values()) == {"same"}
    assert {of for of, name in checks if name == "numbers"} == {"score", "audit", "report"}
    path = out / "score" / "results.json"
    path.write_text(path.read_text("utf-8").replace('"estimate": 0.', '"estimate": 0.1', 1), "utf-8")
    found = {(check.of, check.name): check.state for check in verify(out)}
    assert found["score", "numbers"] == found["score", "files"] == "differs"
    assert found["report", "numbers"] == "same"


def test_a_study_whose_answers_went_cannot_be_computed_again_and_asks_nobody(tmp_path):
    out = run_study(write(tmp_path)).folder.parent
    (out / "elicit" / "answers.csv").unlink()
    checks = {(check.of, check.name): check for check in verify(out)}
    assert checks["elicit", "files"].what == "answers.csv is not there"
    assert checks["score", "numbers"].state == "differs"
    assert "asked for again" in checks["score", "numbers"].what
