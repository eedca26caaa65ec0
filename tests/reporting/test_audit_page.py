"""The page of an audit as a careful reader takes it: said once, with the digits that hold, nothing that isn't there."""

from html_page import Page
from measurand.reporting import render_html, render_markdown, render_summary
from measurand.reporting.agreement import agreement
from measurand.reporting.boards import rank_sets
from measurand.reporting.cells import freedom, plain, share
from measurand.reporting.design import methods
from measurand.reporting.figures import plot
from measurand.reporting.length import length
from measurand.reporting.raters import rater_pairs, raters
from measurand.reporting.sources import components
from measurand.reporting.systems import decision_study, generalizability, pairs_of_systems
from measurand.reporting.verdict import lead
from measurand.reporting.view import View
from measurand.result import Finding, Result, Row, show_interval, show_number

BELOW = "below 0: the raters disagree more than chance would make them, as different uses of a scale do"
COVERAGE = "in simulation a 95 % interval of this kind held 92 to 95 % of the time"


def shown(step, *rows, settings=None):
    """Return what a step makes of rows as one text: tables, notes and all."""
    return str(step(View(Result(list(rows), settings or {})), ""))


def page_of(result):
    return Page(render_html(result, title="An audit", reproduce={})).text


def markdown_of(result):
    return render_markdown(result, title="An audit", reproduce={})


# --- the verdict ------------------------------------------------------------------------------------------------------


def answers(**verdicts):
    return Result(
        [], findings=[Finding(name.replace("_", "-"), f"{name}?", v, "Said.") for name, v in verdicts.items()]
    )


def test_a_page_counts_its_verdicts_once_and_a_terminal_in_words():
    result = answers(systems_differ="pass", agreement="fail")
    counted = "Of 2 questions, 1 fails and 1 passes."
    assert counted not in page_of(result)
    assert "✗ 1 fail ✓ 1 pass" in page_of(result)
    assert counted in render_summary(result, width=100, color=False)


def test_the_verdict_says_what_length_comes_to_where_outputs_were_given():
    said = lead(View(answers(systems_differ="pass", length_slope="warn", length_explains_order="fail")))
    assert said[1] == (
        "Ratings follow the length of outputs here, which is not shown beyond these raters, items and systems; the "
        "order of the systems follows the length of their outputs."
    )
    assert not any("length" in sentence for sentence in lead(View(answers(systems_differ="pass"))))


def test_no_line_of_a_terminal_begins_with_a_percent_sign_or_a_bare_number_behind_its_sign():
    text = " ".join(["G = 0.93 (95 % interval 0.76 to 0.99) p < .0001 and F = 18.6 (p = 0.0033)."] * 4)
    result = Result([], findings=[Finding("agreement", "Do they agree?", "fail", text)])
    for width in range(50, 90):
        lines = [line.strip() for line in render_summary(result, width=width, color=False).splitlines()]
        assert not [line for line in lines if line.startswith(("%", "= ", "< ", ".0"))]
        assert not [line for line in lines if line.endswith((" =", " <"))]


# --- digits -----------------------------------------------------------------------------------------------------------


def test_thousands_have_a_comma_whether_they_are_whole_or_not():
    assert [show_number(value) for value in (8182, 8181.6, 999.96, 999.4)] == ["8,182", "8,182", "1,000", "999.4"]
    assert show_number(1234.56, width=20.0) == "1,235"
    assert show_number(1234.56, width=2.0) == "1,234.6"


def test_a_limit_is_never_a_zero_with_a_sign():
    keys = {"system_a": "A", "system_b": "B", "unit": "item"}
    row = Row("pairs", keys, "difference", 10.8, -0.1525, 21.8)
    assert show_interval(row) == "[−0.2, 21.8]"
    assert show_interval(Row("pairs", keys, "difference", 10.8, 0.0, 21.8)) == "[0, 22]"
    rows = [row, Row("pairs", keys | {"unit": "rater"}, "difference", 10.8, -0.1525, 21.8)]
    assert "10.8" in shown(pairs_of_systems, *rows)
    assert "'−0" not in shown(pairs_of_systems, *rows).replace("[−0.2", "")


def test_degrees_of_freedom_are_whole_where_a_fit_gives_them_so_but_for_its_last_digits():
    assert [freedom(df).text for df in (10.0000003, 26.78, 1012.6, None)] == ["10", "26.8", "1,013", "–"]


def test_a_share_has_a_decimal_only_where_its_interval_is_narrow():
    wide = share(Row("components", {}, "share", 0.138, 0.02, 0.47))
    assert (wide.text, wide.small) == ("14", "[2, 47]")
    narrow = share(Row("components", {}, "share", 0.014, 0.001, 0.053))
    assert (narrow.text, narrow.small) == ("1.4", "[0.1, 5.3]")


def test_the_numbers_of_a_column_have_the_same_decimals():
    rows = [Row("raters", {"rater": name}, "sd", sd) for name, sd in (("A", 14.2), ("B", 17.61), ("C", 17.0))]
    rows += [Row("raters", {"rater": name}, "n_ratings", 9) for name in "ABC"]
    said = shown(raters, *rows)
    assert all(f"text='{number}'" in said for number in ("14.2", "17.6", "17.0"))
    assert plain(rows[0], places=2).text == "14.20"


def test_table_and_figure_of_components_show_the_same_digits():
    keys = {"estimator": "anova", "component": "rater"}
    row = Row("components", keys, "variance", 25.1462, 5.0325, 1081.3, 0.95, "generalised pivotal", "item+system+rater")
    said = shown(components, row)
    assert "25.1" in said
    assert "[5.03, 1,080]" in said
    assert "25.1 [5.03, 1,080]" in plot(Result([row]), figure="components").svg


def test_a_coefficient_without_an_interval_has_three_decimals():
    at = {"at_items": 60, "at_raters": 3}
    sizes = [Row("design", {}, "n_items", 60), Row("design", {}, "n_raters", 3)]
    g = Row("generalizability", {"estimator": "anova"} | at, "g", 0.9345, 0.76, 0.99, n_items=60, n_raters=3)
    plugin = Row("generalizability", {"estimator": "plugin"} | at, "g", 0.92764)
    assert "text='0.928'" in shown(generalizability, *sizes, g, plugin)


# --- what isn't there is not said -------------------------------------------------------------------------------------


def alpha(level, estimate, low, high, system=""):
    note = f"{BELOW}; {COVERAGE}" if estimate < 0 else COVERAGE
    return Row("agreement", {"system": system}, f"alpha_{level}", estimate, low, high, 0.95, unit="item", note=note)


def test_raters_disagree_more_than_chance_only_where_the_whole_interval_says_so():
    assert BELOW not in shown(agreement, alpha("nominal", -0.0006, -0.017, 0.016))
    assert f"Krippendorff's alpha, nominal: {BELOW}." in shown(agreement, alpha("nominal", -0.1, -0.15, -0.05))
    by_system = [alpha("ordinal", -0.05, -0.1, 0.02, "S1"), alpha("ordinal", -0.07, -0.13, -0.02, "S6")]
    said = shown(agreement, alpha("ordinal", 0.1, 0.0, 0.2), *by_system)
    assert f"S6: {BELOW}." in said
    assert said.count(BELOW) == 1


def test_on_a_continuous_scale_the_nominal_alpha_is_left_out_with_a_word():
    observed = Row("agreement", {"system": ""}, "observed_agreement", 0.0, 0.0, 0.0, 0.95, unit="item")
    beside = Row("agreement", {"system": ""}, "alpha_nominal", 0.0, -0.00017, -0.00012, 0.95, unit="item")
    said = shown(agreement, observed, beside, alpha("interval", 0.018, -0.02, 0.06))
    assert "No two raters gave one thing the same value" in said
    assert "−0.00017" not in said
    nominal = {"design": {"criteria": {"": {"level": "nominal", "layout": "", "scale": ""}}}}
    assert "No two raters" not in shown(agreement, observed, beside, settings=nominal)
    pair = {"rater_a": "A", "rater_b": "B"}
    rows = [Row("agreement_pairs", pair, "observed_agreement", 0.0, 0.0, 0.0, 0.95, unit="item", n_items=9)]
    rows.append(Row("agreement_pairs", pair, "pearson", 0.2, 0.1, 0.3, 0.95, unit="item", n_items=9))
    assert "Observed agreement is 0 for every pair" in shown(rater_pairs, *rows)
    assert "[0, 0]" not in shown(rater_pairs, *rows)


def test_what_no_rater_has_is_named_below_the_table():
    pair = {"rater_a": "A", "rater_b": "B"}
    rows = [
        Row("agreement_pairs", pair, "pearson", 0.2, 0.1, 0.3, 0.95, unit="item", n_items=9),
        Row("agreement_pairs", pair, "kappa_quadratic", float("nan"), undefined="no scale declared"),
    ]
    assert "Not defined: kappa (no scale declared)." in shown(rater_pairs, *rows)


def test_a_rank_that_hardly_any_draw_has_is_not_listed():
    keys = {"unit": "item", "system": "A"}
    rows = [Row("ranks", keys, "rank", 1.0, 1.0, 2.0, 0.95, unit="item")]
    shares = {1: 0.9, 2: 0.09, 3: 0.004, 4: 0.0}
    likely = [Row("ranks", keys | {"at_rank": at}, "p_rank", value) for at, value in shares.items()]
    assert "'1 (90 %), 2 (9 %), others (< 1 %)'" in shown(rank_sets, *rows, *likely)
    alone = [Row("ranks", keys | {"at_rank": at}, "p_rank", float(at == 1)) for at in shares]
    assert "'1 (100 %)'" in shown(rank_sets, *rows, *alone)


def test_one_system_that_may_be_first_is_said_to_be_alone():
    rows = []
    for name, place in (("A", 1.0), ("B", 2.0)):
        keys = {"unit": "item", "system": name}
        rows.append(Row("ranks", keys, "rank", place, place, place, 0.95, unit="item"))
        rows.append(Row("ranks", keys, "in_top_set", float(name == "A")))
    assert "A alone may be first." in shown(rank_sets, *rows)


def test_methods_are_those_of_the_analyses_that_are_there():
    rows = [Row("components", {"estimator": "anova", "component": "item"}, "variance", 1.0)]
    said = " ".join(methods(View(Result(rows))))
    assert "Brennan" in said
    assert "Henderson" not in said
    assert "Rubin" not in said
    assert "Muirhead" not in said
    assert "Muirhead" in " ".join(methods(View(Result([Row("length", {"model": "raw"}, "rank", 1.0)]))))


def test_reasons_that_differ_in_a_number_alone_share_a_line():
    reason = "the ratio level needs ratings of 0 or more; there is {}"
    rows = [
        Row("agreement", {"system": f"S{n}"}, "alpha_ratio", float("nan"), undefined=reason.format(-n / 7))
        for n in range(1, 6)
    ]
    text = markdown_of(Result(rows))
    assert text.count("the ratio level needs") == 1
    assert "and 4 reasons that differ from it in the number alone" in text


# --- tables and what stands below them --------------------------------------------------------------------------------


def test_measured_coverage_names_coefficients_of_a_kind_together():
    rows = [alpha("nominal", 0.1, 0.0, 0.2), alpha("ordinal", 0.2, 0.1, 0.3)]
    rows.append(Row("agreement", {"system": ""}, "icc_1_1", 0.3, 0.2, 0.4, 0.95, unit="item"))
    assert f"Krippendorff's alpha (nominal and ordinal): {COVERAGE}." in shown(agreement, *rows)


def test_many_pairs_are_folded_and_few_are_not():
    def of(n):
        names = [f"S{k}" for k in range(n)]
        rows = [
            Row("pairs", {"system_a": a, "system_b": b, "unit": "item"}, "difference", 0.5, 0.1, 0.9)
            for i, a in enumerate(names)
            for b in names[i + 1 :]
        ]
        return shown(pairs_of_systems, *rows)

    assert "Fold(" not in of(6)
    assert "All 28 pairs of systems" in of(8)


def test_no_number_at_either_end_is_said_as_at_one_end():
    keys = {"estimator": "anova", "target": 0.8}
    ends = {"low": float("inf"), "high": float("inf")}
    rows = [
        Row("decision", keys | {"at_items": 9}, "raters_needed", float("inf"), low=8.0, high=float("inf")),
        Row("decision", keys | {"at_raters": 3}, "items_needed", float("inf"), **ends),
    ]
    assert "[8, no number]" in shown(decision_study, *rows)
    assert "[no number, no number]" in shown(decision_study, *rows)


def slopes(model, note):
    keys = {"unit_of_length": "emoji", "model": model}
    return Row("length", keys, "slope", 0.25, 0.1, 0.4, 0.95, note=note, p=0.01, df2=6817.2)


def test_a_test_of_slopes_stands_beside_how_often_it_alarms_falsely():
    note = (
        "in simulation, with 3 to 10 raters whose slopes differ, its test at .05 alarmed falsely 20 to 63 % of the time"
    )
    keys = {"unit_of_length": "emoji", "system": "A"}
    rows = [Row("length", keys, "mean_length", 3.0, 2.0, 4.0), Row("length", keys, "mean_rating", 2.94)]
    rows.append(slopes("judgement", f"takes one slope; {note}"))
    between = {"unit_of_length": "emoji", "model": "between_systems"}
    rows.append(Row("length", between, "slope", 0.00123, -0.001, 0.004, 0.95, unit="system"))
    rows.append(
        Row("length", between, "slope", 0.00123, 0.0, 0.003, 0.95, unit="item+rater", note="too narrow: so few")
    )
    said = shown(length, *rows, settings={"length": {"unit_of_length": "emoji"}})
    assert "20 to 63 %" in said
    assert "False alarms: in simulation, with 3 to 10 raters whose slopes differ, how often" in said
    assert "The interval over items and raters is too narrow" in said
    assert "Mean length (emoji)" in said
    # A small slope keeps the digits of its interval.
    assert "text='0.0012'" in said


def test_rows_that_are_named_by_sentences_have_room_on_a_phone():
    keys = {"estimator": "anova", "component": "item"}
    text = render_html(Result([Row("components", keys, "variance", 1.0, 0.5, 2.0)]), title="An audit", reproduce={})
    assert 'class="wordy"' in text


def test_methods_describe_what_ran(complete, incomplete):
    whole, holes = (" ".join(methods(View(result))) for result in (complete, incomplete))
    for words in ("quasi-F (Clark 1973", "mean squares of a complete crossing", "pooled error of the quasi-F"):
        assert words in whole
        assert words not in holes
    for words in ("Henderson's method (1953", "t tests of the full mixed model"):
        assert words in holes
        assert words not in whole
    for said in (whole, holes):
        assert "Mixed models: restricted maximum likelihood" in said
        assert "Weerahandi" in said
