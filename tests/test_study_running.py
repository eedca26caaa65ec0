"""A whole study, from its file to its page: which steps are made, and that each number stands there once."""

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from eliciting.studies import Played
from html_page import Page
from measurand import study_scoring
from measurand.eliciting.system import System
from measurand.reporting import render_html, render_summary
from measurand.result import Result
from measurand.study import reproduce
from measurand.study_auditing import AGREEMENT
from measurand.study_running import run
from small_study import (
    N_ITEMS,
    STEPS,
    made,
    nobody,
    plain_pages,  # noqa: F401  # a fixture
    results_of,
    states,
    write,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return folder, run(write(folder))


# The whole run


def test_every_step_has_its_folder_and_the_page_is_that_of_the_last(whole):
    folder, done = whole
    out = folder / "runs" / "small"
    assert made(done) == list(STEPS)
    assert done.is_complete
    assert sorted(path.name for path in out.iterdir()) == sorted([*STEPS, "store"])
    assert done.folder == out / "report"
    assert done.result == Result.from_json(out / "report" / "results.json")
    assert "A small study" in (done.folder / "report.html").read_text("utf-8")


def test_a_notebook_and_a_terminal_show_its_findings_its_steps_and_where_its_page_is(whole):
    _, done = whole
    page, said = Page(done._repr_html_()), str(done)
    assert page.faults == []
    assert repr(done) == said
    for text in (page.text, " ".join(said.split())):
        assert re.match("A study ?: ", text)
        assert "exceeds-people" in text or "exceed people" in text
        assert "audit: made" in text
        assert f"page: {done.folder / 'report.html'}" in text
        assert "not complete" not in text
    assert "not complete" in str(replace(done, is_complete=False))


def test_no_number_of_two_steps_has_one_name_and_gates_stand_there_once(whole):
    folder, done = whole
    parts = {name: Result.from_json(folder / "runs" / "small" / name / "results.json") for name in STEPS[:3]}
    parts["elicit"] = study_scoring.without_gates(parts["elicit"])
    names = {
        name: {(row.analysis, tuple(row.keys.items()), row.statistic) for row in one.rows}
        for name, one in parts.items()
    }
    assert sum(map(len, names.values())) == len(set.union(*names.values()))
    gates = [row.to_dict() for row in done.result.rows if row.analysis == "gates"]
    assert gates == [row.to_dict() for row in parts["score"].rows if row.analysis == "gates"]
    asked = Counter((one.criterion, one.id) for one in done.result.findings)
    assert [name for name, n in asked.items() if n > 1] == []


def test_the_page_has_each_chapter_once_and_in_order(whole):
    _, done = whole
    page = Page((done.folder / "report.html").read_text("utf-8"))
    assert page.faults == []
    assert [name for name, n in Counter(page.ids()).items() if n > 1] == []
    sections = [attrs["id"] for tag, attrs in page.elements if tag == "section" and "class" not in attrs]
    wanted = [
        "findings",
        "systems",
        "contrasts",
        "panel",
        "agreement",
        "asked",
        "gates",
        "cards",
        "methods",
        "reproduce",
    ]
    assert [name for name in sections if name in wanted] == wanted
    targets = {href[1:] for href in page.all("href") if href.startswith("#")}
    assert targets <= set(page.ids())
    assert "Nothing of this is real." in page.text
    assert "A small study" in page.text


def test_the_page_is_made_of_its_results_alone_and_says_when_the_answers_were_given(whole):
    folder, done = whole
    shown = reproduce(json.loads((done.folder / "manifest.json").read_text("utf-8")))
    page = (done.folder / "report.html").read_text("utf-8")
    assert render_html(done.result, title="A small study", reproduce=shown) == page
    asked = json.loads((folder / "runs" / "small" / "elicit" / "manifest.json").read_text("utf-8"))
    assert shown["answers"].startswith(f"from {asked['started']} to {asked['finished']}, by measurand ")
    assert shown["answers"] in Page(page).text


def test_controls_are_asked_gates_and_scored_nowhere(whole):
    _, done = whole
    told = {row.analysis: set() for row in done.result.rows}
    for row in done.result.rows:
        told[row.analysis].add("control=" in str(row.keys.get("variant", "")))
    assert True in told["gates"]
    assert True in told["elicitation"]
    for analysis in ("scores", "contrasts", "coverage", "decisions"):
        assert told[analysis] == {False}, analysis


def test_a_system_that_is_a_control_is_judged_as_one_beside_its_base(tmp_path):
    more = '[[system]]\nname = "H"\nengine = "fake"\nmodel = "a third"\ncontrol_of = "G"\nbase = "F"\n[elicit]'
    done = run(write(tmp_path, replace=[("[elicit]", more)]))
    found = {one.id: one for one in done.result.findings}
    judged = done.result.select("gates", "minus_base", {"gate": "control-health"})
    assert {row.keys["system"] for row in judged} == {"H"}
    # Of what is made from answers no gate is asked.
    assert {row.keys["readout"] for row in judged} == {"verification", "generative"}
    assert all(row.low <= row.estimate <= row.high and row.unit == "group" for row in judged)
    assert not done.result.select("gates", "passed", {"gate": "input-sensitivity", "system": "H"})
    of_base = {
        (row.keys["a"], row.keys["b"]) for row in done.result.select("contrasts", "difference", {"contrast": "system"})
    }
    assert {("F", "G"), ("F", "H")} <= of_base
    assert "H (" in found["control-health"].statement
    assert "H" not in found["exceeds-people"].statement.split(" reaches")[0]
    text = Page((done.folder / "report.html").read_text("utf-8")).text
    assert "System minus control" in text


def test_what_is_made_of_answers_is_scored_and_fails_the_gates_that_its_source_fails(whole):
    _, done = whole
    readouts = {row.keys["readout"] for row in done.result.rows if row.analysis == "scores"}
    assert readouts == {"verification", "generative", "binarized"}
    failed = {tuple(keys) for keys in done.result.settings["scores"]["excluded"]}
    sources = {
        (system, phrasing, variant) for system, readout, phrasing, variant in failed if readout == "verification"
    }
    made_of = {(system, phrasing, variant) for system, readout, phrasing, variant in failed if readout == "binarized"}
    assert sources
    assert sources == made_of
    assert "binarized" not in {row.keys["readout"] for row in done.result.rows if row.analysis == "gates"}


def test_readouts_that_share_no_wording_are_compared(whole):
    _, done = whole
    rows = done.result.select(
        "contrasts", "difference", {"contrast": "readout", "a": "verification", "b": "generative"}
    )
    assert {row.keys["system"] for row in rows} == {"F", "G"}
    assert all("first wording: does" in row.note for row in rows)


def test_agreement_is_audited_as_a_criterion_of_its_own_by_the_raters_named(whole):
    _, done = whole
    about = done.result.settings["design"]["criteria"]
    assert {name: one["object"] for name, one in about.items()} == {
        "joy": "ratings", "fear": "ratings", AGREEMENT: "agreement",
    }  # fmt: skip
    assert about[AGREEMENT]["arms"] == {
        "F": "verification, does, prefill=Answer:",
        "G": "verification, does, prefill=Answer:",
    }
    value = done.result.value
    assert value("design", "n_raters", {"criterion": AGREEMENT}) == 3
    assert value("design", "n_systems", {"criterion": AGREEMENT}) == 2
    assert value("design", "n_items", {"criterion": AGREEMENT}) == N_ITEMS  # an item counts once, whatever its criteria
    assert about[AGREEMENT]["over"] == ["fear", "joy"]
    assert value("design", "n_raters", {"criterion": "joy"}) == 4
    found = {one.id for one in done.result.findings if one.criterion == AGREEMENT}
    assert {"systems-differ", "ranking-reliable", "winner-stable", "more-raters"} <= found
    assert "straight-lining" not in found


def test_the_terminal_shows_one_screen_with_scores_findings_and_gates(whole):
    _, done = whole
    lines = render_summary(done.result, width=100, color=False).splitlines()
    assert len(lines) <= 50
    assert lines[0].startswith("2 systems × 24 items × 2 criteria; 2 readouts")
    assert any(line.startswith("Findings: ") for line in lines)
    assert any(line.startswith("Gates: ") for line in lines)
    assert any(line.startswith("= one rater") for line in lines)


# What is made again


def test_nothing_is_made_twice_and_no_engine_is_opened(whole):
    folder, _ = whole
    page = folder / "runs" / "small" / "report" / "report.html"
    before = page.stat().st_mtime_ns, results_of(folder / "runs" / "small")
    again = run(folder / "study.toml", opened=nobody)
    assert set(states(again).values()) == {"unchanged"}
    assert again.is_complete
    assert again.elicited is None
    assert (page.stat().st_mtime_ns, results_of(folder / "runs" / "small")) == before


@pytest.mark.usefixtures("plain_pages")
def test_the_same_study_gives_the_same_bytes_elsewhere_and_asked_anew(whole, tmp_path):
    folder, _ = whole
    run(write(tmp_path / "another"))
    assert results_of(tmp_path / "another" / "runs" / "small") == results_of(folder / "runs" / "small")
    shutil.copytree(folder, tmp_path / "copy")
    assert set(states(run(tmp_path / "copy" / "study.toml", opened=nobody)).values()) == {"unchanged"}


def _edit(name, old, new):
    def edited(folder):
        text = (folder / name).read_text("utf-8")
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")

    return edited


@pytest.mark.usefixtures("plain_pages")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_edit("study.toml", "A small study", "Another"), ["report"]),
        (_edit("study.toml", "Nothing of this", "None of this"), ["report"]),
        (_edit("study.toml", "[score]", "[score]\nreliable = 0.2"), ["score", "report"]),
        (_edit("study.toml", "[audit]", "[audit]\ntarget = 0.7"), ["audit", "report"]),
        (_edit("study.toml", 'name = "G"', 'name = "G"\nprice = { input = 1 }'), ["elicit", "report"]),
        (_edit("study.toml", 'name = "G"', 'name = "G"\ncontrol_of = "F"'), ["score", "report"]),
        (_edit("study.toml", "control_items = 6", "control_items = 7"), list(STEPS)),
        (_edit("ratings.csv", "05,A,joy,0", "05,A,joy,1"), ["score", "audit", "report"]),
        (_edit("items.csv", "g0", "g1"), ["score", "audit", "report"]),
        (_edit("items.csv", "number 3 it", "number three it"), list(STEPS)),
        (lambda folder: (folder / "runs/small/score/results.json").write_text("{}"), ["score"]),
        (lambda folder: (folder / "runs/small/report/report.html").unlink(), ["report"]),
    ],
    ids=[
        "title",
        "note",
        "score",
        "audit",
        "price",
        "trained",
        "controls",
        "rating",
        "group",
        "text",
        "broken",
        "no-page",
    ],
)
def test_what_changed_decides_what_is_made_again(whole, tmp_path, change, expected):
    folder, _ = whole
    shutil.copytree(folder, tmp_path / "copy")
    change(tmp_path / "copy")
    done = run(tmp_path / "copy" / "study.toml")
    assert made(done) == expected
    assert all(step.why for step in done.steps if step.state == "made")


@pytest.mark.usefixtures("plain_pages")
def test_answers_that_came_without_their_model_are_shown_without_it_and_without_its_engine(tmp_path):
    """An asked folder that ships with a package: no weights, no torch, and the page is made all the same."""
    path = write(
        tmp_path / "a",
        replace=[('engine = "fake"\n[[system]]', 'engine = "transformers"\nmodel = "model/m"\n[[system]]')],
    )
    (tmp_path / "a" / "model" / "m").mkdir(parents=True)
    (tmp_path / "a" / "model" / "m" / "config.json").write_text("{}")
    first = run(path, opened=lambda system: Played(System(system.name, "fake", "m")))
    shutil.rmtree(tmp_path / "a" / "model")
    shutil.rmtree(tmp_path / "a" / "runs" / "small" / "store")
    for name in ("score", "audit", "report"):
        shutil.rmtree(tmp_path / "a" / "runs" / "small" / name)
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "from measurand.study_running import run\n"
        f"print([step.state for step in run({str(path)!r}).steps], 'measurand.study_eliciting' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['unchanged', 'made', 'made', 'made'] False"
    assert results_of(tmp_path / "a" / "runs" / "small") == first.result.to_json().encode()
    # Other weights in its place are another system.
    (tmp_path / "a" / "model" / "m").mkdir(parents=True)
    (tmp_path / "a" / "model" / "m" / "config.json").write_text("[]")
    with pytest.raises(AssertionError, match="the engine of F was opened"):
        run(path, opened=nobody)


@pytest.mark.usefixtures("plain_pages")
@pytest.mark.parametrize("where", ["asking", "scoring", "reporting"])
def test_a_run_that_was_broken_off_is_finished_by_the_next(whole, tmp_path, monkeypatch, where):
    folder, _ = whole
    path = write(tmp_path)
    told = {}
    if where == "asking":
        told = {"opened": lambda system: Played(system, breaks_after=40)}
    else:

        def broken(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(study_scoring, "scored" if where == "scoring" else "without_gates", broken)
        monkeypatch.setattr("measurand.study_merging.without_gates", study_scoring.without_gates)
    with pytest.raises(KeyboardInterrupt):
        run(path, **told)
    monkeypatch.undo()
    out = tmp_path / "runs" / "small"
    assert not (out / "report").exists()
    assert not [one.name for one in out.iterdir() if one.name[0] == "."]
    done = run(path, opened=None if where == "asking" else nobody)
    assert made(done) == {"asking": list(STEPS), "scoring": list(STEPS[1:]), "reporting": ["report"]}[where]
    assert results_of(out) == results_of(folder / "runs" / "small")


# What goes in, and what may be left out


@pytest.mark.usefixtures("plain_pages")
def test_further_tables_of_answers_are_scored_beside_those_asked_for(tmp_path):
    path = write(tmp_path, replace=[("[score]", '[score]\nanswers = ["heads.csv"]'), ("repeats = 2", "repeats = 1")])
    rows = [f"H,{i:02d},{name},regression,{i % 5}" for i in range(N_ITEMS) for name in ("joy", "fear")]
    (tmp_path / "heads.csv").write_text("\n".join(["system,item,criterion,readout,answer", *rows]) + "\n")
    done = run(path)
    arms = {(row.keys["system"], row.keys["readout"]) for row in done.result.rows if row.analysis == "scores"}
    assert ("H", "regression") in arms
    assert done.result.settings["design"]["criteria"][AGREEMENT]["arms"]["H"] == "regression"
    (tmp_path / "heads.csv").write_text("\n".join(["system,item,criterion,readout,answer", *rows[2:]]) + "\n")
    assert made(run(path, opened=nobody)) == ["score", "audit", "report"]


@pytest.mark.usefixtures("plain_pages")
def test_of_repeats_the_first_answer_counts(whole):
    folder, done = whole
    held = study_scoring.Held(_read(folder / "study.toml"))
    answers = held.answers(folder / "runs" / "small" / "elicit" / "answers.csv")
    text = (folder / "runs" / "small" / "elicit" / "answers.csv").read_text("utf-8")
    assert len(answers) == (len(text.splitlines()) - 1) / 2
    assert (
        done.result.value("coverage", "coverage", {"system": "F", "readout": "verification", "phrasing": "does"}) == 1
    )


def _read(path):
    from measurand.study_file import read_study

    return read_study(path)


@pytest.mark.usefixtures("plain_pages")
def test_ratings_of_other_items_and_criteria_take_no_part(whole, tmp_path):
    folder, _ = whole
    path = write(tmp_path)
    with (tmp_path / "ratings.csv").open("a", encoding="utf-8") as file:
        file.write("99,E,joy,4\n00,A,boredom,17\n")
    run(path)
    ours, theirs = (
        [
            row.to_dict()
            for row in Result.from_json(one / "runs/small/report/results.json").rows
            if row.analysis == "scores"
        ]
        for one in (tmp_path, folder)
    )
    assert ours == theirs
