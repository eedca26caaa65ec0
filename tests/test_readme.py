"""The README's commands and its snippet run as they stand."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from measurand import cli

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the commands after a dollar sign have been run, in their order."""
    place = tmp_path_factory.mktemp("readme")
    commands = re.findall(r"^\$ measurand (.+)$", README, flags=re.M)
    assert len(commands) == 4
    before = sys.argv
    with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for command in commands:
            sys.argv = ["measurand", *shlex.split(command)]
            with pytest.raises(SystemExit) as ended:
                cli.app()
            assert not ended.value.code, command
    sys.argv = before
    return place


def test_the_commands_leave_what_the_readme_says(folder):
    names = {path.name for path in (folder / "audit").iterdir()}
    assert names == {"report.html", "report.md", "results.json", "tables", "manifest.json"}
    assert names == {path.name for path in (folder / "scores").iterdir()}


def test_the_snippet_runs_on_what_the_commands_made(folder, capsys):
    (snippet,) = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    with contextlib.chdir(folder):
        exec(compile(snippet, "README.md", "exec"), {})  # noqa: S102
    assert "systems-differ: Not shown" in capsys.readouterr().out
    assert (folder / "decision.svg").read_text(encoding="utf-8").lstrip().startswith("<")
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")


def test_every_file_that_the_readme_names_is_there():
    root = Path(__file__).parent.parent
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (root / name).exists(), name
