"""A study that can't be run, that lacks something, and what the command says of it."""

import json
import re

import pytest

from command_line import assert_one_message, runner
from html_page import Page
from measurand.result import MeasurandError
from measurand.study_running import run
from small_study import (
    STEPS,
    made,
    nobody,
    plain_pages,  # noqa: F401  # a fixture
    states,
    write,
)


def test_a_study_without_ratings_is_asked_and_reported(tmp_path):
    path = write(tmp_path, replace=[('ratings = "ratings.csv"\n', "")])
    done = run(path)
    assert states(done) == {"elicit": "made", "score": "left out", "audit": "left out", "report": "made"}
    page = Page((done.folder / "report.html").read_text("utf-8"))
    assert "asked" in page.ids()
    assert "systems" not in page.ids()
    assert "all are answered" in page.text
    # Ratings that come later are scored, and those that go leave nothing behind.
    write(tmp_path)
    assert made(run(path, opened=nobody)) == ["score", "audit", "report"]
    write(tmp_path, replace=[('ratings = "ratings.csv"\n', "")])
    assert "scores" not in run(path, opened=nobody).result.analyses


@pytest.mark.parametrize(
    ("replace", "said"),
    [
        ([('"ratings.csv"', '"absent.csv"')], "no file .*absent.csv"),
        ([('raters = ["A"', 'raters = ["Z"')], "audit.raters has 'Z'; the ratings have A, B, C, D"),
        ([("[score]", '[score]\nanswers = ["heads.csv"]')], "no file .*heads.csv"),
        ([("low = 0\nhigh = 4\nstep = 1\n", ""), ('"generative", ', "")], "scale is missing"),
        ([("high = 4", "high = 3")], "ratings.csv: .*outside the scale"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_anything_is_asked(tmp_path, replace, said):
    path = write(tmp_path, replace=replace)
    with pytest.raises(MeasurandError, match=said):
        run(path, opened=nobody)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("replace", "said"),
    [
        (
            [('["joy", "fear"]', '["joy", "faer"]')],
            "no rating of faer, which is asked but can't be scored; did you mean 'fear'",
        ),
        ([("23,what", "24,what")], "1 of 24 items have no rating: 24"),
        (
            [("item,rater", "id,rater")],
            "no column 'item'; the table has id, rater, .* \\[data\\] columns = { item = \"id\" }",
        ),
    ],
)
def test_what_nobody_rated_is_told_beforehand(command, tmp_path, replace, said):
    path = write(tmp_path)
    for name in ("study.toml", "items.csv", "ratings.csv"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        for old, new in replace:
            text = text.replace(old, new)
        (tmp_path / name).write_text(text, encoding="utf-8")
    ended = command("check", path)
    assert (ended.status, re.search(said, " ".join(ended.out.split())) is not None) == (0, True), ended.out


# The command


@pytest.fixture
def command(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


def test_the_command_says_what_it_made_and_where_the_page_is(command, tmp_path):
    path = write(tmp_path)
    ended = command("run", path, "--out", tmp_path / "out", "--title", "My heading")
    assert ended.status == 0, ended.err
    assert ended.out.startswith("2 systems × 24 items")
    assert [line for line in ended.err.splitlines() if line.split(":")[0] in STEPS] == [
        f"{name}: made (not made yet)" for name in STEPS
    ]
    assert f"Report: {tmp_path / 'out' / 'report' / 'report.html'}" in ended.err
    assert "<h1>My heading</h1>" in (tmp_path / "out" / "report" / "report.html").read_text("utf-8")
    again = command("run", path, "--out", tmp_path / "out", "--title", "My heading", "--json", "--quiet")
    assert (again.status, again.err) == (0, "")
    assert json.loads(again.out)["results"]["study"]["settings"]["note"] == "Nothing of this is real."


@pytest.mark.usefixtures("plain_pages")
def test_requests_without_an_answer_are_status_1_and_the_next_start_asks_them(command, tmp_path):
    path = write(
        tmp_path,
        replace=[
            ('name = "F"\nengine = "fake"', 'name = "F"\nengine = "fake"\ntemplate_options = { failure_share = 0.1 }')
        ],
    )
    ended = command("run", path)
    assert ended.status == 1, ended.err
    assert re.search(r"\d+ requests remain; give the same command again", ended.err)
    assert "are not" in ended.out
    again = command("run", path)
    assert again.status == 1
    assert "elicit: made (not every request has an answer)" in again.err
    assert "score: unchanged" in again.err


def test_a_folder_that_holds_something_else_is_refused_before_anything_is_asked(command, tmp_path):
    path = write(tmp_path)
    (tmp_path / "out" / "score").mkdir(parents=True)
    (tmp_path / "out" / "score" / "mine.txt").write_text("mine")
    ended = command("run", path, "--out", tmp_path / "out", "--quiet")
    assert_one_message(ended, "score", "holds other files")
    assert not (tmp_path / "out" / "store").exists()
