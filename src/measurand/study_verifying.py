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
from measurand.study_sample import hold_sample, is_sample

State = Literal["same", "differs", "not checked"]

_RESULTS: Final = "results.json"
#: The steps of a study in order, and what of its folder a step that asks nothing is computed from.
_STEPS: Final = ("elicit", "score", "audit", "report")
_ASKED: Final = ("store", "elicit")
#: Commands whose numbers come from files and a seed alone.
_COMPUTED: Final = ("audit", "score", "gates", "probe", "plan")
_MOST_NAMED: Final = 3
#: Options of `measurand plan` that are about the sample that it draws; its numbers do not hang on them.
_OF_SAMPLES: Final = (
    "--draw", "--items", "--systems", "--outputs", "--output-item", "--output-system", "--text", "--raters",
    "--items-per-rater", "--raters-per-item", "--criteria", "--collect",
)  # fmt: skip
_BARE_OF_SAMPLES: Final = ("--rated-again", "--blank-sheets")
_MARKS: Final = ("--delimiter", "--decimal", "--missing")


@dataclass(frozen=True)
class Check:
    """One thing that was held against what the manifest, or the numbers, say.

    Parameters
    ----------
    of : str
        The run's folder, relative to the one that was asked about; blank for that one.
    name : str
        ``files``, ``page``, ``tables``, ``inputs`` or ``numbers``; of a sample ``key``, ``sheets``, ``ratings``.
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
        The folder of a run, of a whole study, or of a sample that was drawn.
    compute : callable or None
        Runs a command line (its arguments, without the program's name) as it was typed, in the folder where it was
        typed; None leaves the numbers of single runs unchecked.
    study : bool
        Whether the numbers of a study are computed again.

    Returns
    -------
    list of Check
        For every run: `files` (hashes of what was written), `page` and `tables` (made again from results.json, byte for
        byte), `inputs` (hashes of what was read), `numbers` (results.json computed again, byte for byte). For a sample:
        see `measurand.study_sample.hold_sample`.

    Raises
    ------
    MeasurandError
        If the folder is no finished run, and no sample.

    Notes
    -----
    Numbers of a study are computed from the answers that were stored; nobody is asked again. Pages and numbers are
    compared under the version that made them: of another version what differs is told with both.
    """
    whole = Path(folder)
    if is_run(whole):
        return _of_run(whole, "", compute)
    if is_sample(whole):
        return [Check("", one.name, one.state, one.what) for one in hold_sample(whole)]
    steps = [name for name in _STEPS if is_run(whole / name)]
    if not steps:
        raise MeasurandError(
            f"{whole} is no finished run: it has no {MANIFEST} of measurand, and no step of a study has; nor is it a "
            "sample that was drawn"
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
    outputs = document.get(OUTPUTS) or {}
    if not outputs:
        return Check(of, "files", "not checked", f"{MANIFEST} has no hash of what was written")
    wrong = []
    if _RESULTS not in outputs and (folder / _RESULTS).is_file():
        wrong.append(f"{_RESULTS} is none of the files whose hashes {MANIFEST} has")
    for name, hashed in outputs.items():
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
    there = folder / "tables"
    known = {f"{analysis}.csv" for analysis in result.analyses}
    wrong += [
        f"tables/{path.name} is no table of {_RESULTS}"
        for path in (sorted(there.iterdir()) if there.is_dir() else [])
        if path.name not in known
    ]
    return _check(of, "tables", wrong)


def _inputs(of: str, document: Mapping[str, Any]) -> Check:
    wrong, absent = [], []
    if not document["inputs"]:
        return Check(of, "inputs", "not checked", f"{MANIFEST} has no hash of what was read")
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
    typed = _words(document["command"])[1:]
    if compute is None or not typed or typed[0] not in _COMPUTED:
        return Check(of, "numbers", "not checked", f"made by `{document['command']}`, which is not computed again here")
    if inputs.state != "same" and document["inputs"]:
        return Check(of, "numbers", "not checked", "its inputs are not all here as they were")
    with tempfile.TemporaryDirectory() as place:
        again = Path(place) / "again"
        try:
            compute(_into(typed, again))
        except MeasurandError as error:
            return Check(of, "numbers", "differs", f"cannot be computed again: {error}")
        if other := _other_inputs(document, again):
            told = f"computed again it reads {listed(other, most=_MOST_NAMED)}, of which {MANIFEST} says nothing"
            return Check(of, "numbers", "differs", told)
        return _compared(of, folder, again, document)


def _words(command: str) -> list[str]:
    """Return the words of a command line; none if its quotes are not whole."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _other_inputs(document: Mapping[str, Any], again: Path) -> list[str]:
    """Return what a run that was made again read beside what the manifest of the first one says."""
    if not (again / MANIFEST).is_file():
        return []
    made = json.loads((again / MANIFEST).read_text(encoding="utf-8"))
    known = {(one["path"], one["sha256"]) for one in document["inputs"]}
    return [str(one["path"]) for one in made["inputs"] if (one["path"], one["sha256"]) not in known]


def _into(typed: Sequence[str], out: Path) -> list[str]:
    """Return a command line with another folder for its run, without what it would print, and without its sample.

    Nothing is written elsewhere: what names a place is left out wherever it stands, and ours comes before the rest.
    """
    command, *rest = typed
    with_value = {"--out", *(_OF_SAMPLES if command == "plan" else ())}
    bare = {"--strict", "--json", "--csv", "-q", "--quiet", *(_BARE_OF_SAMPLES if command == "plan" else ())}
    kept: list[str] = []
    files: list[str] = []
    words = iter(rest)
    for word in words:
        name, is_joined, value = word.partition("=")
        if name in with_value:
            files.append(value if is_joined else next(words, ""))
        elif word not in bare:
            kept.append(word)
    return [command, "--out", str(out), "--quiet", *_without_marks_of(files, kept)]


def _without_marks_of(files: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return words without what they say of how files are spelled that are no longer read."""
    gone = tuple(f"{file}=" for file in files if file and file not in words)
    kept: list[str] = []
    for word in words:
        option, _, value = word.partition("=")
        if option in _MARKS and value.startswith(gone):
            continue
        if kept and kept[-1] in _MARKS and word.startswith(gone):
            kept.pop()
            continue
        kept.append(word)
    return kept


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
