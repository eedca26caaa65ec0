"""A finished run is held against its manifest, its pages against its numbers, and its numbers against new ones."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from command_line import runner
from measurand.result import MeasurandError
from measurand.study_running import run as run_study
from measurand.study_verifying import _into, verify
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


def test_a_run_that_cannot_be_computed_again_says_why_in_readable_lines_beside_the_other_checks(made, run):
    path = made / "audit" / "manifest.json"
    path.write_text(path.read_text().replace("--replicates 100", "--replicates 100 --target 5"))
    done = run("verify", "audit")
    assert done.status == 1
    assert "✗ differs      numbers: cannot be computed again: " in done.out
    assert "\\n" not in done.out
    assert "✓ same         tables" in done.out


@pytest.mark.usefixtures("made")
def test_a_command_whose_refusal_has_several_lines_is_shown_without_escapes(run, monkeypatch):
    def fails(_arguments):
        raise MeasurandError("first\nsecond")

    monkeypatch.setattr("measurand.cli_verifying._compute", fails)
    assert "cannot be computed again: first; second" in run("verify", "audit").out


@pytest.fixture
def sample(tmp_path, run, monkeypatch):
    """Return a drawn sample, in the folder in which it was drawn."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("item,text\n" + "".join(f"i{i},text {i}\n" for i in range(6)))
    drawn = ("--layout", "crossed", "--raters", "2", "--items-per-rater", "3", "--systems", "A,B")
    assert run("plan", "--items", "items.csv", "--draw", "pilot", *drawn).status == 0
    return tmp_path / "pilot"


def fill(folder, value):
    for path in (folder / "sheets").iterdir():
        head, *rows = path.read_text().splitlines()
        path.write_text("\n".join([head, *(f"{row}{value}" for row in rows)]) + "\n")


def test_a_drawn_sample_is_held_against_its_protocol_before_and_after_it_is_filled_in(sample, run):
    found = states(run("verify", "pilot", "--json"))
    assert found == dict.fromkeys(("key", "sheets", "inputs"), "same")
    fill(sample, "3")
    assert "sheets: 2 of 2 filled in, in the rows that were handed out" in run("verify", "pilot").out
    assert run("plan", "--collect", "pilot").status == 0
    assert states(run("verify", "pilot", "--json"))["ratings"] == "same"


def test_a_sample_that_was_tampered_with_is_told(sample, run):
    fill(sample, "3")
    assert run("plan", "--collect", "pilot").status == 0
    path = sample / "ratings.csv"
    path.write_text(path.read_text().replace(",3,", ",4,", 1))
    done = run("verify", "pilot")
    assert done.status == 1
    assert "ratings: 1 of 12 ratings in ratings.csv are not those of the sheets" in done.out
    (sample.parent / "items.csv").write_text("item\nother\n")
    assert states(run("verify", "pilot", "--json"))["inputs"] == "differs"
    sheet = sample / "sheets" / "R1.csv"
    sheet.write_text(sheet.read_text().replace("i", "j"))
    assert states(run("verify", "pilot", "--json"))["sheets"] == "differs"
    (sample / "key.csv").write_text("mine")
    assert run("verify", "pilot").status == 1


def test_a_plan_that_also_drew_a_sample_can_be_computed_again(finished, run, monkeypatch):
    monkeypatch.chdir(finished)
    (finished / "items.csv").write_text("item,text\n" + "".join(f"new{i},x\n" for i in range(300)))
    run(*PANEL, "--component", "residual=1", "--component", "system=1", "--out", "panel.csv")
    drawn = ("--layout", "crossed", "--raters", "2", "--items-per-rater", "3")
    made = run("plan", "panel.csv", "--items", "items.csv", "--draw", "pilot", *drawn, "--out", "plan")
    assert made.status == 0, made.err
    assert states(run("verify", "plan", "--json"))["numbers"] == "same"
    # What the sample was drawn from is not needed for the numbers, and no second sample is drawn.
    (finished / "items.csv").unlink()
    before = sorted(finished.rglob("*"))
    assert states(run("verify", "plan", "--json"))["numbers"] == "same"
    assert sorted(finished.rglob("*")) == before


def test_what_is_computed_again_writes_in_our_place_alone_and_draws_nothing():
    typed = ["plan", "r.csv", "--items", "i.csv", "--delimiter", "i.csv=;", "--missing=i.csv=x", "--rated-again"]
    typed += ["--draw=pilot", "--decimal", "r.csv=,", "--raters=3", "--out", "old", "--target", "0.7", "--json"]
    again = ["plan", "--out", "new", "--quiet", "r.csv", "--decimal", "r.csv=,", "--target", "0.7"]
    assert _into(typed, Path("new")) == again
    assert _into(["audit", "r.csv", "--outputs", "o.csv", "--out=x", "--", "y"], Path("new")) == [
        "audit", "--out", "new", "--quiet", "r.csv", "--outputs", "o.csv", "--", "y",
    ]  # fmt: skip


def forge(made, **changed):
    path = made / "audit" / "manifest.json"
    document = json.loads(path.read_text()) | changed
    path.write_text(json.dumps(document))


def test_where_nothing_was_hashed_nothing_counts_as_the_same(made, run):
    forge(made, outputs={}, inputs=[])
    found = states(run("verify", "audit", "--json", "--no-numbers"))
    assert (found["files"], found["inputs"]) == ("not checked", "not checked")
    forge(made, outputs={"report.md": hashlib.sha256((made / "audit" / "report.md").read_bytes()).hexdigest()})
    assert "results.json is none of the files whose hashes" in run("verify", "audit", "--no-numbers").out


def test_numbers_are_computed_again_whatever_else_a_manifest_says(made, run):
    forge(made, made_from={"x": "y"})
    assert states(run("verify", "audit", "--json"))["numbers"] == "same"
    forge(made, inputs=[])
    done = run("verify", "audit")
    assert done.status == 1
    assert "computed again it reads ratings.csv, of which manifest.json says nothing" in done.out
    forge(made, command="measurand audit 'ratings.csv")
    assert states(run("verify", "audit", "--json"))["numbers"] == "not checked"


def test_a_table_that_no_result_has_is_named(made, run):
    (made / "audit" / "tables" / "extra.csv").write_text("a,b\n1,2\n")
    assert "tables: tables/extra.csv is no table of results.json" in run("verify", "audit", "--no-numbers").out
