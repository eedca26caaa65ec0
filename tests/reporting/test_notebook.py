"""Whole audits in a notebook: small enough, well formed, and what they offer next can be called."""

import re

import pytest

from html_page import Page
from measurand.reporting import plot, render_summary
from measurand.result import MeasurandError
from measurand.result.notebook import MOST_BYTES

AUDITS = ["complete", "incomplete", "many_systems", "without_systems", "two_criteria", "hostile", "forty"]


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_is_shown_whole_and_small(name, request):
    result = request.getfixturevalue(name)
    page = result._repr_html_()
    shown = Page(page)
    assert len(page.encode()) <= MOST_BYTES
    assert shown.faults == []
    assert "<script" not in page
    for verdict in {finding.verdict for finding in result.findings}:
        assert {"not_applicable": "n/a"}.get(verdict, verdict) in shown.text
    assert len(str(result).splitlines()) < 120


def test_the_order_of_verdicts_is_that_of_the_terminal(complete):
    def order(text):
        return list(dict.fromkeys(re.findall(r"(fail|warn|undetermined|pass|n/a) ", text)))

    summary = order(re.sub(r"^.*?\n\n.*?\n\n", "", render_summary(complete, width=100, color=False), flags=re.S))
    assert len(summary) >= 4
    assert order(Page(complete._repr_html_()).text)[: len(summary)] == summary


@pytest.mark.parametrize("name", ["complete", "incomplete", "without_systems", "two_criteria"])
def test_a_figure_that_is_offered_can_be_drawn(name, request):
    result = request.getfixturevalue(name)
    for one in (result, *(result[analysis] for analysis in result.analyses)):
        offered = re.search(r"measurand\.plot\(result(?:, criterion='(.*?)')?\) draws", str(one))
        if offered and any(not row.undefined for row in one.rows):
            assert plot(one, criterion=offered.group(1) or "").svg.startswith("<svg")


def test_a_figure_in_a_notebook_has_the_colours_of_the_page_and_as_a_picture_its_own(complete):
    drawn = plot(complete, figure="ranks")
    page = drawn._repr_html_()
    assert Page(page).faults == []
    assert "currentColor" in page
    assert page.startswith('<figure class="tex2jax_ignore mathjax_ignore" style="--m-muted:color-mix(')
    assert "max-width:100%;height:auto" in page
    picture = drawn._repr_svg_()
    assert "var(" not in picture
    assert "currentColor" not in picture
    assert 'fill="#ffffff"' in picture


def test_a_result_without_figures_says_what_figures_are_drawn_from(complete):
    with pytest.raises(MeasurandError, match="numbers of no figure; figures are drawn from the analyses generaliz"):
        plot(complete["design"])
    with pytest.raises(MeasurandError, match=r"no figure 'nothing'; there are decision, .*error_shares"):
        plot(complete["design"], figure="nothing")
