"""What findings about length say of hand-made rows, at and beside every threshold."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from measurand.auditing.findings import findings
from measurand.auditing.findings_length import QUESTIONS
from measurand.result import Result, Row, show_number

DOCUMENT = Path(__file__).parents[2] / "docs" / "findings.md"
BELOW, ABOVE = math.nextafter(0.05, 0), math.nextafter(0.05, 1)
MEDIATOR = "Length is a mediator, and a longer output may be a better one"
SYSTEMS = [f"S{k}" for k in range(1, 9)]


def row(statistic, estimate, /, **more):
    keys = {k: more.pop(k) for k in ("system", "opponent", "rater", "model", "ties", "tolerance") if k in more}
    keys["unit_of_length"] = "emoji"
    if "low" in more:
        more["confidence"] = 0.95
    return Row("length", keys, statistic, estimate, **more)


def means(systems=SYSTEMS):
    return [row("mean_length", 2.0 + k, system=name) for k, name in enumerate(systems)]


def about(*rows, systems=SYSTEMS, raters=3):
    sizes = {"n_items": 290, "n_systems": len(systems), "n_raters": raters, "n_missing": 0}
    design = [Row("design", {"criterion": ""}, name, size) for name, size in sizes.items()]
    result = Result([*design, *means(systems), *rows], {"design": {"criteria": {"": {"level": "interval"}}}})
    return {found.id: found for found in findings(result)}


# --- length-explains-order --------------------------------------------------------------------------------------------


def between(r_squared, low, p, slope=0.1, rho=0.9):
    keys = {"model": "between_systems", "unit": "system"}
    return [
        row("r_squared", r_squared, low=low, high=0.96, **keys),
        row("spearman", rho, low=0.4, high=0.99, p=p, **keys),
        row("slope", slope, low=0.0, high=0.2, p=p, **keys),
        row("r_squared", r_squared, low=0.6, high=0.9, model="between_systems", unit="item"),
    ]


@pytest.mark.parametrize(
    ("r_squared", "low", "p", "rho", "verdict"),
    [
        (0.787, 0.24, 0.002, 0.905, "fail"),
        (0.787, 0.24, ABOVE, 0.6, "warn"),
        (0.787, 0.2501, ABOVE, 0.6, "fail"),
        (0.5, 0.1, BELOW, 0.6, "fail"),
        (math.nextafter(0.5, 0), 0.1, BELOW, math.nextafter(0.7, 0), "pass"),
        (0.458, 0.0, 1e-5, 1.0, "fail"),
        (0.458, 0.0, BELOW, -0.7, "fail"),
        (0.458, 0.0, ABOVE, 0.7, "warn"),
        (0.3, 0.0, 0.175, -0.657, "pass"),
    ],
)
def test_order_fails_where_it_is_lengths_or_length_explains_it(r_squared, low, p, rho, verdict):
    found = about(*between(r_squared, low, p, rho=rho))["length-explains-order"]
    assert found.verdict == verdict
    assert (MEDIATOR in found.statement) == (verdict != "pass")
    assert found.rows[0]["statistic"] == "r_squared"


def test_a_correlation_is_told_as_fine_as_the_limit_that_it_is_held_against():
    found = about(*between(0.3, 0.0, 0.05, rho=0.7312))["length-explains-order"]
    assert "rank correlation 0.73 (" in found.statement


def test_order_is_told_with_the_interval_over_systems_and_the_direction():
    found = about(*between(0.787, 0.24, 0.002))["length-explains-order"]
    assert "Over 8 systems, mean length in emoji explains 78.7 %" in found.statement
    assert "interval 24 to 96 %" in found.statement
    assert "p = 0.002" in found.statement
    assert "longer outputs are rated higher" in found.statement
    shorter = about(*between(0.787, 0.24, 0.002, slope=-0.1))["length-explains-order"]
    assert "longer outputs are rated lower" in shorter.statement


def test_the_direction_is_that_of_the_order_where_the_order_is_what_counts():
    found = about(*between(0.1, 0.0, 0.001, slope=0.1, rho=-0.9))["length-explains-order"]
    assert "longer outputs are rated lower" in found.statement


def test_systems_on_a_line_have_no_interval_and_it_is_said():
    keys = {"model": "between_systems", "unit": "system"}
    perfect = [row("r_squared", 1.0, **keys), row("spearman", 1.0, p=2 / 24, **keys), row("slope", 0.1, **keys)]
    found = about(*perfect, systems=SYSTEMS[:4])["length-explains-order"]
    assert "(no interval: the systems lie on a line)" in found.statement
    assert "interval )" not in found.statement


def test_three_systems_have_no_order_to_explain():
    found = about(*between(0.99, 0.9, 0.3), systems=SYSTEMS[:3])["length-explains-order"]
    assert found.verdict == "undetermined"
    assert "3 systems" in found.statement


# --- length-slope -----------------------------------------------------------------------------------------------------


def slopes(usual, random, full):
    rows = []
    for model, p in (("judgement", usual), ("judgement+rater_slope", random), ("full+rater_slope", full)):
        known = {"low": 0.1, "high": 0.2, "df1": 1, "df2": 2.1, "p": p}
        more = {"undefined": "the model has no fit"} if p is None else known
        rows.append(row("slope", math.nan if p is None else 0.13, model=model, **more))
    return rows


@pytest.mark.parametrize(
    ("usual", "random", "full", "verdict", "begins"),
    [
        (1e-25, 0.01, BELOW, "fail", "Yes, over raters, items and systems of this kind: 0.13 "),
        (1e-25, 0.34, 0.5, "warn", "For these raters, not shown for others: "),
        (1e-25, 1e-4, ABOVE, "warn", "For these systems and outputs, not shown for others: "),
        (ABOVE, BELOW, ABOVE, "warn", "For these systems and outputs, not shown for others: "),
        (BELOW, ABOVE, ABOVE, "warn", "For these raters, not shown for others: "),
        (ABOVE, ABOVE, ABOVE, "pass", "Not shown: "),
        (1e-25, 1e-4, None, "warn", "Not determined for other raters, items and systems (the model has no fit); "),
        (ABOVE, ABOVE, None, "undetermined", "Not determined for other raters, items and systems"),
        (BELOW, None, None, "warn", "Not determined for other raters, items and systems"),
        (ABOVE, None, None, "undetermined", "Not determined for other raters, items and systems"),
    ],
)
def test_a_slope_must_hold_for_other_raters_items_and_systems(usual, random, full, verdict, begins):
    found = about(*slopes(usual, random, full))["length-slope"]
    assert found.verdict == verdict
    assert found.statement.startswith(begins)
    assert (MEDIATOR in found.statement) == (verdict != "pass")
    assert ("judgements of one output taken for unrelated" in found.statement) == (full is None and random is not None)


# --- length-raters-differ ---------------------------------------------------------------------------------------------


def raters(slopes, p, spread):
    rows = [row("slope", s, model="judgement", rater=f"R{k + 1}", p=0.1) for k, s in enumerate(slopes)]
    rows.append(row("slopes_differ_f", 9.0, model="judgement", p=p))
    rows.append(row("slope_sd_between_raters", spread, model="judgement+rater_slope"))
    return [*rows, row("slope", sum(slopes) / len(slopes), model="mean_of_raters", p=0.3)]


@pytest.mark.parametrize(
    ("slopes", "p", "spread", "verdict"),
    [
        ((0.085, -0.024, 0.329), 1e-10, 0.18, "warn"),
        ((0.085, -0.024, 0.329), ABOVE, 0.18, "pass"),
        ((0.2, 0.3, 0.4), BELOW, 0.149, "pass"),
        ((0.2, 0.3, 0.4), BELOW, 0.151, "warn"),
        ((-0.01, 0.3, 0.4), BELOW, 0.0, "warn"),
    ],
)
def test_raters_differ_where_signs_or_spread_do_and_chance_does_not(slopes, p, spread, verdict):
    found = about(*raters(slopes, p, spread))["length-raters-differ"]
    assert found.verdict == verdict
    assert f"to {show_number(max(slopes))} (R3)" in found.statement


def test_one_rater_differs_from_nobody():
    assert about(*raters((0.2,), 0.5, 0.0), raters=1)["length-raters-differ"].verdict == "not_applicable"


# --- length-matched-order and length-overlap --------------------------------------------------------------------------


def board(order, *, rho=0.9, kept=0.99, shares=((0.0, 0.32),), each=600, undefined=()):
    """Return rows of matched comparisons in which the systems come in this order."""
    rows = [row("rank", k + 1, model="raw", system=name) for k, name in enumerate(SYSTEMS)]
    for tolerance, share in shares:
        at = {"tolerance": tolerance}
        adjusted = {"model": "adjusted", "ties": "half", **at}
        rows.append(row("matched_share", share, model="matched", **at))
        rows.append(row("n_matched", 2599, model="matched", **at))
        rows.append(row("matched_share", 0.0, model="matched", system="S1", opponent="S2", **at))
        for k, name in enumerate(order):
            rows.append(row("n_matched", each, model="matched", system=name, **at))
            missing = tolerance in undefined
            rate = {"undefined": "comparisons at equal length do not connect all systems"} if missing else {}
            rows.append(row("win_rate_adjusted", math.nan if missing else 0.6, system=name, **adjusted, **rate))
            rows.append(row("rank", k + 1, system=name, **adjusted))
        rows.append(row("spearman_matched_raw", rho, unit="system", low=-0.6, high=0.8, **adjusted))
        rows.append(row("spearman_drawn_raw", 0.95, **adjusted))
        rows.append(row("share_winner_kept", kept, **adjusted))
    return rows


@pytest.mark.parametrize(
    ("winner", "rho", "kept", "verdict"),
    [
        ("S1", 0.8, 0.99, "pass"),
        ("S1", 0.79, 0.99, "warn"),
        ("S1", 0.9, 0.8, "pass"),
        ("S1", 0.9, 0.65, "undetermined"),
        ("S1", 0.79, 0.65, "warn"),
        ("S6", 0.12, 0.99, "fail"),
        ("S6", 0.95, 0.8, "fail"),
        ("S6", 0.12, 0.79, "warn"),
    ],
)
def test_the_order_must_keep_its_first_place_and_its_shape(winner, rho, kept, verdict):
    order = [winner, *[name for name in SYSTEMS if name != winner]]
    found = about(*board(order, rho=rho, kept=kept))["length-matched-order"]
    assert found.verdict == verdict
    assert "no proof of a bias and not the order without one" in found.statement
    assert ("S6 leads in place of S1" in found.statement) == (winner == "S6")
    assert ("rate more items before blaming length" in found.remedy) == (kept < 0.8 and winner == "S6")
    assert ("so few pairs often change the first place" in found.statement) == (verdict == "undetermined")
    assert "2,599 pairs, 32 % of all" in found.statement


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (("S1", "S4"), ("S1",), "S1 still leads, no longer tied with S4;"),
        (("S1",), ("S1", "S4"), "S1 still leads, tied with S4;"),
        (("S1", "S4"), ("S4", "S1"), "S1, S4 still lead;"),
        (("S1", "S2"), ("S2", "S3"), "S2 still leads, tied with S3, no longer tied with S1;"),
        (("S1", "S2"), ("S3", "S4"), "S3, S4 lead in place of S1, S2;"),
    ],
)
def test_a_leader_among_the_tied_is_no_change(before, after, said):
    rows = []
    for one in board(SYSTEMS, kept=0.99):
        first = {"raw": before, "adjusted": after}.get(one.keys.get("model")) if one.statistic == "rank" else None
        if first is not None:
            leads = one.keys["system"] in first
            one = replace(one, estimate=(len(first) + 1) / 2 if leads else 5.0)
        rows.append(one)
    found = about(*rows)["length-matched-order"]
    assert said in found.statement
    assert found.verdict == ("fail" if "in place of" in said else "pass")


def test_few_comparisons_are_not_blamed_where_all_outputs_are_equally_long():
    order = ["S6", *[name for name in SYSTEMS if name != "S6"]]
    found = about(*board(order, rho=0.5, kept=0.0, shares=((0.0, 1.0),)))["length-matched-order"]
    assert found.verdict == "warn"
    same = about(*board(SYSTEMS, kept=0.0, shares=((0.0, 1.0),)))["length-matched-order"]
    assert same.verdict == "pass"
    assert "blaming length" not in found.remedy
    assert "drawn whatever their lengths" not in found.statement
    assert "Neither length nor few comparisons" in found.remedy


def test_an_order_that_cannot_be_compared_says_why():
    reason = "two systems have a win rate at equal length; a rank correlation needs three"
    rows = [r for r in board(SYSTEMS[:2]) if r.statistic != "spearman_matched_raw"]
    adjusted = {"model": "adjusted", "ties": "half", "tolerance": 0.0}
    rows.append(row("spearman_matched_raw", math.nan, undefined=reason, **adjusted))
    found = about(*rows, systems=SYSTEMS[:2])["length-matched-order"]
    assert (found.verdict, found.statement) == ("undetermined", f"Not determined: {reason}.")
    assert "more items" not in found.remedy


@pytest.mark.parametrize(
    ("share", "each", "verdict"), [(0.1, 30, "pass"), (0.0999, 30, "warn"), (0.32, 29, "warn"), (0.02, 5, "warn")]
)
def test_overlap_needs_a_tenth_of_all_pairs_and_thirty_of_each_system(share, each, verdict):
    found = about(*board(SYSTEMS, shares=((0.0, share),), each=each))["length-overlap"]
    assert found.verdict == verdict
    assert "one pair of systems has none" in found.statement


def test_findings_speak_of_the_narrowest_band_with_enough_pairs_that_connects_all():
    shares = ((0.0, 0.03), (0.05, 0.12), (0.1, 0.25))
    found = about(*board(SYSTEMS, shares=shares))
    assert "lengths within 5 % of the longer" in found["length-matched-order"].statement
    found = about(*board(SYSTEMS, shares=shares, undefined=(0.05,)))
    assert "within 10 % of the longer" in found["length-overlap"].statement
    found = about(*board(SYSTEMS, shares=shares, undefined=(0.05, 0.1)))
    assert "at equal length" in found["length-matched-order"].statement
    found = about(*board(SYSTEMS, shares=shares, undefined=(0.0, 0.05, 0.1)))
    assert found["length-overlap"].verdict == found["length-matched-order"].verdict == "undetermined"
    assert "do not connect" in found["length-overlap"].statement


# --- All of them ------------------------------------------------------------------------------------------------------


def test_without_lengths_nothing_is_asked_and_without_numbers_nothing_is_passed():
    design = [Row("design", {"criterion": ""}, "n_systems", 3)]
    asked = findings(Result(design, {"design": {"criteria": {"": {"level": "interval"}}}}))
    assert not [f for f in asked if f.id.startswith("length-")]
    found = about()
    verdicts = {name: one.verdict for name, one in found.items() if name.startswith("length-")}
    assert len(verdicts) == len(QUESTIONS)
    assert set(verdicts.values()) == {"undetermined"}


def test_the_documentation_lists_exactly_these_findings():
    text = DOCUMENT.read_text(encoding="utf-8")
    part = text.split("### Length of what was rated")[1].split("\n## ")[0]
    listed = re.findall(r"^\| `(length-[a-z-]+)`", part, flags=re.MULTILINE)
    assert listed == [name for name in about() if name.startswith("length-")]
    assert "no" in part
    assert "mediator" in part
