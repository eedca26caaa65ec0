import re

import pytest

from html_page import Page
from measurand.reporting import Plot, render_html, report
from measurand.reporting.figures import available
from measurand.reporting.view import View
from measurand.result import Finding, MeasurandError, Result, Row, show_number

REPRODUCE = {"command": "measurand audit 'a b.csv' --scale 1:5", "seed": "0", "input": "a b.csv: sha256 00ff"}


def page(result, **changes):
    return render_html(result, **({"title": "Audit", "reproduce": REPRODUCE} | changes))


@pytest.mark.parametrize(
    "name", ["complete", "incomplete", "ordered", "without_systems", "two_criteria", "hostile", "forty"]
)
def test_page_is_well_formed_and_self_contained(name, request):
    text = page(request.getfixturevalue(name))
    parsed = Page(text)
    assert parsed.faults == []
    assert parsed.open == []
    ids = parsed.ids()
    assert len(ids) == len(set(ids))
    tags = {tag for tag, _ in parsed.elements}
    assert [tag for tag, _ in parsed.elements].count("script") == 1
    assert not tags & {"img", "iframe", "link", "object", "embed", "form", "base"}
    for tag, attrs in parsed.elements:
        assert not [key for key in attrs if key.startswith("on")], tag
        assert "src" not in attrs
        for key in ("href", "xlink:href"):
            if key in attrs:
                assert attrs[key].startswith("#")
                assert attrs[key][1:] in ids, attrs[key]
    # The only addresses are the names of the SVG vocabularies.
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "url(http" not in text
    assert "@import" not in text


@pytest.mark.parametrize("name", ["complete", "incomplete", "two_criteria", "forty"])
def test_every_finding_is_said_at_its_anchor(name, request):
    result = request.getfixturevalue(name)
    parsed = Page(page(result))
    anchors = [one for one in parsed.ids() if one.startswith("finding-")]
    assert len(anchors) == len(result.findings)
    for finding in result.findings:
        assert " ".join(finding.statement.split()) in parsed.text
    # Every one can be linked to from its own place.
    links = parsed.all("href")
    assert all(links.count(f"#{one}") >= 1 for one in anchors)


def test_same_bytes_twice_and_after_a_round_trip(complete):
    first = page(complete)
    assert first == page(complete)
    assert first == page(Result.from_json(complete.to_json()))


def test_findings_stand_worst_first(complete):
    shown = re.findall(r'<article class="answer (\w+)"', page(complete))
    order = ["fail", "warn", "undetermined", "pass", "not_applicable"]
    assert [order.index(verdict) for verdict in shown] == sorted(order.index(verdict) for verdict in shown)
    assert len(shown) == len(complete.findings)


def test_order_of_sections(complete):
    parsed = Page(page(complete))
    sections = [attrs["id"] for tag, attrs in parsed.elements if tag == "section" and "class" not in attrs]
    assert sections == ["findings", "design", "panel", "undefined", "methods", "reproduce"]
    parts = [attrs["id"] for tag, attrs in parsed.elements if tag == "section" and attrs.get("class") == "part"]
    names = ["agreement", "raters", "agreement_pairs", "anova", "components", "generalizability", "decision"]
    assert parts == [f"{name}-1" for name in [*names, "pairs", "ranks", "boards"]]


def test_numbers_on_the_page_are_the_rows(complete):
    text = Page(page(complete)).text
    for keys in ({"estimator": "anova"}, {"estimator": "plugin"}):
        row = complete.select("generalizability", "g_null", keys)[0]
        assert show_number(row.estimate, width=row.high - row.low) in text
    for row in complete.select("anova", "ss"):
        assert show_number(row.estimate) in text
    row = complete.select("agreement", "alpha_ordinal", {"system": ""})[0]
    assert show_number(row.estimate, width=row.high - row.low) in text


def test_tables_are_tables(complete):
    parsed = Page(page(complete))
    tables = sum(tag == "table" for tag, _ in parsed.elements)
    assert tables >= 10
    assert sum(tag == "caption" for tag, _ in parsed.elements) == tables
    heads = [attrs for tag, attrs in parsed.elements if tag == "th"]
    assert all(attrs.get("scope") in ("col", "row") for attrs in heads)


def test_figures_up_to_four_criteria_only(complete, two_criteria, forty):
    for result in (complete, two_criteria):
        view = View(result)
        figures = sum(len(available(view, criterion)) for criterion in view.criteria)
        assert page(result).count("<svg ") == figures >= 4 * len(view.criteria)
    assert page(forty).count("<svg ") == 0


def test_forty_criteria_stay_small_and_point_to_the_tables(forty):
    text = page(forty)
    assert len(text.encode()) < 1_000_000
    assert "tables/*.csv" in text
    assert "Agreement and reliability by criterion" in text
    assert "for 40 criteria" in Page(text).text


def test_hostile_names_are_shown_and_do_nothing(hostile):
    text = page(hostile, title="<script>alert(2)</script>", reproduce={"command": "</code><script>x</script>"})
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    parsed = Page(text)
    assert "<script>alert(1)</script>" in parsed.text
    assert "49" not in re.findall(r"\{\{.*?\}\}", parsed.text)
    assert "$x^2$" in parsed.text
    titles = [attrs.get("title", "") for _, attrs in parsed.elements]
    assert "n" * 300 in titles


def test_undefined_numbers_are_said_with_their_reasons(incomplete):
    text = Page(page(incomplete)).text
    reasons = {" ".join(row.undefined.split()) for row in incomplete.rows if row.undefined}
    assert reasons
    for reason in reasons:
        assert reason in text


def test_a_single_step_has_a_page(complete):
    for analysis in complete.analyses:
        text = page(complete[analysis])
        assert Page(text).faults == []
        assert "made by a whole audit" in text


def test_an_empty_result_has_a_page():
    assert "An empty result." in page(Result([]))


def test_many_pairs_are_summed_up():
    systems = [f"S{n:02d}" for n in range(13)]
    rows = [
        Row("pairs", {"system_a": a, "system_b": b, "unit": "rater"}, "difference", 0.5, p=0.01, p_adjusted=0.04)
        for i, a in enumerate(systems)
        for b in systems[i + 1 :]
    ]
    text = Page(page(Result(rows))).text
    assert "Of 78 pairs, significant at 0.05 after Holm: 78 over raters" in text
    assert "tables/pairs.csv" in text
    assert "S12" not in text


def test_report_writes_whole_or_not_at_all(complete, tmp_path):
    out = tmp_path / "report.html"
    text = report(complete, out=out)
    assert out.read_text(encoding="utf-8") == text
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(MeasurandError, match=r"there is no folder .*nowhere; make it first"):
        report(complete, out=tmp_path / "nowhere" / "report.html")


def test_unknown_findings_are_shown_too():
    finding = Finding("new <one>", "A new question?", "undetermined", "It lacks something.", criterion="")
    text = Page(page(Result([], findings=[finding]))).text
    assert "It lacks something." in text
    assert "Of 1 question, 1 is undetermined." in text


def test_plot_is_shown_in_a_notebook():
    plot = Plot("<svg></svg>", "t", "a < b")
    assert "a &lt; b" in plot._repr_html_()


def test_figures_use_the_colours_of_the_page(complete):
    text = page(complete)
    styles, drawn = text.split("</style>", 1)
    used = set(re.findall(r"var\(--(m-[a-z]+)\)", drawn))
    assert used
    # In either scheme.
    assert all(styles.count(f"--{name}:") == 2 for name in used)
    assert "var(--m-blue, #" not in text
    assert re.search(r'<g (style="fill:|class="p\d)', drawn)
