"""The tutorials and the guide to numbers are true: they run, their quotations are said, their rows are there."""

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import measurand as mz
from measurand import cli
from measurand.data import read_answers
from measurand.keys import KEYS
from measurand.probing import geometry

DOCS = Path(__file__).parent.parent / "docs"
NAMES = ("tutorial-readout", "tutorial-panel", "which-number")
TEXTS = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in NAMES}
RUNS = ("audit", "run/report", "length", "probe", "next", "plan", "holes", "single-scores", "refused-scores")


def blocks(text):
    """Return the fenced blocks in their order: language, content."""
    return re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.S | re.M)


def said_by(command):
    before, said = sys.argv, io.StringIO()
    sys.argv = ["measurand", *shlex.split(command)]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as ended:
            cli.app()
    finally:
        sys.argv = before
    assert not ended.value.code, said.getvalue()
    return said.getvalue()


def shown(block):
    """Return the commands of a block, each with the lines that stand beneath it."""
    parts = re.split(r"^\$ measurand (.+)\n", block, flags=re.M)
    return list(zip(parts[1::2], [part.splitlines() for part in parts[2::2]], strict=True))


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The folder in which all three have been run, each command once, and what commands and snippets said."""
    place, said, printed = tmp_path_factory.mktemp("tutorials"), {}, {}
    with contextlib.chdir(place):
        for name, text in TEXTS.items():
            scope, printed[name] = {}, io.StringIO()
            for language, block in blocks(text):
                if language == "toml" and not Path("study.toml").exists():
                    Path("study.toml").write_text(block, encoding="utf-8")
                if language == "python":
                    with contextlib.redirect_stdout(printed[name]):
                        exec(compile(block, f"{name}.md", "exec"), scope)  # noqa: S102
                for command, _ in shown(block):
                    if command not in said:
                        said[command] = said_by(command)
    results = {run: mz.Result.from_json(place / run / "results.json") for run in RUNS}
    return said, {name: one.getvalue() for name, one in printed.items()}, results


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_under_a_command_is_what_it_says(ran, name):
    said, printed, _ = ran
    for language, block in blocks(TEXTS[name]):
        for command, lines in shown(block):
            there = said[command].splitlines()
            for line in lines:
                assert line in ("…", *there), (command, line)
        if not language and not block.startswith("$"):
            assert block in printed[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_quotation_is_what_a_finding_says(ran, name):
    statements = [finding.statement for result in ran[2].values() for finding in result.findings]
    for quoted in re.findall(r"^> (?!\*)(.+)$", TEXTS[name], flags=re.M):
        assert any(quoted in statement for statement in statements), quoted


def named():
    """Return the rows that the guide names: the section's run, the name."""
    text = TEXTS["which-number"]
    for section in text.split("\n## ")[1:]:
        for command in re.findall(r"^\$ measurand (.+)$", section, flags=re.M):
            out = re.search(r"--out (\S+?)/?$", command)
            for row in re.findall(r"`(\w+ / \w+(?: \([^)`]+\))?)`", section):
                yield (out[1] if out else "run/report"), row


@pytest.mark.parametrize(("run", "row"), sorted(set(named())))
def test_every_row_that_the_guide_names_is_in_a_run(ran, run, row):
    analysis, statistic, told = re.fullmatch(r"(\w+) / (\w+)(?: \((.+)\))?", row).groups()
    keys = dict(one.split(" ", 1) for one in told.split(", ")) if told else {}
    assert set(keys) <= set(KEYS[analysis])
    rows = [one for one in ran[2][run] if (one.analysis, one.statistic) == (analysis, statistic)]
    assert [one for one in rows if all(str(one.keys.get(key, "")) == value for key, value in keys.items())]


def only(result, analysis, statistic, unit="", method="", **keys):
    rows = result.select(analysis, statistic, keys)
    (row,) = [row for row in rows if unit in ("", row.unit) and method in row.method and row.low is not None] or rows
    return row


def test_the_sentences_for_a_paper_hold_the_numbers_of_the_runs(ran):
    results = ran[2]
    guide, panel, readout = (
        " ".join(re.findall(r"^> \*(.+)\*$", TEXTS[name], flags=re.M))
        for name in ("which-number", "tutorial-panel", "tutorial-readout")
    )

    f = only(results["audit"], "system_test", "f", error_term="quasi_f")
    told = f"quasi-F = {f.estimate:.2f} with {f.df1:.1f} and {f.df2:.1f} degrees of freedom, p = {f.p:.2f}"
    g = only(results["audit"], "generalizability", "g", estimator="anova", at_items=290, at_raters=3)
    for text in (guide, panel):
        assert told.replace("p = 0.", "p = .") in text
        assert f"G = {g.estimate:.2f} (95 % interval {g.low:.2f} to {g.high:.2f}" in text

    study = results["run/report"]
    of = {"calibration": "rank", "fit": "held_out", "target": "ratings", "ties": "block", "set": "reliable"}
    s1 = only(study, "scores", "kappa_quadratic", system="S1", readout="verification", **of)
    assert f"kappa of {s1.estimate:.2f} (95 % interval {s1.low:.2f} to {s1.high:.2f}" in guide
    two, others, calibrated = (
        study.value("anchors", "kappa_quadratic", {"anchor": anchor, "set": "reliable"})
        for anchor in ("pairwise", "leave_one_out", "leave_one_out_calibrated")
    )
    assert f"two raters reach {two:.2f}, the calibrated mean of the others {calibrated:.2f}" in guide
    assert f"({s1.estimate:.2f} against {two:.2f})" in readout
    assert f"mean of the other raters ({others:.2f}; calibrated as the systems are {calibrated:.2f})" in readout
    drops = [
        one
        for one in study.select("contrasts", "difference", {"contrast": "readout", "set": "reliable"})
        if (one.keys["a"], one.keys["b"]) == ("verification", "generative") and one.keys["system"] != "nobody"
    ]
    assert f"{min(d.estimate for d in drops):.2f} to {max(d.estimate for d in drops):.2f}" in readout
    assert f"p ≤ {max(d.p_adjusted for d in drops):.3f}" in readout
    (above,) = study.select(
        "contrasts", "difference", {"contrast": "anchor", "a": "S1", "b": "pairwise", "readout": "verification", **of}
    )
    assert above.low > 0
    assert above.p_adjusted < 0.05

    refused, of_s1 = results["refused-scores"], {"system": "S1", "readout": "verification"}
    kappa, worst, best = (
        refused.value("coverage", "kappa_quadratic", of_s1 | {"policy": policy})
        for policy in ("exclude", "wrong", "right")
    )
    answered = refused.value("coverage", "coverage", of_s1)
    assert f"answered {120 * answered:.0f} of 120 questions ({answered:.0%}".replace("%", " %") in guide
    assert f"kappa of {kappa:.2f} could lie anywhere from {worst:.2f} to {best:.2f}" in guide

    slope = only(results["length"], "length", "slope", model="full+rater_slope")
    told = (
        f"by {slope.estimate:.2f} scale points for each emoji more (95 % interval {slope.low:.2f} to {slope.high:.2f}"
    )
    assert told.replace("-", "−") in guide

    english = {"system": "S1", "language": "English", "control": "", "seed": "", "n_train": "", "train": ""}
    told_of = only(results["probe"], "decodability", "macro_f1", method="again", **english)
    assert f"macro-F1 {told_of.estimate:.2f}, 95 % interval {told_of.low:.2f} to {told_of.high:.2f}" in guide
    excess = only(results["probe"], "decodability", "excess", **{**english, "control": "permuted"})
    assert f"{excess.estimate:.2f} ({excess.low:.2f} to {excess.high:.2f}) above permuted" in guide

    cost = only(results["next"], "plan", "cost_needed", estimator="anova", layout="")
    assert f"costs {cost.estimate:.0f} by the estimate (95 % range {cost.low:.0f} to {cost.high:,.0f})" in guide
    sure = min(
        results["next"].select("plan", "cost", {"estimator": "anova", "basis": "lower_limit"}),
        key=lambda row: row.estimate,
    )
    assert f"costs {sure.estimate:,.0f}: ten raters with 48 of 96 items each" in guide
    sizes = [sure.keys[key] for key in ("layout", "at_raters", "at_items_per_rater", "at_items")]
    assert sizes == ["rotating", 10, 48, 96]


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name):
    for file in re.findall(r"\]\(([^)#:]+)[^)]*\)", TEXTS[name]):
        assert (DOCS / file).exists(), file


ANALYSES = DOCS / "analyses"


def table_after(head, text):
    """Return the names in the first column of the tables that have this head."""
    found = []
    for table in re.findall(rf"^\| {head} \|.*\n\|[-|]+\|\n((?:\|.*\n?)+)", text, flags=re.M):
        for line in table.splitlines():
            found += re.findall(r"`([^`]+)`", re.split(r"(?<!\\)\|", line)[1])
    return found


@pytest.mark.parametrize("analysis", KEYS)
def test_every_analysis_has_a_page_with_its_keys(analysis):
    text = (ANALYSES / f"{analysis}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# `{analysis}`: ")
    assert sorted(table_after("key", text)) == sorted(KEYS[analysis])
    assert "**What can go wrong.**" in text
    assert f"(analyses/{analysis}.md)" in (DOCS / "analyses.md").read_text(encoding="utf-8")
    for file in re.findall(r"\]\(([^)#:]+)[^)]*\)", text):
        assert (ANALYSES / file).exists(), file


def test_every_statistic_of_a_run_is_on_its_page(ran):
    truth = pd.DataFrame({"item": range(12), "label": ["joy", "fear", "joy"] * 4})
    chosen = pd.DataFrame({"system": "S", "item": range(12), "answer": ["joy", "fear", "fear"] * 4})
    holes = pd.DataFrame(
        [(i, s, r, i + s + r % 3) for i in range(9) for s in range(3) for r in range(4) if (i + r) % 3]
    )
    holes.columns = ["item", "system", "rater", "rating"]
    cloud = mz.Vectors("cross", tuple("abcd"), np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))
    more = [
        mz.forced_choice(read_answers(chosen, labels=True), mz.read_items(truth), replicates=100),
        mz.components(holes, draws=1000),
        mz.generalizability(holes, draws=1000),
        mz.missingness(holes),
        geometry([cloud]),
        mz.facets(holes[holes.rater == 1].query("item % 3 != 2"), formula="system x item", draws=1000),
    ]
    told = {name: set(table_after("statistic", (ANALYSES / f"{name}.md").read_text(encoding="utf-8"))) for name in KEYS}
    there = {(row.analysis, row.statistic) for result in [*ran[2].values(), *more] for row in result}
    by_way = re.compile(r"(accuracy|share_read|mean)_(first|last|only|strict|given)")
    missing = {
        (analysis, statistic)
        for analysis, statistic in there
        if statistic not in told[analysis] and not (analysis == "gates" and by_way.fullmatch(statistic))
    }
    assert not missing
    assert {analysis for analysis, _ in there} >= set(KEYS) - {"examples", "repeats", "attempts"}
