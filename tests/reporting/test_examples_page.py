"""The chapter of examples: pictures that are ours alone, what was said in words, the same page from results.json."""

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from html_page import Page
from measurand.data import Scale, read_ratings
from measurand.reporting import render_html, render_markdown
from measurand.reporting.examples import sections
from measurand.result import Result, Row
from measurand.scoring.examples import examples
from reporting.conftest import HOSTILE
from reporting.test_browser import CHROMIUM, browse

FRAME = """<!DOCTYPE html><meta charset="utf-8"><iframe id="f" src="{page}" style="width:390px;height:844px"></iframe>
<script>
addEventListener("load", () => {{
  const doc = document.getElementById("f").contentDocument;
  doc.querySelectorAll("details").forEach(d => d.open = true);
  const root = doc.documentElement, seen = [...doc.images].filter(i => i.complete && i.naturalWidth > 0).length;
  document.title = `scroll ${{root.scrollWidth}} client ${{root.clientWidth}} scripts ${{doc.scripts.length}} `
    + `images ${{doc.images.length}} seen ${{seen}}`;
}});
</script>"""


def made(folder, items, systems, *, raters=("R1", "R2", "R3"), criterion="", n=6):
    """Examples of items, every other with a picture, answered by systems under two readouts and on grey."""
    noise = np.random.default_rng(0)
    rated, said = [], []
    for place, item in enumerate(items):
        truth = place % 8
        rated += [
            {"item": item, "rater": rater, "criterion": criterion, "rating": int(np.clip(truth + shift, 0, 7))}
            for shift, rater in enumerate(raters, start=-1)
        ]
        for system in systems:
            one = {"item": item, "system": system, "criterion": criterion, "control": "", "status": "ok"}
            answer = float(noise.uniform())
            said.append({**one, "readout": "verification", "answer": answer, "mass": answer})
            said.append({**one, "readout": "verification", "control": "blank", "answer": 0.25, "mass": 0.5})
            said.append({**one, "readout": "generative", "answer": np.nan, "status": "refused"})
        Image.new("RGB", (120, 60), (place, 9, 9)).save(folder / f"{place}.png")
    pictures = [str(folder / f"{i}.png") if i % 2 else "" for i in range(len(items))]
    texts = [f"{item} as a text" if i % 4 else "" for i, item in enumerate(items)]
    table = pd.DataFrame({"item": items, "image": pictures, "text": texts})
    ratings, answers = pd.DataFrame(rated), pd.DataFrame(said)
    if not criterion:
        ratings, answers = ratings.drop(columns="criterion"), answers.drop(columns="criterion")
    return examples(answers, read_ratings(ratings, scale=Scale(0, 7, step=1)), table, n=n, folds=2)


def whole(result):
    """The examples with a score, so that they stand on the page of a scoring run."""
    keys = {"system": "S", "set": "all", "calibration": "none", "aggregate": "pooled"}
    return Result([Row("scores", keys, "kappa_quadratic", 0.4, 0.3, 0.5, unit="item")]) + result


def page(result):
    return render_html(whole(result), title="Examples", reproduce={})


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return made(tmp_path_factory.mktemp("plain"), [f"i{n:02d}" for n in range(24)], ["S1", "S2"], criterion="joy")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    items = [f"{name} {n}" for n in range(3) for name in HOSTILE]
    return made(tmp_path_factory.mktemp("hostile"), items, HOSTILE, raters=HOSTILE[:3], criterion=HOSTILE[0])


def test_every_card_says_what_raters_gave_and_systems_said(plain):
    text = page(plain)
    parsed = Page(text)
    assert parsed.faults == []
    assert len(parsed.ids()) == len(set(parsed.ids()))
    n_cards = len([row for row in plain.rows if row.statistic == "rating_mean"])
    assert text.count('<article class="card">') == n_cards == 6 + 6 + 3 + 3
    assert "no evidence" in parsed.text
    for kind in ("drawn", "worst", "control", "least_mass"):
        assert f"examples-{kind}" in parsed.ids()
    worst = [row for row in plain.rows if row.statistic == "disagreement"]
    assert text.count('<tr class="chosen">') == len(worst) + 3
    for row in worst:
        assert f"a difference of {100 * row.estimate:.0f} % of the scale's range" in parsed.text
    assert "no answer: refused" in parsed.text
    assert "Ratings: R1 0, R2 0 and R3 1; mean 0.333." in parsed.text


def test_pictures_stand_in_the_page_and_others_show_their_text(plain):
    text = page(plain)
    pictures = [attrs for tag, attrs in Page(text).elements if tag == "img"]
    kept = plain.settings["examples"]["pictures"]
    shown = [row.keys["item"] for row in plain.rows if row.statistic == "rating_mean" and row.keys["item"] in kept]
    assert [one["src"] for one in pictures] == [kept[item] for item in shown]
    for one, item in zip(pictures, shown, strict=True):
        assert one["alt"].startswith(f"Item {item}; mean rating of joy: ")
        assert "3 raters" in one["alt"]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; script-src 'sha256-")
    assert policy.group(1).endswith("; style-src 'unsafe-inline'; img-src data:")
    without = {str(row.keys["item"]) for row in plain.rows} - set(kept)
    for item in without:
        expected = f"{item} as a text" if int(item[1:]) % 4 else "Neither a picture nor a text of it"
        assert expected in Page(text).text


def test_the_page_is_the_same_from_results_json(plain, hostile):
    for one in (plain, hostile):
        assert page(Result.from_json(one.to_json())) == page(one)


def test_hostile_names_and_texts_do_nothing(hostile):
    text = page(hostile)
    parsed = Page(text)
    assert parsed.faults == []
    assert text.count("<script") == 1
    assert "\u202e" not in text
    assert {tag for tag, _ in parsed.elements} <= {
        "html", "head", "meta", "title", "style", "body", "main", "header", "h1", "h2", "h3", "p", "div", "nav", "ol",
        "li", "a", "ul", "section", "table", "caption", "thead", "tbody", "tr", "th", "td", "span", "bdi", "details",
        "summary", "svg", "line", "circle", "rect", "path", "article", "img", "figure", "figcaption", "b", "code", "dl",
        "dt", "dd", "g", "defs", "clippath", "use", "desc", "text", "script", "small",
    }  # fmt: skip
    assert all(not name.startswith("on") for _, attrs in parsed.elements for name in attrs)
    assert all(one.startswith("data:image/") for one in parsed.all("src"))
    assert "<script>alert(1)</script>" in parsed.text


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.org/a.png",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:image/svg+xml;base64,PHN2Zy8+",
        'data:image/png;base64,AAAA" onerror="alert(1)',
        "data:image/png;base64," + base64.b64encode(b"<svg onload='alert(1)'/>").decode(),
        "data:image/jpeg;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(),
        "data:image/png;base64,iVBORw0KGgo",
        "data:image/png;base64,iVBORw0KGgo=\n",
        "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\x00" * 200_000).decode(),
        7,
    ],
)
def test_only_pictures_of_our_own_making_are_put_in_a_page(plain, uri):
    settings = {**plain.settings["examples"], "pictures": {str(row.keys["item"]): uri for row in plain.rows}}
    text = page(Result(plain.rows, {"examples": settings}))
    assert "<img" not in text
    assert not isinstance(uri, str) or uri not in text


def test_markdown_has_the_numbers_and_no_pictures(plain):
    text = render_markdown(whole(plain), title="Examples", reproduce={})
    assert "data:" not in text
    row = next(row for row in plain.rows if row.statistic == "blank_difference")
    item, system = row.keys["item"], row.keys["system"]
    line = next(one for one in text.splitlines() if one.startswith(f"| {item}: joy") and f"| {system} |" in one)
    assert "blank: 0.25" in line or "no answer" in line
    assert text.count("said") >= 12


def test_a_card_with_many_systems_keeps_the_one_that_it_is_about(tmp_path):
    result = made(tmp_path, [f"i{n:02d}" for n in range(16)], [f"S{n:02d}" for n in range(20)], n=20)
    parsed = Page(page(result))
    assert "12 of 20 systems" in parsed.text
    late = {row.keys["system"] for row in result.rows if row.statistic == "disagreement"} - {
        f"S{n:02d}" for n in range(11)
    }
    assert late
    for block in sections(result)[0].blocks:
        for cards in getattr(block, "blocks", ()):
            for card in getattr(cards, "cards", ()):
                assert len(card.lines) <= 13
                assert not card.remark or any(line.is_chosen for line in card.lines)


def test_marks_stay_on_the_strip_whatever_the_numbers(plain):
    rows = [replace(row, estimate=1e6) if row.statistic == "calibrated" else row for row in plain.rows]
    for settings in (plain.settings["examples"], {**plain.settings["examples"], "scale": {"joy": [3, 3]}}):
        found = sections(Result(rows, {"examples": settings}))
        marks = [
            mark
            for part in found[0].blocks
            for cards in getattr(part, "blocks", ())
            for card in getattr(cards, "cards", ())
            for line in card.lines
            for mark in line.marks
        ]
        assert marks
        assert all(0 <= mark.x <= 100 for mark in marks)


def test_pictures_of_examples_are_small(plain):
    for uri in plain.settings["examples"]["pictures"].values():
        assert Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).size == (96, 48)


@pytest.mark.skipif(not CHROMIUM.exists(), reason="no /usr/bin/chromium to open the page in")
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_a_browser_shows_the_pictures_and_a_phone_need_not_scroll(name, request, tmp_path):
    result = request.getfixturevalue(name)
    (tmp_path / "report.html").write_text(page(result), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME.format(page="report.html"), encoding="utf-8")
    dom, console = browse(tmp_path / "frame.html", tmp_path)
    assert console == []
    found = re.search(r"scroll (\d+) client (\d+) scripts (\d+) images (\d+) seen (\d+)", dom)
    assert found, dom[:500]
    scroll, client, scripts, images, seen = map(int, found.groups())
    assert scripts == 1
    assert images == seen > 0
    assert scroll <= client
