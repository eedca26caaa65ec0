import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from measurand import audit
from measurand.auditing.findings import QUESTIONS, findings
from measurand.auditing.system_effect import AT_BOUNDARY
from measurand.data import Scale, read_ratings
from measurand.result import Result, Row
from measurand.simulate import simulate_panel, two_emojis_panel

DOCUMENT = Path(__file__).parents[2] / "docs" / "findings.md"
SYSTEM_QUESTIONS = (
    "systems-differ",
    "ranking-reliable",
    "winner-stable",
    "more-raters",
    "more-items",
    "panel-size",
)
IDS = (
    *SYSTEM_QUESTIONS,
    "agreement",
    "correlation-not-agreement",
    "copied-ratings",
    "informative-missingness",
    "straight-lining",
    "severity-drift",
)
BELOW, ABOVE = math.nextafter(0.05, 0), math.nextafter(0.05, 1)


def about(*rows, level="not declared", items=290, systems=8, raters=3, missing=0, targets=(0.8,), ends=(1.0, 5.0)):
    """Return the findings of hand-made rows, by their ids."""
    sizes = {"n_items": items, "n_systems": systems, "n_raters": raters, "n_missing": missing}
    design = [Row("design", {"criterion": ""}, name, size) for name, size in sizes.items()]
    result = Result([*design, *rows], {"design": {"criteria": {"": {"level": level, "range": ends}}}})
    return {found.id: found for found in findings(result, targets=targets)}


def test_every_question_is_asked_once_of_every_criterion():
    criteria = {name: {"level": "ordinal"} for name in ("a", "b")}
    rows = [Row("design", {"criterion": name}, "n_systems", 0) for name in criteria]
    found = findings(Result(rows, {"design": {"criteria": criteria}}))
    assert [(f.criterion, f.id) for f in found] == [(c, f.id) for c in criteria for f in found[: len(QUESTIONS)]]
    assert {f.id for f in found} == set(IDS)


def test_a_criterion_is_answered_from_its_own_rows_only():
    criteria = {name: {"level": "ordinal"} for name in ("a", "b")}
    rows = [Row("design", {"criterion": name}, "n_raters", n) for name, n in (("a", 6), ("b", 5))]
    rows += [Row("design", {"criterion": name}, "n_systems", 2) for name in criteria]
    answered = findings(Result(rows, {"design": {"criteria": criteria}}))
    found = {f.criterion: f.verdict for f in answered if f.id == "panel-size"}
    assert found == {"a": "pass", "b": "warn"}


@pytest.mark.parametrize("systems", [0, 1])
def test_without_two_systems_nothing_can_be_ranked(systems):
    found = about(systems=systems)
    for name in SYSTEM_QUESTIONS:
        assert found[name].verdict == "not_applicable"
        assert ("no systems" if systems == 0 else "one system") in found[name].statement


def test_a_question_whose_numbers_are_missing_is_undetermined_not_passed():
    found = about(missing=10)
    undetermined = {name for name, one in found.items() if one.verdict == "undetermined"}
    assert undetermined == set(IDS) - {"panel-size"}
    for name in undetermined:
        assert found[name].statement.startswith("Not determined: ")


# --- systems-differ ---------------------------------------------------------------------------------------------------


def f_row(error_term, p, f=2.0, model="", undefined="", df2=14):
    keys = {"error_term": error_term} | ({"model": model} if model else {})
    if undefined:
        return Row("system_test", keys, "f", math.nan, undefined=undefined)
    return Row("system_test", keys, "f", f, df1=7, df2=df2, p=p)


@pytest.mark.parametrize(
    ("both", "raters", "verdict"),
    [
        (BELOW, 0.9, "pass"),
        (0.05, BELOW, "warn"),
        (0.05, 0.05, "fail"),
        (ABOVE, ABOVE, "fail"),
        (0.0, 0.0, "pass"),
    ],
)
def test_systems_differ_by_the_test_with_both_random(both, raters, verdict):
    found = about(f_row("residual", 1e-9, 18.62), f_row("system:rater", raters), f_row("quasi_f", both))
    assert found["systems-differ"].verdict == verdict


def test_systems_differ_shows_the_tests_that_contradict_each_other():
    rows = f_row("residual", 1e-24, 18.6204), f_row("system:rater", 0.7574, 0.585185), f_row("quasi_f", 0.768, 0.59015)
    found = about(*rows)["systems-differ"]
    assert "F = 0.585 with 7 and 14 degrees of freedom" in found.statement
    assert "(p = 0.76)" in found.statement
    assert "0.59 once items do, too (p = 0.77)" in found.statement
    assert "F = 18.6 (p < .0001)" in found.statement
    assert [ref["error_term"] for ref in found.rows] == ["quasi_f", "system:rater", "residual"]


def test_systems_differ_falls_back_on_the_mixed_models_of_incomplete_panels():
    rows = [f_row(term, None, undefined="incomplete") for term in ("residual", "system:rater", "quasi_f")]
    models = {"judgement": (14.4, 5e-11), "judgement+system:rater": (4.723, 0.016), "full": (3.65, 0.0226)}
    rows += [f_row("mixed_model", p, f, model) for model, (f, p) in models.items()]
    found = about(*rows, missing=38)["systems-differ"]
    assert found.verdict == "pass"
    assert "F = 4.72" in found.statement
    assert "3.65 once items do, too (p = 0.023)" in found.statement
    assert "at the level of judgements, gives F = 14.4" in found.statement
    assert about(*rows[:3], missing=38)["systems-differ"].verdict == "undetermined"


def models(judgement, raters, full, *, at_zero=(), full_at_zero=()):
    """Return the rows of an incomplete panel: each model's (F, p, df2), and what it estimates at 0."""
    rows = [f_row(term, None, undefined="incomplete") for term in ("residual", "system:rater", "quasi_f")]
    names = {"judgement": judgement, "judgement+system:rater": raters, "full": full}
    zero = {"judgement+system:rater": at_zero, "full": full_at_zero}
    for name, (f, p, df2) in names.items():
        note = f"a test, no interval; meaning; {AT_BOUNDARY}{', '.join(zero[name])}" if zero.get(name) else "a test"
        rows.append(replace(f_row("mixed_model", p, f, name, df2=df2), note=note))
    return rows


def test_a_model_that_collapsed_onto_the_residual_is_not_quoted_as_one_of_raters():
    usual = (39.57, 1e-20, 744.1)
    found = about(*models(usual, usual, (17.4, 1e-7, 50.23), at_zero=["system:rater"]), missing=9)["systems-differ"]
    assert found.verdict == "pass"
    assert found.statement == (
        "Yes: F = 17.4 with 7 and 50.2 degrees of freedom once raters and items count as samples (p < .0001, full "
        "mixed model). The model with raters alone as a sample collapsed: it estimates system:rater at 0, so that its "
        "test is the usual one, at the level of judgements (F = 39.6, p < .0001), which leaves out that raters differ "
        "about systems."
    )
    assert [ref["model"] for ref in found.rows] == ["full", "judgement+system:rater", "judgement"]
    # Its small p is none of other raters: what the full model does not show is not shown.
    rows = models(usual, usual, (1.9, 0.05, 12.0), at_zero=["rater", "system:rater"], full_at_zero=["system:rater"])
    found = about(*rows, missing=9)["systems-differ"]
    assert found.verdict == "fail"
    assert found.statement.startswith("Not shown: F = 1.9 with 7 and 12 degrees of freedom")
    assert "This model estimates system:rater at 0, too." in found.statement


def test_a_model_whose_other_components_are_at_0_still_counts_raters():
    rows = models((39.6, 1e-20, 744), (4.7, 0.01, 12), (1.9, 0.2, 12), at_zero=["rater"])
    assert about(*rows, missing=9)["systems-differ"].verdict == "warn"


# --- ranking-reliable -------------------------------------------------------------------------------------------------


def g_row(estimate, low=0.0, high=1.0, *, estimator="anova", statistic="g", at_items=290, at_raters=3, undefined=""):
    keys = {"estimator": estimator, "at_items": at_items, "at_raters": at_raters}
    if undefined:
        return Row("generalizability", keys, statistic, math.nan, undefined=undefined)
    bounded = estimator != "plugin"
    return Row(
        "generalizability",
        keys,
        statistic,
        estimate,
        low if bounded else None,
        high if bounded else None,
        0.95 if bounded else None,
    )


@pytest.mark.parametrize(
    ("estimate", "low", "verdict"),
    [
        (0.95, 0.8, "pass"),
        (0.95, math.nextafter(0.8, 0), "warn"),
        (0.8, 0.1, "warn"),
        (math.nextafter(0.8, 0), 0.1, "fail"),
        (0.0, 0.0, "fail"),
    ],
)
def test_ranking_is_reliable_where_the_lower_limit_of_g_reaches_the_target(estimate, low, verdict):
    assert about(g_row(estimate, low))["ranking-reliable"].verdict == verdict


def test_ranking_reliable_takes_the_first_target():
    rows = [g_row(0.85, 0.75)]
    assert about(*rows, targets=(0.7, 0.9))["ranking-reliable"].verdict == "pass"
    found = about(*rows, targets=(0.9, 0.7))["ranking-reliable"]
    assert found.verdict == "fail"
    assert "0.9" in found.question


def test_ranking_reliable_reads_g_at_the_panels_own_size_only():
    rows = [g_row(0.99, 0.98, at_raters=100), g_row(0.5, 0.2)]
    assert about(*rows)["ranking-reliable"].verdict == "fail"
    assert about(g_row(0.99, 0.98, at_raters=100))["ranking-reliable"].verdict == "undetermined"


def test_ranking_reliable_takes_hendersons_components_where_there_are_no_mean_squares():
    component = Row("components", {"estimator": "henderson", "component": "system"}, "variance", 0.3)
    rows = [component, g_row(0, undefined="incomplete panel"), g_row(0.9, 0.85, estimator="henderson")]
    assert about(*rows, missing=5)["ranking-reliable"].verdict == "pass"


def test_ranking_reliable_says_what_a_plug_in_is_worth():
    rows = [
        g_row(0.0, 0.0, 0.6223),
        g_row(0.335663, estimator="plugin"),
        g_row(0.4538, estimator="plugin", statistic="g_null"),
        Row("components", {"estimator": "anova", "component": "system"}, "variance", -0.00996736),
    ]
    found = about(*rows)["ranking-reliable"]
    assert "G = 0.00 (95 % interval 0.00 to 0.62 over items, systems and raters of this kind)" in found.statement
    assert "with 290 items and 3 raters" in found.statement
    assert "would say 0.336; if no system differed it would still say 0.45 on average" in found.statement
    assert "system variance is negative (−0.00997)" in found.statement


# --- winner-stable ----------------------------------------------------------------------------------------------------


def boards(**ranks):
    """Return the boards of S1, S2, S3 with nobody left out (`whole`) and without each rater."""
    return [
        Row("leave_one_rater_out", {"left_out": "" if name == "whole" else name, "system": f"S{k + 1}"}, "rank", rank)
        for name, board in ranks.items()
        for k, rank in enumerate(board)
    ]


def test_winner_is_stable_if_it_leads_without_any_one_rater():
    found = about(*boards(whole=(1, 2, 3), R1=(1, 3, 2), R2=(1, 2, 3)), raters=2)["winner-stable"]
    assert found.verdict == "pass"
    assert found.statement == "S1 stays first whichever of the 2 raters is left out."


def both(a, b, p, *, method="t"):
    keys = {"system_a": a, "system_b": b, "unit": "item+rater"}
    return Row("pairs", keys, "difference", 0.1, p=p, p_adjusted=p, method=method, unit="item+rater")


def test_leaders_who_are_not_told_apart_are_said_to_be_so():
    changing = boards(whole=(1, 2, 3), R1=(1, 3, 2), R2=(2, 1, 3), R3=(1, 2, 3))
    found = about(*changing, both("S1", "S2", 0.77), both("S1", "S3", 0.2))["winner-stable"]
    assert found.statement.endswith("Over items and raters S1 is not told apart from S2 (p = 0.77 after Holm).")
    assert "the leaders are not told apart" in found.remedy
    assert {"system_a": "S1", "system_b": "S2"}.items() <= found.rows[-1].items()
    apart = about(*changing, both("S2", "S1", BELOW))["winner-stable"]
    assert "told apart" not in apart.statement
    assert "decided by who was asked" in apart.remedy
    # A leader who stays first is held against the second.
    steady = boards(whole=(1, 2, 3), R1=(1, 3, 2), R2=(1, 2, 3))
    found = about(*steady, both("S2", "S1", 0.3), both("S1", "S3", 0.9), raters=2)["winner-stable"]
    assert found.verdict == "pass"
    assert found.statement.endswith(". Over items and raters S1 is not told apart from S2 (p = 0.3 after Holm).")


def test_leaders_of_whom_several_are_not_told_apart_have_the_smallest_p():
    changing = boards(whole=(1, 2, 3), R1=(2, 3, 1), R2=(2, 1, 3), R3=(1, 2, 3))
    found = about(*changing, both("S1", "S2", 0.77), both("S1", "S3", 0.2))["winner-stable"]
    assert "S1 is not told apart from S3 or S2 (the smallest p = 0.2 after Holm)" in found.statement
    found = about(*changing, both("S1", "S2", 1.0), both("S1", "S3", 1.0))["winner-stable"]
    assert "S1 is not told apart from S3 or S2 (p = 1 after Holm)" in found.statement


def test_winner_that_one_rater_decides_is_none():
    found = about(*boards(whole=(1, 2, 3), R1=(1, 3, 2), R2=(2, 1, 3), R3=(1, 2, 3)))["winner-stable"]
    assert found.verdict == "fail"
    assert "without R2 it is S2" in found.statement
    assert "without R1" not in found.statement


def test_a_winner_who_ties_without_a_rater_is_not_the_same():
    found = about(*boards(whole=(1, 2, 3), R1=(1.5, 1.5, 3), R2=(1, 2, 3)), raters=2)["winner-stable"]
    assert found.verdict == "fail"
    assert "without R1 it is a tie of S1 and S2" in found.statement


def test_a_system_without_ratings_does_not_win():
    gone = Row("leave_one_rater_out", {"left_out": "R2", "system": "S2"}, "rank", math.nan, undefined="no rating")
    rows = [row for row in boards(whole=(1, 2, 3), R1=(1, 2, 3), R2=(1, 9, 2)) if row.estimate != 9]
    assert about(*rows, gone, raters=2)["winner-stable"].verdict == "pass"


def test_winners_who_tie_throughout_are_told_in_the_plural():
    found = about(*boards(whole=(1.5, 1.5, 3), R1=(1.5, 1.5, 3), R2=(1.5, 1.5, 3)), raters=2)["winner-stable"]
    assert found.verdict == "pass"
    assert "S1 and S2 tie for first" in found.statement
    changed = about(*boards(whole=(1.5, 1.5, 3), R1=(1, 2, 3), R2=(1.5, 1.5, 3)), raters=2)["winner-stable"]
    assert "S1 and S2 tie for first with all" in changed.statement


def test_winner_of_one_rater_is_undetermined():
    assert about(*boards(whole=(1, 2, 3)), raters=1)["winner-stable"].verdict == "undetermined"


def test_winner_of_names_is_undetermined_with_the_reason():
    why = "nominal ratings of more than two categories have no mean"
    found = about(Row("leave_one_rater_out", {}, "mean", math.nan, undefined=why))["winner-stable"]
    assert (found.verdict, found.statement) == ("undetermined", f"Not determined: {why}.")


# --- more-raters, more-items ------------------------------------------------------------------------------------------


def needed_row(what, needed, low=None, high=None, *, estimator="anova", undefined=""):
    keys = {"estimator": estimator, "target": 0.8} | ({"at_items": 290} if what == "raters" else {"at_raters": 3})
    if undefined:
        return Row("decision", keys, f"{what}_needed", math.nan, undefined=undefined)
    level = None if low is None else 0.95
    return Row("decision", keys, f"{what}_needed", needed, low, high, level)


@pytest.mark.parametrize(("what", "have"), [("raters", 3), ("items", 290)])
@pytest.mark.parametrize(("beyond", "verdict"), [(-1, "pass"), (0, "pass"), (1, "warn"), (math.inf, "fail")])
def test_more_of_them_would_help_unless_they_are_there_or_no_number_would(what, have, beyond, verdict):
    sure = about(needed_row(what, have + beyond, 2, have))[f"more-{what}"]
    assert sure.verdict == verdict
    # Reached by the estimate alone is a warning: the range says what it could take.
    found = about(needed_row(what, have + beyond, 2, math.inf))[f"more-{what}"]
    assert found.verdict == ("warn" if verdict == "pass" else verdict)
    assert "2 to never" in found.statement
    # A range without end does not say how many would be sure to do.
    assert ("might not make sure of it" in found.remedy) == (verdict == "pass")
    finite = about(needed_row(what, have + beyond, 2, 1234))[f"more-{what}"]
    assert (f"1,234 {what} are enough even if the true number" in finite.remedy) == (verdict == "pass")


def test_more_raters_names_the_number_its_range_and_what_the_plug_in_would_ask_for():
    plugin = needed_row("raters", 27, estimator="plugin")
    found = about(needed_row("raters", 12, 5, 1234), plugin)["more-raters"]
    assert found.statement == (
        "Yes: 12 raters at 290 items (95 % range: 5 to 1,234), 3 are there. The plug-in would ask for 27."
    )
    fewer = about(needed_row("raters", 12, 5, 1234), needed_row("raters", 7, estimator="plugin"))["more-raters"]
    assert "The plug-in, which books error as signal, would ask for 7." in fewer.statement
    assert "up to 1,234 may be needed" in found.remedy


def test_more_raters_says_that_no_number_is_supported():
    rows = [needed_row("raters", math.inf, 8, math.inf), needed_row("raters", 27, estimator="plugin")]
    found = about(*rows)["more-raters"]
    assert "No number of raters is supported at 290 items (95 % range: 8 to never)." in found.statement
    assert "would ask for 27" in found.statement
    nowhere = about(needed_row("raters", math.inf, math.inf, math.inf))["more-raters"]
    assert "none at either end" in nowhere.statement


def test_more_items_says_where_they_saturate():
    ends = [
        g_row(0.61, at_items=math.inf),
        g_row(0.3458, estimator="plugin", at_items=math.inf),
        needed_row("items", math.inf, 50, math.inf),
    ]
    found = about(*ends)["more-items"]
    assert "With infinitely many, G would still be 0.61." in found.statement
    assert "Even the plug-in would end at 0.346." in found.statement


@pytest.mark.parametrize("what", ["raters", "items"])
def test_more_of_them_gives_the_reason_why_it_is_undetermined(what):
    found = about(needed_row(what, 0, undefined="one item: its variance cannot be estimated"))[f"more-{what}"]
    assert found.verdict == "undetermined"
    assert "one item: its variance cannot be estimated" in found.statement


# --- agreement --------------------------------------------------------------------------------------------------------


def alpha_row(estimate, low=None, high=None, *, level="ordinal", unit="item", undefined=""):
    if undefined:
        return Row("agreement", {}, f"alpha_{level}", math.nan, undefined=undefined)
    return Row("agreement", {}, f"alpha_{level}", estimate, low, high, None if low is None else 0.95, unit=unit)


@pytest.mark.parametrize(
    ("estimate", "low", "verdict"),
    [
        (0.8, 0.667, "pass"),
        (0.8, math.nextafter(0.667, 0), "warn"),
        (0.667, 0.5, "warn"),
        (math.nextafter(0.667, 0), 0.5, "fail"),
        (-0.1, -0.2, "fail"),
        (0.8, None, "warn"),
    ],
)
def test_agreement_is_enough_where_the_lower_limit_of_alpha_is(estimate, low, verdict):
    row = alpha_row(estimate, low, None if low is None else 0.9)
    assert about(row, level="ordinal")["agreement"].verdict == verdict


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_agreement_is_judged_at_the_declared_level(level):
    rows = [alpha_row(0.1, 0.0, 0.2, level=other) for other in ("nominal", "ordinal", "interval", "ratio")]
    rows += [alpha_row(0.9, 0.8, 0.95, level=level)]
    rows = [row for row in rows if row.statistic != f"alpha_{level}" or row.estimate == 0.9]
    found = about(*rows, level=level)["agreement"]
    assert found.verdict == "pass"
    assert f"Alpha ({level}) = 0.90" in found.statement
    assert "No level" not in found.statement


def test_agreement_without_a_declared_level_is_ordinal_and_says_so():
    found = about(alpha_row(0.1, 0.0, 0.2, level="nominal"), alpha_row(0.9, 0.8, 0.95))["agreement"]
    assert found.verdict == "pass"
    assert "No level of measurement was declared, so that the ordinal alpha is taken." in found.statement


def test_agreement_takes_the_interval_that_redraws_items():
    rows = [alpha_row(0.7, 0.68, 0.72, unit="item_cell"), alpha_row(0.7, 0.6, 0.8, unit="item")]
    found = about(*rows, level="ordinal")["agreement"]
    assert found.verdict == "warn"
    assert "0.60 to 0.80, items redrawn" in found.statement


def test_agreement_gives_the_interval_of_icc_that_holds_for_other_raters_too():
    keys = {"missing": "listwise"}
    rows = [
        alpha_row(0.18, 0.11, 0.26),
        Row("agreement", keys, "icc_2_1", 0.2276, 0.16, 0.3, 0.95, "percentile bootstrap", "item"),
        Row("agreement", keys, "icc_2_1", 0.2276, 0.0624, 0.5537, 0.95, "generalised pivotal quantities", "item+rater"),
    ]
    pivot = "ICC(2,1) = 0.23 (95 % interval 0.06 to 0.55, other raters, too)."
    assert pivot in about(*rows, level="ordinal")["agreement"].statement
    assert "ICC(2,1) = 0.228." in about(*rows[:2], level="ordinal")["agreement"].statement


def test_agreement_of_one_item_is_not_said_to_come_from_items_redrawn():
    found = about(alpha_row(0.7, 0.6, 0.8, unit="item_cell"), level="ordinal", items=1)["agreement"]
    assert "items redrawn" not in found.statement


def test_agreement_that_is_undefined_gives_the_reason():
    found = about(alpha_row(0, undefined="no variation: all ratings are the same"), level="ordinal")["agreement"]
    assert found.verdict == "undetermined"
    assert "no variation" in found.statement


# --- correlation-not-agreement ----------------------------------------------------------------------------------------


def pair_rows(*numbers):
    """Return correlation and alpha of pairs of raters; None where one is undefined."""
    rows = []
    for k, values in enumerate(numbers):
        keys = {"rater_a": "R0", "rater_b": f"R{k + 1}"}
        for name, value in zip(("pearson", "alpha_ordinal"), values, strict=True):
            reason = "one of the raters gave one rating only" if value is None else ""
            estimate = math.nan if value is None else value
            rows.append(Row("agreement_pairs", keys, name, estimate, undefined=reason))
    return rows


@pytest.mark.parametrize(("r", "a", "verdict"), [(0.1, 0.0, "pass"), (0.1001, 0.0, "warn"), (0.2, 0.9, "pass")])
def test_correlation_more_than_a_tenth_above_agreement_warns(r, a, verdict):
    assert about(*pair_rows((r, a)))["correlation-not-agreement"].verdict == verdict


def test_correlation_and_agreement_are_compared_over_the_same_pairs():
    found = about(*pair_rows((0.5, 0.4), (0.7, 0.6), (0.9, None), (None, 0.1)))["correlation-not-agreement"]
    assert found.verdict == "pass"
    assert found.statement == "The mean over 2 pairs of raters of Pearson's r is 0.60, that of ordinal alpha 0.50."


def test_correlation_without_agreement_names_the_raters_who_use_the_scale_differently():
    means = [Row("raters", {"rater": f"R{k}"}, "mean", value) for k, value in enumerate((3.1, 2.86, 4.35))]
    found = about(*pair_rows((0.9, 0.1)), *means)["correlation-not-agreement"]
    assert "R1 gives 2.86 on average, R2 4.35" in found.statement


# --- panel-size -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raters", "verdict", "attainable"),
    [(1, "fail", None), (2, "warn", "0.5"), (3, "warn", "0.25"), (5, "warn", "0.0625"), (6, "pass", "0.03125")],
)
def test_six_raters_can_reach_significance_without_assuming_a_distribution(raters, verdict, attainable):
    found = about(raters=raters)["panel-size"]
    assert found.verdict == verdict
    assert attainable is None or f"is {attainable}" in found.statement


# --- copied-ratings ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.0, "pass"), (0.01, "warn"), (math.nextafter(0.01, 1), "fail"), (1.0, "fail")]
)
def test_more_than_one_percent_of_copied_ratings_fails(share, verdict):
    assert about(Row("copies", {}, "share_copied", share))["copied-ratings"].verdict == verdict


def test_copied_ratings_names_the_pairs_and_counts_the_others():
    rows = [Row("copies", {}, "share_copied", 0.25)]
    rows += [Row("copies", {"rater_a": "A", "rater_b": f"B{k}"}, "n_identical", 40 + k) for k in range(5)]
    found = about(*rows)["copied-ratings"]
    assert found.statement == (
        "25 % of the ratings come from raters with identical vectors: A and B0 on 40 common cells; A and B1 on 41 "
        "common cells; A and B2 on 42 common cells; and 2 more pairs."
    )


# --- informative-missingness ------------------------------------------------------------------------------------------


def missing_rows(*tests, low=-0.5, high=1.0):
    """Return difference and effect of raters R1, R2, …, each (p_adjusted, standardised difference)."""
    ends = (low, high, None if low is None else 0.95)
    rows = []
    for k, (p, effect) in enumerate(tests):
        keys = {"rater": f"R{k + 1}"}
        shown = 0.37 * math.copysign(1, effect)
        rows.append(Row("missingness", keys, "difference", shown, *ends, p=p, p_adjusted=p))
        rows.append(Row("missingness", keys, "standardised_difference", effect))
    return rows


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ([(0.05, 2.0)], "pass"),
        ([(BELOW, 2.0)], "warn"),
        ([(0.001, 2.0)], "warn"),
        ([(0.00099, 0.2)], "warn"),
        ([(0.00099, 0.2001)], "fail"),
        ([(0.00099, -0.2001)], "fail"),
        ([(1e-9, 0.1), (1e-4, 0.5)], "fail"),
        ([(1e-9, 0.1), (0.04, 0.5)], "warn"),
        ([(1.0, 0.1), (0.2, 0.5)], "pass"),
    ],
)
def test_missingness_is_informative_by_significance_and_size(tests, verdict):
    assert about(*missing_rows(*tests), missing=10)["informative-missingness"].verdict == verdict


@pytest.mark.parametrize(
    ("low", "high", "ends", "verdict"),
    [
        (-1.0, 1.0, (1.0, 5.0), "pass"),
        (-1.01, 0.4, (1.0, 5.0), "undetermined"),
        (-5.0, 4.4, (1.0, 5.0), "undetermined"),
        (-5.0, 4.4, (0.0, 100.0), "pass"),
        (-0.075, 0.0, (0.0, 0.3), "pass"),  # the margin itself, but for rounding
        (None, None, (1.0, 5.0), "undetermined"),
        (-0.1, 0.1, None, "undetermined"),
    ],
)
def test_no_sign_of_informative_missingness_passes_only_where_the_intervals_are_narrow(low, high, ends, verdict):
    rows = missing_rows((0.9, 0.1), (0.4, -0.2), low=low, high=high)
    found = about(*rows, missing=9, ends=ends)["informative-missingness"]
    assert found.verdict == verdict
    if verdict == "undetermined":
        assert found.statement.startswith("Not determined: ")
        assert "the 95 % interval for R1" in found.statement
        assert "9 ratings are missing" in found.statement
    if low == -1.01 and ends == (1.0, 5.0):
        assert "goes from −1.0 to 0.4, beyond ±1 (25 % of the range of the scale)" in found.statement


def test_an_interval_beyond_what_the_scale_allows_is_told_as_too_few_missing_ratings():
    rows = missing_rows((0.9, 0.1), low=-7.2, high=6.3)
    found = about(*rows, missing=2, ends=(1.0, 5.0))["informative-missingness"]
    assert found.verdict == "undetermined"
    assert found.statement.startswith(
        "Not determined: 2 ratings are missing, too few to tell, or too few of them in cells that others rated: the "
        "95 % interval for R1 is wider than the scale allows. Where R1 rated, "
    )
    assert "−7" not in found.statement
    one = about(*rows, missing=1, ends=(1.0, 5.0))["informative-missingness"].statement
    assert one.startswith("Not determined: 1 rating is missing, ")


def test_missing_categories_are_held_against_a_difference_of_shares():
    rows = [
        Row(row.analysis, row.keys | {"rating": "joy"}, row.statistic, row.estimate, row.low, row.high, p=row.p)
        for row in missing_rows((0.4, 0.2), low=-0.2, high=0.24)
    ]
    rows[0] = replace(rows[0], p_adjusted=0.4, confidence=0.95)
    assert about(*rows, missing=9, ends=None)["informative-missingness"].verdict == "pass"
    rows[0] = replace(rows[0], high=0.26)
    assert about(*rows, missing=9, ends=None)["informative-missingness"].verdict == "undetermined"


def test_informative_missingness_says_who_and_how_much():
    found = about(*missing_rows((0.5, 0.1), (1e-6, -0.62)), missing=10)["informative-missingness"]
    assert "Where R2 rated, the others, each against their own mean, rate 0.37 lower" in found.statement
    assert "(0.6 standard deviations; p < .0001 after Holm over 2 comparisons)" in found.statement


def test_missingness_that_separates_without_overlap_is_told_without_infinity():
    found = about(*missing_rows((1e-6, math.inf)), missing=10)["informative-missingness"]
    assert found.verdict == "fail"
    assert "without any overlap" in found.statement
    assert "∞" not in found.statement


def test_where_nothing_is_missing_there_is_nothing_to_ask():
    assert about(*missing_rows((1e-6, 3.0)))["informative-missingness"].verdict == "not_applicable"


def test_missingness_that_cannot_be_tested_gives_the_reason():
    why = "one rater: there are no other ratings"
    found = about(Row("missingness", {}, "difference", math.nan, undefined=why), missing=3)["informative-missingness"]
    assert (found.verdict, found.statement) == ("undetermined", f"Not determined: {why}.")


# --- straight-lining --------------------------------------------------------------------------------------------------


def style_rows(shares, n_ratings=100, runs=()):
    rows = []
    for k, share in enumerate(shares):
        keys = {"rater": f"R{k + 1}"}
        rows += [Row("style", keys, "share_modal", share), Row("raters", keys, "n_ratings", n_ratings)]
    for k, p in enumerate(runs):
        rows.append(Row("style", {"rater": f"R{k + 1}"}, "longest_run", 31, p=p, p_adjusted=p))
    return rows


@pytest.mark.parametrize(
    ("shares", "verdict"),
    [
        ([0.95, 0.5, 0.5], "fail"),
        ([0.9499, 0.5, 0.5], "pass"),
        ([0.95, 0.7999, 0.7999], "fail"),
        ([0.95, 0.8, 0.8], "pass"),
        ([0.99, 0.95, 0.97], "pass"),
        ([1.0, 1.0, 1.0], "fail"),
        ([0.99, 0.3, 0.3, 0.99], "fail"),
    ],
)
def test_straight_lining_is_one_value_that_the_others_do_not_share(shares, verdict):
    assert about(*style_rows(shares))["straight-lining"].verdict == verdict


@pytest.mark.parametrize(("n", "verdict"), [(19, "undetermined"), (20, "fail")])
def test_straight_lining_needs_twenty_ratings(n, verdict):
    found = about(*style_rows([1.0, 0.4], n_ratings=n))["straight-lining"]
    assert found.verdict == verdict
    assert "20 ratings" in found.statement


@pytest.mark.parametrize(("p", "verdict"), [(BELOW, "warn"), (0.05, "pass")])
def test_long_runs_alone_warn(p, verdict):
    found = about(*style_rows([0.5, 0.5], runs=[p, 0.9]))["straight-lining"]
    assert found.verdict == verdict
    assert ("R1 gives one value 31 times in a row" in found.statement) == (verdict == "warn")
    assert "--order" not in found.statement


def test_straight_lining_without_an_order_says_that_runs_were_not_judged():
    rows = style_rows([0.5, 0.5])
    rows += [Row("style", {"rater": "R1"}, "longest_run", math.nan, undefined="no presentation order named (--order)")]
    assert "Runs could not be judged" in about(*rows)["straight-lining"].statement


# --- severity-drift ---------------------------------------------------------------------------------------------------


def drift_rows(*tests, sd=1.0):
    """Return the drift of raters R1, R2, …, each (drift, p_adjusted), and their standard deviations."""
    rows = []
    for k, (drift, p) in enumerate(tests):
        keys = {"rater": f"R{k + 1}"}
        rows.append(Row("style", keys, "drift", drift, drift - 0.2, drift + 0.2, 0.95, p=p, p_adjusted=p))
        rows.append(Row("raters", keys, "sd", sd))
    return rows


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ([(3.0, 0.05)], "pass"),
        ([(0.25, BELOW)], "warn"),
        ([(0.2501, BELOW)], "fail"),
        ([(-0.2501, BELOW)], "fail"),
        ([(0.1, 1e-9), (0.3, 0.04)], "fail"),
        ([(0.1, 1e-9), (0.3, 0.06)], "warn"),
    ],
)
def test_drift_is_judged_by_significance_and_size(tests, verdict):
    assert about(*drift_rows(*tests))["severity-drift"].verdict == verdict


def test_drift_is_measured_in_standard_deviations_of_the_ratings():
    assert about(*drift_rows((3.0, 0.001), sd=15.0))["severity-drift"].verdict == "warn"
    assert about(*drift_rows((3.0, 0.001), sd=11.9))["severity-drift"].verdict == "fail"


def test_drift_says_who_where_to_and_how_far():
    found = about(*drift_rows((0.1, 0.8), (-0.731, 0.0004)))["severity-drift"]
    assert "R2 drifts down by 0.731 from first to last (95 % interval −0.93 to −0.53" in found.statement
    assert "p = 0.0004 after Holm over 2 raters" in found.statement
    assert "If it was random already, systems may be compared" in found.remedy


def test_drift_without_an_order_asks_for_it():
    why = "no presentation order named (--order)"
    found = about(Row("style", {"rater": "R1"}, "drift", math.nan, undefined=why))["severity-drift"]
    assert (found.verdict, found.statement) == ("undetermined", f"Not determined: {why}.")
    assert "--order" in found.remedy


# --- What the documentation promises ----------------------------------------------------------------------------------


def documented():
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if re.match(r"\|\s*id\s*\|", line))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return rows


def test_the_documentation_lists_exactly_the_findings_of_the_audit():
    assert [row[0].strip("`") for row in documented()] == [found.id for found in findings_of_the_audit()]


def findings_of_the_audit():
    return list(about().values())


def test_the_documentation_has_a_rule_for_each_verdict():
    for row in documented():
        assert len(row) == 5
        assert all(row), row


# --- Statements over whole audits -------------------------------------------------------------------------------------

PANEL = {"n_items": 30, "n_systems": 4, "n_raters": 4, "mean": 3.0, "scale": Scale(1, 5, step=1)}
TRUTHS = {
    "no systems differ": dict(PANEL, components={"item": 0.3, "rater": 0.4, "system:rater": 0.2, "residual": 0.6}),
    "systems differ": dict(PANEL, components={"item": 0.3, "system": 0.5, "rater": 0.1, "residual": 0.3}),
    "with holes": dict(
        PANEL,
        components={"item": 0.3, "system": 0.3, "rater": 0.2, "residual": 0.5},
        missing=0.2,
        severities=(-1, 0, 0, 1),
    ),
    "no systems at all": dict(PANEL, n_systems=0, components={"item": 1.0, "rater": 0.2, "residual": 0.3}),
    "two by two by two": dict(PANEL, n_items=2, n_systems=2, n_raters=2, components={"item": 1.0, "residual": 1.0}),
}


@pytest.fixture(scope="module")
def audited():
    out = {}
    for name, truth in TRUTHS.items():
        table = simulate_panel(seed=3, **truth).ratings
        table["order"] = np.arange(len(table))[::-1]
        scale = Scale(1, 5, step=1, level="ordinal")
        out[name] = audit(read_ratings(table, order="order", scale=scale), replicates=100, draws=1000)
    return out


NUMBER = re.compile(r"(?<![\w.,−(-])−?\d[\d,]*(?:\.\d+)?(?:e−?\d+)?(?![\w])")


def is_rounding_of(token, values):
    text = token.replace(",", "").replace("−", "-")
    shown, places = float(text), len(text.partition(".")[2].partition("e")[0])
    return any(
        abs(shown - value) <= 0.5 * 10.0**-places * (1 + 1e-9)
        or (value != 0 and abs(shown / value - 1) <= 0.0051 and abs(value) < 1e-3)
        for value in values
    )


def numbers_behind(found, result):
    """Return every number that a statement may show: of the rows that it refers to, and the counts of the design."""
    values = [row.estimate for row in result.rows if row.analysis == "design"]
    values += [n - 1 for n in values] + [2.0 ** (1 - n) for n in values if n < 60]
    for reference in found.rows:
        keys = {k: v for k, v in reference.items() if k not in ("analysis", "statistic")}
        rows = result.select(reference["analysis"], reference["statistic"], keys)
        assert rows, reference
        for row in rows:
            fields = (row.estimate, row.low, row.high, row.p, row.p_adjusted, row.df1, row.df2)
            values += [abs(one) * sign for one in fields if one is not None for sign in (1, -1)]
            values += [100 * row.estimate, 100 * (row.confidence or 0)]
    if found.id == "correlation-not-agreement":
        pairs = result.to_frame("agreement_pairs").pivot_table(
            index=["rater_a", "rater_b"], columns="statistic", values="estimate"
        )
        values += [pairs["pearson"].mean(), pairs["alpha_ordinal"].mean(), len(pairs)]
        values += [row.estimate for row in result.select("raters", "mean")]
    if found.id == "straight-lining":
        values += [20.0]
    return [value for value in values if math.isfinite(value)]


@pytest.mark.parametrize("name", TRUTHS)
def test_numbers_in_statements_are_those_of_the_rows_rounded(name, audited):
    result = audited[name]
    seen = 0
    for found in result.findings:
        statement = found.statement.replace("ICC(2,1)", "ICC").replace("p < .0001", "")
        for token in NUMBER.findall(statement):
            assert is_rounding_of(token, numbers_behind(found, result)), (token, found.id, found.statement)
            seen += 1
    assert seen > 8


@pytest.mark.parametrize("name", TRUTHS)
def test_statements_are_sentences_without_the_words_of_a_machine(name, audited):
    for found in audited[name].findings:
        for text in (found.question, found.statement, found.remedy):
            assert not {"nan", "inf", "None", "True", "False"} & set(re.findall(r"\w+", text)), text
            assert not re.search(r"[\[\]{}]|np\.|float64|\d{6,}\.|\.\d{7,}|  ", text), text
        assert found.statement[0].isupper()
        assert found.statement.endswith((".", ")"))
        assert found.question.endswith("?")
        if found.verdict in ("warn", "fail"):
            assert found.remedy
            assert found.rows or found.id == "panel-size"


@pytest.mark.parametrize("name", TRUTHS)
def test_a_verdict_of_an_audit_follows_from_its_own_rows(name, audited):
    result = audited[name]
    again = findings(Result.from_json(result.to_json()))
    assert again == list(result.findings)


# --- The second paper's panel -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_emojis():
    result = audit(two_emojis_panel().ratings, replicates=100, draws=20_000)
    return {found.id: found for found in result.findings}


def test_a_significant_board_of_three_raters_is_told_apart_from_one_of_systems(two_emojis):
    found = two_emojis["systems-differ"]
    assert found.verdict == "fail"
    assert "F = 18.6 (p < .0001), which takes these raters and items as all there are" in found.statement
    assert "F = 0.585 with 7 and 14 degrees of freedom once raters count as a sample (p = 0.76)" in found.statement


def test_g_of_that_board_is_nothing_and_what_the_plug_in_says_is_less_than_it_says_of_nothing(two_emojis):
    found = two_emojis["ranking-reliable"]
    assert found.verdict == "fail"
    assert found.statement.startswith("G = 0.00 (95 % interval 0.00 to 0.6")
    assert "would say 0.336; if no system differed it would still say 0.45 on average" in found.statement


def test_that_board_supports_no_number_of_raters_where_the_plug_in_asks_for_27(two_emojis):
    found = two_emojis["more-raters"]
    assert found.verdict == "fail"
    assert "No number of raters is supported at 290 items (95 % range: 8 to never)." in found.statement
    assert found.statement.endswith("would ask for 27.")


def test_items_of_that_board_saturate(two_emojis):
    found = two_emojis["more-items"]
    assert found.verdict == "fail"
    assert "Even the plug-in would end at 0.346" in found.statement
    assert "more-raters" in found.remedy


# --- Degenerate panels still get true answers -------------------------------------------------------------------------


def answers(table, **declared):
    result = audit(read_ratings(table, **declared), replicates=100, draws=1000)
    return {found.id: found for found in result.findings}


def test_a_complete_panel_is_never_told_to_rate_what_is_missing(tables):
    rng = np.random.default_rng(5)
    for shape in ((10, 3, 1), (1, 4, 5)):
        for found in answers(tables.long(rng.integers(1, 6, shape))).values():
            assert "missing" not in found.remedy.lower(), found


def test_systems_that_no_error_blurs_are_not_undetermined_for_a_numerical_reason(tables):
    # All raters agree throughout: against system:rater F has no denominator, but the quasi-F has one, the items'.
    rng = np.random.default_rng(6)
    cube = np.repeat(rng.integers(1, 6, (20, 3, 1)), 4, axis=2)
    found = answers(tables.long(cube))["systems-differ"]
    assert "gradient" not in found.statement


def test_where_all_raters_agree_nobody_is_told_to_spend_on_raters(tables):
    rng = np.random.default_rng(4)
    cube = np.repeat(rng.integers(1, 6, (10, 3, 1)), 4, axis=2)
    found = answers(tables.long(cube))["more-items"]
    assert found.verdict == "fail"
    assert "what the raters disagree about" not in found.statement
    assert "Spend on raters" not in found.remedy


def test_no_two_raters_are_called_different_who_are_the_same(tables):
    # Two raters who agree on all of twelve easy cells are no copies, but they did give identical ratings.
    cube = np.ones((12, 1, 3))
    cube[6:] = 2
    cube[0, 0, 2] = 2
    found = answers(tables.flat(cube[:, 0]))["copied-ratings"]
    assert found.verdict == "pass"
    assert "No two raters gave identical ratings" not in found.statement


def test_a_difference_of_rounding_is_shown_as_none(tables):
    # Two teams, each rates its own items completely: around the raters' own means both sides are exactly equal.
    rng = np.random.default_rng(7)
    cube = np.full((12, 3, 4), np.nan)
    cube[:6, :, :2], cube[6:, :, 2:] = rng.integers(1, 6, (6, 3, 2)), rng.integers(1, 6, (6, 3, 2))
    found = answers(tables.long(cube))["informative-missingness"]
    # Six items on each side leave a wide interval, and that is what the verdict is about.
    assert found.verdict == "undetermined"
    assert "e−" not in found.statement
