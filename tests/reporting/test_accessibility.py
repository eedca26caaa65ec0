"""The pages as people with other eyes, hands and screens meet them: axe-core finds nothing, and colours keep apart."""

import re
from pathlib import Path

import pandas as pd
import pytest

import measurand as mz
from measurand.data import Scale, read_outputs
from measurand.planning.measured import measured
from measurand.reporting import default_title, render_html
from measurand.reporting.blocks import Document, Section, Text
from measurand.reporting.page import html_of
from measurand.simulate import simulate_benchmark, simulate_outputs, simulate_panel, two_emojis_panel
from reporting.browser import DESKTOP, PHONE, SHEET, Seen, look, needs_chromium, without_policy
from reporting.test_examples_page import made, whole

#: Fetched by `make test`; it is not part of this project.
AXE = next(iter(sorted(Path(__file__).parents[2].glob(".cache/axe-core*/axe.min.js"))), None)
needs_axe = pytest.mark.skipif(AXE is None, reason="no .cache/axe-core*/axe.min.js: make test fetches it")

RUN = """
doc.querySelectorAll("details").forEach(d => d.open = true);
const found = await win.axe.run(doc, {RULES resultTypes: ["violations"]});
return {passes: found.passes.length, over: doc.documentElement.scrollWidth - doc.documentElement.clientWidth,
  violations: found.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 300)])};
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of every kind of run, by name."""
    panel = mz.read_ratings(two_emojis_panel().ratings, scale=Scale.parse("-20:40"), level="interval")
    bench = simulate_benchmark(seed=3, n_items=40, n_criteria=2, truth_items=0, validities=(0.95, 0.4),
                               readouts=("verification", "generative"), missing_answers=0.03)  # fmt: skip
    ratings = mz.read_ratings(bench.ratings, scale=Scale(0, 7, step=1))
    outputs = simulate_outputs(n_items=60, n_systems=3, labels=("anger", "joy"), n_raters=2, truth_draws=0)
    rated = mz.read_ratings(outputs.ratings, scale=Scale(1, 5, step=1), level="ordinal")
    cards = made(tmp_path_factory.mktemp("cards"), [f"i{n:02d}" for n in range(16)], ["S1", "S2"], criterion="joy")
    facets = [
        (f"i{i}", f"s{s}", f"g{g}", f"r{g}{r}", s + (i * s + r * g + i * r) % 5)
        for i in range(6) for s in range(4) for g in range(3) for r in range(2)
    ]  # fmt: skip
    grouped = pd.DataFrame(facets, columns=["item", "system", "group", "rater", "rating"])
    components = {"item": 0.3, "system": 0.4, "rater": 0.2, "system:rater": 0.05, "residual": 0.5}
    small = simulate_panel(n_items=20, n_systems=6, n_raters=6, components=components, seed=3)
    first = measured(small.ratings, seed=0, draws=2000)
    costs = {"cost_rater": 200, "cost_item": 1, "cost_judgement": 0.1, "most_raters": 40, "most_items": 400}
    results = {
        "plan": mz.plan(first, **costs) + mz.power(first, difference=0.3, **costs),
        "design of other facets": mz.facets(
            grouped, formula="system x item x (rater:group)", at=[{"item": 40}], draws=2000
        ),
        "panel": mz.audit(panel, replicates=100, draws=1000),
        "scores": mz.score(mz.read_answers(bench.answers), ratings, replicates=100),
        "probe": mz.probe(read_outputs(outputs.outputs), ratings=rated, n_seeds=1, replicates=100, refits=0, repeats=2),
        "cards": whole(cards),
    }
    return {name: _page(result) for name, result in results.items()}


@pytest.fixture(scope="module")
def simpeval(shared):
    ratings = mz.read_ratings(
        shared / "data" / "simpeval_2022" / "ratings.csv", scale=Scale.parse("0:100"), level="interval"
    )
    return _page(mz.audit(ratings, replicates=100, draws=1000))


def _page(result):
    return render_html(result, title=default_title(result), reproduce={"command": "measurand audit ratings.csv"})


def _short():
    return html_of(
        Document("Short", "A design.", ["A verdict."], [], [Section("one", "One", [Text("Said.", small=True)])])
    )


def _checked(texts, folder, *, dark):
    (folder / "axe.js").write_text(AXE.read_text(encoding="utf-8"), encoding="utf-8")
    added = '<script src="axe.js"></script></head>'
    texts = [without_policy(text).replace("</head>", added, 1) for text in texts]
    seen = [Seen(text, PHONE if dark else DESKTOP) for text in texts]
    # What else a rule asks for does not depend on colours or widths.
    rules = 'runOnly: ["color-contrast", "target-size", "scrollable-region-focusable"],' if dark else ""
    told, console = look(seen, RUN.replace("RULES", rules), folder, dark=dark, wait=120_000)
    assert console == []
    return told


@needs_axe
@needs_chromium
@pytest.mark.parametrize("dark", [False, True], ids=["light, on a desk", "dark, on a phone"])
def test_axe_finds_nothing_on_any_kind_of_page(pages, dark, tmp_path):
    for name, told in zip(pages, _checked(pages.values(), tmp_path, dark=dark), strict=True):
        assert told["violations"] == [], name
        assert told["passes"] >= (3 if dark else 30), name
        assert told["over"] <= 0, name


@needs_axe
@needs_chromium
def test_axe_finds_nothing_on_the_page_of_real_ratings(simpeval, tmp_path):
    [told] = _checked([simpeval], tmp_path, dark=False)
    assert told["violations"] == []


@needs_axe
@needs_chromium
def test_axe_would_find_what_is_wrong(tmp_path):
    text = _short().replace(' lang="en"', "", 1).replace("--soft:#555b66", "--soft:#b0b4bb", 1)
    [told] = _checked([text], tmp_path, dark=False)
    assert {"html-has-lang", "color-contrast"} <= {name for name, *_ in told["violations"]}


@needs_chromium
def test_every_kind_of_page_prints_whole(pages, tmp_path):
    script = """
doc.querySelectorAll("details").forEach(d => d.open = true);
const edge = doc.querySelector(".page").getBoundingClientRect().right;
return [...doc.querySelectorAll("table, svg.plot, .card")].filter(t => t.getBoundingClientRect().right > edge + 1)
  .map(t => t.textContent.slice(0, 60));
"""
    told, _ = look([Seen(text, SHEET, printed=True) for text in pages.values()], script, tmp_path, wait=10_000)
    assert told == [[]] * len(pages)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_of_text_keep_the_contrast_that_wcag_asks_for(scheme):
    rules = re.findall(r":root\{([^}]*)\}", _short())[: scheme + 1]
    colour = {name: value for rule in rules for name, value in re.findall(r"--([\w-]+):(#[0-9a-f]{3,6})", rule)}
    for name in ("ink", "soft", "link", "fail", "warn", "undetermined", "pass", "not_applicable"):
        for ground in ("bg", "card"):
            assert _contrast(colour[name], colour[ground]) >= 4.5, (name, ground)
    assert _contrast(colour["m-muted"], colour["bg"]) >= 4.5


def test_contrast_of_known_colours():
    assert _contrast("#fff", "#000000") == pytest.approx(21)
    assert _contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def _contrast(one, two):
    """(L1 + .05) / (L2 + .05), WCAG 2.2, of relative luminances."""
    lighter, darker = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour):
    digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
