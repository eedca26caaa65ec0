"""Build the documentation site: guides, a page for each analysis, and a page for each public function and class.

Give the folder to build into. Any warning, a link that leads nowhere included, is an error; nothing is fetched.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from sphinx.cmd.build import build_main

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
#: What the site is made of, beside the docstrings.
SOURCES = ("README.md", "CHANGELOG.md", "docs/**/*.md", "benchmarks/**/*.md", "training/README.md")
#: Where the steps are public that `measurand` itself does not name.
PACKAGES = ("data", "scoring", "probing", "planning", "reporting", "simulate", "study_file")
#: Pages that others link to, and that the table of contents would be too long with.
BENEATH = ("benchmarks/*/*.md", "readout-paper/[a-z]*.md")
_CODE = re.compile(r"(?<!\[)`(measurand\.[\w.]+)`")
_LINK = re.compile(r"(\]\()([^)#:\s]+)((?:#[^)]*)?\))")


def pages() -> dict[Path, Path]:
    """Return each source with its place in the site: what lies in `docs` at the top, everything else where it is."""
    found = sorted({path for pattern in SOURCES for path in ROOT.glob(pattern)})
    return {path: place_of(path) for path in found if ".venv" not in path.parts and HERE not in path.parents}


def place_of(path: Path) -> Path:
    inside = path.relative_to(ROOT)
    if inside == Path("README.md"):
        return Path("readme.md")
    return inside.relative_to("docs") if inside.parts[0] == "docs" else inside


def with_links(text: str, path: Path, names: frozenset[str]) -> str:
    """Return a page whose relative links lead from its place in the site to the places of others.

    Public names in code, such as `measurand.audit`, become links to their pages.
    """

    def moved(found: re.Match[str]) -> str:
        target = (path.parent / found[2]).resolve()
        if target.is_dir():
            target = target / "README.md"
        if not target.exists():
            raise SystemExit(f"{path.relative_to(ROOT)}: no file {found[2]}")
        return found[1] + os.path.relpath(place_of(target), place_of(path).parent) + found[3]

    def linked(found: re.Match[str]) -> str:
        if found[1] not in names:
            return found[0]
        return f"[`{found[1]}`]({os.path.relpath(f'api/{found[1]}.rst', place_of(path).parent)})"

    return _CODE.sub(linked, _LINK.sub(moved, text))


def public() -> Iterator[tuple[str, str]]:
    """Yield each public name with its package: those of `measurand`, then the steps beneath."""
    top = importlib.import_module("measurand")
    yield from (("measurand", name) for name in top.__all__)
    known = {id(getattr(top, name)) for name in top.__all__}
    for package in PACKAGES:
        module = importlib.import_module(f"measurand.{package}")
        for name in module.__all__:
            one = getattr(module, name)
            if callable(one) and id(one) not in known:
                yield f"measurand.{package}", name


def page_of(package: str, name: str) -> str:
    one = getattr(importlib.import_module(package), name)
    title = f"{package}.{name}"
    directive = f".. auto{'class' if inspect.isclass(one) else 'function'}:: {name}\n"
    members = "   :members:\n" if inspect.isclass(one) else ""
    return f"{title}\n{'=' * len(title)}\n\n.. currentmodule:: {package}\n\n{directive}{members}"


def first_line(package: str, name: str) -> str:
    return (inspect.getdoc(getattr(importlib.import_module(package), name)) or "").split("\n", 1)[0]


def stage(out: Path) -> None:
    """Write the pages as Sphinx reads them."""
    shutil.rmtree(out, ignore_errors=True)
    names = list(public())
    known = frozenset(f"{package}.{name}" for package, name in names)
    for path, place in pages().items():
        (out / place).parent.mkdir(parents=True, exist_ok=True)
        head = "---\norphan: true\n---\n" if any(place.match(one) for one in BENEATH) else ""
        (out / place).write_text(head + with_links(path.read_text(encoding="utf-8"), path, known), encoding="utf-8")
        for link in _LINK.findall(path.read_text(encoding="utf-8")):
            target = (path.parent / link[1]).resolve()
            if target.is_file() and target.suffix != ".md":
                (out / place_of(target)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(target, out / place_of(target))
    (out / "api").mkdir()
    lines = ["# Functions and classes", "", "Everything is a function of tables that returns a `Result`.", ""]
    for package in dict.fromkeys(package for package, _ in names):
        mine = [name for one, name in names if one == package]
        lines += [f"## `{package}`", "", "| | |", "|---|---|"]
        lines += [f"| [`{name}`](api/{package}.{name}.rst) | {first_line(package, name)} |" for name in mine]
        lines += ["", "```{toctree}", ":hidden:", "", *(f"api/{package}.{name}" for name in mine), "```", ""]
    for package, name in names:
        (out / "api" / f"{package}.{name}.rst").write_text(page_of(package, name), encoding="utf-8")
    (out / "api.md").write_text("\n".join(lines), encoding="utf-8")


def main(to: str) -> int:
    out, source = Path(to), Path(to).with_name(f"{Path(to).name}-source")
    stage(source)
    shutil.rmtree(out, ignore_errors=True)
    # Sphinx's own and its extensions' deprecations are theirs to mend.
    warnings.simplefilter("ignore")
    options = ["-b", "html", "-q", "-W", "--keep-going", "-E", "-d", str(source / ".doctrees"), "-c", str(HERE)]
    return build_main([*options, str(source), str(out)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
