"""Keep the answers of a finished demo in the package: `python -m training.store_answers DEMO`.

`DEMO` is the folder of a finished `measurand demo`. Where the models can't be asked, the demo shows the same study from
these answers. Of the answers table what a reading took, other tokens, and the addresses of answers are left out.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from measurand.demo.unpack import MARKER, STORED, STUDY
from measurand.result import Result
from measurand.study import MANIFEST, OUTPUTS, sha256
from measurand.study_eliciting import PROTOCOL
from measurand.study_running import is_complete

#: Most bytes of the archive.
MOST_BYTES: Final = 2_500_000

#: Columns that nothing which follows the asking reads.
LEFT_OUT: Final = (
    "answer_low",
    "answer_high",
    "mass_high",
    "others",
    "prompt",
    "key",
    "n_prompt",
    "n_cached",
    "n_completion",
    "seconds",
    "asked_at",
)
_ELICIT: Final = "run/elicit"
_ANSWERS: Final = "answers.csv"
_REPLIES: Final = "replies.jsonl"
#: What is only to be looked at, or made again.
_ASIDE: Final = ("models/", "sheet-", MARKER)
_NOTE_END: Final = '"""'
_INTO: Final = Path(__file__).parents[1] / "src" / "measurand" / "demo"


def store(demo: Path, into: Path = _INTO) -> Path:
    """Write a finished demo's study, pictures and answers into the package as one archive, and return its path.

    Parameters
    ----------
    demo : Path
        The folder of a finished `measurand demo`.
    into : Path
        The package's folder of the demo.

    Raises
    ------
    SystemExit
        If the folder is no finished demo that was asked, or the archive would be larger than 2.5 MB.
    """
    document = json.loads((demo / MARKER).read_text(encoding="utf-8"))
    if document["kind"] != "asked":
        raise SystemExit(f"{demo} was shown from stored answers; ask the models (measurand demo --ask)")
    files = {name: demo / name for name in document["files"] if not name.startswith(_ASIDE)}
    if changed := [name for name, path in files.items() if sha256(path) != document["files"][name]]:
        raise SystemExit(f"{demo / changed[0]} is not what the demo wrote; make it anew")
    elicited = demo / _ELICIT
    if not is_complete(Result.from_json(elicited / "results.json")):
        raise SystemExit(f"{demo} is not finished; give the same measurand demo again")
    manifest = json.loads((elicited / MANIFEST).read_text(encoding="utf-8"))
    contents = {name: path.read_bytes() for name, path in files.items()}
    contents[STUDY] = _with_note(contents[STUDY].decode(), manifest, elicited).encode()
    made = {_ANSWERS: _thinned(elicited / _ANSWERS), _REPLIES: _thinned_replies(elicited / _REPLIES)}
    manifest[OUTPUTS] |= {name: hashlib.sha256(content).hexdigest() for name, content in made.items()}
    manifest["stored"] = {"left_out": list(LEFT_OUT), "of": sha256(elicited / _ANSWERS)}
    made[MANIFEST] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    # The folder's tables say what its results do.
    there = {path.name: path.read_bytes() for path in elicited.iterdir() if path.is_file()}
    contents |= {f"{_ELICIT}/{name}": content for name, content in (there | made).items()}
    packed = _archive(contents)
    if len(packed) > MOST_BYTES:
        raise SystemExit(f"{len(packed):,} bytes, and at most {MOST_BYTES:,} may ship")
    (into / STORED).write_bytes(packed)
    return into / STORED


def _with_note(text: str, manifest: Mapping[str, Any], elicited: Path) -> str:
    """Return the study file with a last sentence in its note: when and by what its answers were given."""
    identity = json.loads((elicited / PROTOCOL).read_text(encoding="utf-8"))["systems"][0]["identity"]
    known = {**manifest["versions"], **identity}
    versions = ", ".join(f"{name} {known[name]}" for name in ("measurand", "python", "torch", "transformers"))
    said = (
        f" The answers on this page came with the package: they were asked for on {manifest['started'][:10]} by "
        f"{versions}, and not on this machine; scores, audits and the page were computed from them here."
    )
    place = text.rindex(_NOTE_END)
    return text[:place] + said + text[place:]


def _thinned(path: Path) -> bytes:
    """Return an answers table without the columns that nothing reads."""

    def rows() -> Iterator[list[str]]:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            head = next(reader)
            kept = [k for k, name in enumerate(head) if name not in LEFT_OUT]
            yield [head[k] for k in kept]
            for row in reader:
                yield [row[k] for k in kept]

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows())
    return out.getvalue().encode()


def _thinned_replies(path: Path) -> bytes:
    """Return replies without what the answers table is without."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    kept = [{name: value for name, value in one.items() if name not in LEFT_OUT} for one in lines]
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in kept).encode()


def _archive(contents: Mapping[str, bytes]) -> bytes:
    """Return an archive, the same for the same contents whatever the day."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            kind = zipfile.ZIP_STORED if name.endswith(".png") else zipfile.ZIP_LZMA
            archive.writestr(entry, contents[name], compress_type=kind)
    return out.getvalue()


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("demo", type=Path, help="folder of a finished demo")
    parser.add_argument("--into", type=Path, default=_INTO, help="the package's folder of the demo")
    given = parser.parse_args(arguments)
    path = store(given.demo, given.into)
    sys.stdout.write(f"{path.stat().st_size:,} bytes: {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
