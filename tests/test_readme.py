"""The README's commands and its snippet run as they stand, and say what stands under them."""

import contextlib
import importlib.util
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from measurand import cli

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RUNS = ("audit", "panel", "scores", "probe")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """A folder with the table, in which the commands after a dollar sign have been run in order; what they said."""
    place = tmp_path_factory.mktemp("readme")
    (table,) = re.findall(r"^```\n(item,.*?)^```", README, flags=re.S | re.M)
    (place / "ratings.csv").write_text(table, encoding="utf-8")
    commands = re.findall(r"^\$ measurand (.+)$", README, flags=re.M)
    assert len(commands) == 7
    before, said = sys.argv, {}
    with contextlib.chdir(place):
        for command in commands:
            sys.argv, out = ["measurand", *shlex.split(command)], io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as ended:
                cli.app()
            assert not ended.value.code, command
            said[command] = out.getvalue().splitlines()
    sys.argv = before
    return place, said


def test_the_commands_leave_what_the_readme_says(ran):
    for run in RUNS:
        names = {path.name for path in (ran[0] / run).iterdir()}
        assert names == {"report.html", "report.md", "results.json", "tables", "manifest.json"}


def test_what_stands_under_a_command_is_what_it_says(ran):
    for block in re.findall(r"^```\n(.*?)^```", README, flags=re.S | re.M):
        parts = re.split(r"^\$ measurand (.+)\n", block, flags=re.M)
        for command, told in zip(parts[1::2], parts[2::2], strict=True):
            for line in told.splitlines():
                assert line in ("…", *ran[1][command]), line


def test_the_snippet_runs_on_the_table(ran, capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    with contextlib.chdir(ran[0]):
        exec(compile(snippet, "README.md", "exec"), {})  # noqa: S102
    assert "systems-differ: Not shown" in capsys.readouterr().out
    assert (ran[0] / "decision.svg").read_text(encoding="utf-8").lstrip().startswith("<")
    assert "<html" in (ran[0] / "report.html").read_text(encoding="utf-8")


def test_the_caption_of_the_first_figure_is_what_the_panel_says(ran):
    text = (ran[0] / "panel" / "report.md").read_text(encoding="utf-8")
    assert "gives F = 18.6" in text
    assert "F = 0.585" in text
    assert "(F = 18.6, p < 10⁻²³)" in README
    assert "(F = .59, p = .76)" in README


def test_every_file_that_the_readme_names_is_there():
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name


def test_the_figures_are_those_that_their_script_draws():
    at = ROOT / "docs" / "figures" / "make.py"
    spec = importlib.util.spec_from_file_location("figures_of_the_readme", at)
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    for name, plot in make.drawn().items():
        kept = at.with_name(f"{name}.svg").read_text(encoding="utf-8")
        assert len(kept) < 150_000
        words = [re.findall(r"<(?:text|title|desc)\b[^>]*>([^<]*)", text) for text in (kept, str(plot.svg))]
        assert words[0] == words[1]
