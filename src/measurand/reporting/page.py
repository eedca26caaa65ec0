"""The report as one HTML file: no network, whole without its script, for light and dark, screen, phone and print."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from importlib import resources

from measurand.reporting.blocks import Document
from measurand.reporting.document import document
from measurand.reporting.slim import slim, styled_once
from measurand.result import Result


def render_html(result: Result, *, title: str, reproduce: Mapping[str, str]) -> str:
    """Return the report of a result as an HTML page.

    Parameters
    ----------
    result : Result
        A whole audit; what it does not have is left out.
    title : str
        The heading.
    reproduce : mapping of str to str
        What a reader needs to make the run again: command, hashes of inputs, versions, seed.

    Returns
    -------
    str
        The page; the same bytes for the same arguments.

    Examples
    --------
    >>> page = render_html(Result([]), title="A <b> & c", reproduce={})
    >>> "<h1>A &lt;b&gt; &amp; c</h1>" in page
    True
    """
    return html_of(document(result, title=title, reproduce=reproduce))


def html_of(page: Document) -> str:
    """Return a report that is made of blocks already as HTML.

    Its policy lets one script run, the one that sorts tables, by its hash: no text from data can become another.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["slim"] = slim
    script = _source("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rendered = environment.from_string(_source("report.html.j2")).render(page=page, script=script, digest=digest)
    return styled_once(rendered)


def _source(name: str) -> str:
    # Line ends are those of the repository wherever it was checked out, so that the hash is too.
    return resources.files("measurand.reporting").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")
