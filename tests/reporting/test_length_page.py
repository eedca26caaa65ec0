"""The chapter of an audit on length: what is counted, both ways of comparing, and where it is left out."""

import pandas as pd
import pytest

from html_page import Page
from measurand.auditing import audit
from measurand.data import Scale, read_outputs, read_ratings
from measurand.reporting import plot, render_html, render_markdown, render_summary
from measurand.result import MeasurandError, Result
from measurand.simulate import simulate_outputs


def audited(ratings, outputs, **names):
    rated = read_ratings(ratings, scale=Scale.parse("1:5:1"), level="ordinal", **names)
    return audit(rated, outputs=read_outputs(outputs), replicates=100, draws=1000)


@pytest.fixture(scope="module")
def made():
    return simulate_outputs(n_items=30, truth_draws=0, n_raters=3)


@pytest.fixture(scope="module")
def result(made):
    return audited(made.ratings, made.outputs)


def page_of(result):
    page = Page(render_html(result, title="An audit", reproduce={}))
    assert page.faults == []
    return page


def chapter(result):
    return page_of(result).text.split("Do ratings follow length?")[-1].split("The board without each rater")[0]


def test_the_chapter_names_the_unit_and_every_system(result):
    said = chapter(result)
    assert "Counted: emoji." in said
    assert "nothing here proves a bias" in said
    assert all(name in said for name in ("S1", "S2", "S3", "S4", "S-long", "S-same"))


def test_ranks_at_equal_length_are_those_of_the_finding(result):
    finding = next(one for one in result.findings if one.id == "length-matched-order")
    tolerance = next(ref["tolerance"] for ref in finding.rows if "tolerance" in ref)
    keys = {"model": "adjusted", "ties": "half", "tolerance": tolerance}
    ranks = {str(row.keys["system"]): row.estimate for row in result.select("length", "rank", keys)}
    table = render_markdown(result, title="An audit", reproduce={}).split(
        "**Systems by mean rating, and at equal length**"
    )
    lines = [[cell.strip() for cell in line.split("|")] for line in table[1].split("\n\n")[1].splitlines()]
    place = lines[0].index("Rank at equal length")
    assert {line[1]: float(line[place]) for line in lines[2:]} == ranks


def test_the_usual_model_stands_beside_those_with_slopes_of_raters(result):
    said = chapter(result)
    assert "Random items and raters, one slope for all raters (the usual model)" in said
    assert "Each rater has a slope of their own" in said
    assert "Test that all raters have one slope (Hotelling's T-squared, clustered by item): F = " in said


def test_an_audit_without_outputs_has_no_such_chapter(made):
    rated = read_ratings(made.ratings, scale=Scale.parse("1:5:1"), level="ordinal")
    plain = audit(rated, replicates=100, draws=1000)
    assert "Do ratings follow length?" not in page_of(plain).text
    with pytest.raises(MeasurandError, match="it needs the analysis length"):
        plot(plain, figure="length")


def test_lengths_of_a_table_are_called_as_it_gives_them(made):
    lengths = made.outputs.assign(length=made.outputs["text"].str.len())[["item", "system", "length"]]
    said = chapter(audited(made.ratings, lengths))
    assert "Length is as the table gives it." in said


def test_the_figure_draws_every_system_on_both_sides(result):
    drawn = plot(result, figure="length")
    assert drawn.svg == plot(result, figure="length").svg
    assert "S-long" in drawn.svg
    assert "Right: how often" in drawn.caption
    without = [row for row in result.rows if not row.statistic.startswith("win_rate")]
    alone = plot(Result(without, result.settings, result.findings), figure="length")
    assert "Right: how often" not in alone.caption
    assert "S-long" in alone.svg


def test_hostile_names_are_only_text(made):
    names = {"S1": "<script>alert(1)</script>", "S2": "n" * 200, "S3": "نموذج", "S4": "{{ 7 }}\x07"}
    ratings, outputs = (
        frame.assign(system=frame["system"].map(lambda name: names.get(name, name)))
        for frame in (made.ratings, made.outputs)
    )
    result = audited(ratings, outputs)
    page = page_of(result)
    assert "\x07" not in page.text
    assert "<script>alert(1)</script>" in page.text
    assert render_summary(result, width=100, color=False)


def test_every_criterion_has_its_own_chapter(made):
    both = pd.concat([made.ratings.assign(criterion=name) for name in ("fit", "taste")])
    page = page_of(audited(both, made.outputs, criterion="criterion"))
    assert page.text.count("Do ratings follow length?") >= 2
    assert len(page.ids()) == len(set(page.ids()))
