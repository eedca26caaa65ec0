"""A run and its folder: read, audit, report, and write all of it or nothing."""

from __future__ import annotations

import csv
import datetime
import hashlib
import io
import json
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from measurand.folders import hashed, in_place_of, write_file
from measurand.result import MeasurandError, Result
from measurand.spreadsheets import harmless

MANIFEST: Final = "manifest.json"
PAGE: Final = "report.html"
#: Where a manifest has the hashes of what was written beside pages and tables.
OUTPUTS: Final = "outputs"
#: Where a manifest has the headline of its pages.
HEADLINE: Final = "headline"
#: Where the manifest of a study's page says when its answers were asked for, and by which versions.
ASKED: Final = "asked"
#: What runs write; anything else in their folder is somebody's own.
_OF_RUNS: Final = frozenset(
    {
        MANIFEST,
        "results.json",
        "report.html",
        "report.md",
        "tables",
        "answers.csv",
        "replies.jsonl",
        "outputs.jsonl",
        "protocol.json",
    }
)
_MANIFEST_SCHEMA: Final = "measurand/manifest/1"
_DEPENDENCIES: Final = ("numpy", "scipy", "pandas", "narwhals", "matplotlib", "jinja2")


def manifest(
    inputs: Sequence[Path], *, command: str, settings: Mapping[str, Any], started: datetime.datetime
) -> dict[str, Any]:
    """Return what a run was made from: hashes of its inputs, resolved settings, versions, times.

    Parameters
    ----------
    inputs : sequence of Path
        The files that were read.
    command : str
        The command line, or the call, that made the run.
    settings : mapping
        Every resolved setting, defaults filled in (JSON values).
    started : datetime
        When the run began.
    """
    versions = {"measurand": _version("measurand"), "python": platform.python_version()}
    versions |= {name: _version(name) for name in _DEPENDENCIES}
    return {
        "schema": _MANIFEST_SCHEMA,
        "command": _text(command),
        "inputs": [{"path": _text(path), "sha256": sha256(path), "bytes": path.stat().st_size} for path in inputs],
        "settings": dict(settings),
        "versions": versions,
        "platform": platform.platform(),
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _text(value: str | Path) -> str:
    """Return a path or a command line as text that UTF-8 can hold; a byte that is no text becomes a question mark."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def reproduce(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the part of a manifest that the page shows: what it takes to make the run again."""
    shown = {"command": str(document["command"])}
    for one in document["inputs"]:
        shown[f"input {Path(one['path']).name}"] = f"sha256 {one['sha256']}"
    if asked := document.get(ASKED):
        shown["answers"] = f"from {asked['started']} to {asked['finished']}, by {asked['versions']}"
    shown["seed"] = str(document["settings"].get("seed", ""))
    shown["versions"] = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    return shown


def headline_of(document: Mapping[str, Any]) -> str:
    """Return from a manifest the headline that the run's pages have."""
    return str(document.get(HEADLINE) or document["settings"].get("title", "Audit of ratings"))


def asked_when(folder: Path) -> dict[str, str]:
    """Return from the manifest of an asking when it was, and under which versions; blank where it does not say.

    Parameters
    ----------
    folder : Path
        The folder of a finished run.
    """
    document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    versions = document.get("versions", {})
    told = ", ".join(f"{name} {versions[name]}" for name in ("measurand", "python") if name in versions)
    return {name: str(document.get(name, "")) for name in ("started", "finished")} | {"versions": told}


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, read in pieces."""
    return hashed(path)


def write_run(
    result: Result, out: Path, *, title: str, document: Mapping[str, Any], beside: Sequence[Path] = ()
) -> None:
    """Write a run's folder: results.json, report.html, report.md, tables/, manifest.json.

    The folder is made beside its place under a temporary name and moved there when it is whole, so that an interrupted
    or failed run leaves nothing behind and an earlier run in the same place stays until the new one is complete.

    Parameters
    ----------
    result : Result
        All numbers and findings.
    out : Path
        The folder; it may be absent, empty, or an earlier run. Anything else is refused.
    title : str
        Headline of the pages.
    document : mapping
        What `manifest` returned.
    beside : sequence of Path
        Files that are moved into the folder, from somewhere on the same disk.

    Raises
    ------
    MeasurandError
        If the folder holds something else, or cannot be written.
    """
    check_out(out)
    from measurand.reporting import render_pages

    shown = reproduce(document)
    html, markdown = render_pages(result, title=title, reproduce=shown)
    numbers = result.to_json()
    document = {**document, HEADLINE: title}
    outputs = {"results.json": hashlib.sha256(numbers.encode("utf-8")).hexdigest()}
    outputs |= {path.name: sha256(path) for path in beside}
    files = {
        "results.json": numbers,
        "report.html": html,
        "report.md": markdown,
        MANIFEST: _manifest_text({**document, OUTPUTS: outputs}),
    }
    with in_place_of(out) as folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        (folder / "tables").mkdir()
        for analysis in result.analyses:
            write_csv(result, analysis, folder / "tables" / f"{analysis}.csv")
        for path in beside:
            path.rename(folder / path.name)


def check_out(out: Path) -> None:
    """Refuse a folder that a run may not replace, before any time is spent.

    Raises
    ------
    MeasurandError
        If `out` is a file, or a folder with other content than an earlier run's.
    """
    if not out.name or out.name == "..":
        raise MeasurandError(f"{out} has no name of its own that a run could take; give a folder's name as --out")
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise MeasurandError(f"{out} is not a folder; give another --out")
    if out.is_dir() and any(out.iterdir()) and not is_run(out):
        raise MeasurandError(f"{out} holds other files and is no earlier run; give an empty or new folder as --out")
    foreign = (
        sorted(one.name for one in out.iterdir() if one.name not in _OF_RUNS and one.name[0] != ".")
        if out.is_dir()
        else []
    )
    if foreign:
        raise MeasurandError(
            f"{out} is an earlier run that also holds {foreign[0]}, which would be lost with it; move it out of there, "
            "or give another --out"
        )
    parent = out.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise MeasurandError(f"{parent} is not a folder, so that {out} cannot be made in it; give another --out")


def is_run(out: Path) -> bool:
    """Return whether a folder holds a finished run.

    Parameters
    ----------
    out : Path
        The folder; it may be absent.
    """
    try:
        document = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") == _MANIFEST_SCHEMA


def write_csv(result: Result, analysis: str, path: Path) -> None:
    """Write one analysis as CSV, cells that a spreadsheet would run as formulas made harmless."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(to_csv(result, analysis))


def to_csv(result: Result, analysis: str | None = None) -> str:
    """Return one analysis, or all, as CSV, cells that a spreadsheet would run as formulas made harmless."""
    frame = result.to_frame(analysis)
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(frame.columns)
    for record in frame.astype(object).itertuples(index=False):
        writer.writerow([_cell(value) for value in record])
    return file.getvalue()


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value) if isinstance(value, int) else harmless(str(value))


def write_table(frame: Any, path: Path, name: str) -> None:
    """Write a data frame as the kind of file that a name's suffix says.

    Raises
    ------
    MeasurandError
        If the suffix is not known, or Parquet is asked for without pyarrow.
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    compression = "gzip" if suffixes[-1:] == [".gz"] else None
    kind = suffixes[-2] if compression and len(suffixes) > 1 else (suffixes or [""])[-1]
    if kind in (".csv", ".tsv"):
        frame.to_csv(
            path, sep="," if kind == ".csv" else "\t", index=False, compression=compression, lineterminator="\n"
        )
    elif kind == ".jsonl":
        import gzip
        import json

        # Not by pandas, which keeps fifteen digits: a rating is the same number in every form.
        lines = (json.dumps(row) + "\n" for row in frame.astype(object).to_dict("records"))
        with gzip.open(path, "wt", encoding="utf-8") if compression else path.open("w", encoding="utf-8") as file:
            file.writelines(lines)
    elif kind == ".parquet":
        try:
            frame.to_parquet(path, index=False)
        except ImportError as error:
            raise MeasurandError("writing Parquet needs pyarrow: pip install 'measurand[parquet]'") from error
    else:
        fault = f"the suffix {kind!r} of {name} is not known" if kind else f"the suffix of {name} is missing"
        raise MeasurandError(f"{fault}; give .csv, .tsv, .jsonl or .parquet")


def report_again(out: Path, *, title: str | None = None) -> None:
    """Write the pages of a finished run again, from results.json and manifest.json alone.

    Raises
    ------
    MeasurandError
        If the folder is no finished run.
    """
    if not is_run(out):
        raise MeasurandError(f"{out} is no finished run: it has no {MANIFEST} of measurand")
    from measurand.reporting import render_pages

    document = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    if not (out / "results.json").is_file():
        raise MeasurandError(f"{out} is no finished run: it has no results.json")
    result = Result.from_json(out / "results.json")
    headline = title or headline_of(document)
    shown = reproduce(document)
    html, markdown = render_pages(result, title=headline, reproduce=shown)
    write_file(out / "report.html", lambda path: _write_text(path, html))
    write_file(out / "report.md", lambda path: _write_text(path, markdown))
    if headline != headline_of(document):
        write_file(out / MANIFEST, lambda path: _write_text(path, _manifest_text({**document, HEADLINE: headline})))


def _manifest_text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def version() -> str:
    """Return the version of measurand that is installed."""
    return _version("measurand")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
