"""Names and texts that try to run, to break out or to break: on pages with scripts on, and in tables as CSV."""

import csv
import datetime
import itertools
import re
from itertools import product

import numpy as np
import pandas as pd
import pytest

import measurand as mz
from html_page import Page
from measurand.data import Scale
from measurand.simulate import simulate_outputs
from measurand.study import manifest, write_run
from reporting.browser import DESKTOP, PHONE, Seen, look, needs_chromium, without_policy
from reporting.test_examples_page import made, whole

MARK = "document.documentElement.dataset.ran=1"
HOSTILE = [
    f"<script>{MARK}</script>",
    f'"><img src=x onerror="{MARK}">',
    f"'><svg/onload={MARK}>",
    f"</title></style></script><script>{MARK}</script>",
    f"</textarea><iframe srcdoc='<script>parent.{MARK}</script>'></iframe>",
    f"javascript:{MARK}",
    "=cmd('calc')",
    "+1-@SUM(A1)",
    "@import url(x)",
    "\t=1+1",
    "n" * 300,
    "👩🏽‍🚀 ❤️",
    "نموذج عربي",
    "two\nlines\r\nmore",
    "\u202egnp.exe\x07\x1b[31m",
    "{{ 7 * 7 }} {% raise %} $x^2$ `|` [a](javascript:b) ![c](d)",
]
LOOK = """
await new Promise(done => win.setTimeout(done, 50));
doc.querySelectorAll("details").forEach(d => d.open = true);
doc.querySelectorAll("thead button").forEach(b => { b.click(); b.click(); });
const root = doc.documentElement, tags = [...new Set([...doc.querySelectorAll("*")].map(e => e.localName))];
return {ran: root.dataset.ran || window.document.documentElement.dataset.ran || "", scripts: doc.scripts.length,
  over: root.scrollWidth - root.clientWidth, sources: [...doc.images].filter(i => !i.src.startsWith("data:")).length,
  bad: tags.filter(t => ["iframe", "object", "embed", "form", "base", "link", "textarea", "foreignobject"].includes(t)),
  handlers: [...doc.querySelectorAll("*")].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith("on")).length,
  links: [...doc.links].filter(a => !a.getAttribute("href").startsWith("#")).length};
"""


def names(n, start=0):
    """As many hostile names as wanted, all different."""
    return [HOSTILE[k % len(HOSTILE)] + (f" {k}" if k >= len(HOSTILE) else "") for k in range(start, start + n)]


def rated():
    noise = np.random.default_rng(0)
    rows = [
        {"item": item, "system": system, "rater": rater, "criterion": criterion, "rating": int(noise.integers(1, 6))}
        for item, system, rater, criterion in product(names(8), names(6), names(3, 3), names(2, 1))
    ]
    return mz.read_ratings(pd.DataFrame(rows), scale=Scale(1, 5, step=1), level="ordinal")


def answered():
    noise = np.random.default_rng(1)
    rows, said = [], []
    for n, (item, criterion) in enumerate(product(names(20), names(2, 3))):
        rows += [
            {"item": item, "rater": r, "criterion": criterion, "rating": (n + k) % 8} for k, r in enumerate(names(3))
        ]
        said += [
            {"item": item, "system": system, "criterion": criterion, "readout": readout, "answer": noise.uniform()}
            for system, readout in product(names(3, 5), names(2, 7))
        ]
    ratings = mz.read_ratings(pd.DataFrame(rows), scale=Scale(0, 7, step=1))
    return mz.read_answers(pd.DataFrame(said)), ratings


def put_out():
    """Outputs whose systems, labels, languages and texts are hostile."""
    simulated = simulate_outputs(n_items=120, n_systems=3, labels=("anger", "joy"), n_raters=0, truth_draws=0)
    outputs = simulated.outputs.copy()
    for column, start in (("system", 0), ("label", 4), ("language", 8)):
        known = sorted(outputs[column].unique())
        outputs[column] = outputs[column].map(dict(zip(known, names(len(known), start), strict=True)))
    outputs["text"] = [f"{text} {name}" for text, name in zip(outputs["text"], names(len(outputs)), strict=True)]
    outputs["item"] = outputs["item"].map(dict(zip(outputs["item"].unique(), names(120), strict=True)))
    return outputs


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    answers, ratings = answered()
    cards = made(tmp_path_factory.mktemp("cards"), names(16), names(2), raters=names(3, 4), criterion=HOSTILE[0])
    return {
        "audit": mz.audit(rated(), replicates=100, draws=1000),
        "scores": mz.score(answers, ratings, replicates=100),
        "probe": mz.probe(put_out(), n_seeds=1, replicates=100, refits=0, repeats=2),
        "cards": whole(cards),
    }


@pytest.fixture(scope="module")
def runs(results, tmp_path_factory):
    """The folders of the runs, by name."""
    told = {"command": " ".join(HOSTILE), "settings": {HOSTILE[0]: HOSTILE[3]}}
    document = manifest([], started=datetime.datetime.now(datetime.UTC), **told)
    folders = {name: tmp_path_factory.mktemp("runs") / name for name in results}
    for name, result in results.items():
        write_run(result, folders[name], title=HOSTILE[3], document=document)
    return folders


@pytest.fixture(scope="module")
def pages(runs):
    return {name: (folder / "report.html").read_text(encoding="utf-8") for name, folder in runs.items()}


@needs_chromium
@pytest.mark.parametrize("policy", [True, False], ids=["as it is", "without its policy"])
def test_nothing_runs_and_nothing_breaks(pages, policy, tmp_path):
    texts = [text if policy else without_policy(text) for text in pages.values()]
    told, console = look([Seen(text, PHONE if policy else DESKTOP) for text in texts], LOOK, tmp_path)
    assert console == []
    for name, one in zip(pages, told, strict=True):
        assert one.pop("over") <= 0, name
        assert one == {
            "ran": "", "scripts": 1, "sources": 0, "bad": [], "handlers": 0, "links": 0
        }, name  # fmt: skip


@needs_chromium
def test_the_mark_would_be_seen(tmp_path):
    text = "<!DOCTYPE html><html><body>"
    told, _ = look([Seen(text + one) for one in HOSTILE[:3]], LOOK, tmp_path)
    assert [one["ran"] for one in told] == ["1", "1", "1"]


def test_pages_are_whole_and_show_the_names(pages):
    for text in pages.values():
        parsed = Page(text)
        assert (parsed.faults, parsed.open) == ([], [])
        assert len(parsed.ids()) == len(set(parsed.ids()))
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)
        # A name is shown as it was written, shortened where it is long.
        assert HOSTILE[1][:12] in parsed.text or HOSTILE[0][:12] in parsed.text
        assert "49 {%" not in parsed.text


def test_markdown_has_no_markup_of_theirs(runs):
    for folder in runs.values():
        text = (folder / "report.md").read_text(encoding="utf-8")
        outside = re.sub(r"(`+).*?\1", "", text)
        assert not re.search(r"<(?!br>)[a-z/!]", outside)
        assert not re.search(r"(?<!\\)\[", outside)
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", text)


def test_no_cell_of_a_table_is_a_formula(runs):
    for folder in runs.values():
        for path in sorted((folder / "tables").iterdir()):
            with path.open(encoding="utf-8", newline="") as file:
                for cell in itertools.chain.from_iterable(csv.reader(file)):
                    assert not re.match(r"[=+@\t\r-]", cell) or _is_number(cell), (path.name, cell[:80])


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True
