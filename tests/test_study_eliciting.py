import datetime
import json
import re

import pytest

from eliciting.studies import VERIFY, Played, answers_in, everything, study
from html_page import Page
from measurand import study as module
from measurand.data import read_answers
from measurand.eliciting.declared import Verification
from measurand.eliciting.system import System
from measurand.result import MeasurandError, Result
from measurand.study import MANIFEST, manifest
from measurand.study_eliciting import PROTOCOL, RUN, STORE, run_elicitation


def document():
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    return manifest([], command="measurand elicit study.toml", settings={"seed": 0}, started=now)


def run(design, out, **more):
    """Run a study's asking with engines that are counted; return the run and the engines."""
    engines, told = [], more.pop("told", {})

    def opened(system):
        engines.append(Played(system, **told))
        return engines[-1]

    found = run_elicitation(design, out, title="A study", document=document, replicates=100, opened=opened, **more)
    return found, engines


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("study")
    design = everything(controls=("swapped",), derived=("binarized", "double_centred"), repeats=2)
    return out, *run(design, out)


def test_the_folder_has_tables_cards_numbers_and_a_page(whole):
    out, found, _ = whole
    assert sorted(path.name for path in out.iterdir()) == [RUN, STORE]
    assert found.folder == out / RUN
    assert sorted(path.name for path in found.folder.iterdir()) == sorted(
        [
            "answers.csv",
            "manifest.json",
            "outputs.jsonl",
            PROTOCOL,
            "replies.jsonl",
            "report.html",
            "report.md",
            "results.json",
            "tables",
        ]
    )
    assert found.is_complete


def test_a_notebook_and_a_terminal_show_its_findings_and_where_its_tables_are(whole):
    _, found, _ = whole
    page, said = Page(found._repr_html_()), str(found)
    assert page.faults == []
    assert repr(found) == said
    for text in (page.text, said):
        assert re.match("Answers of systems ?: ", text)
        assert f"folder: {found.folder} (answers.csv, replies.jsonl, outputs.jsonl)" in text
        assert f"page: {found.folder / 'report.html'}" in text
        assert "not complete" not in text


def test_results_come_back_as_they_were_and_no_number_is_hidden(whole):
    _, found, _ = whole
    read = Result.from_json(found.folder / "results.json")
    assert read.to_json() == found.result.to_json()
    analyses = {row.analysis for row in read.rows}
    assert analyses >= {"elicitation", "proofs", "acquiescence", "repeats", "attempts"}
    assert sorted(path.stem for path in (found.folder / "tables").iterdir()) == sorted(analyses)
    document = json.loads((found.folder / "results.json").read_text("utf-8"))
    assert {finding["id"] for finding in document["findings"]} >= {"requests-answered", "acquiescence"}


def test_the_card_is_beside_the_numbers_and_in_them(whole):
    _, found, _ = whole
    card = json.loads((found.folder / PROTOCOL).read_text("utf-8"))
    assert card["schema"] == "measurand/protocol/1"
    results = json.loads((found.folder / "results.json").read_text("utf-8"))
    assert card == next(
        one["settings"]["protocol"] for one in _settings(results) if "protocol" in one.get("settings", {})
    )


def _settings(value):
    """Give every mapping with settings in a JSON document."""
    if isinstance(value, dict):
        if isinstance(value.get("protocol"), dict):
            yield {"settings": value}
        for one in value.values():
            yield from _settings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _settings(one)


def test_the_answers_can_be_read_back(whole):
    _, found, _ = whole
    assert len(read_answers(found.folder / "answers.csv", repeats="first")) == len(answers_in(found.folder)) / 2


def test_the_page_names_the_study_and_its_findings(whole):
    _, found, _ = whole
    page = (found.folder / "report.html").read_text("utf-8")
    assert "A study" in page
    assert "Was every request answered?" in page


def test_a_second_run_asks_nothing_and_replaces_the_folder(tmp_path):
    """T72."""
    first, _ = run(study(), tmp_path)
    before = (first.folder / "answers.csv").read_bytes()
    (first.folder / "answers.csv").write_text("changed")
    second, (engine,) = run(study(), tmp_path)
    assert engine.n_asked == engine.n_proofs == 0
    assert (second.folder / "answers.csv").read_bytes() == before
    assert second.result.to_json() == first.result.to_json()


def test_a_part_can_be_looked_at_without_asking(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(study(), tmp_path, told={"breaks_after": 3})
    assert not (tmp_path / RUN).exists()
    found, (engine,) = run(study(), tmp_path, asks=False)
    assert engine.n_asked == engine.n_proofs == 0
    assert not found.is_complete
    assert found.elicited.n_left == 3
    rows = answers_in(found.folder)
    assert [bool(row["answer"]) for row in rows] == [True] * 3 + [False] * 3
    verdicts = {finding.id: finding.verdict for finding in found.result.findings}
    assert verdicts["requests-answered"] == "fail"
    assert verdicts["first-reply"] == "not_applicable"


def test_nothing_asked_at_all_is_a_run_too(tmp_path):
    found, _ = run(study(), tmp_path, asks=False)
    assert found.elicited.n_left == 6
    assert {row["status"] for row in answers_in(found.folder)} == {"not_returned"}


@pytest.mark.parametrize("where", ["ask", "write"])
def test_an_earlier_run_stays_until_the_new_one_is_whole(tmp_path, monkeypatch, where):
    first, _ = run(study(), tmp_path)
    before = {path.name: path.read_bytes() for path in first.folder.iterdir() if path.is_file()}
    if where == "write":

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(module, "write_csv", full)
    with pytest.raises((MeasurandError, KeyboardInterrupt)):
        run(study(n_items=5), tmp_path, told={"breaks_after": 2 if where == "ask" else None})
    assert {path.name: path.read_bytes() for path in first.folder.iterdir() if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [RUN, STORE]


def test_a_folder_with_something_else_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / RUN).mkdir()
    (tmp_path / RUN / "thesis.tex").write_text("mine")
    with pytest.raises(MeasurandError, match="other files"):
        run(study(), tmp_path)
    assert not (tmp_path / STORE).exists()


def test_the_manifest_says_how_the_run_was_made(tmp_path):
    found, _ = run(study(), tmp_path)
    assert json.loads((found.folder / MANIFEST).read_text("utf-8"))["command"] == "measurand elicit study.toml"


def test_a_system_that_fails_its_test_leaves_a_run_that_says_so(tmp_path):
    design = study(
        Verification([VERIFY]),
        systems=[System("bad", "fake", template_options={"fails_proof": True}), System("good", "fake")],
    )
    found, _ = run(design, tmp_path)
    assert not found.is_complete
    verdicts = {finding.id: finding.verdict for finding in found.result.findings}
    assert verdicts["engine-tested"] == verdicts["requests-answered"] == "fail"
    rows = answers_in(found.folder)
    assert {row["system"] for row in rows if row["answer"]} == {"good"}


def test_the_limit_and_the_watch_are_passed_on(tmp_path):
    seen = []
    found, (engine,) = run(study(n_items=5), tmp_path, limit=2, watch=lambda one: seen.append(one.done))
    assert engine.n_asked == 4
    assert seen == [0, 1, 2, 3, 4]
    assert found.is_complete
