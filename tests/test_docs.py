"""The documents about outputs are true: their commands and snippets run, what they quote is what a run says."""

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from measurand import cli
from measurand.eliciting.presets import PRESETS as REQUESTS
from measurand.probing.decodability import PRESETS as PROBES
from measurand.scoring import PRESETS as SCORES
from measurand.simulate import PRESETS as PANELS

DOCS = Path(__file__).parent.parent / "docs"
NAMES = ("probing", "length", "presets")


def text_of(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def measurand(command):
    before, said = sys.argv, io.StringIO()
    sys.argv = ["measurand", *shlex.split(command)]
    try:
        quiet = contextlib.redirect_stderr(io.StringIO())
        with contextlib.redirect_stdout(said), quiet, pytest.raises(SystemExit) as ended:
            cli.app()
    finally:
        sys.argv = before
    assert not ended.value.code, command
    return said.getvalue()


@pytest.fixture(scope="module", params=NAMES)
def ran(request, tmp_path_factory):
    """A document, and the folder in which its commands and snippets have been run in their order."""
    place = tmp_path_factory.mktemp(request.param)
    text = text_of(request.param)
    with contextlib.chdir(place), contextlib.redirect_stdout(io.StringIO()):
        for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.S | re.M):
            if language == "python":
                exec(compile(block, f"{request.param}.md", "exec"), {})  # noqa: S102
            for command in re.findall(r"^\$ measurand (.+)$", block, flags=re.M):
                measurand(command)
    return text, place


def test_every_quotation_is_what_a_run_of_the_document_says(ran):
    text, place = ran
    reports = "".join(
        finding["statement"]
        for path in place.glob("*/results.json")
        for finding in json.loads(path.read_text(encoding="utf-8"))["findings"]
    )
    for quoted in re.findall(r"^> (.+)$", text, flags=re.M):
        assert quoted in reports


def test_every_finding_of_a_run_has_its_rules_in_the_table(ran):
    _, place = ran
    ids = re.findall(r"^\| `([a-z-]+)` \|", text_of("findings"), flags=re.M)
    for path in place.glob("*/results.json"):
        for finding in json.loads(path.read_text(encoding="utf-8"))["findings"]:
            assert ids.count(finding["id"]) == 1, finding["id"]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    for file, heading in re.findall(r"\]\(([^)#:]*)#?([^)]*)\)", text_of(name)):
        target = DOCS / file if file else DOCS / f"{name}.md"
        assert target.exists(), file
        if heading:
            titles = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), flags=re.M)
            assert heading in {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}, heading


@pytest.mark.parametrize("command", ["probe", "audit"])
def test_every_option_of_the_commands_is_one(command):
    allowed = measurand(f"{command} --help")
    text = text_of({"probe": "probing", "audit": "length"}[command])
    for option in set(re.findall(r"`(--[a-z-]+)", text)):
        assert re.search(rf"{option}\b", allowed), option


def test_the_defaults_in_the_table_of_options_are_those_of_the_command():
    allowed = " ".join(measurand("probe --help").split())
    rows = re.findall(r"^\| (`--[^|]+) \| ([\d, ]+) \|", text_of("probing"), flags=re.M)
    told = [pair for names, values in rows for pair in zip(names.split(", "), values.split(", "), strict=True)]
    assert len(told) == 6
    for option, value in told:
        assert re.search(rf"{option.strip('`')} [^\[]*\[default: \(?{value}(\.0)?\)?[;\]]", allowed), option


def test_the_presets_set_what_their_tables_say():
    text = text_of("presets")
    rows = {
        name: [
            (choice.strip("`- ").replace("-", "_"), paper)
            for choice, paper in re.findall(r"^\| `(\S+)` \| ([^|]+) \|", part, flags=re.M)
        ]
        for name in ("readout-paper", "ead")
        for part in [text.split(f"## `{name}`")[1].split("\n## ")[0]]
    }
    told = {name: dict(pairs) for name, pairs in rows.items()}
    for presets, name in ((SCORES, "readout-paper"), (PROBES, "ead")):
        assert told[name].keys() == presets[name].keys()
        for choice, value in presets[name].items():
            shown = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
            shown = (
                ", ".join(shown)
                if isinstance(shown, tuple)
                else f"{shown:g}"
                if isinstance(shown, float)
                else str(shown)
            )
            assert told[name][choice].startswith(shown), (name, choice)


def test_every_preset_is_listed():
    listed = set(re.findall(r"`([a-z-]+)`", text_of("presets")))
    assert {*SCORES, *PROBES, *PANELS, *REQUESTS} <= listed
