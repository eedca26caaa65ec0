"""Pages, Markdown and screens of scoring runs, forced choices and gates."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from html_page import Page
from measurand.data import Scale, read_answers, read_items, read_ratings
from measurand.reporting import default_title, render_html, render_markdown, render_summary, report
from measurand.reporting.cells import Remarks
from measurand.reporting.gates import Gates
from measurand.reporting.scores import gates_cell, ranks_of
from measurand.reporting.scores_cells import against, one_sided, see, smallest_p
from measurand.reporting.scores_contrasts import order
from measurand.reporting.scores_summary import scores_table, table
from measurand.reporting.scores_verdict import failing, lead
from measurand.reporting.scores_view import Scores, is_control, side
from measurand.result import Finding, Result, Row, show_number
from measurand.scoring.forced_choice import forced_choice
from measurand.scoring.gates import gates
from measurand.scoring.score import score
from measurand.simulate.benchmark import simulate_benchmark

CLASSES = ["anger", "disgust", "fear", "happy"]
HOSTILE = ["<script>alert(1)</script>", "n" * 200, "$x^2$ | `a`", "نموذج عربي", "日本語のモデル", "{{ 7 * 7 }}\x07"]
SECTIONS = [
    "findings", "systems", "by-criterion", "order", "contrasts", "criteria", "spread", "reliability", "decisions",
    "coverage", "baselines", "gates", "undefined", "protocol", "words", "methods", "reproduce",
]  # fmt: skip


def scored(answers, ratings, **changes):
    choices = {"replicates": 100, "over": ("item",)} | changes
    return score(read_answers(answers), read_ratings(ratings, scale=Scale(0, 7, step=1)), **choices)


@pytest.fixture(scope="session")
def study():
    return simulate_benchmark(
        seed=3,
        n_items=40,
        n_criteria=4,
        truth_items=0,
        validities=(0.95, 0.8, 0.4),
        readouts=("verification", "generative"),
        missing_answers=0.03,
    )


@pytest.fixture(scope="session")
def several(study):
    sizes = pd.DataFrame({"system": ["S1", "S2", "S3"], "parameters": [1e9, 2e9, 3e9]})
    return scored(study.answers, study.ratings, over=("item", "item+rater"), margin=0.1, systems=sizes)


@pytest.fixture(scope="session")
def single():
    study = simulate_benchmark(seed=3, n_items=60, n_criteria=1, truth_items=0, validities=(0.95, 0.4))
    return scored(study.answers, study.ratings)


@pytest.fixture(scope="session")
def protocols():
    """Two phrasings and a control of one system, and a second system."""
    study = simulate_benchmark(seed=5, n_items=60, n_criteria=1, truth_items=0, validities=(0.95, 0.6))
    plain = study.answers.drop(columns="log_odds").assign(phrasing="first", control="")
    other = plain.assign(phrasing="second", answer=plain["answer"] ** 1.3)
    blank = plain.assign(control="blank", answer=np.random.default_rng(1).random(len(plain)))
    return scored(pd.concat([plain, other, blank]), study.ratings)


@pytest.fixture(scope="session")
def hostile_scores(study):
    names = dict(zip(["S1", "S2", "S3"], HOSTILE, strict=False))
    criteria = dict(zip(study.ratings["criterion"].unique(), HOSTILE[1:], strict=False))
    answers, ratings = (frame.astype({"criterion": str}) for frame in (study.answers, study.ratings))
    answers = answers.assign(system=answers["system"].map(names), criterion=answers["criterion"].map(criteria))
    return scored(answers, ratings.assign(criterion=ratings["criterion"].map(criteria)))


@pytest.fixture(scope="session")
def forty_criteria(several):
    """The run of four criteria as one of forty criteria with fifteen systems."""
    rows = []
    for row in several.rows:
        keys = row.keys
        criteria = [keys.get("criterion", "")]
        if keys.get("criterion"):
            criteria = [f"{keys['criterion']} of ten {n}" for n in range(10)]
        systems = [keys.get("system", "")]
        if row.analysis in ("scores", "coverage", "spread") and keys.get("system"):
            systems = [f"{keys['system']} number {n}" for n in range(5)]
        rows += [replace(row, keys={**keys} | _changed(keys, c, s)) for c in criteria for s in systems]
    return Result(rows, several.settings, several.findings)


def _changed(keys, criterion, system):
    return {name: value for name, value in (("criterion", criterion), ("system", system)) if name in keys}


@pytest.fixture(scope="session")
def chosen():
    rng = np.random.default_rng(0)
    names = [f"i{n}" for n in range(48)]
    label = [CLASSES[n % 4] for n in range(48)]
    items = pd.DataFrame({"item": names, "label": label, "group": [f"p{n // 4}" for n in range(48)]})
    items["age"] = ["young", "old"] * 24
    rows = []
    for system, validity in (("A", 3.0), ("B", 1.0), ("C", 0.0)):
        for readout in ("verification", "generative"):
            for n, name in enumerate(names):
                failed = system == "C" and readout == "generative" and n % 9 == 0
                for place, of in enumerate(CLASSES):
                    p = 1 / (1 + np.exp(-(validity * (place == n % 4) + rng.normal())))
                    p = round(p, 1) if readout == "generative" else p
                    rows.append((system, name, of, readout, np.nan if failed else p, "invalid" if failed else "ok"))
    answers = pd.DataFrame(rows, columns=["system", "item", "criterion", "readout", "answer", "status"])
    return forced_choice(read_answers(answers), read_items(items), by="age", replicates=100)


@pytest.fixture(scope="session")
def gated(study):
    constant = study.answers.assign(system="constant", answer=0.4)
    constant = constant[(constant["readout"] == "verification") & study.answers["system"].eq("S1")]
    answers = pd.concat([study.answers, constant.assign(log_odds=-0.4)])
    ratings = read_ratings(study.ratings, scale=Scale(0, 7, step=1))
    return gates(read_answers(answers), ratings=ratings, replicates=100, permutations=99)


RUNS = ["several", "single", "protocols", "hostile_scores", "forty_criteria", "chosen", "gated"]


def page(result, **changes):
    return render_html(result, **({"title": "Scores", "reproduce": {"seed": "0"}} | changes))


@pytest.mark.parametrize("name", RUNS)
def test_pages_are_well_formed_and_self_contained(name, request):
    result = request.getfixturevalue(name)
    text = page(result)
    parsed = Page(text)
    assert parsed.faults == []
    assert parsed.open == []
    ids = parsed.all("id")
    assert len(ids) == len(set(ids))
    assert not {tag for tag, _ in parsed.elements} & {"img", "iframe", "link", "form"}
    assert {one[1:] for one in parsed.all("href") + parsed.all("xlink:href")} <= set(ids)
    assert len(text) < 2_500_000
    for finding in result.findings:
        assert " ".join(finding.statement.split()) in parsed.text


@pytest.mark.parametrize("name", ["single", "chosen", "gated"])
def test_same_bytes_after_a_round_trip(name, request):
    result = request.getfixturevalue(name)
    assert page(result) == page(Result.from_json(result.to_json()))


@pytest.mark.parametrize("name", RUNS)
def test_markdown_tables_hold_together(name, request):
    text = render_markdown(request.getfixturevalue(name), title="a|b", reproduce={"seed": "0"})
    assert "<" not in text
    width = 0
    for line in text.splitlines():
        n = len(re.findall(r"(?<!\\)\|", line))
        if line.startswith("|"):
            width = width or n
            assert n == width
        else:
            width = 0


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("width", [60, 80])
def test_screens_fit(name, width, request):
    result = request.getfixturevalue(name)
    text = render_summary(result, width=width, color=False)
    lines = text.splitlines()
    assert len(lines) <= (60 if width < 80 else 48)
    assert max(min(len(line), cell_len(line)) for line in lines) <= width
    assert "\x1b" not in text
    coloured = render_summary(result, width=width, color=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == text


def test_sections_stand_in_order(several, single):
    def of(result):
        return [attrs["id"] for tag, attrs in Page(page(result)).elements if tag == "section" and "class" not in attrs]

    assert of(several) == SECTIONS
    # One criterion has nothing to be compared criterion by criterion.
    assert of(single) == [name for name in SECTIONS if name != "by-criterion"]


def test_titles_follow_the_kind_of_run(several, chosen, gated):
    assert [default_title(one) for one in (several, chosen, gated)] == [
        "Scores against raters",
        "Forced choice",
        "Gates",
    ]
    assert default_title(Result([Row("design", {}, "n_items", 3)])) == "Audit of ratings"
    assert "<h1>Gates</h1>" in report(gated)


def test_scores_anchors_and_baselines_are_the_rows(several):
    text = Page(page(several)).text
    view = Scores(several)
    for arm in view.arms:
        row = view.score(arm)
        assert show_number(row.estimate, width=row.high - row.low) in text
    for name in ("pairwise", "leave_one_out"):
        row = view.anchor(name)
        assert show_number(row.estimate, width=row.high - row.low) in text
    assert "Anchor: one rater" in text
    assert "Anchor: mean of the others" in text
    assert "Baseline: lowest level" in text


def test_ranks_are_those_of_the_run(several):
    view = Scores(several)
    for protocol, arms in view.protocols.items():
        shown = ranks_of(view, arms)
        for arm in arms:
            keys = {"of": ", ".join(filter(None, protocol)), "system": arm[0], "set": view.main["set"]}
            assert float(shown[arm].text) == several.value("spread", "rank", keys)


def test_controls_stand_apart_from_contenders(protocols):
    view = Scores(protocols)
    assert [one[0] for one in view.plain] == ["verification", "verification"]
    assert view.plain[0] == ("verification", "first", "")
    assert sorted({one[0] for one in view.protocols if is_control(one)}) == ["binarized", "verification"]
    text = Page(page(protocols)).text
    assert "Controls are no contenders" in text
    assert "Control inputs" in text
    assert "Best of them" in text


def test_a_system_that_is_a_control_stands_in_the_table_and_in_no_rank_or_verdict(study):
    found = scored(study.answers, study.ratings, controls=["S1"])
    view = Scores(found)
    assert all("S1" not in {arm[0] for arm in arms} for arms in view.protocols.values())
    members = view.with_controls(view.plain[0])
    shown = {arm[0]: cell.text for arm, cell in ranks_of(view, members).items()}
    assert shown == {"S1": "control", "S2": "1", "S3": "2"}
    assert "S1" not in " ".join(lead(view))
    text = Page(page(found)).text
    assert "trained as a control of another system" in text
    assert show_number((row := view.score(members[-1])).estimate, width=row.high - row.low) in text


def test_control_is_not_read_out_of_other_values():
    assert is_control(("verification", "", "prefill=x, control=blank"))
    assert not is_control(("verification", "", "prefill=uncontrol=1"))


def test_the_side_of_a_difference_is_told_by_its_adjusted_p():
    keys = {"contrast": "anchor"}
    clear = Row("contrasts", keys, "difference", -0.2, -0.3, -0.1, p=0.001, p_adjusted=0.01)
    assert side(clear) == "below"
    assert side(replace(clear, p_adjusted=0.051)) == "open"
    assert side(replace(clear, p=None, p_adjusted=None)) == "below"
    assert side(Row("contrasts", keys, "difference", np.nan, undefined="no score")) == ""
    assert side(None) == ""


def test_screen_and_page_hold_systems_against_the_mean_that_is_calibrated_as_they_are(several):
    view = Scores(several)
    lines = scores_table(view, 80)
    (head,) = [line for line in lines if line.startswith("system")]
    assert head.split("  ")[-3:] == ["v. one rater", "v. others", "calibrated"]
    assert any(line.startswith("= mean, calibrated") for line in lines)
    assert "others: their mean; calibrated: that mean, calibrated as the systems are" in lines
    top = next(line for line in lines if line.startswith(view.ranked(view.protocols[view.plain[0]])[0][0]))
    arm = view.ranked(view.protocols[view.plain[0]])[0]
    where = side(view.against(arm, "leave_one_out_calibrated"))
    assert top.split()[-1].strip("✗ gates")[:1] in ("", {"above": "▲", "below": "▼", "open": "≈"}[where])
    assert "Against mean of the others, calibrated" in page(several)
    assert "that mean calibrated as the systems are" in lead(view)[0]


def test_answers_that_are_not_calibrated_are_held_against_no_calibrated_mean(study):
    graded = study.answers.query("readout == 'generative'")
    view = Scores(scored(graded, study.ratings, calibrate=("none",)))
    assert "leave_one_out_calibrated" not in against(view)
    assert "calibrated" not in " ".join([*scores_table(view, 80), *lead(view)])


def test_the_verdict_counts_what_the_rows_say(single):
    view = Scores(single)
    arms = view.protocols[view.plain[0]]
    n = sum(side(view.against(arm, "pairwise")) == "above" for arm in arms)
    first = lead(view)[0]
    scoring = ["Neither system scores", "1 of 2 systems scores", "Both systems score"][n]
    assert f"{scoring} above the agreement of one rater" in first
    pairs = single.select("contrasts", "difference", {"contrast": "system", "readout": "verification"})
    differ = [row.p_adjusted < 0.05 for row in pairs if row.unit == "item"]
    assert ("The two systems differ" if differ == [True] else "No order") in lead(view)[1]


def test_a_failing_arm_is_marked_and_stays(several):
    rows = [Row("gates", {"gate": "coverage", "system": "S1", "readout": "generative"}, "passed", 0.0, note="fail: x")]
    kept = [row for row in several.rows if row.analysis != "gates"]
    found = Result([*kept, *rows], several.settings, several.findings)
    text = Page(page(found)).text
    assert "✗ 1 failed" in text
    assert "1 arm fails gates: S1 (generative)." in text
    assert "1 arm fails gates" in " ".join(render_summary(found, width=80, color=False).split())


def test_of_many_failing_arms_the_verdict_has_the_number_and_the_gates_not_the_names(several):
    arms = Scores(several).arms
    rows = [
        Row(
            "gates",
            {"gate": gate, **dict(zip(("system", "readout", "phrasing", "variant"), arm, strict=True))},
            "passed",
            0.0,
        )
        for gate, of in (("answer-mass", arms), ("coverage", arms[:2]))
        for arm in of
    ]
    kept = [row for row in several.rows if row.analysis != "gates"]
    said = failing(Scores(Result([*kept, *rows], several.settings, several.findings)))
    n = len(arms)
    assert n > 4
    assert said == (
        f"{n} of {n} arms (a system under one protocol each) fail gates; most often answer-mass ({n}), coverage (2)."
    )


def test_findings_of_gates_and_scores_do_not_mix(several, gated):
    merged = Result([row for row in several.rows if row.analysis != "gates"], several.settings, several.findings)
    own = {one.id for one in Gates(several).findings}
    merged = Result(merged.rows, merged.settings, [one for one in several.findings if one.id not in own]) + gated
    parsed = Page(page(merged))
    assert len(parsed.all("id")) == len(set(parsed.all("id")))
    assert {f"gate-finding-{one.id}" for one in gated.findings} <= set(parsed.all("id"))
    assert own


def test_gates_show_every_verdict(gated):
    view = Gates(gated)
    assert view.verdict("constant-answers", ("constant", "verification", "", "")) == "fail"
    text = render_summary(gated, width=100, color=False)
    assert re.search(r"constant-answers +✗ 1  ✓ \d+   fail: constant \(verification\)", text)
    parsed = Page(page(gated))
    assert "What fails, and what warns" in parsed.text
    assert "1 of 7 arms fails a gate: constant (verification)" in parsed.text
    for gate in view.names:
        assert gate in parsed.text


def test_forced_choice_shows_classes_groups_and_contrasts(chosen):
    parsed = Page(page(chosen))
    for name in [*CLASSES, "young", "old", "Macro-F1", "chance 0.25", "Systems: differences"]:
        assert name in parsed.text
    row = chosen.select("forced_choice", "accuracy", {"system": "A", "readout": "verification", "group": ""})[0]
    assert show_number(row.estimate, width=row.high - row.low) in parsed.text
    assert "C, generative: 6 without a usable answer count as wrong" in parsed.text


def test_hostile_names_are_shown_and_do_nothing(hostile_scores):
    text = page(hostile_scores, title="<script>alert(2)</script>")
    assert text.count("<script") == 1
    assert "\x07" not in text
    parsed = Page(text)
    assert HOSTILE[0] in parsed.text
    assert "n" * 200 in " ".join(parsed.all("title"))
    assert "نموذج عربي" in parsed.text


def test_forty_criteria_and_many_systems_are_folded(forty_criteria):
    text = page(forty_criteria)
    assert "All 40 criteria" in text
    assert "(1 to 6 of 15)" in text
    opened = re.sub(r"<details.*?</details>", "", re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL), flags=re.DOTALL)
    assert "C1 of ten 3" not in opened


def test_what_was_not_given_is_said(single):
    text = Page(page(single)).text
    assert "Wording of the question not given" in text
    assert "Parser of replies not given" in text
    assert "Redrawn items Level of the intervals 95 %" in text


def test_a_run_without_anchors_or_contrasts_has_a_page(single):
    rows = [row for row in single.rows if row.analysis == "scores"]
    alone = Result(rows, {"scores": single.settings["scores"]})
    assert Page(page(alone)).faults == []
    assert "there is no anchor to hold it against" in Page(page(alone)).text
    assert "S1" in render_summary(alone, width=80, color=False)


@pytest.mark.parametrize("analysis", ["scores", "forced_choice", "gates"])
def test_a_run_in_which_all_is_undefined_has_a_page(analysis):
    statistic = {"scores": "kappa_quadratic", "forced_choice": "accuracy", "gates": "passed"}[analysis]
    keys = {"gate": "coverage", "system": "S"} if analysis == "gates" else {"system": "S"}
    result = Result([Row(analysis, keys, statistic, np.nan, undefined="undetermined: no answers")])
    assert Page(page(result)).faults == []
    assert "no answers" in Page(page(result)).text
    assert render_summary(result, width=80, color=False)


def test_many_arms_with_a_protocol_each_share_one_table():
    def row(n):
        keys = {"system": f"S{n}", "readout": f"r{n}", "calibration": "none", "aggregate": "pooled"}
        return Row("scores", keys, "kappa_quadratic", 0.1 * n, 0.1 * n - 0.05, 0.1 * n + 0.05, unit="item")

    text = Page(page(Result([row(n) for n in range(4)]))).text
    assert "Scores of all arms" in text
    assert text.index("S3 r3") < text.index("S0 r0")


def test_less_is_better_of_an_error():
    def row(name, value):
        keys = {"system": name, "calibration": "none", "aggregate": "pooled"}
        return Row("scores", keys, "mean_absolute_error", value, value - 0.1, value + 0.1, unit="item")

    view = Scores(Result([row("far", 2.0), row("near", 0.5)]))
    assert [arm[0] for arm in view.ranked(view.arms)] == ["near", "far"]
    assert ranks_of(view, view.arms)[view.arms[1]].text == "1"


def test_tables_of_the_terminal_drop_columns_that_do_not_fit():
    lines = table(["system", "a", "b"], [["日本語のモデルの名前", "1" * 20, "2" * 20]], 40, numbers=[1, 2])
    assert max(map(cell_len, lines)) <= 40
    assert "2" not in lines[1]


def test_unknown_kinds_of_names_are_shown_as_they_are():
    keys = {"system": "S", "calibration": "none", "aggregate": "pooled"}
    rows = [
        Row("scores", keys, "new_statistic", 0.3, 0.2, 0.4, unit="item"),
        Row("anchors", {"anchor": "new anchor"}, "kappa_quadratic", 0.2, 0.1, 0.3, unit="item"),
        Row("baselines", {**keys, "system": "", "baseline": "new baseline"}, "new_statistic", 0.0, -0.1, 0.1),
    ]
    found = Result(rows, findings=[Finding("new-question", "Is it new?", "pass", "It is.")])
    text = Page(page(found)).text
    for name in ("new_statistic", "Anchor: new anchor", "Baseline: new baseline", "It is."):
        assert name in text


def test_what_rows_share_is_said_once_below_a_table(several):
    text = page(several)
    for note in re.findall(r'<p class="note">([^<]*)</p>', text):
        assert not re.search(r"centre on [\d−.]", note)
    shown = re.findall(r'<p class="note">(Where an estimate lies near the end[^<]*)</p>', text)
    sections = text.split("<section")
    assert shown
    assert max(part.count("Where an estimate lies near the end") for part in sections) <= 3


def test_ends_of_ranks_and_counts_are_whole_or_a_tenth(several):
    ends = [row for row in several.rows if row.statistic == "rank" and row.low is not None]
    moved = [
        replace(row, low=row.estimate - 0.025, high=row.estimate + 1.025) if row in ends else row
        for row in several.rows
    ]
    shown = page(Result(moved, several.settings, several.findings))
    assert not re.search(
        r"\[\d\.\d{2,}|\[−?0\.02",
        "".join(re.findall(r"<small>\[[^<]*</small>", shown.split('id="spread-ranks"')[1].split("<section")[0])),
    )


def test_the_level_of_the_intervals_and_what_else_was_chosen_are_disclosed(several):
    text = Page(page(several)).text
    assert "Intervals (95 %): items redrawn" in text
    assert "Redrawn items; items and raters Level of the intervals 95 %" in text
    assert "Epsilon of the alternative annotator test 0.1" in text
    assert "Margin of equivalence 0.1" in text


def test_criteria_that_a_constant_answer_passes_are_told_from_the_others(several):
    rows = (
        [
            replace(row, estimate=1.0 if row.keys["criterion"] == several.settings["scores"]["criteria"][0] else 0.0)
            if row.statistic == "winning_rate" and row.keys.get("anchor") == "constant"
            else row
            for row in several.rows
        ]
        if "criteria" in several.settings["scores"]
        else several.rows
    )
    constant = [row for row in rows if row.statistic == "winning_rate" and row.keys.get("anchor") == "constant"]
    easy = sum(row.estimate >= 0.5 for row in constant if not row.undefined)
    text = Page(page(Result(rows, several.settings, several.findings))).text
    assert easy
    assert f"On {easy} criteri" in text or "On every criterion the median rating" in text


def test_where_holm_could_tell_no_pair_apart_none_is_counted(several):
    many = [replace(row, estimate=190.0) if row.statistic == "n_pairs" else row for row in several.rows]
    text = Page(page(Result(many, several.settings, several.findings))).text
    assert "After Holm no pair of so many could be told apart with 100 replicates" in text
    assert "After Holm no pair of so many" not in Page(page(several)).text


def test_the_lead_has_two_digits_of_both_spreads(several):
    changed = [
        replace(row, estimate={"sd_between_systems": 0.0853, "median_interval_width": 0.1038}[row.statistic])
        if row.statistic in ("sd_between_systems", "median_interval_width")
        else row
        for row in several.rows
    ]
    said = " ".join(lead(Scores(Result(changed, several.settings, several.findings))))
    assert "standard deviation is 0.085, the median interval 0.10 wide" in said


def test_counts_that_are_0_for_every_arm_are_named_below_the_table(gated):
    text = Page(page(gated)).text
    assert "0 for every arm:" in text
    assert "Criteria said to be there, mean" in text or "constant-counts" not in text


# --- Too few raters, gates that warn, what else fails, intervals beside p ---------------------------------------------


@pytest.fixture(scope="session")
def five_raters():
    study = simulate_benchmark(
        seed=5,
        n_items=120,
        n_criteria=2,
        n_raters=5,
        reliabilities=(0.6, 0.5),
        truth_items=0,
        validities=(0.98, 0.5, 0.05),
        readouts=("generative",),
        missing_answers=0.03,
    )
    return scored(study.answers, study.ratings, over=("item", "item+rater"))


def test_of_five_raters_verdict_table_and_terminal_have_one_mark_and_say_why(five_raters):
    view = Scores(five_raters)
    assert view.both == "item+rater"
    assert view.wider == ""
    assert "5 raters are too few to speak of raters of their kind." in " ".join(lead(view))
    for text in (
        render_html(five_raters, title="t", reproduce={}),
        render_summary(five_raters, width=100, color=False),
    ):
        assert "▲▲" not in text
        assert "▼▼" not in text
        assert re.search(r"5\s+raters\s+are\s+too\s+few", text)
        assert "others of their kind" not in text
    more = replace_settings(five_raters, n_raters=6)
    assert Scores(more).wider == "item+rater"
    assert "▼▼" in render_html(more, title="t", reproduce={})


def replace_settings(result, **changes):
    settings = {name: dict(values) for name, values in result.settings.items()}
    settings["scores"] |= changes
    return Result(result.rows, settings, result.findings)


def test_raters_redrawn_in_the_headline_itself_hold_for_others_of_their_kind(five_raters):
    rows = [row for row in five_raters.rows if row.unit in ("item+rater", "")]
    result = Result(rows, five_raters.settings, five_raters.findings)
    result = replace_settings(result, n_raters=8, over=["item+rater"])
    assert Scores(result).for_whom == "for these raters and for others of their kind"
    assert "raters were not redrawn" not in render_html(result, title="t", reproduce={})


def test_an_arm_that_a_gate_warns_of_does_not_pass_in_the_table_of_scores(five_raters):
    view = Scores(five_raters)
    assert view.warned
    arm = next(iter(view.warned))
    cell = gates_cell(view, arm)
    assert (cell.text, cell.verdict) == ("! warn", "warn")
    assert "coverage" in cell.title


def test_the_verdict_names_what_fails_and_no_other_sentence_speaks_of(five_raters):
    def verdict(*names):
        findings = [Finding(name, "?", "fail", "So.", "Do.") for name in names]
        return " ".join(lead(Scores(Result(five_raters.rows, five_raters.settings, findings))))

    assert "What else fails: missing answers could change the result." in verdict("coverage-decides", "order-real")
    assert "What else fails" not in verdict("exceeds-people", "order-real", "failed-systems")
    assert verdict("coverage-decides", "set-choice", "ties-decide", "stand-in", "phrasing-decides").endswith("2 more.")


def test_arms_that_fail_gates_are_counted_among_those_that_were_asked(several):
    view = Scores(several)
    assert len(view.gated) < len(view.arms)
    assert all(not is_control(arm[1:]) for arm in view.gated)


def difference_row(low, high, p, **more):
    return Row("contrasts", {"contrast": "anchor"}, "difference", 0.05, low, high, 0.95, "m", "item", p=p, **more)


def test_an_interval_that_leaves_out_0_beside_a_large_p_is_explained_and_others_are_not():
    assert "p decides" in one_sided([difference_row(0.01, 0.2, 0.3)])
    assert one_sided([difference_row(0.01, 0.2, 0.03), difference_row(-0.01, 0.2, 0.3), None]) == ""


def test_the_smallest_p_that_replicates_allow_is_said_where_several_have_it():
    at_bound = difference_row(0.01, 0.2, 0.01, p_adjusted=0.03, attainable_p=0.01)
    assert "p 0.03 is the smallest" in smallest_p([at_bound, at_bound])
    assert smallest_p([at_bound, difference_row(0.01, 0.2, 0.2, p_adjusted=0.2, attainable_p=0.01)]) == ""


def test_the_note_of_a_moved_leak_is_said_once_for_all_arms():
    remarks = Remarks()
    for mean in ("0.004", "0.0051"):
        note = f"replicates, whose mean is {mean}, are moved to the difference: a redrawn table has fewer"
        see(remarks, difference_row(-0.01, 0.1, 0.3, note=note))
    assert remarks.all() == ["Replicates are moved to the difference: a redrawn table has fewer."]


def test_an_estimate_outside_its_interval_is_remarked_upon():
    remarks = Remarks()
    see(remarks, difference_row(0.06, 0.2, 0.01))
    assert any("outside of it" in said for said in remarks.all())


def test_max_t_has_no_second_column_where_it_is_what_p_is_adjusted_by(five_raters):
    pages = {}
    for name, change in (("same", 0.0), ("other", 0.01)):
        rows = [
            replace(row, p_adjusted=beside + change)
            if row.statistic == "difference" and (beside := max_t_of(five_raters, row)) is not None
            else row
            for row in five_raters.rows
        ]
        result = Result(rows, five_raters.settings, five_raters.findings)
        view = Scores(result)
        pages[name] = [column.text for block in order(view) for column in columns_of(block)]
    assert "p (max-T)" in pages["other"]
    assert "p (max-T)" not in pages["same"]


def max_t_of(result, row):
    found = [
        one.estimate
        for one in result.rows
        if one.statistic == "p_max_t" and one.keys == row.keys and one.unit == row.unit
    ]
    return found[0] if found else None


def columns_of(block):
    tables = [block] if hasattr(block, "columns") else getattr(block, "blocks", [])
    return [column for table in tables for column in table.columns]
