"""What the page says of each analysis: one row where one is enough, a sentence where there is nothing."""

import re
from dataclasses import replace

import pytest

from measurand.reporting.agreement import agreement
from measurand.reporting.blocks import Bullets, Fold, Table, Text
from measurand.reporting.boards import boards, rank_sets
from measurand.reporting.raters import rater_pairs, raters
from measurand.reporting.sources import components, system_tests
from measurand.reporting.systems import decision_study, generalizability, pairs_of_systems
from measurand.reporting.verdict import lead
from measurand.reporting.view import View
from measurand.result import Result, Row, show_number
from measurand.result.digits import three_digits


def words(blocks):
    said = []
    for block in blocks:
        if isinstance(block, Text):
            said.append(block.text)
        elif isinstance(block, Bullets):
            said += block.items
        elif isinstance(block, Fold):
            said += [block.summary, words(block.blocks)]
        elif isinstance(block, Table):
            said += [block.caption, *block.notes]
    return "\n".join(said)


def only_table(blocks):
    (table,) = [block for block in blocks if isinstance(block, Table)]
    return table


def heads(table):
    return [column.text for column in table.columns]


def column(table, at):
    return [row[at].text for row in table.rows]


def changed(result, test, **changes):
    """The same result with other values in the rows that pass a test."""
    rows = [replace(row, **changes) if test(row) else row for row in result.rows]
    return Result(rows, result.settings, result.findings)


@pytest.mark.parametrize(("name", "estimator"), [("complete", "anova"), ("incomplete", "henderson")])
def test_a_row_for_each_component(name, estimator, request):
    result = request.getfixturevalue(name)
    blocks = components(View(result), "")
    table = only_table(blocks)
    assert heads(table) == ["Component", "Variance, unbiased", "Share, %", "REML", "REML, systems fixed"]
    rows = [row for row in result.select("components", "variance", {"estimator": estimator}) if not row.undefined]
    assert column(table, 1) == [three_digits(row.estimate) for row in rows]
    for line, row in zip(table.rows, rows, strict=True):
        of = result.select("components", "variance", {"estimator": "reml", "component": row.keys["component"]})
        assert line[3].text == three_digits(of[0].estimate)
        assert line[3].small == ("at the boundary" if of[0].estimate == 0 else "")
    assert "(henderson)" not in words(blocks)
    assert ("Henderson's method" in table.caption) == (estimator == "henderson")


def test_the_largest_difference_from_reml_is_one_sentence(incomplete):
    most = max(incomplete.select("components", "difference_from_reml"), key=lambda row: abs(row.estimate))
    said = words(components(View(incomplete), ""))
    assert said.count("furthest apart") == 1
    assert f"furthest apart at {most.keys['component']}, by {three_digits(most.estimate)}" in said
    assert said.count("incomplete panel") == 1


def test_negative_components_and_confounded_effects_are_said():
    rows = [
        Row("components", {"estimator": "anova", "component": "item"}, "variance", 0.5, 0.1, 0.9, unit="item+rater"),
        Row("components", {"estimator": "anova", "component": "residual"}, "variance", -0.1, 0.2, 0.9, note="negative"),
    ]
    said = words(components(View(Result(rows, {"components": {"confounded": {"": {"item:rater": "residual"}}}})), ""))
    assert "residual: negative." in said
    assert "residual: the estimate lies outside its interval" in said
    assert "cannot tell item:rater from residual" in said
    assert "items and raters of this kind" in said


def test_tests_of_complete_panels_stand_in_one_table(complete):
    blocks = system_tests(View(complete), "")
    table = next(block for block in blocks if isinstance(block, Table) and block.caption == "Tests of the systems")
    assert [text.split(" (")[0] for text in column(table, 0)] == [
        "residual",
        "system:rater",
        "item:system",
        "quasi-F",
        "mixed model of judgements",
        "mixed model of judgements with system:rater",
        "full mixed model",
    ]
    assert column(table, 1) == [three_digits(row.estimate) for row in complete.select("system_test", "f")]


def test_incomplete_panels_show_the_mixed_models(incomplete):
    blocks = system_tests(View(incomplete), "")
    table = only_table(blocks)
    assert len(table.rows) == 3
    assert "–" not in column(table, 1)
    said = words(blocks)
    assert "Not defined here: residual, system:rater, item:system and quasi-F" in said
    # Nobody differs about systems here, so that the model of raters is that of judgements.
    assert "Here that model collapsed: it estimates system:rater at 0" in said
    kept = [replace(row, note="a test") if "boundary" in row.note else row for row in incomplete.rows]
    assert "the raters' disagreement about systems" in words(system_tests(View(Result(kept, incomplete.settings)), ""))


def test_the_model_of_judgements_never_stands_alone(incomplete):
    def companion(row):
        return row.keys.get("model") == "judgement+system:rater"

    lost = changed(incomplete, companion, estimate=float("nan"), undefined="it cannot be had", p=None)
    blocks = system_tests(View(lost), "")
    assert [text.split(" (")[0] for text in column(only_table(blocks), 0)][:2] == [
        "mixed model of judgements",
        "mixed model of judgements with system:rater",
    ]
    assert "must not be read alone" in words(blocks)
    gone = Result([row for row in incomplete.rows if not companion(row)], incomplete.settings)
    assert len(only_table(system_tests(View(gone), "")).rows) == 1


@pytest.mark.parametrize(
    ("name", "estimators"),
    [
        ("complete", ["unbiased (anova)", "plug-in (observed spread)", "REML"]),
        ("incomplete", ["unbiased (Henderson)", "REML"]),
    ],
)
def test_estimators_stand_unbiased_first(name, estimators, request):
    view = View(request.getfixturevalue(name))
    blocks = generalizability(view, "")
    assert column(only_table(blocks), 0) == estimators
    needed = only_table(decision_study(view, ""))
    assert column(needed, 1) == estimators * 2
    has_sentence = "Not defined here: unbiased (anova) and plug-in" in words(blocks)
    assert has_sentence == (name == "incomplete")


def test_ranks_show_a_set_for_each_view(complete, incomplete):
    for result in (complete, incomplete):
        blocks = rank_sets(View(result), "")
        table = only_table(blocks)
        assert heads(table)[2:] == [
            "Ranks possible: items and raters random",
            "Ranks possible: items random, these raters",
            "Ranks possible: raters random, these items",
        ]
        for at, unit in enumerate(("item+rater", "item", "rater"), start=2):
            for line in table.rows:
                keys = {"unit": unit, "system": line[0].text}
                (row,) = result.select("ranks", "rank", keys)
                (tier,) = result.select("ranks", "tier", keys)
                assert line[1].text == show_number(row.estimate)
                assert line[at].text == f"[{row.low}, {row.high}]"
                assert line[at].small.startswith(f"tier {show_number(tier.estimate)} · a" if row.low == 1 else "tier")
        said = words(blocks)
        assert "A set [2, 7] says" in said
        assert "all systems at once" in said
        assert ("The most likely ranks" in said) == (result is complete)
    assert "Items and raters random: full mixed model" in words(rank_sets(View(incomplete), ""))


def test_ranks_of_many_systems_keep_letters_short(many_systems):
    table = only_table(rank_sets(View(many_systems), ""))
    assert len(table.rows) == 24
    assert max(len(cell.small) for row in table.rows for cell in row) < 40
    assert len({row[0].text for row in table.rows}) == 24


def test_ranks_without_the_view_of_both():
    rows = [Row("ranks", {"system": name, "unit": "item"}, "rank", n, 1, 2, 0.95) for n, name in enumerate("ab", 1)]
    rows.append(Row("ranks", {"unit": "rater"}, "rank", float("nan"), undefined="one rater: nothing can be redrawn"))
    said = words(rank_sets(View(Result(rows)), ""))
    assert "none speaks about the systems in general" in said
    assert "Raters random, these items: not defined: one rater" in said


def test_agreement_has_the_interval_over_raters_and_reml_rows(incomplete):
    blocks = agreement(View(incomplete), "")
    table = only_table(blocks)
    assert heads(table)[-1] == "Interval, other raters, too"
    by = {row[0].text: row for row in table.rows}
    assert by["Krippendorff's alpha, interval"][-1].text.startswith("[")
    assert by["Krippendorff's alpha, ordinal"][-1].text == "–"
    listwise = incomplete.select("agreement", "icc_3_1", {"missing": "listwise"})
    shown = by["ICC(3,1): one rating, consistency"]
    boot = next(row for row in listwise if row.method == "percentile bootstrap" and row.unit == "item_cell")
    test = next(row for row in listwise if row.method.startswith("F "))
    width = test.high - test.low
    assert shown[3].text != shown[4].text
    assert shown[4].text == f"[{show_number(test.low, width=width)}, {show_number(test.high, width=width)}]"
    assert show_number(boot.low, width=boot.high - boot.low) in shown[3].text
    assert "ICC(2,1) (all cells, REML)" in by


def test_undefined_agreement_is_a_sentence(without_systems):
    lost = changed(
        without_systems,
        lambda row: row.keys.get("missing") == "listwise",
        estimate=float("nan"),
        undefined="0 units rated by all",
        low=None,
        high=None,
        note="",
    )
    blocks = agreement(View(lost), "")
    table = only_table(blocks)
    assert not [row for row in table.rows if row[1].text == "–"]
    assert any(note.startswith("Not defined: ICC(1,1)") for note in table.notes)


def test_style_without_an_order_is_a_sentence(complete, ordered):
    table = raters(View(complete), "")[-1]
    assert heads(table) == ["Rater", "Most frequent value, %", "Entropy, bits", "At either end, %", "In the middle, %"]
    assert "Not defined: runs of one value and drift (no presentation order named (--order))." in table.notes
    table = raters(View(ordered), "")[-1]
    assert heads(table)[5:] == ["Longest run of one value", "p (Holm)", "Drift, first to last", "p (Holm)"]
    for line in table.rows:
        (row,) = ordered.select("style", "longest_run", {"rater": line[0].text})
        assert line[5].text == show_number(row.estimate)


def test_blocks_of_items_are_a_sentence_and_a_fold(complete):
    blocks = boards(View(complete), "")
    tau = min(row.estimate for row in complete.select("leave_one_block_out", "kendall_tau_b"))
    sentence = next(block.text for block in blocks if isinstance(block, Text) and "block" in block.text)
    assert re.search(r"10 blocks .* the first place (never changes|changes (once|each time|\d+ times))", sentence)
    assert sentence.endswith(f"{show_number(tau, width=0.1)}.")
    assert [block.summary for block in blocks if isinstance(block, Fold)] == ["The board without each block of items"]


def test_the_first_place_is_counted_over_blocks():
    rows = []
    for left, order in (("", "ab"), ("block 1", "ab"), ("block 2", "ba"), ("block 3", "ab")):
        for n, name in enumerate(order, start=1):
            rows.append(Row("leave_one_block_out", {"left_out": left, "system": name}, "rank", n))
    assert "changes once." in words(boards(View(Result(rows)), ""))


def test_the_pigeonhole_bootstrap_is_folded_and_warned_of(complete):
    warning = "with 3 raters the variance that raters make comes out 67 % as large as it is"
    both = complete.select("pairs", "difference", {"unit": "item+rater"})
    more = [
        replace(row, low=-9.0, high=9.0, p=None, p_adjusted=None, method="pigeonhole bootstrap", note=warning)
        for row in both
    ]
    blocks = pairs_of_systems(View(Result([*complete.rows, *more], complete.settings)), "")
    plain = pairs_of_systems(View(complete), "")
    assert only_table(blocks) == only_table(plain)
    (fold,) = [block for block in blocks if isinstance(block, Fold)]
    assert warning[1:] in words([fold])
    assert [row[2].small for row in only_table(fold.blocks).rows] == ["[−9, 9]"] * len(both)


def test_pairs_over_both_of_incomplete_panels(incomplete):
    blocks = pairs_of_systems(View(incomplete), "")
    assert "Difference, over both" in heads(only_table(blocks))
    assert "full mixed model" in words(blocks)


def test_measured_coverage_is_said_once(complete):
    coverage = "in simulation a 95 % interval of this kind held 85 % of the time with 10 items"
    of_means = changed(complete, lambda row: (row.analysis, row.statistic) == ("raters", "mean"), note=coverage)
    table = next(block for block in raters(View(of_means), "") if isinstance(block, Table))
    assert [note for note in table.notes if "simulation" in note] == [f"I{coverage[1:]}."]
    only_one = changed(
        complete,
        lambda row: (row.analysis, row.statistic, row.keys.get("rater")) == ("raters", "mean", "R2"),
        note=f"something else; {coverage}",
    )
    table = next(block for block in raters(View(only_one), "") if isinstance(block, Table))
    assert [note for note in table.notes if "simulation" in note] == [f"R2: {coverage}."]


def test_pairs_of_raters_without_a_number_are_counted():
    rows = [
        Row("agreement_pairs", {"rater_a": "R1", "rater_b": "R2"}, "pearson", 0.5, 0.1, 0.7, n_items=9),
        Row("agreement_pairs", {"rater_a": "R1", "rater_b": "R3"}, "pearson", float("nan"), undefined="none in common"),
    ]
    blocks = rater_pairs(View(Result(rows)), "")
    assert len(only_table(blocks).rows) == 1
    assert "Not shown: 1 pair of raters without any number: none in common." in words(blocks)


def test_new_findings_have_names_and_do_not_change_the_verdict(complete):
    before = [one for one in complete.findings if one.id not in ("straight-lining", "severity-drift")]
    with_new, without = (lead(View(Result(complete.rows, complete.settings, f))) for f in (complete.findings, before))
    assert with_new[:-1] == without[:-1]


def test_agreement_says_which_interval_to_quote_for_a_new_panel(incomplete, complete):
    said = words(agreement(View(incomplete), ""))
    assert "interval alpha and ICC(2,1) have one." in said
    assert "Ordinal alpha has none: quote it with its interval over items, as one for these raters" in said
    assert "Of the two for ICC(2,1) quote the one without REML" in said
    said = words(agreement(View(complete), ""))
    assert "interval alpha and ICC(2,1) have one." in said
    assert "without REML" not in said


def test_pairs_say_whose_error_it_is_and_where_it_is_the_smaller(complete):
    keys = {"criterion": "", "system_a": "S1", "system_b": "S2"}
    note = "narrower than over items, where the error is this pair's own"
    rows = [
        Row("pairs", keys | {"unit": "item"}, "difference", 0.4, 0.0, 0.8, 0.95, df2=39.0, p=0.05, p_adjusted=0.05),
        Row("pairs", keys | {"unit": "item+rater"}, "difference", 0.4, 0.1, 0.7, 0.95, df2=117.2, p=0.01, note=note),
    ]
    said = words(pairs_of_systems(View(Result(rows)), ""))
    assert "Over both all pairs share one, made from all systems, with 117 degrees of freedom" in said
    assert "For 1 of 1 pair the interval over both is narrower than over items" in said
    assert "There read the wider of the two." in said
    wide = words(pairs_of_systems(View(Result([rows[0], replace(rows[1], note="")])), ""))
    assert "narrower" not in wide
    assert "few degrees of freedom" not in words(pairs_of_systems(View(complete), ""))
