"""The report as one HTML file: no script, no network, light and dark, for screen, phone and print."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from measurand.reporting.blocks import Document
from measurand.reporting.document import document
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
    """Return a report that is made of blocks already as HTML."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    source = resources.files("measurand.reporting").joinpath("report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(page=page)
