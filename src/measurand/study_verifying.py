"""Is a finished run what it says? Its files, its pages, its inputs, and its numbers computed once more."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from measurand.reporting import render_pages
from measurand.result import MeasurandError, Result
from measurand.sentences import listed
from measurand.study import MANIFEST, OUTPUTS, PAGE, headline_of, is_run, reproduce, sha256, to_csv, version
from measurand.study_steps import MADE_FROM

State = Literal["same", "differs", "not checked"]

_RESULTS: Final = "results.json"
#: The steps of a study in order, and what of its folder a step that asks nothing is computed from.
_STEPS: Final = ("elicit", "score", "audit", "report")
_ASKED: Final = ("store", "elicit")
#: Commands whose numbers come from files and a seed alone.
_COMPUTED: Final = ("audit", "score", "gates", "probe", "plan")
_MOST_NAMED: Final = 3


@dataclass(frozen=True)
class Check:
    """One thing that was held against what the manifest, or the numbers, say.

    Parameters
    ----------
    of : str
        The run's folder, relative to the one that was asked about; blank for that one.
    name : str
        ``files``, ``page``, ``tables``, ``inputs`` or ``numbers``.
    state : {"same", "differs", "not checked"}
        What came out.
    what : str
        What differs, or why it could not be checked.
    """

    of: str
    name: str
    state: State
    what: str = ""


def verify(
    folder: str | Path, *, compute: Callable[[Sequence[str]], None] | None = None, study: bool = True
) -> list[Check]:
    """Hold a finished run, or every step of a study, against its manifest, and its numbers against new ones.

    Parameters
    ----------
    folder : path
        The folder of a run, or of a whole study.
    compute : callable or None
        Runs a command line (its arguments, without the program's name) as it was typed, in the folder where it was
        typed; None leaves the numbers of single runs unchecked.
    study : bool
        Whether the numbers of a study are computed again.

    Returns
    -------
    list of Check
        For every run: `files` (hashes of what was written), `page` and `tables` (made again from results.json, byte for
        byte), `inputs` (hashes of what was read), `numbers` (results.json computed again, byte for byte).

    Raises
    ------
    MeasurandError
        If the folder is no finished run.

    Notes
    -----
    Numbers of a study are computed from the answers that were stored; nobody is asked again. Pages and numbers are
    compared under the version that made them: of another version what differs is told with both.
    """
    whole = Path(folder)
    if is_run(whole):
        return _of_run(whole, "", compute)
    steps = [name for name in _STEPS if is_run(whole / name)]
    if not steps:
        raise MeasurandError(
            f"{whole} is no finished run: it has no {MANIFEST} of measurand, and no step of a study has"
        )
    checks = [check for name in steps for check in _of_run(whole / name, name, None)]
    kept = [check for check in checks if check.name != "numbers"]
    return kept + _numbers_of_study(whole, steps) if study else checks


def _of_run(folder: Path, of: str, compute: Callable[[Sequence[str]], None] | None) -> list[Check]:
    document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    checks = [_files(folder, of, document)]
    try:
        result = Result.from_json(folder / _RESULTS)
    except (MeasurandError, OSError) as error:
        return [*checks, Check(of, "page", "not checked", f"{_RESULTS} cannot be read: {error}")]
    checks += [_page(folder, of, document, result), _tables(folder, of, result), _inputs(of, document)]
    return [*checks, _numbers(folder, of, document, checks[-1], compute)]


def _files(folder: Path, of: str, document: Mapping[str, Any]) -> Check:
    wrong = []
    for name, hashed in document.get(OUTPUTS, {}).items():
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is not there")
        elif sha256(path) != hashed:
            wrong.append(f"{name} is not what was written")
    return _check(of, "files", wrong)


def _page(folder: Path, of: str, document: Mapping[str, Any], result: Result) -> Check:
    html, markdown = render_pages(result, title=headline_of(document), reproduce=reproduce(document))
    wrong = []
    for name, text in ((PAGE, html), ("report.md", markdown)):
        path = folder / name
        if not path.is_file():
            wrong.append(f"{name} is not there")
        elif path.read_bytes() != text.encode("utf-8"):
            wrong.append(f"{name} is not the page of {_RESULTS}{_by_whom(document)}")
    return _check(of, "page", wrong)


def _tables(folder: Path, of: str, result: Result) -> Check:
    wrong = []
    for analysis in result.analyses:
        path = folder / "tables" / f"{analysis}.csv"
        if not path.is_file():
            wrong.append(f"tables/{path.name} is not there")
        elif path.read_bytes() != to_csv(result, analysis).encode("utf-8"):
            wrong.append(f"tables/{path.name} is not what {_RESULTS} says")
    return _check(of, "tables", wrong)


def _inputs(of: str, document: Mapping[str, Any]) -> Check:
    wrong, absent = [], []
    for one in document["inputs"]:
        path = Path(one["path"])
        if not path.is_file():
            absent.append(str(one["path"]))
        elif sha256(path) != one["sha256"]:
            wrong.append(f"{one['path']} has another content")
    if not wrong and absent:
        return Check(of, "inputs", "not checked", f"not here: {listed(absent, most=_MOST_NAMED)}")
    return _check(of, "inputs", wrong)


def _numbers(
    folder: Path, of: str, document: Mapping[str, Any], inputs: Check, compute: Callable[[Sequence[str]], None] | None
) -> Check:
    typed = shlex.split(document["command"])[1:]
    if compute is None or MADE_FROM in document or not typed or typed[0] not in _COMPUTED:
        return Check(of, "numbers", "not checked", f"made by `{document['command']}`, which is not computed again here")
    if inputs.state != "same":
        return Check(of, "numbers", "not checked", "its inputs are not all here as they were")
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / "again"
        compute(_into(typed, again))
        return _compared(of, folder, again, document)


def _into(typed: Sequence[str], out: Path) -> list[str]:
    """Return a command line with another folder for its run, and without what it would print."""
    kept: list[str] = []
    skip = False
    for word in typed:
        if skip:
            skip = False
        elif word == "--out":
            skip = True
        elif not word.startswith("--out=") and word not in ("--strict", "--json", "--csv", "-q", "--quiet"):
            kept.append(word)
    return [*kept, "--out", str(out), "--quiet"]


def _numbers_of_study(whole: Path, steps: Sequence[str]) -> list[Check]:
    """Compute score, audit and report of a study again, from its stored answers, in another place."""
    from measurand.study_running import run

    later = [name for name in steps if name != "elicit"]
    document = json.loads((whole / steps[-1] / MANIFEST).read_text(encoding="utf-8"))
    study = next((Path(one["path"]) for one in document["inputs"] if str(one["path"]).endswith(".toml")), None)
    if not later or study is None or not study.is_file():
        why = "its study file is not here" if later else "it was asked and nothing else"
        return [Check(name, "numbers", "not checked", why) for name in steps]
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / "again"
        again.mkdir()
        for name in _ASKED:
            if (whole / name).is_dir():
                shutil.copytree(whole / name, again / name)
        try:
            run(study, out=again, command=document["command"], opened=_nobody)
        except _WouldAskError:
            why = "its answers are not there as they were given; they would have to be asked for again"
            return [Check(name, "numbers", "differs", why) for name in later]
        return [_compared(name, whole / name, again / name, document) for name in later]


class _WouldAskError(MeasurandError):
    """A request would have to be made."""


def _nobody(_system: object) -> NoReturn:
    raise _WouldAskError("nobody is asked to verify a run")


def _compared(of: str, folder: Path, again: Path, document: Mapping[str, Any]) -> Check:
    if not (again / _RESULTS).is_file():
        return Check(of, "numbers", "differs", "computed again it wrote no results.json")
    if (again / _RESULTS).read_bytes() == (folder / _RESULTS).read_bytes():
        return Check(of, "numbers", "same")
    here, there = Result.from_json(folder / _RESULTS), Result.from_json(again / _RESULTS)
    differ = [name for name in dict.fromkeys([*here.analyses, *there.analyses]) if not _alike(here, there, name)]
    what = f"of {listed(differ, most=_MOST_NAMED)}" if differ else "of findings or settings"
    return Check(of, "numbers", "differs", f"{what}: computed again they are others{_by_whom(document)}")


def _alike(here: Result, there: Result, analysis: str) -> bool:
    return analysis in here.analyses and analysis in there.analyses and here[analysis] == there[analysis]


def _by_whom(document: Mapping[str, Any]) -> str:
    """Say which version made a run, where it is not this one."""
    made = str(document.get("versions", {}).get("measurand", ""))
    return f" (it was made by measurand {made}, this is {version()})" if made != version() else ""


def _check(of: str, name: str, wrong: Sequence[str]) -> Check:
    if not wrong:
        return Check(of, name, "same")
    more = f"; and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
    return Check(of, name, "differs", "; ".join(wrong[:_MOST_NAMED]) + more)
