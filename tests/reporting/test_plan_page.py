"""Page, Markdown, screen and figures of a plan."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from html_page import Page
from measurand.planning import facets, plan, power
from measurand.planning.measured import measured
from measurand.reporting import default_title, plot, render_html, render_markdown, render_summary
from measurand.reporting.answers import short_name
from measurand.reporting.plan import MOST_WITH_FIGURES, MOST_WITH_TABLES, lead
from measurand.reporting.plan_view import Designed, Plan, panel_words, per_item
from measurand.result import MeasurandError, Result, Row
from measurand.result.words import kind_of
from measurand.sentences import money, price
from measurand.simulate import simulate_panel, two_emojis_panel

COMPONENTS = {
    "item": 0.3, "system": 0.4, "rater": 0.2, "item:system": 0.1, "item:rater": 0.1, "system:rater": 0.05,
    "residual": 0.5,
}  # fmt: skip
COSTS = {"cost_rater": 20.0, "cost_item": 1.0, "cost_judgement": 0.1}
SMALL = {"most_raters": 20, "most_items": 200}
SECTIONS = [
    "findings", "designs", "same-cost", "front", "power", "undefined", "asked", "words", "methods", "reproduce",
]  # fmt: skip
FIGURES = ("front", "same_cost")
HOSTILE = [
    "<script>alert(1)</script>",
    "n" * 300,
    "$x^2$ | `a`",
    "نموذج عربي",
    "日本語\u202eの\nモデル",
    "=cmd()|'/c calc'!A0\x07",
]


def planned(ratings, *, difference=None, **asked):
    about = measured(ratings, seed=1, draws=400)
    options = SMALL | asked
    of_power = {name: value for name, value in options.items() if name not in ("target", "coefficient")}
    return plan(about, **options) + power(about, difference=difference, **of_power)


def of_criteria(result, names):
    """The same plan under every name."""
    rows = [replace(row, keys=row.keys | {"criterion": name}) for name in names for row in result.rows]
    found = [replace(one, criterion=name) for name in names for one in result.findings]
    return Result(rows, result.settings, found)


@pytest.fixture(scope="module")
def whole():
    panel = simulate_panel(n_items=20, n_systems=6, n_raters=6, components=COMPONENTS, seed=3)
    return planned(panel.ratings, difference=0.3, **COSTS)


@pytest.fixture(scope="module")
def hopeless():
    """The system variance is estimated below 0."""
    return planned(two_emojis_panel().ratings, **COSTS)


@pytest.fixture(scope="module")
def one_rater():
    rows = [(f"i{i}", f"s{s}", "R", i + s % 3) for i in range(5) for s in range(3)]
    return planned(pd.DataFrame(rows, columns=["item", "system", "rater", "rating"]))


@pytest.fixture(scope="module")
def of_facets():
    rng = np.random.default_rng(1)
    quality = rng.normal(0, 0.5, 5)
    rows = [
        (f"s{s}", f"i{i}", f"g{g}", f"r{g}{r}", quality[s] + rng.normal())
        for s in range(5) for i in range(6) for g in range(2) for r in range(3)
    ]  # fmt: skip
    table = pd.DataFrame(rows, columns=["system", "item", "group", "rater", "rating"])
    return facets(table, formula="system x item x (rater:group)", at=[{"item": 40, "rater": 6}], draws=400)


def page_of(result):
    return Page(render_html(result, title="A plan", reproduce={"command": "measurand plan ratings.csv"}))


def texts(result):
    return render_html(result, title="x", reproduce={}) + render_markdown(result, title="x", reproduce={})


def test_a_plan_is_a_kind_of_its_own_with_a_title(whole, of_facets):
    for result in (whole, of_facets, Result(whole["power"], {}, [])):
        assert kind_of(result) == "plan"
        assert default_title(result) == "Plan of a panel"
    assert kind_of(Result([Row("design", {}, "n_items", 3), *whole.rows])) == ""


def test_the_page_has_every_chapter_once_and_well_formed(whole):
    page = page_of(whole)
    assert page.faults == []
    assert [name for name in page.ids() if name in SECTIONS] == SECTIONS
    assert len(page.ids()) == len(set(page.ids()))


def test_the_headline_says_what_was_rated_what_is_wanted_and_what_it_costs(whole):
    assert (
        "20 items × 6 systems × 6 raters; wanted: G 0.8; costs: 20 a rater, 1 an item, 0.1 a judgement"
        in page_of(whole).text
    )


def test_the_lead_has_the_cheapest_panel_by_the_estimate_and_for_sure_and_the_smallest_difference(whole):
    said = lead(Plan(whole))
    assert len(said) == 3
    (needed,) = whole.select("plan", "cost_needed", {"estimator": "anova", "layout": ""})
    found = [row for row in whole.select("plan", "cost", {"basis": "lower_limit"}) if not row.undefined]
    sure = price(min(found, key=lambda row: row.estimate))
    assert said[0].startswith(f"G 0.8 costs {money(needed.estimate)} by the estimate")
    assert f"and {sure} to be sure of it with 95 % confidence" in said[0]
    assert f"{money(needed.low)} to {money(needed.high)} (95 % range)" in said[1]
    assert "to find 0.3 costs" in said[2]


def test_designs_stand_with_what_is_sure_beside_what_is_estimated(whole):
    view = Plan(whole)
    text = page_of(whole).text
    for basis in ("estimate", "lower_limit", "same_cost", "front"):
        found = view.designs("", basis)
        assert found, basis
        for one in found:
            if one.is_there:
                assert panel_words(one) in text
                assert money(one.cost) in text


def test_costs_that_are_not_given_are_judgements(hopeless):
    panel = simulate_panel(n_items=8, n_systems=3, n_raters=3, components=COMPONENTS, seed=1)
    counted = planned(panel.ratings, most_raters=5, most_items=20)
    assert "cost counted in judgements" in page_of(counted).text
    assert "judgements" in plot(counted, figure="front").svg
    assert "cost counted" not in page_of(hopeless).text


def test_where_no_panel_would_do_the_page_says_why_and_shows_what_the_plug_in_promises(hopeless):
    assert lead(Plan(hopeless))[0].startswith(
        "No layout within 20 raters and 200 items reaches G 0.8 by the estimate: the system variance is estimated at"
    )
    text = page_of(hopeless).text
    assert "By the unbiased estimate no panel has a G above 0" in text
    assert "none (crossed, rotating, nested): the system variance" in text
    # The story of the second paper: what the plug-in says of its panel.
    (row,) = hopeless.select("plan", "g", {"basis": "as_rated", "estimator": "plugin"})
    assert round(row.estimate, 3) == 0.336
    assert "0.3357" in text
    for figure in FIGURES:
        assert "plug-in" in plot(hopeless, figure=figure).caption


def test_where_nothing_can_be_planned_the_page_says_so(one_rater):
    assert lead(Plan(one_rater)) == [
        "Nothing can be planned from these ratings (one rater: its variance cannot be estimated)."
    ]
    page = page_of(one_rater)
    assert page.faults == []
    assert "designs" not in page.ids()
    with pytest.raises(MeasurandError, match="no figure 'front' here"):
        plot(one_rater, figure="front")


def test_a_plan_without_power_and_a_power_without_plan_have_pages(whole):
    for name, absent in (("plan", "power"), ("power", "designs")):
        page = page_of(Result(whole[name], {name: whole.settings[name]}, []))
        assert page.faults == []
        assert absent not in page.ids()


def test_phi_is_called_phi():
    panel = simulate_panel(n_items=12, n_systems=4, n_raters=4, components=COMPONENTS, seed=2)
    text = page_of(planned(panel.ratings, coefficient="phi", target=0.7)).text
    assert "wanted: Phi 0.7" in text
    assert "Cheapest panels for Phi 0.7" in text


def test_several_criteria_share_a_table_and_their_explanations(whole, hopeless):
    both = of_criteria(whole, ["fluency"]) + of_criteria(hopeless, ["overall"])
    page = page_of(both)
    assert page.faults == []
    assert len(page.ids()) == len(set(page.ids()))
    assert "What each criterion takes, in its cheapest layout" in page.text
    assert page.text.count("A panel that is cheap by the estimate alone is a bet") == 1
    first = lead(Plan(both))[0]
    assert first == (
        "Of 2 criteria, a panel of at most 20 raters and 200 items reaches G 0.8 for 1 for sure and for 1 not at all."
    )
    screen = render_summary(both, width=100, color=False)
    assert "→ target-reachable, overall: More raters or items of this kind do not help." in screen


def test_more_criteria_than_fit_have_one_table_and_say_where_the_rest_is(whole):
    few, many = ([f"c{n}" for n in range(most + 1)] for most in (MOST_WITH_FIGURES, MOST_WITH_TABLES))
    assert "<svg" not in render_html(of_criteria(whole, few), title="x", reproduce={})
    page = page_of(of_criteria(whole, many))
    assert "the figures are left out of this page" in page.text
    assert "designs" not in page.ids()
    assert len(render_summary(of_criteria(whole, many), width=100, color=False).splitlines()) <= 40


def test_a_design_of_other_facets_has_components_sizes_and_levels(of_facets):
    page = page_of(of_facets)
    assert page.faults == []
    for name in ("projections", "levels", "components"):
        assert name in page.ids()
    assert "item x system x (rater:group) (item 6, rater 3, group 2); wanted: G 0.8" in page.text
    for text in ("item 40, rater 6, group 2", "system:rater:group", "What the error is made of"):
        assert text in page.text
    said = lead(Plan(of_facets))
    assert said[0].startswith("G is ")
    assert said[1].startswith("Of the error ")
    assert "item 40" in render_summary(of_facets, width=100, color=False)


def test_names_that_try_to_break_out_are_only_text(whole, of_facets):
    hostile = of_criteria(whole, HOSTILE[:4])
    for text in (texts(hostile), texts(of_criteria(of_facets, HOSTILE))):
        assert "<script>alert" not in text
        assert "\u202e" not in text
        assert "\x07" not in text
    for name in HOSTILE[:4]:
        assert plot(hostile, figure="front", criterion=name).svg.startswith("<svg")
    assert page_of(of_criteria(whole, HOSTILE)).faults == []
    for width in (40, 80, 120):
        lines = render_summary(hostile, width=width, color=False).splitlines()
        assert max(cell_len(line) for line in lines) <= width


def test_the_screen_has_the_cheapest_panels_and_what_to_do(whole, hopeless):
    screen = render_summary(whole, width=100, color=False)
    assert re.search(r"^layout +cost +raters × items +G +interval +to be sure +raters × items$", screen, flags=re.M)
    assert len(screen.splitlines()) <= 40
    lines = render_summary(hopeless, width=100, color=False)
    flat = " ".join(lines.split())
    assert "→ More raters or items of this kind do not help." in flat
    assert "same money" in lines


@pytest.mark.parametrize("figure", FIGURES)
def test_figures_are_the_same_each_time_and_have_title_and_words(whole, figure):
    first, again = (plot(whole, figure=figure) for _ in range(2))
    assert first.svg == again.svg
    assert "<title" in first.svg
    assert first.caption.endswith(".")
    assert plot(whole).title == "Cost against G"


def test_a_figure_of_several_criteria_needs_a_name(whole, of_facets):
    several = of_criteria(whole, ["a", "b"])
    assert plot(several, figure="front", criterion="b").svg
    with pytest.raises(MeasurandError, match="give criterion=, one of 'a', 'b'"):
        plot(several, figure="front")
    with pytest.raises(MeasurandError, match="no figure 'front' of criterion 'c'"):
        plot(several, figure="front", criterion="c")
    assert plot(of_facets).title == "What the error is made of"
    with pytest.raises(MeasurandError, match="this result can give error_shares"):
        plot(of_facets, figure="front")


def test_the_page_is_made_of_the_stored_numbers_alone(whole, of_facets):
    for result in (whole, of_facets):
        again = Result.from_json(result.to_json())
        assert texts(again) == texts(result)
        assert render_summary(again, width=90, color=True) == render_summary(result, width=90, color=True)


def test_sizes_are_put_in_few_words():
    def design(layout, raters, items, each):
        return Designed({"layout": layout, "at_raters": raters, "at_items": items, "at_items_per_rater": each})

    assert panel_words(design("crossed", 3, 290, 290)) == "3 raters × 290 items"
    assert panel_words(design("nested", 870, 870, 1)) == "870 raters × 1 item of their own"
    assert panel_words(design("rotating", 35, 1290, 111)) == "35 raters × 111 of 1,290 items"
    assert per_item(design("rotating", 4, 72, 54)) == 3
    assert panel_words(Designed({"layout": "as_rated", "at_raters": 3, "at_items": 9})) == "3 raters, 9 items"


def test_findings_have_short_names():
    for name in ("target-reachable", "layout-pays", "difference-detectable", "facets-reliable"):
        assert short_name(name) == name


def test_several_criteria_are_told_on_one_screen_with_the_worst_first(whole, hopeless):
    screen = render_summary(of_criteria(whole, ["fine"]) + of_criteria(hopeless, ["bad"]), width=100, color=False)
    table = screen[screen.index("criterion  a b c") :].splitlines()
    assert [line.split()[0] for line in table[1:3]] == ["bad", "fine"]
    assert table[4].startswith("a  target-reachable")


def test_where_another_layout_buys_nothing_the_lead_says_so(whole):
    def dearer(row):
        is_other = row.statistic == "error_variance" and row.keys.get("basis", "") == "same_cost"
        return replace(row, estimate=row.estimate * 100) if is_other else row

    changed = Result([dearer(row) for row in whole.rows], whole.settings, whole.findings)
    assert "no panel of another layout would have less error" in lead(Plan(changed))[1]
    worth = [replace(one, verdict="warn") if one.id == "layout-pays" else one for one in whole.findings]
    told = lead(Plan(Result(whole.rows, whole.settings, worth)))[1]
    assert "less error" in told
    assert "no panel of another layout" not in told


def test_the_lead_calls_no_layout_better_where_the_finding_does_not(whole):
    (found,) = (one for one in whole.findings if one.id == "layout-pays")
    assert found.verdict == "pass"
    assert "no panel of another layout would have much less error (" in lead(Plan(whole))[1]


def test_the_lead_advises_no_fewer_raters_where_the_finding_does_not(whole):
    open_ = [replace(one, verdict="undetermined") if one.id == "layout-pays" else one for one in whole.findings]
    told = lead(Plan(Result(whole.rows, whole.settings, open_)))[1]
    assert "less error by the estimate, but fewer raters are not advised while the target is not sure" in told


def with_price(result, low, high):
    """The same plan, its price of being sure known within ends only."""
    rows = [
        replace(row, low=low, high=high, estimate=min(high, 2 * low))
        if row.statistic == "cost" and row.keys.get("basis", "") == "lower_limit" and not row.undefined
        else row
        for row in result.rows
    ]
    return Result(rows, result.settings, result.findings)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(13_512.0, 13_998.0, "13,512 to 13,998"), (13_512.0, float("inf"), "13,512 or more"), (768.0, 768.0, "768")],
)
def test_a_price_that_draws_leave_open_has_its_ends_everywhere(whole, low, high, words):
    changed = with_price(whole, low, high)
    page = page_of(changed)
    assert page.faults == []
    assert f"and {words} to be sure of it" in lead(Plan(changed))[0]
    assert words in render_summary(changed, width=110, color=False)
    assert words in render_markdown(changed, title="x", reproduce={})
    assert words in page.text
    assert ("The cost to be sure has a range" in page.text) is (low != high)


def test_what_the_text_explains_is_in_the_table(whole, hopeless):
    assert "“reached in” is" in page_of(whole).text
    assert "Beside it stands the cheapest panel that is sure" in page_of(whole).text
    text = page_of(hopeless).text
    assert "“reached in” is the share of what the first ratings leave possible in which it" not in text
    assert "Beside it stands" not in text
    assert "∞: perhaps no panel of this layout within 20 raters and 200 items would do." in text
    assert "∞:" not in page_of(Result([row for row in whole.rows if row.high != float("inf")], whole.settings)).text
    # No curve is described where there is none, and no points without an interval are said to have one.
    assert "Where the curve grows flat" not in text
    assert "Filled points" not in plot(hopeless, figure="front").caption
    assert "Filled points" in plot(whole, figure="front").caption


def test_estimators_without_a_panel_have_a_reason_in_place_of_dashes(hopeless):
    larger = planned(two_emojis_panel().ratings, most_raters=60, most_items=300)
    table = render_markdown(larger, title="x", reproduce={}).split("by other estimators**")[1].split("\n## ")[0]
    assert "plug-in (observed spread) | crossed" in table
    assert "REML | crossed" not in table
    assert "By REML, none (crossed, rotating, nested)" in table
    # Where no other estimator has a panel, either, the reasons stand alone.
    assert "By REML, none (crossed, rotating, nested)" in page_of(hopeless).text


def test_more_raters_are_praised_only_where_they_buy_less_error(whole, hopeless):
    assert "each buy less error here" in page_of(hopeless).text

    def fewer(row):
        is_other = row.statistic == "error_variance" and row.keys.get("basis", "") == "same_cost"
        return replace(row, estimate=row.estimate * 100) if is_other else row

    text = page_of(Result([fewer(row) for row in whole.rows], whole.settings, whole.findings)).text
    assert "Here they do not." in text


def test_costs_that_are_judgements_stand_once(whole):
    panel = simulate_panel(n_items=8, n_systems=3, n_raters=3, components=COMPONENTS, seed=1)
    counted = planned(panel.ratings, most_raters=5, most_items=20)
    for result, is_there in ((whole, True), (counted, False)):
        assert ("Judgements Cost Error variance" in page_of(result).text) is is_there


def test_a_power_next_to_one_is_not_spelled_out(whole):
    rows = [
        replace(row, estimate=0.9999979, low=0.9999946, high=0.9999992)
        if row.statistic == "power" and row.unit == "item"
        else row
        for row in whole.rows
    ]
    text = page_of(Result(rows, whole.settings, whole.findings)).text
    assert "> 0.999" in text
    assert "0.9999" not in text.split("Which differences this panel finds")[1].split("What is undefined")[0]


def test_fewer_levels_are_said_to_be_a_bet_where_the_interval_reaches_below_the_target(of_facets):
    def at(estimate, low):
        rows = [
            replace(row, estimate=estimate, low=low, high=0.99) if row.statistic == "g" else row for row in of_facets
        ]
        rows = [replace(row, estimate=1.0) if row.statistic == "levels_needed" else row for row in rows]
        return " ".join(lead(Plan(Result(rows, of_facets.settings, []))))

    assert "though the interval reaches below G 0.8 even now" in at(0.9, 0.5)
    assert "though" not in at(0.9, 0.85)
    assert "fewer levels of one facet would do" in at(0.9, 0.85)


def test_every_table_of_a_plan_says_what_its_intervals_are_for(whole, of_facets):
    assert page_of(whole).text.count("Intervals are for other items, systems and raters of this kind.") == 4
    assert page_of(of_facets).text.count("Intervals are for other levels of every facet.") == 4
