"""`measurand elicit` and `measurand check` as a user meets them."""

import base64
import csv
import io
import json
import signal
import subprocess
import sys
import time

import pytest

from command_line import assert_one_message, runner
from measurand import reporting
from measurand.cli_asking import left_in_words
from measurand.eliciting.asking import Progress
from measurand.eliciting.fake import FakeEngine
from measurand.result import Result

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
STUDY = """
[study]
name = "small"
seed = 7
[data]
items = "items.csv"
criteria = ["joy", "fear"]
[scale]
low = 0
high = 7
step = 1
[[system]]
name = "F"
engine = "fake"
price = {{ input = 1000, output = 5000 }}
{options}
[[system]]
name = "G"
engine = "fake"
model = "another"
[elicit]
readouts = ["verification", "generative", "text", "binarized"]
phrasings = 2
controls = ["shuffled"]
control_items = 2
[elicit.generative]
retry = {{ attempts = 3, note = "Reply with JSON alone." }}
"""
#: Requests of one system: 4 items and 2 of the control; 2 criteria by 2 phrasings, ratings, a text.
EACH = (4 + 2) * (2 * 2 + 1 + 1)
TIMES = ("seconds", "asked_at")


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def plain_pages(monkeypatch):
    """Pages that cost nothing, where something else is the matter."""
    monkeypatch.setattr(reporting, "render_pages", lambda _result, *, title, reproduce: (title, f"{title} {reproduce}"))


@pytest.fixture
def study(tmp_path):
    """Return a function that writes a study, with options of its first system, and returns its path."""

    def written(options="", *, name="study.toml", replace=()):
        rows = "".join(f"{i:03d},what a day number {i} it was\n" for i in range(4))
        (tmp_path / "items.csv").write_text("item,text\n" + rows, encoding="utf-8")
        text = STUDY.format(options=f"template_options = {{ {options} }}" if options else "")
        for old, new in replace:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return written


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def untimed(path):
    return [{key: value for key, value in row.items() if key not in TIMES} for row in table(path)]


# Asking


def test_elicit_asks_everything_and_leaves_tables_and_a_page(run, study, tmp_path):
    ended = run("elicit", study())
    assert ended.status == 0, ended.err
    assert f"{2 * EACH} requests to 2 systems: all are answered" in " ".join(ended.out.split())
    assert f"F: {EACH} of {EACH} requests answered" in ended.err
    assert "USD" in ended.err
    folder = tmp_path / "runs" / "small" / "elicit"
    assert {"answers.csv", "replies.jsonl", "outputs.jsonl", "protocol.json", "results.json", "report.html"} <= {
        path.name for path in folder.iterdir()
    }
    rows = table(folder / "answers.csv")
    assert {row["system"] for row in rows} == {"F", "G"}
    assert {row["readout"] for row in rows} == {"verification", "generative", "binarized"}
    assert all(row["key"] for row in rows if row["readout"] == "verification")
    document = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert [path["path"].rpartition("/")[2] for path in document["inputs"]] == ["study.toml", "items.csv"]
    assert document["settings"]["system"][0]["name"] == "F"


@pytest.mark.usefixtures("plain_pages")
def test_what_is_answered_is_never_asked_again_and_nothing_left_is_success(run, study, tmp_path):
    """T72: zero remaining work is success."""
    path = study()
    assert run("elicit", path).status == 0
    store = tmp_path / "runs" / "small" / "store" / "answers.jsonl"
    answers = tmp_path / "runs" / "small" / "elicit" / "answers.csv"
    before, rows = store.read_bytes(), table(answers)
    again = run("elicit", path)
    assert again.status == 0, again.err
    assert f"{EACH} of them before" in again.err
    assert store.read_bytes() == before
    assert table(answers) == rows


@pytest.mark.usefixtures("plain_pages")
def test_a_part_of_a_study_is_asked_by_name_and_number(run, study, tmp_path):
    out = tmp_path / "part"
    args = ("elicit", study(), "--out", out)
    assert run(*args, "--system", "G", "--readout", "verification", "--limit", 3).status == 0
    rows = [row for row in table(out / "elicit" / "answers.csv") if row["readout"] == "verification"]
    assert {row["system"] for row in rows} == {"G"}
    assert {row["item"] for row in rows} == {"000", "001", "002"}
    assert_one_message(run(*args, "--system", "H"), "no system 'H'", "F, G")
    assert_one_message(run(*args, "--readout", "scale"), "no readout 'scale'")
    assert_one_message(run(*args, "--json", "--csv"), "choose one")


@pytest.mark.usefixtures("plain_pages")
def test_json_is_the_file_and_csv_holds_every_row(run, study, tmp_path):
    path = study()
    ended = run("elicit", path, "--json", "--quiet")
    assert ended.err == ""
    written = (tmp_path / "runs" / "small" / "elicit" / "results.json").read_text(encoding="utf-8")
    assert ended.out == written
    result = Result.from_json(ended.out)
    assert "elicitation" in result.analyses
    lines = run("elicit", path, "--csv", "--quiet").out.splitlines()
    assert lines[0].startswith("analysis,")
    assert len(lines) == len(result) + 1


@pytest.mark.usefixtures("plain_pages")
def test_requests_without_an_answer_make_the_exit_status_1_until_they_have_one(run, study):
    failed = run("elicit", study("failure_share = 0.3"))
    assert failed.status == 1
    assert "failed (" in failed.err
    assert "give the same command again" in failed.err
    assert run("elicit", study()).status == 0


@pytest.mark.usefixtures("plain_pages")
def test_an_engine_that_fails_its_test_is_not_asked_and_the_exit_status_is_1(run, study, tmp_path):
    ended = run("elicit", study("fails_proof = true"))
    assert ended.status == 1
    assert f"F: 0 of {EACH} requests answered" in ended.err
    assert "stopped: " in ended.err
    answered = {row["system"] for row in table(tmp_path / "runs" / "small" / "elicit" / "answers.csv") if row["key"]}
    assert answered == {"G"}


@pytest.mark.usefixtures("plain_pages")
def test_strict_makes_a_failing_finding_the_exit_status(run, study):
    path = study("bad_share = 0.9")
    plain = run("elicit", path, "--json", "--quiet")
    verdicts = {finding.verdict for finding in Result.from_json(plain.out).findings}
    assert plain.status == 0
    assert "fail" in verdicts
    assert run("elicit", path, "--strict", "--quiet").status == 1


def wait_for(path, size):
    until = time.monotonic() + 60
    while not path.exists() or path.stat().st_size < size:
        assert time.monotonic() < until, "nothing was asked within a minute"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of that kind are POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
@pytest.mark.usefixtures("plain_pages")
def test_an_interrupted_run_goes_on_where_it_was(run, study, tmp_path, name):
    """T72: nothing lost, nothing twice; the table is that of an undisturbed run, its time columns aside."""
    number = getattr(signal, name)
    slow, fast = study("delay_s = 0.05", name="slow.toml"), study()
    whole, halved = tmp_path / "whole", tmp_path / "halved"
    store = halved / "store" / "answers.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "measurand", "elicit", str(slow), "--out", str(halved)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_for(store, 3000)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert out == ""
    if number != signal.SIGKILL:
        assert process.returncode == 130
        assert err.splitlines()[-1] == (
            "Interrupted: every answer so far is kept; give the same command again to go on."
        )
        assert "Traceback" not in err
    assert not (halved / "elicit").exists()
    kept = store.read_bytes()
    assert 2 < kept.count(b"\n") < EACH
    # How long a fake engine takes is none of what determines its answers.
    assert run("elicit", fast, "--out", halved).status == 0
    assert store.read_bytes().startswith(kept[: kept.rindex(b"\n")])
    assert run("elicit", fast, "--out", whole).status == 0
    assert untimed(halved / "elicit" / "answers.csv") == untimed(whole / "elicit" / "answers.csv")


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.usefixtures("plain_pages")
def test_progress_is_drawn_on_a_terminal_and_nowhere_else(run, study, monkeypatch):
    quiet = run("elicit", study(), "--quiet")
    assert quiet.err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    path = study(replace=[('name = "small"', 'name = "other"'), ('name = "F"', 'name = "[red]F"')])
    assert run("elicit", path).status == 0
    assert f"{EACH} of {EACH}" in terminal.getvalue()
    first, _, after = terminal.getvalue().partition(f"{EACH} of {EACH}")
    assert "loading and testing" in first
    assert "writing tables and page" in after
    assert "[red]F" in terminal.getvalue()


def test_time_and_money_left_are_those_of_the_pace_so_far():
    begun = Progress("S", total=1000, stored=100)
    assert left_in_words(begun, "EUR") == ""
    going = Progress("S", total=1000, stored=100, asked=130, finished=100, failed=2, cost=0.5, seconds=50)
    assert left_in_words(going, "EUR") == "6 min 39 s left, EUR 3.99 left, 2 failed"
    long = Progress("S", total=100_100, asked=100, finished=100, seconds=50)
    assert left_in_words(long, "EUR") == "13 h 53 min left"


# Looking beforehand


def test_check_counts_what_elicit_asks_and_spends_nothing(run, study, tmp_path, monkeypatch):
    def spent(*_):
        raise AssertionError("something was asked")

    path = study()
    with monkeypatch.context() as patched:
        for name in ("read", "generate", "prove"):
            patched.setattr(FakeEngine, name, spent)
        ended = run("check", path)
        found = json.loads(run("check", path, "--json").out)
    assert ended.status == 0, ended.err
    assert not (tmp_path / "runs").exists()
    assert f"Together {2 * EACH} requests, at most USD" in ended.out
    assert sum(one["n_requests"] for one in found["estimates"]) == 2 * EACH
    assert found["stored"] == {}
    assert "generative makes up to 3" in ended.out
    assert run("elicit", path, "--quiet", "--system", "F").status == 0
    after = json.loads(run("check", path, "--json").out)
    assert after["stored"] == {
        "F": {"answered": EACH, "requests": EACH}, "G": {"answered": 0, "requests": EACH},
    }  # fmt: skip
    assert f"Answered already: F, {EACH} of {EACH}" in run("check", path).out
    fewer = json.loads(run("check", path, "--json", "--limit", 2).out)
    assert sum(one["n_requests"] for one in fewer["estimates"]) == 2 * (2 + 2) * 6


def test_check_counts_the_tokens_of_every_prompt(run, study, monkeypatch):
    """Items and questions are counted once each and added: the same as counting every prompt."""
    from measurand.eliciting.requests import blocks, requests
    from measurand.study_file import read_study

    path = study()
    found = json.loads(run("check", path, "--json").out)
    declared = read_study(path)
    design = declared.design()
    engine = FakeEngine(design.systems[0])
    counted = {}
    for block in blocks(design):
        for request in requests(design, block):
            key = request.readout.name, request.control
            counted[key] = counted.get(key, 0) + engine.count(request.prompt)
    assert counted == {
        (one["readout"], one["control"]): one["prompt_tokens"] for one in found["estimates"] if one["system"] == "F"
    }
    costs = {one["cost"] for one in found["estimates"] if one["system"] == "F" and one["readout"] == "verification"}
    expected = {
        (counted["verification", control] * 1000 + n * 5000) / 1_000_000
        for control, n in (("", 4 * 2 * 2), ("shuffled", 2 * 2 * 2))
    }
    assert sorted(costs) == pytest.approx(sorted(expected), rel=1e-12)
    monkeypatch.setattr(FakeEngine, "count", lambda *_: None)
    assert "four characters count as a token" in run("check", path).out


def test_what_was_not_counted_is_no_upper_bound_and_little_money_is_not_none(run, study, monkeypatch):
    path = study()
    ended = run("check", path)
    assert "requests, at most USD " in ended.out
    assert "about" not in ended.out
    monkeypatch.setattr(FakeEngine, "count", lambda *_: None)
    ended = run("check", path)
    assert "requests, about USD " in ended.out
    assert "at most USD" not in ended.out
    cheap = study(replace=[("input = 1000, output = 5000", "input = 0.001, output = 0.001")])
    ended = run("check", cheap)
    assert "requests, about USD 0.01;" in ended.out
    assert "USD 0.00" not in ended.out


def test_a_blank_control_of_texts_is_counted_once(run, study):
    """Texts that are left out leave the same question, which is asked once."""
    path = study(replace=[('"shuffled"', '"shuffled", "blank"')])
    found = json.loads(run("check", path, "--json").out)["estimates"]
    plain, blank = (
        sum(one["n_requests"] for one in found if one["control"] == control and one["readout"] == "verification")
        for control in ("", "blank")
    )
    assert plain == blank * 4
    assert run("elicit", path, "--quiet").status == 0
    asked = json.loads(run("check", path, "--json").out)["stored"]
    assert sum(one["n_requests"] for one in found) == sum(one["requests"] for one in asked.values())


def test_a_key_that_is_not_set_is_noted_beforehand(run, study, monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    server = 'name = "G"\nurl = "http://127.0.0.1:9/v1"\napi_key_env = "SOME_KEY"'
    path = study(replace=[('name = "G"\nengine = "fake"', server)])
    assert "Note: system G: the environment variable SOME_KEY is not set" in run("check", path).out
    monkeypatch.setenv("SOME_KEY", "anything")
    assert "SOME_KEY" not in run("check", path).out


def test_check_names_what_an_engine_cannot_do_with_status_1_and_elicit_refuses_it(run, study, tmp_path, monkeypatch):
    path = study()
    monkeypatch.setattr(FakeEngine, "objections", lambda *_: ["first \x1b[31m reason", "second reason"])
    ended = run("check", path)
    assert ended.status == 1
    assert "Can't be asked: F: first \\x1b[31m reason" in ended.out
    assert json.loads(run("check", path, "--json").out)["objections"][0].startswith("F: first")
    refused = run("elicit", path)
    assert refused.status == 2
    assert refused.out == ""
    assert "nothing was sent" in refused.err
    assert "  F: first \\x1b[31m reason" in refused.err.splitlines()
    assert not (tmp_path / "runs" / "small" / "store").exists()


@pytest.mark.parametrize("command", ["check", "elicit"])
def test_a_study_file_that_is_wrong_is_told_line_by_line(run, study, tmp_path, command):
    path = study(replace=[("seed = 7", "sede = 7"), ('engine = "fake"\nmodel', 'engine = "fake"\nmodell')])
    ended = run(command, path)
    assert ended.status == 2
    assert ended.out == ""
    lines = ended.err.splitlines()
    assert lines[0] == f"measurand: {path}: 2 things are wrong"
    assert lines[1] == "  study.sede is no key of this table; did you mean 'seed'?"
    assert lines[2] == "  system[2].modell is no key of this table; did you mean 'model'?"
    one = study(replace=[("seed = 7", "sede = 7")])
    assert_one_message(run(command, one), "study.sede is no key")
    assert_one_message(run(command, tmp_path / "none.toml"), "no such file")


# Tables


def test_check_says_what_a_table_is(run, study, tmp_path):
    study()
    items = run("check", tmp_path / "items.csv")
    assert items.status == 0
    assert items.out.splitlines() == ["items: 4 rows", "  columns: item, text"]
    (tmp_path / "answers.csv").write_text(
        "system,item,answer,readout,status\nS,1,0.5,verification,ok\nS,2,,verification,refused\nT,1,1,generative,ok\n",
        encoding="utf-8",
    )
    answers = run("check", tmp_path / "answers.csv")
    assert answers.status == 0, answers.err
    assert answers.out.splitlines() == [
        "answers: 3 rows, 2 items", "  systems: S, T", "  readouts: generative, verification",
        "  status: ok 2, refused 1",
    ]  # fmt: skip
    (tmp_path / "outputs.csv").write_text("system,item,text\nS,1,hello\nS,2,\n", encoding="utf-8")
    outputs = run("check", tmp_path / "outputs.csv", "--json")
    assert outputs.status == 1
    assert json.loads(outputs.out) == {
        "kind": "outputs", "rows": 2, "items": 2, "systems": ["S"], "problems": ["1 outputs are blank"],
    }  # fmt: skip


def test_check_finds_pictures_that_are_not_there(run, tmp_path):
    (tmp_path / "a.png").write_bytes(PNG)
    path = tmp_path / "items.csv"
    path.write_text("item,image\n1,a.png\n2,b.png\n3,\n", encoding="utf-8")
    ended = run("check", path)
    assert ended.status == 1
    assert f"data row 2: no file {tmp_path / 'b.png'}" in ended.out
    (tmp_path / "b.png").write_bytes(PNG)
    assert run("check", path).status == 0


def test_check_reads_ratings_as_before(run, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("item,rater,rating,colour\na,R1,1,x\na,R2,2,x\nb,R1,2,x\nb,R2,3,x\n", encoding="utf-8")
    ended = run("check", path, "--scale", "1:5:1")
    assert ended.status == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].startswith("items x raters")
    assert lines[1] == "  2 items, 0 systems, 2 raters, 4 ratings"
    assert lines[2] == "  ratings from 1 to 3, 3 different values"
    assert lines[-1] == "Columns that take no part: colour"
    found = json.loads(run("check", path, "--json").out)
    assert found["kind"] == "ratings"
    assert found["criteria"][""]["ratings"] == 4
    assert_one_message(run("check", path, "--limit", 3), "--limit and --out are about a study file")
    path.write_text("item,who,score\na,R1,1\n", encoding="utf-8")
    assert_one_message(run("check", path), "rater")
