import csv
import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time

import pandas as pd
import pytest

import measurand
from command_line import assert_one_message, runner
from measurand.keys import COLUMNS
from measurand.result import Result
from measurand.simulate import two_emojis_panel
from strategies import crossed

FEW = ("--replicates", "100")
SMALL_PANEL = ("--items", 5, "--component", "item=1", "--component", "residual=1")
HEADER = "item,rater,rating\n"


@pytest.fixture
def run(monkeypatch, capsys):
    return runner(monkeypatch, capsys)


@pytest.fixture
def plain_pages(monkeypatch):
    """Pages that cost nothing, where something else is the matter."""
    from measurand import reporting

    def pages(_result, *, title, reproduce):
        return f"{title} {reproduce}", f"{title} {reproduce}"

    monkeypatch.setattr(reporting, "render_pages", pages)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    crossed().to_csv(path, index=False)
    return path


def script():
    found = shutil.which("measurand", path=sysconfig.get_path("scripts"))
    return [found] if found else [sys.executable, "-c", "from measurand.cli import main; main()"]


def process(*args, **options):
    """Run the command as a user does, in a process of its own in which every warning is an error."""
    environment = os.environ | {"PYTHONWARNINGS": "error"} | options.pop("env", {})
    command = [*script(), *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **options)


# Help


def test_help_names_every_command_and_every_default(run):
    shown = run("--help")
    assert shown.status == 0
    for name in ("audit", "report", "check", "simulate"):
        assert name in shown.out
    options = " ".join(run("audit", "--help").out.split())
    for text in ("default: 2000", "default: 0.95", "default: (0.8, 0.9)", "default: refuse", "default: (item)"):
        assert text in options
    assert "Never inferred" in options


def test_without_a_command_help_is_shown(run):
    shown = run()
    assert shown.status in (0, 2)
    assert "audit" in shown.out + shown.err


def test_version(run):
    assert run("--version").out == f"measurand {measurand.__version__}\n"


# Audit


def test_summary_goes_to_stdout_and_where_the_report_is_to_stderr(run, ratings, tmp_path):
    ended = run("audit", ratings, *FEW, "--out", tmp_path / "run")
    assert ended.status == 0
    assert "systems" in ended.out
    assert "\x1b" not in ended.out  # no terminal, no colour
    assert ended.err == f"Report: {tmp_path / 'run' / 'report.html'}\n"
    assert {"results.json", "report.html", "report.md", "manifest.json", "tables"} == {
        path.name for path in (tmp_path / "run").iterdir()
    }


@pytest.mark.usefixtures("plain_pages")
def test_quiet_says_nothing_on_stderr(run, ratings, tmp_path):
    ended = run("audit", ratings, *FEW, "--out", tmp_path / "run", "--quiet")
    assert ended.err == ""
    assert ended.out
    assert run("report", tmp_path / "run", "-q").err == ""


@pytest.mark.usefixtures("plain_pages")
def test_json_is_pure_and_the_same_as_the_file(run, ratings, tmp_path):
    ended = run("audit", ratings, *FEW, "--out", tmp_path / "run", "--json")
    assert ended.out == (tmp_path / "run" / "results.json").read_text(encoding="utf-8")
    assert Result.from_json(ended.out).findings
    json.loads(ended.out, parse_constant=lambda token: pytest.fail(f"{token} is no JSON"))


def test_csv_is_pure_and_holds_every_row(run, ratings):
    table = pd.read_csv(io.StringIO(run("audit", ratings, *FEW, "--csv").out), dtype=str, keep_default_na=False)
    result = Result.from_json(run("audit", ratings, *FEW, "--json").out)
    assert len(table) == len(result)
    assert table["statistic"].tolist() == [row.statistic for row in result]
    for shown, row in zip(table["estimate"], result, strict=True):
        assert (shown == "") if math.isnan(row.estimate) else (float(shown) == row.estimate)


def test_csv_has_every_column_once(run, ratings):
    head = next(csv.reader(io.StringIO(run("audit", ratings, *FEW, "--csv").out)))
    assert sorted(head) == sorted(set(head))
    assert set(COLUMNS) <= set(head)


def test_csv_cells_that_a_spreadsheet_would_run_are_harmless(run, tmp_path):
    path = tmp_path / "ratings.csv"
    crossed().replace({"system": {"S1": "=cmd()", "S2": "@x", "S3": "+y"}}).to_csv(path, index=False)
    for line in csv.reader(io.StringIO(run("audit", path, *FEW, "--csv").out)):
        for cell in line:
            assert not cell.startswith(("=", "@", "+")), cell


def test_json_and_csv_together_are_refused(run, ratings, tmp_path):
    assert_one_message(run("audit", ratings, "--json", "--csv", "--out", tmp_path / "run"), "choose one")
    assert not (tmp_path / "run").exists()


def test_the_seed_moves_intervals_but_no_estimate(run, ratings):
    one, two = (Result.from_json(run("audit", ratings, *FEW, "--json", "--seed", seed).out) for seed in (1, 2))
    assert len(one) == len(two)
    moved = 0
    for a, b in zip(one, two, strict=True):
        # Shares and means of the draws themselves, and blocks that are drawn, do move.
        if a.statistic not in ("g_null", "p_rank") and a.analysis != "leave_one_block_out":
            assert a.estimate == b.estimate or (math.isnan(a.estimate) and math.isnan(b.estimate)), a
        moved += (a.low, a.high) != (b.low, b.high)
    assert moved > 5


@pytest.mark.usefixtures("plain_pages")
def test_strict_makes_a_failing_finding_the_exit_status(run, tmp_path):
    path = tmp_path / "ratings.csv"
    two_emojis_panel().ratings.iloc[: 30 * 24].to_csv(path, index=False)
    plain = run("audit", path, *FEW, "--json")
    assert plain.status == 0
    assert any(finding.verdict == "fail" for finding in Result.from_json(plain.out).findings)
    strict = run("audit", path, *FEW, "--json", "--strict", "--out", tmp_path / "run")
    assert strict.status == 1
    assert strict.out == plain.out
    assert (tmp_path / "run" / "report.html").exists()


def test_strict_is_content_without_a_failing_finding(run, tmp_path):
    frame = pd.DataFrame(
        [(f"i{i}", f"S{s}", f"R{r}", 10 * s + i % 3) for i in range(12) for s in range(6) for r in range(8)],
        columns=["item", "system", "rater", "rating"],
    )
    frame["rating"] += (frame.index * 7919 % 13) / 26
    frame.to_csv(tmp_path / "ratings.csv", index=False)
    ended = run("audit", tmp_path / "ratings.csv", *FEW, "--strict", "--json")
    verdicts = {finding.id: finding.verdict for finding in Result.from_json(ended.out).findings}
    assert "fail" not in verdicts.values(), verdicts
    assert ended.status == 0


@pytest.mark.usefixtures("plain_pages")
def test_columns_scales_and_targets_reach_the_audit(run, tmp_path):
    path, out = tmp_path / "ratings.tsv", tmp_path / "run"
    frame = crossed().rename(columns={"item": "image", "system": "model", "rater": "who", "rating": "score"})
    frame.assign(aspect="fluency").to_csv(path, index=False, sep="\t")
    ended = run(
        *("audit", path, *FEW, "--item", "image", "--system", "model", "--rater", "who", "--rating", "score"),
        *("--criterion", "aspect", "--scale", "fluency=1:5:1", "--level", "ordinal", "--target", "0.7"),
        *("--confidence", "0.9", "--seed", "5", "--title", "Faces", "--out", out, "--json"),
    )
    result = Result.from_json(ended.out)
    assert {row.keys["target"] for row in result["decision"]} == {0.7}
    assert {row.confidence for row in result if row.confidence is not None} == {0.9}
    settings = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert settings["columns"]["item"] == "image"
    assert settings["scale"]["fluency"] == {"low": 1.0, "high": 5.0, "step": 1.0, "level": "ordinal", "labels": []}
    assert settings["targets"] == [0.7]
    assert settings["seed"] == 5
    assert "Faces" in (out / "report.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("plain_pages")
def test_the_manifest_holds_the_command_and_resolved_settings(run, ratings, tmp_path):
    run("audit", ratings, *FEW, "--out", tmp_path / "a run")
    made = json.loads((tmp_path / "a run" / "manifest.json").read_text(encoding="utf-8"))
    assert made["command"].startswith(f"measurand audit {ratings}")
    assert f"'{tmp_path / 'a run'}'" in made["command"]  # quoted, so that it can be pasted
    settings = made["settings"]
    assert (settings["replicates"], settings["confidence"], settings["targets"]) == (100, 0.95, [0.8, 0.9])
    # Every resolved setting, defaults filled in: also which columns were read.
    assert settings["columns"] == {
        "item": "item",
        "system": "system",
        "rater": "rater",
        "rating": "rating",
        "criterion": None,
        "occasion": None,
        "order": None,
    }
    assert settings["draws"] > 0


def test_labels_and_wide_tables(run, tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("item,A,B\na,yes,no\nb,minor,yes\nc,no,no\nd,,yes\n", encoding="utf-8")
    ended = run("audit", path, *FEW, "--wide", "A, B", "--labels", "no, minor, yes", "--level", "ordinal", "--json")
    result = Result.from_json(ended.out)
    assert result.value("design", "n_ratings") == 7
    assert result.value("design", "n_blank") == 1
    assert result.value("raters", "mean", {"rater": "A"}) == 1.0


@pytest.mark.parametrize(("repeats", "mean"), [("first", 1.0), ("last", 3.0), ("mean", 2.0)])
def test_repeats_are_settled_as_asked(run, tmp_path, repeats, mean):
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "a,R1,1\na,R1,3\n", encoding="utf-8")
    result = Result.from_json(run("audit", path, *FEW, "--repeats", repeats, "--json").out)
    assert result.value("raters", "mean", {"rater": "R1"}) == mean


# Report


def test_report_writes_the_same_bytes_again(run, ratings, tmp_path):
    out = tmp_path / "run"
    run("audit", ratings, *FEW, "--out", out, "--title", "Faces")
    before = {name: (out / name).read_bytes() for name in ("report.html", "report.md", "results.json")}
    (out / "report.html").unlink()
    ended = run("report", out)
    assert ended.status == 0
    assert ended.err == f"Report: {out / 'report.html'}\n"
    assert {name: (out / name).read_bytes() for name in before} == before


def test_report_of_what_is_no_run_is_refused(run, tmp_path):
    assert_one_message(run("report", tmp_path), "no finished run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("plain_pages")
def test_report_of_a_run_with_broken_results_is_refused(run, ratings, tmp_path):
    out = tmp_path / "run"
    run("audit", ratings, *FEW, "--out", out)
    (out / "results.json").write_text('{"schema": "measurand/results/1", "results": 3}', encoding="utf-8")
    assert_one_message(run("report", out))


# Check


def test_check_says_what_the_design_supports(run, ratings, tmp_path):
    ended = run("check", ratings, "--scale", "1:5:1", "--level", "ordinal")
    assert ended.status == 0
    assert ended.out.splitlines() == [
        "items x systems x raters, completely crossed; scale 1 to 5 in steps of 1; level ordinal",
        "  6 items, 3 systems, 3 raters, 54 ratings",
        "  ratings from 1 to 5, 5 different values",
    ]
    both = pd.concat([crossed().assign(criterion="b"), crossed(3, 1, 1).assign(criterion="a")])
    both.to_csv(tmp_path / "both.csv", index=False)
    lines = run("check", tmp_path / "both.csv").out.splitlines()
    assert lines[0].startswith("a: ")
    assert any("One rater: " in line for line in lines)
    assert any(line.endswith(" 3 ratings") for line in lines)
    assert any(line.endswith(" 54 ratings") for line in lines)


# Simulate


def test_simulated_ratings_can_be_audited_and_their_truth_is_beside_them(run, tmp_path):
    path = tmp_path / "new" / "panel.csv"
    ended = run("simulate", "panel", "--items", 5, "--systems", 2, "--component", "item:system=0.1", "--out", path)
    assert ended.status == 0
    assert ended.out == ""
    assert json.loads(path.with_name("panel.truth.json").read_text(encoding="utf-8"))
    assert run("audit", path, *FEW, "--json").status == 0
    assert sorted(p.name for p in path.parent.iterdir()) == ["panel.csv", "panel.truth.json"]


def test_simulated_ratings_are_the_same_in_every_form(run, tmp_path):
    found = []
    for suffix in ("csv", "tsv.gz", "jsonl", "parquet"):
        path = tmp_path / suffix / f"panel.{suffix}"
        assert run("simulate", "panel", *SMALL_PANEL, "--seed", 3, "--out", path).status == 0
        found.append(measurand.read_ratings(path).frame["rating"].tolist())
    assert all(ratings == found[0] for ratings in found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--out", "new/panel.xlsx", *SMALL_PANEL], "'.xlsx'"),
        (["--out", "new/panel", *SMALL_PANEL], "suffix"),
        (["--out", "new/p.csv"], "components"),
        (["--out", "new/p.csv", "--component", "item"], "name=number"),
        (["--out", "new/p.csv", "--component", "item=x"], "name=number"),
        (["--out", "new/p.csv", "--component", "nonsense=1"], "nonsense"),
        (["--out", "new/p.csv", "--scale", "5:1"], "5:1"),
        (["--out", "new/p.csv", "--missing", "2"], "missing"),
    ],
)
def test_a_refused_simulation_leaves_nothing_behind(run, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    assert_one_message(run("simulate", "panel", *options), said)
    assert list(tmp_path.iterdir()) == []


def test_a_simulation_never_replaces_a_file_that_it_did_not_write(run, tmp_path):
    own = tmp_path / "ratings.csv"
    own.write_text("item,rater,rating\nmine,R1,3\nmine,R2,4\n")
    assert_one_message(run("simulate", "panel", *SMALL_PANEL, "--out", own), "ratings.csv is there already")
    assert own.read_text().startswith("item,rater,rating\nmine")
    assert [path.name for path in tmp_path.iterdir()] == ["ratings.csv"]


def test_a_simulation_replaces_what_an_earlier_one_wrote_as_long_as_nobody_changed_it(run, tmp_path):
    path = tmp_path / "panel.csv"
    for seed in (1, 2):
        assert run("simulate", "panel", *SMALL_PANEL, "--seed", seed, "--out", path).status == 0
    path.write_text(path.read_text().replace("i1", "mine"))
    before = path.read_text()
    assert_one_message(run("simulate", "panel", *SMALL_PANEL, "--out", path), "panel.csv", "move it away")
    assert path.read_text() == before


def test_a_truth_that_is_somebodys_own_is_not_replaced(run, tmp_path):
    (tmp_path / "panel.truth.json").write_text('{"mine": 1}')
    ended = run("simulate", "panel", *SMALL_PANEL, "--out", tmp_path / "panel.csv")
    assert_one_message(ended, "panel.truth.json is there already")


@pytest.mark.parametrize("kind", ["benchmark", "outputs"])
def test_a_simulated_folder_spares_the_file_of_another_that_stands_in_it(run, tmp_path, kind):
    own = tmp_path / "made" / "ratings.csv"
    own.parent.mkdir()
    own.write_text("mine")
    assert_one_message(run("simulate", kind, "--items", 20, "--out", own.parent), "ratings.csv is there already")
    assert [path.name for path in own.parent.iterdir()] == ["ratings.csv"]
    assert own.read_text() == "mine"


# Bad input

GOOD = HEADER + "".join(f"i{i},R{r},{1 + (i + r) % 5}\n" for i in range(4) for r in range(2))

#: name: file, options, what the message says, the file mended, the options mended
BAD = {
    "duplicates": (GOOD + "i0,R0,4\n", [], ["data rows 1 and 9", "hold 1 and 4", "--repeats"], GOOD, []),
    "outside": (GOOD + "i9,R0,9\n", ["--scale", "1:5"], ["'9' at data row 9 (item \"i9\"", "(1 to 5)"], GOOD, None),
    "absent column": (GOOD, ["--rating", "ratng"], ["no column 'ratng'", "did you mean 'rating'?"], GOOD, []),
    "no rater": ("item,rating\na,1\n", [], ["no column 'rater'", "individual raters are the unit"], GOOD, []),
    "header only": (HEADER, [], ["no rows"], GOOD, []),
    "empty": ("", [], ["empty"], GOOD, []),
    "semicolons": (GOOD.replace(",", ";"), [], ["semicolons"], GOOD, []),
    "ragged": (
        GOOD + "i9,R0,1,2\n",
        [],
        ["data row 9", "line 10 of the file", "has 4 cells, the header has 3"],
        GOOD,
        [],
    ),
    "all blank": (HEADER + "a,R1,\n", [], ["holds no rating"], GOOD, []),
    "blank id": (GOOD + ",R0,1\n", [], ["blank in data row 9"], GOOD, []),
    "undeclared order": (HEADER + "a,R1,yes\nb,R1,no\n", [], ["--labels no,yes"], None, ["--labels", "no,yes"]),
    "decimal commas": (HEADER + 'a,R1,"1,5"\n', ["--scale", "1:5"], ["comma"], HEADER + "a,R1,1.5\n", None),
    "bad scale": (GOOD, ["--scale", "5:1"], ["5:1"], None, ["--scale", "1:5"]),
    "two scales": (GOOD, ["--scale", "1:5", "--scale", "1:7"], ["two scales"], None, ["--scale", "1:5"]),
    "scale and labels": (GOOD, ["--scale", "1:5", "--labels", "a,b"], ["not both"], None, ["--scale", "1:5"]),
    "bad confidence": (GOOD, ["--confidence", "95"], ["confidence 95"], None, ["--confidence", ".95"]),
    "bad target": (GOOD, ["--target", "1"], ["targets [1.0]"], None, ["--target", ".9"]),
    "huge id": (HEADER + "9" * 5000 + ",R1,1\n" + "8" * 5000 + ",R1,x\n", [], ["not a number"], GOOD, []),
}


@pytest.mark.usefixtures("plain_pages")
@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_one_message_and_the_mended_file_runs(run, tmp_path, name):
    text, options, said, mended, mended_options = BAD[name]
    path, out = tmp_path / "ratings.csv", tmp_path / "new" / "run"
    path.write_text(text, encoding="utf-8")
    assert_one_message(run("audit", path, *FEW, "--out", out, *options), *said)
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]
    path.write_text(text if mended is None else mended, encoding="utf-8")
    ended = run("audit", path, *FEW, "--out", out, *(options if mended_options is None else mended_options))
    assert ended.status == 0, ended.err
    assert (out / "results.json").exists()


IN_A_PROCESS = {
    "duplicates": BAD["duplicates"][0].encode(),
    "outside": BAD["outside"][0].encode(),
    "latin-1": (HEADER + "é,R1,1\n").encode("latin-1"),
    "infinite": (HEADER + "a,R1,inf\n").encode(),
}


@pytest.mark.parametrize("name", IN_A_PROCESS)
def test_bad_input_in_a_process_of_its_own(tmp_path, name):
    path, out = tmp_path / "ratings.csv", tmp_path / "new" / "run"
    path.write_bytes(IN_A_PROCESS[name])
    assert_one_message(
        process("audit", path, *FEW, "--scale", "1:5:1", "--out", out), "ratings.csv" * (name == "latin-1")
    )
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["audit"],
        ["audit", "x.csv", "--nonsense"],
        ["audit", "x.csv", "--level", "metric"],
        ["audit", "x.csv", "--replicates", "10"],
        ["audit", "x.csv", "--seed", "-1"],
        ["simulate", "panel"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_on_stderr(run, args):
    ended = run(*args)
    assert ended.status == 2
    assert ended.out == ""
    assert "Error" in ended.err
    assert "Traceback" not in ended.err


def test_a_foreign_folder_is_refused_before_any_computing(run, ratings, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("x", encoding="utf-8")
    monkeypatch.setattr("measurand.data.read_ratings", lambda *_, **__: pytest.fail("it began to read"))
    monkeypatch.setattr("measurand.auditing.audit", lambda *_, **__: pytest.fail("it began to compute"))
    assert_one_message(run("audit", ratings, *FEW, "--out", out), "no earlier run")
    assert [p.name for p in out.iterdir()] == ["thesis.tex"]


def test_messages_do_not_carry_anybodys_control_characters_to_the_terminal(run, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(HEADER + "\x1b[2J\x07a,R1,9\nb,R1,1\n", encoding="utf-8")
    ended = run("audit", path, "--scale", "1:5")
    assert_one_message(ended, "data row 1")
    assert "\x1b" not in ended.err
    assert "\x07" not in ended.err
    path.write_text("it\x1bem,rater,rating\na,R1,1\n", encoding="utf-8")
    assert "\x1b" not in run("audit", path).err


def test_a_fault_of_our_own_is_called_one_and_is_no_traceback(run, ratings, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("measurand.auditing.audit", broken)
    ended = run("audit", ratings)
    assert ended.status == 3
    assert "fault of measurand" in ended.err
    assert "ZeroDivisionError: division by zero" in ended.err
    assert "Traceback" not in ended.err
    monkeypatch.setenv("MEASURAND_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("audit", ratings)


def test_too_little_memory_is_told_in_words(run, ratings, monkeypatch):
    def broken(*_, **__):
        raise MemoryError

    monkeypatch.setattr("measurand.auditing.audit", broken)
    assert_one_message(run("audit", ratings), "not enough memory")


# Streams


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="needs POSIX pipes")
def test_a_reader_that_leaves_early_is_no_error(ratings):
    with subprocess.Popen(
        [*script(), "audit", str(ratings), *FEW, "--csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        started.stdout.close()  # long before the first line is there
        err = started.stderr.read()
    assert started.returncode not in (2, 3)
    assert err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_told_in_one_message(ratings):
    with open("/dev/full", "w", encoding="utf-8") as full:
        command = [*script(), "audit", str(ratings), *FEW, "--json"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert "No space left" in ended.stderr


def test_a_narrow_encoding_of_stdout_breaks_nothing(ratings):
    command = [*script(), "audit", str(ratings), *FEW]
    ended = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "cp1252"})
    assert ended.returncode == 0, ended.stderr
    assert "systems" in ended.stdout.decode()


def terminal(*args, **environment):
    """Run the command on a terminal of its own and return what it drew there."""
    pty = pytest.importorskip("pty", reason="needs POSIX terminals")
    main, side = pty.openpty()
    plain = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    command = [*script(), *map(str, args)]
    started = subprocess.Popen(command, stdout=side, stderr=side, env=plain | {"TERM": "xterm"} | environment)
    os.close(side)
    drawn = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            piece = os.read(main, 65536)
        except OSError:  # Linux says so when the other side is closed
            break
        if not piece:
            break
        drawn += piece
    os.close(main)
    assert started.wait(timeout=60) == 0, drawn
    return drawn.decode()


COLOUR = ("\x1b[1m", "\x1b[3", "\x1b[9")


def test_a_terminal_gets_colour_and_progress(ratings):
    drawn = terminal("audit", ratings, *FEW)
    assert any(code in drawn for code in COLOUR)
    assert "decision study" in drawn
    assert drawn.count("\r\x1b[2K") >= 13


def test_no_color_and_quiet_are_respected(ratings):
    drawn = terminal("audit", ratings, *FEW, "--quiet", NO_COLOR="1")
    assert "\x1b" not in drawn
    assert "░" not in drawn
    assert "systems" in drawn
