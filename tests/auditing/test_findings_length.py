"""What findings about length say of hand-made rows, at and beside every threshold."""

import math
import re
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


def between(r_squared, low, p, slope=0.1):
    keys = {"model": "between_systems", "unit": "system"}
    return [
        row("r_squared", r_squared, low=low, high=0.96, **keys),
        row("spearman", 0.9, low=0.4, high=0.99, p=p, **keys),
        row("slope", slope, low=0.0, high=0.2, p=p, **keys),
        row("r_squared", r_squared, low=0.6, high=0.9, model="between_systems", unit="item"),
    ]


@pytest.mark.parametrize(
    ("r_squared", "low", "p", "verdict"),
    [
        (0.787, 0.24, 0.002, "fail"),
        (0.787, 0.24, ABOVE, "warn"),
        (0.787, 0.2501, ABOVE, "fail"),
        (0.5, 0.1, BELOW, "fail"),
        (math.nextafter(0.5, 0), 0.1, BELOW, "pass"),
    ],
)
def test_order_fails_where_length_explains_it_for_sure_or_significantly(r_squared, low, p, verdict):
    found = about(*between(r_squared, low, p))["length-explains-order"]
    assert found.verdict == verdict
    assert (MEDIATOR in found.statement) == (verdict != "pass")
    assert found.rows[0]["statistic"] == "r_squared"


def test_order_is_told_with_the_interval_over_systems_and_the_direction():
    found = about(*between(0.787, 0.24, 0.002))["length-explains-order"]
    assert "Over 8 systems, mean length in emoji explains 78.7 %" in found.statement
    assert "interval 0.24 to 0.96" in found.statement
    assert "p = 0.002" in found.statement
    assert "longer outputs are rated higher" in found.statement
    shorter = about(*between(0.787, 0.24, 0.002, slope=-0.1))["length-explains-order"]
    assert "longer outputs are rated lower" in shorter.statement


def test_three_systems_have_no_order_to_explain():
    found = about(*between(0.99, 0.9, 0.3), systems=SYSTEMS[:3])["length-explains-order"]
    assert found.verdict == "undetermined"
    assert "3 systems" in found.statement


# --- length-slope -----------------------------------------------------------------------------------------------------


def slopes(usual, random, full=0.5):
    shared = {"low": 0.1, "high": 0.2, "df1": 1, "df2": 2.1}
    rows = [row("slope", 0.159, model="judgement", p=usual, **shared)]
    rows += [row("slope", 0.13, model="full+rater_slope", p=full, **shared)]
    if random is None:
        return [*rows, row("slope", math.nan, model="judgement+rater_slope", undefined="one rater")]
    return [*rows, row("slope", 0.13, model="judgement+rater_slope", p=random, **shared)]


@pytest.mark.parametrize(
    ("usual", "random", "verdict"),
    [
        (1e-25, 0.34, "warn"),
        (1e-25, BELOW, "fail"),
        (1e-25, ABOVE, "warn"),
        (ABOVE, ABOVE, "pass"),
        (BELOW, None, "warn"),
        (ABOVE, None, "undetermined"),
    ],
)
def test_a_slope_must_hold_for_other_raters(usual, random, verdict):
    found = about(*slopes(usual, random))["length-slope"]
    assert found.verdict == verdict
    if verdict == "warn" and random is not None:
        assert found.statement.startswith("For these raters, not shown for others")
        assert MEDIATOR in found.statement
    if verdict == "fail":
        assert "With systems and outputs random, too, it is not shown (p = 0.5)" in found.statement


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
    assert ("rate more items before blaming length" in found.remedy) == (kept < 0.8)
    assert "2,599 pairs, 32 % of all" in found.statement


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
