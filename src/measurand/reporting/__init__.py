"""From a result to what people read: one HTML page, Markdown, the terminal, figures; made of results alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from measurand.reporting.document import document
from measurand.reporting.figures import plot
from measurand.reporting.markdown import markdown_of, render_markdown
from measurand.reporting.page import html_of, render_html
from measurand.reporting.summary import render_summary
from measurand.reporting.svg import Plot, write_whole
from measurand.result import Result
from measurand.result.words import default_title

__all__ = [
    "Plot",
    "default_title",
    "plot",
    "render_html",
    "render_markdown",
    "render_pages",
    "render_summary",
    "report",
]


def render_pages(result: Result, *, title: str, reproduce: Mapping[str, str]) -> tuple[str, str]:
    """Return the HTML page and the Markdown of a result; its blocks and figures are made once.

    Parameters
    ----------
    result, title, reproduce
        As for `render_html`.
    """
    page = document(result, title=title, reproduce=reproduce)
    return html_of(page), markdown_of(page)


def report(
    result: Result,
    *,
    out: str | Path | None = None,
    title: str | None = None,
    reproduce: Mapping[str, str] | None = None,
) -> str:
    """Make the page of a result, and write it if asked to.

    Parameters
    ----------
    result : Result
        A whole audit, a scoring run, a forced choice or gates; what it does not have is left out.
    out : str, Path or None
        The HTML file; it appears whole or not at all.
    title : str or None
        The heading; None takes that of the kind of run.
    reproduce : mapping of str to str or None
        What a reader needs to make the run again: command, hashes of inputs, versions, seed.

    Returns
    -------
    str
        The page, one HTML file without network; its one script sorts tables, and nothing needs it.

    Raises
    ------
    MeasurandError
        If there is no folder for `out`.
    OSError
        If `out` cannot be written.

    Examples
    --------
    >>> from measurand.result import Row
    >>> page = report(Result([Row("design", {}, "n_items", 290)], {"design": {}}))
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    heading = default_title(result) if title is None else title
    page = render_html(result, title=heading, reproduce=reproduce or {})
    if out is not None:
        write_whole(out, page)
    return page
