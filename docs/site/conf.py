"""Settings of the documentation site, which `docs/site/build.py` builds. Nothing is fetched from anywhere."""

import re

from build import public

project = "Measurand"
author = "The Measurand developers"
# No year and no date: the same sources give the same pages.
copyright = author  # noqa: A001 - the name that Sphinx reads
html_title = "Measurand"
extensions = ["sphinx.ext.autodoc", "myst_parser", "numpydoc"]

root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = True
highlight_language = "text"
myst_heading_anchors = 4

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_show_sphinx = False
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {"navigation_with_keys": False}

_NAMES = {f"{package}.{name}" for package, name in public()}
_QUOTED = re.compile(r"(?<![`:])`([^`\n]+)`(?!`)")


def _linked(found):
    """Return what stands in single back-quotes as a link where it has a page, else as code."""
    name = found[1]
    top = f"measurand.{name.rpartition('.')[2]}"
    if name.startswith("measurand.") and (name in _NAMES or top in _NAMES):
        return f":py:obj:`{name if name in _NAMES else top}`"
    return f"``{name}``"


def _docstring(_app, _what, _name, _of, _options, lines):
    lines[:] = [_QUOTED.sub(_linked, line) for line in lines]


def setup(app):
    # Before numpydoc, which writes roles of its own.
    app.connect("autodoc-process-docstring", _docstring, priority=1)
