"""The worked example: the readout paper's published figures, shown as a run's are."""

import importlib.util
import json
from pathlib import Path

import pytest

from measurand.reporting import render_pages

FOLDER = Path(__file__).parent.parent / "docs" / "readout-paper"
GIVEN = json.loads((FOLDER / "published.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("readout_paper", FOLDER / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_pages_are_what_the_published_figures_make(make):
    for name, of_benchmark, title in (
        ("report.md", False, make.TITLE),
        ("benchmark.md", True, f"{make.TITLE}: the benchmark's own systems"),
    ):
        result = make.published(of_benchmark=of_benchmark)
        _, markdown = render_pages(result, title=title, reproduce={"source": GIVEN["source"]})
        assert markdown == (FOLDER / name).read_text(encoding="utf-8"), f"{name}: run docs/readout-paper/make.py"


def test_the_page_reads_as_the_papers_tables_do():
    page = (FOLDER / "report.md").read_text(encoding="utf-8")
    verification = page[page.index("**Scores, verification**") : page.index("**Scores, generative**")]
    order = [one["system"] for one in sorted(GIVEN["models"], key=lambda one: -one["verification"])]
    places = [verification.index(name.replace("_", r"\_")) for name in order]
    assert places == sorted(places)
    assert verification.index("Anchor: one rater") > max(places), "all eleven stand above the anchor"
    assert r"0.468 \[0.451, 0.484\]" in verification
    generative = page[page.index("**Scores, generative**") :]
    above = generative[: generative.index("Anchor: one rater")]
    assert [name for name in order if name.replace("_", r"\_") in above] == [
        "GLM-4.6V-Flash",
        "gemma-4-12B",
        "Qwen3-VL-8B",
    ]


def test_the_figures_agree_with_each_other(make):
    result = make.published()
    alphas = {row.keys["criterion"]: row.estimate for row in result["criteria"] if row.statistic == "alpha_interval"}
    reliable = [name for name, alpha in alphas.items() if alpha >= 0.3]
    assert len(alphas) == 40
    assert len(reliable) == 5
    anchor = {row.keys["criterion"]: row.estimate for row in result["anchors"] if row.keys["criterion"]}
    whole = {row.keys["set"]: row.estimate for row in result["anchors"] if row.keys["set"]}
    assert sum(anchor[name] for name in reliable) / 5 == pytest.approx(whole["reliable"], abs=5e-4)
    assert sum(anchor.values()) / 40 == pytest.approx(whole["all"], abs=5e-4)
    assert sum(one["verification"] - one["generative"] for one in GIVEN["models"]) / 11 == pytest.approx(
        GIVEN["gain"]["estimate"], abs=5e-4
    )


def test_the_figures_are_those_of_the_authors_files(shared):
    published = json.loads((shared / "golden" / "readout.json").read_text(encoding="utf-8"))
    assert GIVEN["anchors"]["reliable"][0] == pytest.approx(published["anchor_reliable"], abs=5e-6)
    assert GIVEN["anchors"]["all"][0] == pytest.approx(published["anchor_all40"], abs=5e-6)
    theirs = sorted(value[1] for value in published["models_kappa_raw_calibrated_map"].values())
    assert sorted(one["verification"] for one in GIVEN["models"]) == pytest.approx(theirs, abs=1e-4)
